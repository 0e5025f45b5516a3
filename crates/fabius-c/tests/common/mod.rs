//! C programs, checked.

use fabius_c::{Failure, Loaded, Options, load};
use fabius_trace::{Points, Verdict};
use fabius_verify::Plan;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// An answer in short.
#[derive(Debug, PartialEq)]
#[allow(dead_code)]
pub enum Found {
    Verified,
    /// The kind of bug, its cost, the message, the line.
    Bug(String, u32, String, u32),
    Other(String),
}

/// Reads C files; what is refused is shown.
#[allow(dead_code)]
pub fn read(files: &[&Path], options: &[String]) -> Result<Loaded, String> {
    let files: Vec<_> = files.iter().map(|f| f.to_path_buf()).collect();
    load(&files, &Options { preprocessor: options.to_vec(), ..Options::default() }).map_err(|failure| match failure {
        Failure::Plain(message) => message,
        Failure::Source { source, diagnostics } => {
            fabius_lang::render(&source, "c", &diagnostics, fabius_lang::Style::Plain)
        }
    })
}

/// Checks a program by preemptions.
#[allow(dead_code)]
pub fn check(files: &[&Path], points: &str) -> Found {
    check_with(files, points, &[])
}

/// The same with options for the preprocessor.
#[allow(dead_code)]
pub fn check_with(files: &[&Path], points: &str, options: &[String]) -> Found {
    let loaded = match read(files, options) {
        Ok(loaded) => loaded,
        Err(message) => return Found::Other(message),
    };
    let points = if points == "sync" { Points::Sync } else { Points::All };
    let plan = Plan { points, ..Plan::default() };
    let id = fabius_verify::program_id("x.c", &loaded.source, &[], &[]);
    let stop = AtomicBool::new(false);
    match fabius_verify::check(&loaded.program, &id, &plan, &stop, &|_| {}) {
        Err(error) => Found::Other(format!("{error:?}")),
        Ok(report) => match report.verdict {
            Verdict::Verified => Found::Verified,
            Verdict::Bug { trace } => {
                let line = trace.span.line_col(&loaded.source).line;
                Found::Bug(format!("{:?}", trace.kind), trace.cost, trace.message.clone(), line)
            }
            other => Found::Other(format!("{other:?}")),
        },
    }
}
