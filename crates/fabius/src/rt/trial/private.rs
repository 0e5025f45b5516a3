//! Words that a trial has changed as other operating system threads would see at once: they are kept apart, and memory stays as it is.
//!
//! Most are counts of references. Once there are such words, whatever else the round writes to memory that is not its own is kept here
//! as well, so that nothing is done on the strength of what it only seems to have taken.

/// Words of one trial.
const ROOM: usize = 32;

#[derive(Clone, Copy, Default)]
struct Word {
    address: usize,
    before: u64,
    value: u64,
}

#[derive(Default)]
pub(super) struct Private {
    words: [Word; ROOM],
    used: usize,
}

impl Private {
    pub fn clear(&mut self) {
        self.used = 0;
    }

    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    fn words(&self) -> &[Word] {
        &self.words[..self.used]
    }

    /// Whether some of these bytes are kept here.
    pub fn overlaps(&self, address: usize, size: usize) -> bool {
        self.words().iter().any(|word| word.address < address + size && address < word.address + 8)
    }

    /// Whether a word is another one than it was.
    pub fn has_changed(&self) -> bool {
        self.words().iter().any(|word| word.value != word.before)
    }

    /// What is at an address; `None` if it is more than a word.
    ///
    /// # Safety
    /// It is there.
    pub unsafe fn get(&self, address: usize, size: usize) -> Option<u64> {
        let from = address % 8;
        let known = self.words().iter().find(|word| word.address == address - from).map(|word| word.value);
        // SAFETY: the rest of the word is on the same page.
        let word = known.unwrap_or_else(|| unsafe { ((address - from) as *const u64).read_volatile() });
        (from + size <= 8).then(|| word >> (8 * from) & mask(size))
    }

    /// Puts something there. `None`, and nothing is done, if it is more than a word, or if there is no room.
    ///
    /// # Safety
    /// It is there.
    pub unsafe fn put(&mut self, address: usize, size: usize, value: u64) -> Option<()> {
        let from = address % 8;
        let address = address - from;
        if from + size > 8 {
            return None;
        }
        let at = self.words().iter().position(|word| word.address == address).unwrap_or(self.used);
        if at == self.used {
            let word = self.words.get_mut(at)?;
            // SAFETY: the rest of the word is on the same page.
            let before = unsafe { (address as *const u64).read_volatile() };
            *word = Word { address, before, value: before };
            self.used += 1;
        }
        let word = &mut self.words[at].value;
        *word = *word & !(mask(size) << (8 * from)) | (value & mask(size)) << (8 * from);
        Some(())
    }
}

/// So many bytes.
fn mask(size: usize) -> u64 {
    u64::MAX >> (64 - 8 * size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_stays_as_it_is() {
        let memory = [0x1111_2222_3333_4444u64, 5];
        let at = (&raw const memory).expose_provenance();
        let mut private = Private::default();
        // SAFETY: it is there.
        unsafe {
            assert_eq!((private.get(at + 2, 2), private.get(at + 6, 4)), (Some(0x3333), None));
            assert_eq!(private.put(at + 2, 2, 0xaaaa), Some(()));
            assert_eq!((private.get(at, 8), private.get(at + 8, 8)), (Some(0x1111_2222_aaaa_4444), Some(5)));
            assert_eq!(private.put(at + 6, 4, 0), None);
            assert!(private.has_changed() && private.overlaps(at + 7, 1) && !private.overlaps(at + 8, 8));
            assert_eq!(private.put(at + 2, 2, 0x3333), Some(()));
        }
        assert!(!private.has_changed());
        assert_eq!(memory, [0x1111_2222_3333_4444, 5]);
    }
}
