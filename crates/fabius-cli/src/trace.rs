//! `fabius trace`.

use crate::args::{AnswerArgs, BufferingArg, EncodingArg, PairsArg, PathsArg, PropertyArg, TraceArgs};
use crate::check::stop_on_interrupt;
use crate::documents::messages::MessagesAnswer;
use crate::failure::{Failure, input, internal, no_solver};
use crate::html::About;
use crate::paint::{Ink, Paint, stdout_width};
use crate::report::{self, Style};
use crate::{documents, files, lanes};
use fabius_messages::ctp::Ctp;
use fabius_messages::encode::Encoding;
use fabius_messages::pairs::Precision;
use fabius_messages::paths::{Side, Taken, other_sides};
use fabius_messages::semantics::{Buffering, Matching};
use fabius_messages::{Plan, Property, Report};
use fabius_trace::{ErrorTrace, ProgramId, Verdict};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A trace program as the command line names it.
pub struct LoadedTrace {
    pub ctp: Ctp,
    pub id: ProgramId,
}

/// Reads a trace program.
pub fn load(path: &Path) -> Result<LoadedTrace, Failure> {
    let source = files::read(path)?;
    let file = path.display().to_string();
    let ctp = fabius_messages::parse(&source).map_err(|diagnostics| Failure::Source {
        source: source.clone(),
        file: file.clone(),
        diagnostics,
    })?;
    Ok(LoadedTrace { id: fabius_verify::program_id(&file, &source, &[], &[]), ctp })
}

/// Runs the command; returns the exit code.
pub fn run(args: &TraceArgs) -> Result<u8, Failure> {
    let loaded = load(&args.file)?;
    let plan = plan(args);
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_interrupt(&stop);
    if let [format, path] = args.dump.as_slice() {
        if format != "smt2" {
            return Err(input(format!("`{format}` is no format to write")).help("traces are written as smt2"));
        }
        let text = fabius_messages::dump(&loaded.ctp, &plan, &stop);
        let text = text.map_err(|reason| {
            let wrong = input(format!("nothing is written: {}", reason.words()));
            if plan.precision == Precision::Exact { wrong.help("leave out `--pairs exact`") } else { wrong }
        })?;
        files::write(Path::new(path), &text)?;
        return Ok(0);
    }
    let report = fabius_messages::decide(&loaded.ctp, &loaded.id, &plan, &stop).map_err(wrong)?;
    let sides = match args.paths {
        PathsArg::Recorded => None,
        PathsArg::All => {
            let left = plan.time.map(|t| t.saturating_sub(report.elapsed));
            Some(other_sides(&loaded.ctp, &Plan { time: left, ..plan.clone() }, &stop).map_err(wrong)?)
        }
    };
    answer(&Answer { report: &report, sides: sides.as_deref(), plan: &plan, loaded: &loaded }, &args.answer)?;
    Ok(report.verdict.exit_code())
}

fn wrong(error: fabius_messages::Error) -> Failure {
    match error {
        fabius_messages::Error::Solver(message) => no_solver(message),
        fabius_messages::Error::Internal(message) => internal(message),
    }
}

fn plan(args: &TraceArgs) -> Plan {
    Plan {
        property: match args.property {
            PropertyArg::Assert => Property::Assert,
            PropertyArg::Deadlock => Property::Deadlock,
            PropertyArg::Unmatched => Property::Unmatched,
        },
        buffering: match args.buffering {
            BufferingArg::Infinite => Buffering::Infinite,
            BufferingArg::Zero => Buffering::Zero,
        },
        precision: match args.pairs {
            PairsArg::Exact => Precision::Exact,
            PairsArg::Tight => Precision::Tight,
            PairsArg::All => Precision::All,
        },
        encoding: match args.encoding {
            EncodingArg::Sparse => Encoding::Sparse,
            EncodingArg::MatchPair => Encoding::MatchPair(Default::default()),
            EncodingArg::Order => Encoding::Order,
        },
        solver: args.solver.choice(),
        refine: !args.no_refine,
        enumerate: args.enumerate,
        time: args.time,
        memory: args.memory,
    }
}

