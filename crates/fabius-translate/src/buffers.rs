//! Several task buffers as one.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), figure 5 (the translation by rounds over
//! the buffers).
//!
//! One buffer after the other runs through all of its rounds.
//!
//! Deviations:
//! 1. Every buffer but the first may begin in any round; the printed rule has all begin in round 0, in order. If there is an
//!    `init`, the others begin when it has finished.
//! 2. A buffer may go to a round behind the last, and then does nothing any more, if an assertion fails in the end: so a
//!    failure in round i is seen with i rounds, although the other buffers have not finished.
//! 3. A variable that only one thread uses, or of which every buffer has its own, has no copies.
//! 4. Any number of rounds is passed over in one choice instead of a loop.

use crate::beginnings::{Beginnings, beginnings};
use crate::build::*;
use crate::vectors::{Moved, Vectors, pass, vectors_that};
use crate::{Explicit, Prioritized, Unsupported};
use fabius_lang::program::*;
use std::collections::BTreeSet;

/// The executions with at most `rounds` rounds over the buffers.
///
/// # Errors
/// Threads that are spawned.
pub fn buffers(source: &Explicit, rounds: u32) -> Result<Prioritized, Unsupported> {
    beginning(source, rounds, None)
}

/// The same, and perhaps no executions in which nothing fails.
///
/// # Errors
/// Threads that are spawned.
pub fn failing(source: &Explicit, rounds: u32) -> Result<Prioritized, Unsupported> {
    let mut source = source.clone();
    crate::stuck::forget(&mut source.program);
    let begin = beginnings(&source, rounds);
    beginning(&source, rounds, begin.as_ref())
}

fn beginning(source: &Explicit, rounds: u32, begin: Option<&Beginnings>) -> Result<Prioritized, Unsupported> {
    let mut program = source.program.clone();
    crate::stuck::forget(&mut program);
    if let Some(span) = first(&program, |s| matches!(s, StmtKind::Spawn(..))) {
        let has_tasks = first(&program, |s| matches!(s, StmtKind::Post(..) | StmtKind::Yield)).is_some()
            || source.starts.iter().any(|s| !s.is_thread);
        let help = if has_tasks { help_for_tasks(&program) } else { "use `--rounds` or `--delays`" };
        return Err(Unsupported::new("threads that are spawned by rounds over task buffers", span, help));
    }
    let last = i64::from(rounds) - 1;
    let round = new_global(&mut program, "buffer_round", Type::Range(0, last));
    let stop = global(&program, source.stop);
    begin.iter().for_each(|begin| begin.tell(&mut program, &round, &stop));
    let mut shared: BTreeSet<GlobalId> = crate::explicit::shared(source).into_iter().collect();
    // Every buffer stops for itself.
    shared.remove(&source.stop);
    let Vectors { guesses, confirmed, starts } = vectors_that(&mut program, &shared, rounds, begin);
    let dropped = new_global(&mut program, "a_buffer_is_dropped", Type::Bool);
    let drop = vec![set(&stop, boolean(true)), set(&dropped, boolean(true))];
    let here = read(&round);
    let moved = Moved { variables: &shared, index: &here, or_if: None };
    for id in 0..program.procs.len() {
        let mut locals = std::mem::take(&mut program.procs[id].locals);
        let body = moved.block(std::mem::take(&mut program.procs[id].body), &program);
        program.procs[id].body = replace(body, &mut |s| match s.kind {
            StmtKind::Zield => pass(&round, last, &mut locals, &drop),
            StmtKind::Post(r, level, p, es) => {
                vec![Stmt { kind: StmtKind::Post(r, level.map(|l| l + 1), p, es), ..s }]
            }
            _ => vec![s],
        });
        program.procs[id].locals = locals;
    }
    let first_round = new_global(&mut program, "first_round", Type::Range(0, last + 1));
    start(&mut program, source, &round, &first_round, &drop);
    program.levels.insert(0, "START".into());
    let mut after = confirmed;
    after.push(assume(or(not(read(&dropped)), read(&global(&program, source.failed)))));
    let own = starts.iter().chain([&dropped, &first_round]).map(id_of);
    Ok(Prioritized {
        failed: source.failed,
        stop: source.stop,
        private: source.private.iter().copied().chain(own).collect(),
        before: guesses,
        after,
        limits: source.limits.clone(),
        sliced: source.sliced,
        program,
    })
}

/// The new `init` posts what the old one does, and then what is declared.
fn start(program: &mut Program, source: &Explicit, round: &Place, first_round: &Place, drop: &Block) {
    let main = program.init.expect("an explicit program begins with `init`");
    let Type::Range(_, last) = round.ty else { unreachable!("rounds are counted") };
    let (stop, never) = (global(program, source.stop), number(last + 1));
    let mut locals = Vec::new();
    let begins = new_local(&mut locals, "first", first_round.ty.clone());
    let mut body = vec![stmt(StmtKind::Post(None, Some(1), main, Vec::new()))];
    // Nothing starts if `init` has stopped.
    let in_time = vec![set(first_round, read(round))];
    program.procs[main].body.push(either(read(&stop), vec![set(first_round, never.clone())], in_time));
    for (n, start) in source.starts.iter().enumerate() {
        for (own, init) in crate::explicit::per_thread(program) {
            body.push(set(&own, expr(ExprKind::Const(init), own.ty.clone())));
        }
        let latest = if n == 0 && !source.has_init { number(0) } else { never.clone() };
        body.push(any_between(&begins, read(first_round), latest));
        body.push(set(&stop, boolean(false)));
        body.push(either(le(read(&begins), number(last)), vec![set(round, read(&begins))], drop.clone()));
        let span = program.procs[start.proc].span;
        let post = Stmt { span, ..stmt(StmtKind::Post(None, Some(1), start.proc, start.args.clone())) };
        body.push(when(le(read(first_round), number(last)), vec![post]));
    }
    let name = "all_buffers".into();
    program.procs.push(Proc { name, locals, params: 0, results: Vec::new(), body, span: Default::default() });
    program.init = Some(program.procs.len() - 1);
}
