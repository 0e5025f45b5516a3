//! The side that receives.

use crate::channel::Channel;
use crate::handle::Handle;
use crate::monitor::{self, At};
use crate::timer::Timer;
use crate::{RecvError, RecvTimeoutError, TryRecvError};
use fabius::extend;
use fabius::extend::channel::{Operation, Taken, Token};
use fabius::time::Instant;
use std::fmt;
use std::iter::FusedIterator;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// As in crossbeam-channel.
pub struct Receiver<T>(pub(crate) Source<T>);

/// Where messages come from.
pub(crate) enum Source<T> {
    Channel(Arc<Channel<T>>),
    /// The function makes a message of an instant; the message is one.
    Time(Arc<Timer>, fn(Instant) -> T),
    Never,
}

impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Channel<T> {
    fn receive_until(&self, until: Option<Instant>, at: At) -> Result<T, RecvTimeoutError> {
        if self.state().capacity == Some(0) {
            return self.take_over(until, at);
        }
        let is_ready = || {
            let state = self.state();
            state.senders == 0 || state.has_message(None)
        };
        if !monitor::wait("receive", at, is_ready, until) {
            return Err(RecvTimeoutError::Timeout);
        }
        let mut state = self.state();
        match state.message(None) {
            Some(Taken::Now(message)) => Ok(message),
            _ => {
                state.no_sender_is_there();
                Err(RecvTimeoutError::Disconnected)
            }
        }
    }

    /// A message that is there, or was promised: then it waits for that.
    fn gets(&self, taken: Taken<T>, at: At) -> T {
        match taken {
            Taken::Now(message) => message,
            Taken::Later(slot) => {
                monitor::wait("received", at, || slot.is_full(), None);
                self.state().collect(&slot).expect("who promises a message sends it")
            }
        }
    }

    /// Receives where there is no queue.
    fn take_over(&self, until: Option<Instant>, at: At) -> Result<T, RecvTimeoutError> {
        monitor::point("receive", at);
        let begun = extend::last_change();
        let mut state = self.state();
        if let Some(taken) = state.message(None) {
            drop(state);
            return Ok(self.gets(taken, at));
        }
        if state.senders == 0 {
            state.no_sender_is_there();
            return Err(RecvTimeoutError::Disconnected);
        }
        let slot = state.want();
        drop(state);
        let in_time = monitor::wait("received", at, || slot.is_full() || self.state().senders == 0, until);
        let mut state = self.state();
        let was_promised = !state.withdraw(&slot);
        match state.collect(&slot) {
            Some(message) => Ok(message),
            None if was_promised => {
                drop(state);
                Ok(self.gets(Taken::Later(slot), at))
            }
            None if in_time => {
                state.no_sender_is_there();
                Err(RecvTimeoutError::Disconnected)
            }
            None => {
                extend::undoes(&begun);
                Err(RecvTimeoutError::Timeout)
            }
        }
    }

    fn try_receive(&self, at: At) -> Result<T, TryRecvError> {
        monitor::wait("try_recv", at, || !self.state().is_coming(), None);
        let mut state = self.state();
        match state.message(None) {
            Some(taken) => {
                drop(state);
                Ok(self.gets(taken, at))
            }
            None if state.senders == 0 => {
                state.no_sender_is_there();
                Err(TryRecvError::Disconnected)
            }
            None => {
                extend::unchanged();
                Err(TryRecvError::Empty)
            }
        }
    }
}

impl<T> Receiver<T> {
    pub(crate) fn new(channel: Arc<Channel<T>>) -> Receiver<T> {
        Receiver(Source::Channel(channel))
    }

    fn receive_until(&self, until: Option<Instant>, at: At) -> Result<T, RecvTimeoutError> {
        let (timer, make) = match &self.0 {
            Source::Channel(channel) => return channel.receive_until(until, at),
            Source::Time(timer, make) => (timer, make),
            Source::Never => {
                monitor::wait("receive", at, || false, until);
                return Err(RecvTimeoutError::Timeout);
            }
        };
        loop {
            let first = timer.due().into_iter().chain(until).min();
            monitor::wait("receive", at, || false, first);
            // Another receiver may have been faster.
            match timer.fire() {
                Some(due) => return Ok(make(due)),
                None if until.is_some_and(|until| until <= Instant::now()) => return Err(RecvTimeoutError::Timeout),
                None => {}
            }
        }
    }

