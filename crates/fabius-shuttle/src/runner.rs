//! Runs a test under one scheduler, or under several at the same time.

use crate::config::Config;
use crate::run::{self, SharedScheduler};
use crate::scheduler::{Schedule, Scheduler, Task, TaskId};
use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Runs a test under a scheduler.
#[derive(Debug)]
pub struct Runner<S: Scheduler> {
    scheduler: S,
    config: Config,
}

impl<S: Scheduler + 'static> Runner<S> {
    /// A runner with a scheduler that decides every execution.
    pub fn new(scheduler: S, config: Config) -> Runner<S> {
        Runner { scheduler, config }
    }

    /// Runs the test until the scheduler wants no more executions or time is up. Returns how many there were.
    ///
    /// # Panics
    /// If an execution fails, with its panic.
    #[track_caller]
    pub fn run<F>(self, test: F) -> usize
    where
        F: Fn() + Send + Sync + 'static,
    {
        run::must_be_outside();
        let at = Location::caller();
        let test: Arc<dyn Fn() + Send + Sync> = Arc::new(test);
        let scheduler = Rc::new(RefCell::new(self.scheduler));
        let shared: SharedScheduler = scheduler.clone();
        let began = Instant::now();
        let mut executions = 0;
        while self.config.max_time.is_none_or(|most| began.elapsed() <= most) {
            let Some(schedule) = scheduler.borrow_mut().new_execution() else { break };
            run::execute(&shared, schedule, &self.config, &test, at);
            executions += 1;
        }
        executions
    }
}

/// Runs a test under several schedulers, each on an operating system thread of its own.
pub struct PortfolioRunner {
    schedulers: Vec<Box<dyn Scheduler + Send>>,
    stop_on_first_failure: bool,
    config: Config,
}

impl PortfolioRunner {
    /// A runner without schedulers.
    pub fn new(stop_on_first_failure: bool, config: Config) -> PortfolioRunner {
        PortfolioRunner { schedulers: Vec::new(), stop_on_first_failure, config }
    }

    /// Adds a scheduler.
    pub fn add(&mut self, scheduler: impl Scheduler + Send + 'static) {
        self.schedulers.push(Box::new(scheduler));
    }

    /// Runs the test under all of them.
    ///
    /// # Panics
    /// If an execution fails, with its panic.
    #[track_caller]
    pub fn run<F>(self, test: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        run::must_be_outside();
        let test = Arc::new(test);
        let stop = Arc::new(AtomicBool::new(false));
        let threads: Vec<_> = self
            .schedulers
            .into_iter()
            .map(|inner| {
                let (test, stop, config) = (test.clone(), stop.clone(), self.config.clone());
                let stops = self.stop_on_first_failure;
                std::thread::spawn(move || {
                    let scheduler = Stoppable { inner, stop: stop.clone() };
                    let run = || Runner::new(scheduler, config).run(move || test());
                    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
                    if result.is_err() && stops {
                        stop.store(true, Ordering::SeqCst);
                    }
                    result.err()
                })
            })
            .collect();
        let failures: Vec<_> = threads.into_iter().filter_map(|t| t.join().unwrap_or_else(Some)).collect();
        if let Some(payload) = failures.into_iter().next() {
            std::panic::resume_unwind(payload);
        }
    }
}

impl fmt::Debug for PortfolioRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortfolioRunner")
            .field("schedulers", &self.schedulers.len())
            .field("stop_on_first_failure", &self.stop_on_first_failure)
            .field("config", &self.config)
            .finish()
    }
}

/// A scheduler that is told from outside when to stop.
struct Stoppable {
    inner: Box<dyn Scheduler + Send>,
    stop: Arc<AtomicBool>,
}

impl Scheduler for Stoppable {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.stop.load(Ordering::SeqCst) { None } else { self.inner.new_execution() }
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        if self.stop.load(Ordering::SeqCst) { None } else { self.inner.next_task(runnable, current, is_yielding) }
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}
