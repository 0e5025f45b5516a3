//! Barriers.

use crate::rt::{self, Inside, Left, Op, Refine, Renew, Rt};
use std::fmt;
use std::panic::Location;

/// [`std::sync::Barrier`] under the scheduler. Outside of a check it is one of std's.
pub struct Barrier {
    inside: Inside<Arrived>,
    size: usize,
    outside: std::sync::Barrier,
}

/// Who has arrived in this round, by what each has left; who was told apart in each of those before, and what the last to arrive has
/// left. Who waits comes after all of its round, and after nobody of another one.
struct Arrived {
    here: Vec<Left>,
    leaders: Vec<(usize, Left)>,
}

impl Arrived {
    const NOBODY: Arrived = Arrived { here: Vec::new(), leaders: Vec::new() };
}

impl Renew for Arrived {
    fn renew(&mut self) {
        *self = Arrived::NOBODY;
    }
}

/// [`std::sync::BarrierWaitResult`], which std does not let others make.
#[derive(Clone, Copy)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether this thread is the one that is told apart. Std does not say which that is: the search tries all.
    pub fn is_leader(&self) -> bool {
        rt::observe(Refine::LEADERS);
        self.0
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}

struct Waiting<'a> {
    barrier: &'a Barrier,
    round: usize,
}

unsafe fn is_over(waiting: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Waiting`.
    let waiting = unsafe { &*waiting.cast::<Waiting<'_>>() };
    waiting.barrier.inside.peek(rt, |arrived| arrived.leaders.len() > waiting.round).unwrap_or(false)
}

impl Barrier {
    /// As in std.
    #[track_caller]
    pub const fn new(n: usize) -> Barrier {
        let inside = Inside::new(Arrived::NOBODY);
        Barrier { inside, size: n, outside: std::sync::Barrier::new(n) }
    }

    /// As in std: a scheduling point; waits until all have arrived.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let at = Location::caller();
        rt::point(Op::write("arrive", self.inside.id(), at).ordered());
        let size = self.size;
        let mine = rt::leaves(&self.inside.object);
        let arrived = self.inside.with(|arrived| {
            arrived.here.push(mine);
            (arrived.here.len(), arrived.leaders.len())
        });
        let Some((mine, round)) = arrived else { return BarrierWaitResult(self.outside.wait().is_leader()) };
        if mine >= size {
            rt::note(|| "the last".into());
            let leader = rt::who_leads(mine);
            let all = self.inside.with(|arrived| std::mem::take(&mut arrived.here)).unwrap_or_default();
            all.into_iter().for_each(|left| rt::takes(&self.inside.object, left));
            let left = rt::leaves(&self.inside.object);
            self.inside.with(|arrived| arrived.leaders.push((leader, left)));
            return BarrierWaitResult(leader == mine);
        }
        rt::note(|| format!("{mine} of {size}"));
        let waiting = Waiting { barrier: self, round };
        rt::point(Op::local("wait for the others at a barrier", at).when(&waiting, is_over));
        let round = self.inside.with(|arrived| arrived.leaders.get(round).copied()).flatten();
        round.into_iter().for_each(|(_, left)| rt::takes(&self.inside.object, left));
        BarrierWaitResult(round.is_some_and(|(leader, _)| leader == mine))
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
