//! Mutual exclusion.

use super::Finally;
use crate::rt::{self, ELSEWHERE, Holder, Object, Op, Refine, Rt};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// [`std::sync::Mutex`] under the scheduler. Outside of a check it is one of std's.
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    data: UnsafeCell<T>,
}

// SAFETY: as for `std::sync::Mutex`: only who has a guard uses the data, and `RawMutex` gives one at a time.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}

impl<T: ?Sized> std::panic::UnwindSafe for Mutex<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for Mutex<T> {}

/// The lock without the data. Inside of an execution it is `holder` that excludes; outside, threads exclude one another by a
/// lock of std, and whoever has that takes `holder` as well. A guard that is leaked holds the lock for ever.
pub(crate) struct RawMutex {
    pub object: Object,
    /// One more than the number of the thread that holds it; [`OUTSIDE`], or [`FREE`].
    holder: AtomicU32,
    /// In which execution it was taken, and where.
    taken_in: AtomicU64,
    taken_at: AtomicPtr<Location<'static>>,
    poisoned: AtomicBool,
    outside: std::sync::Mutex<()>,
}

const FREE: u32 = 0;

/// Held by a guard from outside of an execution.
const OUTSIDE: u32 = u32::MAX;

/// What a guard from outside of an execution has as well.
type Outside<'a> = std::sync::MutexGuard<'a, ()>;

/// [`std::sync::MutexGuard`].
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    panicking: bool,
    /// Dropped after the lock is free.
    outside: Option<Outside<'a>>,
    not_send: std::marker::PhantomData<*const ()>,
}

// SAFETY: as for `std::sync::MutexGuard`.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

unsafe fn is_free(raw: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `RawMutex`.
    unsafe { (*raw.cast::<RawMutex>()).is_free() }
}

pub(super) unsafe fn holders(raw: *const (), rt: &Rt) -> Vec<Holder> {
    // SAFETY: it is only used with a `RawMutex`.
    unsafe { (*raw.cast::<RawMutex>()).holder(rt) }.into_iter().collect()
}

impl RawMutex {
    #[track_caller]
    pub const fn new() -> RawMutex {
        RawMutex {
            object: Object::new(),
            holder: AtomicU32::new(FREE),
            taken_in: AtomicU64::new(0),
            taken_at: AtomicPtr::new(ptr::null_mut()),
            poisoned: AtomicBool::new(false),
            outside: std::sync::Mutex::new(()),
        }
    }

    #[inline]
    pub fn is_free(&self) -> bool {
        self.holder.load(Ordering::Acquire) == FREE
    }

    #[inline(always)]
    fn lock(&self, name: &'static str, at: &'static Location<'static>) -> Option<Outside<'_>> {
        if rt::current().is_null() {
            let outside = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
            self.take_outside(at, || {
                panic!("a lock is held by a thread of `fabius::check`, or by a guard that it left")
            });
            return Some(outside);
        }
        rt::point(Op::write(name, self.object.id(), at).when(self, is_free).held_by(holders));
        self.take(at);
        None
    }

    /// The current thread has it. Only in an execution that has claimed the object, when the lock is free.
    #[inline]
    pub fn take(&self, at: &'static Location<'static>) {
        rt::changes(self);
        rt::with(|rt| {
            self.holder.store(rt.current as u32 + 1, Ordering::Relaxed);
            self.taken_in.store(rt.epoch, Ordering::Relaxed);
            self.taken_at.store(ptr::from_ref(at).cast_mut(), Ordering::Relaxed);
        });
        self.object.is_taken();
        rt::holds();
    }

    /// Somebody outside of an execution has it, who has the lock of std. An execution that claims the object in between
    /// sees that, or is seen.
    pub fn take_outside(&self, at: &'static Location<'static>, otherwise: impl FnOnce()) {
        self.object.outside();
        if self.holder.compare_exchange(FREE, OUTSIDE, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return otherwise();
        }
        if self.object.is_anothers() {
            self.holder.store(FREE, Ordering::Release);
            self.object.is_used_by_a_real_thread();
        }
        self.taken_at.store(ptr::from_ref(at).cast_mut(), Ordering::Relaxed);
    }

    #[inline(always)]
    pub fn unlock(&self, at: &'static Location<'static>, last: impl FnOnce()) {
        let _free = Finally(|| self.free());
        if !rt::current().is_null() {
            rt::point(Op::write("unlock", self.object.id(), at));
            rt::gives_back();
        }
        last();
    }

    /// The same as a part of the operation that is being done. Inside of an execution.
    pub fn unlock_within(&self, at: &'static Location<'static>) {
        self.free();
        rt::also(Op::write("unlock", self.object.id(), at));
        rt::gives_back();
    }

    /// Whoever has the guard gives it back.
    #[inline]
    pub fn free(&self) {
        rt::changes(self);
        self.object.is_given_back();
        self.holder.store(FREE, Ordering::Release);
    }

    pub fn is_held_by_current(&self) -> bool {
        rt::with(|rt| self.holder(rt).is_some_and(|(thread, _)| thread == rt.current)).unwrap_or(false)
    }

    /// Who holds it, and where that was taken.
    pub fn holder(&self, rt: &Rt) -> Option<Holder> {
        let holder = self.holder.load(Ordering::Acquire);
        let here = rt.epoch == self.taken_in.load(Ordering::Relaxed) && holder != OUTSIDE;
        let thread = if here { (holder as usize).checked_sub(1)? } else { ELSEWHERE };
        (holder != FREE).then(|| (thread, self.taken_at().unwrap_or(self.object.made)))
    }

    fn taken_at(&self) -> Option<&'static Location<'static>> {
        // SAFETY: it is null, or was made from a reference to what is static.
        unsafe { self.taken_at.load(Ordering::Relaxed).as_ref() }
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
        let poisoned = self.raw.poisoned.load(Ordering::Relaxed);
        result(poisoned, self.data.into_inner())
    }
}

fn result<G>(poisoned: bool, value: G) -> LockResult<G> {
    if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
}

impl<T: ?Sized> Mutex<T> {
    /// As in std: a scheduling point; waits for the lock.
    #[track_caller]
    #[inline(always)]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let outside = self.raw.lock("lock", Location::caller());
        self.guard(outside)
    }

