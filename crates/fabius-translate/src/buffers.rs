//! Several task buffers as one.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), figure 5 (the translation by rounds over
//! the buffers).
//!
//! Every variable becomes a vector with a value for each round over the buffers; one buffer after the other runs through all
//! of its rounds.
//!
//! Deviations:
//! 1. Every buffer but the first may begin in any round; the printed rule has all begin in round 0, in order.
//! 2. A buffer may go to a round behind the last, and then does nothing any more: so that an assertion that fails in
//!    round i is seen with i rounds, although the other buffers have not finished.
//! 3. What is read and written through a variable that only one thread uses has no copies.

use crate::build::*;
use crate::{Explicit, Prioritized, Unsupported};
use fabius_lang::program::*;
use std::collections::BTreeSet;

/// The executions with at most `rounds` rounds over the buffers.
///
/// # Errors
/// Threads that are spawned by others than `init`.
pub fn buffers(source: &Explicit, rounds: u32) -> Result<Prioritized, Unsupported> {
    let mut program = source.program.clone();
    let shared: BTreeSet<GlobalId> = crate::explicit::shared(source).into_iter().collect();
    if let Some(own) = program.globals.iter().find(|g| g.per_thread) {
        return Err(Unsupported::new("`thread var` in a program with task buffers", own.span, "use an array"));
    }
    let main = program.init.expect("an explicit program begins with `init`");
    let last = i64::from(rounds) - 1;
    let mut before = Vec::new();
    let mut after = Vec::new();
    let mut starts = Vec::new();
    for g in &shared {
        let variable = &mut program.globals[*g];
        variable.init = Value::Tuple(vec![variable.init.clone(); rounds as usize]);
        variable.ty = array(variable.ty.clone(), rounds);
        let (name, ty) = (format!("start_{}", variable.name), variable.ty.clone());
        starts.push((global(&program, *g), new_global(&mut program, &name, ty)));
    }
    for (x, start) in &starts {
        for i in 1..i64::from(rounds) {
            guess(&program, &element(x.clone(), number(i)), &mut before);
        }
        before.push(set(start, read(x)));
        for i in 1..i64::from(rounds) {
            let begins = read(&element(start.clone(), number(i)));
            after.push(assume(eq(begins, read(&element(x.clone(), number(i - 1))))));
        }
    }
    let round = new_global(&mut program, "buffer_round", Type::Range(0, i64::from(rounds)));
    let over = le(number(i64::from(rounds)), read(&round));
    let stop = read(&element(global(&program, source.stop), read(&round)));
    let stopped = or(over, stop);
    let here = read(&round);
    let moved = Moved { variables: &shared, index: &here, reads: Some((source.stop, &stopped)) };
    let mut wrong = None;
    for id in 0..program.procs.len() {
        let body = moved.block(std::mem::take(&mut program.procs[id].body), &program);
        program.procs[id].body = replace(body, &mut |s| match s.kind {
            StmtKind::Zield => vec![any_between(&round, read(&round), number(last + 1))],
            StmtKind::Post(r, level, p, es) => vec![stmt(StmtKind::Post(r, level.map(|l| l + 1), p, es))],
            StmtKind::Spawn(_, p, es) if id == main => {
                vec![any_between(&round, number(0), number(last)), stmt(StmtKind::Post(None, Some(1), p, es))]
            }
            StmtKind::Spawn(..) => {
                wrong = Some(s.span);
                vec![s]
            }
            _ => vec![s],
        });
    }
    if let Some(span) = wrong {
        let help = "declare them as `process`es, or use `--rounds` or `--delays`";
        return Err(Unsupported::new("threads that start while task buffers run", span, help));
    }
    let begun = !program.procs[main].body.is_empty();
    for (n, buffer) in std::mem::take(&mut program.buffers).into_iter().enumerate() {
        let body = &mut program.procs[main].body;
        let hi = if n == 0 && !begun { 0 } else { last };
        body.push(any_between(&round, number(0), number(hi)));
        body.push(stmt(StmtKind::Post(None, Some(1), buffer.proc, Vec::new())));
    }
    program.levels.insert(0, "START".into());
    // What the new main itself does is in round 0.
    before.push(set(&round, number(0)));
    Ok(Prioritized {
        program,
        failed: source.failed,
        private: source.private.iter().copied().chain(starts.iter().map(|(_, s)| id_of(s))).collect(),
        before,
        after,
        limits: source.limits.clone(),
    })
}
