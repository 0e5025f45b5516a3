//! The state of a channel, and how a message goes from one thread to another. Nothing here waits.

use crate::monitor::Nothing;
use fabius::extend::Resource;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A channel.
pub(crate) struct Channel<T> {
    /// Who receives comes after who has sent.
    messages: Resource<Nothing>,
    /// Who gets the place of a message that was received comes after who has received it, and who hands one over after who took it.
    room: Resource<Nothing>,
    /// Who finds that nobody is at the other end comes after who has left.
    gone: Resource<Nothing>,
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

/// A thread that waits at a channel without a queue, and where its message is or goes to.
pub(crate) struct Waiting<T> {
    slot: Arc<Slot<T>>,
    /// Of a selection, which waits elsewhere, too.
    operation: Option<Operation>,
}

/// A place in the queue.
enum Entry<T> {
    Message(T),
    /// A selection will put its message here.
    Reserved(Operation),
}

pub(crate) struct State<T> {
    pub capacity: Option<usize>,
    /// How many messages have got a place in the queue.
    sent: usize,
    queue: VecDeque<Entry<T>>,
    pub senders: usize,
    pub receivers: usize,
    /// Who waits to send, first come first served.
    sending: VecDeque<Waiting<T>>,
    /// Who waits to receive.
    receiving: VecDeque<Waiting<T>>,
    /// What selections have got, until they use it.
    places: Vec<(Operation, Place<T>)>,
    taken: Vec<(Operation, Taken<T>)>,
}

/// Where a message goes.
pub(crate) enum Place<T> {
    Queue,
    /// What was reserved for that operation.
    Reserved(Operation),
    To(Arc<Slot<T>>),
}

/// A message.
pub(crate) enum Taken<T> {
    Now(T),
    /// A selection has promised it, or it is still where it was offered.
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
        self.operation.as_ref().is_none_or(|operation| {
            operation.token.chosen().is_none() && except.is_none_or(|except| !Arc::ptr_eq(&operation.token, except))
        })
    }
}

/// Chooses the first that waits, but for that selection.
fn choose<T>(all: &mut VecDeque<Waiting<T>>, except: Option<&Arc<Token>>) -> Option<Waiting<T>> {
    let waiting = all.remove(all.iter().position(|w| w.is_free(except))?)?;
    if let Some(operation) = &waiting.operation {
        *lock(&operation.token.0) = Some(operation.index);
    }
    Some(waiting)
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
            sent: 0,
            queue: VecDeque::new(),
            senders: 1,
            receivers: 1,
            sending: VecDeque::new(),
            receiving: VecDeque::new(),
            places: Vec::new(),
            taken: Vec::new(),
        };
        let [messages, room, gone] = [(); 3].map(|()| Resource::new(Nothing));
        Channel { messages, room, gone, state: Mutex::new(state) }
    }

    /// The state, for what decides who can go on.
    pub fn look<R>(&self, look: impl FnOnce(&State<T>) -> R) -> R {
        look(&lock(&self.state))
    }

    /// Changes the state as a part of the operation that was just done, or in a way that is none: a handle more. That orders
    /// nothing.
    pub fn change<R>(&self, change: impl FnOnce(&mut State<T>) -> R) -> R {
        change(&mut lock(&self.state))
    }

    /// The same for a selection, which comes after all that was sent and received, and before what is.
    pub fn change_in_between<R>(&self, change: impl FnOnce(&mut State<T>) -> R) -> R {
        if fabius::extend::is_inside() {
            self.messages.orders();
            self.room.orders();
        }
        self.change(change)
    }

    /// The operation has put a message where it belongs. It comes after no other message, but for who has made room for it.
    pub fn has_sent(&self) {
        if self.look(|state| state.capacity.is_some_and(|capacity| state.sent > capacity || capacity == 0)) {
            self.room.comes_after();
        }
        self.messages.comes_before();
    }

    /// The operation has offered a message to who comes.
    pub fn offers(&self) {
        self.messages.comes_before();
    }

    /// It was taken.
    pub fn was_taken(&self) {
        self.room.comes_after();
    }

    /// The operation waits for a message that is handed over.
    pub fn wants(&self) {
        self.room.comes_before();
    }

    /// The operation has received a message.
    pub fn has_received(&self) {
        self.messages.comes_after();
        self.room.comes_before();
    }

    /// All messages that are left have been taken, which nobody receives.
    pub fn takes_all(&self) {
        if fabius::extend::is_inside() {
            self.messages.comes_after();
        }
    }

    /// A handle goes.
    pub fn leaves(&self, change: impl FnOnce(&mut State<T>)) {
        if fabius::extend::is_inside() {
            self.gone.comes_before();
        }
        self.change(change);
    }

    /// The operation has found that nobody is at the other end.
    pub fn nobody_is_there(&self) {
        self.gone.comes_after();
    }
}

impl<T> State<T> {
    /// Whether a message has a place now, but for that selection.
    pub fn has_place(&self, except: Option<&Arc<Token>>) -> bool {
        match self.capacity {
            None => true,
            Some(0) => self.receiving.iter().any(|w| w.is_free(except)),
            Some(capacity) => self.queue.len() < capacity,
        }
    }

