//! Conversions: promotions, the usual arithmetic ones, truth (C11 6.3).

use super::{Ex, as_int};
use crate::core::*;
use crate::lower::Lower;
use crate::places::Value;
use crate::refusal::{Result, unsupported, wrong};
use crate::types::{CType, INT};
use fabius_lang::program::{Expr, Type};
use fabius_trace::Span;

impl<'a> Lower<'a, '_> {
    /// A value at another type, as assigned or cast.
    pub fn convert(&mut self, v: Value, to: &CType, span: Span) -> Result<Value> {
        let to = to.plain().clone();
        let refuse = |s: &Self| {
            let (a, b) = (s.types().show(&v.ty), s.types().show(&to));
            unsupported(span, format!("a `{a}` does not become a `{b}`"))
        };
        if to == CType::Void {
            return Ok(Value::void());
        }
        let Some(e) = v.parts.first().cloned().filter(|_| v.ty.is_scalar()) else {
            return if v.ty == to { Ok(v) } else { refuse(self) };
        };
        if v.ty.is_pointer() && !to.is_pointer() {
            self.is_known_pointer(&e, span);
        }
        if let (Some(from), Some(target)) = (v.ty.pointee().cloned(), to.pointee()) {
            self.is_seen_as(&from, target);
        }
        // A pointer to a struct becomes one to what it begins with.
        if let (Some(from), Some(target)) = (v.ty.pointee(), to.pointee())
            && let Some(way) = self.first_part(from, target)
        {
            self.found.derived.insert((from.clone(), way));
        }
        let out = match (&v.ty, &to) {
            (from @ CType::Float(_), CType::Float(_)) => self.rounded(e, from, &to, span)?,
            (from @ (CType::Int { .. } | CType::Bool), CType::Float(_)) => {
                self.number_from(as_int(e), from, &to, span)?
            }
            (CType::Float(_), CType::Int { .. } | CType::Bool) => self.integer_from(e, &to, span)?,
            (CType::Float(_), _) => return refuse(self),
            (CType::Thread, CType::Thread) | (CType::Waiters, CType::Waiters) => e,
            (CType::Int { .. }, CType::Thread) if value_of(&e) == Some(0) => constant(0, Type::Thread, span),
            (CType::Thread, _) | (_, CType::Thread) => return refuse(self),
            (_, CType::Bool) => if_else(truth(e), constant(1, to.core(), span), constant(0, to.core(), span)),
            (_, CType::Int { .. } | CType::Pointer(_)) if e.ty == Type::Bool => {
                if_else(e, constant(1, to.core(), span), constant(0, to.core(), span))
            }
            (_, CType::Int { .. } | CType::Pointer(_)) => cast(e, &to.core()),
            _ => return refuse(self),
        };
        Ok(Value::scalar(out, to))
    }

    /// What is read for a value that does not matter is read all the same.
    pub(super) fn read_anyway(&mut self, e: &Expr) {
        if value_of(e).is_none() {
            self.keep_unless_temporary(e);
        }
    }

    /// Integer promotion.
    pub fn promoted(&mut self, v: Value, e: &Ex) -> Result<Value> {
        match v.ty {
            CType::Int { bits, .. } if bits >= 32 => {
                let e = v.parts[0].clone();
                Ok(if e.ty == Type::Bool { Value::scalar(as_int(e), INT) } else { v })
            }
            CType::Int { .. } | CType::Bool => self.convert(v, &INT, self.span(e.span)),
            _ => {
                let words = format!("a `{}` is no integer", self.types().show(&v.ty));
                unsupported(self.span(e.span), words)
            }
        }
    }

    /// The usual arithmetic conversions.
    pub(super) fn common(&mut self, a: Value, b: Value, span: Span) -> Result<(Value, Value, CType)> {
        let rank = |v: &Value| match v.ty {
            CType::Int { bits, signed } => (bits, !signed),
            _ => (32, false),
        };
        let (bits, unsigned) = rank(&a).max(rank(&b));
        let ty = CType::Int { bits, signed: !unsigned };
        Ok((self.convert(a, &ty, span)?, self.convert(b, &ty, span)?, ty))
    }

    /// The value as a Boolean.
    pub fn condition(&mut self, e: &'a Ex) -> Result<Expr> {
        let v = self.value(e)?;
        self.truth_of(&v, self.span(e.span))
    }

    pub fn truth_of(&mut self, v: &Value, span: Span) -> Result<Expr> {
        match v.parts.first() {
            Some(e) if v.ty.is_float() => self.truth_of_number(e.clone(), span),
            Some(e) if v.ty.is_scalar() => {
                if v.ty.is_pointer() {
                    self.is_known_pointer(e, span);
                }
                Ok(truth(e.clone()))
            }
            _ => wrong(span, "a condition is a number or a pointer"),
        }
    }

    pub(super) fn promote(&mut self, v: Value, span: Span) -> Result<Value> {
        match v.ty {
            CType::Int { bits, .. } if bits >= 32 && v.parts[0].ty != Type::Bool => Ok(v),
            _ => self.convert(v, &INT, span),
        }
    }

    /// The type of `c ? a : b`, which is the same whatever `c` is.
    pub(super) fn type_of_either(&mut self, a: &Value, b: &Value, span: Span) -> Result<CType> {
        let null = |v: &Value| v.parts.first().and_then(value_of) == Some(0);
        Ok(match (&a.ty, &b.ty) {
            (CType::Void, _) | (_, CType::Void) => CType::Void,
            (x, y) if x.is_integer() && y.is_integer() => {
                let (x, y) = (self.promote(a.clone(), span)?, self.promote(b.clone(), span)?);
                self.common(x, y, span)?.2
            }
            (CType::Float(x), CType::Float(y)) => CType::Float(*x.max(y)),
            (x @ CType::Float(_), y) | (y, x @ CType::Float(_)) if y.is_integer() => x.clone(),
            (x, _) if x.is_pointer() && !(null(a) && b.ty.is_pointer()) => x.clone(),
            (_, y) => y.clone(),
        })
    }
}
