//! Which solver decides.

use crate::{Embedded, External, SatSolver, Solver, find_solver};
use std::path::PathBuf;

/// Who decides formulas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SolverChoice {
    /// The one that is built in.
    #[default]
    Embedded,
    /// `batsat` or `cadical`: the one that is built in, with that SAT solver alone. Any other: a program of this name on the
    /// search path.
    Named(String),
    /// The program at this path.
    At(PathBuf),
}

impl SolverChoice {
    /// Starts it.
    ///
    /// # Errors
    /// In a sentence, if it is not there or cannot be started.
    pub fn start(&self) -> Result<Box<dyn Solver>, String> {
        let path = match self {
            SolverChoice::Embedded => return Ok(Box::new(Embedded::default())),
            SolverChoice::At(path) => path.clone(),
            SolverChoice::Named(name) => match SatSolver::named(name)? {
                Some(sat_solver) => return Ok(Box::new(Embedded::with(sat_solver))),
                None => find_solver(name).ok_or_else(|| {
                    format!("`{name}` is not on the search path; say where it is with `--solver-path`")
                })?,
            },
        };
        Ok(Box::new(External::start(&path)?))
    }
}
