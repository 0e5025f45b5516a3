//! States in rows: a row is the parent's number and the state's bytes, and its number is where it lies. The rows of a search
//! in breadth are its queue, too. A table of flat slots finds them.
//!
//! Every worker writes rows of its own, and all share the table. A row is written before its number is put into a slot, and
//! never again after, so that whoever finds the number finds the row.

use super::ahead;
use super::rows::Rows;
use super::zeros::{slots, units};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{RwLock, RwLockReadGuard};

/// Bytes of a unit: states are so many of them.
pub(crate) const UNIT: usize = 4;
/// The kind of states that have no fixed length: behind the kind comes theirs, in four bytes.
const ANY_LENGTH: u32 = 0;
/// Kinds that there may be.
const KINDS: usize = 1 << 16;
/// States that are looked up together: where they may be is far away in memory, and is on its way while others are made.
const TOGETHER: usize = 16;
/// Where the table was not looked at yet.
const NOWHERE: usize = usize::MAX;
/// States made after one, by which time its slot has come.
const LAG: usize = 6;
/// Slots of a table that grows for which a thread is begun.
const SHARE: usize = 1 << 16;
/// Slots of an empty table.
const FEWEST: usize = 1 << 10;

/// The states of a search. Their first two bytes are their kind, and all of a kind are of one length.
#[derive(Debug)]
pub(crate) struct Store {
    /// 32 bits of a hash above, the number of a row below; 0 if it is free. In the order of hashes; rows that find their place
    /// taken are right behind.
    table: RwLock<Box<[AtomicU64]>>,
    /// Rows, by worker.
    rows: Vec<Rows>,
    /// Bits of a number that say whose row it is.
    owner_bits: u32,
    /// Units of the states of each kind.
    lengths: Box<[AtomicU32]>,
    /// How many states there are, but for those that workers have yet to tell.
    count: AtomicUsize,
}

/// A worker's way to the store.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    store: &'a Store,
    table: Option<RwLockReadGuard<'a, Box<[AtomicU64]>>>,
    me: usize,
    /// The end of its rows.
    end: usize,
    /// States that the store has not been told of, and how many more there may be.
    new: usize,
    room: usize,
    /// States that are to be stored, one behind the other.
    bytes: Vec<u8>,
    announced: Vec<Announced>,
}

/// A state that is to be stored.
#[derive(Clone, Copy, Debug)]
struct Announced {
    /// Where its bytes end.
    end: usize,
    parent: u32,
    tag: u32,
    /// The slot from which on it is to be looked for, in the table that the writer holds.
    at: usize,
}

impl Store {
    /// No states, for so many workers.
    pub fn new(workers: usize) -> Store {
        Store {
            table: RwLock::new(slots(FEWEST)),
            rows: (0..workers).map(|_| Rows::default()).collect(),
            owner_bits: workers.next_power_of_two().trailing_zeros(),
            lengths: units(KINDS),
            count: AtomicUsize::new(0),
        }
    }

