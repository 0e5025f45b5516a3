//! Deadlocks of task buffers by rounds: what exploration says, at the least bound.

use fabius_lang::program::Program;
use fabius_trace::{Bound, BugKind, Verdict};
use fabius_translate::NO_DEADLOCKS;
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
        engine: Engine::Bmc,
        unwind: Some(4),
        recursion: Some(4),
        tasks: None,
        objects: None,
        incremental: false,
        deadlock: true,
        properties: true,
        solver: SolverChoice::Embedded,
        time: None,
        memory: None,
    };
    let (id, stop) = (program_id("tasks.fab", source, &[], &[]), Arc::new(AtomicBool::new(false)));
    let proof = prove(&program(source), &id, &plan, &stop, &|_| {});
    proof.unwrap_or_else(|e| panic!("{e:?}\n{source}")).report.verdict
}

/// The least new rounds with a deadlock, by exploration.
fn explored(source: &str) -> Option<u32> {
    let plan = Plan { bound: Bound::Rounds, ..Plan::default() };
    let id = program_id("tasks.fab", source, &[], &[]);
    let report = check(&program(source), &id, &plan, &AtomicBool::new(false), &|_| {});
    match report.unwrap_or_else(|e| panic!("{e:?}\n{source}")).verdict {
        Verdict::Bug { trace } if trace.kind == BugKind::Deadlock => Some(trace.cost),
        Verdict::Verified => None,
        other => panic!("{source}\n{other:?}"),
    }
}

fn is_none(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::NoBugWithinBounds { bounds } if !bounds.limits.iter().any(|l| l == NO_DEADLOCKS))
}

fn finds(source: &str, zields: u32, yields: u32, cost: u32) {
    match proved(source, zields, yields) {
        Verdict::Bug { trace } => {
            assert_eq!((trace.kind, trace.cost), (BugKind::Deadlock, cost), "{source}");
            let id = program_id("tasks.fab", source, &[], &[]);
            assert_eq!(replay(&program(source), &id, &trace).as_ref(), Ok(&*trace), "{source}");
        }
        other => panic!("{source}\n{zields} {yields}: {other:?}"),
    }
}

#[test]
fn a_deadlock_that_needs_a_yield_is_found_with_one() {
    let source = "var a: bool; proc first() { let seen = a; yield; if a != seen { await !a; } } \
                  proc second() { a = true; } buffer b { post first(); post second(); }";
    assert_eq!(explored(source), Some(0));
    assert!(is_none(&proved(source, 1, 1)), "{:?}", proved(source, 1, 1));
    finds(source, 1, 2, 0);
}

#[test]
fn deadlocks_of_several_buffers_are_found_at_their_least_rounds() {
    for (source, cost) in [
        // Who waits last has not begun to wait when its buffer is left: the lock is free then.
        (
            "var a: lock; var b: lock; buffer p { a.acquire(); b.acquire(); b.release(); a.release(); } \
             buffer q { b.acquire(); a.acquire(); a.release(); b.release(); }",
            0,
        ),
        // The same, and another task of its buffer cannot go on either.
        (
            "var x: 0..2; var y: bool; proc w() { await y; } buffer p { post w(); x = 1; await x == 1; } \
             buffer q { await x == 1; x = 2; }",
            0,
        ),
        // A task that has not begun waits.
        ("var x: 0..2; proc w() { await x == 2; } buffer p { post w(); x = 1; } process q[1] { x = 0; }", 0),
        ("var x: 0..2; proc w() { x = 1; } buffer p { post w(); await x == 2; } process q[1] { x = 0; }", 0),
        // It takes a second round.
        (
            "var x: 0..3; buffer p { x = 2; await x == 1; x = 3; await x == 0; } process q[1] { await x == 2; x = 1; }",
            1,
        ),
        ("var x: bool; init { await x; } buffer p { x = true; }", 0),
        ("var x: bool; proc w() { join self; } buffer p { post w(); } process q[1] { x = true; }", 0),
        ("var x: bool; proc w() { await x; } buffer p { spawn w(); } process q[1] { x = false; }", 0),
    ] {
        assert_eq!(explored(source), Some(cost), "{source}");
        finds(source, cost + 1, 2, cost);
        if cost > 0 {
            assert!(is_none(&proved(source, cost, 2)), "{source}");
        }
    }
}

