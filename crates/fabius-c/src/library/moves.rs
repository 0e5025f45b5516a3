//! Functions on memory: to fill it, to copy it and to compare it.

use super::strip_casts;
use crate::birth::Use;
use crate::core::*;
use crate::expressions::Ex;
use crate::library::assign;
use crate::lower::Lower;
use crate::memory::Part;
use crate::pieces::Piece;
use crate::places::{At, Lvalue, Value};
use crate::refusal::{Refusal, Result, unsupported};
use crate::types::{BYTE, CType, LONG};
use fabius_lang::program::*;
use fabius_trace::Span;

/// So many values are written at once at most.
const MOST: i64 = 1024;

/// So many are compared one by one at most.
const MOST_COMPARED: usize = 64;

impl<'a> Lower<'a, '_> {
    /// How many elements of a type some bytes are.
    fn elements(&mut self, bytes: Expr, ty: &CType, span: Span) -> Result<Expr> {
        let size = self.types().size(ty).unwrap_or(1).max(1);
        match value_of(&bytes) {
            Some(b) if b / size > MOST => unsupported(span, format!("more than {MOST} values at once are not written")),
            Some(b) if b % size == 0 && b >= 0 => Ok(constant(b / size, ADDRESS, span)),
            Some(_) => unsupported(span, "a part of a value is not written").map_err(|e: Refusal| {
                e.help("write whole fields or elements: as many bytes as `sizeof` says of some of them")
            }),
            None => {
                let (bytes, number) = (self.keep(bytes), |n| constant(n, ADDRESS, span));
                let above = binary(BinaryOp::Le, number(0), bytes.clone());
                let few = and(above, binary(BinaryOp::Le, bytes.clone(), number(MOST * size)));
                self.check(few, Check::Bound, &format!("more than {MOST} values at once"), span);
                let whole = binary(BinaryOp::Eq, binary(BinaryOp::Rem, bytes.clone(), number(size)), number(0));
                self.check(whole, Check::Bound, "a part of a value is written", span);
                Ok(self.keep(binary(BinaryOp::Div, bytes, number(size))))
            }
        }
    }

    /// Does `work` for each number below `n`.
    fn for_each(&mut self, n: &Expr, span: Span, work: &mut dyn FnMut(&mut Self, Expr) -> Result<()>) -> Result<()> {
        if let Some(n) = value_of(n) {
            return (0..n).try_for_each(|i| work(self, constant(i, ADDRESS, span)));
        }
        let i = self.zeroed(ADDRESS, span);
        let at = self.read_local(i, span);
        self.body.loops += 1;
        let round = self.block(|s| work(s, at.clone()));
        self.body.loops -= 1;
        let (mut round, ()) = round?;
        let next = binary(BinaryOp::Add, at.clone(), constant(1, ADDRESS, span));
        round.push(assign(&self.local(i, span), next, span));
        let more = binary(BinaryOp::Lt, at, n.clone());
        self.push(StmtKind::While(Guard::Expr(more), round), span);
        Ok(())
    }

    /// A place, and those behind it.
    fn following(&mut self, lv: &Lvalue, i: Expr, span: Span) -> Result<Lvalue> {
        if value_of(&i) == Some(0) {
            return Ok(lv.clone());
        }
        match &lv.at {
            At::Direct(d) if self.stays_in_array(d, &i) => {
                let mut next = lv.clone();
                if let At::Direct(d) = &mut next.at
                    && let Some(Part::Index(e)) = d.parts.last_mut()
                {
                    *e = binary(BinaryOp::Add, cast(e.clone(), &ADDRESS), i);
                }
                Ok(next)
            }
            _ => {
                let size = constant(self.types().size(&lv.ty).unwrap_or(1), ADDRESS, span);
                let address = self.address_of(lv)?;
                let address = binary(BinaryOp::Add, address, binary(BinaryOp::Mul, i, size));
                self.deref(Value::scalar(address, lv.ty.clone().pointer()), span)
            }
        }
    }

    /// Whether a pointer to this type says nothing of what is there: `void *`, or one to a struct that is not defined.
    pub(super) fn has_no_values(&self, ty: &CType) -> bool {
        match ty.plain() {
            CType::Void | CType::Function(_) => true,
            CType::Struct(id) => self.types().structs[*id].fields.is_none(),
            _ => false,
        }
    }

    pub(super) fn memset(&mut self, args: &'a [Ex], bzero: bool, span: Span) -> Result<Value> {
        let lv = self.pointed(strip_casts(self.argument(args, 0, span)?), span)?;
        let zero = constant(0, INT, span);
        let byte = if bzero { zero } else { self.number(args, 1, &BYTE, span)? };
        let byte = self.keep(byte);
        let n = self.number(args, if bzero { 1 } else { 2 }, &LONG, span)?;
        let are_bytes = self.session.facts.bytes && lv.ty.same_layout(&BYTE) && lv.ty.is_integer();
        let led_to = matches!(&lv.at, At::Deref { parts, .. } if parts.is_empty());
        if self.has_no_values(&lv.ty) || are_bytes && led_to {
            let address = self.address_of(&lv)?;
            let address = self.keep(address);
            self.is_seen_as(&CType::Void, &BYTE);
            self.fill_bytes(&address, &byte, &n, span)?;
            return Ok(Value::scalar(address, CType::Void.pointer()));
        }
        match self.some_pieces(&lv, &n, span)? {
            Some(pieces) => pieces.iter().try_for_each(|piece| self.fill(piece, &byte, span))?,
            None => {
                let n = self.elements(n, &lv.ty.clone(), span)?;
                self.for_each(&n, span, &mut |s, i| {
                    let place = s.following(&lv, i, span)?;
                    s.fill_place(&place, &byte, span)
                })?;
            }
        }
        self.result(&lv, args)
    }

    pub(super) fn memcpy(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Value> {
        let to = self.pointed(strip_casts(self.argument(args, 0, span)?), span)?;
        let from = self.pointed(strip_casts(self.argument(args, 1, span)?), span)?;
        let n = self.number(args, 2, &LONG, span)?;
        let alike = to.ty.same_layout(&from.ty) && !self.has_no_values(&to.ty);
        let whole = alike && (self.are_elements(&to, &n) && self.are_elements(&from, &n) || value_of(&n).is_none());
        if whole {
            self.copy_elements(name, &to, &from, n, span)?;
            return self.result(&to, args);
        }
        if let Some(pairs) = self.pairs(&to, &from, &n, span)? {
            self.copy_pieces(&pairs, span)?;
            return self.result(&to, args);
        }
        let (n, target, source) = (self.keep(n), self.address_of(&to)?, self.address_of(&from)?);
        let (target, source) = (self.keep(target), self.keep(source));
        for ty in [&to.ty, &from.ty] {
            self.is_seen_as(ty, &CType::Void);
        }
        let is_integer = matches!(to.at, At::Direct(_)) && matches!(to.ty.plain(), CType::Int { .. });
        if name.ends_with("memcpy") && is_integer && value_of(&n) == self.types().size(&to.ty) {
            // All of its bytes are written: what it was before does not matter, and need not have been written.
            let zero = self.zero(span);
            let zero = self.convert(zero, &to.ty, span)?;
            self.store_scalar(&to, zero.parts[0].clone(), span)?;
        }
        self.copy_bytes(&target, &source, &n, span)?;
        Ok(Value::scalar(target, CType::Void.pointer()))
    }

    /// Copies elements of one type.
    fn copy_elements(&mut self, name: &str, to: &Lvalue, from: &Lvalue, n: Expr, span: Span) -> Result<()> {
        let n = self.elements(n, &to.ty.clone(), span)?;
        let mut copy = |s: &mut Self, i: Expr| {
            let (a, b) = (s.following(from, i.clone(), span)?, s.following(to, i, span)?);
            s.copy(&a, &b, span)
        };
        if name.ends_with("memcpy") || value_of(&n).is_some_and(|n| n < 2) {
            return self.for_each(&n, span, &mut copy);
        }
        // They may overlap: from the end, if it is moved upwards.
        let (a, b) = (self.address_of(from)?, self.address_of(to)?);
        let upwards = binary(BinaryOp::Lt, a, b);
        let last = binary(BinaryOp::Sub, n.clone(), constant(1, ADDRESS, span));
        let (back, ()) =
            self.block(|s| s.for_each(&n, span, &mut |s, i| copy(s, binary(BinaryOp::Sub, last.clone(), i))))?;
        let (forth, ()) = self.block(|s| s.for_each(&n, span, &mut copy))?;
        self.push(StmtKind::If(Guard::Expr(upwards), back, forth), span);
        Ok(())
    }

    /// What `memset` and its like return.
    fn result(&mut self, lv: &Lvalue, args: &'a [Ex]) -> Result<Value> {
        let found = self.found.clone();
        let e = self.address_of(lv)?;
        if !self.call_is_looked_at(args) {
            // Nobody takes the address.
            self.found = found;
        }
        Ok(Value::scalar(e, CType::Void.pointer()))
    }

    /// Compares so many bytes, if they are scalars of the same sizes on both sides. Otherwise a function does that by characters.
    pub(super) fn memcmp(&mut self, args: &'a [Ex], span: Span) -> Result<Option<Value>> {
        let found = self.found.clone();
        let (block, result) = self.block(|s| {
            let [a, b] = [0, 1].map(|n| s.argument(args, n, span).and_then(|e| s.pointed(strip_casts(e), span)));
            let (a, b) = (a?, b?);
            let n = s.number(args, 2, &LONG, span)?;
            let pairs = match (s.typed_pieces(&a, &n, span)?, s.typed_pieces(&b, &n, span)?) {
                (Some(a), Some(b)) if a.len() == b.len() && a.len() <= MOST_COMPARED => a.into_iter().zip(b).collect(),
                _ => Vec::new(),
            };
            let alike = |(a, b): &(Piece, Piece)| {
                let are_single = [a, b].map(|piece| piece.place.ty.plain().is_scalar());
                (a.at, a.bytes) == (b.at, b.bytes) && a.bytes <= 8 && are_single == [true; 2]
            };
            if pairs.is_empty() || !pairs.iter().all(alike) {
                return Ok(None);
            }
            let result = s.zeroed(INT, span);
            s.compare_pieces(&pairs, 0, value_of(&n).unwrap_or(0), result, span)?;
            Ok(Some(Value::scalar(s.read_local(result, span), crate::types::INT)))
        })?;
        match result {
            Some(_) => self.body.out.extend(block),
            None => self.found = found,
        }
        Ok(result)
    }
}

