//! One facade over the engines: a program and a plan go in, a verdict comes out.
//!
//! Every bug is replayed in the reference semantics before it is reported.

mod any_threads;
mod any_values;
mod bounds;
mod by_bmc;
mod by_horn;
mod by_invariants;
mod by_summaries;
mod caps;
pub mod compare;
mod convergence;
mod dead_ends;
mod endless;
mod few_values;
mod followed;
mod forms;
pub mod graph;
mod in_time;
mod least;
mod needed;
mod plan;
pub mod portfolio;
mod proof;
mod properties;
pub mod prove;
mod room;
mod stack;
mod vacuous;
mod witness;
mod work;

use fabius_explore::race::Conflict;
use fabius_explore::search::{Bug, Cut, Found, Monitor, Options, Outcome};
use fabius_explore::system::{Limit, Packed};
use fabius_explore::{flat, shrink, stateful, stateful_depth_first, stateless, symmetry, together, walk};
use fabius_lang::program::{Fairness, Proc, ProcId, Process, Program, StmtKind};
use fabius_machine::{Alike, Machine, StepLimits};
use fabius_semantics::{Departure, Ending, Settings};
use fabius_trace::{
    Bound, Bounds, BugKind, ErrorTrace, LevelStats, Mark, Points, ProgramId, Reason, Schedule, SchedulerKind, Verdict,
};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use room::within_memory;

pub use bounds::unknown;
pub use fabius_explore::search::{Progress, Strategy};
pub use plan::{Plan, PlanError, Symmetry};

/// What a check found out.
#[derive(Clone, Debug)]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// What was left out even if it is verified, in sentences.
    pub limits: Vec<String>,
    /// What was explored at each value of the bound.
    pub levels: Vec<LevelStats>,
    /// The largest value of the bound whose schedules were all explored.
    pub completed: Option<u32>,
    /// Number of all reachable states, if the search exhausted them and left no steps out.
    pub total_states: Option<u64>,
    /// What states are counted up to.
    pub symmetry: Symmetry,
    /// Whether steps were left out that can be made later just as well, so that not all states are counted.
    pub reduction: bool,
    /// How many outcomes of choices lead to the only state, if there is only one.
    pub outcomes: Option<u64>,
    /// Whether all states were explored and no execution comes to an end, because all go on for ever. Whether one of them is a livelock
    /// is another question ([`Plan::livelock`]).
    pub endless: bool,
    /// Bytes that the stored states took.
    pub memory: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckError {
    /// The plan makes no sense.
    Plan(PlanError),
    /// A bug that an engine reported does not replay in the reference semantics: an error of Fabius, not of the program.
    Internal(String),
}

/// Why a trace could not be replayed.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayError {
    /// It belongs to another program (or to other constants or instances).
    OtherProgram,
    /// It departs from the rules at a step.
    Departure {
        /// The step, from 0.
        step: usize,
        /// How.
        reason: String,
    },
}

/// Identifies a program: its file, and a hash of its text, constants and instances.
pub fn program_id(file: &str, source: &str, consts: &[(String, String)], instances: &[(String, u32)]) -> ProgramId {
    // JSON keeps the parts apart, whatever they contain.
    let parts = serde_json::json!([source, consts, instances]).to_string();
    ProgramId {
        file: file.into(),
        hash: format!("{:032x}", xxhash_rust::xxh3::xxh3_128(parts.as_bytes())),
        consts: consts.to_vec(),
        instances: instances.to_vec(),
        args: Vec::new(),
    }
}

/// Fixes the number of copies of each named `process p[*]`.
///
/// # Errors
/// Names a process that does not exist or whose number the program says itself.
pub fn with_instances(mut program: Program, instances: &[(String, u32)]) -> Result<Program, PlanError> {
    for (name, count) in instances {
        let known: Vec<&str> = program.processes.iter().map(|p| p.name.as_str()).collect();
        let help = format!("the processes of this program are: {}", known.join(", "));
        let message = format!("there is no process `{name}`");
        let numbered = known.iter().any(|k| k.starts_with(&format!("{name}[")));
        let process = program.processes.iter_mut().find(|p| p.name == *name);
        if process.is_none() && numbered {
            return Err(PlanError {
                message: format!("the threads of `process {name}` have the numbers that the program says"),
                help: "give the range by a constant, and set that: `--const N=3`".into(),
            });
        }
        let Some(process) = process else { return Err(PlanError { message, help }) };
        if let Some(fixed) = process.count {
            return Err(PlanError {
                message: format!("`process {name}[{fixed}]` has a fixed number of threads"),
                help: format!("write `process {name}[*]` to choose it from outside"),
            });
        }
        let most = if process.number.is_some() { fabius_lang::MOST_NUMBERED } else { 10_000 };
        if *count > most {
            return Err(PlanError {
                message: format!("{count} copies of `process {name}` are too many"),
                help: format!("at most {most} can be explored; most errors show with two or three"),
            });
        }
        process.count = Some(*count);
    }
    number_threads(&mut program);
    Ok(program)
}

