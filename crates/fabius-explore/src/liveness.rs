//! Infinite executions in a finite graph of states: is there a fair one that stays where it may be?
//!
//! A violation of a property is a path from the initial state that goes anywhere at first, from some state on stays within a
//! part of the graph, and is *fair*: weakly, if every thread that is ready from some time on takes infinitely many steps;
//! strongly, if every thread that is ready infinitely often does. Such a path ends up in one strongly connected component of
//! the part. A component is weakly fair if each thread takes a step in it or is not ready in some state of it; if it is not,
//! some thread is ready everywhere and steps nowhere, so no path inside it is fair. It is strongly fair if each thread that is
//! ready somewhere in it takes a step in it; if it is not, a fair path avoids the states in which the others are ready, and
//! the rest of the component is taken apart again (Emerson and Lei). A fair component yields a fair cycle through all
//! that makes it fair: looking at components is exact.
//!
//! An execution that ends, because nobody can go on, stays in its last state for ever.
//!
//! A thread that keeps control is ready, and so is who could go on if it did not: to keep control for ever is not fair. Who is
//! ready need not have a step, therefore, and neither if all its steps are dropped: there may be no fair path at all.
//!
//! What an automaton must not accept is looked for in its product with the graph, where it is a path that passes accepting states
//! again and again.
//!
//! Executions may be fair to some threads and not to others, weakly to some and strongly to others: then the first condition is
//! asked of those alone, and the second of these. What a thread began as says which it is; a number that is given again is that of
//! another thread only behind a step with which the first one ends, so that it steps where both are in one component.
//!
//! Nothing is assumed to be fair but threads: a nondeterministic choice may go the same way for ever. Threads are
//! buffers; the choice among the tasks of one buffer is not fair either.

mod components;
mod cycle;
mod product;

use crate::search::Cut;
use crate::system::BufferId;
use fabius_trace::{FairThreads, Fairness, Formula, Origin};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A finite graph of states; node 0 is where all begins, and no state of its own.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The states.
    pub nodes: Vec<Node>,
}

/// A state.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The threads that are ready in it, whoever keeps control.
    pub ready: BTreeSet<BufferId>,
    /// What they began as, if somebody asks about some of them.
    pub origins: BTreeMap<BufferId, Origin>,
    /// The steps from it.
    pub edges: Vec<Edge>,
    /// Which conditions hold in it.
    pub holds: Vec<bool>,
}

impl Node {
    /// The threads that are ready in it, and to which executions are just so fair.
    fn ready_under(&self, fair: &FairThreads, fairness: Fairness) -> Cow<'_, BTreeSet<BufferId>> {
        if fair.of.is_empty() {
            return if fair.others == fairness { Cow::Borrowed(&self.ready) } else { Cow::default() };
        }
        let is_so = |thread: &&BufferId| fair.to(self.origins.get(thread).copied()) == fairness;
        Cow::Owned(self.ready.iter().filter(is_so).copied().collect())
    }
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The state after it.
    pub to: usize,
    /// Who takes it.
    pub thread: BufferId,
    /// Whether it passes a progress mark.
    pub progress: bool,
}

/// A step by its state and its position in [`Node::edges`].
pub type EdgeId = (usize, usize);

/// A finite description of an infinite path: the cycle, again and again, after the stem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasso {
    /// A shortest path to the cycle, from node 0.
    pub stem: Vec<EdgeId>,
    /// A fair cycle. Empty: nobody can go on behind the stem.
    pub cycle: Vec<EdgeId>,
}

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A weakly fair cycle without progress.
    Livelock,
    /// A path that violates this, fair as that says.
    Property(Formula, FairThreads),
    /// Any path that is fair as that says: if there is none, nothing is violated whatever is asked.
    Any(FairThreads),
}

impl Violation {
    fn fairness(&self) -> FairThreads {
        match self {
            Violation::Livelock => Fairness::Weak.into(),
            Violation::Property(_, fairness) | Violation::Any(fairness) => fairness.clone(),
        }
    }

