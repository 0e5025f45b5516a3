//! How strategies get on with a program: what they cover within each bound, how fast they see what is new, and how many
//! executions they need for the first bug.
//!
//! Paper: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007), section 4.
//! Paper: Delay-Bounded Scheduling (POPL 2011), section 5.

use crate::room::within_memory;
use crate::{CheckError, Plan, Symmetry, check, confirm, is_random, options, reason};
use fabius_explore::growth::Counting;
use fabius_explore::search::{Cut, MAX_STEPS, Monitor, Options, Progress, Strategy};
use fabius_explore::{stateless, walk};
use fabius_lang::program::Program;
use fabius_machine::{Machine, StepLimits};
use fabius_trace::{Bound, Coverage, Measured, Points, ProgramId, Reason, Run, SchedulerKind, Verdict};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// A strategy under the name that the literature gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The name.
    pub name: String,
    /// How schedules are chosen.
    pub strategy: Strategy,
    /// What costs something.
    pub bound: Bound,
    /// The largest cost.
    pub max: Option<u32>,
    /// The scheduler.
    pub scheduler: SchedulerKind,
}

/// The names of all ways; `N` and `D` stand for numbers of at least 1, `D` for one of at most [`MAX_STEPS`].
pub const WAYS: [&str; 8] = ["icb", "delay:round-robin", "delay:depth-first", "dfs", "random", "pct:D", "db:N", "idfs"];

impl Way {
    /// The way of that name, if there is one.
    pub fn named(name: &str) -> Option<Way> {
        let (what, detail) = name.split_once(':').unwrap_or((name, ""));
        let number = || detail.parse().ok().filter(|n: &u32| *n >= 1);
        let (strategy, bound, max, scheduler) = match (what, detail) {
            ("icb", "") => (Strategy::Iterative, Bound::Preemptions, None, SchedulerKind::Bag),
            ("delay", "round-robin") => (Strategy::Iterative, Bound::Delays, None, SchedulerKind::RoundRobin),
            ("delay", "depth-first") => (Strategy::Iterative, Bound::Delays, None, SchedulerKind::DepthFirst),
            ("dfs", "") => (Strategy::DepthFirst, Bound::None, None, SchedulerKind::Bag),
            ("random", "") => (Strategy::Random, Bound::None, None, SchedulerKind::Bag),
            ("pct", _) => {
                (Strategy::Pct(number().filter(|depth| *depth <= MAX_STEPS)?), Bound::None, None, SchedulerKind::Bag)
            }
            ("db", _) => (Strategy::DepthFirst, Bound::Depth, Some(number()?), SchedulerKind::Bag),
            ("idfs", "") => (Strategy::Iterative, Bound::Depth, None, SchedulerKind::Bag),
            _ => return None,
        };
        Some(Way { name: name.into(), strategy, bound, max, scheduler })
    }
}

/// How far each search goes.
#[derive(Clone, Debug)]
pub struct Extent {
    /// Executions of a run.
    pub executions: u64,
    /// Runs of a random strategy, with the seeds 0, 1, 2, ..
    pub seeds: u64,
    /// Time for a search.
    pub time: Option<Duration>,
    /// Bytes for the states of a search.
    pub memory: Option<u64>,
    /// Where threads may be preempted.
    pub points: Points,
}

/// Measures a way on a program. `stop` may be set at any time from another thread; `progress` is called a few times a
/// second.
///
/// # Errors
/// [`CheckError`].
pub fn measure(
    program: &Program,
    id: &ProgramId,
    way: &Way,
    extent: &Extent,
    stop: &AtomicBool,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Measured, CheckError> {
    let plan = Plan {
        bound: way.bound,
        max: way.max,
        scheduler: way.scheduler,
        strategy: way.strategy,
        points: extent.points,
        memory: extent.memory,
        time: extent.time,
        // Strategies differ in the executions that they run, which are finite.
        properties: false,
        // All of them count states, and only a search with states could leave some out.
        symmetry: Symmetry::OFF,
        reduction: false,
        ..Plan::default()
    };
    plan.validate(program).map_err(CheckError::Plan)?;
    let has_bound = way.strategy == Strategy::Iterative;
    let coverage = has_bound.then(|| coverage(program, id, &plan, stop, progress)).transpose()?;
    let is_random = is_random(way.strategy);
    let one = |seed| {
        let plan = Plan { seed, ..plan.clone() };
        let run = run(program, id, &plan, extent.executions, stop, progress)?;
        Ok(Run { seed: is_random.then_some(seed), ..run })
    };
    let runs = (0..if is_random { extent.seeds } else { 1 }).map(one).collect::<Result<_, CheckError>>()?;
    let bound = if has_bound { way.bound } else { Bound::None };
    Ok(Measured { strategy: way.name.clone(), bound, coverage, runs })
}

/// What is within each bound: the search of `fabius check`, which stores states.
fn coverage(
    program: &Program,
    id: &ProgramId,
    plan: &Plan,
    stop: &AtomicBool,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Coverage, CheckError> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let report = check(program, id, &Plan { jobs, ..plan.clone() }, stop, progress)?;
    let (bug_cost, cut) = match report.verdict {
        Verdict::Bug { trace } => (Some(trace.cost), None),
        Verdict::Unknown { reason, .. } => (None, Some(reason)),
        Verdict::NoBugWithinBounds { .. } | Verdict::Verified => (None, None),
    };
    let exhausted = report.total_states.is_some();
    Ok(Coverage { levels: report.levels, completed: report.completed, exhausted, bug_cost, cut })
}

/// One execution after the other from the beginning, up to the first bug. All are run: there is no reduction.
fn run(
    program: &Program,
    id: &ProgramId,
    plan: &Plan,
    executions: u64,
    stop: &AtomicBool,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Run, CheckError> {
    let options = Options {
        executions: Some(executions),
        at_first_bug: true,
        // One after the other, so that the curve is the same on every machine.
        jobs: 1,
        ..options(plan, Instant::now())
    };
    let ((outcome, growth, too_many), is_full) = within_memory(plan.memory, stop, |stop| {
        let limits = StepLimits { deadline: options.deadline, memory: plan.memory, stop: Some(stop) };
        let machine = Machine::new(program, plan.points).within(limits);
        let system = Counting::new(machine, walk::scouts(plan.strategy), plan.memory, stop);
        let monitor = Monitor { stop, progress };
        let outcome = match is_random(plan.strategy) {
            true => walk::search(&system, &options, &monitor),
            false => stateless::search(&system, &options, &monitor, &|_| {}),
        };
        let too_many = system.is_full();
        (outcome, system.finish(), too_many)
    });
    let bug = outcome.bug.map(|found| confirm(program, id, plan, &found)).transpose()?;
    Ok(Run {
        exhausted: bug.is_none() && outcome.cut.is_none(),
        seed: None,
        executions: growth.last().map_or(0, |g| g.executions),
        growth,
        bug: bug.map(|trace| trace.kind),
        // To have made as many as were asked for is no limit that was hit.
        cut: outcome.cut.filter(|cut| *cut != Cut::Executions).map(|cut| match cut {
            Cut::Interrupted if is_full || too_many => Reason::Memory,
            cut => reason(cut, program),
        }),
    })
}
