//! Rounds of loops as a compiler that optimizes writes them: this package alone is built as a release build is, also for tests.
//!
//! A round asks something of words that nobody sees, and changes nothing until the answer is another one. Who takes it for one that
//! was tried out, and so does not make it, misses what it changes: see `proofs.rs` and `trial.rs` of `fabius`.

use fabius::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use fabius::sync::{Arc, Mutex};
use fabius::{Config, Report, hint, thread};
use std::cell::UnsafeCell;

/// How many words a round may ask of.
pub const WORDS: usize = 8;

/// Memory that is not seen.
#[repr(transparent)]
struct Plain<T>(UnsafeCell<T>);

// SAFETY: threads of a test run one at a time.
unsafe impl<T> Sync for Plain<T> {}

// SAFETY: as above.
unsafe impl<T> Send for Plain<T> {}

impl<T: Copy> Plain<T> {
    fn new(value: T) -> Plain<T> {
        Plain(UnsafeCell::new(value))
    }

    #[inline(always)]
    fn read(&self) -> T {
        // SAFETY: threads of a test run one at a time.
        unsafe { self.0.get().read_volatile() }
    }

    #[inline(always)]
    fn write(&self, value: T) {
        // SAFETY: as above.
        unsafe { self.0.get().write_volatile(value) }
    }
}

/// What the threads of a program share.
pub struct Shared {
    is_over: AtomicU32,
    lock: Mutex<()>,
    version: AtomicUsize,
    /// A lock, an atomic and a count of references, for rounds to do something with meanwhile.
    pub other_lock: Mutex<u64>,
    /// As before.
    pub other: AtomicUsize,
    /// As before.
    pub counted: Arc<u64>,
    memory: Box<Memory>,
}

struct Memory {
    words: [Plain<u64>; WORDS],
    borrowed: Plain<[u64; 2]>,
    hits: Plain<u64>,
}

impl Shared {
    fn new(words: [u64; WORDS]) -> Shared {
        Shared {
            is_over: AtomicU32::new(0),
            lock: Mutex::new(()),
            version: AtomicUsize::new(0),
            other_lock: Mutex::new(0),
            other: AtomicUsize::new(5),
            counted: Arc::new(5),
            memory: Box::new(Memory {
                words: words.map(Plain::new),
                borrowed: Plain::new([0, 0x0101_0101_0101_0101]),
                hits: Plain::new(0),
            }),
        }
    }

    /// A word.
    #[inline(always)]
    pub fn word(&self, number: usize) -> u64 {
        self.memory.words[number].read()
    }

    /// Where the words are.
    pub fn words(&self) -> *const u64 {
        (&raw const self.memory.words).cast()
    }

    /// Where the round may write for a while if it puts back what was there: two words, 0 and one whose bytes are all 1.
    #[inline(always)]
    pub fn borrowed(&self) -> *mut u64 {
        self.memory.borrowed.0.get().cast()
    }

    /// A round is over, which has found that.
    #[inline(always)]
    fn counts(&self, is_hit: bool) {
        if is_hit {
            let hits = self.memory.hits.read();
            self.memory.hits.write((hits + 1).min(7));
        }
    }
}

/// What a round asks of the words.
pub type Asks = fn(&Shared) -> bool;

/// Between which operations of a round it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// While it holds a lock.
    UnderALock,
    /// Before it takes one.
    BeforeALock,
    /// Between two loads.
    BetweenLoads,
}

impl Place {
    /// All there are.
    pub const ALL: [Place; 3] = [Place::UnderALock, Place::BeforeALock, Place::BetweenLoads];
}

/// A program: a round that asks something of these words, whose answer is another one once one of them has changed.
#[derive(Clone, Copy)]
pub struct Program {
    /// What is asked.
    pub asks: Asks,
    /// What the words are at first.
    pub words: [u64; WORDS],
    /// Which of them changes.
    pub at: usize,
    /// To what.
    pub to: u64,
    /// Where in the round it is asked.
    pub place: Place,
}

impl Program {
    /// What it answers before the change, and behind it.
    pub fn answers(&self) -> (bool, bool) {
        let mut both = (false, false);
        let shared = std::sync::Mutex::new((Some(Shared::new(self.words)), &mut both));
        let report = Config::new().name("rounds").executions(1).explore(|| {
            let mut shared = shared.lock().unwrap();
            if let Some(all) = shared.0.take() {
                shared.1.0 = (self.asks)(&all);
                all.memory.words[self.at].write(self.to);
                shared.1.1 = (self.asks)(&all);
            }
        });
        assert!(!report.is_bug(), "{report}");
        drop(shared);
        both
    }

    /// Explores it within a configuration: it fails where so many rounds have found another answer.
    pub fn explore(self, config: Config, hits: u64) -> Report {
        config.name("rounds").every_panic_fails().explore(move || self.runs(hits))
    }

    fn runs(self, hits: u64) {
        let mine = Arc::new(Shared::new(self.words));
        let theirs = mine.clone();
        let other = thread::spawn(move || {
            theirs.is_over.store(2, SeqCst);
            match self.place {
                Place::UnderALock => under_a_lock(&theirs, self.asks),
                Place::BeforeALock => before_a_lock(&theirs, self.asks),
                Place::BetweenLoads => between_loads(&theirs, self.asks),
            }
        });
        while mine.is_over.load(SeqCst) != 2 {
            hint::spin_loop();
        }
        let changes = || mine.memory.words[self.at].write(self.to);
        let found = if self.place == Place::BetweenLoads {
            mine.version.store(1, SeqCst);
            changes();
            mine.version.store(1, SeqCst);
            mine.memory.hits.read()
        } else {
            let held = mine.lock.lock().unwrap();
            changes();
            drop(held);
            let _held = mine.lock.lock().unwrap();
            mine.memory.hits.read()
        };
        assert!(found < hits, "so many rounds have found another answer");
        mine.is_over.store(1, SeqCst);
        other.join().unwrap();
    }
}

#[inline(never)]
fn under_a_lock(shared: &Shared, asks: Asks) {
    loop {
        thread::yield_now();
        if shared.is_over.load(SeqCst) == 1 {
            break;
        }
        let held = shared.lock.lock().unwrap();
        let is_hit = asks(shared);
        shared.counts(is_hit);
        drop(held);
    }
}

#[inline(never)]
fn before_a_lock(shared: &Shared, asks: Asks) {
    loop {
        hint::spin_loop();
        if shared.is_over.load(SeqCst) == 1 {
            break;
        }
        let is_hit = asks(shared);
        let held = shared.lock.lock().unwrap();
        shared.counts(is_hit);
        drop(held);
    }
}

#[inline(never)]
fn between_loads(shared: &Shared, asks: Asks) {
    loop {
        hint::spin_loop();
        if shared.is_over.load(SeqCst) == 1 {
            break;
        }
        shared.version.load(SeqCst);
        let is_hit = asks(shared);
        shared.version.load(SeqCst);
        shared.counts(is_hit);
    }
}
