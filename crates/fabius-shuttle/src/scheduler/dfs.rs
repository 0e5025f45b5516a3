//! All schedules, one after the other.

use super::{DataSource, RandomDataSource, Schedule, Scheduler, Task, TaskId};

/// The random numbers of every execution begin here.
const SEED: u64 = 0x1234_5678;

/// A decision of the current execution: which of how many.
#[derive(Clone, Copy, Debug)]
struct Decision {
    taken: usize,
    of: usize,
}

/// Tries all schedules, depth first, without reduction.
#[derive(Debug)]
pub struct DfsScheduler {
    left: Option<usize>,
    random_data: bool,
    path: Vec<Decision>,
    depth: usize,
    begun: bool,
    data: RandomDataSource,
}

impl DfsScheduler {
    /// At most so many executions. If random numbers are allowed, they are the same in each.
    pub fn new(max_iterations: Option<usize>, allow_random_data: bool) -> DfsScheduler {
        DfsScheduler {
            left: max_iterations,
            random_data: allow_random_data,
            path: Vec::new(),
            depth: 0,
            begun: false,
            data: RandomDataSource::initialize(SEED),
        }
    }
}

impl Scheduler for DfsScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        if self.begun {
            while self.path.pop_if(|d| d.taken + 1 == d.of).is_some() {}
            self.path.last_mut()?.taken += 1;
        }
        self.begun = true;
        self.depth = 0;
        self.data = RandomDataSource::initialize(SEED);
        Some(Schedule::new(self.data.reinitialize()))
    }

    fn next_task(&mut self, runnable: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
        if self.depth == self.path.len() {
            self.path.push(Decision { taken: 0, of: runnable.len() });
        }
        let decision = self.path[self.depth];
        self.depth += 1;
        assert_eq!(decision.of, runnable.len(), "the test behaves differently when the same schedule is run again");
        Some(runnable[decision.taken].id())
    }

    fn next_u64(&mut self) -> u64 {
        assert!(self.random_data, "requested random data from DFS scheduler with allow_random_data = false");
        self.data.next_u64()
    }
}
