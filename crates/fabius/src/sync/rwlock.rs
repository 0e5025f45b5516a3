//! A lock for many readers or one writer.

use super::Finally;
use crate::rt::{self, ELSEWHERE, Holder, Inside, Op, Refine, Renew, Rt};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, LockResult, Mutex, PoisonError, TryLockError, TryLockResult};

/// [`std::sync::RwLock`] under the scheduler. Neither side is preferred: that std may keep new readers out while a writer
/// waits, so that a thread which reads twice at once waits for ever, is not explored. Outside of a check it is a lock like
/// std's.
pub struct RwLock<T: ?Sized> {
    raw: Raw,
    data: UnsafeCell<T>,
}

// SAFETY: as for `std::sync::RwLock`: only who has a guard uses the data, and `Raw` gives one to a writer, or some to readers.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}

impl<T: ?Sized> std::panic::UnwindSafe for RwLock<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for RwLock<T> {}

/// The lock without the data. Numbers of guards decide, also of those that were leaked; what is known of the guards is for
/// people. Outside of an execution a guard is taken with `gate` locked, and `freed` is notified when one is given back.
pub(crate) struct Raw {
    /// The guards that threads of the execution have.
    known: Inside<Known>,
    writer: AtomicU32,
    /// Readers that are threads of executions.
    readers: AtomicU32,
    /// Readers outside of executions.
    outside: AtomicU32,
    poisoned: AtomicBool,
    gate: Mutex<()>,
    freed: Condvar,
}

#[derive(Default)]
struct Known {
    writer: Option<Holder>,
    readers: Vec<Holder>,
}

impl Renew for Known {
    fn renew(&mut self) {
        *self = Known::default();
    }
}

/// Who writes.
const NOBODY: u32 = 0;
const A_THREAD: u32 = 1;
const OUTSIDE: u32 = 2;

/// Where a guard was taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Inside,
    Outside,
}

/// Whether somebody waits for a guard that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Take {
    Waits,
    Tries,
}

/// [`std::sync::RwLockReadGuard`].
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    taken: Taken,
    not_send: std::marker::PhantomData<*const ()>,
}

/// [`std::sync::RwLockWriteGuard`].
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    panicking: bool,
    taken: Taken,
    not_send: std::marker::PhantomData<*const ()>,
}

// SAFETY: as in std.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: as in std.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

unsafe fn no_writer(raw: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Raw`.
    unsafe { (*raw.cast::<Raw>()).no_writer() }
}

unsafe fn is_free(raw: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Raw`.
    unsafe { (*raw.cast::<Raw>()).is_free() }
}

/// Whom a writer waits for.
unsafe fn holders(raw: *const (), rt: &Rt) -> Vec<Holder> {
    // SAFETY: it is only used with a `Raw`.
    unsafe { (*raw.cast::<Raw>()).holders(rt) }
}

/// Whom a reader waits for.
unsafe fn writers(raw: *const (), rt: &Rt) -> Vec<Holder> {
    // SAFETY: it is only used with a `Raw`.
    let raw = unsafe { &*raw.cast::<Raw>() };
    if raw.no_writer() { Vec::new() } else { raw.holders(rt) }
}

fn me() -> usize {
    rt::with(|rt| rt.current).unwrap_or(ELSEWHERE)
}

fn result<G>(poisoned: bool, value: G) -> LockResult<G> {
    if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
}

impl Raw {
    fn no_writer(&self) -> bool {
        self.writer.load(Ordering::Acquire) == NOBODY
    }

    fn is_free(&self) -> bool {
        self.no_writer() && self.readers.load(Ordering::Acquire) == 0 && self.outside.load(Ordering::Acquire) == 0
    }

    fn holders(&self, rt: &Rt) -> Vec<Holder> {
        if self.is_free() {
            return Vec::new();
        }
        let known = self.known.peek(rt, |known| known.writer.iter().chain(&known.readers).copied().collect());
        let mut known: Vec<Holder> = known.unwrap_or_default();
        if known.is_empty() {
            known.push((ELSEWHERE, self.known.object.made));
        }
        known
    }

