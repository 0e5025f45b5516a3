//! Random strategies: uniform random walks, and probabilistic concurrency testing.
//!
//! Paper: A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs (ASPLOS 2010), for [`Strategy::Pct`].
//!
//! Deviations:
//! 1. The length of executions, over which the points of change are spread, is that of the longest run so far among the
//!    first few, not given by the user.
//! 2. Threads are task buffers; the choice among the tasks of one buffer, and all data choices, are uniform.

use crate::dispatcher::Move;
use crate::execution::Execution;
use crate::node::{Context, Stop};
use crate::search::{Bug, Cut, Found, MAX_STEPS, Monitor, Options, Outcome, Progress, Strategy};
use crate::stateless::first_of;
use crate::system::{BufferId, System};
use fabius_trace::LevelStats;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Executions that a search makes unless it is told how many.
pub const DEFAULT_EXECUTIONS: u64 = 10_000;

/// Runs that estimate how long executions are.
const SCOUTS: u64 = 8;

/// Searches at random. Run `i` depends on the seed and `i` alone; the bug of the lowest run is reported.
pub fn search<S: System + Sync>(system: &S, options: &Options, monitor: &Monitor<'_>) -> Outcome {
    let context = Context { system, options, compare: None };
    let began = Instant::now();
    let count = options.executions.unwrap_or(DEFAULT_EXECUTIONS);
    let transitions = AtomicU64::new(0);
    let executions = AtomicU64::new(0);
    let cut: Mutex<Option<Cut>> = Mutex::new(None);
    let signatures: Mutex<HashSet<u128>> = Mutex::default();
    let reported = Mutex::new(Instant::now());
    let limits: Mutex<Option<Cut>> = Mutex::new(None);
    let mut length = 1;
    if let Strategy::Pct(_) = options.strategy {
        length =
            (0..SCOUTS).map(|i| walk(&context, options.seed, i, Strategy::Random, 1).steps).max().unwrap_or(1).max(1);
    }
    let found = first_of(options.jobs, count, |run| {
        let stop = if monitor.stop.load(Ordering::Relaxed) {
            Some(Cut::Interrupted)
        } else if options.deadline.is_some_and(|d| Instant::now() >= d) {
            Some(Cut::Time)
        } else {
            None
        };
        let mut cut = cut.lock().expect("no worker has panicked");
        *cut = cut.or(stop);
        if matches!(*cut, Some(Cut::Interrupted | Cut::Time)) {
            return None;
        }
        drop(cut);
        let walked = walk(&context, options.seed, run, options.strategy, length);
        transitions.fetch_add(walked.steps.into(), Ordering::Relaxed);
        executions.fetch_add(1, Ordering::Relaxed);
        signatures.lock().expect("no worker has panicked").extend(walked.signature);
        let mut last = reported.lock().expect("no worker has panicked");
        if last.elapsed() > Duration::from_millis(200) {
            *last = Instant::now();
            (monitor.progress)(&Progress {
                executions: executions.load(Ordering::Relaxed),
                transitions: transitions.load(Ordering::Relaxed),
                depth: walked.steps,
                elapsed: began.elapsed(),
                ..Progress::default()
            });
        }
        drop(last);
        if walked.limit.is_some() {
            let mut limits = limits.lock().expect("no worker has panicked");
            *limits = limits.or(walked.limit);
        }
        walked.bug
    });
    let limit = limits.into_inner().expect("no worker has panicked");
    let cut = cut.into_inner().expect("no worker has panicked");
    let bug = found.map(|(_, found)| found);
    let level = LevelStats {
        bound: 0,
        executions: executions.into_inner(),
        states: signatures.into_inner().expect("no worker has panicked").len() as u64,
        transitions: transitions.into_inner(),
    };
    Outcome {
        cut: if bug.is_some() { None } else { cut.or(limit).or(Some(Cut::Executions)) },
        finals: level.executions,
        bug,
        levels: vec![level],
        completed: None,
        exhausted: false,
        memory: 0,
    }
}

struct Walked {
    bug: Option<Found>,
    /// A limit that ended the walk.
    limit: Option<Cut>,
    steps: u32,
    signature: Option<u128>,
}

/// Priorities of threads, and where they change.
struct Priorities {
    of: HashMap<BufferId, u64>,
    /// Steps at which the running thread falls to the lowest priority so far.
    changes: Vec<u32>,
    low: u64,
}

