//! Steps that nobody else sees are joined to the step that the same thread made before them: under a bound, too.
//!
//! Paper: Reduction: A Method of Proving Properties of Parallel Programs (Lipton, CACM 1975), section 3: left movers; Bounded
//! Partial-Order Reduction (Coons, Musuvathi, McKinley, OOPSLA 2013), section 3: why a bound does not let more be left out.
//!
//! A thread has made a step `s`, stands where it can go on, and its next step `p` touches nothing that another thread of this state may
//! touch from there on ([`Snapshot::is_alone`]). Then `s p` is one move. Any execution `s A p B`, with steps `A` of others, becomes
//! `s p A B`: what `A` and `B` do is the same, and who can go on during `A` is the same but for the thread itself. An execution
//! without `p` gets it. Neither costs more:
//!
//! * *Preemptions*: to leave the thread costs 1 in front of `p`, where it can go on, and at most 1 behind it. `A` leads to `B` at once,
//!   which costs no more than by way of the thread: if the last of `A` can go on, to leave it was paid before `p`.
//! * *Contexts*: the same with one switch in place of two, or of one.
//! * *Rounds*: where one turn is taken out of a sequence of positions, it does not descend more often.
//! * *Delays*: `p` is what the scheduler picks after `s` (otherwise nothing is joined), and it leaves the scheduler as it is. So the
//!   same delays lead through `A`, and where the thread cannot go on behind `p`, it is passed over for nothing or at the same price.
//!
//! Where depth is bounded every step costs something, and nothing is joined. Races of `p` are those with earlier steps, which `A`
//! does not order. All ends are kept, because whoever stands in front of `p` can go on.
//!
//! A state in which `p` was not alone when `s` was made, and is now, may be reached at less cost where `s` comes later, by executions that
//! are not made because there `p` is joined. It does not matter until a largest cost leaves moves of such states alone: then it is not
//! known whether anything of all executions is left. So with a largest cost nothing is joined.
//!
//! Deviations:
//! 1. A step that chooses, fails, is dropped, comes to a limit, makes threads or finishes one is not joined, but made as any other.
//! 2. A thread that has given way may be left for nothing, and goes on by a step of its own.
//! 3. No more than so many steps are joined to one: somebody may go round and round alone.

use crate::dispatcher::Move;
use crate::node::{Context, Node};
use crate::scheduler::Pick;
use crate::search::Options;
use crate::system::{Choose, End, Snapshot, StepLog, System, TaskId};
use fabius_trace::{Bound, SchedulerKind};

/// Steps that are joined to one, at most.
const MOST: u32 = 100;

/// Whether a search for the least cost that is asked for this joins steps.
pub fn applies<S: System>(system: &S, options: &Options) -> bool {
    let is_sound = match options.scheduler {
        SchedulerKind::Bag => options.bound != Bound::Depth,
        SchedulerKind::RoundRobin | SchedulerKind::DepthFirst => options.bound == Bound::Delays,
        SchedulerKind::BoundedBag(_) => false,
    };
    is_sound && options.max.is_none() && options.ample && !options.wants_cycles() && !system.has_buffers()
}

impl<S: Snapshot> Context<'_, S> {
    /// Makes the steps that are joined to one that has just been made; says how many they are.
    pub fn join(&self, node: &mut Node<S::State>, mv: Move, end: Option<End>, log: &mut StepLog) -> u32 {
        let (Move::Run(pick), Some(End::Point), true) = (mv, end, self.joins) else { return 0 };
        let mut count = 0;
        while count < MOST && self.goes_on_alone(node, pick) {
            let mut next = node.clone();
            let mut one = One::default();
            let end = self.apply(&mut next, mv, &mut one, log);
            let has_made = !log.born.is_empty() || !log.made.is_empty();
            let is_plain = !one.chose && !has_made && log.finished.is_empty();
            if end != Ok(Some(End::Point)) || !is_plain {
                break;
            }
            *node = next;
            count += 1;
        }
        count
    }

    /// Whether the thread, which ran last, can be joined with what it does next.
    fn goes_on_alone(&self, node: &Node<S::State>, pick: Pick) -> bool {
        let task: TaskId = pick.task;
        self.system.is_alone(&node.state, task)
            && self.system.ready(&node.state, task)
            && !self.system.gave_way(&node.state, task)
            && (node.dispatcher.is_bag() || self.is_picked(node, pick))
    }

    /// Whether the scheduler lets this one run next.
    fn is_picked(&self, node: &Node<S::State>, pick: Pick) -> bool {
        let mut picks = Vec::new();
        node.dispatcher.runs(&self.view(&node.state), &mut picks);
        picks == [pick]
    }
}

/// Sees whether something is chosen.
#[derive(Default)]
struct One {
    chose: bool,
}

impl Choose for One {
    fn choose(&mut self, _: u32) -> u32 {
        self.chose = true;
        0
    }

    /// A step that has chosen is not joined: nobody need know how it goes on.
    fn comes_back(&mut self, _: &mut dyn FnMut(&mut Vec<i64>)) -> bool {
        self.chose
    }
}
