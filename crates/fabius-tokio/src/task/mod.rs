//! Tasks, as `tokio::task`.

mod error;
pub(crate) mod join;
mod join_set;

pub use error::JoinError;
pub use join::{AbortHandle, JoinHandle};
pub use join_set::JoinSet;

use crate::executor::GiveWay;
use crate::runtime::Handle;
use std::future::Future;

/// As in tokio: starts a task, which interleaves with others at every operation, not only where it awaits.
///
/// # Panics
/// If there is no runtime.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Handle::current().spawn(future)
}

/// As in tokio: a thread of its own. What it waits for must be one of fabius's types.
///
/// # Panics
/// If there is no runtime.
#[track_caller]
pub fn spawn_blocking<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    Handle::current().spawn_blocking(f)
}

/// As in tokio: lets other tasks go on.
pub async fn yield_now() {
    GiveWay(false).await;
}

/// As in tokio: each task has a thread, so there is nothing to do.
pub fn block_in_place<F: FnOnce() -> R, R>(f: F) -> R {
    f()
}
