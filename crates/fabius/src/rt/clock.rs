//! Vector clocks, and what orderings do to them.

use smallvec::SmallVec;
use std::panic::Location;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release, SeqCst};

pub(super) type Place = &'static Location<'static>;

/// For each thread, how many of its events come before. Few tests have more threads than go without an allocation.
pub(super) type Clock = SmallVec<[u32; 8]>;

/// The same clock: `clone` takes its numbers one by one.
pub(super) fn copy(clock: &[u32]) -> Clock {
    Clock::from_slice(clock)
}

/// Makes it the same, without a new allocation.
pub(super) fn set(clock: &mut Clock, other: &[u32]) {
    clock.clear();
    clock.extend_from_slice(other);
}

pub(super) fn join(clock: &mut Clock, other: &[u32]) {
    clock.iter_mut().zip(other).for_each(|(mine, other)| *mine = (*mine).max(*other));
    if let Some(more) = other.get(clock.len()..) {
        clock.extend_from_slice(more);
    }
}

pub(super) fn at(clock: &[u32], thread: usize) -> u32 {
    clock.get(thread).copied().unwrap_or(0)
}

/// An event, by its thread and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub thread: usize,
    pub index: u32,
}

impl Event {
    /// Whether it comes before what has this clock.
    pub fn is_in(self, clock: &[u32]) -> bool {
        at(clock, self.thread) >= self.index
    }

    pub fn put_in(self, clock: &mut Clock) {
        if clock.len() <= self.thread {
            clock.resize(self.thread + 1, 0);
        }
        clock[self.thread] = clock[self.thread].max(self.index);
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
