//! Choices that are only compared with constants, divided by small ones for the remainder, and copied, wherever in the program:
//! through globals, arguments and results. One value between each two neighbouring constants, and these, stand for all; one for
//! each remainder, where these are looked at.

use super::{Group, Looked, Ranges, Seen, bare, range, ranges, seen, wide};
use crate::needed::{Needed, Node};
use fabius_lang::program::{Base, Expr, ExprKind, LocalId, Place, ProcId, Program, Stmt, StmtKind, Value};
use fabius_lang::walk::{expressions, of_place, statements, written};
use std::collections::{BTreeMap, BTreeSet};

/// The groups of variables that hold chosen values and constants, and nothing else, and are only compared.
#[derive(Default)]
pub struct Compared {
    groups: BTreeMap<Node, Group>,
    name: BTreeMap<Node, Node>,
}

impl Compared {
    pub fn of(program: &Program, needed: &Needed) -> Compared {
        let look = Look { program, needed, ranges: program.procs.iter().map(ranges).collect() };
        let mut written = Written::default();
        for (p, proc) in program.procs.iter().enumerate() {
            statements(&proc.body, &mut |s| look.writes(p, s, &mut written));
        }
        for process in &program.processes {
            written.other.extend(process.number.map(|l| Node::Local(process.proc, l)));
        }
        let Written { mut other, copies, chosen } = written;
        while let Some((to, _)) = copies.iter().find(|(to, from)| other.contains(from) && !other.contains(to)) {
            other.insert(*to);
        }
        let mut name: BTreeMap<Node, Node> =
            chosen.iter().map(|c| c.0).filter(|n| !other.contains(n)).map(|n| (n, n)).collect();
        // Copies of what holds no choice hold constants.
        while let Some((to, from)) = copies.iter().filter(|(to, _)| !other.contains(to)).find_map(|(to, from)| {
            let (a, b) = (name.get(from), name.get(to));
            (a.is_some() || b.is_some())
                .then_some(())
                .filter(|()| a != b && !other.contains(from))
                .map(|()| (*to, *from))
        }) {
            let names: Vec<Node> = [to, from].iter().filter_map(|n| name.get(n).copied()).collect();
            let least = names.iter().copied().min().expect("one of them has a name");
            name.values_mut().filter(|n| names.contains(n)).for_each(|n| *n = least);
            name.insert(to, least);
            name.insert(from, least);
        }
        let mut groups: BTreeMap<Node, Group> = BTreeMap::new();
        for (node, lo, hi) in chosen {
            if let Some(n) = name.get(&node) {
                let group = groups.entry(*n).or_insert(Group {
                    lo,
                    hi,
                    constants: BTreeSet::new(),
                    modulus: 1,
                    is_used: false,
                });
                (group.lo, group.hi) = (group.lo.min(lo), group.hi.max(hi));
            }
        }
        let mut all = Compared { groups, name };
        let each = |f: &mut dyn FnMut(ProcId, &Stmt)| {
            for (p, proc) in program.procs.iter().enumerate() {
                statements(&proc.body, &mut |s| f(p, s));
            }
        };
        each(&mut |p, s| all.notes(&look, p, s));
        each(&mut |p, s| all.uses(&look, p, s));
        all.groups.retain(|_, group| !group.is_used);
        all
    }

    /// The values that are tried of a choice that a local gets, if it is only compared.
    pub fn values(&self, node: Node, lo: i64, hi: i64) -> Option<Vec<i64>> {
        Some(self.groups.get(self.name.get(&node)?)?.values(lo, hi))
    }

    pub fn has(&self, node: Node) -> bool {
        self.name.get(&node).is_some_and(|n| self.groups.contains_key(n))
    }

    /// Notes what a statement compares.
    fn notes(&mut self, look: &Look<'_>, p: ProcId, s: &Stmt) {
        for e in expressions(s) {
            fabius_lang::walk::each(e, &mut |e| {
                let Some((node, seen)) = look.seen(p, e) else { return };
                if let Some(group) = self.name.get(&node).and_then(|n| self.groups.get_mut(n)) {
                    group.note(seen);
                }
            });
        }
    }

    /// Notes what a statement uses in another way.
    fn uses(&mut self, look: &Look<'_>, p: ProcId, s: &Stmt) {
        let Compared { groups, name } = self;
        let is_held = |n: &Node| name.get(n).is_some_and(|n| groups.contains_key(n));
        let mut used: Vec<Node> = Vec::new();
        for e in look.needed.matter(p, s) {
            // What is copied into the same group is copied.
            let is_copied = look.copied(p, e).is_some_and(|from| {
                look.targets(p, s, e).is_some_and(|to| is_held(&from) && name.get(&to) == name.get(&from))
            });
            if !is_copied {
                look.other_reads(p, e, &mut |n, looked| {
                    let group = name.get(&n).and_then(|n| groups.get(n));
                    if looked == Looked::Otherwise || group.is_some_and(|g| !g.has_few_remainders()) {
                        used.push(n);
                    }
                });
            }
        }
        for node in used {
            if let Some(group) = name.get(&node).and_then(|n| groups.get_mut(n)) {
                group.is_used = true;
            }
        }
    }
}

/// What is written to nodes.
#[derive(Default)]
struct Written {
    /// Something else than choices, constants and copies.
    other: BTreeSet<Node>,
    copies: Vec<(Node, Node)>,
    chosen: Vec<(Node, i64, i64)>,
}

struct Look<'a> {
    program: &'a Program,
    needed: &'a Needed,
    ranges: Vec<Ranges>,
}

