//! Data races: for every byte who wrote it last and who has read it since.
//!
//! Paper: FastTrack: Efficient and Precise Dynamic Race Detection (PLDI 2009), sections 3 and 4.
//!
//! Deviations:
//! 1. Bytes, not variables: what threads access may overlap in part.
//! 2. Accesses are atomic or not; two atomic ones do not race.
//! 3. An atomic access does not race with another one, so it does not stand for what it followed: that is kept besides.
//! 4. What earlier executions left needs no clearing, because clocks only grow.

use crate::clocks::{Clocks, Mixed};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// Who and when: a thread in 14 bits, whether the access was atomic, and the thread's time in 48 bits. 0: nobody.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Epoch(u64);

/// Of reads: they are in a list. Of writes: there is more in [`Races::followed`].
const SHARED: u64 = 1 << 63;
const FOLLOWED: u64 = 1 << 63;
const ATOMIC: u64 = 1 << 62;

impl Epoch {
    fn new(thread: usize, time: u64, atomic: bool) -> Epoch {
        Epoch((thread as u64 & 0x3fff) << 48 | time | if atomic { ATOMIC } else { 0 })
    }

    fn thread(self) -> usize {
        (self.0 >> 48 & 0x3fff) as usize
    }

    fn time(self) -> u64 {
        self.0 & 0xffff_ffff_ffff
    }

