//! What is computed once for a program: numbers of shared variables, and how finely it interleaves.

use crate::value::{ObjectId, scalars};
use fabius_lang::program::{Access, ExprKind, Interleave, Program, StmtKind};
use fabius_lang::waits::Waits;
use fabius_lang::walk;
use fabius_trace::Points;

/// Facts about a program.
pub struct Layout {
    /// Number of the first scalar of each global.
    pub first: Vec<u64>,
    /// From which access on a statement is a scheduling point; `None` if accesses never are.
    pub point: Option<Access>,
    /// Whether there is never more than one buffer.
    pub single_buffer: bool,
    /// Whether a procedure, or one that it calls, asks for the handle of the running task.
    pub uses_self: Vec<bool>,
    /// What waits.
    pub waits: Waits,
}

impl Layout {
    /// Looks at a program.
    pub fn of(program: &Program, points: Points) -> Layout {
        let mut next = 0;
        let first = program.globals.iter().map(|g| {
            let mine = next;
            next += scalars(program, &g.ty);
            mine
        });
        let single_buffer = program.has_single_buffer();
        Layout {
            first: first.collect(),
            point: match (program.interleave, points) {
                _ if single_buffer => None,
                (Interleave::Explicit, _) => None,
                (Interleave::Implicit, Points::All) => Some(Access::Data),
                (Interleave::Implicit, Points::Sync) => Some(Access::Sync),
            },
            single_buffer,
            uses_self: uses_self(program),
            waits: Waits::of(program),
        }
    }

    /// Number of the first scalar of a heap object.
    pub fn of_object(o: ObjectId) -> u64 {
        1 << 62 | u64::from(o) << 30
    }
}

/// For every procedure: whether it, or one that it calls, asks for the running task's handle.
fn uses_self(program: &Program) -> Vec<bool> {
    let mut uses = vec![false; program.procs.len()];
    loop {
        let before = uses.clone();
        for (p, proc) in program.procs.iter().enumerate() {
            let mut found = uses[p];
            walk::statements(&proc.body, &mut |s| {
                for e in walk::expressions(s) {
                    walk::each(e, &mut |x| found |= matches!(x.kind, ExprKind::SelfHandle));
                }
                found |= matches!(s.kind, StmtKind::Call(_, q, _) if uses[q]);
            });
            uses[p] = found;
        }
        if uses == before {
            return uses;
        }
    }
}
