//! The interface of loom 0.7 on top of [`fabius`]: rename the dependency, keep the tests.
//!
//! ```toml
//! [dev-dependencies]
//! loom = { package = "fabius-loom", version = "0.1" }
//! ```
//!
//! What differs is in the README: above all, stores may come late, repetition of threads that wait is left out, and there is no
//! limit on threads.

pub mod cell;
pub mod future;
pub mod lazy_static;
pub mod model;
mod notify;

pub use fabius::{alloc, hint};
pub use model::model;

/// loom's limit on threads, for tests that use as many as there may be. There is none here.
pub const MAX_THREADS: usize = 5;

/// Without effect: everything is explored. In loom, branching begins again.
pub fn explore() {}

/// Without effect: everything is explored. In loom, branching pauses, which leaves executions out.
pub fn stop_exploring() {}

/// Without effect: everything is explored. In loom, the rest of the execution does not branch.
pub fn skip_branch() {}

/// Threads.
pub mod thread {
    pub use fabius::thread::{
        AccessError, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId, current, panicking, park,
        park_timeout, scope, sleep, yield_now,
    };
    use std::io;

    /// As `std::thread::spawn`, but as in loom the closure need not be `Send`.
    #[track_caller]
    pub fn spawn<F, T>(f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        fabius::thread::spawn_here(f, None)
    }

    /// As `std::thread::Builder`.
    #[derive(Debug, Default)]
    pub struct Builder(Option<String>);

    impl Builder {
        /// A thread without a name.
        pub fn new() -> Builder {
            Builder::default()
        }

        /// Names the thread.
        pub fn name(self, name: String) -> Builder {
            Builder(Some(name))
        }

        /// Without effect.
        pub fn stack_size(self, _: usize) -> Builder {
            self
        }

        /// Starts the thread; never fails.
        ///
        /// # Errors
        /// None.
        #[track_caller]
        pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
        where
            F: FnOnce() -> T + 'static,
            T: 'static,
        {
            Ok(fabius::thread::spawn_here(f, self.0))
        }
    }
}

/// Synchronization.
pub mod sync {
    pub use fabius::sync::{
        Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, LockResult, Mutex, MutexGuard, Once, OnceLock, PoisonError,
        RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult, Weak, mpsc,
    };

    pub mod atomic;

    pub use crate::notify::Notify;
}

/// As [`std::thread_local!`], for the threads of a model.
#[macro_export]
macro_rules! thread_local {
    ($($all:tt)*) => { $crate::__fabius::thread_local! { $($all)* } };
}

#[doc(hidden)]
pub use fabius as __fabius;
