//! What is asked of a verification, and what it answers.

use crate::Report;
use fabius_lang::program::Program;
use fabius_sequential::bmc::{Depth, Statistics};
use fabius_smt::SolverChoice;
use fabius_trace::{Bound, Reason, SchedulerKind};
use fabius_translate::linear_interface::{Deadlocks, is_parameterized};
use fabius_translate::{Caps, Sliced, Unsupported};
use std::time::Duration;

/// The largest bound of any kind.
pub const MOST: u32 = 64;

/// Which executions are translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequentialization {
    /// Those of the depth-first scheduler with so many delays.
    Delays(u32),
    /// Those of the round-robin scheduler with so many delays, in so many rounds over the threads.
    RoundRobin {
        /// Delays.
        delays: u32,
        /// Rounds, which matter where somebody waits.
        rounds: u32,
    },
    /// Those of so many rounds over the threads.
    Rounds(u32),
    /// Those of so many rounds over the threads, however many there are of each process of any number.
    AnyThreads(u32),
    /// Those of so many rounds over the task buffers (`zields`), and so many rounds of yields whenever a level is active.
    Buffers {
        /// Rounds over the buffers.
        zields: u32,
        /// Rounds inside of a level.
        yields: u32,
    },
}

/// Who decides the sequential program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Linear interfaces for any number of threads with finite data, otherwise bounded model checking.
    #[default]
    Automatic,
    /// Bounded model checking: data of any kind, loops and calls followed as far as the plan says.
    Bmc,
    /// Procedure summaries with decision diagrams: finite data, exact.
    Summaries,
    /// Linear interfaces as relations: any number of threads, finite data, exact.
    Interfaces,
    /// Horn clauses, solved by z3: data of any kind, loops and calls without a bound.
    Horn,
    /// Recursion without a bound, any number of contexts: a number of threads that is fixed, finite data. Bugs
    /// have the fewest contexts.
    Convergence,
}

impl Sequentialization {
    /// Two rounds of any number of threads, where a process is declared so. Three rounds of threads (then `init` may wait for two others that interrupt each other); or two rounds of task
    /// buffers, if there are several, and of yields.
    pub fn default_for(program: &Program) -> Sequentialization {
        if is_parameterized(program) {
            return Sequentialization::AnyThreads(2);
        }
        match (program.has_buffers(), program.has_single_buffer()) {
            (false, _) => Sequentialization::Rounds(3),
            (true, true) => Sequentialization::Buffers { zields: 1, yields: 2 },
            (true, false) => Sequentialization::Buffers { zields: 2, yields: 2 },
        }
    }

    /// What is bounded, in the terms of exploration.
    pub fn cost(self) -> (Bound, SchedulerKind) {
        match self {
            Sequentialization::Delays(_) => (Bound::Delays, SchedulerKind::DepthFirst),
            Sequentialization::RoundRobin { .. } => (Bound::Delays, SchedulerKind::RoundRobin),
            _ => (Bound::Rounds, SchedulerKind::Bag),
        }
    }

    /// The largest cost of its schedules.
    pub fn most(self) -> u32 {
        match self {
            Sequentialization::Delays(k) | Sequentialization::RoundRobin { delays: k, .. } => k,
            Sequentialization::Rounds(k)
            | Sequentialization::AnyThreads(k)
            | Sequentialization::Buffers { zields: k, .. } => k.saturating_sub(1),
        }
    }

    /// The same kind with the largest bounds there are.
    pub fn widest(self) -> Sequentialization {
        match self {
            Sequentialization::Delays(_) => Sequentialization::Delays(MOST),
            Sequentialization::RoundRobin { .. } => Sequentialization::RoundRobin { delays: MOST, rounds: MOST },
            Sequentialization::Rounds(_) => Sequentialization::Rounds(MOST),
            Sequentialization::AnyThreads(_) => Sequentialization::AnyThreads(MOST),
            Sequentialization::Buffers { .. } => Sequentialization::Buffers { zields: MOST, yields: MOST },
        }
    }

