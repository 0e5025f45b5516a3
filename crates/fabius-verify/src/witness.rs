//! From a counterexample of the sequential program to a trace of the concurrent one.

use crate::bounds::{beyond_64_bits, cut_by, proof_bounds, solver};
use crate::forms::translate;
use crate::proof::{ProofError, ProofPlan, Sequentialization};
use crate::work::{Work, follow};
use crate::{CheckError, Plan, confirm, reason};
use fabius_explore::search::Options;
use fabius_explore::shrink;
use fabius_lang::program::Program;
use fabius_machine::Machine;
use fabius_sequential::bmc::{Depth, Outcome, Print, Witness};
use fabius_smt::Limits;
use fabius_trace::{Bounds, Points, ProgramId, Reason, Schedule, Verdict};
use fabius_translate::explicit::Trace;
use fabius_translate::{Event, Translated, lift};

/// Shows a bug that another engine says there is, by bounded model checking that goes deeper and deeper.
pub fn shown(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    mut bounds: Bounds,
    work: &mut Work<'_>,
) -> Result<Verdict, ProofError> {
    let what = plan.sequentialization;
    let translated = translate(program, plan, Trace::On)?;
    let mut reason = None;
    for step in 1..=DEEPEST {
        let depth = Depth { unwind: 1 << step, recursion: 1 << step };
        match follow(&translated, solver(&plan.solver)?, depth, work.limits, work)? {
            Outcome::Bug(witness) => {
                return work.replay(|limits| confirm_witness(program, id, what, (&translated, &witness), limits));
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

/// Lifts a counterexample, and replays it in the reference semantics; or why that is beyond a limit.
pub fn confirm_witness(
    program: &Program,
    id: &ProgramId,
    what: Sequentialization,
    (translated, witness): (&Translated, &Witness),
    limits: &Limits<'_>,
) -> Result<Verdict, ProofError> {
    let happened = lift(&events(witness), translated.nesting).map_err(|e| ProofError::Internal(e.0))?;
    match found(program, id, what, &happened.schedule, limits) {
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
pub fn events(witness: &Witness) -> Vec<Event> {
    let event = |print: &Print| match print.values.as_slice() {
        [code, operand] => Some(Event { at: print.at, values: [*code, *operand] }),
        _ => None,
    };
    witness.prints.iter().filter_map(event).collect()
}

/// Replays a schedule in the reference semantics, after it was made shorter as far as the limits allow.
pub fn found(
    program: &Program,
    id: &ProgramId,
    what: Sequentialization,
    schedule: &Schedule,
    limits: &Limits<'_>,
) -> Result<Verdict, ProofError> {
    let (bound, scheduler) = what.cost();
    let machine = Machine::new(program, Points::All);
    let options = Options { bound, scheduler, deadline: limits.deadline, ..Options::default() };
    let found = match shrink::find(&machine, &options, schedule) {
        Ok(found) => found,
        Err(Some(cut)) => return Ok(not_run(id, what, reason(cut, program))),
        Err(None) => return Err(ProofError::Internal("the counterexample is not an execution".into())),
    };
    let found = shrink::shrink(&machine, &options, &found, limits.stop);
    let plan = Plan { bound, scheduler, ..Plan::default() };
    match confirm(program, id, &plan, &found) {
        Ok(trace) => Ok(Verdict::Bug { trace: Box::new(trace) }),
        Err(CheckError::Internal(message)) => Err(ProofError::Internal(message)),
        Err(CheckError::Plan(wrong)) => Err(ProofError::Internal(wrong.message)),
    }
}
