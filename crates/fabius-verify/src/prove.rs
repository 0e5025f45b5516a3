//! Symbolic verification: translate to a sequential program, look for a failing assertion, and lift what is found.

use crate::bounds::{cut_by, of_bmc, of_verdict, proof_bounds};
use crate::caps::tell;
use crate::dead_ends::{endless_by_text, has_others};
use crate::endless::{Endless, endless};
use crate::forms::unparsed;
pub use crate::forms::{Form, text_of, translate};
pub use crate::in_time::{Budget, within};
use crate::in_time::{in_time_and_memory, within_what_is_left};
use crate::least::is_least;
pub use crate::proof::{Engine, Figures, MOST, Proof, ProofError, ProofPlan, ProofProgress, Sequentialization};
use crate::stack::no_thread;
use crate::work::Work;
use crate::{any_threads, by_bmc, by_horn, by_summaries, convergence, properties};
use fabius_lang::program::Program;
use fabius_sequential::bmc::{Bmc, Statistics};
pub use fabius_smt::SolverChoice;
pub use fabius_smt::most_of_available;
use fabius_smt::{Embedded, Limits, Watch};
use fabius_trace::{Bounds, ProgramId, Reason, Span, Verdict};
use fabius_translate::explicit::Trace;
pub use fabius_translate::linear_interface::{Deadlocks, is_parameterized};
use fabius_translate::linear_interface::{eager::eager, parameterized};
pub use fabius_translate::{Caps, Sliced};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

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
/// [`ProofError::Unsupported`], [`ProofError::GaveUp`].
pub fn dump(program: &Program, plan: &ProofPlan, format: Dump, stop: &Arc<AtomicBool>) -> Result<String, ProofError> {
    let budget = Budget { time: plan.time, memory: plan.memory, stop };
    let (program, plan) = (finite(program, plan)?, plan.clone());
    within_what_is_left(budget, move || dumped(&program, &plan, format))?
}

fn dumped(program: &Program, plan: &ProofPlan, format: Dump) -> Result<String, ProofError> {
    let translated = match (format, plan.sequentialization) {
        // A loop over the threads is a smaller formula than calls within calls.
        (Dump::SmtLib, Sequentialization::AnyThreads(k)) => {
            let deadlocks = plan.deadlocks();
            eager(&parameterized(program, Trace::Off, plan.caps(), deadlocks).map_err(ProofError::Unsupported)?, k)
        }
        _ => translate(program, plan, Trace::Off)?,
    };
    match format {
        Dump::Fab => unparsed(&translated.program),
        Dump::SmtLib => {
            let mut bmc = Bmc::new(&translated.program, Box::new(Embedded::default()));
            let (terms, all) = bmc.question(plan.depth()).map_err(of_bmc)?;
            Ok(fabius_smt::smtlib::script(terms, &all))
        }
        Dump::Horn => by_horn::text(&translated.program),
        Dump::Boogie => {
            Ok(fabius_sequential::export::boogie::boogie(&translated.program, plan.depth().recursion.max(1)))
        }
        Dump::C => Ok(fabius_sequential::export::c::c(&translated.program)),
    }
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
    let finite = finite(program, plan)?;
    let watch = Watch::begin(stop, plan.memory);
    let limits = Limits { deadline: plan.time.and_then(|t| began.checked_add(t)), stop: &watch.stop };
    let mut left = Left { finished: None, statistics: Statistics::default() };
    let mut hear = |news: News| match news {
        News::Progress(now) => {
            left.statistics = now.statistics;
            progress(&now);
        }
        News::Finished(bounds) => left.finished = Some(bounds),
    };
    let work = {
        let (program, id, plan) = (finite, id.clone(), plan.clone());
        move |limits: &Limits<'_>, tell: &mut dyn FnMut(News)| raised(&program, &id, &plan, began, limits, tell)
    };
    let done = match limits.are_hit() {
        true => None,
        false => in_time_and_memory(&limits, &watch, &mut hear, work).map_err(no_thread)?,
    };
    let mut proof = match done {
        Some(done) => done?,
        None => left.proof(cut_by(&limits), plan, id),
    };
    proof.report.elapsed = began.elapsed();
    if let Verdict::Unknown { reason: reason @ Reason::Interrupted, .. } = &mut proof.report.verdict
        && watch.is_full()
    {
        *reason = Reason::Memory;
    }
    if matches!(proof.report.verdict, Verdict::Verified | Verdict::NoBugWithinBounds { .. })
        && let Some(message) = not_followed(program)
    {
        leave_out(message, plan, id, &mut proof.report.verdict);
    }
    properties::leave_out(program, &mut proof.report);
    Ok(proof)
}

/// A step that does not end, or may not. What others do meanwhile is left out, and what it has done before is, too: nobody comes
/// behind it.
fn not_followed(program: &Program) -> Option<String> {
    if !has_others(program) {
        return None;
    }
    let at = |span: Span| {
        let at = span.line_col(&program.source);
        format!("{}:{}", at.line, at.column)
    };
    if let Some(span) = endless_by_text(program) {
        return Some(format!("the loop at {}, which has no scheduling point and no end, was not followed", at(span)));
    }
    let maybe = "which has no scheduling point and may have no end, was not followed for ever";
    if program.loops_end {
        return None;
    }
    match endless(program)? {
        Endless::Loop(span) => Some(format!("the loop at {}, {maybe}", at(span))),
        Endless::Recursion(span) => Some(format!("the recursive call at {}, {maybe}", at(span))),
    }
}

