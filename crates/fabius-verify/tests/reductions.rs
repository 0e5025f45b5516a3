//! What is left out before a program is translated makes no difference: programs with it and without it fail alike, and as
//! exploration says.

use fabius_lang::program::Program;
use fabius_sequential::bmc::{Bmc, Depth, Outcome};
use fabius_smt::{Embedded, Limits};
use fabius_trace::Verdict;
use fabius_translate::explicit::{Switches, Trace, explicit};
use fabius_translate::rounds::rounds;
use fabius_translate::{Caps, Sliced};
use fabius_verify::prove::{Engine, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, check, program_id};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use testkit::locked::{Locked, random};

const DEPTH: Depth = Depth { unwind: 3, recursion: 2 };

/// For exploration, which says nothing of a program that takes longer.
const TIME: Duration = Duration::from_secs(2);

fn fails(program: &Program, k: u32, trace: Trace, switches: Switches<'_>) -> (bool, Sliced) {
    let mut source = explicit(program, trace, switches, Caps::default()).expect("these can be translated");
    if switches != Switches::Everywhere {
        source.slice();
    }
    let translated = rounds(&source, k).expect("these are threads");
    let mut bmc = Bmc::new(&translated.program, Box::new(Embedded::default()));
    let limits = Limits { deadline: None, stop: &Arc::new(AtomicBool::new(false)) };
    match bmc.check(DEPTH, &limits, &mut |_| {}).expect("it is sequential") {
        Outcome::Bug(_) => (true, source.sliced),
        Outcome::Safe { .. } => (false, source.sliced),
        Outcome::Unknown => panic!("there is no limit"),
    }
}

/// What was seen.
#[derive(Default, Debug)]
struct Seen {
    fail: u32,
    hold: u32,
    less: u32,
}

