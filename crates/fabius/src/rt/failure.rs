//! How executions end otherwise than by all threads finishing.

use fabius_trace::BugKind;

/// Why an execution failed, other than by a deadlock.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub kind: BugKind,
    pub message: String,
    pub at: Option<(String, u32, u32)>,
    pub thread: usize,
}

/// What is said when executions disturb each other.
pub(crate) const SHARED: &str = "a static (or what it refers to) is used by two checks at the same time, or by a check and a \
                                 thread of `std::thread`, which disturb each other: run the tests with `--test-threads 1`, \
                                 the check with one job, and make threads inside of it with `fabius::thread`";
