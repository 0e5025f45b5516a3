//! The `fabius` command: options in, files in, answers out. Only this crate touches the user's files, prints, or decides
//! an exit code.

mod args;
mod check;
mod compare;
mod documents;
mod dot;
mod explain;
mod failure;
mod files;
mod fmt;
mod html;
mod junit;
mod lanes;
mod manual;
mod many;
mod paint;
mod progress;
mod replay;
mod report;
mod sarif;
mod trace;
mod translate;
mod verify;

use args::{Cli, Command, When};
use clap::Parser;
use failure::Failure;
use paint::Paint;
use sarif::Answered;
use std::io::IsTerminal;
use std::path::Path;
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
    let (result, when, json) = match &cli.command {
        Command::Check(args) => (check::run(args), args.answer.output.color, args.answer.json),
        Command::Verify(args) => (verify::run(args), args.answer.output.color, args.answer.json),
        Command::Trace(args) => (trace::run(args), args.answer.output.color, args.answer.json),
        Command::Translate(args) => (translate::run(args), args.output.color, false),
        Command::Replay(args) => (replay::run(args), args.output.color, args.json),
        Command::Report(args) => (html::run(args), args.colour.color, false),
        Command::Compare(args) => (compare::run(args), args.output.color, args.json),
        Command::Fmt(args) => (fmt::run(args), args.output.color, false),
        Command::Explain { code, output } => (explain::run(code.as_deref()), output.color, false),
        Command::Completions { shell } => (manual::completions(*shell), When::Auto, false),
        Command::Schema { of } => {
            (files::print(&documents::text(&documents::schema(*of))).map(|()| 0), When::Auto, false)
        }
        Command::Man { dir } => (manual::pages(dir.as_deref()), When::Auto, false),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            report_failure(&failure, Paint::new(when, std::io::stderr().is_terminal()), json);
            if let Some((sarif, file)) = sarif_of(&cli.command).filter(|_| !failure.is_of_output()) {
                let file = file.display().to_string();
                let answered = Answered { file: &file, source: "", answer: Err(&failure) };
                // One failure was reported; that this file could not be written either shows by itself.
                let _ = report::write_sarif(sarif, &[answered], BAD_INPUT);
            }
            ExitCode::from(BAD_INPUT)
        }
    }
}

fn report_failure(failure: &Failure, paint: Paint, json: bool) {
    eprint!("{}", failure.text(paint.style()));
    if json {
        // If standard output is gone too, there is nobody left to tell.
        let _ = files::print(&documents::text(&documents::ErrorDocument::of(failure)));
    }
}

/// Where the command writes SARIF about one file, and about which.
fn sarif_of(command: &Command) -> Option<(&Path, &Path)> {
    let (sarif, file) = match command {
        Command::Check(args) => (&args.answer.sarif, args.files.first().filter(|_| args.files.len() == 1)?),
        Command::Verify(args) => (&args.answer.sarif, &args.file),
        Command::Trace(args) => (&args.answer.sarif, &args.file),
        Command::Replay(args) => (&args.sarif, &args.trace),
        _ => return None,
    };
    Some((sarif.as_deref()?, file))
}
