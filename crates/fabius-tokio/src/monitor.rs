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
pub(crate) struct Used(Cell<bool>);

/// What comes before what: an operation says it while it is done.
pub(crate) type Order = Resource<Used>;

impl extend::State for Used {}

/// The state, and the order of what is done to it.
pub(crate) struct Monitor<S> {
    order: Order,
    state: Mutex<S>,
}

// What unwinds leaves the state as it was or changed: nothing of the user runs in between.
impl<S> std::panic::UnwindSafe for Monitor<S> {}
impl<S> std::panic::RefUnwindSafe for Monitor<S> {}

impl<S: State> Monitor<S> {
    #[track_caller]
    pub const fn new(state: S) -> Monitor<S> {
        Monitor { order: Resource::unordered(Used(Cell::new(false))), state: Mutex::new(state) }
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
    /// `change` runs no code of the user and drops nothing of his. It says what that orders.
    pub fn step<R>(&self, name: &'static str, at: At, change: impl FnOnce(&mut S, &Order) -> R) -> R {
        match is_inside() {
            true => {
                let change = |used: &mut Used| change(&mut self.renewed(used), &self.order);
                self.order.change(name, at, change).expect("inside of an execution")
            }
            false => change(&mut self.state(), &self.order),
        }
    }

    /// The same, which comes after what was done before, and before what is done from here on.
    pub fn change<R>(&self, name: &'static str, at: At, change: impl FnOnce(&mut S) -> R) -> R {
        self.step(name, at, |state, order| {
            order.orders();
            change(state)
        })
    }

    /// Tries to change it: a scheduling point. `None` changes nothing.
    #[track_caller]
    pub fn attempt<R>(
        &self,
        name: &'static str,
        at: At,
        change: impl FnOnce(&mut S, &Order) -> Option<R>,
    ) -> Option<R> {
        must_be_inside();
        self.order.attempt(name, at, |used| change(&mut self.renewed(used), &self.order))
    }

    /// The same. What it finds if that is an error changes nothing.
    ///
    /// # Errors
    /// What `change` finds.
    #[track_caller]
    pub fn tries<R, E>(
        &self,
        name: &'static str,
        at: At,
        change: impl FnOnce(&mut S, &Order) -> Result<R, E>,
    ) -> Result<R, E> {
        must_be_inside();
        let tried = self.order.tries(name, at, |used| change(&mut self.renewed(used), &self.order));
        tried.expect("inside of an execution")
    }

    /// Looks at the state: a scheduling point, which orders nothing.
    pub fn look<R>(&self, name: &'static str, at: At, look: impl FnOnce(&S) -> R) -> R {
        match is_inside() {
            true => self.order.look(name, at, |used| look(&self.renewed(used))).expect("inside of an execution"),
            false => look(&self.state()),
        }
    }

    /// Asks whether something has come to pass: a scheduling point. `ask` says what that orders if it has.
    pub fn asks<R>(&self, name: &'static str, at: At, ask: impl FnOnce(&S, &Order) -> R) -> R {
        match is_inside() {
            true => {
                let ask = |used: &Used| ask(&self.renewed(used), &self.order);
                self.order.look(name, at, ask).expect("inside of an execution")
            }
            false => ask(&self.state(), &self.order),
        }
    }

    /// Waits as a thread does, not as a task, until this holds; then changes the state, and says what that orders.
    #[track_caller]
    pub fn when<R>(
        &self,
        name: &'static str,
        at: At,
        ready: impl Fn(&S) -> bool,
        change: impl FnOnce(&mut S, &Order) -> R,
    ) -> R {
        must_be_inside();
        let ready = |used: &Used| !used.0.get() || ready(&self.state());
        let changed = self.order.when(name, at, ready, None, |used| change(&mut self.renewed(used), &self.order));
        changed.expect("there is no limit of time")
    }

    /// For what belongs to the operation that was just done, and comes behind it.
    pub fn order(&self) -> &Order {
        &self.order
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
