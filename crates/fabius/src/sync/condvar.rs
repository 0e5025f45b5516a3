//! Condition variables.

use super::mutex::{self, Mutex, MutexGuard, RawMutex};
use crate::rt::{self, Object, Op, Refine, Rt};
use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::sync::{LockResult, PoisonError};
use std::time::Duration;

/// [`std::sync::Condvar`] under the scheduler. `notify_one` may wake any of the threads that wait.
pub struct Condvar {
    object: Object,
    waiters: RefCell<Vec<usize>>,
}

// SAFETY: all threads of an execution are fibers of one operating system thread.
unsafe impl Sync for Condvar {}
// SAFETY: as above.
unsafe impl Send for Condvar {}

impl std::panic::UnwindSafe for Condvar {}
impl std::panic::RefUnwindSafe for Condvar {}

/// [`std::sync::WaitTimeoutResult`], which std does not let others make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(pub(crate) bool);

impl WaitTimeoutResult {
    /// Whether the wait ended because time was up.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

unsafe fn is_woken(mutex: *const (), rt: &Rt, thread: usize) -> bool {
    // SAFETY: it is only used with a `RawMutex`.
    rt.threads[thread].notified && unsafe { (*mutex.cast::<RawMutex>()).ready_to_relock() }
}

unsafe fn is_free(mutex: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `RawMutex`.
    unsafe { (*mutex.cast::<RawMutex>()).ready_to_relock() }
}

impl Condvar {
    /// As in std.
    #[track_caller]
    pub const fn new() -> Condvar {
        Condvar { object: Object::new(), waiters: RefCell::new(Vec::new()) }
    }

    /// Releases the lock and waits; whether time was up.
    fn wait_until<T: ?Sized>(
        &self,
        mutex: &Mutex<T>,
        deadline: Option<Duration>,
        at: &'static Location<'static>,
    ) -> bool {
        let raw = mutex.raw();
        rt::observe(Refine::WAITS);
        // Who tries the lock sees in which step it is released.
        let both = Refine::RELEASES.with(Refine::WAITS);
        let seen = rt::with(|rt| rt.settings.refine.contains(both)) == Some(true);
        let op = Op::write("wait", self.object.id(), at);
        rt::point(if seen { op.and(raw.object.id()) } else { op });
        let Some(me) = rt::with(|rt| rt.current) else { panic!("a wait outside of `fabius::check` would never end") };
        self.waiters.borrow_mut().push(me);
        rt::with(|rt| rt.threads[me].notified = false);
        raw.unlock_within(at);
        let mut timed_out = rt::point(
            Op::write("wake", raw.object.id(), at).when(raw, is_woken).held_by(mutex::holders).until(deadline),
        );
        if timed_out {
            self.waiters.borrow_mut().retain(|t| *t != me);
            let notified = rt::with(|rt| rt.threads[me].notified).unwrap_or(false);
            timed_out = !notified;
            if !raw.ready_to_relock() {
                rt::point(Op::write("relock", raw.object.id(), at).when(raw, is_free).held_by(mutex::holders));
            }
        }
        rt::note(|| if timed_out { "time was up" } else { "woken" }.into());
        timed_out
    }

    /// As in std: releases the lock and waits for a notification; then waits for the lock.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let at = Location::caller();
        let mutex = guard.mutex();
        std::mem::forget(guard);
        let abandon = Abandon(mutex);
        self.wait_until(mutex, None, at);
        std::mem::forget(abandon);
        mutex.relocked(at)
    }

    /// As in std.
    #[track_caller]
    pub fn wait_while<'a, T: ?Sized, F: FnMut(&mut T) -> bool>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// As in std, in virtual time: time is up only when no thread can go on otherwise.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let at = Location::caller();
        let mutex = guard.mutex();
        std::mem::forget(guard);
        let abandon = Abandon(mutex);
        let deadline = rt::with(|rt| rt.now.saturating_add(limit));
        let timed_out = WaitTimeoutResult(self.wait_until(mutex, deadline, at));
        std::mem::forget(abandon);
        match mutex.relocked(at) {
            Ok(guard) => Ok((guard, timed_out)),
            Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), timed_out))),
        }
    }

    /// As in std.
    #[track_caller]
    pub fn wait_timeout_while<'a, T: ?Sized, F: FnMut(&mut T) -> bool>(
        &self,
        mut guard: MutexGuard<'a, T>,
        limit: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let end = crate::time::elapsed().saturating_add(limit);
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let left = end.saturating_sub(crate::time::elapsed());
            if left.is_zero() {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            guard = self.wait_timeout(guard, left)?.0;
        }
    }

    /// As in std: a scheduling point. Any of the waiting threads may be the one.
    #[track_caller]
    pub fn notify_one(&self) {
        rt::point(Op::write("notify_one", self.object.id(), Location::caller()));
        let count = self.waiters.borrow().len();
        if count > 0 {
            let chosen = rt::choose(count as u32) as usize;
            let thread = self.waiters.borrow_mut().remove(chosen);
            self.wake(thread);
            rt::note(|| format!("wakes thread {thread}"));
        } else {
            rt::note(|| "nobody waits".into());
        }
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn notify_all(&self) {
        rt::point(Op::write("notify_all", self.object.id(), Location::caller()));
        let all = std::mem::take(&mut *self.waiters.borrow_mut());
        rt::note(|| format!("wakes {}", all.len()));
        all.into_iter().for_each(|thread| self.wake(thread));
    }

    fn wake(&self, thread: usize) {
        rt::with(|rt| {
            if let Some(thread) = rt.threads.get_mut(thread) {
                thread.notified = true;
            }
        });
    }
}

/// Releases the mutex, whose guard is gone, if the wait is abandoned before it did.
struct Abandon<'a, T: ?Sized>(&'a Mutex<T>);

impl<T: ?Sized> Drop for Abandon<'_, T> {
    fn drop(&mut self) {
        let raw = self.0.raw();
        if raw.holder().is_some_and(|(thread, _)| rt::with(|rt| rt.current) == Some(thread)) {
            raw.unlock_within(raw.object.made);
        }
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
