//! `fabius check` of several files: a line for each, and the worst answer decides.
//!
//! A file that cannot be checked is reported with its diagnostics, and the others still run.

use crate::args::CheckArgs;
use crate::check::{self, Loaded};
use crate::documents;
use crate::failure::Failure;
use crate::paint::{Ink, Paint, pad, printable, stdout_width, width};
use crate::report::{self, Question, Style, write_sarif};
use crate::sarif::Answered;
use crate::{BAD_INPUT, files};
use fabius_trace::{Bound, Verdict};
use fabius_verify::{Plan, Report};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What became of one file.
pub struct Checked {
    /// As the user gave it.
    pub file: String,
    /// The answer, or why there is none.
    pub outcome: Result<(Loaded, Report), Failure>,
    /// How long it took.
    pub elapsed: Duration,
}

impl Checked {
    /// The exit code, were it the only file.
    pub fn exit_code(&self) -> u8 {
        self.outcome.as_ref().map_or(BAD_INPUT, |(_, report)| report.verdict.exit_code())
    }

    /// The same for code scanning.
    pub fn answered(&self) -> Answered<'_> {
        let source = self.outcome.as_ref().map_or("", |(loaded, _)| &loaded.source);
        let answer = self.outcome.as_ref().map(|(_, report)| &report.verdict);
        Answered { file: &self.file, source, answer }
    }
}

/// The worst of some exit codes: bad input, then bugs, then what is unknown.
pub fn worst(codes: impl Iterator<Item = u8>) -> u8 {
    let badness = |code: &u8| match code {
        0 => 0,
        3 => 1,
        1 => 2,
        _ => 3,
    };
    codes.max_by_key(badness).unwrap_or(0)
}

/// Runs the command; returns the exit code.
pub fn run(args: &CheckArgs, plan: &Plan, stop: &Arc<AtomicBool>) -> Result<u8, Failure> {
    let began = Instant::now();
    let paint = Paint::new(args.answer.output.color, std::io::stdout().is_terminal());
    let style = Style { paint, width: stdout_width() };
    let names = args.files.iter().map(|f| width(&printable(&f.display().to_string())));
    let name_width = names.max().unwrap_or(0).max("file".len());
    let line = |cells: [&str; 5], ink: Ink| {
        let [file, verdict, bound, states, time] = cells;
        let verdict = paint.ink(ink, &pad(verdict, 20));
        format!("{}  {verdict}  {}  {states:>10}  {time:>9}\n", pad(file, name_width), pad(bound, 22))
    };
    if !args.answer.json {
        let heading = line(["file", "verdict", "bound", "states", "time"], Ink::Strong);
        files::print(&heading)?;
    }
    let mut all = Vec::new();
    for file in &args.files {
        let checked = check::check(file, args, plan, stop);
        if let Err(failure) = &checked.outcome {
            eprint!("{}", failure.text(Paint::new(args.answer.output.color, std::io::stderr().is_terminal()).style()));
        }
        if !args.answer.json {
            let (verdict, ink, bound) = in_short(&checked, plan);
            let states = checked.outcome.as_ref().ok().and_then(|(_, report)| report.levels.last());
            let states = states.map_or("-".into(), |level| level.states.to_string());
            let time = format!("{:.2} s", checked.elapsed.as_secs_f64());
            files::print(&line([&printable(&checked.file), verdict, &bound, &states, &time], ink))?;
        }
        all.push(checked);
    }
    let code = worst(all.iter().map(Checked::exit_code));
    if args.answer.json {
        files::print(&documents::text(&documents::Several::of(&all, plan, code, began.elapsed())))?;
    } else {
        let notes: String = all.iter().filter_map(note).collect();
        files::print(&if notes.is_empty() { notes } else { format!("\n{notes}") })?;
        for checked in all.iter().filter(|_| args.answer.stats) {
            if let Ok((_, report)) = &checked.outcome {
                files::print(&format!("\n{}{}", printable(&checked.file), report::statistics(report, style)))?;
            }
        }
    }
    let junit = check::write_junit(args, plan, &all);
    let answers: Vec<Answered<'_>> = all.iter().map(Checked::answered).collect();
    let sarif = args.answer.sarif.as_ref().map_or(Ok(()), |path| write_sarif(path, &answers, code));
    junit.and(sarif)?;
    Ok(code)
}

/// The verdict, its colour, and what it cost or how far it goes.
fn in_short(checked: &Checked, plan: &Plan) -> (&'static str, Ink, String) {
    let Ok((_, report)) = &checked.outcome else { return ("error", Ink::Bad, "-".into()) };
    let up_to = |completed: Option<u32>| match (plan.bound, completed) {
        (_, None) => "-".to_string(),
        (Bound::None, Some(_)) => "every schedule".into(),
        (bound, Some(n)) => format!("at most {}", bound.count(n)),
    };
    match &report.verdict {
        Verdict::Bug { .. } if plan.bound == Bound::None => ("bug", Ink::Bad, "-".into()),
        Verdict::Bug { trace } => ("bug", Ink::Bad, plan.bound.count(trace.cost)),
        Verdict::Verified => ("verified", Ink::Good, "every schedule".into()),
        Verdict::NoBugWithinBounds { bounds } => ("no bug within bounds", Ink::Strong, up_to(bounds.completed)),
        Verdict::Unknown { bounds, .. } => ("unknown", Ink::Strong, up_to(bounds.completed)),
    }
}

/// What must be known of a file besides its line.
fn note(checked: &Checked) -> Option<String> {
    let file = printable(&checked.file);
    match &checked.outcome {
        Ok((loaded, report)) => match &report.verdict {
            Verdict::Bug { trace } => {
                let at = trace.span.line_col(&loaded.source);
                Some(format!("{file}:{}:{}: {}\n", at.line, at.column, printable(&trace.message)))
            }
            Verdict::Unknown { reason, .. } => Some(format!("{file}: {}\n", reason.words())),
            Verdict::Verified | Verdict::NoBugWithinBounds { .. } => None,
        },
        Err(failure) => Some(format!("{file}: {}\n", printable(&failure.message()))),
    }
}

/// The answer for people.
pub fn told(checked: &Checked, plan: &Plan, style: Style) -> String {
    match &checked.outcome {
        Ok((loaded, report)) => report::text(report, Question::from(plan), &loaded.source, &loaded.id, style),
        Err(failure) => failure.text(style.paint.style()),
    }
}
