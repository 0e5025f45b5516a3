//! How executions are run.

use std::time::Instant;

/// What becomes visible only if a test looks at it. A check begins without any; when an operation of the test looks, the
/// check begins anew with that refinement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refine(pub u16);

impl Refine {
    /// `try_lock` and the like see that something was released in the middle of another operation.
    pub const RELEASES: Refine = Refine(1);
    /// Reference counts are read, or the last owner does shared operations when it drops the value.
    pub const COUNTS: Refine = Refine(2);
    /// `is_finished` sees the end of a thread.
    pub const ENDS: Refine = Refine(4);
    /// Tracked cells are accessed: data races are looked for.
    pub const RACES: Refine = Refine(8);
    /// Threads give way: repetition is recognized.
    pub const YIELDS: Refine = Refine(16);
    /// Threads wait for notifications, and release a lock in the same step.
    pub const WAITS: Refine = Refine(32);
    /// An ordering is weaker than sequentially consistent: operations on atomics may deviate. Goes with [`Refine::RACES`].
    pub const WEAK: Refine = Refine(64);
    /// `try_send` sees whether a receiver waits where a channel has no room.
    pub const RECEIVERS: Refine = Refine(128);
    /// It is asked whether there are weak references.
    pub const WEAK_COUNTS: Refine = Refine(256);
    /// A handle is dropped: whether its thread has ended says who drops the result.
    pub const RESULTS: Refine = Refine(512);
    /// It is asked who is told apart at a barrier.
    pub const LEADERS: Refine = Refine(1024);
    /// What rounds of loops leave on stacks is not always the same though they do the same (`repetition.rs`, 10).
    pub const REMAINS: Refine = Refine(2048);

    pub fn contains(self, other: Refine) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn with(self, other: Refine) -> Refine {
        Refine(self.0 | other.0)
    }

    pub fn without(self, other: Refine) -> Refine {
        Refine(self.0 & !other.0)
    }
}

/// What a search does not try that looks for bugs beside another one, which tries all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LeavesOut {
    #[default]
    Nothing,
    /// What brings no news: a thread that has given way leaves it to others that can go on to make a step, and finds no store again
    /// that it made or found before, unless it is the newest; what may store finds the newest; and who has made a sequentially
    /// consistent fence finds nothing older than what was known ahead of those that came before. With a reduction more than that may be left out: who made the last step is not in a class.
    NoNews,
    /// The same of what is found; and all turns of a thread that has given way as long as another can go on that has not, or that
    /// has given way less often. All of this is a matter of the class, so that nothing else is left out.
    NoNewsAndTurns,
}

/// How executions are run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub refine: Refine,
    /// Whether every operation is written down.
    pub record: bool,
    /// How often operations on atomics may deviate in one execution: a load finds an older store, a store takes its place
    /// before others.
    pub deviations: u32,
    pub leaves_out: LeavesOut,
    /// Whether weak compare-and-exchange may fail for no reason.
    pub spurious: bool,
    /// Whether what is not given back at the end is a bug.
    pub leaks: bool,
    /// Whether a panic of any thread is a bug.
    pub panics: bool,
    /// Whether what has not finished is unwound, instead of being run to its end.
    pub unwinds: bool,
    /// Steps after which an execution counts as endless.
    pub max_steps: u32,
    /// When the check must end, also within a step.
    pub deadline: Option<Instant>,
}

impl Settings {
    /// Whether the explorer is told which stores operations on atomics find, so that a class is an execution graph (`race/classes.rs`,
    /// deviation 3). Where there is a limit on deviations alone, two ways to one graph are not equally good: one has deviated more often.
    pub fn has_histories(&self) -> bool {
        self.refine.contains(Refine::WEAK) && self.deviations == u32::MAX
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            refine: Refine::default(),
            record: false,
            deviations: 0,
            leaves_out: LeavesOut::Nothing,
            spurious: false,
            leaks: false,
            panics: false,
            unwinds: false,
            max_steps: u32::MAX,
            deadline: None,
        }
    }
}
