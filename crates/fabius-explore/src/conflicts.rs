//! Which steps of an execution conflict, though nothing else orders them: what bounded reduction has to know of it.
//!
//! Paper: Dynamic Partial-Order Reduction for Model Checking Software (Flanagan, Godefroid, POPL 2005), section 4: clocks of
//! threads and of accesses.
//!
//! Deviations:
//! 1. All pairs are told that are not ordered by what came before the second step, not the last one of each thread.
//! 2. What may write in another state (an exchange that fails) conflicts as if it did, but orders only what it did.
//! 3. What nobody has done at the end of an execution conflicts as well.
//! 4. Steps of a thread are named by their happens-before past (`race/classes.rs`), so that what is known of them is
//!    the same in all executions. A conflict belongs to what its thread had done before it.

use crate::system::{Access, TaskId, end_of};
use hashbrown::HashMap;
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

/// The steps of an execution so far.
#[derive(Default)]
pub(crate) struct History {
    pub threads: Vec<Thread>,
    variables: HashMap<u64, Variable, Xxh3DefaultBuilder>,
    /// Variables of executions before, whose memory is used again.
    unused: Vec<Variable>,
    /// What is new, and was not told yet.
    pub found: Vec<Conflict>,
    /// Whether conflicts with the next step are new.
    pub is_new: bool,
    /// Whether some step waited for something that nobody knows.
    pub is_unknown: bool,
}

/// A thread, by its number.
#[derive(Default)]
pub(crate) struct Thread {
    /// What it is called in all executions, and who made it.
    pub name: u128,
    pub parent: Option<TaskId>,
    /// The number of its name, where that is known.
    pub id: Option<u32>,
    /// What happened before its last step.
    clock: Vec<u32>,
    /// Its past in front of its first step, and behind each.
    pub keys: Vec<u128>,
    /// How many of its steps were no joins.
    pub steps: u32,
    pub is_born: bool,
    pub has_finished: bool,
}

/// A step, the next step of another thread that conflicts with it, and how many steps that had made then, or, if it is no
/// join, one more: joins do not count.
#[derive(Clone, Copy)]
pub(crate) struct Conflict {
    pub of: TaskId,
    pub step: u32,
    pub with: TaskId,
    pub steps: u32,
}

#[derive(Default)]
struct Variable {
    touched: Vec<Touched>,
    /// What happened before those who wrote it, and before all who touched it.
    writes: Vec<u32>,
    all: Vec<u32>,
}

/// The steps of a thread that touched a variable.
#[derive(Default)]
struct Touched {
    may_write: Vec<u32>,
    reads: Vec<u32>,
}

/// What a step does, or would do.
#[derive(Clone, Copy, Default)]
pub(crate) struct Does {
    pub access: Option<Access>,
    pub other: Option<Access>,
    pub may_write: bool,
    /// Whether more than what it accesses, and what was accessed before it, decides if it is possible.
    pub waits_for_more: bool,
}

impl Does {
    /// Each variable, whether it is written, and whether it might be.
    fn accesses(self) -> impl Iterator<Item = (u64, bool, bool)> {
        let first = self.access.map(|access| (access.variable, access.write, access.write || self.may_write));
        first.into_iter().chain(self.other.map(|access| (access.variable, access.write, access.write)))
    }

    fn is_join(self) -> bool {
        self.access.is_some_and(|access| access.variable & end_of(0) != 0 && !access.write)
    }
}

impl History {
    pub fn clear(&mut self) {
        self.threads.iter_mut().for_each(|thread| thread.is_born = false);
        self.unused.extend(self.variables.drain().map(|(_, variable)| variable.emptied()));
        self.found.clear();
        (self.is_new, self.is_unknown) = (false, false);
    }

