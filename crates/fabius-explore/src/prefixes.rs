//! Prefixes of executions that are left to be continued, and what one execution adds to them.

use crate::dispatcher::Move;
use crate::execution::Spare;
use crate::node::{Script, Stop};
use crate::others::{CHOICE, Entry, Others};
use crate::reached::Class;
use crate::search::{Cut, Found};

/// A prefix to be continued: at every dispatch point the task that runs (if threads are in a bag) or the position of the
/// move among [`Context::moves`], and behind it the outcomes of choices in the step, which are marked ([`CHOICE`]). Choices
/// before the first dispatch point stand first. Each entry comes with how often it is repeated: most steps go on with one thread,
/// and the prefixes of a long execution would fill the memory otherwise.
pub(crate) struct Item {
    pub path: Box<[Entry]>,
    pub cost: u32,
    /// What the prefix comes to, if that is known.
    pub comes_to: Option<Class>,
    /// Instead of one prefix: those of the other outcomes of a step. There is at least one.
    pub others: Option<Box<Others>>,
}

impl Item {
    pub fn new(path: Box<[Entry]>, cost: u32, comes_to: Option<Class>) -> Item {
        Item { path, cost, comes_to, others: None }
    }
}

/// What outcomes of choices cost.
#[derive(Clone, Copy)]
pub(crate) struct Priced {
    /// Of the step as it was made.
    pub cost: u32,
    /// Of a deviation, besides.
    pub deviation: u32,
    /// Of what is explored now.
    pub bound: u32,
}

/// The outcomes of choices that stand in a path from here on.
pub(crate) fn choices_at(path: &[Entry], at: usize) -> &[Entry] {
    let rest = &path[at..];
    &rest[..rest.iter().take_while(|(_, times)| *times == CHOICE).count()]
}

/// A path with one step more.
pub(crate) fn and_then(path: &[Entry], decision: u32) -> Box<[Entry]> {
    match path.split_last() {
        Some((last, before)) if last.0 == decision && last.1 != CHOICE => {
            before.iter().copied().chain([(decision, last.1 + 1)]).collect()
        }
        _ => path.iter().copied().chain([(decision, 1)]).collect(),
    }
}

/// What executions add, and memory for the next one.
#[derive(Default)]
pub(crate) struct Findings {
    pub work: Vec<Item>,
    pub next: Vec<Item>,
    pub executions: u64,
    pub complete: Option<u128>,
    pub transitions: u64,
    pub bug: Option<Found>,
    pub limit: Option<Cut>,
    pub has_deadlines: bool,
    pub depth: u32,
    /// The path so far.
    pub here: Vec<Entry>,
    /// What is repeated without a look at it.
    pub given: Vec<Entry>,
    pub moves: Vec<Move>,
    pub script: Script,
    pub spare: Spare,
}

impl Findings {
    pub fn stopped(&mut self, stop: Stop, found: impl FnOnce() -> Found) {
        match stop {
            Stop::Bug(what) => self.bug = Some(Found { what, ..found() }),
            Stop::Cut(cut) => self.limit = self.limit.or(Some(cut)),
            Stop::Dropped => {}
        }
    }

    /// Appends a move to the path, so many times.
    #[inline]
    pub fn went(&mut self, decision: u32, times: u32) {
        match self.here.last_mut() {
            Some(last) if last.0 == decision && last.1 != CHOICE => last.1 += times,
            _ => self.here.push((decision, times)),
        }
    }

    /// Appends moves that are no choices, each so often.
    pub fn went_all(&mut self, path: &[Entry]) {
        if let Some(((decision, times), rest)) = path.split_first() {
            self.went(*decision, *times);
            self.here.extend_from_slice(rest);
        }
    }

    /// A move that is not made now.
    pub fn leave(&mut self, number: u32, cost: u32, comes_to: Option<Class>, bound: u32) {
        let path = and_then(&self.here, number);
        self.keep(Item::new(path, cost, comes_to), bound);
    }

    /// How many were left.
    pub fn left(&self) -> usize {
        self.work.len() + self.next.len()
    }

    /// What has to be tried, now or later.
    pub fn sort(&mut self, items: Vec<Item>, bound: u32) {
        items.into_iter().for_each(|item| self.keep(item, bound));
    }

    fn keep(&mut self, item: Item, bound: u32) {
        if item.cost <= bound { self.work.push(item) } else { self.next.push(item) }
    }

    /// The other outcomes of the choices in the last step, of which the first `fixed` are given.
    pub fn others(&mut self, script: &Script, fixed: usize, priced: Priced) {
        let taken = script.taken();
        let others = Others::new(&self.here, taken, fixed);
        self.work.extend(
            others
                .map(|others| Item { others: Some(Box::new(others)), ..Item::new(Box::default(), priced.cost, None) }),
        );
        let cost = priced.cost + priced.deviation;
        for at in fixed..taken.len() {
            let before = || taken[..at].iter().map(|t| (t.chosen, CHOICE));
            for way in taken[at].other_ways() {
                let path = self.here.iter().copied().chain(before()).chain([(way, CHOICE)]).collect();
                let item = Item::new(path, cost, None);
                if cost <= priced.bound { self.work.push(item) } else { self.next.push(item) }
            }
        }
    }

    /// Appends the outcomes of the last step to the path.
    pub fn taken(&mut self, script: &Script) {
        self.here.extend(script.telling().iter().map(|t| (t.chosen, CHOICE)));
    }
}
