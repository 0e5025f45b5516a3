//! States that differ only in what their threads are called are one.
//!
//! Paper: Better Verification Through Symmetry (Ip and Dill, Formal Methods in System Design 1996), sections 3 and 4: the ids of
//! threads are a scalarset.
//!
//! Deviations:
//! 1. Every state stands for itself as the system names its threads ([`Snapshot::canonical_names`]), which need not be the same
//!    for all states that are alike: then there are more states than there must be, and no answer changes.
//! 2. Costs are kept: who ran last is renamed along.
//!
//! Whatever counts by an order of threads (deterministic schedulers, rounds), by thread (races, fairness) or by buffers is left
//! as it is.

use crate::dispatcher::{Last, Move};
use crate::node::{Context, Node};
use crate::search::Options;
use crate::system::{BufferId, DECLARED_BUFFER, Snapshot, TaskId};
use fabius_trace::{Bound, SchedulerKind};

/// The name of whoever ran last and has finished, so that nobody else is taken for it.
const NOBODY: BufferId = DECLARED_BUFFER - 1;

/// Whether a search with states that is asked for this looks at states that differ by the names of threads as one.
pub fn applies<S: Snapshot>(system: &S, options: &Options) -> bool {
    options.symmetry
        && system.has_alike_threads()
        && options.scheduler == SchedulerKind::Bag
        && !matches!(options.bound, Bound::Rounds | Bound::Delays)
        && options.races.is_none()
        && !options.wants_cycles()
        && !system.has_buffers()
}

impl<'a, S: Snapshot> Context<'a, S> {
    /// For a search that stores states.
    pub fn storing(system: &'a S, options: &'a Options) -> Context<'a, S> {
        let is_symmetric = applies(system, options);
        Context { system, options, compare: Some(S::compare_anonymous), is_symmetric, joins: false }
    }

    /// Brings a node into the form in which it is stored.
    pub fn settle(&self, node: &mut Node<S::State>) {
        self.canonicalize(node, |_| {});
        self.name_threads(node, &mut Vec::new());
    }

    /// Gives the threads the names that stand for all. `names` gets the old ones and the new ones, unless nothing changes.
    pub fn name_threads(&self, node: &mut Node<S::State>, names: &mut Vec<(TaskId, TaskId)>) -> bool {
        let changes = self.is_symmetric && self.system.canonical_names(&node.state, names);
        if changes {
            self.rename(node, names);
        }
        changes
    }

    /// Whether another move leads to the same states up to names, at no higher cost: the same step of a thread that is alike.
    pub fn repeats(&self, node: &Node<S::State>, last: Last, mv: &Move) -> bool {
        match mv {
            Move::Run(pick) if self.is_symmetric => {
                last != Last::Ran(pick.buffer) && self.system.repeats(&node.state, pick.task)
            }
            _ => false,
        }
    }

    /// Calls threads by other names: old ones and new ones.
    pub fn rename(&self, node: &mut Node<S::State>, names: &[(TaskId, TaskId)]) {
        self.system.rename(&mut node.state, names);
        node.dispatcher.rename(|task| *task = renamed(names, *task).unwrap_or(*task));
        node.dispatcher.sort(&self.view(&node.state));
        node.ran = node.ran.map(|ran| renamed(names, ran).unwrap_or(NOBODY));
    }
}

/// The new name of a thread.
pub(crate) fn renamed(names: &[(TaskId, TaskId)], old: TaskId) -> Option<TaskId> {
    names.iter().find(|(name, _)| *name == old).map(|(_, new)| *new)
}
