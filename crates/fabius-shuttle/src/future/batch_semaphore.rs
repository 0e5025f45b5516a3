//! A semaphore of which several permits are taken at once, by tasks or by threads.

use crate::run;
use crate::sync::{ResourceSignature, ResourceType};
use fabius::thread::drive::{self, Signal};
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Who gets permits that become free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// Who waits the longest.
    StrictlyFair,
    /// Any of those that wait, or somebody who comes later.
    Unfair,
}

/// Why no permits were taken.
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are not enough.
    NoPermits,
}

/// The semaphore is closed.
#[derive(Debug)]
pub struct AcquireError(());

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("semaphore closed")
    }
}

impl std::error::Error for AcquireError {}

/// Where a request stands in the queue of a fair semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Priority {
    /// Behind all others.
    Back,
    /// Behind all others, and lets later ones pass while there is not enough for it.
    Bypassable,
    /// In front of all others.
    Front,
}

/// A request that waits.
#[derive(Debug)]
struct Waiter {
    permits: usize,
    /// How many must be free for it to go on: fewer if it then reserves the rest.
    least: usize,
    priority: Priority,
    queued: AtomicBool,
    granted: AtomicBool,
    waker: Mutex<Option<Waker>>,
    /// Who polled it last.
    task: Mutex<Option<usize>>,
}

/// Locks for a moment, in which no task gives control back.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Waiter {
    /// Nobody waits for it: the task that polled it last has finished.
    fn is_stale(&self) -> bool {
        lock(&self.task).is_some_and(drive::has_finished)
    }

    fn take_waker(&self) -> Option<Waker> {
        lock(&self.waker).take()
    }
}

#[derive(Debug)]
struct State {
    permits: usize,
    closed: bool,
    waiters: VecDeque<Arc<Waiter>>,
    /// Whom all free permits are kept for.
    reserved: Option<Arc<Waiter>>,
}

impl State {
    fn is_reserved(&self) -> bool {
        self.reserved.as_ref().is_some_and(|w| !w.is_stale())
    }

    fn available(&self) -> usize {
        if self.is_reserved() { 0 } else { self.permits }
    }

    /// Lets those go that nobody waits for.
    fn forget_stale(&mut self) {
        self.waiters.retain(|w| !w.is_stale() || !w.queued.swap(false, Relaxed));
        self.reserved.take_if(|w| w.is_stale());
    }

    fn try_take(&mut self, permits: usize, fairness: Fairness, priority: Priority) -> Result<(), TryAcquireError> {
        if self.closed {
            return Err(TryAcquireError::Closed);
        }
        self.forget_stale();
        let first = fairness == Fairness::Unfair
            || priority == Priority::Front
            || self.waiters.iter().all(|w| w.priority == Priority::Bypassable);
        if !first || self.available() < permits {
            return Err(TryAcquireError::NoPermits);
        }
        self.permits -= permits;
        Ok(())
    }

    /// Gives free permits away, or says whom to wake to try.
    fn serve(&mut self, fairness: Fairness) -> Vec<Waker> {
        self.forget_stale();
        match fairness {
            Fairness::Unfair => {
                if let Some(holder) = self.reserved.as_ref().filter(|w| self.permits >= w.permits) {
                    return holder.take_waker().into_iter().collect();
                }
                let available = self.available();
                let reserved = self.reserved.is_some();
                let able = self.waiters.iter().filter(|w| !reserved && w.least <= available);
                able.filter_map(|w| lock(&w.waker).clone()).collect()
            }
            Fairness::StrictlyFair => {
                let mut wakers = Vec::new();
                let mut next = 0;
                while let Some(waiter) = self.waiters.get(next) {
                    if waiter.permits <= self.permits {
                        self.permits -= waiter.permits;
                        waiter.granted.store(true, Relaxed);
                        waiter.queued.store(false, Relaxed);
                        wakers.extend(waiter.take_waker());
                        self.waiters.remove(next);
                    } else if waiter.priority == Priority::Bypassable {
                        next += 1;
                    } else {
                        break;
                    }
                }
                wakers
            }
        }
    }
}

