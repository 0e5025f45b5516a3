//! Any number of threads: the translations and the interfaces that are computed directly have the observations that were
//! computed elsewhere, and those of explicit threads.

use fabius_lang::program::*;
use fabius_lang::{Choices, Options, compile};
use fabius_sequential::invariants::{Found, invariants};
use fabius_sequential::summaries::counting::{Counting, count};
use fabius_sequential::summaries::interfaces::{Composed, Threads, compose};
use fabius_sequential::summaries::views::{Invariant, invariant};
use fabius_sequential::summaries::{self, NODES, Question, Reached, Template};
use fabius_smt::Limits;
use fabius_trace::{Bound, Verdict};
use fabius_translate::explicit::Trace;
use fabius_translate::linear_interface::eager::{eager, threads};
use fabius_translate::linear_interface::{Deadlocks, Parameterized, lazy::lazy, parameterized};
use fabius_verify::prove::{Engine, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, check, program_id, with_instances};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use testkit::oracle::parameterized::{Case, cases};
use testkit::parameterized::{Parameterized as Random, random, random_numbers};

fn program(source: &str) -> Program {
    let options = Options { choices: Choices::Unbounded, ..Options::default() };
    compile(source, &options).unwrap_or_else(|e| panic!("{source}\n{e:?}"))
}

fn reach(program: &Program, ends: &[GlobalId]) -> Reached {
    let limits = Limits { deadline: None, stop: &Arc::default() };
    let answer = summaries::reach(program, Question::Everything, ends, &limits, &mut |_| {});
    answer.expect("it is sequential").0.expect("nothing is too large")
}

/// What is printed, and the shared variables in the end.
fn facts(program: &Program, shared: usize) -> (BTreeSet<Vec<i64>>, BTreeSet<Vec<i64>>) {
    let reached = reach(program, &(0..shared).collect::<Vec<_>>());
    (reached.printed.into_iter().flat_map(|(_, values)| values).collect(), reached.ends)
}

fn source_of(text: &str) -> Parameterized {
    parameterized(&program(text), Trace::Off, fabius_translate::Caps::default(), Deadlocks::Ignored)
        .unwrap_or_else(|e| panic!("{text}\n{e:?}"))
}

/// What the composition of interfaces finds.
fn composed(source: &Parameterized, rounds: u32) -> Composed {
    let of = threads(source, rounds);
    let threads = Threads {
        program: &of.program,
        declared: &of.declared,
        any: of.any,
        shared: &of.shared,
        round: of.round,
        failed: of.failed,
        waits: None,
    };
    let limits = Limits { deadline: None, stop: &Arc::default() };
    let answer = compose(&threads, NODES, &limits, &mut |_| {});
    answer.expect("it is sequential").0.expect("nothing is too large")
}

/// What is known of an invariant.
fn invariant_of(source: &Parameterized) -> Invariant {
    let (program, declared, any) = source.template();
    let template = Template { program: &program, declared: &declared, any: &any };
    let answer = invariant(&template, NODES, &Limits { deadline: None, stop: &Arc::default() }, &mut |_| {});
    answer.expect("it is sequential").0.expect("nothing is too large")
}

/// What is known by counting threads.
fn counting_of(source: &Parameterized) -> Counting {
    let (program, declared, any) = source.template();
    let template = Template { program: &program, declared: &declared, any: &any };
    let answer = count(&template, NODES, &Limits { deadline: None, stop: &Arc::default() }, &mut |_| {});
    answer.expect("it is sequential").0.expect("nothing is too large")
}

/// What is known by views and sums.
fn views_and_sums(source: &Parameterized) -> Found {
    let (program, declared, any) = source.template();
    let template = Template { program: &program, declared: &declared, any: &any };
    let limits = Limits { deadline: None, stop: &Arc::default() };
    invariants(&template, 5_000, &limits).expect("it is sequential").found
}

fn corpus() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    cases(&root)
}

#[test]
fn observations_computed_elsewhere_are_those_of_the_lazy_translation() {
    for (n, case) in corpus().into_iter().enumerate() {
        let source = source_of(&case.source);
        for (rounds, expected) in &case.expected {
            let (observed, ends) = facts(&lazy(&source, *rounds).program, case.shared);
            assert_eq!(observed, expected.observed, "case {n}, {rounds} rounds: observations\n{}", case.source);
            assert_eq!(ends, expected.ends, "case {n}, {rounds} rounds: final states\n{}", case.source);
        }
    }
}

