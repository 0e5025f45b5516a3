//! Every program of `tests/programs` is built and explored, and has the verdict that its header states, whether memory is
//! restored, each execution has a process of its own, or several processes explore:
//!
//! ```text
//! // flags: -std=c++20                  (options of the compiler, if it needs any)
//! // expect: verified
//! // expect: bounded                     (nothing found, and the answer says what was not explored)
//! // expect: bug KIND COST               (with the least preemptions)
//! // expect: unknown WORDS               (words that the reason contains)
//! // forked: WHY                         (memory alone does not put everything back)
//! // slow: WHY                           (explored in the first way only)
//! ```

mod common;

use common::{Files, build_with, library, plan, run, told};
use fabius_native::{Isolation, Plan};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut sources: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    sources.sort();
    sources
}

/// Builds and explores all programs in every one of these ways.
fn all_are_as_stated(compiler: Option<&str>, plans: &[Plan]) {
    let _files = Files::begin();
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
                    let target = build_with(compiler, source);
                    let is_slow = text.lines().any(|l| l.starts_with("// slow: "));
                    for plan in plans.iter().take(if is_slow { 1 } else { plans.len() }) {
                        let report = run(&target, plan);
                        let mut got = told(&report);
                        let is_forked = text.lines().any(|l| l.starts_with("// forked: "));
                        let was_forked = report.notes.iter().any(|note| note.contains("a process of its own"));
                        if plan.isolation.is_none() && was_forked != is_forked {
                            got += &format!(", with notes {:?}", report.notes);
                        }
                        let is =
                            if expected.starts_with("unknown") { got.starts_with(expected) } else { got == expected };
                        if !is {
                            let name = source.file_name().unwrap().display().to_string();
                            let how = format!("isolation {:?}, {} jobs", plan.isolation, plan.jobs);
                            wrong.lock().unwrap().push(format!("{name}: expected {expected}, got {got} with {how}"));
                        }
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_program_has_the_verdict_that_it_states() {
    let forked = Plan { isolation: Some(Isolation::Process), ..plan() };
    all_are_as_stated(None, &[plan(), forked, Plan { jobs: 3, ..plan() }]);
}

#[test]
#[ignore = "takes minutes: what is `slow` is explored in these ways here alone"]
fn slow_programs_have_their_verdicts_in_every_way() {
    for plan in [Plan { isolation: Some(Isolation::Process), ..plan() }, Plan { jobs: 3, ..plan() }] {
        all_are_as_stated(None, &[plan]);
    }
}

#[test]
fn clang_builds_them_as_well() {
    if std::process::Command::new("clang++").arg("--version").output().is_err() {
        eprintln!("NOT TESTED: there is no clang++ on this machine");
        return;
    }
    all_are_as_stated(Some("clang"), &[plan()]);
}
