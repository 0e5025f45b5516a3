//! With bounds that grow a bug is said to cost least where it does.

use fabius_trace::{Bound, Verdict};
use fabius_verify::prove::{Engine, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, check, program_id};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The cost of what is found, and whether it is said to be the least.
fn found(source: &str, sequentialization: Sequentialization) -> (u32, bool) {
    let plan = ProofPlan {
        sequentialization,
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
    let (id, stop) = (program_id("least.fab", source, &[], &[]), Arc::new(AtomicBool::new(false)));
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let proof = prove(&program, &id, &plan, &stop, &|_| {}).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    match proof.report.verdict {
        Verdict::Bug { trace } => (trace.cost, proof.least),
        other => panic!("{source}\n{other:?}"),
    }
}

/// The least new rounds, by exploration.
fn explored(source: &str) -> u32 {
    let plan = Plan { bound: Bound::Rounds, ..Plan::default() };
    let id = program_id("least.fab", source, &[], &[]);
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let report = check(&program, &id, &plan, &AtomicBool::new(false), &|_| {});
    match report.unwrap_or_else(|e| panic!("{e:?}\n{source}")).verdict {
        Verdict::Bug { trace } => trace.cost,
        other => panic!("{source}\n{other:?}"),
    }
}

/// With more rounds of `yield` one buffer alone fails.
#[test]
fn what_fewer_rounds_have_left_out_may_cost_less() {
    let source = "var x: bool; var s: 0..4; \
                  proc a() { if s == 0 { s = 1; } yield; if s == 2 { s = 3; } yield; assert s != 4; } \
                  proc b() { if s == 1 { s = 2; } yield; if s == 3 { s = 4; } } \
                  buffer u { post a(); post b(); await x; assert false; } process q[1] { x = true; }";
    assert_eq!(explored(source), 0);
    assert_eq!(found(source, Sequentialization::Buffers { zields: 4, yields: 4 }), (1, false));
}

/// What others than `init` make may come elsewhere in the rounds of the translation than in those that are counted.
#[test]
fn rounds_in_another_order_say_nothing_of_the_least() {
    let made_by = |maker: &str, init: &str| {
        format!(
            "var b: bool; var c: bool; proc p() {{ {maker} }} proc r() {{ c = true; }} \
             init {{ spawn p(); {init} b = true; b = false; assert !c || b; }}"
        )
    };
    for (source, least) in [(made_by("spawn r();", ""), false), (made_by("", "spawn r();"), true)] {
        assert_eq!(explored(&source), 1, "{source}");
        assert_eq!(found(&source, Sequentialization::Rounds(4)), (1, least), "{source}");
    }
}
