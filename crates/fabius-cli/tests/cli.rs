//! The command as a user meets it: answers, exit codes, and what it says about bad input.

use crate::common::{expect, fabius, folder, json, root};
use serde_json::Value;
use std::process::{Command, Stdio};

fn file(name: &str, contents: impl AsRef<[u8]>) -> String {
    let path = folder(name).join("x.fab");
    std::fs::write(&path, contents).expect("a file can be written");
    path.display().to_string()
}

#[test]
fn the_race_in_the_bluetooth_driver_is_found_in_lanes() {
    let output = fabius(&["check", "examples/bluetooth.fab"]);
    expect(
        &output,
        1,
        &[
            "bug: assertion failed",
            "bluetooth.fab:41:9",
            "with 1 preemption",
            "-- preemption 1 --",
            "replay it: fabius ",
        ],
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.lines().any(|l| l.contains("add#1") && l.contains("stop")), "lanes are named:\n{text}");
    assert!(!text.contains('\u{1b}'), "no colour without a terminal");
}

#[test]
fn every_verdict_has_its_exit_code_and_its_json() {
    let bug = fabius(&["check", "examples/bluetooth.fab", "--json"]);
    expect(&bug, 1, &[]);
    let bug = json(&bug);
    assert_eq!(
        (bug["verdict"].as_str(), bug["kind"].as_str(), bug["cost"].as_u64()),
        (Some("bug"), Some("assertion"), Some(1))
    );
    assert_eq!(bug["bounds"]["completed"].as_u64(), Some(0));
    assert_eq!(bug["levels"][1]["bound"].as_u64(), Some(1));
    for field in ["executions", "states", "transitions"] {
        assert!(bug["levels"][0][field].is_u64(), "{field}");
    }
    assert!(bug["trace"]["steps"].as_array().is_some_and(|s| s.len() == 8));

    let verified = fabius(&["check", "examples/bluetooth_fixed.fab", "--json"]);
    expect(&verified, 0, &[]);
    assert_eq!(json(&verified)["verdict"], "verified");
    let bounded = fabius(&["check", "examples/bluetooth_fixed.fab", "--max", "1", "--json"]);
    expect(&bounded, 0, &[]);
    assert_eq!(json(&bounded)["verdict"], "no_bug_within_bounds");
    assert_eq!(json(&bounded)["bounds"]["completed"].as_u64(), Some(1));
    let unknown = fabius(&["check", "bench/models/peterson.fab", "--const", "N=4", "--time", "200ms", "--json"]);
    expect(&unknown, 3, &[]);
    assert_eq!((&json(&unknown)["verdict"], &json(&unknown)["reason"]["reason"]), (&"unknown".into(), &"time".into()));
    let error = fabius(&["check", "no_such_file.fab", "--json"]);
    expect(&error, 2, &["there is no file"]);
    assert_eq!(json(&error)["verdict"], "error");
}

#[test]
fn a_bounded_answer_never_reads_as_a_proof() {
    let output = fabius(&["check", "examples/bluetooth_fixed.fab", "--max", "1"]);
    expect(&output, 0, &["no bug within bounds", "at most 1 preemption", "beyond these bounds"]);
    let text = String::from_utf8_lossy(&output.stdout).to_lowercase();
    assert!(["verified", "proof", "correct", "safe"].iter().all(|word| !text.contains(word)), "{text}");
}

#[test]
fn files_that_cannot_be_read() {
    expect(&fabius(&["check", "no_such_file.fab"]), 2, &["there is no file `no_such_file.fab`"]);
    expect(&fabius(&["check", "examples"]), 2, &["is a directory"]);
    let bad = file("utf8", b"init {\n  skip; // \xff\n}");
    expect(&fabius(&["check", &bad]), 2, &["is not UTF-8", "line 2"]);
    expect(&fabius(&["check", &file("empty", "")]), 2, &["E0208", "nothing starts"]);
}

