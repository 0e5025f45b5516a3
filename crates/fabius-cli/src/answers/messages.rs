//! The answer of `fabius trace`, for people.

use super::lanes;
use super::shown::shown;
use crate::paint::{Ink, Style, printable};
use crate::program::LoadedTrace;
use fabius_messages::ctp::Ctp;
use fabius_messages::paths::{Side, Taken};
use fabius_messages::semantics::Matching;
use fabius_messages::{Plan, Property, Report};
use fabius_trace::{ErrorTrace, Verdict};

/// What was found out, and of what.
pub struct Answer<'a> {
    pub report: &'a Report,
    pub sides: Option<&'a [Side]>,
    pub plan: &'a Plan,
    pub loaded: &'a LoadedTrace,
}

/// What it means that there is no bug.
pub fn good(property: Property) -> &'static str {
    match property {
        Property::Assert => "no order of the messages fails an assertion",
        Property::Deadlock => "no order of the messages deadlocks",
        Property::Unmatched => "every order of the messages receives them all",
    }
}

/// The answer for people.
pub fn text(answer: &Answer<'_>, style: Style) -> String {
    let Answer { report, sides, plan, loaded } = *answer;
    let (paint, file) = (style.paint, printable(&loaded.id.file));
    let mut text = match &report.verdict {
        Verdict::Bug { trace } => bug(trace, &loaded.ctp, style),
        Verdict::Verified | Verdict::NoBugWithinBounds { .. } => {
            format!("{}: {} on the recorded path of {file}\n", paint.ink(Ink::Good, "verified"), good(plan.property))
        }
        Verdict::Unknown { reason, .. } => {
            format!("{}: {}\n", paint.ink(Ink::Strong, "unknown"), printable(&reason.words()))
        }
    };
    if let Some(found) = &report.enumerated {
        let count = found.outcomes.len();
        let least = if found.complete { "" } else { "at least " };
        let noun = if count == 1 { "matching" } else { "matchings" };
        text += &format!("\n{least}{count} {noun} of complete runs\n");
        for (matching, status) in &found.outcomes {
            text += &format!("  {}: {}\n", format!("{status:?}").to_lowercase(), named(matching, &loaded.ctp));
        }
    }
    for side in sides.unwrap_or_default() {
        let at = side.span.line_col(&loaded.ctp.source);
        let how = match &side.taken {
            Taken::Never => "no order of the messages takes it".to_string(),
            Taken::Unknown => "not known: time or numbers of 64 bits are not enough".to_string(),
            Taken::By(guide) => {
                let named = |(to, from): &(String, Vec<String>)| {
                    let from: Vec<String> = from.iter().map(|f| format!("@{f}")).collect();
                    (!from.is_empty()).then(|| format!("@{to} hears of {}", from.join(", ")))
                };
                let all: Vec<String> = guide.arrivals.iter().filter_map(named).collect();
                if all.is_empty() { "taken at once".into() } else { format!("taken when {}", all.join("; ")) }
            }
        };
        text += &format!("other path at {}:{}: `{}`: {how}\n", at.line, at.column, printable(&side.instead));
    }
    for (number, refinement) in report.refinements.iter().enumerate() {
        let pairs = named(&refinement.pairs, &loaded.ctp);
        text += &format!("refinement {}: {}; without {pairs}\n", number + 1, printable(&refinement.reason));
    }
    text
}

fn bug(trace: &ErrorTrace, ctp: &Ctp, style: Style) -> String {
    let trace = &shown(trace);
    let at = trace.span.line_col(&ctp.source);
    let head = style.paint.ink(Ink::Bad, "bug");
    let place = format!("{}:{}:{}", trace.program.file, at.line, at.column);
    let lanes = lanes::draw(trace, style);
    let end = style.paint.ink(Ink::Bad, "  =>");
    format!("{head}: {}\n  --> {place}\n\n{lanes}\n{end} {}\n", trace.message, trace.message)
}

/// `A-s1, B-s3`.
fn named(matching: &Matching, ctp: &Ctp) -> String {
    let pair = |(r, s): &(usize, usize)| format!("{}-{}", ctp.receives[*r].name, ctp.sends[*s].name);
    matching.iter().map(pair).collect::<Vec<_>>().join(", ")
}

pub fn statistics(report: &Report, loaded: &LoadedTrace, style: Style) -> String {
    let mut text = format!("\n{}\n", style.paint.ink(Ink::Strong, "what the answer took"));
    let mut row = |name: &str, what: String| text += &format!("{name:>12}  {what}\n");
    let ctp = &loaded.ctp;
    let commands = format!("{} nodes, {} sends, {} receives", ctp.nodes.len(), ctp.sends.len(), ctp.receives.len());
    row("trace", commands);
    row("pairs", format!("{} at the same endpoint, {} encoded", report.all_pairs, report.pairs));
    let kinds: Vec<String> =
        report.count.kinds().iter().filter(|k| k.1 > 0).map(|(k, n)| format!("{n} {}", k.replace('_', " "))).collect();
    row("clauses", format!("{} ({})", report.count.total(), kinds.join(", ")));
    row("terms", report.terms.to_string());
    row("refinements", report.refinements.len().to_string());
    let solver: Vec<String> = report.solver.iter().map(|(name, n)| format!("{n} {name}")).collect();
    row("solver", format!("{} queries, {}", report.queries, solver.join(", ")));
    row("encoding", format!("{:.3} s", report.encoding.as_secs_f64()));
    row("solving", format!("{:.3} s", report.solving.as_secs_f64()));
    row("all", format!("{:.3} s", report.elapsed.as_secs_f64()));
    text
}
