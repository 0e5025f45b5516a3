//! The formulas that `--dump smt2` writes, decided by the embedded solver and by others that read them: CPU seconds.
//!
//! *embedded* is the whole run, from the program to the answer, which writes the formula or the trace, too; the others get the
//! formula alone. All formulas are of integers and Booleans; Bitwuzla, which has bit-vectors alone, refuses them, and is asked
//! so that it is seen when it does not any more.

use crate::process::{Run, run as measure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use testkit::messages::{FAMILIES, Variant};

/// Seconds of wall time that one question may take.
const PATIENCE: u32 = 30;

/// Solvers by their commands.
const PEERS: [&str; 3] = ["z3", "cvc5", "bitwuzla"];

/// A command with its file, and further arguments.
const PROGRAMS: [(&str, &str); 15] = [
    ("verify examples/fig9.fab", "--const N=8 --zields 1 --yields 1 --unwind 10 --recursion 10"),
    ("verify examples/fig10.fab", "--const N=4 --zields 4 --yields 1 --unwind 6 --recursion 6"),
    ("verify examples/fig10.fab", "--const N=8 --zields 8 --yields 1 --unwind 10 --recursion 10"),
    ("verify examples/fig10.fab", "--const N=12 --zields 12 --yields 1 --unwind 14 --recursion 14"),
    ("verify examples/fig10.fab", "--const N=16 --zields 16 --yields 1 --unwind 18 --recursion 18"),
    ("verify examples/bluetooth.fab", "--rounds 2"),
    ("verify examples/bluetooth_fixed.fab", "--rounds 3"),
    ("verify bench/models/drivers/disk.fab", "--rounds 2"),
    ("verify bench/models/drivers/disk_race.fab", "--rounds 2"),
    ("verify bench/models/drivers/hub_race.fab", "--rounds 2"),
    ("verify bench/models/drivers/network.fab", "--rounds 2"),
    ("verify corpus/c/ring.c", "--rounds 2"),
    ("verify corpus/c/ring.c", "--rounds 2 -DFIXED=1"),
    ("verify corpus/c/two_locks.c", "--rounds 2 -DFIXED=1"),
    ("verify corpus/c/seqlock.c", "--rounds 3 -DFIXED=1"),
];

/// Families of traces, their sizes, and which of them.
const TRACES: [(&str, usize, Variant); 6] = [
    ("race", 100, Variant::Wrong),
    ("race_all", 20, Variant::Wrong),
    ("race_sum", 6, Variant::Right),
    ("race_sum", 8, Variant::Right),
    ("packets", 100, Variant::Right),
    ("router", 50, Variant::Wrong),
];

/// Prints a table. `--binary FILE` measures another build, `--solver NAME` the embedded solver with one SAT solver alone.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let after = |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1));
    let fabius = after("--binary").map_or_else(|| root.join("target/dist/fabius"), PathBuf::from);
    let solver = after("--solver").map_or("embedded", String::as_str);
    let work = std::env::temp_dir().join(format!("fabius-solvers-{}", std::process::id()));
    std::fs::create_dir_all(&work).map_err(|e| format!("cannot make {}: {e}", work.display()))?;
    let mut questions: Vec<(String, Vec<String>)> = Vec::new();
    for (program, options) in PROGRAMS {
        let (command, file) = program.split_once(' ').ok_or("a command and a file")?;
        let path = root.join(file).to_string_lossy().into_owned();
        let options = options.split_whitespace().map(String::from);
        questions.push((
            format!("{file} {}", options.clone().collect::<Vec<_>>().join(" ")),
            [command.to_string(), path].into_iter().chain(options).collect(),
        ));
    }
    for (name, n, variant) in TRACES {
        let (_, family) = FAMILIES.iter().find(|(known, _)| *known == name).ok_or("no such family")?;
        let path = work.join(format!("{name}_{n}.ctp"));
        std::fs::write(&path, family(n, variant)).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        let word = if variant == Variant::Wrong { "wrong" } else { "right" };
        questions.push((format!("{name}, n = {n}, {word}"), vec!["trace".into(), path.to_string_lossy().into_owned()]));
    }
    println!("| question | answer | {solver} s | {} s |", PEERS.join(" s | "));
    println!("|---|---|---|{}", "---|".repeat(PEERS.len()));
    for (name, arguments) in questions {
        let formula = work.join("formula.smt2");
        let mut command = Command::new(&fabius);
        command.args(&arguments).args(["--json", "--solver", solver, "--time", &format!("{PATIENCE}s")]);
        let ours = measure(&mut command)?;
        let said = ours.output.lines().rev().find_map(|l| l.trim().strip_prefix("\"verdict\": \"")).unwrap_or("?");
        let said = said.trim_end_matches(['"', ',']);
        // Nobody decides the question before once more.
        let _ = std::fs::remove_file(&formula);
        measure(Command::new(&fabius).args(&arguments).args(["--dump", "smt2"]).arg(&formula))?;
        if !formula.exists() || said == "?" {
            return Err(format!("there is no formula or no answer for {name}"));
        }
        let mut row = format!("| {name} | {said} | {:.2} |", ours.cpu);
        for peer in PEERS {
            row += &match decided(peer, &formula)? {
                Decided::Answer(sat, _) if said != "unknown" && sat != (said == "bug") => {
                    return Err(format!("{peer} says {sat} of {name}, where the answer is {said}"));
                }
                Decided::Answer(_, seconds) => format!(" {seconds:.2} |"),
                Decided::No(why) => format!(" {why} |"),
            };
        }
        println!("{row}");
    }
    // What is left of a folder of temporary files does no harm.
    let _ = std::fs::remove_dir_all(&work);
    Ok(())
}

enum Decided {
    /// Whether the formula can be satisfied, and CPU seconds.
    Answer(bool, f64),
    No(String),
}

fn decided(peer: &str, formula: &Path) -> Result<Decided, String> {
    if Command::new(peer).arg("--version").output().is_err() {
        return Ok(Decided::No("not installed".into()));
    }
    let (began, mut command) = (Instant::now(), Command::new("timeout"));
    let Run { cpu, output, .. } = measure(command.arg(PATIENCE.to_string()).arg(peer).arg(formula))?;
    Ok(match output.lines().map(str::trim).find(|line| ["sat", "unsat", "unknown"].contains(line)) {
        Some("unknown") => Decided::No("unknown".into()),
        Some(word) => Decided::Answer(word == "sat", cpu),
        None if began.elapsed().as_secs() < u64::from(PATIENCE) => Decided::No("refused".into()),
        None => Decided::No(format!("> {PATIENCE}")),
    })
}
