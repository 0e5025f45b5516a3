//! What every Fabius engine says: [`Verdict`], [`Bounds`], [`ErrorTrace`], and the source positions in them; and what is wrong with a
//! source text, [`Diagnostic`].
//!
//! This crate imports nothing of ours, so that a Rust test, a model and a recorded message-passing run share one
//! vocabulary. All types serialise to the JSON that `--json` and `--trace` write.

mod automaton;
mod bounds;
mod bug_kind;
mod comparison;
mod diagnostic;
mod error_trace;
mod liveness;
mod memory_order;
mod repetition;
mod span;
mod verdict;
mod words;

pub use automaton::{Automaton, AutomatonMove, AutomatonState, ConditionId};
pub use bounds::{Bound, Bounds, LevelStats, Points, SchedulerKind};
pub use bug_kind::BugKind;
pub use comparison::{COMPARISON_VERSION, Compared, Comparison, Counted, Coverage, Grown, Measured, Run, Spread};
pub use diagnostic::Diagnostic;
pub use error_trace::{
    Action, After, Change, ErrorTrace, Lane, LaneKind, Link, LinkKind, Mark, ProgramId, Schedule, Scope, Step,
    TRACE_VERSION, Turn, WIDE_PARTS, parts_of_wide, wide_of_parts,
};
pub use liveness::{FairThreads, Fairness, Formula, Origin};
pub use memory_order::MemoryOrder;
pub use repetition::{Stretch, stretches};
pub use span::{LineCol, Span};
pub use verdict::{Reason, Verdict};
