//! Memory that nothing was written to: arrays and structs of functions, variables whose address is taken, what is allocated.
//!
//! Each scalar of it holds a value that stands for nothing, until something is written. An integer has more bits for that than it
//! has in C; a run of bit-fields has one for each of its own. What is copied is copied with it. Where such an integer is used, it is
//! chosen, if nobody else could take that for a write, and is not followed otherwise; a pointer is no object.

use crate::birth::{Birth, MISSING, UNSET, UNSET_BYTES, UNSET_COPY, Use, cell_type, first_value, may_be_open, wide};
use crate::core::*;
use crate::library::assign;
use crate::lower::{Lower, array_of};
use crate::memory::{Direct, ObjectId, Part, Parts};
use crate::places::{At, Lvalue};
use crate::property::Property;
use crate::refusal::Result;
use crate::stored::Stored;
use crate::types::{CType, Leaf, LeafKind};
use fabius_lang::program::*;
use fabius_trace::Span;

/// So far may a pointer be moved that nothing was written to.
const NEAR: i64 = 1 << 32;
pub(crate) const WORDS: &str = "a value that nothing was written to is used";

/// Whether what a cell holds is nothing.
fn is_nothing(stored: &Stored, cell: Expr) -> Expr {
    let span = cell.span;
    let number = |n: i64| constant(n, cell.ty.clone(), span);
    if stored.kind != LeafKind::Run || stored.cell_bits > i64::from(MISSING) {
        let is = |n: i64| binary(BinaryOp::Eq, cell.clone(), number(n));
        return or(is(UNSET), is(UNSET_COPY));
    }
    let (shift, width) = stored.bits.map_or((0, MISSING), |b| (b.shift, b.width));
    let missing = binary(BinaryOp::Shr, cell.clone(), number(i64::from(MISSING + shift)));
    let mine = binary(BinaryOp::BitAnd, missing, number((1 << width) - 1));
    binary(BinaryOp::Ne, mine, number(0))
}

/// Whether nothing was written to some of the bytes that are looked at, and something to others of the integer.
fn misses_bytes(stored: &Stored, cell: Expr) -> Expr {
    let span = cell.span;
    let number = |n: i64| constant(n, cell.ty.clone(), span);
    let in_part = in_part(&cell);
    let Some(b) = stored.bits else { return in_part };
    let mine = constant(((1 << (b.width / 8)) - 1) << (b.shift / 8), cell.ty.clone(), span);
    let missing = binary(BinaryOp::BitAnd, binary(BinaryOp::Shr, cell.clone(), number(i64::from(MISSING))), mine);
    and(in_part, binary(BinaryOp::Ne, missing, number(0)))
}

/// Whether some of the bytes of an integer have a value, and others have none.
pub(crate) fn in_part(cell: &Expr) -> Expr {
    let number = |n: i64| constant(n, cell.ty.clone(), cell.span);
    let above = binary(BinaryOp::Le, number(UNSET_BYTES.start), cell.clone());
    and(above, binary(BinaryOp::Lt, cell.clone(), number(UNSET_BYTES.end)))
}

impl Lower<'_, '_> {
    /// Which parts of an object may hold nothing.
    pub fn open_leaves(&mut self, key: &str, leaves: &[Leaf], birth: Birth) -> Vec<bool> {
        let mut open = Vec::new();
        for leaf in leaves {
            let part = (key.to_string(), leaf.fields.clone());
            let is_written = self.session.facts.written.contains(&part);
            let from_birth = birth == Birth::Unset && may_be_open(leaf) && !is_written;
            self.found.unset |= from_birth;
            self.found.unset_pointers |= from_birth && leaf.ty.is_pointer();
            open.push(from_birth || may_be_open(leaf) && self.session.facts.open.contains(&part));
        }
        open
    }

    /// The core type of a scalar that is copied.
    pub fn copied_type(&self, ty: &CType) -> Type {
        if self.session.facts.unset { wide(ty.core()) } else { ty.core() }
    }

