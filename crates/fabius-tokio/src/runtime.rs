//! Runtimes: who is told to end when one is dropped.

use crate::executor::{self, Abortable};
use crate::monitor::{At, must_be_inside};
use crate::task::join::{self, JoinHandle};
use crate::tasks::{Tasks, Wait};
use fabius::extend;
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// `tokio::runtime::Runtime`. Dropping it ends its tasks at their next `await`, and waits for that.
pub struct Runtime {
    handle: Handle,
    is_shut_down: AtomicBool,
}

/// `tokio::runtime::Handle`.
#[derive(Clone)]
pub struct Handle(Arc<Tasks>);

/// `tokio::runtime::EnterGuard`.
pub struct EnterGuard<'a>(std::marker::PhantomData<(&'a Handle, *const ())>);

/// `tokio::runtime::TryCurrentError`: there is no runtime.
#[derive(Debug)]
pub struct TryCurrentError(());

impl fmt::Display for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no reactor running, must be called from the context of a Tokio 1.x runtime")
    }
}

impl std::error::Error for TryCurrentError {}

/// Runs a future in a runtime of its own, which is dropped then: what `#[fabius_tokio::test]` does in every execution.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let at = Location::caller();
    let runtime = Runtime::here();
    let output = runtime.handle.block(future, at);
    runtime.shut(Wait::Always, at);
    output
}

impl Runtime {
    #[track_caller]
    fn here() -> Runtime {
        must_be_inside();
        Runtime { handle: Handle(Arc::new(Tasks::new())), is_shut_down: AtomicBool::new(false) }
    }

    /// As in tokio.
    ///
    /// # Errors
    /// None.
    #[track_caller]
    pub fn new() -> io::Result<Runtime> {
        Ok(Runtime::here())
    }

    /// As in tokio.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// As in tokio.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.block(future, Location::caller())
    }

    /// As in tokio.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// As in tokio.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking(f)
    }

    /// As in tokio.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// As in tokio, in virtual time.
    #[track_caller]
    pub fn shutdown_timeout(self, limit: Duration) {
        self.shut(Wait::AtMost(limit), Location::caller());
    }

    /// As in tokio.
    #[track_caller]
    pub fn shutdown_background(self) {
        self.shut(Wait::No, Location::caller());
    }

    fn shut(&self, wait: Wait, at: At) {
        if !self.is_shut_down.swap(true, Relaxed) {
            self.handle.0.shut_down(wait, at);
        }
    }
}

impl Drop for Runtime {
    #[track_caller]
    fn drop(&mut self) {
        self.shut(Wait::Always, Location::caller());
    }
}

impl Handle {
    /// As in tokio.
    ///
    /// # Panics
    /// If there is no runtime.
    #[track_caller]
    pub fn current() -> Handle {
        must_be_inside();
        match Handle::try_current() {
            Ok(handle) => handle,
            Err(error) => panic!("{error}"),
        }
    }

    /// As in tokio.
    ///
    /// # Errors
    /// If there is no runtime.
    pub fn try_current() -> Result<Handle, TryCurrentError> {
        Tasks::current().map(Handle).ok_or(TryCurrentError(()))
    }

    #[track_caller]
    fn block<F: Future>(&self, future: F, at: At) -> F::Output {
        must_be_inside();
        let _entered = self.enter();
        executor::block_on(future, at)
    }

    /// As in tokio.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.block(future, Location::caller())
    }

    /// As in tokio.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        join::start(&self.0, Location::caller(), |task| move || task.run(future, Abortable::Yes))
    }

    /// As in tokio: a thread of its own.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        join::start(&self.0, Location::caller(), |task| {
            move || {
                task.thread.store(extend::me(), Relaxed);
                let aborted = task.is_aborted("begin");
                (!aborted).then(f)
            }
        })
    }

    /// As in tokio.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.0.enter();
        EnterGuard(std::marker::PhantomData)
    }
}

impl Drop for EnterGuard<'_> {
    fn drop(&mut self) {
        Tasks::leave();
    }
}

/// `tokio::runtime::Builder`: whatever it is told, all interleavings are explored, and time is virtual.
#[derive(Debug)]
pub struct Builder(());

impl Builder {
    /// As in tokio.
    pub fn new_multi_thread() -> Builder {
        Builder(())
    }

    /// As in tokio, but tasks interleave at every operation.
    pub fn new_current_thread() -> Builder {
        Builder(())
    }

    /// As in tokio.
    pub fn enable_all(&mut self) -> &mut Builder {
        self
    }

    /// As in tokio.
    pub fn enable_time(&mut self) -> &mut Builder {
        self
    }

    /// Changes nothing.
    pub fn worker_threads(&mut self, _: usize) -> &mut Builder {
        self
    }

    /// Changes nothing.
    pub fn max_blocking_threads(&mut self, _: usize) -> &mut Builder {
        self
    }

    /// Changes nothing.
    pub fn thread_name(&mut self, _: impl Into<String>) -> &mut Builder {
        self
    }

    /// Changes nothing: time is always virtual.
    pub fn start_paused(&mut self, _: bool) -> &mut Builder {
        self
    }

    /// As in tokio.
    ///
    /// # Errors
    /// None.
    #[track_caller]
    pub fn build(&mut self) -> io::Result<Runtime> {
        Ok(Runtime::here())
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl fmt::Debug for EnterGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnterGuard").finish_non_exhaustive()
    }
}
