//! Processes as graphs: where a process may stand, and what leads from there.

use fabius_lang::program::{Block, Expr};
use fabius_trace::Span;

/// Where a process stands.
pub type NodeId = usize;

/// The end of a process.
pub const END: NodeId = 0;

/// A place in a process between two statements.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// What may be done next.
    pub edges: Vec<Edge>,
    /// In the middle of `atomic`: who comes here with control keeps it.
    pub inside: bool,
    /// In the middle of `d_step`, where nobody may wait.
    pub d_step: bool,
    /// Something can always be done: there is an `else`.
    pub open: bool,
    /// To wait here for ever is no deadlock.
    pub end: bool,
    /// What is done from here is progress.
    pub progress: bool,
    /// A claim that is here again and again accepts.
    pub accepts: bool,
    /// Where the statement stands.
    pub span: Span,
}

/// Where a statement stands: what leads to it alone may be left out, but not what decides among options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    Alone,
    /// The first of an option.
    First,
}

/// One statement of a process.
#[derive(Clone, Debug)]
pub struct Edge {
    /// When it can be done; `None`: always.
    pub guard: Option<Expr>,
    /// What it does.
    pub effect: Block,
    pub to: NodeId,
    /// Inside of `atomic` or `d_step`.
    pub atomic: bool,
    /// Where it stands.
    pub span: Span,
    /// `else`: it is done if nothing else can be done here, which is known when the graph is complete.
    pub other: bool,
    /// What it hands over, or is handed.
    pub meet: Option<Meet>,
    /// The numbers of the `unless` in whose main parts it stands.
    pub within: Vec<usize>,
}

/// What is done with a channel without room.
#[derive(Clone, Debug)]
pub enum Meet {
    /// The number of the channel, and the message.
    Send { channel: Expr, values: Vec<Expr> },
    /// The number of the channel, and what the message has to have.
    Receive { channel: Expr, wanted: Vec<Option<Expr>> },
}

/// The graph of a process. It begins at `entry`.
#[derive(Clone, Debug)]
pub struct Graph {
    pub nodes: Vec<Node>,
    pub entry: NodeId,
}

impl Graph {
    /// Whether a process that has made this step goes on at once.
    pub fn keeps(&self, edge: &Edge) -> bool {
        edge.atomic && self.nodes[edge.to].inside
    }

    /// Whether a process may have to wait here.
    pub fn waits(&self, node: NodeId) -> bool {
        !self.nodes[node].open && self.nodes[node].edges.iter().all(|e| e.guard.is_some())
    }

    /// Whether nothing is ever done here again.
    pub fn is_over(&self, node: NodeId) -> bool {
        node == END || self.nodes[node].end && self.nodes[node].edges.is_empty()
    }
}
