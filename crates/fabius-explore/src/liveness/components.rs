//! Strongly connected components, and which of them are fair.
//!
//! Paper: Modalities for Model Checking: Branching Time Logic Strikes Back (Emerson and Lei, SCP 1987), section 5.

use super::{Graph, Over, Violation};
use crate::search::Cut;
use crate::system::BufferId;
use fabius_trace::{FairThreads, Fairness};
use std::collections::BTreeSet;

/// Fair components.
pub(super) struct Fair {
    /// For each node the number of the fair component that it belongs to, if it belongs to one.
    pub of: Vec<Option<usize>>,
}

/// The fair components of a part of the graph, each with a state that the cycle must pass.
pub(super) fn fair(graph: &Graph, what: &Violation, part: &[usize], over: Over<'_>) -> Result<Fair, Cut> {
    let mut fair = Fair { of: vec![None; graph.nodes.len()] };
    let fairness = what.fairness();
    // For each node the last component that it was seen in.
    let (mut seen_in, mut seen) = (vec![0; graph.nodes.len()], 0);
    let mut taken = TakenApart::new(graph);
    let mut open: Vec<Vec<usize>> = taken.components(graph, what, part, over)?;
    let mut looked_at = 0;
    while let Some(component) = open.pop() {
        looked_at += component.len();
        if looked_at >= OFTEN {
            looked_at = 0;
            over()?;
        }
        seen += 1;
        component.iter().for_each(|n| seen_in[*n] = seen);
        let edges = component.iter().flat_map(|n| &graph.nodes[*n].edges);
        let inner = edges.filter(|e| what.may_repeat(**e) && seen_in[e.to] == seen);
        let steps: BTreeSet<BufferId> = inner.map(|e| e.thread).collect();
        if steps.is_empty() || !component.iter().any(|n| what.is_goal(&graph.nodes[*n])) {
            continue;
        }
        if !always_ready(graph, &fairness, &component).is_subset(&steps) {
            continue;
        }
        let is_fair = |n: &&usize| graph.nodes[**n].ready_under(&fairness, Fairness::Strong).is_subset(&steps);
        let rest: Vec<usize> = component.iter().filter(is_fair).copied().collect();
        if rest.len() < component.len() {
            open.extend(taken.components(graph, what, &rest, over)?);
            continue;
        }
        component.iter().for_each(|n| fair.of[*n] = Some(seen));
    }
    Ok(fair)
}

/// The threads that are ready in all these states, and to which executions are weakly fair.
fn always_ready(graph: &Graph, fairness: &FairThreads, component: &[usize]) -> BTreeSet<BufferId> {
    let mut nodes = component.iter().map(|n| graph.nodes[*n].ready_under(fairness, Fairness::Weak));
    let first = nodes.next().unwrap_or_default().into_owned();
    nodes.fold(first, |always, ready| &always & &ready)
}

/// After so many states the clock is looked at.
const OFTEN: usize = 1 << 12;
const OUTSIDE: usize = usize::MAX;
const NEW: usize = usize::MAX - 1;

/// What is known of each node while a part is taken apart; between two parts all are outside.
struct TakenApart {
    index: Vec<usize>,
    low: Vec<usize>,
    closed: Vec<bool>,
}

impl TakenApart {
    fn new(graph: &Graph) -> TakenApart {
        let n = graph.nodes.len();
        TakenApart { index: vec![OUTSIDE; n], low: vec![0; n], closed: vec![false; n] }
    }

    /// The strongly connected components of a part of the graph (Tarjan, with an explicit stack).
    fn components(
        &mut self,
        graph: &Graph,
        what: &Violation,
        part: &[usize],
        over: Over<'_>,
    ) -> Result<Vec<Vec<usize>>, Cut> {
        let TakenApart { index, low, closed } = self;
        for node in part {
            index[*node] = NEW;
            closed[*node] = false;
        }
        let (mut open, mut calls, mut visited, mut found) = (Vec::new(), Vec::new(), 0, Vec::new());
        for root in part {
            if index[*root] == NEW {
                calls.push((*root, 0));
            }
            while let Some((node, edge)) = calls.pop() {
                let follows = |to: usize, e: usize| index[to] != OUTSIDE && what.may_repeat(graph.nodes[node].edges[e]);
                if edge == 0 {
                    index[node] = visited;
                    low[node] = visited;
                    visited += 1;
                    if visited % OFTEN == 0 {
                        over()?;
                    }
                    open.push(node);
                } else {
                    let done = graph.nodes[node].edges[edge - 1].to;
                    if follows(done, edge - 1) && !closed[done] {
                        low[node] = low[node].min(low[done]);
                    }
                }
                if let Some(next) = graph.nodes[node].edges.get(edge) {
                    let enters = what.may_repeat(*next) && index[next.to] == NEW;
                    calls.push((node, edge + 1));
                    if enters {
                        calls.push((next.to, 0));
                    }
                } else if low[node] == index[node] {
                    let mut component = Vec::new();
                    while let Some(member) = open.pop() {
                        closed[member] = true;
                        component.push(member);
                        if member == node {
                            break;
                        }
                    }
                    found.push(component);
                }
            }
        }
        part.iter().for_each(|node| index[*node] = OUTSIDE);
        Ok(found)
    }
}
