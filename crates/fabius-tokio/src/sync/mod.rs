//! Synchronization, as `tokio::sync`.

mod acquire;
mod barrier;
mod mutex;
mod notify;
mod once_cell;
mod permits;
mod rwlock;
mod rwlock_guard;
mod rwlock_state;
mod semaphore;
mod waiters;

pub mod broadcast;
pub mod mpsc;
pub mod oneshot;
pub mod watch;

pub use barrier::{Barrier, BarrierWaitResult};
pub use mutex::{Mutex, MutexGuard, OwnedMutexGuard, TryLockError};
pub use notify::{Notified, Notify, OwnedNotified};
pub use once_cell::{OnceCell, SetError};
pub use rwlock::RwLock;
pub use rwlock_guard::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError};
