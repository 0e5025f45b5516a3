//! All engines side by side say what each of them says alone.

use fabius_lang::program::Program;
use fabius_trace::{BugKind, Points, Verdict};
use fabius_verify::portfolio::{Ask, Decided, Member, MemberError, decide};
use fabius_verify::{Plan, check, program_id, with_instances};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use testkit::generate::{Shape, random};

fn program(source: &str) -> Program {
    fabius_lang::compile(source, &Default::default()).unwrap_or_else(|e| panic!("{source}\n{e:?}"))
}

fn ask(only: Option<Member>) -> Ask {
    Ask { only, jobs: 2, ..Ask::default() }
}

fn decided(source: &str, ask: &Ask) -> Result<Decided, MemberError> {
    let id = program_id("test.fab", source, &[], &[]);
    decide(&program(source), &id, ask, &AtomicBool::new(false), &mut |_, _| {})
}

fn has_bug(verdict: &Verdict) -> Option<bool> {
    match verdict {
        Verdict::Bug { .. } => Some(true),
        Verdict::Verified | Verdict::NoBugWithinBounds { .. } => Some(false),
        Verdict::Unknown { .. } => None,
    }
}

/// How many random programs have a bug, and how many have none.
fn agree_with_exploration(seeds: std::ops::Range<u64>) -> (u64, u64) {
    let (mut bugs, mut none) = (0, 0);
    for seed in seeds {
        let shape = [Shape::Threads, Shape::Spawned, Shape::Tasks, Shape::Buffers][seed as usize % 4];
        let source = random(seed, shape).source();
        let id = program_id("test.fab", &source, &[], &[]);
        let alone = check(&program(&source), &id, &Plan::default(), &AtomicBool::new(false), &|_| {});
        let Some(alone) = has_bug(&alone.expect("it can be checked").verdict) else { continue };
        let all = decided(&source, &ask(None)).unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{source}"));
        assert_eq!(has_bug(&all.report.verdict), Some(alone), "seed {seed}\n{source}");
        for member in [Member::RandomWalks, Member::BoundedModelChecking] {
            let one = decided(&source, &Ask { time: Some(Duration::from_millis(50)), ..ask(Some(member)) });
            match one.map(|one| one.report.verdict) {
                Ok(Verdict::Bug { .. }) => assert!(alone, "seed {seed}: {member:?}\n{source}"),
                Ok(Verdict::Verified) => assert!(!alone, "seed {seed}: {member:?}\n{source}"),
                _ => {}
            }
        }
        *(if alone { &mut bugs } else { &mut none }) += 1;
    }
    (bugs, none)
}

#[test]
fn random_programs_are_answered_as_by_exploration() {
    let (bugs, none) = agree_with_exploration(0..40);
    assert!(bugs >= 3 && none >= 3, "{bugs} with bugs, {none} without");
}

#[test]
#[ignore = "takes hours"]
fn many_random_programs_are_answered_as_by_exploration() {
    let (bugs, none) = agree_with_exploration(testkit::seeds(1000, 100_000));
    println!("{bugs} with bugs, {none} without");
}

/// Nobody has begun, and still it is the time that was not enough.
#[test]
fn without_time_the_time_is_the_reason() {
    let none = Ask { time: Some(Duration::ZERO), ..ask(None) };
    let decided = decided("var x: bool; process p[2] { x = true; }", &none).expect("a limit is no error");
    assert!(matches!(decided.report.verdict, Verdict::Unknown { reason: fabius_trace::Reason::Time, .. }));
}

/// Two of a kind that need one deep loop: bounds are raised until the bug is reached.
#[test]
fn bounds_grow_by_themselves() {
    let source = "var x: int;\ninit {\n    while x < 20 {\n        x += 1;\n    }\n    assert x != 20;\n}\n";
    let alone = decided(source, &ask(Some(Member::BoundedModelChecking))).expect("it fits");
    assert!(matches!(alone.report.verdict, Verdict::Bug { .. }), "{:?}", alone.report.verdict);
}

