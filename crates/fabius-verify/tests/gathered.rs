//! Where threads are joined in a row and their handles serve nothing else, it does not matter which is which: verdict and least
//! preemptions are those of the plain search of the reference, and what is found has been replayed there.

use fabius_explore::search::{Monitor, Options, Outcome};
use fabius_explore::stateful;
use fabius_semantics::Reference;
use fabius_trace::{Bound, Points, SchedulerKind, Verdict};
use fabius_verify::{Plan, Report, Strategy, Symmetry, check, program_id};
use std::fmt::Write;
use std::sync::atomic::AtomicBool;

fn plain(source: &str, bound: Bound) -> Outcome {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let options = Options { bound, scheduler: SchedulerKind::Bag, memory: Some(30_000_000), ..Options::default() };
    stateful::search(&Reference::new(&program, Points::All), &options, &monitor, &|_| {})
}

fn checked(source: &str, plan: &Plan) -> Report {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let id = program_id("threads.fab", source, &[], &[]);
    check(&program, &id, plan, &AtomicBool::new(false), &|_| {}).unwrap_or_else(|e| panic!("{e:?}\n{source}"))
}

/// A statement of a thread.
fn statement(rng: &mut fastrand::Rng) -> String {
    let number = rng.u8(..3);
    let variable = ["x", "y"][usize::from(rng.bool())];
    match rng.u8(..11) {
        9 => "h = self;".into(),
        10 => format!("if h != self {{ {variable} = {number}; }}"),
        0 | 1 => format!("{variable} = {number};"),
        2 => "x = y;".into(),
        3 => format!("fetch_add({variable}, 1);"),
        4 => format!("await {variable} != {number};"),
        5 => format!("assert {variable} != {number} || y == x;"),
        6 => format!("l.acquire(); {variable} = {number}; l.release();"),
        7 => format!("if x == {number} {{ y = 1; }}"),
        _ => "atomic { x = y; y = 0; }".into(),
    }
}

fn body(rng: &mut fastrand::Rng, most: u8) -> String {
    (0..=rng.u8(..most)).map(|_| statement(rng)).collect::<Vec<_>>().join(" ")
}

/// Threads that are made and joined in several ways.
fn random(seed: u64) -> String {
    let mut rng = fastrand::Rng::with_seed(seed);
    let rng = &mut rng;
    let mut source = String::from("var x: u8; var y: u8; var l: lock; var h: thread;\n");
    let _ = writeln!(source, "proc v() {{ {} }}\nproc w() {{ {} }}", body(rng, 3), body(rng, 3));
    if rng.u8(..3) == 0 {
        let _ = writeln!(source, "process p[2] {{ {} }}", body(rng, 2));
    }
    let mut init = String::new();
    let mut joins = Vec::new();
    let name = |rng: &mut fastrand::Rng| ["v", "w", "w"][rng.usize(..3)];
    let mut left = 2 + rng.u8(..2);
    for number in 0.. {
        if left == 0 {
            break;
        }
        if rng.u8(..4) == 0 {
            let _ = writeln!(init, "    {}", statement(rng));
        }
        if left > 1 && rng.u8(..3) > 0 {
            let last = left - 1;
            let body = match rng.u8(..4) {
                0 => format!("if i == 0 {{ t{number}[i] = spawn v(); }} else {{ t{number}[i] = spawn w(); }}"),
                1 => format!("let one = spawn {}(); t{number}[i] = one;", name(rng)),
                2 => format!("t{number}[i] = spawn {}(); {}", name(rng), statement(rng)),
                _ => format!("t{number}[i] = spawn {}();", name(rng)),
            };
            let _ = writeln!(init, "    var t{number}: [thread; {left}];\n    for i in 0..{last} {{ {body} }}");
            joins.push(format!("for i in 0..{last} {{ join t{number}[i]; }}"));
            // A handle that is used elsewhere tells threads apart.
            if rng.u8(..6) == 0 {
                let _ = writeln!(init, "    join t{number}[0];\n    {}", statement(rng));
            }
            left = 0;
        } else {
            let _ = writeln!(init, "    let h{number} = spawn {}();", name(rng));
            // Not everybody is joined.
            if rng.u8(..8) > 0 {
                joins.push(format!("join h{number};"));
            }
            left -= 1;
        }
    }
    rng.shuffle(&mut joins);
    for join in joins {
        let _ = writeln!(init, "    {join}");
        if rng.u8(..6) == 0 {
            let _ = writeln!(init, "    {}", statement(rng));
        }
    }
    let _ = writeln!(source, "init {{\n{init}    {}\n}}", body(rng, 2));
    source
}

