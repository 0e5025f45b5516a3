//! Figures 8, 9 and 10 of Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), and the driver with
//! interrupts.

use super::lab::PATIENCE;
use super::{Cell, Lab, Measured, Row, Table, cells, fixed, seconds, theirs};
use std::path::Path;

/// Seconds for `check` on a driver and for the encoding in shared memory.
const SHORT: u32 = 30;

/// Our models, in an order with the paper's outcomes.
static DRIVERS: [&str; 10] = [
    "disk",
    "disk_race",
    "hub_race",
    "hub",
    "keyboard_race",
    "keyboard",
    "network",
    "network_race",
    "serial_race",
    "serial",
];

/// A row: what it is, the command, the verdict that must come out.
type Question = (&'static str, &'static str, &'static str);

/// The first finds the least number of rounds by itself; with one round less `verify` finds nothing.
static INTERRUPTS: [Question; 5] = [
    ("drops a read, check", "check examples/interrupt_driver.fab --const BUG=1 --bound rounds", "bug"),
    (
        "drops a read, verify, 2 rounds",
        "verify examples/interrupt_driver.fab --const BUG=1 --zields 2 --unwind 10",
        "no_bug_within_bounds",
    ),
    ("drops a read, verify, 3 rounds", "verify examples/interrupt_driver.fab --const BUG=1 --zields 3", "bug"),
    (
        "repaired, verify, 3 rounds",
        "verify examples/interrupt_driver.fab --zields 3 --unwind 10",
        "no_bug_within_bounds",
    ),
    ("repaired, check", "check examples/interrupt_driver.fab", "verified"),
];

pub fn tables(root: &Path) -> Result<Vec<Table>, String> {
    let published = theirs::read(root, "async12_figure8.csv")?;
    let rows = DRIVERS.iter().zip(published).map(|(model, theirs)| Row::new(move |lab| driver(lab, model, &theirs)));
    let figure8 = Table {
        name: "async12-figure-8",
        columns: vec!["driver", "outcome", "POIROT", "AsyncChecker", "our model", "lines", "verify", "s", "check"],
        rows: rows.collect(),
        quick: 1,
        command: "fabius verify bench/models/drivers/disk.fab --rounds 2",
        chart: None,
    };
    let published = theirs::read(root, "async12_figures_9_and_10.csv")?;
    let table = |name, figure: &'static str, command| {
        let of = published.iter().filter(move |row| row[0] == figure).cloned();
        Table {
            name,
            columns: vec!["N", "SYNCE", "AsyncChecker", "rounds", "shared memory", "verify", "check"],
            rows: of.map(|theirs| Row::new(move |lab| growing(lab, figure, &theirs))).collect(),
            quick: 0,
            command,
            chart: None,
        }
    };
    let interrupts = super::pldi07::find(&published, "interrupt_driver")?;
    let row = |question| {
        let theirs = interrupts.clone();
        Row::new(move |lab| interrupt_driver(lab, question, &theirs))
    };
    Ok(vec![
        figure8,
        table("async12-figure-9", "fig9", "fabius verify examples/fig9.fab --const N=4 --zields 1 --yields 1"),
        table("async12-figure-10", "fig10", "fabius verify examples/fig10.fab --const N=4 --zields 4 --yields 1"),
        Table {
            name: "async12-interrupts",
            columns: vec!["driver", "SYNCE", "AsyncChecker", "our verdict", "rounds of the trace", "s"],
            rows: INTERRUPTS.iter().map(row).collect(),
            quick: 0,
            command: "fabius verify examples/interrupt_driver.fab --const BUG=1 --zields 3",
            chart: None,
        },
    ])
}

fn driver(lab: &Lab, model: &str, theirs: &[String]) -> Result<Measured, String> {
    let file = format!("bench/models/drivers/{model}.fab");
    let lines = super::read(&lab.root.join(&file))?.lines().count();
    let verify = lab.run(&format!("verify {file} --rounds 2"))?;
    let expected = if theirs[1] == "buggy" { "bug" } else { "no_bug_within_bounds" };
    let verify = verify.must_be(expected)?;
    let check = lab.run_for(&format!("check {file}"), SHORT)?;
    let checked = match check.verdict() {
        "unknown" => format!("not within {SHORT} s"),
        verdict => format!("{verdict}, {:.2} s", check.seconds),
    };
    Ok(cells(vec![
        fixed(&theirs[0]),
        fixed(&theirs[1]),
        fixed(format!("{} s", theirs[2])),
        fixed(format!("{} s", theirs[3])),
        fixed(model),
        fixed(lines),
        fixed(verify.verdict().replace('_', " ")),
        seconds(verify.seconds),
        Cell::Timed(checked.replace('_', " ")),
    ]))
}

/// The least rounds over the buffers with which `verify` finds the bug, and how long that took.
fn least_rounds(lab: &Lab, program: &str) -> Result<(u32, f64), String> {
    for rounds in 1..=8 {
        let answer = lab.run(&format!("verify {program} --zields {rounds}"))?;
        match answer.verdict() {
            "bug" => return Ok((rounds, answer.seconds)),
            "unknown" => return Err(format!("{program}: not within {PATIENCE} s")),
            _ => {}
        }
    }
    Err(format!("{program}: no bug within 8 rounds"))
}

fn growing(lab: &Lab, figure: &str, theirs: &[String]) -> Result<Measured, String> {
    let n: u32 = theirs[1].parse().map_err(|_| "N is no number")?;
    let deep = format!("--unwind {0} --recursion {0}", n + 2);
    let program = format!("examples/{figure}.fab --const N={n}");
    let (rounds, verify) = least_rounds(lab, &format!("{program} --yields 1 {deep}"))?;
    let check = lab.run(&format!("check {program} --bound rounds"))?.must_be("bug")?;
    let text = lab.text(&format!("translate {program} --to shared-memory"))?;
    let shared = lab.with_file("shared.fab", &text, |path| shared_memory(lab, path, &deep))??;
    Ok(cells(vec![
        fixed(n),
        fixed(format!("{} s", theirs[2])),
        fixed(format!("{} s", theirs[3])),
        fixed(rounds),
        shared,
        seconds(verify),
        seconds(check.seconds),
    ]))
}

/// The translation that the paper compares with: seconds with the least rounds of yields that are enough.
fn shared_memory(lab: &Lab, path: &Path, deep: &str) -> Result<Cell, String> {
    let mut spent = 0.0;
    for yields in 1.. {
        let answer = lab.run_for(&format!("verify {} --yields {yields} {deep}", path.display()), SHORT)?;
        spent += answer.seconds;
        if answer.verdict() == "bug" {
            return Ok(seconds(answer.seconds));
        }
        if spent > f64::from(SHORT) || answer.verdict() == "unknown" {
            break;
        }
    }
    Ok(Cell::Timed(format!("not within {SHORT} s")))
}

fn interrupt_driver(lab: &Lab, question: &Question, theirs: &[String]) -> Result<Measured, String> {
    let (what, command, verdict) = question;
    let answer = lab.run(command)?.must_be(verdict)?;
    // The cost of a trace is told in passages to a new round, of which the first needs none.
    let rounds = answer.json["cost"].as_u64().map_or("-".into(), |cost| (cost + 1).to_string());
    let (synce, asyncchecker) =
        if *verdict == "bug" { (theirs[2].as_str(), format!("{} s", theirs[3])) } else { ("-", "-".into()) };
    Ok(cells(vec![
        fixed(what),
        fixed(synce),
        fixed(asyncchecker),
        fixed(verdict.replace('_', " ")),
        fixed(rounds),
        seconds(answer.seconds),
    ]))
}
