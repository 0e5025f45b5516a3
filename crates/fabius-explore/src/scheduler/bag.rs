//! Any pending task may be next.
//!
//! Paper: Delay-Bounded Scheduling (POPL 2011), section 3 (the bag scheduler).
//!
//! Deviations:
//! 1. `take` offers only tasks that are ready; the rule that dispatches would refuse the others anyway.

use super::View;
use crate::codec;
use crate::system::TaskId;

/// A multiset of tasks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Bag {
    tasks: Vec<TaskId>,
}

impl Clone for Bag {
    fn clone(&self) -> Bag {
        Bag { tasks: self.tasks.clone() }
    }

    /// Without a new allocation.
    fn clone_from(&mut self, from: &Bag) {
        self.tasks.clone_from(&from.tasks);
    }
}

impl Bag {
    /// Nothing is pending any more.
    pub fn clear(&mut self) {
        self.tasks.clear();
    }

    /// A task is posted, or gives up control.
    pub fn give(&mut self, task: TaskId) {
        // Most are the youngest.
        if self.tasks.last().is_none_or(|last| *last <= task) {
            return self.tasks.push(task);
        }
        let at = self.tasks.partition_point(|t| *t <= task);
        self.tasks.insert(at, task);
    }

    /// The tasks that may be taken. Of equal ones the first stands for all.
    pub fn options(&self, view: &impl View, out: &mut Vec<TaskId>) {
        for (i, task) in self.tasks.iter().enumerate() {
            let again = i > 0 && view.same(self.tasks[i - 1], *task);
            if !again && view.ready(*task) {
                out.push(*task);
            }
        }
    }

    /// Takes one of the options.
    pub fn take(&mut self, task: TaskId) {
        let at = self.tasks.partition_point(|t| *t < task);
        self.tasks.remove(at);
    }

    /// The pending tasks, in increasing order.
    pub fn pending(&self) -> &[TaskId] {
        &self.tasks
    }

    /// Sorts equal tasks next to each other.
    pub(super) fn sort(&mut self, view: &impl View) {
        self.tasks.sort_by(|a, b| view.compare(*a, *b));
    }

    pub(super) fn pending_mut(&mut self) -> &mut [TaskId] {
        &mut self.tasks
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        codec::put_set(&self.tasks, out);
    }

    pub(super) fn decode(&mut self, bytes: &mut &[u8]) {
        codec::get_set(bytes, &mut self.tasks);
    }
}
