//! Deterministic: round by round; in a round, preorder of the tree of posts, a task's continuation after a yield being
//! its last child so far. A delayed task moves to the next round.
//!
//! Paper: Delay-Bounded Scheduling (POPL 2011), section 3 (the depth-first scheduler).
//!
//! Deviations: none.

use crate::codec;
use crate::system::TaskId;

/// Three stacks; the top is the last element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DepthFirst {
    /// Given since the last task was taken.
    here: Vec<TaskId>,
    /// The rest of this round.
    round: Vec<TaskId>,
    /// Delayed to the next round.
    delayed: Vec<TaskId>,
}

impl DepthFirst {
    /// A task is posted, or gives up control.
    pub fn give(&mut self, task: TaskId) {
        self.here.push(task);
    }

    /// The next task, ready or not.
    pub fn option(&self) -> Option<TaskId> {
        self.here.first().or(self.round.last()).or(self.delayed.first()).copied()
    }

    /// Takes it.
    pub fn take(&mut self) -> Option<TaskId> {
        self.settle();
        self.round.pop()
    }

    /// Forgets a pending task.
    pub fn remove(&mut self, task: TaskId) {
        for list in [&mut self.here, &mut self.round, &mut self.delayed] {
            list.retain(|t| *t != task);
        }
    }

    /// Puts a task that was taken into the next round.
    pub fn delay(&mut self, task: TaskId) {
        self.delayed.push(task);
    }

    /// The pending tasks.
    pub fn pending(&self) -> impl Iterator<Item = TaskId> {
        self.here.iter().chain(&self.round).chain(&self.delayed).copied()
    }

    /// Does what the next `take` does first, so that values that behave alike are equal.
    pub(super) fn settle(&mut self) {
        self.round.extend(self.here.drain(..).rev());
        if self.round.is_empty() {
            self.round.extend(self.delayed.drain(..).rev());
        }
    }

    pub(super) fn pending_mut(&mut self) -> impl Iterator<Item = &mut TaskId> {
        self.here.iter_mut().chain(&mut self.round).chain(&mut self.delayed)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for stack in [&self.here, &self.round, &self.delayed] {
            codec::put_list(stack, out);
        }
    }

    pub(super) fn decode(&mut self, bytes: &mut &[u8]) {
        for stack in [&mut self.here, &mut self.round, &mut self.delayed] {
            codec::get_list(bytes, stack);
        }
    }
}
