//! Any task that can run, with equal probability.

use super::{DataSource, RandomDataSource, Schedule, Scheduler, Task, TaskId, fresh_seed, seed_or};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// Picks any task that can run, at each step.
#[derive(Debug)]
pub struct RandomScheduler {
    left: usize,
    rng: Pcg64Mcg,
    data: RandomDataSource,
    seed: Option<u64>,
}

impl RandomScheduler {
    /// So many executions, from an unknown seed.
    pub fn new(max_iterations: usize) -> RandomScheduler {
        RandomScheduler::new_from_seed(fresh_seed(), max_iterations)
    }

    /// So many executions from a seed, or from that in `SHUTTLE_RANDOM_SEED`.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> RandomScheduler {
        let seed = seed_or(seed);
        RandomScheduler {
            left: max_iterations,
            rng: Pcg64Mcg::seed_from_u64(seed),
            data: RandomDataSource::initialize(seed),
            seed: None,
        }
    }
}

impl Scheduler for RandomScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.seed = None;
        self.left = self.left.checked_sub(1)?;
        let seed = self.data.reinitialize();
        if let Ok(path) = std::env::var("SHUTTLE_ALWAYS_PERSIST_SEED") {
            std::fs::write(path, seed.to_string()).expect("the seed can be written");
        }
        self.rng = Pcg64Mcg::seed_from_u64(seed);
        self.seed = Some(seed);
        Some(Schedule::new(seed))
    }

    fn next_task(&mut self, runnable: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
        runnable.choose(&mut self.rng).map(|t| t.id())
    }

    fn next_u64(&mut self) -> u64 {
        self.data.next_u64()
    }
}

impl Drop for RandomScheduler {
    fn drop(&mut self) {
        // An execution is under way only if it failed.
        if let Some(seed) = self.seed {
            eprintln!("failing seed:\n\"\n{seed}\n\"\npass it to `shuttle::check_random_with_seed`, with 1 iteration");
        }
    }
}
