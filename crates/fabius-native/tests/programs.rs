//! Every program of `tests/programs` is built and explored, and has the verdict that its header states:
//!
//! ```text
//! // expect: verified
//! // expect: bounded                     (nothing found, and the answer says what was not explored)
//! // expect: bug KIND COST               (with the least preemptions)
//! // expect: unknown WORDS               (words that the reason contains)
//! ```

use fabius_native::{Language, Plan, Report, Target, Walk, compile, explore};
use fabius_trace::{Bound, Points, Reason, SchedulerKind, Verdict};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("native")
}

fn library() -> PathBuf {
    fabius_native::install(&folder()).expect("the folder for tests can be written")
}

fn plan() -> Plan {
    Plan {
        bound: Bound::Preemptions,
        max: None,
        scheduler: SchedulerKind::Bag,
        walk: Walk::Iterative,
        points: Points::Sync,
        first_race: false,
        leaks: false,
        reduction: true,
        executions: Some(200_000),
        time: None,
        memory: None,
        max_steps: 100_000,
        seed: 0,
    }
}

fn build(source: &Path) -> Target {
    let library = library();
    let name = source.file_name().unwrap().to_string_lossy().replace('.', "_");
    let program = folder().join(name);
    let is_cpp = source.extension().is_some_and(|e| e == "cpp");
    let language = if is_cpp { Language::Cpp } else { Language::C };
    let args = ["-w", "-o"].map(OsString::from).into_iter().chain([program.clone().into(), source.into()]);
    let status = compile(language, None, &library, &args.collect::<Vec<_>>()).unwrap().status().unwrap();
    assert!(status.success(), "{} does not compile", source.display());
    Target { program, args: Vec::new(), library }
}

fn run(target: &Target, plan: &Plan) -> Report {
    explore(target, plan, &AtomicBool::new(false), &|_| {}).expect("the program can be run")
}

fn told(report: &Report) -> String {
    match &report.verdict {
        Verdict::Bug { trace } => {
            let kind = serde_json::to_value(trace.kind).unwrap();
            format!("bug {} {}", kind.as_str().unwrap(), trace.cost)
        }
        Verdict::Verified => "verified".into(),
        Verdict::NoBugWithinBounds { .. } => "bounded".into(),
        Verdict::Unknown { reason: Reason::Program { message }, .. } => format!("unknown {message}"),
        Verdict::Unknown { reason, .. } => format!("unknown {reason:?}"),
    }
}

fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut sources: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    sources.sort();
    sources
}

#[test]
fn every_program_has_the_verdict_that_it_states() {
    let sources = sources();
    let next = AtomicUsize::new(0);
    let wrong = std::sync::Mutex::new(Vec::new());
    library();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let text = std::fs::read_to_string(source).unwrap();
                    let expected = text.lines().find_map(|l| l.strip_prefix("// expect: ")).expect("an expectation");
                    let report = run(&build(source), &plan());
                    let got = told(&report);
                    let is = if expected.starts_with("unknown") { got.starts_with(expected) } else { got == expected };
                    if !is {
                        let name = source.file_name().unwrap().to_string_lossy().into_owned();
                        wrong.lock().unwrap().push(format!("{name}: expected {expected}, got {got}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