    /// Takes a guard outside of an execution, when it is there. An execution that claims the lock in between sees that, or is
    /// seen.
    fn take_outside<R>(
        &self,
        is_there: impl Fn() -> bool,
        take: impl Fn() -> R,
        undo: impl Fn() -> R,
        how: Take,
    ) -> bool {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            self.known.object.outside();
            if is_there() {
                take();
                if self.known.object.is_anothers() {
                    undo();
                    self.known.object.is_used_by_a_real_thread();
                }
                return true;
            }
            if how == Take::Tries {
                return false;
            }
            if self.writer.load(Ordering::Acquire) == A_THREAD || self.readers.load(Ordering::Acquire) > 0 {
                panic!("a lock is held by a thread of `fabius::check`, or by a guard that it left");
            }
            gate = self.freed.wait(gate).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn read_outside(&self, how: Take) -> bool {
        let take = || self.outside.fetch_add(1, Ordering::SeqCst);
        let undo = || self.outside.fetch_sub(1, Ordering::SeqCst);
        self.take_outside(|| self.no_writer(), take, undo, how)
    }

    fn write_outside(&self, how: Take) -> bool {
        let take = || self.writer.store(OUTSIDE, Ordering::SeqCst);
        let undo = || self.writer.store(NOBODY, Ordering::SeqCst);
        self.take_outside(|| self.is_free(), take, undo, how)
    }

    /// A guard is given back, or another made of it.
    fn give_back(&self, taken: Taken, free: impl FnOnce()) {
        if taken == Taken::Outside {
            let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
            free();
            drop(gate);
            self.freed.notify_all();
        } else {
            free();
        }
    }

    /// The current thread reads. Only in an execution that has claimed the lock.
    fn reads(&self, at: &'static Location<'static>) {
        self.readers.fetch_add(1, Ordering::Acquire);
        self.known.with(|known| known.readers.push((me(), at)));
        self.known.object.is_taken();
    }

    /// The current thread writes. Only in an execution that has claimed the lock.
    fn writes(&self, at: &'static Location<'static>) {
        self.writer.store(A_THREAD, Ordering::Relaxed);
        self.known.with(|known| known.writer = Some((me(), at)));
        self.known.object.is_taken();
        rt::holds();
    }

    /// Where the current thread has begun to read; a guard may have been sent to another thread.
    fn reader(&self) -> Option<usize> {
        let find = |known: &mut Known| {
            let mine = known.readers.iter().rposition(|(thread, _)| *thread == me());
            mine.or(known.readers.len().checked_sub(1))
        };
        self.known.with(find).flatten()
    }
}

impl<T> RwLock<T> {
    /// As in std.
    #[track_caller]
    pub const fn new(value: T) -> RwLock<T> {
        let raw = Raw {
            known: Inside::new(Known { writer: None, readers: Vec::new() }),
            writer: AtomicU32::new(NOBODY),
            readers: AtomicU32::new(0),
            outside: AtomicU32::new(0),
            poisoned: AtomicBool::new(false),
            gate: Mutex::new(()),
            freed: Condvar::new(),
        };
        RwLock { raw, data: UnsafeCell::new(value) }
    }

    /// As in std.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.raw.poisoned.load(Ordering::Relaxed);
        result(poisoned, self.data.into_inner())
    }
}

