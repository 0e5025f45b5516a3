//! `Barrier`.

use super::acquire::wake_all;
use super::waiters::{Wait, Waiters};
use crate::monitor::{At, Monitor, State};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::task::Poll;

struct Arrivals {
    count: usize,
    /// How often all have come.
    round: u64,
    waiting: Waiters,
}

impl State for Arrivals {
    fn renew(&mut self) {
        *self = Arrivals { count: 0, round: 0, waiting: Waiters::new() };
    }
}

/// As in tokio. Who has come counts, even if it does not go on waiting.
pub struct Barrier {
    arrivals: Monitor<Arrivals>,
    size: usize,
}

/// As in tokio.
#[derive(Clone, Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// As in tokio.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// As in tokio: for none is as for one.
    #[track_caller]
    pub fn new(n: usize) -> Barrier {
        let arrivals = Monitor::new(Arrivals { count: 0, round: 0, waiting: Waiters::new() });
        Barrier { arrivals, size: n.max(1) }
    }

    /// As in tokio: the last to come is the leader.
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = BarrierWaitResult> + '_ {
        self.wait_at(Location::caller())
    }

    async fn wait_at(&self, at: At) -> BarrierWaitResult {
        let mut wait = Wait::new(&self.arrivals, |arrivals| &mut arrivals.waiting, "wait at a barrier", at);
        let (mut round, mut wake) = (None, Vec::new());
        let is_leader = poll_fn(|cx| {
            let polled = wait.poll(cx, |arrivals| match round {
                Some(round) => (arrivals.round != round).then_some(false),
                None => {
                    round = Some(arrivals.round);
                    arrivals.count += 1;
                    (arrivals.count == self.size).then(|| {
                        (arrivals.count, arrivals.round) = (0, arrivals.round + 1);
                        wake = arrivals.waiting.take();
                        true
                    })
                }
            });
            if let Poll::Ready(true) = polled {
                wake_all(std::mem::take(&mut wake));
            }
            polled
        });
        BarrierWaitResult(is_leader.await)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
