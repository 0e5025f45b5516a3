//! Channels whose messages all receivers get, as `tokio::sync::broadcast`.

use super::acquire::wake_all;
use super::waiters::{Wait, Waiters};
use crate::executor::wait_for;
use crate::monitor::{At, Monitor, Order, State, must_be_inside};
use error::{RecvError, SendError, TryRecvError};
use fabius::extend::Left;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// A message, and how many receivers have not got it.
struct Slot<T> {
    message: Option<Arc<Message<T>>>,
    /// By who has sent it.
    sent: Left,
    missing: usize,
}

/// A message that receivers copy, each when it has got it.
struct Message<T> {
    value: T,
    sent: Left,
    /// By who has copied it.
    copied: Mutex<Vec<Left>>,
}

impl<T> Message<T> {
    /// Takes the value of what nobody else has any more. Its destructor comes after who has sent it and who has copied it; if it
    /// has none, that orders nothing.
    fn into_value(self, order: &Order) -> T {
        if std::mem::needs_drop::<T>() {
            let copied = self.copied.into_inner().unwrap_or_else(PoisonError::into_inner);
            copied.into_iter().chain([self.sent]).for_each(|left| order.takes(left));
        }
        self.value
    }

    /// Drops it, if nobody else has it any more.
    fn give_up(this: Arc<Message<T>>, order: &Order) {
        drop(Arc::into_inner(this).map(|message| message.into_value(order)));
    }

    /// The value for a receiver: each gets a clone, as in tokio.
    fn receive(this: Arc<Message<T>>, order: &Order) -> T
    where
        T: Clone,
    {
        let value = this.value.clone();
        this.copied.lock().unwrap_or_else(PoisonError::into_inner).push(order.leaves());
        Message::give_up(this, order);
        value
    }
}

struct Channel<T> {
    /// The newest messages, at most so many.
    slots: VecDeque<Slot<T>>,
    capacity: usize,
    /// How many messages there have been.
    sent: u64,
    senders: usize,
    receivers: usize,
    /// By who was a sender, and who was a receiver.
    senders_gone: Vec<Left>,
    receivers_gone: Vec<Left>,
    receiving: Waiters,
    closing: Waiters,
}

impl<T> State for Channel<T> {}

/// What a receiver finds.
enum Found<T> {
    Message(Arc<Message<T>>),
    Lagged(u64),
    Empty,
    Closed,
}

impl<T> Channel<T> {
    /// What the receiver gets that has got all before `next`.
    fn receive(&mut self, next: &mut u64, order: &Order) -> Found<T> {
        let oldest = self.sent.saturating_sub(self.capacity as u64);
        if *next < oldest {
            // How many were missed tells of the newest.
            self.slots.back().into_iter().for_each(|slot| order.takes(slot.sent));
            let missed = oldest - std::mem::replace(next, oldest);
            return Found::Lagged(missed);
        }
        match self.taken(*next) {
            Some(message) => {
                order.takes(message.sent);
                *next += 1;
                Found::Message(message)
            }
            None if self.senders == 0 => {
                self.senders_gone.iter().for_each(|left| order.takes(*left));
                Found::Closed
            }
            None => Found::Empty,
        }
    }

    /// The message of that number, which one receiver more has got.
    fn taken(&mut self, number: u64) -> Option<Arc<Message<T>>> {
        let first = self.sent - self.slots.len() as u64;
        let slot = self.slots.get_mut(usize::try_from(number.checked_sub(first)?).ok()?)?;
        slot.missing -= 1;
        if slot.missing == 0 { slot.message.take() } else { slot.message.clone() }
    }

    /// Whether nobody receives, which comes after all who have; asked as an operation of its own.
    fn has_no_receiver(&self, order: &Order) -> bool {
        if self.receivers == 0 {
            self.receivers_gone.iter().for_each(|left| order.takes(*left));
        }
        self.receivers == 0
    }
}

