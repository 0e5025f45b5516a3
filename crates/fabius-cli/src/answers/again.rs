//! The commands that show a bug again.

use crate::files::STDIN;
use std::path::Path;

/// The command that steps through a saved trace of a program.
pub fn replay_command(trace: &Path, program: &str) -> String {
    let program = if program == STDIN { " --program FILE" } else { "" };
    format!("fabius replay {}{program}", quoted(&trace.display().to_string()))
}

/// Options that only name a file to write.
const OUTPUTS: [&str; 5] = ["--trace", "--html", "--sarif", "--junit", "--dot"];

/// The command that finds a bug again, and steps through it.
pub fn found_again() -> String {
    // A name may be no text.
    let mut words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let mut command: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some((option, _)) if OUTPUTS.contains(&option) => {}
            None if OUTPUTS.contains(&word.as_str()) => drop(words.next()),
            _ => command.push(quoted(&word)),
        }
    }
    let from_stdin = command.iter().any(|word| word == STDIN);
    let (text, program) = if from_stdin { (" < FILE", STDIN) } else { ("", "") };
    let again = replay_command(Path::new("bug.json"), program);
    // `check` exits with 1 when it finds the bug, so the two are joined by `;`.
    format!("fabius {} --trace bug.json{text}; {again}", command.join(" "))
}

/// A word of a command line.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
