//! Instructions for packed states: those of [`crate::code`] with operands that need no look at where they live.
//!
//! What does nothing is left out, and jumps are followed as far as they lead. What takes the interpreter of whole states is
//! [`Op::Other`].

use crate::code::{Area, Arg, Cmp, Code, Fix, Instr, Op as Arithmetic, Stands};
use crate::compile::Compiled;
use fabius_lang::program::Program;

/// An operand: two bits say what it is relative to (nothing, the locals of the running procedure, the thread's own variables).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

    pub(super) fn constant(number: usize) -> At {
        At(number as u32)
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
    /// The end of a step: the task stands here then, by [`PackedCode::stand_of`].
    Rest {
        stand: u32,
    },
    Meet,
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
    /// Entry of [`PackedCode::copies`].
    Copy {
        copy: u32,
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
        stand: u32,
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
    /// None: whoever stands there goes on.
    Open,
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

/// Where a task may stand: what it waits for, and where its next step begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) guard: Guard,
    pub(super) begin: u32,
    /// The number of the guard in the other code.
    pub(super) number: Option<u32>,
}

/// A call: where arguments are, and where the callee's code begins.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) callee: u32,
    pub(super) entry: u32,
    pub(super) args: Vec<(At, u32)>,
    pub(super) back: u32,
}

/// Where the words of an aggregate are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loc {
    Fixed(At),
    At { base: At, off: At },
    Element { base: At, index: At, shape: u32 },
    Heap { obj: At, off: At },
}

/// Copies `n` words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) dst: Loc,
    pub(super) src: Loc,
    pub(super) n: u32,
}

/// A program for packed states.
#[derive(Debug)]
pub(crate) struct PackedCode {
    pub(super) ops: Vec<Op>,
    pub(super) guards: Vec<Guard>,
    pub(super) sites: Vec<Site>,
    pub(super) copies: Vec<Copy>,
    /// For each program counter, its number among those of its procedure where a task may stand.
    pub(crate) stand_of: Vec<u32>,
    /// The program counters where a task may stand, by procedure.
    pub(crate) stands: Vec<Vec<u32>>,
    /// The same one behind the other.
    pub(super) places: Vec<Place>,
    /// For each of these, the locals that are dead there, with what they are then.
    pub(super) dead: Vec<Vec<(u32, i64)>>,
    /// For each local of each procedure, whether it is what it begins as wherever a task may stand.
    pub(super) idle: Vec<Vec<bool>>,
    pub(super) consts: Vec<i64>,
    /// Words that are in front of the shared variables: constants and temporaries.
    pub(super) ahead: usize,
    pub(super) temps: usize,
}

/// No place for a task to stand.
pub(crate) const NOWHERE: u32 = u32::MAX;

impl PackedCode {
    pub(super) fn of(program: &Compiled, source: &Program) -> PackedCode {
        let code = &program.code;
        let mut consts = code.consts.clone();
        // What comparisons result in.
        consts.extend([0, 1].iter().filter(|c| !code.consts.contains(c)));
        let temps = consts.len();
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
        let (stand_of, stands) = stands(program, code);
        // What does nothing is left out, so that program counters are others than those of `code`.
        let mut ops: Vec<Op> = Vec::new();
        let mut begins = Vec::new();
        for (pc, instr) in code.instrs.iter().enumerate() {
            begins.push(ops.len() as u32);
            let tries_few =
                matches!(instr, Instr::Choose { .. }) && source.tried.keys().any(|(at, ..)| *at == code.infos[pc].at);
            let op = op(*instr, &at, |stand| stand_of[stand as usize], code, pc);
            ops.extend(if tries_few { Some(Op::Other) } else { op });
        }
        let copies = code.copies.iter().map(|copy| copied(*copy, &at)).collect();
        let guards: Vec<Guard> = code.guards.iter().map(|g| guard(program, g, &at, &begins)).collect();
        let sites = code.sites.iter().map(|s| Site {
            callee: s.callee as u32,
            entry: program.entries[s.callee][usize::from(s.in_atomic)].map_or(0, |pc| begins[pc as usize]),
            args: s.args.iter().map(|(arg, n)| (at(*arg), *n)).collect(),
            back: begins[s.back as usize],
        });
        let places = stands.iter().flatten().map(|pc| match code.instrs[*pc as usize] {
            Instr::Await { guard } => {
                Place { guard: guards[guard as usize], begin: begins[*pc as usize + 1], number: Some(guard) }
            }
            _ => Place { guard: Guard::Open, begin: begins[*pc as usize], number: None },
        });
        let dead: Vec<_> = stands.iter().flatten().map(|pc| dead(program, *pc as usize)).collect();
        let idle = (0..source.procs.len()).map(|proc| idle(program, source, proc, &stands[proc])).collect();
        let (sites, places) = (sites.collect(), places.collect());
        let mut packed =
            PackedCode { ops, guards, sites, copies, stand_of, stands, places, dead, idle, consts, ahead, temps };
        packed.follow_jumps(&begins);
        packed
    }

