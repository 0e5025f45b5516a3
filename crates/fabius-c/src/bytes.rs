//! The bytes of scalars: what a pointer to characters means in an object that has none. A byte that is written is a step in which
//! the integer is read and written. What is copied or filled without a word of its type is so by scalars, where that can be.

use crate::birth::{MISSING, UNSET, UNSET_BYTES, UNSET_COPY, Use};
use crate::core::*;
use crate::lower::Lower;
use crate::memory::*;
use crate::places::{At, Lvalue, View};
use crate::refusal::Result;
use crate::stored::Stored;
use crate::types::{BYTE, CType, StructId};
use crate::unwritten::{WORDS, in_part};
use fabius_lang::program::*;
use fabius_trace::Span;

/// More bytes than these are not told apart.
const MOST: usize = 160;

fn is_byte(ty: &CType) -> bool {
    matches!(ty.plain(), CType::Int { bits: 8, .. })
}

/// What scalars have in common that are copied to each other as a whole.
#[derive(PartialEq)]
struct Class {
    ty: CType,
    bytes: i64,
    /// Whether it is a run of bit-fields.
    is_run: bool,
}

impl Lower<'_, '_> {
    /// A pointer becomes one of another type: whose bytes may be looked at, and whether bytes are.
    pub fn is_seen_as(&mut self, from: &CType, to: &CType) {
        let to_byte = is_byte(to);
        let is_void = *from.plain() == CType::Void;
        if (to_byte || *to.plain() == CType::Void) && self.has_scalars(from) {
            self.found.viewed.insert(from.plain().clone());
        }
        self.found.bytes |= to_byte && !is_byte(from) && (is_void || self.has_scalars(from));
    }

    /// Whether a type is a scalar of several bytes, or has some.
    fn has_scalars(&self, ty: &CType) -> bool {
        match ty.plain() {
            CType::Int { bits, .. } => *bits > 8,
            CType::Pointer(_) | CType::Float(4 | 8) => true,
            CType::Array(of, _) => self.has_scalars(of),
            CType::Struct(id) => self.is_plain_struct(*id),
            _ => false,
        }
    }

