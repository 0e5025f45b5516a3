//! Figure 5, and Futures and Region Ownership, of Delay-Bounded Scheduling (POPL 2011): executions until the bug, when they
//! are tried in order of their preemptions and in order of their delays.

use super::pldi07::find;
use super::{Cell, Lab, Measured, Row, Table, beside, cells, fixed, theirs};
use fabius_curves::{Axis, Chart, Series};
use fabius_explore::search::{Monitor, Options};
use fabius_explore::stateless;
use fabius_machine::Machine;
use fabius_trace::{Bound, Points, SchedulerKind};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// An order of executions.
struct Way {
    options: &'static str,
    bound: Bound,
    scheduler: SchedulerKind,
    max: Option<u32>,
}

const PREEMPTIONS: Way = Way {
    options: "--stateless --bound preemptions",
    bound: Bound::Preemptions,
    scheduler: SchedulerKind::Bag,
    max: None,
};

/// To more delays than any of the bugs needs: without states they have to end somewhere.
const DELAYS: Way = Way {
    options: "--stateless --bound delays --scheduler round-robin --max 12",
    bound: Bound::Delays,
    scheduler: SchedulerKind::RoundRobin,
    max: Some(12),
};

/// Seconds for one search.
const PATIENCE: u32 = 10;

/// Programs with a bug that executions show (races and livelocks are not among them), with their seeded bugs if there
/// are several.
static PROGRAMS: [(&str, &[u32]); 25] = [
    ("corpus/threads/bug/bluetooth_kiss.fab", &[]),
    ("examples/bluetooth.fab", &[]),
    ("corpus/threads/bug/bluetooth_dec_always.fab", &[]),
    ("corpus/threads/bug/bluetooth_fix_deadlocks.fab", &[]),
    ("corpus/threads/bug/bluetooth_fix_dec_twice.fab", &[]),
    ("corpus/threads/bug/bakery_no_choosing.fab", &[]),
    ("corpus/threads/bug/bounded_buffer_if.fab", &[]),
    ("corpus/threads/bug/bounded_buffer_notify_one.fab", &[]),
    ("corpus/threads/bug/dryad.fab", &[]),
    ("corpus/threads/bug/leader_election.fab", &[]),
    ("corpus/threads/bug/lost_update.fab", &[]),
    ("corpus/threads/bug/misuse.fab", &[]),
    ("corpus/threads/bug/peterson_swapped.fab", &[]),
    ("corpus/threads/bug/philosophers.fab", &[]),
    ("examples/philosophers.fab", &[]),
    ("corpus/threads/bug/readers_writers.fab", &[]),
    ("corpus/threads/bug/region_ownership.fab", &[]),
    ("corpus/threads/bug/stack.fab", &[]),
    ("corpus/threads/bug/token_ring_two.fab", &[]),
    ("corpus/threads/bug/two_phase_commit.fab", &[]),
    ("corpus/threads/bug/ape.fab", &[1, 2, 3, 4]),
    ("corpus/threads/bug/dryad_channels.fab", &[1, 2, 3, 4, 5]),
    ("corpus/threads/bug/futures.fab", &[1, 2]),
    ("corpus/threads/safe/transaction_manager.fab", &[1, 2, 3]),
    ("examples/work_stealing_queue.fab", &[1, 2, 3]),
];

/// The name in the paper, and the stand-in.
static STAND_INS: [(&str, &str); 3] = [
    ("Futures, livelock", "corpus/threads/bug/futures.fab"),
    ("Futures, uncaught exception", "corpus/threads/bug/futures.fab --const BUG=2"),
    ("Region Ownership", "corpus/threads/bug/region_ownership.fab"),
];

pub fn tables(root: &Path) -> Result<Vec<Table>, String> {
    let programs = PROGRAMS.iter().flat_map(|(file, bugs)| match bugs {
        [] => vec![file.to_string()],
        bugs => bugs.iter().map(|bug| format!("{file} --const BUG={bug}")).collect(),
    });
    let figure5 = Table {
        name: "popl11-figure-5",
        columns: vec![
            "program",
            "preemptions",
            "executions until the bug",
            "with so many or fewer",
            "delays",
            "executions until the bug",
            "with so many or fewer",
        ],
        rows: programs.map(|program| Row::new(move |lab| scattered(lab, &program))).collect(),
        quick: 0,
        command: "fabius check examples/bluetooth.fab --stateless --bound delays --scheduler round-robin --max 12 --stats",
        chart: Some(Chart {
            title: "Executions until the bug: delays against preemptions".into(),
            x: Axis::logarithmic("executions until the bug, few preemptions first", ""),
            y: Axis::logarithmic("executions until the bug, few delays first", ""),
            series: vec![Series::line("as many of both", [(1.0, 1.0), (2000.0, 2000.0)])],
        }),
    };
    let published = theirs::read(root, "popl11_schedules.csv")?;
    let rows = STAND_INS.iter().map(|(name, program)| {
        let theirs = find(&published, name)?;
        Ok(Row::new(move |lab| stand_in(lab, name, program, &theirs)))
    });
    let schedules = Table {
        name: "popl11-schedules",
        columns: vec!["test (stand-in)", "tasks", "preemptions", "schedules", "delays", "schedules"],
        rows: rows.collect::<Result<_, String>>()?,
        quick: 0,
        command: "fabius check corpus/threads/bug/region_ownership.fab --stateless --stats",
        chart: None,
    };
    Ok(vec![figure5, schedules])
}

