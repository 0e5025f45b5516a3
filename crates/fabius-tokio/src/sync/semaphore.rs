//! `Semaphore`.

use super::acquire::{HasPermits, Request, wake_all};
use super::permits::{Permits, Refused};
use crate::awaited::Held;
use crate::executor::wait_for;
use crate::monitor::{At, Monitor, Order, State};
use fabius::extend::Holding;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;

/// The permits, and how many there were at first.
pub(super) struct Counted {
    permits: Permits,
    first: usize,
    /// Who has them, once somebody had some.
    held: Option<Arc<Held>>,
}

impl State for Counted {
    fn renew(&mut self) {
        self.held = None;
        self.permits.renew(self.first);
    }
}

impl HasPermits for Counted {
    fn permits(&mut self) -> &mut Permits {
        &mut self.permits
    }

    fn held(&self) -> Option<Arc<Held>> {
        self.held.clone()
    }
}

impl Counted {
    pub const fn new(permits: usize) -> Counted {
        Counted { permits: Permits::new(permits), first: permits, held: None }
    }

    /// The current thread has taken so many.
    pub fn takes(&mut self, count: usize, at: At) -> Holding {
        self.held.get_or_insert_default().takes(count, at)
    }

    /// So many that were taken so are given back. Returns whom to wake.
    pub fn gives(&mut self, count: usize, taken: Holding, order: &Order) -> Vec<Waker> {
        if let Some(held) = &self.held {
            held.gives(count, taken);
        }
        self.permits.give(count, order)
    }
}

/// As in tokio: first come, first served.
pub struct Semaphore(Monitor<Counted>);

/// As in tokio: the semaphore is closed.
#[derive(Debug, PartialEq, Eq)]
pub struct AcquireError(());

/// As in tokio.
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// It is closed.
    Closed,
    /// There are too few now.
    NoPermits,
}

/// As in tokio.
#[must_use]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: usize,
    taken: Holding,
}

/// As in tokio.
#[must_use]
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
    taken: Holding,
}

impl Semaphore {
    /// As in tokio.
    pub const MAX_PERMITS: usize = usize::MAX >> 3;

    /// As in tokio.
    ///
    /// # Panics
    /// If there are more than `MAX_PERMITS`.
    #[track_caller]
    pub const fn new(permits: usize) -> Semaphore {
        assert!(permits <= Semaphore::MAX_PERMITS, "a semaphore may not have more than MAX_PERMITS permits");
        Semaphore(Monitor::new(Counted::new(permits)))
    }

    /// As in tokio.
    #[track_caller]
    pub const fn const_new(permits: usize) -> Semaphore {
        Semaphore::new(permits)
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        self.0.look("available_permits", Location::caller(), |state| state.permits.available())
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn add_permits(&self, permits: usize) {
        self.give(permits, "add_permits", Location::caller(), None);
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn forget_permits(&self, permits: usize) -> usize {
        self.0.step("forget_permits", Location::caller(), |state, _| state.permits.forget(permits))
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn close(&self) {
        wake_all(self.0.step("close", Location::caller(), |state, order| state.permits.close(order)));
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.0.asks("is_closed", Location::caller(), |state, order| state.permits.finds_closed(order))
    }

    /// There are so many more, or so many are given back that were taken so.
    fn give(&self, permits: usize, name: &'static str, at: At, taken: Option<Holding>) {
        let too_many = |state: &Counted| permits > Semaphore::MAX_PERMITS - state.permits.available();
        let give = |state: &mut Counted, order: &Order| match taken {
            Some(taken) => state.gives(permits, taken, order),
            None => state.permits.give(permits, order),
        };
        let wake = self.0.step(name, at, |state, order| (!too_many(state)).then(|| give(state, order)));
        wake_all(wake.expect("a semaphore may not have more than MAX_PERMITS permits"));
    }

    async fn get(&self, permits: usize, name: &'static str, at: At) -> Result<Holding, AcquireError> {
        let mut request = Request::new(&self.0, name, at, permits).called("wait for permits");
        poll_fn(|cx| request.poll(cx, |state, _| state.takes(permits, at))).await.ok_or(AcquireError(()))
    }

    /// What was taken so by one permit belongs to another one now.
    fn merge(&self, permits: usize, from: Holding, to: Holding) {
        self.0.peek(|state| {
            if let Some(held) = &state.held {
                held.merges(permits, from, to);
            }
        });
    }

    /// As in tokio. To drop the future is to leave the queue.
    #[track_caller]
    pub fn acquire(&self) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> + Send {
        self.acquire_at(1, Location::caller())
    }

    /// As in tokio. To drop the future is to leave the queue.
    #[track_caller]
    pub fn acquire_many(&self, n: u32) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> + Send {
        self.acquire_at(n as usize, Location::caller())
    }

    async fn acquire_at(&self, permits: usize, at: At) -> Result<SemaphorePermit<'_>, AcquireError> {
        let taken = self.get(permits, "acquire", at).await?;
        Ok(SemaphorePermit { semaphore: self, permits, taken })
    }

    /// As in tokio. To drop the future is to leave the queue.
    #[track_caller]
    pub fn acquire_owned(self: Arc<Self>) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send {
        self.acquire_owned_at(1, Location::caller())
    }

    /// As in tokio. To drop the future is to leave the queue.
    #[track_caller]
    pub fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send {
        self.acquire_owned_at(n as usize, Location::caller())
    }

    async fn acquire_owned_at(self: Arc<Self>, permits: usize, at: At) -> Result<OwnedSemaphorePermit, AcquireError> {
        let taken = self.get(permits, "acquire", at).await?;
        Ok(OwnedSemaphorePermit { semaphore: self, permits, taken })
    }

    /// As in tokio: the thread waits.
    #[track_caller]
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        wait_for(self.acquire())
    }

    /// As in tokio: the thread waits.
    #[track_caller]
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        wait_for(self.acquire_many(n))
    }

