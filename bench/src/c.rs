//! C programs of the corpus, each wrong and repaired: CPU seconds to the verdict, of `fabius FILE` (all its engines together), of
//! `fabius check` alone, and of CBMC; preprocessing is part of each.
//!
//! CBMC is asked for failing assertions alone (`--no-standard-checks`: with its own checks it refuses programs whose threads share
//! pointers), with loops unwound 2, 4, 8 and 16 times until there is an answer, since who uses it has to find that number too. What it is
//! never asked for, because it looks for no such thing, is a deadlock, a data race or, without its checks, a fault of memory.

use crate::process::run as measure;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Seconds by the clock after which a program is given up.
const PATIENCE: f64 = 20.0;

const UNWINDINGS: [u32; 4] = [2, 4, 8, 16];

struct Answer {
    said: String,
    seconds: f64,
}

/// Prints a row for each program and each of its versions, and who was how often the first. `--cbmc COMMAND` names the peer, which is
/// left out where it cannot be started; `--binary FILE` asks another `fabius`; what else is given must be part of a program's name.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut fabius, mut cbmc, mut names) = (root.join("target/dist/fabius"), "cbmc".to_string(), Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("`{argument}` needs a value"));
        match argument.as_str() {
            "--binary" => fabius = value()?.into(),
            "--cbmc" => cbmc = value()?.clone(),
            name => names.push(name),
        }
    }
    let is_there = Command::new(&cbmc).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !is_there {
        eprintln!("`{cbmc}` cannot be started: Fabius alone is measured");
    }
    println!(
        "| program | right answer | `fabius FILE` | s | `fabius check` | s | CBMC | s |\n|---|---|---|---|---|---|---|---|"
    );
    let mut tally = Tally::default();
    for program in programs(&root.join("corpus/c"))? {
        let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !names.is_empty() && !names.iter().any(|n| name.contains(n)) {
            continue;
        }
        for (macros, expected) in versions(&program)? {
            let together = ask_fabius(&fabius, &program, &macros, None)?;
            let explored = ask_fabius(&fabius, &program, &macros, Some("check"))?;
            let peer =
                if is_there && may_be_asked(&expected) { Some(ask_cbmc(&cbmc, &program, &macros)?) } else { None };
            let cell = |a: &Answer| format!("{} | {:.2}", a.said, a.seconds);
            let peers = peer.as_ref().map_or("not asked | ".into(), cell);
            println!("| {name} {macros} | {expected} | {} | {} | {peers} |", cell(&together), cell(&explored));
            tally.add(&expected, &together, peer.as_ref());
        }
    }
    println!(
        "\n{} versions; `fabius FILE` has the right answer of {}, a wrong one of {}. CBMC was asked for {}: the right answer of {}, a wrong one of {}. Of those that both have right, `fabius FILE` is first in {}, and takes more than twice CBMC's time in {}.",
        tally.versions,
        tally.right,
        tally.wrong,
        tally.asked,
        tally.peer_right,
        tally.peer_wrong,
        tally.first,
        tally.late
    );
    Ok(())
}

#[derive(Default)]
struct Tally {
    versions: u32,
    right: u32,
    wrong: u32,
    asked: u32,
    peer_right: u32,
    peer_wrong: u32,
    first: u32,
    late: u32,
}

impl Tally {
    fn add(&mut self, expected: &str, ours: &Answer, peer: Option<&Answer>) {
        let is_definite = |a: &Answer| a.said.starts_with("bug") || a.said == "verified";
        self.versions += 1;
        self.right += u32::from(ours.said == expected);
        self.wrong += u32::from(is_definite(ours) && ours.said != expected);
        let Some(peer) = peer else { return };
        // CBMC does not say of which kind the bug is.
        let is_right = peer.said == expected || (peer.said == "bug" && expected.starts_with("bug"));
        self.asked += 1;
        self.peer_right += u32::from(is_right);
        self.peer_wrong += u32::from(is_definite(peer) && !is_right);
        if is_right && ours.said == expected {
            self.first += u32::from(ours.seconds <= peer.seconds);
            self.late += u32::from(ours.seconds > 2.0 * peer.seconds);
        }
    }
}

fn may_be_asked(expected: &str) -> bool {
    matches!(expected, "verified" | "bug assertion")
}

fn programs(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    let mut programs: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "c")).collect();
    programs.sort();
    Ok(programs)
}

/// The macros of each version of a program and what is right of it: its lines `// expect MACROS: ANSWER`.
fn versions(program: &Path) -> Result<Vec<(String, String)>, String> {
    let text = std::fs::read_to_string(program).map_err(|e| format!("cannot read {}: {e}", program.display()))?;
    let expectations = text.lines().filter_map(|line| line.strip_prefix("// expect")?.split_once(':'));
    Ok(expectations.map(|(macros, answer)| (macros.trim().into(), kind(answer))).collect())
}

/// The verdict and, of a bug, its kind: what CBMC, which knows no preemptions, can be compared with.
fn kind(answer: &str) -> String {
    let words: Vec<&str> = answer.split_whitespace().collect();
    words[..words.len().min(if words.first() == Some(&"bug") { 2 } else { 1 })].join(" ")
}

fn ask_fabius(fabius: &Path, program: &Path, macros: &str, subcommand: Option<&str>) -> Result<Answer, String> {
    let mut command = Command::new(fabius);
    command.args(subcommand).arg(program).args(["--json", "--time", &format!("{PATIENCE}s")]);
    command.args(macros.split_whitespace().map(|m| format!("-D{m}")));
    let run = measure(&mut command)?;
    let answer: Value = serde_json::from_str(&run.output).unwrap_or(Value::Null);
    let verdict = answer["verdict"].as_str().unwrap_or("error");
    let said = match answer["trace"]["kind"].as_str() {
        Some(kind) if verdict == "bug" => format!("bug {kind}"),
        _ => verdict.into(),
    };
    Ok(Answer { said, seconds: run.cpu })
}

fn ask_cbmc(cbmc: &str, program: &Path, macros: &str) -> Result<Answer, String> {
    let (began, mut seconds) = (Instant::now(), 0.0);
    for unwinding in UNWINDINGS {
        let left = (PATIENCE - began.elapsed().as_secs_f64()).ceil().max(1.0);
        let mut command = Command::new("timeout");
        command.arg(left.to_string()).arg(cbmc).arg(program).args(macros.split_whitespace().map(|m| format!("-D{m}")));
        command.args(["--no-standard-checks", "--unwinding-assertions", "--unwind", &unwinding.to_string()]);
        let run = measure(&mut command)?;
        seconds += run.cpu;
        let output = run.output;
        let mut failures = output.lines().filter(|line| line.ends_with(": FAILURE"));
        let said = if output.contains("VERIFICATION SUCCESSFUL") {
            "verified"
        } else if failures.any(|line| !line.contains("unwinding assertion")) {
            "bug"
        } else if output.contains("VERIFICATION FAILED") {
            continue;
        } else if began.elapsed().as_secs_f64() >= PATIENCE {
            "no answer"
        } else {
            "refused"
        };
        return Ok(Answer { said: said.into(), seconds });
    }
    Ok(Answer { said: "no answer".into(), seconds })
}
