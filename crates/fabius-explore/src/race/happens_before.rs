//! The happens-before relation of an execution as a number: equal for two executions exactly (up to collisions of 128
//! bits) if they have the same events, named by thread and position in it, in the same partial order.
//!
//! Paper: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007), section 3 (dependent
//! steps, equivalent executions) and section 4.3 (the relation as the signature of a state in stateless search).
//!
//! Deviations:
//! 1. Threads are not numbered but named by whose how-manieth child they are, because the numbers of threads that run
//!    at the same time depend on their order. Tasks likewise.
//! 2. The outcomes of nondeterministic choices belong to the signature.
//! 3. [`Conflict::ReadWrite`] lets reads of a synchronization variable commute.
//! 4. The events of a step are those of the race detector: an atomic block is one, each data access behind it is one. So
//!    the signature does not depend on the scheduling points.
//! 5. On a buffer whose tasks stand in a queue every step is an event: in which order they were made decides what runs next.

use super::{Conflict, Runner, events};
use crate::system::{ANONYMOUS, Access, Born, BufferId, FIFO_BUFFER, TaskId, end_of};
use std::collections::HashMap;
use xxhash_rust::xxh3::xxh3_128;

/// Builds the signature of an execution step by step.
///
/// After each step of the execution call [`HappensBefore::step`], then [`HappensBefore::born`] for each task born in
/// it, then, if the task has finished, [`HappensBefore::finished`].
#[derive(Clone, Debug)]
pub struct HappensBefore {
    conflict: Conflict,
    threads: HashMap<BufferId, Line>,
    tasks: HashMap<TaskId, Named>,
    /// What comes before the next access to a synchronization variable, if that reads.
    writers: HashMap<u64, Clock>,
    /// The same, if that writes.
    all: HashMap<u64, Clock>,
    /// The ends that the last step wrote: of threads that it spawned.
    spawned: Vec<u64>,
    roots: u64,
    signature: u128,
}

/// How many events of each thread, by its name, come before.
type Clock = HashMap<u128, u64>;

/// A thread so far.
#[derive(Clone, Debug)]
struct Line {
    name: u128,
    clock: Clock,
}

#[derive(Clone, Copy, Debug)]
struct Named {
    name: u128,
    children: u64,
    choices: u64,
}

impl HappensBefore {
    /// The empty execution.
    pub fn new(conflict: Conflict) -> HappensBefore {
        HappensBefore {
            conflict,
            threads: HashMap::new(),
            tasks: HashMap::new(),
            writers: HashMap::new(),
            all: HashMap::new(),
            spawned: Vec::new(),
            roots: 0,
            signature: 0,
        }
    }

    /// The signature of what happened so far.
    pub fn signature(&self) -> u128 {
        self.signature
    }

    /// A step of the task with the outcomes of its choices.
    pub fn step(&mut self, runner: Runner, accesses: &[Access], choices: impl Iterator<Item = u32>) {
        let named = self.tasks.get_mut(&runner.task).expect("a task is born before it runs");
        for choice in choices {
            named.choices += 1;
            self.signature = self.signature.wrapping_add(hash(&[named.name, named.choices.into(), choice.into()]));
        }
        let name = named.name;
        self.spawned.clear();
        let (event, after) = events(accesses);
        if !event.is_empty() || runner.buffer & FIFO_BUFFER != 0 {
            self.event(name, runner.buffer, event);
        }
        for access in after {
            self.event(name, runner.buffer, std::slice::from_ref(access));
        }
    }

    /// A task was born in the last step, by `parent`, or at the very beginning. It comes after its `spawn`, or, if it
    /// was not spawned but started when `parent` finished, after all that `parent` did.
    pub fn born(&mut self, parent: Option<Runner>, born: &Born) {
        let name = match parent.and_then(|p| self.tasks.get_mut(&p.task)) {
            Some(parent) => {
                parent.children += 1;
                hash(&[parent.name, parent.children.into()])
            }
            None => {
                self.roots += 1;
                hash(&[self.roots.into()])
            }
        };
        self.tasks.insert(born.task, Named { name, children: 0, choices: 0 });
        let end = end_of(born.task);
        let spawned = self.spawned.contains(&end);
        if parent.is_none_or(|p| p.buffer != born.buffer) {
            let before = if spawned { self.all.get(&end) } else { parent.map(|p| &self.threads[&p.buffer].clock) };
            let clock = before.cloned().unwrap_or_default();
            self.threads.insert(born.buffer, Line { name, clock });
        }
        if !spawned {
            self.all.remove(&end);
            self.writers.remove(&end);
        }
    }

    /// The task has finished: a `join` of it comes after its events.
    pub fn finished(&mut self, runner: Runner) {
        if let (0, Some(line)) = (runner.task & ANONYMOUS, self.threads.get(&runner.buffer)) {
            join(self.all.entry(end_of(runner.task)).or_default(), &line.clock);
            join(self.writers.entry(end_of(runner.task)).or_default(), &line.clock);
        }
    }

    /// Renumbers anonymous tasks as [`crate::system::Snapshot::reorder_anonymous`] does.
    pub fn reorder_anonymous(&mut self, order: &[TaskId]) {
        let new = |old: TaskId| match old & ANONYMOUS {
            0 => Some(old),
            _ => order.iter().position(|t| *t == old).map(|i| ANONYMOUS | i as TaskId),
        };
        self.tasks = self.tasks.drain().filter_map(|(t, named)| Some((new(t)?, named))).collect();
        self.threads = self.threads.drain().filter_map(|(t, line)| Some((new(t)?, line))).collect();
    }

    /// One event of the task called `name`, with all these accesses.
    fn event(&mut self, name: u128, buffer: BufferId, accesses: &[Access]) {
        let line = self.threads.entry(buffer).or_insert_with(|| Line { name, clock: Clock::new() });
        for a in accesses.iter().filter(|a| a.sync) {
            if a.write && a.variable & end_of(0) != 0 {
                self.spawned.push(a.variable);
                self.all.remove(&a.variable);
                self.writers.remove(&a.variable);
            }
            let before = if self.conflict.writes(a) { &self.all } else { &self.writers };
            if let Some(clock) = before.get(&a.variable) {
                join(&mut line.clock, clock);
            }
        }
        // The clock counts the event itself, which makes the event's position in its thread part of the hash.
        *line.clock.entry(line.name).or_default() += 1;
        let before = line.clock.iter().map(|(thread, count)| hash(&[*thread, (*count).into()]));
        let before = before.fold(0, u128::wrapping_add);
        self.signature = self.signature.wrapping_add(hash(&[name, line.name, before]));
        for a in accesses.iter().filter(|a| a.sync) {
            join(self.all.entry(a.variable).or_default(), &line.clock);
            if self.conflict.writes(a) {
                join(self.writers.entry(a.variable).or_default(), &line.clock);
            }
        }
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (thread, count) in other {
        let mine = clock.entry(*thread).or_default();
        *mine = (*mine).max(*count);
    }
}

fn hash(parts: &[u128]) -> u128 {
    let bytes: Vec<u8> = parts.iter().flat_map(|p| p.to_le_bytes()).collect();
    xxh3_128(&bytes)
}
