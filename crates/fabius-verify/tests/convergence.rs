//! Any number of contexts, and recursion without a bound.

use fabius_lang::program::Program;
use fabius_trace::{Bound, Verdict};
use fabius_verify::prove::{Engine, ProofError, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, check, program_id, with_instances};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use testkit::corpus::programs;
use testkit::recursive::{Recursive, random};

fn compile(source: &str) -> Program {
    fabius_lang::compile(source, &Default::default()).unwrap_or_else(|e| panic!("{source}\n{e:?}"))
}

fn plan(deadlock: bool, time: Option<Duration>) -> ProofPlan {
    ProofPlan {
        sequentialization: Sequentialization::Rounds(3),
        engine: Engine::Convergence,
        unwind: None,
        recursion: None,
        tasks: None,
        objects: None,
        incremental: false,
        deadlock,
        properties: true,
        solver: SolverChoice::Embedded,
        time,
        memory: None,
    }
}

/// What is said of a program. A random one may take too long.
fn converged(source: &str, deadlock: bool) -> Result<Verdict, ProofError> {
    let time = Some(Duration::from_secs(5));
    answered(source, &plan(deadlock, time))
}

fn answered(source: &str, plan: &ProofPlan) -> Result<Verdict, ProofError> {
    let id = program_id("test.fab", source, &[], &[]);
    let proof = prove(&compile(source), &id, plan, &Arc::new(AtomicBool::new(false)), &|_| {});
    proof.map(|proof| proof.report.verdict)
}

/// `verified`, `bug KIND cost SWITCHES`, or whatever else is said, of a program that does not take long.
fn in_words(source: &str, deadlock: bool) -> String {
    match answered(source, &plan(deadlock, None)).expect("it fits") {
        Verdict::Verified => "verified".into(),
        Verdict::Bug { trace } => format!("bug {:?} cost {}", trace.kind, trace.cost).to_lowercase(),
        other => format!("{other:?}"),
    }
}

fn explored(source: &str) -> Verdict {
    let id = program_id("test.fab", source, &[], &[]);
    let (bound, time) = (Bound::Contexts, Some(Duration::from_secs(1)));
    let plan = Plan { bound, time, memory: Some(50 << 20), ..Plan::default() };
    check(&compile(source), &id, &plan, &AtomicBool::new(false), &|_| {}).expect("it can be checked").verdict
}