fn wake(wakers: Vec<Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

/// A semaphore of which several permits are taken at once.
#[derive(Debug)]
pub struct BatchSemaphore {
    state: Mutex<State>,
    fairness: Fairness,
    signature: ResourceSignature,
    /// Stands for the semaphore at scheduling points.
    object: Signal,
}

impl BatchSemaphore {
    /// A semaphore with so many permits.
    #[track_caller]
    pub fn new(num_permits: usize, fairness: Fairness) -> BatchSemaphore {
        BatchSemaphore::new_with_signature(
            num_permits,
            fairness,
            ResourceSignature::numbered(ResourceType::BatchSemaphore),
        )
    }

    /// The same with a signature.
    #[track_caller]
    pub fn new_with_signature(num_permits: usize, fairness: Fairness, signature: ResourceSignature) -> BatchSemaphore {
        BatchSemaphore::const_new_with_signature(num_permits, fairness, signature)
    }

    /// A semaphore with so many permits, for statics.
    #[track_caller]
    pub const fn const_new(num_permits: usize, fairness: Fairness) -> BatchSemaphore {
        let signature = ResourceSignature::new_const(ResourceType::BatchSemaphore);
        BatchSemaphore::const_new_with_signature(num_permits, fairness, signature)
    }

    /// The same with a signature.
    #[track_caller]
    pub const fn const_new_with_signature(
        num_permits: usize,
        fairness: Fairness,
        signature: ResourceSignature,
    ) -> BatchSemaphore {
        let state = State { permits: num_permits, closed: false, waiters: VecDeque::new(), reserved: None };
        BatchSemaphore { state: Mutex::new(state), fairness, signature, object: Signal::new() }
    }

    /// What tells the semaphore apart in all executions.
    pub fn signature(&self) -> &ResourceSignature {
        &self.signature
    }

    /// How many permits are free; none while they are reserved.
    pub fn available_permits(&self) -> usize {
        lock(&self.state).available()
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// A scheduling point; then all requests fail, also those that wait.
    #[track_caller]
    pub fn close(&self) {
        self.object.point("close");
        self.close_no_scheduling_point();
    }

    /// The same without the scheduling point.
    pub fn close_no_scheduling_point(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        let waiting: Vec<_> = state.waiters.drain(..).collect();
        let reserved = state.reserved.take();
        drop(state);
        for waiter in waiting.iter().chain(&reserved) {
            waiter.queued.store(false, Relaxed);
            wake(waiter.take_waker().into_iter().collect());
        }
    }

    /// A scheduling point; then takes permits if there are enough.
    ///
    /// # Errors
    /// If not, or if the semaphore is closed.
    #[track_caller]
    pub fn try_acquire(&self, num_permits: usize) -> Result<(), TryAcquireError> {
        self.object.point("try_acquire");
        lock(&self.state).try_take(num_permits, self.fairness, Priority::Back)
    }

    /// A future that takes permits.
    pub fn acquire(&self, num_permits: usize) -> Acquire<'_> {
        Acquire::new(self, num_permits, Priority::Back, None)
    }

    /// The same, but while there is not enough for it, later requests go first.
    pub fn acquire_bypassable(&self, num_permits: usize) -> Acquire<'_> {
        Acquire::new(self, num_permits, Priority::Bypassable, None)
    }

    /// Takes permits; waits for them.
    ///
    /// # Errors
    /// If the semaphore is closed.
    #[track_caller]
    pub fn acquire_blocking(&self, num_permits: usize) -> Result<(), AcquireError> {
        super::block_on(self.acquire(num_permits))
    }

    /// A future that takes permits, and that keeps all others from taking any as soon as `min_permits` are free.
    ///
    /// # Panics
    /// If the semaphore is fair, or no permits are asked for, or more are needed to reserve than to be granted.
    pub fn acquire_reserving(&self, min_permits: usize, num_permits: usize) -> Acquire<'_> {
        assert_eq!(self.fairness, Fairness::Unfair, "only an unfair semaphore supports reservations");
        assert!(num_permits > 0 && min_permits <= num_permits, "a request reserves before it is granted");
        Acquire::new(self, num_permits, Priority::Back, Some(min_permits))
    }

    /// A scheduling point; then gives permits back.
    #[track_caller]
    pub fn release(&self, num_permits: usize) {
        /// Gives them back, also if the task is unwound at the point.
        struct GiveBack<'a>(&'a BatchSemaphore, usize);
        impl Drop for GiveBack<'_> {
            fn drop(&mut self) {
                self.0.give_back(self.1);
            }
        }
        let give_back = GiveBack(self, num_permits);
        self.object.point("release");
        drop(give_back);
    }

    fn give_back(&self, permits: usize) {
        if permits == 0 {
            return;
        }
        let mut state = lock(&self.state);
        state.permits += permits;
        let wakers = if drive::is_given_up() { Vec::new() } else { state.serve(self.fairness) };
        drop(state);
        wake(wakers);
    }

    /// A future that takes what is missing, in front of all others. There may be one at a time.
    ///
    /// # Panics
    /// If no permits are held, or no more are asked for.
    pub fn upgrade(&self, permits_currently_held: usize, permits_to_be_held: usize) -> Acquire<'_> {
        let missing = BatchSemaphore::missing(permits_currently_held, permits_to_be_held);
        match self.fairness {
            Fairness::StrictlyFair => Acquire::new(self, missing, Priority::Front, None),
            Fairness::Unfair => Acquire::new(self, missing, Priority::Back, Some(0)),
        }
    }

    /// A scheduling point; then takes what is missing if there is enough.
    ///
    /// # Errors
    /// If not, or if the semaphore is closed.
    ///
    /// # Panics
    /// If no permits are held, or no more are asked for.
    #[track_caller]
    pub fn try_upgrade(&self, permits_currently_held: usize, permits_to_be_held: usize) -> Result<(), TryAcquireError> {
        let missing = BatchSemaphore::missing(permits_currently_held, permits_to_be_held);
        self.object.point("try_upgrade");
        lock(&self.state).try_take(missing, self.fairness, Priority::Front)
    }

    fn missing(held: usize, to_be_held: usize) -> usize {
        assert!(held > 0 && to_be_held > held, "an upgrade adds to permits that are held");
        to_be_held - held
    }
}

