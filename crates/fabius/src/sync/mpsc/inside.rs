//! Channels that are made inside of an execution.

use crate::rt::{self, Object, Op, Refine, Renew, Rt};
use std::cell::Cell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::time::Duration;

/// A channel.
pub(super) struct Inside<T> {
    /// Who receives comes after who has sent.
    state: rt::Inside<State<T>>,
    /// Who needs the place of a message that was received comes after who has received it; with capacity 0, who hands one over.
    room: Object,
    /// Who finds that nobody is at the other end comes after who has left.
    gone: Object,
}

struct State<T> {
    messages: VecDeque<T>,
    /// `None`: without limit.
    capacity: Option<usize>,
    /// How many messages were received: with capacity 0 a sender waits for its own.
    received: u64,
    sent: u64,
    /// How many receivers wait: with capacity 0, `try_send` succeeds only if one does.
    receiving: usize,
    senders: usize,
    receiver: bool,
}

impl<T> Renew for State<T> {
    /// A channel that was kept from an earlier execution is as it was left.
    fn renew(&mut self) {}
}

impl<T> State<T> {
    fn has_room(&self) -> bool {
        self.capacity.is_none_or(|c| self.messages.len() < c.max(1)) || !self.receiver
    }

    fn push(&mut self, value: T) -> Result<(), SendError<T>> {
        if !self.receiver {
            return Err(SendError(value));
        }
        self.messages.push_back(value);
        self.sent += 1;
        Ok(())
    }

    fn pop(&mut self) -> Option<T> {
        let value = self.messages.pop_front()?;
        self.received += 1;
        Some(value)
    }
}

unsafe fn has_room<T>(channel: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a channel of `T`.
    unsafe { (*channel.cast::<Inside<T>>()).state.peek(rt, State::has_room).unwrap_or(false) }
}

unsafe fn has_news<T>(channel: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a channel of `T`.
    let channel = unsafe { &*channel.cast::<Inside<T>>() };
    channel.state.peek(rt, |state| !state.messages.is_empty() || state.senders == 0).unwrap_or(false)
}

struct Handover<'a, T> {
    channel: &'a Inside<T>,
    number: u64,
}

