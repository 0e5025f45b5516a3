//! What a default cuts off leaves the answer open; what nothing exceeds is not mentioned.

use fabius_lang::{Choices, Options};
use fabius_trace::{Reason, Verdict};
use fabius_verify::program_id;
use fabius_verify::prove::{Engine, ProofPlan, Sequentialization, SolverChoice, prove};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn plan() -> ProofPlan {
    ProofPlan {
        sequentialization: Sequentialization::Rounds(1),
        engine: Engine::Bmc,
        unwind: None,
        recursion: None,
        tasks: None,
        objects: None,
        incremental: false,
        deadlock: true,
        properties: true,
        solver: SolverChoice::Embedded,
        time: None,
        memory: None,
    }
}

fn said(source: &str, plan: &ProofPlan) -> Verdict {
    let options = Options { choices: Choices::Unbounded, ..Options::default() };
    let program = fabius_lang::compile(source, &options).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let id = program_id("caps.fab", source, &[], &[]);
    let proof = prove(&program, &id, plan, &Arc::new(AtomicBool::new(false)), &|_| {});
    proof.unwrap_or_else(|e| panic!("{e:?}\n{source}")).report.verdict
}

fn open(verdict: &Verdict, wanted: &str) {
    let Verdict::Unknown { reason: Reason::Program { message }, .. } = verdict else { panic!("{verdict:?}") };
    assert!(message.contains(wanted), "{message}");
    assert_eq!(verdict.exit_code(), 3);
}

fn limits(verdict: &Verdict) -> Vec<String> {
    let Verdict::NoBugWithinBounds { bounds } = verdict else { panic!("{verdict:?}") };
    bounds.limits.clone()
}

fn spawns(last: u32) -> String {
    format!("var x: int; proc w(i: int) {{ x = i; assert i != 13; }} init {{ for i in 1..{last} {{ spawn w(i); }} }}")
}

#[test]
fn threads_beyond_the_default_are_not_ruled_out() {
    let followed = |tasks, source: &str| said(source, &ProofPlan { tasks, unwind: Some(20), ..plan() });
    open(&followed(None, &spawns(13)), "`--tasks` raises this");
    assert!(matches!(followed(Some(13), &spawns(13)), Verdict::Bug { .. }));
    assert!(limits(&followed(Some(12), &spawns(13)))[0].contains("at most 12 threads"));
    assert_eq!(limits(&followed(None, &spawns(4))), Vec::<String>::new());
}

#[test]
fn objects_beyond_the_default_are_not_ruled_out() {
    let source = |last: u32| {
        format!(
            "record R {{ n: int, next: ref R }} var p: ref R;
             init {{ for i in 1..{last} {{ p = new R {{ n: i, next: p }}; }} assert p.n != 9; }}"
        )
    };
    let followed = |objects, last| said(&source(last), &ProofPlan { objects, unwind: Some(20), ..plan() });
    open(&followed(None, 9), "`--objects` raises this");
    assert!(matches!(followed(Some(9), 9), Verdict::Bug { .. }));
    assert_eq!(limits(&followed(None, 5)), Vec::<String>::new());
}

#[test]
fn loops_and_calls_beyond_the_default_are_not_ruled_out() {
    let source = "var x: int; var y: int; proc f(n: int) { if n > 0 { f(n - 1); } else { y = 1; } } init { let m = any 0..12; for i in 1..m { x = i; } f(m); assert x == m && y == 1; }";
    let open_plan = plan();
    open(&said(source, &open_plan), "`--unwind` raises this");
    open(&said(source, &ProofPlan { unwind: Some(12), ..plan() }), "`--recursion` raises this");
    let given = said(source, &ProofPlan { unwind: Some(5), recursion: Some(5), ..plan() });
    assert!(limits(&given).iter().any(|l| l.contains("followed for 5 iterations")), "{given:?}");
    let enough = said(source, &ProofPlan { unwind: Some(13), recursion: Some(14), ..plan() });
    assert_eq!(limits(&enough), Vec::<String>::new());
}

#[test]
fn verification_of_no_execution_is_none() {
    assert!(said("var x: int; init { x = 1; assume x == 2; assert false; }", &plan()).is_vacuous());
    assert!(!said("var x: int; init { x = any int; assume x == 2; assert x == 2; }", &plan()).is_vacuous());
}

/// Each of these comes to a loop without a scheduling point, or to an assumption that never holds, however it is scheduled.
const WITHOUT_END: [&str; 6] = [
    "init { var n = 0; loop { let b: bool = *; n = n + 1; } }",
    "var x: int; init { x = 1; var n = 0; loop { n = 0; } }",
    "var x: bool; process w[2] { x = true; var b: bool = false; loop { b = !b; } }",
    "var x: bool; process w[*] { x = true; var b: bool = false; loop { b = !b; } }",
    "var x: bool; process w[*] { if x { assume false; } else { atomic { x = true; loop { skip; } } } }",
    "var x: bool; process w[*] { assume false; x = true; } process v[1] { loop { skip; } }",
];

/// In each of these something else goes on, too.
const WITH_AN_END: [&str; 6] = [
    "var x: bool; process w[*] { if x { loop { skip; } } x = true; }",
    "var x: bool; process w[*] { loop { x = !x; } }",
    "var x: bool; process w[*] { loop { break; } x = true; }",
    "var x: bool; process w[*] { assume false; } process v[1] { x = true; }",
    "var x: bool; process w[*] { await x; assume false; }",
    "var x: bool; process w[2] { loop { if * { return; } } }",
];

#[test]
fn verification_of_no_execution_is_none_for_any_number_of_threads_either() {
    for (source, vacuous) in WITHOUT_END.map(|s| (s, true)).into_iter().chain(WITH_AN_END.map(|s| (s, false))) {
        let any = source.contains("[*]");
        let rounds = if any { Sequentialization::AnyThreads(1) } else { Sequentialization::Rounds(2) };
        for (incremental, unwind) in [(false, None), (false, Some(3)), (true, None)] {
            let engine = Engine::Automatic;
            let plan = ProofPlan { sequentialization: rounds, engine, incremental, unwind, ..plan() };
            let verdict = said(source, &plan);
            assert_eq!(verdict.is_vacuous(), vacuous, "{plan:?}\n{source}\n{verdict:?}");
        }
    }
}
