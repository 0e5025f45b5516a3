//! A signal ends checks with what they have seen, and the process as it would have ended it.
#![cfg(target_os = "linux")]

use fabius::sync::Arc;
use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::{Config, thread};
use std::process::Command;
use std::time::Duration;

/// A check that takes for ever.
fn never_ends(config: Config) {
    let begins = std::sync::Once::new();
    config.check(|| {
        begins.call_once(|| says("begun"));
        let number = Arc::new(AtomicUsize::new(0));
        let others = [(); 4].map(|()| {
            let number = number.clone();
            thread::spawn(move || {
                for _ in 0..9 {
                    number.fetch_add(1, SeqCst);
                }
            })
        });
        others.into_iter().for_each(|other| other.join().unwrap());
    });
    says("passed");
}

/// The runner of tests keeps what macros print.
fn says(what: &str) {
    use std::io::Write;
    std::io::stderr().write_all(format!("{what}\n").as_bytes()).unwrap();
}

#[test]
#[ignore = "run by another test"]
fn never_ends_in_one_thread() {
    never_ends(Config::new().exhaustive().without_reduction());
}

#[test]
#[ignore = "run by another test"]
fn never_ends_in_two() {
    never_ends(Config::new().jobs(2).exhaustive().without_reduction());
}

#[test]
#[ignore = "run by another test"]
fn waits_behind_a_check() {
    fabius::check(|| thread::spawn(|| {}).join().unwrap());
    says("begun");
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

#[test]
#[ignore = "run by another test"]
fn never_comes_to_an_operation() {
    Config::new().check(|| {
        says("begun");
        let mut number = 0u64;
        loop {
            number = std::hint::black_box(number + 1);
        }
    });
}

/// What the tests say that a signal interrupts when they have begun, and whether it ends them as it would end any process.
fn interrupted(tests: &[&str], signal: (&str, i32), variable: Option<&str>) -> String {
    use std::io::{BufRead, BufReader, Read};
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(tests).args(["--ignored", "--exact", "--test-threads", "2"]);
    command.envs(variable.map(|value| ("FABIUS_INTERRUPT", value)));
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    // What a shell runs in the background ignores interrupts, and so would whoever it starts.
    // SAFETY: nothing else is done between the two calls that begin the process.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut child = command.spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    for _ in tests {
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
    }
    assert!(Command::new("kill").arg(signal.0).arg(child.id().to_string()).status().unwrap().success());
    let mut text = String::new();
    errors.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(signal.1), "{text}");
    assert!(!text.contains("passed"), "{text}");
    text
}

#[test]
fn a_signal_ends_checks_with_what_they_have_seen() {
    let (interrupt, terminate) = (("-INT", 2), ("-TERM", 15));
    let [one, two] = ["never_ends_in_one_thread", "never_ends_in_two"];
    for (tests, signal) in [(&[one][..], interrupt), (&[two], terminate), (&[one, two], interrupt)] {
        let text = interrupted(tests, signal, None);
        for test in tests {
            assert!(
                text.contains(&format!("fabius: interrupted, `{test}`:\nfabius: no failing execution so far")),
                "{text}"
            );
        }
        assert_eq!(text.matches("fabius: interrupted").count(), tests.len(), "{text}");
    }
    assert_eq!(interrupted(&["waits_behind_a_check"], interrupt, None), "");
    let text = interrupted(&["never_comes_to_an_operation"], terminate, None);
    assert!(text.contains("a signal: main has run for") && text.contains("interrupts.rs:"), "{text}");
    assert_eq!(interrupted(&[one], interrupt, Some("ignore")), "");
}
