//! What a program has, as far as translating it depends on that.

use super::spawned;
use crate::Start;
use crate::build::*;
use fabius_lang::program::*;
use fabius_lang::walk;
use std::collections::BTreeSet;

/// How many tasks there can be, the one that begins included; `None` if a loop or recursion makes them.
pub(super) fn count_tasks(program: &Program) -> Option<u32> {
    let mut makes = vec![Some(0u32); program.procs.len()];
    let processes: Option<u32> = program.processes.iter().map(|p| p.count).sum();
    let roots = program.init.into_iter().chain(program.buffers.iter().map(|b| b.proc));
    // More rounds than procedures: there is recursion.
    let mut order: Vec<ProcId> = (0..program.procs.len()).collect();
    for round in 0..=program.procs.len() {
        order.reverse();
        let mut changed = false;
        for p in &order {
            let now = tasks_of(&program.procs[*p].body, &makes).filter(|n| *n <= MANY);
            changed |= now != makes[*p];
            makes[*p] = now;
        }
        if !changed {
            let of_roots: Option<u32> = roots.map(|p| makes[p]).sum();
            let of_processes: Option<u32> = program.processes.iter().map(|p| Some(p.count? * makes[p.proc]?)).sum();
            let all = of_roots? + of_processes? + processes? + 1 + program.buffers.len() as u32;
            return Some(all);
        }
        if round == program.procs.len() {
            return None;
        }
    }
    None
}

/// So many are not told apart.
const MANY: u32 = 1 << 16;

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
        .try_fold(0u32, |sum, n| sum.checked_add(n?))
}

/// Whether some statement needs to know which task is which.
pub(super) fn uses_handles(program: &Program) -> bool {
    program.any_stmt(|s| {
        let mut found = matches!(s.kind, StmtKind::Join(_));
        found |= walk::written(s).is_some_and(|p| has_handles(program, &p.ty));
        for e in walk::expressions(s) {
            walk::each(e, &mut |e| found |= has_handles(program, &e.ty));
        }
        found
    })
}

/// Whether there are handles in a value of the type. (References have none; what is read through them has its own type.)
fn has_handles(program: &Program, ty: &Type) -> bool {
    match ty {
        Type::Thread | Type::ThreadSet => true,
        Type::Array { index, element, .. } => **index == Type::Thread || has_handles(program, element),
        Type::Record(r) => program.records[*r].fields.iter().any(|f| has_handles(program, &f.ty)),
        _ => false,
    }
}

/// The globals that nobody but the first thread uses.
pub(super) fn private_to_main(program: &Program, starts: &[Start]) -> BTreeSet<GlobalId> {
    let mut others = spawned(program);
    others.extend(starts.iter().map(|s| s.proc));
    let mut used = BTreeSet::new();
    for p in called_from(program, others) {
        globals_of(&program.procs[p].body, &mut used);
    }
    (0..program.globals.len()).filter(|g| !used.contains(g)).collect()
}

fn globals_of(block: &Block, out: &mut BTreeSet<GlobalId>) {
    let mut used = |p: &Place| match p.base {
        Base::Global(g) => drop(out.insert(g)),
        Base::Local(_) | Base::Heap(..) => {}
    };
    walk::statements(block, &mut |s| {
        walk::written(s).into_iter().for_each(&mut used);
        for e in walk::expressions(s) {
            walk::each(e, &mut |e| {
                if let ExprKind::Read(p) = &e.kind {
                    used(p);
                }
            });
        }
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
