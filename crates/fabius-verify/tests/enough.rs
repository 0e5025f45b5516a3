//! What does not fail in so many rounds, if there are no more, does not fail.

use fabius_lang::program::Program;
use fabius_trace::Verdict;
use fabius_verify::prove::{Engine, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, check, program_id};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use testkit::generate::{Shape, random};
use testkit::locked;

/// A program that nobody asks for deadlocks, as those with a property of SV-COMP.
fn compiled(source: &str) -> Option<Program> {
    let mut program = fabius_lang::compile(source, &Default::default()).ok()?;
    program.may_be_vacuous = true;
    Some(program)
}

fn by_rounds(program: &Program, source: &str, rounds: u32) -> Verdict {
    let plan = ProofPlan {
        sequentialization: Sequentialization::Rounds(rounds),
        engine: Engine::Bmc,
        unwind: Some(6),
        recursion: Some(3),
        tasks: None,
        objects: None,
        incremental: false,
        deadlock: false,
        properties: true,
        solver: SolverChoice::Embedded,
        time: Some(Duration::from_secs(60)),
        memory: None,
    };
    let id = program_id("p.fab", source, &[], &[]);
    prove(program, &id, &plan, &Arc::new(AtomicBool::new(false)), &|_| {})
        .expect("it is a program of threads")
        .report
        .verdict
}

fn explored(program: &Program, source: &str) -> Verdict {
    let plan = Plan { deadlock: false, time: Some(Duration::from_secs(5)), ..Plan::default() };
    let id = program_id("p.fab", source, &[], &[]);
    check(program, &id, &plan, &Arc::new(AtomicBool::new(false)), &|_| {}).expect("it can be explored").verdict
}

/// Two threads that hand over to each other so often; the last one fails.
fn handed_over(times: u32, fails: bool) -> String {
    let mut bodies = [String::new(), String::new()];
    for n in (0..times).rev() {
        let last = if fails && n + 1 == times { "assert false; " } else { "" };
        let body = &mut bodies[n as usize % 2];
        *body = format!("if x == {n} {{ {last}x = {}; {body} }}", n + 1);
    }
    let [p, q] = bodies;
    // The one that comes first in a round begins last.
    format!("var x: 0..99; process q[1] {{ {q} }} process p[1] {{ {p} }}\n")
}

#[test]
fn as_many_rounds_as_it_takes_are_found_out() {
    for times in 1..=4 {
        let (holds, fails) = (handed_over(times, false), handed_over(times, true));
        let (holding, failing) = (compiled(&holds).expect("it is one"), compiled(&fails).expect("it is one"));
        let first = (1..=12).find(|k| by_rounds(&holding, &holds, *k) == Verdict::Verified);
        let bug = (1..=12).find(|k| match by_rounds(&failing, &fails, *k) {
            Verdict::Bug { .. } => true,
            verdict => {
                assert_ne!(verdict, Verdict::Verified, "{k} of {times}");
                false
            }
        });
        let (first, bug) = (first.expect("there is an end"), bug.expect("it fails"));
        assert!(bug <= first, "{times}: {bug} {first}");
    }
}

#[test]
fn what_is_verified_in_some_rounds_is_so_in_all() {
    compare(0..60);
}

#[test]
#[ignore = "minutes; for every change of the translation by rounds, and of what is left out before it"]
fn much_that_is_verified_in_some_rounds_is_so_in_all() {
    let from = std::env::var("FIRST_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1000);
    compare(from..from + 1500);
}

fn compare(seeds: std::ops::Range<u64>) {
    let (mut verified, mut failing) = (0, 0);
    for seed in seeds {
        let source = match seed % 3 {
            0 => random(seed, Shape::Threads).source(),
            1 => random(seed, Shape::Spawned).source(),
            _ => locked::random(seed).source(),
        };
        let Some(program) = compiled(&source) else { continue };
        let truth = explored(&program, &source);
        for k in 1..=4 {
            match by_rounds(&program, &source, k) {
                Verdict::Verified => {
                    assert!(!matches!(truth, Verdict::Bug { .. }), "{seed}, {k} rounds:\n{source}");
                    verified += u32::from(truth == Verdict::Verified);
                    break;
                }
                Verdict::Bug { .. } => {
                    assert_ne!(truth, Verdict::Verified, "{seed}, {k} rounds:\n{source}");
                    failing += 1;
                    break;
                }
                _ => {}
            }
        }
    }
    println!("{verified} verified, {failing} fail");
    assert!(verified >= 10 && failing >= 1, "{verified} {failing}");
}
