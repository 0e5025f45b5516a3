//! Channels that are made inside of an execution.

use crate::channel::{Channel, Slot, Taken};
use crate::rt::{self, Left, Op, Refine, Renew, Rt};
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::time::Duration;

/// A channel.
pub(super) struct Inside<T>(rt::Inside<State<T>>);

struct State<T> {
    channel: Channel<T>,
    /// The receiver while it waits, and has said so: with capacity 0, `try_send` succeeds only then.
    waits: Option<Left>,
}

impl<T> Renew for State<T> {
    /// A channel that was kept from an earlier execution is as it was left.
    fn renew(&mut self) {}
}

impl<T> State<T> {
    /// Without a queue one sender at a time waits until its message is received.
    fn has_room(&self) -> bool {
        let is_free = self.channel.capacity == Some(0) && self.channel.offers() == 0;
        is_free || self.channel.has_place(None) || self.channel.receivers == 0
    }

    fn has_news(&self) -> bool {
        self.channel.has_message(None) || self.channel.senders == 0
    }

    /// Puts a message into the queue.
    fn push(&mut self, value: T) -> Result<(), SendError<T>> {
        match self.channel.place(None).filter(|_| self.channel.receivers > 0) {
            Some(place) => self.channel.fill(place, value).map_or(Ok(()), |back| Err(SendError(back))),
            None => {
                self.channel.no_receiver_is_there();
                Err(SendError(value))
            }
        }
    }

    /// Takes a message.
    fn pop(&mut self) -> Option<T> {
        match self.channel.message(None) {
            Some(Taken::Now(value)) => Some(value),
            _ => {
                if self.channel.senders == 0 {
                    self.channel.no_sender_is_there();
                }
                None
            }
        }
    }
}

unsafe fn has_room<T>(channel: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a channel of `T`.
    unsafe { (*channel.cast::<Inside<T>>()).0.peek(rt, State::has_room).unwrap_or(false) }
}

unsafe fn has_news<T>(channel: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a channel of `T`.
    unsafe { (*channel.cast::<Inside<T>>()).0.peek(rt, State::has_news).unwrap_or(false) }
}

struct Handover<'a, T> {
    channel: &'a Inside<T>,
    slot: Arc<Slot<T>>,
}

