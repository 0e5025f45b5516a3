//! Limits hold within one step, and deep or wide programs are answered.

use fabius_explore::search::Options;
use fabius_explore::shrink;
use fabius_machine::Machine;
use fabius_trace::{Bound, Points, Reason, Scope, Turn, Verdict};
use fabius_verify::compare::{Extent, Way, measure};
use fabius_verify::graph::{GraphError, graph};
use fabius_verify::prove::{Budget, Caps, Deadlocks, Form, ProofError, Sequentialization, text_of};
use fabius_verify::{Plan, Strategy, check, program_id};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

/// Steps that do not end for long, in different ways.
const ENDLESS: [&str; 4] = [
    "proc p() { skip; } buffer cpu { for i in 1..1000000000 { if * { post p(); } } }",
    "proc p() { skip; } init { atomic { loop { spawn p(); } } }",
    "init { var n = 0; loop { let b: bool = *; n = n + 1; } }",
    "var a: [u8; 6]; record R { a: [int; 60000] } var r: ref R; init { atomic { loop { r = new R { }; if * { a[0] = 1; } } } }",
];

/// Whose memory a limit is about: all that the tests of this process take together.
static PROCESS: RwLock<()> = RwLock::new(());

/// What takes part of the process's memory, and minds nobody else who does.
fn with_others() -> RwLockReadGuard<'static, ()> {
    PROCESS.read().unwrap_or_else(PoisonError::into_inner)
}

fn said(source: &str, plan: &Plan, stop: bool) -> Verdict {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let id = program_id("limits.fab", source, &[], &[]);
    let report = check(&program, &id, plan, &AtomicBool::new(stop), &|_| {});
    report.unwrap_or_else(|e| panic!("{e:?}\n{source}")).verdict
}

fn reason(verdict: &Verdict) -> Option<&Reason> {
    if let Verdict::Unknown { reason, .. } = verdict { Some(reason) } else { None }
}

/// In each of two strategies, which begin differently.
fn plans(plan: Plan) -> [Plan; 2] {
    [plan.clone(), Plan { strategy: Strategy::DepthFirst, ..plan }]
}

#[test]
fn time_is_over_within_a_step() {
    let _with = with_others();
    for source in ENDLESS {
        for plan in plans(Plan { time: Some(Duration::from_millis(200)), ..Plan::default() }) {
            let verdict = said(source, &plan, false);
            assert_eq!(reason(&verdict), Some(&Reason::Time), "{plan:?}\n{source}");
        }
    }
}

#[test]
fn time_is_over_after_a_step_that_counts_for_many() {
    let _with = with_others();
    let source = "var x: int; proc p() { x = 0; } init { spawn p(); x = 1; \
                  if * { for j in 1..100 { if * { skip; } } assume false; } loop { x = x + 1; } }";
    for plan in plans(Plan { time: Some(Duration::from_millis(200)), bound: Bound::None, ..Plan::default() }) {
        let verdict = said(source, &plan, false);
        assert_eq!(reason(&verdict), Some(&Reason::Time), "{plan:?}");
    }
}

#[test]
fn time_is_over_while_the_schedule_of_a_bug_is_put_together() {
    let _with = with_others();
    let source = "var x: int; proc p() { var i = 0; while i < 2000 { i = i + 1; } x = x + 1; } \
                  process q[2] { p(); assert x != 2; }";
    for bound in [Bound::None, Bound::Preemptions] {
        for plan in plans(Plan { bound, ..Plan::default() }) {
            let mut bugs = 0;
            for tenths_of_milliseconds in 1..1000 {
                let time = Some(Duration::from_micros(100 * tenths_of_milliseconds));
                let verdict = said(source, &Plan { time, ..plan.clone() }, false);
                let is_bug = matches!(verdict, Verdict::Bug { .. });
                assert!(is_bug || reason(&verdict) == Some(&Reason::Time), "{plan:?}: {verdict:?}");
                bugs += u32::from(is_bug);
                // With more time it is one the more surely.
                if bugs == 3 {
                    break;
                }
            }
        }
    }
}

