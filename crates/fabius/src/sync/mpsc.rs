//! [`std::sync::mpsc`] under the scheduler.

use crate::rt::{self, Object, Op, Refine, Rt};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::time::Duration;

struct Channel<T> {
    state: State,
    queue: RefCell<VecDeque<T>>,
}

// SAFETY: all threads of an execution are fibers of one operating system thread.
unsafe impl<T: Send> Sync for Channel<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Channel<T> {}

/// What readiness depends on.
struct State {
    object: Object,
    length: Cell<usize>,
    /// `None`: without limit.
    capacity: Option<usize>,
    /// How many messages were received: with capacity 0 a sender waits for its own.
    received: Cell<u64>,
    sent: Cell<u64>,
    /// How many receivers wait: with capacity 0, `try_send` succeeds only if one does.
    receiving: Cell<usize>,
    senders: Cell<usize>,
    receiver: Cell<bool>,
}

impl State {
    fn has_room(&self) -> bool {
        self.capacity.is_none_or(|c| self.length.get() < c.max(1)) || !self.receiver.get()
    }
}

unsafe fn has_room(state: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `State`.
    unsafe { (*state.cast::<State>()).has_room() }
}

unsafe fn has_news(state: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `State`.
    let state = unsafe { &*state.cast::<State>() };
    state.length.get() > 0 || state.senders.get() == 0
}

struct Handover<'a> {
    state: &'a State,
    number: u64,
}

