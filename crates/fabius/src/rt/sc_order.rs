//! The order of sequentially consistent operations and fences: whether a deviation would close a circle in it.
//!
//! Paper: Repairing Sequential Consistency in C/C++11 (PLDI 2017), section 3: the relation psc of RC11.
//!
//! Deviations:
//! 1. The relation is kept closed under composition, as one clock for each event: which events of each thread come before.
//! 2. An operation that finds the newest store, and stores at the end, comes before nothing: only deviations are asked for.
//! 3. Two cases of the relation that close no circle which the others do not close are left out: a fence that comes before
//!    another access to what a sequentially consistent one accesses, and that comes before it; and the same of a fence.
//! 4. What comes before an event of a thread comes before all later ones of it, so that of each thread the last one that comes
//!    before is enough.
//! 5. An access leaves its variable when its thread does something else; which is what `sb` to another location, `hb`, and
//!    `sb` from another location come to ([`Node::leaves`]).

use super::clock::{Clock, Event, at, copy, join};
use super::history::{History, fences, strong};

/// A sequentially consistent access or fence.
#[derive(Debug)]
struct Node {
    event: Event,
    /// The variable that it accesses; `None`: a fence.
    variable: Option<usize>,
    /// The next event of its thread that is not an access to the same variable; 0 while there is none, and where the next one is
    /// another access to it.
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

/// Events, and which come before which.
#[derive(Debug, Default)]
pub(super) struct ScOrder {
    /// Those of each thread, as they come.
    threads: Vec<Vec<Node>>,
    fences: Vec<Event>,
}

/// One event of each thread that has any.
fn events(of: &[u32]) -> impl Iterator<Item = Event> + '_ {
    let all = of.iter().enumerate().filter(|(_, index)| **index > 0);
    all.map(|(thread, index)| Event { thread, index: *index })
}

/// Of each thread the first.
fn put_first(event: Event, firsts: &mut Clock) {
    if firsts.len() <= event.thread {
        firsts.resize(event.thread + 1, 0);
    }
    let first = &mut firsts[event.thread];
    *first = if *first == 0 { event.index } else { event.index.min(*first) };
}

/// Whether it is one of these, or a later one of its thread.
fn is_behind(event: Event, firsts: &[u32]) -> bool {
    (1..=event.index).contains(&at(firsts, event.thread))
}

impl ScOrder {
    pub fn clear(&mut self) {
        self.threads.iter_mut().for_each(Vec::clear);
        self.fences.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.threads.iter().all(Vec::is_empty)
    }

    /// The fences before what has this clock.
    pub fn fences_in(&self, clock: &[u32]) -> Clock {
        let mut known = Clock::new();
        self.fences.iter().filter(|fence| fence.is_in(clock)).for_each(|fence| fence.put_in(&mut known));
        known
    }

    /// A thread does something to this variable, or to none.
    pub fn goes_to(&mut self, event: Event, variable: Option<usize>) {
        // Accesses in a row are left together, so that the last one tells of all.
        let last = self.threads.get_mut(event.thread).and_then(|own| own.last_mut());
        if let Some(node) = last.filter(|node| node.leaves == 0 && (variable.is_none() || node.variable != variable)) {
            node.leaves = event.index;
        }
    }

