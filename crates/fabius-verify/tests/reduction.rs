//! A search that leaves out steps that can be made later just as well says what the plain search of the reference says, alone and
//! together with symmetry: a bug or none, limits, and as many final states. Every bug that `check` reports has been replayed in the
//! reference.

use fabius_explore::search::{Cut, Monitor, Options, Outcome};
use fabius_explore::{flat, stateful};
use fabius_machine::Machine;
use fabius_semantics::Reference;
use fabius_trace::{Bound, Points, SchedulerKind, Verdict};
use fabius_verify::{Plan, Strategy, Symmetry, check, program_id};
use std::sync::atomic::AtomicBool;
use testkit::generate::{Model, Shape, random};

/// What two searches must have in common. Where threads or objects are made one final state has as many forms as there are names, and
/// not all of them are met.
fn said(outcome: &Outcome, has_names: bool) -> String {
    let finals = if has_names { outcome.finals.min(1) } else { outcome.finals };
    let finals = outcome.bug.is_none().then_some(finals);
    format!("{} {} {} {finals:?}", outcome.bug.is_some(), outcome.exhausted, outcome.cut.is_some())
}

/// Whether the threads of a random program make threads or objects.
fn has_names(source: &str) -> bool {
    let bodies = source.split_once("invariant rare").map_or(source, |(_, bodies)| bodies);
    bodies.contains("spawn") || bodies.contains("new ")
}

fn states(outcome: &Outcome) -> u64 {
    outcome.levels.last().map_or(0, |level| level.states)
}

/// How the reduced search differs, if it does; otherwise states without and with it.
fn compare(source: &str) -> Result<(u64, u64), String> {
    let program = fabius_lang::compile(source, &Default::default()).map_err(|d| format!("{d:?}"))?;
    let (machine, reference) = (Machine::new(&program, Points::All), Reference::new(&program, Points::All));
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let (named, mut counted) = (has_names(source), (0, 0));
    for deadlock in [true, false] {
        let plain = Options { bound: Bound::None, deadlock, memory: Some(5_000_000), ..Options::default() };
        let all = stateful::search(&reference, &plain, &monitor, &|_| {});
        if all.cut.is_some_and(Cut::is_final) {
            continue;
        }
        let mut before = None;
        for jobs in [1, 2] {
            let reduced = Options { ample: true, memory: None, jobs, ..plain.clone() };
            let some = flat::search(&machine, &reduced, &monitor);
            if said(&some, named) != said(&all, named) || states(&some) > states(&all) && all.bug.is_none() {
                return Err(format!("deadlock {deadlock} jobs {jobs}: {} | {}", said(&some, named), said(&all, named)));
            }
            if before.replace(states(&some)).is_some_and(|before| before != states(&some)) {
                return Err("two jobs explore something else".into());
            }
            if jobs == 1 && all.bug.is_none() {
                counted = (counted.0 + states(&all), counted.1 + states(&some));
            }
            let symmetric = Options { symmetry: true, ..reduced };
            let some = flat::search(&machine, &symmetric, &monitor);
            let plain = flat::search(&machine, &Options { ample: false, ..symmetric }, &monitor);
            if said(&some, named) != said(&plain, named) {
                return Err(format!(
                    "deadlock {deadlock} jobs {jobs} symmetry: {} | {}",
                    said(&some, named),
                    said(&plain, named)
                ));
            }
        }
        // What is found is replayed.
        let plan = Plan { bound: Bound::None, deadlock, ..Plan::default() };
        let id = program_id("random.fab", source, &[], &[]);
        let report =
            check(&program, &id, &plan, &AtomicBool::new(false), &|_| {}).map_err(|e| format!("{deadlock} {e:?}"))?;
        if matches!(report.verdict, Verdict::Bug { .. }) != all.bug.is_some() {
            return Err(format!("check: {:?} | {}", report.verdict, said(&all, named)));
        }
    }
    Ok(counted)
}

