//! Memory that a trial reads, writes and uses, as its handler sees it before each instruction. What is not on its stack and not
//! this crate's is borrowed: it must be as before in the end.

use super::emulated::To;
use super::of::Of;
use super::origins::{Lanes, NO_LANES};
use super::{ALL_READS, INDEX, Read, Trial, WRITES};
use crate::rt::instruction::Known;
use crate::rt::moved::{NONE, Origin, READS, STACK, is_static};
use iced_x86::Mnemonic;
use std::ptr;

impl Trial {
    pub(super) fn is_allowed(&self, address: usize, size: usize) -> bool {
        let within = |&(from, length): &(usize, usize)| address >= from && address + size <= from + length;
        self.ranges[..self.ranges_used].iter().any(within)
    }

    pub(super) fn is_on_the_stack(&self, address: usize, size: usize) -> bool {
        address >= self.stack.start && address + size <= self.stack.end
    }

    /// The bytes of the stack that were there when the trial began, as words and bits.
    pub(super) fn own(&self, address: usize, size: usize) -> impl Iterator<Item = (usize, u8)> + use<> {
        let from = self.start.rsp as usize;
        (address..address + size).filter_map(move |at| {
            let at = at.checked_sub(from)?;
            Some((at / 8, 1 << (at % 8)))
        })
    }

    /// Writes down what is read through a word, and says on what it depends, word by word if it is copied so. `None` if there is no
    /// room for it.
    pub(super) unsafe fn reads_from(
        &mut self,
        address: usize,
        size: usize,
        through: Origin,
        how: Pieces,
    ) -> Option<Lanes> {
        let mut lanes = NO_LANES;
        if how == Pieces::Words && address.is_multiple_of(8) && size.is_multiple_of(8) {
            for (lane, at) in (address..address + size).step_by(8).enumerate() {
                // SAFETY: as the caller says.
                lanes[lane] = unsafe { self.reads_piece(at, 8, through)? };
            }
            return Some(lanes);
        }
        // SAFETY: as above.
        let found = unsafe { self.reads_piece(address, size, through)? };
        if how == Pieces::Words && size <= 8 {
            let written = self.origins.of_bytes(address, size);
            lanes[0] = self.origins.both(found, written);
            return Some(lanes);
        }
        for at in (address..address + size).step_by(8) {
            let written = self.origins.of_bytes(at, 8.min(address + size - at));
            self.origins.fix(written.origin);
        }
        self.origins.fix(found.origin);
        Some(lanes)
    }

    unsafe fn reads_piece(&mut self, address: usize, size: usize, through: Origin) -> Option<Of> {
        let is_word = size == 8 && address.is_multiple_of(8);
        let written = if is_word { self.origins.of_memory(address) } else { None };
        if self.is_on_the_stack(address, size) {
            self.origins.reaches_the_stack(through);
            let is_written = |&(word, bit): &(usize, u8)| self.written[word] & bit != 0;
            let all = self.own(address, size).all(|at| is_written(&at));
            let some = self.own(address, size).any(|at| is_written(&at));
            if all {
                return Some(written.unwrap_or(Of::NOTHING));
            }
            let from = address.wrapping_sub(self.start.rsp as usize);
            let place = |(word, bit): (usize, u8)| (8 * word + bit.trailing_zeros() as usize).wrapping_sub(from) % 8;
            let missing = self.own(address, size).filter(|at| !is_written(at));
            let missing = missing.fold(0, |bytes, at| bytes | 1 << place(at));
            // SAFETY: as the caller says.
            let of = Of::whole(unsafe { self.was_there(address, size, STACK)? });
            if !some {
                return Some(of);
            }
            let rest = of.with(missing);
            return Some(self.origins.both(rest, written.unwrap_or(Of::NOTHING)));
        }
        if self.is_allowed(address, size) {
            return match written {
                Some(of) => Some(of),
                // SAFETY: as above.
                None if is_word => unsafe { self.was_there(address, size, through) }.map(Of::whole),
                None => Some(Of::NOTHING),
            };
        }
        if through == NONE && !is_static(address) && !self.is_local(address) {
            self.origins.lose();
        }
        let borrowed = (address..address + size).filter(|byte| self.has_borrowed(*byte)).count();
        if borrowed == 0 {
            // SAFETY: as above.
            return unsafe { self.was_there(address, size, through) }.map(Of::whole);
        }
        for number in 0..self.borrowed.len() {
            let Read { address: from, size: length, through: other, .. } = self.borrowed[number];
            if from < address + size && address < from + length {
                self.origins.join(through, other);
            }
        }
        if borrowed == size {
            return Some(written.unwrap_or(Of::NOTHING));
        }
        for byte in address..address + size {
            if !self.has_borrowed(byte) {
                // SAFETY: as above.
                let origin = unsafe { self.was_there(byte, 1, through)? };
                self.origins.fix(origin);
            }
        }
        Some(written.unwrap_or(Of::NOTHING))
    }

