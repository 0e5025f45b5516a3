//! What other programs read: several files at once, JUnit, SARIF, DOT.

use crate::common::{expect, fabius, folder, json, root};
use serde_json::Value;
use std::path::Path;

const BUG: &str = "examples/bluetooth.fab";
const GOOD: &str = "examples/bluetooth_fixed.fab";

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn text_of(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

/// A program whose messages and names are full of what formats treat specially.
fn hostile(folder: &Path) -> String {
    let path = folder.join("a b&<{\"#%.fab");
    let message = r#"</failure>]]> <script> {0} [x](1) \n \" --> & é"#;
    std::fs::write(&path, format!("var x: bool;\ninit {{ x = true; assert !x, \"{message}\"; }}\n"))
        .expect("a file can be written");
    path.display().to_string()
}

#[test]
fn several_files_are_a_table_and_the_worst_answer_decides() {
    let folder = folder("several");
    let unknown = folder.join("unknown.fab");
    std::fs::write(&unknown, "proc p() { p(); }\ninit { p(); }\n").expect("a file can be written");
    let unknown = text_of(&unknown);
    let bad = folder.join("bad.fab");
    std::fs::write(&bad, "init { x = 1; }\n").expect("a file can be written");
    let bad = text_of(&bad);

    expect(&fabius(&["check", GOOD, "examples/peterson.fab"]), 0, &["verified", "every schedule", "107"]);
    expect(&fabius(&["check", GOOD, unknown]), 3, &["unknown", "active calls"]);
    let bug = fabius(&["check", unknown, BUG, GOOD]);
    expect(&bug, 1, &["bluetooth.fab:41:9: assertion failed", "1 preemption"]);
    let lines = String::from_utf8_lossy(&bug.stdout).to_string();
    let starts = |line: &str, file: &str, verdict: &str| line.starts_with(file) && line.contains(verdict);
    let rows: Vec<&str> = lines.lines().skip(1).take(3).collect();
    assert!(starts(rows[0], unknown, "unknown") && starts(rows[1], BUG, " bug ") && starts(rows[2], GOOD, "verified"));
    // What cannot be checked is shown where it is wrong, and the others still run.
    let output = fabius(&["check", bad, "nope.fab", BUG, "--stats"]);
    expect(&output, 2, &["E0202", "^", "there is no file `nope.fab`", " bug ", "transitions"]);
    let bounded = fabius(&["check", GOOD, GOOD, "--max", "1"]);
    expect(&bounded, 0, &["no bug within bounds", "at most 1 preemption"]);
    assert!(!String::from_utf8_lossy(&bounded.stdout).contains("verified"));

    for option in ["--trace", "--html", "--dot"] {
        expect(&fabius(&["check", BUG, GOOD, option, "x"]), 2, &[option, "is for one program, and 2 are given"]);
    }
}

#[test]
fn several_answers_are_a_list_of_those_of_each_file() {
    let output = fabius(&["check", BUG, "nope.fab", GOOD, "--json"]);
    expect(&output, 2, &[]);
    let document = json(&output);
    assert_eq!((&document["verdict"], &document["exit_code"]), (&"error".into(), &2.into()));
    for (number, file) in [BUG, "nope.fab", GOOD].iter().enumerate() {
        let one = &document["files"][number];
        assert_eq!(one["file"], *file);
        let mut alone = json(&fabius(&["check", file, "--json"]));
        alone["elapsed_seconds"] = one["answer"]["elapsed_seconds"].clone();
        alone["memory_bytes"] = one["answer"]["memory_bytes"].clone();
        let mut answer = one["answer"].clone();
        for field in ["elapsed_seconds", "memory_bytes"] {
            answer[field] = alone[field].clone();
        }
        assert_eq!(answer, alone, "{file}");
    }
    assert_eq!(json(&fabius(&["check", GOOD, GOOD, "--json"]))["verdict"], "no_bug");
}

#[test]
fn junit_has_a_case_for_each_file() {
    let folder = folder("junit");
    let hostile = hostile(&folder);
    let xml = folder.join("results.xml");
    let cut = ["--executions", "1", "--strategy", "random"];
    let mut args = vec!["check", &hostile, GOOD, "nope.fab", "--junit", text_of(&xml)];
    expect(&fabius(&args), 2, &[]);
    let report = quick_junit::Report::deserialize_from_str(&read(&xml)).expect("the report is JUnit XML");
    assert_eq!((report.tests, report.failures, report.errors), (3, 1, 1));
    let cases = &report.test_suites[0].test_cases;
    assert_eq!(cases[0].name.as_str(), hostile);
    let quick_junit::TestCaseStatus::NonSuccess { message: Some(message), description: Some(text), .. } =
        &cases[0].status
    else {
        panic!("{:?}", cases[0].status)
    };
    assert!(message.as_str().contains("</failure>]]> <script> {0}"), "{message:?}");
    assert!(text.as_str().contains("x: false -> true"), "{text:?}");
    assert!(cases[1].system_out.as_ref().is_some_and(|text| text.as_str().starts_with("verified")));

    // One file is a report of one case; what is unknown is no success.
    args = vec!["check", GOOD, "--junit", text_of(&xml)];
    args.extend(cut);
    expect(&fabius(&args), 3, &[]);
    let report = quick_junit::Report::deserialize_from_str(&read(&xml)).expect("the report is JUnit XML");
    assert_eq!((report.tests, report.failures, report.errors), (1, 0, 1));
    expect(&fabius(&["check", GOOD, "--junit", "no/such/folder/x.xml"]), 2, &["cannot write", "nothing was run"]);
}

/// The document, which is valid.
#[track_caller]
fn sarif(path: &Path) -> Value {
    // The pattern of languages, which is not used here, has a bracket too many and is no regular expression everywhere.
    let schema = include_str!("data/sarif-schema-2.1.0.json").replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}?$");
    let schema: Value = serde_json::from_str(&schema).expect("the schema is JSON");
    let document: Value = serde_json::from_str(&read(path)).expect("SARIF is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let wrong: Vec<String> = validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{document:#}");
    document
}

