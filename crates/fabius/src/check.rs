//! From a test and a configuration to a report: explores, begins anew when the test looks at something that was not
//! reckoned with, and runs what fails once more to write it down.

use crate::answer;
use crate::command::{self, Asked, Begun};
use crate::config::{Config, DEFAULT_EXECUTIONS, DEFAULT_WALKS, Plan, Until};
use crate::few_deviations;
use crate::in_turns;
use crate::interrupt::{self, Running};
use crate::replay;
use crate::report::{Report, at_most};
use crate::rerun::{self, Twice};
use crate::rt::{self, Execution, Loops, Refine};
use crate::system::Test;
use fabius_explore::search::{Bug, Cut, Found, Monitor, Options, Outcome, Progress, Reduction, Strategy};
use fabius_explore::stateless::Complete;
use fabius_explore::{optimal, shrink, stateless, walk};
use fabius_trace::{Bound, Bounds, BugKind, Points, Reason, Schedule, Verdict};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Instant;

/// Checks a test under every schedule, those with the fewest preemptions first.
///
/// A bug that is found only without a bound (see [`Config`]) need not have the fewest. The answer of a test that does not fail
/// says within which bounds. See [`Config`] for other strategies, and
/// [`Config::environment`] for the variables that choose one.
///
/// # Panics
/// If an execution fails; the message shows it. If a variable of the environment cannot be read.
#[track_caller]
pub fn check_default<F: Fn() + Sync>(test: F) -> Report {
    check(&Config::default().environment(), &test, Location::caller())
}

impl Config {
    /// Checks the test.
    ///
    /// # Panics
    /// If an execution fails; the message shows it.
    #[track_caller]
    pub fn check<F: Fn() + Sync>(&self, test: F) -> Report {
        check(self, &test, std::panic::Location::caller())
    }

    /// Checks the test and returns what was found, be it a bug.
    #[track_caller]
    pub fn explore<F: Fn() + Sync>(&self, test: F) -> Report {
        explore(self, &test, std::panic::Location::caller())
    }
}

/// Several checks of one test at the same time, each on an operating system thread of its own; the first bug ends them all.
/// Returns their reports in order.
///
/// Tests that use statics cannot be checked so.
///
/// # Panics
/// Inside of a check.
#[track_caller]
pub fn portfolio<F: Fn() + Sync>(configs: &[Config], test: F) -> Vec<Report> {
    rt::must_be_outside("fabius::portfolio");
    let at = std::panic::Location::caller();
    let found = Arc::new(AtomicBool::new(false));
    let run = &|config: &Config, begun: Begun| {
        command::goes_on(begun.name.clone());
        let config = Config { cancel: Some(found.clone()), ..config.clone() };
        let report = explore_as(&config, &test, at);
        if report.is_bug() {
            found.store(true, Ordering::Relaxed);
        }
        report
    };
    std::thread::scope(|scope| {
        let begins = |config| {
            let begun = command::begin(config, at);
            scope.spawn(move || run(config, begun))
        };
        let all: Vec<_> = configs.iter().map(begins).collect();
        all.into_iter().map(|t| t.join().expect("a check that explores does not panic")).collect()
    })
}

#[track_caller]
pub(crate) fn check(config: &Config, test: &(dyn Fn() + Sync), at: &'static Location<'static>) -> Report {
    let report = explore(config, test, at);
    match report.failure() {
        Some(text) => panic!("{text}"),
        None => eprintln!("{report}"),
    }
    report
}

#[track_caller]
pub(crate) fn explore(config: &Config, test: &(dyn Fn() + Sync), at: &'static Location<'static>) -> Report {
    rt::must_be_outside("fabius::check");
    let _begun = command::begin(config, at);
    explore_as(config, test, at)
}

