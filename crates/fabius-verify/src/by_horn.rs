//! Verification by Horn clauses: no loop and no call is cut off. What the solver of the clauses calls a bug is shown by
//! bounded model checking, which goes deeper until it has a trace.

use crate::prove::{
    Proof, ProofError, ProofPlan, Sequentialization, SolverChoice, cut_by, no_deadlocks, not_sequential, of_verdict,
    proof_bounds, shown, translate,
};
use fabius_lang::program::Program;
use fabius_sequential::bmc::Statistics;
use fabius_sequential::horn::{Answer, Clauses, NoClauses, clauses, solve};
use fabius_smt::{Limits, find_solver};
use fabius_trace::{ProgramId, Reason, Verdict};
use fabius_translate::explicit::Trace;
use std::path::PathBuf;
use std::time::Instant;

/// Decides the executions that are translated.
pub fn attempt(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(Sequentialization, Statistics),
) -> Result<Proof, ProofError> {
    let what = plan.sequentialization;
    let translated = translate(program, what, Trace::Off)?;
    let (mut statistics, mut numbers) = (Statistics::default(), Vec::new());
    let tick = &mut |s| progress(what, s);
    let answer = clauses_say(&translated.program, plan, limits, &mut statistics, &mut numbers, tick)?;
    let mut bounds = proof_bounds(what, id);
    let solved = Instant::now();
    let verdict = match answer {
        Answer::Safe { .. } => {
            bounds.limits = translated.limits;
            bounds.limits.extend(no_deadlocks(program, what));
            Verdict::NoBugWithinBounds { bounds }
        }
        Answer::Unsafe => shown(program, id, plan, bounds, limits, &mut statistics, tick)?,
        Answer::Unknown { reason } => {
            bounds.completed = None;
            Verdict::Unknown { reason: reason_of(reason, limits), bounds }
        }
    };
    Ok(Proof { report: of_verdict(verdict), statistics, solver: numbers, replaying: solved.elapsed() })
}

/// What the solver of Horn clauses says of a sequential program; and figures of the work.
pub fn clauses_say(
    program: &Program,
    plan: &ProofPlan,
    limits: &Limits<'_>,
    statistics: &mut Statistics,
    numbers: &mut Vec<(&'static str, u64)>,
    progress: &mut dyn FnMut(Statistics),
) -> Result<Answer, ProofError> {
    let solver = z3(&plan.solver)?;
    let began = Instant::now();
    let clauses = match Clauses::of(program) {
        Ok(clauses) => clauses,
        Err(NoClauses::Inexpressible(what)) => return Ok(Answer::Unknown { reason: inexpressible(what) }),
        Err(NoClauses::NotSequential(wrong)) => return Err(not_sequential(wrong)),
    };
    statistics.encoding += began.elapsed();
    statistics.queries += 1;
    progress(*statistics);
    let began = Instant::now();
    let answer = solve(&clauses, &solver, limits).map_err(ProofError::Solver)?;
    statistics.solving += began.elapsed();
    let (predicates, clauses) = clauses.counts();
    *numbers = vec![("predicates", predicates as u64), ("clauses", clauses as u64)];
    Ok(answer)
}

/// The clauses as text.
///
/// # Errors
/// [`ProofError`].
pub fn text(program: &Program) -> Result<String, ProofError> {
    clauses(program).map_err(|e| match e {
        NoClauses::Inexpressible(what) => ProofError::Solver(inexpressible(what)),
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

const MISSING: &str = "Horn clauses are solved by z3, which is not on the search path: install it, or say where it is with \
    `--solver-path`; or write the clauses for another solver with `--dump horn FILE`";

fn z3(choice: &SolverChoice) -> Result<PathBuf, ProofError> {
    match choice {
        SolverChoice::At(path) => Ok(path.clone()),
        SolverChoice::Named(name) if name != "z3" => {
            let message = format!("`{name}` is not known to solve Horn clauses; z3 does: leave out `--solver`");
            Err(ProofError::Solver(message))
        }
        _ => find_solver("z3").ok_or_else(|| ProofError::Solver(MISSING.into())),
    }
}
