//! Concurrent programs as sequential ones.
//!
//! Every translation is a pure function from a program and its bounds to a program, in a file of its own. A source
//! program first becomes [`explicit`]: scheduling points, waiting, handles and faults are written out as statements that
//! the translations know.

mod abort;
pub mod buffers;
#[allow(missing_docs)]
pub mod build;
pub mod depth_first;
pub mod explicit;
mod faults;
pub mod levels;
mod lift;
pub mod relay;
pub mod rounds;
pub mod yields;

use fabius_lang::program::{Block, GlobalId, Program};
use fabius_trace::Span;
pub use lift::{Event, Happened, LiftError, Nesting, lift};
use std::collections::BTreeSet;

/// A program whose scheduling is explicit; what the translations start from.
///
/// Scheduling points are `yield` and `zield` alone. An assertion that fails sets `failed` and `stop`; whoever sees `stop`
/// returns at once (A.9: ABORT).
#[derive(Clone, Debug)]
pub struct Explicit {
    /// The program.
    pub program: Program,
    /// Global: execution stops.
    pub stop: GlobalId,
    /// Global: an assertion has failed. Never reset, so that it is no part of the shared state.
    pub failed: GlobalId,
    /// Globals that only one thread ever uses: no part of the shared state.
    pub private: BTreeSet<GlobalId>,
    /// What was left out, in sentences.
    pub limits: Vec<String>,
}

/// A program of one task buffer with levels: what [`buffers`] makes, [`yields`] keeps, and [`levels`] makes sequential.
#[derive(Clone, Debug)]
pub struct Prioritized {
    /// The program.
    pub program: Program,
    /// Global: an assertion has failed.
    pub failed: GlobalId,
    /// Globals that are no part of the shared state.
    pub private: BTreeSet<GlobalId>,
    /// Runs before everything: guesses.
    pub before: Block,
    /// Runs when everything has finished: what the guesses must have been.
    pub after: Block,
    /// What was left out, in sentences.
    pub limits: Vec<String>,
}

impl Prioritized {
    /// The globals that are part of the shared state.
    fn shared(&self) -> BTreeSet<GlobalId> {
        let mut all = build::changed_globals(&self.program);
        all.retain(|g| !self.private.contains(g));
        all
    }
}

/// A sequential program and how to read its runs.
#[derive(Clone, Debug)]
pub struct Translated {
    /// The program. It asserts at its very end that nothing has failed.
    pub program: Program,
    /// In which order the events of tasks come.
    pub nesting: Nesting,
    /// What was left out, in sentences.
    pub limits: Vec<String>,
}

/// What a translation cannot translate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// What.
    pub what: String,
    /// Where.
    pub span: Span,
    /// What to do instead.
    pub help: String,
}

impl Unsupported {
    fn new(what: &str, span: Span, help: &str) -> Unsupported {
        Unsupported { what: what.into(), span, help: help.into() }
    }
}
