//! Locks that a task must not take twice.

use crate::run;
use fabius::sync as inner;
pub use fabius::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};
use std::fmt;
use std::sync::{LockResult, TryLockError, TryLockResult};

/// To take a lock twice fails the test at once, as in shuttle. Where `fabius::check` explores, it is found as a deadlock if
/// it is one.
#[track_caller]
fn must_not_hold(holds: bool, what: &str) {
    if holds && run::is_active() {
        let me = run::me().unwrap_or(0.into());
        panic!("deadlock! task {me:?} tried to acquire a {what} it already holds");
    }
}

/// [`std::sync::Mutex`] under the scheduler.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(inner::Mutex<T>);

impl<T> Mutex<T> {
    /// As in std.
    #[track_caller]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(inner::Mutex::new(value))
    }

    /// As in std.
    ///
    /// # Errors
    /// If it is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// As in std: a scheduling point; waits for the lock.
    ///
    /// # Errors
    /// If it is poisoned.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        must_not_hold(self.0.is_held_by_current(), "Mutex");
        self.0.lock()
    }

    /// As in std: a scheduling point; does not wait.
    ///
    /// # Errors
    /// If it is held or poisoned.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        self.0.try_lock()
    }

    /// As in std.
    ///
    /// # Errors
    /// If it is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }

    /// As in std.
    pub fn is_poisoned(&self) -> bool {
        self.0.is_poisoned()
    }

    /// As in std.
    pub fn clear_poison(&self) {
        self.0.clear_poison();
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// [`std::sync::RwLock`] under the scheduler.
#[derive(Default)]
pub struct RwLock<T: ?Sized>(inner::RwLock<T>);

impl<T> RwLock<T> {
    /// As in std.
    #[track_caller]
    pub const fn new(value: T) -> RwLock<T> {
        RwLock(inner::RwLock::new(value))
    }

    /// As in std.
    ///
    /// # Errors
    /// If it is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// As in std: a scheduling point; waits until nobody writes.
    ///
    /// # Errors
    /// If it is poisoned.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        must_not_hold(self.0.is_held_by_current(), "RwLock");
        self.0.read()
    }

    /// As in std: a scheduling point; waits until nobody reads or writes.
    ///
    /// # Errors
    /// If it is poisoned.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        must_not_hold(self.0.is_held_by_current(), "RwLock");
        self.0.write()
    }

    /// As in std: a scheduling point; does not wait. As in shuttle, a task that reads cannot read once more.
    ///
    /// # Errors
    /// If somebody writes, or it is poisoned.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        if run::is_active() && self.0.is_held_by_current() {
            fabius::thread::drive::switch("try_read");
            return Err(TryLockError::WouldBlock);
        }
        self.0.try_read()
    }

    /// As in std: a scheduling point; does not wait.
    ///
    /// # Errors
    /// If somebody reads or writes, or it is poisoned.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        self.0.try_write()
    }

    /// As in std.
    ///
    /// # Errors
    /// If it is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }

    /// As in std.
    pub fn is_poisoned(&self) -> bool {
        self.0.is_poisoned()
    }

    /// As in std.
    pub fn clear_poison(&self) {
        self.0.clear_poison();
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
