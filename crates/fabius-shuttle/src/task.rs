//! What is known of a task wherever it is named: its number, its labels, its name, its tag.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::sync::Arc;

thread_local! {
    // Labels outlive the execution, as they may be asked for when a failure is shown.
    static LABELS: RefCell<HashMap<TaskId, Labels>> = RefCell::default();
}

/// Calls `f` with the labels of a task.
pub(crate) fn with_labels<R>(task: TaskId, f: impl FnOnce(&mut Labels) -> R) -> R {
    LABELS.with(|labels| f(labels.borrow_mut().entry(task).or_default()))
}

/// The name of a task, wherever that is asked.
pub(crate) fn name_of(task: TaskId) -> Option<TaskName> {
    LABELS.with(|labels| labels.try_borrow().ok()?.get(&task)?.get::<TaskName>().cloned())
}

/// Forgets all labels, at the end of an execution.
pub(crate) fn forget_labels() {
    let labels = LABELS.with(|labels| std::mem::take(&mut *labels.borrow_mut()));
    // Dropped only after the borrow: destructors may look.
    drop(labels);
}

/// The number of a task: 0 for the one that runs the test, then in the order of spawning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(usize);

impl From<usize> for TaskId {
    fn from(number: usize) -> TaskId {
        TaskId(number)
    }
}

impl From<TaskId> for usize {
    fn from(id: TaskId) -> usize {
        id.0
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match name_of(*self) {
            Some(name) => write!(f, "{name:?}({})", self.0),
            None => write!(f, "TaskId({})", self.0),
        }
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
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
