//! A channel of an execution, or of what comes after one.

use fabius::extend::{Guard, Guarded, channel};

/// A channel.
pub(crate) struct Channel<T>(Guarded<channel::Channel<T>>);

impl<T> Channel<T> {
    #[track_caller]
    pub fn new(capacity: Option<usize>) -> Channel<T> {
        Channel(Guarded::new(channel::Channel::new(capacity)))
    }

    /// The state: to look at it, or to change it as a part of the operation that was just done.
    pub fn state(&self) -> Guard<'_, channel::Channel<T>> {
        self.0.take()
    }
}
