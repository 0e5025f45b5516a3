//! Buffers whose tasks stand in queues, through all engines. Random programs with them are in `engines_agree`, `prove` and
//! `translations`.

use fabius_trace::{Bound, SchedulerKind, Verdict};
use fabius_verify::prove::{Engine, ProofError, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, check, program_id, replay};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Whether there is a bug, the same however it is looked for; what is found is replayed by the rules.
fn is_wrong(source: &str) -> bool {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:#?}\n{source}"));
    let id = program_id("queues.fab", source, &[], &[]);
    let asked = |plan: &Plan| {
        let report = check(&program, &id, plan, &AtomicBool::new(false), &|_| {}).unwrap_or_else(|e| panic!("{e:?}"));
        match report.verdict {
            Verdict::Bug { trace } => {
                assert_eq!(replay(&program, &id, &trace).unwrap_or_else(|e| panic!("{e:?}\n{source}")), *trace);
                true
            }
            Verdict::Verified => false,
            other => panic!("{other:?}\n{source}"),
        }
    };
    let wrong = asked(&Plan { bound: Bound::None, ..Plan::default() });
    // Of properties those are asked who may pick anybody.
    if program.properties.is_empty() {
        for scheduler in [SchedulerKind::RoundRobin, SchedulerKind::DepthFirst] {
            assert_eq!(asked(&Plan { bound: Bound::Delays, scheduler, ..Plan::default() }), wrong, "{source}");
        }
    }
    wrong
}

/// The tasks of one buffer write down in which order they run.
fn order(tasks: &str, body: &str, order: &str) -> String {
    let is = order.split_whitespace().enumerate().map(|(at, n)| format!("seen[{at}] == {n}")).collect::<Vec<_>>();
    let (count, is) = (is.len(), is.join(" && "));
    format!(
        "level LOW < HIGH; var seen: seq[int; {count}]; \
         proc note(n: int) {{ seen.push(n); if len(seen) == {count} {{ assert {is}; }} }} {tasks} buffer b fifo {{ {body} }}"
    )
}

#[test]
fn tasks_run_in_the_order_in_which_they_were_posted() {
    let tasks = "proc more(n: int) { note(n); post note(n + 10); } proc again(n: int) { note(n); yield; note(n + 10); } \
                 proc up(n: int) { post @HIGH note(n + 10); note(n); } proc down(n: int) { post @LOW note(n + 10); note(n); }";
    let cases = [
        ("post note(1); post note(2); post note(3);", "1 2 3"),
        ("post more(1); post more(2); post note(3);", "1 2 3 11 12"),
        ("post again(1); post note(2); post again(3);", "1 2 3 11 13"),
        // What begins gives way as others do.
        ("post note(1); yield; note(2); yield; note(3);", "1 2 3"),
        ("post more(1); yield; note(2); yield; note(3);", "1 2 11 3"),
        // Each level has a queue of its own.
        ("post up(1); post note(2);", "11 1 2"),
        ("post note(2); post @HIGH down(1); post note(3);", "1 2 11 3"),
        ("post @HIGH again(1); post note(2); post @HIGH note(3);", "1 11 3 2"),
    ];
    for (body, wanted) in cases {
        let source = order(tasks, body, wanted);
        assert!(!is_wrong(&source), "{source}");
    }
    // Of a bag none of the first three holds.
    for (body, wanted) in &cases[..3] {
        assert!(is_wrong(&order(tasks, body, wanted).replace("fifo ", "")), "{body}");
    }
}

