//! The rules of channels: where a message goes, who gets it, and what comes before what. Nothing here waits, and nothing is a
//! step: who calls has done the operation.
//!
//! Those of `std::sync::mpsc` and of crossbeam-channel are the same; the first has no selections. Who receives a message comes
//! after who has sent that one, who gets the place of a message that was received after who has received that one, who hands a
//! message over after who took it, and who finds that nobody is at the other end after all who have left that end: who leaves the
//! same end as he comes before nothing of his. No message comes after another one, and a handle more orders nothing.

#![allow(missing_docs, reason = "names say it")]

use crate::guarded::Guarded;
use crate::rt::{self, Left, Object};
use std::collections::VecDeque;
use std::sync::Arc;

/// Where a message is handed over without a queue.
pub struct Slot<T>(Guarded<Handover<T>>);

struct Handover<T> {
    message: Option<(T, Left)>,
    /// By who receives: that it is there, and then that it has taken the message.
    received: Option<Left>,
}

/// A thread that waits in a selection, and which of its operations somebody has chosen.
#[derive(Default)]
pub struct Token(Guarded<Option<usize>>);

/// An operation of a selection.
#[derive(Clone)]
pub struct Operation {
    pub token: Arc<Token>,
    pub index: usize,
}

impl PartialEq for Operation {
    fn eq(&self, other: &Operation) -> bool {
        Arc::ptr_eq(&self.token, &other.token) && self.index == other.index
    }
}

/// A thread that waits at a channel without a queue, and where its message is or goes to.
struct Waiting<T> {
    slot: Arc<Slot<T>>,
    /// Of a selection, which waits elsewhere, too.
    operation: Option<Operation>,
}

/// A place in the queue.
enum Entry<T> {
    Message(T, Left),
    /// A selection will put its message here.
    Reserved(Operation),
}

/// A channel.
pub struct Channel<T> {
    pub capacity: Option<usize>,
    pub senders: usize,
    pub receivers: usize,
    queue: VecDeque<Entry<T>>,
    /// How many places nobody has used so far, and the others that are free.
    unused: usize,
    free: VecDeque<Left>,
    /// Who waits to send, first come first served.
    sending: VecDeque<Waiting<T>>,
    /// Who waits to receive.
    receiving: VecDeque<Waiting<T>>,
    /// What selections have got, until they use it.
    places: Vec<(Operation, Place<T>)>,
    taken: Vec<(Operation, Taken<T>)>,
    /// Where threads leave messages and places for one another.
    order: Object,
    senders_gone: Object,
    receivers_gone: Object,
}

/// Where a message goes.
pub enum Place<T> {
    Queue,
    /// What was reserved for that operation.
    Reserved(Operation),
    To(Arc<Slot<T>>),
}

/// A message.
pub enum Taken<T> {
    Now(T),
    /// A selection has promised it, or it is still where it was offered.
    Later(Arc<Slot<T>>),
}

impl<T> Slot<T> {
    fn new(message: Option<(T, Left)>, received: Option<Left>) -> Arc<Slot<T>> {
        Arc::new(Slot(Guarded::new(Handover { message, received })))
    }

    /// Whether it has a message.
    pub fn is_full(&self) -> bool {
        self.0.take().message.is_some()
    }
}

impl Token {
    pub fn chosen(&self) -> Option<usize> {
        *self.0.take()
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
        *operation.token.0.take() = Some(operation.index);
    }
    Some(waiting)
}

/// A handle is dropped, perhaps when the execution is over.
fn goes(gone: &Object) {
    if !rt::current().is_null() {
        rt::comes_before(gone.id());
    }
}

fn remove_of<V>(all: &mut Vec<(Operation, V)>, operation: &Operation) -> Option<V> {
    let at = all.iter().position(|(of, _)| of == operation)?;
    Some(all.remove(at).1)
}

impl<T> Channel<T> {
    #[track_caller]
    pub fn new(capacity: Option<usize>) -> Channel<T> {
        Channel {
            capacity,
            senders: 1,
            receivers: 1,
            queue: VecDeque::new(),
            unused: capacity.unwrap_or(0),
            free: VecDeque::new(),
            sending: VecDeque::new(),
            receiving: VecDeque::new(),
            places: Vec::new(),
            taken: Vec::new(),
            order: Object::new(),
            senders_gone: Object::new(),
            receivers_gone: Object::new(),
        }
    }

    pub(crate) fn leave(&self) -> Left {
        rt::leaves(&self.order)
    }

    pub(crate) fn take(&self, left: Left) {
        rt::takes(&self.order, left);
    }

    /// A sender goes.
    pub fn sender_leaves(&self) {
        goes(&self.senders_gone);
    }

    /// A receiver goes.
    pub fn receiver_leaves(&self) {
        goes(&self.receivers_gone);
    }

    /// The operation has found that there are no senders.
    pub fn no_sender_is_there(&self) {
        rt::comes_after(self.senders_gone.id());
    }

    /// The operation has found that there are no receivers.
    pub fn no_receiver_is_there(&self) {
        rt::comes_after(self.receivers_gone.id());
    }

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

    /// A place of the queue is used.
    fn uses_a_place(&mut self) {
        if self.unused > 0 {
            self.unused -= 1;
        } else if let Some(left) = self.free.pop_front() {
            self.take(left);
        }
    }

