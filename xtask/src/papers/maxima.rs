//! The longest execution of a program, by three measures: steps, steps that may block, preemptions.
//!
//! The graph of all states, each with the thread that ran last, has no cycle for the programs of the tables, so the most
//! that is still to come from a state is counted once. Scheduling points are the accesses that synchronize.

use fabius_explore::system::{Choose, End, Snapshot, StepLog, System, TaskId};
use fabius_lang::program::{Program, StmtKind};
use fabius_lang::walk::statements;
use fabius_machine::{Machine, State};
use fabius_trace::{Points, Span};
use std::collections::HashMap;

/// The most of each, over all executions; each may be of another execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Maxima {
    /// Threads at once.
    pub threads: usize,
    /// Steps.
    pub steps: u32,
    /// Steps that begin with `await`, `join` or the taking of a lock.
    pub blocking: u32,
    /// Preemptions.
    pub preemptions: u32,
}

/// A state with its threads and the one that ran last.
type Key = (Vec<u8>, Vec<TaskId>, Option<TaskId>);

struct Counter {
    machine: Machine<'static>,
    waits: Vec<Span>,
    /// `None` while the executions from a state are being counted.
    known: HashMap<Key, Option<Maxima>>,
}

/// The programs make no choices.
struct NoChoice(bool);

impl Choose for NoChoice {
    fn choose(&mut self, alternatives: u32) -> u32 {
        self.0 |= alternatives > 1;
        0
    }
}

/// Counts over all executions.
///
/// # Errors
/// If executions do not end, or the program makes choices of its own.
pub fn maxima(program: &Program) -> Result<Maxima, String> {
    let mut counter =
        Counter { machine: Machine::new(program, Points::Sync), waits: waits(program), known: HashMap::new() };
    let mut log = StepLog::default();
    let state = counter.machine.initial(&mut NoChoice(false), &mut log).map_err(|f| format!("{f:?}"))?;
    let tasks = log.born.iter().map(|b| b.task).collect();
    counter.from(&state, tasks, None)
}

/// Where something waits.
fn waits(program: &Program) -> Vec<Span> {
    let mut spans = Vec::new();
    for proc in &program.procs {
        statements(&proc.body, &mut |s| {
            let is_wait = |kind: &StmtKind| matches!(kind, StmtKind::Await(_) | StmtKind::Join(_));
            let first_waits = matches!(&s.kind, StmtKind::Atomic(b) if b.first().is_some_and(|f| is_wait(&f.kind)));
            if is_wait(&s.kind) {
                spans.push(s.span);
            } else if let (true, StmtKind::Atomic(b)) = (first_waits, &s.kind) {
                spans.push(b[0].span);
            }
        });
    }
    spans
}

impl Counter {
    fn from(&mut self, state: &State, tasks: Vec<TaskId>, last: Option<TaskId>) -> Result<Maxima, String> {
        let mut bytes = Vec::new();
        self.machine.encode(state, &mut bytes);
        let key = (bytes, tasks.clone(), last);
        match self.known.get(&key) {
            Some(Some(maxima)) => return Ok(*maxima),
            Some(None) => return Err("an execution goes on for ever".into()),
            None => {}
        }
        self.known.insert(key.clone(), None);
        let mut most = Maxima { threads: tasks.len(), ..Maxima::default() };
        let ready: Vec<TaskId> = tasks.iter().copied().filter(|t| self.machine.ready(state, *t)).collect();
        for task in &ready {
            let mut after = state.clone();
            let mut log = StepLog { want_accesses: true, ..StepLog::default() };
            let mut choice = NoChoice(false);
            let end = self.machine.step(&mut after, *task, &mut choice, &mut log);
            if choice.0 {
                return Err("the program makes choices of its own".into());
            }
            let rest = match end {
                // A bug ends the execution.
                Err(_) | Ok(End::Dropped) => Maxima::default(),
                Ok(end) => {
                    let mut left = tasks.clone();
                    left.extend(log.born.iter().map(|b| b.task));
                    let is_over = |t: &TaskId| log.finished.contains(t) || end == End::Finished && t == task;
                    left.retain(|t| !is_over(t));
                    left.sort_unstable();
                    self.from(&after, left, Some(*task))?
                }
            };
            let blocks =
                log.accesses.iter().any(|a| self.waits.iter().any(|w| w.start <= a.span.start && a.span.end <= w.end));
            let preempts = last.is_some_and(|l| l != *task && ready.contains(&l));
            most.threads = most.threads.max(rest.threads);
            most.steps = most.steps.max(rest.steps + 1);
            most.blocking = most.blocking.max(rest.blocking + u32::from(blocks));
            most.preemptions = most.preemptions.max(rest.preemptions + u32::from(preempts));
        }
        self.known.insert(key, Some(most));
        Ok(most)
    }
}
