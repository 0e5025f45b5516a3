//! `fabius check`.

use crate::args::{AnswerArgs, CheckArgs, ProgramArgs};
use crate::failure::{self, Failure, usage};
use crate::many::{self, Checked};
use crate::paint::{DEFAULT_WIDTH, Paint};
use crate::progress::Ticker;
use crate::report::{self, Style};
use crate::{documents, dot, files, junit};
use fabius_lang::program::Program;
use fabius_lang::{Choices, Options};
use fabius_trace::{Bound, ProgramId, SchedulerKind, Verdict};
use fabius_verify::graph::{self, GraphError};
use fabius_verify::{Plan, Strategy};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A program as the command line names it.
pub struct Loaded {
    pub source: String,
    pub program: Program,
    pub id: ProgramId,
}

/// Reads and compiles a program.
pub fn load(path: &Path, args: &ProgramArgs, choices: Choices) -> Result<Loaded, Failure> {
    let ProgramArgs { instances, consts } = args;
    let source = files::read(path)?;
    let file = path.display().to_string();
    let program = fabius_lang::compile(&source, &Options { consts: consts.clone(), choices })
        .map_err(|diagnostics| Failure::Source { source: source.clone(), file: file.clone(), diagnostics })?;
    let program = fabius_verify::with_instances(program, instances)?;
    let id = fabius_verify::program_id(&file, &source, consts, instances);
    Ok(Loaded { source, program, id })
}

/// Runs the command; returns the exit code.
pub fn run(args: &CheckArgs) -> Result<u8, Failure> {
    let plan = plan(args);
    let stop = Arc::new(AtomicBool::new(false));
    let [file] = args.files.as_slice() else {
        refuse_what_is_for_one_file(args)?;
        stop_on_interrupt(&stop);
        return many::run(args, &plan, &stop);
    };
    stop_on_interrupt(&stop);
    let all = [check(file, args, &plan, &stop)];
    let junit = write_junit(args, &plan, &all);
    let [checked] = all;
    let (loaded, found) = checked.outcome?;
    let graph = write_graph(args, &plan, &loaded, &found.verdict);
    let document = documents::Answer::of(&found, (&plan).into(), &loaded.id);
    let code = report::answer(&found, (&plan).into(), &loaded, &args.answer, report::statistics, &document)?;
    junit.and(graph)?;
    Ok(code)
}

/// Checks one file.
pub fn check(file: &Path, args: &CheckArgs, plan: &Plan, stop: &AtomicBool) -> Checked {
    let began = Instant::now();
    let ticker = Ticker::new(std::io::stderr().is_terminal() && !args.answer.json);
    let outcome = load(file, &args.program, Choices::Finite).and_then(|loaded| {
        let outcome = fabius_verify::check(&loaded.program, &loaded.id, plan, stop, &|p| ticker.tick(p));
        ticker.clear();
        Ok((loaded, outcome.map_err(failure::of_check)?))
    });
    Checked { file: file.display().to_string(), outcome, elapsed: began.elapsed() }
}

fn refuse_what_is_for_one_file(args: &CheckArgs) -> Result<(), Failure> {
    let AnswerArgs { trace, html, .. } = &args.answer;
    let given = [("--trace", trace.is_some()), ("--html", html.is_some()), ("--dot", args.dot.is_some())];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(usage(format!("`{option}` is for one program, and {} are given", args.files.len()))
            .help("check the programs one by one; or `--sarif`, which holds the schedules of all bugs")),
    }
}

/// Writes the answers as JUnit XML, if that is asked for.
pub fn write_junit(args: &CheckArgs, plan: &Plan, all: &[Checked]) -> Result<(), Failure> {
    let Some(path) = &args.junit else { return Ok(()) };
    let style = Style { paint: Paint::Plain, width: DEFAULT_WIDTH };
    files::write(path, &junit::document(all, |checked| many::told(checked, plan, style)))
}

/// Writes the graph of the states that were explored, if that is asked for: up to the cost of the bug, or as far as
/// `--max` says.
fn write_graph(args: &CheckArgs, plan: &Plan, loaded: &Loaded, verdict: &Verdict) -> Result<(), Failure> {
    let Some(path) = &args.dot else { return Ok(()) };
    let trace = if let Verdict::Bug { trace } = verdict { Some(trace.as_ref()) } else { None };
    let max = trace.filter(|_| plan.bound != Bound::None).map(|t| t.cost).or(plan.max);
    let most = dot::MOST_STATES;
    let graph = graph::graph(&loaded.program, &loaded.id, plan, max, trace, most).map_err(|error| match error {
        GraphError::TooLarge => failure::output(format!(
            "`{}` was not written: the graph has more than {most} states or {} steps",
            path.display(),
            graph::steps_within(most)
        ))
        .help(match max {
            Some(0) => "make the program smaller, with `--const` or `--instances`",
            _ => "draw a part: `--max 0`, then 1; or a smaller program, with `--const` or `--instances`",
        }),
        GraphError::Internal(message) => failure::internal(message),
    })?;
    let what = match (plan.bound, max) {
        (Bound::None, _) | (_, None) => "all states".to_string(),
        (bound, Some(n)) => format!("states that schedules with at most {} reach", bound.count(n)),
    };
    files::write(path, &dot::document(&graph, &format!("{}: {what}", loaded.id.file)))
}

/// What the options ask for, with the defaults that depend on each other.
fn plan(args: &CheckArgs) -> Plan {
    let strategy = args.strategy.unwrap_or(Strategy::Iterative);
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
        strategy,
        points: args.points.into(),
        stateless: args.stateless,
        races: args.races,
        deadlock: !args.no_deadlock,
        livelock: args.livelock,
        jobs: args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        memory: args.memory,
        time: args.time,
        executions: args.executions,
        seed: args.seed,
    }
}

/// The first Ctrl-C asks the search to stop and report; the second ends the process.
pub fn stop_on_interrupt(stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    // Without a handler Ctrl-C ends the process at once, which is no worse than a second Ctrl-C.
    let _ = ctrlc::set_handler(move || {
        if stop.swap(true, Ordering::Relaxed) {
            std::process::exit(3);
        }
    });
}