    fn is_atomic(self) -> bool {
        self.0 & ATOMIC != 0
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Cell {
    write: Epoch,
    /// An epoch, or the number of a list in [`Races::readers`] and of the execution that it belongs to.
    read: u64,
}

impl Cell {
    /// Whether there is nothing besides that is known of this byte alone.
    fn is_by_itself(self) -> bool {
        self.read & SHARED == 0 && self.write.0 & FOLLOWED == 0
    }
}

const PAGE: usize = 4096;

struct Page {
    cells: [Cell; PAGE],
    /// Whether accesses to these eight bytes are scheduling points.
    racy: [bool; PAGE / 8],
}

/// What is known of every byte.
pub struct Races {
    /// Pages by the upper and the middle bits of addresses.
    tables: Vec<Option<Box<Table>>>,
    readers: Vec<Vec<Epoch>>,
    /// Accesses that an atomic one has followed and that may race with what does not race with that one; whether they
    /// write.
    followed: HashMap<usize, Vec<(Epoch, bool)>, BuildHasherDefault<Mixed>>,
    execution: u64,
    /// Addresses of eight bytes each that are points.
    pub marked: Vec<u64>,
    /// Those of them where races were seen.
    pub raced: Vec<u64>,
}

type Table = [Option<Box<Page>>; 1 << 18];

/// An access to memory.
#[derive(Clone, Copy)]
pub struct Touch {
    /// Who.
    pub thread: usize,
    /// Where.
    pub address: usize,
    /// Bytes.
    pub size: usize,
    /// Whether it writes.
    pub write: bool,
    /// Whether it is atomic.
    pub atomic: bool,
}

impl Touch {
    /// Whether both access this byte so that they race unless something orders them.
    pub fn races(&self, other: &Touch, byte: usize) -> bool {
        let bytes = self.address..self.address + self.size;
        bytes.contains(&byte)
            && self.thread != other.thread
            && (self.write || other.write)
            && !(self.atomic && other.atomic)
    }
}

fn zeroed<T>() -> Box<T> {
    // SAFETY: tables and pages are valid if all bytes are zero: no page, no epoch, not racy.
    unsafe {
        let layout = std::alloc::Layout::new::<T>();
        let memory = std::alloc::alloc_zeroed(layout);
        if memory.is_null() {
            crate::say::fatal(&[b"no memory to look for data races"]);
        }
        Box::from_raw(memory.cast())
    }
}

impl Races {
    /// Nothing known.
    pub fn new() -> Races {
        Races {
            tables: (0..1 << 17).map(|_| None).collect(),
            readers: Vec::new(),
            followed: HashMap::default(),
            execution: 0,
            marked: Vec::new(),
            raced: Vec::new(),
        }
    }

    /// A new execution begins.
    pub fn begin(&mut self) {
        self.execution = (self.execution + 1) & 0x7fff_ffff;
        self.readers.clear();
        self.followed.clear();
    }

    #[inline(always)]
    fn page(&mut self, address: usize) -> &mut Page {
        let table = self.tables[address >> 30 & 0x1_ffff].get_or_insert_with(zeroed);
        table[address >> 12 & 0x3_ffff].get_or_insert_with(zeroed)
    }

    /// Whether an access is a scheduling point because of a race that was seen there, or of a handler (`handlers.rs`).
    #[inline(always)]
    pub fn is_racy(&mut self, address: usize) -> bool {
        self.page(address).racy[address % PAGE / 8]
    }

    /// From now on accesses to these bytes are points. Whether that is news.
    pub fn mark(&mut self, address: usize) -> bool {
        let racy = &mut self.page(address).racy[address % PAGE / 8];
        let news = !std::mem::replace(racy, true);
        if news {
            self.marked.push(address as u64);
        }
        news
    }

    /// A race was seen at these bytes. Whether that is news.
    pub fn races_at(&mut self, address: usize) -> bool {
        let news = !self.raced.contains(&(address as u64));
        if news {
            self.raced.push(address as u64);
        }
        news
    }

    /// Notes an access; the first byte at which it races.
    #[inline]
    pub fn touch(&mut self, touch: Touch, clocks: &Clocks) -> Option<usize> {
        let mut raced = None;
        let epoch = Epoch::new(touch.thread, clocks.now(touch.thread), touch.atomic);
        // What became of the byte before: bytes of a variable are mostly alike.
        let mut before: Option<(Cell, Cell)> = None;
        for address in touch.address..touch.address + touch.size {
            let cell = &mut self.page(address).cells[address % PAGE];
            if touch.write && cell.write == epoch && cell.read == 0 || !touch.write && cell.read == epoch.0 {
                continue;
            }
            if let Some((was, is)) = before
                && *cell == was
            {
                *cell = is;
                continue;
            }
            let was = *cell;
            if self.byte(was, epoch, touch, address, clocks) {
                raced = raced.or(Some(address));
            }
            let is = self.page(address).cells[address % PAGE];
            before = (was.is_by_itself() && is.is_by_itself()).then_some((was, is));
        }
        raced
    }

    /// Whether it races with what is known of the byte.
    fn byte(&mut self, mut cell: Cell, epoch: Epoch, touch: Touch, address: usize, clocks: &Clocks) -> bool {
        let races = |other: Epoch| {
            other.0 != 0
                && other.thread() != touch.thread
                && !(touch.atomic && other.is_atomic())
                && !clocks.knows(touch.thread, other.thread(), other.time())
        };
        let followed = cell.write.0 & FOLLOWED != 0;
        cell.write.0 &= !FOLLOWED;
        let mut raced = races(cell.write);
        let stale = cell.read & SHARED != 0 && cell.read >> 32 & 0x7fff_ffff != self.execution;
        if stale {
            cell.read = 0;
        }
        let shared = (cell.read & SHARED != 0).then_some((cell.read & 0xffff_ffff) as usize);
        let mut kept = if followed { self.followed.remove(&address).unwrap_or_default() } else { Vec::new() };
        raced |= kept.iter().any(|(other, write)| (*write || touch.write) && races(*other));
        if touch.atomic {
            let read = Epoch(cell.read);
            let reads = shared.map_or(std::slice::from_ref(&read), |list| &self.readers[list]);
            for (other, write) in reads.iter().map(|r| (*r, false)).chain([(cell.write, true)]) {
                let is_kept = match other.is_atomic() {
                    _ if other.0 == 0 => false,
                    true => touch.write && !clocks.knows(touch.thread, other.thread(), other.time()),
                    false => !clocks.all_know(other.thread(), other.time()),
                };
                if is_kept {
                    kept.retain(|(old, wrote)| {
                        (old.thread(), old.is_atomic(), *wrote) != (other.thread(), other.is_atomic(), write)
                    });
                    kept.push((other, write));
                }
            }
        } else if touch.write {
            // Who races with what it followed races with it, too.
            kept.clear();
        }
        if touch.write {
            raced |= match shared {
                Some(list) => self.readers[list].iter().any(|r| races(*r)),
                None => races(Epoch(cell.read)),
            };
            cell = Cell { write: epoch, read: 0 };
        } else {
            let before = Epoch(cell.read);
            match shared {
                Some(list) => {
                    let list = &mut self.readers[list];
                    list.retain(|r| r.thread() != touch.thread);
                    list.push(epoch);
                }
                None if before.0 == 0
                    || before.thread() == touch.thread
                    || clocks.knows(touch.thread, before.thread(), before.time()) =>
                {
                    cell.read = epoch.0;
                }
                None => {
                    cell.read = SHARED | self.execution << 32 | self.readers.len() as u64;
                    self.readers.push(vec![before, epoch]);
                }
            }
        }
        if !kept.is_empty() {
            cell.write.0 |= FOLLOWED;
            self.followed.insert(address, kept);
        }
        self.page(address).cells[address % PAGE] = cell;
        raced
    }
}
