//! The commands that show a bug again.

use std::path::Path;

/// The command that steps through a saved trace.
pub fn replay_command(trace: &Path) -> String {
    format!("fabius replay {}", quoted(&trace.display().to_string()))
}

/// Options that only name a file to write.
const OUTPUTS: [&str; 5] = ["--trace", "--html", "--sarif", "--junit", "--dot"];

/// The command that finds a bug again, and steps through it.
pub fn found_again() -> String {
    let mut words = std::env::args().skip(1);
    let mut command: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some((option, _)) if OUTPUTS.contains(&option) => {}
            None if OUTPUTS.contains(&word.as_str()) => drop(words.next()),
            _ => command.push(quoted(&word)),
        }
    }
    // `check` exits with 1 when it finds the bug, so the two are joined by `;`.
    format!("fabius {} --trace bug.json; fabius replay bug.json", command.join(" "))
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
