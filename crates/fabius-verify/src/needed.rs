//! What values matter: those that flow into a branch, an assertion, an assumption, an index, or what is waited for.
//!
//! Paper: Program Slicing (IEEE Transactions on Software Engineering, 1984), for all that a program asks at once.
//!
//! Deviations:
//! 1. Of a variable with parts all are needed or none. Flow is taken together for the whole program, in any order.
//! 2. Nothing is left out of the program: accesses stay, since they may race. It is only known which values make no difference.
//! 3. An index and what is divided by matter by themselves, and so does everything that decides whether they are evaluated.

use fabius_lang::program::{
    Base, BinaryOp, Expr, ExprKind, GlobalId, LocalId, Place, ProcId, Program, Stmt, StmtKind, Type, UNSET, UNSET_COPY,
    Value,
};
use fabius_lang::walk;
use std::collections::{BTreeMap, BTreeSet};

/// Something that has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    Global(GlobalId),
    Local(ProcId, LocalId),
    Result(ProcId, usize),
}

/// The nodes whose values matter.
pub struct Needed(BTreeSet<Node>);

impl Needed {
    pub fn of(program: &Program) -> Needed {
        let mut from: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
        let mut open: Vec<Node> = Vec::new();
        for (p, proc) in program.procs.iter().enumerate() {
            walk::statements(&proc.body, &mut |s| {
                for (to, e) in flows(p, s) {
                    nodes(p, e, &mut |n| from.entry(to).or_default().push(n));
                }
                if let StmtKind::Call(results, q, _) = &s.kind {
                    for (i, to) in results.iter().enumerate().filter_map(|(i, to)| Some((i, (*to)?))) {
                        from.entry(Node::Local(p, to)).or_default().push(Node::Result(*q, i));
                    }
                }
                for e in always(p, s) {
                    nodes(p, e, &mut |n| open.push(n));
                }
            });
        }
        program.conditions.iter().for_each(|e| nodes(0, e, &mut |n| open.push(n)));
        let mut needed = BTreeSet::new();
        while let Some(node) = open.pop() {
            if needed.insert(node) {
                open.extend(from.get(&node).into_iter().flatten());
            }
        }
        Needed(needed)
    }

    pub fn has(&self, node: Node) -> bool {
        self.0.contains(&node)
    }

    /// The expressions of a statement whose values matter.
    pub fn matter<'p>(&self, p: ProcId, s: &'p Stmt) -> Vec<&'p Expr> {
        let flowing = flows(p, s).into_iter().filter(|(to, _)| self.has(*to)).map(|(_, e)| e);
        flowing.chain(always(p, s)).collect()
    }
}

/// What flows where in a statement.
pub fn flows(p: ProcId, s: &Stmt) -> Vec<(Node, &Expr)> {
    match &s.kind {
        StmtKind::Assign(to, e) => node(p, to).into_iter().map(|n| (n, e)).collect(),
        StmtKind::Call(_, q, es) | StmtKind::Spawn(_, q, es) | StmtKind::Post(_, _, q, es) => {
            es.iter().enumerate().map(|(i, e)| (Node::Local(*q, i), e)).collect()
        }
        StmtKind::Return(es) => es.iter().enumerate().map(|(i, e)| (Node::Result(p, i), e)).collect(),
        _ => Vec::new(),
    }
}

/// What matters in a statement whatever its result is needed for.
fn always(p: ProcId, s: &Stmt) -> Vec<&Expr> {
    let all = walk::expressions(s);
    match &s.kind {
        StmtKind::Assign(to, _) if node(p, to).is_none() || matches!(to.ty, Type::Range(..)) => all,
        StmtKind::Assign(to, e) => {
            let mut out = walk::of_place(to);
            may_fail(e, &mut out);
            out
        }
        StmtKind::Call(..) | StmtKind::Spawn(..) | StmtKind::Post(..) | StmtKind::Return(_) => {
            let mut out = Vec::new();
            all.into_iter().for_each(|e| may_fail(e, &mut out));
            out
        }
        _ => all,
    }
}

/// The parts of an expression that decide whether its evaluation is a fault, and what it accesses.
pub fn may_fail<'p>(e: &'p Expr, out: &mut Vec<&'p Expr>) {
    let before = out.len();
    match &e.kind {
        ExprKind::Const(_) | ExprKind::SelfHandle => {}
        ExprKind::Read(place) => out.extend(walk::of_place(place)),
        ExprKind::Cast(_) | ExprKind::Unary(..) | ExprKind::Binary(..)
            if matches!(e.ty, Type::Int | Type::Range(..)) =>
        {
            out.push(e);
        }
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => may_fail(a, out),
        ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, a, b) => {
            may_fail(a, out);
            out.push(b);
        }
        ExprKind::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
            may_fail(b, out);
            if out.len() > before || is_shared(b) {
                out.push(a);
            }
            may_fail(a, out);
        }
        ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => {
            may_fail(a, out);
            may_fail(b, out);
        }
        ExprKind::IfElse(c, a, b) => {
            may_fail(a, out);
            may_fail(b, out);
            if out.len() > before || is_shared(a) || is_shared(b) {
                out.push(c);
            }
            may_fail(c, out);
        }
        ExprKind::Tuple(es) => es.iter().for_each(|e| may_fail(e, out)),
    }
}

/// Whether a variable is read that others may write: then it matters whether it is.
pub fn is_shared(e: &Expr) -> bool {
    let mut found = false;
    walk::each(e, &mut |e| {
        found |= matches!(&e.kind, ExprKind::Read(place) if !matches!(place.base, Base::Local(_)));
    });
    found
}

/// The variable that a place is in, unless it is an object.
fn node(p: ProcId, place: &Place) -> Option<Node> {
    match place.base {
        Base::Global(g) => Some(Node::Global(g)),
        Base::Local(l) => Some(Node::Local(p, l)),
        Base::Heap(..) => None,
    }
}

/// Calls `f` for each variable that is read in an expression, but where it is only asked whether something was written to it.
fn nodes(p: ProcId, e: &Expr, f: &mut dyn FnMut(Node)) {
    match &e.kind {
        ExprKind::Const(_) | ExprKind::SelfHandle => {}
        ExprKind::Read(place) => {
            node(p, place).into_iter().for_each(&mut *f);
            walk::of_place(place).into_iter().for_each(|e| nodes(p, e, f));
        }
        ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne, a, b) if is_unset(b) => {
            if let ExprKind::Read(place) = &a.kind {
                walk::of_place(place).into_iter().for_each(|e| nodes(p, e, f));
            } else {
                nodes(p, a, f);
            }
        }
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => nodes(p, a, f),
        ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => [a, b].into_iter().for_each(|e| nodes(p, e, f)),
        ExprKind::IfElse(a, b, c) => [a, b, c].into_iter().for_each(|e| nodes(p, e, f)),
        ExprKind::Tuple(es) => es.iter().for_each(|e| nodes(p, e, f)),
    }
}

/// What stands for nothing: no number that a program computes.
fn is_unset(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Const(Value::Int(UNSET | UNSET_COPY)))
}
