//! Figures 2, 5 and 6 of Iterative Context Bounding (PLDI 2007): distinct states against executions, for each strategy.
//!
//! The searches are those of `fabius check`, without reduction; the system that they run on counts what they do.

use super::{Lab, Measured, Row, Table, chart, fixed};
use fabius_curves::{Axis, Series};
use fabius_explore::search::{Monitor, Options, Strategy};
use fabius_explore::system::{Access, Choose, End, Fault, Snapshot, StepLog, System, TaskId};
use fabius_explore::{stateless, walk};
use fabius_machine::{Machine, State};
use fabius_trace::{Bound, Points, SchedulerKind};
use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Executions of each strategy.
const EXECUTIONS: u64 = 10_000;

/// Executions after which the states are a column.
const COLUMNS: [usize; 4] = [10, 100, 1_000, 10_000];

/// The name, and what is bounded how far.
type Walk = (&'static str, Strategy, Bound, Option<u32>, SchedulerKind);

static WALKS: [Walk; 7] = [
    ("icb", Strategy::Iterative, Bound::Preemptions, None, SchedulerKind::Bag),
    ("dfs", Strategy::DepthFirst, Bound::None, None, SchedulerKind::Bag),
    ("random", Strategy::Random, Bound::None, None, SchedulerKind::Bag),
    ("db:20", Strategy::DepthFirst, Bound::Depth, Some(20), SchedulerKind::Bag),
    ("db:40", Strategy::DepthFirst, Bound::Depth, Some(40), SchedulerKind::Bag),
    ("idfs", Strategy::Iterative, Bound::Depth, None, SchedulerKind::Bag),
    // Not in the paper.
    ("delays", Strategy::Iterative, Bound::Delays, Some(100), SchedulerKind::RoundRobin),
];

/// A program, with its constants.
type Program = (&'static str, &'static [(&'static str, &'static str)]);

static QUEUE: Program = ("corpus/coverage/safe/work_stealing_queue.fab", &[("ITEMS", "6"), ("STEALS", "6")]);
static APE: Program = ("corpus/threads/bug/ape.fab", &[("BUG", "0")]);
static DRYAD: Program = ("corpus/threads/bug/dryad_channels.fab", &[("BUG", "0"), ("WORKERS", "3")]);

pub fn tables() -> Vec<Table> {
    let table = |name, title, program: &'static Program| Table {
        name,
        columns: vec!["strategy", "states after 10 executions", "100", "1,000", "10,000", "executions in all"],
        rows: WALKS.iter().map(|walk| Row::new(move |lab| grown(lab, program, walk))).collect(),
        quick: 0,
        command: "",
        chart: chart(title, Axis::logarithmic("executions", ""), Axis::linear("distinct states", "")),
    };
    vec![
        table("pldi07-figure-2", "The work-stealing queue: states against executions", &QUEUE),
        table("pldi07-figure-5", "The stand-in for APE: states against executions", &APE),
        table("pldi07-figure-6", "The stand-in for Dryad channels: states against executions", &DRYAD),
    ]
}

/// A machine that counts.
struct Counting {
    machine: Machine,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    seen: HashSet<Vec<u8>>,
    /// How many states had been seen when each execution began.
    at_beginnings: Vec<usize>,
    /// Reused.
    bytes: Vec<u8>,
}

impl Counting {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn see(&self, state: &State) {
        let mut counts = self.counts();
        let mut bytes = std::mem::take(&mut counts.bytes);
        bytes.clear();
        self.machine.encode(state, &mut bytes);
        if !counts.seen.contains(&bytes) {
            counts.seen.insert(bytes.clone());
        }
        counts.bytes = bytes;
    }
}

impl System for Counting {
    type State = State;

    fn initial(&self, choose: &mut dyn Choose, log: &mut StepLog) -> Result<State, Fault> {
        let state = self.machine.initial(choose, log)?;
        let seen = self.counts().seen.len();
        self.counts().at_beginnings.push(seen);
        self.see(&state);
        Ok(state)
    }

    fn has_buffers(&self) -> bool {
        self.machine.has_buffers()
    }

    fn ready(&self, state: &State, task: TaskId) -> bool {
        self.machine.ready(state, task)
    }

    fn next_access(&self, state: &State, task: TaskId) -> Option<Access> {
        self.machine.next_access(state, task)
    }

    fn step(&self, state: &mut State, task: TaskId, choose: &mut dyn Choose, log: &mut StepLog) -> Result<End, Fault> {
        let end = self.machine.step(state, task, choose, log)?;
        self.see(state);
        Ok(end)
    }
}

fn grown(lab: &Lab, (file, consts): &Program, walk: &Walk) -> Result<Measured, String> {
    let (name, strategy, bound, max, scheduler) = walk;
    let source = super::read(&lab.root.join(file))?;
    let consts = consts.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let options = fabius_lang::Options { consts, ..Default::default() };
    let program = fabius_lang::compile(&source, &options).map_err(|d| format!("{file}: {d:?}"))?;
    let system = Counting { machine: Machine::new(&program, Points::Sync), counts: Mutex::default() };
    let options = Options {
        bound: *bound,
        max: *max,
        scheduler: *scheduler,
        strategy: *strategy,
        executions: Some(EXECUTIONS),
        ..Options::default()
    };
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let outcome = match strategy {
        Strategy::Random => walk::search(&system, &options, &monitor),
        _ => stateless::search(&system, &options, &monitor, &|_| {}),
    };
    if let Some(bug) = outcome.bug {
        return Err(format!("{file}: {:?} ends the search", bug.what));
    }
    let counts = system.counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    // What an execution has seen is known when the next one begins, and at the end.
    let mut after: Vec<usize> = counts.at_beginnings.iter().skip(1).copied().collect();
    after.push(counts.seen.len());
    after.truncate(EXECUTIONS as usize);
    let executions = after.len();
    let at = |n: usize| after[n.min(executions) - 1];
    let all = if executions < EXECUTIONS as usize { executions.to_string() } else { "more".into() };
    let sampled = (0..).map(|i| 1.15f64.powi(i) as usize).take_while(|n| *n < executions).chain([executions]);
    let mut sampled: Vec<usize> = sampled.collect();
    sampled.dedup();
    let mut cells = vec![fixed(name)];
    cells.extend(COLUMNS.map(|n| fixed(at(n))));
    cells.push(fixed(all));
    let series = Series::line(name, sampled.iter().map(|n| (*n as f64, at(*n) as f64)));
    Ok(Measured { cells, series: vec![series] })
}
