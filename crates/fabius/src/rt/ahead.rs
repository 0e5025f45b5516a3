//! Steps that the running thread makes, or hands on, without asking the explorer.

use super::fiber::Exit;
use super::op::Ready;
use super::{Op, RECENT, Refine, Rt};
use fabius_explore::ahead::bit;
use fabius_explore::system::{Made, Plan, TaskId};

/// The first threads that have announced an operation, as bits.
pub(super) struct Waiting {
    /// Those whose operation needs no condition.
    unconditional: u64,
    /// Those whose operation does.
    conditional: u64,
    /// Those of the latter who wait for the end of a thread.
    joining: u64,
    /// Those whose operation touches nothing that others see.
    quiet: u64,
    /// What the operation of each thread waits for.
    conditions: [Option<(Ready, *const ())>; u64::BITS as usize],
}

impl Default for Waiting {
    fn default() -> Waiting {
        Waiting { unconditional: 0, conditional: 0, joining: 0, quiet: 0, conditions: [None; u64::BITS as usize] }
    }
}

impl Waiting {
    /// Nobody waits.
    pub fn clear(&mut self) {
        (self.unconditional, self.conditional, self.joining, self.quiet) = (0, 0, 0, 0);
    }

    /// The thread waits in front of an operation.
    #[inline]
    pub fn announces(&mut self, thread: usize, op: &Op) {
        if op.ready.is_none() && op.deadline.is_none() {
            self.unconditional |= bit(thread);
        } else {
            self.conditional |= bit(thread);
            self.joining |= if op.joins.is_some() { bit(thread) } else { 0 };
            self.conditions[thread % u64::BITS as usize] = op.ready;
        }
        self.quiet |= if op.variable == Op::NOTHING { bit(thread) } else { 0 };
    }

    /// The thread makes its operation.
    #[inline]
    pub fn goes_on(&mut self, thread: usize, op: &Op) {
        let others = !bit(thread);
        self.unconditional &= others;
        // The four words at once would be two loads of what was just stored word by word: a processor waits with that until all is in
        // its cache, which took 5 % of the time of a test.
        if op.ready.is_some() || op.deadline.is_some() {
            self.conditional &= others;
            self.joining &= others;
        }
        if op.variable == Op::NOTHING {
            self.quiet &= others;
        }
    }

