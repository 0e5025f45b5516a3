//! Verification by summaries: exact for finite data. What fails is then shown by bounded model checking.

use crate::bounds::{cut_by, no_deadlocks, proof_bounds};
use crate::forms::translate;
use crate::in_time::in_time;
use crate::proof::{ProofError, ProofPlan};
use crate::stack::no_thread;
use crate::witness::shown;
use crate::work::Work;
use fabius_lang::program::Program;
use fabius_sequential::bmc;
use fabius_sequential::summaries::{self, GaveUp, NotSequential, Question, Reached, Statistics};
use fabius_smt::Limits;
use fabius_trace::{ProgramId, Reason, Verdict};
use fabius_translate::explicit::Trace;

/// Decides the executions that are translated.
pub fn attempt(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    work: &mut Work<'_>,
) -> Result<Verdict, ProofError> {
    let what = plan.sequentialization;
    let translated = translate(program, plan, Trace::Off)?;
    work.sliced = translated.sliced;
    let mut bounds = proof_bounds(what, id);
    match summarize(translated.program, work)? {
        Ok(reached) if reached.failing.is_empty() => {
            bounds.limits = translated.limits;
            bounds.limits.extend(no_deadlocks(program, plan));
            Ok(Verdict::NoBugWithinBounds { bounds })
        }
        Ok(_) => shown(program, id, plan, bounds, work),
        Err(gave_up) => {
            bounds.completed = None;
            Ok(Verdict::Unknown { reason: reason_of(gave_up, program, work.limits)?, bounds })
        }
    }
}

/// What executions reach, by summaries.
pub fn summarize(program: Program, work: &mut Work<'_>) -> Result<Result<Reached, GaveUp>, ProofError> {
    by_diagrams(work, move |limits, progress| summaries::reach(&program, Question::Failure, &[], limits, progress))
}

/// What an analysis with decision diagrams found out.
type Analysed<T> = Result<(Result<T, GaveUp>, Statistics), NotSequential>;

/// Does an analysis with decision diagrams, no longer than the limits allow.
pub fn by_diagrams<T: Send + 'static>(
    work: &mut Work<'_>,
    analysis: impl FnOnce(&Limits<'_>, &mut dyn FnMut(&Statistics)) -> Analysed<T> + Send + 'static,
) -> Result<Result<T, GaveUp>, ProofError> {
    let before = work.statistics;
    let with = |s: &Statistics| bmc::Statistics { queries: s.images, solving: s.time, ..bmc::Statistics::default() };
    let mut latest = Statistics::default();
    let analysed = in_time(
        work.limits,
        &mut |s: Statistics| {
            (work.progress)(before.and(&with(&s)));
            latest = s;
        },
        move |limits, news| analysis(limits, &mut |s| news(*s)),
    );
    let (found, done) = match analysed.map_err(no_thread)? {
        Some(analysed) => analysed.map_err(|_| ProofError::Internal("the translation is not sequential".into()))?,
        None => (Err(GaveUp::Stopped), latest),
    };
    work.statistics = before.and(&with(&done));
    work.figures = vec![("bits", u64::from(done.bits)), ("images", done.images), ("nodes", done.nodes as u64)];
    Ok(found)
}

/// What has no finite size, in a sentence. Translations have variables that the program does not have.
pub fn no_size(name: &str, program: &Program) -> String {
    let locals = program.procs.iter().flat_map(|p| &p.locals).map(|l| &l.name);
    let is_named = program.globals.iter().map(|g| &g.name).chain(locals).any(|n| n == name);
    let what = if is_named { format!("`{name}`") } else { "a value of type `int`".into() };
    format!("{what} has no finite size")
}

/// Why nothing is known, if that is not an error.
pub fn reason_of(gave_up: GaveUp, program: &Program, limits: &Limits<'_>) -> Result<Reason, ProofError> {
    match gave_up {
        GaveUp::NotFinite(name) => Err(ProofError::NotFinite(no_size(&name, program))),
        GaveUp::Stopped => Ok(cut_by(limits)),
        GaveUp::Memory => Ok(Reason::Memory),
    }
}
