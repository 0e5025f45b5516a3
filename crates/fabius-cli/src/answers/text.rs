//! The answer of `fabius check` and `fabius verify`, for people.

use super::checked::{Checked, Question};
use super::helps::{what_helps, what_proves};
use super::lanes;
use super::shown::shown;
use crate::paint::{Ink, Style, printable};
use fabius_lang::program::{Block, ProcId, Program, StmtKind};
use fabius_trace::{Bound, BugKind, ErrorTrace, ProgramId, Verdict};
use fabius_verify::{Plan, Report, Symmetry};
use std::collections::BTreeMap;

/// The answer for people.
pub fn told(checked: &Checked, plan: &Plan, style: Style) -> String {
    match &checked.outcome {
        Ok((loaded, report)) => text(report, Question::from(plan), &loaded.source, &loaded.id, style),
        Err(failure) => failure.text(style.paint.style()),
    }
}

/// The report for people.
pub fn text(report: &Report, question: Question, source: &str, id: &ProgramId, style: Style) -> String {
    let paint = style.paint;
    match &report.verdict {
        Verdict::Bug { trace } => bug(trace, report.completed, question, source, style),
        Verdict::Verified => {
            let some = report.levels.last().filter(|_| report.reduction).map(|level| level.states);
            let states = report.total_states.or(some).map(|n| match n {
                _ if report.reduction => {
                    let up_to = up_to(report.symmetry).map(|words| words + ", ").unwrap_or_default();
                    format!("{n} states were explored, {up_to}with independent steps in one order; ")
                }
                1 => match report.outcomes {
                    Some(n) if n > 1 => {
                        format!("the only state was explored, which all {n} outcomes of choices lead to; ")
                    }
                    _ => "the only state was explored; ".to_string(),
                },
                n => match up_to(report.symmetry) {
                    Some(words) => format!("all {n} states were explored, {words}; "),
                    None => format!("all {n} states were explored; "),
                },
            });
            let (but, otherwise) = match report.limits.join(", and ") {
                none if none.is_empty() => (none, ""),
                limits => (format!(", but {}", printable(&limits)), "otherwise "),
            };
            format!(
                "{}{but}: {}{otherwise}no schedule breaks {}\n{}",
                paint.ink(Ink::Good, "verified"),
                states.unwrap_or_default(),
                printable(&id.file),
                endless(report),
            )
        }
        Verdict::NoBugWithinBounds { bounds } => format!(
            "{}: {} was explored\n{}Schedules beyond these bounds have not been looked at.\n{}{}",
            paint.ink(Ink::Strong, "no bug within bounds"),
            bounds.words(),
            left_out(&bounds.limits),
            what_proves(bounds).map(|help| format!("  = help: {help}\n")).unwrap_or_default(),
            endless(report),
        ),
        Verdict::Unknown { reason, bounds } => {
            let why = printable(&reason.words());
            let so_far = match bounds.completed {
                // Of no execution nothing was found out.
                Some(_) if !report.verdict.is_vacuous() => {
                    format!("\nUntil then {} was explored, without a bug.\n", bounds.words())
                }
                _ => "\n".to_string(),
            };
            let helps: String = what_helps(reason, &bounds.limits)
                .iter()
                .map(|help| format!("  = help: {}\n", printable(help)))
                .collect();
            format!("{}: {why}{so_far}{}{helps}", paint.ink(Ink::Strong, "unknown"), left_out(&bounds.limits))
        }
    }
}

/// What is said where no execution comes to an end.
fn endless(report: &Report) -> &'static str {
    if report.endless {
        "No execution comes to an end: all go on for ever.\n  = help: mark by `progress;` what is progress, and `check --livelock` says whether one goes on without\n"
    } else {
        ""
    }
}

/// Which states count as one.
fn up_to(symmetry: Symmetry) -> Option<String> {
    let alike = match (symmetry.threads || symmetry.joined, symmetry.values) {
        (true, true) => "threads or values",
        (true, false) => "threads",
        (false, true) => "values",
        (false, false) => return None,
    };
    Some(format!("up to which of equal {alike} is which"))
}

/// What was left out.
fn left_out(limits: &[String]) -> String {
    limits.iter().map(|limit| format!("  but {}\n", printable(limit))).collect()
}

