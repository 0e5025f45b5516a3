//! Tasks are threads that poll: how a future is run, woken, and given up.

use crate::awaited::{self, Held};
use crate::monitor::{At, must_be_inside};
use fabius::extend::{self, Holding, Left, Resource};
use fabius::time::Instant;
use std::cell::RefCell;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// How far a task is. Who wakes it or asks it to end comes before what it does from there on, and its end before who learns of that:
/// not who has woken it in vain.
#[derive(Default)]
pub(crate) struct Progress {
    woken: bool,
    /// It is to end where it waits next.
    pub aborted: bool,
    /// It has left its result.
    pub ended: Option<Left>,
    /// Nobody will ask for the result.
    pub detached: bool,
    /// Who waits for the result.
    pub waiting: Option<Waker>,
    /// The permits that it waits for, if it does for such.
    awaits: Mutex<Option<Arc<Held>>>,
}

impl Progress {
    fn awaits(&self) -> std::sync::MutexGuard<'_, Option<Arc<Held>>> {
        self.awaits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl extend::State for Progress {
    fn holders(&self) -> Vec<Holding> {
        self.awaits().as_ref().map_or_else(Vec::new, |held| held.holdings())
    }
}

/// A future that a thread polls.
pub(crate) struct Task {
    pub progress: Resource<Progress>,
    /// The thread, once it runs.
    pub thread: AtomicUsize,
    /// Who has got its result, and so knows that it has ended.
    pub joined_by: AtomicUsize,
    /// It has woken itself since it was polled.
    woke_itself: AtomicBool,
    pub at: At,
}

/// No thread.
pub(crate) const NOBODY: usize = usize::MAX;

impl Task {
    pub fn new(at: At) -> Arc<Task> {
        Arc::new(Task {
            progress: Resource::unordered(Progress::default()),
            thread: AtomicUsize::new(NOBODY),
            joined_by: AtomicUsize::new(NOBODY),
            woke_itself: AtomicBool::new(false),
            at,
        })
    }

    /// Asks it to end.
    pub fn abort(&self, at: At) {
        self.progress.change("abort", at, |progress| {
            self.progress.comes_before();
            progress.aborted = true;
        });
    }

    /// Whether it has ended, which comes after what it has done; inside of an operation on its progress.
    pub fn has_ended(&self, progress: &Progress) -> bool {
        progress.ended.into_iter().for_each(|left| self.progress.takes(left));
        progress.ended.is_some()
    }

    /// Whether somebody has asked it to end: a scheduling point.
    pub fn is_aborted(&self, name: &'static str) -> bool {
        self.progress.asks(name, self.at, |progress| progress.aborted) == Some(true)
    }

    /// Runs the future on this thread; `None` if the task is aborted before that has ended. A task is dropped with what it
    /// owns before this returns.
    pub fn run<F: Future>(self: &Arc<Task>, future: F, abortable: Abortable) -> Option<F::Output> {
        self.thread.store(extend::me(), Relaxed);
        let waker = Waker::from(self.clone());
        // Not on the stack, which may be given back without running destructors: what is pinned stays where it is until then.
        let mut future = Box::pin(future);
        if abortable == Abortable::Yes && self.is_aborted("begin") {
            return None;
        }
        loop {
            awaited::take();
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Some(value);
            }
            if self.waits(&waker, abortable) {
                return None;
            }
        }
    }

    /// Waits until it is woken, or the next timer is due. Says whether it is to end.
    fn waits(&self, waker: &Waker, abortable: Abortable) -> bool {
        if self.woke_itself.swap(false, Relaxed) {
            fabius::thread::yield_now();
            return abortable == Abortable::Yes && self.is_aborted("go on");
        }
        let awaited = awaited::take();
        let (name, at) = awaited.as_ref().map_or(("wait to be woken", self.at), |awaited| (awaited.name, awaited.at));
        let held = awaited.and_then(|awaited| awaited.held);
        self.progress.peek(|progress| {
            let mut awaits = progress.awaits();
            if held.is_some() || awaits.is_some() {
                *awaits = held;
            }
        });
        let aborted = self.progress.when(
            name,
            at,
            |progress| progress.woken || progress.aborted,
            next_timer(),
            |progress| {
                self.progress.comes_after();
                progress.woken = false;
                progress.aborted
            },
        );
        fire_timers(waker);
        aborted == Some(true)
    }
}

/// Runs a future that nobody can abort.
pub(crate) fn block_on<F: Future>(future: F, at: At) -> F::Output {
    Task::new(at).run(future, Abortable::No).expect("nobody can abort it")
}

/// The thread waits for what tasks await.
#[track_caller]
pub(crate) fn wait_for<F: Future>(future: F) -> F::Output {
    must_be_inside();
    block_on(future, Location::caller())
}

/// Whether somebody may ask it to end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Abortable {
    Yes,
    No,
}

impl Wake for Task {
    fn wake(self: Arc<Task>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Task>) {
        if !extend::is_inside() {
            return;
        }
        if self.thread.load(Relaxed) == extend::me() {
            self.woke_itself.store(true, Relaxed);
        } else {
            self.progress.change("wake", self.at, |progress| {
                self.progress.comes_before();
                progress.woken = true;
            });
        }
    }
}

/// Something that is due at some time, on the thread that polled it.
pub(crate) struct Timer {
    pub due: Instant,
    pub thread: usize,
    waker: Mutex<Option<Waker>>,
}

impl Timer {
    /// Registers what this thread waits for.
    pub fn new(due: Instant, waker: &Waker) -> Arc<Timer> {
        let timer = Arc::new(Timer { due, thread: extend::me(), waker: Mutex::new(Some(waker.clone())) });
        TIMERS.with(|timers| timers.borrow_mut().push(timer.clone()));
        timer
    }

    /// Wakes this one instead, or nobody.
    pub fn set(&self, waker: Option<&Waker>) {
        let before = std::mem::replace(&mut *self.lock(), waker.cloned());
        drop(before);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fabius::thread_local! {
    static TIMERS: RefCell<Vec<Arc<Timer>>> = RefCell::default();
}

fn next_timer() -> Option<Instant> {
    TIMERS.with(|timers| {
        let mut timers = timers.borrow_mut();
        timers.retain(|timer| timer.lock().is_some());
        timers.iter().map(|timer| timer.due).min()
    })
}

/// Wakes what is due. The task itself is about to be polled.
fn fire_timers(me: &Waker) {
    let now = Instant::now();
    let due = TIMERS.with(|timers| timers.borrow_mut().extract_if(.., |timer| timer.due <= now).collect::<Vec<_>>());
    for timer in due {
        let waker = timer.lock().take();
        if let Some(waker) = waker.filter(|waker| !waker.will_wake(me)) {
            waker.wake();
        }
    }
}

/// A future that once lets others go on.
pub(crate) struct GiveWay(pub bool);

impl Future for GiveWay {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
