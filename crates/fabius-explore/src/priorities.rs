//! Priorities of threads, for strategies that run the thread with the highest: among threads and tasks of buffers, and where a
//! system makes several steps without asking.

use crate::bits::{Bits, bit};
use crate::buffer_id::{BufferId, number_of_declared};
use fastrand::Rng as Dice;

/// Of threads and buffers; 0: none yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Priorities {
    threads: Vec<u64>,
    declared: Vec<u64>,
    /// PCT: steps at which the thread that would go on falls to the lowest priority so far, the next one last.
    changes: Vec<u32>,
    low: u64,
}

impl Priorities {
    /// Nobody has one, and at these steps the thread that would go on falls.
    pub fn begin(&mut self, changes: impl Iterator<Item = u32>) {
        self.threads.clear();
        self.declared.clear();
        self.changes.clear();
        self.changes.extend(changes);
        self.changes.sort_unstable_by(|a, b| b.cmp(a));
        self.low = 1 << 20;
    }

    /// That of a thread or buffer.
    #[inline]
    pub fn of(&mut self, buffer: BufferId) -> &mut u64 {
        let (of, at) = match number_of_declared(buffer) {
            Some(number) => (&mut self.declared, number as usize),
            None => (&mut self.threads, buffer as usize),
        };
        if at >= of.len() {
            of.resize(at + 1, 0);
        }
        &mut of[at]
    }

    /// Gives a priority to each of these that has none.
    #[inline]
    pub fn give(&mut self, buffers: impl Iterator<Item = BufferId>, dice: &mut Dice) {
        for buffer in buffers {
            let priority = self.of(buffer);
            if *priority == 0 {
                *priority = (1 << 21) + dice.u64(..1 << 40);
            }
        }
    }

    /// Which of these has the highest.
    #[inline]
    pub fn highest(&mut self, buffers: impl Iterator<Item = BufferId>) -> BufferId {
        let (_, highest) = buffers.map(|buffer| (*self.of(buffer), buffer)).max().expect("there is one");
        highest
    }

    /// Whether somebody falls at this step.
    #[inline]
    pub fn changes_at(&self, step: u32) -> bool {
        self.changes.last().is_some_and(|change| *change <= step)
    }

    /// Which of these goes on at this step.
    pub fn pick(&mut self, buffers: impl Iterator<Item = BufferId> + Clone, step: u32, dice: &mut Dice) -> BufferId {
        self.give(buffers.clone(), dice);
        while self.changes_at(step) {
            let change = self.changes.pop();
            while change.is_some() && self.changes.last().copied() == change {
                self.changes.pop();
            }
            self.low -= 1;
            let falls = self.highest(buffers.clone());
            *self.of(falls) = self.low;
        }
        self.highest(buffers)
    }
}

/// The priorities of threads, and what they are drawn with, while a system makes steps without asking.
#[derive(Clone, Debug)]
pub struct Falling {
    pub(crate) priorities: Priorities,
    pub(crate) dice: Dice,
    /// How many steps have been made before those that may be made.
    pub(crate) step: u32,
    /// Who has the highest, and those that might go on instead of it, as bits.
    highest: usize,
    rivals: u64,
}

impl Falling {
    /// After so many steps.
    pub(crate) fn new(priorities: Priorities, dice: Dice, step: u32) -> Falling {
        Falling { priorities, dice, step, highest: usize::MAX, rivals: 0 }
    }

    /// How many steps more may be made before somebody falls.
    pub(crate) fn left(&self) -> u32 {
        self.priorities.changes.last().map_or(u32::MAX, |change| change.saturating_sub(self.step))
    }

    /// Whether it is clear that the thread is the next one if it can go on, as long as nobody falls; `none_of` says whether none of
    /// these threads, as bits, waits to go on, nor anyone who touches nothing.
    #[inline]
    pub(crate) fn is_surely_next(&self, thread: usize, none_of: impl FnOnce(u64) -> bool) -> bool {
        self.highest == thread && none_of(self.rivals)
    }

    /// Which of these threads, which are bits, makes the next step, before which so many more were made than at first.
    pub(crate) fn pick(&mut self, able: u64, made: u32) -> usize {
        let Falling { priorities, dice, step, .. } = self;
        let next = priorities.pick(Bits(able).map(|thread| thread as BufferId), *step + made, dice) as usize;
        let first = (priorities.threads[next], next);
        // Those without a priority are not known.
        self.rivals = u64::MAX.checked_shl(priorities.threads.len() as u32).unwrap_or(0);
        for (thread, priority) in priorities.threads.iter().enumerate().take(u64::BITS as usize) {
            self.rivals |= if *priority == 0 || (*priority, thread) > first { bit(thread) } else { 0 };
        }
        self.highest = next;
        next
    }
}
