//! A queue: the tasks of a level run in the order in which they were posted.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), section 2, where buffers are multisets.
//!
//! It is no scheduler that a search is asked for but what a program says of a buffer, so that nothing in it can be delayed.
//!
//! Deviations:
//! 1. A sequence, as event loops and deferred procedure calls have it.
//! 2. A task that waits keeps its place, and those behind it may pass.

use super::View;
use crate::codec;
use crate::system::TaskId;

/// A list of tasks, the next one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fifo {
    tasks: Vec<TaskId>,
}

impl Fifo {
    /// A task that is posted goes to the end, and so does one that gives up control.
    pub fn give(&mut self, task: TaskId) {
        self.tasks.push(task);
    }

    /// The first task that is ready.
    pub fn option(&self, view: &impl View) -> Option<TaskId> {
        self.tasks.iter().copied().find(|task| view.ready(*task))
    }

    /// Takes a task out, wherever it stands.
    pub fn remove(&mut self, task: TaskId) {
        self.tasks.retain(|t| *t != task);
    }

    /// The pending tasks, the next one first.
    pub fn pending(&self) -> &[TaskId] {
        &self.tasks
    }

    pub(super) fn pending_mut(&mut self) -> &mut [TaskId] {
        &mut self.tasks
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        codec::put_list(&self.tasks, out);
    }

    pub(super) fn decode(&mut self, bytes: &mut &[u8]) {
        codec::get_list(bytes, &mut self.tasks);
    }
}
