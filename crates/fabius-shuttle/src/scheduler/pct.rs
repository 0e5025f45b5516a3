//! Random priorities that change at a few random points.
//!
//! Paper: A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs (ASPLOS 2010).
//!
//! Deviations:
//! 1. The length of an execution is the longest seen so far; the first execution runs the oldest task first.
//! 2. Only decisions among several tasks count as steps.
//! 3. A task that yields gets the lowest priority.

use super::{DataSource, RandomDataSource, Schedule, Scheduler, Task, TaskId, fresh_seed, seed_or};
use rand::seq::{SliceRandom, index};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Runs the task with the highest priority; priorities are random, and change at `depth - 1` points.
#[derive(Debug)]
pub struct PctScheduler {
    left: usize,
    depth: usize,
    begun: bool,
    /// For each task its rank: the lowest goes first.
    ranks: Vec<usize>,
    lowest: usize,
    changes: Vec<usize>,
    longest: usize,
    steps: usize,
    rng: Pcg64Mcg,
    data: RandomDataSource,
}

impl PctScheduler {
    /// So many executions, from an unknown seed.
    pub fn new(max_depth: usize, max_iterations: usize) -> PctScheduler {
        PctScheduler::new_from_seed(fresh_seed(), max_depth, max_iterations)
    }

    /// So many executions from a seed, or from that in `SHUTTLE_RANDOM_SEED`.
    pub fn new_from_seed(seed: u64, max_depth: usize, max_iterations: usize) -> PctScheduler {
        assert!(max_depth > 0, "the depth of a bug is at least 1");
        let seed = seed_or(seed);
        PctScheduler {
            left: max_iterations,
            depth: max_depth,
            begun: false,
            ranks: Vec::new(),
            lowest: 0,
            changes: Vec::new(),
            longest: 0,
            steps: 0,
            rng: Pcg64Mcg::seed_from_u64(seed),
            data: RandomDataSource::initialize(seed),
        }
    }

    fn lower(&mut self, task: TaskId) {
        self.ranks[usize::from(task)] = self.lowest;
        self.lowest += 1;
    }

    /// Gives ranks to tasks that have none: a random place among the others.
    fn meet(&mut self, task: TaskId) {
        while self.ranks.len() <= usize::from(task) {
            let new = self.ranks.len();
            self.ranks.push(self.lowest);
            self.lowest += 1;
            if self.begun {
                let other = self.rng.gen_range(0..=new);
                self.ranks.swap(new, other);
            }
        }
    }
}

impl Scheduler for PctScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.left = self.left.checked_sub(1)?;
        self.steps = 0;
        if self.longest > 0 || !self.ranks.is_empty() {
            assert!(self.longest > 0, "test closure did not exercise any concurrency");
            self.begun = true;
            self.ranks = (0..self.ranks.len()).collect();
            self.ranks.shuffle(&mut self.rng);
            self.lowest = self.ranks.len();
            let points = (self.depth - 1).min(self.longest - 1);
            self.changes = index::sample(&mut self.rng, self.longest - 1, points).iter().map(|p| p + 1).collect();
        }
        Some(Schedule::new(self.data.reinitialize()))
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        for task in runnable {
            self.meet(task.id());
        }
        if runnable.len() > 1 {
            if let Some(current) = current.filter(|_| is_yielding || self.changes.contains(&self.steps)) {
                self.meet(current);
                self.lower(current);
            }
            self.steps += 1;
            self.longest = self.longest.max(self.steps);
        }
        runnable.iter().map(|t| t.id()).min_by_key(|t| self.ranks[usize::from(*t)])
    }

    fn next_u64(&mut self) -> u64 {
        self.data.next_u64()
    }
}
