//! A fair cycle through a fair component.

use super::components::Fair;
use super::{EdgeId, Graph, Violation};
use crate::system::BufferId;
use fabius_trace::{FairThreads, Fairness};
use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};

/// A cycle through `start` inside of its fair component that is fair, and passes a state that it must pass.
pub(super) fn fair(graph: &Graph, what: &Violation, fair: &Fair, start: usize) -> Vec<EdgeId> {
    let fairness = what.fairness();
    let mut walk = Walk { graph, what, fairness, fair, at: start, cycle: Vec::new(), states: vec![start] };
    walk.to(|walk, node| walk.what.is_goal(&walk.graph.nodes[node]));
    while let Some(thread) = walk.always_ready().difference(&walk.steps()).next().copied() {
        let is_ready = |walk: &Walk<'_>, n| walk.ready(n, Fairness::Weak).contains(&thread);
        walk.to(|walk, n| !is_ready(walk, n) || walk.step_of(n, thread).is_some());
        if is_ready(&walk, walk.at) {
            walk.make_step_of(thread);
        }
    }
    if walk.cycle.is_empty() {
        walk.take((start, walk.any_step(start)));
    }
    walk.to(|_, node| node == start);
    // A way back may pass states in which more threads are ready, which must step then.
    while let Some(thread) = walk.ever_ready().difference(&walk.steps()).next().copied() {
        walk.to(|walk, n| walk.step_of(n, thread).is_some());
        walk.make_step_of(thread);
        walk.to(|_, node| node == start);
    }
    walk.cycle
}

struct Walk<'a> {
    graph: &'a Graph,
    what: &'a Violation,
    fairness: FairThreads,
    fair: &'a Fair,
    at: usize,
    cycle: Vec<EdgeId>,
    /// All states passed so far.
    states: Vec<usize>,
}

const CONNECTED: &str = "a fair component is strongly connected, and has what makes it fair";

impl Walk<'_> {
    /// Whether a step stays inside of the component.
    fn is_inside(&self, (node, edge): EdgeId) -> bool {
        let edge = self.graph.nodes[node].edges[edge];
        self.what.may_repeat(edge) && self.fair.of[edge.to] == self.fair.of[node]
    }

    fn any_step(&self, node: usize) -> usize {
        (0..self.graph.nodes[node].edges.len()).find(|e| self.is_inside((node, *e))).expect(CONNECTED)
    }

    /// A step of the thread from the node that stays inside.
    fn step_of(&self, node: usize, thread: BufferId) -> Option<usize> {
        let edges = &self.graph.nodes[node].edges;
        (0..edges.len()).find(|e| edges[*e].thread == thread && self.is_inside((node, *e)))
    }

    fn make_step_of(&mut self, thread: BufferId) {
        let edge = self.step_of(self.at, thread).expect(CONNECTED);
        self.take((self.at, edge));
    }

    fn take(&mut self, (node, edge): EdgeId) {
        self.cycle.push((node, edge));
        self.at = self.graph.nodes[node].edges[edge].to;
        self.states.push(self.at);
    }

    fn steps(&self) -> BTreeSet<BufferId> {
        self.cycle.iter().map(|(node, edge)| self.graph.nodes[*node].edges[*edge].thread).collect()
    }

    /// The threads that are ready in a state, and to which the cycle must be just so fair.
    fn ready(&self, node: usize, fairness: Fairness) -> Cow<'_, BTreeSet<BufferId>> {
        self.graph.nodes[node].ready_under(&self.fairness, fairness)
    }

    fn always_ready(&self) -> BTreeSet<BufferId> {
        let first = self.ready(self.states[0], Fairness::Weak).into_owned();
        self.states.iter().fold(first, |always, n| &always & &self.ready(*n, Fairness::Weak))
    }

    fn ever_ready(&self) -> BTreeSet<BufferId> {
        let ready = self.states.iter().map(|n| self.ready(*n, Fairness::Strong));
        ready.flat_map(Cow::into_owned).collect()
    }

    /// Walks a shortest way inside to a node that satisfies `goal`.
    fn to(&mut self, goal: impl Fn(&Self, usize) -> bool) {
        let mut reached_by: Vec<Option<EdgeId>> = vec![None; self.graph.nodes.len()];
        let mut queue = VecDeque::from([self.at]);
        let there = loop {
            let node = queue.pop_front().expect(CONNECTED);
            if goal(self, node) {
                break node;
            }
            for (e, edge) in self.graph.nodes[node].edges.iter().enumerate() {
                if edge.to != self.at && reached_by[edge.to].is_none() && self.is_inside((node, e)) {
                    reached_by[edge.to] = Some((node, e));
                    queue.push_back(edge.to);
                }
            }
        };
        let (mut steps, mut back) = (Vec::new(), there);
        while let Some(edge) = reached_by[back].filter(|_| back != self.at) {
            steps.push(edge);
            back = edge.0;
        }
        steps.into_iter().rev().for_each(|step| self.take(step));
    }
}
