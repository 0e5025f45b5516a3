//! Stored states: every one once, as bytes, under a small number.

use hashbrown::HashTable;

const CHUNK: usize = 1 << 18;

/// A set of byte strings, numbered from 0 in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    /// Number of a string, and 32 bits of its hash, so that growing need not read the strings again.
    table: HashTable<(u32, u32)>,
    chunks: Vec<Vec<u8>>,
    /// Where each string begins: chunk and offset.
    places: Vec<(u32, u32)>,
}

impl Interner {
    /// The number of a string, and whether it is new. `tag` is a function of the string.
    pub fn intern(&mut self, bytes: &[u8], tag: u32) -> (u32, bool) {
        let Interner { table, chunks, places } = self;
        let same = |entry: &(u32, u32)| entry.1 == tag && get(chunks, places, entry.0) == bytes;
        if let Some(entry) = table.find(spread(tag), same) {
            return (entry.0, false);
        }
        let number = self.places.len() as u32;
        self.push(bytes);
        self.table.insert_unique(spread(tag), (number, tag), |entry| spread(entry.1));
        (number, true)
    }

    /// The string with this number.
    pub fn get(&self, number: u32) -> &[u8] {
        get(&self.chunks, &self.places, number)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes in use, about.
    pub fn memory(&self) -> usize {
        self.table.allocation_size() + self.places.capacity() * 8 + self.chunks.iter().map(Vec::capacity).sum::<usize>()
    }

    fn push(&mut self, bytes: &[u8]) {
        let mut length = Vec::new();
        crate::codec::put(bytes.len() as u64, &mut length);
        let needed = length.len() + bytes.len();
        if self.chunks.last().is_none_or(|c| c.len() + needed > c.capacity()) {
            let small = if self.chunks.is_empty() { 1 << 10 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(needed.max(small)));
        }
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        self.places.push((last as u32, chunk.len() as u32));
        chunk.extend_from_slice(&length);
        chunk.extend_from_slice(bytes);
    }
}

fn get<'a>(chunks: &'a [Vec<u8>], places: &[(u32, u32)], number: u32) -> &'a [u8] {
    let (chunk, offset) = places[number as usize];
    let mut bytes = &chunks[chunk as usize][offset as usize..];
    let length = crate::codec::get(&mut bytes) as usize;
    &bytes[..length]
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
                let (number, new) = interner.intern(&text, tag);
                assert_eq!((number, new), (expected, expected == next));
                assert_eq!(interner.get(number), text);
            }
            assert_eq!(interner.len(), seen.len());
        }
    }
}
