//! Answers as web pages, and `fabius report`.

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::{files, replay, report};
use fabius_html::{Page, Source, Tone};
use fabius_trace::{ErrorTrace, LevelStats, Verdict};
use std::path::Path;

/// Runs `fabius report`; returns the exit code.
pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let trace = replay::read_trace(&args.trace)?;
    let program = &trace.program;
    let read = |file: &str| {
        let given = args.program.clone().filter(|_| file == program.file);
        let path = given.or_else(|| replay::beside(&args.trace, file))?;
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
    let command = (!program.hash.is_empty()).then(|| report::replay_command(&args.trace));
    write(&args.output, of_bug(&trace, command), &sources)?;
    Ok(0)
}

/// The page of a trace.
pub fn of_bug(trace: &ErrorTrace, command: Option<String>) -> Page<'_> {
    Page {
        verdict: "bug",
        tone: Tone::Bug,
        headline: &trace.message,
        facts: Vec::new(),
        command,
        levels: &[],
        trace: Some(trace),
        sources: &[],
    }
}

/// What a page says of an answer, beside the answer itself.
pub struct About<'a> {
    /// The program's file.
    pub file: &'a str,
    /// Its text.
    pub source: &'a str,
    /// What it means that nothing was found.
    pub good: String,
    /// More about the answer: names and values.
    pub facts: Vec<(String, String)>,
    /// What was explored at each value of the bound.
    pub levels: &'a [LevelStats],
}

/// Writes the page of an answer.
pub fn write_answer(path: &Path, answer: &Verdict, about: About<'_>, command: Option<String>) -> Result<(), Failure> {
    let About { file, source, good, mut facts, levels } = about;
    let headline;
    let page = match answer {
        Verdict::Bug { trace } => Page { facts, ..of_bug(trace, command) },
        answer => {
            let (verdict, tone) = match answer {
                Verdict::Verified => ("verified", Tone::Good),
                Verdict::NoBugWithinBounds { .. } => ("no bug within bounds", Tone::Open),
                Verdict::Unknown { .. } | Verdict::Bug { .. } => ("unknown", Tone::Open),
            };
            facts.insert(0, ("program".to_string(), file.to_string()));
            headline = match answer {
                Verdict::NoBugWithinBounds { bounds } => {
                    facts.extend(bounds.limits.iter().map(|limit| ("but".to_string(), limit.clone())));
                    format!("{} was explored, without a bug; schedules beyond were not looked at", bounds.words())
                }
                Verdict::Unknown { reason, .. } => reason.words(),
                Verdict::Verified | Verdict::Bug { .. } => good,
            };
            Page { verdict, tone, headline: &headline, facts, command: None, levels, trace: None, sources: &[] }
        }
    };
    write(path, page, &[Source { file: file.into(), text: source.into() }])
}

/// Writes a page.
pub fn write(path: &Path, page: Page<'_>, sources: &[Source]) -> Result<(), Failure> {
    files::write(path, &fabius_html::page(&Page { sources, ..page }))
}
