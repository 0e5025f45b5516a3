//! Linear interfaces, computed as relations: what any number of threads make of the shared state, round by round.
//!
//! Paper: Sequentializing Parameterized Programs (2011/12), section 2 (linear interfaces and their composition).
//!
//! The relation of one thread is the summary of the procedure that runs it through all rounds, from any state. Relations
//! of blocks are composed, from the initial state on, until nothing is new; then the rounds must fit together.
//!
//! Deviations:
//! 1. The left block always contains the first thread, so that only what begins in an initial state is composed.
//! 2. Rounds are added one by one: only what the rounds before can end with is a guess of how the next one begins. This is
//!    what laziness (section 3) does for the program.
//! 3. The number of compositions after which a failure is there is the least number of threads that show it.

use super::circuit;
use super::diagram::{Done, Renaming, and_exists, without};
use super::graph::graph;
use super::layout::{Copy, LEAST, Layout, Leaf, count};
use super::reach::{Reach, Stopped};
use super::values::Evaluator;
use super::{Limits, NotSequential, Question, Set, Statistics, WIDEST};
use fabius_lang::program::{GlobalId, ProcId, Program, Type};
use oxidd::{BooleanFunction, BooleanFunctionQuant};
use std::collections::BTreeMap;
use std::time::Instant;

/// What is composed.
#[derive(Clone, Copy, Debug)]
pub struct Threads<'a> {
    /// The program; its `init` runs first.
    pub program: &'a Program,
    /// Each of these runs once, in this order,
    pub declared: &'a [ProcId],
    /// and behind them this, any number of times.
    pub any: ProcId,
    /// Vectors: the shared state in each round.
    pub shared: &'a [GlobalId],
    /// Global: the round in which a thread runs.
    pub round: GlobalId,
    /// Global: an assertion has failed.
    pub failed: GlobalId,
}

/// What was found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Composed {
    /// An assertion fails.
    Fails {
        /// In so many rounds, and in no fewer.
        rounds: u32,
        /// With so many threads of any number, and in so many rounds with no fewer.
        threads: u32,
    },
    /// None fails, however many there are.
    Holds,
    /// A variable of this name has no size, and values need more bits than there are.
    NotFinite(String),
    /// Out of time, or told to stop.
    Stopped,
    /// There is no memory left.
    Memory,
}

