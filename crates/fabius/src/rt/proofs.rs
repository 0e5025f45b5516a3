//! What is known of the rounds of loops: which of them change nothing.
//!
//! A round is what a thread does between two give-ways. A trial (`trial.rs`) shows what it would do by itself. That is
//! determined by what it reads before it has written it, registers included, and by the state of the variables that it
//! finds: what a trial has shown holds wherever these are the same, also in other executions of the test.
//!
//! There, memory that is allocated may lie elsewhere. A test must not depend on addresses, or its executions could not be
//! run again at all. And the stack may be another one: what is on it lies as far from its top. So a word through which the trial
//! has reached memory may be another address, and what was reached through it is then looked for there: the trial has followed from
//! which words each address was made (`moved.rs`).

use super::here::mix;
use super::moved::{
    Done, END, EXECUTION, Keeps, LOCALS, LOWEST_ADDRESS, Moved, NONE, Origin, Pair, READS, REGISTERS, STACK, Stack,
    UNKNOWN, Whose,
};
use super::remains::Left;
use super::trial::{End, Outcome, Read, probe};

/// Where a round begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// The thread, how much of its stack it uses, and what else is known beforehand.
    pub place: u64,
    /// The lowest address of the stack, and its end.
    pub stack: usize,
    pub top: usize,
    /// Where the code's part of it begins: what lies below belongs to this crate.
    pub frame: usize,
    pub registers: [u64; 6],
}

/// What a round goes by beside memory, as it is now.
pub(super) trait Now {
    /// The number of the execution.
    fn execution(&self) -> u64;

    /// The state of a variable.
    fn state(&self, variable: usize) -> u64;

    /// Where the local value of the thread that has this key is, 0 if nowhere.
    fn local(&self, key: usize) -> usize;

    /// Where this crate keeps the execution.
    fn execution_is_at(&self) -> usize;

    /// Whether an address lies on the stack of another thread.
    fn is_elsewhere(&self, address: usize) -> bool;
}

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
    /// It does not matter: it is only copied.
    Copied,
    /// It must be the same.
    Value,
    /// It may be another address.
    Word,
    /// The number of the execution, which tells who has claimed an object.
    Execution,
}

/// Whether it matters where it is, or what is there. What the round overwrites must not overlap anything else than before, even if
/// what is there is only copied.
fn is_looked_at(is: Is, read: &Read) -> bool {
    is != Is::Copied || !read.is_ours && read.rewritten
}

/// A round that was tried out.
#[derive(Debug)]
pub(super) struct Proof {
    pub start: Start,
    /// The execution outside of which nothing is known of it: addresses of which it is not known where they come from.
    only_in: Option<u64>,
    /// Whether it changes nothing but the thread's stack and variables that are known.
    pub changes_nothing: bool,
    /// Whether the stack must be the same one.
    stack_is_fixed: bool,
    registers: [Is; 6],
    execution_was_at: usize,
    inputs: Vec<Input>,
    pairs: Vec<Pair>,
    /// The variables that it finds, with their states.
    pub found: Vec<(usize, u64)>,
    /// The keys of the thread's local values that it looks up, and where they are.
    locals: Vec<(usize, usize, Is)>,
    /// What the thread has done after each operation.
    pub numbers: Vec<u64>,
    /// What each operation has found if that is not the newest, as a number, or 0.
    pub unusual: Vec<u64>,
    /// Whether it writes to memory that is as before in the end, and before which of its operations that is not as before, as bits.
    pub borrows: bool,
    pub lent: u64,
    /// What it does, as a number; and what it leaves on the stack and in registers that follows from that, and from what it reads: where it
    /// is made once, twice in a row, and so on.
    does: u64,
    left: Vec<Left>,
}

