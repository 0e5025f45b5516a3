//! A small executor under the scheduler: tasks are threads that poll.

pub mod batch_semaphore;

use crate::run;
use crate::scheduler::TaskId;
use fabius::thread::drive::{self, Signal};
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Wakes a task.
struct Alarm(Arc<Signal>);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // `fabius::check` must know of it; to a runner it is no step.
        if !run::is_active() {
            self.0.point("wake");
        }
        self.0.give();
    }
}

fn signal() -> Arc<Signal> {
    let of_task = drive::me().and_then(|me| run::with(|run| run.details.get(me).map(|d| d.signal.clone())));
    of_task.flatten().unwrap_or_default()
}

/// Polls until the future is ready.
#[track_caller]
fn poll_to_end<F: Future + ?Sized>(mut future: Pin<&mut F>, signal: &Arc<Signal>) -> F::Output {
    let waker = Waker::from(Arc::new(Alarm(signal.clone())));
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        signal.wait("wait to be woken");
    }
}

/// Polls until the future of a task is ready or the task is dropped.
#[track_caller]
fn poll_task<F: Future>(future: &mut Abortable<F>, signal: &Arc<Signal>) -> Option<F::Output> {
    let waker = Waker::from(Arc::new(Alarm(signal.clone())));
    while !run::is_cancelled() {
        if let Poll::Ready(value) = Pin::new(&mut *future).poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        run::set_parked(true);
        signal.wait("wait to be woken");
        run::set_parked(false);
    }
    None
}

/// Runs a future to its end on the current task.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let future = Box::pin(future);
    // The future is dropped when it is done, as in a task.
    let mut future = future;
    poll_to_end(future.as_mut(), &signal())
}

/// Why a task has no result.
#[derive(Debug)]
pub enum JoinError {
    /// It was aborted.
    Cancelled,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task was cancelled")
    }
}

impl std::error::Error for JoinError {}

#[derive(Debug)]
struct Shared<T> {
    result: Option<Result<T, JoinError>>,
    waker: Option<Waker>,
}

/// What the handles of a task know of it.
#[derive(Clone, Debug)]
struct Control {
    task: TaskId,
    aborted: Arc<AtomicBool>,
    signal: Arc<Signal>,
}

impl Control {
    #[track_caller]
    fn abort(&self) {
        self.signal.point("abort");
        if !self.aborted.swap(true, Ordering::Relaxed) {
            self.signal.give();
        }
    }

    fn is_finished(&self) -> bool {
        drive::has_finished(self.task.into())
    }
}

/// Aborts a task.
#[derive(Clone, Debug)]
pub struct AbortHandle(Control);

impl AbortHandle {
    /// A scheduling point; then asks the task to end at its next `await`.
    #[track_caller]
    pub fn abort(&self) {
        self.0.abort();
    }

    /// Whether the task has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

/// A task that was spawned; a future of its result. If it is dropped, the task is detached: the execution does not wait
/// for it to end.
#[derive(Debug)]
pub struct JoinHandle<T> {
    shared: Arc<Mutex<Shared<T>>>,
    control: Control,
}

impl<T> JoinHandle<T> {
    /// A scheduling point; then asks the task to end at its next `await`.
    #[track_caller]
    pub fn abort(&self) {
        self.control.abort();
    }

    /// Whether the task has ended.
    pub fn is_finished(&self) -> bool {
        self.control.is_finished()
    }

    /// Aborts the task from elsewhere.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(self.control.clone())
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        run::with(|run| {
            if let Some(details) = run.details.get_mut(usize::from(self.control.task)) {
                details.detached = true;
            }
        });
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if !run::is_active() {
            self.control.signal.point("look for the result");
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        match shared.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                shared.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Ends with nothing when the task is aborted.
struct Abortable<F: Future> {
    future: Pin<Box<F>>,
    aborted: Arc<AtomicBool>,
}

impl<F: Future> Future for Abortable<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.aborted.load(Ordering::Relaxed) {
            return Poll::Ready(None);
        }
        self.future.as_mut().poll(cx).map(Some)
    }
}

/// Gives the result away, also if the task is dropped without one.
struct Publish<T>(Arc<Mutex<Shared<T>>>);

impl<T> Publish<T> {
    fn publish(&self, result: Result<T, JoinError>) {
        let unread = Arc::strong_count(&self.0) == 1;
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = if unread { Some(result) } else { shared.result.replace(result) };
        let waker = shared.waker.take();
        drop(shared);
        drop(kept);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

fn start<F>(future: F, at: &'static Location<'static>) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    run::before_spawn(None, at);
    let signal = run::with(|run| run.details.last().map(|d| d.signal.clone()))
        .flatten()
        .unwrap_or_else(|| Arc::new(Signal::new()));
    let shared = Arc::new(Mutex::new(Shared { result: None, waker: None }));
    let aborted = Arc::new(AtomicBool::new(false));
    let publish = Publish(shared.clone());
    let (theirs, their_signal) = (aborted.clone(), signal.clone());
    let abortable = Abortable { future: Box::pin(future), aborted: theirs };
    let task = drive::spawn(move || {
        let mut abortable = abortable;
        run::body(move || {
            if !run::is_active() {
                their_signal.point("begin");
            }
            let result = poll_task(&mut abortable, &their_signal).ok_or(JoinError::Cancelled);
            drop(abortable);
            publish.publish(result);
        });
    });
    JoinHandle { shared, control: Control { task: task.into(), aborted, signal } }
}

/// Spawns a task: a scheduling point.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    start(future, Location::caller())
}

/// Spawns a task that need not be `Send`: a scheduling point.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    start(future, Location::caller())
}

/// Lets other tasks go on.
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        if run::with(|run| run.yields = true).is_none() {
            fabius::thread::yield_now();
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
