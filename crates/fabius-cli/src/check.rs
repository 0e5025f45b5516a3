//! `fabius check`.

use crate::args::{CheckArgs, ProgramArgs};
use crate::failure::{self, Failure};
use crate::progress::Ticker;
use crate::{files, report};
use fabius_lang::program::Program;
use fabius_lang::{Choices, Options};
use fabius_trace::{Bound, ProgramId, SchedulerKind};
use fabius_verify::{Plan, Strategy};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    let loaded = load(&args.file, &args.program, Choices::Finite)?;
    let plan = plan(args);
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_interrupt(&stop);
    let ticker = Ticker::new(std::io::stderr().is_terminal() && !args.answer.json);
    let outcome = fabius_verify::check(&loaded.program, &loaded.id, &plan, &stop, &|p| ticker.tick(p));
    ticker.clear();
    let checked = outcome.map_err(failure::of_check)?;
    report::answer(&checked, (&plan).into(), &loaded, &args.answer, report::statistics, None)
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