#[test]
fn errors_computed_elsewhere_are_those_of_the_eager_translation_and_of_interfaces() {
    for (n, case) in corpus().into_iter().enumerate() {
        let source = source_of(&case.asserting);
        for (rounds, expected) in &case.expected {
            let fails = !reach(&eager(&source, *rounds).program, &[]).failing.is_empty();
            let is_expected = expected.observed.contains(&vec![0]);
            assert_eq!(fails, is_expected, "case {n}, {rounds} rounds\n{}", case.asserting);
            let fails = matches!(composed(&source, *rounds), Composed::Fails { .. });
            assert_eq!(fails, is_expected, "interfaces: case {n}, {rounds} rounds\n{}", case.asserting);
        }
    }
}

/// The lazy translation without some of what the specification adds to the paper's figure.
fn without(program: &Program, part: &str) -> Program {
    let mut program = program.clone();
    let find = |name: &str| program.procs.iter().position(|p| p.name == name).expect("it is there");
    let (interface, hand_over) = (find("linear_interface"), find("hand_over"));
    let shared = |p: &Place| matches!(p.base, Base::Global(g) if !program.globals[g].per_thread && g < 2);
    let own = |p: &Place| matches!(p.base, Base::Global(g) if program.globals[g].name == "g");
    let calls = |s: &Stmt| matches!(s.kind, StmtKind::Call(_, p, _) if p == hand_over);
    let sets = |s: &Stmt, of: &dyn Fn(&Place) -> bool| matches!(&s.kind, StmtKind::Assign(p, _) if of(p));
    let dropped: Vec<bool> = program.procs[interface]
        .body
        .iter()
        .map(|s| match part {
            "the shared state when a thread begins" => sets(s, &shared),
            "its own variables when a thread begins" => sets(s, &own),
            "control behind the last statement" => match &s.kind {
                StmtKind::If(_, then, _) => then.len() == 1 && calls(&then[0]),
                _ => false,
            },
            _ => false,
        })
        .collect();
    let mut kept = dropped.iter().map(|d| !d);
    let mut body = program.procs[interface].body.clone();
    body.retain(|_| kept.next().unwrap_or(true));
    if part == "its own variables when a thread goes on" {
        fn retain(block: &mut Block, keep: &dyn Fn(&Stmt) -> bool) {
            block.retain(|s| keep(s));
            for s in block {
                match &mut s.kind {
                    StmtKind::If(_, a, b) => [a, b].into_iter().for_each(|b| retain(b, keep)),
                    StmtKind::While(_, b) => retain(b, keep),
                    _ => {}
                }
            }
        }
        let mut control = program.procs[hand_over].body.clone();
        retain(&mut control, &|s| !sets(s, &own));
        program.procs[hand_over].body = control;
    }
    program.procs[interface].body = body;
    program
}

#[test]
fn omissions_of_the_paper_are_noticed() {
    let cases: Vec<(Case, Parameterized)> = corpus().into_iter().map(|c| (c.clone(), source_of(&c.source))).collect();
    for part in [
        "the shared state when a thread begins",
        "its own variables when a thread begins",
        "its own variables when a thread goes on",
    ] {
        let caught = cases.iter().any(|(case, source)| {
            let translated = lazy(source, 2).program;
            let mutant = without(&translated, part);
            if mutant == translated {
                return false;
            }
            let (observed, ends) = facts(&mutant, case.shared);
            observed != case.expected[&2].observed || ends != case.expected[&2].ends
        });
        assert!(caught, "nobody notices that {part} is missing");
    }
}

#[test]
fn a_thread_hands_over_behind_its_last_statement() {
    let source = source_of("var x: bool;\nprocess p[*] { if * { x = true; } else { assume x; print(1, x); } }\n");
    let translated = lazy(&source, 1).program;
    let all = (BTreeSet::from([vec![1, 1]]), BTreeSet::from([vec![0], vec![1]]));
    assert_eq!(facts(&translated, 1), all);
    assert_ne!(facts(&without(&translated, "control behind the last statement"), 1), all);
}

/// Figure 2 of the paper: the division fails only in states that no execution reaches.
const FIGURE_2: &str = "\
var blocked: bool = true;\nvar x: 0..6;\nvar y: 0..6;\n\
process first[*] {\n    await !blocked;\n    assert y != 0;\n    x = x / y;\n}\n\
process second[*] {\n    x = 6;\n    y = 2;\n    blocked = false;\n}\n";

#[test]
fn the_lazy_translation_runs_nothing_that_no_execution_reaches() {
    let source = source_of(FIGURE_2);
    for rounds in 1..=2 {
        assert!(reach(&lazy(&source, rounds).program, &[]).failing.is_empty());
        assert_eq!(composed(&source, rounds), Composed::Holds);
    }
    // The eager one gets there, and takes it back. Without the last statement but one it would not.
    let mut taken_back = eager(&source, 2).program;
    assert!(reach(&taken_back, &[]).failing.is_empty());
    let main = taken_back.init.expect("it begins somewhere");
    taken_back.procs[main].body.retain(|s| !matches!(s.kind, StmtKind::Assume(_)));
    assert!(!reach(&taken_back, &[]).failing.is_empty());
}

