//! Statements: each is one step, unless it stands inside of `atomic`.

use crate::ast::{DeclaredKind as Kind, Expr, ExprKind, Field, Stmt, StmtKind as Said};
use crate::lower::{Behind, Body, Leaving};
use crate::refusal::{Result, wrong};
use crate::types::Ty;
use fabius_lang::build::*;
use fabius_lang::program as core;
use fabius_lang::program::{Block, Check, Guard, LocalId, Place, StmtKind, Type};
use fabius_trace::Span;
use std::collections::HashMap;

impl Body<'_, '_> {
    pub fn statements(&mut self, block: &[Stmt]) -> Result<()> {
        self.scopes.push(HashMap::new());
        let done = if self.has_labels(block) {
            self.with_labels(block)
        } else {
            block.iter().try_for_each(|s| self.statement(s))
        };
        self.scopes.pop();
        done
    }

    /// A statement in a block of its own.
    pub fn nested(&mut self, s: &Stmt) -> Result<Block> {
        self.block_of(|b| b.statements(std::slice::from_ref(s)))
    }

    pub fn statement(&mut self, s: &Stmt) -> Result<()> {
        let span = s.span;
        let behind = std::mem::replace(&mut self.behind, Behind::Nothing);
        match &s.kind {
            Said::Empty => {
                if behind == Behind::Element {
                    self.push(StmtKind::Skip, span);
                }
                Ok(())
            }
            Said::Block(block) => {
                self.behind = if block.is_empty() { Behind::Nothing } else { behind };
                self.statements(block)
            }
            Said::Local(field) => {
                self.behind = if field.init.is_none() { behind } else { Behind::Nothing };
                self.local_variable(field, span)
            }
            Said::Assign(targets, value) => self.assign(targets, value, span),
            Said::Call(call) => self.call_alone(call),
            Said::Async(call) => self.start(call, span),
            Said::If(condition, yes, no) => {
                let guard = self.guard(condition)?;
                let yes = self.nested(yes)?;
                let no = no.as_ref().map_or(Ok(Block::new()), |no| self.nested(no))?;
                self.push(StmtKind::If(guard, yes, no), span);
                Ok(())
            }
            Said::While(condition, body) => self.repeat(condition, body, span),
            Said::Return(value) => self.return_(value.as_ref(), span),
            Said::Assert(e, message) => self.step(span, |b| {
                let e = b.condition(e)?;
                b.push(StmtKind::Assert(e, Check::Assertion, message.clone()), span);
                Ok(())
            }),
            Said::Assume(e) => self.step(span, |b| {
                let e = b.condition(e)?;
                b.push(StmtKind::Assume(e), span);
                Ok(())
            }),
            Said::Send(channel, message) => self.send(channel, message, span),
            Said::Select(select) => self.select(select, behind, span),
            Said::Foreach(ty, name, of, body) => {
                self.scopes.push(HashMap::new());
                let done = self.foreach(ty.as_ref(), name, of, body, behind, span);
                self.scopes.pop();
                done
            }
            Said::Try(body, handlers) => {
                self.behind = if behind == Behind::Nothing { Behind::Try } else { behind };
                self.try_(body, handlers, span)
            }
            Said::Raise(name) => {
                self.raise(name, span);
                Ok(())
            }
            Said::Goto(label) => self.goto(label),
            Said::Labeled(_, s) => {
                self.behind = behind;
                self.statement(s)
            }
            Said::Atomic(block) if self.in_atomic => {
                self.behind = behind;
                self.statements(block)
            }
            Said::Atomic(block) => {
                self.behind = behind;
                self.atomic(block, span)
            }
        }
    }

    /// A guard: what it looks at is looked at in one step.
    fn guard(&mut self, condition: &Expr) -> Result<Guard> {
        let e = self.condition(condition)?;
        self.looked_at(e, condition.span)
    }

    /// The same for a condition that has been made.
    pub fn looked_at(&mut self, e: core::Expr, span: Span) -> Result<Guard> {
        self.at_beginning = false;
        let accesses = self.accesses(&stmt(StmtKind::Assume(e.clone()), e.span));
        if self.in_atomic || accesses <= 1 {
            return Ok(Guard::Expr(e));
        }
        let held = self.temporary("condition", Type::Bool);
        let place = self.local(held, e.span);
        self.step(e.span, |b| {
            b.set(place.clone(), e, span);
            Ok(())
        })?;
        Ok(Guard::Expr(read(place)))
    }

