//! `fabius check`.

use crate::answers::checked::{Checked, worst};
use crate::answers::several::{Table, notes};
use crate::answers::{documents, dot, give, svcomp, text};
use crate::args::check::{CheckArgs, ReductionArg, SymmetryArg};
use crate::args::common::AnswerArgs;
use crate::failure::{self, Failure, UNKNOWN, usage};
use crate::outputs::refuse_losses;
use crate::paint::{Paint, Style, printable};
use crate::program::{Loaded, for_reading, load};
use crate::progress::Ticker;
use crate::{c, files, stop};
use fabius_c::Property;
use fabius_lang::Choices;
use fabius_trace::{Bound, Points, Verdict};
use fabius_verify::graph::{self, GraphError};
use fabius_verify::prove::{Budget, most_of_available};
use fabius_verify::{Plan, Report, Strategy, Symmetry};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Runs the command; returns the exit code.
pub fn run(args: &CheckArgs) -> Result<u8, Failure> {
    let plan = plan(args);
    let inputs: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    if inputs.iter().filter(|path| **path == Path::new(files::STDIN)).count() > 1 {
        return Err(usage("standard input is given twice").help("give `-` once"));
    }
    refuse_losses(&inputs, &args.outputs())?;
    match args.files.as_slice() {
        [file] => one(file, args, &plan),
        _ => several(args, &plan),
    }
}

/// One file: the answer with its schedule.
fn one(file: &Path, args: &CheckArgs, plan: &Plan) -> Result<u8, Failure> {
    svcomp::refuse_what_cannot_be_given(file, &args.program, &args.svcomp)?;
    let stop = stop::on_interrupt();
    let all = [check(file, args, plan, &stop)];
    let junit = args.junit.as_ref().map_or(Ok(()), |path| give::write_junit(path, plan, &all));
    let [checked] = all;
    let (loaded, found) = checked.outcome?;
    let plan = &fitted(plan, args, &loaded);
    let left = Plan { time: plan.time.map(|time| time.saturating_sub(checked.elapsed)), ..plan.clone() };
    let graph = write_graph(args, &left, &loaded, &found.verdict, &stop);
    let document = documents::Answer::of(&found, plan.into(), &loaded.id);
    let statistics = |report: &Report, style| statistics(&loaded, report, style);
    let code = give::answer(&found, plan.into(), &loaded, &args.answer, statistics, &document)?;
    let drawn = junit.and(graph)?;
    svcomp::give(&found, &loaded, &args.svcomp)?;
    Ok(if let Drawn::Cut = drawn { worst([code, UNKNOWN].into_iter()) } else { code })
}

/// Several files: a line for each, and the worst answer decides. A file that cannot be checked is reported with its
/// diagnostics, and the others still run.
fn several(args: &CheckArgs, plan: &Plan) -> Result<u8, Failure> {
    refuse_what_is_for_one_file(args)?;
    let (began, stop) = (Instant::now(), stop::on_interrupt());
    let style = Style::of_stdout(args.answer.output.color);
    let table = Table::of(&args.files, plan, style.paint);
    let say = |text: &str| if args.answer.json { Ok(()) } else { files::print_in(style.paint, text) };
    say(&table.heading())?;
    let mut all = Vec::new();
    for file in &args.files {
        let checked = check(file, args, plan, &stop);
        if let Err(failure) = &checked.outcome {
            let paint = Paint::of_stderr(args.answer.output.color);
            files::tell(paint, &failure.text(paint.style()));
        }
        say(&table.of_file(&checked))?;
        all.push(checked);
    }
    let code = worst(all.iter().map(Checked::exit_code));
    if args.answer.json {
        files::print(&documents::text(&documents::Several::of(&all, plan, code, began.elapsed())))?;
    }
    say(&notes(&all))?;
    for checked in all.iter().filter(|_| args.answer.stats) {
        if let Ok((loaded, report)) = &checked.outcome {
            say(&format!("\n{}{}", printable(&checked.file), statistics(loaded, report, style)))?;
        }
    }
    let junit = args.junit.as_ref().map_or(Ok(()), |path| give::write_junit(path, plan, &all));
    let sarif = args.answer.sarif.as_ref().map_or(Ok(()), |path| give::write_sarif_of_all(path, &all, code));
    junit.and(sarif)?;
    Ok(code)
}

/// What was explored, and what would look at more.
fn statistics(loaded: &Loaded, report: &Report, style: Style) -> String {
    text::statistics(report, style) + &loaded.program.as_ref().map_or(String::new(), text::advice)
}

/// Checks one file.
fn check(file: &Path, args: &CheckArgs, plan: &Plan, stop: &Arc<AtomicBool>) -> Checked {
    let began = Instant::now();
    let ticker = Ticker::new(!args.answer.json);
    let budget = Budget { time: plan.time, memory: for_reading(plan.memory), stop };
    let outcome = load(file, &args.program, Choices::Finite, budget).and_then(|loaded| {
        // Reading the program is part of the time.
        let plan = fitted(plan, args, &loaded);
        let plan = &Plan { time: plan.time.map(|time| time.saturating_sub(began.elapsed())), ..plan };
        let outcome = match &loaded.program {
            Ok(program) => fabius_verify::check(program, &loaded.id, plan, stop, &|p| ticker.tick(p)),
            Err(reason) => Ok(fabius_verify::unknown(plan.bound, plan.scheduler, &loaded.id, reason.clone())),
        };
        ticker.clear();
        let mut report = outcome.map_err(failure::of_check)?;
        loaded.qualify(&mut report);
        Ok((loaded, report))
    });
    Checked { file: file.display().to_string(), outcome, elapsed: began.elapsed() }
}

