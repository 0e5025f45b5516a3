//! Every program of `tests/programs` is built and explored, and has the verdict that its header states:
//!
//! ```text
//! // expect: verified
//! // expect: bounded                     (nothing found, and the answer says what was not explored)
//! // expect: bug KIND COST               (with the least preemptions)
//! // expect: unknown WORDS               (words that the reason contains)
//! ```

mod common;

use common::{build, library, plan, run, told};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

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
