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
//! 2. How many are many is said of each place: one at first; and when a deadlock is found, twice as many at the places that many
//!    threads have left on the way there (Clarke, Grumberg, Jha, Lu, Veith: Counterexample-guided abstraction refinement, CAV
//!    2000).
//! 3. Where threads come by looking alone, others may be too: one is many there.
//! 4. A thread at a place from which it goes on alone, whatever the others do, goes on before all others.

use crate::counted::{Counted, GaveUp, Pair, owners, reachable};
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

/// So many are many at most.
const MOST_MANY: u8 = 8;

/// Abstract states at most.
const MOST: usize = 1 << 18;

/// Whether some number of threads may come to where those that have not finished wait, and there is one.
///
/// # Errors
/// [`GaveUp`].
pub fn may_wait(threads: &Threads<'_>, limits: &Limits<'_>) -> Result<bool, GaveUp> {
    let table = Table::new(threads);
    // Where one of a declared number is there are never two.
    let owned = (0..).zip(owners(threads.counted)).filter(|(_, owner)| owner.is_some());
    let mut many: BTreeMap<u32, u8> = owned.map(|(place, _)| (place, 2)).collect();
    loop {
        let Some(left) = (Search { threads, table: &table, many: &many }).finds(limits)? else { return Ok(false) };
        let mut finer = false;
        for place in left {
            let many = many.entry(place).or_insert(1);
            if *many < MOST_MANY {
                *many *= 2;
                finer = true;
            }
        }
        if !finer {
            return Ok(true);
        }
    }
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

/// Where a search has come: a state, from where, and the place that one of many has left.
struct Node {
    state: State,
    from: Option<usize>,
    left: Option<u32>,
}

struct Search<'a> {
    threads: &'a Threads<'a>,
    table: &'a Table,
    /// So many are many at a place; one, if nothing is said.
    many: &'a BTreeMap<u32, u8>,
}

impl Search<'_> {
    /// On the way to a deadlock: the places that one of many has left.
    fn finds(&self, limits: &Limits<'_>) -> Result<Option<BTreeSet<u32>>, GaveUp> {
        let begin = self.begin();
        let mut seen: HashSet<State> = begin.iter().cloned().collect();
        let mut nodes: Vec<Node> = begin.into_iter().map(|state| Node { state, from: None, left: None }).collect();
        let mut next = 0;
        while next < nodes.len() {
            if limits.are_hit() {
                return Err(GaveUp::Stopped);
            }
            if nodes.len() > MOST {
                return Err(GaveUp::TooMany);
            }
            if self.waits(&nodes[next].state) {
                let way = std::iter::successors(Some(next), |n| nodes[*n].from);
                return Ok(Some(way.filter_map(|n| nodes[n].left).collect()));
            }
            for (state, left) in self.after(&nodes[next].state) {
                if seen.insert(state.clone()) {
                    nodes.push(Node { state, from: Some(next), left });
                }
            }
            next += 1;
        }
        Ok(None)
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
        self.many.get(&place).copied().unwrap_or(1)
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

    /// Without one of those at a place; and the place, if there were many: then there may be many still.
    fn without(&self, counts: &Counts, at: usize) -> (Vec<Counts>, Option<u32>) {
        let (place, count) = counts[at];
        let mut fewer = counts.clone();
        if count == 1 {
            fewer.remove(at);
        } else {
            fewer[at].1 -= 1;
        }
        if count < self.most(place) {
            return (vec![fewer], None);
        }
        (vec![fewer, counts.clone()], (!self.table.copied.contains(&place)).then_some(place))
    }

    /// All that are there wait, and one is there; or one that begins waits at once.
    fn waits(&self, (shared, counts): &State) -> bool {
        let waits = |place: &u32| self.threads.waits.contains(&(*shared, *place));
        let any = &self.threads.counted.any;
        counts.iter().all(|(place, _)| waits(place)) && (!counts.is_empty() || any.iter().any(waits))
    }

    /// The next states, and which place one of many has left.
    fn after(&self, (shared, counts): &State) -> Vec<(State, Option<u32>)> {
        let is_alone = |(at, (place, _)): (usize, &(u32, u8))| Some((at, self.table.alone.get(place)?));
        let mut all = Vec::new();
        let mut go = |at: usize, then: u32, to: u32| {
            let (rest, left) = self.without(counts, at);
            all.extend(rest.into_iter().map(|rest| (self.with((then, rest), to), left)));
        };
        if let Some((at, to)) = counts.iter().enumerate().find_map(is_alone) {
            to.iter().for_each(|to| go(at, *shared, *to));
            return all;
        }
        let steps = |place: u32| self.table.steps.get(&(*shared, place)).into_iter().flatten();
        for (at, (from, _)) in counts.iter().enumerate() {
            steps(*from).for_each(|(then, to)| go(at, *then, *to));
        }
        for from in &self.threads.counted.any {
            all.extend(steps(*from).map(|(then, to)| (self.with((*then, counts.clone()), *to), None)));
        }
        all
    }
}
