//! What happened before what: vector clocks of threads and of what they synchronize with.
//!
//! Clocks grow over all executions, so that what earlier ones left behind is in the past of everything.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A vector clock; who is not in it counts as being at the beginning of the execution.
pub type Clock = Vec<u64>;

/// The clocks of an execution.
#[derive(Default)]
pub struct Clocks {
    threads: Vec<Clock>,
    /// What those who acquire learn.
    released: HashMap<usize, Clock, BuildHasherDefault<Mixed>>,
    /// Of fences: what relaxed stores release, and what relaxed loads have seen.
    fences: Vec<(Option<Clock>, Clock)>,
    /// The last number given, and that at the beginning of the execution.
    last: u64,
    base: u64,
}

impl Clocks {
    /// A new execution begins.
    pub fn begin(&mut self) {
        self.base = self.last;
        self.threads.clear();
        self.released.clear();
        self.fences.clear();
    }

    /// A thread is born; it knows what its parent knows.
    pub fn born(&mut self, parent: Option<usize>, thread: usize) {
        let mut clock = parent.map(|p| self.threads[p].clone()).unwrap_or_default();
        set(&mut clock, thread, self.tick(), self.base);
        self.threads.push(clock);
        self.fences.push((None, Clock::new()));
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
        set(&mut self.threads[thread], thread, now, self.base);
    }

    /// The thread's own time.
    #[inline(always)]
    pub fn now(&self, thread: usize) -> u64 {
        self.threads[thread][thread]
    }

    /// Whether what a thread did at a time is known to another.
    #[inline(always)]
    pub fn knows(&self, thread: usize, other: usize, time: u64) -> bool {
        time <= self.base || self.threads[thread].get(other).is_some_and(|t| time <= *t)
    }

    /// Whether it is known to all threads, and so to all that will be.
    pub fn all_know(&self, other: usize, time: u64) -> bool {
        (0..self.threads.len()).all(|thread| self.knows(thread, other, time))
    }

    /// The thread learns what was released.
    pub fn acquire(&mut self, thread: usize, key: usize) {
        if let Some(clock) = self.released.get(&key) {
            join(&mut self.threads[thread], clock, self.base);
        }
    }

    /// What the thread knows is there to be acquired, besides what was.
    pub fn release(&mut self, thread: usize, key: usize) {
        join(self.released.entry(key).or_default(), &self.threads[thread], self.base);
        self.advance(thread);
    }

    /// The thread learns what another one knows.
    pub fn learn(&mut self, thread: usize, other: usize) {
        let clock = self.threads[other].clone();
        join(&mut self.threads[thread], &clock, self.base);
    }

    /// An atomic load.
    pub fn load(&mut self, thread: usize, key: usize, acquires: bool) {
        if acquires {
            self.acquire(thread, key);
        } else if let Some(clock) = self.released.get(&key) {
            join(&mut self.fences[thread].1, clock, self.base);
        }
    }

    /// An atomic store, which ends what was released there before.
    pub fn store(&mut self, thread: usize, key: usize, releases: bool) {
        self.released.remove(&key);
        self.modify(thread, key, releases);
    }

    /// The store of a read-modify-write, which continues what was released there before.
    pub fn modify(&mut self, thread: usize, key: usize, releases: bool) {
        if releases {
            self.release(thread, key);
        } else if let Some(fence) = &self.fences[thread].0 {
            join(self.released.entry(key).or_default(), fence, self.base);
        }
    }

    /// A fence.
    pub fn fence(&mut self, thread: usize, acquires: bool, releases: bool) {
        if acquires {
            let seen = std::mem::take(&mut self.fences[thread].1);
            join(&mut self.threads[thread], &seen, self.base);
        }
        if releases {
            self.fences[thread].0 = Some(self.threads[thread].clone());
            self.advance(thread);
        }
    }
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
