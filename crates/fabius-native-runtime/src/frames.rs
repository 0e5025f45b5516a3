//! Variables of functions that point into a block of the heap, by which the other process finds out what the block is.
//!
//! Only where functions keep the address of their frame in `rbp`, as without optimisation: what is there has to be where the
//! function was called from, which the compiler has told.

use crate::place::Place;
use crate::rt::Rt;
use fabius_native_protocol::{Block, Pointer};

/// Functions that are looked at, from the innermost outwards.
const FUNCTIONS: usize = 4;

/// Bytes of a frame that are looked at.
const LARGEST: usize = 4096;

impl Rt {
    /// The block of the heap that an address is in, and who points into it.
    pub fn block(&self, address: usize) -> Option<Block> {
        let (begin, size) = crate::heap::block(address)?;
        Some(Block { begin: begin as u64, size: size as u64, pointers: self.pointers(begin, size) })
    }

    fn pointers(&self, begin: usize, size: usize) -> Vec<Pointer> {
        let mut found = Vec::new();
        let place = Place::here().words();
        let (stack, mut frame) = (place[0], place[2]);
        let fiber = &self.fibers[self.current];
        if !fiber.holds(stack) {
            return found;
        }
        let mut from = stack + 8;
        // SAFETY: all that is read is between the stack pointer of the call under way and the top of the stack.
        let read = |at: usize| unsafe { *(at as *const usize) };
        let mut pc = read(stack);
        for (called_from, _) in self.threads[self.current].calls.iter().rev().take(FUNCTIONS) {
            let is_frame = frame % 8 == 0 && (from..from + LARGEST).contains(&frame) && fiber.holds(frame + 15);
            if !is_frame || read(frame + 8) != *called_from {
                break;
            }
            for slot in (from.next_multiple_of(8)..frame).step_by(8) {
                let at = read(slot).wrapping_sub(begin);
                if at < size {
                    found.push(Pointer { pc: pc as u64, offset: slot as i64 - frame as i64, at: at as u64 });
                }
            }
            (pc, from, frame) = (read(frame + 8), frame + 16, read(frame));
        }
        found
    }
}
