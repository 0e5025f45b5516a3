//! Uniform random walks: tasks are picked in proportion to what is left of them.
//!
//! Paper: Selectively Uniform Concurrency Testing (ASPLOS 2025).
//!
//! Deviations:
//! 1. How many steps a task makes is counted in one random walk; a task that was not in it counts as the shortest one.

use super::{DataSource, RandomDataSource, Schedule, Scheduler, Task, TaskId, fresh_seed, seed_or};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use std::collections::HashMap;

/// Picks tasks in proportion to how many steps they and the tasks that they will spawn have left.
#[derive(Debug)]
pub struct UrwRandomScheduler {
    left: usize,
    rng: Pcg64Mcg,
    data: RandomDataSource,
    /// Steps of each task and its descendants, by signature, once they have been counted.
    lengths: HashMap<u64, usize>,
    /// Signatures in the order of spawning, with those of the parents.
    parents: Vec<(u64, u64)>,
    counting: bool,
    shortest: usize,
    remaining: Vec<usize>,
}

impl UrwRandomScheduler {
    /// So many executions, from an unknown seed.
    pub fn new(max_iterations: usize) -> UrwRandomScheduler {
        UrwRandomScheduler::new_from_seed(fresh_seed(), max_iterations)
    }

    /// So many executions from a seed, or from that in `SHUTTLE_RANDOM_SEED`.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> UrwRandomScheduler {
        let seed = seed_or(seed);
        UrwRandomScheduler {
            left: max_iterations,
            rng: Pcg64Mcg::seed_from_u64(seed),
            data: RandomDataSource::initialize(seed),
            lengths: HashMap::new(),
            parents: Vec::new(),
            counting: true,
            shortest: 1,
            remaining: Vec::new(),
        }
    }

    fn counted(&mut self) {
        for (child, parent) in std::mem::take(&mut self.parents).into_iter().rev() {
            let length = self.lengths.get(&child).copied().unwrap_or(0);
            if let Some(all) = self.lengths.get_mut(&parent) {
                *all += length;
            }
        }
        self.shortest = self.lengths.values().copied().min().unwrap_or(1);
        self.counting = false;
    }

    fn meet(&mut self, task: &Task) {
        while self.remaining.len() <= usize::from(task.id()) {
            let length = self.lengths.get(&task.signature.signature_hash()).copied().unwrap_or(self.shortest).max(1);
            self.remaining.push(length);
            if let Some(parent) = task.parent_task_id().and_then(|p| self.remaining.get_mut(usize::from(p))) {
                *parent = parent.saturating_sub(length).max(1);
            }
        }
    }
}

impl Scheduler for UrwRandomScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.left = self.left.checked_sub(1)?;
        if self.counting && !self.lengths.is_empty() {
            self.counted();
        }
        self.remaining.clear();
        let seed = self.data.reinitialize();
        self.rng = Pcg64Mcg::seed_from_u64(seed);
        Some(Schedule::new(seed))
    }

    fn next_task(&mut self, runnable: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
        if self.counting {
            let task = runnable.choose(&mut self.rng)?;
            let signature = task.signature.signature_hash();
            if !self.lengths.contains_key(&signature) {
                self.parents.push((signature, task.signature.parent_signature_hash()));
            }
            *self.lengths.entry(signature).or_default() += 1;
            return Some(task.id());
        }
        for task in runnable {
            self.meet(task);
        }
        let remaining = &self.remaining;
        let task = runnable.choose_weighted(&mut self.rng, |t| remaining[usize::from(t.id())]).ok()?.id();
        let left = &mut self.remaining[usize::from(task)];
        *left = left.saturating_sub(1).max(1);
        Some(task)
    }

    fn next_u64(&mut self) -> u64 {
        self.data.next_u64()
    }
}
