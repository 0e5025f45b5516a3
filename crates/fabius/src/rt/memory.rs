//! Operations on atomics: which store each one finds, and where its own takes its place.
//!
//! Under sequential consistency it is the newest, and nothing is kept. With deviations it is a choice of the search: the
//! newest costs nothing, any other that [`super::history`] and [`super::sc_order`] allow as much as a preemption.

use super::again::Decision;
use super::clock::{Clock, Did, Place};
use super::clocks::{Done, Moment};
use super::here::mix;
use super::history::{MOST, Word};
use super::point::must_not_switch;
use super::{Edges, LeavesOut, LeftOut, Object, Op, Refine, Rt, Settings, trial};
use fabius_explore::system::{FoundStore, Usual};
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::atomic::Ordering::{self, SeqCst};

/// What an operation does, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is a load.
    Loads,
    /// It stores, unless it fails.
    Stores,
}

/// How an operation can come out if it finds some value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ways {
    pub first: Option<Did>,
    /// For no reason.
    pub second: Option<Did>,
}

impl Ways {
    pub fn only(did: Did) -> Ways {
        Ways { first: Some(did), second: None }
    }

    fn are_none(self) -> bool {
        self.first.is_none() && self.second.is_none()
    }

    /// Those that remain.
    fn filter(self, mut is_left: impl FnMut(Did) -> bool) -> Ways {
        Ways { first: self.first.filter(|did| is_left(*did)), second: self.second.filter(|did| is_left(*did)) }
    }
}

/// Who looks at an operation on an atomic besides the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    /// It is outside of an execution.
    Outside,
    /// The value is all that matters.
    No,
    Yes,
}

/// Who looks at an operation with these orderings.
#[inline(always)]
pub(crate) fn watched(orders: [Ordering; 2]) -> Watched {
    let is_weak = orders.iter().any(|order| *order != SeqCst);
    super::with(|rt| {
        let settings = &rt.settings;
        let looks = settings.refine.0 & (Refine::WEAK.0 | Refine::RACES.0 | Refine::YIELDS.0) != 0;
        let is_watched = looks || settings.record || is_weak && settings.deviations > 0;
        if is_watched { Watched::Yes } else { Watched::No }
    })
    .unwrap_or(Watched::Outside)
}

/// What an operation finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<T> {
    pub value: T,
    /// The value of the newest store.
    pub newest: T,
    /// How many stores are newer than the one that it finds.
    pub newer: u32,
    pub ways: Ways,
}

/// The store that an operation finds, or behind which it stores; `newest` is the value of the atomic.
pub(crate) fn find<T: Copy + PartialEq>(object: &Object, newest: T, kind: Kind, ways: impl Fn(T) -> Ways) -> Found<T> {
    let first = ways(newest);
    super::with(|rt| {
        let is_weak = |did: Option<Did>| did.is_some_and(|did| did.order() != SeqCst);
        let found = Found { value: newest, newest, newer: 0, ways: first };
        if !rt.settings.refine.contains(Refine::WEAK) {
            rt.is_weaker |= is_weak(first.first) || is_weak(first.second);
            if rt.is_weaker && rt.settings.deviations > 0 {
                rt.sees(Refine::WEAK.with(Refine::RACES));
            }
            return found;
        }
        let found = if rt.alone { rt.finds_again(object, found, ways) } else { rt.finds(object, found, kind, ways) };
        if rt.settings.refine.contains(Refine::YIELDS) {
            let unusual = if found.value == newest { 0 } else { mix(Word::of(found.value).number(), 13) | 1 };
            trial::aside(|| rt.states.finds(rt.current, unusual));
        }
        found
    })
    .unwrap_or(Found { value: newest, newest, newer: 0, ways: first })
}

/// The operation comes out like this, and has stored a value, if it does.
#[inline]
pub(crate) fn does<T: Copy + PartialEq>(object: &Object, found: &Found<T>, did: Did, stored: Option<T>, at: Place) {
    super::with(|rt| {
        // Others could find one store more after each round.
        let is_new = stored.is_some_and(|new| !did.loads() || new != found.value);
        if is_new && rt.settings.refine.contains(Refine::WEAK) {
            rt.leaves_the_loop();
        }
        if rt.settings.refine.contains(Refine::RACES) {
            let atomic = object.id_in(rt) as usize;
            if let Err(race) = rt.clocks.uses(rt.current, atomic, at) {
                rt.has_raced(race, "data race: an atomic is used, and nothing orders that after it was made", at);
            }
            let word = stored.map_or_else(|| Word::of(0), Word::of);
            rt.does_to_atomic(object, found.newer, did, word, at);
        }
    });
}

