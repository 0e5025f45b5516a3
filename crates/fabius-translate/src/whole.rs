//! Atomic blocks that wait elsewhere than at their beginning: with what they wait for as a whole in front.
//!
//! Paper: Guarded Commands, Nondeterminacy and Formal Derivation of Programs (Dijkstra, CACM 1975), weakest preconditions.
//!
//! Deviations:
//! 1. It is asked whether some way through the block comes to no false `await`: of choices one is enough, and a way that ends in an
//!    error or a false `assume` can be gone.
//! 2. Only assignments, branches, choices among few values, assertions and assumptions are gone through. A block with something else
//!    in front of a wait stays as it is, and is refused where it is translated.

use crate::build::*;
use crate::faults;
use fabius_lang::program::*;
use fabius_lang::waits::Waits;
use fabius_lang::walk;

/// A choice among more values is not written out.
const MOST_VALUES: i64 = 16;
/// Nor is what is waited for if it has more parts.
const MOST_PARTS: usize = 1 << 12;

/// The program with what each such block waits for in front of it, where that can be said. Behind that, ways that come to a false
/// `await` are dropped.
pub fn in_front(source: &Program) -> Program {
    let waits = Waits::of(source);
    let mut program = source.clone();
    for proc in &mut program.procs {
        proc.body = replace(std::mem::take(&mut proc.body), &mut |s| {
            let StmtKind::Atomic(block) = &s.kind else { return vec![s] };
            if waits.midway(block).is_none() || asks_threads(source, block) {
                return vec![s];
            }
            let ways = Ways { program: source, waits: &waits };
            let Some(condition) = ways.through(block, boolean(true)).filter(|e| parts(e) <= MOST_PARTS) else {
                return vec![s];
            };
            let wait = Stmt { kind: StmtKind::Await(condition), access: Access::Sync, span: s.span };
            let rest = replace(block.clone(), &mut |s| match s.kind {
                StmtKind::Await(e) => vec![Stmt { kind: StmtKind::Assume(e), ..s }],
                _ => vec![s],
            });
            vec![Stmt { kind: StmtKind::Atomic(std::iter::once(wait).chain(rest).collect()), ..s }]
        });
    }
    program
}

/// Whether a map of threads is used: whose entry it is is not known here.
fn asks_threads(program: &Program, block: &Block) -> bool {
    let is_map = |p: &Place| matches!(p.base, Base::Global(g) if program.globals[g].ty.of_threads().is_some());
    let mut found = false;
    each(block, &mut |s| {
        found |= walk::written(s).is_some_and(is_map);
        for e in walk::expressions(s) {
            walk::each(e, &mut |e| found |= matches!(&e.kind, ExprKind::Read(p) if is_map(p)));
        }
    });
    found
}

struct Ways<'a> {
    program: &'a Program,
    waits: &'a Waits,
}

