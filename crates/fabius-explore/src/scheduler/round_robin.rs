//! Deterministic: the pending tasks stand in a circle.
//!
//! Paper: Delay-Bounded Scheduling (POPL 2011), section 3 (the round-robin scheduler).
//!
//! Deviations:
//! 1. After the last task of the list is taken the index may stand behind the end; the paper leaves that case open. It
//!    is brought back only when the next task is taken.

use super::{Given, View};
use crate::codec;
use crate::system::TaskId;

/// A list of tasks, and where in it the next one stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundRobin {
    tasks: Vec<TaskId>,
    index: usize,
}

impl RoundRobin {
    /// A posted task goes to the end, one that gave up control to where it was.
    pub fn give(&mut self, task: TaskId, given: Given) {
        match given {
            Given::Posted => self.tasks.push(task),
            Given::Yielded => self.tasks.insert(self.index.min(self.tasks.len()), task),
        }
    }

    /// The next task: the first ready one from the index on, in a circle.
    pub fn option(&self, view: &impl View) -> Option<TaskId> {
        self.position(view).map(|i| self.tasks[i])
    }

    /// Takes it.
    pub fn take(&mut self, view: &impl View) -> Option<TaskId> {
        self.index = self.position(view)?;
        Some(self.tasks.remove(self.index))
    }

    /// Forgets a pending task.
    pub fn remove(&mut self, task: TaskId) {
        let Some(at) = self.tasks.iter().position(|t| *t == task) else { return };
        self.tasks.remove(at);
        self.index -= usize::from(at < self.index);
        self.settle();
    }

    /// Puts a task that was taken back, and passes on to the one after it.
    pub fn delay(&mut self, task: TaskId) {
        self.tasks.insert(self.index, task);
        self.index = (self.index + 1) % self.tasks.len();
    }

    /// The pending tasks.
    pub fn pending(&self) -> &[TaskId] {
        &self.tasks
    }

    fn position(&self, view: &impl View) -> Option<usize> {
        let n = self.tasks.len();
        (0..n).map(|i| (self.index + i) % n).find(|i| view.ready(self.tasks[*i]))
    }

    /// Does what the next `take` does first, so that values that behave alike are equal.
    pub(super) fn settle(&mut self) {
        self.index = if self.tasks.is_empty() { 0 } else { self.index % self.tasks.len() };
    }

    pub(super) fn pending_mut(&mut self) -> &mut [TaskId] {
        &mut self.tasks
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        codec::put_list(&self.tasks, out);
        codec::put(self.index as u64, out);
    }

    pub(super) fn decode(&mut self, bytes: &mut &[u8]) {
        codec::get_list(bytes, &mut self.tasks);
        self.index = codec::get(bytes) as usize;
    }
}
