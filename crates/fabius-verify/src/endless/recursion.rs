//! Procedures that call each other in a circle without a scheduling point between.

use super::counted::{change_of, compared, is_limit};
use super::ways::{Points, Variable, Ways, leaves};
use fabius_lang::program::{Base, Block, Expr, ExprKind, Guard, Place, ProcId, Stmt, StmtKind, Type, Value};
use fabius_lang::walk::statements;
use fabius_trace::Span;
use std::collections::{BTreeMap, BTreeSet};

type Node = (ProcId, Points);

/// A call in a circle of calls that may have no end, if there is one.
pub fn endless(ways: &Ways<'_>, running: &BTreeMap<Node, &Block>) -> Option<Span> {
    let mut calls: BTreeMap<Node, Vec<(Node, Span)>> = BTreeMap::new();
    for (node, block) in running {
        let of = calls.entry(*node).or_default();
        ways.each_reached(block, node.1, &mut |s, points| {
            if let StmtKind::Call(_, callee, _) = s.kind {
                of.push(((callee, points), s.span));
            }
        });
    }
    let reached = |from: Node, over: &BTreeMap<Node, Vec<(Node, Span)>>| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(node) = open.pop() {
            let next = over.get(&node).into_iter().flatten().map(|(to, _)| *to);
            open.extend(next.filter(|to| seen.insert(*to)));
        }
        seen
    };
    let circles: BTreeSet<Node> = calls.keys().copied().filter(|node| reached(*node, &calls).contains(node)).collect();
    let procs: BTreeSet<ProcId> = circles.iter().map(|(proc, _)| *proc).collect();
    let endings = circles.iter().filter(|(proc, points)| {
        let alone =
            circles.iter().all(|other| other.0 == *proc || !calls[other].iter().any(|((callee, _), _)| callee == proc));
        returns_by_choice(&procs, &ways.program.procs[*proc].body, *points) || alone && counts(ways, *proc)
    });
    let endings: BTreeSet<Node> = endings.copied().collect();
    calls.retain(|node, _| !endings.contains(node));
    let left = calls.keys().find(|node| reached(**node, &calls).contains(node))?;
    calls[left].iter().find(|(to, _)| to == left || reached(*to, &calls).contains(left)).map(|(_, span)| *span)
}

/// Whether choices of its own lead a procedure to its end without a call of these.
fn returns_by_choice(circle: &BTreeSet<ProcId>, body: &[Stmt], points: Points) -> bool {
    for (n, s) in body.iter().enumerate() {
        let side = |block: &[Stmt]| returns_by_choice(circle, block, points);
        let goes_on = match &s.kind {
            StmtKind::Return(_) => return true,
            StmtKind::If(..) if leaves(&body[n..=n], points) => return true,
            StmtKind::If(Guard::Star, a, b) => side(a) || side(b),
            StmtKind::If(_, a, b) => side(a) && side(b),
            _ => {
                let mut calls = false;
                let is_call = |s: &Stmt| matches!(s.kind, StmtKind::Call(_, callee, _) if circle.contains(&callee));
                statements(&vec![s.clone()], &mut |s| calls |= is_call(s));
                !calls
            }
        };
        if !goes_on {
            return false;
        }
    }
    true
}

/// Whether a parameter is counted from call to call, and cannot be for ever.
fn counts(ways: &Ways<'_>, proc: ProcId) -> bool {
    let p = &ways.program.procs[proc];
    let written = ways.written(&p.body);
    let unwritten = |l: &usize| !written.contains(&Variable::Local(*l));
    (0..p.params).filter(unwritten).any(|param| {
        let mut calls = Vec::new();
        called(proc, &p.body, &mut Vec::new(), &mut calls);
        let ty = p.locals[param].ty.clone();
        let place = Place { base: Base::Local(param), path: Vec::new(), ty, span: Span::default() };
        let change = |args: &[Expr]| change_of(&args[param], &place).filter(|n| *n != 0);
        let is_up = calls.first().and_then(|call| change(call.args)).is_some_and(|n| n > 0);
        calls.iter().all(|call| {
            change(call.args).is_some_and(|n| {
                (n > 0) == is_up && (matches!(place.ty, Type::Range(..)) || call.is_bounded(&place, is_up, n.abs()))
            })
        })
    })
}

/// A call of a procedure by itself, and what holds there.
struct Call<'p> {
    args: &'p [Expr],
    tests: Vec<(&'p Expr, bool)>,
}

impl Call<'_> {
    fn is_bounded(&self, place: &Place, is_up: bool, most: i128) -> bool {
        self.tests.iter().any(|(e, holds)| {
            let mut all = Vec::new();
            compared(e, *holds, &mut all);
            all.iter().any(|test| {
                let is_constant = matches!(test.with.kind, ExprKind::Const(Value::Int(_)));
                test.place.base == place.base
                    && test.place.path.is_empty()
                    && is_constant
                    && is_limit(test, is_up, most, true)
            })
        })
    }
}

/// The calls of the procedure in a block, each with the tests of variables that are not written in front of it.
fn called<'p>(proc: ProcId, block: &'p [Stmt], tests: &mut Vec<(&'p Expr, bool)>, all: &mut Vec<Call<'p>>) {
    let before = tests.len();
    for s in block {
        match &s.kind {
            StmtKind::Call(_, callee, args) if *callee == proc => all.push(Call { args, tests: tests.clone() }),
            StmtKind::If(guard, a, b) => {
                for (side, holds) in [(a, true), (b, false)] {
                    let inside = tests.len();
                    if let Guard::Expr(e) = guard {
                        tests.push((e, holds));
                    }
                    called(proc, side, tests, all);
                    tests.truncate(inside);
                }
                if let Guard::Expr(e) = guard {
                    let returns = |block: &Block| matches!(block.last(), Some(Stmt { kind: StmtKind::Return(_), .. }));
                    match (returns(a), returns(b)) {
                        (true, _) => tests.push((e, false)),
                        (_, true) => tests.push((e, true)),
                        _ => {}
                    }
                }
            }
            StmtKind::While(_, b) | StmtKind::Atomic(b) => called(proc, b, tests, all),
            _ => {}
        }
    }
    tests.truncate(before);
}
