//! The stores of an atomic in modification order: which of them an operation may find, and where a store may take its place.
//!
//! Paper: Dynamic Race Detection for C++11 (POPL 2017), section 4: stores are kept with what they release, and a load may
//! find any that coherence allows.
//!
//! Deviations:
//! 1. A store need not be the last in modification order: it may take its place before others that are there already, and
//!    so may a read-modify-write operation, behind an older store that no other one has changed.
//! 2. Which store is found is a choice of the search; all but the newest cost something.
//! 3. Coherence needs no view for each atomic: a store is known to a thread if its clock covers it, or a load that has
//!    found it, and what is before a known store is not found any more.
//! 4. Stores that no thread can find any more are dropped; what the order of sequentially consistent operations must know of
//!    them is kept ([`Dropped`]).
//! 5. More than [`MOST`] stores are not kept. The oldest are then forgotten, and the answer says so.

use super::clock::{Clock, Event, Place};
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::{self, Relaxed, SeqCst};

/// Stores that are kept of an atomic.
pub(super) const MOST: usize = 64;

/// With so many it is worth looking for those that nobody can find.
const MANY: usize = 3;

/// A value of any atomic.
#[derive(Clone, Copy)]
pub(super) struct Word(MaybeUninit<u128>);

impl Word {
    pub fn of<T: Copy>(value: T) -> Word {
        const { assert!(size_of::<T>() <= 16 && align_of::<T>() <= align_of::<u128>()) };
        let mut word = MaybeUninit::<u128>::zeroed();
        // SAFETY: it fits.
        unsafe { word.as_mut_ptr().cast::<T>().write(value) };
        Word(word)
    }

    /// The same for the same value, but for addresses.
    pub fn number(&self) -> u64 {
        // SAFETY: all of it is set: by zeros, and then by a value without padding.
        let number = u128::from_le_bytes(unsafe { self.0.as_ptr().cast::<[u8; 16]>().read() });
        number as u64 ^ ((number >> 64) as u64).rotate_left(32)
    }

    /// # Safety
    /// It was made of a `T`.
    pub unsafe fn get<T: Copy>(&self) -> T {
        // SAFETY: as the caller says.
        unsafe { self.0.as_ptr().cast::<T>().read() }
    }
}

impl std::fmt::Debug for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Word")
    }
}

#[derive(Clone, Debug)]
pub(super) struct Store {
    /// `None`: the value that the atomic had before all threads.
    pub writer: Option<Event>,
    pub value: Word,
    /// What a load of it acquires.
    pub released: Clock,
    /// What comes before it, or before the stores that it is a change of, where that is kept for the report of a race.
    pub before: Option<Box<Clock>>,
    /// The sequentially consistent fences before it.
    pub fences: Clock,
    pub place: Option<Place>,
    pub order: Ordering,
    /// It is the store of a read-modify-write operation: nothing comes between it and the store before.
    pub changes: bool,
    pub reads: Vec<Read>,
    /// The step of the execution that is written down.
    pub step: usize,
}

impl Store {
    pub fn initial(value: Word) -> Store {
        Store {
            writer: None,
            value,
            released: Clock::new(),
            before: None,
            fences: Clock::new(),
            place: None,
            order: Relaxed,
            changes: false,
            reads: Vec::new(),
            step: 0,
        }
    }

    /// Whether whoever has this clock has made it, or comes after it.
    fn is_known(&self, clock: &Clock) -> bool {
        self.writer.is_none_or(|writer| writer.is_in(clock))
    }

    fn is_seen(&self, clock: &Clock) -> bool {
        self.reads.iter().any(|read| read.first.is_in(clock))
    }

    /// Whether the order of sequentially consistent operations knows of it, or of a load of it.
    fn matters(&self) -> bool {
        let reads = || self.reads.iter().any(|read| read.last_strong > 0 || !read.fences.is_empty());
        self.order == SeqCst || !self.fences.is_empty() || reads()
    }
}

/// The loads of a store by one thread.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub first: Event,
    /// The last that was sequentially consistent; 0 if none was.
    pub last_strong: u32,
    /// The sequentially consistent fences before the last one.
    pub fences: Clock,
}

/// What has been dropped, as far as it matters still.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    /// Its sequentially consistent stores and loads.
    pub strong: Clock,
    /// The sequentially consistent fences before any of its stores and loads.
    pub fences: Clock,
}

impl Dropped {
    fn add(&mut self, store: &Store) {
        strong(store, &mut self.strong);
        fences(store, &mut self.fences);
    }
}

/// Adds the sequentially consistent accesses of a store: itself, and loads of it.
pub(super) fn strong(store: &Store, to: &mut Clock) {
    if let Some(writer) = store.writer.filter(|_| store.order == SeqCst) {
        writer.put_in(to);
    }
    for read in store.reads.iter().filter(|read| read.last_strong > 0) {
        Event { index: read.last_strong, ..read.first }.put_in(to);
    }
}

