//! `fabius run`: explores a C or C++ program that `fabius cc` has built.

use crate::answers::again::run_again;
use crate::answers::checked::Question;
use crate::answers::give::write_sarif;
use crate::answers::junit::{self, Case};
use crate::answers::sarif::Answered;
use crate::answers::shown::shown;
use crate::answers::{documents, lanes, page, text};
use crate::args::native::RunArgs;
use crate::failure::{self, Failure, input};
use crate::native::{target, unexplored};
use crate::outputs::refuse_losses;
use crate::paint::{Ink, Style, printable};
use crate::progress::Ticker;
use crate::saved::read_trace;
use crate::{files, stop};
use fabius_html::sources_of;
use fabius_native::{Isolation, Plan, Problem, SHRINKING, Target, Walk};
use fabius_trace::{Bound, BugKind, ErrorTrace, ProgramId, Verdict};
use fabius_verify::{Progress, Report, Symmetry};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::time::Instant;

/// Runs the command; returns the exit code.
pub fn run(args: &RunArgs) -> Result<u8, Failure> {
    refuse_losses(&args.inputs(), &args.outputs())?;
    let plan = plan(args);
    let trace = args.replay.as_ref().map(|path| read_trace(path)).transpose()?;
    let saved = trace.iter().filter(|_| args.args.is_empty()).flat_map(|trace| &trace.program.args);
    let given: Vec<OsString> = saved.map(OsString::from).chain(args.args.iter().cloned()).collect();
    let target = target(&args.program, &given)?;
    if let (Some(trace), true) = (&trace, args.gdb) {
        return debug(&target, &plan, trace);
    }
    let report = match &trace {
        Some(trace) => fabius_native::replay(&target, &plan, trace),
        None => explore(args, &target, &plan),
    };
    let report = report.map_err(unexplored)?;
    let file = args.program.display().to_string();
    let id = ProgramId { file, hash: String::new(), consts: Vec::new(), instances: Vec::new(), args: Vec::new() };
    answer(args, &plan, report, &id)
}

/// Runs the execution of a trace in the debugger; returns the debugger's exit code.
fn debug(target: &Target, plan: &Plan, trace: &ErrorTrace) -> Result<u8, Failure> {
    stop::leave_interrupts_to_the_debugger();
    let status = fabius_native::debug(target, plan, trace)
        .map_err(|error| input(format!("`gdb` cannot be run: {error}")).help("install it, or leave `--gdb` out"))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(failure::BAD_INPUT))
}

fn explore(args: &RunArgs, target: &Target, plan: &Plan) -> Result<fabius_native::Report, Problem> {
    let began = Instant::now();
    let ticker = Ticker::new(std::io::stderr().is_terminal() && !args.answer.json);
    let tick = |p: &fabius_native::Progress| {
        let (bound, executions, transitions) = (p.bound, p.executions, p.steps);
        ticker.tick(&Progress { bound, executions, transitions, elapsed: began.elapsed(), ..Progress::default() });
    };
    let report = fabius_native::explore(target, plan, &stop::on_interrupt(), &tick);
    ticker.clear();
    report
}

fn plan(args: &RunArgs) -> Plan {
    let (bound, scheduler) = args.schedules.bound_and_scheduler();
    Plan {
        bound,
        max: args.schedules.max,
        scheduler,
        walk: args.strategy,
        points: args.points.into(),
        first_race: args.first_race,
        leaks: args.leaks,
        reduction: !args.no_reduction,
        executions: args.executions,
        time: args.time,
        memory: args.memory,
        max_steps: args.max_steps,
        shrinking: SHRINKING,
        seed: args.schedules.seed,
        isolation: args.fork.then_some(Isolation::Process),
        jobs: args.jobs.into(),
    }
}

