//! What C adds to the expressions of the core.

pub use fabius_lang::build::*;
use fabius_lang::program::*;

/// The core type of addresses: whatever a C pointer holds is a number.
pub const ADDRESS: Type = Type::Fixed { bits: 64, signed: true };
/// An integer of 64 bits without a sign, in which bits are put together.
pub const WORD: Type = Type::Fixed { bits: 64, signed: false };
/// The core type of C's `int`.
pub const INT: Type = Type::Fixed { bits: 32, signed: true };

/// The index of an element, as the core has it.
pub fn index_of(e: Expr) -> Expr {
    cast(e, &Type::Int)
}

/// An integer at another integer type; what else is of its type already.
pub fn cast_to(e: Expr, ty: &Type) -> Expr {
    match (&e.ty, ty) {
        (Type::Fixed { .. }, Type::Fixed { .. }) => cast(e, ty),
        _ => e,
    }
}

/// `a + b` of addresses.
pub fn add(a: Expr, b: Expr) -> Expr {
    // Constants together, so that they fold.
    if let (ExprKind::Binary(BinaryOp::Add, x, y), Some(_)) = (&a.kind, value_of(&b))
        && value_of(y).is_some()
    {
        return binary(BinaryOp::Add, (**x).clone(), binary(BinaryOp::Add, (**y).clone(), b));
    }
    binary(BinaryOp::Add, a, b)
}

/// A number of elements in bytes.
pub fn scaled(index: Expr, size: i64) -> Expr {
    let span = index.span;
    binary(BinaryOp::Mul, cast(index, &ADDRESS), constant(size, ADDRESS, span))
}

/// The lowest bits of a number as a number of its own, of 64 bits.
pub fn narrowed(e: Expr, width: u8, signed: bool) -> Expr {
    let span = e.span;
    let ty = if signed { ADDRESS } else { WORD };
    let by = 64 - i64::from(width);
    let up = cast(binary(BinaryOp::Shl, cast(e, &WORD), constant(by, WORD, span)), &ty);
    binary(BinaryOp::Shr, up, constant(by, ty, span))
}