/// Says what was not followed.
fn leave_out(message: String, plan: &ProofPlan, id: &ProgramId, verdict: &mut Verdict) {
    match verdict {
        Verdict::Verified => {
            let bounds = Bounds { completed: None, ..proof_bounds(plan.sequentialization, id) };
            *verdict = Verdict::Unknown { reason: Reason::Program { message }, bounds };
        }
        Verdict::NoBugWithinBounds { bounds } => {
            let place = message.split(',').next().map_or_else(String::new, |place| format!("{place} was followed"));
            if !bounds.limits.iter().any(|limit| limit.starts_with(&place)) {
                bounds.limits.push(message);
            }
        }
        Verdict::Unknown { .. } | Verdict::Bug { .. } => {}
    }
}

/// The program without the properties of infinite executions, which no translation knows.
fn finite(program: &Program, plan: &ProofPlan) -> Result<Program, ProofError> {
    if plan.properties {
        let help = "`fabius check` decides it, if there are finitely many states; `fabius verify --no-properties` leaves it out";
        properties::refuse(program, help)?;
    }
    Ok(properties::without(program))
}

/// What is heard of the work.
enum News {
    Progress(ProofProgress),
    /// There is no bug within these bounds.
    Finished(Bounds),
}

/// What is known of work that nobody waits for any more.
struct Left {
    finished: Option<Bounds>,
    statistics: Statistics,
}

impl Left {
    fn proof(self, reason: Reason, plan: &ProofPlan, id: &ProgramId) -> Proof {
        let none = || Bounds { completed: None, ..proof_bounds(plan.sequentialization, id) };
        Proof {
            report: of_verdict(Verdict::Unknown { reason, bounds: self.finished.unwrap_or_else(none) }),
            statistics: self.statistics,
            sliced: Sliced::default(),
            solver: Vec::new(),
            replaying: Duration::ZERO,
            least: false,
            cut: Vec::new(),
        }
    }
}

/// Tries with the bounds of the plan, or raises them in turn up to those.
fn raised(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    began: Instant,
    limits: &Limits<'_>,
    tell_news: &mut dyn FnMut(News),
) -> Result<Proof, ProofError> {
    let widest = plan.sequentialization;
    let (mut last, mut open) = (None, None);
    for step in 0.. {
        let mut plan = plan.clone();
        if plan.incremental && plan.engine != Engine::Convergence {
            plan.sequentialization = plan.sequentialization.raised(step);
        }
        let mut proof = attempt(program, id, &plan, limits, &mut open, &mut |sequentialization, statistics| {
            tell_news(News::Progress(ProofProgress { sequentialization, statistics, elapsed: began.elapsed() }));
        })?;
        let is_last = plan.sequentialization == widest || plan.engine == Engine::Convergence;
        let goes_on = !is_last && matches!(proof.report.verdict, Verdict::NoBugWithinBounds { .. });
        if !goes_on {
            if let Verdict::Bug { trace } = &proof.report.verdict {
                let grows = || plan.incremental && is_least(program, widest, trace, last.as_ref());
                proof.least = plan.engine == Engine::Convergence || grows();
                if proof.least {
                    proof.report.completed = trace.cost.checked_sub(1);
                }
            }
            tell(program, id, &plan, limits, &mut proof);
            return Ok(match (proof.report.verdict.clone(), last) {
                (Verdict::Unknown { reason, .. }, Some(finished)) => {
                    proof.report.verdict = Verdict::Unknown { reason, bounds: finished };
                    proof
                }
                _ => proof,
            });
        }
        if let Verdict::NoBugWithinBounds { bounds } = proof.report.verdict {
            tell_news(News::Finished(bounds.clone()));
            last = Some(bounds);
        }
    }
    unreachable!("the bounds are raised without end")
}

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
        sliced: Sliced::default(),
        figures: Vec::new(),
        replaying: Duration::ZERO,
        cut: Vec::new(),
    };
    let report = match (plan.sequentialization, plan.engine) {
        (_, Engine::Convergence) => convergence::attempt(program, id, plan, &mut work)?,
        (Sequentialization::AnyThreads(count), _) => any_threads::attempt(program, id, plan, count, &mut work)?,
        (_, Engine::Interfaces) => return Err(needs_any_threads(id)),
        (_, Engine::Summaries) => of_verdict(by_summaries::attempt(program, id, plan, &mut work)?),
        (_, Engine::Horn) => of_verdict(by_horn::attempt(program, id, plan, &mut work)?),
        (_, Engine::Automatic | Engine::Bmc) => of_verdict(by_bmc::attempt(program, id, plan, &mut work)?),
    };
    let Work { statistics, sliced, figures, replaying, cut, .. } = work;
    Ok(Proof { report, statistics, sliced, solver: figures, replaying, least: false, cut })
}

fn needs_any_threads(id: &ProgramId) -> ProofError {
    ProofError::NeedsAnyThreads { given: !id.instances.is_empty() }
}
