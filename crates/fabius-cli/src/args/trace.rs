//! The options of `fabius trace`.

use super::common::{AnswerArgs, LimitArgs, SolverArgs};
use super::values::STDOUT;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct TraceArgs {
    /// The recorded run.
    pub file: PathBuf,
    /// What is a bug
    #[arg(long, value_name = "PROPERTY", default_value = "assert", help_heading = "What is a bug")]
    pub property: PropertyArg,
    /// How many messages the network holds
    #[arg(long, value_name = "BUFFERING", default_value = "infinite", help_heading = "What is a bug")]
    pub buffering: BufferingArg,

    /// How precisely it is found beforehand which receive may get which message
    #[arg(long, value_name = "PAIRS", default_value = "tight", help_heading = "Solver")]
    pub pairs: PairsArg,
    /// How the question is put to the solver; the answer does not depend on it
    #[arg(long, value_name = "ENCODING", default_value = "sparse", help_heading = "Solver")]
    pub encoding: EncodingArg,
    #[command(flatten)]
    pub solver: SolverArgs,
    /// Do not ask again when what the solver found is no run
    #[arg(long, help_heading = "Solver")]
    pub no_refine: bool,

    /// Find every matching of receives and messages, too
    #[arg(long, help_heading = "Output")]
    pub enumerate: bool,
    /// Which paths are looked at: with `all`, also which other sides of its branches some order of the messages takes
    #[arg(long, value_name = "PATHS", default_value = "recorded", help_heading = "Output")]
    pub paths: PathsArg,
    /// Write the question for another solver, and answer nothing; the format is smt2
    #[arg(long, num_args = 2, value_names = ["FORMAT", "FILE"], help_heading = "Output", conflicts_with_all = ["trace", "json", "enumerate"])]
    pub dump: Vec<String>,

    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

impl TraceArgs {
    /// The files that are read.
    pub fn inputs(&self) -> Vec<&Path> {
        std::iter::once(&self.file).chain(&self.solver.solver_path).map(PathBuf::as_path).collect()
    }

    /// The files that are written.
    pub fn outputs(&self) -> Vec<(&'static str, &Path)> {
        let dump = self.dump.get(1).filter(|path| *path != STDOUT).map(|path| ("--dump", Path::new(path)));
        self.answer.outputs().into_iter().chain(dump).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PathsArg {
    /// The one in the file
    Recorded,
    /// Also those that branch off from it: they are named, for runs of the program to be recorded
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PropertyArg {
    /// An assertion that fails
    Assert,
    /// Nodes that wait for ever
    Deadlock,
    /// A message that is never received
    Unmatched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BufferingArg {
    /// Any number: a send is complete at once
    Infinite,
    /// None: a send is complete when its message is received
    Zero,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PairsArg {
    /// Those of some run, by exploration
    Exact,
    /// Those that their places and what happens before them allow
    Tight,
    /// All at the same endpoint
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EncodingArg {
    /// The paper's, with times as numbers
    MatchPair,
    /// By the order of arrivals, without pairs
    Order,
    /// Pairs, and an order without numbers
    Sparse,
}