    /// As in crossbeam-channel: a scheduling point.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let at = Location::caller();
        match &self.0 {
            Source::Channel(channel) => channel.try_receive(at),
            Source::Time(timer, make) => {
                monitor::point("try_recv", at);
                let fired = timer.fire();
                if fired.is_none() {
                    extend::unchanged();
                }
                fired.map(make).ok_or(TryRecvError::Empty)
            }
            Source::Never => Err(TryRecvError::Empty),
        }
    }

    /// As in crossbeam-channel: a scheduling point; waits for a message.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.receive_until(None, Location::caller()).map_err(|_| RecvError)
    }

    /// As in crossbeam-channel, in virtual time.
    #[track_caller]
    pub fn recv_timeout(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        self.receive_until(Instant::now().checked_add(limit), Location::caller())
    }

    /// As in crossbeam-channel, in virtual time.
    #[track_caller]
    pub fn recv_deadline(&self, until: Instant) -> Result<T, RecvTimeoutError> {
        self.receive_until(Some(until), Location::caller())
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
        match &self.0 {
            Source::Channel(channel) => channel.state().messages(),
            Source::Time(timer, _) => usize::from(timer.is_due()),
            Source::Never => 0,
        }
    }

    /// As in crossbeam-channel.
    pub fn capacity(&self) -> Option<usize> {
        match &self.0 {
            Source::Channel(channel) => channel.state().capacity,
            Source::Time(..) => Some(1),
            Source::Never => Some(0),
        }
    }

    /// As in crossbeam-channel.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// As in crossbeam-channel.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }

    /// As in crossbeam-channel.
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        match (&self.0, &other.0) {
            (Source::Channel(one), Source::Channel(other)) => Arc::ptr_eq(one, other),
            (Source::Time(one, _), Source::Time(other, _)) => Arc::ptr_eq(one, other),
            (Source::Never, Source::Never) => true,
            _ => false,
        }
    }

    /// Receives what a selection has got.
    pub(crate) fn receive_selected(&self, operation: &Operation, at: At) -> Result<T, RecvError> {
        match &self.0 {
            Source::Channel(channel) => {
                let taken = channel.state().aside(operation);
                taken.map(|taken| channel.gets(taken, at)).ok_or_else(|| {
                    channel.state().no_sender_is_there();
                    RecvError
                })
            }
            Source::Time(timer, make) => timer.fired().map(make).ok_or(RecvError),
            Source::Never => Err(RecvError),
        }
    }
}

impl<T> Handle for Receiver<T> {
    fn is_ready(&self, except: Option<&Arc<Token>>) -> bool {
        match &self.0 {
            Source::Channel(channel) => {
                let state = channel.state();
                state.senders == 0 || state.has_message(except)
            }
            Source::Time(timer, _) => timer.is_due(),
            Source::Never => false,
        }
    }

    fn is_coming(&self) -> bool {
        matches!(&self.0, Source::Channel(channel) if channel.state().is_coming())
    }

    fn commit(&self, operation: &Operation) {
        match &self.0 {
            Source::Channel(channel) => channel.state().set_aside(operation),
            Source::Time(timer, _) => timer.set_aside(),
            Source::Never => {}
        }
    }

    fn enter(&self, operation: &Operation) {
        if let Source::Channel(channel) = &self.0 {
            channel.state().wait_to_receive(operation);
        }
    }

    fn leave(&self, operation: &Operation) {
        if let Source::Channel(channel) = &self.0 {
            channel.state().stop_waiting(operation);
        }
    }

    fn due(&self) -> Option<Instant> {
        if let Source::Time(timer, _) = &self.0 { timer.due() } else { None }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Receiver<T> {
        Receiver(match &self.0 {
            Source::Channel(channel) => {
                channel.state().receivers += 1;
                Source::Channel(channel.clone())
            }
            Source::Time(timer, make) => Source::Time(timer.clone(), *make),
            Source::Never => Source::Never,
        })
    }
}

impl<T> Drop for Receiver<T> {
    #[track_caller]
    fn drop(&mut self) {
        if let Source::Channel(channel) = &self.0 {
            let mut left = Vec::new();
            monitor::finally("drop a receiver", Location::caller(), || {
                let mut state = channel.state();
                state.receiver_leaves();
                state.receivers -= 1;
                // As in crossbeam-channel, messages go with the last receiver.
                if state.receivers == 0 {
                    left = state.left();
                }
            });
            drop(left);
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Receiver { .. }")
    }
}

/// As in crossbeam-channel.
pub struct Iter<'a, T>(&'a Receiver<T>);

/// As in crossbeam-channel.
pub struct TryIter<'a, T>(&'a Receiver<T>);

/// As in crossbeam-channel.
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> FusedIterator for Iter<'_, T> {}
impl<T> FusedIterator for IntoIter<T> {}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}
