//! The lock-free queue of Michael and Scott. Nodes are freed when the queue is dropped.
//!
//! Run it: `cargo run -p fabius --example michael_scott_queue`

use fabius::alloc::{Layout, alloc, dealloc};
use fabius::cell::UnsafeCell;
use fabius::sync::atomic::{AtomicPtr, Ordering::SeqCst};
use fabius::thread;
use std::ptr;
use std::sync::Arc;

/// What may be wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Nothing.
    None,
    /// A node is linked by a store instead of a compare-and-exchange.
    LinkedByStore,
    /// The old head is freed while another may be about to look at it.
    FreedTooEarly,
}

struct Node {
    value: UnsafeCell<u32>,
    next: AtomicPtr<Node>,
}

/// The queue.
pub struct Queue {
    head: AtomicPtr<Node>,
    tail: AtomicPtr<Node>,
    /// Where the list of all nodes begins.
    first: *mut Node,
    bug: Bug,
}

// SAFETY: nodes are shared by atomic pointers only.
unsafe impl Sync for Queue {}
// SAFETY: as above.
unsafe impl Send for Queue {}

fn node(value: u32) -> *mut Node {
    // SAFETY: the layout is not empty; what is written is a whole node.
    unsafe {
        let node = alloc(Layout::new::<Node>()).cast::<Node>();
        node.write(Node { value: UnsafeCell::new(value), next: AtomicPtr::new(ptr::null_mut()) });
        node
    }
}

/// A node that is used.
///
/// # Safety
/// It was not freed.
unsafe fn used<'a>(node: *mut Node) -> &'a Node {
    assert!(fabius::alloc::is_owned(node.cast()), "a node is used after it was freed");
    // SAFETY: the caller's.
    unsafe { &*node }
}

/// # Safety
/// Nobody uses the node any more.
unsafe fn free(node: *mut Node) {
    // SAFETY: it was made by `node`.
    unsafe { dealloc(node.cast(), Layout::new::<Node>()) };
}

impl Queue {
    /// An empty queue: one node whose value is nobody's.
    pub fn new(bug: Bug) -> Queue {
        let first = node(0);
        Queue { head: AtomicPtr::new(first), tail: AtomicPtr::new(first), first, bug }
    }

    /// Puts a value at the end.
    pub fn push(&self, value: u32) {
        let new = node(value);
        loop {
            let tail = self.tail.load(SeqCst);
            // SAFETY: nodes are not freed while the queue is in use.
            let next = unsafe { &used(tail).next };
            let after = next.load(SeqCst);
            if !after.is_null() {
                // Another has linked its node and not moved the tail yet.
                let _ = self.tail.compare_exchange(tail, after, SeqCst, SeqCst);
                continue;
            }
            if self.bug == Bug::LinkedByStore {
                next.store(new, SeqCst);
            } else if next.compare_exchange(ptr::null_mut(), new, SeqCst, SeqCst).is_err() {
                continue;
            }
            let _ = self.tail.compare_exchange(tail, new, SeqCst, SeqCst);
            return;
        }
    }

    /// Takes the value at the beginning.
    pub fn pop(&self) -> Option<u32> {
        loop {
            let head = self.head.load(SeqCst);
            let tail = self.tail.load(SeqCst);
            // SAFETY: nodes are not freed while the queue is in use.
            let next = unsafe { used(head).next.load(SeqCst) };
            if next.is_null() {
                return None;
            }
            if head == tail {
                let _ = self.tail.compare_exchange(tail, next, SeqCst, SeqCst);
                continue;
            }
            if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                // SAFETY: the value of a node is read once, by whoever made it the first.
                let value = unsafe { used(next).value.with(|value| *value) };
                if self.bug == Bug::FreedTooEarly {
                    // SAFETY: none: another may be about to look at the node.
                    unsafe { free(head) };
                }
                return Some(value);
            }
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let mut next = if self.bug == Bug::FreedTooEarly { *self.head.get_mut() } else { self.first };
        while !next.is_null() {
            // SAFETY: nobody uses the queue any more.
            unsafe {
                let after = *(*next).next.get_mut();
                free(next);
                next = after;
            }
        }
    }
}

/// Two threads push a value each and pop once; what is left is popped at the end: every value comes out once.
pub fn scenario(bug: Bug) {
    let queue = Arc::new(Queue::new(bug));
    let theirs = queue.clone();
    let other = thread::spawn(move || {
        theirs.push(1);
        theirs.pop()
    });
    queue.push(2);
    let mine = queue.pop();
    let theirs = other.join().unwrap();
    let mut all: Vec<u32> = [mine, theirs].into_iter().flatten().collect();
    all.extend(std::iter::from_fn(|| queue.pop()));
    all.sort_unstable();
    assert_eq!(all, [1, 2], "every value comes out once");
}

fn main() {
    println!("{}", fabius::Config::new().explore(|| scenario(Bug::None)));
    let report = fabius::Config::new().explore(|| scenario(Bug::LinkedByStore));
    println!("{}", report.failure().unwrap_or_default());
}
