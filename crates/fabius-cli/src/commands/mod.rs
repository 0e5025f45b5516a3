//! A file for each command: it reads what the options name, has it decided, and gives the answer.

mod check;
mod compare;
mod compile;
mod decide;
mod explain;
mod fmt;
mod lsp;
mod manual;
mod native;
mod replay;
mod report;
mod trace;
mod translate;
mod verify;

use crate::answers::documents;
use crate::args::Command;
use crate::failure::Failure;
use crate::files;
use fabius_native::Language;

/// Runs a command; returns the exit code.
pub fn run(command: &Command) -> Result<u8, Failure> {
    match command {
        Command::Decide(args) => decide::run(args),
        Command::Check(args) => check::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Trace(args) => trace::run(args),
        Command::Run(args) => native::run(args),
        Command::Cc(args) => compile::run(Language::C, args),
        Command::Cpp(args) => compile::run(Language::Cpp, args),
        Command::Translate(args) => translate::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Report(args) => report::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Fmt(args) => fmt::run(args),
        Command::Explain { code, .. } => explain::run(code.as_deref()),
        Command::Completions { shell } => manual::completions(*shell),
        Command::Schema { of } => files::print(&documents::text(&documents::schema(*of))).map(|()| 0),
        Command::Lsp { .. } => lsp::run(),
        Command::Man { dir } => manual::pages(dir.as_deref()),
    }
}