/// What a thread has done before it goes round for ever is seen by nobody in a translation, and would be by others.
#[test]
fn a_loop_that_is_never_left_is_no_proof_for_any_number_of_threads() {
    for round in ["y = 1 - y;", "if * { y = 1; } else { y = 0; }"] {
        let source = format!(
            "var x: 0..1 = 0;\nprocess a[*] {{ var y: 0..1 = 0; x = 1; while true {{ {round} }} }}\nprocess b[*] {{ assert x == 0; }}\n"
        );
        let asked = Ask { time: Some(Duration::from_secs(5)), ..ask(Some(Member::AnyThreads)) };
        let verdict = decided(&source, &asked).expect("it fits").report.verdict;
        assert!(matches!(verdict, Verdict::Unknown { .. } | Verdict::Bug { .. }), "{verdict:?}");
    }
}

/// Who knows of any number of threads does not look for data races, and says so.
#[test]
fn what_any_number_of_threads_race_for_is_not_verified_without_a_word() {
    let source = "sync var n: 0..6 = 0;\ndata var c: 0..1 = 0;\nprocess p[*] {\n    var last: bool = false;\n\
                  atomic { if n > 5 { last = true; } else { n += 1; } }\n    if last { c = 1; }\n}\n";
    let asked = Ask { points: Points::Sync, ..ask(None) };
    let found = decided(source, &asked).expect("it fits");
    assert_eq!((found.by, &found.report.verdict), (Member::AnyThreads, &Verdict::Verified));
    assert_eq!(found.report.limits, ["data races were not looked for"]);
    let nine = program_id("test.fab", source, &[], &[("p".into(), 9)]);
    let program = with_instances(program(source), &nine.instances).expect("there are such processes");
    let found = decide(&program, &nine, &asked, &AtomicBool::new(false), &mut |_, _| {}).expect("it fits");
    assert!(matches!(&found.report.verdict, Verdict::Bug { trace } if trace.kind == BugKind::DataRace));
}

#[test]
fn any_number_of_threads_is_answered_with_and_without_deadlocks() {
    let counted = "var n: 0..3;\nprocess p[*] {\n    atomic { assume n < 3; n += 1; }\n    assert n > 0;\n    atomic { n -= 1; }\n}\n";
    let all = decided(counted, &ask(None)).expect("it fits");
    assert_eq!((all.by, &all.report.verdict), (Member::AnyThreads, &Verdict::Verified));
    // No assertion fails, but threads wait for ever.
    let stuck = "var x: bool;\nprocess p[*] { await x; }\n";
    for who in [None, Some(Member::Exploration), Some(Member::AnyThreads)] {
        let found = decided(stuck, &ask(who)).expect("it fits").report.verdict;
        assert!(matches!(&found, Verdict::Bug { trace } if trace.kind == BugKind::Deadlock), "{found:?}");
    }
    // A lock, which nobody waits for for ever.
    let lock = "var m: lock;\nvar n: 0..3;\nprocess p[*] {\n    m.acquire();\n    n = 1;\n    assert n == 1;\n    n = 0;\n    m.release();\n}\n";
    let alone = decided(lock, &ask(Some(Member::AnyThreads))).expect("it fits");
    assert_eq!((alone.report.verdict, alone.report.limits.len()), (Verdict::Verified, 0));
    // Where `init` waits that is not asked of all rounds.
    let open = "var x: bool = true;\ninit { await x; }\nprocess p[*] { await x; }\n";
    let alone = decided(open, &ask(Some(Member::AnyThreads))).expect("it fits");
    assert_eq!(alone.report.limits, ["deadlocks were looked for in 2 rounds alone"]);
    // Fewer threads than three wait for ever, but three do not.
    let barrier = "var b: barrier = barrier { parties: 3 };\nvar n: 0..1;\nprocess p[3] {\n    b.wait();\n    atomic { n = 1; assert n == 1; }\n}\n";
    let alone = decided(barrier, &ask(Some(Member::AnyThreads))).expect("it fits");
    assert_ne!(alone.report.verdict.exit_code(), 1);
}

