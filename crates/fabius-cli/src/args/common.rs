//! Options that several commands have.

use super::values::{parse_const, parse_duration, parse_instances, parse_scheduler, parse_size};
use clap::{Args, ValueEnum};
use fabius_trace::{Bound, Points, SchedulerKind};
use fabius_verify::prove::SolverChoice;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What belongs to a program besides its text.
#[derive(Clone, Debug, Default, Args)]
pub struct ProgramArgs {
    /// How many copies of `process PROC[*]` run; may be repeated
    #[arg(long, value_name = "PROC=N", value_parser = parse_instances, help_heading = "Bounds")]
    pub instances: Vec<(String, u32)>,
    /// Value of a constant of the program; may be repeated
    /// (of a C program: of a macro)
    #[arg(long = "const", short = 'D', value_name = "NAME=VALUE", value_parser = parse_const, help_heading = "Bounds")]
    pub consts: Vec<(String, String)>,
    /// A folder of headers of a C program; may be repeated
    #[arg(short = 'I', long = "include", value_name = "DIR", help_heading = "C programs")]
    pub includes: Vec<PathBuf>,
    /// One more file of the same C program; may be repeated
    #[arg(long, value_name = "FILE.c", help_heading = "C programs")]
    pub with: Vec<PathBuf>,
    /// Follow at most N allocations of each type by each thread of a C program, N threads of each `pthread_create` in a loop, and 2 N elements where their number is not in the text [default: 8, which `fabius FILE` raises itself; unknown if that is not enough]
    #[arg(long, value_name = "N", help_heading = "C programs", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub allocations: Option<u32>,
    /// What is asked about a C program: a property file of SV-COMP, or its name: unreach-call, no-data-race, valid-memsafety,
    /// valid-memcleanup, no-overflow
    #[arg(long, value_name = "FILE.prp", help_heading = "C programs")]
    pub property: Option<PathBuf>,
    /// How wide `long` and pointers of a C program are [default: lp64, or what the task definition says]
    #[arg(long, value_name = "MODEL", ignore_case = true, help_heading = "C programs")]
    pub data_model: Option<DataModelArg>,
    /// Report signed overflow of a C program, which wraps otherwise
    #[arg(long, help_heading = "C programs")]
    pub overflow: bool,
    /// Report memory that a C program has not freed at its end
    #[arg(long, help_heading = "C programs")]
    pub leaks: bool,
    /// Take a function of a C program that has no body to return any value and to change nothing; the answer says so
    #[arg(long, help_heading = "C programs")]
    pub havoc: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataModelArg {
    /// 32 bits
    Ilp32,
    /// 64 bits
    Lp64,
}

/// What is wanted of an answer about a C program.
#[derive(Debug, Args)]
pub struct SvcompArgs {
    /// Look for the bug of a C program in the real binary, too, and say whether it is seen there; it takes some seconds
    #[arg(long, help_heading = "C programs", conflicts_with = "json")]
    pub natively: bool,
    /// Write the bug of a C program, or that there is none, as a witness of SV-COMP
    #[arg(long, value_name = "FILE.yml", help_heading = "Output")]
    pub witness: Option<PathBuf>,
    /// Print the verdict in the words of SV-COMP as the last line: true, false(unreach-call), unknown
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    pub svcomp: bool,
}

impl SvcompArgs {
    /// The file that is written.
    pub fn outputs(&self) -> Option<(&'static str, &Path)> {
        self.witness.as_deref().map(|path| ("--witness", path))
    }
}

/// How an answer is given.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Save the trace of a bug; `fabius replay` steps through it, of a C or C++ program `fabius run --replay`
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

/// When to give up.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Stop after this time: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Limits")]
    pub time: Option<Duration>,
    /// Stop at this much memory of the process: 512M, 4G [default: four fifths of what is available]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub memory: Option<u64>,
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

/// Which schedules are explored.
#[derive(Debug, Args)]
pub struct ScheduleArgs {
    /// What deviations from an undisturbed run are counted [default: preemptions, or what --scheduler asks for]
    #[arg(long, value_name = "BOUND", help_heading = "Bounds")]
    pub bound: Option<BoundArg>,
    /// Explore schedules with at most N such deviations [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub max: Option<u32>,
    /// Who is next: bag, bounded-bag:K, round-robin, depth-first [default: bag; round-robin for delays]
    #[arg(long, value_name = "SCHEDULER", value_parser = parse_scheduler, help_heading = "Search")]
    pub scheduler: Option<SchedulerKind>,
    /// Seed of the random strategies
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Search")]
    pub seed: u64,
}

impl ScheduleArgs {
    /// What is counted and who may be next, where one of them is not given: each asks for what goes with it.
    pub fn bound_and_scheduler(&self) -> (Bound, SchedulerKind) {
        let bound = match (self.bound, self.scheduler) {
            (Some(bound), _) => bound.into(),
            (None, Some(SchedulerKind::RoundRobin | SchedulerKind::DepthFirst)) => Bound::Delays,
            (None, Some(SchedulerKind::BoundedBag(_))) => Bound::None,
            (None, Some(SchedulerKind::Bag) | None) => Bound::Preemptions,
        };
        let fitting = if bound == Bound::Delays { SchedulerKind::RoundRobin } else { SchedulerKind::Bag };
        (bound, self.scheduler.unwrap_or(fitting))
    }
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
