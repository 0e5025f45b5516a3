//! Steps that a system makes without asking the explorer: who makes the next one, as a [`Plan`] says, and what was done.
//!
//! Tasks are threads here, the first 64 of which are bits of a word.

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
    /// The numbers of threads of which the highest goes on.
    numbers: Vec<u64>,
    /// Who has it, and those that would go on instead of it, as bits.
    highest: usize,
    rivals: u64,
    /// How often another made a step than one that could have gone on.
    switches: u32,
    /// What was done.
    pub trail: Vec<Made>,
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
        (self.steps, self.dice) = (0, None);
        self.trail.clear();
    }

    /// So many steps may be made, by whom the plan says.
    pub fn plan(&mut self, steps: u32, plan: Plan<'_>) {
        (self.steps, self.switches) = (steps, 0);
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
            Plan::Highest(numbers) => {
                self.numbers.clear();
                self.numbers.extend_from_slice(numbers);
                (self.highest, self.rivals) = (usize::MAX, 0);
                Who::Highest
            }
        };
    }

    /// No more steps are made; tells what was done.
    #[inline]
    pub fn take(&mut self, log: &mut StepLog) {
        self.steps = 0;
        if self.trail.is_empty() && self.dice.is_none() {
            return;
        }
        std::mem::swap(&mut self.trail, &mut log.ahead);
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
        match self.who {
            Who::Highest => self.highest == thread && none_of(self.rivals),
            Who::Alone | Who::First | Who::Given | Who::Drawn => false,
        }
    }

    /// Whether it is given who makes the next step, or that nobody does.
    #[inline]
    pub fn gives(&mut self) -> bool {
        if self.is_given() && self.then_first && self.given[self.at..].iter().all(|(_, times)| *times == 0) {
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
        while self.given.get(self.at)?.1 == 0 {
            self.at += 1;
        }
        let next = &mut self.given[self.at];
        next.1 -= 1;
        Some(next.0 as usize)
    }

    /// Which of the threads that can go on does, where none is given, if that can be said; `quiet` are those that touch nothing
    /// that others see, and `current` is who has made the last step.
    #[inline(always)]
    pub fn next_of(&mut self, able: u64, quiet: u64, current: usize) -> Option<usize> {
        let quiet = able & quiet;
        let next = if able & able.wrapping_sub(1) == 0 {
            if able == 0 {
                return None;
            }
            able.trailing_zeros()
        } else if self.who == Who::Alone {
            return None;
        } else if self.who == Who::First {
            self.trail.push(Made::Others(able & able.wrapping_sub(1)));
            able.trailing_zeros()
        } else if quiet != 0 {
            quiet.trailing_zeros()
        } else if self.who == Who::Drawn {
            nth(able, self.dice.as_mut()?.usize(..count(able)))
        } else {
            self.highest_of(able)?
        };
        // Who could have gone on is preempted.
        self.switches += u32::from(next as usize != current) & (able >> current) as u32 & 1;
        Some(next as usize)
    }

    /// The thread with the highest number of several that can go on.
    fn highest_of(&mut self, able: u64) -> Option<u32> {
        let Ahead { numbers, highest, rivals, .. } = self;
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
}

/// For each byte, how many of its bits are set, and which they are, in order.
static BITS: [(u8, [u8; 8]); 256] = {
    let mut all = [(0, [0; 8]); 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                all[byte].1[all[byte].0 as usize] = bit as u8;
                all[byte].0 += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    all
};

/// How many bits are set.
#[inline]
fn count(bits: u64) -> usize {
    let low = &BITS[(bits & 0xff) as usize];
    if bits < 256 { low.0.into() } else { bits.count_ones() as usize }
}

/// The bit that is set before which so many are.
#[inline]
fn nth(bits: u64, skip: usize) -> u32 {
    // No loop, the end of which a processor could not foretell.
    if bits < 256 {
        return BITS[bits as usize].1[skip].into();
    }
    let left = (0..skip).fold(bits, |left, _| left & left.wrapping_sub(1));
    left.trailing_zeros()
}

/// The bit of a thread; none if there are too many.
#[inline]
pub fn bit(thread: usize) -> u64 {
    u64::from(thread < u64::BITS as usize) << (thread % u64::BITS as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_and_found() {
        for bits in (1..600).chain([u64::MAX, 1 << 63, 0x8000_0100_0000_0001]) {
            let all: Vec<u32> = (0..u64::BITS).filter(|bit| bits >> bit & 1 == 1).collect();
            assert_eq!(count(bits), all.len());
            all.iter().enumerate().for_each(|(skip, bit)| assert_eq!(nth(bits, skip), *bit, "{bits} {skip}"));
        }
    }
}
