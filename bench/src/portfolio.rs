//! `fabius FILE` beside the best engine alone: every program of the corpus and of the examples, seconds by the clock.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Seconds after which one engine alone is given up.
const PATIENCE: f64 = 20.0;

/// Seconds that all engines together may take where the best of them takes so many.
fn allowed(best: f64) -> f64 {
    1.5 * best + 0.1
}

/// How often those are measured again that seem late: a busy machine is late by itself.
const AGAIN: usize = 4;

const ENGINES: [&str; 4] = ["explore", "bmc", "any", "random"];

/// Prints a line for each program that takes longer than one and a half times the best engine and a tenth of a second, and
/// what the others have in common. `--all` prints each; `--binary FILE` asks another `fabius`; what else is given must be part of a
/// program's name.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut all, mut fabius, mut names) = (false, root.join("target/dist/fabius"), Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--all" => all = true,
            "--binary" => fabius = arguments.next().ok_or("`--binary` needs a file")?.into(),
            name => names.push(name),
        }
    }
    let mut programs = Vec::new();
    for folder in ["examples", "corpus", "bench/models"] {
        collect(&root.join(folder), &mut programs)?;
    }
    programs.sort();
    println!("| program | answer | all s | best engine | its s | ratio |\n|---|---|---|---|---|---|");
    let (mut answered, mut late, mut missed) = (0, 0, 0);
    for program in &programs {
        let name = program.strip_prefix(&root).unwrap_or(program).display().to_string();
        if !names.is_empty() && !names.iter().any(|n| name.contains(n)) {
            continue;
        }
        let mut together = ask(&fabius, program, None, allowed(PATIENCE))?;
        // Who takes longer than all together is not the one that they are late behind.
        let patience = if together.is_definite { together.seconds.min(PATIENCE) } else { PATIENCE };
        let mut best: Option<(&str, Answered)> = None;
        for engine in ENGINES {
            let alone = ask(&fabius, program, Some(engine), patience)?;
            if alone.is_definite && best.as_ref().is_none_or(|(_, b)| alone.seconds < b.seconds) {
                best = Some((engine, alone));
            }
        }
        let Some((engine, mut best)) = best else {
            answered += u32::from(together.is_definite);
            continue;
        };
        answered += 1;
        for _ in 0..AGAIN {
            if together.is_definite && is_late(&together, &best) {
                together.seconds = together.seconds.min(ask(&fabius, program, None, allowed(PATIENCE))?.seconds);
                best.seconds = best.seconds.min(ask(&fabius, program, Some(engine), PATIENCE)?.seconds);
            }
        }
        let is_late = is_late(&together, &best);
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

fn is_late(together: &Answered, best: &Answered) -> bool {
    together.seconds > allowed(best.seconds)
}

struct Answered {
    verdict: String,
    is_definite: bool,
    seconds: f64,
}

fn ask(fabius: &Path, program: &Path, engine: Option<&str>, patience: f64) -> Result<Answered, String> {
    let began = Instant::now();
    let milliseconds = format!("{}ms", (patience * 1000.0).ceil().max(100.0));
    let output = Command::new(fabius)
        .arg(program)
        .args(["--json", "--time", &milliseconds])
        .args(engine.into_iter().flat_map(|name| ["--engine", name]))
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
        } else if path.extension().is_some_and(|e| e == "fab" || e == "c") {
            programs.push(path);
        }
    }
    Ok(())
}