/// A step that goes round for ever by its choices does not end, and others would see what it has done before.
#[test]
fn a_loop_that_no_choice_leaves_is_a_step_without_end() {
    let round = "while true { if * { y = 1; } else { y = 0; } }";
    let steps = [
        format!("var y: int = 0; x = 1; {round}"),
        format!("var y: int = 0; if * {{ x = 1; {round} }}"),
        "var y: bool; x = 1; while true { y = *; assume y; }".into(),
        "var y: int = 0; if * { x = 1; while y < 9 { if * { y = 1; } else { y = 0; } } }".into(),
        "x = 1; loop { choose { skip; } or { assume false; } }".into(),
    ];
    let plan = || Plan { livelock: false, ..Plan::default() };
    let stateless = Plan { stateless: true, ..plan() };
    let plans =
        [plan(), Plan { strategy: Strategy::DepthFirst, ..plan() }, Plan { bound: Bound::None, ..plan() }, stateless];
    for step in &steps {
        let source = format!("var x: int; process a[1] {{ {step} }} process b[1] {{ assert x == 0; }}");
        for plan in &plans {
            let verdict = said(&source, plan, false);
            assert!(!matches!(verdict, Verdict::Verified | Verdict::NoBugWithinBounds { .. }), "{plan:?}\n{source}");
        }
    }
    // Accesses in such a loop are made, too.
    let race = format!("data var x: int; process a[1] {{ var y: int = 0; {round} }} process b[1] {{ x = 2; }}");
    let race = race.replace("else { y = 0; }", "else { y = 0; } x = 1;");
    let verdict = said(&race, &Plan { points: Points::Sync, ..plan() }, false);
    assert!(!matches!(verdict, Verdict::Verified), "{verdict:?}");
}

/// What is forgotten of a step's points is no way out of a loop if an assumption drops it.
#[test]
fn a_loop_that_no_choice_leaves_is_one_though_points_are_forgotten() {
    let _with = with_others();
    let source = "var x: int;
        process p[1] {
            var n: int = 0; var y: int = 0;
            if * { return; }
            x = 1;
            if * { y = 1; }
            while true { if * { n = any 0..60000; if * { y = 1; } else { y = 0; } assume n < 0; } else { y = 1; n = 0; } }
        }
        process q[1] { assert x == 0; }";
    for memory in [12 << 20, 16 << 20, 32 << 20] {
        let verdict = said(source, &Plan { memory: Some(memory), bound: Bound::None, ..Plan::default() }, false);
        assert!(!matches!(verdict, Verdict::Verified), "{memory}: {verdict:?}");
    }
}

/// Nobody sees it, but its accesses race with those of whoever has finished.
#[test]
fn who_is_alone_and_goes_round_for_ever_has_raced() {
    let source = "sync var f: bool; data var y: int;
        process a[1] { var l: int = 0; await f; if * { return; } y = 2; while true { if * { l = 1; } else { l = 0; } } }
        process b[1] { f = true; y = 1; }";
    for bound in [Bound::None, Bound::Preemptions] {
        let verdict = said(source, &Plan { points: Points::Sync, bound, ..Plan::default() }, false);
        assert!(!matches!(verdict, Verdict::Verified), "{verdict:?}");
    }
    // Who comes to the same place by the same accesses in another order has ordered others.
    let source = "sync var g: 0..1; data var y: int;
        process b[1] { await g == 1; y = 5; }
        process a[1] {
            var l: 0..1 = 0; var p: 0..1 = 0; var i: 0..3 = 0;
            atomic {
                while * { l = 1 - l; }
                p = any 0..1;
                i = 0;
                while i < 2 { if i + p == 1 { g = 1; } else { y = 1; } i = i + 1; }
                p = 0; i = 0; l = 0;
                if * { l = 0; }
            }
        }";
    for bound in [Bound::None, Bound::Preemptions] {
        let verdict = said(source, &Plan { points: Points::Sync, bound, ..Plan::default() }, false);
        assert!(matches!(verdict, Verdict::Bug { .. }), "{verdict:?}");
    }
}

