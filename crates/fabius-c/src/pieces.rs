//! So many bytes from a place on, as the scalars that they are, and what they hold if all of these bytes are the same.

use crate::birth::Use;
use crate::core::*;
use crate::lower::Lower;
use crate::memory::{Direct, Part, ways};
use crate::places::{At, Lvalue};
use crate::refusal::{Refusal, Result, unsupported};
use crate::types::CType;
use fabius_lang::program::*;
use fabius_trace::Span;

/// 1 in each byte of an integer.
const EACH_BYTE: i64 = 0x0101_0101_0101_0101;

/// A scalar among some bytes, or a byte of an integer that is not there as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub place: Lvalue,
    /// Where it begins, from the first of the bytes.
    pub at: i64,
    /// How many of the bytes it is.
    pub bytes: i64,
}

impl Piece {
    /// Whether what this one holds can be copied there as it is.
    pub fn fits(&self, other: &Piece) -> bool {
        let (a, b) = (self.place.ty.plain(), other.place.ty.plain());
        let alike = a.same_layout(b) && matches!(a, CType::Bool) == matches!(b, CType::Bool);
        (self.at, self.bytes) == (other.at, other.bytes) && alike && self.is_run() == other.is_run()
    }

    /// Whether it is a byte of an integer.
    pub fn is_byte(&self) -> bool {
        matches!(parts(&self.place).last(), Some(Part::Byte(_)))
    }

    /// Whether it is a run of bit-fields.
    pub fn is_run(&self) -> bool {
        matches!(parts(&self.place).last(), Some(Part::Run(_)))
    }
}

fn parts(lv: &Lvalue) -> &[Part] {
    match &lv.at {
        At::Direct(Direct { parts, .. }) | At::Deref { parts, .. } => parts,
    }
}

impl Lower<'_, '_> {
    /// What so many bytes from a place on are, in order; bytes between the fields of a struct are none of them. Not known if they go
    /// beyond what the place is in, or if they are parts of what has no bytes.
    pub fn pieces(&self, lv: &Lvalue, bytes: i64, span: Span) -> Result<Option<Vec<Piece>>> {
        let Some((around, first)) = self.around(lv, bytes) else { return Ok(None) };
        let last = first + bytes;
        let mut pieces = Vec::new();
        for (way, scalar) in self.scalars(&around.ty, span)? {
            let Some((at, size)) = self.extent(&around.ty, &way, &scalar) else { return Ok(None) };
            if at >= last || at + size <= first {
                continue;
            }
            let is_run = matches!(way.last(), Some(Part::Run(_)));
            let mut place = around.clone();
            for part in way {
                place = self.part(place, part, span)?;
            }
            if first <= at && at + size <= last {
                pieces.push(Piece { place, at: at - first, bytes: size });
                continue;
            }
            if is_run || !matches!(scalar, CType::Int { .. }) || self.is_in_union(&place) {
                return Ok(None);
            }
            for n in (0..size).filter(|n| (first..last).contains(&(at + n))) {
                let place = self.part(place.clone(), Part::Byte(n as u8), span)?;
                pieces.push(Piece { place, at: at + n - first, bytes: 1 });
            }
        }
        Ok(Some(pieces))
    }

    /// The least part of an object around a place that so many bytes from the place on are in, and where the place is in it.
    fn around(&self, lv: &Lvalue, bytes: i64) -> Option<(Lvalue, i64)> {
        let root = match &lv.at {
            At::Direct(d) => &self.objects[d.object].ty,
            At::Deref { root, .. } => root,
        };
        let all = parts(lv);
        let (mut offset, mut in_array) = (0, false);
        for n in (0..=all.len()).rev() {
            let ty = self.type_at(root, &ways(&all[..n]))?;
            if let Some(part) = all.get(n) {
                let was_in_array = std::mem::replace(&mut in_array, matches!(part, Part::Index(_)));
                offset += match (part, ty.plain()) {
                    // Behind the end of an array is nothing.
                    (Part::Field(_), _) if was_in_array => return None,
                    (Part::Field(i), CType::Struct(id)) => self.types().structs[*id].fields.as_ref()?.get(*i)?.offset,
                    (Part::Index(e), CType::Array(of, _)) => value_of(e)?.checked_mul(self.types().size(of)?)?,
                    _ => return None,
                };
            }
            if offset >= 0 && offset + bytes <= self.types().size(&ty)? {
                let mut around = Lvalue { ty, width: None, ..lv.clone() };
                match &mut around.at {
                    At::Direct(Direct { parts, .. }) | At::Deref { parts, .. } => parts.truncate(n),
                }
                return Some((around, offset));
            }
        }
        None
    }

    /// Whether a place is in a union.
    fn is_in_union(&self, lv: &Lvalue) -> bool {
        let root = match &lv.at {
            At::Direct(d) => &self.objects[d.object].ty,
            At::Deref { root, .. } => root,
        };
        let all = parts(lv);
        (0..all.len()).any(|n| match self.type_at(root, &ways(&all[..n])) {
            Some(ty) => matches!(ty.plain(), CType::Struct(id) if self.types().structs[*id].union),
            None => false,
        })
    }

    /// What a scalar of so many bytes holds if all of them are this one.
    pub fn filled(&mut self, ty: &CType, bytes: i64, byte: &Expr, span: Span) -> Result<Expr> {
        let all = binary(BinaryOp::Mul, cast(byte.clone(), &WORD), constant(EACH_BYTE, WORD, span));
        let all = narrowed(all, (bytes * 8).min(64) as u8, false);
        Ok(match ty.plain() {
            ty if value_of(byte) == Some(0) => constant(0, ty.core(), span),
            ty @ CType::Bool => {
                let one = binary(BinaryOp::Le, byte.clone(), constant(1, byte.ty.clone(), span));
                self.check(one, Check::Bound, "a `_Bool` is filled with something else than 0 and 1", span);
                cast(byte.clone(), &ty.core())
            }
            ty @ (CType::Int { .. } | CType::Pointer(_) | CType::Float(8)) => cast(all, &ty.core()),
            CType::Float(4) => self.float_of_bits(all, span)?,
            ty => return self.only_zeros(ty, span),
        })
    }

    fn only_zeros<T>(&self, ty: &CType, span: Span) -> Result<T> {
        unsupported(span, format!("a `{}` is filled with zeros only", self.types().show(ty)))
            .map_err(|e: Refusal| e.help("give each field a value, or fill those in front of it and behind it"))
    }

    /// Writes a byte to all bytes of a piece.
    pub fn fill(&mut self, piece: &Piece, byte: &Expr, span: Span) -> Result<()> {
        let e = self.filled(&piece.place.ty, piece.bytes, byte, span)?;
        self.found.bytes |= piece.is_byte();
        self.store_for(&piece.place, e, if piece.is_byte() { Use::Value } else { Use::Copy }, span)
    }

    /// Writes a byte to all bytes of a place.
    pub fn fill_place(&mut self, lv: &Lvalue, byte: &Expr, span: Span) -> Result<()> {
        if value_of(byte) == Some(0) {
            return self.clear_place(lv, span);
        }
        let bytes = self.types().size(&lv.ty).unwrap_or(0);
        match self.pieces(lv, bytes, span)? {
            Some(pieces) => pieces.iter().try_for_each(|piece| self.fill(piece, byte, span)),
            None => self.only_zeros(&lv.ty, span),
        }
    }
}
