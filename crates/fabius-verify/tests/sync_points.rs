//! Scheduling points before synchronization accesses only lose nothing: Iterative Context Bounding (PLDI 2007),
//! Theorems 2 and 3, on random programs.

use fabius_explore::race::Conflict;
use fabius_explore::search::{Bug, Monitor, Options};
use fabius_explore::stateful;
use fabius_machine::Machine;
use fabius_trace::{Points, Verdict};
use fabius_verify::{Plan, Strategy, check, program_id};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// Threads of two or three short blocks, with locks often enough that about half of the programs have no race.
fn random_program(seed: u64) -> String {
    const BLOCKS: [&str; 12] = [
        "l.acquire(); d = d + 1; l.release();",
        "l.acquire(); d = d * 2; e = d; l.release();",
        "l.acquire(); e = 1; l.release(); l.acquire(); d = e; l.release();",
        "s.acquire();",
        "s.release();",
        "v = 1;",
        "await v == 1; l.acquire(); e = e + d; l.release();",
        "{ let old = fetch_add(v, 1); }",
        "mine = mine + 1; l.acquire(); d = mine; l.release();",
        "k.acquire(); l.acquire(); d = 7; l.release(); k.release();",
        "d = d + 1; e = d;",
        "v = 2; e = d;",
    ];
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut out = String::from(
        "sync var v: int;\nvar d: int;\nvar e: int;\nthread var mine: int;\nvar l: lock;\nvar k: lock;\n\
         var s: semaphore = semaphore { count: 1 };\n",
    );
    // The last two blocks are what races.
    let kinds = if rng.bool() { BLOCKS.len() } else { BLOCKS.len() - 2 };
    for t in 0..rng.usize(2..=3) {
        let body: String = (0..rng.usize(1..=3)).map(|_| format!("    {}\n", BLOCKS[rng.usize(..kinds)])).collect();
        writeln!(out, "process p{t}[1] {{\n{body}}}").expect("text grows");
    }
    out
}

/// The least cost of a race if there is one, otherwise the least cost of each final state.
fn explore(source: &str, points: Points) -> Result<BTreeMap<Vec<i64>, u32>, u32> {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let machine = Machine::new(&program, points);
    let options = Options { races: Some(Conflict::All), deadlock: false, ..Options::default() };
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let finals = Mutex::new(BTreeMap::new());
    let outcome = stateful::search(&machine, &options, &monitor, &|visit| {
        if visit.is_final {
            let mut finals = finals.lock().expect("no worker has panicked");
            let least: &mut u32 = finals.entry(machine.globals(visit.state).to_vec()).or_insert(visit.cost);
            *least = visit.cost.min(*least);
        }
    });
    assert!(outcome.cut.is_none(), "{:?}\n{source}", outcome.cut);
    match outcome.bug {
        Some(found) => {
            assert!(matches!(found.what, Bug::Race(_)), "{:?}\n{source}", found.what);
            Err(found.cost)
        }
        None => Ok(finals.into_inner().expect("no worker has panicked")),
    }
}

#[test]
fn the_same_races_and_final_states_at_the_same_number_of_preemptions() {
    let mut free_of_races = 0;
    for seed in 0..300 {
        let source = random_program(seed);
        let all = explore(&source, Points::All);
        assert_eq!(all, explore(&source, Points::Sync), "{seed}:\n{source}");
        free_of_races += u32::from(all.is_ok());
    }
    assert!((100..250).contains(&free_of_races), "both kinds must occur often: {free_of_races}");
}

/// Whether there is a bug; deadlocks are none.
fn fails(source: &str, plan: Plan) -> Option<bool> {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let id = program_id("random.fab", source, &[], &[]);
    let plan = Plan { deadlock: false, ..plan };
    let report = check(&program, &id, &plan, &AtomicBool::new(false), &|_| {});
    match report.unwrap_or_else(|e| panic!("{e:?}\n{source}")).verdict {
        Verdict::Bug { .. } => Some(true),
        Verdict::Verified | Verdict::NoBugWithinBounds { .. } => Some(false),
        // Where nothing completes, nothing fails.
        verdict if verdict.is_vacuous() => Some(false),
        Verdict::Unknown { .. } => None,
    }
}

