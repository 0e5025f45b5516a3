//! Variables as vectors: one value for each round.
//!
//! Paper: Sequentializing Parameterized Programs (2011/12), section 4 (the vectors S and U); Asynchronous Programs with
//! Prioritized Task-Buffers (MSR-TR-2012-1), figures 5 and 6.
//!
//! Deviations:
//! 1. Only what changes becomes a vector.
//! 2. Guesses are as wide as what is known of the program says.

use crate::beginnings::Beginnings;
use crate::build::*;
use fabius_lang::program::*;
use std::collections::BTreeSet;

/// What belongs to variables that have become vectors.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// Before everything: how all rounds but the first begin.
    pub guesses: Block,
    /// Behind everything: each round has begun as the one before it ended.
    pub confirmed: Block,
    /// The variables that keep the guesses.
    pub starts: Vec<Place>,
}

/// Makes the variables vectors.
pub fn vectors(program: &mut Program, shared: &BTreeSet<GlobalId>, rounds: u32) -> Vectors {
    vectors_that(program, shared, rounds, None)
}

/// The same, with guesses that are no wider than need be.
pub fn vectors_that(
    program: &mut Program,
    shared: &BTreeSet<GlobalId>,
    rounds: u32,
    begin: Option<&Beginnings>,
) -> Vectors {
    let mut all = Vectors { guesses: Vec::new(), confirmed: Vec::new(), starts: Vec::new() };
    for g in shared {
        let variable = &mut program.globals[*g];
        variable.init = Value::Tuple(vec![variable.init.clone(); rounds as usize]);
        variable.ty = array(variable.ty.clone(), rounds);
        let (name, ty) = (format!("start_{}", variable.name), variable.ty.clone());
        let (x, start) = (global(program, *g), new_global(program, &name, ty));
        for i in 1..i64::from(rounds) {
            let place = element(x.clone(), number(i));
            match begin.and_then(|begin| begin.of(i, *g)) {
                Some(within) => guess_within(program, &place, &mut within.iter().copied(), &mut all.guesses),
                None => guess(program, &place, &mut all.guesses),
            }
            let begins = read(&element(start.clone(), number(i)));
            all.confirmed.push(assume(eq(begins, read(&element(x.clone(), number(i - 1))))));
        }
        all.guesses.push(set(&start, read(&x)));
        all.starts.push(start);
    }
    all
}

/// To a later round, or to none: then `drop` is done.
pub fn pass(round: &Place, last: i64, locals: &mut Vec<Local>, drop: &Block) -> Block {
    let next = new_local(locals, "next", Type::Range(0, last + 1));
    vec![
        any_between(&next, read(round), number(last + 1)),
        either(le(read(&next), number(last)), vec![set(round, read(&next))], drop.clone()),
    ]
}

/// Puts an expression in the place of every read of one of these places, and of every place where it is stored.
pub struct Moved<'a> {
    /// The variables that have become arrays.
    pub variables: &'a std::collections::BTreeSet<GlobalId>,
    /// The index of the element that stands for them.
    pub index: &'a Expr,
    /// A Boolean variable that is true also where this is.
    pub or_if: Option<(GlobalId, &'a Expr)>,
}

impl Moved<'_> {
    /// The block with everything moved.
    pub fn block(&self, block: Block, types: &Program) -> Block {
        block.into_iter().map(|s| self.stmt(s, types)).collect()
    }

    fn stmt(&self, s: Stmt, types: &Program) -> Stmt {
        let e = |e: Expr| self.expr(e, types);
        let all = |es: Vec<Expr>| es.into_iter().map(e).collect();
        let kind = match s.kind {
            StmtKind::Assign(p, v) => StmtKind::Assign(self.place(p, types), e(v)),
            StmtKind::Any(p, lo, hi) => StmtKind::Any(self.place(p, types), e(lo), e(hi)),
            StmtKind::If(g, a, b) => StmtKind::If(self.guard(g, types), self.block(a, types), self.block(b, types)),
            StmtKind::While(g, b) => StmtKind::While(self.guard(g, types), self.block(b, types)),
            StmtKind::Call(r, p, es) => StmtKind::Call(r, p, all(es)),
            StmtKind::Return(es) => StmtKind::Return(all(es)),
            StmtKind::Spawn(r, p, es) => StmtKind::Spawn(r, p, all(es)),
            StmtKind::Post(r, l, p, es) => StmtKind::Post(r, l, p, all(es)),
            StmtKind::Assume(v) => StmtKind::Assume(e(v)),
            StmtKind::Assert(v, c, m) => StmtKind::Assert(e(v), c, m),
            StmtKind::Print(es) => StmtKind::Print(all(es)),
            other => other,
        };
        Stmt { kind, ..s }
    }

    fn guard(&self, g: Guard, types: &Program) -> Guard {
        match g {
            Guard::Expr(e) => Guard::Expr(self.expr(e, types)),
            Guard::Star => Guard::Star,
        }
    }

    /// A place; `types` is the program in which the variables are arrays already.
    pub fn place(&self, mut p: Place, types: &Program) -> Place {
        for step in &mut p.path {
            if let Projection::Index { index, .. } = step {
                **index = self.expr((**index).clone(), types);
            }
        }
        if let Base::Global(g) = p.base
            && self.variables.contains(&g)
        {
            let Type::Array { lo, len, .. } = types.globals[g].ty else { unreachable!("it has become an array") };
            p.path.insert(0, Projection::Index { index: Box::new(self.index.clone()), lo, len });
        }
        p
    }

    fn expr(&self, e: Expr, types: &Program) -> Expr {
        let boxed = |e: Box<Expr>| Box::new(self.expr(*e, types));
        let kind = match e.kind {
            ExprKind::Read(p) => {
                let also = self.or_if.filter(|(g, _)| p.base == Base::Global(*g));
                let value = Expr { kind: ExprKind::Read(self.place(p, types)), ..e };
                return also.map_or(value.clone(), |(_, condition)| or(condition.clone(), value));
            }
            ExprKind::Unary(op, a) => ExprKind::Unary(op, boxed(a)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(op, boxed(a), boxed(b)),
            ExprKind::IfElse(a, b, c) => ExprKind::IfElse(boxed(a), boxed(b), boxed(c)),
            ExprKind::Tuple(parts) => ExprKind::Tuple(parts.into_iter().map(|p| self.expr(p, types)).collect()),
            ExprKind::Cast(a) => ExprKind::Cast(boxed(a)),
            other => other,
        };
        Expr { kind, ..e }
    }
}
