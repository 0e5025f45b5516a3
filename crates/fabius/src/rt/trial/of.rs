//! On what a word depends, or a part of it.

use crate::rt::moved::{NONE, Origin};

/// On what a word depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Of {
    pub origin: Origin,
    /// The bytes of it that depend on the origin, as bits.
    pub bytes: u8,
    /// Whether it is the origin plus a constant; else it has only bytes of it.
    pub is_whole: bool,
}

impl Of {
    pub const NOTHING: Of = Of { origin: NONE, bytes: 0, is_whole: true };

    pub fn whole(origin: Origin) -> Of {
        Of { origin, bytes: if origin == NONE { 0 } else { u8::MAX }, is_whole: true }
    }

    /// So many of its bytes, from this one on.
    pub fn part(self, from: usize, size: usize) -> Of {
        self.with(self.bytes >> from & mask(size))
    }

    /// The same with these bytes alone.
    pub fn with(self, bytes: u8) -> Of {
        if bytes == 0 { Of::NOTHING } else { Of { bytes, is_whole: false, ..self } }
    }
}

/// So many bytes, as bits.
pub(super) fn mask(size: usize) -> u8 {
    u8::MAX.checked_shr(8 - size.min(8) as u32).unwrap_or(0)
}
