//! The server through the protocol, as an editor speaks it.

use lsp_server::{Connection, Message, Notification, Request};
use serde_json::{Value, json};
use std::sync::Arc;
use std::thread::JoinHandle;

const URI: &str = "file:///model.fab";

const PROGRAM: &str = "\
// How many there are.
const N = 2;
enum Colour { Red, Green }
record Node { value: int, next: ref Node }
// The counter.
var x: int = 0;
var m: lock;
var nodes: [Node; 3];
proc increment(by: int) -> int {
    let t = x;
    x = t + by;
    nodes[0].value = t;
    return t;
}
process p[2] {
    m.acquire();
    let old = increment(N);
    m.release();
}
";

/// An editor with a server of its own.
struct Editor {
    connection: Connection,
    server: Option<JoinHandle<()>>,
    asked: i32,
    /// Notifications that came while an answer was waited for.
    said: Vec<Notification>,
}

impl Editor {
    fn with(text: &str) -> Editor {
        let (ours, theirs) = Connection::memory();
        let server = std::thread::spawn(move || {
            fabius_lsp::serve(&theirs, "there-is-no-such-command".into(), Arc::default)
                .expect("the editor keeps to the protocol");
        });
        let mut editor = Editor { connection: ours, server: Some(server), asked: 0, said: Vec::new() };
        editor.ask("initialize", json!({ "capabilities": {} }));
        editor.say("initialized", json!({}));
        editor.say(
            "textDocument/didOpen",
            json!({ "textDocument": { "uri": URI, "languageId": "fabius", "version": 1, "text": text } }),
        );
        editor
    }

    fn say(&self, method: &str, params: Value) {
        let message = Notification::new(method.into(), params);
        self.connection.sender.send(message.into()).expect("the server listens");
    }

    /// The answer to a request, or its error's message.
    fn try_ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.asked += 1;
        let request = Request::new(self.asked.into(), method.into(), params);
        self.connection.sender.send(request.into()).expect("the server listens");
        loop {
            match self.connection.receiver.recv().expect("the server answers") {
                Message::Response(answer) if answer.id == self.asked.into() => {
                    return answer.response_result.map_err(|error| error.message);
                }
                Message::Notification(said) => self.said.push(said),
                other => panic!("not asked for: {other:?}"),
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.try_ask(method, params).expect("an answer")
    }

    /// A request about a place of the program.
    fn at(&mut self, method: &str, place: Value) -> Value {
        self.ask(method, json!({ "textDocument": { "uri": URI }, "position": place }))
    }

    /// The last diagnostics.
    fn diagnostics(&mut self) -> Vec<Value> {
        // An answer comes after what was said before it.
        self.ask("textDocument/codeLens", json!({ "textDocument": { "uri": URI } }));
        let last = self.said.iter().rev().find(|said| said.method == "textDocument/publishDiagnostics");
        last.expect("diagnostics").params["diagnostics"].as_array().expect("a list").clone()
    }

    fn change(&self, text: &str) {
        let version = json!({ "uri": URI, "version": 2 });
        self.say("textDocument/didChange", json!({ "textDocument": version, "contentChanges": [{ "text": text }] }));
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.ask("shutdown", Value::Null);
            self.say("exit", Value::Null);
            self.server.take().expect("it runs").join().expect("it ends well");
        }
    }
}

/// Where the `n`-th piece of text like this begins.
fn place(text: &str, piece: &str, n: usize) -> Value {
    let at = text.match_indices(piece).nth(n).expect("it is there").0;
    let line = text[..at].matches('\n').count();
    let column = at - text[..at].rfind('\n').map_or(0, |at| at + 1);
    json!({ "line": line, "character": column })
}

fn labels(items: &Value) -> Vec<&str> {
    items.as_array().expect("a list").iter().map(|item| item["label"].as_str().expect("a label")).collect()
}

