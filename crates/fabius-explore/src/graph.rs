//! All states that schedules within a bound reach, and all steps between them: to be looked at, so for few states.
//!
//! The searches store neither steps nor ways to states, so this is a search of its own: by cost, then by steps, from pairs
//! of a state and who ran last. It does not end at a bug, and it knows nothing of races.

use crate::dispatcher::{Last, Move};
use crate::node::{Context, Node, Script, Stop};
use crate::retrace::Names;
use crate::search::{Bug, Cut, Monitor, Options};
use crate::system::Snapshot;
use fabius_trace::{Schedule, Turn};
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// States and steps. The first states are the initial ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The states.
    pub states: Vec<State>,
    /// The steps, each once.
    pub edges: Vec<Edge>,
    /// How many of the states are initial.
    pub initial: usize,
}

/// A state: of the program, and of the scheduler where there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// A way there of least cost.
    pub schedule: Schedule,
    /// Whether nobody can go on.
    pub is_final: bool,
    /// Whether everybody has finished.
    pub is_complete: bool,
}

/// A step or a delay.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The state before, as an index.
    pub from: usize,
    /// What is done, in the terms of the schedule of the state before; nothing, if the scheduler's pick is delayed.
    pub turn: Option<Turn>,
    /// The state after.
    pub to: Target,
}

/// Where a step leads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// To this state.
    State(usize),
    /// To a bug.
    Bug(Bug),
    /// To a limit inside the program.
    Limit,
}

/// Why there is no graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoGraph {
    /// It has more states, or more steps, than it may have.
    TooLarge,
    /// A limit of the search was hit, which says nothing about a state.
    Cut(Cut),
}

/// What a step is, whichever way led to its state.
#[derive(Clone, Debug, PartialEq)]
struct Deed {
    mv: Move,
    choices: Vec<u32>,
}

struct Builder<'a, S: Snapshot> {
    context: Context<'a, S>,
    monitor: &'a Monitor<'a>,
    graph: Graph,
    numbers: HashMap<Vec<u8>, usize>,
    /// Beside the states.
    stored: Vec<(Node<S::State>, Names)>,
    /// Beside the edges.
    deeds: Vec<Deed>,
    /// The initial states, by the choices that lead there.
    starts: Vec<(Schedule, usize)>,
    /// The least cost of each pair of a state and who ran last.
    costs: HashMap<(usize, Last), u32>,
    work: VecDeque<(usize, Last, u32)>,
    most: usize,
    /// Steps tried, those that lead nowhere new too.
    tried: usize,
}

/// How many steps are tried for so many states.
pub fn steps_within(states: usize) -> usize {
    states * 20
}

/// The graph of the states that cost at most `options.max`, if there are at most `most`; and the edges of a way through
/// it, `(delays, turn)` by `(delays, turn)`.
///
/// # Errors
/// [`NoGraph`].
pub fn graph<S: Snapshot>(
    system: &S,
    options: &Options,
    monitor: &Monitor<'_>,
    most: usize,
    way: &[(u32, Turn)],
) -> Result<(Graph, Vec<usize>), NoGraph> {
    let context = Context { system, options, compare: Some(S::compare_anonymous), is_symmetric: false, joins: false };
    let mut builder = Builder {
        context,
        monitor,
        graph: Graph::default(),
        numbers: HashMap::new(),
        stored: Vec::new(),
        deeds: Vec::new(),
        starts: Vec::new(),
        costs: HashMap::new(),
        work: VecDeque::new(),
        most,
        tried: 0,
    };
    builder.begin()?;
    while let Some((state, last, cost)) = builder.work.pop_front() {
        if builder.costs[&(state, last)] == cost {
            builder.expand(state, last, cost)?;
        }
    }
    let edges = builder.follow(way);
    Ok((builder.graph, edges))
}

