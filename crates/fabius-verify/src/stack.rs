//! Threads with a stack for deep terms.

use crate::proof::ProofError;
use std::io;
use std::sync::Mutex;
use std::thread::{Builder, scope};

/// Terms are as deep as executions are long.
pub fn with_stack<T: Send>(work: impl FnOnce() -> Result<T, ProofError> + Send) -> Result<T, ProofError> {
    let work = Mutex::new(Some(work));
    scope(|scope| {
        let worker = with_room(|builder| {
            builder.spawn_scoped(scope, || {
                let work = work.lock().expect("nobody has panicked with it").take();
                work.expect("it is started once")()
            })
        });
        worker.map_err(no_thread)?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Starts a thread with much stack, or as much as there is.
pub fn with_room<T>(mut start: impl FnMut(Builder) -> io::Result<T>) -> io::Result<T> {
    let mut size = STACK;
    loop {
        match start(Builder::new().stack_size(size)) {
            Err(_) if size > LEAST_STACK => size /= 4,
            started => return started,
        }
    }
}

/// Why there is no thread.
pub fn no_thread(error: io::Error) -> ProofError {
    ProofError::Internal(format!("no thread can be started: {error}"))
}

/// Bytes of stack; only what is used is taken.
const STACK: usize = 1 << 30;

/// Bytes of stack with which work is begun at least.
const LEAST_STACK: usize = 1 << 24;
