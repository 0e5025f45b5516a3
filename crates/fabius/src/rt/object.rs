//! Identities of the objects of an execution.

use super::Rt;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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

/// The execution that each operating system thread runs now; 0 if none.
static RUNNING: Mutex<Vec<Arc<AtomicU32>>> = Mutex::new(Vec::new());

thread_local! {
    static MINE: Arc<AtomicU32> = {
        let mine = Arc::new(AtomicU32::new(0));
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push(mine.clone());
        mine
    };
}

/// Says which execution this operating system thread runs from now on.
pub(super) fn runs(epoch: u32) {
    MINE.with(|mine| mine.store(epoch, Ordering::Relaxed));
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

    /// The object was used in another execution: that must not be one that is under way.
    #[cold]
    fn is_not_shared(&self, rt: &mut Rt, epoch: u32) {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = epoch != rt.epoch && running.iter().any(|other| other.load(Ordering::Relaxed) == epoch);
        drop(running);
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
