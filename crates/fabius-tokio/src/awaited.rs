//! What tasks wait for, for people: a deadlock names it.

use crate::monitor::At;
use fabius::extend::{self, Holding};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who has taken permits, where, and how many.
#[derive(Default)]
pub(crate) struct Held(Mutex<Vec<(Holding, usize)>>);

impl Held {
    fn all(&self) -> MutexGuard<'_, Vec<(Holding, usize)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current thread takes so many.
    pub fn takes(&self, count: usize, at: At) -> Holding {
        let holding = (extend::me(), at);
        self.moves(count, holding);
        holding
    }

    fn moves(&self, count: usize, to: Holding) {
        let mut all = self.all();
        match all.iter_mut().find(|(holding, _)| *holding == to) {
            Some((_, has)) => *has += count,
            None => all.push((to, count)),
        }
    }

    /// So many that were taken so are given back.
    pub fn gives(&self, count: usize, from: Holding) {
        let mut all = self.all();
        if let Some(at) = all.iter().position(|(holding, _)| *holding == from) {
            all[at].1 = all[at].1.saturating_sub(count);
            if all[at].1 == 0 {
                all.remove(at);
            }
        }
    }

    /// So many that were taken in one way count as taken in another one.
    pub fn merges(&self, count: usize, from: Holding, to: Holding) {
        self.gives(count, from);
        self.moves(count, to);
    }

    pub fn holdings(&self) -> Vec<Holding> {
        self.all().iter().map(|(holding, _)| *holding).collect()
    }
}

/// An operation that waits, and the permits that it waits for, if it does for such.
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
