//! Whether a bug that is found with bounds that grow costs least.

use crate::proof::Sequentialization;
use fabius_lang::program::{ProcId, Program, StmtKind};
use fabius_lang::walk;
use fabius_trace::{Bounds, ErrorTrace};
use std::collections::BTreeSet;

/// Whether there is none that costs less: what was looked at `before` is all that does.
pub fn is_least(program: &Program, what: Sequentialization, trace: &ErrorTrace, before: Option<&Bounds>) -> bool {
    let all = |before: &Bounds| before.completed == trace.cost.checked_sub(1) && before.limits.is_empty();
    trace.cost == 0 || before.is_some_and(all) && counts_alike(program, what)
}

/// Whether the rounds of the translation are those in which the cost is counted, over the threads in the order of their creation.
/// That is seen where `init` makes them.
fn counts_alike(program: &Program, what: Sequentialization) -> bool {
    match what {
        Sequentialization::Delays(_) | Sequentialization::RoundRobin { .. } => true,
        Sequentialization::AnyThreads(_) => false,
        Sequentialization::Rounds(_) | Sequentialization::Buffers { .. } => {
            let first = run_by_init(program);
            let mut others = (0..program.procs.len()).filter(|p| !first.contains(p));
            others.all(|p| !has(program, p, |s| matches!(s, StmtKind::Spawn(..))))
        }
    }
}

/// `init`, and what it calls.
fn run_by_init(program: &Program) -> BTreeSet<ProcId> {
    let (mut all, mut open) = (BTreeSet::new(), Vec::from_iter(program.init));
    while let Some(p) = open.pop() {
        if all.insert(p) {
            open.extend(
                (0..program.procs.len())
                    .filter(|q| has(program, p, |s| matches!(s, StmtKind::Call(_, r, _) if r == q))),
            );
        }
    }
    all
}

fn has(program: &Program, p: ProcId, what: impl Fn(&StmtKind) -> bool) -> bool {
    let mut found = false;
    walk::statements(&program.procs[p].body, &mut |s| found |= what(&s.kind));
    found
}
