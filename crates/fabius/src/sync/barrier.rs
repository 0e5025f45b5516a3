//! Barriers.

use crate::rt::{self, Object, Op, Rt};
use std::cell::Cell;
use std::fmt;
use std::panic::Location;

/// [`std::sync::Barrier`] under the scheduler.
pub struct Barrier {
    object: Object,
    size: usize,
    arrived: Cell<usize>,
    round: Cell<usize>,
}

// SAFETY: all threads of an execution are fibers of one operating system thread.
unsafe impl Sync for Barrier {}
// SAFETY: as above.
unsafe impl Send for Barrier {}

impl std::panic::UnwindSafe for Barrier {}
impl std::panic::RefUnwindSafe for Barrier {}

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

unsafe fn is_over(waiting: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Waiting`.
    let waiting = unsafe { &*waiting.cast::<Waiting<'_>>() };
    waiting.barrier.round.get() != waiting.round
}

impl Barrier {
    /// As in std.
    #[track_caller]
    pub const fn new(n: usize) -> Barrier {
        Barrier { object: Object::new(), size: n, arrived: Cell::new(0), round: Cell::new(0) }
    }

    /// As in std: a scheduling point; waits until all have arrived.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let at = Location::caller();
        rt::point(Op::write("arrive", self.object.id(), at));
        self.arrived.set(self.arrived.get() + 1);
        if self.arrived.get() >= self.size {
            self.arrived.set(0);
            self.round.set(self.round.get() + 1);
            rt::note(|| "the last".into());
            return BarrierWaitResult(true);
        }
        rt::note(|| format!("{} of {}", self.arrived.get(), self.size));
        let waiting = Waiting { barrier: self, round: self.round.get() };
        rt::point(Op::local("wait for the others at a barrier", at).when(&waiting, is_over));
        BarrierWaitResult(false)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
