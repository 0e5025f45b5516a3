//! Expressions and statements of the core, with constants folded: what front ends put programs together from.

use crate::program::*;
use fabius_trace::Span;

/// A constant.
pub fn constant(n: i64, ty: Type, span: Span) -> Expr {
    Expr { kind: ExprKind::Const(Value::Int(n)), ty, span }
}

/// The code of a constant.
pub fn value_of(e: &Expr) -> Option<i64> {
    match &e.kind {
        ExprKind::Const(Value::Int(n)) => Some(*n),
        _ => None,
    }
}

/// The code of an integer modulo two to the width.
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

fn meaning(code: i64, ty: &Type) -> i128 {
    match ty {
        Type::Fixed { bits: 64, signed: false } => i128::from(code as u64),
        _ => i128::from(code),
    }
}

/// The value of a place.
pub fn read(place: Place) -> Expr {
    Expr { ty: place.ty.clone(), span: place.span, kind: ExprKind::Read(place) }
}

/// `a op b`; both of one type. Comparisons are Boolean.
pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    use BinaryOp::*;
    let span = a.span;
    let truth = matches!(op, Eq | Ne | Lt | Le | Gt | Ge | And | Or);
    let ty = if truth { Type::Bool } else { a.ty.clone() };
    if let (Some(x), Some(y)) = (value_of(&a), value_of(&b))
        && let Some(n) = fold(op, x, y, &a.ty)
    {
        return constant(n, ty, span);
    }
    match (op, value_of(&a), value_of(&b)) {
        (And, Some(1), _) | (Or, Some(0), _) | (Add, Some(0), _) => return b,
        (And, _, Some(1)) | (Or, _, Some(0)) | (Add | Sub, _, Some(0)) | (Mul | Div, _, Some(1)) => return a,
        (And, Some(0), _) | (Or, Some(1), _) => return a,
        (Mul, Some(1), _) => return b,
        _ => {}
    }
    Expr { kind: ExprKind::Binary(op, a.into(), b.into()), ty, span }
}

fn fold(op: BinaryOp, a: i64, b: i64, ty: &Type) -> Option<i64> {
    use BinaryOp::*;
    let (x, y) = (meaning(a, ty), meaning(b, ty));
    let width = if let Type::Fixed { bits, .. } = ty { i128::from(*bits) } else { 64 };
    let n = match op {
        Add => x + y,
        Sub => x - y,
        Mul => x.wrapping_mul(y),
        Div if y != 0 => x / y,
        Rem if y != 0 => x % y,
        Div | Rem => return None,
        BitAnd => x & y,
        BitOr => x | y,
        BitXor => x ^ y,
        Shl => x << y.rem_euclid(width),
        Shr => x >> y.rem_euclid(width),
        Eq => i128::from(x == y),
        Ne => i128::from(x != y),
        Lt => i128::from(x < y),
        Le => i128::from(x <= y),
        Gt => i128::from(x > y),
        Ge => i128::from(x >= y),
        And => i128::from(x != 0 && y != 0),
        Or => i128::from(x != 0 || y != 0),
    };
    Some(match (op, ty) {
        (Eq | Ne | Lt | Le | Gt | Ge | And | Or, _) => n as i64,
        (_, Type::Fixed { bits, signed }) => wrap(n, *bits, *signed),
        _ => n as i64,
    })
}

/// `op a`.
pub fn unary(op: UnaryOp, a: Expr) -> Expr {
    let (ty, span) = (a.ty.clone(), a.span);
    if let Some(x) = value_of(&a) {
        let n = match op {
            UnaryOp::Not => i128::from(x == 0),
            UnaryOp::Neg => -meaning(x, &ty),
            UnaryOp::BitNot => !meaning(x, &ty),
        };
        let n = if let Type::Fixed { bits, signed } = ty { wrap(n, bits, signed) } else { n as i64 };
        return constant(n, ty, span);
    }
    if let (UnaryOp::Not, ExprKind::Unary(UnaryOp::Not, inner)) = (op, &a.kind) {
        return (**inner).clone();
    }
    Expr { kind: ExprKind::Unary(op, a.into()), ty, span }
}

/// `e` at another integer type.
pub fn cast(e: Expr, ty: &Type) -> Expr {
    if e.ty == *ty {
        return e;
    }
    let span = e.span;
    if let Some(x) = value_of(&e) {
        let n = meaning(x, &e.ty);
        let n = if let Type::Fixed { bits, signed } = ty { wrap(n, *bits, *signed) } else { n as i64 };
        return constant(n, ty.clone(), span);
    }
    Expr { kind: ExprKind::Cast(e.into()), ty: ty.clone(), span }
}

/// `c ? a : b`.
pub fn if_else(c: Expr, a: Expr, b: Expr) -> Expr {
    match value_of(&c) {
        Some(0) => b,
        Some(_) => a,
        None => Expr { ty: a.ty.clone(), span: c.span, kind: ExprKind::IfElse(c.into(), a.into(), b.into()) },
    }
}

/// `!a`.
pub fn not(a: Expr) -> Expr {
    unary(UnaryOp::Not, a)
}

/// `a && b`.
pub fn and(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::And, a, b)
}

/// `a || b`.
pub fn or(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Or, a, b)
}

/// The Boolean constant.
pub fn boolean(b: bool, span: Span) -> Expr {
    constant(i64::from(b), Type::Bool, span)
}

/// A Boolean from any scalar: it is not zero.
pub fn truth(e: Expr) -> Expr {
    match e.ty {
        Type::Bool => e,
        _ => {
            let zero = constant(0, e.ty.clone(), e.span);
            binary(BinaryOp::Ne, e, zero)
        }
    }
}

/// A statement; what it touches is said at the end, for all.
pub fn stmt(kind: StmtKind, span: Span) -> Stmt {
    Stmt { kind, access: Access::Local, span }
}
