//! Terms over Booleans, integers and bit vectors; solvers that decide them.
//!
//! [`Terms`] makes terms, each only once, and simplifies while it does. [`Solver`] is what a decision procedure offers:
//! [`Embedded`] (bit-blasting over a SAT solver; nothing else is needed) and [`External`] (z3, cvc5, any other that
//! reads SMT-LIB 2 from a pipe).

mod blast;
mod bound;
mod choice;
mod embedded;
mod evaluate;
mod external;
mod gates;
mod order;
mod sat;
mod simplify;
mod small;
pub mod smtlib;
mod term;
mod watch;

pub use choice::SolverChoice;
pub use embedded::Embedded;
pub use evaluate::{Model, evaluate};
pub use external::{External, find_solver, run_script};
pub use sat::SatSolver;
pub use term::{Kind, Op, Sort, Term, Terms, Value};
pub use watch::{Room, Watch, most_of_available};

use std::time::Instant;

/// What a solver says of the asserted terms and the assumptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is a model.
    Sat,
    /// There is none.
    Unsat,
    /// There is none in which every integer fits into 64 bits.
    UnsatWithin64Bits,
    /// The solver gave up.
    Unknown,
}

/// Lists of terms, one of which holds.
#[derive(Clone, Debug, Default)]
pub struct Clauses {
    literals: Vec<Term>,
    ends: Vec<usize>,
}

impl Clauses {
    /// One more.
    pub fn push(&mut self, alternatives: &[Term]) {
        self.literals.extend_from_slice(alternatives);
        self.ends.push(self.literals.len());
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &[Term]> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.literals[start..*end])
    }
}

/// When a solver gives up.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// At this time.
    pub deadline: Option<Instant>,
    /// When this is set.
    pub stop: &'a std::sync::Arc<std::sync::atomic::AtomicBool>,
}

impl Limits<'_> {
    /// Whether to give up now.
    pub fn are_hit(&self) -> bool {
        self.stop.load(std::sync::atomic::Ordering::Relaxed) || self.deadline.is_some_and(|d| Instant::now() >= d)
    }
}

/// A decision procedure that can be asked again and again while more is asserted.
pub trait Solver {
    /// From now on the term holds.
    fn assert(&mut self, terms: &Terms, fact: Term);

    /// From now on one of the terms holds.
    fn assert_any(&mut self, terms: &Terms, alternatives: &[Term]);

    /// From now on, when the condition holds, one point in time is before another. Points are integer variables that occur
    /// in nothing else.
    fn before(&mut self, terms: &Terms, condition: Term, from: Term, to: Term);

    /// A truth value that is true in a model that is likely, to be tried first; said before the variable is used.
    fn prefer(&mut self, variable: Term) {
        let _ = variable;
    }

    /// Whether there is a model of everything asserted in which the assumptions hold as well.
    ///
    /// # Errors
    /// What an external solver said that was not an answer.
    fn check(&mut self, terms: &Terms, assumptions: &[Term], limits: &Limits<'_>) -> Result<Answer, String>;

    /// The same for one who can do without: no answer where it takes more bits of an integer than the solver has so far. The
    /// model is then one in which some integers have no value.
    ///
    /// # Errors
    /// As for [`Solver::check`].
    fn check_with_few_bits(
        &mut self,
        terms: &Terms,
        assumptions: &[Term],
        limits: &Limits<'_>,
    ) -> Result<Option<Answer>, String> {
        self.check(terms, assumptions, limits).map(Some)
    }

    /// The value of a variable in the model of the last check that said [`Answer::Sat`]; `None` if it does not matter.
    ///
    /// # Errors
    /// As for [`Solver::check`].
    fn value(&mut self, terms: &Terms, variable: Term) -> Result<Option<Value>, String>;

    /// What the solver is called.
    fn name(&self) -> String;

    /// Numbers that tell how much work it had, with their names.
    fn statistics(&self) -> Vec<(&'static str, u64)>;
}
