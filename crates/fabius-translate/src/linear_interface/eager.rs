//! Any number of threads, one after the other, each through all rounds.
//!
//! Paper: Sequentializing Parameterized Programs (2011/12), section 4.
//!
//! `x[i]` is the shared state in which round i goes on, `start_x[i]` the guess of how it begins. The program runs threads
//! until it chooses to stop, and then confirms the guesses.
//!
//! Deviations:
//! 1. States that no execution reaches are explored, too: so what can fail sets a flag, and whether that counts is asked at
//!    the end, when the guesses are confirmed.

use super::{Parameterized, run};
use crate::build::*;
use crate::vectors::{Moved, pass, vectors};
use crate::{Nesting, Translated};
use fabius_lang::program::*;
use fabius_trace::Span;
use std::collections::BTreeSet;

/// The executions of at most `rounds` rounds of any number of threads.
pub fn eager(source: &Parameterized, rounds: u32) -> Translated {
    let explicit = &source.explicit;
    let mut program = explicit.program.clone();
    crate::stuck::forget(&mut program);
    let stop = global(&program, explicit.stop);
    let mut shared: BTreeSet<GlobalId> = crate::explicit::shared(explicit).into_iter().collect();
    shared.remove(&explicit.stop);
    let main = program.init.expect("an explicit program begins with `init`");
    let copies = vectors(&mut program, &shared, rounds);
    let last = i64::from(rounds) - 1;
    let round = new_global(&mut program, "round", Type::Range(0, last));
    let here = read(&round);
    let moved = Moved { variables: &shared, index: &here, or_if: None };
    let stops = vec![set(&stop, boolean(true))];
    for id in 0..program.procs.len() {
        let body = moved.block(std::mem::take(&mut program.procs[id].body), &program);
        let mut locals = std::mem::take(&mut program.procs[id].locals);
        program.procs[id].body = replace(body, &mut |s| match s.kind {
            StmtKind::Zield => pass(&round, last, &mut locals, &stops),
            _ => vec![s],
        });
        program.procs[id].locals = locals;
    }
    let mut locals = Vec::new();
    let mut body = copies.guesses;
    body.extend([stmt(StmtKind::Call(Vec::new(), main, Vec::new())), assume(eq(read(&round), number(0)))]);
    let one = |call: Block| {
        let mut all = vec![set(&stop, boolean(false)), set(&round, number(0))];
        all.extend(source.fresh());
        all.extend(call);
        all
    };
    // A failure of `init` is the end.
    let go_on = not(read(&stop));
    let mut threads: Block = explicit.starts.iter().flat_map(|start| one(vec![run(start)])).collect();
    let more = new_local(&mut locals, "more", Type::Bool);
    let choose = any_between(&more, boolean(false), boolean(true));
    threads.push(choose.clone());
    let mut again = one(source.run_any(&mut locals));
    again.push(choose);
    threads.push(stmt(StmtKind::While(Guard::Expr(read(&more)), again)));
    body.push(when(go_on, threads));
    body.extend(copies.confirmed);
    body.push(crate::explicit::verdict(&program, explicit.failed));
    let results = Vec::new();
    program.procs.push(Proc { name: "all_threads".into(), locals, params: 0, results, body, span: Span::default() });
    program.init = Some(program.procs.len() - 1);
    crate::explicit::make_sequential(&mut program);
    Translated { program, nesting: Nesting::Queue, limits: explicit.limits.clone() }
}
