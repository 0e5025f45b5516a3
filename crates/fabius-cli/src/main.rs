//! The `fabius` command: options in, files in, answers out. Only this crate touches the user's files, prints, or decides
//! an exit code.
//!
//! The house has four floors, and a file uses those of its own floor and below: `commands`, a file for each; `answers`, what
//! they have in common: an answer as text, JSON, SARIF, JUnit, DOT, a page; the files beside this one: programs, traces,
//! failures, colour, reading and writing; `args`, what can be said on the command line.

mod answers;
mod args;
mod c;
mod commands;
mod failure;
mod files;
mod native;
mod outputs;
mod paint;
mod program;
mod progress;
mod saved;
mod sequential;
mod stop;
mod task;
mod witness;

use answers::documents::{self, ErrorDocument};
use answers::give;
use answers::sarif::Answered;
use args::Command;
use args::common::{AnswerArgs, When};
use failure::{BAD_INPUT, Failure};
use paint::Paint;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    // The default would panic when the reader of a pipe goes away.
    let cli = match args::parse(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { BAD_INPUT } else { 0 };
            say(&error);
            return ExitCode::from(code);
        }
    };
    match commands::run(&cli.command) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            report_failure(&failure, &cli.command);
            ExitCode::from(BAD_INPUT)
        }
    }
}

/// What the parser of options says: help, the version, or what is wrong. What was given is repeated without colours.
fn say(said: &clap::Error) {
    let paint = if said.use_stderr() { Paint::of_stderr(When::Auto) } else { Paint::of_stdout(When::Auto) };
    let given = std::env::args_os().any(|arg| arg.to_string_lossy().contains(paint::moves));
    let paint = if given { Paint::Plain } else { paint };
    let text = match paint {
        Paint::Colour => said.render().ansi().to_string(),
        Paint::Plain => said.render().to_string(),
    };
    match said.use_stderr() {
        true => files::tell(paint, &text),
        // A reader that has gone away needs no help.
        false => drop(files::print_in(paint, &text)),
    }
}

/// Says what went wrong: on standard error, and in the documents that were asked for.
fn report_failure(failure: &Failure, command: &Command) {
    let (when, json) = asked(command);
    let paint = Paint::of_stderr(when);
    files::tell(paint, &failure.text(paint.style()));
    // What was given is not written to, whatever there is to say.
    if json && !given(command).into_iter().any(outputs::is_stdout) {
        // If standard output is gone too, there is nobody left to tell.
        let _ = files::print(&documents::text(&ErrorDocument::of(failure)));
    }
    if let Some((sarif, file)) = sarif_of(command).filter(|_| !failure.is_of_output()) {
        let file = file.display().to_string();
        let answered = Answered { file: &file, source: "", answer: Err(failure) };
        // One failure was reported; that this file could not be written either shows by itself.
        let _ = give::write_sarif(sarif, &[answered], BAD_INPUT);
    }
}

/// The files that a command reads, of those that print documents.
fn given(command: &Command) -> Vec<&Path> {
    match command {
        Command::Check(args) => args.files.iter().map(PathBuf::as_path).collect(),
        Command::Decide(args) => vec![&args.file],
        Command::Verify(args) => vec![&args.file],
        Command::Trace(args) => vec![&args.file],
        Command::Run(args) => args.inputs(),
        Command::Replay(args) => std::iter::once(&args.trace).chain(&args.program).map(PathBuf::as_path).collect(),
        Command::Compare(args) => args.files.iter().map(PathBuf::as_path).collect(),
        _ => Vec::new(),
    }
}

/// When to use colour, and whether a document is printed.
fn asked(command: &Command) -> (When, bool) {
    let of = |answer: &AnswerArgs| (answer.output.color, answer.json);
    match command {
        Command::Decide(args) => of(&args.answer),
        Command::Check(args) => of(&args.answer),
        Command::Verify(args) => of(&args.answer),
        Command::Trace(args) => of(&args.answer),
        Command::Run(args) => of(&args.answer),
        Command::Translate(args) => (args.output.color, false),
        Command::Replay(args) => (args.output.color, args.json),
        Command::Report(args) => (args.colour.color, false),
        Command::Compare(args) => (args.output.color, args.json),
        Command::Fmt(args) => (args.output.color, false),
        Command::Explain { output, .. } => (output.color, false),
        Command::Cc(_) | Command::Cpp(_) => (When::Auto, false),
        Command::Completions { .. } | Command::Schema { .. } | Command::Lsp { .. } | Command::Man { .. } => {
            (When::Auto, false)
        }
    }
}

/// Where the command writes SARIF about one file, and about which.
fn sarif_of(command: &Command) -> Option<(&Path, &Path)> {
    let (sarif, file) = match command {
        Command::Check(args) => (&args.answer.sarif, args.files.first().filter(|_| args.files.len() == 1)?),
        Command::Decide(args) => (&args.answer.sarif, &args.file),
        Command::Verify(args) => (&args.answer.sarif, &args.file),
        Command::Trace(args) => (&args.answer.sarif, &args.file),
        Command::Run(args) => (&args.answer.sarif, &args.program),
        Command::Replay(args) => (&args.sarif, &args.trace),
        _ => return None,
    };
    Some((sarif.as_deref()?, file))
}