#[test]
fn what_a_way_reads_that_is_not_open_races_with_nothing() {
    let source = "sync var f: bool; sync var x: int; data var y: int;
        process w[1] { y = 5; f = true; }
        process a[1] { var t: int = 0; atomic { if * { t = y; await f; } else { x = 1; } } }";
    for bound in [Bound::None, Bound::Preemptions] {
        for stateless in [false, true] {
            let plan = Plan { points: Points::Sync, bound, stateless, ..Plan::default() };
            assert_eq!(said(source, &plan, false), Verdict::Verified, "{bound:?}");
        }
    }
}

#[test]
fn who_is_alone_and_goes_round_for_ever_completes_nothing() {
    let alone = "var x: int; process p[1] { var y: int = 0; x = 1; while true { if * { y = 1; } else { y = 0; } } }";
    let last = "var f: bool; process p[1] { var y: int = 0; await f; while true { if * { y = 1; } else { y = 0; } } }
        process b[1] { f = true; }";
    for source in [alone, last] {
        let verdict = said(source, &Plan::default(), false);
        assert!(matches!(reason(&verdict), Some(Reason::Vacuous { .. })), "{verdict:?} {source}");
    }
}

/// Outcomes that meet inside of a step are made once, also to show which of them led to a bug; and nobody follows a loop of choices to
/// see whether a step can be joined.
#[test]
fn many_outcomes_of_a_step_that_meet_take_no_time() {
    let meet = "var n: 0..40; var s: bool;
        process p[1] { atomic { n = 0; for i in 1..26 { if * { skip; } else { n = n + 1; } } } s = true; assert n != 26; }
        process q[1] { s = false; }";
    let rounds = "var x: 0..3; var s: bool;
        process q[3] { s = true; while * { s = true; } }
        process r[1] { x = 1; atomic { while * { x = (x + 1) % 4; } } x = 2; atomic { while * { x = (x + 1) % 4; } } }";
    for bound in [Bound::None, Bound::Preemptions] {
        let plan = Plan { bound, ..Plan::default() };
        assert!(matches!(said(meet, &plan, false), Verdict::Bug { .. }), "{bound:?}");
        assert_eq!(said(rounds, &plan, false), Verdict::Verified, "{bound:?}");
    }
}

#[test]
fn a_loop_that_some_choice_leaves_ends() {
    let loops = [
        "while true { if * { break; } }",
        "while y < 3 { if * { y = y + 1; } }",
        "while y < 18 { if * { y = 0; } else { y = y + 1; } }",
        "loop { choose { y = 1 - y; } or { break; } or { assume false; } }",
    ];
    for round in loops {
        let source = format!(
            "var x: int; process a[1] {{ var y: int = 0; x = 1; {round} x = 2; }} process b[1] {{ assert x <= 2; }}"
        );
        let stateless = Plan { stateless: true, ..Plan::default() };
        for plan in plans(Plan::default()).into_iter().chain([stateless]) {
            assert_eq!(said(&source, &plan, false), Verdict::Verified, "{plan:?}\n{source}");
        }
    }
}

#[test]
fn infinite_executions_are_not_judged_when_it_is_over() {
    let _with = with_others();
    let source = "var x: 0..9; process p[3] { loop { x = (x + 1) % 10; } } property wanted: always eventually x == 11;";
    let program = fabius_lang::compile(source, &Default::default()).expect("it is a program");
    let id = program_id("limits.fab", source, &[], &[]);
    let none = Plan { time: Some(Duration::ZERO), ..Plan::default() };
    for (plan, stop, why) in [(none, false, Reason::Time), (Plan::default(), true, Reason::Interrupted)] {
        let report = check(&program, &id, &plan, &AtomicBool::new(stop), &|_| {}).expect("there is an answer");
        assert_eq!(reason(&report.verdict), Some(&why));
        assert_eq!(report.limits, ["the property `wanted` was not looked at"]);
    }
    assert!(matches!(said(source, &Plan::default(), false), Verdict::Bug { .. }));
}

#[test]
fn a_step_is_interrupted() {
    let _with = with_others();
    for source in ENDLESS {
        for plan in plans(Plan::default()) {
            let verdict = said(source, &plan, true);
            assert_eq!(reason(&verdict), Some(&Reason::Interrupted), "{plan:?}\n{source}");
        }
    }
}

