//! How many different things executions have shown after so many of them.
//!
//! Paper: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007), section 4: the curves of
//! Figures 2, 5 and 6.
//!
//! Deviations:
//! 1. A curve is kept at the powers of ten, at about 16 points between two of them, and at its end.
//! 2. States that differ only in the order in which tasks were posted that nobody refers to are one state, as they are for a
//!    search that stores states and may run any task next: otherwise a curve could rise above the number of all states.

use crate::system::{Access, Choose, End, Fault, Snapshot, StepLog, System, TaskId};
use fabius_trace::Grown;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A curve that is being drawn.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    points: Vec<Grown>,
    next: u64,
}

impl Growth {
    /// Whether the curve has a point after so many executions.
    pub(crate) fn has_point(&self, executions: u64) -> bool {
        executions >= self.next.max(1)
    }

    /// So many have been seen after so many executions.
    pub fn see(&mut self, executions: u64, distinct: usize) {
        if self.has_point(executions) {
            let power = 10u64.saturating_pow(executions.checked_ilog10().map_or(0, |digits| digits + 1));
            self.next = power.min(executions + 1 + executions * 3 / 20);
            self.points.push(Grown { executions, distinct: distinct as u64 });
        }
    }

    /// The curve; so many have been seen after all executions.
    pub fn end(mut self, executions: u64, distinct: usize) -> Vec<Grown> {
        if self.points.last().is_some_and(|last| last.executions == executions) {
            self.points.pop();
        }
        if executions > 0 {
            self.points.push(Grown { executions, distinct: distinct as u64 });
        }
        self.points
    }
}

/// A system that counts the states that executions pass through, for searches that store none. One execution at a time.
pub struct Counting<'a, S> {
    system: S,
    /// Bytes for the states.
    memory: u64,
    /// Set when there are more.
    stop: &'a AtomicBool,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// Executions that do not count: see [`Counting::new`].
    skipped: u64,
    /// Executions that have begun.
    begun: u64,
    /// The states, encoded.
    seen: HashSet<Box<[u8]>>,
    /// Bytes of these.
    memory: u64,
    growth: Growth,
    /// Reused.
    bytes: Vec<u8>,
}

impl<'a, S: Snapshot> Counting<'a, S> {
    /// Counts from the first execution on, but for so many that only look around: see [`crate::walk::scouts`]. So many bytes are
    /// for the states; when they take more, the search is stopped.
    pub fn new(system: S, skipped: u64, memory: Option<u64>, stop: &'a AtomicBool) -> Counting<'a, S> {
        let counts = Mutex::new(Counts { skipped, ..Counts::default() });
        Counting { system, memory: memory.unwrap_or(u64::MAX), stop, counts }
    }

    /// Whether the states take more than the memory that is given to them.
    pub fn is_full(&self) -> bool {
        self.counts().memory > self.memory
    }

    /// The curve.
    pub fn finish(self) -> Vec<Grown> {
        let Counts { begun, seen, growth, .. } = self.counts.into_inner().unwrap_or_else(PoisonError::into_inner);
        growth.end(begun, seen.len())
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn see(&self, state: &S::State) {
        let mut counts = self.counts();
        if counts.begun > 0 {
            let mut bytes = std::mem::take(&mut counts.bytes);
            bytes.clear();
            let mut order = self.system.anonymous_tasks(state);
            if order.is_empty() {
                self.system.encode(state, &mut bytes);
            } else {
                order.sort_by(|a, b| self.system.compare_anonymous(state, *a, *b));
                let mut sorted = state.clone();
                self.system.reorder_anonymous(&mut sorted, &order);
                self.system.encode(&sorted, &mut bytes);
            }
            if !counts.seen.contains(bytes.as_slice()) {
                counts.memory += (bytes.len() + size_of::<(Box<[u8]>, u64)>()) as u64;
                counts.seen.insert(bytes.as_slice().into());
                if counts.memory > self.memory {
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
            counts.bytes = bytes;
        }
    }
}

impl<S: Snapshot> System for Counting<'_, S> {
    type State = S::State;

    fn initial(&self, choose: &mut dyn Choose, log: &mut StepLog) -> Result<S::State, Fault> {
        let mut counts = self.counts();
        if counts.skipped > 0 {
            counts.skipped -= 1;
        } else {
            // What an execution has seen is known when the next one begins.
            let (before, seen) = (counts.begun, counts.seen.len());
            counts.growth.see(before, seen);
            counts.begun += 1;
        }
        drop(counts);
        let state = self.system.initial(choose, log)?;
        self.see(&state);
        Ok(state)
    }

    fn has_init(&self) -> bool {
        self.system.has_init()
    }

    fn has_buffers(&self) -> bool {
        self.system.has_buffers()
    }

    fn ready(&self, state: &S::State, task: TaskId) -> bool {
        self.system.ready(state, task)
    }

    fn next_access(&self, state: &S::State, task: TaskId) -> Option<Access> {
        self.system.next_access(state, task)
    }

    fn step(
        &self,
        state: &mut S::State,
        task: TaskId,
        choose: &mut dyn Choose,
        log: &mut StepLog,
    ) -> Result<End, Fault> {
        let end = self.system.step(state, task, choose, log)?;
        self.see(state);
        Ok(end)
    }
}
