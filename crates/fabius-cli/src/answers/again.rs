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
    let command = without_outputs(given());
    let from_stdin = command.iter().any(|word| word == STDIN);
    let (text, program) = if from_stdin { (" < FILE", STDIN) } else { ("", "") };
    let again = replay_command(Path::new("bug.json"), program);
    // `check` exits with 1 when it finds the bug, so the two are joined by `;`.
    format!("fabius {} --trace bug.json{text}; {again}", command.join(" "))
}

/// The commands that find a bug of a C or C++ program again, and run it again.
pub fn run_again(program: &Path) -> String {
    let mut options = given();
    let of_program = options.iter().position(|word| word == "--").map_or(Vec::new(), |at| options.split_off(at));
    let behind: String = of_program.iter().map(|word| format!(" {}", quoted(word))).collect();
    let (command, program) = (without_outputs(options).join(" "), quoted(&program.display().to_string()));
    format!("fabius {command} --trace bug.json{behind}; fabius run {program} --replay bug.json")
}

/// What the command was given. A name may be no text.
fn given() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The words of a command without the files that it writes, quoted where they must be.
fn without_outputs(words: Vec<String>) -> Vec<String> {
    let mut words = words.into_iter();
    let mut command = Vec::new();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some((option, _)) if OUTPUTS.contains(&option) => {}
            None if OUTPUTS.contains(&word.as_str()) => drop(words.next()),
            _ => command.push(quoted(&word)),
        }
    }
    command
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
