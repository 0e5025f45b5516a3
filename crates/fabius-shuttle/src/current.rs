//! The execution under way: its tasks, their names, labels and tags.

use crate::run;
use crate::task;
pub use crate::task::{ChangeLabels, ChildLabelFn, Labels, Tag, Taggable, TaskId, TaskName};
use std::cmp::Ordering;
use std::fmt::Debug;
use std::sync::Arc;

/// How many scheduling decisions there have been, also those that went on with the same task.
pub fn context_switches() -> usize {
    run::must(|run| run.switches)
}

/// Counts steps from here on against [`crate::MaxSteps`].
pub fn reset_step_count() {
    run::must(|run| run.counted_from = run.schedule.len());
}

/// The task that runs.
///
/// # Panics
/// Outside of a test that shuttle runs.
pub fn get_current_task() -> Option<TaskId> {
    run::must(|_| ());
    run::me()
}

/// The task that runs, if there is one.
pub fn try_get_current_task() -> Option<TaskId> {
    run::me()
}

/// The task that runs.
///
/// # Panics
/// If there is none.
pub fn me() -> TaskId {
    get_current_task().expect("a task runs")
}

/// Calls `f` with the labels of a task.
pub fn with_labels_for_task<F, T>(task_id: TaskId, f: F) -> T
where
    F: FnOnce(&mut Labels) -> T,
{
    task::with_labels(task_id, f)
}

/// The label of this type.
pub fn get_label_for_task<T: Clone + Debug + 'static>(task_id: TaskId) -> Option<T> {
    task::with_labels(task_id, |labels| labels.get().cloned())
}

/// Sets a label, and returns the one of the same type from before.
pub fn set_label_for_task<T: Clone + Debug + 'static>(task_id: TaskId, value: T) -> Option<T> {
    task::with_labels(task_id, |labels| labels.insert(value))
}

/// Takes a label away.
pub fn remove_label_for_task<T: Clone + Debug + 'static>(task_id: TaskId) -> Option<T> {
    task::with_labels(task_id, Labels::remove)
}

/// The name of a task.
pub fn get_name_for_task(task_id: TaskId) -> Option<TaskName> {
    get_label_for_task(task_id)
}

/// Sets the name of a task, and returns the one from before.
pub fn set_name_for_task(task_id: TaskId, task_name: impl Into<TaskName>) -> Option<TaskName> {
    set_label_for_task::<TaskName>(task_id, task_name.into())
}

/// Sets the tag of the current task, and returns the one from before.
pub fn set_tag_for_current_task(tag: Arc<dyn Tag>) -> Option<Arc<dyn Tag>> {
    set_tag_for_task(me(), tag)
}

/// The tag of the current task.
pub fn get_tag_for_current_task() -> Option<Arc<dyn Tag>> {
    get_tag_for_task(me())
}

/// Sets the tag of a task, and returns the one from before.
pub fn set_tag_for_task(task: TaskId, tag: Arc<dyn Tag>) -> Option<Arc<dyn Tag>> {
    run::must(|run| run.details[usize::from(task)].tag.replace(tag))
}

/// The tag of a task.
pub fn get_tag_for_task(task_id: TaskId) -> Option<Arc<dyn Tag>> {
    run::must(|run| run.details.get(usize::from(task_id))?.tag.clone())
}

/// Stands for shuttle's vector clocks, which are not kept, as in shuttle without its feature `vector-clocks`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorClock;

impl VectorClock {
    /// A clock that says nothing.
    pub const fn new() -> VectorClock {
        VectorClock
    }

    /// Always 0.
    pub fn get(&self, _: usize) -> u32 {
        0
    }
}

impl<const N: usize> From<&[u32; N]> for VectorClock {
    fn from(_: &[u32; N]) -> VectorClock {
        VectorClock
    }
}

impl From<&[u32]> for VectorClock {
    fn from(_: &[u32]) -> VectorClock {
        VectorClock
    }
}

impl std::ops::Deref for VectorClock {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &[]
    }
}

impl PartialOrd for VectorClock {
    fn partial_cmp(&self, _: &VectorClock) -> Option<Ordering> {
        Some(Ordering::Equal)
    }
}

/// A clock that says nothing.
pub fn clock() -> VectorClock {
    VectorClock
}

/// A clock that says nothing.
pub fn clock_for(_: TaskId) -> VectorClock {
    VectorClock
}
