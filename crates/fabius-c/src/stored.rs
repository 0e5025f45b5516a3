//! How what C names is stored: most scalars are a core variable each. A bit-field is some bits of the integer that its run is,
//! and what a union holds is in cells, so that each of its fields is the same memory seen in another way.

use crate::birth::{Use, cell_type, kept};
use crate::core::*;
use crate::lower::Lower;
use crate::memory::*;
use crate::refusal::{Result, unsupported, wrong};
use crate::types::{Bits, CType, Cells, Leaf, LeafKind};
use fabius_lang::program::*;
use fabius_trace::Span;

/// A scalar as it is stored: one place or several, the lowest bytes first.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub cells: Vec<Place>,
    /// Of a bit-field.
    pub bits: Option<Bits>,
    /// The type that it has in C.
    pub ty: CType,
    /// The part of an object that it is in, and its type.
    pub part: (ObjectId, usize),
    pub leaf: CType,
    pub kind: LeafKind,
    /// How many bits of a cell are the program's.
    pub cell_bits: i64,
    /// Whether nothing may have been written to it.
    pub open: bool,
}

/// A part of a union under way.
struct Inside {
    cells: Cells,
    offset: Expr,
}

impl Lower<'_, '_> {
    /// How a scalar part of an object is stored.
    pub fn stored(&mut self, d: &Direct, span: Span) -> Result<Stored> {
        let number = |n: i64| constant(n, ADDRESS, span);
        let o = self.objects[d.object].clone();
        let mut dims = Vec::new();
        let mut indexes: Vec<Expr> = Vec::new();
        if let Some(p) = o.pool {
            dims.push(p.slots);
            dims.extend(p.elements);
            indexes.push(d.slot.clone().unwrap_or_else(|| number(0)));
            if p.elements.is_some() {
                indexes.push(d.element.clone().unwrap_or_else(|| number(0)));
            }
        }
        let (mut ty, mut fields, mut bits) = (o.ty.clone(), Vec::new(), None);
        // Bytes of a run, which its type may have more of.
        let mut run = None;
        let mut inside: Option<Inside> = None;
        for part in &d.parts {
            match (part, ty.plain().clone()) {
                (Part::Field(i), CType::Struct(id)) => {
                    let s = &self.types().structs[id];
                    let f = &s.fields.as_ref().expect("it is defined")[*i];
                    if let Some(cells) = s.cells.filter(|_| inside.is_none()) {
                        inside = Some(Inside { cells, offset: number(0) });
                    }
                    match &mut inside {
                        Some(u) => u.offset = add(u.offset.clone(), number(f.offset)),
                        None => fields.push(f.bits.map_or(*i, |b| b.leader)),
                    }
                    (ty, bits) = (f.ty.clone(), f.bits);
                }
                (Part::Index(e), CType::Array(of, n)) => {
                    match &mut inside {
                        None => indexes.push(e.clone()),
                        Some(_) if n.is_none() => {
                            return unsupported(span, "a flexible array in a union is not taken");
                        }
                        Some(u) => {
                            let size = self.session.types.size(&of).unwrap_or(1);
                            u.offset = add(u.offset.clone(), scaled(e.clone(), size));
                            let i = cast(e.clone(), &ADDRESS);
                            let there = and(
                                binary(BinaryOp::Le, number(0), i.clone()),
                                binary(BinaryOp::Lt, i, number(i64::from(n.unwrap_or(0)))),
                            );
                            self.check(there, Check::OutOfBounds, "beyond the end of the array", span);
                        }
                    }
                    ty = (*of).clone();
                }
                (Part::Run(i), CType::Struct(id)) => {
                    let f = &self.types().structs[id].fields.as_ref().expect("it is defined")[*i];
                    let of = f.bits.expect("it leads a run");
                    match &mut inside {
                        Some(u) => u.offset = add(u.offset.clone(), number(f.offset)),
                        None => fields.push(*i),
                    }
                    (ty, run) = (of.cell(), Some(of.bytes));
                }
                (Part::Cell(i), CType::Struct(id)) => {
                    let cells = self.types().structs[id].cells.expect("it is a union");
                    let offset = number(i64::from(*i) * cells.bytes);
                    // Of a union in a union the cells are the outer one's.
                    match &mut inside {
                        Some(u) => u.offset = add(u.offset.clone(), offset),
                        None => inside = Some(Inside { cells, offset }),
                    }
                    ty = cells.cell();
                }
                (Part::Byte(i), CType::Int { bits: all, .. }) => {
                    bits = Some(Bits { leader: 0, bytes: all / 8, shift: i * 8, width: 8 });
                    ty = CType::Int { bits: 8, signed: false };
                }
                _ => return wrong(span, "this is no single value"),
            }
        }
        let Some(leaf) = o.leaf(&fields) else { return wrong(span, "this is no single value") };
        dims.extend(&o.leaves[leaf].dims);
        let base = match &o.parts {
            Parts::Globals(ids) => Base::Global(ids[leaf]),
            Parts::Locals(ids) => Base::Local(ids[leaf]),
        };
        let core = cell_type(&o.leaves[leaf], o.open[leaf]);
        let place = |indexes: Vec<Expr>| {
            let steps = indexes.into_iter().zip(&dims);
            let path =
                steps.map(|(e, len)| Projection::Index { index: index_of(e).into(), lo: 0, len: *len }).collect();
            Place { base: base.clone(), path, ty: core.clone(), span }
        };
        if inside.is_some() && ty == CType::Float(16) {
            return unsupported(span, "a `long double` in a union is not taken");
        }
        let cells = match inside {
            None => vec![place(indexes)],
            Some(Inside { cells, .. }) if cells.count == 1 => vec![place(indexes)],
            Some(Inside { cells, offset }) => {
                let of_run = run.or(bits.map(|b| b.bytes)).map(i64::from);
                let bytes = of_run.unwrap_or_else(|| self.types().size(&ty).unwrap_or(1));
                if bytes > 8 || bytes % cells.bytes != 0 {
                    return unsupported(span, format!("a part of a union that has {bytes} bytes is not taken"));
                }
                let first = binary(BinaryOp::Div, offset, number(cells.bytes));
                let each = (0..bytes / cells.bytes).map(|i| {
                    let mut all = indexes.clone();
                    all.push(add(first.clone(), number(i)));
                    place(all)
                });
                each.collect()
            }
        };
        let Leaf { ty: leaf_type, kind, .. } = o.leaves[leaf].clone();
        let cell_bits = width(&leaf_type.core());
        Ok(Stored { cells, bits, ty, part: (d.object, leaf), leaf: leaf_type, kind, cell_bits, open: o.open[leaf] })
    }

