//! Choices all of whose values but a few are dropped at once: `n = nondet(); assume(0 <= n && n < 4);` chooses one of four. So does
//! `if (n < 0 || n >= 4) return 0;` in `main`, or `abort();` there, as the process then ends.
//!
//! What stands between a choice and the `assume` behind it is run for one value after the other, as far as it depends on the value
//! and on constants alone. There the value is copied and compared with constants, so all values between two of these constants do
//! the same. A value that is dropped has done nothing that anybody sees: it was written to locals, and to globals only where no
//! other thread has begun, and nothing went wrong.

use crate::core::*;
use fabius_lang::program::*;
use fabius_lang::walk::statements;
use std::collections::{BTreeMap, BTreeSet};

/// More values than this are left to those who choose a few to stand for all.
const MOST: i64 = 32;

/// Has each choice be of the values that are not dropped at once, where these are few.
pub(crate) fn narrow(program: &mut Program) {
    let main = called_first(program);
    let begins = begin_threads(program);
    let ends = program.globals.iter().position(|g| g.name == ENDS);
    let returns = if ends_quietly(program) { End::Dropped } else { End::Seen };
    for (id, proc) in program.procs.iter_mut().enumerate() {
        let types: Vec<Type> = proc.locals.iter().map(|local| local.ty.clone()).collect();
        let around = match main == Some(id) {
            true => Around { others: Others::None, returns, ends, begins: &begins, types: &types },
            false => Around { others: Others::Some, returns: End::Seen, ends, begins: &begins, types: &types },
        };
        narrow_in(&mut proc.body, around);
    }
}

/// What is around a choice.
#[derive(Clone, Copy)]
struct Around<'a> {
    others: Others,
    /// What it means to return.
    returns: End,
    /// The variable that is never true.
    ends: Option<GlobalId>,
    begins: &'a BTreeSet<ProcId>,
    types: &'a [Type],
}

/// Whether nothing can go wrong behind `main`, while there are no other threads: no handler runs, and nobody looks for leaks.
fn ends_quietly(program: &Program) -> bool {
    let Some(init) = program.init else { return false };
    let mut quietly = true;
    let behind: Block = program.procs[init].body.iter().skip(1).cloned().collect();
    statements(&behind, &mut |s| {
        quietly &= match &s.kind {
            StmtKind::Skip | StmtKind::Assume(_) | StmtKind::Assign(..) | StmtKind::If(..) | StmtKind::Return(_) => {
                true
            }
            StmtKind::Await(e) => value_of(e) == Some(1),
            _ => false,
        }
    });
    quietly
}

/// Whether there are other threads.
#[derive(Clone, Copy, PartialEq)]
enum Others {
    None,
    Some,
}

/// What runs first of all, if nobody else calls it.
fn called_first(program: &Program) -> Option<ProcId> {
    let first = program.procs[program.init?].body.first()?;
    let StmtKind::Call(_, main, _) = first.kind else { return None };
    let mut calls = 0;
    for proc in &program.procs {
        statements(&proc.body, &mut |s| calls += u32::from(called(s) == Some(main)));
    }
    (calls == 1).then_some(main)
}

fn called(s: &Stmt) -> Option<ProcId> {
    match s.kind {
        StmtKind::Call(_, proc, _) | StmtKind::Spawn(_, proc, _) | StmtKind::Post(_, _, proc, _) => Some(proc),
        _ => None,
    }
}

/// The procedures that may start threads, themselves or through others.
fn begin_threads(program: &Program) -> BTreeSet<ProcId> {
    let mut begin = BTreeSet::new();
    loop {
        let before = begin.len();
        for (id, proc) in program.procs.iter().enumerate() {
            if proc.body.iter().any(|s| begins(s, &begin)) {
                begin.insert(id);
            }
        }
        if begin.len() == before {
            return begin;
        }
    }
}

fn begins(s: &Stmt, procs: &BTreeSet<ProcId>) -> bool {
    let mut any = false;
    statements(&vec![s.clone()], &mut |s| {
        any |= match s.kind {
            StmtKind::Spawn(..) | StmtKind::Post(..) => true,
            StmtKind::Call(_, proc, _) => procs.contains(&proc),
            _ => false,
        }
    });
    any
}

