//! The search for views and sums.
//!
//! Length: all questions share one state, of which most is their terms.

use super::flow::{Bodies, Flow, callees, closed};
use super::steps::{Layout, Maker, Steps};
use super::sums::{Change, Sum, Sums};
use super::views::{At, Known, Thread, Views, is_at};
use super::words::{comparisons, constants};
use crate::bmc::{Evaluator, NotSequential};
use crate::summaries::Template;
use crate::summaries::graph::{Graph, graph};
use fabius_lang::program::ProcId;
use fabius_smt::{Answer, Embedded, Kind, Limits, Model, Op, SatSolver, Solver, Sort, Term, Terms, Value, evaluate};
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// What is known of any number of threads and of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No assertion fails.
    Holds,
    /// Nothing: what was found is not enough.
    Open,
    /// Nothing: there is too much of it.
    TooMuch,
    /// Nothing: the limits were hit.
    Stopped,
}

/// What is known, and what it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invariants {
    /// What is known.
    pub found: Found,
    /// Whether procedures are recursive.
    pub is_recursive: bool,
    /// Questions that were asked.
    pub questions: u64,
    /// Cells of views that were left.
    pub cells: usize,
    /// Sums that were left.
    pub sums: usize,
}

/// Cells at most.
const MOST_CELLS: usize = 4000;
/// Conflicts in one question at most: where there are more, many bits are needed, and all takes too long.
const CONFLICTS: u64 = 5000;
/// Shared numbers and truth values in sums at most.
const MOST_IN_SUMS: usize = 24;

/// Looks for an invariant, with so much effort at most: a question is ten, and a conflict in the solver one more.
///
/// # Errors
/// The program does something that it may not.
pub fn invariants(template: &Template<'_>, most: u64, limits: &Limits<'_>) -> Result<Invariants, NotSequential> {
    let coarse = attempt(template, Bodies::Shared, most, limits)?;
    // Where nothing is recursive, there is nothing to tell apart.
    if coarse.found != Found::Open || !coarse.is_recursive {
        return Ok(coarse);
    }
    let fine = attempt(template, Bodies::Own, most, limits)?;
    Ok(Invariants { questions: coarse.questions + fine.questions, ..fine })
}

fn attempt(
    template: &Template<'_>,
    bodies: Bodies,
    most: u64,
    limits: &Limits<'_>,
) -> Result<Invariants, NotSequential> {
    let program = template.program;
    let nothing = |found| Ok(Invariants { found, is_recursive: false, questions: 0, cells: 0, sums: 0 });
    let mut prints = Vec::new();
    let graphs = program.procs.iter().map(|p| graph(p, &mut prints)).collect::<Result<Vec<Graph<'_>>, _>>();
    let graphs = graphs.map_err(|span| NotSequential { what: "a statement", span })?;
    let called = |p: ProcId| callees(&graphs[p]);
    let reachable = |roots: BTreeSet<ProcId>| closed(roots, &called);

    let mut ev = Evaluator::new(program);
    let mut begun = Steps::default();
    if let Some(init) = program.init {
        let all = reachable(BTreeSet::from([init]));
        let mut flow = Flow::new(&graphs, &all, bodies);
        if !flow.recursive.is_empty() {
            return nothing(Found::TooMuch);
        }
        let Some(begin) = flow.thread(&graphs, init) else { return nothing(Found::TooMuch) };
        // Nobody else runs beside it.
        let places = |flow: &Flow<'_>| flow.nodes.iter().filter(|node| node.is_place).count();
        flow.nodes.iter_mut().enumerate().for_each(|(n, node)| node.is_place = n == begin || node.rests);
        let before = places(&flow);
        let order = flow.ordered();
        if places(&flow) > before {
            return nothing(Found::TooMuch);
        }
        let layout = Layout::new(program, &ev, &flow);
        let mut maker = Maker { program, ev, flow: &flow, layout: &layout, order: &order };
        let memory = maker.beginning(init);
        maker.from(begin, &memory, &mut begun)?;
        ev = maker.ev;
    }

    if template.any.is_empty() {
        return nothing(Found::TooMuch);
    }
    let roots: Vec<ProcId> = template.declared.iter().chain(template.any).copied().collect();
    let mut flow = Flow::new(&graphs, &reachable(roots.iter().copied().collect()), bodies);
    let mut begins = Vec::new();
    for p in &roots {
        let Some(at) = flow.thread(&graphs, *p) else { return nothing(Found::TooMuch) };
        begins.push(at);
    }
    let order = flow.ordered();
    let layout = Layout::new(program, &ev, &flow);
    let mut maker = Maker { program, ev, flow: &flow, layout: &layout, order: &order };
    let mover = maker.variables();
    let mut steps = Steps::default();
    for (at, _) in flow.nodes.iter().enumerate().filter(|(_, node)| node.is_place && !node.rests) {
        maker.from(at, &mover, &mut steps)?;
    }
    let Some(comparisons) = comparisons(&mut maker, &graphs, &mover)? else { return nothing(Found::TooMuch) };
    let Some(constants) = constants(program) else { return nothing(Found::TooMuch) };
    let views = Views::new(&layout, comparisons, constants);
    if !views.is_narrow() {
        return nothing(Found::TooMuch);
    }
    let in_sums: Vec<usize> = layout
        .shared
        .iter()
        .copied()
        .filter(|leaf| matches!(layout.leaves[*leaf].sort, Sort::Int | Sort::Bool))
        .collect();
    let in_sums = if in_sums.len() > MOST_IN_SUMS { Vec::new() } else { in_sums };
    let [one, two] = [(); 2].map(|()| {
        let own = maker.variables();
        let at = maker.ev.terms.variable_between(0, layout.places.len() as Value - 1);
        Thread { at: At::Number(at), memory: maker.with_shared(&own, &mover) }
    });
    let mut starts = Vec::new();
    for (p, at) in roots.iter().zip(&begins) {
        starts.push((*at, [maker.beginning(*p), maker.beginning(*p)]));
    }
    let sums = Sums::new(in_sums.len());
    let mut search = Search {
        truths: views.comparisons(&mut maker, &mover),
        maker,
        views,
        sums,
        in_sums,
        kinds: HashMap::new(),
        begin: None,
        starts,
        declared: template.declared.len(),
        begun,
        steps,
        mover,
        others: [one, two],
        limits,
        questions: 0,
        left: most,
        common: None,
        closed: HashMap::new(),
    };
    let found = search.run().unwrap_or_else(|why| why);
    let is_recursive = !flow.recursive.is_empty();
    Ok(Invariants {
        found,
        is_recursive,
        questions: search.questions,
        cells: search.views.cells(),
        sums: search.sums.all.len(),
    })
}

