//! Signed results that do not fit their type, where that is asked about: sums, differences, products, quotients, negation,
//! and what is shifted to the left.

use crate::core::*;
use crate::lower::Lower;
use crate::places::Value;
use crate::property::Property;
use crate::refusal::Result;
use crate::types::CType;
use fabius_lang::program::{BinaryOp, Check, Expr, Type};
use fabius_trace::Span;
use lang_c::ast::BinaryOperator as Op;

const WORDS: &str = "a signed result does not fit its type";

/// The least and the greatest value of a signed type.
fn range(bits: u8) -> (i64, i64) {
    let most = i64::MAX >> (64 - bits);
    (-most - 1, most)
}

impl Lower<'_, '_> {
    /// Operands of an atomic operation whose result wraps: without a sign (C11 7.17.7.5).
    pub fn wrapping(&mut self, op: &Op, a: Value, b: Value, span: Span) -> Result<(Value, Value)> {
        let wraps = matches!(op, Op::Plus | Op::Minus | Op::Multiply) && a.ty.is_integer() && b.ty.is_integer();
        let asked = self.options.overflow || self.options.property == Some(Property::NoOverflow);
        if !wraps || !asked {
            return Ok((a, b));
        }
        let wide = CType::Int { bits: 64, signed: false };
        Ok((self.convert(a, &wide, span)?, self.convert(b, &wide, span)?))
    }

    fn looks_for_overflow(&self, e: &Expr) -> Option<u8> {
        let asked = self.options.overflow || self.options.property == Some(Property::NoOverflow);
        match e.ty {
            Type::Fixed { bits, signed: true } if asked => Some(bits),
            _ => None,
        }
    }

    /// Both operands, which can be used many times; a check in front says that their result fits.
    pub(super) fn without_overflow(&mut self, op: BinaryOp, a: Value, b: Value, span: Span) -> (Value, Value) {
        let Some(bits) = self.looks_for_overflow(&a.parts[0]) else { return (a, b) };
        if !matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem) {
            return (a, b);
        }
        let (x, y) = (self.simple(a.parts[0].clone()), self.simple(b.parts[0].clone()));
        let fits = signed_fits(op, bits, &x, &y, span);
        self.check(fits, Check::Overflow, WORDS, span);
        (Value { parts: vec![x], ..a }, Value { parts: vec![y], ..b })
    }

    /// What is shifted to the left and by how much, as above.
    pub(super) fn shiftable(&mut self, a: Value, by: Value, span: Span) -> (Value, Value) {
        let Some(bits) = self.looks_for_overflow(&a.parts[0]) else { return (a, by) };
        let (x, n) = (self.simple(a.parts[0].clone()), self.simple(by.parts[0].clone()));
        let number = |n: i64| constant(n, x.ty.clone(), span);
        // Without a sign less than nothing is a lot.
        let amount = cast(n.clone(), &WORD);
        let some = binary(BinaryOp::Lt, amount, constant(i64::from(bits), WORD, span));
        self.check(some, Check::Bound, "a shift by more than the width of the type", span);
        let back = binary(BinaryOp::Shr, binary(BinaryOp::Shl, x.clone(), n.clone()), n.clone());
        let fits = or(binary(BinaryOp::Eq, x.clone(), number(0)), binary(BinaryOp::Eq, back, x.clone()));
        self.check(fits, Check::Overflow, WORDS, span);
        (Value { parts: vec![x], ..a }, Value { parts: vec![n], ..by })
    }

    /// The operand of a minus.
    pub fn negatable(&mut self, v: Value, span: Span) -> Value {
        let Some(bits) = self.looks_for_overflow(&v.parts[0]) else { return v };
        let x = self.simple(v.parts[0].clone());
        let (least, _) = range(bits);
        let fits = binary(BinaryOp::Ne, x.clone(), constant(least, x.ty.clone(), span));
        self.check(fits, Check::Overflow, WORDS, span);
        Value { parts: vec![x], ..v }
    }
}

