//! Memory that a trial reads, writes and uses, as its handler sees it before each instruction. What is not on its stack and not
//! this crate's is borrowed: it must be as before in the end.

use super::{READS, Read, Trial, USES, WRITES};
use std::ptr;

impl Trial {
    pub(super) fn is_allowed(&self, address: usize, size: usize) -> bool {
        let within = |&(from, length): &(usize, usize)| address >= from && address + size <= from + length;
        self.ranges[..self.ranges_used].iter().any(within)
    }

    pub(super) fn is_on_the_stack(&self, address: usize, size: usize) -> bool {
        address >= self.stack.start && address + size <= self.stack.end
    }

    /// The same for all words that some of this memory belongs to.
    pub(super) unsafe fn uses_memory(&mut self, address: usize, size: usize) -> bool {
        let words = (address & !7..address + size).step_by(8);
        let first = (size == 8).then_some(address);
        // SAFETY: the caller sees to it that the memory is there, and so is the whole of each aligned word.
        words.chain(first).all(|at| self.uses(unsafe { (at as *const u64).read_unaligned() }))
    }

    /// Writes down that a word is not only copied. Says whether there is room for it.
    pub(super) fn uses(&mut self, word: u64) -> bool {
        self.used.contains(&word)
            || self.used.len() < USES && {
                self.used.push(word);
                true
            }
    }

    /// The bytes of the stack that were there when the trial began, as words and bits.
    pub(super) fn own(&self, address: usize, size: usize) -> impl Iterator<Item = (usize, u8)> + use<> {
        let from = self.start.rsp as usize;
        (address..address + size).filter_map(move |at| {
            let at = at.checked_sub(from)?;
            Some((at / 8, 1 << (at % 8)))
        })
    }

    /// Writes down that there was an access. Says whether there is room for it.
    fn accesses(&mut self, address: usize) -> bool {
        self.accessed.contains(&address)
            || self.accessed.len() < READS && {
                self.accessed.push(address);
                true
            }
    }

    /// Writes down what is read. Says whether there is room for it.
    pub(super) unsafe fn reads_from(&mut self, address: usize, size: usize) -> bool {
        if self.is_on_the_stack(address, size) {
            if self.own(address, size).all(|(word, bit)| self.written[word] & bit != 0) {
                return true;
            }
        } else if !self.accesses(address) {
            return false;
        } else if self.is_allowed(address, size) {
            return true;
        }
        let mine = (address..address + size).filter(|byte| self.has_borrowed(*byte)).count();
        if mine == 0 {
            // SAFETY: the caller sees to it that the memory is there.
            return unsafe { self.was_there(address, size) };
        }
        // SAFETY: as above.
        mine == size
            || (address..address + size).all(|byte| self.has_borrowed(byte) || unsafe { self.was_there(byte, 1) })
    }

    /// Whether the round has written to this byte, which must be as before in the end.
    pub(super) fn has_borrowed(&self, byte: usize) -> bool {
        self.borrowed.iter().any(|w| (w.address..w.address + w.size).contains(&byte))
    }

    /// Writes down what was there at the beginning. Says whether there is room for it.
    unsafe fn was_there(&mut self, address: usize, size: usize) -> bool {
        self.reads.iter().any(|r| r.address == address && r.size == size)
            || self.reads.len() < READS && {
                // SAFETY: the caller sees to it that the memory is there.
                self.reads.push(unsafe { Read::now(address, size) });
                true
            }
    }

    /// Whether a write there is one to memory that must be as before in the end.
    pub(super) fn must_be_given_back(&self, address: usize, size: usize) -> bool {
        let mine = ptr::from_ref(self) as usize;
        let is_mine = address >= mine && address + size <= mine + size_of::<Trial>();
        !is_mine && !self.is_on_the_stack(address, size) && !self.is_allowed(address, size)
    }

    /// Writes down what is overwritten, if it may be.
    pub(super) unsafe fn writes_to(&mut self, address: usize, size: usize) -> bool {
        if self.is_on_the_stack(address, size) {
            for (word, bit) in self.own(address, size) {
                self.written[word] |= bit;
            }
            return true;
        }
        let mine = ptr::from_ref(self) as usize;
        if address >= mine && address + size <= mine + size_of::<Trial>() {
            return true;
        }
        if self.is_allowed(address, size) {
            return self.accesses(address) && self.writes.len() < WRITES && {
                // SAFETY: the caller sees to it that the memory is there.
                self.writes.push(unsafe { Read::now(address, size) });
                true
            };
        }
        // What is there matters, although it is overwritten: it must be there in the end.
        // SAFETY: as above.
        unsafe {
            self.reads_from(address, size) && self.uses_memory(address, size) && self.borrowed.len() < WRITES && {
                self.borrowed.push(Read::now(address, size));
                true
            }
        }
    }
}
