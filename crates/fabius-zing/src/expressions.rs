//! Expressions and places.

use crate::ast::{Expr, ExprKind, Name, Suffix};
use crate::lower::{Body, Bound};
use crate::refusal::{Result, unsupported, wrong};
use crate::types::{INT, ITEMS, SIZE, Ty};
use fabius_lang::build::*;
use fabius_lang::program as core;
use fabius_lang::program::{Base, BinaryOp, Place, Projection, Type, UnaryOp};
use fabius_trace::Span;

impl Body<'_, '_> {
    /// The value of an expression for a place of this type.
    pub fn value_of(&mut self, e: &Expr, wanted: &Ty) -> Result<core::Expr> {
        let (value, ty) = self.value(e)?;
        self.fit(value, &ty, wanted, e.span)
    }

    /// The value at another type, if that is meant without saying.
    pub fn fit(&self, value: core::Expr, ty: &Ty, wanted: &Ty, span: Span) -> Result<core::Expr> {
        match (ty, wanted) {
            (a, b) if a == b => Ok(value),
            (Ty::Int | Ty::Number(..), Ty::Int | Ty::Number(..)) => Ok(cast(value, &self.cx.types.core(wanted))),
            (Ty::Null, Ty::Text | Ty::Object(_) | Ty::Array(_) | Ty::Chan(_) | Ty::Set(_)) => {
                Ok(constant(0, self.cx.types.core(wanted), value.span))
            }
            _ => {
                let (ty, wanted) = (self.cx.types.show(ty), self.cx.types.show(wanted));
                Err(wrong(span, format!("`{wanted}` is expected, and this is `{ty}`")))
            }
        }
    }

    pub fn condition(&mut self, e: &Expr) -> Result<core::Expr> {
        self.value_of(e, &Ty::Bool)
    }

    /// The value of an expression, and its type.
    pub fn value(&mut self, e: &Expr) -> Result<(core::Expr, Ty)> {
        let span = e.span;
        Ok(match &e.kind {
            ExprKind::Number(n, suffix) => {
                let ty = literal(*n, *suffix);
                (constant(*n, self.cx.types.core(&ty), span), ty)
            }
            ExprKind::Text(text) => (constant(self.cx.types.text(text), self.cx.types.core(&Ty::Text), span), Ty::Text),
            ExprKind::Bool(b) => (boolean(*b, span), Ty::Bool),
            ExprKind::Null => (boolean(false, span), Ty::Null),
            ExprKind::Unary("!", a) => (not(self.condition(a)?), Ty::Bool),
            ExprKind::Unary(_, a) => {
                let (value, of) = self.value(a)?;
                let ty = match of {
                    Ty::Number(64, false) => return Err(wrong(a.span, "a `ulong` has no negative")),
                    Ty::Number(32, false) | Ty::Number(64, true) => Ty::Number(64, true),
                    _ => Ty::Int,
                };
                (unary(UnaryOp::Neg, self.fit(value, &of, &ty, a.span)?), ty)
            }
            ExprKind::Binary(op, a, b) => self.binary(op, a, b, span)?,
            ExprKind::Sizeof(of) => (self.size(of, span)?, Ty::Int),
            ExprKind::Member(of, name) => match self.enum_value(of, name)? {
                Some(value) => value,
                None => self.read(e)?,
            },
            ExprKind::Call(callee, args) if self.applies => self.apply(callee, args, span)?,
            ExprKind::Call(..) => {
                return Err(unsupported(span, "a call inside of an expression")
                    .help("a call is a statement of its own, or all that stands behind `=`"));
            }
            ExprKind::Out(_) => {
                return Err(wrong(span, "only an argument for an `out` parameter is `out`"));
            }
            ExprKind::New(_) | ExprKind::NewArray(..) | ExprKind::Choose(_) => {
                return Err(unsupported(span, "`new` or `choose` inside of an expression")
                    .help("let it be all that stands behind `=`"));
            }
            ExprKind::This => match self.find("this") {
                Some(Bound::Local(id, ty)) => (read(self.local(id, span)), ty),
                Some(Bound::Value(value, ty)) => (value, ty),
                None => return Err(wrong(span, "there is no object in a static method")),
            },
            ExprKind::Name(name) => match self.find(name) {
                Some(Bound::Value(value, ty)) => (value, ty),
                _ => self.read(e)?,
            },
            ExprKind::Index(..) => self.read(e)?,
        })
    }