impl Proof {
    pub fn new(start: Start, outcome: Outcome, now: &impl Now) -> Proof {
        let Outcome { end, reads, origins, registers, numbers, unusual, found, locals, borrows, lent, .. } = outcome;
        let Outcome { leaves, leaves_registers, .. } = outcome;
        let mut done = origins.done;
        // What this crate has on the stack is the registers that the round began with, and its own.
        let is_own = |r: &Read| (start.stack..start.frame).contains(&r.address);
        let register =
            |word: u64| start.registers.iter().position(|known| *known == word).map(|n| REGISTERS + n as Origin);
        let execution_was_at = now.execution_is_at();
        let own = |word: u64| match register(word) {
            _ if word == execution_was_at as u64 => EXECUTION,
            Some(register) => register,
            None if (start.stack..start.top).contains(&(word as usize)) => STACK,
            None => NONE,
        };
        let stands_for = |origin: Origin| match origin {
            NONE | EXECUTION | STACK..READS | UNKNOWN => origin,
            REGISTERS..EXECUTION => own(registers[usize::from(origin - REGISTERS)]),
            READS.. => match &reads[usize::from(origin - READS)] {
                read if is_own(read) => read.word().map_or(NONE, own),
                _ => origin,
            },
        };
        for origin in (0..done.len() as Origin).filter(|origin| stands_for(*origin) != *origin) {
            let what = std::mem::take(&mut done[usize::from(origin)]);
            let of = &mut done[usize::from(stands_for(origin))];
            (of.reached, of.used, of.fixed) = (of.reached | what.reached, of.used | what.used, of.fixed | what.fixed);
        }
        let is_ours = |origin: Origin| match origin {
            NONE | EXECUTION => true,
            READS.. => reads[usize::from(origin - READS)].is_ours,
            _ => false,
        };
        // Which of this crate's words are the same, the states of variables say, and all of numbers.
        let is_address = |origin: Origin| {
            let word = reads.get(usize::from(origin.wrapping_sub(READS))).and_then(Read::word);
            word.is_some_and(|word| (LOWEST_ADDRESS..END).contains(&word))
        };
        let is_said = |pair: &Pair| match pair.keeps {
            Keeps::Sameness(_) => pair.origins.into_iter().all(is_ours),
            _ => pair.origins.into_iter().all(is_ours) && !pair.origins.into_iter().all(is_address),
        };
        let pair = |pair: &Pair| Pair { origins: pair.origins.map(stands_for), ..*pair };
        let matters = |pair: &Pair| pair.origins[0] != pair.origins[1] && !is_said(pair);
        // Only memory that is reached may lie elsewhere. What is compared with an address of this crate's is the same.
        let keeps = |pair: Pair| {
            let are_addresses = pair.origins.iter().all(|origin| *origin != NONE && done[usize::from(*origin)].reached);
            Pair { keeps: if are_addresses { pair.keeps } else { Keeps::Distance }, ..pair }
        };
        let mut pairs: Vec<Pair> = origins.pairs.iter().map(pair).filter(matters).map(keeps).collect();
        // Registers with the same word are not told apart.
        for (n, word) in (REGISTERS..).zip(start.registers) {
            let first = register(word).unwrap_or(n);
            done[usize::from(n)] = done[usize::from(first)];
            if first != n {
                pairs.push(Pair { origins: [first, n], keeps: Keeps::Distance });
            }
        }
        let is = |origin: Origin| match done[usize::from(origin)] {
            _ if origins.lost => Is::Value,
            Done { used: false, .. } => Is::Copied,
            Done { fixed: false, .. } => Is::Word,
            _ => Is::Value,
        };
        // Through these the round comes to what is not this crate's, or compares them with it.
        let mut leads = vec![false; done.len()];
        pairs.iter().flat_map(|pair| pair.origins).for_each(|origin| leads[usize::from(origin)] = true);
        for (n, read) in reads.iter().enumerate().rev() {
            if !read.is_ours && !is_own(read) || leads[usize::from(READS) + n] {
                leads[usize::from(read.through)] = true;
            }
        }
        let input = |(origin, read): (Origin, Read)| {
            let is = match read.word() {
                _ if is_own(&read) => Is::Copied,
                // What this crate keeps is said by the states of variables.
                _ if read.is_ours => {
                    if leads[usize::from(origin)] {
                        Is::Word
                    } else {
                        Is::Copied
                    }
                }
                None => Is::Value,
                Some(word) if is(origin) != Is::Copied && word == now.execution() => Is::Execution,
                Some(_) => is(origin),
            };
            let through = stands_for(read.through);
            Input { read: Read { through, ..read }, is, elsewhere: now.is_elsewhere(read.address) }
        };
        // What is only copied is none of what the round looks at.
        let follows = |origin: Origin| match stands_for(origin) {
            NONE | EXECUTION | STACK => true,
            UNKNOWN => false,
            origin => is_ours(origin) || is(origin) != Is::Copied,
        };
        let is_left = |origin: Origin, left: &Left| match stands_for(origin) {
            // It stands for all that had the same word.
            origin @ REGISTERS..EXECUTION => {
                let word = start.registers[usize::from(origin - REGISTERS)];
                (0..6).all(|n| start.registers[n] != word || left.registers >> n & 1 == 1)
            }
            origin @ READS.. => {
                let Read { address, size, .. } = reads[usize::from(origin - READS)];
                (start.frame..start.top).contains(&address) && left.has(start.top - address, size)
            }
            _ => false,
        };
        let left = Left::in_a_row(start.top, &leaves, leaves_registers, follows, is_left);
        let does = numbers.iter().chain(&unusual).copied().fold(start.place, mix);
        let registers = std::array::from_fn(|n| is(REGISTERS + n as Origin));
        let locals = (LOCALS..).zip(locals).map(|(origin, (key, at))| (key, at, is(origin))).collect();
        let inputs = (READS..).zip(reads.iter().copied()).map(input).collect();
        let changes_nothing = end == End::Round;
        Proof {
            start,
            only_in: origins.lost.then(|| now.execution()),
            changes_nothing,
            stack_is_fixed: is(STACK) == Is::Value,
            registers,
            execution_was_at,
            inputs,
            pairs,
            found,
            locals,
            numbers,
            unusual,
            borrows,
            lent,
            does,
            left,
        }
    }

