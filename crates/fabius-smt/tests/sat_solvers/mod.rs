//! Every SAT solver of this build.

use fabius_smt::SatSolver;

/// With CaDiCaL if it is there, also after a few conflicts of batsat.
pub fn all() -> Vec<SatSolver> {
    #[cfg(feature = "cadical")]
    return vec![SatSolver::Batsat, SatSolver::Cadical, SatSolver::Both(0), SatSolver::Both(3)];
    #[cfg(not(feature = "cadical"))]
    vec![SatSolver::Batsat]
}