/// Explores a check that has begun.
#[track_caller]
fn explore_as(config: &Config, test: &(dyn Fn() + Sync), at: &'static Location<'static>) -> Report {
    rt::capture_panics();
    let check = command::this();
    match command::asked_for(&check) {
        Some(Asked::This(schedule)) => return replay::report(config, test, &schedule, at),
        Some(Asked::Any(schedule)) => match replay::run(config, test, &schedule, at) {
            Ok(report) if report.is_bug() => return report,
            _ => command::is_not_for(&check),
        },
        None => {}
    }
    let running = Running::begins();
    let report = explore_all(config, test, at);
    running.ends(&report);
    report
}

/// Explores it, until it knows what the test looks at.
fn explore_all(config: &Config, test: &(dyn Fn() + Sync), at: &'static Location<'static>) -> Report {
    let began = Instant::now();
    let mut settings = answer::settings(config);
    settings.deadline = config.time.and_then(|time| began.checked_add(time));
    let loops = Loops::default();
    let mut unsure = None;
    loop {
        let stop = AtomicBool::new(false);
        let system = Test::new(test, settings, loops.clone(), &stop);
        let known = loops.news();
        let explored = stages(config, &system);
        let observed = Refine(system.observed.load(Ordering::Relaxed));
        if !settings.refine.contains(observed) {
            settings.refine = settings.refine.with(observed);
            continue;
        }
        if system.astray.load(Ordering::Relaxed) {
            continue;
        }
        let report = conclude(config, &system, explored, began, at);
        if is_nondeterministic(&report) && loops.news() != known {
            // It was learnt when a schedule was run again.
            continue;
        }
        // That may be because of what loops leave behind. If it is ignored, and there is no answer either, it was not.
        let refine = settings.refine.with(Refine::REMAINS);
        let may_be = settings.refine.contains(Refine::YIELDS) && settings.refine != refine;
        if !is_nondeterministic(&report) || !may_be {
            let is_unsure = matches!(report.verdict, Verdict::Unknown { .. });
            return unsure.filter(|_| is_unsure).unwrap_or(report);
        }
        settings.refine = refine;
        unsure = Some(report);
    }
}

/// One line on a terminal, for checks that take more than a second.
fn show_progress(progress: &Progress) {
    use std::io::{IsTerminal, stderr};
    let seconds = progress.elapsed.as_secs_f64();
    if seconds > 1.0 && stderr().is_terminal() {
        let Progress { executions, bound, frontier, depth, .. } = progress;
        let rate = *executions as f64 / seconds;
        eprint!(
            "\r\x1b[Kfabius: {executions} executions, {rate:.0} per second, bound {bound}, {frontier} waiting, {depth} steps"
        );
    }
}

/// What the stages of a check found.
pub(crate) struct Explored {
    /// What was explored in order.
    pub search: Option<Outcome>,
    /// What was tried at random.
    pub walks: Option<Outcome>,
    pub options: Options,
    /// The first execution in order that came to its end.
    pub first: Option<Schedule>,
}

