//! The interface of crossbeam-channel 0.5 on top of [`fabius`]: rename the dependency, keep the code.
//!
//! ```toml
//! [dependencies]
//! crossbeam-channel = { package = "fabius-crossbeam-channel", version = "0.1" }
//! ```
//!
//! A channel belongs to the execution that makes it. The README says what differs.

mod channel;
mod handle;
mod monitor;
mod receiver;
mod select;
mod select_macro;
mod sender;
mod timer;
mod times;

pub use crossbeam_channel::{
    ReadyTimeoutError, RecvError, RecvTimeoutError, SelectTimeoutError, SendError, SendTimeoutError, TryReadyError,
    TryRecvError, TrySelectError, TrySendError,
};
pub use receiver::{IntoIter, Iter, Receiver, TryIter};
pub use select::{Select, SelectedOperation};
pub use sender::Sender;
pub use times::{after, at, never, tick};

/// As in crossbeam-channel.
#[track_caller]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    make(None)
}

/// As in crossbeam-channel. With a capacity of zero, sending waits for who receives.
#[track_caller]
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    make(Some(capacity))
}

#[track_caller]
fn make<T>(capacity: Option<usize>) -> (Sender<T>, Receiver<T>) {
    let channel = std::sync::Arc::new(channel::Channel::new(capacity));
    (Sender::new(channel.clone()), Receiver::new(channel))
}
