//! `Barrier`.

use super::acquire::wake_all;
use super::waiters::{Wait, Waiters};
use crate::monitor::{At, Monitor, State};
use fabius::extend::{self, Left};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;

struct Arrivals {
    /// Who has come in this round, by what each has left.
    here: Vec<Left>,
    /// For each time that all have come, who leads, and what the last one has left.
    rounds: Vec<(usize, Left)>,
    waiting: Waiters,
}

impl Arrivals {
    const NOBODY: Arrivals = Arrivals { here: Vec::new(), rounds: Vec::new(), waiting: Waiters::new() };
}

impl State for Arrivals {
    fn renew(&mut self) {
        *self = Arrivals::NOBODY;
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
    /// As in tokio, which does not say which of them that is: the search tries all.
    pub fn is_leader(&self) -> bool {
        extend::asks_who_leads();
        self.0
    }
}

impl Barrier {
    /// As in tokio: for none is as for one.
    #[track_caller]
    pub fn new(n: usize) -> Barrier {
        Barrier { arrivals: Monitor::new(Arrivals::NOBODY), size: n.max(1) }
    }

    /// As in tokio.
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = BarrierWaitResult> + '_ {
        self.wait_at(Location::caller())
    }

    async fn wait_at(&self, at: At) -> BarrierWaitResult {
        let mut wait = Wait::new(&self.arrivals, |arrivals| &mut arrivals.waiting, "wait at a barrier", at);
        let (mut mine, mut wake) = (None, Vec::new());
        let leader = poll_fn(|cx| {
            let polled = wait.poll(cx, |arrivals, order| {
                let (me, round) = *mine.get_or_insert_with(|| {
                    arrivals.here.push(order.leaves());
                    (arrivals.here.len(), arrivals.rounds.len())
                });
                if me == self.size && round == arrivals.rounds.len() {
                    arrivals.here.drain(..).for_each(|left| order.takes(left));
                    arrivals.rounds.push((extend::who_leads(me), order.leaves()));
                    wake = arrivals.waiting.take();
                }
                let (leader, left) = *arrivals.rounds.get(round)?;
                order.takes(left);
                Some(leader)
            });
            wake_all(std::mem::take(&mut wake));
            polled
        });
        let leader = leader.await;
        BarrierWaitResult(mine.is_some_and(|(me, _)| me == leader))
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
