//! The answer, as text and as JSON.

use crate::args::AnswerArgs;
use crate::check::Loaded;
use crate::failure::{Failure, output};
use crate::html::{self, About};
use crate::paint::{Ink, Paint, stdout_width};
use crate::sarif::{self, Answered};
use crate::{documents, files, lanes};
use fabius_trace::{Bound, BugKind, ErrorTrace, Points, ProgramId, SchedulerKind, Verdict};
use fabius_verify::{Plan, Report, Strategy};
use std::io::IsTerminal;
use std::path::Path;

/// How a report is written.
#[derive(Clone, Copy)]
pub struct Style {
    pub paint: Paint,
    /// Columns.
    pub width: usize,
}

/// What was asked for, as far as an answer names it.
#[derive(Clone, Copy)]
pub struct Question {
    pub bound: Bound,
    pub scheduler: SchedulerKind,
    pub points: Points,
    /// Whether a bug that is found is one of least cost.
    pub least: bool,
}

impl From<&Plan> for Question {
    fn from(plan: &Plan) -> Question {
        let least = plan.strategy == Strategy::Iterative && plan.bound != Bound::None;
        Question { bound: plan.bound, scheduler: plan.scheduler, points: plan.points, least }
    }
}

/// Prints the answer and saves the trace of a bug, as the options ask for; returns the exit code. `statistics` is the
/// table for `--stats`, `document` what `--json` prints.
pub fn answer(
    found: &Report,
    question: Question,
    loaded: &Loaded,
    args: &AnswerArgs,
    statistics: impl FnOnce(&Report, Style) -> String,
    document: &documents::Answer<'_>,
) -> Result<u8, Failure> {
    let mut facts = vec![("time".to_string(), format!("{:.2} s", found.elapsed.as_secs_f64()))];
    if let Some(level) = found.levels.last().filter(|l| l.states > 0) {
        facts.push(("explored".into(), format!("{} states, {} transitions", level.states, level.transitions)));
    }
    let about = About {
        file: &loaded.id.file,
        source: &loaded.source,
        good: "no schedule breaks the program".into(),
        facts,
        levels: &found.levels,
    };
    let written = write(&found.verdict, about, args);
    let text = if args.json {
        documents::text(document)
    } else {
        let paint = Paint::new(args.output.color, std::io::stdout().is_terminal());
        let style = Style { paint, width: stdout_width() };
        let mut text = text(found, question, &loaded.source, &loaded.id, style);
        if args.stats {
            text += &statistics(found, style);
        }
        if let Verdict::Bug { .. } = found.verdict {
            text += &format!("\nreplay it: {}\n", style.paint.ink(Ink::Strong, &written.again));
        }
        text
    };
    files::print(&text)?;
    written.result?;
    Ok(found.verdict.exit_code())
}

