//! Notices that one schedule is two executions: in one a thread only repeats itself, and in the other it does not yet.
//!
//! On a stack is what no code looks at, and what that is can depend on what was tried out before (`remains.rs`). A search that runs the
//! beginning of an execution again would not notice by itself, because whoever ran can run. But time may have passed
//! meanwhile, and others be able to go on who were not when it was decided what is still to be tried; that is never tried then.
//!
//! So where a thread gives way, it is written down by what the scheduler has decided until then whether it repeats itself, and
//! compared with the last time. There is room for so many places ([`ROOM`]); what is written down later takes that of others.

use super::here::mix;
use super::{Refine, Rt};
use std::panic::Location;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A power of two.
const ROOM: usize = 1 << 16;

/// What was seen in the executions of all searches of a check.
#[derive(Debug, Default)]
pub(super) struct Again(OnceLock<Box<[AtomicU64]>>);

impl Again {
    /// Behind these decisions of the scheduler, as a number, a thread repeats itself or not. Says whether that was otherwise before.
    pub fn differs(&self, decisions: u64, repeats: bool) -> bool {
        let room = self.0.get_or_init(|| (0..ROOM).map(|_| AtomicU64::new(0)).collect());
        let new = decisions << 1 | u64::from(repeats);
        // The highest bits choose the place, so that all of them count.
        let place = &room[(decisions >> (u64::BITS - ROOM.trailing_zeros())) as usize];
        place.swap(new, Ordering::Relaxed) == new ^ 1
    }
}

/// The number of what was decided, and one decision more.
#[inline]
pub(super) fn and_then(decisions: u64, what: Decision) -> u64 {
    match what {
        Decision::Runs(thread) => mix(decisions, thread as u64),
        Decision::Chooses(outcome) => mix(mix(decisions, u64::MAX), outcome.into()),
        Decision::Deviates(way) => mix(mix(decisions, u64::MAX - 1), way.into()),
    }
}

/// What a scheduler decides: who makes a step, the outcome of a choice in it, or how an operation deviates if it does.
#[derive(Clone, Copy)]
pub(super) enum Decision {
    Runs(usize),
    Chooses(u32),
    Deviates(u32),
}

impl Rt {
    /// The scheduler has decided something.
    #[inline]
    pub(super) fn decides(&mut self, what: Decision) {
        self.decisions = and_then(self.decisions, what);
    }

    /// The running thread repeats itself or not, in a loop that gives way here: so it must be each time that the scheduler decides the
    /// same. If it is not even where what rounds leave behind is ignored, the loop is not followed any more.
    pub(super) fn must_be_as_before(&mut self, at: &'static Location<'static>, repeats: bool) {
        // Where the clock of the machine is read, threads repeat themselves by chance, and the answer says so.
        let is_followed = self.settings.refine.contains(Refine::YIELDS) && !self.hurries && !self.states.reads_clock;
        // Nothing is left to be tried where a schedule is run again.
        let is_searched = !self.settings.record && self.orders.is_none();
        if !is_followed || !is_searched || !self.loops.differ(self.decisions, repeats) {
            return;
        }
        if !self.settings.refine.contains(Refine::REMAINS) {
            self.sees(Refine::REMAINS);
        } else if self.loops.give_up(at) {
            self.begins_anew();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(decisions: &[Decision]) -> u64 {
        decisions.iter().fold(7, |all, next| and_then(all, *next))
    }

    #[test]
    fn who_repeats_itself_at_one_time_and_not_at_another_is_noticed() {
        use Decision::{Chooses, Deviates, Runs};
        let again = Again::default();
        for repeats in [false, true] {
            // A choice is no step, and no deviation.
            let all = [
                &[Runs(0), Runs(1)][..],
                &[Runs(1), Runs(0)],
                &[Runs(0), Chooses(1)],
                &[Runs(0), Deviates(1)],
                &[Chooses(0), Chooses(1)],
            ];
            for decisions in all.map(decided) {
                assert_eq!(again.differs(decisions, repeats), repeats);
                assert!(!again.differs(decisions, repeats));
            }
        }
    }
}
