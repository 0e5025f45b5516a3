//! Expressions and places as terms.

use super::layout::{Layout, Leaf, flatten, size, sort_of};
use super::state::{Leaves, NotSequential, State};
use fabius_lang::program::{
    Base, BinaryOp, Expr, ExprKind, Guard, Place, ProcId, Program, Projection, Type, UnaryOp, Value,
};
use fabius_smt::{Op, Sort, Term, Terms};

/// Expressions over the variables of a program as terms.
pub(crate) struct Evaluator<'p> {
    pub program: &'p Program,
    pub terms: Terms,
    /// How the globals lie in a state.
    pub globals: Layout,
    /// How the locals of each procedure lie behind them.
    pub locals: Vec<Layout>,
    /// Points of the order that are the same where the guard holds.
    pub orders: Vec<(Term, Term, Term)>,
}

impl<'p> Evaluator<'p> {
    /// For a program.
    pub(crate) fn new(program: &'p Program) -> Evaluator<'p> {
        let globals = Layout::of(program, program.globals.iter().map(|g| &g.ty));
        let locals = program.procs.iter().map(|p| Layout::of(program, p.locals.iter().map(|l| &l.ty))).collect();
        Evaluator { program, terms: Terms::default(), globals, locals, orders: Vec::new() }
    }

    /// How many leaves the parameters of a procedure have.
    pub(crate) fn parameters(&self, proc: ProcId) -> usize {
        let proc = &self.program.procs[proc];
        proc.locals[..proc.params].iter().map(|l| size(self.program, &l.ty)).sum()
    }

    /// The leaves of a type.
    pub(crate) fn leaves(&self, ty: &Type) -> Vec<Leaf> {
        let mut all = Vec::new();
        super::layout::leaves(self.program, ty, &mut all);
        all
    }

    /// The leaves of an expression's value.
    pub(crate) fn eval(&mut self, state: &State, proc: ProcId, e: &Expr) -> Result<Leaves, NotSequential> {
        let program = self.program;
        Ok(match &e.kind {
            ExprKind::Const(value) => self.constant(value, &e.ty),
            ExprKind::Read(place) => self.read(state, proc, place)?,
            ExprKind::Unary(op, a) => {
                let a = self.scalar(state, proc, a)?;
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
                let (a, b) = (self.eval(state, proc, a)?, self.eval(state, proc, b)?);
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
                let (a, b) = (self.scalar(state, proc, a)?, self.scalar(state, proc, b)?);
                vec![self.binary(*op, a, b)]
            }
            ExprKind::IfElse(c, a, b) => {
                let c = self.scalar(state, proc, c)?;
                let (a, b) = (self.eval(state, proc, a)?, self.eval(state, proc, b)?);
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
                    all.extend(self.eval(state, proc, part)?);
                }
                all
            }
            ExprKind::Cast(a) => {
                let a = self.scalar(state, proc, a)?;
                vec![self.terms.cast(a, sort_of(&e.ty))]
            }
            ExprKind::SelfHandle => return Err(NotSequential { what: "`self`", span: e.span }),
            ExprKind::SetContains(..) | ExprKind::SetIsEmpty(..) => {
                return Err(NotSequential { what: "a set of threads", span: e.span });
            }
        })
    }

    /// The one leaf of an expression.
    pub(crate) fn scalar(&mut self, state: &State, proc: ProcId, e: &Expr) -> Result<Term, NotSequential> {
        Ok(self.eval(state, proc, e)?[0])
    }

    pub(crate) fn constant(&mut self, value: &Value, ty: &Type) -> Leaves {
        let mut values = Vec::new();
        flatten(value, &mut values);
        let leaves = self.leaves(ty);
        values.into_iter().zip(leaves).map(|(v, leaf)| self.terms.constant(i128::from(v), leaf.sort)).collect()
    }

    /// A constant number next to a point of an order is one as well.
    pub(crate) fn alike(&mut self, a: Term, b: Term) -> (Term, Term) {
        match (self.terms.sort(a), self.terms.sort(b)) {
            (Sort::Order, Sort::Int) => (a, self.as_point(b)),
            (Sort::Int, Sort::Order) => (self.as_point(a), b),
            _ => (a, b),
        }
    }

