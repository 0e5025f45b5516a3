//! Condition variables.

use crate::MutexGuard;
use fabius::extend::{self, Left, Resource, State};
use fabius::time::Instant;
use lock_api::RawMutex as _;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

/// As in parking_lot; `notify_one` may wake any of the threads that wait. Who is woken comes after who has done that, because nobody
/// is for no reason; notifications do not order one another.
pub struct Condvar {
    inside: Resource<Waiters>,
    outside: parking_lot::Condvar,
}

/// Who waits inside of an execution.
#[derive(Default)]
struct Waiters {
    /// Threads that nobody has woken.
    waiting: Vec<usize>,
    /// And those that somebody has.
    woken: Vec<(usize, Left)>,
    /// The address of the lock of those that nobody has woken.
    lock: usize,
}

impl State for Waiters {}

/// Whether time was up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether time was up.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

impl Condvar {
    /// As in parking_lot.
    #[track_caller]
    pub const fn new() -> Condvar {
        let waiters = Waiters { waiting: Vec::new(), woken: Vec::new(), lock: 0 };
        Condvar { inside: Resource::unordered(waiters), outside: parking_lot::Condvar::new() }
    }

    /// As in parking_lot. Inside of an execution it wakes any.
    #[track_caller]
    pub fn notify_one(&self) -> bool {
        if !extend::is_inside() {
            self.inside.outside();
            return self.outside.notify_one();
        }
        let wake = |waiters: &mut Waiters| {
            let count = waiters.waiting.len();
            if count > 0 {
                let chosen = extend::choose(count);
                waiters.woken.push((waiters.waiting.remove(chosen), self.inside.leaves()));
            }
            count > 0
        };
        self.inside.change("notify_one", Location::caller(), wake).unwrap_or(false)
    }

    /// As in parking_lot.
    #[track_caller]
    pub fn notify_all(&self) -> usize {
        if !extend::is_inside() {
            self.inside.outside();
            return self.outside.notify_all();
        }
        let wake = |waiters: &mut Waiters| {
            let left = self.inside.leaves();
            let woken = waiters.waiting.drain(..).map(|waiter| (waiter, left));
            let count = woken.len();
            waiters.woken.extend(woken);
            count
        };
        self.inside.change("notify_all", Location::caller(), wake).unwrap_or(0)
    }

    /// Waits; whether time was up. To begin to wait, to release the lock, to be woken and to take the lock are steps.
    #[track_caller]
    fn wait_limited<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        limit: Option<Duration>,
        at: &'static Location<'static>,
    ) -> bool {
        // SAFETY: the lock is given back before the guard is used again.
        let raw = unsafe { MutexGuard::mutex(guard).raw() };
        if !extend::is_inside() {
            self.inside.outside();
            return raw.wait_outside(&self.outside, limit);
        }
        let me = extend::me();
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let lock = std::ptr::from_ref(raw).addr();
        let begin = |waiters: &mut Waiters| {
            let is_the_lock = waiters.waiting.is_empty() || waiters.lock == lock;
            if is_the_lock {
                waiters.waiting.push(me);
                waiters.lock = lock;
            }
            is_the_lock
        };
        let is_the_lock = self.inside.change("wait", at, begin);
        extend::lists();
        let begun = extend::last_change();
        assert!(is_the_lock != Some(false), "attempted to use a condition variable with more than one mutex");
        // SAFETY: the guard has the lock.
        unsafe { raw.unlock() };
        let _relock = Relock(raw);
        let is_woken = |waiters: &Waiters| waiters.woken.iter().any(|(waiter, _)| *waiter == me);
        let leave = |waiters: &mut Waiters| {
            waiters.waiting.retain(|waiter| *waiter != me);
            let woken = waiters.woken.iter().position(|(waiter, _)| *waiter == me);
            woken.map(|woken| self.inside.takes(waiters.woken.swap_remove(woken).1)).is_some()
        };
        let woken = self.inside.when("wake", at, is_woken, until, leave);
        !woken.unwrap_or_else(|| {
            let woken = self.inside.change("time is up", at, leave).unwrap_or(false);
            if !woken {
                extend::undoes(&begun);
            }
            woken
        })
    }

    /// As in parking_lot.
    #[track_caller]
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_limited(guard, None, Location::caller());
    }

    /// As in parking_lot, in virtual time.
    #[track_caller]
    pub fn wait_until<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, until: Instant) -> WaitTimeoutResult {
        self.wait_for(guard, until.saturating_duration_since(Instant::now()))
    }

    /// As in parking_lot, in virtual time.
    #[track_caller]
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, limit: Duration) -> WaitTimeoutResult {
        WaitTimeoutResult(self.wait_limited(guard, Some(limit), Location::caller()))
    }

    /// As in parking_lot.
    #[track_caller]
    pub fn wait_while<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, mut condition: impl FnMut(&mut T) -> bool) {
        while condition(&mut **guard) {
            self.wait(guard);
        }
    }

    /// As in parking_lot, in virtual time.
    #[track_caller]
    pub fn wait_while_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        until: Instant,
    ) -> WaitTimeoutResult {
        let mut result = WaitTimeoutResult(false);
        while !result.timed_out() && condition(&mut **guard) {
            result = self.wait_until(guard, until);
        }
        result
    }

    /// As in parking_lot, in virtual time.
    #[track_caller]
    pub fn wait_while_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        condition: impl FnMut(&mut T) -> bool,
        limit: Duration,
    ) -> WaitTimeoutResult {
        match Instant::now().checked_add(limit) {
            Some(until) => self.wait_while_until(guard, condition, until),
            None => {
                self.wait_while(guard, condition);
                WaitTimeoutResult(false)
            }
        }
    }
}

/// Takes the lock again, also if the wait is unwound: the guard will give it back.
struct Relock<'a>(&'a crate::RawMutex);

impl Drop for Relock<'_> {
    fn drop(&mut self) {
        self.0.lock();
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
        f.pad("Condvar { .. }")
    }
}
