//! Posts that jump levels go from level to level.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), section 3 (tasks post at most one level
//! up).
//!
//! Deviations:
//! 1. The paper assumes it; here the tasks in between are made: each only posts the next.

use crate::Unsupported;
use crate::build::*;
use fabius_lang::program::*;
use fabius_trace::Span;
use std::collections::HashMap;

/// Makes every post one of at most one level up.
///
/// # Errors
/// A procedure that runs at more than one level (an [explicit](crate::explicit) program has none).
pub fn relay(program: &mut Program) -> Result<(), Unsupported> {
    let runs_at = levels_of(program)?;
    let mut relays: HashMap<(ProcId, Level), ProcId> = HashMap::new();
    let mut made: Vec<Proc> = Vec::new();
    let first = program.procs.len();
    let heads: Vec<(Vec<Local>, String)> =
        program.procs.iter().map(|p| (p.locals[..p.params].to_vec(), p.name.clone())).collect();
    for (proc, runs_at) in program.procs.iter_mut().zip(&runs_at) {
        let body = std::mem::take(&mut proc.body);
        proc.body = replace(body, &mut |s| {
            let StmtKind::Post(r, Some(m), p, es) = s.kind else { return vec![s] };
            if runs_at + 1 >= m {
                return vec![Stmt { kind: StmtKind::Post(r, Some(m), p, es), ..s }];
            }
            // The last relay first: each posts the one made before it.
            let mut next = p;
            for level in (runs_at + 1..m).rev() {
                next = *relays.entry((next, level)).or_insert_with(|| {
                    let (params, name) = &heads[p];
                    let args =
                        params.iter().enumerate().map(|(i, l)| read(&local(i, l.ty.clone()))).collect::<Vec<_>>();
                    made.push(Proc {
                        name: format!("{name}_by_{level}"),
                        locals: params.clone(),
                        params: params.len(),
                        results: Vec::new(),
                        body: vec![stmt(StmtKind::Post(None, Some(level + 1), next, args))],
                        span: Span::default(),
                    });
                    first + made.len() - 1
                });
            }
            vec![Stmt { kind: StmtKind::Post(r, Some(runs_at + 1), next, es), ..s }]
        });
    }
    program.procs.extend(made);
    Ok(())
}
