//! Schedulers: small values with `give`, `take` and `delay` that belong to the state of a search.
//!
//! [`Queue`] is one of the four base schedulers, or what the program says of a buffer. [`Levels`] puts priorities over them, [`Buffers`] several task buffers
//! over that. What stands behind the ids is asked of a [`View`] of the current state.

mod bag;
mod bounded_bag;
mod buffers;
mod depth_first;
mod fifo;
mod levels;
mod round_robin;

pub use bag::Bag;
pub use bounded_bag::BoundedBag;
pub use buffers::{Buffers, Delayed, Pick};
pub use depth_first::DepthFirst;
pub use fifo::Fifo;
pub use levels::Levels;
pub use round_robin::RoundRobin;

use crate::system::{BufferId, FIFO_BUFFER, TaskId};
use fabius_trace::SchedulerKind;
use std::cmp::Ordering;

/// What a scheduler asks of the state.
pub trait View {
    /// Whether the task's next step is possible now.
    fn ready(&self, task: TaskId) -> bool;

    /// Whether the task's last step gave way to others.
    fn gave_way(&self, _: TaskId) -> bool {
        false
    }

    /// Whether two tasks are equal but for their ids, and nobody can refer to either.
    fn same(&self, a: TaskId, b: TaskId) -> bool {
        a == b
    }

    /// An order in which equal tasks stand together.
    fn compare(&self, a: TaskId, b: TaskId) -> Ordering {
        a.cmp(&b)
    }
}

/// How a task comes to the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// It is new.
    Posted,
    /// It ran and gave up control.
    Yielded,
}

/// One of the base schedulers, or the queue of a buffer that has one.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Queue {
    Bag(Bag),
    BoundedBag(BoundedBag),
    RoundRobin(RoundRobin),
    DepthFirst(DepthFirst),
    Fifo(Fifo),
}

/// Whether there is never more than one task to take.
pub fn is_deterministic(kind: SchedulerKind) -> bool {
    matches!(kind, SchedulerKind::RoundRobin | SchedulerKind::DepthFirst)
}

/// Whether every task that is given can be taken later.
pub fn is_lossless(kind: SchedulerKind) -> bool {
    !matches!(kind, SchedulerKind::BoundedBag(_))
}

impl Clone for Queue {
    fn clone(&self) -> Queue {
        match self {
            Queue::Bag(q) => Queue::Bag(q.clone()),
            Queue::BoundedBag(q) => Queue::BoundedBag(q.clone()),
            Queue::RoundRobin(q) => Queue::RoundRobin(q.clone()),
            Queue::DepthFirst(q) => Queue::DepthFirst(q.clone()),
            Queue::Fifo(q) => Queue::Fifo(q.clone()),
        }
    }

    /// Without a new allocation for the scheduler that is used most.
    fn clone_from(&mut self, from: &Queue) {
        match (self, from) {
            (Queue::Bag(to), Queue::Bag(from)) => to.clone_from(from),
            (to, from) => *to = from.clone(),
        }
    }
}

impl Queue {
    /// Nothing is pending.
    pub fn new(kind: SchedulerKind) -> Queue {
        match kind {
            SchedulerKind::Bag => Queue::Bag(Bag::default()),
            SchedulerKind::BoundedBag(limit) => Queue::BoundedBag(BoundedBag::new(limit)),
            SchedulerKind::RoundRobin => Queue::RoundRobin(RoundRobin::default()),
            SchedulerKind::DepthFirst => Queue::DepthFirst(DepthFirst::default()),
        }
    }

    /// Nothing is pending in a level of the buffer.
    pub fn of_buffer(buffer: BufferId, kind: SchedulerKind) -> Queue {
        if buffer & FIFO_BUFFER != 0 { Queue::Fifo(Fifo::default()) } else { Queue::new(kind) }
    }

    /// A task is posted, or gives up control.
    pub fn give(&mut self, task: TaskId, given: Given, view: &impl View) {
        match self {
            Queue::Bag(q) => q.give(task),
            Queue::BoundedBag(q) => q.give(task, view),
            Queue::RoundRobin(q) => q.give(task, given),
            Queue::DepthFirst(q) => q.give(task),
            Queue::Fifo(q) => q.give(task),
        }
    }

    /// The tasks that [`Queue::take`] may take. Only the depth-first scheduler offers one that is not ready.
    pub fn options(&self, view: &impl View, out: &mut Vec<TaskId>) {
        match self {
            Queue::Bag(q) | Queue::BoundedBag(BoundedBag { bag: q, .. }) => q.options(view, out),
            Queue::RoundRobin(q) => out.extend(q.option(view)),
            Queue::DepthFirst(q) => out.extend(q.option()),
            Queue::Fifo(q) => out.extend(q.option(view)),
        }
    }

