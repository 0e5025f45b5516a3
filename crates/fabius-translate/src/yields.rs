//! Yields inside of levels become rounds.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), figure 6.
//!
//! A level is active from a post from below until none of its tasks is left. Each variable becomes a vector with a value
//! for each round of the level that is active.
//!
//! Deviations:
//! 1. Arguments are evaluated before the state is exchanged; the printed rule evaluates them after it.
//! 2. The round of the running task is a global that a task sets when it begins, and that a post restores, where the paper
//!    has a parameter and a result. So a result that goes to a global is stored in the new round, as it must be. Its level
//!    is known from the text.
//! 3. A task may go to a round behind the last, and then does nothing any more, if execution has stopped when its level is
//!    no longer active: so a failure in round i is seen with i rounds, although other tasks have not finished.
//! 4. What an activation leaves behind is not guessed if its only task neither posts nor yields.

use crate::build::*;
use crate::vectors::{Moved, Vectors, vectors};
use crate::{Prioritized, Unsupported};
use fabius_lang::program::*;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// When a task that is posted to the level of the poster, or below, may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// In the round in which it is posted (downwards: in that of the task that waits there), as in the paper.
    InThatRound,
    /// In that round or a later one: then many rounds allow any order of tasks. (The paper's examples write `while * {
    /// yield; }` for it.)
    InAnyRound,
}

/// The executions with at most `rounds` rounds of yields in each activation of a level.
///
/// # Errors
/// A procedure that runs at more than one level.
pub fn yields(source: &Prioritized, rounds: u32, begin: Begin) -> Result<Prioritized, Unsupported> {
    let mut program = source.program.clone();
    // Without posts there is one task in each buffer.
    let has_order = without(&program, |s| matches!(s, StmtKind::Post(..))).iter().filter(|quiet| !**quiet).count() > 1;
    if !has_order && !program.any_stmt(|s| s.kind == StmtKind::Yield) {
        return Ok(source.clone());
    }
    let shared = source.shared();
    let levels = program.levels.len() as i64;
    let last = i64::from(rounds) - 1;
    let Vectors { guesses, confirmed, starts } = vectors(&mut program, &shared, rounds);
    let vectors: Vec<Place> = shared.iter().map(|g| global(&program, *g)).collect();
    let vars = Vars {
        round: new_global(&mut program, "level_round", Type::Range(0, last + 1)),
        interrupted: new_global(&mut program, "interrupted", array(Type::Range(0, last), levels as u32)),
        dropped: new_global(&mut program, "a_task_is_dropped", array(Type::Bool, levels as u32)),
        stop: global(&program, source.stop),
        vectors,
        rounds,
        begin,
    };
    let own: BTreeSet<GlobalId> = [&vars.round, &vars.dropped].into_iter().map(id_of).collect();
    let here = read(&vars.round);
    let over = lt(number(last), here.clone());
    let moved = Moved { variables: &shared, index: &here, or_if: Some((source.stop, &over)) };
    let tasks = crate::explicit::spawned(&program);
    let runs_at = levels_of(&program)?;
    let parameters = parameters(&program);
    let quiet = without(&program, |s| matches!(s, StmtKind::Post(..) | StmtKind::Yield));
    for (id, its_level) in runs_at.iter().copied().enumerate() {
        let mut locals = std::mem::take(&mut program.procs[id].locals);
        let body = moved.block(std::mem::take(&mut program.procs[id].body), &program);
        let level = number(i64::from(its_level));
        let mut body = replace(body, &mut |s| match s.kind {
            StmtKind::Yield => {
                let drop = set(&element(vars.dropped.clone(), level.clone()), boolean(true));
                vec![any_between(&vars.round, here.clone(), number(last + 1)), when(over.clone(), vec![drop])]
            }
            StmtKind::Post(_, m, p, args) => {
                let (mut out, values) = keep(args, &parameters[p], &mut locals);
                let posted = |round: Expr| {
                    let all = values.iter().cloned().chain([round]).collect();
                    Stmt { span: s.span, ..stmt(StmtKind::Post(None, m, p, all)) }
                };
                let levels = (its_level, m.unwrap_or(its_level));
                out.extend(post(&program, &vars, levels, &posted, quiet[p], &mut locals));
                out
            }
            _ => vec![s],
        });
        if tasks.contains(&id) {
            let params = program.procs[id].params;
            body = shift_locals(body, params, 1);
            locals.insert(params, Local { name: "its_round".into(), ty: vars.round.ty.clone() });
            body.insert(0, set(&vars.round, read(&local(params, vars.round.ty.clone()))));
            program.procs[id].params += 1;
        }
        program.procs[id].locals = locals;
        program.procs[id].body = body;
    }
    let (zero, end) = (number(0), number(last));
    let mut before = Moved { variables: &shared, index: &zero, or_if: None }.block(source.before.clone(), &program);
    before.extend(guesses);
    let mut after = confirmed;
    after.extend(Moved { variables: &shared, index: &end, or_if: None }.block(source.after.clone(), &program));
    let private = source.private.iter().copied().chain(starts.iter().map(id_of)).chain(own).collect();
    let mut limits = source.limits.clone();
    limits.push(match rounds {
        1 => "the tasks of a level run in the order in which they are posted".into(),
        k => format!("at most {k} rounds over the tasks of a level whenever it is active"),
    });
    Ok(Prioritized { program, private, before, after, limits, ..source.clone() })
}

