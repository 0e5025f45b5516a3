//! The values of expressions in a state.

use super::layout::{Layout, flatten, size};
use fabius_lang::program::*;

/// Something is not followed: nothing is said of the program.
pub struct Unknown;

/// The variables that expressions read: those of the program, and those of one procedure.
pub struct Scope<'a> {
    pub program: &'a Program,
    pub globals: (&'a Layout, &'a [i64]),
    pub locals: (&'a Layout, &'a [i64]),
}

impl Scope<'_> {
    /// Appends the numbers of a value.
    pub fn value(&self, e: &Expr, out: &mut Vec<i64>) -> Result<(), Unknown> {
        match &e.kind {
            ExprKind::Const(v) => flatten(v, out),
            ExprKind::Read(p) => {
                let (at, size) = (self.place(p)?, size(self.program, &p.ty));
                let from = if matches!(p.base, Base::Global(_)) { self.globals.1 } else { self.locals.1 };
                out.extend_from_slice(&from[at..at + size]);
            }
            ExprKind::IfElse(c, a, b) => self.value(if self.number(c)? != 0 { a } else { b }, out)?,
            ExprKind::Tuple(parts) => parts.iter().try_for_each(|p| self.value(p, out))?,
            _ => out.push(self.number(e)?),
        }
        Ok(())
    }

    /// Where a place begins in the list that its variable is in.
    pub fn place(&self, p: &Place) -> Result<usize, Unknown> {
        let (mut at, mut ty) = match p.base {
            Base::Global(g) => (self.globals.0.offsets[g], &self.program.globals[g].ty),
            Base::Local(l) if p.path.is_empty() => return Ok(self.locals.0.offsets[l]),
            Base::Local(l) => (self.locals.0.offsets[l], self.locals.0.types[l].as_ref().ok_or(Unknown)?),
            Base::Heap(..) => return Err(Unknown),
        };
        for step in &p.path {
            match (step, ty) {
                (Projection::Field(f), Type::Record(r)) => {
                    let fields = &self.program.records[*r].fields;
                    at += fields[..*f].iter().map(|f| size(self.program, &f.ty)).sum::<usize>();
                    ty = &fields[*f].ty;
                }
                (Projection::Index { index, lo, len }, Type::Array { element, .. }) => {
                    let index = self.number(index)?.checked_sub(*lo).ok_or(Unknown)?;
                    let index = usize::try_from(index).ok().filter(|i| *i < *len as usize).ok_or(Unknown)?;
                    at += index * size(self.program, element);
                    ty = element;
                }
                _ => return Err(Unknown),
            }
        }
        Ok(at)
    }

    /// A scalar.
    pub fn number(&self, e: &Expr) -> Result<i64, Unknown> {
        match &e.kind {
            ExprKind::Const(Value::Int(v)) => Ok(*v),
            ExprKind::Read(p) => {
                let from = if matches!(p.base, Base::Global(_)) { self.globals.1 } else { self.locals.1 };
                Ok(from[self.place(p)?])
            }
            ExprKind::Unary(UnaryOp::Not, a) => Ok(i64::from(self.number(a)? == 0)),
            ExprKind::Unary(op, a) => {
                let a = exact(self.number(a)?, &a.ty);
                fitted(if *op == UnaryOp::Neg { -a } else { !a }, &e.ty)
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, &e.ty),
            ExprKind::IfElse(c, a, b) => self.number(if self.number(c)? != 0 { a } else { b }),
            ExprKind::Cast(a) => fitted(exact(self.number(a)?, &a.ty), &e.ty),
            _ => Err(Unknown),
        }
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr, ty: &Type) -> Result<i64, Unknown> {
        match op {
            BinaryOp::And => return Ok(if self.number(a)? == 0 { 0 } else { self.number(b)? }),
            BinaryOp::Or => return Ok(if self.number(a)? != 0 { 1 } else { self.number(b)? }),
            BinaryOp::Eq | BinaryOp::Ne if a.ty.is_scalar() => {
                return Ok(i64::from((self.number(a)? == self.number(b)?) == (op == BinaryOp::Eq)));
            }
            BinaryOp::Eq | BinaryOp::Ne => {
                let (mut x, mut y) = (Vec::new(), Vec::new());
                self.value(a, &mut x)?;
                self.value(b, &mut y)?;
                return Ok(i64::from((x == y) == (op == BinaryOp::Eq)));
            }
            _ => {}
        }
        let (x, y) = (exact(self.number(a)?, &a.ty), exact(self.number(b)?, &b.ty));
        let truth = |holds: bool| Ok(i64::from(holds));
        match op {
            BinaryOp::Lt => truth(x < y),
            BinaryOp::Le => truth(x <= y),
            BinaryOp::Gt => truth(x > y),
            BinaryOp::Ge => truth(x >= y),
            BinaryOp::Add => fitted(x + y, ty),
            BinaryOp::Sub => fitted(x - y, ty),
            BinaryOp::Mul => fitted(x.checked_mul(y).ok_or(Unknown)?, ty),
            BinaryOp::Div => fitted(x.checked_div(y).ok_or(Unknown)?, ty),
            BinaryOp::Rem => fitted(x.checked_rem(y).ok_or(Unknown)?, ty),
            BinaryOp::BitAnd => fitted(x & y, ty),
            BinaryOp::BitOr => fitted(x | y, ty),
            BinaryOp::BitXor => fitted(x ^ y, ty),
            _ => Err(Unknown),
        }
    }
}

/// The number that a code stands for.
fn exact(v: i64, ty: &Type) -> i128 {
    match ty {
        Type::Fixed { bits: 64, signed: false } => i128::from(v as u64),
        _ => i128::from(v),
    }
}

/// The code of a number: fixed widths wrap, nothing else does.
fn fitted(v: i128, ty: &Type) -> Result<i64, Unknown> {
    match ty {
        Type::Fixed { bits, signed } => {
            let above = 128 - u32::from(*bits);
            let wrapped = if *signed { v << above >> above } else { ((v as u128) << above >> above) as i128 };
            Ok(wrapped as i64)
        }
        _ => i64::try_from(v).map_err(|_| Unknown),
    }
}