struct Search<'a, 'p> {
    maker: Maker<'a, 'p>,
    views: Views<'p>,
    sums: Sums,
    /// The variables of sums.
    in_sums: Vec<usize>,
    /// Kinds of threads: where, and the values of small variables. Those that any number of threads begin as are no part of sums.
    kinds: HashMap<(usize, Vec<Value>), Option<usize>>,
    /// What sums add up to in the beginning is said by this.
    begin: Option<Change>,
    /// Where the threads begin, and the memory of two that begin there; first those of a declared number.
    starts: Vec<(usize, [Vec<Term>; 2])>,
    declared: usize,
    begun: Steps,
    steps: Steps,
    /// Who makes a step; the truth of the comparisons with this memory.
    mover: Vec<Term>,
    truths: Vec<Term>,
    others: [Thread; 2],
    limits: &'a Limits<'a>,
    questions: u64,
    /// Effort that is left.
    left: u64,
    /// Whether the two others are in a view, as far as that is known.
    common: Option<(u64, Term)>,
    /// How much there was when a question was last asked. What it found may itself be a reason to ask again.
    closed: HashMap<Question, (u64, u64)>,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Question {
    /// Where one of two threads makes this step.
    OfTwo(usize),
    /// Where a third one does.
    OfThree(usize),
    /// Where a thread goes on that has waited for another one.
    GoesOn(usize),
    /// Where an assertion fails.
    Wrong(usize),
}

/// What happens to sums in a step.
struct Effect {
    /// The state before and after.
    states: [Vec<Term>; 2],
    /// Threads that are gone, and that are new.
    threads: [Vec<Thread>; 2],
}

impl Search<'_, '_> {
    /// How much is known.
    fn size(&self) -> (u64, u64) {
        (self.views.grown, self.sums.changed)
    }

    fn run(&mut self) -> Result<Found, Found> {
        loop {
            let before = self.size();
            self.begin()?;
            for q in 0..self.steps.wrong.len() {
                if self.asks(Question::Wrong(q)) && self.fails(q)? {
                    return Ok(Found::Open);
                }
            }
            for q in 0..self.steps.all.len() {
                self.of_two(q)?;
                self.of_three(q)?;
            }
            for q in 0..self.maker.flow.waits.len() {
                self.goes_on(q)?;
            }
            if self.size() == before {
                return Ok(Found::Holds);
            }
        }
    }