#[test]
fn who_waits_for_ever_keeps_those_below_from_running() {
    for (source, cost) in [
        ("level LOW < HIGH; var x: bool; proc w() { await x; } buffer p { post @HIGH w(); x = true; }", 0),
        // What is posted below does not run, nor does who has yielded.
        (
            "level LOW < HIGH; var x: bool; proc v() { x = true; } proc w() { post @LOW v(); await x; } \
             buffer p { post @HIGH w(); } process q[1] { let seen = x; }",
            0,
        ),
        (
            "level LOW < HIGH; var x: bool; var y: bool; proc v() { await y; x = true; } proc w() { await x; } \
             buffer p { post v(); y = true; post @HIGH w(); } process q[1] { let seen = x; }",
            0,
        ),
        (
            "level LOW < MID < HIGH; var x: bool; proc u() { x = true; } proc w() { post @MID u(); await x; } \
             buffer p { post @HIGH w(); } process q[1] { let seen = x; }",
            0,
        ),
    ] {
        assert_eq!(explored(source), Some(cost), "{source}");
        finds(source, cost + 1, 2, cost);
    }
    for source in [
        "level LOW < HIGH; var x: bool; proc w() { await x; } buffer p { post @HIGH w(); } process q[1] { x = true; }",
        "level LOW < HIGH; var x: bool; proc v() { x = true; } proc w() { post v(); await x; } \
         buffer p { post @HIGH w(); } process q[1] { let seen = x; }",
    ] {
        assert_eq!(explored(source), None, "{source}");
        assert!(is_none(&proved(source, 2, 2)), "{source}\n{:?}", proved(source, 2, 2));
    }
}

#[test]
fn who_makes_way_lets_others_of_its_buffer_go_on() {
    for source in [
        "var x: 0..2; proc w() { x = 1; } buffer p { post w(); await x == 1; } process q[1] { let seen = x; }",
        "var x: 0..2; proc w() { x = 1; } buffer p { post w(); await x == 0; } process q[1] { let seen = x; }",
        "var x: 0..2; proc v() { await x == 1; x = 2; } proc w() { x = 1; } buffer p { post v(); post w(); await x == 2; } \
         process q[1] { let seen = x; }",
        "var x: bool; proc v() { await x; } proc w() { x = true; } buffer p { post v(); post w(); }",
        "var x: bool; init { post w(); await x; } proc w() { x = true; } process q[1] { let seen = x; }",
    ] {
        assert_eq!(explored(source), None, "{source}");
        for zields in 1..=2 {
            let verdict = proved(source, zields, 2);
            assert!(is_none(&verdict), "{source}\n{zields}: {verdict:?}");
        }
    }
}

#[test]
fn what_is_not_looked_for_is_said() {
    for source in [
        "var x: bool; buffer p fifo { x = true; } process q[1] { await x; }",
        "interleave explicit; var x: bool; buffer p { await x; } buffer q { x = true; }",
        // The buffer begins before the other thread, so that it has not waited.
        "var x: bool; buffer p { await !x; } process q[1] { x = true; }",
        "thread var t: 0..1; var x: bool; proc w() { t = 1; } buffer p { post w(); await t == 0; } process q[1] { x = true; }",
    ] {
        match proved(source, 2, 2) {
            Verdict::NoBugWithinBounds { bounds } => {
                assert!(bounds.limits.iter().any(|l| l == NO_DEADLOCKS), "{source}\n{bounds:?}");
            }
            other => panic!("{source}\n{other:?}"),
        }
    }
}
