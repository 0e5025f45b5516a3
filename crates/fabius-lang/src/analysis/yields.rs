//! `yield` where there are no tasks.

use crate::program::*;

/// In a program of threads alone nobody shares a buffer with a thread, so a `yield` gives way to the other threads as a `zield`
/// does. Otherwise it would only keep the thread from being preempted before what it accesses next.
pub(super) fn give_way_to_threads(program: &mut Program) {
    let tasks = !program.buffers.is_empty() || program.any_stmt(|s| matches!(s.kind, StmtKind::Post(..)));
    if tasks || program.interleave == Interleave::Explicit || program.has_single_buffer() {
        return;
    }
    program.procs.iter_mut().for_each(|p| block(&mut p.body));
}

fn block(statements: &mut Block) {
    for s in statements {
        match &mut s.kind {
            StmtKind::Yield => s.kind = StmtKind::Zield,
            StmtKind::If(_, a, b) => {
                block(a);
                block(b);
            }
            StmtKind::While(_, body) => block(body),
            _ => {}
        }
    }
}