/// Whether explicit threads fail, `threads` of those of any number, within so many rounds.
fn explicit_fails(program: &Program, threads: u32, rounds: Option<u32>) -> bool {
    let instances = [("many".to_string(), threads)];
    let id = program_id("test.fab", &program.source, &[], &instances);
    let program = with_instances(program.clone(), &instances).expect("there is such a process");
    let bounded = |rounds: u32| Plan { bound: Bound::Rounds, max: Some(rounds - 1), ..Plan::default() };
    let plan = rounds.map_or(Plan { bound: Bound::None, ..Plan::default() }, bounded);
    let verdict = check(&program, &id, &Plan { deadlock: false, ..plan }, &AtomicBool::new(false), &|_| {})
        .expect("it can be checked")
        .verdict;
    matches!(verdict, Verdict::Bug { .. })
}

/// Whether a bug of so many rounds is shown: it replays, and takes no more rounds.
fn shown(program: &Program, rounds: u32) -> Result<(), String> {
    let plan = ProofPlan {
        sequentialization: Sequentialization::AnyThreads(rounds),
        engine: Engine::Interfaces,
        unwind: Some(3),
        recursion: Some(3),
        tasks: None,
        objects: None,
        incremental: false,
        deadlock: false,
        properties: true,
        solver: SolverChoice::Embedded,
        time: None,
        memory: None,
    };
    let id = program_id("test.fab", &program.source, &[], &[]);
    let proof = prove(program, &id, &plan, &Arc::new(AtomicBool::new(false)), &|_| {}).map_err(|e| format!("{e:?}"))?;
    match proof.report.verdict {
        Verdict::Bug { trace } if trace.cost < rounds => Ok(()),
        Verdict::Bug { trace } => Err(format!("it is shown with {} new rounds", trace.cost)),
        other => Err(format!("no bug is shown: {other:?}")),
    }
}

/// What two ways to decide a random program disagree about.
fn disagreement(of: &Random) -> Option<String> {
    let compiled = program(&of.source());
    let in_order = program(&of.in_order_of_rounds().source());
    let source = parameterized(&compiled, Trace::Off, fabius_translate::Caps::default(), Deadlocks::Ignored)
        .expect("it has what is needed");
    let (invariant, counting) = (invariant_of(&source), counting_of(&source));
    if invariant == Invariant::Holds && counting != Counting::Holds {
        return Some(format!("an invariant holds, and yet counting says {counting:?}"));
    }
    for threads in 0..=3 {
        if counting != Counting::Fails && explicit_fails(&compiled, threads, None) {
            return Some(format!("{threads} threads fail, and yet counting says {counting:?}"));
        }
    }
    for rounds in 1..=2 {
        let lazily = !reach(&lazy(&source, rounds).program, &[]).failing.is_empty();
        let eagerly = !reach(&eager(&source, rounds).program, &[]).failing.is_empty();
        let composed = composed(&source, rounds);
        let fails = matches!(composed, Composed::Fails { .. });
        if lazily != eagerly || lazily != fails {
            return Some(format!("{rounds} rounds: lazy {lazily}, eager {eagerly}, {composed:?}"));
        }
        if fails && invariant == Invariant::Holds {
            return Some(format!("{rounds} rounds: {composed:?}, and yet there is an invariant"));
        }
        if fails && counting != Counting::Fails {
            return Some(format!("{rounds} rounds: {composed:?}, and yet counting says {counting:?}"));
        }
        let least = match composed {
            Composed::Fails { rounds: in_rounds, threads } if in_rounds == rounds => threads,
            _ => 4,
        };
        if let Composed::Fails { rounds, .. } = composed
            && let Err(wrong) = shown(&compiled, rounds)
        {
            return Some(format!("{rounds} rounds: {wrong}"));
        }
        for threads in 0..=3 {
            let explicitly = explicit_fails(&in_order, threads, Some(rounds));
            if (explicitly && !fails) || (least <= 3 && explicitly != (threads >= least)) {
                return Some(format!("{rounds} rounds, {threads} threads: {explicitly}; {composed:?}"));
            }
        }
    }
    None
}

fn compare_random(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        if disagreement(&random(seed)).is_some() {
            let least = random(seed).shrink(|p| disagreement(p).is_some());
            panic!("seed {seed}: {}\n{}", disagreement(&least).expect("it still does"), least.source());
        }
    }
}

#[test]
fn random_programs_are_decided_alike() {
    compare_random(0..50);
}

