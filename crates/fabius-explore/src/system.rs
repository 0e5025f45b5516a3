//! What the explorer knows of the thing it explores: nothing but these traits.
//!
//! A *system* is a set of tasks (threads are tasks that are preemptible) over a shared state. A *step* runs one task
//! from one scheduling point to its next. The scheduler decides which task; a [`Choose`] decides the nondeterminism
//! inside the step.

pub use crate::buffer_id::{BufferId, DECLARED_BUFFER, FIFO_BUFFER, number_of_declared};
use crate::priorities::Falling;
use fabius_trace::{BugKind, MemoryOrder, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Identifies an unfinished task in one state. Threads, and tasks that somebody holds a handle of, keep their id;
/// *anonymous* tasks (the bit [`ANONYMOUS`] is set) are renumbered by [`Snapshot::reorder_anonymous`].
pub type TaskId = u32;

/// Set in the ids of tasks that nobody can refer to.
pub const ANONYMOUS: TaskId = 1 << 31;

/// What the atomic operations at these places order.
pub type Orders = Arc<BTreeMap<Span, MemoryOrder>>;

/// A task that came into being in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Born {
    /// Its id in the state after the step.
    pub task: TaskId,
    /// The buffer it was posted to; a new one for a thread.
    pub buffer: BufferId,
    /// Its priority, 0 the lowest.
    pub level: u8,
}

/// One access to shared state in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Stable identity of the variable (array elements and fields apart), below [`end_of`]`(0)`. The `spawn` of a
    /// thread is a writing synchronization access to [`end_of`] the thread, `join` a reading one to [`end_of`] the task.
    pub variable: u64,
    /// Whether it may write.
    pub write: bool,
    /// Whether it synchronizes (otherwise: data).
    pub sync: bool,
    /// Where.
    pub span: Span,
}

/// What decides at random.
pub type Dice = fastrand::Rng;

/// Who makes the steps that are made without asking.
#[derive(Debug)]
pub enum Plan<'a> {
    /// Whoever can go on, as long as that is one alone.
    Alone,
    /// The first of those that can go on, whoever else can: that is said.
    First,
    /// These, each so often.
    Given(&'a [(TaskId, u32)]),
    /// These, each so often, and then the first of those that can go on.
    GivenThenFirst(&'a [(TaskId, u32)]),
    /// Of those that can go on one that is drawn with the dice, all alike; where one alone can go on, nothing is drawn. One
    /// that touches nothing that others see goes on at once.
    Drawn(Dice),
    /// Of those that can go on the one with the highest priority; who is new draws one as soon as several can go on. One that
    /// touches nothing that others see goes on at once.
    Highest(Falling),
}

/// What was done in steps that were made without asking.
#[derive(Clone, Copy, Debug)]
pub enum Made {
    /// A step, and what was announced that it would access.
    Step {
        /// Who made it.
        task: TaskId,
        /// Whether it might write.
        write: bool,
        /// The same in any state.
        may_write: bool,
        /// The variable, or [`Made::NOTHING`].
        variable: u64,
        /// Another one, which it writes, or [`Made::NOTHING`].
        other: u64,
    },
    /// Others could have made the next step: which, as bits.
    Others(u64),
    /// A task was born in the step before.
    Born(TaskId),
    /// A task has finished in the step before: who made it, or was born in it.
    Finished(TaskId),
    /// So many steps before this were made of which nothing is told but who was born and who has finished.
    Untold(u32),
}

impl Made {
    /// Stands for no variable.
    pub const NOTHING: u64 = u64::MAX;
}

/// The synchronization variable that stands for the beginning and the end of a task.
pub const fn end_of(task: TaskId) -> u64 {
    1 << 63 | task as u64
}

/// A variable of which an access may find an older store, or take its place before others that are there. These have small
/// numbers, and numbers of their own: what a model has on its heap begins behind them.
pub const fn with_history(variable: u64) -> u64 {
    1 << 61 | variable
}

/// How a step has accessed a variable with a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundStore {
    /// How many stores are newer than the one that it has found, or come after its own.
    pub newer: u32,
    /// Whether it has stored something.
    pub stores: bool,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At a point where every buffer may go on (before a shared access, after `zield`); the task is still on its buffer.
    Point,
    /// At a `yield`: tasks of the same level of the same buffer may go on.
    Yield,
    /// In front of an `await` or `join` inside a task: as `yield`, and other buffers may go on too.
    Wait,
    /// It has just posted a task of a higher level, which runs first.
    Interrupted,
    /// The task has finished.
    Finished,
    /// An `assume` failed: the execution is dropped without a verdict.
    Dropped,
}

