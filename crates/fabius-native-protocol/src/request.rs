use fabius_trace::{Bound, Points, Schedule, SchedulerKind};
use serde::{Deserialize, Serialize};

/// What the program's process is asked to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// To explore, or to run one schedule.
    pub what: What,
    /// What costs something.
    pub bound: Bound,
    /// The largest cost to explore.
    pub max: Option<u32>,
    /// The scheduler.
    pub scheduler: SchedulerKind,
    /// How to walk.
    pub walk: Walk,
    /// Where threads may be switched.
    pub points: Points,
    /// Addresses of data that are scheduling points from the beginning.
    pub data_points: Vec<u64>,
    /// Executions to stop after.
    pub executions: Option<u64>,
    /// Milliseconds to stop after.
    pub time: Option<u64>,
    /// Seed of random strategies.
    pub seed: u64,
    /// Steps after which an execution is given up.
    pub max_steps: u32,
    /// For how many milliseconds the schedule of a bug is made simpler at most.
    pub shrinking: u64,
    /// Whether executions are left out that differ from others in nothing that can be seen.
    pub reduction: bool,
    /// Whether the first data race ends the search, instead of what it leads to being looked for.
    pub first_race: bool,
    /// Whether memory that is still allocated at the end is a bug.
    pub leaks: bool,
    /// How an execution begins with what was there at the beginning.
    pub isolation: Isolation,
    /// How many processes explore.
    pub jobs: usize,
    /// Bytes of heap that an execution may use.
    pub heap: u64,
}

/// To explore, or to run one schedule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum What {
    /// Explore.
    Explore,
    /// Run one schedule and write down what happens; what the program prints is shown.
    Replay(Schedule),
    /// The same, and nothing is shown.
    Repeat(Schedule),
}

/// How an execution begins with what was there at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Isolation {
    /// The memory of the process is put back.
    Memory,
    /// It has a process of its own.
    Process,
}

/// How the tree of choices is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Walk {
    /// In the order of cost.
    Iterative,
    /// Depth first, within a fixed limit of cost.
    DepthFirst,
    /// Uniformly at random.
    Random,
    /// Random priorities with so many points of change.
    Pct(u32),
    /// Random priorities of events.
    Pos,
    /// Threads weighted by what is left of them.
    Urw,
    /// The same for the accesses to one variable.
    Surw,
}
