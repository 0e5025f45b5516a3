//! The side that receives.

use super::error::TryRecvError;
use super::state::{Channel, Inner, drop_receiver};
use crate::monitor::{At, must_be_inside};
use crate::sync::acquire::wake_all;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::sync::Arc;
use std::task::{Context, Poll};

fn poll_receive<T>(channel: &Channel<T>, most: usize, cx: &Context<'_>, at: At) -> Poll<Vec<T>> {
    must_be_inside();
    let waker = cx.waker().clone();
    let (received, others) = channel.step("recv", at, |state, order| state.receive(most, waker, order));
    // A waker that is replaced is not to be woken.
    if received.is_ready() {
        wake_all(others);
    }
    received
}

fn try_receive<T>(channel: &Channel<T>, at: At) -> Result<T, TryRecvError> {
    must_be_inside();
    let (value, wake) = channel.tries("try_recv", at, Inner::pop)?;
    wake_all(wake);
    Ok(value)
}

/// What both kinds of receivers can do.
macro_rules! receiver {
    ($name:ident) => {
        impl<T> $name<T> {
            pub(super) fn new(channel: Arc<Channel<T>>) -> $name<T> {
                $name(channel)
            }

            /// As in tokio. It may be cancelled, and no message is lost.
            #[track_caller]
            pub fn recv(&mut self) -> impl Future<Output = Option<T>> + '_ {
                let at = Location::caller();
                poll_fn(move |cx| self.poll_at(cx, at))
            }

            /// As in tokio.
            #[track_caller]
            pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
                self.poll_at(cx, Location::caller())
            }

            fn poll_at(&mut self, cx: &Context<'_>, at: At) -> Poll<Option<T>> {
                poll_receive(&self.0, 1, cx, at).map(|mut values| values.pop())
            }

            /// As in tokio.
            #[track_caller]
            pub fn recv_many<'a>(
                &'a mut self,
                buffer: &'a mut Vec<T>,
                limit: usize,
            ) -> impl Future<Output = usize> + 'a {
                let at = Location::caller();
                poll_fn(move |cx| {
                    if limit == 0 {
                        return Poll::Ready(0);
                    }
                    poll_receive(&self.0, limit, cx, at).map(|values| {
                        let count = values.len();
                        buffer.extend(values);
                        count
                    })
                })
            }

            /// As in tokio: a scheduling point.
            #[track_caller]
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                try_receive(&self.0, Location::caller())
            }

            /// As in tokio: the thread waits.
            #[track_caller]
            pub fn blocking_recv(&mut self) -> Option<T> {
                crate::executor::wait_for(self.recv())
            }

            /// As in tokio: a scheduling point. Messages that have a place are still received.
            #[track_caller]
            pub fn close(&mut self) {
                wake_all(self.0.step("close", Location::caller(), Inner::close));
            }

            /// As in tokio: a scheduling point.
            #[track_caller]
            pub fn is_closed(&self) -> bool {
                self.0.asks("is_closed", Location::caller(), |state, order| {
                    state.places.finds_closed(order) || state.has_no_sender(order)
                })
            }

            /// As in tokio: a scheduling point.
            #[track_caller]
            pub fn len(&self) -> usize {
                self.0.look("len", Location::caller(), |state| state.queue.len())
            }

            /// As in tokio: a scheduling point.
            #[track_caller]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }

        impl<T> Drop for $name<T> {
            #[track_caller]
            fn drop(&mut self) {
                drop_receiver(&self.0, Location::caller());
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

/// As in tokio.
pub struct Receiver<T>(Arc<Channel<T>>);

/// As in tokio.
pub struct UnboundedReceiver<T>(Arc<Channel<T>>);

receiver!(Receiver);
receiver!(UnboundedReceiver);

impl<T> Receiver<T> {
    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        self.0.look("capacity", Location::caller(), |state| state.places.available())
    }

    /// As in tokio.
    pub fn max_capacity(&self) -> usize {
        self.0.peek(|state| state.max_capacity())
    }
}
