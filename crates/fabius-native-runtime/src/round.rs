//! Threads that take locks, give them back because they cannot have all, and try again, as `std::lock` does: they may do so for
//! ever, by turns, and each is scheduled fairly. Where everything is as it was in the execution before, what may follow follows
//! there, too, with no more preemptions, so the execution need not go on.
//!
//! The search makes only some of all executions, and learns from each what else to try. Whoever has not run since would never be
//! tried, so that everybody must have, but who waits for the end of a thread: of the others each has done what it was about to do.
//!
//! That is said of bugs that a state leads to. A data race is one of two accesses: an access to memory that several threads may use,
//! or a free, counts as a change; of accesses to the thread's own stack it is said in the answer if others use that stack, too.
//! Threads that go round alone are another matter (`state.rs`): they wait, and may do so for ever.

use crate::cycles::Look;
use crate::op::Wait;
use crate::races::Touch;
use crate::rt::Rt;
use fabius_trace::Bound;

const BY_TURNS: &str = "executions end where threads take locks and give them back by turns, or change what they wait for and change it back, and may do so for ever";

impl Rt {
    /// A mutex could not be had.
    pub fn is_refused(&mut self, lock: usize) {
        self.cycles.refusals += 1;
        self.cannot_have(lock);
    }

    /// A lock of whatever kind, or a unit, could not be had.
    pub fn cannot_have(&mut self, lock: usize) {
        self.cycles.refused.insert(self.current, lock);
    }

    /// It can be had again.
    pub fn is_given_back(&mut self, lock: usize) {
        if !self.cycles.refused.is_empty() {
            self.cycles.given_back.insert(lock, self.steps);
        }
    }

    /// The running thread has looked at an atomic object, or changed it, while somebody may repeat himself.
    #[cold]
    pub fn has_seen(&mut self, object: usize, value: u64, new: Option<u64>) {
        let looks = self.cycles.looked_at.entry(self.current).or_default();
        match looks.iter_mut().find(|look| look.object == object) {
            Some(look) if look.value == value => {}
            Some(look) => (look.value, look.other) = (value, Some(self.steps)),
            None => {
                looks.rotate_right(1);
                looks[0] = Look { object, value, other: None };
            }
        }
        if new.is_some_and(|new| new != value) {
            self.cycles.changed.insert((object, self.current), self.steps);
        }
    }

    /// An access to memory, while states are compared.
    #[cold]
    pub fn touched(&mut self, touch: Touch) {
        match crate::rooms::stack_of(touch.address) {
            Some((number, _)) if number == touch.thread => {}
            Some((number, _)) => {
                self.stacks.used |= 1u64.checked_shl(number as u32).unwrap_or(u64::MAX);
                self.cycles.shared += 1;
            }
            None => self.cycles.shared += 1,
        }
    }

    /// Whether everything is as it was after an earlier step of the execution, and more than one thread has made a step since.
    pub fn comes_back(&mut self) -> bool {
        if !self.is_known_to_come_back() {
            return false;
        }
        if self.cycles.runs != self.current {
            (self.cycles.runs, self.cycles.since) = (self.current, self.steps);
        }
        self.cycles.ran |= 1 << self.current;
        self.cycles.last.resize(self.threads.len(), 0);
        self.cycles.last[self.current] = self.steps;
        let Some(state) = self.seen_state.or_else(|| self.state()) else { return false };
        self.seen_state = Some(state);
        let state = self.besides(state);
        let first = *self.cycles.seen.entry(state).or_insert(self.steps);
        let comes_back = first < self.steps && first < self.cycles.since && self.all_have_run_since(first);
        if comes_back {
            self.stacks.relied_on |= self.cycles.ran;
        }
        comes_back
    }

    /// Whether it is known that an execution need not go on that comes back to a state.
    fn is_known_to_come_back(&self) -> bool {
        let is_known = self.settings.bound == Bound::Preemptions || self.settings.bound == Bound::None;
        let is_simple = self.timers.is_empty()
            && self.handlers.is_empty()
            && self.streams.is_empty()
            && self.children.is_empty()
            && self.signals.is_empty()
            && self.moved == 0
            && self.threads.len() <= u64::BITS as usize;
        is_known && is_simple
    }

