//! What is known of the rounds of loops: which of them change nothing.
//!
//! A round is what a thread does between two give-ways. A trial (`trial.rs`) shows what it would do by itself. That is
//! determined by what it reads before it has written it, registers included, and by the state of the variables that it
//! finds: what a trial has shown holds wherever these are the same, also in other executions of the test.
//!
//! There, memory that is allocated may lie elsewhere. A test must not depend on addresses, or its executions could not be
//! run again at all. So a word through which the trial has reached memory may be another address, and what was reached
//! through it is then looked for there.

use super::moved::Moved;
use super::trial::{End, Outcome, Read, probe};
use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// Instructions of all trials at one line. A loop with more rounds that differ is not followed any more.
const INSTRUCTIONS: u64 = 4_000_000;

/// Proofs of rounds that begin at the same place.
const OF_A_PLACE: usize = 64;

/// Rounds of a thread that are not tried out because others like them have changed something.
const FEW: u32 = 3;

/// How far behind an address what is reached through it may lie.
const REACH: usize = 4096;

/// Where a round begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// The stack, and what else is known beforehand.
    pub place: u64,
    /// The lowest address of the stack, and its end.
    pub stack: usize,
    pub top: usize,
    /// Where the code's part of it begins: what lies below belongs to this crate.
    pub frame: usize,
    pub registers: [u64; 6],
}

/// The state of a variable, and the address that it holds, if it holds one.
pub(super) type State = (u64, Option<usize>);

/// What a round reads.
#[derive(Debug)]
struct Input {
    read: Read,
    is: Is,
    /// Whether it lies on the stack of another thread, who changes it unseen.
    elsewhere: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Value,
    /// Memory was reached through it.
    Address,
    /// The number of the execution, which tells who has claimed an object.
    Execution,
}

/// A round that was tried out.
#[derive(Debug)]
pub(super) struct Proof {
    start: Start,
    /// Whether it changes nothing but the thread's stack and variables that are known.
    changes_nothing: bool,
    /// Addresses through which memory was reached that were in registers at the beginning.
    bases: [bool; 6],
    /// Those that the round has done more with than to copy them.
    used: [bool; 6],
    inputs: Vec<Input>,
    /// The variables that it finds, with their states; and the addresses that some of them hold.
    found: Vec<(usize, u64)>,
    addresses: Vec<(usize, usize)>,
    /// What the thread has done after each operation.
    pub numbers: Vec<u64>,
    /// What each operation has found if that is not the newest, as a number, or 0.
    pub unusual: Vec<u64>,
    /// Whether it writes to memory that is as before in the end.
    pub borrows: bool,
}

impl Proof {
    pub fn new(
        start: Start,
        outcome: Outcome,
        execution: u64,
        state: impl Fn(usize) -> State,
        elsewhere: impl Fn(usize) -> bool,
    ) -> Proof {
        let Outcome { end, mut reads, accessed, used, numbers, unusual, found, borrows, .. } = outcome;
        // What is only copied does not matter; nor what this crate has on the stack.
        let is_own = |r: &Read| (start.stack..start.frame).contains(&r.address);
        reads.retain(|r| !is_own(r) && r.word().is_none_or(|word| used.contains(&word)));
        let is_base = |word: u64| accessed.iter().any(|a| a.wrapping_sub(word as usize) < REACH);
        let input = |read: Read| {
            let is = match read.word() {
                Some(word) if word == execution => Is::Execution,
                Some(word) if is_base(word) => Is::Address,
                _ => Is::Value,
            };
            Input { read, is, elsewhere: elsewhere(read.address) }
        };
        let bases = start.registers.map(is_base);
        let used = start.registers.map(|word| used.contains(&word));
        let inputs = reads.into_iter().map(input).collect();
        let changes_nothing = end == End::Round;
        let addresses = found.iter().filter_map(|(variable, _)| Some((*variable, state(*variable).1?))).collect();
        Proof { start, changes_nothing, bases, used, inputs, found, addresses, numbers, unusual, borrows }
    }

    /// Whether all that the round reads is as it was; if so, what that is.
    fn holds(&self, start: &Start, execution: u64, state: impl Fn(usize) -> State) -> Option<Inputs> {
        let mut words = Moved::default();
        for (variable, was) in &self.addresses {
            let is = state(*variable).1?;
            if (*was, is) != (0, 0) {
                words.add(*was as u64, is as u64);
            }
        }
        for (number, (was, is)) in self.start.registers.into_iter().zip(start.registers).enumerate() {
            match (self.used[number], self.bases[number]) {
                (true, false) if was != is => return None,
                (true, _) => words.add(was, is),
                _ => {}
            }
        }
        let mut inputs = Inputs { reads: Vec::with_capacity(self.inputs.len()), elsewhere: false };
        for Input { read, is, elsewhere: of_others } in &self.inputs {
            let mut found: Option<Read> = None;
            // It may have been reached through any of these.
            for address in words.places(read.address, REACH) {
                let there = probe(address, read.size)?;
                let as_before = match is {
                    Is::Value => there.value == read.value,
                    Is::Execution => there.word() == Some(execution),
                    Is::Address => found.is_none_or(|found| found.value == there.value),
                };
                if !as_before {
                    return None;
                }
                if !read.rewritten {
                    inputs.reads.push(there);
                }
                inputs.elsewhere |= of_others;
                found = Some(there);
            }
            if let (Is::Address | Is::Value, Some(was), Some(is)) =
                (is, read.word(), found.and_then(|found| found.word()))
            {
                words.add(was, is);
            }
        }
        words.cannot_be_told(&(start.stack..start.top)).then_some(inputs)
    }
}

