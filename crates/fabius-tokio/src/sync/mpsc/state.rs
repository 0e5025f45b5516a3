//! The state of a channel. Nothing here waits.

use super::error::TryRecvError;
use crate::monitor::{At, Monitor, Order, State};
use crate::sync::acquire::{HasPermits, wake_all};
use crate::sync::permits::{Permits, Ticket};
use crate::sync::waiters::{Wait, Waiters};
use fabius::extend::Left;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Poll, Waker};

/// A channel. One without a bound has a place for everything. Who receives a message comes after who has sent it, and a message
/// comes after no other one, but for who has made room for it.
pub(super) struct Inner<T> {
    pub queue: VecDeque<(T, Left)>,
    /// Places: a message has one until it is received.
    pub places: Permits,
    capacity: Option<usize>,
    pub senders: usize,
    /// By who was a sender.
    gone: Vec<Left>,
    receiving: Option<Waker>,
    /// Who waits for the receiver to close it.
    closing: Waiters,
    /// Ends and weak senders, which own what is left in the queue, and by those that have given it up.
    owners: usize,
    given_up: Vec<Left>,
}

impl<T> State for Inner<T> {}

impl<T> HasPermits for Inner<T> {
    fn permits(&mut self) -> &mut Permits {
        &mut self.places
    }

    fn give_up(&mut self, ticket: Ticket) -> (Option<Waker>, Vec<Waker>) {
        let (mine, mut wake) = self.places.leave(ticket);
        wake.extend(self.end());
        (mine, wake)
    }
}

pub(super) type Channel<T> = Monitor<Inner<T>>;

#[track_caller]
pub(super) fn new<T>(capacity: Option<usize>) -> Arc<Channel<T>> {
    Arc::new(Monitor::new(Inner {
        queue: VecDeque::new(),
        places: Permits::new(capacity.unwrap_or(0)),
        capacity,
        senders: 1,
        gone: Vec::new(),
        receiving: None,
        closing: Waiters::new(),
        owners: 2,
        given_up: Vec::new(),
    }))
}

/// Whom to wake.
pub(super) type Wake = Vec<Waker>;

impl<T> Inner<T> {
    /// A message that has its place. Returns the receiver, to be woken.
    pub fn push(&mut self, value: T, order: &Order) -> Option<Waker> {
        self.queue.push_back((value, order.leaves()));
        self.receiving.take()
    }

    /// Gives back places.
    pub fn free(&mut self, places: usize, order: &Order) -> Wake {
        if self.capacity.is_none() || places == 0 {
            return Wake::new();
        }
        let mut wake = self.places.give(places, order);
        wake.extend(self.end());
        wake
    }

    /// The receiver, to be woken, if it is closed and nothing is to come any more.
    fn end(&mut self) -> Option<Waker> {
        if self.places.is_closed() && self.is_idle() { self.receiving.take() } else { None }
    }

