//! Why a task has no result.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Mutex;

/// As in tokio.
pub struct JoinError(Why);

enum Why {
    Cancelled,
    Panicked(Mutex<Box<dyn Any + Send + 'static>>),
}

impl JoinError {
    pub(crate) fn cancelled() -> JoinError {
        JoinError(Why::Cancelled)
    }

    pub(crate) fn panicked(payload: Box<dyn Any + Send + 'static>) -> JoinError {
        JoinError(Why::Panicked(Mutex::new(payload)))
    }

    /// As in tokio.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0, Why::Cancelled)
    }

    /// As in tokio.
    pub fn is_panic(&self) -> bool {
        !self.is_cancelled()
    }

    /// As in tokio.
    ///
    /// # Panics
    /// If the task did not panic.
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        self.try_into_panic().expect("`JoinError` reason is not a panic.")
    }

    /// As in tokio.
    ///
    /// # Errors
    /// If the task did not panic.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self.0 {
            Why::Cancelled => Err(self),
            Why::Panicked(payload) => Ok(payload.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)),
        }
    }

    /// What it panicked with.
    fn text(&self) -> Option<String> {
        let Why::Panicked(payload) = &self.0 else { return None };
        let payload = payload.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_string());
        text.or_else(|| payload.downcast_ref::<String>().cloned())
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0, self.text()) {
            (Why::Cancelled, _) => f.write_str("task was cancelled"),
            (Why::Panicked(_), Some(text)) => write!(f, "task panicked with message {text:?}"),
            (Why::Panicked(_), None) => f.write_str("task panicked"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0, self.text()) {
            (Why::Cancelled, _) => f.write_str("JoinError::Cancelled"),
            (Why::Panicked(_), Some(text)) => write!(f, "JoinError::Panic({text:?})"),
            (Why::Panicked(_), None) => f.write_str("JoinError::Panic(..)"),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> io::Error {
        io::Error::other(error.to_string())
    }
}
