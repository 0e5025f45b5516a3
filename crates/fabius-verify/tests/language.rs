//! What models are written with, through all engines: invariants, `select`, channels, numbered threads.

use fabius_trace::{Bound, BugKind, SchedulerKind, Verdict};
use fabius_verify::prove::{Engine, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, Report, check, program_id, replay};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn explored(source: &str, plan: &Plan) -> Report {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:#?}\n{source}"));
    let id = program_id("language.fab", source, &[], &[]);
    let report = check(&program, &id, plan, &AtomicBool::new(false), &|_| {}).unwrap_or_else(|e| panic!("{e:?}"));
    if let Verdict::Bug { trace } = &report.verdict {
        let again = replay(&program, &id, trace).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
        assert_eq!(again, **trace);
    }
    report
}

/// What `check` says: the kind of bug, its least cost, and its message; nothing if there is none.
fn bug(source: &str) -> Option<(BugKind, u32, String)> {
    match explored(source, &Plan::default()).verdict {
        Verdict::Bug { trace } => Some((trace.kind, trace.cost, trace.message.clone())),
        Verdict::Verified => None,
        other => panic!("{other:?}\n{source}"),
    }
}

fn states(source: &str) -> Option<u64> {
    explored(source, &Plan { bound: Bound::None, reduction: false, ..Plan::default() }).levels.last().map(|l| l.states)
}

/// Three rounds, with few turns of loops.
fn bounded() -> ProofPlan {
    ProofPlan {
        sequentialization: Sequentialization::Rounds(3),
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
    }
}

/// A program of threads that know their numbers, which are any or these.
fn numbered(rng: &mut fastrand::Rng, numbers: &str) -> String {
    let mut statements = String::new();
    for _ in 0..rng.usize(2..6) {
        statements += [
            "a[i] = x;",
            "x = i;",
            "x = (x + i) % 3;",
            "turn = 2 - i;",
            "if x == i { f = !f; }",
            "await f || turn == i;",
            "for k in 0..i { x = k; }",
            "let before = x; x = (before + own(i)) % 3;",
            "assert a[i] != 2 || x != i;",
            "assert !(f && turn == i);",
            "let i = x; a[i] = i;",
        ][rng.usize(..11)];
    }
    format!(
        "var a: [0..2; 3]; var x: 0..2; var turn: 0..2; var f: bool; fn own(i: int) -> int {{ i + 1 }} \
         process p[i{numbers}] {{ {statements} }} process q[1] {{ f = true; x = 1; }}"
    )
}

#[test]
fn any_number_of_numbered_threads_are_so_many_numbered_ones() {
    let mut rng = fastrand::Rng::with_seed(5);
    let (mut bugs, mut fine) = (0, 0);
    for round in 0..90 {
        let (mut again, count) = (rng.clone(), rng.u32(..4));
        again.u32(..4);
        let (some, any) = (format!(" in 0..{}", i64::from(count) - 1), ": *".to_string());
        let (some, any) = (numbered(&mut rng, &some), numbered(&mut again, &any));
        let compiled = |source: &str| fabius_lang::compile(source, &Default::default());
        let instances = [("p".to_string(), count)];
        let program = compiled(&any).unwrap_or_else(|d| panic!("{d:#?}\n{any}"));
        // Written down and read again it is the same.
        let again = compiled(&fabius_lang::unparse(&program).expect("it can be written")).expect("it can be read");
        for program in [program, again].map(|p| fabius_verify::with_instances(p, &instances).expect("they are any")) {
            let id = program_id("language.fab", &program.source, &[], &instances);
            for plan in [Plan::default(), Plan { bound: Bound::None, reduction: false, ..Plan::default() }] {
                let found = check(&program, &id, &plan, &AtomicBool::new(false), &|_| {}).expect("it can be checked");
                let wanted = explored(&some, &plan);
                match (&found.verdict, &wanted.verdict) {
                    (Verdict::Bug { trace: found }, Verdict::Bug { trace: wanted }) => {
                        assert_eq!((found.kind, found.cost), (wanted.kind, wanted.cost), "{round}\n{any}");
                        assert_eq!(replay(&program, &id, found).expect("it can be replayed"), **found, "{any}");
                        bugs += 1;
                    }
                    (Verdict::Bug { .. }, _) | (_, Verdict::Bug { .. }) => panic!("{count}\n{any}"),
                    _ => {
                        assert_eq!(
                            found.levels.last().map(|l| l.states),
                            wanted.levels.last().map(|l| l.states),
                            "{any}"
                        );
                        fine += 1;
                    }
                }
            }
        }
    }
    assert!(bugs > 60 && fine > 60, "{bugs} {fine}");
}

