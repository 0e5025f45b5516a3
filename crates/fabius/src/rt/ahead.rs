//! Steps that the running thread makes, or hands on, without asking the explorer.

use super::{Op, RECENT, Refine, Rt};
use fabius_explore::system::{Dice, Made, Rolled, TaskId};

/// What may be done without asking, and what was.
#[derive(Default)]
pub(super) struct Ahead {
    /// How many steps more.
    pub steps: u32,
    /// As long as none of these can go on.
    until: Vec<u32>,
    /// Who makes each of them is drawn.
    pub dice: Option<Dice>,
    /// How often another was drawn than one that could have gone on.
    switches: u32,
    /// Who was drawn and makes the next step.
    pub next: Option<usize>,
    /// Those that were made.
    trail: Vec<Made>,
}

impl Ahead {
    pub fn clear(&mut self) {
        (self.steps, self.dice, self.next) = (0, None, None);
        self.trail.clear();
    }
}

/// The first threads that have announced an operation, as bits.
#[derive(Default)]
pub(super) struct Waiting {
    /// Those whose operation needs no condition.
    unconditional: u64,
    /// Those whose operation does.
    conditional: u64,
    /// Those whose operation touches nothing that others see.
    quiet: u64,
}

/// The bit of a thread; none if there are too many.
#[inline]
fn bit(thread: usize) -> u64 {
    if thread < 64 { 1 << thread } else { 0 }
}

impl Waiting {
    /// The thread waits in front of an operation.
    #[inline]
    pub fn announces(&mut self, thread: usize, op: &Op) {
        if op.ready.is_none() && op.deadline.is_none() {
            self.unconditional |= bit(thread);
        } else {
            self.conditional |= bit(thread);
        }
        if op.variable == Op::NOTHING {
            self.quiet |= bit(thread);
        }
    }

    /// The thread makes its operation.
    #[inline]
    pub fn goes_on(&mut self, thread: usize) {
        let others = !bit(thread);
        self.unconditional &= others;
        self.conditional &= others;
        self.quiet &= others;
    }

    /// Whether the thread can go on without more ado.
    #[inline]
    pub fn can_surely_go_on(&self, thread: usize) -> bool {
        self.unconditional & bit(thread) != 0
    }
}

/// Who makes the next step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drawn {
    Itself,
    Another,
    /// The explorer says.
    Nobody,
}

impl Rt {
    /// The running thread may make so many steps without asking, as long as they do nothing that the explorer must know
    /// but their announced operations, and none of the threads `until` can go on.
    #[inline]
    pub fn allow_ahead(&mut self, steps: u32, until: &[u32]) {
        if self.goes_ahead_at_all() {
            self.ahead.steps = steps;
            self.ahead.until.clear();
            self.ahead.until.extend_from_slice(until);
        }
    }

    /// Whether a step may include others.
    pub fn goes_ahead_at_all(&self) -> bool {
        let plain = Refine::RELEASES.0 | Refine::RECEIVERS.0 | Refine::COUNTS.0 | Refine::ENDS.0 | Refine::WAITS.0;
        self.settings.refine.0 & !plain == 0 && !self.settings.record && self.orders.is_none()
    }

    /// So many steps may be made without asking, of threads that are drawn.
    pub fn roll_ahead(&mut self, steps: u32, dice: Dice) {
        self.ahead.steps = steps;
        self.ahead.dice = Some(dice);
        self.ahead.switches = 0;
    }

    /// Who made the last of several steps whose threads were drawn.
    #[inline]
    pub fn last_drawn(&self) -> Option<usize> {
        self.ahead.dice.is_some().then_some(self.current)
    }

    /// The dice, and how often another thread was drawn than one that could have gone on.
    pub fn take_dice(&mut self) -> Option<Rolled> {
        let switches = self.ahead.switches;
        self.ahead.dice.take().map(|dice| Rolled { dice, switches })
    }

