//! Recorded runs of message-passing programs: finds another order of the messages that breaks an assertion or deadlocks, or
//! shows that there is none for this path.
//!
//! A run stands for many: messages of different senders may arrive in other orders. [`parse`] reads the recorded run, a
//! concurrent trace program; [`decide`] asks a solver for an order that is a bug; [`semantics`] says what runs do, replays
//! what is found, and is explored ([`system`]) where the trace is small enough.

pub mod ctp;
mod decide;
pub mod encode;
mod explain;
pub mod pairs;
pub mod paths;
pub mod replay;
pub mod semantics;
mod syntax;
pub mod system;

pub use decide::{Enumerated, Error, Plan, Refinement, Report, decide, dump};
pub use explain::{codes, explain};
pub use fabius_smt::SolverChoice;
pub use syntax::parse;

/// What is a bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Property {
    /// A complete run in which an assertion fails.
    #[default]
    Assert,
    /// A state in which somebody waits, and nobody can go on.
    Deadlock,
    /// A complete run in which a message is not received.
    Unmatched,
}
