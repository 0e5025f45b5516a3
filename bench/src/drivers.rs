//! Ten models of drivers, as those of figure 8 of Asynchronous Programs with Prioritized Task-Buffers: some 500 lines, three
//! threads, five correct and five with a seeded race. CPU seconds of `verify` with two rounds and of `check`.

use crate::process::run as measure;
use std::path::Path;
use std::process::Command;

/// Prints a table.
pub fn run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root.join("bench/models/drivers");
    let mut models: Vec<_> = std::fs::read_dir(&folder)
        .map_err(|e| format!("cannot list {}: {e}", folder.display()))?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "fab"))
        .collect();
    models.sort();
    println!("| driver | lines | verify | s | check | s |");
    println!("|---|---|---|---|---|---|");
    for path in models {
        let lines =
            std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?.lines().count();
        let one = |arguments: &[&str]| -> Result<String, String> {
            let mut command = Command::new(root.join("target/dist/fabius"));
            let ran = measure(command.arg(arguments[0]).arg(&path).args(&arguments[1..]).arg("--json"))?;
            let verdict =
                ran.output.lines().rev().find_map(|l| l.trim().strip_prefix("\"verdict\": \"")).unwrap_or("?\"");
            Ok(format!("{} | {:.2}", verdict.trim_end_matches(['"', ',']), ran.cpu))
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (verify, check) = (one(&["verify", "--rounds", "2"])?, one(&["check", "--time", "60s"])?);
        println!("| {name} | {lines} | {verify} | {check} |");
    }
    Ok(())
}