    /// The core types of the scalars of a value.
    pub fn part_types(&self, ty: &CType, span: Span) -> Result<Vec<Type>> {
        if ty.is_scalar() {
            return Ok(vec![ty.core()]);
        }
        Ok(self.scalars(ty, span)?.iter().map(|(_, scalar)| self.copied_type(scalar)).collect())
    }

    /// Whether it matters that nothing was written to what is read.
    pub fn is_looked_at(&self, stored: &Stored) -> bool {
        stored.open && !stored.ty.is_pointer() && !stored.leaf.is_float()
    }

    /// Whether single bytes of what is stored may have been written, and others not.
    pub fn has_bytes(&self, stored: &Stored) -> bool {
        let single = stored.cells.len() == 1 && stored.kind != LeafKind::Run;
        self.session.facts.bytes && stored.open && single && matches!(stored.cell_bits, 16 | 32)
    }

    /// That something was written to what is read from the cells.
    pub fn is_written(&mut self, stored: &Stored, cells: &[Expr], span: Span) {
        for cell in cells {
            let written = not(is_nothing(stored, cell.clone()));
            self.check(written, Check::Bound, WORDS, span);
            if self.has_bytes(stored) {
                self.check(not(misses_bytes(stored, cell.clone())), Check::Bound, WORDS, span);
            }
        }
    }

    /// That what an atomic operation reads has a value: a check to be made in the same step.
    pub fn has_value(&mut self, d: &Direct, span: Span) -> Result<Block> {
        let stored = self.stored(d, span)?;
        if !self.is_looked_at(&stored) {
            return Ok(Block::new());
        }
        let cells: Vec<Expr> = stored.cells.iter().cloned().map(read).collect();
        let (block, ()) = self.block(|s| {
            s.is_written(&stored, &cells, span);
            Ok(())
        })?;
        Ok(block)
    }

    /// Whether what is read may be written for that: no other thread could take it for a write of the program.
    pub fn may_choose(&self, stored: &Stored) -> bool {
        let alone = self.session.facts.roots.is_empty();
        let races = self.options.property.is_none_or(|p| p == Property::NoDataRace);
        let single = stored.kind != LeafKind::Run;
        single && (alone || !races || stored.cells.iter().all(|cell| self.is_private(cell)))
    }

    /// Any value in the cells that hold nothing.
    pub fn choose(&mut self, stored: &Stored, span: Span) -> Result<Block> {
        let (block, ()) = self.block(|s| {
            for cell in &stored.cells {
                let (chosen, ()) = s.block(|s| {
                    let any = s.any_of(&stored.leaf, span)?;
                    s.body.out.push(assign(cell, cast_to(any.parts[0].clone(), &cell.ty), span));
                    Ok(())
                })?;
                let is = |n: i64| binary(BinaryOp::Eq, read(cell.clone()), constant(n, cell.ty.clone(), span));
                s.push(StmtKind::If(Guard::Expr(is(UNSET)), chosen, Vec::new()), span);
                // What the original is chosen to be, or was, is not known here.
                s.check(not(is(UNSET_COPY)), Check::Bound, WORDS, span);
                if s.has_bytes(stored) {
                    s.check(not(misses_bytes(stored, read(cell.clone()))), Check::Bound, WORDS, span);
                }
            }
            Ok(())
        })?;
        Ok(block)
    }

    /// What is stored elsewhere as it is must have room there.
    pub fn is_copied_to(&mut self, stored: &Stored, e: &Expr) {
        let known = value_of(e).is_some() || stored.ty.is_pointer() || !self.session.facts.unset;
        let (object, leaf) = stored.part;
        let o = &self.objects[object];
        if !known && may_be_open(&o.leaves[leaf]) {
            self.found.open.insert((o.key.clone(), o.leaves[leaf].fields.clone()));
        }
    }