/// Writes answers as SARIF.
pub fn write_sarif(path: &Path, answers: &[Answered<'_>], exit_code: u8) -> Result<(), Failure> {
    let here = std::env::current_dir().map_err(|e| output(format!("the current directory is not known: {e}")))?;
    files::write(path, &format!("{:#}\n", sarif::document(answers, exit_code, &here)))
}

/// What became of the files of an answer.
pub struct Written {
    /// The command that runs a bug again.
    pub again: String,
    /// Whether every file was written. The answer is printed first.
    pub result: Result<(), Failure>,
}

/// Writes the files that the options ask for: the trace of a bug, the answer for code scanning and as a page.
pub fn write(answer: &Verdict, about: About<'_>, args: &AnswerArgs) -> Written {
    let saved = match (answer, &args.trace) {
        (Verdict::Bug { trace }, Some(path)) => {
            let text = serde_json::to_string_pretty(trace).expect("traces are plain data");
            Some(files::write(path, &(text + "\n")))
        }
        _ => None,
    };
    let again = match args.trace.as_deref().filter(|_| saved.as_ref().is_some_and(Result::is_ok)) {
        Some(path) => replay_command(path),
        None => found_again(),
    };
    let answered = Answered { file: about.file, source: about.source, answer: Ok(answer) };
    let sarif = args.sarif.as_ref().map_or(Ok(()), |path| write_sarif(path, &[answered], answer.exit_code()));
    let page = args.html.as_ref().map(|path| html::write_answer(path, answer, about, Some(again.clone())));
    Written { again, result: saved.unwrap_or(Ok(())).and(sarif).and(page.unwrap_or(Ok(()))) }
}

/// The report for people.
pub fn text(report: &Report, question: Question, source: &str, id: &ProgramId, style: Style) -> String {
    let paint = style.paint;
    match &report.verdict {
        Verdict::Bug { trace } => bug(trace, question, source, style),
        Verdict::Verified => {
            let states = report.total_states.map(|n| match n {
                1 => "the only state was explored; ".to_string(),
                n => format!("all {n} states were explored; "),
            });
            format!(
                "{}: {}no schedule breaks {}\n{}",
                paint.ink(Ink::Good, "verified"),
                states.unwrap_or_default(),
                id.file,
                left_out(&report.limits)
            )
        }
        Verdict::NoBugWithinBounds { bounds } => format!(
            "{}: {} was explored\n{}Schedules beyond these bounds have not been looked at.\n",
            paint.ink(Ink::Strong, "no bug within bounds"),
            bounds.words(),
            left_out(&bounds.limits)
        ),
        Verdict::Unknown { reason, bounds } => {
            let why = reason.words();
            let so_far = match bounds.completed {
                Some(_) => format!("\nUntil then {} was explored, without a bug.\n", bounds.words()),
                None => "\n".to_string(),
            };
            format!("{}: {why}{so_far}", paint.ink(Ink::Strong, "unknown"))
        }
    }
}

/// What was left out.
fn left_out(limits: &[String]) -> String {
    limits.iter().map(|limit| format!("  but {limit}\n")).collect()
}

fn bug(trace: &ErrorTrace, question: Question, source: &str, style: Style) -> String {
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
    let least = question.least && trace.kind != BugKind::Livelock;
    let cost = match (bound, least) {
        (Bound::None, _) => String::new(),
        (bound, true) => format!(" with {}; with fewer there is no bug", bound.count(trace.cost)),
        (bound, false) => format!(" with {}", bound.count(trace.cost)),
    };
    let cost = if least && trace.cost == 0 { format!(" with {}", bound.count(0)) } else { cost };
    let steps = Bound::Depth.count(trace.steps.len() as u32);
    let cost = if bound == Bound::Depth && least { "; with fewer there is no bug".into() } else { cost };
    text += &format!("{steps}{cost}\n\n");
    text += &lanes::draw(trace, style.width, style.paint);
    text += &format!("\n{} {}\n", style.paint.ink(Ink::Bad, "  =>"), trace.message);
    text
}

/// The command that steps through a saved trace.
pub fn replay_command(trace: &Path) -> String {
    format!("fabius replay {}", quoted(&trace.display().to_string()))
}

/// Options that only name a file to write.
const OUTPUTS: [&str; 5] = ["--trace", "--html", "--sarif", "--junit", "--dot"];

/// The command that finds a bug again, and steps through it.
fn found_again() -> String {
    let mut words = std::env::args().skip(1);
    let mut command: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some((option, _)) if OUTPUTS.contains(&option) => {}
            None if OUTPUTS.contains(&word.as_str()) => drop(words.next()),
            _ => command.push(quoted(&word)),
        }
    }
    // `check` exits with 1 when it finds the bug, so the two are joined by `;`.
    format!("fabius {} --trace bug.json; fabius replay bug.json", command.join(" "))
}

/// A word of a command line.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
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
    text + &format!("{:.2} s, {:.1} MB for states\n", report.elapsed.as_secs_f64(), report.memory as f64 / 1e6)
}
