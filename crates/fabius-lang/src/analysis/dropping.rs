//! Scheduling points in front of what may drop an execution.
//!
//! With `--points sync` accesses to data are no scheduling points, because a race between two of them is seen in any order.
//! But an execution that an `assume` drops ends before the other access: the race would never be seen. So a data access is
//! a point nevertheless if the step that it begins may end with a dropped execution, and others can go on instead of it.

use super::access::{callers, reach};
use crate::program::*;
use crate::walk::statements;

/// Whether the statement itself may drop the execution.
fn drops(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::Assume(_) => true,
        StmtKind::Any(_, lo, hi) => match (&lo.kind, &hi.kind) {
            (ExprKind::Const(Value::Int(lo)), ExprKind::Const(Value::Int(hi))) => lo > hi,
            _ => true,
        },
        _ => false,
    }
}

/// Makes points of these accesses, as [`Stmt::access`] says them.
pub(super) fn assign(program: &mut Program) {
    let mut procs = std::mem::take(&mut program.procs);
    let mut dropping = Dropping::new(program, &procs);
    while let Some(proc) = dropping.wanted.pop() {
        dropping.is_wanted[proc] = false;
        dropping.visit(proc, &mut procs[proc].body);
    }
    program.procs = procs;
}

/// What is known of procedures: whether, from a place in them, the execution may be dropped before the next access to shared
/// state. Only ever becomes true.
struct Dropping {
    /// Whether anything in the procedure, or in those that it calls, drops.
    anywhere: Vec<bool>,
    /// At the beginning.
    entry: Vec<bool>,
    /// Behind the end.
    exit: Vec<bool>,
    /// At the heads of the loops, in the order in which they are met.
    heads: Vec<Vec<bool>>,
    callers: Vec<Vec<ProcId>>,
    /// Threads that start when `init` has finished do what comes before their first access in its last step.
    init: Option<ProcId>,
    processes: Vec<ProcId>,
    /// Procedures to visit, once more.
    wanted: Vec<ProcId>,
    is_wanted: Vec<bool>,
    /// Loops that have been met in the procedure that is visited.
    loops: usize,
}

impl Dropping {
    fn new(program: &Program, procs: &[Proc]) -> Dropping {
        let count = procs.len();
        let callers = callers(procs);
        let mut anywhere = vec![false; count];
        for (id, proc) in procs.iter().enumerate() {
            statements(&proc.body, &mut |s| anywhere[id] |= drops(s));
        }
        reach(&callers, &mut anywhere);
        let wanted = (0..count).filter(|p| anywhere[*p]).collect();
        Dropping {
            entry: vec![false; count],
            exit: vec![false; count],
            heads: vec![Vec::new(); count],
            is_wanted: anywhere.clone(),
            anywhere,
            callers,
            init: program.init,
            processes: program.processes.iter().map(|p| p.proc).collect(),
            wanted,
            loops: 0,
        }
    }

    fn want(&mut self, proc: ProcId) {
        if !std::mem::replace(&mut self.is_wanted[proc], true) {
            self.wanted.push(proc);
        }
    }

    fn visit(&mut self, proc: ProcId, body: &mut Block) {
        loop {
            self.loops = 0;
            let heads = self.heads[proc].clone();
            let entry = self.block(proc, body, self.exit[proc], None);
            if entry && !std::mem::replace(&mut self.entry[proc], true) {
                for caller in std::mem::take(&mut self.callers[proc]) {
                    self.want(caller);
                }
                if let (true, Some(init)) = (self.processes.contains(&proc), self.init) {
                    self.exits(init);
                }
            }
            if heads == self.heads[proc] {
                return;
            }
        }
    }

    /// Behind the end of the procedure the execution may be dropped.
    fn exits(&mut self, proc: ProcId) {
        if !std::mem::replace(&mut self.exit[proc], true) {
            self.want(proc);
        }
    }

    /// From what is so behind a block to what is so in front of it. `around` is the loop, and what is so behind it.
    fn block(&mut self, proc: ProcId, block: &mut Block, behind: bool, around: Option<(usize, bool)>) -> bool {
        block.iter_mut().rev().fold(behind, |behind, s| self.stmt(proc, s, behind, around))
    }

    fn stmt(&mut self, proc: ProcId, s: &mut Stmt, behind: bool, around: Option<(usize, bool)>) -> bool {
        let may = match &mut s.kind {
            StmtKind::If(_, yes, no) => {
                let yes = self.block(proc, yes, behind, around);
                self.block(proc, no, behind, around) | yes
            }
            StmtKind::While(_, body) => {
                let number = self.loops;
                self.loops += 1;
                if self.heads[proc].len() <= number {
                    self.heads[proc].resize(number + 1, false);
                }
                let head = self.heads[proc][number];
                let may = self.block(proc, body, head, Some((number, behind))) | behind;
                // A guard that is a point of its own is where others can go on.
                let head = may && s.access == Access::Local;
                self.heads[proc][number] |= head;
                may
            }
            StmtKind::Atomic(body) => {
                let mut inside = false;
                statements(body, &mut |s| {
                    inside |= drops(s) || matches!(&s.kind, StmtKind::Call(_, p, _) if self.anywhere[*p]);
                });
                inside | behind
            }
            StmtKind::Call(_, callee, _) => {
                if behind {
                    self.exits(*callee);
                }
                self.entry[*callee]
            }
            StmtKind::Return(_) => self.exit[proc],
            StmtKind::Break => around.is_some_and(|(_, behind)| behind),
            StmtKind::Continue => around.is_some_and(|(head, _)| self.heads[proc][head]),
            StmtKind::Yield | StmtKind::Zield => false,
            _ => drops(s) | behind,
        };
        if s.access == Access::Local {
            return may;
        }
        if may && s.access == Access::Data {
            s.access = Access::Sync;
        }
        false
    }
}
