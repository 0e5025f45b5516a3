//! Synchronization, as `tokio::sync`.

mod acquire;
mod mutex;
mod notify;
mod permits;
mod rwlock;
mod rwlock_guard;
mod rwlock_state;
mod semaphore;

pub mod mpsc;
pub mod oneshot;

pub use mutex::{Mutex, MutexGuard, OwnedMutexGuard, TryLockError};
pub use notify::{Notified, Notify, OwnedNotified};
pub use rwlock::RwLock;
pub use rwlock_guard::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError};
