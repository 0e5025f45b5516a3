//! Verification by bounded model checking: data of any kind, loops and calls as far as the plan says.

use crate::bounds::{beyond_64_bits, cut_by, no_deadlocks, proof_bounds, solver};
use crate::forms::{asking_for_more, asking_who_waits, translate, wider};
use crate::proof::{ProofError, ProofPlan, Sequentialization};
use crate::witness::confirm_witness;
use crate::work::{Work, cut_off, follow};
use fabius_lang::program::Program;
use fabius_sequential::bmc::{CutOff, Outcome};
use fabius_smt::Limits;
use fabius_trace::{ProgramId, Verdict};
use fabius_translate::Translated;
use fabius_translate::explicit::Trace;
use std::time::{Duration, Instant};

/// Decides the executions that are translated.
pub fn attempt(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    work: &mut Work<'_>,
) -> Result<Verdict, ProofError> {
    // What is found in more executions than there are may be none.
    if let Some(wider) = wider(program, plan)? {
        match decide(program, id, plan, &wider, work) {
            Err(ProofError::Internal(_)) => {}
            decided => return decided,
        }
    }
    decide(program, id, plan, &translate(program, plan, Trace::On)?, work)
}

fn decide(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    translated: &Translated,
    work: &mut Work<'_>,
) -> Result<Verdict, ProofError> {
    let what = plan.sequentialization;
    work.sliced = translated.sliced;
    let outcome = follow(translated, solver(&plan.solver)?, plan.depth(), work.limits, work)?;
    let mut bounds = proof_bounds(what, id);
    bounds.limits = translated.limits.clone();
    Ok(match outcome {
        Outcome::Bug(witness) => {
            work.replay(|limits| confirm_witness(program, id, what, (translated, &witness), limits))?
        }
        Outcome::Unknown => {
            bounds.completed = None;
            bounds.limits.extend(no_deadlocks(program, plan));
            Verdict::Unknown { reason: cut_by(work.limits), bounds }
        }
        Outcome::Safe { within_64_bits: true, .. } => {
            bounds.completed = None;
            bounds.limits.extend(no_deadlocks(program, plan));
            Verdict::Unknown { reason: beyond_64_bits(), bounds }
        }
        Outcome::Safe { mut cuts, .. } => {
            if cuts.is_empty() && are_enough(program, plan, work)? {
                return Ok(Verdict::Verified);
            }
            match who_waits(program, id, plan, work)? {
                Waits::ForEver(verdict) => return Ok(verdict),
                Waits::Nobody(more, limits) => {
                    cuts.extend(more);
                    let new: Vec<String> = limits.into_iter().filter(|l| !bounds.limits.contains(l)).collect();
                    bounds.limits.extend(new);
                }
                Waits::NotKnown => bounds.limits.extend(no_deadlocks(program, plan)),
            }
            cuts.sort_unstable();
            cuts.dedup_by_key(|cut| cut.span);
            cut_off(plan, cuts.iter(), program, &mut bounds.limits, work);
            Verdict::NoBugWithinBounds { bounds }
        }
    })
}

/// What is known of deadlocks besides.
enum Waits {
    ForEver(Verdict),
    /// As far as loops and calls were followed, but for these, and but for what else was left out.
    Nobody(Vec<CutOff>, Vec<String>),
    NotKnown,
}

/// So long is looked for deadlocks of task buffers, besides four times as long as it took to look at assertions.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks for deadlocks of task buffers, which are another question than assertions.
fn who_waits(program: &Program, id: &ProgramId, plan: &ProofPlan, work: &mut Work<'_>) -> Result<Waits, ProofError> {
    if !plan.deadlock {
        return Ok(Waits::NotKnown);
    }
    let patience = Instant::now() + PATIENCE + 4 * (work.statistics.encoding + work.statistics.solving);
    let deadline = work.limits.deadline.map_or(patience, |deadline| deadline.min(patience));
    let limits = Limits { deadline: Some(deadline), stop: work.limits.stop };
    for translated in asking_who_waits(program, plan)? {
        match follow(&translated, solver(&plan.solver)?, plan.depth(), &limits, work)? {
            Outcome::Bug(witness) => {
                let what = plan.sequentialization;
                match work.replay(|limits| confirm_witness(program, id, what, (&translated, &witness), limits)) {
                    // The translation lets the first task of a buffer be stuck at a wait that it has passed when it began: no
                    // execution, and what else waits is not known.
                    Err(ProofError::Internal(_)) => {}
                    verdict => return verdict.map(Waits::ForEver),
                }
            }
            Outcome::Safe { cuts, within_64_bits: false } => return Ok(Waits::Nobody(cuts, translated.limits)),
            Outcome::Safe { .. } | Outcome::Unknown => return Ok(Waits::NotKnown),
        }
    }
    Ok(Waits::NotKnown)
}

/// So long is looked for executions of more rounds, besides as long as it took to look at those of these rounds.
const AT_LEAST: Duration = Duration::from_secs(1);

/// Whether nothing fails, and there are no executions of more rounds. Where deadlocks are looked for, that is not asked.
fn are_enough(program: &Program, plan: &ProofPlan, work: &mut Work<'_>) -> Result<bool, ProofError> {
    let Sequentialization::Rounds(rounds) = plan.sequentialization else { return Ok(false) };
    // That no execution completes is asked elsewhere, if it is no proof.
    if plan.deadlock || !program.may_be_vacuous {
        return Ok(false);
    }
    let translated = asking_for_more(program, plan, rounds)?;
    if !translated.limits.is_empty() {
        return Ok(false);
    }
    let patience = Instant::now() + AT_LEAST + work.statistics.encoding + work.statistics.solving;
    let deadline = work.limits.deadline.map_or(patience, |deadline| deadline.min(patience));
    let limits = Limits { deadline: Some(deadline), stop: work.limits.stop };
    let outcome = follow(&translated, solver(&plan.solver)?, plan.depth(), &limits, work)?;
    Ok(matches!(outcome, Outcome::Safe { cuts, within_64_bits: false } if cuts.is_empty()))
}