    /// The same kind with bounds that are `by` above the least, as far as these allow.
    pub(crate) fn raised(self, by: u32) -> Sequentialization {
        let rounds = |most: u32| most.min(by + 1);
        match self {
            Sequentialization::Delays(most) => Sequentialization::Delays(most.min(by)),
            Sequentialization::RoundRobin { delays, rounds } => {
                Sequentialization::RoundRobin { delays: delays.min(by), rounds }
            }
            Sequentialization::Rounds(most) => Sequentialization::Rounds(rounds(most)),
            Sequentialization::AnyThreads(most) => Sequentialization::AnyThreads(rounds(most)),
            Sequentialization::Buffers { zields, yields } => {
                Sequentialization::Buffers { zields: rounds(zields), yields: rounds(yields) }
            }
        }
    }
}

/// How to verify.
#[derive(Clone, Debug)]
pub struct ProofPlan {
    /// What is translated.
    pub sequentialization: Sequentialization,
    /// Who decides.
    pub engine: Engine,
    /// Iterations of each loop. `None`, here and below: a default, and if that cuts anything off, nothing is known.
    pub unwind: Option<u32>,
    /// Calls of a procedure that are active at the same time.
    pub recursion: Option<u32>,
    /// Threads and tasks that are made, where that is not seen from the text.
    pub tasks: Option<u32>,
    /// Objects of each record.
    pub objects: Option<u32>,
    /// Begin with the least bounds, and raise them in turn to those of `sequentialization`.
    pub incremental: bool,
    /// Whether a deadlock is a bug.
    pub deadlock: bool,
    /// Whether the properties of the program are asked about, which refuses a program that has any.
    pub properties: bool,
    /// The solver.
    pub solver: SolverChoice,
    /// Time.
    pub time: Option<Duration>,
    /// Memory for all of it, in bytes; without, most of what is available.
    pub memory: Option<u64>,
}

/// Iterations of each loop, and active calls of each procedure, unless the plan says how many.
const FOLLOWED: u32 = 10;

impl ProofPlan {
    /// What is counted, in the terms of exploration.
    pub fn cost(&self) -> (Bound, SchedulerKind) {
        match self.engine {
            Engine::Convergence => (Bound::Contexts, SchedulerKind::Bag),
            _ => self.sequentialization.cost(),
        }
    }

    /// How far loops and calls are followed.
    pub fn depth(&self) -> Depth {
        Depth { unwind: self.unwind.unwrap_or(FOLLOWED), recursion: self.recursion.unwrap_or(FOLLOWED) }
    }

    /// Whether deadlocks are asked about.
    pub fn deadlocks(&self) -> Deadlocks {
        if self.deadlock { Deadlocks::AreBugs } else { Deadlocks::Ignored }
    }

    /// How many threads and objects are translated.
    pub fn caps(&self) -> Caps {
        let default = Caps::default();
        Caps { tasks: self.tasks.unwrap_or(default.tasks), objects: self.objects.unwrap_or(default.objects) }
    }
}

/// What a solver says of its work: names and numbers.
pub type Figures = Vec<(&'static str, u64)>;

/// What verification found out.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The answer.
    pub report: Report,
    /// Where the time went.
    pub statistics: Statistics,
    /// What was left out before the program was translated: with all rounds the same.
    pub sliced: Sliced,
    /// What the solver says of its work.
    pub solver: Figures,
    /// Time to lift and replay what was found.
    pub replaying: Duration,
    /// Of a bug that was found with bounds that grow: whether none costs less.
    pub least: bool,
    /// What defaults cut off, in sentences.
    pub(crate) cut: Vec<String>,
}

/// How far verification is.
#[derive(Clone, Copy, Debug)]
pub struct ProofProgress {
    /// What is being verified.
    pub sequentialization: Sequentialization,
    /// What was done until now.
    pub statistics: Statistics,
    /// Time until now.
    pub elapsed: Duration,
}

/// Why there is no proof.
#[derive(Clone, Debug, PartialEq)]
pub enum ProofError {
    /// The program has something that cannot be translated.
    Unsupported(Unsupported),
    /// The solver is missing, or failed.
    Solver(String),
    /// There is no solver of Horn clauses, or it failed, or there are no clauses.
    HornSolver(String),
    /// The engine composes any number of threads, and the program has no process of any number.
    NeedsAnyThreads {
        /// Numbers were given from outside.
        given: bool,
    },
    /// Something has no finite size, says this sentence, and the engine needs one.
    NotFinite(String),
    /// A limit was hit before there was anything to write.
    GaveUp(Reason),
    /// An error of Fabius.
    Internal(String),
}
