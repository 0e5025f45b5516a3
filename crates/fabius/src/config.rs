//! What a check is asked to do.

use fabius_explore::search::{self, Reduction};
use fabius_trace::{Bound, SchedulerKind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How a test is checked. The default: executions in the order of their preemptions, and in turns with that as many without a
/// bound and without what commutes, by one thread, until either has seen them all; when the budget is used up, a number of
/// random ones. There are no turns if the number of executions is given.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) plan: Plan,
    pub(crate) executions: Option<u64>,
    /// Of how many the classes are counted where nothing else needs them.
    pub(crate) classes: u64,
    pub(crate) time: Option<Duration>,
    pub(crate) seed: u64,
    pub(crate) jobs: usize,
    pub(crate) max_steps: u32,
    pub(crate) spurious: bool,
    /// How often operations on atomics may deviate in one execution.
    pub(crate) deviations: u32,
    /// What each of them costs.
    pub(crate) price_of_deviation: u32,
    pub(crate) until: Until,
    pub(crate) leaks: bool,
    pub(crate) panics: bool,
    pub(crate) reduction: Reduction,
    pub(crate) name: Option<String>,
    #[cfg(feature = "traces")]
    pub(crate) saves: bool,
    /// Set when another check of a portfolio has found something.
    pub(crate) cancel: Option<Arc<AtomicBool>>,
}

/// In which order executions are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Iterative preemption bounding and optimal reduction in turns, then random walks.
    Default,
    /// In the order of cost.
    Iterative { bound: Bound, scheduler: SchedulerKind, max: Option<u32> },
    /// All of them.
    Exhaustive,
    /// At random.
    Walks(search::Strategy),
}

/// When a search ends that meets no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// When all executions within the bound have been explored.
    AllIsSeen,
    /// Also when those have been that loom would look at, if the others are many.
    SeenAsByLoom,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            plan: Plan::Default,
            executions: None,
            classes: DEFAULT_CLASSES,
            time: None,
            seed: 0,
            jobs: 1,
            max_steps: 20_000,
            spurious: false,
            deviations: u32::MAX,
            price_of_deviation: 1,
            until: Until::AllIsSeen,
            leaks: false,
            panics: false,
            reduction: Reduction::Adaptive,
            name: None,
            #[cfg(feature = "traces")]
            saves: true,
            cancel: None,
        }
    }
}

/// Executions that the default makes in the order of preemptions, and as many without a bound.
pub(crate) const DEFAULT_EXECUTIONS: u64 = 20_000;

/// Of how many executions the classes are counted, unless told otherwise.
const DEFAULT_CLASSES: u64 = 10_000;

/// Executions at random that the default makes after that, and random strategies unless told otherwise.
pub(crate) const DEFAULT_WALKS: u64 = 2_000;

impl Config {
    /// The default.
    pub fn new() -> Config {
        Config::default()
    }

    /// All executions with at most so many preemptions, the fewest first. A switch away from a thread that waits, has
    /// finished, or has just yielded is no preemption. If many executions come to few classes, those without a bound are looked at
    /// in turns: when all have been and none fails, that is the answer.
    ///
    /// Paper: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007).
    pub fn preemptions(self, max: u32) -> Config {
        self.iterative(Bound::Preemptions, SchedulerKind::Bag, max)
    }

    /// All executions with at most so many delays of a round-robin scheduler, the fewest first. The scheduler goes on with
    /// the thread that ran last as long as that can go on, yields or not, and then with the next one in order of creation;
    /// a delay puts the thread whose turn it is behind the others.
    ///
    /// Paper: Delay-Bounded Scheduling (POPL 2011).
    pub fn delays(self, max: u32) -> Config {
        self.iterative(Bound::Delays, SchedulerKind::RoundRobin, max)
    }

    /// All executions with at most so many delays of the depth-first scheduler, the fewest first.
    ///
    /// Paper: Delay-Bounded Scheduling (POPL 2011).
    pub fn delays_depth_first(self, max: u32) -> Config {
        self.iterative(Bound::Delays, SchedulerKind::DepthFirst, max)
    }