/// How the search says something else, if it does; otherwise states without and with it.
fn compare(source: &str) -> Result<(u64, u64), String> {
    let mut counted = (0, 0);
    for bound in [Bound::None, Bound::Preemptions] {
        let all = plain(source, bound);
        if all.cut.is_some() {
            continue;
        }
        for (strategy, reduction) in
            [(Strategy::Iterative, false), (Strategy::Iterative, true), (Strategy::DepthFirst, false)]
        {
            let plan = Plan { bound, strategy, reduction, ..Plan::default() };
            let report = checked(source, &plan);
            let same = match (&report.verdict, &all.bug) {
                (Verdict::Bug { trace }, Some(bug)) => trace.cost == bug.cost || strategy == Strategy::DepthFirst,
                (Verdict::Verified, None) => true,
                _ => false,
            };
            if !same {
                return Err(format!("{plan:?}: {:?} but {:?}", report.verdict, all.bug));
            }
            if all.bug.is_none() && !reduction && strategy == Strategy::Iterative {
                let [all, some] = [&all.levels, &report.levels].map(|levels| levels.last().map_or(0, |l| l.states));
                counted = (counted.0 + all, counted.1 + some);
            }
        }
    }
    Ok(counted)
}

fn agree(seeds: std::ops::Range<u64>) -> (u64, u64) {
    let mut sum = (0, 0);
    for seed in seeds {
        let source = random(seed);
        match compare(&source) {
            Ok(counted) => sum = (sum.0 + counted.0, sum.1 + counted.1),
            Err(how) => panic!("{seed}: {how}\n{source}"),
        }
    }
    sum
}

#[test]
fn random_programs_that_join_in_a_row_have_the_answers_of_the_plain_search() {
    let (all, some) = agree(0..200);
    assert!(some * 3 < all * 2, "{some} states of {all}");
}

#[test]
#[ignore = "takes hours"]
fn many_random_programs_that_join_in_a_row_have_the_answers_of_the_plain_search() {
    let (all, some) = agree(testkit::seeds(400, 100_000));
    println!("{some} states of {all}");
}

#[test]
fn threads_that_are_joined_in_a_row_are_alike() {
    let states = |source: &str, symmetry: bool, bound: Bound| {
        let symmetry = if symmetry { Symmetry::ON } else { Symmetry::OFF };
        let plan = Plan { bound, symmetry, reduction: false, ..Plan::default() };
        let report = checked(source, &plan);
        assert_eq!(report.verdict, Verdict::Verified, "{source}");
        report.levels.last().map_or(0, |level| level.states)
    };
    let looped = |n: u32| {
        format!(
            "var x: bool; proc p() {{ x = true; }} init {{ var t: [thread; {n}];
            for i in 0..{n} - 1 {{ t[i] = spawn p(); }} for i in 0..{n} - 1 {{ join t[i]; }} }}"
        )
    };
    let one_by_one = "var x: bool; proc p() { x = true; }
        init { let a = spawn p(); let b = spawn p(); let c = spawn p(); join a; join b; join c; }";
    for bound in [Bound::None, Bound::Preemptions] {
        for source in [&looped(3), one_by_one] {
            assert_eq!(states(source, false, bound), 22);
            assert_eq!(states(source, true, bound), 13);
        }
        // So many are made, so many of these have finished; and then so many are joined.
        assert_eq!(states(&looped(20), true, bound), 21 * 22 / 2 + 20);
    }
    // Somebody else looks at a handle, or waits for one earlier.
    let told_apart = [
        "let a = spawn p(); let b = spawn p(); let c = spawn p(); x = a != c; join a; join b; join c;",
        "let a = spawn p(); let b = spawn p(); join a; x = false; join b;",
        "var t: [thread; 2]; for i in 0..1 { t[i] = spawn p(); } join t[0]; x = false; for i in 0..1 { join t[i]; }",
        "var t: [thread; 2]; for i in 0..1 { t[i] = spawn p(); } t[1] = t[0]; for i in 0..1 { join t[i]; }",
    ];
    for init in told_apart {
        let source = format!("var x: bool; proc p() {{ x = true; }} init {{ {init} }}");
        assert_eq!(states(&source, true, Bound::None), states(&source, false, Bound::None), "{init}");
    }
}

#[test]
fn whoever_joins_makes_the_joins_that_are_open_before_it_is_left() {
    // After one preemption `a` has finished when all are joined: to join it first makes it free to leave `init` for `b`.
    let source = "var x: bool; var y: bool; proc a() { x = true; } proc b() { assert !y; }
        init { let one = spawn a(); if x { y = true; } let two = spawn b(); join one; join two; }
        process p[2] { x = x; }";
    // In the deadlock `init` has joined the first one.
    let stuck = "var x: bool; proc a() { x = true; } proc b() { await !x; x = false; }
        init { let one = spawn b(); let two = spawn a(); join two; join one; } process p[2] { x = x; }";
    for (source, least) in [(source, 1), (stuck, 0)] {
        let bug = plain(source, Bound::Preemptions).bug.expect("there is one");
        let Verdict::Bug { trace } = checked(source, &Plan::default()).verdict else { panic!("none: {source}") };
        assert_eq!((bug.cost, trace.cost), (least, least), "{source}");
    }
}