/// What a round reads in an execution, but for what it overwrites.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    reads: Vec<Read>,
    /// Whether some of it lies on the stacks of other threads, who change it unseen.
    pub elsewhere: bool,
}

impl Inputs {
    /// Whether it is still there.
    pub fn are_there(&self) -> bool {
        self.reads.iter().all(|read| probe(read.address, read.size).is_some_and(|there| there.value == read.value))
    }
}

impl Read {
    fn word(&self) -> Option<u64> {
        let (word, _) = self.value.split_first_chunk()?;
        (self.size == word.len()).then(|| u64::from_ne_bytes(*word))
    }
}

/// A line at which threads give way.
#[derive(Debug, Default)]
struct Line {
    instructions: u64,
    tells_time: bool,
    /// By places; those that were used last come first.
    proofs: HashMap<u64, Vec<Arc<Proof>>>,
}

/// What is known of the loops of a test, by the lines at which they give way; shared by all executions of a check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loops(Arc<Mutex<HashMap<usize, Line>>>);

/// What is known of a round that is about to begin.
#[derive(Debug)]
pub(super) enum Round {
    /// Threads do not seem to repeat themselves there.
    NoLoop,
    /// It must be tried out.
    Unknown,
    /// It changes something, or might.
    Changes,
    /// It changes nothing as long as what it reads is still there.
    ChangesNothing(Arc<Proof>, Inputs),
    /// It reads the clock of the machine.
    TellsTime,
}

impl Loops {
    fn with<R>(&self, at: &'static Location<'static>, f: impl FnOnce(Option<&mut Line>) -> R) -> R {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f(lines.get_mut(&(std::ptr::from_ref(at) as usize)))
    }

    /// Threads seem to repeat themselves there.
    pub(super) fn add(&self, at: &'static Location<'static>) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.entry(std::ptr::from_ref(at) as usize).or_default();
    }

    /// The round that begins there, where variables have these states, after so many that have changed something.
    pub(super) fn round(
        &self,
        at: &'static Location<'static>,
        start: &Start,
        execution: u64,
        before: u32,
        state: impl Fn(usize) -> State,
    ) -> Round {
        self.with(at, |line| {
            let Some(line) = line else { return Round::NoLoop };
            if line.tells_time {
                return Round::TellsTime;
            }
            if line.instructions >= INSTRUCTIONS {
                return Round::Changes;
            }
            let Some(proofs) = line.proofs.get_mut(&start.place) else { return Round::Unknown };
            let finds = |proof: &Proof| proof.found.iter().all(|(variable, was)| state(*variable).0 == *was);
            let holds = |proof: &Arc<Proof>| if finds(proof) { proof.holds(start, execution, &state) } else { None };
            let Some((number, inputs)) = (0..proofs.len()).find_map(|n| Some((n, holds(&proofs[n])?))) else {
                // A round that found the same and changed something tells enough: most leave the loop. If this one does not,
                // it is tried out later.
                let leaves = |proof: &Arc<Proof>| !proof.changes_nothing && !proof.found.is_empty() && finds(proof);
                return if before < FEW && proofs.iter().any(leaves) { Round::Changes } else { Round::Unknown };
            };
            proofs[..=number].rotate_right(1);
            match &proofs[0] {
                proof if proof.changes_nothing => Round::ChangesNothing(proof.clone(), inputs),
                _ => Round::Changes,
            }
        })
    }

    /// A round would have read the clock of the machine. Says whether that is new.
    pub(super) fn tells_time(&self, at: &'static Location<'static>) -> bool {
        self.with(at, |line| line.is_some_and(|line| !std::mem::replace(&mut line.tells_time, true)))
    }

    /// A round was tried out. Says whether that was the last that may be.
    pub(super) fn learn(&self, at: &'static Location<'static>, proof: Proof, instructions: u32) -> (Round, bool) {
        let proof = Arc::new(proof);
        let is_last = self.with(at, |line| {
            line.is_some_and(|line| {
                let proofs = line.proofs.entry(proof.start.place).or_default();
                proofs.truncate(OF_A_PLACE - 1);
                proofs.insert(0, proof.clone());
                let before = line.instructions;
                line.instructions += u64::from(instructions);
                before < INSTRUCTIONS && line.instructions >= INSTRUCTIONS
            })
        });
        let reads = proof.inputs.iter().filter(|i| !i.read.rewritten).map(|i| i.read).collect();
        let inputs = Inputs { reads, elsewhere: proof.inputs.iter().any(|i| i.elsewhere) };
        let round = if proof.changes_nothing { Round::ChangesNothing(proof, inputs) } else { Round::Changes };
        (round, is_last)
    }
}
