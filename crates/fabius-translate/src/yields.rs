//! Yields inside of levels become rounds.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), figure 6.
//!
//! A level is active from a post from below until none of its tasks is left. Each variable becomes a vector with a value
//! for each round of the level that is active.
//!
//! Deviations:
//! 1. Arguments are evaluated before the state is exchanged; the printed rule evaluates them after it.
//! 2. The level and the round of the running task are globals that a task sets when it begins, and that a post to a higher
//!    level restores, where the paper has parameters and results. So a result that goes to a global is stored in the new
//!    round, as it must be.
//! 3. A task that yields in the last round goes on: no rounds are added for tasks that an assertion finds waiting.

use crate::build::*;
use crate::{Prioritized, Unsupported};
use fabius_lang::program::*;
use std::collections::BTreeSet;

/// The executions with at most `rounds` rounds of yields in each activation of a level.
///
/// # Errors
/// None yet.
pub fn yields(source: &Prioritized, rounds: u32) -> Result<Prioritized, Unsupported> {
    let mut program = source.program.clone();
    let has_yields = program.any_stmt(|s| s.kind == StmtKind::Yield);
    if rounds <= 1 || !has_yields {
        for proc in &mut program.procs {
            let body = std::mem::take(&mut proc.body);
            proc.body = replace(body, &mut |s| if s.kind == StmtKind::Yield { Vec::new() } else { vec![s] });
        }
        return Ok(Prioritized { program, ..source.clone() });
    }
    let shared = source.shared();
    let levels = program.levels.len() as i64;
    let mut starts = Vec::new();
    for g in &shared {
        let variable = &mut program.globals[*g];
        variable.init = Value::Tuple(vec![variable.init.clone(); rounds as usize]);
        variable.ty = array(variable.ty.clone(), rounds);
        let (name, ty) = (format!("start_{}", variable.name), variable.ty.clone());
        starts.push((global(&program, *g), new_global(&mut program, &name, ty)));
    }
    let last = i64::from(rounds) - 1;
    let round = new_global(&mut program, "level_round", Type::Range(0, last));
    let level = new_global(&mut program, "level", Type::Range(0, levels - 1));
    let interrupted = new_global(&mut program, "interrupted", array(Type::Range(0, last), levels as u32));
    let own: BTreeSet<GlobalId> = [&round, &level].into_iter().map(id_of).collect();
    let here = read(&round);
    let moved = Moved { variables: &shared, index: &here, reads: None };
    let tasks = crate::explicit::spawned(&program);
    for id in 0..program.procs.len() {
        let mut locals = std::mem::take(&mut program.procs[id].locals);
        let body = moved.block(std::mem::take(&mut program.procs[id].body), &program);
        let post = |m: Option<Level>, p: ProcId, args: Vec<Expr>, locals: &mut Vec<Local>| {
            let vars = Vars { starts: &starts, round: &round, level: &level, interrupted: &interrupted, rounds };
            post(&program, &vars, m, p, args, locals)
        };
        let mut body = replace(body, &mut |s| match s.kind {
            StmtKind::Yield => vec![any_between(&round, read(&round), number(last))],
            StmtKind::Post(_, m, p, args) => post(m, p, args, &mut locals),
            _ => vec![s],
        });
        if tasks.contains(&id) {
            let params = program.procs[id].params;
            let at = |ty: &Place, n: usize| Local { name: ["its_level", "its_round"][n].into(), ty: ty.ty.clone() };
            body = shift_locals(body, params, 2);
            locals.splice(params..params, [at(&level, 0), at(&round, 1)]);
            let begin = [
                set(&level, read(&local(params, level.ty.clone()))),
                set(&round, read(&local(params + 1, round.ty.clone()))),
            ];
            body.splice(0..0, begin);
            program.procs[id].params += 2;
        }
        program.procs[id].locals = locals;
        program.procs[id].body = body;
    }
    let zero = number(0);
    let end = number(last);
    let in_first = Moved { variables: &shared, index: &zero, reads: None };
    let in_last = Moved { variables: &shared, index: &end, reads: None };
    let mut before = in_first.block(source.before.clone(), &program);
    let mut after = Vec::new();
    for (x, start) in &starts {
        for i in 1..i64::from(rounds) {
            guess(&program, &element(x.clone(), number(i)), &mut before);
            let begins = read(&element(start.clone(), number(i)));
            after.push(assume(eq(begins, read(&element(x.clone(), number(i - 1))))));
        }
        before.push(set(start, read(x)));
    }
    after.extend(in_last.block(source.after.clone(), &program));
    let mut private = source.private.clone();
    private.extend(starts.iter().map(|(_, s)| id_of(s)));
    private.extend(own);
    Ok(Prioritized { program, private, before, after, ..source.clone() })
}

struct Vars<'a> {
    /// The vectors, and what they were at the start.
    starts: &'a [(Place, Place)],
    round: &'a Place,
    level: &'a Place,
    interrupted: &'a Place,
    rounds: u32,
}

fn post(
    program: &Program,
    vars: &Vars<'_>,
    m: Option<Level>,
    p: ProcId,
    args: Vec<Expr>,
    locals: &mut Vec<Local>,
) -> Block {
    let mut out = Vec::new();
    let mut values = Vec::new();
    for (e, to) in args.into_iter().zip(&program.procs[p].locals) {
        let value = new_local(locals, "argument", to.ty.clone());
        out.push(set(&value, e));
        values.push(read(&value));
    }
    let posted = |level: Expr, round: Expr| {
        let mut all = values.clone();
        all.extend([level, round]);
        stmt(StmtKind::Post(None, m, p, all))
    };
    let same = vec![posted(read(vars.level), read(vars.round))];
    let Some(m) = m else {
        out.extend(same);
        return out;
    };
    let m = i64::from(m);
    let below = vec![posted(number(m), read(&element(vars.interrupted.clone(), number(m))))];
    let mut above = Vec::new();
    let my_round = new_local(locals, "my_round", vars.round.ty.clone());
    let my_level = new_local(locals, "my_level", vars.level.ty.clone());
    above.push(set(&my_round, read(vars.round)));
    above.push(set(&my_level, read(vars.level)));
    let mut behind = Vec::new();
    for (x, _) in vars.starts {
        let saved = new_local(locals, "saved", x.ty.clone());
        let guessed = new_local(locals, "guessed", x.ty.clone());
        above.push(set(&saved, read(x)));
        guess(program, &guessed, &mut above);
        above.push(set(x, read(&guessed)));
        above.push(set(&element(x.clone(), number(0)), read(&element(saved.clone(), read(&my_round)))));
        for i in 1..i64::from(vars.rounds) {
            let begins = read(&element(guessed.clone(), number(i)));
            behind.push(assume(eq(begins, read(&element(x.clone(), number(i - 1))))));
        }
        let end = read(&element(x.clone(), number(i64::from(vars.rounds) - 1)));
        behind.push(set(&element(saved.clone(), read(&my_round)), end));
        behind.push(set(x, read(&saved)));
    }
    above.push(set(&element(vars.interrupted.clone(), read(vars.level)), read(vars.round)));
    above.push(posted(number(m), number(0)));
    above.extend([set(vars.round, read(&my_round)), set(vars.level, read(&my_level))]);
    above.extend(behind);
    let not_above = either(eq(number(m), read(vars.level)), same, below);
    out.push(either(lt(read(vars.level), number(m)), above, vec![not_above]));
    out
}
