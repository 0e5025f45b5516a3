//! [`std::sync`] under the scheduler.

mod locks;
mod once;

pub use fabius::sync::{Barrier, BarrierWaitResult, Condvar, WaitTimeoutResult, atomic, mpsc};
pub use locks::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use once::{Once, OnceState};
pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};

use crate::run;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;

/// What a resource is.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub enum ResourceType {
    /// An atomic variable.
    Atomic,
    /// A semaphore.
    BatchSemaphore,
    /// A barrier.
    Barrier,
    /// A condition variable.
    Condvar,
    /// A mutex.
    Mutex,
    /// A lock for readers and writers.
    RwLock,
    /// Something that happens once.
    Once,
    /// A channel.
    MpscChannel,
}

/// Tells resources apart, mostly the same in all executions.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResourceSignature {
    kind: ResourceType,
    place: &'static Location<'static>,
    task: u64,
    number: u32,
}

impl ResourceSignature {
    /// For what is made without an execution.
    #[track_caller]
    pub const fn new_const(resource_type: ResourceType) -> ResourceSignature {
        ResourceSignature { kind: resource_type, place: Location::caller(), task: 0, number: 1 }
    }

    /// From its parts.
    pub const fn new(
        resource_type: ResourceType,
        static_create_location: &'static Location<'static>,
        parent_task_signature: u64,
        create_location_counter: u32,
    ) -> ResourceSignature {
        ResourceSignature {
            kind: resource_type,
            place: static_create_location,
            task: parent_task_signature,
            number: create_location_counter,
        }
    }

    /// The next in this execution.
    #[track_caller]
    pub(crate) fn numbered(kind: ResourceType) -> ResourceSignature {
        let at = Location::caller();
        let (task, number) = run::with(|run| {
            run.semaphores += 1;
            let task = run::me().map_or(0, |me| run.tasks[usize::from(me)].signature.signature_hash());
            (task, run.semaphores as u32)
        })
        .unwrap_or((0, 1));
        ResourceSignature::new(kind, at, task, number)
    }

    /// The same for all that are made at one place.
    pub fn static_create_location_hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.place.hash(&mut hasher);
        hasher.finish()
    }

    /// That of the resource.
    pub fn signature_hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

impl fmt::Debug for ResourceSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} made at {}", self.kind, self.number, self.place)
    }
}

impl fmt::Display for ResourceSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
