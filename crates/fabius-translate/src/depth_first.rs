//! K-delay depth-first scheduling as a sequential program.
//!
//! Paper: Delay-Bounded Scheduling (POPL 2011), section 5 (without delays: 5.1; with delays and yields: 5.2, 5.3).
//!
//! A posted task is called at once, with a guess of the state in which it will find the world, and a guess of the state
//! that it leaves behind. `G[i]` is the state that the tasks posted so far leave behind in round i.
//!
//! Deviations:
//! 1. Arguments are evaluated before the state is exchanged; the printed rule evaluates them after it.
//! 2. The round and the guess of a task are globals that a post saves and restores, where the paper has parameters. So
//!    they also come back from calls, which the printed rules forget for the round.
//! 3. Any number of delays is spent in one choice instead of a loop.
//! 4. What never changes has no copies.
//! 5. What a task that neither posts nor yields leaves behind is not guessed: nobody asks for it before it is known.

use crate::build::*;
use crate::over::{Over, over};
use crate::{Explicit, NO_DEADLOCKS, Nesting, Translated, Unsupported};
use fabius_lang::program::*;

struct Vars {
    /// The shared variables.
    now: Vec<Place>,
    /// Behind the tasks posted so far, by round.
    behind: Vec<Place>,
    /// The guessed end of the segment that runs.
    end: Vec<Place>,
    /// Initial values of `thread var`s.
    own: Vec<(Place, Value)>,
    round: Place,
    budget: Place,
}

/// The executions of the depth-first scheduler with at most `delays` delays.
///
/// # Errors
/// More than one task buffer or level, or a buffer with a queue.
pub fn depth_first(source: &Explicit, delays: u32) -> Result<Translated, Unsupported> {
    let mut program = source.program.clone();
    let tasks = has_tasks(source)?;
    crate::explicit::start_all(&mut program, source);
    let mut limits = source.limits.clone();
    let mut with_over = program.clone();
    let over = over(&mut with_over, source);
    match &over {
        Some(_) => program = with_over,
        None if program.any_stmt(|s| matches!(s.kind, StmtKind::Await(_))) => limits.push(NO_DEADLOCKS.into()),
        None => {}
    }
    crate::stuck::forget(&mut program);
    let mut shared = crate::explicit::shared(source);
    let mut own = crate::explicit::per_thread(&program);
    if tasks {
        // The tasks of the one buffer share its variables.
        shared.extend(own.drain(..).map(|(p, _)| id_of(&p)));
    }
    if let Some(Over { over, gone }) = &over {
        shared.push(id_of(over));
        own.push((gone.clone(), Value::Int(0)));
    }
    let rounds = delays + 1;
    let now: Vec<Place> = shared.iter().map(|g| global(&program, *g)).collect();
    let copies = |program: &mut Program, tag: &str, ty: &dyn Fn(Type) -> Type| -> Vec<Place> {
        let named = |program: &mut Program, p: &Place| {
            let Base::Global(g) = p.base else { unreachable!("these are globals") };
            let name = format!("{tag}_{}", program.globals[g].name);
            new_global(program, &name, ty(p.ty.clone()))
        };
        now.iter().map(|p| named(program, p)).collect()
    };
    let vars = Vars {
        behind: copies(&mut program, "behind", &|ty| array(ty, rounds)),
        end: copies(&mut program, "end", &|ty| ty),
        own,
        round: new_global(&mut program, "round", Type::Range(0, i64::from(delays))),
        budget: new_global(&mut program, "budget", Type::Range(0, i64::from(delays))),
        now,
    };
    let parameters = parameters(&program);
    let stays =
        |s: &StmtKind| matches!(s, StmtKind::Post(..) | StmtKind::Spawn(..) | StmtKind::Yield | StmtKind::Zield);
    let quiet = without(&program, stays);
    for id in 0..program.procs.len() {
        let mut locals = std::mem::take(&mut program.procs[id].locals);
        let body = std::mem::take(&mut program.procs[id].body);
        let body = replace(body, &mut |s| match s.kind {
            StmtKind::Spawn(_, p, args) | StmtKind::Post(_, _, p, args) => {
                let (mut out, values) = keep(args, &parameters[p], &mut locals);
                let results = vec![None; program.procs[p].results.len()];
                let call = Stmt { span: s.span, ..stmt(StmtKind::Call(results, p, values)) };
                out.extend(post(&program, &vars, call, quiet[p], &mut locals));
                out
            }
            StmtKind::Yield | StmtKind::Zield => resume(&program, &vars, &mut locals),
            _ => vec![s],
        });
        program.procs[id].locals = locals;
        program.procs[id].body = body;
    }
    let main = program.init.expect("an explicit program begins with `init`");
    let mut locals = std::mem::take(&mut program.procs[main].locals);
    let mut body = Vec::new();
    let begins: Vec<Place> = vars
        .behind
        .iter()
        .map(|g| {
            let Base::Global(id) = g.base else { unreachable!("these are globals") };
            new_local(&mut locals, &format!("begin_{}", &program.globals[id].name["behind_".len()..]), g.ty.clone())
        })
        .collect();
    for (begin, (behind, end)) in begins.iter().zip(vars.behind.iter().zip(&vars.end)) {
        guess(&program, begin, &mut body);
        body.push(set(behind, read(begin)));
        body.push(set(end, read(&element(begin.clone(), number(0)))));
    }
    body.push(set(&vars.budget, number(i64::from(delays))));
    body.append(&mut program.procs[main].body);
    for (now, end) in vars.now.iter().zip(&vars.end) {
        body.push(assume(eq(read(now), read(end))));
    }
    for i in 0..i64::from(delays) {
        for (begin, behind) in begins.iter().zip(&vars.behind) {
            let next = read(&element(begin.clone(), number(i + 1)));
            body.push(assume(eq(read(&element(behind.clone(), number(i))), next)));
        }
    }
    for (now, behind) in vars.now.iter().zip(&vars.behind) {
        body.push(set(now, read(&element(behind.clone(), number(i64::from(delays))))));
    }
    let fails = read(&global(&program, source.failed));
    let fails = over.iter().fold(fails, |fails, o| or(fails, read(&o.over)));
    body.push(stmt(StmtKind::Assert(not(fails), Check::Assertion, None)));
    program.procs[main].locals = locals;
    program.procs[main].body = body;
    crate::explicit::make_sequential(&mut program);
    Ok(Translated { program, nesting: Nesting::Inside, limits, sliced: source.sliced })
}

