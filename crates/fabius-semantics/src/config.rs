//! Configurations.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), section 3: `<g, n, a, b>`, the globals,
//! the active buffer, for every buffer the stack `a(n)` of running and interrupted tasks and the multiset `b(n)` of
//! pending ones.
//!
//! Deviations:
//! 1. The frames on `a(n)` are grouped into the tasks that they belong to; all frames of a task have its level.
//! 2. The active buffer is not part of the configuration: whoever makes a step says on which buffer.
//! 3. There are a heap, and handles of tasks; every thread is a buffer, with its own copies of the per-thread variables.

use crate::control::Control;
use crate::value::{ObjectId, TaskId, Value};
use fabius_explore::system::BufferId;
use fabius_lang::program::{Level, ProcId, RecordId};
use std::collections::{BTreeMap, BTreeSet};

/// A configuration.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Config {
    /// Shared globals. (The entries of per-thread ones are not used.)
    pub globals: Vec<Value>,
    /// Heap objects.
    pub heap: BTreeMap<ObjectId, Object>,
    /// Buffers that have tasks.
    pub buffers: BTreeMap<BufferId, Buffer>,
    /// Finished tasks that may still be waited for.
    pub finished: BTreeSet<TaskId>,
    /// Whether `init` has finished, so that buffers and processes have started.
    pub started: bool,
    /// Number of the next anonymous task.
    pub next_anonymous: u32,
}

/// A heap object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its type.
    pub record: RecordId,
    /// Its fields, a tuple.
    pub value: Value,
}

/// A task buffer.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Buffer {
    /// Its copies of the per-thread variables, by [`fabius_lang::program::GlobalId`]; others are not used.
    pub own: Vec<Value>,
    /// `a(n)`: the running task and those that it interrupts, innermost last.
    pub stack: Vec<Task>,
    /// `b(n)`: the pending tasks. Their order, the oldest first, means something in a `fifo` buffer alone.
    pub pending: Vec<Task>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// Who it is.
    pub id: TaskId,
    /// Its priority.
    pub level: Level,
    /// Its active procedures, innermost last.
    pub frames: Vec<Frame>,
}

/// An active procedure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// Which.
    pub proc: ProcId,
    /// What remains to be done.
    pub control: Control,
    /// Its local variables.
    pub locals: Vec<Value>,
}

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// On the stack of a buffer, at this index.
    Stack(BufferId, usize),
    /// Pending in a buffer, at this index.
    Pending(BufferId, usize),
}

impl Buffer {
    /// `top(b(n))`: the highest level of a pending task, at least 0.
    pub fn top(&self) -> Level {
        self.pending.iter().map(|t| t.level).max().unwrap_or(0)
    }

    /// The innermost task.
    pub fn innermost(&self) -> Option<&Task> {
        self.stack.last()
    }

    /// Whether the implicit guard `level(c) >= top(c)` of every rule but DISPATCH and SWITCH holds.
    pub fn may_go_on(&self) -> bool {
        self.innermost().is_some_and(|t| t.level >= self.top())
    }

    /// Whether it has no tasks.
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty() && self.pending.is_empty()
    }
}

impl Config {
    /// Where an unfinished task is.
    pub fn find(&self, id: TaskId) -> Option<Whereabouts> {
        self.buffers.iter().find_map(|(n, b)| {
            let on_stack = b.stack.iter().position(|t| t.id == id).map(|i| Whereabouts::Stack(*n, i));
            on_stack.or_else(|| b.pending.iter().position(|t| t.id == id).map(|i| Whereabouts::Pending(*n, i)))
        })
    }

    /// An unfinished task and its buffer.
    pub fn task(&self, id: TaskId) -> Option<(BufferId, &Task)> {
        match self.find(id)? {
            Whereabouts::Stack(n, i) => Some((n, &self.buffers[&n].stack[i])),
            Whereabouts::Pending(n, i) => Some((n, &self.buffers[&n].pending[i])),
        }
    }

    /// All unfinished tasks with their buffers, the innermost of a buffer last, pending ones after them.
    pub fn tasks(&self) -> impl Iterator<Item = (BufferId, &Task)> {
        self.buffers.iter().flat_map(|(n, b)| b.stack.iter().chain(&b.pending).map(move |t| (*n, t)))
    }

    /// The running frame of a buffer.
    pub fn frame(&self, n: BufferId) -> Option<&Frame> {
        self.buffers.get(&n)?.innermost()?.frames.last()
    }

    /// The running task of a buffer, to change it.
    pub fn running(&mut self, n: BufferId) -> &mut Task {
        let buffer = self.buffers.get_mut(&n).expect("a step is made on a buffer that has tasks");
        buffer.stack.last_mut().expect("a step is made by a running task")
    }

    /// The running frame of a buffer, to change it.
    pub fn frame_mut(&mut self, n: BufferId) -> &mut Frame {
        self.running(n).frames.last_mut().expect("a task has a frame")
    }

    /// The least id that names no task and no buffer.
    pub fn free_id(&self) -> TaskId {
        let used = |id: &TaskId| {
            self.finished.contains(id) || self.buffers.contains_key(id) || self.tasks().any(|(_, t)| t.id == *id)
        };
        (0..).find(|id| !used(id)).expect("there are fewer tasks than numbers")
    }
}