#[test]
fn what_is_wrong_is_said_as_one_types() {
    let mut editor = Editor::with(PROGRAM);
    assert_eq!(editor.diagnostics(), [] as [Value; 0]);
    editor.change(&PROGRAM.replace("x = t + by", "x = t + bye"));
    let wrong = editor.diagnostics();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(wrong[0]["range"]["start"], json!({ "line": 10, "character": 12 }));
    assert!(wrong[0]["message"].as_str().is_some_and(|m| m.contains("did you mean `by`")), "{wrong:?}");
    editor.change(PROGRAM);
    assert_eq!(editor.diagnostics(), [] as [Value; 0]);
}

#[test]
fn a_name_leads_to_its_declaration_and_to_all_its_places() {
    let mut editor = Editor::with(PROGRAM);
    let declared = [
        ("x = t", 0, "x:", 0),
        ("t + by", 0, "t = x", 0),
        ("by;", 0, "by:", 0),
        ("increment(N", 0, "increment", 0),
        (".value", 0, "value:", 0),
    ];
    for (piece, n, there, m) in declared {
        let mut from = place(PROGRAM, piece, n);
        if piece.starts_with('.') {
            from["character"] = json!(from["character"].as_u64().unwrap() + 1);
        }
        let found = editor.at("textDocument/definition", from);
        assert_eq!(found["range"]["start"], place(PROGRAM, there, m), "{piece}");
    }
    let position = place(PROGRAM, "t = x", 0);
    let all = editor.ask(
        "textDocument/references",
        json!({ "textDocument": { "uri": URI }, "position": position, "context": { "includeDeclaration": false } }),
    );
    assert_eq!(all.as_array().map(Vec::len), Some(3));
    // A word is no name.
    assert_eq!(editor.at("textDocument/definition", place(PROGRAM, "return", 0)), Value::Null);
}

#[test]
fn a_variable_says_its_type_and_who_writes_it() {
    let mut editor = Editor::with(PROGRAM);
    let said = |hover: Value| hover["contents"]["value"].as_str().expect("text").to_string();
    let of_x = said(editor.at("textDocument/hover", place(PROGRAM, "x = t", 0)));
    assert_eq!(
        of_x,
        "```fabius\nvar x: int = 0\n```\n\nThe counter.\n\nData.\n\nWritten in `increment`.\n\nRead in `increment`."
    );
    let of_m = said(editor.at("textDocument/hover", place(PROGRAM, "m.acquire", 0)));
    assert!(of_m.contains("A synchronization variable.") && of_m.contains("Written in `p`."), "{of_m}");
    // Its type is written nowhere.
    let of_t = said(editor.at("textDocument/hover", place(PROGRAM, "t + by", 0)));
    assert!(of_t.starts_with("```fabius\nt: int\n```"), "{of_t}");
    let of_p = said(editor.at("textDocument/hover", place(PROGRAM, "increment(N", 0)));
    assert!(of_p.contains("proc increment(by: int) -> int\n") && of_p.contains("Used in `p`."), "{of_p}");
}

#[test]
fn a_name_is_changed_everywhere_or_nowhere() {
    let mut editor = Editor::with(PROGRAM);
    let mut rename = |piece: &str, new: &str| {
        let position = place(PROGRAM, piece, 0);
        editor.try_ask(
            "textDocument/rename",
            json!({ "textDocument": { "uri": URI }, "position": position, "newName": new }),
        )
    };
    let edits = rename("t = x", "before").expect("it can be");
    let edits = edits["changes"][URI].as_array().expect("a list").clone();
    assert_eq!(edits.len(), 4);
    assert!(edits.iter().all(|edit| edit["newText"] == "before"));
    assert_eq!(rename("t = x", "while"), Err("`while` cannot be a name".into()));
    assert_eq!(rename("t = x", "a b"), Err("`a b` cannot be a name".into()));
    // `x` would be the local, and no longer the global.
    assert_eq!(rename("t = x", "x"), Err("with the name `x` the program would mean something else".into()));
    assert_eq!(rename("return", "x"), Err("there is no name here that this program declares".into()));
}

#[test]
fn a_name_that_would_hide_another_one_is_refused_though_the_program_would_compile() {
    let text = "var x: int;\nprocess p[1] {\n    var u: int = 0;\n    x = 1;\n}\n";
    let mut editor = Editor::with(text);
    let position = place(text, "u: int", 0);
    let asked = json!({ "textDocument": { "uri": URI }, "position": position, "newName": "x" });
    assert_eq!(
        editor.try_ask("textDocument/rename", asked),
        Err("with the name `x` the program would mean something else".into())
    );
}

