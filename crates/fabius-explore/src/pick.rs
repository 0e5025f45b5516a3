//! How random strategies pick the next thread.
//!
//! Paper: A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs (ASPLOS 2010), for [`Strategy::Pct`].
//! Paper: Partial Order Aware Concurrency Sampling (CAV 2018), Algorithm 2, for [`Strategy::Pos`].
//! Paper: Selectively Uniform Concurrency Testing (ASPLOS 2025), sections 3 and 4, for [`Strategy::Urw`] and
//! [`Strategy::Surw`].
//!
//! Deviations:
//! 1. The length of executions, over which PCT spreads its points of change, and the events of each thread, which URW and
//!    SURW weigh threads by, are those of a few uniform walks before, not given by the user.
//! 2. Threads are task buffers; the choice among the tasks of one buffer, and all data choices, are uniform.
//! 3. SURW's interesting events are, in each run, the accesses to one variable that several threads access, picked at
//!    random. A thread that is not known from the walks before has weight 1.
//!    Whose access comes next is drawn again when a thread is born: before, it was nobody's choice.
//! 4. Where the accesses of steps are not announced, POS and SURW see none and are uniform.

use crate::dispatcher::Move;
use crate::execution::Execution;
use crate::priorities::{Falling, Priorities};
use crate::scheduler::Pick;
use crate::search::Strategy;
use crate::system::{Access, BufferId, DECLARED_BUFFER, Dice, Plan, System};
use std::collections::BTreeMap;

/// What the walks before have shown.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Steps of the longest.
    length: u32,
    /// Steps of each thread by its number of creation, the most of all walks.
    steps: Vec<u32>,
    /// For each variable, the accesses of each thread.
    variables: BTreeMap<u64, Vec<u32>>,
}

/// Whether a strategy needs to know something.
pub(crate) fn needs_scouts(strategy: Strategy) -> bool {
    matches!(strategy, Strategy::Pct(_) | Strategy::Urw | Strategy::Surw)
}

fn count(counts: &mut Vec<u32>, thread: usize, more: u32) {
    if thread >= counts.len() {
        counts.resize(thread + 1, 0);
    }
    counts[thread] += more;
}

fn at_least(most: &mut Vec<u32>, counts: &[u32]) {
    most.resize(most.len().max(counts.len()), 0);
    most.iter_mut().zip(counts).for_each(|(most, count)| *most = (*most).max(*count));
}

impl Known {
    pub fn learn(&mut self, seen: &Seen) {
        self.length = self.length.max(seen.taken.iter().sum());
        at_least(&mut self.steps, &seen.taken);
        for (variable, counts) in &seen.accesses {
            at_least(self.variables.entry(*variable).or_default(), counts);
        }
    }

    /// The variables that several threads access.
    fn shared(&self) -> Vec<u64> {
        let several = |counts: &Vec<u32>| counts.iter().filter(|c| **c > 0).count() > 1;
        self.variables.iter().filter(|(_, counts)| several(counts)).map(|(variable, _)| *variable).collect()
    }
}

/// What one run has shown so far.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Steps of each thread by its number of creation.
    taken: Vec<u32>,
    /// For each variable, the accesses of each thread.
    accesses: BTreeMap<u64, Vec<u32>>,
}

/// Picks in one run.
pub(crate) struct Picker<'a> {
    strategy: Strategy,
    known: &'a Known,
    rng: fastrand::Rng,
    /// Whether accesses are counted.
    pub watches: bool,
    pub seen: Seen,
    /// PCT, POS: priorities of threads.
    priorities: Priorities,
    /// SURW: the variable, and whose access to it comes next.
    interesting: Option<u64>,
    intended: Option<usize>,
    /// SURW: the number of the youngest thread when that was drawn.
    youngest: usize,
    /// Memory for the next pick.
    picks: Vec<Pick>,
}

/// Memory of a picker, for the next one.
#[derive(Default)]
pub(crate) struct PickerMemory {
    priorities: Priorities,
    picks: Vec<Pick>,
}