#[test]
fn memory_is_full_within_a_step() {
    let _with = with_others();
    for source in [ENDLESS[0], ENDLESS[2], ENDLESS[3]] {
        for plan in plans(Plan { memory: Some(1 << 20), ..Plan::default() }) {
            let verdict = said(source, &plan, false);
            assert_eq!(reason(&verdict), Some(&Reason::Memory), "{plan:?}\n{source}");
        }
    }
}

/// A step of which each outcome is a state; one that passes many places between its choices.
const WIDE: [&str; 2] = [
    "var y: int; init { let a: int = any 0..4000000; let b: int = any 0..4000000; y = a * 5000000 + b; }",
    "var y: int; init { for i in 1..100000 { if * { y = 1; } } }",
];

/// A step of which outcomes do not meet in many places, and lead to one.
const APART: &str = "var y: int; init { y = 1; let a: int = any 0..99; let b: int = any 0..99; let c: int = any 0..2; \
                     assert a + b + c >= 0; }";

/// Many steps, each with many places between choices.
const LONG: &str =
    "var y: int; proc p() { y = 0; } init { spawn p(); for i in 1..100 { y = i; for j in 1..100 { if * { skip; } } } }";

#[test]
fn memory_is_full_between_outcomes_of_a_step() {
    let _with = with_others();
    let preemptions = Plan { memory: Some(1 << 20), ..Plan::default() };
    let none = Plan { bound: Bound::None, ..preemptions.clone() };
    for source in WIDE {
        for plan in plans(preemptions.clone()).into_iter().chain(plans(none.clone())) {
            let verdict = said(source, &plan, false);
            assert_eq!(reason(&verdict), Some(&Reason::Memory), "{plan:?}\n{source}");
        }
    }
}

#[test]
fn points_of_a_step_that_do_not_meet_are_forgotten() {
    let _alone = PROCESS.write().unwrap_or_else(PoisonError::into_inner);
    for memory in [None, Some(1 << 20)] {
        for plan in plans(Plan { memory, ..Plan::default() }) {
            assert_eq!(said(APART, &plan, false), Verdict::Verified, "{plan:?}");
        }
    }
}

#[test]
fn the_path_of_depth_first_search_is_within_memory() {
    let _with = with_others();
    let plan = Plan { bound: Bound::None, strategy: Strategy::DepthFirst, ..Plan::default() };
    assert_eq!(said(LONG, &plan, false), Verdict::Verified);
    let verdict = said(LONG, &Plan { memory: Some(1 << 20), ..plan }, false);
    assert_eq!(reason(&verdict), Some(&Reason::Memory));
}

#[test]
fn comparisons_end_within_a_step() {
    let _with = with_others();
    for source in ENDLESS {
        for name in ["dfs", "random"] {
            let way = Way::named(name).expect("it is a strategy");
            let program = fabius_lang::compile(source, &Default::default()).expect("it is checked above");
            let id = program_id("limits.fab", source, &[], &[]);
            // So short that no limit on statements is reached before.
            let short = Some(Duration::from_millis(1));
            for (stop, time, why) in [(false, short, Reason::Time), (true, None, Reason::Interrupted)] {
                let extent = Extent { executions: 10, seeds: 1, time, memory: None, points: Points::All };
                let measured =
                    measure(&program, &id, &way, &extent, &AtomicBool::new(stop), &|_| {}).expect("it is a plan");
                assert_eq!(measured.runs[0].cut, Some(why), "{name}\n{source}");
            }
        }
    }
}

#[test]
fn graphs_end_within_a_step() {
    let _with = with_others();
    for source in ENDLESS {
        let program = fabius_lang::compile(source, &Default::default()).expect("it is checked above");
        let id = program_id("limits.fab", source, &[], &[]);
        let short = Some(Duration::from_millis(1));
        for (stop, time, why) in [(false, short, Reason::Time), (true, None, Reason::Interrupted)] {
            let plan = Plan { time, ..Plan::default() };
            let drawn = graph(&program, &id, &plan, None, None, 500, &AtomicBool::new(stop));
            assert_eq!(drawn, Err(GraphError::Cut(why)), "{source}");
        }
    }
}

/// So many alternatives or calls as no stack holds frames for.
const MANY: usize = 100_000;

