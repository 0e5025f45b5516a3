//! Integer operators.

use crate::value::Value;
use fabius_explore::system::{Fault, Limit};
use fabius_lang::program::{BinaryOp, Expr, Type, UnaryOp};
use fabius_trace::{BugKind, Span};

/// The integer that a code of a type stands for.
pub fn meaning(code: i64, ty: &Type) -> i128 {
    match ty {
        Type::Fixed { bits: 64, signed: false } => i128::from(code as u64),
        _ => i128::from(code),
    }
}

/// The code of the integer modulo two to the width.
pub fn wrap(n: i128, bits: u8, signed: bool) -> i64 {
    match (bits, signed) {
        (8, true) => i64::from(n as i8),
        (8, false) => i64::from(n as u8),
        (16, true) => i64::from(n as i16),
        (16, false) => i64::from(n as u16),
        (32, true) => i64::from(n as i32),
        (32, false) => i64::from(n as u32),
        _ => n as i64,
    }
}

/// The code of an integer at a type; a limit if `int` is held in too few bits.
fn code(n: i128, ty: &Type, span: Span) -> Result<i64, Fault> {
    match ty {
        Type::Fixed { bits, signed } => Ok(wrap(n, *bits, *signed)),
        _ => i64::try_from(n).map_err(|_| Fault::Limit(Limit::Integer, span)),
    }
}

/// `op a`, of type `ty`.
pub fn unary(op: UnaryOp, a: &Value, ty: &Type, span: Span) -> Result<Value, Fault> {
    let n = match op {
        UnaryOp::Not => i64::from(!a.is_true()),
        UnaryOp::Neg => code(-meaning(a.number(), ty), ty, span)?,
        UnaryOp::BitNot => code(!meaning(a.number(), ty), ty, span)?,
    };
    Ok(Value::Number(n))
}

/// `a op b` at the type of the operands (not `&&`, `||`).
pub fn binary(op: BinaryOp, a: &Value, b: &Value, ty: &Type, span: Span) -> Result<Value, Fault> {
    match op {
        BinaryOp::Eq => return Ok(Value::bool(a == b)),
        BinaryOp::Ne => return Ok(Value::bool(a != b)),
        _ => {}
    }
    let (x, y) = (meaning(a.number(), ty), meaning(b.number(), ty));
    let n = match op {
        BinaryOp::Lt => return Ok(Value::bool(x < y)),
        BinaryOp::Le => return Ok(Value::bool(x <= y)),
        BinaryOp::Gt => return Ok(Value::bool(x > y)),
        BinaryOp::Ge => return Ok(Value::bool(x >= y)),
        BinaryOp::Div | BinaryOp::Rem if y == 0 => return Err(Fault::Bug(BugKind::DivisionByZero, span)),
        BinaryOp::Div => x / y,
        BinaryOp::Rem => x % y,
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        // Only u64 times u64 goes beyond 127 bits, and then only the low 64 count.
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::BitAnd => x & y,
        BinaryOp::BitOr => x | y,
        BinaryOp::BitXor => x ^ y,
        BinaryOp::Shl => x << amount(y, ty),
        BinaryOp::Shr => x >> amount(y, ty),
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::And | BinaryOp::Or => panic!("{op:?} is not arithmetic"),
    };
    Ok(Value::Number(code(n, ty, span)?))
}

/// The amount of a shift, modulo the width.
fn amount(n: i128, ty: &Type) -> u32 {
    let width = match ty {
        Type::Fixed { bits, .. } => i128::from(*bits),
        _ => 64,
    };
    n.rem_euclid(width) as u32
}

/// `a as ty`.
pub fn cast(a: &Value, from: &Type, ty: &Type, span: Span) -> Result<Value, Fault> {
    let n = meaning(a.number(), from);
    match ty {
        Type::Range(lo, hi) if !(i128::from(*lo)..=i128::from(*hi)).contains(&n) => {
            Err(Fault::Bug(BugKind::RangeOverflow, span))
        }
        _ => Ok(Value::Number(code(n, ty, span)?)),
    }
}

/// At which type two operands are compared and computed: literals take the fixed width of the other side.
pub fn operands(a: &Expr, b: &Expr) -> Type {
    if matches!(b.ty, Type::Fixed { .. }) { b.ty.clone() } else { a.ty.clone() }
}
