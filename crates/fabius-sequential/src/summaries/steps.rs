//! What a thread of any number does from one point where others may run to the next, as a relation.
//!
//! Procedures are taken in place, so recursion is refused.

use super::diagram::{Diagrams, Done, without};
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
    waits: Vec<(ProcId, &'p Expr)>,
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
        for (at, e) in &graph.waits {
            self.nodes[base + at].waits.push((p, e));
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

/// The threads of a template, as what they do between points where others may run.
pub struct Steps<'a, 'p> {
    flat: &'a Flat<'p>,
    entries: &'a [usize],
    pub template: &'a Template<'a>,
    /// Of the number of a point.
    pub bits: usize,
}

/// The variables that say where a thread is, and its own leaves.
pub type Own = Vec<u32>;

/// The steps of one thread.
pub struct Moves {
    /// The shared variables, before and after.
    pub shared: [Vec<u32>; 2],
    /// A thread, another one, the first after a step, and a third.
    pub threads: [Own; 4],
    /// Steps of the first.
    pub step: Set,
    /// Where it fails.
    pub bad: Set,
    /// Where a value does not fit its integer: the steps from there are wrong.
    pub narrow: Set,
    /// Where it may wait until another thread has made a step.
    pub waits: Set,
}

/// What is found on the way from one point to the next, by the state at the first one.
struct Raw {
    /// Pairs (entry, now).
    step: Set,
    bad: Set,
    narrow: Set,
    waits: Set,
}

pub fn pairs(from: &[u32], to: &[u32]) -> Vec<(u32, u32)> {
    from.iter().copied().zip(to.iter().copied()).collect()
}

/// What an analysis of steps says, and what it took.
type Analysed<T> = (Result<T, GaveUp>, Statistics);

/// Analyses steps, with so many nodes, and variables for so many threads more. `None` if a procedure is recursive.
///
/// # Errors
/// [`NotSequential`].
pub fn with_steps<T>(
    template: &Template<'_>,
    nodes: usize,
    more: usize,
    mut analysis: impl FnMut(&Steps<'_, '_>, &mut Reach<'_>) -> Result<T, Stopped>,
) -> Result<Option<Analysed<T>>, NotSequential> {
    let program = template.program;
    let mut prints = Vec::new();
    let graphs = graphs(program, &mut prints)?;
    let mut flat = Flat { graphs: &graphs, nodes: vec![Node::default()], points: 0 };
    flat.mark(0);
    let mut entries = Vec::new();
    for p in template.declared.iter().chain(template.any) {
        let Some(entry) = flat.add(&mut Vec::new(), *p, None, &BTreeSet::new()) else { return Ok(None) };
        flat.mark(entry);
        entries.push(entry);
    }
    Ok(Some(with_enough_bits(program, &graphs, |layout| {
        let bits = (usize::BITS - flat.points.leading_zeros()) as usize;
        let own: usize = own_leaves(program, &layout).iter().map(|l| layout.widths[*l].bits).sum();
        let extra = 4 * bits + more * (bits + own);
        let Some(d) = Diagrams::new(layout.bits * 4 + extra as u32, nodes) else {
            return (Err(Stopped::Memory), Statistics::default());
        };
        let mut reach = Reach::new(program, &graphs, layout, d, Question::Everything, prints.len());
        let steps = Steps { flat: &flat, entries: &entries, template, bits };
        (analysis(&steps, &mut reach), reach.statistics)
    })))
}

impl Steps<'_, '_> {
    /// The steps of any thread from any state, from one point to the next.
    pub fn moves(
        &self,
        reach: &mut Reach<'_>,
        limits: &Limits<'_>,
        progress: &mut dyn FnMut(&Statistics),
    ) -> Result<Moves, Stopped> {
        let program = self.template.program;
        let raw = self.relation(reach, limits, progress)?;
        let (d, layout) = (reach.diagrams(), reach.layout());
        let (shared, own) = (shared_leaves(program, layout), own_leaves(program, layout));
        let of = |leaves: &[Leaf], copy: Copy| -> Vec<u32> {
            leaves.iter().flat_map(|l| layout.variables(*l, copy)).collect()
        };
        let thread = |copy: Copy| -> Own { self.place(layout, copy).chain(of(&own, copy)).collect() };
        let threads = [Copy::Now, Copy::Entry, Copy::Next, Copy::Argument].map(thread);
        let [one, two, next, _] = &threads;
        let (now, then) = (of(&shared, Copy::Now), of(&shared, Copy::Next));
        // From (entry, now) to (now, next).
        let all = [pairs(&of(&shared, Copy::Entry), &now), pairs(&now, &then), pairs(two, one), pairs(one, next)];
        let shift = d.renaming(all.concat())?;
        let [step, bad, narrow, waits] = [&raw.step, &raw.bad, &raw.narrow, &raw.waits].map(|set| shift.of(set));
        Ok(Moves { shared: [now, then], threads, step: step?, bad: bad?, narrow: narrow?, waits: waits? })
    }

    /// What `init` leaves of the shared state, and each thread at its entry.
    pub fn begin(&self, reach: &mut Reach<'_>, starts: &Set, one: &[u32]) -> Result<(Set, Vec<Set>), Stopped> {
        let program = self.template.program;
        let own = own_leaves(program, reach.layout());
        let own_now: Vec<u32> = own.iter().flat_map(|l| reach.layout().variables(*l, Copy::Now)).collect();
        let shared = starts.exists(&reach.diagrams().cube(own_now)?)?;
        let mut threads = Vec::new();
        for (p, entry) in self.template.declared.iter().chain(self.template.any).zip(self.entries) {
            let mut thread = self.is_at(reach.diagrams(), one, self.flat.nodes[*entry].point.expect("it is one"))?;
            for (g, global) in program.globals.iter().enumerate().filter(|(_, g)| g.per_thread) {
                if let Some(first) = reach.layout().global(g) {
                    thread = thread.and(&reach.initial(*p, first, &global.init)?)?;
                }
            }
            threads.push(reach.with_locals(*p, &thread)?);
        }
        Ok((shared, threads))
    }

    /// Where what does not matter of a thread is 0, so that each thread is written in one way.
    pub fn written_out(&self, reach: &Reach<'_>, own: &[u32]) -> Done<Set> {
        let program = self.template.program;
        let (d, layout) = (reach.diagrams(), reach.layout());
        let leaves = own_leaves(program, layout);
        let mut all = d.none.clone();
        for node in &self.flat.nodes {
            let Some(point) = node.point else { continue };
            let live: BTreeSet<Leaf> = node.live.iter().flat_map(|(p, l)| reach.local_leaves(*p, *l)).collect();
            let mut here = self.is_at(d, own, point)?;
            let mut bit = self.bits;
            for leaf in &leaves {
                let bits = layout.widths[*leaf].bits;
                if *leaf >= layout.first_local() && !live.contains(leaf) {
                    for variable in &own[bit..bit + bits] {
                        here = without(&here, &d.var(*variable)?)?;
                    }
                }
                bit += bits;
            }
            all = all.or(&here)?;
        }
        Ok(all)
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

    /// Steps from one point to the next; where an assertion fails on the way, a value does not fit, and a thread waits.
    fn relation(
        &self,
        reach: &mut Reach<'_>,
        limits: &Limits<'_>,
        progress: &mut dyn FnMut(&Statistics),
    ) -> Result<Raw, Stopped> {
        let program = self.template.program;
        let nodes = &self.flat.nodes;
        let none = reach.diagrams().none.clone();
        let (mut seen, mut fresh) = (vec![none.clone(); nodes.len()], vec![none.clone(); nodes.len()]);
        let (mut relation, mut bad, mut waits) = (none.clone(), none.clone(), none.clone());
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
            for (p, e) in &nodes[n].waits {
                waits = waits.or(&without(&set, &reach.evaluator(*p).truth(e)?)?)?;
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
            progress(&reach.statistics);
        }
        // What matters of a failure is where it comes from.
        let layout = reach.layout();
        let now = (0..layout.widths.len()).flat_map(|l| layout.variables(l, Copy::Now));
        let now = reach.diagrams().cube(now)?;
        let [bad, narrow, waits] = [&bad, reach.overflows(), &waits].map(|set| set.exists(&now));
        Ok(Raw { step: relation, bad: bad?, narrow: narrow?, waits: waits? })
    }
}
