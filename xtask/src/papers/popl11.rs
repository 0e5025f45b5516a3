//! Figure 5, and Futures and Region Ownership, of Delay-Bounded Scheduling (POPL 2011): executions until the bug, when they
//! are tried in order of their preemptions and in order of their delays.

use super::pldi07::find;
use super::{Lab, Measured, Row, Table, beside, cells, fixed, theirs};
use fabius_curves::{Axis, Chart, Series};
use std::path::Path;

const PREEMPTIONS: &str = "--stateless --bound preemptions";

/// More delays than any of the bugs needs: without states delays have to end somewhere.
const DELAYS: &str = "--stateless --bound delays --scheduler round-robin --max 12";

/// Seconds for one search.
const PATIENCE: u32 = 10;

/// Programs with a bug that executions show (races and livelocks are not among them), with their seeded bugs; none: one bug.
static PROGRAMS: [(&str, &[u32]); 24] = [
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
        columns: vec!["program", "preemptions", "executions", "delays", "executions"],
        rows: programs.map(|program| Row::new(move |lab| scattered(lab, &program))).collect(),
        quick: 0,
        command: "fabius check examples/bluetooth.fab --stateless --bound delays --scheduler round-robin --max 12 --stats",
        chart: Some(Chart {
            title: "Executions until the bug: delays against preemptions".into(),
            x: Axis::logarithmic("executions in order of preemptions", ""),
            y: Axis::logarithmic("executions in order of delays", ""),
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

/// What the bug costs and how many executions it took; `None` if it has not been found in time.
fn until_bug(lab: &Lab, program: &str, how: &str) -> Result<Option<(u64, u64, usize)>, String> {
    let answer = lab.run_for(&format!("check {program} {how}"), PATIENCE)?;
    if answer.verdict() == "unknown" {
        return Ok(None);
    }
    let answer = answer.must_be("bug")?;
    let executions = answer.levels("executions").last().copied().ok_or("no executions are reported")?;
    let cost = answer.json["cost"].as_u64().ok_or("a bug without a cost")?;
    let tasks = answer.json["trace"]["lanes"].as_array().map_or(0, Vec::len);
    Ok(Some((cost, executions, tasks)))
}

/// What the bugs are called that need so many preemptions.
fn needing(preemptions: u64) -> String {
    format!("least preemptions: {preemptions}")
}

fn scattered(lab: &Lab, program: &str) -> Result<Measured, String> {
    let short = program.rsplit('/').next().unwrap_or(program).replace(".fab --const", "").replace(".fab", "");
    let both = [PREEMPTIONS, DELAYS].map(|how| until_bug(lab, program, how));
    let [preemptions, delays] = both;
    let (preemptions, delays) = (preemptions?, delays?);
    let shown = |found: Option<(u64, u64, usize)>| match found {
        Some((cost, executions, _)) => [fixed(cost), fixed(executions)],
        None => [fixed("?"), super::Cell::Timed(format!("not within {PATIENCE} s"))],
    };
    let series = match (preemptions, delays) {
        (Some((cost, x, _)), Some((_, y, _))) => {
            vec![Series::scatter(&needing(cost), [(x as f64, y as f64)])]
        }
        _ => vec![],
    };
    let cells = [fixed(&short)].into_iter().chain(shown(preemptions)).chain(shown(delays)).collect();
    Ok(Measured { cells, series })
}

fn stand_in(lab: &Lab, name: &str, program: &str, theirs: &[String]) -> Result<Measured, String> {
    let found = |how| until_bug(lab, program, how)?.ok_or(format!("{program}: not within {PATIENCE} s"));
    let (preemptions, by_preemptions, tasks) = found(PREEMPTIONS)?;
    let (delays, by_delays, _) = found(DELAYS)?;
    Ok(cells(vec![
        fixed(name),
        beside(&theirs[1], tasks),
        beside(&theirs[3], preemptions),
        beside(&theirs[4], by_preemptions),
        beside(&theirs[5], delays),
        beside(&theirs[6], by_delays),
    ]))
}
