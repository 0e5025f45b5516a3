//! The views of each thread that there are in time, and those that lead to a failure in time.

use super::turn::{Private, Turns};
use super::values::Unknown;
use std::collections::{BTreeSet, HashMap};

/// Never, for a round.
const NEVER: u32 = u32::MAX;

/// Instructions and views that are followed in any case, and for each triple of rounds: the more rounds, the more it is worth.
const LEAST: u64 = 2000;
const PER_TRIPLE: u64 = 400;
const MOST: u64 = 8_000_000;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Executions in which an assertion fails.
    Failures,
    /// All.
    Anything,
}

/// A private state and shared values, between two turns.
struct View {
    private: u32,
    shared: u32,
    /// The first turn that may begin with it.
    since: u32,
    /// The last one from which the goal can be reached.
    until: Option<u32>,
    /// Whether the thread has gone on from it.
    begun: bool,
    /// Of each thread, how many of the effects on the shared values were looked at.
    applied: Vec<usize>,
}

/// A private state and shared values in a turn of the thread, and the shared values with which the turn began.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    private: u32,
    shared: u32,
    from: u32,
}

struct Node {
    place: Place,
    /// The first round in which it is reached.
    first: u32,
    /// The last one in which the goal can be reached from it.
    last: Option<u32>,
    before: Vec<u32>,
}

/// What a turn may do to shared values.
struct Effect {
    to: u32,
    /// The first round in which it may.
    first: u32,
    /// Whether it leads to the goal, in the round that is looked at.
    leads_to_goal: bool,
}

/// What is known of a thread.
pub struct Thread {
    private: Vec<Private>,
    private_at: HashMap<Private, u32>,
    views: Vec<View>,
    view_at: HashMap<(u32, u32), u32>,
    nodes: Vec<Node>,
    node_at: HashMap<Place, u32>,
    /// For the shared values with which turns begin.
    effects: HashMap<u32, Vec<Effect>>,
    /// The first round in which it may begin.
    begins: u32,
}

impl Thread {
    /// One that has not begun.
    pub fn new(begin: Private) -> Thread {
        Thread {
            private_at: HashMap::from([(begin.clone(), 0)]),
            private: vec![begin],
            views: Vec::new(),
            view_at: HashMap::new(),
            nodes: Vec::new(),
            node_at: HashMap::new(),
            effects: HashMap::new(),
            begins: NEVER,
        }
    }

    fn number(&mut self, private: Private) -> u32 {
        let new = self.private.len() as u32;
        *self.private_at.entry(private).or_insert_with_key(|private| {
            self.private.push(private.clone());
            new
        })
    }

    fn see(&mut self, private: u32, shared: u32, since: u32, threads: usize) {
        self.view_at.entry((private, shared)).or_insert_with(|| {
            let applied = vec![0; threads];
            self.views.push(View { private, shared, since, until: None, begun: false, applied });
            self.views.len() as u32 - 1
        });
    }

    /// The node, which is to be followed if it is new.
    fn arrive(&mut self, place: Place, round: u32, open: &mut Vec<u32>) -> u32 {
        *self.node_at.entry(place).or_insert_with(|| {
            let node = self.nodes.len() as u32;
            self.nodes.push(Node { place, first: round, last: None, before: Vec::new() });
            open.push(node);
            node
        })
    }

    /// Whether the goal can be reached from the view in a turn behind this one.
    fn leads(&self, private: u32, shared: u32, turn: u32) -> bool {
        let view = self.view_at.get(&(private, shared)).map(|v| &self.views[*v as usize]);
        view.and_then(|v| v.until).is_some_and(|until| until > turn)
    }
}

/// Least and greatest value of each number.
pub type Intervals = Vec<(i64, i64)>;

/// A passage, with the values of its locals there, and the first and the last round in which it is passed.
pub struct Passed {
    pub passage: usize,
    pub values: Vec<i64>,
    pub rounds: (u32, u32),
}

/// Of each round but the first, what the shared variables may be at its beginning; and what is passed when.
pub type Found = (Vec<Intervals>, Vec<Passed>);