/// As `fabius verify` is asked: `// verify: verified with --engine convergence [--no-deadlock]`, `bug KIND cost SWITCHES`.
#[test]
fn every_claim_of_recursive_programs_holds() {
    let (mut claims, mut wrong) = (0, Vec::new());
    for path in programs(&["corpus/recursive"]) {
        let source = std::fs::read_to_string(&path).expect("the file can be read");
        for claim in source.lines().filter_map(|line| line.strip_prefix("// verify: ")) {
            claims += 1;
            let (expected, options) =
                claim.split_once(" with --engine convergence").expect("it is asked of this engine");
            let deadlock = options.is_empty();
            let found = in_words(&source, deadlock);
            if found != expected {
                wrong.push(format!("{}: {claim}: {found}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(claims >= 15, "{claims} claims");
}

/// Each is about one thing that must not be forgotten, or taken for another.
#[test]
fn small_programs_have_the_answers_that_their_text_says() {
    let wrong: Vec<String> = [
        // Who returns goes to whoever called, also where somebody else has called and come back before.
        (
            "var x: bool; proc g() { label a; } proc f() { g(); g(); if * { f(); } } process p[1] { f(); f(); assert x; }",
            "bug assertion cost 0",
        ),
        // The same where nobody can be left in between.
        (
            "var x: bool; proc g() { x = !x; x = !x; if * { g(); } } process p[1] { atomic { g(); g(); g(); assert x; } }",
            "bug assertion cost 0",
        ),
        // Whoever waits may have been called from either place when it goes on.
        (
            "var y: bool; var w: bool; var z: bool; proc g() { y = false; w = true; await z; }
             process p[1] { if * { y = true; g(); assert !z; } else { y = false; g(); } } process q[1] { await w; z = true; }",
            "bug assertion cost 2",
        ),
        (
            "var y: bool; var w: bool; var z: bool; proc g() { y = false; w = true; await z; }
             process p[1] { if * { y = true; g(); } else { y = false; g(); assert !z; } } process q[1] { await w; z = true; }",
            "bug assertion cost 2",
        ),
        // What an atomic block calls is not interrupted.
        (
            "var x: bool; proc f() { x = true; if * { f(); } x = false; } process p[1] { atomic { f(); } } process q[1] { assert !x; }",
            "verified",
        ),
        // Four calls return one by one, and each has to be let.
        (
            "var c: 0..4; var turn: bool;
             proc f() { label a; if * { f(); await !turn; turn = true; c = (c + 1) % 5; } }
             proc g() { await turn; turn = false; if * { g(); } }
             process p[1] { f(); assert c != 4; } process q[1] { g(); }",
            "bug assertion cost 6",
        ),
        // As many calls as returns are an even number.
        (
            "var x: bool; proc f() { x = !x; if * { f(); } x = !x; } process p[1] { f(); assert !x; }",
            "verified",
        ),
        // A step ends at `zield`: what is dropped behind it is not what was before it.
        (
            "var x: bool; proc f() { x = true; zield; assume false; f(); } process p[1] { f(); } process q[1] { assert !x; }",
            "bug assertion cost 1",
        ),
        // What does nothing is no step, and no turn of a schedule.
        (
            "var x: bool; var y: bool; proc f() { zield; skip; x = !x; if * { f(); } }
             process p[1] { f(); y = x; } process q[1] { f(); assert !x || !y; }",
            "bug assertion cost 1",
        ),
    ]
    .iter()
    .map(|(source, expected)| (source, expected, in_words(source, false)))
    .filter(|(_, expected, found)| found != *expected)
    .map(|(source, expected, found)| format!("{source}\n{expected}: {found}"))
    .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is more than 64 bits is a limit, whichever way comes upon it, and so is what is too much to cover.
#[test]
fn what_is_not_looked_at_is_not_verified() {
    for (source, expected) in [
        ("var x: int = 9223372036854775806; proc f() { if * { f(); } x = x + 1; } process p[1] { f(); }", "64 bits"),
        ("var x: int; proc f() { x = x + 1; if * { f(); } } process p[1] { f(); }", "too much to cover"),
    ] {
        let said = in_words(source, false);
        assert!(said.starts_with("Unknown") && said.contains(expected), "{source}: {said}");
    }
}

/// So many threads are all that were asked about: of those, every schedule was looked at.
#[test]
fn with_a_number_of_threads_that_was_given_there_is_no_bug_within_bounds() {
    let source = "var x: bool; proc f() { x = true; if * { f(); } } process p[*] { f(); assert x; }";
    let instances = [("p".to_string(), 2)];
    let (program, id) = (
        with_instances(compile(source), &instances).expect("there is one"),
        program_id("test.fab", source, &[], &instances),
    );
    let proof = prove(&program, &id, &plan(true, None), &Arc::new(AtomicBool::new(false)), &|_| {}).expect("it fits");
    let Verdict::NoBugWithinBounds { bounds } = proof.report.verdict else { panic!("{:?}", proof.report.verdict) };
    assert_eq!((bounds.bound, bounds.completed.is_some(), bounds.instances), (Bound::None, true, instances.to_vec()));
}

/// What is wrong with the answers about a program: none is verified that fails with stacks of a small height, and with those the
/// least number of switches is what exploration finds.
fn contradiction(program: &Recursive, counts: &mut Counts) -> Option<String> {
    let (source, with_height) = (program.source(None), program.source(Some(2)));
    let said = match converged(&source, true) {
        Ok(said) => said,
        // A procedure that waits is called in an atomic block.
        Err(ProofError::Unsupported(_)) => return None,
        Err(error) => return Some(format!("{error:?}")),
    };
    let few = explored(&with_height);
    let of_few = match converged(&with_height, true) {
        Ok(said) => said,
        Err(error) => return Some(format!("of a height: {error:?}")),
    };
    counts.verified += usize::from(said == Verdict::Verified);
    counts.shown += usize::from(matches!(said, Verdict::Bug { .. }));
    counts.bugs += usize::from(matches!(few, Verdict::Bug { .. }));
    counts.lost += usize::from(said != Verdict::Verified && few == Verdict::Verified);
    counts.lost_of_few += usize::from(of_few != Verdict::Verified && few == Verdict::Verified);
    match (said, of_few, few) {
        (_, Verdict::Bug { trace }, Verdict::Verified) => {
            Some(format!("of a height: verified, and shown {}", trace.message))
        }
        (Verdict::Verified, _, Verdict::Bug { trace }) => {
            Some(format!("verified, and with a height: {}", trace.message))
        }
        (_, Verdict::Verified, Verdict::Bug { trace }) => Some(format!("of a height: verified, and {}", trace.message)),
        (_, Verdict::Bug { trace }, Verdict::Bug { trace: explored }) if trace.cost != explored.cost => {
            Some(format!("of a height: {} switches, and exploration finds {}", trace.cost, explored.cost))
        }
        (Verdict::Bug { trace }, _, Verdict::Bug { trace: of_few }) if trace.cost > of_few.cost => {
            Some(format!("{} switches, and with a height {}", trace.cost, of_few.cost))
        }
        _ => None,
    }
}

#[derive(Debug, Default)]
struct Counts {
    verified: usize,
    shown: usize,
    /// With stacks of a small height.
    bugs: usize,
    /// Not verified, and without a bug of few calls.
    lost: usize,
    lost_of_few: usize,
}

fn compare(seeds: std::ops::Range<u64>) -> Counts {
    let mut counts = Counts::default();
    for seed in seeds {
        let program = random(seed);
        if let Some(wrong) = contradiction(&program, &mut counts) {
            let least = program.shrink(|less| {
                let compiles = fabius_lang::compile(&less.source(None), &Default::default()).is_ok();
                compiles && contradiction(less, &mut Counts::default()).is_some()
            });
            panic!("seed {seed}: {wrong}\n{}", least.source(None));
        }
    }
    counts
}

#[test]
fn random_recursive_programs_that_are_verified_do_not_fail_with_few_calls() {
    let counts = compare(0..30);
    assert!(counts.verified >= 5 && counts.bugs >= 5 && counts.shown >= counts.bugs / 2, "{counts:?}");
}

#[test]
#[ignore = "minutes"]
fn many_random_recursive_programs_that_are_verified_do_not_fail_with_few_calls() {
    let counts = compare(1000..8000);
    println!("{counts:?}");
}

#[test]
fn what_this_engine_does_not_know_is_refused() {
    for source in [
        "process p[*] { skip; }",
        "proc f() { skip; } init { spawn f(); }",
        "record R { n: 0..1 } var r: ref R; process p[1] { r = new R { n: 1 }; }",
        "buffer b { skip; }",
        "var x: bool; process p[2] { atomic { x = !x; await x; } }",
    ] {
        assert!(matches!(converged(source, true), Err(ProofError::Unsupported(_))), "{source}");
    }
}

/// What is dropped everywhere says nothing.
#[test]
fn where_no_execution_completes_nothing_is_verified() {
    let source = "var x: bool; proc f() { assume false; if * { f(); } } process p[2] { x = true; f(); }";
    assert!(converged(source, true).expect("it fits").is_vacuous());
}

/// A counter without a bound has no finite cover.
#[test]
fn a_limit_is_kept_where_data_is_infinite() {
    let source = "var x: int; proc f() { x = x + 1; if * { f(); } assert x >= 0; } process p[1] { f(); f(); }";
    let id = program_id("test.fab", source, &[], &[]);
    let plan = plan(true, Some(Duration::from_millis(200)));
    let proof = prove(&compile(source), &id, &plan, &Arc::new(AtomicBool::new(false)), &|_| {}).expect("it fits");
    assert!(matches!(proof.report.verdict, Verdict::Unknown { .. }), "{:?}", proof.report.verdict);
}
