//! Starting a task, and waiting for its result.

use super::error::JoinError;
use crate::executor::{NOBODY, Task};
use crate::monitor::At;
use crate::tasks::Tasks;
use fabius::extend;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

/// What a task leaves.
struct Packet<T> {
    task: Arc<Task>,
    result: Mutex<Option<Result<T, JoinError>>>,
}

/// As in tokio: dropping it leaves the task running.
pub struct JoinHandle<T>(Arc<Packet<T>>);

/// As in tokio.
#[derive(Clone)]
pub struct AbortHandle(Arc<Task>);

impl<T> Packet<T> {
    fn result(&self) -> std::sync::MutexGuard<'_, Option<Result<T, JoinError>>> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The task has ended.
    fn leave(&self, result: Result<T, JoinError>) {
        let mut result = Some(result);
        let waiting = self.task.progress.change("end of a task", self.task.at, |progress| {
            progress.ended = Some(self.task.progress.leaves());
            if !progress.detached {
                *self.result() = result.take();
            }
            progress.waiting.take()
        });
        if let Some(Some(waker)) = waiting {
            waker.wake();
        }
    }
}

/// Starts a task of the runtime on a thread of its own. What `body` makes returns nothing if the task is aborted.
#[track_caller]
pub(crate) fn start<T, B>(tasks: &Arc<Tasks>, at: At, body: impl FnOnce(Arc<Task>) -> B) -> JoinHandle<T>
where
    T: Send + 'static,
    B: FnOnce() -> Option<T> + 'static,
{
    crate::monitor::must_be_inside();
    let packet = Arc::new(Packet { task: Task::new(at), result: Mutex::new(None) });
    tasks.add(&packet.task, at);
    let (theirs, body, tasks) = (packet.clone(), body(packet.task.clone()), tasks.clone());
    let body = move || {
        tasks.enter();
        let result = match extend::catch(body) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(JoinError::cancelled()),
            Err(payload) => {
                if extend::tells(payload.as_ref()) {
                    extend::leaves_a_result();
                }
                Err(JoinError::panicked(payload))
            }
        };
        Tasks::leave();
        theirs.leave(result);
    };
    drop(fabius::thread::spawn_here(body, None));
    JoinHandle(packet)
}

impl<T> JoinHandle<T> {
    /// As in tokio: the task ends where it waits next, or before it begins.
    #[track_caller]
    pub fn abort(&self) {
        self.abort_at(Location::caller());
    }

    pub(super) fn abort_at(&self, at: At) {
        self.0.task.abort(at);
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        is_done(&self.0.task, Location::caller())
    }

    /// As in tokio.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(self.0.task.clone())
    }

    /// Whether the task has left its result; if not, that wakes this one. A scheduling point, which orders nothing.
    pub(crate) fn is_ready(&self, cx: Option<&Context<'_>>, at: At) -> bool {
        let waker = cx.map(|cx| cx.waker().clone());
        let changed = self.0.task.progress.change("join a task", at, |progress| match progress.ended {
            Some(_) => (None, true),
            None => (waker.and_then(|waker| progress.waiting.replace(waker)), false),
        });
        let (_before, done) = changed.expect("inside of an execution");
        done
    }

    /// The result, when it is ready. Who takes it comes after the end of the task.
    pub(crate) fn result(&self) -> Result<T, JoinError> {
        self.0.task.progress.peek(|progress| self.0.task.has_ended(progress));
        self.0.task.joined_by.store(extend::me(), Relaxed);
        self.0.result().take().expect("JoinHandle polled after completion")
    }
}

fn is_done(task: &Task, at: At) -> bool {
    task.progress.look("is_finished", at, |progress| task.has_ended(progress)) == Some(true)
}

impl AbortHandle {
    /// As in tokio.
    #[track_caller]
    pub fn abort(&self) {
        self.0.abort(Location::caller());
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        is_done(&self.0, Location::caller())
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.is_ready(Some(cx), self.0.task.at) { Poll::Ready(self.result()) } else { Poll::Pending }
    }
}

impl<T> Drop for JoinHandle<T> {
    #[track_caller]
    fn drop(&mut self) {
        // Who drops the result can be told only if something is done then.
        let may_tell = std::mem::needs_drop::<T>() || extend::results_matter();
        if may_tell && self.0.task.joined_by.load(Relaxed) == NOBODY && extend::is_inside() {
            let packet = &*self.0;
            let taken = packet.task.progress.change("drop a handle", Location::caller(), |progress| {
                progress.detached = true;
                packet.task.has_ended(progress);
                packet.result().take()
            });
            drop(taken);
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").finish_non_exhaustive()
    }
}
