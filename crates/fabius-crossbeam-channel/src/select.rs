//! Waiting for one of several operations.

use crate::handle::Handle;
use crate::monitor::{self, At};
use crate::{
    ReadyTimeoutError, Receiver, RecvError, SelectTimeoutError, SendError, Sender, TryReadyError, TrySelectError,
};
use fabius::extend::{
    self,
    channel::{Operation, Token},
};
use fabius::time::Instant;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// Which of several that are ready is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefer {
    Any,
    First,
}

/// As in crossbeam-channel. Of several operations that are ready, the search tries each.
pub struct Select<'a> {
    handles: Vec<Option<&'a dyn Handle>>,
    prefer: Prefer,
}

/// As in crossbeam-channel.
#[must_use]
pub struct SelectedOperation<'a> {
    operation: Operation,
    handle: *const (),
    /// Where it was selected.
    at: At,
    used: bool,
    select: PhantomData<&'a ()>,
}

impl<'a> Select<'a> {
    /// As in crossbeam-channel.
    pub fn new() -> Select<'a> {
        Select { handles: Vec::new(), prefer: Prefer::Any }
    }

    /// As in crossbeam-channel.
    pub fn new_biased() -> Select<'a> {
        Select { handles: Vec::new(), prefer: Prefer::First }
    }

    fn add(&mut self, handle: &'a dyn Handle) -> usize {
        self.handles.push(Some(handle));
        self.handles.len() - 1
    }

    /// As in crossbeam-channel.
    pub fn send<T>(&mut self, sender: &'a Sender<T>) -> usize {
        self.add(sender)
    }

    /// As in crossbeam-channel.
    pub fn recv<T>(&mut self, receiver: &'a Receiver<T>) -> usize {
        self.add(receiver)
    }

    /// As in crossbeam-channel.
    ///
    /// # Panics
    /// If there is no such operation.
    pub fn remove(&mut self, index: usize) {
        let removed = self.handles.get_mut(index).and_then(Option::take);
        assert!(removed.is_some(), "no operation with this index");
    }

    fn handles(&self) -> impl Iterator<Item = (usize, &'a dyn Handle)> {
        self.handles.iter().enumerate().filter_map(|(index, handle)| Some((index, (*handle)?)))
    }

    /// One that is ready.
    fn pick(&self, except: Option<&Arc<Token>>) -> Option<(usize, &'a dyn Handle)> {
        let ready: Vec<_> = self.handles().filter(|(_, handle)| handle.is_ready(except)).collect();
        match (ready.len(), self.prefer) {
            (0, _) => None,
            (_, Prefer::First) => Some(ready[0]),
            (count, Prefer::Any) => Some(ready[extend::choose(count)]),
        }
    }

    /// A scheduling point of who does not wait.
    fn look(&self, name: &'static str, at: At) {
        let handles = || self.handles().map(|(_, handle)| handle);
        let is_decided = || handles().any(|h| h.is_ready(None)) || !handles().any(Handle::is_coming);
        monitor::wait(name, at, is_decided, None);
    }

    fn selected(token: &Arc<Token>, (index, handle): (usize, &dyn Handle), at: At) -> SelectedOperation<'a> {
        let operation = Operation { token: token.clone(), index };
        SelectedOperation { operation, handle: address(handle), at, used: false, select: PhantomData }
    }

    /// Selects before time is up.
    fn select_until(&self, until: Option<Instant>, at: At) -> Option<SelectedOperation<'a>> {
        let token = Arc::new(Token::default());
        let of = |index| Operation { token: token.clone(), index };
        monitor::point("select", at);
        let begun = extend::last_change();
        if let Some((index, handle)) = self.pick(Some(&token)) {
            handle.commit(&of(index));
            return Some(Select::selected(&token, (index, handle), at));
        }
        self.handles().for_each(|(index, handle)| handle.enter(&of(index)));
        self.wait("selected", at, until, || token.chosen().is_some(), Some(&token));
        let chosen = token.chosen();
        let picked = match chosen {
            Some(index) => self.handles().find(|(other, _)| *other == index),
            None => self.pick(Some(&token)),
        };
        self.handles().for_each(|(index, handle)| handle.leave(&of(index)));
        let Some((index, handle)) = picked else {
            extend::undoes(&begun);
            return None;
        };
        if chosen.is_none() {
            handle.commit(&of(index));
        }
        Some(Select::selected(&token, (index, handle), at))
    }

    /// Waits until something holds, one is ready, or time is up.
    fn wait(
        &self,
        name: &'static str,
        at: At,
        until: Option<Instant>,
        is_over: impl Fn() -> bool,
        except: Option<&Arc<Token>>,
    ) {
        let any_ready = |handles: &[(usize, &dyn Handle)]| handles.iter().any(|(_, handle)| handle.is_ready(except));
        // What time sends is a limit of the wait: the search, which asks whether it is over, is not at any time.
        let (timed, others): (Vec<_>, Vec<_>) = self.handles().partition(|(_, handle)| handle.due().is_some());
        loop {
            let first = timed.iter().filter_map(|(_, handle)| handle.due()).chain(until).min();
            monitor::wait(name, at, || is_over() || any_ready(&others), first);
            let is_late = until.is_some_and(|until| until <= Instant::now());
            if is_late || is_over() || any_ready(&others) || any_ready(&timed) {
                return;
            }
        }
    }

    /// Waits until one is ready before time is up.
    fn ready_until(&self, until: Option<Instant>, at: At) -> Option<usize> {
        self.wait("ready", at, until, || false, None);
        self.pick(None).map(|(index, _)| index)
    }

    /// As in crossbeam-channel: a scheduling point.
    #[track_caller]
    pub fn try_select(&mut self) -> Result<SelectedOperation<'a>, TrySelectError> {
        let at = Location::caller();
        self.look("try_select", at);
        let token = Arc::new(Token::default());
        let Some((index, handle)) = self.pick(Some(&token)) else {
            extend::unchanged();
            return Err(TrySelectError);
        };
        handle.commit(&Operation { token: token.clone(), index });
        Ok(Select::selected(&token, (index, handle), at))
    }

    /// As in crossbeam-channel: a scheduling point; waits until an operation can be done.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn select(&mut self) -> SelectedOperation<'a> {
        assert!(self.handles().next().is_some(), "no operations have been added to `Select`");
        self.select_until(None, Location::caller()).expect("there is no time limit")
    }

    /// As in crossbeam-channel, in virtual time.
    #[track_caller]
    pub fn select_timeout(&mut self, limit: Duration) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        self.select_until(Instant::now().checked_add(limit), Location::caller()).ok_or(SelectTimeoutError)
    }

    /// As in crossbeam-channel, in virtual time.
    #[track_caller]
    pub fn select_deadline(&mut self, until: Instant) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        self.select_until(Some(until), Location::caller()).ok_or(SelectTimeoutError)
    }

    /// As in crossbeam-channel: a scheduling point.
    #[track_caller]
    pub fn try_ready(&mut self) -> Result<usize, TryReadyError> {
        self.look("try_ready", Location::caller());
        let picked = self.pick(None);
        // Who is ready is only looked at.
        extend::unchanged();
        picked.map(|(index, _)| index).ok_or(TryReadyError)
    }

    /// As in crossbeam-channel: a scheduling point.
    ///
    /// # Panics
    /// If there is no operation.
    #[track_caller]
    pub fn ready(&mut self) -> usize {
        assert!(self.handles().next().is_some(), "no operations have been added to `Select`");
        self.ready_until(None, Location::caller()).expect("there is no time limit")
    }

    /// As in crossbeam-channel, in virtual time.
    #[track_caller]
    pub fn ready_timeout(&mut self, limit: Duration) -> Result<usize, ReadyTimeoutError> {
        self.ready_until(Instant::now().checked_add(limit), Location::caller()).ok_or(ReadyTimeoutError)
    }

    /// As in crossbeam-channel, in virtual time.
    #[track_caller]
    pub fn ready_deadline(&mut self, until: Instant) -> Result<usize, ReadyTimeoutError> {
        self.ready_until(Some(until), Location::caller()).ok_or(ReadyTimeoutError)
    }
}

