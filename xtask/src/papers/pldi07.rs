//! Tables 1 and 2 of Iterative Context Bounding (PLDI 2007).

use super::maxima::maxima;
use super::{Lab, Row, Table, beside, cells, fixed, theirs};
use std::path::Path;

/// A program of Table 1: the name in the paper, what it is here, its file, its constants.
type Program = (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)]);

static PROGRAMS: [Program; 5] = [
    ("Bluetooth", "model", "corpus/coverage/safe/bluetooth.fab", &[]),
    ("File system model", "model", "corpus/coverage/safe/file_system.fab", &[("INODES", "4"), ("BLOCKS", "8")]),
    (
        "Work-stealing queue",
        "model",
        "corpus/coverage/safe/work_stealing_queue.fab",
        &[("ITEMS", "6"), ("STEALS", "6")],
    ),
    ("APE", "stand-in", "corpus/threads/bug/ape.fab", &[("BUG", "0")]),
    ("Dryad channels", "stand-in", "corpus/threads/bug/dryad_channels.fab", &[("BUG", "0"), ("WORKERS", "3")]),
];

/// The bugs of Table 2: the name in the paper, what they are here, the file, how many there are.
static BUGS: [(&str, &str, &str, u32); 5] = [
    ("Bluetooth", "the same bug", "examples/bluetooth.fab", 1),
    ("Work-stealing queue", "seeded bugs of ours", "examples/work_stealing_queue.fab", 3),
    ("Transaction manager", "stand-in", "corpus/threads/safe/transaction_manager.fab", 3),
    ("APE", "stand-in", "corpus/threads/bug/ape.fab", 4),
    ("Dryad channels", "stand-in with the published bug", "corpus/threads/bug/dryad_channels.fab", 5),
];

pub fn tables(root: &Path) -> Result<Vec<Table>, String> {
    let published = theirs::read(root, "pldi07_table1.csv")?;
    let rows = PROGRAMS.iter().map(|program| {
        let theirs = find(&published, program.0)?;
        Ok(Row::new(move |lab| characteristics(lab, program, &theirs)))
    });
    let table1 = Table {
        name: "pldi07-table-1",
        columns: vec!["program", "here", "lines", "threads", "steps", "blocking steps", "preemptions"],
        rows: rows.collect::<Result<_, String>>()?,
        quick: 0,
        command: "",
        chart: None,
    };
    let published = theirs::read(root, "pldi07_table2.csv")?;
    let rows = BUGS.iter().map(|bugs| {
        let theirs = find(&published, bugs.0)?;
        Ok(Row::new(move |lab| least(lab, bugs, &theirs)))
    });
    let table2 = Table {
        name: "pldi07-table-2",
        columns: vec!["program", "here", "bugs", "0 preemptions", "1", "2", "3"],
        rows: rows.collect::<Result<_, String>>()?,
        quick: 0,
        command: "fabius check examples/work_stealing_queue.fab --const BUG=1",
        chart: None,
    };
    Ok(vec![table1, table2])
}

/// The row that begins with this name.
pub fn find(rows: &[Vec<String>], name: &str) -> Result<Vec<String>, String> {
    rows.iter().find(|row| row[0] == name).cloned().ok_or(format!("the paper's numbers have no row `{name}`"))
}

fn characteristics(
    lab: &Lab,
    (name, what, file, consts): &Program,
    theirs: &[String],
) -> Result<super::Measured, String> {
    let source = super::read(&lab.root.join(file))?;
    let consts = consts.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let options = fabius_lang::Options { consts, ..Default::default() };
    let program = fabius_lang::compile(&source, &options).map_err(|d| format!("{file}: {d:?}"))?;
    let ours = maxima(&program).map_err(|e| format!("{file}: {e}"))?;
    // Lines of code, as the paper counts them: without comments and empty ones.
    let lines = source.lines().filter(|l| !l.trim().is_empty() && !l.trim().starts_with("//")).count();
    Ok(cells(vec![
        fixed(name),
        fixed(what),
        beside(&theirs[1], lines),
        beside(&theirs[2], ours.threads),
        beside(&theirs[3], ours.steps),
        beside(&theirs[4], ours.blocking),
        beside(&theirs[5], ours.preemptions),
    ]))
}

fn least(
    lab: &Lab,
    (name, what, file, bugs): &(&str, &str, &str, u32),
    theirs: &[String],
) -> Result<super::Measured, String> {
    let mut found = [0; 4];
    for bug in 1..=*bugs {
        let of = if *bugs == 1 { String::new() } else { format!(" --const BUG={bug}") };
        let answer = lab.run(&format!("check {file}{of}"))?.must_be("bug")?;
        let cost = answer.json["cost"].as_u64().and_then(|c| found.get_mut(c as usize));
        *cost.ok_or(format!("{file}{of}: more preemptions than the table has columns"))? += 1;
    }
    let counts = theirs[2..].iter().zip(found).map(|(theirs, ours)| beside(theirs, ours));
    Ok(cells([fixed(name), fixed(what), beside(&theirs[1], bugs)].into_iter().chain(counts).collect()))
}
