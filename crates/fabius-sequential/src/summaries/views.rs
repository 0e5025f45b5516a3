//! Whether what some rounds reach is all that is reachable: an invariant over any two threads of any number.
//!
//! Paper: Abdulla, Haziza, Holík: All for the price of few: parameterized verification through view abstraction
//! (VMCAI 2013). Sequentializing Parameterized Programs (2011/12) bounds rounds and says nothing of when they suffice.
//!
//! A *view* is the shared state, where the threads of a declared number are, and where two of those of any number are. The
//! least set of views that contains the initial ones, and with all views of three threads those that a step of one of them
//! leads to, contains the views of every reachable state, for any number of threads and rounds (theorem 1 there, for
//! views of two). So if no view in the set lets an assertion fail, none fails.
//!
//! Deviations:
//! 1. Steps of threads of a declared number are taken as they are: each view holds all of them.
//! 2. Sets of views are decision diagrams. Procedures are taken in place, so recursion is refused.

use super::diagram::{Diagrams, Done, Renaming, and_exists, without};
use super::graph::{Action, END, ENTRY, Graph};
use super::layout::{Copy, Layout, Leaf, count};
use super::reach::{Reach, Stopped};
use super::{GaveUp, NotSequential, Question, Set, Statistics, graphs, with_enough_bits};
use fabius_lang::program::*;
use fabius_smt::Limits;
use oxidd::{BooleanFunction, BooleanFunctionQuant};
use std::collections::BTreeSet;

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Template<'a> {
    /// The program, with `zield` where a thread may be interrupted. Its `init` runs first.
    pub program: &'a Program,
    /// Each of these runs once.
    pub declared: &'a [ProcId],
    /// Each of these runs any number of times.
    pub any: &'a [ProcId],
}

/// What is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// No assertion fails, whatever the number of threads and of rounds.
    Holds,
    /// Nothing: some view lets an assertion fail, which need not be reachable.
    Open,
    /// Nothing: a procedure is recursive.
    Recursive,
}

/// What a thread does between two points of the flat graph.
enum Move<'p> {
    Act(ProcId, &'p Action<'p>),
    Enter { caller: ProcId, callee: ProcId, args: &'p [Expr] },
    Leave { callee: ProcId, values: &'p [Expr], caller: ProcId, results: &'p [Option<LocalId>] },
}

#[derive(Default)]
struct Node<'p> {
    moves: Vec<(Move<'p>, usize)>,
    /// The locals that matter here, of all frames.
    live: BTreeSet<(ProcId, LocalId)>,
    checks: Vec<(ProcId, &'p Expr)>,
    /// A number, if a thread may be interrupted here.
    point: Option<usize>,
}

/// A thread with its procedures in place. Node 0 is the end of all.
struct Flat<'p> {
    graphs: &'p [Graph<'p>],
    nodes: Vec<Node<'p>>,
    points: usize,
}

/// Where a call goes on.
#[derive(Clone, Copy)]
struct Back<'p> {
    caller: ProcId,
    results: &'p [Option<LocalId>],
    to: usize,
}

impl<'p> Flat<'p> {
    fn mark(&mut self, node: usize) {
        if self.nodes[node].point.is_none() {
            self.nodes[node].point = Some(self.points);
            self.points += 1;
        }
    }

    /// Adds a procedure; returns its entry. `None` if it is recursive.
    fn add(
        &mut self,
        stack: &mut Vec<ProcId>,
        p: ProcId,
        back: Option<Back<'p>>,
        outer: &BTreeSet<(ProcId, LocalId)>,
    ) -> Option<usize> {
        if stack.contains(&p) {
            return None;
        }
        stack.push(p);
        let (graph, base) = (&self.graphs[p], self.nodes.len());
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
                    let mut outer = self.nodes[to].live.clone();
                    results.iter().flatten().for_each(|l| {
                        outer.remove(&(p, *l));
                    });
                    let entry = self.add(stack, *q, Some(Back { caller: p, results, to }), &outer)?;
                    (Move::Enter { caller: p, callee: *q, args }, entry)
                }
                Action::Return(values) if edge.to == END => match back {
                    Some(Back { caller, results, to }) => (Move::Leave { callee: p, values, caller, results }, to),
                    None => (Move::Act(p, &Action::Skip), 0),
                },
                action => {
                    if matches!(action, Action::Zield) {
                        self.mark(to);
                    }
                    (Move::Act(p, action), to)
                }
            };
            self.nodes[base + at].moves.push((what, to));
        }
        stack.pop();
        Some(base + ENTRY)
    }
}

