//! Which words a trial has made others of, so that what it has shown holds where memory lies elsewhere.
//!
//! A word that the round finds in a register, in memory, or as a place of a local value is an origin. Each register and each word of
//! memory that the round has written is known to be an origin plus a constant, or not to depend on addresses. What the round
//! does with an origin is written down: whether it has reached memory through it, whether it has looked at it otherwise
//! than as at an address, and with which other origins it was compared.
//!
//! 1. Addresses are added to constants, compared with each other, with null, and looked at in their lowest bits. Whatever else is
//!    done with a word, it must be the same then.
//! 2. Of an address and a number that are added, the number is the one that is small; it must be the same.
//! 3. The stack pointer is an origin, too, and stays it whatever is done with it: another execution may run on another stack. Words
//!    that point to the stack move as far.
//! 4. Who compares two addresses asks whether they are the same, or which one is higher, as of two of one block: the next
//!    instructions that read the flags say which. Of what else the flags say, only the parity is not the same for all addresses.
//! 5. Of a word that depends on an origin in some of its bytes (the others were overwritten), an instruction that takes other bytes
//!    learns nothing of the origin: they are the same whatever it is. One that takes any of them fixes the origin as a whole.
//!
//! Length: what instructions do with words is one match, and a fifth are its tests.

#[cfg(test)]
mod processor;

use super::of::{Of, mask};
use crate::rt::flow::{Does, Flow, MARKS, OfVectors, Slot};
use crate::rt::instruction::{Known, Place, is_so};
use crate::rt::moved::{
    self, Done, Keeps, LOCALS, LOWEST, LOWEST_ADDRESS, NONE, Origin, Pair, READS, REGISTERS, STACK,
};
use iced_x86::RflagsBits as Bits;
use libc::greg_t;

const ALL: usize = READS as usize + super::ALL_READS;

/// Words of memory that are written.
const WORDS: usize = 1 << 13;
const PAIRS: usize = 256;

/// A word of memory that was written: where, what, and on which origin it depends.
#[derive(Clone, Copy, Default)]
struct Written {
    address: usize,
    word: u64,
    of: Of,
    trial: u32,
}

/// Of which two words the flags tell; and how far the first is behind the other, if they were compared.
#[derive(Clone, Copy, Default)]
struct Flags {
    of: [Origin; 2],
    compared: Option<u64>,
}

/// What is known of them while a trial is under way.
pub(super) struct Origins {
    general: [Of; 17],
    vectors: [Lanes; 32],
    /// The carry flag, and the others.
    flags: [Flags; 2],
    /// The registers where a call begins that is not looked at, and whether one is under way.
    before: [greg_t; 17],
    looks_away: bool,
    written: Box<[Written]>,
    trial: u32,
    /// The words that the last instruction has written, which has run now.
    pending: [usize; 8],
    pending_used: usize,
    done: Box<[Done]>,
    pairs: Vec<Pair>,
    /// There was no room: nothing may be another address.
    lost: bool,
}

/// The words that an instruction has read from memory.
pub(super) type Lanes = [Of; 8];

pub(super) const NO_LANES: Lanes = [Of::NOTHING; 8];

impl Origins {
    pub(super) fn new() -> Origins {
        Origins {
            general: [Of::NOTHING; 17],
            vectors: [NO_LANES; 32],
            flags: [Flags::default(); 2],
            before: [0; 17],
            looks_away: false,
            written: vec![Written::default(); WORDS].into_boxed_slice(),
            trial: 0,
            pending: [0; 8],
            pending_used: 0,
            done: vec![Done::default(); ALL].into_boxed_slice(),
            pairs: Vec::with_capacity(PAIRS),
            lost: false,
        }
    }

    /// A trial begins, with these registers that a call preserves.
    pub(super) fn begin(&mut self) {
        self.general = [Of::NOTHING; 17];
        for (origin, register) in (REGISTERS..).zip(PRESERVED) {
            self.general[register as usize] = Of::whole(origin);
        }
        self.general[RSP] = Of::whole(STACK);
        (self.pending_used, self.lost, self.looks_away) = (0, false, false);
        (self.vectors, self.flags) = ([NO_LANES; 32], [Flags::default(); 2]);
        self.trial += 1;
        self.done.fill(Done::default());
        self.pairs.clear();
    }

