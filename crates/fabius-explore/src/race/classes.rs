//! The equivalence class of an execution so far as a number, step by step and cheaply: equal for two executions of a
//! system of threads exactly (up to collisions of 128 bits) if they have the same steps in the same happens-before
//! relation. Then they have led to the same state.
//!
//! Paper: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007), section 4.3 (the
//! happens-before relation as the signature of a state in stateless search).
//!
//! Deviations:
//! 1. A step is hashed with the steps that come immediately before it, not with all: its thread's last, and for each
//!    variable the last that wrote it and, if the step writes, those that read it since. The hash of a step so stands for
//!    all that comes before it, and the class is the sum of the hashes of all steps.
//! 2. Variables have no names in the hash: what a step accesses follows from what its thread has done.
//! 3. Of a variable with a history (an atomic under weak memory), the order of a load and a store says nothing once it is known which
//!    store the load has found: an access is hashed with that store, and a load with nothing else, so that the class is an execution
//!    graph (program order, what reads what, modification order). A store at the end is hashed with the one before it; one that comes
//!    late, also with how many come behind it, which tells their order; so two orders of stores in time that lead to one graph with late
//!    stores are told apart.

use super::Conflict;
use crate::system::{ANONYMOUS, Access, FoundStore, Made, TaskId, end_of, with_history};
use fabius_trace::Span;
use hashbrown::HashMap;
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

/// The class of an execution so far.
#[derive(Debug, Default)]
pub struct Classes {
    conflict: Conflict,
    /// The last step of each thread.
    threads: Vec<u128>,
    /// Variables with small numbers, and the others.
    small: Vec<Variable>,
    large: HashMap<u64, Variable, Xxh3DefaultBuilder>,
    /// The stores of variables with histories, in their order.
    histories: Vec<Vec<u128>>,
    /// Of the last access to one of these: the last step of its thread before it.
    before: u128,
    sum: u128,
    roots: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Variable {
    /// The last step that wrote it.
    write: u128,
    /// The sum of that and of those that read it since.
    touched: u128,
}

impl Variable {
    /// A step of a thread accesses it.
    #[inline(always)]
    fn step(&mut self, thread: &mut u128, writes: bool) -> u128 {
        // Whether a step writes cannot be foretold: a branch would cost more than what it leaves out.
        let Variable { write, touched } = *self;
        let step = mix(*thread, if writes { touched } else { write });
        let read = touched.wrapping_add(read(step));
        *self = Variable { write: if writes { step } else { write }, touched: if writes { step } else { read } };
        *thread = step;
        step
    }
}

impl Clone for Classes {
    fn clone(&self) -> Classes {
        let mut new = Classes::default();
        new.clone_from(self);
        new
    }

    /// Without a new allocation.
    fn clone_from(&mut self, from: &Classes) {
        (self.conflict, self.sum, self.roots, self.before) = (from.conflict, from.sum, from.roots, from.before);
        self.threads.clear();
        self.threads.extend_from_slice(&from.threads);
        self.small.clear();
        self.small.extend_from_slice(&from.small);
        if !(self.large.is_empty() && from.large.is_empty()) {
            self.large.clone_from(&from.large);
        }
        self.histories.clone_from(&from.histories);
    }
}

const CHILD: u64 = 1 << 60;
const CHOICE: u64 = 1 << 61;
const LATE: u64 = 1 << 62;
const TRIES: u64 = 1 << 63;

impl Classes {
    /// The empty execution.
    pub fn new(conflict: Conflict) -> Classes {
        Classes { conflict, ..Classes::default() }
    }

    /// Back to the empty execution.
    pub fn clear(&mut self) {
        self.threads.clear();
        self.small.clear();
        self.large.clear();
        self.histories.iter_mut().for_each(Vec::clear);
        self.sum = 0;
        self.roots = 0;
    }

    /// How much there is to remember.
    pub(crate) fn size(&self) -> usize {
        self.threads.len() + self.small.len() + self.large.len()
    }

    /// The class.
    #[inline]
    pub fn number(&self) -> u128 {
        self.sum
    }

    /// The class after a step with two accesses at most that makes no choices, and the step's own number.
    #[inline]
    pub fn after(&self, task: TaskId, access: Option<Access>, other: Option<Access>) -> (u128, u128) {
        let mut before = access.map_or(0, |a| self.before(&a));
        if let Some(other) = other {
            before = mix(before, self.before(&other));
        }
        let step = mix(self.threads[index(task)], before);
        (self.sum.wrapping_add(step), step)
    }

    /// The number of the last step of a task.
    pub fn last_step_of(&self, task: TaskId) -> u128 {
        self.threads[index(task)]
    }

