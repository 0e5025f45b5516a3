//! Answers as SARIF 2.1.0, for code scanning: bugs as results with their interleaving, everything else as notifications.
//!
//! A thread flow for each lane, and `executionOrder` across them. Every kind of bug that occurs is a rule. What is unknown
//! or bad input is no result: it would look like a bug of the program.

use crate::failure::{BAD_INPUT, Failure, Kind, Wrong};
use fabius_trace::{Action, BugKind, ErrorTrace, LineCol, LinkKind, Mark, Span, Step, Verdict};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// What became of one file.
pub struct Answered<'a> {
    /// The file, as the user gave it.
    pub file: &'a str,
    /// Its text; empty if it could not be read.
    pub source: &'a str,
    /// The answer, or why there is none.
    pub answer: Result<&'a Verdict, &'a Failure>,
}

/// The document. Paths are written relative to `folder`, where they are below it.
pub fn document(answers: &[Answered<'_>], exit_code: u8, folder: &Path) -> Value {
    let bug = |a| match a {
        &Answered { answer: Ok(Verdict::Bug { trace }), .. } => Some((a, trace.as_ref())),
        _ => None,
    };
    let traces: Vec<(&Answered<'_>, &ErrorTrace)> = answers.iter().filter_map(bug).collect();
    let kinds: Vec<BugKind> = traces.iter().map(|(_, t)| t.kind).collect::<BTreeSet<_>>().into_iter().collect();
    let result = |(answered, trace): &(&Answered<'_>, &ErrorTrace)| {
        let rule = kinds.iter().position(|k| *k == trace.kind).expect("every kind is there");
        result(answered, trace, rule, folder)
    };
    let notifications: Vec<Value> = answers.iter().flat_map(|a| notifications(a, folder)).collect();
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Fabius",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": kinds.iter().map(|k| rule(*k)).collect::<Value>(),
            } },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": exit_code != BAD_INPUT,
                "exitCode": exit_code,
                "toolExecutionNotifications": notifications,
            }],
            "results": traces.iter().map(result).collect::<Value>(),
        }],
    })
}

/// The name of a kind of bug, as in `--json`.
pub fn name_of(kind: BugKind) -> String {
    serde_json::to_value(kind).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default()
}

