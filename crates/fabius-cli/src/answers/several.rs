//! The answers of `fabius check` about several files: a line for each, and below what is wrong with which.

use super::checked::Checked;
use crate::paint::{Ink, Paint, pad, printable, width};
use fabius_trace::{Bound, Verdict};
use fabius_verify::Plan;
use std::path::PathBuf;

/// A table with a line for each file.
pub struct Table<'a> {
    plan: &'a Plan,
    paint: Paint,
    /// Columns of the longest name.
    names: usize,
}

impl<'a> Table<'a> {
    /// A table of these files.
    pub fn of(files: &[PathBuf], plan: &'a Plan, paint: Paint) -> Table<'a> {
        let names = files.iter().map(|f| width(&printable(&f.display().to_string())));
        Table { plan, paint, names: names.max().unwrap_or(0).max("file".len()) }
    }

    /// The first line.
    pub fn heading(&self) -> String {
        self.line(["file", "verdict", "bound", "states", "time"], Ink::Strong)
    }

    /// The line of a file.
    pub fn of_file(&self, checked: &Checked) -> String {
        let (verdict, ink, bound) = in_short(checked, self.plan);
        let states = checked.outcome.as_ref().ok().and_then(|(_, report)| report.levels.last());
        let states = states.map_or("-".into(), |level| level.states.to_string());
        let time = format!("{:.2} s", checked.elapsed.as_secs_f64());
        self.line([&printable(&checked.file), verdict, &bound, &states, &time], ink)
    }

    fn line(&self, cells: [&str; 5], ink: Ink) -> String {
        let [file, verdict, bound, states, time] = cells;
        let verdict = self.paint.ink(ink, &pad(verdict, 20));
        format!("{}  {verdict}  {}  {states:>10}  {time:>9}\n", pad(file, self.names), pad(bound, 22))
    }
}

/// What must be known besides the lines.
pub fn notes(all: &[Checked]) -> String {
    let notes: String = all.iter().filter_map(note).collect();
    if notes.is_empty() { notes } else { format!("\n{notes}") }
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
            Verdict::Unknown { reason, .. } => Some(format!("{file}: {}\n", printable(&reason.words()))),
            Verdict::Verified | Verdict::NoBugWithinBounds { .. } => None,
        },
        Err(failure) => Some(format!("{file}: {}\n", printable(&failure.message()))),
    }
}