impl<S: Snapshot> Builder<'_, S> {
    fn begin(&mut self) -> Result<(), NoGraph> {
        let mut script = self.script();
        let mut log = self.context.log();
        loop {
            self.count()?;
            let initial = self.context.initial(&mut script, &mut log);
            if let Err(Stop::Cut(cut @ (Cut::Time | Cut::Memory | Cut::Interrupted))) = initial {
                return Err(NoGraph::Cut(cut));
            }
            // A bug before the first step has no state to be drawn from.
            if let Ok(node) = initial {
                let mut names = Names::default();
                names.born(&log);
                let choices = script.choices();
                let start = (!choices.is_empty()).then_some(Turn { task: Turn::START, choices });
                let start: Schedule = start.into_iter().collect();
                let (state, last) = self.arrive(node, names, start.clone())?;
                self.starts.push((start, state));
                self.relax(state, last, 0, 0);
            }
            if !script.advance() {
                self.graph.initial = self.graph.states.len();
                return Ok(());
            }
        }
    }

    fn expand(&mut self, from: usize, last: Last, cost: u32) -> Result<(), NoGraph> {
        let (mut base, names) = self.stored[from].clone();
        self.context.resume(&mut base, last);
        let mut moves = Vec::new();
        self.context.moves(&base, &mut moves);
        let mut log = self.context.log();
        for mv in moves {
            let price = self.context.price(&base, last, &mv);
            if self.context.options.max.is_some_and(|max| cost + price > max) {
                continue;
            }
            let mut script = self.script();
            loop {
                self.count()?;
                let mut next = base.clone();
                let result = self.context.apply(&mut next, mv, &mut script, &mut log);
                let deed = Deed { mv, choices: script.choices() };
                let turn = match mv {
                    Move::Run(pick) => Some(Turn { task: names.of(pick.task), choices: deed.choices.clone() }),
                    Move::Delay(_) => None,
                };
                let target = match result {
                    Ok(_) => {
                        let mut names = names.clone();
                        names.born(&log);
                        let mut schedule = self.graph.states[from].schedule.clone();
                        schedule.extend(turn.clone());
                        let (state, last) = self.arrive(next, names, schedule)?;
                        self.relax(state, last, cost, price);
                        Some(Target::State(state))
                    }
                    Err(Stop::Bug(bug)) => Some(Target::Bug(bug)),
                    Err(Stop::Cut(cut @ (Cut::Time | Cut::Memory | Cut::Interrupted))) => {
                        return Err(NoGraph::Cut(cut));
                    }
                    Err(Stop::Cut(_)) => Some(Target::Limit),
                    Err(Stop::Dropped) => None,
                };
                let known = |(edge, made): (&Edge, &Deed)| edge.from == from && *made == deed;
                if let Some(to) = target
                    && !self.graph.edges.iter().zip(&self.deeds).any(known)
                {
                    self.graph.edges.push(Edge { from, turn, to });
                    self.deeds.push(deed);
                }
                if !script.advance() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Begins with the first outcome of a step.
    fn script(&self) -> Script {
        let mut script = Script::default();
        script.allow(self.context.options.memory);
        script
    }

    fn count(&mut self) -> Result<(), NoGraph> {
        self.tried += 1;
        if let Some(cut) = self.monitor.cut(self.context.options, || Some(Instant::now())) {
            return Err(NoGraph::Cut(cut));
        }
        if self.tried > steps_within(self.most) { Err(NoGraph::TooLarge) } else { Ok(()) }
    }

    /// The number of a state, and who ran last.
    fn arrive(&mut self, node: Node<S::State>, names: Names, schedule: Schedule) -> Result<(usize, Last), NoGraph> {
        let (mut node, mut names) = (node, names);
        self.context.canonicalize(&mut node, |order| names.renamed(order));
        let mut bytes = Vec::new();
        self.context.encode(&node, &mut bytes);
        let last = self.context.last(&node);
        let number = *self.numbers.entry(bytes).or_insert(self.stored.len());
        if number == self.stored.len() {
            if number == self.most {
                return Err(NoGraph::TooLarge);
            }
            let is_final = self.context.is_final(&node);
            let is_complete = is_final && self.context.is_complete(&node);
            self.graph.states.push(State { schedule, is_final, is_complete });
            self.stored.push((node, names));
        }
        Ok((number, last))
    }

    fn relax(&mut self, state: usize, last: Last, cost: u32, price: u32) {
        let cost = cost + price;
        if self.costs.get(&(state, last)).is_none_or(|known| cost < *known) {
            self.costs.insert((state, last), cost);
            if price == 0 {
                self.work.push_front((state, last, cost))
            } else {
                self.work.push_back((state, last, cost))
            }
        }
    }

    /// The edges of a way.
    fn follow(&self, way: &[(u32, Turn)]) -> Vec<usize> {
        let start = match way.first() {
            Some((_, turn)) if turn.task == Turn::START => &way[..1],
            _ => &[],
        };
        let begins = |(choices, _): &&(Schedule, usize)| choices.iter().eq(start.iter().map(|(_, turn)| turn));
        let Some((_, state)) = self.starts.iter().find(begins) else { return Vec::new() };
        self.follow_from(*state, &self.stored[*state].1, &way[start.len()..]).unwrap_or_default()
    }

    fn follow_from(&self, state: usize, names: &Names, way: &[(u32, Turn)]) -> Option<Vec<usize>> {
        let Some(((delays, turn), rest)) = way.split_first() else { return Some(Vec::new()) };
        for (number, edge) in self.graph.edges.iter().enumerate().filter(|(_, e)| e.from == state) {
            let deed = &self.deeds[number];
            let tail = match (deed.mv, edge.to) {
                (Move::Delay(_), Target::State(to)) if *delays > 0 => {
                    let mut left = way.to_vec();
                    left[0].0 -= 1;
                    self.follow_from(to, names, &left)
                }
                (Move::Run(pick), to)
                    if *delays == 0 && names.of(pick.task) == turn.task && deed.choices == turn.choices =>
                {
                    match to {
                        Target::State(to) => self.follow_from(to, &self.names_after(state, deed, names), rest),
                        Target::Bug(_) | Target::Limit => rest.is_empty().then(Vec::new),
                    }
                }
                _ => None,
            };
            if let Some(tail) = tail {
                return Some(std::iter::once(number).chain(tail).collect());
            }
        }
        None
    }

    /// What the tasks are called after a step, on a way of its own.
    fn names_after(&self, state: usize, deed: &Deed, names: &Names) -> Names {
        let mut node = self.stored[state].0.clone();
        let mut names = names.clone();
        let mut script = Script::default();
        script.set(deed.choices.iter().copied());
        let mut log = self.context.log();
        if self.context.apply(&mut node, deed.mv, &mut script, &mut log).is_ok() {
            names.born(&log);
            self.context.canonicalize(&mut node, |order| names.renamed(order));
        }
        names
    }
}
