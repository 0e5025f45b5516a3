//! What a step may touch of what threads share, and what a thread may still touch from where it stands on, by the program text.
//!
//! Shared words that no instruction tells apart are one *atom*; all heap objects are one, and that a thread finishes is one.

use crate::code::{Area, Arg, Code, Guard, Instr, Loc};
use crate::compile::Compiled;
use std::ops::Range;

/// Atoms as bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    touched: Vec<u64>,
    written: Vec<u64>,
}

/// By program counter.
#[derive(Debug)]
pub(crate) struct Footprints {
    /// What the step from here on touches, as far as it stays in the procedure and those that it calls.
    pub(crate) step: Vec<Footprint>,
    /// What the procedure touches until it returns, and all threads that it makes.
    pub(crate) future: Vec<Footprint>,
    /// Whether the step may return from the procedure.
    pub(crate) returns: Vec<bool>,
    /// Whether the step may come to a `join`.
    pub(crate) joins: Vec<bool>,
    /// What whoever finishes writes.
    pub(crate) finish: Footprint,
}

/// Bytes of all footprints.
const MOST_BYTES: usize = 1 << 26;

impl Footprint {
    fn empty(units: usize) -> Footprint {
        Footprint { touched: vec![0; units], written: vec![0; units] }
    }

    /// One of the same atoms that touches none.
    pub(crate) fn nothing(&self) -> Footprint {
        Footprint::empty(self.touched.len())
    }

    /// Adds another one; whether that is more.
    pub(crate) fn add(&mut self, other: &Footprint) -> bool {
        let mut more = false;
        let pairs = self.touched.iter_mut().zip(&other.touched).chain(self.written.iter_mut().zip(&other.written));
        for (mine, theirs) in pairs {
            more |= *theirs & !*mine != 0;
            *mine |= *theirs;
        }
        more
    }

    fn touch(&mut self, atoms: Range<usize>, writes: bool) {
        for atom in atoms {
            self.touched[atom / 64] |= 1 << (atom % 64);
            if writes {
                self.written[atom / 64] |= 1 << (atom % 64);
            }
        }
    }

    /// Whether one of the two writes what the other touches.
    pub(crate) fn conflicts(&self, other: &Footprint) -> bool {
        let meets = |a: &[u64], b: &[u64]| a.iter().zip(b).any(|(a, b)| a & b != 0);
        meets(&self.written, &other.touched) || meets(&self.touched, &other.written)
    }
}

impl Footprints {
    /// `None` if there is too much to tell apart.
    pub(crate) fn of(program: &Compiled) -> Option<Footprints> {
        let code = &program.code;
        let count = code.instrs.len();
        let inside = joins_inside(program);
        let accesses = |pc: usize| accesses(program, pc, inside[pc]);
        let atoms = Atoms::of((0..count).flat_map(accesses), end_of_threads(program));
        let units = atoms.count().div_ceil(64);
        if count.saturating_mul(units * 32) > MOST_BYTES {
            return None;
        }
        let own = |pc: usize| {
            let mut own = Footprint::empty(units);
            accesses(pc).into_iter().for_each(|(words, writes)| own.touch(atoms.within(words), writes));
            own
        };
        let own: Vec<Footprint> = (0..count).map(own).collect();
        let mut finish = Footprint::empty(units);
        let end = end_of_threads(program);
        finish.touch(atoms.within(end..end + 1), true);
        let mut all = Footprints {
            step: own.clone(),
            future: own,
            returns: code.instrs.iter().map(|instr| matches!(instr, Instr::Return { .. })).collect(),
            joins: (0..count).map(|pc| is_join(code, pc)).collect(),
            finish,
        };
        while all.grow(program) {}
        Some(all)
    }

    /// Adds what follows at each place; whether anything is new.
    fn grow(&mut self, program: &Compiled) -> bool {
        let code = &program.code;
        let mut more = false;
        for pc in (0..code.instrs.len()).rev() {
            match code.instrs[pc] {
                Instr::Call { site } => {
                    let site = &code.sites[site as usize];
                    let [callee, back] = [entry(program, site.callee, site.in_atomic), site.back as usize];
                    more |= add(&mut self.future, pc, callee) | add(&mut self.future, pc, back);
                    more |= add(&mut self.step, pc, callee) | set(&mut self.joins, pc, callee);
                    if self.returns[callee] {
                        more |= add(&mut self.step, pc, back) | set(&mut self.joins, pc, back);
                        more |= set(&mut self.returns, pc, back);
                    }
                    continue;
                }
                Instr::Fork { fork } => {
                    let callee = code.forks[fork as usize].callee;
                    more |= add(&mut self.future, pc, entry(program, callee, false));
                }
                _ => {}
            }
            for next in successors(code.instrs[pc], pc).into_iter().flatten() {
                more |= add(&mut self.future, pc, next);
                if !ends_step(code.instrs[pc]) {
                    more |= add(&mut self.step, pc, next) | set(&mut self.joins, pc, next);
                    more |= set(&mut self.returns, pc, next);
                }
            }
        }
        more
    }
}

