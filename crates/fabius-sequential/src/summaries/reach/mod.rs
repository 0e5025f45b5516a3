//! The fixed point: path edges and summaries.

mod calls;

use super::circuit::{self, Number};
use super::diagram::{Diagrams, Done, Full, Renaming, and_exists, without};
use super::graph::{Action, END, ENTRY, Edge, Graph, Point};
use super::layout::{Copy, Layout, Leaf, count, scalars};
use super::values::{Evaluator, Scalars};
use super::{Question, Reached, Set, Statistics};
use calls::{changes, ranks};
use fabius_lang::program::*;
use fabius_smt::Limits;
use fabius_trace::Span;
use oxidd::{BooleanFunction, BooleanFunctionQuant};
use std::collections::{BTreeMap, BTreeSet};

/// Why the fixed point was not reached.
pub enum Stopped {
    /// These integers need more bits.
    TooNarrow(BTreeSet<Leaf>),
    Limit,
    Memory,
}

impl From<Full> for Stopped {
    fn from(_: Full) -> Stopped {
        Stopped::Memory
    }
}

pub struct Reach<'a> {
    program: &'a Program,
    graphs: &'a [Graph<'a>],
    layout: Layout,
    d: Diagrams,
    question: Question,
    /// The globals that each procedure may change, and what it calls does.
    changes: Vec<BTreeSet<GlobalId>>,
    /// Where each procedure is called.
    callers: Vec<Vec<(ProcId, Point, usize)>>,
    /// The place of each procedure in the order of work: callees first.
    rank: Vec<usize>,
    /// Path edges: (entry, now).
    reached: Vec<Vec<Set>>,
    /// Those that have not been moved on.
    fresh: Vec<Vec<Set>>,
    todo: BTreeSet<(usize, ProcId, Point)>,
    /// (now, argument; next, results).
    summaries: Vec<Set>,
    too_narrow: BTreeSet<Leaf>,
    /// Where a value did not fit.
    overflows: Set,
    failing: BTreeSet<Span>,
    printed: Vec<Set>,
    pub statistics: Statistics,
}

