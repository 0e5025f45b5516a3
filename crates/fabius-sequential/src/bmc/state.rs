//! A state of symbolic execution, and why execution does not go on.

use fabius_smt::Term;

/// The values of all variables on the paths that satisfy the guard: globals, then the locals of one procedure.
#[derive(Clone, Debug)]
pub struct State {
    /// When control is here.
    pub guard: Term,
    /// The leaves.
    pub vars: Vec<Term>,
}

/// What an expression or statement is that sequential programs do not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSequential {
    /// What.
    pub what: &'static str,
    /// Where.
    pub span: fabius_trace::Span,
}

/// Why execution does not go on.
pub(super) enum Halt {
    NotSequential(NotSequential),
    /// The limits are hit.
    Limits,
}

impl From<NotSequential> for Halt {
    fn from(wrong: NotSequential) -> Halt {
        Halt::NotSequential(wrong)
    }
}

/// The leaves of a value.
pub(crate) type Leaves = Vec<Term>;
