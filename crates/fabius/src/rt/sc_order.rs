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

use super::clock::{Clock, Event};
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

impl Access<'_> {
    #[inline(always)]
    fn finds_newest(&self) -> bool {
        self.position + 1 == self.history.stores.len()
    }
}

/// Events, and which come before which.
#[derive(Debug, Default)]
pub(super) struct ScOrder {
    /// Those of each thread, as they come; and how many there are.
    threads: Vec<Vec<Node>>,
    nodes: usize,
    /// Which of these are fences, by their numbers and where they are.
    fences: Vec<Vec<(u32, usize)>>,
}

/// What comes before what by an access.
#[derive(Default)]
struct Before {
    /// The fences before it, of each thread the last.
    fences: Clock,
    /// What each of these comes before, of each thread the first.
    after_fences: Clock,
    /// What the access comes before, of each thread the first.
    after: Clock,
}

impl Before {
    #[inline(always)]
    fn are_none(&self) -> bool {
        self.after.is_empty() && (self.fences.is_empty() || self.after_fences.is_empty())
    }

    fn all(&self, access: Event) -> impl Iterator<Item = (Event, Event)> + '_ {
        let of_fences = self.fences.events().flat_map(|fence| self.after_fences.events().map(move |to| (fence, to)));
        of_fences.chain(self.after.events().map(move |to| (access, to)))
    }
}

/// Of each thread the first.
fn put_first(event: Event, firsts: &mut Clock) {
    let first = firsts.at_mut(event.thread);
    *first = if *first == 0 { event.index } else { event.index.min(*first) };
}

/// Whether it is one of these, or a later one of its thread.
fn is_behind(event: Event, firsts: &Clock) -> bool {
    (1..=event.index).contains(&firsts.at(event.thread))
}

impl ScOrder {
    pub fn clear(&mut self) {
        self.threads.iter_mut().for_each(Vec::clear);
        self.nodes = 0;
        self.fences.iter_mut().for_each(Vec::clear);
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// The fences before what has this clock.
    pub fn fences_in(&self, clock: &Clock) -> Clock {
        let mut known = Clock::new();
        for (thread, fences) in self.fences.iter().enumerate() {
            let last = clock.at(thread);
            if let Some((index, _)) = fences.iter().rfind(|(index, _)| *index <= last) {
                *known.at_mut(thread) = *index;
            }
        }
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
            clock.at(node.event.thread) > node.event.index || node.variable.is_none()
        });
        for history in histories {
            // What was dropped came before what every thread knows, or does not matter.
            before.join(&history.dropped.strong);
            before.join(&history.dropped.fences);
            if let Some(known) = history.last_known(clock) {
                for store in &history.stores[..known] {
                    strong(store, &mut before);
                    fences(store, &mut before);
                }
            }
            if let Some(seen) = history.last_seen(clock) {
                history.stores[..seen].iter().for_each(|store| fences(store, &mut before));
                before.join(&history.stores[seen].fences);
            }
        }
        self.close(&mut before);
        self.add(Node { event, variable: None, leaves: event.index, clock: clock.clone(), before });
        if self.fences.len() <= event.thread {
            self.fences.resize_with(event.thread + 1, Vec::new);
        }
        self.fences[event.thread].push((event.index, self.threads[event.thread].len() - 1));
    }

    /// Whether an access that deviates closes no circle.
    ///
    /// If there is one, there is one with a single new edge: what the fences come before is the same for all of them, and
    /// includes what the access comes before.
    pub fn allows(&self, access: &Access<'_>) -> bool {
        let edges = self.edges(access);
        if edges.are_none() {
            return true;
        }
        let before = if access.is_strong { self.before(access) } else { Clock::new() };
        edges.all(access.event).all(|(from, to)| {
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
        if access.finds_newest() {
            return true;
        }
        self.edges(access).all(access.event).all(|(from, to)| self.put_before(from, to))
    }

    /// What comes before what: a deviation comes before what is there already. Of each thread the last fence ahead of it and the
    /// first event behind it tell of all others of that thread.
    fn edges(&self, access: &Access<'_>) -> Before {
        let behind = &access.history.stores[access.position + 1..];
        let mut edges = Before { fences: self.fences_in(access.clock), ..Before::default() };
        if edges.fences.is_empty() && !access.is_strong {
            return edges;
        }
        for store in behind {
            let Some(writer) = store.writer else { continue };
            if let Some(node) = self.node(writer) {
                put_first(node.event, &mut edges.after_fences);
                put_first(node.event, &mut edges.after);
            }
            for (nodes, fences) in self.threads.iter().zip(&self.fences) {
                for fence in fences.iter().map(|(_, position)| &nodes[*position]) {
                    if is_behind(fence.event, &edges.after) {
                        break;
                    }
                    let is_after = writer.is_in(&fence.clock);
                    if is_after || store.reads.iter().any(|read| read.first.is_in(&fence.clock)) {
                        put_first(fence.event, &mut edges.after_fences);
                    }
                    if is_after {
                        // The later ones of the thread come after it.
                        put_first(fence.event, &mut edges.after);
                        break;
                    }
                }
            }
        }
        if !access.is_strong {
            edges.after.clear();
        }
        edges
    }

    /// What comes before an access that is sequentially consistent.
    fn before(&self, access: &Access<'_>) -> Clock {
        let Access { event, variable, clock, ahead, entry, .. } = *access;
        let mut before = self.last_of_each(clock, event.thread, |node| match node.variable {
            None => node.event.is_in(ahead),
            Some(other) => node.leaves > 0 && entry.at(node.event.thread) >= node.leaves || other == variable,
        });
        if access.stores {
            for store in &access.history.stores[..=access.position] {
                strong(store, &mut before);
                fences(store, &mut before);
            }
            before.join(&access.history.dropped.strong);
            before.join(&access.history.dropped.fences);
        }
        self.close(&mut before);
        before
    }

    /// Of each thread the last event that is in the clock and comes before; of the thread itself the last one.
    fn last_of_each(&self, clock: &Clock, thread: usize, comes_before: impl Fn(&Node) -> bool) -> Clock {
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
        let direct = before.clone();
        for Event { thread, index } in direct.events() {
            let nodes = self.threads.get(thread).map_or(&[][..], Vec::as_slice);
            if let Some(last) = nodes.iter().rfind(|node| node.event.index <= index) {
                before.join(&last.before);
            }
        }
    }

    fn add(&mut self, node: Node) {
        let thread = node.event.thread;
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, Vec::new);
        }
        self.threads[thread].push(node);
        self.nodes += 1;
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
        let mut added = first.before.clone();
        from.put_in(&mut added);
        for node in self.threads.iter_mut().flatten() {
            if node.event == to || to.is_in(&node.before) {
                node.before.join(&added);
            }
        }
        true
    }
}
