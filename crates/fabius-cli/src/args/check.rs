//! The options of `fabius check`.

use super::common::{AnswerArgs, PointsArg, ProgramArgs, ScheduleArgs, SvcompArgs};
use super::values::{parse_duration, parse_size, parse_strategy};
use clap::{Args, ValueEnum};
use fabius_verify::Strategy;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SymmetryArg {
    /// Threads that do the same, joined in a row or not
    Threads,
    /// Values that are only chosen, copied, and found equal or not
    Values,
    /// Threads whose handles are kept for nothing but to join them in a row
    Joined,
}

/// What is made one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReductionArg {
    /// Steps that can be made later just as well, or with the step before them
    Steps,
    /// Outcomes of choices that lead to the same place inside of a step
    Outcomes,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The program, or several: then one line is printed for each, and the worst answer decides the exit code.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub schedules: ScheduleArgs,
    #[command(flatten)]
    pub program: ProgramArgs,

    /// In which order schedules are tried: iterative, dfs, random, pct:D [default: iterative]
    #[arg(long, value_name = "STRATEGY", value_parser = parse_strategy, help_heading = "Search")]
    pub strategy: Option<Strategy>,
    /// Where a thread may be preempted: before every access to shared state, or to synchronization variables only
    /// (and then every execution is checked for data races)
    /// [default: all; sync for C]
    #[arg(long, value_name = "POINTS", help_heading = "Search")]
    pub points: Option<PointsArg>,
    /// Enumerate executions without storing states
    #[arg(long, help_heading = "Search")]
    pub stateless: bool,
    /// Tell states apart that differ only in which of several alike threads or values is which; with words, only these
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = "threads,values,joined", help_heading = "Search")]
    pub no_symmetry: Vec<SymmetryArg>,
    /// Make all steps of all threads one by one, and each outcome of choices to its end; with words, only this
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = "steps,outcomes", help_heading = "Search")]
    pub no_reduction: Vec<ReductionArg>,

    /// Report data races too
    #[arg(long, help_heading = "What is a bug")]
    pub races: bool,
    /// Report livelocks too: reachable fair cycles without progress
    #[arg(long, help_heading = "What is a bug")]
    pub livelock: bool,
    /// Do not look at the properties of the program, which are about infinite executions
    #[arg(long, help_heading = "What is a bug")]
    pub no_properties: bool,
    /// Do not report deadlocks
    #[arg(long, help_heading = "What is a bug")]
    pub no_deadlock: bool,

    /// Processors to use [default: all]; the answer does not depend on it
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub jobs: Option<usize>,
    /// Stop at this much memory, of states and of the process: 512M, 4G [default: four fifths of what is available]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub memory: Option<u64>,
    /// Stop after this time: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Limits")]
    pub time: Option<Duration>,
    /// Stop after this many executions (random strategies) [default for random strategies: 10000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub executions: Option<u64>,

    /// Write the answers as JUnit XML: a test case for each file
    #[arg(long, value_name = "FILE.xml", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Write the graph of the states that were explored, of one small program; Graphviz draws it
    #[arg(long, value_name = "FILE.dot", help_heading = "Output")]
    pub dot: Option<PathBuf>,
    #[command(flatten)]
    pub svcomp: SvcompArgs,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

impl CheckArgs {
    /// The files that are written.
    pub fn outputs(&self) -> Vec<(&'static str, &Path)> {
        let more = [("--junit", &self.junit), ("--dot", &self.dot)];
        let more = more.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)));
        self.answer.outputs().into_iter().chain(more).chain(self.svcomp.outputs()).collect()
    }
}
