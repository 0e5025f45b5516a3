//! Where a thread may write who has a lock while another one has it.
//!
//! That a thread has a lock is a flag of its own in [`holders`](super::holders), and nobody can take that from another one. So each
//! write stands in a step in which it is known by then that the lock is free or one's own. The steps of `init` need not: it runs alone.

use crate::build::called_from;
use crate::switches::locks::is_free_or_mine;
use fabius_lang::program::*;
use fabius_lang::walk;
use fabius_trace::Span;
use std::collections::BTreeSet;

/// The first such place.
pub fn taken_over(program: &Program) -> Option<Span> {
    let mut found = None;
    for proc in called_from(program, program.processes.iter().map(|p| p.proc).collect()) {
        outside(&program.procs[proc].body, &mut found);
    }
    found
}

/// Statements that are steps of their own: nothing is known when they begin.
fn outside(block: &[Stmt], found: &mut Option<Span>) {
    for s in block {
        match &s.kind {
            StmtKind::If(_, a, b) => {
                outside(a, found);
                outside(b, found);
            }
            StmtKind::While(_, b) => outside(b, found),
            StmtKind::Atomic(b) => inside(b, Vec::new(), found),
            _ => inside(std::slice::from_ref(s), Vec::new(), found),
        }
    }
}

/// Statements of one step, and conditions that hold when they begin.
fn inside<'p>(block: &'p [Stmt], mut known: Vec<&'p Expr>, found: &mut Option<Span>) {
    for s in block {
        match &s.kind {
            StmtKind::Await(e) | StmtKind::Assume(e) | StmtKind::Assert(e, ..) => known.push(e),
            StmtKind::If(guard, a, b) => {
                let mut then = known.clone();
                then.extend(match guard {
                    Guard::Expr(e) => Some(e),
                    Guard::Star => None,
                });
                inside(a, then, found);
                inside(b, known.clone(), found);
            }
            StmtKind::While(_, b) => inside(b, Vec::new(), found),
            StmtKind::Atomic(b) => inside(b, known.clone(), found),
            StmtKind::Assign(p, _) if p.ty == Type::Thread => {
                if !known.iter().any(|e| is_free_or_mine(e, p)) {
                    found.get_or_insert(s.span);
                }
                // It is free or one's own now, too.
                continue;
            }
            _ => {}
        }
        known.retain(|e| is_of_the_same_lock(e, s));
    }
}

/// Whether what is known of a lock is of the same one behind a statement: its text has no index that the statement may change.
fn is_of_the_same_lock(known: &Expr, s: &Stmt) -> bool {
    let (mut locals, mut globals, mut calls) = (BTreeSet::new(), BTreeSet::new(), false);
    walk::statements(&vec![s.clone()], &mut |s| {
        if let StmtKind::Call(results, ..) = &s.kind {
            locals.extend(results.iter().flatten());
            calls = true;
        }
        match walk::written(s).map(|p| &p.base) {
            Some(Base::Local(l)) => drop(locals.insert(*l)),
            Some(Base::Global(g)) => drop(globals.insert(*g)),
            Some(Base::Heap(..)) | None => {}
        }
    });
    let mut same = true;
    walk::each(known, &mut |e| {
        let ExprKind::Read(lock) = &e.kind else { return };
        if lock.ty != Type::Thread {
            return;
        }
        for index in walk::of_place(lock) {
            walk::each(index, &mut |e| {
                let ExprKind::Read(p) = &e.kind else { return };
                same &= match &p.base {
                    Base::Local(l) => !locals.contains(l),
                    Base::Global(g) => !calls && !globals.contains(g),
                    Base::Heap(..) => false,
                };
            });
        }
    });
    same
}
