//! Runs one schedule of a test that somebody gives.

use crate::answer;
use crate::command;
use crate::config::Config;
use crate::report::Report;
use crate::rerun::{Given, can_take, decode, next_without_preemption, rerun, split};
use crate::rt::{self, Loops, Refine};
use crate::system::Test;
use fabius_explore::system::{StepLog, System};
use fabius_trace::{Bound, Bounds, Points, SchedulerKind, Turn, Verdict};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Runs one schedule of a test, as the message of a failure gives it; where it ends, the execution goes on without
/// preemptions.
///
/// # Panics
/// If the execution fails, with the message of the failure; if the schedule cannot be read or does not fit the test.
#[track_caller]
pub fn replay<F: Fn() + Sync>(schedule: &str, test: F) -> Report {
    rt::must_be_outside("fabius::replay");
    command::replays();
    let report = report(&Config::default(), &test, schedule, Location::caller());
    match report.failure() {
        Some(text) => panic!("{text}"),
        None => eprintln!("{report}"),
    }
    report
}

#[track_caller]
pub(crate) fn report(
    config: &Config,
    test: &(dyn Fn() + Sync),
    schedule: &str,
    at: &'static Location<'static>,
) -> Report {
    match run(config, test, schedule, at) {
        Ok(report) => report,
        Err(why) => panic!("{why}"),
    }
}

/// Runs one schedule.
///
/// # Errors
/// Why it is none of the test.
pub(crate) fn run(
    config: &Config,
    test: &(dyn Fn() + Sync),
    schedule: &str,
    at: &'static Location<'static>,
) -> Result<Report, String> {
    let began = Instant::now();
    rt::capture_panics();
    let (schedule, refine) = decode(schedule).map_err(|part| {
        let part = part.escape_debug();
        format!("the schedule has a part that cannot be read: `{part}`; it looks like `0*3,1,2:0.1`, or `start` if nobody is preempted")
    })?;
    let mut settings = answer::settings(config);
    settings.refine = refine;
    let loops = Loops::default();
    loop {
        let stop = AtomicBool::new(false);
        let system = Test::new(test, settings, loops.clone(), &stop);
        look_at(&system, &schedule);
        let observed = Refine(system.observed.load(Ordering::Relaxed));
        if !settings.refine.contains(observed) {
            settings.refine = settings.refine.with(observed);
            continue;
        }
        if system.astray.load(Ordering::Relaxed) {
            continue;
        }
        let mut rerun = rerun(&system, &schedule);
        let limit = rerun.limit.take();
        if let (Some(number), None, None) = (rerun.departs, rerun.kind, &limit) {
            let task = schedule[number].task;
            return Err(format!(
                "the schedule does not fit the test: at turn {} thread {task} cannot go on",
                number + 1
            ));
        }
        let mut report = Report {
            verdict: Verdict::NoBugWithinBounds { bounds: NO_BOUNDS },
            levels: Vec::new(),
            executions: 1,
            walks: 0,
            elapsed: began.elapsed(),
            replay: None,
            text: None,
            growth: Vec::new(),
            saved: None,
            nothing_ends: false,
            anew: None,
            stale: None,
            price_of_stale: config.price_of_deviation,
        };
        if let Some(limit) = limit {
            answer::cannot_go_on(&mut report, &limit, NO_BOUNDS);
        } else if rerun.kind.is_some() {
            answer::show(config, &mut report, answer::plain(rerun.schedule.clone()), rerun, None, at);
        }
        return Ok(report);
    }
}

/// One schedule says nothing of others.
const NO_BOUNDS: Bounds = Bounds {
    bound: Bound::None,
    completed: None,
    scheduler: SchedulerKind::Bag,
    points: Points::Sync,
    instances: Vec::new(),
    any: Vec::new(),
    limits: Vec::new(),
};

/// Runs one schedule; the test says what it looks at, and what was learnt of its loops. Where it does not fit, the execution
/// goes on without preemptions: the search may have known a loop from another execution, so that time passed sooner in it.
fn look_at(test: &Test<'_>, schedule: &[Turn]) {
    let mut log = StepLog::default();
    let (start, mut turns) = split(schedule);
    let Ok(mut execution) = test.initial(&mut Given(start.iter()), &mut log) else { return };
    loop {
        let given = turns.split_first().filter(|(turn, _)| can_take(test, &execution, turn.task));
        let (turn, rest) = match given {
            Some((turn, rest)) => (turn.clone(), rest),
            None => match next_without_preemption(execution.get()) {
                Some(turn) => (turn, &[][..]),
                None => return,
            },
        };
        turns = rest;
        log.clear();
        let can = can_take(test, &execution, turn.task);
        if !can || test.step(&mut execution, turn.task, &mut Given(turn.choices.iter()), &mut log).is_err() {
            return;
        }
    }
}