#[test]
fn all_syntax_and_type_errors_of_one_run_are_reported_with_their_places() {
    let syntax = file("syntax", "var x: int\nproc p( { }\ninit { x = ; let y = 1 }\n");
    expect(
        &fabius(&["check", &syntax]),
        2,
        &["x.fab:1:", "x.fab:2:", "x.fab:3:", "expected", "errors; `fabius explain"],
    );
    let types = file("types", "var b: bool;\ninit { b = 1; undefined = 2; }\n");
    expect(&fabius(&["check", &types]), 2, &["E0301", "expected `bool`, found `int`", "E0202", "^", "2 errors"]);
}

#[test]
fn bad_usage() {
    let bluetooth = "examples/bluetooth.fab";
    expect(&fabius(&["check", bluetooth, "--bond", "none"]), 2, &["--bond", "--bound"]);
    expect(&fabius(&["check", bluetooth, "--max", "many"]), 2, &["many"]);
    expect(&fabius(&["check", bluetooth, "--max", "-1"]), 2, &["invalid value '-1' for '--max <N>'"]);
    expect(&fabius(&["check", bluetooth, "-1"]), 2, &["unexpected argument '-1' found"]);
    for form in ["promela", "fab", "explicit", "shared-memory"] {
        let refused = fabius(&["translate", bluetooth, "--to", form, "--rounds", "2"]);
        expect(&refused, 2, &["keeps all schedules of the program", "--to sequential"]);
    }
    expect(&fabius(&["check", bluetooth, "--bound", "none", "--max", "2"]), 2, &["nothing is bounded", "help:"]);
    expect(
        &fabius(&["check", bluetooth, "--bound", "delays", "--scheduler", "bag"]),
        2,
        &["deterministic scheduler", "round-robin"],
    );
    expect(&fabius(&["check", bluetooth, "--strategy", "pct:0"]), 2, &["pct:3"]);
    expect(&fabius(&["check", bluetooth, "--strategy", "pct:4294967295"]), 2, &["is cut after 10000", "pct:3"]);
    expect(&fabius(&["check", bluetooth, "--jobs", "0"]), 2, &["jobs"]);
    expect(&fabius(&["check", bluetooth, "--const", "N=3"]), 2, &["E0210", "no constant `N`"]);
    expect(&fabius(&["check", bluetooth, "--instances", "add=3"]), 2, &["process"]);
    expect(&fabius(&["check", bluetooth, "--strategy", "random", "--livelock"]), 2, &["livelock"]);
    let parameterized = file("parameterized", "var x: int;\nprocess p[*] { x = 1; }\n");
    expect(&fabius(&["check", &parameterized]), 2, &["any number of threads", "--instances p=2"]);
    expect(&fabius(&["check", &parameterized, "--instances", "p=2"]), 0, &["no bug within bounds", "2 x p"]);
    expect(&fabius(&["check", &parameterized, "--instances", "p=100000000"]), 2, &["too many"]);
    let nothing = file("nothing", "process p[0] { skip; }\n");
    expect(&fabius(&["translate", &nothing, "--to", "shared-memory"]), 2, &["nothing starts"]);
    let many = file("many", "var x: bool;\nprocess p[250] { x = true; }\nprocess q[*] { x = false; }\n");
    expect(&fabius(&["translate", &many, "--to", "sequential"]), 0, &["linear_interface"]);
    let asked = file("asked", "var m: map[thread] int;\nprocess p[1] { assert forall c in m: c == 0; }\n");
    expect(
        &fabius(&["translate", &asked, "--to", "fab"]),
        2,
        &["E0501", "x.fab:2:35", "all entries of a `map[thread]`"],
    );
    expect(&fabius(&["explain", "E9999"]), 2, &["no error code"]);
    expect(&fabius(&["explain", "e0311"]), 0, &["unbounded choice"]);
    expect(&fabius(&[]), 2, &["check"]);
    expect(&fabius(&["--help"]), 0, &["Exit codes", "Usage: fabius FILE [OPTIONS]\n       fabius <COMMAND>\n"]);
}

