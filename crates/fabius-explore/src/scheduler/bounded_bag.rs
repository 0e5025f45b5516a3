//! Any pending task may be next, but of equal tasks only so many are kept: lossy.
//!
//! Paper: Delay-Bounded Scheduling (POPL 2011), section 3 (the bounded bag scheduler).
//!
//! Deviations:
//! 1. A dropped task makes configurations final that the bag would continue, so what is final here is only *reachable*
//!    with the bag. The paper's claim about final values holds for lossless schedulers only.

use super::{Bag, View};
use crate::system::TaskId;

/// A multiset of tasks with at most `limit` equal ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundedBag {
    pub(super) bag: Bag,
    limit: u32,
}

impl BoundedBag {
    /// Nothing is pending. `limit` is at least 1.
    pub fn new(limit: u32) -> BoundedBag {
        BoundedBag { bag: Bag::default(), limit: limit.max(1) }
    }

    /// A task is posted, or gives up control; it is dropped if there are enough like it.
    pub fn give(&mut self, task: TaskId, view: &impl View) {
        let copies = self.bag.pending().iter().filter(|t| view.same(**t, task)).count();
        if copies < self.limit as usize {
            self.bag.give(task);
        }
    }
}
