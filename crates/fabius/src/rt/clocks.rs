//! What happens before what, as the orderings say that the test gives, and the data races that follow.
//!
//! Paper: FastTrack: Efficient and Precise Dynamic Race Detection (PLDI 2009), with the release sequences and fences of
//! C++20 [intro.races], [atomics.fences].
//!
//! Deviations:
//! 1. Values are those of sequential consistency: a load finds the last store. What that store, and the sequence of
//!    read-modify-write operations behind it, has released is one clock of the atomic.
//! 2. All reads of a cell since its last write are kept, not only one: executions are short.
//! 3. A load that finds what was stored without an edge is remembered, so that the report of a race can say which
//!    ordering would have made one.
//!
//! Operations of locks, channels and the like order everything that touches the same object: what reads it comes after
//! what changed it, and what changes it after all before. Their orders are those that std documents, or stronger.

use super::{Op, Refine};
use std::panic::Location;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release, SeqCst};

type Place = &'static Location<'static>;

/// For each thread, how much of it comes before.
type Clock = Vec<u32>;

fn join(clock: &mut Clock, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    clock.iter_mut().zip(other).for_each(|(mine, other)| *mine = (*mine).max(*other));
}

fn at(clock: &[u32], thread: usize) -> u32 {
    clock.get(thread).copied().unwrap_or(0)
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Acquire | AcqRel | SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Release | AcqRel | SeqCst)
}

#[derive(Debug, Default)]
struct Thread {
    clock: Clock,
    /// What an acquire fence would acquire: of loads that did not.
    found: Clock,
    /// What a release fence has released.
    fenced: Clock,
    /// Loads that found what made no edge.
    missed: Vec<Missed>,
}

#[derive(Debug, Default)]
struct Object {
    /// What comes before its next reader, and before its next writer.
    written: Clock,
    touched: Clock,
    /// What a load of an atomic acquires.
    released: Clock,
    store: Option<Store>,
}

/// The last store to an atomic.
#[derive(Clone, Debug)]
struct Store {
    before: Clock,
    place: Place,
    order: Ordering,
}

/// A load that found a store and made no edge with it.
#[derive(Debug)]
struct Missed {
    store: Store,
    place: Place,
    order: Ordering,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Touched {
    pub thread: usize,
    pub place: Place,
    clock: u32,
}

#[derive(Debug, Default)]
struct Data {
    write: Option<Touched>,
    reads: Vec<Touched>,
}

/// Two accesses to a cell that nothing orders.
#[derive(Clone, Debug)]
pub(crate) struct Race {
    pub cell: usize,
    pub first: Touched,
    pub second: Touched,
    /// What would have ordered them.
    pub remedy: Option<String>,
}

/// How an operation on an atomic came out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Did {
    Load(Ordering),
    Store(Ordering),
    Change(Ordering),
}

#[derive(Debug, Default)]
pub(super) struct Clocks {
    threads: Vec<Thread>,
    objects: Vec<Object>,
    data: Vec<Data>,
}

fn entry<T: Default>(list: &mut Vec<T>, number: usize) -> &mut T {
    if number >= list.len() {
        list.resize_with(number + 1, T::default);
    }
    &mut list[number]
}

impl Clocks {
    pub fn clear(&mut self) {
        self.threads.clear();
        self.objects.clear();
        self.data.clear();
    }

    fn thread(&mut self, thread: usize) -> &mut Thread {
        let entry = entry(&mut self.threads, thread);
        if at(&entry.clock, thread) == 0 {
            join(&mut entry.clock, &[vec![0; thread], vec![1]].concat());
        }
        entry
    }

    fn clock(&mut self, thread: usize) -> Clock {
        self.thread(thread).clock.clone()
    }

    /// What the thread does from now on is not part of what it has released.
    fn tick(&mut self, thread: usize) {
        self.thread(thread).clock[thread] += 1;
    }

    pub fn born(&mut self, parent: usize, child: usize) {
        let before = self.clock(parent);
        join(&mut self.thread(child).clock, &before);
        self.tick(parent);
    }

    /// A thread waited for the end of another.
    pub fn joined(&mut self, thread: usize, ended: usize) {
        let before = self.clock(ended);
        join(&mut self.thread(thread).clock, &before);
    }

