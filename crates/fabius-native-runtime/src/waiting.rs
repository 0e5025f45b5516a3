//! What threads have announced, as bits of the first ones.

use crate::op::{Op, Wait};
use fabius_explore::ahead::bit;

/// What the first threads have announced, as bits.
#[derive(Default)]
pub struct Waiting {
    /// Those who wait for nothing.
    pub free: u64,
    /// Those who wait for something.
    pub bound: u64,
    /// Those whose operation touches nothing that others see.
    pub quiet: u64,
    /// Those who give way.
    pub yielding: u64,
}

impl Waiting {
    /// The thread is about to do what it has announced.
    #[inline]
    pub fn announces(&mut self, thread: usize, op: &Op) {
        self.ends(thread);
        let bit = bit(thread);
        *(if op.wait == Wait::Not { &mut self.free } else { &mut self.bound }) |= bit;
        self.quiet |= if op.object == 0 { bit } else { 0 };
    }

    /// It gives way where it waits.
    #[inline]
    pub fn gives_way(&mut self, thread: usize) {
        self.yielding |= bit(thread);
    }

    /// The thread does nothing any more.
    #[inline]
    pub fn ends(&mut self, thread: usize) {
        let others = !bit(thread);
        self.free &= others;
        self.bound &= others;
        self.quiet &= others;
        self.yielding &= others;
    }
}
