//! Instructions that go on with the next one.

use super::values::{arith, fixed, offset};
use super::{Exec, bug, limit};
use crate::code::{Copy, Instr};
use fabius_explore::system::{Fault, Limit};
use fabius_lang::program::Check;
use fabius_trace::{BugKind, Span};

/// What it means that a check does not hold.
#[cold]
fn violated(check: Check, span: Span) -> Result<(), Fault> {
    let kind = match check {
        Check::Assertion | Check::Invariant => BugKind::Assertion,
        Check::SyncMisuse => BugKind::SyncMisuse,
        Check::Null => BugKind::NullDereference,
        Check::OutOfBounds => BugKind::IndexOutOfBounds,
        Check::Memory => BugKind::Memory,
        Check::Overflow => BugKind::RangeOverflow,
        Check::Leak => BugKind::Leak,
        Check::Bound => return limit(Limit::Program, span),
    };
    bug(kind, span)
}

impl Exec<'_> {
    /// The common ones, which are those of guards.
    #[inline(always)]
    pub(super) fn plain(&mut self, index: usize, instr: Instr, here: usize) -> Result<(), Fault> {
        match instr {
            Instr::Move { dst, a } => {
                let v = self.read(index, a, here, 0);
                self.write(index, dst, v, here);
            }
            Instr::Add { dst, a, b } => {
                let (x, y) = (self.read(index, a, here, 0), self.read(index, b, here, 1));
                match x.checked_add(y) {
                    Some(v) => self.write(index, dst, v, here),
                    None => return limit(Limit::Integer, self.program.code.infos[here].at),
                }
            }
            Instr::Sub { dst, a, b } => {
                let (x, y) = (self.read(index, a, here, 0), self.read(index, b, here, 1));
                match x.checked_sub(y) {
                    Some(v) => self.write(index, dst, v, here),
                    None => return limit(Limit::Integer, self.program.code.infos[here].at),
                }
            }
            Instr::Compare { cmp, dst, a, b } => {
                let v = cmp.holds(self.read(index, a, here, 0), self.read(index, b, here, 1));
                self.write(index, dst, i64::from(v), here);
            }
            Instr::Check { a, range } => {
                let (lo, hi) = self.program.code.ranges[range as usize];
                let v = self.read_quietly(index, a);
                if v < lo || v > hi {
                    return bug(BugKind::RangeOverflow, self.program.code.infos[here].at);
                }
            }
            Instr::LoadElement { dst, base, index: at, shape } => {
                let from = self.element(index, base, at, shape, here)?;
                let v = self.read(index, from, here, 1);
                self.write(index, dst, v, here);
            }
            Instr::StoreElement { base, index: at, src, shape } => {
                let v = self.read(index, src, here, 1);
                let to = self.element(index, base, at, shape, here)?;
                self.write(index, to, v, here);
            }
            Instr::Assert { cmp, a, b, check } => {
                if !cmp.holds(self.read(index, a, here, 0), self.read(index, b, here, 1)) {
                    return violated(check, self.program.code.infos[here].at);
                }
            }
            Instr::Progress => self.log.progress = true,
            other => self.seldom(index, other, here)?,
        }
        Ok(())
    }

    /// Instructions that are less frequent, and go on with the next.
    fn seldom(&mut self, index: usize, instr: Instr, here: usize) -> Result<(), Fault> {
        let code = &self.program.code;
        let info = code.infos[here];
        match instr {
            Instr::Arith { op, fix, dst, a, b } => {
                let (x, y) = (self.read(index, a, here, 0), self.read(index, b, here, 1));
                let v = fixed(fix, arith(op, x, y, info.at)?, info.at)?;
                self.write(index, dst, v, here);
            }
            Instr::Convert { fix, dst, a } => {
                let x = self.read(index, a, here, 0);
                let v = fixed(fix, x, info.at)?;
                self.write(index, dst, v, here);
            }
            Instr::Index { dst, prev, index: at, shape } => {
                let i = self.read(index, at, here, 0);
                let sum = self.read_quietly(index, prev) + offset(code.shapes[shape as usize], i, info.at)?;
                self.write(index, dst, sum, here);
            }
            Instr::Load { dst, base, off } => {
                let from = base.plus(self.read_quietly(index, off) as u32);
                let v = self.read(index, from, here, 1);
                self.write(index, dst, v, here);
            }
            Instr::Store { base, off, src } => {
                let v = self.read(index, src, here, 1);
                let to = base.plus(self.read_quietly(index, off) as u32);
                self.write(index, to, v, here);
            }
            Instr::LoadHeap { dst, obj, off } => {
                let v = self.heap_word(index, obj, off, 0, info)?;
                self.write(index, dst, v, here);
            }
            Instr::StoreHeap { obj, off, src } => {
                let v = self.read(index, src, here, 1);
                self.set_heap_word(index, obj, off, 0, v, info)?;
            }
            Instr::Copy { copy } => {
                let Copy { dst, src, n } = code.copies[copy as usize];
                let words: Result<Vec<i64>, Fault> = (0..n).map(|i| self.word_at(index, src, i, here)).collect();
                for (i, v) in (0..n).zip(words?) {
                    self.set_word_at(index, dst, i, v, here)?;
                }
            }
            Instr::EqWords { dst, a, b, n } => {
                let mut same = true;
                for i in 0..n {
                    same &= self.read(index, a.plus(i), here, 0) == self.read(index, b.plus(i), here, 1);
                }
                self.write(index, dst, i64::from(same), here);
            }
            Instr::NotNull { a } => {
                if self.read_quietly(index, a) == 0 {
                    return bug(BugKind::NullDereference, info.at);
                }
            }
            Instr::Pick { dst, a } => {
                let set = self.read_quietly(index, a) as u64;
                let members = set.count_ones();
                let chosen = if members < 2 { 0 } else { self.choose.choose(members) };
                let mut left = set;
                (0..chosen).for_each(|_| left &= left - 1);
                let picked = left & left.wrapping_neg();
                self.write(index, dst, (set & !picked) as i64, here);
            }
            Instr::New { dst, record, fields } => {
                let number = self.new_object(index, record, fields, info.at)?;
                self.write(index, dst, i64::from(number), here);
            }
            Instr::Touch { a } => {
                self.read(index, a, here, 0);
            }
            Instr::SelfHandle { dst } => {
                let id = i64::from(self.state.tasks[index].id) + 1;
                self.write(index, dst, id, here);
            }
            other => unreachable!("{other:?} is run elsewhere"),
        }
        Ok(())
    }
}