/// The steps of all lanes, in the order of execution: lane, line, message.
fn interleaving(result: &Value) -> Vec<(String, u64, String)> {
    let mut steps = Vec::new();
    for flow in result["codeFlows"][0]["threadFlows"].as_array().expect("there are thread flows") {
        for at in flow["locations"].as_array().expect("they have locations") {
            let place = &at["location"];
            let line = place["physicalLocation"]["region"]["startLine"].as_u64().expect("lines are numbers");
            let text = place["message"]["text"].as_str().expect("messages are text").to_string();
            let lane = flow["id"].as_str().expect("lanes have names").to_string();
            steps.push((at["executionOrder"].as_u64().expect("the order is a number"), (lane, line, text)));
        }
    }
    steps.sort();
    assert!(steps.iter().zip(1..).all(|(step, number)| step.0 == number), "every step has a place in the order");
    steps.into_iter().map(|(_, step)| step).collect()
}

#[test]
fn sarif_holds_the_interleaving() {
    let folder = folder("sarif");
    let path = folder.join("x.sarif");
    let output = fabius(&["check", BUG, "--json", "--sarif", text_of(&path)]);
    expect(&output, 1, &[]);
    let trace = &json(&output)["trace"];
    let document = sarif(&path);
    let run = &document["runs"][0];
    assert_eq!(run["invocations"][0]["exitCode"], 1);
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    let result = &run["results"][0];
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], result["ruleId"]);
    assert_eq!(result["ruleId"], "assertion");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], BUG);
    assert_eq!((&place["region"]["startLine"], &place["region"]["startColumn"]), (&41.into(), &9.into()));
    let mut wanted = Vec::new();
    for step in trace["steps"].as_array().expect("a trace has steps") {
        let lane = &trace["lanes"][step["lane"].as_u64().expect("lanes are numbers") as usize]["name"];
        for action in step["actions"].as_array().expect("a step has actions") {
            wanted.push((lane.clone(), action["at"]["line"].clone(), action["text"].clone()));
        }
    }
    let told = interleaving(result);
    assert_eq!(told.len(), wanted.len());
    for ((lane, line, text), (lane_of_trace, line_of_trace, text_of_trace)) in told.iter().zip(&wanted) {
        assert_eq!((lane.as_str(), *line), (lane_of_trace.as_str().unwrap(), line_of_trace.as_u64().unwrap()));
        let plain = text.replace("{{", "{").replace("}}", "}");
        assert!(plain.starts_with(text_of_trace.as_str().unwrap()), "{text}");
    }

    // A data race has two places.
    let race = fabius(&["check", BUG, "--points", "sync", "--json", "--sarif", text_of(&path)]);
    expect(&race, 1, &[]);
    let link = &json(&race)["trace"]["links"];
    let link = link.as_array().and_then(|l| l.iter().find(|l| l["kind"] == "race")).expect("a race links two steps");
    let first = &json(&race)["trace"]["steps"][link["from"].as_u64().expect("steps are numbers") as usize]["actions"];
    let line = first.as_array().and_then(|a| a.last()).map(|a| a["at"]["line"].clone());
    let result = sarif(&path)["runs"][0]["results"][0].clone();
    assert_eq!(result["ruleId"], "data_race");
    let related = &result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"];
    assert_eq!(Some(related), line.as_ref());

    // A trace says the same as the check, a recorded run and a verification are of the same form.
    let saved = folder.join("bug.json");
    let again = folder.join("again.sarif");
    expect(&fabius(&["check", BUG, "--trace", text_of(&saved)]), 1, &[]);
    expect(&fabius(&["replay", text_of(&saved), "--sarif", text_of(&again)]), 1, &[]);
    assert_eq!(sarif(&again), document);
    expect(&fabius(&["trace", "examples/mcapi.ctp", "--sarif", text_of(&path)]), 1, &[]);
    assert!(interleaving(&sarif(&path)["runs"][0]["results"][0]).len() > 3);
    expect(&fabius(&["verify", BUG, "--rounds", "2", "--sarif", text_of(&path)]), 1, &[]);
    assert_eq!(sarif(&path)["runs"][0]["results"][0]["ruleId"], "assertion");
}

