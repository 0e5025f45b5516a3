//! The options of `fabius compare`.

use super::common::{ColourArgs, PointsArg, ProgramArgs};
use super::values::{parse_duration, parse_size, parse_way};
use clap::Args;
use fabius_verify::compare::Way;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The programs, and comparisons that were saved.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Which, in the order of the tables; the first bugs of the first are compared with those of the others
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = parse_way,
        default_value = "icb,delay:round-robin,delay:depth-first,dfs,random,pct:3,db:20,db:40,idfs",
        help_heading = "Search"
    )]
    pub strategies: Vec<Way>,
    /// How often a random strategy begins anew, with seeds from 0
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=10_000), help_heading = "Search")]
    pub seeds: u64,
    /// Where a thread may be preempted
    #[arg(long, value_name = "POINTS", default_value = "all", help_heading = "Search")]
    pub points: PointsArg,
    #[command(flatten)]
    pub program: ProgramArgs,

    /// Executions of a run
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    pub executions: u64,
    /// Stop each search after this time: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration, help_heading = "Limits")]
    pub time: Duration,
    /// Stop a search at this much memory, of states and of the process: 512M, 4G [default: four fifths of what is available]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub memory: Option<u64>,

    /// Draw the curves as SVG into this folder, which is made if it is not there
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub svg: Option<PathBuf>,
    /// Write the numbers of the curves as CSV into this folder, which is made if it is not there
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub csv: Option<PathBuf>,
    /// Print one JSON document on standard output
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub output: ColourArgs,
}
