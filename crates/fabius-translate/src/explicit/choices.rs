//! Choices, and the events that say which alternative is taken.

use super::{Body, Maker, code};
use crate::build::*;
use fabius_lang::program::*;

impl Maker<'_> {
    pub(super) fn choose_bool(&mut self, body: &mut Body, out: &mut Block) -> Expr {
        let b = new_local(&mut body.locals, "choice", Type::Bool);
        out.push(any_between(&b, boolean(false), boolean(true)));
        self.tell(code::CHOICE, if_else(read(&b), number(0), number(1)), out);
        read(&b)
    }

    /// A choice, which is another event if it is among many. If there is only one alternative it is none.
    fn tell_choice(&self, index: Expr, ty: &Type, least: Expr, most: Expr, out: &mut Block) {
        let (mut narrow, mut wide) = (Vec::new(), Vec::new());
        self.tell(code::CHOICE, index.clone(), &mut narrow);
        self.tell(code::WIDE, index, &mut wide);
        if let (ExprKind::Const(Value::Int(least)), ExprKind::Const(Value::Int(most))) = (&least.kind, &most.kind) {
            return match most.wrapping_sub(*least) as u64 {
                0 => {}
                above if above < u64::from(u32::MAX) => out.extend(narrow),
                _ => out.extend(wide),
            };
        }
        let several = binary(BinaryOp::Ne, least.clone(), most.clone());
        if matches!(ty, Type::Int | Type::Fixed { bits: 32 | 64, .. }) {
            let as_int = |e: Expr| expr(ExprKind::Cast(Box::new(e)), Type::Int);
            let above = sub(as_int(most), as_int(least));
            narrow = vec![either(lt(above, number(i64::from(u32::MAX))), narrow, wide)];
        }
        out.push(when(several, narrow));
    }

    /// A value between two others.
    pub(super) fn any(&mut self, s: &Stmt, (p, lo, hi): (&Place, &Expr, &Expr), body: &mut Body, out: &mut Block) {
        let (p, lo, hi) = (self.place(p, body), self.expr(lo, body), self.expr(hi, body));
        self.point(s, body, out);
        self.check_exprs(&[lo.clone(), hi.clone()], s.span, out);
        let ty = if let Type::Range(..) = p.ty { Type::Int } else { p.ty.clone() };
        let value = new_local(&mut body.locals, "choice", ty.clone());
        let mut once = |name: &str, e: Expr| match e.kind {
            ExprKind::Const(_) => e,
            _ => {
                let kept = new_local(&mut body.locals, name, ty.clone());
                out.push(set(&kept, e));
                read(&kept)
            }
        };
        let (least, most) = (once("least", lo), once("most", hi));
        out.push(any_between(&value, least.clone(), most.clone()));
        if self.clock.is_some() {
            let index = self.index_of(&value, &least);
            self.tell_choice(index, &ty, least, most, out);
        }
        self.checked_store(p, read(&value), s.span, out);
    }

    /// Which alternative a chosen value is, counted from the least.
    fn index_of(&self, value: &Place, least: &Expr) -> Expr {
        match &value.ty {
            Type::Int => sub(read(value), least.clone()),
            Type::Bool => if_else(eq(read(value), least.clone()), number(0), number(1)),
            // An enum cannot be computed with: compared with each of its values.
            Type::Enum(e) => {
                let names = self.program.enums[*e].names.len() as i64;
                (0..names)
                    .rev()
                    .fold(number(0), |rest, i| if_else(eq(read(value), constant(i, value.ty.clone())), number(i), rest))
            }
            _ => {
                let as_int = |e: Expr| expr(ExprKind::Cast(Box::new(e)), Type::Int);
                sub(as_int(read(value)), as_int(least.clone()))
            }
        }
    }

    /// The member is any; which one, counted among the members, is the choice.
    pub(super) fn remove_any(&mut self, p: Place, body: &mut Body, out: &mut Block) {
        let Type::Array { len, .. } = p.ty else { unreachable!("a set is an array") };
        let member = new_local(&mut body.locals, "member", Type::Range(0, i64::from(len) - 1));
        out.push(any_between(&member, number(0), number(i64::from(len) - 1)));
        let contains = |i: i64| read(&element(p.clone(), number(i)));
        let one = |i: i64| if_else(contains(i), number(1), number(0));
        let members = (1..i64::from(len)).fold(number(0), |sum, i| add(sum, one(i)));
        let chosen = element(p.clone(), read(&member));
        let none = eq(read(&member), number(0));
        let fits = or(and(none, eq(members.clone(), number(0))), read(&chosen));
        out.push(assume(fits));
        let before = (1..i64::from(len)).fold(number(0), |sum, i| {
            let counts = and(lt(number(i), read(&member)), contains(i));
            add(sum, if_else(counts, number(1), number(0)))
        });
        let mut told = Vec::new();
        self.tell(code::CHOICE, before, &mut told);
        out.push(when(lt(number(1), members), told));
        out.push(set(&chosen, boolean(false)));
    }
}

/// A number that depends on a condition.
fn if_else(c: Expr, then: Expr, otherwise: Expr) -> Expr {
    expr(ExprKind::IfElse(Box::new(c), Box::new(then), Box::new(otherwise)), Type::Int)
}