#[test]
fn limits_inside_a_program_are_unknown_not_a_verdict() {
    let choice = file("choice", "var x: int;\ninit { x = any int; }\n");
    expect(&fabius(&["check", &choice]), 2, &["E0311", "x.fab:2:12", "range", "fabius verify"]);
    let recursion = file("recursion", "proc p() { p(); }\ninit { p(); }\n");
    expect(&fabius(&["check", &recursion]), 3, &["unknown", "active calls", "1:12"]);
    let cut = json(&fabius(&["check", &recursion, "--json"]));
    assert!(cut["bounds"]["completed"].is_null(), "what was cut was not explored: {cut}");
    let wide = file("wide", "var x: u32;\ninit { x = *; }\n");
    expect(&fabius(&["check", &wide]), 3, &["unknown", "a choice of more than"]);
    let endless = file("endless", "init { loop { skip; } }\n");
    expect(&fabius(&["check", &endless]), 3, &["no execution completes", "a loop without scheduling points, at 1:8"]);
    assert_eq!(json(&fabius(&["check", &endless, "--json"]))["vacuous"], true);
    let some = file("some", "var x: bool;\ninit { if * { x = true; } else { loop { skip; } } }\n");
    expect(&fabius(&["check", &some]), 3, &["unknown", "without a scheduling point"]);
    let integer = file("integer", "var x: int = 1;\ninit { loop { x = x * 1000000; } }\n");
    expect(&fabius(&["check", &integer]), 3, &["unknown", "64 bits"]);
    let memory = ["check", "bench/models/peterson.fab", "--const", "N=4", "--memory", "4M"];
    expect(&fabius(&memory), 3, &["unknown", "memory limit"]);
    let stateless = ["check", "examples/peterson.fab", "--stateless", "--max", "0", "--time", "20s"];
    expect(&fabius(&stateless), 3, &["unknown"]);
}

