//! An answer about no execution is none.

use fabius_trace::{Bound, Points, Reason, SchedulerKind, Verdict};
use fabius_verify::portfolio::{Ask, decide};
use fabius_verify::prove::{Engine, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, Strategy, check, program_id};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn said(source: &str, plan: &Plan) -> Verdict {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let id = program_id("vacuous.fab", source, &[], &[]);
    let report = check(&program, &id, plan, &AtomicBool::new(false), &|_| {});
    report.unwrap_or_else(|e| panic!("{e:?}\n{source}")).verdict
}

fn plans() -> [Plan; 9] {
    let delays = |scheduler, max| Plan { bound: Bound::Delays, scheduler, max, ..Plan::default() };
    [
        delays(SchedulerKind::RoundRobin, None),
        delays(SchedulerKind::RoundRobin, Some(2)),
        delays(SchedulerKind::DepthFirst, None),
        Plan::default(),
        Plan { points: Points::Sync, ..Plan::default() },
        Plan { max: Some(0), ..Plan::default() },
        Plan { strategy: Strategy::DepthFirst, ..Plan::default() },
        Plan { stateless: true, ..Plan::default() },
        Plan { strategy: Strategy::Random, executions: Some(50), ..Plan::default() },
    ]
}

#[test]
fn programs_of_which_no_execution_completes_are_not_verified() {
    for source in [
        "var a: bool; var b: bool; process p[1] { atomic { choose { assume a; b = true; } or { assume b; a = true; } } }",
        "init { assume false; }",
        "process p[2] { let k = any 2..1; }",
        "var x: 0..3; init { if * { assume false; } x = 1; let k = any 2..x; assert false; }",
        "sync var x: 0..3; process p[2] { x = (x + 1) % 4; zield; assume x > 3; }",
        // Two that could go on for ever, so that the scheduler can turn from one to the other.
        "sync var x: bool; process p[2] { x = false; assume x; }",
        // Before the first step, after several outcomes of a choice.
        "init { let i = any 0..3; assume i > 3; }",
        "thread var x: 0..3; process p[2] { x = any 0..3; assume x > 3; }",
        "channel c: int[1]; process p[1] { select { when c.send(1) { assume len(c) == 0; } or when let m = c.receive() { assume m > 1; } } }",
    ] {
        for plan in plans() {
            let verdict = said(source, &plan);
            assert!(verdict.is_vacuous(), "{plan:?}\n{source}\n{verdict:?}");
            assert_eq!(verdict.exit_code(), 3);
        }
    }
}

#[test]
fn one_execution_that_ends_or_goes_on_for_ever_is_enough() {
    for source in [
        "var x: 0..3; process p[1] { let k = any 0..2; assume k == 1; x = k; }",
        "var x: 0..3; process p[1] { if * { loop { x = (x + 1) % 4; } } else { x = 2; assume x == 0; } }",
        "init { if * { assume false; } }",
        "init { assume true; }",
        "init { let i = any 0..3; assume i > 2; }",
    ] {
        for plan in plans() {
            let verdict = said(source, &plan);
            assert!(!verdict.is_vacuous(), "{plan:?}\n{source}\n{verdict:?}");
        }
    }
}

/// Of any number of threads, in so many rounds.
fn of_rounds(rounds: u32) -> ProofPlan {
    ProofPlan {
        sequentialization: Sequentialization::AnyThreads(rounds),
        engine: Engine::Automatic,
        unwind: None,
        recursion: None,
        tasks: None,
        objects: None,
        incremental: false,
        deadlock: false,
        properties: true,
        solver: SolverChoice::Embedded,
        time: None,
        memory: None,
    }
}

fn proved(source: &str, plan: &ProofPlan) -> Verdict {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let (id, stop) = (program_id("vacuous.fab", source, &[], &[]), Arc::new(AtomicBool::new(false)));
    prove(&program, &id, plan, &stop, &|_| {}).unwrap_or_else(|e| panic!("{e:?}\n{source}")).report.verdict
}