    /// How one of the workers gets at it. There is one writer for each worker at a time.
    pub fn writer(&self, me: usize) -> Writer<'_> {
        let end = self.rows[me].end();
        let (bytes, announced) = (Vec::new(), Vec::with_capacity(TOGETHER));
        Writer { store: self, table: None, me, end, new: 0, room: 0, bytes, announced }
    }

    /// How many states there are.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Bytes in use. Nobody who holds the table asks.
    pub fn memory(&self) -> usize {
        let slots = self.table.read().expect("no worker has panicked").len() * size_of::<AtomicU64>();
        slots + self.rows.iter().map(|rows| rows.end() * UNIT).sum::<usize>()
    }

    /// Where the rows of each worker begin and end.
    pub fn begins(&self) -> Vec<usize> {
        self.rows.iter().map(|_| Rows::BEGIN).collect()
    }

    /// See [`Store::begins`].
    pub fn ends(&self) -> Vec<usize> {
        self.rows.iter().map(Rows::end).collect()
    }

    /// The number of the row of a worker at the position, which moves on; `None` at the end. The row will be read soon.
    pub fn advance(&self, owner: usize, position: &mut usize, end: usize) -> Option<u32> {
        let rows = &self.rows[owner];
        let place = rows.next(*position, end)?;
        let row = rows.at(place);
        let length = self.length(&row[1..]);
        ahead::fetch(&row[length]);
        *position = place + 1 + length;
        Some((place as u32) << self.owner_bits | owner as u32)
    }

    /// Whether a state lies behind these ends of the rows of each worker.
    #[inline]
    pub fn is_behind(&self, number: u32, ends: &[usize]) -> bool {
        let owner = (number & ((1 << self.owner_bits) - 1)) as usize;
        ends.get(owner).is_none_or(|end| (number >> self.owner_bits) as usize >= *end)
    }

    /// Appends the bytes of a state; returns the number of its parent.
    #[inline]
    pub fn read(&self, number: u32, out: &mut Vec<u8>) -> u32 {
        let row = self.row(number);
        let state = &row[1..];
        let state = &state[..self.length(state)];
        state.iter().for_each(|unit| out.extend_from_slice(&unit.load(Ordering::Relaxed).to_le_bytes()));
        row[0].load(Ordering::Relaxed)
    }

    #[inline]
    fn row(&self, number: u32) -> &[AtomicU32] {
        let owner = (number & ((1 << self.owner_bits) - 1)) as usize;
        self.rows[owner].at((number >> self.owner_bits) as usize)
    }

    /// Units of a state.
    #[inline]
    fn length(&self, state: &[AtomicU32]) -> usize {
        let head = state[0].load(Ordering::Relaxed);
        match head & 0xffff {
            ANY_LENGTH => any_length(head, state[1].load(Ordering::Relaxed)),
            kind => self.lengths[kind as usize].load(Ordering::Relaxed) as usize,
        }
    }

    fn is_at(&self, number: u32, state: &[u8]) -> bool {
        let row = self.row(number)[1..].iter();
        state.chunks_exact(UNIT).zip(row).all(|(bytes, unit)| {
            let bytes = bytes.first_chunk().expect("units have four bytes");
            u32::from_le_bytes(*bytes) == unit.load(Ordering::Relaxed)
        })
    }

    /// Makes room for so many states more.
    fn grow(&self, more: usize) {
        let mut table = self.table.write().expect("no worker has panicked");
        let mut size = table.len();
        while self.len() + more > most(size) {
            size *= 2;
        }
        if size == table.len() {
            return;
        }
        let new = slots(size);
        // Everybody waits for this, so that workers have time for it.
        let share = table.len().div_ceil(self.rows.len()).max(SHARE);
        let (first, others) = table.split_at(share.min(table.len()));
        std::thread::scope(|scope| {
            let new = &new;
            others.chunks(share).for_each(|slots| _ = scope.spawn(move || move_slots(slots, new)));
            move_slots(first, new);
        });
        *table = new;
    }
}

