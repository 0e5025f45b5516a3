use crate::{Bounds, ErrorTrace};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
#[cfg(feature = "documents")]
use serde::{Deserialize, Serialize};

/// The answer of every engine. A bug is an answer, never an `Err`; a bounded result never reads as a proof.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "documents", serde(tag = "verdict", rename_all = "snake_case"))]
pub enum Verdict {
    /// Some schedule breaks the program; here it is, replayed in the reference semantics.
    Bug {
        /// The schedule and what it does.
        trace: Box<ErrorTrace>,
    },
    /// No schedule within these bounds breaks the program. Says nothing beyond them.
    NoBugWithinBounds {
        /// The bounds.
        bounds: Bounds,
    },
    /// The whole finite space was exhausted without a bound.
    Verified,
    /// The search was cut short.
    Unknown {
        /// By what.
        reason: Reason,
        /// What had been finished by then.
        bounds: Bounds,
    },
}

/// What cut a search short.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "documents", serde(tag = "reason", rename_all = "snake_case"))]
pub enum Reason {
    /// The time limit.
    Time,
    /// The memory limit.
    Memory,
    /// Ctrl-C.
    Interrupted,
    /// The number of executions that was asked for (random strategies).
    Executions,
    /// A limit inside the program: recursion depth, a local loop without a scheduling point, an `int` beyond 64 bits.
    Program {
        /// Which limit, and where.
        message: String,
    },
    /// No execution completes: all are dropped, or none is that which was asked about. Whatever is claimed of them holds.
    Vacuous {
        /// Why there is none.
        message: String,
    },
    /// A solver did not find an answer.
    Solver {
        /// What it says.
        message: String,
    },
}

impl Verdict {
    /// Whether there is nothing that the answer is about.
    pub fn is_vacuous(&self) -> bool {
        matches!(self, Verdict::Unknown { reason: Reason::Vacuous { .. }, .. })
    }

    /// The documented exit code of the command line: 0 no bug, 1 bug, 3 unknown. (2 is bad input.)
    pub fn exit_code(&self) -> u8 {
        match self {
            Verdict::Bug { .. } => 1,
            Verdict::NoBugWithinBounds { .. } | Verdict::Verified => 0,
            Verdict::Unknown { .. } => 3,
        }
    }
}
