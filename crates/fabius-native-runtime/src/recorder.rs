//! What was written down of an execution so far.

use crate::races::Touch;
use fabius_native_protocol::{Race, RecordedStep};

/// Events of one step that are kept.
pub const MOST: usize = 400;

/// Calls around an event that are kept, innermost first.
pub const DEEPEST: usize = 64;

/// An access that was written down.
pub struct Accessed {
    /// Who, where and how.
    pub touch: Touch,
    /// The thread's time.
    pub time: u64,
    /// Its step and event.
    pub at: (u32, u32),
}

/// What was written down so far.
#[derive(Default)]
pub struct Recorder {
    /// The steps.
    pub steps: Vec<RecordedStep>,
    /// All accesses, to find the first one of a race.
    pub accesses: Vec<Accessed>,
    /// A race.
    pub race: Option<Race>,
    /// A thread that has ended, whose storage is used, and where it ended.
    pub ended: Option<(u32, Vec<u64>)>,
    /// A write whose new value is not known yet: step, event.
    pub pending: Option<(usize, usize)>,
    /// A number of all accesses, to compare two executions by.
    pub number: u64,
}

impl Recorder {
    /// The step and the event that were written down last.
    pub fn here(&self) -> (u32, u32) {
        let step = self.steps.len().saturating_sub(1);
        let events = self.steps.last().map_or(0, |s| s.events.len());
        (step as u32, events.saturating_sub(1) as u32)
    }

    /// The write that was under way has been done.
    pub fn settle(&mut self) {
        let Some((step, event)) = self.pending.take() else { return };
        if let Some(event) = self.steps.get_mut(step).and_then(|s| s.events.get_mut(event)) {
            event.new = value(event.address as usize, event.size as usize);
        }
    }
}

/// What is in memory now.
pub fn value(address: usize, size: usize) -> Option<u64> {
    // SAFETY: the program accesses this now, or has done so in this step.
    unsafe {
        match size {
            1 => Some(u64::from(*(address as *const u8))),
            2 => Some(u64::from((address as *const u16).read_unaligned())),
            4 => Some(u64::from((address as *const u32).read_unaligned())),
            8 => Some((address as *const u64).read_unaligned()),
            _ => None,
        }
    }
}
