//! One task after the other.

use super::{DataSource, RandomDataSource, Schedule, Scheduler, Task, TaskId};

/// Goes to the next task that can run, at each step.
#[derive(Debug)]
pub struct RoundRobinScheduler {
    left: usize,
    data: RandomDataSource,
}

impl RoundRobinScheduler {
    /// So many executions, which differ only in their random numbers.
    pub fn new(max_iterations: usize) -> RoundRobinScheduler {
        RoundRobinScheduler { left: max_iterations, data: RandomDataSource::initialize(0) }
    }
}

impl Default for RoundRobinScheduler {
    fn default() -> RoundRobinScheduler {
        RoundRobinScheduler::new(1)
    }
}

impl Scheduler for RoundRobinScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.left = self.left.checked_sub(1)?;
        Some(Schedule::new(self.data.reinitialize()))
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, _: bool) -> Option<TaskId> {
        let after = runnable.iter().find(|t| Some(t.id()) > current);
        after.or(runnable.first()).map(|t| t.id())
    }

    fn next_u64(&mut self) -> u64 {
        self.data.next_u64()
    }
}
