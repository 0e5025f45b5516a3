//! What the explorer's process and the process of a native program under test say to each other.
//!
//! The two share one file in memory, which the program's process finds open as [`FD`]: the request, what is under way (so that
//! it is known what a process did that has died), and the answer.

mod answer;
mod header;
mod request;

pub use answer::{Answer, Block, Cut, Event, Failed, Module, Pointer, Race, Recorded, RecordedStep, ThreadEnd};
pub use header::{
    CHOICE, Header, MOST_DECISIONS, MOST_POINTS, MOST_WORKERS, START, STATE_BEGAN, STATE_DONE, STATE_RUNS, Worker,
};
pub use request::{Isolation, Request, Walk, What};

/// The descriptor of the shared file in the program's process.
///
/// Low: the kernel looks at all numbers up to the highest whenever those are closed that an execution has left open.
pub const FD: i32 = 60;

/// The name of the shared file, by which the library in the program's process knows that it is under control.
pub const NAME: &str = "fabius-native-3";

/// What `/proc/self/fd` says of the shared file.
pub const LINK: &str = "/memfd:fabius-native-3 (deleted)";

/// Where the request is in the shared file.
pub const REQUEST_AT: u64 = 4096;

/// Where the decisions of the first worker's execution are, each four bytes.
pub const SCHEDULE_AT: u64 = 16 << 20;

/// From the decisions of one worker to those of the next.
pub const SCHEDULE_SIZE: u64 = 4 * MOST_DECISIONS as u64;

/// Where the addresses of data are that are scheduling points, each eight bytes.
pub const POINTS_AT: u64 = SCHEDULE_AT + MOST_WORKERS as u64 * SCHEDULE_SIZE;

/// Where the answer is.
pub const ANSWER_AT: u64 = POINTS_AT + 8 * MOST_POINTS as u64;

/// What is said when two executions with one schedule differ.
pub const NONDETERMINISTIC: &str = "the program behaves differently when the same schedule is run again";

/// The function of the library that is called where an execution fails, for debuggers.
pub const FAILS: &str = "fabius_fails";

/// The signal that says that no scheduling point was reached for long.
pub const STANDS_STILL: i32 = 63;
