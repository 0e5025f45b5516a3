//! What happened before what: vector clocks of threads and of what they synchronize with.
//!
//! Clocks grow over all executions, so that what earlier ones left behind is in the past of everything.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A vector clock; who is not in it counts as being at the beginning of the execution.
pub type Clock = Vec<u64>;

/// What a thread knows.
#[derive(Default)]
struct Known {
    clock: Clock,
    /// Of its last fence: what relaxed stores release, if there was one.
    fenced: Option<Clock>,
    /// What relaxed loads have seen, for a fence to come.
    seen: Clock,
}

/// What those learn who acquire some of these bytes of a word.
#[derive(Default)]
struct Released {
    begin: usize,
    end: usize,
    clock: Clock,
    /// The next one of the word, counted from 1; 0: none.
    next: usize,
}

/// The clocks of an execution.
#[derive(Default)]
pub struct Clocks {
    /// Of threads; those that the execution has not are there to be used again.
    known: Vec<Known>,
    threads: usize,
    /// What was released, and how much of that is of the execution.
    released: Vec<Released>,
    releases: usize,
    /// For every eight bytes the last of what was released there, counted from 1: programs may store half of what they load.
    words: HashMap<usize, usize, BuildHasherDefault<Mixed>>,
    /// The last number given, and that at the beginning of the execution.
    last: u64,
    base: u64,
}

impl Clocks {
    /// A new execution begins.
    pub fn begin(&mut self) {
        self.base = self.last;
        (self.threads, self.releases) = (0, 0);
        self.words.clear();
    }

    /// A thread is born; it knows what its parent knows.
    pub fn born(&mut self, parent: Option<usize>, thread: usize) {
        if self.known.len() == thread {
            self.known.push(Known::default());
        }
        self.threads = thread + 1;
        let now = self.tick();
        let (others, own) = self.known.split_at_mut(thread);
        let own = &mut own[0];
        own.clock.clear();
        own.clock.extend_from_slice(parent.map_or(&[], |p| &others[p].clock));
        own.fenced = None;
        own.seen.clear();
        set(&mut own.clock, thread, now, self.base);
        if let Some(parent) = parent {
            self.advance(parent);
        }
    }

    fn tick(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn advance(&mut self, thread: usize) {
        let now = self.tick();
        set(&mut self.known[thread].clock, thread, now, self.base);
    }

    /// The thread's own time.
    #[inline(always)]
    pub fn now(&self, thread: usize) -> u64 {
        self.known[thread].clock[thread]
    }

    /// Whether what a thread did at a time is known to another.
    #[inline(always)]
    pub fn knows(&self, thread: usize, other: usize, time: u64) -> bool {
        time <= self.base || self.known[thread].clock.get(other).is_some_and(|t| time <= *t)
    }

    /// Whether it is known to all threads, and so to all that will be.
    pub fn all_know(&self, other: usize, time: u64) -> bool {
        (0..self.threads).all(|thread| self.knows(thread, other, time))
    }

    /// The thread learns what was released by this name, an address.
    pub fn acquire(&mut self, thread: usize, key: usize) {
        self.load(thread, (key, 1), true);
    }

    /// What the thread knows is there to be acquired, besides what was.
    pub fn release(&mut self, thread: usize, key: usize) {
        self.modify(thread, (key, 1), true);
    }

    /// What was released by this name is not there any more.
    pub fn forget(&mut self, key: usize) {
        self.remove((key, 1));
    }

    /// The thread learns what another one knows.
    pub fn learn(&mut self, thread: usize, other: usize) {
        let clock = std::mem::take(&mut self.known[other].clock);
        join(&mut self.known[thread].clock, &clock, self.base);
        self.known[other].clock = clock;
    }

    /// An atomic load of these bytes: an address, and how many.
    pub fn load(&mut self, thread: usize, bytes: (usize, usize), acquires: bool) {
        let known = &mut self.known[thread];
        let learns = if acquires { &mut known.clock } else { &mut known.seen };
        let mut next = self.words.get(&word(bytes)).copied().unwrap_or(0);
        while next != 0 {
            let released = &self.released[next - 1];
            if released.begin < bytes.0 + bytes.1 && bytes.0 < released.end {
                join(learns, &released.clock, self.base);
            }
            next = released.next;
        }
    }

    /// An atomic store, which ends what was released there before.
    pub fn store(&mut self, thread: usize, bytes: (usize, usize), releases: bool) {
        self.remove(bytes);
        self.modify(thread, bytes, releases);
    }

    /// The store of a read-modify-write, which continues what was released there before.
    pub fn modify(&mut self, thread: usize, bytes: (usize, usize), releases: bool) {
        if !releases && self.known[thread].fenced.is_none() {
            return;
        }
        let at = self.place(bytes);
        let known = &self.known[thread];
        let gives = if releases { &known.clock } else { known.fenced.as_ref().unwrap_or(&known.clock) };
        join(&mut self.released[at].clock, gives, self.base);
        if releases {
            self.advance(thread);
        }
    }

    /// A fence.
    pub fn fence(&mut self, thread: usize, acquires: bool, releases: bool) {
        let known = &mut self.known[thread];
        if acquires {
            join(&mut known.clock, &known.seen, self.base);
            known.seen.clear();
        }
        if releases {
            known.fenced = Some(known.clock.clone());
            self.advance(thread);
        }
    }

    /// What was released at these bytes and nowhere else is gone.
    fn remove(&mut self, bytes: (usize, usize)) {
        let mut next = self.words.get(&word(bytes)).copied().unwrap_or(0);
        while next != 0 {
            let released = &mut self.released[next - 1];
            if bytes.0 <= released.begin && released.end <= bytes.0 + bytes.1 {
                released.clock.clear();
            }
            next = released.next;
        }
    }

    /// Where it is noted what is released at just these bytes.
    fn place(&mut self, bytes: (usize, usize)) -> usize {
        let first = self.words.entry(word(bytes)).or_insert(0);
        let mut next = *first;
        while next != 0 {
            let released = &self.released[next - 1];
            if (released.begin, released.end) == (bytes.0, bytes.0 + bytes.1) {
                return next - 1;
            }
            next = released.next;
        }
        if self.releases == self.released.len() {
            self.released.push(Released::default());
        }
        let new = &mut self.released[self.releases];
        new.clock.clear();
        (new.begin, new.end, new.next) = (bytes.0, bytes.0 + bytes.1, *first);
        self.releases += 1;
        *first = self.releases;
        self.releases - 1
    }
}

fn word(bytes: (usize, usize)) -> usize {
    bytes.0 & !7
}

fn set(clock: &mut Clock, thread: usize, time: u64, base: u64) {
    if thread >= clock.len() {
        clock.resize(thread + 1, base);
    }
    clock[thread] = time;
}

fn join(clock: &mut Clock, other: &Clock, base: u64) {
    if other.len() > clock.len() {
        clock.resize(other.len(), base);
    }
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

/// A hasher without a key: keys are addresses, and executions must be alike.
#[derive(Default)]
pub struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}
