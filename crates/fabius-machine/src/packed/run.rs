//! Steps on words: the interpreter for whatever leaves the shape as it is. What does not, or fails, or takes long, is declined,
//! and made again by the interpreter of whole states.

use super::code::{At, Copy, Guard, Loc, NOWHERE, Op, PackedCode};
use super::shape::{Shape, Unit};
use crate::compile::Compiled;
use crate::exec::values::{arith, fixed, offset};
use fabius_explore::system::{Choose, End, TaskId};
use fabius_trace::Span;

/// Jumps back after which a step is left to the other interpreter, which looks at limits.
const MOST_LOOPS: u32 = 1000;

/// A call within a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    caller: usize,
    back: u32,
    /// Behind the callee's locals.
    end: usize,
}

/// What a step is made with; see [`super::Cursor`].
pub(super) struct Run<'a> {
    pub(super) program: &'a Compiled,
    pub(super) code: &'a PackedCode,
    pub(super) shape: &'a Shape,
    pub(super) words: &'a mut Vec<i64>,
    pub(super) changes: &'a mut Vec<(u32, i64)>,
    pub(super) calls: &'a mut Vec<Call>,
    /// What operands are relative to.
    pub(super) bases: [usize; 4],
}

impl Run<'_> {
    /// Whether a task can go on; `None`: declined.
    #[inline(always)]
    pub(super) fn can_go_on(&mut self, unit: &Unit) -> Option<bool> {
        let place = &self.code.places[unit.place(self.words)];
        self.bases = unit.bases();
        self.passes(&place.guard)
    }

    /// Makes a step of a task that can go on; what the words were is in `changes`. `None`: declined.
    pub(super) fn step(&mut self, unit: &Unit, choose: &mut dyn Choose) -> Option<End> {
        let code = self.code;
        let mut pc = code.places[unit.place(self.words)].begin as usize;
        self.bases = unit.bases();
        self.calls.clear();
        let mut chose = false;
        let mut loops = 0;
        loop {
            let op = code.ops[pc];
            pc += 1;
            match op {
                Op::Rest { stand } => return self.rest(unit, stand),
                Op::Meet if chose => return None,
                Op::Meet => {}
                Op::Jump { to } => pc = to as usize,
                Op::Loop { to } => {
                    pc = to as usize;
                    loops += 1;
                    if loops > MOST_LOOPS {
                        return None;
                    }
                }
                Op::Unless { cmp, a, b, to } => {
                    if !cmp.holds(self.get(a), self.get(b)) {
                        pc = to as usize;
                    }
                }
                Op::Check { a, range } => {
                    let (lo, hi) = self.program.code.ranges[range as usize];
                    let v = self.get(a);
                    if v < lo || v > hi {
                        return None;
                    }
                }
                Op::Star { to } => {
                    chose = true;
                    if choose.choose(2) == 1 {
                        pc = to as usize;
                    }
                }
                Op::Choose { dst, a, b } => {
                    chose = true;
                    let (lo, hi) = (self.get(a), self.get(b));
                    if lo > hi {
                        return Some(End::Dropped);
                    }
                    let alternatives = u32::try_from(hi.wrapping_sub(lo) as u64).ok()?.checked_add(1)?;
                    let chosen = if alternatives == 1 { 0 } else { choose.choose(alternatives) };
                    self.set(dst, lo.wrapping_add(i64::from(chosen)));
                }
                Op::Assume { cmp, a, b } => {
                    if !cmp.holds(self.get(a), self.get(b)) {
                        return Some(End::Dropped);
                    }
                }
                Op::Assert { cmp, a, b } => {
                    if !cmp.holds(self.get(a), self.get(b)) {
                        return None;
                    }
                }
                Op::Await { guard, stand } => {
                    if !self.passes(&code.guards[guard as usize])? {
                        return self.rest(unit, stand);
                    }
                }
                Op::StoreElement { base, index, src, shape } => {
                    let v = self.get(src);
                    let to = self.element(base, index, shape)?;
                    self.set(to, v);
                }
                Op::Store { base, off, src } => {
                    let to = base.plus(self.get(off) as usize);
                    self.set(to, self.get(src));
                }
                Op::StoreHeap { obj, off, src } => {
                    let to = self.heap(obj, off)?;
                    self.put(to, self.get(src));
                }
                Op::Copy { copy } => self.copy(code.copies[copy as usize])?,
                Op::Call { site } => pc = self.call(site)?,
                Op::Return { values, words } => pc = self.give_back(values, words)?,
                Op::SelfHandle { dst } => self.set(dst, i64::from(unit.id) + 1),
                other => self.pure(other)?,
            }
        }
    }

    /// What goes on with the next instruction and occurs in guards.
    #[inline(always)]
    fn pure(&mut self, op: Op) -> Option<()> {
        match op {
            Op::Move { dst, a } => self.set(dst, self.get(a)),
            Op::Add { dst, a, b } => self.set(dst, self.get(a).checked_add(self.get(b))?),
            Op::Sub { dst, a, b } => self.set(dst, self.get(a).checked_sub(self.get(b))?),
            Op::Compare { cmp, dst, a, b } => self.set(dst, i64::from(cmp.holds(self.get(a), self.get(b)))),
            Op::LoadElement { dst, base, index, shape } => {
                let from = self.element(base, index, shape)?;
                self.set(dst, self.get(from));
            }
            Op::Arith { op, fix, dst, a, b } => {
                let v = arith(op, self.get(a), self.get(b), Span::default()).ok()?;
                self.set(dst, fixed(fix, v, Span::default()).ok()?);
            }
            Op::Convert { fix, dst, a } => self.set(dst, fixed(fix, self.get(a), Span::default()).ok()?),
            Op::Index { dst, prev, index, shape } => {
                let shape = self.program.code.shapes[shape as usize];
                let sum = self.get(prev) + offset(shape, self.get(index), Span::default()).ok()?;
                self.set(dst, sum);
            }
            Op::Load { dst, base, off } => {
                let from = base.plus(self.get(off) as usize);
                self.set(dst, self.get(from));
            }
            Op::LoadHeap { dst, obj, off } => {
                let from = self.heap(obj, off)?;
                self.set(dst, self.words[from]);
            }
            Op::EqWords { dst, a, b, n } => {
                let same = (0..n as usize).all(|i| self.get(a.plus(i)) == self.get(b.plus(i)));
                self.set(dst, i64::from(same));
            }
            Op::NotNull { a } if self.get(a) != 0 => {}
            _ => return None,
        }
        Some(())
    }

    /// Whether an `await` or `join` lets the running task pass.
    #[inline(always)]
    fn passes(&mut self, guard: &Guard) -> Option<bool> {
        match *guard {
            Guard::Open => Some(true),
            Guard::Declined => None,
            Guard::Compare { cmp, a, b } => Some(cmp.holds(self.get(a), self.get(b))),
            Guard::CompareElement { cmp, base, index, shape, b } => {
                let element = self.element(base, index, shape)?;
                Some(cmp.holds(self.get(element), self.get(b)))
            }
            Guard::Code { entry } => Some(self.value(entry)? != 0),
            Guard::Join { entry } => {
                let handle = self.value(entry)?;
                self.has_finished(handle)
            }
            Guard::JoinAll { entry, group } => {
                let handle = self.value(entry)?;
                let mut all = self.has_finished(handle)?;
                for word in &self.program.groups[group as usize].1 {
                    let handle = self.words[self.bases[1] + *word as usize];
                    all &= handle == 0 || self.has_finished(handle)?;
                }
                Some(all)
            }
        }
    }

    fn has_finished(&self, handle: i64) -> Option<bool> {
        let task = TaskId::try_from(handle.checked_sub(1)?).ok()?;
        Some(self.shape.units.binary_search_by_key(&task, |u| u.id).is_err())
    }

    /// The value of the guard that begins here.
    fn value(&mut self, entry: u32) -> Option<i64> {
        let mut pc = entry as usize;
        loop {
            let op = self.code.ops[pc];
            pc += 1;
            match op {
                Op::Value { a } => return Some(self.get(a)),
                Op::Jump { to } => pc = to as usize,
                Op::Unless { cmp, a, b, to } => {
                    if !cmp.holds(self.get(a), self.get(b)) {
                        pc = to as usize;
                    }
                }
                Op::Check { a, range } => {
                    let (lo, hi) = self.program.code.ranges[range as usize];
                    let v = self.get(a);
                    if v < lo || v > hi {
                        return None;
                    }
                }
                other => self.pure(other)?,
            }
        }
    }

    /// The task stops here.
    fn rest(&mut self, unit: &Unit, stand: u32) -> Option<End> {
        if stand == NOWHERE || !self.calls.is_empty() {
            return None;
        }
        self.put(unit.stands as usize, i64::from(stand));
        for (word, initial) in &self.code.dead[(unit.first_place + stand) as usize] {
            let at = (unit.frame + word) as usize;
            if self.words[at] != *initial {
                self.put(at, *initial);
            }
        }
        Some(End::Point)
    }

    fn element(&self, base: At, index: At, shape: u32) -> Option<At> {
        let shape = self.program.code.shapes[shape as usize];
        let by = self.get(index).wrapping_sub(shape.lo) as u64;
        (by < u64::from(shape.len)).then(|| base.plus(by as usize * shape.stride as usize))
    }

    fn heap(&self, obj: At, off: At) -> Option<usize> {
        let objects = &self.shape.objects;
        let at = objects.binary_search_by_key(&self.get(obj), |o| o.number).ok()?;
        Some(objects[at].first as usize + self.get(off) as usize)
    }

    /// All words are read before any is written.
    fn copy(&mut self, Copy { dst, src, n }: Copy) -> Option<()> {
        let (from, to, n) = (self.place(src)?, self.place(dst)?, n as usize);
        let first_old = self.code.ahead.max(to);
        self.changes.extend((first_old..to + n).map(|at| (at as u32, self.words[at])));
        self.words.copy_within(from..from + n, to);
        Some(())
    }

    fn place(&self, loc: Loc) -> Option<usize> {
        let of = |at: At| self.bases[at.base()] + at.offset();
        match loc {
            Loc::Fixed(at) => Some(of(at)),
            Loc::At { base, off } => Some(of(base) + self.get(off) as usize),
            Loc::Element { base, index, shape } => self.element(base, index, shape).map(of),
            Loc::Heap { obj, off } => self.heap(obj, off),
        }
    }

    /// Calls go behind the words of the shape.
    fn call(&mut self, site: u32) -> Option<usize> {
        let code = self.code;
        let s = &code.sites[site as usize];
        let layout = &self.program.locals[s.callee as usize];
        let frame = match self.calls.last() {
            Some(call) => call.end,
            None => self.shape.words,
        };
        let end = frame + layout.words as usize;
        if end > self.words.len() {
            if end > self.shape.words + (1 << 16) {
                return None;
            }
            self.words.resize(end, 0);
        }
        self.words[frame..end].copy_from_slice(&layout.initial);
        let mut to = frame;
        for (from, n) in &s.args {
            for i in 0..*n as usize {
                self.words[to] = self.get(from.plus(i));
                to += 1;
            }
        }
        self.calls.push(Call { caller: self.bases[1], back: s.back, end });
        self.bases[1] = frame;
        Some(s.entry as usize)
    }

    /// Where the caller goes on. That a frame of the shape is left is declined.
    fn give_back(&mut self, values: At, words: u32) -> Option<usize> {
        let call = self.calls.pop()?;
        let (from, to) = (values.offset(), self.code.temps);
        self.words.copy_within(from..from + words as usize, to);
        self.bases[1] = call.caller;
        Some(call.back as usize)
    }

    #[inline(always)]
    fn get(&self, at: At) -> i64 {
        self.words[self.bases[at.base()] + at.offset()]
    }

    #[inline(always)]
    fn set(&mut self, at: At, value: i64) {
        self.put(self.bases[at.base()] + at.offset(), value);
    }

    #[inline(always)]
    fn put(&mut self, at: usize, value: i64) {
        let word = &mut self.words[at];
        if at >= self.code.ahead {
            self.changes.push((at as u32, *word));
        }
        *word = value;
    }
}