impl Lower<'_, '_> {
    /// Whether so many bytes are elements of the type of a place, which stands in an array, perhaps.
    fn are_elements(&self, lv: &Lvalue, bytes: &Expr) -> bool {
        let (Some(n), Some(size)) = (value_of(bytes), self.types().size(&lv.ty)) else { return false };
        let in_array = match &lv.at {
            At::Direct(d) => matches!(d.parts.last(), Some(Part::Index(_))),
            At::Deref { parts, .. } => matches!(parts.last(), None | Some(Part::Index(_))),
        };
        size > 0 && n % size == 0 && (n == size || in_array)
    }

    /// The pieces that so many bytes from a place on are, where that is known and the place has a type.
    fn typed_pieces(&self, lv: &Lvalue, bytes: &Expr, span: Span) -> Result<Option<Vec<Piece>>> {
        match value_of(bytes) {
            Some(n) if n > 0 && !self.has_no_values(&lv.ty) => self.pieces(lv, n, span),
            _ => Ok(None),
        }
    }

    /// The same where the bytes are not elements that a pointer leads to, nor the whole place.
    fn some_pieces(&self, lv: &Lvalue, bytes: &Expr, span: Span) -> Result<Option<Vec<Piece>>> {
        let led_to = matches!(&lv.at, At::Deref { parts, .. } if parts.is_empty());
        let is_whole = value_of(bytes) == self.types().size(&lv.ty);
        match self.are_elements(lv, bytes) && (led_to || is_whole) {
            true => Ok(None),
            false => self.typed_pieces(lv, bytes, span),
        }
    }

