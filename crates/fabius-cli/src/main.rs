//! The `fabius` command: options in, files in, answers out. Only this crate touches the user's files, prints, or decides
//! an exit code.

mod args;
mod check;
mod explain;
mod failure;
mod files;
mod fmt;
mod html;
mod lanes;
mod manual;
mod paint;
mod progress;
mod replay;
mod report;
mod trace;
mod translate;
mod verify;

use args::{Cli, Command, When};
use clap::Parser;
use failure::Failure;
use paint::Paint;
use std::io::IsTerminal;
use std::process::ExitCode;

/// Exit code for bad input, bad usage and outputs that could not be written.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    // The default would panic when the reader of a pipe goes away.
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { BAD_INPUT } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let (result, when, json) = match cli.command {
        Command::Check(args) => (check::run(&args), args.answer.output.color, args.answer.json),
        Command::Verify(args) => (verify::run(&args), args.answer.output.color, args.answer.json),
        Command::Trace(args) => (trace::run(&args), args.answer.output.color, args.answer.json),
        Command::Translate(args) => (translate::run(&args), args.output.color, false),
        Command::Replay(args) => (replay::run(&args), args.output.color, args.json),
        Command::Report(args) => (html::run(&args), args.colour.color, false),
        Command::Fmt(args) => (fmt::run(&args), args.output.color, false),
        Command::Explain { code, output } => (explain::run(code.as_deref()), output.color, false),
        Command::Completions { shell } => (manual::completions(shell), When::Auto, false),
        Command::Man { dir } => (manual::pages(dir.as_deref()), When::Auto, false),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            report_failure(&failure, Paint::new(when, std::io::stderr().is_terminal()), json);
            ExitCode::from(BAD_INPUT)
        }
    }
}

fn report_failure(failure: &Failure, paint: Paint, json: bool) {
    eprint!("{}", failure.text(paint.style()));
    if json {
        let document = serde_json::json!({ "verdict": "error", "error": failure.json() });
        // If standard output is gone too, there is nobody left to tell.
        let _ = files::print(&format!("{document:#}\n"));
    }
}
