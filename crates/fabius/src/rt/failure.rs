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
