//! The tasks of a runtime, which ends them.

use crate::executor::{NOBODY, Progress, Task};
use crate::monitor::At;
use fabius::extend::{self, Resource};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whether it still starts tasks.
#[derive(Default)]
struct Closed(bool);

impl extend::State for Closed {}

/// The tasks of a runtime.
pub(crate) struct Tasks {
    closed: Resource<Closed>,
    all: Mutex<Vec<Arc<Task>>>,
    /// The thread that made the runtime, and drops it.
    owner: usize,
    /// Whether it was dropped when it had no tasks, which is no step.
    is_gone: AtomicBool,
}

fabius::thread_local! {
    static CURRENT: RefCell<Vec<Arc<Tasks>>> = RefCell::default();
}

impl Tasks {
    /// Those of a runtime of this thread.
    pub fn new() -> Tasks {
        Tasks {
            closed: Resource::unordered(Closed(false)),
            all: Mutex::default(),
            owner: extend::me(),
            is_gone: AtomicBool::new(false),
        }
    }

    /// The runtime that the thread is part of.
    pub fn current() -> Option<Arc<Tasks>> {
        CURRENT.with(|current| current.borrow().last().cloned())
    }

    /// The thread is part of the runtime from now on.
    pub fn enter(self: &Arc<Tasks>) {
        CURRENT.with(|current| current.borrow_mut().push(self.clone()));
    }

    /// And is not any more.
    pub fn leave() {
        // The thread may be ending.
        let _ = CURRENT.try_with(|current| current.borrow_mut().pop());
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Task>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more. What the owner starts is ordered by that; for others it is a scheduling point, which orders nothing.
    pub fn add(&self, task: &Arc<Task>, at: At) {
        let is_owner = extend::me() == self.owner;
        let finds = |closed: &mut Closed| {
            if closed.0 {
                self.closed.comes_after();
            }
            closed.0
        };
        let closed = !is_owner && self.closed.change("start a task", at, finds) == Some(true);
        if closed || self.is_gone.load(Relaxed) {
            task.abort(at);
        }
        self.all().push(task.clone());
    }

    /// Whether the current thread has seen the end of the task, itself or by somebody whose end it has seen.
    fn knows_end(all: &[Arc<Task>], task: &Task) -> bool {
        match task.joined_by.load(Relaxed) {
            NOBODY => false,
            by if by == extend::me() => true,
            by => all.iter().any(|other| other.thread.load(Relaxed) == by && Tasks::knows_end(all, other)),
        }
    }

    /// Ends all tasks at their next `await`, and waits for them.
    pub fn shut_down(&self, wait: Wait, at: At) {
        // The panic that unwinds the stack is what is to be shown.
        if !extend::is_inside() || std::thread::panicking() {
            return;
        }
        assert!(extend::me() == self.owner, "a `Runtime` must be dropped by the thread that made it");
        let unknown = |from: usize| -> Vec<Arc<Task>> {
            let all = self.all();
            all[from..].iter().filter(|task| !Tasks::knows_end(&all, task)).cloned().collect()
        };
        let until = match wait {
            Wait::AtMost(limit) => fabius::time::Instant::now().checked_add(limit),
            Wait::Always | Wait::No => None,
        };
        let mut from = 0;
        if unknown(from).is_empty() {
            self.is_gone.store(true, Relaxed);
            return;
        }
        self.closed.change("shut down", at, |closed| {
            self.closed.comes_before();
            closed.0 = true;
        });
        loop {
            let tasks = unknown(from);
            if tasks.is_empty() {
                return;
            }
            from = self.all().len();
            tasks.iter().for_each(|task| task.abort(at));
            if let Wait::No = wait {
                return;
            }
            for task in tasks {
                let ended = |progress: &mut Progress| task.has_ended(progress);
                task.progress.when("wait for a task to end", at, |progress| progress.ended.is_some(), until, ended);
            }
        }
    }
}

/// How long a runtime waits for its tasks.
#[derive(Clone, Copy)]
pub(crate) enum Wait {
    Always,
    AtMost(Duration),
    No,
}
