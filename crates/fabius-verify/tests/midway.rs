//! Atomic blocks that wait elsewhere than at their beginning have the states and verdicts of programs that say the same with the wait
//! in front; symbolic engines put it there, or refuse them where they wait.

use fabius_trace::{Bound, Points, Verdict};
use fabius_verify::prove::{Engine, ProofError, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, check, program_id};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use testkit::generate::{Shape, random_with_waits_midway};

fn states_and_verdict(source: &str, plan: &Plan) -> (u64, String) {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{source}\n{d:?}"));
    let id = program_id("midway.fab", source, &[], &[]);
    let report = check(&program, &id, plan, &AtomicBool::new(false), &|_| {}).expect("bugs replay");
    let verdict = match report.verdict {
        Verdict::Bug { trace } => format!("{:?} {:?}", trace.kind, trace.cost),
        other => format!("{other:?}"),
    };
    (report.levels.last().map_or(0, |level| level.states), verdict)
}

/// With the wait inside, and the same with the wait in front.
const TWINS: [(&str, &str); 6] = [
    // Both forks or none: no deadlock.
    (
        "var f: [lock; 3]; var fed: int; process p[i in 0..2] { atomic { f[i].acquire(); f[(i + 1) % 3].acquire(); } fed += 1; f[i].release(); f[(i + 1) % 3].release(); }",
        "var f: [lock; 3]; var fed: int; process p[i in 0..2] { atomic { await f[i].holder == null && f[(i + 1) % 3].holder == null; f[i].acquire(); f[(i + 1) % 3].acquire(); } fed += 1; f[i].release(); f[(i + 1) % 3].release(); }",
    ),
    // What is assigned before is looked at.
    (
        "var x: 0..9; process p[3] { atomic { x = x + 1; await x % 2 == 1; x = x + 2; } atomic { await x % 2 == 1; x = x - 1; } }",
        "var x: 0..9; process p[3] { atomic { await (x + 1) % 2 == 1; x = x + 1; x = x + 2; } atomic { await x % 2 == 1; x = x - 1; } }",
    ),
    // One side waits, the other does not.
    (
        "var x: int; var y: int; process p[2] { atomic { y += 1; if y > 1 { await x == 1; x = 0; } else { x = 2; } } x = 1; }",
        "var x: int; var y: int; process p[2] { atomic { await y + 1 <= 1 || x == 1; y += 1; if y > 1 { x = 0; } else { x = 2; } } x = 1; }",
    ),
    // A guarded choice.
    (
        "var x: 0..3; process p[2] { atomic { choose { await x == 0; x = 1; } or { await x > 0; x = x - 1; } or { await x < 3; x = 3; } } } process q[1] { x = 2; }",
        "var x: 0..3; process p[2] { atomic { var k: 0..2 = any 0..2; if k == 0 { assume x == 0; x = 1; } else { if k == 1 { assume x > 0; x = x - 1; } else { assume x < 3; x = 3; } } } } process q[1] { x = 2; }",
    ),
    // What can never be: a deadlock.
    (
        "var x: 0..7; process p[1] { atomic { x = 1; await x == 2; } } process q[1] { x = 2; }",
        "var x: 0..7; process p[1] { atomic { await false; x = 1; } } process q[1] { x = 2; }",
    ),
    // A procedure that waits, and a loop.
    (
        "var free: 0..3 = 3; proc take(n: 0..3) { await free >= n; free = free - n; } process p[2] { atomic { for i in 1..2 { take(1); } } free = free + 1; free = free + 1; }",
        "var free: 0..3 = 3; process p[2] { atomic { await free >= 2; free = free - 2; } free = free + 1; free = free + 1; }",
    ),
];

#[test]
fn a_block_is_what_it_is_with_its_wait_in_front() {
    for (inside, in_front) in TWINS {
        for points in [Points::All, Points::Sync] {
            for bound in [Bound::None, Bound::Preemptions, Bound::Contexts] {
                for jobs in [1, 2] {
                    let plan = Plan { bound, points, jobs, ..Plan::default() };
                    let (one, other) = (states_and_verdict(inside, &plan), states_and_verdict(in_front, &plan));
                    assert_eq!(one, other, "{bound:?} {points:?} {jobs}\n{inside}\n{in_front}");
                    assert!(one.0 > 1, "{inside}");
                }
            }
        }
    }
}

#[test]
fn translations_refuse_blocks_where_what_they_wait_for_cannot_be_said() {
    use fabius_translate::Caps;
    use fabius_translate::explicit::{Switches, Trace, explicit};
    for (source, at) in [
        ("var x: int; proc q() { await x == 1; } process p[1] { atomic { q(); } }", "q()"),
        ("var x: int; process p[1] { atomic { while x < 3 { x = x + 1; } await x == 4; } }", "await x == 4;"),
        (
            "record R { n: int } var r: ref R; process p[1] { atomic { r = new R { n: 1 }; await r.n == 2; } }",
            "await r.n == 2;",
        ),
        ("var x: int; process p[1] { let h = spawn q(); atomic { x = 1; join h; } } proc q() { x = 2; }", "join h;"),
        ("var m: map[thread] int; process p[1] { atomic { m[self] = 1; await m[self] == 2; } }", "await m[self] == 2;"),
    ] {
        let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
        let refused = explicit(&program, Trace::Off, Switches::Everywhere, Caps::default()).expect_err("it is refused");
        assert_eq!(refused.span.text(source).trim_end_matches(';'), at.trim_end_matches(';'));
    }
    let first = "var x: int; process p[1] { atomic { await x == 0; x = 1; } }";
    let program = fabius_lang::compile(first, &Default::default()).expect("it compiles");
    assert!(explicit(&program, Trace::Off, Switches::Everywhere, Caps::default()).is_ok());
}

