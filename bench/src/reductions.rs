//! What each reduction saves: states and CPU seconds of `check` on one processor, without a bound and in the order of preemptions, with
//! symmetry of threads and the reduction of independent steps on and off, over families that grow and over the corpus.

use crate::process::run as measure;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A family: `bench/models/<file>.fab` with these values of `N`.
struct Family {
    file: &'static str,
    sizes: &'static [u32],
    /// Whether the model is meant to end with somebody who waits.
    stuck: bool,
}

const FAMILIES: &[Family] = &[
    Family { file: "two_stage", sizes: &[2, 5, 7, 10], stuck: false },
    Family { file: "fork_join", sizes: &[2, 5, 7, 10], stuck: false },
    Family { file: "readers", sizes: &[2, 5, 10, 100], stuck: false },
    Family { file: "tickets", sizes: &[2, 5, 10, 100], stuck: false },
    Family { file: "workers", sizes: &[2, 3, 4, 5], stuck: false },
    Family { file: "pipeline", sizes: &[2, 10, 100], stuck: false },
    Family { file: "philosophers", sizes: &[3, 6, 9], stuck: false },
    Family { file: "leader", sizes: &[3, 7, 10], stuck: true },
    Family { file: "peterson", sizes: &[3, 4], stuck: false },
    Family { file: "bakery", sizes: &[2, 3], stuck: false },
];

/// What is switched off, by column.
const COLUMNS: [(&str, &[&str]); 4] = [
    ("neither", &["--no-symmetry", "--no-reduction"]),
    ("symmetry", &["--no-reduction"]),
    ("reduction", &["--no-symmetry"]),
    ("both", &[]),
];

/// One run: whether it came to an end, what it says, its states and CPU seconds.
struct Answer {
    verdict: String,
    states: f64,
    cpu: f64,
}

/// Command line of `fabius-bench reductions`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let binary = match arguments {
        [] => root.join("target/dist/fabius"),
        [option, file] if option == "--binary" => PathBuf::from(file),
        _ => return Err("usage: fabius-bench reductions [--binary FILE]".into()),
    };
    for bound in ["none", "preemptions"] {
        println!("\n`--bound {bound}`:\n");
        table(&root, &binary, bound)?;
    }
    Ok(())
}

fn table(root: &Path, binary: &Path, bound: &str) -> Result<(), String> {
    let heading = COLUMNS.map(|(name, _)| format!("{name} | s")).join(" | ");
    println!("| model | {heading} |\n|---{}|", "|---".repeat(2 * COLUMNS.len()));
    for family in FAMILIES {
        let file = root.join("bench/models").join(family.file).with_extension("fab");
        for size in family.sizes {
            let mut arguments = vec!["--bound".into(), bound.to_string(), "--const".into(), format!("N={size}")];
            arguments.extend(family.stuck.then(|| "--no-deadlock".to_string()));
            let cells = COLUMNS.map(|(_, off)| Ok::<_, String>(cell(&ask(binary, &file, &arguments, off)?)));
            let cells = cells.into_iter().collect::<Result<Vec<_>, _>>()?;
            println!("| {}, N = {size} | {} |", family.file, cells.join(" | "));
        }
    }
    corpus(binary, bound)
}

fn cell(answer: &Answer) -> String {
    match answer.verdict.as_str() {
        "verified" => format!("{} | {:.2}", answer.states, answer.cpu),
        _ => format!("{} | {:.2}", answer.verdict, answer.cpu),
    }
}

/// The programs of the corpus that are verified, and those with a bug, all together.
fn corpus(binary: &Path, bound: &str) -> Result<(), String> {
    let arguments = ["--bound".to_string(), bound.to_string()];
    let mut sums = [[(0.0, 0.0); COLUMNS.len()]; 2];
    let mut counts = [0; 2];
    for file in testkit::corpus::programs(&["corpus", "examples"]) {
        let answers = COLUMNS.map(|(_, off)| ask(binary, &file, &arguments, off).ok());
        let Some(answers) = answers.into_iter().collect::<Option<Vec<_>>>() else { continue };
        let kind = match answers[0].verdict.as_str() {
            "verified" => 0,
            "bug" => 1,
            _ => continue,
        };
        if let Some(other) = answers.iter().find(|answer| answer.verdict != answers[0].verdict) {
            return Err(format!("{}: {} and {}", file.display(), answers[0].verdict, other.verdict));
        }
        counts[kind] += 1;
        for (sum, answer) in sums[kind].iter_mut().zip(&answers) {
            *sum = (sum.0 + answer.states, sum.1 + answer.cpu);
        }
    }
    for (name, count, sums) in [("verified", counts[0], sums[0]), ("with a bug", counts[1], sums[1])] {
        let cells = sums.map(|(states, cpu)| format!("{states} | {cpu:.2}")).join(" | ");
        println!("| {count} programs of the corpus, {name} | {cells} |");
    }
    Ok(())
}

fn ask(binary: &Path, file: &Path, arguments: &[String], off: &[&str]) -> Result<Answer, String> {
    let mut command = Command::new(binary);
    command.arg("check").arg(file).args(arguments).args(off);
    command.args(["--jobs", "1", "--json", "--time", "20s", "--memory", "300M"]);
    let done = measure(&mut command)?;
    let report: serde_json::Value =
        serde_json::from_str(&done.output).map_err(|e| format!("{}: no JSON: {e}", file.display()))?;
    let states = report["levels"].as_array().and_then(|levels| levels.last()?["states"].as_f64()).unwrap_or(0.0);
    Ok(Answer { verdict: report["verdict"].as_str().unwrap_or("error").into(), states, cpu: done.cpu })
}
