//! How a failing execution is run again: what the variable `FABIUS_REPLAY` says, and the command that is printed.
//!
//! The variable names the check that the schedule is of: `NAME=SCHEDULE`, where the second check of a test, or the second at one
//! place in threads without a name, is `NAME#2`. So other
//! checks of the same process are made as always, whichever tests a runner runs. The command is the test binary itself: unlike a call of cargo it needs none of the
//! flags, features and variables that it was built with.

use crate::config::Config;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

const VARIABLE: &str = "FABIUS_REPLAY";

/// The test that is running: runners of Rust name the thread after it.
pub(crate) fn test_name() -> Option<String> {
    let name = std::thread::current().name()?.to_string();
    (name != "main").then_some(name)
}

thread_local! {
    /// How many checks this thread has begun: a test may make several.
    static BEGUN: Cell<u32> = const { Cell::new(0) };
    /// What the last of them is called.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// How many checks threads without a name have begun, by what these call themselves.
static UNNAMED: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());

/// A check begins: what it is called. That is as the test, or as it calls itself, or its place, with its number if it is not the
/// first one.
pub(crate) fn begin(config: &Config, at: &Location<'_>) -> String {
    let (name, number) = match test_name() {
        Some(test) => (test, BEGUN.replace(BEGUN.get() + 1) + 1),
        None => {
            let name = by_itself(config, at);
            let mut all = UNNAMED.lock().unwrap_or_else(PoisonError::into_inner);
            let number = all.entry(name.clone()).or_default();
            *number += 1;
            (name, *number)
        }
    };
    let name = if number > 1 { format!("{name}#{number}") } else { name };
    goes_on(name.clone());
    name
}

/// From here on this thread makes the check of that name, which may have begun in another.
pub(crate) fn goes_on(name: String) {
    LAST.set(Some(name));
}

/// From here on this thread only replays, and makes no check.
pub(crate) fn replays() {
    LAST.take();
}

/// What a check calls itself.
fn by_itself(config: &Config, at: &Location<'_>) -> String {
    config.name.clone().unwrap_or_else(|| format!("{}:{}", at.file(), at.line()))
}

/// What the check is called that is made here. One that only replays has not begun.
pub(crate) fn name_of(config: &Config, at: &Location<'_>) -> String {
    LAST.with_borrow(Option::clone).or_else(test_name).unwrap_or_else(|| by_itself(config, at))
}

/// The schedule that is to be run instead of this check, if one is.
pub(crate) fn asked_for(check: &str) -> Option<String> {
    let text = std::env::var(VARIABLE).ok()?;
    let schedule = schedule_for(check, &text);
    if schedule.is_none() {
        eprintln!("fabius: {VARIABLE} is not for `{check}`, which is checked as always");
    }
    schedule.map(str::to_string)
}

/// A schedule without a name is for every check.
fn schedule_for<'a>(check: &str, text: &'a str) -> Option<&'a str> {
    match text.rsplit_once('=') {
        Some((name, schedule)) => (name == check).then_some(schedule),
        None => Some(text),
    }
}

/// The command that runs an execution of a check again.
pub(crate) fn again(check: &str, schedule: &str) -> String {
    let program = std::env::current_exe().map_or_else(|_| "cargo test --".into(), |p| quoted(&p.display().to_string()));
    let given: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<String> = match test_name() {
        Some(test) => {
            let ignored = given.iter().any(|a| a == "--ignored" || a == "--include-ignored");
            let ignored = ignored.then(|| "--include-ignored".to_string());
            [quoted(&test), "--exact".into()].into_iter().chain(ignored).collect()
        }
        None => given.iter().map(|a| quoted(a)).collect(),
    };
    let arguments: String = arguments.iter().flat_map(|a| [" ", a]).collect();
    format!("{VARIABLE}={} {program}{arguments}", quoted(&format!("{check}={schedule}")))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_for_the_check_that_it_names() {
        assert_eq!(schedule_for("a::b", "a::b=0*3,1:0.2"), Some("0*3,1:0.2"));
        assert_eq!(schedule_for("a", "a::b=0*3"), None);
        assert_eq!(schedule_for("x=y", "x=y=start:1"), Some("start:1"));
        assert_eq!(schedule_for("anything", "0*3"), Some("0*3"));
    }

    #[test]
    fn words_are_what_a_shell_makes_of_them() {
        assert_eq!(quoted("a::b=0,1:2"), "a::b=0,1:2");
        assert_eq!(quoted("a=0*3"), "'a=0*3'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
