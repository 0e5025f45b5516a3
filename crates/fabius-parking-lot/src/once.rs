//! What happens once.

use fabius::extend::{self, Holding, Resource, State};
use std::fmt;
use std::panic::Location;

/// As in parking_lot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceState {
    /// Nobody has called.
    New,
    /// An earlier call panicked.
    Poisoned,
    /// A call is under way.
    InProgress,
    /// A call has returned.
    Done,
}

impl OnceState {
    /// Whether an earlier call panicked.
    pub fn poisoned(self) -> bool {
        self == OnceState::Poisoned
    }

    /// Whether a call has returned.
    pub fn done(self) -> bool {
        self == OnceState::Done
    }
}

/// As in parking_lot. What has happened outside of executions has happened in each.
pub struct Once {
    inside: Resource<Call>,
    outside: parking_lot::Once,
}

/// What has become of the call in an execution.
struct Call {
    state: OnceState,
    by: Option<Holding>,
}

impl Default for Call {
    fn default() -> Call {
        Call { state: OnceState::New, by: None }
    }
}

impl State for Call {
    fn holders(&self) -> Vec<Holding> {
        self.by.into_iter().collect()
    }
}

impl Once {
    /// As in parking_lot.
    #[track_caller]
    pub const fn new() -> Once {
        Once {
            inside: Resource::unordered(Call { state: OnceState::New, by: None }),
            outside: parking_lot::Once::new(),
        }
    }

    /// As in parking_lot: what it says of a call that has returned orders what that has done.
    #[track_caller]
    pub fn state(&self) -> OnceState {
        let outside = match self.outside.state() {
            parking_lot::OnceState::New => OnceState::New,
            parking_lot::OnceState::Poisoned => OnceState::Poisoned,
            parking_lot::OnceState::InProgress => OnceState::InProgress,
            parking_lot::OnceState::Done => OnceState::Done,
        };
        if outside != OnceState::New || !extend::is_inside() {
            return outside;
        }
        self.inside.look("state", Location::caller(), |call| self.finds(call)).unwrap_or(OnceState::New)
    }

    /// As in parking_lot.
    ///
    /// # Panics
    /// If an earlier call panicked.
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        if !extend::is_inside() {
            self.inside.outside();
            return self.outside.call_once(f);
        }
        self.call(Location::caller(), Poisoned::Refused, |_| f());
    }

    /// As in parking_lot.
    #[track_caller]
    pub fn call_once_force(&self, f: impl FnOnce(OnceState)) {
        if !extend::is_inside() {
            self.inside.outside();
            return self.outside.call_once_force(|state| {
                f(if state.poisoned() { OnceState::Poisoned } else { OnceState::New });
            });
        }
        self.call(Location::caller(), Poisoned::Forced, f);
    }

    /// The state, which comes after calls that are over; their beginnings order nothing.
    fn finds(&self, call: &Call) -> OnceState {
        if matches!(call.state, OnceState::Done | OnceState::Poisoned) {
            self.inside.comes_after();
        }
        call.state
    }

    /// Waits for a call that is under way, and calls `f` if none has returned.
    fn call(&self, at: &'static Location<'static>, poisoned: Poisoned, f: impl FnOnce(OnceState)) {
        if self.outside.state().done() {
            return;
        }
        let me = extend::me();
        let begin = |call: &mut Call| {
            let before = self.finds(call);
            let is_refused = before == OnceState::Poisoned && poisoned == Poisoned::Refused;
            if before != OnceState::Done && !is_refused {
                *call = Call { state: OnceState::InProgress, by: Some((me, at)) };
            }
            before
        };
        let is_not_running = |call: &Call| call.state != OnceState::InProgress;
        let before = self.inside.when("once", at, is_not_running, None, begin).unwrap_or(OnceState::Done);
        if before == OnceState::Done {
            return;
        }
        assert!(
            before != OnceState::Poisoned || poisoned == Poisoned::Forced,
            "Once instance has previously been poisoned"
        );
        let mut finish = Finish { once: self, state: OnceState::Poisoned, at };
        f(before);
        finish.state = OnceState::Done;
    }
}

/// What becomes of a call where an earlier one panicked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Poisoned {
    Refused,
    Forced,
}

/// Marks the end of the call, also if it panics.
struct Finish<'a> {
    once: &'a Once,
    state: OnceState,
    at: &'static Location<'static>,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        let state = self.state;
        let inside = &self.once.inside;
        inside.change("done", self.at, |call| {
            inside.comes_before();
            *call = Call { state, by: None };
        });
    }
}

impl Default for Once {
    #[track_caller]
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Once { .. }")
    }
}
