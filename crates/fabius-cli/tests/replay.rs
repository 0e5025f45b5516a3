//! `fabius replay` checks all that it repeats.

use crate::common::{expect, fabius, folder, json, root};
use serde_json::{Value, json};

/// Saves the trace of a bug; returns where it is.
fn saved(name: &str, args: &[&str]) -> String {
    let trace = folder(name).join("bug.json").display().to_string();
    expect(&fabius(&[args, &["--trace", &trace]].concat()), 1, &[]);
    trace
}

/// The trace replays, and none of these edits is believed.
#[track_caller]
fn refuses(trace: &str, edits: &[(&str, Value)]) {
    let text = std::fs::read_to_string(trace).expect("the trace was written");
    let whole: Value = serde_json::from_str(&text).expect("the trace is JSON");
    let again = fabius(&["replay", trace, "--json"]);
    expect(&again, 1, &[]);
    assert_eq!(json(&again), whole);
    for (field, value) in edits {
        let mut edited = whole.clone();
        assert_ne!(edited[field], *value, "{field}");
        edited[field] = value.clone();
        std::fs::write(trace, edited.to_string()).expect("the trace can be written");
        let output = fabius(&["replay", trace]);
        let text = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(2), "{field} = {value}");
        assert!(text.contains("departs from the rules"), "{field} = {value}: {text}");
    }
    std::fs::write(trace, text).expect("the trace can be written");
}

const BLUETOOTH: &str = "examples/bluetooth.fab";

#[test]
fn an_edited_trace_of_a_program_is_not_believed() {
    let link = json!([{ "kind": "spawn", "from": 0, "to": 1 }]);
    refuses(&saved("edited_links", &["check", "corpus/threads/bug/lost_update.fab"]), &[("links", json!([]))]);
    let edits = [
        ("cycle", json!(0)),
        ("links", link),
        ("scheduler", json!("round-robin")),
        ("scheduler", json!("depth-first")),
        ("bound", json!("contexts")),
        ("bound", json!("depth")),
        ("bound", json!("none")),
        ("cost", json!(0)),
        ("kind", json!("deadlock")),
    ];
    refuses(&saved("edited_preemptions", &["check", BLUETOOTH]), &edits);
    let edits = [("scheduler", json!("depth-first")), ("scheduler", json!("bag")), ("cost", json!(1))];
    refuses(&saved("edited_delays", &["check", "corpus/threads/bug/ape.fab", "--bound", "delays"]), &edits);
    refuses(&saved("edited_depth", &["check", BLUETOOTH, "--bound", "depth"]), &[("cost", json!(1))]);
    refuses(&saved("edited_rounds", &["check", BLUETOOTH, "--bound", "rounds"]), &[("cost", json!(7))]);
}

#[test]
fn an_edited_cycle_is_not_believed() {
    let trace = saved("edited_cycle", &["check", "corpus/threads/bug/livelock.fab", "--livelock"]);
    let edits = [
        ("cycle", json!(2)),
        ("cycle", Value::Null),
        ("bound", json!("delays")),
        ("bound", json!("depth")),
        ("cost", json!(2)),
        ("scheduler", json!("depth-first")),
    ];
    refuses(&trace, &edits);
    for bound in ["depth", "rounds", "none", "contexts"] {
        refuses(&saved("cycles", &["check", "corpus/threads/bug/livelock.fab", "--livelock", "--bound", bound]), &[]);
    }
}

#[test]
fn an_edited_trace_of_messages_is_not_believed() {
    let link = json!([{ "kind": "message", "from": 0, "to": 1 }]);
    let edits = [
        ("cycle", json!(0)),
        ("links", json!([])),
        ("links", link),
        ("scheduler", json!("round-robin")),
        ("bound", json!("preemptions")),
        ("cost", json!(3)),
        ("kind", json!("deadlock")),
    ];
    refuses(&saved("edited_messages", &["trace", "examples/mcapi.ctp"]), &edits);
}

/// However a bug is found, what is saved replays.
#[test]
fn what_is_saved_replays() {
    let of_bluetooth: [&[&str]; 9] = [
        &["--bound", "contexts"],
        &["--scheduler", "depth-first"],
        &["--scheduler", "round-robin", "--stateless", "--max", "3"],
        &["--bound", "none"],
        &["--scheduler", "bounded-bag:3"],
        &["--strategy", "dfs"],
        &["--strategy", "random", "--seed", "3"],
        &["--strategy", "pct:3", "--seed", "5"],
        &["--stateless"],
    ];
    for (number, options) in of_bluetooth.iter().enumerate() {
        let args = [&["check", BLUETOOTH][..], options].concat();
        refuses(&saved(&format!("saved_{number}"), &args), &[]);
    }
    refuses(&saved("saved_verify", &["verify", BLUETOOTH, "--rounds", "2"]), &[]);
    refuses(&saved("saved_delays", &["verify", BLUETOOTH, "--delays", "2"]), &[]);
    let bugs = root().join("corpus");
    let mut found = 0;
    for folder in ["threads/bug", "tasks/bug", "buffers/bug", "levels/bug"] {
        let Ok(programs) = std::fs::read_dir(bugs.join(folder)) else { continue };
        for program in programs.map(|entry| entry.expect("an entry").path()) {
            let program = program.display().to_string();
            let options = ["--bound", "rounds", "--races", "--time", "2s"];
            let trace = crate::common::folder("saved_corpus").join("bug.json").display().to_string();
            let output = fabius(&[&["check", &program], &options[..], &["--trace", &trace]].concat());
            if output.status.code() == Some(1) {
                found += 1;
                refuses(&trace, &[]);
            }
        }
    }
    assert!(found > 10, "{found}");
}

/// Thousands of statements in a step are no matter for a search, and take the reference semantics seconds.
#[test]
fn limits_hold_in_a_replay() {
    let program = folder("long_steps").join("long_steps.fab").display().to_string();
    let count = |n: u32| format!("atomic {{ var n{n} = 0; while n{n} < 8000 {{ n{n} = n{n} + 1; }} x = x + 1; }}\n");
    let text = format!("var x: int;\ninit {{\n{} assert x < 4;\n}}\n", (0..4).map(count).collect::<String>());
    std::fs::write(&program, text).expect("it can be written");
    let trace = saved("long_steps_trace", &["check", &program]);
    for (limit, words) in
        [("--time=1ms", "the time limit was reached"), ("--memory=1M", "the memory limit was reached")]
    {
        expect(&fabius(&["replay", &trace, limit]), 3, &["was not re", words]);
    }
}
