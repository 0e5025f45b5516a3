//! What is asked of a search and what it answers, stateful or stateless.

use crate::race::{Conflict, Race};
use crate::system::{Fault, Limit};
use fabius_trace::{Bound, FairThreads, Formula, Grown, LevelStats, Schedule, SchedulerKind, Span};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How the tree of choices is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// In the order of cost, so that the first bug has the least.
    Iterative,
    /// Depth first, within a fixed limit of cost.
    DepthFirst,
    /// Random walks: uniformly over what may be next.
    Random,
    /// Probabilistic concurrency testing: random priorities with so many points of change.
    Pct(u32),
    /// Partial order sampling: random priorities of events, drawn anew where they race.
    Pos,
    /// Uniform random walk: threads weighted by what is left of them.
    Urw,
    /// Selectively uniform random walk: the same for the accesses to one variable.
    Surw,
}

/// What to search for, within what.
#[derive(Clone, Debug)]
pub struct Options {
    /// What costs something.
    pub bound: Bound,
    /// The largest cost to explore; `None`: no limit.
    pub max: Option<u32>,
    /// The bound of the first level of a stateless search in order: what costs at most so much is explored depth first.
    pub first_level: u32,
    /// The scheduler.
    pub scheduler: SchedulerKind,
    /// How to walk.
    pub strategy: Strategy,
    /// Whether every execution is checked for data races, and which accesses conflict.
    pub races: Option<Conflict>,
    /// Whether a deadlock is a bug.
    pub deadlock: bool,
    /// Whether a fair cycle without progress is a bug.
    pub livelock: bool,
    /// What every fair execution must satisfy.
    pub properties: Vec<(Formula, FairThreads)>,
    /// Number of workers.
    pub jobs: usize,
    /// What a worker is.
    pub workers: Workers,
    /// Bytes for states.
    pub memory: Option<u64>,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// The largest number of executions (stateless search and random strategies).
    pub executions: Option<u64>,
    /// Of how many executions at random, or in stateless search without a reduction, the classes are counted: the first ones.
    pub classes: u64,
    /// Steps after which an execution is given up (stateless search and random strategies).
    pub max_steps: u32,
    /// Which executions stateless search need not repeat.
    pub reduction: Reduction,
    /// Whether states that differ only in what their threads are called are stored as one, where that is sound.
    pub symmetry: bool,
    /// Whether steps are left out that can be made later just as well, or joined to those before, where that is sound.
    pub ample: bool,
    /// Whether outcomes of choices that lead to the same place inside of a step are made once from there on, where that is sound.
    pub merges: bool,
    /// Whether stateless search ends with the first bug, instead of with the shortest of all that cost as little.
    pub at_first_bug: bool,
    /// What it costs that an operation deviates, where anything does.
    pub price_of_deviation: u32,
    /// Seed of random strategies.
    pub seed: u64,
}

impl Default for Options {
    /// Iterative preemption bounding of threads until the space is exhausted.
    fn default() -> Options {
        Options {
            bound: Bound::Preemptions,
            max: None,
            first_level: 0,
            scheduler: SchedulerKind::Bag,
            strategy: Strategy::Iterative,
            races: None,
            deadlock: true,
            livelock: false,
            properties: Vec::new(),
            jobs: 1,
            workers: Workers::default(),
            memory: None,
            deadline: None,
            executions: None,
            classes: u64::MAX,
            max_steps: MAX_STEPS,
            reduction: Reduction::None,
            symmetry: false,
            ample: false,
            merges: true,
            at_first_bug: false,
            price_of_deviation: 1,
            seed: 0,
        }
    }
}

impl Options {
    /// Whether it is enough that who else goes on at a point is tried only if a conflict shows that it has to be.
    pub(crate) fn may_wait_for_conflicts(&self) -> bool {
        self.bound == Bound::Preemptions
            && self.strategy == Strategy::Iterative
            && self.scheduler == SchedulerKind::Bag
            && self.at_first_bug
    }

    /// Whether infinite executions are looked at, which takes the graph of all states.
    pub fn wants_cycles(&self) -> bool {
        self.livelock || !self.properties.is_empty()
    }
}

/// Runs the same work so many times at once, and comes back when all of it is done; the caller does it, too.
#[derive(Clone, Copy, Debug)]
pub struct Workers(pub fn(usize, &(dyn Fn() + Sync)));

impl Default for Workers {
    /// Threads.
    fn default() -> Workers {
        Workers(|jobs, work| {
            std::thread::scope(|scope| {
                let others: Vec<_> = (1..jobs).map(|_| scope.spawn(work)).collect();
                work();
                // To let go of a thread while it ends may crash (glibc before 2.37, bug 19951).
                others.into_iter().for_each(|other| other.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
            });
        })
    }
}

/// Which executions stateless search need not repeat. Only for systems that announce their accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// All are run.
    None,
    /// What follows is explored once for all beginnings of one class: the same steps in the same happens-before relation, or, under
    /// weak memory, in the same execution graph (see `race/classes.rs`).
    Classes,
    /// The same, and who need not go first at a point is not tried there: see `persistent.rs`. Where that is not sound, as [`Reduction::Classes`].
    Persistent,
    /// As [`Reduction::Classes`], until many executions have come to few classes; then the search begins anew, as
    /// [`Reduction::Persistent`].
    Adaptive,
}

