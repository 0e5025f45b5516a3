//! Deadlocks where tasks share buffers: who waits for ever is gone, and the others of its buffer go on.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), section 3 (when the next task of a buffer may run);
//! Delay-Bounded Scheduling (POPL 2011), section 2 (blocking; the papers look for failing assertions only).
//!
//! Deviations:
//! 1. As in [`crate::stuck`], a task may choose to be stuck where what it waits for is false in the guessed final state. It then
//!    returns from all its calls, and its buffer runs other tasks: a task that waits makes way for them.
//! 2. A task may be stuck that stands on the stack of its buffer in front of what still holds, and becomes false later. It does
//!    not make way: its buffer is *held*, and nobody else of it makes a step any more. (Such steps begin with an event, so this
//!    is for programs with a trace.)
//! 3. Who is stuck at a level keeps those below from running: from then on they are gone, too, wherever they are.

use crate::build::*;
use crate::explicit::{code, shared};
use crate::stuck::{Stuck, stuck};
use crate::vectors::Moved;
use crate::{Explicit, Unsupported};
use fabius_lang::program::*;
use fabius_lang::walk;
use std::collections::BTreeSet;

/// What is added.
pub struct Waiting {
    /// The final state.
    pub stuck: Stuck,
    /// Of the running task: it is stuck.
    pub gone: Place,
}

/// The program in which tasks wait for ever; `None` if none waits, or who waits for ever is not said so.
///
/// # Errors
/// A procedure that runs at more than one level.
pub fn waiting(source: &Explicit) -> Result<Option<(Explicit, Waiting)>, Unsupported> {
    let mut source = source.clone();
    if source.queue.is_some() {
        return Ok(None);
    }
    let shared: Vec<GlobalId> = shared(&source).into_iter().filter(|g| *g != source.stop).collect();
    if waits_for_own(&source.program, &shared) {
        return Ok(None);
    }
    let Some(stuck) = stuck(&mut source.program, &shared) else { return Ok(None) };
    let program = &mut source.program;
    let levels = levels_of(program)?;
    let highest = i64::from(levels.iter().copied().max().unwrap_or(0));
    let [gone, on_stack, held] =
        ["is_gone", "is_on_stack", "is_held"].map(|name| new_global(program, name, Type::Bool));
    let stuck_at = new_global(program, "is_stuck_at", Type::Range(0, highest));
    // Its buffer's, as `stop` is.
    for own in [&held, &stuck_at] {
        program.globals[id_of(own)].per_thread = true;
    }
    source
        .private
        .extend([&stuck.stuck, &stuck.dropped, &gone, &on_stack].into_iter().chain(stuck.last.values()).map(id_of));
    let (tasks, threads) = runners(&source);
    let program = &mut source.program;
    let vars = Vars { stuck: &stuck, gone: &gone, on_stack: &on_stack, held: &held };
    let is_gone = read(&gone);
    let goes_on = assume(or(read(&global(program, source.stop)), not(read(&held))));
    let moved = Moved { variables: &BTreeSet::new(), index: &number(0), or_if: Some((source.stop, &is_gone)) };
    for (id, level) in levels.into_iter().map(i64::from).enumerate() {
        // Below somebody who is stuck nobody goes on.
        let below =
            (level < highest).then(|| when(lt(number(level), read(&stuck_at)), vec![set(&gone, boolean(true))]));
        let behind = |s: Stmt, stands: Expr| [s, set(&on_stack, stands)].into_iter().chain(below.clone()).collect();
        let mut locals = std::mem::take(&mut program.procs[id].locals);
        let mut body = replace(std::mem::take(&mut program.procs[id].body), &mut |s| match s.kind {
            StmtKind::Await(e) => vars.wait(program, e, &mut locals),
            StmtKind::Print(ref es) if is_step(es) => vec![s, goes_on.clone()],
            StmtKind::Yield => behind(s, boolean(false)),
            // Who posts runs.
            StmtKind::Zield | StmtKind::Post(..) => behind(s, boolean(true)),
            _ => vec![s],
        });
        if tasks.contains(&id) || threads.contains(&id) {
            let begin = [set(&gone, boolean(false)), set(&on_stack, boolean(threads.contains(&id)))];
            let is_highest = and(read(&gone), lt(read(&stuck_at), number(level)));
            let stuck_here = (level > 0).then(|| when(is_highest, vec![set(&stuck_at, number(level))]));
            let end = stuck_here.into_iter().chain([set(&gone, boolean(false))]);
            body = begin.into_iter().chain(below).chain(moved.block(body, program)).chain(end).collect();
        } else {
            body = moved.block(body, program);
        }
        program.procs[id].body = body;
        program.procs[id].locals = locals;
    }
    Ok(Some((source, Waiting { stuck, gone })))
}

/// Whether a task waits for a variable that its buffer alone changes, perhaps while it waits.
fn waits_for_own(program: &Program, shared: &[GlobalId]) -> bool {
    let changed = changed_globals(program);
    let mut found = false;
    for proc in &program.procs {
        each(&proc.body, &mut |s| {
            let StmtKind::Await(e) = &s.kind else { return };
            walk::each(e, &mut |e| {
                if let ExprKind::Read(Place { base: Base::Global(g), .. }) = e.kind {
                    found |= changed.contains(&g) && !shared.contains(&g);
                }
            });
        });
    }
    found && program.any_stmt(|s| matches!(s.kind, StmtKind::Post(..)))
}

/// The procedures that run tasks, and those that run threads.
fn runners(source: &Explicit) -> (BTreeSet<ProcId>, BTreeSet<ProcId>) {
    let (mut tasks, mut threads) = (BTreeSet::new(), BTreeSet::new());
    for start in &source.starts {
        if start.is_thread {
            threads.insert(start.proc)
        } else {
            tasks.insert(start.proc)
        };
    }
    for proc in &source.program.procs {
        each(&proc.body, &mut |s| match s.kind {
            StmtKind::Post(_, _, p, _) => drop(tasks.insert(p)),
            StmtKind::Spawn(_, p, _) => drop(threads.insert(p)),
            _ => {}
        });
    }
    (tasks, threads)
}

/// Whether this is printed where a step begins.
fn is_step(es: &[Expr]) -> bool {
    matches!(es, [_, Expr { kind: ExprKind::Const(Value::Int(code::STEP)), .. }, _])
}

struct Vars<'a> {
    stuck: &'a Stuck,
    gone: &'a Place,
    on_stack: &'a Place,
    held: &'a Place,
}

impl Vars<'_> {
    /// Perhaps for ever.
    fn wait(&self, program: &Program, e: Expr, locals: &mut Vec<Local>) -> Block {
        let for_ever = new_local(locals, "for_ever", Type::Bool);
        let mut stays = self.stuck.stays(program, e.clone());
        let waits = crate::faults::is_false(program, &e);
        stays.push(when(and(read(self.on_stack), not(waits)), vec![set(self.held, boolean(true))]));
        stays.push(set(self.gone, boolean(true)));
        vec![any_between(&for_ever, boolean(false), boolean(true)), when(read(&for_ever), stays)]
    }
}
