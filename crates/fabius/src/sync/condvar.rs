//! Condition variables.

use super::mutex::{self, MutexGuard, RawMutex};
use crate::rt::{self, Inside, Op, Refine, Renew, Rt};
use std::fmt;
use std::panic::Location;
use std::sync::{LockResult, PoisonError};
use std::time::Duration;

/// [`std::sync::Condvar`] under the scheduler. `notify_one` may wake any of the threads that wait. Outside of a check it is
/// one of std's.
pub struct Condvar {
    waiters: Inside<Waiters>,
    outside: std::sync::Condvar,
}

/// The threads that wait.
struct Waiters(Vec<usize>);

impl Renew for Waiters {
    fn renew(&mut self) {
        self.0.clear();
    }
}

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
    rt.threads[thread].notified && unsafe { (*mutex.cast::<RawMutex>()).is_free() }
}

unsafe fn is_notified(_: *const (), rt: &Rt, thread: usize) -> bool {
    rt.threads[thread].notified
}

unsafe fn is_free(mutex: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `RawMutex`.
    unsafe { (*mutex.cast::<RawMutex>()).is_free() }
}

impl Condvar {
    /// As in std.
    #[track_caller]
    pub const fn new() -> Condvar {
        Condvar { waiters: Inside::new(Waiters(Vec::new())), outside: std::sync::Condvar::new() }
    }

    /// Releases the lock and waits; whether time was up. Inside of an execution.
    fn wait_inside(&self, raw: &RawMutex, deadline: Option<Duration>, at: &'static Location<'static>) -> bool {
        rt::observe(Refine::WAITS);
        // Who tries the lock sees in which step it is released.
        let both = Refine::RELEASES.with(Refine::WAITS);
        let seen = rt::with(|rt| rt.settings.refine.contains(both)) == Some(true);
        let op = Op::write("wait", self.waiters.id(), at).ordered();
        rt::point(if seen { op.and(raw.object.id()) } else { op });
        let me = rt::must(|rt| {
            rt.threads[rt.current].notified = false;
            rt.current
        });
        rt::lists();
        let begun = rt::last_change();
        // In a trial there is nobody who could see that it waits, and it ends at a wait that does not end at once.
        let is_seen = !rt::is_alone();
        if is_seen {
            self.waiters.with(|waiters| waiters.0.push(me));
        }
        raw.unlock_within(at);
        let timed_out = match deadline {
            None => {
                rt::point(Op::write("wake", raw.object.id(), at).when(raw, is_woken).held_by(mutex::holders));
                false
            }
            // Two steps: it waits no longer, and can be notified no more, before it has the lock.
            Some(_) => {
                let op = Op::write("wake", self.waiters.id(), at).ordered();
                let timed_out = rt::point(op.when(&(), is_notified).until(deadline));
                if is_seen {
                    self.waiters.with(|waiters| waiters.0.retain(|t| *t != me));
                }
                if timed_out {
                    // It was on the list until now, which is as it was if nobody else has changed it.
                    rt::undoes(&begun);
                }
                rt::point(Op::write("relock", raw.object.id(), at).when(raw, is_free).held_by(mutex::holders));
                timed_out
            }
        };
        raw.take(at);
        rt::note(|| if timed_out { "time was up" } else { "woken" }.into());
        timed_out
    }

    /// Releases the lock and waits, inside of an execution or outside; whether time was up.
    fn wait_for<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Option<Duration>,
        at: &'static Location<'static>,
    ) -> (LockResult<MutexGuard<'a, T>>, WaitTimeoutResult) {
        let (mutex, outside) = guard.into_parts();
        let raw = mutex.raw();
        let Some(outside) = outside else {
            if rt::current().is_null() {
                raw.free();
                panic!("a guard of an execution cannot be waited with outside of it");
            }
            let abandon = Abandon(raw);
            let deadline = limit.and_then(|limit| rt::with(|rt| rt.now.saturating_add(limit)));
            let timed_out = self.wait_inside(raw, deadline, at);
            std::mem::forget(abandon);
            return (mutex.relocked(None), WaitTimeoutResult(timed_out));
        };
        raw.free();
        if !rt::current().is_null() {
            panic!("a guard from outside of an execution cannot be waited with inside of it");
        }
        self.waiters.object.outside();
        let (outside, timed_out) = match limit {
            None => (self.outside.wait(outside).unwrap_or_else(PoisonError::into_inner), false),
            Some(limit) => {
                let (outside, result) =
                    self.outside.wait_timeout(outside, limit).unwrap_or_else(PoisonError::into_inner);
                (outside, result.timed_out())
            }
        };
        raw.take_outside(at, || panic!("a lock is held by a thread of `fabius::check`, or by a guard that it left"));
        (mutex.relocked(Some(outside)), WaitTimeoutResult(timed_out))
    }

    /// As in std: releases the lock and waits for a notification; then waits for the lock.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_for(guard, None, Location::caller()).0
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
        match self.wait_for(guard, Some(limit), Location::caller()) {
            (Ok(guard), timed_out) => Ok((guard, timed_out)),
            (Err(poisoned), timed_out) => Err(PoisonError::new((poisoned.into_inner(), timed_out))),
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
        rt::point(Op::write("notify_one", self.waiters.id(), Location::caller()).ordered());
        let Some(count) = self.waiters.with(|waiters| waiters.0.len()) else { return self.outside.notify_one() };
        if count > 0 {
            let chosen = rt::choose(count as u32) as usize;
            let thread = self.waiters.with(|waiters| waiters.0.remove(chosen));
            thread.into_iter().for_each(wake);
            rt::note(|| format!("wakes thread {}", thread.unwrap_or_default()));
        } else {
            rt::note(|| "nobody waits".into());
        }
    }

    /// As in std: a scheduling point.
    #[track_caller]
    #[inline]
    pub fn notify_all(&self) {
        rt::point(Op::write("notify_all", self.waiters.id(), Location::caller()).ordered());
        let all = self.waiters.with(|waiters| std::mem::take(&mut waiters.0));
        let Some(all) = all else { return self.outside.notify_all() };
        rt::note(|| format!("wakes {}", all.len()));
        all.into_iter().for_each(wake);
    }
}

fn wake(thread: usize) {
    rt::with(|rt| {
        if let Some(thread) = rt.threads.get_mut(thread) {
            thread.notified = true;
        }
    });
}

/// Releases the mutex, whose guard is gone, if the wait is abandoned before it did.
struct Abandon<'a>(&'a RawMutex);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if self.0.is_held_by_current() {
            self.0.unlock_within(self.0.object.made);
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