#[test]
fn threads_of_any_number_that_know_their_numbers_are_not_taken_for_alike() {
    let source = "var x: int; process p[i: *] { assert i == 0; }";
    let (program, id) =
        (fabius_lang::compile(source, &Default::default()).expect(source), program_id("", source, &[], &[]));
    for engine in [Engine::Automatic, Engine::Bmc, Engine::Summaries, Engine::Interfaces] {
        let plan = ProofPlan { sequentialization: Sequentialization::AnyThreads(2), engine, ..bounded() };
        let said = prove(&program, &id, &plan, &Arc::new(AtomicBool::new(false)), &|_| {}).map(|p| p.report.verdict);
        assert!(format!("{said:?}").contains("know their numbers"), "{engine:?}: {said:?}");
    }
    let said = check(&program, &id, &Plan::default(), &AtomicBool::new(false), &|_| {}).map(|report| report.verdict);
    assert!(format!("{said:?}").contains("process p[i: *]"), "{said:?}");
}

/// That all ways to look say the same of a program: whether there is a bug, and what the least cost of one is.
fn agrees(source: &str) -> Option<(BugKind, u32)> {
    let found = bug(source).map(|(kind, cost, _)| (kind, cost));
    for plan in [Plan { stateless: true, ..Plan::default() }, Plan { jobs: 2, ..Plan::default() }] {
        let said = match explored(source, &plan).verdict {
            Verdict::Bug { trace } => Some((trace.kind, trace.cost)),
            _ => None,
        };
        assert_eq!(said, found, "{plan:?}\n{source}");
    }
    for (bound, scheduler) in [
        (Bound::None, SchedulerKind::Bag),
        (Bound::Contexts, SchedulerKind::Bag),
        (Bound::Delays, SchedulerKind::RoundRobin),
        (Bound::Depth, SchedulerKind::Bag),
    ] {
        let plan = Plan { bound, scheduler, ..Plan::default() };
        let said = matches!(explored(source, &plan).verdict, Verdict::Bug { .. });
        assert_eq!(said, found.is_some(), "{plan:?}\n{source}");
    }
    let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
    let id = program_id("language.fab", source, &[], &[]);
    let proof = prove(&program, &id, &bounded(), &Arc::new(AtomicBool::new(false)), &|_| {});
    let proof = proof.unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    match (&proof.report.verdict, &found) {
        (Verdict::Bug { trace }, Some((kind, _))) => assert_eq!(trace.kind, *kind, "{source}"),
        (Verdict::Verified | Verdict::NoBugWithinBounds { .. }, None) => {}
        (other, _) => panic!("found {found:?}, and solved: {other:?}\n{source}"),
    }
    found
}

/// A program with an invariant, and the same with an assertion in every step that writes what it reads.
#[test]
fn an_invariant_is_an_assertion_in_the_step_that_breaks_it() {
    for (with, written) in [
        (
            "var x: 0..3; var y: 0..3; invariant close: x <= y + 1; \
             process p[2] { x = x + 1; y = y + 1; }",
            "var x: 0..3; var y: 0..3; \
             process p[2] { let t = x + 1; atomic { x = t; assert x <= y + 1; } let s = y + 1; atomic { y = s; assert x <= y + 1; } }",
        ),
        (
            "var x: int; invariant even: x % 2 == 0; proc one() { x = x + 1; } \
             process p[2] { atomic { one(); one(); } }",
            "var x: int; proc one() { x = x + 1; } process p[2] { atomic { one(); one(); assert x % 2 == 0; } }",
        ),
        (
            "var x: int; var y: int; invariant even: x % 2 == 0; proc one() { x = x + 1; } \
             process p[2] { if y == 0 { atomic { one(); one(); } } else { one(); } y = 1; }",
            "var x: int; var y: int; proc one() { let t = x + 1; atomic { x = t; assert x % 2 == 0; } } \
             process p[2] { if y == 0 { atomic { x = x + 2; assert x % 2 == 0; } } else { one(); } y = 1; }",
        ),
        (
            "record R { v: 0..3 } var p: ref R; invariant small: p == null || p.v < 2; \
             init { let q = new R { v: 0 }; p = q; spawn up(q); spawn up(q); } proc up(r: ref R) { r.v = r.v + 1; }",
            "record R { v: 0..3 } var p: ref R; proc up(r: ref R) { let t = r.v + 1; atomic { r.v = t; assert p == null || p.v < 2; } } \
             init { let q = new R { v: 0 }; p = q; spawn up(q); spawn up(q); }",
        ),
    ] {
        assert_eq!(agrees(with), bug(written).map(|(kind, cost, _)| (kind, cost)), "{with}");
    }
}

