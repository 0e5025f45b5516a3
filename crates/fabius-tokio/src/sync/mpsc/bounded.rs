//! The side that sends to a bounded channel.

use super::error::{SendError, SendTimeoutError, TrySendError};
use super::permit::{Permit, PermitIterator};
use super::receiver::Receiver;
use super::state::{self, Channel, closed, drop_sender, drop_weak_sender, one_more, one_more_weak, upgrade};
use crate::monitor::{At, must_be_inside};
use crate::sync::acquire::{Acquire, Request, wake_all};
use crate::sync::permits::Refused;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// As in tokio.
///
/// # Panics
/// If the capacity is zero.
#[track_caller]
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "mpsc bounded channel requires buffer > 0");
    let channel = state::new(Some(capacity));
    (Sender(channel.clone()), Receiver::new(channel))
}

/// As in tokio.
pub struct Sender<T>(Arc<Channel<T>>);

/// As in tokio.
pub struct WeakSender<T>(Arc<Channel<T>>);

impl<T> Sender<T> {
    pub(super) fn channel(&self) -> &Channel<T> {
        &self.0
    }

    /// As in tokio: waits for a place, first come, first served. To drop the future is to leave the queue.
    #[track_caller]
    pub fn send(&self, value: T) -> impl Future<Output = Result<(), SendError<T>>> + '_ {
        let at = Location::caller();
        async move {
            let mut value = Some(value);
            match self.send_from(&mut value, at).await {
                Some(()) => Ok(()),
                None => Err(SendError(value.expect("it was not sent"))),
            }
        }
    }

    /// Sends what is there, and leaves it if nobody receives any more.
    async fn send_from(&self, value: &mut Option<T>, at: At) -> Option<()> {
        let mut request = Request::new(&*self.0, "send", at, 1);
        let sent =
            poll_fn(|cx| request.poll(cx, |state, order| value.take().and_then(|value| state.push(value, order))))
                .await;
        sent.map(wake_all)
    }

    /// As in tokio, in virtual time.
    #[track_caller]
    pub fn send_timeout(
        &self,
        value: T,
        limit: Duration,
    ) -> impl Future<Output = Result<(), SendTimeoutError<T>>> + '_ {
        let at = Location::caller();
        async move {
            let until = crate::time::Instant::now().checked_add(limit);
            let mut value = Some(value);
            let sent = match until {
                Some(until) => crate::time::timeout_at(until, self.send_from(&mut value, at)).await,
                None => Ok(self.send_from(&mut value, at).await),
            };
            match (sent, value) {
                (Ok(Some(())), _) | (_, None) => Ok(()),
                (Ok(None), Some(value)) => Err(SendTimeoutError::Closed(value)),
                (Err(_), Some(value)) => Err(SendTimeoutError::Timeout(value)),
            }
        }
    }

    /// As in tokio: the thread waits.
    #[track_caller]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        crate::executor::wait_for(self.send(value))
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        must_be_inside();
        let mut value = Some(value);
        let sent = self.0.tries("try_send", Location::caller(), |state, order| {
            state.places.try_take(1, order).map(|()| value.take().and_then(|value| state.push(value, order)))
        });
        match (sent, value) {
            (Ok(wake), _) => {
                wake_all(wake);
                Ok(())
            }
            (Err(Refused::Closed), Some(value)) => Err(TrySendError::Closed(value)),
            (Err(_), value) => Err(TrySendError::Full(value.expect("it was not sent"))),
        }
    }

    pub(super) async fn places(&self, count: usize, at: At) -> Result<(), SendError<()>> {
        if count > self.max_capacity() {
            return Err(SendError(()));
        }
        Acquire(Request::new(&*self.0, "reserve", at, count)).await.ok_or(SendError(()))
    }

    /// As in tokio. To drop the future is to leave the queue.
    #[track_caller]
    pub fn reserve(&self) -> impl Future<Output = Result<Permit<'_, T>, SendError<()>>> {
        let at = Location::caller();
        async move {
            self.places(1, at).await?;
            Ok(Permit::new(&self.0))
        }
    }

    pub(super) fn try_places(&self, count: usize, at: At) -> Result<(), Refused> {
        must_be_inside();
        self.0.tries("try_reserve", at, |state, order| state.places.try_take(count, order))
    }

    /// As in tokio. To drop the future is to leave the queue.
    ///
    /// # Errors
    /// If nobody receives any more, or there are never so many places.
    #[track_caller]
    pub fn reserve_many(&self, n: usize) -> impl Future<Output = Result<PermitIterator<'_, T>, SendError<()>>> {
        let at = Location::caller();
        async move {
            self.places(n, at).await?;
            Ok(PermitIterator::new(&self.0, n))
        }
    }

    /// As in tokio: a scheduling point.
    ///
    /// # Errors
    /// If nobody receives any more, or there are not so many places.
    #[track_caller]
    pub fn try_reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        if n > self.max_capacity() {
            return Err(TrySendError::Full(()));
        }
        match self.try_places(n, Location::caller()) {
            Ok(()) => Ok(PermitIterator::new(&self.0, n)),
            Err(Refused::Closed) => Err(TrySendError::Closed(())),
            Err(Refused::NoPermits) => Err(TrySendError::Full(())),
        }
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        match self.try_places(1, Location::caller()) {
            Ok(()) => Ok(Permit::new(&self.0)),
            Err(Refused::Closed) => Err(TrySendError::Closed(())),
            Err(Refused::NoPermits) => Err(TrySendError::Full(())),
        }
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

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        self.0.look("capacity", Location::caller(), |state| state.places.available())
    }

    /// As in tokio.
    pub fn max_capacity(&self) -> usize {
        self.0.peek(|state| state.max_capacity())
    }

    /// As in tokio.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// As in tokio.
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender(one_more_weak(&self.0))
    }
}

impl<T> WeakSender<T> {
    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        upgrade(&self.0, Location::caller()).map(Sender)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender(one_more(&self.0))
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> WeakSender<T> {
        WeakSender(one_more_weak(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    #[track_caller]
    fn drop(&mut self) {
        drop_sender(&self.0, Location::caller());
    }
}

impl<T> Drop for WeakSender<T> {
    /// A scheduling point if the message has a destructor.
    #[track_caller]
    fn drop(&mut self) {
        drop_weak_sender(&self.0, Location::caller());
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender").finish_non_exhaustive()
    }
}