fn entry(program: &Compiled, proc: usize, in_atomic: bool) -> usize {
    program.entries[proc][usize::from(in_atomic)].expect("what is called has been compiled") as usize
}

fn add(of: &mut [Footprint], to: usize, from: usize) -> bool {
    match of.get_disjoint_mut([to, from]) {
        Ok([to, from]) => to.add(from),
        // A place that comes to itself.
        Err(_) => false,
    }
}

fn set(of: &mut [bool], to: usize, from: usize) -> bool {
    of[from] && !std::mem::replace(&mut of[to], true)
}

/// Whether a step that comes here goes no further.
fn ends_step(instr: Instr) -> bool {
    matches!(instr, Instr::Point | Instr::Yield | Instr::Zield)
}

fn is_join(code: &Code, pc: usize) -> bool {
    matches!(code.instrs[pc], Instr::Await { guard } if code.guards[guard as usize].join)
}

/// Where it may go on, in the same procedure; calls aside.
fn successors(instr: Instr, pc: usize) -> [Option<usize>; 2] {
    match instr {
        Instr::Jump { to } | Instr::Loop { to, .. } => [Some(to as usize), None],
        Instr::Unless { to, .. } | Instr::Star { to } => [Some(to as usize), Some(pc + 1)],
        Instr::Return { .. } | Instr::Value { .. } => [None, None],
        _ => [Some(pc + 1), None],
    }
}

/// For each place whether it is a `join` that a step may come to, instead of beginning there: whether somebody has finished decides
/// then how far the step goes.
fn joins_inside(program: &Compiled) -> Vec<bool> {
    let code = &program.code;
    let mut inside = vec![false; code.instrs.len()];
    for (pc, instr) in code.instrs.iter().enumerate().filter(|(_, instr)| !ends_step(**instr)) {
        let called = match instr {
            Instr::Call { site } => {
                let site = &code.sites[*site as usize];
                [Some(entry(program, site.callee, site.in_atomic)), Some(site.back as usize)]
            }
            _ => [None, None],
        };
        for next in successors(*instr, pc).into_iter().chain(called).flatten() {
            inside[next] |= is_join(code, next);
        }
    }
    inside
}

/// The word that stands for all heap objects, behind those of shared variables; and that for the ends of threads.
fn heap(program: &Compiled) -> u32 {
    program.globals.words
}

fn end_of_threads(program: &Compiled) -> u32 {
    heap(program) + 1
}

/// Which words an instruction may access, and whether it writes them.
fn accesses(program: &Compiled, pc: usize, joins_inside: bool) -> Vec<(Range<u32>, bool)> {
    let code = &program.code;
    let mut out = Out { program, accesses: Vec::new() };
    out.of(code.instrs[pc]);
    if let Instr::Await { guard } = code.instrs[pc] {
        let Guard { entry, .. } = code.guards[guard as usize];
        let guard = code.instrs[entry as usize..].iter();
        for instr in guard {
            out.of(*instr);
            if matches!(instr, Instr::Value { .. }) {
                break;
            }
        }
        if joins_inside {
            let end = end_of_threads(program);
            out.accesses.push((end..end + 1, false));
        }
    }
    out.accesses
}

struct Out<'a> {
    program: &'a Compiled,
    accesses: Vec<(Range<u32>, bool)>,
}

