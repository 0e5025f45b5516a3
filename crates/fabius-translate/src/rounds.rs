//! Threads in a fixed order, round after round, as a sequential program.
//!
//! Paper: Sequentializing Parameterized Programs (2011/12), section 4, for a fixed sequence of threads (the eager
//! sequentialization of Lal and Reps).
//!
//! `S[i]` is the state in which round i goes on, `U[i]` the guessed state in which it begins; one thread after the other
//! runs through all its rounds.
//!
//! Deviations:
//! 1. Threads that are spawned wait in a table until those before them are done; they begin in the round in which they were
//!    spawned. So the order of threads is that of the table.
//! 2. Any number of rounds is passed over in one choice instead of a loop. Stopping for good is the choice of a round
//!    behind the last.

use crate::beginnings::beginnings;
use crate::build::*;
use crate::enough::Enough;
use crate::stuck::{Stuck, stuck};
use crate::vectors::{Moved, Vectors, pass, vectors_that};
use crate::{Explicit, Nesting, Translated, Unsupported};
use fabius_lang::program::*;
use fabius_trace::Span;
use std::collections::BTreeSet;

struct Vars {
    round: Place,
    last: i64,
    stop: Place,
    count: Place,
    which: Place,
    starts: Place,
    arguments: Vec<Vec<Place>>,
}

/// What the program that is made asserts in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// That no assertion has failed.
    Assertions,
    /// That none has failed, and that there are no executions of more rounds.
    Enough,
}

/// The executions of at most `rounds` rounds.
///
/// # Errors
/// Tasks that are posted, or task buffers.
pub fn rounds(source: &Explicit, rounds: u32) -> Result<Translated, Unsupported> {
    asking(source, rounds, Asked::Assertions)
}

/// The same, with another question.
///
/// # Errors
/// Tasks that are posted, or task buffers.
pub fn asking(source: &Explicit, rounds: u32, asked: Asked) -> Result<Translated, Unsupported> {
    let mut program = source.program.clone();
    crate::explicit::start_all(&mut program, source);
    if let Some(span) = first(&program, |s| matches!(s, StmtKind::Post(..) | StmtKind::Yield)) {
        let help = "use `--zields` and `--yields`";
        return Err(Unsupported::new("tasks by rounds over threads", span, help));
    }
    let mut limits = source.limits.clone();
    let declared = source.starts.len() as u32;
    let table = source.tasks.map_or(source.caps.tasks.saturating_add(declared), |tasks| tasks - 1);
    let limit = source.caps.words_of_tasks();
    if source.tasks.is_none() && !limits.contains(&limit) {
        limits.push(limit);
    }
    let mut shared: BTreeSet<GlobalId> = crate::explicit::shared(source).into_iter().collect();
    // Every thread stops for itself.
    shared.remove(&source.stop);
    let entries: Vec<ProcId> = crate::explicit::spawned(&program);
    let arguments = arguments(&mut program, &entries, table);
    let stuck = stuck(&mut program, &shared.iter().copied().collect::<Vec<_>>());
    // Executions of more rounds need not fail.
    let begin = (asked == Asked::Assertions).then(|| beginnings(source, rounds)).flatten();
    let last = i64::from(rounds) - 1;
    let round = new_global(&mut program, "round", Type::Range(0, last));
    let stop = global(&program, source.stop);
    begin.iter().for_each(|begin| begin.tell(&mut program, &round, &stop));
    let copies = vectors_that(&mut program, &shared, rounds, begin.as_ref());
    let vars = Vars {
        round,
        last,
        stop,
        count: new_global(&mut program, "threads", Type::Range(0, i64::from(table))),
        which: new_global(
            &mut program,
            "thread_is",
            array(Type::Range(0, entries.len().max(1) as i64 - 1), table.max(1)),
        ),
        starts: new_global(&mut program, "thread_begins", array(Type::Range(0, last), table.max(1))),
        arguments,
    };
    let enough = (asked == Asked::Enough).then(|| Enough::new(&mut program, rounds, table));
    let here = read(&vars.round);
    let moved = Moved { variables: &shared, index: &here, or_if: None };
    for id in 0..program.procs.len() {
        let mut locals = std::mem::take(&mut program.procs[id].locals);
        let stops = set(&vars.stop, boolean(true));
        let body = replace(std::mem::take(&mut program.procs[id].body), &mut |s| match (s.kind, &stuck) {
            (StmtKind::Await(e), Some(stuck)) => stuck.wait(&program, e, stops.clone(), &mut locals),
            (kind, _) => vec![Stmt { kind, ..s }],
        });
        let body = moved.block(body, &program);
        let drop: Block = [stops].into_iter().chain(stuck.as_ref().map(Stuck::drop)).collect();
        let body = replace(body, &mut |s| match s.kind {
            StmtKind::Spawn(_, p, args) => {
                let slot = new_local(&mut locals, "slot", vars.count.ty.clone());
                let entry = entries.iter().position(|e| *e == p).expect("it is spawned");
                spawn(&vars, &slot, entry, args, table)
            }
            StmtKind::Zield => {
                let passes = enough.iter().map(Enough::passes);
                passes.chain(pass(&vars.round, last, &mut locals, &drop)).collect()
            }
            _ => vec![s],
        });
        program.procs[id].locals = locals;
        program.procs[id].body = body;
    }
    let last_of_all = Last { stuck: stuck.as_ref(), enough: enough.as_ref() };
    let entry = drive(&mut program, source, &vars, copies, &last_of_all, &entries, table);
    program.init = Some(entry);
    crate::explicit::make_sequential(&mut program);
    Ok(Translated { program, nesting: Nesting::Queue, limits, sliced: source.sliced })
}

