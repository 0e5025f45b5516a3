//! What is asked about which kind of mutant.

use super::inputs::Inputs;
use super::run::STDIN;
use fastrand::Rng;
use serde_json::{Value, json};
use testkit::mutate::mutate;

/// A command on a mutant.
pub struct Ask {
    /// The file that the mutant is written to.
    pub name: &'static str,
    pub contents: Vec<u8>,
    pub args: Vec<&'static str>,
    /// The exit codes that there may be.
    pub codes: &'static [i32],
}

const LIMITS: [&str; 4] = ["--time", "300ms", "--memory", "64M"];
const ALL: &[i32] = &[0, 1, 2, 3];

fn mutant(rng: &mut Rng, all: &[Vec<u8>]) -> Vec<u8> {
    let which = rng.usize(0..all.len());
    mutate(rng, &all[which], all)
}

/// With one of some groups of options.
fn with(rng: &mut Rng, command: &[&'static str], options: &[&[&'static str]]) -> Vec<&'static str> {
    [command, options[rng.usize(0..options.len())]].concat()
}

/// One of them.
pub fn ask(rng: &mut Rng, inputs: &Inputs) -> Ask {
    let (name, all, args, codes): (_, &[Vec<u8>], _, _) = match rng.u8(0..24) {
        0..=3 => ("m.fab", &inputs.programs, check(rng), ALL),
        4..=5 => ("m.fab", &inputs.programs, verify(rng), ALL),
        6 => ("m.fab", &inputs.programs, translate(rng), &[0, 2, 3]),
        7 => ("m.fab", &inputs.programs, vec!["fmt", "m.fab"], &[0, 2]),
        8..=10 => ("m.ctp", &inputs.runs, trace(rng), ALL),
        11..=12 => ("m.json", &inputs.traces, vec!["replay", "m.json"], &[1, 2]),
        13 => ("m.json", &inputs.all_traces, vec!["report", "m.json", "-o", "out.html"], &[0, 2]),
        14 => ("m.json", &inputs.comparisons, vec!["compare", "m.json", "--svg", "plots"], &[0, 2, 3]),
        15..=16 => ("m.fab", &inputs.programs, decide(rng), ALL),
        17 => {
            let args = ["compare", "m.fab", "--executions", "10", "--strategies", "icb,pct:2", "--seeds", "1"];
            ("m.fab", &inputs.programs, [&args[..], &LIMITS].concat(), &[0, 2, 3])
        }
        18..=20 => ("m.c", &inputs.c, c(rng), ALL),
        21 => {
            let (name, options) = if rng.bool() {
                ("m.yml", with(rng, &["m.yml"], &[&[], &["--property", "no-data-race"], &["--svcomp"]]))
            } else {
                ("m.prp", vec!["task.c", "--property", "m.prp"])
            };
            let command = if rng.bool() { "check" } else { "decide" };
            (name, &inputs.tasks, [&[command], &options[..], &LIMITS].concat(), ALL)
        }
        22 => (STDIN, &inputs.programs, [&["check", "-"], &LIMITS[..]].concat(), ALL),
        _ => {
            let program = mutant(rng, &inputs.programs);
            return Ask { name: STDIN, contents: session(rng, &program), args: vec!["lsp"], codes: &[0, 2] };
        }
    };
    Ask { name, contents: mutant(rng, all), args, codes }
}

fn check(rng: &mut Rng) -> Vec<&'static str> {
    let options: [&[&str]; 8] = [
        &["--json"],
        &["--bound", "delays", "--max", "2"],
        &["--bound", "rounds", "--max", "1"],
        &["--livelock", "--races"],
        &["--points", "sync", "--html", "out.html", "--sarif", "out.sarif"],
        &["--strategy", "random", "--executions", "50", "--junit", "out.xml"],
        &["--stateless", "--max", "2", "--stats"],
        &["--dot", "out.dot", "--trace", "out.json"],
    ];
    with(rng, &[&["check", "m.fab"], &LIMITS[..]].concat(), &options)
}

fn verify(rng: &mut Rng) -> Vec<&'static str> {
    let options: [&[&str]; 5] =
        [&["--json"], &["--rounds", "2"], &["--engine", "summaries"], &["--unwind", "2"], &["--threads", "any"]];
    with(rng, &[&["verify", "m.fab"], &LIMITS[..]].concat(), &options)
}