    pub(crate) fn as_point(&mut self, a: Term) -> Term {
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
    fn base(&self, proc: ProcId, place: &Place) -> Result<(usize, &Type), NotSequential> {
        match &place.base {
            Base::Global(g) => Ok((self.globals.offsets[*g], &self.program.globals[*g].ty)),
            Base::Local(l) => {
                let offset = self.globals.leaves.len() + self.locals[proc].offsets[*l];
                Ok((offset, &self.program.procs[proc].locals[*l].ty))
            }
            Base::Heap(..) => Err(NotSequential { what: "the heap", span: place.span }),
        }
    }

    /// The places that a path may lead to, each with the condition under which it does: the offset of the first leaf.
    fn places(&mut self, state: &State, proc: ProcId, place: &Place) -> Result<Vec<(Term, usize)>, NotSequential> {
        let program = self.program;
        let (offset, ty) = self.base(proc, place)?;
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
                    let index = self.scalar(state, proc, index)?;
                    let sort = self.terms.sort(index);
                    let mut next = Vec::new();
                    if let Some(known) = self.terms.value_of(index) {
                        // It is looked for among no others.
                        let i = usize::try_from(known - i128::from(*lo)).ok().filter(|i| *i < *len as usize);
                        next.extend(
                            i.into_iter().flat_map(|i| all.iter().map(move |(when, at)| (*when, at + i * each))),
                        );
                        (all, ty) = (next, *element);
                        continue;
                    }
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

    fn read(&mut self, state: &State, proc: ProcId, place: &Place) -> Result<Leaves, NotSequential> {
        let length = size(self.program, &place.ty);
        let places = self.places(state, proc, place)?;
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
    pub(crate) fn store(
        &mut self,
        state: &mut State,
        proc: ProcId,
        place: &Place,
        value: &[Term],
    ) -> Result<(), NotSequential> {
        for (when, at) in self.places(state, proc, place)? {
            for (i, v) in value.iter().enumerate() {
                let (v, old) = self.alike(*v, state.vars[at + i]);
                state.vars[at + i] = self.terms.ite(when, v, old);
            }
        }
        Ok(())
    }

    /// Values as the leaves of a type hold them.
    pub(crate) fn in_sorts_of(&mut self, values: Leaves, ty: &Type) -> Leaves {
        let point = |leaf: &Leaf| leaf.sort == Sort::Order;
        let leaves = self.leaves(ty);
        values.into_iter().zip(leaves).map(|(v, leaf)| if point(&leaf) { self.as_point(v) } else { v }).collect()
    }

    pub(crate) fn leaf_sort(&mut self, state: &State, proc: ProcId, place: &Place) -> Result<Sort, NotSequential> {
        let read = Expr { kind: ExprKind::Read(place.clone()), ty: place.ty.clone(), span: place.span };
        let now = self.scalar(state, proc, &read)?;
        Ok(self.terms.sort(now))
    }

    /// A new value between two bounds, and whether there is one.
    pub(crate) fn any(
        &mut self,
        state: &State,
        proc: ProcId,
        ty: &Type,
        sort: Sort,
        lo: &Expr,
        hi: &Expr,
    ) -> Result<(Term, Term), NotSequential> {
        if sort == Sort::Order {
            return Ok((self.terms.variable(Sort::Order), Terms::TRUE));
        }
        let is = |e: &Expr, v: i64| matches!(e.kind, ExprKind::Const(Value::Int(c)) if c == v);
        if is(lo, i64::MIN) && is(hi, i64::MAX) {
            return Ok((self.terms.variable(sort), Terms::TRUE));
        }
        let (lo, hi) = (self.scalar(state, proc, lo)?, self.scalar(state, proc, hi)?);
        let known = self.terms.value_of(lo).zip(self.terms.value_of(hi));
        if let Some((lo, hi)) = known {
            if lo == hi {
                return Ok((self.terms.constant(lo, sort), Terms::TRUE));
            }
            if lo > hi {
                return Ok((self.terms.constant(0, sort), Terms::FALSE));
            }
            match sort {
                Sort::Bool => return Ok((self.terms.variable(Sort::Bool), Terms::TRUE)),
                Sort::Int => return Ok((self.terms.variable_between(lo, hi), Terms::TRUE)),
                _ => {}
            }
        }
        let of_bounds = self.terms.range(lo).zip(self.terms.range(hi)).map(|((lo, _), (_, hi))| (lo, hi.max(lo)));
        let of_type = ty.finite_range(&self.program.enums).map(|(lo, hi)| (i128::from(lo), i128::from(hi)));
        let value = match (of_type.or(of_bounds), sort) {
            (Some((lo, hi)), Sort::Int) => self.terms.variable_between(lo, hi),
            _ => self.terms.variable(sort),
        };
        if sort == Sort::Bool {
            return Ok((value, Terms::TRUE));
        }
        let (lo, hi) = (self.terms.cast(lo, sort), self.terms.cast(hi, sort));
        let (above, below) = (self.terms.le(lo, value), self.terms.le(value, hi));
        Ok((value, self.terms.and(above, below)))
    }

    pub(crate) fn guard(&mut self, state: &State, proc: ProcId, guard: &Guard) -> Result<Term, NotSequential> {
        match guard {
            Guard::Star => Ok(self.terms.variable(Sort::Bool)),
            Guard::Expr(e) => self.scalar(state, proc, e),
        }
    }

    pub(crate) fn default_of(&mut self, ty: &Type) -> Leaves {
        self.constant(&ty.default_value(&self.program.records), ty)
    }
}
