//! Those that wait until something holds of a state, in no particular order.

use crate::monitor::{At, Monitor, Order, State, must_be_inside};
use std::task::{Context, Poll, Waker};

/// Whom to wake when it may hold.
pub(crate) struct Waiters {
    all: Vec<(u64, Waker)>,
    next: u64,
}

impl Waiters {
    pub const fn new() -> Waiters {
        Waiters { all: Vec::new(), next: 0 }
    }

    /// Begins to wait, or goes on under its number; returns that, and the waker that is replaced.
    fn add(&mut self, id: Option<u64>, waker: Waker) -> (u64, Option<Waker>) {
        if let Some((id, before)) = self.all.iter_mut().find(|(other, _)| Some(*other) == id) {
            return (*id, Some(std::mem::replace(before, waker)));
        }
        self.next += 1;
        self.all.push((self.next, waker));
        (self.next, None)
    }

    fn remove(&mut self, id: u64) -> Option<Waker> {
        let position = self.all.iter().position(|(other, _)| *other == id)?;
        Some(self.all.swap_remove(position).1)
    }

    /// All of them: each looks again, and waits on if it must.
    pub fn take(&mut self) -> Vec<Waker> {
        self.all.drain(..).map(|(_, waker)| waker).collect()
    }
}

/// Somebody who waits. Dropping it waits no longer.
pub(crate) struct Wait<'a, S: State> {
    monitor: &'a Monitor<S>,
    waiters: fn(&mut S) -> &mut Waiters,
    name: &'static str,
    at: At,
    id: Option<u64>,
}

impl<'a, S: State> Wait<'a, S> {
    pub fn new(
        monitor: &'a Monitor<S>,
        waiters: fn(&mut S) -> &mut Waiters,
        name: &'static str,
        at: At,
    ) -> Wait<'a, S> {
        Wait { monitor, waiters, name, at, id: None }
    }

    /// Looks whether it holds, and what it gives then. To begin to wait orders nothing.
    pub fn poll<R>(&mut self, cx: &Context<'_>, check: impl FnOnce(&mut S, &Order) -> Option<R>) -> Poll<R> {
        must_be_inside();
        let (id, waiters, waker) = (self.id, self.waiters, cx.waker().clone());
        let (result, id, _before) = self.monitor.step(self.name, self.at, |state, order| match check(state, order) {
            Some(result) => {
                let mine = id.and_then(|id| waiters(state).remove(id));
                (Poll::Ready(result), None, (mine, Some(waker)))
            }
            None => {
                let (id, before) = waiters(state).add(id, waker);
                (Poll::Pending, Some(id), (before, None))
            }
        });
        self.id = id;
        result
    }
}

impl<S: State> Drop for Wait<'_, S> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let waiters = self.waiters;
            let _mine = self.monitor.step("give up waiting", self.at, |state, _| waiters(state).remove(id));
        }
    }
}
