//! From a program and a plan to a verdict.

use crate::symbols::Symbols;
use crate::trace::{About, trace};
use crate::unseen::unseen;
pub use crate::worker::Target;
use crate::worker::{self, At, Died, Ended, Progress, Watch};
use fabius_native_protocol::{
    Answer, Cut, Failed, Isolation, Module, NONDETERMINISTIC, Recorded, RecordedStep, Request, Walk, What,
};
use fabius_trace::{Bound, Bounds, BugKind, ErrorTrace, Grown, LevelStats, Points, Reason, SchedulerKind, Verdict};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// For how long the schedule of a bug is made simpler, if nothing else is asked for.
pub const SHRINKING: Duration = Duration::from_secs(3);

/// What to explore, within what.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What costs something.
    pub bound: Bound,
    /// The largest cost.
    pub max: Option<u32>,
    /// The scheduler.
    pub scheduler: SchedulerKind,
    /// How to walk.
    pub walk: Walk,
    /// Where threads may be switched.
    pub points: Points,
    /// Whether the first data race ends the search.
    pub first_race: bool,
    /// Whether memory that is left at the end is a bug.
    pub leaks: bool,
    /// Whether executions are left out that differ from others in nothing.
    pub reduction: bool,
    /// Executions to stop after.
    pub executions: Option<u64>,
    /// Time to stop after.
    pub time: Option<Duration>,
    /// Bytes that the process may take.
    pub memory: Option<u64>,
    /// Steps after which an execution is given up.
    pub max_steps: u32,
    /// For how long the schedule of a bug is made simpler at most: long executions take their time.
    pub shrinking: Duration,
    /// Seed of random strategies.
    pub seed: u64,
    /// How an execution begins with what was there at the beginning; `None`: by restored memory, as long as that is enough.
    pub isolation: Option<Isolation>,
    /// How many processes explore.
    pub jobs: usize,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// What was explored at each bound.
    pub levels: Vec<LevelStats>,
    /// The largest cost of which every schedule was explored.
    pub completed: Option<u32>,
    /// Executions.
    pub executions: u64,
    /// How many happens-before classes the last search had seen after so many executions.
    pub growth: Vec<Grown>,
    /// How long it took.
    pub elapsed: Duration,
    /// What is not said by the verdict: what was not explored.
    pub limits: Vec<String>,
    /// Why restored memory is not enough.
    pub not_restored: Option<String>,
    /// What else is to be said, which makes the verdict no weaker.
    pub notes: Vec<String>,
    /// Locations with data races that became scheduling points.
    pub racy: usize,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The program cannot be run.
    CannotRun(String),
    /// The program was not built by `fabius cc`, or ends before its `main`.
    NotOurs(String),
    /// The library in the process has failed, and has said why.
    Failed,
}

/// Bytes of heap that an execution may take.
const HEAP: u64 = 2 << 30;

fn request(what: What, plan: &Plan, data_points: Vec<u64>) -> Request {
    Request {
        isolation: plan.isolation.unwrap_or(Isolation::Memory),
        jobs: plan.jobs,
        data_points,
        what,
        bound: plan.bound,
        max: plan.max,
        scheduler: plan.scheduler,
        walk: plan.walk,
        points: plan.points,
        executions: plan.executions,
        time: plan.time.map(|t| t.as_millis() as u64),
        seed: plan.seed,
        max_steps: plan.max_steps,
        shrinking: plan.shrinking.as_millis() as u64,
        reduction: plan.reduction,
        first_race: plan.first_race,
        leaks: plan.leaks,
        heap: HEAP,
    }
}