/// The search.
pub struct Search {
    threads: Vec<Thread>,
    rounds: u32,
    goal: Goal,
    shared: Vec<Vec<i64>>,
    shared_at: HashMap<Vec<i64>, u32>,
    /// Numbers of passages with values, and behind which nodes of which threads they are.
    passages: HashMap<(usize, Vec<i64>), u32>,
    passed: Vec<(u32, usize, u32)>,
}

impl Search {
    /// Nothing is known yet.
    pub fn new(threads: Vec<Thread>, rounds: u32, goal: Goal) -> Search {
        let (shared, shared_at) = (Vec::new(), HashMap::new());
        Search { threads, rounds, goal, shared, shared_at, passages: HashMap::new(), passed: Vec::new() }
    }

    /// Forward, and then backward.
    pub fn run(mut self, turns: &mut Turns<'_>) -> Result<Found, Unknown> {
        turns.left.set(LEAST.saturating_add(PER_TRIPLE.saturating_mul(u64::from(self.rounds).pow(3))).min(MOST));
        let initial = turns.shared.iter().map(|i| turns.initial[*i]).collect();
        let initial = self.number(initial);
        let n = self.threads.len();
        self.threads.iter_mut().for_each(|t| t.see(0, initial, 0, n));
        self.threads[0].begins = 0;
        let last = n as u32 * self.rounds;
        for turn in 0..last {
            self.forward(turn, turns)?;
        }
        for thread in &mut self.threads {
            for view in &mut thread.views {
                // Whether something has failed stands last.
                let is_goal = self.goal == Goal::Anything || self.shared[view.shared as usize].last() == Some(&1);
                view.until = is_goal.then_some(last);
            }
        }
        for turn in (0..last).rev() {
            self.backward(turn);
        }
        let at = (1..self.rounds).map(|r| self.at(r * n as u32, turns.shared.len())).collect();
        Ok((at, self.passed()))
    }

    fn number(&mut self, shared: Vec<i64>) -> u32 {
        let new = self.shared.len() as u32;
        *self.shared_at.entry(shared).or_insert_with_key(|shared| {
            self.shared.push(shared.clone());
            new
        })
    }

    /// One turn from all that may be at its beginning.
    fn forward(&mut self, turn: u32, turns: &mut Turns<'_>) -> Result<(), Unknown> {
        let n = self.threads.len();
        let (k, round) = (turn as usize % n, turn / n as u32);
        let mut open = Vec::new();
        let thread = &mut self.threads[k];
        for v in 0..thread.views.len() {
            let View { private, shared, since, begun, .. } = thread.views[v];
            if !begun && since <= turn && (private != 0 || thread.begins <= round) {
                thread.views[v].begun = true;
                thread.arrive(Place { private, shared, from: shared }, round, &mut open);
            }
        }
        while let Some(node) = open.pop() {
            self.expand((k, node), turn, turns, &mut open)?;
        }
        // What the others see of it.
        let effects = std::mem::take(&mut self.threads[k].effects);
        for (_, other) in self.threads.iter_mut().enumerate().filter(|(j, _)| *j != k) {
            for v in 0..other.views.len() {
                let View { private, shared, since, .. } = other.views[v];
                let Some(all) = effects.get(&shared).filter(|_| since <= turn) else { continue };
                let done = std::mem::replace(&mut other.views[v].applied[k], all.len());
                turns.spend(8 * (all.len() - done))?;
                all[done..].iter().for_each(|e| other.see(private, e.to, turn + 1, n));
            }
        }
        self.threads[k].effects = effects;
        Ok(())
    }

    fn expand(
        &mut self,
        (k, node): (usize, u32),
        turn: u32,
        turns: &mut Turns<'_>,
        open: &mut Vec<u32>,
    ) -> Result<(), Unknown> {
        let n = self.threads.len();
        let round = turn / n as u32;
        let thread = &self.threads[k];
        let Place { private, shared, from } = thread.nodes[node as usize].place;
        if thread.private[private as usize].has_finished() {
            return Ok(());
        }
        let mut next = Vec::new();
        turns.follow(&thread.private[private as usize], &self.shared[shared as usize], &mut next)?;
        let passed: BTreeSet<_> = turns.passed.drain(..).collect();
        for passage in passed {
            let new = self.passages.len() as u32;
            let passage = *self.passages.entry(passage).or_insert(new);
            self.passed.push((passage, k, node));
        }
        for (private, shared) in next {
            let (is_parked, has_finished) = (private.is_parked, private.has_finished());
            let shared = self.number(shared);
            let thread = &mut self.threads[k];
            let private = thread.number(private);
            let to = thread.arrive(Place { private, shared, from }, round, open);
            thread.nodes[to as usize].before.push(node);
            if !is_parked {
                continue;
            }
            thread.see(private, shared, turn + 1, n);
            let effects = thread.effects.entry(from).or_default();
            if shared != from && !effects.iter().any(|e| e.to == shared) {
                effects.push(Effect { to: shared, first: round, leads_to_goal: false });
            }
            // The others begin when the first one has finished.
            if k == 0 && has_finished {
                self.threads[1..].iter_mut().for_each(|t| t.begins = t.begins.min(round));
            }
        }
        Ok(())
    }

