use std::sync::atomic::{AtomicU32, AtomicU64};

/// The beginning of the shared file.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Header {
    /// Bytes of the request.
    pub request: AtomicU64,
    /// Bytes of the answer; 0 before there is one.
    pub answer: AtomicU64,
    /// One of the `STATE_` numbers.
    pub state: AtomicU32,
    /// The cost that is being explored.
    pub bound: AtomicU32,
    /// Executions so far.
    pub executions: AtomicU64,
    /// Steps so far, of all executions: stands still if the program never reaches a scheduling point.
    pub steps: AtomicU64,
    /// Decisions of the execution under way.
    pub decisions: AtomicU32,
    /// Set from outside to end the search.
    pub stop: AtomicU32,
    /// How many addresses of data are scheduling points; they are at [`POINTS_AT`](crate::POINTS_AT).
    pub data_points: AtomicU32,
}

/// The process has not come to the program's `main`.
pub const STATE_BEGAN: u32 = 0;
/// The program is being run under control.
pub const STATE_RUNS: u32 = 1;
/// The answer is there.
pub const STATE_DONE: u32 = 2;

/// Marks the outcome of a choice among the decisions of the execution under way.
pub const CHOICE: u32 = 1 << 31;

/// Stands for the beginning, before the first step, among the decisions of the execution under way.
pub const START: u32 = CHOICE - 1;

/// As many addresses of data as are kept.
pub const MOST_POINTS: usize = 1 << 20;

/// As many decisions as are kept of the execution under way.
pub const MOST_DECISIONS: usize = 1 << 21;
