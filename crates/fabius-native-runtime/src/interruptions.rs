//! Accesses of handlers of signals and of what they interrupt (`handlers.rs`): where a handler may come between two of them that no
//! scheduling point parts, in an order that matters.

use crate::place::Fixed;
use crate::races::Touch;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Signals that functions of the program handle.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// From now on functions of the program handle all of this set of signals, or none.
pub fn handles(set: u64, are: bool) {
    let others = HANDLED.load(Relaxed) & !set;
    HANDLED.store(others | if are { set } else { 0 }, Relaxed);
}

/// Those that are handled.
#[inline(always)]
pub fn handled() -> u64 {
    HANDLED.load(Relaxed)
}

/// How something was accessed: in how many handlers, which of eight bytes, whether they were written, and whether that was a
/// point anyway.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Access {
    depth: usize,
    bytes: u8,
    write: bool,
    atomic: bool,
}

impl Access {
    /// Whether the order matters in which these are made, and a handler may come between them though no point does.
    fn meets(self, other: Access) -> bool {
        let below = if self.depth < other.depth { self } else { other };
        self.depth != other.depth && self.bytes & other.bytes != 0 && (self.write || other.write) && !below.atomic
    }
}

/// What threads have accessed, by eight bytes.
#[derive(Default)]
pub struct Interruptions {
    accesses: HashMap<(usize, usize), Vec<Access>, Fixed>,
}

impl Interruptions {
    /// Notes an access. Whether a handler may come between it and another one, in an order that matters.
    pub fn touch(&mut self, touch: Touch, depth: usize, at: usize) -> bool {
        let end = touch.address + touch.size;
        let bytes =
            (0..8).filter(|byte| (touch.address..end).contains(&(at + byte))).fold(0, |set, byte| set | 1 << byte);
        let access = Access { depth, bytes, write: touch.write, atomic: touch.atomic };
        let known = self.accesses.entry((touch.thread, at)).or_default();
        if !known.contains(&access) {
            known.push(access);
        }
        known.iter().any(|other| other.meets(access))
    }

    /// A new execution begins.
    pub fn clear(&mut self) {
        self.accesses.clear();
    }
}
