//! A small executor under the scheduler: tasks are threads that poll, and waking is like `unpark`.
//!
//! To poll a task or its handle is a step; least costs count these. The end of a task comes before who learns of it, and who
//! aborts a task before its end by that: nothing else that is done to a task orders anything.

use crate::extend::{Left, Resource, State};
use crate::rt::{self, Object, Op, Refine, Rt};
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// What a waker wakes.
struct Signal {
    object: Object,
    woken: AtomicBool,
    /// The thread that waits outside of an execution.
    outside: Option<std::thread::Thread>,
}

impl Wake for Signal {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        rt::point(Op::write("wake", self.object.id(), Location::caller()).ordered());
        if !rt::current().is_null() {
            rt::comes_before(self.object.id());
        }
        self.woken.store(true, Ordering::Release);
        if let Some(thread) = &self.outside {
            thread.unpark();
        }
    }
}

unsafe fn is_woken(signal: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Signal`.
    unsafe { (*signal.cast::<Signal>()).woken.load(Ordering::Acquire) }
}

/// Runs a future to its end on the current thread.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let at = Location::caller();
    let outside = rt::current().is_null().then(std::thread::current);
    let signal = Arc::new(Signal { object: Object::new(), woken: AtomicBool::new(false), outside });
    let waker = Waker::from(signal.clone());
    // Not on the stack, which may be given back without running destructors: what is pinned stays where it is until then.
    let mut future = Box::pin(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        if signal.outside.is_some() {
            while !signal.woken.swap(false, Ordering::Acquire) {
                std::thread::park();
            }
            continue;
        }
        rt::point(Op::write("wait to be woken", signal.object.id(), at).when(&*signal, is_woken).ordered());
        rt::comes_after(signal.object.id());
        signal.woken.store(false, Ordering::Relaxed);
    }
}

/// How far a task is.
#[derive(Default)]
struct Progress {
    /// It is to end where it waits next.
    aborted: bool,
    /// It has left its result.
    ended: Option<Left>,
    /// Whether nobody will ask for the result.
    detached: bool,
    /// Who waits for the result.
    waiting: Option<Waker>,
    task: Option<Waker>,
}

impl State for Progress {}

struct Shared<T> {
    progress: Resource<Progress>,
    /// Of std: locked for a moment only, inside of an operation on the progress.
    result: Mutex<Option<Result<T, JoinError>>>,
    /// Where the task was spawned.
    at: &'static Location<'static>,
}

impl<T> Shared<T> {
    fn result(&self) -> MutexGuard<'_, Option<Result<T, JoinError>>> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the task has ended, which comes after what it has done; inside of an operation on its progress.
    fn has_ended(&self, progress: &Progress) -> bool {
        progress.ended.into_iter().for_each(|left| self.progress.takes(left));
        progress.ended.is_some()
    }

    /// Whether the task is to end; if not, that wakes it from now on.
    fn is_aborted(&self, task: &Waker) -> bool {
        let waker = task.clone();
        let polled = self.progress.change("poll a task", self.at, |progress| {
            if progress.aborted {
                self.progress.comes_after();
                return (true, None);
            }
            (false, progress.task.replace(waker))
        });
        polled.is_some_and(|(aborted, _before)| aborted)
    }

    /// The task has ended.
    fn leave(&self, result: Result<T, JoinError>) {
        let mut result = Some(result);
        let left = self.progress.change("end of a task", self.at, |progress| {
            progress.ended = Some(self.progress.leaves());
            if !progress.detached {
                *self.result() = result.take();
            }
            (progress.task.take(), progress.waiting.take())
        });
        drop(result);
        if let Some((_task, Some(waker))) = left {
            waker.wake();
        }
    }
}

/// A task that [`spawn`] has started; a future of its result. Dropping it leaves the task running.
pub struct JoinHandle<T> {
    shared: Arc<Shared<T>>,
    /// Whether it has given the result away.
    is_over: bool,
}

/// Why a task has no result.
#[derive(Debug)]
pub enum JoinError {
    /// It was aborted.
    Cancelled,
    /// It panicked with this.
    Panicked(Box<dyn Any + Send + 'static>),
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Cancelled => f.write_str("the task was cancelled"),
            JoinError::Panicked(payload) => write!(f, "the task panicked: {}", rt::text_of(payload.as_ref())),
        }
    }
}

impl std::error::Error for JoinError {}

/// Polls a future until it is ready or the task is aborted.
struct Abortable<F: Future> {
    future: Pin<Box<F>>,
    shared: Arc<Shared<F::Output>>,
}

impl<F: Future> Future for Abortable<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        if self.shared.is_aborted(cx.waker()) {
            return Poll::Ready(None);
        }
        self.future.as_mut().poll(cx).map(Some)
    }
}

/// Starts a task, on a thread of its own.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let progress = Resource::unordered(Progress::default());
    let shared = Arc::new(Shared { progress, result: Mutex::new(None), at: Location::caller() });
    let theirs = shared.clone();
    let task = move || {
        let abortable = Abortable { future: Box::pin(future), shared: theirs.clone() };
        let result = match crate::extend::catch(|| block_on(abortable)) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(JoinError::Cancelled),
            Err(payload) => {
                if crate::extend::tells(payload.as_ref()) {
                    rt::observe(Refine::RESULTS);
                }
                Err(JoinError::Panicked(payload))
            }
        };
        theirs.leave(result);
    };
    drop(crate::thread::spawn_here(task, None));
    JoinHandle { shared, is_over: false }
}

impl<T> JoinHandle<T> {
    /// Asks the task to end at its next `await`.
    #[track_caller]
    pub fn abort(&self) {
        let task = self.shared.progress.change("abort", Location::caller(), |progress| {
            self.shared.progress.comes_before();
            progress.aborted = true;
            progress.task.take()
        });
        if let Some(Some(task)) = task {
            task.wake();
        }
    }

    /// Whether the task has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        let look = |progress: &Progress| self.shared.has_ended(progress);
        self.shared.progress.look("is_finished", Location::caller(), look) == Some(true)
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (shared, waker) = (self.shared.clone(), cx.waker().clone());
        let polled = shared.progress.change("join a task", shared.at, |progress| match shared.has_ended(progress) {
            true => (shared.result().take(), Some(waker)),
            false => (None, progress.waiting.replace(waker)),
        });
        match polled {
            Some((Some(result), _waker)) => {
                self.is_over = true;
                Poll::Ready(result)
            }
            _ => Poll::Pending,
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    /// Drops the result of the task, if it has ended and the result can tell: then a scheduling point. Otherwise the task does.
    #[track_caller]
    fn drop(&mut self) {
        let goes_on = rt::with(|rt| !rt.abandoned) == Some(true);
        let may_tell = std::mem::needs_drop::<T>() || crate::extend::results_matter();
        if may_tell && !self.is_over && goes_on {
            let shared = &*self.shared;
            let result = shared.progress.change("drop a handle", Location::caller(), |progress| {
                progress.detached = true;
                shared.has_ended(progress);
                shared.result().take()
            });
            drop(result);
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Lets other tasks go on.
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        crate::thread::yield_now();
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A place for the waker of one task, as in the `futures` crate: to leave a waker and to take it are one step each.
pub struct AtomicWaker {
    object: Object,
    /// Of std: locked for a moment only, in which no code of the test runs.
    waker: Mutex<Option<Waker>>,
}

impl AtomicWaker {
    /// An empty place.
    #[track_caller]
    pub const fn new() -> AtomicWaker {
        AtomicWaker { object: Object::new(), waker: Mutex::new(None) }
    }

    /// Leaves a waker, in place of an earlier one.
    #[track_caller]
    pub fn register(&self, waker: &Waker) {
        let waker = waker.clone();
        let earlier = self.put("register", Some(waker), Location::caller());
        drop(earlier);
    }

    /// Leaves a waker, in place of an earlier one.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker);
    }

    /// Takes the waker and wakes the task, if there is one.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes the waker.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        self.put("take waker", None, Location::caller())
    }

    /// Says what was there.
    fn put(&self, name: &'static str, waker: Option<Waker>, at: &'static Location<'static>) -> Option<Waker> {
        rt::point(Op::write(name, self.object.id(), at));
        let mut there = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut there, waker)
    }
}

impl Default for AtomicWaker {
    #[track_caller]
    fn default() -> AtomicWaker {
        AtomicWaker::new()
    }
}

impl fmt::Debug for AtomicWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicWaker").finish_non_exhaustive()
    }
}
