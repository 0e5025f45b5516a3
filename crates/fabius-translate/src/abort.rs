//! Assertions as a flag: who fails stops, and so does everybody else.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), section 3 (the exceptions that its facts
//! need are not given as rules there).
//!
//! Deviations:
//! 1. Two flags: `stop` is part of the shared state and says that nobody goes on; `failed` says that an assertion is why,
//!    and is never reset. A translation may stop a thread for good without a failure.
//! 2. Results of calls go to locals, and the caller looks at `stop` before it uses them.

use crate::build::*;
use fabius_lang::program::*;
use std::collections::BTreeSet;

/// Which procedures look at `stop`.
pub struct Stops {
    /// These never do.
    pub never: BTreeSet<ProcId>,
    /// These do before anything else: they begin tasks. (Threads have begun with the step that makes them.)
    pub at_start: BTreeSet<ProcId>,
}

/// Replaces assertions, and looks at `stop` wherever another task may have set it. `tell` is what is done at a failure.
pub fn abort(program: &mut Program, stop: &Place, failed: &Place, tell: &Block, who: &Stops) {
    let stops = |program: &Program, results: &[Type]| when(read(stop), vec![return_default(program, results)]);
    for id in (0..program.procs.len()).filter(|id| !who.never.contains(id)) {
        let results = program.procs[id].results.clone();
        let body = std::mem::take(&mut program.procs[id].body);
        let mut replaced: Block = who.at_start.get(&id).map(|_| stops(program, &results)).into_iter().collect();
        replaced.extend(replace(body, &mut |s| match s.kind {
            StmtKind::Assert(e, ..) => {
                let mut fail = tell.clone();
                fail.push(set(failed, boolean(true)));
                fail.push(set(stop, boolean(true)));
                fail.push(return_default(program, &results));
                vec![Stmt { span: s.span, ..when(not(e), fail) }]
            }
            StmtKind::Call(..) | StmtKind::Post(..) | StmtKind::Yield | StmtKind::Zield | StmtKind::Await(_) => {
                vec![s, stops(program, &results)]
            }
            _ => vec![s],
        }));
        program.procs[id].body = replaced;
    }
}
