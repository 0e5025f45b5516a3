//! Schedulers: who decides which task goes on.

mod data;
mod dfs;
mod nondeterminism;
mod pct;
mod random;
mod replay;
mod round_robin;
pub(crate) mod serialization;
mod urw;

pub use data::{DataSource, RandomDataSource};
pub use dfs::DfsScheduler;
pub use nondeterminism::UncontrolledNondeterminismCheckScheduler;
pub use pct::PctScheduler;
pub use random::RandomScheduler;
pub use replay::ReplayScheduler;
pub use round_robin::RoundRobinScheduler;
pub use urw::UrwRandomScheduler;

pub use crate::task::TaskId;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;

/// A task that can run, as a scheduler sees it.
#[derive(Debug)]
pub struct Task {
    id: TaskId,
    parent: Option<TaskId>,
    /// Where it was spawned, mostly the same in all executions.
    pub signature: TaskSignature,
}

impl Task {
    pub(crate) fn new(id: TaskId, parent: Option<TaskId>, signature: TaskSignature) -> Task {
        Task { id, parent, signature }
    }

    /// Its number.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// The task that spawned it.
    pub fn parent_task_id(&self) -> Option<TaskId> {
        self.parent
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<String> {
        crate::task::name_of(self.id).map(String::from)
    }
}

/// Tells apart the tasks of an execution in a way that is mostly the same in all executions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaskSignature {
    place: u64,
    parent: u64,
    hash: u64,
}

impl TaskSignature {
    pub(crate) fn new(at: &Location<'_>, parent: u64, number: u64) -> TaskSignature {
        let hash = |what: &dyn Fn(&mut DefaultHasher)| {
            let mut hasher = DefaultHasher::new();
            what(&mut hasher);
            hasher.finish()
        };
        let place = hash(&|h| (at.file(), at.line(), at.column()).hash(h));
        TaskSignature { place, parent, hash: hash(&|h| (place, parent, number).hash(h)) }
    }

    /// The same for all tasks that are spawned at one place.
    pub fn static_create_location_hash(&self) -> u64 {
        self.place
    }

    /// That of the task.
    pub fn signature_hash(&self) -> u64 {
        self.hash
    }

    /// That of the task that spawned it.
    pub fn parent_signature_hash(&self) -> u64 {
        self.parent
    }
}

/// The decisions of an execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Where its random numbers begin.
    pub seed: u64,
    /// What was decided, in order.
    pub steps: Vec<ScheduleStep>,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleStep {
    /// A task goes on.
    Task(TaskId),
    /// A random number is made.
    Random,
}

impl Schedule {
    /// A schedule without steps.
    pub fn new(seed: u64) -> Schedule {
        Schedule { seed, steps: Vec::new() }
    }

    /// A schedule of these tasks.
    pub fn new_from_task_ids<T: Into<TaskId>>(seed: u64, task_ids: impl IntoIterator<Item = T>) -> Schedule {
        Schedule { seed, steps: task_ids.into_iter().map(|t| ScheduleStep::Task(t.into())).collect() }
    }

    /// Adds a step of a task.
    pub fn push_task(&mut self, task: TaskId) {
        self.steps.push(ScheduleStep::Task(task));
    }

    /// Adds a random number.
    pub fn push_random(&mut self) {
        self.steps.push(ScheduleStep::Random);
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// Decides which task goes on, and what random numbers are.
pub trait Scheduler {
    /// An execution is to begin; `None`: there are no more.
    fn new_execution(&mut self) -> Option<Schedule>;

    /// Which of the tasks that can run goes on; `None`: the execution is dropped. `is_yielding`: the current task waits
    /// for another.
    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId>;

    /// The next random number.
    fn next_u64(&mut self) -> u64;
}

impl Scheduler for Box<dyn Scheduler + Send> {
    fn new_execution(&mut self) -> Option<Schedule> {
        (**self).new_execution()
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        (**self).next_task(runnable, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        (**self).next_u64()
    }
}

/// Writes annotated schedules in shuttle; here it only passes on what its scheduler decides.
#[derive(Debug)]
pub struct AnnotationScheduler<S: Scheduler>(S);

impl<S: Scheduler> AnnotationScheduler<S> {
    /// Around a scheduler.
    pub fn new(inner: S) -> AnnotationScheduler<S> {
        AnnotationScheduler(inner)
    }
}

impl<S: Scheduler> Scheduler for AnnotationScheduler<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.0.new_execution()
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        self.0.next_task(runnable, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// The seed that `SHUTTLE_RANDOM_SEED` names, or else this.
pub(crate) fn seed_or(seed: u64) -> u64 {
    match std::env::var("SHUTTLE_RANDOM_SEED") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("SHUTTLE_RANDOM_SEED is not a number: {text}")),
        Err(_) => seed,
    }
}

/// A seed that nobody knows.
pub(crate) fn fresh_seed() -> u64 {
    rand::random()
}
