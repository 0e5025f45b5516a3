//! Every document is one of its schema, and looks as it did.

use crate::common::{fabius, folder, json, root};
use serde_json::Value;
use std::path::Path;

/// The schema in `docs/schema/`.
fn validator(name: &str) -> jsonschema::Validator {
    let path = root().join("docs/schema").join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    jsonschema::validator_for(&serde_json::from_str(&text).expect("a schema is JSON")).expect("the schema is one")
}

#[track_caller]
fn validate(validator: &jsonschema::Validator, document: &Value, what: &str) {
    let wrong: Vec<String> = validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{what}: {wrong:#?}\n{document:#}");
}

#[test]
fn the_schemas_refuse_what_is_wrong() {
    let answer = validator("answer");
    let mut document = json(&fabius(&["check", "examples/bluetooth.fab", "--json"]));
    validate(&answer, &document, "bluetooth");
    for (field, value) in [("verdict", "maybe"), ("format", "1"), ("levels", "none"), ("trace", "no")] {
        let right = std::mem::replace(&mut document[field], value.into());
        assert!(!answer.is_valid(&document), "{field}");
        document[field] = right;
    }
    document["trace"]["version"] = 999.into();
    assert!(!answer.is_valid(&document), "another version of traces");
}

#[test]
fn documents_of_examples_are_those_of_their_schemas() {
    let (answer, several) = (validator("answer"), validator("several"));
    let (messages, trace) = (validator("messages"), validator("trace"));
    let folder = folder("schema");
    let mut programs: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(root().join("examples")).expect("there are examples") {
        let name = entry.expect("they can be listed").file_name().into_string().expect("their names are text");
        programs.push(format!("examples/{name}"));
    }
    programs.sort();
    let mut bugs = 0;
    for program in programs.iter().filter(|p| p.ends_with(".fab")) {
        let saved = folder.join("trace.json");
        let _ = std::fs::remove_file(&saved);
        let path = saved.to_str().expect("paths of tests are text");
        // Some have data that is too wide to try, or need a number of threads: what is said then is a document too.
        let output = fabius(&["check", program, "--time", "2s", "--json", "--trace", path]);
        let document = json(&output);
        validate(&answer, &document, program);
        if document["verdict"] == "bug" {
            bugs += 1;
            let text = std::fs::read_to_string(&saved).expect("the trace was written");
            validate(&trace, &serde_json::from_str(&text).expect("a trace is JSON"), program);
            validate(&trace, &json(&fabius(&["replay", path, "--json"])), program);
        }
    }
    assert!(bugs >= 3, "{bugs} examples have a bug");
    let mut all = vec!["check", "--json", "--time", "1s", "no_such_file.fab"];
    all.extend(programs.iter().map(String::as_str));
    validate(&several, &json(&fabius(&all)), "all examples");
    validate(&several, &json(&fabius(&["check", "a", "b", "--trace", "x", "--json"])), "a wrong command");
    for program in ["examples/account.fab", "examples/bluetooth.fab", "examples/bluetooth_any.fab", "no_such_file.fab"]
    {
        validate(&answer, &json(&fabius(&["verify", program, "--json", "--time", "20s"])), program);
    }
    let recorded = "examples/mcapi.ctp";
    for options in [&[][..], &["--enumerate", "--paths", "all"], &["--property", "deadlock", "--buffering", "zero"]] {
        let mut args = vec!["trace", recorded, "--json"];
        args.extend(options);
        let document = json(&fabius(&args));
        validate(&messages, &document, recorded);
        if !document["trace"].is_null() {
            validate(&trace, &document["trace"], recorded);
        }
    }
    validate(&messages, &json(&fabius(&["trace", "examples/bluetooth.fab", "--json"])), "no recorded run");
    let compared = ["compare", "examples/bluetooth.fab", "examples/peterson.fab", "--executions", "20", "--json"];
    validate(&validator("comparison"), &json(&fabius(&compared)), "strategies side by side");
}

#[test]
fn comparisons_are_those_of_their_schema() {
    let comparison = validator("comparison");
    let programs = ["examples/bluetooth.fab", "examples/bluetooth_fixed.fab"];
    let output = fabius(&[&["compare", "--executions", "50", "--seeds", "2", "--json"], &programs[..]].concat());
    let mut document = json(&output);
    validate(&comparison, &document, "a comparison");
    document["programs"][0]["counted"] = "steps".into();
    assert!(!comparison.is_valid(&document), "what is counted");
}

#[test]
fn a_document_of_compare() {
    let args =
        ["compare", "examples/bluetooth.fab", "--strategies", "icb,random", "--executions", "50", "--seeds", "2"];
    snapshot("compare.json", json(&fabius(&[&args[..], &["--json"]].concat())));
}

/// What differs from run to run or from release to release.
const VOLATILE: [&str; 9] = [
    "elapsed_seconds",
    "memory_bytes",
    "encoding_seconds",
    "solving_seconds",
    "replaying_seconds",
    "solver",
    "terms",
    "statements",
    "queries",
];

fn without_what_varies(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                if VOLATILE.contains(&name.as_str()) {
                    *value = "varies".into();
                }
                // The version of Fabius is text, that of a trace a number.
                if name == "version" && value.is_string() {
                    *value = "varies".into();
                }
                without_what_varies(value);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(without_what_varies),
        _ => {}
    }
}

/// Compares a document with the one in `tests/snapshots/`.
#[track_caller]
fn snapshot(name: &str, mut document: Value) {
    without_what_varies(&mut document);
    let text = format!("{document:#}\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::fs::read_to_string(&path).unwrap_or_default() != text {
        let new = folder(&format!("snapshot_of_{name}")).join(name);
        std::fs::write(&new, text).expect("a file can be written");
        panic!("{name} has changed; if that is wanted: cp {} {}", new.display(), path.display());
    }
}

#[test]
fn a_document_of_check() {
    snapshot("check.json", json(&fabius(&["check", "examples/bluetooth.fab", "--json", "--jobs", "1"])));
}

#[test]
fn a_document_of_several_files() {
    let files = ["corpus/threads/bug/lost_update.fab", "examples/bluetooth_fixed.fab", "no_such_file.fab"];
    let mut args = vec!["check", "--json", "--jobs", "1"];
    args.extend(files);
    snapshot("several.json", json(&fabius(&args)));
}

#[test]
fn a_document_of_verify() {
    snapshot("verify.json", json(&fabius(&["verify", "examples/account.fab", "--const", "LOCKED=1", "--json"])));
}

#[test]
fn a_document_of_trace() {
    snapshot("trace.json", json(&fabius(&["trace", "examples/mcapi.ctp", "--enumerate", "--paths", "all", "--json"])));
}

#[test]
fn a_document_of_replay() {
    let saved = folder("snapshot_of_replay").join("trace.json");
    let saved = saved.to_str().expect("paths of tests are text");
    fabius(&["check", "examples/philosophers.fab", "--const", "N=2", "--trace", saved]);
    snapshot("replay.json", json(&fabius(&["replay", saved, "--json"])));
}