/// Explores a program.
///
/// # Errors
/// If it cannot be explored.
pub fn explore(
    target: &Target,
    plan: &Plan,
    stop: &AtomicBool,
    progress: &dyn Fn(&Progress),
) -> Result<Report, Problem> {
    let watch = Watch { stop, progress, memory: plan.memory };
    let began = Instant::now();
    let first = run(target, plan, What::Explore, Vec::new(), &watch)?;
    let (None, Some(why)) = (plan.isolation, &first.not_restored) else { return Ok(first) };
    // What is left of the time.
    let time = plan.time.map(|t| t.saturating_sub(began.elapsed()));
    let plan = Plan { isolation: Some(Isolation::Process), time, ..plan.clone() };
    let mut again = run(target, &plan, What::Explore, Vec::new(), &watch)?;
    again.notes.push(format!("every execution was run in a process of its own: {why}"));
    again.elapsed = began.elapsed();
    Ok(again)
}

/// Runs the schedule of a trace again; what it prints is shown.
///
/// # Errors
/// If it cannot be run.
pub fn replay(target: &Target, plan: &Plan, trace: &ErrorTrace) -> Result<Report, Problem> {
    let watch = Watch { stop: &AtomicBool::new(false), progress: &|_| {}, memory: None };
    run(target, &for_trace(plan, trace), What::Replay(trace.schedule()), trace.data_points.clone(), &watch)
}

/// Runs the schedule of a trace again in gdb, which stops where it fails; how gdb has ended.
///
/// # Errors
/// If gdb cannot be started.
pub fn debug(target: &Target, plan: &Plan, trace: &ErrorTrace) -> std::io::Result<ExitStatus> {
    let what = What::Replay(trace.schedule());
    worker::debug(target, &request(what, &for_trace(plan, trace), trace.data_points.clone()))
}

fn run(target: &Target, plan: &Plan, what: What, points: Vec<u64>, watch: &Watch<'_>) -> Result<Report, Problem> {
    let began = Instant::now();
    let cannot = |e: std::io::Error| Problem::CannotRun(format!("`{}` cannot be run: {e}", target.program.display()));
    let is_replay = matches!(what, What::Replay(_));
    let isolation = plan.isolation.unwrap_or(Isolation::Memory);
    let mut answer = match worker::run(target, &request(what.clone(), plan, points), watch).map_err(cannot)? {
        Ended::Answered(answer) => *answer,
        Ended::Failed => return Err(Problem::Failed),
        Ended::Early(status) => {
            return Err(Problem::NotOurs(format!(
                "`{}` {} before it could be explored: was it built with `fabius cc` or `fabius c++`?",
                target.program.display(),
                worker::words(status)
            )));
        }
        Ended::Died(died) => died_in(target, &Plan { time: left(plan, began), ..plan.clone() }, watch, died)?,
        Ended::TooLarge { executions } => {
            let cut = Some(Cut::Memory);
            Answer { cut, executions, ..Answer::default() }
        }
        Ended::Late(at) => {
            let stopped = watch.stop.load(std::sync::atomic::Ordering::Relaxed);
            let cut = Some(if stopped { Cut::Interrupted } else { Cut::Time });
            match at {
                At::Execution(executions) => Answer { cut, executions, ..Answer::default() },
                At::Beginning => Answer { cut, limits: vec![not_begun(target)], ..Answer::default() },
            }
        }
    };
    if let (What::Explore, Isolation::Memory, Some(failed)) = (&what, isolation, &answer.bug) {
        let again = Plan { time: left(plan, began), ..plan.clone() };
        let cut = match confirmation(target, &again, failed, &answer.data_points, watch).map_err(cannot)? {
            Confirmation::Same => None,
            // It may come from what earlier executions have left behind.
            Confirmation::Other => Some(Cut::Said(NONDETERMINISTIC.into())),
            Confirmation::Late => Some(Cut::Time),
        };
        if cut.is_some() {
            answer = Answer { cut, executions: answer.executions, ..Answer::default() };
        }
    }
    if !is_replay && answer.bug.is_none() {
        answer.limits.extend(not_seen(&answer.modules));
    }
    let races = answer.bug.as_ref().is_some_and(|bug| bug.kind == BugKind::DataRace);
    // What orders the accesses may be what is not seen.
    let unseen = if races && !is_replay { not_seen(&answer.modules) } else { Vec::new() };
    let mut report = report(target, plan, answer, began, is_replay);
    report.notes.extend(unseen.into_iter().map(|what| format!("something may order these accesses: {what}")));
    Ok(report)
}