    /// An operation on a lock, a channel or the like.
    pub fn touches(&mut self, thread: usize, object: usize, write: bool) {
        let mut clock = self.clock(thread);
        let object = entry(&mut self.objects, object);
        if write {
            join(&mut clock, &object.touched);
            object.written.clone_from(&clock);
            object.touched.clone_from(&clock);
        } else {
            join(&mut clock, &object.written);
            join(&mut object.touched, &clock);
        }
        self.thread(thread).clock = clock;
        self.tick(thread);
    }

    /// An operation on an atomic.
    pub fn atomic(&mut self, thread: usize, atomic: usize, did: Did, place: Place) {
        let (loads, stores, order) = match did {
            Did::Load(order) => (true, false, order),
            Did::Store(order) => (false, true, order),
            Did::Change(order) => (true, true, order),
        };
        self.thread(thread);
        let object = entry(&mut self.objects, atomic);
        let this = &mut self.threads[thread];
        if loads && acquires(order) {
            join(&mut this.clock, &object.released);
        } else if loads {
            join(&mut this.found, &object.released);
        }
        if loads && let Some(store) = &object.store {
            let unseen = store.before.iter().enumerate().any(|(t, c)| *c > at(&this.clock, t));
            if unseen {
                this.missed.push(Missed { store: store.clone(), place, order });
            }
        }
        if stores {
            let before = if releases(order) { &this.clock } else { &this.fenced };
            if !loads {
                object.released.clear();
            }
            join(&mut object.released, before);
            let mut before = this.clock.clone();
            if let Some(store) = object.store.as_ref().filter(|_| loads) {
                join(&mut before, &store.before);
            }
            object.store = Some(Store { before, place, order });
        }
        self.tick(thread);
    }

    pub fn fence(&mut self, thread: usize, order: Ordering) {
        let this = self.thread(thread);
        if acquires(order) {
            let found = std::mem::take(&mut this.found);
            join(&mut this.clock, &found);
        }
        if releases(order) {
            this.fenced.clone_from(&this.clock);
        }
        self.tick(thread);
    }

    /// An access to a cell.
    pub fn data(&mut self, thread: usize, cell: usize, write: bool, place: Place) -> Result<(), Race> {
        let clock = self.clock(thread);
        let second = Touched { thread, place, clock: at(&clock, thread) };
        let data = entry(&mut self.data, cell);
        let before = data.write.iter().chain(data.reads.iter().filter(|_| write));
        if let Some(first) = before.copied().find(|t| t.clock > at(&clock, t.thread)) {
            let remedy = self.remedy(thread, first);
            return Err(Race { cell, first, second, remedy });
        }
        if write {
            *data = Data { write: Some(second), reads: Vec::new() };
        } else {
            data.reads.retain(|t| t.thread != thread);
            data.reads.push(second);
        }
        Ok(())
    }

    /// Which orderings would have put an earlier access before what the thread does now.
    fn remedy(&self, thread: usize, first: Touched) -> Option<String> {
        let missed = &self.threads.get(thread)?.missed;
        let Missed { store, place, order } =
            missed.iter().find(|m| at(&m.store.before, first.thread) >= first.clock)?;
        let at = |place: Place| format!("{}:{}", place.file(), place.line());
        let release = format!("`Release` at {}", at(store.place));
        let acquire = format!("`Acquire` at {}", at(place));
        let would = match (releases(store.order), acquires(*order)) {
            (false, false) => format!("{release} and {acquire} would order them"),
            (false, true) => format!("{release} would order them"),
            (true, false) => format!("{acquire} would order them"),
            (true, true) => return None,
        };
        let stored = format!("the load at {} finds what is stored at {}", at(place), at(store.place));
        Some(format!("{stored}, and makes no edge: {would}"))
    }
}

/// What the operation on an atomic that was just done orders.
#[inline]
pub(crate) fn edges(atomic: &super::Object, did: Did, at: Place) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::RACES) {
            let atomic = atomic.id_in(rt) as usize;
            rt.clocks.atomic(rt.current, atomic, did, at);
        }
    });
}

/// The operation that was just done comes after what has changed an object, as one that reads it does.
pub(crate) fn comes_after(object: u32) {
    also_edges(&Op::read("", object, Location::caller()));
}

/// The operation that was just done has changed an object.
pub(crate) fn comes_between(object: u32) {
    also_edges(&Op::write("", object, Location::caller()));
}

fn also_edges(op: &Op) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::RACES) {
            rt.clocks.touches(rt.current, op.variable as usize, op.write);
        }
    });
}

/// A fence.
pub(crate) fn fence(order: Ordering) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::RACES) {
            rt.clocks.fence(rt.current, order);
        }
    });
}
