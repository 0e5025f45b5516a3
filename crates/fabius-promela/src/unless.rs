//! What goes before the statements of a process: `unless` and `provided`.
//!
//! In front of each statement of the main part of `unless` the process may be where what it is left for begins, and then
//! that is what it does. Of several around each other the outermost goes first.

use crate::ast::Stmt as Statement;
use crate::emit::any;
use crate::graph::{Edge, Node, NodeId, Stands};
use crate::lower::Lower;
use crate::refusal::{Result, unsupported};
use fabius_lang::build::*;
use fabius_lang::program::*;
use fabius_trace::Span;

impl Lower {
    /// Whether there are channels without room: who may go on there is known only when all processes are.
    fn meets_somewhere(&self) -> bool {
        self.groups.iter().any(|g| g.hands_over)
    }

    /// `{ main } unless { escape }`.
    pub fn unless(
        &mut self,
        main: &Statement,
        escape: &Statement,
        (at, next): (NodeId, NodeId),
        stands: Stands,
        span: Span,
    ) -> Result<()> {
        if self.body.d_step > 0 {
            return Err(unsupported(span, "`unless` inside of `d_step`").help("write `atomic`"));
        }
        if self.meets_somewhere() {
            return Err(unsupported(span, "`unless` in a program with channels without room").help("give them room"));
        }
        let first = self.node(escape.span);
        self.sequence(std::slice::from_ref(escape), first, next, Stands::First)?;
        self.body.within.push(self.body.escapes.len());
        self.body.escapes.push(first);
        self.sequence(std::slice::from_ref(main), at, next, stands)?;
        self.body.within.pop();
        Ok(())
    }

    /// `provided (e)`, which speaks of global variables and the number of the process.
    pub fn provided(&mut self, e: &crate::ast::Expr) -> Result<Expr> {
        if self.meets_somewhere() {
            return Err(
                unsupported(e.span, "`provided` in a program with channels without room").help("give them room")
            );
        }
        self.condition(e)
    }
}

/// Adds to the graph of a process what goes before its statements.
pub fn complete(nodes: &mut [Node], escapes: &[NodeId], provided: Option<Expr>) -> Result<()> {
    let first: Vec<Vec<Edge>> = escapes.iter().map(|n| nodes[*n].edges.clone()).collect();
    let left_for = |within: &[usize]| within.iter().map(|n| any(&first[*n])).reduce(or);
    for node in nodes.iter_mut().filter(|node| !node.d_step) {
        // The outermost first. Options of one selection are left together.
        let within = node.edges.iter().map(|e| &e.within).max_by_key(|w| w.len()).cloned().unwrap_or_default();
        if let Some(edge) = node.edges.iter().find(|e| !within.starts_with(&e.within)) {
            return Err(unsupported(edge.span, "two options of a selection that begin with an `unless`")
                .help("put one `unless` behind the whole selection"));
        }
        for edge in &mut node.edges {
            node.open |= edge.guard.is_none() && !within.is_empty();
            narrow(edge, left_for(&within).map(not));
        }
        for (n, id) in within.iter().enumerate() {
            for mut edge in first[*id].iter().cloned() {
                narrow(&mut edge, left_for(&within[..n]).map(not));
                node.edges.push(edge);
            }
        }
        if !within.is_empty() {
            node.edges.retain(|e| e.guard.as_ref().and_then(value_of) != Some(0));
        }
        if let Some(provided) = &provided {
            node.open = false;
            node.edges.iter_mut().for_each(|edge| narrow(edge, Some(provided.clone())));
        }
    }
    Ok(())
}

/// Lets a statement be done only where something holds, which is asked first.
fn narrow(edge: &mut Edge, holds: Option<Expr>) {
    edge.guard = match (holds, edge.guard.take()) {
        (Some(holds), Some(own)) => Some(and(holds, own)),
        (holds, own) => holds.or(own),
    };
}
