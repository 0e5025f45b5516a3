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
//! 4. A deadlock is a failure, too: in the end all threads have finished or are stuck, in a state that is guessed beforehand.

use super::circuit;
use super::diagram::{Diagrams, Done, Renaming, and_exists, without};
use super::layout::{Copy, Layout, Leaf, count};
use super::reach::{Reach, Stopped};
use super::values::Evaluator;
use super::{GaveUp, NotSequential, Question, Set, Statistics, sequential, with_enough_bits};
use fabius_lang::program::{GlobalId, ProcId, Program, Type};
use fabius_smt::Limits;
use oxidd::{BooleanFunction, BooleanFunctionQuant};
use std::collections::BTreeSet;

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
    /// Where threads wait, and it is asked whether for ever.
    pub waits: Option<&'a Waits>,
}

/// The globals that say who waits for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    /// Some thread does.
    pub stuck: GlobalId,
    /// Some thread could go on, and does not.
    pub dropped: GlobalId,
    /// Vectors that are waited for, and what each is guessed to be in the end.
    pub last: Vec<(GlobalId, GlobalId)>,
}

/// What was found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Composed {
    /// An assertion fails, or all that have not finished wait for ever.
    Fails {
        /// In so many rounds, and in no fewer.
        rounds: u32,
        /// With so many threads of any number, and in so many rounds with no fewer.
        threads: u32,
    },
    /// None fails, however many there are.
    Holds,
}

