//! Symbolic verification: translate to a sequential program, look for a failing assertion, and lift what is found.

use crate::work::{Work, follow};
use crate::{CheckError, Plan, Report, any_threads, by_horn, by_summaries, confirm};
use fabius_explore::search::Options;
use fabius_explore::shrink;
use fabius_lang::program::{Program, StmtKind};
use fabius_machine::Machine;
use fabius_sequential::bmc::{Bmc, BmcError, CutOff, Depth, NotSequential, Outcome, Print, Statistics, Witness};
pub use fabius_smt::SolverChoice;
use fabius_smt::{Embedded, Limits, Solver};
use fabius_trace::{Bound, Bounds, Points, ProgramId, Reason, Schedule, SchedulerKind, Verdict};
use fabius_translate::explicit::{Trace, explicit};
pub use fabius_translate::linear_interface::is_parameterized;
use fabius_translate::linear_interface::{eager::eager, lazy::lazy, parameterized};
use fabius_translate::relay::relay;
use fabius_translate::yields::Begin;
use fabius_translate::{Event, Explicit, Prioritized, Translated, Unsupported, lift};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The largest bound of any kind.
pub const MOST: u32 = 64;

/// Which executions are translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequentialization {
    /// Those of the depth-first scheduler with so many delays.
    Delays(u32),
    /// Those of so many rounds over the threads.
    Rounds(u32),
    /// Those of so many rounds over the threads, however many there are of each process of any number.
    AnyThreads(u32),
    /// Those of so many rounds over the task buffers (`zields`), and so many rounds of yields whenever a level is active.
    Buffers {
        /// Rounds over the buffers.
        zields: u32,
        /// Rounds inside of a level.
        yields: u32,
    },
}

/// Who decides the sequential program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Linear interfaces for any number of threads with finite data, otherwise bounded model checking.
    #[default]
    Automatic,
    /// Bounded model checking: data of any kind, loops and calls followed as far as the plan says.
    Bmc,
    /// Procedure summaries with decision diagrams: finite data, exact.
    Summaries,
    /// Linear interfaces as relations: any number of threads, finite data, exact.
    Interfaces,
    /// Horn clauses, solved by z3: data of any kind, loops and calls without a bound.
    Horn,
}

impl Sequentialization {
    /// Two rounds of any number of threads, where a process is declared so. Three rounds of threads (then `init` may wait for two others that interrupt each other); or two rounds of task
    /// buffers, if there are several, and of yields.
    pub fn default_for(program: &Program) -> Sequentialization {
        if is_parameterized(program) {
            return Sequentialization::AnyThreads(2);
        }
        match (program.has_buffers(), program.has_single_buffer()) {
            (false, _) => Sequentialization::Rounds(3),
            (true, true) => Sequentialization::Buffers { zields: 1, yields: 2 },
            (true, false) => Sequentialization::Buffers { zields: 2, yields: 2 },
        }
    }

    /// What is bounded, in the terms of exploration.
    pub fn cost(self) -> (Bound, SchedulerKind) {
        match self {
            Sequentialization::Delays(_) => (Bound::Delays, SchedulerKind::DepthFirst),
            _ => (Bound::Rounds, SchedulerKind::Bag),
        }
    }

    /// The largest cost of its schedules.
    pub fn most(self) -> u32 {
        match self {
            Sequentialization::Delays(k) => k,
            Sequentialization::Rounds(k)
            | Sequentialization::AnyThreads(k)
            | Sequentialization::Buffers { zields: k, .. } => k.saturating_sub(1),
        }
    }

    /// The same kind with the largest bounds there are.
    pub fn widest(self) -> Sequentialization {
        match self {
            Sequentialization::Delays(_) => Sequentialization::Delays(MOST),
            Sequentialization::Rounds(_) => Sequentialization::Rounds(MOST),
            Sequentialization::AnyThreads(_) => Sequentialization::AnyThreads(MOST),
            Sequentialization::Buffers { .. } => Sequentialization::Buffers { zields: MOST, yields: MOST },
        }
    }

    /// The same kind with bounds that are `by` above the least, as far as these allow.
    fn raised(self, by: u32) -> Sequentialization {
        let rounds = |most: u32| most.min(by + 1);
        match self {
            Sequentialization::Delays(most) => Sequentialization::Delays(most.min(by)),
            Sequentialization::Rounds(most) => Sequentialization::Rounds(rounds(most)),
            Sequentialization::AnyThreads(most) => Sequentialization::AnyThreads(rounds(most)),
            Sequentialization::Buffers { zields, yields } => {
                Sequentialization::Buffers { zields: rounds(zields), yields: rounds(yields) }
            }
        }
    }
}

