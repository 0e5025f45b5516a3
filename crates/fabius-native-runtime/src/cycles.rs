//! What is known where threads may go round (`round.rs`).

use crate::place::{Fixed, Place};
use std::collections::HashMap;

/// So often a lock could not be had until states are compared.
const REFUSALS: u32 = 2;

/// So many atomic objects of a loop are known.
pub const LOOKED_AT: usize = 4;

/// What a thread has found in an atomic object.
#[derive(Clone, Copy, Default)]
pub struct Look {
    /// Its address.
    pub object: usize,
    /// The value.
    pub value: u64,
    /// The last step in which it was another value than before.
    pub other: Option<u64>,
}

/// A look at an object (`looks.rs`).
#[derive(Clone, Copy)]
pub struct Sight {
    /// Where in the program, the first byte of the object, and what else the operation is given.
    pub at: (usize, usize, [u64; 2]),
    /// Where the thread was.
    pub place: Place,
    /// If the object was left as it was found: the value, a number of the stack in use, and the calls of ours until then.
    pub found: Option<(u64, u64, u64)>,
    /// A number of memory since the thread has run without a call of ours, where it is not known what code does there that tells
    /// us nothing.
    pub memory: Option<u64>,
}

/// What the code between two looks from one place changes, and tells nobody.
#[derive(Clone, Copy, Default)]
pub struct Unseen {
    /// Whether it changes something, if that is known.
    pub changes: Option<bool>,
    /// How often it was looked at.
    pub tries: u32,
}

/// The longest circle of a thread's own steps that is looked for.
pub const LONGEST: usize = 8;

/// Where the running thread was in the steps that it has made by itself: the place in the program with the object, and a number of
/// its stack and registers, if it was there more than once.
#[derive(Default)]
pub struct Recent {
    /// The last ones.
    pub places: [(usize, u64); LONGEST],
    /// How many there were.
    pub count: usize,
}

/// What is known of an execution in which threads may go round.
#[derive(Default)]
pub struct Cycles {
    /// How often a mutex could not be had by who did not wait for it.
    pub refusals: u32,
    /// The step in which each state was first seen.
    pub seen: HashMap<u64, u64, Fixed>,
    /// Accesses to what may not be the thread's alone.
    pub shared: u64,
    /// The first step of those that the running thread has made last.
    pub since: u64,
    /// That thread.
    pub runs: usize,
    /// The last step of each thread.
    pub last: Vec<u64>,
    /// Threads that have run since states are compared.
    pub ran: u64,
    /// By thread which lock could not be had last.
    pub refused: HashMap<usize, usize, Fixed>,
    /// In which step each lock was given back last, since one could not be had.
    pub given_back: HashMap<usize, u64, Fixed>,
    /// By thread the atomic objects that it has looked at last, since somebody may repeat himself.
    pub looked_at: HashMap<usize, [Look; LOOKED_AT], Fixed>,
    /// In which step an atomic object got another value last, by object and thread.
    pub changed: HashMap<(usize, usize), u64, Fixed>,
}

/// What is known of all executions: whose stacks others have used, and who was in executions that came back to a state.
#[derive(Default)]
pub struct Stacks {
    /// Numbers of threads, as bits.
    pub used: u64,
    /// The same.
    pub relied_on: u64,
}

impl Cycles {
    /// Whether states are compared.
    #[inline(always)]
    pub fn are_looked_for(&self) -> bool {
        self.refusals >= REFUSALS
    }

    /// A new execution begins.
    pub fn clear(&mut self) {
        if !self.refused.is_empty() || !self.looked_at.is_empty() {
            *self = Cycles::default();
        }
    }
}
