//! The table of Proving MCAPI Executions are Correct (clauses of two encodings), and how they grow.

use super::{Cell, Lab, Measured, Row, Table, beside, cells, chart, fixed, theirs};
use fabius_curves::{Axis, Series};
use std::path::Path;
use testkit::messages::{Variant, race};

/// Seconds for one question.
const PATIENCE: u32 = 10;

/// Our traces, in the order of the paper's table.
static TRACES: [&str; 4] = [
    "examples/mcapi.ctp",
    "corpus/messages/bug/small_1.ctp",
    "corpus/messages/safe/small_2.ctp",
    "corpus/messages/bug/small_3.ctp",
];

/// Senders whose messages race for one receiver.
static SENDERS: [usize; 6] = [5, 10, 20, 50, 100, 200];

pub fn tables(root: &Path) -> Result<Vec<Table>, String> {
    let published = theirs::read(root, "mcapi_clauses.csv")?;
    let rows = TRACES.iter().zip(published).map(|(file, theirs)| Row::new(move |lab| clauses(lab, file, &theirs)));
    let table = Table {
        name: "mcapi-clauses",
        columns: vec!["trace", "here", "clauses of the paper's encoding", "of the order-based one", "of ours (sparse)"],
        rows: rows.collect(),
        quick: 0,
        command: "fabius trace examples/mcapi.ctp --encoding match-pair --stats",
        chart: None,
    };
    let scaling = Table {
        name: "mcapi-scaling",
        columns: vec!["messages", "sparse: clauses", "s", "match-pair: clauses", "s", "order: clauses", "s"],
        rows: SENDERS.iter().map(|n| Row::new(move |lab| growing(lab, *n))).collect(),
        quick: 0,
        command: "fabius trace corpus/messages/bug/race_5.ctp --encoding match-pair --stats",
        chart: chart(
            "n messages that race for one receiver: clauses of three encodings",
            Axis::logarithmic("messages", ""),
            Axis::logarithmic("clauses", ""),
        ),
    };
    Ok(vec![table, scaling])
}

fn count(answer: &super::lab::Answer) -> Result<u64, String> {
    answer.json["stats"]["clauses"].as_u64().ok_or("no clauses are reported".into())
}

fn clauses(lab: &Lab, file: &str, theirs: &[String]) -> Result<Measured, String> {
    let of = |encoding: &str| count(&lab.run(&format!("trace {file} --encoding {encoding}"))?);
    let what = if file.starts_with("examples") { "the paper's trace" } else { "stand-in" };
    Ok(cells(vec![
        fixed(&theirs[0]),
        fixed(what),
        beside(&theirs[1], of("match-pair")?),
        beside(&theirs[2], of("order")?),
        fixed(of("sparse")?),
    ]))
}

fn growing(lab: &Lab, n: usize) -> Result<Measured, String> {
    let mut measured = cells(vec![fixed(n)]);
    lab.with_file("race.ctp", &race(n, Variant::Wrong), |path| {
        for encoding in ["sparse", "match-pair", "order"] {
            let answer = lab.run_for(&format!("trace {} --encoding {encoding}", path.display()), PATIENCE)?;
            let clauses = count(&answer)?;
            measured.cells.push(fixed(clauses));
            measured.cells.push(match answer.verdict() {
                "unknown" => Cell::Timed(format!("not within {PATIENCE} s")),
                _ => super::seconds(answer.must_be("bug")?.seconds),
            });
            measured.series.push(Series::line(encoding, [(n as f64, clauses as f64)]));
        }
        Ok(measured)
    })?
}
