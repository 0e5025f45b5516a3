use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

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
    /// Set from outside to end the search.
    pub stop: AtomicU32,
    /// How many addresses of data are scheduling points; they are at [`POINTS_AT`](crate::POINTS_AT).
    pub data_points: AtomicU32,
    /// Set inside to end the search.
    pub halt: AtomicBool,
    /// The worker that has died, if the process has.
    pub died: AtomicU32,
    /// Where the explorer goes on in a process of its own for the next execution; 0: nowhere.
    pub hand_over: AtomicU64,
    /// The workers.
    pub workers: [Worker; MOST_WORKERS],
}

/// What a worker is doing.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Worker {
    /// Its process; 0 if there is none.
    pub process: AtomicU32,
    /// Decisions of the execution under way.
    pub decisions: AtomicU32,
    /// Executions so far.
    pub executions: AtomicU64,
    /// Steps so far, of all executions: stands still if the program never reaches a scheduling point.
    pub steps: AtomicU64,
}

impl Header {
    /// Executions of all workers.
    pub fn executions(&self) -> u64 {
        self.workers.iter().map(|w| w.executions.load(Relaxed)).sum()
    }

    /// Steps of all workers.
    pub fn steps(&self) -> u64 {
        self.workers.iter().map(|w| w.steps.load(Relaxed)).sum()
    }
}

/// The most workers.
pub const MOST_WORKERS: usize = 32;

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
