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
use crate::scheduler::Pick;
use crate::search::Strategy;
use crate::system::{Access, BufferId, DECLARED_BUFFER, Plan, System, number_of_declared};
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
    /// PCT: steps at which the thread that would go on falls to the lowest priority so far, the next one last.
    changes: Vec<u32>,
    low: u64,
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
    changes: Vec<u32>,
    picks: Vec<Pick>,
}

/// Of threads and buffers; 0: none yet.
#[derive(Default)]
struct Priorities {
    threads: Vec<u64>,
    declared: Vec<u64>,
}

impl Priorities {
    #[inline]
    fn of(&mut self, buffer: BufferId) -> &mut u64 {
        let (of, at) = match number_of_declared(buffer) {
            Some(number) => (&mut self.declared, number as usize),
            None => (&mut self.threads, buffer as usize),
        };
        if at >= of.len() {
            of.resize(at + 1, 0);
        }
        &mut of[at]
    }
}

impl<'a> Picker<'a> {
    pub fn new(strategy: Strategy, known: &'a Known, mut rng: fastrand::Rng, memory: PickerMemory) -> Picker<'a> {
        let PickerMemory { mut priorities, mut changes, picks } = memory;
        changes.clear();
        priorities.threads.clear();
        priorities.declared.clear();
        if let Strategy::Pct(depth) = strategy {
            changes.extend((1..depth).map(|_| rng.u32(1..=known.length.max(1))));
            changes.sort_unstable_by(|a, b| b.cmp(a));
        }
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
            changes,
            low: 1 << 20,
            interesting,
            intended: None,
            youngest: 0,
        }
    }

    /// The memory, for the next run.
    pub fn into_memory(self) -> PickerMemory {
        PickerMemory { priorities: self.priorities, changes: self.changes, picks: self.picks }
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

    /// Who makes the steps after a move, as far as that can be said before, and how many of them.
    pub fn plan<S: System>(&self, run: &Execution<'_, '_, S>) -> Option<(Plan<'_>, u32)> {
        if self.watches || !run.plans_ahead() {
            return None;
        }
        match self.strategy {
            Strategy::Random => Some((Plan::Drawn(self.rng.clone()), u32::MAX)),
            // It stays as it is until the next point of change.
            Strategy::Pct(_) => {
                let change = self.changes.last().map_or(u32::MAX, |change| change.saturating_sub(run.steps() + 1));
                Some((Plan::Highest(&self.priorities.threads), change))
            }
            _ => None,
        }
    }

    /// The dice as they are after steps that were drawn.
    pub fn put_back(&mut self, dice: fastrand::Rng) {
        self.rng = dice;
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

    fn highest(&mut self, picks: &[Pick]) -> usize {
        let priority = |at: &usize| (*self.priorities.of(picks[*at].buffer), picks[*at].buffer);
        (0..picks.len()).max_by_key(priority).expect("there is a move")
    }

    fn give_priorities(&mut self, picks: &[Pick]) {
        for pick in picks {
            let priority = self.priorities.of(pick.buffer);
            if *priority == 0 {
                *priority = (1 << 21) + self.rng.u64(..1 << 40);
            }
        }
    }

    fn by_priority<S: System>(&mut self, picks: &[Pick], run: &Execution<'_, '_, S>) -> usize {
        let (step, plans) = (run.steps(), run.plans_ahead());
        // Where steps are made by a plan, one that can go on alone needs no priority until it falls.
        if picks.len() == 1 && plans && self.changes.last().is_none_or(|change| *change > step) {
            return 0;
        }
        self.give_priorities(picks);
        while self.changes.last().is_some_and(|change| *change <= step) {
            let change = self.changes.pop();
            while change.is_some() && self.changes.last().copied() == change {
                self.changes.pop();
            }
            self.low -= 1;
            let falls = picks[self.highest(picks)].buffer;
            *self.priorities.of(falls) = self.low;
        }
        let highest = self.highest(picks);
        let chosen = picks[highest].buffer;
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
        self.give_priorities(picks);
        let chosen = self.highest(picks);
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
