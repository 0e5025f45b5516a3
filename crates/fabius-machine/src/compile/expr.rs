//! Expressions and places to instructions without recursion at run time.

use super::Compiler;
use super::scan::is_plain;
use crate::code::{Area, Arg, Beyond, Cmp, Copy, Fix, Info, Instr, Loc, Op, Shape};
use crate::layout::{flatten, words_of};
use fabius_lang::program::{Base, BinaryOp, Check, Expr, ExprKind, Place, Projection, Type, UnaryOp, Value};
use fabius_trace::Span;

/// A computed value: its first word, and what read it.
#[derive(Clone, Copy)]
pub(super) struct Val {
    pub(super) arg: Arg,
    pub(super) span: Span,
}

impl<'p> Compiler<'p> {
    pub(super) fn words(&self, ty: &Type) -> u32 {
        words_of(self.program, ty) as u32
    }

    /// `count` fresh temporaries.
    pub(super) fn temp(&mut self, count: u32) -> Arg {
        let first = self.next_temp;
        self.next_temp += count;
        self.code.temps = self.code.temps.max(self.next_temp);
        Arg::new(Area::Temp, first)
    }

    pub(super) fn constant(&mut self, n: i64) -> Arg {
        let pool = &mut self.code.consts;
        *self.constants.entry(n).or_insert_with(|| {
            pool.push(n);
            Arg::new(Area::Const, pool.len() as u32 - 1)
        })
    }

    /// Words in a row in the constant pool.
    pub(super) fn constant_words(&mut self, value: &Value) -> Arg {
        if let Value::Int(n) = value {
            return self.constant(*n);
        }
        let first = self.code.consts.len() as u32;
        flatten(value, &mut self.code.consts);
        Arg::new(Area::Const, first)
    }

    /// Code that computes the expression; into `want` if that is given.
    pub(super) fn value(&mut self, e: &'p Expr, want: Option<Arg>) -> Val {
        let span = e.span;
        let arg = match &e.kind {
            ExprKind::Const(v) => {
                let words = self.words(&e.ty);
                let arg = self.constant_words(v);
                self.copied(arg, words, want, span)
            }
            ExprKind::Read(place) => {
                let words = self.words(&e.ty);
                let loc = self.locate(place);
                return Val { arg: self.load(loc, words, want, place.span), span: place.span };
            }
            ExprKind::Unary(UnaryOp::Not, _) | ExprKind::Binary(BinaryOp::And | BinaryOp::Or, ..) => {
                self.boolean(e, want)
            }
            ExprKind::Unary(UnaryOp::Neg, a) => {
                let zero = Val { arg: self.constant(0), span };
                let a = self.value(a, None);
                self.arithmetic(BinaryOp::Sub, e, (zero, a), want)
            }
            ExprKind::Unary(UnaryOp::BitNot, a) => {
                let ones = Val { arg: self.constant(-1), span };
                let a = self.value(a, None);
                self.arithmetic(BinaryOp::BitXor, e, (a, ones), want)
            }
            ExprKind::Binary(op, a, b) => {
                let operands = self.operands(a, b);
                match compare(*op, &a.ty) {
                    Some(cmp) => self.comparison(cmp, &a.ty, operands, want),
                    None => self.arithmetic(*op, e, operands, want),
                }
            }
            ExprKind::IfElse(c, a, b) => {
                let words = self.words(&e.ty);
                let dst = want.unwrap_or_else(|| self.temp(words));
                let mut otherwise = Vec::new();
                self.branch(c, true, &mut otherwise);
                self.value(a, Some(dst));
                let end = self.jump();
                self.land(&otherwise);
                self.value(b, Some(dst));
                self.land(&[end]);
                dst
            }
            ExprKind::Tuple(parts) => self.tuple(e, parts, want),
            ExprKind::Cast(a) => self.cast(e, a, want),
            ExprKind::SelfHandle => {
                let dst = want.unwrap_or_else(|| self.temp(1));
                self.emit(
                    Instr::SelfHandle { dst },
                    Info { at: span, place: self.target_span(span), ..Info::default() },
                );
                dst
            }
            ExprKind::SetContains(set, who) => {
                let (a, b) = self.operands(set, who);
                self.arith(Op::SetHas, Fix::No, (a, b), want, span)
            }
            ExprKind::SetIsEmpty(set) => {
                let a = self.value(set, None);
                let zero = Val { arg: self.constant(0), span };
                self.comparison(Cmp::Eq, &Type::Int, (a, zero), want)
            }
        };
        Val { arg, span }
    }

