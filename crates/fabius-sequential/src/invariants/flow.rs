//! The code of a thread as a graph of places where it may rest, with calls that are no recursion taken in place.
//!
//! A thread rests where others may run, and at the heads of loops (others may then run there too: that is more than there
//! is). A call of a recursive procedure is the beginning of another thread, for which its caller waits; so each frame of a
//! stack is a thread of its own. Which of several that were called from the same place of the text has come to its end, and for
//! which caller, is not known: again more than there is.

use crate::summaries::graph::{Action, END, ENTRY, Graph};
use fabius_lang::program::{Expr, LocalId, ProcId};
use std::collections::{BTreeMap, BTreeSet};

/// What happens between two nodes.
pub enum Move<'p> {
    /// An action of the procedure.
    Act(ProcId, &'p Action<'p>),
    /// A call that is taken in place, and its end.
    Enter {
        caller: ProcId,
        callee: ProcId,
        args: &'p [Expr],
    },
    Leave {
        callee: ProcId,
        values: &'p [Expr],
        caller: ProcId,
        results: &'p [Option<LocalId>],
    },
    /// A call of a recursive procedure: the caller waits.
    Begin {
        caller: ProcId,
        body: Body,
        args: &'p [Expr],
    },
    /// A recursive procedure has come to its end.
    End {
        callee: ProcId,
        values: &'p [Expr],
    },
    /// Nobody is called any more.
    Finish,
}

/// A control point of a thread.
#[derive(Default)]
pub struct Node<'p> {
    pub moves: Vec<(Move<'p>, usize)>,
    /// The locals that matter here, of all frames.
    pub live: BTreeSet<(ProcId, LocalId)>,
    pub checks: Vec<(ProcId, &'p Expr)>,
    /// A thread may rest here.
    pub is_place: bool,
    /// A recursive procedure has come to its end here: its results matter.
    pub ends: Option<ProcId>,
    /// Whether it waits here for the end of another one, or has finished: nothing is done.
    pub rests: bool,
}

/// Whether recursive procedures are the same wherever they are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// They are.
    Shared,
    /// Each place of the text that calls one has its own.
    Own,
}

/// A recursive procedure, as it is called, perhaps from one place of the text.
pub type Body = (ProcId, Option<(ProcId, usize)>);

/// Where a thread waits for the end of a procedure, and where it then goes on.
pub struct Wait<'p> {
    pub at: usize,
    pub body: Body,
    pub caller: ProcId,
    pub results: &'p [Option<LocalId>],
    pub then: usize,
}

/// All threads.
pub struct Flow<'p> {
    pub nodes: Vec<Node<'p>>,
    pub waits: Vec<Wait<'p>>,
    how: Bodies,
    /// The procedures that are recursive.
    pub recursive: BTreeSet<ProcId>,
    /// Where each of them begins and ends.
    pub bodies: BTreeMap<Body, (usize, usize)>,
}

/// Where a call goes on.
#[derive(Clone, Copy)]
struct Back<'p> {
    caller: ProcId,
    results: &'p [Option<LocalId>],
    to: usize,
}

/// What comes behind a procedure.
#[derive(Clone, Copy)]
enum After<'p> {
    Back(Back<'p>),
    /// The node where it has ended.
    End(usize),
    Finish,
}

/// Nodes at most.
const MOST: usize = 4096;

/// Where all threads end.
const FINISHED: usize = 0;

