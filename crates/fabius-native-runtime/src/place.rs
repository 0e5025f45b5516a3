//! Where the program was when it called us: its stack pointer and the registers that a call preserves, which our entries
//! leave here.

use crate::clocks::Mixed;
use std::hash::BuildHasherDefault;

/// Hashes without a key, so that executions are alike.
pub type Fixed = BuildHasherDefault<Mixed>;

/// Where the program called us: the stack pointer, and the registers that a call preserves.
pub static mut REGISTERS: [usize; 7] = [0; 7];

/// A place in a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place([usize; 7]);

impl Place {
    /// From where the program called us last.
    pub fn here() -> Place {
        // SAFETY: written by our own entry of the call that is under way.
        Place(unsafe { REGISTERS })
    }

    /// The program has called us from here, and goes on.
    pub fn back(self) {
        // SAFETY: our own entries write there, and none is under way.
        unsafe { REGISTERS = self.0 };
    }

    /// All of it.
    pub fn words(self) -> [usize; 7] {
        self.0
    }

    /// The stack pointer.
    pub fn stack(self) -> usize {
        self.0[0]
    }
}

/// The place from which the program called us last.
pub fn called_from() -> usize {
    // SAFETY: our own entry has written where the return address is.
    unsafe { *(REGISTERS[0] as *const usize) }
}
