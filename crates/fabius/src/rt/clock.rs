//! Vector clocks, and what orderings do to them.

use std::panic::Location;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release, SeqCst};

pub(super) type Place = &'static Location<'static>;

/// Few tests have more threads.
const FEW: usize = 8;

/// For each thread, how many of its events come before. Each step needs several, so the functions are inlined at whatever level a
/// test is optimized.
#[derive(Debug, Default)]
pub(super) struct Clock {
    few: [u32; FEW],
    /// Of the other threads, as far as any of their events come before.
    more: Vec<u32>,
}

/// Nothing comes before.
pub(super) static NOTHING: Clock = Clock::new();

impl Clock {
    #[inline(always)]
    pub const fn new() -> Clock {
        Clock { few: [0; FEW], more: Vec::new() }
    }

    #[inline(always)]
    pub fn clear(&mut self) {
        self.few = [0; FEW];
        self.more.clear();
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.few == [0; FEW] && self.more.is_empty()
    }

    /// The last event of a thread that comes before; 0 if none does.
    #[inline(always)]
    pub fn at(&self, thread: usize) -> u32 {
        match self.few.get(thread) {
            Some(index) => *index,
            None => self.more.get(thread - FEW).copied().unwrap_or(0),
        }
    }

    #[inline(always)]
    pub fn at_mut(&mut self, thread: usize) -> &mut u32 {
        match self.few.get_mut(thread) {
            Some(index) => index,
            None => at_mut_of(&mut self.more, thread - FEW),
        }
    }

    /// What comes before the other one comes before, too.
    #[inline(always)]
    pub fn join(&mut self, other: &Clock) {
        for thread in 0..FEW {
            self.few[thread] = self.few[thread].max(other.few[thread]);
        }
        if !other.more.is_empty() {
            join_more(&mut self.more, &other.more);
        }
    }

    /// Makes it the same, without a new allocation.
    #[inline(always)]
    pub fn set(&mut self, other: &Clock) {
        self.few = other.few;
        self.more.clear();
        if !other.more.is_empty() {
            self.more.extend_from_slice(&other.more);
        }
    }

    /// Whether all that comes before comes before the other one, too.
    #[inline(always)]
    pub fn is_in(&self, other: &Clock) -> bool {
        let mut is_in = true;
        for thread in 0..FEW {
            is_in &= self.few[thread] <= other.few[thread];
        }
        is_in && self.more.iter().zip(FEW..).all(|(index, thread)| *index <= other.at(thread))
    }

    /// The last event of each thread.
    #[inline(always)]
    pub fn events(&self) -> Events<'_> {
        let mut left = 0;
        for thread in 0..FEW {
            left |= u32::from(self.few[thread] > 0) << thread;
        }
        Events { clock: self, left, more: 0 }
    }
}

/// The last event of each thread, one by one.
pub(super) struct Events<'a> {
    clock: &'a Clock,
    /// Which of the few are left, and of the others the next one.
    left: u32,
    more: usize,
}

impl Iterator for Events<'_> {
    type Item = Event;

    #[inline(always)]
    fn next(&mut self) -> Option<Event> {
        if self.left > 0 {
            let thread = self.left.trailing_zeros() as usize;
            self.left &= self.left - 1;
            return Some(Event { thread, index: self.clock.few[thread] });
        }
        while let Some(index) = self.clock.more.get(self.more) {
            self.more += 1;
            if *index > 0 {
                return Some(Event { thread: FEW + self.more - 1, index: *index });
            }
        }
        None
    }
}

impl Clone for Clock {
    #[inline(always)]
    fn clone(&self) -> Clock {
        Clock { few: self.few, more: if self.more.is_empty() { Vec::new() } else { self.more.clone() } }
    }
}

#[cold]
fn at_mut_of(more: &mut Vec<u32>, thread: usize) -> &mut u32 {
    if more.len() <= thread {
        more.resize(thread + 1, 0);
    }
    &mut more[thread]
}

