//! Who waits in a task buffer lets other buffers go on: what exploration says, at the least bound.

use fabius_lang::program::Program;
use fabius_trace::{Bound, Verdict};
use fabius_verify::prove::{Engine, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, check, program_id, replay};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn program(source: &str) -> Program {
    fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"))
}

fn proved(source: &str, zields: u32, yields: u32) -> Verdict {
    let plan = ProofPlan {
        sequentialization: Sequentialization::Buffers { zields, yields },
        engine: Engine::Automatic,
        unwind: Some(4),
        recursion: Some(4),
        tasks: None,
        objects: None,
        incremental: false,
        deadlock: false,
        properties: true,
        solver: SolverChoice::Embedded,
        time: None,
        memory: None,
    };
    let (id, stop) = (program_id("tasks.fab", source, &[], &[]), Arc::new(AtomicBool::new(false)));
    let proof = prove(&program(source), &id, &plan, &stop, &|_| {});
    proof.unwrap_or_else(|e| panic!("{e:?}\n{source}")).report.verdict
}

/// The least new rounds with a bug, by exploration.
fn explored(source: &str) -> Option<u32> {
    let plan = Plan { bound: Bound::Rounds, deadlock: false, ..Plan::default() };
    let id = program_id("tasks.fab", source, &[], &[]);
    let report = check(&program(source), &id, &plan, &AtomicBool::new(false), &|_| {});
    match report.unwrap_or_else(|e| panic!("{e:?}\n{source}")).verdict {
        Verdict::Bug { trace } => Some(trace.cost),
        Verdict::Verified => None,
        other => panic!("{source}\n{other:?}"),
    }
}

fn finds(source: &str, zields: u32, yields: u32, cost: u32) {
    assert_eq!(explored(source), Some(cost), "{source}");
    match proved(source, zields, yields) {
        Verdict::Bug { trace } => {
            assert_eq!(trace.cost, cost, "{source}");
            let id = program_id("tasks.fab", source, &[], &[]);
            assert_eq!(replay(&program(source), &id, &trace).as_ref(), Ok(&*trace), "{source}");
        }
        other => panic!("{source}\n{zields} {yields}: {other:?}"),
    }
}

/// What was left out, where nothing is found.
fn left_out(source: &str, zields: u32, yields: u32) -> Vec<String> {
    match proved(source, zields, yields) {
        Verdict::NoBugWithinBounds { bounds } => bounds.limits,
        other => panic!("{source}\n{zields} {yields}: {other:?}"),
    }
}

#[test]
fn who_begins_with_a_wait_or_has_just_yielded_lets_others_go_on() {
    for source in [
        "var x: 0..3; buffer p { await x == 1; assert false; } process q[1] { x = 1; }",
        "var x: 0..3; buffer p { x = 2; yield; await x == 1; assert false; } process q[1] { x = 1; }",
        "var x: 0..3; process p[1] { x = 2; yield; await x == 1; assert false; } process q[1] { x = 1; }",
        // Perhaps it has just yielded.
        "var x: 0..3; buffer p { x = 2; if * { yield; } await x == 1; assert false; } process q[1] { x = 1; }",
    ] {
        finds(source, 2, 2, 1);
        assert!(left_out(source, 1, 2).iter().all(|limit| !limit.contains("hands over")), "{source}");
    }
}

#[test]
fn who_waits_in_company_lets_others_go_on() {
    for source in [
        "var x: 0..3; proc w() { await x == 1; assert false; } buffer p { post w(); } process q[1] { x = 1; }",
        // First another one of its buffer runs.
        "var x: 0..3; var y: bool; proc w() { await x == 1; assert false; } proc v() { y = true; } \
         buffer p { post w(); post v(); } process q[1] { await y; x = 1; }",
        "var x: 0..3; var y: bool; proc w() { y = false; await x == 1; assert false; } proc v() { y = true; } \
         buffer p { post w(); post v(); } process q[1] { await y; x = 1; }",
        "interleave explicit; var x: 0..3; proc w() { await x == 1; assert false; } buffer p { post w(); } \
         process q[1] { x = 1; }",
    ] {
        finds(source, 2, 2, 1);
        assert!(left_out(source, 1, 2).iter().any(|limit| limit.contains("hands over")), "{source}");
    }
}

/// Behind the end of a task another one of its buffer goes on at once, if it can.
#[test]
fn who_waits_does_not_let_other_buffers_go_on_before_its_own() {
    for interleave in ["", "interleave explicit; "] {
        let source = |more: &str| {
            format!(
                "{interleave}var x: 0..3; var y: 0..3; proc w() {{ await x == 1; }} proc v() {{ y = 1; }} \
                 buffer p {{ post w(); post v(); x = 2; }} process q[1] {{ assert !(x == 2 && y == 0); x = 1; {more} }}"
            )
        };
        let none = source("");
        assert_eq!(explored(&none), None, "{none}");
        assert!(left_out(&none, 3, 3).iter().any(|limit| limit.contains("hands over")), "{none}");
        finds(&source("assert y == 0;"), 3, 3, 0);
    }
}
