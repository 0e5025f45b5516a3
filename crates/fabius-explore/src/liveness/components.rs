//! Strongly connected components, and which of them are fair.
//!
//! Paper: Modalities for Model Checking: Branching Time Logic Strikes Back (Emerson and Lei, SCP 1987), section 5.

use super::{Graph, Violation};
use crate::system::BufferId;
use fabius_trace::Fairness;
use std::collections::BTreeSet;

/// Fair components.
pub(super) struct Fair {
    /// For each node the number of the fair component that it belongs to, if it belongs to one.
    pub of: Vec<Option<usize>>,
}

/// The fair components of a part of the graph, each with a state that the cycle must pass.
pub(super) fn fair(graph: &Graph, what: Violation, part: &[usize]) -> Fair {
    let mut fair = Fair { of: vec![None; graph.nodes.len()] };
    // For each node the last component that it was seen in.
    let (mut seen_in, mut seen) = (vec![0; graph.nodes.len()], 0);
    let mut open: Vec<Vec<usize>> = components(graph, what, part);
    while let Some(component) = open.pop() {
        seen += 1;
        component.iter().for_each(|n| seen_in[*n] = seen);
        let edges = component.iter().flat_map(|n| &graph.nodes[*n].edges);
        let inner = edges.filter(|e| what.may_repeat(**e) && seen_in[e.to] == seen);
        let steps: BTreeSet<BufferId> = inner.map(|e| e.thread).collect();
        if steps.is_empty() || !component.iter().any(|n| what.is_goal(&graph.nodes[*n])) {
            continue;
        }
        match what.fairness() {
            Fairness::Weak if always_ready(graph, &component).is_subset(&steps) => {}
            Fairness::Weak => continue,
            Fairness::None => {}
            Fairness::Strong => {
                let rest: Vec<usize> =
                    component.iter().filter(|n| graph.nodes[**n].ready.is_subset(&steps)).copied().collect();
                if rest.len() < component.len() {
                    open.extend(components(graph, what, &rest));
                    continue;
                }
            }
        }
        component.iter().for_each(|n| fair.of[*n] = Some(seen));
    }
    fair
}

/// The threads that are ready in all these states.
fn always_ready(graph: &Graph, component: &[usize]) -> BTreeSet<BufferId> {
    let mut nodes = component.iter().map(|n| &graph.nodes[*n].ready);
    let first = nodes.next().cloned().unwrap_or_default();
    nodes.fold(first, |always, ready| &always & ready)
}

/// The strongly connected components of a part of the graph (Tarjan, with an explicit stack).
fn components(graph: &Graph, what: Violation, part: &[usize]) -> Vec<Vec<usize>> {
    const OUTSIDE: usize = usize::MAX;
    const NEW: usize = usize::MAX - 1;
    let n = graph.nodes.len();
    let (mut index, mut low, mut closed) = (vec![OUTSIDE; n], vec![0; n], vec![false; n]);
    part.iter().for_each(|node| index[*node] = NEW);
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
    found
}