    /// Whether the question was not answered with as much as there is now.
    fn asks(&self, question: Question) -> bool {
        self.closed.get(&question) != Some(&self.size())
    }

    /// Adds the views of the beginning.
    fn begin(&mut self) -> Result<(), Found> {
        for (_, wrong) in self.begun.wrong.clone() {
            let mut solver = Embedded::with(SatSolver::Few(CONFLICTS));
            if self.ask(&mut solver, &mut 0, wrong)? {
                return Err(Found::Open);
            }
        }
        let mut states: Vec<(Term, Vec<Term>)> =
            self.begun.all.iter().map(|step| (step.guard, step.after.clone())).collect();
        if self.maker.program.init.is_none() {
            states.push((Terms::TRUE, self.starts[0].1[0].clone()));
        }
        for (guard, state) in states {
            let [one, two] = [0, 1].map(|i| -> Vec<Thread> {
                let of = |(at, own): &(usize, [Vec<Term>; 2])| self.at(*at, &self.maker.with_shared(&own[i], &state));
                self.starts.iter().map(of).collect()
            });
            let mut pairs = Vec::new();
            for (i, first) in one.iter().enumerate() {
                // There is one of each that is declared.
                let from = if i < self.declared { i + 1 } else { i };
                pairs.extend(two.iter().skip(from).map(|second| (first.clone(), second.clone())));
            }
            let declared = one[..self.declared].to_vec();
            self.close(guard, &pairs, Some(&Effect { states: [Vec::new(), state], threads: [Vec::new(), declared] }))?;
        }
        Ok(())
    }

    fn at(&self, place: usize, memory: &[Term]) -> Thread {
        Thread { at: At::Place(place), memory: memory.to_vec() }
    }

    fn fails(&mut self, q: usize) -> Result<bool, Found> {
        let (place, wrong) = self.steps.wrong[q];
        let mover = self.at(place, &self.mover);
        let other = self.others[0].clone();
        let before = self.fit(&[&mover, &other]);
        let mut solver = Embedded::with(SatSolver::Few(CONFLICTS));
        let all = self.maker.ev.terms.and(before, wrong);
        let fails = self.ask(&mut solver, &mut 0, all)?;
        self.closed.insert(Question::Wrong(q), self.size());
        Ok(fails)
    }

    fn of_two(&mut self, q: usize) -> Result<(), Found> {
        if !self.asks(Question::OfTwo(q)) {
            return Ok(());
        }
        let size = self.size();
        let step = self.steps.all[q].clone();
        let mover = self.at(step.from, &self.mover);
        let other = self.others[0].clone();
        let before = self.fit(&[&mover, &other]);
        let then = self.at(step.to, &step.after);
        let other = Thread { at: other.at, memory: self.maker.with_shared(&other.memory, &step.after) };
        let mut pairs = vec![(then.clone(), other.clone())];
        let mut new = vec![then.clone()];
        if let Some((place, own)) = &step.begins {
            let memory = self.maker.with_shared(own, &step.after);
            let begun = self.at(*place, &memory);
            pairs.push((begun.clone(), other));
            pairs.push((then, begun.clone()));
            new.push(begun);
        }
        let effect = Effect { states: [self.mover.clone(), step.after.clone()], threads: [vec![mover], new] };
        let all = self.maker.ev.terms.and(before, step.guard);
        self.close(all, &pairs, Some(&effect))?;
        self.closed.insert(Question::OfTwo(q), size);
        Ok(())
    }

    fn of_three(&mut self, q: usize) -> Result<(), Found> {
        let step = &self.steps.all[q];
        let changes = self.maker.layout.shared.iter().any(|leaf| step.after[*leaf] != self.mover[*leaf]);
        if !changes || !self.asks(Question::OfThree(q)) {
            return Ok(());
        }
        let size = self.size();
        let step = step.clone();
        let mover = self.at(step.from, &self.mover);
        let [one, two] = self.others.clone();
        let before = self.fit(&[&mover, &one, &two]);
        let all = self.maker.ev.terms.and(before, step.guard);
        let [one, two] =
            [one, two].map(|t| Thread { at: t.at, memory: self.maker.with_shared(&t.memory, &step.after) });
        self.close(all, &[(one, two)], None)?;
        self.closed.insert(Question::OfThree(q), size);
        Ok(())
    }