#[test]
fn every_bug_of_the_corpus_is_a_result_of_one_run() {
    let path = folder("sarif_corpus").join("x.sarif");
    let mut files = Vec::new();
    for family in ["threads", "tasks", "buffers"] {
        let bugs = format!("corpus/{family}/bug");
        for entry in std::fs::read_dir(root().join(&bugs)).expect("there are programs with bugs") {
            let name = entry.expect("they can be listed").file_name().into_string().expect("their names are text");
            files.push(format!("{bugs}/{name}"));
        }
    }
    files.sort();
    let mut args = vec!["check", "--races", "--livelock", "--sarif", text_of(&path)];
    args.extend(files.iter().map(String::as_str));
    expect(&fabius(&args), 1, &[]);
    let run = sarif(&path)["runs"][0].clone();
    let results = run["results"].as_array().expect("there are results");
    let places = results.iter().map(|r| r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str());
    assert!(places.eq(files.iter().map(|f| Some(f.as_str()))), "one for each file, in order");
    for result in results {
        assert!(!interleaving(result).is_empty());
        let rule = result["ruleIndex"].as_u64().expect("rules have numbers") as usize;
        assert_eq!(run["tool"]["driver"]["rules"][rule]["id"], result["ruleId"]);
    }
    let rules = run["tool"]["driver"]["rules"].as_array().map_or(0, Vec::len);
    assert!(rules >= 5, "{rules} kinds of bugs");
}

