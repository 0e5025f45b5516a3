//! [`std::thread`] under the scheduler.

use crate::run;
pub use fabius::thread::{
    AccessError, JoinHandle, LocalKey, Result, ScopedJoinHandle, Thread, ThreadId, available_parallelism, current,
    panicking, park,
};
use std::fmt;
use std::panic::Location;
use std::time::Duration;

/// As in std: a scheduling point. A panic of the thread fails the test.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    run::before_spawn(None, Location::caller());
    fabius::thread::spawn(move || run::body(f))
}

/// [`std::thread::Builder`].
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
}

impl Builder {
    /// As in std.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// As in std.
    pub fn name(self, name: String) -> Builder {
        Builder { name: Some(name) }
    }

    /// Without effect.
    pub fn stack_size(self, _: usize) -> Builder {
        self
    }

    fn inner(self, at: &'static Location<'static>) -> fabius::thread::Builder {
        run::before_spawn(self.name.as_deref(), at);
        let builder = fabius::thread::Builder::new();
        match self.name {
            Some(name) => builder.name(name),
            None => builder,
        }
    }

    /// As in std; never fails.
    ///
    /// # Errors
    /// None.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> std::io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.inner(Location::caller()).spawn(move || run::body(f))
    }

    /// As in std; never fails.
    ///
    /// # Errors
    /// None.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> std::io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.inner(Location::caller()).spawn_scoped(&scope.0, move || run::body(f))
    }
}

/// [`std::thread::Scope`].
#[repr(transparent)]
#[allow(explicit_outlives_requirements)]
pub struct Scope<'scope, 'env: 'scope>(fabius::thread::Scope<'scope, 'env>);

impl<'scope, 'env> Scope<'scope, 'env> {
    /// As in std: a scheduling point.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        run::before_spawn(None, Location::caller());
        self.0.spawn(move || run::body(f))
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// As in std.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    fabius::thread::scope(|scope| {
        // SAFETY: `Scope` is a transparent wrapper.
        f(unsafe { &*std::ptr::from_ref(scope).cast() })
    })
}

/// As in std: a scheduling point, and a hint that the thread waits for another.
#[track_caller]
pub fn yield_now() {
    run::with(|run| run.yields = true);
    fabius::thread::yield_now();
}

/// A scheduling point: time does not pass.
#[track_caller]
pub fn sleep(time: Duration) {
    if run::is_active() {
        fabius::thread::drive::switch("sleep");
    } else {
        fabius::thread::sleep(time);
    }
}

/// As [`park`]: time does not pass.
#[track_caller]
pub fn park_timeout(limit: Duration) {
    if run::is_active() {
        park();
    } else {
        fabius::thread::park_timeout(limit);
    }
}