struct Vars {
    vectors: Vec<Place>,
    /// The round of the running task in the activation of its level.
    round: Place,
    /// The round of the task of each level that waits for higher ones.
    interrupted: Place,
    /// Whether a task of the level went to the round behind the last.
    dropped: Place,
    stop: Place,
    rounds: u32,
    begin: Begin,
}

/// A post from a level to a level, given what posts in a round.
fn post(
    program: &Program,
    vars: &Vars,
    (level, m): (Level, Level),
    posted: &dyn Fn(Expr) -> Stmt,
    is_quiet: bool,
    locals: &mut Vec<Local>,
) -> Block {
    let my_round = new_local(locals, "my_round", vars.round.ty.clone());
    let mut out = vec![set(&my_round, read(&vars.round))];
    out.extend(match m.cmp(&level) {
        Ordering::Less => {
            let its_round = read(&element(vars.interrupted.clone(), number(i64::from(m))));
            begin(vars, m, its_round, posted, locals)
        }
        Ordering::Equal => begin(vars, m, read(&my_round), posted, locals),
        Ordering::Greater if is_quiet => post_quiet_above(vars, &my_round, posted(number(0)), locals),
        Ordering::Greater => post_above(program, vars, i64::from(m), &my_round, posted(number(0)), locals),
    });
    out.push(set(&vars.round, read(&my_round)));
    out
}

/// A post of a task that begins in this round, or later.
fn begin(vars: &Vars, m: Level, round: Expr, posted: &dyn Fn(Expr) -> Stmt, locals: &mut Vec<Local>) -> Block {
    if vars.begin == Begin::InThatRound {
        return vec![posted(round)];
    }
    let its_round = new_local(locals, "its_round", vars.round.ty.clone());
    let behind_last = number(i64::from(vars.rounds));
    let drop = set(&element(vars.dropped.clone(), number(i64::from(m))), boolean(true));
    vec![
        any_between(&its_round, round, behind_last.clone()),
        when(eq(read(&its_round), behind_last), vec![drop]),
        posted(read(&its_round)),
    ]
}

/// All that happens in the level above is one task that does not yield.
fn post_quiet_above(vars: &Vars, my_round: &Place, posted: Stmt, locals: &mut Vec<Local>) -> Block {
    let (mut out, mut behind) = (Vec::new(), Vec::new());
    for x in &vars.vectors {
        let saved = new_local(locals, "saved", x.ty.clone());
        out.push(set(&saved, read(x)));
        out.push(set(&element(x.clone(), number(0)), read(&element(saved.clone(), read(my_round)))));
        behind.push(set(&element(saved.clone(), read(my_round)), read(&element(x.clone(), number(0)))));
        behind.push(set(x, read(&saved)));
    }
    out.push(posted);
    out.extend(behind);
    out
}

/// All of the activation of the level above happens at once.
fn post_above(
    program: &Program,
    vars: &Vars,
    m: i64,
    my_round: &Place,
    posted: Stmt,
    locals: &mut Vec<Local>,
) -> Block {
    let last = i64::from(vars.rounds) - 1;
    let (mut out, mut behind) = (Vec::new(), Vec::new());
    for x in &vars.vectors {
        let saved = new_local(locals, "saved", x.ty.clone());
        let guessed = new_local(locals, "guessed", x.ty.clone());
        out.push(set(&saved, read(x)));
        guess(program, &guessed, &mut out);
        out.push(set(x, read(&guessed)));
        out.push(set(&element(x.clone(), number(0)), read(&element(saved.clone(), read(my_round)))));
        for i in 1..=last {
            let begins = read(&element(guessed.clone(), number(i)));
            behind.push(assume(eq(begins, read(&element(x.clone(), number(i - 1))))));
        }
        behind.push(set(&element(saved.clone(), read(my_round)), read(&element(x.clone(), number(last)))));
        behind.push(set(x, read(&saved)));
    }
    // Another activation of this level may be under way in the order in which the sequential program runs tasks.
    let dropped = element(vars.dropped.clone(), number(m));
    let saved = new_local(locals, "saved", Type::Bool);
    out.push(set(&saved, read(&dropped)));
    out.push(set(&dropped, boolean(false)));
    out.push(set(&element(vars.interrupted.clone(), number(m - 1)), read(my_round)));
    out.push(posted);
    out.push(assume(or(not(read(&dropped)), read(&element(vars.stop.clone(), number(last))))));
    out.push(set(&dropped, read(&saved)));
    out.extend(behind);
    out
}
