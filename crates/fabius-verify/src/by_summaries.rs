//! Verification by summaries: exact for finite data. What fails is then shown by bounded model checking.

use crate::prove::{
    Figures, Proof, ProofError, ProofPlan, Sequentialization, cut_by, no_deadlocks, of_verdict, proof_bounds, shown,
    translate,
};
use fabius_lang::program::Program;
use fabius_sequential::bmc::Statistics;
use fabius_sequential::summaries::{self, Answer, Question};
use fabius_smt::Limits;
use fabius_trace::{ProgramId, Reason, Verdict};
use fabius_translate::explicit::Trace;
use std::time::Instant;

/// Decides a program.
pub fn prove(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(Sequentialization, Statistics),
) -> Result<Proof, ProofError> {
    let what = plan.sequentialization;
    let translated = translate(program, what, Trace::Off)?;
    let mut statistics = Statistics::default();
    let (answer, solver) = summarize(&translated.program, limits, &mut statistics, &mut |s| progress(what, s))?;
    let mut bounds = proof_bounds(what, id);
    let solved = Instant::now();
    let verdict = match answer {
        Answer::NotFinite(name) => return Err(ProofError::NotFinite(name)),
        Answer::Stopped | Answer::Memory => {
            bounds.completed = None;
            let reason = if answer == Answer::Memory { Reason::Memory } else { cut_by(limits) };
            Verdict::Unknown { reason, bounds }
        }
        Answer::Reached(reached) if reached.failing.is_empty() => {
            bounds.limits = translated.limits;
            bounds.limits.extend(no_deadlocks(program, what));
            Verdict::NoBugWithinBounds { bounds }
        }
        Answer::Reached(_) => shown(program, id, plan, bounds, limits, &mut statistics, &mut |s| progress(what, s))?,
    };
    let report = of_verdict(verdict);
    Ok(Proof { report, statistics, solver, replaying: solved.elapsed() })
}

/// What executions reach, by summaries; and figures of the work.
pub fn summarize(
    program: &Program,
    limits: &Limits<'_>,
    statistics: &mut Statistics,
    progress: &mut dyn FnMut(Statistics),
) -> Result<(Answer, Figures), ProofError> {
    let of = summaries::Limits { deadline: limits.deadline, stop: limits.stop };
    let before = *statistics;
    let mut tick = |s: &summaries::Statistics| progress(Statistics { queries: s.images, solving: s.time, ..before });
    let (answer, done) = summaries::reach(program, Question::Failure, &[], &of, &mut tick)
        .map_err(|_| ProofError::Internal("the translation is not sequential".into()))?;
    statistics.solving += done.time;
    statistics.queries += done.images;
    Ok((answer, vec![("bits", u64::from(done.bits)), ("images", done.images), ("nodes", done.nodes as u64)]))
}
