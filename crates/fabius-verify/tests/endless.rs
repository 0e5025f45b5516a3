//! What a step does in front of a loop or of recursion that may not end is not lost without a word.

use fabius_trace::{Bound, Reason, SchedulerKind, Verdict};
use fabius_verify::portfolio::{Ask, Member, decide};
use fabius_verify::prove::{Engine, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, Strategy, check, program_id};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A program of any number of threads, or of two, that do this when `x` is set.
fn program(declared: &str, count: &str, body: &str) -> String {
    format!(
        "var x: 0..1; var y: 0..1; {declared}
process a[{count}] {{ x = 1; {body} }}
process b[1] {{ let seen = x; assert seen <= 1; }}
"
    )
}

fn proved(source: &str, plan: &ProofPlan) -> Verdict {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|e| panic!("{source}\n{e:?}"));
    let (id, stop) = (program_id("test.fab", source, &[], &[]), Arc::new(AtomicBool::new(false)));
    prove(&program, &id, plan, &stop, &|_| {}).unwrap_or_else(|e| panic!("{source}\n{e:?}")).report.verdict
}

fn plan(sequentialization: Sequentialization, engine: Engine) -> ProofPlan {
    ProofPlan {
        sequentialization,
        engine,
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
    }
}

fn any_number() -> ProofPlan {
    ProofPlan { incremental: true, ..plan(Sequentialization::AnyThreads(8), Engine::Automatic) }
}

/// What an answer leaves out of steps that may not end.
fn left_out(verdict: &Verdict) -> Option<String> {
    let messages: Vec<String> = match verdict {
        Verdict::Unknown { reason: Reason::Program { message }, bounds } => {
            [vec![message.clone()], bounds.limits.clone()].concat()
        }
        Verdict::Unknown { bounds, .. } | Verdict::NoBugWithinBounds { bounds } => bounds.limits.clone(),
        Verdict::Verified | Verdict::Bug { .. } => Vec::new(),
    };
    messages.into_iter().find(|m| m.contains("which has no scheduling point") || m.contains("was followed for"))
}

/// Declarations, and what a thread does that may stay for ever.
const MAY_STAY: [(&str, &str); 13] = [
    ("", "var l: 0..1 = 0; while l == 0 { skip; }"),
    ("", "var l: 0..1 = 0; while l == 0 { if * { l = 0; } }"),
    ("proc g() { skip; }", "loop { g(); }"),
    ("", "atomic { while y == 0 { skip; } }"),
    ("proc f() { f(); }", "f();"),
    ("proc f(n: 0..1) { if n == 1 { return; } f(n); }", "f(0);"),
    ("proc f(n: 0..3) { if n > 0 { g(n); } } proc g(n: 0..3) { f(n); }", "f(2);"),
    ("", "var l: 0..3 = 1; while l < 3 { if l == 1 { continue; } l = l + 1; }"),
    ("", "var u: u8 = 0; while u != 7 { u = u + 2; }"),
    ("", "var u: u8 = 0; while u <= 254 { u = u + 2; if u == 255 { u = u + 1; } }"),
    ("", "var l: 0..7 = 1; while l != 0 { l = (l * 3) % 8; }"),
    ("thread var t: 0..3;", "while t < 3 { if * { t = t + 1; } else { t = 0; } if t < 3 { t = 0; } }"),
    ("", "var l: 0..3 = 0; while true { if l == 0 { if * { continue; } } else { break; } }"),
];

#[test]
fn a_loop_that_may_stay_for_ever_is_not_verified() {
    for (declared, body) in MAY_STAY {
        let source = program(declared, "*", body);
        let verdict = proved(&source, &any_number());
        assert_ne!(verdict, Verdict::Verified, "{source}");
        // Who goes around by choices is dropped, and there may be no other execution.
        assert!(left_out(&verdict).is_some() || verdict.is_vacuous(), "{source}\n{verdict:?}");
    }
}

#[test]
fn a_bound_within_which_a_loop_may_stay_names_it() {
    for (declared, body) in [MAY_STAY[0], MAY_STAY[4]] {
        let source = program(declared, "2", body);
        for engine in [Engine::Bmc, Engine::Summaries] {
            let verdict = proved(&source, &plan(Sequentialization::Rounds(2), engine));
            assert!(matches!(verdict, Verdict::NoBugWithinBounds { .. }), "{source}\n{verdict:?}");
            assert!(left_out(&verdict).is_some(), "{source}\n{verdict:?}");
        }
        let of = plan(Sequentialization::AnyThreads(2), Engine::Interfaces);
        let any = proved(&program(declared, "*", body), &of);
        assert!(left_out(&any).is_some(), "{any:?}");
    }
}

