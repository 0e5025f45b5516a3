//! Steps on words: the interpreter for whatever leaves the shape as it is. What does not, or fails, or takes long, is declined,
//! and made again by the interpreter of whole states.

use super::Cursor;
use super::code::{At, Guard, NOWHERE, Op, PackedCode};
use super::shape::Unit;
use crate::compile::Compiled;
use crate::exec::values::{arith, fixed, offset};
use fabius_explore::system::{Choose, End, TaskId};
use fabius_trace::Span;

/// Jumps back after which a step is left to the other interpreter, which looks at limits.
const MOST_LOOPS: u32 = 1000;

/// What a step is made with.
pub(super) struct Run<'a> {
    pub(super) program: &'a Compiled,
    pub(super) code: &'a PackedCode,
    pub(super) cursor: &'a mut Cursor,
}

impl Run<'_> {
    /// Makes a step on the words; what they were is in the cursor's `changes`. `None`: declined.
    pub(super) fn step(&mut self, unit: Unit, choose: &mut dyn Choose) -> Option<End> {
        let code = self.code;
        let (pc, guard) = code.places[unit.first_place as usize + self.cursor.words[unit.stands as usize] as usize];
        let mut pc = pc as usize;
        if guard.is_some() {
            // The task is ready; if it is so because its guard fails, the step does.
            if !self.cursor.guard_is_known {
                return None;
            }
            pc += 1;
        }
        self.cursor.bases = [0, unit.frame as usize, unit.own as usize, 0];
        self.cursor.calls.clear();
        let mut chose = false;
        let mut loops = 0;
        loop {
            let op = code.ops[pc];
            let here = pc;
            pc += 1;
            match op {
                Op::Nothing => {}
                Op::Meet if chose => return None,
                Op::Meet => {}
                Op::Point => return self.rest(unit, self.program.code.behind[pc]),
                Op::Zield => return self.rest(unit, self.program.code.settled[pc]),
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
                Op::Await { guard } => {
                    if !self.passes(guard)? {
                        return self.rest(unit, here as u32);
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
                self.set(dst, self.cursor.words[from]);
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
    pub(super) fn passes(&mut self, guard: u32) -> Option<bool> {
        match self.code.guards[guard as usize] {
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
                    let handle = self.cursor.words[self.cursor.bases[1] + *word as usize];
                    all &= handle == 0 || self.has_finished(handle)?;
                }
                Some(all)
            }
        }
    }

    fn has_finished(&self, handle: i64) -> Option<bool> {
        let task = TaskId::try_from(handle.checked_sub(1)?).ok()?;
        Some(self.cursor.shape.units.binary_search_by_key(&task, |u| u.id).is_err())
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
    fn rest(&mut self, unit: Unit, pc: u32) -> Option<End> {
        let stand = self.code.stand_of[pc as usize];
        if stand == NOWHERE || !self.cursor.calls.is_empty() {
            return None;
        }
        self.put(unit.stands as usize, i64::from(stand));
        let dead = self.program.code.dead_at[pc as usize];
        let initial = &self.program.locals[unit.proc as usize].initial;
        for (from, to) in &self.program.code.dead[dead as usize] {
            for word in *from..*to {
                let at = (unit.frame + word) as usize;
                if self.cursor.words[at] != initial[word as usize] {
                    self.put(at, initial[word as usize]);
                }
            }
        }
        Some(End::Point)
    }

    fn element(&self, base: At, index: At, shape: u32) -> Option<At> {
        let by = offset(self.program.code.shapes[shape as usize], self.get(index), Span::default()).ok()?;
        Some(base.plus(by as usize))
    }

    fn heap(&self, obj: At, off: At) -> Option<usize> {
        let objects = &self.cursor.shape.objects;
        let at = objects.binary_search_by_key(&self.get(obj), |o| o.number).ok()?;
        Some(objects[at].first as usize + self.get(off) as usize)
    }

    /// Calls go behind the words of the shape.
    fn call(&mut self, site: u32) -> Option<usize> {
        let code = self.code;
        let s = &code.sites[site as usize];
        let layout = &self.program.locals[s.callee as usize];
        let frame = match self.cursor.calls.last() {
            Some(call) => call.end,
            None => self.cursor.shape.words,
        };
        let end = frame + layout.words as usize;
        if end > self.cursor.words.len() {
            if end > self.cursor.shape.words + (1 << 16) {
                return None;
            }
            self.cursor.words.resize(end, 0);
        }
        self.cursor.words[frame..end].copy_from_slice(&layout.initial);
        let mut to = frame;
        for (from, n) in &s.args {
            for i in 0..*n as usize {
                self.cursor.words[to] = self.get(from.plus(i));
                to += 1;
            }
        }
        self.cursor.calls.push(super::Call { caller: self.cursor.bases[1], back: s.back, end });
        self.cursor.bases[1] = frame;
        Some(s.entry as usize)
    }

    /// Where the caller goes on. That a frame of the shape is left is declined.
    fn give_back(&mut self, values: At, words: u32) -> Option<usize> {
        let call = self.cursor.calls.pop()?;
        let (from, to) = (values.offset(), self.code.temps);
        self.cursor.words.copy_within(from..from + words as usize, to);
        self.cursor.bases[1] = call.caller;
        Some(call.back as usize)
    }

    #[inline(always)]
    fn get(&self, at: At) -> i64 {
        self.cursor.words[self.cursor.bases[at.base()] + at.offset()]
    }

    #[inline(always)]
    fn set(&mut self, at: At, value: i64) {
        self.put(self.cursor.bases[at.base()] + at.offset(), value);
    }

    #[inline(always)]
    fn put(&mut self, at: usize, value: i64) {
        let word = &mut self.cursor.words[at];
        if at >= self.code.ahead {
            self.cursor.changes.push((at as u32, *word));
        }
        *word = value;
    }
}
