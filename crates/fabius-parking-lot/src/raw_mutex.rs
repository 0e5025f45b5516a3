//! The lock below [`crate::Mutex`].

use crate::GuardMarker;
use fabius::extend::{self, Holding, Resource, State};
use fabius::time::Instant;
use std::mem;
use std::panic::Location;
use std::time::Duration;

/// As in parking_lot.
pub struct RawMutex {
    inside: Resource<Held>,
    outside: parking_lot::Mutex<()>,
}

/// Who has it inside of an execution.
#[derive(Default)]
struct Held(Option<Holding>);

impl State for Held {
    fn holders(&self) -> Vec<Holding> {
        self.0.into_iter().collect()
    }
}

impl RawMutex {
    fn lock_until(&self, name: &'static str, until: Option<Instant>, at: &'static Location<'static>) -> bool {
        let me = extend::me();
        let is_free = |held: &Held| held.0.is_none() && !self.outside.is_locked();
        let taken = self.inside.when(name, at, is_free, until, |held| held.0 = Some((me, at)));
        if taken.is_some() {
            extend::holds();
        }
        taken.is_some()
    }

    /// Releases the lock and waits outside of executions.
    pub(crate) fn wait_outside(&self, condvar: &parking_lot::Condvar, limit: Option<Duration>) -> bool {
        // SAFETY: the caller has the lock, outside of an execution.
        let mut guard = unsafe { self.outside.make_guard_unchecked() };
        let timed_out = match limit {
            Some(limit) => condvar.wait_for(&mut guard, limit).timed_out(),
            None => {
                condvar.wait(&mut guard);
                false
            }
        };
        mem::forget(guard);
        timed_out
    }
}

// SAFETY: inside of an execution `Held` has one holder at a time, who has found the lock of outside free; outside it is
// parking_lot's. `Resource` keeps threads of the operating system away from what an execution uses.
unsafe impl lock_api::RawMutex for RawMutex {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to make one")]
    const INIT: RawMutex = RawMutex { inside: Resource::new(Held(None)), outside: parking_lot::const_mutex(()) };

    type GuardMarker = GuardMarker;

    #[track_caller]
    fn lock(&self) {
        if extend::is_inside() {
            self.lock_until("lock", None, Location::caller());
        } else {
            self.inside.outside();
            mem::forget(self.outside.lock());
        }
    }

    #[track_caller]
    fn try_lock(&self) -> bool {
        if !extend::is_inside() {
            self.inside.outside();
            return self.outside.try_lock().map(mem::forget).is_some();
        }
        let (me, at) = (extend::me(), Location::caller());
        let taken = self.inside.attempt("try_lock", at, |held| {
            (held.0.is_none() && !self.outside.is_locked()).then(|| held.0 = Some((me, at)))
        });
        if taken.is_some() {
            extend::holds();
        }
        taken.is_some()
    }

    #[track_caller]
    unsafe fn unlock(&self) {
        let holder = if extend::is_inside() { self.inside.peek(|held| held.0).flatten() } else { None };
        match holder {
            Some((_, taken_at)) => {
                self.inside.change("unlock", taken_at, |held| held.0 = None);
                extend::gives_back();
            }
            // SAFETY: the caller has the lock, and did not take it inside.
            None => unsafe { self.outside.force_unlock() },
        }
    }

    #[track_caller]
    fn is_locked(&self) -> bool {
        let inside = extend::is_inside()
            && self.inside.look("is_locked", Location::caller(), |held| held.0.is_some()).unwrap_or(false);
        inside || self.outside.is_locked()
    }
}

// SAFETY: it is released as by `unlock`; who is next is for the search to say.
unsafe impl lock_api::RawMutexFair for RawMutex {
    #[track_caller]
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller's.
        unsafe { lock_api::RawMutex::unlock(self) }
    }
}

// SAFETY: `true` is returned only where the lock was taken.
unsafe impl lock_api::RawMutexTimed for RawMutex {
    type Duration = Duration;
    type Instant = Instant;

    #[track_caller]
    fn try_lock_for(&self, limit: Duration) -> bool {
        if extend::is_inside() {
            return self.lock_until("try_lock_for", Instant::now().checked_add(limit), Location::caller());
        }
        self.inside.outside();
        self.outside.try_lock_for(limit).map(mem::forget).is_some()
    }

    #[track_caller]
    fn try_lock_until(&self, until: Instant) -> bool {
        if extend::is_inside() {
            return self.lock_until("try_lock_until", Some(until), Location::caller());
        }
        self.inside.outside();
        self.outside.try_lock_for(until.saturating_duration_since(Instant::now())).map(mem::forget).is_some()
    }
}
