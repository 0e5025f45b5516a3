//! Any number of threads: CPU seconds against rounds, shared variables, locals, and against a fixed number of threads that
//! are explored one by one.
//!
//! The engines are those of `fabius verify --threads any` (the automatic one decides all rounds at once); `check` is Fabius with so many threads, within the same rounds; z3
//! gets the clauses that `--dump horn` writes, which say what `summaries` decides. `--plot FILE.svg` draws the second table.

use crate::process::run as measure;
use fabius_curves::{Axis, Chart, Series, svg};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seconds after which a run is given up.
const PATIENCE: u32 = 60;

/// The rounds that are drawn.
const ROUNDS: [u32; 3] = [2, 3, 4];

/// Prints a table for each question.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let plot = arguments.iter().position(|a| a == "--plot").map(|i| arguments.get(i + 1).cloned().unwrap_or_default());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let fabius = root.join("target/dist/fabius");
    let work = std::env::temp_dir().join(format!("fabius-any-{}", std::process::id()));
    std::fs::create_dir_all(&work).map_err(|e| format!("cannot make {}: {e}", work.display()))?;
    let fixed = root.join("examples/bluetooth_any_fixed.fab");
    println!("| rounds | all rounds at once s | interfaces s | summaries s | z3, Horn clauses s |");
    println!("|---|---|---|---|---|");
    for k in 1..=8 {
        let rounds = k.to_string();
        let by = |engine: &str| {
            of(&fabius, &fixed, &["verify", "--no-deadlock", "--rounds", &rounds, "--engine", engine]).map(cell)
        };
        let z3 = z3(&fabius, &fixed, &rounds, &work)?;
        println!("| {k} | {} | {} | {} | {z3} |", by("automatic")?, by("interfaces")?, by("summaries")?);
    }
    let lines = against_threads(&fabius, &fixed)?;
    println!("\n| variables | shared s | local s |\n|---|---|---|");
    for n in [2, 4, 6, 8, 10] {
        let one = |name: &str, text: String| -> Result<String, String> {
            let path: PathBuf = work.join(format!("{name}{n}.fab"));
            std::fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
            of(&fabius, &path, &["verify", "--no-deadlock", "--rounds", "2", "--engine", "interfaces"]).map(cell)
        };
        println!("| {n} | {} | {} |", one("shared", shared(n))?, one("local", local(n))?);
    }
    // What is left of a folder of temporary files does no harm.
    let _ = std::fs::remove_dir_all(&work);
    let Some(path) = plot else { return Ok(()) };
    let chart = Chart {
        title: "The repaired Bluetooth driver: any number of requests, and so many that are explored".into(),
        x: Axis::linear("requests that are explored", ""),
        y: Axis::logarithmic("CPU time", "s"),
        series: lines,
    };
    std::fs::write(&path, svg(&chart)?).map_err(|e| format!("cannot write {path}: {e}"))
}

/// A table of what is said of any number of requests, and of what is explored for a number of them; and its columns as lines.
/// A column ends where a run was given up.
fn against_threads(fabius: &Path, program: &Path) -> Result<Vec<Series>, String> {
    let columns = ROUNDS.map(|k| format!("any number, {k} rounds s | check, {k} rounds s")).join(" | ");
    println!("\n| requests | {columns} |\n|---|{}", "---|".repeat(2 * ROUNDS.len()));
    let names = ROUNDS.map(|k| [format!("any number, {k} rounds"), format!("check, {k} rounds")]);
    let mut lines: Vec<Series> = names.iter().flatten().map(|name| Series::line(name, [])).collect();
    let mut given_up = [false; 2 * ROUNDS.len()];
    for n in 2..=8 {
        let instances = format!("add={n}");
        let mut row = Vec::new();
        for (i, k) in ROUNDS.iter().enumerate() {
            let (rounds, most) = (k.to_string(), (k - 1).to_string());
            let check = ["check", "--no-deadlock", "--bound", "rounds", "--max", &most, "--instances", &instances];
            for (column, asked) in [
                (2 * i, &["verify", "--no-deadlock", "--rounds", &rounds, "--engine", "interfaces"][..]),
                (2 * i + 1, &check),
            ] {
                let seconds = if given_up[column] { None } else { of(fabius, program, asked)? };
                given_up[column] |= seconds.is_none();
                lines[column].points.extend(Series::line("", seconds.map(|s| (f64::from(n), s.max(LEAST)))).points);
                row.push(cell(seconds));
            }
        }
        println!("| {n} | {} |", row.join(" | "));
    }
    Ok(lines)
}

/// Seconds that are measured at least: a drawing has no 0.
const LEAST: f64 = 0.001;

fn cell(seconds: Option<f64>) -> String {
    seconds.map_or(format!("> {PATIENCE}"), |s| format!("{s:.2}"))
}

/// CPU seconds; `None` if there were too many. All of these have no bug.
fn of(fabius: &Path, program: &Path, arguments: &[&str]) -> Result<Option<f64>, String> {
    let patience = format!("{PATIENCE}s");
    let run = measure(
        Command::new(fabius).arg(arguments[0]).arg(program).args(&arguments[1..]).args(["--time", &patience, "--json"]),
    )?;
    let answer: serde_json::Value =
        serde_json::from_str(&run.output).map_err(|e| format!("fabius says {}: {e}", run.output))?;
    match answer["verdict"].as_str() {
        Some("no_bug_within_bounds" | "verified") => Ok(Some(run.cpu)),
        Some("unknown") => Ok(None),
        other => Err(format!("{}: {other:?}", program.display())),
    }
}

/// CPU seconds of z3 for the clauses of the lazy translation.
fn z3(fabius: &Path, program: &Path, rounds: &str, work: &Path) -> Result<String, String> {
    let clauses = work.join("clauses.smt2");
    measure(
        Command::new(fabius).arg("verify").arg(program).args(["--rounds", rounds, "--dump", "horn"]).arg(&clauses),
    )?;
    let patience = format!("-T:{PATIENCE}");
    let Ok(run) = measure(Command::new("z3").arg(patience).arg(&clauses)) else { return Ok("not installed".into()) };
    match run.output.lines().next() {
        Some("sat") => Ok(cell(Some(run.cpu))),
        Some("timeout" | "unknown") => Ok(cell(None)),
        other => Err(format!("z3 says {other:?} of {rounds} rounds")),
    }
}

/// A token that goes around over `n` flags.
fn shared(n: usize) -> String {
    let mut text: String = (0..n).map(|i| format!("var f{i}: bool = {};\n", i == 0)).collect();
    text += "process p[*] {\n";
    for i in 0..n {
        text += &format!(
            "    if f{i} {{\n        atomic {{ assume f{i}; f{i} = false; f{} = true; }}\n    }}\n",
            (i + 1) % n
        );
    }
    text + "    assert f0 || !f0;\n}\n"
}

/// Two flags that are copied through `n` locals.
fn local(n: usize) -> String {
    let mut text = String::from("var a: bool;\nvar b: bool = true;\nprocess p[*] {\n");
    for i in 0..n {
        text += &format!("    let l{i} = {};\n", if i % 2 == 0 { "a" } else { "b" });
    }
    for i in 0..n {
        text += &format!("    {} = l{i};\n", if i % 2 == 0 { "b" } else { "a" });
    }
    text + "    assert a || !a;\n}\n"
}
