//! Mutated inputs of every kind: no panic, no abort, no hang, no exit code outside of the table; and formatting a program
//! changes no verdict.

#![cfg(unix)]

mod common;

use common::{folder, root};
use fastrand::Rng;
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use testkit::mutate::mutate;

/// The number of the signal on every system.
const SIGTERM: i32 = 15;

/// Far beyond every limit that is given: whatever takes longer hangs.
const HANGS: Duration = Duration::from_secs(60);

/// Far beyond the memory that is given: bytes of the process at its largest.
const SWELLS: u64 = 1 << 30;

/// What is mutated.
struct Inputs {
    programs: Vec<Vec<u8>>,
    runs: Vec<Vec<u8>>,
    /// Of models and recorded runs.
    traces: Vec<Vec<u8>>,
    /// Of Rust tests, too.
    all_traces: Vec<Vec<u8>>,
    comparisons: Vec<Vec<u8>>,
}

/// Small files with this extension below a folder.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut all: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    all.sort();
    let below: Vec<PathBuf> = all.iter().filter(|p| p.is_dir()).flat_map(|p| files(p, extension)).collect();
    let small = |p: &PathBuf| {
        p.extension().is_some_and(|e| e == extension) && std::fs::metadata(p).is_ok_and(|m| m.len() < 4000)
    };
    all.into_iter().filter(|p| small(p)).chain(below).collect()
}

fn inputs(here: &Path) -> Inputs {
    let read = |paths: Vec<PathBuf>| paths.iter().map(|p| std::fs::read(p).expect("it can be read")).collect();
    let of = |extension: &str| {
        [files(&root().join("corpus"), extension), files(&root().join("examples"), extension)].concat()
    };
    let saved = |number: usize, args: &[&str]| {
        let path = here.join(format!("saved{number}.json"));
        let trace = path.display().to_string();
        assert_eq!(run(&[args, &["--trace", &trace]].concat(), here).status.code(), Some(1), "{args:?}");
        std::fs::read(path).expect("it was written")
    };
    let example = |name: &str| root().join("examples").join(name).display().to_string();
    let (bluetooth, mcapi, fig9) = (example("bluetooth.fab"), example("mcapi.ctp"), example("fig9.fab"));
    let compare = ["compare", &bluetooth, "--json", "--executions", "20", "--strategies", "icb,random"];
    let traces = vec![
        saved(0, &["check", &bluetooth]),
        saved(1, &["check", &fig9, "--bound", "delays"]),
        saved(2, &["trace", &mcapi]),
    ];
    Inputs {
        programs: read(of("fab")),
        runs: read(of("ctp")),
        all_traces: [traces.clone(), vec![of_a_rust_test()]].concat(),
        traces,
        comparisons: vec![run(&compare, here).stdout],
    }
}

/// The trace of a test that fails.
fn of_a_rust_test() -> Vec<u8> {
    let report = fabius::Config::new().explore(|| {
        let value = std::sync::Arc::new(fabius::sync::atomic::AtomicU32::new(0));
        let other = std::sync::Arc::clone(&value);
        let thread = fabius::thread::spawn(move || other.store(1, fabius::sync::atomic::Ordering::SeqCst));
        assert_eq!(value.load(fabius::sync::atomic::Ordering::SeqCst), 0);
        thread.join().expect("it ends");
    });
    let fabius::Verdict::Bug { trace } = report.verdict else { panic!("it fails: {:?}", report.verdict) };
    serde_json::to_vec(&trace).expect("it is plain data")
}

/// Runs the command; whoever hangs or swells is ended, which shows as a signal.
fn run(args: &[&str], here: &Path) -> Output {
    run_until(args, here, None)
}

/// The same with SIGTERM after a while.
fn run_until(args: &[&str], here: &Path, mut until: Option<Duration>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabius"));
    let out = |name: &str| std::fs::File::create(here.join(name)).expect("a file can be made");
    command.args(args).current_dir(here).stdin(Stdio::null()).stdout(out("stdout")).stderr(out("stderr"));
    let mut child = command.spawn().expect("the command starts");
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        if until.take_if(|until| began.elapsed() > *until).is_some() {
            // It may have ended just now.
            let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).stderr(Stdio::null()).status();
        }
        if began.elapsed() > HANGS || peak(child.id()) > SWELLS {
            child.kill().expect("it can be ended");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let read = |name: &str| std::fs::read(here.join(name)).expect("it is there");
    Output { status, stdout: read("stdout"), stderr: read("stderr") }
}

