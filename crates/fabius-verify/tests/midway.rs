//! Atomic blocks that wait elsewhere than at their beginning have the states and verdicts of programs that say the same with the wait
//! in front; symbolic engines refuse them where they wait.

use fabius_trace::{Bound, Points, Verdict};
use fabius_verify::{Plan, check, program_id};
use std::sync::atomic::AtomicBool;

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
fn translations_refuse_such_blocks_where_they_wait() {
    use fabius_translate::Caps;
    use fabius_translate::explicit::{Switches, Trace, explicit};
    for (source, at) in [
        ("var x: int; process p[1] { atomic { x = 1; await x == 1; } }", "await x == 1;"),
        ("var x: int; var m: lock; process p[1] { atomic { x = 1; m.acquire(); } }", "m.acquire()"),
        ("var x: int; proc q() { await x == 1; } process p[1] { atomic { q(); } }", "q()"),
    ] {
        let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
        let refused = explicit(&program, Trace::Off, Switches::Everywhere, Caps::default()).expect_err("it is refused");
        assert_eq!(refused.span.text(source).trim_end_matches(';'), at.trim_end_matches(';'));
    }
    let first = "var x: int; process p[1] { atomic { await x == 0; x = 1; } }";
    let program = fabius_lang::compile(first, &Default::default()).expect("it compiles");
    assert!(explicit(&program, Trace::Off, Switches::Everywhere, Caps::default()).is_ok());
}