/// Gives the answer; returns the exit code.
fn answer(args: &RunArgs, plan: &Plan, found: fabius_native::Report, id: &ProgramId) -> Result<u8, Failure> {
    let least = plan.walk == Walk::Iterative && plan.bound != Bound::None && args.replay.is_none();
    let question = Question { bound: plan.bound, scheduler: plan.scheduler, points: plan.points, least };
    let report = Report {
        verdict: found.verdict,
        limits: found.limits.clone(),
        levels: found.levels,
        completed: found.completed,
        total_states: None,
        symmetry: Symmetry::OFF,
        reduction: false,
        outcomes: None,
        endless: false,
        memory: 0,
        elapsed: found.elapsed,
    };
    let told = |style| {
        let mut text = match &report.verdict {
            Verdict::Bug { trace } if args.replay.is_some() => bug(trace, None, least, style),
            Verdict::Bug { trace } => {
                bug(trace, found.completed, least, style) + &format!("\nreplay it: {}\n", run_again(&args.program))
            }
            _ if args.replay.is_some() => "the execution does not fail\n".to_string(),
            _ => text::text(&report, question, "", id, style),
        };
        if found.racy > 0 && !matches!(&report.verdict, Verdict::Bug { trace } if trace.kind == BugKind::DataRace) {
            text += &format!("there are data races as well, at {} locations: `--first-race` shows one\n", found.racy);
        }
        for note in &found.notes {
            text += &format!("{note}\n");
        }
        text
    };
    let written = write(args, &report, id, &told(Style::IN_FILES));
    if args.answer.json {
        files::print(&documents::text(&documents::Answer::of(&report, question, id)))?;
    } else {
        let style = Style::of_stdout(args.answer.output.color);
        let mut text = told(style);
        if args.answer.stats {
            text += &text::statistics(&report, style);
            let rate = found.executions as f64 / found.elapsed.as_secs_f64().max(0.001);
            text += &format!("{} executions, {rate:.0} per second\n", found.executions);
        }
        files::print_in(style.paint, &text)?;
    }
    written?;
    Ok(report.verdict.exit_code())
}

/// Writes the files that the options ask for; `told` is the answer for people.
fn write(args: &RunArgs, report: &Report, id: &ProgramId, told: &str) -> Result<(), Failure> {
    let bug = if let Verdict::Bug { trace } = &report.verdict { Some(trace.as_ref()) } else { None };
    let trace = match (bug, &args.answer.trace) {
        (Some(trace), Some(path)) => {
            let text = serde_json::to_string_pretty(trace).expect("traces are plain data");
            files::write(path, &(text + "\n"))
        }
        _ => Ok(()),
    };
    let answered = || Answered { file: &id.file, source: "", answer: Ok(&report.verdict) };
    let sarif =
        args.answer.sarif.as_ref().map_or(Ok(()), |path| write_sarif(path, &[answered()], report.verdict.exit_code()));
    let case = || Case { answered: answered(), text: told.into(), elapsed: report.elapsed };
    let junit = args.junit.as_ref().map_or(Ok(()), |path| files::write(path, &junit::document("run", &[case()])));
    let page = match (&args.answer.html, bug) {
        (Some(path), Some(trace)) => {
            let sources = sources_of(trace, |file| {
                std::fs::read(file).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            });
            let sources: Vec<_> = sources.into_iter().filter(|s| s.file != id.file).collect();
            page::write(path, page::of_bug(trace, again(args)), &sources)
        }
        (Some(path), None) => {
            let good = "no schedule breaks the program".into();
            let facts = vec![("time".to_string(), format!("{:.2} s", report.elapsed.as_secs_f64()))];
            let about = page::About { file: &id.file, source: "", good, facts, levels: &report.levels };
            page::write_answer(path, &report.verdict, about, None)
        }
        (None, _) => Ok(()),
    };
    trace.and(sarif).and(junit).and(page)
}

/// The command that runs a bug again, where its trace is saved.
fn again(args: &RunArgs) -> Option<String> {
    let trace = args.answer.trace.as_ref()?;
    Some(format!("fabius run {} --replay {}", args.program.display(), trace.display()))
}

fn bug(trace: &ErrorTrace, completed: Option<u32>, least: bool, style: Style) -> String {
    let trace = &shown(trace);
    let cost = match trace.bound {
        Bound::None => String::new(),
        bound if least && trace.cost > 0 && trace.kind != BugKind::Livelock => {
            format!(" with {}; {}", bound.count(trace.cost), text::with_fewer(trace, completed))
        }
        bound => format!(" with {}", bound.count(trace.cost)),
    };
    let steps = Bound::Depth.count(trace.steps.len() as u32);
    let mut text = format!("{}: {}\n", style.paint.ink(Ink::Bad, "bug"), trace.message);
    text += &format!("{steps}{cost}\n\n");
    text += &lanes::draw(trace, style);
    text += &format!("\n{} {}\n", style.paint.ink(Ink::Bad, "  =>"), printable(&trace.message));
    text
}