fn translate(rng: &mut Rng) -> Vec<&'static str> {
    let forms = ["explicit", "single-buffer", "yield-free", "shared-memory", "sequential", "promela"];
    let form = forms[rng.usize(0..forms.len())];
    [&["translate", "m.fab", "--to", form], &LIMITS[..]].concat()
}

fn trace(rng: &mut Rng) -> Vec<&'static str> {
    let options: [&[&str]; 5] =
        [&["--json"], &["--property", "deadlock", "--buffering", "zero"], &["--enumerate"], &["--paths", "all"], &[]];
    with(rng, &[&["trace", "m.ctp"], &LIMITS[..]].concat(), &options)
}

fn decide(rng: &mut Rng) -> Vec<&'static str> {
    let options: [&[&str]; 4] = [&["--json"], &["--engine", "bmc"], &["--jobs", "2", "--trace", "out.json"], &[]];
    with(rng, &[&["decide", "m.fab"], &LIMITS[..]].concat(), &options)
}

fn c(rng: &mut Rng) -> Vec<&'static str> {
    let options: [&[&str]; 6] = [
        &["--property", "unreach-call", "--witness", "out.yml", "--svcomp"],
        &["--property", "no-data-race", "--data-model", "ilp32"],
        &["--property", "valid-memsafety", "--svcomp"],
        &["--overflow", "--leaks"],
        &["--allocations", "1", "--html", "out.html"],
        &[],
    ];
    let command = if rng.bool() { "check" } else { "decide" };
    with(rng, &[&[command, "m.c"], &LIMITS[..]].concat(), &options)
}

/// What an editor sends about a text, and in every third session not quite that.
fn session(rng: &mut Rng, text: &[u8]) -> Vec<u8> {
    const URI: &str = "file:///m.fab";
    let text = String::from_utf8_lossy(text);
    let document = json!({ "uri": URI });
    let mut place = || json!({ "line": rng.u8(..40), "character": rng.u8(..80) });
    let (one, other) = (place(), place());
    let about = |method: &str, more: Value| {
        let mut params = json!({ "textDocument": document, "position": one });
        params.as_object_mut().expect("it is one").extend(more.as_object().expect("it is one").clone());
        (method.to_string(), params)
    };
    let opened = json!({ "uri": URI, "languageId": "fabius", "version": 1, "text": text });
    let changed = json!({ "uri": URI, "version": 2 });
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let asked = [
        about("textDocument/hover", json!({})),
        about("textDocument/definition", json!({})),
        about("textDocument/references", json!({ "context": { "includeDeclaration": true } })),
        about("textDocument/documentHighlight", json!({})),
        about("textDocument/prepareRename", json!({})),
        about("textDocument/rename", json!({ "newName": "other" })),
        about("textDocument/completion", json!({})),
        about("textDocument/documentSymbol", json!({})),
        about("textDocument/formatting", json!({ "options": options })),
        about("textDocument/inlayHint", json!({ "range": { "start": one, "end": other } })),
        about("textDocument/codeLens", json!({})),
    ];
    let mut said: Vec<Value> = vec![
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "capabilities": {} } }),
        json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }),
        json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": opened } }),
        json!({
            "jsonrpc": "2.0", "method": "textDocument/didChange",
            "params": { "textDocument": changed, "contentChanges": [{ "text": text }] }
        }),
    ];
    for (id, (method, params)) in asked.into_iter().enumerate() {
        said.push(json!({ "jsonrpc": "2.0", "id": id + 1, "method": method, "params": params }));
    }
    said.push(json!({ "jsonrpc": "2.0", "id": 99, "method": "shutdown" }));
    said.push(json!({ "jsonrpc": "2.0", "method": "exit" }));
    let mut bodies: Vec<Vec<u8>> = said.iter().map(|message| message.to_string().into_bytes()).collect();
    // How long a message is said to be is a matter of the library that reads it, which believes it.
    if rng.u8(..3) == 0 {
        let which = rng.usize(..bodies.len());
        bodies[which] = mutate(rng, &bodies[which], &bodies);
    }
    let framed =
        bodies.iter().map(|body| [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat());
    framed.collect::<Vec<_>>().concat()
}