    fn repeat(&mut self, condition: &Expr, body: &Stmt, span: Span) -> Result<()> {
        self.has_passed_try |= crate::raised::has_try(body);
        let mut guard = None;
        let before = self.block_of(|b| {
            guard = Some(b.guard(condition)?);
            Ok(())
        })?;
        let guard = guard.expect("it has just been made");
        let body = self.nested(body)?;
        if before.is_empty() {
            self.push(StmtKind::While(guard, body), span);
            return Ok(());
        }
        let leave = vec![stmt(StmtKind::Break, span)];
        let mut all = before;
        all.push(stmt(StmtKind::If(guard, Block::new(), leave), condition.span));
        all.extend(body);
        self.push(StmtKind::While(Guard::Expr(boolean(true, span)), all), span);
        Ok(())
    }

    fn local_variable(&mut self, field: &Field, span: Span) -> Result<()> {
        let ty = self.cx.types.named(&field.ty)?;
        let id = self.declare(&field.name, ty.clone())?;
        let Some(init) = &field.init else { return Ok(()) };
        let place = self.local(id, field.name.span);
        self.store(vec![(place, ty)], init, span)
    }

    fn assign(&mut self, targets: &[Expr], value: &Expr, span: Span) -> Result<()> {
        if let ExprKind::Call(..) = value.kind {
            let given = self.call(value, true)?;
            let (result, ty) = given.result.expect("a value is wanted");
            return self.step(span, |b| {
                b.give(given.outs, span)?;
                for target in targets.iter().rev() {
                    let (place, wanted) = b.place(target)?;
                    let value = b.fit(read(b.local(result, span)), &ty, &wanted, value.span)?;
                    b.set(place, value, span);
                }
                Ok(())
            });
        }
        if let [target] = targets {
            let (_, ty) = self.place(target)?;
            if self.changes_set(&ty, value) {
                return self.change_set(target, value, span);
            }
        }
        let places = targets.iter().map(|t| self.place(t)).collect::<Result<Vec<_>>>()?;
        self.store(places, value, span)
    }

    /// Stores a value, in one step.
    fn store(&mut self, mut places: Vec<(Place, Ty)>, value: &Expr, span: Span) -> Result<()> {
        if let ExprKind::Call(..) = value.kind {
            let given = self.call(value, true)?;
            let (result, ty) = given.result.expect("a value is wanted");
            let (place, wanted) = places.remove(0);
            let value = self.fit(read(self.local(result, span)), &ty, &wanted, value.span)?;
            return self.step(span, |b| {
                b.give(given.outs, span)?;
                b.set(place, value, span);
                Ok(())
            });
        }
        self.step(span, |b| {
            let (last, ty) = places.pop().expect("there is a target");
            if places.is_empty() {
                return b.produce(last, &ty, value, span);
            }
            // What is stored in several places is computed once.
            let held = b.temporary("value", last.ty.clone());
            let held = b.local(held, span);
            b.produce(held.clone(), &ty, value, span)?;
            b.set(last, read(held.clone()), span);
            for (place, wanted) in places.into_iter().rev() {
                let value = b.fit(read(held.clone()), &ty, &wanted, value.span)?;
                b.set(place, value, span);
            }
            Ok(())
        })
    }

    /// What stands behind `=`, for a place.
    fn produce(&mut self, place: Place, ty: &Ty, value: &Expr, span: Span) -> Result<()> {
        match &value.kind {
            ExprKind::New(name) => {
                let made = self.cx.types.named(name)?;
                if made != *ty {
                    let (made, ty) = (self.cx.types.show(&made), self.cx.types.show(ty));
                    return Err(wrong(value.span, format!("`{ty}` is expected, and this is `{made}`")));
                }
                let (Ty::Object(record) | Ty::Array(record) | Ty::Chan(record) | Ty::Set(record)) = made else {
                    return Err(wrong(value.span, "only objects, arrays, sets and channels are made by `new`"));
                };
                if self.cx.file.types.iter().any(|d| d.name.text == name.text && matches!(d.kind, Kind::Array(None, _)))
                {
                    return Err(wrong(value.span, format!("how many elements this `{}` has is not said", name.text))
                        .help(format!("write `new {}[4]`", name.text)));
                }
                self.make(place, record, span);
            }
            ExprKind::NewArray(name, len) => {
                let made = self.cx.types.named(name)?;
                if made != *ty {
                    let (made, ty) = (self.cx.types.show(&made), self.cx.types.show(ty));
                    return Err(wrong(value.span, format!("`{ty}` is expected, and this is `{made}`")));
                }
                self.make_array(place, name, len, span)?;
            }
            ExprKind::Choose(of) => {
                let name = match &of.kind {
                    ExprKind::Name(name) if !self.is_variable(name) => name,
                    _ => return self.choose_member(place, ty, of, span),
                };
                let (lo, hi, chosen) = self.cx.types.choice(name, of.span)?;
                let number = |b: &Self, n: i64| constant(n, b.cx.types.core(&chosen), value.span);
                let (lo, hi) = (number(self, lo), number(self, hi));
                if chosen == *ty {
                    self.push(StmtKind::Any(place, lo, hi), span);
                    return Ok(());
                }
                let held = self.temporary("choice", lo.ty.clone());
                let held = self.local(held, span);
                self.push(StmtKind::Any(held.clone(), lo, hi), span);
                let value = self.fit(read(held), &chosen, ty, value.span)?;
                self.set(place, value, span);
            }
            _ => {
                let value = self.value_of(value, ty)?;
                self.set(place, value, span);
            }
        }
        Ok(())
    }