    /// A fence.
    pub fn fence<'a>(&mut self, event: Event, clock: &Clock, histories: impl Iterator<Item = &'a History>) {
        let mut before = self.last_of_each(clock, event.thread, |node| {
            at(clock, node.event.thread) > node.event.index || node.variable.is_none()
        });
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
        self.close(&mut before);
        self.add(Node { event, variable: None, leaves: event.index, clock: copy(clock), before });
        self.fences.push(event);
    }

    /// Whether an access that deviates closes no circle.
    ///
    /// If there is one, there is one with a single new edge: what the fences come before is the same for all of them, and
    /// includes what the access comes before.
    pub fn allows(&self, access: &Access<'_>) -> bool {
        let before = if access.is_strong { self.before(access) } else { Clock::new() };
        self.edges(access).into_iter().all(|(from, to)| {
            let known = if from == access.event { Some(&before) } else { self.node(from).map(|node| &node.before) };
            known.is_none_or(|known| from != to && !to.is_in(known))
        })
    }

    /// An access. Says whether the order is still one; if not, it is of no use any more.
    pub fn access(&mut self, access: &Access<'_>) -> bool {
        if access.is_strong {
            let before = self.before(access);
            let (event, variable) = (access.event, Some(access.variable));
            self.add(Node { event, variable, leaves: 0, clock: Clock::new(), before });
        }
        self.edges(access).into_iter().all(|(from, to)| self.put_before(from, to))
    }

    /// What comes before what: a deviation comes before what is there already. Of each thread the last fence ahead of it and the
    /// first event behind it tell of all others of that thread.
    fn edges(&self, access: &Access<'_>) -> Vec<(Event, Event)> {
        let behind = &access.history.stores[access.position + 1..];
        if behind.is_empty() {
            return Vec::new();
        }
        let (mut after, mut after_strong) = (Clock::new(), Clock::new());
        for store in behind {
            let Some(writer) = store.writer else { continue };
            let fences = self.fences.iter().filter_map(|fence| self.node(*fence));
            for node in self.node(writer).into_iter().chain(fences) {
                if is_behind(node.event, &after_strong) {
                    continue;
                }
                let is_fence = node.variable.is_none();
                let is_after = node.event == writer || writer.is_in(&node.clock);
                let is_after_load = is_fence && store.reads.iter().any(|read| read.first.is_in(&node.clock));
                if is_after || is_after_load {
                    put_first(node.event, &mut after);
                }
                if is_after {
                    put_first(node.event, &mut after_strong);
                }
            }
        }
        let mut edges: Vec<_> =
            events(&self.fences_in(access.clock)).flat_map(|fence| events(&after).map(move |to| (fence, to))).collect();
        if access.is_strong {
            edges.extend(events(&after_strong).map(|to| (access.event, to)));
        }
        edges
    }

    /// What comes before an access that is sequentially consistent.
    fn before(&self, access: &Access<'_>) -> Clock {
        let Access { event, variable, clock, ahead, entry, .. } = *access;
        let mut before = self.last_of_each(clock, event.thread, |node| match node.variable {
            None => node.event.is_in(ahead),
            Some(other) => node.leaves > 0 && at(entry, node.event.thread) >= node.leaves || other == variable,
        });
        if access.stores {
            for store in &access.history.stores[..=access.position] {
                strong(store, &mut before);
                fences(store, &mut before);
            }
            join(&mut before, &access.history.dropped.strong);
            join(&mut before, &access.history.dropped.fences);
        }
        self.close(&mut before);
        before
    }

    /// Of each thread the last event that is in the clock and comes before; of the thread itself the last one.
    fn last_of_each(&self, clock: &[u32], thread: usize, comes_before: impl Fn(&Node) -> bool) -> Clock {
        let mut before = Clock::new();
        for (by, nodes) in self.threads.iter().enumerate() {
            let last = if by == thread {
                nodes.last()
            } else {
                nodes.iter().rev().find(|node| node.event.is_in(clock) && comes_before(node))
            };
            last.inspect(|node| node.event.put_in(&mut before));
        }
        before
    }

    /// Adds what comes before what comes before.
    fn close(&self, before: &mut Clock) {
        let direct = copy(before);
        for (nodes, index) in self.threads.iter().zip(&direct) {
            if let Some(last) = nodes.iter().rfind(|node| node.event.index <= *index) {
                join(before, &last.before);
            }
        }
    }

    fn add(&mut self, node: Node) {
        let thread = node.event.thread;
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, Vec::new);
        }
        self.threads[thread].push(node);
    }

    fn node(&self, event: Event) -> Option<&Node> {
        let nodes = self.threads.get(event.thread)?;
        let at = nodes.binary_search_by_key(&event.index, |node| node.event.index).ok()?;
        Some(&nodes[at])
    }

    /// Puts an event before another one. Says whether that is possible.
    fn put_before(&mut self, from: Event, to: Event) -> bool {
        let Some(first) = self.node(from) else { return true };
        if from == to || to.is_in(&first.before) {
            return false;
        }
        if self.node(to).is_some_and(|node| from.is_in(&node.before)) {
            return true;
        }
        let mut added = copy(&first.before);
        from.put_in(&mut added);
        for node in self.threads.iter_mut().flatten() {
            if node.event == to || to.is_in(&node.before) {
                join(&mut node.before, &added);
            }
        }
        true
    }
}
