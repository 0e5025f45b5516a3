//! Any number of threads: CPU seconds against rounds, shared variables, locals, and against a fixed number of threads that
//! are explored one by one.
//!
//! The engines are those of `fabius verify --threads any`; `check` is Fabius with so many threads, within the same rounds.

use crate::process::run as measure;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seconds after which a run is given up.
const PATIENCE: u32 = 60;

/// Prints a table for each question.
pub fn run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let fabius = root.join("target/release/fabius");
    let work = std::env::temp_dir().join(format!("fabius-any-{}", std::process::id()));
    std::fs::create_dir_all(&work).map_err(|e| format!("cannot make {}: {e}", work.display()))?;
    let fixed = root.join("examples/bluetooth_any_fixed.fab");
    println!("| rounds | interfaces s | summaries s | check, 3 requests s |");
    println!("|---|---|---|---|");
    for k in 1..=5 {
        let rounds = k.to_string();
        let by = |engine: &str| of(&fabius, &fixed, &["verify", "--rounds", &rounds, "--engine", engine]);
        let most = (k - 1).to_string();
        let check = of(&fabius, &fixed, &["check", "--bound", "rounds", "--max", &most, "--instances", "add=3"])?;
        println!("| {k} | {} | {} | {check} |", by("interfaces")?, by("summaries")?);
    }
    println!("\n| requests | any number s | check s |\n|---|---|---|");
    for n in 2..=8 {
        let instances = format!("add={n}");
        let any = of(&fabius, &fixed, &["verify", "--rounds", "3"])?;
        println!(
            "| {n} | {any} | {} |",
            of(&fabius, &fixed, &["check", "--bound", "rounds", "--max", "2", "--instances", &instances])?
        );
    }
    println!("\n| variables | shared s | local s |\n|---|---|---|");
    for n in [2, 4, 6, 8, 10] {
        let one = |name: &str, text: String| -> Result<String, String> {
            let path: PathBuf = work.join(format!("{name}{n}.fab"));
            std::fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
            of(&fabius, &path, &["verify", "--rounds", "2"])
        };
        println!("| {n} | {} | {} |", one("shared", shared(n))?, one("local", local(n))?);
    }
    // What is left of a folder of temporary files does no harm.
    let _ = std::fs::remove_dir_all(&work);
    Ok(())
}

/// CPU seconds, or that there were too many. All of these have no bug.
fn of(fabius: &Path, program: &Path, arguments: &[&str]) -> Result<String, String> {
    let patience = format!("{PATIENCE}s");
    let run = measure(
        Command::new(fabius).arg(arguments[0]).arg(program).args(&arguments[1..]).args(["--time", &patience, "--json"]),
    )?;
    let answer: serde_json::Value =
        serde_json::from_str(&run.output).map_err(|e| format!("fabius says {}: {e}", run.output))?;
    match answer["verdict"].as_str() {
        Some("no_bug_within_bounds" | "verified") => Ok(format!("{:.2}", run.cpu)),
        Some("unknown") => Ok(format!("> {PATIENCE}")),
        other => Err(format!("{}: {other:?}", program.display())),
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
