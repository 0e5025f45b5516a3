//! Steps that a system makes without asking the explorer: who makes the next one, as a [`Plan`] says, and what was done.
//!
//! Tasks are threads here, the first 64 of which are bits of a word.

pub use crate::bits::bit;
use crate::bits::{count, drawn, nth};
use crate::priorities::Falling;
use crate::system::{Dice, Made, Plan, StepLog, TaskId};

/// What may be done without asking, and what was.
#[derive(Default)]
pub struct Ahead {
    /// How many steps more.
    pub steps: u32,
    /// Who makes them.
    who: Who,
    dice: Option<Dice>,
    /// Those that are given, each with how often; which is next.
    given: Vec<(TaskId, u32)>,
    at: usize,
    /// Whether the first that can go on does when all these have been made.
    then_first: bool,
    /// By which it is decided.
    falling: Option<Falling>,
    /// How many steps there were in the plan, and how many are left when somebody falls.
    planned: u32,
    falls_at: u32,
    /// How often another made a step than one that could have gone on.
    switches: u32,
    /// What was done, and of that who was born and who has finished.
    trail: Vec<Made>,
    lives: Vec<Made>,
    /// Of so many steps, the last one included, nothing is told; and how many they are in all.
    untold: u32,
    all_untold: u32,
    /// As long as there are more steps than this, it is given that the thread goes on and nothing is told.
    quick_until: u32,
}

/// [`Plan`], without what it needs.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Who {
    #[default]
    Alone,
    First,
    Given,
    Drawn,
    Highest,
}

impl Ahead {
    /// A new execution begins.
    pub fn clear(&mut self) {
        (self.steps, self.dice, self.falling, self.untold) = (0, None, None, 0);
        self.quick_until = u32::MAX;
        self.trail.clear();
        self.lives.clear();
    }

    /// Of so many steps from the next one on nothing is told.
    pub fn tells_nothing_of(&mut self, steps: u32) {
        (self.untold, self.all_untold) = (steps, steps);
    }

    /// So many steps may be made, by whom the plan says.
    pub fn plan(&mut self, steps: u32, plan: Plan<'_>) {
        (self.steps, self.planned, self.switches, self.falls_at) = (steps, steps, 0, 0);
        (self.untold, self.quick_until) = (0, u32::MAX);
        self.then_first = matches!(plan, Plan::GivenThenFirst(_));
        self.who = match plan {
            Plan::Alone => Who::Alone,
            Plan::First => Who::First,
            Plan::Drawn(dice) => {
                self.dice = Some(dice);
                Who::Drawn
            }
            Plan::Given(given) | Plan::GivenThenFirst(given) => {
                self.given.clear();
                self.given.extend_from_slice(given);
                self.at = 0;
                Who::Given
            }
            Plan::Highest(falling) => {
                self.falls_at = steps.saturating_sub(falling.left());
                self.falling = Some(falling);
                Who::Highest
            }
        };
    }

    /// Somebody was born, or has finished.
    #[inline]
    pub fn lives(&mut self, made: Made) {
        self.trail.push(made);
        self.lives.push(made);
    }

    /// Another step is made.
    #[inline(always)]
    pub fn makes(&mut self, made: Made) {
        self.steps -= 1;
        if self.untold > 0 {
            self.untold -= 1;
            if self.untold > 0 {
                let quick = self.given.get(self.at).map_or(0, |(_, times)| (*times).min(self.untold - 1));
                self.quick_until = if quick > 0 { self.steps.saturating_sub(quick) } else { u32::MAX };
                return;
            }
            self.quick_until = u32::MAX;
            self.trail.push(Made::Untold(self.all_untold - 1));
        }
        self.trail.push(made);
    }

    /// Whether the running thread makes the next step if it can, and nothing is told of that.
    #[inline(always)]
    pub fn is_quick(&self) -> bool {
        self.steps > self.quick_until
    }

    /// It does: all that there is to do.
    #[inline(always)]
    pub fn makes_quickly(&mut self) {
        self.given[self.at].1 -= 1;
        self.steps -= 1;
        self.untold -= 1;
    }