    /// What is copied where, if the pieces on both sides are alike.
    fn pairs(&self, to: &Lvalue, from: &Lvalue, bytes: &Expr, span: Span) -> Result<Option<Vec<(Piece, Piece)>>> {
        let (Some(to), Some(from)) = (self.typed_pieces(to, bytes, span)?, self.typed_pieces(from, bytes, span)?)
        else {
            return Ok(None);
        };
        let alike = to.len() == from.len() && to.iter().zip(&from).all(|(a, b)| a.fits(b) || is_in_bits(a, b));
        Ok(alike.then(|| to.into_iter().zip(from).collect()))
    }

    /// Copies pieces; all of them are read before one is written, as they may overlap.
    fn copy_pieces(&mut self, pairs: &[(Piece, Piece)], span: Span) -> Result<()> {
        let mut values = Vec::new();
        for (to, from) in pairs {
            let (e, how) = match to.fits(from) {
                true => {
                    let how = if to.is_byte() { Use::Value } else { self.copied_for(&to.place) };
                    (self.load_for(&from.place, how)?, how)
                }
                false => (self.bits_of_a_number(&to.place.ty, &from.place, span)?, Use::Value),
            };
            values.push((self.keep(e), how));
        }
        for ((to, _), (e, how)) in pairs.iter().zip(values) {
            self.found.bytes |= to.is_byte();
            let e = if how == Use::Value { cast_to(e, &to.place.ty.core()) } else { e };
            self.store_for(&to.place, e, how, span)?;
        }
        Ok(())
    }

