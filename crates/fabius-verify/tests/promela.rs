//! SPIN, asked about our programs in Promela, says what exploration says.
//!
//! Where there is no `spin`, or no C compiler, these tests say that they look at nothing.

use fabius_lang::program::Program;
use fabius_lang::{Choices, Options, compile};
use fabius_trace::{Bound, Verdict};
use fabius_verify::prove::{Budget, Caps, Form, ProofError, Sequentialization, text_of};
use fabius_verify::{Plan, check, program_id};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use testkit::corpus::programs;
use testkit::generate::{Shape, random};

/// What a model checker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Bug,
    None,
    /// It was cut short.
    Nothing,
}

fn is_there() -> bool {
    let runs = |command: &str, option: &str| Command::new(command).arg(option).output().is_ok();
    let there = runs("spin", "-V") && runs("cc", "--version");
    if !there {
        eprintln!("`spin` or `cc` is not installed: nothing is compared");
    }
    there
}

/// What SPIN says about a program, or why the program cannot be written in Promela.
fn spin(program: &Program, folder: &Path) -> Result<Said, String> {
    let stop = Arc::new(AtomicBool::new(false));
    let budget = Budget { time: None, memory: None, stop: &stop };
    let caps = Caps { tasks: 20, objects: 12 };
    let text = match text_of(program, Sequentialization::Rounds(1), Form::Promela, caps, budget) {
        Ok(text) => text,
        Err(ProofError::Unsupported(unsupported)) => return Err(unsupported.what),
        Err(error) => panic!("{error:?}"),
    };
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(folder.join("model.pml"), &text).expect("a file");
    let run = |command: &str, args: &[&str]| {
        let out = Command::new(command).args(args).current_dir(folder).output().expect("it runs");
        format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
    };
    let made = run("spin", &["-a", "model.pml"]);
    assert!(!made.contains("Error") && folder.join("pan.c").exists(), "{made}\n{text}");
    // Properties are asked about as the comments of the text say.
    let asked = text.lines().find_map(|line| line.split_once("./pan ")?.1.strip_suffix(" */"));
    let (kind, options) = match asked {
        None => ("-DSAFETY", Vec::new()),
        Some(options) => ("-DNFAIR=2", options.split(' ').collect()),
    };
    let compiled = run("cc", &["-O0", "-w", kind, "-DNOREDUCE", "-DMEMLIM=300", "-o", "pan", "pan.c"]);
    assert!(compiled.is_empty(), "{compiled}\n{text}");
    let said = run("./pan", &[vec!["-m50000", "-n"], options].concat());
    assert!(!said.contains("_enough"), "{said}\n{text}");
    // Nothing but these is an error of the program: others are ours.
    if let Some(error) = said.lines().find(|line| line.starts_with("pan:1:") || line.contains("error:")) {
        if error.contains("max search depth too small") {
            return Ok(Said::Nothing);
        }
        let of_property = error.contains("acceptance cycle") || error.contains("claim violated");
        let known = if asked.is_some() {
            of_property
        } else {
            error.contains("assertion violated") || error.contains("invalid end state")
        };
        assert!(known, "{said}\n{text}");
        return Ok(Said::Bug);
    }
    Ok(if said.contains("Search not completed") { Said::Nothing } else { Said::None })
}

fn explored(program: &Program) -> Said {
    let id = program_id("", &program.source, &[], &[]);
    // A property is asked of executions that end, too.
    let deadlock = program.properties.is_empty();
    let plan = Plan { bound: Bound::None, jobs: 1, deadlock, ..Plan::default() };
    let stop = Arc::new(AtomicBool::new(false));
    match check(program, &id, &plan, &stop, &|_| {}).expect("it is checked").verdict {
        Verdict::Bug { .. } => Said::Bug,
        Verdict::Verified => Said::None,
        _ => Said::Nothing,
    }
}

/// Compares the two; says whether there was something to compare.
fn compare(name: &str, program: &Program, folder: &Path) -> bool {
    let (ours, theirs) = match (explored(program), spin(program, folder)) {
        (ours, Err(why)) => {
            eprintln!("{name}: {ours:?}, and {why}");
            return false;
        }
        (Said::Nothing, _) | (_, Ok(Said::Nothing)) => {
            eprintln!("{name}: one of the two was cut short");
            return false;
        }
        (ours, Ok(theirs)) => (ours, theirs),
    };
    let text = || std::fs::read_to_string(folder.join("model.pml")).unwrap_or_default();
    assert_eq!(theirs, ours, "{name}\n{}\n{}", program.source, text());
    true
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("promela").join(name)
}

fn small(source: &str) -> Program {
    let options = Options { choices: Choices::Finite, ..Options::default() };
    compile(source, &options).unwrap_or_else(|wrong| panic!("{wrong:?}\n{source}"))
}

