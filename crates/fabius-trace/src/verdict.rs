use crate::{Bounds, ErrorTrace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of every engine. A bug is an answer, never an `Err`; a bounded result never reads as a proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
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
    /// A solver did not find an answer.
    Solver {
        /// What it says.
        message: String,
    },
}

/// What kind of bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BugKind {
    /// `assert` of something false.
    Assertion,
    /// Unfinished threads or tasks, and none of them can go on.
    Deadlock,
    /// Two accesses to the same data variable that nothing orders.
    DataRace,
    /// A reachable fair cycle without progress.
    Livelock,
    /// Division or remainder by zero.
    DivisionByZero,
    /// Array index or map key out of bounds.
    IndexOutOfBounds,
    /// Field of `null`.
    NullDereference,
    /// A value outside the range of the variable that it is stored in.
    RangeOverflow,
    /// A lock released by a thread that does not hold it, and the like.
    SyncMisuse,
    /// A panic of the closure that is checked (Rust tests).
    Panic,
    /// Something that was not given back at the end (Rust tests).
    Leak,
    /// A message that is never received.
    Unmatched,
}

impl Verdict {
    /// The documented exit code of the command line: 0 no bug, 1 bug, 3 unknown. (2 is bad input.)
    pub fn exit_code(&self) -> u8 {
        match self {
            Verdict::Bug { .. } => 1,
            Verdict::NoBugWithinBounds { .. } | Verdict::Verified => 0,
            Verdict::Unknown { .. } => 3,
        }
    }
}
