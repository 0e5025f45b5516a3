//! The bytes of integers: what a pointer to characters means in an object that has none. A byte that is written is a step in which
//! the integer is read and written.

use crate::birth::{MISSING, UNSET, UNSET_BYTES, UNSET_COPY, Use};
use crate::core::*;
use crate::lower::Lower;
use crate::memory::*;
use crate::places::{At, Lvalue, View};
use crate::refusal::Result;
use crate::stored::Stored;
use crate::types::{CType, StructId};
use crate::unwritten::{WORDS, in_part};
use fabius_lang::program::*;
use fabius_trace::Span;

/// More bytes than these are not told apart.
const MOST: usize = 160;

pub(crate) const BYTE: CType = CType::Int { bits: 8, signed: false };

fn is_byte(ty: &CType) -> bool {
    matches!(ty.plain(), CType::Int { bits: 8, .. })
}

impl Lower<'_, '_> {
    /// A pointer becomes one of another type: whose bytes may be looked at, and whether bytes are.
    pub fn is_seen_as(&mut self, from: &CType, to: &CType) {
        let to_byte = is_byte(to);
        let is_void = *from.plain() == CType::Void;
        if (to_byte || *to.plain() == CType::Void) && self.has_integers(from) {
            self.found.viewed.insert(from.plain().clone());
        }
        self.found.bytes |= to_byte && !is_byte(from) && (is_void || self.has_integers(from));
    }

    /// Whether a type is an integer of several bytes, or has some.
    fn has_integers(&self, ty: &CType) -> bool {
        match ty.plain() {
            CType::Int { bits, .. } => *bits > 8,
            CType::Array(of, _) => self.has_integers(of),
            CType::Struct(id) => self.is_plain_struct(*id),
            _ => false,
        }
    }

    fn is_plain_struct(&self, id: StructId) -> bool {
        let s = &self.types().structs[id];
        !s.union && !s.sync && s.fields.iter().flatten().any(|f| self.has_integers(&f.ty))
    }

    /// The objects whose bytes may be looked at by a pointer to this type.
    pub fn seen_as_bytes(&self, ty: &CType) -> Vec<ObjectId> {
        let viewed = (self.session.facts.bytes && is_byte(ty)).then_some(&self.session.facts.viewed);
        viewed.into_iter().flatten().flat_map(|ty| self.homes(ty)).map(|(id, _)| id).collect()
    }

    /// The bytes of integers that a place may be, beside objects of its own type.
    pub fn views(&mut self, lv: &Lvalue, span: Span) -> Result<Vec<View>> {
        let At::Deref { address, root, parts } = &lv.at else { return Ok(Vec::new()) };
        if !self.session.facts.bytes || !parts.is_empty() || !is_byte(root) {
            return Ok(Vec::new());
        }
        let address = address.clone();
        let mut views: Vec<View> = Vec::new();
        for ty in self.session.facts.viewed.clone() {
            for home in self.homes(&ty) {
                for (way, scalar) in self.scalars(&ty, span)? {
                    let Some(offset) = self.offset_of_way(&ty, &way) else { continue };
                    let CType::Int { bits, .. } = scalar.plain() else { continue };
                    let own = i64::from(*bits) / 8;
                    // Characters of a struct are found as such, where their address is taken.
                    for byte in 0..own {
                        let back = constant(-(offset + byte), ADDRESS, span);
                        let (condition, mut direct) = self.resolve(&add(address.clone(), back), &home);
                        direct.parts.extend(way.clone());
                        if own > 1 {
                            direct.parts.push(Part::Byte(byte as u8));
                        }
                        views.push((condition, direct));
                    }
                }
            }
            if views.len() > MOST {
                return Ok(Vec::new());
            }
        }
        Ok(views)
    }

    /// Where a part of a type begins; none of a run of bit-fields or of a union.
    fn offset_of_way(&self, ty: &CType, way: &[Part]) -> Option<i64> {
        let (mut ty, mut at) = (ty.clone(), 0);
        for part in way {
            match (part, ty.plain().clone()) {
                (Part::Field(i), CType::Struct(id)) => {
                    let f = &self.types().structs[id].fields.as_ref()?[*i];
                    (ty, at) = (f.ty.clone(), at + f.offset);
                }
                (Part::Index(e), CType::Array(of, _)) => {
                    at += value_of(e)? * self.types().size(&of)?;
                    ty = (*of).clone();
                }
                _ => return None,
            }
        }
        Some(at)
    }

    /// Writes to a byte. Where races are looked for it is not told from the others of its integer.
    pub fn write_byte(&mut self, d: &Direct, e: Expr, span: Span) -> Result<()> {
        if self.looks_for_races() {
            let words = "a byte of an integer is written, where there are threads";
            self.check(boolean(false, span), Check::Bound, words, span);
            return Ok(());
        }
        let stored = self.stored(d, span)?;
        let (block, ()) = self.block(|s| {
            if s.has_bytes(&stored) {
                return s.write_one_of_several(d, &stored, e, span);
            }
            if stored.open {
                let cells: Vec<Expr> = stored.cells.iter().cloned().map(read).collect();
                s.is_written(&stored, &cells, span);
            }
            s.write_stored(d, &stored, e, crate::birth::Use::Value, span)
        })?;
        self.push(StmtKind::Atomic(block), span);
        Ok(())
    }

