//! Cells whose accesses are checked for data races.

pub use std::cell::Cell;

/// loom's `UnsafeCell`: pointers are only given out with an access.
#[derive(Debug, Default)]
pub struct UnsafeCell<T: ?Sized>(fabius::cell::UnsafeCell<T>);

/// A pointer for reading, from [`UnsafeCell::get`].
#[derive(Debug)]
pub struct ConstPtr<T: ?Sized>(*const T);

/// A pointer for writing, from [`UnsafeCell::get_mut`].
#[derive(Debug)]
pub struct MutPtr<T: ?Sized>(*mut T);

impl<T> UnsafeCell<T> {
    /// A cell. That it is made is an access that writes.
    #[track_caller]
    pub fn new(data: T) -> UnsafeCell<T> {
        UnsafeCell(fabius::cell::UnsafeCell::new_here(data))
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.0.with(f)
    }

    /// Writes.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.0.with_mut(f)
    }

    /// An access that reads, at this moment.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr(self.0.with(|p| p))
    }

    /// An access that writes, at this moment.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr(self.0.with_mut(|p| p))
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(data: T) -> UnsafeCell<T> {
        UnsafeCell::new(data)
    }
}

impl<T: ?Sized> ConstPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// As for a pointer.
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller's.
        unsafe { &*self.0 }
    }

    /// The pointer itself.
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        f(self.0)
    }
}

impl<T: ?Sized> MutPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// As for a pointer.
    #[allow(clippy::mut_from_ref, reason = "loom's signature")]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller's.
        unsafe { &mut *self.0 }
    }

    /// The pointer itself.
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        f(self.0)
    }
}