    /// What was accessed in steps that the thread made without asking.
    #[inline]
    pub fn take_trail(&mut self, trail: &mut Vec<Made>) {
        self.ahead.steps = 0;
        trail.clear();
        std::mem::swap(&mut self.ahead.trail, trail);
    }

    /// Whether the running thread, about to do this, makes the next step at once.
    #[inline]
    pub(super) fn goes_on_without_asking(&mut self, op: &Op) -> bool {
        match self.ahead.dice {
            Some(_) => self.draws(op) == Drawn::Itself,
            None => self.goes_ahead(op),
        }
    }

    /// Makes the next step at once, if that is allowed.
    #[inline]
    fn goes_ahead(&mut self, op: &Op) -> bool {
        // SAFETY: the object outlives the operation.
        let ready = op.ready.is_none_or(|(ready, object)| unsafe { ready(object, self, self.current) });
        let plain = !self.dirty && !self.has_deadlines && op.deadline.is_none() && self.beginnings == 0;
        let plain = plain && op.other == Op::NOTHING;
        let others = self.ahead.until.iter().any(|other| self.ready(*other as usize));
        if !ready || !plain || others || self.steps + RECENT >= self.settings.max_steps {
            self.ahead.steps = 0;
            return false;
        }
        self.ahead.steps -= 1;
        self.steps += 1;
        self.ahead.trail.push(self.made_by(self.current, op));
        true
    }

    /// What the explorer must know of a step that it is not asked for.
    #[inline]
    fn made_by(&self, thread: usize, op: &Op) -> Made {
        Made {
            task: thread as TaskId,
            write: op.changes(self),
            variable: (op.variable != Op::NOTHING).then_some(op.variable),
            other: (op.other != Op::NOTHING).then_some(op.other),
        }
    }

    /// Draws who makes the next step, if that is allowed; it is another than the running one if the operation is announced
    /// in vain.
    fn draws(&mut self, op: &Op) -> Drawn {
        let plain = !self.dirty && !self.has_deadlines && op.deadline.is_none() && self.beginnings == 0;
        let me = self.current;
        let drawn = if plain && self.steps + RECENT < self.settings.max_steps { self.draw(op) } else { None };
        let Some(drawn) = drawn else {
            self.ahead.steps = 0;
            return Drawn::Nobody;
        };
        self.ahead.steps -= 1;
        self.steps += 1;
        if drawn == me {
            self.ahead.trail.push(self.made_by(me, op));
            return Drawn::Itself;
        }
        let of = self.threads[drawn].op;
        // SAFETY: the operation is on the stack of a thread that waits.
        self.ahead.trail.push(self.made_by(drawn, unsafe { &*of }));
        self.ahead.next = Some(drawn);
        Drawn::Another
    }

    /// One of the threads that can go on, if there is any. The running one is about to do this.
    #[inline]
    fn draw(&mut self, op: &Op) -> Option<usize> {
        let me = self.current;
        if self.threads.len() > u64::BITS as usize {
            return None;
        }
        let (mut able, mut waiting) = (self.waiting.unconditional, self.waiting.conditional);
        while waiting != 0 {
            let thread = waiting.trailing_zeros() as usize;
            able |= u64::from(self.can_go_on(thread)) << thread;
            waiting &= waiting - 1;
        }
        // SAFETY: the object outlives the operation.
        let can_i = op.ready.is_none_or(|(ready, object)| unsafe { ready(object, self, me) });
        able |= u64::from(can_i) << me;
        let quiet = able & (self.waiting.quiet | u64::from(op.variable == Op::NOTHING) << me);
        if quiet != 0 {
            able = 1 << quiet.trailing_zeros();
        }
        let mut skip = match able.count_ones() {
            0 => return None,
            1 => 0,
            several => self.ahead.dice.as_mut()?.usize(..several as usize),
        };
        while skip > 0 {
            able &= able - 1;
            skip -= 1;
        }
        let drawn = able.trailing_zeros() as usize;
        self.ahead.switches += u32::from(can_i && drawn != me);
        Some(drawn)
    }
}