/// Gives each thread of a process whose threads know their numbers, and are so many, a body of its own.
fn number_threads(program: &mut Program) {
    let mut processes = Vec::new();
    // What was said of the process is said of each of its threads.
    let mut threads: Vec<(ProcId, ProcId)> = Vec::new();
    for process in std::mem::take(&mut program.processes) {
        let (Some(count), Some(local)) = (process.count, process.number) else {
            processes.push(process);
            continue;
        };
        for number in 0..count {
            let name = format!("{}[{number}]", process.name);
            let body = fabius_lang::numbered(&program.procs[process.proc], local, number.into());
            program.procs.push(Proc { name: name.clone(), ..body });
            threads.push((process.proc, program.procs.len() - 1));
            processes.push(Process { name, proc: program.procs.len() - 1, count: Some(1), number: None });
        }
    }
    program.processes = processes;
    for property in &mut program.properties {
        let of_threads = |(proc, fairness): &(ProcId, Fairness)| {
            let (proc, fairness) = (*proc, *fairness);
            threads.iter().filter(move |(of, _)| *of == proc).map(move |(_, thread)| (*thread, fairness))
        };
        let more: Vec<(ProcId, Fairness)> = property.fairness.of.iter().flat_map(of_threads).collect();
        property.fairness.of.extend(more);
    }
}