#[test]
fn what_can_stand_here_is_offered() {
    let mut editor = Editor::with(PROGRAM);
    let mut offered = |written: &str| {
        // As it is while one types: the statement is not complete.
        let text = PROGRAM.replace("    return t;", &format!("    {written}\n    return t;"));
        editor.change(&text);
        let mut position = place(&text, &format!("    {written}\n    return t;"), 0);
        position["character"] = json!(4 + written.len());
        let items = editor.at("textDocument/completion", position);
        labels(&items).into_iter().map(str::to_string).collect::<Vec<_>>()
    };
    let has = |all: &[String], name: &str| all.iter().any(|label| label == name);
    let names = offered("");
    for name in ["t", "by", "x", "N", "increment", "Node", "lock", "while"] {
        assert!(has(&names, name), "{name}: {names:?}");
    }
    assert!(!has(&names, "old") && !has(&names, "value"), "{names:?}");
    assert_eq!(offered("nodes[t + 1]."), ["value", "next"]);
    assert_eq!(offered("nodes[0].next.ne"), ["value", "next"]);
    assert_eq!(offered("m."), ["acquire", "try_acquire", "release"]);
    assert_eq!(offered("Colour."), ["Red", "Green"]);
}

#[test]
fn the_outline_and_the_style() {
    let mut editor = Editor::with(&PROGRAM.replace("return t;", "return   t ;"));
    let outline = editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    let names: Vec<&str> = outline.as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["N", "Colour", "Node", "x", "m", "nodes", "increment", "p"]);
    assert_eq!(outline[2]["children"].as_array().map(Vec::len), Some(2));
    let options = json!({ "textDocument": { "uri": URI }, "options": { "tabSize": 4, "insertSpaces": true } });
    let edits = editor.ask("textDocument/formatting", options.clone());
    assert_eq!(edits[0]["newText"], PROGRAM);
    editor.change(PROGRAM);
    assert_eq!(editor.ask("textDocument/formatting", options), json!([]));
}

#[test]
fn what_cannot_be_answered_is_an_error_and_no_end() {
    let mut editor = Editor::with(PROGRAM);
    let elsewhere =
        json!({ "textDocument": { "uri": "file:///other.fab" }, "position": { "line": 0, "character": 0 } });
    assert_eq!(editor.try_ask("textDocument/hover", elsewhere), Err("`file:///other.fab` is not open".into()));
    assert!(editor.try_ask("textDocument/hover", json!(3)).is_err());
    assert_eq!(editor.try_ask("fabius/unheard", json!({})), Err("`fabius/unheard` is not known".into()));
    let check = json!({ "command": "fabius.check", "arguments": [URI] });
    let failed = editor.try_ask("workspace/executeCommand", check).expect_err("there is no such command");
    assert!(failed.starts_with("`there-is-no-such-command` cannot be run"), "{failed}");
}

#[test]
fn invariants_and_properties_are_in_the_outline_and_say_what_they_are() {
    let text = "var x: int;\n// It stays small.\ninvariant small: x < 3;\nproperty grows: eventually x == 2;\ninit { x = 1; }\n";
    let mut editor = Editor::with(text);
    let outline = editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    let names: Vec<&str> = outline.as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["x", "small", "grows", "init"]);
    let said = |hover: Value| hover["contents"]["value"].as_str().expect("text").to_string();
    let small = said(editor.at("textDocument/hover", place(text, "small", 1)));
    assert_eq!(small, "```fabius\ninvariant small: x < 3\n```\n\nIt stays small.");
    let grows = said(editor.at("textDocument/hover", place(text, "grows", 0)));
    assert!(grows.contains("property grows: eventually x == 2"), "{grows}");
    let of_x = said(editor.at("textDocument/hover", place(text, "x", 0)));
    assert!(of_x.contains("Read in `small`, `grows`."), "{of_x}");
    let offered = editor.at("textDocument/completion", place(text, "x = 1", 0));
    assert!(!labels(&offered).contains(&"small"), "nothing names an invariant");
}
