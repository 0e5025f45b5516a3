//! From what was stored to the schedule of a bug.

use super::{Candidate, EdgeRecord, ROOT, SHARD_BITS, SHARDS, Search, index, lock};
use crate::liveness::{self, Edge, EdgeId, Graph, Lasso, Node, Over, Violation};
use crate::retrace::{self, Target};
use crate::search::{Bug, Cut, Found};
use crate::system::{BufferId, Fault, Snapshot};
use fabius_trace::{FairThreads, Fairness};
use std::collections::HashMap;

impl<S> Search<'_, S>
where
    S: Snapshot + Sync,
    S::State: Send,
{
    /// The states on the way to an arrival, and what must have run last in each.
    fn way_to(&self, mut arrival: u32) -> Vec<Target> {
        let mut way = Vec::new();
        while arrival != ROOT {
            let shard = self.shard(arrival);
            let a = shard.arrivals[index(arrival)];
            way.push(Target { state: shard.states.get(a.state).to_vec(), last: Some(a.last), step: None });
            arrival = a.parent;
        }
        way.reverse();
        way
    }

    pub(super) fn found(&self, candidate: Candidate, cost: u32) -> Result<Found, Cut> {
        let way = self.way_to(candidate.arrival);
        let found = retrace::retrace(&self.context, &way, candidate.last, candidate.what)?;
        debug_assert_eq!(found.cost, cost, "the schedule costs what the search says");
        Ok(found)
    }

    /// A violation by an execution that is infinite or at its end, in the part of the graph that is known; or a condition
    /// that has no value in some state of it.
    pub(super) fn infinite(&self) -> Result<Option<Found>, Cut> {
        let options = self.context.options;
        let mut numbers: Vec<u32> = self.ready.keys().copied().collect();
        // In an order that does not depend on who came first.
        {
            let shards: Vec<_> = self.shards.iter().map(lock).collect();
            let bytes = |n: u32| shards[n as usize & (SHARDS - 1)].states.get(n >> SHARD_BITS);
            numbers.sort_unstable_by(|a, b| bytes(*a).cmp(bytes(*b)));
        }
        let over = &|| self.is_over().map_or(Ok(()), Err);
        over()?;
        // Node 0 stands for the choice among the initial states.
        let nodes: HashMap<u32, usize> = numbers.iter().enumerate().map(|(i, n)| (*n, i + 1)).collect();
        let mut graph = Graph { nodes: vec![Node::default(); numbers.len() + 1] };
        for (number, ready) in &self.ready {
            graph.nodes[nodes[number]].ready = ready.iter().copied().collect();
        }
        self.note_origins(&mut graph, &numbers);
        self.connect(&mut graph, &nodes, &self.edges);
        if options.livelock
            && let Some(lasso) = liveness::find(&graph, &Violation::Livelock, over)?
        {
            let lasso = self.soonest(&mut graph, &nodes, &Violation::Livelock, lasso, over);
            return self.retraced(&graph, &numbers, &lasso, Bug::Livelock).map(Some);
        }
        if let Some((node, fault)) = self.evaluate(&mut graph, &numbers, over)? {
            let (kind, span) = Cut::of_fault(fault)?;
            let lasso = Lasso { stem: liveness::shortest(&graph, node), cycle: Vec::new() };
            return self.retraced(&graph, &numbers, &lasso, Bug::Condition(kind, span)).map(Some);
        }
        for (number, (formula, fairness)) in options.properties.iter().enumerate() {
            let violation = Violation::Property(formula.clone(), fairness.clone());
            if let Some(lasso) = liveness::find(&graph, &violation, over)? {
                let lasso = self.soonest(&mut graph, &nodes, &violation, lasso, over);
                return self.retraced(&graph, &numbers, &lasso, Bug::Property(number)).map(Some);
            }
        }
        // In a part of the graph the fair ones may be missing.
        if self.exhausted && self.limit.is_none() && !self.some_are_fair(&graph, over)? {
            return Err(Cut::Unfair);
        }
        Ok(None)
    }

    /// Gives a graph these steps, and those to the initial states.
    fn connect(&self, graph: &mut Graph, nodes: &HashMap<u32, usize>, edges: &[EdgeRecord]) {
        graph.nodes.iter_mut().for_each(|node| node.edges.clear());
        for root in &self.roots {
            graph.nodes[0].edges.push(Edge { to: nodes[root], thread: 0, progress: true });
        }
        for edge in edges {
            let to = Edge { to: nodes[&edge.to], thread: edge.thread, progress: edge.progress };
            graph.nodes[nodes[&edge.from]].edges.push(to);
        }
        graph.nodes.iter_mut().for_each(|n| n.edges.sort_unstable_by_key(|e| (e.to, e.thread, e.progress)));
    }

    /// A violation by steps that are made within the least value of the bound for which there is one; the graph has only
    /// these steps afterwards. `known` is one in the whole graph: a cycle that is fair stays so where there are more steps.
    fn soonest(
        &self,
        graph: &mut Graph,
        nodes: &HashMap<u32, usize>,
        what: &Violation,
        known: Lasso,
        over: Over<'_>,
    ) -> Lasso {
        let up_to = |level: usize| &self.edges[..self.edges_of_levels[level]];
        let (mut none_below, mut at, mut soonest) = (0, self.edges_of_levels.len() - 1, known);
        while none_below < at {
            let middle = (none_below + at) / 2;
            self.connect(graph, nodes, up_to(middle));
            match liveness::find(graph, what, over) {
                Ok(Some(lasso)) => (at, soonest) = (middle, lasso),
                Ok(None) => none_below = middle + 1,
                // What is known is not lost where time is over.
                Err(_) => break,
            }
        }
        self.connect(graph, nodes, up_to(at));
        soonest
    }

    /// Whether some execution is fair in each way that is asked about. Without one all answers hold of nothing.
    fn some_are_fair(&self, graph: &Graph, over: Over<'_>) -> Result<bool, Cut> {
        let options = self.context.options;
        let livelock = options.livelock.then(|| Fairness::Weak.into());
        let mut asked: Vec<FairThreads> = Vec::new();
        for fairness in options.properties.iter().map(|(_, fairness)| fairness.clone()).chain(livelock) {
            if !asked.contains(&fairness) {
                asked.push(fairness);
            }
        }
        for fairness in asked {
            if liveness::find(graph, &Violation::Any(fairness), over)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Says of each state what the threads that are ready in it began as, if some property is about some of them.
    fn note_origins(&self, graph: &mut Graph, numbers: &[u32]) {
        let Some(mut node) = self.any_initial() else { return };
        if self.context.options.properties.iter().all(|(_, fairness)| fairness.of.is_empty()) {
            return;
        }
        for (number, at) in numbers.iter().zip(1..) {
            self.context.decode(self.shard(*number).states.get(*number >> SHARD_BITS), &mut node);
            let of = |thread: &BufferId| Some((*thread, self.context.system.origin(&node.state, *thread)?));
            graph.nodes[at].origins = graph.nodes[at].ready.iter().filter_map(of).collect();
        }
    }

    /// Asks of each state which conditions hold. Returns the first one that one of them has no value in.
    fn evaluate(&self, graph: &mut Graph, numbers: &[u32], over: Over<'_>) -> Result<Option<(usize, Fault)>, Cut> {
        if self.context.options.properties.is_empty() {
            return Ok(None);
        }
        let Some(mut node) = self.any_initial() else { return Ok(None) };
        for (number, at) in numbers.iter().zip(1..) {
            if at % 1024 == 0 {
                over()?;
            }
            self.context.decode(self.shard(*number).states.get(*number >> SHARD_BITS), &mut node);
            match self.context.system.conditions(&node.state) {
                Ok(holds) => graph.nodes[at].holds = holds,
                Err(fault) => return Ok(Some((at, fault))),
            }
        }
        Ok(None)
    }

    fn retraced(&self, graph: &Graph, numbers: &[u32], lasso: &Lasso, what: Bug) -> Result<Found, Cut> {
        let target = |(from, edge): &EdgeId| {
            let edge = graph.nodes[*from].edges[*edge];
            let number = numbers[edge.to - 1];
            let state = self.shard(number).states.get(number >> SHARD_BITS).to_vec();
            let step = (*from != 0).then_some((edge.thread, edge.progress));
            Target { state, last: None, step }
        };
        let way: Vec<Target> = lasso.stem.iter().chain(&lasso.cycle).map(target).collect();
        let mut found = retrace::retrace(&self.context, &way, None, what)?;
        found.cycle = (!lasso.cycle.is_empty()).then(|| found.schedule.len() - lasso.cycle.len());
        Ok(found)
    }
}
