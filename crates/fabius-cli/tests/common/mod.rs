//! Runs the command as a user does.

// Each test uses a part of it.
#![allow(dead_code)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder of its own for each test.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

/// Runs the command in the project's folder.
pub fn fabius(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabius"));
    command.args(args).current_dir(root()).stdin(Stdio::null());
    command.output().expect("the command starts")
}

/// The exit code is this, and all of the parts are in what was printed.
#[track_caller]
pub fn expect(output: &Output, code: i32, parts: &[&str]) {
    let text = String::from_utf8_lossy(&output.stdout).to_string() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

/// Standard output as a document.
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON document")
}