#[cold]
fn join_more(more: &mut Vec<u32>, other: &[u32]) {
    more.iter_mut().zip(other).for_each(|(mine, other)| *mine = (*mine).max(*other));
    if let Some(rest) = other.get(more.len()..) {
        more.extend_from_slice(rest);
    }
}

/// An event, by its thread and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub thread: usize,
    pub index: u32,
}

impl Event {
    /// Whether it comes before what has this clock.
    #[inline(always)]
    pub fn is_in(self, clock: &Clock) -> bool {
        clock.at(self.thread) >= self.index
    }

    #[inline(always)]
    pub fn put_in(self, clock: &mut Clock) {
        let last = clock.at_mut(self.thread);
        *last = (*last).max(self.index);
    }
}

pub(super) fn acquires(order: Ordering) -> bool {
    matches!(order, Acquire | AcqRel | SeqCst)
}

pub(super) fn releases(order: Ordering) -> bool {
    matches!(order, Release | AcqRel | SeqCst)
}

/// How an operation on an atomic comes out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Did {
    Load(Ordering),
    Store(Ordering),
    Change(Ordering),
    /// Releases beside what was released there before, of which it learns nothing, whatever fence follows.
    Release,
}

impl Did {
    pub fn order(self) -> Ordering {
        match self {
            Did::Load(order) | Did::Store(order) | Did::Change(order) => order,
            Did::Release => Release,
        }
    }

    pub fn loads(self) -> bool {
        matches!(self, Did::Load(_) | Did::Change(_))
    }

    /// Whether it goes on with the release sequence that is there.
    pub fn goes_on(self) -> bool {
        matches!(self, Did::Change(_) | Did::Release)
    }

    pub fn stores(self) -> bool {
        !matches!(self, Did::Load(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The last events that come before, by thread.
    type Model = BTreeMap<usize, u32>;

    fn is(clock: &Clock, model: &Model) {
        let events: Model = clock.events().map(|event| (event.thread, event.index)).collect();
        assert_eq!((&events, clock.is_empty()), (model, model.is_empty()));
        (0..30).for_each(|thread| assert_eq!(clock.at(thread), model.get(&thread).copied().unwrap_or(0)));
        assert!(clock.events().all(|event| event.is_in(clock)));
    }

    fn join(model: &mut Model, other: &Model) {
        other.iter().for_each(|(thread, index)| {
            let last = model.entry(*thread).or_default();
            *last = (*last).max(*index);
        });
    }

    #[test]
    fn clocks_are_as_maps_would_be_also_of_many_threads() {
        let mut dice = 1134_u64;
        let mut roll = |sides: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) % sides
        };
        for threads in [2, 8, 9, 25] {
            let mut all = vec![(Clock::new(), Model::new()); 4];
            for _ in 0..4000 {
                let (one, other) = (roll(4) as usize, roll(4) as usize);
                let (clock, model) = all[other].clone();
                let event = Event { thread: roll(threads) as usize, index: roll(6) as u32 + 1 };
                match roll(6) {
                    0 | 1 => {
                        event.put_in(&mut all[one].0);
                        join(&mut all[one].1, &Model::from([(event.thread, event.index)]));
                    }
                    2 => {
                        all[one].0.join(&clock);
                        join(&mut all[one].1, &model);
                    }
                    3 => {
                        all[one].0.set(&clock);
                        all[one].1 = model;
                    }
                    4 => {
                        let is_in = all[one].1.iter().all(|(thread, index)| index <= &clock.at(*thread));
                        assert_eq!(all[one].0.is_in(&clock), is_in);
                    }
                    _ if roll(8) == 0 => {
                        all[one].0.clear();
                        all[one].1.clear();
                    }
                    _ => {}
                }
                all.iter().for_each(|(clock, model)| is(clock, model));
            }
        }
    }
}
