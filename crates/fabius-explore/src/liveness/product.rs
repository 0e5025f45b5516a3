//! The product of a graph and an automaton: an execution, and where the automaton is that reads it.
//!
//! Paper: An Automata-Theoretic Approach to Automatic Program Verification (Vardi and Wolper, LICS 1986).
//!
//! Who is ready and who steps is the same as in the graph, so that fairness is, too.

use super::{Edge, EdgeId, Graph, Lasso, Node, Over, Violation};
use crate::search::Cut;
use fabius_trace::{Automaton, FairThreads, Formula};
use std::collections::{BTreeSet, HashMap};

/// After so many nodes the clock is looked at.
const OFTEN: usize = 1 << 12;

struct Product {
    graph: Graph,
    /// The node of the original graph that a node is of.
    of: Vec<usize>,
    /// The step of the original graph that a step is.
    steps: Vec<Vec<usize>>,
}

/// Finds a fair path that the automaton accepts, with a shortest stem.
pub(super) fn find(
    graph: &Graph,
    automaton: &Automaton,
    fairness: FairThreads,
    over: Over<'_>,
) -> Result<Option<Lasso>, Cut> {
    let product = product(graph, automaton, over)?;
    // That it is not in an accepting state is the one condition.
    let what = Violation::Property(Formula::EventuallyAlways(0), fairness);
    let lasso = super::find(&product.graph, &what, over)?;
    let original = |(node, edge): &EdgeId| (product.of[*node], product.steps[*node][*edge]);
    Ok(lasso.map(|lasso| Lasso {
        stem: lasso.stem.iter().map(original).collect(),
        cycle: lasso.cycle.iter().map(original).collect(),
    }))
}

/// The nodes are pairs of a state and where the automaton is before it has read it.
fn product(graph: &Graph, automaton: &Automaton, over: Over<'_>) -> Result<Product, Cut> {
    let mut numbers: HashMap<(usize, usize), usize> = HashMap::new();
    let mut product = Product { graph: Graph { nodes: vec![Node::default()] }, of: vec![0], steps: vec![Vec::new()] };
    let (mut open, mut looked_at) = (vec![(0, 0, 0)], 0);
    while let Some((number, state, at)) = open.pop() {
        looked_at += 1;
        if looked_at % OFTEN == 0 {
            over()?;
        }
        let next: BTreeSet<usize> = match state {
            0 => BTreeSet::from([0]),
            _ => automaton.next(at, &graph.nodes[state].holds).collect(),
        };
        for (step, edge) in graph.nodes[state].edges.iter().enumerate() {
            for at in &next {
                let to = *numbers.entry((edge.to, *at)).or_insert_with(|| {
                    let node = &graph.nodes[edge.to];
                    let accepts = match node.ready.is_empty() {
                        true => accepts_for_ever(automaton, *at, &node.holds),
                        false => automaton.states[*at].accepts,
                    };
                    let (ready, origins) = (node.ready.clone(), node.origins.clone());
                    product.graph.nodes.push(Node { ready, origins, edges: Vec::new(), holds: vec![!accepts] });
                    product.of.push(edge.to);
                    product.steps.push(Vec::new());
                    open.push((product.of.len() - 1, edge.to, *at));
                    product.of.len() - 1
                });
                product.graph.nodes[number].edges.push(Edge { to, ..*edge });
                product.steps[number].push(step);
            }
        }
    }
    Ok(product)
}

/// Whether the automaton accepts from one of its states, if it reads the same again and again.
fn accepts_for_ever(automaton: &Automaton, from: usize, holds: &[bool]) -> bool {
    let reached = |from: usize| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            open.extend(automaton.next(at, holds).filter(|to| seen.insert(*to)));
        }
        seen
    };
    let all = std::iter::once(from).chain(reached(from));
    all.into_iter().any(|q| automaton.states[q].accepts && reached(q).contains(&q))
}
