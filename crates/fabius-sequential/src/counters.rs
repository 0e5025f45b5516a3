//! Threads without names, counted to a few and then as many: whether all of them may wait for ever.
//!
//! Paper: Pnueli, Xu, Zuck: Liveness with (0, 1, infinity)-counter abstraction (CAV 2002), for deadlocks alone.
//!
//! A deadlock is no matter of some threads, as a failure is: it is one only if nobody else is anywhere else. So an abstract
//! state counts the threads at each place: none, one, .., and from a number on *many*. Who leaves many leaves many or one fewer
//! than many. If no abstract state is a deadlock, no number of threads comes to one.
//!
//! Deviations:
//! 1. Threads that have not begun are not counted: they may be there or not.
//! 2. Where threads come by looking alone, others may be too: one is many there.
//! 3. A thread at a place from which it goes on alone, whatever the others do, goes on before all others.

use crate::counted::{Counted, GaveUp, Pair, reachable};
use fabius_smt::Limits;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What threads do, where they wait, and where they end.
#[derive(Clone, Copy, Debug)]
pub struct Threads<'a> {
    /// The steps, and where threads begin.
    pub counted: &'a Counted,
    /// With which shared state a thread at this place may wait.
    pub waits: &'a BTreeSet<Pair>,
    /// Who is there has finished.
    pub ends: &'a BTreeSet<u32>,
}

/// So many are many, one after the other.
const MANY: [u8; 4] = [1, 2, 4, 8];

/// Abstract states at most.
const MOST: usize = 1 << 18;

