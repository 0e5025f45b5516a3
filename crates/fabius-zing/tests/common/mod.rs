//! Programs in ZING, explored.
#![allow(dead_code)]

use fabius_lang::program::Program;
use fabius_trace::{Bound, BugKind, Verdict};
use fabius_verify::{Plan, check, program_id};
use std::sync::atomic::AtomicBool;

/// What exploration says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    Bug(BugKind),
    None,
    /// A limit was hit.
    Nothing,
}

/// The program of a text; what is refused as it is shown.
pub fn compiled(source: &str) -> Result<Program, String> {
    fabius_zing::compile(source, &[])
        .map_err(|wrong| fabius_lang::render(source, "x.zing", &wrong, fabius_lang::Style::Plain))
}

/// What exploration of all states says. A bug has been replayed in the reference semantics.
pub fn answer(program: &Program) -> Said {
    let id = program_id("", &program.source, &[], &[]);
    let plan = Plan { bound: Bound::None, jobs: 1, ..Plan::default() };
    let stop = AtomicBool::new(false);
    let report = check(program, &id, &plan, &stop, &|_| {}).unwrap_or_else(|e| panic!("{e:?}\n{}", program.source));
    match report.verdict {
        Verdict::Bug { trace } => Said::Bug(trace.kind),
        Verdict::Verified => Said::None,
        _ => Said::Nothing,
    }
}