fn proof_plan(sequentialization: Sequentialization) -> ProofPlan {
    ProofPlan {
        sequentialization,
        unwind: Some(6),
        recursion: Some(4),
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

/// Whether exploration and `verify` both find a bug within so many rounds; `None` if one of them does not say.
fn both(source: &str, rounds: u32, proof: impl Fn(Sequentialization) -> ProofPlan) -> Option<bool> {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{source}\n{d:?}"));
    let id = program_id("midway.fab", source, &[], &[]);
    let what = Sequentialization::Rounds(rounds);
    let (bound, scheduler) = what.cost();
    let proof = proof(what);
    let plan = Plan { bound, scheduler, max: Some(what.most()), deadlock: proof.deadlock, ..Plan::default() };
    let stop = Arc::new(AtomicBool::new(false));
    let explored = check(&program, &id, &plan, &stop, &|_| {}).expect("bugs replay").verdict;
    let proved = match prove(&program, &id, &proof, &stop, &|_| {}) {
        Ok(proof) => proof.report.verdict,
        Err(ProofError::Unsupported(_)) => return None,
        Err(error) => panic!("{error:?}\n{source}"),
    };
    match (&explored, &proved) {
        (Verdict::Bug { .. }, Verdict::Bug { .. }) => Some(true),
        (Verdict::Verified | Verdict::NoBugWithinBounds { .. }, Verdict::NoBugWithinBounds { .. }) => Some(false),
        (explored, proved) if explored.is_vacuous() && proved.is_vacuous() => Some(false),
        (Verdict::Bug { .. }, Verdict::NoBugWithinBounds { bounds })
            if bounds.limits.iter().any(|l| l.contains("was followed")) =>
        {
            None
        }
        (Verdict::Unknown { .. }, _) | (_, Verdict::Unknown { .. }) => None,
        _ => panic!("{explored:?}\n{proved:?}\n{source}"),
    }
}

#[test]
fn verify_says_of_such_blocks_what_exploration_says() {
    let said: Vec<Option<bool>> = TWINS.iter().map(|(inside, _)| both(inside, 2, proof_plan)).collect();
    assert_eq!(said[4], Some(true), "it waits for ever");
    assert!(said[..4].iter().all(Option::is_some), "{said:?}");
    let mut rng = fastrand::Rng::with_seed(44);
    let mut counts = [0; 3];
    for number in 0..50 {
        let plan = |what| ProofPlan { deadlock: number % 3 == 0, ..proof_plan(what) };
        counts[both(&random(&mut rng), 1, plan).map_or(2, usize::from)] += 1;
    }
    assert!(counts[0] > 10 && counts[1] > 10 && counts[2] < 6, "{counts:?}");
    // Half of what is drawn here has loops, calls, objects or `join` in front of a wait.
    for seed in 0..12 {
        both(&random_with_waits_midway(seed, Shape::Threads).source(), 1, proof_plan);
    }
}

/// Two or three threads with blocks whose waits can be put in front.
fn random(rng: &mut fastrand::Rng) -> String {
    let before = [
        "x = (x + 1) % 4;",
        "t = x;",
        "t = any 0..2;",
        "choose { x = 1; } or { t = 2; } or { y = y + 1; }",
        "a[x % 2] = t;",
        "a[t % 2] = x;",
        "r.n = t; r.m[x % 2] = 1;",
        "r = R { n: x, m: [t, 1] };",
        "k = r;",
        "if x > t { y = y + x; } else { t = 3; }",
        "assert t != 1 || x != 3;",
        "assume x != 3;",
        "x = 6 / (t + y) - 1;",
        "x = t + 1;",
        "if * { w = w + 100; }",
        "p.acquire();",
    ];
    let waits = [
        "await x == t;",
        "await x == 1 || y > 1;",
        "await a[0] == x;",
        "await a[x % 2] != t;",
        "await r.n == k.m[0] || r.m[1] == 1;",
        "p.acquire();",
        "p.release();",
        "s.acquire();",
        "t = c.receive();",
        "c.send(x);",
        "choose { await x == 1; t = 0; } or { await y > 0; t = 1; } or { s.acquire(); }",
        "select { when x == t { t = 1; } or when t = c.receive() { x = t; } }",
        "if x > 0 { await y > 0; } else { x = 1; }",
        "await w < 120; await 4 / y > 1;",
    ];
    let behind = ["y = y + 1;", "x = t;", "s.release();", "a[1] = x;", "k.n = 2;", "assert y < 3;", "skip;"];
    let mut source = String::from(
        "record R { n: 0..3, m: [0..3; 2] } var x: 0..3; var y: int; var w: u8 = 20; var a: [0..3; 2]; var r: R; var k: R;
         var p: lock; var s: semaphore = semaphore { count: 1 }; channel c: 0..3[1];\n",
    );
    for thread in 0..rng.usize(2..4) {
        let mut body = String::from("var t: 0..3; ");
        for _ in 0..rng.usize(1..3) {
            body += "atomic { ";
            for _ in 0..rng.usize(1..3) {
                body += before[rng.usize(..before.len())];
            }
            body += waits[rng.usize(..waits.len())];
            if rng.bool() {
                body += behind[rng.usize(..behind.len())];
                body += waits[rng.usize(..waits.len())];
            }
            body += " } ";
            body += behind[rng.usize(..behind.len())];
        }
        source += &format!("process p{thread}[1] {{ {body} }}\n");
    }
    source
}
