//! `select`: waits until a branch can be taken, and takes one of those that can, in one step.
//!
//! It becomes an atomic block that waits for any of the conditions, chooses among those that hold, and does the operation of
//! the chosen branch; what is chosen is never dropped afterwards.

use super::channels::Operation;
use super::checker::{Binding, Checker};
use super::constant::constant;
use super::expr::strip;
use super::statement::one_of;
use crate::program::*;
use crate::syntax::ast::{self, When};
use fabius_trace::Span;
use std::collections::HashMap;

/// What a branch waits for, and where the result of its operation goes.
struct Branch<'a> {
    operation: Operation,
    result: Kept<'a>,
}

enum Kept<'a> {
    Nowhere,
    New(bool, &'a ast::Name),
    At(Place),
}

impl Checker<'_> {
    pub(super) fn select(&mut self, branches: &[(When, ast::Block)], otherwise: Option<&ast::Block>, whole: Span) {
        let span = Span { start: whole.start, end: whole.start + "select".len() as u32 };
        let at = self.at(span);
        let mark = self.temporaries.mark();
        let looked: Vec<_> = branches.iter().map(|(when, _)| self.branch(when)).collect();
        let chosen = self.temporary(&Type::Range(0, branches.len() as i64));
        let complete = looked.iter().all(Option::is_some);
        let mut taken: Vec<Branch<'_>> = looked.into_iter().flatten().collect();
        if complete {
            let inside = self.block_of(|c| c.choice_among(&mut taken, otherwise.is_some(), chosen, at));
            if self.in_atomic() {
                self.out.extend(inside);
            } else {
                self.push(StmtKind::Atomic(inside), span);
            }
        }
        let resets = self.block_of(|c| c.reset_since(mark, span));
        let number = self.read_local(chosen, at);
        let mut bodies = Vec::new();
        if let Some(block) = otherwise {
            let body = resets.iter().cloned().chain(self.nested(block)).collect();
            bodies.push((0, body));
        }
        let mut results = taken.into_iter().map(|b| (b.operation.values.into_iter().next(), b.result));
        for (i, (when, block)) in branches.iter().enumerate() {
            let (value, kept) =
                if complete { results.next().unwrap_or((None, Kept::Nowhere)) } else { (None, Kept::Nowhere) };
            self.scopes.push(HashMap::new());
            let body = self.block_of(|c| {
                match (kept, value) {
                    (Kept::New(mutable, name), Some(value)) => {
                        let id = c.declare(name, value.ty.clone(), mutable);
                        let place = c.local_place(id, at);
                        c.store(place, value, name.span);
                    }
                    (Kept::At(place), Some(value)) => c.store(place, value, span),
                    _ => {
                        if let When::Let { name, .. } = when {
                            c.bind(name, Binding::Error);
                        }
                    }
                }
                c.out.extend(resets.iter().cloned());
                let rest = c.nested(block);
                c.out.extend(rest);
            });
            self.scopes.pop();
            bodies.push((i + 1, body));
        }
        self.temporaries.release(mark);
        if !complete {
            return;
        }
        let when = |op, i: usize, yes, no| {
            let test =
                ExprKind::Binary(op, number.clone().into(), constant(Value::Int(i as i64), &Type::Int, at).into());
            let test = Guard::Expr(Expr { kind: test, ty: Type::Bool, span: at });
            Stmt { kind: StmtKind::If(test, yes, no), access: Access::Local, span: at }
        };
        self.out.extend(one_of(bodies, &when));
    }

    /// What a branch waits for.
    fn branch<'a>(&mut self, when: &'a When) -> Option<Branch<'a>> {
        self.before = 0;
        match when {
            When::Expr(e) if self.is_effect(e) => {
                Some(Branch { operation: self.branch_operation(e)?, result: Kept::Nowhere })
            }
            When::Expr(e) => {
                let condition = self.in_one_step(|c| c.condition(e))?;
                let operation = Operation { condition, effect: Block::new(), values: Vec::new() };
                Some(Branch { operation, result: Kept::Nowhere })
            }
            When::Let { mutable, name, value } => {
                let operation = self.receiving(value)?;
                Some(Branch { operation, result: Kept::New(*mutable, name) })
            }
            When::Assign { target, value } => {
                let place = self.target(target);
                let operation = self.receiving(value)?;
                let place = place?;
                let fits = operation.values.first().is_some_and(|v| self.must_fit(&v.ty, &place.ty, value.span));
                fits.then_some(Branch { operation, result: Kept::At(place) })
            }
        }
    }

    fn receiving(&mut self, e: &ast::Expr) -> Option<Operation> {
        let operation = self.branch_operation(e)?;
        if operation.values.is_empty() {
            self.error("E0303", e.span, "1 value wanted", "0 given");
            return None;
        }
        Some(operation)
    }

    /// The operation of a channel that a branch does.
    fn branch_operation(&mut self, e: &ast::Expr) -> Option<Operation> {
        let refused = |c: &mut Self, what: &str| {
            c.error("E0410", e.span, format!("{what} cannot be waited for among others"), "not a branch").help = Some(
                "a branch waits for a condition, or sends to or receives from a channel; do the rest in its block"
                    .into(),
            );
            None
        };
        let ast::ExprKind::Method(receiver, name, args) = &strip(e).node else {
            return refused(self, "this");
        };
        let place = self.receiver(receiver)?;
        let room = match place.ty {
            Type::Record(r) => self.cx.channels.get(&r).map(|c| c.room),
            _ => None,
        };
        if self.collection_of(&place.ty).is_some() && matches!(name.node.as_str(), "pick" | "take") {
            let place = self.reduce_place(place);
            return self.collection_wait(&place, name, args, e.span);
        }
        match (room, name.node.as_str()) {
            (Some(0), "send") => refused(self, "to hand over without room in between"),
            (Some(_), "send" | "receive") => {
                let place = self.reduce_place(place);
                self.channel_wait(&place, name, args, e.span)
            }
            _ => refused(self, &format!("`{}`", name.node)),
        }
    }

    /// Waits, chooses, and does what is chosen.
    fn choice_among(&mut self, branches: &mut [Branch<'_>], open: bool, chosen: LocalId, at: Span) {
        let conditions: Vec<Expr> = branches.iter().map(|b| b.operation.condition.clone()).collect();
        let any = |from: usize| conditions[from..].iter().cloned().reduce(|a, b| boolean(BinaryOp::Or, a, b, at));
        if let (false, Some(any)) = (open, any(0)) {
            self.push(StmtKind::Await(any), at);
        }
        let number = |n: usize| constant(Value::Int(n as i64), &Type::Int, at);
        let place = self.local_place(chosen, at);
        let choose =
            |n: usize| Stmt { kind: StmtKind::Assign(place.clone(), number(n)), access: Access::Local, span: at };
        let either = |guard, yes, no| Stmt { kind: StmtKind::If(guard, yes, no), access: Access::Local, span: at };
        let open_yet = || {
            let kind = ExprKind::Binary(BinaryOp::Eq, self.read_local(chosen, at).into(), number(0).into());
            Expr { kind, ty: Type::Bool, span: at }
        };
        let mut out = Block::new();
        for (i, condition) in conditions.iter().enumerate() {
            let take = vec![choose(i + 1)];
            // The last one is taken if it is the only one left.
            let decided = match any(i + 1) {
                None if !open => vec![either(Guard::Expr(open_yet()), take, Block::new())],
                None => take_if(condition, take, &open_yet, &either, at),
                Some(others) => {
                    let perhaps = vec![either(Guard::Star, take.clone(), Block::new())];
                    take_if(condition, vec![either(Guard::Expr(others), perhaps, take)], &open_yet, &either, at)
                }
            };
            out.extend(if i == 0 && conditions.len() == 1 && !open { vec![choose(1)] } else { decided });
        }
        let effects = branches.iter_mut().map(|b| std::mem::take(&mut b.operation.effect)).enumerate();
        let effects: Vec<(usize, Block)> = effects.filter(|(_, effect)| !effect.is_empty()).collect();
        for (i, effect) in effects {
            let kind = ExprKind::Binary(BinaryOp::Eq, self.read_local(chosen, at).into(), number(i + 1).into());
            out.push(either(Guard::Expr(Expr { kind, ty: Type::Bool, span: at }), effect, Block::new()));
        }
        self.out.extend(out);
    }
}

/// `if nothing is chosen yet && condition { .. }`.
fn take_if(
    condition: &Expr,
    yes: Block,
    open_yet: &dyn Fn() -> Expr,
    either: &dyn Fn(Guard, Block, Block) -> Stmt,
    at: Span,
) -> Block {
    vec![either(Guard::Expr(boolean(BinaryOp::And, open_yet(), condition.clone(), at)), yes, Block::new())]
}

fn boolean(op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
    Expr { kind: ExprKind::Binary(op, a.into(), b.into()), ty: Type::Bool, span }
}
