//! C and C++ programs with threads, explored as they are: built with the compiler's instrumentation for the thread sanitizer
//! and our library instead of its own, run in a process that is watched, and explored there.

mod compile;
mod fields;
mod heap;
mod library;
mod report;
mod shared;
mod source;
mod symbols;
mod trace;
mod unseen;
mod worker;

pub use compile::{Language, compile};
pub use fabius_native_protocol::{Isolation, MOST_WORKERS, Walk};
pub use library::install;
pub use report::{Plan, Problem, Report, SHOWS_MORE, SHRINKING, Target, debug, explore, replay};
pub use worker::Progress;
