//! Threads without names, counted by where they are: whether any number of them comes to a failure.
//!
//! Paper: Abdulla, Čerāns, Jonsson, Tsay: General decidability theorems for infinite-state systems (LICS 1996), section 4
//! (backward reachability); Kaiser, Kroening, Wahl: Efficient coverability analysis by proof minimization (CONCUR 2012),
//! for the pruning by what is reachable at all.
//!
//! More threads can do whatever fewer can, so the states from which a failure is reachable are closed upwards: they are
//! those that contain one of finitely many least ones, which are found backwards from the failure. That ends for every
//! program, and is exact, for every number of threads and of rounds.
//!
//! Deviations:
//! 1. Threads of a declared number are counted like the others. That there is one of each is known from where they are: no
//!    two threads are in the code of the same declared one.
//! 2. What is pruned are states with a pair (shared state, place of a thread) that no execution reaches even if every
//!    thread that was ever somewhere may still be there.

use fabius_smt::Limits;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// A shared state and the place of one thread, both as numbers from 0.
pub type Pair = (u32, u32);

/// What threads do.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// From what to what a step of one thread leads.
    pub steps: Vec<[Pair; 2]>,
    /// Where a thread fails.
    pub bad: Vec<Pair>,
    /// The shared states in the beginning: any one of these.
    pub begin: Vec<u32>,
    /// Where any number of threads begin.
    pub any: Vec<u32>,
    /// Where each thread of a declared number begins: at any one of these.
    pub declared: Vec<Vec<u32>>,
}

/// Why nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaveUp {
    /// A limit was hit.
    Stopped,
    /// There were too many least states.
    TooMany,
}

/// Least states at most: what is larger is left to others.
const MOST: usize = 1 << 18;

/// The places of some threads, in order.
type Threads = Vec<u32>;

impl Counted {
    /// Whether some number of threads fails.
    ///
    /// # Errors
    /// [`GaveUp`].
    pub fn fails(&self, limits: &Limits<'_>) -> Result<bool, GaveUp> {
        let search = Search::new(self);
        search.run(limits)
    }
}

struct Search<'a> {
    system: &'a Counted,
    /// The steps that lead to each shared state.
    into: Vec<Vec<[Pair; 2]>>,
    reachable: BTreeSet<Pair>,
    /// The declared thread whose place it is.
    owner: Vec<Option<usize>>,
    /// By shared state: from where a failure is reachable.
    least: Vec<Vec<Threads>>,
    count: usize,
    /// The smallest first.
    todo: BinaryHeap<Reverse<(usize, u32, Threads)>>,
}