/// How to verify.
#[derive(Clone, Debug)]
pub struct ProofPlan {
    /// What is translated.
    pub sequentialization: Sequentialization,
    /// Who decides.
    pub engine: Engine,
    /// Iterations of each loop.
    pub unwind: u32,
    /// Calls of a procedure that are active at the same time.
    pub recursion: u32,
    /// Begin with the least bounds, and raise them in turn to those of `sequentialization`.
    pub incremental: bool,
    /// The solver.
    pub solver: SolverChoice,
    /// Time.
    pub time: Option<Duration>,
}

/// What a solver says of its work: names and numbers.
pub type Figures = Vec<(&'static str, u64)>;

/// What verification found out.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The answer.
    pub report: Report,
    /// Where the time went.
    pub statistics: Statistics,
    /// What the solver says of its work.
    pub solver: Figures,
    /// Time to lift and replay what was found.
    pub replaying: Duration,
}

/// How far verification is.
#[derive(Clone, Copy, Debug)]
pub struct ProofProgress {
    /// What is being verified.
    pub sequentialization: Sequentialization,
    /// What was done until now.
    pub statistics: Statistics,
    /// Time until now.
    pub elapsed: Duration,
}

/// Why there is no proof.
#[derive(Clone, Debug, PartialEq)]
pub enum ProofError {
    /// The program has something that cannot be translated.
    Unsupported(Unsupported),
    /// The solver is missing, or failed.
    Solver(String),
    /// There is no solver of Horn clauses, or it failed, or there are no clauses.
    HornSolver(String),
    /// The engine composes any number of threads, and the program has no process of any number.
    NeedsAnyThreads {
        /// Numbers were given from outside.
        given: bool,
    },
    /// Something has no finite size, says this sentence, and the engine needs one.
    NotFinite(String),
    /// An error of Fabius.
    Internal(String),
}

/// The sequential program.
///
/// # Errors
/// [`ProofError::Unsupported`].
pub fn translate(program: &Program, what: Sequentialization, trace: Trace) -> Result<Translated, ProofError> {
    if let Sequentialization::AnyThreads(k) = what {
        return Ok(lazy(&parameterized(program, trace).map_err(ProofError::Unsupported)?, k));
    }
    let source = explicit(program, trace).map_err(ProofError::Unsupported)?;
    match what {
        Sequentialization::Delays(k) => fabius_translate::depth_first::depth_first(&source, k),
        Sequentialization::Rounds(k) | Sequentialization::AnyThreads(k) => fabius_translate::rounds::rounds(&source, k),
        Sequentialization::Buffers { zields, yields } => buffers(source, zields, yields),
    }
    .map_err(ProofError::Unsupported)
}

/// First the buffers, then the yields, then the levels.
fn buffers(source: Explicit, zields: u32, yields: u32) -> Result<Translated, Unsupported> {
    fabius_translate::levels::levels(&yield_free(source, zields, yields)?)
}

fn yield_free(source: Explicit, zields: u32, yields: u32) -> Result<Prioritized, Unsupported> {
    let one_buffer = single_buffer(source, zields)?;
    fabius_translate::yields::yields(&one_buffer, yields, Begin::InAnyRound)
}

fn single_buffer(mut source: Explicit, zields: u32) -> Result<Prioritized, Unsupported> {
    relay(&mut source.program)?;
    fabius_translate::buffers::buffers(&source, zields)
}

/// How far a program is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Scheduling points, waiting and faults are statements.
    Explicit,
    /// There is one task buffer.
    SingleBuffer,
    /// There is one task buffer of one level: others are in shared memory.
    SharedMemory,
    /// There is one task buffer, and no `yield`.
    YieldFree,
    /// There are no tasks.
    Sequential,
}

