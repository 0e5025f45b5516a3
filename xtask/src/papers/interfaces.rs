//! How the analysis of any number of threads grows with rounds and shared valuations. Sequentializing Parameterized
//! Programs (2011/12) has no measurements, but says how large the translated program is if its data is finite: with k rounds
//! and S shared valuations, k^2 S^(2k) locations, times those of the process.

use super::{Cell, Lab, Measured, Row, Table, chart, fixed, seconds};
use fabius_curves::{Axis, Series};

/// Values of the shared state of examples/bluetooth_any_fixed.fab: a number from 0 to 7 and three flags.
const VALUATIONS: u64 = 64;

/// Rounds for the ring.
const ROUNDS: u32 = 2;

pub fn tables() -> Vec<Table> {
    let table = |name, first, command, rows, picture| Table {
        name,
        columns: vec![
            first,
            "the paper's factor k²·S^(2k)",
            "nodes of our decision diagrams",
            "statements, lazy translation",
            "s",
        ],
        rows,
        quick: 0,
        command,
        chart: picture,
    };
    let size = || Axis::logarithmic("size", "");
    vec![
        table(
            "interfaces-rounds",
            "rounds k",
            "fabius verify examples/bluetooth_any_fixed.fab --threads any --rounds 3 --engine interfaces --no-deadlock --json",
            [1, 2, 3, 4].into_iter().map(|k| Row::new(move |lab| rounds(lab, k))).collect(),
            chart("Any number of Bluetooth requests: size against rounds", Axis::linear("rounds", ""), size()),
        ),
        table(
            "interfaces-valuations",
            "valuations S",
            "fabius verify corpus/parameterized/safe/ring.fab --threads any --rounds 2 --const N=32 --engine interfaces --no-deadlock --json",
            [2, 4, 8, 16, 32, 64].into_iter().map(|n| Row::new(move |lab| valuations(lab, n))).collect(),
            chart(
                "A ring of S values, two rounds: size against valuations",
                Axis::logarithmic("valuations", ""),
                size(),
            ),
        ),
    ]
}

fn rounds(lab: &Lab, k: u32) -> Result<Measured, String> {
    grown(lab, u64::from(k), &format!("examples/bluetooth_any_fixed.fab --rounds {k}"), k, VALUATIONS)
}

fn valuations(lab: &Lab, n: u64) -> Result<Measured, String> {
    grown(lab, n, &format!("corpus/parameterized/safe/ring.fab --const N={n} --rounds {ROUNDS}"), ROUNDS, n)
}

fn grown(lab: &Lab, first: u64, command: &str, k: u32, valuations: u64) -> Result<Measured, String> {
    let answer = lab.run(&format!("verify {command} --threads any --engine interfaces --no-deadlock"))?;
    let time = match answer.verdict() {
        "unknown" => Cell::Timed("not in time".into()),
        _ => seconds(answer.seconds),
    };
    let nodes = answer.json["proof"]["solver"]["nodes"].as_u64().ok_or("no nodes are reported")?;
    let factor = f64::from(k).powi(2) * (valuations as f64).powi(2 * k as i32);
    let text = lab.text(&format!("translate {command}"))?;
    let statements = text.lines().filter(|l| l.trim().ends_with(';') || l.trim().ends_with('{')).count();
    let at = |value: f64| [(first as f64, value)];
    Ok(Measured {
        cells: vec![fixed(first), fixed(format!("{factor:.2e}")), fixed(nodes), fixed(statements), time],
        series: vec![
            Series::line("factor of the paper", at(factor)),
            Series::line("nodes of our diagrams", at(nodes as f64)),
            Series::line("lazy translation", at(statements as f64)),
        ],
    })
}