    fn goes_on(&mut self, q: usize) -> Result<(), Found> {
        if !self.asks(Question::GoesOn(q)) {
            return Ok(());
        }
        let size = self.size();
        let wait = &self.maker.flow.waits[q];
        let (_, end) = self.maker.flow.bodies[&wait.body];
        let waiting = self.at(wait.at, &self.mover);
        let [one, other] = self.others.clone();
        let ended = self.at(end, &one.memory);
        let before = self.fit(&[&waiting, &ended, &other]);
        let after = self.maker.goes_on(wait, &self.mover, &ended.memory);
        let then = self.at(wait.then, &after);
        let effect =
            Effect { states: [self.mover.clone(), after], threads: [vec![waiting, ended], vec![then.clone()]] };
        self.close(before, &[(then, other)], Some(&effect))?;
        self.closed.insert(Question::GoesOn(q), size);
        Ok(())
    }

    /// Whether any two of the threads are in a view, and all fit to the sums.
    fn fit(&mut self, threads: &[&Thread]) -> Term {
        let mut all = Vec::new();
        for (i, two) in threads.iter().enumerate() {
            for one in &threads[..i] {
                // Neither of them is the mover: the same in each question.
                let is_common = matches!((one.at, two.at), (At::Number(_), At::Number(_)));
                let known = match self.common {
                    Some((grown, known)) if is_common && grown == self.views.grown => known,
                    _ => self.views.contains(&mut self.maker, one, two),
                };
                if is_common {
                    self.common = Some((self.views.grown, known));
                }
                all.push(known);
            }
        }
        let Some(begin) = self.begin.clone() else { return self.maker.ev.terms.all(all) };
        for sum in self.sums.all.clone() {
            if !self.compares_two(&sum) {
                continue;
            }
            let least = sum.of(&begin);
            let [more, less] = self.add_up(&sum, &threads[0].memory, threads);
            let most = self.maker.ev.terms.constant(least, Sort::Int);
            let most = self.maker.ev.terms.arithmetic(Op::Add, less, most);
            all.push(self.maker.ev.terms.le(more, most));
        }
        self.maker.ev.terms.all(all)
    }

    /// Whether at most two numbers of any size are compared: of others the solver would need to know far more bits.
    fn compares_two(&self, sum: &Sum) -> bool {
        let layout = self.maker.layout;
        let wide = sum.variables.iter().filter(|(v, _)| !layout.has_range(self.in_sums[**v]));
        let signs: Vec<Value> = wide.map(|(_, weight)| *weight).collect();
        matches!(signs[..], [] | [1 | -1] | [1, -1] | [-1, 1])
    }

    /// What a sum comes to: what is positive, and what is negative.
    fn add_up(&mut self, sum: &Sum, state: &[Term], threads: &[&Thread]) -> [Term; 2] {
        let zero = self.maker.ev.terms.constant(0, Sort::Int);
        let mut sides = [zero; 2];
        for (v, weight) in &sum.variables {
            let terms = &mut self.maker.ev.terms;
            let value = as_number(terms, state[self.in_sums[*v]]);
            let value = times(terms, weight.abs(), value);
            let side = &mut sides[usize::from(*weight < 0)];
            *side = terms.arithmetic(Op::Add, *side, value);
        }
        for thread in threads {
            let weight = self.weight(sum, thread);
            sides[0] = self.maker.ev.terms.arithmetic(Op::Add, sides[0], weight);
        }
        sides
    }

    /// The weight of a thread in a sum.
    fn weight(&mut self, sum: &Sum, thread: &Thread) -> Term {
        let terms = &mut self.maker.ev.terms;
        let mut weight = terms.constant(0, Sort::Int);
        for ((place, values), kind) in &self.kinds {
            let Some(w) = kind.and_then(|kind| sum.kinds.get(&kind)) else { continue };
            let mut is = is_at(terms, self.maker.layout, thread.at, *place);
            for (leaf, value) in self.views.small(*place).iter().zip(values) {
                let constant = terms.constant(*value, self.maker.layout.leaves[*leaf].sort);
                let same = terms.eq(thread.memory[*leaf], constant);
                is = terms.and(is, same);
            }
            let w = terms.constant(*w, Sort::Int);
            weight = terms.ite(is, w, weight);
        }
        weight
    }

