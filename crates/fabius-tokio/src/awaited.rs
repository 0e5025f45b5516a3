//! What tasks wait for, for people: a deadlock names it.

use crate::monitor::At;
use fabius::extend::{self, Holding};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

/// Who has taken a lock, and where.
#[derive(Default)]
pub(crate) struct Held(Mutex<Option<Holding>>);

impl Held {
    /// The current thread takes it, or it is given back.
    pub fn set(&self, taken_at: Option<At>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = taken_at.map(|at| (extend::me(), at));
    }

    pub fn holding(&self) -> Option<Holding> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An operation that waits, and the lock that it waits for, if it is one.
#[derive(Clone)]
pub(crate) struct Awaited {
    pub name: &'static str,
    pub at: At,
    pub held: Option<Arc<Held>>,
}

fabius::thread_local! {
    static ALL: RefCell<Vec<Awaited>> = RefCell::default();
}

/// The future that this thread polls waits for that.
pub(crate) fn waits(what: Awaited) {
    ALL.with(|all| all.borrow_mut().push(what));
}

/// What the future waits for that this thread has polled, if that is known and one thing. Forgets all of it.
pub(crate) fn take() -> Option<Awaited> {
    let mut all = ALL.with(|all| std::mem::take(&mut *all.borrow_mut()));
    all.pop().filter(|_| all.is_empty())
}
