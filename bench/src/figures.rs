//! Figures 9 and 10 of Asynchronous Programs with Prioritized Task-Buffers, for growing N: CPU seconds to the violation.
//!
//! `verify` and `check` are Fabius with the least bounds that are enough, `batsat` and `cadical` the same `verify` with that
//! SAT solver alone, and then with two rounds more of each kind than needed (`-`: no answer in time, or not in this build); `synce` is `verify` on the program that
//! `fabius translate --to shared-memory` prints, which is what the paper compares its translations with; `spin` generates,
//! compiles and runs `pan`. The last columns are the seconds that the paper reports for AsyncChecker and SYNCE.

use crate::process::{Run, run as measure};
use std::path::Path;
use std::process::Command;

/// CPU seconds after which SYNCE is not tried any more; seconds after which one SAT solver alone is not.
const PATIENCE: f64 = 30.0;

/// Runs of which the median is taken.
const RUNS: usize = 3;

/// A figure, with the seconds that were published for N = 1..4.
struct Figure {
    name: &'static str,
    asyncchecker: [&'static str; 4],
    synce: [&'static str; 4],
}

const FIGURES: [Figure; 2] = [
    Figure { name: "fig9", asyncchecker: ["1.2", "1.2", "1.25", "1.34"], synce: ["1.5", "2.1", "13.6", "384.2"] },
    Figure { name: "fig10", asyncchecker: ["1.1", "1.7", "7.23", "256.6"], synce: ["1.6", "5.1", "168.9", "> 500"] },
];

/// Prints a table for each figure.
pub fn run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let fabius = root.join("target/dist/fabius");
    let work = std::env::temp_dir().join(format!("fabius-figures-{}", std::process::id()));
    std::fs::create_dir_all(&work).map_err(|e| format!("cannot make {}: {e}", work.display()))?;
    for figure in &FIGURES {
        println!(
            "| {} N | verify s | batsat s | cadical s | two more: batsat s | cadical s | check s | synce s | spin s | AsyncChecker s | SYNCE s |",
            figure.name
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|");
        let mut synce_is_slow = false;
        for n in [1, 2, 3, 4, 6, 8, 12, 16] {
            let size = format!("N={n}");
            let source = root.join(format!("examples/{}.fab", figure.name));
            let rounds: usize = if figure.name == "fig10" { n } else { 1 };
            let deep = (n + 2).to_string();
            let bounds = |more: usize| {
                let [zields, yields] = [rounds + more, 1 + more].map(|r| r.to_string());
                [
                    "--zields".into(),
                    zields,
                    "--yields".into(),
                    yields,
                    "--unwind".into(),
                    deep.clone(),
                    "--recursion".into(),
                    deep.clone(),
                ]
            };
            let of = |arguments: &[&str]| {
                let one = || {
                    bug(Command::new(&fabius)
                        .arg(arguments[0])
                        .arg(&source)
                        .args(["--const", &size, "--json"])
                        .args(&arguments[1..]))
                };
                (0..RUNS).map(|_| one()).collect::<Result<Vec<f64>, String>>().map(median)
            };
            let one_solver = |solver: &str, more: usize| {
                let mut command = Command::new(&fabius);
                command.arg("verify").arg(&source).args(["--const", &size, "--json", "--solver", solver]);
                bug(command.args(["--time", &format!("{PATIENCE}s")]).args(bounds(more)))
                    .map_or_else(|_| "-".into(), |seconds| format!("{seconds:.2}"))
            };
            let solvers = [("batsat", 0), ("cadical", 0), ("batsat", 2), ("cadical", 2)];
            let alone = solvers.map(|(solver, more)| one_solver(solver, more)).join(" | ");
            let least = bounds(0);
            let verify = of(&std::iter::once("verify").chain(least.iter().map(String::as_str)).collect::<Vec<_>>())?;
            let check = of(&["check", "--bound", "rounds"])?;
            let synce = if synce_is_slow { None } else { synce(&fabius, &source, &size, &deep, &work)? };
            synce_is_slow |= synce.is_none();
            let spin = spin(&root, figure.name, &size, &work).map_or("not installed".into(), |s| format!("{s:.2}"));
            let published = |all: &[&str; 4]| all.get(n - 1).copied().unwrap_or("").to_string();
            println!(
                "| {n} | {verify:.3} | {alone} | {check:.3} | {} | {spin} | {} | {} |",
                synce.map_or(format!("> {PATIENCE}"), |s| format!("{s:.2}")),
                published(&figure.asyncchecker),
                published(&figure.synce)
            );
        }
        println!();
    }
    // What is left of a folder of temporary files does no harm.
    let _ = std::fs::remove_dir_all(&work);
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// CPU seconds of a run that must find a bug.
fn bug(command: &mut Command) -> Result<f64, String> {
    let Run { cpu, output, .. } = measure(command)?;
    if output.contains("\"verdict\": \"bug\"") { Ok(cpu) } else { Err(format!("{command:?} finds no bug: {output}")) }
}

/// With the least rounds of yields that are enough; `None` if that takes too long.
fn synce(fabius: &Path, source: &Path, size: &str, deep: &str, work: &Path) -> Result<Option<f64>, String> {
    let translated =
        measure(Command::new(fabius).arg("translate").arg(source).args(["--to", "shared-memory", "--const", size]))?;
    let path = work.join("synce.fab");
    std::fs::write(&path, translated.output).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    let mut spent = 0.0;
    for yields in 1..=64 {
        let yields = yields.to_string();
        let mut command = Command::new(fabius);
        command.arg("verify").arg(&path).args(["--yields", &yields, "--unwind", deep, "--recursion", deep]);
        let run = measure(command.args(["--json", "--time", &format!("{PATIENCE}s")]))?;
        if run.output.contains("\"verdict\": \"bug\"") {
            return Ok(Some(run.cpu));
        }
        spent += run.cpu;
        if spent > PATIENCE {
            return Ok(None);
        }
    }
    Ok(None)
}

/// From the model to the violation; `None` if SPIN is not there.
fn spin(root: &Path, name: &str, size: &str, work: &Path) -> Option<f64> {
    let model = root.join(format!("bench/models/{name}.pml"));
    let mut generate = Command::new("spin");
    let generated = measure(generate.arg("-a").arg(format!("-D{size}")).arg(&model).current_dir(work)).ok()?;
    let mut compile = Command::new("cc");
    let compiled = measure(compile.args(["-O2", "-DSAFETY", "-o", "pan", "pan.c"]).current_dir(work)).ok()?;
    let ran = measure(Command::new(work.join("pan")).current_dir(work)).ok()?;
    ran.output.contains("assertion violated").then_some(generated.cpu + compiled.cpu + ran.cpu)
}
