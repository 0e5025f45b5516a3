//! Steps without what is known before they are made.
//!
//! Paper: Partial Evaluation and Automatic Program Generation (Jones, Gomard, Sestoft 1993), section 4.4: for each program counter
//! and what is known there, code is made once.
//!
//! Known are locals that are set to constants, and temporaries that are copies. Comparisons of constants are decided, and nothing
//! is stored earlier than somebody may read it; what is dead where the step ends is not stored at all.
//!
//! Deviations:
//! 1. Nothing is known where a step begins: all of it comes from the step itself.
//! 2. Only so much is known at once, and a way that goes on with a call or a wait inside of a step goes on in the code as it was,
//!    as does everything when the new code becomes long: so there is an end.

use super::code::{At, Guard, NOWHERE, Op, PackedCode};
use crate::code::{Fix, Op as Arithmetic};
use crate::compile::Compiled;
use std::collections::HashMap;

/// Locals that are constants, and temporaries that are constants or other words: they are not stored yet. In order.
type Known = Vec<(At, At)>;

/// Most of them that are followed at once.
const MOST_KNOWN: usize = 16;

/// What the code is that is made.
#[derive(Clone, Copy)]
enum Kind<'a> {
    /// A step of a procedure: the locals that are dead, by where it may end.
    Step(usize, &'a [Vec<(u32, i64)>]),
    Guard,
}

struct Straight<'a> {
    program: &'a Compiled,
    consts: &'a [i64],
    /// Constants that are 0 and 1.
    truth: [At; 2],
    /// Temporaries lie from here to there, and then the shared variables.
    temps: std::ops::Range<usize>,
    ops: Vec<Op>,
    /// Whether something jumps there, in the code as it was.
    is_target: Vec<bool>,
    most: usize,
    /// Where the code begins that was made for a program counter and what is known there.
    made: HashMap<(u32, Known), u32>,
    /// Jumps, and what they lead to.
    waiting: Vec<(usize, u32, Known)>,
}

/// Makes steps and guards begin with code of their own.
pub(super) fn straighten(code: &mut PackedCode, program: &Compiled) {
    let consts = &code.consts;
    let of = |value: i64| consts.iter().position(|c| *c == value);
    let (Some(no), Some(yes)) = (of(0), of(1)) else { return };
    let mut all = Straight {
        program,
        consts,
        truth: [At::constant(no), At::constant(yes)],
        temps: code.temps..code.ahead,
        most: code.ops.len() * 3 + 1024,
        is_target: targets(&code.ops),
        ops: std::mem::take(&mut code.ops),
        made: HashMap::new(),
        waiting: Vec::new(),
    };
    let mut first = 0;
    for (proc, stands) in code.stands.iter().enumerate() {
        let places = first..first + stands.len();
        first = places.end;
        for place in &mut code.places[places.clone()] {
            place.begin = all.make(place.begin, Kind::Step(proc, &code.dead[places.clone()]));
            straighten_guard(&mut all, &mut place.guard);
        }
    }
    code.guards.iter_mut().for_each(|guard| straighten_guard(&mut all, guard));
    all.follow_loops();
    code.ops = all.ops;
}

fn targets(ops: &[Op]) -> Vec<bool> {
    let mut targets = vec![false; ops.len()];
    for op in ops {
        if let Op::Jump { to } | Op::Loop { to } | Op::Unless { to, .. } | Op::Star { to } = op {
            targets[*to as usize] = true;
        }
    }
    targets
}

fn straighten_guard(all: &mut Straight<'_>, guard: &mut Guard) {
    if let Guard::Code { entry } | Guard::Join { entry } | Guard::JoinAll { entry, .. } = guard {
        *entry = all.make(*entry, Kind::Guard);
    }
}