    /// Whether nobody goes on, as each would only repeat itself, though a lock that one of them could not have was free since
    /// everything was like that before, or an atomic object that it looks at had another value, which it has not seen: by turns they
    /// would find it so, and they do not wait for what never comes.
    pub fn hinder_each_other(&mut self) -> bool {
        if self.repeated != self.steps || (0..self.threads.len()).any(|thread| self.is_ready(thread)) {
            return false;
        }
        let waiting = (0..self.threads.len()).filter(|thread| self.threads[*thread].repeats == Some(self.steps));
        let waiting: Vec<usize> = waiting.collect();
        let gone_on = |thread: &usize| self.seen_state.and_then(|state| self.left.get(&(*thread, state)));
        let first = waiting.iter().filter_map(gone_on).map(|left| left.step).min().unwrap_or(self.steps);
        // Who waits for a lock of somebody who gives it back in a part of the loop, and takes it again.
        let could = |thread: &usize| {
            let is_held_up = !self.threads[*thread].finished && !waiting.contains(thread);
            is_held_up && self.possible.get(*thread).is_some_and(|step| *step >= first)
        };
        if (0..self.threads.len()).any(|thread| could(&thread)) {
            self.limits.insert(BY_TURNS.into());
            return true;
        }
        let was_free = |thread: &usize| {
            let lock = self.cycles.refused.get(thread);
            lock.is_some_and(|lock| self.cycles.given_back.get(lock).is_some_and(|given| *given >= first))
        };
        let others = |thread: usize| (0..self.threads.len()).filter(move |other| *other != thread);
        let was_other = |thread: &usize| {
            let looks = self.cycles.looked_at.get(thread).into_iter().flatten();
            let unseen = |look: &&Look| look.other.is_none_or(|at| at < first);
            let changed =
                |object: &usize, other| self.cycles.changed.get(&(*object, other)).is_some_and(|at| *at >= first);
            looks.filter(unseen).any(|look| others(*thread).any(|other| changed(&look.object, other)))
        };
        if !waiting.iter().any(was_free) {
            if waiting.iter().any(was_other) {
                self.limits.insert(BY_TURNS.into());
                return true;
            }
            return false;
        }
        // Each of them has gone on from this very state.
        let shared = Some(self.cycles.shared);
        let all_have = waiting.iter().all(|thread| gone_on(thread).is_some_and(|left| left.shared == shared));
        if all_have && self.is_known_to_come_back() && self.all_have_run_since(first - 1) {
            self.stacks.relied_on |= self.cycles.ran;
        } else {
            self.limits.insert(BY_TURNS.into());
        }
        true
    }

    /// Whether each thread has made a step behind that one, or waits for the end of one that goes on.
    fn all_have_run_since(&self, first: u64) -> bool {
        let waits = |wait| matches!(wait, Wait::End(other) if !self.threads[other].finished);
        let mut all = self.threads.iter().zip(&self.cycles.last);
        all.all(|(thread, last)| thread.finished || *last > first || waits(thread.op.wait))
    }

    /// The same state, with what matters here alone.
    fn besides(&self, state: u64) -> u64 {
        let mut words = vec![state, self.current as u64, self.cycles.shared, self.threads.len() as u64];
        for thread in &self.threads {
            let flags = [
                thread.repeats == Some(self.steps),
                thread.goes_round == Some(self.steps),
                thread.gave_way,
                thread.spins,
                thread.detached,
                thread.joined,
                thread.finished,
            ];
            words.push(flags.iter().fold(0, |all, flag| all << 1 | u64::from(*flag)));
            words.extend([thread.waits_for as u64, thread.robust.len() as u64, thread.result as u64]);
        }
        words.iter().fold(0x51ed_270b_9f3a_7c15, |all: u64, word| {
            (all ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        })
    }
}
