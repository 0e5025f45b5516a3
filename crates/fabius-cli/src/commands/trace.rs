//! `fabius trace`.

use crate::answers::documents::{self, messages::MessagesAnswer};
use crate::answers::give;
use crate::answers::messages::{Answer, good, statistics, text};
use crate::answers::page::About;
use crate::args::common::AnswerArgs;
use crate::args::trace::{BufferingArg, EncodingArg, PairsArg, PathsArg, PropertyArg, TraceArgs};
use crate::failure::{Failure, input, internal, no_solver, nothing_written};
use crate::outputs::refuse_losses;
use crate::paint::{Ink, Style, printable};
use crate::program::load_trace;
use crate::{files, stop};
use fabius_messages::encode::Encoding;
use fabius_messages::pairs::Precision;
use fabius_messages::paths::other_sides;
use fabius_messages::semantics::Buffering;
use fabius_messages::{Plan, Property, Report};
use fabius_trace::Verdict;
use fabius_verify::prove::Budget;
use std::time::Instant;

/// Runs the command; returns the exit code.
pub fn run(args: &TraceArgs) -> Result<u8, Failure> {
    let began = Instant::now();
    refuse_losses(&args.inputs(), &args.outputs())?;
    let stop = stop::on_interrupt();
    let mut plan = plan(args);
    let loaded = load_trace(&args.file, Budget { time: plan.time, memory: plan.memory, stop: &stop })?;
    // Reading the run is part of the time.
    plan.time = plan.time.map(|time| time.saturating_sub(began.elapsed()));
    if let [format, path] = args.dump.as_slice() {
        if format != "smt2" {
            return Err(input(format!("`{format}` is no format to write")).help("traces are written as smt2"));
        }
        let dumped = match &loaded.cut {
            Some(reason) => Err(reason.clone()),
            None => fabius_messages::dump(&loaded.ctp, &plan, &stop),
        };
        return match dumped {
            Ok(text) => files::write_or_print(path, &text).map(|()| 0),
            Err(reason) => {
                let nothing = nothing_written(&reason);
                let exact = plan.precision == Precision::Exact;
                let nothing = if exact { nothing.help("leave out `--pairs exact`") } else { nothing };
                Ok(files::unwritten(&nothing, args.answer.output.color))
            }
        };
    }
    let report = match &loaded.cut {
        Some(reason) => Report::unread(reason.clone()),
        None => fabius_messages::decide(&loaded.ctp, &loaded.id, &plan, &stop).map_err(wrong)?,
    };
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
        time: args.limits.time,
        memory: args.limits.memory,
    }
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
    let written = give::write(&report.verdict, about, args);
    if args.json {
        let Answer { report, sides, plan, loaded } = *answer;
        let document = MessagesAnswer::of(report, sides, plan, &loaded.ctp, &loaded.id);
        files::print(&documents::text(&document))?;
        return written.result;
    }
    let style = Style::of_stdout(args.output.color);
    let mut text = text(answer, style);
    if args.stats {
        text += &statistics(report, answer.loaded, style);
    }
    if let Verdict::Bug { .. } = report.verdict {
        text += &format!("\nreplay it: {}\n", style.paint.ink(Ink::Strong, &printable(&written.again)));
    }
    files::print_in(style.paint, &text)?;
    written.result
}