    /// Whether none of these waits, nor anyone whose operation touches nothing.
    #[inline]
    fn none_of(&self, threads: u64) -> bool {
        // Who waits for the end of a thread that has ended needs no condition.
        (self.unconditional | self.conditional & !self.joining) & threads | self.quiet == 0
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

    /// So many steps more may be made without asking, by whom the plan says.
    pub fn plans(&mut self, steps: u32, plan: Plan<'_>) {
        let is_plain = !(self.dirty | self.has_deadlines | self.abandoned);
        // The last steps that an execution may have are looked at.
        let most = self.settings.max_steps.saturating_sub(RECENT + 1).saturating_sub(self.steps);
        self.ahead.plan(if is_plain { steps.min(most) } else { 0 }, plan);
    }

    /// A destructor of a last owner begins.
    pub fn begins_last_drop(&mut self) {
        self.last_drops += 1;
        self.ahead.not_quickly();
    }

    /// There is something that the explorer must know of before another step is made.
    #[inline]
    pub(super) fn has_news_for_the_explorer(&mut self) {
        self.dirty = true;
        self.ahead.steps = 0;
    }

    /// Whether the thread that has given control back has left the next step to another one, which is the current thread now.
    #[inline]
    pub(super) fn hands_on(&mut self) -> bool {
        std::mem::take(&mut self.hands_over)
    }

    /// Whether another step is made otherwise: because the thread has finished, by the current thread.
    #[inline]
    pub(super) fn goes_on_behind_an_end(&mut self) -> bool {
        self.ahead.steps > 0 && self.is_followed()
    }

    fn is_followed(&mut self) -> bool {
        if !self.threads[self.current].finished {
            return false;
        }
        let next = if self.ahead.gives() { self.given() } else { self.one_of_all(None) };
        let Some(next) = next else {
            self.ahead.steps = 0;
            return false;
        };
        self.says_who_was_born();
        self.ahead.lives(Made::Finished(self.current as TaskId));
        self.makes(next);
        self.current = next;
        true
    }

    /// The running thread is about to do this, and somebody may make a step without asking. Says whether it is that thread. Otherwise it
    /// must give control back.
    #[inline(always)]
    pub(super) fn goes_on_itself(&mut self, me: usize, op: &Op) -> bool {
        // SAFETY: the object outlives the operation.
        let can = |rt: &Rt| op.ready.is_none_or(|(ready, object)| unsafe { ready(object, rt, me) });
        let next = if self.ahead.is_given() {
            if self.ahead.gives_turn_to(me) { can(self).then_some(me) } else { self.given_or_first(op) }
        } else if self.ahead.is_surely_next(me, |threads| self.waiting.none_of(threads)) && can(self) {
            Some(me)
        } else {
            self.one_of_all(Some((can(self), op)))
        };
        match next {
            Some(next) if next == me => {
                self.writes_down(me, op);
                return true;
            }
            Some(next) => {
                self.makes(next);
                (self.current, self.hands_over) = (next, true);
            }
            None => self.ahead.steps = 0,
        }
        false
    }

    /// Who is given next, or the first that can go on when all these have been made, where the running thread is about to do this.
    #[inline(never)]
    fn given_or_first(&mut self, op: &Op) -> Option<usize> {
        if self.ahead.gives() {
            return self.given();
        }
        // SAFETY: the object outlives the operation.
        let can = op.ready.is_none_or(|(ready, object)| unsafe { ready(object, self, self.current) });
        self.one_of_all(Some((can, op)))
    }

    /// The thread waits in front of an operation, from the exit that is returned.
    #[inline]
    pub(super) fn waits(&mut self, me: usize, op: &Op) -> Exit {
        self.waiting.announces(me, op);
        // SAFETY: the object outlives the operation.
        if op.joins.is_some() && op.ready.is_some_and(|(ready, object)| unsafe { ready(object, self, me) }) {
            self.waiting.unconditional |= bit(me);
        }
        let thread = &mut self.threads[me];
        let here = 0;
        (thread.op, thread.lowest) = (op, (&raw const here).addr());
        thread.exit
    }

    /// A thread has finished: who waits for that can go on.
    #[inline]
    pub(super) fn has_ended(&mut self) {
        let mut waiting = self.waiting.joining;
        while waiting != 0 {
            let thread = waiting.trailing_zeros() as usize;
            // SAFETY: the object outlives the announced operation.
            if self.waiting.conditions[thread].is_some_and(|(ready, object)| unsafe { ready(object, self, thread) }) {
                self.waiting.unconditional |= bit(thread);
            }
            waiting &= waiting - 1;
        }
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
        self.ahead.makes(Made::Step { task, write, may_write: op.write, variable: op.accesses(self), other: op.other });
        self.steps += 1;
    }

    /// Threads were born in a step after which others are made.
    #[inline(never)]
    fn says_who_was_born(&mut self) {
        for born in &self.born {
            self.ahead.lives(Made::Born(born.task));
            if self.threads[born.task as usize].finished {
                self.ahead.lives(Made::Finished(born.task));
            }
        }
        self.born.clear();
    }

    /// Who is given next, if it can go on.
    fn given(&mut self) -> Option<usize> {
        let next = self.ahead.next_given()?;
        let can = self.waiting.can_surely_go_on(next) || next < self.threads.len() && self.can_go_on(next);
        can.then_some(next)
    }

    /// One of the threads that can go on, if the plan says which: of those that wait, and of the running thread, which has not
    /// announced what it does, if it has not finished: whether it can go on, and with what.
    #[inline(always)]
    fn one_of_all(&mut self, running: Option<(bool, &Op)>) -> Option<usize> {
        // So that each thread has a bit.
        if self.threads.len() > u64::BITS as usize {
            return None;
        }
        let me = self.current;
        if self.straight_on.is_some() {
            return self.straight_on;
        }
        let mine = 1u64 << (me % u64::BITS as usize);
        let able = if running.is_some_and(|(can, _)| can) { mine } else { 0 };
        let mut able = able | self.waiting.unconditional;
        let mut waiting = self.waiting.conditional & !self.waiting.joining;
        while waiting != 0 {
            let thread = waiting.trailing_zeros() as usize;
            // Nobody gives up waiting: there are no deadlines.
            // SAFETY: the object outlives the announced operation.
            let can =
                self.waiting.conditions[thread].is_some_and(|(ready, object)| unsafe { ready(object, self, thread) });
            able |= u64::from(can) << thread;
            waiting &= waiting - 1;
        }
        let is_quiet = running.is_some_and(|(_, op)| op.variable == Op::NOTHING);
        let quiet = self.waiting.quiet;
        self.ahead.next_of(able, || quiet | if is_quiet { mine } else { 0 }, me)
    }
}
