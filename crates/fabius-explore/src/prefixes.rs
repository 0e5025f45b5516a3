//! Prefixes of executions that are left to be continued, and what one execution adds to them.

use crate::dispatcher::Move;
use crate::kept::Spare;
use crate::node::{Of, Script, Stop};
use crate::others::{CHOICE, DELAYED_BUFFER, DELAYED_TASK, Entry, MOST_TIMES, Others};
use crate::reached::Class;
use crate::scheduler::Delayed;
use crate::search::{Cut, Found};

/// A prefix to be continued: at every dispatch point who runs or is delayed, and behind it the outcomes of choices in the step, which
/// are marked ([`CHOICE`]). Choices before the first dispatch point stand first. Moves are named, not numbered: where others wait than
/// the last time, the same number would be another move, and nobody would notice. Each task comes with how often it runs: most
/// steps go on with one thread, and the prefixes of a long execution would fill the memory otherwise.
pub(crate) struct Item {
    pub path: Box<[Entry]>,
    pub cost: u32,
    /// What the prefix comes to, if that is known; if its last step may deviate, that it is tried (`System::may_deviate`).
    pub comes_to: Option<Class>,
    /// Instead of one prefix: those of the other outcomes of a step. There is at least one.
    pub others: Option<Box<Others>>,
}

impl Item {
    pub fn new(path: Box<[Entry]>, cost: u32, comes_to: Option<Class>) -> Item {
        Item { path, cost, comes_to, others: None }
    }