    fn return_(&mut self, value: Option<&Expr>, span: Span) -> Result<()> {
        let value = match (value, self.result.clone()) {
            (None, None) => None,
            (Some(e), Some(ty)) => Some((self.value_of(e, &ty)?, ty)),
            (Some(e), None) => return Err(wrong(e.span, "the method is `void`")),
            (None, Some(_)) => return Err(wrong(span, "the method returns a value")),
        };
        if self.leaves {
            self.marks.returned = true;
            let Leaving { left, value: to } = self.leaving(&value);
            if let (Some((value, _)), Some(to)) = (value, to) {
                let place = self.local(to, span);
                self.set(place, value, span);
            }
            self.set_number(left, 1, span);
            self.push(StmtKind::Return(Vec::new()), span);
            return Ok(());
        }
        let value = match value {
            Some((value, ty)) if !self.in_atomic && self.is_shared(&value) => {
                let held = self.temporary("result", self.cx.types.core(&ty));
                let place = self.local(held, span);
                self.step(span, |b| {
                    b.set(place.clone(), value, span);
                    Ok(())
                })?;
                Some(read(place))
            }
            other => other.map(|(value, _)| value),
        };
        let values = self.returned(value, span);
        self.push(StmtKind::Return(values), span);
        Ok(())
    }

    /// All that a method returns: what `out` parameters are, its value, and that it raises nothing.
    pub fn returned(&mut self, value: Option<core::Expr>, span: Span) -> Vec<core::Expr> {
        let mut values: Vec<core::Expr> = self.outs.iter().map(|id| read(self.local(*id, span))).collect();
        values.extend(value);
        if self.gives_exception {
            values.push(constant(0, self.exception_type(), span));
        }
        values
    }

    /// The same of a method that an exception leaves.
    pub fn nothing_returned(&mut self, span: Span) -> Vec<core::Expr> {
        let result = self.result.as_ref().map(|ty| self.cx.types.core(ty));
        let types = self.outs.iter().map(|id| self.locals[*id].ty.clone()).chain(result);
        let nothing = |ty: Type| {
            let kind = core::ExprKind::Const(ty.default_value(&self.cx.types.records));
            core::Expr { kind, ty, span }
        };
        types.map(nothing).collect()
    }

    fn leaving(&mut self, value: &Option<(core::Expr, Ty)>) -> Leaving {
        if let Some(leaving) = self.leaving {
            return leaving;
        }
        let left = self.temporary("leaves", Type::Bool);
        let ty = value.as_ref().map(|(_, ty)| self.cx.types.core(ty));
        let value: Option<LocalId> = ty.map(|ty| self.temporary("result", ty));
        *self.leaving.insert(Leaving { left, value })
    }

    /// An atomic block; behind it what its `return`s and exceptions lead to.
    pub fn atomic(&mut self, block: &[Stmt], span: Span) -> Result<()> {
        (self.in_atomic, self.at_beginning) = (true, true);
        let make = |b: &mut Self| {
            let done = b.statements(block);
            (b.in_atomic, b.at_beginning) = (false, false);
            done
        };
        let marks = self.region(span, make, |b, body, _| {
            if !body.is_empty() {
                b.push(StmtKind::Atomic(body), span);
            }
        })?;
        self.jumps_on(marks, span)?;
        if marks.raised { self.passes_on(span) } else { Ok(()) }
    }
}