/// Why a step went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A bug of the program.
    Bug(BugKind, Span),
    /// A limit of the engine, not a bug: too deep a recursion, a step that does not end, an `int` beyond 64 bits.
    Limit(Limit, Span),
}

/// Limits inside a program that an engine may hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Limit {
    /// Too many active calls in one task.
    Recursion,
    /// A step that took too many statements: a loop without a scheduling point.
    EndlessStep,
    /// An `int` beyond 64 bits.
    Integer,
    /// A choice among more values than can be counted in 32 bits.
    Choice,
    /// Too many tasks at once.
    Tasks,
    /// More threads than a set of threads or a `map[thread]` has room for.
    Threads,
    /// Too many heap objects at once.
    Heap,
    /// More than the program's front end follows; the statement says of what.
    Program,
    /// The search's time was over within a step.
    Time,
    /// A step took more memory than the search has.
    Memory,
    /// Somebody asked to stop within a step.
    Interrupted,
}

/// What a step reports besides the new state. Reused from step to step; the caller clears it.
#[derive(Clone, Debug, Default)]
pub struct StepLog {
    /// Tasks born in the step, in order; those that have already finished are left out.
    pub born: Vec<Born>,
    /// What all tasks are called that were born in the step, in order, also of those that have already finished.
    pub made: Vec<TaskId>,
    /// Other tasks that finished in the step.
    pub finished: Vec<TaskId>,
    /// Accesses to shared state, in order; filled only if `want_accesses`.
    pub accesses: Vec<Access>,
    /// Variables of heap objects made in the step: whoever had these numbers before is gone. Filled with `accesses`.
    pub fresh: Vec<std::ops::Range<u64>>,
    /// Whether `accesses` is wanted.
    pub want_accesses: bool,
    /// Whether races are looked for among them, also with those of whoever has finished.
    pub wants_races: bool,
    /// Whether the step passed a progress mark.
    pub progress: bool,
    /// The steps after the first, if several were made: all the above is of the last one.
    pub ahead: Vec<Made>,
    /// Of that, who was born and who has finished, again.
    pub lives: Vec<Made>,
    /// How often others made one of those than who could have gone on.
    pub switches: u32,
    /// What they were drawn with, afterwards.
    pub dice: Option<Dice>,
    /// The priorities by which they were made, afterwards.
    pub falling: Option<Falling>,
}

impl StepLog {
    /// Forgets the last step.
    pub fn clear(&mut self) {
        self.born.clear();
        self.made.clear();
        self.finished.clear();
        self.accesses.clear();
        self.fresh.clear();
        self.progress = false;
        self.ahead.clear();
        self.lives.clear();
        self.switches = 0;
        self.dice = None;
        self.falling = None;
    }
}

/// Whether an operation does what is usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// It has to be found out which ways there are.
    MayBeNot,
    /// It does, and that was a choice.
    Chosen,
    /// It does, and nobody asks for it again: the step is one of a prefix whose other outcomes are known.
    Known,
}

/// Decides nondeterminism inside a step.
pub trait Choose {
    /// Picks one of `alternatives` (at least 1) and returns its index.
    fn choose(&mut self, alternatives: u32) -> u32;

    /// Whether an operation that may depart from what it does by itself does not, decided before it is known which ways there are. If
    /// it may, [`Choose::deviate`] is asked next.
    fn is_usual(&mut self) -> Usual {
        Usual::MayBeNot
    }

