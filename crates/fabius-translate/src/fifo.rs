//! Buffers whose tasks stand in a queue become bags: a task draws a ticket when it is posted, and may run when the ticket is
//! called. Who runs out of turn is dropped, so that what is left are the executions of the queues.
//!
//! Paper: A New Solution of Dijkstra's Concurrent Programming Problem (Lamport, CACM 1974), the bakery; Asynchronous Programs with
//! Prioritized Task-Buffers (MSR-TR-2012-1), section 3, for what a buffer of the bags is.
//!
//! Deviations:
//! 1. Each level of each buffer has a bakery of its own, in variables that only the tasks of the buffer see. What runs on a
//!    queue, at some level, is a copy of the procedure.
//! 2. A task that waits keeps its ticket, and others pass: that cannot be said so, and is refused.
//! 3. Who has been told to stop runs to its end, whatever its turn.

use crate::build::*;
use crate::{Start, Unsupported};
use fabius_lang::program::*;
use fabius_trace::Span;
use std::collections::{BTreeSet, HashMap};

/// Tickets begin again after so many, more than there can be tasks at a time.
const LAST: i64 = u16::MAX as i64;

/// Where the first buffer with a queue is declared; `None` if there is none.
///
/// # Errors
/// A task of a queue that waits.
pub(crate) fn first_queue(source: &Program) -> Result<Option<Span>, Unsupported> {
    let queues = || source.buffers.iter().filter(|b| b.kind == BufferKind::Fifo).map(|b| b.proc);
    let (mut seen, mut todo, mut wrong) = (BTreeSet::new(), Vec::from_iter(queues()), None);
    while let Some(p) = todo.pop() {
        if seen.insert(p) {
            each(&source.procs[p].body, &mut |s| match s.kind {
                StmtKind::Call(_, q, _) | StmtKind::Post(_, _, q, _) => todo.push(q),
                StmtKind::Await(_) | StmtKind::Join(_) => drop(wrong.get_or_insert(s.span)),
                _ => {}
            });
        }
    }
    match wrong {
        Some(span) => {
            Err(Unsupported::new("waiting in a `fifo` buffer", span, "`fabius check` explores such programs"))
        }
        None => Ok(queues().next().map(|p| source.procs[p].span)),
    }
}

/// Gives tickets to the tasks of the buffers of these numbers, in a program whose scheduling points are statements.
pub(crate) fn in_bags(program: Program, starts: &[Start], queues: &[usize], stop: &Place) -> Program {
    let source = program.clone();
    let mut program = program;
    let mut own = |name: String| {
        let place = new_global(&mut program, &name, Type::Range(0, LAST));
        program.globals[id_of(&place)].per_thread = true;
        place
    };
    let levels = source.levels.iter().map(|l| (own(format!("drawn_{l}")), own(format!("called_{l}")))).collect();
    // Nobody else runs the body of a buffer.
    let todo = queues.iter().map(|n| (starts[*n].proc, 0)).collect();
    let (copies, posted) = (HashMap::new(), HashMap::new());
    let mut bakery = Bakery { source: &source, program, stop, levels, todo, copies, posted };
    while let Some((id, level)) = bakery.todo.pop() {
        let mut proc = bakery.program.procs[id].clone();
        proc.body = replace(proc.body, &mut |s| bakery.stmt(s, level, &mut proc.locals));
        bakery.program.procs[id] = proc;
    }
    bakery.program
}

struct Bakery<'a> {
    source: &'a Program,
    program: Program,
    stop: &'a Place,
    /// By level: the next ticket that is drawn, and that is called.
    levels: Vec<(Place, Place)>,
    /// Procedures that run on a queue, with their levels, whose bodies are still those of their sources.
    todo: Vec<(ProcId, Level)>,
    /// What a procedure is on a queue, at a level.
    copies: HashMap<(ProcId, Level), ProcId>,
    /// The same where it is posted, with a ticket behind its parameters.
    posted: HashMap<(ProcId, Level), ProcId>,
}

impl Bakery<'_> {
    fn copy(&mut self, p: ProcId, level: Level) -> ProcId {
        let next = self.program.procs.len();
        let id = *self.copies.entry((p, level)).or_insert(next);
        if id == next {
            self.program.procs.push(self.source.procs[p].clone());
            self.todo.push((id, level));
        }
        id
    }

    fn posted(&mut self, p: ProcId, level: Level) -> ProcId {
        if let Some(id) = self.posted.get(&(p, level)) {
            return *id;
        }
        let callee = self.copy(p, level);
        let of = &self.source.procs[p];
        let mut locals = of.locals[..of.params].to_vec();
        let args = locals.iter().enumerate().map(|(l, of)| read(&local(l, of.ty.clone()))).collect();
        let ticket = new_local(&mut locals, "ticket", Type::Range(0, LAST));
        let mut body = self.called(level, &ticket);
        body.push(Stmt { span: of.span, ..stmt(StmtKind::Call(vec![None; of.results.len()], callee, args)) });
        let params = locals.len();
        let name = of.name.clone();
        self.program.procs.push(Proc { name, locals, params, results: Vec::new(), body, span: of.span });
        let id = self.program.procs.len() - 1;
        self.posted.insert((p, level), id);
        id
    }

    /// Draws a ticket.
    fn drawn(&self, level: Level, ticket: &Place) -> Block {
        let drawn = &self.levels[usize::from(level)].0;
        [vec![set(ticket, read(drawn))], vec![next(drawn)]].concat()
    }

    /// Goes on only if the ticket is called.
    fn called(&self, level: Level, ticket: &Place) -> Block {
        let called = &self.levels[usize::from(level)].1;
        vec![assume(or(read(self.stop), eq(read(ticket), read(called)))), next(called)]
    }

    fn stmt(&mut self, s: Stmt, level: Level, locals: &mut Vec<Local>) -> Block {
        let span = s.span;
        let at = |kind| Stmt { kind, access: s.access, span };
        match s.kind {
            StmtKind::Call(results, p, es) => vec![at(StmtKind::Call(results, self.copy(p, level), es))],
            StmtKind::Post(handle, to, p, mut es) => {
                let to = to.unwrap_or(level);
                let ticket = new_local(locals, "ticket", Type::Range(0, LAST));
                let mut out = self.drawn(to, &ticket);
                es.push(read(&ticket));
                out.push(at(StmtKind::Post(handle, Some(to), self.posted(p, to), es)));
                out
            }
            StmtKind::Yield => {
                let ticket = new_local(locals, "ticket", Type::Range(0, LAST));
                let mut out = self.drawn(level, &ticket);
                out.push(at(StmtKind::Yield));
                out.extend(self.called(level, &ticket));
                out
            }
            kind => vec![at(kind)],
        }
    }
}

/// The next ticket.
fn next(ticket: &Place) -> Stmt {
    either(
        eq(read(ticket), number(LAST)),
        vec![set(ticket, number(0))],
        vec![set(ticket, add(read(ticket), number(1)))],
    )
}
