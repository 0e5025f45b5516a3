//! The SAT solvers that decide the clauses.
//!
//! batsat is there always. With the feature `cadical`, what it does not decide within some conflicts goes to CaDiCaL, with all
//! clauses, and stays there.

mod batsat;
#[cfg(feature = "cadical")]
mod cadical;

use self::batsat::Batsat;
#[cfg(feature = "cadical")]
use self::cadical::Cadical;
use crate::Limits;
use ::batsat::{Lit, Var};

/// Which SAT solvers decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SatSolver {
    /// batsat.
    Batsat,
    /// batsat, which gives up after so many conflicts.
    Few(u64),
    /// CaDiCaL.
    #[cfg(feature = "cadical")]
    Cadical,
    /// batsat for so many conflicts, then CaDiCaL.
    #[cfg(feature = "cadical")]
    Both(u64),
}

impl SatSolver {
    /// The one of this name.
    ///
    /// # Errors
    /// It is known, but not in this build.
    pub fn named(name: &str) -> Result<Option<SatSolver>, String> {
        match name {
            "batsat" => Ok(Some(SatSolver::Batsat)),
            #[cfg(feature = "cadical")]
            "cadical" => Ok(Some(SatSolver::Cadical)),
            #[cfg(not(feature = "cadical"))]
            "cadical" => Err("this `fabius` was built without CaDiCaL; `--features cadical` builds one with it".into()),
            _ => Ok(None),
        }
    }
}

/// What batsat decides in less is not worth another solver.
#[cfg(feature = "cadical")]
const FEW: u64 = 5_000;

impl Default for SatSolver {
    #[cfg(feature = "cadical")]
    fn default() -> SatSolver {
        SatSolver::Both(FEW)
    }

    #[cfg(not(feature = "cadical"))]
    fn default() -> SatSolver {
        SatSolver::Batsat
    }
}

/// The value of a variable that is tried first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// False.
    False,
    /// True.
    True,
}

enum Solver {
    Batsat(Box<Batsat>),
    #[cfg(feature = "cadical")]
    Cadical(Box<Cadical>),
}

/// Clauses, an order beside them, and who decides them.
pub struct Sat {
    solver: Solver,
    /// What CaDiCaL will be told if it gets the question.
    #[cfg(feature = "cadical")]
    kept: Option<cadical::Kept>,
    variables: u32,
}

impl Sat {
    pub fn new(sat_solver: SatSolver) -> Sat {
        match sat_solver {
            SatSolver::Batsat => Sat::with(Solver::Batsat(Box::new(Batsat::new(None)))),
            SatSolver::Few(conflicts) => Sat::with(Solver::Batsat(Box::new(Batsat::new(Some(conflicts))))),
            #[cfg(feature = "cadical")]
            SatSolver::Cadical => Sat::with(Solver::Cadical(Box::new(Cadical::new()))),
            #[cfg(feature = "cadical")]
            SatSolver::Both(conflicts) => {
                let batsat = Solver::Batsat(Box::new(Batsat::new(Some(conflicts))));
                Sat { kept: Some(cadical::Kept::default()), ..Sat::with(batsat) }
            }
        }
    }

    fn with(solver: Solver) -> Sat {
        Sat {
            solver,
            #[cfg(feature = "cadical")]
            kept: None,
            variables: 0,
        }
    }

    /// A new variable.
    pub fn variable(&mut self, first: First) -> Lit {
        let literal = Lit::new(Var::unsafe_from_idx(self.variables), true);
        self.variables += 1;
        match &mut self.solver {
            Solver::Batsat(solver) => solver.variable(first),
            #[cfg(feature = "cadical")]
            Solver::Cadical(solver) => solver.variable(literal, first),
        }
        #[cfg(feature = "cadical")]
        if let (Some(kept), First::True) = (&mut self.kept, first) {
            kept.preferred.push(literal);
        }
        literal
    }

    /// One of the literals holds. What is left of the list does not matter.
    pub fn clause(&mut self, literals: &mut Vec<Lit>) {
        #[cfg(feature = "cadical")]
        if let Some(kept) = &mut self.kept {
            kept.clauses.extend_from_slice(literals);
            kept.ends.push(kept.clauses.len());
        }
        match &mut self.solver {
            Solver::Batsat(solver) => solver.clause(literals),
            #[cfg(feature = "cadical")]
            Solver::Cadical(solver) => solver.clause(literals),
        }
    }

    /// A new point in time.
    pub fn point(&mut self) -> u32 {
        match &mut self.solver {
            Solver::Batsat(solver) => solver.point(),
            #[cfg(feature = "cadical")]
            Solver::Cadical(solver) => solver.point(),
        }
    }

    /// When the literal holds, one point is before the other.
    pub fn before(&mut self, condition: Lit, from: u32, to: u32) {
        match &mut self.solver {
            Solver::Batsat(solver) => solver.before(condition, from, to),
            #[cfg(feature = "cadical")]
            Solver::Cadical(solver) => {
                // What CaDiCaL has got rid of while it solved cannot be listened to.
                let fresh = (solver.has_solved()).then(|| Lit::new(Var::unsafe_from_idx(self.variables), true));
                self.variables += u32::from(fresh.is_some());
                solver.before(condition, fresh, from, to);
            }
        }
    }

    /// `None`: gave up.
    pub fn solve(&mut self, assumptions: &[Lit], limits: &Limits<'_>) -> Option<bool> {
        let answer = match &mut self.solver {
            Solver::Batsat(solver) => solver.solve(assumptions, limits),
            #[cfg(feature = "cadical")]
            Solver::Cadical(solver) => return solver.solve(assumptions, limits),
        };
        #[cfg(feature = "cadical")]
        if answer.is_none()
            && !limits.are_hit()
            && let Some(kept) = self.kept.take()
        {
            let Solver::Batsat(batsat) = &self.solver else { return None };
            let mut cadical = Box::new(Cadical::taking_over(kept, batsat.order()));
            let answer = cadical.solve(assumptions, limits);
            self.solver = Solver::Cadical(cadical);
            return answer;
        }
        answer
    }

    /// The value of a literal in the model that was found last; `None` if it does not matter.
    pub fn value(&self, a: Lit) -> Option<bool> {
        match &self.solver {
            Solver::Batsat(solver) => solver.value(a),
            #[cfg(feature = "cadical")]
            Solver::Cadical(solver) => solver.value(a),
        }
    }

    /// Whether the last contradiction needs this assumption.
    pub fn is_needed(&mut self, a: Lit) -> bool {
        match &mut self.solver {
            Solver::Batsat(solver) => solver.is_needed(a),
            #[cfg(feature = "cadical")]
            Solver::Cadical(solver) => solver.is_needed(a),
        }
    }

    pub fn statistics(&self) -> Vec<(&'static str, u64)> {
        let mut all = match &self.solver {
            Solver::Batsat(solver) => solver.statistics(),
            #[cfg(feature = "cadical")]
            Solver::Cadical(solver) => solver.statistics(),
        };
        all.insert(0, ("variables", u64::from(self.variables)));
        all
    }
}
