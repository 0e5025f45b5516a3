//! What the engines say alike: how far an answer goes, and why there is none.

use crate::proof::{ProofError, ProofPlan, Sequentialization};
use crate::{Report, Symmetry};
use fabius_explore::search::{Cut, Options};
use fabius_lang::program::{Program, StmtKind};
use fabius_sequential::bmc::{BmcError, CutOff, NotSequential};
use fabius_smt::{Limits, Solver, SolverChoice};
use fabius_trace::{Bound, Bounds, Points, ProgramId, Reason, SchedulerKind, Verdict};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A report that is a verdict.
pub fn of_verdict(verdict: Verdict) -> Report {
    Report {
        verdict,
        limits: Vec::new(),
        levels: Vec::new(),
        completed: None,
        total_states: None,
        symmetry: Symmetry::OFF,
        reduction: false,
        outcomes: None,
        endless: false,
        memory: 0,
        elapsed: Duration::ZERO,
    }
}

/// The report when a limit was hit before anything was done.
pub fn unknown(bound: Bound, scheduler: SchedulerKind, id: &ProgramId, reason: Reason) -> Report {
    let bounds = Bounds {
        bound,
        completed: None,
        scheduler,
        points: Points::All,
        instances: id.instances.clone(),
        any: Vec::new(),
        limits: Vec::new(),
    };
    of_verdict(Verdict::Unknown { reason, bounds })
}

pub fn cut_by(limits: &Limits<'_>) -> Reason {
    if limits.stop.load(std::sync::atomic::Ordering::Relaxed) { Reason::Interrupted } else { Reason::Time }
}

pub fn beyond_64_bits() -> Reason {
    let message = "integers beyond 64 bits might matter; `fabius verify --solver z3` or `--solver cvc5` knows them";
    Reason::Program { message: message.into() }
}

pub fn of_bmc(error: BmcError) -> ProofError {
    match error {
        BmcError::Solver(message) => ProofError::Solver(message),
        BmcError::NotSequential(wrong) => not_sequential(wrong),
    }
}

pub fn not_sequential(wrong: NotSequential) -> ProofError {
    ProofError::Internal(format!("the translation has {}", wrong.what))
}

pub fn solver(choice: &SolverChoice) -> Result<Box<dyn Solver>, ProofError> {
    choice.start().map_err(ProofError::Solver)
}

pub fn proof_bounds(what: Sequentialization, id: &ProgramId) -> Bounds {
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

pub fn describe(cut: &CutOff, program: &Program) -> String {
    let at = cut.span.line_col(&program.source);
    let (line, column, after) = (at.line, at.column, cut.after);
    if cut.is_loop {
        let iterations = if after == 1 { "iteration" } else { "iterations" };
        format!("the loop at {line}:{column} was followed for {after} {iterations} (`--unwind` raises this)")
    } else {
        let calls = if after == 1 { "call" } else { "calls" };
        format!(
            "the recursive call at {line}:{column} was followed for {after} active {calls} (`--recursion` raises this)"
        )
    }
}

/// What is left out where nobody looks at waiting.
pub use fabius_translate::NO_DEADLOCKS;

/// The translation by rounds over task buffers does not look for deadlocks.
pub fn no_deadlocks(program: &Program, plan: &ProofPlan) -> Option<String> {
    let waits = || program.any_stmt(|s| matches!(s.kind, StmtKind::Await(_) | StmtKind::Join(_)));
    let looked = !matches!(plan.sequentialization, Sequentialization::Buffers { .. });
    (plan.deadlock && !looked && waits()).then(|| NO_DEADLOCKS.into())
}

/// What ends a search now, if anything does.
pub fn over(options: &Options, stop: &AtomicBool) -> Option<Cut> {
    if stop.load(Ordering::Relaxed) {
        return Some(Cut::Interrupted);
    }
    options.deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(Cut::Time)
}
