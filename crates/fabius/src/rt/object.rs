//! Identities of the objects of an execution, and which execution may use them.

use super::moved::is_static;
use super::{Rt, SHARED};
use std::cell::{Cell, UnsafeCell};
use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Part of every synchronization object and tracked cell: its number in the execution that has claimed it, which is the
/// one that used it last. While the check of that execution is under way, nobody on another operating system thread may
/// use it: another execution is refused, and a real thread panics.
pub(crate) struct Object {
    /// The execution that has claimed it; 0: none.
    epoch: AtomicU64,
    /// Only used by the execution that has claimed it.
    number: AtomicU32,
    /// When a real thread used it last while a check was under way: how many had begun. 0: never.
    outside_at: AtomicU64,
    /// Where the object was made.
    pub made: &'static Location<'static>,
}

/// Executions are numbered in blocks of 2^16, which belong to the operating system thread that runs them. No number is
/// used twice, nor is one that a test is likely to have as a value of its own.
static NEXT_BLOCK: AtomicU64 = AtomicU64::new(0x5eed_9bd1_0000);

/// The blocks of the checks that are under way, for each operating system thread.
static RUNNING: Mutex<Vec<Weak<Mutex<Vec<u64>>>>> = Mutex::new(Vec::new());

/// Operating system threads on which a check is under way.
static UNDER_WAY_ANYWHERE: AtomicU32 = AtomicU32::new(0);

/// Checks that have begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// How many checks had begun with that on this thread.
    static BEGAN: Cell<u64> = const { Cell::new(0) };
    static MINE: Arc<Mutex<Vec<u64>>> = {
        let mine = Arc::default();
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|other| other.strong_count() > 0);
        running.push(Arc::downgrade(&mine));
        mine
    };
    static NEXT: Cell<u64> = const { Cell::new(0) };
    static UNDER_WAY: Cell<u32> = const { Cell::new(0) };
}

/// The number of the execution that this operating system thread begins.
pub(super) fn next_epoch() -> u64 {
    let mut next = NEXT.get();
    if next & 0xffff == 0 {
        let block = NEXT_BLOCK.fetch_add(1, Ordering::Relaxed);
        MINE.with(|mine| mine.lock().unwrap_or_else(PoisonError::into_inner).push(block));
        next = block << 16;
    }
    NEXT.set(next + 1);
    next
}

/// A check, or an execution outside of one, begins on this operating system thread.
pub(crate) fn begins() {
    if UNDER_WAY.get() == 0 {
        UNDER_WAY_ANYWHERE.fetch_add(1, Ordering::SeqCst);
        BEGAN.set(BEGUN.fetch_add(1, Ordering::SeqCst) + 1);
    }
    UNDER_WAY.set(UNDER_WAY.get() + 1);
}

/// It is over: with the last one, what its executions used may be used by others.
pub(crate) fn is_over() {
    UNDER_WAY.set(UNDER_WAY.get() - 1);
    if UNDER_WAY.get() == 0 {
        UNDER_WAY_ANYWHERE.fetch_sub(1, Ordering::SeqCst);
        NEXT.set(0);
        MINE.with(|mine| mine.lock().unwrap_or_else(PoisonError::into_inner).clear());
    }
}

/// Whose check an execution is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Nobody's: it is over.
    None,
    /// Of a check on this operating system thread.
    Mine,
    /// Of a check on another operating system thread.
    Another,
}

fn owner(epoch: u64) -> Owner {
    let has = |blocks: &Mutex<Vec<u64>>| {
        epoch != 0 && blocks.lock().unwrap_or_else(PoisonError::into_inner).contains(&(epoch >> 16))
    };
    // The thread may be ending: then no check is under way on it.
    if MINE.try_with(|mine| has(mine)).unwrap_or(false) {
        return Owner::Mine;
    }
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if running.iter().filter_map(Weak::upgrade).any(|other| has(&other)) { Owner::Another } else { Owner::None }
}

impl Object {
    #[track_caller]
    pub const fn new() -> Object {
        let (epoch, number, outside_at) = (AtomicU64::new(0), AtomicU32::new(0), AtomicU64::new(0));
        Object { epoch, number, outside_at, made: Location::caller() }
    }

    /// Its number in the current execution, which claims it; 0 outside of one. If it belongs to a check on another
    /// operating system thread, the execution fails and goes no further, and a real thread panics.
    #[inline]
    pub fn id(&self) -> u32 {
        super::with(|rt| self.known_in(rt)).flatten().unwrap_or_else(|| self.first_use())
    }

    /// Its number, if the execution has claimed it.
    #[inline]
    fn known_in(&self, rt: &Rt) -> Option<u32> {
        self.is_claimed_by(rt).then(|| self.number.load(Ordering::Relaxed))
    }

    #[inline(never)]
    fn first_use(&self) -> u32 {
        match super::with(|rt| self.claim(rt)) {
            None => {
                self.outside();
                0
            }
            Some(0) => super::halt(),
            Some(number) => number,
        }
    }

    /// The same inside of an execution; 0 if it belongs to a check on another operating system thread, and then the
    /// execution has failed.
    #[inline]
    pub fn id_in(&self, rt: &mut Rt) -> u32 {
        self.known_in(rt).unwrap_or_else(|| self.claim(rt))
    }

