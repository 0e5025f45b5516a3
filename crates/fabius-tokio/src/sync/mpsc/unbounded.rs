//! The side that sends to a channel without a bound.

use super::error::SendError;
use super::receiver::UnboundedReceiver;
use super::state::{self, Channel, closed, drop_sender, one_more, upgrade};
use crate::monitor::must_be_inside;
use crate::sync::acquire::wake_all;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

/// As in tokio.
#[track_caller]
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let channel = state::new(None);
    (UnboundedSender(channel.clone()), UnboundedReceiver::new(channel))
}

/// As in tokio.
pub struct UnboundedSender<T>(Arc<Channel<T>>);

/// As in tokio.
pub struct WeakUnboundedSender<T>(Arc<Channel<T>>);

impl<T> UnboundedSender<T> {
    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        must_be_inside();
        let sent = self.0.step("send", Location::caller(), |state, order| {
            if state.places.finds_closed(order) {
                return Err(SendError(value));
            }
            Ok(state.push(value, order))
        });
        sent.map(wake_all)
    }

    /// As in tokio: waits until nobody receives any more.
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> + '_ {
        closed(&self.0, Location::caller())
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.0.asks("is_closed", Location::caller(), |state, order| state.places.finds_closed(order))
    }

    /// As in tokio.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// As in tokio.
    pub fn downgrade(&self) -> WeakUnboundedSender<T> {
        WeakUnboundedSender(self.0.clone())
    }
}

impl<T> WeakUnboundedSender<T> {
    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn upgrade(&self) -> Option<UnboundedSender<T>> {
        upgrade(&self.0, Location::caller()).map(UnboundedSender)
    }
}

impl<T> Clone for UnboundedSender<T> {
    fn clone(&self) -> UnboundedSender<T> {
        UnboundedSender(one_more(&self.0))
    }
}

impl<T> Clone for WeakUnboundedSender<T> {
    fn clone(&self) -> WeakUnboundedSender<T> {
        WeakUnboundedSender(self.0.clone())
    }
}

impl<T> Drop for UnboundedSender<T> {
    #[track_caller]
    fn drop(&mut self) {
        drop_sender(&self.0, Location::caller());
    }
}

impl<T> fmt::Debug for UnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnboundedSender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for WeakUnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakUnboundedSender").finish_non_exhaustive()
    }
}
