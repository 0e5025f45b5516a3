//! What expressions are worth, as circuits over the bits of the variables.

use super::circuit::{self, Number};
use super::diagram::{Diagrams, Done, Set};
use super::layout::{Copy, Layout, Leaf, count, scalars};
use fabius_lang::program::*;
use oxidd::BooleanFunction;

/// The scalars of a value, in order. A Boolean is the number 0 or 1.
pub type Scalars = Vec<Number>;

/// Evaluates expressions of one procedure.
pub struct Evaluator<'a> {
    pub program: &'a Program,
    pub layout: &'a Layout,
    pub d: &'a Diagrams,
    pub proc: ProcId,
}

impl Evaluator<'_> {
    /// A leaf as a number.
    pub fn leaf(&self, leaf: Leaf, copy: Copy) -> Done<Number> {
        let mut bits = self.layout.variables(leaf, copy).map(|v| self.d.var(v)).collect::<Done<Number>>()?;
        if !self.layout.widths[leaf].signed {
            bits.push(self.d.none.clone());
        }
        Ok(bits)
    }

    /// Where a leaf has this value, as far as its bits go.
    pub fn leaf_is(&self, leaf: Leaf, copy: Copy, value: &Number) -> Done<Set> {
        let sign = &value[value.len() - 1];
        let mut all = self.d.all.clone();
        for (i, v) in self.layout.variables(leaf, copy).enumerate() {
            all = all.and(&self.d.var(v)?.equiv(value.get(i).unwrap_or(sign))?)?;
        }
        Ok(all)
    }

    /// Where a Boolean expression holds.
    pub fn truth(&self, e: &Expr) -> Done<Set> {
        Ok(self.scalar(e)?.swap_remove(0))
    }

    fn scalar(&self, e: &Expr) -> Done<Number> {
        Ok(self.value(e)?.swap_remove(0))
    }

    fn boolean(&self, set: Set) -> Scalars {
        vec![vec![set, self.d.none.clone()]]
    }

    /// What an expression is worth.
    pub fn value(&self, e: &Expr) -> Done<Scalars> {
        Ok(match &e.kind {
            ExprKind::Const(value) => {
                let mut all = Vec::new();
                scalars(value, &mut all);
                all.into_iter().map(|v| self.constant(v, &e.ty)).collect()
            }
            ExprKind::Read(p) => self.place(p)?,
            ExprKind::Unary(UnaryOp::Not, a) => self.boolean(self.truth(a)?.not()?),
            ExprKind::Unary(UnaryOp::Neg, a) => vec![self.sized(circuit::negated(self.d, &self.scalar(a)?)?, &e.ty)],
            ExprKind::Unary(UnaryOp::BitNot, a) => vec![self.sized(circuit::bitwise_not(&self.scalar(a)?)?, &e.ty)],
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, &e.ty)?,
            ExprKind::IfElse(c, a, b) => self.choice(&self.truth(c)?, self.value(a)?, self.value(b)?)?,
            ExprKind::Tuple(parts) => parts.iter().map(|e| self.value(e)).collect::<Done<Vec<_>>>()?.concat(),
            ExprKind::Cast(a) => vec![self.sized(self.scalar(a)?, &e.ty)],
            // A sequential program has no threads.
            ExprKind::SelfHandle | ExprKind::SetContains(..) | ExprKind::SetIsEmpty(_) => {
                vec![circuit::constant(self.d, 0)]
            }
        })
    }

    fn constant(&self, v: i64, ty: &Type) -> Number {
        let code = i128::from(v);
        let is_wide = matches!(ty, Type::Fixed { bits: 64, signed: false }) && v < 0;
        circuit::constant(self.d, if is_wide { code + (1 << 64) } else { code })
    }

    /// As a number of the type: fixed widths wrap.
    fn sized(&self, value: Number, ty: &Type) -> Number {
        match ty {
            Type::Fixed { bits, signed } => circuit::wrapped(self.d, &value, usize::from(*bits), *signed),
            _ => value,
        }
    }

    fn choice(&self, c: &Set, a: Scalars, b: Scalars) -> Done<Scalars> {
        a.iter().zip(&b).map(|(a, b)| circuit::if_else(c, a, b)).collect()
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr, ty: &Type) -> Done<Scalars> {
        let d = self.d;
        let number = |n: Number| vec![self.sized(n, ty)];
        if let BinaryOp::Eq | BinaryOp::Ne = op {
            let (a, b) = (self.value(a)?, self.value(b)?);
            let parts = a.iter().zip(&b).rev();
            let same =
                parts.map(|(a, b)| circuit::equal(d, a, b)).try_fold(d.all.clone(), |all, one| all.and(&one?))?;
            return Ok(self.boolean(if op == BinaryOp::Eq { same } else { same.not()? }));
        }
        let (x, y) = (self.scalar(a)?, self.scalar(b)?);
        let width = match ty {
            Type::Fixed { bits, .. } => usize::from(*bits),
            _ => 64,
        };
        Ok(match op {
            BinaryOp::Add => number(circuit::add(d, &x, &y)?),
            BinaryOp::Sub => number(circuit::sub(d, &x, &y)?),
            BinaryOp::Mul => number(circuit::mul(d, &x, &y)?),
            BinaryOp::Div => number(circuit::divide(d, &x, &y)?.0),
            BinaryOp::Rem => number(circuit::divide(d, &x, &y)?.1),
            BinaryOp::BitAnd => number(circuit::bitwise(&x, &y, |a, b| a.and(b))?),
            BinaryOp::BitOr => number(circuit::bitwise(&x, &y, |a, b| a.or(b))?),
            BinaryOp::BitXor => number(circuit::bitwise(&x, &y, |a, b| a.xor(b))?),
            BinaryOp::Shl => number(circuit::shifted_left(d, &x, &y, width)?),
            BinaryOp::Shr => number(circuit::shifted_right(&x, &y, width)?),
            BinaryOp::Lt => self.boolean(circuit::less(d, &x, &y)?),
            BinaryOp::Ge => self.boolean(circuit::less(d, &x, &y)?.not()?),
            BinaryOp::Gt => self.boolean(circuit::less(d, &y, &x)?),
            BinaryOp::Le => self.boolean(circuit::less(d, &y, &x)?.not()?),
            BinaryOp::And => self.boolean(x[0].and(&y[0])?),
            BinaryOp::Or => self.boolean(x[0].or(&y[0])?),
            BinaryOp::Eq | BinaryOp::Ne => unreachable!("treated above"),
        })
    }

    fn place(&self, p: &Place) -> Done<Scalars> {
        let (program, copy) = (self.program, Copy::Now);
        let (first, ty) = match &p.base {
            Base::Global(g) => (self.layout.global(*g), &program.globals[*g].ty),
            Base::Local(l) => (Some(self.layout.local(self.proc, *l)), &program.procs[self.proc].locals[*l].ty),
            Base::Heap(..) => unreachable!("a sequential program has no heap"),
        };
        let all: Scalars = match (first, &p.base) {
            (Some(first), _) => {
                let size = count(program, ty);
                (first..first + size).map(|leaf| self.leaf(leaf, copy)).collect::<Done<_>>()?
            }
            (None, Base::Global(g)) => {
                let mut values = Vec::new();
                scalars(&program.globals[*g].init, &mut values);
                let mut types = Vec::new();
                super::layout::leaves(program, ty, &mut types);
                values.iter().zip(&types).map(|(v, ty)| self.constant(*v, ty)).collect()
            }
            (None, _) => unreachable!("only globals are constant"),
        };
        self.part(all, ty, &p.path)
    }

    /// A part of a value.
    fn part(&self, all: Scalars, ty: &Type, path: &[Projection]) -> Done<Scalars> {
        let program = self.program;
        match (path, ty) {
            ([], _) => Ok(all),
            ([Projection::Field(f), rest @ ..], Type::Record(r)) => {
                let fields = &program.records[*r].fields;
                let skip: usize = fields[..*f].iter().map(|f| count(program, &f.ty)).sum();
                let size = count(program, &fields[*f].ty);
                self.part(all[skip..skip + size].to_vec(), &fields[*f].ty, rest)
            }
            ([Projection::Index { index, lo, len }, rest @ ..], Type::Array { element, .. }) => {
                let size = count(program, element);
                let entry = |i: usize| self.part(all[i * size..(i + 1) * size].to_vec(), element, rest);
                let at = self.scalar(index)?;
                if let ExprKind::Const(Value::Int(i)) = index.kind
                    && (0..i64::from(*len)).contains(&(i - lo))
                {
                    return entry((i - lo) as usize);
                }
                // Nobody reads outside: that is asserted before.
                let mut out = entry(0)?;
                for i in 1..*len as usize {
                    let here = circuit::equal(self.d, &at, &circuit::constant(self.d, i128::from(*lo) + i as i128))?;
                    out = self.choice(&here, entry(i)?, out)?;
                }
                Ok(out)
            }
            _ => unreachable!("the program has types"),
        }
    }
}
