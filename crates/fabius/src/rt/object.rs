//! Identities of the objects of an execution.

use super::Rt;
use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Part of every synchronization object and tracked cell: its number in the current execution, given on first use.
pub(crate) struct Object {
    /// The execution in the upper half, the number in the lower.
    number: AtomicU64,
    /// Where the object was made.
    pub made: &'static Location<'static>,
}

/// What is said when executions disturb each other.
pub(crate) const SHARED: &str = "a static (or what it refers to) is used by two checks at the same time, which disturb each \
                                 other: run the tests with `--test-threads 1`, and the check with one job";

/// Executions are numbered in blocks of 2^16, which belong to the operating system thread that runs them.
static NEXT_BLOCK: AtomicU32 = AtomicU32::new(1);

/// The blocks of the checks that are under way, for each operating system thread.
static RUNNING: Mutex<Vec<Weak<Mutex<Vec<u32>>>>> = Mutex::new(Vec::new());

thread_local! {
    static MINE: Arc<Mutex<Vec<u32>>> = {
        let mine = Arc::default();
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|other| other.strong_count() > 0);
        running.push(Arc::downgrade(&mine));
        mine
    };
    static NEXT: Cell<u32> = const { Cell::new(0) };
    static UNDER_WAY: Cell<u32> = const { Cell::new(0) };
}

/// The number of the execution that this operating system thread begins.
pub(super) fn next_epoch() -> u32 {
    let mut next = NEXT.get();
    if next & 0xffff == 0 {
        let block = NEXT_BLOCK.fetch_add(1, Ordering::Relaxed) & 0xffff;
        MINE.with(|mine| mine.lock().unwrap_or_else(PoisonError::into_inner).push(block));
        next = (block << 16).max(1);
    }
    NEXT.set(next.wrapping_add(1));
    next
}

/// A check, or an execution outside of one, begins on this operating system thread.
pub(crate) fn begins() {
    UNDER_WAY.set(UNDER_WAY.get() + 1);
}

/// It is over: with the last one, what its executions used may be used by others.
pub(crate) fn is_over() {
    UNDER_WAY.set(UNDER_WAY.get() - 1);
    if UNDER_WAY.get() == 0 {
        NEXT.set(0);
        MINE.with(|mine| mine.lock().unwrap_or_else(PoisonError::into_inner).clear());
    }
}

impl Object {
    #[track_caller]
    pub const fn new() -> Object {
        Object { number: AtomicU64::new(0), made: Location::caller() }
    }

    /// Its number; 0 outside of an execution.
    #[inline]
    pub fn id(&self) -> u32 {
        super::with(|rt| self.id_in(rt)).unwrap_or(0)
    }

    #[inline]
    pub fn id_in(&self, rt: &mut Rt) -> u32 {
        let number = self.number.load(Ordering::Relaxed);
        if (number >> 32) as u32 == rt.epoch {
            return number as u32;
        }
        if number != 0 {
            self.is_not_shared(rt, (number >> 32) as u32);
        }
        rt.objects += 1;
        self.number.store(u64::from(rt.epoch) << 32 | u64::from(rt.objects), Ordering::Relaxed);
        rt.objects
    }

    /// The object was used in another execution: that must not be one of another check that is under way.
    #[cold]
    fn is_not_shared(&self, rt: &mut Rt, epoch: u32) {
        let mine = MINE.with(Arc::clone);
        let others: Vec<_> = {
            let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            running.iter().filter_map(Weak::upgrade).filter(|other| !Arc::ptr_eq(other, &mine)).collect()
        };
        let block = epoch >> 16;
        let shared = others.iter().any(|other| other.lock().unwrap_or_else(PoisonError::into_inner).contains(&block));
        if shared {
            rt.fail(fabius_trace::BugKind::SyncMisuse, SHARED.into(), Some(self.made));
        }
    }

    /// Whether it was used in another execution than the current one.
    pub fn is_stale(&self) -> bool {
        let number = self.number.load(Ordering::Relaxed);
        number != 0 && super::with(|rt| (number >> 32) as u32 != rt.epoch).unwrap_or(false)
    }
}