#[test]
fn a_saved_trace_replays_and_belongs_to_its_program() {
    let folder = folder("replay");
    let program = folder.join("bluetooth.fab");
    std::fs::copy(root().join("examples/bluetooth.fab"), &program).expect("the example can be copied");
    let (program, trace) = (program.display().to_string(), folder.join("bug.json").display().to_string());
    expect(&fabius(&["check", &program, "--trace", &trace]), 1, &["fabius replay"]);
    expect(&fabius(&["replay", &trace]), 1, &["-- preemption 1 --", "assertion failed"]);
    let again = fabius(&["replay", &trace, "--json"]);
    let text = std::fs::read_to_string(&trace).expect("the trace was written");
    assert_eq!(json(&again), serde_json::from_str::<Value>(&text).expect("the trace is JSON"));

    let mut edited: Value = serde_json::from_str(&text).expect("the trace is JSON");
    edited["steps"][0]["turn"]["task"] = 2.into();
    edited["steps"][1]["turn"]["task"] = 0.into();
    std::fs::write(&trace, edited.to_string()).expect("the trace can be written");
    expect(&fabius(&["replay", &trace]), 2, &["departs from the rules at step"]);
    for (field, value) in [("cost", Value::from(0)), ("bound", "delays".into()), ("message", "nothing".into())] {
        let mut edited: Value = serde_json::from_str(&text).expect("the trace is JSON");
        edited[field] = value;
        std::fs::write(&trace, edited.to_string()).expect("the trace can be written");
        expect(&fabius(&["replay", &trace]), 2, &["departs from the rules"]);
    }
    edited["version"] = 99.into();
    std::fs::write(&trace, edited.to_string()).expect("the trace can be written");
    expect(&fabius(&["replay", &trace]), 2, &["format 99"]);
    std::fs::write(&trace, "{}").expect("the trace can be written");
    expect(&fabius(&["replay", &trace]), 2, &["is not a trace"]);

    std::fs::write(&trace, &text).expect("the trace can be written");
    let source = std::fs::read_to_string(&program).expect("the program is there");
    std::fs::write(&program, source + "// changed\n").expect("the program can be written");
    expect(&fabius(&["replay", &trace]), 2, &["belongs to another program"]);
    std::fs::remove_file(&program).expect("the program is there");
    expect(&fabius(&["replay", &trace]), 2, &["is not there", "--program"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_reported_and_the_verdict_is_not_lost() {
    let output = fabius(&["check", "examples/bluetooth.fab", "--trace", "/dev/full"]);
    expect(&output, 2, &["bug: assertion failed", "cannot write `/dev/full`"]);
}

/// Runs the command, sends it a signal, and returns its answer.
#[cfg(unix)]
fn signalled(signal: &str, args: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabius"));
    command.args(args).current_dir(root()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn().expect("the command starts");
    std::thread::sleep(std::time::Duration::from_millis(700));
    let killed =
        Command::new("kill").args([signal, &child.id().to_string()]).status().expect("there is a kill command");
    assert!(killed.success());
    child.wait_with_output().expect("the command ends")
}

/// `timeout` sends its signal to the process, and then to its group.
#[test]
#[cfg(unix)]
fn a_signal_that_comes_twice_at_once_is_one() {
    for _ in 0..3 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fabius"));
        command.args(["check", "bench/models/peterson.fab", "--const", "N=5", "--json"]).current_dir(root());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the command starts");
        std::thread::sleep(std::time::Duration::from_millis(500));
        let twice = format!("kill -TERM {0}; sleep 0.005; kill -TERM {0}", child.id());
        // Who has answered already is not there any more.
        let _ = Command::new("sh").args(["-c", &twice]).stderr(Stdio::null()).status().expect("there is a shell");
        let output = child.wait_with_output().expect("the command ends");
        expect(&output, 3, &[]);
        assert_eq!(json(&output)["reason"]["reason"], "interrupted");
    }
}

#[test]
#[cfg(unix)]
fn an_interrupted_search_says_what_it_knows() {
    for signal in ["-INT", "-TERM"] {
        let output = signalled(signal, &["check", "bench/models/peterson.fab", "--const", "N=5", "--json"]);
        expect(&output, 3, &[]);
        let document = json(&output);
        assert_eq!((&document["verdict"], &document["reason"]["reason"]), (&"unknown".into(), &"interrupted".into()));
        let several =
            ["check", "bench/models/peterson.fab", "examples/bluetooth_fixed.fab", "--const", "N=5", "--json"];
        expect(&signalled(signal, &several), 2, &[]);
        let decide = signalled(signal, &["bench/models/peterson.fab", "--const", "N=5", "--json"]);
        expect(&decide, 3, &[]);
        assert_eq!(json(&decide)["reason"]["reason"], "interrupted");
        let compare = ["compare", "bench/models/peterson.fab", "--strategies", "icb", "--time", "1h", "--json"];
        let output = signalled(signal, &compare);
        expect(&output, 3, &[]);
        let measured = &json(&output)["programs"][0]["strategies"][0];
        assert_eq!(measured["runs"][0]["cut"]["reason"], "interrupted");
    }
}

#[test]
fn the_formatter_checks_and_writes() {
    let ugly = file("fmt", "init{skip;}");
    expect(&fabius(&["fmt", "--check", &ugly]), 1, &["is not formatted"]);
    expect(&fabius(&["fmt", &ugly]), 0, &[]);
    assert_eq!(std::fs::read_to_string(&ugly).expect("the file is there"), "init {\n    skip;\n}\n");
    expect(&fabius(&["fmt", "--check", &ugly]), 0, &[]);
    let locked = file("fmt_locked", "init{skip;}");
    let mut permissions = std::fs::metadata(&locked).expect("the file is there").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&locked, permissions).expect("permissions can be changed");
    expect(&fabius(&["fmt", &locked]), 2, &["is read-only"]);
    let broken = file("fmt_broken", "init {");
    expect(&fabius(&["fmt", &broken]), 2, &["E0105"]);
    assert_eq!(std::fs::read_to_string(&broken).expect("the file is there"), "init {");
    for (other, language) in [("corpus/c/ring.c", "a C program"), ("m.pml", "in Promela"), ("m.zing", "in ZING")] {
        expect(&fabius(&["fmt", other]), 2, &[language, "which is not formatted", "translate --to fab"]);
    }
}

#[test]
fn all_strategies_find_the_race_in_the_bluetooth_driver() {
    let options: [&[&str]; 10] = [
        &["--bound", "rounds"],
        &["--bound", "none"],
        &["--bound", "contexts"],
        &["--bound", "delays"],
        &["--bound", "delays", "--scheduler", "depth-first"],
        &["--bound", "depth"],
        &["--strategy", "dfs"],
        &["--stateless"],
        &["--strategy", "random", "--executions", "1000"],
        &["--strategy", "pct:3", "--executions", "1000", "--seed", "5"],
    ];
    for options in options {
        let mut args = vec!["check", "examples/bluetooth.fab", "--json"];
        args.extend(options);
        let output = fabius(&args);
        expect(&output, 1, &[]);
        assert_eq!(json(&output)["kind"], "assertion", "{options:?}");
    }
}

#[test]
fn what_saves_states_is_switched_off_word_by_word() {
    let path = folder("savings").join("alike.fab");
    let source = "var x: 0..3;\nproc p() { let v = any 1..3; x = v; x = v; }\n\
                  init { let a = spawn p(); let b = spawn p(); join a; join b; }\n";
    std::fs::write(&path, source).expect("it can be written");
    let path = path.to_str().expect("a name");
    let check = |switches: &[&str]| fabius(&[&["check", path, "--bound", "none", "--stats"], switches].concat());
    let states = |switches: &[&str]| {
        json(&fabius(&[&["check", path, "--bound", "none", "--json", "--no-reduction"], switches].concat()))["total_states"]
            .as_u64()
            .expect("all are counted")
    };
    expect(&check(&[]), 0, &["verified", "states up to which of equal threads or values is which"]);
    expect(&check(&["--no-symmetry=values"]), 0, &["states up to which of equal threads is which"]);
    expect(&check(&["--no-symmetry=threads,joined"]), 0, &["states up to which of equal values is which"]);
    let none = String::from_utf8_lossy(&check(&["--no-symmetry", "--no-reduction"]).stdout).to_string();
    assert!(!none.contains("which"), "{none}");
    let all = states(&["--no-symmetry"]);
    for word in ["threads", "values", "joined"] {
        let some = states(&[&format!("--no-symmetry={word}")]);
        assert!(states(&[]) < some && some < all, "{word}: {some} of {all}");
    }
    expect(&check(&["--no-reduction=step"]), 2, &["invalid value 'step'", "steps, outcomes"]);
}

#[test]
fn many_alike_threads_have_an_advice() {
    let path = folder("advice").join("many.fab");
    let advised = |body: &str| {
        std::fs::write(&path, format!("var x: bool;\nproc p() {{ x = true; }}\n{body}\n")).expect("it can be written");
        let said = fabius(&["check", path.to_str().expect("a name"), "--stats"]);
        expect(&said, 0, &["verified"]);
        String::from_utf8_lossy(&said.stdout).contains("`fabius verify --threads any` looks at any number of them")
    };
    assert!(advised("init { for i in 1..4 { spawn p(); } }"));
    assert!(advised("init { spawn p(); spawn p(); spawn p(); spawn p(); }"));
    assert!(advised("process q[4] { x = false; }"));
    assert!(!advised("init { spawn p(); spawn p(); }"));
    // Whoever is joined is none of any number.
    assert!(!advised("init { for i in 1..4 { let h = spawn p(); join h; } }"));
}