    /// All executions of at most so many steps, the shortest first. A step is one operation and what follows it up to the
    /// next one; the beginning of a thread up to its first operation belongs to the step that spawns it.
    pub fn depth(self, max: u32) -> Config {
        self.iterative(Bound::Depth, SchedulerKind::Bag, max)
    }

    fn iterative(self, bound: Bound, scheduler: SchedulerKind, max: u32) -> Config {
        Config { plan: Plan::Iterative { bound, scheduler, max: Some(max) }, ..self }
    }

    /// All executions in the order of preemptions, without a limit, and in turns with that as many without what commutes,
    /// until either has seen them all. A bug that only the second finds, because the first is cut short, need not have the
    /// fewest preemptions. [`Config::executions`] is of both together.
    pub fn iterative_preemptions(self) -> Config {
        Config { plan: Plan::Iterative { bound: Bound::Preemptions, scheduler: SchedulerKind::Bag, max: None }, ..self }
    }

    /// All executions, up to the order of operations that commute.
    pub fn exhaustive(self) -> Config {
        Config { plan: Plan::Exhaustive, ..self }
    }

    /// So many executions in which every next thread is picked at random.
    pub fn random(self, executions: u64) -> Config {
        self.walks(search::Strategy::Random, executions)
    }

    /// So many executions with random priorities of threads that change at `depth - 1` random points.
    ///
    /// Paper: A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs (ASPLOS 2010).
    pub fn pct(self, depth: u32, executions: u64) -> Config {
        self.walks(search::Strategy::Pct(depth), executions)
    }

    /// So many executions by partial order sampling: the orders of operations that race are equally likely, roughly.
    ///
    /// Paper: Partial Order Aware Concurrency Sampling (CAV 2018).
    pub fn pos(self, executions: u64) -> Config {
        self.walks(search::Strategy::Pos, executions)
    }

    /// So many uniform random walks: threads are picked in proportion to what is left of them, so that all interleavings
    /// are equally likely, roughly.
    ///
    /// Paper: Selectively Uniform Concurrency Testing (ASPLOS 2025).
    pub fn urw(self, executions: u64) -> Config {
        self.walks(search::Strategy::Urw, executions)
    }

    /// So many selectively uniform random walks: the same for the accesses to one variable, another in each execution.
    ///
    /// Paper: Selectively Uniform Concurrency Testing (ASPLOS 2025).
    pub fn surw(self, executions: u64) -> Config {
        self.walks(search::Strategy::Surw, executions)
    }

    fn walks(self, strategy: search::Strategy, executions: u64) -> Config {
        Config { plan: Plan::Walks(strategy), executions: Some(executions), ..self }
    }

    /// At most so many executions in the order of the strategy: with 0 none, and nothing is known. The default then makes none without a bound, and turns to random
    /// ones at once.
    pub fn executions(self, executions: u64) -> Config {
        Config { executions: Some(executions), ..self }
    }

    /// Counts the distinct happens-before relations (with stale reads: execution graphs; [`crate::Report::growth`], and the states of [`crate::Report::levels`]) in so many
    /// executions: the first ones, 10,000 by default, none with 0, and all with `u64::MAX`. To count them takes up to a seventh of the time of executions at
    /// random, within delays, or without reduction; other searches need them, and count all, and so does `compare`.
    pub fn count_classes_in_first(self, executions: u64) -> Config {
        Config { classes: executions, ..self }
    }

    /// At most so long. A step that has not ended two seconds after that, because a loop never comes to an operation or waits
    /// in a lock of std, is given up with its line, and the answer is unknown. Without line tables (`debug = false` in the profile)
    /// what was built into other functions is not told apart, so that the process may have to end instead, with status 101.
    pub fn time(self, time: Duration) -> Config {
        Config { time: Some(time), ..self }
    }

    /// Where random strategies begin.
    pub fn seed(self, seed: u64) -> Config {
        Config { seed, ..self }
    }