    /// Span of the place that an instruction with a wanted destination writes.
    fn target_span(&self, otherwise: Span) -> Span {
        self.target.unwrap_or(otherwise)
    }

    /// Both operands, left first. A shared variable on the left is read before the code of the right.
    fn operands(&mut self, a: &'p Expr, b: &'p Expr) -> (Val, Val) {
        let mut left = self.value(a, None);
        if left.arg.area() == Area::Global && !is_plain(b) {
            let words = self.words(&a.ty);
            let temp = self.temp(words);
            self.copied(left.arg, words, Some(temp), left.span);
            left.arg = temp;
        }
        (left, self.value(b, None))
    }

    fn arithmetic(&mut self, op: BinaryOp, e: &'p Expr, (a, b): (Val, Val), want: Option<Arg>) -> Arg {
        let info = Info { at: e.span, a: a.span, b: b.span, place: self.target_span(e.span), ..Info::default() };
        let fixed = match e.ty {
            Type::Fixed { bits, signed } => Some((bits, signed)),
            _ => None,
        };
        let fix = match fixed {
            Some((64, _)) | None => Fix::No,
            Some((bits, true)) => Fix::Signed(bits),
            Some((bits, false)) => Fix::Unsigned(bits),
        };
        let u64s = fixed == Some((64, false));
        let wraps = fixed.is_some();
        let op = match op {
            BinaryOp::Add if !wraps => {
                let dst = want.unwrap_or_else(|| self.temp(1));
                self.emit(Instr::Add { dst, a: a.arg, b: b.arg }, info);
                return dst;
            }
            BinaryOp::Sub if !wraps => {
                let dst = want.unwrap_or_else(|| self.temp(1));
                self.emit(Instr::Sub { dst, a: a.arg, b: b.arg }, info);
                return dst;
            }
            BinaryOp::Add => Op::AddWrap,
            BinaryOp::Sub => Op::SubWrap,
            BinaryOp::Mul if wraps => Op::MulWrap,
            BinaryOp::Mul => Op::MulInt,
            BinaryOp::Div if u64s => Op::DivU64,
            BinaryOp::Div if wraps => Op::DivWrap,
            BinaryOp::Div => Op::DivInt,
            BinaryOp::Rem if u64s => Op::RemU64,
            BinaryOp::Rem if wraps => Op::RemWrap,
            BinaryOp::Rem => Op::RemInt,
            BinaryOp::BitAnd => Op::And,
            BinaryOp::BitOr => Op::Or,
            BinaryOp::BitXor => Op::Xor,
            BinaryOp::Shl | BinaryOp::Shr => {
                let width = fixed.map_or(64, |(bits, _)| bits);
                let mask = Val { arg: self.constant(i64::from(width) - 1), span: b.span };
                let amount = self.arith(Op::And, Fix::No, (b, mask), None, e.span);
                let op = match op {
                    BinaryOp::Shl => Op::Shl,
                    _ if u64s => Op::ShrU64,
                    _ => Op::Shr,
                };
                return self.arith(op, fix, (a, Val { arg: amount, span: b.span }), want, e.span);
            }
            _ => Op::And,
        };
        self.arith(op, fix, (a, b), want, e.span)
    }

    pub(super) fn arith(&mut self, op: Op, fix: Fix, (a, b): (Val, Val), want: Option<Arg>, at: Span) -> Arg {
        let dst = want.unwrap_or_else(|| self.temp(1));
        let info = Info { at, a: a.span, b: b.span, place: self.target_span(at), ..Info::default() };
        self.emit(Instr::Arith { op, fix, dst, a: a.arg, b: b.arg }, info);
        dst
    }