/// Where the arguments are kept with which threads are spawned: for each procedure that they begin with.
pub(crate) fn arguments(program: &mut Program, entries: &[ProcId], table: u32) -> Vec<Vec<Place>> {
    let argument = |program: &mut Program, p: ProcId, i: usize| {
        let Proc { name, locals, .. } = &program.procs[p];
        let (name, ty) = (format!("{name}_{}", locals[i].name), array(locals[i].ty.clone(), table));
        new_global(program, &name, ty)
    };
    let all =
        |program: &mut Program, p: ProcId| (0..program.procs[p].params).map(|i| argument(program, p, i)).collect();
    entries.iter().map(|p| all(program, *p)).collect()
}

/// Runs a thread that was spawned, with its own variables as they begin.
pub(crate) fn one_of(program: &Program, entries: &[ProcId], arguments: &[Vec<Place>], which: &Place, i: i64) -> Block {
    let mut one = Vec::new();
    for (place, init) in crate::explicit::per_thread(program) {
        let init = expr(ExprKind::Const(init), place.ty.clone());
        one.push(set(&place, init));
    }
    for (entry, p) in entries.iter().enumerate() {
        let args = arguments[entry].iter().map(|a| read(&element(a.clone(), number(i)))).collect();
        let call = stmt(StmtKind::Call(vec![None; program.procs[*p].results.len()], *p, args));
        let is = eq(read(&element(which.clone(), number(i))), number(entry as i64));
        one.push(if entries.len() == 1 { call } else { when(is, vec![call]) });
    }
    one
}

fn spawn(vars: &Vars, slot: &Place, entry: usize, args: Vec<Expr>, table: u32) -> Block {
    let mut out = vec![
        assume(lt(read(&vars.count), number(i64::from(table)))),
        set(slot, read(&vars.count)),
        set(&vars.count, add(read(&vars.count), number(1))),
        set(&element(vars.which.clone(), read(slot)), number(entry as i64)),
        set(&element(vars.starts.clone(), read(slot)), read(&vars.round)),
    ];
    for (to, e) in vars.arguments[entry].iter().zip(args) {
        out.push(set(&element(to.clone(), read(slot)), e));
    }
    out
}

/// What is asked in the end besides failing assertions.
struct Last<'a> {
    stuck: Option<&'a Stuck>,
    enough: Option<&'a Enough>,
}

/// The procedure that runs one thread after the other.
fn drive(
    program: &mut Program,
    source: &Explicit,
    vars: &Vars,
    copies: Vectors,
    last: &Last<'_>,
    entries: &[ProcId],
    table: u32,
) -> ProcId {
    let main = program.init.expect("an explicit program begins with `init`");
    let mut body = copies.guesses;
    let Last { stuck, enough } = last;
    if let Some(stuck) = stuck {
        stuck.guess(program, &mut body);
    }
    body.push(stmt(StmtKind::Call(Vec::new(), main, Vec::new())));
    body.extend(enough.map(Enough::first_ended));
    for i in 0..if entries.is_empty() { 0 } else { i64::from(table) } {
        let begins = read(&element(vars.starts.clone(), number(i)));
        let mut one = vec![set(&vars.stop, boolean(false)), set(&vars.round, begins)];
        one.extend(enough.map(Enough::begins));
        one.extend(one_of(program, entries, &vars.arguments, &vars.which, i));
        one.extend(enough.map(Enough::ended).unwrap_or_default());
        body.push(when(lt(number(i), read(&vars.count)), one));
    }
    body.extend(copies.confirmed);
    body.push(match (enough, stuck) {
        (Some(enough), _) => enough.verdict(program, source.failed),
        (None, None) => crate::explicit::verdict(program, source.failed),
        (None, Some(stuck)) => {
            stuck.verdict(program, source.failed, &|g| element(global(program, g), number(vars.last)))
        }
    });
    program.procs.push(Proc {
        name: "all_threads".into(),
        locals: Vec::new(),
        params: 0,
        results: Vec::new(),
        body,
        span: Span::default(),
    });
    program.procs.len() - 1
}