impl<'a> Picker<'a> {
    pub fn new(strategy: Strategy, known: &'a Known, mut rng: fastrand::Rng, memory: PickerMemory) -> Picker<'a> {
        let PickerMemory { mut priorities, picks } = memory;
        let depth = if let Strategy::Pct(depth) = strategy { depth } else { 1 };
        priorities.begin((1..depth).map(|_| rng.u32(1..=known.length.max(1))));
        let shared = if strategy == Strategy::Surw { known.shared() } else { Vec::new() };
        let interesting = if shared.is_empty() { None } else { Some(shared[rng.usize(..shared.len())]) };
        Picker {
            strategy,
            known,
            rng,
            watches: strategy == Strategy::Surw,
            seen: Seen::default(),
            priorities,
            picks,
            interesting,
            intended: None,
            youngest: 0,
        }
    }

    /// The memory, for the next run.
    pub fn into_memory(self) -> PickerMemory {
        PickerMemory { priorities: self.priorities, picks: self.picks }
    }

    /// One of the moves, all of which run a task.
    pub fn pick<S: System>(&mut self, moves: &[Move], run: &Execution<'_, '_, S>) -> Move {
        let alone = self.alone(moves, run);
        if self.strategy == Strategy::Random && !self.watches {
            // Where the system draws, it draws nothing for one alone.
            let alone = alone.or_else(|| (moves.len() == 1 && run.plans_ahead()).then_some(0));
            return moves[alone.unwrap_or_else(|| self.rng.usize(..moves.len()))];
        }
        let mut picks = std::mem::take(&mut self.picks);
        picks.clear();
        picks.extend(moves.iter().filter_map(|m| match m {
            Move::Run(pick) => Some(*pick),
            Move::Delay(_) => None,
        }));
        let number = |p: &Pick| run.number_of(p.task).unwrap_or(0) as usize;
        let at = match self.strategy {
            _ if alone.is_some() => alone.unwrap_or(0),
            Strategy::Pct(_) => self.by_priority(&picks, run),
            Strategy::Pos => self.by_partial_order(&picks, run),
            Strategy::Urw => {
                let (done, rng) = (&self.seen.taken, &mut self.rng);
                weighted(rng, || picks.iter().map(|p| left(&self.known.steps, done, number(p))))
            }
            Strategy::Surw => self.selectively(&picks, run),
            _ => self.rng.usize(..picks.len()),
        };
        let thread = number(&picks[at]);
        count(&mut self.seen.taken, thread, 1);
        if self.watches
            && let Some(access) = run.announced(picks[at].task)
        {
            count(self.seen.accesses.entry(access.variable).or_default(), thread, 1);
        }
        let picked = picks[at];
        self.picks = picks;
        Move::Run(picked)
    }

    /// Who makes the steps after a move, as far as that can be said before. What it is decided by must be put back.
    pub fn plan<S: System>(&mut self, run: &Execution<'_, '_, S>) -> Option<Plan<'static>> {
        if self.watches || !run.plans_ahead() {
            return None;
        }
        match self.strategy {
            Strategy::Random => Some(Plan::Drawn(self.rng.clone())),
            Strategy::Pct(_) => {
                let priorities = std::mem::take(&mut self.priorities);
                Some(Plan::Highest(Falling::new(priorities, self.rng.clone(), run.steps() + 1)))
            }
            _ => None,
        }
    }

    /// What steps were decided by, as it is after them.
    pub fn put_back(&mut self, dice: Option<Dice>, falling: Option<Falling>) {
        if let Some(dice) = dice {
            self.rng = dice;
        }
        if let Some(Falling { priorities, dice, .. }) = falling {
            (self.priorities, self.rng) = (priorities, dice);
        }
    }

    /// A step that touches nothing that another could see: it may as well be made at once, and nothing is decided.
    fn alone<S: System>(&self, moves: &[Move], run: &Execution<'_, '_, S>) -> Option<usize> {
        run.announces().then(|| {
            moves.iter().position(|m| match m {
                Move::Run(pick) => run.announced(pick.task).is_none(),
                Move::Delay(_) => false,
            })
        })?
    }