/// The translated program as source text.
///
/// # Errors
/// [`ProofError::Unsupported`].
pub fn text_of(program: &Program, what: Sequentialization, form: Form) -> Result<String, ProofError> {
    let off = Trace::Off;
    let (zields, yields) = match what {
        Sequentialization::Buffers { zields, yields } => (zields, yields),
        Sequentialization::Rounds(k) | Sequentialization::AnyThreads(k) => (k, 2),
        Sequentialization::Delays(_) => (2, 2),
    };
    let source = || explicit(program, off);
    let translated = match form {
        Form::Explicit => source().map(|e| e.into_program()),
        Form::SharedMemory => source().and_then(|e| fabius_translate::synce::synce(&e)),
        Form::SingleBuffer => source().and_then(|e| single_buffer(e, zields)).map(|p| p.into_program()),
        Form::YieldFree => source().and_then(|e| yield_free(e, zields, yields)).map(|p| p.into_program()),
        Form::Sequential => return unparsed(&translate(program, what, off)?.program),
    };
    unparsed(&translated.map_err(ProofError::Unsupported)?)
}

fn unparsed(program: &Program) -> Result<String, ProofError> {
    fabius_lang::unparse(program).map_err(ProofError::Internal)
}

/// What another tool can be asked instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dump {
    /// The sequential program.
    Fab,
    /// The formula, with all loops and calls opened as far as the plan says.
    SmtLib,
    /// Constrained Horn clauses.
    Horn,
    /// The sequential program for Boogie.
    Boogie,
    /// The sequential program for CBMC.
    C,
}

/// The question that verification answers, for another tool.
///
/// # Errors
/// [`ProofError::Unsupported`].
pub fn dump(program: &Program, plan: &ProofPlan, format: Dump) -> Result<String, ProofError> {
    let translated = match (format, plan.sequentialization) {
        // A loop over the threads is a smaller formula than calls within calls.
        (Dump::SmtLib, Sequentialization::AnyThreads(k)) => {
            eager(&parameterized(program, Trace::Off).map_err(ProofError::Unsupported)?, k)
        }
        (_, what) => translate(program, what, Trace::Off)?,
    };
    match format {
        Dump::Fab => unparsed(&translated.program),
        Dump::SmtLib => with_stack(|| {
            let mut bmc = Bmc::new(&translated.program, Box::new(Embedded::default()));
            let (terms, all) = bmc.question(depth(plan)).map_err(of_bmc)?;
            Ok(fabius_smt::smtlib::script(terms, &all))
        }),
        Dump::Horn => with_stack(|| by_horn::text(&translated.program)),
        Dump::Boogie => Ok(fabius_sequential::export::boogie::boogie(&translated.program, plan.recursion.max(1))),
        Dump::C => Ok(fabius_sequential::export::c::c(&translated.program)),
    }
}

fn depth(plan: &ProofPlan) -> Depth {
    Depth { unwind: plan.unwind, recursion: plan.recursion }
}

/// Verifies a program. `stop` may be set at any time from another thread; `progress` is called before each question to the
/// solver.
///
/// # Errors
/// [`ProofError`].
pub fn prove(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    stop: &Arc<AtomicBool>,
    progress: &(dyn Fn(&ProofProgress) + Sync),
) -> Result<Proof, ProofError> {
    let began = Instant::now();
    let limits = Limits { deadline: plan.time.and_then(|t| began.checked_add(t)), stop };
    let widest = plan.sequentialization;
    with_stack(|| {
        let (mut last, mut open) = (None, None);
        for step in 0.. {
            let mut plan = plan.clone();
            if plan.incremental {
                plan.sequentialization = plan.sequentialization.raised(step);
            }
            let mut proof = attempt(program, id, &plan, &limits, &mut open, &mut |sequentialization, statistics| {
                progress(&ProofProgress { sequentialization, statistics, elapsed: began.elapsed() });
            })?;
            proof.report.elapsed = began.elapsed();
            let is_last = plan.sequentialization == widest;
            let goes_on = !is_last && matches!(proof.report.verdict, Verdict::NoBugWithinBounds { .. });
            if !goes_on {
                return Ok(match (proof.report.verdict.clone(), last) {
                    (Verdict::Unknown { reason, .. }, Some(finished)) => {
                        proof.report.verdict = Verdict::Unknown { reason, bounds: finished };
                        proof
                    }
                    _ => proof,
                });
            }
            if let Verdict::NoBugWithinBounds { bounds } = proof.report.verdict {
                last = Some(bounds);
            }
        }
        unreachable!("the bounds are raised without end")
    })
}

/// Terms are as deep as executions are long.
fn with_stack<T: Send>(work: impl FnOnce() -> Result<T, ProofError> + Send) -> Result<T, ProofError> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        worker.map_err(no_thread)?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

pub(crate) fn no_thread(error: std::io::Error) -> ProofError {
    ProofError::Internal(format!("no thread can be started: {error}"))
}

