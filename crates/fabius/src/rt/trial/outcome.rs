//! What a trial has found out.

use super::{INSTRUCTIONS, Start, Trial};
use crate::rt::Here;
use crate::rt::moved::{self, Origin, UNKNOWN};
use crate::rt::remains::Leaves;
use std::ptr;

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
    /// The words of the stack that it has written, from where it ends on, and the registers: on what they depend in the end.
    pub leaves: Vec<Leaves>,
    pub leaves_registers: [Origin; 6],
    /// How many instructions it took.
    pub instructions: u32,
}

impl Trial {
    /// The round has come to the next give-way, here.
    pub fn comes_back(&mut self, here: &Here) {
        let rsp = self.start.rsp as usize;
        let words = self.written.iter().enumerate().map(|(word, bytes)| (rsp + 8 * word, *bytes));
        for (address, bytes) in words.filter(|(address, bytes)| *address > here.frame && *bytes != 0) {
            // Of what there was no room for, nothing is known.
            let Some(of) = self.origins.of_memory(address) else { continue };
            self.leaves.push(Leaves { address, bytes, depend: of.bytes, origin: of.origin });
        }
        for (origin, register) in self.leaves_registers.iter_mut().zip(here.registers.as_ref().into_iter().flatten()) {
            let of = self.origins.of_memory(ptr::from_ref(register) as usize);
            *origin = of.map_or(UNKNOWN, |of| of.origin);
        }
    }

    /// What the trial has found out, which is over.
    pub(super) fn outcome(&self) -> Outcome {
        let is_own = |r: &Read| self.is_on_the_stack(r.address, r.size);
        let is_rewritten = |r: &Read| self.own(r.address, r.size).any(|(word, bit)| self.written[word] & bit != 0);
        let is_borrowed = |r: &Read| (r.address..r.address + r.size).any(|byte| self.has_borrowed(byte));
        let reads = self.reads.iter().map(|r| Read {
            // A variable may have been read before it was known to be one.
            is_ours: self.is_allowed(r.address, r.size),
            rewritten: is_own(r) && is_rewritten(r) || is_borrowed(r),
            ..*r
        });
        let reads: Vec<Read> = reads.collect();
        let origins = self.origins.summary(reads.len());
        let Start { rbx, rbp, r12, r13, r14, r15, .. } = self.start;
        let registers = [rbx, rbp, r12, r13, r14, r15];
        let numbers = self.numbers[..self.numbers_used].to_vec();
        let unusual = self.unusual[..self.numbers_used].to_vec();
        let found = self.found[..self.found_used].to_vec();
        let locals = self.locals[..self.locals_used].to_vec();
        let instructions = INSTRUCTIONS - self.left;
        let borrows = !self.borrowed.is_empty();
        let (end, lent) = (self.end, self.lent);
        let (leaves, leaves_registers) = (self.leaves.clone(), self.leaves_registers);
        Outcome {
            end,
            reads,
            origins,
            registers,
            numbers,
            unusual,
            found,
            locals,
            borrows,
            lent,
            leaves,
            leaves_registers,
            instructions,
        }
    }
}
