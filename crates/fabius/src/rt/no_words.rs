//! Stands in for `words.rs` where nobody has written down how to look at all memory.

use std::io;
use std::ops::Range;

pub(super) struct Words {
    pub looked_at: usize,
}

pub(super) fn number(address: usize) -> usize {
    address
}

pub(super) fn here() -> usize {
    0
}

impl Words {
    pub fn open() -> io::Result<Words> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn mappings() -> io::Result<Vec<Range<usize>>> {
        Words::open().map(|_| Vec::new())
    }

    pub fn look(&mut self, _: Range<usize>, _: impl FnMut(usize)) -> io::Result<()> {
        Ok(())
    }
}
