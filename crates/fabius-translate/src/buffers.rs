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
//! 5. Deadlocks are another question: then all buffers come to their ends, or wait for ever, and nothing fails.

use crate::beginnings::{Beginnings, beginnings};
use crate::build::*;
use crate::rounds::{arguments, one_of};
use crate::vectors::{Moved, Vectors, pass, vectors_that};
use crate::waiting::{Waiting, waiting};
use crate::{Explicit, Prioritized, Unsupported};
use fabius_lang::program::*;
use std::collections::BTreeSet;

/// The executions with at most `rounds` rounds over the buffers.
pub fn buffers(source: &Explicit, rounds: u32) -> Prioritized {
    beginning(source, rounds, None, None)
}

/// The same, and perhaps no executions in which nothing fails.
pub fn failing(source: &Explicit, rounds: u32) -> Prioritized {
    let mut source = source.clone();
    crate::stuck::forget(&mut source.program);
    let begin = beginnings(&source, rounds);
    beginning(&source, rounds, begin.as_ref(), None)
}

/// The executions in which all that have not finished wait for ever, as failures; of a program with a trace. `None` if none waits,
/// or that is not said of this program.
///
/// # Errors
/// A procedure that runs at more than one level.
pub fn stuck(source: &Explicit, rounds: u32) -> Result<Option<Prioritized>, Unsupported> {
    let waiting = waiting(source)?;
    Ok(waiting.map(|(source, waiting)| beginning(&source, rounds, None, Some(&waiting))))
}

fn beginning(source: &Explicit, rounds: u32, begin: Option<&Beginnings>, waiting: Option<&Waiting>) -> Prioritized {
    let mut program = source.program.clone();
    crate::stuck::forget(&mut program);
    let last = i64::from(rounds) - 1;
    let round = new_global(&mut program, "buffer_round", Type::Range(0, last));
    let stop = global(&program, source.stop);
    begin.iter().for_each(|begin| begin.tell(&mut program, &round, &stop));
    let mut shared: BTreeSet<GlobalId> = crate::explicit::shared(source).into_iter().collect();
    // Every buffer stops for itself.
    shared.remove(&source.stop);
    let Vectors { mut guesses, confirmed, starts } = vectors_that(&mut program, &shared, rounds, begin);
    let dropped = new_global(&mut program, "a_buffer_is_dropped", Type::Bool);
    let drop = vec![set(&stop, boolean(true)), set(&dropped, boolean(true))];
    let spawned = Spawned::new(&mut program, source, &round);
    let here = read(&round);
    let moved = Moved { variables: &shared, index: &here, or_if: None };
    for id in 0..program.procs.len() {
        let mut locals = std::mem::take(&mut program.procs[id].locals);
        let body = moved.block(std::mem::take(&mut program.procs[id].body), &program);
        program.procs[id].body = replace(body, &mut |s| match s.kind {
            StmtKind::Zield => pass(&round, last, &mut locals, &drop),
            StmtKind::Spawn(_, p, es) => spawned.spawn(&round, p, es, &mut locals),
            StmtKind::Post(r, level, p, es) => {
                vec![Stmt { kind: StmtKind::Post(r, level.map(|l| l + 1), p, es), ..s }]
            }
            _ => vec![s],
        });
        program.procs[id].locals = locals;
    }
    let first_round = new_global(&mut program, "first_round", Type::Range(0, last + 1));
    start(&mut program, source, &round, &first_round, &spawned, (&drop, waiting));
    program.levels.insert(0, "START".into());
    let mut after = confirmed;
    let failed = global(&program, source.failed);
    match waiting {
        None => after.push(assume(or(not(read(&dropped)), read(&failed)))),
        Some(Waiting { stuck, .. }) => {
            stuck.guess(&program, &mut guesses);
            let is_deadlock = stuck.is_deadlock(&|g| element(global(&program, g), number(last)));
            after.extend([assume(not(or(read(&dropped), read(&failed)))), set(&failed, is_deadlock)]);
        }
    }
    let own = starts.iter().chain([&dropped, &first_round]).chain(spawned.variables()).map(id_of);
    let mut limits = source.limits.clone();
    let limit = source.caps.words_of_tasks();
    if !spawned.entries.is_empty() && source.tasks.is_none() && !limits.contains(&limit) {
        limits.push(limit);
    }
    Prioritized {
        failed: source.failed,
        stop: source.stop,
        private: source.private.iter().copied().chain(own).collect(),
        before: guesses,
        after,
        limits,
        sliced: source.sliced,
        program,
    }
}

