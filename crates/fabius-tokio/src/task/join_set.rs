//! Several tasks with results of one type.

use super::error::JoinError;
use super::join::{AbortHandle, JoinHandle};
use crate::runtime::Handle;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::task::{Context, Poll};

/// As in tokio. Of several tasks that have ended, the search tries each as the next one.
pub struct JoinSet<T>(Vec<JoinHandle<T>>);

impl<T: Send + 'static> JoinSet<T> {
    /// As in tokio.
    #[track_caller]
    pub fn spawn<F: Future<Output = T> + Send + 'static>(&mut self, task: F) -> AbortHandle {
        self.spawn_on(task, &Handle::current())
    }

    /// As in tokio.
    #[track_caller]
    pub fn spawn_on<F: Future<Output = T> + Send + 'static>(&mut self, task: F, handle: &Handle) -> AbortHandle {
        self.add(handle.spawn(task))
    }

    /// As in tokio.
    #[track_caller]
    pub fn spawn_blocking<F: FnOnce() -> T + Send + 'static>(&mut self, f: F) -> AbortHandle {
        self.add(Handle::current().spawn_blocking(f))
    }
}

impl<T> JoinSet<T> {
    /// As in tokio.
    pub const fn new() -> JoinSet<T> {
        JoinSet(Vec::new())
    }

    /// As in tokio.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// As in tokio.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        self.0.push(handle);
        abort
    }
}

impl<T: 'static> JoinSet<T> {
    /// One of those that have ended.
    fn take(&mut self, cx: Option<&Context<'_>>, at: crate::monitor::At) -> Option<Result<T, JoinError>> {
        let done: Vec<usize> = (0..self.0.len()).filter(|n| self.0[*n].is_ready(cx, at)).collect();
        let chosen = match done.len() {
            0 => return None,
            count => done[fabius::any(count as u32) as usize],
        };
        Some(self.0.remove(chosen).result())
    }

    /// As in tokio. It may be cancelled, and no task is lost.
    #[track_caller]
    pub fn join_next(&mut self) -> impl Future<Output = Option<Result<T, JoinError>>> + '_ {
        let at = Location::caller();
        poll_fn(move |cx| self.poll_at(cx, at))
    }

    /// As in tokio.
    #[track_caller]
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_at(cx, Location::caller())
    }

    fn poll_at(&mut self, cx: &Context<'_>, at: crate::monitor::At) -> Poll<Option<Result<T, JoinError>>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        self.take(Some(cx), at).map_or(Poll::Pending, |result| Poll::Ready(Some(result)))
    }

    /// As in tokio.
    #[track_caller]
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.take(None, Location::caller())
    }

    /// As in tokio.
    #[track_caller]
    pub fn abort_all(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }

    /// As in tokio.
    #[track_caller]
    pub fn shutdown(&mut self) -> impl Future<Output = ()> + '_ {
        let at = Location::caller();
        async move {
            self.0.iter().for_each(|handle| handle.abort_at(at));
            while self.join_next().await.is_some() {}
        }
    }

    /// As in tokio.
    ///
    /// # Panics
    /// If a task panicked or was cancelled.
    pub async fn join_all(mut self) -> Vec<T> {
        let mut results = Vec::new();
        while let Some(result) = self.join_next().await {
            match result {
                Ok(value) => results.push(value),
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(error) => panic!("{error}"),
            }
        }
        results
    }

    /// As in tokio.
    pub fn detach_all(&mut self) {
        self.0.clear();
    }
}

impl<T> Drop for JoinSet<T> {
    /// As in tokio: aborts all tasks.
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> JoinSet<T> {
        JoinSet::new()
    }
}

impl<T: Send + 'static, F: Future<Output = T> + Send + 'static> Extend<F> for JoinSet<T> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = F>>(&mut self, tasks: I) {
        for task in tasks {
            self.spawn(task);
        }
    }
}

impl<T: Send + 'static, F: Future<Output = T> + Send + 'static> FromIterator<F> for JoinSet<T> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = F>>(tasks: I) -> JoinSet<T> {
        let mut set = JoinSet::new();
        set.extend(tasks);
        set
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len()).finish()
    }
}
