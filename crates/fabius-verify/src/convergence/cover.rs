//! More configurations than are reachable, finitely many if the data is finite: of each stack its top, and a name for what is
//! beneath it.
//!
//! Paper: CUBA: Interprocedural Context-Unbounded Analysis of Concurrent Programs (PLDI 2018), section 5: visible states, and the
//! set `Z` of those that some returning to any pushed symbol reaches.
//!
//! Deviations:
//! 1. A stack is a top and a *node*, not a top alone. A node stands for what is beneath a frame: it is the frame as it was called,
//!    with so many callers and, where that is asked for, the control state at the call. Whoever calls adds to the node the caller
//!    and the caller's node; whoever returns goes on with each of these. With the control state, and one thread, these are the
//!    states of the automaton of `post*`, and nothing is reached that is not reachable.
//! 2. There is no plateau and there are no generators. The paper stops when the visible states of `k` contexts are those of
//!    `k - 1` and contain all of `Z` that a return leads to. They are then all of `Z`: a state of `Z` is the first, or follows by a
//!    statement that looks at tops alone (under which the plateau is closed), or is one that a return leads to. So whenever that
//!    test says that no context more matters, no state of `Z` fails unless one of these contexts does, and to look at `Z` is enough.
//!
//! Sound, because every reachable configuration is covered: if its stack is `f1 f2 .. fn` (the top first), there are nodes
//! `m1 .. mn` such that the state has the tops `f1` with `m1`, to each node `m(i)` the pair `f(i+1)`, `m(i+1)` was added, and `mn`
//! is the bottom. A call adds the pair that makes this true of the longer stack. A return goes to each pair that was ever added
//! or ever will be, so to the one that the configuration has. Nothing else looks beneath a top ([`super::steps`]).

use super::steps::{Control, Move, Next, Phase, Steps, Symbol};
use fabius_explore::system::{Fault, TaskId};
use fabius_smt::Limits;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// How much a node knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// Whether it knows the control state at the call.
    pub control: bool,
    /// How many callers it knows.
    pub callers: usize,
}

/// How much is covered.
#[derive(Clone, Copy)]
pub struct Extent<'a> {
    /// Words that all states together may have.
    pub words: usize,
    /// Whether that nobody can go on is a bug.
    pub deadlock: bool,
    /// When to stop.
    pub limits: &'a Limits<'a>,
}

/// What there is.
#[derive(Clone, Debug, PartialEq)]
pub enum Covered {
    /// Nothing that is covered is a bug.
    Safe,
    /// Something is.
    Fails(Failure),
    /// There are more states than are looked at.
    TooMany,
    /// A limit was hit.
    Stopped,
}

/// Something that is covered is a bug, or a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failure {
    /// A statement.
    Fault(Fault),
    /// Nobody can go on.
    Deadlock,
}

/// How often limits are looked at: once in so many states.
const OFTEN: usize = 1024;

/// Nobody stands here.
const NONE: u32 = u32::MAX;

/// The node with nothing beneath.
const BOTTOM: u32 = 0;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Node {
    thread: TaskId,
    /// The frame that was called.
    entry: Symbol,
    control: Option<Control>,
    callers: Vec<Symbol>,
}

/// A control state, and of each thread its top and its node.
type State = Rc<[u32]>;

struct Cover<'a, 'p> {
    steps: &'a mut Steps<'p>,
    precision: Precision,
    states: Vec<State>,
    known: HashSet<State>,
    nodes: HashMap<Node, u32>,
    /// By node: the callers that it knows.
    callers: Vec<Vec<Symbol>>,
    /// By node: what may be beneath.
    beneath: Vec<Vec<(Symbol, u32)>>,
    /// By node: the states in which somebody returns to it.
    returning: Vec<Vec<usize>>,
    failure: Option<Failure>,
}

/// Covers what is reachable; the number of states, too.
pub fn cover(steps: &mut Steps<'_>, precision: Precision, extent: Extent<'_>) -> (Covered, usize) {
    let (control, born) = steps.first();
    let mut cover = Cover {
        steps,
        precision,
        states: Vec::new(),
        known: HashSet::new(),
        nodes: HashMap::new(),
        callers: vec![Vec::new()],
        beneath: vec![Vec::new()],
        returning: vec![Vec::new()],
        failure: None,
    };
    cover.add(Vec::new(), control, &born);
    let mut words = 0;
    let mut at = 0;
    while let Some(state) = cover.states.get(at).cloned() {
        words += state.len();
        if at % OFTEN == 0 && extent.limits.are_hit() {
            return (Covered::Stopped, at);
        }
        if words > extent.words || cover.steps.is_full() {
            return (Covered::TooMany, at);
        }
        cover.expand(at, &state, extent.deadlock);
        if let Some(failure) = cover.failure {
            return (Covered::Fails(failure), at);
        }
        at += 1;
    }
    (Covered::Safe, at)
}