fn narrow_in(block: &mut Block, mut around: Around<'_>) {
    for at in 0..block.len() {
        if begins(&block[at], around.begins) {
            (around.others, around.returns) = (Others::Some, End::Seen);
        }
        let (front, behind) = block.split_at_mut(at + 1);
        match &mut front[at].kind {
            StmtKind::Any(Place { base: Base::Local(local), path, .. }, lo, hi) if path.is_empty() => {
                if let (Some(first), Some(last)) = (value_of(lo), value_of(hi))
                    && is_signed_number(&around.types[*local])
                    && let Some((least, most)) = left(behind, *local, (first, last), around)
                {
                    (*lo, *hi) = (constant(least, lo.ty.clone(), lo.span), constant(most, hi.ty.clone(), hi.span));
                }
            }
            StmtKind::If(_, a, b) => [a, b].into_iter().for_each(|inner| narrow_in(inner, around)),
            StmtKind::While(_, inner) | StmtKind::Atomic(inner) => narrow_in(inner, around),
            _ => {}
        }
    }
}

/// Whether the codes of a type are its values.
fn is_signed_number(ty: &Type) -> bool {
    match ty {
        Type::Fixed { bits, signed } => *signed || *bits < 64,
        _ => false,
    }
}

/// The least and the largest of the values that are not dropped, where they are few and some are dropped.
fn left(behind: &[Stmt], chosen: LocalId, (lo, hi): (i64, i64), around: Around<'_>) -> Option<(i64, i64)> {
    if hi.saturating_sub(lo) < MOST {
        return None;
    }
    let mut constants = BTreeSet::new();
    loop {
        let before = constants.len();
        let mut kept: Option<(i64, i64)> = None;
        for (first, last) in regions(&constants, lo, hi) {
            let known = BTreeMap::from([((false, chosen), Known::Chosen(first))]);
            let mut run = Run { known, bounds: (lo, hi), around, constants: BTreeSet::new() };
            if run.block(behind) != Some(End::Dropped) {
                kept = Some(kept.map_or((first, last), |(least, _)| (least, last)));
            }
            constants.extend(run.constants);
        }
        if constants.len() == before {
            return kept.filter(|(least, most)| most.saturating_sub(*least) < MOST);
        }
    }
}

/// The constants between two numbers, and what lies between neighbouring ones.
fn regions(constants: &BTreeSet<i64>, lo: i64, hi: i64) -> Vec<(i64, i64)> {
    let mut regions = Vec::new();
    let mut next = Some(lo);
    for constant in constants.range(lo..=hi) {
        let first = next.expect("it is not beyond the last constant");
        if first < *constant {
            regions.push((first, constant - 1));
        }
        regions.push((*constant, *constant));
        next = constant.checked_add(1);
    }
    regions.extend(next.filter(|first| *first <= hi).map(|first| (first, hi)));
    regions
}

/// A variable.
type Key = (bool, usize);

#[derive(Clone, Copy)]
enum Known {
    /// What was chosen.
    Chosen(i64),
    /// What is the same for all values between two constants.
    Same(i64),
}

/// How a statement ended that is followed no further.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Dropped,
    /// What it does may be seen, or is not known.
    Seen,
}

/// A run for one value.
struct Run<'a> {
    known: BTreeMap<Key, Known>,
    /// All values of the choice.
    bounds: (i64, i64),
    around: Around<'a>,
    /// What the value was compared with.
    constants: BTreeSet<i64>,
}

