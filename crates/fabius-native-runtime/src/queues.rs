//! Message queues of POSIX. They are held here: the kernel's would outlive an execution, and be those of other processes.
//!
//! A descriptor of one is an event of the kernel's, so that to close it, or to wait for it by `poll`, is as with any other: it
//! counts nothing if the queue is empty, all that it can if that is full, and one otherwise.

use crate::op::of_queue;
use crate::place::Fixed;
use std::collections::HashMap;

/// What was sent.
struct Message {
    text: Vec<u8>,
    priority: u32,
    /// By which who receives it learns what its sender knew.
    key: usize,
}

/// A queue.
pub struct Queue {
    /// By which it can be opened, if it still can.
    pub name: Option<Vec<u8>>,
    /// How many messages it has room for.
    pub most: usize,
    /// And how many bytes one may have.
    pub size: usize,
    /// Its event, under a number that the program does not know.
    pub event: i32,
    /// Those of a higher priority first, of the same one the oldest.
    messages: Vec<Message>,
    sent: usize,
    received: usize,
}

/// What a descriptor is for.
#[derive(Clone, Copy)]
pub struct Opened {
    /// The queue's number.
    pub queue: usize,
    /// Whether it may receive.
    pub reads: bool,
    /// Whether it may send.
    pub writes: bool,
    /// Whether it waits for a message, or for room.
    pub waits: bool,
}

/// Those of an execution.
#[derive(Default)]
pub struct Queues {
    all: Vec<Queue>,
    /// By descriptor.
    pub opened: HashMap<i32, Opened, Fixed>,
}

impl Queues {
    /// A new execution begins.
    pub fn clear(&mut self) {
        self.all.clear();
        self.opened.clear();
    }

    /// Whether there are any.
    pub fn are_some(&self) -> bool {
        !self.all.is_empty()
    }

    /// The one of this name.
    pub fn named(&self, name: &[u8]) -> Option<usize> {
        self.all.iter().position(|queue| queue.name.as_deref() == Some(name))
    }

    /// Makes one.
    pub fn make(&mut self, name: &[u8], most: usize, size: usize, event: i32) -> usize {
        let name = Some(name.to_vec());
        self.all.push(Queue { name, most, size, event, messages: Vec::new(), sent: 0, received: 0 });
        self.all.len() - 1
    }

    /// A queue.
    pub fn get(&mut self, queue: usize) -> &mut Queue {
        &mut self.all[queue]
    }

    /// Whether there is a message.
    pub fn has_message(&self, queue: usize) -> bool {
        !self.all[queue].messages.is_empty()
    }

    /// Whether there is room for one.
    pub fn has_room(&self, queue: usize) -> bool {
        self.all[queue].messages.len() < self.all[queue].most
    }

    /// Puts a message in. What the sender learns, as somebody has made room for it, and what it tells, by these names.
    pub fn put(&mut self, number: usize, text: &[u8], priority: u32) -> (usize, usize) {
        let queue = &mut self.all[number];
        let (place, key) = (of_queue(number, 2 * (queue.sent % queue.most) + 1), of_queue(number, 2 * queue.sent));
        let at = queue.messages.partition_point(|message| message.priority >= priority);
        queue.messages.insert(at, Message { text: text.to_vec(), priority, key });
        queue.sent += 1;
        (place, key)
    }

    /// Takes the first message out: its bytes and priority; and by which names the receiver tells that there is room, and learns.
    pub fn take(&mut self, number: usize) -> (Vec<u8>, u32, (usize, usize)) {
        let queue = &mut self.all[number];
        let place = of_queue(number, 2 * (queue.received % queue.most) + 1);
        queue.received += 1;
        let Message { text, priority, key } = queue.messages.remove(0);
        (text, priority, (place, key))
    }
}

impl Queue {
    /// How many messages are in it.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Has its event count what whoever waits for it looks at.
    pub fn shows(&self) {
        let count: u64 = match self.messages.len() {
            0 => 0,
            all if all == self.most => u64::MAX - 1,
            _ => 1,
        };
        crate::events::shows(self.event, count);
    }
}
