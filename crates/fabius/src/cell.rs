//! [`std::cell`], with an `UnsafeCell` whose accesses are checked for data races.

use crate::rt::{self, Moment, Object};
pub use std::cell::{BorrowError, BorrowMutError, Cell, LazyCell, OnceCell, Ref, RefCell, RefMut};
use std::fmt;
use std::panic::Location;

/// [`std::cell::UnsafeCell`] with tracked accesses: two that nothing orders, of which one may write, are a data race.
///
/// Access through [`UnsafeCell::with`] and [`UnsafeCell::with_mut`] is told apart as reading and writing.
pub struct UnsafeCell<T: ?Sized> {
    object: Object,
    data: std::cell::UnsafeCell<T>,
}

/// An access that has begun.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Lasting {
    write: bool,
    at: &'static Location<'static>,
}

// SAFETY: `Object` is only touched by the thread that runs; `Sync` is left to `T`'s owner, as in std.
unsafe impl<T: ?Sized + Send> Send for UnsafeCell<T> {}

impl<T> UnsafeCell<T> {
    /// As in std.
    #[track_caller]
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell { object: Object::new(), data: std::cell::UnsafeCell::new(value) }
    }

    /// A cell that is made here and now, which counts as an access that writes: whoever accesses it must come after that. Where a
    /// cell is made by [`UnsafeCell::new`], which is `const`, the first access is the first that is known.
    #[track_caller]
    pub fn new_here(value: T) -> UnsafeCell<T> {
        let cell = UnsafeCell::new(value);
        rt::made(&cell.object, Location::caller());
        cell
    }

    /// As in std.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads through a pointer that must not leave `f`.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        let access = self.begin(false);
        let result = f(self.data.get());
        self.end(&access);
        result
    }

    /// Writes, or reads, through a pointer that must not leave `f`.
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        let access = self.begin(true);
        let result = f(self.data.get());
        self.end(&access);
        result
    }

    /// Begins an access that lasts until [`UnsafeCell::end`].
    #[doc(hidden)]
    #[inline]
    #[track_caller]
    pub fn begin(&self, write: bool) -> Lasting {
        let at = Location::caller();
        rt::data(&self.object, write, Moment::Now, at);
        rt::begins_lasting(&self.object);
        Lasting { write, at }
    }

    /// Ends an access. Where others have gone on meanwhile, that is an access as well.
    #[doc(hidden)]
    #[inline]
    pub fn end(&self, access: &Lasting) {
        if rt::ends_lasting(&self.object) {
            rt::data(&self.object, access.write, Moment::Now, access.at);
        }
    }

    /// Ends an access by a pointer, where what was done with it was told by [`UnsafeCell::goes_on`]. If others have gone on meanwhile, it
    /// lasted until the thread's last operation, and what that releases comes after it; until now, if the thread has since accessed any
    /// cell, or joined another thread.
    #[doc(hidden)]
    #[inline]
    pub fn end_of_pointer(&self, access: &Lasting) {
        if rt::ends_lasting(&self.object) {
            rt::data(&self.object, access.write, Moment::LastOperation, access.at);
        }
    }

    /// Something is done in an access that has begun. Where others have gone on meanwhile, that is an access as well.
    #[doc(hidden)]
    #[inline]
    #[track_caller]
    pub fn goes_on(&self, access: &Lasting) {
        if rt::has_lasted(&self.object) {
            rt::data(&self.object, access.write, Moment::Now, Location::caller());
        }
    }

    /// As in std. Counts as an access that reads, at this moment: what is done through the pointer is not seen.
    #[track_caller]
    pub fn get(&self) -> *mut T {
        rt::data(&self.object, false, Moment::Now, Location::caller());
        self.data.get()
    }

    /// As in std.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
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
    fn from(value: T) -> UnsafeCell<T> {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}
