//! The options of `fabius run`, `fabius cc` and `fabius c++`.

use super::common::{AnswerArgs, PointsArg, ScheduleArgs};
use super::values::{parse_duration, parse_size, parse_walk};
use clap::Args;
use fabius_native::Walk;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Args)]
pub struct CompileArgs {
    /// What the compiler is given. `--with COMPILER` in front of it names another compiler than `gcc` or `g++`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARG")]
    pub args: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The program, built with `fabius cc` or `fabius c++`
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
    /// What the program is given, behind `--`
    #[arg(last = true, value_name = "ARG")]
    pub args: Vec<OsString>,

    #[command(flatten)]
    pub schedules: ScheduleArgs,
    /// Steps after which an execution is given up
    #[arg(long, value_name = "N", default_value_t = 100_000, help_heading = "Bounds")]
    pub max_steps: u32,

    /// In which order schedules are tried: iterative, dfs, random, pct:D, pos, urw, surw
    #[arg(long, value_name = "STRATEGY", value_parser = parse_walk, default_value = "iterative", help_heading = "Search")]
    pub strategy: Walk,
    /// Where a thread may be preempted: before every access to memory that may be shared, or at synchronization, atomics,
    /// volatiles and what was seen to race
    #[arg(long, value_name = "POINTS", default_value = "sync", help_heading = "Search")]
    pub points: PointsArg,
    /// Repeat executions that differ from others in nothing that can be seen
    #[arg(long, help_heading = "Search")]
    pub no_reduction: bool,
    /// Run every execution in a process of its own, instead of restoring memory: slower, and exact where files or the system's
    /// state matter [default: only where executions do not repeat themselves]
    #[arg(long, help_heading = "Search")]
    pub fork: bool,

    /// Stop at the first data race, instead of looking for what it leads to
    #[arg(long, help_heading = "What is a bug")]
    pub first_race: bool,
    /// Report heap memory that is not freed at the end
    #[arg(long, help_heading = "What is a bug")]
    pub leaks: bool,

    /// Processes to explore with, up to 32; with `--fork` there is one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=32), help_heading = "Limits")]
    pub jobs: u16,
    /// Stop when the program's process uses this much memory: 512M, 4G
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub memory: Option<u64>,
    /// Stop after this time: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Limits")]
    pub time: Option<Duration>,
    /// Stop after this many executions [default for random strategies: 10000; 50000 behind a data race]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub executions: Option<u64>,

    /// Run the execution of a saved trace again and show what the program prints
    #[arg(long, value_name = "FILE.json", help_heading = "Replay")]
    pub replay: Option<PathBuf>,
    /// Run it in gdb, which stops where it fails
    #[arg(long, requires = "replay", help_heading = "Replay")]
    pub gdb: bool,

    /// Write the answer as JUnit XML
    #[arg(long, value_name = "FILE.xml", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

impl RunArgs {
    /// The files that are read.
    pub fn inputs(&self) -> Vec<&Path> {
        std::iter::once(&self.program).chain(&self.replay).map(PathBuf::as_path).collect()
    }

    /// The files that are written.
    pub fn outputs(&self) -> Vec<(&'static str, &Path)> {
        let junit = self.junit.as_deref().map(|path| ("--junit", path));
        self.answer.outputs().into_iter().chain(junit).collect()
    }
}
