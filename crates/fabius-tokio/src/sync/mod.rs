//! Synchronization, as `tokio::sync`.

mod acquire;
mod mutex;
mod notify;
mod permits;
mod semaphore;

pub mod mpsc;
pub mod oneshot;

pub use mutex::{Mutex, MutexGuard, OwnedMutexGuard, TryLockError};
pub use notify::{Notified, Notify, OwnedNotified};
pub use semaphore::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError};
