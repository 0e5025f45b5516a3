//! The least cost of each outcome: a search in the order of costs over states and what the scheduler remembers.

use crate::graph::{Graph, Outcome};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Switches away from a thread that could go on and has not just given way.
    Preemptions,
    /// Delays of the round-robin scheduler: it goes on with the thread that ran last, else with the next one in the
    /// circle of creation that can.
    RoundRobin,
    /// Delays of the depth-first scheduler.
    DepthFirst,
    /// Steps.
    Steps,
}

/// The least cost of each outcome.
pub fn least(graph: &Graph, measure: Measure) -> BTreeMap<Outcome, u32> {
    let costs = match measure {
        Measure::Preemptions => in_order(graph, (0, 0, true), |n| preemptions(graph, n), |n| n.0),
        Measure::RoundRobin => in_order(graph, (0, 0), |n| round_robin(graph, n), |n| n.0),
        Measure::DepthFirst => in_order(graph, (0, Stacks::start(graph)), |n| depth_first(graph, n), |n| n.0),
        Measure::Steps => in_order(graph, 0, |n| steps(graph, n), |n| n),
    };
    let mut least = BTreeMap::new();
    for (outcome, cost) in graph.outcomes.iter().zip(costs) {
        if let (Some(outcome), Some(cost)) = (outcome, cost) {
            let known = least.entry(outcome.clone()).or_insert(cost);
            *known = cost.min(*known);
        }
    }
    least
}

/// The least cost of each state.
fn in_order<N: Copy + Eq + Hash>(
    graph: &Graph,
    first: N,
    after: impl Fn(N) -> Vec<(N, u32)>,
    state: impl Fn(N) -> u32,
) -> Vec<Option<u32>> {
    let mut costs: Vec<Option<u32>> = vec![None; graph.edges.len()];
    let mut least: HashMap<N, u32> = HashMap::from([(first, 0)]);
    let mut levels = vec![vec![first]];
    let mut cost = 0;
    while cost < levels.len() {
        while let Some(node) = levels[cost].pop() {
            if least[&node] < cost as u32 {
                continue;
            }
            costs[state(node) as usize].get_or_insert(cost as u32);
            for (next, price) in after(node) {
                let total = cost as u32 + price;
                let known = least.entry(next).or_insert(u32::MAX);
                if total < *known {
                    *known = total;
                    if levels.len() <= total as usize {
                        levels.resize(total as usize + 1, Vec::new());
                    }
                    levels[total as usize].push(next);
                }
            }
        }
        cost += 1;
    }
    costs
}

fn steps(graph: &Graph, state: u32) -> Vec<(u32, u32)> {
    graph.edges[state as usize].iter().map(|edge| (edge.to, 1)).collect()
}

/// A state, who ran last, and whether that gave way.
fn preemptions(graph: &Graph, (state, last, gave_way): (u32, u8, bool)) -> Vec<((u32, u8, bool), u32)> {
    let could = graph.enabled[state as usize] & (1 << last) != 0;
    graph.edges[state as usize]
        .iter()
        .map(|edge| {
            let price = u32::from(edge.thread != last && could && !gave_way);
            ((edge.to, edge.thread, edge.gives_way), price)
        })
        .collect()
}

/// A state and whose turn it is.
fn round_robin(graph: &Graph, (state, turn): (u32, u8)) -> Vec<((u32, u8), u32)> {
    let enabled = graph.enabled[state as usize];
    let circle = &graph.born[state as usize];
    let begin = circle.iter().position(|t| *t == turn).expect("it was spawned");
    let delays = |thread: u8| {
        let before = circle[begin..].iter().chain(&circle[..begin]).take_while(|t| **t != thread);
        before.filter(|t| enabled & (1 << **t) != 0).count() as u32
    };
    graph.edges[state as usize].iter().map(|edge| ((edge.to, edge.thread), delays(edge.thread))).collect()
}

/// What the depth-first scheduler remembers: given since the last one was taken, of this round, delayed to the next one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Stacks {
    given: Stack,
    round: Stack,
    delayed: Stack,
}

/// Threads, four bits for each; the last one is the lowest.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Stack(u64);

impl Stack {
    fn push(&mut self, thread: u8) {
        self.0 = self.0 << 4 | u64::from(thread + 1);
    }

    fn pop(&mut self) -> Option<u8> {
        let thread = (self.0 & 15) as u8;
        self.0 >>= 4;
        thread.checked_sub(1)
    }
}

impl Stacks {
    fn start(graph: &Graph) -> Stacks {
        let mut stacks = Stacks { given: Stack(0), round: Stack(0), delayed: Stack(0) };
        stacks.give(graph, 0, &[], 0);
        stacks
    }

    /// What a step of a thread gives back: threads that it has spawned, and itself.
    fn give(&mut self, graph: &Graph, state: u32, spawned: &[u8], thread: u8) {
        for given in spawned.iter().copied().chain([thread]) {
            if graph.running[state as usize] & (1 << given) != 0 {
                self.given.push(given);
            }
        }
    }

    fn take(&mut self) -> Option<u8> {
        while let Some(thread) = self.given.pop() {
            self.round.push(thread);
        }
        if self.round == Stack(0) {
            while let Some(thread) = self.delayed.pop() {
                self.round.push(thread);
            }
        }
        self.round.pop()
    }
}

/// A state and the stacks. A thread that was taken and cannot go on can only be delayed.
fn depth_first(graph: &Graph, (state, stacks): (u32, Stacks)) -> Vec<((u32, Stacks), u32)> {
    let mut rest = stacks;
    let Some(thread) = rest.take() else { return Vec::new() };
    let mut after = Vec::new();
    for edge in graph.edges[state as usize].iter().filter(|edge| edge.thread == thread) {
        let mut next = rest;
        let before = graph.born[state as usize].len();
        next.give(graph, edge.to, &graph.born[edge.to as usize][before..], thread);
        after.push(((edge.to, next), 0));
    }
    if graph.enabled[state as usize] != 0 {
        let mut next = rest;
        next.delayed.push(thread);
        after.push(((state, next), 1));
    }
    after
}