/// As in tokio.
pub struct Sender<T>(Arc<Monitor<Channel<T>>>);

/// As in tokio.
pub struct Receiver<T> {
    channel: Arc<Monitor<Channel<T>>>,
    next: u64,
}

/// As in tokio: the capacity is rounded up to a power of two.
///
/// # Panics
/// If the capacity is zero.
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "broadcast channel capacity cannot be zero");
    let channel = Channel {
        slots: VecDeque::new(),
        capacity: capacity.next_power_of_two(),
        sent: 0,
        senders: 1,
        receivers: 1,
        senders_gone: Vec::new(),
        receivers_gone: Vec::new(),
        receiving: Waiters::new(),
        closing: Waiters::new(),
    };
    let channel = Arc::new(Monitor::new(channel));
    (Sender(channel.clone()), Receiver { channel, next: 0 })
}

impl<T> Sender<T> {
    /// As in tokio.
    ///
    /// # Panics
    /// If the capacity is zero.
    #[track_caller]
    pub fn new(capacity: usize) -> Sender<T>
    where
        T: Clone,
    {
        channel(capacity).0
    }

    /// As in tokio: a scheduling point. To how many it goes.
    ///
    /// # Errors
    /// If nobody receives.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        must_be_inside();
        let sent = self.0.step("send", Location::caller(), |channel, order| {
            if channel.has_no_receiver(order) {
                return Err(SendError(value));
            }
            let (sent, missing) = (order.leaves(), channel.receivers);
            let message = Some(Arc::new(Message { value, sent, copied: Mutex::default() }));
            channel.slots.push_back(Slot { message, sent, missing });
            channel.sent += 1;
            let over = if channel.slots.len() > channel.capacity { channel.slots.pop_front() } else { None };
            Ok((channel.receivers, channel.receiving.take(), over.and_then(|slot| slot.message)))
        });
        let (receivers, wake, over) = sent?;
        wake_all(wake);
        over.into_iter().for_each(|message| Message::give_up(message, self.0.order()));
        Ok(receivers)
    }

    /// As in tokio: a scheduling point. It gets what is sent from here on.
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        subscribe(&self.0, Location::caller())
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn receiver_count(&self) -> usize {
        self.0.look("receiver_count", Location::caller(), |channel| channel.receivers)
    }

    /// As in tokio: a scheduling point. How many messages somebody has still to get.
    #[track_caller]
    pub fn len(&self) -> usize {
        self.0.look("len", Location::caller(), |channel| channel.slots.iter().filter(|slot| slot.missing > 0).count())
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As in tokio: waits until nobody receives.
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> + '_ {
        let mut wait = Wait::new(&*self.0, |channel| &mut channel.closing, "closed", Location::caller());
        poll_fn(move |cx| wait.poll(cx, |channel, order| channel.has_no_receiver(order).then_some(())))
    }

    /// As in tokio.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

fn subscribe<T>(channel: &Arc<Monitor<Channel<T>>>, at: At) -> Receiver<T> {
    must_be_inside();
    let next = channel.step("subscribe", at, |channel, _| {
        channel.receivers += 1;
        channel.sent
    });
    Receiver { channel: channel.clone(), next }
}

