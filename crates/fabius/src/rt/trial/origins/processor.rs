//! What is followed of words, beside what the processor does: random instructions are run with registers and memory, and again with
//! one word moved. What was said to be made of it moves along, and everything else stays. Of some words it is said beforehand that only
//! a few of their bytes depend on anything: these bytes become others then.

use super::{Of, Origin, READS, Written};
use crate::rt::moved::LOWEST_ADDRESS;
use crate::rt::trial::processor::{
    AREA, BY, Case, FLAGS, GENERAL, Machine, case, local, machine, put, registers, seeded,
};
use crate::rt::trial::{ALL_READS, Read, Trial};
use fastrand::Rng;
use std::ptr;

/// A word before the instruction.
#[derive(Clone, Copy, Debug)]
enum Word {
    General(usize),
    Vector(usize, usize),
    /// So far into the memory.
    Memory(usize),
}

/// Origins of registers have numbers from the end, and before them those of words that are said to be written.
const LAST: Origin = READS + ALL_READS as Origin - 1;
const LAST_WRITTEN: Origin = LAST - 80;

/// All of a word depends on this, or a few bytes do.
fn of(origin: Origin, rng: &mut Rng) -> Of {
    if rng.u8(..3) == 0 { Of::whole(origin).with(rng.u8(..)) } else { Of::whole(origin) }
}

/// A word of which these bytes, as bits, are others.
fn others(word: u64, bytes: u8, rng: &mut Rng) -> u64 {
    let change = std::array::from_fn(|n| if bytes >> n & 1 == 1 { rng.u8(1..) } else { 0 });
    word ^ u64::from_le_bytes(change)
}

