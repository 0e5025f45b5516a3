//! The command that is printed runs the failing execution again, and nothing else.
#![cfg(unix)]

use fabius::sync::Arc;
use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::{Config, Report, thread};
use std::process::Command;

fn lost_update() -> Report {
    Config::new().name("replaying").check(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let theirs = x.clone();
        let other = thread::spawn(move || theirs.store(theirs.load(SeqCst) + 1, SeqCst));
        x.store(x.load(SeqCst) + 1, SeqCst);
        other.join().unwrap();
        assert_eq!(x.load(SeqCst), 2, "an increment is lost");
    })
}

#[test]
#[ignore = "run by another test"]
fn loses_an_update() {
    lost_update();
}

#[test]
#[ignore = "run by another test"]
fn adds_at_once() {
    let report = Config::new().check(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let theirs = x.clone();
        let other = thread::spawn(move || theirs.fetch_add(1, SeqCst));
        x.fetch_add(1, SeqCst);
        other.join().unwrap();
    });
    assert!(report.executions > 1, "{report}");
}

fn text_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    out + &err
}

fn this_program() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env_remove("FABIUS_REPLAY");
    command
}

#[test]
fn the_command_runs_the_execution_again() {
    let text = text_of(this_program().args(["loses_an_update", "--exact", "--ignored"]));
    let command = text.lines().find_map(|line| line.strip_prefix("replay it: ")).unwrap_or_else(|| panic!("{text}"));
    assert!(command.contains("loses_an_update --exact --include-ignored"), "{command}");
    let again = text_of(Command::new("sh").args(["-c", command]).current_dir("/"));
    for part in ["an increment is lost", "found after 1 execution", "test loses_an_update ... FAILED"] {
        assert!(again.contains(part), "`{part}` is missing in\n{again}");
    }
}

#[test]
fn a_schedule_is_for_the_test_that_it_names() {
    // It fits no execution of the test that it names.
    let text = text_of(this_program().args(["--ignored"]).env("FABIUS_REPLAY", "loses_an_update=7"));
    for part in ["does not fit the test", "test loses_an_update ... FAILED", "test adds_at_once ... ok"] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    let text = text_of(this_program().args(["adds_at_once", "--ignored"]).env("FABIUS_REPLAY", "7"));
    assert!(text.contains("does not fit the test"), "{text}");
}
