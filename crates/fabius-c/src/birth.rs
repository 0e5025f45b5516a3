//! What stands for nothing in memory that nothing was written to.

use crate::core::ADDRESS;
use crate::types::{CType, Leaf, LeafKind};
use fabius_lang::program::{Type, Value};

/// Whether the parts of a variable have values where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Birth {
    Set,
    Unset,
}

/// What a value is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Value,
    /// To be stored elsewhere as it is.
    Copy,
}

/// What stands for nothing. A program that computes just this number of 64 bits is not followed.
pub(crate) use fabius_lang::program::{UNSET, UNSET_BYTES, UNSET_COPY};
/// Where the bits of a run begin that say which of its bits nothing was written to.
pub(crate) const MISSING: u8 = 32;

/// The core type of a scalar part.
pub(crate) fn cell_type(leaf: &Leaf, open: bool) -> Type {
    let ty = leaf.ty.core();
    if open { wide(ty) } else { ty }
}

/// An integer with room for what stands for nothing.
pub(crate) fn wide(ty: Type) -> Type {
    match ty {
        Type::Fixed { bits, .. } if bits < 64 => ADDRESS,
        ty => ty,
    }
}

/// What a part holds at first.
pub(crate) fn first_value(leaf: &Leaf, open: bool, birth: Birth) -> Value {
    Value::Int(if open && birth == Birth::Unset { nothing(leaf) } else { 0 })
}

/// What stands for nothing in a part.
fn nothing(leaf: &Leaf) -> i64 {
    match leaf.ty.core() {
        Type::Fixed { bits, .. } if leaf.kind == LeafKind::Run && bits <= MISSING => ((1 << bits) - 1) << MISSING,
        _ => UNSET,
    }
}

/// Whether a part may hold nothing.
pub(crate) fn may_be_open(leaf: &Leaf) -> bool {
    leaf.kind != LeafKind::Library
        && matches!(leaf.ty, CType::Int { .. } | CType::Bool | CType::Pointer(_) | CType::Float(_))
}

/// The bits of a run that are kept where these are written.
pub(crate) fn kept(ones: u64, shift: u8, missing: bool) -> u64 {
    let mine = ones << shift;
    if missing { !(mine | mine << MISSING) } else { !mine }
}