/// What a search found out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// A bug, with a schedule that leads to it.
    pub bug: Option<Found>,
    /// What was explored at each bound; the last entry may be unfinished.
    pub levels: Vec<LevelStats>,
    /// The largest cost whose executions were all explored.
    pub completed: Option<u32>,
    /// Whether the bound cut nothing off: every execution was explored.
    pub exhausted: bool,
    /// What cut the search short, if anything did.
    pub cut: Option<Cut>,
    /// Bytes that the states took.
    pub memory: u64,
    /// Final states and what is pending in them, if they were asked for.
    pub finals: u64,
    /// States of which some steps were left out that can be made later just as well, or steps that were joined to those before
    /// ([`Options::ample`]).
    pub reduced: u64,
    /// Distinct classes of executions ([`Reduction::Classes`]) after so many executions (stateless search and random strategies), as long as they are
    /// counted ([`Options::classes`]).
    pub growth: Vec<Grown>,
    /// After how many executions it has begun anew ([`Reduction::Adaptive`]).
    pub anew: Option<u64>,
}

/// A bug and how to get there.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What.
    pub what: Bug,
    /// Cost of the schedule.
    pub cost: u32,
    /// The schedule.
    pub schedule: Schedule,
    /// For each turn, how many delays were spent just before it.
    pub delays: Vec<u32>,
    /// For an infinite execution, the turn at which the cycle begins.
    pub cycle: Option<usize>,
}

/// The kinds of bugs that a search sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A step went wrong.
    Fault(fabius_trace::BugKind, Span),
    /// Nobody can go on, and not everybody has finished.
    Deadlock,
    /// Two accesses that nothing orders.
    Race(Race),
    /// A fair cycle without progress.
    Livelock,
    /// A fair execution that violates the property of this number.
    Property(usize),
    /// In the last state a condition of a property has no value.
    Condition(fabius_trace::BugKind, Span),
}

impl Bug {
    /// Which of several bugs at the same cost and depth is reported.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Bug::Fault(..) => 0,
            Bug::Race(_) => 1,
            Bug::Deadlock => 2,
            Bug::Livelock => 3,
            Bug::Condition(..) => 4,
            Bug::Property(_) => 5,
        }
    }
}

/// What cut a search short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The deadline.
    Time,
    /// The memory limit.
    Memory,
    /// Somebody asked to stop.
    Interrupted,
    /// The number of executions that was asked for is done.
    Executions,
    /// An execution without end was not followed further (stateless search and walks).
    Steps,
    /// The system behaved differently when the same steps were run again.
    Nondeterminism,
    /// All was looked at, and no execution is fair as the properties or the search for livelocks ask: they hold of nothing.
    Unfair,
    /// A limit inside the program was hit on some path, which was not followed further.
    Program(Limit, Span),
}

/// Steps after which stateless search and walks give up an execution, unless they are told otherwise.
pub const MAX_STEPS: u32 = 10_000;

/// How far a search is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// The cost that is being explored.
    pub bound: u32,
    /// Executions finished (stateless search).
    pub executions: u64,
    /// Distinct states so far (stateful search).
    pub states: u64,
    /// Transitions so far.
    pub transitions: u64,
    /// States waiting to be explored.
    pub frontier: u64,
    /// Steps of the execution or state being explored.
    pub depth: u32,
    /// Bytes that the states take.
    pub memory: u64,
    /// Since the beginning.
    pub elapsed: Duration,
}

/// What a search reports to and asks of its caller from time to time.
pub struct Monitor<'a> {
    /// Set from outside to end the search.
    pub stop: &'a std::sync::atomic::AtomicBool,
    /// Called a few times a second.
    pub progress: &'a (dyn Fn(&Progress) + Sync),
}

impl Monitor<'_> {
    /// What ends the search by now, if anything does; the clock says when that is, where there is a limit, and may not be looked at.
    pub fn cut(&self, options: &Options, clock: impl FnOnce() -> Option<Instant>) -> Option<Cut> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(Cut::Interrupted);
        }
        let is_up = |deadline| clock().is_some_and(|now| now >= deadline);
        options.deadline.is_some_and(is_up).then_some(Cut::Time)
    }
}

impl Cut {
    /// Whether nothing more can be looked at.
    pub fn is_final(self) -> bool {
        matches!(self, Cut::Time | Cut::Memory | Cut::Interrupted)
    }

    /// The limit that a fault names, if it is not a bug.
    pub fn of_fault(fault: Fault) -> Result<(fabius_trace::BugKind, Span), Cut> {
        match fault {
            Fault::Bug(kind, span) => Ok((kind, span)),
            Fault::Limit(limit, span) => Err(Cut::Program(limit, span)),
        }
    }
}
