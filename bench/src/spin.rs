//! Fabius against SPIN: the same model at the same granularity, exhausted by both.
//!
//! `pan` is compiled with `-O2 -DSAFETY -DNOREDUCE` (no partial-order reduction, so that both count the same states).
//! Speed compares states per CPU second of the search alone; "to verdict" compares everything that each tool does from the
//! source text on, which for SPIN is generating, compiling and running `pan`.

use crate::process::run as measure;
use std::path::Path;
use std::process::Command;

/// A model: `bench/models/<file>.pml`, and what Fabius reads.
struct Model {
    name: &'static str,
    file: &'static str,
    /// The constant that sets its size.
    size: &'static str,
    deadlocks: Deadlocks,
    language: Language,
    /// How deep `pan` may go, and bits of its table.
    depth: &'static str,
    table: &'static str,
}

/// What Fabius reads.
#[derive(PartialEq)]
enum Language {
    /// `bench/models/<file>.fab`, written so that both count the same states.
    Fabius,
    /// The model in Promela. What is dead is part of a state for `pan`, and not here, so that these are fewer.
    Promela,
}

/// Whether the model is meant to end with everybody finished.
#[derive(PartialEq)]
enum Deadlocks {
    AreBugs,
    AreExpected,
}

const MODELS: &[Model] = &[
    model("peterson3", "peterson", "N=3", Deadlocks::AreBugs),
    model("peterson4", "peterson", "N=4", Deadlocks::AreBugs),
    model("philosophers12", "philosophers", "N=12", Deadlocks::AreBugs),
    model("bakery3", "bakery", "N=3", Deadlocks::AreBugs),
    model("leader13", "leader", "N=13", Deadlocks::AreExpected),
    Model { language: Language::Promela, ..model("filter3", "filter", "N=3", Deadlocks::AreBugs) },
];

/// What is measured only if it is named: it takes minutes and gigabytes.
const LARGE: &[Model] = &[Model {
    language: Language::Promela,
    depth: "-m50000000",
    table: "-w27",
    ..model("filter4", "filter", "N=4", Deadlocks::AreBugs)
}];

const fn model(name: &'static str, file: &'static str, size: &'static str, deadlocks: Deadlocks) -> Model {
    Model { name, file, size, deadlocks, language: Language::Fabius, depth: "-m5000000", table: "-w24" }
}

/// One measurement of one tool.
struct Sample {
    /// CPU seconds from source text to verdict.
    to_verdict: f64,
    /// CPU seconds of the search.
    search: f64,
    states: f64,
    /// Bytes of peak memory in the search.
    memory: f64,
}

/// Runs the models that are named (all, if none is) and prints a table.
fn compare(names: &[String], runs: usize) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let work = std::env::temp_dir().join(format!("fabius-bench-{}", std::process::id()));
    println!(
        "| model | states | fabius states/s | pan states/s | speed ratio | to verdict, fabius s | to verdict, spin s | bytes/state fabius | bytes/state pan |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let is_named = |m: &&Model| names.iter().any(|n| n == m.name);
    let usual = MODELS.iter().filter(|m| names.is_empty() || is_named(m));
    for model in usual.chain(LARGE.iter().filter(is_named)) {
        let folder = work.join(model.name);
        std::fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            ours.push(fabius(&root, model)?);
            theirs.push(spin(&root, &folder, model)?);
        }
        let median = |samples: &[Sample], f: fn(&Sample) -> f64| {
            let mut values: Vec<f64> = samples.iter().map(f).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let (a, b) = (median(&ours, |s| s.states), median(&theirs, |s| s.states));
        if a != b && model.language == Language::Fabius {
            eprintln!("{}: fabius counts {a} states, pan {b}: not the same granularity", model.name);
        }
        let states = if a == b { format!("{a}") } else { format!("{a} for {b}") };
        let speed = |samples: &[Sample]| median(samples, |s| s.states / s.search);
        println!(
            "| {} | {states} | {:.0} | {:.0} | {:.2} | {:.3} | {:.3} | {:.0} | {:.0} |",
            model.name,
            speed(&ours),
            speed(&theirs),
            speed(&ours) / speed(&theirs),
            median(&ours, |s| s.to_verdict),
            median(&theirs, |s| s.to_verdict),
            median(&ours, |s| s.memory / s.states),
            median(&theirs, |s| s.memory / s.states),
        );
    }
    std::fs::remove_dir_all(&work).map_err(|e| format!("cannot remove {}: {e}", work.display()))
}

/// Command line of `fabius-bench spin`.
pub fn run(arguments: Vec<String>) -> Result<(), String> {
    let mut names = Vec::new();
    let mut runs = 5;
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        if argument == "--runs" {
            let value = arguments.next().unwrap_or_default();
            runs = value.parse().ok().filter(|n| *n > 0).ok_or(format!("`--runs {value}`: not a positive number"))?;
        } else if MODELS.iter().chain(LARGE).any(|m| m.name == argument) {
            names.push(argument);
        } else {
            let known: Vec<&str> = MODELS.iter().chain(LARGE).map(|m| m.name).collect();
            return Err(format!("no model `{argument}`; there are: {}", known.join(", ")));
        }
    }
    compare(&names, runs)
}

fn fabius(root: &Path, model: &Model) -> Result<Sample, String> {
    let mut command = Command::new(root.join("target/dist/fabius"));
    let extension = match model.language {
        Language::Fabius => "fab",
        Language::Promela => "pml",
    };
    command.arg("check").arg(root.join("bench/models").join(model.file).with_extension(extension));
    command.args(["--const", model.size, "--bound", "none", "--no-reduction", "--jobs", "1", "--json"]);
    if model.deadlocks == Deadlocks::AreExpected {
        command.arg("--no-deadlock");
    }
    let done = measure(&mut command)?;
    let report: serde_json::Value =
        serde_json::from_str(&done.output).map_err(|e| format!("{}: fabius says no JSON: {e}", model.name))?;
    let states = report["levels"].as_array().and_then(|l| l.last()).and_then(|l| l["states"].as_f64());
    let states = states.ok_or(format!("{}: fabius gives no count of states: {}", model.name, done.output))?;
    Ok(Sample { to_verdict: done.cpu, search: done.cpu, states, memory: done.memory as f64 })
}

fn spin(root: &Path, folder: &Path, model: &Model) -> Result<Sample, String> {
    let source = root.join("bench/models").join(model.file).with_extension("pml");
    let generate =
        measure(Command::new("spin").arg(format!("-D{}", model.size)).arg("-a").arg(source).current_dir(folder))?;
    let compile = measure(
        Command::new("cc").args(["-O2", "-w", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"]).current_dir(folder),
    )?;
    let mut pan = Command::new(folder.join("pan"));
    pan.args([model.depth, model.table]).current_dir(folder);
    if model.deadlocks == Deadlocks::AreExpected {
        pan.arg("-E");
    }
    let search = measure(&mut pan)?;
    let states = search
        .output
        .lines()
        .find_map(|line| line.trim().strip_suffix(" states, stored")?.parse::<f64>().ok())
        .ok_or(format!("{}: pan gives no count of states: {}", model.name, search.output))?;
    Ok(Sample {
        to_verdict: generate.cpu + compile.cpu + search.cpu,
        search: search.cpu,
        states,
        memory: search.memory as f64,
    })
}
