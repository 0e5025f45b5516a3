//! The work on one question.

use crate::bounds::{describe, of_bmc};
use crate::proof::{Figures, ProofError, ProofPlan};
use fabius_lang::program::Program;
use fabius_sequential::bmc::{Bmc, CutOff, Depth, Outcome, Statistics};
use fabius_smt::{Limits, Solver};
use fabius_translate::{Sliced, Translated};
use std::time::{Duration, Instant};

/// When to give up, and what it took.
pub struct Work<'a> {
    pub limits: &'a Limits<'a>,
    /// Why it was not found out whether more rounds matter, in a sentence; known from fewer rounds.
    pub open: &'a mut Option<String>,
    pub progress: &'a mut dyn FnMut(Statistics),
    pub statistics: Statistics,
    /// What was left out before the program was translated.
    pub sliced: Sliced,
    /// What the one who decides says.
    pub figures: Figures,
    /// Time to lift and replay.
    pub replaying: Duration,
    /// What defaults cut off, in sentences.
    pub cut: Vec<String>,
}

impl Work<'_> {
    /// Lifts and replays something.
    pub fn replay<T>(&mut self, run: impl FnOnce(&Limits<'_>) -> T) -> T {
        let began = Instant::now();
        let done = run(self.limits);
        self.replaying += began.elapsed();
        done
    }
}

/// Bounded model checking of a translation to some depth.
pub fn follow(
    translated: &Translated,
    solver: Box<dyn Solver>,
    depth: Depth,
    limits: &Limits<'_>,
    work: &mut Work<'_>,
) -> Result<Outcome, ProofError> {
    let mut bmc = Bmc::new(&translated.program, solver);
    let before = work.statistics;
    let outcome = bmc.check(depth, limits, &mut |s| (work.progress)(before.and(s))).map_err(of_bmc)?;
    work.statistics = before.and(&bmc.statistics);
    if work.figures.is_empty() {
        work.figures = bmc.solver_statistics();
    }
    Ok(outcome)
}

/// What was not followed further; who asked for so much knows.
pub fn cut_off<'c>(
    plan: &ProofPlan,
    cuts: impl Iterator<Item = &'c CutOff>,
    program: &Program,
    limits: &mut Vec<String>,
    work: &mut Work<'_>,
) {
    for cut in cuts {
        let words = describe(cut, program);
        let given = if cut.is_loop { plan.unwind } else { plan.recursion };
        if given.is_none() {
            work.cut.push(words.clone());
        }
        limits.push(words);
    }
}
