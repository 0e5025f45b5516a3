//! Another solver, as a process that reads SMT-LIB 2 from a pipe.

use crate::smtlib::{Writer, name, parse_value};
use crate::term::{Term, Terms, Value};
use crate::{Answer, Limits, Solver};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A solver in a process of its own.
pub struct External {
    name: String,
    child: Child,
    /// What is to be sent: a solver that is busy does not read, and nobody waits for it here.
    to: Sender<String>,
    from: Receiver<String>,
    writer: Writer,
    /// Not yet sent.
    text: String,
    checks: u64,
}

/// Where a solver of this name is, if it is on the search path.
pub fn find_solver(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Starts a solver that reads from a pipe.
fn spawn(path: &Path) -> Result<(String, Child), String> {
    let file = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let arguments: &[&str] =
        if file.contains("z3") { &["-in", "-smt2"] } else { &["--incremental", "--produce-models", "--lang=smt2"] };
    let child =
        Command::new(path).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    child.map(|child| (file, child)).map_err(|e| format!("{} cannot be started: {e}", path.display()))
}

/// What the solver prints, as it does.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let lines = BufReader::new(child.stdout.take().expect("it was asked for")).lines();
    let (send, from) = channel();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    from
}

/// Sends what comes in to the solver, as long as it reads.
fn sender_to(child: &mut Child) -> Sender<String> {
    let mut to = child.stdin.take().expect("it was asked for");
    let (send, texts) = channel::<String>();
    std::thread::spawn(move || {
        for text in texts {
            if to.write_all(text.as_bytes()).and_then(|()| to.flush()).is_err() {
                return;
            }
        }
    });
    send
}

/// All that a solver prints for a whole script; `None` when the limits are hit.
///
/// # Errors
/// In a sentence.
pub fn run_script(path: &Path, script: &str, limits: &Limits<'_>) -> Result<Option<String>, String> {
    let (_, mut child) = spawn(path)?;
    let mut to = child.stdin.take().expect("it was asked for");
    let from = lines_of(&mut child);
    let script = script.to_string();
    // A solver that ends early does not read all of it.
    let writer = std::thread::spawn(move || to.write_all(script.as_bytes()));
    let mut text = String::new();
    let finished = loop {
        match from.recv_timeout(Duration::from_millis(20)) {
            Ok(line) => text = text + &line + "\n",
            Err(RecvTimeoutError::Disconnected) => break true,
            Err(RecvTimeoutError::Timeout) if limits.are_hit() => break false,
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    let _ = writer.join();
    Ok(finished.then_some(text))
}

impl External {
    /// Starts z3 or cvc5, or what takes the same arguments as one of them; which one is seen from the file's name.
    ///
    /// # Errors
    /// In a sentence.
    pub fn start(path: &Path) -> Result<External, String> {
        let (name, mut child) = spawn(path)?;
        let to = sender_to(&mut child);
        let from = lines_of(&mut child);
        let text = "(set-option :print-success false)\n(set-option :produce-models true)\n(set-logic ALL)\n".into();
        Ok(External { name, child, to, from, writer: Writer::default(), text, checks: 0 })
    }

    fn flush(&mut self) -> Result<(), String> {
        self.to.send(std::mem::take(&mut self.text)).map_err(|_| format!("{} has ended", self.name))
    }

    /// An answer, which may have several lines; `None` when the limits are hit.
    fn answer(&mut self, limits: Option<&Limits<'_>>) -> Result<Option<String>, String> {
        let mut text = String::new();
        loop {
            match self.from.recv_timeout(Duration::from_millis(50)) {
                Ok(line) => {
                    text.push_str(&line);
                    text.push(' ');
                    let open = text.matches('(').count();
                    if open == text.matches(')').count() && !text.trim().is_empty() {
                        let text = text.trim().to_string();
                        return if text.starts_with("(error") {
                            Err(format!("{} says: {text}", self.name))
                        } else {
                            Ok(Some(text))
                        };
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    if limits.is_some_and(Limits::are_hit) {
                        return Ok(None);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("{} has ended without an answer", self.name));
                }
            }
        }
    }
}

impl Drop for External {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Solver for External {
    fn assert(&mut self, terms: &Terms, fact: Term) {
        self.writer.assert(terms, fact, &mut self.text);
    }

    fn assert_any(&mut self, terms: &Terms, alternatives: &[Term]) {
        self.writer.assert_any(terms, alternatives, &mut self.text);
    }

    fn before(&mut self, terms: &Terms, condition: Term, from: Term, to: Term) {
        self.writer.assert_before(terms, condition, from, to, &mut self.text);
    }

    fn check(&mut self, terms: &Terms, assumptions: &[Term], limits: &Limits<'_>) -> Result<Answer, String> {
        self.checks += 1;
        let mut names = Vec::new();
        for t in assumptions {
            // Some solvers take literals only.
            self.writer.define(terms, *t, &mut self.text);
            let literal = format!("a{}_{}", self.checks, names.len());
            self.text
                .push_str(&format!("(declare-const {literal} Bool)\n(assert (= {literal} {}))\n", name(terms, *t)));
            names.push(literal);
        }
        // An empty list is an error to cvc5 1.0.
        match names.is_empty() {
            true => self.text.push_str("(check-sat)\n"),
            false => self.text.push_str(&format!("(check-sat-assuming ({}))\n", names.join(" "))),
        }
        self.flush()?;
        match self.answer(Some(limits))?.as_deref() {
            Some("sat") => Ok(Answer::Sat),
            Some("unsat") => Ok(Answer::Unsat),
            Some("unknown") | None => Ok(Answer::Unknown),
            Some(other) => Err(format!("{} says: {other}", self.name)),
        }
    }

    fn value(&mut self, terms: &Terms, variable: Term) -> Result<Option<Value>, String> {
        // What the solver has not heard of may have any value; and a declaration would take the model away.
        if !self.writer.has_defined(variable) {
            return Ok(None);
        }
        let called = name(terms, variable);
        self.text.push_str(&format!("(get-value ({called}))\n"));
        self.flush()?;
        let answer = self.answer(None)?.unwrap_or_default();
        let text = answer.trim_start_matches('(').trim_start();
        let text = text.strip_prefix(called.as_str()).and_then(|t| t.strip_suffix("))"));
        let value = text.and_then(|t| parse_value(t, terms.sort(variable)));
        value.map(Some).ok_or_else(|| format!("{} says: {answer}", self.name))
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn statistics(&self) -> Vec<(&'static str, u64)> {
        vec![("queries", self.checks)]
    }
}