/// Where the top of a thread is in a state; its node is behind.
fn place(thread: TaskId) -> usize {
    1 + 2 * thread as usize
}

impl Cover<'_, '_> {
    /// Adds a state with another control state, and with threads that have begun.
    fn add(&mut self, mut state: Vec<u32>, control: Control, born: &[(TaskId, Symbol)]) {
        let most = born.iter().map(|(thread, _)| place(*thread) + 2).max().unwrap_or(0);
        state.resize(state.len().max(most).max(1), NONE);
        state[0] = control;
        for (thread, top) in born {
            let at = place(*thread);
            (state[at], state[at + 1]) = (*top, BOTTOM);
        }
        let state: State = state.into();
        if self.known.insert(Rc::clone(&state)) {
            self.states.push(state);
        }
    }

    fn expand(&mut self, at: usize, state: &State, deadlock: bool) {
        let control = state[0];
        let thread = match self.steps.phase(control) {
            Phase::Step(thread, _) | Phase::Prefix(thread) => thread,
            Phase::Rest => return self.rest(state, deadlock),
        };
        let (top, node) = (state[place(thread)], state[place(thread) + 1]);
        match self.steps.step(control, top) {
            Move::Goes(all) => self.follow(state, thread, node, &all),
            Move::Returns if node == BOTTOM => {
                let all = self.steps.back(control, top, None);
                self.follow(state, thread, node, &all);
            }
            Move::Returns => {
                self.returning[node as usize].push(at);
                for beneath in self.beneath[node as usize].clone() {
                    self.go_back(state, thread, beneath);
                }
            }
        }
    }

    /// Any thread that is ready begins a step.
    fn rest(&mut self, state: &State, deadlock: bool) {
        let mut is_stuck = false;
        let mut goes_on = false;
        for thread in self.steps.alive(state[0]) {
            if self.steps.is_ready(state[0], thread, state[place(thread)]) {
                goes_on = true;
                let control = self.steps.begun(state[0], thread);
                self.add(state.to_vec(), control, &[]);
            } else {
                is_stuck = true;
            }
        }
        if deadlock && is_stuck && !goes_on {
            self.failure = Some(Failure::Deadlock);
        }
    }

    /// A caller goes on behind its call.
    fn go_back(&mut self, state: &State, thread: TaskId, (caller, node): (Symbol, u32)) {
        let all = self.steps.back(state[0], state[place(thread)], Some(caller));
        self.follow(state, thread, node, &all);
    }

    /// Adds what follows, where this node is beneath the lowest of the frames.
    fn follow(&mut self, state: &State, thread: TaskId, node: u32, all: &[Next]) {
        for next in all {
            let (control, frames, born) = match next {
                Next::Fault(fault, _) => {
                    self.failure = self.failure.or(Some(Failure::Fault(*fault)));
                    continue;
                }
                Next::Goes { control, frames, born, .. } => (*control, frames, born),
            };
            let mut new = state.to_vec();
            let (top, node) = match frames.as_slice() {
                [] => (NONE, NONE),
                [top] => (*top, node),
                [caller, top] => (*top, self.called(thread, control, *caller, *top, node)),
                _ => unreachable!("a statement calls once"),
            };
            (new[place(thread)], new[place(thread) + 1]) = (top, node);
            self.add(new, control, born);
        }
    }

    /// The node beneath what was just called.
    fn called(&mut self, thread: TaskId, control: Control, caller: Symbol, entry: Symbol, beneath: u32) -> u32 {
        let known = std::iter::once(caller).chain(self.callers[beneath as usize].iter().copied());
        let callers: Vec<Symbol> = known.take(self.precision.callers).collect();
        let control = self.precision.control.then_some(control);
        let key = Node { thread, entry, control, callers: callers.clone() };
        let new = self.callers.len() as u32;
        let node = *self.nodes.entry(key).or_insert(new);
        if node == new {
            self.callers.push(callers);
            self.beneath.push(Vec::new());
            self.returning.push(Vec::new());
        }
        if !self.beneath[node as usize].contains(&(caller, beneath)) {
            self.beneath[node as usize].push((caller, beneath));
            for at in self.returning[node as usize].clone() {
                let state = Rc::clone(&self.states[at]);
                self.go_back(&state, thread, (caller, beneath));
            }
        }
        node
    }
}