    pub fn born(&mut self, parent: Option<TaskId>, task: TaskId, name: u128) {
        let at = task as usize;
        if at >= self.threads.len() {
            self.threads.resize_with(at + 1, Thread::default);
        }
        let Thread { mut clock, mut keys, .. } = std::mem::take(&mut self.threads[at]);
        clock.clear();
        clock.extend(parent.iter().flat_map(|parent| &self.threads[*parent as usize].clock));
        keys.clear();
        keys.push(name);
        self.threads[at] = Thread { name, parent, clock, keys, is_born: true, ..Thread::default() };
    }

    /// A step of a task, behind which its past is this.
    pub fn step(&mut self, task: TaskId, does: Does, key: u128) {
        if self.is_new {
            self.look(task, does);
        }
        let thread = &mut self.threads[task as usize];
        let number = thread.keys.len() as u32;
        let mut clock = std::mem::take(&mut thread.clock);
        thread.keys.push(key);
        thread.steps += u32::from(!does.is_join());
        for (variable, writes, _) in does.accesses() {
            let Some(variable) = self.variables.get(&variable) else { continue };
            join(&mut clock, if writes { &variable.all } else { &variable.writes });
        }
        if clock.len() <= task as usize {
            clock.resize(task as usize + 1, 0);
        }
        clock[task as usize] = number;
        for (variable, writes, may_write) in does.accesses() {
            self.variable(variable).touch(task, number, (writes, may_write), &clock);
        }
        self.threads[task as usize].clock = clock;
    }

    /// The last step of a task was its last.
    pub fn finished(&mut self, task: TaskId) {
        let thread = &mut self.threads[task as usize];
        thread.has_finished = true;
        let number = thread.keys.len() as u32 - 1;
        if number > 0 {
            let clock = std::mem::take(&mut thread.clock);
            self.variable(end_of(task)).touch(task, number, (true, true), &clock);
            self.threads[task as usize].clock = clock;
        }
    }

    fn variable(&mut self, variable: u64) -> &mut Variable {
        self.variables.entry(variable).or_insert_with(|| self.unused.pop().unwrap_or_default())
    }

    /// What a task has done so far, by its name in all executions.
    pub fn past_of(&self, task: TaskId) -> u128 {
        self.threads[task as usize].keys.last().copied().unwrap_or_default()
    }

    /// What conflicts with what a task does next.
    pub fn look(&mut self, task: TaskId, does: Does) {
        let thread = &self.threads[task as usize];
        let steps = thread.steps + u32::from(!does.is_join());
        self.is_unknown |= does.waits_for_more;
        for (variable, _, may_write) in does.accesses() {
            let Some(variable) = self.variables.get(&variable) else { continue };
            for (of, touched) in variable.touched.iter().enumerate().filter(|(of, _)| *of != task as usize) {
                let known = thread.clock.get(of).copied().unwrap_or(0);
                let reads = if may_write { touched.reads.as_slice() } else { &[] };
                for list in [touched.may_write.as_slice(), reads] {
                    let new = list.iter().rev().take_while(|step| **step > known);
                    let of = of as TaskId;
                    self.found.extend(new.map(|step| Conflict { of, step: *step, with: task, steps }));
                }
            }
        }
    }
}

impl Variable {
    /// Nobody has touched it.
    fn emptied(mut self) -> Variable {
        for touched in &mut self.touched {
            touched.may_write.clear();
            touched.reads.clear();
        }
        self.writes.clear();
        self.all.clear();
        self
    }

    fn touch(&mut self, task: TaskId, number: u32, (writes, may_write): (bool, bool), clock: &[u32]) {
        let at = task as usize;
        if at >= self.touched.len() {
            self.touched.resize_with(at + 1, Touched::default);
        }
        let touched = &mut self.touched[at];
        if may_write {
            touched.may_write.push(number)
        } else {
            touched.reads.push(number)
        }
        join(&mut self.all, clock);
        if writes {
            self.writes.clone_from(&self.all);
        }
    }
}

fn join(clock: &mut Vec<u32>, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    clock.iter_mut().zip(other).for_each(|(mine, other)| *mine = (*mine).max(*other));
}