    /// Picks how an operation departs from what it does by itself: 0, it does not, and every other way costs as much as a
    /// preemption. `possible` has a bit for each way, and always that of 0.
    fn deviate(&mut self, possible: u64) -> u32 {
        let chosen = self.choose(u64::BITS - possible.leading_zeros());
        if possible >> chosen & 1 == 1 { chosen } else { 0 }
    }

    /// Picks a number from 0 to `most`, which is more than 32 bits count. `None` if there are too many to try: only given
    /// choices are wide. In a schedule such a choice is [`WIDE_PARTS`](fabius_trace::WIDE_PARTS) numbers.
    fn choose_wide(&mut self, most: u64) -> Option<u64> {
        let _ = most;
        None
    }

    /// Picks one of these values between `lo` and `hi`, which stand for all of them.
    fn choose_among(&mut self, values: &[i64], lo: i64, hi: i64) -> i64 {
        let _ = (lo, hi);
        values[self.choose(values.len() as u32) as usize]
    }

    /// Told, after a choice, of a point inside of the step and all that matters there (what has happened in the step, too).
    /// Says whether the rest need not be run, because the same point was or will be passed with other outcomes.
    fn comes_back(&mut self, describe: &mut dyn FnMut(&mut Vec<i64>)) -> bool {
        let _ = describe;
        false
    }

    /// Whether it is to be found out, where the step has come back and somebody else is there, if any way leads from there to its end:
    /// otherwise it is a step that does not end.
    fn follows_rounds(&self) -> bool {
        false
    }

    /// Told where the step is dropped: it is no outcome.
    fn drops(&mut self) {}

    /// Whether to come back counts as a step that does not end, because infinite executions matter.
    fn minds_rounds(&self) -> bool {
        false
    }

    /// Whether all outcomes that come back here go round for ever: whoever sees what the step has done before sees a step that does
    /// not end.
    fn goes_round(&self) -> bool {
        false
    }

    /// Whether there is no memory for more points.
    fn is_full(&self) -> bool {
        false
    }
}

/// A concurrent system that can be run step by step from its initial state.
pub trait System {
    /// The shared state and the tasks.
    type State;

    /// The initial state; the tasks that exist in it are in `log.born`. `choose` decides nondeterminism before the
    /// first scheduling point.
    fn initial(&self, choose: &mut dyn Choose, log: &mut StepLog) -> Result<Self::State, Fault>;

    /// Whether tasks are posted to buffers. If not, every task is a thread, its buffer id is its task id and its level is 0.
    fn has_buffers(&self) -> bool;

    /// Whether something runs before the declared buffers start, even if nobody sees it: then any of them may begin.
    fn has_init(&self) -> bool {
        false
    }

    /// Whether the task's next step is possible now. A task in front of a false `await` is not ready.
    fn ready(&self, state: &Self::State, task: TaskId) -> bool;

    /// Whether the task may wait where it is for ever: if nobody who is left has to go on, that is no deadlock.
    fn may_rest(&self, _: &Self::State, _: TaskId) -> bool {
        false
    }

    /// What the atomic operations at some places order: less than accesses to synchronization variables do.
    fn orders(&self) -> Orders {
        Orders::default()
    }

    /// What the next step of the task accesses first, if that is a single variable.
    fn next_access(&self, state: &Self::State, task: TaskId) -> Option<Access>;

    /// How the last step has accessed a variable [`with_history`].
    fn found(&self, _: &Self::State) -> FoundStore {
        FoundStore::default()
    }

    /// Whether the next step of the task may deviate: find an older store than the newest, or store behind one.
    fn may_deviate(&self, _: &Self::State, _: TaskId) -> bool {
        false
    }

    /// Whether the state decides if the next step of the task writes what it accesses first: it may write in another state.
    fn next_may_fail(&self, _: &Self::State, _: TaskId) -> bool {
        false
    }

    /// Whether others make the next step of the task possible by what they do to something that neither that step accesses nor the one
    /// before it.
    fn waits_for_more(&self, _: &Self::State, _: TaskId) -> bool {
        false
    }

