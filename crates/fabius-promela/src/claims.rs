//! `never` claims: automata of what no execution does. A claim reads each state of an execution and goes on by a statement that can be
//! done in it; what it accepts, and what it comes to its end with, is a violation.

use crate::ast::Claim;
use crate::automata::condition;
use crate::graph::{END, Edge, Graph, NodeId};
use crate::lower::*;
use crate::refusal::{Result, unsupported};
use fabius_lang::program::*;
use fabius_lang::walk;
use fabius_trace::{AutomatonMove, AutomatonState, Span};

/// Statements of one `atomic` behind each other.
const LONGEST: usize = 100;

/// What has to hold of a state that is read.
type When = Vec<(ConditionId, bool)>;

impl Lower {
    /// The automaton of a claim; it begins in its first state.
    pub fn claim(&mut self, claim: &Claim, conditions: &mut Vec<Expr>) -> Result<Vec<AutomatonState>> {
        self.body = crate::lower::Body { claims: true, ..Default::default() };
        let graph = self.graph(&claim.body, None)?;
        self.body = crate::lower::Body::default();
        // The first state is that of where the claim begins; the others are those of the nodes.
        let state = |node: NodeId| node + 1;
        let mut states = vec![AutomatonState::default(); graph.nodes.len() + 1];
        for node in 0..graph.nodes.len() {
            let mut moves = Vec::new();
            let mut reading = Reading { graph: &graph, conditions, moves: &mut moves };
            reading.from(node, Vec::new(), 0)?;
            for (when, to) in moves {
                states[state(node)].moves.push(AutomatonMove { when, to: state(to) });
            }
            states[state(node)].accepts = graph.nodes[node].accepts;
        }
        // Who has come to the end has seen enough.
        states[state(END)] =
            AutomatonState { accepts: true, moves: vec![AutomatonMove { when: Vec::new(), to: state(END) }] };
        states[0] = states[state(graph.entry)].clone();
        Ok(states)
    }
}

/// The moves of an automaton from one node.
struct Reading<'a> {
    graph: &'a Graph,
    conditions: &'a mut Vec<Expr>,
    moves: &'a mut Vec<(When, NodeId)>,
}

impl Reading<'_> {
    /// What is done from a node in the state that is read; that of `atomic` is done at once.
    fn from(&mut self, node: NodeId, when: When, depth: usize) -> Result<()> {
        if depth > LONGEST {
            return Err(unsupported(self.graph.nodes[node].span, "a loop inside of `atomic` in a claim"));
        }
        for edge in &self.graph.nodes[node].edges {
            let mut when = when.clone();
            if let Some(guard) = &edge.guard {
                when.push(self.looks(guard, edge.span)?);
            }
            if let Some(asserted) = asserted(edge)? {
                let (id, holds) = self.looks(asserted, edge.span)?;
                self.moves.push((when.iter().copied().chain([(id, !holds)]).collect(), END));
                when.push((id, holds));
            }
            if !self.graph.keeps(edge) {
                self.moves.push((when, edge.to));
                continue;
            }
            if self.graph.waits(edge.to) {
                let span = self.graph.nodes[edge.to].span;
                return Err(unsupported(span, "a wait in the middle of `atomic` in a claim")
                    .help("leave `atomic` out, or write a formula: `ltl p { [] e }`"));
            }
            self.from(edge.to, when, depth + 1)?;
        }
        Ok(())
    }

    fn looks(&mut self, e: &Expr, span: Span) -> Result<(ConditionId, bool)> {
        let mut is_own = false;
        walk::each(e, &mut |e| {
            is_own |= matches!(&e.kind, ExprKind::Read(Place { base: Base::Local(_), .. }));
        });
        match is_own {
            true => Err(has_effects(span)),
            false => Ok(condition(e, self.conditions)),
        }
    }
}

/// What a statement of a claim asserts.
fn asserted(edge: &Edge) -> Result<Option<&Expr>> {
    let mut effects = edge.effect.iter().filter(|s| !matches!(s.kind, StmtKind::Print(_) | StmtKind::Progress));
    match (effects.next().map(|s| &s.kind), effects.next(), &edge.meet) {
        (None, _, None) => Ok(None),
        (Some(StmtKind::Assert(e, ..)), None, None) => Ok(Some(e)),
        _ => Err(has_effects(edge.span)),
    }
}

fn has_effects(span: Span) -> crate::refusal::Refusal {
    unsupported(span, "a claim that has variables, or changes some")
        .help("let it look at global variables alone, or write a formula: `ltl p { [] e }`")
}
