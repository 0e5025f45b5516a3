//! A lock for many readers or one writer.

use super::Finally;
use crate::rt::{self, Holder, Object, Op, Refine, Rt};
use std::cell::{Cell, RefCell, UnsafeCell};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// [`std::sync::RwLock`] under the scheduler. Neither side is preferred.
pub struct RwLock<T: ?Sized> {
    raw: Raw,
    data: UnsafeCell<T>,
}

// SAFETY: as for `std::sync::RwLock`; all threads of an execution are fibers of one operating system thread.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}

impl<T: ?Sized> std::panic::UnwindSafe for RwLock<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for RwLock<T> {}

pub(crate) struct Raw {
    object: Object,
    writer: Cell<Option<Holder>>,
    readers: RefCell<Vec<Holder>>,
    poisoned: Cell<bool>,
}

/// [`std::sync::RwLockReadGuard`].
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    not_send: std::marker::PhantomData<*const ()>,
}

/// [`std::sync::RwLockWriteGuard`].
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    panicking: bool,
    not_send: std::marker::PhantomData<*const ()>,
}

// SAFETY: as in std.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: as in std.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

unsafe fn no_writer(raw: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Raw`.
    unsafe { (*raw.cast::<Raw>()).writer.get().is_none() }
}

unsafe fn is_free(raw: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Raw`.
    unsafe { (*raw.cast::<Raw>()).is_free() }
}

unsafe fn holders(raw: *const ()) -> Vec<Holder> {
    // SAFETY: it is only used with a `Raw`.
    let raw = unsafe { &*raw.cast::<Raw>() };
    raw.writer.get().into_iter().chain(raw.readers.borrow().iter().copied()).collect()
}

fn me() -> usize {
    rt::with(|rt| rt.current).unwrap_or(0)
}

fn result<G>(poisoned: bool, value: G) -> LockResult<G> {
    if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
}

impl Raw {
    fn is_free(&self) -> bool {
        self.writer.get().is_none() && self.readers.borrow().is_empty()
    }
}

impl<T> RwLock<T> {
    /// As in std.
    #[track_caller]
    pub const fn new(value: T) -> RwLock<T> {
        let raw = Raw {
            object: Object::new(),
            writer: Cell::new(None),
            readers: RefCell::new(Vec::new()),
            poisoned: Cell::new(false),
        };
        RwLock { raw, data: UnsafeCell::new(value) }
    }

    /// As in std.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.raw.poisoned.get();
        result(poisoned, self.data.into_inner())
    }
}

impl<T: ?Sized> RwLock<T> {
    /// As in std: a scheduling point; waits until nobody writes.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let at = Location::caller();
        rt::point(Op::read("read", self.raw.object.id(), at).when(&self.raw, no_writer).held_by(holders));
        self.raw.readers.borrow_mut().push((me(), at));
        result(self.raw.poisoned.get(), RwLockReadGuard { lock: self, not_send: std::marker::PhantomData })
    }

    /// As in std: a scheduling point; waits until nobody reads or writes.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let at = Location::caller();
        rt::point(Op::write("write", self.raw.object.id(), at).when(&self.raw, is_free).held_by(holders));
        self.written(at)
    }

    fn written(&self, at: &'static Location<'static>) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.raw.writer.set(Some((me(), at)));
        rt::holds();
        let panicking = std::thread::panicking();
        result(self.raw.poisoned.get(), RwLockWriteGuard { lock: self, panicking, not_send: std::marker::PhantomData })
    }

    /// As in std: a scheduling point; does not wait.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        rt::observe(Refine::RELEASES);
        let at = Location::caller();
        rt::point(Op::read("try_read", self.raw.object.id(), at));
        if self.raw.writer.get().is_some() {
            rt::unchanged();
            return Err(TryLockError::WouldBlock);
        }
        self.raw.readers.borrow_mut().push((me(), at));
        let guard = RwLockReadGuard { lock: self, not_send: std::marker::PhantomData };
        result(self.raw.poisoned.get(), guard).map_err(TryLockError::Poisoned)
    }

    /// As in std: a scheduling point; does not wait.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        rt::observe(Refine::RELEASES);
        let at = Location::caller();
        rt::point(Op::write("try_write", self.raw.object.id(), at));
        if !self.raw.is_free() {
            rt::unchanged();
            return Err(TryLockError::WouldBlock);
        }
        self.written(at).map_err(TryLockError::Poisoned)
    }

    /// Whether the current thread holds it, to read or to write.
    #[doc(hidden)]
    pub fn is_held_by_current(&self) -> bool {
        let mine = |(thread, _): &Holder| *thread == me();
        self.raw.writer.get().iter().any(mine) || self.raw.readers.borrow().iter().any(mine)
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

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard keeps writers out.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard keeps all others out.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        rt::touches(&self.lock.raw.object);
        // SAFETY: the guard keeps all others out.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        let raw = &self.lock.raw;
        let me = me();
        let mut at = raw.object.made;
        let found = raw.readers.borrow().iter().rposition(|(thread, _)| *thread == me);
        // A guard may have been sent to another thread.
        let last = found.unwrap_or(raw.readers.borrow().len().saturating_sub(1));
        if let Some((_, taken)) = raw.readers.borrow().get(last) {
            at = taken;
        }
        let _free = Finally(|| {
            let mut readers = raw.readers.borrow_mut();
            let last = readers.iter().rposition(|(thread, _)| *thread == me).unwrap_or(readers.len().saturating_sub(1));
            if last < readers.len() {
                readers.remove(last);
            }
        });
        rt::point(Op::read("unlock", raw.object.id(), at));
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        let raw = &self.lock.raw;
        if !self.panicking && std::thread::panicking() && !rt::with(|rt| rt.abandoned).unwrap_or(false) {
            raw.poisoned.set(true);
        }
        let at = raw.writer.get().map_or(raw.object.made, |(_, at)| at);
        let _free = Finally(|| raw.writer.set(None));
        rt::point(Op::write("unlock", raw.object.id(), at));
        rt::gives_back();
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").field("poisoned", &self.raw.poisoned.get()).finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