/// What is said of a program that has not come to `main`.
fn not_begun(target: &Target) -> String {
    let program = target.program.display();
    format!("`{program}` had not come to `main`: was it built with `fabius cc` or `fabius c++`?")
}

/// What is left of the time for one execution more, which is given a moment in any case.
fn left(plan: &Plan, began: Instant) -> Option<Duration> {
    const MOMENT: Duration = Duration::from_millis(500);
    plan.time.map(|time| time.saturating_sub(began.elapsed()).max(MOMENT))
}

/// What an execution is that was run again.
enum Confirmation {
    Same,
    Other,
    /// It did not come to its end in time.
    Late,
}

/// Whether a bug is the same in a process in which nothing else was run before.
fn confirmation(
    target: &Target,
    plan: &Plan,
    failed: &Failed,
    data_points: &[u64],
    watch: &Watch<'_>,
) -> std::io::Result<Confirmation> {
    let plan = for_kind(plan, failed.kind);
    let request = request(What::Repeat(failed.schedule.clone()), &plan, data_points.to_vec());
    let is = |bug: &Option<Failed>| bug.as_ref().is_some_and(|b| (b.kind, b.number) == (failed.kind, failed.number));
    Ok(match worker::run(target, &request, watch)? {
        Ended::Late(_) => Confirmation::Late,
        Ended::Answered(again) if is(&again.bug) => Confirmation::Same,
        _ => Confirmation::Other,
    })
}

/// With what it takes to see a bug of this kind.
fn for_kind(plan: &Plan, kind: BugKind) -> Plan {
    Plan {
        first_race: plan.first_race || kind == BugKind::DataRace,
        leaks: plan.leaks || kind == BugKind::Leak,
        ..plan.clone()
    }
}

/// As the execution of a trace was found.
fn for_trace(plan: &Plan, trace: &ErrorTrace) -> Plan {
    let ErrorTrace { bound, scheduler, points, kind, .. } = *trace;
    for_kind(&Plan { bound, scheduler, points, ..plan.clone() }, kind)
}

/// What is not seen of the program and of libraries that are not the system's.
fn not_seen(modules: &[Module]) -> Vec<String> {
    let own = modules.iter().filter(|m| {
        let systems = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"].iter().any(|folder| m.file.starts_with(folder));
        !systems && !m.file.contains("libfabius_native") && !m.file.contains("libtsan")
    });
    own.filter_map(|m| {
        let name = Path::new(&m.file).file_name().unwrap_or_default().display().to_string();
        unseen(&m.file).map(|what| format!("what memory is used for is not seen everywhere in {name}: {what}"))
    })
    .collect()
}