/// The new `init` posts what the old one does, and then what is declared.
fn start(
    program: &mut Program,
    source: &Explicit,
    round: &Place,
    first_round: &Place,
    spawned: &Spawned,
    (drop, waiting): (&Block, Option<&Waiting>),
) {
    let main = program.init.expect("an explicit program begins with `init`");
    let Type::Range(_, last) = round.ty else { unreachable!("rounds are counted") };
    let (stop, never) = (global(program, source.stop), number(last + 1));
    let mut locals = Vec::new();
    let begins = new_local(&mut locals, "first", first_round.ty.clone());
    let mut body = vec![stmt(StmtKind::Post(None, Some(1), main, Vec::new()))];
    // Nothing starts if `init` has stopped.
    let in_time = vec![set(first_round, read(round))];
    let (mut stops, mut drop) = (read(&stop), drop.clone());
    if let Some(Waiting { gone, .. }) = waiting {
        stops = or(stops, read(gone));
        // What never begins is not dropped.
        drop = vec![when(le(read(first_round), number(last)), drop)];
    }
    program.procs[main].body.push(either(stops, vec![set(first_round, never.clone())], in_time));
    // Those that `init` makes come before those that start when it has finished.
    body.extend(spawned.run(program, &stop, round, Made::ByInit));
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
    body.extend(spawned.run(program, &stop, round, Made::ByOthers));
    let name = "all_buffers".into();
    program.procs.push(Proc { name, locals, params: 0, results: Vec::new(), body, span: Default::default() });
    program.init = Some(program.procs.len() - 1);
}

/// Threads that are spawned: they run when those before them have.
struct Spawned {
    entries: Vec<ProcId>,
    arguments: Vec<Vec<Place>>,
    table: i64,
    count: Place,
    /// How many there are when `init` has run.
    by_init: Place,
    which: Place,
    starts: Place,
}

/// Who makes a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    ByInit,
    ByOthers,
}

impl Spawned {
    fn new(program: &mut Program, source: &Explicit, round: &Place) -> Spawned {
        let mut entries = BTreeSet::new();
        for proc in &program.procs {
            each(&proc.body, &mut |s| {
                if let StmtKind::Spawn(_, p, _) = s.kind {
                    entries.insert(p);
                }
            });
        }
        let entries = Vec::from_iter(entries);
        let table = if entries.is_empty() { 0 } else { source.tasks.map_or(source.caps.tasks, |tasks| tasks - 1) };
        let (slots, most) = (table.max(1), i64::from(table));
        Spawned {
            arguments: arguments(program, &entries, table),
            table: most,
            count: new_global(program, "threads", Type::Range(0, most)),
            by_init: new_global(program, "threads_of_init", Type::Range(0, most)),
            which: new_global(program, "thread_is", array(Type::Range(0, entries.len().max(1) as i64 - 1), slots)),
            starts: new_global(program, "thread_begins", array(round.ty.clone(), slots)),
            entries,
        }
    }

    /// They belong to the sequential program, and are no part of the shared state.
    fn variables(&self) -> impl Iterator<Item = &Place> {
        self.arguments.iter().flatten().chain([&self.count, &self.by_init, &self.which, &self.starts])
    }

    fn spawn(&self, round: &Place, p: ProcId, args: Vec<Expr>, locals: &mut Vec<Local>) -> Block {
        let slot = new_local(locals, "slot", self.count.ty.clone());
        let entry = self.entries.iter().position(|e| *e == p).expect("it is spawned");
        let at = |table: &Place| element(table.clone(), read(&slot));
        let mut out = vec![
            assume(lt(read(&self.count), number(self.table))),
            set(&slot, read(&self.count)),
            set(&self.count, add(read(&self.count), number(1))),
            set(&at(&self.which), number(entry as i64)),
            set(&at(&self.starts), read(round)),
        ];
        out.extend(self.arguments[entry].iter().zip(args).map(|(to, e)| set(&at(to), e)));
        out
    }

    /// Posts those that are made by whom it is.
    fn run(&self, program: &Program, stop: &Place, round: &Place, made: Made) -> Block {
        let mut out = Vec::new();
        if made == Made::ByInit && self.table > 0 {
            out.push(set(&self.by_init, read(&self.count)));
        }
        for i in 0..self.table {
            let starts = read(&element(self.starts.clone(), number(i)));
            let mut one = vec![set(stop, boolean(false)), set(round, starts)];
            one.extend(one_of(program, &self.entries, &self.arguments, &self.which, i));
            one = replace(one, &mut |s| match s.kind {
                StmtKind::Call(_, p, es) => vec![Stmt { kind: StmtKind::Post(None, Some(1), p, es), ..s }],
                _ => vec![s],
            });
            let is_here = match made {
                Made::ByInit => lt(number(i), read(&self.by_init)),
                Made::ByOthers => and(le(read(&self.by_init), number(i)), lt(number(i), read(&self.count))),
            };
            out.push(when(is_here, one));
        }
        out
    }
}
