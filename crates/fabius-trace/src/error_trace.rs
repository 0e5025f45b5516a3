use crate::{Bound, BugKind, LineCol, Points, SchedulerKind, Span};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
#[cfg(feature = "documents")]
use serde::{Deserialize, Serialize};

/// A schedule that breaks a program, with what each step did. Serialises to the `--trace` file.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ErrorTrace {
    /// Version of this format; readers refuse others.
    #[cfg_attr(feature = "schema", schemars(extend("const" = TRACE_VERSION)))]
    pub version: u32,
    /// The program the trace belongs to.
    pub program: ProgramId,
    /// What broke.
    pub kind: BugKind,
    /// What broke, in a sentence with the values involved.
    pub message: String,
    /// Where it broke.
    pub span: Span,
    /// What the cost counts.
    pub bound: Bound,
    /// The cost of the schedule: what `bound` counts, and the stale reads.
    pub cost: u32,
    /// How many operations found an older store than the newest, or stored before others (Rust tests).
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "is_zero"))]
    pub stale: u32,
    /// Scheduler the cost is relative to.
    pub scheduler: SchedulerKind,
    /// Scheduling points the steps are cut at.
    pub points: Points,
    /// Addresses of data at which threads may be switched as well, because it was seen to race (native programs).
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub data_points: Vec<u64>,
    /// The name of the property that is violated.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Option::is_none"))]
    pub property: Option<String>,
    /// For a livelock and an infinite execution that violates a property, the step from which on everything repeats.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Option::is_none"))]
    pub cycle: Option<u32>,
    /// Threads or task buffers, in order of their columns.
    pub lanes: Vec<Lane>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Which steps belong together, in order of the later ones.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub links: Vec<Link>,
}

#[cfg(feature = "documents")]
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Version of the trace format written by this version of Fabius. `docs/schema/trace.json` describes it.
pub const TRACE_VERSION: u32 = 2;

/// Two steps, the first of which is why the second can happen, or is in conflict with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Link {
    /// What the first is to the second.
    pub kind: LinkKind,
    /// The earlier step, from 0.
    pub from: u32,
    /// The later step, from 0.
    pub to: u32,
    /// What is between them: a message, a variable.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Option::is_none"))]
    pub label: Option<String>,
}

/// What a step is to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "documents", serde(rename_all = "snake_case"))]
pub enum LinkKind {
    /// It makes the thread that takes its first step there.
    Spawn,
    /// It posts the task that takes its first step there.
    Post,
    /// It is the last of a thread or task that is joined there.
    Join,
    /// It sends what is received there.
    Message,
    /// It synchronizes with it.
    HappensBefore,
    /// It stores what is loaded there, though a newer store is there.
    Finds,
    /// Nothing orders the two, and they race.
    Race,
}

/// Which program a trace belongs to, and how it was configured.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ProgramId {
    /// Path as the user gave it.
    pub file: String,
    /// Hash of the source text, the constants and the instances, in hexadecimal.
    pub hash: String,
    /// `--const` settings.
    pub consts: Vec<(String, String)>,
    /// `--instances` settings.
    pub instances: Vec<(String, u32)>,
    /// What a real program was given.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub args: Vec<String>,
}

/// A column of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Lane {
    /// Name for people, for instance `add#1`.
    pub name: String,
    /// What it is.
    pub kind: LaneKind,
}

/// What a lane stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "documents", serde(rename_all = "snake_case"))]
pub enum LaneKind {
    /// A thread.
    Thread,
    /// A task buffer.
    Buffer,
    /// A node of a message-passing program.
    Node,
}

/// The scheduler's decisions alone: enough to replay an execution in any engine.
pub type Schedule = Vec<Turn>;

/// How many choices of a turn make one among more alternatives than 32 bits count: 16 bits each, the highest first.
pub const WIDE_PARTS: usize = 4;

/// The choices that make a wide one.
pub fn parts_of_wide(choice: u64) -> [u32; WIDE_PARTS] {
    std::array::from_fn(|i| (choice >> (16 * (WIDE_PARTS - 1 - i)) & 0xffff) as u32)
}

/// The wide choice that these make.
pub fn wide_of_parts(parts: &[u32]) -> u64 {
    parts.iter().fold(0, |all, part| all << 16 | u64::from(*part & 0xffff))
}

/// One decision: this task runs until its next scheduling point, making these choices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Turn {
    /// Number of the task: threads and tasks are numbered from 0 in the order of their creation in this execution.
    pub task: u32,
    /// The outcome of each nondeterministic choice in the step, in order, as an index into its alternatives.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub choices: Vec<u32>,
}

