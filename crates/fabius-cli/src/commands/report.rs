//! `fabius report`: a web page of a saved trace.

use crate::answers::again::replay_command;
use crate::answers::page;
use crate::args::replay::ReportArgs;
use crate::failure::Failure;
use crate::outputs::refuse_losses;
use crate::{files, saved};
use std::path::{Path, PathBuf};

/// Runs the command; returns the exit code.
pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let output = [("--output", args.output.as_path())];
    let given: Vec<&Path> = std::iter::once(&args.trace).chain(&args.program).map(PathBuf::as_path).collect();
    refuse_losses(&given, &output)?;
    let trace = saved::read_trace(&args.trace)?;
    let program = &trace.program;
    let read = |file: &str| {
        let given = args.program.clone().filter(|_| file == program.file);
        let path = given.or_else(|| saved::beside(&args.trace, file))?;
        let text = files::read(&path).ok()?;
        let id = fabius_verify::program_id("", &text, &program.consts, &program.instances);
        // Rust tests hash nothing: theirs is the file as it is now.
        (program.hash.is_empty() || id.hash == program.hash).then_some(text)
    };
    if let Some(given) = &args.program {
        files::read(given)?;
        if read(&program.file).is_none() {
            return Err(fabius_verify::ReplayError::OtherProgram.into());
        }
    }
    let sources = fabius_html::sources_of(&trace, read);
    let named = sources.iter().map(|source| &source.file).chain([&program.file]);
    let there: Vec<PathBuf> = named.filter_map(|file| saved::beside(&args.trace, file)).collect();
    refuse_losses(&there.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &output)?;
    let command = (!program.hash.is_empty()).then(|| replay_command(&args.trace, &program.file));
    page::write(&args.output, page::of_bug(&trace, command), &sources)?;
    Ok(0)
}