fn rule(kind: BugKind) -> Value {
    let (title, more) = match kind {
        BugKind::Assertion => ("Assertion fails", "Some schedule makes the condition of an `assert` false."),
        BugKind::Deadlock => {
            ("Deadlock", "Some schedule leads to a state where nobody can go on, and not all have finished.")
        }
        BugKind::DataRace => {
            ("Data race", "Two accesses to the same variable, one of them a write, are not ordered by anything.")
        }
        BugKind::Livelock => ("Livelock", "A fair schedule goes on for ever without progress."),
        BugKind::Liveness => ("Property", "A fair schedule goes on for ever, or ends, and violates a property."),
        BugKind::DivisionByZero => ("Division by zero", "Some schedule divides by zero."),
        BugKind::IndexOutOfBounds => {
            ("Index out of bounds", "Some schedule uses an index that the array does not have.")
        }
        BugKind::NullDereference => ("Null dereference", "Some schedule uses a field of `null`."),
        BugKind::RangeOverflow => ("Value out of range", "Some schedule stores a value that the variable cannot hold."),
        BugKind::SyncMisuse => {
            ("Misuse of synchronization", "Some schedule releases a lock that is not held, or the like.")
        }
        BugKind::Panic => ("Panic", "Some schedule makes the code panic."),
        BugKind::Leak => ("Leak", "Some schedule ends without giving something back."),
        BugKind::Crash => ("Crash", "Some schedule ends the process by a signal, by abort, or by an exception."),
        BugKind::Memory => ("Memory error", "Some schedule uses memory of the heap that was freed or is of no block."),
        BugKind::Unmatched => ("Unmatched message", "Some order of the messages leaves one that is never received."),
    };
    json!({
        "id": name_of(kind),
        "name": title.split(' ').map(capital).collect::<String>(),
        "shortDescription": message(title),
        "fullDescription": message(more),
        "defaultConfiguration": { "level": "error" },
    })
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|c| c.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn result(answered: &Answered<'_>, trace: &ErrorTrace, rule: usize, folder: &Path) -> Value {
    let place = Place { file: answered.file, source: answered.source, folder };
    let flows = thread_flows(trace, &place);
    let mut result = json!({
        "ruleId": name_of(trace.kind),
        "ruleIndex": rule,
        "level": "error",
        "message": message(&trace.message),
        "locations": [{ "physicalLocation": place.physical(trace.span, trace.span.line_col(answered.source), None) }],
        "properties": { "bound": trace.bound, "cost": trace.cost, "steps": trace.steps.len() },
    });
    let others = other_accesses(trace, &place);
    if !others.is_empty() {
        result["relatedLocations"] = others.into();
    }
    if !flows.is_empty() {
        result["codeFlows"] = json!([{ "message": message("The interleaving"), "threadFlows": flows }]);
    }
    result
}

/// Of a race: the accesses that are in conflict with the last one.
fn other_accesses(trace: &ErrorTrace, place: &Place<'_>) -> Vec<Value> {
    let races = trace.links.iter().filter(|link| link.kind == LinkKind::Race);
    let steps = races.filter_map(|link| trace.steps.get(link.from as usize));
    let other = |step: &Step| {
        let action = step.actions.last()?;
        let lane = trace.lanes.get(step.lane as usize).map_or("", |l| l.name.as_str());
        Some(json!({
            "physicalLocation": place.physical(action.span, action.at, action.file.as_deref()),
            "message": message(&format!("the other access, by {lane}")),
        }))
    };
    steps.filter_map(other).collect()
}

/// The lanes that do something, each with its steps.
fn thread_flows(trace: &ErrorTrace, place: &Place<'_>) -> Vec<Value> {
    let mut flows: Vec<Vec<Value>> = vec![Vec::new(); trace.lanes.len()];
    let mut order = 0;
    for step in &trace.steps {
        let Some(flow) = flows.get_mut(step.lane as usize) else { continue };
        for (number, action) in step.actions.iter().enumerate() {
            order += 1;
            let mut at = json!({
                "executionOrder": order,
                "nestingLevel": action.depth(),
                "location": {
                    "physicalLocation": place.physical(action.span, action.at, action.file.as_deref()),
                    "message": message(&told(action)),
                },
            });
            if !action.changes.is_empty() {
                let values = action.changes.iter().map(|c| (c.variable.clone(), message(&c.new)));
                at["state"] = Value::Object(values.collect::<Map<_, _>>());
            }
            if let (0, Some(mark)) = (number, &step.mark) {
                let mark = serde_json::to_value(mark).unwrap_or_default();
                let name = mark.as_str().or_else(|| mark.as_object()?.keys().next().map(String::as_str));
                at["kinds"] = json!(name.into_iter().collect::<Vec<_>>());
                if !matches!(step.mark, Some(Mark::Switch | Mark::Message { .. })) {
                    at["importance"] = "essential".into();
                }
            }
            flow.push(at);
        }
    }
    let lanes = trace.lanes.iter().zip(flows).filter(|(_, flow)| !flow.is_empty());
    lanes.map(|(lane, flow)| json!({ "id": lane.name, "message": message(&lane.name), "locations": flow })).collect()
}

/// A statement and what it did.
fn told(action: &Action) -> String {
    let changes = action.changes.iter().map(|c| format!("{}: {} -> {}", c.variable, c.old, c.new));
    let more: Vec<String> = changes.chain(action.note.clone()).collect();
    if more.is_empty() { action.text.clone() } else { format!("{} ({})", action.text, more.join("; ")) }
}

/// What is not a bug, but must not go unnoticed.
fn notifications(answered: &Answered<'_>, folder: &Path) -> Vec<Value> {
    let whole =
        || json!([{ "physicalLocation": { "artifactLocation": { "uri": uri(Path::new(answered.file), folder) } } }]);
    let told = |id: &str, level: &str, text: &str, locations: Value| json!({ "descriptor": { "id": id }, "level": level, "message": message(text), "locations": locations });
    match answered.answer {
        Ok(Verdict::Unknown { reason, .. }) => {
            vec![told("unknown", "warning", &format!("unknown: {}", reason.words()), whole())]
        }
        Ok(_) => Vec::new(),
        Err(Failure::Source(wrong)) => {
            let of_file = |wrong: &Wrong| {
                let place = Place { source: &wrong.source, file: &wrong.file, folder };
                let one = |d: &fabius_lang::diagnostic::Diagnostic| {
                    let at = d.span.line_col(&wrong.source);
                    told(d.code, "error", &d.message, json!([{ "physicalLocation": place.physical(d.span, at, None) }]))
                };
                wrong.diagnostics.iter().map(one).collect::<Vec<Value>>()
            };
            wrong.iter().flat_map(of_file).collect()
        }
        Err(Failure::Plain { kind, message, .. }) => {
            let id = if *kind == Kind::Internal { "internal" } else { "input" };
            vec![told(id, "error", message, whole())]
        }
    }
}

/// Where things are.
struct Place<'a> {
    file: &'a str,
    source: &'a str,
    folder: &'a Path,
}

impl Place<'_> {
    /// A region of the program, or of another file.
    fn physical(&self, span: Span, at: LineCol, other: Option<&str>) -> Value {
        let mut region = json!({ "startLine": at.line, "startColumn": at.column });
        if other.is_none() && !span.text(self.source).is_empty() {
            let end = Span { start: span.end, end: span.end }.line_col(self.source);
            region["endLine"] = end.line.into();
            region["endColumn"] = end.column.into();
        }
        let uri = uri(Path::new(other.unwrap_or(self.file)), self.folder);
        json!({ "artifactLocation": { "uri": uri }, "region": region })
    }
}

/// A message. Braces are doubled (section 3.11.5), and nothing becomes a link (3.11.6).
fn message(text: &str) -> Value {
    let escaped = text.replace('{', "{{").replace('}', "}}").replace("](", "\\](");
    json!({ "text": if escaped.is_empty() { " " } else { &escaped } })
}

/// A file as a URI: relative to the folder, if it is below it.
fn uri(file: &Path, folder: &Path) -> String {
    let mut whole = PathBuf::new();
    for part in folder.join(file).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
    }
    let below = whole.strip_prefix(folder);
    let names = below.as_ref().map_or(whole.as_path(), |path| path).components().filter_map(|c| match c {
        Component::RootDir => None,
        part => Some(percent(&part.as_os_str().to_string_lossy())),
    });
    let path = names.collect::<Vec<_>>().join("/");
    if below.is_ok() { path } else { format!("file:///{path}") }
}

/// The bytes that may not stand in a URI, in hexadecimal.
fn percent(text: &str) -> String {
    let byte = |b: u8| match b {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(b).to_string(),
        b => format!("%{b:02X}"),
    };
    text.bytes().map(byte).collect()
}
