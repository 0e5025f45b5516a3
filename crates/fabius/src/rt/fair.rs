//! Fair scheduling: a thread that gives way for ever does not leave others behind that could go on.
//!
//! Paper: Fair Stateless Model Checking (PLDI 2008), Algorithm 1, as in CHESS.
//!
//! Deviations:
//! 1. Threads that come into being later join with empty windows.
//! 2. The algorithm loses executions in which a thread goes on that has yielded. So it is used only for loops that
//!    `repetition.rs` does not see through, for every sixteenth round of these, and an answer says when it kept a thread
//!    from going on.

use super::{LeavesOut, Rt};
use smallvec::SmallVec;

/// Some of the threads, as bits.
#[derive(Clone, Debug, Default)]
struct Threads(SmallVec<[u64; 1]>);

const BITS: usize = u64::BITS as usize;

impl Threads {
    fn that(threads: usize, is_one: impl Fn(usize) -> bool) -> Threads {
        let mut these = Threads::default();
        (0..threads).filter(|thread| is_one(*thread)).for_each(|thread| these.insert(thread));
        these
    }

    fn contains(&self, thread: usize) -> bool {
        self.0.get(thread / BITS).is_some_and(|bits| bits >> (thread % BITS) & 1 == 1)
    }

    fn insert(&mut self, thread: usize) {
        if self.0.len() <= thread / BITS {
            self.0.resize(thread / BITS + 1, 0);
        }
        self.0[thread / BITS] |= 1 << (thread % BITS);
    }

    fn remove(&mut self, thread: usize) {
        if let Some(bits) = self.0.get_mut(thread / BITS) {
            *bits &= !(1 << (thread % BITS));
        }
    }

    fn retain(&mut self, others: &Threads) {
        let others = others.0.iter().copied().chain(std::iter::repeat(0));
        self.0.iter_mut().zip(others).for_each(|(bits, others)| *bits &= others);
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            let mut left = *bits;
            std::iter::from_fn(move || {
                let next = (left > 0).then(|| word * BITS + left.trailing_zeros() as usize);
                left &= left.wrapping_sub(1);
                next
            })
        })
    }
}

/// For each thread, since its last yield: who was always ready, whom its steps disabled, who was scheduled.
#[derive(Clone, Debug, Default)]
struct Window {
    ready: Threads,
    disabled: Threads,
    scheduled: Threads,
    /// Whom it gives way to, as long as they are ready.
    gives_way_to: Threads,
    /// Whether it has yielded before.
    open: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Fair {
    windows: Vec<Window>,
    ready_before: Threads,
    yielded: Option<usize>,
}

impl Fair {
    /// Whether any thread has given way so often that it matters.
    pub fn is_watching(&self) -> bool {
        self.yielded.is_some() || !self.windows.is_empty()
    }

    pub fn yields(&mut self, thread: usize) {
        self.yielded = Some(thread);
    }

    /// Whether the thread need not give way to another that can go on.
    pub fn allows(&self, rt: &Rt, thread: usize) -> bool {
        self.windows.get(thread).is_none_or(|window| window.gives_way_to.iter().all(|other| !rt.is_able(other)))
    }

    pub fn before(&mut self, rt: &Rt, thread: usize) {
        self.windows.iter_mut().for_each(|window| window.gives_way_to.remove(thread));
        self.ready_before = Threads::that(rt.threads.len(), |thread| rt.is_able(thread));
    }

    pub fn after(&mut self, rt: &Rt, thread: usize) {
        self.windows.resize_with(rt.threads.len(), Window::default);
        let ready = Threads::that(rt.threads.len(), |thread| rt.is_able(thread));
        for window in &mut self.windows {
            window.ready.retain(&ready);
            window.scheduled.insert(thread);
        }
        let window = &mut self.windows[thread];
        let is_disabled = |other: &usize| !ready.contains(*other) && *other != thread;
        self.ready_before.iter().filter(is_disabled).for_each(|other| window.disabled.insert(other));
        if self.yielded.take() == Some(thread) {
            let Window { ready: was_ready, disabled, scheduled, mut gives_way_to, open } = std::mem::take(window);
            if open {
                let starved = was_ready.iter().chain(disabled.iter());
                let starved = starved.filter(|other| !scheduled.contains(*other) && *other != thread);
                starved.for_each(|other| gives_way_to.insert(other));
            }
            *window = Window { ready, gives_way_to, open: true, ..Window::default() };
        }
    }
}

impl Rt {
    /// Whether none of those that could go on has waited for longer, where all repeat themselves.
    pub(super) fn is_its_turn(&self, id: usize) -> bool {
        let since = |id: usize| (self.threads[id].went_on, id);
        (0..self.threads.len()).all(|other| !self.can_go_on(other) || since(id) <= since(other))
    }

    /// Nobody makes a step before the running thread does, unless that one does not make steps yet or has just given way. What it does
    /// next waits for nothing.
    pub(super) fn goes_straight_on(&mut self) {
        let makes_steps = self.beginnings == 0 && !self.alone && !self.abandoned;
        self.straight_on = (makes_steps && !self.threads[self.current].gave_way).then_some(self.current);
    }

    /// Whether others go first because it has given way, where a search leaves something out.
    pub(super) fn leaves_it_to_others(&self, id: usize) -> bool {
        let this = &self.threads[id];
        if self.settings.leaves_out == LeavesOut::Nothing || !this.gave_way {
            return false;
        }
        let goes_first = |other: usize| match self.settings.leaves_out {
            // Nobody has made a step since it gave way. No class of executions knows that.
            LeavesOut::NoNews => self.current == id,
            _ => !self.threads[other].gave_way || self.threads[other].times_gave_way < this.times_gave_way,
        };
        let mut others = (0..self.threads.len()).filter(|other| *other != id && goes_first(*other));
        others.any(|other| self.is_able(other) && self.fair.allows(self, other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn threads_are_as_sets_would_be_also_many() {
        let those = |one: &dyn Fn(usize) -> bool| (Threads::that(200, one), (0..200).filter(|t| one(*t)).collect());
        let (mut these, mut model): (_, BTreeSet<usize>) = those(&|thread| thread % 3 == 0);
        for thread in [0, 63, 64, 126, 127, 128, 198, 4000] {
            these.remove(thread);
            model.remove(&thread);
        }
        these.insert(300);
        model.insert(300);
        assert!(these.iter().eq(model.iter().copied()) && these.contains(300) && !these.contains(63));
        let (others, left): (_, BTreeSet<usize>) = those(&|thread| thread % 2 == 0 && thread < 130);
        these.retain(&others);
        model.retain(|thread| left.contains(thread));
        assert!(these.iter().eq(model.iter().copied()), "{these:?}");
    }
}
