//! What nobody asks about is left out: assignments to variables that flow into no branch, no assertion, no assumption, nothing that
//! is waited for and no event.
//!
//! Paper: Program Slicing (IEEE Transactions on Software Engineering, 1984), for all assertions of a program at once.
//!
//! Deviations:
//! 1. Of a variable with parts all are needed or none. Flow is taken together for the whole program, in any order.
//! 2. Loops and calls stay, even if nothing in them is needed: they might not end. Faults are assertions by then, and stay.

use crate::build::replace;
use fabius_lang::program::*;
use fabius_lang::walk;
use std::collections::{BTreeMap, BTreeSet};

/// What is left out of a program before it is translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sliced {
    /// Global variables that nobody asks about.
    pub variables: u32,
    /// Assignments.
    pub assignments: u32,
    /// Scheduling points at which no thread need be interrupted.
    pub points: u32,
}

/// Something that has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Global(GlobalId),
    Local(ProcId, LocalId),
    Result(ProcId, usize),
}

#[derive(Default)]
struct Flow {
    /// What flows into a node.
    from: BTreeMap<Node, Vec<Node>>,
    needed: BTreeSet<Node>,
    open: Vec<Node>,
}

impl Flow {
    fn need(&mut self, node: Node) {
        if self.needed.insert(node) {
            self.open.push(node);
        }
    }

    fn close(&mut self) {
        while let Some(node) = self.open.pop() {
            for source in self.from.get(&node).cloned().unwrap_or_default() {
                self.need(source);
            }
        }
    }
}

/// Leaves out of a program with explicit scheduling what is not needed for these variables, nor for what it does.
pub fn slice(program: &mut Program, always: &[GlobalId]) -> Sliced {
    let written = |program: &Program| crate::build::changed_globals(program).len() as u32;
    let before = written(program);
    let mut assignments = 0;
    loop {
        let needed = flow(program, always).needed;
        let left_out = leave_out(program, &needed);
        assignments += left_out;
        if left_out == 0 {
            return Sliced { variables: before - written(program), assignments, points: 0 };
        }
    }
}

fn flow(program: &Program, always: &[GlobalId]) -> Flow {
    let mut flow = Flow::default();
    always.iter().for_each(|g| flow.need(Node::Global(*g)));
    for (p, proc) in program.procs.iter().enumerate() {
        walk::statements(&proc.body, &mut |s| of_stmt(p, s, &mut flow));
    }
    flow.close();
    flow
}

fn of_stmt(p: ProcId, s: &Stmt, flow: &mut Flow) {
    let mut into = |to: Node, e: &Expr| flow.from.entry(to).or_default().extend(nodes(p, e));
    match &s.kind {
        StmtKind::Assign(to, _) => {
            for e in walk::expressions(s) {
                into(node(p, to), e);
            }
        }
        StmtKind::Any(to, lo, hi) if has_a_value(lo, hi) => {
            for e in walk::expressions(s) {
                into(node(p, to), e);
            }
        }
        StmtKind::Call(results, q, es) => {
            es.iter().enumerate().for_each(|(i, e)| into(Node::Local(*q, i), e));
            for (i, to) in results.iter().enumerate() {
                if let Some(l) = to {
                    flow.from.entry(Node::Local(p, *l)).or_default().push(Node::Result(*q, i));
                }
            }
        }
        StmtKind::Spawn(_, q, es) | StmtKind::Post(_, _, q, es) => {
            es.iter().enumerate().for_each(|(i, e)| into(Node::Local(*q, i), e));
        }
        StmtKind::Return(es) => es.iter().enumerate().for_each(|(i, e)| into(Node::Result(p, i), e)),
        _ => {
            walk::written(s).into_iter().for_each(|to| flow.need(node(p, to)));
            for e in walk::expressions(s) {
                nodes(p, e).into_iter().for_each(|n| flow.need(n));
            }
        }
    }
}

/// Whether a choice between two numbers is one at all, whatever the variables are.
fn has_a_value(lo: &Expr, hi: &Expr) -> bool {
    matches!((&lo.kind, &hi.kind), (ExprKind::Const(Value::Int(lo)), ExprKind::Const(Value::Int(hi))) if lo <= hi)
}

/// The variable that a place is in. (Objects are variables by then.)
fn node(p: ProcId, place: &Place) -> Node {
    match place.base {
        Base::Global(g) => Node::Global(g),
        Base::Local(l) => Node::Local(p, l),
        Base::Heap(..) => unreachable!("objects are columns of arrays"),
    }
}

fn nodes(p: ProcId, e: &Expr) -> Vec<Node> {
    let mut all = Vec::new();
    walk::each(e, &mut |e| {
        if let ExprKind::Read(place) = &e.kind {
            all.push(node(p, place));
        }
    });
    all
}

/// Leaves out assignments to what is not needed, and branches in which nothing is left; says how many statements.
fn leave_out(program: &mut Program, needed: &BTreeSet<Node>) -> u32 {
    let mut count = 0;
    for p in 0..program.procs.len() {
        let body = std::mem::take(&mut program.procs[p].body);
        program.procs[p].body = replace(body, &mut |s| {
            let goes = match &s.kind {
                StmtKind::Assign(to, _) => !needed.contains(&node(p, to)),
                StmtKind::Any(to, lo, hi) => has_a_value(lo, hi) && !needed.contains(&node(p, to)),
                StmtKind::If(_, a, b) => a.is_empty() && b.is_empty(),
                _ => false,
            };
            count += u32::from(goes);
            if goes { Vec::new() } else { vec![s] }
        });
    }
    count
}