    fn read(&mut self, e: &Expr) -> Result<(core::Expr, Ty)> {
        let (place, ty) = self.place(e)?;
        Ok((read(place), ty))
    }

    fn binary(&mut self, op: &str, a: &Expr, b: &Expr, span: Span) -> Result<(core::Expr, Ty)> {
        if matches!(op, "&&" | "||") {
            let (a, b) = (self.condition(a)?, self.condition(b)?);
            return Ok((if op == "&&" { and(a, b) } else { or(a, b) }, Ty::Bool));
        }
        if matches!(op, "==" | "!=") {
            let op = if op == "==" { BinaryOp::Eq } else { BinaryOp::Ne };
            let ((x, s), (y, t)) = (self.value(a)?, self.value(b)?);
            if let Ty::Struct(_) = s {
                return Err(unsupported(span, "whether structs are equal").help("compare their fields"));
            }
            let (x, y) = match (&s, &t) {
                (Ty::Null, Ty::Null) => (x, y),
                (Ty::Null, _) => (self.fit(x, &s, &t, a.span)?, y),
                (Ty::Int | Ty::Number(..), Ty::Int | Ty::Number(..)) => {
                    let (x, y, _) = self.numbers(a, b, span)?;
                    (x, y)
                }
                _ => {
                    let y = self.fit(y, &t, &s, b.span)?;
                    (x, y)
                }
            };
            return Ok((core::Expr { span, ..binary(op, x, y) }, Ty::Bool));
        }
        if op == "in" {
            return Ok((self.is_in(a, b, span)?, Ty::Bool));
        }
        let comparison = match op {
            "<" => Some(BinaryOp::Lt),
            "<=" => Some(BinaryOp::Le),
            ">" => Some(BinaryOp::Gt),
            ">=" => Some(BinaryOp::Ge),
            _ => None,
        };
        if let Some(op) = comparison {
            let (a, b, _) = self.numbers(a, b, span)?;
            return Ok((core::Expr { span, ..binary(op, a, b) }, Ty::Bool));
        }
        let bits = match op {
            "&" => Some(BinaryOp::BitAnd),
            "|" => Some(BinaryOp::BitOr),
            "^" => Some(BinaryOp::BitXor),
            _ => None,
        };
        if let Some(op) = bits {
            let (x, ty) = self.value(a)?;
            if ty == Ty::Bool {
                // Both sides are evaluated, which only an error could tell.
                let y = self.condition(b)?;
                let e = match op {
                    BinaryOp::BitAnd => and(x, y),
                    BinaryOp::BitOr => or(x, y),
                    _ => binary(BinaryOp::Ne, x, y),
                };
                return Ok((e, Ty::Bool));
            }
            let (x, y, ty) = self.numbers(a, b, span)?;
            return Ok((core::Expr { span, ..binary(op, x, y) }, ty));
        }
        let op = match op {
            "+" => BinaryOp::Add,
            "-" => BinaryOp::Sub,
            "*" => BinaryOp::Mul,
            "/" => BinaryOp::Div,
            "%" => BinaryOp::Rem,
            "<<" => BinaryOp::Shl,
            _ => BinaryOp::Shr,
        };
        let (a, b, ty) = if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let (value, ty) = self.value(a)?;
            let wide = if let Ty::Number(32 | 64, _) = ty { ty.clone() } else { Ty::Int };
            (self.fit(value, &ty, &wide, a.span)?, self.value_of(b, &wide)?, wide)
        } else {
            self.numbers(a, b, span)?
        };
        Ok((core::Expr { span, ..binary(op, a, b) }, ty))
    }

    /// Two numbers at the type that they are computed with, as C# says: `int`, if that holds the values of both.
    fn numbers(&mut self, a: &Expr, b: &Expr, span: Span) -> Result<(core::Expr, core::Expr, Ty)> {
        let ((x, s), (y, t)) = (self.value(a)?, self.value(b)?);
        let is_constant = |e: &Expr, ty: &Ty| *ty == Ty::Int && crate::types::constant(e).is_ok_and(|n| n >= 0);
        let has_sign = |e: &Expr, ty: &Ty| matches!(ty, Ty::Int | Ty::Number(_, true)) && !is_constant(e, ty);
        let is = |ty: Ty| s == ty || t == ty;
        let any_sign = has_sign(a, &s) || has_sign(b, &t);
        let ty = if is(Ty::Number(64, false)) {
            if any_sign {
                return Err(unsupported(span, "a `ulong` beside a number with a sign")
                    .help("store one of them at the type of the other"));
            }
            Ty::Number(64, false)
        } else if is(Ty::Number(64, true)) || is(Ty::Number(32, false)) && any_sign {
            Ty::Number(64, true)
        } else if is(Ty::Number(32, false)) {
            Ty::Number(32, false)
        } else {
            Ty::Int
        };
        Ok((self.fit(x, &s, &ty, a.span)?, self.fit(y, &t, &ty, b.span)?, ty))
    }

    /// A number as it counts elements.
    pub fn integer(&mut self, e: &Expr) -> Result<core::Expr> {
        let (value, ty) = self.value(e)?;
        match ty {
            Ty::Number(..) => Ok(cast(value, &Type::Int)),
            _ => Ok(cast(self.fit(value, &ty, &Ty::Int, e.span)?, &Type::Int)),
        }
    }

    /// How many elements an array has, or messages a channel.
    fn size(&mut self, of: &Expr, span: Span) -> Result<core::Expr> {
        if let ExprKind::Name(name) = &of.kind
            && self.find(name).is_none()
            && let Some(ty) = self.cx.types.find(name)
        {
            return match ty {
                Ty::Array(r) if self.cx.types.is_counted(*r) => {
                    Err(wrong(span, format!("arrays of the type `{name}` have any length"))
                        .help("ask for the size of a variable"))
                }
                Ty::Array(r) => Ok(constant(i64::from(self.cx.types.elements[r].1), INT, span)),
                Ty::Enum(e) => Ok(constant(self.cx.types.enums[*e].names.len() as i64, INT, span)),
                _ => Err(unsupported(span, format!("the size of `{name}`"))),
            };
        }
        let (value, ty) = self.value(of)?;
        match ty {
            Ty::Array(r) if !self.cx.types.is_counted(r) => {
                Ok(constant(i64::from(self.cx.types.elements[&r].1), INT, span))
            }
            Ty::Chan(r) | Ty::Array(r) | Ty::Set(r) => Ok(cast(read(self.field_of(value, r, SIZE, span)), &INT)),
            _ => Err(wrong(span, "only arrays, sets and channels have a size")),
        }
    }

    /// A field of what a reference points to.
    pub fn field_of(&self, object: core::Expr, record: usize, field: usize, span: Span) -> Place {
        let ty = self.cx.types.records[record].fields[field].ty.clone();
        Place { base: Base::Heap(object.into(), record), path: vec![Projection::Field(field)], ty, span }
    }

    /// `E.name`.
    fn enum_value(&self, of: &Expr, name: &Name) -> Result<Option<(core::Expr, Ty)>> {
        let ExprKind::Name(ty) = &of.kind else { return Ok(None) };
        if self.find(ty).is_some() {
            return Ok(None);
        }
        let Some(Ty::Enum(e)) = self.cx.types.find(ty) else { return Ok(None) };
        let at = self.cx.types.enums[*e].names.iter().position(|n| *n == name.text);
        let at = at.ok_or_else(|| wrong(name.span, format!("`{ty}` has no value `{}`", name.text)))?;
        Ok(Some((constant(at as i64, Type::Enum(*e), name.span), Ty::Enum(*e))))
    }

    /// The place that an expression stands for.
    pub fn place(&mut self, e: &Expr) -> Result<(Place, Ty)> {
        let span = e.span;
        match &e.kind {
            ExprKind::Name(name) => self.named_place(name, span),
            ExprKind::Member(of, name) => {
                if let ExprKind::Name(class) = &of.kind
                    && self.find(class).is_none()
                    && !self.is_field(class)
                    && let Some(class) = self.cx.class_named(class)
                {
                    let known = self.cx.statics.get(&(class, name.text.clone())).cloned();
                    let (global, ty) =
                        known.ok_or_else(|| wrong(name.span, format!("there is no static field `{}`", name.text)))?;
                    return Ok((self.global(global, &ty, span), ty));
                }
                let (value, ty) = self.value(of)?;
                let (Ty::Object(record) | Ty::Struct(record)) = ty else {
                    return Err(wrong(name.span, format!("`{}` has no fields", self.cx.types.show(&ty))));
                };
                let fields = &self.cx.types.fields[record];
                let at = fields.iter().position(|(n, _)| *n == name.text);
                let at = at.ok_or_else(|| {
                    wrong(name.span, format!("`{}` has no field `{}`", self.cx.types.show(&ty), name.text))
                })?;
                let inner = fields[at].1.clone();
                if let Ty::Object(_) = ty {
                    return Ok((self.field_of(value, record, at, span), inner));
                }
                let core::ExprKind::Read(place) = value.kind else {
                    return Err(unsupported(span, "a part of a struct that is in no variable"));
                };
                let mut place = Place { ty: self.cx.types.core(&inner), span, ..place };
                place.path.push(Projection::Field(at));
                Ok((place, inner))
            }
            ExprKind::Index(of, index) => {
                let (value, ty) = self.value(of)?;
                let Ty::Array(record) = ty else {
                    return Err(wrong(of.span, format!("`{}` has no elements", self.cx.types.show(&ty))));
                };
                let index = self.integer(index)?;
                Ok((self.element(&value, record, index, span), self.cx.types.elements[&record].0.clone()))
            }
            _ => Err(wrong(span, "this is no variable")),
        }
    }

    /// An element of what may have fewer than there is room for: beyond them there is none.
    pub fn element(&self, of: &core::Expr, record: usize, index: core::Expr, span: Span) -> Place {
        let index = if self.cx.types.is_counted(record) {
            let size = cast(read(self.field_of(of.clone(), record, SIZE, span)), &Type::Int);
            let none = constant(-1, Type::Int, span);
            if_else(binary(BinaryOp::Lt, index.clone(), size), index, none)
        } else {
            index
        };
        self.slot(of, record, index, span)
    }

    /// The place for an element.
    pub fn slot(&self, of: &core::Expr, record: usize, index: core::Expr, span: Span) -> Place {
        let (element, len) = self.cx.types.elements[&record].clone();
        let mut place = self.field_of(of.clone(), record, ITEMS, span);
        place.ty = self.cx.types.core(&element);
        place.path.push(Projection::Index { index: index.into(), lo: 0, len });
        place
    }

    /// Whether a name is a variable here.
    pub fn is_variable(&self, name: &str) -> bool {
        self.find(name).is_some() || self.is_field(name)
    }

    /// Whether a name is a field of the object or class that the method is of.
    fn is_field(&self, name: &str) -> bool {
        self.cx.file.classes[self.class].fields.iter().any(|f| f.name.text == name)
    }

    fn named_place(&mut self, name: &str, span: Span) -> Result<(Place, Ty)> {
        if let Some(Bound::Local(id, ty)) = self.find(name) {
            return Ok((self.local(id, span), ty));
        }
        if let Some((global, ty)) = self.cx.statics.get(&(self.class, name.to_string())).cloned() {
            return Ok((self.global(global, &ty, span), ty));
        }
        if self.is_field(name) {
            let this = Expr { kind: ExprKind::This, span };
            let (object, ty) = self.value(&this)?;
            let Ty::Object(record) = ty else { unreachable!("`this` is an object") };
            let at = self.cx.types.fields[record].iter().position(|(n, _)| n == name).expect("it is a field");
            let inner = self.cx.types.fields[record][at].1.clone();
            return Ok((self.field_of(object, record, at, span), inner));
        }
        Err(wrong(span, format!("there is no variable `{name}`")))
    }

    fn global(&self, id: usize, ty: &Ty, span: Span) -> Place {
        Place { base: Base::Global(id), path: Vec::new(), ty: self.cx.types.core(ty), span }
    }
}

/// The type of a number that is written down.
fn literal(n: i64, suffix: Suffix) -> Ty {
    match (suffix.is_unsigned, suffix.is_long) {
        (true, false) if n <= i64::from(u32::MAX) => Ty::Number(32, false),
        (true, _) => Ty::Number(64, false),
        (false, false) if n <= i64::from(i32::MAX) => Ty::Int,
        (false, false) if n <= i64::from(u32::MAX) => Ty::Number(32, false),
        (false, _) => Ty::Number(64, true),
    }
}
