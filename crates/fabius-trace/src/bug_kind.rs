#[cfg(feature = "schema")]
use schemars::JsonSchema;
#[cfg(feature = "documents")]
use serde::{Deserialize, Serialize};

/// What kind of bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "documents", serde(rename_all = "snake_case"))]
pub enum BugKind {
    /// `assert` of something false.
    Assertion,
    /// Unfinished threads or tasks, and none of them can go on.
    Deadlock,
    /// Two accesses to the same data variable that nothing orders.
    DataRace,
    /// A reachable fair cycle without progress.
    Livelock,
    /// A fair execution, infinite or at its end, that violates a property.
    Liveness,
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
    /// The end of the process by a signal, `abort` or an exception that nobody catches (native programs).
    Crash,
    /// A use of heap memory that was freed, or that was never part of a block (native programs).
    Memory,
}