/// More threads than anybody can explore, which their number has nothing to do with.
#[test]
fn equal_threads_are_decided_as_any_number_of_them() {
    let source = "var a: bool;\nvar b: bool;\nprocess p[100] { a = true; b = true; assert a; }\n";
    let all = decided(source, &ask(None)).expect("it fits");
    assert_eq!((all.by, &all.report.verdict), (Member::AnyThreads, &Verdict::Verified));
    // Three would fail, two do not.
    let two = "var n: 0..9;\nprocess p[2] { n += 1; assert n < 3; }\n";
    let alone = decided(two, &ask(Some(Member::AnyThreads))).expect("it fits");
    assert!(matches!(alone.report.verdict, Verdict::Unknown { .. }), "{:?}", alone.report.verdict);
    let all = decided(two, &ask(None)).expect("it fits");
    assert_eq!((all.by, &all.report.verdict), (Member::Exploration, &Verdict::Verified));
    // No thread would do no harm, and each of these is dropped.
    let nothing = "var x: bool;\nprocess p[2] { x = true; assume !x; assert false; }\n";
    let alone = decided(nothing, &ask(Some(Member::AnyThreads))).expect("it fits");
    assert!(matches!(alone.report.verdict, Verdict::Unknown { .. }), "{:?}", alone.report.verdict);
}

fn general_proofs_hold(seeds: std::ops::Range<u64>) {
    let (mut proved, mut fails) = (0, 0);
    for seed in seeds {
        let source = testkit::parameterized::random(seed).source();
        for count in [2, 3] {
            let source = source.replace("[*]", &format!("[{count}]"));
            let id = program_id("test.fab", &source, &[], &[]);
            let plan = Plan { deadlock: false, ..Plan::default() };
            let explored = check(&program(&source), &id, &plan, &AtomicBool::new(false), &|_| {});
            let fails_so = has_bug(&explored.expect("it can be checked").verdict);
            let alone = decided(&source, &ask(Some(Member::AnyThreads))).unwrap_or_else(|e| panic!("{seed}: {e:?}"));
            match alone.report.verdict {
                Verdict::Verified => assert_ne!(fails_so, Some(true), "seed {seed}\n{source}"),
                Verdict::Unknown { .. } => fails += u32::from(fails_so == Some(true)),
                verdict => panic!("seed {seed}: {verdict:?}\n{source}"),
            }
            proved += u32::from(alone.report.verdict == Verdict::Verified);
        }
    }
    assert!(proved >= 3 && fails >= 3, "{proved} proved, {fails} that fail");
}

#[test]
fn what_holds_of_any_number_holds_of_each() {
    general_proofs_hold(0..24);
}

#[test]
#[ignore = "minutes"]
fn what_holds_of_any_number_holds_of_each_of_many() {
    general_proofs_hold(1000..3000);
}

/// All orders of so many threads are too many to explore; two in any order are enough.
#[test]
fn walks_at_random_find_what_is_everywhere() {
    let source = "var n: int;\nproc p() { let t = n; n = t + 1; }\n\
                  init {\n    var all: [thread; 40];\n    for i in 0..39 { all[i] = spawn p(); }\n    for i in 0..39 { join all[i]; }\n    assert n == 40;\n}\n";
    let all = decided(source, &ask(None)).expect("it fits");
    assert!(matches!(all.report.verdict, Verdict::Bug { .. }), "{:?}", all.report.verdict);
}

#[test]
fn nobody_looks_for_deadlocks_that_are_no_bugs() {
    let source = "var x: bool;\nprocess p[1] { await x; }\n";
    for member in [Member::Exploration, Member::BoundedModelChecking] {
        let of = |deadlock| {
            let time = Some(Duration::from_secs(2));
            decided(source, &Ask { deadlock, time, ..ask(Some(member)) }).expect("it fits").report.verdict
        };
        assert!(matches!(of(true), Verdict::Bug { .. }), "{member:?}");
        assert!(!matches!(of(false), Verdict::Bug { .. }), "{member:?}");
    }
}

#[test]
fn who_does_not_fit_says_why() {
    let source = "init { assert true; }\n";
    let Err(MemberError::Unfit(why)) = decided(source, &ask(Some(Member::AnyThreads))) else { panic!("it fits") };
    assert!(why.contains("any number"), "{why}");
    let ask = Ask { is_explorable: false, ..ask(Some(Member::Exploration)) };
    assert!(matches!(decided(source, &ask), Err(MemberError::Unfit(_))));
}