impl<'p> Flow<'p> {
    /// Where threads end; these procedures are run.
    pub fn new(graphs: &'p [Graph<'p>], reachable: &BTreeSet<ProcId>, how: Bodies) -> Flow<'p> {
        let finished = Node { is_place: true, rests: true, ..Node::default() };
        let called = |p: ProcId| callees(&graphs[p]);
        let recursive = reachable.iter().copied().filter(|p| closed(called(*p), &called).contains(p)).collect();
        Flow { nodes: vec![finished], waits: Vec::new(), how, recursive, bodies: BTreeMap::new() }
    }

    /// Adds a thread that runs this procedure; returns where it begins. `None` if it is too large.
    pub fn thread(&mut self, graphs: &'p [Graph<'p>], p: ProcId) -> Option<usize> {
        let begin = if self.recursive.contains(&p) {
            self.recursion(graphs, (p, None))?
        } else {
            self.body(graphs, p, After::Finish, &BTreeSet::new())?
        };
        self.nodes[begin].is_place = true;
        Some(begin)
    }

    /// Adds a recursive procedure, if it is not there; returns where it begins.
    fn recursion(&mut self, graphs: &'p [Graph<'p>], body: Body) -> Option<usize> {
        if let Some((begin, _)) = self.bodies.get(&body) {
            return Some(*begin);
        }
        let end = self.nodes.len();
        self.nodes.push(Node { is_place: true, ends: Some(body.0), rests: true, ..Node::default() });
        // Its beginning is where its graph will be.
        let begin = self.nodes.len() + ENTRY;
        self.bodies.insert(body, (begin, end));
        let begun = self.body(graphs, body.0, After::End(end), &BTreeSet::new())?;
        debug_assert_eq!(begin, begun);
        self.nodes[begin].is_place = true;
        Some(begin)
    }

    fn body(
        &mut self,
        graphs: &'p [Graph<'p>],
        p: ProcId,
        after: After<'p>,
        outer: &BTreeSet<(ProcId, LocalId)>,
    ) -> Option<usize> {
        let (graph, base) = (&graphs[p], self.nodes.len());
        if base + graph.live.len() > MOST {
            return None;
        }
        for live in &graph.live {
            let mut node = Node { live: outer.clone(), ..Node::default() };
            node.live.extend(live.iter().enumerate().filter(|(_, is)| **is).map(|(l, _)| (p, l)));
            self.nodes.push(node);
        }
        for check in &graph.checks {
            self.nodes[base + check.at].checks.push((p, check.expr));
        }
        for (at, edge) in graph.edges.iter().enumerate().flat_map(|(at, edges)| edges.iter().map(move |e| (at, e))) {
            let to = base + edge.to;
            let (what, to) = match &edge.action {
                Action::Call(results, q, args) => {
                    let mut live = self.nodes[to].live.clone();
                    results.iter().flatten().for_each(|l| {
                        live.remove(&(p, *l));
                    });
                    if self.recursive.contains(q) {
                        let site = (self.how == Bodies::Own).then_some((p, at));
                        let (body, waits) = ((*q, site), self.nodes.len());
                        self.nodes.push(Node { live, is_place: true, rests: true, ..Node::default() });
                        self.nodes[to].is_place = true;
                        self.waits.push(Wait { at: waits, body, caller: p, results, then: to });
                        self.recursion(graphs, body)?;
                        (Move::Begin { caller: p, body, args }, waits)
                    } else {
                        let entry = self.body(graphs, *q, After::Back(Back { caller: p, results, to }), &live)?;
                        (Move::Enter { caller: p, callee: *q, args }, entry)
                    }
                }
                Action::Return(values) if edge.to == END => match after {
                    After::Back(Back { caller, results, to }) => {
                        (Move::Leave { callee: p, values, caller, results }, to)
                    }
                    After::End(end) => (Move::End { callee: p, values }, end),
                    After::Finish => (Move::Finish, FINISHED),
                },
                action => {
                    self.nodes[to].is_place |= matches!(action, Action::Zield);
                    (Move::Act(p, action), to)
                }
            };
            self.nodes[base + at].moves.push((what, to));
        }
        Some(base + ENTRY)
    }

    /// Makes a place of each head of a loop; then an order of all nodes in which every other edge leads forward.
    pub fn ordered(&mut self) -> Vec<usize> {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            Not,
            Begun,
            Done,
        }
        let mut seen = vec![Seen::Not; self.nodes.len()];
        let mut order = Vec::new();
        for root in 0..self.nodes.len() {
            if seen[root] != Seen::Not {
                continue;
            }
            let mut stack = vec![(root, 0)];
            seen[root] = Seen::Begun;
            while let Some((at, next)) = stack.last_mut() {
                let Some((_, to)) = self.nodes[*at].moves.get(*next) else {
                    seen[*at] = Seen::Done;
                    order.push(*at);
                    stack.pop();
                    continue;
                };
                *next += 1;
                let to = *to;
                match seen[to] {
                    Seen::Not => {
                        seen[to] = Seen::Begun;
                        stack.push((to, 0));
                    }
                    Seen::Begun => self.nodes[to].is_place = true,
                    Seen::Done => {}
                }
            }
        }
        order.reverse();
        order
    }
}

/// The procedures that one calls.
pub fn callees(graph: &Graph<'_>) -> BTreeSet<ProcId> {
    let calls = |action: &Action<'_>| match action {
        Action::Call(_, p, _) => Some(*p),
        _ => None,
    };
    graph.edges.iter().flatten().filter_map(|e| calls(&e.action)).collect()
}

/// These, and all that they call.
pub fn closed(from: BTreeSet<ProcId>, called: &dyn Fn(ProcId) -> BTreeSet<ProcId>) -> BTreeSet<ProcId> {
    let mut all = from.clone();
    let mut todo: Vec<ProcId> = from.into_iter().collect();
    while let Some(p) = todo.pop() {
        todo.extend(called(p).into_iter().filter(|q| all.insert(*q)));
    }
    all
}
