//! Expressions: numbers have 32 bits, and are cut to the type of what they are assigned to.

use crate::ast::{Expr as Tree, ExprKind as Kind, Lvalue, Ty};
use crate::lower::*;
use crate::refusal::{Result, unsupported, wrong};
use fabius_lang::build::*;
use fabius_lang::program::*;

impl Lower {
    /// An expression: a Boolean, a number or a name of `mtype`.
    pub fn expr(&mut self, e: &Tree) -> Result<Expr> {
        let span = e.span;
        let mut out = match &e.kind {
            Kind::Number(n) => constant(*n, INT, span),
            Kind::Bool(b) => boolean(*b, span),
            Kind::Read(place) => self.read(place)?,
            Kind::Unary("!", a) => not(self.condition(a)?),
            Kind::Unary(op, a) => {
                let a = self.number(a)?;
                unary(if *op == "-" { UnaryOp::Neg } else { UnaryOp::BitNot }, a)
            }
            Kind::Binary(op @ ("&&" | "||"), a, b) => {
                let (a, b) = (self.condition(a)?, self.condition(b)?);
                if *op == "&&" { and(a, b) } else { or(a, b) }
            }
            Kind::Binary(op, a, b) => self.binary(op, a, b)?,
            Kind::Conditional(c, a, b) => {
                let (c, a, b) = (self.condition(c)?, self.expr(a)?, self.expr(b)?);
                let (a, b) = if a.ty == b.ty { (a, b) } else { (self.as_number(a), self.as_number(b)) };
                if_else(c, a, b)
            }
            Kind::OfChannel(what, channel) => self.of_channel(what, channel, span)?,
            Kind::Poll(channel, any, args) => self.poll(channel, *any, args, span)?,
            Kind::At(process, number, label) => self.stands_at(process, number.as_deref(), label, span)?,
            Kind::Run(..) => {
                return Err(unsupported(span, "`run` inside of an expression").help("write `p = run P()` or `run P()`"));
            }
            Kind::Other(what) => match (what.as_str(), self.idle) {
                ("timeout", Some(idle)) if !self.body.of.is_empty() => read(global(idle, Type::Bool, span)),
                ("timeout", _) => return Err(unsupported(span, "`timeout` outside of a process")),
                _ => return Err(unsupported(span, format!("`{what}`"))),
            },
        };
        // What is folded stands where the whole stands.
        out.span = span;
        Ok(out)
    }

    fn read(&mut self, place: &Lvalue) -> Result<Expr> {
        let span = place.span;
        if let [(name, index)] = place.parts.as_slice() {
            let known =
                self.body.scopes.iter().any(|s| s.contains_key(&name.text)) || self.names.contains_key(&name.text);
            match name.text.as_str() {
                "_pid" => match self.body.pid {
                    Some(pid) => return Ok(read(local(pid, BYTE, span))),
                    None => return Err(wrong(span, "`_pid` is the number of a process")),
                },
                "_nr_pr" if let Some(count) = self.count => return Ok(read(global(count, BYTE, span))),
                other if !known && self.mtypes.contains_key(other) && index.is_none() => {
                    let (kind, n) = self.mtypes[other];
                    return Ok(constant(n, Type::Enum(kind), span));
                }
                _ => {}
            }
            if self.variable(name)?.own.is_some() {
                return self.channel_number(place);
            }
        }
        let at = self.place(place)?;
        match at.ty {
            Ty::Named(name) => Err(unsupported(span, format!("a whole `{name}`")).help("write its fields")),
            _ => Ok(read(at.place)),
        }
    }

