//! The thread programs of `corpus/oracle/threads.json`, as source text, with the figures that are expected of them.
//!
//! An instruction of the file is one step with one access to a shared variable. So every instruction becomes one
//! statement: an access to the thread's own synchronization variable, an operation of a lock, or an `atomic` block. The
//! register of a thread is a global that only this thread uses: a state is to contain it after the thread has finished.
//!
//! In the file any two accesses to a variable depend on each other. Here happens-before relations let reads commute. So
//! there is a second text of each program in which whoever reads also writes, where both come to the same.

use super::{int, list, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// A program and its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its text.
    pub source: String,
    /// Its text with a write in every access.
    pub written: String,
    /// Complete executions with exactly 0, 1, 2, .. preemptions.
    pub executions: Vec<u64>,
    /// Those of them in which every preemption is in front of an access to a synchronization variable.
    pub observable: Vec<u64>,
    /// Distinct states reached with at most 0, 1, 2, .. preemptions.
    pub states: Vec<u64>,
    /// Different happens-before relations of the complete executions without a race, where any two accesses conflict.
    pub relations: u64,
    /// The least number of preemptions of an execution in front of a race.
    pub race: Option<u32>,
    /// The same, if preemptions are in front of accesses to synchronization variables only.
    pub observable_race: Option<u32>,
}

/// What an access does that needs no write.
#[derive(Clone, Copy, PartialEq)]
enum Reads {
    Read,
    Write,
}

/// All programs of the file.
///
/// # Panics
/// If the file is not there or not of the form that is expected: it is part of the project.
pub fn cases(root: &Path) -> Vec<Case> {
    let text =
        std::fs::read_to_string(root.join("corpus/oracle/threads.json")).expect("the file is part of the project");
    let cases: Vec<Value> = serde_json::from_str(&text).expect("the file is a list");
    cases.iter().map(case).collect()
}

fn case(case: &Value) -> Case {
    let numbers = |key: &str| list(&case[key]).iter().map(|n| n.as_u64().expect("a count")).collect();
    let cost = |key: &str| match &case[key] {
        Value::Null => None,
        n => Some(n.as_u64().and_then(|n| n.try_into().ok()).expect("a cost")),
    };
    Case {
        source: source(case, Reads::Read),
        written: source(case, Reads::Write),
        executions: numbers("executions_by_preemptions"),
        observable: numbers("observable_by_preemptions"),
        states: numbers("states_cumulative"),
        relations: case["happens_before_classes_of_racefree_terminating"].as_u64().expect("a count"),
        race: cost("min_np_race"),
        observable_race: cost("min_np_observable_race"),
    }
}

/// The program in our language.
fn source(case: &Value, reads: Reads) -> String {
    let mut out = String::new();
    let threads = list(&case["threads"]);
    let all = || threads.iter().flat_map(list);
    let locks: BTreeSet<&str> = all().filter(|i| matches!(text(&i[0]), "acq" | "rel")).map(|i| text(&i[1])).collect();
    let sync: BTreeSet<&str> = list(&case["sync"]).iter().map(text).collect();
    for (name, value) in case["init"].as_object().expect("an object") {
        match (locks.contains(name.as_str()), sync.contains(name.as_str())) {
            (true, _) => writeln!(out, "var {name}: lock;"),
            (_, true) => writeln!(out, "sync var {name}: int = {};", int(value)),
            _ => writeln!(out, "data var {name}: int = {};", int(value)),
        }
        .expect("text grows");
    }
    for (t, instructions) in threads.iter().enumerate() {
        writeln!(out, "sync var e{t}: 0..1;\ndata var r{t}: int;\nprocess t{t}[1] {{").expect("text grows");
        for instruction in list(instructions) {
            match text(&instruction[0]) {
                "start" => writeln!(out, "    e{t} = 1;"),
                "acq" => writeln!(out, "    {}.acquire();", text(&instruction[1])),
                "rel" => writeln!(out, "    {}.release();", text(&instruction[1])),
                _ => writeln!(out, "    atomic {{ {} }}", access(instruction, t, reads)),
            }
            .expect("text grows");
        }
        out.push_str("}\n");
    }
    out
}

/// What an instruction of thread `t` does to its variable.
fn access(instruction: &Value, t: usize, reads: Reads) -> String {
    let variable = || text(&instruction[1]);
    let only_read = |x: &str| match reads {
        Reads::Read => format!("assume {x} == {x};"),
        Reads::Write => format!("{x} = {x} + 0;"),
    };
    match text(&instruction[0]) {
        "rd" if reads == Reads::Read => format!("r{t} = {};", variable()),
        "rd" => format!("r{t} = {}; {}", variable(), only_read(variable())),
        "wr" => {
            let (x, value) = (variable(), int(&instruction[2][1]));
            match text(&instruction[2][0]) {
                "=" => format!("{x} = {value};"),
                "*" => format!("{x} = ({x} * 2 + {value}) % 7;"),
                "r" => format!("{x} = (r{t} * 2 + {value}) % 7;"),
                other => panic!("value `{other}`"),
            }
        }
        "cas" => {
            let (x, old, new) = (variable(), int(&instruction[2]), int(&instruction[3]));
            format!("if {x} == {old} {{ {x} = {new}; r{t} = 1; }} else {{ {} r{t} = 0; }}", only_read(x))
        }
        // Without effect it still accesses the variable.
        "if" => {
            let (then, x) = (access(&instruction[2], t, reads), text(&instruction[2][1]));
            format!("if r{t} == {} {{ {then} }} else {{ {} }}", int(&instruction[1]), only_read(x))
        }
        other => panic!("instruction `{other}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_written_down() {
        let json = r#"{"threads": [[["start"], ["acq", "m"], ["if", 1, ["wr", "d", ["r", 2]]], ["rel", "m"]],
                                   [["start"], ["rd", "x"], ["cas", "x", 0, 1]]],
                       "init": {"d": 0, "m": -1, "x": 3}, "sync": ["x"]}"#;
        let program: Value = serde_json::from_str(json).expect("it is JSON");
        let plain = "data var d: int = 0;\nvar m: lock;\nsync var x: int = 3;\n\
            sync var e0: 0..1;\ndata var r0: int;\nprocess t0[1] {\n    e0 = 1;\n    m.acquire();\n    \
            atomic { if r0 == 1 { d = (r0 * 2 + 2) % 7; } else { assume d == d; } }\n    m.release();\n}\n\
            sync var e1: 0..1;\ndata var r1: int;\nprocess t1[1] {\n    e1 = 1;\n    atomic { r1 = x; }\n    \
            atomic { if x == 0 { x = 1; r1 = 1; } else { assume x == x; r1 = 0; } }\n}\n";
        assert_eq!(source(&program, Reads::Read), plain);
        let written = plain
            .replace("assume d == d;", "d = d + 0;")
            .replace("assume x == x;", "x = x + 0;")
            .replace("r1 = x; }", "r1 = x; x = x + 0; }");
        assert_eq!(source(&program, Reads::Write), written);
    }
}
