//! `fabius verify` and `fabius translate` as a user meets them.
//!
//! Length: one test for each thing that a user meets.

use crate::common::{expect, fabius, json, root};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file of this test; every test has names of its own.
fn file(name: &str) -> String {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).display().to_string()
}

fn write(name: &str, text: &str) -> String {
    let path = file(name);
    std::fs::write(&path, text).expect("a file can be written");
    path
}

/// `// verify: VERDICT [KIND] [cost N] [with OPTION..]` in the header of an example.
fn check_claim(path: &str, claim: &str) -> Result<(), String> {
    let (answer, options) = claim.split_once(" with ").unwrap_or((claim, ""));
    if options.contains("--engine horn") && ask("z3", &["--version"]).is_none() {
        return Ok(());
    }
    let args: Vec<&str> = ["verify", path, "--json"].into_iter().chain(options.split_whitespace()).collect();
    let output = fabius(&args);
    let wrong = |what: &str| Err(format!("{path}: {claim}: {what}"));
    let Ok(document) = serde_json::from_slice::<Value>(&output.stdout) else {
        return wrong(&String::from_utf8_lossy(&output.stderr));
    };
    let mut words = answer.split_whitespace();
    let (verdict, kind) = (words.next().unwrap_or_default(), words.next());
    let cost = answer.split_once("cost ").and_then(|(_, n)| n.trim().parse::<u64>().ok());
    if document["verdict"] != verdict || kind.is_some_and(|k| document["kind"] != k) {
        return wrong(&format!("{} {}", document["verdict"], document["kind"]));
    }
    match cost {
        Some(cost) if document["cost"] != cost => wrong(&format!("cost {}", document["cost"])),
        _ => Ok(()),
    }
}

/// All claims of the programs in a folder, two at a time; how many there are.
fn check_claims(folder: &str) -> usize {
    let mut claims = Vec::new();
    for entry in std::fs::read_dir(root().join(folder)).expect("there are programs") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|e| e != "fab") {
            continue;
        }
        let source = std::fs::read_to_string(&path).expect("a text");
        let of_file = source.lines().filter_map(|l| l.strip_prefix("// verify: "));
        claims.extend(of_file.map(|claim| (path.display().to_string(), claim.to_string())));
    }
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((path, claim)) = claims.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(message) = check_claim(path, claim) {
                wrong.lock().expect("no other thread has panicked").push(message);
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().expect("no thread has panicked");
    assert!(wrong.is_empty(), "{} claims, wrong:\n{}", claims.len(), wrong.join("\n"));
    claims.len()
}

#[test]
fn every_claim_of_the_examples_holds() {
    assert!(check_claims("examples") >= 15);
    assert!(check_claims("corpus/recursive/bug") + check_claims("corpus/recursive/safe") >= 15);
}

#[test]
fn every_claim_of_the_corpus_for_any_number_of_threads_holds() {
    assert!(check_claims("corpus/parameterized/bug") >= 46);
    assert!(check_claims("corpus/parameterized/safe") >= 46);
}

#[test]
fn a_bug_is_found_in_lanes_and_its_trace_replays() {
    let trace = file("verify-trace.json");
    let output = fabius(&["verify", "examples/account.fab", "--trace", &trace, "--stats"]);
    expect(
        &output,
        1,
        &["more was paid than there was", "withdraw#1", "-- switch --", "encoding", "solving", "fabius replay "],
    );
    expect(&fabius(&["replay", &trace]), 1, &["more was paid than there was"]);
    let document = json(&fabius(&["verify", "examples/account.fab", "--json"]));
    assert_eq!((&document["verdict"], &document["kind"]), (&"bug".into(), &"assertion".into()));
    assert!(document["proof"]["queries"].as_u64().is_some_and(|n| n > 0));
    assert!(document["trace"]["steps"].as_array().is_some_and(|s| !s.is_empty()));
}

