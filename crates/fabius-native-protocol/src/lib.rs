//! What the explorer's process and the process of a native program under test say to each other.
//!
//! The two share one file in memory, which the program's process finds open as [`FD`]: the request, what is under way (so that
//! it is known what a process did that has died), and the answer.

mod answer;
mod header;
mod request;

pub use answer::{Answer, Cut, Event, Failed, Module, Race, Recorded, RecordedStep, ThreadEnd};
pub use header::{CHOICE, Header, MOST_DECISIONS, MOST_POINTS, START, STATE_BEGAN, STATE_DONE, STATE_RUNS};
pub use request::{Request, Walk, What};

/// The descriptor of the shared file in the program's process.
///
/// Low: the kernel looks at all numbers up to the highest whenever those are closed that an execution has left open.
pub const FD: i32 = 60;

/// The name of the shared file, by which the library in the program's process knows that it is under control.
pub const NAME: &str = "fabius-native-2";

/// What `/proc/self/fd` says of the shared file.
pub const LINK: &str = "/memfd:fabius-native-2 (deleted)";

/// Where the request is in the shared file.
pub const REQUEST_AT: u64 = 4096;

/// Where the decisions of the execution under way are, each four bytes.
pub const SCHEDULE_AT: u64 = 16 << 20;

/// Where the addresses of data are that are scheduling points, each eight bytes.
pub const POINTS_AT: u64 = 24 << 20;

/// Where the answer is.
pub const ANSWER_AT: u64 = 32 << 20;

/// The signal that says that no scheduling point was reached for long.
pub const STANDS_STILL: i32 = 63;
