//! The execution under way: its tasks, their names, labels and tags.

use crate::run;
pub use crate::scheduler::TaskId;
use std::any::{Any, TypeId};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::{self, Debug};
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
    run::with_labels(task_id, f)
}

/// The label of this type.
pub fn get_label_for_task<T: Clone + Debug + 'static>(task_id: TaskId) -> Option<T> {
    run::with_labels(task_id, |labels| labels.get().cloned())
}

/// Sets a label, and returns the one of the same type from before.
pub fn set_label_for_task<T: Clone + Debug + 'static>(task_id: TaskId, value: T) -> Option<T> {
    run::with_labels(task_id, |labels| labels.insert(value))
}

/// Takes a label away.
pub fn remove_label_for_task<T: Clone + Debug + 'static>(task_id: TaskId) -> Option<T> {
    run::with_labels(task_id, Labels::remove)
}

/// The name of a task.
pub fn get_name_for_task(task_id: TaskId) -> Option<TaskName> {
    get_label_for_task(task_id)
}

/// Sets the name of a task, and returns the one from before.
pub fn set_name_for_task(task_id: TaskId, task_name: impl Into<TaskName>) -> Option<TaskName> {
    set_label_for_task::<TaskName>(task_id, task_name.into())
}

/// The name of a task, a label.
#[derive(Clone, PartialEq, Eq)]
pub struct TaskName(String);

impl From<String> for TaskName {
    fn from(name: String) -> TaskName {
        TaskName(name)
    }
}

impl From<&str> for TaskName {
    fn from(name: &str) -> TaskName {
        TaskName(name.to_string())
    }
}

impl From<TaskName> for String {
    fn from(name: TaskName) -> String {
        name.0
    }
}

impl<'a> From<&'a TaskName> for &'a String {
    fn from(name: &'a TaskName) -> &'a String {
        &name.0
    }
}

impl Debug for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A label that changes the labels of every task that the labelled one spawns.
#[derive(Clone)]
pub struct ChildLabelFn(pub Arc<ChangeLabels>);

/// Changes the labels of a task.
pub type ChangeLabels = dyn Fn(TaskId, &mut Labels) + 'static;

impl Debug for ChildLabelFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChildLabelFn")
    }
}

trait Label: Any {
    fn copy(&self) -> Box<dyn Label>;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<T: Clone + 'static> Label for T {
    fn copy(&self) -> Box<dyn Label> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Values of a task, one of each type.
#[derive(Default)]
pub struct Labels(HashMap<TypeId, Box<dyn Label>>);

impl Labels {
    /// None.
    pub fn new() -> Labels {
        Labels::default()
    }

    /// Sets a value, and returns the one of the same type from before.
    pub fn insert<T: Clone + 'static>(&mut self, value: T) -> Option<T> {
        Labels::open(self.0.insert(TypeId::of::<T>(), Box::new(value))?)
    }

    /// The value of this type.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        (**self.0.get(&TypeId::of::<T>())?).as_any().downcast_ref()
    }

    /// The value of this type.
    pub fn get_mut<T: 'static>(&mut self) -> Option<&mut T> {
        (**self.0.get_mut(&TypeId::of::<T>())?).as_any_mut().downcast_mut()
    }

    /// The value of this type, or else this one.
    pub fn get_or_insert<T: Clone + 'static>(&mut self, value: T) -> &mut T {
        self.get_or_insert_with(|| value)
    }

    /// The value of this type, or else what `f` makes.
    pub fn get_or_insert_with<T: Clone + 'static, F: FnOnce() -> T>(&mut self, f: F) -> &mut T {
        let label = self.0.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(f()));
        (**label).as_any_mut().downcast_mut().expect("labels are stored by type")
    }

    /// The value of this type, or else the default.
    pub fn get_or_insert_default<T: Default + Clone + 'static>(&mut self) -> &mut T {
        self.get_or_insert_with(T::default)
    }

    /// Takes the value of this type away.
    pub fn remove<T: 'static>(&mut self) -> Option<T> {
        Labels::open(self.0.remove(&TypeId::of::<T>())?)
    }

    fn open<T: 'static>(label: Box<dyn Label>) -> Option<T> {
        label.into_any().downcast().ok().map(|value| *value)
    }

    /// Takes all away.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds others, in place of those of the same types.
    pub fn extend(&mut self, other: Labels) {
        self.0.extend(other.0);
    }
}

impl Clone for Labels {
    fn clone(&self) -> Labels {
        Labels(self.0.iter().map(|(key, label)| (*key, (**label).copy())).collect())
    }
}

impl Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Labels").finish_non_exhaustive()
    }
}

/// Marks types that may be tags.
pub trait Taggable: Debug {}

/// A tag of a task; children inherit it. Labels do the same and more.
pub trait Tag: Taggable {
    /// For downcasts.
    fn as_any(&self) -> &dyn Any;
}

impl<T: Taggable + Any> Tag for T {
    fn as_any(&self) -> &dyn Any {
        self
    }
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