impl Straight<'_> {
    /// What leads to the end of a step is that.
    fn follow_loops(&mut self) {
        for at in 0..self.ops.len() {
            let mut to = at;
            for _ in 0..MOST_KNOWN {
                match self.ops[to] {
                    Op::Jump { to: next } | Op::Loop { to: next } => to = next as usize,
                    _ => break,
                }
            }
            if let rest @ Op::Rest { .. } = self.ops[to] {
                self.ops[at] = rest;
            }
        }
    }

    /// Makes the code from here on; returns where it begins.
    fn make(&mut self, pc: u32, kind: Kind<'_>) -> u32 {
        if let Some(begin) = self.made.get(&(pc, Vec::new())) {
            return *begin;
        }
        let begin = self.ops.len() as u32;
        self.way(pc, Vec::new(), kind);
        while let Some((jump, pc, known)) = self.waiting.pop() {
            let begin = match self.made.get(&(pc, known.clone())) {
                Some(begin) if *begin as usize > jump => *begin,
                _ => {
                    let begin = self.ops.len() as u32;
                    self.way(pc, known, kind);
                    begin
                }
            };
            if let Op::Unless { to, .. } | Op::Star { to } = &mut self.ops[jump] {
                *to = begin;
            }
        }
        begin
    }

    /// Makes the code of one way, to where it ends or comes to code that was made.
    fn way(&mut self, mut pc: u32, mut known: Known, kind: Kind<'_>) {
        let mut begins = true;
        loop {
            if std::mem::take(&mut begins) || self.is_target[pc as usize] {
                let key = (pc, known.clone());
                if let Some(begin) = self.made.get(&key) {
                    let to = *begin;
                    // Every way around in steps is counted.
                    self.ops.push(if matches!(kind, Kind::Guard) { Op::Jump { to } } else { Op::Loop { to } });
                    return;
                }
                self.made.insert(key, self.ops.len() as u32);
            }
            if self.ops.len() > self.most {
                self.store(&mut known);
                self.ops.push(Op::Jump { to: pc });
                return;
            }
            let op = self.ops[pc as usize];
            pc += 1;
            match op {
                Op::Jump { to } => pc = to,
                Op::Loop { to } if matches!(kind, Kind::Step(..)) => pc = to,
                Op::Unless { cmp, a, b, to } => {
                    let [a, b] = [a, b].map(|at| self.known(&known, at));
                    match self.both(a, b) {
                        Some((a, b)) if cmp.holds(a, b) => {}
                        Some(_) => pc = to,
                        None => {
                            self.waiting.push((self.ops.len(), to, known.clone()));
                            self.ops.push(Op::Unless { cmp, a, b, to });
                        }
                    }
                }
                Op::Star { to } => {
                    self.waiting.push((self.ops.len(), to, known.clone()));
                    self.ops.push(op);
                }
                Op::Rest { stand } => {
                    if let Kind::Step(_, dead) = kind
                        && stand != NOWHERE
                    {
                        let dead = &dead[stand as usize];
                        known.retain(|(at, _)| {
                            at.base() != 0 && dead.iter().all(|(word, _)| *word as usize != at.offset())
                        });
                        self.store(&mut known);
                    }
                    self.ops.push(op);
                    return;
                }
                Op::Other | Op::Value { .. } | Op::Loop { .. } => {
                    self.ops.push(match op {
                        Op::Value { a } => Op::Value { a: self.known(&known, a) },
                        _ => Op::Other,
                    });
                    return;
                }
                Op::Call { .. } | Op::Return { .. } | Op::Await { .. } => {
                    self.store(&mut known);
                    self.ops.push(Op::Jump { to: pc - 1 });
                    return;
                }
                Op::Copy { .. } => {
                    self.store(&mut known);
                    self.ops.push(op);
                }
                op => {
                    let op = self.reads(op, &mut known);
                    self.make_one(self.simplest(op, kind), &mut known);
                }
            }
        }
    }

    /// An instruction that goes on with the next one, and reads what is known.
    fn make_one(&mut self, op: Op, known: &mut Known) {
        let (dst, value) = match op {
            Op::Move { dst, a } => {
                (dst, Some(a).filter(|a| self.value(*a).is_some() || self.is_temporary(dst) && *a != dst))
            }
            Op::Compare { cmp, dst, a, b } => {
                (dst, self.both(a, b).map(|(a, b)| self.truth[usize::from(cmp.holds(a, b))]))
            }
            Op::Check { a, range } => {
                let (lo, hi) = self.program.code.ranges[range as usize];
                return match self.value(a) {
                    Some(v) if lo <= v && v <= hi => {}
                    _ => self.ops.push(op),
                };
            }
            Op::Add { dst, .. }
            | Op::Sub { dst, .. }
            | Op::Arith { dst, .. }
            | Op::Convert { dst, .. }
            | Op::Index { dst, .. }
            | Op::Load { dst, .. }
            | Op::LoadElement { dst, .. }
            | Op::LoadHeap { dst, .. }
            | Op::EqWords { dst, .. }
            | Op::Choose { dst, .. }
            | Op::SelfHandle { dst } => (dst, None),
            Op::Store { .. } | Op::StoreElement { .. } => {
                let consts = self.temps.start;
                self.store_those(known, |at| at.base() != 0 || at.offset() >= consts);
                return self.ops.push(op);
            }
            _ => return self.ops.push(op),
        };
        known.retain(|(at, _)| *at != dst);
        self.store_those(known, |at| at == dst);
        match value {
            Some(value) if self.is_own(dst) => {
                if known.len() == MOST_KNOWN {
                    self.store(known);
                }
                known.push((dst, value));
                known.sort_unstable();
            }
            Some(value) => self.ops.push(Op::Move { dst, a: value }),
            None => self.ops.push(op),
        }
    }

    /// The same with less to do, where the values that there may be allow it.
    fn simplest(&self, op: Op, kind: Kind<'_>) -> Op {
        let range = |at: At| self.range(at, kind);
        match op {
            Op::Convert { fix, dst, a } if range(a).is_some_and(|range| holds(fix, range)) => Op::Move { dst, a },
            Op::Arith { op: op @ (Arithmetic::AddWrap | Arithmetic::SubWrap), fix, dst, a, b } => {
                match range(a).zip(range(b)) {
                    Some(((a_lo, a_hi), (b_lo, b_hi)))
                        if op == Arithmetic::AddWrap && holds(fix, (a_lo + b_lo, a_hi + b_hi)) =>
                    {
                        Op::Add { dst, a, b }
                    }
                    Some(((a_lo, a_hi), (b_lo, b_hi)))
                        if op == Arithmetic::SubWrap && holds(fix, (a_lo - b_hi, a_hi - b_lo)) =>
                    {
                        Op::Sub { dst, a, b }
                    }
                    _ => Op::Arith { op, fix, dst, a, b },
                }
            }
            op => op,
        }
    }

    /// The instruction with constants for the operands that are known; stores what it may read elsewhere.
    fn reads(&mut self, op: Op, known: &mut Known) -> Op {
        let of = |at: At| self.known(known, at);
        match op {
            Op::Move { dst, a } => Op::Move { dst, a: of(a) },
            Op::Add { dst, a, b } => Op::Add { dst, a: of(a), b: of(b) },
            Op::Sub { dst, a, b } => Op::Sub { dst, a: of(a), b: of(b) },
            Op::Arith { op, fix, dst, a, b } => Op::Arith { op, fix, dst, a: of(a), b: of(b) },
            Op::Convert { fix, dst, a } => Op::Convert { fix, dst, a: of(a) },
            Op::Compare { cmp, dst, a, b } => Op::Compare { cmp, dst, a: of(a), b: of(b) },
            Op::Check { a, range } => Op::Check { a: of(a), range },
            Op::Index { dst, prev, index, shape } => Op::Index { dst, prev: of(prev), index: of(index), shape },
            Op::LoadHeap { dst, obj, off } => Op::LoadHeap { dst, obj: of(obj), off: of(off) },
            Op::StoreHeap { obj, off, src } => Op::StoreHeap { obj: of(obj), off: of(off), src: of(src) },
            Op::NotNull { a } => Op::NotNull { a: of(a) },
            Op::Choose { dst, a, b } => Op::Choose { dst, a: of(a), b: of(b) },
            Op::Assume { cmp, a, b } => Op::Assume { cmp, a: of(a), b: of(b) },
            Op::Assert { cmp, a, b } => Op::Assert { cmp, a: of(a), b: of(b) },
            Op::LoadElement { dst, base, index, shape } if !self.is_own(base) => {
                Op::LoadElement { dst, base, index: of(index), shape }
            }
            Op::StoreElement { base, index, src, shape } if !self.is_own(base) => {
                Op::StoreElement { base, index: of(index), src: of(src), shape }
            }
            Op::Load { dst, base, off } if !self.is_own(base) => Op::Load { dst, base, off: of(off) },
            Op::Store { base, off, src } if !self.is_own(base) => Op::Store { base, off: of(off), src: of(src) },
            Op::LoadElement { .. }
            | Op::StoreElement { .. }
            | Op::Load { .. }
            | Op::Store { .. }
            | Op::EqWords { .. } => {
                self.store(known);
                op
            }
            _ => op,
        }
    }

    /// Stores what is known.
    fn store(&mut self, known: &mut Known) {
        self.store_those(known, |_| true);
    }

    /// Stores those that are known to be such words.
    fn store_those(&mut self, known: &mut Known, is_such: impl Fn(At) -> bool) {
        let ops = &mut self.ops;
        known.retain(|(dst, a)| {
            let stays = !is_such(*a);
            if !stays {
                ops.push(Op::Move { dst: *dst, a: *a });
            }
            stays
        });
    }

    fn known(&self, known: &Known, at: At) -> At {
        known.iter().find(|(local, _)| *local == at).map_or(at, |(_, constant)| *constant)
    }

    /// The value of a constant.
    fn value(&self, at: At) -> Option<i64> {
        if at.base() == 0 { self.consts.get(at.offset()).copied() } else { None }
    }

    fn both(&self, a: At, b: At) -> Option<(i64, i64)> {
        self.value(a).zip(self.value(b))
    }

    /// Whether it is a local or a temporary, which nobody else reads.
    fn is_own(&self, at: At) -> bool {
        at.base() == 1 || at.base() == 0 && self.temps.contains(&at.offset())
    }

    fn is_temporary(&self, at: At) -> bool {
        at.base() == 0 && self.temps.contains(&at.offset())
    }

    /// The values that a word may have: of a constant, a shared variable or a local of few values.
    fn range(&self, at: At, kind: Kind<'_>) -> Option<(i64, i64)> {
        if let Some(value) = self.value(at) {
            return is_small(value).then_some((value, value));
        }
        let (layout, word) = match kind {
            Kind::Step(proc, _) if at.base() == 1 => (&self.program.locals[proc], at.offset()),
            _ if at.base() == 0 => (&self.program.globals, at.offset().checked_sub(self.temps.end)?),
            _ => return None,
        };
        let (lo, bits) = layout.fields.get(word)?;
        bits.filter(|_| is_small(*lo)).map(|bits| (*lo, lo + (1 << bits) - 1))
    }
}

/// Whether sums of such numbers are far from all limits.
fn is_small(number: i64) -> bool {
    number.unsigned_abs() < 1 << 32
}

/// Whether all these numbers are what they are brought to.
fn holds(fix: Fix, (lo, hi): (i64, i64)) -> bool {
    match fix {
        Fix::No => true,
        Fix::Signed(bits) => lo >= -1 << (bits - 1) && hi < 1 << (bits - 1),
        Fix::Unsigned(bits) => lo >= 0 && hi < 1 << bits,
        Fix::Exact => lo >= 0,
    }
}