    pub(super) fn summary(&self, reads: usize) -> moved::Origins {
        let done = self.done[..READS as usize + reads].to_vec();
        moved::Origins { done, pairs: self.pairs.clone(), lost: self.lost }
    }

    /// A call begins that is not looked at.
    pub(super) fn looks_away(&mut self, registers: &[greg_t]) {
        self.before.copy_from_slice(&registers[..17]);
        self.looks_away = true;
    }

    /// It has returned: what a call preserves is as it was, and depends on what it did; the rest depends on nothing that is known.
    fn looks_again(&mut self, registers: &[greg_t]) {
        for register in (0..self.general.len()).filter(|register| !PRESERVED.contains(&(*register as i32))) {
            self.general[register] = if register == RSP { Of::whole(STACK) } else { Of::NOTHING };
        }
        (self.vectors, self.flags) = ([NO_LANES; 32], [Flags::default(); 2]);
        // Where a trial ends in the midst of it, it has not returned.
        let is_as_it_was = |register: &i32| registers[*register as usize] == self.before[*register as usize];
        self.lost |= registers[RSP] != self.before[RSP] + 8 || !PRESERVED.iter().all(is_as_it_was);
    }

    /// The register holds the place of a local value.
    pub(super) fn is_local(&mut self, register: i32, number: usize) {
        self.general[register as usize] = Of::whole(LOCALS + number as Origin);
    }

    /// The last instruction has run, and left these registers.
    pub(super) fn settle(&mut self, registers: &[greg_t]) {
        if std::mem::take(&mut self.looks_away) {
            self.looks_again(registers);
        }
        for at in 0..std::mem::take(&mut self.pending_used) {
            let address = self.pending[at];
            if let Some(slot) = self.slot(address) {
                // SAFETY: the instruction has written there.
                self.written[slot].word = unsafe { (address as *const u64).read() };
            }
        }
    }

    /// It must be the same.
    pub(super) fn fix(&mut self, origin: Origin) {
        if origin != NONE {
            let done = &mut self.done[usize::from(origin)];
            (done.used, done.fixed) = (true, true);
        }
    }

    /// What is in a register must be the same.
    pub(super) fn looks_at(&mut self, register: i32) {
        self.fix(self.general[register as usize].origin);
    }

    fn uses(&mut self, origin: Origin) {
        if origin != NONE {
            self.done[usize::from(origin)].used = true;
        }
    }

    /// What is more than copied: nothing can be made of a part.
    fn whole(&mut self, of: Of) -> Origin {
        if of.is_whole {
            return of.origin;
        }
        self.fix(of.origin);
        NONE
    }

    pub(super) fn lose(&mut self) {
        self.lost = true;
    }

    /// Both move together, if they do.
    pub(super) fn join(&mut self, a: Origin, b: Origin) {
        self.pair(a, b, Keeps::Distance);
    }

    fn pair(&mut self, a: Origin, b: Origin, keeps: Keeps) {
        let pair = Pair { origins: [a, b], keeps };
        self.uses(a);
        self.uses(b);
        match (a, b) {
            _ if a == b => {}
            (a, NONE) => self.fix(a),
            (NONE, b) => self.fix(b),
            _ if self.pairs.contains(&pair) => {}
            _ if self.pairs.len() < PAIRS => self.pairs.push(pair),
            _ => self.lost = true,
        }
    }

