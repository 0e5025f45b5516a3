//! What a program compares, and with what: the words of its invariants.

use super::steps::Maker;
use super::views::Comparison;
use crate::bmc::NotSequential;
use crate::summaries::graph::{Action, Graph};
use fabius_lang::program::{BinaryOp, Expr, ExprKind, ProcId, Program, StmtKind, Type, Value as Literal};
use fabius_smt::{Term, Terms, Value};
use std::collections::BTreeSet;

/// Comparisons at most.
const MOST_COMPARISONS: usize = 12;
/// Constants at most.
const MOST_CONSTANTS: usize = 24;

/// The comparisons of numbers in guards and assertions; `None` if there are too many.
pub fn comparisons<'p>(
    maker: &mut Maker<'_, 'p>,
    graphs: &[Graph<'p>],
    memory: &[Term],
) -> Result<Option<Vec<Comparison<'p>>>, NotSequential> {
    let mut found: Vec<(ProcId, &'p Expr)> = Vec::new();
    for (p, graph) in graphs.iter().enumerate() {
        let mut all: Vec<&'p Expr> = graph.checks.iter().map(|check| check.expr).collect();
        for edge in graph.edges.iter().flatten() {
            match edge.action {
                Action::Where(e, _) | Action::Assign(_, e) => all.push(e),
                _ => {}
            }
        }
        all.into_iter().for_each(|e| {
            each(e, &mut |e| {
                let compares = |op: &BinaryOp| {
                    matches!(
                        op,
                        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
                    )
                };
                if let ExprKind::Binary(op, a, b) = &e.kind
                    && compares(op)
                    && !divides(e)
                    && [a, b].iter().any(|e| is_number(&e.ty))
                {
                    found.push((p, e));
                }
            })
        });
    }
    let (mut known, mut all) = (BTreeSet::from([Terms::FALSE, Terms::TRUE]), Vec::new());
    for (proc, expr) in found {
        let state = maker.frame(proc, Terms::TRUE, memory);
        let term = maker.ev.scalar(&state, proc, expr)?;
        let opposite = maker.ev.terms.not(term);
        if known.contains(&opposite) || !known.insert(term) {
            continue;
        }
        let read = reads(&maker.ev.terms, term);
        let leaves: Vec<usize> = (0..memory.len()).filter(|leaf| read.contains(&memory[*leaf])).collect();
        if leaves.iter().all(|leaf| maker.layout.is_finite(*leaf)) {
            continue;
        }
        let own = leaves.into_iter().filter(|leaf| !maker.layout.shared.contains(leaf)).collect();
        all.push(Comparison { proc, expr, own });
    }
    Ok((all.len() <= MOST_COMPARISONS).then_some(all))
}

/// Whether it has a value only sometimes.
fn divides(e: &Expr) -> bool {
    let mut found = false;
    each(e, &mut |e| found |= matches!(e.kind, ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, ..)));
    found
}

/// Whether it is a number of which there are many.
fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Int | Type::Range(..) | Type::Fixed { .. })
}

/// The variables of a term.
fn reads(terms: &Terms, of: Term) -> BTreeSet<Term> {
    let (mut seen, mut todo) = (BTreeSet::from([of]), vec![of]);
    while let Some(t) = todo.pop() {
        todo.extend(terms.operands(t).iter().filter(|o| seen.insert(**o)));
    }
    seen
}

/// Numbers next to those in the text; `None` if there are too many.
pub fn constants(program: &Program) -> Option<Vec<Value>> {
    let mut all = BTreeSet::from([0, 1]);
    let mut note = |v: i64| all.extend([Value::from(v) - 1, Value::from(v), Value::from(v) + 1]);
    for global in &program.globals {
        if let (Literal::Int(v), true) = (&global.init, is_number(&global.ty)) {
            note(*v);
        }
    }
    for_each_expr(program, &mut |e| {
        if let (ExprKind::Const(Literal::Int(v)), true) = (&e.kind, is_number(&e.ty)) {
            note(*v);
        }
    });
    (all.len() <= MOST_CONSTANTS).then(|| all.into_iter().collect())
}

fn for_each_expr<'p>(program: &'p Program, f: &mut dyn FnMut(&'p Expr)) {
    let mut todo: Vec<&'p fabius_lang::program::Stmt> = program.procs.iter().flat_map(|p| &p.body).collect();
    while let Some(s) = todo.pop() {
        match &s.kind {
            StmtKind::Assign(_, e) | StmtKind::Assume(e) | StmtKind::Await(e) | StmtKind::Assert(e, ..) => each(e, f),
            StmtKind::If(guard, a, b) => {
                if let fabius_lang::program::Guard::Expr(e) = guard {
                    each(e, f);
                }
                todo.extend(a.iter().chain(b));
            }
            StmtKind::While(guard, block) => {
                if let fabius_lang::program::Guard::Expr(e) = guard {
                    each(e, f);
                }
                todo.extend(block);
            }
            StmtKind::Atomic(block) => todo.extend(block),
            StmtKind::Call(_, _, args) => args.iter().for_each(|e| each(e, f)),
            StmtKind::Return(values) => values.iter().for_each(|e| each(e, f)),
            _ => {}
        }
    }
}

/// An expression and its parts.
fn each<'e>(e: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    f(e);
    match &e.kind {
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => each(a, f),
        ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|e| each(e, f)),
        ExprKind::IfElse(a, b, c) => [a, b, c].into_iter().for_each(|e| each(e, f)),
        ExprKind::Tuple(parts) => parts.iter().for_each(|e| each(e, f)),
        _ => {}
    }
}
