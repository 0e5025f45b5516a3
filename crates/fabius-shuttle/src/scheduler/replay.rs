//! A schedule that is known.

use super::{DataSource, RandomDataSource, Schedule, ScheduleStep, Scheduler, Task, TaskId, serialization};
use crate::current::VectorClock;
use std::path::Path;

/// Runs one schedule.
#[derive(Debug)]
pub struct ReplayScheduler {
    schedule: Schedule,
    position: usize,
    begun: bool,
    allow_incomplete: bool,
    data: RandomDataSource,
}

impl ReplayScheduler {
    /// A schedule in the form in which failures print it.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn new_from_encoded(encoded_schedule: &str) -> ReplayScheduler {
        let schedule = serialization::decode(encoded_schedule).expect("invalid schedule");
        ReplayScheduler::new_from_schedule(schedule)
    }

    /// The same from a file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn new_from_file<P: AsRef<Path>>(path: P) -> Result<ReplayScheduler, std::io::Error> {
        Ok(ReplayScheduler::new_from_encoded(&std::fs::read_to_string(path)?))
    }

    /// A schedule.
    pub fn new_from_schedule(schedule: Schedule) -> ReplayScheduler {
        let data = RandomDataSource::initialize(schedule.seed);
        ReplayScheduler { schedule, position: 0, begun: false, allow_incomplete: false, data }
    }

    /// The test may go on after the schedule ends, or not be able to follow it: the execution is then dropped.
    pub fn set_allow_incomplete(&mut self) {
        self.allow_incomplete = true;
    }

    /// Without effect: there are no vector clocks.
    pub fn set_target_clock(&mut self, clock: impl Into<VectorClock>) {
        let _ = clock.into();
    }

    /// Where the schedule and the test part.
    fn parts(&self, why: &str) -> Option<TaskId> {
        assert!(self.allow_incomplete, "{why} at step {}", self.position);
        None
    }
}

impl Scheduler for ReplayScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        if std::mem::replace(&mut self.begun, true) {
            return None;
        }
        Some(Schedule::new(self.data.reinitialize()))
    }

    fn next_task(&mut self, runnable: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
        match self.schedule.steps.get(self.position) {
            None => self.parts("schedule ended early"),
            Some(ScheduleStep::Random) => {
                panic!("expected context switch but next schedule step is random choice")
            }
            Some(ScheduleStep::Task(task)) if runnable.iter().any(|t| t.id() == *task) => {
                self.position += 1;
                Some(*task)
            }
            Some(ScheduleStep::Task(_)) => self.parts("scheduled task is not runnable"),
        }
    }

    fn next_u64(&mut self) -> u64 {
        match self.schedule.steps.get(self.position) {
            Some(ScheduleStep::Random) => {
                self.position += 1;
                self.data.next_u64()
            }
            _ => panic!("expected random choice but next schedule step is context switch"),
        }
    }
}