#[test]
fn what_was_left_out_is_said() {
    let source = "var x: 0..99;\ninit {\n    while * { x = (x + 1) % 100; }\n    assert x < 50;\n}\n";
    let path = write("endless.fab", source);
    let output = fabius(&["verify", &path, "--unwind", "3"]);
    expect(&output, 0, &["no bug within bounds", "but the loop at 3:5 was followed for 3 iterations"]);
    let document = json(&fabius(&["verify", &path, "--unwind", "3", "--json"]));
    assert_eq!(
        document["bounds"]["limits"][0],
        "the loop at 3:5 was followed for 3 iterations (`--unwind` raises this)"
    );
    // What nobody asked for leaves the answer open.
    expect(&fabius(&["verify", &path]), 3, &["unknown: ", "followed for 10 iterations (`--unwind` raises this)"]);
    // What nobody asks about is the same after any number of iterations.
    let path = write("idle.fab", "var x: 0..3;\ninit {\n    while * { x = (x + 1) % 4; }\n}\n");
    expect(&fabius(&["verify", &path, "--unwind", "3"]), 0, &["new rounds was explored\nSchedules beyond"]);
    let path = write(
        "recursion.fab",
        "proc down(n: int) {\n    if n > 0 {\n        down(n - 1);\n    } else {\n        assert n == 0;\n    }\n}\ninit {\n    let n = any int;\n    \
         assume n >= 0;\n    down(n);\n}\n",
    );
    let output = fabius(&["verify", &path, "--recursion", "4"]);
    expect(&output, 0, &["but the recursive call at 3:9 was followed for 4 active calls"]);
}

#[test]
fn translations_are_formatted_programs() {
    for (to, options) in [
        ("sequential", &["--delays", "1"][..]),
        ("sequential", &["--rounds", "2"]),
        ("sequential", &["--zields", "2", "--yields", "2"]),
        ("single-buffer", &["--zields", "2"]),
        ("yield-free", &["--yields", "2"]),
        ("explicit", &[]),
    ] {
        for example in ["bluetooth", "fig10", "account"] {
            let path = format!("examples/{example}.fab");
            let args: Vec<&str> = ["translate", &path, "--to", to].iter().chain(options).copied().collect();
            let output = fabius(&args);
            if output.status.code() == Some(2) {
                // Tasks have no delays; that is said where it is.
                expect(&output, 2, &["E0501", &format!("{example}.fab:")]);
                continue;
            }
            expect(&output, 0, &["interleave explicit;"]);
            let name = format!("{example}-{to}{}.fab", options.concat());
            let printed = write(&name, &String::from_utf8_lossy(&output.stdout));
            expect(&fabius(&["fmt", "--check", &printed]), 0, &[]);
        }
    }
}

