//! "Check this file": the command line itself, asked about the text that the editor holds.

use crossbeam_channel::Sender;
use fabius_trace::ErrorTrace;
use lsp_types::Uri;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

/// How long the engines are given.
const TIME: &str = "60s";
/// How much memory.
const MEMORY: &str = "2G";

/// What came of a run.
#[derive(Debug)]
pub struct Answer {
    /// Which run.
    pub run: u64,
    /// Of which file.
    pub uri: Uri,
    /// The first line of the answer, or why there is none.
    pub said: String,
    /// The bug, if there is one.
    pub bug: Option<ErrorTrace>,
}

/// A run under way.
#[derive(Debug)]
struct Run {
    number: u64,
    child: Child,
    /// Hears what it says, and removes what it wrote.
    hears: JoinHandle<()>,
}

/// The runs under way, one at most for each file.
#[derive(Debug)]
pub struct Runs {
    fabius: PathBuf,
    answers: Sender<Answer>,
    under_way: HashMap<Uri, Run>,
    count: u64,
}

impl Runs {
    /// Nothing runs yet. `fabius` is the command, and answers go to `answers`.
    pub fn new(fabius: PathBuf, answers: Sender<Answer>) -> Runs {
        Runs { fabius, answers, under_way: HashMap::new(), count: 0 }
    }

    /// Begins to check a text, in place of what is being checked of this file.
    ///
    /// # Errors
    /// Why the command cannot be run.
    pub fn begin(&mut self, uri: &Uri, text: String) -> Result<(), String> {
        self.stop(uri);
        self.count += 1;
        let run = self.count;
        let folder = fresh_folder(run).map_err(|error| format!("no folder for the trace can be made: {error}"))?;
        let trace = folder.join("bug.json");
        let mut child = Command::new(&self.fabius)
            .args(["decide", "-", "--color", "never", "--time", TIME, "--memory", MEMORY, "--trace"])
            .arg(&trace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                // It was made for this run.
                let _ = std::fs::remove_dir_all(&folder);
                format!("`{}` cannot be run: {error}", self.fabius.display())
            })?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (answers, of) = (self.answers.clone(), uri.clone());
        let hears = std::thread::spawn(move || {
            // If the command has ended before it read everything, what it says tells why.
            let _ = stdin.map(|mut pipe| pipe.write_all(text.as_bytes()));
            // It says little on standard error: that pipe is not full before the other one is closed.
            let (answer, errors) = (all_of(stdout), all_of(stderr));
            let bug = read_trace(&trace);
            // Also what the command had only begun to write when it was stopped. Nobody else knows of the folder.
            let _ = std::fs::remove_dir_all(&folder);
            let mut lines = answer.lines().chain(errors.lines()).filter(|line| !line.trim().is_empty());
            let said = lines.next().unwrap_or("stopped").to_string();
            // The server may have ended meanwhile.
            let _ = answers.send(Answer { run, uri: of, said, bug });
        });
        self.under_way.insert(uri.clone(), Run { number: run, child, hears });
        Ok(())
    }

    /// Stops what runs about this file.
    pub fn stop(&mut self, uri: &Uri) {
        if let Some(Run { mut child, hears, .. }) = self.under_way.remove(uri) {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
            // A panic there has been shown.
            let _ = hears.join();
        }
    }

    /// Whether an answer is that of the last run about its file, which is then over.
    pub fn is_last(&mut self, answer: &Answer) -> bool {
        let is_last = self.under_way.get(&answer.uri).is_some_and(|run| run.number == answer.run);
        if is_last {
            self.stop(&answer.uri);
        }
        is_last
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let all: Vec<Uri> = self.under_way.keys().cloned().collect();
        all.iter().for_each(|uri| self.stop(uri));
    }
}

/// A new folder of ours: whatever is there under its name already, also a link to something else, is left alone.
fn fresh_folder(run: u64) -> std::io::Result<PathBuf> {
    let names = (0..100).map(|n| format!("fabius-editor-{}-{run}-{n}", std::process::id()));
    let mut last = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
    for name in names {
        let path = std::env::temp_dir().join(name);
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn all_of(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // What was read before an error is what there is to show.
    let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The trace, if the command has written one.
fn read_trace(file: &Path) -> Option<ErrorTrace> {
    serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()
}