impl Rt {
    fn finds<T: Copy + PartialEq>(
        &mut self,
        object: &Object,
        usual: Found<T>,
        kind: Kind,
        ways: impl Fn(T) -> Ways,
    ) -> Found<T> {
        let (thread, atomic) = (self.current, object.id_in(self) as usize);
        // SAFETY: all stores of an atomic are of its type.
        let value = |word: &Word| unsafe { word.get::<T>() };
        let newest = usual.value;
        let history = self.clocks.history(atomic, |word| value(word) == newest, Word::of(newest));
        let last = history.stores.len() - 1;
        let newest_for = self.old_values.must_find_newest(thread, atomic);
        let floor = self.clocks.floor(thread, atomic);
        // Where the operation had no point, the search knows of no choice.
        if floor == last || must_not_switch(self) || self.does_not_deviate() {
            return usual;
        }
        let value = |rt: &Rt, position| value(rt.clocks.value(atomic, position));
        // What is left out is asked about all the same: a schedule says the same to all searches.
        let oldest = match (self.settings.leaves_out, kind) {
            (LeavesOut::Nothing, _) => floor,
            (_, Kind::Loads) => self.clocks.floor_of_news(thread, atomic),
            (_, Kind::Stores) => last,
        };
        let mut possible = 0;
        let mut all = SmallVec::<[Ways; 8]>::new();
        for (newer, position) in (oldest..=last).rev().enumerate().take(MOST) {
            let ways = ways(value(self, position)).filter(|did| {
                self.is_possible(
                    did,
                    position == last,
                    Done { thread, atomic, did, position, place: std::panic::Location::caller() },
                )
            });
            possible |= u64::from(!ways.are_none()) << newer;
            all.push(ways);
        }
        let newer = self.deviate(atomic, possible, newest_for);
        Found { value: value(self, last - newer as usize), newest, newer, ways: all[newer as usize] }
    }

    /// What an operation finds in a trial, which leaves alone what is kept of stores: the newest, or the oldest that the
    /// thread can find, as is to be tried out. Where it cannot in truth, it does something else
    /// than was tried out.
    fn finds_again<T: Copy>(&mut self, object: &Object, usual: Found<T>, ways: impl Fn(T) -> Ways) -> Found<T> {
        let atomic = object.id_in(self) as usize;
        let Some((_, word)) = self.oldest.iter().find(|(of, _)| *of == atomic) else { return usual };
        // SAFETY: all stores of an atomic are of its type.
        let value = unsafe { word.get::<T>() };
        let ways = ways(value);
        let loads = ways.first.is_some_and(Did::loads);
        if loads { Found { value, newer: 1, ways, ..usual } } else { usual }
    }

    fn is_possible(&self, did: Did, is_newest: bool, done: Done) -> bool {
        is_newest || self.clocks.has_room(done, did) && self.clocks.allows(done)
    }

    /// Whether what the thread does next may find an older store, or store behind one.
    pub fn may_deviate(&self, thread: usize) -> bool {
        self.threads[thread].op().is_some_and(|op| self.may_deviate_in(thread, op))
    }

    /// The same of an operation of the thread.
    pub(super) fn may_deviate_in(&self, thread: usize, op: &Op) -> bool {
        let Settings { refine, deviations, .. } = self.settings;
        deviations > 0
            && refine.contains(Refine::WEAK)
            && op.edges == Edges::Found
            && self.clocks.finds_older(thread, op.variable as usize)
    }

    /// Whether an operation that may deviate does not, so that it need not be found out which ways there are.
    fn does_not_deviate(&mut self) -> bool {
        let Some(choose) = self.choose.filter(|_| self.deviations < self.settings.deviations && !self.has_been_here)
        else {
            return false;
        };
        // SAFETY: as in `deviate`.
        let usual = unsafe { (*choose).is_usual() };
        if usual == Usual::Chosen {
            self.ahead.steps = 0;
        }
        usual != Usual::MayBeNot
    }

    /// How an operation on an atomic departs from what is usual, decided by the search. If a loop must find the newest value, that
    /// is given.
    fn deviate(&mut self, atomic: usize, possible: u64, newest_for: Option<&'static Location<'static>>) -> u32 {
        let Some(choose) = self.choose else { return 0 };
        let is_enough = self.deviations >= self.settings.deviations;
        if is_enough && !self.has_been_here && possible > 1 {
            self.kept_from_deviating = true;
            self.has_news_for_the_explorer();
        }
        let newest_for = newest_for.filter(|_| !self.has_been_here);
        if let (Some(at), true) = (newest_for, possible > 1) {
            self.left_out.set(Some(LeftOut::Old(at)));
        }
        self.ahead.steps = 0;
        let is_usual = is_enough || self.has_been_here || newest_for.is_some();
        // SAFETY: the pointer is valid during the step, and a choice is made only in one.
        let chosen = unsafe { (*choose).deviate(if is_usual { 1 } else { possible }) };
        if chosen > 0 {
            self.deviations += 1;
            self.decides(Decision::Deviates(chosen));
            self.old_values.finds(self.current, atomic);
        }
        chosen
    }