impl Ways<'_> {
    /// Whether some way goes through a block, and then what is behind it; `None` if that cannot be said here.
    fn through(&self, block: &[Stmt], behind: Expr) -> Option<Expr> {
        block.iter().rev().try_fold(behind, |behind, s| {
            let e = self.of_statement(s, behind)?;
            (parts(&e) <= MOST_PARTS).then_some(e)
        })
    }

    fn of_statement(&self, s: &Stmt, behind: Expr) -> Option<Expr> {
        match &s.kind {
            StmtKind::Skip | StmtKind::Progress => Some(behind),
            // Whatever it does, there is nothing more to wait for.
            _ if is(&behind, true) && !self.waits_in(s) => Some(behind),
            StmtKind::Print(es) => Some(self.unless_wrong(es, Vec::new(), behind)),
            StmtKind::Assign(place, value) => {
                let after = stored(&behind, place, value)?;
                let mut conditions = Vec::new();
                faults::of_place(self.program, place, &mut conditions);
                faults::of_store(value, &place.ty, &mut conditions);
                Some(self.unless_wrong(std::slice::from_ref(value), conditions, after))
            }
            StmtKind::Any(place, lo, hi) => {
                let (ExprKind::Const(Value::Int(lo)), ExprKind::Const(Value::Int(hi))) = (&lo.kind, &hi.kind) else {
                    return None;
                };
                // Without a value the way is dropped.
                if lo > hi {
                    return Some(boolean(true));
                }
                if hi.checked_sub(*lo)? >= MOST_VALUES {
                    return None;
                }
                let mut all = boolean(false);
                for n in *lo..=*hi {
                    all = either_of(all, stored(&behind, place, &constant(n, place.ty.clone()))?);
                }
                let mut conditions = Vec::new();
                faults::of_place(self.program, place, &mut conditions);
                Some(self.unless_wrong(&[], conditions, all))
            }
            StmtKind::If(guard, a, b) => {
                let (a, b) = (self.through(a, behind.clone())?, self.through(b, behind)?);
                Some(match guard {
                    Guard::Star => either_of(a, b),
                    Guard::Expr(e) if a == b => self.unless_wrong(std::slice::from_ref(e), Vec::new(), a),
                    Guard::Expr(e) => {
                        let kind = ExprKind::IfElse(e.clone().into(), a.into(), b.into());
                        self.unless_wrong(std::slice::from_ref(e), Vec::new(), expr(kind, Type::Bool))
                    }
                })
            }
            StmtKind::Atomic(block) => self.through(block, behind),
            StmtKind::Assert(e, ..) | StmtKind::Assume(e) => {
                Some(self.unless_wrong(std::slice::from_ref(e), Vec::new(), either_of(not(e.clone()), behind)))
            }
            StmtKind::Await(e) => {
                let both = if is(&behind, true) { e.clone() } else { and(e.clone(), behind) };
                Some(self.unless_wrong(std::slice::from_ref(e), Vec::new(), both))
            }
            _ => None,
        }
    }

    fn waits_in(&self, s: &Stmt) -> bool {
        let nothing = Stmt { kind: StmtKind::Skip, access: Access::Local, span: s.span };
        self.waits.midway(&vec![nothing, s.clone()]).is_some()
    }

    /// What an expression has no value for is a way to an error.
    fn unless_wrong(&self, es: &[Expr], stores: Vec<Expr>, then: Expr) -> Expr {
        let mut conditions = Vec::new();
        es.iter().for_each(|e| faults::of_expr(self.program, e, &mut conditions));
        conditions.extend(stores);
        conditions.into_iter().rev().fold(then, |then, has_value| either_of(not(has_value), then))
    }
}

fn is(e: &Expr, value: bool) -> bool {
    matches!(e.kind, ExprKind::Const(Value::Int(n)) if (n != 0) == value)
}

fn either_of(a: Expr, b: Expr) -> Expr {
    match (is(&a, true) || is(&b, true), is(&a, false), is(&b, false)) {
        (true, ..) => boolean(true),
        (_, true, _) => b,
        (_, _, true) => a,
        _ => or(a, b),
    }
}

/// An expression behind an assignment, in the state in front of it.
fn stored(e: &Expr, place: &Place, value: &Expr) -> Option<Expr> {
    let boxed = |e: &Expr| Some(Box::new(stored(e, place, value)?));
    let kind = match &e.kind {
        ExprKind::Const(_) | ExprKind::SelfHandle => e.kind.clone(),
        ExprKind::Read(p) => return read_behind(p, e, place, value),
        ExprKind::Unary(op, a) => ExprKind::Unary(*op, boxed(a)?),
        ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, boxed(a)?, boxed(b)?),
        ExprKind::IfElse(c, a, b) => ExprKind::IfElse(boxed(c)?, boxed(a)?, boxed(b)?),
        ExprKind::Tuple(parts) => {
            ExprKind::Tuple(parts.iter().map(|p| stored(p, place, value)).collect::<Option<_>>()?)
        }
        ExprKind::Cast(a) => ExprKind::Cast(boxed(a)?),
        // Of these only what is not stored to may be asked.
        ExprKind::SetContains(..) | ExprKind::SetIsEmpty(_) => {
            let mut touched = false;
            walk::each(e, &mut |x| {
                touched |= matches!(&x.kind, ExprKind::Read(p) if p.base == place.base || is_heap(p));
            });
            return (!touched && !is_heap(place)).then(|| e.clone());
        }
    };
    Some(Expr { kind, ..e.clone() })
}