fn agree(seeds: std::ops::Range<u64>) -> (u64, u64) {
    let mut sum = (0, 0);
    for seed in seeds {
        let shape = [Shape::Phased, Shape::Phased, Shape::Phased, Shape::Threads, Shape::Spawned, Shape::Alike]
            [seed as usize % 6];
        let model = random(seed, shape);
        match compare(&model.source()) {
            Ok(counted) => sum = (sum.0 + counted.0, sum.1 + counted.1),
            Err(_) => {
                let fails = |m: &Model| {
                    fabius_lang::compile(&m.source(), &Default::default()).is_ok() && compare(&m.source()).is_err()
                };
                let small = model.shrink(fails).source();
                panic!("{seed}: {:?}\n{small}", compare(&small));
            }
        }
    }
    sum
}

#[test]
fn random_programs_have_the_answers_of_the_plain_search() {
    let (all, some) = agree(0..72);
    assert!(some * 10 < all * 7, "{some} states of {all}");
}

#[test]
#[ignore = "takes hours"]
fn many_random_programs_have_the_answers_of_the_plain_search() {
    let (all, some) = agree(testkit::seeds(120, 100_000));
    println!("{some} states of {all}");
}

fn counted(source: &str, plan: &Plan) -> (u64, bool, String) {
    let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
    let id = program_id("threads.fab", source, &[], &[]);
    let report = check(&program, &id, plan, &AtomicBool::new(false), &|_| {}).expect("an answer");
    let verdict = match report.verdict {
        Verdict::Bug { trace } => format!("{:?}", trace.kind),
        Verdict::Verified => "verified".into(),
        other => format!("{other:?}"),
    };
    (report.levels.last().map_or(0, |level| level.states), report.reduction, verdict)
}

fn none(reduction: bool) -> Plan {
    Plan { bound: Bound::None, symmetry: Symmetry::OFF, reduction, ..Plan::default() }
}

#[test]
fn steps_of_one_thread_alone_are_made_in_one_order() {
    // Each of n threads counts its own variable to 3, behind three points: 4 to the n states, or one after the other.
    let source = |n: u32| {
        let thread = |i| format!("var v{i}: int; process p{i}[1] {{ v{i} = 1; v{i} = 2; v{i} = 3; }}\n");
        (0..n).map(thread).collect::<String>()
    };
    assert_eq!(counted(&source(4), &none(false)), (256, false, "verified".into()));
    assert_eq!(counted(&source(4), &none(true)), (13, true, "verified".into()));
    assert_eq!(counted(&source(40), &none(true)), (121, true, "verified".into()));
    // Two and two that share a variable: 16 and 16 states, one behind the other.
    let pairs = "var v: int; var w: int; process p[2] { v = 1; v = 1; v = 1; } process q[2] { w = 1; w = 1; w = 1; }";
    let (all, some) = (counted(pairs, &none(false)).0, counted(pairs, &none(true)).0);
    assert!(some * 5 < all, "{some} states of {all}");
}

#[test]
fn what_others_do_is_not_put_off_for_ever() {
    // One goes round and round alone; another one fails.
    let round =
        "var v: int; var x: int; process p[1] { loop { v = 0; v = 1; } } process q[1] { x = 1; x = 2; assert x != 2; }";
    // Or its step is dropped.
    let dropped =
        "var v: int; var x: int; process p[1] { v = 1; assume v != 1; v = 2; } process q[1] { x = 1; assert x != 1; }";
    // Or comes to a limit.
    let limited = "var v: int = 9223372036854775807; var x: int; process p[1] { v = v + 1; } process q[1] { x = 1; assert x != 1; }";
    // Or counts for ever.
    let endless = "var v: int; var x: int; process p[1] { loop { v = v + 1; } } process q[1] { x = 1; assert x != 1; }";
    for source in [round, dropped, limited, endless] {
        assert_eq!(counted(source, &none(true)).2, "Assertion", "{source}");
    }
}

#[test]
fn who_may_still_come_counts() {
    // The other threads start when `init` has finished, or are made by somebody else, or are called further out.
    let started = "var x: int; var y: int; proc p() { x = 1; assert x == 1; } proc r() { y = 1; }
        init { spawn p(); spawn r(); y = 2; } process q[1] { x = 0; }";
    let made =
        "var x: int; proc leaf() { x = 0; } process p[1] { x = 1; assert x == 1; } process q[1] { spawn leaf(); }";
    let outside = "var x: int; var y: int; proc inner() { y = 1; y = 2; } process p[1] { inner(); x = 0; } process q[1] { x = 1; assert x == 1; } process r[1] { y = 3; }";
    // Whether somebody has finished decides how far a step goes that comes to a `join`.
    let joined = "interleave explicit; var x: int; var a: int; var b: int; var h: thread;
        proc p() { a = 1; zield; a = 2; }
        proc q() { b = 1; zield; x = 1; join h; x = 2; }
        proc r() { zield; assert x != 1; }
        init { h = spawn p(); spawn q(); spawn r(); }";
    for source in [started, made, outside, joined] {
        assert_eq!(counted(source, &none(false)).2, "Assertion", "{source}");
        assert_eq!(counted(source, &none(true)).2, "Assertion", "{source}");
    }
}

