//! What a `RwLock` is to its guards.

use super::acquire::wake_all;
use super::semaphore::Counted;
use crate::monitor::{At, Monitor};
use fabius::extend::Holding;
use std::cell::UnsafeCell;

/// As in tokio: who waits first is first, so a reader waits behind a writer that waits.
pub struct RwLock<T: ?Sized> {
    /// A reader takes one permit, a writer all.
    pub(super) lock: Monitor<Counted>,
    pub(super) all: usize,
    pub(super) data: UnsafeCell<T>,
}

// SAFETY: as for any such lock: many may read the data, or one may write it.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T: ?Sized> RwLock<T> {
    pub(super) fn release(&self, name: &'static str, permits: usize, taken: Holding, at: At) {
        wake_all(self.lock.step(name, at, |state, order| state.gives(permits, taken, order)));
    }
}
