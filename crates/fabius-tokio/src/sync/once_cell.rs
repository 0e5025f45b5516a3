//! `OnceCell`.

use super::acquire::{Acquire, HasPermits, Request, wake_all};
use super::permits::Refused;
use super::semaphore::Counted;
use crate::monitor::{At, Monitor, must_be_inside};
use fabius::sync::OnceLock;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::panic::Location;

/// As in tokio. One in a static is empty at the beginning of each execution.
pub struct OnceCell<T> {
    /// The right to initialize; closed when there is a value.
    right: Monitor<Counted>,
    value: OnceLock<T>,
}

/// As in tokio.
#[derive(Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// There is a value.
    AlreadyInitializedError(T),
    /// Somebody is making one.
    InitializingError(T),
}

/// The right to initialize; dropping it gives it back.
struct Right<'a, T>(&'a OnceCell<T>, At);

impl<T> Drop for Right<'_, T> {
    fn drop(&mut self) {
        wake_all(self.0.right.step("give up initializing", self.1, |state, order| state.permits().give(1, order)));
    }
}

impl<T> OnceCell<T> {
    /// As in tokio.
    #[track_caller]
    pub const fn new() -> OnceCell<T> {
        OnceCell { right: Monitor::new(Counted::new(1)), value: OnceLock::new() }
    }

    /// As in tokio.
    #[track_caller]
    pub const fn const_new() -> OnceCell<T> {
        OnceCell::new()
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn initialized(&self) -> bool {
        self.get().is_some()
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        must_be_inside();
        self.value.get()
    }

    /// As in tokio.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    /// As in tokio.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    fn put(&self, right: Right<'_, T>, value: T) -> &T {
        let at = right.1;
        std::mem::forget(right);
        let Ok(()) = self.value.set(value) else { unreachable!("nobody else has the right to initialize") };
        wake_all(self.right.step("initialized", at, |state, order| state.permits().close(order)));
        self.value.get().expect("it is set")
    }

    /// As in tokio.
    ///
    /// # Errors
    /// If there is a value, or somebody is making one.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        let at = Location::caller();
        if self.initialized() {
            return Err(SetError::AlreadyInitializedError(value));
        }
        match self.right.tries("set", at, |state, order| state.permits().try_take(1, order)) {
            Ok(()) => {
                self.put(Right(self, at), value);
                Ok(())
            }
            Err(Refused::NoPermits) => Err(SetError::InitializingError(value)),
            Err(Refused::Closed) => Err(SetError::AlreadyInitializedError(value)),
        }
    }

    /// As in tokio: if who initializes goes away, the next one does.
    #[track_caller]
    pub fn get_or_init<F, Fut>(&self, f: F) -> impl Future<Output = &T>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        let at = Location::caller();
        async move {
            let value = self.init_at(|| async { Ok::<T, Infallible>(f().await) }, at).await;
            value.unwrap_or_else(|never| match never {})
        }
    }

    /// As in tokio: if who initializes fails or goes away, the next one does.
    #[track_caller]
    pub fn get_or_try_init<E, F, Fut>(&self, f: F) -> impl Future<Output = Result<&T, E>>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        self.init_at(f, Location::caller())
    }

    async fn init_at<E, F, Fut>(&self, f: F, at: At) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        must_be_inside();
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        if Acquire(Request::new(&self.right, "get_or_init", at, 1)).await.is_none() {
            return Ok(self.value.get().expect("the right is closed by a value"));
        }
        let right = Right(self, at);
        let value = f().await?;
        Ok(self.put(right, value))
    }
}

impl<T> Default for OnceCell<T> {
    #[track_caller]
    fn default() -> OnceCell<T> {
        OnceCell::new()
    }
}

impl<T> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceCell").finish_non_exhaustive()
    }
}

impl<T> SetError<T> {
    /// As in tokio.
    pub fn is_already_init_err(&self) -> bool {
        matches!(self, SetError::AlreadyInitializedError(_))
    }

    /// As in tokio.
    pub fn is_initializing_err(&self) -> bool {
        matches!(self, SetError::InitializingError(_))
    }
}

impl<T> fmt::Display for SetError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetError::AlreadyInitializedError(_) => "AlreadyInitializedError",
            SetError::InitializingError(_) => "InitializingError",
        })
    }
}

impl<T: fmt::Debug> std::error::Error for SetError<T> {}