    /// As in std: a scheduling point; does not wait.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let at = Location::caller();
        if rt::current().is_null() {
            let outside = match self.raw.outside.try_lock() {
                Ok(outside) => outside,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
            };
            let mut held = false;
            self.raw.take_outside(at, || held = true);
            return if held { Err(TryLockError::WouldBlock) } else { Ok(self.guard(Some(outside))?) };
        }
        rt::observe(Refine::RELEASES);
        rt::point(Op::write("try_lock", self.raw.object.id(), at).ordered());
        let is_free = self.raw.is_free();
        rt::note(|| if is_free { "taken" } else { "held by another" }.into());
        if !is_free {
            rt::unchanged();
            return Err(TryLockError::WouldBlock);
        }
        rt::comes_between(self.raw.object.id());
        self.raw.take(at);
        Ok(self.guard(None)?)
    }

    #[inline(always)]
    fn guard<'a>(&'a self, outside: Option<Outside<'a>>) -> LockResult<MutexGuard<'a, T>> {
        let panicking = std::thread::panicking();
        let guard = MutexGuard { lock: self, panicking, outside, not_send: std::marker::PhantomData };
        result(self.raw.poisoned.load(Ordering::Relaxed), guard)
    }

    /// Whether the current thread holds it.
    #[doc(hidden)]
    pub fn is_held_by_current(&self) -> bool {
        self.raw.is_held_by_current()
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        if !rt::current().is_null() {
            rt::point(Op::read("is_poisoned", self.raw.object.id(), Location::caller()).ordered());
        }
        self.raw.poisoned.load(Ordering::Relaxed)
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn clear_poison(&self) {
        if !rt::current().is_null() {
            rt::point(Op::write("clear_poison", self.raw.object.id(), Location::caller()).ordered());
        }
        self.raw.poisoned.store(false, Ordering::Relaxed);
    }

    /// As in std.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        result(self.raw.poisoned.load(Ordering::Relaxed), self.data.get_mut())
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The mutex, which stays locked, and what a guard from outside has as well.
    pub(super) fn into_parts(self) -> (&'a Mutex<T>, Option<Outside<'a>>) {
        let mut this = std::mem::ManuallyDrop::new(self);
        (this.lock, this.outside.take())
    }
}

impl<T: ?Sized> Mutex<T> {
    pub(super) fn raw(&self) -> &RawMutex {
        &self.raw
    }

    /// A guard for a lock that was taken again after a wait.
    pub(super) fn relocked<'a>(&'a self, outside: Option<Outside<'a>>) -> LockResult<MutexGuard<'a, T>> {
        self.guard(outside)
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
    #[inline(always)]
    fn drop(&mut self) {
        let raw = &self.lock.raw;
        let poisons = !self.panicking && std::thread::panicking() && !rt::with(|rt| rt.abandoned).unwrap_or(false);
        let at = raw.taken_at().unwrap_or(raw.object.made);
        if poisons && !raw.poisoned.load(Ordering::Relaxed) {
            // The lock is not as it was before.
            rt::touches(&raw.object);
        }
        raw.unlock(at, || {
            if poisons {
                raw.poisoned.store(true, Ordering::Relaxed);
            }
        });
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
        f.debug_struct("Mutex").field("poisoned", &self.raw.poisoned.load(Ordering::Relaxed)).finish_non_exhaustive()
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
