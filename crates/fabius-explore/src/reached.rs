//! What stateless search has come to, so that what follows is explored once.
//!
//! Paper: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007), sections 3 and 4.3: the
//! cache of Algorithm 1, with the happens-before relation in place of the state.
//!
//! Deviations:
//! 1. The paper's cache holds pairs of a state and the thread that ran last. Here a state that was reached at a lower cost
//!    stands for all pairs with it: whoever ran last there, at most one unit leads to the choice that is free here.
//!    At the same cost, a pair in which the thread that ran last cannot go on stands for all others, because
//!    everything is free there.

use hashbrown::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Mutex;

/// What an execution has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    /// The class of the execution, or a step that may deviate and is tried from a class.
    pub number: u128,
    /// Names the thread that ran last, where that matters.
    pub last: u64,
}

impl Class {
    /// Every choice is free.
    pub const ANYBODY: u64 = 0;
}

#[derive(Default)]
pub(crate) struct Reached {
    inner: Mutex<Inner>,
}

/// What is looked up is a hash already.
#[derive(Default)]
pub(crate) struct Given(u64);

/// Classes of executions.
#[derive(Default)]
pub(crate) struct Signatures {
    known: HashSet<u128, BuildHasherDefault<Given>>,
    /// Those of the last executions. They are looked up together, because each waits for memory, and then these wait at the same time.
    last: Vec<u128>,
}

/// So many are looked up together.
const TOGETHER: usize = 64;

impl Signatures {
    /// That of an execution.
    #[inline]
    pub fn add(&mut self, signature: u128) {
        self.last.push(signature);
        if self.last.len() >= TOGETHER {
            self.look_up();
        }
    }

    /// How many different ones there are.
    pub fn len(&mut self) -> usize {
        self.look_up();
        self.known.len()
    }

    fn look_up(&mut self) {
        self.known.extend(self.last.drain(..));
    }
}

impl Hasher for Given {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.0 = self.0.rotate_left(8) ^ u64::from(*b));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 ^= number.rotate_left(32);
    }

    fn write_u128(&mut self, number: u128) {
        self.0 ^= number as u64 ^ (number >> 64) as u64;
    }
}

#[derive(Default)]
pub(crate) struct Inner {
    /// For every class the least cost, and who ran last when it was first reached at that.
    first: HashMap<u128, (u32, u64), BuildHasherDefault<Given>>,
    /// Others that reached it at the same cost, which need not be the least any more.
    more: HashSet<(u128, u64, u32), BuildHasherDefault<Given>>,
}

/// Classes that are remembered; what comes later is explored as often as it is reached.
const MOST: usize = 40_000_000;

impl Inner {
    /// Whether all that can follow is explored from elsewhere at no higher cost.
    fn is_beaten(&self, class: Class, cost: u32) -> bool {
        self.first.get(&class.number).is_some_and(|(least, last)| {
            let same = *last == class.last || *last == Class::ANYBODY;
            *least < cost || *least == cost && (same || self.more.contains(&(class.number, class.last, cost)))
        })
    }

    /// Notes that what follows is explored. Says whether it was not before.
    pub fn insert(&mut self, class: Class, cost: u32) -> bool {
        if self.is_beaten(class, cost) {
            return false;
        }
        let known = self.first.get(&class.number).is_some_and(|(least, _)| *least == cost);
        if known {
            self.more.insert((class.number, class.last, cost));
        } else if self.first.len() < MOST {
            self.first.insert(class.number, (cost, class.last));
        }
        true
    }

    /// Notes that all choices are free here.
    pub fn free(&mut self, number: u128, cost: u32) {
        if let Some(first) = self.first.get_mut(&number).filter(|(least, _)| *least == cost) {
            first.1 = Class::ANYBODY;
        }
    }
}

impl Reached {
    /// For who asks several times.
    pub fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().expect("no worker has panicked")
    }

    /// Whether all that can follow is explored from elsewhere at no higher cost.
    pub fn is_beaten(&self, class: Class, cost: u32) -> bool {
        self.inner().is_beaten(class, cost)
    }

    /// Notes that what follows is explored. Says whether it was not before.
    pub fn insert(&self, class: Class, cost: u32) -> bool {
        self.inner().insert(class, cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reached_a_class_at_another_cost_has_not_at_the_least() {
        let (reached, by) = (Reached::default(), |last| Class { number: 7, last });
        assert!(reached.insert(by(1), 5) && reached.insert(by(3), 5) && !reached.insert(by(3), 5));
        assert!(reached.insert(by(5), 4) && !reached.insert(by(1), 5));
        assert!(reached.insert(by(3), 4) && !reached.insert(by(3), 4));
        reached.inner().free(7, 4);
        assert!(!reached.insert(by(1), 4) && reached.insert(by(1), 3));
    }
}
