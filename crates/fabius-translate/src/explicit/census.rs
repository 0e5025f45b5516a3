//! What a program has, as far as translating it depends on that.

use super::spawned;
use crate::Start;
use crate::build::*;
use fabius_lang::program::*;
use std::collections::BTreeSet;

/// How many tasks there can be, the one that begins included; `None` if a loop or recursion makes them.
pub(super) fn count_tasks(program: &Program) -> Option<u32> {
    let mut makes = vec![Some(0u32); program.procs.len()];
    let processes: Option<u32> = program.processes.iter().map(|p| p.count).sum();
    let roots = program.init.into_iter().chain(program.buffers.iter().map(|b| b.proc));
    // More rounds than procedures: there is recursion.
    for round in 0..=program.procs.len() {
        let mut next = makes.clone();
        for (count, proc) in next.iter_mut().zip(&program.procs) {
            *count = tasks_of(&proc.body, &makes);
        }
        if next == makes {
            let of_roots: Option<u32> = roots.map(|p| makes[p]).sum();
            let of_processes: Option<u32> = program.processes.iter().map(|p| Some(p.count? * makes[p.proc]?)).sum();
            let all = of_roots? + of_processes? + processes? + 1 + program.buffers.len() as u32;
            return Some(all);
        }
        if round == program.procs.len() {
            return None;
        }
        makes = next;
    }
    None
}

fn tasks_of(block: &Block, makes: &[Option<u32>]) -> Option<u32> {
    block
        .iter()
        .map(|s| match &s.kind {
            StmtKind::Spawn(_, p, _) | StmtKind::Post(_, _, p, _) => Some(makes[*p]? + 1),
            StmtKind::Call(_, p, _) => makes[*p],
            StmtKind::If(_, a, b) => Some(tasks_of(a, makes)?.max(tasks_of(b, makes)?)),
            StmtKind::Atomic(b) => tasks_of(b, makes),
            StmtKind::While(_, b) => tasks_of(b, makes).filter(|n| *n == 0),
            _ => Some(0),
        })
        .sum()
}

/// Whether some statement needs to know which task is which.
pub(super) fn uses_handles(program: &Program) -> bool {
    fn in_expr(e: &Expr) -> bool {
        match &e.kind {
            ExprKind::SelfHandle | ExprKind::SetContains(..) => true,
            ExprKind::Const(_) => e.ty == Type::Thread,
            ExprKind::Read(p) => in_place(p),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => in_expr(a),
            ExprKind::Binary(_, a, b) => in_expr(a) || in_expr(b),
            ExprKind::IfElse(a, b, c) => in_expr(a) || in_expr(b) || in_expr(c),
            ExprKind::Tuple(parts) => parts.iter().any(in_expr),
        }
    }
    fn in_place(p: &Place) -> bool {
        p.path.iter().any(|s| matches!(s, Projection::Index { index, .. } if in_expr(index)))
    }
    program.any_stmt(|s| match &s.kind {
        StmtKind::Join(_) | StmtKind::SetInsert(..) | StmtKind::SetRemove(..) => true,
        StmtKind::Assign(p, e) => in_place(p) || in_expr(e),
        StmtKind::Any(p, a, b) => in_place(p) || in_expr(a) || in_expr(b),
        StmtKind::If(Guard::Expr(e), ..) | StmtKind::While(Guard::Expr(e), _) => in_expr(e),
        StmtKind::Assume(e) | StmtKind::Await(e) | StmtKind::Assert(e, ..) => in_expr(e),
        StmtKind::Call(_, _, es) | StmtKind::Return(es) | StmtKind::Spawn(_, _, es) | StmtKind::Post(_, _, _, es) => {
            es.iter().any(in_expr)
        }
        _ => false,
    })
}

/// The globals that nobody but the first thread uses.
pub(super) fn private_to_main(program: &Program, starts: &[Start]) -> BTreeSet<GlobalId> {
    let calls = |from: Vec<ProcId>| {
        let mut seen: BTreeSet<ProcId> = BTreeSet::new();
        let mut todo = from;
        while let Some(p) = todo.pop() {
            if seen.insert(p) {
                each(&program.procs[p].body, &mut |s| {
                    if let StmtKind::Call(_, q, _) = s.kind {
                        todo.push(q);
                    }
                });
            }
        }
        seen
    };
    let mut others = spawned(program);
    others.extend(starts.iter().map(|s| s.proc));
    let mut used = BTreeSet::new();
    for p in calls(others) {
        globals_of(&program.procs[p].body, &mut used);
    }
    (0..program.globals.len()).filter(|g| !used.contains(g)).collect()
}

fn globals_of(block: &Block, out: &mut BTreeSet<GlobalId>) {
    fn in_place(p: &Place, out: &mut BTreeSet<GlobalId>) {
        if let Base::Global(g) = p.base {
            out.insert(g);
        }
        for step in &p.path {
            if let Projection::Index { index, .. } = step {
                in_expr(index, out);
            }
        }
    }
    fn in_expr(e: &Expr, out: &mut BTreeSet<GlobalId>) {
        match &e.kind {
            ExprKind::Const(_) | ExprKind::SelfHandle => {}
            ExprKind::Read(p) => in_place(p, out),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => in_expr(a, out),
            ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => {
                in_expr(a, out);
                in_expr(b, out);
            }
            ExprKind::IfElse(a, b, c) => [a, b, c].into_iter().for_each(|e| in_expr(e, out)),
            ExprKind::Tuple(parts) => parts.iter().for_each(|e| in_expr(e, out)),
        }
    }
    each(block, &mut |s| match &s.kind {
        StmtKind::Assign(p, e) => {
            in_place(p, out);
            in_expr(e, out);
        }
        StmtKind::Any(p, a, b) => {
            in_place(p, out);
            in_expr(a, out);
            in_expr(b, out);
        }
        StmtKind::If(Guard::Expr(e), ..) | StmtKind::While(Guard::Expr(e), _) => in_expr(e, out),
        StmtKind::Assume(e) | StmtKind::Await(e) | StmtKind::Assert(e, ..) => in_expr(e, out),
        StmtKind::Call(_, _, es)
        | StmtKind::Return(es)
        | StmtKind::Spawn(_, _, es)
        | StmtKind::Post(_, _, _, es)
        | StmtKind::Print(es) => es.iter().for_each(|e| in_expr(e, out)),
        _ => {}
    });
}

/// What a block waits for before it begins.
pub(super) fn awaited(block: &Block) -> Option<&StmtKind> {
    match &block.first()?.kind {
        StmtKind::Atomic(inner) => awaited(inner),
        wait @ (StmtKind::Await(_) | StmtKind::Join(_)) => Some(wait),
        _ => None,
    }
}

pub(super) fn has_points(block: &Block) -> bool {
    let mut found = false;
    each(block, &mut |s| found |= matches!(s.kind, StmtKind::Yield | StmtKind::Zield | StmtKind::Post(..)));
    found
}

/// Neither control nor something that may be a point.
pub(super) fn is_simple(s: &Stmt) -> bool {
    matches!(
        s.kind,
        StmtKind::Skip
            | StmtKind::Assign(..)
            | StmtKind::Any(..)
            | StmtKind::Assume(_)
            | StmtKind::Print(_)
            | StmtKind::Progress
            | StmtKind::Assert(..)
    )
}