    /// What the round has read when it was tried out.
    pub fn inputs(&self) -> Inputs {
        let inputs = || self.inputs.iter().filter(|i| !i.read.is_ours && is_looked_at(i.is, &i.read));
        let number =
            inputs().fold(self.number(self.start.registers), |number, i| number_of(number, i.is, &i.read, &i.read));
        let reads = inputs().filter(|i| !i.read.rewritten).map(|i| i.read).collect();
        let borrows_stack = inputs().any(|i| i.elsewhere && i.read.rewritten);
        Inputs { reads, number, elsewhere: inputs().any(|i| i.elsewhere), borrows_stack }
    }

    /// A number for what the round looks at in these registers.
    fn number(&self, registers: [u64; 6]) -> u64 {
        let looked_at = |(register, is)| if is == Is::Copied { 0 } else { mix(register, 1) };
        registers.into_iter().zip(self.registers).map(looked_at).fold(self.does, mix)
    }

    /// What it leaves that follows where it is made so many times in a row; and how many of these make a difference.
    pub fn leaves(&self, times: usize) -> (&Left, usize) {
        let times = times.clamp(1, self.left.len());
        (&self.left[times - 1], times)
    }

    /// Whether it holds in one execution alone.
    pub fn is_of_one_execution(&self) -> bool {
        self.only_in.is_some()
    }

    /// Whether all that the round reads is as it was; if so, what that is.
    pub fn holds(&self, start: &Start, now: &impl Now) -> Option<Inputs> {
        if self.only_in.is_some_and(|execution| execution != now.execution()) {
            return None;
        }
        let stack = Stack { was: self.start.stack..self.start.top, is: start.stack..start.top };
        if self.stack_is_fixed && stack.by() != 0 {
            return None;
        }
        let mut words = Moved::default();
        words.add(STACK, self.start.frame as u64, start.frame as u64, Whose::Rounds)?;
        words.add(EXECUTION, self.execution_was_at as u64, now.execution_is_at() as u64, Whose::Ours)?;
        for (origin, &(key, was, how)) in (LOCALS..).zip(&self.locals) {
            let is = now.local(key);
            if (was == 0) != (is == 0) || how == Is::Value && was != is {
                return None;
            }
            words.add(origin, was as u64, is as u64, Whose::Rounds)?;
        }
        for (n, (was, is)) in self.start.registers.into_iter().zip(start.registers).enumerate() {
            match self.registers[n] {
                Is::Copied => {}
                Is::Word => words.add(REGISTERS + n as Origin, was, is, Whose::Rounds)?,
                _ if was != is || !stack.is_same_for(was, is) => return None,
                _ => {}
            }
        }
        let mut inputs = Inputs { number: self.number(start.registers), ..Inputs::default() };
        inputs.reads.reserve(self.inputs.len());
        let mut pieces = Vec::new();
        for (origin, Input { read, is, elsewhere }) in (READS..).zip(&self.inputs) {
            if !is_looked_at(*is, read) {
                continue;
            }
            let address = words.place(read.address, read.through);
            let there = probe(address, read.size)?;
            let as_before = match is {
                Is::Value => there.value == read.value && read.word().is_none_or(|word| stack.is_same_for(word, word)),
                Is::Execution => there.word() == Some(now.execution()),
                Is::Word | Is::Copied => true,
            };
            if !as_before {
                return None;
            }
            let whose = if read.is_ours || *is == Is::Execution { Whose::Ours } else { Whose::Rounds };
            if let (Is::Word | Is::Execution, Some(was), Some(is)) = (is, read.word(), there.word()) {
                words.add(origin, was, is, whose)?;
            }
            inputs.number = number_of(inputs.number, *is, read, &there);
            if !read.is_ours {
                pieces.push((read.address, address, read.size, read.rewritten));
                if !read.rewritten {
                    inputs.reads.push(there);
                }
                let is_elsewhere = *elsewhere || address != read.address && now.is_elsewhere(address);
                inputs.elsewhere |= is_elsewhere;
                inputs.borrows_stack |= is_elsewhere && read.rewritten;
            }
        }
        words.cannot_be_told(&stack, &self.pairs, &pieces).then_some(inputs)
    }
}