fn is_heap(p: &Place) -> bool {
    matches!(p.base, Base::Heap(..))
}

/// What is read of a place after something was stored.
fn read_behind(read: &Place, e: &Expr, place: &Place, value: &Expr) -> Option<Expr> {
    // What refers to an object may refer to the same one.
    if is_heap(place) {
        return (!is_heap(read)).then(|| inside(read, e, place, value))?;
    }
    let before = inside(read, e, place, value)?;
    if is_heap(read) || read.base != place.base {
        return Some(before);
    }
    let ExprKind::Read(now) = &before.kind else { return None };
    // Under which condition the two are the same place, as far as the shorter one goes.
    let mut same: Vec<Expr> = Vec::new();
    for (there, here) in now.path.iter().zip(&place.path) {
        match (there, here) {
            (Projection::Field(a), Projection::Field(b)) if a == b => {}
            (Projection::Field(_), Projection::Field(_)) => return Some(before),
            (Projection::Index { index: a, .. }, Projection::Index { index: b, .. }) => match (&a.kind, &b.kind) {
                (ExprKind::Const(a), ExprKind::Const(b)) if a == b => {}
                (ExprKind::Const(_), ExprKind::Const(_)) => return Some(before),
                _ if a.ty == Type::Thread || b.ty == Type::Thread => return None,
                _ => same.push(compared((**a).clone(), (**b).clone())),
            },
            _ => return None,
        }
    }
    // Of a whole of which a part was stored nothing is said.
    let rest = now.path.get(place.path.len()..).filter(|_| now.path.len() >= place.path.len())?;
    let found = projected(value, rest, &now.ty, e)?;
    Some(match same.into_iter().reduce(and) {
        None => found,
        Some(same) => {
            let kind = ExprKind::IfElse(same.into(), found.into(), before.clone().into());
            Expr { kind, ty: e.ty.clone(), span: e.span }
        }
    })
}

/// Whether two indexes are the same; they may be of different ranges.
fn compared(a: Expr, b: Expr) -> Expr {
    let wide = |e: Expr| match e.ty {
        Type::Range(..) => Expr { ty: Type::Int, ..e },
        _ => e,
    };
    eq(wide(a), wide(b))
}

/// The same place, with the indexes as they are in front of the assignment.
fn inside(read: &Place, e: &Expr, place: &Place, value: &Expr) -> Option<Expr> {
    let mut p = read.clone();
    if let Base::Heap(reference, _) = &mut p.base {
        **reference = stored(reference, place, value)?;
    }
    for step in &mut p.path {
        if let Projection::Index { index, .. } = step {
            **index = stored(index, place, value)?;
        }
    }
    Some(Expr { kind: ExprKind::Read(p), ..e.clone() })
}

/// A part of a value.
fn projected(value: &Expr, path: &[Projection], ty: &Type, e: &Expr) -> Option<Expr> {
    let Some((step, rest)) = path.split_first() else {
        return Some(Expr { ty: if value.ty == *ty { ty.clone() } else { value.ty.clone() }, ..value.clone() });
    };
    let number = |step: &Projection| match step {
        Projection::Field(f) => Some(*f),
        Projection::Index { index, lo, .. } => match &index.kind {
            ExprKind::Const(Value::Int(n)) => usize::try_from(n - lo).ok(),
            _ => None,
        },
    };
    match &value.kind {
        ExprKind::Read(p) => {
            let mut p = p.clone();
            p.path.extend(path.iter().cloned());
            p.ty = ty.clone();
            Some(Expr { kind: ExprKind::Read(p), ty: ty.clone(), span: e.span })
        }
        ExprKind::Tuple(parts) => projected(parts.get(number(step)?)?, rest, ty, e),
        ExprKind::Const(Value::Tuple(parts)) => {
            let part = parts.get(number(step)?)?.clone();
            let of = if rest.is_empty() { ty.clone() } else { value.ty.clone() };
            projected(&Expr { kind: ExprKind::Const(part), ty: of, span: e.span }, rest, ty, e)
        }
        _ => None,
    }
}

/// How many parts an expression has.
fn parts(e: &Expr) -> usize {
    let mut found = 0;
    walk::each(e, &mut |_| found += 1);
    found
}
