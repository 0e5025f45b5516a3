//! Sets: references to elements in a row, without gaps. Of numbers the least is first, as it is for ZING; what does not hold any
//! more is as if it never did.

use crate::ast::{Expr, ExprKind};
use crate::lower::Body;
use crate::refusal::{Result, unsupported, wrong};
use crate::types::{ITEMS, SIZE, Ty};
use fabius_lang::build::*;
use fabius_lang::program as core;
use fabius_lang::program::{BinaryOp, Block, Check, Guard, Place, RecordId, StmtKind, Type};
use fabius_trace::Span;

/// A set: a reference to it, its record, what its elements are.
struct Set {
    object: core::Expr,
    record: RecordId,
    element: Ty,
    room: u32,
}

impl Body<'_, '_> {
    fn set_of(&mut self, e: &Expr) -> Result<Set> {
        let (object, ty) = self.value(e)?;
        let Ty::Set(record) = ty else {
            return Err(wrong(e.span, format!("a set is expected, and this is `{}`", self.cx.types.show(&ty))));
        };
        let (element, room) = self.cx.types.elements[&record].clone();
        Ok(Set { object, record, element, room })
    }

    /// What may be in a set, and not only by losing bits.
    fn member(&mut self, e: &Expr, set: &Set) -> Result<(core::Expr, Ty)> {
        let (value, ty) = self.value(e)?;
        self.same_type(value, &ty, set, e.span)
    }

    fn same_type(&self, value: core::Expr, ty: &Ty, set: &Set, span: Span) -> Result<(core::Expr, Ty)> {
        if *ty != Ty::Null && *ty != set.element {
            let (ty, element) = (self.cx.types.show(ty), self.cx.types.show(&set.element));
            return Err(wrong(span, format!("the set is of `{element}`, and this is `{ty}`")));
        }
        Ok((self.fit(value, ty, &set.element, span)?, set.element.clone()))
    }

    fn number(&self, n: i64, span: Span) -> core::Expr {
        constant(n, Type::Int, span)
    }

    fn count_of(&self, set: &Set, span: Span) -> core::Expr {
        cast(read(self.field_of(set.object.clone(), set.record, SIZE, span)), &Type::Int)
    }

    /// How many elements are such, of those that are in.
    fn how_many(&self, set: &Set, is: impl Fn(core::Expr) -> core::Expr, span: Span) -> core::Expr {
        let each = (0..set.room).map(|k| {
            let k = self.number(i64::from(k), span);
            let there = binary(BinaryOp::Lt, k.clone(), self.count_of(set, span));
            let such = and(there, is(read(self.slot(&set.object, set.record, k, span))));
            if_else(such, self.number(1, span), self.number(0, span))
        });
        each.reduce(|a, b| binary(BinaryOp::Add, a, b)).unwrap_or(self.number(0, span))
    }

    fn holds(&self, set: &Set, e: &core::Expr, span: Span) -> core::Expr {
        let count = self.how_many(set, |x| binary(BinaryOp::Eq, x, e.clone()), span);
        binary(BinaryOp::Gt, count, self.number(0, span))
    }

    /// `e in s`.
    pub fn is_in(&mut self, e: &Expr, set: &Expr, span: Span) -> Result<core::Expr> {
        let set = self.set_of(set)?;
        let e = self.member(e, &set)?.0;
        Ok(core::Expr { span, ..self.holds(&set, &e, span) })
    }

    /// By what elements are in order: their numbers; objects have none, and new ones come last.
    fn before(&self, element: &Ty, x: core::Expr, y: &core::Expr, span: Span) -> core::Expr {
        let number = |e: core::Expr| match element {
            Ty::Bool => if_else(e, self.number(1, span), self.number(0, span)),
            Ty::Enum(n) => {
                let last = self.cx.types.enums[*n].names.len() as i64 - 1;
                (0..last).rev().fold(self.number(last, span), |rest, v| {
                    let is = binary(BinaryOp::Eq, e.clone(), constant(v, Type::Enum(*n), span));
                    if_else(is, self.number(v, span), rest)
                })
            }
            _ => e,
        };
        match element {
            Ty::Int | Ty::Number(..) | Ty::Bool | Ty::Enum(_) => binary(BinaryOp::Lt, number(x), number(y.clone())),
            _ => boolean(true, span),
        }
    }

    fn local_of(&mut self, name: &str, value: core::Expr, span: Span) -> core::Expr {
        let id = self.temporary(name, value.ty.clone());
        let place = self.local(id, span);
        self.set(place.clone(), value, span);
        read(place)
    }

    /// Whether this stores what a set is with or without something: `s = s + e`, `s = e + s`, `s = s - e`.
    pub fn changes_set(&self, ty: &Ty, value: &Expr) -> bool {
        matches!(ty, Ty::Set(_)) && matches!(value.kind, ExprKind::Binary("+" | "-", ..))
    }

