//! Where the stacks of fibers are in memory, by the numbers of the fibers.

use crate::arena::OURS;
use std::ops::Range;

/// Bytes of stack.
pub const STACK: usize = 8 << 20;

/// From one fiber's memory to the next.
pub const STRIDE: usize = 16 << 20;

/// Where the memory of fibers begins.
pub const BASE: usize = OURS.start + (1 << 40);

/// The most fibers.
pub const MOST: usize = 4096;

/// The stack of the fiber with this number.
pub fn stack_number(number: usize) -> Range<usize> {
    let bottom = BASE + number * STRIDE + 4096;
    bottom..bottom + STACK
}

/// The fiber on whose stack an address is, and that stack.
pub fn stack_of(address: usize) -> Option<(usize, Range<usize>)> {
    let number = address.checked_sub(BASE)? / STRIDE;
    Some((number, stack_number(number))).filter(|(number, stack)| *number < MOST && stack.contains(&address))
}

/// The fiber whose stack or thread-local storage an address is in.
#[inline(always)]
pub fn fiber_of(address: usize) -> Option<usize> {
    Some(address.wrapping_sub(BASE) / STRIDE).filter(|number| *number < MOST)
}