#[test]
fn a_match_looks_at_its_value_once() {
    for (source, expected) in [
        (
            "enum Kind { Ping, Pong, Stop } var seen: 0..3; channel c: Kind[2]; init { spawn serve(); c.send(Ping); c.send(Stop); } \
             proc serve() { loop { match c.receive() { Ping, Pong { seen = seen + 1; } Stop { assert seen == 1; return; } } } }",
            None,
        ),
        // In between the value may change: what was read counts.
        (
            "var x: 0..2; process p[1] { match x { 0 { assert x == 0; } 1, 2 { skip; } } } process q[1] { x = 1; }",
            Some((BugKind::Assertion, 1)),
        ),
        (
            "var x: 0..2; process p[1] { match x { 0 { skip; } 1 { assert false; } else { skip; } } } process q[1] { x = 2; x = 1; x = 0; }",
            Some((BugKind::Assertion, 1)),
        ),
        (
            "var x: 0..2; process p[1] { atomic { match x { 0 { x = 1; } 1 { x = 2; } 2 { x = 0; } } assert x == 1; } }",
            None,
        ),
        (
            "var x: i8 = -3; var y: 0..9; init { y = match x { -128..-1 { 1 } 0 { 2 } 1..127 { 3 } }; assert y == 1; }",
            None,
        ),
    ] {
        assert_eq!(agrees(source), expected, "{source}");
    }
}

#[test]
fn an_atomic_block_is_left_in_one_step() {
    for (source, expected) in [
        // What comes behind the way out is not done, and what it leads to is no step of its own.
        (
            "var n: 0..9; var taken: 0..2; proc take() -> bool { atomic { if n == 0 { return false; } n = n - 1; } return true; } \
             init { n = 1; spawn taker(); spawn taker(); } proc taker() { let ok = take(); if ok { taken = taken + 1; assert taken == 1; } }",
            None,
        ),
        ("var x: 0..9; process p[2] { loop { atomic { if x >= 3 { break; } x = x + 1; } } assert x == 3; }", None),
        (
            "var x: 0..9; process p[1] { for i in 0..4 { atomic { if i == 1 || i == 3 { continue; } x = x + 1; } } assert x == 3; }",
            None,
        ),
        (
            "var x: 0..9; process p[1] { for i in 0..4 { atomic { if i == 1 { continue; } x = x + 1; if i == 3 { break; } } x = x + 1; } assert x == 6; }",
            Some((BugKind::Assertion, 0)),
        ),
        // Out of loops inside of the block.
        (
            "var a: [0..9; 3]; proc find(n: int) -> int { atomic { for i in 0..2 { for j in 0..2 { if a[i] == n + j { return 10 * i + j; } } a[i] = 7; } a[0] = 9; } return -1; } \
             init { a = [1, 2, 3]; let x = find(0); assert x == 1 && a[0] == 1; let y = find(8); assert y == -1 && a[0] == 9 && a[2] == 7; }",
            None,
        ),
        (
            "var a: [0..9; 3]; proc first(n: int) -> (int, bool) { loop { atomic { var i: 0..3 = 0; while i < 3 { if a[i] == n { if i == 1 { break; } return (i, true); } i = i + 1; } a[2] = n; } if n == 5 { return (9, false); } } } \
             init { let (x, found) = first(4); assert x == 2 && found; let (y, other) = first(5); assert y == 9 && !other; }",
            None,
        ),
        // An invariant is looked at at the end of the block, however it is left.
        (
            "var x: int; invariant small: x < 2; process p[1] { loop { atomic { x = x + 1; if x > 1 { break; } } } }",
            Some((BugKind::Assertion, 0)),
        ),
        (
            "var x: int; invariant even: x % 2 == 0; proc two() { atomic { x = x + 1; if x > 0 { x = x + 1; return; } x = 7; } } process p[2] { two(); }",
            None,
        ),
    ] {
        assert_eq!(agrees(source), expected, "{source}");
    }
}

