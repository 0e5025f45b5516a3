//! From the graph of a process to statements.
//!
//! What is done from one place where others may come in between up to the next is one atomic block. A place with several ways
//! to it is numbered, and found again by the number in a loop around all; the rest stands where it is led to.

use crate::graph::{END, Graph, NodeId};
use crate::lower::{BYTE, assign, global, local};
use fabius_lang::build::*;
use fabius_lang::program::*;
use fabius_trace::Span;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What the front end makes up is in no source text.
const NOWHERE: Span = Span { start: 0, end: 0 };

/// What statements are made with.
pub struct Emit<'a> {
    pub graph: &'a Graph,
    pub locals: &'a mut Vec<Local>,
    /// What holds in all states, and which globals it reads.
    pub invariants: &'a [(Stmt, BTreeSet<GlobalId>)],
    /// What is said of a place by who comes to wait there, and by who leaves it.
    pub places: &'a HashMap<NodeId, (Block, Block)>,
    /// Locals that say where the process goes on, once they are needed.
    pub ways: HashMap<Says, LocalId>,
    /// The places of all waits, and whether they may last for ever.
    pub waits: &'a mut Vec<(Span, bool)>,
    /// Where processes leave: the count of those that there are, the local with the number of this one, and a place in the text.
    pub leaves: Option<(GlobalId, LocalId, Span)>,
    /// What becomes of its variables that others look at, when it leaves.
    pub forgets: Block,
    /// Somebody counts the steps, also those that nobody else sees: a claim.
    pub counts_steps: bool,
}

/// What a local says of where the process goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Says {
    /// The number of the place.
    At,
    /// Whether the process goes on with control.
    Held,
    /// Which of several statements is done.
    Picked,
}

/// Where a process may stand.
struct Ways {
    /// Places where others may come in between, and where the process may stand next.
    stops: BTreeMap<NodeId, BTreeSet<NodeId>>,
    /// Those of them that are numbered.
    numbered: BTreeSet<NodeId>,
}

/// What a process does between two places where others may come in between.
struct Region {
    /// Places with control that have several ways to them, each behind those that lead to it if there is no circle.
    joins: Vec<NodeId>,
    circle: bool,
    /// Where the process may stand next.
    next: BTreeSet<NodeId>,
}

