//! A channel of an execution, or of what comes after one.

use fabius::extend::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A channel.
pub(crate) struct Channel<T>(Mutex<channel::Channel<T>>);

impl<T> Channel<T> {
    #[track_caller]
    pub fn new(capacity: Option<usize>) -> Channel<T> {
        Channel(Mutex::new(channel::Channel::new(capacity)))
    }

    /// The state: to look at it, or to change it as a part of the operation that was just done.
    pub fn state(&self) -> MutexGuard<'_, channel::Channel<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
