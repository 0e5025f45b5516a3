//! Symbolic verification: translate to a sequential program, look for a failing assertion, and lift what is found.

use crate::{CheckError, Plan, confirm};
use fabius_explore::search::Options;
use fabius_explore::shrink;
use fabius_lang::program::Program;
use fabius_machine::Machine;
use fabius_sequential::bmc::{Bmc, BmcError, CutOff, Depth, Outcome, Statistics, Witness};
use fabius_smt::{Embedded, External, Limits, Solver, find_solver};
use fabius_trace::{Bound, Bounds, Points, ProgramId, Reason, SchedulerKind, Verdict};
use fabius_translate::explicit::{Trace, explicit};
use fabius_translate::relay::relay;
use fabius_translate::{Event, Explicit, Translated, Unsupported, lift};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Which executions are translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequentialization {
    /// Those of the depth-first scheduler with so many delays.
    Delays(u32),
    /// Those of so many rounds over the threads.
    Rounds(u32),
    /// Those of so many rounds over the task buffers (`zields`), and so many rounds of yields whenever a level is active.
    Buffers {
        /// Rounds over the buffers.
        zields: u32,
        /// Rounds inside of a level.
        yields: u32,
    },
}

/// Who decides formulas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SolverChoice {
    /// The one that is built in.
    #[default]
    Embedded,
    /// A program of this name on the search path.
    Named(String),
    /// The program at this path.
    At(PathBuf),
}

/// How to verify.
#[derive(Clone, Debug)]
pub struct ProofPlan {
    /// What is translated.
    pub sequentialization: Sequentialization,
    /// Iterations of each loop.
    pub unwind: u32,
    /// Calls of a procedure that are active at the same time.
    pub recursion: u32,
    /// The solver.
    pub solver: SolverChoice,
    /// Time.
    pub time: Option<Duration>,
}

/// What verification found out.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The answer.
    pub verdict: Verdict,
    /// Where the time went.
    pub statistics: Statistics,
    /// What the solver says of its work.
    pub solver: Vec<(&'static str, u64)>,
    /// Time to lift and replay what was found.
    pub replaying: Duration,
    /// All of it.
    pub elapsed: Duration,
}

/// Why there is no proof.
#[derive(Clone, Debug, PartialEq)]
pub enum ProofError {
    /// The program has something that cannot be translated.
    Unsupported(Unsupported),
    /// The solver is missing, or failed.
    Solver(String),
    /// An error of Fabius.
    Internal(String),
}

/// The sequential program.
///
/// # Errors
/// [`ProofError::Unsupported`].
pub fn translate(program: &Program, what: Sequentialization, trace: Trace) -> Result<Translated, ProofError> {
    let source = explicit(program, trace).map_err(ProofError::Unsupported)?;
    match what {
        Sequentialization::Delays(k) => fabius_translate::depth_first::depth_first(&source, k),
        Sequentialization::Rounds(k) => fabius_translate::rounds::rounds(&source, k),
        Sequentialization::Buffers { zields, yields } => buffers(source, zields, yields),
    }
    .map_err(ProofError::Unsupported)
}

/// First the buffers, then the yields, then the levels.
fn buffers(mut source: Explicit, zields: u32, yields: u32) -> Result<Translated, Unsupported> {
    relay(&mut source.program)?;
    let one_buffer = fabius_translate::buffers::buffers(&source, zields)?;
    let no_yields = fabius_translate::yields::yields(&one_buffer, yields)?;
    fabius_translate::levels::levels(&no_yields)
}

