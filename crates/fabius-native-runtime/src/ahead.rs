//! Steps that are made without asking the explorer, as it has planned: the running thread goes on, or hands on to another one, from
//! fiber to fiber.
//!
//! Whatever has to be looked at ends that: choices, whoever gives way or goes on by itself for long (`state.rs`), children of
//! `fork`, more threads than there are bits in a word.

use crate::rt::Rt;
use crate::state::is_long;
use fabius_explore::system::{Made, TaskId};
use fabius_native_protocol::Isolation;
use std::sync::atomic::Ordering::Relaxed;

impl Rt {
    /// Whether steps can be made without asking at all. Where an execution has a process of its own they would save nothing.
    pub fn goes_ahead_at_all(&self) -> bool {
        self.settings.isolation == Isolation::Memory && !self.record && self.threads.len() <= u64::BITS as usize
    }

    /// The thread makes a step.
    #[inline(always)]
    pub fn begins_step(&mut self, thread: usize) {
        self.current = thread;
        self.decided(thread as TaskId);
        let steps = &self.worker().steps;
        steps.store(steps.load(Relaxed) + 1, Relaxed);
        self.goes_on(thread);
    }

    /// Who makes the next step, if the explorer need not be asked. The running thread has announced what it is about to do, or has
    /// finished.
    #[inline]
    pub fn next_without_asking(&mut self) -> Option<usize> {
        if self.ahead.steps == 0 {
            return None;
        }
        let next = match self.ahead.gives() {
            _ if !self.is_plain() => None,
            true => self.ahead.next_given().filter(|next| *next < self.threads.len() && self.is_possible(*next)),
            false => self.one_of_all(),
        };
        let Some(next) = next else {
            self.ahead.steps = 0;
            return None;
        };
        self.born.drain(..).for_each(|born| self.ahead.lives(Made::Born(born.task)));
        if self.threads[self.current].finished {
            self.ahead.lives(Made::Finished(self.current as TaskId));
        }
        let op = &self.threads[next].op;
        let variable = if op.object == 0 { Made::NOTHING } else { op.object as u64 };
        self.ahead.makes(Made::Step {
            task: next as TaskId,
            write: op.write,
            may_write: op.write,
            variable,
            other: Made::NOTHING,
        });
        self.begins_step(next);
        Some(next)
    }

    /// Who makes the next step where a thread has come to its end.
    #[inline]
    pub fn next_behind_end(&mut self) -> Option<usize> {
        let is_end =
            self.threads[self.current].finished && !self.over && self.failure.is_none() && self.limit.is_none();
        if is_end { self.next_without_asking() } else { None }
    }

    /// Whether nothing has to be looked at after the last step, nor before the next one.
    #[inline]
    fn is_plain(&self) -> bool {
        self.waiting.yielding == 0
            && self.repeated == 0
            && self.children.is_empty()
            && !self.cycles.are_looked_for()
            && self.streak.watched == 0
            && !is_long(self.streak.steps)
            && !is_long(self.streak.steps + 1)
            && self.threads.len() <= u64::BITS as usize
    }

    /// One of the threads that can go on, if the plan says which.
    #[inline]
    fn one_of_all(&mut self) -> Option<usize> {
        let (mut able, mut bound) = (self.waiting.free, self.waiting.bound);
        while bound != 0 {
            let thread = bound.trailing_zeros() as usize;
            able |= u64::from(self.is_possible(thread)) << thread;
            bound &= bound - 1;
        }
        let quiet = self.waiting.quiet;
        self.ahead.next_of(able, || quiet, self.current)
    }
}