/// Whether some number of threads may come to where those that have not finished wait, and there is one.
///
/// # Errors
/// [`GaveUp`].
pub fn may_wait(threads: &Threads<'_>, limits: &Limits<'_>) -> Result<bool, GaveUp> {
    let table = Table::new(threads);
    for many in MANY {
        if !(Search { threads, table: &table, many }).finds(limits)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Where a thread may get in one step, by where it is.
struct Table {
    steps: BTreeMap<Pair, Vec<Pair>>,
    /// Where it goes on alone: the places that it comes to.
    alone: BTreeMap<u32, BTreeSet<u32>>,
    /// Where others may be who have done the same.
    copied: BTreeSet<u32>,
}

impl Table {
    fn new(threads: &Threads<'_>) -> Table {
        let mut steps: BTreeMap<Pair, Vec<Pair>> = BTreeMap::new();
        for [from, to] in &threads.counted.steps {
            steps.entry(*from).or_default().push(*to);
        }
        // Pairs by place, to see what depends on the shared state.
        let mut alone: BTreeMap<u32, Option<BTreeSet<u32>>> = BTreeMap::new();
        for pair in reachable(threads.counted) {
            let to = steps.get(&pair).map(Vec::as_slice).unwrap_or_default();
            let keeps =
                !to.is_empty() && !threads.waits.contains(&pair) && to.iter().all(|(shared, _)| *shared == pair.0);
            let here: Option<BTreeSet<u32>> = keeps.then(|| to.iter().map(|(_, place)| *place).collect());
            alone
                .entry(pair.1)
                .and_modify(|known| {
                    if *known != here {
                        *known = None;
                    }
                })
                .or_insert(here);
        }
        let alone = alone.into_iter().filter_map(|(place, to)| Some((place, to?)));
        // Who stays where it is may stay there for ever.
        let alone = alone.filter(|(place, to)| !to.contains(place)).collect();
        Table { steps, alone, copied: copied(threads.counted) }
    }
}

/// The places to which threads of any number come by steps that change no shared state, and in no other way: whoever is there
/// may be followed by others, step by step.
fn copied(counted: &Counted) -> BTreeSet<u32> {
    let mut all: BTreeSet<u32> = counted.steps.iter().flatten().map(|(_, place)| *place).collect();
    counted.declared.iter().flatten().for_each(|place| {
        all.remove(place);
    });
    loop {
        let before = all.len();
        for [from, to] in &counted.steps {
            if from.0 != to.0 || !all.contains(&from.1) {
                all.remove(&to.1);
            }
        }
        if all.len() == before {
            return all;
        }
    }
}

/// How many threads are at each place, in order; who has finished, or has not begun, is at none.
type Counts = Vec<(u32, u8)>;

/// A shared state, and where threads are.
type State = (u32, Counts);

struct Search<'a> {
    threads: &'a Threads<'a>,
    table: &'a Table,
    /// So many are many.
    many: u8,
}

impl Search<'_> {
    fn finds(&self, limits: &Limits<'_>) -> Result<bool, GaveUp> {
        let mut todo = self.begin();
        let mut seen: HashSet<State> = todo.iter().cloned().collect();
        while let Some(state) = todo.pop() {
            if limits.are_hit() {
                return Err(GaveUp::Stopped);
            }
            if seen.len() > MOST {
                return Err(GaveUp::TooMany);
            }
            if self.waits(&state) {
                return Ok(true);
            }
            for next in self.after(&state) {
                if seen.insert(next.clone()) {
                    todo.push(next);
                }
            }
        }
        Ok(false)
    }

    /// Those of a declared number are where they begin.
    fn begin(&self) -> Vec<State> {
        let counted = self.threads.counted;
        let mut all: Vec<State> = counted.begin.iter().map(|shared| (*shared, Counts::new())).collect();
        for starts in &counted.declared {
            all = all.iter().flat_map(|state| starts.iter().map(|place| self.with(state.clone(), *place))).collect();
        }
        all
    }

    /// So many are many at a place.
    fn most(&self, place: u32) -> u8 {
        if self.table.copied.contains(&place) { 1 } else { self.many }
    }

    fn with(&self, (shared, mut counts): State, place: u32) -> State {
        if !self.threads.ends.contains(&place) {
            match counts.binary_search_by_key(&place, |(place, _)| *place) {
                Ok(at) => counts[at].1 = (counts[at].1 + 1).min(self.most(place)),
                Err(at) => counts.insert(at, (place, 1)),
            }
        }
        (shared, counts)
    }

    /// Without one of those at a place: many may then be many still.
    fn without(&self, counts: &Counts, at: usize) -> Vec<Counts> {
        let (place, count) = counts[at];
        let mut fewer = counts.clone();
        if count == 1 {
            fewer.remove(at);
        } else {
            fewer[at].1 -= 1;
        }
        if count == self.most(place) { vec![fewer, counts.clone()] } else { vec![fewer] }
    }

    /// All that are there wait, and one is there; or one that begins waits at once.
    fn waits(&self, (shared, counts): &State) -> bool {
        let waits = |place: &u32| self.threads.waits.contains(&(*shared, *place));
        let any = &self.threads.counted.any;
        counts.iter().all(|(place, _)| waits(place)) && (!counts.is_empty() || any.iter().any(waits))
    }

    fn after(&self, (shared, counts): &State) -> Vec<State> {
        let is_alone = |(at, (place, _)): (usize, &(u32, u8))| Some((at, self.table.alone.get(place)?));
        if let Some((at, to)) = counts.iter().enumerate().find_map(is_alone) {
            let left = self.without(counts, at);
            return left
                .iter()
                .flat_map(|counts| to.iter().map(|place| self.with((*shared, counts.clone()), *place)))
                .collect();
        }
        let mut all = Vec::new();
        let steps = |place: u32| self.table.steps.get(&(*shared, place)).into_iter().flatten();
        for (at, (from, _)) in counts.iter().enumerate() {
            for (then, to) in steps(*from) {
                all.extend(self.without(counts, at).into_iter().map(|left| self.with((*then, left), *to)));
            }
        }
        for from in &self.threads.counted.any {
            all.extend(steps(*from).map(|(then, to)| self.with((*then, counts.clone()), *to)));
        }
        all
    }
}
