//! Options that several commands have.

use super::values::{parse_const, parse_instances};
use clap::{Args, ValueEnum};
use fabius_trace::{Bound, Points};
use fabius_verify::prove::SolverChoice;
use std::path::{Path, PathBuf};

/// What belongs to a program besides its text.
#[derive(Clone, Debug, Default, Args)]
pub struct ProgramArgs {
    /// How many copies of `process PROC[*]` run; may be repeated
    #[arg(long, value_name = "PROC=N", value_parser = parse_instances, help_heading = "Bounds")]
    pub instances: Vec<(String, u32)>,
    /// Value of a constant of the program; may be repeated
    #[arg(long = "const", value_name = "NAME=VALUE", value_parser = parse_const, help_heading = "Bounds")]
    pub consts: Vec<(String, String)>,
}

/// How an answer is given.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Save the trace of a bug; `fabius replay` steps through it
    #[arg(long, value_name = "FILE.json", help_heading = "Output")]
    pub trace: Option<PathBuf>,
    /// Write the answer as a web page: lanes, source and values to step through
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write the answer as SARIF, for code scanning: bugs with their interleaving
    #[arg(long, value_name = "FILE.sarif", help_heading = "Output")]
    pub sarif: Option<PathBuf>,
    /// Print one JSON document on standard output
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print what the answer took: what was explored at each value of the bound, or where the time went
    #[arg(long, help_heading = "Output")]
    pub stats: bool,
    #[command(flatten)]
    pub output: ColourArgs,
}

impl AnswerArgs {
    /// The files that are written.
    pub fn outputs(&self) -> Vec<(&'static str, &Path)> {
        let all = [("--trace", &self.trace), ("--html", &self.html), ("--sarif", &self.sarif)];
        all.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect()
    }
}

/// Who decides formulas.
#[derive(Debug, Args)]
pub struct SolverArgs {
    /// Who solves: embedded (batsat or cadical: with that SAT solver alone), or z3 or cvc5 if it is installed
    #[arg(long, value_name = "NAME", default_value = "embedded", help_heading = "Solver")]
    pub solver: String,
    /// Where the solver is, if not on the search path; any that reads SMT-LIB 2
    #[arg(long, value_name = "FILE", help_heading = "Solver")]
    pub solver_path: Option<PathBuf>,
}

impl SolverArgs {
    pub fn choice(&self) -> SolverChoice {
        match (&self.solver_path, self.solver.as_str()) {
            (Some(path), _) => SolverChoice::At(path.clone()),
            (None, "embedded") => SolverChoice::Embedded,
            (None, name) => SolverChoice::Named(name.into()),
        }
    }
}

#[derive(Debug, Args)]
pub struct ColourArgs {
    /// When to use colour
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Output", alias = "colour")]
    pub color: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BoundArg {
    /// Nothing is counted: all schedules in no particular order
    None,
    /// Switches from one thread to another
    Contexts,
    /// Switches away from a thread that could go on
    Preemptions,
    /// Deviations from what a deterministic scheduler would do
    Delays,
    /// Steps
    Depth,
    /// Passages to a thread or task buffer that was made earlier
    Rounds,
}

impl From<BoundArg> for Bound {
    fn from(bound: BoundArg) -> Bound {
        match bound {
            BoundArg::None => Bound::None,
            BoundArg::Contexts => Bound::Contexts,
            BoundArg::Preemptions => Bound::Preemptions,
            BoundArg::Delays => Bound::Delays,
            BoundArg::Depth => Bound::Depth,
            BoundArg::Rounds => Bound::Rounds,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PointsArg {
    /// Before every access to shared state
    All,
    /// Before accesses to synchronization variables
    Sync,
}

impl From<PointsArg> for Points {
    fn from(points: PointsArg) -> Points {
        match points {
            PointsArg::All => Points::All,
            PointsArg::Sync => Points::Sync,
        }
    }
}