#[test]
fn who_waits_keeps_the_place_and_others_pass() {
    let program = |assertion: &str| {
        format!(
            "var go: bool; var seen: seq[int; 4]; proc note(n: int) {{ seen.push(n); }} \
             proc waits(n: int) {{ await go; seen.push(n); }} \
             proc last() {{ await len(seen) == 4; assert {assertion}; }} \
             buffer b fifo {{ post waits(1); post note(2); post waits(3); post note(4); post last(); }} \
             process p[1] {{ go = true; }}"
        )
    };
    assert!(!is_wrong(&program("seen[0] < 3 && forall n in 0..2: seen[3] != n")));
    assert!(!is_wrong(&program("!(seen[0] == 2 && seen[1] == 3)")));
    // All of these come to pass.
    for seen in [[1, 2, 3, 4], [2, 1, 3, 4], [2, 1, 4, 3], [2, 4, 1, 3]] {
        let is = seen.iter().enumerate().map(|(at, n)| format!("seen[{at}] == {n}")).collect::<Vec<_>>().join(" && ");
        if seen == [2, 1, 4, 3] {
            // 3 stands before 4, and may go on since 1 could.
            assert!(!is_wrong(&program(&format!("!({is})"))), "{seen:?}");
        } else {
            assert!(is_wrong(&program(&format!("!({is})"))), "{seen:?}");
        }
    }
}

#[test]
fn nobody_in_a_queue_is_left_out() {
    let program = |kind: &str, formula: &str| {
        format!(
            "var x: bool; var y: bool; property p: {formula}; proc spin() {{ y = !y; post spin(); }} proc set() {{ x = true; }} \
             buffer b {kind} {{ post spin(); post spin(); post set(); }} process q[1] {{ y = true; }}"
        )
    };
    // Which task of a bag is next is not fair.
    assert!(is_wrong(&program("", "eventually x")));
    assert!(!is_wrong(&program("fifo", "eventually x")));
    // A cycle of several tasks, which is replayed.
    assert!(is_wrong(&program("fifo", "eventually always y")));
}

fn proof(source: &str, sequentialization: Sequentialization) -> Result<Verdict, ProofError> {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:#?}\n{source}"));
    let plan = ProofPlan {
        sequentialization,
        unwind: Some(5),
        recursion: Some(3),
        tasks: None,
        objects: None,
        incremental: false,
        engine: Engine::Bmc,
        deadlock: true,
        properties: true,
        solver: SolverChoice::Embedded,
        time: None,
        memory: None,
    };
    let stop = Arc::new(AtomicBool::new(false));
    prove(&program, &program_id("queues.fab", source, &[], &[]), &plan, &stop, &|_| {}).map(|p| p.report.verdict)
}

#[test]
fn verification_keeps_the_order_and_refuses_what_it_cannot_say() {
    let rounds = Sequentialization::Buffers { zields: 1, yields: 3 };
    let program = |assertion: &str| {
        format!(
            "var x: 0..99; proc t(n: int) {{ x = (10 * x + n) % 100; if n < 3 {{ post t(n + 2); }} else {{ assert {assertion}; }} }} \
             buffer b fifo {{ post t(1); post t(2); }}"
        )
    };
    // 1, 2, 3, 4.
    let verdict = proof(&program("x == 23 || x == 34"), rounds);
    assert!(matches!(verdict, Ok(Verdict::NoBugWithinBounds { .. })), "{verdict:?}");
    let verdict = proof(&program("x == 23"), rounds);
    assert!(matches!(verdict, Ok(Verdict::Bug { .. })), "{verdict:?}");
    let verdict = proof(&program("x == 23 || x == 34").replace("fifo ", ""), rounds);
    assert!(matches!(verdict, Ok(Verdict::Bug { .. })), "{verdict:?}");
    let refused = |source: &str, what: Sequentialization| match proof(source, what) {
        Err(ProofError::Unsupported(u)) => format!("{} at `{}`", u.what, u.span.text(source)),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&program("true"), Sequentialization::Delays(2)), "tasks of a `fifo` buffer by delays at `b`");
    let waits = "var x: bool; proc w() { await x; } buffer b fifo { post w(); } process p[1] { x = true; }";
    assert_eq!(refused(waits, rounds), "waiting in a `fifo` buffer at `await x;`");
}
