//! Threads with a stack for deep terms.

use crate::proof::ProofError;

/// Terms are as deep as executions are long.
pub fn with_stack<T: Send>(work: impl FnOnce() -> Result<T, ProofError> + Send) -> Result<T, ProofError> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        worker.map_err(no_thread)?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Why there is no thread.
pub fn no_thread(error: std::io::Error) -> ProofError {
    ProofError::Internal(format!("no thread can be started: {error}"))
}

/// Bytes of stack; only what is used is taken.
pub const STACK: usize = 1 << 30;