impl Default for BatchSemaphore {
    #[track_caller]
    fn default() -> BatchSemaphore {
        BatchSemaphore::new(0, Fairness::StrictlyFair)
    }
}

/// A request for permits.
#[derive(Debug)]
pub struct Acquire<'a> {
    semaphore: &'a BatchSemaphore,
    reserves: bool,
    waiter: Arc<Waiter>,
    polled: bool,
    completed: bool,
}

impl<'a> Acquire<'a> {
    fn new(semaphore: &'a BatchSemaphore, permits: usize, priority: Priority, reserve_at: Option<usize>) -> Self {
        let waiter = Waiter {
            permits,
            least: reserve_at.unwrap_or(permits),
            priority,
            queued: AtomicBool::new(false),
            granted: AtomicBool::new(false),
            waker: Mutex::new(None),
            task: Mutex::new(None),
        };
        let reserves = reserve_at.is_some();
        Acquire { semaphore, reserves, waiter: Arc::new(waiter), polled: false, completed: false }
    }

    /// Whether the semaphore is reserved for this request.
    fn has_reserved(&self, state: &State) -> bool {
        state.reserved.as_ref().is_some_and(|w| Arc::ptr_eq(w, &self.waiter))
    }

    fn leave(&self, state: &mut State) {
        if self.waiter.queued.swap(false, Relaxed) {
            state.waiters.retain(|w| !Arc::ptr_eq(w, &self.waiter));
        }
    }

    fn enter(&self, state: &mut State) {
        if !self.waiter.queued.swap(true, Relaxed) {
            match self.waiter.priority {
                Priority::Front => state.waiters.push_front(self.waiter.clone()),
                _ => state.waiters.push_back(self.waiter.clone()),
            }
        }
    }

    /// Takes the permits, if that is possible now.
    fn attempt(&self, state: &mut State) -> (bool, Vec<Waker>) {
        let fairness = self.semaphore.fairness;
        if self.has_reserved(state) {
            if state.permits < self.waiter.permits {
                return (false, Vec::new());
            }
            state.permits -= self.waiter.permits;
            state.reserved = None;
            return (true, state.serve(fairness));
        }
        // A fair semaphore grants permits to those that wait when it gets them.
        let waits_its_turn = fairness == Fairness::StrictlyFair && self.waiter.queued.load(Relaxed);
        if !waits_its_turn && state.try_take(self.waiter.permits, fairness, self.waiter.priority).is_ok() {
            self.leave(state);
            return (true, Vec::new());
        }
        if self.reserves && state.reserved.is_none() && state.permits >= self.waiter.least {
            self.leave(state);
            state.reserved = Some(self.waiter.clone());
        } else {
            self.enter(state);
        }
        (false, Vec::new())
    }
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    #[track_caller]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.completed, "a request is polled after it was granted");
        let succeeds = {
            let state = lock(&self.semaphore.state);
            self.waiter.granted.load(Relaxed) || state.closed || state.available() >= self.waiter.least
        };
        // To wait for an unfair semaphore is no step: in which order tasks do cannot be told.
        let is_a_step = succeeds || self.semaphore.fairness == Fairness::StrictlyFair || !run::is_active();
        if !std::mem::replace(&mut self.polled, true) && is_a_step {
            self.semaphore.object.point("acquire");
        }
        *lock(&self.waiter.task) = drive::me();
        let mut state = lock(&self.semaphore.state);
        let mut result = Poll::Pending;
        let mut wakers = Vec::new();
        if self.waiter.granted.load(Relaxed) {
            result = Poll::Ready(Ok(()));
        } else if state.closed {
            result = Poll::Ready(Err(AcquireError(())));
        } else {
            let (taken, others) = self.attempt(&mut state);
            wakers = others;
            if taken {
                self.waiter.granted.store(true, Relaxed);
                result = Poll::Ready(Ok(()));
            }
        }
        drop(state);
        match &result {
            Poll::Ready(_) => self.completed = true,
            Poll::Pending => *lock(&self.waiter.waker) = Some(cx.waker().clone()),
        }
        wake(wakers);
        result
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        if self.completed {
            return;
        }
        if self.waiter.granted.load(Relaxed) {
            self.semaphore.release(self.waiter.permits);
            return;
        }
        let mut state = lock(&self.semaphore.state);
        let waited = self.waiter.queued.load(Relaxed) || self.has_reserved(&state);
        if self.has_reserved(&state) {
            state.reserved = None;
        }
        self.leave(&mut state);
        // What it stood in the way of.
        let wakers = if waited && !drive::is_given_up() { state.serve(self.semaphore.fairness) } else { Vec::new() };
        drop(state);
        wake(wakers);
    }
}

impl crate::annotations::WithName for BatchSemaphore {
    fn with_name_and_kind(self, _: Option<&str>, _: Option<&str>) -> Self {
        self
    }
}

impl crate::annotations::WithName for &BatchSemaphore {
    fn with_name_and_kind(self, _: Option<&str>, _: Option<&str>) -> Self {
        self
    }
}
