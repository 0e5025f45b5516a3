//! A timer of the program's, as `hooks/timers.rs` runs it.

use crate::connections::Connections;
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
    /// Counts in an event, which the program knows by another number.
    Counts(i32),
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

/// The timer that is read as this file, and its event. Where the kernel does not tell events apart it is the first one.
pub fn by_file(timers: &[Timer], connections: &mut Connections, file: i32) -> Option<(usize, i32)> {
    if timers.is_empty() {
        return None;
    }
    let key = connections.of(file)?;
    let mut events = timers.iter().enumerate().filter_map(|(number, timer)| match timer.act {
        Act::Counts(event) => Some((number, event)),
        _ => None,
    });
    events.find(|(_, event)| connections.of(*event) == Some(key))
}
