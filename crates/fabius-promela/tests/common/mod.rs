//! Programs in Promela, explored by us and by SPIN.
#![allow(dead_code)]

use fabius_lang::program::Program;
use fabius_trace::{Bound, Verdict};
use fabius_verify::{Plan, Symmetry, check, program_id};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// What a model checker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    Bug,
    None,
    /// It was cut short.
    Nothing,
}

/// Whether SPIN can be asked.
pub fn is_there() -> bool {
    let runs = |command: &str, option: &str| Command::new(command).arg(option).output().is_ok();
    let there = runs("spin", "-V") && runs("cc", "--version");
    if !there {
        eprintln!("`spin` or `cc` is not installed: nothing is compared");
    }
    there
}

/// A folder of its own for a run of SPIN.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("spin").join(name)
}

/// The program of a text; what is refused as it is shown.
pub fn compiled(source: &str) -> Result<Program, String> {
    fabius_promela::compile(source, &[])
        .map_err(|wrong| fabius_lang::render(source, "x.pml", &wrong, fabius_lang::Style::Plain))
}

/// What exploration says, and how many states there are.
pub fn answer(program: &Program) -> (Said, Option<u64>) {
    let id = program_id("", &program.source, &[], &[]);
    let plan = Plan {
        bound: Bound::None,
        jobs: 1,
        // SPIN looks for those where there is no formula or claim.
        deadlock: program.properties.iter().all(|p| p.name.starts_with("accept")),
        symmetry: Symmetry::OFF,
        reduction: false,
        ..Plan::default()
    };
    let stop = AtomicBool::new(false);
    let report = check(program, &id, &plan, &stop, &|_| {}).unwrap_or_else(|e| panic!("{e:?}\n{}", program.source));
    let said = match report.verdict {
        Verdict::Bug { .. } => Said::Bug,
        Verdict::Verified => Said::None,
        _ => Said::Nothing,
    };
    (said, report.total_states)
}

/// What SPIN says.
pub struct Spin {
    pub said: Said,
    pub states: u64,
    pub text: String,
}

/// Asks SPIN, without any of its reductions.
pub fn spin(source: &str, folder: &Path) -> Spin {
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(folder.join("model.pml"), source).expect("a file");
    let run = |command: &str, args: &[&str]| {
        let out = Command::new(command).args(args).current_dir(folder).output().expect("it runs");
        format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
    };
    let _ = std::fs::remove_file(folder.join("pan.c"));
    let made = run("spin", &["-a", "-o1", "-o2", "-o3", "model.pml"]);
    if made.contains("Error") || !folder.join("pan.c").exists() {
        return Spin { said: Said::Nothing, states: 0, text: made };
    }
    let asked = ["ltl ", "never ", "accept"].iter().any(|word| source.contains(word));
    let kind = if asked { "-DNOREDUCE" } else { "-DSAFETY" };
    let compiled = run("cc", &["-O0", "-w", kind, "-DNOREDUCE", "-DMEMLIM=500", "-o", "pan", "pan.c"]);
    assert!(compiled.is_empty(), "{compiled}\n{source}");
    let text = run("./pan", if asked { &["-m50000", "-n", "-a"] } else { &["-m50000", "-n"] });
    let stored = text.lines().find_map(|line| line.split_once(" states, stored")?.0.trim().parse().ok());
    // What the compiled program does by itself is an error of the program, too.
    let wrong =
        text.lines().any(|line| line.starts_with("pan:1:") || line.contains("error:") || line.contains("Error"));
    let said = match wrong {
        true if text.contains("max search depth too small") => Said::Nothing,
        true => Said::Bug,
        false if text.contains("Search not completed") => Said::Nothing,
        false => Said::None,
    };
    Spin { said, states: stored.unwrap_or(0), text }
}
