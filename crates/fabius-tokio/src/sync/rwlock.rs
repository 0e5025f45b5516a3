//! `RwLock`.

use super::acquire::{HasPermits, Request};
use super::mutex::TryLockError;
use super::rwlock_guard::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLockReadGuard, RwLockWriteGuard};
pub use super::rwlock_state::RwLock;
use super::semaphore::Counted;
use crate::executor::wait_for;
use crate::monitor::{At, Monitor};
use fabius::extend::Holding;
use std::cell::UnsafeCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::sync::Arc;

impl<T> RwLock<T> {
    /// As in tokio.
    #[track_caller]
    pub const fn new(data: T) -> RwLock<T> {
        RwLock::with_max_readers(data, u32::MAX >> 3)
    }

    /// As in tokio.
    #[track_caller]
    pub const fn const_new(data: T) -> RwLock<T> {
        RwLock::new(data)
    }

    /// As in tokio.
    ///
    /// # Panics
    /// If that are more than `u32::MAX >> 3`, or none.
    #[track_caller]
    pub const fn with_max_readers(data: T, max_readers: u32) -> RwLock<T> {
        assert!(max_readers <= u32::MAX >> 3, "a RwLock may not be created with more than u32::MAX >> 3 readers");
        assert!(max_readers > 0, "a RwLock may not be created with 0 readers");
        let all = max_readers as usize;
        RwLock { lock: Monitor::new(Counted::new(all)), all, data: UnsafeCell::new(data) }
    }

    /// As in tokio.
    #[track_caller]
    pub const fn const_with_max_readers(data: T, max_readers: u32) -> RwLock<T> {
        RwLock::with_max_readers(data, max_readers)
    }

    /// As in tokio.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    async fn get(&self, name: &'static str, permits: usize, at: At) -> Holding {
        let mut request = Request::new(&self.lock, name, at, permits).called("wait for the lock");
        let got = poll_fn(|cx| request.poll(cx, |state, _| state.takes(permits, at))).await;
        got.expect("a lock is never closed")
    }

    #[track_caller]
    fn try_get(&self, name: &'static str, permits: usize, at: At) -> Result<Holding, TryLockError> {
        self.lock
            .attempt(name, at, |state, order| {
                state.permits().try_take(permits, order).ok()?;
                Some(state.takes(permits, at))
            })
            .ok_or(TryLockError(()))
    }

    /// As in tokio. To drop the future is to leave the queue.
    #[track_caller]
    pub fn read(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> {
        let at = Location::caller();
        async move {
            let taken = self.get("read", 1, at).await;
            RwLockReadGuard(self, taken)
        }
    }

    /// As in tokio. To drop the future is to leave the queue.
    #[track_caller]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> {
        let at = Location::caller();
        async move {
            let taken = self.get("write", self.all, at).await;
            RwLockWriteGuard(self, taken)
        }
    }

    /// As in tokio. To drop the future is to leave the queue.
    #[track_caller]
    pub fn read_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockReadGuard<T>> {
        let at = Location::caller();
        async move {
            let taken = self.get("read", 1, at).await;
            OwnedRwLockReadGuard(self, taken)
        }
    }

    /// As in tokio. To drop the future is to leave the queue.
    #[track_caller]
    pub fn write_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockWriteGuard<T>> {
        let at = Location::caller();
        async move {
            let taken = self.get("write", self.all, at).await;
            OwnedRwLockWriteGuard(self, taken)
        }
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        self.try_get("try_read", 1, Location::caller()).map(|taken| RwLockReadGuard(self, taken))
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.try_get("try_write", self.all, Location::caller()).map(|taken| RwLockWriteGuard(self, taken))
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        self.try_get("try_read", 1, Location::caller()).map(|taken| OwnedRwLockReadGuard(self, taken))
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        self.try_get("try_write", self.all, Location::caller()).map(|taken| OwnedRwLockWriteGuard(self, taken))
    }

    /// As in tokio: the thread waits.
    #[track_caller]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        wait_for(self.read())
    }

    /// As in tokio: the thread waits.
    #[track_caller]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        wait_for(self.write())
    }

    /// As in tokio.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(data: T) -> RwLock<T> {
        RwLock::new(data)
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").finish_non_exhaustive()
    }
}
