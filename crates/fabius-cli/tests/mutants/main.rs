//! Mutated inputs of every kind: no panic, no abort, no hang, no exit code outside of the table; and formatting a program
//! changes no verdict.

#![cfg(unix)]

mod asks;
#[path = "../common/mod.rs"]
mod common;
mod inputs;
mod run;

use asks::{Ask, ask};
use common::folder;
use fastrand::Rng;
use inputs::{Inputs, inputs};
use run::{STDIN, run, run_until};
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The number of the signal on every system.
const SIGTERM: i32 = 15;

/// One command on one mutated file; says what is wrong.
fn try_one(rng: &mut Rng, inputs: &Inputs, here: &Path) -> Result<(), String> {
    let Ask { name, contents, args, codes } = ask(rng, inputs);
    // What standard input is stays there no longer than for this command.
    let _ = std::fs::remove_file(here.join(STDIN));
    std::fs::write(here.join(name), &contents).expect("a file can be written");
    let until = (args[0] == "decide" && rng.bool()).then(|| Duration::from_millis(rng.u64(20..300)));
    let output = run_until(&args, here, until);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let wrong = |what: &str| Err(format!("{what}: fabius {}\n{said}", args.join(" ")));
    match output.status.code() {
        // It had not begun to listen.
        None if until.is_some() && output.status.signal() == Some(SIGTERM) && said.is_empty() => {}
        None => return wrong("ended by a signal, for hanging or swelling if not for an abort"),
        Some(code) if !codes.contains(&code) => return wrong(&format!("exit code {code}")),
        Some(_) => {}
    }
    if ["panicked at", "internal error", "overflowed its stack"].iter().any(|word| said.contains(word)) {
        return wrong("an error of Fabius");
    }
    if output.status.code() == Some(2) && said.is_empty() {
        return wrong("refused without a word");
    }
    if args[0] == "fmt" && output.status.code() == Some(0) {
        formatting_changes_nothing(&contents, here)?;
    }
    Ok(())
}

/// The formatted program, which is in the file, has the verdict of the one that was there.
fn formatting_changes_nothing(before: &[u8], here: &Path) -> Result<(), String> {
    std::fs::write(here.join("before.fab"), before).expect("a file can be written");
    let verdict = |name: &str| {
        let args = ["check", name, "--json", "--max", "1", "--memory", "64M", "--time", "5s"];
        let document: Value = serde_json::from_slice(&run(&args, here).stdout).unwrap_or_default();
        let cut = document["verdict"] == "unknown";
        let said = ["verdict", "kind", "cost", "total_states"].map(|field| document[field].clone());
        let codes: Option<Vec<Value>> =
            document["error"]["diagnostics"].as_array().map(|all| all.iter().map(|d| d["code"].clone()).collect());
        (!cut).then_some((said, codes.unwrap_or_default()))
    };
    match (verdict("before.fab"), verdict("m.fab")) {
        (Some(before), Some(after)) if before != after => {
            Err(format!("formatting changes {before:?} to {after:?}: fabius fmt before.fab"))
        }
        _ => Ok(()),
    }
}

/// Tries mutants until so many are tried or this is over; what fails is kept.
fn hunt(name: &str, seed: u64, most: usize, until: Option<Instant>) {
    let here = folder(name);
    let inputs = inputs(&here);
    let mut rng = Rng::with_seed(seed);
    for number in 0..most {
        if until.is_some_and(|until| Instant::now() >= until) {
            println!("{number} mutants of seed {seed} were answered or refused");
            break;
        }
        if let Err(what) = try_one(&mut rng, &inputs, &here) {
            panic!("mutant {number} of seed {seed}, in {}: {what}", here.display());
        }
    }
}

#[test]
fn mutants_are_answered_or_refused() {
    hunt("mutants", 1, 150, None);
}

/// `cargo test --release -p fabius-cli --test mutants -- --ignored`; `MUTANTS` is the seed.
#[test]
#[ignore = "takes an hour"]
fn mutants_of_an_hour_are_answered_or_refused() {
    let seed = std::env::var("MUTANTS").ok().and_then(|seed| seed.parse().ok()).unwrap_or(2);
    hunt("mutants_of_an_hour", seed, usize::MAX, Instant::now().checked_add(Duration::from_secs(3600)));
}
