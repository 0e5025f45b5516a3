//! From what was stored to the schedule of a bug.

use super::{Candidate, ROOT, SHARD_BITS, Search, index};
use crate::livelock;
use crate::retrace::{self, Target};
use crate::search::{Bug, Found};
use crate::system::Snapshot;
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

    pub(super) fn found(&self, candidate: Candidate, cost: u32) -> Found {
        let way = self.way_to(candidate.arrival);
        let found = retrace::retrace(&self.context, &way, candidate.last, candidate.what);
        debug_assert_eq!(found.cost, cost, "the schedule costs what the search says");
        found
    }

    pub(super) fn livelock(&self) -> Option<Found> {
        let mut numbers: Vec<u32> = self.ready.keys().copied().collect();
        numbers.sort_unstable();
        // Node 0 stands for the choice among the initial states.
        let nodes: HashMap<u32, usize> = numbers.iter().enumerate().map(|(i, n)| (*n, i + 1)).collect();
        let mut graph = livelock::Graph { nodes: vec![livelock::Node::default(); numbers.len() + 1] };
        for root in &self.roots {
            graph.nodes[0].edges.push(livelock::Edge { to: nodes[root], thread: 0, progress: true });
        }
        for (number, ready) in &self.ready {
            graph.nodes[nodes[number]].ready.clone_from(ready);
        }
        for edge in &self.edges {
            let to = livelock::Edge { to: nodes[&edge.to], thread: edge.thread, progress: edge.progress };
            graph.nodes[nodes[&edge.from]].edges.push(to);
        }
        let lasso = livelock::find(&graph)?;
        let target = |(from, edge): &livelock::EdgeId| {
            let edge = graph.nodes[*from].edges[*edge];
            let number = numbers[edge.to - 1];
            let state = self.shard(number).states.get(number >> SHARD_BITS).to_vec();
            let step = (*from != 0).then_some((edge.thread, edge.progress));
            Target { state, last: None, step }
        };
        let way: Vec<Target> = lasso.stem.iter().chain(&lasso.cycle).map(target).collect();
        let mut found = retrace::retrace(&self.context, &way, None, Bug::Livelock);
        let turns_of_cycle = lasso.cycle.len();
        found.cycle = Some(found.schedule.len() - turns_of_cycle);
        Some(found)
    }
}
