//! Random strategies, each of which is a way to pick the next thread: see `pick.rs`.

use crate::dispatcher::Move;
use crate::execution::Execution;
use crate::growth::Growth;
use crate::kept::Spare;
use crate::node::{Context, Script, Stop};
use crate::pace::Pace;
use crate::pick::{Known, Picker, PickerMemory, needs_scouts};
use crate::reached::Signatures;
use crate::search::{Bug, Cut, Found, Monitor, Options, Outcome, Progress, Strategy, Workers};
use crate::system::System;
use fabius_trace::{LevelStats, Turn};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Executions that a search makes unless it is told how many.
pub const DEFAULT_EXECUTIONS: u64 = 10_000;

/// Runs that estimate how long executions are and who does what in them.
const SCOUTS: u64 = 8;

/// How many runs a strategy makes before the first that counts.
pub fn scouts(strategy: Strategy) -> u64 {
    if needs_scouts(strategy) { SCOUTS } else { 0 }
}

/// Searches at random. Run `i` depends on the seed and `i` alone; the bug of the lowest run is reported.
pub fn search<S: System + Sync>(system: &S, options: &Options, monitor: &Monitor<'_>) -> Outcome {
    let context = Context { system, options, compare: None, is_symmetric: false, joins: false };
    let began = Instant::now();
    let count = options.executions.unwrap_or(DEFAULT_EXECUTIONS);
    let all: Mutex<All> = Mutex::new(All::new(began));
    let over = AtomicBool::new(false);
    let mut known = Known::default();
    let mut scout = Memory::default();
    for run in 0..scouts(options.strategy) {
        let rng = fastrand::Rng::with_seed(run);
        let mut picker = Picker::new(Strategy::Random, &known, rng, PickerMemory::default());
        picker.watches = true;
        walk(&context, monitor, seed_of(options.seed, !run), &mut picker, &mut scout);
        let seen = picker.seen;
        known.learn(&seen);
    }
    let found = first_of((options.jobs, options.workers), count, &over, |run, mine: &mut Memory| {
        let now = mine.pace.look();
        if let Some(cut) = monitor.cut(options, || now) {
            all.lock().expect("no worker has panicked").cut.get_or_insert(cut);
            over.store(true, Ordering::Relaxed);
            return None;
        }
        let mut rng = seed_of(options.seed, run);
        let mut picker = Picker::new(options.strategy, &known, rng.fork(), std::mem::take(&mut mine.picker));
        let spare = std::mem::take(&mut mine.spare);
        mine.spare = if run < options.classes { spare.with_class() } else { spare.without_class() };
        let walked = walk(&context, monitor, rng, &mut picker, mine);
        mine.picker = picker.into_memory();
        let mut all = all.lock().expect("no worker has panicked");
        all.transitions += u64::from(walked.steps);
        all.executions += 1;
        walked.signature.into_iter().for_each(|signature| all.signatures.add(signature));
        let executions = all.executions;
        if executions <= options.classes && all.growth.has_point(executions) {
            let distinct = all.signatures.len();
            all.growth.see(executions, distinct);
        }
        if let Some(now) = now.filter(|now| now.saturating_duration_since(all.reported) > Duration::from_millis(200)) {
            all.reported = now;
            (monitor.progress)(&Progress {
                executions,
                transitions: all.transitions,
                depth: walked.steps,
                elapsed: began.elapsed(),
                ..Progress::default()
            });
        }
        all.limit = all.limit.or(walked.limit);
        walked.bug
    });
    let All { transitions, executions, mut signatures, growth, cut, limit, .. } =
        all.into_inner().expect("no worker has panicked");
    let bug = found.map(|(_, found)| found);
    let distinct = signatures.len();
    let states = if executions <= options.classes { distinct as u64 } else { 0 };
    let level = LevelStats { bound: 0, executions, states, transitions };
    Outcome {
        cut: if bug.is_some() { None } else { cut.or(limit).or(Some(Cut::Executions)) },
        finals: level.executions,
        reduced: 0,
        growth: growth.end(executions.min(options.classes), distinct),
        anew: None,
        bug,
        levels: vec![level],
        completed: None,
        exhausted: false,
        memory: 0,
    }
}

/// What all walks have shown.
struct All {
    executions: u64,
    transitions: u64,
    signatures: Signatures,
    growth: Growth,
    /// What has ended the search.
    cut: Option<Cut>,
    /// A limit that has ended a walk.
    limit: Option<Cut>,
    reported: Instant,
}

impl All {
    fn new(reported: Instant) -> All {
        let (signatures, growth) = (Signatures::default(), Growth::default());
        All { executions: 0, transitions: 0, signatures, growth, cut: None, limit: None, reported }
    }
}

/// Memory for the next walk.
#[derive(Default)]
struct Memory {
    moves: Vec<Move>,
    script: Script,
    spare: Spare,
    picker: PickerMemory,
    pace: Pace,
}