    /// The core's place of a scalar that is stored as it is.
    pub fn place(&mut self, d: &Direct, span: Span) -> Result<Place> {
        let stored = self.stored(d, span)?;
        match stored.cells.as_slice() {
            [one] if stored.bits.is_none() && same_width(&stored.leaf.core(), &stored.ty.core()) => Ok(one.clone()),
            _ => unsupported(span, "an atomic operation on a part of a union or on a bit-field is not taken"),
        }
    }

    /// Reads a scalar into a local, as one step, together with the checks that belong to it.
    pub fn read_stored(&mut self, d: &Direct, stored: &Stored, to: &Place, how: Use) -> Result<()> {
        let span = to.span;
        // A byte of an integer is no copy of it.
        let how = if stored.bits.is_some() { Use::Value } else { how };
        let is_looked_at = how == Use::Value && self.is_looked_at(stored);
        let mut block = match is_looked_at && self.may_choose(stored) {
            true => self.choose(stored, span)?,
            false => Block::new(),
        };
        if let [one] = stored.cells.as_slice()
            && (!is_looked_at || !block.is_empty())
        {
            let value = match how {
                Use::Copy if stored.open => read(one.clone()),
                _ => stored.seen(vec![read(one.clone())]),
            };
            block.push(stmt(StmtKind::Assign(to.clone(), cast_to(value, &to.ty)), span));
            self.access(d, block);
            return Ok(());
        }
        let is_checked = is_looked_at && block.is_empty();
        let mut values = Vec::new();
        for cell in &stored.cells {
            let id = self.temp(cell.ty.clone());
            let local = self.local(id, span);
            block.push(stmt(StmtKind::Assign(local.clone(), read(cell.clone())), span));
            values.push(read(local));
        }
        let value = cast_to(stored.seen(values.clone()), &to.ty);
        let taken = stmt(StmtKind::Assign(to.clone(), value), span);
        if is_checked {
            self.access(d, block);
            self.is_written(stored, &values, span);
            self.body.out.push(taken);
        } else {
            block.push(taken);
            self.access(d, block);
        }
        Ok(())
    }