/// Bytes of stack; only what is used is taken.
pub(crate) const STACK: usize = 1 << 30;

fn attempt(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    limits: &Limits<'_>,
    open: &mut Option<String>,
    progress: &mut dyn FnMut(Sequentialization, Statistics),
) -> Result<Proof, ProofError> {
    let mut work = Work {
        limits,
        open,
        progress: &mut |statistics| progress(plan.sequentialization, statistics),
        statistics: Statistics::default(),
        figures: Vec::new(),
        replaying: Duration::ZERO,
    };
    let report = match (plan.sequentialization, plan.engine) {
        (Sequentialization::AnyThreads(count), _) => any_threads::attempt(program, id, plan, count, &mut work)?,
        (_, Engine::Interfaces) => return Err(needs_any_threads(id)),
        (_, Engine::Summaries) => of_verdict(by_summaries::attempt(program, id, plan, &mut work)?),
        (_, Engine::Horn) => of_verdict(by_horn::attempt(program, id, plan, &mut work)?),
        (_, Engine::Automatic | Engine::Bmc) => of_verdict(by_bmc(program, id, plan, &mut work)?),
    };
    let Work { statistics, figures, replaying, .. } = work;
    Ok(Proof { report, statistics, solver: figures, replaying })
}

fn needs_any_threads(id: &ProgramId) -> ProofError {
    ProofError::NeedsAnyThreads { given: !id.instances.is_empty() }
}

fn by_bmc(program: &Program, id: &ProgramId, plan: &ProofPlan, work: &mut Work<'_>) -> Result<Verdict, ProofError> {
    let what = plan.sequentialization;
    let translated = translate(program, what, Trace::On)?;
    let outcome = follow(&translated, solver(&plan.solver)?, depth(plan), work.limits, work)?;
    let mut bounds = proof_bounds(what, id);
    bounds.limits = translated.limits.clone();
    bounds.limits.extend(no_deadlocks(program, what));
    Ok(match outcome {
        Outcome::Bug(witness) => work.replay(|| confirm_witness(program, id, what, &translated, &witness))?,
        Outcome::Unknown => {
            bounds.completed = None;
            Verdict::Unknown { reason: cut_by(work.limits), bounds }
        }
        Outcome::Safe { within_64_bits: true, .. } => {
            bounds.completed = None;
            Verdict::Unknown { reason: beyond_64_bits(), bounds }
        }
        Outcome::Safe { cuts, .. } => {
            bounds.limits.extend(cuts.iter().map(|cut| describe(cut, program)));
            Verdict::NoBugWithinBounds { bounds }
        }
    })
}

/// Only the translation by rounds of threads looks for deadlocks.
pub(crate) fn no_deadlocks(program: &Program, what: Sequentialization) -> Option<String> {
    let waits = || program.any_stmt(|s| matches!(s.kind, StmtKind::Await(_) | StmtKind::Join(_)));
    let looked = matches!(what, Sequentialization::Rounds(_));
    (!looked && waits()).then(|| "deadlocks were not looked for".into())
}

/// Shows a bug that another engine says there is, by bounded model checking that goes deeper and deeper.
pub(crate) fn shown(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    mut bounds: Bounds,
    work: &mut Work<'_>,
) -> Result<Verdict, ProofError> {
    let what = plan.sequentialization;
    let translated = translate(program, what, Trace::On)?;
    let mut reason = None;
    for step in 1..=DEEPEST {
        let depth = Depth { unwind: 1 << step, recursion: 1 << step };
        match follow(&translated, solver(&plan.solver)?, depth, work.limits, work)? {
            Outcome::Bug(witness) => {
                return work.replay(|| confirm_witness(program, id, what, &translated, &witness));
            }
            Outcome::Safe { cuts, within_64_bits: true } if cuts.is_empty() => {
                reason = Some(beyond_64_bits());
                break;
            }
            Outcome::Safe { cuts, .. } if cuts.is_empty() => {
                return Err(ProofError::Internal("bounded model checking disagrees with the other engine".into()));
            }
            Outcome::Safe { .. } => {}
            Outcome::Unknown => break,
        }
    }
    bounds.completed = None;
    Ok(Verdict::Unknown { reason: reason.unwrap_or_else(|| cut_by(work.limits)), bounds })
}

/// Loops and calls are followed for two to the power of this at most.
const DEEPEST: u32 = 20;

