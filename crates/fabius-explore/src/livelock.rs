//! Livelocks: infinite executions in which threads run for ever, fairly, and none makes progress.
//!
//! What is decided, on a finite graph of all reachable states: is there an infinite path from the initial state that
//! passes a progress mark only finitely often and is *weakly fair*: every thread that is ready from some time on takes
//! infinitely many steps. Such a path ends up in one strongly connected component of the graph without the steps that
//! progress. The component is fair if each thread takes a step in it or is not ready in some state of it. A fair
//! component yields a fair cycle (through all its steps), and in one that is not fair some thread is ready everywhere
//! and steps nowhere, so no path inside it is fair: looking at components is exact.
//!
//! Nothing is assumed to be fair but threads: a nondeterministic choice may go the same way for ever. Threads are
//! buffers; the choice among the tasks of one buffer is not fair either.

use crate::system::BufferId;
use std::collections::{BTreeSet, VecDeque};

/// A finite graph of states; node 0 is the initial one.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The states.
    pub nodes: Vec<Node>,
}

/// A state.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The threads that are ready in it.
    pub ready: Vec<BufferId>,
    /// The steps from it.
    pub edges: Vec<Edge>,
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
    /// A shortest path to the cycle.
    pub stem: Vec<EdgeId>,
    /// A fair cycle without progress.
    pub cycle: Vec<EdgeId>,
}

/// Finds a livelock with a shortest stem.
pub fn find(graph: &Graph) -> Option<Lasso> {
    let component = components(graph);
    let inside = |(from, edge): EdgeId| {
        let edge = graph.nodes[from].edges[edge];
        !edge.progress && component[from] == component[edge.to]
    };
    let fair = fair_components(graph, &component, inside);
    let (stem, start) = path(graph, 0, |_| true, |node| fair[component[node]])?;
    Some(Lasso { stem, cycle: fair_cycle(graph, start, &component, inside) })
}

/// Which components have a step inside and are weakly fair.
fn fair_components(graph: &Graph, component: &[usize], inside: impl Fn(EdgeId) -> bool) -> Vec<bool> {
    let count = component.iter().max().map_or(0, |last| last + 1);
    let mut steps = vec![BTreeSet::new(); count];
    let mut always_ready: Vec<Option<BTreeSet<BufferId>>> = vec![None; count];
    for (n, node) in graph.nodes.iter().enumerate() {
        let c = component[n];
        let inner = node.edges.iter().enumerate().filter(|(e, _)| inside((n, *e)));
        steps[c].extend(inner.map(|(_, edge)| edge.thread));
        match &mut always_ready[c] {
            Some(always) => always.retain(|t| node.ready.contains(t)),
            first => *first = Some(node.ready.iter().copied().collect()),
        }
    }
    let fair = |(steps, always): (&BTreeSet<_>, &Option<BTreeSet<_>>)| {
        !steps.is_empty() && always.as_ref().is_some_and(|always| always.is_subset(steps))
    };
    steps.iter().zip(&always_ready).map(fair).collect()
}

/// A cycle through `start` inside its fair component, in which every thread takes a step or is not ready somewhere.
fn fair_cycle(graph: &Graph, start: usize, component: &[usize], inside: impl Fn(EdgeId) -> bool) -> Vec<EdgeId> {
    let ready = |node: usize| graph.nodes[node].ready.iter().copied().collect::<BTreeSet<_>>();
    let mut cycle = Vec::new();
    let mut at = start;
    // Threads that were ready in all states so far and have taken no step: the cycle has yet to be fair to them.
    let mut waiting = ready(start);
    let connected = "a fair component is strongly connected and fair to each thread";
    while let Some(thread) = waiting.first().copied() {
        let step_of = |node: usize| {
            let mut edges = graph.nodes[node].edges.iter().enumerate();
            edges.find(|(e, edge)| edge.thread == thread && inside((node, *e))).map(|(e, _)| (node, e))
        };
        let satisfies = |node: usize| !graph.nodes[node].ready.contains(&thread) || step_of(node).is_some();
        let (mut steps, there) = path(graph, at, &inside, satisfies).expect(connected);
        at = there;
        if let Some((node, e)) = step_of(there).filter(|_| graph.nodes[there].ready.contains(&thread)) {
            steps.push((node, e));
            at = graph.nodes[node].edges[e].to;
        }
        for (node, e) in steps {
            let edge = graph.nodes[node].edges[e];
            waiting.remove(&edge.thread);
            waiting = &waiting & &ready(edge.to);
            cycle.push((node, e));
        }
    }
    if cycle.is_empty() {
        let any = (0..graph.nodes[at].edges.len()).find(|e| inside((at, *e))).expect(connected);
        cycle.push((at, any));
        at = graph.nodes[at].edges[any].to;
    }
    debug_assert_eq!(component[at], component[start]);
    cycle.extend(path(graph, at, &inside, |node| node == start).expect(connected).0);
    cycle
}

