//! The options of `fabius decide`, for which `fabius FILE` is short.

use super::common::{AnswerArgs, ProgramArgs, SvcompArgs};
use super::values::{parse_duration, parse_size};
use clap::{Args, ValueEnum};
use fabius_verify::portfolio::Member;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Args)]
pub struct DecideArgs {
    /// The program.
    pub file: PathBuf,
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Ask this engine alone [default: all that fit, side by side]
    #[arg(long, value_name = "NAME", help_heading = "Search")]
    pub engine: Option<MemberArg>,
    /// Processors to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    pub jobs: Option<u32>,
    /// Stop an engine at this much memory, of states and of the process: 512M, 4G [default: four fifths of what is available]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub memory: Option<u64>,
    /// Stop after this time: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Limits")]
    pub time: Option<Duration>,
    #[command(flatten)]
    pub svcomp: SvcompArgs,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

impl DecideArgs {
    /// The files that are written.
    pub fn outputs(&self) -> Vec<(&'static str, &Path)> {
        self.answer.outputs().into_iter().chain(self.svcomp.outputs()).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemberArg {
    /// All schedules in order of their preemptions, as `fabius check` does; of processes of any number two, three and four of each
    Explore,
    /// Bounded model checking with bounds that grow, as `fabius verify` does
    Bmc,
    /// Any number of threads, in more and more rounds or in all, as `fabius verify --threads any --incremental` does
    Any,
    /// Recursion without a bound in a fixed number of threads, as `fabius verify --engine convergence` does
    Convergence,
    /// Schedules at random, as `fabius check --strategy random` does
    Random,
}

impl From<MemberArg> for Member {
    fn from(arg: MemberArg) -> Member {
        match arg {
            MemberArg::Explore => Member::Exploration,
            MemberArg::Bmc => Member::BoundedModelChecking,
            MemberArg::Any => Member::AnyThreads,
            MemberArg::Convergence => Member::Convergence,
            MemberArg::Random => Member::RandomWalks,
        }
    }
}

/// The command that is meant by a file alone: what fits its kind.
pub fn command_for(file: &Path) -> &'static str {
    match file.extension().and_then(|e| e.to_str()) {
        Some("ctp") => "trace",
        Some("json") => "replay",
        _ => "decide",
    }
}
