//! The parameterized programs of `corpus/oracle/param.json`, as source text, with what is expected of any number of threads.
//!
//! An instruction of the file is one step. So scheduling points are written out, around every instruction.

use super::{int, list, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// A program and what is expected of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its text. What is observed is printed: the number of the observation, then values.
    pub source: String,
    /// The same with an assertion that fails in the place of the observation `ERR`.
    pub asserting: String,
    /// Shared variables.
    pub shared: usize,
    /// For each number of rounds.
    pub expected: BTreeMap<u32, Expected>,
}

/// What executions of so many rounds do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// What is observed. `ERR` has the number 0.
    pub observed: BTreeSet<Vec<i64>>,
    /// The shared variables in the end.
    pub ends: BTreeSet<Vec<i64>>,
}

/// How the observation `ERR` is written.
#[derive(Clone, Copy, PartialEq)]
enum Error {
    Print,
    Assert,
}

/// All programs of the file.
///
/// # Panics
/// If the file is not there or not of the form that is expected: it is part of the project.
pub fn cases(root: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(root.join("corpus/oracle/param.json")).expect("the file is part of the project");
    let cases: Vec<Value> = serde_json::from_str(&text).expect("the file is a list");
    cases.iter().map(case).collect()
}

fn case(case: &Value) -> Case {
    let number = |v: &Value| match v {
        Value::String(label) => label.strip_prefix('L').map_or(0, |n| n.parse().expect("labels are numbered")),
        v => int(v),
    };
    let tuples = |v: &Value| list(v).iter().map(|t| list(t).iter().map(number).collect()).collect();
    let expected = case["expect"].as_object().expect("an object").iter().map(|(rounds, v)| {
        let expected = Expected { observed: tuples(&v["observations"]), ends: tuples(&v["final_shared"]) };
        (rounds.parse().expect("a number of rounds"), expected)
    });
    Case {
        source: source(case, Error::Print),
        asserting: source(case, Error::Assert),
        shared: list(&case["shared"]).len(),
        expected: expected.collect(),
    }
}

fn source(case: &Value, error: Error) -> String {
    let mut out = String::from("interleave explicit;\n");
    for (name, init) in list(&case["shared"]).iter().zip(list(&case["init"][0])) {
        writeln!(out, "var {}: bool = {};", text(name), int(init) != 0).expect("text grows");
    }
    for global in list(&case["process_globals"]) {
        writeln!(out, "thread var {}: bool = {};", text(&global[0]), int(&global[1]) != 0).expect("text grows");
    }
    for (name, proc) in case["procs"].as_object().expect("an object") {
        let mut body = String::new();
        for local in list(&proc["locals"]) {
            writeln!(body, "    var {}: bool = {};", text(&local[0]), int(&local[1]) != 0).expect("text grows");
        }
        block(&proc["body"], 1, error, Points::Between, &mut body);
        let params: Vec<String> = list(&proc["params"]).iter().map(|p| format!("{}: bool", text(p))).collect();
        let head =
            if name == "main" { "process main[*]".into() } else { format!("proc {name}({})", params.join(", ")) };
        writeln!(out, "{head} {{\n{body}}}").expect("text grows");
    }
    out
}

/// Where scheduling points are.
#[derive(Clone, Copy, PartialEq)]
enum Points {
    Between,
    None,
}

fn block(statements: &Value, depth: usize, error: Error, points: Points, out: &mut String) {
    let indent = "    ".repeat(depth);
    let point = |out: &mut String| {
        if points == Points::Between {
            writeln!(out, "{indent}zield;").expect("text grows");
        }
    };
    point(out);
    for s in list(statements) {
        match text(&s[0]) {
            "skip" => writeln!(out, "{indent}skip;"),
            "asg" => writeln!(out, "{indent}{} = {};", value(&s[1]), value(&s[2])),
            "assume" => writeln!(out, "{indent}assume {};", value(&s[1])),
            "call" => {
                let args: Vec<String> = list(&s[3]).iter().map(value).collect();
                writeln!(out, "{indent}{}({});", text(&s[2]), args.join(", "))
            }
            "print" => {
                let parts = list(&s[1]);
                let label = text(&parts[0][1]);
                let number = label.strip_prefix('L').unwrap_or("0");
                let values: Vec<String> = parts[1..].iter().map(value).collect();
                match (label, error) {
                    ("ERR", Error::Assert) => writeln!(out, "{indent}assert false;"),
                    _ => writeln!(out, "{indent}print({});", [vec![number.to_string()], values].concat().join(", ")),
                }
            }
            "if" => {
                writeln!(out, "{indent}if {} {{", value(&s[1])).expect("text grows");
                block(&s[2], depth + 1, error, points, out);
                writeln!(out, "{indent}}} else {{").expect("text grows");
                block(&s[3], depth + 1, error, points, out);
                writeln!(out, "{indent}}}")
            }
            "while" => {
                writeln!(out, "{indent}while {} {{", value(&s[1])).expect("text grows");
                block(&s[2], depth + 1, error, points, out);
                writeln!(out, "{indent}}}")
            }
            "atomic" => {
                writeln!(out, "{indent}atomic {{").expect("text grows");
                block(&s[1], depth + 1, error, Points::None, out);
                writeln!(out, "{indent}}}")
            }
            other => panic!("statement `{other}`"),
        }
        .expect("text grows");
        point(out);
    }
}

/// All values are Booleans.
fn value(e: &Value) -> String {
    match text(&e[0]) {
        "c" => (int(&e[1]) != 0).to_string(),
        "v" => text(&e[1]).to_string(),
        "any" => "*".into(),
        "o" => match text(&e[1]) {
            "not" => format!("!{}", value(&e[2])),
            "and" => format!("({} && {})", value(&e[2]), value(&e[3])),
            "or" => format!("({} || {})", value(&e[2]), value(&e[3])),
            op => format!("({} {op} {})", value(&e[2]), value(&e[3])),
        },
        other => panic!("expression `{other}`"),
    }
}
