//! What can be said on the command line: a file for the options of a command, those that several have, and the parsers of
//! values.

pub mod check;
pub mod common;
pub mod compare;
pub mod decide;
mod help;
pub mod native;
pub mod replay;
pub mod trace;
pub mod values;
pub mod verify;

use check::CheckArgs;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use common::ColourArgs;
use compare::CompareArgs;
use decide::DecideArgs;
use help::*;
use native::{CompileArgs, RunArgs};
use replay::{ReplayArgs, ReportArgs};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use trace::TraceArgs;
use verify::{TranslateArgs, VerifyArgs};

/// Finds the schedule that breaks a concurrent program, or shows that none within a stated bound does.
#[derive(Debug, Parser)]
#[command(name = "fabius", version, propagate_version = true, max_term_width = 100, after_help = EXIT_CODES)]
#[command(override_usage = "fabius FILE [OPTIONS]\n       fabius <COMMAND>")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// The command line with the command that is meant, if a file stands in its place.
pub fn with_command(mut args: Vec<OsString>) -> Vec<OsString> {
    let Some(first) = args.get(1) else { return args };
    let (text, path) = (first.to_string_lossy(), Path::new(first));
    let is_command = || Cli::command().get_subcommands().any(|c| c.get_name() == text) || text == "help";
    let looks_like_file = text.contains(['.', '/']) || text == "-" || path.is_file();
    if (text == "-" || !text.starts_with('-')) && looks_like_file && !is_command() {
        args.insert(1, decide::command_for(path).into());
    }
    args
}

/// Reads the command line. A negative number behind an option is its value, and a wrong one where none may stand.
pub fn parse(args: Vec<OsString>) -> Result<Cli, clap::Error> {
    let negative = |command: clap::Command| {
        command.mut_args(|arg| match arg.get_action().takes_values() && !arg.is_positional() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        })
    };
    let matches = Cli::command().mut_subcommands(negative).try_get_matches_from(with_command(args))?;
    Cli::from_arg_matches(&matches)
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Asks all engines that fit a program, side by side; `fabius FILE` is short for it.
    #[command(after_help = DECIDE_HELP)]
    Decide(Box<DecideArgs>),
    /// Explores the schedules of a program and reports the simplest one that breaks it.
    #[command(after_help = CHECK_HELP)]
    Check(Box<CheckArgs>),
    /// Translates a program to a sequential one and solves that: data may be of any size.
    #[command(after_help = VERIFY_HELP)]
    Verify(Box<VerifyArgs>),
    /// Finds another order of the messages of a recorded run that is a bug, or shows that there is none on its path.
    #[command(after_help = TRACE_HELP)]
    Trace(Box<TraceArgs>),
    /// Explores a C or C++ program that `fabius cc` has built.
    #[command(after_help = RUN_HELP)]
    Run(Box<RunArgs>),
    /// Compiles C, as gcc does, to a program for `fabius run`.
    #[command(after_help = CC_HELP, disable_help_flag = true, disable_version_flag = true)]
    Cc(CompileArgs),
    /// Compiles C++, as g++ does, to a program for `fabius run`.
    #[command(name = "c++", after_help = CC_HELP, disable_help_flag = true, disable_version_flag = true)]
    Cpp(CompileArgs),
    /// Prints a concurrent program as a sequential one, or as one with fewer concepts.
    #[command(after_help = TRANSLATE_HELP)]
    Translate(TranslateArgs),
    /// Runs a saved trace again and shows it step by step.
    #[command(after_help = REPLAY_HELP)]
    Replay(ReplayArgs),
    /// Makes a web page of a saved trace.
    #[command(after_help = REPORT_HELP)]
    Report(ReportArgs),
    /// Measures how fast strategies see what a program does, and find its first bug; draws the curves.
    #[command(after_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// Formats programs.
    #[command(
        after_help = "Exit codes:\n  0  done; with --check: every file is formatted\n  1  with --check: some file is not\n  2  bad input, or a file that could not be written"
    )]
    Fmt(FmtArgs),
    /// Explains the code of an error message, for instance `E0103`.
    Explain {
        /// The code, or nothing for a list of all codes.
        code: Option<String>,
        #[command(flatten)]
        output: ColourArgs,
    },
    /// Prints what a shell needs to complete commands and options.
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Prints the JSON schema of a document.
    Schema {
        /// Which document.
        of: SchemaOf,
    },
    /// Serves an editor by the Language Server Protocol, through standard input and output.
    Lsp {
        /// As editors say it; nothing else can be said.
        #[arg(long, hide = true)]
        stdio: bool,
    },
    /// Prints the manual page, or writes one for each command.
    #[command(after_help = "Examples:\n  fabius man | man -l -\n  fabius man --dir ~/.local/share/man/man1")]
    Man {
        /// Write `fabius.1`, `fabius-check.1`, .. into this folder, which exists
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct FmtArgs {
    /// The programs; `-` formats standard input to standard output.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Change nothing, only say which files are not formatted
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub output: ColourArgs,
}

/// What a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// `fabius check --json` of one file, and `fabius verify --json`
    Answer,
    /// `fabius check --json` of several files
    Several,
    /// `fabius trace --json`
    Messages,
    /// The file of `--trace`, and `fabius replay --json`
    Trace,
    /// `fabius compare --json`, and the file that `fabius::compare` saves
    Comparison,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_place_of_a_command_means_what_fits_its_kind() {
        let with = |args: &[&str]| {
            let all = ["fabius"].iter().chain(args).map(OsString::from).collect();
            with_command(all).iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(with(&["a.fab", "--json"]), "decide a.fab --json");
        assert_eq!(with(&["./a", "--json"]), "decide ./a --json");
        assert_eq!(with(&["-"]), "decide -");
        assert_eq!(with(&["run.ctp"]), "trace run.ctp");
        assert_eq!(with(&["bug.json"]), "replay bug.json");
        for kept in ["check a.fab", "c++ a.cpp", "help check", "chekc a.fab", "--version", "--help", ""] {
            let args: Vec<&str> = kept.split_whitespace().collect();
            assert_eq!(with(&args), kept);
        }
    }

    #[test]
    fn the_table_of_options_is_consistent() {
        Cli::command().debug_assert();
    }
}
