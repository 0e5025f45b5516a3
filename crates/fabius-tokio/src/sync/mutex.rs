//! `Mutex`.

use super::acquire::{Request, wake_all};
use super::semaphore::Counted;
use crate::monitor::{At, Monitor, must_be_inside};
use fabius::extend::Holding;
use std::cell::UnsafeCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::Arc;

/// As in tokio: who waits first is first, and a panic poisons nothing.
pub struct Mutex<T: ?Sized> {
    lock: Monitor<Counted>,
    data: UnsafeCell<T>,
}

// SAFETY: as for any lock: only who has a guard uses the data.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// As in tokio.
#[must_use]
pub struct MutexGuard<'a, T: ?Sized>(&'a Mutex<T>, Holding);

/// As in tokio.
#[must_use]
pub struct OwnedMutexGuard<T: ?Sized>(Arc<Mutex<T>>, Holding);

// SAFETY: a shared guard gives shared references alone.
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedMutexGuard<T> {}

/// As in tokio: somebody has it.
#[derive(Debug)]
pub struct TryLockError(pub(super) ());

impl<T> Mutex<T> {
    /// As in tokio.
    #[track_caller]
    pub const fn new(data: T) -> Mutex<T> {
        Mutex { lock: Monitor::new(Counted::new(1)), data: UnsafeCell::new(data) }
    }

    /// As in tokio.
    #[track_caller]
    pub const fn const_new(data: T) -> Mutex<T> {
        Mutex::new(data)
    }

    /// As in tokio.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    async fn get(&self, at: At) -> Holding {
        let mut request = Request::new(&self.lock, "lock", at, 1).called("wait for the lock");
        let got = poll_fn(|cx| request.poll(cx, |state, _| state.takes(1, at))).await;
        got.expect("a mutex is never closed")
    }

    /// As in tokio. To drop the future is to leave the queue.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        let at = Location::caller();
        async move {
            let taken = self.get(at).await;
            MutexGuard(self, taken)
        }
    }

    /// As in tokio. To drop the future is to leave the queue.
    #[track_caller]
    pub fn lock_owned(self: Arc<Self>) -> impl Future<Output = OwnedMutexGuard<T>> {
        let at = Location::caller();
        async move {
            let taken = self.get(at).await;
            OwnedMutexGuard(self, taken)
        }
    }

    /// As in tokio: the thread waits.
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        must_be_inside();
        crate::executor::wait_for(self.lock())
    }

    /// As in tokio: the thread waits.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        must_be_inside();
        crate::executor::wait_for(self.lock_owned())
    }

    #[track_caller]
    fn try_get(&self, at: At) -> Result<Holding, TryLockError> {
        use super::acquire::HasPermits;
        self.lock
            .attempt("try_lock", at, |state, order| {
                state.permits().try_take(1, order).ok()?;
                Some(state.takes(1, at))
            })
            .ok_or(TryLockError(()))
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        self.try_get(Location::caller()).map(|taken| MutexGuard(self, taken))
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        self.try_get(Location::caller()).map(|taken| OwnedMutexGuard(self, taken))
    }

    /// As in tokio.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    fn unlock(&self, taken: Holding, at: At) {
        wake_all(self.lock.step("unlock", at, |state, order| state.gives(1, taken, order)));
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// As in tokio.
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.0
    }
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// As in tokio.
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.0
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard has the lock.
        unsafe { &*self.0.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has the lock.
        unsafe { &mut *self.0.data.get() }
    }
}

impl<T: ?Sized> Deref for OwnedMutexGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard has the lock.
        unsafe { &*self.0.data.get() }
    }
}

impl<T: ?Sized> DerefMut for OwnedMutexGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has the lock.
        unsafe { &mut *self.0.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        self.0.unlock(self.1, Location::caller());
    }
}

impl<T: ?Sized> Drop for OwnedMutexGuard<T> {
    #[track_caller]
    fn drop(&mut self) {
        self.0.unlock(self.1, Location::caller());
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(data: T) -> Mutex<T> {
        Mutex::new(data)
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedMutexGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("operation would block")
    }
}

impl std::error::Error for TryLockError {}
