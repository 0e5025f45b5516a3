//! Random strategies, each of which is a way to pick the next thread: see `pick.rs`.

use crate::dispatcher::Move;
use crate::execution::{Execution, Spare};
use crate::growth::Growth;
use crate::node::{Context, Script, Stop};
use crate::pick::{Known, Picker, needs_scouts};
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
    let transitions = AtomicU64::new(0);
    let executions = AtomicU64::new(0);
    let cut: Mutex<Option<Cut>> = Mutex::new(None);
    let seen: Mutex<(Signatures, Growth)> = Mutex::default();
    let reported = Mutex::new(Instant::now());
    let limits: Mutex<Option<Cut>> = Mutex::new(None);
    let over = AtomicBool::new(false);
    let memory: Mutex<Vec<Memory>> = Mutex::default();
    let mut known = Known::default();
    let mut scout = Memory::default();
    for run in 0..scouts(options.strategy) {
        let mut picker = Picker::new(Strategy::Random, &known, fastrand::Rng::with_seed(run));
        picker.watches = true;
        walk(&context, monitor, seed_of(options.seed, !run), &mut picker, &mut scout);
        let seen = picker.seen;
        known.learn(&seen);
    }
    let found = first_of((options.jobs, options.workers), count, &over, |run| {
        let mut cut = cut.lock().expect("no worker has panicked");
        *cut = cut.or_else(|| monitor.cut(options));
        if matches!(*cut, Some(Cut::Interrupted | Cut::Time)) {
            over.store(true, Ordering::Relaxed);
            return None;
        }
        drop(cut);
        let mut mine = memory.lock().expect("no worker has panicked").pop().unwrap_or_default();
        let mut rng = seed_of(options.seed, run);
        let mut picker = Picker::new(options.strategy, &known, rng.fork());
        let walked = walk(&context, monitor, rng, &mut picker, &mut mine);
        memory.lock().expect("no worker has panicked").push(mine);
        transitions.fetch_add(walked.steps.into(), Ordering::Relaxed);
        let number = executions.fetch_add(1, Ordering::Relaxed) + 1;
        let mut seen = seen.lock().expect("no worker has panicked");
        seen.0.extend(walked.signature);
        let distinct = seen.0.len();
        seen.1.see(number, distinct);
        drop(seen);
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
    let (signatures, growth) = seen.into_inner().expect("no worker has panicked");
    let level = LevelStats {
        bound: 0,
        executions: executions.into_inner(),
        states: signatures.len() as u64,
        transitions: transitions.into_inner(),
    };
    Outcome {
        cut: if bug.is_some() { None } else { cut.or(limit).or(Some(Cut::Executions)) },
        finals: level.executions,
        reduced: 0,
        growth: growth.end(level.executions, signatures.len()),
        anew: None,
        bug,
        levels: vec![level],
        completed: None,
        exhausted: false,
        memory: 0,
    }
}

/// Memory for the next walk.
#[derive(Default)]
struct Memory {
    moves: Vec<Move>,
    script: Script,
    spare: Spare,
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
            && let Some(cut) = monitor.cut(context.options)
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
        let result = match picker.plan(&run).filter(|(_, steps)| room.min(*steps) > 0) {
            Some((plan, steps)) => run.go_ahead(mv, cost, room.min(steps), plan).map(|_| ()),
            None => run.go_at(mv, cost),
        };
        // However many steps are made at once, choices are what they would be.
        if let Some(after) = run.script.take_random() {
            rng = after;
        }
        if let Some(dice) = run.take_dice() {
            picker.put_back(dice);
        }
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
    let signature = Some(run.signature());
    if context.options.deadlock && context.is_deadlock(&run.node) {
        return Walked { bug: Some(run.found(Bug::Deadlock)), limit, steps, signature };
    }
    (memory.script, memory.spare) = run.into_spare();
    Walked { bug: None, limit, steps, signature }
}

/// Runs `one` for every number below `count` until it answers or it is time to stop, by several workers; the answer to the
/// lowest number.
fn first_of<T: Send>(
    (jobs, workers): (usize, Workers),
    count: u64,
    stop: &AtomicBool,
    one: impl Fn(u64) -> Option<T> + Sync,
) -> Option<(u64, T)> {
    let next = AtomicUsize::new(0);
    let best: Mutex<Option<(u64, T)>> = Mutex::new(None);
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed) as u64;
        let beaten = best.lock().expect("no worker has panicked").as_ref().is_some_and(|(n, _)| *n < number);
        if number >= count || beaten || stop.load(Ordering::Relaxed) {
            return;
        }
        if let Some(answer) = one(number) {
            let mut best = best.lock().expect("no worker has panicked");
            if best.as_ref().is_none_or(|(n, _)| number < *n) {
                *best = Some((number, answer));
            }
        }
    };
    (workers.0)(jobs, &work);
    best.into_inner().expect("no worker has panicked")
}