#[test]
fn what_is_no_bug_is_no_result_of_sarif() {
    let folder = folder("sarif_none");
    let path = folder.join("x.sarif");
    let path_text = text_of(&path);
    expect(&fabius(&["check", GOOD, "--sarif", path_text]), 0, &[]);
    let run = sarif(&path)["runs"][0].clone();
    assert_eq!((run["results"].as_array().map(Vec::len), &run["invocations"][0]["exitCode"]), (Some(0), &0.into()));

    let recursion = folder.join("recursion.fab");
    std::fs::write(&recursion, "proc p() { p(); }\ninit { p(); }\n").expect("a file can be written");
    let broken = folder.join("broken.fab");
    std::fs::write(&broken, "init { x = 1; }\n").expect("a file can be written");
    let several = ["check", text_of(&recursion), text_of(&broken), "nope.fab", BUG, "--sarif", path_text];
    expect(&fabius(&several), 2, &[]);
    let document = sarif(&path);
    let run = &document["runs"][0];
    assert_eq!(run["results"].as_array().map(Vec::len), Some(1), "the bug alone");
    let invocation = &run["invocations"][0];
    assert_eq!((&invocation["executionSuccessful"], &invocation["exitCode"]), (&false.into(), &2.into()));
    let told = invocation["toolExecutionNotifications"].as_array().expect("there are notifications");
    let ids: Vec<&str> = told.iter().map(|n| n["descriptor"]["id"].as_str().expect("they have names")).collect();
    assert_eq!(ids, ["unknown", "E0202", "input"]);
    assert_eq!(told[0]["level"], "warning");
    assert_eq!(told[1]["locations"][0]["physicalLocation"]["region"]["startColumn"], 8);

    // A command that fails at once says so there, too.
    for command in ["check", "verify", "trace", "replay"] {
        std::fs::remove_file(&path).expect("the last one is there");
        expect(&fabius(&[command, "nope", "--sarif", path_text]), 2, &["there is no file"]);
        assert_eq!(sarif(&path)["runs"][0]["invocations"][0]["exitCode"], 2, "{command}");
    }
}

#[test]
fn sarif_escapes_messages_and_paths() {
    let folder = folder("sarif_hostile");
    let hostile = hostile(&folder);
    let path = folder.join("x.sarif");
    expect(&fabius(&["check", &hostile, "--sarif", text_of(&path)]), 1, &[]);
    let document = sarif(&path);
    let result = &document["runs"][0]["results"][0];
    let message = result["message"]["text"].as_str().expect("a message is text");
    assert!(message.contains("{{0}}") && message.contains("[x\\](1)"), "{message}");
    let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().expect("a place has one");
    assert!(uri.ends_with("/a%20b%26%3C%7B%22%23%25.fab"), "{uri}");
    // Below the current directory it is relative, whatever way it is named.
    let detour = root().join("examples/../examples/./bluetooth.fab");
    expect(&fabius(&["check", text_of(&detour), "--sarif", text_of(&path)]), 1, &[]);
    let document = sarif(&path);
    let place = &document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert!(
        place.as_str().is_some_and(|uri| uri.ends_with("examples/bluetooth.fab") && !uri.contains("..")),
        "{place}"
    );
}

/// Lines of a graph: nodes, edges, edges of the trace.
fn shape(dot: &str) -> (usize, usize, usize) {
    let edges = || dot.lines().filter(|l| l.contains(" -> s"));
    let nodes = dot.lines().filter(|l| l.starts_with("  s") && !l.contains(" -> s")).count();
    (nodes, edges().count(), edges().filter(|l| l.contains("penwidth=2")).count())
}

#[test]
fn a_graph_has_the_states_that_were_counted() {
    let folder = folder("dot");
    let path = folder.join("x.dot");
    let options: [&[&str]; 6] = [
        &[GOOD],
        &[GOOD, "--max", "1"],
        &["examples/philosophers.fab", "--const", "N=3", "--const", "POLITE=1", "--max", "0"],
        &["examples/philosophers.fab", "--const", "N=2", "--const", "POLITE=1", "--bound", "none"],
        &["corpus/tasks/safe/yields.fab", "--bound", "depth", "--max", "4"],
        &["corpus/buffers/safe/two_loops.fab", "--max", "2"],
    ];
    for options in options {
        let mut args = vec!["check", "--no-symmetry", "--no-reduction", "--json", "--dot", text_of(&path)];
        args.extend(options);
        let output = fabius(&args);
        expect(&output, 0, &[]);
        let levels = &json(&output)["levels"];
        let states = levels.as_array().and_then(|l| l.last()).map(|l| l["states"].clone());
        let (nodes, edges, marked) = shape(&read(&path));
        assert_eq!(states, Some((nodes as u64).into()), "{options:?}");
        assert!(edges + 1 >= nodes && marked == 0, "{options:?}: every state is reached");
    }
}

