//! A work-stealing deque in the manner of Chase and Lev: the owner pushes and pops at one end, thieves steal from the other.
//!
//! Run it: `cargo run -p fabius --example work_stealing_deque`

use fabius::cell::UnsafeCell;
use fabius::sync::atomic::{AtomicIsize, Ordering::SeqCst};
use fabius::thread;
use std::sync::Arc;

/// What may be wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Nothing.
    None,
    /// The owner takes the last item without racing the thieves for it.
    LastItemUncontested,
    /// The item is written after it was published.
    PublishedTooEarly,
}

/// How many items can be pushed in all: a place is not used again while a thief may still look at it.
const CAPACITY: usize = 8;

/// The deque.
pub struct Deque {
    top: AtomicIsize,
    bottom: AtomicIsize,
    items: [UnsafeCell<u32>; CAPACITY],
    bug: Bug,
}

// SAFETY: an item is written before it is published, and read only after that.
unsafe impl Sync for Deque {}

impl Deque {
    /// An empty deque.
    pub fn new(bug: Bug) -> Deque {
        let items = [(); CAPACITY].map(|()| UnsafeCell::new(0));
        Deque { top: AtomicIsize::new(0), bottom: AtomicIsize::new(0), items, bug }
    }

    fn read(&self, at: isize) -> u32 {
        // SAFETY: the item was published, and its place is not written again before it was taken.
        self.items[at as usize].with(|item| unsafe { *item })
    }

    fn write(&self, at: isize, value: u32) {
        // SAFETY: nobody else accesses an item that is not published.
        self.items[at as usize].with_mut(|item| unsafe { *item = value });
    }

    /// Only by the owner.
    pub fn push(&self, value: u32) {
        let bottom = self.bottom.load(SeqCst);
        assert!(bottom < CAPACITY as isize, "the deque is full");
        if self.bug == Bug::PublishedTooEarly {
            self.bottom.store(bottom + 1, SeqCst);
            self.write(bottom, value);
        } else {
            self.write(bottom, value);
            self.bottom.store(bottom + 1, SeqCst);
        }
    }

    /// Only by the owner.
    pub fn pop(&self) -> Option<u32> {
        let bottom = self.bottom.load(SeqCst) - 1;
        self.bottom.store(bottom, SeqCst);
        let top = self.top.load(SeqCst);
        if top > bottom {
            self.bottom.store(top, SeqCst);
            return None;
        }
        let value = self.read(bottom);
        if top < bottom || self.bug == Bug::LastItemUncontested {
            return Some(value);
        }
        // The last item: whoever moves the top has it.
        let won = self.top.compare_exchange(top, top + 1, SeqCst, SeqCst).is_ok();
        self.bottom.store(top + 1, SeqCst);
        won.then_some(value)
    }

    /// By anyone.
    pub fn steal(&self) -> Option<u32> {
        let top = self.top.load(SeqCst);
        if top >= self.bottom.load(SeqCst) {
            return None;
        }
        let value = self.read(top);
        self.top.compare_exchange(top, top + 1, SeqCst, SeqCst).is_ok().then_some(value)
    }
}

/// The owner pushes two items and pops twice, a thief steals twice: every item is taken once.
pub fn scenario(bug: Bug) {
    let deque = Arc::new(Deque::new(bug));
    let theirs = deque.clone();
    let thief = thread::spawn(move || [theirs.steal(), theirs.steal()]);
    deque.push(1);
    deque.push(2);
    let mut taken: Vec<u32> = [deque.pop(), deque.pop()].into_iter().flatten().collect();
    taken.extend(thief.join().unwrap().into_iter().flatten());
    taken.extend(deque.pop());
    taken.sort_unstable();
    assert_eq!(taken, [1, 2], "every item is taken once");
}

fn main() {
    println!("{}", fabius::Config::new().explore(|| scenario(Bug::None)));
    let report = fabius::Config::new().explore(|| scenario(Bug::LastItemUncontested));
    println!("{}", report.failure().unwrap_or_default());
}
