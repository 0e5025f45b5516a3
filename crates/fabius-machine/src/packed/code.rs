//! Instructions for packed states: those of [`crate::code`] with operands that need no look at where they live.
//!
//! Both have the same program counters. What takes the interpreter of whole states is [`Op::Other`].

use crate::code::{Area, Arg, Cmp, Code, Fix, Instr, Op as Arithmetic, Stands};
use crate::compile::Compiled;

/// An operand: two bits say what it is relative to (nothing, the locals of the running procedure, the thread's own variables).
#[derive(Clone, Copy, Debug)]
pub(super) struct At(u32);

const BASE_SHIFT: u32 = 30;

impl At {
    #[inline(always)]
    pub(super) fn base(self) -> usize {
        (self.0 >> BASE_SHIFT) as usize
    }

    #[inline(always)]
    pub(super) fn offset(self) -> usize {
        (self.0 & ((1 << BASE_SHIFT) - 1)) as usize
    }

    pub(super) fn plus(self, by: usize) -> At {
        At(self.0 + by as u32)
    }
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// Of the interpreter of whole states.
    Other,
    Nothing,
    Point,
    Meet,
    Zield,
    Jump {
        to: u32,
    },
    Loop {
        to: u32,
    },
    Unless {
        cmp: Cmp,
        a: At,
        b: At,
        to: u32,
    },
    Move {
        dst: At,
        a: At,
    },
    Add {
        dst: At,
        a: At,
        b: At,
    },
    Sub {
        dst: At,
        a: At,
        b: At,
    },
    Arith {
        op: Arithmetic,
        fix: Fix,
        dst: At,
        a: At,
        b: At,
    },
    Convert {
        fix: Fix,
        dst: At,
        a: At,
    },
    Compare {
        cmp: Cmp,
        dst: At,
        a: At,
        b: At,
    },
    Check {
        a: At,
        range: u32,
    },
    Index {
        dst: At,
        prev: At,
        index: At,
        shape: u32,
    },
    Load {
        dst: At,
        base: At,
        off: At,
    },
    Store {
        base: At,
        off: At,
        src: At,
    },
    LoadElement {
        dst: At,
        base: At,
        index: At,
        shape: u32,
    },
    StoreElement {
        base: At,
        index: At,
        src: At,
        shape: u32,
    },
    LoadHeap {
        dst: At,
        obj: At,
        off: At,
    },
    StoreHeap {
        obj: At,
        off: At,
        src: At,
    },
    EqWords {
        dst: At,
        a: At,
        b: At,
        n: u32,
    },
    NotNull {
        a: At,
    },
    Star {
        to: u32,
    },
    Choose {
        dst: At,
        a: At,
        b: At,
    },
    Call {
        site: u32,
    },
    Return {
        values: At,
        words: u32,
    },
    Await {
        guard: u32,
    },
    Assume {
        cmp: Cmp,
        a: At,
        b: At,
    },
    Assert {
        cmp: Cmp,
        a: At,
        b: At,
    },
    Value {
        a: At,
    },
    SelfHandle {
        dst: At,
    },
}

/// A guard.
#[derive(Clone, Copy, Debug)]
pub(super) enum Guard {
    /// Left to the other interpreter.
    Declined,
    /// One comparison.
    Compare { cmp: Cmp, a: At, b: At },
    /// One comparison of an element of an array.
    CompareElement { cmp: Cmp, base: At, index: At, shape: u32, b: At },
    /// Code from here on that ends with the value.
    Code { entry: u32 },
    /// The same; the value is the handle of whoever must have finished.
    Join { entry: u32 },
    /// The same, and all those whose handles are in the group have finished.
    JoinAll { entry: u32, group: u32 },
}

/// A call: where arguments are, and where the callee's code begins.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) callee: u32,
    pub(super) entry: u32,
    pub(super) args: Vec<(At, u32)>,
    pub(super) back: u32,
}