#[test]
fn a_trace_is_marked_in_the_graph() {
    let folder = folder("dot_trace");
    let path = folder.join("x.dot");
    let options: [&[&str]; 10] = [
        &[BUG],
        &[BUG, "--bound", "delays"],
        &[BUG, "--bound", "delays", "--scheduler", "depth-first"],
        &[BUG, "--bound", "rounds"],
        &[BUG, "--points", "sync"],
        &[BUG, "--strategy", "random", "--seed", "3"],
        &["examples/philosophers.fab", "--const", "N=2"],
        &["examples/fig9.fab"],
        &["corpus/threads/bug/livelock.fab", "--livelock"],
        &["corpus/tasks/bug/event_loop.fab", "--bound", "delays", "--scheduler", "depth-first"],
    ];
    for options in options {
        let mut args = vec!["check", "--no-symmetry", "--json", "--dot", text_of(&path)];
        args.extend(options);
        let output = fabius(&args);
        expect(&output, 1, &[]);
        let document = json(&output);
        let steps = document["trace"]["steps"].as_array().expect("a bug has steps");
        let turns = steps.iter().filter(|s| s["turn"]["task"] != u32::MAX).count();
        let delays: u64 = steps.iter().filter_map(|s| s["mark"]["delay"].as_u64()).sum();
        let (.., marked) = shape(&read(&path));
        assert_eq!(marked, turns + delays as usize, "{options:?}\n{}", read(&path));
        assert!(read(&path).contains("shape=octagon"), "{options:?}");
    }
    // What is only written is no part of the command that finds the bug again.
    let again = "replay it: fabius check examples/bluetooth.fab --trace bug.json;";
    expect(&fabius(&["check", BUG, "--dot", text_of(&path)]), 1, &[again]);
    let text = read(&path);
    let edge = r#"[label="stop\nstoppingFlag = true\n"#;
    let to =
        text.lines().find_map(|l| l.trim().split_once(" -> ")?.1.split_once(' ').filter(|(_, a)| a.starts_with(edge)));
    let (state, _) = to.unwrap_or_else(|| panic!("the first step of `stop` has an edge:\n{text}"));
    let node = text.lines().find(|l| l.trim().starts_with(&format!("{state} ["))).expect("it leads to a state");
    assert!(node.contains("stoppingFlag = true"), "{node}");
}

#[test]
fn a_graph_that_nobody_can_read_is_not_drawn() {
    let folder = folder("dot_large");
    let path = folder.join("x.dot");
    let output = fabius(&["check", "examples/peterson.fab", "--dot", text_of(&path)]);
    expect(&output, 2, &["verified", "more than 500 states or 10000 steps", "--max 0"]);
    assert!(!path.exists());
    let hostile = hostile(&folder);
    expect(&fabius(&["check", &hostile, "--dot", text_of(&path)]), 1, &[]);
    let text = read(&path);
    assert!(text.contains(r#"<script> {0} [x](1) \\n"#), "{text}");
    // Outside of escapes, quotes come in pairs.
    for line in text.lines() {
        let bare = line.replace("\\\\", "").replace("\\\"", "");
        assert_eq!(bare.matches('"').count() % 2, 0, "{line}");
    }
}

/// The search takes a moment; to tell what each of thousands of steps does takes seconds.
#[test]
fn a_graph_is_told_within_the_time() {
    let path = folder("dot_time").join("x.dot");
    let model = "corpus/known/termination_detection.fab";
    let output = fabius(&["check", model, "--no-deadlock", "--time", "100ms", "--dot", text_of(&path)]);
    expect(&output, 3, &["the time limit was reached"]);
    assert!(!path.exists());
}

#[test]
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        expect(&fabius(&["completions", shell]), 0, &["livelock", "verify"]);
    }
    expect(&fabius(&["completions", "tcsh"]), 2, &["possible values"]);
    expect(&fabius(&["man"]), 0, &[".TH", "Exit codes"]);
    let folder = folder("man");
    expect(&fabius(&["man", "--dir", text_of(&folder)]), 0, &[]);
    assert!(read(&folder.join("fabius-check.1")).contains("\\-\\-livelock"));
    expect(&fabius(&["man", "--dir", "no/such/folder"]), 2, &["cannot write"]);
}