/// A program for each thing that the text says in a way of its own, with its bug and without.
const CASES: &[(&str, &str)] = &[
    ("a lost update", "var x: int; process p[2] { x = x + 1; } process q[1] { await x == 1; assert x != 1; }"),
    (
        "no lost update",
        "var x: int; process p[2] { atomic { x = x + 1; } } process q[1] { await x == 2; assert x == 2; }",
    ),
    (
        "a step that is dropped leaves nothing behind",
        "var x: int; process p[1] { let c = any 0..1; x = c; assume c == 0; } process q[1] { assert x == 0; }",
    ),
    (
        "a choice of nothing drops",
        "var x: int; process p[1] { let c = any 0..1; x = c; let y = any c..0; } process q[1] { assert x == 0; }",
    ),
    (
        "an invariant is looked at where a step ends",
        "var x: int; var y: int; invariant same: x == y; process p[2] { atomic { x = x + 1; y = y + 1; } }",
    ),
    (
        "an invariant is looked at behind each step",
        "var x: int; invariant low: x < 2; process p[1] { x = 2; x = 0; } process q[1] { await x == 0; x = 1; }",
    ),
    ("who waits for ever", "var x: bool; process p[1] { await x; }"),
    (
        "two locks, two orders",
        "var a: lock; var b: lock; process p[1] { a.acquire(); b.acquire(); b.release(); a.release(); } process q[1] { b.acquire(); a.acquire(); a.release(); b.release(); }",
    ),
    (
        "records and arrays are copied as a whole",
        "record P { x: int, y: int } var a: [P; 2]; init { a[1] = P { x: 1, y: 2 }; a[0] = a[1]; let i = any 0..1; a[i] = P { x: a[i].y, y: a[i].x }; assert a[i].x == 2 && a[1 - i].x == 1; }",
    ),
    ("an index out of bounds", "var a: [int; 2]; init { let i = any 0..2; a[i] = 1; }"),
    (
        "the right side is not looked at",
        "var a: [int; 2]; init { let i = any 0..2; if i < 2 && a[i] == 0 { skip; } assert i >= 2 || a[i] == 0; }",
    ),
    ("division by zero", "var x: int; process p[1] { x = 1; } init { spawn q(); } proc q() { let y = 2 / x; }"),
    ("a range overflows", "var x: 0..2; process p[3] { x = x + 1; }"),
    ("a range does not overflow", "var x: 0..3; process p[3] { x = x + 1; }"),
    ("bytes wrap", "var x: u8 = 255; var y: i8 = 127; init { x = x + 1; y = y + 1; assert x == 0 && y == -128; }"),
    (
        "objects",
        "record N { value: int, next: ref N } var head: ref N; process p[2] { let n = new N { value: 1 }; atomic { n.next = head; head = n; } } process q[1] { atomic { await head != null; assert head.next == null; } }",
    ),
    (
        "null",
        "record N { value: int } var head: ref N; process p[1] { head = new N { value: 1 }; } process q[1] { let v = head.value; }",
    ),
    ("join waits", "var x: int; proc w(k: int) { x = k; } init { let t = spawn w(3); join t; assert x == 3; }"),
    ("join of nobody", "init { var t: thread; join t; }"),
    (
        "results, and a return from a loop",
        "proc f(n: int) -> (int, bool) { for i in 0..5 { if i == n { return (i, true); } } } init { let (a, b) = f(3); let (c, d) = f(9); assert a == 3 && b && c == 0 && !d; }",
    ),
    (
        "loops that are left and gone on with",
        "init { var n: int = 0; for i in 0..9 { if i % 2 == 0 { continue; } if i > 6 { break; } n = n + i; } assert n == 9; }",
    ),
    (
        "some waiter is woken, any of them",
        "var m: lock; var c: condition; var woken: int; proc w(k: int) { m.acquire(); c.wait(m); woken = k; m.release(); } init { spawn w(1); spawn w(2); m.acquire(); c.notify_one(); m.release(); await woken != 0; assert woken == 1; }",
    ),
    (
        "each thread has its own",
        "thread var mine: int; var sum: int; process p[2] { mine = mine + 1; atomic { sum = sum + mine; } } process q[1] { await sum == 2; assert sum == 2; }",
    ),
    ("what happens at last", "var x: 0..2; process p[2] { atomic { x = x + 1; } } property w: eventually x == 2;"),
    (
        "what is never looked at within a step",
        "var x: 0..2; process p[1] { atomic { x = 1; x = 2; } } property w: eventually x == 1;",
    ),
    (
        "who is left out without fairness",
        "var x: bool; var y: bool; process p[1] { loop { y = !y; } } process q[1] { x = true; } property w: eventually x without fairness;",
    ),
    (
        "who is left out by nobody",
        "var x: bool; var y: bool; process p[1] { loop { y = !y; } } process q[1] { x = true; } property w: eventually x;",
    ),
    (
        "self",
        "var m: lock; var who: thread; process p[2] { atomic { await who == null; who = self; } assert who == self; atomic { who = null; } }",
    ),
];