#[test]
fn a_choice_among_many_blocks_is_explored_and_translated() {
    let _with = with_others();
    let source = format!("var x: int; init {{ choose {{ skip; }}{} x = 1; }}", " or { skip; }".repeat(MANY - 1));
    assert_eq!(said(&source, &Plan::default(), false), Verdict::Verified);
    translated(&source);
}

#[test]
fn a_long_chain_of_calls_is_explored_as_far_as_calls_go_and_translated() {
    let _with = with_others();
    let chain: String = (0..MANY).map(|n| format!("proc p{n}() {{ p{}(); }}\n", n + 1)).collect();
    let source = format!("var x: int;\n{chain}proc p{MANY}() {{ x = 1; }}\ninit {{ p0(); }}\n");
    let verdict = said(&source, &Plan::default(), false);
    assert!(matches!(reason(&verdict), Some(Reason::Program { message }) if message.contains("active calls")));
    translated(&source);
}

fn translated(source: &str) {
    let program = fabius_lang::compile(source, &Default::default()).expect("it was just checked");
    let [stop, stopped] = [false, true].map(|set| Arc::new(AtomicBool::new(set)));
    let none = Budget { time: None, memory: None, stop: &stop };
    let form = Form::Sequential(Deadlocks::AreBugs);
    let text = |budget| text_of(&program, Sequentialization::Rounds(2), form, Caps::default(), budget);
    for (reason, budget) in [
        (Reason::Time, Budget { time: Some(Duration::ZERO), ..none }),
        (Reason::Memory, Budget { memory: Some(1 << 10), ..none }),
        (Reason::Interrupted, Budget { stop: &stopped, ..none }),
    ] {
        assert_eq!(text(budget), Err(ProofError::GaveUp(reason)));
    }
    let text = text(none);
    assert!(text.is_ok_and(|text| text.contains("init {")));
}

#[test]
fn what_was_found_is_shortened_no_more_once_somebody_wants_to_stop() {
    let source = "var x: int; process a[1] { x = 1; x = 2; } process b[1] { x = 10; assert x > 10; }";
    let program = fabius_lang::compile(source, &Default::default()).expect("it is a program");
    let machine = Machine::new(&program, Points::All);
    let turn = |task| Turn { task, choices: Vec::new() };
    let found = shrink::find(&machine, &Options::default(), &[0, 0, 1, 1].map(turn)).expect("it fails");
    let later = |set| shrink::shrink(&machine, &Options::default(), &found, &AtomicBool::new(set));
    assert_eq!(later(false).schedule, [1, 1].map(turn));
    assert_eq!(later(true), found);
    let over = Options { deadline: Some(Instant::now()), ..Options::default() };
    assert_eq!(shrink::shrink(&machine, &over, &found, &AtomicBool::new(false)), found);
}

#[test]
fn what_a_deep_recursion_does_is_told_with_a_part_of_its_stack() {
    let _with = with_others();
    let source = "var x: int; proc down(n: int) { x = n; var m = n; if n < 3000 { down(n + 1); } m = m + 1; assert m < 0; } \
                  init { down(1); }";
    let Verdict::Bug { trace } = said(source, &Plan::default(), false) else { panic!("it fails") };
    let actions = trace.steps.iter().flat_map(|step| &step.actions);
    let deepest = actions.clone().max_by_key(|action| action.depth()).expect("something is done");
    assert_eq!((deepest.depth(), deepest.stack.len()), (3001, 64));
    assert_eq!([0, 31, 32, 33].map(|at| deepest.stack[at].as_str()), ["init", "down", ".. 2938 more ..", "down"]);
    let whole = actions.clone().find(|action| action.depth() == 64).expect("it comes so deep");
    assert_eq!((whole.stack.len(), whole.stack[32].as_str()), (64, "down"));
    let last = trace.steps.last().and_then(|step| step.actions.iter().rev().find(|a| !a.changes.is_empty()));
    let changes: Vec<_> = last.expect("`m` changes").changes.iter().map(|c| (c.variable.as_str(), c.scope)).collect();
    assert_eq!(changes, [("m", Scope::Frame(3000))]);
}