impl<T: Clone> Receiver<T> {
    /// As in tokio. It may be cancelled, and no message is lost.
    ///
    /// # Errors
    /// If messages were missed, or nobody sends any more.
    #[track_caller]
    pub fn recv(&mut self) -> impl Future<Output = Result<T, RecvError>> + '_ {
        let (channel, next) = (&*self.channel, &mut self.next);
        let mut wait = Wait::new(channel, |channel| &mut channel.receiving, "recv", Location::caller());
        poll_fn(move |cx| {
            let found = wait.poll(cx, |channel, order| match channel.receive(next, order) {
                Found::Empty => None,
                Found::Closed => Some(Err(RecvError::Closed)),
                Found::Lagged(missed) => Some(Err(RecvError::Lagged(missed))),
                Found::Message(message) => Some(Ok(message)),
            });
            found.map_ok(|message| Message::receive(message, channel.order()))
        })
    }

    /// As in tokio: a scheduling point.
    ///
    /// # Errors
    /// If there is no message now, messages were missed, or nobody sends any more.
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        must_be_inside();
        let next = &mut self.next;
        let found =
            self.channel.tries("try_recv", Location::caller(), |channel, order| match channel.receive(next, order) {
                Found::Empty => Err(TryRecvError::Empty),
                found => Ok(found),
            });
        match found? {
            Found::Message(message) => Ok(Message::receive(message, self.channel.order())),
            Found::Lagged(missed) => Err(TryRecvError::Lagged(missed)),
            Found::Closed => Err(TryRecvError::Closed),
            Found::Empty => Err(TryRecvError::Empty),
        }
    }

    /// As in tokio: the thread waits.
    ///
    /// # Errors
    /// If messages were missed, or nobody sends any more.
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Result<T, RecvError> {
        wait_for(self.recv())
    }

    /// As in tokio: a scheduling point. It gets what is sent from here on.
    #[track_caller]
    pub fn resubscribe(&self) -> Receiver<T> {
        subscribe(&self.channel, Location::caller())
    }
}

impl<T> Receiver<T> {
    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn len(&self) -> usize {
        (self.channel.look("len", Location::caller(), |channel| channel.sent) - self.next) as usize
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As in tokio.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        // Nobody can tell, because there is a sender.
        self.0.peek(|channel| channel.senders += 1);
        Sender(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    #[track_caller]
    fn drop(&mut self) {
        let wake = self.0.step("drop a sender", Location::caller(), |channel, order| {
            channel.senders_gone.push(order.leaves());
            channel.senders -= 1;
            if channel.senders == 0 { channel.receiving.take() } else { Vec::new() }
        });
        wake_all(wake);
    }
}

impl<T> Drop for Receiver<T> {
    #[track_caller]
    fn drop(&mut self) {
        let next = self.next;
        let (wake, messages) = self.channel.step("drop a receiver", Location::caller(), |channel, order| {
            let first = next.max(channel.sent - channel.slots.len() as u64);
            let messages: Vec<_> = (first..channel.sent).filter_map(|number| channel.taken(number)).collect();
            channel.receivers_gone.push(order.leaves());
            channel.receivers -= 1;
            (if channel.receivers == 0 { channel.closing.take() } else { Vec::new() }, messages)
        });
        wake_all(wake);
        messages.into_iter().for_each(|message| Message::give_up(message, self.channel.order()));
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

/// What `tokio::sync::broadcast::error` has.
pub mod error {
    use std::fmt;

    /// As in tokio: nobody receives.
    #[derive(Debug)]
    pub struct SendError<T>(pub T);

    /// As in tokio.
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub enum RecvError {
        /// Nobody sends any more.
        Closed,
        /// So many messages were missed; the next is the oldest that is there.
        Lagged(u64),
    }

    /// As in tokio.
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub enum TryRecvError {
        /// There is no message now.
        Empty,
        /// And there will be none.
        Closed,
        /// So many messages were missed; the next is the oldest that is there.
        Lagged(u64),
    }

    impl<T> fmt::Display for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("channel closed")
        }
    }

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                RecvError::Closed => f.write_str("channel closed"),
                RecvError::Lagged(missed) => write!(f, "channel lagged by {missed}"),
            }
        }
    }

    impl fmt::Display for TryRecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                TryRecvError::Empty => f.write_str("channel empty"),
                TryRecvError::Closed => f.write_str("channel closed"),
                TryRecvError::Lagged(missed) => write!(f, "channel lagged by {missed}"),
            }
        }
    }

    impl<T: fmt::Debug> std::error::Error for SendError<T> {}
    impl std::error::Error for RecvError {}
    impl std::error::Error for TryRecvError {}
}