fn stages(config: &Config, system: &Test<'_>) -> Explored {
    let base = Options {
        jobs: config.jobs,
        deadline: system.settings.deadline,
        seed: config.seed,
        executions: config.executions,
        classes: config.classes,
        // The execution itself counts its steps, and says which loop has no end.
        max_steps: u32::MAX,
        at_first_bug: true,
        price_of_deviation: config.price_of_deviation,
        reduction: match config.reduction {
            Reduction::Persistent | Reduction::Adaptive if !optimal_is_sound(config, system) => Reduction::Classes,
            other => other,
        },
        ..Options::default()
    };
    let cancelled = || {
        config.cancel.as_ref().is_some_and(|c| c.load(Ordering::Relaxed)) || interrupt::flag().load(Ordering::Relaxed)
    };
    let look = |progress: &Progress| {
        if cancelled() {
            system.stop.store(true, Ordering::Relaxed);
        }
        show_progress(progress);
    };
    let monitor = Monitor { stop: system.stop, progress: &look };
    let first = OnceLock::new();
    let note = |complete: Complete<'_, Execution>| {
        first.get_or_init(|| complete.taken.schedule());
    };
    match config.plan {
        Plan::Iterative { bound, scheduler, max } => {
            let options = Options { bound, scheduler, max, ..base };
            let has_turns = max.is_none() || config.reduction == Reduction::Adaptive;
            let search = if bound == Bound::Preemptions && has_turns && optimal_is_sound(config, system) {
                in_turns::search(system, &options, &monitor, &note)
            } else if bound == Bound::Preemptions && deviates_for_nothing(config, system) {
                few_deviations::search(system, (&options, config.until), &monitor, &note)
            } else {
                stateless::search(system, &options, &monitor, &note)
            };
            Explored { search: Some(search), walks: None, options, first: first.into_inner() }
        }
        Plan::Exhaustive => {
            let options = Options { bound: Bound::None, ..base };
            let search = if optimal_is_sound(config, system) {
                optimal::search(system, &options, &monitor, &note)
            } else if config.until == Until::SeenAsByLoom && deviates_for_nothing(config, system) {
                few_deviations::search(system, (&options, config.until), &monitor, &note)
            } else {
                stateless::search(system, &options, &monitor, &note)
            };
            Explored { search: Some(search), walks: None, options, first: first.into_inner() }
        }
        Plan::Walks(strategy) => {
            let executions = config.executions.or(Some(DEFAULT_WALKS));
            let options = Options { strategy, executions, ..base };
            Explored { search: None, walks: Some(walk::search(system, &options, &monitor)), options, first: None }
        }
        Plan::Default => {
            let in_turns = config.executions.is_none() && optimal_is_sound(config, system);
            let executions =
                config.executions.unwrap_or(if in_turns { 2 * DEFAULT_EXECUTIONS } else { DEFAULT_EXECUTIONS });
            let options = Options { executions: Some(executions), ..base.clone() };
            let search = if in_turns {
                in_turns::search(system, &options, &monitor, &note)
            } else {
                stateless::search(system, &options, &monitor, &note)
            };
            let is_used_up = search.bug.is_none() && search.cut == Some(Cut::Executions);
            let walks = is_used_up.then(|| {
                let options = Options { strategy: Strategy::Random, executions: Some(DEFAULT_WALKS), ..base };
                walk::search(system, &options, &monitor)
            });
            Explored { search: Some(search), walks, options, first: first.into_inner() }
        }
    }
}

/// Whether the bound says nothing of stale reads and late stores, and there are some.
fn deviates_for_nothing(config: &Config, system: &Test<'_>) -> bool {
    config.price_of_deviation == 0 && config.deviations > 0 && system.settings.refine.contains(Refine::WEAK)
}

/// Whether optimal reduction knows all that the test does: who waits because it would repeat itself is not a matter of what
/// happened before what alone, and it knows neither steps with two accesses nor deviations.
fn optimal_is_sound(config: &Config, system: &Test<'_>) -> bool {
    let refine = system.settings.refine;
    let both = Refine::RELEASES.with(Refine::WAITS);
    config.reduction != Reduction::None
        && !refine.contains(Refine::YIELDS)
        && !refine.contains(Refine::WEAK)
        && !refine.contains(both)
}