    /// Whether it may be that a step is possible because no other is.
    fn has_deadlines(&self, _: &Self::State) -> bool {
        false
    }

    /// A second variable that the next step of the task accesses, if it has two at once.
    fn next_other_access(&self, _: &Self::State, _: TaskId) -> Option<Access> {
        None
    }

    /// Whether [`System::next_access`] and [`System::next_other_access`] say all that matters: a step has no other synchronization access that another
    /// step, possible at the same time, could tell the order of. The class of an execution is then known a step ahead,
    /// and executions that have the same need not be repeated.
    fn announces(&self) -> bool {
        false
    }

    /// Whether the next step can include others: see [`System::plan_ahead`].
    fn plans_ahead(&self, _: &Self::State) -> bool {
        false
    }

    /// Allows the next step to include so many steps more, made by whom the plan says, as long as each does nothing that the
    /// explorer must know but what [`Made`] says of it. A system may make fewer. The step that makes choices is the last. Only
    /// where [`System::plans_ahead`].
    fn plan_ahead(&self, _: &mut Self::State, _steps: u32, _: Plan<'_>) {}

    /// Behind that: of so many steps from the next one on nothing need be told but who is born and who finishes, if more steps are
    /// made than these ([`Made::Untold`]). A system may tell of them.
    fn need_not_tell(&self, _: &mut Self::State, _steps: u32) {}

    /// Whether the last step took so long that the clock should be looked at.
    fn was_slow(&self, _: &Self::State) -> bool {
        false
    }

    /// Who made the last of the steps of the last call of [`System::step`], if that may be another task than it was called
    /// with.
    #[inline]
    fn last_of_step(&self, _: &Self::State) -> Option<TaskId> {
        None
    }

    /// Whether the task's next step could be made, whether or not [`System::ready`] leaves it to others to go on first:
    /// what a schedule is repeated by.
    fn possible(&self, state: &Self::State, task: TaskId) -> bool {
        self.ready(state, task)
    }

    /// Whether the task gives way to others where it is now: to switch away from it is no preemption.
    fn gave_way(&self, _: &Self::State, _: TaskId) -> bool {
        false
    }

    /// Runs the task, which is ready, to its next scheduling point. After a fault the state is unspecified.
    fn step(
        &self,
        state: &mut Self::State,
        task: TaskId,
        choose: &mut dyn Choose,
        log: &mut StepLog,
    ) -> Result<End, Fault>;
}

/// What stateful search asks in addition: states that can be stored and compared.
pub trait Snapshot: System<State: Clone> {
    /// Appends the canonical encoding of the state. Equal encodings mean equal states.
    fn encode(&self, state: &Self::State, out: &mut Vec<u8>);

    /// Overwrites `state` with an encoded one.
    fn decode(&self, bytes: &[u8], state: &mut Self::State);

    /// The anonymous tasks, in creation order.
    fn anonymous_tasks(&self, state: &Self::State) -> Vec<TaskId>;

    /// Compares two anonymous tasks by everything but their id.
    fn compare_anonymous(&self, state: &Self::State, a: TaskId, b: TaskId) -> std::cmp::Ordering;

    /// Whether the next step of the task, if it can go on, touches nothing that another task may touch from this state on, unless both
    /// only read it: neither changes whether the other one can go on, nor what it does.
    fn is_alone(&self, _: &Self::State, _: TaskId) -> bool {
        false
    }

    /// Which of the conditions hold in the state that properties are about.
    ///
    /// # Errors
    /// A condition has no value in it.
    fn conditions(&self, _: &Self::State) -> Result<Vec<bool>, Fault> {
        Ok(Vec::new())
    }

    /// What the thread of the buffer began as, if it has not come to its end.
    fn origin(&self, _: &Self::State, _: BufferId) -> Option<fabius_trace::Origin> {
        None
    }

    /// Whether there may be threads that do the same.
    fn has_alike_threads(&self) -> bool {
        false
    }