/// A report that is a verdict.
pub(crate) fn of_verdict(verdict: Verdict) -> Report {
    Report {
        verdict,
        limits: Vec::new(),
        levels: Vec::new(),
        completed: None,
        total_states: None,
        memory: 0,
        elapsed: Duration::ZERO,
    }
}

pub(crate) fn cut_by(limits: &Limits<'_>) -> Reason {
    if limits.stop.load(std::sync::atomic::Ordering::Relaxed) { Reason::Interrupted } else { Reason::Time }
}

pub(crate) fn beyond_64_bits() -> Reason {
    let message = "integers beyond 64 bits might matter; `--solver z3` or `--solver cvc5` knows them";
    Reason::Program { message: message.into() }
}

pub(crate) fn of_bmc(error: BmcError) -> ProofError {
    match error {
        BmcError::Solver(message) => ProofError::Solver(message),
        BmcError::NotSequential(wrong) => not_sequential(wrong),
    }
}

pub(crate) fn not_sequential(wrong: NotSequential) -> ProofError {
    ProofError::Internal(format!("the translation has {}", wrong.what))
}

pub(crate) fn solver(choice: &SolverChoice) -> Result<Box<dyn Solver>, ProofError> {
    choice.start().map_err(ProofError::Solver)
}

pub(crate) fn proof_bounds(what: Sequentialization, id: &ProgramId) -> Bounds {
    let (bound, scheduler) = what.cost();
    Bounds {
        bound,
        completed: Some(what.most()),
        scheduler,
        points: Points::All,
        instances: id.instances.clone(),
        any: Vec::new(),
        limits: Vec::new(),
    }
}

pub(crate) fn describe(cut: &CutOff, program: &Program) -> String {
    let at = cut.span.line_col(&program.source);
    let (line, column, after) = (at.line, at.column, cut.after);
    if cut.is_loop {
        let iterations = if after == 1 { "iteration" } else { "iterations" };
        format!("the loop at {line}:{column} was followed for {after} {iterations}")
    } else {
        let calls = if after == 1 { "call" } else { "calls" };
        format!("the recursive call at {line}:{column} was followed for {after} active {calls}")
    }
}

/// Lifts a counterexample, and replays it in the reference semantics; or why that is beyond a limit.
fn confirm_witness(
    program: &Program,
    id: &ProgramId,
    what: Sequentialization,
    translated: &Translated,
    witness: &Witness,
) -> Result<Verdict, ProofError> {
    let happened = lift(&events(witness), translated.nesting).map_err(|e| ProofError::Internal(e.0))?;
    match found(program, id, what, &happened.schedule) {
        Err(ProofError::Internal(_)) if witness.beyond_64_bits => {
            let message = "there is a counterexample, but it chooses an `int` beyond 64 bits and cannot be run";
            Ok(not_run(id, what, Reason::Program { message: message.into() }))
        }
        verdict => verdict,
    }
}

/// A counterexample that is beyond a limit of those who run it.
fn not_run(id: &ProgramId, what: Sequentialization, reason: Reason) -> Verdict {
    Verdict::Unknown { reason, bounds: Bounds { completed: None, ..proof_bounds(what, id) } }
}

/// What a counterexample printed.
pub(crate) fn events(witness: &Witness) -> Vec<Event> {
    let event = |print: &Print| match print.values.as_slice() {
        [code, operand] => Some(Event { at: print.at, values: [*code, *operand] }),
        _ => None,
    };
    witness.prints.iter().filter_map(event).collect()
}

/// Replays a schedule in the reference semantics.
pub(crate) fn found(
    program: &Program,
    id: &ProgramId,
    what: Sequentialization,
    schedule: &Schedule,
) -> Result<Verdict, ProofError> {
    let (bound, scheduler) = what.cost();
    let machine = Machine::new(program, Points::All);
    let options = Options { bound, scheduler, ..Options::default() };
    let found = match shrink::find(&machine, &options, schedule) {
        Ok(found) => found,
        Err(Some(cut)) => return Ok(not_run(id, what, crate::reason(cut, program))),
        Err(None) => return Err(ProofError::Internal("the counterexample is not an execution".into())),
    };
    let found = shrink::shrink(&machine, &options, &found);
    let plan = Plan { bound, scheduler, ..Plan::default() };
    match confirm(program, id, &plan, &found) {
        Ok(trace) => Ok(Verdict::Bug { trace: Box::new(trace) }),
        Err(CheckError::Internal(message)) => Err(ProofError::Internal(message)),
        Err(CheckError::Plan(wrong)) => Err(ProofError::Internal(wrong.message)),
    }
}
