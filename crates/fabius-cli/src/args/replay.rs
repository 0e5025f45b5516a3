//! The options of `fabius replay` and `fabius report`.

use super::common::{ColourArgs, LimitArgs};
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The trace, as written by `fabius check --trace`, or a witness (`.yml`), as written by `--witness`
    pub trace: PathBuf,
    /// The program, if it is not where the trace says
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// Write the trace as a web page
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write the bug as SARIF, for code scanning
    #[arg(long, value_name = "FILE.sarif", help_heading = "Output")]
    pub sarif: Option<PathBuf>,
    /// Print one JSON document on standard output
    #[arg(long)]
    pub json: bool,
    /// Step through the trace even if standard input is not a terminal
    #[arg(long, conflicts_with = "json")]
    pub step: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: ColourArgs,
}

impl ReplayArgs {
    /// The files that are written.
    pub fn outputs(&self) -> Vec<(&'static str, &Path)> {
        let all = [("--html", &self.html), ("--sarif", &self.sarif)];
        all.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect()
    }
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The trace, or the document of `--json`.
    pub trace: PathBuf,
    /// Where to write the page
    #[arg(short, long, value_name = "FILE.html")]
    pub output: PathBuf,
    /// The program, if it is not where the trace says
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    #[command(flatten)]
    pub colour: ColourArgs,
}