unsafe fn is_received<T>(handover: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Handover` of `T`.
    let handover = unsafe { &*handover.cast::<Handover<'_, T>>() };
    let is_over = |state: &State<T>| !handover.slot.is_full() || state.channel.receivers == 0;
    handover.channel.0.peek(rt, is_over).unwrap_or(false)
}

/// The receiving end.
pub(super) struct Receiver<T> {
    channel: Arc<Inside<T>>,
    not_sync: PhantomData<Cell<()>>,
}

#[track_caller]
pub(super) fn channel<T>(capacity: Option<usize>) -> (Arc<Inside<T>>, Receiver<T>) {
    let state = State { channel: Channel::new(capacity), waits: None };
    let channel = Arc::new(Inside(rt::Inside::new(state)));
    (channel.clone(), Receiver { channel, not_sync: PhantomData })
}

impl<T> Inside<T> {
    /// Calls `f` with the state, which does not run code of the test.
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut State<T>) -> R) -> R {
        match self.0.with(f) {
            Some(result) => result,
            None => panic!("a channel that was made inside of `fabius::check` is used outside of it"),
        }
    }

    /// As in std; whether it waits for room and for the receiver depends on the capacity.
    pub fn send(&self, value: T, at: &'static Location<'static>) -> Result<(), SendError<T>> {
        let capacity = self.with(|state| state.channel.capacity);
        let op = Op::write("send", self.0.id(), at).ordered();
        rt::point(if capacity.is_some() { op.when(self, has_room::<T>) } else { op });
        if capacity == Some(0) {
            return self.hand_over(value, at);
        }
        self.with(|state| state.push(value)).inspect_err(|_| rt::note(|| "nobody receives".into()))
    }

    /// Waits until the message is received.
    fn hand_over(&self, value: T, at: &'static Location<'static>) -> Result<(), SendError<T>> {
        let slot = self.with(|state| match state.channel.receivers {
            0 => {
                state.channel.no_receiver_is_there();
                Err(SendError(value))
            }
            _ => Ok(state.channel.offer(value)),
        });
        let handover = Handover { channel: self, slot: slot.inspect_err(|_| rt::note(|| "nobody receives".into()))? };
        rt::point(Op::local("wait until it is received", at).when(&handover, is_received::<T>));
        let back = self.with(|state| {
            let back = state.channel.take_back(&handover.slot);
            if back.is_some() {
                state.channel.withdraw(&handover.slot);
                state.channel.no_receiver_is_there();
            }
            back
        });
        back.map_or(Ok(()), |value| Err(SendError(value)))
    }

    /// As in std.
    pub fn try_send(&self, value: T, at: &'static Location<'static>) -> Result<(), TrySendError<T>> {
        rt::observe(Refine::RELEASES.with(Refine::RECEIVERS));
        rt::point(Op::write("try_send", self.0.id(), at).ordered());
        let sent = self.with(|state| {
            let channel = &mut state.channel;
            let waits = state.waits.filter(|_| channel.offers() == 0);
            match (channel.receivers, channel.capacity, waits) {
                (1.., Some(0), Some(receiver)) => {
                    channel.take(receiver);
                    channel.offer(value);
                    Ok(())
                }
                (1.., Some(0), None) => Err(TrySendError::Full(value)),
                _ if !state.has_room() => Err(TrySendError::Full(value)),
                _ => state.push(value).map_err(|error| TrySendError::Disconnected(error.0)),
            }
        });
        if sent.is_err() {
            rt::unchanged();
        }
        sent
    }

    pub fn one_sender_more(&self) {
        self.0.with(|state| state.channel.senders += 1);
    }

    /// Outside of an execution nobody is told: nobody can wait.
    pub fn one_sender_less(&self) {
        if rt::current().is_null() {
            return;
        }
        let less = |state: &mut State<T>| state.channel.senders = state.channel.senders.saturating_sub(1);
        let _less = super::super::Finally(|| self.with(less));
        rt::point(Op::write("drop sender", self.0.id(), self.0.object.made).ordered());
        self.with(|state| state.channel.sender_leaves());
    }
}

impl<T> Receiver<T> {
    /// Waits for a message; whether time was up.
    fn take(&self, deadline: Option<Duration>, at: &'static Location<'static>) -> bool {
        let channel = &*self.channel;
        let id = channel.0.id();
        if channel.with(|state| state.channel.capacity == Some(0) && !state.has_news()) {
            // What `try_send` looks for: who hands a message over comes after who waits for it.
            rt::part(Op::write("receive", id, at).ordered(), Refine::RECEIVERS);
            channel.with(|state| state.waits = Some(state.channel.leave()));
        }
        let timed_out = rt::point(Op::write("recv", id, at).ordered().when(channel, has_news::<T>).until(deadline));
        channel.with(|state| {
            state.waits = None;
            timed_out && !state.channel.has_message(None)
        })
    }

    pub fn recv(&self, at: &'static Location<'static>) -> Result<T, RecvError> {
        self.take(None, at);
        let value = self.channel.with(State::pop);
        if value.is_none() {
            rt::note(|| "all senders are gone".into());
        }
        value.ok_or(RecvError)
    }

    pub fn try_recv(&self, at: &'static Location<'static>) -> Result<T, TryRecvError> {
        rt::observe(Refine::RELEASES);
        rt::point(Op::write("try_recv", self.channel.0.id(), at).ordered());
        let (value, has_senders) = self.channel.with(|state| (state.pop(), state.channel.senders > 0));
        if value.is_none() && has_senders {
            rt::unchanged();
        }
        rt::note(|| if value.is_some() { "a message" } else { "nothing" }.into());
        value.ok_or(if has_senders { TryRecvError::Empty } else { TryRecvError::Disconnected })
    }

    pub fn recv_timeout(&self, limit: Duration, at: &'static Location<'static>) -> Result<T, RecvTimeoutError> {
        let deadline = rt::with(|rt| rt.now.saturating_add(limit));
        if self.take(deadline, at) && self.channel.with(|state| state.channel.senders > 0) {
            rt::unchanged();
            rt::note(|| "time was up".into());
            return Err(RecvTimeoutError::Timeout);
        }
        self.channel.with(State::pop).ok_or(RecvTimeoutError::Disconnected)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if rt::current().is_null() {
            return;
        }
        let channel = &self.channel.0;
        rt::point(Op::write("drop receiver", channel.id(), channel.object.made).ordered());
        drop(self.channel.with(|state| {
            state.channel.receiver_leaves();
            state.channel.receivers = 0;
            // A message that is handed over goes back to its sender.
            state.channel.left()
        }));
    }
}