    fn slot(&self, address: usize) -> Option<usize> {
        // Words in a row are spread: a stack and a block of the heap that lie at the same distance from where the table would begin again
        // leave no room for each other.
        let mut at = (address / 8).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - WORDS.trailing_zeros());
        for _ in 0..64 {
            let known = &self.written[at];
            if known.trial != self.trial || known.address == address {
                return Some(at);
            }
            at = (at + 1) % WORDS;
        }
        None
    }

    /// On what an aligned word of memory depends that the round has written; `None` if it has not.
    pub(super) fn of_memory(&self, address: usize) -> Option<Of> {
        let known = self.slot(address).map(|slot| &self.written[slot]).filter(|known| known.trial == self.trial)?;
        // SAFETY: it has written there. What this crate has overwritten is another word.
        let is_there = unsafe { (address as *const u64).read() } == known.word;
        Some(if is_there { known.of } else { Of::NOTHING })
    }

    /// A part of a word is read or written.
    pub(super) fn looks_into(&mut self, address: usize, size: usize) {
        for word in (address & !7..address + size).step_by(8) {
            self.fix(self.of_memory(word).map_or(NONE, |of| of.origin));
        }
    }

    /// Bytes that depend on these. It must be one origin.
    pub(super) fn both(&mut self, a: Of, b: Of) -> Of {
        if b.bytes == 0 {
            return a;
        }
        if a.bytes != 0 && a.origin != b.origin {
            self.fix(b.origin);
            return a;
        }
        if a.bytes == 0 { b } else { a.with(a.bytes | b.bytes) }
    }

    /// On what some bytes depend that the round has written.
    pub(super) fn of_bytes(&mut self, address: usize, size: usize) -> Of {
        let (word, from) = (address & !7, address % 8);
        let first = self.of_memory(word).unwrap_or(Of::NOTHING).part(from, size);
        if from + size <= 8 {
            return first;
        }
        let second = self.of_memory(word + 8).unwrap_or(Of::NOTHING);
        let second = second.with((second.bytes << (8 - from)) & mask(size));
        self.both(first, second)
    }

    fn writes(&mut self, address: usize, size: usize, lanes: Lanes) {
        let whole = address.is_multiple_of(8) && size.is_multiple_of(8);
        let part = !whole && size <= 8;
        if !whole && !part {
            self.looks_into(address, size);
            lanes.into_iter().for_each(|of| self.fix(of.origin));
        }
        for (lane, word) in (address & !7..address + size).step_by(8).enumerate() {
            let of = if whole {
                lanes[lane % 8]
            } else if part {
                // The second word has what did not fit into the first one.
                let place = |bytes: u8| (u16::from(bytes) << (address % 8)).to_le_bytes()[lane % 2];
                let rest = self.of_memory(word).unwrap_or(Of::NOTHING);
                self.both(rest.with(rest.bytes & !place(mask(size))), lanes[0].with(place(lanes[0].bytes)))
            } else {
                Of::NOTHING
            };
            let Some(slot) = self.slot(word) else {
                self.lost = true;
                return;
            };
            self.written[slot] = Written { address: word, word: 0, of, trial: self.trial };
            self.pending[self.pending_used % 8] = word;
            self.pending_used = (self.pending_used + 1).min(8);
        }
    }

    /// On what an address depends.
    fn leads(&mut self, place: &Place, registers: &[greg_t]) -> Origin {
        let of = |this: &mut Self, register: Option<i32>| match register {
            Some(register) => {
                let of = this.general[register as usize];
                (this.whole(of), registers[register as usize] as u64)
            }
            None => (NONE, 0),
        };
        let (base, index) = (of(self, place.base), of(self, place.index));
        if place.scale > 1 {
            self.fix(index.0);
            return base.0;
        }
        self.sum(base, index)
    }

    /// On what a word depends that is made as an address is, of a word and a step.
    fn steps(&mut self, place: &Place, registers: &[greg_t]) -> Origin {
        let word = |register: Option<i32>| register.map_or(0, |register| registers[register as usize] as u64);
        let (base, index) = (word(place.base), word(place.index));
        let scaled = index.wrapping_mul(place.scale);
        let origin = self.leads(place, registers);
        // How far it leads from the word that it depends on.
        let other = if place.scale > 1 || is_step(index) { scaled } else { base };
        match other.wrapping_add(place.displacement) {
            0 => origin,
            by if is_step(by) => {
                self.uses(origin);
                origin
            }
            _ => {
                self.fix(origin);
                NONE
            }
        }
    }

    /// The origin through which a piece of memory is reached.
    pub(super) fn reaches(&mut self, place: &Place, registers: &[greg_t]) -> Origin {
        let through = self.leads(place, registers);
        if through != NONE {
            let done = &mut self.done[through as usize];
            (done.used, done.reached) = (true, true);
        }
        through
    }

    /// What depends on two that are added: see 2.
    fn sum(&mut self, (a, x): (Origin, u64), (b, y): (Origin, u64)) -> Origin {
        let (address, number) = match (is_step(x), is_step(y)) {
            (_, true) => (a, b),
            (true, false) => (b, a),
            (false, false) => {
                self.fix(a);
                (NONE, b)
            }
        };
        self.fix(number);
        address
    }

    /// An instruction is about to run, which reads this from memory and writes there.
    pub(super) fn flows(
        &mut self,
        known: &Known,
        registers: &[greg_t],
        read: (usize, Lanes),
        write: Option<(usize, usize)>,
    ) {
        let flow = &known.flow;
        self.asks(flow.reads_flags);
        let (mut lanes, mut flags) = (NO_LANES, Flags::default());
        let [a, b] = flow.from;
        let value = |slot| match slot {
            Slot::Number(number) => number,
            Slot::General(register) => registers[register as usize] as u64,
            // SAFETY: the instruction would read it as well.
            Slot::Memory => unsafe { (read.0 as *const u64).read_unaligned() },
            Slot::Vector { .. } => 0,
        };
        let lane = |this: &Self, slot, n: usize| match slot {
            Slot::Number(_) => Of::NOTHING,
            Slot::General(register) => this.general[register as usize],
            Slot::Memory => read.1[n],
            Slot::Vector { number, first } => this.vectors[number as usize][(first as usize + n) % 8],
        };
        let (x, y) = (lane(self, a, 0), lane(self, b, 0));
        match flow.does {
            Does::Copies(count) => {
                (0..usize::from(count).min(8)).for_each(|n| lanes[n] = lane(self, a, n));
            }
            Does::CopiesPart(size) => {
                lanes[0] = x.part(0, usize::from(size));
                if flow.fills_with_sign && lanes[0].bytes != 0 {
                    lanes[0].bytes = u8::MAX;
                }
            }
            Does::Joins => lanes[..2].copy_from_slice(&[x, y]),
            Does::Chooses(condition) => {
                lanes[0] = if is_so(condition, registers[libc::REG_EFL as usize] as u64) { y } else { x };
            }
            Does::Leads => {
                lanes[0] = Of::whole(known.leads.map_or(NONE, |place| self.steps(&place, registers)));
            }
            Does::Other => self.looks(flow, read.1),
            // It looks at its lowest byte alone.
            Does::LooksAtMarks if x.bytes & 1 == 0 => {}
            Does::Adds | Does::Subtracts | Does::Compares | Does::Marks | Does::LooksAtMarks | Does::Masks => {
                let (x, y) = (self.whole(x), self.whole(y));
                lanes[0] = Of::whole(self.computes(flow.does, (x, value(a)), (y, value(b))));
                let are_two = x != y && x != NONE && y != NONE;
                match flow.does {
                    Does::Compares if are_two => {
                        flags = Flags { of: [x, y], compared: Some(value(a).wrapping_sub(value(b))) };
                    }
                    Does::LooksAtMarks | Does::Masks => {}
                    _ => flags.of = [x, y],
                }
            }
        }
        for (kept, bit) in self.flags.iter_mut().zip([Bits::CF, Bits::PF]) {
            if flow.changes_flags & bit != 0 {
                *kept = flags;
            }
        }
        if let Some((address, size)) = write {
            self.writes(address, size, if flow.to == Slot::Memory { lanes } else { NO_LANES });
        }
        self.changes(flow, lanes);
    }

    /// An instruction reads these flags.
    fn asks(&mut self, bits: u32) {
        let [carry, others] = self.flags;
        if bits & Bits::PF != 0 {
            others.of.into_iter().for_each(|origin| self.fix(origin));
        }
        for (flags, higher) in [(carry, Bits::CF), (others, Bits::SF | Bits::OF)] {
            if let Some(distance) = flags.compared.filter(|_| bits & higher != 0) {
                self.pair(flags.of[0], flags.of[1], Keeps::Order(distance));
            }
        }
    }

    /// On what depends what is made of two words.
    fn computes(&mut self, does: Does, (a, x): (Origin, u64), (b, y): (Origin, u64)) -> Origin {
        match does {
            Does::Adds => {
                // The flags say what has come out.
                self.uses(a);
                self.uses(b);
                self.sum((a, x), (b, y))
            }
            Does::Subtracts => self.difference((a, x), (b, y)),
            Does::Marks => {
                self.uses(a);
                a
            }
            Does::LooksAtMarks => {
                self.uses(a);
                NONE
            }
            Does::Masks if b == NONE && y < MARKS => self.computes(Does::LooksAtMarks, (a, x), (b, y)),
            Does::Masks if a == NONE && x < MARKS => self.computes(Does::LooksAtMarks, (b, y), (a, x)),
            Does::Masks => {
                self.fix(a);
                self.fix(b);
                NONE
            }
            _ => {
                self.compares((a, x), (b, y));
                NONE
            }
        }
    }

    fn difference(&mut self, (a, x): (Origin, u64), (b, y): (Origin, u64)) -> Origin {
        self.uses(a);
        if a != b && is_step(y) {
            return self.sum((a, x), (b, y));
        }
        self.join(a, b);
        NONE
    }

    fn compares(&mut self, (a, x): (Origin, u64), (b, y): (Origin, u64)) {
        // No address is as small, whichever it is.
        let is_above = |word: u64, other: u64| word >= LOWEST_ADDRESS && other < LOWEST;
        match (a, b) {
            // Which of two that are made of one number is the higher one depends on where they turn over: it must be the same.
            _ if a == b => self.uses(a),
            (a, NONE) if is_above(x, y) => self.uses(a),
            (NONE, b) if is_above(y, x) => self.uses(b),
            _ => self.pair(a, b, Keeps::Sameness(x.wrapping_sub(y))),
        }
    }

    fn looks(&mut self, flow: &Flow, read: Lanes) {
        for register in 0..self.general.len() {
            let of = self.general[register];
            let at_lowest = flow.looks_at_lowest >> register & 1 == 1 && of.bytes & 1 != 0;
            let at_two = flow.looks_at_two >> register & 1 == 1 && of.bytes & 3 != 0;
            if flow.looks >> register & 1 == 1 || at_lowest || at_two {
                self.fix(of.origin);
            }
        }
        for vector in 0..self.vectors.len() {
            if flow.looks_at_vectors >> vector & 1 == 1 {
                self.vectors[vector].into_iter().for_each(|of| self.fix(of.origin));
            }
        }
        read.into_iter().for_each(|of| self.fix(of.origin));
    }

    /// Registers become others.
    fn changes(&mut self, flow: &Flow, lanes: Lanes) {
        for register in 0..self.general.len() {
            let of = self.general[register];
            if flow.changes >> register & 1 == 1 {
                self.general[register] = Of::NOTHING;
            } else if flow.changes_two >> register & 1 == 1 {
                self.general[register] = of.with(of.bytes & !3);
            } else if flow.changes_lowest >> register & 1 == 1 {
                self.general[register] = of.with(of.bytes & !1);
            }
        }
        for vector in 0..self.vectors.len() {
            if flow.changes_vectors >> vector & 1 == 1 {
                let words = match flow.of_vectors {
                    OfVectors::Lower => 0..2,
                    OfVectors::Upper => 2..8,
                    OfVectors::All => 0..8,
                };
                self.vectors[vector][words].fill(Of::NOTHING);
            }
        }
        match (flow.to, flow.does) {
            (Slot::General(register), _) => self.general[register as usize] = lanes[0],
            (Slot::Vector { number, .. }, Does::Copies(count)) => {
                let count = usize::from(count).min(8);
                self.vectors[number as usize][..count].copy_from_slice(&lanes[..count]);
            }
            (Slot::Vector { number, .. }, _) => self.vectors[number as usize][..2].copy_from_slice(&lanes[..2]),
            _ => {}
        }
        if self.general[RSP] != Of::whole(STACK) {
            // It points to the stack, whatever it is made of.
            let origin = self.general[RSP].origin;
            self.reaches_the_stack(origin);
            self.general[RSP] = Of::whole(STACK);
        }
    }

    /// The stack is reached through an origin, so that this must move as far.
    pub(super) fn reaches_the_stack(&mut self, through: Origin) {
        self.join(STACK, through);
    }
}

