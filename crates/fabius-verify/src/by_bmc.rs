//! Verification by bounded model checking: data of any kind, loops and calls as far as the plan says.

use crate::bounds::{beyond_64_bits, cut_by, no_deadlocks, proof_bounds, solver};
use crate::forms::translate;
use crate::proof::{ProofError, ProofPlan};
use crate::witness::confirm_witness;
use crate::work::{Work, cut_off, follow};
use fabius_lang::program::Program;
use fabius_sequential::bmc::Outcome;
use fabius_trace::{ProgramId, Verdict};
use fabius_translate::explicit::Trace;

/// Decides the executions that are translated.
pub fn attempt(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    work: &mut Work<'_>,
) -> Result<Verdict, ProofError> {
    let what = plan.sequentialization;
    let translated = translate(program, plan, Trace::On)?;
    work.sliced = translated.sliced;
    let outcome = follow(&translated, solver(&plan.solver)?, plan.depth(), work.limits, work)?;
    let mut bounds = proof_bounds(what, id);
    bounds.limits = translated.limits.clone();
    bounds.limits.extend(no_deadlocks(program, plan));
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
            cut_off(plan, cuts.iter(), program, &mut bounds.limits, work);
            Verdict::NoBugWithinBounds { bounds }
        }
    })
}