/// What is said of less than the bug costs, if everything was explored up to that.
pub fn with_fewer(trace: &ErrorTrace, completed: Option<u32>) -> &'static str {
    match completed {
        Some(completed) if completed + 1 >= trace.cost => "with fewer there is no bug",
        _ => "with fewer none was found, but not every execution was followed to its end",
    }
}

fn bug(trace: &ErrorTrace, completed: Option<u32>, question: Question, source: &str, style: Style) -> String {
    let trace = &shown(trace);
    let at = trace.span.line_col(source);
    let mut text = format!(
        "{}: {}\n  --> {}:{}:{}\n",
        style.paint.ink(Ink::Bad, "bug"),
        trace.message,
        trace.program.file,
        at.line,
        at.column
    );
    // The cost of a cycle is that of the first one that is found.
    let Question { bound, .. } = question;
    let least = question.least && !matches!(trace.kind, BugKind::Livelock | BugKind::Liveness);
    let cost = match (bound, least) {
        (Bound::None, _) => String::new(),
        (bound, true) => format!(" with {}; {}", bound.count(trace.cost), with_fewer(trace, completed)),
        (bound, false) => format!(" with {}", bound.count(trace.cost)),
    };
    let cost = if least && trace.cost == 0 { format!(" with {}", bound.count(0)) } else { cost };
    let steps = Bound::Depth.count(trace.steps.len() as u32);
    let cost = if bound == Bound::Depth && least { "; with fewer there is no bug".into() } else { cost };
    text += &format!("{steps}{cost}\n\n");
    text += &lanes::draw(trace, style);
    text += &format!("\n{} {}\n", style.paint.ink(Ink::Bad, "  =>"), trace.message);
    text
}

/// So many threads that do the same are many.
const MANY: u32 = 4;

/// What looks at any number of threads, if there are many that do the same.
pub fn advice(program: &Program) -> String {
    let many = program.processes.iter().filter_map(|p| Some((&p.name, p.count.filter(|count| *count >= MANY)?)));
    let declared = many.map(|(name, count)| {
        let name = printable(name);
        format!(
            "{count} threads of `process {name}`: as `process {name}[*]`, `fabius verify --threads any` looks at any number of them\n"
        )
    });
    let mut started = BTreeMap::new();
    if let Some(init) = program.init {
        count_started(&program.procs[init].body, 1, &mut started);
    }
    let many = started.into_iter().filter(|(_, count)| *count >= MANY);
    let made = many.map(|(proc, _)| {
        let name = printable(&program.procs[proc].name);
        format!(
            "many threads of `proc {name}`: as `process {name}[*]`, `fabius verify --threads any` looks at any number of them\n"
        )
    });
    declared.chain(made).collect()
}

/// How many threads a block starts of which procedure and keeps no handle of, where a loop starts `MANY`.
fn count_started(block: &Block, each: u32, started: &mut BTreeMap<ProcId, u32>) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Spawn(None, proc, _) => *started.entry(*proc).or_default() += each,
            StmtKind::While(_, body) => count_started(body, MANY, started),
            StmtKind::Atomic(body) => count_started(body, each, started),
            _ => {}
        }
    }
}

/// What was explored, bound by bound.
pub fn statistics(report: &Report, style: Style) -> String {
    let heading =
        format!("{:>6}  {:>12}  {:>12}  {:>7}  {:>12}", "bound", "executions", "states", "share", "transitions");
    let mut text = format!("\n{}\n", style.paint.ink(Ink::Strong, &heading));
    for level in &report.levels {
        let share =
            report.total_states.filter(|t| *t > 0).map(|t| format!("{:.1}%", level.states as f64 * 100.0 / t as f64));
        text += &format!(
            "{:>6}  {:>12}  {:>12}  {:>7}  {:>12}\n",
            level.bound,
            level.executions,
            level.states,
            share.unwrap_or_else(|| "?".into()),
            level.transitions
        );
    }
    let reduced = report.reduction.then(|| "with independent steps in one order".to_string());
    let saved: Vec<String> = up_to(report.symmetry).into_iter().chain(reduced).collect();
    if !saved.is_empty() {
        text += &format!("states {}\n", saved.join(", "));
    }
    text + &format!("{:.2} s, {:.1} MB for states\n", report.elapsed.as_secs_f64(), report.memory as f64 / 1e6)
}
