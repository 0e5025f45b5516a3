//! Which procedures run where other tasks of the same buffer may be pending.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), section 3 (RESUME and YIELD, behind which the same
//! buffer goes on as long as it can).
//!
//! Deviations:
//! 1. Who waits where a task begins, or behind a `yield`, lets other buffers go on if nobody else of its own buffer can. That is
//!    certain only where there is nobody else: where neither the task nor who posted it posts.

use super::Switches;
use crate::build::each;
use fabius_lang::program::*;
use std::collections::BTreeSet;

/// When who waits hands over to other buffers, besides at a scheduling point in front of the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandsOver {
    /// Nobody else is in its buffer: where control stands at a point already, too.
    Alone,
    /// Another task of its buffer may have to go on first.
    Never,
    /// In any case, and once more when others of its buffer have run.
    Wherever,
}

/// The procedures that may run beside other tasks of their buffer, and when these hand over.
pub(super) struct Company {
    procs: BTreeSet<ProcId>,
    hands_over: HandsOver,
}

impl Company {
    pub(super) fn of(program: &Program, switches: Switches<'_>) -> Company {
        let hands_over = match switches {
            Switches::WhereverOneWaits => HandsOver::Wherever,
            Switches::Everywhere | Switches::WhereTheyMatter(_) => HandsOver::Never,
        };
        // With a single buffer there is nobody to hand over to.
        let procs = if program.has_single_buffer() { BTreeSet::new() } else { in_company(program) };
        Company { procs, hands_over }
    }

    pub(super) fn hands_over(&self, p: ProcId) -> HandsOver {
        if self.procs.contains(&p) { self.hands_over } else { HandsOver::Alone }
    }

    /// What is left out, if somebody in company waits.
    pub(super) fn left_out(&self, program: &Program) -> Option<&'static str> {
        let waits = |s: &StmtKind| matches!(s, StmtKind::Await(_) | StmtKind::Join(_));
        let waits = |p: &ProcId| !found(program, *p, |s| waits(s).then_some(*p)).is_empty();
        self.procs.iter().any(waits).then_some(match self.hands_over {
            HandsOver::Wherever => {
                "where a buffer has several tasks, who waits hands over to other buffers when it begins to wait, and once more when \
                 others of its buffer have run"
            }
            HandsOver::Never | HandsOver::Alone => {
                "where a buffer has several tasks, who waits hands over to other buffers only at a scheduling point in front of the wait"
            }
        })
    }
}

fn in_company(program: &Program) -> BTreeSet<ProcId> {
    let posts: BTreeSet<ProcId> = (0..program.procs.len())
        .filter(|p| calls(program, *p).iter().any(|q| !posted(program, *q).is_empty()))
        .collect();
    let mut roots: Vec<ProcId> = program.init.into_iter().collect();
    roots.extend(program.buffers.iter().map(|b| b.proc));
    roots.extend(program.processes.iter().map(|p| p.proc));
    roots.extend((0..program.procs.len()).flat_map(|p| spawned(program, p)));
    roots.retain(|p| posts.contains(p));
    roots.extend((0..program.procs.len()).flat_map(|p| posted(program, p)));
    roots.into_iter().flat_map(|p| calls(program, p)).collect()
}

/// The procedure and those that it calls, at whatever depth.
fn calls(program: &Program, p: ProcId) -> BTreeSet<ProcId> {
    let (mut all, mut open) = (BTreeSet::new(), vec![p]);
    while let Some(p) = open.pop() {
        if all.insert(p) {
            open.extend(found(program, p, |s| if let StmtKind::Call(_, q, _) = s { Some(*q) } else { None }));
        }
    }
    all
}

fn posted(program: &Program, p: ProcId) -> Vec<ProcId> {
    found(program, p, |s| if let StmtKind::Post(_, _, q, _) = s { Some(*q) } else { None })
}

fn spawned(program: &Program, p: ProcId) -> Vec<ProcId> {
    found(program, p, |s| if let StmtKind::Spawn(_, q, _) = s { Some(*q) } else { None })
}

fn found(program: &Program, p: ProcId, what: impl Fn(&StmtKind) -> Option<ProcId>) -> Vec<ProcId> {
    let mut all = Vec::new();
    each(&program.procs[p].body, &mut |s| all.extend(what(&s.kind)));
    all
}
