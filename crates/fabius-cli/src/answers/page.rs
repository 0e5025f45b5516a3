//! Answers as web pages.

use crate::failure::Failure;
use crate::files;
use fabius_html::{Page, Source, Tone};
use fabius_trace::{ErrorTrace, LevelStats, Verdict};
use std::path::Path;

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
