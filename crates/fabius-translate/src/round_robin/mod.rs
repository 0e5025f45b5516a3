//! K delays of the round-robin scheduler as a sequential program.
//!
//! Paper: Delay-Bounded Scheduling (POPL 2011), section 3 (the scheduler; what the paper translates is the depth-first one);
//! Sequentializing Parameterized Programs (2011/12), section 4 (a vector for each variable, with its value in each round).
//!
//! Who gives control up goes back to its place in the scheduler's list, and who is new goes to its end. So the list is always
//! in the order of creation, and the scheduler goes round it. In each round every thread has one turn: it goes on from its
//! scheduling point until it ends, waits, or is delayed. So each round but the last that somebody does not wait through costs a
//! delay, and a turn of a thread that waits costs nothing.
//!
//! Deviations:
//! 1. One thread after the other runs through all of its rounds, in the order of creation. Where threads make threads, that order is
//!    guessed, and confirmed by the rounds and turns in which they were made.
//! 2. The turn in which something fails is guessed: turns behind it need not be made, and cost nothing.
//! 3. Tasks of one buffer are threads that may be delayed before they begin. (They share the variables of the buffer.)
//! 4. Where nobody waits, K delays are in K + 1 rounds. Otherwise rounds are bounded, too: waiting costs nothing.

mod turns;

use crate::build::*;
use crate::depth_first::has_tasks;
use crate::linear_interface::Deadlocks;
use crate::rounds::{arguments, one_of};
use crate::stuck::stuck;
use crate::vectors::{Moved, vectors};
use crate::{Explicit, Nesting, Translated, Unsupported};
use fabius_lang::program::*;
use std::collections::BTreeSet;
use turns::{Makers, Vars};

