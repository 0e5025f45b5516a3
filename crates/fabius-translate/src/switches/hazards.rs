//! Behind which scheduling points an execution may be dropped, or not go on, before the next one.

use super::callees;
use fabius_lang::program::*;
use fabius_lang::walk::{self, decided};
use std::collections::{BTreeSet, HashSet};

struct Hazards<'p> {
    program: &'p Program,
    is_contended: &'p dyn Fn(&Stmt) -> bool,
    recursive: Vec<bool>,
    /// Whether a hazard may come behind the beginning, and behind the end, of each procedure before a scheduling point.
    begins: Vec<bool>,
    ends: Vec<bool>,
    kept: HashSet<*const Stmt>,
    changed: bool,
}

/// Where control goes from inside of a loop and of a procedure: whether there is a hazard.
#[derive(Clone, Copy)]
struct Exits {
    breaks: bool,
    continues: bool,
    returns: bool,
}

/// The scheduling points that are kept: contended ones, and those with a hazard behind them.
pub(super) fn kept(program: &Program, is_contended: &dyn Fn(&Stmt) -> bool) -> HashSet<*const Stmt> {
    let procs = program.procs.len();
    let recursive = callees(program).iter().enumerate().map(|(p, all)| all.contains(&p)).collect();
    let (begins, ends, kept) = (vec![false; procs], vec![false; procs], HashSet::new());
    let mut hazards = Hazards { program, is_contended, recursive, begins, ends, kept, changed: true };
    while std::mem::take(&mut hazards.changed) {
        for p in 0..procs {
            let returns = hazards.ends[p];
            let exits = Exits { breaks: returns, continues: true, returns };
            let begins = hazards.block(&program.procs[p].body, returns, exits) || hazards.recursive[p];
            hazards.changed |= begins != hazards.begins[p];
            hazards.begins[p] = begins;
        }
    }
    hazards.kept
}

impl Hazards<'_> {
    /// Whether a hazard may come before the next scheduling point, where one may `behind` the block.
    fn block(&mut self, block: &[Stmt], behind: bool, exits: Exits) -> bool {
        block.iter().rev().fold(behind, |behind, s| self.stmt(s, behind, exits))
    }

    fn stmt(&mut self, s: &Stmt, behind: bool, exits: Exits) -> bool {
        let is_point = s.access > Access::Local;
        let inside = match &s.kind {
            StmtKind::Break => exits.breaks,
            StmtKind::Continue => exits.continues,
            StmtKind::Return(_) => exits.returns,
            StmtKind::If(_, a, b) => {
                let one = self.block(a, behind, exits);
                self.block(b, behind, exits) || one
            }
            StmtKind::While(guard, body) => {
                // Who goes around need not come to an end, unless control may be taken away each time.
                let around = !(is_point && (self.is_contended)(s));
                let exits = Exits { breaks: behind, continues: around, ..exits };
                let body = self.block(body, around, exits);
                let ends = !matches!(guard, Guard::Expr(e) if decided(e) == Some(true));
                body || ends && behind
            }
            StmtKind::Call(_, p, _) => {
                self.changed |= behind && !self.ends[*p];
                self.ends[*p] |= behind;
                self.begins[*p] || self.recursive[*p]
            }
            StmtKind::Yield | StmtKind::Zield => {
                self.kept.insert(std::ptr::from_ref(s));
                return false;
            }
            _ => behind || self.may_stop(s, &mut BTreeSet::new()),
        };
        if !is_point {
            return inside;
        }
        if inside || is_always_kept(s) || (self.is_contended)(s) {
            self.kept.insert(std::ptr::from_ref(s));
        }
        false
    }

    /// Whether an execution may be dropped at a statement, or not go on, or others see something that is no access of a
    /// scheduling point.
    fn may_stop(&self, s: &Stmt, seen: &mut BTreeSet<ProcId>) -> bool {
        let any = |block: &[Stmt], seen: &mut BTreeSet<ProcId>| block.iter().any(|s| self.may_stop(s, seen));
        match &s.kind {
            StmtKind::Assume(_) | StmtKind::While(..) => true,
            StmtKind::Assert(_, Check::Bound, _) => true,
            StmtKind::New(..) | StmtKind::Spawn(..) | StmtKind::Post(..) | StmtKind::Join(_) | StmtKind::Await(_) => {
                true
            }
            StmtKind::Any(_, lo, hi) => match (&lo.kind, &hi.kind) {
                (ExprKind::Const(Value::Int(lo)), ExprKind::Const(Value::Int(hi))) => lo > hi,
                _ => true,
            },
            StmtKind::If(_, a, b) => any(a, seen) || any(b, seen),
            StmtKind::Atomic(b) => any(b, seen),
            StmtKind::Call(_, p, _) => !seen.insert(*p) || any(&self.program.procs[*p].body, seen),
            _ => s.access == Access::Local && self.touches_globals(s),
        }
    }

    /// Whether the statement belongs to the step before it though it touches shared variables, as an invariant does.
    fn touches_globals(&self, s: &Stmt) -> bool {
        let shared = |p: &Place| match p.base {
            Base::Global(g) => !self.program.globals[g].per_thread,
            Base::Local(_) => false,
            Base::Heap(..) => true,
        };
        let mut found = walk::written(s).is_some_and(shared);
        for e in walk::expressions(s) {
            walk::each(e, &mut |e| found |= matches!(&e.kind, ExprKind::Read(p) if shared(p)));
        }
        found
    }
}

/// Waiting is giving control away; what is made is numbered.
fn is_always_kept(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::Await(_) | StmtKind::Join(_) => true,
        StmtKind::New(..) | StmtKind::Spawn(..) | StmtKind::Post(..) => true,
        StmtKind::Atomic(b) => b.first().is_some_and(is_always_kept),
        _ => false,
    }
}
