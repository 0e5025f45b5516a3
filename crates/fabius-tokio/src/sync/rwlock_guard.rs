//! Guards of `RwLock`.

use super::rwlock_state::RwLock;
use fabius::extend::Holding;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::Arc;

/// As in tokio.
#[must_use]
pub struct RwLockReadGuard<'a, T: ?Sized>(pub(super) &'a RwLock<T>, pub(super) Holding);

/// As in tokio.
#[must_use]
pub struct RwLockWriteGuard<'a, T: ?Sized>(pub(super) &'a RwLock<T>, pub(super) Holding);

/// As in tokio.
#[must_use]
pub struct OwnedRwLockReadGuard<T: ?Sized>(pub(super) Arc<RwLock<T>>, pub(super) Holding);

/// As in tokio.
#[must_use]
pub struct OwnedRwLockWriteGuard<T: ?Sized>(pub(super) Arc<RwLock<T>>, pub(super) Holding);

/// What all guards are; `$permits` are those that it has.
macro_rules! guard {
    ($name:ident $(<$a:lifetime>)?, $drop:literal, $permits:expr) => {
        impl<$($a,)? T: ?Sized> Deref for $name<$($a,)? T> {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: the guard has the lock.
                unsafe { &*self.0.data.get() }
            }
        }

        impl<$($a,)? T: ?Sized> Drop for $name<$($a,)? T> {
            #[track_caller]
            fn drop(&mut self) {
                self.0.release($drop, $permits(&self.0), self.1, Location::caller());
            }
        }

        impl<$($a,)? T: ?Sized + fmt::Debug> fmt::Debug for $name<$($a,)? T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&**self, f)
            }
        }
    };
}

guard!(RwLockReadGuard<'a>, "drop a reader", |_: &RwLock<T>| 1);
guard!(RwLockWriteGuard<'a>, "drop a writer", |lock: &RwLock<T>| lock.all);
guard!(OwnedRwLockReadGuard, "drop a reader", |_: &RwLock<T>| 1);
guard!(OwnedRwLockWriteGuard, "drop a writer", |lock: &RwLock<T>| lock.all);

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has the lock.
        unsafe { &mut *self.0.data.get() }
    }
}

impl<T: ?Sized> DerefMut for OwnedRwLockWriteGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has the lock.
        unsafe { &mut *self.0.data.get() }
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// As in tokio: a scheduling point. Nobody writes in between.
    #[track_caller]
    pub fn downgrade(self) -> RwLockReadGuard<'a, T> {
        let (lock, taken) = (self.0, self.1);
        std::mem::forget(self);
        lock.release("downgrade", lock.all - 1, taken, Location::caller());
        RwLockReadGuard(lock, taken)
    }
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// As in tokio: a scheduling point. Nobody writes in between.
    #[track_caller]
    pub fn downgrade(self) -> OwnedRwLockReadGuard<T> {
        let guard = std::mem::ManuallyDrop::new(self);
        // SAFETY: the guard is not used or dropped any more, so this is moved out of it.
        let lock = unsafe { std::ptr::read(&raw const guard.0) };
        let taken = guard.1;
        lock.release("downgrade", lock.all - 1, taken, Location::caller());
        OwnedRwLockReadGuard(lock, taken)
    }
}