    /// What a copy holds: of nothing, that it is a copy.
    pub fn copy_of(&mut self, stored: &Stored, e: Expr) -> Expr {
        let is_wide = matches!(e.ty, Type::Fixed { bits: 64, .. });
        if !is_wide
            || value_of(&e).is_some()
            || stored.kind == LeafKind::Run
            || stored.leaf.is_pointer()
            || stored.leaf.is_float()
        {
            return e;
        }
        let (e, span) = (self.simple(e.clone()), e.span);
        let number = |n: i64| constant(n, e.ty.clone(), span);
        let test = binary(BinaryOp::Eq, e.clone(), number(UNSET));
        let id = self.temp(e.ty.clone());
        let copy = self.local(id, span);
        let (yes, no) = (vec![assign(&copy, number(UNSET_COPY), span)], vec![assign(&copy, e, span)]);
        self.push(StmtKind::If(Guard::Expr(test), yes, no), span);
        read(copy)
    }

    /// Copies a value from one place to another.
    pub fn copy(&mut self, from: &Lvalue, to: &Lvalue, span: Span) -> Result<()> {
        // The value of an array is where it is.
        if let CType::Array(_, n) = from.ty.plain() {
            self.scalars(&from.ty, span)?;
            return (0..n.unwrap_or(0)).try_for_each(|i| {
                let index = || Part::Index(constant(i64::from(i), ADDRESS, span));
                let (from, to) = (self.part(from.clone(), index(), span)?, self.part(to.clone(), index(), span)?);
                self.copy(&from, &to, span)
            });
        }
        if !from.ty.is_scalar() || from.width.is_some() {
            let v = self.load(from)?;
            return self.store(to, &v, span);
        }
        let how = self.copied_for(to);
        let e = self.load_for(from, how)?;
        self.store_for(to, e, how, span)
    }

    /// What a scalar is read for that is copied there: a single one of a function always holds a value.
    pub fn copied_for(&self, to: &Lvalue) -> Use {
        let single = matches!(&to.at, At::Direct(d) if {
            let o = &self.objects[d.object];
            o.ty.is_scalar() && matches!(o.parts, Parts::Locals(_))
        });
        if single { Use::Value } else { Use::Copy }
    }

    /// Assignments after which the parts of an object, or of one of a pool, that may hold nothing do so, or are 0.
    pub fn whole_parts(&mut self, id: ObjectId, slot: Option<Expr>, birth: Birth, span: Span) -> Block {
        let o = &self.objects[id];
        let mut block = Block::new();
        for (n, leaf) in o.leaves.iter().enumerate().filter(|(n, _)| o.open[*n]) {
            let mut dims: Vec<u32> = o.pool.and_then(|p| p.elements).into_iter().collect();
            dims.extend(&leaf.dims);
            let (ty, value) = array_of(cell_type(leaf, true), first_value(leaf, true, birth), &dims);
            let base = match &o.parts {
                Parts::Globals(ids) => Base::Global(ids[n]),
                Parts::Locals(ids) => Base::Local(ids[n]),
            };
            let index = |(pool, slot): (crate::memory::Pool, &Expr)| Projection::Index {
                index: index_of(slot.clone()).into(),
                lo: 0,
                len: pool.slots,
            };
            let path = o.pool.zip(slot.as_ref()).map(index).into_iter().collect();
            let place = Place { base, path, ty: ty.clone(), span };
            block.push(assign(&place, Expr { kind: ExprKind::Const(value), ty, span }, span));
        }
        block
    }

    /// That a pointer that is looked at is one that was written.
    pub fn is_known_pointer(&mut self, e: &Expr, span: Span) {
        if !self.session.facts.unset_pointers || value_of(e).is_some() || e.ty != ADDRESS {
            return;
        }
        let number = |n: i64| constant(n, ADDRESS, span);
        let below = binary(BinaryOp::Lt, e.clone(), number(UNSET - NEAR));
        let above = binary(BinaryOp::Lt, number(UNSET + NEAR), e.clone());
        self.check(or(below, above), Check::Bound, WORDS, span);
    }
}