#[test]
fn more_threads_than_there_are_do_not_verify_a_program_that_may_stay_in_a_loop() {
    let source = program("", "2", MAY_STAY[0].1).replace("seen <= 1", "seen == 0");
    let program = fabius_lang::compile(&source, &Default::default()).expect("it is a program");
    let id = program_id("test.fab", &source, &[], &[]);
    let ask = Ask { only: Some(Member::AnyThreads), ..Ask::default() };
    let decided = decide(&program, &id, &ask, &AtomicBool::new(false), &mut |_, _| {}).expect("there is an answer");
    assert!(matches!(decided.report.verdict, Verdict::Unknown { .. }), "{:?}", decided.report.verdict);
}

#[test]
fn a_loop_that_ends_is_followed() {
    for (declared, body) in [
        ("", "for i in 1..3 { skip; }"),
        ("const N = 3;", "var n: 0..3 = any 0..3; for i in 1..n { if i == 2 { continue; } }"),
        ("", "let n = any u8; let one: u8 = 1; for i in one..n { if i == 2 { continue; } }"),
        ("", "var l: 0..3 = 0; while l < 3 { if * { skip; } l = l + 1; }"),
        ("", "var u: u8 = 0; while u != 7 { u = u + 1; }"),
        ("", "var u: u8 = 200; while 3 < u { u = u - 3; }"),
        ("", "var l: 0..1 = 0; while l == 0 { if * { break; } }"),
        ("", "while * { skip; }"),
        ("", "var l: 0..7 = 7; while l > 0 { l = l / 2; }"),
        ("", "var l: 0..5 = 5; loop { if l == 0 { break; } l = l - 1; }"),
        ("", "while y == 0 { skip; }"),
        ("", "var l: 0..1 = 0; while l == 0 { y = 1; }"),
        ("", "var l: 0..1 = 0; while l == 0 { l = any 0..1; }"),
        ("proc f(n: 0..3) { if n > 0 { f(n - 1); } }", "f(3);"),
        ("proc f(n: u8) { if n == 0 { return; } f(n - 1); }", "f(3);"),
        ("proc f() { if * { return; } f(); }", "f();"),
        ("proc f() { if * { f(); } }", "f();"),
        ("proc f() { y = 1; f(); }", "f();"),
    ] {
        let source = program(declared, "*", body);
        let verdict = proved(&source, &plan(Sequentialization::AnyThreads(1), Engine::Interfaces));
        assert!(matches!(verdict, Verdict::NoBugWithinBounds { .. }), "{source}\n{verdict:?}");
        assert_eq!(left_out(&verdict), None, "{source}");
    }
}

#[test]
fn what_goes_on_for_ever_in_all_executions_is_said() {
    let by = |bound, scheduler| Plan { bound, scheduler, ..Plan::default() };
    let all = [
        Plan::default(),
        Plan { bound: Bound::None, ..Plan::default() },
        Plan { strategy: Strategy::DepthFirst, ..Plan::default() },
    ];
    // These leave out schedules, and so may not come to an end that there is.
    let some = [
        Plan { max: Some(2), ..by(Bound::Delays, SchedulerKind::RoundRobin) },
        by(Bound::None, SchedulerKind::DepthFirst),
        by(Bound::None, SchedulerKind::RoundRobin),
        by(Bound::Rounds, SchedulerKind::DepthFirst),
    ];
    let two =
        |a: &str, b: &str| format!("sync var x: bool; sync var y: bool; process a[1] {{ {a} }} process b[2] {{ {b} }}");
    for (source, endless) in [
        (two("while !x { } y = true;", "while !y { } x = true;"), true),
        (two("while true { x = !x; }", "y = true;"), true),
        // There is an execution that ends, though not all do.
        (two("while !x { } y = true;", "while !y { if * { break; } } x = true;"), false),
        (two("x = true;", "while !x { }"), false),
        // What is dropped does not go on.
        (two("while true { x = !x; }", "y = true; assume false;"), false),
        // That is what the property is about.
        (two("while true { x = !x; }", "y = true;") + "property p: eventually y;", false),
    ] {
        let program = fabius_lang::compile(&source, &Default::default()).unwrap_or_else(|e| panic!("{source}\n{e:?}"));
        let id = program_id("test.fab", &source, &[], &[]);
        let of = |plan| check(&program, &id, plan, &AtomicBool::new(false), &|_| {}).unwrap();
        let fits = |plan: &&Plan| plan.validate(&program).is_ok();
        for plan in all.iter().filter(fits) {
            assert_eq!(of(plan).endless, endless, "{plan:?}\n{source}");
        }
        assert!(some.iter().filter(fits).all(|plan| !of(plan).endless), "{source}");
    }
}
