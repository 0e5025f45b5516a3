//! Mutual exclusion.

use super::Finally;
use crate::rt::{self, Holder, Object, Op, Refine, Rt};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// [`std::sync::Mutex`] under the scheduler.
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    data: UnsafeCell<T>,
}

// SAFETY: as for `std::sync::Mutex`; all threads of an execution are fibers of one operating system thread.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}

impl<T: ?Sized> std::panic::UnwindSafe for Mutex<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for Mutex<T> {}

/// The lock without the data.
pub(crate) struct RawMutex {
    pub object: Object,
    /// One more than the number of the thread that holds it; 0 if it is free.
    holder: Cell<u32>,
    taken_at: Cell<Option<&'static Location<'static>>>,
    poisoned: Cell<bool>,
}

/// [`std::sync::MutexGuard`].
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    panicking: bool,
    not_send: std::marker::PhantomData<*const ()>,
}

// SAFETY: as for `std::sync::MutexGuard`.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

unsafe fn is_free(raw: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `RawMutex`.
    unsafe { (*raw.cast::<RawMutex>()).holder.get() == 0 }
}

pub(super) unsafe fn holders(raw: *const ()) -> Vec<Holder> {
    // SAFETY: it is only used with a `RawMutex`.
    unsafe { (*raw.cast::<RawMutex>()).holder() }.into_iter().collect()
}

impl RawMutex {
    #[track_caller]
    pub const fn new() -> RawMutex {
        let object = Object::new();
        RawMutex { object, holder: Cell::new(0), taken_at: Cell::new(None), poisoned: Cell::new(false) }
    }

    #[inline]
    pub fn lock(&self, name: &'static str, at: &'static Location<'static>) {
        if self.holder.get() != 0 && self.object.is_stale() {
            // A static, from an execution that failed.
            self.holder.set(0);
        }
        rt::point(Op::write(name, self.object.id(), at).when(self, is_free).held_by(holders));
        if self.holder.get() != 0 && rt::current().is_null() {
            panic!("a lock is taken twice outside of `fabius::check`");
        }
        self.take(at);
    }

    /// The last operation has taken the lock.
    #[inline]
    fn take(&self, at: &'static Location<'static>) {
        self.holder.set(rt::with(|rt| rt.current as u32 + 1).unwrap_or(1));
        self.taken_at.set(Some(at));
        rt::holds();
    }

    #[inline]
    fn unlock(&self, at: &'static Location<'static>) {
        let _free = Finally(|| self.holder.set(0));
        rt::point(Op::write("unlock", self.object.id(), at));
        rt::gives_back();
    }

    /// The same as a part of the operation that is being done.
    pub fn unlock_within(&self, at: &'static Location<'static>) {
        self.holder.set(0);
        rt::also(Op::write("unlock", self.object.id(), at));
    }

    /// Who holds it, and where that was taken.
    pub fn holder(&self) -> Option<Holder> {
        Some(((self.holder.get() as usize).checked_sub(1)?, self.taken_at.get()?))
    }

    pub fn ready_to_relock(&self) -> bool {
        self.holder.get() == 0
    }
}

impl<T> Mutex<T> {
    /// As in std.
    #[track_caller]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { raw: RawMutex::new(), data: UnsafeCell::new(value) }
    }

    /// As in std.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.raw.poisoned.get();
        result(poisoned, self.data.into_inner())
    }
}

fn result<G>(poisoned: bool, value: G) -> LockResult<G> {
    if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
}

impl<T: ?Sized> Mutex<T> {
    /// As in std: a scheduling point; waits for the lock.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.raw.lock("lock", Location::caller());
        self.guard()
    }

    /// As in std: a scheduling point; does not wait.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        rt::observe(Refine::RELEASES);
        let at = Location::caller();
        rt::point(Op::write("try_lock", self.raw.object.id(), at));
        rt::note(|| if self.raw.holder.get() == 0 { "taken" } else { "held by another" }.into());
        if self.raw.holder.get() != 0 {
            rt::unchanged();
            return Err(TryLockError::WouldBlock);
        }
        self.raw.take(at);
        self.guard().map_err(TryLockError::Poisoned)
    }

    fn guard(&self) -> LockResult<MutexGuard<'_, T>> {
        let panicking = std::thread::panicking();
        result(self.raw.poisoned.get(), MutexGuard { lock: self, panicking, not_send: std::marker::PhantomData })
    }

    /// Whether the current thread holds it.
    #[doc(hidden)]
    pub fn is_held_by_current(&self) -> bool {
        self.raw.holder().is_some_and(|(thread, _)| rt::with(|rt| rt.current) == Some(thread))
    }

    /// As in std. Not a scheduling point.
    pub fn is_poisoned(&self) -> bool {
        self.raw.poisoned.get()
    }

    /// As in std.
    pub fn clear_poison(&self) {
        self.raw.poisoned.set(false);
    }

    /// As in std.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        result(self.raw.poisoned.get(), self.data.get_mut())
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.lock
    }
}

impl<T: ?Sized> Mutex<T> {
    pub(super) fn raw(&self) -> &RawMutex {
        &self.raw
    }

    /// A guard for a lock that was taken again after a wait.
    pub(super) fn relocked(&self, at: &'static Location<'static>) -> LockResult<MutexGuard<'_, T>> {
        self.raw.take(at);
        self.guard()
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        rt::touches(&self.lock.raw.object);
        // SAFETY: the guard holds the lock.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if !self.panicking && std::thread::panicking() && !rt::with(|rt| rt.abandoned).unwrap_or(false) {
            self.lock.raw.poisoned.set(true);
        }
        let at = self.lock.raw.taken_at.get().unwrap_or(self.lock.raw.object.made);
        self.lock.raw.unlock(at);
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").field("poisoned", &self.raw.poisoned.get()).finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