#[test]
fn an_answer_about_nothing_is_final() {
    let all = decided("init { assume false; assert false; }\n", &ask(None)).expect("it fits");
    assert!(all.report.verdict.is_vacuous(), "{all:?}");
}

/// Walks at random would go on for ever, and come to what exploration has given up at.
#[test]
fn it_ends_where_nobody_knows() {
    let source = "var x: 0..1;\nprocess a[1] { var l: 0..1 = 0; x = 1; while l == 0 { skip; } }\nprocess b[1] { assert x == 0; }\n";
    let all = decided(source, &ask(None)).expect("it fits");
    assert_ne!(all.report.verdict, Verdict::Verified);
    assert!(has_bug(&all.report.verdict) != Some(true), "{:?}", all.report.verdict);
    assert!(all.told.iter().any(|t| t.member == Member::RandomWalks), "{all:?}");
}

#[test]
fn limits_hold_for_all_together() {
    // More states than can be explored, and rounds without end.
    let source =
        "var a: u32;\nvar b: u32;\nprocess p[3] { while true { a += 1; assert a < 4000000000; b = b + a; } }\n";
    let began = std::time::Instant::now();
    let all = decided(source, &Ask { time: Some(Duration::from_millis(300)), ..ask(None) }).expect("it fits");
    assert!(matches!(all.report.verdict, Verdict::Unknown { .. }), "{:?}", all.report.verdict);
    assert!(all.told.len() >= 2 && began.elapsed() < Duration::from_secs(60));
}

/// Two are dropped, three are not.
#[test]
fn more_copies_are_tried_where_fewer_say_nothing() {
    let source = "var n: 0..4;\nprocess p[*] {\n    n += 1;\n    assert n != 3;\n    assume n > 2;\n}\n";
    let alone = decided(source, &ask(Some(Member::Exploration))).expect("it fits");
    let Verdict::Bug { trace } = &alone.report.verdict else { panic!("{:?}", alone.report.verdict) };
    assert_eq!(trace.program.instances, [("p".to_string(), 3)]);
}

/// A number that is given belongs to the program that a bug is replayed in.
#[test]
fn given_numbers_are_part_of_the_answer() {
    let source = "var n: 0..9;\nprocess p[*] { n += 1; }\nprocess q[*] { assert n < 2; }\n";
    let given = [("p".to_string(), 2)];
    let program = with_instances(program(source), &given).expect("it has the process");
    let id = program_id("test.fab", source, &[], &given);
    let ask = ask(Some(Member::Exploration));
    let found = decide(&program, &id, &ask, &AtomicBool::new(false), &mut |_, _| {}).expect("it fits");
    let Verdict::Bug { trace } = &found.report.verdict else { panic!("{:?}", found.report.verdict) };
    assert_eq!(trace.program.instances, [("p".to_string(), 2), ("q".to_string(), 2)]);
}

/// Nobody else follows such stacks for ever.
#[test]
fn recursion_without_a_bound_is_answered_by_who_covers_it() {
    let down = "var x: 0..2;\nproc f(me: 0..2) {\n    if * {\n        f(me);\n    }\n    atomic {\n        await x == 0 || x == me;\n        x = me;\n    }\n    GIVE\n}\nprocess p[1] {\n    f(1);\n}\nprocess q[1] {\n    f(2);\n}\n";
    let safe = down.replace("GIVE", "let seen = x;\n    assert seen == me;\n    x = 0;");
    let all = decided(&safe, &ask(None)).expect("it fits");
    assert_eq!((all.by, &all.report.verdict), (Member::Convergence, &Verdict::Verified));
    let wrong = down.replace("GIVE", "x = 0;\n    let seen = x;\n    assert seen == 0;");
    let alone = decided(&wrong, &ask(Some(Member::Convergence))).expect("it fits");
    let Verdict::Bug { trace } = &alone.report.verdict else { panic!("{:?}", alone.report.verdict) };
    assert_eq!((trace.kind, trace.cost), (BugKind::Assertion, 2));
    let Err(MemberError::Unfit(_)) = decided("process p[*] { skip; }", &ask(Some(Member::Convergence))) else {
        panic!("it is of any number of threads");
    };
}