/// The number of what a round looks at, with what is there where it reads.
fn number_of(number: u64, is: Is, read: &Read, there: &Read) -> u64 {
    let what = match is {
        Is::Copied => 0,
        _ => there.value.chunks(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes)).fold(1, mix),
    };
    if read.is_ours { number } else { mix(mix(number, there.address as u64), what) }
}

/// What a round reads in an execution, but for what it overwrites.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    reads: Vec<Read>,
    /// What it looks at, as a number.
    pub number: u64,
    /// Whether others change some of it unseen: it lies on their stacks, or they have borrowed it.
    pub elsewhere: bool,
    /// Whether the round writes to some of it that lies on their stacks.
    pub borrows_stack: bool,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::moved::Origins;

    /// An execution of which a round finds the number and the place of a local value.
    struct Execution {
        number: u64,
        local: usize,
    }

    impl Now for Execution {
        fn execution(&self) -> u64 {
            self.number
        }

        fn state(&self, _: usize) -> u64 {
            0
        }

        fn local(&self, _: usize) -> usize {
            self.local
        }

        fn execution_is_at(&self) -> usize {
            0
        }

        fn is_elsewhere(&self, _: usize) -> bool {
            false
        }
    }

    const START: Start = Start { place: 0, stack: 0, top: 0, frame: 0, registers: [0; 6] };
    const THERE: usize = 0x7f12_3456_7000;
    const ELSEWHERE: usize = 0x7f12_3500_0000;

    /// A round that has done this with what it has found, and nothing else.
    fn a_round(origins: Origins) -> Outcome {
        Outcome {
            end: End::Round,
            reads: Vec::new(),
            origins,
            registers: [0; 6],
            numbers: Vec::new(),
            unusual: Vec::new(),
            found: Vec::new(),
            locals: Vec::new(),
            borrows: false,
            lent: 0,
            leaves: Vec::new(),
            leaves_registers: [NONE; 6],
            instructions: 1,
        }
    }

    /// The proof of a round in execution 1 that has done this with its local value, and has read these.
    fn proof(local: Done, reads: Vec<Read>, lost: bool) -> Proof {
        let mut done = vec![Done::default(); usize::from(READS) + reads.len()];
        done[usize::from(LOCALS)] = local;
        let round = a_round(Origins { done, pairs: Vec::new(), lost });
        let outcome = Outcome { reads, locals: vec![(1, THERE)], ..round };
        Proof::new(START, outcome, &Execution { number: 1, local: THERE })
    }

    fn holds(proof: &Proof, number: u64, local: usize) -> bool {
        proof.holds(&START, &Execution { number, local }).is_some()
    }

    #[test]
    fn a_local_value_may_be_elsewhere_if_only_its_place_is_used() {
        let reached = proof(Done { reached: true, used: true, fixed: false }, Vec::new(), false);
        assert!(holds(&reached, 2, ELSEWHERE));
        assert!(!holds(&reached, 2, 0), "there is none");
        let fixed = proof(Done { reached: true, used: true, fixed: true }, Vec::new(), false);
        assert!(holds(&fixed, 2, THERE));
        assert!(!holds(&fixed, 2, ELSEWHERE));
    }

    /// A round on a stack whose top is there, with this in its first register.
    fn on(top: usize, register: usize) -> Start {
        Start { stack: top - 4096, top, frame: top - 512, registers: [register as u64, 0, 0, 0, 0, 0], ..START }
    }

    /// The proof of a round on the stack below [`THERE`], with this in its first register, that has done this with the stack and
    /// that with the register.
    fn on_a_stack(register: usize, stack: Done, with: Done) -> Proof {
        let mut done = vec![Done::default(); usize::from(READS)];
        (done[usize::from(STACK)], done[usize::from(REGISTERS)]) = (stack, with);
        let registers = [register as u64, 0, 0, 0, 0, 0];
        let outcome = Outcome { registers, ..a_round(Origins { done, pairs: Vec::new(), lost: false }) };
        Proof::new(on(THERE, register), outcome, &Execution { number: 1, local: 0 })
    }

    #[test]
    fn what_points_to_the_stack_moves_with_it() {
        let now = Execution { number: 2, local: 0 };
        let used = Done { reached: true, used: true, fixed: false };
        let fixed = Done { fixed: true, ..used };
        let (mine, heap) = (THERE - 64, 0x7e00_0000_0000);
        let holds = |proof: &Proof, top, register| proof.holds(&on(top, register), &now).is_some();
        let proof = on_a_stack(mine, used, used);
        assert!(holds(&proof, THERE, mine));
        assert!(holds(&proof, ELSEWHERE, ELSEWHERE - 64));
        assert!(!holds(&proof, ELSEWHERE, mine), "it points to where the stack was");
        assert!(!holds(&proof, ELSEWHERE, ELSEWHERE - 128), "it points to another word");
        assert!(!holds(&proof, THERE, THERE - 128), "it points to another word");
        assert!(!holds(&proof, THERE + 8, mine + 8), "marks would be others");
        let proof = on_a_stack(heap, used, used);
        assert!(holds(&proof, ELSEWHERE, heap));
        assert!(holds(&proof, ELSEWHERE, heap + 64));
        assert!(!holds(&proof, ELSEWHERE, ELSEWHERE - 64), "it points to the stack");
        let proof = on_a_stack(heap, used, fixed);
        assert!(holds(&proof, ELSEWHERE, heap));
        assert!(!holds(&proof, heap + 512, heap), "it points to the stack now");
        assert!(!holds(&on_a_stack(mine, used, fixed), ELSEWHERE, ELSEWHERE - 64), "it must be the same");
        assert!(!holds(&on_a_stack(heap, fixed, used), ELSEWHERE, heap), "the stack must be the same");
        assert!(holds(&on_a_stack(heap, fixed, used), THERE, heap));
    }

    #[test]
    fn where_an_address_comes_from_nowhere_known_all_is_of_one_execution() {
        let lost = proof(Done::default(), Vec::new(), true);
        assert!(holds(&lost, 1, THERE));
        assert!(!holds(&lost, 1, ELSEWHERE));
        assert!(!holds(&lost, 2, THERE));
    }

    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
    fn what_is_overwritten_overlaps_the_same_as_before() {
        // The first word is reached through a local value, written to, and only copied; the third one is looked at.
        let memory = Box::new([7u64; 4]);
        let at = |n: usize| (&raw const memory[n]).expose_provenance();
        let copied = Read { through: LOCALS, rewritten: true, ..probe(at(0), 8).unwrap() };
        let done = Done { reached: true, used: true, fixed: false };
        let mut proof = proof(done, vec![copied, probe(at(2), 8).unwrap()], false);
        proof.locals[0].1 = at(0);
        proof.inputs[1].is = Is::Value;
        assert!(holds(&proof, 2, at(0)));
        assert!(!holds(&proof, 2, at(2)));
    }

    /// Pointers that atomics hold have the numbers in whose order they were first seen, which say no more than whether they are the same.
    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
    fn which_of_two_pointers_is_higher_no_state_of_an_atomic_says() {
        const LOW: u64 = 0x7e00_0000_0000;
        let holds = |was: [u64; 2], is: [u64; 2], keeps| {
            let mut memory = Box::new(was);
            let read = |word: &u64| Read { is_ours: true, ..probe((&raw const *word).expose_provenance(), 8).unwrap() };
            let reads: Vec<Read> = memory.iter().map(read).collect();
            let done = Done { reached: true, used: true, fixed: false };
            let pairs = vec![Pair { origins: [READS, READS + 1], keeps }];
            let round = a_round(Origins { done: vec![done; usize::from(READS) + 2], pairs, lost: false });
            let proof = Proof::new(START, Outcome { reads, ..round }, &Execution { number: 1, local: 0 });
            *memory = is;
            holds(&proof, 1, 0)
        };
        let (low, high) = ([LOW, LOW + 64], [LOW + 64, LOW]);
        let order = Keeps::Order(64_u64.wrapping_neg());
        for keeps in [order, Keeps::Distance] {
            assert!(holds(low, low, keeps) && holds(low, [LOW + 64, LOW + 128], keeps));
            assert!(!holds(low, high, keeps), "{keeps:?}");
        }
        assert!(holds(low, [LOW, LOW + 128], order) && !holds(low, [LOW, LOW + 128], Keeps::Distance));
        assert!(holds(low, high, Keeps::Sameness(64)), "the states of atomics say that");
        assert!(holds([1, 2], [2, 1], Keeps::Order(1)), "and numbers");
    }
}