#[test]
fn channels_may_lose_and_mix_up_messages() {
    for (source, expected) in [
        (
            "channel c: 0..2[2] lossy; init { c.send(1); c.send(2); c.send(1); assert len(c) <= 2; assert len(c) < 2; }",
            Some((BugKind::Assertion, 0)),
        ),
        ("channel c: 0..2[2] lossy; init { c.send(1); c.send(2); c.send(1); assert len(c) <= 2; }", None),
        (
            "channel c: 0..2[2] lossy; init { c.send(1); let x = c.receive(); assert x == 1; }",
            Some((BugKind::Deadlock, 0)),
        ),
        (
            "channel c: 0..2[3] lossy; init { c.send(1); c.send(2); let (ok, x) = c.try_receive(); assert x != 2; }",
            Some((BugKind::Assertion, 0)),
        ),
        (
            "channel c: 0..3[3] unordered; init { c.send(1); c.send(2); c.send(3); let x = c.receive(); let y = c.receive(); assert x != 3 || y != 1; }",
            Some((BugKind::Assertion, 0)),
        ),
        (
            "channel c: 0..3[3] unordered; var seen: 0..99; init { c.send(1); c.send(2); c.send(3); for i in 1..3 { let x = c.receive(); seen = seen + x * x; } \
             assert seen == 14 && len(c) == 0; let (ok, none) = c.try_receive(); assert !ok && none == 0; }",
            None,
        ),
        (
            "channel c: 0..3[3] unordered; init { c.send(1); c.send(2); select { when let x = c.receive() { let y = c.receive(); assert x + y == 3; } } }",
            None,
        ),
        // What is sent to nobody is looked at all the same.
        (
            "var a: [0..2; 2]; var i: 0..3 = 2; channel c: 0..2[1] lossy; init { atomic { i = 2; c.send(a[i]); } }",
            Some((BugKind::IndexOutOfBounds, 0)),
        ),
        (
            "channel c: 0..3[2]; process p[1] { c.send(2); c.send(3); } process q[1] { await len(c) > 0; assert peek(c) == 2; let x = c.receive(); \
             await peek(c) == 3; assert x == 2 && len(c) == 1; c.receive(); assert peek(c) == 0; }",
            None,
        ),
        (
            "channel c: 1..3[0]; process p[1] { c.send(2); } process q[1] { await len(c) == 1; assert peek(c) == 2; c.receive(); assert peek(c) == 1; }",
            None,
        ),
    ] {
        assert_eq!(agrees(source), expected, "{source}");
    }
}

#[test]
fn an_invariant_says_its_name_and_where_it_was_broken() {
    let source =
        "var x: 0..3;\ninvariant small: x < 2;\nprocess p[2] {\n    let t = x;\n    x = t + 1;\n    x = 0;\n}\n";
    let Verdict::Bug { trace } = explored(source, &Plan::default()).verdict else { panic!("it can be broken") };
    assert_eq!(trace.message, "invariant `small` is broken: `x < 2` (`x` is 2)");
    assert_eq!((trace.span.text(source), trace.cost), ("x = t + 1;", 1));
    // Of the initial state, and by `init`.
    let first = "var x: int = 1; invariant none: x == 0; process p[1] { x = 0; }";
    assert_eq!(agrees(first), Some((BugKind::Assertion, 0)));
    assert_eq!(agrees("var x: int = 1; invariant none: x == 0; init { x = 0; }"), Some((BugKind::Assertion, 0)));
    assert_eq!(agrees("var x: int; invariant none: x == 0; init { x = 0; }"), None);
}

#[test]
fn an_invariant_changes_neither_states_nor_races() {
    let program = |invariant: &str| {
        format!(
            "var x: int; var y: 0..2; var m: lock; {invariant} \
             process p[2] {{ m.acquire(); x = x + 1; x = x - 1; m.release(); y = 1; y = 2; }}"
        )
    };
    let (with, without) = (program("invariant small: x < 5 && y < 3;"), program(""));
    assert_eq!(states(&with), states(&without));
    // Nothing orders the writes of `y`; that the invariant reads `x` without the lock is no race.
    let races = |source: &str| {
        let plan = Plan { points: fabius_trace::Points::Sync, races: true, ..Plan::default() };
        match explored(source, &plan).verdict {
            Verdict::Bug { trace } => Some((trace.kind, trace.message.contains('y'))),
            _ => None,
        }
    };
    assert_eq!(races(&with), Some((BugKind::DataRace, true)));
    let safe = with.replace("y = 1; y = 2;", "atomic { y = 1; y = 2; }");
    assert_eq!(races(&safe), None);
}

