//! Stored states: every one once, as bytes, under a small number.

use hashbrown::HashTable;

/// Bytes of a chunk, and of the unit that handles count in.
const CHUNK: usize = 1 << 18;
const UNIT: usize = 8;
/// Bits of a handle that hold the offset in a chunk, in units.
const OFFSET_BITS: u32 = (CHUNK / UNIT).trailing_zeros();

/// A set of byte strings. Each has a handle, which says where it is, and a number: they are numbered from 0.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    /// Handle of a string, and 32 bits of its hash, so that growing need not read the strings again.
    table: HashTable<(u32, u32)>,
    /// Number, length and bytes of the strings, one after the other.
    chunks: Vec<Vec<u8>>,
    count: u32,
}

impl Interner {
    /// The handle of a string, and whether it is new. `tag` is a function of the string.
    pub fn intern(&mut self, bytes: &[u8], tag: u32) -> (u32, bool) {
        let Interner { table, chunks, .. } = self;
        let same = |entry: &(u32, u32)| entry.1 == tag && find(chunks, entry.0).1 == bytes;
        if let Some(entry) = table.find(spread(tag), same) {
            return (entry.0, false);
        }
        let handle = self.push(bytes);
        self.table.insert_unique(spread(tag), (handle, tag), |entry| spread(entry.1));
        (handle, true)
    }

    /// The string with this handle.
    pub fn get(&self, handle: u32) -> &[u8] {
        find(&self.chunks, handle).1
    }

    /// Its number.
    pub fn number(&self, handle: u32) -> usize {
        find(&self.chunks, handle).0 as usize
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Bytes in use, about.
    pub fn memory(&self) -> usize {
        self.table.allocation_size() + self.chunks.iter().map(Vec::capacity).sum::<usize>()
    }

    fn push(&mut self, bytes: &[u8]) -> u32 {
        let needed = bytes.len() + 2 * UNIT;
        let full = |c: &Vec<u8>| c.len() + needed > c.capacity() || c.len() >= CHUNK;
        if self.chunks.last().is_none_or(full) {
            let small = if self.chunks.is_empty() { 1 << 10 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(needed.max(small)));
        }
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        let handle = (last as u32) << OFFSET_BITS | (chunk.len() / UNIT) as u32;
        chunk.extend_from_slice(&self.count.to_le_bytes());
        crate::codec::put(bytes.len() as u64, chunk);
        chunk.extend_from_slice(bytes);
        chunk.resize(chunk.len().next_multiple_of(UNIT), 0);
        self.count += 1;
        handle
    }
}

/// Number and bytes of a string.
fn find(chunks: &[Vec<u8>], handle: u32) -> (u32, &[u8]) {
    let offset = (handle & ((1 << OFFSET_BITS) - 1)) as usize * UNIT;
    let at = &chunks[(handle >> OFFSET_BITS) as usize][offset..];
    let (number, mut rest) = at.split_first_chunk().expect("a handle leads to a string");
    let length = crate::codec::get(&mut rest) as usize;
    (u32::from_le_bytes(*number), &rest[..length])
}

/// Makes all 64 bits depend on the tag.
fn spread(tag: u32) -> u64 {
    u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32) ^ u64::from(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_have_one_number_even_if_all_hashes_collide() {
        for tag_of in [|_: u32| 7, |i: u32| i.wrapping_mul(0x9e37_79b9)] {
            let mut interner = Interner::default();
            let text = |i: u32| vec![i as u8; (i % 300) as usize];
            let mut seen = std::collections::HashMap::new();
            for i in (0..2000).chain(0..2000) {
                let text = text(i % 1000);
                let next = seen.len() as u32;
                let expected = *seen.entry(text.clone()).or_insert(next);
                let tag = if tag_of(1) == 7 { 7 } else { text.iter().map(|b| u32::from(*b) + 1).sum() };
                let (handle, new) = interner.intern(&text, tag);
                assert_eq!((interner.number(handle) as u32, new), (expected, expected == next));
                assert_eq!(interner.get(handle), text);
            }
            assert_eq!(interner.len(), seen.len());
        }
    }
}