impl Look<'_> {
    fn writes(&self, p: ProcId, s: &Stmt, all: &mut Written) {
        if let Some((local, lo, hi)) = wide(s) {
            all.chosen.push((Node::Local(p, local), lo, hi));
            return;
        }
        match &s.kind {
            StmtKind::Assign(place, e) => match whole(p, place) {
                Some(to) => self.flows(p, to, e, all),
                None => all.other.extend(base(p, place)),
            },
            StmtKind::Call(results, q, es) => {
                es.iter().enumerate().for_each(|(i, e)| self.flows(p, Node::Local(*q, i), e, all));
                for (i, to) in results.iter().enumerate().filter_map(|(i, to)| Some((i, (*to)?))) {
                    let (from, to) = (Node::Result(*q, i), Node::Local(p, to));
                    let fits = range(&self.program.procs[*q].results[i]).is_some() && self.type_of(to).is_some();
                    if fits { all.copies.push((to, from)) } else { all.other.extend([to, from]) }
                }
            }
            StmtKind::Return(es) => {
                es.iter().enumerate().for_each(|(i, e)| self.flows(p, Node::Result(p, i), e, all));
            }
            StmtKind::Spawn(handle, q, es) | StmtKind::Post(handle, _, q, es) => {
                all.other.extend(handle.map(|l| Node::Local(p, l)));
                es.iter().enumerate().for_each(|(i, e)| self.flows(p, Node::Local(*q, i), e, all));
            }
            _ => all.other.extend(written(s).and_then(|place| base(p, place))),
        }
    }

    fn flows(&self, p: ProcId, to: Node, e: &Expr, all: &mut Written) {
        match (self.copied(p, e), &e.kind) {
            _ if self.type_of(to).is_none() => drop(all.other.insert(to)),
            (Some(from), _) => all.copies.push((to, from)),
            (None, ExprKind::Const(Value::Int(_))) => {}
            _ => drop(all.other.insert(to)),
        }
    }

    /// The least and the largest value of a node.
    fn type_of(&self, node: Node) -> Option<(i64, i64)> {
        range(match node {
            Node::Global(g) => &self.program.globals[g].ty,
            Node::Local(p, l) => &self.program.procs[p].locals[l].ty,
            Node::Result(p, i) => &self.program.procs[p].results[i],
        })
    }

    /// The node whose value an expression has.
    fn copied(&self, p: ProcId, e: &Expr) -> Option<Node> {
        match &e.kind {
            ExprKind::Read(place) => whole(p, place).filter(|_| range(&e.ty).is_some()),
            ExprKind::Cast(inner) => {
                let node = self.copied(p, inner)?;
                let is_itself = matches!(inner.kind, ExprKind::Read(_));
                let known = match node {
                    Node::Local(p, l) if is_itself => self.ranges[p].get(&l).copied(),
                    _ => None,
                };
                let ((lo, hi), (to_lo, to_hi)) = (known.or(range(&inner.ty))?, range(&e.ty)?);
                (to_lo <= lo && hi <= to_hi).then_some(node)
            }
            _ => None,
        }
    }

    fn seen(&self, p: ProcId, e: &Expr) -> Option<(Node, Seen)> {
        seen(e, &|e| self.copied(p, e))
    }

    /// The node that this expression of a statement is written to as a whole.
    fn targets(&self, p: ProcId, s: &Stmt, e: &Expr) -> Option<Node> {
        let among = |es: &[Expr]| es.iter().position(|x| std::ptr::eq(x, e));
        match &s.kind {
            StmtKind::Assign(place, value) if std::ptr::eq(value, e) => whole(p, place),
            StmtKind::Call(_, q, es) | StmtKind::Spawn(_, q, es) | StmtKind::Post(_, _, q, es) => {
                among(es).map(|i| Node::Local(*q, i))
            }
            StmtKind::Return(es) => among(es).map(|i| Node::Result(p, i)),
            _ => None,
        }
    }

    /// Calls `f` for each node that is read in an expression and not compared with a constant.
    fn other_reads(&self, p: ProcId, e: &Expr, f: &mut dyn FnMut(Node, Looked)) {
        match self.seen(p, e) {
            Some((_, Seen::Compared(_))) => return,
            Some((node, Seen::Remainder(_))) => return f(node, Looked::AtRemainder),
            None => {}
        }
        match &e.kind {
            ExprKind::Const(_) | ExprKind::SelfHandle => {}
            ExprKind::Read(place) => {
                base(p, place).into_iter().for_each(|node| f(node, Looked::Otherwise));
                of_place(place).into_iter().for_each(|e| self.other_reads(p, e, f));
            }
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => self.other_reads(p, a, f),
            ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => {
                [a, b].into_iter().for_each(|e| self.other_reads(p, e, f));
            }
            ExprKind::IfElse(a, b, c) => [a, b, c].into_iter().for_each(|e| self.other_reads(p, e, f)),
            ExprKind::Tuple(parts) => parts.iter().for_each(|e| self.other_reads(p, e, f)),
        }
    }
}

/// The node that a place is, and not a part of one.
fn whole(p: ProcId, place: &Place) -> Option<Node> {
    match place.base {
        Base::Global(g) if place.path.is_empty() => Some(Node::Global(g)),
        _ => bare(place).map(|l: LocalId| Node::Local(p, l)),
    }
}

fn base(p: ProcId, place: &Place) -> Option<Node> {
    match place.base {
        Base::Global(g) => Some(Node::Global(g)),
        Base::Local(l) => Some(Node::Local(p, l)),
        Base::Heap(..) => None,
    }
}
