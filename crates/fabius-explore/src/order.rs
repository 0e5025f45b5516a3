//! Threads and buffers in order of creation, for counting rounds.
//!
//! Paper: Sequentializing Parameterized Programs (2011/12), section 4 (in every round each thread runs, in a fixed order).
//!
//! Deviations:
//! 1. Threads may come into being at any time: each stands behind all that were made before it. (Ids do not tell, since those
//!    of threads that have finished are given away again.)

use crate::codec;
use crate::system::{Born, BufferId};

/// Those that have not finished, and where the round is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    live: Vec<BufferId>,
    /// From this position on they may run without a new round.
    pub at: u32,
}

impl Order {
    /// Threads or tasks were made.
    pub fn born(&mut self, born: &[Born]) {
        for b in born {
            if !self.live.contains(&b.buffer) {
                self.live.push(b.buffer);
            }
        }
    }

    /// A thread or buffer made a step.
    pub fn ran(&mut self, unit: BufferId) {
        self.at = self.position(unit);
    }

    /// A thread or buffer has finished.
    pub fn gone(&mut self, unit: BufferId) {
        let position = self.position(unit);
        self.live.retain(|u| *u != unit);
        self.at -= u32::from(position < self.at);
    }

    /// How many are before a thread or buffer.
    pub fn position(&self, unit: BufferId) -> u32 {
        self.live.iter().position(|u| *u == unit).unwrap_or(self.live.len()) as u32
    }

    /// Appends an encoding of all but where the round is.
    pub fn encode(&self, out: &mut Vec<u8>) {
        codec::put(self.live.len() as u64, out);
        self.live.iter().for_each(|u| codec::put(u64::from(*u), out));
    }

    /// Takes an encoding from the front.
    pub fn decode(&mut self, bytes: &mut &[u8]) {
        let count = codec::get(bytes) as usize;
        self.live.clear();
        self.live.extend((0..count).map(|_| codec::get(bytes) as BufferId));
    }
}