/// A step of a trace: a turn and what happened in it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Step {
    /// The decision.
    pub turn: Turn,
    /// Column.
    pub lane: u32,
    /// Name of the task, where a lane runs several.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Option::is_none"))]
    pub task_name: Option<String>,
    /// Why the step costs something, or what else is notable about the switch to it.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Option::is_none"))]
    pub mark: Option<Mark>,
    /// Name of the priority level that the step runs at, where there are several.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Option::is_none"))]
    pub level: Option<String>,
    /// What the step did, statement by statement.
    pub actions: Vec<Action>,
    /// What has become of the task, if it cannot simply go on.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Option::is_none"))]
    pub after: Option<After>,
}

/// What becomes of a task by its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "documents", serde(rename_all = "snake_case"))]
pub enum After {
    /// It waits for something that is not so yet.
    Waits,
    /// It has finished.
    Finished,
}

/// What is notable about the switch to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "documents", serde(rename_all = "snake_case"))]
pub enum Mark {
    /// The thread that ran before could have gone on.
    Preemption,
    /// The thread that ran before is blocked or finished: a free switch.
    Switch,
    /// The scheduler's own pick was delayed this many times.
    Delay(u32),
    /// A task of higher priority interrupts.
    Interrupt,
    /// No step of a task: a message arrives in this lane from another one.
    Message {
        /// The sender's lane.
        from: u32,
    },
}

/// One statement executed in a step.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Action {
    /// Where.
    pub span: Span,
    /// The same for people.
    pub at: LineCol,
    /// The file, where it is not the program's.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Option::is_none"))]
    pub file: Option<String>,
    /// The statement's source text, on one line.
    pub text: String,
    /// Procedures the statement is in, outermost first. Of more than 64 the outermost 32 and the innermost 31, and between them how many
    /// there are besides: `.. 936 more ..`.
    pub stack: Vec<String>,
    /// Variables whose value changed.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub changes: Vec<Change>,
    /// What else happened, for instance `printed (1, 2)` or `blocks`.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Option::is_none"))]
    pub note: Option<String>,
}

/// Procedures of a stack that are named. A trace of a deep recursion would fill the memory otherwise: each statement has its own.
const NAMED: usize = 64;

impl Action {
    /// Names a stack of these procedures, outermost first.
    pub fn stack_of<'a>(procedures: impl ExactSizeIterator<Item = &'a str> + Clone) -> Vec<String> {
        let all = procedures.len();
        if all <= NAMED {
            return procedures.map(String::from).collect();
        }
        let (outermost, innermost) = (NAMED / 2, NAMED - NAMED / 2 - 1);
        let more = all - outermost - innermost;
        let mut stack: Vec<String> = procedures.clone().take(outermost).map(String::from).collect();
        stack.push(format!(".. {more} more .."));
        stack.extend(procedures.skip(outermost + more).map(String::from));
        stack
    }

    /// How many procedures the statement is in.
    pub fn depth(&self) -> usize {
        let more = |name: &String| name.strip_prefix(".. ")?.strip_suffix(" more ..")?.parse().ok();
        let more: Option<usize> = self.stack.get(NAMED / 2).and_then(more);
        self.stack.len() + more.map_or(0, |more| more - 1)
    }
}

/// A variable that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Change {
    /// For instance `pendingIo`, `a[2].next`, `node@1.next` (a heap object), `t` (a local).
    pub variable: String,
    /// Whose it is.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Scope::is_shared"))]
    pub scope: Scope,
    /// Value before.
    pub old: String,
    /// Value after.
    pub new: String,
}

/// Whose a variable is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "documents", serde(rename_all = "snake_case"))]
pub enum Scope {
    /// Everybody's.
    #[default]
    Shared,
    /// Everybody's who has a reference: a field of a heap object.
    Object,
    /// The copy of the lane.
    Lane,
    /// The running procedure's: the position of its call in the stack, from 0.
    Frame(u32),
}

impl Scope {
    #[cfg(feature = "documents")]
    fn is_shared(&self) -> bool {
        *self == Scope::Shared
    }
}

impl Turn {
    /// Stands for the task in a first turn that holds the choices made before the first scheduling point. A schedule
    /// begins with such a turn only if there are any.
    pub const START: u32 = u32::MAX;
}

impl ErrorTrace {
    /// The decisions alone.
    pub fn schedule(&self) -> Schedule {
        self.steps.iter().map(|s| s.turn.clone()).collect()
    }
}