    /// A step of the task with the outcomes of its choices.
    pub fn step(&mut self, task: TaskId, accesses: &[Access], choices: impl Iterator<Item = u32>) {
        let sync = || accesses.iter().filter(|a| a.sync);
        let before = sync().map(|a| self.before(a)).fold(0, |sum: u128, b| mix(sum, b).wrapping_add(b));
        let before = match sync().count() {
            0 | 1 => sync().map(|a| self.before(a)).sum(),
            _ => before,
        };
        let at = index(task);
        let mut step = mix(self.threads[at], before);
        for choice in choices {
            step = mix(step, small(CHOICE + u64::from(choice)));
        }
        self.sum = self.sum.wrapping_add(step);
        self.threads[at] = step;
        accesses.iter().filter(|a| a.sync).for_each(|access| self.touched(*access, step));
    }

    /// A step of a task that accesses a variable with a history, as was found out, with the outcomes of its choices otherwise.
    pub(crate) fn found(&mut self, task: TaskId, variable: u64, found: FoundStore, choices: impl Iterator<Item = u32>) {
        let thread = self.threads[index(task)];
        self.before = thread;
        let stores = stores_of(&mut self.histories, variable);
        let at = stores.len().saturating_sub(found.newer as usize);
        let before = at.checked_sub(1).map_or(0, |last| stores[last]);
        let mut step = choices.fold(mix(thread, before), |step, choice| mix(step, small(CHOICE + u64::from(choice))));
        if found.stores {
            if found.newer > 0 {
                step = mix(step, small(LATE + u64::from(found.newer)));
            }
            stores.insert(at, step);
        }
        self.threads[index(task)] = step;
        self.sum = self.sum.wrapping_add(step);
    }

    /// The class, if the last step, which is a load of a variable with a history and made no choices else, had found a store so much older
    /// than the newest; and that step's own number.
    pub(crate) fn where_it_finds(&self, task: TaskId, variable: u64, newer: u32) -> Option<(u128, u128)> {
        let stores = self.histories.get(number_of(variable))?;
        let at = stores.len().saturating_sub(newer as usize);
        let step = mix(self.before, at.checked_sub(1).map_or(0, |last| stores[last]));
        Some((self.sum.wrapping_sub(self.threads[index(task)]).wrapping_add(step), step))
    }

    /// A step of a task with two accesses at most and no choices.
    #[inline]
    pub fn announced(&mut self, task: TaskId, access: Option<Access>, other: Option<Access>) {
        if let (Some(access), None) = (access, other) {
            return self.one(task, access.variable, self.conflict.writes(&access));
        }
        let at = index(task);
        let (sum, step) = self.after(task, access, other);
        self.sum = sum;
        self.threads[at] = step;
        if let Some(access) = access {
            self.touched(access, step);
        }
        if let Some(other) = other {
            self.touched(other, step);
        }
    }

    /// What `after` and `touched` do for one variable, with one look at it.
    #[inline(always)]
    fn one(&mut self, task: TaskId, variable: u64, writes: bool) {
        if has_history(variable) {
            let found = FoundStore { newer: 0, stores: writes };
            return self.found(task, variable, found, std::iter::empty());
        }
        let thread = &mut self.threads[index(task)];
        let variable = match slot(variable) {
            Some(slot) if slot < self.small.len() => &mut self.small[slot],
            slot => new_variable(&mut self.small, &mut self.large, slot, variable),
        };
        self.sum = self.sum.wrapping_add(variable.step(thread, writes));
    }

    /// A step of a task with the variable that it accesses and another one that it writes, or [`Made::NOTHING`], and no choices.
    #[inline(always)]
    pub(crate) fn made(&mut self, task: TaskId, variable: u64, write: bool, other: u64) {
        if other != Made::NOTHING {
            let access = |variable, write| Access { variable, write, sync: true, span: Span::default() };
            let first = (variable != Made::NOTHING).then(|| access(variable, write));
            return self.announced(task, first, Some(access(other, true)));
        }
        if variable != Made::NOTHING {
            return self.one(task, variable, write || self.conflict == Conflict::All);
        }
        let thread = &mut self.threads[index(task)];
        *thread = mix(*thread, 0);
        self.sum = self.sum.wrapping_add(*thread);
    }

    /// A step has accessed a variable.
    #[inline]
    fn touched(&mut self, access: Access, step: u128) {
        let writes = self.conflict.writes(&access);
        if has_history(access.variable) {
            if writes {
                stores_of(&mut self.histories, access.variable).push(step);
            }
            return;
        }
        let variable = self.variable(access.variable);
        if writes {
            *variable = Variable { write: step, touched: step };
        } else {
            variable.touched = variable.touched.wrapping_add(read(step));
        }
    }

    /// The outcomes of choices before the first step.
    pub fn begin(&mut self, choices: &[u32]) {
        for choice in choices {
            self.sum = mix(self.sum, small(CHOICE + u64::from(*choice)));
        }
    }