    fn by_priority<S: System>(&mut self, picks: &[Pick], run: &Execution<'_, '_, S>) -> usize {
        let (step, plans) = (run.steps(), run.plans_ahead());
        // Where steps are made by a plan, one that can go on alone needs no priority until it falls.
        if picks.len() == 1 && plans && !self.priorities.changes_at(step) {
            return 0;
        }
        let chosen = self.priorities.pick(buffers(picks), step, &mut self.rng);
        // Of several tasks of one buffer, the last.
        let highest = picks.iter().rposition(|pick| pick.buffer == chosen).expect("it is one of them");
        if chosen < DECLARED_BUFFER {
            if !plans {
                // Draws a number as where there are several tasks; steps that are made by a plan draw none.
                self.rng.usize(..1);
            }
            return highest;
        }
        let tasks = || (0..picks.len()).filter(|at| picks[*at].buffer == chosen);
        tasks().nth(self.rng.usize(..tasks().count())).unwrap_or(highest)
    }

    fn by_partial_order<S: System>(&mut self, picks: &[Pick], run: &Execution<'_, '_, S>) -> usize {
        self.priorities.give(buffers(picks), &mut self.rng);
        let highest = self.priorities.highest(buffers(picks));
        let chosen = picks.iter().rposition(|pick| pick.buffer == highest).expect("it is one of them");
        let access = run.announced(picks[chosen].task);
        let races = |other: Option<Access>| match (access, other) {
            (Some(a), Some(b)) => a.variable == b.variable && (a.write || b.write),
            _ => false,
        };
        // The next event of the thread, and those that raced with this one, draw anew.
        for (at, pick) in picks.iter().enumerate() {
            if at == chosen || races(run.announced(pick.task)) {
                *self.priorities.of(pick.buffer) = 0;
            }
        }
        chosen
    }

    fn selectively<S: System>(&mut self, picks: &[Pick], run: &Execution<'_, '_, S>) -> usize {
        let Some(variable) = self.interesting else { return self.rng.usize(..picks.len()) };
        let number = |p: &Pick| run.number_of(p.task).unwrap_or(0) as usize;
        let is_interesting = |p: &Pick| run.announced(p.task).is_some_and(|a| a.variable == variable);
        let (known, empty) = (self.known.variables.get(&variable), Vec::new());
        let before = self.youngest;
        self.youngest = picks.iter().map(number).fold(before, usize::max);
        let is_born = self.youngest > before;
        if is_born || self.intended.is_none_or(|t| !picks.iter().any(|p| number(p) == t)) {
            let done = self.seen.accesses.get(&variable).unwrap_or(&empty);
            let of = |p: &Pick| left(known.unwrap_or(&empty), done, number(p));
            self.intended = Some(number(&picks[weighted(&mut self.rng, || picks.iter().map(of))]));
        }
        let may =
            || (0..picks.len()).filter(|at| !is_interesting(&picks[*at]) || Some(number(&picks[*at])) == self.intended);
        let at = match may().count() {
            0 => self.rng.usize(..picks.len()),
            several => may().nth(self.rng.usize(..several)).unwrap_or(0),
        };
        if is_interesting(&picks[at]) {
            self.intended = None;
        }
        at
    }
}

/// Whose tasks they are.
fn buffers(picks: &[Pick]) -> impl Iterator<Item = BufferId> + Clone {
    picks.iter().map(|pick| pick.buffer)
}

/// How much a thread is expected to do still; at least 1.
fn left(known: &[u32], done: &[u32], thread: usize) -> u32 {
    let of = |counts: &[u32]| counts.get(thread).copied().unwrap_or(0);
    of(known).saturating_sub(of(done)).max(1)
}

/// One of the numbers of weights, by their weights.
fn weighted<I: Iterator<Item = u32>>(rng: &mut fastrand::Rng, weights: impl Fn() -> I) -> usize {
    let mut ticket = rng.u32(..weights().sum::<u32>());
    let wins = |weight: u32| {
        let wins = ticket < weight;
        ticket = ticket.wrapping_sub(weight);
        wins
    };
    weights().position(wins).expect("the ticket is below the sum")
}
