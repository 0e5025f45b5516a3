//! Memory for rows that one writes and others read: chunks that double in size, and are never moved.

use super::zeros;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Bits of a place in the first chunk.
const FIRST_BITS: u32 = 10;
const CHUNKS: usize = (u32::BITS - FIRST_BITS + 1) as usize;

/// Rows of units, each in one chunk. A place counts the units of all chunks.
#[derive(Debug)]
pub(super) struct Rows {
    chunks: [OnceLock<Box<[AtomicU32]>>; CHUNKS],
    end: AtomicUsize,
}

impl Default for Rows {
    fn default() -> Rows {
        Rows { chunks: [const { OnceLock::new() }; CHUNKS], end: AtomicUsize::new(Rows::BEGIN) }
    }
}

impl Rows {
    /// The place of the first row: none has the place 0.
    pub const BEGIN: usize = 1;

    /// Behind the last row, as far as its writer has said.
    pub fn end(&self) -> usize {
        self.end.load(Ordering::Acquire)
    }

    /// The writer says where the last row ends.
    pub fn set_end(&self, end: usize) {
        self.end.store(end, Ordering::Release);
    }

    /// The place of a row of so many units behind `end`, if places of so many bits are enough.
    pub fn room(&self, end: usize, units: usize, bits: u32) -> Option<usize> {
        let mut place = end;
        while place + units > chunk_end(chunk_of(place)) {
            place = chunk_end(chunk_of(place));
            if place >= 1 << bits {
                return None;
            }
        }
        let chunk = chunk_of(place);
        self.chunks[chunk].get_or_init(|| zeros::units(chunk_end(chunk) - chunk_begin(chunk)));
        (place < 1 << bits).then_some(place)
    }

    /// Everything from a place to the end of its chunk.
    #[inline]
    pub fn at(&self, place: usize) -> &[AtomicU32] {
        let chunk = chunk_of(place);
        let units = self.chunks[chunk].get().expect("a row lies in a chunk");
        &units[place - chunk_begin(chunk)..]
    }

    /// The place of the first row from here on. The first unit of a row is not 0.
    pub fn next(&self, mut place: usize, end: usize) -> Option<usize> {
        while place < end {
            let is_row = |first: &AtomicU32| first.load(Ordering::Relaxed) != 0;
            let units = self.chunks[chunk_of(place)].get();
            if units.is_some_and(|units| is_row(&units[place - chunk_begin(chunk_of(place))])) {
                return Some(place);
            }
            // The next row did not fit here.
            place = chunk_end(chunk_of(place));
        }
        None
    }
}

/// The first chunk has so many places, the second as many, the third twice as many, and so on.
#[inline]
fn chunk_of(place: usize) -> usize {
    (usize::BITS - (place >> FIRST_BITS).leading_zeros()) as usize
}

#[inline]
fn chunk_begin(chunk: usize) -> usize {
    if chunk == 0 { 0 } else { 1 << (FIRST_BITS as usize + chunk - 1) }
}

fn chunk_end(chunk: usize) -> usize {
    1 << (FIRST_BITS as usize + chunk)
}