/// Adds the sequentially consistent fences before a store, or before loads of it.
pub(super) fn fences(store: &Store, to: &mut Clock) {
    let reads = store.reads.iter().map(|read| &read.fences);
    for known in std::iter::once(&store.fences).chain(reads).filter(|known| !known.is_empty()) {
        to.join(known);
    }
}

/// Keeps the memory of a store that is about to go.
fn keep(store: &mut Store, unused: &mut Vec<Vec<Read>>) {
    let mut reads = std::mem::take(&mut store.reads);
    reads.clear();
    if reads.capacity() > 0 {
        unused.push(reads);
    }
}

#[derive(Debug, Default)]
pub(super) struct History {
    /// In modification order; where it is empty, nobody has stored anything.
    pub stores: Vec<Store>,
    pub dropped: Dropped,
    /// How many were left when it was last looked for those that nobody can find.
    pub left: usize,
    /// Memory for the loads of stores to come.
    pub unused: Vec<Vec<Read>>,
}

impl History {
    /// Nobody has stored anything; memory is kept.
    pub fn clear(&mut self) {
        let History { stores, dropped: Dropped { strong, fences }, left, unused } = self;
        stores.iter_mut().for_each(|store| keep(store, unused));
        stores.clear();
        [strong, fences].into_iter().for_each(Clock::clear);
        *left = 0;
    }

    /// It has this value, whoever looks.
    pub fn begins(&mut self, value: Word) {
        self.clear();
        let reads = self.unused.pop().unwrap_or_default();
        self.stores.push(Store { reads, ..Store::initial(value) });
    }

    /// The position of the oldest store that an operation of a thread with this clock may find.
    pub fn floor(&self, clock: &Clock) -> usize {
        let known = |store: &Store| store.is_known(clock) || store.is_seen(clock);
        self.stores.iter().rposition(known).unwrap_or(0)
    }

    /// The same, where a thread knows of what is in one of the clocks and finds none again, if it is not the newest, that it made or found
    /// before it did something.
    pub fn floor_of_news(&self, clocks: [&Clock; 2], before: Event) -> usize {
        let is_before = |event: Event| event.thread == before.thread && event.index < before.index;
        let is_known =
            |store: &Store| store.writer.is_some_and(is_before) || store.reads.iter().any(|read| is_before(read.first));
        let known = self.stores.iter().rposition(is_known).map_or(0, |known| known + 1);
        clocks.map(|clock| self.floor(clock)).into_iter().fold(known, usize::max).min(self.stores.len() - 1)
    }

    /// The position of the last store that comes before what has this clock.
    pub fn last_known(&self, clock: &Clock) -> Option<usize> {
        self.stores.iter().rposition(|store| store.is_known(clock))
    }

    /// The position of the last store that was loaded before what has this clock.
    pub fn last_seen(&self, clock: &Clock) -> Option<usize> {
        self.stores.iter().rposition(|store| store.is_seen(clock))
    }

    /// Whether another store may come directly behind the one at a position.
    pub fn has_room_behind(&self, position: usize) -> bool {
        self.stores.get(position + 1).is_none_or(|next| !next.changes)
    }

    /// A load has found the store at a position.
    pub fn found(&mut self, position: usize, by: Event, is_strong: bool, fences: Clock) {
        let reads = &mut self.stores[position].reads;
        let known = reads.iter().position(|read| read.first.thread == by.thread);
        let known = known.unwrap_or_else(|| {
            reads.push(Read { first: by, last_strong: 0, fences: Clock::new() });
            reads.len() - 1
        });
        let read = &mut reads[known];
        read.fences = fences;
        if is_strong {
            read.last_strong = by.index;
        }
    }

    /// Whether it is worth looking for stores that nobody can find: there are twice as many as were left the last time.
    pub fn is_long(&self) -> bool {
        self.stores.len() >= (2 * self.left).clamp(MANY, MOST + 1)
    }

    /// Drops what no thread with one of these clocks can find. Says whether a limit made it forget more than that.
    pub fn prune(&mut self, clocks: &[Clock]) -> bool {
        let (mut floor, mut known) = (usize::MAX, usize::MAX);
        for clock in clocks {
            floor = floor.min(self.floor(clock));
            known = known.min(self.last_known(clock).unwrap_or(0));
        }
        // What a thread has only seen does not order all before it, where sequential consistency is concerned.
        let nothing_matters = |to: usize| self.stores.iter().take(to).all(|store| !store.matters());
        let free = if nothing_matters(floor) { floor } else { known };
        let cut = self.stores.len().saturating_sub(MOST);
        let dropped = free.min(self.stores.len() - 1).max(cut);
        for store in &mut self.stores[..dropped] {
            self.dropped.add(store);
            keep(store, &mut self.unused);
        }
        self.stores.drain(..dropped);
        self.left = self.stores.len();
        cut > free
    }
}
