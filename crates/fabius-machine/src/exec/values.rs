//! Arithmetic on words.

use super::{bug, limit};
use crate::code::{Beyond, Fix, Op, Shape};
use fabius_explore::system::{Fault, Limit};
use fabius_trace::{BugKind, Span};

/// Highest id of a thread that a set of threads can hold.
const MAX_IN_SET: i64 = 64;

/// The offset of an element.
pub(crate) fn offset(shape: Shape, index: i64, span: Span) -> Result<i64, Fault> {
    let i = index.wrapping_sub(shape.lo);
    if shape.beyond == Beyond::Limit && i >= i64::from(shape.len) {
        return limit(Limit::Threads, span);
    }
    if index < shape.lo || i >= i64::from(shape.len) || i < 0 {
        return bug(BugKind::IndexOutOfBounds, span);
    }
    Ok(i * i64::from(shape.stride))
}

pub(crate) fn arith(op: Op, a: i64, b: i64, span: Span) -> Result<i64, Fault> {
    let exact = |v: Option<i64>| v.ok_or(Fault::Limit(Limit::Integer, span));
    let divides = matches!(op, Op::DivInt | Op::RemInt | Op::DivWrap | Op::RemWrap | Op::DivU64 | Op::RemU64);
    if divides && b == 0 {
        return bug(BugKind::DivisionByZero, span);
    }
    Ok(match op {
        Op::MulInt => exact(a.checked_mul(b))?,
        Op::DivInt => exact(a.checked_div(b))?,
        Op::RemInt | Op::RemWrap => a.wrapping_rem(b),
        Op::AddWrap => a.wrapping_add(b),
        Op::SubWrap => a.wrapping_sub(b),
        Op::MulWrap => a.wrapping_mul(b),
        Op::DivWrap => a.wrapping_div(b),
        Op::DivU64 => (a as u64 / b as u64) as i64,
        Op::RemU64 => (a as u64 % b as u64) as i64,
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Shl => a.wrapping_shl(b as u32),
        Op::Shr => a.wrapping_shr(b as u32),
        Op::ShrU64 => (a as u64).wrapping_shr(b as u32) as i64,
        Op::SetHas => i64::from(b != 0 && b <= MAX_IN_SET && a as u64 >> (b - 1) & 1 != 0),
        Op::SetWith if b > MAX_IN_SET => return limit(Limit::Threads, span),
        Op::SetWith => a | 1 << (b - 1),
        Op::SetWithout if b == 0 || b > MAX_IN_SET => a,
        Op::SetWithout => a & !(1 << (b - 1)),
    })
}

pub(crate) fn fixed(fix: Fix, n: i64, span: Span) -> Result<i64, Fault> {
    Ok(match fix {
        Fix::No => n,
        Fix::Signed(8) => i64::from(n as i8),
        Fix::Signed(16) => i64::from(n as i16),
        Fix::Signed(_) => i64::from(n as i32),
        Fix::Unsigned(8) => i64::from(n as u8),
        Fix::Unsigned(16) => i64::from(n as u16),
        Fix::Unsigned(_) => i64::from(n as u32),
        Fix::Exact if n < 0 => return limit(Limit::Integer, span),
        Fix::Exact => n,
    })
}
