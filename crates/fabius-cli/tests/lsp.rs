//! `fabius lsp` as an editor starts it. What it answers about names and text is tested beside the server.

use lsp_server::{Message, Notification, Request};
use serde_json::{Value, json};
use std::io::BufReader;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

const URI: &str = "file:///race.fab";

const RACE: &str = "\
var x: int = 0;
process p[2] {
    let t = x;
    x = t + 1;
    assert x == t + 1;
}
";

struct Server {
    process: Child,
    out: BufReader<ChildStdout>,
}

impl Server {
    fn start() -> Server {
        Server::start_in(None)
    }

    /// With a folder of its own for temporary files.
    fn start_in(temporary: Option<&Path>) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fabius"));
        let command = command.args(["lsp", "--stdio"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.envs(temporary.map(|folder| ("TMPDIR", folder)));
        let mut process = command.spawn().expect("it runs");
        let out = BufReader::new(process.stdout.take().expect("piped"));
        let mut server = Server { process, out };
        let can = json!({ "workspace": { "inlayHint": { "refreshSupport": true } } });
        server.ask(1, "initialize", json!({ "capabilities": can }));
        server.say("initialized", json!({}));
        let document = json!({ "uri": URI, "languageId": "fabius", "version": 1, "text": RACE });
        server.say("textDocument/didOpen", json!({ "textDocument": document }));
        server
    }

    fn send(&mut self, message: Message) {
        message.write(self.process.stdin.as_mut().expect("piped")).expect("it listens");
    }

    fn say(&mut self, method: &str, params: Value) {
        self.send(Notification::new(method.into(), params).into());
    }

    /// The next message that is wanted.
    fn next<T>(&mut self, wanted: impl Fn(Message) -> Option<T>) -> T {
        loop {
            let message = Message::read(&mut self.out).expect("messages").expect("more of them");
            if let Some(found) = wanted(message) {
                return found;
            }
        }
    }

    fn ask(&mut self, id: i32, method: &str, params: Value) -> Value {
        self.send(Request::new(id.into(), method.into(), params).into());
        self.next(|message| match message {
            Message::Response(answer) if answer.id == id.into() => Some(answer.response_result.expect("an answer")),
            _ => None,
        })
    }

    /// The parameters of the next notification of this kind.
    fn heard(&mut self, method: &str) -> Value {
        self.next(|message| match message {
            Message::Notification(said) if said.method == method => Some(said.params),
            _ => None,
        })
    }

    fn steps(&mut self, id: i32) -> Value {
        let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
        self.ask(id, "textDocument/inlayHint", json!({ "textDocument": { "uri": URI }, "range": range }))
    }
}

#[test]
fn a_file_is_checked_and_its_bug_shown_in_steps_until_it_changes() {
    let mut server = Server::start();
    assert_eq!(server.heard("textDocument/publishDiagnostics")["diagnostics"], json!([]));
    let lens = server.ask(2, "textDocument/codeLens", json!({ "textDocument": { "uri": URI } }));
    let command = &lens[0]["command"];
    server.ask(
        3,
        "workspace/executeCommand",
        json!({ "command": command["command"], "arguments": command["arguments"] }),
    );
    let said = server.heard("window/showMessage");
    assert!(said["message"].as_str().is_some_and(|m| m.contains("assertion failed")), "{said}");
    let bug = &server.heard("textDocument/publishDiagnostics")["diagnostics"][0];
    assert_eq!((&bug["source"], &bug["range"]["start"]["line"]), (&json!("fabius check"), &json!(4)), "{bug:#}");
    assert!(bug["relatedInformation"][0]["message"].as_str().is_some_and(|m| m.starts_with("1. p#")), "{bug:#}");
    server.next(|message| {
        matches!(&message, Message::Request(r) if r.method == "workspace/inlayHint/refresh").then_some(())
    });
    let steps = server.steps(4);
    let first = &steps[0];
    assert_eq!(first["position"]["line"], json!(2), "{steps:#}");
    assert!(first["label"].as_str().is_some_and(|label| label.contains("1. p#")), "{steps:#}");

    // What was found in another text is not shown in this one.
    let changed = RACE.replace("assert x == t + 1;", "");
    let version = json!({ "uri": URI, "version": 2 });
    server.say("textDocument/didChange", json!({ "textDocument": version, "contentChanges": [{ "text": changed }] }));
    assert_eq!(server.heard("textDocument/publishDiagnostics")["diagnostics"], json!([]));
    assert_eq!(server.steps(5), json!([]));

    // Of a run about what was there before nothing is said any more.
    server.ask(8, "workspace/executeCommand", json!({ "command": "fabius.check", "arguments": [URI] }));
    let version = json!({ "uri": URI, "version": 3 });
    server.say("textDocument/didChange", json!({ "textDocument": version, "contentChanges": [{ "text": changed }] }));

    // Without a bug only the answer is said.
    server.ask(6, "workspace/executeCommand", json!({ "command": "fabius.check", "arguments": [URI] }));
    let said = server.heard("window/showMessage");
    assert!(said["message"].as_str().is_some_and(|m| m.contains("verified")), "{said}");

    server.ask(7, "shutdown", Value::Null);
    server.say("exit", Value::Null);
    assert!(server.process.wait().expect("it ends").success());
}

/// What was begun ends with it, and leaves no file.
#[test]
#[cfg(unix)]
fn a_signal_ends_the_server_and_what_it_has_begun() {
    let temporary = crate::common::folder("lsp_signal");
    let mut server = Server::start_in(Some(&temporary));
    let endless = "var a: [u8; 6];\nprocess p[3] { loop { let v = any 0..5; a[v] = a[v] + 1; } }\n";
    let version = json!({ "uri": URI, "version": 2 });
    server.say("textDocument/didChange", json!({ "textDocument": version, "contentChanges": [{ "text": endless }] }));
    server.ask(2, "workspace/executeCommand", json!({ "command": "fabius.check", "arguments": [URI] }));
    let files = || std::fs::read_dir(&temporary).expect("it is there").count();
    // The folder of what runs, which may be about to write there.
    for _ in 0..1000 {
        if files() == 1 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(files(), 1);
    let id = server.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().expect("there is a kill command").success());
    assert_eq!(server.process.wait().expect("it ends").code(), Some(3));
    // It is removed once what ran has ended.
    assert_eq!(files(), 0);
}

#[test]
fn an_editor_that_goes_away_is_no_failure() {
    let mut server = Server::start();
    drop(server.process.stdin.take());
    assert!(server.process.wait().expect("it ends").success());
}
