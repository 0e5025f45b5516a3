//! The state of a channel, and how a message goes from one thread to another. Nothing here waits.

use crate::monitor::Nothing;
use fabius::extend::Resource;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A channel.
pub(crate) struct Channel<T> {
    /// Orders what is done to it.
    order: Resource<Nothing>,
    state: Mutex<State<T>>,
}

/// Where a message is handed over without a queue.
pub(crate) type Slot<T> = Mutex<Option<T>>;

/// A thread that waits in a selection, and which of its operations somebody has chosen.
#[derive(Default)]
pub(crate) struct Token(Mutex<Option<usize>>);

/// An operation of a selection.
#[derive(Clone)]
pub(crate) struct Operation {
    pub token: Arc<Token>,
    pub index: usize,
}

impl PartialEq for Operation {
    fn eq(&self, other: &Operation) -> bool {
        Arc::ptr_eq(&self.token, &other.token) && self.index == other.index
    }
}

/// A selection that waits at a channel without a queue.
pub(crate) struct Waiting<T> {
    operation: Operation,
    slot: Arc<Slot<T>>,
}

pub(crate) struct State<T> {
    pub capacity: Option<usize>,
    pub queue: VecDeque<T>,
    pub senders: usize,
    pub receivers: usize,
    /// Places in the queue that selections will fill.
    reserved: usize,
    /// Messages of senders that wait.
    pub offers: VecDeque<Arc<Slot<T>>>,
    /// Receivers that wait.
    pub wanted: VecDeque<Arc<Slot<T>>>,
    sending: Vec<Waiting<T>>,
    receiving: Vec<Waiting<T>>,
    /// What selections have got, until they use it.
    places: Vec<(Operation, Place<T>)>,
    taken: Vec<(Operation, Taken<T>)>,
}

/// Where a message goes.
pub(crate) enum Place<T> {
    Queue,
    To(Arc<Slot<T>>),
}

/// A message.
pub(crate) enum Taken<T> {
    Now(T),
    /// A selection has promised it.
    Later(Arc<Slot<T>>),
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a slot has a message.
pub(crate) fn is_full<T>(slot: &Slot<T>) -> bool {
    lock(slot).is_some()
}

/// The message of a slot.
pub(crate) fn take<T>(slot: &Slot<T>) -> Option<T> {
    lock(slot).take()
}

impl Token {
    pub fn chosen(&self) -> Option<usize> {
        *lock(&self.0)
    }
}

impl<T> Waiting<T> {
    fn is_free(&self, except: Option<&Arc<Token>>) -> bool {
        self.operation.token.chosen().is_none()
            && except.is_none_or(|except| !Arc::ptr_eq(&self.operation.token, except))
    }
}

/// Chooses a selection that waits, but for that one.
fn choose<T>(all: &mut Vec<Waiting<T>>, except: Option<&Arc<Token>>) -> Option<Arc<Slot<T>>> {
    let waiting = all.remove(all.iter().position(|w| w.is_free(except))?);
    *lock(&waiting.operation.token.0) = Some(waiting.operation.index);
    Some(waiting.slot)
}

fn remove_of<V>(all: &mut Vec<(Operation, V)>, operation: &Operation) -> Option<V> {
    let at = all.iter().position(|(of, _)| of == operation)?;
    Some(all.remove(at).1)
}

impl<T> Channel<T> {
    #[track_caller]
    pub fn new(capacity: Option<usize>) -> Channel<T> {
        let state = State {
            capacity,
            queue: VecDeque::new(),
            senders: 1,
            receivers: 1,
            reserved: 0,
            offers: VecDeque::new(),
            wanted: VecDeque::new(),
            sending: Vec::new(),
            receiving: Vec::new(),
            places: Vec::new(),
            taken: Vec::new(),
        };
        Channel { order: Resource::new(Nothing), state: Mutex::new(state) }
    }

    /// The state, for what decides who can go on.
    pub fn look<R>(&self, look: impl FnOnce(&State<T>) -> R) -> R {
        look(&lock(&self.state))
    }

