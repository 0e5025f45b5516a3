//! The options of `fabius verify` and `fabius translate`.

use super::common::{AnswerArgs, ColourArgs, LimitArgs, ProgramArgs, SolverArgs, SvcompArgs};
use super::values::STDOUT;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// The largest bound of a translation.
const MOST: i64 = fabius_verify::prove::MOST as i64;

/// Which schedules are translated.
#[derive(Clone, Debug, Args)]
pub struct SequentialArgs {
    /// Schedules with at most K delays of a deterministic scheduler
    #[arg(long, value_name = "K", help_heading = "Bounds", value_parser = clap::value_parser!(u32).range(0..=MOST), conflicts_with_all = ["zields", "yields"])]
    pub delays: Option<u32>,
    /// Schedules of K rounds over the threads [default for threads: 3; beside delays of the round-robin scheduler: 3 more than delays]
    #[arg(long, value_name = "K", help_heading = "Bounds", value_parser = clap::value_parser!(u32).range(1..=MOST), conflicts_with_all = ["zields", "yields"])]
    pub rounds: Option<u32>,
    /// Schedules of K rounds over the task buffers [default for tasks: 2; with --yields: 1]
    #[arg(long, value_name = "K", help_heading = "Bounds", value_parser = clap::value_parser!(u32).range(1..=MOST))]
    pub zields: Option<u32>,
    /// Schedules of K rounds over the tasks of a level whenever it is active [default for tasks: 2; with --zields: 1]
    #[arg(long, value_name = "K", help_heading = "Bounds", value_parser = clap::value_parser!(u32).range(1..=MOST))]
    pub yields: Option<u32>,
    /// The scheduler whose delays are counted [default: depth-first]
    #[arg(long, value_name = "SCHEDULER", help_heading = "Bounds", requires = "delays", conflicts_with_all = ["zields", "yields"])]
    pub scheduler: Option<DelayedArg>,
    /// Any number of threads of each `process p[*]`; with --rounds [the default where there is one, and for 2 rounds]
    #[arg(long, value_name = "NUMBER", help_heading = "Bounds", conflicts_with_all = ["delays", "zields", "yields", "instances"])]
    pub threads: Option<ThreadsArg>,
    /// Follow at most N threads and tasks, where their number is not seen from the text [default: 12, and unknown if that is not enough]
    #[arg(long, value_name = "N", help_heading = "Bounds", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub tasks: Option<u32>,
    /// Follow at most N objects of each record [default: 8, and unknown if that is not enough]
    #[arg(long, value_name = "N", help_heading = "Bounds", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub objects: Option<u32>,
    #[command(flatten)]
    pub program: ProgramArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThreadsArg {
    /// As many as there may be
    Any,
}

impl SequentialArgs {
    /// No bound is given.
    pub fn is_default(&self) -> bool {
        [self.delays, self.rounds, self.zields, self.yields].iter().all(Option::is_none)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DelayedArg {
    /// New tasks first
    DepthFirst,
    /// In a circle
    RoundRobin,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The program.
    pub file: PathBuf,
    #[command(flatten)]
    pub sequential: SequentialArgs,
    /// Follow each loop for at most U iterations [default: 10, and unknown if that is not enough]
    #[arg(long, value_name = "U", help_heading = "Bounds")]
    pub unwind: Option<u32>,
    /// Follow at most R active calls of a procedure [default: 10, and unknown if that is not enough]
    #[arg(long, value_name = "R", help_heading = "Bounds")]
    pub recursion: Option<u32>,
    /// Raise the bounds in turn, from the least ones to those given (or 64), until there is a bug
    #[arg(long, help_heading = "Bounds", conflicts_with_all = ["dump"])]
    pub incremental: bool,

    /// Do not look at the properties of the program, which are about infinite executions and otherwise refused
    #[arg(long, help_heading = "What is a bug")]
    pub no_properties: bool,
    /// Do not report deadlocks
    #[arg(long, help_heading = "What is a bug")]
    pub no_deadlock: bool,
    /// Who decides the sequential program
    #[arg(long, value_name = "NAME", default_value = "automatic", help_heading = "Solver")]
    pub engine: EngineArg,
    #[command(flatten)]
    pub solver: SolverArgs,

    #[command(flatten)]
    pub limits: LimitArgs,

    /// Write the question for another tool, and answer nothing: the formula (smt2), Horn clauses (horn), or the sequential program (fab, boogie, c)
    #[arg(long, num_args = 2, value_names = ["FORMAT", "FILE"], help_heading = "Output", conflicts_with_all = ["trace", "json"])]
    pub dump: Vec<String>,
    #[command(flatten)]
    pub svcomp: SvcompArgs,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

impl VerifyArgs {
    /// The files that are read.
    pub fn inputs(&self) -> Vec<&Path> {
        std::iter::once(&self.file).chain(&self.solver.solver_path).map(PathBuf::as_path).collect()
    }

    /// The files that are written.
    pub fn outputs(&self) -> Vec<(&'static str, &Path)> {
        let dump = self.dump.get(1).filter(|path| *path != STDOUT).map(|path| ("--dump", Path::new(path)));
        self.answer.outputs().into_iter().chain(dump).chain(self.svcomp.outputs()).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// `interfaces` for any number of threads with finite data, otherwise `bmc`
    Automatic,
    /// Bounded model checking: any data, loops and calls as far as they are followed
    Bmc,
    /// Procedure summaries with decision diagrams: finite data, exact
    Summaries,
    /// Linear interfaces as relations: any number of threads, finite data, exact
    Interfaces,
    /// Horn clauses, solved by z3: any data, loops and calls without a bound
    Horn,
    /// Any number of contexts and recursion without a bound, in a fixed number of threads: finite data
    Convergence,
}

#[derive(Debug, Args)]
pub struct TranslateArgs {
    /// The program.
    pub file: PathBuf,
    /// What is wanted
    #[arg(long, value_name = "FORM", default_value = "sequential")]
    pub to: FormArg,
    #[command(flatten)]
    pub sequential: SequentialArgs,
    /// Do not ask about deadlocks in what is written with `--to sequential`
    #[arg(long, help_heading = "What is a bug")]
    pub no_deadlock: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: ColourArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormArg {
    /// Scheduling points, waiting and faults written out
    Explicit,
    /// Several task buffers as one
    SingleBuffer,
    /// Several task buffers and levels as one buffer of one level, by shared memory
    SharedMemory,
    /// One task buffer without `yield`
    YieldFree,
    /// No tasks or threads
    Sequential,
    /// A program of threads in Promela, for SPIN
    Promela,
    /// The program itself in the modelling language, without sugar: of a program in Promela or C, too
    Fab,
}
