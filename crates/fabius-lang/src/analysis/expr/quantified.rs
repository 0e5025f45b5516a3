//! `forall`, `exists`, `count` and `sum`: written out, one expression for each value.

use super::super::access;
use super::super::checker::{Binding, Checker};
use super::super::collections::{Member, MemberValue};
use super::super::constant::{constant, is_integer, widen};
use super::places::extend;
use crate::program::*;
use crate::syntax::ast::{self, Over, Quantifier};
use fabius_trace::Span;
use std::collections::HashMap;

/// Most values that a quantifier goes over.
const MOST_VALUES: i64 = 1 << 12;

/// What the name stands for; of a collection when it is there, and how often if not once.
struct Asked {
    value: Binding,
    member: Option<(Expr, Option<Expr>)>,
}

impl Checker<'_> {
    pub(super) fn quantified(
        &mut self,
        what: Quantifier,
        name: &ast::Name,
        over: &Over,
        body: &ast::Expr,
        span: Span,
    ) -> Option<Expr> {
        let at = self.at(span);
        let values = self.values(over)?;
        let mut parts = Vec::new();
        for (i, Asked { value, member }) in values.into_iter().enumerate() {
            self.scopes.push(HashMap::from([(name.node.clone(), value)]));
            // Whether the next is asked depends on the ones before.
            let decided = member.is_some() || i > 0 && matches!(what, Quantifier::Forall | Quantifier::Exists);
            self.conditional += u32::from(decided);
            let part = match what {
                Quantifier::Sum => self.summand(body),
                _ => self.condition(body),
            };
            self.conditional -= u32::from(decided);
            self.scopes.pop();
            let part = part?;
            let number = |n| constant(Value::Int(n), &Type::Int, at);
            let either = |c: Expr, yes: Expr, no: Expr| Expr {
                ty: widen(&yes.ty),
                kind: ExprKind::IfElse(c.into(), yes.into(), no.into()),
                span: at,
            };
            let both = |op, a: Expr, b: Expr, ty| Expr { kind: ExprKind::Binary(op, a.into(), b.into()), ty, span: at };
            parts.push(match (what, member) {
                (Quantifier::Count, None) => either(part, number(1), number(0)),
                (_, None) => part,
                (Quantifier::Forall, Some((is_there, _))) => {
                    let absent =
                        Expr { kind: ExprKind::Unary(UnaryOp::Not, is_there.into()), ty: Type::Bool, span: at };
                    both(BinaryOp::Or, absent, part, Type::Bool)
                }
                (Quantifier::Exists, Some((is_there, _))) => both(BinaryOp::And, is_there, part, Type::Bool),
                (Quantifier::Count, Some((is_there, times))) => {
                    let found = both(BinaryOp::And, is_there, part, Type::Bool);
                    either(found, times.unwrap_or_else(|| number(1)), number(0))
                }
                (Quantifier::Sum, Some((is_there, times))) => {
                    let ty = widen(&part.ty);
                    let none = constant(Value::Int(0), &ty, at);
                    let value = match times {
                        Some(times) if ty == Type::Int => both(BinaryOp::Mul, part, times, ty),
                        Some(times) => {
                            let times = Expr { kind: ExprKind::Cast(times.into()), ty: ty.clone(), span: at };
                            both(BinaryOp::Mul, part, times, ty)
                        }
                        None => part,
                    };
                    either(is_there, value, none)
                }
            });
        }
        let (op, none) = match what {
            Quantifier::Forall => (BinaryOp::And, constant(Value::Int(1), &Type::Bool, at)),
            Quantifier::Exists => (BinaryOp::Or, constant(Value::Int(0), &Type::Bool, at)),
            Quantifier::Count | Quantifier::Sum => (BinaryOp::Add, constant(Value::Int(0), &Type::Int, at)),
        };
        let ty = parts.first().map_or(none.ty.clone(), |e| widen(&e.ty));
        Some(join(parts, op, &ty, at).unwrap_or(none))
    }

    fn summand(&mut self, e: &ast::Expr) -> Option<Expr> {
        let typed = self.expr(e, None)?;
        if !is_integer(&typed.ty) {
            let shown = self.show(&typed.ty);
            let help = (typed.ty == Type::Bool).then(|| "`count` says how many hold".to_string());
            self.error("E0302", e.span, "`sum` wants an integer", format!("this is of type `{shown}`")).help = help;
            return None;
        }
        Some(typed)
    }

    /// What the name stands for, one after the other.
    fn values(&mut self, over: &Over) -> Option<Vec<Asked>> {
        let Over::Elements(of) = over else { return self.always(over) };
        let (known, before) = (self.diagnostics.len(), self.before);
        let is_collection = !self.cx.collections.is_empty() && {
            let mut ty = None;
            let _ = self.block_of(|c| ty = c.any_expr(of, None).map(|e| e.ty));
            ty.is_some_and(|ty| self.collection_of(&ty).is_some())
        };
        self.diagnostics.truncate(known);
        self.before = before;
        if !is_collection {
            return self.always(over);
        }
        let collection = self.any_expr(of, None)?;
        self.before = before;
        let members = self.members(collection, of.span)?;
        if !self.few(members.len() as i64, of.span) {
            return None;
        }
        let asked = |member: Member| {
            let value = match member.value {
                MemberValue::Is(value) => Binding::Value(value),
                MemberValue::At(place) => Binding::Place(place),
            };
            Asked { value, member: Some((member.is_there, member.times)) }
        };
        Some(members.into_iter().map(asked).collect())
    }

    /// The same of what is always there.
    fn always(&mut self, over: &Over) -> Option<Vec<Asked>> {
        let values = self.bindings(over)?;
        Some(values.into_iter().map(|value| Asked { value, member: None }).collect())
    }

    fn bindings(&mut self, over: &Over) -> Option<Vec<Binding>> {
        let of = match over {
            Over::Range(lo, hi) => {
                let (first, last) = (self.integer(lo), self.integer(hi));
                let (first, last) = (first?, last?);
                return self
                    .few(last.saturating_sub(first).saturating_add(1), lo.span.to(hi.span))
                    .then(|| (first..=last).map(Binding::Number).collect());
            }
            Over::Elements(of) => of,
        };
        if let ast::ExprKind::Name(name) = &of.node
            && !self.scopes.iter().any(|s| s.contains_key(name))
            && !self.cx.global_ids.contains_key(name)
            && let Some(Some(Type::Enum(id))) = self.cx.types.get(name)
        {
            let (ty, at) = (Type::Enum(*id), self.at(of.span));
            let values = 0..self.cx.enums[*id].names.len() as i64;
            return Some(values.map(|n| Binding::Value(constant(Value::Int(n), &ty, at))).collect());
        }
        let array = self.any_expr(of, None)?;
        let Type::Array { lo, len, element, index } = array.ty.clone() else {
            let shown = self.show(&array.ty);
            let message = format!("a value of type `{shown}` has no elements");
            self.error("E0310", of.span, message, "not an array").help =
                Some("name an array, an enum or a range: `0..2`, both ends included".into());
            return None;
        };
        if !self.few(len.into(), of.span) {
            return None;
        }
        match array.kind {
            ExprKind::Const(Value::Tuple(parts)) => {
                Some(parts.into_iter().map(|v| Binding::Value(constant(v, &element, array.span))).collect())
            }
            ExprKind::Read(place) => {
                if !self.one_step && !self.in_atomic() && access::count_in_place(&place, &self.cx.globals) > 0 {
                    let message = "which array this is depends on shared state";
                    self.error("E0401", of.span, message, "would be read again for each element").help =
                        Some("bind it first: `let t = ..;`".into());
                    return None;
                }
                let number =
                    |n: i64| Expr { kind: ExprKind::Const(Value::Int(n)), ty: (*index).clone(), span: place.span };
                let one = |n: i64| {
                    let step = Projection::Index { index: number(n).into(), lo, len };
                    match extend(place.clone(), step, (*element).clone(), place.span).kind {
                        ExprKind::Read(place) => Binding::Place(place),
                        _ => Binding::Error,
                    }
                };
                Some((lo..lo + i64::from(len)).map(one).collect())
            }
            _ => {
                self.error("E0304", of.span, "this value is not stored anywhere", "not a variable").help =
                    Some("bind it first: `let t = ..;`".into());
                None
            }
        }
    }

    fn few(&mut self, values: i64, span: Span) -> bool {
        if values > MOST_VALUES {
            self.error("E0307", span, format!("more than {MOST_VALUES} values"), "too many").help =
                Some("most errors show in small instances; or write a `proc` with a loop".into());
        }
        values <= MOST_VALUES
    }
}

/// All parts with an operator between them, evaluated from left to right; nested no deeper than needed.
fn join(mut parts: Vec<Expr>, op: BinaryOp, ty: &Type, span: Span) -> Option<Expr> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let right = parts.split_off(parts.len() / 2);
    let (left, right) = (join(parts, op, ty, span)?, join(right, op, ty, span)?);
    Some(Expr { kind: ExprKind::Binary(op, left.into(), right.into()), ty: ty.clone(), span })
}
