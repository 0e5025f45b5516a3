//! The trace programs of `corpus/oracle/mcapi.json`, in the paper's form, with the outcomes that are expected of them.

use super::{int, list, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// Names of a receive and a send.
pub type Pair = (String, String);

/// A trace program and what is expected of it.
pub struct Case {
    /// Its text, in the paper's form.
    pub source: String,
    /// Whether some complete run fails an assertion.
    pub violation: bool,
    /// The complete runs: which receive gets which message, and what becomes of the run.
    pub outcomes: BTreeSet<(BTreeSet<Pair>, String)>,
    /// The pairs of complete runs.
    pub exact: BTreeSet<Pair>,
    /// Those that their places allow.
    pub by_place: BTreeSet<Pair>,
}

/// All trace programs of the file.
///
/// # Panics
/// If the file is not there or not of the form that is expected: it is part of the project.
pub fn cases(root: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(root.join("corpus/oracle/mcapi.json")).expect("the file is part of the project");
    let cases: Vec<Value> = serde_json::from_str(&text).expect("the file is a list");
    cases.iter().map(case).collect()
}

fn case(case: &Value) -> Case {
    let pairs = |v: &Value| list(v).iter().map(|p| (text(&p[0]).into(), text(&p[1]).into())).collect();
    Case {
        source: source(&case["threads"]),
        violation: case["violation"].as_bool().expect("a truth value"),
        outcomes: list(&case["outcomes"]).iter().map(|o| (pairs(&o[0]), text(&o[1]).into())).collect(),
        exact: pairs(&case["exact_pairs"]),
        by_place: pairs(&case["overapprox_pairs"]),
    }
}

fn source(threads: &Value) -> String {
    let mut out = String::from("(ctp\n");
    for thread in list(threads) {
        out += "  (\n";
        for (number, command) in list(thread).iter().enumerate() {
            writeln!(out, "    (l{number} {})", form(command)).expect("text grows");
        }
        out += "  )\n";
    }
    out + ")\n"
}

/// A command or an expression in parentheses.
fn form(v: &Value) -> String {
    match v {
        Value::Array(parts) => format!("({})", parts.iter().map(form).collect::<Vec<_>>().join(" ")),
        Value::String(word) => word.clone(),
        number => int(number).to_string(),
    }
}
