//! Limits of the search that hold within one step: a step may have a million statements.

use crate::state::State;
use fabius_explore::system::Limit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// When a step is given up.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepLimits<'a> {
    /// The search ends.
    pub deadline: Option<Instant>,
    /// Bytes for the state.
    pub memory: Option<u64>,
    /// Set from outside to end the search.
    pub stop: Option<&'a AtomicBool>,
}

/// Statements after which the limits are looked at.
pub(crate) const OFTEN: u32 = 1024;

impl StepLimits<'_> {
    /// Which limit a step has hit.
    pub(crate) fn hit(&self, state: &State) -> Option<Limit> {
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Some(Limit::Interrupted);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Some(Limit::Time);
        }
        let memory = self.memory?;
        let words = state.words.len() + state.own.iter().map(|(_, own)| own.len()).sum::<usize>();
        let objects: usize = state.heap.iter().map(|o| o.words.len() + 4).sum();
        ((words + objects + 8 * state.tasks.len()) as u64 * 8 > memory).then_some(Limit::Memory)
    }
}