/// A program for packed states.
#[derive(Debug)]
pub(crate) struct PackedCode {
    pub(super) ops: Vec<Op>,
    pub(super) guards: Vec<Guard>,
    pub(super) sites: Vec<Site>,
    /// For each program counter, its number among those of its procedure where a task may stand.
    pub(crate) stand_of: Vec<u32>,
    /// The program counters where a task may stand, by procedure.
    pub(crate) stands: Vec<Vec<u32>>,
    /// The same one behind the other, with the guard that is there.
    pub(super) places: Vec<(u32, Option<u32>)>,
    /// Words that are in front of the shared variables: constants and temporaries.
    pub(super) ahead: usize,
    pub(super) temps: usize,
}

/// No place for a task to stand.
pub(crate) const NOWHERE: u32 = u32::MAX;

impl PackedCode {
    pub(super) fn of(program: &Compiled) -> PackedCode {
        let code = &program.code;
        let temps = code.consts.len();
        let ahead = temps + code.temps as usize;
        let at = |arg: Arg| {
            let (base, offset) = match arg.area() {
                Area::Const => (0, arg.index()),
                Area::Temp => (0, temps + arg.index()),
                Area::Global => (0, ahead + arg.index()),
                Area::Local => (1, arg.index()),
                Area::Own => (2, arg.index()),
            };
            At(base << BASE_SHIFT | offset as u32)
        };
        let ops = code.instrs.iter().map(|instr| op(*instr, &at)).collect();
        let guards = code.guards.iter().map(|g| match g.quick {
            _ if g.stands != Stands::InFront => Guard::Declined,
            Some((cmp, a, b)) => Guard::Compare { cmp, a: at(a), b: at(b) },
            None if g.join => match g.group {
                Some(group) => Guard::JoinAll { entry: g.entry, group },
                None => Guard::Join { entry: g.entry },
            },
            None => of_element(code, g.entry, &at).unwrap_or(Guard::Code { entry: g.entry }),
        });
        let sites = code.sites.iter().map(|s| Site {
            callee: s.callee as u32,
            entry: program.entries[s.callee][usize::from(s.in_atomic)].unwrap_or(0),
            args: s.args.iter().map(|(arg, n)| (at(*arg), *n)).collect(),
            back: s.back,
        });
        let (guards, sites) = (guards.collect(), sites.collect());
        let (stand_of, stands) = stands(program, code);
        let guard = |pc: u32| match code.instrs[pc as usize] {
            Instr::Await { guard } => Some(guard),
            _ => None,
        };
        let places = stands.iter().flatten().map(|pc| (*pc, guard(*pc))).collect();
        PackedCode { ops, guards, sites, stand_of, stands, places, ahead, temps }
    }
}

/// The guard that begins here, if it compares an element and does nothing else: then come the two values, and which one it is.
fn of_element(code: &Code, entry: u32, at: &impl Fn(Arg) -> At) -> Option<Guard> {
    let instrs: &[Instr; 6] = code.instrs.get(entry as usize..)?.first_chunk()?;
    let [Instr::LoadElement { dst, base, index, shape }, Instr::Unless { cmp, a, b, to }, rest @ ..] = *instrs else {
        return None;
    };
    let [Instr::Move { .. }, Instr::Jump { .. }, Instr::Move { .. }, Instr::Value { .. }] = rest else { return None };
    let is_it = a == dst && b.area() != Area::Temp && index.area() != Area::Temp && to == entry + 4;
    is_it.then(|| Guard::CompareElement { cmp, base: at(base), index: at(index), shape, b: at(b) })
}