impl<'a> Reach<'a> {
    /// With diagrams over at least the variables of the layout.
    pub fn new(
        program: &'a Program,
        graphs: &'a [Graph<'a>],
        layout: Layout,
        d: Diagrams,
        question: Question,
        prints: usize,
    ) -> Reach<'a> {
        let none = |n: usize| vec![d.none.clone(); n];
        let empty: Vec<Vec<Set>> = graphs.iter().map(|g| none(g.edges.len())).collect();
        let (summaries, printed, overflows) = (none(graphs.len()), none(prints), d.none.clone());
        let mut callers = vec![Vec::new(); graphs.len()];
        for (p, graph) in graphs.iter().enumerate() {
            for (at, edges) in graph.edges.iter().enumerate() {
                for (e, edge) in edges.iter().enumerate() {
                    if let Action::Call(_, q, _) = edge.action {
                        callers[q].push((p, at, e));
                    }
                }
            }
        }
        let statistics = Statistics { bits: layout.bits, ..Statistics::default() };
        Reach {
            program,
            graphs,
            d,
            question,
            changes: changes(graphs),
            rank: ranks(graphs),
            callers,
            reached: empty.clone(),
            fresh: empty,
            todo: BTreeSet::new(),
            summaries,
            too_narrow: BTreeSet::new(),
            overflows,
            failing: BTreeSet::new(),
            printed,
            statistics,
            layout,
        }
    }

    pub fn diagrams(&self) -> &Diagrams {
        &self.d
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The leaves of the globals that a procedure may change.
    pub fn changed(&self, p: ProcId) -> Vec<Leaf> {
        self.changes[p].iter().flat_map(|g| self.global_leaves(*g)).collect()
    }

    pub fn evaluator(&self, proc: ProcId) -> Evaluator<'_> {
        Evaluator { program: self.program, layout: &self.layout, d: &self.d, proc }
    }

    /// Everything that the program reaches.
    pub fn run(&mut self, limits: &Limits<'_>, progress: &mut dyn FnMut(&Statistics)) -> Result<(), Stopped> {
        let Some(main) = self.program.init else { return Ok(()) };
        self.begin_program(main)?;
        self.go_on(limits, progress)
    }

    /// A procedure begins with the initial values of all globals.
    fn begin_program(&mut self, main: ProcId) -> Result<(), Stopped> {
        let mut begin = self.d.all.clone();
        for (g, global) in self.program.globals.iter().enumerate() {
            if let Some(first) = self.layout.global(g) {
                begin = begin.and(&self.initial(main, first, &global.init)?)?;
            }
        }
        let begin = self.with_locals(main, &begin)?;
        self.add(main, ENTRY, &begin)
    }

    /// Moves sets along edges until nothing is new.
    fn go_on(&mut self, limits: &Limits<'_>, progress: &mut dyn FnMut(&Statistics)) -> Result<(), Stopped> {
        while let Some((_, p, at)) = self.todo.pop_first() {
            if limits.are_hit() {
                return Err(Stopped::Limit);
            }
            let set = std::mem::replace(&mut self.fresh[p][at], self.d.none.clone());
            self.look(p, at, &set)?;
            if at == END {
                self.finish(p, &set)?;
            }
            let graphs = self.graphs;
            for edge in &graphs[p].edges[at] {
                self.follow(p, at, edge, &set)?;
            }
            self.narrow()?;
            if self.question == Question::Failure && !self.failing.is_empty() {
                return Ok(());
            }
            self.statistics.nodes = self.statistics.nodes.max(self.d.nodes());
            self.d.collect_garbage();
            progress(&self.statistics);
        }
        Ok(())
    }

    /// Where a variable has its initial value.
    pub fn initial(&mut self, p: ProcId, first: Leaf, value: &Value) -> Result<Set, Stopped> {
        let mut values = Vec::new();
        scalars(value, &mut values);
        let mut all = self.d.all.clone();
        for (i, v) in values.into_iter().enumerate() {
            let value = circuit::constant(&self.d, i128::from(v));
            self.fits(first + i, &value, &self.d.all.clone())?;
            all = all.and(&self.evaluator(p).leaf_is(first + i, Copy::Now, &value)?)?;
        }
        Ok(all)
    }

    /// The locals that matter at the entry have their initial values.
    pub fn with_locals(&mut self, p: ProcId, set: &Set) -> Result<Set, Stopped> {
        let proc = &self.program.procs[p];
        let mut all = set.clone();
        for l in proc.params..proc.locals.len() {
            if self.graphs[p].live[ENTRY][l] {
                let ty = &proc.locals[l].ty;
                let value = ty.default_value(&self.program.records);
                all = all.and(&self.initial(p, self.layout.local(p, l), &value)?)?;
            }
        }
        Ok(all)
    }

    /// New states at a point.
    fn add(&mut self, p: ProcId, at: Point, set: &Set) -> Result<(), Stopped> {
        self.statistics.images += 1;
        let new = without(set, &self.reached[p][at])?;
        if new.satisfiable() {
            self.reached[p][at] = self.reached[p][at].or(&new)?;
            self.fresh[p][at] = self.fresh[p][at].or(&new)?;
            self.todo.insert((self.rank[p], p, at));
        }
        Ok(())
    }

    /// Checks the assertions at a point.
    fn look(&mut self, p: ProcId, at: Point, set: &Set) -> Result<(), Stopped> {
        for check in self.graphs[p].checks.iter().filter(|c| c.at == at) {
            let holds = self.evaluator(p).truth(check.expr)?;
            if without(set, &holds)?.satisfiable() {
                self.failing.insert(check.span);
            }
        }
        Ok(())
    }

    /// A value that does not fit a leaf is noted.
    fn fits(&mut self, leaf: Leaf, value: &Number, set: &Set) -> Result<(), Stopped> {
        let width = self.layout.widths[leaf];
        if width.is_int && value.len() > width.bits {
            let short = circuit::wrapped(&self.d, value, width.bits, true);
            let same = circuit::equal(&self.d, &short, value)?;
            let overflows = without(set, &same)?;
            if overflows.satisfiable() {
                self.overflows = self.overflows.or(&overflows)?;
                self.too_narrow.insert(leaf);
            }
        }
        Ok(())
    }

    fn follow(&mut self, p: ProcId, at: Point, edge: &Edge<'a>, set: &Set) -> Result<(), Stopped> {
        let after = match &edge.action {
            Action::Call(results, q, args) => {
                let called = self.call(p, *q, args, set)?;
                let inputs = self.enter(p, &called)?;
                self.begin(*q, &inputs)?;
                let summary = self.summaries[*q].clone();
                self.behind(p, results, *q, &called, &summary)?
            }
            action => self.act(p, action, set)?,
        };
        let after = self.forget(p, at, edge, &after)?;
        self.add(p, edge.to, &after)
    }

    /// What an action that is no call makes of states.
    pub fn act(&mut self, p: ProcId, action: &Action<'_>, set: &Set) -> Result<Set, Stopped> {
        Ok(match action {
            Action::Skip | Action::Zield => set.clone(),
            Action::Assign(place, e) => {
                let values = self.evaluator(p).value(e)?;
                let reads = self.layout.read_by(self.program, p, e).concat();
                self.store(p, place, &values, &reads, set)?
            }
            Action::Any(place, lo, hi) => self.any(p, place, lo, hi, set)?,
            Action::Where(e, wanted) => {
                let holds = self.evaluator(p).truth(e)?;
                if *wanted { set.and(&holds)? } else { without(set, &holds)? }
            }
            Action::Print(i, _) => {
                self.printed[*i] = self.printed[*i].or(set)?;
                set.clone()
            }
            Action::Return(values) => self.results_are(p, values, set)?,
            Action::Call(..) => unreachable!("a call is more than an action"),
        })
    }

    /// Runs the program alone; returns the states in which it ends.
    pub fn program_ends(&mut self, limits: &Limits<'_>, progress: &mut dyn FnMut(&Statistics)) -> Result<Set, Stopped> {
        let main = self.program.init.expect("there is a first procedure");
        self.begin_program(main)?;
        self.go_on(limits, progress)?;
        Ok(self.reached[main][END].clone())
    }

    pub fn has_failed(&self) -> bool {
        !self.failing.is_empty()
    }

    /// The states in which a value did not fit, so far.
    pub fn overflows(&self) -> &Set {
        &self.overflows
    }

    /// Stops if an integer needs more bits.
    pub fn narrow(&mut self) -> Result<(), Stopped> {
        if self.too_narrow.is_empty() { Ok(()) } else { Err(Stopped::TooNarrow(std::mem::take(&mut self.too_narrow))) }
    }

    /// Without the locals that do not matter any more.
    fn forget(&self, p: ProcId, at: Point, edge: &Edge<'_>, set: &Set) -> Done<Set> {
        let live = &self.graphs[p].live;
        let changed = |l: LocalId| match &edge.action {
            Action::Assign(place, _) | Action::Any(place, ..) => place.base == Base::Local(l),
            Action::Call(results, ..) => results.contains(&Some(l)),
            _ => false,
        };
        let dead = (0..live[at].len()).filter(|l| (live[at][*l] || changed(*l)) && !live[edge.to][*l]);
        let variables = dead.flat_map(|l| self.local_leaves(p, l)).flat_map(|l| self.layout.variables(l, Copy::Now));
        set.exists(&self.d.cube(variables)?)
    }

    pub fn local_leaves(&self, p: ProcId, l: LocalId) -> std::ops::Range<Leaf> {
        let first = self.layout.local(p, l);
        first..first + count(self.program, &self.program.procs[p].locals[l].ty)
    }

    fn global_leaves(&self, g: GlobalId) -> std::ops::Range<Leaf> {
        let first = self.layout.global(g).expect("it changes");
        first..first + count(self.program, &self.program.globals[g].ty)
    }

    fn renaming(&self, leaves: impl Iterator<Item = Leaf>, from: Copy, to: Copy) -> Done<Renaming> {
        let pair = |l: Leaf| self.layout.variables(l, from).zip(self.layout.variables(l, to));
        self.d.renaming(leaves.flat_map(pair).collect::<Vec<_>>())
    }

    /// The values go to the leaves; `reads` is what the values depend on.
    fn set_leaves(
        &mut self,
        p: ProcId,
        to: &[Leaf],
        values: &Scalars,
        reads: &[Leaf],
        set: &Set,
    ) -> Result<Set, Stopped> {
        let depends = to.iter().any(|l| reads.contains(l));
        let copy = if depends { Copy::Next } else { Copy::Now };
        let old = self.d.cube(to.iter().flat_map(|l| self.layout.variables(*l, Copy::Now)))?;
        let mut now = if depends { set.clone() } else { set.exists(&old)? };
        for (leaf, value) in to.iter().zip(values) {
            self.fits(*leaf, value, set)?;
            now = now.and(&self.evaluator(p).leaf_is(*leaf, copy, value)?)?;
        }
        if depends {
            now = self.renaming(to.iter().copied(), Copy::Next, Copy::Now)?.of(&now.exists(&old)?)?;
        }
        Ok(now)
    }

    /// `place = values`.
    fn store(&mut self, p: ProcId, place: &Place, values: &Scalars, reads: &[Leaf], set: &Set) -> Result<Set, Stopped> {
        let mut out = self.d.none.clone();
        for (condition, first) in self.targets(p, place)? {
            let here = set.and(&condition)?;
            if here.satisfiable() {
                let to: Vec<Leaf> = (first..first + values.len()).collect();
                out = out.or(&self.set_leaves(p, &to, values, reads, &here)?)?;
            }
        }
        Ok(out)
    }

    /// Where a place begins, and in which states.
    fn targets(&self, p: ProcId, place: &Place) -> Done<Vec<(Set, Leaf)>> {
        let (first, mut ty) = match &place.base {
            Base::Global(g) => (self.layout.global(*g).expect("it changes"), &self.program.globals[*g].ty),
            Base::Local(l) => (self.layout.local(p, *l), &self.program.procs[p].locals[*l].ty),
            Base::Heap(..) => unreachable!("a sequential program has no heap"),
        };
        let mut all = vec![(self.d.all.clone(), first)];
        for step in &place.path {
            match (step, ty) {
                (Projection::Field(f), Type::Record(r)) => {
                    let fields = &self.program.records[*r].fields;
                    let skip: usize = fields[..*f].iter().map(|f| count(self.program, &f.ty)).sum();
                    all.iter_mut().for_each(|(_, first)| *first += skip);
                    ty = &fields[*f].ty;
                }
                (Projection::Index { index, lo, len }, Type::Array { element, .. }) => {
                    let size = count(self.program, element);
                    let at = self.evaluator(p).value(index)?.swap_remove(0);
                    let mut next = Vec::new();
                    for i in 0..*len as usize {
                        let number = circuit::constant(&self.d, i128::from(*lo) + i as i128);
                        let here = circuit::equal(&self.d, &at, &number)?;
                        for (condition, first) in &all {
                            let both = condition.and(&here)?;
                            if both.satisfiable() {
                                next.push((both, first + i * size));
                            }
                        }
                    }
                    all = next;
                    ty = element;
                }
                _ => unreachable!("the program has types"),
            }
        }
        Ok(all)
    }

    /// Any value between two bounds.
    fn any(&mut self, p: ProcId, place: &Place, lo: &Expr, hi: &Expr, set: &Set) -> Result<Set, Stopped> {
        let evaluator = self.evaluator(p);
        let (least, most) = (evaluator.value(lo)?.swap_remove(0), evaluator.value(hi)?.swap_remove(0));
        let mut out = self.d.none.clone();
        for (condition, leaf) in self.targets(p, place)? {
            let here = set.and(&condition)?;
            self.fits(leaf, &least, &here)?;
            self.fits(leaf, &most, &here)?;
            let value = self.evaluator(p).leaf(leaf, Copy::Next)?;
            let above = circuit::less(&self.d, &value, &least)?.not()?;
            let below = circuit::less(&self.d, &most, &value)?.not()?;
            let old = self.d.cube(self.layout.variables(leaf, Copy::Now))?;
            let now = and_exists(&here, &above.and(&below)?, &old)?;
            out = out.or(&self.renaming([leaf].into_iter(), Copy::Next, Copy::Now)?.of(&now)?)?;
        }
        Ok(out)
    }

    /// What each of some procedures makes of any state at all, and the states in which the program ends.
    pub fn relations(
        &mut self,
        procs: &[ProcId],
        limits: &Limits<'_>,
        progress: &mut dyn FnMut(&Statistics),
    ) -> Result<(Vec<Set>, Set), Stopped> {
        for p in procs {
            let all = self.d.all.clone();
            self.begin(*p, &all)?;
        }
        let ends = self.program_ends(limits, progress)?;
        Ok((procs.iter().map(|p| self.summaries[*p].clone()).collect(), ends))
    }

    /// All that is of interest in the fixed point.
    pub fn results(&self, ends: &[GlobalId], prints: &[Span]) -> Done<Reached> {
        let main = self.program.init.unwrap_or(0);
        let mut reached = Reached { failing: self.failing.clone(), ..Reached::default() };
        if self.question == Question::Failure {
            return Ok(reached);
        }
        let mut all: BTreeMap<usize, BTreeSet<Vec<i64>>> = BTreeMap::new();
        for (p, graph) in self.graphs.iter().enumerate() {
            for edge in graph.edges.iter().flatten() {
                if let Action::Print(i, values) = edge.action {
                    let values = values.iter().map(|e| self.evaluator(p).value(e)).collect::<Done<Vec<_>>>()?;
                    self.enumerate(&self.printed[i], &values.concat(), all.entry(i).or_default())?;
                }
            }
        }
        reached.printed =
            prints.iter().copied().zip((0..prints.len()).map(|i| all.remove(&i).unwrap_or_default())).collect();
        let value = |g: &GlobalId| match self.layout.global(*g) {
            Some(first) => self.evaluator(main).leaf(first, Copy::Now),
            None => {
                let mut values = Vec::new();
                scalars(&self.program.globals[*g].init, &mut values);
                Ok(circuit::constant(&self.d, i128::from(values[0])))
            }
        };
        let values = ends.iter().map(value).collect::<Done<Scalars>>()?;
        self.enumerate(&self.reached[main][END], &values, &mut reached.ends)?;
        Ok(reached)
    }

    /// The values that numbers have together in a set.
    fn enumerate(&self, set: &Set, values: &Scalars, out: &mut BTreeSet<Vec<i64>>) -> Done<()> {
        let mut open = vec![(set.clone(), Vec::new(), 0, 0, 0i64)];
        while let Some((set, done, n, bit, partial)) = open.pop() {
            if !set.satisfiable() {
                continue;
            }
            let Some(value) = values.get(n) else {
                out.insert(done);
                continue;
            };
            let Some(b) = value.get(bit) else {
                open.push((set, [done, vec![partial]].concat(), n + 1, 0, 0));
                continue;
            };
            let weight = if bit + 1 == value.len() { -(1i64 << bit) } else { 1 << bit };
            open.push((set.and(b)?, done.clone(), n, bit + 1, partial + weight));
            open.push((without(&set, b)?, done, n, bit + 1, partial));
        }
        Ok(())
    }
}
