//! batsat, with an order of points in time as its theory.

use super::First;
use crate::Limits;
use crate::order::Order;
use batsat::theory::{Theory, TheoryArg};
use batsat::{Callbacks, ClauseKind, Lit, Solver, SolverInterface, SolverOpts, lbool};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The clock is read at every so many decisions.
const PACE: u32 = 64;

/// Stops batsat.
#[derive(Default)]
struct Stop {
    deadline: Option<Instant>,
    stop: Option<Arc<AtomicBool>>,
    /// Clauses that may still be learnt, if they are counted.
    effort: Option<u64>,
    asked: Cell<u32>,
    is_late: Cell<bool>,
}

impl Callbacks for Stop {
    fn on_new_clause(&mut self, _: &[Lit], kind: ClauseKind) {
        if kind != ClauseKind::Axiom {
            self.effort = self.effort.map(|left| left.saturating_sub(1));
        }
    }

    fn stop(&self) -> bool {
        if self.asked.replace(self.asked.get().wrapping_add(1)).is_multiple_of(PACE) {
            self.is_late.set(self.deadline.is_some_and(|d| Instant::now() >= d));
        }
        self.is_late.get() || self.effort == Some(0) || self.stop.as_ref().is_some_and(|s| s.load(Ordering::Relaxed))
    }
}

/// batsat and the order.
pub struct Batsat {
    sat: Solver<Stop>,
    order: Followed,
}

impl Batsat {
    /// Gives up after so many conflicts, if any number is given.
    pub fn new(effort: Option<u64>) -> Batsat {
        let sat = Solver::new(SolverOpts::default(), Stop { effort, ..Stop::default() });
        Batsat { sat, order: Followed::default() }
    }

    pub fn variable(&mut self, first: First) {
        match first {
            First::False => self.sat.new_var_default(),
            First::True => self.sat.new_var(lbool::TRUE, true),
        };
    }

    pub fn clause(&mut self, literals: &mut Vec<Lit>) {
        self.sat.add_clause_reuse(literals);
    }

    pub fn point(&mut self) -> u32 {
        self.order.order.point()
    }

    pub fn before(&mut self, condition: Lit, from: u32, to: u32) {
        self.order.order.edge_if(condition, from, to);
        // A literal that the trail holds already is looked at once more.
        self.order.seen = 0;
    }

    #[cfg(feature = "cadical")]
    pub fn order(&self) -> &Order {
        &self.order.order
    }

    pub fn solve(&mut self, assumptions: &[Lit], limits: &Limits<'_>) -> Option<bool> {
        let stop = self.sat.cb_mut();
        (stop.deadline, stop.stop) = (limits.deadline, Some(Arc::clone(limits.stop)));
        stop.asked.set(0);
        let answer = if self.order.order.is_empty() {
            self.sat.solve_limited(assumptions)
        } else {
            self.sat.solve_limited_th(&mut self.order, assumptions)
        };
        (answer != lbool::UNDEF).then_some(answer == lbool::TRUE)
    }

    pub fn value(&self, a: Lit) -> Option<bool> {
        let value = self.sat.value_lit(a);
        (value != lbool::UNDEF).then_some(value == lbool::TRUE)
    }

    pub fn is_needed(&mut self, a: Lit) -> bool {
        self.sat.unsat_core_contains_lit(a) || self.sat.unsat_core_contains_lit(!a)
    }

    pub fn statistics(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("clauses", self.sat.num_clauses()),
            ("conflicts", self.sat.num_conflicts()),
            ("propagations", self.sat.num_propagations()),
        ]
    }
}

/// The order, and how far it has followed batsat's trail.
#[derive(Default)]
struct Followed {
    order: Order,
    seen: usize,
    /// For each level: how much of the trail had been looked at.
    levels: Vec<usize>,
}

impl Followed {
    fn check(&mut self, solver: &mut TheoryArg<'_>) {
        while let Some(literal) = solver.model().get(self.seen).copied() {
            if let Err(cycle) = self.order.hold(literal) {
                let clause: Vec<Lit> = cycle.iter().map(|l| !*l).collect();
                solver.raise_conflict(&clause, false);
                return;
            }
            self.seen += 1;
        }
    }
}

impl Theory for Followed {
    fn final_check(&mut self, solver: &mut TheoryArg<'_>) {
        self.check(solver);
    }

    fn partial_check(&mut self, solver: &mut TheoryArg<'_>) {
        self.check(solver);
    }

    fn create_level(&mut self) {
        self.levels.push(self.seen);
        self.order.begin_level();
    }

    fn pop_levels(&mut self, n: usize) {
        let Some(remaining) = self.levels.len().checked_sub(n) else { return };
        let Some(seen) = self.levels.get(remaining).copied() else { return };
        self.seen = seen;
        self.levels.truncate(remaining);
        self.order.back_to(remaining);
    }

    fn n_levels(&self) -> usize {
        self.order.levels()
    }

    fn explain_propagation(&mut self, _: Lit) -> &[Lit] {
        unreachable!("edges are checked, not propagated")
    }
}