    /// Changes the state as a part of the operation that was just done.
    pub fn change<R>(&self, change: impl FnOnce(&mut State<T>) -> R) -> R {
        if fabius::extend::is_inside() {
            self.order.orders();
        }
        change(&mut lock(&self.state))
    }
}

impl<T> State<T> {
    /// Whether a message has a place now, but for that selection.
    pub fn has_place(&self, except: Option<&Arc<Token>>) -> bool {
        match self.capacity {
            None => true,
            Some(0) => !self.wanted.is_empty() || self.receiving.iter().any(|w| w.is_free(except)),
            Some(capacity) => self.queue.len() + self.reserved < capacity,
        }
    }

    /// A place for a message.
    pub fn place(&mut self, except: Option<&Arc<Token>>) -> Option<Place<T>> {
        if !self.has_place(except) {
            return None;
        }
        if self.capacity != Some(0) {
            return Some(Place::Queue);
        }
        self.wanted.pop_front().or_else(|| choose(&mut self.receiving, except)).map(Place::To)
    }

    /// Puts a message into its place.
    pub fn fill(&mut self, place: Place<T>, message: T) {
        match place {
            Place::Queue => self.queue.push_back(message),
            Place::To(slot) => *lock(&slot) = Some(message),
        }
    }

    /// Whether there is a message now, but for that selection.
    pub fn has_message(&self, except: Option<&Arc<Token>>) -> bool {
        !self.queue.is_empty() || !self.offers.is_empty() || self.sending.iter().any(|w| w.is_free(except))
    }

    /// A message.
    pub fn message(&mut self, except: Option<&Arc<Token>>) -> Option<Taken<T>> {
        if let Some(message) = self.queue.pop_front() {
            return Some(Taken::Now(message));
        }
        if let Some(message) = self.offers.pop_front().and_then(|slot| take(&slot)) {
            return Some(Taken::Now(message));
        }
        choose(&mut self.sending, except).map(Taken::Later)
    }

    /// A selection reserves a place, if there is one.
    pub fn reserve(&mut self, operation: &Operation) {
        if let Some(place) = self.place(Some(&operation.token)) {
            self.reserved += usize::from(matches!(place, Place::Queue));
            self.places.push((operation.clone(), place));
        }
    }

    /// The place that a selection has got.
    pub fn reserved(&mut self, operation: &Operation) -> Option<Place<T>> {
        let place = remove_of(&mut self.places, operation)?;
        self.reserved -= usize::from(matches!(place, Place::Queue));
        Some(place)
    }

    /// A selection takes a message, if there is one.
    pub fn set_aside(&mut self, operation: &Operation) {
        if let Some(message) = self.message(Some(&operation.token)) {
            self.taken.push((operation.clone(), message));
        }
    }

    /// The message that a selection has got.
    pub fn aside(&mut self, operation: &Operation) -> Option<Taken<T>> {
        remove_of(&mut self.taken, operation)
    }

    /// A selection waits to send: whoever receives promises it a place.
    pub fn wait_to_send(&mut self, operation: &Operation) {
        if self.capacity == Some(0) {
            let slot = Arc::new(Mutex::new(None));
            self.places.push((operation.clone(), Place::To(slot.clone())));
            self.sending.push(Waiting { operation: operation.clone(), slot });
        }
    }

    /// A selection waits to receive.
    pub fn wait_to_receive(&mut self, operation: &Operation) {
        if self.capacity == Some(0) {
            let slot = Arc::new(Mutex::new(None));
            self.taken.push((operation.clone(), Taken::Later(slot.clone())));
            self.receiving.push(Waiting { operation: operation.clone(), slot });
        }
    }

    /// A selection waits no more. What it was promised stays if this operation was chosen.
    pub fn leave(&mut self, operation: &Operation) {
        self.sending.retain(|w| w.operation != *operation);
        self.receiving.retain(|w| w.operation != *operation);
        if operation.token.chosen() != Some(operation.index) {
            self.places.retain(|(of, _)| of != operation);
            self.taken.retain(|(of, _)| of != operation);
        }
    }
}