unsafe fn is_received(handover: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Handover`.
    let handover = unsafe { &*handover.cast::<Handover<'_>>() };
    handover.state.received.get() >= handover.number || !handover.state.receiver.get()
}

/// [`std::sync::mpsc::Sender`].
pub struct Sender<T>(Arc<Channel<T>>);

/// [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T>(Arc<Channel<T>>);

/// [`std::sync::mpsc::Receiver`].
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
    not_sync: std::marker::PhantomData<Cell<()>>,
}

impl<T> std::panic::UnwindSafe for Sender<T> {}
impl<T> std::panic::RefUnwindSafe for Sender<T> {}
impl<T> std::panic::UnwindSafe for SyncSender<T> {}
impl<T> std::panic::RefUnwindSafe for SyncSender<T> {}
impl<T> std::panic::UnwindSafe for Receiver<T> {}
impl<T> std::panic::RefUnwindSafe for Receiver<T> {}

#[track_caller]
fn make<T>(capacity: Option<usize>) -> Arc<Channel<T>> {
    let state = State {
        object: Object::new(),
        length: Cell::new(0),
        capacity,
        received: Cell::new(0),
        sent: Cell::new(0),
        receiving: Cell::new(0),
        senders: Cell::new(1),
        receiver: Cell::new(true),
    };
    Arc::new(Channel { state, queue: RefCell::default() })
}

/// As in std.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = make(None);
    (Sender(channel.clone()), Receiver { channel, not_sync: std::marker::PhantomData })
}

/// As in std; with a bound of 0, a message is handed over.
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let channel = make(Some(bound));
    (SyncSender(channel.clone()), Receiver { channel, not_sync: std::marker::PhantomData })
}

impl<T> Channel<T> {
    fn push(&self, value: T) -> Result<(), SendError<T>> {
        if !self.state.receiver.get() {
            rt::note(|| "nobody receives".into());
            return Err(SendError(value));
        }
        self.queue.borrow_mut().push_back(value);
        self.state.length.set(self.state.length.get() + 1);
        self.state.sent.set(self.state.sent.get() + 1);
        Ok(())
    }

    fn pop(&self) -> Option<T> {
        let value = self.queue.borrow_mut().pop_front()?;
        self.state.length.set(self.state.length.get() - 1);
        self.state.received.set(self.state.received.get() + 1);
        Some(value)
    }

    fn one_sender_less(&self) {
        let at = self.state.object.made;
        let _less = super::Finally(|| self.state.senders.set(self.state.senders.get() - 1));
        if !rt::current().is_null() {
            rt::point(Op::write("drop sender", self.state.object.id(), at));
        }
    }
}

impl<T> Sender<T> {
    /// As in std: a scheduling point.
    ///
    /// # Errors
    /// The value, if the receiver is gone.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        rt::point(Op::write("send", self.0.state.object.id(), Location::caller()));
        self.0.push(value)
    }
}

impl<T> SyncSender<T> {
    /// As in std: a scheduling point; waits for room, and with a bound of 0 until the message is received.
    ///
    /// # Errors
    /// The value, if the receiver is gone.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let (state, at) = (&self.0.state, Location::caller());
        rt::point(Op::write("send", state.object.id(), at).when(state, has_room));
        self.0.push(value)?;
        if state.capacity == Some(0) {
            let handover = Handover { state, number: state.sent.get() };
            rt::point(Op::local("wait until it is received", at).when(&handover, is_received));
            if state.received.get() < handover.number
                && let Some(value) = self.0.queue.borrow_mut().pop_back()
            {
                return Err(SendError(value));
            }
        }
        Ok(())
    }

    /// As in std: a scheduling point; does not wait.
    ///
    /// # Errors
    /// The value, if there is no room or the receiver is gone.
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        rt::observe(Refine::RELEASES);
        let state = &self.0.state;
        rt::point(Op::write("try_send", state.object.id(), Location::caller()));
        if !state.receiver.get() {
            rt::unchanged();
            return Err(TrySendError::Disconnected(value));
        }
        let hands_over = state.capacity != Some(0) || state.receiving.get() > state.length.get();
        if !state.has_room() || !hands_over {
            rt::unchanged();
            return Err(TrySendError::Full(value));
        }
        self.0.push(value).map_err(|e| TrySendError::Disconnected(e.0))
    }
}

impl<T> Receiver<T> {
    #[track_caller]
    fn take(&self, deadline: Option<Duration>) -> bool {
        let state = &self.channel.state;
        let (id, at) = (state.object.id(), Location::caller());
        if state.capacity == Some(0) && state.length.get() == 0 && state.senders.get() > 0 {
            // What `try_send` looks for.
            rt::part(Op::write("receive", id, at), Refine::RELEASES);
        }
        state.receiving.set(state.receiving.get() + 1);
        let timed_out = rt::point(Op::write("recv", id, at).when(state, has_news).until(deadline));
        state.receiving.set(state.receiving.get() - 1);
        timed_out && state.length.get() == 0
    }

    /// As in std: a scheduling point; waits for a message.
    ///
    /// # Errors
    /// If all senders are gone.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.take(None);
        let value = self.channel.pop();
        if value.is_none() {
            rt::note(|| "all senders are gone".into());
        }
        value.ok_or(RecvError)
    }

    /// As in std: a scheduling point; does not wait.
    ///
    /// # Errors
    /// If there is no message.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        rt::observe(Refine::RELEASES);
        let state = &self.channel.state;
        rt::point(Op::write("try_recv", state.object.id(), Location::caller()));
        let value = self.channel.pop();
        if value.is_none() {
            rt::unchanged();
        }
        rt::note(|| if value.is_some() { "a message" } else { "nothing" }.into());
        value.ok_or(if state.senders.get() == 0 { TryRecvError::Disconnected } else { TryRecvError::Empty })
    }

    /// As in std, in virtual time: time is up only when no thread can go on otherwise.
    ///
    /// # Errors
    /// If there is no message in time, or all senders are gone.
    #[track_caller]
    pub fn recv_timeout(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        let deadline = rt::with(|rt| rt.now.saturating_add(limit));
        if self.take(deadline) && self.channel.state.senders.get() > 0 {
            rt::note(|| "time was up".into());
            return Err(RecvTimeoutError::Timeout);
        }
        self.channel.pop().ok_or(RecvTimeoutError::Disconnected)
    }

    /// As in std.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// As in std.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }
}

/// [`std::sync::mpsc::Iter`].
#[derive(Debug)]
pub struct Iter<'a, T>(&'a Receiver<T>);

/// [`std::sync::mpsc::TryIter`].
#[derive(Debug)]
pub struct TryIter<'a, T>(&'a Receiver<T>);

/// [`std::sync::mpsc::IntoIter`].
#[derive(Debug)]
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

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.0.state.senders.set(self.0.state.senders.get() + 1);
        Sender(self.0.clone())
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> SyncSender<T> {
        self.0.state.senders.set(self.0.state.senders.get() + 1);
        SyncSender(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.one_sender_less();
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        self.0.one_sender_less();
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let state = &self.channel.state;
        if !rt::current().is_null() {
            rt::point(Op::write("drop receiver", state.object.id(), state.object.made));
        }
        state.receiver.set(false);
        if state.capacity != Some(0) {
            state.length.set(0);
            let dropped = std::mem::take(&mut *self.channel.queue.borrow_mut());
            drop(dropped);
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