/// What a search found.
struct Found {
    /// The least preemptions or delays.
    cost: u64,
    /// Executions until the first bug.
    first: usize,
    /// All executions of that cost or less; `None` if they were too many.
    all: Option<u64>,
    tasks: usize,
}

/// `None` if the bug has not been found in time. The program may be followed by its constants.
fn found(lab: &Lab, program: &str, way: &Way) -> Result<Option<Found>, String> {
    let Some((cost, first)) = first_bug(lab, program, way)? else { return Ok(None) };
    let answer = lab.run_for(&format!("check {program} {}", way.options), PATIENCE)?.must_be("bug")?;
    if answer.json["cost"] != cost {
        return Err(format!("{program}: the bug costs {cost} and {}", answer.json["cost"]));
    }
    // The command goes on to the end of the bound, for the shortest of the bugs that cost as little.
    let in_time = answer.seconds < f64::from(PATIENCE);
    let all = answer.levels("executions").last().copied().filter(|_| in_time);
    let tasks = answer.json["trace"]["lanes"].as_array().map_or(0, Vec::len);
    Ok(Some(Found { cost, first, all, tasks }))
}

/// What the first bug costs, and how many executions it took.
fn first_bug(lab: &Lab, program: &str, way: &Way) -> Result<Option<(u64, usize)>, String> {
    let (file, consts) = program.split_once(" --const ").unwrap_or((program, ""));
    let consts = consts.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
    let source = super::read(&lab.root.join(file))?;
    let options = fabius_lang::Options { consts: consts.into_iter().collect(), ..Default::default() };
    let compiled = fabius_lang::compile(&source, &options).map_err(|d| format!("{file}: {d:?}"))?;
    let options = Options {
        bound: way.bound,
        scheduler: way.scheduler,
        max: way.max,
        at_first_bug: true,
        deadline: Instant::now().checked_add(Duration::from_secs(PATIENCE.into())),
        ..Options::default()
    };
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let outcome = stateless::search(&Machine::new(&compiled, Points::All), &options, &monitor, &|_| {});
    let executions = outcome.levels.last().map_or(0, |l| l.executions as usize);
    Ok(outcome.bug.map(|bug| (u64::from(bug.cost), executions)))
}

/// What the bugs are called that need so many preemptions.
fn needing(preemptions: u64) -> String {
    format!("least preemptions: {preemptions}")
}

fn scattered(lab: &Lab, program: &str) -> Result<Measured, String> {
    let short = program.replace("corpus/threads/", "").replace(".fab --const", "").replace(".fab", "");
    let (preemptions, delays) = (found(lab, program, &PREEMPTIONS)?, found(lab, program, &DELAYS)?);
    let late = || Cell::Timed(format!("not within {PATIENCE} s"));
    let shown = |found: &Option<Found>| match found {
        Some(f) => [fixed(f.cost), fixed(f.first), f.all.map_or_else(late, fixed)],
        None => [fixed("?"), late(), late()],
    };
    let series = match (&preemptions, &delays) {
        (Some(p), Some(d)) => vec![Series::scatter(&needing(p.cost), [(p.first as f64, d.first as f64)])],
        _ => vec![],
    };
    let cells = [fixed(&short)].into_iter().chain(shown(&preemptions)).chain(shown(&delays)).collect();
    Ok(Measured { cells, series })
}

fn stand_in(lab: &Lab, name: &str, program: &str, theirs: &[String]) -> Result<Measured, String> {
    let must = |way| found(lab, program, way)?.ok_or(format!("{program}: not within {PATIENCE} s"));
    let (preemptions, delays) = (must(&PREEMPTIONS)?, must(&DELAYS)?);
    Ok(cells(vec![
        fixed(name),
        beside(&theirs[1], preemptions.tasks),
        beside(&theirs[3], preemptions.cost),
        beside(&theirs[4], preemptions.first),
        beside(&theirs[5], delays.cost),
        beside(&theirs[6], delays.first),
    ]))
}