    #[inline]
    pub fn is_claimed_by(&self, rt: &Rt) -> bool {
        self.epoch.load(Ordering::Relaxed) == rt.epoch
    }

    fn claim(&self, rt: &mut Rt) -> u32 {
        let mut before;
        loop {
            before = self.epoch.load(Ordering::SeqCst);
            if before != 0 && owner(before) == Owner::Another || self.was_used_meanwhile() {
                rt.fail(fabius_trace::BugKind::SyncMisuse, SHARED.into(), Some(self.made));
                return 0;
            }
            // Who takes a lock outside does so first and looks for a claim then: one of the two sees the other.
            if self.epoch.compare_exchange(before, rt.epoch, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                break;
            }
        }
        // On x86-64 the exchange is such a fence itself, and another one takes as long again.
        if !cfg!(target_arch = "x86_64") {
            fence(Ordering::SeqCst);
        }
        rt.objects += 1;
        if before != 0 || is_static(std::ptr::from_ref(self).addr()) {
            rt.outlive.push(rt.objects);
        }
        self.number.store(rt.objects, Ordering::Relaxed);
        rt.objects
    }

    /// A lock was taken; one that outlives the execution must be given back before that is over.
    #[inline]
    pub fn is_taken(&self) {
        super::with(|rt| rt.held_on += u32::from(self.outlives(rt)));
    }

    /// It was given back.
    #[inline]
    pub fn is_given_back(&self) {
        super::with(|rt| rt.held_on = rt.held_on.saturating_sub(self.outlives(rt).into()));
    }

    #[inline]
    fn outlives(&self, rt: &Rt) -> bool {
        !rt.outlive.is_empty() && self.known_in(rt).is_some_and(|number| rt.outlive.contains(&number))
    }

    /// Whether a check on another operating system thread has claimed it. What was claimed by one that is over, is free.
    pub fn is_anothers(&self) -> bool {
        let epoch = self.epoch.load(Ordering::SeqCst);
        if epoch == 0 {
            return false;
        }
        let owner = owner(epoch);
        if owner == Owner::None {
            let _ = self.epoch.compare_exchange(epoch, 0, Ordering::SeqCst, Ordering::SeqCst);
        }
        owner == Owner::Another
    }

    /// Whether a real thread has used it since the check on this operating system thread began.
    fn was_used_meanwhile(&self) -> bool {
        let at = self.outside_at.load(Ordering::SeqCst);
        at != 0 && at >= BEGAN.get()
    }

    /// Something is done to it outside of an execution.
    ///
    /// # Panics
    /// If it belongs to a check on another operating system thread.
    #[inline]
    pub fn outside(&self) {
        if self.epoch.load(Ordering::SeqCst) != 0 && self.is_anothers() {
            self.is_used_by_a_real_thread();
        }
        if UNDER_WAY_ANYWHERE.load(Ordering::SeqCst) > 0 && UNDER_WAY.try_with(Cell::get).unwrap_or(0) == 0 {
            self.outside_at.store(BEGUN.load(Ordering::SeqCst), Ordering::SeqCst);
        }
    }

    #[cold]
    pub fn is_used_by_a_real_thread(&self) -> ! {
        panic!(
            "what was made at {}:{} is used by a check and by an operating system thread outside of it at the same time: \
             inside of `fabius::check`, make threads with `fabius::thread`",
            self.made.file(),
            self.made.line()
        );
    }
}

/// What begins anew in every execution.
pub(crate) trait Renew {
    /// Another execution claims it.
    fn renew(&mut self);
}

/// State that only the execution has that has claimed the object.
pub(crate) struct Inside<T> {
    pub object: Object,
    state: UnsafeCell<T>,
}

// SAFETY: the state is used by nobody but the execution that has claimed the object (`with`, `peek`), which runs on one
// operating system thread; `Object` sees to it that there is one at a time.
unsafe impl<T: Send> Sync for Inside<T> {}

impl<T: Renew> Inside<T> {
    #[track_caller]
    pub const fn new(state: T) -> Inside<T> {
        Inside { object: Object::new(), state: UnsafeCell::new(state) }
    }

    /// The number of the object, as [`Object::id`].
    #[inline]
    pub fn id(&self) -> u32 {
        super::with(|rt| self.object.known_in(rt)).flatten().unwrap_or_else(|| self.first_use())
    }

    #[inline(never)]
    fn first_use(&self) -> u32 {
        let number = self.object.first_use();
        if !super::current().is_null() {
            // SAFETY: as in `with`.
            unsafe { (*self.state.get()).renew() };
        }
        number
    }

    /// Calls `f` with the state; `None` outside of an execution. `f` neither reaches a scheduling point nor runs code of
    /// the test.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        if super::current().is_null() {
            return None;
        }
        self.id();
        // SAFETY: the current execution has claimed the object, or `id` would not have returned, so nobody else uses the
        // state; `f` does not come back here.
        Some(f(unsafe { &mut *self.state.get() }))
    }

    /// Calls `f` with the state in an execution that has claimed it, and does not claim it.
    #[inline]
    pub fn peek<R>(&self, rt: &Rt, f: impl FnOnce(&T) -> R) -> Option<R> {
        // SAFETY: as in `with`.
        self.object.is_claimed_by(rt).then(|| f(unsafe { &*self.state.get() }))
    }

    /// The state, as nobody else has it.
    pub fn get_mut(&mut self) -> &mut T {
        self.state.get_mut()
    }
}
