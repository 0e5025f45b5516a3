//! What a thread does from one place to the next, as terms.

use super::flow::{Flow, Move, Wait};
use crate::bmc::layout::{Leaf, size};
use crate::bmc::{Evaluator, NotSequential, State};
use crate::summaries::graph::Action;
use fabius_lang::program::{Expr, LocalId, ProcId, Program};
use fabius_smt::{Sort, Term, Terms};

/// How the variables of the program and of one thread lie in a memory: globals, the locals of each procedure, the results of
/// recursive ones.
pub struct Layout {
    pub leaves: Vec<Leaf>,
    globals: usize,
    locals: Vec<usize>,
    results: Vec<usize>,
    /// The leaves that all threads share.
    pub shared: Vec<usize>,
    /// The globals of which every thread has its own.
    per_thread: Vec<usize>,
    /// The nodes where threads may rest, in order.
    pub places: Vec<usize>,
    /// By node: the leaves of a thread's own that matter there.
    pub live: Vec<Vec<usize>>,
}

impl Layout {
    pub fn new(program: &Program, ev: &Evaluator<'_>, flow: &Flow<'_>) -> Layout {
        let mut leaves = ev.globals.leaves.clone();
        let globals = leaves.len();
        let mut put = |more: &[Leaf]| {
            leaves.extend_from_slice(more);
            leaves.len() - more.len()
        };
        let locals = ev.locals.iter().map(|l| put(&l.leaves)).collect();
        let results = program
            .procs
            .iter()
            .map(|p| put(&p.results.iter().flat_map(|ty| ev.leaves(ty)).collect::<Vec<_>>()))
            .collect();
        let of_globals = |per_thread: bool| -> Vec<usize> {
            let all = program.globals.iter().zip(&ev.globals.offsets).filter(|(g, _)| g.per_thread == per_thread);
            all.flat_map(|(g, first)| *first..first + size(program, &g.ty)).collect()
        };
        let (shared, per_thread) = (of_globals(false), of_globals(true));
        let places = (0..flow.nodes.len()).filter(|n| flow.nodes[*n].is_place).collect();
        let mut layout = Layout { leaves, globals, locals, results, shared, per_thread, places, live: Vec::new() };
        layout.live = (0..flow.nodes.len()).map(|n| layout.live_at(program, ev, flow, n)).collect();
        layout
    }

    fn live_at(&self, program: &Program, ev: &Evaluator<'_>, flow: &Flow<'_>, at: usize) -> Vec<usize> {
        let node = &flow.nodes[at];
        let mut all: Vec<usize> = node.live.iter().flat_map(|(p, l)| self.local(program, ev, *p, *l)).collect();
        // Who waits has given them away, and gets them back.
        if !node.rests || node.ends.is_some() {
            all.extend(&self.per_thread);
        }
        if let Some(p) = node.ends {
            let leaves: usize = program.procs[p].results.iter().map(|ty| size(program, ty)).sum();
            all.extend(self.results[p]..self.results[p] + leaves);
        }
        all.sort_unstable();
        all
    }

    fn local(&self, program: &Program, ev: &Evaluator<'_>, p: ProcId, l: LocalId) -> std::ops::Range<usize> {
        let first = self.locals[p] + ev.locals[p].offsets[l];
        first..first + size(program, &program.procs[p].locals[l].ty)
    }

    /// Whether a leaf has finitely many values.
    pub fn has_range(&self, leaf: usize) -> bool {
        self.leaves[leaf].sort != Sort::Int || self.leaves[leaf].range.is_some()
    }

    /// Whether values of a leaf are few enough to be told apart one by one.
    pub fn is_finite(&self, leaf: usize) -> bool {
        const FEW: i64 = 16;
        let Leaf { sort, range } = self.leaves[leaf];
        sort == Sort::Bool || range.is_some_and(|(lo, hi)| hi.checked_sub(lo).is_some_and(|d| d < FEW))
    }
}

/// Who begins in a step: where, and with which memory.
type Begun = Option<(usize, Vec<Term>)>;

/// A step of a thread.
#[derive(Clone)]
pub struct Step {
    pub from: usize,
    pub to: usize,
    /// When it is made.
    pub guard: Term,
    /// The memory behind it.
    pub after: Vec<Term>,
    /// Who begins.
    pub begins: Begun,
}

/// What threads do.
#[derive(Default)]
pub struct Steps {
    pub all: Vec<Step>,
    /// From which place an assertion fails, and when.
    pub wrong: Vec<(usize, Term)>,
}

/// A point on the way.
#[derive(Clone)]
struct Point {
    guard: Term,
    memory: Vec<Term>,
}

/// Makes steps.
pub struct Maker<'a, 'p> {
    pub program: &'p Program,
    pub ev: Evaluator<'p>,
    pub flow: &'a Flow<'p>,
    pub layout: &'a Layout,
    /// The nodes, in the order in which steps pass through them.
    pub order: &'a [usize],
}

