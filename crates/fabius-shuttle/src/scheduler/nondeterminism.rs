//! Runs every schedule twice, to see whether the test behaves the same.

use super::{Schedule, Scheduler, Task, TaskId};

#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Task { picked: Option<TaskId>, runnable: Vec<TaskId>, is_yielding: bool },
    Random(u64),
}

/// Runs every schedule of another scheduler twice and panics if a test behaves differently.
#[derive(Debug)]
pub struct UncontrolledNondeterminismCheckScheduler<S: Scheduler> {
    inner: S,
    recording: bool,
    seen: Vec<Seen>,
    position: usize,
}

impl<S: Scheduler> UncontrolledNondeterminismCheckScheduler<S> {
    /// With the schedules of another scheduler.
    pub fn new(scheduler: S) -> UncontrolledNondeterminismCheckScheduler<S> {
        UncontrolledNondeterminismCheckScheduler { inner: scheduler, recording: false, seen: Vec::new(), position: 0 }
    }

    /// What came next the first time.
    fn next(&mut self) -> Seen {
        let length = self.seen.len();
        let Some(seen) = self.seen.get(self.position) else {
            panic!(
                "possible nondeterminism: current execution should have ended after {length} steps, whereas current step \
                 count is {}",
                self.position
            )
        };
        self.position += 1;
        seen.clone()
    }
}

impl<S: Scheduler> Scheduler for UncontrolledNondeterminismCheckScheduler<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        let schedule = if self.recording {
            Some(Schedule::new(0))
        } else {
            assert!(
                self.position == self.seen.len(),
                "possible nondeterminism: current execution ended earlier than expected (expected length {} but ended \
                 after {})",
                self.seen.len(),
                self.position
            );
            self.seen.clear();
            self.inner.new_execution()
        };
        self.recording = !self.recording;
        self.position = 0;
        schedule
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        let now: Vec<TaskId> = runnable.iter().map(|t| t.id()).collect();
        if self.recording {
            let picked = self.inner.next_task(runnable, current, is_yielding);
            self.seen.push(Seen::Task { picked, runnable: now, is_yielding });
            return picked;
        }
        match self.next() {
            Seen::Task { picked, runnable, is_yielding: yielded } => {
                assert!(
                    runnable == now,
                    "possible nondeterminism: set of runnable tasks is different than expected.\nExpected:\n{runnable:?}\n\
                     but got:\n{now:?}"
                );
                assert!(
                    yielded == is_yielding,
                    "possible nondeterminism: `next_task` was called with `is_yielding` equal to {yielded} in the \
                     original execution, and {is_yielding} in the current execution"
                );
                picked
            }
            Seen::Random(_) => panic!(
                "possible nondeterminism: next step was context switch, but recording expected random number generation"
            ),
        }
    }

    fn next_u64(&mut self) -> u64 {
        if self.recording {
            let value = self.inner.next_u64();
            self.seen.push(Seen::Random(value));
            return value;
        }
        match self.next() {
            Seen::Random(value) => value,
            Seen::Task { .. } => panic!(
                "possible nondeterminism: next step was random number generation, but recording expected context switch"
            ),
        }
    }
}