impl Run<'_> {
    fn block(&mut self, block: &[Stmt]) -> Option<End> {
        block.iter().find_map(|s| self.statement(s))
    }

    fn statement(&mut self, s: &Stmt) -> Option<End> {
        match &s.kind {
            StmtKind::Skip => None,
            StmtKind::Assign(place, e) => {
                let Some(to) = self.variable(place).filter(|_| self.is_harmless(e)) else { return Some(End::Seen) };
                match self.value(e) {
                    Some(value) => drop(self.known.insert(to, value)),
                    None => drop(self.known.remove(&to)),
                }
                None
            }
            StmtKind::If(Guard::Expr(e), a, b) if self.is_harmless(e) => match self.truth(e) {
                Some(true) => self.block(a),
                Some(false) => self.block(b),
                None => Some(End::Seen),
            },
            StmtKind::Assume(e) if self.is_the_end(e) => Some(End::Dropped),
            StmtKind::Return(values) if values.iter().all(|e| self.is_harmless(e)) => Some(self.around.returns),
            StmtKind::Assume(e) if self.is_harmless(e) => match self.truth(e) {
                Some(false) => Some(End::Dropped),
                _ => None,
            },
            StmtKind::Await(e) if value_of(e) == Some(1) => None,
            _ => Some(End::Seen),
        }
    }

    /// Whether this is never true: the process has ended.
    fn is_the_end(&self, e: &Expr) -> bool {
        let ExprKind::Read(place) = &e.kind else { return false };
        place.path.is_empty() && matches!(place.base, Base::Global(id) if Some(id) == self.around.ends)
    }

    /// A whole variable that others do not look at.
    fn variable(&self, place: &Place) -> Option<Key> {
        let key = key(&place.base)?;
        (place.path.is_empty() && (!key.0 || self.around.others == Others::None)).then_some(key)
    }

    /// Whether nothing can go wrong in an expression, and nobody sees that it is evaluated.
    fn is_harmless(&self, e: &Expr) -> bool {
        use BinaryOp::*;
        let is_wide = |e: &Expr| matches!(e.ty, Type::Fixed { .. } | Type::Bool);
        match &e.kind {
            ExprKind::Const(_) => true,
            ExprKind::Read(place) => self.variable(place).is_some(),
            ExprKind::Unary(_, a) => is_wide(a) && self.is_harmless(a),
            ExprKind::Cast(a) => is_wide(e) && is_wide(a) && self.is_harmless(a),
            ExprKind::Binary(Eq | Ne | Lt | Le | Gt | Ge | And | Or | Add | Sub | Mul, a, b) => {
                is_wide(a) && is_wide(b) && self.is_harmless(a) && self.is_harmless(b)
            }
            _ => false,
        }
    }

    fn truth(&mut self, e: &Expr) -> Option<bool> {
        match self.value(e)? {
            Known::Same(n) => Some(n != 0),
            Known::Chosen(_) => None,
        }
    }

    /// The value of an expression, where it is what was chosen or follows from comparisons with constants.
    fn value(&mut self, e: &Expr) -> Option<Known> {
        match &e.kind {
            ExprKind::Const(Value::Int(n)) => Some(Known::Same(*n)),
            ExprKind::Read(place) => self.known.get(&self.variable(place)?).copied(),
            ExprKind::Unary(UnaryOp::Not, a) => Some(Known::Same(i64::from(!self.truth(a)?))),
            ExprKind::Cast(a) => {
                let (value, (lo, hi)) = (self.value(a)?, self.bounds);
                // All values of the choice must stay what they are.
                let (least, most) = range(&e.ty)?;
                let fits = match value {
                    Known::Chosen(_) => least <= lo && hi <= most,
                    Known::Same(n) => least <= n && n <= most,
                };
                fits.then_some(value)
            }
            ExprKind::Binary(BinaryOp::And, a, b) => match self.truth(a)? {
                true => Some(Known::Same(i64::from(self.truth(b)?))),
                false => Some(Known::Same(0)),
            },
            ExprKind::Binary(BinaryOp::Or, a, b) => match self.truth(a)? {
                true => Some(Known::Same(1)),
                false => Some(Known::Same(i64::from(self.truth(b)?))),
            },
            ExprKind::Binary(op, a, b) => {
                range(&a.ty)?;
                let (a, b) = (self.value(a)?, self.value(b)?);
                let (a, b) = match (a, b) {
                    (Known::Chosen(a), Known::Same(b)) => {
                        self.constants.insert(b);
                        (a, b)
                    }
                    (Known::Same(a), Known::Chosen(b)) => {
                        self.constants.insert(a);
                        (a, b)
                    }
                    (Known::Same(a), Known::Same(b)) => (a, b),
                    (Known::Chosen(_), Known::Chosen(_)) => return None,
                };
                let holds = match op {
                    BinaryOp::Eq => a == b,
                    BinaryOp::Ne => a != b,
                    BinaryOp::Lt => a < b,
                    BinaryOp::Le => a <= b,
                    BinaryOp::Gt => a > b,
                    BinaryOp::Ge => a >= b,
                    _ => return None,
                };
                Some(Known::Same(i64::from(holds)))
            }
            _ => None,
        }
    }
}

/// A variable that is no object of the heap.
fn key(base: &Base) -> Option<Key> {
    match base {
        Base::Local(local) => Some((false, *local)),
        Base::Global(global) => Some((true, *global)),
        _ => None,
    }
}

/// The values of a type whose codes are its values.
fn range(ty: &Type) -> Option<(i64, i64)> {
    match ty {
        Type::Bool => Some((0, 1)),
        Type::Fixed { bits: 64, signed: true } => Some((i64::MIN, i64::MAX)),
        Type::Fixed { bits, signed: true } => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        Type::Fixed { bits, signed: false } if *bits < 64 => Some((0, (1 << bits) - 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_the_constants_and_what_lies_between() {
        let of = |constants: &[i64], lo, hi| regions(&constants.iter().copied().collect(), lo, hi);
        assert_eq!(of(&[], 0, 9), [(0, 9)]);
        assert_eq!(of(&[0, 4, 5], 0, 9), [(0, 0), (1, 3), (4, 4), (5, 5), (6, 9)]);
        assert_eq!(of(&[-3, 9, 20], 0, 9), [(0, 8), (9, 9)]);
        let (least, most) = (i64::MIN, i64::MAX);
        assert_eq!(of(&[least, most], least, most), [(least, least), (least + 1, most - 1), (most, most)]);
    }
}
