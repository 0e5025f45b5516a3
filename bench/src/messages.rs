//! Recorded runs of message passing: clauses and CPU seconds of `fabius trace` for each encoding, for growing traces.
//!
//! The families are those of the testkit, wrong (there is a bug) and right (there is none). An encoding that takes longer
//! than the patience is not tried on larger traces. `--plot FILE.svg` draws the wrong `race`, whose n! matchings are what the
//! paper's tool was slowest on.

use crate::process::{Run, run as measure};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use testkit::messages::{FAMILIES, Variant};

/// Seconds of wall time that one question may take.
const PATIENCE: u32 = 30;

const ENCODINGS: [&str; 3] = ["sparse", "match-pair", "order"];

/// What is measured: a family and its sizes.
const FIGURES: [(&str, &[usize]); 8] = [
    ("race", &[10, 20, 50, 70, 100, 200, 500, 1000]),
    ("race_all", &[10, 20, 50, 100, 200, 500]),
    ("race_sum", &[4, 6, 8, 9, 10]),
    ("packets", &[12, 48, 100, 256, 512, 1000]),
    ("exchange", &[10, 50, 100, 250, 500]),
    ("router", &[5, 10, 25, 50, 100, 250]),
    ("scatter_gather", &[10, 50, 100, 250, 500]),
    ("leader_election", &[10, 50, 100, 250, 500]),
];

/// A point of the plot.
struct Measured {
    encoding: &'static str,
    n: usize,
    clauses: f64,
    seconds: f64,
}

/// Prints a table for each family; the arguments name families, and `--plot FILE.svg`.
pub fn run(arguments: Vec<String>) -> Result<(), String> {
    let plot = arguments.iter().position(|a| a == "--plot").map(|i| arguments.get(i + 1).cloned().unwrap_or_default());
    let is_named = |name: &str| arguments.iter().any(|a| a == name);
    let all = !FIGURES.iter().any(|(name, _)| is_named(name));
    let fabius = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/dist/fabius");
    let work = std::env::temp_dir().join(format!("fabius-messages-{}.ctp", std::process::id()));
    let mut points = Vec::new();
    for (name, sizes) in FIGURES.iter().filter(|(name, _)| all || is_named(name)) {
        let (_, family) = FAMILIES.iter().find(|(known, _)| known == name).ok_or("no such family")?;
        for (word, variant) in [("wrong", Variant::Wrong), ("right", Variant::Right)] {
            println!("| {name}, {word} | messages | sparse s | clauses | match-pair s | clauses | order s | clauses |");
            println!("|---|---|---|---|---|---|---|---|");
            let mut given_up = [false; 3];
            for n in *sizes {
                std::fs::write(&work, family(*n, variant))
                    .map_err(|e| format!("cannot write {}: {e}", work.display()))?;
                let mut row = String::new();
                let mut messages = 0;
                for (encoding, given_up) in ENCODINGS.into_iter().zip(&mut given_up) {
                    if *given_up {
                        row += " | |";
                        continue;
                    }
                    let mut command = Command::new(&fabius);
                    command.arg("trace").arg(&work).args(["--json", "--encoding", encoding]);
                    let Run { cpu, output, .. } = measure(command.args(["--time", &format!("{PATIENCE}s")]))?;
                    let document: Value = serde_json::from_str(&output).map_err(|e| format!("{command:?}: {e}"))?;
                    messages = document["stats"]["sends"].as_u64().unwrap_or(0);
                    let clauses = document["stats"]["clauses"].as_u64().unwrap_or(0);
                    let wanted = if variant == Variant::Wrong { "bug" } else { "verified" };
                    *given_up = document["verdict"] != wanted;
                    if *given_up {
                        let _ = write!(row, " > {PATIENCE} | {clauses} |");
                        continue;
                    }
                    *given_up = cpu > f64::from(PATIENCE) / 3.0;
                    let _ = write!(row, " {cpu:.2} | {clauses} |");
                    if *name == "race" && variant == Variant::Wrong {
                        points.push(Measured { encoding, n: *n, clauses: clauses as f64, seconds: cpu.max(0.001) });
                    }
                }
                println!("| {n} | {messages} |{row}");
                if given_up.iter().all(|g| *g) {
                    break;
                }
            }
            println!();
        }
    }
    // A temporary file that stays does no harm.
    let _ = std::fs::remove_file(&work);
    match plot {
        Some(path) => std::fs::write(&path, drawn(&points)).map_err(|e| format!("cannot write {path}: {e}")),
        None => Ok(()),
    }
}

/// Clauses on the left, seconds on the right, both axes logarithmic.
fn drawn(points: &[Measured]) -> String {
    const COLOURS: [&str; 3] = ["#1b7837", "#2166ac", "#b2182b"];
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 340\" font-family=\"sans-serif\" font-size=\"12\">\n",
    );
    let panels: [(&str, f64, fn(&Measured) -> f64, [i32; 2]); 2] =
        [("clauses", 60.0, |m| m.clauses, [1, 7]), ("CPU seconds", 430.0, |m| m.seconds, [-3, 2])];
    for (title, left, value, [low, high]) in panels {
        let x = |n: f64| left + (n.log10() - 1.0) / 2.0 * 280.0;
        let y = |v: f64| 290.0 - (v.log10() - f64::from(low)) / f64::from(high - low) * 250.0;
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"25\" font-weight=\"bold\">{title}</text>");
        for power in low..=high {
            let at = y(10f64.powi(power));
            let _ = writeln!(svg, "<path d=\"M{left} {at} h280\" stroke=\"#ddd\"/>");
            let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">1e{power}</text>", left - 5.0, at + 4.0);
        }
        for n in [10.0, 100.0, 1000.0] {
            let _ = writeln!(svg, "<text x=\"{}\" y=\"310\" text-anchor=\"middle\">{n}</text>", x(n));
        }
        for (encoding, colour) in ENCODINGS.into_iter().zip(COLOURS) {
            let line: Vec<String> = points
                .iter()
                .filter(|p| p.encoding == encoding)
                .map(|p| format!("{:.1},{:.1}", x(p.n as f64), y(value(p))))
                .collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                line.join(" ")
            );
        }
    }
    for (i, (encoding, colour)) in ENCODINGS.into_iter().zip(COLOURS).enumerate() {
        let at = 230 + 110 * i;
        let _ = writeln!(svg, "<text x=\"{at}\" y=\"332\" fill=\"{colour}\">{encoding}</text>");
    }
    svg + "</svg>\n"
}