/// Verifies a program. `stop` may be set at any time from another thread.
///
/// # Errors
/// [`ProofError`].
pub fn prove(program: &Program, id: &ProgramId, plan: &ProofPlan, stop: &Arc<AtomicBool>) -> Result<Proof, ProofError> {
    // Terms are as deep as executions are long.
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        let worker = builder.spawn_scoped(scope, || prove_here(program, id, plan, stop));
        let worker = worker.map_err(|e| ProofError::Internal(format!("no thread can be started: {e}")))?;
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Bytes of stack; only what is used is taken.
const STACK: usize = 1 << 30;

fn prove_here(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    stop: &Arc<AtomicBool>,
) -> Result<Proof, ProofError> {
    let began = Instant::now();
    let translated = translate(program, plan.sequentialization, Trace::On)?;
    let depth = Depth { unwind: plan.unwind, recursion: plan.recursion };
    let mut bmc = Bmc::new(&translated.program, solver(&plan.solver)?, depth).map_err(of_bmc)?;
    let limits = Limits { deadline: plan.time.and_then(|t| began.checked_add(t)), stop };
    let outcome = bmc.check(depth, &limits).map_err(of_bmc)?;
    let mut bounds = bounds(plan.sequentialization, id);
    bounds.limits = translated.limits.clone();
    let solved = Instant::now();
    let verdict = match outcome {
        Outcome::Bug(witness) => confirm_witness(program, id, plan.sequentialization, &translated, &witness)?,
        Outcome::Unknown => {
            bounds.completed = None;
            let reason =
                if stop.load(std::sync::atomic::Ordering::Relaxed) { Reason::Interrupted } else { Reason::Time };
            Verdict::Unknown { reason, bounds }
        }
        Outcome::Safe { within_64_bits: true, .. } => {
            let message = "integers beyond 64 bits might matter; `--solver z3` or `--solver cvc5` knows them";
            Verdict::Unknown { reason: Reason::Program { message: message.into() }, bounds }
        }
        Outcome::Safe { cuts, .. } => {
            bounds.limits.extend(cuts.iter().map(|cut| describe(cut, program)));
            Verdict::NoBugWithinBounds { bounds }
        }
    };
    Ok(Proof {
        verdict,
        statistics: bmc.statistics,
        solver: bmc.solver_statistics(),
        replaying: solved.elapsed(),
        elapsed: began.elapsed(),
    })
}

fn of_bmc(error: BmcError) -> ProofError {
    match error {
        BmcError::Solver(message) => ProofError::Solver(message),
        BmcError::NotSequential(wrong) => ProofError::Internal(format!("the translation has {}", wrong.what)),
    }
}

fn solver(choice: &SolverChoice) -> Result<Box<dyn Solver>, ProofError> {
    let path = match choice {
        SolverChoice::Embedded => return Ok(Box::new(Embedded::default())),
        SolverChoice::At(path) => path.clone(),
        SolverChoice::Named(name) => find_solver(name).ok_or_else(|| {
            ProofError::Solver(format!("`{name}` is not on the search path; say where it is with `--solver-path`"))
        })?,
    };
    Ok(Box::new(External::start(&path).map_err(ProofError::Solver)?))
}

fn bounds(what: Sequentialization, id: &ProgramId) -> Bounds {
    let (bound, completed, scheduler) = cost(what);
    Bounds {
        bound,
        completed: Some(completed),
        scheduler,
        points: Points::All,
        instances: id.instances.clone(),
        limits: Vec::new(),
    }
}

/// What the sequentialization bounds, in the terms of exploration.
fn cost(what: Sequentialization) -> (Bound, u32, SchedulerKind) {
    match what {
        Sequentialization::Delays(k) => (Bound::Delays, k, SchedulerKind::DepthFirst),
        Sequentialization::Rounds(k) | Sequentialization::Buffers { zields: k, .. } => {
            (Bound::Rounds, k.saturating_sub(1), SchedulerKind::Bag)
        }
    }
}

fn describe(cut: &CutOff, program: &Program) -> String {
    let at = cut.span.line_col(&program.source);
    let (line, column, after) = (at.line, at.column, cut.after);
    if cut.is_loop {
        format!("the loop at {line}:{column} was followed for {after} iterations")
    } else {
        format!("the recursive call at {line}:{column} was followed for {after} active calls")
    }
}

/// Lifts a counterexample, and replays it in the reference semantics.
fn confirm_witness(
    program: &Program,
    id: &ProgramId,
    what: Sequentialization,
    translated: &Translated,
    witness: &Witness,
) -> Result<Verdict, ProofError> {
    let internal = |message: String| ProofError::Internal(message);
    let mut events = Vec::new();
    for print in &witness.prints {
        if let [code, operand] = print.values.as_slice() {
            events.push(Event { at: print.at, values: [*code, *operand] });
        }
    }
    if std::env::var("DBG").is_ok() {
        for e in &events {
            eprintln!("{e:?}");
        }
        eprintln!("{}", fabius_lang::unparse(&translated.program).unwrap());
    }
    let happened = lift(&events, translated.nesting).map_err(|e| internal(e.0))?;
    let (bound, _, scheduler) = cost(what);
    let machine = Machine::new(program, Points::All);
    let options = Options { bound, scheduler, ..Options::default() };
    let Some(found) = shrink::find(&machine, &options, &happened.schedule) else {
        return Err(internal(format!("the counterexample is not an execution: {:?}", happened.schedule)));
    };
    let found = shrink::shrink(&machine, &options, &found);
    let plan = Plan { bound, scheduler, ..Plan::default() };
    match confirm(program, id, &plan, &found) {
        Ok(trace) => Ok(Verdict::Bug { trace: Box::new(trace) }),
        Err(CheckError::Internal(message)) => Err(ProofError::Internal(message)),
        Err(CheckError::Plan(wrong)) => Err(ProofError::Internal(wrong.message)),
    }
}
