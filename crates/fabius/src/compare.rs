//! Strategies side by side on one test, for the curves of `fabius compare`.

use crate::config::{Config, Plan};
use crate::report::Report;
use crate::rt;
use crate::save;
use fabius_explore::search::{Reduction, Strategy};
use fabius_trace::{
    Bound, COMPARISON_VERSION, Compared, Comparison, Counted, Coverage, Measured, Reason, Run, SchedulerKind, Verdict,
};
use std::io;
use std::path::PathBuf;

/// Checks a test in several ways, one after the other, and saves what they saw and when below `target/fabius`, as
/// `NAME.comparison.json`. `fabius compare` draws it: how many happens-before classes are within each bound, how fast they
/// are seen, and after how many executions the first bug. Returns the file.
///
/// Configurations of a random strategy that differ in their seed alone are its runs; others of the same strategy are
/// numbered: `random (2)`. The default configuration counts as [`Config::iterative_preemptions`].
///
/// ```
/// use fabius::{Config, sync::atomic::{AtomicUsize, Ordering}, thread};
/// use std::sync::Arc;
///
/// let ways = [Config::new().preemptions(2), Config::new().delays(2), Config::new().random(100)];
/// fabius::compare("lost_update", &ways, || {
///     let counter = Arc::new(AtomicUsize::new(0));
///     let theirs = counter.clone();
///     let other = thread::spawn(move || theirs.store(theirs.load(Ordering::SeqCst) + 1, Ordering::SeqCst));
///     counter.store(counter.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
///     other.join().unwrap();
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If there is no `target` folder above the current one, or the file cannot be written.
///
/// # Panics
/// Inside of a check.
#[track_caller]
pub fn compare<F: Fn() + Sync>(name: &str, configs: &[Config], test: F) -> io::Result<PathBuf> {
    rt::must_be_outside("fabius::compare");
    let mut ways: Vec<(&Config, Measured)> = Vec::new();
    for config in configs {
        let plan = match config.plan {
            Plan::Default => Plan::Iterative { bound: Bound::Preemptions, scheduler: SchedulerKind::Bag, max: None },
            plan => plan,
        };
        let report = Config { plan, classes: u64::MAX, ..config.clone() }.explore(&test);
        let mut new = measured(plan, config, report);
        if let Some((_, known)) = ways.iter_mut().find(|(known, _)| are_runs_of_one(known, config)) {
            known.runs.extend(new.runs);
            continue;
        }
        match ways.iter().filter(|(known, _)| strategy(known.plan, known) == new.strategy).count() {
            0 => {}
            before => new.strategy = format!("{} ({})", new.strategy, before + 1),
        }
        ways.push((config, new));
    }
    let strategies = ways.into_iter().map(|(_, measured)| measured).collect();
    let compared = Compared { name: name.into(), counted: Counted::Classes, strategies };
    let comparison = Comparison { version: COMPARISON_VERSION, programs: vec![compared] };
    let path = save::folder()?.join(format!("{}.comparison.json", save::file_name(name)));
    std::fs::write(&path, serde_json::to_string_pretty(&comparison)?)?;
    Ok(path)
}

/// Whether two random searches differ in their seed at most.
fn are_runs_of_one(one: &Config, other: &Config) -> bool {
    let all_but_seed = |config: &Config| {
        let Config { plan, executions, time, jobs, max_steps, spurious, deviations, leaks, panics, reduction, .. } =
            *config;
        (plan, executions, time, jobs, max_steps, spurious, deviations, leaks, panics, reduction)
    };
    matches!(one.plan, Plan::Walks(_)) && all_but_seed(one) == all_but_seed(other)
}

/// The strategy as `fabius compare` calls it.
fn strategy(plan: Plan, config: &Config) -> String {
    let name = match plan {
        Plan::Iterative { scheduler: SchedulerKind::RoundRobin, .. } => "delay:round-robin".into(),
        Plan::Iterative { scheduler: SchedulerKind::DepthFirst, .. } => "delay:depth-first".into(),
        Plan::Iterative { bound: Bound::Depth, .. } => "idfs".into(),
        Plan::Default | Plan::Iterative { .. } => "icb".into(),
        Plan::Exhaustive => "exhaustive".into(),
        Plan::Walks(Strategy::Pct(depth)) => format!("pct:{depth}"),
        Plan::Walks(walk) => format!("{walk:?}").to_lowercase(),
    };
    if config.reduction != Reduction::None || matches!(plan, Plan::Walks(_)) {
        name
    } else {
        format!("{name} without reduction")
    }
}

fn measured(plan: Plan, config: &Config, report: Report) -> Measured {
    let trace = report.trace();
    let exhausted = report.verdict == Verdict::Verified;
    let cut = match &report.verdict {
        Verdict::Unknown { reason, .. } => Some(reason.clone()),
        _ => None,
    };
    let last = report.levels.last().map(|level| level.bound);
    let coverage = match plan {
        Plan::Iterative { .. } => Some(Coverage {
            completed: match &report.verdict {
                Verdict::NoBugWithinBounds { bounds } | Verdict::Unknown { bounds, .. } => bounds.completed,
                Verdict::Verified => last,
                Verdict::Bug { .. } => last.and_then(|bound| bound.checked_sub(1)),
            },
            levels: report.levels.clone(),
            exhausted,
            // The search is in the order of cost.
            bug_cost: trace.and(last),
            cut: cut.clone(),
        }),
        _ => None,
    };
    let run = Run {
        seed: matches!(plan, Plan::Walks(_)).then_some(config.seed),
        executions: report.executions + report.walks,
        bug: trace.map(|t| t.kind),
        growth: report.growth,
        exhausted,
        // To have made as many as were asked for is no limit that was hit.
        cut: cut.filter(|reason| *reason != Reason::Executions),
    };
    let bound = if let Plan::Iterative { bound, .. } = plan { bound } else { Bound::None };
    Measured { strategy: strategy(plan, config), bound, coverage, runs: vec![run] }
}