    /// So many operating system threads explore at the same time. Tests that use statics need 1, the default.
    pub fn jobs(self, jobs: usize) -> Config {
        Config { jobs: jobs.max(1), ..self }
    }

    /// Steps of one execution after which it counts as endless. 20,000 by default.
    pub fn max_steps(self, max_steps: u32) -> Config {
        Config { max_steps, ..self }
    }

    /// `compare_exchange_weak` may also fail for no reason, which costs nothing: it is an outcome, as of [`crate::any`].
    pub fn spurious_failures(self) -> Config {
        Config { spurious: true, ..self }
    }

    /// At most so many deviations from sequential consistency in one execution. A deviation is a load that finds an older store
    /// though a newer one is there, or a store that takes its place before others: see [`crate::sync::atomic`]. Each costs as
    /// much as a preemption. Without this there is no limit to them but that on the sum.
    pub fn stale(self, most: u32) -> Config {
        Config { deviations: most, ..self }
    }

    /// Deviations from sequential consistency cost nothing: a bound is one on preemptions, delays or depth alone, as loom's is. So there
    /// are more executions within it; [`Config::stale`] limits the deviations apart. Those that have few of either come soon, and so do
    /// those that differ from others near their ends alone: a bug with more preemptions may be found before one with fewer.
    pub fn free_stale_reads(self) -> Config {
        Config { price_of_deviation: 0, ..self }
    }

    /// As [`Config::free_stale_reads`], and what loom leaves out need not be explored to the end. If all else has been and none fails,
    /// and what is left is more than some ten thousand executions, that is the answer, which says so. What loom leaves out, or
    /// nearly: a thread that has given way goes on, or is chosen, though others can go on that have not, or have done so less often (in loom
    /// it waits for one step of another); a load finds a value again that is not the newest
    /// and that its thread found or stored before it gave way; what may store finds a store that is not the newest; a store takes its
    /// place before others; a load behind a `SeqCst` fence finds what is older than what was known ahead of one that came before. Loops
    /// that give way have very many such executions. `FABIUS_STALE_READS=all` in the environment takes this back.
    ///
    /// `fabius-loom` does so by itself.
    pub fn as_loom(self) -> Config {
        Config { until: Until::SeenAsByLoom, ..self.free_stale_reads() }
    }

    /// Every load finds the newest store, and every store comes last, whatever ordering is given. Data races are still judged
    /// by the orderings.
    pub fn sequentially_consistent(self) -> Config {
        self.stale(0)
    }

    /// An `Arc` or a tracked allocation that is alive at the end of an execution is a bug.
    pub fn find_leaks(self) -> Config {
        Config { leaks: true, ..self }
    }

    /// A panic of any thread is a bug, also if nobody joins it, or asks for the result.
    pub fn every_panic_fails(self) -> Config {
        Config { panics: true, ..self }
    }

    /// Explores executions that differ in the order of operations that commute, too.
    pub fn without_reduction(self) -> Config {
        Config { reduction: Reduction::None, ..self }
    }

    /// Within a bound on preemptions, tries who else may go on at a point only where conflicts show that it has to be, from the
    /// first execution on. Otherwise the search begins anew so if many executions come to few classes. Such an execution takes longer,
    /// but there may be far fewer. There are no turns with one without a bound where the bound is given.
    ///
    /// Paper: Bounded Partial-Order Reduction (OOPSLA 2013).
    pub fn persistent_sets(self) -> Config {
        Config { reduction: Reduction::Persistent, ..self }
    }

    /// Saves no trace of a failure. `FABIUS_TRACES=none` in the environment does so for all tests.
    #[cfg(feature = "traces")]
    pub fn save_no_trace(self) -> Config {
        Config { saves: false, ..self }
    }

    /// The name under which the trace of a failure is saved, if it is; by default that of the test.
    pub fn name(self, name: &str) -> Config {
        Config { name: Some(name.to_string()), ..self }
    }
}