    /// As in tokio: the thread waits.
    #[track_caller]
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        wait_for(self.acquire_owned())
    }

    /// As in tokio: the thread waits.
    #[track_caller]
    pub fn blocking_acquire_many_owned(self: Arc<Self>, n: u32) -> Result<OwnedSemaphorePermit, AcquireError> {
        wait_for(self.acquire_many_owned(n))
    }

    #[track_caller]
    fn try_get(&self, permits: usize, at: At) -> Result<Holding, TryAcquireError> {
        let mut refused = None;
        let got = self.0.attempt("try_acquire", at, |state, order| {
            state.permits.try_take(permits, order).map_err(|why| refused = Some(why)).ok()?;
            Some(state.takes(permits, at))
        });
        match (got, refused) {
            (Some(taken), _) => Ok(taken),
            (None, Some(Refused::Closed)) => Err(TryAcquireError::Closed),
            (None, _) => Err(TryAcquireError::NoPermits),
        }
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        let taken = self.try_get(n as usize, Location::caller())?;
        Ok(SemaphorePermit { semaphore: self, permits: n as usize, taken })
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn try_acquire_many_owned(self: Arc<Self>, n: u32) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        let taken = self.try_get(n as usize, Location::caller())?;
        Ok(OwnedSemaphorePermit { semaphore: self, permits: n as usize, taken })
    }
}

impl<'a> SemaphorePermit<'a> {
    /// As in tokio.
    pub fn semaphore(&self) -> &'a Semaphore {
        self.semaphore
    }

    /// As in tokio.
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// As in tokio.
    pub fn num_permits(&self) -> usize {
        self.permits
    }

    /// As in tokio.
    ///
    /// # Panics
    /// If they are of different semaphores.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(std::ptr::eq(self.semaphore, other.semaphore), "merging permits from different semaphore instances");
        let more = std::mem::take(&mut other.permits);
        self.semaphore.merge(more, other.taken, self.taken);
        self.permits += more;
    }

    /// As in tokio.
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(SemaphorePermit { semaphore: self.semaphore, permits: n, taken: self.taken })
    }
}

impl OwnedSemaphorePermit {
    /// As in tokio.
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// As in tokio.
    pub fn num_permits(&self) -> usize {
        self.permits
    }

    /// As in tokio.
    ///
    /// # Panics
    /// If they are of different semaphores.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(Arc::ptr_eq(&self.semaphore, &other.semaphore), "merging permits from different semaphore instances");
        let more = std::mem::take(&mut other.permits);
        self.semaphore.merge(more, other.taken, self.taken);
        self.permits += more;
    }

    /// As in tokio.
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(OwnedSemaphorePermit { semaphore: self.semaphore.clone(), permits: n, taken: self.taken })
    }

    /// As in tokio.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }
}

impl Drop for SemaphorePermit<'_> {
    #[track_caller]
    fn drop(&mut self) {
        if self.permits > 0 {
            self.semaphore.give(self.permits, "drop a permit", Location::caller(), Some(self.taken));
        }
    }
}

impl Drop for OwnedSemaphorePermit {
    #[track_caller]
    fn drop(&mut self) {
        if self.permits > 0 {
            self.semaphore.give(self.permits, "drop a permit", Location::caller(), Some(self.taken));
        }
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").finish_non_exhaustive()
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("semaphore closed")
    }
}

impl std::error::Error for AcquireError {}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => "semaphore closed",
            TryAcquireError::NoPermits => "no permits available",
        })
    }
}

impl std::error::Error for TryAcquireError {}