/// Whether there are tasks, which are then all of one buffer and one level.
///
/// # Errors
/// Tasks of several, or of a queue.
pub(crate) fn has_tasks(source: &Explicit) -> Result<bool, Unsupported> {
    let program = &source.program;
    if let Some(span) = source.queue {
        return Err(Unsupported::new("tasks of a `fifo` buffer by delays", span, "use `--zields` and `--yields`"));
    }
    let (lanes, tasks) = lanes(source);
    let levels = first(program, |s| matches!(s, StmtKind::Post(_, Some(level), ..) if *level > 0));
    if levels.is_some() || lanes && tasks {
        let threads = || first(program, |s| matches!(s, StmtKind::Spawn(..)));
        let declared = || source.starts.last().map(|s| program.procs[s.proc].span);
        let span = levels.or_else(threads).or_else(declared).unwrap_or_default();
        let help = "use `--zields` and `--yields`";
        return Err(Unsupported::new("tasks of several levels or buffers by delays", span, help));
    }
    Ok(tasks)
}

/// Whether there can be several buffers or threads, and whether there are tasks.
fn lanes(source: &Explicit) -> (bool, bool) {
    let spawns = source.program.any_stmt(|s| matches!(s.kind, StmtKind::Spawn(..)));
    let posts = source.program.any_stmt(|s| matches!(s.kind, StmtKind::Post(..) | StmtKind::Yield));
    (
        spawns || source.starts.len() + usize::from(source.has_init) > 1,
        posts || source.starts.iter().any(|s| !s.is_thread),
    )
}

/// Moves on by any number of delays that is left.
fn spend(vars: &Vars, spent: &Place, out: &mut Block) {
    if vars.budget.ty == Type::Range(0, 0) {
        return;
    }
    out.push(any_between(spent, number(0), read(&vars.budget)));
    out.push(set(&vars.budget, sub(read(&vars.budget), read(spent))));
    out.push(set(&vars.round, add(read(&vars.round), read(spent))));
}

/// Goes on from where the others have got in this round, and guesses where that will lead.
fn take_turn(program: &Program, vars: &Vars, out: &mut Block) {
    for ((now, end), behind) in vars.now.iter().zip(&vars.end).zip(&vars.behind) {
        let here = element(behind.clone(), read(&vars.round));
        out.push(set(now, read(&here)));
        guess(program, end, out);
        out.push(set(&here, read(end)));
    }
}

fn confirm(vars: &Vars, out: &mut Block) {
    for (now, end) in vars.now.iter().zip(&vars.end) {
        out.push(assume(eq(read(now), read(end))));
    }
}

fn resume(program: &Program, vars: &Vars, locals: &mut Vec<Local>) -> Block {
    let mut out = Vec::new();
    let spent = new_local(locals, "spent", vars.budget.ty.clone());
    confirm(vars, &mut out);
    spend(vars, &spent, &mut out);
    take_turn(program, vars, &mut out);
    out
}

/// A post, given the call that runs the task.
fn post(program: &Program, vars: &Vars, call: Stmt, is_quiet: bool, locals: &mut Vec<Local>) -> Block {
    let mut out = Vec::new();
    let mut saved = Vec::new();
    let keep = vars.now.iter().chain(&vars.end).chain([&vars.round]).chain(vars.own.iter().map(|(p, _)| p));
    for place in keep {
        let copy = new_local(locals, "saved", place.ty.clone());
        out.push(set(&copy, read(place)));
        saved.push((place.clone(), copy));
    }
    let spent = new_local(locals, "spent", vars.budget.ty.clone());
    spend(vars, &spent, &mut out);
    if is_quiet {
        out.extend(
            vars.now.iter().zip(&vars.behind).map(|(now, g)| set(now, read(&element(g.clone(), read(&vars.round))))),
        );
    } else {
        take_turn(program, vars, &mut out);
    }
    for (place, init) in &vars.own {
        out.push(set(place, expr(ExprKind::Const(init.clone()), place.ty.clone())));
    }
    out.push(call);
    if is_quiet {
        out.extend(
            vars.now.iter().zip(&vars.behind).map(|(now, g)| set(&element(g.clone(), read(&vars.round)), read(now))),
        );
    } else {
        confirm(vars, &mut out);
    }
    for (place, copy) in saved {
        out.push(set(&place, read(&copy)));
    }
    out
}
