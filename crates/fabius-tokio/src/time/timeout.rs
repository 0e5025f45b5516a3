//! `timeout`.

use super::sleep::{Alarm, far_future};
use fabius::time::{Duration, Instant};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// As in tokio: time was up.
#[derive(Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(_: Elapsed) -> io::Error {
        io::ErrorKind::TimedOut.into()
    }
}

/// As in tokio.
#[derive(Debug)]
pub struct Timeout<T> {
    future: T,
    alarm: Alarm,
}

/// As in tokio: the future is polled before it is asked whether time is up.
#[track_caller]
pub fn timeout<F: IntoFuture>(limit: Duration, future: F) -> Timeout<F::IntoFuture> {
    timeout_at(Instant::now().checked_add(limit).unwrap_or_else(far_future), future)
}

/// As in tokio.
#[track_caller]
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout { future: future.into_future(), alarm: Alarm::new(deadline) }
}

impl<T> Timeout<T> {
    /// As in tokio.
    pub fn get_ref(&self) -> &T {
        &self.future
    }

    /// As in tokio.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.future
    }

    /// As in tokio.
    pub fn into_inner(self) -> T {
        self.future
    }
}

impl<T: Future> Future for Timeout<T> {
    type Output = Result<T::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the future stays where it is.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: it is part of what is pinned.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        if let Poll::Ready(output) = future.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        if this.alarm.is_due(cx) { Poll::Ready(Err(Elapsed(()))) } else { Poll::Pending }
    }
}
