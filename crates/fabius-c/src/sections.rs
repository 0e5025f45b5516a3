//! Functions that are called inside of an atomic section: copies of them without the scheduling points that stand in front of
//! what may drop the execution.

use crate::core::value_of;
use fabius_lang::program::{Block, ExprKind, ProcId, Program, Stmt, StmtKind};
use std::collections::BTreeMap;

/// Redirects calls inside of atomic sections to copies without points.
pub(crate) fn separate(program: &mut Program) {
    let mut copies: BTreeMap<ProcId, ProcId> = BTreeMap::new();
    let mut wanted = Vec::new();
    for proc in &program.procs {
        calls(&proc.body, false, &mut |p| wanted.push(p));
    }
    while let Some(proc) = wanted.pop() {
        if copies.contains_key(&proc) {
            continue;
        }
        copies.insert(proc, program.procs.len() + copies.len());
        calls(&program.procs[proc].body, true, &mut |p| wanted.push(p));
    }
    let mut made: Vec<_> = copies.iter().map(|(from, to)| (*to, program.procs[*from].clone())).collect();
    made.sort_by_key(|(to, _)| *to);
    for proc in &mut program.procs {
        redirect(&mut proc.body, false, &copies);
    }
    for (_, mut copy) in made {
        remove_points(&mut copy.body);
        redirect(&mut copy.body, true, &copies);
        program.procs.push(copy);
    }
}

/// The procedures that are called inside of atomic sections.
fn calls(block: &Block, inside: bool, found: &mut impl FnMut(ProcId)) {
    for s in block {
        match &s.kind {
            StmtKind::Call(_, proc, _) if inside => found(*proc),
            StmtKind::If(_, a, b) => {
                calls(a, inside, found);
                calls(b, inside, found);
            }
            StmtKind::While(_, b) => calls(b, inside, found),
            StmtKind::Atomic(b) => calls(b, true, found),
            _ => {}
        }
    }
}

fn redirect(block: &mut Block, inside: bool, copies: &BTreeMap<ProcId, ProcId>) {
    for s in block {
        match &mut s.kind {
            StmtKind::Call(_, proc, _) if inside => *proc = copies[proc],
            StmtKind::If(_, a, b) => {
                redirect(a, inside, copies);
                redirect(b, inside, copies);
            }
            StmtKind::While(_, b) => redirect(b, inside, copies),
            StmtKind::Atomic(b) => redirect(b, true, copies),
            _ => {}
        }
    }
}

fn remove_points(block: &mut Block) {
    block.retain(|s| !is_point(s));
    for s in block {
        match &mut s.kind {
            StmtKind::If(_, a, b) => {
                remove_points(a);
                remove_points(b);
            }
            StmtKind::While(_, b) | StmtKind::Atomic(b) => remove_points(b),
            _ => {}
        }
    }
}

/// Whether a statement is nothing but a scheduling point.
fn is_point(s: &Stmt) -> bool {
    matches!(&s.kind, StmtKind::Await(e) if matches!(e.kind, ExprKind::Const(_)) && value_of(e) == Some(1))
}