/// Looks for an invariant of all reachable views, with so many nodes of diagrams.
///
/// # Errors
/// [`NotSequential`].
pub fn invariant(
    template: &Template<'_>,
    nodes: usize,
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<(Result<Invariant, GaveUp>, Statistics), NotSequential> {
    let program = template.program;
    let mut prints = Vec::new();
    let graphs = graphs(program, &mut prints)?;
    let mut flat = Flat { graphs: &graphs, nodes: vec![Node::default()], points: 0 };
    flat.mark(0);
    let mut entries = Vec::new();
    for p in template.declared.iter().chain(template.any) {
        let Some(entry) = flat.add(&mut Vec::new(), *p, None, &BTreeSet::new()) else {
            return Ok((Ok(Invariant::Recursive), Statistics::default()));
        };
        flat.mark(entry);
        entries.push(entry);
    }
    Ok(with_enough_bits(program, &graphs, |layout| {
        let bits = (usize::BITS - flat.points.leading_zeros()) as usize;
        let own: usize = own_leaves(program, &layout).iter().map(|l| layout.widths[*l].bits).sum();
        let extra = 4 * bits + 2 * template.declared.len() * (bits + own);
        let Some(d) = Diagrams::new(layout.bits * 4 + extra as u32, nodes) else {
            return (Err(Stopped::Memory), Statistics::default());
        };
        let mut reach = Reach::new(program, &graphs, layout, d, Question::Everything, prints.len());
        let abstraction = Abstraction { flat: &flat, entries: &entries, template, bits };
        let holds = abstraction.holds(&mut reach, limits, progress);
        (holds.map(|holds| if holds { Invariant::Holds } else { Invariant::Open }), reach.statistics)
    }))
}

/// The leaves of which every thread has its own: per-thread variables and locals.
fn own_leaves(program: &Program, layout: &Layout) -> Vec<Leaf> {
    let mut all = Vec::new();
    for (g, global) in program.globals.iter().enumerate().filter(|(_, g)| g.per_thread) {
        if let Some(first) = layout.global(g) {
            all.extend(first..first + count(program, &global.ty));
        }
    }
    for (p, proc) in program.procs.iter().enumerate() {
        for (l, local) in proc.locals.iter().enumerate() {
            let first = layout.local(p, l);
            all.extend(first..first + count(program, &local.ty));
        }
    }
    all
}

fn shared_leaves(program: &Program, layout: &Layout) -> Vec<Leaf> {
    let shared = program.globals.iter().enumerate().filter(|(_, g)| !g.per_thread);
    let leaves =
        shared.filter_map(|(g, global)| layout.global(g).map(|first| first..first + count(program, &global.ty)));
    leaves.flatten().collect()
}

struct Abstraction<'a, 'p> {
    flat: &'a Flat<'p>,
    entries: &'a [usize],
    template: &'a Template<'a>,
    bits: usize,
}

/// The variables that say where a thread is, and its own leaves: by copy.
type Own = Vec<u32>;

impl Abstraction<'_, '_> {
    fn holds(
        &self,
        reach: &mut Reach<'_>,
        limits: &Limits<'_>,
        progress: &mut dyn FnMut(&Statistics),
    ) -> Result<bool, Stopped> {
        let program = self.template.program;
        let starts = reach.program_ends(limits, progress)?;
        if reach.has_failed() {
            return Ok(false);
        }
        let (raw, raw_bad) = self.relation(reach, limits, progress)?;
        let (d, layout) = (reach.diagrams(), reach.layout());
        let (shared, own) = (shared_leaves(program, layout), own_leaves(program, layout));
        let of =
            |leaves: &[Leaf], copy: Copy| leaves.iter().flat_map(|l| layout.variables(*l, copy)).collect::<Vec<u32>>();
        let thread = |copy: Copy| -> Own { self.place(layout, copy).chain(of(&own, copy)).collect() };
        let [one, two, next, three] = [Copy::Now, Copy::Entry, Copy::Next, Copy::Argument].map(thread);
        let (now, then) = (of(&shared, Copy::Now), of(&shared, Copy::Next));
        let pairs = |from: &[u32], to: &[u32]| from.iter().copied().zip(to.iter().copied()).collect::<Vec<_>>();
        let renaming = |all: &[Vec<(u32, u32)>]| d.renaming(all.concat());
        // From (entry, now) to (now, next).
        let shift = renaming(&[
            pairs(&of(&shared, Copy::Entry), &now),
            pairs(&now, &then),
            pairs(&two, &one),
            pairs(&one, &next),
        ])?;
        let (step, bad) = (shift.of(&raw)?, shift.of(&raw_bad)?);
        // Steps of the threads of a declared number, on variables of their own.
        let first = layout.bits * 4 + 4 * self.bits as u32;
        let size = one.len() as u32;
        let block =
            |i: usize, after: u32| -> Own { (0..size).map(|v| first + (2 * i as u32 + after) * size + v).collect() };
        let declared: Vec<(Set, Set, Renaming, Set)> = (0..self.template.declared.len())
            .map(|i| {
                let (here, there) = (block(i, 0), block(i, 1));
                let to = renaming(&[pairs(&one, &here), pairs(&next, &there)])?;
                let back = renaming(&[pairs(&then, &now), pairs(&there, &here)])?;
                Ok((to.of(&step)?, to.of(&bad)?, back, d.cube(here.into_iter().chain(now.iter().copied()))?))
            })
            .collect::<Done<_>>()?;
        let of_third = renaming(&[pairs(&one, &three)])?.of(&step.exists(&d.cube(next.iter().copied())?)?)?;
        let swap = renaming(&[pairs(&one, &two), pairs(&two, &one)])?;
        let with_third = renaming(&[pairs(&two, &three)])?;
        let second_with_third = renaming(&[pairs(&one, &two), pairs(&two, &three)])?;
        let forward = renaming(&[pairs(&then, &now), pairs(&next, &one)])?;
        let only_shared = renaming(&[pairs(&then, &now)])?;
        let gone = d.cube(now.iter().chain(&one).copied())?;
        let gone_third = d.cube(now.iter().chain(&three).copied())?;

        let mut views = self.begin(reach, &starts, &swap, &|i| block(i, 0), &one)?;
        loop {
            if limits.are_hit() {
                return Err(Stopped::Limit);
            }
            if views.and(&bad)?.satisfiable() {
                return Ok(false);
            }
            let before = views.clone();
            for (step, bad, back, gone) in &declared {
                if views.and(bad)?.satisfiable() {
                    return Ok(false);
                }
                views = views.or(&back.of(&and_exists(&views, step, gone)?)?)?;
            }
            let moved = forward.of(&and_exists(&views, &step, &gone)?)?;
            views = views.or(&moved)?.or(&swap.of(&moved)?)?;
            let three = views.and(&with_third.of(&views)?)?.and(&second_with_third.of(&views)?)?;
            views = views.or(&only_shared.of(&and_exists(&three, &of_third, &gone_third)?)?)?;
            progress(&reach.statistics);
            if views == before {
                return Ok(true);
            }
        }
    }

    /// Where a thread is, as variables.
    fn place(&self, layout: &Layout, copy: Copy) -> impl Iterator<Item = u32> {
        let first = layout.bits * 4;
        (0..self.bits as u32).map(move |bit| first + bit * 4 + copy as u32)
    }

    fn is_at(&self, d: &Diagrams, place: &[u32], point: usize) -> Done<Set> {
        place[..self.bits].iter().enumerate().try_fold(d.all.clone(), |all, (bit, v)| {
            let variable = d.var(*v)?;
            all.and(&if point >> bit & 1 == 1 { variable } else { variable.not()? })
        })
    }

    /// All threads at their entries, behind `init`.
    fn begin(
        &self,
        reach: &mut Reach<'_>,
        starts: &Set,
        swap: &Renaming,
        block: &dyn Fn(usize) -> Own,
        one: &[u32],
    ) -> Result<Set, Stopped> {
        let program = self.template.program;
        let own = own_leaves(program, reach.layout());
        let own_now: Vec<u32> = own.iter().flat_map(|l| reach.layout().variables(*l, Copy::Now)).collect();
        let shared = starts.exists(&reach.diagrams().cube(own_now)?)?;
        let mut threads = Vec::new();
        for (i, entry) in self.entries.iter().enumerate() {
            let p = self.template.declared.iter().chain(self.template.any).nth(i).expect("it has an entry");
            let mut thread = self.is_at(reach.diagrams(), one, self.flat.nodes[*entry].point.expect("it is one"))?;
            for (g, global) in program.globals.iter().enumerate().filter(|(_, g)| g.per_thread) {
                if let Some(first) = reach.layout().global(g) {
                    thread = thread.and(&reach.initial(*p, first, &global.init)?)?;
                }
            }
            threads.push(reach.with_locals(*p, &thread)?);
        }
        let (declared, any) = threads.split_at(self.template.declared.len());
        let d = reach.diagrams();
        let some = any.iter().try_fold(d.none.clone(), |all, one| all.or(one))?;
        let mut views = shared.and(&some)?.and(&swap.of(&some)?)?;
        for (i, thread) in declared.iter().enumerate() {
            let to = d.renaming(one.iter().copied().zip(block(i)))?;
            views = views.and(&to.of(thread)?)?;
        }
        Ok(views)
    }

    /// Steps from one point to the next, as pairs (entry, now); and where an assertion fails on the way.
    fn relation(
        &self,
        reach: &mut Reach<'_>,
        limits: &Limits<'_>,
        progress: &mut dyn FnMut(&Statistics),
    ) -> Result<(Set, Set), Stopped> {
        let program = self.template.program;
        let nodes = &self.flat.nodes;
        let none = reach.diagrams().none.clone();
        let (mut seen, mut fresh) = (vec![none.clone(); nodes.len()], vec![none.clone(); nodes.len()]);
        let (mut relation, mut bad) = (none.clone(), none.clone());
        let mut todo = BTreeSet::new();
        let per_thread: Vec<Leaf> = {
            let layout = reach.layout();
            own_leaves(program, layout).into_iter().filter(|l| *l < layout.first_local()).collect()
        };
        let everywhere: Vec<Leaf> = shared_leaves(program, reach.layout()).into_iter().chain(per_thread).collect();
        let places = |layout: &Layout, copy: Copy| self.place(layout, copy).collect::<Vec<u32>>();
        let mut dead = Vec::new();
        for node in nodes {
            let layout = reach.layout();
            let locals =
                program.procs.iter().enumerate().flat_map(|(p, proc)| (0..proc.locals.len()).map(move |l| (p, l)));
            let leaves = locals.filter(|l| !node.live.contains(l)).flat_map(|(p, l)| reach.local_leaves(p, l));
            dead.push(reach.diagrams().cube(leaves.flat_map(|l| layout.variables(l, Copy::Now)))?);
        }
        for (n, node) in nodes.iter().enumerate().filter(|(n, _)| *n > 0) {
            let Some(point) = node.point else { continue };
            let live = node.live.iter().flat_map(|(p, l)| reach.local_leaves(*p, *l));
            let same: Vec<Leaf> = everywhere.iter().copied().chain(live).collect();
            let (d, layout) = (reach.diagrams(), reach.layout());
            let mut set = self.is_at(d, &places(layout, Copy::Entry), point)?;
            for leaf in same {
                set = set.and(&reach.evaluator(0).leaf_is(
                    leaf,
                    Copy::Now,
                    &reach.evaluator(0).leaf(leaf, Copy::Entry)?,
                )?)?;
            }
            fresh[n] = set.clone();
            seen[n] = set;
            todo.insert(n);
        }
        while let Some(n) = todo.pop_first() {
            if limits.are_hit() {
                return Err(Stopped::Limit);
            }
            let set = std::mem::replace(&mut fresh[n], none.clone());
            for (p, e) in &nodes[n].checks {
                bad = bad.or(&without(&set, &reach.evaluator(*p).truth(e)?)?)?;
            }
            for (what, to) in &nodes[n].moves {
                let after = match what {
                    Move::Act(p, action) => reach.act(*p, action, &set)?,
                    Move::Enter { caller, callee, args } => reach.enter_in_place(*caller, *callee, args, &set)?,
                    Move::Leave { callee, values, caller, results } => {
                        reach.leave_in_place(*callee, values, *caller, results, &set)?
                    }
                };
                let after = after.exists(&dead[*to])?;
                reach.statistics.images += 1;
                let ends = *to == 0 || matches!(what, Move::Act(_, Action::Zield));
                if let (true, Some(point)) = (ends, nodes[*to].point) {
                    let there = self.is_at(reach.diagrams(), &places(reach.layout(), Copy::Now), point)?;
                    relation = relation.or(&after.and(&there)?)?;
                    continue;
                }
                let new = without(&after, &seen[*to])?;
                if new.satisfiable() {
                    seen[*to] = seen[*to].or(&new)?;
                    fresh[*to] = fresh[*to].or(&new)?;
                    todo.insert(*to);
                }
            }
            reach.narrow()?;
            progress(&reach.statistics);
        }
        // What matters of a failure is where it comes from.
        let layout = reach.layout();
        let now = (0..layout.widths.len()).flat_map(|l| layout.variables(l, Copy::Now));
        Ok((relation, bad.exists(&reach.diagrams().cube(now)?)?))
    }
}