#[test]
fn select_waits_for_any_and_takes_what_can_be_taken() {
    let program = |body: &str, after: &str| {
        format!("var a: bool; var b: bool; var t: 0..3; process p[1] {{ {body} }} process q[1] {{ a = true; {after} }}")
    };
    // Whatever is chosen holds; `choose` would wait for ever.
    let both = "select { when a { assert a; t = 1; } or when b { assert b; t = 2; } }";
    assert_eq!(agrees(&program(both, "")), None);
    assert_eq!(agrees(&program(&format!("{both} assert t == 1;"), "")), None);
    assert_eq!(agrees(&program(&format!("{both} assert t == 1;"), "b = true;")), Some((BugKind::Assertion, 0)));
    assert_eq!(agrees(&program("select { when b { skip; } }", "")), Some((BugKind::Deadlock, 0)));
    let open = "select { when a { t = 1; } or when b { t = 2; } else { t = 3; } }";
    assert_eq!(agrees(&program(&format!("{open} assert t != 3;"), "")), Some((BugKind::Assertion, 0)));
    assert_eq!(agrees(&program(&format!("{open} assert t != 0 && t != 2;"), "")), None);
    // Test and what follows are one step inside of `atomic`.
    let taken = "atomic { select { when a { a = false; t = 1; } or when b { b = false; t = 2; } } }";
    assert_eq!(agrees(&program(&format!("{taken} assert !a;"), "")), None);
    // Three that hold: each is taken in some execution, and none else.
    for n in 1..=3 {
        let three = "select { when a { t = 1; } or when a { t = 2; } or when !b { t = 3; } or when b { t = 0; } }";
        assert_eq!(agrees(&program(&format!("await a; {three} assert t != {n};"), "")), Some((BugKind::Assertion, 0)));
        assert_eq!(agrees(&program(&format!("await a; {three} assert t != 0;"), "")), None);
    }
}

#[test]
fn channels_keep_order_and_bounds() {
    let program = |room: u32, sender: &str, receiver: &str| {
        format!("channel c: int[{room}]; var got: int; process p[1] {{ {sender} }} process q[1] {{ {receiver} }}")
    };
    for room in 0..4 {
        let two = program(
            room,
            "c.send(1); c.send(2);",
            "let x = c.receive(); let y = c.receive(); assert x == 1 && y == 2 && len(c) == 0;",
        );
        assert_eq!(agrees(&two), None, "{room}");
        let lost = program(room, "c.send(1); c.send(2);", "got = c.receive();");
        let stays = room > 0;
        assert_eq!(agrees(&lost), (!stays).then_some((BugKind::Deadlock, 0)), "{room}");
        assert_eq!(agrees(&program(room, "skip;", "c.receive();")), Some((BugKind::Deadlock, 0)), "{room}");
        // With room the sender is not held up.
        let ahead = program(room, "c.send(1); got = 1;", "await got == 1; let x = c.receive(); assert x == 1;");
        assert_eq!(agrees(&ahead), (room == 0).then_some((BugKind::Deadlock, 0)), "{room}");
    }
    let tries = program(
        1,
        "let ok = c.try_send(5); let more = c.try_send(6); assert ok;",
        "let (ok, x) = c.try_receive(); assert !ok || x >= 5;",
    );
    assert_eq!(agrees(&tries), None);
    let never = tries.replace("assert !ok || x >= 5", "assert !ok");
    assert_eq!(agrees(&never), Some((BugKind::Assertion, 0)));
}

#[test]
fn select_receives_from_what_has_a_message() {
    let program = |after: &str| {
        format!(
            "channel c[2]: 0..3[1]; var stop: bool; var seen: 0..3; \
             process p[i in 0..1] {{ c[i].send(i + 1); }} \
             process q[1] {{ var n: 0..3; for k in 0..1 {{ select {{ when let x = c[0].receive() {{ assert x == 1; n = n + x; }} \
             or when n = c[1].receive() {{ assert n == 2; }} or when stop {{ assert false; }} }} }} {after} }}"
        )
    };
    assert_eq!(agrees(&program("")), None);
    // The second one stores and the first one adds, so the order shows.
    assert_eq!(agrees(&program("assert n == 3;")), Some((BugKind::Assertion, 0)));
    assert_eq!(agrees(&program("assert n >= 2;")), None);
    let sends = "channel c: int[1]; channel d: int[1]; process p[1] { select { when c.send(1) { skip; } or when d.send(2) { skip; } } } \
        process q[1] { select { when let x = c.receive() { assert x == 1; } or when let x = d.receive() { assert x == 2; } } }";
    assert_eq!(agrees(sends), None);
}

#[test]
fn what_is_received_is_no_state_afterwards() {
    let with = "channel c: int[2]; process p[1] { c.send(1); c.send(2); c.receive(); c.receive(); }";
    let alone = "var x: int; process p[1] { x = 1; x = 2; x = 1; x = 3; }";
    assert_eq!(states(with), states(alone));
}