fn walk<S: System>(context: &Context<'_, S>, seed: u64, run: u64, strategy: Strategy, length: u32) -> Walked {
    let mut rng = fastrand::Rng::with_seed(seed ^ run.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(run));
    let mut priorities = Priorities { of: HashMap::new(), changes: Vec::new(), low: 1 << 20 };
    if let Strategy::Pct(depth) = strategy {
        priorities.changes = (1..depth).map(|_| rng.u32(1..=length)).collect();
    }
    let mut execution = match begin(context, &mut rng) {
        Ok(execution) => execution,
        Err(stop) => {
            let bug = stop.0.map(|what| {
                let turn = fabius_trace::Turn { task: fabius_trace::Turn::START, choices: stop.2 };
                Found { what, cost: 0, schedule: vec![turn], delays: vec![0], cycle: None }
            });
            return Walked { bug, limit: stop.1, steps: 0, signature: None };
        }
    };
    let mut moves = Vec::new();
    let mut limit = Some(Cut::Steps);
    for step in 0..MAX_STEPS {
        if step % 256 == 255 && context.options.deadline.is_some_and(|d| Instant::now() >= d) {
            limit = Some(Cut::Time);
            break;
        }
        context.moves(&execution.node, &mut moves);
        moves.retain(|m| matches!(m, Move::Run(_)));
        if moves.is_empty() {
            // A scheduler that picks one that waits, and is not delayed here, ends the walk without an answer.
            limit = if context.is_final(&execution.node) { None } else { Some(Cut::Steps) };
            break;
        }
        let mv = match strategy {
            Strategy::Pct(_) => priorities.pick(&moves, execution.steps, &mut rng),
            _ => moves[rng.usize(..moves.len())],
        };
        if let Err(stop) = make(&mut execution, mv, &mut rng) {
            let steps = execution.steps;
            let (bug, limit) = match stop {
                Stop::Bug(what) => (Some(execution.found(what)), None),
                Stop::Cut(cut) => (None, Some(cut)),
                Stop::Dropped => (None, None),
            };
            return Walked { bug, limit, steps, signature: None };
        }
    }
    let steps = execution.steps;
    let signature = Some(execution.order.signature());
    let deadlock = context.options.deadlock && context.is_deadlock(&execution.node);
    let bug = deadlock.then(|| execution.found(Bug::Deadlock));
    Walked { bug, limit, steps, signature }
}

/// Random choices: as many as a step may want; those left over are not used.
fn dice(rng: &mut fastrand::Rng) -> crate::node::Script {
    let mut script = crate::node::Script::default();
    script.roll(rng.fork());
    script
}

/// Why an execution ended before its first dispatch point: a bug or a limit, and the choices that led to it.
type NoStart = (Option<Bug>, Option<Cut>, Vec<u32>);

fn begin<'a, 'b, S: System>(
    context: &'a Context<'b, S>,
    rng: &mut fastrand::Rng,
) -> Result<Execution<'a, 'b, S>, NoStart> {
    Execution::begin_with(context, dice(rng)).map_err(|(stop, script)| match stop {
        Stop::Bug(what) => (Some(what), None, script.choices()),
        Stop::Cut(cut) => (None, Some(cut), script.choices()),
        Stop::Dropped => (None, None, script.choices()),
    })
}

fn make<S: System>(execution: &mut Execution<'_, '_, S>, mv: Move, rng: &mut fastrand::Rng) -> Result<(), Stop> {
    execution.make_with(mv, dice(rng))
}

impl Priorities {
    fn pick(&mut self, moves: &[Move], step: u32, rng: &mut fastrand::Rng) -> Move {
        let buffer = |m: &Move| match m {
            Move::Run(pick) => pick.buffer,
            Move::Delay(_) => unreachable!("walks do not delay"),
        };
        for m in moves {
            self.of.entry(buffer(m)).or_insert_with(|| (1 << 21) + rng.u64(..1 << 40));
        }
        let highest = |of: &HashMap<BufferId, u64>| {
            moves.iter().map(buffer).max_by_key(|b| (of[b], *b)).expect("there is a move")
        };
        for _ in self.changes.iter().filter(|at| **at == step) {
            self.low -= 1;
            self.of.insert(highest(&self.of), self.low);
        }
        let chosen = highest(&self.of);
        let tasks: Vec<&Move> = moves.iter().filter(|m| buffer(m) == chosen).collect();
        *tasks[rng.usize(..tasks.len())]
    }
}