/// Composes interfaces until an assertion fails or nothing is new, with so many nodes of diagrams.
///
/// # Errors
/// [`NotSequential`].
pub fn compose(
    threads: &Threads<'_>,
    nodes: usize,
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<(Result<Composed, GaveUp>, Statistics), NotSequential> {
    let program = threads.program;
    let mut prints = Vec::new();
    let graphs = sequential(program, &mut prints)?;
    Ok(with_enough_bits(program, &graphs, |layout| {
        // From any state at all, an integer without a size has any value: no bits are enough.
        let shared = threads.shared.iter().filter_map(|g| by_round(program, &layout, *g)).flatten().flatten();
        let endless: BTreeSet<Leaf> = shared.filter(|l| layout.widths[*l].is_int).collect();
        if !endless.is_empty() {
            return (Err(Stopped::TooNarrow(endless)), Statistics::default());
        }
        let Some(d) = Diagrams::new(layout.bits * 4, nodes) else {
            return (Err(Stopped::Memory), Statistics::default());
        };
        let mut reach = Reach::new(program, &graphs, layout, d, Question::Everything, prints.len());
        (fixed_point(threads, &mut reach, limits, progress), reach.statistics)
    }))
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
    let ends_in = threads.waits.and_then(|waits| ends_in(threads.program, layout, waits));
    let mut possible = d.all.clone();
    for last in 0..count {
        let composition = Composition {
            e: &e,
            reach,
            procs: &procs,
            relations: &relations,
            failed,
            ends_in: ends_in.as_ref(),
            round,
            rounds: &rounds,
            last,
            limits,
        };
        let begin = composition.begin(&ends, &possible)?;
        match composition.all(begin)? {
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
    ends_in: Option<&'a EndsIn>,
    round: Leaf,
    rounds: &'a [Vec<Leaf>],
    last: usize,
    limits: &'a Limits<'a>,
}

/// The leaves that say who waits for ever.
struct EndsIn {
    stuck: Leaf,
    dropped: Option<Leaf>,
    /// By round: what is waited for, and what it is in the end.
    last: Vec<Vec<(Leaf, Leaf)>>,
}

/// `None` if nobody ever does.
fn ends_in(program: &Program, layout: &Layout, waits: &Waits) -> Option<EndsIn> {
    let stuck = layout.global(waits.stuck)?;
    let pairs = |(x, last): &(GlobalId, GlobalId)| -> Option<Vec<Vec<(Leaf, Leaf)>>> {
        let first = layout.global(*last)?;
        Some(
            by_round(program, layout, *x)?
                .into_iter()
                .map(|leaves| leaves.into_iter().zip(first..).collect())
                .collect(),
        )
    };
    let by_variable: Vec<_> = waits.last.iter().filter_map(pairs).collect();
    let rounds = by_variable.iter().map(Vec::len).max().unwrap_or(0);
    let last = (0..rounds).map(|r| by_variable.iter().flat_map(|v| v[r].clone()).collect()).collect();
    Some(EndsIn { stuck, dropped: layout.global(waits.dropped), last })
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
    fn go_on(&self) -> Result<(), Stopped> {
        if self.limits.are_hit() { Err(Stopped::Limit) } else { Ok(()) }
    }

    fn variables(&self, leaves: &[Leaf], copy: Copy) -> Vec<u32> {
        leaves.iter().flat_map(|l| self.e.layout.variables(*l, copy)).collect()
    }

    /// The shared state in the rounds that are looked at, whether somebody has failed, and who waits for ever: all that
    /// outlives a thread.
    fn kept(&self) -> Vec<Leaf> {
        let waits = self.ends_in.iter().flat_map(|ends| {
            let last = ends.last.first().into_iter().flatten().map(|(_, last)| *last);
            last.chain([ends.stuck]).chain(ends.dropped)
        });
        self.rounds[..=self.last].iter().flatten().copied().chain([self.failed]).chain(waits).collect()
    }

    /// Where an assertion has failed, or all who have not finished are stuck in the last state.
    fn fails(&self) -> Done<Set> {
        let flag = |leaf: Leaf| Ok(self.e.leaf(leaf, Copy::Now)?.swap_remove(0));
        let failed = flag(self.failed)?;
        let Some(ends) = self.ends_in else { return Ok(failed) };
        let mut deadlock = flag(ends.stuck)?;
        if let Some(dropped) = ends.dropped {
            deadlock = without(&deadlock, &flag(dropped)?)?;
        }
        for (now, last) in ends.last.get(self.last).into_iter().flatten() {
            deadlock = deadlock.and(&self.e.leaf_is(*now, Copy::Now, &self.e.leaf(*last, Copy::Now)?)?)?;
        }
        failed.or(&deadlock)
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
    fn all(&self, begin: Set) -> Result<Result<Set, u32>, Stopped> {
        let fails = self.fails()?.and(&self.fits()?)?;
        let steps = self.procs.iter().zip(self.relations).map(|(p, relation)| self.step(*p, relation));
        let mut steps = steps.collect::<Done<Vec<Step>>>()?;
        let any = steps.pop().expect("there is one for any number");
        let declared = steps.iter().try_fold(begin, |now, step| step.from(&now))?;
        let all = self.closure(&declared, &any)?;
        if !all.and(&fails)?.satisfiable() {
            return Ok(Ok(all));
        }
        let mut now = declared;
        for threads in 0.. {
            if now.and(&fails)?.satisfiable() {
                return Ok(Err(threads));
            }
            self.go_on()?;
            now = any.from(&now)?;
        }
        unreachable!("some number of threads fails")
    }

    /// Any number of steps. Those of threads that act in few rounds come first: their sets are small, and leave little
    /// to do for the others.
    fn closure(&self, from: &Set, step: &Step) -> Result<Set, Stopped> {
        let mut parts = Vec::new();
        for width in 1..=self.last + 1 {
            for first in 0..=self.last + 1 - width {
                self.go_on()?;
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
                    self.go_on()?;
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

/// The leaves of the elements of a vector.
fn by_round(program: &Program, layout: &Layout, g: GlobalId) -> Option<Vec<Vec<Leaf>>> {
    let first = layout.global(g)?;
    let Type::Array { len, element, .. } = &program.globals[g].ty else { return None };
    let size = count(program, element);
    Some((0..*len as usize).map(|i| (first + i * size..first + (i + 1) * size).collect()).collect())
}
