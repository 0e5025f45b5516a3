//! What does not fail whatever chosen values are: where not all of them can be tried, nothing is known of what is computed from
//! them. It is 0, and each branch that depends on it is taken and not taken.
//!
//! Paper: Automatic Predicate Abstraction of C Programs (PLDI 2001), with no predicates about these variables.
//!
//! All accesses stay, so that every execution of the program is one of the other, up to these values. What does not fail in that
//! one does not fail. What fails in it may be no execution of the program, and says nothing.
//!
//! Deviations:
//! 1. Flow is taken together for the whole program, in any order.
//! 2. Where such a value decides what is accessed, or whether an operation is defined, or how long somebody waits, there is no such
//!    program.

use crate::few_values::guarded;
use crate::needed::{Node, flows, is_shared, may_fail};
use fabius_lang::program::{
    Base, BinaryOp, Block, Expr, ExprKind, Guard, Place, ProcId, Program, Stmt, StmtKind, Type, Value,
};
use fabius_lang::walk::{each, of_place, statements};
use std::collections::BTreeSet;

/// The program without what is computed from choices of which not all values that matter are tried; none where that is not
/// possible, or says nothing.
pub fn with_any_values(program: &Program) -> Option<Program> {
    if !program.may_be_vacuous || !program.conditions.is_empty() || !program.properties.is_empty() {
        return None;
    }
    let unknown = Unknown::of(program)?;
    let mut any = program.clone();
    for (p, proc) in any.procs.iter_mut().enumerate() {
        proc.body = unknown.block(p, std::mem::take(&mut proc.body))?;
    }
    Some(any)
}

/// The variables of which nothing is known.
struct Unknown(BTreeSet<Node>);

impl Unknown {
    fn of(program: &Program) -> Option<Unknown> {
        let mut unknown = Unknown(guarded(program).into_iter().map(|(p, l)| Node::Local(p, l)).collect());
        loop {
            let mut more: Vec<Node> = Vec::new();
            for (p, proc) in program.procs.iter().enumerate() {
                statements(&proc.body, &mut |s| {
                    more.extend(flows(p, s).into_iter().filter(|(_, e)| unknown.has(p, e)).map(|(to, _)| to));
                    if let StmtKind::Call(results, q, _) = &s.kind {
                        let known = |i: usize| !unknown.0.contains(&Node::Result(*q, i));
                        let of_results = results.iter().enumerate().filter(|(i, _)| !known(*i));
                        more.extend(of_results.filter_map(|(_, to)| Some(Node::Local(p, (*to)?))));
                    }
                });
            }
            let before = unknown.0.len();
            unknown.0.extend(more);
            if unknown.0.len() == before {
                return (before > 0).then_some(unknown);
            }
        }
    }

    /// Whether an expression reads such a variable.
    fn has(&self, p: ProcId, e: &Expr) -> bool {
        let mut found = false;
        each(e, &mut |e| {
            if let ExprKind::Read(place) = &e.kind {
                found |= self.holds(p, place);
            }
        });
        found
    }

    /// Whether a place is in such a variable.
    fn holds(&self, p: ProcId, place: &Place) -> bool {
        match place.base {
            Base::Global(g) => self.0.contains(&Node::Global(g)),
            Base::Local(l) => self.0.contains(&Node::Local(p, l)),
            Base::Heap(..) => false,
        }
    }

    /// Whether nothing of the kind decides what the expression accesses, and whether it is defined.
    fn is_defined(&self, p: ProcId, e: &Expr) -> bool {
        let mut deciding = Vec::new();
        may_fail(e, &mut deciding);
        !deciding.into_iter().any(|e| self.has(p, e))
    }

    /// Whether a condition may be left out: it is defined, and accesses nothing.
    fn may_go(&self, p: ProcId, e: &Expr) -> bool {
        self.is_defined(p, e) && !is_shared(e)
    }