/// Whether the result of signed numbers of so many bits is one of them.
fn signed_fits(op: BinaryOp, bits: u8, x: &Expr, y: &Expr, span: Span) -> Expr {
    match op {
        BinaryOp::Div | BinaryOp::Rem => {
            let (least, _) = range(bits);
            let first = binary(BinaryOp::Eq, x.clone(), constant(least, x.ty.clone(), span));
            let second = binary(BinaryOp::Eq, y.clone(), constant(-1, y.ty.clone(), span));
            not(and(first, second))
        }
        _ if bits < 64 => {
            let exact = binary(op, cast(x.clone(), &ADDRESS), cast(y.clone(), &ADDRESS));
            is_between(exact, range(bits), span)
        }
        BinaryOp::Mul => product_fits(x, y, span),
        // A sum overflows if both have one sign, and it has the other one; a difference if they have two.
        _ => {
            let zero = constant(0, x.ty.clone(), span);
            let sum = binary(op, x.clone(), y.clone());
            let moved = binary(BinaryOp::BitXor, x.clone(), sum);
            let other = if op == BinaryOp::Add {
                binary(BinaryOp::BitXor, y.clone(), binary(op, x.clone(), y.clone()))
            } else {
                binary(BinaryOp::BitXor, x.clone(), y.clone())
            };
            binary(BinaryOp::Ge, binary(BinaryOp::BitAnd, moved, other), zero)
        }
    }
}

/// Whether a number of 64 bits is between two others.
pub(super) fn is_between(e: Expr, (least, most): (i64, i64), span: Span) -> Expr {
    let above = binary(BinaryOp::Le, constant(least, e.ty.clone(), span), e.clone());
    and(above, binary(BinaryOp::Le, e.clone(), constant(most, e.ty, span)))
}

/// Whether the exact result of two integers is a number of this width and sign; none if that is not known how to tell.
pub(super) fn result_fits(op: BinaryOp, x: &Expr, y: &Expr, to: &Type, span: Span) -> Option<Expr> {
    let Type::Fixed { bits, signed } = to.clone() else { return None };
    let shape = |e: &Expr| match e.ty {
        Type::Fixed { bits, signed } => Some((bits, signed)),
        _ => None,
    };
    // A constant that is not negative has either sign.
    let may_be_negative = |e: &Expr, signed: bool| signed && value_of(e).is_none_or(|n| n < 0);
    let ((a, a_signed), (b, b_signed)) = (shape(x)?, shape(y)?);
    let in_words = |op: BinaryOp, x: Expr, y: Expr| binary(op, cast(x, &WORD), cast(y, &WORD));
    if a < 64 && b < 64 {
        let most = if bits == 64 { i64::MAX } else { (1 << (bits - u8::from(signed))) - 1 };
        let least = if signed { -most - 1 } else { 0 };
        if !a_signed && !b_signed && op == BinaryOp::Mul {
            let product = in_words(op, x.clone(), y.clone());
            let all = bits == 64 && !signed;
            return Some(if all {
                boolean(true, span)
            } else {
                binary(BinaryOp::Le, product, constant(most, WORD, span))
            });
        }
        let exact = binary(op, cast(x.clone(), &ADDRESS), cast(y.clone(), &ADDRESS));
        return Some(is_between(exact, (least, most), span));
    }
    let has_room =
        |e: &Expr, width: u8, sign: bool| if signed { width < 64 || sign } else { !may_be_negative(e, sign) };
    if bits < 64 || !has_room(x, a, a_signed) || !has_room(y, b, b_signed) {
        return None;
    }
    let (x, y) = (cast(x.clone(), to), cast(y.clone(), to));
    if signed {
        return Some(signed_fits(op, 64, &x, &y, span));
    }
    Some(match op {
        BinaryOp::Add => binary(BinaryOp::Le, x.clone(), binary(op, x, y)),
        BinaryOp::Sub => binary(BinaryOp::Le, y, x),
        _ => {
            let is_zero = binary(BinaryOp::Eq, y.clone(), constant(0, to.clone(), span));
            let safe = if_else(is_zero.clone(), constant(1, to.clone(), span), y.clone());
            or(is_zero, binary(BinaryOp::Eq, binary(BinaryOp::Div, binary(op, x.clone(), y), safe), x))
        }
    })
}

/// Whether a product of 64 bits is exact: by division, which cannot overflow itself.
fn product_fits(x: &Expr, y: &Expr, span: Span) -> Expr {
    let number = |n: i64| constant(n, x.ty.clone(), span);
    let is = |e: &Expr, n: i64| binary(BinaryOp::Eq, e.clone(), number(n));
    let minus = or(and(is(x, -1), is(y, i64::MIN)), and(is(y, -1), is(x, i64::MIN)));
    let safe = if_else(or(is(y, 0), is(y, -1)), number(1), y.clone());
    let product = binary(BinaryOp::Mul, x.clone(), y.clone());
    let back = binary(BinaryOp::Div, product, safe);
    let exact = or(or(is(y, 0), is(y, -1)), binary(BinaryOp::Eq, back, x.clone()));
    and(not(minus), exact)
}