    fn binary(&mut self, op: &str, a: &Tree, b: &Tree) -> Result<Expr> {
        use BinaryOp::*;
        let (a, b) = (self.expr(a)?, self.expr(b)?);
        let op = match op {
            "|" => BitOr,
            "^" => BitXor,
            "&" => BitAnd,
            "==" => Eq,
            "!=" => Ne,
            "<" => Lt,
            "<=" => Le,
            ">" => Gt,
            ">=" => Ge,
            "<<" => Shl,
            ">>" => Shr,
            "+" => Add,
            "-" => Sub,
            "*" => Mul,
            "/" => Div,
            _ => Rem,
        };
        let compares = matches!(op, Eq | Ne | Lt | Le | Gt | Ge);
        if compares && a.ty == b.ty && (a.ty != Type::Bool || matches!(op, Eq | Ne)) {
            return Ok(binary(op, a, b));
        }
        // A variable beside a number that its type has.
        if compares && let Some((a, b)) = narrow(&a, &b).or_else(|| narrow(&b, &a).map(|(b, a)| (a, b))) {
            return Ok(binary(op, a, b));
        }
        Ok(binary(op, self.as_number(a), self.as_number(b)))
    }

    /// An expression as a number of 32 bits.
    pub fn number(&mut self, e: &Tree) -> Result<Expr> {
        let value = self.expr(e)?;
        Ok(self.as_number(value))
    }

    /// An expression as a condition: it is not zero.
    pub fn condition(&mut self, e: &Tree) -> Result<Expr> {
        Ok(truth(self.expr(e)?))
    }

    /// A value as a number of 32 bits.
    pub fn as_number(&self, e: Expr) -> Expr {
        let span = e.span;
        match e.ty {
            Type::Bool => match value_of(&e) {
                Some(n) => constant(n, INT, span),
                None => if_else(e, constant(1, INT, span), constant(0, INT, span)),
            },
            Type::Enum(id) => match value_of(&e) {
                Some(n) => constant(n, INT, span),
                None => (1..self.enums[id].names.len() as i64).fold(constant(0, INT, span), |other, n| {
                    let is = binary(BinaryOp::Eq, e.clone(), constant(n, Type::Enum(id), span));
                    if_else(is, constant(n, INT, span), other)
                }),
            },
            _ => cast(e, &INT),
        }
    }

    /// A value as a variable of this type holds it.
    pub fn fitted(&self, e: Expr, ty: &Ty, element: bool) -> Result<Expr> {
        let span = e.span;
        let number = |e| self.as_number(e);
        Ok(match ty {
            Ty::Bit if e.ty == Type::Bool => e,
            Ty::Byte | Ty::Chan if e.ty == BYTE => e,
            Ty::Short if e.ty == SHORT => e,
            Ty::Bit => match value_of(&e) {
                Some(n @ (0 | 1)) => boolean(n == 1, span),
                _ if element => {
                    return Err(unsupported(
                        span,
                        "more than a bit for an element of an array of bits, which SPIN stores",
                    )
                    .help("declare the array as `byte`, or assign `e != 0`"));
                }
                _ => truth(binary(BinaryOp::BitAnd, number(e), constant(1, INT, span))),
            },
            Ty::Byte | Ty::Chan => cast(number(e), &BYTE),
            Ty::Short => cast(number(e), &SHORT),
            Ty::Int => number(e),
            Ty::Unsigned(bits) => {
                let mask = constant((1 << bits) - 1, INT, span);
                cast(binary(BinaryOp::BitAnd, number(e), mask), &WIDE)
            }
            Ty::Mtype(_) => match (&e.ty, self.core(ty, span)?, value_of(&e)) {
                (own, wanted, _) if *own == wanted => e,
                (_, wanted, Some(0)) => constant(0, wanted, span),
                (Type::Enum(_), ..) => {
                    return Err(unsupported(span, "a name of `mtype` of another kind")
                        .help("declare what holds it as `mtype` of the same kind"));
                }
                _ => {
                    return Err(unsupported(span, "a number for a variable of `mtype`")
                        .help("declare what holds it as `mtype`, too"));
                }
            },
            Ty::Named(name) => return Err(unsupported(span, format!("a whole `{name}`")).help("write its fields")),
        })
    }
}

/// A number of a fixed width, and a constant that the width has.
fn narrow(a: &Expr, b: &Expr) -> Option<(Expr, Expr)> {
    let n = value_of(b)?;
    let (Type::Fixed { .. }, Type::Fixed { .. }) = (&a.ty, &b.ty) else { return None };
    let (lo, hi) = a.ty.finite_range(&[])?;
    (lo..=hi).contains(&n).then(|| (a.clone(), constant(n, a.ty.clone(), b.span)))
}
