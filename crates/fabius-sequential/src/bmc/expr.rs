//! Expressions and places as terms.

use super::Bmc;
use super::layout::{Leaf, flatten, size, sort_of};
use super::run::{Scope, State};
use fabius_lang::program::{Base, BinaryOp, Expr, ExprKind, Place, Projection, Type, UnaryOp, Value};
use fabius_smt::{Op, Sort, Term, Terms};

/// What an expression or statement is that sequential programs do not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSequential {
    /// What.
    pub what: &'static str,
    /// Where.
    pub span: fabius_trace::Span,
}

/// The leaves of a value.
pub(super) type Leaves = Vec<Term>;

impl Bmc<'_> {
    /// The leaves of a type.
    pub(super) fn leaves(&self, ty: &Type) -> Vec<Leaf> {
        let mut all = Vec::new();
        super::layout::leaves(self.program, ty, &mut all);
        all
    }

    /// The leaves of an expression's value.
    pub(super) fn eval(&mut self, state: &State, scope: &Scope, e: &Expr) -> Result<Leaves, NotSequential> {
        let program = self.program;
        Ok(match &e.kind {
            ExprKind::Const(value) => self.constant(value, &e.ty),
            ExprKind::Read(place) => self.read(state, scope, place)?,
            ExprKind::Unary(op, a) => {
                let a = self.scalar(state, scope, a)?;
                let sort = self.terms.sort(a);
                vec![match op {
                    UnaryOp::Not => self.terms.not(a),
                    UnaryOp::Neg => {
                        let zero = self.terms.constant(0, sort);
                        self.terms.arithmetic(Op::Sub, zero, a)
                    }
                    UnaryOp::BitNot => {
                        let ones = self.terms.constant(-1, sort);
                        self.terms.arithmetic(Op::BitXor, a, ones)
                    }
                }]
            }
            ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne, a, b) => {
                let (a, b) = (self.eval(state, scope, a)?, self.eval(state, scope, b)?);
                let mut same = Terms::TRUE;
                for (a, b) in a.into_iter().zip(b) {
                    let (a, b) = self.alike(a, b);
                    let eq = if self.terms.sort(a) == Sort::Order {
                        self.orders.push((state.guard, a, b));
                        Terms::TRUE
                    } else {
                        self.terms.eq(a, b)
                    };
                    same = self.terms.and(same, eq);
                }
                let differs = matches!(e.kind, ExprKind::Binary(BinaryOp::Ne, ..));
                vec![if differs { self.terms.not(same) } else { same }]
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.scalar(state, scope, a)?, self.scalar(state, scope, b)?);
                vec![self.binary(*op, a, b)]
            }
            ExprKind::IfElse(c, a, b) => {
                let c = self.scalar(state, scope, c)?;
                let (a, b) = (self.eval(state, scope, a)?, self.eval(state, scope, b)?);
                a.into_iter()
                    .zip(b)
                    .map(|(a, b)| {
                        let (a, b) = self.alike(a, b);
                        self.terms.ite(c, a, b)
                    })
                    .collect()
            }
            ExprKind::Tuple(parts) => {
                let mut all = Vec::with_capacity(size(program, &e.ty));
                for part in parts {
                    all.extend(self.eval(state, scope, part)?);
                }
                all
            }
            ExprKind::Cast(a) => {
                let a = self.scalar(state, scope, a)?;
                vec![self.terms.cast(a, sort_of(&e.ty))]
            }
            ExprKind::SelfHandle => return Err(NotSequential { what: "`self`", span: e.span }),
            ExprKind::SetContains(..) | ExprKind::SetIsEmpty(..) => {
                return Err(NotSequential { what: "a set of threads", span: e.span });
            }
        })
    }

    /// The one leaf of an expression.
    pub(super) fn scalar(&mut self, state: &State, scope: &Scope, e: &Expr) -> Result<Term, NotSequential> {
        Ok(self.eval(state, scope, e)?[0])
    }

    pub(super) fn constant(&mut self, value: &Value, ty: &Type) -> Leaves {
        let mut values = Vec::new();
        flatten(value, &mut values);
        let leaves = self.leaves(ty);
        values.into_iter().zip(leaves).map(|(v, leaf)| self.terms.constant(i128::from(v), leaf.sort)).collect()
    }

    /// A constant number next to a point of an order is one as well.
    pub(super) fn alike(&mut self, a: Term, b: Term) -> (Term, Term) {
        match (self.terms.sort(a), self.terms.sort(b)) {
            (Sort::Order, Sort::Int) => (a, self.as_point(b)),
            (Sort::Int, Sort::Order) => (self.as_point(a), b),
            _ => (a, b),
        }
    }

    pub(super) fn as_point(&mut self, a: Term) -> Term {
        match self.terms.value_of(a) {
            Some(v) if self.terms.sort(a) == Sort::Int => self.terms.constant(v, Sort::Order),
            _ => a,
        }
    }

    fn binary(&mut self, op: BinaryOp, a: Term, b: Term) -> Term {
        match op {
            BinaryOp::And => return self.terms.and(a, b),
            BinaryOp::Or => return self.terms.or(a, b),
            BinaryOp::Lt => return self.terms.lt(a, b),
            BinaryOp::Le => return self.terms.le(a, b),
            BinaryOp::Gt => return self.terms.lt(b, a),
            BinaryOp::Ge => return self.terms.le(b, a),
            BinaryOp::Add if self.terms.sort(a) == Sort::Order => return self.terms.next(a),
            _ => {}
        }
        let arithmetic = crate::arithmetic(op).expect("equality is on all types");
        self.terms.arithmetic(arithmetic, a, b)
    }

    /// Where the leaves of a variable begin in a state, and its type.
    fn base<'t>(&'t self, scope: &'t Scope, place: &Place) -> Result<(usize, &'t Type), NotSequential> {
        match &place.base {
            Base::Global(g) => Ok((self.globals.offsets[*g], &self.program.globals[*g].ty)),
            Base::Local(l) => {
                let proc = &self.program.procs[scope.proc];
                Ok((self.globals.leaves.len() + self.locals[scope.proc].offsets[*l], &proc.locals[*l].ty))
            }
            Base::Heap(..) => Err(NotSequential { what: "the heap", span: place.span }),
        }
    }

    /// The places that a path may lead to, each with the condition under which it does: the offset of the first leaf.
    fn places(&mut self, state: &State, scope: &Scope, place: &Place) -> Result<Vec<(Term, usize)>, NotSequential> {
        let program = self.program;
        let (offset, ty) = self.base(scope, place)?;
        let mut ty = ty.clone();
        let mut all = vec![(Terms::TRUE, offset)];
        for step in &place.path {
            match (step, ty) {
                (Projection::Field(f), Type::Record(r)) => {
                    let fields = &program.records[r].fields;
                    let before: usize = fields[..*f].iter().map(|f| size(program, &f.ty)).sum();
                    all.iter_mut().for_each(|(_, at)| *at += before);
                    ty = fields[*f].ty.clone();
                }
                (Projection::Index { index, lo, len }, Type::Array { element, .. }) => {
                    let each = size(program, &element);
                    let index = self.scalar(state, scope, index)?;
                    let sort = self.terms.sort(index);
                    let mut next = Vec::new();
                    for (when, at) in &all {
                        for i in 0..*len {
                            let here = match sort {
                                Sort::Bool if i == 1 => index,
                                Sort::Bool => self.terms.not(index),
                                _ => {
                                    let value = self.terms.constant(i128::from(*lo) + i128::from(i), sort);
                                    self.terms.eq(index, value)
                                }
                            };
                            let when = self.terms.and(*when, here);
                            if when != Terms::FALSE {
                                next.push((when, at + i as usize * each));
                            }
                        }
                    }
                    all = next;
                    ty = *element;
                }
                _ => unreachable!("paths fit their types"),
            }
        }
        Ok(all)
    }

    fn read(&mut self, state: &State, scope: &Scope, place: &Place) -> Result<Leaves, NotSequential> {
        let length = size(self.program, &place.ty);
        let places = self.places(state, scope, place)?;
        let Some(((_, last), rest)) = places.split_last() else {
            // No index is one of the array: whatever is read does not matter.
            return Ok(self.leaves(&place.ty).into_iter().map(|leaf| self.terms.constant(0, leaf.sort)).collect());
        };
        let mut value = state.vars[*last..*last + length].to_vec();
        for (when, at) in rest.iter().rev() {
            for (i, v) in value.iter_mut().enumerate() {
                *v = self.terms.ite(*when, state.vars[at + i], *v);
            }
        }
        Ok(value)
    }

    /// Stores leaves at a place.
    pub(super) fn store(
        &mut self,
        state: &mut State,
        scope: &Scope,
        place: &Place,
        value: &[Term],
    ) -> Result<(), NotSequential> {
        for (when, at) in self.places(state, scope, place)? {
            for (i, v) in value.iter().enumerate() {
                let (v, old) = self.alike(*v, state.vars[at + i]);
                state.vars[at + i] = self.terms.ite(when, v, old);
            }
        }
        Ok(())
    }
}