    /// Whether this is satisfiable, as well as what the solver knows, which has had so many conflicts before.
    fn ask(&mut self, solver: &mut Embedded, before: &mut u64, what: Term) -> Result<bool, Found> {
        if self.limits.are_hit() {
            return Err(Found::Stopped);
        }
        if self.left == 0 {
            return Err(Found::TooMuch);
        }
        self.questions += 1;
        let answer = solver.check(&self.maker.ev.terms, &[what], self.limits);
        let conflicts = solver.statistics().iter().find(|(name, _)| *name == "conflicts").map_or(0, |(_, n)| *n);
        self.left = self.left.saturating_sub(10 + conflicts.saturating_sub(*before));
        *before = conflicts;
        match answer {
            Ok(Answer::Sat) => Ok(true),
            Ok(Answer::Unsat) => Ok(false),
            Ok(Answer::Unknown) if self.limits.are_hit() => Err(Found::Stopped),
            Ok(Answer::Unknown | Answer::UnsatWithin64Bits) | Err(_) => Err(Found::TooMuch),
        }
    }

    /// Adds all views of these pairs where this holds, and takes the effects on sums into account.
    fn close(&mut self, when: Term, pairs: &[(Thread, Thread)], effect: Option<&Effect>) -> Result<(), Found> {
        if when == Terms::FALSE {
            return Ok(());
        }
        let mut solver = Embedded::with(SatSolver::Few(CONFLICTS));
        solver.assert(&self.maker.ev.terms, when);
        // Each pair may be the one that is in no view.
        let (mut open, mut conflicts) = (Vec::new(), 0);
        for (one, two) in pairs {
            let known = self.views.contains(&mut self.maker, one, two);
            let is_new = self.maker.ev.terms.variable(Sort::Bool);
            let no = [is_new, known].map(|t| self.maker.ev.terms.not(t));
            solver.assert_any(&self.maker.ev.terms, &no);
            open.push(is_new);
        }
        loop {
            let mut new = open.clone();
            if let Some(effect) = effect {
                new.push(self.changes(effect));
            }
            let new = self.maker.ev.terms.any(new);
            if new == Terms::FALSE || !self.ask(&mut solver, &mut conflicts, new)? {
                return Ok(());
            }
            let before = self.size();
            let values = self.model(&mut solver)?;
            let (mut seen, mut grown) = (HashMap::new(), Vec::new());
            for (one, two) in pairs {
                let [one, two] = [one, two].map(|thread| self.known(thread, &values, &mut seen));
                grown.extend(self.views.add(&one, &two));
                if effect.is_some_and(|effect| effect.states[0].is_empty()) {
                    self.note_start(&one);
                    self.note_start(&two);
                }
            }
            if let Some(effect) = effect {
                self.follow(effect, &values, &mut seen);
            }
            if self.views.cells() > MOST_CELLS || self.size() == before {
                return Err(Found::TooMuch);
            }
            for ((one, two), is_new) in pairs.iter().zip(&open) {
                for known in self.views.each(&mut self.maker, grown.iter(), one, two) {
                    let no = [*is_new, known].map(|t| self.maker.ev.terms.not(t));
                    solver.assert_any(&self.maker.ev.terms, &no);
                }
            }
        }
    }

    /// Any number of threads begin like this.
    fn note_start(&mut self, thread: &Known) {
        let is_any = self.starts[self.declared..].iter().any(|(at, _)| *at == thread.at);
        if is_any {
            let kind = self.kind_of(thread);
            self.kinds.insert(kind, None);
        }
    }

    fn kind_of(&self, thread: &Known) -> (usize, Vec<Value>) {
        (thread.at, self.views.small(thread.at).iter().map(|leaf| thread.memory[*leaf]).collect())
    }

    /// Whether a sum changes.
    fn changes(&mut self, effect: &Effect) -> Term {
        let [before, after] = &effect.states;
        let [gone, new] = [0, 1].map(|i| effect.threads[i].iter().collect::<Vec<_>>());
        let Some(begin) = self.begin.clone() else { return Terms::TRUE };
        let zero = self.maker.ev.terms.constant(0, Sort::Int);
        let mut all = Vec::new();
        for sum in self.sums.all.clone() {
            let mut change = zero;
            for (v, weight) in &sum.variables {
                let leaf = self.in_sums[*v];
                let by = match before.get(leaf) {
                    Some(old) => difference(&mut self.maker.ev.terms, after[leaf], *old),
                    None => as_number(&mut self.maker.ev.terms, after[leaf]),
                };
                let by = times(&mut self.maker.ev.terms, *weight, by);
                change = self.maker.ev.terms.arithmetic(Op::Add, change, by);
            }
            for (threads, op) in [(&new, Op::Add), (&gone, Op::Sub)] {
                for thread in threads {
                    let weight = self.weight(&sum, thread);
                    change = self.maker.ev.terms.arithmetic(op, change, weight);
                }
            }
            let expected = if before.is_empty() { sum.of(&begin) } else { 0 };
            let terms = &mut self.maker.ev.terms;
            let expected = terms.constant(expected, Sort::Int);
            let same = terms.eq(change, expected);
            all.push(terms.not(same));
        }
        self.maker.ev.terms.any(all)
    }