    /// Takes one of the options.
    pub fn take(&mut self, option: TaskId, view: &impl View) {
        let taken = match self {
            Queue::Bag(q) | Queue::BoundedBag(BoundedBag { bag: q, .. }) => {
                q.take(option);
                Some(option)
            }
            Queue::RoundRobin(q) => q.take(view),
            Queue::DepthFirst(q) => q.take(),
            Queue::Fifo(q) => {
                q.remove(option);
                Some(option)
            }
        };
        debug_assert_eq!(taken, Some(option), "only an option may be taken");
    }

    /// Forgets a pending task.
    pub fn remove(&mut self, task: TaskId) {
        match self {
            Queue::Bag(q) | Queue::BoundedBag(BoundedBag { bag: q, .. }) => q.take(task),
            Queue::RoundRobin(q) => q.remove(task),
            Queue::DepthFirst(q) => q.remove(task),
            Queue::Fifo(q) => q.remove(task),
        }
    }

    /// Puts a task that was taken back, behind the others as far as the scheduler knows an order.
    pub fn delay(&mut self, task: TaskId) {
        match self {
            Queue::Bag(q) | Queue::BoundedBag(BoundedBag { bag: q, .. }) => q.give(task),
            Queue::RoundRobin(q) => q.delay(task),
            Queue::DepthFirst(q) => q.delay(task),
            Queue::Fifo(q) => q.give(task),
        }
    }

    /// Whether there is an order of the scheduler's own in it, which delays change.
    pub fn can_delay(&self) -> bool {
        !matches!(self, Queue::Fifo(_)) && self.len() > 1
    }

    /// How many tasks are pending.
    pub fn len(&self) -> usize {
        match self {
            Queue::Bag(q) | Queue::BoundedBag(BoundedBag { bag: q, .. }) => q.pending().len(),
            Queue::RoundRobin(q) => q.pending().len(),
            Queue::DepthFirst(q) => q.pending().count(),
            Queue::Fifo(q) => q.pending().len(),
        }
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the pending tasks, in an order that depends on the value alone.
    pub fn pending(&self, out: &mut Vec<TaskId>) {
        match self {
            Queue::Bag(q) | Queue::BoundedBag(BoundedBag { bag: q, .. }) => out.extend(q.pending()),
            Queue::RoundRobin(q) => out.extend(q.pending()),
            Queue::DepthFirst(q) => out.extend(q.pending()),
            Queue::Fifo(q) => out.extend(q.pending()),
        }
    }

    /// Whether some pending task is ready.
    pub fn any_ready(&self, view: &impl View) -> bool {
        match self {
            Queue::Bag(q) | Queue::BoundedBag(BoundedBag { bag: q, .. }) => q.pending().iter().any(|t| view.ready(*t)),
            Queue::RoundRobin(q) => q.pending().iter().any(|t| view.ready(*t)),
            Queue::DepthFirst(q) => q.pending().any(|t| view.ready(t)),
            Queue::Fifo(q) => q.option(view).is_some(),
        }
    }

    /// Does what the next `take` does first, so that values that behave alike are equal. Only where nothing will be
    /// given before that.
    pub(crate) fn settle(&mut self) {
        match self {
            Queue::Bag(_) | Queue::BoundedBag(_) | Queue::Fifo(_) => {}
            Queue::RoundRobin(q) => q.settle(),
            Queue::DepthFirst(q) => q.settle(),
        }
    }

    /// Where the order of tasks does not matter, sorts them by what they are.
    pub(crate) fn sort(&mut self, view: &impl View) {
        if let Queue::Bag(q) | Queue::BoundedBag(BoundedBag { bag: q, .. }) = self {
            q.sort(view);
        }
    }

    /// Calls `rename` with every pending task, in the order of [`Queue::pending`].
    pub(crate) fn rename(&mut self, rename: impl FnMut(&mut TaskId)) {
        match self {
            Queue::Bag(q) | Queue::BoundedBag(BoundedBag { bag: q, .. }) => q.pending_mut().iter_mut().for_each(rename),
            Queue::RoundRobin(q) => q.pending_mut().iter_mut().for_each(rename),
            Queue::DepthFirst(q) => q.pending_mut().for_each(rename),
            Queue::Fifo(q) => q.pending_mut().iter_mut().for_each(rename),
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Queue::Bag(q) | Queue::BoundedBag(BoundedBag { bag: q, .. }) => q.encode(out),
            Queue::RoundRobin(q) => q.encode(out),
            Queue::DepthFirst(q) => q.encode(out),
            Queue::Fifo(q) => q.encode(out),
        }
    }

    pub(crate) fn decode(&mut self, bytes: &mut &[u8]) {
        match self {
            Queue::Bag(q) | Queue::BoundedBag(BoundedBag { bag: q, .. }) => q.decode(bytes),
            Queue::RoundRobin(q) => q.decode(bytes),
            Queue::DepthFirst(q) => q.decode(bytes),
            Queue::Fifo(q) => q.decode(bytes),
        }
    }
}