/// Executions that end before the race on what they read: dropped by what is assumed and by choices of nothing, at once or
/// later, in calls, loops and blocks, or waiting for data for ever.
const DROPPED: [&str; 13] = [
    // A step at which the assumption holds is between two that stand in one step here.
    "var y: int; proc t() { y = 2; assert false; } init { let h = spawn t(); assume y == 2; join h; }",
    "var n: int; proc t() { n = 2; n = 0; assert false; } init { let h = spawn t(); let k = any 1..n; join h; }",
    "var x: int; var y: int; proc t() { x = 1; y = 1; } init { let h = spawn t(); assume x == 1; assert y == 1; join h; }",
    "var x: int; process p[1] { x = 1; x = 2; } process q[1] { assume x == 1; assert false; }",
    "var x: int; process p[1] { x = 1; x = 2; } process q[1] { let v = x; assume v == 1; assert false; }",
    "var x: int; process p[1] { x = 1; x = 2; } process q[1] { let n = x; let k = any 1..n; assert n == 2; }",
    "var y: int; proc t() { y = 2; assert false; } init { let h = spawn t(); let v = y; assume v == 2; join h; }",
    "var y: int; proc t() { y = 2; assert false; } proc f(v: int) { assume v == 2; } init { let h = spawn t(); let v = y; f(v); }",
    "var y: int; proc t() { y = 2; assert false; } init { let h = spawn t(); var v = 1; var n = 0; while n < v { n = 1; v = y; n = 1; if n > v { break; } } assume n < v; }",
    "var y: int; sync var s: int; proc t() { y = 2; assert false; } proc g() -> int { let r = y; return r; } init { let h = spawn t(); s = 1; let v = g(); assume v == 2; }",
    // The last step of `init` is dropped by what starts then.
    "var y: int; proc t() { y = 2; assert false; } init { let h = spawn t(); y = 1; } process p[1] { assume false; }",
    // Data that is waited for.
    "data var y: int; process p[1] { y = 1; y = 0; } process q[1] { await y == 1; assert false; }",
    "data var y: int; process p[1] { loop { y = 1; y = 0; zield; } } process q[1] { await y == 1; assert false; }",
];

/// The same in what reads more than one variable at a time, waits for one of several, or is a function.
const DROPPED_AT_ONCE: [&str; 8] = [
    "var y: int; fn one() -> bool { y == 1 } process p[1] { y = 1; y = 2; } process q[1] { assume one(); assert false; }",
    "var a: [int; 2]; process p[1] { a[0] = 1; a[1] = 1; a[0] = 0; } process q[1] { assume forall v in a: v == 1; assert false; }",
    "var a: [int; 2]; process p[1] { a[0] = 1; a[1] = 1; a[0] = 0; } process q[1] { let n = count v in a: v == 1; let k = any 2..n; assert false; }",
    "var y: int; channel c: int[1]; process p[1] { c.send(1); y = 1; y = 0; } process q[1] { let m = c.receive(); assume y == m; assert false; }",
    "data var y: int; sync var s: int; process p[1] { y = 1; y = 0; } process q[1] { select { when y == 1 { assert false; } or when s == 1 { skip; } } }",
    "data var y: int; process p[1] { y = 1; y = 0; } process q[1] { select { when y == 1 { assert false; } else { skip; } } }",
    "data var y: int; proc f() -> int { return y; } process p[1] { y = 1; y = 0; } process q[1] { atomic { let v = f(); assume v == 1; } assert false; }",
    "var x: int; var y: int = 1; process p[1] { x, y = y, x; x, y = y, x; } process q[1] { assume x == 1 && y == 0; assert false; }",
];

/// Invariants that are broken between two stores that stand in one step here; nothing races.
const BROKEN: [&str; 5] = [
    "var x: int; var y: int; invariant i: !(x == 1 && y == 1); process p[1] { x = 1; x = 0; } process q[1] { y = 1; y = 0; }",
    "data var x: int; data var y: int; invariant i: !(x == 1 && y == 1); process p[1] { atomic { x = 1; } x = 0; } process q[1] { y = 1; atomic { y = 0; } }",
    "var x: int; var y: int; fn both() -> bool { x == 1 && y == 1 } invariant i: !both(); proc f(v: int) { x = v; } process p[1] { f(1); f(0); } process q[1] { y = 1; y = 0; }",
    "var a: [int; 2]; invariant i: (count v in a: v == 1) < 2; process p[n in 0..1] { a[n] = 1; a[n] = 0; }",
    "record R { v: int } var r: ref R; var y: int; invariant i: !(r != null && r.v == 1 && y == 1); proc p() { r.v = 1; r.v = 0; } init { r = new R {}; spawn p(); y = 1; y = 0; }",
];