fn agree(source: &str, seen: &mut Seen) -> Result<(), String> {
    let Ok(program) = fabius_lang::compile(source, &Default::default()) else { return Ok(()) };
    let id = program_id("p.fab", source, &[], &[]);
    let stop = Arc::new(AtomicBool::new(false));
    for k in 1..=3 {
        let (all, _) = fails(&program, k, Trace::Off, Switches::Everywhere);
        let (fewer, sliced) = fails(&program, k, Trace::Off, Switches::WhereTheyMatter(&[]));
        if all != fewer {
            return Err(format!("{k} rounds: {all} with all points, {fewer} with fewer"));
        }
        seen.less += u32::from(sliced.points > 0 && sliced.assignments > 0);
        *(if all { &mut seen.fail } else { &mut seen.hold }) += 1;
        let sequentialization = Sequentialization::Rounds(k);
        let plan = ProofPlan {
            sequentialization,
            engine: Engine::Bmc,
            unwind: Some(DEPTH.unwind),
            recursion: Some(DEPTH.recursion),
            tasks: None,
            objects: None,
            incremental: false,
            deadlock: true,
            properties: true,
            solver: SolverChoice::Embedded,
            time: None,
            memory: None,
        };
        // A bug is lifted and replayed, at all points.
        let proof = prove(&program, &id, &plan, &stop, &|_| {}).map_err(|e| format!("{k} rounds: {e:?}"))?;
        let proved = matches!(proof.report.verdict, Verdict::Bug { .. });
        if proved != all {
            return Err(format!("{k} rounds: {all}, and with traces {proved}"));
        }
        let (bound, scheduler) = sequentialization.cost();
        let explore = Plan { bound, max: Some(k - 1), scheduler, time: Some(TIME), ..Plan::default() };
        let explored = check(&program, &id, &explore, &stop, &|_| {}).map_err(|e| format!("{e:?}"))?.verdict;
        let cut = |verdict: &Verdict| match verdict {
            Verdict::NoBugWithinBounds { bounds } => bounds.limits.iter().any(|l| l.contains("was followed")),
            _ => false,
        };
        match (explored, &proof.report.verdict) {
            (Verdict::Bug { .. }, proved) if !all && !cut(proved) => return Err(format!("{k} rounds: none is found")),
            (Verdict::Verified | Verdict::NoBugWithinBounds { .. }, _) if all => {
                return Err(format!("{k} rounds: exploration finds none"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn compare(seeds: std::ops::Range<u64>) {
    let mut seen = Seen::default();
    for seed in seeds {
        let model = random(seed);
        if agree(&model.source(), &mut seen).is_err() {
            let differs = |m: &Locked| agree(&m.source(), &mut Seen::default()).is_err();
            let least = model.shrink(differs).source();
            panic!("{seed}: {}\n{least}", agree(&least, &mut seen).expect_err("it still differs"));
        }
    }
    println!("{seen:?}");
    assert!(seen.fail >= 10 && seen.hold >= 10 && seen.less >= 10, "{seen:?}");
}

#[test]
fn programs_with_locks_fail_alike() {
    compare(0..60);
}

#[test]
#[ignore = "minutes; for every change of what is left out"]
fn many_programs_with_locks_fail_alike() {
    let from = std::env::var("FIRST_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1000);
    compare(from..from + 5000);
}

/// A bug that needs a thread to be interrupted where the accesses alone would not: within so many rounds.
#[test]
fn who_is_not_interrupted_would_hide_a_bug() {
    let looks = "process q[1] { assert x != 1; }\n";
    let cases = [
        // What comes next drops the execution, or does not end.
        format!("var x: 0..1; var own: 0..3; process p[1] {{ x = 1; assume own == 1; }} {looks}"),
        format!("var x: 0..1; var own: 0..3; process p[1] {{ x = 1; let t = own; assume t == 1; }} {looks}"),
        format!("var x: 0..1; var own: 0..3; process p[1] {{ x = 1; let t = own; let u = any 1..t; }} {looks}"),
        format!("var x: 0..1; var own: 0..3; process p[1] {{ x = 1; while own == 0 {{ own = 0; }} }} {looks}"),
        format!("var x: 0..1; var own: 0..3; process p[1] {{ x = 1; own = 1; while true {{ }} }} {looks}"),
        format!("var x: 0..1; var own: 0..3; proc f() {{ own = 1; assume false; }} process p[1] {{ x = 1; f(); }} {looks}"),
        format!("var x: 0..1; var l: lock; process p[1] {{ l.acquire(); x = 1; l.release(); assume false; }} {looks}"),
        // Somebody looks whether a lock is held.
        "var l: lock; process p[1] { l.acquire(); l.release(); } process q[1] { let ok = l.try_acquire(); assert ok; l.release(); }".into(),
        // A lock of one's own protects nothing, nor does one that is given back.
        "var n: 0..3; var l: lock; var m: lock; process p[1] { l.acquire(); let t = n; n = t + 1; l.release(); }\n\
         process q[1] { m.acquire(); n = 2; m.release(); assert n == 2; }"
            .into(),
        "var n: 0..3; var l: lock; process p[2] { l.acquire(); let t = n; l.release(); n = t + 1; assert n == t + 1; }".into(),
        "var n: 0..3; var l: lock; process p[1] { if * { l.acquire(); } n = 1; assert n == 1; }\n\
         process q[1] { l.acquire(); n = 2; }"
            .into(),
        // Several threads of a kind, and one that is made twice.
        "var n: 0..3; process p[2] { n = n + 1; let t = n; n = t; assert t == n; }".into(),
        "var n: 0..3; proc p() { n = 1; n = 2; assert n == 2; } init { let a = spawn p(); let b = spawn p(); }".into(),
        // Two locks are not one; one that is taken in some executions is not held in others.
        "var n: 0..3; var l: lock; var m: lock; process p[1] { l.acquire(); let t = n; n = t + 1; l.release(); }\n\
         process q[1] { m.acquire(); let t = n; let u = n; assert t == u; m.release(); }"
            .into(),
        "var n: 0..3; var l: lock; proc p(a: int) { if a == 1 { l.acquire(); } let t = n; let u = n; assert t == u; n = 1; }\n\
         init { spawn p(1); spawn p(0); }"
            .into(),
        // Whoever may write a lock otherwise lets others in: as a whole, in a step that takes it, or in one that tries to.
        "var o: thread; var n: 0..3; proc w() { atomic { await o == null; o = self; } let t = n; let u = n; assert t == u; n = 1; o = null; }\n\
         proc v() { o = null; } init { spawn w(); spawn v(); spawn w(); }"
            .into(),
        "var o: thread; var n: 0..3; process w[2] { atomic { await o == null; o = self; o = null; } let t = n; let u = n; assert t == u; n = 1; }".into(),
        "var o: thread; var n: 0..3; proc w() { atomic { await o == null; o = self; } let t = n; let u = n; assert t == u; n = 1; atomic { if o == self { o = null; } } }\n\
         proc v() { atomic { if o == null { skip; } else { o = null; } } } init { spawn w(); spawn v(); spawn w(); }"
            .into(),
        // `init` is a thread, too, and a loop makes several of one statement.
        "var n: 0..3; proc w() { n = 1; } init { spawn w(); let t = n; let u = n; assert t == u; }".into(),
        "var n: 0..3; proc w() { let t = n; let u = n; assert t == u; n = 1; } init { for i in 0..1 { spawn w(); } }".into(),
        // What is written is looked at; a drop comes in a procedure that is called.
        "var a: 0..3; var b: 0..3; process p[1] { a = 1; b = 1; } process q[1] { let t = a; let u = b; assert t == u || u == 1; }".into(),
        format!("var x: 0..1; var own: 0..3; proc f(a: int) {{ assume a == 1; }} process p[1] {{ x = 1; own = 2; f(0); }} {looks}"),
        // What an invariant reads is looked at in the step of an access.
        "var a: 0..3; var b: 0..3; invariant same: a == b || a + b != 2; process p[1] { a = 1; a = 2; } process q[1] { b = 0; b = 1; }".into(),
    ];
    for source in &cases {
        let mut seen = Seen::default();
        agree(source, &mut seen).unwrap_or_else(|e| panic!("{e}\n{source}"));
        assert!(seen.fail > 0, "it has no bug\n{source}");
    }
}

/// What is asked about may come through calls, threads and branches; what may drop an execution stays.
#[test]
fn what_flows_into_what_is_asked_is_kept() {
    let fail = [
        "var x: 0..3; proc f() -> int { return x; } process p[1] { x = 1; let t = f(); assert t == 0; }",
        "var x: 0..3; proc f() -> (int, int) { return (0, x); } process p[1] { x = 1; let (_, t) = f(); assert t == 0; }",
        "var x: 0..3; proc f(a: int) { assert a == 0; } process p[1] { x = 1; f(x); }",
        "var x: 0..3; proc f(a: int) { assert a == 0; } init { x = 1; spawn f(x); }",
        "var x: 0..3; var idle: 0..3; process p[1] { if x == 1 { idle = 1; } else { x = 2; } assert x == 0; }",
        "var x: 0..3; var a: [0..3; 2]; process p[1] { x = 1; a[x] = 2; x = 0; assert a[1] == 0; }",
        "var x: 0..3; var idle: int; process p[1] { x = 1; idle = 1 / (1 - x); }",
        "var x: 0..3; var a: [int; 2]; process p[1] { x = 2; a[x] = 1; }",
        "var x: int; var idle: 0..3; process p[1] { x = 4; idle = x; }",
    ];
    let hold = [
        "var x: 0..3; process p[1] { x = 1; let t = x; let u = any t..0; assert false; }",
        "process p[1] { let u = any 1..0; assert false; }",
        "var x: 0..3; process p[1] { x = 1; let t = x; assume t == 0; assert false; }",
    ];
    for (source, fails) in fail.iter().map(|s| (s, true)).chain(hold.iter().map(|s| (s, false))) {
        let mut seen = Seen::default();
        agree(source, &mut seen).unwrap_or_else(|e| panic!("{e}\n{source}"));
        assert_eq!((seen.fail > 0, seen.fail + seen.hold), (fails, 3), "{source}");
    }
}

/// What commutes is not interrupted, and what nobody asks about is gone.
#[test]
fn what_makes_no_difference_is_left_out() {
    let source = "var n: 0..3; var l: lock; var own: bool; var idle: 0..3;\n\
                  process p[2] { l.acquire(); let t = n; n = (t + 1) % 4; l.release(); idle = (t + 1) % 4; }\n\
                  process q[1] { own = true; own = false; assert !own; }";
    let program = fabius_lang::compile(source, &Default::default()).expect("it is a program");
    let (fails, sliced) = fails(&program, 2, Trace::Off, Switches::WhereTheyMatter(&[]));
    // Two reads and writes under the lock, its release, three accesses to what is one thread's own, and one to `idle`.
    assert_eq!((fails, sliced.variables >= 1, sliced.points >= 6), (false, true, true), "{sliced:?}");
}