    /// Whether there is neither a message nor a place for one that is still to come.
    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.capacity.is_none_or(|capacity| self.places.available() == capacity)
    }

    /// Whether there are no senders, which comes after all who were; asked as an operation of its own.
    pub fn has_no_sender(&self, order: &Order) -> bool {
        if self.senders == 0 {
            self.gone.iter().for_each(|left| order.takes(*left));
        }
        self.senders == 0
    }

    /// Whether there will be no message where there is none: there are no senders, or it is closed and all places are back.
    fn is_over(&self, order: &Order) -> bool {
        if self.has_no_sender(order) {
            return true;
        }
        let is_over = self.places.is_closed() && self.is_idle();
        if is_over {
            self.places.are_back(order);
        }
        is_over
    }

    /// A message, and whom to wake that has a place then.
    pub fn pop(&mut self, order: &Order) -> Result<(T, Wake), TryRecvError> {
        match self.queue.pop_front() {
            Some((value, left)) => {
                order.takes(left);
                Ok((value, self.free(1, order)))
            }
            None if self.is_over(order) => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Up to so many of them, or a wait: then whom that replaces.
    pub fn receive(&mut self, most: usize, waker: Waker, order: &Order) -> (Poll<Vec<T>>, Wake) {
        let (mut values, mut wake) = (Vec::new(), Wake::new());
        while values.len() < most {
            match self.pop(order) {
                Ok((value, more)) => {
                    values.push(value);
                    wake.extend(more);
                }
                Err(TryRecvError::Empty) if values.is_empty() => {
                    return (Poll::Pending, self.receiving.replace(waker).into_iter().collect());
                }
                Err(_) => break,
            }
        }
        (Poll::Ready(values), wake)
    }

    /// How many places there are.
    pub fn max_capacity(&self) -> usize {
        self.capacity.expect("only a bounded channel has one")
    }

    /// Nobody sends any more who has no place. Returns whom to wake.
    pub fn close(&mut self, order: &Order) -> Wake {
        let mut wake = self.places.close(order);
        wake.extend(self.closing.take());
        wake
    }

    /// One sender less. Returns the receiver, to be woken if it was the last.
    fn leave(&mut self, order: &Order) -> Option<Waker> {
        self.gone.push(order.leaves());
        self.senders -= 1;
        if self.senders == 0 { self.receiving.take() } else { None }
    }

    /// Whether anybody can tell who is the last that has a part in the channel: by a place that it had, somebody may send what nobody
    /// receives any more, and the last one drops it.
    fn may_tell(&self) -> bool {
        self.capacity.is_some() && std::mem::needs_drop::<T>()
    }

    /// Somebody goes who had a part in it.
    fn give_up_part(&mut self, order: &Order) {
        self.owners -= 1;
        if self.may_tell() {
            self.given_up.push(order.leaves());
            if self.owners == 0 && !self.queue.is_empty() {
                self.given_up.iter().for_each(|left| order.takes(*left));
            }
        }
    }
}

/// A sender more: nobody can tell, because there is one.
pub(super) fn one_more<T>(channel: &Arc<Channel<T>>) -> Arc<Channel<T>> {
    channel.peek(|state| {
        state.senders += 1;
        state.owners += 1;
    });
    channel.clone()
}

/// Somebody more who knows the channel: nobody can tell, because there is one.
pub(super) fn one_more_weak<T>(channel: &Arc<Channel<T>>) -> Arc<Channel<T>> {
    channel.peek(|state| state.owners += 1);
    channel.clone()
}

/// A sender more, if there is any.
pub(super) fn upgrade<T>(channel: &Arc<Channel<T>>, at: At) -> Option<Arc<Channel<T>>> {
    let is_alive = channel.step("upgrade", at, |state, order| {
        let is_alive = !state.has_no_sender(order);
        state.senders += usize::from(is_alive);
        state.owners += usize::from(is_alive);
        is_alive
    });
    is_alive.then(|| channel.clone())
}

fn give_up_part<T>(channel: &Channel<T>, at: At) {
    channel.step("drop the channel", at, Inner::give_up_part);
}

/// Who wakes the receiver goes behind that, which is a step of its own if something is left that nobody receives.
pub(super) fn drop_sender<T>(channel: &Channel<T>, at: At) {
    let (wake, is_left) = channel.step("drop a sender", at, |state, order| {
        let wake = state.leave(order);
        let is_left = wake.is_some() && state.may_tell() && state.places.is_closed() && !state.queue.is_empty();
        if !is_left {
            state.give_up_part(order);
        }
        (wake, is_left)
    });
    wake_all(wake);
    if is_left {
        give_up_part(channel, at);
    }
}

pub(super) fn drop_weak_sender<T>(channel: &Channel<T>, at: At) {
    if channel.peek(|state| state.may_tell()) {
        give_up_part(channel, at);
    }
}

/// Who drops messages, or wakes somebody, goes behind that, which is a step of its own if more messages may come.
pub(super) fn drop_receiver<T>(channel: &Channel<T>, at: At) {
    let (wake, messages, may_come) = channel.step("drop a receiver", at, |state, order| {
        let wake = state.close(order);
        let messages = std::mem::take(&mut state.queue);
        // Their destructors run here.
        if std::mem::needs_drop::<T>() {
            messages.iter().for_each(|(_, left)| order.takes(*left));
        }
        state.free(messages.len(), order);
        let may_come = state.may_tell() && !state.is_idle() && !(wake.is_empty() && messages.is_empty());
        if !may_come {
            state.give_up_part(order);
        }
        (wake, messages, may_come)
    });
    wake_all(wake);
    drop(messages);
    if may_come {
        give_up_part(channel, at);
    }
}

/// Waits until nobody receives any more.
pub(super) fn closed<T>(channel: &Channel<T>, at: At) -> impl Future<Output = ()> + '_ {
    let mut wait = Wait::new(channel, |state| &mut state.closing, "closed", at);
    poll_fn(move |cx| wait.poll(cx, |state, order| state.places.finds_closed(order).then_some(())))
}
