//! Data races, and the happens-before relation of an execution.
//!
//! Both are defined over *threads*: a thread is a buffer id, so that the tasks of one buffer, which never run at the
//! same time, are ordered with each other. (Every thread of a program is a buffer of its own.)

mod classes;
mod goldilocks;
mod happens_before;

pub use classes::Classes;
pub(crate) use classes::{has_history, trying};
pub use goldilocks::Detector;
pub use happens_before::HappensBefore;

use crate::system::{Access, BufferId, TaskId};
use fabius_trace::Span;

/// Which two accesses to one variable conflict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Conflict {
    /// Any two: the definition of the paper, for which its theorems hold.
    All,
    /// Any two of which at least one writes.
    #[default]
    ReadWrite,
}

/// A task and the buffer that it runs on; for a thread they are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Runner {
    /// The task.
    pub task: TaskId,
    /// Its buffer.
    pub buffer: BufferId,
}

/// Two accesses to a data variable that nothing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The variable.
    pub variable: u64,
    /// The earlier access. `None` if the detector was decoded since: encodings leave it out, so that states do not
    /// differ by it. Running the schedule again from its beginning tells.
    pub first: Option<Party>,
    /// The later one.
    pub second: Party,
}

/// One side of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party {
    /// The thread, or the buffer whose task it was.
    pub thread: BufferId,
    /// Where.
    pub span: Span,
}

impl Conflict {
    /// Whether an access counts as a write.
    fn writes(self, access: &Access) -> bool {
        self == Conflict::All || access.write
    }
}

/// Splits the accesses of a step into those that happen as one event, and the data accesses after it, each an event
/// of its own.
///
/// A step may be a synchronization access and the data accesses that follow it (scheduling points at synchronization
/// accesses only), or an atomic block with any accesses. What stands before the last synchronization access can only
/// be of the latter kind.
pub fn events(accesses: &[Access]) -> (&[Access], &[Access]) {
    accesses.split_at(accesses.iter().rposition(|a| a.sync).map_or(0, |last| last + 1))
}

#[cfg(test)]
mod tests;
