//! Waiting for permits.

use super::permits::{Asked, Permits, Ticket};
use crate::awaited::{self, Awaited, Held};
use crate::monitor::{At, Monitor, Order, State, must_be_inside};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A state with permits in it.
pub(crate) trait HasPermits: State {
    fn permits(&mut self) -> &mut Permits;

    /// Who has them, if that is known.
    fn held(&self) -> Option<Arc<Held>> {
        None
    }

    /// Somebody who asked for some goes away. Returns its waker, and whom to wake.
    fn give_up(&mut self, ticket: Ticket) -> (Option<Waker>, Vec<Waker>) {
        self.permits().leave(ticket)
    }
}

pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

/// What is asked for, and whether somebody waits for it. Dropping it leaves the queue, and what it has got goes to others.
pub(crate) struct Request<'a, S: HasPermits> {
    monitor: &'a Monitor<S>,
    name: &'static str,
    at: At,
    count: usize,
    ticket: Option<Ticket>,
    /// What the wait is called.
    wait: &'static str,
}

impl<'a, S: HasPermits> Request<'a, S> {
    pub fn new(monitor: &'a Monitor<S>, name: &'static str, at: At, count: usize) -> Request<'a, S> {
        Request { monitor, name, at, count, ticket: None, wait: "wait to be woken" }
    }

    /// The same with a name for the wait.
    pub fn called(self, wait: &'static str) -> Request<'a, S> {
        Request { wait, ..self }
    }

    /// Asks, and does that with what it gets, in one step. `Ready(None)`: closed.
    pub fn poll<R>(&mut self, cx: &Context<'_>, then: impl FnOnce(&mut S, &Order) -> R) -> Poll<Option<R>> {
        must_be_inside();
        let (ticket, count, waker) = (self.ticket, self.count, cx.waker().clone());
        let (asked, _before, result, held) = self.monitor.step(self.name, self.at, |state, order| {
            let permits = state.permits();
            let (asked, before) = match ticket {
                None => (permits.ask(count, waker, order), None),
                Some(ticket) => permits.ask_again(ticket, waker, order),
            };
            let result = (asked == Asked::Got).then(|| then(state, order));
            (asked, before, result, state.held())
        });
        match (asked, result) {
            (Asked::Waits(ticket), _) => {
                self.ticket = Some(ticket);
                awaited::waits(Awaited { name: self.wait, at: self.at, held });
                Poll::Pending
            }
            (Asked::Closed, _) => Poll::Ready(None),
            (Asked::Got, result) => {
                self.ticket = None;
                Poll::Ready(result)
            }
        }
    }
}

impl<S: HasPermits> Drop for Request<'_, S> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let (_waker, wake) = self.monitor.step("give up waiting", self.at, |state, _| state.give_up(ticket));
            wake_all(wake);
        }
    }
}

/// The permits, when there are enough; `None` if it is closed.
pub(crate) struct Acquire<'a, S: HasPermits>(pub Request<'a, S>);

impl<S: HasPermits> Future for Acquire<'_, S> {
    type Output = Option<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.0.poll(cx, |_, _| ())
    }
}
