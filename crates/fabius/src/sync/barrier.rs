//! Barriers.

use crate::rt::{self, Inside, Op, Renew, Rt};
use std::fmt;
use std::panic::Location;

/// [`std::sync::Barrier`] under the scheduler. Outside of a check it is one of std's.
pub struct Barrier {
    inside: Inside<Arrived>,
    size: usize,
    outside: std::sync::Barrier,
}

/// How many have arrived, in which round.
struct Arrived {
    count: usize,
    round: usize,
}

impl Renew for Arrived {
    fn renew(&mut self) {
        *self = Arrived { count: 0, round: 0 };
    }
}

/// [`std::sync::BarrierWaitResult`], which std does not let others make.
#[derive(Clone, Copy, Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether this thread is the one that is told apart: the last to arrive.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

struct Waiting<'a> {
    barrier: &'a Barrier,
    round: usize,
}

unsafe fn is_over(waiting: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Waiting`.
    let waiting = unsafe { &*waiting.cast::<Waiting<'_>>() };
    waiting.barrier.inside.peek(rt, |arrived| arrived.round != waiting.round).unwrap_or(false)
}

impl Barrier {
    /// As in std.
    #[track_caller]
    pub const fn new(n: usize) -> Barrier {
        let inside = Inside::new(Arrived { count: 0, round: 0 });
        Barrier { inside, size: n, outside: std::sync::Barrier::new(n) }
    }

    /// As in std: a scheduling point; waits until all have arrived.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let at = Location::caller();
        rt::point(Op::write("arrive", self.inside.id(), at));
        let size = self.size;
        let arrived = self.inside.with(|arrived| {
            arrived.count += 1;
            let count = arrived.count;
            if count >= size {
                *arrived = Arrived { count: 0, round: arrived.round + 1 };
            }
            (count, arrived.round)
        });
        let Some((count, round)) = arrived else { return BarrierWaitResult(self.outside.wait().is_leader()) };
        if count >= size {
            rt::note(|| "the last".into());
            return BarrierWaitResult(true);
        }
        rt::note(|| format!("{count} of {size}"));
        let waiting = Waiting { barrier: self, round };
        rt::point(Op::local("wait for the others at a barrier", at).when(&waiting, is_over));
        rt::comes_after(self.inside.id());
        BarrierWaitResult(false)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