impl<'p> Maker<'_, 'p> {
    /// A memory of new variables.
    pub fn variables(&mut self) -> Vec<Term> {
        self.layout.leaves.iter().map(|leaf| leaf.variable(&mut self.ev.terms)).collect()
    }

    /// The memory of one thread in the state of another.
    pub fn with_shared(&self, own: &[Term], state: &[Term]) -> Vec<Term> {
        let mut memory = own.to_vec();
        self.layout.shared.iter().for_each(|leaf| memory[*leaf] = state[*leaf]);
        memory
    }

    /// The memory of a thread at its beginning, as far as it is known.
    pub fn beginning(&mut self, proc: ProcId) -> Vec<Term> {
        let mut memory = self.variables();
        for (g, global) in self.program.globals.iter().enumerate() {
            let first = self.ev.globals.offsets[g];
            let values = self.ev.constant(&global.init, &global.ty);
            memory[first..first + values.len()].copy_from_slice(&values);
        }
        self.defaults(proc, &mut memory);
        memory
    }

    fn defaults(&mut self, proc: ProcId, memory: &mut [Term]) {
        let program = self.program;
        for (l, local) in program.procs[proc].locals.iter().enumerate().skip(program.procs[proc].params) {
            let first = self.layout.locals[proc] + self.ev.locals[proc].offsets[l];
            let values = self.ev.default_of(&local.ty);
            memory[first..first + values.len()].copy_from_slice(&values);
        }
    }

    /// The values that expressions of a procedure see.
    pub fn frame(&self, proc: ProcId, guard: Term, memory: &[Term]) -> State {
        let (globals, first) = (self.layout.globals, self.layout.locals[proc]);
        let locals = self.ev.locals[proc].leaves.len();
        State { guard, vars: [&memory[..globals], &memory[first..first + locals]].concat() }
    }

    fn put_frame(&self, proc: ProcId, state: &State, memory: &mut [Term]) {
        let (globals, first) = (self.layout.globals, self.layout.locals[proc]);
        memory[..globals].copy_from_slice(&state.vars[..globals]);
        memory[first..first + state.vars.len() - globals].copy_from_slice(&state.vars[globals..]);
    }

    /// Whether a comparison holds in a memory. It was evaluated before.
    pub fn holds(&mut self, proc: ProcId, e: &Expr, memory: &[Term]) -> Term {
        let state = self.frame(proc, Terms::TRUE, memory);
        self.ev.scalar(&state, proc, e).expect("an expression of the program")
    }

    /// All steps from a place, in a memory of which what does not matter there is forgotten.
    pub fn from(&mut self, place: usize, memory: &[Term], into: &mut Steps) -> Result<(), NotSequential> {
        let begin = Point { guard: Terms::TRUE, memory: self.at_place(place, memory) };
        let mut wrong = Vec::new();
        let mut reached: Vec<Option<Point>> = vec![None; self.flow.nodes.len()];
        reached[place] = Some(begin);
        let mut ends: Vec<Step> = Vec::new();
        for at in self.order {
            let Some(mut point) = reached[*at].take() else { continue };
            for (p, e) in &self.flow.nodes[*at].checks {
                let state = self.frame(*p, point.guard, &point.memory);
                let holds = self.ev.scalar(&state, *p, e)?;
                let fails = self.ev.terms.not(holds);
                wrong.push(self.ev.terms.and(point.guard, fails));
                point.guard = self.ev.terms.and(point.guard, holds);
            }
            for (what, to) in &self.flow.nodes[*at].moves {
                let (next, begins) = self.moved(what, &point)?;
                if next.guard == Terms::FALSE {
                    continue;
                }
                if self.flow.nodes[*to].is_place {
                    let after = self.at_place(*to, &next.memory);
                    ends.push(Step { from: place, to: *to, guard: next.guard, after, begins });
                } else {
                    reached[*to] = Some(match reached[*to].take() {
                        None => next,
                        Some(known) => self.join(known, next),
                    });
                }
            }
        }
        let wrong = self.ev.terms.any(wrong);
        if wrong != Terms::FALSE {
            into.wrong.push((place, wrong));
        }
        into.all.extend(ends);
        Ok(())
    }

    /// With what does not matter there forgotten.
    fn at_place(&mut self, place: usize, memory: &[Term]) -> Vec<Term> {
        let live = &self.layout.live[place];
        let mut all = memory.to_vec();
        for (leaf, value) in all.iter_mut().enumerate() {
            let is_shared = leaf < self.layout.globals && self.layout.shared.binary_search(&leaf).is_ok();
            if !is_shared && live.binary_search(&leaf).is_err() {
                *value = self.ev.terms.constant(0, self.layout.leaves[leaf].sort);
            }
        }
        all
    }

    fn join(&mut self, a: Point, b: Point) -> Point {
        let memory = a.memory.iter().zip(&b.memory).map(|(x, y)| self.ev.terms.ite(a.guard, *x, *y)).collect();
        Point { guard: self.ev.terms.or(a.guard, b.guard), memory }
    }

    fn moved(&mut self, what: &Move<'p>, point: &Point) -> Result<(Point, Begun), NotSequential> {
        let mut next = point.clone();
        let mut begins = None;
        match what {
            Move::Act(p, action) => self.act(*p, action, &mut next)?,
            Move::Enter { caller, callee, args } => {
                let memory = self.called(*caller, *callee, args, point)?;
                next.memory = memory;
            }
            Move::Leave { callee, values, caller, results } => {
                let values = self.results(*callee, values, point)?;
                self.give(*caller, results, &values, &mut next.memory);
            }
            Move::Begin { caller, body, args } => {
                let memory = self.called(*caller, body.0, args, point)?;
                let (begin, _) = self.flow.bodies[body];
                begins = Some((begin, self.at_place(begin, &memory)));
            }
            Move::End { callee, values } => {
                let values = self.results(*callee, values, point)?.concat();
                let first = self.layout.results[*callee];
                next.memory[first..first + values.len()].copy_from_slice(&values);
            }
            Move::Finish => {}
        }
        Ok((next, begins))
    }

    fn act(&mut self, p: ProcId, action: &Action<'p>, point: &mut Point) -> Result<(), NotSequential> {
        let mut state = self.frame(p, point.guard, &point.memory);
        match action {
            Action::Assign(place, e) => {
                let value = self.ev.eval(&state, p, e)?;
                self.ev.store(&mut state, p, place, &value)?;
            }
            Action::Any(place, lo, hi) => {
                let sort = self.ev.leaf_sort(&state, p, place)?;
                let (value, allowed) = self.ev.any(&state, p, &place.ty, sort, lo, hi)?;
                self.ev.store(&mut state, p, place, &[value])?;
                point.guard = self.ev.terms.and(point.guard, allowed);
            }
            Action::Where(e, is) => {
                let holds = self.ev.scalar(&state, p, e)?;
                let holds = if *is { holds } else { self.ev.terms.not(holds) };
                point.guard = self.ev.terms.and(point.guard, holds);
            }
            Action::Skip | Action::Print(..) | Action::Zield => return Ok(()),
            Action::Call(..) | Action::Return(_) => unreachable!("calls are moves of their own"),
        }
        self.put_frame(p, &state, &mut point.memory);
        Ok(())
    }

    /// The memory at the beginning of a procedure.
    fn called(&mut self, p: ProcId, q: ProcId, args: &[Expr], point: &Point) -> Result<Vec<Term>, NotSequential> {
        let state = self.frame(p, point.guard, &point.memory);
        let mut values = Vec::new();
        for (e, local) in args.iter().zip(&self.program.procs[q].locals) {
            let value = self.ev.eval(&state, p, e)?;
            values.extend(self.ev.in_sorts_of(value, &local.ty));
        }
        let mut memory = point.memory.clone();
        let first = self.layout.locals[q];
        memory[first..first + values.len()].copy_from_slice(&values);
        self.defaults(q, &mut memory);
        Ok(memory)
    }

    /// The results of a procedure; those that are not given have their defaults.
    fn results(&mut self, q: ProcId, values: &[Expr], point: &Point) -> Result<Vec<Vec<Term>>, NotSequential> {
        let state = self.frame(q, point.guard, &point.memory);
        let program = self.program;
        let types = program.procs[q].results.iter().enumerate();
        types
            .map(|(i, ty)| match values.get(i) {
                Some(e) => {
                    let value = self.ev.eval(&state, q, e)?;
                    Ok(self.ev.in_sorts_of(value, ty))
                }
                None => Ok(self.ev.default_of(ty)),
            })
            .collect()
    }

    /// Puts results where the caller wants them.
    fn give(&self, caller: ProcId, results: &[Option<LocalId>], values: &[Vec<Term>], memory: &mut [Term]) {
        for (l, value) in results.iter().zip(values).filter_map(|(l, value)| Some(((*l)?, value))) {
            let first = self.layout.locals[caller] + self.ev.locals[caller].offsets[l];
            memory[first..first + value.len()].copy_from_slice(value);
        }
    }

    /// The memory of one who has waited, when the other one has come to its end.
    pub fn goes_on(&mut self, wait: &Wait<'_>, waiting: &[Term], ended: &[Term]) -> Vec<Term> {
        let mut memory = waiting.to_vec();
        self.layout.per_thread.iter().for_each(|leaf| memory[*leaf] = ended[*leaf]);
        let mut at = self.layout.results[wait.body.0];
        let mut values = Vec::new();
        for ty in &self.program.procs[wait.body.0].results {
            let leaves = size(self.program, ty);
            values.push(ended[at..at + leaves].to_vec());
            at += leaves;
        }
        self.give(wait.caller, wait.results, &values, &mut memory);
        self.at_place(wait.then, &memory)
    }
}