/// Composes interfaces until an assertion fails or nothing is new.
///
/// # Errors
/// [`NotSequential`].
pub fn compose(
    threads: &Threads<'_>,
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<(Composed, Statistics), NotSequential> {
    let began = Instant::now();
    let program = threads.program;
    let mut prints = Vec::new();
    let graphs = program.procs.iter().map(|p| graph(p, &mut prints)).collect::<Result<Vec<_>, _>>();
    let graphs = graphs.map_err(NotSequential)?;
    let mut ints = BTreeMap::new();
    let mut statistics = Statistics::default();
    loop {
        let layout = Layout::new(program, &graphs, &ints);
        if let Some(name) = layout.too_wide() {
            return Ok((Composed::NotFinite(name.into()), statistics));
        }
        let names = layout.names.clone();
        // From any state at all, an integer without a size has any value.
        let shared = threads.shared.iter().filter_map(|g| by_round(program, &layout, *g)).flatten().flatten();
        if let Some(leaf) = shared.into_iter().find(|l| layout.widths[*l].is_int) {
            return Ok((Composed::NotFinite(names[leaf].clone()), statistics));
        }
        let mut reach = Reach::new(program, &graphs, layout, Question::Everything, prints.len());
        let outcome = fixed_point(threads, &mut reach, limits, progress);
        let widened = statistics.widened;
        statistics = Statistics { time: began.elapsed(), widened, ..reach.statistics };
        let composed = match outcome {
            Ok(composed) => composed,
            Err(Stopped::TooNarrow(leaves)) => {
                if let Some(leaf) = leaves.iter().find(|l| ints.get(*l).is_some_and(|bits| *bits >= WIDEST)) {
                    return Ok((Composed::NotFinite(names[*leaf].clone()), statistics));
                }
                statistics.widened += 1;
                for leaf in leaves {
                    let bits = ints.entry(leaf).or_insert(LEAST);
                    *bits = (*bits * 2).min(WIDEST);
                }
                continue;
            }
            Err(Stopped::Limit) => Composed::Stopped,
            Err(Stopped::Memory) => Composed::Memory,
        };
        return Ok((composed, statistics));
    }
}

fn fixed_point(
    threads: &Threads<'_>,
    reach: &mut Reach<'_>,
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Composed, Stopped> {
    let procs: Vec<ProcId> = threads.declared.iter().copied().chain([threads.any]).collect();
    let (relations, ends) = reach.relations(&procs, limits, progress)?;
    let (d, layout) = (reach.diagrams(), reach.layout());
    let e = Evaluator { program: threads.program, layout, d, proc: 0 };
    let (Some(failed), Some(round)) = (layout.global(threads.failed), layout.global(threads.round)) else {
        return Ok(Composed::Holds);
    };
    let fails = e.leaf(failed, Copy::Now)?[0].clone();
    if ends.and(&fails)?.satisfiable() {
        return Ok(Composed::Fails { rounds: 1, threads: 0 });
    }
    // Leaves of the shared state, by round.
    let vectors: Vec<Vec<Vec<Leaf>>> =
        threads.shared.iter().filter_map(|g| by_round(threads.program, layout, *g)).collect();
    let count = vectors.first().map_or(1, Vec::len);
    let rounds: Vec<Vec<Leaf>> = (0..count).map(|r| vectors.iter().flat_map(|v| v[r].clone()).collect()).collect();
    let mut possible = d.all.clone();
    for last in 0..count {
        let composition =
            Composition { e: &e, reach, procs: &procs, relations: &relations, failed, round, rounds: &rounds, last };
        let begin = composition.begin(&ends, &possible)?;
        match composition.all(begin, limits)? {
            Ok(all) => {
                progress(&reach.statistics);
                possible = composition.after(&all)?;
            }
            Err(threads) => return Ok(Composed::Fails { rounds: last as u32 + 1, threads }),
        }
    }
    Ok(Composed::Holds)
}

/// Blocks of threads in the rounds up to the last one that is looked at.
struct Composition<'a> {
    e: &'a Evaluator<'a>,
    reach: &'a Reach<'a>,
    procs: &'a [ProcId],
    relations: &'a [Set],
    failed: Leaf,
    round: Leaf,
    rounds: &'a [Vec<Leaf>],
    last: usize,
}

/// What one thread makes of states: pairs (now, next), the variables that are replaced, and how the new ones are renamed.
struct Step {
    relation: Set,
    changed: Vec<Leaf>,
    old: Set,
    renaming: Renaming,
}

impl Step {
    fn from(&self, set: &Set) -> Done<Set> {
        self.renaming.of(&and_exists(set, &self.relation, &self.old)?)
    }
}

impl Composition<'_> {
    fn variables(&self, leaves: &[Leaf], copy: Copy) -> Vec<u32> {
        leaves.iter().flat_map(|l| self.e.layout.variables(*l, copy)).collect()
    }

    /// The shared state in the rounds that are looked at, and whether somebody has failed: all that outlives a thread.
    fn kept(&self) -> Vec<Leaf> {
        self.rounds[..=self.last].iter().flatten().copied().chain([self.failed]).collect()
    }

    fn cube_of_others(&self, copy: Copy) -> Done<Set> {
        let kept = self.kept();
        let others: Vec<Leaf> = (0..self.e.layout.widths.len()).filter(|l| !kept.contains(l)).collect();
        self.e.d.cube(self.variables(&others, copy))
    }

    /// How the rounds begin: the first as the program does, the others as is possible, which the argument keeps.
    fn begin(&self, ends: &Set, possible: &Set) -> Done<Set> {
        let later = self.rounds[1..=self.last].concat();
        let first = ends.exists(&self.cube_of_others(Copy::Now)?)?;
        let mut now = first.exists(&self.e.d.cube(self.variables(&later, Copy::Now))?)?.and(possible)?;
        for leaf in later {
            now = now.and(&self.e.leaf_is(leaf, Copy::Now, &self.e.leaf(leaf, Copy::Argument)?)?)?;
        }
        Ok(now)
    }

    /// Where each round begins as the one before it ends.
    fn fits(&self) -> Done<Set> {
        let pairs = self.rounds[..=self.last].windows(2).flat_map(|pair| pair[0].iter().zip(&pair[1]));
        pairs.map(|(ends, begins)| (*ends, *begins)).try_fold(self.e.d.all.clone(), |all, (ends, begins)| {
            all.and(&self.e.leaf_is(ends, Copy::Now, &self.e.leaf(begins, Copy::Argument)?)?)
        })
    }

    fn step(&self, p: ProcId, relation: &Set) -> Done<Step> {
        let (d, kept) = (self.e.d, self.kept());
        // Only threads that stop in these rounds: what they do later must not count.
        let round = self.e.leaf(self.round, Copy::Next)?;
        let later = circuit::less(d, &circuit::constant(d, self.last as i128), &round)?;
        let relation = without(relation, &later)?;
        let relation = relation.exists(&self.cube_of_others(Copy::Now)?)?.exists(&self.cube_of_others(Copy::Next)?)?;
        let changed = self.reach.changed(p).into_iter().filter(|l| kept.contains(l)).collect();
        Ok(Step { relation, ..self.replaced(changed)? })
    }

    /// A step that does anything to these.
    fn replaced(&self, changed: Vec<Leaf>) -> Done<Step> {
        let (now, next) = (self.variables(&changed, Copy::Now), self.variables(&changed, Copy::Next));
        let (old, renaming) = (self.e.d.cube(now.iter().copied())?, self.e.d.renaming(next.into_iter().zip(now))?);
        Ok(Step { relation: self.e.d.all.clone(), changed, old, renaming })
    }

    /// What any number of threads make of it; or the least number of those of any number with which one fails.
    fn all(&self, begin: Set, limits: &Limits<'_>) -> Result<Result<Set, u32>, Stopped> {
        let fails = self.e.leaf(self.failed, Copy::Now)?.swap_remove(0).and(&self.fits()?)?;
        let steps = self.procs.iter().zip(self.relations).map(|(p, relation)| self.step(*p, relation));
        let mut steps = steps.collect::<Done<Vec<Step>>>()?;
        let any = steps.pop().expect("there is one for any number");
        let declared = steps.iter().try_fold(begin, |now, step| step.from(&now))?;
        let all = self.closure(&declared, &any, limits)?;
        if !all.and(&fails)?.satisfiable() {
            return Ok(Ok(all));
        }
        let mut now = declared;
        for threads in 0.. {
            if now.and(&fails)?.satisfiable() {
                return Ok(Err(threads));
            }
            check(limits)?;
            now = any.from(&now)?;
        }
        unreachable!("some number of threads fails")
    }

    /// Any number of steps. Those of threads that act in few rounds come first: their sets are small, and leave little
    /// to do for the others.
    fn closure(&self, from: &Set, step: &Step, limits: &Limits<'_>) -> Result<Set, Stopped> {
        let mut parts = Vec::new();
        for width in 1..=self.last + 1 {
            for first in 0..=self.last + 1 - width {
                let mut relation = step.relation.clone();
                for leaf in self.rounds[..first].iter().chain(&self.rounds[first + width..=self.last]).flatten() {
                    if step.changed.contains(leaf) {
                        relation =
                            relation.and(&self.e.leaf_is(*leaf, Copy::Next, &self.e.leaf(*leaf, Copy::Now)?)?)?;
                    }
                }
                parts.push(Step { relation, ..self.replaced(step.changed.clone())? });
            }
        }
        let mut all = from.clone();
        loop {
            let before = all.clone();
            for part in &parts {
                let mut fresh = all.clone();
                while fresh.satisfiable() {
                    check(limits)?;
                    fresh = without(&part.from(&fresh)?, &all)?;
                    all = all.or(&fresh)?;
                }
            }
            if all == before {
                return Ok(all);
            }
        }
    }

    /// How the rounds behind the first may begin, if there is one more: what fits so far, and the last one's end.
    fn after(&self, all: &Set) -> Done<Set> {
        let Some(next) = self.rounds.get(self.last + 1) else { return Ok(self.e.d.none.clone()) };
        let ends = &self.rounds[self.last];
        let fit = all.and(&self.fits()?)?;
        // The last round's end becomes the argument of the next one; the rest of what is now is forgotten.
        let now: Vec<Leaf> = self.kept().into_iter().filter(|l| !ends.contains(l)).collect();
        let fit = fit.exists(&self.e.d.cube(self.variables(&now, Copy::Now))?)?;
        let pairs = self.variables(ends, Copy::Now).into_iter().zip(self.variables(next, Copy::Argument));
        self.e.d.renaming(pairs)?.of(&fit)
    }
}

fn check(limits: &Limits<'_>) -> Result<(), Stopped> {
    let past = limits.deadline.is_some_and(|d| Instant::now() >= d);
    let told = limits.stop.load(std::sync::atomic::Ordering::Relaxed);
    if past || told { Err(Stopped::Limit) } else { Ok(()) }
}

/// The leaves of the elements of a vector.
fn by_round(program: &Program, layout: &Layout, g: GlobalId) -> Option<Vec<Vec<Leaf>>> {
    let first = layout.global(g)?;
    let Type::Array { len, element, .. } = &program.globals[g].ty else { return None };
    let size = count(program, element);
    Some((0..*len as usize).map(|i| (first + i * size..first + (i + 1) * size).collect()).collect())
}