    /// A place for a message.
    pub fn place(&mut self, except: Option<&Arc<Token>>) -> Option<Place<T>> {
        match self.capacity {
            Some(0) => choose(&mut self.receiving, except).map(|waiting| Place::To(waiting.slot)),
            _ => self.has_place(except).then_some(Place::Queue),
        }
    }

    /// Puts a message into its place. It comes back if nobody will receive it any more.
    pub fn fill(&mut self, place: Place<T>, message: T) -> Option<T> {
        match place {
            Place::Queue => {
                self.sent += 1;
                self.queue.push_back(Entry::Message(message));
            }
            Place::Reserved(operation) => {
                let mine = |entry: &&mut Entry<T>| matches!(entry, Entry::Reserved(of) if *of == operation);
                match self.queue.iter_mut().find(mine) {
                    Some(entry) => *entry = Entry::Message(message),
                    None => return Some(message),
                }
            }
            Place::To(slot) => *lock(&slot) = Some(message),
        }
        None
    }

    /// How many places of the queue are taken.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether the next message is still to be put into its place: who receives without waiting waits for that.
    pub fn is_coming(&self) -> bool {
        matches!(self.queue.front(), Some(Entry::Reserved(_)))
    }

    /// Whether there is a message now, but for that selection.
    pub fn has_message(&self, except: Option<&Arc<Token>>) -> bool {
        matches!(self.queue.front(), Some(Entry::Message(_))) || self.sending.iter().any(|w| w.is_free(except))
    }

    /// A message.
    pub fn message(&mut self, except: Option<&Arc<Token>>) -> Option<Taken<T>> {
        match self.queue.pop_front() {
            Some(Entry::Message(message)) => return Some(Taken::Now(message)),
            Some(reserved) => self.queue.push_front(reserved),
            None => {}
        }
        let waiting = choose(&mut self.sending, except)?;
        match take(&waiting.slot) {
            Some(message) => Some(Taken::Now(message)),
            None => Some(Taken::Later(waiting.slot)),
        }
    }

    /// All messages that are there, when nobody will receive them.
    pub fn left(&mut self) -> Vec<T> {
        let messages = self.queue.drain(..).filter_map(|entry| match entry {
            Entry::Message(message) => Some(message),
            Entry::Reserved(_) => None,
        });
        messages.collect()
    }

    /// A selection reserves a place, if there is one.
    pub fn reserve(&mut self, operation: &Operation) {
        let place = match self.place(Some(&operation.token)) {
            Some(Place::Queue) => {
                self.sent += 1;
                self.queue.push_back(Entry::Reserved(operation.clone()));
                Place::Reserved(operation.clone())
            }
            Some(place) => place,
            None => return,
        };
        self.places.push((operation.clone(), place));
    }

    /// The place that a selection has got.
    pub fn reserved(&mut self, operation: &Operation) -> Option<Place<T>> {
        remove_of(&mut self.places, operation)
    }

    /// Waits to send what is in the slot.
    pub fn offer(&mut self, slot: &Arc<Slot<T>>) {
        self.sending.push_back(Waiting { slot: slot.clone(), operation: None });
    }

    /// Waits to receive into the slot.
    pub fn want(&mut self, slot: &Arc<Slot<T>>) {
        self.receiving.push_back(Waiting { slot: slot.clone(), operation: None });
    }

    /// Whether somebody who waits has not been chosen.
    pub fn is_waiting(&self, slot: &Arc<Slot<T>>) -> bool {
        self.sending.iter().chain(&self.receiving).any(|w| Arc::ptr_eq(&w.slot, slot))
    }

    /// Waits no more. Whether it did until now: nobody has chosen it.
    pub fn withdraw(&mut self, slot: &Arc<Slot<T>>) -> bool {
        let before = self.sending.len() + self.receiving.len();
        self.sending.retain(|w| !Arc::ptr_eq(&w.slot, slot));
        self.receiving.retain(|w| !Arc::ptr_eq(&w.slot, slot));
        self.sending.len() + self.receiving.len() < before
    }

    /// A selection takes a message, if there is one. Who offers it without a queue waits until the operation is completed, as
    /// in crossbeam-channel.
    pub fn set_aside(&mut self, operation: &Operation) {
        let except = Some(&operation.token);
        let taken = match self.capacity {
            Some(0) => choose(&mut self.sending, except).map(|waiting| Taken::Later(waiting.slot)),
            _ => self.message(except),
        };
        self.taken.extend(taken.map(|taken| (operation.clone(), taken)));
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
            self.sending.push_back(Waiting { slot, operation: Some(operation.clone()) });
        }
    }

    /// A selection waits to receive.
    pub fn wait_to_receive(&mut self, operation: &Operation) {
        if self.capacity == Some(0) {
            let slot = Arc::new(Mutex::new(None));
            self.taken.push((operation.clone(), Taken::Later(slot.clone())));
            self.receiving.push_back(Waiting { slot, operation: Some(operation.clone()) });
        }
    }

    /// A selection waits no more. What it was promised stays if this operation was chosen.
    pub fn leave(&mut self, operation: &Operation) {
        self.sending.retain(|w| w.operation.as_ref() != Some(operation));
        self.receiving.retain(|w| w.operation.as_ref() != Some(operation));
        if operation.token.chosen() != Some(operation.index) {
            self.places.retain(|(of, _)| of != operation);
            self.taken.retain(|(of, _)| of != operation);
        }
    }
}
