//! Every program of `tests/programs` is built and explored, and has the verdict that its header states, whether memory is
//! restored, each execution has a process of its own, or several processes explore:
//!
//! ```text
//! // expect: verified
//! // expect: bounded                     (nothing found, and the answer says what was not explored)
//! // expect: bug KIND COST               (with the least preemptions)
//! // expect: unknown WORDS               (words that the reason contains)
//! ```

mod common;

use common::{build, library, plan, run, told};
use fabius_native::{Isolation, Plan, Target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut sources: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    sources.sort();
    sources
}

/// What is not as stated.
fn wrong(plan: &Plan) -> Vec<String> {
    let sources = sources();
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    library();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let text = std::fs::read_to_string(source).unwrap();
                    let expected = text.lines().find_map(|l| l.strip_prefix("// expect: ")).expect("an expectation");
                    let report = run(&built(source), plan);
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
    wrong.into_inner().unwrap()
}

/// Each program is compiled once.
fn built(source: &Path) -> Target {
    static BUILT: Mutex<BTreeMap<PathBuf, Target>> = Mutex::new(BTreeMap::new());
    if let Some(target) = BUILT.lock().unwrap().get(source) {
        return target.clone();
    }
    let target = build(source);
    BUILT.lock().unwrap().insert(source.to_path_buf(), target.clone());
    target
}

fn all_are_as_stated(plan: &Plan) {
    let wrong = wrong(plan);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_program_has_the_verdict_that_it_states() {
    all_are_as_stated(&plan());
    all_are_as_stated(&Plan { isolation: Some(Isolation::Process), ..plan() });
    all_are_as_stated(&Plan { jobs: 3, ..plan() });
}
