//! A mutex for tasks: who cannot have it leaves a waker.
//!
//! Run it: `cargo run -p fabius --example async_mutex`

use fabius::future::{block_on, spawn};
use fabius::sync::Mutex;
use fabius::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// What may be wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Nothing.
    None,
    /// The waker is left after the look at the lock, and nobody looks again.
    WakerTooLate,
    /// The lock is tested and then set.
    TestThenSet,
}

/// The mutex.
pub struct AsyncMutex {
    locked: AtomicBool,
    waiting: Mutex<VecDeque<Waker>>,
    bug: Bug,
}

impl AsyncMutex {
    /// A free mutex.
    pub fn new(bug: Bug) -> AsyncMutex {
        AsyncMutex { locked: AtomicBool::new(false), waiting: Mutex::new(VecDeque::new()), bug }
    }

    fn try_lock(&self) -> bool {
        if self.bug == Bug::TestThenSet {
            let free = !self.locked.load(SeqCst);
            if free {
                self.locked.store(true, SeqCst);
            }
            return free;
        }
        !self.locked.swap(true, SeqCst)
    }

    /// Waits for the lock.
    pub async fn lock(&self) {
        poll_fn(|cx| {
            if self.try_lock() {
                return Poll::Ready(());
            }
            self.waiting.lock().unwrap().push_back(cx.waker().clone());
            // It may have been released before the waker was there.
            if self.bug != Bug::WakerTooLate && self.try_lock() {
                // Otherwise `unlock` would wake this task in place of one that waits.
                self.waiting.lock().unwrap().retain(|waker| !waker.will_wake(cx.waker()));
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
    }

    /// Gives the lock back.
    pub fn unlock(&self) {
        self.locked.store(false, SeqCst);
        let next = self.waiting.lock().unwrap().pop_front();
        if let Some(waker) = next {
            waker.wake();
        }
    }
}

/// Two tasks add one twice each, in two steps, under the lock.
pub fn scenario(bug: Bug) {
    let shared = Arc::new((AsyncMutex::new(bug), AtomicU32::new(0)));
    let add = |shared: Arc<(AsyncMutex, AtomicU32)>| async move {
        for _ in 0..2 {
            shared.0.lock().await;
            let value = shared.1.load(SeqCst);
            shared.1.store(value + 1, SeqCst);
            shared.0.unlock();
        }
    };
    let other = spawn(add(shared.clone()));
    block_on(async {
        add(shared.clone()).await;
        other.await.unwrap();
    });
    assert_eq!(shared.1.load(SeqCst), 4, "an addition is lost");
}

fn main() {
    println!("{}", fabius::Config::new().explore(|| scenario(Bug::None)));
    let report = fabius::Config::new().explore(|| scenario(Bug::WakerTooLate));
    println!("{}", report.failure().unwrap_or_default());
}