    /// Whether it belongs to the operating system thread.
    fn is_local(&self, address: usize) -> bool {
        (self.local as usize).abs_diff(address) < LOCAL
    }

    /// Whether the round has written to this byte, which must be as before in the end.
    pub(super) fn has_borrowed(&self, byte: usize) -> bool {
        self.borrowed.iter().any(|w| (w.address..w.address + w.size).contains(&byte))
    }

    /// Writes down what was there at the beginning. `None` if there is no room for it.
    unsafe fn was_there(&mut self, address: usize, size: usize, through: Origin) -> Option<Origin> {
        let number = self.number_of(address, size, through)?;
        if number == self.reads.len() {
            // SAFETY: the caller sees to it that the memory is there.
            self.reads.push(Read { through, ..unsafe { Read::now(address, size) } });
        }
        Some(READS + number as Origin)
    }

    /// The number of a read, which is that of the next one if it is new.
    fn number_of(&mut self, address: usize, size: usize, through: Origin) -> Option<usize> {
        let mut at = (address ^ address >> 13 ^ size << 7) % INDEX;
        for _ in 0..INDEX {
            let number = self.index[at] as usize;
            match self.reads.get(number) {
                Some(r) if (r.address, r.size, r.through) == (address, size, through) => return Some(number),
                None if self.reads.len() < ALL_READS => {
                    self.index[at] = self.reads.len() as u16;
                    return Some(self.reads.len());
                }
                None => return None,
                Some(_) => at = (at + 1) % INDEX,
            }
        }
        None
    }

    /// Whether a locked instruction may be tried out: it is made apart from what others see, if it counts something that is there. One
    /// that begins to count from nothing, or that exchanges, may take a lock.
    ///
    /// # Safety
    /// The memory is there.
    pub(super) unsafe fn may_lock(&self, address: usize, size: usize, known: &Known) -> bool {
        if self.is_allowed(address, size) {
            return true;
        }
        if self.is_really_borrowed(address, size) {
            return true;
        }
        let exchanges = known.instruction.mnemonic() == Mnemonic::Cmpxchg;
        // SAFETY: as the caller says.
        let is_there = unsafe { self.private.get(address, size) }.is_some_and(|count| count != 0);
        !self.is_on_the_stack(address, size) && is_there && (self.counts || !exchanges)
    }

    /// Whether the round has written to all of it before, as to memory that nobody else uses.
    fn is_really_borrowed(&self, address: usize, size: usize) -> bool {
        !self.private.overlaps(address, size) && (address..address + size).all(|byte| self.has_borrowed(byte))
    }

    /// Writes down what is overwritten, if it may be.
    pub(super) unsafe fn writes_to(&mut self, address: usize, size: usize, through: Origin, how: Pieces) -> bool {
        if self.is_on_the_stack(address, size) {
            self.origins.reaches_the_stack(through);
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
            return self.writes.len() < WRITES && {
                // SAFETY: the caller sees to it that the memory is there.
                self.writes.push(unsafe { Read::now(address, size) });
                true
            };
        }
        if (self.next.locks || !self.private.is_empty()) && !self.is_really_borrowed(address, size) {
            // In memory it would have to be put back there.
            let words = address & !7..(address + size).next_multiple_of(8);
            let is_apart =
                |byte: usize| !self.has_borrowed(byte) && !self.is_allowed(byte, 1) && !self.is_on_the_stack(byte, 1);
            if !self.private.overlaps(address, size) && !words.into_iter().all(is_apart) {
                return false;
            }
            self.next.to = To::Private;
        }
        // What is there matters, although it is overwritten: it must be there in the end.
        // SAFETY: as above.
        unsafe {
            self.reads_from(address, size, through, how).is_some() && self.borrowed.len() < WRITES && {
                self.borrowed.push(Read { through, ..Read::now(address, size) });
                true
            }
        }
    }

    /// In the end: what it has borrowed is as before in other executions, too, if each word is made of what was there.
    pub(super) fn gives_back(&mut self) {
        for number in 0..self.borrowed.len() {
            let Read { address, size, through, .. } = self.borrowed[number];
            let piece = size.min(8);
            for at in (address..address + size).step_by(piece) {
                let is_word = piece == 8 && at.is_multiple_of(8);
                let last = match self.origins.of_memory(at & !7) {
                    Some(of) if is_word => of,
                    _ => self.origins.of_bytes(at, piece),
                };
                let first = self.number_of(at, piece, through).filter(|number| *number < self.reads.len());
                let first = first.map_or(NONE, |number| READS + number as Origin);
                if !is_word || !last.is_whole {
                    self.origins.fix(first);
                    self.origins.fix(last.origin);
                } else if first != last.origin {
                    self.origins.join(first, last.origin);
                }
            }
        }
    }
}

/// How an instruction takes what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pieces {
    /// As words, which it does not look into.
    Words,
    Whole,
}

/// How far around its beginning is what belongs to an operating system thread.
const LOCAL: usize = 1 << 16;