    /// Writes a byte of an integer of which others may have no value yet.
    fn write_one_of_several(&mut self, d: &Direct, stored: &Stored, e: Expr, span: Span) -> Result<()> {
        let (cell, b) = (&stored.cells[0], stored.bits.expect("it is a byte"));
        let (number, word) = (|n: i64| constant(n, cell.ty.clone(), span), |n: u64| constant(n as i64, WORD, span));
        let there = self.allocated(d, span);
        self.body.out.extend(there);
        let old = self.simple(read(cell.clone()));
        let is = |n: i64| binary(BinaryOp::Eq, old.clone(), number(n));
        self.check(not(is(UNSET_COPY)), Check::Bound, WORDS, span);
        let all = (1i64 << (stored.cell_bits / 8)) - 1;
        let high = binary(BinaryOp::Shr, old.clone(), number(i64::from(MISSING)));
        let known = if_else(in_part(&old), binary(BinaryOp::BitAnd, high, number(all)), number(0));
        let missing = if_else(is(UNSET), number(all), known);
        let left = self.simple(binary(BinaryOp::BitAnd, missing, number(!(1 << (b.shift / 8)))));
        let others = ((1u64 << stored.cell_bits) - 1) & !(0xff << b.shift);
        let before = if_else(is(UNSET), word(0), binary(BinaryOp::BitAnd, cast(old.clone(), &WORD), word(others)));
        let byte = binary(BinaryOp::BitAnd, cast(e, &WORD), word(0xff));
        let bits = binary(BinaryOp::BitOr, before, binary(BinaryOp::Shl, byte, word(u64::from(b.shift))));
        let bits = self.simple(bits);
        let whole = cast_to(cast(bits.clone(), &stored.leaf.core()), &cell.ty);
        let mark = binary(BinaryOp::Shl, left.clone(), number(i64::from(MISSING)));
        let part =
            binary(BinaryOp::BitOr, binary(BinaryOp::BitOr, cast(bits, &cell.ty), mark), number(UNSET_BYTES.start));
        let value = if_else(binary(BinaryOp::Eq, left, number(0)), whole, part);
        self.push(StmtKind::Assign(cell.clone(), value), span);
        Ok(())
    }

    /// Copies bytes one by one. Those between the parts of a struct have no value, and get none.
    pub fn copy_bytes(&mut self, to: &Expr, from: &Expr, n: &Expr, span: Span) -> Result<()> {
        self.found.bytes = true;
        let index = self.temp(ADDRESS);
        self.set_local(index, constant(0, ADDRESS, span), span);
        let (body, ()) = self.block(|s| {
            let i = s.read_local(index, span);
            let [a, b] = [from, to].map(|at| s.simple(binary(BinaryOp::Add, at.clone(), i.clone())));
            let (no_source, no_target) = (s.between_parts(&a, span)?, s.between_parts(&b, span)?);
            let place =
                |s: &mut Self, at: &Expr| s.deref(crate::places::Value::scalar(at.clone(), BYTE.pointer()), span);
            let (mut copied, ()) = s.block(|s| {
                let (a, b) = (place(s, &a)?, place(s, &b)?);
                let byte = s.load_scalar(&a)?;
                s.store_scalar(&b, byte, span)
            })?;
            if let Some(is_none) = no_source {
                let (unset, ()) = s.block(|s| {
                    let b = place(s, &b)?;
                    s.leave_unset(&b, span)
                })?;
                copied = vec![stmt(StmtKind::If(Guard::Expr(is_none), unset, copied), span)];
            }
            match no_target {
                Some(is_none) => s.push(StmtKind::If(Guard::Expr(is_none), Block::new(), copied), span),
                None => s.body.out.extend(copied),
            }
            s.set_local(index, binary(BinaryOp::Add, i.clone(), constant(1, ADDRESS, span)), span);
            Ok(())
        })?;
        let more = binary(BinaryOp::Lt, self.read_local(index, span), cast(n.clone(), &ADDRESS));
        self.push(StmtKind::While(Guard::Expr(more), body), span);
        Ok(())
    }

    /// Whether an address is between the parts of a struct whose bytes are looked at; none if no such place is known.
    fn between_parts(&mut self, address: &Expr, span: Span) -> Result<Option<Expr>> {
        let mut all: Vec<Expr> = Vec::new();
        for ty in self.session.facts.viewed.clone() {
            let gaps = self.gaps(&ty, span)?;
            for home in self.homes(&ty) {
                let is = |gap: &i64| self.resolve(&add(address.clone(), constant(-gap, ADDRESS, span)), &home).0;
                all.extend(gaps.iter().map(is));
            }
        }
        Ok(if all.len() > MOST { None } else { all.into_iter().reduce(|a, b| binary(BinaryOp::Or, a, b)) })
    }

    /// Where the bytes of a struct are that belong to none of its parts.
    fn gaps(&mut self, ty: &CType, span: Span) -> Result<Vec<i64>> {
        let size = self.types().size(ty).filter(|size| *size <= MOST as i64).unwrap_or(0);
        let mut gaps: Vec<i64> = (0..size).collect();
        for (way, scalar) in self.scalars(ty, span)? {
            let (Some(at), Some(bytes)) = (self.offset_of_way(ty, &way), self.types().size(&scalar)) else {
                return Ok(Vec::new());
            };
            gaps.retain(|gap| !(at..at + bytes).contains(gap));
        }
        Ok(gaps)
    }

    /// A byte has no value from now on. One of an integer that has others is not followed.
    fn leave_unset(&mut self, lv: &Lvalue, span: Span) -> Result<()> {
        self.found.unset = true;
        let id = self.temp(ADDRESS);
        self.set_local(id, constant(UNSET, ADDRESS, span), span);
        let nothing = self.read_local(id, span);
        let views = self.views(lv, span)?;
        self.at_or(lv, views, &mut |s, d| {
            if matches!(d.parts.last(), Some(Part::Byte(_))) {
                s.check(boolean(false, span), Check::Bound, WORDS, span);
                return Ok(());
            }
            s.is_changeable(lv, d, span);
            let stored = s.stored(d, span)?;
            s.write_stored(d, &stored, nothing.clone(), Use::Copy, span)
        })
    }
}
