//! Channels for one message, as `tokio::sync::oneshot`.

use super::acquire::wake_all;
use crate::monitor::{Monitor, Order, State, must_be_inside};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Who receives comes after who has sent, or will not any more. That the receiver is closed orders nothing: in tokio that releases
/// nothing.
struct Slot<T> {
    value: Option<T>,
    /// Whether the sender was used or dropped before the receiver was closed.
    sent: bool,
    /// Whether the receiver was closed or dropped.
    closed: bool,
    receiving: Option<Waker>,
    closing: Option<Waker>,
}

impl<T> State for Slot<T> {}

impl<T> Slot<T> {
    /// The sender is used, or dropped. In tokio a receiver that is closed does not learn of that.
    fn ends(&mut self, order: &Order) {
        if !self.closed {
            order.comes_before();
            self.sent = true;
        }
    }

    /// The message, or that there will be none.
    fn receive(&mut self, order: &Order) -> Poll<Option<T>> {
        match self.sent {
            true => order.comes_after(),
            false if self.closed => {}
            false => return Poll::Pending,
        }
        Poll::Ready(self.value.take())
    }
}

/// As in tokio.
pub struct Sender<T>(Option<Arc<Monitor<Slot<T>>>>);

/// As in tokio.
pub struct Receiver<T>(Option<Arc<Monitor<Slot<T>>>>);

/// What `tokio::sync::oneshot::error` has.
pub mod error {
    use std::fmt;

    /// As in tokio: the sender was dropped.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RecvError(pub(super) ());

    /// As in tokio.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum TryRecvError {
        /// There is no message yet.
        Empty,
        /// And there will be none.
        Closed,
    }

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("channel closed")
        }
    }

    impl fmt::Display for TryRecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(match self {
                TryRecvError::Empty => "channel empty",
                TryRecvError::Closed => "channel closed",
            })
        }
    }

    impl std::error::Error for RecvError {}
    impl std::error::Error for TryRecvError {}
}

use error::{RecvError, TryRecvError};

/// As in tokio.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let slot = Slot { value: None, sent: false, closed: false, receiving: None, closing: None };
    let slot = Arc::new(Monitor::new(slot));
    (Sender(Some(slot.clone())), Receiver(Some(slot)))
}

impl<T> Sender<T> {
    fn slot(&self) -> &Monitor<Slot<T>> {
        self.0.as_ref().expect("it is sent to once")
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn send(mut self, value: T) -> Result<(), T> {
        must_be_inside();
        let slot = self.0.take().expect("it is sent to once");
        let sent = slot.step("send", Location::caller(), |slot, order| {
            if slot.closed {
                return Err(value);
            }
            slot.ends(order);
            slot.value = Some(value);
            Ok(slot.receiving.take())
        });
        sent.map(wake_all)
    }

    /// As in tokio: waits until nobody receives any more.
    #[track_caller]
    pub fn closed(&mut self) -> impl Future<Output = ()> + '_ {
        let at = Location::caller();
        poll_fn(move |cx| self.poll_at(cx, at))
    }

    /// As in tokio.
    #[track_caller]
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_at(cx, Location::caller())
    }

    fn poll_at(&mut self, cx: &Context<'_>, at: crate::monitor::At) -> Poll<()> {
        let waker = cx.waker().clone();
        let (closed, _before) = self.slot().step("closed", at, |slot, _| match slot.closed {
            true => (true, Some(waker)),
            false => (false, slot.closing.replace(waker)),
        });
        if closed { Poll::Ready(()) } else { Poll::Pending }
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.slot().look("is_closed", Location::caller(), |slot| slot.closed)
    }
}

impl<T> Receiver<T> {
    /// As in tokio: a scheduling point. A message that is there can still be received.
    #[track_caller]
    pub fn close(&mut self) {
        if let Some(slot) = &self.0 {
            wake_all(slot.step("close", Location::caller(), |slot, _| {
                slot.closed = true;
                slot.closing.take()
            }));
        }
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let Some(slot) = &self.0 else { return Err(TryRecvError::Closed) };
        let received = slot.tries("try_recv", Location::caller(), |slot, order| match slot.receive(order) {
            Poll::Ready(received) => received.ok_or(TryRecvError::Closed),
            Poll::Pending => Err(TryRecvError::Empty),
        });
        if !matches!(received, Err(TryRecvError::Empty)) {
            self.0 = None;
        }
        received
    }

    /// As in tokio: the thread waits.
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        crate::executor::wait_for(self)
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        let Some(slot) = &self.0 else { return true };
        slot.look("is_empty", Location::caller(), |slot| slot.value.is_none())
    }

    /// As in tokio.
    pub fn is_terminated(&self) -> bool {
        self.0.is_none()
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    /// # Panics
    /// If it was ready before.
    #[track_caller]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        must_be_inside();
        let waker = cx.waker().clone();
        let slot = self.0.as_ref().expect("called after complete");
        let (result, _before) = slot.step("recv", Location::caller(), |slot, order| match slot.receive(order) {
            Poll::Ready(received) => (Poll::Ready(received), Some(waker)),
            Poll::Pending => (Poll::Pending, slot.receiving.replace(waker)),
        });
        if result.is_ready() {
            self.0 = None;
        }
        result.map(|received| received.ok_or(RecvError(())))
    }
}

impl<T> Drop for Sender<T> {
    #[track_caller]
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            wake_all(slot.step("drop a sender", Location::caller(), |slot, order| {
                slot.ends(order);
                slot.receiving.take()
            }));
        }
    }
}

impl<T> Drop for Receiver<T> {
    #[track_caller]
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            let (wake, _value) = slot.step("drop a receiver", Location::caller(), |slot, order| {
                // What it drops was sent before.
                if slot.value.is_some() && std::mem::needs_drop::<T>() {
                    order.comes_after();
                }
                slot.closed = true;
                (slot.closing.take(), slot.value.take())
            });
            wake_all(wake);
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
