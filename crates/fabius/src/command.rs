//! How a failing execution is run again: what the variable `FABIUS_REPLAY` says, and the command that is printed.
//!
//! The variable names the check that the schedule is of: `NAME=SCHEDULE`, where the second check of a test, or the second at one
//! place in threads without a name, is `NAME#2`. So other checks of the same process are made as always, whichever tests a runner
//! runs. Threads without a name that make checks at one place at the same time have no order that is the same next time: what one
//! of them prints is `NAME#?`, and is tried for each of them. The command is the test binary itself: unlike a call of cargo it
//! needs none of the flags, features and variables that it was built with.

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

/// Checks of threads without a name, by what they call themselves: how many have begun, how many of these have not ended, and
/// whether there ever were several at the same time.
#[derive(Default)]
struct Unnamed {
    begun: u32,
    running: u32,
    together: bool,
}

static UNNAMED: Mutex<BTreeMap<String, Unnamed>> = Mutex::new(BTreeMap::new());

fn with_unnamed<R>(f: impl FnOnce(&mut BTreeMap<String, Unnamed>) -> R) -> R {
    f(&mut UNNAMED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A check that has begun; dropping it is its end.
pub(crate) struct Begun {
    pub name: String,
    unnamed: Option<String>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(name) = &self.unnamed {
            with_unnamed(|all| all.get_mut(name).map(|those| those.running -= 1));
        }
    }
}

/// A check begins: what it is called. That is as the test, or as it calls itself, or its place, with its number if it is not the
/// first one.
pub(crate) fn begin(config: &Config, at: &Location<'_>) -> Begun {
    let (name, number, unnamed) = match test_name() {
        Some(test) => (test, BEGUN.replace(BEGUN.get() + 1) + 1, None),
        None => {
            let name = by_itself(config, at);
            let number = with_unnamed(|all| {
                let those = all.entry(name.clone()).or_default();
                (those.begun, those.running) = (those.begun + 1, those.running + 1);
                those.together |= those.running > 1;
                those.begun
            });
            (name.clone(), number, Some(name))
        }
    };
    let name = if number > 1 { format!("{name}#{number}") } else { name };
    goes_on(name.clone());
    Begun { name, unnamed }
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

/// What the check is called that is made here, and has begun.
pub(crate) fn this() -> String {
    LAST.with_borrow(Option::clone).unwrap_or_default()
}

/// What the check is called that is made here, for people and for [`asked_for`]. One that only replays has not begun.
pub(crate) fn name_of(config: &Config, at: &Location<'_>) -> String {
    let name = LAST.with_borrow(Option::clone).or_else(test_name).unwrap_or_else(|| by_itself(config, at));
    let place = place_of(&name);
    let has_no_number = with_unnamed(|all| all.get(place).is_some_and(|those| those.together));
    if has_no_number { format!("{place}{ANY}") } else { name }
}

/// What stands for a number that nobody knows.
const ANY: &str = "#?";

/// The name of a check without its number.
fn place_of(check: &str) -> &str {
    let number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    check.rsplit_once('#').filter(|(_, last)| number(last)).map_or(check, |(place, _)| place)
}

/// The schedule that is to be run instead of a check.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    This(String),
    /// If it fails with that.
    Any(String),
}

/// The schedule that is to be run instead of this check, if one is.
pub(crate) fn asked_for(check: &str) -> Option<Asked> {
    let text = std::env::var_os(VARIABLE).filter(|text| !text.is_empty())?;
    let text = text.into_string().unwrap_or_else(|text| panic!("{VARIABLE} is not Unicode: {}", text.display()));
    let schedule = schedule_for(check, &text);
    if schedule.is_none() {
        is_not_for(check);
    }
    schedule
}

pub(crate) fn is_not_for(check: &str) {
    eprintln!("fabius: {VARIABLE} is not for `{check}`, which is checked as always");
}

/// A schedule without a name is for every check.
fn schedule_for(check: &str, text: &str) -> Option<Asked> {
    let Some((name, schedule)) = text.rsplit_once('=') else { return Some(Asked::This(text.into())) };
    match name.strip_suffix(ANY) {
        Some(place) => (place == place_of(check)).then(|| Asked::Any(schedule.into())),
        None => (name == check).then(|| Asked::This(schedule.into())),
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
        let this = |schedule: &str| Some(Asked::This(schedule.into()));
        assert_eq!(schedule_for("a::b", "a::b=0*3,1:0.2"), this("0*3,1:0.2"));
        assert_eq!(schedule_for("a", "a::b=0*3"), None);
        assert_eq!(schedule_for("x=y", "x=y=start:1"), this("start:1"));
        assert_eq!(schedule_for("anything", "0*3"), this("0*3"));
        assert_eq!(schedule_for("a#2", "a=0*3"), None);
        assert_eq!(schedule_for("a#2", "a#?=0*3"), Some(Asked::Any("0*3".into())));
        assert_eq!(schedule_for("a", "a#?=0*3"), Some(Asked::Any("0*3".into())));
        assert_eq!(schedule_for("b#2", "a#?=0*3"), None);
    }

    #[test]
    fn words_are_what_a_shell_makes_of_them() {
        assert_eq!(quoted("a::b=0,1:2"), "a::b=0,1:2");
        assert_eq!(quoted("a=0*3"), "'a=0*3'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
