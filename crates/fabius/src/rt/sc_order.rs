//! The order of sequentially consistent operations and fences: whether a deviation would close a circle in it.
//!
//! Paper: Repairing Sequential Consistency in C/C++11 (PLDI 2017), section 3: the relation psc of RC11.
//!
//! Deviations:
//! 1. The relation is kept closed under composition, as one clock for each event: which events of each thread come before.
//! 2. An operation that finds the newest store, and stores at the end, comes before nothing: only deviations are asked for.
//! 3. Two cases of the relation that close no circle which the others do not close are left out: a fence that comes before
//!    another access to what a sequentially consistent one accesses, and that comes before it; and the same of a fence.
//! 4. An access leaves its variable when its thread does something else; which is what `sb` to another location, `hb`, and
//!    `sb` from another location come to ([`Node::leaves`]).

use super::clock::{Clock, Event, at, join};
use super::history::{History, fences, strong};

/// A sequentially consistent access or fence.
#[derive(Clone, Debug)]
struct Node {
    event: Event,
    /// The variable that it accesses; `None`: a fence.
    variable: Option<usize>,
    /// The next event of its thread that is not an access to the same variable; 0 while there is none.
    leaves: u32,
    /// For a fence: what comes before it.
    clock: Clock,
    /// Which of these come before it in the order.
    before: Clock,
}

/// An access that may be sequentially consistent.
#[derive(Clone, Copy)]
pub(super) struct Access<'a> {
    pub event: Event,
    pub variable: usize,
    /// What comes before it, also by what it acquires.
    pub clock: &'a Clock,
    /// What came before it ahead of that, and before the accesses to the same variable in a row that it is one of.
    pub ahead: &'a Clock,
    pub entry: &'a Clock,
    pub is_strong: bool,
    pub stores: bool,
    /// The stores of the variable without its own, and the one that it finds, or stores behind.
    pub history: &'a History,
    pub position: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ScOrder {
    nodes: Vec<Node>,
}

impl ScOrder {
    pub fn clear(&mut self) {
        self.nodes.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The fences before what has this clock.
    pub fn fences_in(&self, clock: &[u32]) -> Clock {
        let mut known = Clock::new();
        self.fences().filter(|fence| fence.event.is_in(clock)).for_each(|fence| fence.event.put_in(&mut known));
        known
    }

    fn fences(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.variable.is_none())
    }

    /// A thread does something to this variable, or to none.
    pub fn goes_to(&mut self, event: Event, variable: Option<usize>) {
        for node in self.nodes.iter_mut().filter(|node| node.event.thread == event.thread && node.leaves == 0) {
            if variable.is_none() || node.variable != variable {
                node.leaves = event.index;
            }
        }
    }

    /// A fence.
    pub fn fence<'a>(&mut self, event: Event, clock: &Clock, histories: impl Iterator<Item = &'a History>) {
        let mut before = Clock::new();
        for node in &self.nodes {
            let own = node.event.thread == event.thread;
            let known = at(clock, node.event.thread);
            if own || known > node.event.index || known == node.event.index && node.variable.is_none() {
                node.event.put_in(&mut before);
            }
        }
        for history in histories {
            if let Some(known) = history.last_known(clock) {
                for store in &history.stores[..known] {
                    strong(store, &mut before);
                    fences(store, &mut before);
                }
                join(&mut before, &history.dropped.strong);
                join(&mut before, &history.dropped.fences);
            }
            if let Some(seen) = history.last_seen(clock) {
                history.stores[..seen].iter().for_each(|store| fences(store, &mut before));
                join(&mut before, &history.stores[seen].fences);
                join(&mut before, &history.dropped.fences);
            }
        }
        self.add(Node { event, variable: None, leaves: event.index, clock: clock.clone(), before });
    }

    /// Whether an access that deviates closes no circle.
    pub fn allows(&self, access: &Access<'_>) -> bool {
        self.is_empty() || self.clone().access(access)
    }

    /// An access. Says whether the order is still one; if not, it is of no use any more.
    pub fn access(&mut self, access: &Access<'_>) -> bool {
        if access.is_strong {
            let before = self.before(access);
            let (event, variable) = (access.event, Some(access.variable));
            self.add(Node { event, variable, leaves: 0, clock: Clock::new(), before });
        }
        let behind = &access.history.stores[access.position + 1..];
        if behind.is_empty() {
            return true;
        }
        // A deviation comes before what is there already.
        let mut edges: Vec<(Event, Event)> = Vec::new();
        let earlier: Vec<Event> =
            self.fences().map(|fence| fence.event).filter(|fence| fence.is_in(access.clock)).collect();
        for store in behind {
            let Some(writer) = store.writer else { continue };
            for node in &self.nodes {
                let is_fence = node.variable.is_none();
                let is_after = node.event == writer || is_fence && writer.is_in(&node.clock);
                let is_after_load = is_fence && store.reads.iter().any(|read| read.first.is_in(&node.clock));
                if is_after || is_after_load {
                    edges.extend(earlier.iter().map(|fence| (*fence, node.event)));
                }
                if is_after && access.is_strong {
                    edges.push((access.event, node.event));
                }
            }
        }
        edges.into_iter().all(|(from, to)| self.put_before(from, to))
    }

    /// What comes before an access that is sequentially consistent.
    fn before(&self, access: &Access<'_>) -> Clock {
        let Access { event, variable, clock, ahead, entry, .. } = *access;
        let mut before = Clock::new();
        for node in &self.nodes {
            let by = node.event.thread;
            let is_before = by == event.thread
                || match node.variable {
                    None => node.event.is_in(ahead),
                    Some(other) => {
                        node.leaves > 0 && at(entry, by) >= node.leaves || other == variable && node.event.is_in(clock)
                    }
                };
            if is_before {
                node.event.put_in(&mut before);
            }
        }
        if access.stores {
            for store in &access.history.stores[..=access.position] {
                strong(store, &mut before);
                fences(store, &mut before);
            }
            join(&mut before, &access.history.dropped.strong);
            join(&mut before, &access.history.dropped.fences);
        }
        before
    }

    /// Adds an event and what comes before what comes before it.
    fn add(&mut self, mut node: Node) {
        let direct = node.before.clone();
        for other in self.nodes.iter().filter(|other| other.event.is_in(&direct)) {
            join(&mut node.before, &other.before);
        }
        self.nodes.push(node);
    }

    /// Puts an event before another one. Says whether that is possible.
    fn put_before(&mut self, from: Event, to: Event) -> bool {
        let Some(first) = self.nodes.iter().find(|node| node.event == from) else { return true };
        if from == to || to.is_in(&first.before) {
            return false;
        }
        let mut added = first.before.clone();
        from.put_in(&mut added);
        for node in &mut self.nodes {
            if node.event == to || to.is_in(&node.before) {
                join(&mut node.before, &added);
            }
        }
        true
    }
}