struct Walked {
    bug: Option<Found>,
    /// A limit that ended the walk.
    limit: Option<Cut>,
    steps: u32,
    signature: Option<u128>,
}

fn seed_of(seed: u64, run: u64) -> fastrand::Rng {
    fastrand::Rng::with_seed(seed ^ run.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(run))
}

fn walk<S: System>(
    context: &Context<'_, S>,
    monitor: &Monitor<'_>,
    mut rng: fastrand::Rng,
    picker: &mut Picker<'_>,
    memory: &mut Memory,
) -> Walked {
    let mut script = std::mem::take(&mut memory.script);
    script.set(std::iter::empty());
    script.allow(context.options.memory);
    script.roll(rng.fork());
    let mut run = match Execution::begin_with(context, script, std::mem::take(&mut memory.spare)) {
        Ok(run) => run,
        Err((stop, script)) => {
            let (bug, limit) = match stop {
                Stop::Bug(what) => (Some(what), None),
                Stop::Cut(cut) => (None, Some(cut)),
                Stop::Dropped => (None, None),
            };
            let bug = bug.map(|what| {
                let turn = Turn { task: Turn::START, choices: script.choices() };
                Found { what, cost: 0, schedule: vec![turn], delays: vec![0], cycle: None }
            });
            return Walked { bug, limit, steps: 0, signature: None };
        }
    };
    let moves = &mut memory.moves;
    let limit = loop {
        if run.steps() >= context.options.max_steps {
            break Some(Cut::Steps);
        }
        if (run.steps() % 256 == 255 || context.system.was_slow(&run.node.state))
            && let Some(cut) = monitor.cut(context.options, || Some(Instant::now()))
        {
            break Some(cut);
        }
        context.moves(&run.node, moves);
        if !run.node.dispatcher.is_bag() {
            moves.retain(|m| matches!(m, Move::Run(_)));
        }
        if moves.is_empty() {
            // A scheduler that picks one that waits, and is not delayed here, ends the walk without an answer.
            break if context.is_final(&run.node) { None } else { Some(Cut::Steps) };
        }
        let mv = picker.pick(moves, &run);
        run.script.set(std::iter::empty());
        run.script.roll(rng.clone());
        let last = context.last_among(&run.node, moves);
        let cost = run.cost + context.price(&run.node, last, &mv);
        let room = (context.options.max_steps - 1 - run.steps()).min((510 - run.steps() % 256) % 256);
        let plan = if room > 0 { picker.plan(&run) } else { None };
        let result = match plan {
            Some(plan) => run.go_ahead(mv, cost, room, plan).map(|_| ()),
            None => run.go_at(mv, cost),
        };
        // However many steps are made at once, choices are what they would be.
        if let Some(after) = run.script.take_random() {
            rng = after;
        }
        let (dice, falling) = run.take_decided_by();
        picker.put_back(dice, falling);
        run.cost += run.script.deviations() * context.price_of_deviation();
        if let Err(stop) = result {
            let steps = run.steps();
            let (bug, limit) = match stop {
                Stop::Bug(what) => (Some(run.found(what)), None),
                Stop::Cut(cut) => (None, Some(cut)),
                Stop::Dropped => (None, None),
            };
            return Walked { bug, limit, steps, signature: None };
        }
    };
    let steps = run.steps();
    let signature = run.signature();
    if context.options.deadlock && context.is_deadlock(&run.node) {
        return Walked { bug: Some(run.found(Bug::Deadlock)), limit, steps, signature };
    }
    (memory.script, memory.spare) = run.into_spare();
    Walked { bug: None, limit, steps, signature }
}

/// Runs `one` for every number below `count` until it answers or it is time to stop, by several workers, each with something of its
/// own; the answer to the lowest number.
fn first_of<T: Send, Own: Default>(
    (jobs, workers): (usize, Workers),
    count: u64,
    stop: &AtomicBool,
    one: impl Fn(u64, &mut Own) -> Option<T> + Sync,
) -> Option<(u64, T)> {
    let next = AtomicUsize::new(0);
    let best: Mutex<Option<(u64, T)>> = Mutex::new(None);
    // The number of that.
    let lowest = AtomicU64::new(u64::MAX);
    let work = || {
        let mut own = Own::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed) as u64;
            if number >= count || number > lowest.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed) {
                return;
            }
            if let Some(answer) = one(number, &mut own) {
                let mut best = best.lock().expect("no worker has panicked");
                if best.as_ref().is_none_or(|(n, _)| number < *n) {
                    lowest.store(number, Ordering::Relaxed);
                    *best = Some((number, answer));
                }
            }
        }
    };
    (workers.0)(jobs, &work);
    best.into_inner().expect("no worker has panicked")
}
