//! What strategies see of a C or C++ program: happens-before classes, since a state is all of its memory.

use crate::failure::Failure;
use crate::native::unexplored;
use fabius_native::{Plan, Report, SHRINKING, Target, Walk, explore};
use fabius_trace::{Bound, Coverage, Measured, Reason, Run, Verdict};
use fabius_verify::compare::{Extent, Way};
use fabius_verify::{Progress, Strategy};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Steps after which an execution is given up.
const MAX_STEPS: u32 = 100_000;

/// Measures a way on a program: one search that goes through the bounds, or a run for each seed.
pub fn measure(
    target: &Target,
    way: &Way,
    extent: &Extent,
    stop: &AtomicBool,
    progress: &dyn Fn(&Progress),
) -> Result<Measured, Failure> {
    let walk = match way.strategy {
        Strategy::Iterative => Walk::Iterative,
        Strategy::DepthFirst => Walk::DepthFirst,
        Strategy::Random => Walk::Random,
        Strategy::Pct(changes) => Walk::Pct(changes),
        Strategy::Pos => Walk::Pos,
        Strategy::Urw => Walk::Urw,
        Strategy::Surw => Walk::Surw,
    };
    let is_random = !matches!(walk, Walk::Iterative | Walk::DepthFirst);
    let (mut coverage, mut runs) = (None, Vec::new());
    for seed in 0..if is_random { extent.seeds } else { 1 } {
        let plan = Plan {
            bound: way.bound,
            max: way.max,
            scheduler: way.scheduler,
            walk,
            points: extent.points,
            first_race: false,
            leaks: false,
            reduction: true,
            executions: Some(extent.executions),
            time: extent.time,
            memory: extent.memory,
            max_steps: MAX_STEPS,
            shrinking: SHRINKING,
            seed,
            isolation: None,
            jobs: 1,
        };
        let began = Instant::now();
        let tick = |p: &fabius_native::Progress| {
            let (bound, executions, transitions) = (p.bound, p.executions, p.steps);
            progress(&Progress { bound, executions, transitions, elapsed: began.elapsed(), ..Progress::default() });
        };
        let report = explore(target, &plan, stop, &tick).map_err(unexplored)?;
        runs.push(run(&report, is_random.then_some(seed)));
        coverage = (walk == Walk::Iterative).then(|| within(report));
    }
    let bound = if coverage.is_some() { way.bound } else { Bound::None };
    Ok(Measured { strategy: way.name.clone(), bound, coverage, runs })
}

fn run(report: &Report, seed: Option<u64>) -> Run {
    let (bug, cut) = match &report.verdict {
        Verdict::Bug { trace } => (Some(trace.kind), None),
        // To have made as many as were asked for is no limit that was hit.
        Verdict::Unknown { reason, .. } if *reason != Reason::Executions => (None, Some(reason.clone())),
        _ => (None, None),
    };
    Run {
        seed,
        // Of the last search: those before have only shown which data are points.
        executions: report.levels.last().map_or(report.executions, |level| level.executions),
        growth: report.growth.clone(),
        bug,
        exhausted: report.verdict == Verdict::Verified,
        cut,
    }
}

fn within(report: Report) -> Coverage {
    let (completed, bug_cost, cut) = match &report.verdict {
        Verdict::Verified => (report.levels.last().map(|level| level.bound), None, None),
        Verdict::NoBugWithinBounds { bounds } => (bounds.completed, None, None),
        Verdict::Unknown { bounds, reason } => (bounds.completed, None, Some(reason.clone())),
        Verdict::Bug { trace } => (trace.cost.checked_sub(1), Some(trace.cost), None),
    };
    Coverage { levels: report.levels, completed, exhausted: report.verdict == Verdict::Verified, bug_cost, cut }
}
