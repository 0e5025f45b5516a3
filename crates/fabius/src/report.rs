//! What a check says: a line if the test does not fail, the failing execution in lanes if it does.

use crate::command;
use crate::rerun::Rerun;
use fabius_trace::{
    Bound, Bounds, ErrorTrace, Grown, LevelStats, Mark, Reason, SchedulerKind, Stretch, Verdict, stretches,
};
use std::fmt::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

/// The answer of a check.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The answer. [`Verdict::Verified`]: every execution was explored; under which memory, the text says.
    pub verdict: Verdict,
    /// What was explored at each value of the bound. The last may be unfinished, and counts what was then explored without a bound.
    /// The states are distinct happens-before relations (with stale reads without a limit of their own: execution graphs), or 0 where not all were counted: see [`crate::Config::count_classes_in_first`].
    pub levels: Vec<LevelStats>,
    /// Distinct classes of executions (as in [`Report::levels`]) after so many, if they were explored in one way only: some points of the
    /// curve, and its end, as far as they were counted ([`crate::Config::count_classes_in_first`]).
    pub growth: Vec<Grown>,
    /// Executions that were explored in order.
    pub executions: u64,
    /// After how many of them the search within a bound on preemptions began anew, if it did, because many had come to few classes:
    /// see [`crate::Config::persistent_sets`].
    pub anew: Option<u64>,
    /// Executions at random.
    pub walks: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// The schedule of the failing execution, for [`crate::replay`].
    pub replay: Option<String>,
    /// Where the trace of the failing execution was saved, with the feature `traces`.
    pub saved: Option<PathBuf>,
    pub(crate) text: Option<String>,
    /// Whether no execution that was explored in the order of cost came to its end.
    pub(crate) nothing_ends: bool,
    /// How many deviations an execution may have, if the test uses an ordering that allows any.
    pub(crate) stale: Option<u32>,
    /// What each of them costs.
    pub(crate) price_of_stale: u32,
}

impl Report {
    /// Whether an execution fails.
    pub fn is_bug(&self) -> bool {
        matches!(self.verdict, Verdict::Bug { .. })
    }

    /// The failing execution.
    pub fn trace(&self) -> Option<&ErrorTrace> {
        match &self.verdict {
            Verdict::Bug { trace } => Some(trace),
            _ => None,
        }
    }

    /// The failing execution for people.
    pub fn failure(&self) -> Option<String> {
        let mut text = self.text.clone()?;
        if let Some(path) = &self.saved {
            let _ = writeln!(text, "the whole trace: {}", path.display());
            let _ = writeln!(text, "to look at: {}", path.with_extension("html").display());
        }
        if cfg!(not(feature = "traces")) {
            let _ = writeln!(text, "as a web page to step through: with the feature `traces` of fabius");
        }
        let _ = write!(text, "found after {}", self.effort());
        Some(printable(&text))
    }

    /// Under which memory.
    fn memory(&self) -> String {
        match self.stale {
            None | Some(0) => "under sequential consistency, with races judged by the orderings".into(),
            Some(u32::MAX) => "with stale reads".into(),
            Some(most) => format!("with {} in each execution", at_most(most)),
        }
    }

    /// What is counted with what a bound counts, or that nothing is.
    fn together(&self, bounds: &Bounds) -> &'static str {
        match self.stale {
            Some(1..) if bounds.bound == Bound::None => "",
            Some(1..) if self.price_of_stale == 0 => ", with stale reads, which cost nothing",
            Some(1..) => " and stale reads together",
            None | Some(0) => ", under sequential consistency",
        }
    }

    fn effort(&self) -> String {
        let all = self.executions + self.walks;
        let seconds = self.elapsed.as_secs_f64();
        let rate = if seconds > 0.0 { all as f64 / seconds } else { 0.0 };
        let s = if all == 1 { "" } else { "s" };
        format!("{all} execution{s} in {seconds:.2} s ({rate:.0} per second)")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fabius: ")?;
        match &self.verdict {
            Verdict::Bug { trace } => write!(f, "fails: {}", printable(&trace.message))?,
            Verdict::Verified => write!(f, "no failing execution; all were explored, {}", self.memory())?,
            Verdict::NoBugWithinBounds { bounds } => {
                write!(f, "no failing execution {}{}", within(bounds), self.together(bounds))?;
                bounds.limits.iter().try_for_each(|limit| write!(f, ", but {limit}"))?;
            }
            Verdict::Unknown { reason, bounds } => {
                let why = cut_by(reason);
                // What was left out within the bounds, too, is said before what they say.
                let (left_out, but_for) = match bounds.limits.contains(&why) {
                    true => ("", "; but for that, "),
                    false => ("cut short by ", "; "),
                };
                write!(f, "no failing execution so far; {left_out}{why}")?;
                if bounds.completed.is_some() {
                    write!(f, "{but_for}none {}{}", within(bounds), self.together(bounds))?;
                    let mut limits = bounds.limits.iter().filter(|limit| **limit != why);
                    limits.try_for_each(|limit| write!(f, ", but {limit}"))?;
                }
            }
        }
        if self.walks > 0 && self.executions > 0 {
            write!(f, ", nor in {} random ones", self.walks)?;
        }
        if self.nothing_ends && matches!(self.verdict, Verdict::NoBugWithinBounds { .. }) {
            f.write_str("; none comes to its end within the bound")?;
        }
        write!(f, "; {}", self.effort())?;
        self.anew.map_or(Ok(()), |anew| write!(f, ", with persistent sets after {anew}"))
    }
}

