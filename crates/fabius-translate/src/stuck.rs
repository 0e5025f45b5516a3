//! Deadlocks: tasks that wait for ever, in a final state that is guessed beforehand.
//!
//! Paper: Delay-Bounded Scheduling (POPL 2011), section 2 (blocking; the paper looks for failing assertions only).
//!
//! Deviations:
//! 1. A task that waits may choose to be stuck if what it waits for is false in the guessed final state. It is a deadlock if
//!    that is how all tasks end that do not finish, and the guess was right.

use crate::build::*;
use crate::explicit::verdict;
use fabius_lang::program::*;
use fabius_lang::walk;
use std::collections::{BTreeMap, BTreeSet};

/// The guessed final state.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// A task is stuck.
    pub(crate) stuck: Place,
    /// A task was stopped for good though it could go on: then there is no deadlock.
    pub(crate) dropped: Place,
    /// What each shared variable that somebody waits for is in the end.
    pub(crate) last: BTreeMap<GlobalId, Place>,
}

/// Declares what is needed, if some task waits: the variables that are waited for.
pub fn stuck(program: &mut Program, shared: &[GlobalId]) -> Option<Stuck> {
    let mut awaited = BTreeSet::new();
    for proc in &program.procs {
        each(&proc.body, &mut |s| {
            if let StmtKind::Await(e) = &s.kind {
                walk::each(e, &mut |e| {
                    if let ExprKind::Read(Place { base: Base::Global(g), .. }) = e.kind {
                        awaited.insert(g);
                    }
                });
            }
        });
    }
    program.any_stmt(|s| matches!(s.kind, StmtKind::Await(_))).then(|| {
        let last = shared.iter().filter(|g| awaited.contains(g)).map(|g| {
            let (name, ty) = (format!("last_{}", program.globals[*g].name), program.globals[*g].ty.clone());
            (*g, new_global(program, &name, ty))
        });
        let last = last.collect();
        let (stuck, dropped) = ("a_task_is_stuck", "a_task_is_dropped");
        Stuck { last, stuck: new_global(program, stuck, Type::Bool), dropped: new_global(program, dropped, Type::Bool) }
    })
}

impl Stuck {
    /// Before everything.
    pub fn guess(&self, program: &Program, out: &mut Block) {
        self.last.values().for_each(|last| guess(program, last, out));
    }

    /// In place of `await e`: perhaps the task is stuck, and does `stop`.
    pub fn wait(&self, program: &Program, e: Expr, stop: Stmt, locals: &mut Vec<Local>) -> Block {
        let for_ever = new_local(locals, "for_ever", Type::Bool);
        let mut stays = self.stays(program, e);
        stays.push(stop);
        vec![any_between(&for_ever, boolean(false), boolean(true)), when(read(&for_ever), stays)]
    }

    /// The task is stuck where it waits for `e`.
    pub fn stays(&self, program: &Program, e: Expr) -> Block {
        let e = replace_places(e, &mut |p| match p.base {
            Base::Global(g) if self.last.contains_key(&g) => Place { base: self.last[&g].base.clone(), ..p },
            _ => p,
        });
        // It is false, and no fault.
        let mut conditions = Vec::new();
        crate::faults::of_expr(program, &e, &mut conditions);
        let mut stays: Block = conditions.into_iter().map(assume).collect();
        stays.extend([assume(not(e)), set(&self.stuck, boolean(true))]);
        stays
    }

    /// A task is stopped though it could go on.
    pub fn drop(&self) -> Stmt {
        set(&self.dropped, boolean(true))
    }

    /// The last statement: nothing has failed, and there is no deadlock. `now` is a variable in the end.
    pub fn verdict(&self, program: &Program, failed: GlobalId, now: &dyn Fn(GlobalId) -> Place) -> Stmt {
        let nothing = verdict(program, failed);
        let StmtKind::Assert(nothing_failed, check, message) = nothing.kind else { unreachable!("it asserts") };
        let deadlock = self.is_deadlock(now);
        stmt(StmtKind::Assert(and(nothing_failed, not(deadlock)), check, message))
    }

    /// Whether all are stuck that have not finished, in the state that was guessed.
    pub fn is_deadlock(&self, now: &dyn Fn(GlobalId) -> Place) -> Expr {
        let start = and(read(&self.stuck), not(read(&self.dropped)));
        self.last.iter().fold(start, |all, (g, last)| and(all, eq(read(&now(*g)), read(last))))
    }
}

/// The program in which nobody is stuck where what is waited for has no value.
pub fn without_faults(program: &mut Program) {
    for id in 0..program.procs.len() {
        let body = std::mem::take(&mut program.procs[id].body);
        program.procs[id].body = replace(body, &mut |s| match s.kind {
            StmtKind::Await(e) => {
                let mut conditions = Vec::new();
                crate::faults::of_expr(program, &e, &mut conditions);
                let goes_on = conditions.into_iter().fold(e, |all, has_value| or(not(has_value), all));
                vec![Stmt { kind: StmtKind::Await(goes_on), ..s }]
            }
            _ => vec![s],
        });
    }
}

/// The program without the places where tasks may be stuck.
pub fn forget(program: &mut Program) {
    for proc in &mut program.procs {
        let body = std::mem::take(&mut proc.body);
        proc.body = replace(body, &mut |s| if matches!(s.kind, StmtKind::Await(_)) { Vec::new() } else { vec![s] });
    }
}