/// The plan with what the property of a C program asks for.
fn fitted(plan: &Plan, args: &CheckArgs, loaded: &Loaded) -> Plan {
    let Some(property) = c::property(&loaded.id) else { return plan.clone() };
    let asked = args.points.map(Points::from);
    let races = plan.races || property == Property::NoDataRace;
    let points = asked.unwrap_or(if races { Points::Sync } else { Points::All });
    Plan { points, races: races && points == Points::All, deadlock: false, ..plan.clone() }
}

fn refuse_what_is_for_one_file(args: &CheckArgs) -> Result<(), Failure> {
    let AnswerArgs { trace, html, .. } = &args.answer;
    let given = [
        ("--trace", trace.is_some()),
        ("--html", html.is_some()),
        ("--dot", args.dot.is_some()),
        ("--witness", args.svcomp.witness.is_some()),
        ("--svcomp", args.svcomp.svcomp),
        ("--natively", args.svcomp.natively),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(usage(format!("`{option}` is for one program, and {} are given", args.files.len()))
            .help("check the programs one by one; or `--sarif`, which holds the schedules of all bugs")),
    }
}

/// What came of the graph of states.
enum Drawn {
    /// It was written, or nobody asked for it.
    Done,
    /// A limit was hit before all states of it were known, which has been said.
    Cut,
}

/// Writes the graph of the states that were explored, if that is asked for: up to the cost of the bug, or as far as
/// `--max` says, within what is left of the limits.
fn write_graph(
    args: &CheckArgs,
    plan: &Plan,
    loaded: &Loaded,
    verdict: &Verdict,
    stop: &AtomicBool,
) -> Result<Drawn, Failure> {
    let Some(path) = &args.dot else { return Ok(Drawn::Done) };
    let trace = if let Verdict::Bug { trace } = verdict { Some(trace.as_ref()) } else { None };
    let max = trace.filter(|_| plan.bound != Bound::None).map(|t| t.cost).or(plan.max);
    let most = dot::MOST_STATES;
    let unwritten = |why: String| failure::output(format!("`{}` was not written: {why}", path.display()));
    let graph = match &loaded.program {
        Ok(program) => graph::graph(program, &loaded.id, plan, max, trace, most, stop),
        Err(reason) => Err(GraphError::Cut(reason.clone())),
    };
    let graph = match graph {
        Ok(graph) => graph,
        Err(GraphError::TooLarge) => {
            let why = format!("the graph has more than {most} states or {} steps", graph::steps_within(most));
            return Err(unwritten(why).help(match max {
                Some(0) => "make the program smaller, with `--const` or `--instances`",
                _ => "draw a part: `--max 0`, then 1; or a smaller program, with `--const` or `--instances`",
            }));
        }
        Err(GraphError::Cut(why)) => {
            files::unwritten(&unwritten(why.words()), args.answer.output.color);
            return Ok(Drawn::Cut);
        }
        Err(GraphError::Internal(message)) => return Err(failure::internal(message)),
    };
    let what = match (plan.bound, max) {
        (Bound::None, _) | (_, None) => "all states".to_string(),
        (bound, Some(n)) => format!("states that schedules with at most {} reach", bound.count(n)),
    };
    files::write(path, &dot::document(&graph, &format!("{}: {what}", loaded.id.file)))?;
    Ok(Drawn::Done)
}

/// What the options ask for, with the defaults that depend on each other.
fn plan(args: &CheckArgs) -> Plan {
    let strategy = args.strategy.unwrap_or(Strategy::Iterative);
    let (bound, scheduler) = args.schedules.bound_and_scheduler();
    Plan {
        bound,
        max: args.schedules.max,
        scheduler,
        strategy,
        // As CHESS: data races are bugs of a C program, so that points at synchronization are enough.
        points: match args.points {
            Some(points) => points.into(),
            None if args.files.iter().all(|f| c::is_c(f)) => Points::Sync,
            None => Points::All,
        },
        stateless: args.stateless,
        races: args.races,
        deadlock: !args.no_deadlock,
        livelock: args.livelock,
        properties: !args.no_properties,
        symmetry: Symmetry {
            threads: !args.no_symmetry.contains(&SymmetryArg::Threads),
            values: !args.no_symmetry.contains(&SymmetryArg::Values),
            joined: !args.no_symmetry.contains(&SymmetryArg::Joined),
        },
        reduction: !args.no_reduction.contains(&ReductionArg::Steps),
        merging: !args.no_reduction.contains(&ReductionArg::Outcomes),
        jobs: args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        memory: args.memory.or_else(most_of_available),
        time: args.time,
        executions: args.executions,
        seed: args.schedules.seed,
    }
}
