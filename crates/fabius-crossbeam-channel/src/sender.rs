//! The side that sends.

use crate::channel::Channel;
use crate::handle::Handle;
use crate::monitor::{self, At};
use crate::{SendError, SendTimeoutError, TrySendError};
use fabius::extend;
use fabius::extend::channel::{self, Operation, Token};
use fabius::time::Instant;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// As in crossbeam-channel.
pub struct Sender<T>(Arc<Channel<T>>);

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

/// Sends without waiting.
fn put<T>(state: &mut channel::Channel<T>, message: T) -> Result<(), TrySendError<T>> {
    if state.receivers == 0 {
        state.no_receiver_is_there();
        return Err(TrySendError::Disconnected(message));
    }
    match state.place(None) {
        Some(place) => state.fill(place, message).map_or(Ok(()), |back| Err(TrySendError::Full(back))),
        None => Err(TrySendError::Full(message)),
    }
}

impl<T> Sender<T> {
    pub(crate) fn new(channel: Arc<Channel<T>>) -> Sender<T> {
        Sender(channel)
    }

    /// Sends before time is up.
    fn send_until(&self, message: T, until: Option<Instant>, at: At) -> Result<(), SendTimeoutError<T>> {
        if self.capacity() == Some(0) {
            return self.hand_over(message, until, at);
        }
        let is_ready = || {
            let state = self.0.state();
            state.receivers == 0 || state.has_place(None)
        };
        if !monitor::wait("send", at, is_ready, until) {
            return Err(SendTimeoutError::Timeout(message));
        }
        put(&mut self.0.state(), message).map_err(|error| SendTimeoutError::Disconnected(error.into_inner()))
    }

    /// Sends where there is no queue: offers the message, and waits until it is taken.
    fn hand_over(&self, message: T, until: Option<Instant>, at: At) -> Result<(), SendTimeoutError<T>> {
        let channel = &*self.0;
        monitor::point("send", at);
        let begun = extend::last_change();
        let offer = match put(&mut channel.state(), message) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Disconnected(message)) => return Err(SendTimeoutError::Disconnected(message)),
            Err(TrySendError::Full(message)) => message,
        };
        let offer = channel.state().offer(offer);
        let nobody_receives = || {
            let state = channel.state();
            state.receivers == 0 && state.is_waiting(&offer)
        };
        let in_time = monitor::wait("sent", at, || !offer.is_full() || nobody_receives(), until);
        let was_chosen = !channel.state().withdraw(&offer);
        if was_chosen && offer.is_full() {
            // By a selection, whose operation is still to be completed: that has no limit.
            monitor::wait("sent", at, || !offer.is_full(), None);
        }
        let state = channel.state();
        match state.take_back(&offer) {
            None => Ok(()),
            Some(message) if in_time => {
                state.no_receiver_is_there();
                Err(SendTimeoutError::Disconnected(message))
            }
            Some(message) => {
                extend::undoes(&begun);
                Err(SendTimeoutError::Timeout(message))
            }
        }
    }

    /// As in crossbeam-channel: a scheduling point.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        monitor::point("try_send", Location::caller());
        put(&mut self.0.state(), message).inspect_err(|_| extend::unchanged())
    }

    /// As in crossbeam-channel: a scheduling point; waits for a place.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.send_until(message, None, Location::caller()).map_err(|error| SendError(error.into_inner()))
    }

    /// As in crossbeam-channel, in virtual time.
    #[track_caller]
    pub fn send_timeout(&self, message: T, limit: Duration) -> Result<(), SendTimeoutError<T>> {
        self.send_until(message, Instant::now().checked_add(limit), Location::caller())
    }

    /// As in crossbeam-channel, in virtual time.
    #[track_caller]
    pub fn send_deadline(&self, message: T, until: Instant) -> Result<(), SendTimeoutError<T>> {
        self.send_until(message, Some(until), Location::caller())
    }

    /// As in crossbeam-channel: a scheduling point.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As in crossbeam-channel: a scheduling point.
    #[track_caller]
    pub fn is_full(&self) -> bool {
        Some(self.len()) == self.capacity()
    }

    /// As in crossbeam-channel: a scheduling point.
    #[track_caller]
    pub fn len(&self) -> usize {
        monitor::point("len", Location::caller());
        extend::unchanged();
        self.0.state().messages()
    }

    /// As in crossbeam-channel.
    pub fn capacity(&self) -> Option<usize> {
        self.0.state().capacity
    }

    /// As in crossbeam-channel.
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Sends what a selection has got a place for.
    pub(crate) fn send_selected(&self, message: T, operation: &Operation, at: At) -> Result<(), SendError<T>> {
        monitor::point("send", at);
        let mut state = self.0.state();
        match state.reserved(operation) {
            Some(place) => {
                let _nobody_receives = state.fill(place, message);
                Ok(())
            }
            None => {
                state.no_receiver_is_there();
                Err(SendError(message))
            }
        }
    }
}

impl<T> Handle for Sender<T> {
    fn is_ready(&self, except: Option<&Arc<Token>>) -> bool {
        let state = self.0.state();
        state.receivers == 0 || state.has_place(except)
    }

    fn commit(&self, operation: &Operation) {
        let mut state = self.0.state();
        if state.receivers > 0 {
            state.reserve(operation);
        }
    }

    fn enter(&self, operation: &Operation) {
        self.0.state().wait_to_send(operation);
    }

    fn leave(&self, operation: &Operation) {
        self.0.state().stop_waiting(operation);
    }

    fn is_coming(&self) -> bool {
        false
    }

    fn due(&self) -> Option<Instant> {
        None
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.0.state().senders += 1;
        Sender(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    #[track_caller]
    fn drop(&mut self) {
        monitor::finally("drop a sender", Location::caller(), || {
            let mut state = self.0.state();
            state.sender_leaves();
            state.senders -= 1;
        });
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}