fn conclude(
    config: &Config,
    system: &Test<'_>,
    explored: Explored,
    began: Instant,
    at: &'static Location<'static>,
) -> Report {
    let outcomes = || explored.search.iter().chain(&explored.walks);
    let growth = match (&explored.search, &explored.walks) {
        (Some(one), None) | (None, Some(one)) => one.growth.clone(),
        _ => Vec::new(),
    };
    let executions = |o: &Option<Outcome>| o.as_ref().and_then(|o| o.levels.last()).map_or(0, |l| l.executions);
    let bounds = Bounds {
        bound: explored.options.bound,
        completed: explored.search.as_ref().and_then(|o| o.completed),
        scheduler: explored.options.scheduler,
        points: Points::Sync,
        instances: Vec::new(),
        any: Vec::new(),
        limits: Vec::new(),
    };
    let mut report = Report {
        verdict: Verdict::Verified,
        levels: explored.search.as_ref().map(|o| o.levels.clone()).unwrap_or_default(),
        growth,
        executions: executions(&explored.search),
        walks: executions(&explored.walks),
        elapsed: began.elapsed(),
        replay: None,
        text: None,
        saved: None,
        nothing_ends: explored.search.is_some() && explored.first.is_none(),
        anew: explored.search.as_ref().and_then(|o| o.anew),
        stale: system.settings.refine.contains(Refine::WEAK).then_some(config.deviations),
        price_of_stale: config.price_of_deviation,
    };
    if let Some(found) = outcomes().find_map(|o| o.bug.as_ref()) {
        let found = shrink_bug(system, &explored.options, found);
        let rerun = rerun::rerun(system, &found.schedule);
        if let (None, Some(limit)) = (rerun.kind, &rerun.limit) {
            answer::cannot_go_on(&mut report, limit, bounds);
        } else if rerun.kind.is_none() {
            let shared = matches!(found.what, Bug::Fault(BugKind::SyncMisuse, _));
            let first = if shared { Some(rt::SHARED.into()) } else { first_difference(system) };
            differs(&mut report, first, bounds);
        } else {
            let asked = (explored.options.bound, explored.options.scheduler);
            let in_order = explored.search.is_some() && matches!(asked.0, Bound::Delays | Bound::Depth);
            answer::show(config, &mut report, found, rerun, in_order.then_some(asked), at);
        }
        return report;
    }
    if let Some(limit) = system.limit.get() {
        answer::cannot_go_on(&mut report, limit, bounds);
        return report;
    }
    // The search notices what makes a prefix end elsewhere; what does not is noticed by running one schedule twice.
    let in_order = explored.search.is_some();
    let again = match &explored.first {
        None if in_order || report.walks == 0 => Twice::Same,
        first => rerun::twice(system, first.as_ref()),
    };
    match again {
        Twice::Differs(first) => {
            differs(&mut report, Some(first), bounds);
            return report;
        }
        Twice::Fails(schedule) => {
            let rerun = rerun::rerun(system, &schedule);
            answer::show(config, &mut report, answer::plain(schedule), rerun, None, at);
            return report;
        }
        Twice::Same if outcomes().any(|o| o.cut == Some(Cut::Nondeterminism)) => {
            differs(&mut report, None, bounds);
            return report;
        }
        Twice::Same => {}
    }
    let whole = explored.search.as_ref().is_some_and(|o| o.exhausted);
    let cut = outcomes().find_map(|o| o.cut.filter(|c| *c != Cut::Executions));
    if system.forgets_stores.load(Ordering::Relaxed) {
        let message = rt::forgotten();
        let bounds = Bounds { completed: None, ..bounds };
        report.verdict = Verdict::Unknown { reason: Reason::Program { message }, bounds };
        report.elapsed = began.elapsed();
        return report;
    }
    let left_out = *system.left_out.lock().unwrap_or_else(PoisonError::into_inner);
    let is_capped = system.kept_from_deviating.load(Ordering::Relaxed);
    // What was not explored within the bounds either.
    let capped = is_capped.then(|| format!("with {} in each execution", at_most(config.deviations)));
    let ended_as_loom = system.ended_as_loom.load(Ordering::Relaxed);
    let as_loom = ended_as_loom.then(|| without_what_loom_leaves_out(bounds.completed));
    let limits: Vec<String> = capped.into_iter().chain(left_out.map(|left| left.message())).chain(as_loom).collect();
    report.verdict = match (cut, left_out) {
        _ if ended_as_loom => {
            let max = if let Plan::Iterative { max, .. } = config.plan { max } else { None };
            Verdict::NoBugWithinBounds { bounds: Bounds { completed: max, limits, ..bounds } }
        }
        (_, Some(left)) if whole => {
            let reason = Reason::Program { message: left.message() };
            Verdict::Unknown { reason, bounds: Bounds { limits, ..bounds } }
        }
        _ if whole && is_capped => {
            Verdict::NoBugWithinBounds { bounds: Bounds { bound: Bound::None, limits, ..bounds } }
        }
        _ if whole => Verdict::Verified,
        (Some(cut), _) => Verdict::Unknown { reason: reason(cut), bounds: Bounds { limits, ..bounds } },
        (None, _) if bounds.completed.is_some() => Verdict::NoBugWithinBounds { bounds: Bounds { limits, ..bounds } },
        (None, _) => Verdict::Unknown { reason: Reason::Executions, bounds },
    };
    report.elapsed = began.elapsed();
    report
}

