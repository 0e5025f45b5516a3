//! [`std::sync::mpsc`] under the scheduler. A channel that is made outside of a check is one of std's; inside of an execution
//! it can be used as long as nobody has to wait for it.

mod inside;

use crate::rt::{self, Op};
use inside::Inside;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::time::Duration;

/// [`std::sync::mpsc::Sender`].
pub struct Sender<T>(Sends<T, std_mpsc::Sender<T>>);

/// [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T>(Sends<T, std_mpsc::SyncSender<T>>);

/// [`std::sync::mpsc::Receiver`].
pub struct Receiver<T>(Receives<T>);

/// The end of a channel that messages are put into.
enum Sends<T, S> {
    Inside(Arc<Inside<T>>),
    Outside(S),
}

/// The other end.
enum Receives<T> {
    Inside(inside::Receiver<T>),
    Outside(std_mpsc::Receiver<T>),
}

impl<T> std::panic::UnwindSafe for Sender<T> {}
impl<T> std::panic::RefUnwindSafe for Sender<T> {}
impl<T> std::panic::UnwindSafe for SyncSender<T> {}
impl<T> std::panic::RefUnwindSafe for SyncSender<T> {}
impl<T> std::panic::UnwindSafe for Receiver<T> {}
impl<T> std::panic::RefUnwindSafe for Receiver<T> {}

/// As in std.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    if rt::current().is_null() {
        let (sender, receiver) = std_mpsc::channel();
        return (Sender(Sends::Outside(sender)), Receiver(Receives::Outside(receiver)));
    }
    let (sender, receiver) = inside::channel(None);
    (Sender(Sends::Inside(sender)), Receiver(Receives::Inside(receiver)))
}

/// As in std; with a bound of 0, a message is handed over.
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    if rt::current().is_null() {
        let (sender, receiver) = std_mpsc::sync_channel(bound);
        return (SyncSender(Sends::Outside(sender)), Receiver(Receives::Outside(receiver)));
    }
    let (sender, receiver) = inside::channel(Some(bound));
    (SyncSender(Sends::Inside(sender)), Receiver(Receives::Inside(receiver)))
}

/// A scheduling point of an operation on a channel of std. Says whether that is inside of an execution.
fn on_an_outer_channel(name: &'static str, at: &'static Location<'static>) -> bool {
    rt::point(Op::local(name, at));
    !rt::current().is_null()
}

#[track_caller]
fn would_wait() -> ! {
    panic!("a channel that was made outside of `fabius::check` would have to wait inside of it: make it inside")
}

impl<T> Sender<T> {
    /// As in std: a scheduling point.
    ///
    /// # Errors
    /// The value, if the receiver is gone.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match &self.0 {
            Sends::Inside(channel) => channel.send(value, Location::caller()),
            Sends::Outside(sender) => {
                on_an_outer_channel("send", Location::caller());
                sender.send(value)
            }
        }
    }
}

impl<T> SyncSender<T> {
    /// As in std: a scheduling point; waits for room, and with a bound of 0 until the message is received.
    ///
    /// # Errors
    /// The value, if the receiver is gone.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match &self.0 {
            Sends::Inside(channel) => channel.send(value, Location::caller()),
            Sends::Outside(sender) if on_an_outer_channel("send", Location::caller()) => {
                sender.try_send(value).map_err(|error| match error {
                    TrySendError::Disconnected(value) => SendError(value),
                    TrySendError::Full(_) => would_wait(),
                })
            }
            Sends::Outside(sender) => sender.send(value),
        }
    }

    /// As in std: a scheduling point; does not wait.
    ///
    /// # Errors
    /// The value, if there is no room or the receiver is gone.
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match &self.0 {
            Sends::Inside(channel) => channel.try_send(value, Location::caller()),
            Sends::Outside(sender) => {
                on_an_outer_channel("try_send", Location::caller());
                sender.try_send(value)
            }
        }
    }
}

impl<T> Receiver<T> {
    /// As in std: a scheduling point; waits for a message.
    ///
    /// # Errors
    /// If all senders are gone.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match &self.0 {
            Receives::Inside(channel) => channel.recv(Location::caller()),
            Receives::Outside(receiver) if on_an_outer_channel("recv", Location::caller()) => {
                receiver.try_recv().map_err(|error| match error {
                    TryRecvError::Disconnected => RecvError,
                    TryRecvError::Empty => would_wait(),
                })
            }
            Receives::Outside(receiver) => receiver.recv(),
        }
    }

    /// As in std: a scheduling point; does not wait.
    ///
    /// # Errors
    /// If there is no message.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.0 {
            Receives::Inside(channel) => channel.try_recv(Location::caller()),
            Receives::Outside(receiver) => {
                on_an_outer_channel("try_recv", Location::caller());
                receiver.try_recv()
            }
        }
    }

    /// As in std, in virtual time: time is up only when no thread can go on otherwise.
    ///
    /// # Errors
    /// If there is no message in time, or all senders are gone.
    #[track_caller]
    pub fn recv_timeout(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        match &self.0 {
            Receives::Inside(channel) => channel.recv_timeout(limit, Location::caller()),
            Receives::Outside(receiver) if on_an_outer_channel("recv", Location::caller()) => {
                receiver.try_recv().map_err(|error| match error {
                    TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
                    TryRecvError::Empty => would_wait(),
                })
            }
            Receives::Outside(receiver) => receiver.recv_timeout(limit),
        }
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

impl<T, S: Clone> Clone for Sends<T, S> {
    fn clone(&self) -> Sends<T, S> {
        match self {
            Sends::Inside(channel) => {
                channel.one_sender_more();
                Sends::Inside(channel.clone())
            }
            Sends::Outside(sender) => Sends::Outside(sender.clone()),
        }
    }
}

impl<T, S> Drop for Sends<T, S> {
    fn drop(&mut self) {
        if let Sends::Inside(channel) = self {
            channel.one_sender_less();
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender(self.0.clone())
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> SyncSender<T> {
        SyncSender(self.0.clone())
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
