//! The granularity rule: outside `atomic` a statement makes at most one access to shared state.
//!
//! Reads that are too many go to temporaries, leftmost first; a temporary is set back to its default once it has
//! been used, so that states do not differ by what was read long ago.

use super::access;
use super::checker::Checker;
use crate::program::*;
use fabius_trace::Span;

impl Checker<'_> {
    /// Appends a statement.
    pub(super) fn push(&mut self, kind: StmtKind, span: Span) {
        let span = self.at(span);
        self.out.push(Stmt { kind, access: Access::Local, span });
    }

    /// A local that the user does not see.
    pub(super) fn temporary(&mut self, ty: &Type) -> LocalId {
        let id = self.temporaries.take(&mut self.locals, ty);
        self.mutable.resize(self.locals.len(), true);
        id
    }

    /// Reads a local.
    pub(super) fn read_local(&self, id: LocalId, span: Span) -> Expr {
        let place = self.local_place(id, span);
        Expr { ty: place.ty.clone(), kind: ExprKind::Read(place), span }
    }

    /// A local as a place.
    pub(super) fn local_place(&self, id: LocalId, span: Span) -> Place {
        Place { base: Base::Local(id), path: Vec::new(), ty: self.locals[id].ty.clone(), span }
    }

    /// What `work` appends, as a block of its own.
    pub(super) fn block_of(&mut self, work: impl FnOnce(&mut Self)) -> Block {
        let outer = std::mem::take(&mut self.out);
        work(self);
        std::mem::replace(&mut self.out, outer)
    }

    /// Does `work`; temporaries that it takes are set back afterwards and may be taken again.
    pub(super) fn with_temporaries<T>(&mut self, span: Span, work: impl FnOnce(&mut Self) -> T) -> T {
        let mark = self.temporaries.mark();
        let result = work(self);
        self.reset_since(mark, span);
        self.temporaries.release(mark);
        result
    }

    /// Sets the temporaries taken since the mark back to their defaults.
    pub(super) fn reset_since(&mut self, mark: usize, span: Span) {
        if matches!(self.out.last().map(|s| &s.kind), Some(StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue))
        {
            return;
        }
        for id in self.temporaries.since(mark) {
            let ty = self.locals[id].ty.clone();
            let value = ty.default_value(&self.cx.records);
            let place = self.local_place(id, self.at(span));
            let value = Expr { kind: ExprKind::Const(value), ty, span: self.at(span) };
            self.push(StmtKind::Assign(place, value), span);
        }
    }

    /// The expression with at most `keep` reads of shared state left in it.
    pub(super) fn reduce(&mut self, e: Expr, keep: usize) -> Expr {
        let mut left = if self.in_atomic() { 0 } else { access::count(&e, &self.cx.globals).saturating_sub(keep) };
        self.hoist(e, &mut left)
    }

    /// The same for several expressions that are evaluated one after the other in one statement.
    pub(super) fn reduce_all(&mut self, es: Vec<Expr>, keep: usize) -> Vec<Expr> {
        let count: usize = es.iter().map(|e| access::count(e, &self.cx.globals)).sum();
        let mut left = if self.in_atomic() { 0 } else { count.saturating_sub(keep) };
        es.into_iter().map(|e| self.hoist(e, &mut left)).collect()
    }

    /// The place without reads of shared state in its indexes and references.
    pub(super) fn reduce_place(&mut self, place: Place) -> Place {
        let mut left = if self.in_atomic() { 0 } else { access::count_in_place(&place, &self.cx.globals) };
        self.hoist_place(place, &mut left)
    }

    /// `place = value`, with the reads that do not fit into one statement before it.
    pub(super) fn store(&mut self, place: Place, value: Expr, span: Span) {
        let globals = &self.cx.globals;
        let in_place = access::count_in_place(&place, globals);
        let reads = access::count(&value, globals) + in_place;
        let keep = usize::from(!access::is_shared(&place, globals));
        let mut left = if self.in_atomic() { 0 } else { reads.saturating_sub(keep) };
        let value = self.hoist(value, &mut left);
        let place = self.hoist_place(place, &mut left);
        self.push(StmtKind::Assign(place, value), span);
    }

    /// Moves the first `left` reads of shared state, in the order of evaluation, to temporaries.
    fn hoist(&mut self, e: Expr, left: &mut usize) -> Expr {
        let reads = access::count(&e, &self.cx.globals);
        if *left == 0 || reads == 0 {
            return e;
        }
        let Expr { kind, ty, span } = e;
        let kind = match kind {
            ExprKind::Read(place) => {
                let shared = access::is_shared(&place, &self.cx.globals);
                let place = self.hoist_place(place, left);
                if !shared || *left == 0 {
                    ExprKind::Read(place)
                } else {
                    *left -= 1;
                    let id = self.temporary(&place.ty);
                    let target = self.local_place(id, span);
                    let value = Expr { ty: place.ty.clone(), kind: ExprKind::Read(place), span };
                    self.push(StmtKind::Assign(target, value), span);
                    return self.read_local(id, span);
                }
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) if access::count(&b, &self.cx.globals) > 0 => {
                *left -= reads.min(*left);
                let id = self.temporary(&Type::Bool);
                self.set_local(id, *a, span);
                let test = self.read_local(id, span);
                let right = self.block_of(|c| c.set_local(id, *b, span));
                let (yes, no) = if op == BinaryOp::And { (right, Block::new()) } else { (Block::new(), right) };
                self.push(StmtKind::If(Guard::Expr(test), yes, no), span);
                return self.read_local(id, span);
            }
            ExprKind::IfElse(c, a, b)
                if access::count(&a, &self.cx.globals) + access::count(&b, &self.cx.globals) > 0 =>
            {
                *left -= reads.min(*left);
                let id = self.temporary(&ty);
                let c = self.reduce(*c, 1);
                let yes = self.block_of(|checker| checker.set_local(id, *a, span));
                let no = self.block_of(|checker| checker.set_local(id, *b, span));
                self.push(StmtKind::If(Guard::Expr(c), yes, no), span);
                return self.read_local(id, span);
            }
            ExprKind::Unary(op, a) => ExprKind::Unary(op, self.hoist(*a, left).into()),
            ExprKind::Cast(a) => ExprKind::Cast(self.hoist(*a, left).into()),
            ExprKind::SetIsEmpty(a) => ExprKind::SetIsEmpty(self.hoist(*a, left).into()),
            ExprKind::Binary(op, a, b) => {
                let a = self.hoist(*a, left);
                ExprKind::Binary(op, a.into(), self.hoist(*b, left).into())
            }
            ExprKind::SetContains(a, b) => {
                let a = self.hoist(*a, left);
                ExprKind::SetContains(a.into(), self.hoist(*b, left).into())
            }
            ExprKind::IfElse(c, a, b) => ExprKind::IfElse(self.hoist(*c, left).into(), a, b),
            ExprKind::Tuple(parts) => ExprKind::Tuple(parts.into_iter().map(|p| self.hoist(p, left)).collect()),
            kind @ (ExprKind::Const(_) | ExprKind::SelfHandle) => kind,
        };
        Expr { kind, ty, span }
    }

    fn hoist_place(&mut self, mut place: Place, left: &mut usize) -> Place {
        if let Base::Heap(e, record) = place.base {
            place.base = Base::Heap(self.hoist(*e, left).into(), record);
        }
        for step in &mut place.path {
            if let Projection::Index { index, .. } = step {
                let taken = std::mem::replace(
                    &mut **index,
                    Expr { kind: ExprKind::SelfHandle, ty: Type::Thread, span: place.span },
                );
                **index = self.hoist(taken, left);
            }
        }
        place
    }

    /// `local = e`.
    fn set_local(&mut self, id: LocalId, e: Expr, span: Span) {
        let value = self.reduce(e, 1);
        let place = self.local_place(id, span);
        self.push(StmtKind::Assign(place, value), span);
    }
}
