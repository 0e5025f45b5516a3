//! The solver that needs nothing else: bit-blasting over a SAT solver.
//!
//! Integers begin with few bits. Only when a contradiction needed that all of them fit, and more bits might make a
//! difference, is everything blasted anew with more.

use crate::blast::Blast;
use crate::bound::bits_needed;
use crate::sat::SatSolver;
use crate::term::{Term, Terms, Value};
use crate::{Answer, Clauses, Limits, Solver};
use batsat::Lit;

/// Bits of integers, in the order in which they are tried.
const WIDTHS: [usize; 4] = [8, 16, 32, 64];

/// The embedded solver.
pub struct Embedded {
    sat_solver: SatSolver,
    blast: Blast,
    /// Index into [`WIDTHS`].
    step: usize,
    /// What was asserted, for another width.
    facts: Vec<Term>,
    clauses: Clauses,
    orders: Vec<[Term; 3]>,
    preferred: Vec<Term>,
}

impl Default for Embedded {
    fn default() -> Embedded {
        Embedded::with(SatSolver::default())
    }
}

impl Embedded {
    /// With this SAT solver.
    pub fn with(sat_solver: SatSolver) -> Embedded {
        Embedded {
            sat_solver,
            blast: Blast::new(WIDTHS[0], sat_solver),
            step: 0,
            facts: Vec::new(),
            clauses: Clauses::default(),
            orders: Vec::new(),
            preferred: Vec::new(),
        }
    }
}

impl Embedded {
    /// The answer, if the bits there are give one.
    fn within_width(&mut self, terms: &Terms, assumptions: &[Term], limits: &Limits<'_>) -> Option<Answer> {
        let mut literals: Vec<Lit> = assumptions.iter().map(|t| self.blast.truth(terms, *t)).collect();
        literals.extend(self.blast.all_fit());
        match self.blast.gates.solve(&literals, limits) {
            None => return Some(Answer::Unknown),
            Some(true) => return Some(Answer::Sat),
            Some(false) if !self.blast.all_fit().is_some_and(|l| self.blast.gates.is_needed(l)) => {
                return Some(Answer::Unsat);
            }
            Some(false) => {}
        }
        // The contradiction used that all numbers fit. If anything has a solution, is there one where they do?
        let needed = bits_needed(terms, self.blast.terms());
        if needed.is_some_and(|bits| bits <= WIDTHS[self.step]) {
            return Some(Answer::Unsat);
        }
        // It may not need that.
        match self.blast.gates.solve(&literals[..assumptions.len()], limits) {
            None => Some(Answer::Unknown),
            Some(false) => Some(Answer::Unsat),
            Some(true) => None,
        }
    }

    /// Everything anew with more bits.
    fn widen(&mut self, terms: &Terms) {
        self.step += 1;
        self.blast = Blast::new(WIDTHS[self.step], self.sat_solver);
        self.preferred.iter().for_each(|t| self.blast.prefer(*t));
        for fact in &self.facts {
            let literal = self.blast.truth(terms, *fact);
            self.blast.gates.clause(&[literal]);
        }
        for clause in self.clauses.iter() {
            self.blast.any(terms, clause);
        }
        for [condition, from, to] in &self.orders {
            self.blast.before(terms, *condition, *from, *to);
        }
    }
}

impl Solver for Embedded {
    fn assert(&mut self, terms: &Terms, fact: Term) {
        self.facts.push(fact);
        let literal = self.blast.truth(terms, fact);
        self.blast.gates.clause(&[literal]);
    }

    fn assert_any(&mut self, terms: &Terms, alternatives: &[Term]) {
        self.clauses.push(alternatives);
        self.blast.any(terms, alternatives);
    }

    fn before(&mut self, terms: &Terms, condition: Term, from: Term, to: Term) {
        self.orders.push([condition, from, to]);
        self.blast.before(terms, condition, from, to);
    }

    fn prefer(&mut self, variable: Term) {
        self.preferred.push(variable);
        self.blast.prefer(variable);
    }

    fn check(&mut self, terms: &Terms, assumptions: &[Term], limits: &Limits<'_>) -> Result<Answer, String> {
        loop {
            match self.within_width(terms, assumptions, limits) {
                Some(answer) => return Ok(answer),
                None if self.step + 1 == WIDTHS.len() => return Ok(Answer::UnsatWithin64Bits),
                None => self.widen(terms),
            }
        }
    }

    fn check_with_few_bits(
        &mut self,
        terms: &Terms,
        assumptions: &[Term],
        limits: &Limits<'_>,
    ) -> Result<Option<Answer>, String> {
        Ok(self.within_width(terms, assumptions, limits))
    }

    fn value(&mut self, terms: &Terms, variable: Term) -> Result<Option<Value>, String> {
        Ok(self.blast.value(terms, variable))
    }

    fn name(&self) -> String {
        "embedded".into()
    }

    fn statistics(&self) -> Vec<(&'static str, u64)> {
        let mut all = self.blast.gates.statistics();
        all.push(("bits of an integer", WIDTHS[self.step] as u64));
        all
    }
}
