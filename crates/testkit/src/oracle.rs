//! The asynchronous programs of `corpus/oracle/async.json`, as source text, with the facts that are expected of them.
//!
//! The file comes from an enumeration written in another language, which shares nothing with this project but the
//! definitions. It holds programs as nested lists, which are written down in our language here.

pub mod messages;
pub mod parameterized;
pub mod threads;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// A program and what is expected of it.
pub struct Case {
    /// Its text.
    pub source: String,
    /// By kind (`bag`, `rr_1`, `direct`, ..): the values of the globals in all final configurations.
    pub expected: BTreeMap<String, BTreeSet<Vec<i64>>>,
}

/// All programs of the file.
///
/// # Panics
/// If the file is not there or not of the form that is expected: it is part of the project.
pub fn async_cases(root: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(root.join("corpus/oracle/async.json")).expect("the file is part of the project");
    let cases: Vec<Value> = serde_json::from_str(&text).expect("the file is a list");
    cases.iter().map(case).collect()
}

fn case(case: &Value) -> Case {
    let facts = |v: &Value| list(v).iter().map(|f| list(f).iter().map(int).collect()).collect();
    let expected = case["expect"].as_object().expect("an object").iter().map(|(k, v)| (k.clone(), facts(v))).collect();
    Case { source: source(&case["program"]), expected }
}

fn list(v: &Value) -> &[Value] {
    v.as_array().map(Vec::as_slice).expect("a list")
}

fn text(v: &Value) -> &str {
    v.as_str().expect("a string")
}

fn int(v: &Value) -> i64 {
    v.as_i64().expect("a number")
}

/// The program in our language.
fn source(program: &Value) -> String {
    let mut out = String::from("interleave explicit;\n");
    let levels = int(&program["levels"]);
    let names: Vec<String> = (0..levels).map(|l| format!("L{l}")).collect();
    writeln!(out, "level {};", names.join(" < ")).expect("text grows");
    for global in list(&program["globals"]) {
        let values: Vec<i64> = list(&global[1]).iter().map(int).collect();
        let (lo, hi) = (values[0], values[values.len() - 1]);
        writeln!(out, "var {}: {lo}..{hi};", text(&global[0])).expect("text grows");
    }
    let mains: Vec<&str> = list(&program["mains"]).iter().map(text).collect();
    for (name, proc) in program["procs"].as_object().expect("an object") {
        let mut body = String::new();
        for local in list(&proc["locals"]) {
            writeln!(body, "    var {}: int = {};", text(&local[0]), int(&local[1])).expect("text grows");
        }
        block(&proc["body"], 1, &mut body);
        if mains.contains(&name.as_str()) {
            writeln!(out, "buffer {name} {{\n{body}}}").expect("text grows");
        } else {
            let params: Vec<String> = list(&proc["params"]).iter().map(|p| format!("{}: int", text(p))).collect();
            let result = if returns(&proc["body"]) { " -> int" } else { "" };
            writeln!(out, "proc {name}({}){result} {{\n{body}}}", params.join(", ")).expect("text grows");
        }
    }
    out
}

/// Whether a value is returned somewhere.
fn returns(block: &Value) -> bool {
    list(block).iter().any(|s| match text(&s[0]) {
        "ret" => !list(&s[1]).is_empty(),
        "if" => returns(&s[2]) || returns(&s[3]),
        "while" => returns(&s[2]),
        _ => false,
    })
}

fn block(statements: &Value, depth: usize, out: &mut String) {
    let indent = "    ".repeat(depth);
    for s in list(statements) {
        out.push_str(&indent);
        match text(&s[0]) {
            "skip" => out.push_str("skip;\n"),
            "yield" => out.push_str("yield;\n"),
            "zield" => out.push_str("zield;\n"),
            "asg" => writeln!(out, "{} = {};", value(&s[1]), value(&s[2])).expect("text grows"),
            "assume" => writeln!(out, "assume {};", condition(&s[1])).expect("text grows"),
            "assert" => writeln!(out, "assert {};", condition(&s[1])).expect("text grows"),
            "post" => writeln!(out, "post @L{} {}({});", int(&s[1]), text(&s[2]), values(&s[3])).expect("text grows"),
            "ret" => writeln!(out, "return {};", values(&s[1])).expect("text grows"),
            "call" => {
                let call = format!("{}({})", text(&s[2]), values(&s[3]));
                match list(&s[1]) {
                    [] | [Value::Null] => writeln!(out, "{call};"),
                    [to] => writeln!(out, "{} = {call};", value(to)),
                    more => panic!("a call with {} results", more.len()),
                }
                .expect("text grows");
            }
            "if" => {
                writeln!(out, "if {} {{", condition(&s[1])).expect("text grows");
                block(&s[2], depth + 1, out);
                writeln!(out, "{indent}}} else {{").expect("text grows");
                block(&s[3], depth + 1, out);
                writeln!(out, "{indent}}}").expect("text grows");
            }
            "while" => {
                writeln!(out, "while {} {{", condition(&s[1])).expect("text grows");
                block(&s[2], depth + 1, out);
                writeln!(out, "{indent}}}").expect("text grows");
            }
            other => panic!("statement `{other}`"),
        }
    }
}

fn values(list_of: &Value) -> String {
    list(list_of).iter().map(value).collect::<Vec<_>>().join(", ")
}

/// An expression that stands for a number.
fn value(e: &Value) -> String {
    match text(&e[0]) {
        "c" => e[1].to_string(),
        "v" => text(&e[1]).to_string(),
        "any" => {
            let values: Vec<i64> = list(&e[1]).iter().map(int).collect();
            format!("any {}..{}", values[0], values[values.len() - 1])
        }
        "o" => format!("({} {} {})", value(&e[2]), text(&e[1]), value(&e[3])),
        other => panic!("expression `{other}`"),
    }
}

/// An expression that stands for a Boolean.
fn condition(e: &Value) -> String {
    match (text(&e[0]), e[1].as_str()) {
        ("any", _) => "*".into(),
        ("o", Some("and")) => format!("({} && {})", condition(&e[2]), condition(&e[3])),
        ("o", Some("or")) => format!("({} || {})", condition(&e[2]), condition(&e[3])),
        ("o", Some("not")) => format!("!({})", condition(&e[2])),
        ("o", Some("==" | "!=" | "<" | "<=" | ">" | ">=")) => value(e)[1..value(e).len() - 1].to_string(),
        _ => format!("{} != 0", value(e)),
    }
}
