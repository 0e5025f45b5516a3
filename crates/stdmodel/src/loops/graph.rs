//! All states of a program with loops, and where it can go on for ever.

use super::program::Program;
use super::state::{Life, State};
use super::step::Rules;
use crate::graph::{Edge, Graph, Outcome};
use std::collections::{HashMap, HashSet};

/// A thread that comes back to where it was does so within so many steps.
const ROUND: usize = 300;

/// What infinite executions there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Endless {
    /// None: no state comes back.
    No,
    /// Some states come back, but only if a thread is left out for ever.
    Unfair,
    /// Some states come back though nobody is left out. From each of them the program can still end.
    Fair,
    /// From some state on the program cannot end, and threads change what others see again and again.
    Together,
}

/// The states of a program.
pub struct Looping {
    /// The states and steps. A livelock is a state in which each thread that can go on comes back to where it was, if it is
    /// alone, and nobody can wait for time to pass.
    pub graph: Graph,
    /// Whether it can go on for ever other than by a livelock.
    pub endless: Endless,
}

impl Looping {
    /// All states, if there are no more than so many, and no loop is without an operation.
    pub fn of(program: &Program, limit: usize) -> Option<Looping> {
        let rules = Rules::new(program);
        let threads = program.threads.len();
        let mut graph = Graph {
            threads,
            edges: Vec::new(),
            enabled: Vec::new(),
            running: Vec::new(),
            born: Vec::new(),
            outcomes: Vec::new(),
        };
        let mut states = vec![rules.initial()];
        let mut numbers: HashMap<State, u32> = HashMap::from([(states[0].clone(), 0)]);
        while let Some(state) = states.get(graph.edges.len()).cloned() {
            if states.len() > limit || rules.hangs.get() {
                return None;
            }
            let mut edges = Vec::new();
            let mut add = |from: &State, edges: &mut Vec<Edge>| {
                let mut enabled = 0;
                for thread in 0..threads {
                    for next in rules.steps(from, thread) {
                        enabled |= 1 << thread;
                        let to = *numbers.entry(next).or_insert_with_key(|new| {
                            states.push(new.clone());
                            states.len() as u32 - 1
                        });
                        edges.push(Edge { thread: thread as u8, to, gives_way: rules.gives_way(from, thread) });
                    }
                }
                enabled
            };
            let enabled = add(&state, &mut edges);
            let waits = |t: &usize| state.threads[*t].gave_way && comes_back(&rules, &state, *t);
            let all_wait = (0..threads).filter(|t| enabled & (1 << t) != 0).all(|t| waits(&t));
            // Nobody can go on otherwise, so time passes.
            let later = if enabled != 0 && all_wait { rules.later(&state) } else { None };
            if let Some(later) = &later {
                add(later, &mut edges);
            }
            let running = (0..threads).filter(|t| state.threads[*t].life == Life::Running).map(|t| 1u8 << t).sum();
            let outcome = match enabled {
                0 if running == 0 => Some(Outcome::Ended(state.threads.iter().map(|t| t.log.clone()).collect())),
                0 => Some(Outcome::Deadlock),
                _ if all_wait && later.is_none() => Some(Outcome::Livelock),
                _ => None,
            };
            graph.edges.push(edges);
            graph.enabled.push(enabled);
            graph.running.push(running);
            graph.born.push(state.born);
            graph.outcomes.push(outcome);
        }
        let endless = endless(&mut graph);
        Some(Looping { graph, endless })
    }
}

/// Whether a thread that goes on alone comes back to this state.
fn comes_back(rules: &Rules<'_>, state: &State, thread: usize) -> bool {
    let mut at = state.clone();
    for _ in 0..ROUND {
        let mut after = rules.steps(&at, thread);
        match after.pop() {
            Some(next) if after.is_empty() => at = next,
            _ => return false,
        }
        if at == *state {
            return true;
        }
    }
    false
}

/// From each state from which no end can be reached it goes on for ever: a livelock of those that change what others see.
fn endless(graph: &mut Graph) -> Endless {
    let count = graph.edges.len();
    let mut into = vec![Vec::new(); count];
    for (from, edges) in graph.edges.iter().enumerate() {
        for edge in edges {
            into[edge.to as usize].push(from as u32);
        }
    }
    let mut ends: Vec<bool> = graph.outcomes.iter().map(Option::is_some).collect();
    let mut open: Vec<usize> = (0..count).filter(|s| ends[*s]).collect();
    while let Some(state) = open.pop() {
        for from in &into[state] {
            if !std::mem::replace(&mut ends[*from as usize], true) {
                open.push(*from as usize);
            }
        }
    }
    let cycles = cycles(graph, &into);
    if ends.contains(&false) {
        for (outcome, _) in graph.outcomes.iter_mut().zip(ends).filter(|(_, ends)| !ends) {
            *outcome = Some(Outcome::Livelock);
        }
        return Endless::Together;
    }
    cycles
        .iter()
        .map(|cycle| if is_fair(graph, cycle) { Endless::Fair } else { Endless::Unfair })
        .max()
        .unwrap_or(Endless::No)
}

/// The largest sets of states that reach each other by some steps.
fn cycles(graph: &Graph, into: &[Vec<u32>]) -> Vec<HashSet<u32>> {
    let count = graph.edges.len();
    let mut finished = Vec::new();
    let mut seen = vec![false; count];
    for first in 0..count {
        let mut path = if std::mem::replace(&mut seen[first], true) { Vec::new() } else { vec![(first, 0)] };
        while let Some((state, next)) = path.last_mut() {
            let edge = graph.edges[*state].get(*next);
            *next += 1;
            match edge {
                Some(edge) if std::mem::replace(&mut seen[edge.to as usize], true) => {}
                Some(edge) => path.push((edge.to as usize, 0)),
                None => finished.extend(path.pop().map(|(state, _)| state as u32)),
            }
        }
    }
    let mut cycles = Vec::new();
    let mut taken = vec![false; count];
    while let Some(last) = finished.pop() {
        let mut cycle = HashSet::new();
        let mut open = vec![last];
        while let Some(state) = open.pop() {
            if !std::mem::replace(&mut taken[state as usize], true) {
                cycle.insert(state);
                open.extend(&into[state as usize]);
            }
        }
        let comes_back = |state: &u32| graph.edges[*state as usize].iter().any(|edge| cycle.contains(&edge.to));
        if cycle.iter().any(comes_back) {
            cycles.push(cycle);
        }
    }
    cycles
}

/// Whether nobody who can go on all the time is left out.
fn is_fair(graph: &Graph, cycle: &HashSet<u32>) -> bool {
    let steps = |t: u8, state: &u32| {
        graph.enabled[*state as usize] & (1 << t) == 0
            || graph.edges[*state as usize].iter().any(|edge| edge.thread == t && cycle.contains(&edge.to))
    };
    (0..graph.threads as u8).all(|t| cycle.iter().any(|state| steps(t, state)))
}