#[test]
fn a_translated_program_fails_where_its_source_does() {
    let path = write(
        "race.fab",
        "var x: 0..2;\nproc inc() {\n    x = x + 1;\n}\ninit {\n    let a = spawn inc();\n    x = x + 1;\n    \
         join a;\n    assert x == 2;\n}\n",
    );
    for (rounds, code) in [("1", 0), ("2", 1)] {
        let output = fabius(&["translate", &path, "--rounds", rounds]);
        let printed = write(&format!("race-{rounds}.fab"), &String::from_utf8_lossy(&output.stdout));
        expect(&fabius(&["check", &printed, "--strategy", "dfs", "--bound", "none"]), code, &[]);
        expect(&fabius(&["verify", &printed]), code, &[]);
        expect(&fabius(&["verify", &path, "--rounds", rounds]), code, &[]);
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let bluetooth = "examples/bluetooth.fab";
    expect(&fabius(&["verify", bluetooth, "--rounds", "2", "--delays", "1"]), 2, &["cannot be used with"]);
    expect(&fabius(&["verify", bluetooth, "--rounds", "0"]), 2, &["1..=64"]);
    expect(&fabius(&["verify", bluetooth, "--solver", "nosuch"]), 2, &["`nosuch` is not on the search path"]);
    expect(&fabius(&["verify", bluetooth, "--dump", "pdf", "x"]), 2, &["smt2, horn, fab, boogie, c"]);
    expect(&fabius(&["verify", "examples/fig10.fab", "--delays", "1"]), 2, &["E0501", "--zields"]);
    expect(&fabius(&["verify", "nosuch.fab"]), 2, &["there is no file"]);
    let path = write("levels.fab", "level L < H;\nproc t() { }\ninit {\n    post @H t();\n}\n");
    expect(&fabius(&["verify", &path, "--delays", "1"]), 2, &["E0501", "levels.fab:4:5", "by delays", "--zields"]);
    let path = write("both.fab", "var x: int;\nproc t() { x = 1; }\nbuffer b {\n    spawn t();\n    post t();\n}\n");
    for bound in ["--rounds=1", "--delays=1"] {
        expect(&fabius(&["verify", &path, bound]), 2, &["E0501", "use `--zields` and `--yields`"]);
    }
    expect(&fabius(&["verify", &path, "--zields=1"]), 0, &["no bug within bounds"]);
    let path = write("many.fab", "var x: int;\nprocess p[*] {\n    x = x + 1;\n}\n");
    expect(&fabius(&["verify", &path, "--delays", "1"]), 2, &["E0501", "many.fab:2:", "--instances p=2"]);
}

/// Runs a tool on a dump, if the tool is there.
fn ask(tool: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(tool).args(args).stdin(Stdio::null()).output();
    match output {
        Ok(output) => {
            Some(String::from_utf8_lossy(&output.stdout).to_string() + &String::from_utf8_lossy(&output.stderr))
        }
        Err(_) => {
            eprintln!("skipped: `{tool}` is not installed");
            None
        }
    }
}

/// An example, its options, and whether there is a bug.
const ASKED: [(&str, &[&str], bool); 4] = [
    ("examples/bluetooth.fab", &["--rounds", "2"], true),
    ("examples/bluetooth.fab", &["--rounds", "1"], false),
    ("examples/fig9.fab", &["--const", "N=1", "--yields", "1", "--recursion", "1"], true),
    ("examples/account.fab", &["--const", "LOCKED=1", "--rounds", "2"], false),
];

fn dumped(format: &str, extension: &str, number: usize) -> String {
    let (example, options, _) = ASKED[number];
    let path = file(&format!("dump-{number}.{extension}"));
    // What an earlier run has left is a source of C, which is not overwritten.
    let _ = std::fs::remove_file(&path);
    let args: Vec<&str> = ["verify", example].iter().chain(options).copied().chain(["--dump", format, &path]).collect();
    expect(&fabius(&args), 0, &[]);
    path
}

#[test]
fn other_solvers_give_the_same_answers() {
    for (number, (_, _, is_bug)) in ASKED.iter().enumerate() {
        let path = dumped("smt2", "smt2", number);
        for (tool, limit) in [("z3", "-T:30"), ("cvc5", "--tlimit=30000")] {
            if let Some(answer) = ask(tool, &[limit, &path]) {
                assert_eq!(answer.trim(), if *is_bug { "sat" } else { "unsat" }, "{tool} {path}");
            }
        }
    }
}

#[test]
fn solvers_that_are_asked_along_the_way_give_the_same_answers() {
    let installed: Vec<&str> = ["z3", "cvc5"].into_iter().filter(|s| ask(s, &["--version"]).is_some()).collect();
    for solver in installed {
        for (example, options, is_bug) in ASKED {
            let args: Vec<&str> = ["verify", example, "--solver", solver].iter().chain(options).copied().collect();
            expect(&fabius(&args), i32::from(is_bug), &[]);
        }
    }
}

#[test]
fn boogie_gives_the_same_answers() {
    for (number, (_, _, is_bug)) in ASKED.iter().enumerate() {
        let path = dumped("boogie", "bpl", number);
        if let Some(answer) = ask("boogie", &["/loopUnroll:4", "/nologo", &path]) {
            let says = if *is_bug { "might not hold" } else { " 0 errors" };
            assert!(answer.contains(says), "{path}: {answer}");
        }
    }
}

#[test]
fn the_program_in_c_compiles_and_cbmc_gives_the_same_answers() {
    for (number, (_, _, is_bug)) in ASKED.iter().enumerate() {
        let path = dumped("c", "c", number);
        if let Some(answer) = ask("cc", &["-std=c11", "-Wall", "-Wno-unused", "-fsyntax-only", &path]) {
            assert!(!answer.contains("error"), "{path}: {answer}");
        }
        if let Some(answer) = ask("cbmc", &["--unwind", "5", &path]) {
            assert!(
                answer.contains(if *is_bug { "VERIFICATION FAILED" } else { "VERIFICATION SUCCESSFUL" }),
                "{answer}"
            );
        }
    }
}

#[test]
fn the_least_bounds_are_found_in_turn() {
    for (options, cost) in [(&["--rounds", "9"][..], "1 new round"), (&["--delays", "9"], "1 delay")] {
        let args: Vec<&str> =
            ["verify", "examples/bluetooth.fab", "--incremental"].iter().chain(options).copied().collect();
        expect(&fabius(&args), 1, &[&format!("with {cost}; with fewer there is no bug")]);
    }
}

#[test]
fn bounds_are_raised_no_further_than_asked() {
    let clean = "examples/bluetooth_fixed.fab";
    expect(&fabius(&["verify", clean, "--incremental", "--rounds", "2"]), 0, &["at most 1 new round"]);
    expect(&fabius(&["verify", clean, "--delays", "65"]), 2, &["65 is not in 0..=64"]);
    expect(&fabius(&["verify", clean, "--rounds", "2", "--scheduler", "depth-first"]), 2, &["--delays"]);
}

#[test]
fn deadlocks_are_found_by_rounds() {
    let output = fabius(&["verify", "examples/philosophers.fab", "--const", "N=3", "--rounds", "2"]);
    expect(&output, 1, &["bug: deadlock: dine#1 waits at"]);
    let polite = ["--const", "POLITE=1", "--rounds", "2", "--unwind", "10"];
    let output = fabius(&[&["verify", "examples/philosophers.fab", "--const", "N=3"], &polite[..]].concat());
    expect(&output, 0, &["no bug within bounds"]);
}

#[test]
fn what_a_reviewer_found_stays_found() {
    for (name, source, code) in [
        ("many", "process w[65] { assert false; }\n", 1),
        ("below", "init { var x: u8 = 252; let y = x as -5..-1; assert true; }\n", 1),
        ("above", "init { let x: u8 = any u8; let y: 0..1000 = x as 0..1000; assert y < 1000; }\n", 0),
        ("same-handle", "proc p() { }\ninit { let a = spawn p(); let b = spawn p(); assert a == b; }\n", 1),
        ("other-handle", "proc p() { }\ninit { let a = spawn p(); let b = spawn p(); assert a != b; }\n", 0),
        ("kept-handle", "proc p() { }\nvar h: [thread; 2];\ninit { h[0] = spawn p(); assert h[0] == h[1]; }\n", 1),
        ("shown-handle", "init { print(self); }\n", 0),
        ("made-handle", "record R { who: thread }\ninit { let r: ref R = new R { who: self }; assert false; }\n", 1),
        ("no-choice", "var g: int;\nprocess p[1] { let y: int = any g..0; choose { } or { assert g != 0; } }\n", 1),
        ("one-name", "enum One { A }\nvar x: One;\nprocess p[1] { x = any One; choose { } or { assert false; } }\n", 1),
        ("one-left", "init { let n = any 0..1; let y = any 0..n; let z = any 0..1; assert z == 0 || n == 1; }\n", 1),
        ("few-of-many", "var x: u64;\ninit { x = any 0..3; assert x != 2; }\n", 1),
        ("at-once", "var y: int;\nproc p() { }\ninit { let h = spawn p(); y = 3; join h; assert y < 3; }\n", 1),
        ("choice-first", "init { choose { } or { assert false; } }\n", 1),
        ("prefix", "var x: int;\ninit { if * { x = 1; } assert x == 0; }\n", 1),
        ("skip", "var x: int;\nprocess p[1] { zield; skip; x = 1; assert false; }\n", 1),
        ("decided", "var x: int;\nprocess p[1] { zield; if true { x = 1; } assert false; }\n", 1),
        (
            "decided-read",
            "var x: int;\nvar a: [int; 2];\nprocess p[1] { x = 1; if false && a[0] == 0 { } x = any x..2; assert x == 1; }\n",
            1,
        ),
        (
            "break",
            "var x: int;\nprocess p[1] { loop { zield; if x == 0 { zield; break; } } x = 1; assert false; }\n",
            1,
        ),
        (
            "waits-in-turn",
            "var r: int;\nvar q: int;\nbuffer b { var h: thread; yield; while r == q { join h; } }\nbuffer c { }\n",
            1,
        ),
        (
            "index-first",
            "var i: i8 = -127;\nvar a: [0..2; 2];\nprocess p[1] { a[(i as int)] = (i as int) - a[0]; }\n",
            1,
        ),
        ("null-first", "record R { v: 0..2 }\nvar y: int = 7;\nprocess p[1] { var r: ref R; r.v = y; }\n", 1),
        (
            "waits-not",
            "interleave explicit;\nvar g: int;\nprocess p[1] { g = 0; }\nprocess q[1] { g = 1; await g == 1; }\n",
            0,
        ),
        (
            "three-indexes",
            "var f: [[[bool; 3]; 3]; 3];\nvar i: int = 2;\nproc p(j: int, k: int) { f[i][j][k] = true; }\n\
             process q[1] { p(1, 0); assert !f[2][1][0]; }\n",
            1,
        ),
        ("index", "var a: [bool; 2];\nvar i: int = 0;\nprocess p[1] { await a[i]; }\nprocess q[1] { i = 5; }\n", 1),
    ] {
        let path = write(&format!("found-{name}.fab"), source);
        expect(&fabius(&["verify", &path]), code, &[]);
        // What has no end cannot be explored.
        if !source.contains("any u64") {
            expect(&fabius(&["check", &path]), code, &[]);
        }
    }
    let empty =
        "var b: bool;\nproc p() { }\nproc q() { b = false; assert b; }\ninit { spawn p(); spawn q(); await b; }\n";
    let dropped =
        "proc p() { var i: int; assume i > 0; }\nproc q() { var h: thread; join h; }\ninit { spawn p(); spawn q(); }\n";
    let perhaps = "var x: int;\nproc p(n: int) { if n > 0 { x = n; } }\ninit { let h = spawn p(0); x = 3; join h; assert x < 3; }\n";
    for (name, source, option, code) in [
        ("empty", empty, "--delays=1", 1),
        ("empty", empty, "--rounds=2", 1),
        ("dropped", dropped, "--delays=1", 3),
        ("dropped", dropped, "--rounds=2", 3),
        ("perhaps", perhaps, "--rounds=1", 1),
        ("perhaps", perhaps, "--delays=0", 1),
        // The tasks of a buffer share its variables.
        ("own", "thread var t: int;\nproc p() { assert t == 0; }\ninit { t = 1; post p(); }\n", "--delays=0", 1),
    ] {
        let path = write(&format!("found-{name}.fab"), source);
        expect(&fabius(&["verify", &path, option]), code, &[]);
    }
}

#[test]
fn rounds_are_counted_in_order_of_creation() {
    // `t3` is before the thread that `t1` makes late, which gets the place of one that has finished.
    let late = "var g: int;\nvar fin: bool;\nproc n() { g = 7; }\nproc t1() { await fin; spawn n(); }\nproc t2() { fin = true; }\n\
                proc t3() { assert g != 7; }\ninit { spawn t1(); spawn t2(); spawn t3(); await fin; }\n";
    let path = write("late.fab", late);
    for (rounds, max, code) in [("1", "0", 0), ("2", "1", 0), ("3", "2", 1)] {
        expect(&fabius(&["verify", &path, "--rounds", rounds]), code, &[]);
        for how in [&[][..], &["--stateless"], &["--strategy", "dfs"]] {
            let args: Vec<&str> =
                ["check", &path, "--bound", "rounds", "--max", max].iter().chain(how).copied().collect();
            expect(&fabius(&args), code, &[]);
        }
    }
}

#[test]
fn numbers_beyond_64_bits_are_unknown() {
    let deep = "proc f(n: int, y: int) {\n    if n > 0 { if y > 9223372036854775807 { f(n - 1, y); } } else { assert false; }\n}\n\
                init { let x: int = any int; assume x > 4611686018427387904; let y: int = x * 4; f(4, y); }\n";
    let sum = "init { let x: int = any int; assume x > 9223372036854775800; let y: int = x + 100; assert y < 0; }\n";
    let one_more = "init { var v: int = 9223372036854775807; v = v + 1; assert v < 0; }\n";
    let chosen = "init { let v: int = any int; assume v > 9223372036854775807; assert false; }\n";
    let small = "init { let v: int = any int; let w: int = any int; assert v + w < v; }\n";
    let (might, beyond) = ("integers beyond 64 bits might matter", "an `int` beyond 64 bits");
    for (name, source, code, embedded, exact) in [
        ("deep", deep, 3, might, beyond),
        ("sum", sum, 3, might, beyond),
        ("one-more", one_more, 3, "an `int` beyond 64 bits, at 1:46", "an `int` beyond 64 bits, at 1:46"),
        ("chosen", chosen, 3, might, beyond),
        ("small", small, 1, "`v + w < v`", "`v + w < v`"),
    ] {
        let path = write(&format!("beyond-{name}.fab"), source);
        let output = fabius(&["verify", &path]);
        expect(&output, code, &[embedded]);
        assert!(!String::from_utf8_lossy(&output.stdout).contains("was explored"), "nothing was");
        if ask("z3", &["--version"]).is_some() {
            expect(&fabius(&["verify", &path, "--solver", "z3"]), code, &[exact]);
        }
    }
}

#[test]
fn maps_are_guessed_by_their_keys() {
    let source = "enum C { R, G }\nvar m: map[C] u8;\nvar b: map[bool] 0..2;\nvar r: map[2..4] 0..2;\nvar u: map[u8] bool;\n\
                  process p[1] { m[C.R] = any u8; b[true] = 2; m[C.G] = 2; r[2] = 2; u[3] = true; assert m[C.G] == 2; }\n";
    let path = write("keys.fab", source);
    for to in ["sequential", "single-buffer", "yield-free"] {
        let output = fabius(&["translate", &path, "--to", to]);
        expect(&output, 0, &["any u8"]);
        let printed = write(&format!("keys-{to}.fab"), &String::from_utf8_lossy(&output.stdout));
        expect(&fabius(&["fmt", "--check", &printed]), 0, &[]);
        expect(&fabius(&["verify", &printed]), 0, &["no bug"]);
    }
}

#[test]
fn choices_of_any_width_replay() {
    for (name, source, message) in [
        ("u64", "var x: u64;\ninit { x = any u64; assert x * x != 49; }\n", "`x * x != 49`"),
        ("i8", "var x: i8;\ninit { x = any i8; assume x > 0; x = x + 1; assert x > 0; }\n", "(`x` is -128)"),
        ("product", "init { let x = any int; let y = any int; assume x > 1 && y > 1; assert x * y != 143; }\n", "143"),
        ("even", "init { let x = any int; assume x > 1000; assert x % 2 != 0; }\n", "`x % 2 != 0`"),
        (
            "apart",
            "init { let x = any int; let y = any int; assume x > 1000 && y > 1000; assert x - y != 1; }\n",
            "x - y",
        ),
        ("quotient", "init { let x = any int; assume x > 1000000; assert x / 1000 != 1003; }\n", "1003"),
        (
            "product0",
            "init { let x = any int; let b = any 0..40; assume x > 1000; let p = b * x; assert p != 0; }\n",
            "p != 0",
        ),
        ("clock", "record clock { n: int }\nvar c: clock;\ninit { c.n = 5; assert c.n != 5; }\n", "c.n != 5"),
        ("zero", "init { let d = any int; assert 10 / d < 100; }\n", "division by zero"),
        ("null", "record R { n: int }\nvar r: ref R;\ninit { let n = r.n; }\n", "null"),
    ] {
        let (path, trace) = (write(&format!("wide-{name}.fab"), source), file(&format!("wide-{name}.json")));
        expect(&fabius(&["verify", &path, "--trace", &trace]), 1, &["bug: ", message]);
        expect(&fabius(&["replay", &trace]), 1, &[message]);
    }
}

#[test]
fn horn_clauses_decide_without_a_bound_on_loops_and_recursion() {
    let endless = write(
        "horn-endless.fab",
        "var x: int;\ninit {\n    let n = any int;\n    assume n >= 0;\n    while x < n {\n        x = x + 1;\n    }\n    assert x == n;\n}\n",
    );
    let late = write(
        "horn-late.fab",
        "proc down(n: int) {\n    assert n != 3;\n    if n > 0 {\n        down(n - 1);\n    }\n}\ninit {\n    let n = any int;\n    var i: int = 0;\n    \
         while i < n {\n        i = i + 1;\n    }\n    assume i == 20;\n    down(i);\n}\n",
    );
    let clauses = file("horn.smt2");
    expect(&fabius(&["verify", &endless, "--dump", "horn", &clauses]), 0, &[]);
    let text = std::fs::read_to_string(&clauses).expect("it was written");
    assert!(text.contains("(set-logic HORN)") && text.contains("; the loop at 5:5 in `init"), "{text}");
    expect(&fabius(&["verify", &endless, "--engine", "horn", "--solver", "cvc5"]), 2, &["z3 does"]);
    // An invariant needs no clauses.
    expect(&fabius(&["verify", "examples/spin_lock_any.fab", "--incremental", "--engine", "horn"]), 0, &["verified"]);
    let Some(answer) = ask("z3", &["-T:30", &clauses]) else { return };
    assert_eq!(answer.trim(), "sat", "sat: it is safe");
    let bounded = json(&fabius(&["verify", &endless, "--json"]));
    assert!(bounded["bounds"]["limits"].as_array().is_some_and(|l| !l.is_empty()), "{bounded}");
    let document = json(&fabius(&["verify", &endless, "--engine", "horn", "--json"]));
    assert_eq!(document["verdict"], "no_bug_within_bounds");
    assert!(document["bounds"]["limits"].is_null(), "{document}");
    // Deeper than `--unwind` and `--recursion` go.
    expect(&fabius(&["verify", &late]), 3, &["unknown", "the loop at"]);
    let trace = file("horn-late.json");
    expect(&fabius(&["verify", &late, "--engine", "horn", "--trace", &trace]), 1, &["bug: assertion failed: `n != 3`"]);
    expect(&fabius(&["replay", &trace]), 1, &["`n != 3`"]);
}

#[test]
fn horn_clauses_give_the_same_answers() {
    if ask("z3", &["--version"]).is_none() {
        return;
    }
    for (example, options, is_bug) in ASKED.into_iter().chain([
        ("examples/account.fab", &["--const", "LOCKED=1"][..], false),
        ("examples/account.fab", &[], true),
        ("examples/ticket_lock.fab", &[], false),
        ("examples/ticket_lock.fab", &["--const", "BUG=1"], true),
        ("examples/request_sizes.fab", &[], false),
        ("examples/request_sizes.fab", &["--const", "BUG=1"], true),
        ("examples/request_sizes.fab", &["--const", "LOCKED=0"], true),
    ]) {
        let args: Vec<&str> = ["verify", example, "--engine", "horn"].iter().chain(options).copied().collect();
        let said = if is_bug { "bug: " } else { "no bug within bounds" };
        expect(&fabius(&args), i32::from(is_bug), &[said]);
    }
}

#[test]
fn any_number_of_threads_is_no_more_than_that() {
    let lock = "var m: lock;\nvar x: 0..1;\nprocess p[*] { m.acquire(); x = 1; assert x == 1; x = 0; m.release(); }\n";
    let by_hand = format!("{lock}process q[*] {{ m.holder = null; }}\n");
    for (name, source, code, text) in [
        ("init", "var n: 0..3;\ninit { n = 1; n = 2; }\nprocess p[*] { assert n == 2; n = 2; }\n", 0, "verified"),
        ("quiet", "process p[*] { assert 1 == 2; }\n", 1, "1 step with 0 new rounds"),
        ("prefix", "var z: bool;\nprocess p[*] { if * { z = true; } else { assert false; } }\n", 1, "1 step"),
        (
            "heap",
            "record N { v: 0..1 }\nvar c: 0..9;\nprocess p[*] { atomic { let h = new N {}; c = c + 1; assert c < 9; } }\n",
            3,
            "at most 8 objects",
        ),
        ("lock", lock, 0, "verified"),
        ("by-hand", &by_hand, 2, "a thread that may take a lock over"),
        ("whole", "var m: lock;\nprocess p[*] { m.acquire(); m = lock {}; m.release(); }\n", 2, "a handle of a thread"),
        (
            "element",
            "var m: [lock; 2];\nvar i: 0..1;\nprocess p[*] { m[if i == 1 { 0 } else { 1 }].acquire(); m[1].release(); }\n",
            0,
            "verified",
        ),
        ("declared", "var x: bool;\nprocess q[*] { x = true; }\nprocess d[1] { assert !x; }\n", 1, "`!x`"),
        (
            "grows",
            "var sum: int;\nprocess p[*] { let before = sum; sum = before + 1; assert sum > before; }\n",
            1,
            "assertion failed",
        ),
    ] {
        let path = write(&format!("any-{name}.fab"), source);
        expect(&fabius(&["verify", &path, "--threads", "any", "--rounds", "2", "--incremental"]), code, &[text]);
    }
    for (name, source, options, code, text) in [
        (
            "recursive",
            "var x: bool;\nproc f() { if * { f(); } }\nprocess p[*] { f(); x = true; }\n",
            &["--incremental"][..],
            0,
            "verified",
        ),
        (
            "once",
            "var x: bool;\nproc f() { f(); }\nprocess p[*] { f(); x = true; assert false; }\n",
            &["--engine", "bmc", "--recursion", "1"],
            0,
            "was followed for 1 active call (`--recursion` raises this)\n",
        ),
        (
            "deep",
            "var x: bool;\nproc f() { f(); }\nprocess p[*] { f(); x = true; assert false; }\n",
            &["--engine", "bmc", "--recursion", "6"],
            0,
            "was followed for 6 active calls (`--recursion` raises this)\n",
        ),
        (
            "chosen",
            "process p[*] { let t = any int; assert t > 0; }\n",
            &["--engine", "summaries"],
            2,
            "a value of type `int`",
        ),
        ("int", "var x: int;\nprocess p[*] { x = 1; assert x > 0; }", &["--engine", "interfaces"], 2, "no finite size"),
        (
            "given",
            "process p[*] { }\n",
            &["--engine", "interfaces", "--instances", "p=2"],
            2,
            "leave out `--instances`",
        ),
    ] {
        let path = write(&format!("any-{name}.fab"), source);
        expect(&fabius(&[&["verify", &path, "--rounds", "2"], options].concat()), code, &[text]);
    }
    // What holds for one thread is no proof for any number of them.
    let source = "var n: 0..3;\nprocess a[*] { atomic { assume n < 3; n += 1; } }\nprocess b[*] { assert n < 2; }\n";
    let path = write("any-some.fab", source);
    let given = ["verify", &path, "--rounds", "2", "--incremental", "--instances", "a=1"];
    expect(&fabius(&given), 0, &["no bug within bounds", "1 x a, any number of b"]);
    expect(&fabius(&given[..5]), 1, &["`n < 2`"]);
}

#[test]
fn what_a_limit_cuts_is_not_written_and_what_was_there_stays() {
    let cut = "nothing was written: the time limit was reached";
    let bluetooth = "examples/bluetooth.fab";
    let output = fabius(&["translate", bluetooth, "--time", "0ms"]);
    expect(&output, 3, &[cut]);
    assert!(output.stdout.is_empty());
    let kept = write("kept.smt2", "mine");
    expect(&fabius(&["verify", bluetooth, "--rounds", "2", "--time", "0ms", "--dump", "smt2", &kept]), 3, &[cut]);
    assert_eq!(std::fs::read_to_string(&kept).expect("it is there"), "mine");
    let graph = write("kept.dot", "mine");
    let words = "kept.dot` was not written: the time limit was reached";
    expect(&fabius(&["check", "examples/peterson.fab", "--time", "0ms", "--dot", &graph]), 3, &["unknown", words]);
    assert_eq!(std::fs::read_to_string(&graph).expect("it is there"), "mine");
    expect(&fabius(&["verify", bluetooth, "--rounds", "2", "--memory", "1K"]), 3, &["the memory limit was reached"]);
}
