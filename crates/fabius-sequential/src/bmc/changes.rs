//! What a call or a loop may change.

use super::Bmc;
use super::layout::Leaf;
use fabius_lang::program::{Base, Block, Place, ProcId, Program, Stmt, StmtKind};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Effects that can be told without looking at values.
#[derive(Clone, Debug)]
pub struct Changes {
    /// The leaves of the state (globals, then locals) that may be changed.
    pub leaves: Rc<[Option<Leaf>]>,
    /// Whether there is a `return` in it (loops only).
    pub returns: bool,
    /// Whether there may be an `assert` in it.
    pub asserts: bool,
}

/// What a procedure does, with all that it calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Effects {
    pub globals: BTreeSet<usize>,
    asserts: bool,
    returns: bool,
    pub locals: BTreeSet<usize>,
}

/// The effects of all procedures: the least fixed point.
pub(crate) fn of_procedures(program: &Program) -> Vec<Effects> {
    let mut all = vec![Effects::default(); program.procs.len()];
    loop {
        let mut next = all.clone();
        for (effects, proc) in next.iter_mut().zip(&program.procs) {
            of_block(&proc.body, &all, effects);
        }
        if next == all {
            return all;
        }
        all = next;
    }
}

fn of_block(block: &Block, procs: &[Effects], into: &mut Effects) {
    for stmt in block {
        of_stmt(stmt, procs, into);
    }
}

/// Adds what a statement does.
pub(crate) fn of_stmt(stmt: &Stmt, procs: &[Effects], into: &mut Effects) {
    match &stmt.kind {
        StmtKind::Assign(place, _) | StmtKind::Any(place, ..) => of_store(place, into),
        StmtKind::If(_, a, b) => {
            of_block(a, procs, into);
            of_block(b, procs, into);
        }
        StmtKind::While(_, body) | StmtKind::Atomic(body) => of_block(body, procs, into),
        StmtKind::Call(results, proc, _) => {
            into.globals.extend(&procs[*proc].globals);
            into.asserts |= procs[*proc].asserts;
            into.locals.extend(results.iter().flatten());
        }
        StmtKind::Assert(..) => into.asserts = true,
        StmtKind::Return(_) => into.returns = true,
        _ => {}
    }
}

fn of_store(place: &Place, into: &mut Effects) {
    match &place.base {
        Base::Global(g) => {
            into.globals.insert(*g);
        }
        Base::Local(l) => {
            into.locals.insert(*l);
        }
        Base::Heap(..) => {}
    }
}

impl Bmc<'_> {
    pub(super) fn changes_of_call(&mut self, proc: ProcId) -> Changes {
        let effects = &self.effects[proc];
        Changes { leaves: self.changed_leaves(effects, None), returns: true, asserts: effects.asserts }
    }

    pub(super) fn changes_of_loop(&mut self, stmt: &Stmt, proc: ProcId) -> Changes {
        let mut effects = Effects::default();
        of_stmt(stmt, &self.effects, &mut effects);
        Changes {
            leaves: self.changed_leaves(&effects, Some(proc)),
            returns: effects.returns,
            asserts: effects.asserts,
        }
    }

    fn changed_leaves(&self, effects: &Effects, proc: Option<ProcId>) -> Rc<[Option<Leaf>]> {
        let globals = self.ev.globals.select(&effects.globals);
        let locals = proc.map(|p| self.ev.locals[p].select(&effects.locals)).unwrap_or_default();
        globals.into_iter().chain(locals).collect()
    }
}