/// The executions with at most `delays` delays in at most `rounds` rounds.
///
/// # Errors
/// More than one task buffer or level, or a buffer with a queue.
pub fn round_robin(
    source: &Explicit,
    delays: u32,
    rounds: u32,
    deadlocks: Deadlocks,
) -> Result<Translated, Unsupported> {
    let source = &as_threads(source)?;
    let mut program = source.program.clone();
    crate::explicit::start_all(&mut program, source);
    let (mut limits, mut rounds) = (source.limits.clone(), rounds);
    if !program.any_stmt(|s| matches!(s.kind, StmtKind::Await(_))) {
        rounds = delays + 1;
    } else {
        limits.push(format!("at most {rounds} rounds over the threads (`--rounds` raises this)"));
    }
    let table = source.tasks.map_or(source.caps.tasks + source.starts.len() as u32, |tasks| tasks - 1);
    let limit = source.caps.words_of_tasks();
    if source.tasks.is_none() && !limits.contains(&limit) {
        limits.push(limit);
    }
    let mut shared: BTreeSet<GlobalId> = crate::explicit::shared(source).into_iter().collect();
    // Every thread stops for itself.
    shared.remove(&source.stop);
    let entries = crate::explicit::spawned(&program);
    let arguments = arguments(&mut program, &entries, table);
    let all: Vec<GlobalId> = shared.iter().copied().collect();
    let stuck = (deadlocks == Deadlocks::AreBugs).then(|| stuck(&mut program, &all)).flatten();
    let copies = vectors(&mut program, &shared, rounds);
    let vars = Vars::new(&mut program, source, (i64::from(delays), i64::from(rounds) - 1), &entries, table, &stuck);
    let quiet = without(&program, |s| matches!(s, StmtKind::Spawn(..)));
    let makers = if entries.iter().all(|p| quiet[*p]) { Makers::First } else { Makers::Several };
    let here = read(&vars.round);
    let moved = Moved { variables: &shared, index: &here, or_if: None };
    for id in 0..program.procs.len() {
        let mut locals = std::mem::take(&mut program.procs[id].locals);
        let body = moved.block(std::mem::take(&mut program.procs[id].body), &program);
        program.procs[id].body = replace(body, &mut |s| match s.kind {
            StmtKind::Zield => {
                let next = new_local(&mut locals, "next", vars.turns.ty.clone());
                let cost = vars.spend(sub(read(&next), read(&vars.round)));
                vars.leave(&next, cost, vec![set(&vars.dropped, boolean(true))])
            }
            StmtKind::Await(e) => {
                let next = new_local(&mut locals, "next", vars.turns.ty.clone());
                let mut drop = vec![set(&vars.dropped, boolean(true))];
                if let Some(stuck) = &stuck {
                    let for_ever = new_local(&mut locals, "for_ever", Type::Bool);
                    let stays = stuck.stays(&program, e.clone());
                    drop = vec![
                        any_between(&for_ever, boolean(false), boolean(true)),
                        either(read(&for_ever), stays, drop),
                    ];
                }
                let mut conditions = Vec::new();
                crate::faults::of_expr(&program, &e, &mut conditions);
                let goes_on = conditions.into_iter().fold(e, |all, has_value| or(not(has_value), all));
                let mut cost = Vec::new();
                for turn in (0..=vars.last).map(number) {
                    let passes = and(le(read(&vars.round), turn.clone()), lt(turn.clone(), read(&next)));
                    let delay = when(and(passes, goes_on.clone()), vars.spend(number(1)));
                    let then = Moved { variables: &shared, index: &turn, or_if: None };
                    cost.extend(then.block(vec![delay], &program));
                }
                vars.leave(&next, cost, drop)
            }
            StmtKind::Spawn(_, p, args) => {
                let slot = new_local(&mut locals, "slot", Type::Range(0, i64::from(table.max(1)) - 1));
                let entry = entries.iter().position(|e| *e == p).expect("it is spawned");
                let to = arguments[entry].iter().map(|a| element(a.clone(), read(&slot)));
                let kept: Block = to.zip(args).map(|(to, e)| set(&to, e)).collect();
                [vars.make(&slot, entry, table, makers), kept].concat()
            }
            _ => vec![s],
        });
        program.procs[id].locals = locals;
    }
    let mut body = copies.guesses;
    stuck.iter().for_each(|stuck| stuck.guess(&program, &mut body));
    body.push(any_between(&vars.end, number(0), number(vars.last)));
    body.push(any_between(&vars.ends_in, number(0), number(i64::from(table))));
    let main = program.init.expect("an explicit program begins with `init`");
    let failed = global(&program, source.failed);
    let seen = new_global(&mut program, "has_failed", Type::Bool);
    body.extend(vars.begin(0));
    body.push(stmt(StmtKind::Call(Vec::new(), main, Vec::new())));
    body.push(vars.ended(&failed, &seen, number(0)));
    for i in 0..i64::from(table) {
        let mut one =
            vec![set(&vars.stop, boolean(false)), set(&vars.round, read(&element(vars.starts.clone(), number(i))))];
        one.extend(vars.begin(i + 1));
        one.extend(one_of(&program, &entries, &arguments, &vars.which, i));
        one.push(vars.ended(&failed, &seen, read(&element(vars.by.clone(), number(i)))));
        body.push(when(read(&element(vars.made.clone(), number(i))), one));
    }
    if makers == Makers::Several {
        body.extend((1..i64::from(table)).map(|i| vars.is_made_behind(i)));
    }
    body.extend(copies.confirmed);
    body.push(assume(or(not(read(&vars.dropped)), read(&failed))));
    body.push(match &stuck {
        None => crate::explicit::verdict(&program, source.failed),
        Some(stuck) => stuck.verdict(&program, source.failed, &|g| element(global(&program, g), read(&vars.end))),
    });
    let (name, span) = ("all_threads".into(), Default::default());
    program.procs.push(Proc { name, locals: Vec::new(), params: 0, results: Vec::new(), body, span });
    program.init = Some(program.procs.len() - 1);
    crate::explicit::make_sequential(&mut program);
    Ok(Translated { program, nesting: Nesting::InTime, limits, sliced: source.sliced })
}

/// Tasks as threads.
fn as_threads(source: &Explicit) -> Result<Explicit, Unsupported> {
    let tasks = has_tasks(source)?;
    let mut source = source.clone();
    if !tasks {
        return Ok(source);
    }
    let program = &mut source.program;
    program.globals.iter_mut().for_each(|g| g.per_thread = false);
    let mut begin: BTreeSet<ProcId> = source.starts.iter().filter(|s| !s.is_thread).map(|s| s.proc).collect();
    for proc in &mut program.procs {
        proc.body = replace(std::mem::take(&mut proc.body), &mut |s| {
            let kind = match s.kind {
                StmtKind::Post(r, _, p, es) => {
                    begin.insert(p);
                    StmtKind::Spawn(r, p, es)
                }
                StmtKind::Yield => StmtKind::Zield,
                kind => kind,
            };
            vec![Stmt { kind, ..s }]
        });
    }
    // What these run begins at a scheduling point.
    let mut run = BTreeSet::new();
    for p in begin {
        each(&program.procs[p].body, &mut |s| {
            if let StmtKind::Call(_, p, _) = s.kind {
                run.insert(p);
            }
        });
    }
    run.into_iter().for_each(|p| program.procs[p].body.insert(0, stmt(StmtKind::Zield)));
    source.starts.iter_mut().for_each(|s| s.is_thread = true);
    Ok(source)
}