impl Out<'_> {
    fn of(&mut self, instr: Instr) {
        let code = &self.program.code;
        match instr {
            Instr::Move { dst, a } | Instr::Convert { dst, a, .. } | Instr::Pick { dst, a } => {
                self.read(a);
                self.write(dst);
            }
            Instr::Add { dst, a, b }
            | Instr::Sub { dst, a, b }
            | Instr::Arith { dst, a, b, .. }
            | Instr::Compare { dst, a, b, .. }
            | Instr::Index { dst, prev: a, index: b, .. }
            | Instr::Choose { dst, a, b } => {
                self.read(a);
                self.read(b);
                self.write(dst);
            }
            Instr::Check { a, .. } | Instr::NotNull { a } | Instr::Value { a } | Instr::Touch { a } => self.read(a),
            Instr::Load { dst, base, off } => {
                self.loc(Loc::At { base, off }, 1, false);
                self.write(dst);
            }
            Instr::Store { base, off, src } => {
                self.read(src);
                self.loc(Loc::At { base, off }, 1, true);
            }
            Instr::LoadElement { dst, base, index, shape } => {
                self.loc(Loc::Element { base, index, shape }, 1, false);
                self.write(dst);
            }
            Instr::StoreElement { base, index, src, shape } => {
                self.read(src);
                self.loc(Loc::Element { base, index, shape }, 1, true);
            }
            Instr::LoadHeap { dst, obj, off } => {
                self.loc(Loc::Heap { obj, off }, 1, false);
                self.write(dst);
            }
            Instr::StoreHeap { obj, off, src } => {
                self.read(src);
                self.loc(Loc::Heap { obj, off }, 1, true);
            }
            Instr::Copy { copy } => {
                let copy = code.copies[copy as usize];
                self.loc(copy.src, copy.n, false);
                self.loc(copy.dst, copy.n, true);
            }
            Instr::EqWords { dst, a, b, n } => {
                self.loc(Loc::Fixed(a), n, false);
                self.loc(Loc::Fixed(b), n, false);
                self.write(dst);
            }
            Instr::Unless { a, b, .. } | Instr::Assume { a, b, .. } | Instr::Assert { a, b, .. } => {
                self.read(a);
                self.read(b);
            }
            Instr::New { dst, record, fields } => {
                // Nobody else knows the object yet.
                let words = self.program.records[record as usize].0.words;
                self.loc(Loc::Fixed(fields), words, false);
                self.write(dst);
            }
            Instr::Call { site } => {
                code.sites[site as usize].args.iter().for_each(|(arg, n)| self.loc(Loc::Fixed(*arg), *n, false));
            }
            Instr::Return { values, words } => self.loc(Loc::Fixed(values), words, false),
            Instr::Fork { fork } => {
                let fork = &code.forks[fork as usize];
                fork.args.iter().for_each(|(arg, n)| self.loc(Loc::Fixed(*arg), *n, false));
                fork.handle.into_iter().for_each(|handle| self.write(handle));
            }
            Instr::SelfHandle { dst } => self.write(dst),
            Instr::Point
            | Instr::Mark
            | Instr::Meet
            | Instr::Jump { .. }
            | Instr::Loop { .. }
            | Instr::Star { .. }
            | Instr::Yield
            | Instr::Zield
            | Instr::Await { .. }
            | Instr::Progress
            | Instr::Interruptible => {}
        }
    }

    fn read(&mut self, arg: Arg) {
        self.loc(Loc::Fixed(arg), 1, false);
    }

    fn write(&mut self, arg: Arg) {
        self.loc(Loc::Fixed(arg), 1, true);
    }

    fn loc(&mut self, loc: Loc, n: u32, writes: bool) {
        let (base, n) = match loc {
            Loc::Fixed(arg) => (arg, n),
            Loc::At { base, off } => {
                self.read(off);
                (base, if base.area() == Area::Global { self.rest_of_variable(base) } else { n })
            }
            Loc::Element { base, index, shape } => {
                self.read(index);
                let shape = self.program.code.shapes[shape as usize];
                (base, (shape.len * shape.stride).max(n))
            }
            Loc::Heap { obj, off } => {
                self.read(obj);
                self.read(off);
                let heap = heap(self.program);
                return self.accesses.push((heap..heap + 1, writes));
            }
        };
        if base.area() == Area::Global {
            let first = base.index() as u32;
            let end = (first + n).min(self.program.globals.words);
            self.accesses.push((first..end, writes));
        }
    }

    /// Words up to the end of the shared variable that a word belongs to.
    fn rest_of_variable(&self, word: Arg) -> u32 {
        let starts = &self.program.starts;
        let word = word.index() as u32;
        let next = starts.get(starts.partition_point(|start| *start <= word));
        next.map_or(self.program.globals.words, |next| *next) - word
    }
}

/// Where the atoms begin.
struct Atoms {
    starts: Vec<u32>,
}

impl Atoms {
    fn of(accesses: impl Iterator<Item = (Range<u32>, bool)>, last: u32) -> Atoms {
        let mut starts = vec![0, last - 1, last, last + 1];
        for (words, _) in accesses {
            starts.extend([words.start, words.end]);
        }
        starts.sort_unstable();
        starts.dedup();
        Atoms { starts }
    }

    fn count(&self) -> usize {
        self.starts.len()
    }

    fn within(&self, words: Range<u32>) -> Range<usize> {
        self.starts.partition_point(|start| *start < words.start)
            ..self.starts.partition_point(|start| *start < words.end)
    }
}