/// What was found out, and of what.
struct Answer<'a> {
    report: &'a Report,
    sides: Option<&'a [Side]>,
    plan: &'a Plan,
    loaded: &'a LoadedTrace,
}

fn answer(answer: &Answer<'_>, args: &AnswerArgs) -> Result<(), Failure> {
    let report = answer.report;
    let about = About {
        file: &answer.loaded.id.file,
        source: &answer.loaded.ctp.source,
        good: format!("{} on the recorded path", good(answer.plan.property)),
        facts: vec![("time".into(), format!("{:.2} s", report.elapsed.as_secs_f64()))],
        levels: &[],
    };
    let written = report::write(&report.verdict, about, args);
    if args.json {
        let Answer { report, sides, plan, loaded } = *answer;
        let document = MessagesAnswer::of(report, sides, plan, &loaded.ctp, &loaded.id);
        files::print(&documents::text(&document))?;
        return written.result;
    }
    let paint = Paint::new(args.output.color, std::io::stdout().is_terminal());
    let style = Style { paint, width: stdout_width() };
    let mut text = text(answer, style);
    if args.stats {
        text += &statistics(report, answer.loaded, style);
    }
    if let Verdict::Bug { .. } = report.verdict {
        text += &format!("\nreplay it: {}\n", style.paint.ink(Ink::Strong, &written.again));
    }
    files::print(&text)?;
    written.result
}

/// What it means that there is no bug.
fn good(property: Property) -> &'static str {
    match property {
        Property::Assert => "no order of the messages fails an assertion",
        Property::Deadlock => "no order of the messages deadlocks",
        Property::Unmatched => "every order of the messages receives them all",
    }
}

/// The answer for people.
fn text(answer: &Answer<'_>, style: Style) -> String {
    let Answer { report, sides, plan, loaded } = *answer;
    let (paint, file) = (style.paint, &loaded.id.file);
    let mut text = match &report.verdict {
        Verdict::Bug { trace } => bug(trace, &loaded.ctp, style),
        Verdict::Verified | Verdict::NoBugWithinBounds { .. } => {
            format!("{}: {} on the recorded path of {file}\n", paint.ink(Ink::Good, "verified"), good(plan.property))
        }
        Verdict::Unknown { reason, .. } => {
            format!("{}: {}\n", paint.ink(Ink::Strong, "unknown"), reason.words())
        }
    };
    if let Some(found) = &report.enumerated {
        let count = found.outcomes.len();
        let least = if found.complete { "" } else { "at least " };
        let noun = if count == 1 { "matching" } else { "matchings" };
        text += &format!("\n{least}{count} {noun} of complete runs\n");
        for (matching, status) in &found.outcomes {
            text += &format!("  {}: {}\n", format!("{status:?}").to_lowercase(), shown(matching, &loaded.ctp));
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
        text += &format!("other path at {}:{}: `{}`: {how}\n", at.line, at.column, side.instead);
    }
    for (number, refinement) in report.refinements.iter().enumerate() {
        let pairs = shown(&refinement.pairs, &loaded.ctp);
        text += &format!("refinement {}: {}; without {pairs}\n", number + 1, refinement.reason);
    }
    text
}

fn bug(trace: &ErrorTrace, ctp: &Ctp, style: Style) -> String {
    let at = trace.span.line_col(&ctp.source);
    let head = style.paint.ink(Ink::Bad, "bug");
    let place = format!("{}:{}:{}", trace.program.file, at.line, at.column);
    let lanes = lanes::draw(trace, style.width, style.paint);
    let end = style.paint.ink(Ink::Bad, "  =>");
    format!("{head}: {}\n  --> {place}\n\n{lanes}\n{end} {}\n", trace.message, trace.message)
}

/// `A-s1, B-s3`.
fn shown(matching: &Matching, ctp: &Ctp) -> String {
    let pair = |(r, s): &(usize, usize)| format!("{}-{}", ctp.receives[*r].name, ctp.sends[*s].name);
    matching.iter().map(pair).collect::<Vec<_>>().join(", ")
}

fn statistics(report: &Report, loaded: &LoadedTrace, style: Style) -> String {
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