/// Checks a program. `stop` may be set at any time from another thread; `progress` is called a few times a second.
///
/// # Errors
/// [`CheckError`].
pub fn check(
    program: &Program,
    id: &ProgramId,
    plan: &Plan,
    stop: &AtomicBool,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Report, CheckError> {
    plan.validate(program).map_err(CheckError::Plan)?;
    let (report, is_full) = within_memory(plan.memory, stop, |stop| checked(program, id, plan, stop, progress));
    let mut report = report?;
    if let Verdict::Unknown { reason: reason @ Reason::Interrupted, .. } = &mut report.verdict
        && is_full
    {
        *reason = Reason::Memory;
    }
    Ok(report)
}

fn checked(
    program: &Program,
    id: &ProgramId,
    plan: &Plan,
    stop: &AtomicBool,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Report, CheckError> {
    let began = Instant::now();
    let whole = program;
    let few = few_values::few(program);
    let program = few.as_ref().unwrap_or(program);
    let options = Options { properties: plan.asked(program), ..options(plan, began) };
    let monitor = Monitor { stop, progress };
    let limits = StepLimits { deadline: options.deadline, memory: plan.memory, stop: Some(stop) };
    let engine = plan.symmetry.of(Machine::new(program, plan.points)).within(limits);
    let stores = !plan.stateless && !is_random(plan.strategy);
    let is_symmetric = stores && symmetry::applies(&engine, &options);
    let joins_together = is_symmetric && plan.symmetry.threads && plan.symmetry.joined && together::keeps(plan.bound);
    let waits = || {
        let waits = Machine::joining_together(program, plan.points).filter(|_| joins_together)?;
        Some(plan.symmetry.of(waits))
    };
    let waiting = waits().map(|waits| waits.within(limits));
    let symmetry = Symmetry {
        threads: is_symmetric && engine.has_alike(Alike::Threads),
        values: is_symmetric && engine.has_alike(Alike::Values),
        joined: waiting.is_some(),
    };
    let mut outcome = explore(waiting.as_ref().unwrap_or(&engine), plan, &options, &monitor);
    if outcome.bug.is_none() && outcome.cut.is_none() {
        // Whoever was only asked whether somebody can go on, or what comes next, gave up without a word.
        outcome.cut = bounds::over(&options, stop);
        outcome.exhausted &= outcome.cut.is_none();
        outcome.completed = outcome.completed.and_then(|bound| bound.checked_sub(u32::from(outcome.cut.is_some())));
    }
    if let (Some(found), Some(waits)) = (&outcome.bug, waits()) {
        // Without limits: it is found.
        outcome.bug = Some(together::apart(&Machine::new(program, plan.points), &waits, &options, found));
    }
    outcome.bug = outcome.bug.map(|found| shrink::shrink(&engine, &options, &found, stop));
    let bounds = Bounds {
        bound: plan.bound,
        completed: outcome.completed,
        scheduler: plan.scheduler,
        points: plan.points,
        instances: id.instances.clone(),
        any: Vec::new(),
        limits: Vec::new(),
    };
    let vacuous = match (&outcome.bug, outcome.cut) {
        (None, None | Some(Cut::Executions | Cut::Unfair)) => {
            vacuous::is_vacuous(program, &engine, plan, &outcome, &options, &monitor)
        }
        _ => Ok(false),
    };
    let complete = outcome.exhausted && is_exhaustive(plan) && id.instances.is_empty();
    let verdict = match (&outcome.bug, outcome.cut) {
        (Some(found), _) => {
            let schedule = few_values::whole(program, plan.points, &found.schedule);
            let found = Found { schedule, ..found.clone() };
            Verdict::Bug { trace: Box::new(confirm(whole, id, plan, &found)?) }
        }
        (None, _) if vacuous == Ok(true) => Verdict::Unknown { reason: vacuous::reason(), bounds },
        (None, Some(Cut::Program(Limit::EndlessStep, span)))
            if vacuous::is_surely_vacuous(program, options.deadline, stop) =>
        {
            Verdict::Unknown { reason: vacuous::reason_of_loop(span, program), bounds }
        }
        (None, Some(cut)) => Verdict::Unknown { reason: reason(cut, program), bounds },
        (None, None) if vacuous.is_err() => {
            let cut = vacuous.expect_err("it was just seen");
            Verdict::Unknown { reason: reason(cut, program), bounds }
        }
        (None, None) if complete => Verdict::Verified,
        (None, None) => Verdict::NoBugWithinBounds { bounds },
    };
    let is_proven = matches!(verdict, Verdict::Verified | Verdict::NoBugWithinBounds { .. });
    let reduction = outcome.reduced > 0;
    let counted = outcome.levels.last().filter(|_| outcome.exhausted && !plan.stateless && !reduction);
    let total = counted.map(|level| level.states);
    let outcomes = (total == Some(1)).then(|| {
        let transitions = outcome.levels.last().map_or(0, |l| l.transitions);
        fabius_explore::complete::beginnings(&engine, &options, &monitor).max(transitions)
    });
    let mut report = Report {
        verdict,
        limits: Vec::new(),
        total_states: total,
        symmetry,
        reduction,
        outcomes,
        endless: is_proven && is_endless(program, plan, &outcome),
        completed: outcome.completed,
        levels: outcome.levels,
        memory: outcome.memory,
        elapsed: began.elapsed(),
    };
    let is_unjudged = outcome.bug.is_none() && outcome.cut.is_some_and(Cut::is_final);
    if !plan.properties || is_unjudged {
        properties::leave_out(program, &mut report);
    }
    Ok(report)
}

/// Runs a schedule that comes from elsewhere in the reference semantics: the trace, if it ends with a bug of this kind.
///
/// # Errors
/// [`ReplayError::Departure`] where it cannot be followed, or ends in another way.
pub fn run_schedule(
    program: &Program,
    id: &ProgramId,
    schedule: &Schedule,
    points: Points,
    kind: BugKind,
) -> Result<ErrorTrace, ReplayError> {
    let ending = match kind {
        BugKind::Deadlock => Ending::Deadlock,
        BugKind::DataRace => Ending::Race,
        _ => Ending::Fault,
    };
    let (bound, scheduler) = (Bound::None, SchedulerKind::Bag);
    let settings = Settings { points, bound, scheduler, cost: 0, delays: vec![0; schedule.len()], ending };
    fabius_semantics::replay(program, id, schedule, &settings)
        .map_err(|d: Departure| ReplayError::Departure { step: d.turn, reason: d.reason })
}

/// Replays a trace in the reference semantics and returns it anew, as the reference sees it.
///
/// # Errors
/// [`ReplayError`].
pub fn replay(program: &Program, id: &ProgramId, trace: &ErrorTrace) -> Result<ErrorTrace, ReplayError> {
    if id.hash != trace.program.hash {
        return Err(ReplayError::OtherProgram);
    }
    let delays = trace.steps.iter().map(|s| match s.mark {
        Some(Mark::Delay(n)) => n,
        _ => 0,
    });
    let ending = match trace.kind {
        BugKind::Deadlock => Ending::Deadlock,
        BugKind::DataRace => Ending::Race,
        BugKind::Livelock => Ending::Livelock(trace.cycle.unwrap_or(0) as usize),
        BugKind::Liveness => Ending::Property {
            // None has the number behind the last one.
            number: program.properties.iter().take_while(|p| Some(&p.name) != trace.property.as_ref()).count(),
            cycle: trace.cycle.map(|turn| turn as usize),
        },
        _ => Ending::Fault,
    };
    let settings = Settings {
        points: trace.points,
        bound: trace.bound,
        scheduler: trace.scheduler,
        cost: trace.cost,
        delays: delays.collect(),
        ending,
    };
    let departed = |d: Departure| ReplayError::Departure { step: d.turn, reason: d.reason };
    let again = fabius_semantics::replay(program, id, &trace.schedule(), &settings).map_err(departed)?;
    let whole = trace.steps.len();
    let departs = |step: usize, reason: String| Err(ReplayError::Departure { step, reason });
    if again.steps != trace.steps || again.message != trace.message || again.lanes != trace.lanes {
        let step = again.steps.iter().zip(&trace.steps).take_while(|(a, b)| a == b).count();
        return departs(step, "the trace shows something else than what happens".into());
    }
    if again.kind != trace.kind || again.span != trace.span {
        return departs(whole, format!("it ends in another bug: {}", again.message));
    }
    if again.property != trace.property {
        return departs(whole, "it is about another property than the trace says".into());
    }
    if again.cycle != trace.cycle {
        return departs(whole, "what repeats is not what the trace says".into());
    }
    if let Some(n) = (0..again.links.len().max(trace.links.len())).find(|n| again.links.get(*n) != trace.links.get(*n))
    {
        let step = again.links.get(n).or(trace.links.get(n)).map_or(whole, |link| link.to as usize);
        return departs(step.min(whole), "other steps belong together than the trace says".into());
    }
    if !costs_what_it_says(program, &settings, trace) {
        let reason = "the schedule does not cost what the trace says, under its bound and its scheduler";
        return departs(whole, reason.into());
    }
    Ok(again)
}

/// Whether the schedule costs what the trace says. The rounds of threads whose number was chosen by an engine are counted in an
/// order of its own, which the trace does not tell: they are no more than switches.
fn costs_what_it_says(program: &Program, settings: &Settings, trace: &ErrorTrace) -> bool {
    if settings.bound == Bound::Rounds && !trace.program.instances.is_empty() {
        let schedule = trace.schedule();
        let switches = schedule.windows(2).filter(|turns| turns[0].task != turns[1].task).count();
        return trace.cost as usize <= switches;
    }
    paid(program, settings, trace) == Some(trace.cost)
}

/// What the schedule of a trace costs, by the machine; `None` if it is none of that scheduler, or the bound makes no sense
/// with it.
fn paid(program: &Program, settings: &Settings, trace: &ErrorTrace) -> Option<u32> {
    let Settings { points, bound, scheduler, ref delays, .. } = *settings;
    let plan = Plan { bound, scheduler, points, properties: false, ..Plan::default() };
    plan.validate(program).ok()?;
    let options = Options { bound, scheduler, deadlock: false, ..Options::default() };
    shrink::cost(&Machine::new(program, points), &options, &trace.schedule(), delays)
}

fn is_random(strategy: Strategy) -> bool {
    !matches!(strategy, Strategy::Iterative | Strategy::DepthFirst)
}

fn options(plan: &Plan, began: Instant) -> Options {
    Options {
        bound: plan.bound,
        max: plan.max,
        scheduler: plan.scheduler,
        strategy: plan.strategy,
        races: (plan.races || plan.points == Points::Sync).then_some(Conflict::ReadWrite),
        deadlock: plan.deadlock,
        livelock: plan.livelock,
        symmetry: plan.symmetry != Symmetry::OFF,
        ample: plan.reduction,
        merges: plan.merging,
        jobs: plan.jobs,
        memory: plan.memory,
        deadline: plan.time.and_then(|t| began.checked_add(t)),
        executions: plan.executions,
        seed: plan.seed,
        ..Options::default()
    }
}

fn explore<S>(engine: &S, plan: &Plan, options: &Options, monitor: &Monitor<'_>) -> Outcome
where
    S: Packed + Sync,
    S::State: Send,
{
    match (plan.strategy, plan.stateless) {
        (strategy, _) if is_random(strategy) => walk::search(engine, options, monitor),
        (_, true) => stateless::search(engine, options, monitor, &|_| {}),
        (_, false) if flat::answers(engine, options) => flat::search(engine, options, monitor),
        (Strategy::Iterative, false) => stateful::search(engine, options, monitor, &|_| {}),
        (_, false) => stateful_depth_first::search(engine, options, monitor, &|_| {}),
    }
}

/// Whether all states were explored, none of them is final, and nothing drops executions: that would be an end, too, as that of the process
/// is for C. Properties are of executions that go on for ever.
fn is_endless(program: &Program, plan: &Plan, outcome: &Outcome) -> bool {
    let is_asked = plan.livelock || !program.properties.is_empty();
    let drops = || program.may_be_vacuous || program.any_stmt(|s| matches!(s.kind, StmtKind::Assume(_)));
    outcome.exhausted && outcome.finals == 0 && !plan.stateless && is_exhaustive(plan) && !is_asked && !drops()
}

/// Whether a search that cuts nothing off sees every schedule.
fn is_exhaustive(plan: &Plan) -> bool {
    match plan.scheduler {
        SchedulerKind::Bag => true,
        SchedulerKind::BoundedBag(_) => false,
        SchedulerKind::RoundRobin | SchedulerKind::DepthFirst => plan.bound == Bound::Delays,
    }
}

/// Replays what a search found in the reference semantics.
fn confirm(program: &Program, id: &ProgramId, plan: &Plan, found: &Found) -> Result<ErrorTrace, CheckError> {
    let ending = match found.what {
        Bug::Fault(..) | Bug::Condition(..) => Ending::Fault,
        Bug::Deadlock => Ending::Deadlock,
        Bug::Race(_) => Ending::Race,
        Bug::Livelock => Ending::Livelock(found.cycle.unwrap_or(0)),
        Bug::Property(number) => Ending::Property { number, cycle: found.cycle },
    };
    let settings = Settings {
        points: plan.points,
        bound: plan.bound,
        scheduler: plan.scheduler,
        cost: found.cost,
        delays: found.delays.clone(),
        ending,
    };
    let trace = fabius_semantics::replay(program, id, &found.schedule, &settings).map_err(|d| {
        let turn = d.turn;
        CheckError::Internal(format!(
            "the schedule found departs from the reference semantics at turn {turn}: {}",
            d.reason
        ))
    })?;
    if let Bug::Fault(kind, span) | Bug::Condition(kind, span) = found.what
        && (kind, span) != (trace.kind, trace.span)
    {
        let message = format!("the reference semantics sees another bug: {}", trace.message);
        return Err(CheckError::Internal(message));
    }
    Ok(trace)
}

fn reason(cut: Cut, program: &Program) -> Reason {
    match cut {
        Cut::Time => Reason::Time,
        Cut::Memory => Reason::Memory,
        Cut::Interrupted => Reason::Interrupted,
        Cut::Executions => Reason::Executions,
        Cut::Unfair => vacuous::reason_of_fairness(),
        Cut::Steps => {
            let most = fabius_explore::search::MAX_STEPS;
            Reason::Program { message: format!("an execution of more than {most} steps was not followed to its end") }
        }
        Cut::Nondeterminism => Reason::Program {
            message: "the model behaved differently when run again, which is an error of Fabius".into(),
        },
        Cut::Program(limit, span) => {
            let at = span.line_col(&program.source);
            let what = match limit {
                Limit::Choice => "a choice of more than 4,294,967,295 values",
                Limit::Recursion => "more than 4096 active calls in one task",
                Limit::EndlessStep => {
                    "a step of more than 1,000,000 statements (a loop without a scheduling point; with `--points sync` accesses to data are none)"
                }
                Limit::Integer => "an `int` beyond 64 bits",
                Limit::Tasks => "more than 65,535 tasks at once",
                Limit::Threads => {
                    "more threads than a `thread_set` or a `map[thread]` has room for (64; a thread keeps its number while a handle or an entry names it)"
                }
                Limit::Heap => "more than 65,535 heap objects at once",
                Limit::Program if few_values::is_guard(program, span) => &followed::not_tried(program, span),
                Limit::Program => &followed::not_followed(program, span),
                // These are limits of the search.
                Limit::Time | Limit::Memory | Limit::Interrupted => "a step was given up",
            };
            Reason::Program { message: format!("{what}, at {}:{}", at.line, at.column) }
        }
    }
}
