//! A timer of the program's, as `hooks/timers.rs` runs it.

use crate::op::Sent;

/// What a timer does when it runs out.
#[derive(Clone, Copy)]
pub enum Act {
    /// Nothing.
    Nothing,
    /// Sends a signal to the process.
    Signal(Sent),
    /// The same, to one thread.
    SignalThread(Sent, usize),
    /// Calls a function with an argument.
    Call(usize, usize),
}

/// A timer of the program's.
pub struct Timer {
    /// What it does.
    pub act: Act,
    /// Its time for the next run.
    pub interval: u64,
    /// When it runs out; none if it does not run.
    pub ends: Option<u64>,
    /// How often it was set: earlier runs are over.
    pub set: usize,
    /// It was deleted.
    pub is_gone: bool,
}
