//! `fabius run`: explores a C or C++ program that `fabius cc` has built.

use crate::answers::checked::Question;
use crate::answers::give::write_sarif;
use crate::answers::shown::shown;
use crate::answers::{documents, lanes, page, sarif, text};
use crate::args::native::RunArgs;
use crate::failure::{self, Failure, input};
use crate::outputs::refuse_losses;
use crate::paint::{Ink, Style, printable};
use crate::progress::Ticker;
use crate::saved::read_trace;
use crate::{files, stop};
use fabius_html::sources_of;
use fabius_native::{Isolation, Plan, Problem, Target, Walk};
use fabius_trace::{Bound, BugKind, ErrorTrace, ProgramId, SchedulerKind, Verdict};
use fabius_verify::{Progress, Report};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs the command; returns the exit code.
pub fn run(args: &RunArgs) -> Result<u8, Failure> {
    refuse_losses(&args.inputs(), &args.answer.outputs())?;
    let plan = plan(args);
    let target = Target { program: found(&args.program), args: args.args.clone(), library: library()? };
    let report = match &args.replay {
        Some(path) => fabius_native::replay(&target, &plan, &read_trace(path)?),
        None => explore(args, &target, &plan),
    };
    let report = report.map_err(|problem| match problem {
        Problem::CannotRun(message) => input(message),
        Problem::NotOurs(message) => {
            input(message).help("build it with `fabius cc`, or with the flags that `fabius cc -v` prints")
        }
        Problem::Failed => failure::internal("the library in the program's process has given up; see above".into()),
    })?;
    let file = args.program.display().to_string();
    let id = ProgramId { file, hash: String::new(), consts: Vec::new(), instances: Vec::new() };
    answer(args, &plan, report, &id)
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

/// A name without a folder is a file here.
fn found(program: &Path) -> PathBuf {
    if program.components().count() == 1 { Path::new(".").join(program) } else { program.to_path_buf() }
}

fn plan(args: &RunArgs) -> Plan {
    let deterministic = matches!(args.scheduler, Some(SchedulerKind::RoundRobin | SchedulerKind::DepthFirst));
    let bound = match args.bound {
        Some(bound) => bound.into(),
        None if deterministic => Bound::Delays,
        None if matches!(args.scheduler, Some(SchedulerKind::BoundedBag(_))) => Bound::None,
        None => Bound::Preemptions,
    };
    let scheduler = match (args.scheduler, bound) {
        (Some(scheduler), _) => scheduler,
        (None, Bound::Delays) => SchedulerKind::RoundRobin,
        (None, _) => SchedulerKind::Bag,
    };
    Plan {
        bound,
        max: args.max,
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
        seed: args.seed,
        isolation: args.fork.then_some(Isolation::Process),
        jobs: args.jobs.into(),
    }
}

/// The folder of the library, which is written there if it is not.
pub fn library() -> Result<PathBuf, Failure> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home).unwrap_or_else(std::env::temp_dir);
    let cache = cache.join("fabius");
    fabius_native::install(&cache).map_err(|e| {
        failure::output(format!("the library for native programs cannot be written to `{}`: {e}", cache.display()))
            .help("name another folder by `XDG_CACHE_HOME`")
    })
}

/// Gives the answer; returns the exit code.
fn answer(args: &RunArgs, plan: &Plan, found: fabius_native::Report, id: &ProgramId) -> Result<u8, Failure> {
    let least = plan.walk == Walk::Iterative && plan.bound != Bound::None && args.replay.is_none();
    let question = Question { bound: plan.bound, scheduler: plan.scheduler, points: plan.points, least };
    let completed = match &found.verdict {
        Verdict::NoBugWithinBounds { bounds } | Verdict::Unknown { bounds, .. } => bounds.completed,
        Verdict::Bug { .. } | Verdict::Verified => None,
    };
    let report = Report {
        verdict: found.verdict,
        limits: found.limits.clone(),
        levels: found.levels,
        completed,
        total_states: None,
        outcomes: None,
        memory: 0,
        elapsed: found.elapsed,
    };
    let written = write(args, &report, id);
    if args.answer.json {
        files::print(&documents::text(&documents::Answer::of(&report, question, id)))?;
    } else {
        let style = Style::of_stdout(args.answer.output.color);
        let mut text = match &report.verdict {
            Verdict::Bug { trace } => bug(trace, least, style),
            _ if args.replay.is_some() => "the execution does not fail\n".to_string(),
            _ => text::text(&report, question, "", id, style),
        };
        if found.racy > 0 && !matches!(&report.verdict, Verdict::Bug { trace } if trace.kind == BugKind::DataRace) {
            text += &format!("there are data races as well, at {} locations: `--first-race` shows one\n", found.racy);
        }
        for note in &found.notes {
            text += &format!("{note}\n");
        }
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

fn write(args: &RunArgs, report: &Report, id: &ProgramId) -> Result<(), Failure> {
    let bug = if let Verdict::Bug { trace } = &report.verdict { Some(trace.as_ref()) } else { None };
    let trace = match (bug, &args.answer.trace) {
        (Some(trace), Some(path)) => {
            let text = serde_json::to_string_pretty(trace).expect("traces are plain data");
            files::write(path, &(text + "\n"))
        }
        _ => Ok(()),
    };
    let answered = sarif::Answered { file: &id.file, source: "", answer: Ok(&report.verdict) };
    let sarif =
        args.answer.sarif.as_ref().map_or(Ok(()), |path| write_sarif(path, &[answered], report.verdict.exit_code()));
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
    trace.and(sarif).and(page)
}

/// The command that runs a bug again, where its trace is saved.
fn again(args: &RunArgs) -> Option<String> {
    let trace = args.answer.trace.as_ref()?;
    Some(format!("fabius run {} --replay {}", args.program.display(), trace.display()))
}

fn bug(trace: &ErrorTrace, least: bool, style: Style) -> String {
    let trace = &shown(trace);
    let cost = match trace.bound {
        Bound::None => String::new(),
        bound if least && trace.cost > 0 && trace.kind != BugKind::Livelock => {
            format!(" with {}; with fewer there is no bug", bound.count(trace.cost))
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
