//! Random programs with loops as Rust text, which is compiled: loops as they are in real tests.

use crate::compare::Case;
use crate::{asks, compare::Endless};
use fastrand::Rng;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stdmodel::loops::generate;
use stdmodel::loops::program::Place;

/// A program that takes longer is given up, and counted.
const LIMIT: Duration = Duration::from_secs(30);
/// Programs with more states are left out.
const STATES: usize = 4000;

const MANIFEST: &str = "\
[package]
name = \"loops-compiled\"
version = \"0.0.0\"
edition = \"2024\"
[workspace]
[profile.dev]
opt-level = 2
debug = false
[dependencies]
fastrand = \"2\"
";

const MAIN: &str = "
fn main() {
    let seed: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut rng = fastrand::Rng::with_seed(seed);
    let program = stdmodel::loops::generate::program(&mut rng, 2, &stdmodel::loops::program::Place::OWNED);
    let run = PROGRAMS.iter().find(|(of, _)| *of == seed).unwrap().1;
    let case = compare::Case::new(&program, std::sync::Arc::new(run), 4000).unwrap();
    let mut answers = asks::Answers::default();
    let effort = asks::Effort { executions: 600, outcomes: 4, ways: 6 };
    answers.ask(&case, &mut rng, effort, |found| println!(\"WRONG {program}{}\", found.text));
    println!(\"{answers:?}\");
}
";

/// Compiles so many of the programs from a seed on and asks about each in a process of its own.
pub fn batch(first: u64, count: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let package = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("loops-compiled");
    let path = |name: &str| {
        let features = if name == "fabius" { "features = [\"traces\"], " } else { "" };
        format!("{name} = {{ {features}path = {:?} }}\n", root.join("crates").join(name))
    };
    let module = |name: &str| {
        let file = root.join("crates/fabius/tests/loops").join(name);
        format!("#[path = {file:?}]\nmod {};\n", name.trim_end_matches(".rs"))
    };
    let mut text = ["#![allow(warnings)]\n", &module("asks.rs"), &module("compare.rs")].concat();
    let mut list = String::new();
    let mut seeds = Vec::new();
    for seed in (first..).filter(|seed| is_chosen(*seed)).take(count) {
        let program = generate::program(&mut Rng::with_seed(seed), 2, &Place::OWNED);
        let _ = writeln!(text, "mod p{seed} {{\n{program}}}");
        let _ = writeln!(list, "    ({seed}, p{seed}::program),");
        seeds.push(seed);
    }
    let _ = writeln!(text, "const PROGRAMS: &[(u64, fn(&dyn Fn(&Vec<Vec<u8>>)))] = &[\n{list}];\n{MAIN}");
    let write = |name: &str, text: &str| std::fs::write(package.join(name), text).unwrap();
    std::fs::create_dir_all(package.join("src")).unwrap();
    write("Cargo.toml", &[MANIFEST, &path("fabius"), &path("stdmodel")].concat());
    std::fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    write("src/main.rs", &text);
    let target = package.join("target");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--offline", "--quiet"]).current_dir(&package).env("CARGO_TARGET_DIR", &target);
    assert!(build.status().unwrap().success(), "the programs from seed {first} on");
    let (mut late, mut wrong) = (0, 0);
    for seed in &seeds {
        match ask(&target.join("debug/loops-compiled"), *seed) {
            Some(said) if said.contains("WRONG") || !said.contains("Answers") => {
                println!("seed {seed}: {said}");
                wrong += 1;
            }
            Some(said) => println!("seed {seed}: {}", said.trim()),
            None => late += 1,
        }
    }
    println!("seeds {first} to {}: {} programs, {late} took too long", seeds.last().unwrap(), seeds.len());
    assert_eq!(wrong, 0, "programs that are not answered as by the model");
}

/// Most are programs that repeat themselves and yet can end; the others are many.
fn is_chosen(seed: u64) -> bool {
    let program = generate::program(&mut Rng::with_seed(seed), 2, &Place::OWNED);
    let case = Case::new(&program, Arc::new(|_| {}), STATES);
    let some = |case: &Case| if case.endless == Endless::No { 8 } else { 16 };
    case.is_some_and(|case| asks::is_rare(&case) || seed.is_multiple_of(some(&case)))
}

/// What the process says; none if it takes too long.
fn ask(binary: &Path, seed: u64) -> Option<String> {
    let mut child = Command::new(binary).arg(seed.to_string()).stdout(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Some(String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned())
}