impl Emit<'_> {
    /// The statements of a process.
    pub fn body(mut self) -> Block {
        let ways = self.ways();
        let graph = self.graph;
        let entry = graph.entry;
        if ways.numbered.is_empty() {
            return self.from(entry, &ways);
        }
        let numbered: Vec<NodeId> = ways.numbered.iter().copied().collect();
        let all: Vec<(NodeId, Block)> = numbered.iter().map(|n| (*n, self.from(*n, &ways))).collect();
        let body = self.dispatch(all);
        let around = stmt(StmtKind::While(Guard::Expr(boolean(true, NOWHERE)), body), NOWHERE);
        if ways.numbered.contains(&entry) {
            return vec![self.go(entry), around];
        }
        let mut block = self.from(entry, &ways);
        block.push(around);
        block
    }

    fn ways(&self) -> Ways {
        let mut stops: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
        let mut open = vec![self.graph.entry];
        while let Some(node) = open.pop() {
            if let Entry::Vacant(unknown) = stops.entry(node) {
                open.extend(unknown.insert(self.region(node).next).iter());
            }
        }
        let mut led_to: BTreeMap<NodeId, usize> = BTreeMap::from([(self.graph.entry, 1)]);
        stops.values().flatten().for_each(|next| *led_to.entry(*next).or_default() += 1);
        let many = led_to.into_iter().filter(|(n, count)| *count > 1 && !self.graph.is_over(*n));
        Ways { numbered: many.map(|(n, _)| n).collect(), stops }
    }

    fn region(&self, start: NodeId) -> Region {
        let graph = self.graph;
        let (mut led_to, mut next) = (BTreeMap::<NodeId, usize>::new(), BTreeSet::new());
        // Backwards by the end of the visit: each behind those that lead to it.
        let (mut finished, mut on_path, mut circle) = (Vec::new(), BTreeSet::new(), false);
        let mut open = vec![(start, false, 0)];
        while let Some((node, held, edge)) = open.pop() {
            if edge == 0 && held {
                on_path.insert(node);
                if graph.waits(node) && !graph.nodes[node].d_step {
                    next.insert(node);
                }
            }
            let Some(e) = graph.nodes[node].edges.get(edge) else {
                if held {
                    on_path.remove(&node);
                    finished.push(node);
                }
                continue;
            };
            open.push((node, held, edge + 1));
            if !graph.keeps(e) {
                next.insert(e.to);
                continue;
            }
            circle |= on_path.contains(&e.to);
            let count = led_to.entry(e.to).or_default();
            *count += 1;
            if *count == 1 {
                open.push((e.to, true, 0));
            }
        }
        finished.reverse();
        finished.retain(|n| led_to[n] > 1);
        Region { joins: finished, circle, next }
    }

    /// What is done from a place on, up to a numbered one.
    fn from(&mut self, start: NodeId, ways: &Ways) -> Block {
        let mut out = Block::new();
        let mut node = start;
        loop {
            if self.graph.is_over(node) {
                if node == END {
                    out.extend(self.leave());
                }
                out.push(stmt(StmtKind::Return(Vec::new()), NOWHERE));
                return out;
            }
            out.push(self.step(node, ways));
            let next: Vec<NodeId> = ways.stops[&node].iter().copied().collect();
            match next.as_slice() {
                // It waits for ever.
                [] => return out,
                [one] if ways.numbered.contains(one) => {
                    out.push(self.go(*one));
                    return out;
                }
                [one] => node = *one,
                many => {
                    let here = many.iter().filter(|n| !ways.numbered.contains(n));
                    let here: Vec<(NodeId, Block)> = here.map(|n| (*n, self.from(*n, ways))).collect();
                    let mut rest = Block::new();
                    for (n, block) in here.into_iter().rev() {
                        rest = vec![either(self.stands(n), block, rest)];
                    }
                    out.extend(rest);
                    return out;
                }
            }
        }
    }

    /// A process that has ended leaves, in a step of its own, when all younger ones have left; as for SPIN. Its number is free again then.
    fn leave(&mut self) -> Option<Stmt> {
        let (count, pid, span) = self.leaves?;
        self.waits.push((span, true));
        let all = global(count, BYTE, NOWHERE);
        let less = binary(BinaryOp::Sub, read(all.clone()), constant(1, BYTE, NOWHERE));
        let youngest = binary(BinaryOp::Eq, read(local(pid, BYTE, NOWHERE)), less.clone());
        let mut block = vec![stmt(StmtKind::Await(youngest), span), assign(all, less, NOWHERE)];
        block.extend(self.forgets.iter().cloned());
        let forgets = |reads: &BTreeSet<GlobalId>| {
            let place = |s: &Stmt| fabius_lang::walk::written(s).map(|p| p.base.clone());
            self.forgets.iter().filter_map(place).any(|base| matches!(base, Base::Global(g) if reads.contains(&g)))
        };
        block.extend(self.invariants.iter().filter(|(_, reads)| forgets(reads)).map(|(s, _)| s.clone()));
        Some(stmt(StmtKind::Atomic(block), span))
    }

    /// One step: up to where others may come in between.
    fn step(&mut self, start: NodeId, ways: &Ways) -> Stmt {
        let region = self.region(start);
        let graph = self.graph;
        let node = &graph.nodes[start];
        let mut block = Block::new();
        let waits = graph.waits(start);
        if waits {
            let span = if node.edges.len() == 1 { node.edges[0].span } else { node.span };
            self.waits.push((span, node.end));
            block.push(stmt(StmtKind::Await(any(&node.edges)), span));
        }
        block.extend(self.places.get(&start).into_iter().flat_map(|(_, leaves)| leaves.iter().cloned()));
        block.extend(self.choice(start, &region));
        if !region.joins.is_empty() {
            let joins: Vec<(NodeId, Block)> = region.joins.iter().map(|n| (*n, self.held(*n, &region))).collect();
            let mut out = Block::new();
            if region.circle {
                let mut body = vec![self.set(Says::Held, 0)];
                body.extend(self.dispatch(joins));
                let held = read(self.local(Says::Held));
                out.push(stmt(StmtKind::While(Guard::Expr(held), body), NOWHERE));
            } else {
                for (n, mut body) in joins {
                    body.insert(0, self.set(Says::Held, 0));
                    let here = and(read(self.local(Says::Held)), self.stands(n));
                    out.push(either(here, body, Block::new()));
                }
            }
            block.extend(out);
        }
        let (mut written, mut alone) = (BTreeSet::new(), true);
        fabius_lang::walk::statements(&block, &mut |s| {
            alone &= !matches!(s.kind, StmtKind::Spawn(..));
            alone &= fabius_lang::walk::expressions(s).into_iter().all(|e| globals_of(e).is_empty());
            if let StmtKind::Assign(p, _) | StmtKind::Any(p, ..) = &s.kind
                && let Base::Global(g) = p.base
            {
                written.insert(g);
            }
        });
        if alone && written.is_empty() && !waits && (self.counts_steps || ways.numbered.contains(&start)) {
            // A circle of steps that touch nothing shared can be left by others, too.
            block.insert(0, stmt(StmtKind::Await(boolean(true, NOWHERE)), NOWHERE));
        }
        let broken = self.invariants.iter().filter(|(_, reads)| !reads.is_disjoint(&written));
        block.extend(broken.map(|(s, _)| s.clone()));
        stmt(StmtKind::Atomic(block), if node.edges.len() == 1 { node.edges[0].span } else { node.span })
    }

    /// What is done in a place to which the process comes with control.
    fn held(&mut self, node: NodeId, region: &Region) -> Block {
        let block = self.choice(node, region);
        if !self.graph.waits(node) {
            return block;
        }
        let here = &self.graph.nodes[node];
        let stays = match here.d_step {
            true => {
                let never = StmtKind::Assert(
                    boolean(false, here.span),
                    Check::Assertion,
                    Some("nothing can be done inside of `d_step`".into()),
                );
                vec![stmt(never, here.span)]
            }
            false => self.stop(node, region),
        };
        vec![either(any(&here.edges), block, stays)]
    }

    /// Others may come in between, here.
    fn stop(&mut self, node: NodeId, region: &Region) -> Block {
        let mut out = self.places.get(&node).map(|(arrives, _)| arrives.clone()).unwrap_or_default();
        if region.next.len() > 1 {
            out.push(self.go(node));
        }
        out
    }

    /// One of the statements that can be done is.
    fn choice(&mut self, node: NodeId, region: &Region) -> Block {
        let graph = self.graph;
        let edges = &graph.nodes[node].edges;
        let mut taken: Vec<Block> = edges
            .iter()
            .map(|e| {
                let mut block = e.effect.clone();
                if edges.len() > 1 && block.first().is_none_or(|s| s.span != e.span) {
                    // So that a trace tells which it is.
                    let marker = StmtKind::If(Guard::Expr(boolean(true, e.span)), Block::new(), Block::new());
                    block.insert(0, stmt(marker, e.span));
                }
                block
            })
            .collect();
        for (e, block) in edges.iter().zip(&mut taken) {
            block.extend(self.behind(e.to, graph.keeps(e), region));
        }
        if edges.len() == 2 && is_other(edges[1].guard.as_ref(), edges[0].guard.as_ref()) {
            let no = taken.pop().unwrap_or_default();
            let yes = taken.pop().unwrap_or_default();
            return vec![either(edges[0].guard.clone().unwrap_or_else(|| boolean(true, NOWHERE)), yes, no)];
        }
        if edges.len() <= 1 {
            return taken.pop().unwrap_or_default();
        }
        let mut out = vec![self.set(Says::Picked, 0)];
        for (n, e) in edges.iter().enumerate() {
            let open = self.is(Says::Picked, BinaryOp::Eq, 0);
            let take = vec![self.set(Says::Picked, n as i64 + 1)];
            let inner = match edges.get(n + 1..) {
                None | Some([]) => take,
                Some(others) => {
                    let perhaps = vec![stmt(StmtKind::If(Guard::Star, take.clone(), Block::new()), NOWHERE)];
                    match others.iter().any(|e| e.guard.is_none()) {
                        true => perhaps,
                        false => vec![either(any(others), perhaps, take)],
                    }
                }
            };
            let can = e.guard.clone().unwrap_or_else(|| boolean(true, NOWHERE));
            out.push(either(and(open, can), inner, Block::new()));
        }
        let mut rest = Block::new();
        for (n, block) in taken.into_iter().enumerate().rev() {
            // It is one of them.
            rest = match rest.is_empty() && n + 1 == edges.len() {
                true => block,
                false => vec![either(self.is(Says::Picked, BinaryOp::Eq, n + 1), block, rest)],
            };
        }
        out.extend(rest);
        out
    }

    /// What follows a statement within its step.
    fn behind(&mut self, to: NodeId, keeps: bool, region: &Region) -> Block {
        if !keeps {
            return self.stop(to, region);
        }
        if region.joins.contains(&to) {
            return vec![self.go(to), self.set(Says::Held, 1)];
        }
        self.held(to, region)
    }

    /// Finds the block of the place where the process stands.
    fn dispatch(&mut self, mut all: Vec<(NodeId, Block)>) -> Block {
        all.sort_by_key(|(n, _)| *n);
        if all.len() == 1 {
            return all.pop().map(|(_, block)| block).unwrap_or_default();
        }
        let upper = all.split_off(all.len() / 2);
        let Some(least) = upper.first().map(|(n, _)| *n) else { return Block::new() };
        let below = self.is(Says::At, BinaryOp::Lt, least);
        let (lower, upper) = (self.dispatch(all), self.dispatch(upper));
        vec![either(below, lower, upper)]
    }

    /// The local that says something.
    fn local(&mut self, says: Says) -> Place {
        let (name, ty) = match says {
            Says::At => ("$at", Type::Range(0, self.graph.nodes.len() as i64 - 1)),
            Says::Held => ("$held", Type::Bool),
            Says::Picked => {
                let most = self.graph.nodes.iter().map(|n| n.edges.len()).max().unwrap_or(0);
                ("$picked", Type::Range(0, most as i64))
            }
        };
        let locals = &mut *self.locals;
        let id = *self.ways.entry(says).or_insert_with(|| {
            locals.push(Local { name: name.into(), ty: ty.clone() });
            locals.len() - 1
        });
        Place { base: Base::Local(id), path: Vec::new(), ty, span: NOWHERE }
    }

    fn set(&mut self, says: Says, n: i64) -> Stmt {
        let place = self.local(says);
        let value = constant(n, place.ty.clone(), NOWHERE);
        stmt(StmtKind::Assign(place, value), NOWHERE)
    }

    fn is(&mut self, says: Says, op: BinaryOp, n: usize) -> Expr {
        let place = self.local(says);
        let number = constant(n as i64, place.ty.clone(), NOWHERE);
        binary(op, read(place), number)
    }

    fn go(&mut self, node: NodeId) -> Stmt {
        self.set(Says::At, node as i64)
    }

    fn stands(&mut self, node: NodeId) -> Expr {
        self.is(Says::At, BinaryOp::Eq, node)
    }
}

fn either(condition: Expr, yes: Block, no: Block) -> Stmt {
    stmt(StmtKind::If(Guard::Expr(condition), yes, no), NOWHERE)
}

/// Whether one of these statements can be done.
pub fn any(edges: &[crate::graph::Edge]) -> Expr {
    let guards = edges.iter().map(|e| e.guard.clone().unwrap_or_else(|| boolean(true, e.span)));
    guards.reduce(or).unwrap_or_else(|| boolean(false, NOWHERE))
}

/// Whether a guard is that of `else` beside another.
fn is_other(no: Option<&Expr>, yes: Option<&Expr>) -> bool {
    match (no, yes) {
        (Some(no), Some(yes)) => *no == not(yes.clone()),
        _ => false,
    }
}

/// Which globals an expression reads.
pub fn globals_of(e: &Expr) -> BTreeSet<GlobalId> {
    let mut found = BTreeSet::new();
    fabius_lang::walk::each(e, &mut |e| {
        if let ExprKind::Read(Place { base: Base::Global(g), .. }) = &e.kind {
            found.insert(*g);
        }
    });
    found
}
