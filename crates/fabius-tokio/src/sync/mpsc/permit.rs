//! Places that are reserved.

use super::state::Channel;
use crate::sync::acquire::wake_all;
use std::fmt;
use std::panic::Location;

/// As in tokio: a place. Dropping it gives it back.
#[must_use]
pub struct Permit<'a, T>(Option<&'a Channel<T>>);

#[track_caller]
pub(super) fn send<T>(channel: &Channel<T>, value: T) {
    wake_all(channel.step("send", Location::caller(), |state, order| state.push(value, order)));
}

#[track_caller]
pub(super) fn free<T>(channel: &Channel<T>, places: usize) {
    wake_all(channel.step("drop a permit", Location::caller(), |state, order| state.free(places, order)));
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
            free(channel, 1);
        }
    }
}

/// As in tokio: several places. Dropping it gives back those that are left.
#[must_use]
pub struct PermitIterator<'a, T> {
    channel: &'a Channel<T>,
    left: usize,
}

impl<'a, T> PermitIterator<'a, T> {
    pub(super) fn new(channel: &'a Channel<T>, left: usize) -> PermitIterator<'a, T> {
        PermitIterator { channel, left }
    }
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        self.left = self.left.checked_sub(1)?;
        Some(Permit::new(self.channel))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}
impl<T> std::iter::FusedIterator for PermitIterator<'_, T> {}

impl<T> Drop for PermitIterator<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        if self.left > 0 {
            free(self.channel, self.left);
        }
    }
}

impl<T> fmt::Debug for PermitIterator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitIterator").field("left", &self.left).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}
