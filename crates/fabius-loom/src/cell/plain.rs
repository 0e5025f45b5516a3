use super::UnsafeCell;
use std::cmp::Ordering;

/// loom's `Cell`: as std's, with accesses that are checked for data races.
#[derive(Debug, Default)]
pub struct Cell<T>(UnsafeCell<T>);

impl<T> Cell<T> {
    /// A cell. That it is made is an access that writes.
    #[track_caller]
    pub fn new(value: T) -> Cell<T> {
        Cell(UnsafeCell::new(value))
    }

    /// Puts in a value.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Exchanges the values of two cells.
    #[track_caller]
    pub fn swap(&self, other: &Cell<T>) {
        if std::ptr::eq(self, other) {
            return;
        }
        let (mine, theirs) = (self.0.get_mut(), other.0.get_mut());
        // SAFETY: both are written by nobody else until the pointers are dropped, and they are two.
        unsafe { std::mem::swap(mine.deref(), theirs.deref()) }
    }

    /// Puts in a value, and says what was there.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        // SAFETY: no code of the test runs meanwhile.
        self.0.with_mut(|there| unsafe { there.replace(value) })
    }

    /// The value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: no code of the test runs meanwhile.
        self.0.with(|there| unsafe { *there })
    }

    /// The value; what is left is the default.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: Copy> Clone for Cell<T> {
    #[track_caller]
    fn clone(&self) -> Cell<T> {
        Cell::new(self.get())
    }
}

impl<T> From<T> for Cell<T> {
    #[track_caller]
    fn from(value: T) -> Cell<T> {
        Cell::new(value)
    }
}

impl<T: PartialEq + Copy> PartialEq for Cell<T> {
    #[track_caller]
    fn eq(&self, other: &Cell<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq + Copy> Eq for Cell<T> {}

impl<T: PartialOrd + Copy> PartialOrd for Cell<T> {
    #[track_caller]
    fn partial_cmp(&self, other: &Cell<T>) -> Option<Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Ord + Copy> Ord for Cell<T> {
    #[track_caller]
    fn cmp(&self, other: &Cell<T>) -> Ordering {
        self.get().cmp(&other.get())
    }
}
