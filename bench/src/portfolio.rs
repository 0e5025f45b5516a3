//! `fabius FILE` beside the best engine alone: every program of the corpus and of the examples, seconds by the clock.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Seconds after which a run is given up.
const PATIENCE: &str = "20s";

const ENGINES: [&str; 4] = ["explore", "bmc", "any", "random"];

/// Prints a line for each program that takes longer than one and a half times the best engine and a tenth of a second, and
/// what the others have in common. `--all` prints each.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let all = arguments.iter().any(|a| a == "--all");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let fabius = root.join("target/dist/fabius");
    let mut programs = Vec::new();
    for folder in ["examples", "corpus"] {
        collect(&root.join(folder), &mut programs)?;
    }
    programs.sort();
    println!("| program | answer | all s | best engine | its s | ratio |\n|---|---|---|---|---|---|");
    let (mut answered, mut late, mut missed) = (0, 0, 0);
    for program in &programs {
        let name = program.strip_prefix(&root).unwrap_or(program).display().to_string();
        let together = ask(&fabius, program, &[])?;
        let alone = ENGINES.iter().map(|engine| Ok((*engine, ask(&fabius, program, &["--engine", engine])?)));
        let alone = alone.collect::<Result<Vec<_>, String>>()?;
        let definite = alone.iter().filter(|(_, run)| run.is_definite);
        let best = definite.min_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds));
        let Some((engine, best)) = best else { continue };
        answered += 1;
        let is_late = together.seconds > 1.5 * best.seconds + 0.1;
        late += u32::from(is_late && together.is_definite);
        missed += u32::from(!together.is_definite);
        if all || is_late || !together.is_definite {
            println!(
                "| {name} | {} | {:.2} | {engine} | {:.2} | {:.1} |",
                together.verdict,
                together.seconds,
                best.seconds,
                together.seconds / best.seconds
            );
        }
    }
    println!(
        "\n{answered} programs that some engine answers: {missed} without an answer by all, {late} later than 1.5 times the best and 0.1 s"
    );
    Ok(())
}

struct Answered {
    verdict: String,
    is_definite: bool,
    seconds: f64,
}

fn ask(fabius: &Path, program: &Path, options: &[&str]) -> Result<Answered, String> {
    let began = Instant::now();
    let output = Command::new(fabius)
        .arg(program)
        .args(["--json", "--time", PATIENCE])
        .args(options)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("cannot run {}: {e}", fabius.display()))?;
    let seconds = began.elapsed().as_secs_f64();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    let verdict = answer["verdict"].as_str().unwrap_or("error").to_string();
    if answer["error"]["kind"] == "internal" {
        return Err(format!("{}: {}", program.display(), answer["error"]["message"]));
    }
    let is_definite = matches!(verdict.as_str(), "bug" | "verified");
    Ok(Answered { verdict, is_definite, seconds })
}

fn collect(folder: &Path, programs: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "reject") {
            collect(&path, programs)?;
        } else if path.extension().is_some_and(|e| e == "fab") {
            programs.push(path);
        }
    }
    Ok(())
}
