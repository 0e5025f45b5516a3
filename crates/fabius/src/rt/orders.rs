//! In which order a recorded run did things, as far as every run of the same path keeps it: by the program order of threads,
//! by spawning and by joining. What else threads have to do with each other is not in a record of messages: it is refused.
//!
//! Paper: Time, Clocks, and the Ordering of Events in a Distributed System (CACM 1978), for the clocks.
//!
//! Deviations:
//! 1. Messages do not count: who gets which message is what a record leaves open. Nor do locks and the like: another run may
//!    have them in another order.
//! 2. Of a clock only the spawns are counted: nothing else tells two moments of a thread apart for another one.

use super::Op;
use fabius_explore::system::end_of;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::Location;

type Place = &'static Location<'static>;

/// A command of a node and a place in another that it comes after: there, so many commands have been executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order {
    pub node: usize,
    pub at: usize,
    pub other: usize,
    pub executed: usize,
}

/// What is known of the past of a thread.
#[derive(Clone, Debug, Default)]
struct Past {
    /// How many spawns of each thread.
    spawns: Vec<usize>,
    /// How many commands of each node.
    commands: Vec<usize>,
}

/// An access to what threads may share.
struct Touch {
    thread: usize,
    /// The number of spawns of its thread before it.
    time: usize,
    write: bool,
    name: &'static str,
    at: Place,
}

/// What a node has done.
#[derive(Default)]
struct Node {
    commands: usize,
    /// How many commands of each node a command comes after, wherever that changes.
    pasts: Vec<(usize, Vec<usize>)>,
}

/// What a record must know of a run.
#[derive(Default)]
pub(crate) struct Orders {
    threads: Vec<Past>,
    /// Objects that are queues of messages.
    queues: BTreeSet<u64>,
    touched: HashMap<u64, Vec<Touch>>,
    nodes: Vec<Node>,
    orders: Vec<Order>,
    refused: Option<String>,
}

fn place(at: Place) -> String {
    format!("{}:{}", at.file(), at.line())
}

fn join(past: &mut Vec<usize>, other: &[usize]) {
    past.resize(past.len().max(other.len()), 0);
    past.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

fn known(past: &[usize], of: usize) -> usize {
    past.get(of).copied().unwrap_or(0)
}

impl Orders {
    fn past(&mut self, thread: usize) -> &mut Past {
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, Past::default);
        }
        &mut self.threads[thread]
    }

    /// A thread begins another.
    pub fn spawned(&mut self, parent: usize, child: usize) {
        let past = self.past(parent);
        let mut inherited = past.clone();
        inherited.spawns.resize(inherited.spawns.len().max(parent + 1), 0);
        inherited.spawns[parent] += 1;
        past.spawns = inherited.spawns.clone();
        *self.past(child) = inherited;
    }

    /// A thread has waited for the end of another.
    pub fn joined(&mut self, thread: usize, ended: usize) {
        let mut other = self.past(ended).clone();
        // Its own moments are over, all of them.
        other.spawns.resize(other.spawns.len().max(ended + 1), 0);
        other.spawns[ended] = usize::MAX;
        let past = self.past(thread);
        join(&mut past.spawns, &other.spawns);
        join(&mut past.commands, &other.commands);
    }

    /// From now on this object is a queue of messages, about which the record says what there is to say.
    pub fn is_queue(&mut self, object: u32) {
        self.queues.insert(object.into());
    }

    /// A thread does something at a scheduling point.
    pub fn operation(&mut self, thread: usize, op: &Op) {
        if op.deadline.is_some() {
            self.refuse(|| format!("`{}` at {} depends on time", op.name, place(op.at)));
        }
        if op.variable < end_of(0) {
            self.touch(thread, op.variable, op.write, op.name, op.at);
        }
    }

    /// A thread reads or changes what others may, too.
    pub fn touch(&mut self, thread: usize, variable: u64, write: bool, name: &'static str, at: Place) {
        if self.refused.is_some() || self.queues.contains(&variable) {
            return;
        }
        let past = self.past(thread).spawns.clone();
        let touches = self.touched.entry(variable).or_default();
        let is_open = |t: &&Touch| t.thread != thread && (t.write || write) && known(&past, t.thread) <= t.time;
        if let Some(other) = touches.iter().find(is_open) {
            let (other, before) = (format!("`{}` at {}", other.name, place(other.at)), place(at));
            return self.refuse(|| {
                format!("{other} and `{name}` at {before} touch the same shared state in an order that may differ")
            });
        }
        // Of each thread the last one of its kind is enough.
        touches.retain(|t| t.thread != thread || t.write != write);
        touches.push(Touch { thread, time: known(&past, thread), write, name, at });
    }

    /// A choice that no message makes.
    pub fn chosen(&mut self, at: Place) {
        self.refuse(|| format!("something is chosen freely at {}", place(at)));
    }

    /// A thread executes a command of a node.
    pub fn command(&mut self, thread: usize, node: usize) {
        if self.nodes.len() <= node {
            self.nodes.resize_with(node + 1, Default::default);
        }
        let past = self.past(thread);
        past.commands.resize(past.commands.len().max(node + 1), 0);
        past.commands[node] += 1;
        let past = past.commands.clone();
        let at = self.nodes[node].commands;
        if past[node] != at + 1 {
            return self.refuse(|| "two threads act for the same node in an order that may differ".into());
        }
        let before = self.nodes[node].pasts.last().map_or(&[][..], |(_, past)| past).to_vec();
        let new = |m: &usize| *m != node && past[*m] > known(&before, *m);
        let news: Vec<usize> = (0..past.len()).filter(new).collect();
        // What comes before something else that is new goes without saying.
        let follows = |m: usize| {
            let implied = |o: &usize| *o != m && known(self.past_of(*o, past[*o]), m) >= past[m];
            news.iter().any(implied)
        };
        let orders: Vec<Order> =
            news.iter().filter(|m| !follows(**m)).map(|m| Order { node, at, other: *m, executed: past[*m] }).collect();
        self.orders.extend(orders);
        let entry = &mut self.nodes[node];
        entry.commands += 1;
        if !news.is_empty() {
            entry.pasts.push((at, past));
        }
    }

    /// What the last of the first commands of a node comes after.
    fn past_of(&self, node: usize, executed: usize) -> &[usize] {
        let Some(node) = self.nodes.get(node) else { return &[] };
        let n = node.pasts.partition_point(|(at, _)| *at < executed);
        n.checked_sub(1).map_or(&[], |n| &node.pasts[n].1)
    }

    fn refuse(&mut self, why: impl FnOnce() -> String) {
        self.refused.get_or_insert_with(why);
    }

    /// The orders between nodes: for each node and number of commands executed, what comes behind.
    ///
    /// # Errors
    /// Why the run is no record.
    pub fn finish(&self) -> Result<BTreeMap<(usize, usize), Vec<Order>>, String> {
        if let Some(why) = &self.refused {
            return Err(why.clone());
        }
        let mut all: BTreeMap<(usize, usize), Vec<Order>> = BTreeMap::new();
        for order in &self.orders {
            all.entry((order.other, order.executed)).or_default().push(*order);
        }
        Ok(all)
    }
}