    /// The value 0 in place of another one, with the same accesses.
    fn nothing(&self, p: ProcId, e: Expr) -> Option<Expr> {
        if !self.has(p, &e) {
            return Some(e);
        }
        let is_number = matches!(e.ty, Type::Bool | Type::Fixed { .. });
        if !is_number || !self.is_defined(p, &e) {
            return None;
        }
        let (span, ty) = (e.span, e.ty.clone());
        let zero = Expr { kind: ExprKind::Const(Value::Int(0)), ty: ty.clone(), span };
        if !is_shared(&e) {
            return Some(zero);
        }
        let op = if ty == Type::Bool { BinaryOp::And } else { BinaryOp::Mul };
        Some(Expr { kind: ExprKind::Binary(op, e.into(), zero.into()), ty, span })
    }

    fn all(&self, p: ProcId, es: Vec<Expr>) -> Option<Vec<Expr>> {
        es.into_iter().map(|e| self.nothing(p, e)).collect()
    }

    fn block(&self, p: ProcId, block: Block) -> Option<Block> {
        block.into_iter().map(|s| self.statement(p, s)).collect()
    }

    fn statement(&self, p: ProcId, s: Stmt) -> Option<Stmt> {
        let Stmt { kind, access, span } = s;
        let indexes_are_known = |place: &Place| {
            !matches!(place.base, Base::Heap(..)) && !of_place(place).into_iter().any(|e| self.has(p, e))
        };
        let guard = |guard: Guard| match guard {
            Guard::Expr(e) if self.has(p, &e) => self.may_go(p, &e).then_some(Guard::Star),
            other => Some(other),
        };
        let kind = match kind {
            StmtKind::Assign(to, e) if indexes_are_known(&to) => StmtKind::Assign(to, self.nothing(p, e)?),
            StmtKind::Any(to, lo, hi) if indexes_are_known(&to) && !self.has(p, &lo) && !self.has(p, &hi) => {
                let is_unknown = self.holds(p, &to) && matches!(to.ty, Type::Fixed { .. });
                match (&lo.kind, &hi.kind) {
                    // There is a value.
                    (ExprKind::Const(Value::Int(lo)), ExprKind::Const(Value::Int(hi))) if is_unknown && lo <= hi => {
                        let zero = Expr { kind: ExprKind::Const(Value::Int(0)), ty: to.ty.clone(), span };
                        StmtKind::Assign(to, zero)
                    }
                    _ => StmtKind::Any(to, lo, hi),
                }
            }
            StmtKind::If(e, a, b) => StmtKind::If(guard(e)?, self.block(p, a)?, self.block(p, b)?),
            StmtKind::While(e, b) => StmtKind::While(guard(e)?, self.block(p, b)?),
            StmtKind::Atomic(b) => StmtKind::Atomic(self.block(p, b)?),
            // It may fail.
            StmtKind::Assert(e, check, words) if self.has(p, &e) => {
                let no = Expr { kind: ExprKind::Const(Value::Int(0)), ty: Type::Bool, span: e.span };
                let fails = Stmt { kind: StmtKind::Assert(no, check, words), access, span };
                let can_go = self.may_go(p, &e);
                StmtKind::If(can_go.then_some(Guard::Star)?, vec![fails], Vec::new())
            }
            // More executions go on.
            StmtKind::Assume(e) if self.has(p, &e) => self.may_go(p, &e).then_some(StmtKind::Skip)?,
            StmtKind::Call(to, q, es) => StmtKind::Call(to, q, self.all(p, es)?),
            StmtKind::Spawn(to, q, es) => StmtKind::Spawn(to, q, self.all(p, es)?),
            StmtKind::Post(to, level, q, es) => StmtKind::Post(to, level, q, self.all(p, es)?),
            StmtKind::Return(es) => StmtKind::Return(self.all(p, es)?),
            other => {
                let s = Stmt { kind: other, access, span };
                let is_known = !fabius_lang::walk::expressions(&s).into_iter().any(|e| self.has(p, e));
                return is_known.then_some(s);
            }
        };
        Some(Stmt { kind, access, span })
    }
}
