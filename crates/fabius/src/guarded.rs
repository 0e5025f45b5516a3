//! Values behind a lock that nobody has at a scheduling point, so that a loop that takes it in each round can be tried out: see
//! `rt/trial.rs`.

use crate::rt;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// A value that is looked at or changed between two scheduling points.
#[derive(Debug, Default)]
pub struct Guarded<T> {
    is_taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: only who has taken it uses the value.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Nobody has it.
    pub const fn new(value: T) -> Guarded<T> {
        Guarded { is_taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Takes it. It must be given back before the next scheduling point.
    pub fn take(&self) -> Guard<'_, T> {
        rt::changes(&self.is_taken);
        rt::aside(|| {
            while self.is_taken.swap(true, Ordering::Acquire) {
                std::thread::yield_now();
            }
        });
        Guard(self)
    }
}

/// Who has it.
#[derive(Debug)]
pub struct Guard<'a, T>(&'a Guarded<T>);

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: it is taken.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: it is taken, and this is the only guard.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        rt::changes(&self.0.is_taken);
        rt::aside(|| self.0.is_taken.store(false, Ordering::Release));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_at_a_time() {
        let counter = Guarded::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..100).for_each(|_| *counter.take() += 1));
            }
        });
        assert_eq!(*counter.take(), 300);
    }
}