fn op(instr: Instr, at: &impl Fn(Arg) -> At) -> Op {
    match instr {
        Instr::Point => Op::Point,
        Instr::Meet => Op::Meet,
        Instr::Zield => Op::Zield,
        // Threads alone: nobody interrupts, and nothing is told.
        Instr::Mark | Instr::Interruptible | Instr::Progress | Instr::Touch { .. } => Op::Nothing,
        Instr::Jump { to } => Op::Jump { to },
        Instr::Loop { to, .. } => Op::Loop { to },
        Instr::Unless { cmp, a, b, to } => Op::Unless { cmp, a: at(a), b: at(b), to },
        Instr::Move { dst, a } => Op::Move { dst: at(dst), a: at(a) },
        Instr::Add { dst, a, b } => Op::Add { dst: at(dst), a: at(a), b: at(b) },
        Instr::Sub { dst, a, b } => Op::Sub { dst: at(dst), a: at(a), b: at(b) },
        Instr::Arith { op, fix, dst, a, b } => Op::Arith { op, fix, dst: at(dst), a: at(a), b: at(b) },
        Instr::Convert { fix, dst, a } => Op::Convert { fix, dst: at(dst), a: at(a) },
        Instr::Compare { cmp, dst, a, b } => Op::Compare { cmp, dst: at(dst), a: at(a), b: at(b) },
        Instr::Check { a, range } => Op::Check { a: at(a), range },
        Instr::Index { dst, prev, index, shape } => Op::Index { dst: at(dst), prev: at(prev), index: at(index), shape },
        Instr::Load { dst, base, off } => Op::Load { dst: at(dst), base: at(base), off: at(off) },
        Instr::Store { base, off, src } => Op::Store { base: at(base), off: at(off), src: at(src) },
        Instr::LoadElement { dst, base, index, shape } => {
            Op::LoadElement { dst: at(dst), base: at(base), index: at(index), shape }
        }
        Instr::StoreElement { base, index, src, shape } => {
            Op::StoreElement { base: at(base), index: at(index), src: at(src), shape }
        }
        Instr::LoadHeap { dst, obj, off } => Op::LoadHeap { dst: at(dst), obj: at(obj), off: at(off) },
        Instr::StoreHeap { obj, off, src } => Op::StoreHeap { obj: at(obj), off: at(off), src: at(src) },
        Instr::EqWords { dst, a, b, n } => Op::EqWords { dst: at(dst), a: at(a), b: at(b), n },
        Instr::NotNull { a } => Op::NotNull { a: at(a) },
        Instr::Star { to } => Op::Star { to },
        Instr::Choose { dst, a, b } => Op::Choose { dst: at(dst), a: at(a), b: at(b) },
        Instr::Call { site } => Op::Call { site },
        Instr::Return { values, words } => Op::Return { values: at(values), words },
        Instr::Await { guard } => Op::Await { guard },
        Instr::Assume { cmp, a, b } => Op::Assume { cmp, a: at(a), b: at(b) },
        Instr::Assert { cmp, a, b, .. } => Op::Assert { cmp, a: at(a), b: at(b) },
        Instr::Value { a } => Op::Value { a: at(a) },
        Instr::SelfHandle { dst } => Op::SelfHandle { dst: at(dst) },
        Instr::Copy { .. } | Instr::Pick { .. } | Instr::New { .. } | Instr::Fork { .. } | Instr::Yield => Op::Other,
    }
}

impl PackedCode {
    /// Where the places of a procedure begin.
    pub(super) fn first_place(&self, proc: usize) -> u32 {
        self.stands[..proc].iter().map(|stands| stands.len() as u32).sum()
    }
}

/// Where tasks may stand between steps.
fn stands(program: &Compiled, code: &Code) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut all: Vec<u32> = program.entries.iter().flatten().flatten().map(|e| code.settled[*e as usize]).collect();
    for (pc, instr) in code.instrs.iter().enumerate() {
        match instr {
            Instr::Point => all.extend([code.behind[pc + 1], code.settled[pc]]),
            Instr::Mark => all.push(code.settled[pc]),
            Instr::Await { .. } => all.push(pc as u32),
            Instr::Yield | Instr::Zield | Instr::Interruptible => all.push(code.settled[pc + 1]),
            _ => {}
        }
    }
    all.sort_unstable();
    all.dedup();
    let mut stand_of = vec![NOWHERE; code.instrs.len()];
    let mut stands = vec![Vec::new(); program.locals.len()];
    for pc in all {
        let of_proc = &mut stands[code.proc_of[pc as usize] as usize];
        stand_of[pc as usize] = of_proc.len() as u32;
        of_proc.push(pc);
    }
    (stand_of, stands)
}