#[test]
fn what_cannot_be_written_is_refused_with_its_place() {
    let refused = [
        ("buffer b { post p(); } proc p() { skip; }", "task buffers in Promela"),
        ("init { post p(); } proc p() { skip; }", "tasks in Promela"),
        ("proc p(n: int) { if n > 0 { p(n - 1); } } init { p(2); }", "recursion in Promela"),
        ("process p[*] { skip; }", "a process of any number in Promela"),
        (
            "var x: bool; process p[1] { x = true; } property w: eventually x under strong fairness;",
            "strong fairness in Promela",
        ),
        (
            "var x: bool; process p[1] { assume x; } property w: eventually x;",
            "a property of executions, some of which are dropped, in Promela",
        ),
        ("var x: u32; process p[1] { x = 1; }", "a number of 64 bits, or of 32 without a sign, in Promela"),
    ];
    for (source, why) in refused {
        let stop = Arc::new(AtomicBool::new(false));
        let budget = Budget { time: None, memory: None, stop: &stop };
        let text = text_of(&small(source), Sequentialization::Rounds(1), Form::Promela, Caps::default(), budget);
        match text {
            Err(ProofError::Unsupported(unsupported)) => {
                assert_eq!(unsupported.what, why, "{source}");
                assert!(unsupported.span.end > 0, "{source}");
            }
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn spin_agrees_on_each_construct() {
    if !is_there() {
        return;
    }
    for (n, (name, source)) in CASES.iter().enumerate() {
        assert!(compare(name, &small(source), &folder(&format!("case{n}"))), "{name}: nothing was compared");
    }
}

#[test]
#[ignore = "a C compiler runs for each program: minutes"]
fn spin_agrees_on_the_corpus() {
    if !is_there() {
        return;
    }
    let mut compared = 0;
    for path in programs(&["corpus/threads", "corpus/coverage", "corpus/papers", "corpus/tasks"]) {
        let source = std::fs::read_to_string(&path).expect("it is there");
        // Some need options to be explored.
        let Ok(program) = compile(&source, &Options::default()) else { continue };
        if program.processes.iter().any(|process| process.count.is_none()) {
            continue;
        }
        let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        compared += usize::from(compare(&name, &program, &folder(&name)));
    }
    assert!(compared >= 40, "{compared} programs were compared");
}

/// Two or three threads over these variables, without faults; steps of several accesses among them.
fn random_with_property(rng: &mut fastrand::Rng) -> String {
    let condition = |rng: &mut fastrand::Rng| ["x == 0", "x == y", "f", "!f", "y == 1", "x != y && f"][rng.usize(..6)];
    let statement = |rng: &mut fastrand::Rng| match rng.u32(..8) {
        0 => "x = 1 - x;".to_string(),
        1 => "y = x;".into(),
        2 => "f = !f;".into(),
        3 => format!("await {};", condition(rng)),
        4 => format!("atomic {{ await {}; y = 1 - y; x = y; f = true; f = x == 1; }}", condition(rng)),
        5 => format!("if {} {{ x = 1; }} else {{ f = false; }}", condition(rng)),
        6 => format!("select {{ when {} {{ x = 0; }} or when f {{ y = 0; }} }}", condition(rng)),
        _ => "choose { x = 1; } or { y = 1; }".into(),
    };
    let mut source = String::from("var x: 0..1; var y: 0..1; var f: bool;\n");
    for thread in 0..rng.usize(2..4) {
        let body: Vec<String> = (0..rng.usize(1..4)).map(|_| statement(rng)).collect();
        let body = body.join(" ");
        let body = if rng.u32(..3) > 0 { format!("loop {{ {body} }}") } else { body };
        source += &format!("process p{thread}[1] {{ {body} }}\n");
    }
    let formula = ["eventually A", "always eventually A", "eventually always A", "A leads to B"][rng.usize(..4)];
    let formula = formula.replace('A', condition(rng)).replace('B', condition(rng));
    let fairness = ["without fairness", "under weak fairness"][rng.usize(..2)];
    source + &format!("property wanted: {formula} {fairness};\n")
}

#[test]
#[ignore = "a C compiler runs for each program: some minutes"]
fn spin_agrees_on_properties() {
    if !is_there() {
        return;
    }
    let mut rng = fastrand::Rng::with_seed(5);
    let (mut compared, mut bugs) = (0, 0);
    for n in 0..100 {
        let program = small(&random_with_property(&mut rng));
        compared += usize::from(compare(&format!("program {n}"), &program, &folder("property")));
        bugs += usize::from(explored(&program) == Said::Bug);
    }
    assert!(compared >= 80 && (20..80).contains(&bugs), "{compared} programs were compared, {bugs} have bugs");
}

#[test]
#[ignore = "a C compiler runs for each program: some minutes"]
fn spin_agrees_on_random_programs() {
    if !is_there() {
        return;
    }
    let mut compared = 0;
    for seed in 0..200 {
        let program = small(&random(seed, Shape::Threads).source());
        compared += usize::from(compare(&format!("seed {seed}"), &program, &folder("random")));
    }
    assert!(compared >= 150, "{compared} programs were compared");
}