    /// From which nodes and views the goal can be reached in this turn or later.
    fn backward(&mut self, turn: u32) {
        let n = self.threads.len();
        let (k, round) = (turn as usize % n, turn / n as u32);
        let thread = &mut self.threads[k];
        let mut open = Vec::new();
        for number in 0..thread.nodes.len() {
            let Node { place: Place { private, shared, from }, first, last, .. } = thread.nodes[number];
            if first > round || !thread.leads(private, shared, turn) {
                continue;
            }
            let effects = thread.effects.get_mut(&from);
            effects.into_iter().flatten().filter(|e| e.to == shared).for_each(|e| e.leads_to_goal = true);
            if last.is_none() {
                thread.nodes[number].last = Some(round);
                open.push(number as u32);
            }
        }
        while let Some(number) = open.pop() {
            let Place { private, shared, from } = thread.nodes[number as usize].place;
            if shared == from
                && let Some(v) = thread.view_at.get(&(private, shared))
            {
                let view = &mut thread.views[*v as usize];
                if view.begun && view.since <= turn && view.until.is_none() {
                    view.until = Some(turn);
                }
            }
            for before in thread.nodes[number as usize].before.clone() {
                let node = &mut thread.nodes[before as usize];
                if node.last.is_none() && node.first <= round {
                    node.last = Some(round);
                    open.push(before);
                }
            }
        }
        let effects = std::mem::take(&mut self.threads[k].effects);
        for (_, other) in self.threads.iter_mut().enumerate().filter(|(j, _)| *j != k) {
            for v in 0..other.views.len() {
                let View { private, shared, since, until, .. } = other.views[v];
                if until.is_some() || since > turn {
                    continue;
                }
                let mut all = effects.get(&shared).into_iter().flatten();
                if all.any(|e| e.leads_to_goal && e.first <= round && other.leads(private, e.to, turn)) {
                    other.views[v].until = Some(turn);
                }
            }
        }
        self.threads[k].effects = effects;
    }

    /// What may be at the beginning of a turn: what all threads may see then.
    fn at(&self, turn: u32, numbers: usize) -> Intervals {
        let is_there = |v: &&View| v.since <= turn && v.until.is_some_and(|until| turn <= until);
        let seen = |t: &Thread| t.views.iter().filter(is_there).map(|v| v.shared).collect::<BTreeSet<u32>>();
        let all = self.threads.iter().map(seen).reduce(|a, b| &a & &b).unwrap_or_default();
        // Nothing at all is an interval without a value.
        let mut intervals = vec![(i64::MAX, i64::MIN); numbers];
        for s in all {
            for (interval, v) in intervals.iter_mut().zip(&self.shared[s as usize]) {
                *interval = (interval.0.min(*v), interval.1.max(*v));
            }
        }
        intervals
    }

    fn passed(self) -> Vec<Passed> {
        let mut rounds: Vec<Option<(u32, u32)>> = vec![None; self.passages.len()];
        for (passage, k, node) in self.passed {
            let Node { first, last: Some(last), .. } = self.threads[k].nodes[node as usize] else { continue };
            let (lo, hi) = rounds[passage as usize].unwrap_or((first, last));
            rounds[passage as usize] = Some((lo.min(first), hi.max(last)));
        }
        let one = |((passage, values), n): ((usize, Vec<i64>), u32)| {
            rounds[n as usize].map(|rounds| Passed { passage, values, rounds })
        };
        self.passages.into_iter().filter_map(one).collect()
    }
}
