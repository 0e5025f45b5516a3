//! Cells whose accesses are checked for data races. As in loom an access lasts until its closure ends, or its pointer is dropped:
//! another one meanwhile is a failure, also by the same thread, and also where the two are ordered. That a pointer is dropped reads
//! and writes nothing: what an operation immediately before that releases comes after the access, as in loom. What is done with a
//! pointer is an access when it is done, which it is not in loom; what is done with a reference from [`MutPtr::deref`] later is not
//! seen, in either.

use std::cell;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

mod plain;

pub use plain::Cell;

/// The accesses to a cell. They outlive it if a pointer does.
#[derive(Default)]
struct Accesses {
    /// Where data races are noticed.
    races: fabius::cell::UnsafeCell<()>,
    /// How many have not ended.
    reading: AtomicU32,
    writing: AtomicU32,
}

// SAFETY: in an execution one thread runs at a time, and outside of one `races` does nothing.
unsafe impl Send for Accesses {}
// SAFETY: the same.
unsafe impl Sync for Accesses {}

impl Accesses {
    fn open(&self, write: bool) -> &AtomicU32 {
        if write { &self.writing } else { &self.reading }
    }
}

/// What an access lasts as long as.
#[derive(Clone, Copy)]
enum By {
    Closure,
    Pointer,
}

/// An access that has not ended.
struct Access<A: Deref<Target = Accesses>> {
    to: A,
    write: bool,
    by: By,
    lasting: fabius::cell::Lasting,
}

impl<A: Deref<Target = Accesses>> Access<A> {
    #[track_caller]
    fn begin(to: A, write: bool, by: By) -> Access<A> {
        let lasting = to.races.begin(write);
        let now = if write { "written" } else { "read" };
        assert!(to.writing.load(Relaxed) == 0, "data race: a cell is {now} while it is being written");
        assert!(!write || to.reading.load(Relaxed) == 0, "data race: a cell is written while it is being read");
        // One thread runs at a time.
        let open = to.open(write);
        open.store(open.load(Relaxed) + 1, Relaxed);
        Access { to, write, by, lasting }
    }

    /// Something is done with its pointer.
    #[track_caller]
    fn goes_on(&self) {
        self.to.races.goes_on(&self.lasting);
    }
}

impl<A: Deref<Target = Accesses>> Drop for Access<A> {
    fn drop(&mut self) {
        let open = self.to.open(self.write);
        open.store(open.load(Relaxed).saturating_sub(1), Relaxed);
        if std::thread::panicking() {
            return;
        }
        match self.by {
            By::Closure => self.to.races.end(&self.lasting),
            // A guard that gives back its lock is dropped before the pointer in it.
            By::Pointer => self.to.races.end_of_pointer(&self.lasting),
        }
    }
}

/// loom's `UnsafeCell`: pointers are only given out with an access.
pub struct UnsafeCell<T: ?Sized> {
    accesses: Arc<Accesses>,
    data: cell::UnsafeCell<T>,
}

/// A pointer for reading, from [`UnsafeCell::get`]: an access until it is dropped.
pub struct ConstPtr<T: ?Sized> {
    pointer: *const T,
    access: Access<Arc<Accesses>>,
}

/// A pointer for writing, from [`UnsafeCell::get_mut`]: an access until it is dropped.
pub struct MutPtr<T: ?Sized> {
    pointer: *mut T,
    access: Access<Arc<Accesses>>,
}

impl<T> UnsafeCell<T> {
    /// A cell. That it is made is an access that writes.
    #[track_caller]
    pub fn new(data: T) -> UnsafeCell<T> {
        let races = fabius::cell::UnsafeCell::new_here(());
        UnsafeCell { accesses: Arc::new(Accesses { races, ..Accesses::default() }), data: cell::UnsafeCell::new(data) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads, until `f` ends.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        let _access = Access::begin(&*self.accesses, false, By::Closure);
        f(self.data.get())
    }

    /// Writes, until `f` ends.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let _access = Access::begin(&*self.accesses, true, By::Closure);
        f(self.data.get())
    }

    /// An access that reads, until the pointer is dropped.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr { access: Access::begin(self.accesses.clone(), false, By::Pointer), pointer: self.data.get() }
    }

    /// An access that writes, until the pointer is dropped.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr { access: Access::begin(self.accesses.clone(), true, By::Pointer), pointer: self.data.get() }
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> UnsafeCell<T> {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(data: T) -> UnsafeCell<T> {
        UnsafeCell::new(data)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

impl<T: ?Sized> ConstPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// As for a pointer.
    #[track_caller]
    pub unsafe fn deref(&self) -> &T {
        self.access.goes_on();
        // SAFETY: the caller's.
        unsafe { &*self.pointer }
    }

    /// The pointer itself.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.access.goes_on();
        f(self.pointer)
    }
}

impl<T: ?Sized> fmt::Debug for ConstPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConstPtr").field(&self.pointer).finish()
    }
}

impl<T: ?Sized> MutPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// As for a pointer.
    #[allow(clippy::mut_from_ref, reason = "loom's signature")]
    #[track_caller]
    pub unsafe fn deref(&self) -> &mut T {
        self.access.goes_on();
        // SAFETY: the caller's.
        unsafe { &mut *self.pointer }
    }

    /// The pointer itself.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.access.goes_on();
        f(self.pointer)
    }
}

impl<T: ?Sized> fmt::Debug for MutPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MutPtr").field(&self.pointer).finish()
    }
}
