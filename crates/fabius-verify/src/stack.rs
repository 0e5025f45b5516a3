//! Threads with a stack for deep terms.

use crate::proof::ProofError;
use std::io;
use std::thread::Builder;

/// Starts a thread with much stack, or as much as there is: terms are as deep as executions are long.
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