/// What an answer says where the search has ended as loom would, and all was explored within this bound.
fn without_what_loom_leaves_out(completed: Option<u32>) -> String {
    let whole = completed.map(|k| format!(" (all were explored within {k})")).unwrap_or_default();
    format!(
        "much as loom without executions in which a thread that has given way goes on while another can, a value is found again that its \
         thread knew to be old before it gave way, a store comes late, an exchange finds an old value, or something is found behind a \
         `SeqCst` fence that is older than what was known ahead of one that came before{whole}; \
         `FABIUS_STALE_READS=all` explores these, too"
    )
}

/// Where the test behaves differently when a schedule is run twice.
fn first_difference(system: &Test<'_>) -> Option<String> {
    match rerun::twice(system, None) {
        Twice::Differs(first) => Some(first),
        Twice::Fails(_) | Twice::Same => None,
    }
}

/// The test does not behave the same when the same schedule is run again.
fn differs(report: &mut Report, first: Option<String>, bounds: Bounds) {
    if first.is_none() && bounds.bound == Bound::Delays {
        // Who goes on without a delay depends on who only waits, and that on what is there.
        report.verdict = Verdict::Unknown { reason: Reason::Program { message: WENT_ELSEWHERE.into() }, bounds };
        return;
    }
    let first = first.unwrap_or_else(|| "the first two executions are the same, but later ones are not".into());
    report.text = Some(format!(
        "\nfabius: {NONDETERMINISTIC}\n  {first}\n  state that survives from one execution to the next, randomness, a \
         clock, or the order of a HashMap can be why; use `fabius::any`, `fabius::time`, or make it part of the closure\n"
    ));
    report.verdict = Verdict::Unknown { reason: reason(Cut::Nondeterminism), bounds };
}

fn is_nondeterministic(report: &Report) -> bool {
    let Verdict::Unknown { reason: Reason::Program { message }, .. } = &report.verdict else { return false };
    [NONDETERMINISTIC, WENT_ELSEWHERE].contains(&message.as_str())
}

const NONDETERMINISTIC: &str = "the test behaves differently when the same schedule is run again";

const WENT_ELSEWHERE: &str = "a schedule that went elsewhere when it was run again: the test is not deterministic, or a loop that gives \
    way writes to memory that it has just allocated, on which a bound on `preemptions` does not depend";

fn reason(cut: Cut) -> Reason {
    match cut {
        Cut::Time => Reason::Time,
        Cut::Memory => Reason::Memory,
        Cut::Interrupted => Reason::Interrupted,
        Cut::Executions => Reason::Executions,
        Cut::Steps => Reason::Program { message: "an execution has more steps than `Config::max_steps`".into() },
        Cut::Nondeterminism => Reason::Program { message: NONDETERMINISTIC.into() },
        Cut::Program(..) | Cut::Unfair => Reason::Program { message: "a limit inside the program".into() },
    }
}

fn shrink_bug(system: &Test<'_>, options: &Options, found: &Found) -> Found {
    // What has no end cannot be made much shorter, and takes long to try.
    if matches!(found.what, Bug::Fault(BugKind::Livelock, _)) {
        return found.clone();
    }
    let options = Options { strategy: Strategy::Iterative, ..options.clone() };
    // What told the search to stop does not tell that the bug is enough as it is, but for a signal.
    shrink::shrink(system, &options, found, interrupt::flag())
}