fn check(machine: &Machine, number: usize, trial: &mut Trial, rng: &mut Rng) -> Option<()> {
    let (code, bytes) = put(machine, number, rng)?;
    let Case { known, code, before, filled } = case(machine, code, &mut trial.instructions, rng)?;
    let decoded = known.instruction;
    trial.reads.clear();
    trial.borrowed.clear();
    let stack = [0u64; 64];
    trial.stack = stack.as_ptr().expose_provenance()..stack.as_ptr().expose_provenance() + size_of_val(&stack);
    trial.start.rsp = trial.stack.end as u64;
    (trial.left, trial.local) = (1, local());
    trial.index.fill(u16::MAX);
    trial.origins.begin();
    for (n, register) in GENERAL.into_iter().enumerate() {
        trial.origins.general[register as usize] = of(LAST - n as Origin, rng);
    }
    for (n, lane) in (0..64).map(|n| (n, LAST - 15 - n as Origin)) {
        trial.origins.vectors[n / 4][n % 4] = Of::whole(lane);
    }
    let area = machine.area();
    trial.writes.clear();
    trial.ranges_used = 0;
    if rng.bool() {
        // The round may write here, and has.
        trial.allow(area.start, AREA);
        for (n, address) in area.clone().step_by(8).enumerate() {
            if rng.bool() {
                continue;
            }
            let word = u64::from_ne_bytes(filled[8 * n..8 * n + 8].try_into().unwrap());
            let slot = trial.origins.slot(address)?;
            let of = of(LAST_WRITTEN - n as Origin, rng);
            trial.origins.written[slot] = Written { address, word, of, trial: trial.origins.trial };
        }
    }
    let depend =
        (trial.origins.general, area.clone().step_by(8).map(|at| trial.origins.of_memory(at)).collect::<Vec<_>>());
    // SAFETY: the instruction is about to be run with these registers.
    if !unsafe { trial.goes_on(&registers(&before, code, &stack), ptr::null()) } {
        return None;
    }
    let after = machine.run(code, before);
    trial.origins.settle(&registers(&after, code, &stack));
    let written = machine.bytes(false);
    let of_memory: Vec<Option<Of>> = area.clone().step_by(8).map(|address| trial.origins.of_memory(address)).collect();

    let moves: Vec<(Word, Origin)> = (0..15)
        .map(|n| (Word::General(n), LAST - n as Origin))
        .chain((0..64).map(|n| (Word::Vector(n / 4, n % 4), LAST - 15 - n as Origin)))
        .chain(
            (READS..)
                .zip(&trial.reads)
                .filter(|(_, read)| read.size == 8 && read.address % 8 == 0)
                .map(|(origin, Read { address, .. })| (Word::Memory(address - area.start), origin)),
        )
        .chain(
            (0..AREA / 8).filter(|n| depend.1[*n].is_some()).map(|n| (Word::Memory(8 * n), LAST_WRITTEN - n as Origin)),
        )
        .collect();
    for (word, origin) in moves {
        let done = trial.origins.done[usize::from(origin)];
        let joined = trial.origins.pairs.iter().any(|pair| pair.origins.contains(&origin));
        let was = match word {
            Word::General(n) => before.general[n],
            Word::Vector(n, lane) => before.vectors[n][lane],
            Word::Memory(at) => u64::from_ne_bytes(filled[at..at + 8].try_into().unwrap()),
        };
        if done.fixed || joined || done.used && !(LOWEST_ADDRESS..1 << 46).contains(&was) {
            continue;
        }
        let part = match word {
            Word::General(n) => Some(depend.0[GENERAL[n] as usize]),
            Word::Memory(at) => depend.1[at / 8],
            Word::Vector(..) => None,
        };
        let part = part.filter(|of| !of.is_whole || of.bytes == 0);
        assert!(part.is_none() || !done.used, "an address is made of a part, {:?}", decoded.code());
        // What is only copied may be anything.
        let by = match part {
            Some(of) => others(was, of.bytes, rng).wrapping_sub(was),
            None if done.used => BY,
            None => rng.u64(..),
        };
        let mut moved = before;
        machine.fill(&filled);
        match word {
            Word::General(n) => moved.general[n] = was.wrapping_add(by),
            Word::Vector(n, lane) => moved.vectors[n][lane] = was.wrapping_add(by),
            Word::Memory(at) => {
                // The same word by another way.
                if trial.reads.iter().filter(|read| read.address.abs_diff(area.start + at) < 64).count() > 1 {
                    continue;
                }
                // SAFETY: it is a part of the memory.
                unsafe { machine.memory.add(at).cast::<u64>().write_unaligned(was.wrapping_add(by)) };
            }
        }
        let then = machine.run(code, moved);
        let shown = || {
            format!(
                "{:?} ({bytes:x?}), {word:?} from {was:x} by {by:x}\n{before:x?}\n{after:x?}\n{then:x?}",
                decoded.code()
            )
        };
        let compare = |what: &str, of: Of, after: u64, then: u64| {
            let expected = match of.origin == origin && of.bytes != 0 {
                true if of.is_whole => (after.wrapping_add(by), u64::MAX),
                true => {
                    let keep: [u8; 8] = std::array::from_fn(|n| if of.bytes >> n & 1 == 1 { 0 } else { u8::MAX });
                    (after, u64::from_le_bytes(keep))
                }
                false => (after, u64::MAX),
            };
            assert_eq!(then & expected.1, expected.0 & expected.1, "{what}: {of:?}\n{}", shown());
        };
        for (n, register) in GENERAL.into_iter().enumerate() {
            let of = trial.origins.general[register as usize];
            compare(&format!("register {n}"), of, after.general[n], then.general[n]);
        }
        for n in 0..64 {
            let of = trial.origins.vectors[n / 4][n % 4];
            compare(&format!("vector {n}"), of, after.vectors[n / 4][n % 4], then.vectors[n / 4][n % 4]);
        }
        // Carry, zero, sign and overflow, and the parity if it is not known to depend on the word.
        let parity = if trial.origins.flags[1].of.contains(&origin) { 0 } else { 4 };
        let flags = if done.used { 0x8c1 | parity } else { FLAGS };
        assert_eq!(after.flags & flags, then.flags & flags, "flags\n{}", shown());
        let reached = done.reached && known.places().count() > 0;
        let now = machine.bytes(reached);
        for at in (0..AREA).step_by(8) {
            let word_of = |bytes: &[u8; AREA]| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
            let of = match (of_memory[at / 8], word) {
                (Some(of), _) => of,
                (None, Word::Memory(there)) if there == at => Of::whole(origin),
                _ => Of::NOTHING,
            };
            compare(&format!("memory {at}"), of, word_of(&written), word_of(&now));
        }
    }
    Some(())
}

#[test]
fn what_is_made_of_a_word_moves_along_and_nothing_else() {
    if !std::arch::is_x86_feature_detected!("avx2") {
        eprintln!("the processor has no vectors of four words: nothing is looked at");
        return;
    }
    let (mut trial, mut rng) = (Trial::new(), seeded());
    let (machine, instructions) = machine(1);
    let checked = (0..instructions).filter(|n| check(&machine, *n, &mut trial, &mut rng).is_some()).count();
    assert!(checked > instructions / 20, "{checked} of {instructions}");
}
