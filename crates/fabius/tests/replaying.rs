//! The command that is printed runs the failing execution again, and nothing else.
#![cfg(unix)]

use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::sync::{Arc, Mutex};
use fabius::{Config, Report, hint, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::Duration;

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

#[test]
#[ignore = "run by another test"]
fn loses_an_update_in_its_second_check() {
    fabius::check(|| {
        let other = thread::spawn(|| {});
        other.join().unwrap();
    });
    lost_update();
}

#[test]
#[ignore = "run by another test"]
fn loses_an_update_in_its_second_thread() {
    for increments in 1..3 {
        std::thread::spawn(move || increments_fewer_than_two(increments, || {})).join().expect("the check");
    }
}

#[test]
#[ignore = "run by another test"]
fn loses_an_update_in_one_of_two_threads() {
    let both = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for increments in 1..3 {
            let both = &both;
            scope.spawn(move || {
                let is_first = std::cell::Cell::new(true);
                increments_fewer_than_two(increments, || {
                    if is_first.replace(false) {
                        both.wait();
                    }
                });
            });
        }
    });
}

fn increments_fewer_than_two(increments: usize, first: impl Fn()) {
    // What a check is made of may go to another thread: this does not.
    struct Here<F>(F);
    // SAFETY: as said.
    unsafe impl<F> Sync for Here<F> {}
    let first = Here(first);
    fabius::check(|| {
        let first = &first;
        (first.0)();
        let x = Arc::new(AtomicUsize::new(0));
        let theirs = x.clone();
        let other = thread::spawn(move || {
            for _ in 0..increments {
                theirs.fetch_add(1, SeqCst);
            }
        });
        other.join().unwrap();
        assert!(x.load(SeqCst) < 2, "two increments");
    });
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
fn what_cannot_be_replayed_or_read_is_shown_where_the_test_checks() {
    for (name, value, said) in [
        ("FABIUS_REPLAY", "x", "a part that cannot be read"),
        ("FABIUS_REPLAY", "checks_nothing_much=", "a part that cannot be read: ``"),
        ("FABIUS_REPLAY", "7", "the schedule does not fit the test"),
        ("FABIUS_PREEMPTIONS", "x", "FABIUS_PREEMPTIONS must be a number from 0 to 4294967295"),
        ("FABIUS_JOBS", "100000", "FABIUS_JOBS must be a number from 1 to 1024"),
        ("FABIUS_TIME", "x", "FABIUS_TIME must be a time"),
    ] {
        let mut command = this_program();
        let text = text_of(command.args(["checks_nothing_much", "--exact", "--ignored"]).env(name, value));
        assert!(text.contains(said) && text.contains("panicked at crates/fabius/tests/replaying.rs:"), "{text}");
    }
    let text = text_of(this_program().args(["replays_what_cannot_be_read", "--exact", "--ignored"]));
    assert!(text.contains("a part that cannot be read"), "{text}");
    assert!(text.contains("panicked at crates/fabius/tests/replaying.rs:"), "{text}");
}

#[test]
fn what_fails_before_anybody_has_made_a_step_is_run_again() {
    let waits = || thread::park();
    let panics = || panic!("at once");
    for test in [&waits as &(dyn Fn() + Sync), &panics] {
        let report = Config::new().name("at_once").explore(test);
        let schedule = report.replay.expect("it fails");
        assert_eq!(schedule, "start");
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fabius::replay(&schedule, test))).is_err());
    }
}

#[test]
#[ignore = "run by another test"]
fn checks_nothing_much() {
    fabius::check(|| {});
}