    /// Jumps go to where something is done; those that lead to the end of a step are that.
    fn follow_jumps(&mut self, begins: &[u32]) {
        for op in &mut self.ops {
            if let Op::Jump { to } | Op::Loop { to } | Op::Unless { to, .. } | Op::Star { to } = op {
                *to = begins[*to as usize];
            }
        }
        let ends: Vec<u32> = (0..self.ops.len() as u32).map(|at| self.behind_jumps(at)).collect();
        for at in 0..self.ops.len() {
            if let Op::Jump { to } | Op::Loop { to } | Op::Unless { to, .. } | Op::Star { to } = &mut self.ops[at] {
                *to = ends[*to as usize];
            }
            if let Op::Jump { to } | Op::Loop { to } = self.ops[at]
                && let rest @ Op::Rest { .. } = self.ops[to as usize]
            {
                self.ops[at] = rest;
            }
        }
        self.places.iter_mut().for_each(|place| place.begin = ends[place.begin as usize]);
    }

    /// Where jumps from here lead to.
    fn behind_jumps(&self, mut at: u32) -> u32 {
        // Jumps in a circle lead nowhere.
        for _ in 0..self.ops.len() {
            match self.ops[at as usize] {
                Op::Jump { to } => at = to,
                _ => break,
            }
        }
        at
    }
}

fn guard(program: &Compiled, guard: &crate::code::Guard, at: &impl Fn(Arg) -> At, begins: &[u32]) -> Guard {
    let entry = begins[guard.entry as usize];
    match guard.quick {
        _ if guard.stands != Stands::InFront || program.idle.is_some() => Guard::Declined,
        Some((cmp, a, b)) => Guard::Compare { cmp, a: at(a), b: at(b) },
        None if guard.join => match guard.group {
            Some(group) => Guard::JoinAll { entry, group },
            None => Guard::Join { entry },
        },
        None => of_element(&program.code, guard.entry, at).unwrap_or(Guard::Code { entry }),
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

/// An instruction for packed states, if it does anything there; jumps lead where they lead in the other code.
fn op(instr: Instr, at: &impl Fn(Arg) -> At, stand_of: impl Fn(u32) -> u32, code: &Code, pc: usize) -> Option<Op> {
    Some(match instr {
        Instr::Point => Op::Rest { stand: stand_of(code.behind[pc + 1]) },
        Instr::Zield => Op::Rest { stand: stand_of(code.settled[pc + 1]) },
        Instr::Meet => Op::Meet,
        // Threads alone: nobody interrupts, and nothing is told.
        Instr::Mark | Instr::Interruptible | Instr::Progress | Instr::Touch { .. } => return None,
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
        Instr::Await { guard } => Op::Await { guard, stand: stand_of(pc as u32) },
        Instr::Assume { cmp, a, b } => Op::Assume { cmp, a: at(a), b: at(b) },
        Instr::Assert { cmp, a, b, .. } => Op::Assert { cmp, a: at(a), b: at(b) },
        Instr::Value { a } => Op::Value { a: at(a) },
        Instr::SelfHandle { dst } => Op::SelfHandle { dst: at(dst) },
        Instr::Copy { copy } => Op::Copy { copy },
        Instr::Pick { .. } | Instr::New { .. } | Instr::Fork { .. } | Instr::Yield => Op::Other,
    })
}

fn copied(copy: crate::code::Copy, at: &impl Fn(Arg) -> At) -> Copy {
    let loc = |loc| match loc {
        crate::code::Loc::Fixed(arg) => Loc::Fixed(at(arg)),
        crate::code::Loc::At { base, off } => Loc::At { base: at(base), off: at(off) },
        crate::code::Loc::Element { base, index, shape } => Loc::Element { base: at(base), index: at(index), shape },
        crate::code::Loc::Heap { obj, off } => Loc::Heap { obj: at(obj), off: at(off) },
    };
    Copy { dst: loc(copy.dst), src: loc(copy.src), n: copy.n }
}

/// The locals that are dead where a task stands, and their initial values.
fn dead(program: &Compiled, pc: usize) -> Vec<(u32, i64)> {
    let initial = &program.locals[program.code.proc_of[pc] as usize].initial;
    let ranges = &program.code.dead[program.code.dead_at[pc] as usize];
    ranges.iter().flat_map(|(from, to)| *from..*to).map(|word| (word, initial[word as usize])).collect()
}

/// The locals of a procedure that are dead wherever it may rest, and are no parameters.
fn idle(program: &Compiled, source: &Program, proc: usize, stands: &[u32]) -> Vec<bool> {
    let calls = program.code.sites.iter().any(|site| site.caller == proc);
    let params = source.procs[proc].locals[..source.procs[proc].params].iter();
    let params: u64 = params.map(|local| crate::layout::words_of(source, &local.ty)).sum();
    let mut idle: Vec<bool> = (0..program.locals[proc].words).map(|word| !calls && u64::from(word) >= params).collect();
    let mut sets: Vec<u32> = stands.iter().map(|pc| program.code.dead_at[*pc as usize]).collect();
    sets.sort_unstable();
    sets.dedup();
    for set in sets {
        // Between those that are dead the others are not.
        let dead = &program.code.dead[set as usize];
        let begins = std::iter::once(0).chain(dead.iter().map(|(_, to)| *to as usize));
        let ends = dead.iter().map(|(from, _)| *from as usize).chain([idle.len()]).collect::<Vec<_>>();
        begins.zip(ends).for_each(|(from, to)| idle[from..to].fill(false));
    }
    idle
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