#[test]
fn what_a_step_touches_counts_wherever_it_does() {
    // In each the first thread has done for a moment what the second one does not like.
    let moments = [
        "var v: int; var x: int; invariant apart: v == 0 || x == 0; process p[1] { v = 1; v = 0; } process q[1] { x = 1; x = 0; }",
        "var v: int; process p[1] { v = 1; v = 2; } process q[1] { assume v == 1; assert false; }",
        "var v: int; process p[1] { v = 1; v = 2; } process q[1] { await v == 1; assert false; }",
        "var x: int; proc one() { x = 1; } proc zero() { x = 0; } process p[1] { atomic { one(); } atomic { zero(); } } process q[1] { assert x == 0; }",
        "var x: int; proc none() { } process p[1] { atomic { none(); x = 1; } atomic { none(); x = 0; } } process q[1] { assert x == 0; }",
        "record R { n: int } var r: ref R; init { r = new R { n: 0 }; } process p[1] { let c = r; c.n = 1; c.n = 0; } process q[1] { let c = r; assert c.n == 0; }",
        "var a: [int; 2]; process p[1] { let i = any 0..1; a[i] = 1; a[i] = 0; } process q[1] { assert a[1] == 0; }",
        "var a: [[int; 2]; 2]; process p[1] { let i = any 0..1; a[i][i] = 1; a[i][i] = 0; } process q[1] { assert a[1][1] == 0; }",
        "var a: [[int; 2]; 2]; process p[1] { let i = any 0..1; a[i] = [1, 1]; a[i] = [0, 0]; } process q[1] { assert a[1][1] == 0; }",
        // Wholes are written, read, compared and returned. In half of these the second thread has done it.
        "var a: [int; 2]; process q[1] { assert a[1] == 0; } process p[1] { a = [1, 1]; a = [0, 0]; }",
        "var a: [int; 2]; process p[1] { a[1] = 1; a[1] = 0; } process q[1] { let c = a; assert c[1] == 0; }",
        "record R { m: int, n: int } var a: R; var b: R; process p[1] { b.n = 1; b.n = 0; } process q[1] { atomic { assert a == b; } }",
        "record R { m: int, n: int } var a: R; var b: R; process p[1] { a.n = 1; a.n = 0; } process q[1] { atomic { let e = a == b; assert e; } }",
        "var x: int; proc f() -> int { return x; } process p[1] { x = 1; x = 0; } process q[1] { atomic { let t = f(); assert t == 0; } }",
        // Who waits for another thread may go on because of it.
        "var x: int; var y: int; proc a() { assert x == 0; } proc b() { y = 1; } init { spawn a(); let h = spawn b(); spawn b(); join h; x = 1; }",
    ];
    for source in moments {
        assert_eq!(counted(source, &none(false)).2, "Assertion", "{source}");
        assert_eq!(counted(source, &none(true)).2, "Assertion", "{source}");
    }
}

#[test]
fn where_all_steps_matter_all_are_made() {
    let source = "var v: int; var w: int; process p[1] { v = 1; v = 2; } process q[1] { w = 1; w = 2; }";
    assert!(counted(source, &none(true)).1);
    let kept = [
        Plan { races: true, ..none(true) },
        Plan { livelock: true, ..none(true) },
        Plan { scheduler: SchedulerKind::BoundedBag(4), ..none(true) },
        Plan { stateless: true, ..none(true) },
        Plan { strategy: Strategy::DepthFirst, ..none(true) },
        Plan { bound: Bound::Preemptions, ..none(true) },
        none(false),
    ];
    for plan in kept {
        assert!(!counted(source, &plan).1, "{plan:?}");
    }
    let property = "property last: eventually v == 2;".to_string() + source;
    assert!(!counted(&property, &none(true)).1);
}
