//! How executions end otherwise than by all threads finishing.

use fabius_trace::BugKind;
use std::panic::Location;

/// Why an execution failed, other than by a deadlock.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub kind: BugKind,
    pub message: String,
    pub at: Option<(String, u32, u32)>,
    pub thread: usize,
}

/// What an execution has left out, so that not all has been explored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LeftOut {
    /// A thread was kept from going on that did not repeat itself, so that others are not left behind.
    Fairness(&'static Location<'static>),
    /// A thread that did not repeat itself was kept from finding old values for ever.
    Old(&'static Location<'static>),
    /// A thread was kept from going on, in an execution in which a loop reads the clock of the machine, as if that stood still.
    Clock(&'static Location<'static>),
    /// A thread gave way as long as an execution may last while another one slept, and then time passed.
    Time(&'static Location<'static>),
    /// Others were kept from going on before an operation, because a panic unwound a stack that cannot be switched.
    Unwinding(&'static Location<'static>),
}

impl LeftOut {
    /// What an answer says of it.
    pub fn message(self) -> String {
        match self {
            LeftOut::Fairness(at) => format!(
                "the loop around {}:{} gave way many times without coming back to where it was, and then had to wait for \
                 others: not all ways to go on were explored",
                at.file(),
                at.line()
            ),
            LeftOut::Old(at) => format!(
                "the loop around {}:{} found old values in many rounds without coming back to where it was, and then had to find \
                 the newest: not all old values were found",
                at.file(),
                at.line()
            ),
            LeftOut::Clock(at) => format!(
                "a loop reads the clock of the machine, and who repeats itself, as around {}:{}, had to wait as if time stood still: not \
                 all ways to go on were explored (`fabius::time` has a clock that passes as the test does)",
                at.file(),
                at.line()
            ),
            LeftOut::Time(at) => format!(
                "the loop around {}:{} gave way, without coming back to where it was, as often as an execution may have steps while \
                 another thread slept, and then time passed: not all ways to go on were explored",
                at.file(),
                at.line()
            ),
            LeftOut::Unwinding(at) => format!(
                "a panic unwound a stack over the operation of {}:{} without letting others go on before or finding an old value, \
                 and was caught: not all ways to go on were explored",
                at.file(),
                at.line()
            ),
        }
    }
}

/// What is said when executions disturb each other.
pub(crate) const SHARED: &str = "a static (or what it refers to) is used by two checks at the same time, or by a check and a \
                                 thread of `std::thread`, which disturb each other: run the tests with `--test-threads 1`, \
                                 the check with one job, and make threads inside of it with `fabius::thread`";