    fn comparison(&mut self, cmp: Cmp, ty: &Type, (a, b): (Val, Val), want: Option<Arg>) -> Arg {
        let place = self.target_span(a.span);
        let info = Info { at: a.span, a: a.span, b: b.span, place, ..Info::default() };
        let dst = want.unwrap_or_else(|| self.temp(1));
        if ty.is_scalar() {
            self.emit(Instr::Compare { cmp, dst, a: a.arg, b: b.arg }, info);
            return dst;
        }
        let n = self.words(ty);
        if cmp == Cmp::Eq {
            self.emit(Instr::EqWords { dst, a: a.arg, b: b.arg, n }, info);
        } else {
            let equal = self.temp(1);
            self.emit(Instr::EqWords { dst: equal, a: a.arg, b: b.arg, n }, info);
            let zero = self.constant(0);
            self.emit(Instr::Compare { cmp: Cmp::Eq, dst, a: equal, b: zero }, info);
        }
        dst
    }

    /// The value of a Boolean expression that is computed by jumps.
    fn boolean(&mut self, e: &'p Expr, want: Option<Arg>) -> Arg {
        let dst = want.unwrap_or_else(|| self.temp(1));
        let info = Info { at: e.span, a: e.span, place: self.target_span(e.span), ..Info::default() };
        let (yes, no) = (self.constant(1), self.constant(0));
        let mut otherwise = Vec::new();
        self.branch(e, true, &mut otherwise);
        self.emit(Instr::Move { dst, a: yes }, info);
        let end = self.jump();
        self.land(&otherwise);
        self.emit(Instr::Move { dst, a: no }, info);
        self.land(&[end]);
        dst
    }

