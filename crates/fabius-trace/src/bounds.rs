#[cfg(feature = "schema")]
use schemars::JsonSchema;
#[cfg(feature = "documents")]
use serde::{Deserialize, Serialize};

/// What a deviation of the schedule costs.
///
/// Contexts, preemptions: Iterative Context Bounding (PLDI 2007); delays: Delay-Bounded Scheduling (POPL 2011).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "documents", serde(rename_all = "snake_case"))]
pub enum Bound {
    /// Nothing costs anything: the whole space.
    None,
    /// Every switch from one thread to another costs 1.
    Contexts,
    /// A switch away from a thread that could go on costs 1.
    Preemptions,
    /// Every delay of the scheduler's own pick costs 1.
    Delays,
    /// Every step costs 1.
    Depth,
    /// Every passage of control to a thread or buffer that was made earlier costs 1 (a new round over them).
    Rounds,
}

/// Which deterministic or nondeterministic scheduler the search is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "documents", serde(rename_all = "kebab-case"))]
pub enum SchedulerKind {
    /// Any pending task may be next.
    Bag,
    /// Any pending task may be next, but at most this many equal copies are kept: lossy.
    BoundedBag(u32),
    /// Deterministic: in a circle.
    RoundRobin,
    /// Deterministic: round by round in preorder of the tree of posts.
    DepthFirst,
}

/// Where a running thread may be preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "documents", serde(rename_all = "snake_case"))]
pub enum Points {
    /// Before every access to shared state.
    All,
    /// Before synchronization accesses only; data races are checked on every execution.
    Sync,
}

/// The bounds within which an answer holds. Everything that restricted the search is in here.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Bounds {
    /// What was bounded.
    pub bound: Bound,
    /// The largest cost whose executions were all explored; `None` if nothing was bounded or no level was finished.
    pub completed: Option<u32>,
    /// The scheduler.
    pub scheduler: SchedulerKind,
    /// The scheduling points.
    pub points: Points,
    /// Copies of each `process p[*]` that were explored.
    pub instances: Vec<(String, u32)>,
    /// The processes of which any number of copies was looked at.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub any: Vec<String>,
    /// What else was left out, in sentences: loops that were not followed any further, for instance.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub limits: Vec<String>,
}

/// What was explored at one value of the bound. Counts are cumulative: they include the levels below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LevelStats {
    /// Value of the bound.
    pub bound: u32,
    /// Complete executions (stateless search only; 0 in stateful search).
    pub executions: u64,
    /// Distinct states.
    pub states: u64,
    /// Transitions taken.
    pub transitions: u64,
}