    /// Compares pieces in order; `at` is where the last one ended, and so many bytes are compared in all.
    fn compare_pieces(
        &mut self,
        pairs: &[(Piece, Piece)],
        at: i64,
        bytes: i64,
        result: LocalId,
        span: Span,
    ) -> Result<()> {
        if pairs.first().map_or(bytes, |(first, _)| first.at) > at {
            let words = "bytes between the fields of a struct are compared, which have no value";
            self.check(boolean(false, span), Check::Bound, words, span);
        }
        let Some(((a, b), others)) = pairs.split_first() else { return Ok(()) };
        let [x, y] = [a, b].map(|piece| self.bits_to_compare(piece, span));
        let (x, y) = (self.keep(x?), self.keep(y?));
        let (rest, ()) = self.block(|s| s.compare_pieces(others, a.at + a.bytes, bytes, result, span))?;
        // The first byte that differs is the lowest.
        let byte = |e: &Expr, n: i64| {
            let shifted = binary(BinaryOp::Shr, e.clone(), constant(8 * n, WORD, span));
            cast(binary(BinaryOp::BitAnd, shifted, constant(0xff, WORD, span)), &INT)
        };
        let difference = |n: i64| binary(BinaryOp::Sub, byte(&x, n), byte(&y, n));
        let difference = (0..a.bytes - 1).rev().fold(difference(a.bytes - 1), |higher, n| {
            let same = binary(BinaryOp::Eq, byte(&x, n), byte(&y, n));
            if_else(same, higher, difference(n))
        });
        let differs = vec![assign(&self.local(result, span), difference, span)];
        let same = binary(BinaryOp::Eq, x.clone(), y.clone());
        self.push(StmtKind::If(Guard::Expr(same), rest, differs), span);
        Ok(())
    }

    /// The bytes of a piece as a number.
    fn bits_to_compare(&mut self, piece: &Piece, span: Span) -> Result<Expr> {
        let e = self.load_scalar(&piece.place)?;
        let e = self.simple(e);
        match piece.place.ty.plain() {
            CType::Float(_) => return self.bits_of(e, &piece.place.ty, span),
            CType::Pointer(_) => self.is_known_pointer(&e, span),
            _ => {}
        }
        Ok(narrowed(e, (piece.bytes * 8) as u8, false))
    }

    /// All bytes of a floating-point number as those of an integer, or the other way.
    fn bits_of_a_number(&mut self, to: &CType, from: &Lvalue, span: Span) -> Result<Expr> {
        let e = self.load_scalar(from)?;
        let e = self.simple(e);
        let e = match (to.plain(), from.ty.plain()) {
            (CType::Float(4), CType::Int { .. }) => self.float_of_bits(narrowed(e, 32, false), span)?,
            (CType::Float(_), CType::Int { .. }) => e,
            _ => self.bits_of(e, &from.ty, span)?,
        };
        Ok(cast_to(e, &to.core()))
    }
}

/// Whether one of two pieces is a floating-point number, and the other one an integer that has as many bits.
fn is_in_bits(a: &Piece, b: &Piece) -> bool {
    let numbers = matches!(
        (a.place.ty.plain(), b.place.ty.plain()),
        (CType::Float(4 | 8), CType::Int { .. }) | (CType::Int { .. }, CType::Float(4 | 8))
    );
    numbers && (a.at, a.bytes) == (b.at, b.bytes) && !a.is_run() && !b.is_run()
}
