//! Futures.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Waker;

/// Runs a future to its end on the current thread. As in loom it may be polled once without having been woken, which the search
/// tries each time that it waits.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    fabius::future::block_on(async move {
        let mut future = pin!(future);
        let mut was_polled_for_no_reason = false;
        poll_fn(|cx| {
            let mut result = future.as_mut().poll(cx);
            if result.is_pending() && !was_polled_for_no_reason && fabius::any_bool() {
                was_polled_for_no_reason = true;
                fabius::thread::yield_now();
                result = future.as_mut().poll(cx);
            }
            result
        })
        .await
    })
}

/// loom's `AtomicWaker`, which takes the waker by value.
#[derive(Debug, Default)]
pub struct AtomicWaker(fabius::future::AtomicWaker);

impl AtomicWaker {
    /// An empty place.
    #[track_caller]
    pub fn new() -> AtomicWaker {
        AtomicWaker(fabius::future::AtomicWaker::new())
    }

    /// Leaves a waker, in place of an earlier one.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        self.0.register(&waker);
    }

    /// Leaves a waker, in place of an earlier one.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.0.register(waker);
    }

    /// Takes the waker and wakes the task, if there is one.
    #[track_caller]
    pub fn wake(&self) {
        self.0.wake();
    }

    /// Takes the waker.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        self.0.take_waker()
    }
}