    /// Code that goes on if `e` is `expected`, and otherwise takes one of the jumps added to `out`.
    pub(super) fn branch(&mut self, e: &'p Expr, expected: bool, out: &mut Vec<usize>) {
        match &e.kind {
            ExprKind::Const(Value::Int(n)) => {
                if (*n != 0) != expected {
                    out.push(self.jump());
                }
            }
            ExprKind::Unary(UnaryOp::Not, a) => self.branch(a, !expected, out),
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let decided_by_left = *op == BinaryOp::Or;
                if decided_by_left != expected {
                    self.branch(a, expected, out);
                    self.branch(b, expected, out);
                } else {
                    let mut inner = Vec::new();
                    self.branch(a, !expected, &mut inner);
                    self.branch(b, expected, out);
                    self.land(&inner);
                }
            }
            _ => {
                let (cmp, a, b) = self.test(e);
                let cmp = if expected { cmp } else { cmp.negated() };
                let info = Info { at: e.span, a: a.span, b: b.span, ..Info::default() };
                out.push(self.emit(Instr::Unless { cmp, a: a.arg, b: b.arg, to: 0 }, info));
            }
        }
    }

    /// Fails unless the expression holds. What an invariant reads is told to nobody.
    pub(super) fn assert(&mut self, e: &'p Expr, check: Check, at: Span) {
        self.hidden = check == Check::Invariant;
        let (cmp, a, b) = self.test(e);
        let info = Info { at, a: a.span, b: b.span, ..Info::default() };
        self.emit(Instr::Assert { cmp, a: a.arg, b: b.arg, check }, info);
        self.hidden = false;
    }

    /// A Boolean expression as a comparison of two words.
    pub(super) fn test(&mut self, e: &'p Expr) -> (Cmp, Val, Val) {
        if let ExprKind::Binary(op, a, b) = &e.kind
            && a.ty.is_scalar()
            && let Some(cmp) = compare(*op, &a.ty)
        {
            let (a, b) = self.operands(a, b);
            return (cmp, a, b);
        }
        let value = self.value(e, None);
        (Cmp::Ne, value, Val { arg: self.constant(0), span: e.span })
    }

    fn tuple(&mut self, e: &'p Expr, parts: &'p [Expr], want: Option<Arg>) -> Arg {
        let words = self.words(&e.ty);
        let into = want.filter(|w| w.area() == Area::Temp);
        let dst = into.unwrap_or_else(|| self.temp(words));
        let mut offset = 0;
        for (i, part) in parts.iter().enumerate() {
            let ty = self.part_type(&e.ty, i);
            self.value(part, Some(dst.plus(offset)));
            offset += self.words(&ty);
        }
        match want {
            Some(w) if into.is_none() => self.copied(dst, words, Some(w), e.span),
            _ => dst,
        }
    }

    /// Type of the `i`-th part of a record or an array.
    fn part_type(&self, ty: &Type, i: usize) -> Type {
        match ty {
            Type::Record(r) => self.program.records[*r].fields[i].ty.clone(),
            Type::Array { element, .. } => (**element).clone(),
            _ => ty.clone(),
        }
    }

    fn cast(&mut self, e: &'p Expr, inner: &'p Expr, want: Option<Arg>) -> Arg {
        let from_u64 = inner.ty == Type::Fixed { bits: 64, signed: false };
        let fix = match e.ty {
            Type::Fixed { bits: 64, .. } => Fix::No,
            Type::Fixed { bits, signed: true } => Fix::Signed(bits),
            Type::Fixed { bits, signed: false } => Fix::Unsigned(bits),
            Type::Int if from_u64 => Fix::Exact,
            _ => Fix::No,
        };
        if let Type::Range(lo, hi) = e.ty {
            let a = self.value(inner, None);
            if from_u64 {
                self.check(a, (0, i64::MAX), e.span);
            }
            self.check(a, (lo, hi), e.span);
            return self.copied(a.arg, 1, want, a.span);
        }
        if fix == Fix::No {
            return self.value(inner, want).arg;
        }
        let a = self.value(inner, None);
        let dst = want.unwrap_or_else(|| self.temp(1));
        let info = Info { at: e.span, a: a.span, place: self.target_span(e.span), ..Info::default() };
        self.emit(Instr::Convert { fix, dst, a: a.arg }, info);
        dst
    }

    pub(super) fn check(&mut self, a: Val, range: (i64, i64), at: Span) {
        self.code.ranges.push(range);
        let range = self.code.ranges.len() as u32 - 1;
        self.emit(Instr::Check { a: a.arg, range }, Info { at, a: a.span, ..Info::default() });
    }

    /// Whether storing `e` into a variable of type `ty` needs no check.
    pub(super) fn surely_fits(&self, e: &Expr, ty: &Type) -> bool {
        match (&e.kind, ty) {
            _ if e.ty == *ty && !matches!(e.kind, ExprKind::Tuple(_)) && !matches!(ty, Type::Range(..)) => {
                !matches!(e.kind, ExprKind::Const(_)) || self.ranges_in(ty) == 0
            }
            (ExprKind::Const(Value::Int(n)), Type::Range(lo, hi)) => (lo..=hi).contains(&n),
            (ExprKind::Read(place), Type::Range(lo, hi)) => {
                matches!(place.ty, Type::Range(l, h) if *lo <= l && h <= *hi)
            }
            (ExprKind::Cast(_), Type::Range(lo, hi)) => matches!(e.ty, Type::Range(l, h) if *lo <= l && h <= *hi),
            (_, Type::Range(..)) => false,
            _ => self.ranges_in(ty) == 0,
        }
    }

    /// How many words of the type have a range.
    pub(super) fn ranges_in(&self, ty: &Type) -> u32 {
        match ty {
            Type::Range(..) => 1,
            Type::Record(r) => self.program.records[*r].fields.iter().map(|f| self.ranges_in(&f.ty)).sum(),
            Type::Array { element, len, .. } => self.ranges_in(element) * len,
            _ => 0,
        }
    }

    /// Checks all words of a value of the type that have a range.
    pub(super) fn check_words(&mut self, first: Arg, ty: &Type, value_span: Span, at: Span) {
        match ty {
            Type::Range(lo, hi) => self.check(Val { arg: first, span: value_span }, (*lo, *hi), at),
            Type::Record(r) => {
                let mut offset = 0;
                for field in &self.program.records[*r].fields {
                    self.check_words(first.plus(offset), &field.ty, value_span, at);
                    offset += self.words(&field.ty);
                }
            }
            Type::Array { element, len, .. } if self.ranges_in(element) > 0 => {
                for i in 0..*len {
                    self.check_words(first.plus(i * self.words(element)), element, value_span, at);
                }
            }
            _ => {}
        }
    }

    /// The same word, read from shared state only once.
    pub(super) fn read_once(&mut self, value: Val) -> Val {
        if !matches!(value.arg.area(), Area::Global) {
            return value;
        }
        let temp = self.temp(1);
        Val { arg: self.copied(value.arg, 1, Some(temp), value.span), span: value.span }
    }

    /// Copies words to where they are wanted, if they are.
    pub(super) fn copied(&mut self, from: Arg, words: u32, want: Option<Arg>, span: Span) -> Arg {
        // A shared variable that gets its own value is written all the same.
        let Some(dst) = want.filter(|w| *w != from || w.area() == Area::Global) else { return from };
        let info = Info { at: span, a: span, place: self.target_span(span), ..Info::default() };
        self.copy(Loc::Fixed(dst), Loc::Fixed(from), words, info);
        dst
    }

    /// One instruction (or none) that copies `n` words.
    pub(super) fn copy(&mut self, dst: Loc, src: Loc, n: u32, info: Info) {
        let instr = match (dst, src, n) {
            (_, _, 0) => return,
            (Loc::Fixed(dst), Loc::Fixed(a), 1) => Instr::Move { dst, a },
            (Loc::Fixed(dst), Loc::At { base, off }, 1) => Instr::Load { dst, base, off },
            (Loc::Fixed(dst), Loc::Element { base, index, shape }, 1) => Instr::LoadElement { dst, base, index, shape },
            (Loc::Fixed(dst), Loc::Heap { obj, off }, 1) => Instr::LoadHeap { dst, obj, off },
            (Loc::At { base, off }, Loc::Fixed(src), 1) => Instr::Store { base, off, src },
            (Loc::Element { base, index, shape }, Loc::Fixed(src), 1) => {
                Instr::StoreElement { base, index, src, shape }
            }
            (Loc::Heap { obj, off }, Loc::Fixed(src), 1) => Instr::StoreHeap { obj, off, src },
            _ => {
                self.code.copies.push(Copy { dst, src, n });
                Instr::Copy { copy: self.code.copies.len() as u32 - 1 }
            }
        };
        self.emit(instr, info);
    }

    /// Where the value of a place is; fixed places need no code.
    fn load(&mut self, loc: Loc, words: u32, want: Option<Arg>, span: Span) -> Arg {
        if let Loc::Fixed(arg) = loc {
            return self.copied(arg, words, want, span);
        }
        let dst = want.unwrap_or_else(|| self.temp(words));
        let place = self.target_span(span);
        self.copy(Loc::Fixed(dst), loc, words, Info { at: span, a: span, b: span, place, ..Info::default() });
        dst
    }

    /// Code for the reference and the indexes of a place, left to right.
    pub(super) fn locate(&mut self, place: &'p Place) -> Loc {
        let (base, mut ty) = match &place.base {
            Base::Global(g) => (Ok(self.globals[*g]), self.program.globals[*g].ty.clone()),
            Base::Local(l) => {
                let proc = &self.program.procs[self.proc];
                (Ok(Arg::new(Area::Local, self.locals[self.proc][*l])), proc.locals[*l].ty.clone())
            }
            Base::Heap(e, r) => {
                let obj = self.value(e, None);
                let obj = self.read_once(obj);
                if place.path.iter().any(|s| matches!(s, Projection::Index { .. })) {
                    self.emit(Instr::NotNull { a: obj.arg }, Info { at: place.span, a: obj.span, ..Info::default() });
                }
                (Err(obj.arg), Type::Record(*r))
            }
        };
        let mut fixed = 0;
        let mut dynamic: Vec<(Val, u32, Span)> = Vec::new();
        let mut partial = None;
        for step in &place.path {
            match step {
                Projection::Field(f) => {
                    let Type::Record(r) = ty else { break };
                    let fields = &self.program.records[r].fields;
                    fixed += fields[..*f].iter().map(|f| self.words(&f.ty)).sum::<u32>();
                    ty = fields[*f].ty.clone();
                }
                Projection::Index { index, lo, len } => {
                    let Type::Array { element, .. } = ty else { break };
                    ty = *element;
                    let stride = self.words(&ty);
                    match index.kind {
                        ExprKind::Const(Value::Int(i)) if i >= *lo && i - lo < i64::from(*len) => {
                            fixed += (i - lo) as u32 * stride;
                        }
                        _ => {
                            let beyond = if index.ty == Type::Thread { Beyond::Limit } else { Beyond::Outside };
                            let shape = self.shape(Shape { beyond, lo: *lo, len: *len, stride });
                            // Several indexes are checked one by one, so each is added up before the next is computed.
                            let value = self.value(index, None);
                            if let Some((first, first_shape, span)) = dynamic.pop() {
                                let sum = self.indexed(None, first, first_shape, span);
                                let sum = self.indexed(Some(sum), value, shape, place.span);
                                partial = Some(sum);
                            } else if let Some(sum) = partial.take() {
                                let sum = self.indexed(Some(sum), value, shape, place.span);
                                partial = Some(sum);
                            } else {
                                dynamic.push((value, shape, place.span));
                            }
                        }
                    }
                }
            }
        }
        match (base, dynamic.pop(), partial) {
            (Ok(base), Some((index, shape, _)), _) => Loc::Element { base: base.plus(fixed), index: index.arg, shape },
            (Ok(base), None, Some(off)) => Loc::At { base: base.plus(fixed), off },
            (Ok(base), None, None) => Loc::Fixed(base.plus(fixed)),
            (Err(obj), Some((index, shape, span)), _) => {
                let start = Some(self.constant(i64::from(fixed)));
                Loc::Heap { obj, off: self.indexed(start, index, shape, span) }
            }
            (Err(obj), None, Some(off)) => {
                let a = Val { arg: off, span: place.span };
                let b = Val { arg: self.constant(i64::from(fixed)), span: place.span };
                Loc::Heap { obj, off: self.arith(Op::AddWrap, Fix::No, (a, b), None, place.span) }
            }
            (Err(obj), None, None) => Loc::Heap { obj, off: self.constant(i64::from(fixed)) },
        }
    }

    /// The same location, after code that checks that there is one.
    pub(super) fn certain(&mut self, loc: Loc, at: Span) -> Loc {
        match loc {
            Loc::Element { base, index, shape } => {
                let off = self.indexed(None, Val { arg: index, span: at }, shape, at);
                Loc::At { base, off }
            }
            Loc::Heap { obj, .. } => {
                self.emit(Instr::NotNull { a: obj }, Info { at, a: at, ..Info::default() });
                loc
            }
            Loc::Fixed(_) | Loc::At { .. } => loc,
        }
    }

    fn indexed(&mut self, prev: Option<Arg>, index: Val, shape: u32, at: Span) -> Arg {
        let prev = prev.unwrap_or_else(|| self.constant(0));
        let dst = self.temp(1);
        let info = Info { at, a: index.span, ..Info::default() };
        self.emit(Instr::Index { dst, prev, index: index.arg, shape }, info);
        dst
    }

    fn shape(&mut self, shape: Shape) -> u32 {
        let shapes = &mut self.code.shapes;
        shapes.iter().position(|s| *s == shape).unwrap_or_else(|| {
            shapes.push(shape);
            shapes.len() - 1
        }) as u32
    }
}

/// The comparison that an operator is, on operands of the type.
fn compare(op: BinaryOp, ty: &Type) -> Option<Cmp> {
    let unsigned = *ty == Type::Fixed { bits: 64, signed: false };
    Some(match (op, unsigned) {
        (BinaryOp::Eq, _) => Cmp::Eq,
        (BinaryOp::Ne, _) => Cmp::Ne,
        (BinaryOp::Lt, false) => Cmp::Lt,
        (BinaryOp::Le, false) => Cmp::Le,
        (BinaryOp::Gt, false) => Cmp::Gt,
        (BinaryOp::Ge, false) => Cmp::Ge,
        (BinaryOp::Lt, true) => Cmp::ULt,
        (BinaryOp::Le, true) => Cmp::ULe,
        (BinaryOp::Gt, true) => Cmp::UGt,
        (BinaryOp::Ge, true) => Cmp::UGe,
        _ => return None,
    })
}