impl<'a> Search<'a> {
    fn new(system: &'a Counted) -> Search<'a> {
        let (shared, _) = sizes(system);
        let reachable = reachable(system);
        let mut into = vec![Vec::new(); shared];
        for step in system.steps.iter().filter(|[from, _]| reachable.contains(from)) {
            into[step[1].0 as usize].push(*step);
        }
        let least = vec![Vec::new(); shared];
        Search { system, into, reachable, owner: owners(system), least, count: 0, todo: BinaryHeap::new() }
    }

    fn run(mut self, limits: &Limits<'_>) -> Result<bool, GaveUp> {
        for (shared, place) in &self.system.bad {
            self.add(*shared, vec![*place]);
        }
        while let Some(Reverse((_, shared, threads))) = self.todo.pop() {
            if limits.are_hit() {
                return Err(GaveUp::Stopped);
            }
            if self.count > MOST {
                return Err(GaveUp::TooMany);
            }
            if !self.least[shared as usize].contains(&threads) {
                continue;
            }
            if self.is_initial(shared, &threads) {
                return Ok(true);
            }
            for i in 0..self.into[shared as usize].len() {
                let [from, to] = self.into[shared as usize][i];
                let mut before = threads.clone();
                match before.binary_search(&to.1) {
                    Ok(at) => {
                        before.remove(at);
                    }
                    // Who makes the step is one thread more: nothing new if it changes nothing for the others.
                    Err(_) if from.0 == shared => continue,
                    Err(_) => {}
                }
                let at = before.partition_point(|place| *place < from.1);
                before.insert(at, from.1);
                self.add(from.0, before);
            }
        }
        Ok(false)
    }

    /// Notes a state from which a failure is reachable, if it may be reachable itself and is not known.
    fn add(&mut self, shared: u32, threads: Threads) {
        if !threads.iter().all(|place| self.reachable.contains(&(shared, *place))) {
            return;
        }
        let mut owners: Vec<usize> = threads.iter().filter_map(|place| self.owner[*place as usize]).collect();
        owners.sort_unstable();
        if owners.windows(2).any(|two| two[0] == two[1]) {
            return;
        }
        let least = &mut self.least[shared as usize];
        if least.iter().any(|known| contains(&threads, known)) {
            return;
        }
        let before = least.len();
        least.retain(|known| !contains(known, &threads));
        self.count = self.count + least.len() + 1 - before;
        least.push(threads.clone());
        self.todo.push(Reverse((threads.len(), shared, threads)));
    }

    /// Whether all these threads are where they begin. (Those of a declared number are there once, as everywhere.)
    fn is_initial(&self, shared: u32, threads: &[u32]) -> bool {
        let begins = |place: &u32| {
            self.system.any.contains(place) || self.system.declared.iter().any(|starts| starts.contains(place))
        };
        self.system.begin.contains(&shared) && threads.iter().all(begins)
    }
}

/// Whether there are at least as many threads everywhere as there are of the others. Both are in order.
fn contains(all: &[u32], some: &[u32]) -> bool {
    let mut all = all.iter();
    some.len() <= all.len() && some.iter().all(|place| all.any(|p| p == place))
}

/// How many shared states and places there are.
fn sizes(system: &Counted) -> (usize, usize) {
    let pairs = || system.steps.iter().flatten().chain(&system.bad);
    let shared = pairs().map(|p| p.0).chain(system.begin.iter().copied()).max().map_or(0, |n| n as usize + 1);
    let starts = system.any.iter().chain(system.declared.iter().flatten()).copied();
    (shared, pairs().map(|p| p.1).chain(starts).max().map_or(0, |n| n as usize + 1))
}

/// The pairs that are reachable if a thread may be wherever one has ever been with the same shared state.
pub(crate) fn reachable(system: &Counted) -> BTreeSet<Pair> {
    let (shared, places) = sizes(system);
    let mut of: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); shared];
    let starts: BTreeSet<u32> = system.any.iter().chain(system.declared.iter().flatten()).copied().collect();
    system.begin.iter().for_each(|shared| of[*shared as usize].clone_from(&starts));
    debug_assert!(starts.iter().all(|place| (*place as usize) < places));
    let mut changed = true;
    while changed {
        changed = false;
        for [from, to] in &system.steps {
            if !of[from.0 as usize].contains(&from.1) {
                continue;
            }
            let target = &mut of[to.0 as usize];
            let before = target.len();
            target.insert(to.1);
            if from.0 != to.0 {
                let others = of[from.0 as usize].clone();
                of[to.0 as usize].extend(others);
            }
            changed |= of[to.0 as usize].len() > before;
        }
    }
    of.into_iter().enumerate().flat_map(|(shared, all)| all.into_iter().map(move |p| (shared as u32, p))).collect()
}

/// The declared thread that may be at each place, if it is the only thread that may be.
pub(crate) fn owners(system: &Counted) -> Vec<Option<usize>> {
    let (_, places) = sizes(system);
    let mut next: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); places];
    for [from, to] in &system.steps {
        next[from.1 as usize].insert(to.1);
    }
    let mut may_be: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); places];
    let any = system.declared.len();
    let starts = system.declared.iter().chain([&system.any]).enumerate();
    for (thread, starts) in starts {
        let mut todo: Vec<u32> = starts.clone();
        while let Some(place) = todo.pop() {
            if may_be[place as usize].insert(thread) {
                todo.extend(&next[place as usize]);
            }
        }
    }
    let only = |threads: BTreeSet<usize>| match threads.len() {
        1 => threads.first().copied().filter(|thread| *thread != any),
        _ => None,
    };
    may_be.into_iter().map(only).collect()
}