    fn does_to_atomic(&mut self, object: &Object, newer: u32, did: Did, value: Word, place: Place) {
        let (thread, atomic) = (self.current, object.id_in(self) as usize);
        let position = self.clocks.position(atomic, newer);
        if !must_not_switch(self) {
            self.found = FoundStore { newer, stores: did.stores() };
        }
        let step = self.recorder.step;
        if newer > 0 && did.loads() && self.settings.record {
            self.recorder.finds.push((self.clocks.step_of(atomic, position), step));
        }
        self.clocks.atomic(Done { thread, atomic, did, position, place }, value, step);
        if did.stores() && self.clocks.deviates && self.clocks.has_many_stores(atomic) {
            let clocks = self.clocks_of_all();
            if self.clocks.prune(atomic, &clocks) {
                self.forgets_stores = true;
                self.has_news_for_the_explorer();
            }
        }
    }

    /// What each thread knows when it goes on, at least. Who waits for the end of another knows what that has done.
    fn clocks_of_all(&self) -> Vec<Clock> {
        let waits_for = |thread: &usize| self.threads[*thread].op().and_then(|op| op.joins);
        let live = (0..self.threads.len()).filter(|thread| !self.threads[*thread].finished);
        live.map(|thread| {
            let all = std::iter::successors(waits_for(&thread), waits_for).take(self.threads.len());
            self.clocks.clock_after(thread, all)
        })
        .collect()
    }
}

/// What an operation on a count orders, which was just done. A count is no memory of the test's: nothing of it is stale.
#[inline]
pub(crate) fn edges(count: &Object, did: Did, at: Place) {
    if super::with(|rt| rt.settings.refine.contains(Refine::RACES)) == Some(true) {
        edges_of(count.id(), did, at);
    }
}

/// The same, by the number of the object.
pub(crate) fn edges_of(object: u32, did: Did, at: Place) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::RACES) {
            let (thread, atomic) = (rt.current, object as usize);
            let history = rt.clocks.history(atomic, |_| true, Word::of(0));
            history.stores.drain(..history.stores.len() - 1);
            rt.clocks.atomic(Done { thread, atomic, did, position: 0, place: at }, Word::of(0), 0);
        }
    });
}

/// A cell or an atomic was made: an access that writes to it.
pub(crate) fn made(object: &Object, at: Place) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::RACES) && !rt.abandoned {
            let variable = object.id_in(rt) as usize;
            // Nobody else knows of it.
            let _ = rt.clocks.data((rt.current, variable), true, Moment::Now, at);
        }
    });
}

/// What an answer says if stores were forgotten.
pub(crate) fn forgotten() -> String {
    format!(
        "an atomic has more than {MOST} stores that a load could find; the oldest were forgotten. \
         `Config::sequentially_consistent` explores without stale reads"
    )
}

/// The number of what stands for the order in which sequentially consistent fences come, where operations may deviate.
pub(super) const FENCES: u32 = 1;

/// A fence. Where operations may deviate, one that is sequentially consistent is a step, and behind an
/// operation of the same thread nobody makes another one in between, unless the thread has just given way. To a search that tries all it touches nothing: in which order such fences come is found out by what is read. To one that
/// leaves something out it matters.
pub(crate) fn fence(order: Ordering, at: Place) {
    // One address in all searches, which know of each other's loops.
    const NAME: &str = "fence";
    let op = super::with(|rt| {
        if order != SeqCst || !rt.settings.refine.contains(Refine::WEAK) {
            return None;
        }
        let op = match rt.settings.leaves_out {
            // A step that touches nothing, and cannot be one: nothing is left out.
            LeavesOut::Nothing if must_not_switch(rt) => return None,
            LeavesOut::Nothing => Op::local(NAME, at),
            LeavesOut::NoNews | LeavesOut::NoNewsAndTurns => Op::write(NAME, FENCES, at).ordered(),
        };
        rt.goes_straight_on();
        Some(op)
    });
    if let Some(op) = op.flatten() {
        super::point(op);
        super::with(|rt| rt.straight_on = None);
        if op.write {
            // It is nobody's value.
            super::unchanged();
        }
    }
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::RACES) {
            rt.clocks.fence(rt.current, order);
        }
    });
}