    fn is_plain_struct(&self, id: StructId) -> bool {
        let s = &self.types().structs[id];
        s.cells.is_some() || !s.sync && s.fields.iter().flatten().any(|f| self.has_scalars(&f.ty))
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
                    let is_run = matches!(way.last(), Some(Part::Run(_)));
                    let Some((offset, own)) = self.extent(&ty, &way, &scalar).filter(|_| !is_run) else { continue };
                    let CType::Int { .. } = scalar.plain() else { continue };
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

    /// Where a scalar of a type begins, and how many bytes it has.
    pub fn extent(&self, ty: &CType, way: &[Part], scalar: &CType) -> Option<(i64, i64)> {
        let size = self.types().size(scalar)?;
        let (last, before) = match way.split_last() {
            Some((last @ (Part::Run(_) | Part::Cell(_)), before)) => (last, before),
            _ => return Some((self.offset_of_way(ty, way)?, size)),
        };
        let start = self.offset_of_way(ty, before)?;
        let around = self.type_at(ty, &ways(before))?;
        let CType::Struct(id) = around.plain() else { return None };
        let (offset, bytes) = match last {
            Part::Run(i) => {
                let f = &self.types().structs[*id].fields.as_ref()?[*i];
                (f.offset, i64::from(f.bits?.bytes))
            }
            Part::Cell(i) => (i64::from(*i) * size, size),
            _ => return None,
        };
        Some((start + offset, bytes))
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
        let stored = self.stored(d, span)?;
        if self.looks_for_races() && !stored.cells.iter().all(|cell| self.is_private(cell)) {
            let words = "a byte of an integer is written, where there are threads";
            self.check(boolean(false, span), Check::Bound, words, span);
            return Ok(());
        }
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

    /// Copies bytes: a scalar as a whole, where one begins on both sides, and an integer where it is written to; others one by one.
    /// Those between the parts of a struct have no value, and get none.
    pub fn copy_bytes(&mut self, to: &Expr, from: &Expr, n: &Expr, span: Span) -> Result<()> {
        self.found.bytes = true;
        let index = self.temp(ADDRESS);
        self.set_local(index, constant(0, ADDRESS, span), span);
        let n = self.simple(cast(n.clone(), &ADDRESS));
        let i = self.read_local(index, span);
        let (body, ()) = self.block(|s| {
            let [a, b] = [from, to].map(|at| s.simple(binary(BinaryOp::Add, at.clone(), i.clone())));
            let (mut rest, ()) = s.block(|s| {
                s.copy_byte(&a, &b, span)?;
                s.advance(index, 1, span);
                Ok(())
            })?;
            for class in s.classes(span)? {
                let (sources, targets) = (s.beginnings(&a, &class, span)?, s.beginnings(&b, &class, span)?);
                let [is_source, is_target] =
                    [&sources, &targets].map(|all| is_one_of(all).unwrap_or_else(|| boolean(false, span)));
                let room = s.has_room(&i, class.bytes, &n);
                let [from, to] = [&a, &b].map(|at| meant(at, &class.ty, span));
                let (whole, ()) = s.block(|s| {
                    let e = s.load_from(&from, sources.clone(), Use::Copy)?;
                    s.store_to(&to, targets.clone(), e, Use::Copy, span)?;
                    s.advance(index, class.bytes, span);
                    Ok(())
                })?;
                let when = |e: Expr, yes: Block, no: Block| match value_of(&e) {
                    Some(0) => no,
                    _ => vec![stmt(StmtKind::If(Guard::Expr(e), yes, no), span)],
                };
                let is_number = matches!(class.ty, CType::Float(_));
                if class.is_run || !is_number && !matches!(class.ty, CType::Int { .. }) {
                    rest = when(and(and(is_target, is_source), room), whole, rest);
                    continue;
                }
                if is_number {
                    let (scattered, ()) = s.block(|s| {
                        let e = s.load_from(&from, sources, Use::Value)?;
                        let e = s.bits_of(e, &class.ty, span)?;
                        s.scatter(e, &b, class.bytes, span)?;
                        s.advance(index, class.bytes, span);
                        Ok(())
                    })?;
                    rest = when(and(is_source.clone(), room.clone()), scattered, rest);
                }
                let (gathered, ()) = s.block(|s| {
                    let e = s.gather(&a, class.bytes, span)?;
                    let e = if class.ty == CType::Float(4) { s.float_of_bits(e, span)? } else { e };
                    s.store_to(&to, targets, cast_to(e, &class.ty.core()), Use::Value, span)?;
                    s.advance(index, class.bytes, span);
                    Ok(())
                })?;
                rest = when(and(is_target, room), when(is_source, whole, gathered), rest);
            }
            s.body.out.extend(rest);
            Ok(())
        })?;
        let more = binary(BinaryOp::Lt, i, n);
        self.push(StmtKind::While(Guard::Expr(more), body), span);
        Ok(())
    }

    /// Writes a byte to all of so many: to scalars as a whole, and to others one by one.
    pub fn fill_bytes(&mut self, to: &Expr, byte: &Expr, n: &Expr, span: Span) -> Result<()> {
        self.found.bytes = true;
        let index = self.temp(ADDRESS);
        self.set_local(index, constant(0, ADDRESS, span), span);
        let n = self.simple(cast(n.clone(), &ADDRESS));
        let i = self.read_local(index, span);
        let (body, ()) = self.block(|s| {
            let at = s.simple(binary(BinaryOp::Add, to.clone(), i.clone()));
            let is_none = s.between_parts(&at, span)?;
            let (mut one, ()) = s.block(|s| s.store_scalar(&meant(&at, &BYTE, span), byte.clone(), span))?;
            if let Some(is_none) = is_none {
                one = vec![stmt(StmtKind::If(Guard::Expr(is_none), Block::new(), one), span)];
            }
            let (next, ()) = s.block(|s| {
                s.advance(index, 1, span);
                Ok(())
            })?;
            let mut rest: Block = one.into_iter().chain(next).collect();
            for class in s.classes(span)? {
                let targets = s.beginnings(&at, &class, span)?;
                let Some(begins) = is_one_of(&targets) else { continue };
                let (whole, ()) = s.block(|s| {
                    let e = s.filled(&class.ty, class.bytes, byte, span)?;
                    s.store_to(&meant(&at, &class.ty, span), targets, e, Use::Copy, span)?;
                    s.advance(index, class.bytes, span);
                    Ok(())
                })?;
                let fits = and(begins, s.has_room(&i, class.bytes, &n));
                rest = vec![stmt(StmtKind::If(Guard::Expr(fits), whole, rest), span)];
            }
            s.body.out.extend(rest);
            Ok(())
        })?;
        let more = binary(BinaryOp::Lt, i, n);
        self.push(StmtKind::While(Guard::Expr(more), body), span);
        Ok(())
    }

    fn advance(&mut self, index: LocalId, by: i64, span: Span) {
        let next = binary(BinaryOp::Add, self.read_local(index, span), constant(by, ADDRESS, span));
        self.set_local(index, next, span);
    }

    /// Whether behind so many of the bytes there are so many more.
    fn has_room(&self, i: &Expr, bytes: i64, n: &Expr) -> Expr {
        binary(BinaryOp::Le, add(i.clone(), constant(bytes, ADDRESS, i.span)), n.clone())
    }

    /// The scalars that are more than a character, and that those have whose bytes are looked at.
    fn classes(&self, span: Span) -> Result<Vec<Class>> {
        let mut classes: Vec<Class> = Vec::new();
        for viewed in &self.session.facts.viewed {
            for (way, scalar) in self.scalars(viewed, span)? {
                let is_run = matches!(way.last(), Some(Part::Run(_)));
                let ty = match scalar.plain() {
                    CType::Int { bits: 8, .. } if !is_run => continue,
                    CType::Int { bits, .. } => CType::Int { bits: *bits, signed: false },
                    CType::Pointer(_) => CType::Void.pointer(),
                    other @ (CType::Bool | CType::Float(4 | 8)) => other.clone(),
                    _ => continue,
                };
                let Some((_, bytes)) = self.extent(viewed, &way, &scalar) else { continue };
                let class = Class { ty, bytes, is_run };
                if !classes.contains(&class) {
                    classes.push(class);
                }
            }
        }
        Ok(classes)
    }

    /// The scalars of a class that an address may mean, whose bytes are looked at. None if they are very many.
    fn beginnings(&self, address: &Expr, class: &Class, span: Span) -> Result<Vec<View>> {
        let mut all = Vec::new();
        for ty in &self.session.facts.viewed {
            let scalars = self.scalars(ty, span)?;
            for home in self.homes(ty) {
                for (way, scalar) in &scalars {
                    let Some((offset, bytes)) = self.extent(ty, way, scalar) else { continue };
                    let is_run = matches!(way.last(), Some(Part::Run(_)));
                    let is_bool = |ty: &CType| *ty.plain() == CType::Bool;
                    let alike = scalar.same_layout(&class.ty) && is_bool(scalar) == is_bool(&class.ty);
                    if !alike || (bytes, is_run) != (class.bytes, class.is_run) {
                        continue;
                    }
                    let back = constant(-offset, ADDRESS, span);
                    let (condition, mut direct) = self.resolve(&add(address.clone(), back), &home);
                    direct.parts.extend(way.clone());
                    all.push((condition, direct));
                }
            }
        }
        Ok(if all.len() > MOST { Vec::new() } else { all })
    }

    /// The bits of a floating-point number that has a value.
    pub fn bits_of(&mut self, e: Expr, ty: &CType, span: Span) -> Result<Expr> {
        let e = self.simple(e);
        let known = binary(BinaryOp::Ne, e.clone(), constant(UNSET, e.ty.clone(), span));
        self.check(known, Check::Bound, WORDS, span);
        if *ty.plain() == CType::Float(4) { self.bits_of_float(e, span) } else { Ok(cast(e, &WORD)) }
    }

    /// Writes a number byte by byte.
    fn scatter(&mut self, e: Expr, to: &Expr, bytes: i64, span: Span) -> Result<()> {
        let e = self.simple(cast(e, &WORD));
        let at = self.zeroed(ADDRESS, span);
        let k = self.read_local(at, span);
        let (body, ()) = self.block(|s| {
            let b = s.simple(binary(BinaryOp::Add, to.clone(), k.clone()));
            let by = cast(binary(BinaryOp::Mul, k.clone(), constant(8, ADDRESS, span)), &WORD);
            let byte = cast(binary(BinaryOp::Shr, e.clone(), by), &BYTE.core());
            s.store_scalar(&meant(&b, &BYTE, span), byte, span)?;
            s.advance(at, 1, span);
            Ok(())
        })?;
        let more = binary(BinaryOp::Lt, k, constant(bytes, ADDRESS, span));
        self.push(StmtKind::While(Guard::Expr(more), body), span);
        Ok(())
    }

    /// So many bytes as one number.
    fn gather(&mut self, from: &Expr, bytes: i64, span: Span) -> Result<Expr> {
        let (number, at) = (self.zeroed(WORD, span), self.zeroed(ADDRESS, span));
        let k = self.read_local(at, span);
        let (body, ()) = self.block(|s| {
            let a = s.simple(binary(BinaryOp::Add, from.clone(), k.clone()));
            let byte = s.load_scalar(&meant(&a, &BYTE, span))?;
            let by = cast(binary(BinaryOp::Mul, k.clone(), constant(8, ADDRESS, span)), &WORD);
            let shifted = binary(BinaryOp::Shl, cast(byte, &WORD), by);
            let so_far = s.read_local(number, span);
            s.set_local(number, binary(BinaryOp::BitOr, so_far, shifted), span);
            s.advance(at, 1, span);
            Ok(())
        })?;
        let more = binary(BinaryOp::Lt, k, constant(bytes, ADDRESS, span));
        self.push(StmtKind::While(Guard::Expr(more), body), span);
        Ok(self.read_local(number, span))
    }

    /// Copies one byte.
    fn copy_byte(&mut self, a: &Expr, b: &Expr, span: Span) -> Result<()> {
        let (no_source, no_target) = (self.between_parts(a, span)?, self.between_parts(b, span)?);
        let (mut copied, ()) = self.block(|s| {
            let byte = s.load_scalar(&meant(a, &BYTE, span))?;
            s.store_scalar(&meant(b, &BYTE, span), byte, span)
        })?;
        if let Some(is_none) = no_source {
            let (unset, ()) = self.block(|s| s.leave_unset(&meant(b, &BYTE, span), span))?;
            copied = vec![stmt(StmtKind::If(Guard::Expr(is_none), unset, copied), span)];
        }
        match no_target {
            Some(is_none) => self.push(StmtKind::If(Guard::Expr(is_none), Block::new(), copied), span),
            None => self.body.out.extend(copied),
        }
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
            let Some((at, bytes)) = self.extent(ty, &way, &scalar) else { return Ok(Vec::new()) };
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

/// What an address means as one of this type.
fn meant(address: &Expr, ty: &CType, span: Span) -> Lvalue {
    let at = At::Deref { address: address.clone(), root: ty.clone(), parts: Vec::new() };
    Lvalue { at, ty: ty.clone(), width: None, span }
}

/// Whether an address means one of these.
fn is_one_of(views: &[View]) -> Option<Expr> {
    views.iter().map(|(condition, _)| condition.clone()).reduce(or)
}
