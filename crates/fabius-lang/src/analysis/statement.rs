//! Statements: control, scopes, what may stand where.

use super::checker::{Binding, Checker, Frame};
use super::constant::{constant, widen};
use super::expr::strip;
use crate::program::*;
use crate::syntax::ast;
use fabius_trace::Span;
use std::collections::HashMap;

impl Checker<'_> {
    /// The statements of a block, in a scope of their own.
    pub(super) fn statements(&mut self, block: &ast::Block) {
        self.scopes.push(HashMap::new());
        block.node.iter().for_each(|s| self.statement(s));
        self.scopes.pop();
    }

    pub(super) fn nested(&mut self, block: &ast::Block) -> Block {
        self.frames.push(Frame::Branch);
        let out = self.block_of(|c| c.statements(block));
        self.frames.pop();
        out
    }

    fn statement(&mut self, s: &ast::Stmt) {
        let span = s.span;
        self.before = 0;
        match &s.node {
            ast::StmtKind::If { guard, then, otherwise, .. } => self.if_else(guard, then, otherwise.as_ref(), span),
            ast::StmtKind::Match { value, arms, otherwise } => self.match_stmt(value, arms, otherwise.as_ref(), span),
            ast::StmtKind::While { guard, body } => self.while_loop(guard, body, span),
            ast::StmtKind::Loop(body) => {
                let yes = Guard::Expr(constant(Value::Int(1), &Type::Bool, self.at(span)));
                let body = self.loop_body(body, Block::new());
                self.push(StmtKind::While(yes, body), span);
            }
            ast::StmtKind::Choose(blocks) => self.choose(blocks, span),
            ast::StmtKind::Select { branches, otherwise } => self.select(branches, otherwise.as_ref(), span),
            ast::StmtKind::Atomic(body) => self.atomic(body, span),
            ast::StmtKind::Block(body) => self.statements(body),
            // The variables of an expansion are temporaries of the statement that calls it.
            _ if self.expansion.is_some() => self.simple(s),
            _ => self.with_temporaries(span, |c| c.simple(s)),
        }
    }

    fn simple(&mut self, s: &ast::Stmt) {
        let span = s.span;
        match &s.node {
            ast::StmtKind::Local { mutable, names, ty, init } => {
                self.local(*mutable, names, ty.as_ref(), init.as_ref(), span);
            }
            ast::StmtKind::Assign { targets, op, value } => self.assign(targets, *op, value, span),
            ast::StmtKind::AssignAll { targets, values } => self.assign_all(targets, values, span),
            ast::StmtKind::Expr(e) => self.effect(e, span),
            ast::StmtKind::Return(values) => self.return_values(values, span),
            ast::StmtKind::For { name, lo, hi, body } => self.for_loop(name, lo, hi, body, span),
            ast::StmtKind::Break | ast::StmtKind::Continue => self.leave(&s.node, span),
            ast::StmtKind::Join(e) => {
                if let Some(e) = self.expr_of(e, &Type::Thread) {
                    let e = self.reduce(e, 0);
                    self.push(StmtKind::Join(e), span);
                }
            }
            ast::StmtKind::Await(e) => {
                if let Some(e) = self.in_one_step(|c| c.condition(e)) {
                    self.push(StmtKind::Await(e), span);
                }
            }
            ast::StmtKind::Yield => self.give_up(StmtKind::Yield, "yield", span),
            ast::StmtKind::Zield => self.give_up(StmtKind::Zield, "zield", span),
            ast::StmtKind::Assume(e) => {
                if let Some(e) = self.in_one_step(|c| c.condition(e)) {
                    self.push(StmtKind::Assume(e), span);
                }
            }
            ast::StmtKind::Assert(e, message) => {
                let check = if self.expansion.is_some() { Check::SyncMisuse } else { Check::Assertion };
                if let Some(e) = self.in_one_step(|c| c.condition(e)) {
                    self.push(StmtKind::Assert(e, check, message.as_ref().map(|m| m.node.clone())), span);
                }
            }
            ast::StmtKind::Print(es) => {
                let es: Vec<_> = self.in_one_step(|c| es.iter().map(|e| c.expr(e, None)).collect());
                if let Some(es) = es.into_iter().collect() {
                    self.push(StmtKind::Print(es), span);
                }
            }
            // What waits for nothing is a step, and touches nothing.
            ast::StmtKind::Label(_) => {
                let always = constant(Value::Int(1), &Type::Bool, self.at(span));
                self.give_up(StmtKind::Await(always), "label", span);
            }
            ast::StmtKind::Progress => self.push(StmtKind::Progress, span),
            ast::StmtKind::Skip => self.push(StmtKind::Skip, span),
            ast::StmtKind::If { .. }
            | ast::StmtKind::Match { .. }
            | ast::StmtKind::While { .. }
            | ast::StmtKind::Loop(_)
            | ast::StmtKind::Choose(_)
            | ast::StmtKind::Select { .. }
            | ast::StmtKind::Atomic(_)
            | ast::StmtKind::Block(_)
            | ast::StmtKind::Error => {}
        }
    }

    /// Looks at what is evaluated in one step.
    pub(super) fn in_one_step<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.one_step, true);
        let result = look(self);
        self.one_step = outer;
        result
    }

    fn if_else(&mut self, guard: &ast::Expr, then: &ast::Block, otherwise: Option<&ast::Block>, span: Span) {
        let mark = self.temporaries.mark();
        let guard_span = guard.span;
        let guard = self.guard(guard);
        let resets = self.block_of(|c| c.reset_since(mark, guard_span));
        self.temporaries.release(mark);
        let mut yes = resets.clone();
        yes.extend(self.nested(then));
        let mut no = resets;
        no.extend(otherwise.map(|b| self.nested(b)).unwrap_or_default());
        if let Some(guard) = guard {
            self.push(StmtKind::If(guard, yes, no), span);
        }
    }

    fn while_loop(&mut self, guard: &ast::Expr, body: &ast::Block, span: Span) {
        let mark = self.temporaries.mark();
        let mut typed = None;
        let before = self.block_of(|c| typed = c.guard(guard));
        let resets = self.block_of(|c| c.reset_since(mark, guard.span));
        self.temporaries.release(mark);
        let body = self.loop_body(body, Block::new());
        let Some(typed) = typed else { return };
        if before.is_empty() {
            return self.push(StmtKind::While(typed, body), span);
        }
        let stmt = |kind, span| Stmt { kind, access: Access::Local, span };
        let at = self.at(guard.span);
        let mut leave = resets.clone();
        leave.push(stmt(StmtKind::Break, at));
        let mut whole = before;
        whole.push(stmt(StmtKind::If(typed, resets, leave), at));
        whole.extend(body);
        let yes = Guard::Expr(constant(Value::Int(1), &Type::Bool, at));
        self.push(StmtKind::While(yes, whole), span);
    }

    /// The body of a loop. `step` is what `continue` does first.
    fn loop_body(&mut self, body: &ast::Block, step: Block) -> Block {
        self.frames.push(Frame::Loop);
        self.on_continue.push(step);
        let out = self.block_of(|c| c.statements(body));
        self.on_continue.pop();
        self.frames.pop();
        out
    }

    fn for_loop(&mut self, name: &ast::Name, lo: &ast::Expr, hi: &ast::Expr, body: &ast::Block, span: Span) {
        let (lo, hi) = (self.expr(lo, Some(&Type::Int)), self.expr(hi, Some(&Type::Int)));
        let (Some(lo), Some(hi)) = (lo, hi) else { return };
        let fixed = if let Type::Fixed { .. } = lo.ty { lo.ty.clone() } else { Type::Int };
        if !self.must_fit(&lo.ty, &fixed, lo.span) || !self.must_fit(&hi.ty, &fixed, hi.span) {
            return;
        }
        let ty = match (&lo.kind, &hi.kind, &fixed) {
            (ExprKind::Const(Value::Int(lo)), ExprKind::Const(Value::Int(hi)), Type::Int) if *hi < i64::MAX => {
                Type::Range(*lo.min(hi), *lo.max(&(*hi + 1)))
            }
            _ => fixed.clone(),
        };
        let at = self.at(span);
        let hi = match hi.kind {
            ExprKind::Const(_) => hi,
            _ => {
                let id = self.temporary(&fixed);
                let place = self.local_place(id, at);
                self.store(place, hi, span);
                self.read_local(id, at)
            }
        };
        self.scopes.push(HashMap::new());
        let id = self.declare(name, ty, false);
        let place = self.local_place(id, at);
        self.store(place.clone(), lo, span);
        let counter = self.read_local(id, at);
        let one = constant(Value::Int(1), &fixed, at);
        let stmt = |kind| Stmt { kind, access: Access::Local, span: at };
        let mut step = Block::new();
        if fixed != Type::Int {
            // `hi` may be the greatest value of its type: the counter must not wrap around to the smallest.
            let kind = ExprKind::Binary(BinaryOp::Eq, counter.clone().into(), hi.clone().into());
            let last = Guard::Expr(Expr { kind, ty: Type::Bool, span: at });
            step.push(stmt(StmtKind::If(last, vec![stmt(StmtKind::Break)], Block::new())));
        }
        let next =
            Expr { kind: ExprKind::Binary(BinaryOp::Add, counter.clone().into(), one.into()), ty: fixed, span: at };
        step.push(stmt(StmtKind::Assign(place, next)));
        let test = Expr { kind: ExprKind::Binary(BinaryOp::Le, counter.into(), hi.into()), ty: Type::Bool, span: at };
        let mut body = self.loop_body(body, step.clone());
        body.extend(step);
        self.push(StmtKind::While(Guard::Expr(test), body), span);
        self.scopes.pop();
    }

    fn leave(&mut self, kind: &ast::StmtKind, span: Span) {
        let (word, core) = match kind {
            ast::StmtKind::Break => ("break", StmtKind::Break),
            _ => ("continue", StmtKind::Continue),
        };
        match self.frames.iter().rev().find(|f| **f != Frame::Branch).copied() {
            Some(Frame::Loop) => {
                if core == StmtKind::Continue {
                    let step = self.on_continue.last().cloned().unwrap_or_default();
                    self.out.extend(step);
                }
                self.push(core, span);
            }
            Some(_) if self.leave_loop_from_atomic(&core, span) => {}
            _ => {
                self.error("E0403", span, format!("`{word}` outside of a loop"), "no loop around it");
            }
        }
    }

    fn not_in_atomic(&mut self, word: &str, span: Span) {
        self.error(
            "E0404",
            span,
            format!("`{word}` inside `atomic`"),
            "an atomic block cannot be left in the middle",
        )
        .help = Some("put it behind the block; a variable can say whether it is needed".into());
    }

    /// What begins something and waits until others have done their part is no single step.
    pub(super) fn needs_others(&mut self, what: &str, span: Span) {
        if self.in_atomic() {
            self.error(
                "E0405",
                span,
                format!("{what} inside `atomic`"),
                "others have to do something in between, and cannot",
            )
            .help = Some("put it in front of the block, or behind it".into());
        }
    }

    fn give_up(&mut self, kind: StmtKind, word: &str, span: Span) {
        if self.in_atomic() {
            return self.not_in_atomic(word, span);
        }
        self.push(kind, span);
    }

    fn atomic(&mut self, body: &ast::Block, span: Span) {
        if self.in_atomic() {
            return self.statements(body);
        }
        self.frames.push(Frame::Atomic);
        let out = self.block_of(|c| c.statements(body));
        self.frames.pop();
        let leaving = self.leaving.take();
        self.atomic_with_ways_out(out, leaving, span);
    }

    fn choose(&mut self, blocks: &[ast::Block], span: Span) {
        match blocks {
            [] => {}
            [only] => self.statements(only),
            [a, b] => {
                let (a, b) = (self.nested(a), self.nested(b));
                self.push(StmtKind::If(Guard::Star, a, b), span);
            }
            _ => {
                let at = self.at(span);
                let ty = Type::Range(0, blocks.len() as i64 - 1);
                let mark = self.temporaries.mark();
                let id = self.temporary(&ty);
                let bound = |n: usize| constant(Value::Int(n as i64), &Type::Int, at);
                let place = self.local_place(id, at);
                self.push(StmtKind::Any(place, bound(0), bound(blocks.len() - 1)), span);
                let resets = self.block_of(|c| c.reset_since(mark, span));
                let chosen = self.read_local(id, at);
                self.temporaries.release(mark);
                let bodies = blocks.iter().map(|b| resets.iter().cloned().chain(self.nested(b)).collect());
                let bodies: Vec<(usize, Block)> = bodies.enumerate().collect();
                let when = |op, i: usize, yes, no| {
                    let test = ExprKind::Binary(op, chosen.clone().into(), bound(i).into());
                    let test = Guard::Expr(Expr { kind: test, ty: Type::Bool, span: at });
                    Stmt { kind: StmtKind::If(test, yes, no), access: Access::Local, span: at }
                };
                self.out.extend(one_of(bodies, &when));
            }
        }
    }

    /// A new local variable.
    pub(super) fn declare(&mut self, name: &ast::Name, ty: Type, mutable: bool) -> LocalId {
        let id = if self.expansion.is_some() {
            self.temporary(&ty)
        } else {
            self.locals.push(Local { name: name.node.clone(), ty });
            self.mutable.resize(self.locals.len(), true);
            self.locals.len() - 1
        };
        self.mutable[id] = mutable;
        self.bind(name, Binding::Local(id));
        id
    }

    /// Gives a name a meaning in the innermost scope.
    pub(super) fn bind(&mut self, name: &ast::Name, binding: Binding) {
        if name.node != "_" {
            let scope = self.scopes.last_mut().expect("statements stand in a scope");
            scope.insert(name.node.clone(), binding);
        }
    }

    fn local(
        &mut self,
        mutable: bool,
        names: &[ast::Name],
        ty: Option<&ast::Type>,
        init: Option<&ast::Expr>,
        span: Span,
    ) {
        let declared = ty.map(|t| self.ty(t));
        let [name] = names else {
            return self.local_tuple(mutable, names, init, span);
        };
        if let Some(None) = declared {
            return self.bind(name, Binding::Error);
        }
        let declared = declared.flatten();
        let Some(init) = init else {
            let Some(ty) = declared else { return self.bind(name, Binding::Error) };
            let value =
                Expr { kind: ExprKind::Const(ty.default_value(&self.cx.records)), ty: ty.clone(), span: self.at(span) };
            let id = self.declare(name, ty, mutable);
            let place = self.local_place(id, self.at(span));
            return self.push(StmtKind::Assign(place, value), span);
        };
        if let (ast::ExprKind::Call(..) | ast::ExprKind::Method(..), None) = (&strip(init).node, &declared)
            && !self.is_query(init)
            && self.type_of_rhs(init).is_none()
        {
            let produced = self.produce(init, 1);
            let Some(value) = produced.and_then(|mut values| values.pop()) else {
                return self.bind(name, Binding::Error);
            };
            let id = self.declare(name, widen(&value.ty), mutable);
            let place = self.local_place(id, self.at(span));
            return self.store(place, value, span);
        }
        if let Some(ty) = declared.or_else(|| self.type_of_rhs(init)) {
            // The new name is not yet known in its own initial value.
            let id = self.declare(&ast::Name { node: "_".into(), span: name.span }, ty, mutable);
            if self.expansion.is_none() {
                self.locals[id].name.clone_from(&name.node);
            }
            let place = self.local_place(id, self.at(span));
            let fine = self.assign_rhs(place, init, span);
            self.bind(name, if fine { Binding::Local(id) } else { Binding::Error });
            if !fine {
                self.mutable[id] = mutable;
            }
            return;
        }
        let Some(value) = self.expr(init, None) else { return self.bind(name, Binding::Error) };
        let ty = widen(&value.ty);
        let id = self.declare(name, ty, mutable);
        let place = self.local_place(id, self.at(span));
        self.store(place, value, span);
    }

    fn local_tuple(&mut self, mutable: bool, names: &[ast::Name], init: Option<&ast::Expr>, span: Span) {
        let produced = init.and_then(|init| self.produce(init, names.len()));
        let Some(values) = produced else {
            return names.iter().for_each(|n| self.bind(n, Binding::Error));
        };
        for (name, value) in names.iter().zip(values) {
            if name.node != "_" {
                let id = self.declare(name, widen(&value.ty), mutable);
                let place = self.local_place(id, self.at(span));
                self.store(place, value, span);
            }
        }
    }

    fn assign(&mut self, targets: &[ast::Expr], op: Option<BinaryOp>, value: &ast::Expr, span: Span) {
        let is_dropped = |t: &ast::Expr| matches!(&strip(t).node, ast::ExprKind::Name(n) if n == "_");
        if let [target] = targets {
            if is_dropped(target) {
                return self.effect(value, span);
            }
            if let (ast::ExprKind::Index(sequence, index), None) = (&strip(target).node, op)
                && self.is_sequence(sequence)
            {
                // `q.set(i, e)`.
                let name = ast::Name { node: "set".into(), span: target.span };
                let args = vec![(**index).clone(), value.clone()];
                let call = ast::ExprKind::Method(sequence.clone(), name, args);
                return self.effect(&ast::Expr { node: call, span }, span);
            }
            let Some(place) = self.target(target) else {
                self.type_of_rhs(value).is_none().then(|| self.expr(value, None));
                return;
            };
            let Some(op) = op else {
                self.assign_rhs(place, value, span);
                return;
            };
            let place = self.reduce_place(place);
            // `$target` stands for the place, so that its indexes are evaluated once.
            let name = ast::Name { node: "$target".into(), span: target.span };
            self.scopes.push(HashMap::new());
            self.bind(&name, Binding::Place(place.clone()));
            let read = ast::Expr { node: ast::ExprKind::Name(name.node), span: target.span };
            let whole = ast::ExprKind::Binary(op, read.into(), value.clone().into());
            let typed = self.expr_of(&ast::Expr { node: whole, span }, &place.ty.clone());
            self.scopes.pop();
            if let Some(typed) = typed {
                self.store(place, typed, span);
            }
            return;
        }
        let places: Vec<_> =
            targets.iter().map(|t| if is_dropped(t) { Some(None) } else { self.target(t).map(Some) }).collect();
        let Some(values) = self.produce(value, targets.len()) else { return };
        for ((place, value), target) in places.into_iter().zip(values).zip(targets) {
            if let Some(Some(place)) = place
                && self.must_fit(&value.ty, &place.ty, target.span)
            {
                self.store(place, value, span);
            }
        }
    }

    /// All values, from left to right; then where they go; then the stores.
    fn assign_all(&mut self, targets: &[ast::Expr], values: &[ast::Expr], span: Span) {
        let places: Vec<_> = targets.iter().map(|t| self.target(t)).collect();
        if targets.len() != values.len() {
            let message = format!("{} on the left", super::names::count(targets.len(), "variable"));
            let given = format!("{} on the right", super::names::count(values.len(), "value"));
            self.error("E0303", span, message, given);
            return;
        }
        let mut held = Vec::new();
        for (place, value) in places.iter().zip(values) {
            self.before = 0;
            let Some(place) = place else {
                self.expr(value, None);
                continue;
            };
            let Some(value) = self.expr_of(value, &place.ty) else { continue };
            held.push(self.hold(value, span));
        }
        let places: Option<Vec<Place>> = places.into_iter().collect();
        let Some(places) = places.filter(|p| p.len() == held.len()) else { return };
        let places: Vec<Place> = places.into_iter().map(|p| self.hold_place(p, span)).collect();
        for (place, value) in places.into_iter().zip(held) {
            self.store(place, value, span);
        }
    }

    /// The value as it is now.
    pub(super) fn hold(&mut self, value: Expr, span: Span) -> Expr {
        if let ExprKind::Const(_) = value.kind {
            return value;
        }
        let id = self.temporary(&value.ty);
        let place = self.local_place(id, self.at(span));
        self.store(place, value, span);
        self.read_local(id, self.at(span))
    }

    /// The place that this is now.
    fn hold_place(&mut self, mut place: Place, span: Span) -> Place {
        if let Base::Heap(reference, record) = place.base {
            place.base = Base::Heap(self.hold(*reference, span).into(), record);
        }
        for step in &mut place.path {
            if let Projection::Index { index, .. } = step {
                **index = self.hold((**index).clone(), span);
            }
        }
        place
    }

    fn return_values(&mut self, values: &[ast::Expr], span: Span) {
        if self.expansion.is_some() {
            let values: Option<Vec<_>> = values.iter().map(|v| self.expr(v, None)).collect();
            self.returned = values;
            return;
        }
        let wanted = self.results.clone();
        let produced = match values {
            [one] if self.is_effect(one) => {
                let hint = wanted.first().cloned().flatten();
                match (&strip(one).node, hint) {
                    (ast::ExprKind::Call(..) | ast::ExprKind::Method(..), _) => self.produce(one, wanted.len()),
                    (_, Some(ty)) if wanted.len() == 1 => self.produce_of(one, &ty).map(|v| vec![v]),
                    _ => self.produce(one, wanted.len()),
                }
            }
            _ => {
                let typed: Vec<_> = (values.iter().enumerate())
                    .map(|(i, v)| match wanted.get(i) {
                        Some(Some(ty)) => self.expr_of(v, ty),
                        _ => self.expr(v, None),
                    })
                    .collect();
                typed.into_iter().collect()
            }
        };
        let Some(typed) = produced else { return };
        if typed.len() != wanted.len() {
            let message = format!("this procedure returns {}", super::names::count(wanted.len(), "value"));
            self.error("E0303", span, message, format!("{} given", typed.len())).help =
                Some("say what it returns after the parameters: `proc p() -> int`".into());
            return;
        }
        for (value, ty) in typed.iter().zip(&wanted) {
            if let Some(ty) = ty
                && !self.must_fit(&value.ty, ty, value.span)
            {
                return;
            }
        }
        if self.in_atomic() {
            return self.return_from_atomic(typed, span);
        }
        let typed = self.reduce_all(typed, 1);
        self.push(StmtKind::Return(typed), span);
    }
}

/// Alternatives one after the other up to so many; of more, halves, so that nothing is nested deeply.
const IN_A_ROW: usize = 16;

/// The alternative whose number is chosen; `when` compares it.
pub(super) fn one_of(mut bodies: Vec<(usize, Block)>, when: &dyn Fn(BinaryOp, usize, Block, Block) -> Stmt) -> Block {
    if bodies.len() > IN_A_ROW {
        let upper = bodies.split_off(bodies.len() / 2);
        let middle = upper[0].0;
        return vec![when(BinaryOp::Lt, middle, one_of(bodies, when), one_of(upper, when))];
    }
    let Some((_, last)) = bodies.pop() else { return Block::new() };
    bodies.into_iter().rev().fold(last, |no, (i, yes)| vec![when(BinaryOp::Eq, i, yes, no)])
}
