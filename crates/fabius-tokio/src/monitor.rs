//! The state of a primitive: each operation on it is one scheduling point, and accesses nothing else that others see.

use fabius::extend::{self, Resource, is_inside};
use std::cell::Cell;
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where an operation stands in the source.
pub(crate) type At = &'static Location<'static>;

/// What a monitor guards.
pub(crate) trait State {
    /// An execution begins to use it. Only what outlives executions, because it is part of a static, needs to do anything.
    fn renew(&mut self) {}
}

/// Whether the execution has used it before.
#[derive(Default)]
struct Used(Cell<bool>);

impl extend::State for Used {}

/// The state, and the order of what is done to it.
pub(crate) struct Monitor<S> {
    order: Resource<Used>,
    state: Mutex<S>,
}

// What unwinds leaves the state as it was or changed: nothing of the user runs in between.
impl<S> std::panic::UnwindSafe for Monitor<S> {}
impl<S> std::panic::RefUnwindSafe for Monitor<S> {}

impl<S: State> Monitor<S> {
    #[track_caller]
    pub const fn new(state: S) -> Monitor<S> {
        Monitor { order: Resource::new(Used(Cell::new(false))), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn renewed(&self, used: &Used) -> MutexGuard<'_, S> {
        let mut state = self.state();
        if !used.0.replace(true) {
            state.renew();
        }
        state
    }

    /// Changes the state: a scheduling point, also while the stack is unwound. Outside of a check only destructors get here.
    /// `change` runs no code of the user and drops nothing of his.
    pub fn change<R>(&self, name: &'static str, at: At, change: impl FnOnce(&mut S) -> R) -> R {
        match is_inside() {
            true => {
                self.order.change(name, at, |used| change(&mut self.renewed(used))).expect("inside of an execution")
            }
            false => change(&mut self.state()),
        }
    }

    /// Tries to change it: a scheduling point. `None` changes nothing and orders nothing.
    #[track_caller]
    pub fn attempt<R>(&self, name: &'static str, at: At, change: impl FnOnce(&mut S) -> Option<R>) -> Option<R> {
        must_be_inside();
        self.order.attempt(name, at, |used| change(&mut self.renewed(used)))
    }

    /// The same, but it says what it finds if it changes nothing; that orders nothing.
    ///
    /// # Errors
    /// What `change` finds.
    #[track_caller]
    pub fn tries<R, E>(&self, name: &'static str, at: At, change: impl FnOnce(&mut S) -> Result<R, E>) -> Result<R, E> {
        must_be_inside();
        self.order.tries(name, at, |used| change(&mut self.renewed(used))).expect("inside of an execution")
    }

    /// What was just found comes after what made it so.
    pub fn comes_after(&self) {
        self.order.comes_after();
    }

    /// Looks at the state: a scheduling point, which orders nothing.
    pub fn look<R>(&self, name: &'static str, at: At, look: impl FnOnce(&S) -> R) -> R {
        match is_inside() {
            true => self.order.look(name, at, |used| look(&self.renewed(used))).expect("inside of an execution"),
            false => look(&self.state()),
        }
    }

    /// Asks whether something has come to pass: a scheduling point, which comes after that if it has.
    pub fn asks(&self, name: &'static str, at: At, ask: impl FnOnce(&S) -> bool) -> bool {
        let has_come = self.look(name, at, ask);
        if has_come && is_inside() {
            self.comes_after();
        }
        has_come
    }

    /// Waits as a thread does, not as a task, until this holds; then changes the state.
    #[track_caller]
    pub fn when<R>(
        &self,
        name: &'static str,
        at: At,
        ready: impl Fn(&S) -> bool,
        change: impl FnOnce(&mut S) -> R,
    ) -> R {
        must_be_inside();
        let ready = |used: &Used| !used.0.get() || ready(&self.state());
        let changed = self.order.when(name, at, ready, None, |used| change(&mut self.renewed(used)));
        changed.expect("there is no limit of time")
    }

    /// The state of what nobody else uses yet or any more, or for what cannot be told: no scheduling point.
    pub fn peek<R>(&self, look: impl FnOnce(&mut S) -> R) -> R {
        look(&mut self.state())
    }
}

/// # Panics
/// Outside of a check.
#[track_caller]
pub(crate) fn must_be_inside() {
    assert!(is_inside(), "`fabius-tokio` works only inside of a check: `#[fabius_tokio::test]` or `fabius::check`");
}