unsafe fn is_received<T>(handover: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Handover` of `T`.
    let handover = unsafe { &*handover.cast::<Handover<'_, T>>() };
    let done = |state: &State<T>| state.received >= handover.number || !state.receiver;
    handover.channel.state.peek(rt, done).unwrap_or(false)
}

/// The receiving end.
pub(super) struct Receiver<T> {
    channel: Arc<Inside<T>>,
    not_sync: PhantomData<Cell<()>>,
}

#[track_caller]
pub(super) fn channel<T>(capacity: Option<usize>) -> (Arc<Inside<T>>, Receiver<T>) {
    let (messages, received, sent, receiving) = (VecDeque::new(), 0, 0, 0);
    let state = State { messages, capacity, received, sent, receiving, senders: 1, receiver: true };
    let channel = Arc::new(Inside { state: rt::Inside::new(state), room: Object::new(), gone: Object::new() });
    (channel.clone(), Receiver { channel, not_sync: PhantomData })
}

impl<T> Inside<T> {
    /// Calls `f` with the state, which does not run code of the test.
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut State<T>) -> R) -> R {
        match self.state.with(f) {
            Some(result) => result,
            None => panic!("a channel that was made inside of `fabius::check` is used outside of it"),
        }
    }

    /// As in std; whether it waits for room and for the receiver depends on the capacity.
    pub fn send(&self, value: T, at: &'static Location<'static>) -> Result<(), SendError<T>> {
        let capacity = self.with(|state| state.capacity);
        let op = Op::write("send", self.state.id(), at);
        rt::point(if capacity.is_some() { op.when(self, has_room::<T>) } else { op }.ordered());
        let number = self.push(value).inspect_err(|_| rt::note(|| "nobody receives".into()))?;
        if capacity == Some(0) {
            let handover = Handover { channel: self, number };
            rt::point(Op::local("wait until it is received", at).when(&handover, is_received::<T>));
            let back = self.with(|state| if state.received < number { state.messages.pop_back() } else { None });
            if let Some(value) = back {
                rt::comes_after(self.gone.id());
                return Err(SendError(value));
            }
            rt::comes_after(self.room.id());
        }
        Ok(())
    }

    /// As in std.
    pub fn try_send(&self, value: T, at: &'static Location<'static>) -> Result<(), TrySendError<T>> {
        rt::observe(Refine::RELEASES.with(Refine::RECEIVERS));
        rt::point(Op::write("try_send", self.state.id(), at).ordered());
        let is_full = self.with(|state| {
            let hands_over = state.capacity != Some(0) || state.receiving > state.messages.len();
            state.receiver && !(state.has_room() && hands_over)
        });
        let sent = match is_full {
            true => Err(TrySendError::Full(value)),
            false => self.push(value).map(|_| ()).map_err(|error| TrySendError::Disconnected(error.0)),
        };
        if sent.is_err() {
            rt::unchanged();
        }
        sent
    }

    /// A message comes after nothing, not even those before it, but for who has made room for it. Returns its number.
    fn push(&self, value: T) -> Result<u64, SendError<T>> {
        let pushed = self.with(|state| {
            state.push(value)?;
            let had_place = state.capacity.is_none_or(|capacity| state.sent <= capacity as u64);
            Ok((state.sent, had_place))
        });
        match &pushed {
            Ok((_, had_place)) => {
                if !had_place {
                    rt::comes_after(self.room.id());
                }
                rt::comes_before(self.state.id());
            }
            Err(_) => rt::comes_after(self.gone.id()),
        }
        pushed.map(|(number, _)| number)
    }

    /// Takes a message, or finds that there is none. Says whether there are senders, too.
    fn pop(&self) -> (Option<T>, bool) {
        let (value, has_senders) = self.with(|state| (state.pop(), state.senders > 0));
        match &value {
            Some(_) => {
                rt::comes_after(self.state.id());
                rt::comes_before(self.room.id());
            }
            // That all senders are gone comes after they went.
            None if !has_senders => rt::comes_after(self.gone.id()),
            None => {}
        }
        (value, has_senders)
    }

    pub fn one_sender_more(&self) {
        self.state.with(|state| state.senders += 1);
    }

    /// Outside of an execution nobody is told: nobody can wait.
    pub fn one_sender_less(&self) {
        if rt::current().is_null() {
            return;
        }
        let _less = super::super::Finally(|| self.with(|state| state.senders = state.senders.saturating_sub(1)));
        rt::point(Op::write("drop sender", self.state.id(), self.state.object.made).ordered());
        rt::comes_before(self.gone.id());
    }
}

impl<T> Receiver<T> {
    /// Waits for a message; whether time was up.
    fn take(&self, deadline: Option<Duration>, at: &'static Location<'static>) -> bool {
        let channel = &*self.channel;
        let id = channel.state.id();
        let waits = channel.with(|state| state.capacity == Some(0) && state.messages.is_empty() && state.senders > 0);
        if waits {
            // What `try_send` looks for: who hands a message over comes after who waits for it.
            rt::part(Op::write("receive", id, at).ordered(), Refine::RECEIVERS);
            rt::comes_before(channel.room.id());
        }
        channel.with(|state| state.receiving += 1);
        let timed_out = rt::point(Op::write("recv", id, at).ordered().when(channel, has_news::<T>).until(deadline));
        channel.with(|state| {
            state.receiving -= 1;
            timed_out && state.messages.is_empty()
        })
    }

    pub fn recv(&self, at: &'static Location<'static>) -> Result<T, RecvError> {
        self.take(None, at);
        let (value, _) = self.channel.pop();
        if value.is_none() {
            rt::note(|| "all senders are gone".into());
        }
        value.ok_or(RecvError)
    }

    pub fn try_recv(&self, at: &'static Location<'static>) -> Result<T, TryRecvError> {
        rt::observe(Refine::RELEASES);
        rt::point(Op::write("try_recv", self.channel.state.id(), at).ordered());
        let (value, has_senders) = self.channel.pop();
        if value.is_none() && has_senders {
            rt::unchanged();
        }
        rt::note(|| if value.is_some() { "a message" } else { "nothing" }.into());
        value.ok_or(if has_senders { TryRecvError::Empty } else { TryRecvError::Disconnected })
    }

    pub fn recv_timeout(&self, limit: Duration, at: &'static Location<'static>) -> Result<T, RecvTimeoutError> {
        let deadline = rt::with(|rt| rt.now.saturating_add(limit));
        if self.take(deadline, at) && self.channel.with(|state| state.senders > 0) {
            rt::note(|| "time was up".into());
            return Err(RecvTimeoutError::Timeout);
        }
        self.channel.pop().0.ok_or(RecvTimeoutError::Disconnected)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if rt::current().is_null() {
            return;
        }
        let channel = &self.channel.state;
        rt::point(Op::write("drop receiver", channel.id(), channel.object.made).ordered());
        rt::comes_before(self.channel.gone.id());
        let dropped = self.channel.with(|state| {
            state.receiver = false;
            // A message that is handed over goes back to its sender.
            if state.capacity == Some(0) { VecDeque::new() } else { std::mem::take(&mut state.messages) }
        });
        if !dropped.is_empty() {
            rt::comes_after(channel.id());
        }
        drop(dropped);
    }
}