    /// Writes a scalar as one step. Of a bit-field the others of its run are read first, in a step of its own.
    pub fn write_stored(&mut self, d: &Direct, stored: &Stored, e: Expr, how: Use, span: Span) -> Result<()> {
        if how == Use::Copy {
            self.is_copied_to(stored, &e);
        }
        let whole = stored.bits.is_none_or(|b| b.width == b.bytes * 8);
        let value = match stored.bits {
            Some(b) if !whole => {
                let id = self.temp(WORD);
                let old = self.local(id, span);
                let run = Stored { bits: None, ty: CType::Int { bits: 64, signed: false }, ..stored.clone() };
                self.read_stored(d, &run, &old, Use::Copy)?;
                let missing = stored.open && stored.kind == LeafKind::Run && stored.cell_bits < 64;
                changed(read(old), cast(e, &WORD), b, missing, span)
            }
            _ if how == Use::Copy && stored.open => self.copy_of(stored, e),
            _ if stored.cells.len() == 1 => cast_to(e, &stored.leaf.core()),
            _ => e,
        };
        let block = match stored.cells.as_slice() {
            [one] => vec![stmt(StmtKind::Assign(one.clone(), cast_to(value, &one.ty)), span)],
            all => {
                let word = self.simple(cast(value, &WORD));
                let piece = |(i, cell): (usize, &Place)| {
                    let by = constant(i as i64 * stored.cell_bits, WORD, span);
                    let value = cast(binary(BinaryOp::Shr, word.clone(), by), &stored.leaf.core());
                    let value = cast_to(value, &cell.ty);
                    stmt(StmtKind::Assign(cell.clone(), value), span)
                };
                all.iter().enumerate().map(piece).collect()
            }
        };
        self.access(d, block);
        Ok(())
    }

    /// The value that a static variable has at first.
    pub fn set_initial(&mut self, d: &Direct, n: i64, span: Span) -> Result<()> {
        let stored = self.stored(d, span)?;
        let n = if stored.is_short_float() { i64::from((f64::from_bits(n as u64) as f32).to_bits()) } else { n };
        let mut value = constant(n, WORD, span);
        if let Some(b) = stored.bits {
            let run = Stored { bits: None, ty: CType::Int { bits: 64, signed: false }, ..stored.clone() };
            let now = stored.cells.iter().map(|cell| match self.initial(cell) {
                Some(Value::Int(n)) => constant(*n, cell.ty.clone(), span),
                _ => constant(0, cell.ty.clone(), span),
            });
            value = changed(cast(run.seen(now.collect()), &WORD), value, b, false, span);
        }
        for (i, cell) in stored.cells.iter().enumerate() {
            let piece = binary(BinaryOp::Shr, value.clone(), constant(i as i64 * stored.cell_bits, WORD, span));
            let n = value_of(&cast_to(piece, &stored.leaf.core())).unwrap_or(n);
            if let Some(to) = self.initial(cell) {
                *to = Value::Int(n);
            }
        }
        Ok(())
    }

    /// Where the initial value of a place with constant indexes is.
    fn initial(&mut self, place: &Place) -> Option<&mut Value> {
        let Base::Global(id) = place.base else { return None };
        let mut value = &mut self.globals[id].init;
        for step in &place.path {
            let Projection::Index { index, .. } = step else { return None };
            let at = usize::try_from(value_of(index)?).ok()?;
            let Value::Tuple(parts) = value else { return None };
            value = parts.get_mut(at)?;
        }
        Some(value)
    }
}

impl Stored {
    /// Whether it is a `float` that is held in its 32 bits, as one of a union is.
    pub fn is_short_float(&self) -> bool {
        self.ty.plain() == &CType::Float(4) && !self.leaf.is_float()
    }

    /// The value in C, of what was read from the cells.
    pub fn seen(&self, cells: Vec<Expr>) -> Expr {
        let span = cells[0].span;
        let ty = self.ty.core();
        let count = cells.len();
        let joined = cells.into_iter().enumerate().map(|(i, e)| {
            if count == 1 {
                return e;
            }
            let by = constant(i as i64 * self.cell_bits, WORD, span);
            binary(BinaryOp::Shl, cast(cast(e, &self.leaf.core()), &WORD), by)
        });
        let joined = joined.reduce(|a, b| binary(BinaryOp::BitOr, a, b)).expect("there is a cell");
        match self.bits {
            Some(b) => {
                let signed = matches!(self.ty.plain(), CType::Int { signed: true, .. });
                let shifted = binary(BinaryOp::Shr, cast(joined, &WORD), constant(i64::from(b.shift), WORD, span));
                cast(narrowed(shifted, b.width, signed), &ty)
            }
            None => cast_to(joined, &ty),
        }
    }
}

/// A run with other bits in place of those of one field.
fn changed(run: Expr, bits: Expr, b: Bits, missing: bool, span: Span) -> Expr {
    let ones = if b.width == 64 { u64::MAX } else { (1 << b.width) - 1 };
    let word = |n: u64| constant(n as i64, WORD, span);
    let kept = binary(BinaryOp::BitAnd, run, word(kept(ones, b.shift, missing)));
    let new = binary(BinaryOp::BitAnd, bits, word(ones));
    binary(BinaryOp::BitOr, kept, binary(BinaryOp::Shl, new, word(u64::from(b.shift))))
}

fn width(ty: &Type) -> i64 {
    match ty {
        Type::Fixed { bits, .. } => i64::from(*bits),
        _ => 64,
    }
}

fn same_width(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Fixed { bits: a, .. }, Type::Fixed { bits: b, .. }) => a == b,
        _ => a == b,
    }
}
