//! How executions end otherwise than by all threads finishing.

use fabius_trace::BugKind;

/// A panic that ended the execution or a thread.
#[derive(Clone, Debug)]
pub(crate) struct Panic {
    pub thread: usize,
    pub message: String,
    pub at: Option<(String, u32, u32)>,
}

/// Why an execution failed, other than by a deadlock.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub kind: BugKind,
    pub message: String,
    pub at: Option<(String, u32, u32)>,
    pub thread: usize,
}

/// Why an execution cannot go on though the test has not failed.
#[derive(Clone, Debug)]
pub(crate) enum Limit {
    /// There is no memory for a stack.
    Memory(String),
    /// A step does not end.
    EndlessStep(String),
    /// Whoever runs the execution does not need the rest.
    Unwanted,
}

impl Limit {
    /// In words.
    pub fn message(&self) -> String {
        match self {
            Limit::Memory(message) | Limit::EndlessStep(message) => message.clone(),
            Limit::Unwanted => "the execution was not continued".into(),
        }
    }
}
