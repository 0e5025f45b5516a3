//! C programs, checked.

use fabius_c::{Failure, Loaded, Options, load};
use fabius_trace::{Points, Verdict};
use fabius_verify::Plan;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// An answer in short.
#[derive(Debug, PartialEq)]
#[allow(dead_code)]
pub enum Found {
    Verified,
    /// The kind of bug, its cost, the message, the line.
    Bug(String, u32, String, u32),
    Other(String),
}

/// Reads C files; what is refused is shown.
#[allow(dead_code)]
pub fn read(files: &[&Path], options: &[String]) -> Result<Loaded, String> {
    read_as(files, &Options { preprocessor: options.to_vec(), ..Options::default() })
}

/// The same with these options.
#[allow(dead_code)]
pub fn read_as(files: &[&Path], options: &Options) -> Result<Loaded, String> {
    let files: Vec<_> = files.iter().map(|f| f.to_path_buf()).collect();
    load(&files, options).map_err(|failure| match failure {
        Failure::Plain(message) => message,
        Failure::Source(wrong) => wrong
            .iter()
            .map(|w| fabius_lang::render(&w.source, &w.file, &w.diagnostics, fabius_lang::Style::Plain))
            .collect(),
    })
}

/// Checks a program by preemptions.
#[allow(dead_code)]
pub fn check(files: &[&Path], points: &str) -> Found {
    check_with(files, points, &[])
}

/// The same with options for the preprocessor.
#[allow(dead_code)]
pub fn check_with(files: &[&Path], points: &str, options: &[String]) -> Found {
    check_as(files, points, &Options { preprocessor: options.to_vec(), ..Options::default() })
}

/// The same with these options.
#[allow(dead_code)]
pub fn check_as(files: &[&Path], points: &str, options: &Options) -> Found {
    let loaded = match read_as(files, options) {
        Ok(loaded) => loaded,
        Err(message) => return Found::Other(message),
    };
    let points = if points == "sync" { Points::Sync } else { Points::All };
    let plan = Plan { points, ..Plan::default() };
    let id = fabius_verify::program_id("x.c", &loaded.source, &[], &[]);
    let stop = AtomicBool::new(false);
    match fabius_verify::check(&loaded.program, &id, &plan, &stop, &|_| {}) {
        Err(error) => Found::Other(format!("{error:?}")),
        Ok(report) => match report.verdict {
            Verdict::Verified => Found::Verified,
            Verdict::Bug { trace } => {
                let line = trace.span.line_col(&loaded.source).line;
                Found::Bug(format!("{:?}", trace.kind), trace.cost, trace.message.clone(), line)
            }
            other => Found::Other(format!("{other:?}")),
        },
    }
}

/// A folder for the test's own files, which is removed behind it.
#[allow(dead_code)]
pub struct Folder(pub std::path::PathBuf);

#[allow(dead_code)]
impl Folder {
    /// A folder that no other test has.
    pub fn new() -> Folder {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fabius-c-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    /// Writes a file.
    pub fn file(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("the file is written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Checks a program that is only a text.
#[allow(dead_code)]
pub fn check_text(text: &str, points: &str) -> Found {
    let folder = Folder::new();
    check(&[&folder.file("x.c", text)], points)
}

/// What such programs begin with.
#[allow(dead_code)]
pub const HEAD: &str = "#include <assert.h>\n#include <pthread.h>\n#include <stdlib.h>\n#include <string.h>\n";

/// What is said of a program of these declarations and this `main`, preempted at synchronization.
#[allow(dead_code)]
pub fn said(declarations: &str, main: &str) -> String {
    match check_text(&format!("{HEAD}{declarations}\nint main(void) {{ {main} return 0; }}"), "sync") {
        Found::Verified => "verified".into(),
        Found::Bug(kind, ..) => kind,
        Found::Other(other) if other.contains("more than is followed") => "not followed".into(),
        Found::Other(other) => other,
    }
}
