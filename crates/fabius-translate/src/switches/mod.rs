//! Where a thread need not be interrupted, because what it does next cannot be told from doing it earlier.
//!
//! Paper: Reduction: A Method of Proving Properties of Parallel Programs (CACM 1975), for the statements between two
//! scheduling points: one that commutes to the left may join the step before it.
//!
//! Deviations:
//! 1. A statement commutes if no other thread can make a conflicting access meanwhile: there is none in the program, or it is
//!    made under a lock that this thread holds. So does the release of a lock that others only acquire and release.
//! 2. Who is not interrupted goes on, though another thread might fail first. So nothing may come before the next scheduling
//!    point that is kept by which an execution is dropped or does not go on: assumptions, limits, loops.
//! 3. Rounds are kept: what is done earlier is done in an earlier round.

mod accesses;
mod hazards;
pub(crate) mod locks;

use accesses::Accesses;
use fabius_lang::program::*;
use fabius_lang::walk;
use std::collections::{BTreeSet, HashSet};

/// The statements of a program in front of which no thread need be interrupted.
#[derive(Clone, Debug, Default)]
pub struct Needless(HashSet<*const Stmt>);

impl Needless {
    /// Whether the statement, of the program itself, is one of these.
    pub fn has(&self, s: &Stmt) -> bool {
        self.0.contains(&std::ptr::from_ref(s))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// Finds them in a program of threads, of which there are `any` number of those that begin with these procedures. Nobody cares what
/// is in the `idle` variables.
pub fn needless(program: &Program, any: &[ProcId], idle: &BTreeSet<GlobalId>) -> Needless {
    let accesses = Accesses::of(program, any, idle);
    let kept = hazards::kept(program, &|s| accesses.is_contended(s));
    let mut all = HashSet::new();
    for proc in &program.procs {
        walk::statements(&proc.body, &mut |s| {
            if s.access > Access::Local && !kept.contains(&std::ptr::from_ref(s)) {
                all.insert(std::ptr::from_ref(s));
            }
        });
    }
    Needless(all)
}

/// The procedures that are called from each, directly and not.
fn callees(program: &Program) -> Vec<BTreeSet<ProcId>> {
    let direct = |p: ProcId| {
        let mut all = BTreeSet::new();
        walk::statements(&program.procs[p].body, &mut |s| {
            if let StmtKind::Call(_, q, _) = s.kind {
                all.insert(q);
            }
        });
        all
    };
    let direct: Vec<BTreeSet<ProcId>> = (0..program.procs.len()).map(direct).collect();
    let from = |p: ProcId| {
        let mut seen = BTreeSet::new();
        let mut todo: Vec<ProcId> = direct[p].iter().copied().collect();
        while let Some(q) = todo.pop() {
            if seen.insert(q) {
                todo.extend(&direct[q]);
            }
        }
        seen
    };
    (0..program.procs.len()).map(from).collect()
}