#[test]
#[ignore = "run by another test"]
fn replays_what_cannot_be_read() {
    fabius::replay("x", || {});
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
fn the_command_is_for_the_check_of_a_test_that_failed() {
    let text = text_of(this_program().args(["loses_an_update_in_its_second_check", "--exact", "--ignored"]));
    let command = text.lines().find_map(|line| line.strip_prefix("replay it: ")).unwrap_or_else(|| panic!("{text}"));
    let again = text_of(Command::new("sh").args(["-c", command]).current_dir("/"));
    for part in ["an increment is lost", "found after 1 execution"] {
        assert!(again.contains(part), "`{part}` is missing in\n{again}");
    }
}

#[test]
fn the_command_is_for_the_check_of_a_thread_without_a_name_that_failed() {
    let text = text_of(this_program().args(["loses_an_update_in_its_second_thread", "--exact", "--ignored"]));
    let command = text.lines().find_map(|line| line.strip_prefix("replay it: ")).unwrap_or_else(|| panic!("{text}"));
    assert!(command.contains("#2="), "{command}");
    let again = text_of(Command::new("sh").args(["-c", command]).current_dir("/"));
    for part in ["is not for `crates", "two increments", "found after 1 execution"] {
        assert!(again.contains(part), "`{part}` is missing in\n{again}");
    }
}

#[test]
fn the_command_finds_the_check_that_failed_among_those_of_threads_without_names() {
    let text = text_of(this_program().args(["loses_an_update_in_one_of_two_threads", "--exact", "--ignored"]));
    let command = text.lines().find_map(|line| line.strip_prefix("replay it: ")).unwrap_or_else(|| panic!("{text}"));
    assert!(command.contains("#?="), "{command}");
    let again = text_of(Command::new("sh").args(["-c", command]).current_dir("/"));
    for part in ["is not for `crates", "two increments", "found after 1 execution"] {
        assert!(again.contains(part), "`{part}` is missing in\n{again}");
    }
}

#[test]
fn a_replay_has_no_name_of_a_check_before_it() {
    let in_a_thread = || {
        Config::new().name("before").explore(|| {});
        std::panic::catch_unwind(|| fabius::replay("0", || panic!("it fails"))).err()
    };
    let failure = std::thread::spawn(in_a_thread).join().expect("the failure is caught").expect("it fails");
    let text = failure.downcast_ref::<String>().expect("a text");
    assert!(text.contains("it fails") && !text.contains("before="), "{text}");
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

/// What is printed of a test that fails shows the same failure again.
fn is_replayed(test: impl Fn() + Sync, message: &str) {
    is_replayed_by(&Config::new(), test, message);
}

fn is_replayed_by(config: &Config, test: impl Fn() + Sync, message: &str) {
    let report = config.explore(&test);
    let schedule = report.replay.clone().unwrap_or_else(|| panic!("no failure: {report}"));
    let again = catch_unwind(AssertUnwindSafe(|| fabius::replay(&schedule, &test)));
    let text = *again.expect_err("it fails again").downcast::<String>().unwrap();
    assert!(text.contains(message), "{schedule}: {text}");
}

#[test]
fn a_schedule_fits_before_the_test_looks_at_the_end_of_a_thread() {
    let test = || {
        let x = Arc::new(AtomicUsize::new(0));
        let (theirs, hers) = (x.clone(), x.clone());
        let first = thread::spawn(move || theirs.store(1, SeqCst));
        let second = thread::spawn(move || {
            hers.load(SeqCst);
            first.is_finished() && hers.load(SeqCst) == 1
        });
        x.load(SeqCst);
        assert!(!second.join().unwrap(), "it has ended");
    };
    is_replayed(test, "it has ended");
}

#[test]
fn a_schedule_fits_before_the_test_looks_at_a_count() {
    let test = || {
        let x = Arc::new(AtomicUsize::new(0));
        let (theirs, hers) = (x.clone(), x.clone());
        let first = thread::spawn(move || drop(theirs));
        let second = thread::spawn(move || drop(hers));
        x.load(SeqCst);
        let alone = Arc::strong_count(&x) == 2;
        first.join().unwrap();
        second.join().unwrap();
        assert!(!alone, "one has gone");
    };
    is_replayed(test, "one has gone");
}

#[test]
fn what_is_learnt_of_a_loop_in_a_replay_does_not_hide_the_failure() {
    let test = || {
        let (x, lock) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(())));
        let (theirs, held) = (x.clone(), lock.clone());
        let other = thread::spawn(move || {
            let third = thread::spawn(|| {});
            let guard = held.try_lock();
            theirs.fetch_add(1, SeqCst);
            third.join().unwrap();
            drop(guard);
        });
        while x.load(SeqCst) != 1 {
            hint::spin_loop();
        }
        other.join().unwrap();
        panic!("always");
    };
    is_replayed(test, "always");
}

#[test]
fn a_schedule_fits_where_the_search_knew_a_loop_from_another_execution() {
    let test = || {
        let x = AtomicUsize::new(0);
        let _other = thread::spawn(|| {
            AtomicUsize::new(0).load(SeqCst);
            thread::sleep(Duration::from_millis(2));
        });
        while x.load(SeqCst) == 0 {
            hint::spin_loop();
        }
    };
    is_replayed_by(&Config::new().random(100).max_steps(60), test, "livelock");
}

#[test]
fn one_schedule_that_does_not_fail_is_no_proof() {
    let report = fabius::replay("0", || assert_eq!(AtomicUsize::new(0).load(SeqCst), 0));
    assert!(!report.to_string().contains("all were explored"), "{report}");
}