    /// Puts a message into its place. It comes back if nobody will receive it any more.
    pub fn fill(&mut self, place: Place<T>, message: T) -> Option<T> {
        match place {
            Place::Queue => {
                self.uses_a_place();
                self.queue.push_back(Entry::Message(message, self.leave()));
            }
            Place::Reserved(operation) => {
                let left = self.leave();
                let mine = |entry: &&mut Entry<T>| matches!(entry, Entry::Reserved(of) if *of == operation);
                match self.queue.iter_mut().find(mine) {
                    Some(entry) => *entry = Entry::Message(message, left),
                    None => return Some(message),
                }
            }
            Place::To(slot) => {
                let mut slot = slot.0.take();
                slot.received.into_iter().for_each(|left| self.take(left));
                slot.message = Some((message, self.leave()));
            }
        }
        None
    }

    /// How many places of the queue are taken.
    pub fn messages(&self) -> usize {
        self.queue.len()
    }

    /// How many wait to send.
    pub fn offers(&self) -> usize {
        self.sending.len()
    }

    /// Whether the next message is still to be put into its place: who receives without waiting waits for that.
    pub fn is_coming(&self) -> bool {
        matches!(self.queue.front(), Some(Entry::Reserved(_)))
    }

    /// Whether there is a message now, but for that selection.
    pub fn has_message(&self, except: Option<&Arc<Token>>) -> bool {
        matches!(self.queue.front(), Some(Entry::Message(..))) || self.sending.iter().any(|w| w.is_free(except))
    }

    /// A message.
    pub fn message(&mut self, except: Option<&Arc<Token>>) -> Option<Taken<T>> {
        match self.queue.pop_front() {
            Some(Entry::Message(message, left)) => {
                self.take(left);
                if self.capacity.is_some() {
                    self.free.push_back(self.leave());
                }
                return Some(Taken::Now(message));
            }
            Some(reserved) => self.queue.push_front(reserved),
            None => {}
        }
        let slot = choose(&mut self.sending, except)?.slot;
        Some(match self.collect(&slot) {
            Some(message) => Taken::Now(message),
            None => {
                slot.0.take().received = Some(self.leave());
                Taken::Later(slot)
            }
        })
    }

    /// What was put into a slot for who receives.
    pub fn collect(&self, slot: &Slot<T>) -> Option<T> {
        let mut slot = slot.0.take();
        let (message, left) = slot.message.take()?;
        self.take(left);
        slot.received = Some(self.leave());
        Some(message)
    }

    /// The message that was offered, if nobody has taken it. If somebody has, the operation comes after that.
    pub fn take_back(&self, slot: &Slot<T>) -> Option<T> {
        let mut slot = slot.0.take();
        let message = slot.message.take();
        if message.is_none() {
            slot.received.into_iter().for_each(|left| self.take(left));
        }
        message.map(|(message, _)| message)
    }

    /// All messages that are there, when nobody will receive them: their destructors come after who has sent them.
    pub fn left(&mut self) -> Vec<T> {
        let entries = std::mem::take(&mut self.queue);
        let messages = entries.into_iter().filter_map(|entry| match entry {
            Entry::Message(message, left) => {
                if std::mem::needs_drop::<T>() {
                    self.take(left);
                }
                Some(message)
            }
            Entry::Reserved(_) => None,
        });
        messages.collect()
    }

    /// A selection reserves a place, if there is one.
    pub fn reserve(&mut self, operation: &Operation) {
        let place = match self.place(Some(&operation.token)) {
            Some(Place::Queue) => {
                self.uses_a_place();
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

    /// Waits to send.
    pub fn offer(&mut self, message: T) -> Arc<Slot<T>> {
        let slot = Slot::new(Some((message, self.leave())), None);
        self.sending.push_back(Waiting { slot: slot.clone(), operation: None });
        slot
    }

    /// Waits to receive.
    pub fn want(&mut self) -> Arc<Slot<T>> {
        let slot = Slot::new(None, Some(self.leave()));
        self.receiving.push_back(Waiting { slot: slot.clone(), operation: None });
        slot
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
            Some(0) => choose(&mut self.sending, except).map(|waiting| {
                waiting.slot.0.take().received = Some(self.leave());
                Taken::Later(waiting.slot)
            }),
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
            let slot = Slot::new(None, None);
            self.places.push((operation.clone(), Place::To(slot.clone())));
            self.sending.push_back(Waiting { slot, operation: Some(operation.clone()) });
        }
    }

    /// A selection waits to receive.
    pub fn wait_to_receive(&mut self, operation: &Operation) {
        if self.capacity == Some(0) {
            let slot = Slot::new(None, Some(self.leave()));
            self.taken.push((operation.clone(), Taken::Later(slot.clone())));
            self.receiving.push_back(Waiting { slot, operation: Some(operation.clone()) });
        }
    }

    /// A selection waits no more. What it was promised stays if this operation was chosen.
    pub fn stop_waiting(&mut self, operation: &Operation) {
        self.sending.retain(|w| w.operation.as_ref() != Some(operation));
        self.receiving.retain(|w| w.operation.as_ref() != Some(operation));
        if operation.token.chosen() != Some(operation.index) {
            self.places.retain(|(of, _)| of != operation);
            self.taken.retain(|(of, _)| of != operation);
        }
    }
}