/// A shortest path along these edges to a node that satisfies `goal`, and that node.
fn path(
    graph: &Graph,
    from: usize,
    along: impl Fn(EdgeId) -> bool,
    goal: impl Fn(usize) -> bool,
) -> Option<(Vec<EdgeId>, usize)> {
    let mut reached_by: Vec<Option<EdgeId>> = vec![None; graph.nodes.len()];
    let mut queue = VecDeque::from_iter((from < graph.nodes.len()).then_some(from));
    while let Some(node) = queue.pop_front() {
        if goal(node) {
            let (mut steps, mut back) = (Vec::new(), node);
            while back != from {
                let edge = reached_by[back].expect("every node in the queue but the first was reached by an edge");
                steps.push(edge);
                back = edge.0;
            }
            steps.reverse();
            return Some((steps, node));
        }
        for (e, edge) in graph.nodes[node].edges.iter().enumerate() {
            if edge.to != from && reached_by[edge.to].is_none() && along((node, e)) {
                reached_by[edge.to] = Some((node, e));
                queue.push_back(edge.to);
            }
        }
    }
    None
}

/// The strongly connected component of each node in the graph without progress (Tarjan, with an explicit stack).
fn components(graph: &Graph) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let n = graph.nodes.len();
    let (mut component, mut index, mut low) = (vec![NONE; n], vec![NONE; n], vec![0; n]);
    let (mut open, mut calls, mut visited, mut found) = (Vec::new(), Vec::new(), 0, 0);
    for root in 0..n {
        if index[root] == NONE {
            calls.push((root, 0));
        }
        while let Some((node, edge)) = calls.pop() {
            if edge == 0 {
                index[node] = visited;
                low[node] = visited;
                visited += 1;
                open.push(node);
            } else {
                let done = graph.nodes[node].edges[edge - 1];
                if !done.progress && component[done.to] == NONE {
                    low[node] = low[node].min(low[done.to]);
                }
            }
            if let Some(next) = graph.nodes[node].edges.get(edge) {
                calls.push((node, edge + 1));
                if !next.progress && index[next.to] == NONE {
                    calls.push((next.to, 0));
                }
            } else if low[node] == index[node] {
                while let Some(member) = open.pop() {
                    component[member] = found;
                    if member == node {
                        break;
                    }
                }
                found += 1;
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(rng: &mut fastrand::Rng) -> Graph {
        let n = rng.usize(1..7);
        let node = |rng: &mut fastrand::Rng| {
            let ready: Vec<BufferId> = (0..3).filter(|_| rng.u32(..3) < 2).collect();
            let steps = if ready.is_empty() { 0 } else { rng.usize(..4) };
            let edge = |rng: &mut fastrand::Rng| Edge {
                to: rng.usize(..n),
                thread: ready[rng.usize(..ready.len())],
                progress: rng.u32(..4) == 0,
            };
            let edges = (0..steps).map(|_| edge(rng)).collect();
            Node { ready, edges }
        };
        Graph { nodes: (0..n).map(|_| node(rng)).collect() }
    }

    /// The threads that are not ready in a state, as bits.
    fn not_ready(node: &Node) -> u32 {
        (0..3).filter(|t| !node.ready.contains(t)).map(|t| 1 << t).sum()
    }

    /// The nodes reached from `from`, each with the threads to which the path was fair.
    fn walks(graph: &Graph, from: (usize, u32), take: impl Fn(&Edge) -> bool) -> BTreeSet<(usize, u32)> {
        let mut seen = BTreeSet::new();
        let mut todo = vec![from];
        while let Some((node, fair)) = todo.pop() {
            for edge in graph.nodes[node].edges.iter().filter(|e| take(e)) {
                let next = (edge.to, fair | 1 << edge.thread | not_ready(&graph.nodes[edge.to]));
                if seen.insert(next) {
                    todo.push(next);
                }
            }
        }
        seen
    }

    #[test]
    fn finds_a_fair_cycle_whenever_there_is_one() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut found = 0;
        for _ in 0..5000 {
            let graph = random(&mut rng);
            let on_cycle = |node: usize| {
                let from = (node, not_ready(&graph.nodes[node]));
                walks(&graph, from, |e| !e.progress).contains(&(node, 0b111))
            };
            let mut reachable: BTreeSet<usize> = walks(&graph, (0, 0), |_| true).iter().map(|w| w.0).collect();
            reachable.insert(0);
            let lasso = find(&graph);
            assert_eq!(lasso.is_some(), reachable.into_iter().any(on_cycle), "{graph:?}");
            let Some(lasso) = lasso else { continue };
            found += 1;
            let mut at = 0;
            let mut take = |(node, edge): EdgeId| {
                assert_eq!(node, at);
                at = graph.nodes[node].edges[edge].to;
                graph.nodes[node].edges[edge]
            };
            for id in &lasso.stem {
                take(*id);
            }
            let mut fair = 0;
            for id in &lasso.cycle {
                let edge = take(*id);
                assert!(!edge.progress);
                fair |= 1 << edge.thread | not_ready(&graph.nodes[edge.to]);
            }
            assert_eq!(fair, 0b111);
            assert_eq!(at, lasso.cycle[0].0, "the cycle must close");
        }
        assert!((500..4500).contains(&found), "both answers must occur often: {found}");
    }
}