/// The text without anything that moves a terminal's cursor or turns the text around it: a space in the place of each.
fn printable(text: &str) -> String {
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if c != '\n' && (c.is_control() || turns(c)) { ' ' } else { c }).collect()
}

/// How many deviations there are at most.
pub(crate) fn at_most(deviations: u32) -> String {
    format!("at most {deviations} stale read{}", if deviations == 1 { "" } else { "s" })
}

fn within(bounds: &Bounds) -> String {
    let k = bounds.completed.unwrap_or(0);
    let (one, many) = match bounds.bound {
        Bound::None => return "in what was explored".into(),
        Bound::Contexts => ("switch", "switches"),
        Bound::Preemptions => ("preemption", "preemptions"),
        Bound::Delays => ("delay", "delays"),
        Bound::Depth => ("step", "steps"),
        Bound::Rounds => ("round", "rounds"),
    };
    let what = if k == 1 { one } else { many };
    let of = match bounds.scheduler {
        SchedulerKind::Bag | SchedulerKind::BoundedBag(_) => "",
        SchedulerKind::RoundRobin => " of the round-robin scheduler",
        SchedulerKind::DepthFirst => " of the depth-first scheduler",
    };
    format!("within {k} {what}{of}")
}

fn cut_by(reason: &Reason) -> String {
    match reason {
        Reason::Time => "the time limit".into(),
        Reason::Memory => "the memory limit".into(),
        Reason::Interrupted => "an interruption".into(),
        Reason::Executions => "the number of executions".into(),
        Reason::Program { message } | Reason::Vacuous { message } | Reason::Solver { message } => message.clone(),
    }
}

/// A failing execution in lanes.
pub(crate) fn render(trace: &ErrorTrace, rerun: &Rerun, check: &str, schedule: &str) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "\nfabius: {}", trace.message);
    for detail in &rerun.details {
        let _ = writeln!(out, "  {detail}");
    }
    let counted = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let (threads, operations) = (counted(trace.lanes.len(), "thread"), counted(rerun.rows.len(), "operation"));
    let _ = writeln!(out, "{threads}, {operations}, {}", trace.price());
    let _ = writeln!(out);
    let places: Vec<String> = rerun.rows.iter().map(|r| format!("{}:{}", short(&r.file), r.line)).collect();
    let left = places.iter().map(String::len).max().unwrap_or(0).max(4);
    let cells: Vec<String> = rerun
        .rows
        .iter()
        .map(|r| match &r.value {
            Some(value) => format!("{} ({value})", r.text),
            None => r.text.clone(),
        })
        .collect();
    let widths: Vec<usize> = (0..trace.lanes.len())
        .map(|lane| {
            let own = rerun.rows.iter().zip(&cells).filter(|(r, _)| r.thread == lane).map(|(_, c)| c.chars().count());
            own.max().unwrap_or(0).max(trace.lanes[lane].name.chars().count()) + 2
        })
        .collect();
    let _ = write!(out, "  {:left$}  ", "");
    for (lane, width) in trace.lanes.iter().zip(&widths) {
        let _ = write!(out, "{:width$}", lane.name);
    }
    trim(&mut out);
    let mut lines = Vec::new();
    let mut step = 0;
    for ((row, place), cell) in rerun.rows.iter().zip(&places).zip(&cells) {
        for step in step + 1..=row.step {
            if trace.steps.get(step - 1).is_some_and(|s| s.mark == Some(Mark::Preemption)) {
                lines.push(Line::Preemption);
            }
        }
        step = step.max(row.step);
        let indent: usize = widths[..row.thread].iter().sum();
        lines.push(Line::Operation(format!("  {place:left$}  {:indent$}{cell}", "")));
    }
    write_folded(&mut out, &lines, left);
    let _ = writeln!(out, "\nreplay it: {}", command::again(check, schedule));
    out
}

#[derive(PartialEq)]
enum Line {
    Preemption,
    Operation(String),
}

/// Lines that are repeated more often are folded.
const REPEATED: usize = 3;

/// Writes lines; those that a loop repeats only once.
fn write_folded(out: &mut String, lines: &[Line], left: usize) {
    let mut preemptions = 0;
    for Stretch { start, length, times } in stretches(lines, REPEATED, Line::eq) {
        let once = &lines[start..start + length];
        for line in once {
            match line {
                Line::Preemption => {
                    preemptions += 1;
                    let _ = writeln!(out, "  {:left$}  -- preemption {preemptions} --", "");
                }
                Line::Operation(text) => {
                    out.push_str(text);
                    trim(out);
                }
            }
        }
        if times > 1 {
            let of = if length == 1 { String::new() } else { format!("these {length} lines ") };
            let _ = writeln!(out, "  {:left$}  .. {of}{} times more", "", times - 1);
            preemptions += once.iter().filter(|l| **l == Line::Preemption).count() * (times - 1);
        }
    }
}

fn trim(out: &mut String) {
    let length = out.trim_end_matches(' ').len();
    out.truncate(length);
    out.push('\n');
}

fn short(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}