    /// Whether the path may be in this state once it stays within its part.
    fn may_stay(&self, node: &Node) -> bool {
        match self {
            Violation::Property(Formula::Eventually(c) | Formula::AlwaysEventually(c) | Formula::LeadsTo(_, c), _) => {
                !node.holds[*c]
            }
            _ => true,
        }
    }

    /// Whether it may begin to stay there in this state.
    fn may_begin(&self, node: &Node, is_initial: bool) -> bool {
        self.may_stay(node)
            && match self {
                Violation::Property(Formula::Eventually(_), _) => is_initial,
                Violation::Property(Formula::LeadsTo(c, _), _) => node.holds[*c],
                _ => true,
            }
    }

    /// Whether the cycle must pass such a state, and this is one.
    fn is_goal(&self, node: &Node) -> bool {
        match self {
            Violation::Property(Formula::EventuallyAlways(c), _) => !node.holds[*c],
            _ => true,
        }
    }

    /// Whether it may take this step again and again.
    fn may_repeat(&self, edge: Edge) -> bool {
        *self != Violation::Livelock || !edge.progress
    }

    /// Whether a path that ends in this state is one.
    fn ends_in(&self, node: &Node) -> bool {
        *self != Violation::Livelock && node.ready.is_empty() && self.may_stay(node) && self.is_goal(node)
    }
}

/// Says from time to time whether to go on.
pub type Over<'a> = &'a dyn Fn() -> Result<(), Cut>;

/// Finds a violation with a shortest stem.
///
/// # Errors
/// What ended the look at the graph.
pub fn find(graph: &Graph, what: &Violation, over: Over<'_>) -> Result<Option<Lasso>, Cut> {
    if let Violation::Property(Formula::Never(automaton), fairness) = what {
        return product::find(graph, automaton, fairness.clone(), over);
    }
    let part: Vec<usize> = (1..graph.nodes.len()).filter(|n| what.may_stay(&graph.nodes[*n])).collect();
    let fair = components::fair(graph, what, &part, over)?;
    over()?;
    let Some(stem) = stem(graph, what, |node| fair.of[node].is_some() || what.ends_in(&graph.nodes[node])) else {
        return Ok(None);
    };
    over()?;
    let last = stem.last().map_or(0, |(node, edge)| graph.nodes[*node].edges[*edge].to);
    let cycle = if what.ends_in(&graph.nodes[last]) { Vec::new() } else { cycle::fair(graph, what, &fair, last) };
    Ok(Some(Lasso { stem, cycle }))
}

/// A shortest path to a node.
pub fn shortest(graph: &Graph, to: usize) -> Vec<EdgeId> {
    stem(graph, &Violation::Livelock, |node| node == to).expect("every state in the graph is reached")
}

/// A shortest path that begins to stay within the part somewhere, and ends in a state that satisfies `goal`.
fn stem(graph: &Graph, what: &Violation, goal: impl Fn(usize) -> bool) -> Option<Vec<EdgeId>> {
    // A state before and after the path has begun to stay.
    type At = (usize, bool);
    let mut reached_by: Vec<[Option<(At, usize)>; 2]> = vec![[None; 2]; graph.nodes.len()];
    let mut queue: VecDeque<At> = VecDeque::from([(0, false)]);
    while let Some(at @ (node, stays)) = queue.pop_front() {
        if stays && goal(node) {
            let (mut steps, mut back) = (Vec::new(), at);
            while let Some((before, edge)) = reached_by[back.0][usize::from(back.1)] {
                steps.push((before.0, edge));
                back = before;
            }
            steps.reverse();
            return Some(steps);
        }
        for (e, edge) in graph.nodes[node].edges.iter().enumerate() {
            let next = &graph.nodes[edge.to];
            let mut arrive = |stays: bool| {
                let by = &mut reached_by[edge.to][usize::from(stays)];
                if by.is_none() {
                    *by = Some((at, e));
                    queue.push_back((edge.to, stays));
                }
            };
            if stays && what.may_stay(next) || !stays && what.may_begin(next, node == 0) {
                arrive(true);
            }
            if !stays {
                arrive(false);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
