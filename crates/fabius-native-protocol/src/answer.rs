use fabius_trace::{BugKind, Grown, LevelStats, Schedule};
use serde::{Deserialize, Serialize};

/// What came of a request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Answer {
    /// A bug.
    pub bug: Option<Failed>,
    /// What was explored at each bound.
    pub levels: Vec<LevelStats>,
    /// The largest cost whose executions were all explored.
    pub completed: Option<u32>,
    /// Whether the bound cut nothing off.
    pub exhausted: bool,
    /// What cut the search short.
    pub cut: Option<Cut>,
    /// Executions that were run.
    pub executions: u64,
    /// How many happens-before classes the last search had seen after so many executions.
    pub growth: Vec<Grown>,
    /// Addresses of data that became scheduling points: data races were seen there, or handlers of signals access them.
    pub data_points: Vec<u64>,
    /// At how many of them data races were seen.
    pub races: usize,
    /// What was not explored although nothing cut the search short.
    pub limits: Vec<String>,
    /// Whether atomic operations on several variables ask for less than sequential consistency.
    pub shows_more: bool,
    /// Why executions should have processes of their own.
    pub not_restored: Option<String>,
    /// What happened in a replay that did not fail.
    pub replayed: Option<Recorded>,
    /// Where the program and its libraries are in memory.
    pub modules: Vec<Module>,
}

/// What cut a search short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cut {
    /// The time limit.
    Time,
    /// Somebody asked to stop.
    Interrupted,
    /// As many executions as asked for.
    Executions,
    /// The limit of memory.
    Memory,
    /// Something else, said in words.
    Said(String),
}

/// A program or library in memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Module {
    /// Its file.
    pub file: String,
    /// What is added to the addresses in the file.
    pub base: u64,
    /// The addresses it takes.
    pub begin: u64,
    /// The first address behind it.
    pub end: u64,
}

/// A bug, and the execution that has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// What kind.
    pub kind: BugKind,
    /// In words.
    pub message: String,
    /// What the schedule costs.
    pub cost: u32,
    /// The schedule.
    pub schedule: Schedule,
    /// For each turn, how many delays were spent just before it.
    pub delays: Vec<u32>,
    /// What happens in it.
    pub run: Recorded,
    /// A number of all its accesses.
    pub number: u64,
}

/// An execution, step by step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recorded {
    /// Its steps.
    pub steps: Vec<RecordedStep>,
    /// The threads as they are at the end, in the order of their creation.
    pub threads: Vec<ThreadEnd>,
    /// Two accesses that race.
    pub race: Option<Race>,
    /// A thread that has ended, whose storage is used, and where it ended.
    pub ended: Option<(u32, Vec<u64>)>,
    /// The call that failed, with the calls it is in; outermost first.
    pub failed_at: Vec<u64>,
    /// The file and line of a failed assertion.
    pub failed_line: Option<(String, u32)>,
}

/// A step of an execution.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RecordedStep {
    /// The thread.
    pub thread: u32,
    /// The outcomes of its choices.
    pub choices: Vec<u32>,
    /// What happened in it.
    pub events: Vec<Event>,
    /// How many events more there were than are kept.
    pub left_out: u32,
    /// Whether another thread ran before that could have gone on and had not given way.
    pub preempts: bool,
}

/// Something that a thread did or is about to do.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Event {
    /// What, for instance `pthread_mutex_lock`, `store`, `write`.
    pub name: String,
    /// The object's address; 0 if there is none.
    pub address: u64,
    /// Its size in bytes.
    pub size: u32,
    /// The value before.
    pub old: Option<u64>,
    /// The value after.
    pub new: Option<u64>,
    /// The calls it is in, outermost first, and at last its own place.
    pub stack: Vec<u64>,
    /// What else is to be said.
    pub note: Option<String>,
    /// The block of the heap that it is in.
    pub block: Option<Block>,
}

/// A block of the heap.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Block {
    /// Where it begins.
    pub begin: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Variables of the functions that are under way that point into it.
    pub pointers: Vec<Pointer>,
}

/// A variable of a function that points into a block.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Pointer {
    /// Where the function is.
    pub pc: u64,
    /// Where the variable is, from the frame's address.
    pub offset: i64,
    /// At which byte of the block it points.
    pub at: u64,
}

/// A thread at the end of an execution.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ThreadEnd {
    /// The function that it runs; 0 for the first thread.
    pub function: u64,
    /// What it waits for, if it has not finished.
    pub waits: Option<Event>,
    /// Who holds what it waits for.
    pub holder: Option<u32>,
}

/// Two accesses that nothing orders.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Race {
    /// Step and event of the first.
    pub first: (u32, u32),
    /// Step and event of the second.
    pub second: (u32, u32),
    /// The address.
    pub address: u64,
}
