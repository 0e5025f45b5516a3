//! What a trial has found out.

use crate::rt::moved::{self, Origin};

/// How a trial has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rt) enum End {
    /// It has come to the next give-way, and has changed nothing but its stack and variables that are known.
    Round,
    /// It would have done something else.
    Other,
    /// It would have read the clock of the machine, so that no round is like another.
    Clock,
}

/// Memory that was read, with what was found; not what the round itself has put on its stack, nor what the crate keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rt) struct Read {
    pub address: usize,
    pub size: usize,
    pub value: [u8; 64],
    /// Through which word.
    pub through: Origin,
    /// Whether it belongs to this crate.
    pub is_ours: bool,
    /// Whether the round writes there itself.
    pub rewritten: bool,
}

/// What a trial has found out.
#[derive(Clone, Debug)]
pub(in crate::rt) struct Outcome {
    pub end: End,
    pub reads: Vec<Read>,
    pub origins: moved::Origins,
    /// What was in the registers that a call preserves.
    pub registers: [u64; 6],
    pub numbers: Vec<u64>,
    pub unusual: Vec<u64>,
    pub found: Vec<(usize, u64)>,
    pub locals: Vec<(usize, usize)>,
    /// Whether it writes to memory that is as before in the end.
    pub borrows: bool,
    /// Before which of its operations that memory is not as before, as bits.
    pub lent: u64,
    /// How many instructions it took.
    pub instructions: u32,
}
