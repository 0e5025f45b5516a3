//! Concurrent meaning: random programs with locks of all kinds, conditions, semaphores, barriers, atomics of all orders, the heap,
//! races and planted mistakes, beside an explicit model that was written from docs/c.md alone (`concurrent/model.rs`): verdict, kind
//! of bug and least preemptions, and whether a verifier finds what fits into its rounds.

mod common;
#[path = "concurrent/model.rs"]
mod model;
#[path = "concurrent/program.rs"]
mod program;

use common::{Folder, Found, check, read};
use fabius_trace::Verdict;
use fabius_verify::prove::{Engine, ProofPlan, Sequentialization, SolverChoice};
use fastrand::Rng;
use model::{Bugs, Points, bugs};
use std::sync::Arc;
use std::time::Duration;

/// Whether an answer is what a model expects: a bug of the least cost.
fn agrees(found: &Found, expected: &Bugs) -> bool {
    let least = expected.values().min();
    match found {
        Found::Verified => least.is_none(),
        Found::Bug(kind, cost, ..) => Some(cost) == least && expected.get(kind.as_str()) == Some(cost),
        Found::Other(_) => false,
    }
}

/// Whether the program of this number tells something.
fn compare(number: u64) -> bool {
    let mut rng = Rng::with_seed(number);
    let program = program::random(&mut rng);
    let Some(sync) = bugs(&program, Points::Sync) else { return false };
    // Most programs that go wrong without a preemption do so in the same ways.
    if sync.values().min() == Some(&0) && rng.u8(..8) != 0 {
        return false;
    }
    let text = program::text(&program);
    let folder = Folder::new();
    let file = folder.file("x.c", &text);
    let found = check(&[&file], "sync");
    assert!(agrees(&found, &sync), "program {number}: expected {sync:?}, found {found:?}\n{text}");
    if number.is_multiple_of(2)
        && let Some(all) = bugs(&program, Points::All)
    {
        let found = check(&[&file], "all");
        assert!(agrees(&found, &all), "program {number}, all points: expected {all:?}, found {found:?}\n{text}");
        if number.is_multiple_of(4) {
            verify(number, &file, &text, &all, bugs(&program, Points::Switches));
        }
    }
    true
}

/// Bugs that a verifier finds are there, and those of few switches it finds.
fn verify(number: u64, file: &std::path::Path, text: &str, all: &Bugs, switches: Option<Bugs>) {
    const ROUNDS: u32 = 3;
    let loaded = read(&[file], &[]).expect("it was read before");
    let id = fabius_verify::program_id("x.c", &loaded.source, &[], &[]);
    let plan = ProofPlan {
        sequentialization: Sequentialization::Rounds(ROUNDS),
        time: Some(Duration::from_secs(20)),
        engine: Engine::Bmc,
        unwind: None,
        recursion: None,
        tasks: None,
        objects: None,
        incremental: false,
        deadlock: true,
        properties: true,
        solver: SolverChoice::Embedded,
        memory: None,
    };
    let proof = fabius_verify::prove::prove(&loaded.program, &id, &plan, &Arc::default(), &|_| {});
    let verdict = proof.unwrap_or_else(|e| panic!("program {number}: {e:?}\n{text}")).report.verdict;
    let least = switches.and_then(|s| s.values().min().copied());
    match &verdict {
        Verdict::Bug { trace } => {
            let kind = format!("{:?}", trace.kind);
            assert!(
                all.contains_key(kind.as_str()),
                "program {number}: verify finds {kind}, there are {all:?}\n{text}"
            );
        }
        Verdict::Verified | Verdict::NoBugWithinBounds { .. } => {
            let found = least.is_none_or(|least| least >= ROUNDS);
            assert!(found, "program {number}: a bug of {least:?} switches is not found: {verdict:?}\n{text}");
        }
        Verdict::Unknown { .. } => {}
    }
}

/// The programs from this number on of which so many tell something.
fn compare_from(first: u64, count: usize) {
    let compared = (first..).filter(|number| compare(*number)).take(count).count();
    assert_eq!(compared, count);
}

#[test]
fn some_random_programs_do_what_the_model_says() {
    compare_from(0, 12);
}

/// `FIRST_SEED` and `PROGRAMS` say which.
#[test]
#[ignore = "takes an hour"]
fn thousands_of_random_programs_do_what_the_model_says() {
    let first = std::env::var("FIRST_SEED").map_or(1000, |seed| seed.parse().expect("a number"));
    let count = std::env::var("PROGRAMS").map_or(3000, |count| count.parse().expect("a number"));
    compare_from(first, count);
}
