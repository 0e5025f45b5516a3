//! The side that sends.

use crate::channel::{Channel, Operation, State, Token, is_full, take};
use crate::handle::Handle;
use crate::monitor::{self, At};
use crate::{SendError, SendTimeoutError, TrySendError};
use fabius::time::Instant;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// As in crossbeam-channel.
pub struct Sender<T>(Arc<Channel<T>>);

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

impl<T> Sender<T> {
    pub(crate) fn new(channel: Arc<Channel<T>>) -> Sender<T> {
        Sender(channel)
    }

    /// Sends before time is up.
    fn send_until(&self, message: T, until: Option<Instant>, at: At) -> Result<(), SendTimeoutError<T>> {
        let channel = &*self.0;
        if channel.look(|state| state.capacity) == Some(0) {
            return self.hand_over(message, until, at);
        }
        let is_ready = || channel.look(|state| state.receivers == 0 || state.has_place(None));
        if !monitor::wait("send", at, is_ready, until) {
            return Err(SendTimeoutError::Timeout(message));
        }
        let sent = channel.change(|state| match state.place(None) {
            Some(place) if state.receivers > 0 => {
                state.fill(place, message);
                Ok(())
            }
            _ => Err(SendTimeoutError::Disconnected(message)),
        });
        match sent {
            Ok(()) => channel.has_sent(),
            Err(_) => channel.nobody_is_there(),
        }
        sent
    }

    /// Sends where there is no queue: offers the message, and waits until it is taken.
    fn hand_over(&self, message: T, until: Option<Instant>, at: At) -> Result<(), SendTimeoutError<T>> {
        let channel = &*self.0;
        monitor::point("send", at);
        let offer = channel.change(|state| {
            if state.receivers == 0 {
                return Err(SendTimeoutError::Disconnected(message));
            }
            if let Some(place) = state.place(None) {
                state.fill(place, message);
                return Ok(None);
            }
            let offer = Arc::new(Mutex::new(Some(message)));
            state.offer(&offer);
            Ok(Some(offer))
        });
        let offer = match offer {
            Ok(Some(offer)) => offer,
            Ok(None) => {
                channel.has_sent();
                return Ok(());
            }
            Err(error) => {
                channel.nobody_is_there();
                return Err(error);
            }
        };
        channel.offers();
        let is_taken = || !is_full(&offer);
        let nobody_receives = |state: &State<T>| state.receivers == 0 && state.is_waiting(&offer);
        let in_time = monitor::wait("sent", at, || is_taken() || channel.look(nobody_receives), until);
        let was_chosen = !channel.change(|state| state.withdraw(&offer));
        if was_chosen && !is_taken() {
            // By a selection, whose operation is still to be completed: that has no limit.
            monitor::wait("sent", at, is_taken, None);
        }
        match take(&offer) {
            None => {
                channel.was_taken();
                Ok(())
            }
            Some(message) if in_time => {
                channel.nobody_is_there();
                Err(SendTimeoutError::Disconnected(message))
            }
            Some(message) => Err(SendTimeoutError::Timeout(message)),
        }
    }

    /// As in crossbeam-channel: a scheduling point.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        monitor::point("try_send", Location::caller());
        let sent = self.0.change(|state| match state.receivers {
            0 => Err(TrySendError::Disconnected(message)),
            _ => match state.place(None) {
                Some(place) => {
                    state.fill(place, message);
                    Ok(())
                }
                None => Err(TrySendError::Full(message)),
            },
        });
        match sent {
            Ok(()) => self.0.has_sent(),
            Err(TrySendError::Disconnected(_)) => self.0.nobody_is_there(),
            Err(TrySendError::Full(_)) => {}
        }
        sent
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
        self.0.look(State::len)
    }

    /// As in crossbeam-channel.
    pub fn capacity(&self) -> Option<usize> {
        self.0.look(|state| state.capacity)
    }

    /// As in crossbeam-channel.
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Sends what a selection has got a place for.
    pub(crate) fn send_selected(&self, message: T, operation: &Operation, at: At) -> Result<(), SendError<T>> {
        monitor::point("send", at);
        let sent = self.0.change_in_between(|state| match state.reserved(operation) {
            Some(place) => Ok(state.fill(place, message)),
            None => Err(SendError(message)),
        });
        if sent.is_err() {
            self.0.nobody_is_there();
        }
        sent.map(|_nobody_receives| ())
    }
}

impl<T> Handle for Sender<T> {
    fn is_ready(&self, except: Option<&Arc<Token>>) -> bool {
        self.0.look(|state| state.receivers == 0 || state.has_place(except))
    }

    fn commit(&self, operation: &Operation) {
        self.0.change_in_between(|state| {
            if state.receivers > 0 {
                state.reserve(operation);
            }
        });
    }

    fn enter(&self, operation: &Operation) {
        self.0.change_in_between(|state| state.wait_to_send(operation));
    }

    fn leave(&self, operation: &Operation) {
        self.0.change_in_between(|state| state.leave(operation));
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
        self.0.change(|state| state.senders += 1);
        Sender(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    #[track_caller]
    fn drop(&mut self) {
        monitor::finally("drop a sender", Location::caller(), || self.0.leaves(|state| state.senders -= 1));
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}