    /// A task was born in the last step, as the `number`-th of it, by `parent`, or at the very beginning.
    pub fn born(&mut self, parent: Option<TaskId>, number: usize, task: TaskId) {
        let name = match parent {
            Some(parent) => mix(self.threads[index(parent)], small(CHILD + number as u64)),
            None => {
                self.roots += 1;
                mix(small(CHILD), small(self.roots.into()))
            }
        };
        let at = index(task);
        if at >= self.threads.len() {
            self.threads.resize(at + 1, 0);
        }
        self.threads[at] = name;
    }

    /// The task has finished: what waits for that comes after its last step.
    pub fn finished(&mut self, task: TaskId) {
        let last = self.threads[index(task)];
        *self.variable(end_of(task)) = Variable { write: last, touched: last };
    }

    /// What comes immediately before an access.
    #[inline]
    fn before(&self, access: &Access) -> u128 {
        if has_history(access.variable) {
            let stores = self.histories.get(number_of(access.variable));
            return stores.and_then(|stores| stores.last().copied()).unwrap_or(0);
        }
        let variable = match slot(access.variable) {
            Some(slot) => self.small.get(slot).copied().unwrap_or_default(),
            None => self.large.get(&access.variable).copied().unwrap_or_default(),
        };
        if self.conflict.writes(access) { variable.touched } else { variable.write }
    }

    #[inline(always)]
    fn variable(&mut self, variable: u64) -> &mut Variable {
        match slot(variable) {
            Some(slot) if slot < self.small.len() => &mut self.small[slot],
            slot => new_variable(&mut self.small, &mut self.large, slot, variable),
        }
    }
}

/// Instead of the class after the usual outcome of a step, which comes with the step's own number: that the step is tried, whatever
/// its outcome.
pub(crate) fn trying(after: u128, step: u128) -> u128 {
    after.wrapping_sub(step).wrapping_add(mix(step, small(TRIES)))
}

/// So many variables get room at once.
const AT_ONCE: usize = 8;

#[cold]
fn new_variable<'a>(
    small: &'a mut Vec<Variable>,
    large: &'a mut HashMap<u64, Variable, Xxh3DefaultBuilder>,
    slot: Option<usize>,
    variable: u64,
) -> &'a mut Variable {
    match slot {
        Some(slot) => {
            small.resize((slot + 1).next_multiple_of(AT_ONCE), Variable::default());
            &mut small[slot]
        }
        None => large.entry(variable).or_default(),
    }
}

/// Whether it is one [`with_history`].
pub(crate) fn has_history(variable: u64) -> bool {
    variable >> 61 == 1
}

/// Its number among those.
fn number_of(variable: u64) -> usize {
    (variable ^ with_history(0)) as usize
}

fn stores_of(histories: &mut Vec<Vec<u128>>, variable: u64) -> &mut Vec<u128> {
    let number = number_of(variable);
    if number >= histories.len() {
        histories.resize_with(number + 1, Vec::new);
    }
    &mut histories[number]
}

/// Threads and their ends have small numbers.
#[inline]
fn index(task: TaskId) -> usize {
    let anonymous = task & ANONYMOUS != 0;
    (task & !ANONYMOUS) as usize * 2 + usize::from(anonymous)
}

#[inline]
fn slot(variable: u64) -> Option<usize> {
    let end = variable & end_of(0) != 0;
    let number = variable & !end_of(0);
    // Ends of anonymous tasks are nobody's to wait for.
    (number < 1 << 16).then_some(number as usize * 2 + usize::from(end))
}

/// A small number in both halves, each of which is a hash of its own.
#[inline]
const fn small(number: u64) -> u128 {
    number as u128 | (number as u128) << 64
}

/// A step as one that reads: another number than that of the step, which is a hash. The halves do not mix.
#[inline]
fn read(step: u128) -> u128 {
    let low = (step as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let high = ((step >> 64) as u64).wrapping_mul(0x8ebc_6af0_9c88_c6e3);
    u128::from(high) << 64 | u128::from(low)
}

/// Two numbers in order as one. The halves do not mix: two numbers are equal only if both are.
#[inline]
fn mix(a: u128, b: u128) -> u128 {
    let fold = |x: u64, y: u64| {
        let product = u128::from(x) * u128::from(y);
        (product >> 64) as u64 ^ product as u64
    };
    let (a0, a1, b0, b1) = (a as u64, (a >> 64) as u64, b as u64, (b >> 64) as u64);
    let low = fold(a0 ^ 0x9e37_79b9_7f4a_7c15, b0 ^ 0xd1b5_4a32_d192_ed03);
    let high = fold(a1 ^ 0x8ebc_6af0_9c88_c6e3, b1 ^ 0x5899_65cc_7537_4cc3);
    u128::from(high) << 64 | u128::from(low)
}
