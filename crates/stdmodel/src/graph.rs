//! All states of a program and all steps between them.

use crate::program::{Op, Program};
use crate::state::{Life, State};
pub use crate::step::Ending;
use crate::step::Rules;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// How an execution comes out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// All threads ended; what each has read.
    Ended(Vec<Vec<u8>>),
    /// Some cannot go on, ever.
    Deadlock,
    /// All that can go on wait in loops for something that none of them does, and nobody waits for time to pass.
    Livelock,
}

/// A step.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Who makes it.
    pub thread: u8,
    /// Where it leads.
    pub to: u32,
    /// Whether it says that the thread waits for others.
    pub gives_way: bool,
}

/// The states of a program, numbered; the first one is 0.
pub struct Graph {
    /// How many threads it has.
    pub threads: usize,
    /// The steps from each state.
    pub edges: Vec<Vec<Edge>>,
    /// The threads that can go on in each state, as a set.
    pub enabled: Vec<u8>,
    /// The threads that run in each state, as a set.
    pub running: Vec<u8>,
    /// The threads that were spawned before each state, in order.
    pub born: Vec<Vec<u8>>,
    /// What each state comes to, if nothing else can follow.
    pub outcomes: Vec<Option<Outcome>>,
}

impl Ending {
    /// The end of a thread matters if somebody looks: `is_finished` may be false after the last operation. Who has joined the
    /// thread has nothing to look at.
    pub fn of(program: &Program) -> Ending {
        let looks = |ops: &Vec<Op>| {
            let joins_before = |at: usize, thread: u8| ops[..at].contains(&Op::Join(thread));
            ops.iter().enumerate().any(|(at, op)| matches!(op, Op::IsFinished(thread) if !joins_before(at, *thread)))
        };
        if program.threads.iter().any(looks) { Ending::OwnStep } else { Ending::WithLastStep }
    }
}

impl Graph {
    /// All states, if there are no more than so many.
    pub fn of(program: &Program, ending: Ending, limit: usize) -> Option<Graph> {
        let rules = Rules { program, ending };
        let threads = program.threads.len();
        let mut graph = Graph {
            threads,
            edges: Vec::new(),
            enabled: Vec::new(),
            running: Vec::new(),
            born: Vec::new(),
            outcomes: Vec::new(),
        };
        let mut numbers: HashMap<State, u32> = HashMap::new();
        let mut open = vec![rules.initial()];
        numbers.insert(open[0].clone(), 0);
        let mut at = 0;
        while at < open.len() {
            let state = std::mem::replace(&mut open[at], State::initial(&Program::default()));
            at += 1;
            let mut edges = Vec::new();
            let mut add = |from: &State, edges: &mut Vec<Edge>| {
                let mut enabled: u8 = 0;
                for thread in 0..threads {
                    for next in rules.steps(from, thread) {
                        enabled |= 1 << thread;
                        let gives_way = rules.gives_way(from, thread);
                        let fresh = numbers.len() as u32;
                        let to = match numbers.entry(next) {
                            Entry::Occupied(known) => *known.get(),
                            Entry::Vacant(new) => {
                                open.push(new.key().clone());
                                *new.insert(fresh)
                            }
                        };
                        edges.push(Edge { thread: thread as u8, to, gives_way });
                    }
                }
                enabled
            };
            let enabled = add(&state, &mut edges);
            let all_spin = enabled != 0 && (0..threads).all(|t| enabled & (1 << t) == 0 || rules.spins(&state, t));
            // Nobody can go on otherwise, so time passes.
            let later = if all_spin { rules.later(&state) } else { None };
            if let Some(later) = &later {
                add(later, &mut edges);
            }
            let runs = |t: usize| state.threads[t].life == Life::Running;
            let running = (0..threads).filter(|t| runs(*t)).map(|t| 1u8 << t).sum();
            let ended = || Outcome::Ended(state.threads.iter().map(|t| t.log.clone()).collect());
            let outcome = match enabled {
                0 if running == 0 => Some(ended()),
                0 => Some(Outcome::Deadlock),
                _ if all_spin && later.is_none() => Some(Outcome::Livelock),
                _ => None,
            };
            graph.edges.push(edges);
            graph.enabled.push(enabled);
            graph.running.push(running);
            graph.born.push(state.born);
            graph.outcomes.push(outcome);
            if open.len() > limit {
                return None;
            }
        }
        Some(graph)
    }
}
