//! The bytes of integers: what a pointer to characters means in an object that has none. A byte that is written is a step in which
//! the integer is read and written.

use crate::core::*;
use crate::lower::Lower;
use crate::memory::*;
use crate::places::{At, Lvalue, View};
use crate::refusal::Result;
use crate::types::{CType, StructId};
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
            if stored.open {
                let cells: Vec<Expr> = stored.cells.iter().cloned().map(read).collect();
                s.is_written(&stored, &cells, span);
            }
            s.write_stored(d, &stored, e, crate::birth::Use::Value, span)
        })?;
        self.push(StmtKind::Atomic(block), span);
        Ok(())
    }

    /// Copies bytes one by one.
    pub fn copy_bytes(&mut self, to: &Expr, from: &Expr, n: &Expr, span: Span) -> Result<()> {
        self.found.bytes = true;
        let index = self.temp(ADDRESS);
        self.set_local(index, constant(0, ADDRESS, span), span);
        let (body, ()) = self.block(|s| {
            let i = s.read_local(index, span);
            let place = |s: &mut Self, at: &Expr| {
                let at = binary(BinaryOp::Add, at.clone(), i.clone());
                s.deref(crate::places::Value::scalar(at, BYTE.pointer()), span)
            };
            let (a, b) = (place(s, from)?, place(s, to)?);
            let byte = s.load_scalar(&a)?;
            s.store_scalar(&b, byte, span)?;
            s.set_local(index, binary(BinaryOp::Add, i.clone(), constant(1, ADDRESS, span)), span);
            Ok(())
        })?;
        let more = binary(BinaryOp::Lt, self.read_local(index, span), cast(n.clone(), &ADDRESS));
        self.push(StmtKind::While(Guard::Expr(more), body), span);
        Ok(())
    }
}