/// Whether that, added to an address, is another address.
fn is_step(by: u64) -> bool {
    by.cast_signed().unsigned_abs() < STEP
}

/// All steps of a trial together do not lead from an address to what is below all of them, or back.
const STEP: u64 = 1 << 17;
const _: () = assert!(super::INSTRUCTIONS as u64 * STEP < LOWEST_ADDRESS - LOWEST);

const RSP: usize = libc::REG_RSP as usize;

/// Where the registers are that a call preserves, in the order in which a round's are given.
const PRESERVED: [i32; 6] = [libc::REG_RBX, libc::REG_RBP, libc::REG_R12, libc::REG_R13, libc::REG_R14, libc::REG_R15];

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: (Origin, u64) = (READS, 0x7f12_3456_7000);
    const OTHER: (Origin, u64) = (READS + 1, 0x7f12_3500_0040);
    const SMALL: (Origin, u64) = (READS + 2, 24);
    const UNKNOWN: (Origin, u64) = (NONE, 0x7f12_3333_0000);

    /// What an operation on two words depends on, and which of the two must be the same.
    fn of(does: Does, a: (Origin, u64), b: (Origin, u64)) -> (Origin, [bool; 2]) {
        let mut origins = Origins::new();
        origins.begin();
        let made = origins.computes(does, a, b);
        (made, [a, b].map(|(origin, _)| origins.done[usize::from(origin)].fixed))
    }

    #[test]
    fn the_small_one_of_two_that_are_added_is_a_number() {
        assert_eq!(of(Does::Adds, ADDRESS, SMALL), (READS, [false, true]));
        assert_eq!(of(Does::Adds, SMALL, ADDRESS), (READS, [true, false]));
        assert_eq!(of(Does::Adds, UNKNOWN, SMALL), (NONE, [false, true]));
        assert_eq!(of(Does::Adds, ADDRESS, (NONE, 24)), (READS, [false, false]));
        assert_eq!(of(Does::Adds, ADDRESS, (NONE, 24u64.wrapping_neg())), (READS, [false, false]));
        let far = (NONE, (1u64 << 32).wrapping_neg() + 1);
        assert_eq!(of(Does::Adds, ADDRESS, far), (NONE, [true, false]), "it may be no address any more");
        let (_, [first, second]) = of(Does::Adds, ADDRESS, OTHER);
        assert!(first || second, "the sum of two addresses is no address");
    }

    #[test]
    fn addresses_that_are_subtracted_keep_their_distance() {
        assert_eq!(of(Does::Subtracts, ADDRESS, SMALL), (READS, [false, true]));
        assert_eq!(of(Does::Subtracts, UNKNOWN, ADDRESS), (NONE, [false, true]));
        assert_eq!(of(Does::Subtracts, ADDRESS, UNKNOWN), (NONE, [true, false]));
        let mut origins = Origins::new();
        origins.begin();
        assert_eq!(origins.computes(Does::Subtracts, ADDRESS, OTHER), NONE);
        assert_eq!(origins.pairs, [Pair { origins: [READS, READS + 1], keeps: Keeps::Distance }]);
        assert_eq!(origins.computes(Does::Compares, ADDRESS, (NONE, 0)), NONE);
        assert!(!origins.done[usize::from(READS)].fixed, "whether it is null is the same for all addresses");
        origins.compares(SMALL, (SMALL.0, 31));
        assert!(
            origins.done[usize::from(SMALL.0)].used,
            "which of two is the higher one depends on where they turn over"
        );
    }

    #[test]
    fn what_a_call_preserves_depends_on_what_it_did_and_nothing_is_lost() {
        let mut registers = [7; 23];
        let mut origins = Origins::new();
        origins.begin();
        for register in [libc::REG_R14, libc::REG_R15, libc::REG_RAX] {
            origins.general[register as usize] = Of::whole(READS + register as Origin);
        }
        origins.looks_away(&registers);
        registers[RSP] += 8;
        origins.settle(&registers);
        let of = |register: i32| origins.general[register as usize].origin;
        assert_eq!(of(libc::REG_R14), READS + libc::REG_R14 as Origin, "though others hold the same word");
        assert_eq!(of(libc::REG_R15), READS + libc::REG_R15 as Origin);
        assert_eq!((of(libc::REG_RAX), origins.lost), (NONE, false));
    }

    #[test]
    fn words_in_a_row_have_room_beside_others_in_a_row() {
        let stack = 0x7f12_3456_7000usize;
        // As far apart as the table is long, in the midst of the others: where they were put in a row there was no room.
        for from in [stack + WORDS * 8, stack + 3 * WORDS * 8 + 8 * 40] {
            let mut origins = Origins::new();
            origins.begin();
            for address in (stack..).step_by(8).take(400).chain((from..).step_by(8).take(400)) {
                let slot = origins.slot(address).expect("there is room");
                origins.written[slot] = Written { trial: origins.trial, address, ..Written::default() };
            }
        }
    }

    #[test]
    fn what_has_not_returned_as_a_call_does_is_lost() {
        for (register, by) in [(libc::REG_RSP, 8), (libc::REG_RBX, 1)] {
            let mut registers = [7; 23];
            let mut origins = Origins::new();
            origins.begin();
            origins.looks_away(&registers);
            registers[RSP] += 8;
            registers[register as usize] += by;
            origins.settle(&registers);
            assert!(origins.lost);
        }
    }
}