/// The process has died in an execution: runs that again up to its last step, to be sure and to tell what led there.
fn died_in(target: &Target, plan: &Plan, watch: &Watch<'_>, died: Died) -> Result<Answer, Problem> {
    let Died { status, schedule, executions, data_points } = died;
    let cannot = |e: std::io::Error| Problem::CannotRun(e.to_string());
    let again = worker::run(target, &request(What::Repeat(schedule.clone()), plan, data_points.clone()), watch)
        .map_err(cannot)?;
    let message = format!("the process of the program {}", worker::words(status));
    if matches!(again, Ended::Late(_)) {
        return Ok(Answer { cut: Some(Cut::Time), executions, ..Answer::default() });
    }
    if !matches!(&again, Ended::Died(other) if other.status == status) {
        let said = format!("{message} in an execution, and not when the same schedule was run again");
        return Ok(Answer { cut: Some(Cut::Said(said)), executions, ..Answer::default() });
    }
    let Some((last, before)) = schedule.split_last() else {
        return Ok(Answer { cut: Some(Cut::Said(message)), executions, ..Answer::default() });
    };
    let first = worker::run(target, &request(What::Repeat(before.to_vec()), plan, data_points.clone()), watch)
        .map_err(cannot)?;
    let (mut run, modules) = match first {
        Ended::Answered(answer) => (answer.replayed.unwrap_or_default(), answer.modules),
        _ => (Recorded::default(), Vec::new()),
    };
    let waiting = run.threads.get(last.task as usize).and_then(|t| t.waits.clone());
    run.failed_at = waiting.as_ref().map(|w| w.stack.clone()).unwrap_or_default();
    run.steps.push(RecordedStep {
        thread: last.task,
        choices: last.choices.clone(),
        events: waiting.into_iter().collect(),
        ..RecordedStep::default()
    });
    let cost = run.steps.iter().filter(|s| s.preempts).count() as u32;
    let message = format!("{message} in or after the last step that is shown");
    let delays = vec![0; schedule.len()];
    let bug = Failed { kind: BugKind::Crash, message, cost, schedule, delays, run, number: 0 };
    let races = data_points.len();
    Ok(Answer { bug: Some(bug), executions, data_points, races, modules, ..Answer::default() })
}

/// What is said of atomic operations on several variables that ask for less than sequential consistency.
pub const SHOWS_MORE: &str = "atomic operations on several variables are taken to be sequentially consistent, and some ask for less: what \
                          only weak memory shows may be missed";

fn report(target: &Target, plan: &Plan, answer: Answer, began: Instant, is_replay: bool) -> Report {
    let is_assumed = answer.shows_more && answer.bug.is_none() && !is_replay;
    let limits: Vec<String> = answer.limits.iter().cloned().chain(is_assumed.then(|| SHOWS_MORE.to_string())).collect();
    let bounds = Bounds {
        bound: plan.bound,
        completed: answer.completed,
        scheduler: plan.scheduler,
        points: plan.points,
        instances: Vec::new(),
        any: Vec::new(),
        limits: limits.clone(),
    };
    let verdict = match (&answer.bug, &answer.cut) {
        (Some(failed), _) => {
            let data_points = &answer.data_points;
            let program = target.program.display().to_string();
            let about = About {
                program: &program,
                args: &target.args,
                bound: plan.bound,
                scheduler: plan.scheduler,
                points: plan.points,
                data_points,
            };
            Verdict::Bug { trace: Box::new(trace(failed, &Symbols::read(&answer.modules), &about)) }
        }
        (None, Some(Cut::Time)) => Verdict::Unknown { reason: Reason::Time, bounds },
        (None, Some(Cut::Interrupted)) => Verdict::Unknown { reason: Reason::Interrupted, bounds },
        (None, Some(Cut::Executions)) => Verdict::Unknown { reason: Reason::Executions, bounds },
        (None, Some(Cut::Memory)) => Verdict::Unknown { reason: Reason::Memory, bounds },
        (None, Some(Cut::Said(message))) => {
            let message = match answer.limits.first() {
                Some(limit) if message == "a limit inside the program" => limit.clone(),
                _ => message.clone(),
            };
            Verdict::Unknown { reason: Reason::Program { message }, bounds }
        }
        (None, None) if is_replay => Verdict::NoBugWithinBounds { bounds },
        (None, None) if answer.exhausted && answer.limits.is_empty() => Verdict::Verified,
        (None, None) => Verdict::NoBugWithinBounds { bounds },
    };
    let differs = matches!(&answer.cut, Some(Cut::Said(message)) if message.starts_with(NONDETERMINISTIC));
    let not_restored = answer.not_restored.or_else(|| differs.then(|| NONDETERMINISTIC.to_string()));
    Report {
        not_restored,
        notes: Vec::new(),
        verdict,
        levels: answer.levels,
        completed: answer.completed,
        executions: answer.executions,
        growth: answer.growth,
        elapsed: began.elapsed(),
        limits,
        racy: answer.races,
    }
}
