//! Steps that the running thread makes, or hands on, without asking the explorer.

use super::op::Ready;
use super::{Op, RECENT, Refine, Rt};
use fabius_explore::system::{Dice, Made, Plan, StepLog, TaskId};

/// What may be done without asking, and what was.
#[derive(Default)]
pub(super) struct Ahead {
    /// How many steps more.
    pub steps: u32,
    /// Who makes them.
    who: Who,
    dice: Option<Dice>,
    /// Those that are given, each with how often; which is next.
    given: Vec<(TaskId, u32)>,
    at: usize,
    /// The numbers of threads of which the highest goes on.
    numbers: Vec<u64>,
    /// Who has it, and those that would go on instead of it, as bits.
    highest: usize,
    rivals: u64,
    /// How often another made a step than one that could have gone on.
    switches: u32,
    /// Who makes the next step instead of the running thread.
    pub next: Option<usize>,
    /// What was done.
    pub trail: Vec<Made>,
}

/// [`Plan`], without what it needs.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Who {
    #[default]
    Alone,
    Given,
    Drawn,
    Highest,
}

impl Ahead {
    pub fn clear(&mut self) {
        (self.steps, self.dice, self.next) = (0, None, None);
        self.trail.clear();
    }
}

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

/// The bit of a thread; none if there are too many.
#[inline]
fn bit(thread: usize) -> u64 {
    u64::from(thread < u64::BITS as usize) << (thread % u64::BITS as usize)
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
    /// So many steps may be made without asking, by whom the plan says, as long as they do nothing that the explorer must know
    /// but what is in the trail.
    pub fn plan_ahead(&mut self, steps: u32, plan: Plan<'_>) {
        let ahead = &mut self.ahead;
        ahead.steps = steps;
        ahead.switches = 0;
        ahead.who = match plan {
            Plan::Alone => Who::Alone,
            Plan::Drawn(dice) => {
                ahead.dice = Some(dice);
                Who::Drawn
            }
            Plan::Given(given) => {
                ahead.given.clear();
                ahead.given.extend_from_slice(given);
                ahead.at = 0;
                Who::Given
            }
            Plan::Highest(numbers) => {
                ahead.numbers.clear();
                ahead.numbers.extend_from_slice(numbers);
                (ahead.highest, ahead.rivals) = (usize::MAX, 0);
                Who::Highest
            }
        };
    }

    /// Whether a step may include others.
    pub fn goes_ahead_at_all(&self) -> bool {
        !self.settings.refine.contains(Refine::YIELDS) && !self.settings.record && self.orders.is_none()
    }

    /// What was done in steps that the explorer was not asked for.
    #[inline]
    pub fn take_trail(&mut self, log: &mut StepLog) {
        self.ahead.steps = 0;
        if self.ahead.trail.is_empty() && self.ahead.dice.is_none() {
            return;
        }
        std::mem::swap(&mut self.ahead.trail, &mut log.ahead);
        (log.dice, log.switches) = (self.ahead.dice.take(), self.ahead.switches);
    }

    /// Who makes the next step, where the running thread has given control back.
    #[inline]
    pub(super) fn goes_on_with(&mut self) -> Option<usize> {
        match self.ahead.next.take() {
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
        let is_next = match self.ahead.who {
            Who::Given => {
                let next = self.ahead.given.get(self.ahead.at);
                next.is_some_and(|(task, times)| *times > 0 && *task as usize == me)
            }
            Who::Highest => self.ahead.highest == me && self.waiting.none_of(self.ahead.rivals),
            Who::Alone | Who::Drawn => false,
        };
        // SAFETY: the object outlives the operation.
        let could = || op.ready.is_none_or(|(ready, object)| unsafe { ready(object, self, me) });
        if !is_next || !self.may_go_ahead() || op.deadline.is_some() || !could() {
            return false;
        }
        if self.ahead.who == Who::Given {
            self.ahead.given[self.ahead.at].1 -= 1;
        }
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
        let next = match self.ahead.who {
            _ if !self.may_go_ahead() => None,
            Who::Given => self.given(),
            who => self.drawn(who),
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
        self.ahead.trail.push(Made::Step { task, write, variable: op.variable, other: op.other });
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
        while self.ahead.given.get(self.ahead.at)?.1 == 0 {
            self.ahead.at += 1;
        }
        let next = &mut self.ahead.given[self.ahead.at];
        next.1 -= 1;
        let next = next.0 as usize;
        let can = self.waiting.can_surely_go_on(next) || next < self.threads.len() && self.can_go_on(next);
        can.then_some(next)
    }

    /// One of the threads that can go on, if there is any.
    #[inline(always)]
    fn drawn(&mut self, who: Who) -> Option<usize> {
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
        let quiet = able & self.waiting.quiet;
        let drawn = if able & able.wrapping_sub(1) == 0 {
            if able == 0 {
                return None;
            }
            able.trailing_zeros()
        } else if who == Who::Alone {
            return None;
        } else if quiet != 0 {
            quiet.trailing_zeros()
        } else if who == Who::Drawn {
            let mut skip = self.ahead.dice.as_mut()?.usize(..able.count_ones() as usize);
            let mut left = able;
            while skip > 0 {
                left &= left - 1;
                skip -= 1;
            }
            left.trailing_zeros()
        } else {
            self.highest(able)?
        };
        // Who could have gone on is preempted.
        self.ahead.switches += u32::from(drawn as usize != self.current) & (able >> self.current) as u32 & 1;
        Some(drawn as usize)
    }

    /// The thread with the highest number of several that can go on, as bits.
    fn highest(&mut self, able: u64) -> Option<u32> {
        let Ahead { numbers, highest, rivals, .. } = &mut self.ahead;
        let (mut first, mut left) = ((0, 0), able);
        while left != 0 {
            let thread = left.trailing_zeros() as usize;
            let number = numbers.get(thread).copied().filter(|number| *number > 0)?;
            first = first.max((number, thread));
            left &= left - 1;
        }
        // Nobody knows of those without a number.
        *rivals = u64::MAX.checked_shl(numbers.len() as u32).unwrap_or(0);
        for (thread, number) in numbers.iter().enumerate().take(u64::BITS as usize) {
            *rivals |= u64::from(*number == 0 || (*number, thread) > first) << thread;
        }
        *highest = first.1;
        Some(first.1 as u32)
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
                self.ahead.next = Some(next);
                true
            }
            None => true,
        }
    }
}