    /// Puts something into a set, or takes it out, in one step: the set itself changes, for all who have it.
    pub fn change_set(&mut self, target: &Expr, value: &Expr, span: Span) -> Result<()> {
        let ExprKind::Binary(sign, a, b) = &value.kind else { return Err(wrong(value.span, "no change of a set")) };
        let e = match (*sign, same(target, a), same(target, b)) {
            (_, true, _) => b,
            ("+", _, true) => a,
            _ => {
                return Err(unsupported(value.span, "a new set of two")
                    .help("a set changes itself: `s = s + e;`, `s = s - e;`, also by all of another set"));
            }
        };
        self.step(span, |body| {
            let set = body.set_of(target)?;
            let object = body.local_of("set", set.object.clone(), span);
            let set = Set { object, ..set };
            let (e, ty) = body.value(e).and_then(|(value, ty)| match (&ty, &set.element) {
                (Ty::Set(r), _) if *r == set.record => Ok((value, ty)),
                _ => body.same_type(value, &ty, &set, e.span),
            })?;
            let e = body.local_of("element", e, span);
            if ty == set.element {
                body.change(sign, &set, e, span);
                return Ok(());
            }
            let other = Set { object: e, record: set.record, element: set.element.clone(), room: set.room };
            if *sign == "-" {
                let differ = binary(BinaryOp::Ne, set.object.clone(), other.object.clone());
                let empty = binary(BinaryOp::Eq, body.count_of(&set, span), body.number(0, span));
                let said = "a set that is taken from itself".to_string();
                body.push(StmtKind::Assert(or(differ, empty), Check::Assertion, Some(said)), span);
            }
            let at = body.local_of("at", body.number(0, span), span);
            let core::ExprKind::Read(counter) = &at.kind else { unreachable!("it is read") };
            let inner = body.block_of(|body| {
                let x = body.local_of("element", read(body.slot(&other.object, other.record, at.clone(), span)), span);
                body.change(sign, &set, x, span);
                body.set(counter.clone(), binary(BinaryOp::Add, at.clone(), body.number(1, span)), span);
                Ok(())
            })?;
            let more = Guard::Expr(binary(BinaryOp::Lt, at.clone(), body.count_of(&other, span)));
            body.push(StmtKind::While(more, inner), span);
            Ok(())
        })
    }

    fn change(&mut self, sign: &str, set: &Set, e: core::Expr, span: Span) {
        let is_in = self.local_of("in", self.holds(set, &e, span), span);
        let (guard, block) = if sign == "+" {
            (not(is_in), self.block_of(|b| b.put(set, &e, span)))
        } else {
            (is_in, self.block_of(|b| b.take_out(set, &e, span)))
        };
        self.push(StmtKind::If(Guard::Expr(guard), block.expect("nothing is refused"), Block::new()), span);
    }

    fn size_place(&self, set: &Set, span: Span) -> Place {
        self.field_of(set.object.clone(), set.record, SIZE, span)
    }

    fn put(&mut self, set: &Set, e: &core::Expr, span: Span) -> Result<()> {
        let count = self.count_of(set, span);
        let room = self.number(i64::from(set.room), span);
        let said = format!("more than {} elements in a set (`-DROOM=N`)", set.room);
        self.push(StmtKind::Assert(binary(BinaryOp::Lt, count.clone(), room), Check::Bound, Some(said)), span);
        let place = self.how_many(set, |x| self.before(&set.element, x, e, span), span);
        let place = self.local_of("place", place, span);
        let items = (0..set.room).map(|k| {
            let at = |n: u32| read(self.slot(&set.object, set.record, self.number(i64::from(n), span), span));
            let here = self.number(i64::from(k), span);
            let is_here = binary(BinaryOp::Eq, here.clone(), place.clone());
            let later = if k == 0 { at(0) } else { at(k - 1) };
            let rest = if_else(binary(BinaryOp::Lt, here, place.clone()), at(k), later);
            if_else(is_here, e.clone(), rest)
        });
        self.store_items(set, items.collect(), span);
        self.set(self.size_place(set, span), binary(BinaryOp::Add, count, self.number(1, span)), span);
        Ok(())
    }

    fn take_out(&mut self, set: &Set, e: &core::Expr, span: Span) -> Result<()> {
        let count = self.count_of(set, span);
        let at = |b: &Self, n: u32| read(b.slot(&set.object, set.record, b.number(i64::from(n), span), span));
        let element = self.cx.types.core(&set.element);
        let none = element.default_value(&self.cx.types.records);
        let none = core::Expr { kind: core::ExprKind::Const(none), ty: element, span };
        // Where it is: no element is in twice.
        let place = (0..set.room).rev().fold(self.number(0, span), |rest, k| {
            let there = binary(BinaryOp::Lt, self.number(i64::from(k), span), count.clone());
            let is = and(there, binary(BinaryOp::Eq, at(self, k), e.clone()));
            if_else(is, self.number(i64::from(k), span), rest)
        });
        let place = self.local_of("place", place, span);
        let items = (0..set.room).map(|k| {
            let next = if k + 1 == set.room { none.clone() } else { at(self, k + 1) };
            if_else(binary(BinaryOp::Lt, self.number(i64::from(k), span), place.clone()), at(self, k), next)
        });
        self.store_items(set, items.collect(), span);
        self.set(self.size_place(set, span), binary(BinaryOp::Sub, count, self.number(1, span)), span);
        Ok(())
    }

    fn store_items(&mut self, set: &Set, items: Vec<core::Expr>, span: Span) {
        let place = self.field_of(set.object.clone(), set.record, ITEMS, span);
        let items = core::Expr { kind: core::ExprKind::Tuple(items), ty: place.ty.clone(), span };
        self.set(place, items, span);
    }
}

/// Whether two expressions are the same variable.
fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Name(a), ExprKind::Name(b)) => a == b,
        (ExprKind::This, ExprKind::This) => true,
        (ExprKind::Member(a, f), ExprKind::Member(b, g)) => f.text == g.text && same(a, b),
        _ => false,
    }
}