impl<T: ?Sized> RwLock<T> {
    /// As in std: a scheduling point; waits until nobody writes.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let at = Location::caller();
        if rt::current().is_null() {
            self.raw.read_outside(Take::Waits);
            return self.reading(Taken::Outside);
        }
        rt::point(Op::read("read", self.raw.known.id(), at).when(&self.raw, no_writer).held_by(writers));
        self.raw.reads(at);
        self.reading(Taken::Inside)
    }

    fn reading(&self, taken: Taken) -> LockResult<RwLockReadGuard<'_, T>> {
        result(
            self.raw.poisoned.load(Ordering::Relaxed),
            RwLockReadGuard { lock: self, taken, not_send: std::marker::PhantomData },
        )
    }

    /// As in std: a scheduling point; waits until nobody reads or writes.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let at = Location::caller();
        if rt::current().is_null() {
            self.raw.write_outside(Take::Waits);
            return self.writing(Taken::Outside);
        }
        rt::point(Op::write("write", self.raw.known.id(), at).when(&self.raw, is_free).held_by(holders));
        self.raw.writes(at);
        self.writing(Taken::Inside)
    }

    fn writing(&self, taken: Taken) -> LockResult<RwLockWriteGuard<'_, T>> {
        let panicking = std::thread::panicking();
        let guard = RwLockWriteGuard { lock: self, panicking, taken, not_send: std::marker::PhantomData };
        result(self.raw.poisoned.load(Ordering::Relaxed), guard)
    }

    /// As in std: a scheduling point; does not wait.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        if rt::current().is_null() {
            let taken = self.raw.read_outside(Take::Tries);
            return if taken { Ok(self.reading(Taken::Outside)?) } else { Err(TryLockError::WouldBlock) };
        }
        rt::observe(Refine::RELEASES);
        let at = Location::caller();
        rt::point(Op::read("try_read", self.raw.known.id(), at).ordered());
        if !self.raw.no_writer() {
            return Err(TryLockError::WouldBlock);
        }
        rt::reads(self.raw.known.id());
        self.raw.reads(at);
        Ok(self.reading(Taken::Inside)?)
    }

    /// As in std: a scheduling point; does not wait.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        if rt::current().is_null() {
            let taken = self.raw.write_outside(Take::Tries);
            return if taken { Ok(self.writing(Taken::Outside)?) } else { Err(TryLockError::WouldBlock) };
        }
        rt::observe(Refine::RELEASES);
        let at = Location::caller();
        rt::point(Op::write("try_write", self.raw.known.id(), at).ordered());
        if !self.raw.is_free() {
            rt::unchanged();
            return Err(TryLockError::WouldBlock);
        }
        rt::comes_between(self.raw.known.id());
        self.raw.writes(at);
        Ok(self.writing(Taken::Inside)?)
    }

    /// Whether the current thread holds it, to read or to write.
    #[doc(hidden)]
    pub fn is_held_by_current(&self) -> bool {
        let mine = |(thread, _): &Holder| *thread == me();
        self.raw.known.with(|known| known.writer.iter().chain(&known.readers).any(mine)).unwrap_or(false)
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        if !rt::current().is_null() {
            rt::point(Op::read("is_poisoned", self.raw.known.id(), Location::caller()).ordered());
        }
        self.raw.poisoned.load(Ordering::Relaxed)
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn clear_poison(&self) {
        if !rt::current().is_null() {
            rt::point(Op::write("clear_poison", self.raw.known.id(), Location::caller()).ordered());
        }
        self.raw.poisoned.store(false, Ordering::Relaxed);
    }

    /// As in std.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        result(self.raw.poisoned.load(Ordering::Relaxed), self.data.get_mut())
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// As in std: the writer becomes a reader, and nobody else writes in between. Others can read from then on, so that it is
    /// a release.
    #[track_caller]
    pub fn downgrade(this: RwLockWriteGuard<'a, T>) -> RwLockReadGuard<'a, T> {
        let at = Location::caller();
        let this = std::mem::ManuallyDrop::new(this);
        let (lock, taken) = (this.lock, this.taken);
        let raw = &lock.raw;
        let reader = RwLockReadGuard { lock, taken, not_send: std::marker::PhantomData };
        let change = || {
            let readers = if taken == Taken::Inside { &raw.readers } else { &raw.outside };
            readers.fetch_add(1, Ordering::Relaxed);
            raw.writer.store(NOBODY, Ordering::Release);
        };
        if rt::current().is_null() {
            raw.give_back(taken, change);
            return reader;
        }
        let id = raw.known.id();
        let changed = Finally(|| {
            raw.give_back(taken, change);
            raw.known.with(|known| known.readers.extend(known.writer.take().map(|(thread, _)| (thread, at))));
        });
        rt::point(Op::write("downgrade", id, at));
        drop(changed);
        reader
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
        rt::touches(&self.lock.raw.known.object);
        // SAFETY: the guard keeps all others out.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        let raw = &self.lock.raw;
        let taken = self.taken;
        let _free = Finally(|| {
            raw.give_back(taken, || {
                let readers = if taken == Taken::Inside { &raw.readers } else { &raw.outside };
                readers.fetch_sub(1, Ordering::Release);
            });
            raw.known.object.is_given_back();
        });
        if rt::current().is_null() {
            return;
        }
        let at = |known: &mut Known, reader: Option<usize>| Some(known.readers.get(reader?)?.1);
        let reader = raw.reader();
        let at = raw.known.with(|known| at(known, reader)).flatten().unwrap_or(raw.known.object.made);
        let _unknown = Finally(|| {
            let reader = if taken == Taken::Inside { raw.reader() } else { None };
            raw.known.with(|known| reader.map(|reader| known.readers.remove(reader)));
        });
        rt::point(Op::read("unlock", raw.known.id(), at));
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        let raw = &self.lock.raw;
        let poisons = !self.panicking && std::thread::panicking() && !rt::with(|rt| rt.abandoned).unwrap_or(false);
        let taken = self.taken;
        let _free = Finally(|| {
            if poisons {
                raw.poisoned.store(true, Ordering::Relaxed);
            }
            raw.give_back(taken, || raw.writer.store(NOBODY, Ordering::Release));
            raw.known.object.is_given_back();
        });
        if rt::current().is_null() {
            return;
        }
        let at = raw.known.with(|known| known.writer).flatten().map_or(raw.known.object.made, |(_, at)| at);
        let _unknown = Finally(|| {
            raw.known.with(|known| known.writer = None);
        });
        rt::point(Op::write("unlock", raw.known.id(), at));
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
        f.debug_struct("RwLock").field("poisoned", &self.raw.poisoned.load(Ordering::Relaxed)).finish_non_exhaustive()
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
