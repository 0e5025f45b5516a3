//! What must hold: faults of expressions, places, stores and arguments as assertions.

use super::{Body, Maker};
use crate::build::*;
use crate::faults;
use fabius_lang::program::*;
use fabius_trace::Span;

impl Maker<'_> {
    pub(super) fn hold(&mut self, conditions: Vec<Expr>, span: Span, out: &mut Block) {
        for e in conditions {
            out.push(Stmt { span, ..stmt(StmtKind::Assert(e, Check::Assertion, None)) });
        }
    }

    pub(super) fn check_exprs(&mut self, es: &[Expr], span: Span, out: &mut Block) {
        let mut conditions = Vec::new();
        es.iter().for_each(|e| faults::of_expr(&self.program, e, &mut conditions));
        self.hold(conditions, span, out);
    }

    /// Stores a value, if the place and the value are what they must be.
    pub(super) fn checked_store(&mut self, p: Place, e: Expr, span: Span, out: &mut Block) {
        let mut conditions = Vec::new();
        faults::of_expr(&self.program, &e, &mut conditions);
        faults::of_place(&self.program, &p, &mut conditions);
        faults::of_store(&e, &p.ty, &mut conditions);
        self.hold(conditions, span, out);
        out.push(Stmt { span, ..set(&p, e) });
    }

    /// What a statement reads, at its scheduling point if it has one.
    pub(super) fn evaluated(&mut self, es: &[Expr], s: &Stmt, body: &mut Body, out: &mut Block) -> Vec<Expr> {
        let es: Vec<Expr> = es.iter().map(|e| self.expr(e, body)).collect();
        self.point(s, body, out);
        self.check_exprs(&es, s.span, out);
        es
    }

    /// The one expression that a statement reads.
    pub(super) fn evaluated_one(&mut self, e: &Expr, s: &Stmt, body: &mut Body, out: &mut Block) -> Expr {
        let e = self.expr(e, body);
        self.point(s, body, out);
        self.check_exprs(std::slice::from_ref(&e), s.span, out);
        e
    }

    /// Arguments must fit the parameters.
    pub(super) fn check_arguments(&mut self, p: ProcId, es: &[Expr], span: Span, out: &mut Block) {
        let mut conditions = Vec::new();
        for (e, l) in es.iter().zip(&self.source.procs[p].locals) {
            faults::of_store(e, &l.ty, &mut conditions);
        }
        self.hold(conditions, span, out);
    }
}