    /// There may be something to tell, or another one may have to go on: the next step is not made so.
    #[inline]
    pub fn not_quickly(&mut self) {
        self.quick_until = u32::MAX;
    }

    /// No more steps are made; tells what was done.
    #[inline]
    pub fn take(&mut self, log: &mut StepLog) {
        self.steps = 0;
        if self.untold > 0 {
            let untold = self.all_untold - std::mem::take(&mut self.untold);
            if untold > 0 {
                self.trail.push(Made::Untold(untold));
            }
        }
        log.falling = self.falling.take();
        if self.trail.is_empty() && self.dice.is_none() {
            return;
        }
        std::mem::swap(&mut self.trail, &mut log.ahead);
        std::mem::swap(&mut self.lives, &mut log.lives);
        (log.dice, log.switches) = (self.dice.take(), self.switches);
    }

    /// Whether it is given who makes the next step.
    #[inline]
    pub fn is_given(&self) -> bool {
        self.who == Who::Given
    }

    /// Whether it is clear that the thread makes the next step if it can; `none_of` says whether none of these threads, as bits,
    /// waits to go on, nor anyone who touches nothing.
    #[inline]
    pub fn is_surely_next(&self, thread: usize, none_of: impl FnOnce(u64) -> bool) -> bool {
        self.who == Who::Highest
            && self.steps > self.falls_at
            && self.falling.as_ref().is_some_and(|falling| falling.is_surely_next(thread, none_of))
    }

    /// Whether it is given who makes the next step, or that nobody does.
    #[inline]
    pub fn gives(&mut self) -> bool {
        if !self.is_given() {
            return false;
        }
        if self.then_first && self.passes_made().is_none() {
            self.who = Who::First;
        }
        self.is_given()
    }

    /// Whether it is given that the thread makes one step more, as before. Then it must make it.
    #[inline]
    pub fn gives_turn_to(&mut self, thread: usize) -> bool {
        match self.given.get_mut(self.at) {
            Some((task, times)) if *times > 0 && *task as usize == thread => {
                *times -= 1;
                true
            }
            _ => false,
        }
    }

    /// Who is given next.
    pub fn next_given(&mut self) -> Option<usize> {
        let next = self.passes_made()?;
        next.1 -= 1;
        Some(next.0 as usize)
    }

    /// The first of those that are given and have not made all their steps.
    #[inline]
    fn passes_made(&mut self) -> Option<&mut (TaskId, u32)> {
        while self.given.get(self.at)?.1 == 0 {
            self.at += 1;
        }
        self.given.get_mut(self.at)
    }

    /// Which of the threads that can go on does, where none is given, if that can be said; `quiet` says which of them touch nothing
    /// that others see, and `current` is who has made the last step.
    #[inline(always)]
    pub fn next_of(&mut self, able: u64, quiet: impl FnOnce() -> u64, current: usize) -> Option<usize> {
        if able & able.wrapping_sub(1) == 0 && self.steps > self.falls_at {
            // Nobody else could go on.
            return (able != 0).then(|| able.trailing_zeros() as usize);
        }
        let next = match self.who {
            Who::Drawn => match able & quiet() {
                0 => nth(able, drawn(self.dice.as_mut()?, count(able))),
                quiet => quiet.trailing_zeros(),
            },
            Who::First => {
                self.trail.push(Made::Others(able & able.wrapping_sub(1)));
                able.trailing_zeros()
            }
            Who::Highest => match able & quiet() {
                0 => self.highest_of(able)?,
                quiet => quiet.trailing_zeros(),
            },
            Who::Alone | Who::Given => return None,
        };
        // Who could have gone on is preempted.
        self.switches += u32::from(next as usize != current) & (able >> current) as u32 & 1;
        Some(next as usize)
    }

    /// The thread with the highest priority of those that can go on.
    fn highest_of(&mut self, able: u64) -> Option<u32> {
        let made = self.planned - self.steps;
        let falling = self.falling.as_mut().filter(|_| able != 0)?;
        let next = falling.pick(able, made);
        if self.steps <= self.falls_at {
            self.falls_at = self.planned.saturating_sub(falling.left());
        }
        Some(next as u32)
    }
}