    /// Whether it is a way to deviate, or another outcome of a choice.
    pub fn ends_in_choice(&self) -> bool {
        self.path.last().is_some_and(|(_, times)| *times == CHOICE)
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

/// What follows is explored elsewhere.
pub(crate) struct Known;

/// The outcomes of choices that stand in a path from here on.
pub(crate) fn choices_at(path: &[Entry], at: usize) -> &[Entry] {
    let rest = &path[at..];
    &rest[..rest.iter().take_while(|(_, times)| *times == CHOICE).count()]
}

/// What a move is called in a path. No two moves from one point are called the same: names of tasks are not told from those of buffers,
/// but what is done with them is, and a task is in one buffer.
#[inline]
pub(crate) fn named(mv: &Move) -> Entry {
    match *mv {
        Move::Run(pick) => (pick.task, 1),
        Move::Delay(Delayed::Buffer(buffer)) => (buffer, DELAYED_BUFFER),
        Move::Delay(Delayed::Task(pick)) => (pick.task, DELAYED_TASK),
    }
}

/// What each of the moves is called that an entry stands for, and how many these are.
pub(crate) fn each(entry: Entry) -> (Entry, u32) {
    if entry.1 > MOST_TIMES { (entry, 1) } else { ((entry.0, 1), entry.1) }
}

/// Moves as one entry, if the same task runs in all of them.
#[inline]
fn together(last: Entry, next: Entry) -> Option<Entry> {
    let times = last.1.saturating_add(next.1);
    (last.0 == next.0 && last.1 != CHOICE && times <= MOST_TIMES).then_some((next.0, times))
}

/// A path with one move more.
pub(crate) fn and_then(path: &[Entry], mv: Entry) -> Box<[Entry]> {
    if let Some((last, before)) = path.split_last()
        && let Some(both) = together(*last, mv)
    {
        return before.iter().copied().chain([both]).collect();
    }
    path.iter().copied().chain([mv]).collect()
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
    /// Whether what costs more than this level is not explored: then it is only known what it comes to, and not how.
    pub is_last_level: bool,
    /// Whether any operation could have deviated, since the search began.
    pub may_deviate: bool,
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

    /// Appends a move to the path, or several of one task.
    #[inline]
    pub fn went(&mut self, moves: Entry) {
        if let Some(last) = self.here.last_mut()
            && let Some(both) = together(*last, moves)
        {
            *last = both;
            return;
        }
        self.here.push(moves);
    }

    /// Appends moves that are no choices, each so often.
    pub fn went_all(&mut self, path: &[Entry]) {
        if let Some((first, rest)) = path.split_first() {
            self.went(*first);
            self.here.extend_from_slice(rest);
        }
    }

    /// A move that is not made now.
    pub fn leave(&mut self, mv: Entry, cost: u32, comes_to: Option<Class>, bound: u32) {
        let path = if self.needs_path(cost, bound) { and_then(&self.here, mv) } else { Box::default() };
        self.keep(Item::new(path, cost, comes_to), bound);
    }

    /// Whether what costs so much will be explored.
    fn needs_path(&self, cost: u32, bound: u32) -> bool {
        cost <= bound || !self.is_last_level
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

    /// The other outcomes of the choices in the last step, of which the first `fixed` are given. What a way to deviate comes to may be
    /// known, and that nothing new follows.
    pub fn others(
        &mut self,
        script: &Script,
        fixed: usize,
        priced: Priced,
        comes_to: impl Fn(u32, u32) -> Result<Option<Class>, Known>,
    ) {
        let taken = script.taken();
        self.may_deviate |= taken.iter().any(|choice| matches!(choice.of, Of::Deviations(_)));
        let others = Others::new(&self.here, taken, fixed);
        self.work.extend(
            others
                .map(|others| Item { others: Some(Box::new(others)), ..Item::new(Box::default(), priced.cost, None) }),
        );
        let cost = priced.cost + priced.deviation;
        for at in fixed..taken.len() {
            let before = || taken[..at].iter().map(|t| (t.chosen, CHOICE));
            for way in taken[at].other_ways() {
                let Ok(comes_to) = comes_to(way, cost) else { continue };
                let path = self.here.iter().copied().chain(before()).chain([(way, CHOICE)]);
                let path = if self.needs_path(cost, priced.bound) { path.collect() } else { Box::default() };
                self.keep(Item::new(path, cost, comes_to), priced.bound);
            }
        }
    }

    /// Appends the outcomes of the last step to the path.
    pub fn taken(&mut self, script: &Script) {
        self.here.extend(script.telling().iter().map(|t| (t.chosen, CHOICE)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::Pick;
    use crate::system::{ANONYMOUS, DECLARED_BUFFER, FIFO_BUFFER};
    use std::collections::HashMap;

    #[test]
    fn no_two_moves_are_called_the_same_whatever_bits_their_ids_have() {
        let ids = [0, 1, 2].map(|id| [id, ANONYMOUS | id, DECLARED_BUFFER | id, DECLARED_BUFFER | FIFO_BUFFER | id]);
        let mut known = HashMap::new();
        for id in ids.into_iter().flatten() {
            let pick = Pick { buffer: DECLARED_BUFFER, task: id };
            for mv in [Move::Run(pick), Move::Delay(Delayed::Task(pick)), Move::Delay(Delayed::Buffer(id))] {
                let name = named(&mv);
                assert_eq!(known.insert(name, mv), None, "{name:?}");
                assert!(name.1 != CHOICE && each(name) == (name, 1));
            }
        }
        assert_eq!(known.len(), 36);
    }

    #[test]
    fn only_runs_of_one_task_are_one_entry() {
        let run = |task| (task, 1);
        let mut path = vec![(7, CHOICE)];
        for next in [run(7), run(7), (7, DELAYED_TASK), (7, DELAYED_TASK), run(7), (7, DELAYED_BUFFER), run(7), run(8)]
        {
            path = and_then(&path, next).into();
        }
        let (task, buffer) = ((7, DELAYED_TASK), (7, DELAYED_BUFFER));
        assert_eq!(path, [(7, CHOICE), (7, 2), task, task, run(7), buffer, run(7), run(8)]);
        let mut found = Findings::default();
        path.iter().skip(1).for_each(|entry| found.went(*entry));
        assert_eq!(found.here, path[1..]);
        // Steps that are too many for one entry are no delays.
        let most = (7, MOST_TIMES);
        assert_eq!((each(most), &*and_then(&[most], run(7))), ((run(7), MOST_TIMES), &[most, run(7)][..]));
    }
}
