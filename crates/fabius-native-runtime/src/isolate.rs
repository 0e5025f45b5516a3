//! A process of its own for each execution, for what restored memory does not cover: files that are open, libraries that are
//! loaded, memory of the kernel's.
//!
//! The explorer's memory, stack and thread-local storage are shared by all of these processes. Where the next execution
//! begins, the one that has run the last leaves where its stack is and ends; the process that it comes from, in which the
//! program has never run, makes the next one, which goes on from there.

use crate::rt::rt;
use crate::stacks::{end_like, end_with, fabius_fork_into, fabius_fork_on, fabius_hand_over, process, wait_for};
use std::sync::atomic::Ordering::Relaxed;

/// Runs the explorer, one process after the other.
pub fn run(top: usize, explorer: extern "C" fn(usize), argument: usize) -> ! {
    let header = rt().header;
    // SAFETY: the stack is the explorer's, which does not run yet.
    let mut child = unsafe { fabius_fork_on(top, explorer, argument) };
    loop {
        if child < 0 {
            crate::say::fatal(&[b"no process can be made"]);
        }
        let status = wait_for(child);
        let at = header.hand_over.swap(0, Relaxed);
        if status != 0 || at == 0 {
            end_like(status);
        }
        // SAFETY: the process that has ended left its stack there.
        child = unsafe { fabius_fork_into(at) };
    }
}

/// The process in which an execution begins is a new one.
pub fn renew() {
    let header = rt().header;
    // SAFETY: the next process comes back from here.
    unsafe { fabius_hand_over(header.hand_over.as_ptr()) };
    begin();
}

/// This process is one of them.
pub fn begin() {
    end_with(rt().process);
    rt().worker().process.store(process(), Relaxed);
}
