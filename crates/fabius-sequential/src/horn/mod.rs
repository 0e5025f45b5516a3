//! Constrained Horn clauses of a sequential program: proofs about loops and recursion without a bound.
//!
//! The clauses have a solution, and a solver of Horn clauses says `sat`, if and only if **no** assertion can fail; `unsat`
//! is a bug. A solution gives each predicate a formula: the invariant of a loop, what a procedure is entered with, what it
//! does. It is believed only after [`check`] has asked, clause by clause and in a run of its own, whether it is one.

mod check;
mod encode;
mod needed;
mod solve;
mod text;
mod touched;

pub use check::{Checked, check};
pub use solve::{Answer, solve};

use crate::bmc::NotSequential;
use crate::bmc::layout::Leaf;
use fabius_lang::program::Program;
use fabius_smt::{Term, Terms};

/// A predicate over the state at a control point.
struct Predicate {
    name: String,
    /// What it is the predicate of, for those who read the clauses.
    of: String,
    arguments: Vec<Leaf>,
}

/// A predicate holds of these values.
#[derive(Clone)]
struct Atom {
    predicate: usize,
    arguments: Vec<Term>,
}

/// Whenever the body and the guard hold, so does the head; without a head they never hold.
struct Clause {
    body: Vec<Atom>,
    guard: Term,
    head: Option<Atom>,
}

/// The clauses of a program.
pub struct Clauses {
    terms: Terms,
    predicates: Vec<Predicate>,
    clauses: Vec<Clause>,
}

/// Why there are no clauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoClauses {
    /// The program is not sequential.
    NotSequential(NotSequential),
    /// It computes something that clauses have no words for.
    Inexpressible(&'static str),
}

impl Clauses {
    /// Makes the clauses.
    ///
    /// # Errors
    /// [`NoClauses`].
    pub fn of(program: &Program) -> Result<Clauses, NoClauses> {
        let mut clauses = encode::encode(program).map_err(NoClauses::NotSequential)?;
        needed::keep_needed(&mut clauses);
        text::expressible(&clauses)?;
        Ok(clauses)
    }

    /// As SMT-LIB text of the logic HORN, for any solver that knows it.
    pub fn text(&self) -> String {
        text::script(self)
    }

    /// How many predicates and clauses there are.
    pub fn counts(&self) -> (usize, usize) {
        (self.predicates.len(), self.clauses.len())
    }
}

/// The clauses of a program as SMT-LIB text of the logic HORN: `sat` means that no assertion can fail.
///
/// # Errors
/// [`NoClauses`].
pub fn clauses(program: &Program) -> Result<String, NoClauses> {
    Ok(Clauses::of(program)?.text())
}
