//! Values of constant expressions, and how numbers are coded by type.

use crate::program::{BinaryOp, Expr, ExprKind, Type, UnaryOp, Value};
use fabius_trace::Span;

/// Why an expression has no value at compile time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoValue {
    /// It reads a variable, or asks for the running thread.
    NotConstant(Span),
    /// It divides by zero, leaves 64 bits or leaves a range; the text says which.
    Wrong(Span, &'static str),
}

/// The value of a typed expression that reads nothing.
pub(super) fn evaluate(e: &Expr) -> Result<Value, NoValue> {
    Ok(match &e.kind {
        ExprKind::Const(v) => v.clone(),
        ExprKind::Unary(op, a) => Value::Int(unary(*op, number(a)?, &e.ty).map_err(|why| NoValue::Wrong(e.span, why))?),
        ExprKind::Binary(BinaryOp::And, a, b) => Value::Int(if number(a)? == 0 { 0 } else { number(b)? as i64 }),
        ExprKind::Binary(BinaryOp::Or, a, b) => Value::Int(if number(a)? != 0 { 1 } else { number(b)? as i64 }),
        ExprKind::Binary(BinaryOp::Eq, a, b) => Value::Int((evaluate(a)? == evaluate(b)?) as i64),
        ExprKind::Binary(BinaryOp::Ne, a, b) => Value::Int((evaluate(a)? != evaluate(b)?) as i64),
        ExprKind::Binary(op, a, b) => {
            Value::Int(binary(*op, number(a)?, number(b)?, &e.ty).map_err(|why| NoValue::Wrong(e.span, why))?)
        }
        ExprKind::IfElse(c, a, b) => evaluate(if number(c)? != 0 { a } else { b })?,
        ExprKind::Tuple(parts) => Value::Tuple(parts.iter().map(evaluate).collect::<Result<_, _>>()?),
        ExprKind::Cast(a) => Value::Int(encode(number(a)?, &e.ty).map_err(|why| NoValue::Wrong(e.span, why))?),
        ExprKind::Read(_) | ExprKind::SelfHandle | ExprKind::SetContains(..) | ExprKind::SetIsEmpty(_) => {
            return Err(NoValue::NotConstant(e.span));
        }
    })
}

/// The number that a scalar expression stands for.
fn number(e: &Expr) -> Result<i128, NoValue> {
    match evaluate(e)? {
        Value::Int(code) => Ok(decode(code, &e.ty)),
        Value::Tuple(_) => Err(NoValue::NotConstant(e.span)),
    }
}

/// The number that a code stands for: `u64` is coded by its bit pattern, everything else by itself.
pub(super) fn decode(code: i64, ty: &Type) -> i128 {
    match ty {
        Type::Fixed { bits: 64, signed: false } => code as u64 as i128,
        _ => code as i128,
    }
}

/// The code of a number in a type: wraps for fixed widths, checks for ranges and for `int` in 64 bits.
fn encode(n: i128, ty: &Type) -> Result<i64, &'static str> {
    match ty {
        Type::Fixed { bits, signed } => Ok(wrap(n, *bits, *signed)),
        Type::Range(lo, hi) if n < *lo as i128 || n > *hi as i128 => Err("is outside its range"),
        _ => i64::try_from(n).map_err(|_| "does not fit into 64 bits"),
    }
}

fn wrap(n: i128, bits: u8, signed: bool) -> i64 {
    match (bits, signed) {
        (8, true) => n as i8 as i64,
        (8, false) => n as u8 as i64,
        (16, true) => n as i16 as i64,
        (16, false) => n as u16 as i64,
        (32, true) => n as i32 as i64,
        (32, false) => n as u32 as i64,
        _ => n as i64,
    }
}

fn unary(op: UnaryOp, a: i128, ty: &Type) -> Result<i64, &'static str> {
    encode(
        match op {
            UnaryOp::Not => (a == 0) as i128,
            UnaryOp::Neg => -a,
            UnaryOp::BitNot => !a,
        },
        ty,
    )
}

fn binary(op: BinaryOp, a: i128, b: i128, ty: &Type) -> Result<i64, &'static str> {
    let bits = if let Type::Fixed { bits, .. } = ty { *bits as i128 } else { 64 };
    let n = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div | BinaryOp::Rem if b == 0 => return Err("divides by zero"),
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::Shl => a << b.rem_euclid(bits),
        BinaryOp::Shr => a >> b.rem_euclid(bits),
        BinaryOp::Eq => (a == b) as i128,
        BinaryOp::Ne => (a != b) as i128,
        BinaryOp::Lt => (a < b) as i128,
        BinaryOp::Le => (a <= b) as i128,
        BinaryOp::Gt => (a > b) as i128,
        BinaryOp::Ge => (a >= b) as i128,
        BinaryOp::And => (a != 0 && b != 0) as i128,
        BinaryOp::Or => (a != 0 || b != 0) as i128,
    };
    encode(n, ty)
}

/// Smallest and largest number of an integer type; `None` for `int` and all else.
pub(super) fn limits(ty: &Type) -> Option<(i128, i128)> {
    match ty {
        Type::Range(lo, hi) => Some((*lo as i128, *hi as i128)),
        Type::Fixed { bits, signed: true } => Some((-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)),
        Type::Fixed { bits, signed: false } => Some((0, (1i128 << bits) - 1)),
        _ => None,
    }
}

/// Whether values are integers.
pub(super) fn is_integer(ty: &Type) -> bool {
    is_int_like(ty) || matches!(ty, Type::Fixed { .. })
}

/// Whether the type is `int` or a range, which mix freely.
pub(super) fn is_int_like(ty: &Type) -> bool {
    matches!(ty, Type::Int | Type::Range(..))
}

/// `int` for ranges, the type itself otherwise: the type of constants and of values computed from it.
pub(super) fn widen(ty: &Type) -> Type {
    if is_int_like(ty) { Type::Int } else { ty.clone() }
}

/// A constant as an expression.
pub(super) fn constant(value: Value, ty: &Type, span: Span) -> Expr {
    Expr { kind: ExprKind::Const(value), ty: widen(ty), span }
}