    /// Which threads of the state would be called otherwise in the state that stands for all that differ from this one only by
    /// the names of threads: all old names, with the new ones, by the old ones. False if none would. Only for systems of threads,
    /// whose ids are nothing but names: whatever a state does, it does alike if its threads are renamed.
    fn canonical_names(&self, _: &Self::State, _: &mut Vec<(TaskId, TaskId)>) -> bool {
        false
    }

    /// Whether the unfinished thread does in the state what the one with the next smaller id does, and nothing tells the two apart.
    fn repeats(&self, _: &Self::State, _: TaskId) -> bool {
        false
    }

    /// The threads that a state knows, in increasing order: unfinished ones, and finished ones of which it has handles.
    fn known_threads(&self, _: &Self::State) -> Vec<TaskId> {
        Vec::new()
    }

    /// Calls all threads that the state knows by new names: old ones and new ones, by the old ones.
    fn rename(&self, _: &mut Self::State, _: &[(TaskId, TaskId)]) {}

    /// Renumbers the anonymous tasks: afterwards `order[i]` is called `ANONYMOUS | i`. Those not listed are gone
    /// (finished, or dropped by a lossy scheduler).
    fn reorder_anonymous(&self, state: &mut Self::State, order: &[TaskId]);
}

/// What a search without bounds asks in addition, of systems of threads: states in few bits, on which most steps are made
/// as they are.
///
/// A packed state is a multiple of four bytes long, and begins with two that name its kind. All states of a kind have one length;
/// those of kind 0 have any: four bytes behind the kind say how many follow, but for what is missing to a multiple of four.
pub trait Packed: Snapshot {
    /// A packed state that is looked at, and what the last step made of it.
    type Cursor;

    /// A cursor, at no state yet.
    fn cursor(&self) -> Self::Cursor;

    /// Puts a state where a step would have put it.
    fn pack(&self, state: &Self::State, cursor: &mut Self::Cursor);

    /// The state that a packed one stands for.
    fn unpack(&self, packed: &[u8], cursor: &mut Self::Cursor) -> Self::State;

    /// Moves to a packed state.
    fn load(&self, packed: &[u8], cursor: &mut Self::Cursor);

    /// How many unfinished tasks the state has.
    fn tasks(&self, cursor: &Self::Cursor) -> usize;

    /// Which task this one is, in increasing order.
    fn task(&self, cursor: &Self::Cursor, index: usize) -> TaskId;

    /// Appends the tasks that can go on in the state, in increasing order.
    fn ready_tasks(&self, cursor: &mut Self::Cursor, ready: &mut Vec<usize>);

    /// Makes the step of a task that was found ready; `None` if that takes [`Packed::step_at`]. Nothing but the end is told.
    fn quick_step_at(&self, cursor: &mut Self::Cursor, index: usize, choose: &mut dyn Choose) -> Option<End>;

    /// Makes the step of a task that is ready.
    ///
    /// # Errors
    /// As [`System::step`].
    fn step_at(
        &self,
        cursor: &mut Self::Cursor,
        index: usize,
        choose: &mut dyn Choose,
        log: &mut StepLog,
    ) -> Result<End, Fault>;

    /// What the last step has made of the state.
    fn packed<'a>(&self, cursor: &'a Self::Cursor) -> &'a [u8];

    /// [`Snapshot::repeats`] in the state that is looked at.
    fn repeats_at(&self, cursor: &mut Self::Cursor, index: usize) -> bool;

    /// Of the tasks that can go on in the state that is looked at (all of them, in increasing order) those whose next steps alone need
    /// be made, if they are fewer and the other steps are made at last: whatever others may do before one of these steps is made leads
    /// to the same states, ends and bugs if that step is made first. False if there are no fewer.
    fn ample(&self, _: &Self::Cursor, _ready: &[usize], _chosen: &mut Vec<usize>) -> bool {
        false
    }

    /// Gives the threads of what the last step has made the names that [`Snapshot::canonical_names`] says.
    fn name_threads(&self, cursor: &mut Self::Cursor);

    /// Of the state that is looked at, in which nobody can go on: whether all who are left may stay where they are.
    fn rests(&self, cursor: &Self::Cursor) -> bool;
}