#[test]
fn any_number_of_threads_of_which_none_completes_is_not_verified() {
    for source in [
        "var x: 0..1; process p[*] { x = 1; assume x == 0; assert false; }",
        "var x: 0..1; process p[*] { x = 1; assume x == 0; } process q[*] { x = 1; assume x == 0; assert false; }",
    ] {
        for plan in [of_rounds(1), ProofPlan { incremental: true, ..of_rounds(8) }] {
            let verdict = proved(source, &plan);
            assert!(verdict.is_vacuous(), "{source}\n{verdict:?}");
        }
        let program = fabius_lang::compile(source, &Default::default()).expect("it is a program");
        let id = program_id("vacuous.fab", source, &[], &[]);
        let all = decide(&program, &id, &Ask::default(), &AtomicBool::new(false), &mut |_, _| {}).expect("it fits");
        assert!(all.report.verdict.is_vacuous(), "{source}\n{:?}", all.report.verdict);
    }
}

#[test]
fn any_number_of_threads_of_which_some_complete_is_no_answer_about_nothing() {
    for source in [
        // Of one kind none completes.
        "var x: 0..1; process p[*] { x = 1; assume x == 0; } process q[*] { let seen = x; }",
        // There may be none of them.
        "var x: 0..1; process p[*] { x = 1; assume x == 0; assert false; } process b[1] { let seen = x; }",
        // It takes three.
        "var n: 0..4; process p[*] { atomic { assume n < 4; n += 1; } assume n > 2; }",
        // Whoever waits for ever is not dropped.
        "var n: 0..9; process p[*] { atomic { assume n < 9; n += 1; } await n == 9; }",
    ] {
        let verdict = proved(source, &of_rounds(1));
        assert!(matches!(verdict, Verdict::NoBugWithinBounds { .. }), "{source}\n{verdict:?}");
    }
}

/// A step that does not end is a limit, with its place, and more than that if nothing goes another way.
#[test]
fn a_step_without_an_end_is_a_limit_or_all_there_is() {
    let said = |source| match said(source, &Plan::default()) {
        Verdict::Unknown { reason, .. } => (matches!(reason, Reason::Vacuous { .. }), reason.words()),
        other => panic!("{source}\n{other:?}"),
    };
    let (is_vacuous, words) = said("init { var n = 0; loop { n = n + 1; } }");
    assert!(is_vacuous && words.contains("a loop without scheduling points, at 1:"), "{words}");
    let (is_vacuous, words) = said("var x: bool; init { if * { x = true; } else { var n = 0; loop { n = n + 1; } } }");
    assert!(!is_vacuous && words.contains("a step of more than 1,000,000 statements"), "{words}");
}

#[test]
fn what_needs_more_than_the_bound_is_vacuous_within_it() {
    // The only execution that completes preempts `p` once.
    let source =
        "var x: 0..3; process p[1] { x = 1; let s = x; assume s == 2; } process q[1] { x = 2; assume x == 2; }";
    let within = |max| said(source, &Plan { max: Some(max), ..Plan::default() });
    assert!(matches!(within(0), Verdict::Unknown { reason: Reason::Vacuous { .. }, .. }), "{:?}", within(0));
    assert!(!within(1).is_vacuous(), "{:?}", within(1));
}

/// What such a bound cuts off is not dropped.
#[test]
fn bounds_that_cut_executions_off_hide_no_vacuous_answer_and_make_none() {
    for bound in [Bound::Depth, Bound::Contexts, Bound::Rounds] {
        let within = |source: &str, max| said(source, &Plan { bound, max, ..Plan::default() });
        let dropped = "var x: 0..3; process p[2] { x = 1; x = 2; assume false; }";
        // Nobody is through without being waited for.
        let one_goes_on = "var x: 0..3; process p[1] { await x == 1; x = 2; await x == 3; } \
                           process q[1] { x = 1; await x == 2; assume x == 2; x = 3; }";
        for max in [None, Some(0), Some(1), Some(20)] {
            assert!(within(dropped, max).is_vacuous(), "{bound:?} {:?}", within(dropped, max));
            assert!(!within(one_goes_on, max).is_vacuous(), "{bound:?} {:?}", within(one_goes_on, max));
        }
    }
}