/// The most memory that a process has had, where the system tells.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

/// One command on one mutated file; says what is wrong.
fn try_one(rng: &mut Rng, inputs: &Inputs, here: &Path) -> Result<(), String> {
    let limits = ["--time", "300ms", "--memory", "64M"];
    let of = |rng: &mut Rng, all: &[Vec<u8>]| {
        let which = rng.usize(0..all.len());
        mutate(rng, &all[which], all)
    };
    let (name, contents, args, codes): (&str, Vec<u8>, Vec<&str>, &[i32]) = match rng.u8(0..18) {
        0..=3 => {
            let options: [&[&str]; 7] = [
                &["--json"],
                &["--bound", "delays", "--max", "2"],
                &["--livelock", "--races"],
                &["--points", "sync", "--html", "out.html", "--sarif", "out.sarif"],
                &["--strategy", "random", "--executions", "50", "--junit", "out.xml"],
                &["--stateless", "--max", "2", "--stats"],
                &["--dot", "out.dot", "--trace", "out.json"],
            ];
            let chosen = options[rng.usize(0..options.len())];
            ("m.fab", of(rng, &inputs.programs), [&["check", "m.fab"], &limits[..], chosen].concat(), &[0, 1, 2, 3])
        }
        4..=5 => {
            let options: [&[&str]; 4] =
                [&["--json"], &["--rounds", "2"], &["--engine", "summaries"], &["--unwind", "2"]];
            let chosen = options[rng.usize(0..options.len())];
            ("m.fab", of(rng, &inputs.programs), [&["verify", "m.fab"], &limits[..], chosen].concat(), &[0, 1, 2, 3])
        }
        6 => {
            let forms = ["explicit", "single-buffer", "yield-free", "shared-memory", "sequential"];
            let form = ["--to", forms[rng.usize(0..forms.len())]];
            let args = [&["translate", "m.fab"], &limits[..], &form].concat();
            ("m.fab", of(rng, &inputs.programs), args, &[0, 2, 3])
        }
        7 => ("m.fab", of(rng, &inputs.programs), vec!["fmt", "m.fab"], &[0, 2]),
        8..=10 => {
            let options: [&[&str]; 4] =
                [&["--json"], &["--property", "deadlock", "--buffering", "zero"], &["--enumerate"], &[]];
            let chosen = options[rng.usize(0..options.len())];
            ("m.ctp", of(rng, &inputs.runs), [&["trace", "m.ctp"], &limits[..], chosen].concat(), &[0, 1, 2, 3])
        }
        11..=12 => ("m.json", of(rng, &inputs.traces), vec!["replay", "m.json"], &[1, 2]),
        13 => ("m.json", of(rng, &inputs.all_traces), vec!["report", "m.json", "-o", "out.html"], &[0, 2]),
        14 => ("m.json", of(rng, &inputs.comparisons), vec!["compare", "m.json", "--svg", "plots"], &[0, 2, 3]),
        15..=16 => {
            let options: [&[&str]; 4] =
                [&["--json"], &["--engine", "bmc"], &["--jobs", "2", "--trace", "out.json"], &[]];
            let chosen = options[rng.usize(0..options.len())];
            ("m.fab", of(rng, &inputs.programs), [&["decide", "m.fab"], &limits[..], chosen].concat(), &[0, 1, 2, 3])
        }
        _ => {
            let args = ["compare", "m.fab", "--executions", "10", "--strategies", "icb,pct:2", "--seeds", "1"];
            ("m.fab", of(rng, &inputs.programs), [&args[..], &limits[..]].concat(), &[0, 2, 3])
        }
    };
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
            break;
        }
        if let Err(what) = try_one(&mut rng, &inputs, &here) {
            panic!("mutant {number} of seed {seed}, in {}: {what}", here.display());
        }
    }
}

#[test]
fn mutants_are_answered_or_refused() {
    hunt("mutants", 1, 400, None);
}

/// `cargo test --release -p fabius-cli --test mutants -- --ignored`; `MUTANTS` is the seed.
#[test]
#[ignore = "takes an hour"]
fn mutants_of_an_hour_are_answered_or_refused() {
    let seed = std::env::var("MUTANTS").ok().and_then(|seed| seed.parse().ok()).unwrap_or(2);
    hunt("mutants_of_an_hour", seed, usize::MAX, Instant::now().checked_add(Duration::from_secs(3600)));
}
