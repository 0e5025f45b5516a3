//! A place that is reserved.

use super::state::Channel;
use crate::sync::acquire::wake_all;
use std::fmt;
use std::panic::Location;

/// As in tokio: a place. Dropping it gives it back.
#[must_use]
pub struct Permit<'a, T>(Option<&'a Channel<T>>);

#[track_caller]
pub(super) fn send<T>(channel: &Channel<T>, value: T) {
    wake_all(channel.change("send", Location::caller(), |state| state.push(value)));
}

#[track_caller]
pub(super) fn free<T>(channel: &Channel<T>) {
    wake_all(channel.change("drop a permit", Location::caller(), |state| state.free(1)));
}

impl<'a, T> Permit<'a, T> {
    pub(super) fn new(channel: &'a Channel<T>) -> Permit<'a, T> {
        Permit(Some(channel))
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn send(mut self, value: T) {
        if let Some(channel) = self.0.take() {
            send(channel, value);
        }
    }
}

impl<T> Drop for Permit<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        if let Some(channel) = self.0.take() {
            free(channel);
        }
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}