#[test]
fn no_execution_is_dropped_before_its_race_is_seen() {
    for source in DROPPED.into_iter().chain(DROPPED_AT_ONCE).chain(BROKEN) {
        assert_eq!(fails(source, Plan::default()), Some(true), "every access is a point\n{source}");
        for strategy in [Strategy::Iterative, Strategy::DepthFirst, Strategy::Random, Strategy::Pct(3), Strategy::Urw] {
            let plan = Plan { points: Points::Sync, strategy, ..Plan::default() };
            assert_eq!(fails(source, plan), Some(true), "{strategy:?}\n{source}");
        }
        let plan = Plan { points: Points::Sync, stateless: true, ..Plan::default() };
        if !source.contains("loop") {
            assert_eq!(fails(source, plan), Some(true), "without states\n{source}");
        }
    }
}

/// Threads that assume something of data, with and without races.
fn random_program_that_drops(seed: u64) -> String {
    const BLOCKS: [&str; 24] = [
        "assume both();",
        "assume (count v in a: v == 1) < 1;",
        "a[0] = 1; a[0], a[1] = a[1], a[0];",
        "c.send(1);",
        "{ let m = c.receive(); assume d == m; }",
        "select { when w == 1 { assume e == 0; } or when let m = c.receive() { e = m; } else { d = 2; } }",
        "assume d == 1;",
        "assume e != 1;",
        "{ let k = d; assume k < 2; }",
        "{ let k = any 1..e; d = k; }",
        "{ let k = d; let j = any k..1; }",
        "l.acquire(); assume d != 1; d = 2; l.release();",
        "l.acquire(); { let k = e; d = k; assume k == 0; } l.release();",
        "await w == 1;",
        "w = 1;",
        "w = 2; w = 0;",
        "d = 1;",
        "e = 1; e = 2;",
        "assert d != 1 || e != 2;",
        "assert d < 2;",
        "assert e == 0;",
        "assert d == 0;",
        "v = v + 1;",
        "choose { assume d == 0; e = 1; } or { assume e == 0; d = d + 1; }",
    ];
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut out = String::from("sync var v: int;\nvar d: int;\nvar e: int;\ndata var w: int;\nvar l: lock;\n");
    out += "var a: [int; 2];\nchannel c: int[1];\nfn both() -> bool { d == 1 && e == 1 }\n";
    if rng.u8(..4) == 0 {
        out += "invariant never: !(d == 1 && e == 2) && a[1] == 0;\n";
    }
    let count = rng.usize(2..=3);
    for t in 0..count {
        let body: String =
            (0..rng.usize(1..=3)).map(|_| format!("    {}\n", BLOCKS[rng.usize(..BLOCKS.len())])).collect();
        writeln!(out, "proc p{t}() {{\n{body}}}").expect("text grows");
    }
    let own = BLOCKS[rng.usize(..BLOCKS.len())];
    let spawns: String = (1..count).map(|t| format!("    spawn p{t}();\n")).collect();
    writeln!(out, "init {{\n{spawns}    {own}\n    p0();\n}}").expect("text grows");
    out
}

fn on_random_programs_that_drop(seeds: std::ops::Range<u64>) -> usize {
    let mut with_bug = 0;
    for seed in seeds {
        let source = random_program_that_drops(seed);
        let all = fails(&source, Plan { races: true, ..Plan::default() });
        let plain = fails(&source, Plan::default());
        with_bug += usize::from(plain == Some(true));
        assert!(all == Some(true) || plain == Some(false), "{seed}: races hide a bug\n{source}");
        for strategy in [Strategy::Iterative, Strategy::DepthFirst] {
            let sync = fails(&source, Plan { points: Points::Sync, strategy, ..Plan::default() });
            assert_eq!(sync, all, "{seed}: {strategy:?}\n{source}");
        }
    }
    with_bug
}

#[test]
fn programs_that_drop_executions_have_a_bug_or_a_race_with_all_points_and_with_few() {
    let with_bug = on_random_programs_that_drop(0..400);
    assert!((50..350).contains(&with_bug), "both kinds must occur often: {with_bug}");
}

#[test]
#[ignore = "takes minutes"]
fn many_programs_that_drop_executions_have_a_bug_or_a_race_with_all_points_and_with_few() {
    on_random_programs_that_drop(1000..40_000);
}

#[test]
fn a_race_in_a_step_that_is_dropped_is_replayed() {
    let source = "var x: 0..3;\nvar y: 0..2;\nproc leaf() { y = 2; }\ninit { let h = spawn leaf(); assume x > y; }\n";
    let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
    let id = program_id("dropped.fab", source, &[], &[]);
    let plan = Plan { points: Points::Sync, ..Plan::default() };
    let report = check(&program, &id, &plan, &AtomicBool::new(false), &|_| {}).expect("it can be checked");
    let Verdict::Bug { trace } = &report.verdict else { panic!("{:?}", report.verdict) };
    fabius_verify::replay(&program, &id, trace).expect("the trace is true");
}
