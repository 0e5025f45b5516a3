//! A place that is reserved, with its sender.

use super::bounded::Sender;
use super::error::{SendError, TrySendError};
use super::permit::{free, send};
use crate::sync::permits::Refused;
use std::fmt;
use std::future::Future;
use std::panic::Location;

/// As in tokio: a place. Dropping it gives it back.
#[must_use]
pub struct OwnedPermit<T>(Option<Sender<T>>);

impl<T> Sender<T> {
    /// As in tokio. To drop the future is to leave the queue.
    #[track_caller]
    pub fn reserve_owned(self) -> impl Future<Output = Result<OwnedPermit<T>, SendError<()>>> {
        let at = Location::caller();
        async move {
            self.places(1, at).await?;
            Ok(OwnedPermit(Some(self)))
        }
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        match self.try_places(1, Location::caller()) {
            Ok(()) => Ok(OwnedPermit(Some(self))),
            Err(Refused::Closed) => Err(TrySendError::Closed(self)),
            Err(Refused::NoPermits) => Err(TrySendError::Full(self)),
        }
    }
}

impl<T> OwnedPermit<T> {
    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn send(mut self, value: T) -> Sender<T> {
        let sender = self.0.take().expect("it is taken once");
        send(sender.channel(), value);
        sender
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn release(mut self) -> Sender<T> {
        let sender = self.0.take().expect("it is taken once");
        free(sender.channel(), 1);
        sender
    }
}

impl<T> Drop for OwnedPermit<T> {
    #[track_caller]
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            free(sender.channel(), 1);
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").finish_non_exhaustive()
    }
}