fn address(handle: &dyn Handle) -> *const () {
    std::ptr::from_ref(handle).cast()
}

impl SelectedOperation<'_> {
    /// As in crossbeam-channel.
    pub fn index(&self) -> usize {
        self.operation.index
    }

    #[track_caller]
    fn check(&mut self, handle: &dyn Handle) {
        self.used = true;
        assert!(address(handle) == self.handle, "passed a side of a channel that was not selected");
    }

    /// As in crossbeam-channel: a scheduling point.
    ///
    /// # Panics
    /// If it is not the sender that was selected.
    #[track_caller]
    pub fn send<T>(mut self, sender: &Sender<T>, message: T) -> Result<(), SendError<T>> {
        self.check(sender);
        sender.send_selected(message, &self.operation, Location::caller())
    }

    /// As in crossbeam-channel.
    ///
    /// # Panics
    /// If it is not the receiver that was selected.
    #[track_caller]
    pub fn recv<T>(mut self, receiver: &Receiver<T>) -> Result<T, RecvError> {
        self.check(receiver);
        receiver.receive_selected(&self.operation, Location::caller())
    }
}

impl Drop for SelectedOperation<'_> {
    fn drop(&mut self) {
        if !self.used && !std::thread::panicking() {
            panic!("dropped `SelectedOperation` without completing the operation, which was selected at {}", self.at);
        }
    }
}

impl fmt::Debug for SelectedOperation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("SelectedOperation { .. }")
    }
}

impl Default for Select<'_> {
    fn default() -> Self {
        Select::new()
    }
}

impl Clone for Select<'_> {
    fn clone(&self) -> Self {
        Select { handles: self.handles.clone(), prefer: self.prefer }
    }
}

impl fmt::Debug for Select<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Select { .. }")
    }
}