    /// Takes the effect on sums into account that a model shows.
    fn follow(&mut self, effect: &Effect, model: &Model, seen: &mut HashMap<Term, Value>) {
        let mut change = Change::default();
        let factors = [-1, 1];
        for (state, factor) in effect.states.iter().zip(factors).filter(|(state, _)| !state.is_empty()) {
            for (v, leaf) in self.in_sums.iter().enumerate() {
                let value = evaluate(&self.maker.ev.terms, model, state[*leaf], seen);
                *change.variables.entry(v).or_default() += factor * value;
            }
        }
        for (threads, factor) in effect.threads.iter().zip(factors) {
            for thread in threads {
                let known = self.known(thread, model, seen);
                let next = self.kinds.values().flatten().count();
                let kind = self.kind_of(&known);
                let kind = *self.kinds.entry(kind).or_insert_with(|| {
                    self.sums.kind(next);
                    Some(next)
                });
                if let Some(kind) = kind {
                    *change.kinds.entry(kind).or_default() += factor;
                }
            }
        }
        if effect.states[0].is_empty() {
            let Some(begin) = &self.begin else {
                self.begin = Some(change);
                return;
            };
            change.minus(begin);
        }
        self.sums.change(&change);
    }

    /// A thread in a model.
    fn known(&self, thread: &Thread, model: &Model, seen: &mut HashMap<Term, Value>) -> Known {
        let terms = &self.maker.ev.terms;
        let at = match thread.at {
            At::Place(at) => at,
            At::Number(n) => self.maker.layout.places[evaluate(terms, model, n, seen) as usize],
        };
        let memory: Vec<Value> = thread.memory.iter().map(|t| evaluate(terms, model, *t, seen)).collect();
        // The comparisons are known of the mover's memory.
        let as_mover: Model = self.mover.iter().copied().zip(memory.iter().copied()).collect();
        let mut of_mover = HashMap::new();
        let holds = self.truths.iter().map(|t| evaluate(terms, &as_mover, *t, &mut of_mover) == 1).collect();
        Known { at, memory, holds }
    }

    fn model(&mut self, solver: &mut Embedded) -> Result<Model, Found> {
        let mut model = Model::new();
        for variable in self.maker.ev.terms.variables() {
            let value = solver.value(&self.maker.ev.terms, *variable).map_err(|_| Found::Stopped)?;
            model.extend(value.map(|value| (*variable, value)));
        }
        Ok(model)
    }
}

/// A truth value as 0 or 1.
fn as_number(terms: &mut Terms, value: Term) -> Term {
    if terms.sort(value) != Sort::Bool {
        return value;
    }
    let [zero, one] = [0, 1].map(|n| terms.constant(n, Sort::Int));
    terms.ite(value, one, zero)
}

fn times(terms: &mut Terms, factor: Value, value: Term) -> Term {
    match factor {
        1 => value,
        _ => {
            let factor = terms.constant(factor, Sort::Int);
            terms.arithmetic(Op::Mul, factor, value)
        }
    }
}

/// How much greater a value is than an old one. Where it was made by adding constants to that, this is a finite number.
fn difference(terms: &mut Terms, new: Term, old: Term) -> Term {
    if new == old {
        return terms.constant(0, Sort::Int);
    }
    if terms.sort(new) == Sort::Int
        && let Kind::App(op, [a, b, c]) = *terms.kind(new)
    {
        match op {
            Op::Ite => {
                let [b, c] = [b, c].map(|value| difference(terms, value, old));
                return terms.ite(a, b, c);
            }
            Op::Add | Op::Sub if terms.range(b).is_some() => {
                let of_first = difference(terms, a, old);
                return terms.arithmetic(op, of_first, b);
            }
            Op::Add if terms.range(a).is_some() => {
                let of_second = difference(terms, b, old);
                return terms.arithmetic(op, of_second, a);
            }
            _ => {}
        }
    }
    let [new, old] = [new, old].map(|value| as_number(terms, value));
    terms.arithmetic(Op::Sub, new, old)
}
