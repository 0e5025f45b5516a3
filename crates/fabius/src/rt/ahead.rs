//! Steps that the running thread makes, or hands on, without asking the explorer.

use super::op::Ready;
use super::{Op, RECENT, Refine, Rt};
use fabius_explore::ahead::bit;
use fabius_explore::system::{Made, TaskId};

/// The first threads that have announced an operation, as bits.
pub(super) struct Waiting {
    /// Those whose operation needs no condition.
    unconditional: u64,
    /// Those whose operation does.
    conditional: u64,
    /// Those whose operation touches nothing that others see.
    quiet: u64,
    /// What the operation of each thread waits for.
    conditions: [Option<(Ready, *const ())>; u64::BITS as usize],
}

impl Default for Waiting {
    fn default() -> Waiting {
        Waiting { unconditional: 0, conditional: 0, quiet: 0, conditions: [None; u64::BITS as usize] }
    }
}

impl Waiting {
    /// Nobody waits.
    pub fn clear(&mut self) {
        (self.unconditional, self.conditional, self.quiet) = (0, 0, 0);
    }

    /// The thread waits in front of an operation.
    #[inline]
    pub fn announces(&mut self, thread: usize, op: &Op) {
        if op.ready.is_none() && op.deadline.is_none() {
            self.unconditional |= bit(thread);
        } else {
            self.conditional |= bit(thread);
            self.conditions[thread % u64::BITS as usize] = op.ready;
        }
        self.quiet |= if op.variable == Op::NOTHING { bit(thread) } else { 0 };
    }

    /// The thread makes its operation.
    #[inline]
    pub fn goes_on(&mut self, thread: usize) {
        let others = !bit(thread);
        self.unconditional &= others;
        self.conditional &= others;
        self.quiet &= others;
    }

    /// Whether none of these waits, nor anyone whose operation touches nothing.
    #[inline]
    fn none_of(&self, threads: u64) -> bool {
        (self.unconditional | self.conditional) & threads | self.quiet == 0
    }

    /// Whether the thread can go on without more ado.
    #[inline]
    pub fn can_surely_go_on(&self, thread: usize) -> bool {
        self.unconditional & bit(thread) != 0
    }
}

impl Rt {
    /// Whether a step may include others.
    pub fn goes_ahead_at_all(&self) -> bool {
        !self.settings.refine.contains(Refine::YIELDS) && !self.settings.record && self.orders.is_none()
    }

    /// Who makes the next step, where the running thread has given control back.
    #[inline]
    pub(super) fn goes_on_with(&mut self) -> Option<usize> {
        match self.hands_to.take() {
            None if self.ahead.steps > 0 && self.threads[self.current].finished => {
                let next = self.goes_ahead()?;
                self.says_who_was_born();
                self.ahead.trail.push(Made::Finished(self.current as TaskId));
                self.makes(next);
                Some(next)
            }
            next => next,
        }
    }

    /// Whether it is clear that the running thread, about to do this, makes the next step.
    #[inline]
    pub(super) fn goes_on_itself(&mut self, op: &Op) -> bool {
        let me = self.current;
        let is_next = self.ahead.is_surely_next(me, |threads| self.waiting.none_of(threads));
        // SAFETY: the object outlives the operation.
        let could = || op.ready.is_none_or(|(ready, object)| unsafe { ready(object, self, me) });
        if !is_next || !self.may_go_ahead() || op.deadline.is_some() || !could() {
            return false;
        }
        self.ahead.takes_turn();
        self.writes_down(me, op);
        true
    }

    /// Who makes the next step, if the explorer need not be asked. The running thread has announced what it does, or has
    /// finished.
    #[inline(always)]
    pub(super) fn goes_ahead(&mut self) -> Option<usize> {
        if self.beginnings > 0 {
            return None;
        }
        let next = match self.ahead.is_given() {
            _ if !self.may_go_ahead() => None,
            true => self.given(),
            false => self.one_of_all(),
        };
        if next.is_none() {
            self.ahead.steps = 0;
        }
        next
    }

    #[inline]
    fn may_go_ahead(&self) -> bool {
        let is_plain = !(self.dirty | self.has_deadlines) && self.beginnings == 0;
        is_plain && self.steps + RECENT < self.settings.max_steps
    }

    /// The thread, which has announced what it does, makes the next step.
    #[inline]
    fn makes(&mut self, thread: usize) {
        let op = self.threads[thread].op;
        // SAFETY: the operation is on the stack of a thread that waits.
        self.writes_down(thread, unsafe { &*op });
    }

    /// The thread makes the next step, and does this.
    #[inline(always)]
    pub(super) fn writes_down(&mut self, thread: usize, op: &Op) {
        if !self.born.is_empty() {
            self.says_who_was_born();
        }
        let (task, write) = (thread as TaskId, op.changes(self));
        self.ahead.trail.push(Made::Step { task, write, may_write: op.write, variable: op.variable, other: op.other });
        self.ahead.steps -= 1;
        self.steps += 1;
    }

    /// Threads were born in a step after which others are made.
    #[inline(never)]
    fn says_who_was_born(&mut self) {
        for born in self.born.drain(..) {
            self.ahead.trail.push(Made::Born(born.task));
            if self.threads[born.task as usize].finished {
                self.ahead.trail.push(Made::Finished(born.task));
            }
        }
    }

    /// Who is given next, if it can go on.
    fn given(&mut self) -> Option<usize> {
        let next = self.ahead.next_given()?;
        let can = self.waiting.can_surely_go_on(next) || next < self.threads.len() && self.can_go_on(next);
        can.then_some(next)
    }

    /// One of the threads that can go on, if the plan says which.
    #[inline(always)]
    fn one_of_all(&mut self) -> Option<usize> {
        if self.threads.len() > u64::BITS as usize {
            return None;
        }
        let (mut able, mut waiting) = (self.waiting.unconditional, self.waiting.conditional);
        while waiting != 0 {
            let thread = waiting.trailing_zeros() as usize;
            // Nobody gives up waiting: there are no deadlines.
            // SAFETY: the object outlives the announced operation.
            let can =
                self.waiting.conditions[thread].is_some_and(|(ready, object)| unsafe { ready(object, self, thread) });
            able |= u64::from(can) << thread;
            waiting &= waiting - 1;
        }
        self.ahead.next_of(able, self.waiting.quiet, self.current)
    }

    /// The running thread, which has announced what it does, gives control back, if another makes the next step or the explorer
    /// must be asked. Says whether it must.
    #[inline]
    pub(super) fn hands_on(&mut self, me: usize, op: &Op) -> bool {
        match self.goes_ahead() {
            Some(next) if next == me => {
                self.writes_down(me, op);
                false
            }
            Some(next) => {
                self.makes(next);
                self.hands_to = Some(next);
                true
            }
            None => true,
        }
    }
}
