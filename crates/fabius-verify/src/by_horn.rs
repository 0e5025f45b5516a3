//! Verification by Horn clauses: no loop and no call is cut off. What the solver of the clauses calls a bug is shown by
//! bounded model checking, which goes deeper until it has a trace.

use crate::bounds::{cut_by, no_deadlocks, not_sequential, proof_bounds};
use crate::forms::translate;
use crate::proof::{ProofError, ProofPlan};
use crate::witness::shown;
use crate::work::Work;
use fabius_lang::program::Program;
use fabius_sequential::horn::{Answer, Clauses, NoClauses, clauses, solve};
use fabius_smt::{Limits, SolverChoice, find_solver};
use fabius_trace::{ProgramId, Reason, Verdict};
use fabius_translate::explicit::Trace;
use std::path::PathBuf;
use std::time::Instant;

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
    match clauses_say(&translated.program, plan, work)? {
        Answer::Safe { .. } => {
            bounds.limits = translated.limits;
            bounds.limits.extend(no_deadlocks(program, plan));
            Ok(Verdict::NoBugWithinBounds { bounds })
        }
        Answer::Unsafe => shown(program, id, plan, bounds, work),
        Answer::Unknown { reason } => {
            bounds.completed = None;
            Ok(Verdict::Unknown { reason: reason_of(reason, work.limits), bounds })
        }
    }
}

/// What the solver of Horn clauses says of a sequential program.
pub fn clauses_say(program: &Program, plan: &ProofPlan, work: &mut Work<'_>) -> Result<Answer, ProofError> {
    let solver = z3(&plan.solver)?;
    let began = Instant::now();
    let clauses = match Clauses::of(program) {
        Ok(clauses) => clauses,
        Err(NoClauses::Inexpressible(what)) => return Ok(Answer::Unknown { reason: inexpressible(what) }),
        Err(NoClauses::NotSequential(wrong)) => return Err(not_sequential(wrong)),
    };
    work.statistics.encoding += began.elapsed();
    work.statistics.queries += 1;
    (work.progress)(work.statistics);
    let began = Instant::now();
    let answer = solve(&clauses, &solver, work.limits).map_err(ProofError::HornSolver)?;
    work.statistics.solving += began.elapsed();
    let (predicates, clauses) = clauses.counts();
    work.figures = vec![("predicates", predicates as u64), ("clauses", clauses as u64)];
    Ok(answer)
}

/// The clauses as text.
///
/// # Errors
/// [`ProofError`].
pub fn text(program: &Program) -> Result<String, ProofError> {
    clauses(program).map_err(|e| match e {
        NoClauses::Inexpressible(what) => ProofError::HornSolver(inexpressible(what)),
        NoClauses::NotSequential(wrong) => not_sequential(wrong),
    })
}

fn inexpressible(what: &str) -> String {
    format!("Horn clauses have no words for {what}")
}

/// Why nothing is known.
pub fn reason_of(message: String, limits: &Limits<'_>) -> Reason {
    if limits.are_hit() { cut_by(limits) } else { Reason::Solver { message } }
}

const MISSING: &str = "Horn clauses are solved by z3, which is not on the search path";

fn z3(choice: &SolverChoice) -> Result<PathBuf, ProofError> {
    match choice {
        SolverChoice::At(path) => Ok(path.clone()),
        SolverChoice::Named(name) if name != "z3" => {
            Err(ProofError::HornSolver(format!("`{name}` is not known to solve Horn clauses; z3 does")))
        }
        _ => find_solver("z3").ok_or_else(|| ProofError::HornSolver(MISSING.into())),
    }
}
