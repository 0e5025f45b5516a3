//! Figures 1 and 4 of Iterative Context Bounding (PLDI 2007): the share of the states that so many preemptions cover.

use super::pldi07::find;
use super::{Lab, Measured, Row, Table, beside, chart, fixed, theirs};
use fabius_curves::{Axis, Series};
use std::path::Path;

/// A program: the name in the paper, its curve's name, and how it is explored.
type Program = (&'static str, &'static str, &'static str);

const QUEUE: &str = "Work-stealing queue";

static FIGURE_1: [Program; 3] = [
    (QUEUE, "4 items, 2 steals", "corpus/coverage/safe/work_stealing_queue.fab --points sync"),
    (
        QUEUE,
        "6 items, 6 steals",
        "corpus/coverage/safe/work_stealing_queue.fab --points sync --const ITEMS=6 --const STEALS=6",
    ),
    (
        QUEUE,
        "8 items, 8 steals",
        "corpus/coverage/safe/work_stealing_queue.fab --points sync --const ITEMS=8 --const STEALS=8",
    ),
];

static FIGURE_4: [Program; 6] = [
    ("Bluetooth", "Bluetooth", "corpus/coverage/safe/bluetooth.fab"),
    ("File system model", "file system, 2 inodes, 4 blocks", "corpus/coverage/safe/file_system.fab --points sync"),
    (
        "File system model",
        "file system, 4 inodes, 3 blocks",
        "corpus/coverage/safe/file_system.fab --points sync --const INODES=4 --const BLOCKS=3",
    ),
    (
        "File system model",
        "file system, 4 inodes, 8 blocks",
        "corpus/coverage/safe/file_system.fab --points sync --const INODES=4 --const BLOCKS=8",
    ),
    (
        "Transaction manager",
        "transaction manager (stand-in)",
        "corpus/threads/safe/transaction_manager.fab --points sync",
    ),
    (QUEUE, "work-stealing queue, 6 items, 6 steals", FIGURE_1[1].2),
];

pub fn tables(root: &Path) -> Result<Vec<Table>, String> {
    let published = theirs::read(root, "pldi07_coverage.csv")?;
    let table = |name, title, command, programs: &'static [Program]| {
        let rows = programs.iter().map(|program| {
            let theirs = find(&published, program.0)?;
            Ok(Row::new(move |lab| coverage(lab, program, &theirs)))
        });
        Ok::<Table, String>(Table {
            name,
            columns: vec![
                "program",
                "states",
                "90 % covered with",
                "all covered with",
                "share with 0, 1, 2, .. preemptions",
            ],
            rows: rows.collect::<Result<_, String>>()?,
            quick: 0,
            command,
            chart: chart(title, Axis::linear("preemptions", ""), Axis::linear("states covered", "%")),
        })
    };
    Ok(vec![
        table(
            "pldi07-figure-1",
            "The work-stealing queue: states covered against preemptions",
            "fabius check corpus/coverage/safe/work_stealing_queue.fab --points sync --no-symmetry --no-reduction --stats",
            &FIGURE_1,
        )?,
        table(
            "pldi07-figure-4",
            "States covered against preemptions",
            "fabius check corpus/coverage/safe/bluetooth.fab --no-symmetry --no-reduction --stats",
            &FIGURE_4,
        )?,
    ])
}

fn coverage(lab: &Lab, (_, curve, command): &Program, theirs: &[String]) -> Result<Measured, String> {
    let answer = lab.run(&format!("check {command} --no-symmetry --no-reduction"))?.must_be("verified")?;
    let states = answer.levels("states");
    let total = answer.json["total_states"].as_u64().ok_or("the states have not been exhausted")?;
    let first = |enough: &dyn Fn(u64) -> bool| states.iter().position(|s| enough(*s)).unwrap_or_default();
    let (ninety, all) = (first(&|s| 10 * s >= 9 * total), first(&|s| s == total));
    let shares: Vec<f64> = states[..=all].iter().map(|s| *s as f64 / total as f64 * 100.0).collect();
    let text: Vec<String> = shares.iter().map(|s| format!("{s:.1}")).collect();
    Ok(Measured {
        cells: vec![
            fixed(curve),
            fixed(total),
            beside(&theirs[1], ninety),
            beside(&theirs[2], all),
            fixed(text.join(", ")),
        ],
        series: vec![Series::line(curve, shares.iter().enumerate().map(|(bound, share)| (bound as f64, *share)))],
    })
}