impl Writer<'_> {
    /// A state is to be stored. Says whether it is time to do so.
    #[inline]
    pub fn announce(&mut self, state: &[u8], parent: u32) -> bool {
        let tag = tag_of(state);
        self.bytes.extend_from_slice(state);
        let at = self.table.as_ref().map_or(NOWHERE, |table| {
            let at = first_slot(tag, table.len());
            ahead::fetch(&table[at]);
            at
        });
        self.announced.push(Announced { end: self.bytes.len(), parent, tag, at });
        if let Some(earlier) = self.announced.len().checked_sub(LAG + 1) {
            self.fetch_row(earlier);
        }
        self.announced.len() == TOGETHER
    }

    /// Stores what is to be stored, and calls `each` with the numbers. False if there is no number for one of them.
    pub fn settle(&mut self, mut each: impl FnMut(u32)) -> bool {
        (self.announced.len().saturating_sub(LAG)..self.announced.len()).for_each(|index| self.fetch_row(index));
        let bytes = std::mem::take(&mut self.bytes);
        let mut begin = 0;
        let all = (0..self.announced.len()).all(|index| {
            let announced = self.announced[index];
            let state = &bytes[std::mem::replace(&mut begin, announced.end)..announced.end];
            self.intern(state, announced).map(|(number, _)| each(number)).is_some()
        });
        self.bytes = bytes;
        self.bytes.clear();
        self.announced.clear();
        all
    }

    /// Fetches the row that is likely to be that of a state, by the state's place among those that are to be stored.
    #[inline]
    fn fetch_row(&mut self, index: usize) {
        let begin = index.checked_sub(1).map_or(0, |before| self.announced[before].end);
        let Announced { end, tag, at, .. } = &mut self.announced[index];
        let Some(table) = self.table.as_ref().filter(|_| *at != NOWHERE) else { return };
        let mut slot = table[*at].load(Ordering::Relaxed);
        while slot != 0 && (slot >> 32) as u32 != *tag {
            *at = next_slot(*at, table.len());
            slot = table[*at].load(Ordering::Relaxed);
        }
        if slot != 0 {
            let row = self.store.row(slot as u32);
            ahead::fetch(&row[0]);
            if let Some(last) = row.get((*end - begin) / UNIT) {
                ahead::fetch(last);
            }
        }
    }

    /// The number of a state, and whether it is new; `None` if there is no number for it.
    #[inline]
    fn intern(&mut self, state: &[u8], announced: Announced) -> Option<(u32, bool)> {
        let Announced { parent, tag, mut at, .. } = announced;
        if self.room == 0 || self.table.is_none() {
            self.pause();
            self.go_on();
            at = NOWHERE;
        }
        let table = self.table.as_ref().expect("it was just taken");
        if at == NOWHERE {
            at = first_slot(tag, table.len());
        }
        let mut mine = None;
        loop {
            let mut slot = table[at].load(Ordering::Acquire);
            if slot == 0 {
                let (place, end) = match mine {
                    Some(written) => written,
                    None => *mine.insert(self.write(state, parent)?),
                };
                let number = (place as u32) << self.store.owner_bits | self.me as u32;
                let entry = u64::from(tag) << 32 | u64::from(number);
                match table[at].compare_exchange(0, entry, Ordering::Release, Ordering::Acquire) {
                    Ok(_) => {
                        self.end = end;
                        self.new += 1;
                        self.room -= 1;
                        return Some((number, true));
                    }
                    Err(other) => slot = other,
                }
            }
            if (slot >> 32) as u32 == tag && self.store.is_at(slot as u32, state) {
                return Some((slot as u32, false));
            }
            at = next_slot(at, table.len());
        }
    }

    /// Writes a row behind the others; returns where it begins and ends. It does not count yet.
    fn write(&self, state: &[u8], parent: u32) -> Option<(usize, usize)> {
        let store = self.store;
        let units = state.len() / UNIT;
        let kind = u16::from_le_bytes(*state.first_chunk()?);
        let length = &store.lengths[usize::from(kind)];
        // Written once, so that workers do not take it away from each other.
        if u32::from(kind) != ANY_LENGTH && length.load(Ordering::Relaxed) != units as u32 {
            length.store(units as u32, Ordering::Relaxed);
        }
        let place = store.rows[self.me].room(self.end, 1 + units, u32::BITS - store.owner_bits)?;
        let row = store.rows[self.me].at(place);
        row[0].store(parent, Ordering::Relaxed);
        for (unit, bytes) in row[1..].iter().zip(state.chunks_exact(UNIT)) {
            let bytes = bytes.first_chunk().expect("units have four bytes");
            unit.store(u32::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        Some((place, place + 1 + units))
    }

    /// Tells the store of what is new, and lets others make the table larger.
    pub fn pause(&mut self) {
        self.table = None;
        self.announced.iter_mut().for_each(|announced| announced.at = NOWHERE);
        self.store.count.fetch_add(std::mem::take(&mut self.new), Ordering::Relaxed);
        self.store.rows[self.me].set_end(self.end);
        self.room = 0;
    }

    fn go_on(&mut self) {
        let workers = self.store.rows.len();
        loop {
            let table = self.store.table.read().expect("no worker has panicked");
            // All of them together fill no more than a sixteenth in one go, and little when little is left.
            let left = most(table.len()).saturating_sub(self.store.len()) / workers;
            let room = left.min(table.len() / (16 * workers));
            if room > table.len() / (1024 * workers) {
                (self.table, self.room) = (Some(table), room);
                return;
            }
            let more = table.len() / 512;
            drop(table);
            self.store.grow(more.max(16 * workers));
        }
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.pause();
    }
}

fn tag_of(state: &[u8]) -> u32 {
    (xxhash_rust::xxh3::xxh3_64(state) >> 32) as u32
}

/// Units of a state of no fixed length that begins with these two.
fn any_length(head: u32, next: u32) -> usize {
    ((head >> 16 | next << 16) as usize + 6).div_ceil(UNIT)
}

/// Puts what is in some slots where it is looked for in a larger table.
fn move_slots(from: &[AtomicU64], to: &[AtomicU64]) {
    for slot in from {
        let slot = slot.load(Ordering::Relaxed);
        if slot != 0 {
            let mut at = first_slot((slot >> 32) as u32, to.len());
            while to[at].compare_exchange(0, slot, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                at = next_slot(at, to.len());
            }
        }
    }
}

/// States that so many slots are for: where more are taken, it takes long to find one that is free.
fn most(slots: usize) -> usize {
    slots / 16 * 13
}

#[inline]
fn first_slot(tag: u32, slots: usize) -> usize {
    ((u64::from(tag) * slots as u64) >> 32) as usize
}

#[inline]
fn next_slot(at: usize, slots: usize) -> usize {
    if at + 1 == slots { 0 } else { at + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(i: u32) -> Vec<u8> {
        let mut state = vec![];
        if i.is_multiple_of(3) {
            let length = i * 40 + 1;
            state.extend(0u16.to_le_bytes());
            state.extend(length.to_le_bytes());
            state.resize(6 + length as usize, i as u8);
        } else {
            let kind = 1 + (i % 5) as u16;
            state.extend(kind.to_le_bytes());
            state.extend(i.to_le_bytes());
            state.resize(10 + 4 * usize::from(kind), 7);
        }
        state.resize(state.len().next_multiple_of(UNIT), 0);
        state
    }

    #[test]
    fn equal_states_have_one_number() {
        let store = Store::new(1);
        let mut writer = store.writer(0);
        let mut seen = std::collections::HashMap::new();
        let mut order = Vec::new();
        for i in (0..3000u32).chain(0..3000) {
            let i = i % 2000;
            let state = state(i);
            let announced = Announced { end: 0, parent: i + 7, tag: tag_of(&state), at: NOWHERE };
            let (number, new) = writer.intern(&state, announced).expect("there is room");
            assert_eq!(new, !seen.contains_key(&state));
            if new {
                order.push(number);
            }
            assert_eq!(*seen.entry(state.clone()).or_insert(number), number);
            let mut read = Vec::new();
            assert_eq!(store.read(number, &mut read), i + 7);
            assert_eq!(read, state);
        }
        writer.pause();
        assert_eq!(store.len(), seen.len());
        let (mut at, end) = (store.begins()[0], store.ends()[0]);
        let read: Vec<u32> = std::iter::from_fn(|| store.advance(0, &mut at, end)).collect();
        assert_eq!(read, order);
    }

    #[test]
    fn several_workers_agree_on_numbers() {
        let store = Store::new(3);
        let numbers = |me: usize| {
            let mut writer = store.writer(me);
            let mut rng = fastrand::Rng::with_seed(me as u64);
            let mut states: Vec<u32> = (0..20_000).map(|i| 1 + 3 * (i % 4000)).collect();
            rng.shuffle(&mut states);
            let mut numbers = Vec::new();
            for i in &states {
                if writer.announce(&state(*i), 9) {
                    assert!(writer.settle(|number| numbers.push(number)), "there is room");
                }
            }
            assert!(writer.settle(|number| numbers.push(number)), "there is room");
            states.into_iter().zip(numbers).collect::<std::collections::BTreeMap<u32, u32>>()
        };
        let all: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|me| scope.spawn(move || numbers(me))).collect();
            threads.into_iter().map(|t| t.join().expect("nobody panics")).collect()
        });
        assert!(all.iter().all(|numbers| *numbers == all[0]));
        assert_eq!(store.len(), 4000);
        let rows = (0..3).flat_map(|me| {
            let (mut at, end) = (store.begins()[me], store.ends()[me]);
            let store = &store;
            std::iter::from_fn(move || store.advance(me, &mut at, end)).collect::<Vec<_>>()
        });
        assert_eq!(rows.collect::<std::collections::BTreeSet<_>>(), all[0].values().copied().collect());
    }
}