#[test]
#[ignore = "takes minutes"]
fn many_random_programs_are_decided_alike() {
    compare_random(50..3000);
}

#[test]
fn some_random_programs_have_an_invariant_and_some_fail() {
    let (mut hold, mut open) = (0, 0);
    for seed in 0..60 {
        let source = source_of(&random(seed).source());
        match invariant_of(&source) {
            Invariant::Holds => hold += 1,
            Invariant::Open => open += 1,
            Invariant::Recursive => panic!("seed {seed}: nothing is recursive"),
        }
    }
    assert!(hold >= 5 && open >= 5, "{hold} hold, {open} are open");
}

/// What counting says fails is shown by so many threads, explored one by one; and some of it by no two rounds.
#[test]
fn counting_is_exact_on_random_programs() {
    let (mut hold, mut fail) = (0, 0);
    for seed in 0..100 {
        let text = random(seed).source();
        match counting_of(&source_of(&text)) {
            Counting::Holds => hold += 1,
            Counting::Fails => {
                fail += 1;
                assert!((0..=4).any(|n| explicit_fails(&program(&text), n, None)), "seed {seed}: nobody fails\n{text}");
            }
            other => panic!("seed {seed}: {other:?}\n{text}"),
        }
    }
    assert!(hold >= 10 && fail >= 10, "{hold} hold, {fail} fail");
}

/// Where views and sums are closed under all steps, no number of threads fails.
fn compare_views_and_sums(seeds: std::ops::Range<u64>, most: u32, make: fn(u64) -> Random) -> [usize; 3] {
    let wrong = |of: &Random| {
        let compiled = program(&of.source());
        let found = views_and_sums(&source_of(&of.source()));
        let fails = (0..=most).find(|threads| explicit_fails(&compiled, *threads, None));
        (found == Found::Holds && fails.is_some(), found, fails)
    };
    let mut all = [0; 3];
    for seed in seeds {
        let of = make(seed);
        match wrong(&of) {
            (true, ..) => {
                let least = of.shrink(|of| wrong(of).0);
                panic!("seed {seed}: {:?} threads fail\n{}", wrong(&least).2, least.source());
            }
            (_, Found::Holds, _) => all[0] += 1,
            (.., None) => all[1] += 1,
            (.., Some(_)) => all[2] += 1,
        }
    }
    all
}

#[test]
fn random_programs_with_views_and_sums_do_not_fail() {
    let [hold, open, fail] = compare_views_and_sums(0..26, 2, random_numbers);
    assert!(hold >= 8 && fail >= 5, "{hold} hold, {open} are open, {fail} fail");
    compare_views_and_sums(0..10, 2, random);
}

#[test]
#[ignore = "takes minutes"]
fn many_random_programs_with_views_and_sums_do_not_fail() {
    let first = std::env::var("FIRST_SEED").map_or(1000, |seed| seed.parse().expect("a number"));
    let programs: u64 = std::env::var("PROGRAMS").map_or(1000, |n| n.parse().expect("a number"));
    println!("{:?} hold, are open, fail", compare_views_and_sums(first..first + programs, 3, random_numbers));
}

/// An account, and references that are counted without a bound: all rounds, without any solver but the embedded one.
#[test]
fn integers_that_grow_are_verified_for_all_numbers_of_threads() {
    for name in ["counter", "unbounded_references"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../corpus/parameterized/safe/{name}.fab"));
        let text = std::fs::read_to_string(path).expect("it is there");
        let plan = ProofPlan {
            sequentialization: Sequentialization::AnyThreads(64),
            engine: Engine::Automatic,
            unwind: None,
            recursion: None,
            tasks: None,
            objects: None,
            incremental: true,
            deadlock: true,
            properties: true,
            solver: SolverChoice::Embedded,
            time: None,
            memory: None,
        };
        let id = program_id("test.fab", &text, &[], &[]);
        let proof = prove(&program(&text), &id, &plan, &Arc::new(AtomicBool::new(false)), &|_| {}).expect("it can be");
        assert_eq!(proof.report.verdict, Verdict::Verified, "{name}");
    }
}

/// Integers without a size are as wide as they get in what is reachable.
#[test]
fn integers_are_counted_as_far_as_they_go() {
    let of = |most: u32, wrong: u32| {
        let text = format!(
            "var n: int;\nprocess p[*] {{\n    atomic {{ await n < {most}; n += 1; }}\n    assert n != {wrong};\n    atomic {{ n -= 1; }}\n}}\n"
        );
        counting_of(&source_of(&text))
    };
    for most in [1, 3, 4, 9] {
        assert_eq!(of(most, most + 1), Counting::Holds, "{most}");
        assert_eq!(of(most, most), Counting::Fails, "{most}");
    }
}
