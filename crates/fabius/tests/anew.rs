//! A search within a bound on preemptions that begins anew, because many executions have come to few classes.

use fabius::sync::atomic::{AtomicU32, Ordering::SeqCst};
use fabius::{Config, Report, Verdict, thread};
use std::sync::Arc;
use std::time::Duration;

/// A thread writes what others read; each of two adds one with a load and a store. What they have come to.
fn readers_and_adders(readers: usize) -> u32 {
    let (x, sum) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let written = x.clone();
    let mut threads = vec![thread::spawn(move || written.store(1, SeqCst))];
    threads.extend((0..readers).map(|_| {
        let x = x.clone();
        thread::spawn(move || assert!(x.load(SeqCst) < 2))
    }));
    threads.extend((0..2).map(|_| {
        let sum = sum.clone();
        thread::spawn(move || sum.store(sum.load(SeqCst) + 1, SeqCst))
    }));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    sum.load(SeqCst)
}

fn seven_readers() {
    readers_and_adders(7);
}

fn counts(report: &Report) -> Vec<(u32, u64)> {
    report.levels.iter().map(|level| (level.bound, level.states)).collect()
}

/// As many classes at each bound as when nothing is left from the beginning; the executions of both searches are told.
#[test]
fn what_begins_anew_sees_all() {
    let config = Config::new().preemptions(9);
    let anew = config.clone().explore(seven_readers);
    let at = anew.anew.expect("many executions come to few classes");
    assert!(anew.verdict == Verdict::Verified && anew.to_string().contains("persistent sets"), "{anew}");
    let at_once = config.clone().persistent_sets().explore(seven_readers);
    assert_eq!((at_once.anew, counts(&at_once)), (None, counts(&anew)), "{at_once}");
    assert_eq!(anew.executions, at + at_once.executions, "{anew} {at_once}");
    let two_jobs = config.clone().jobs(2).explore(seven_readers);
    assert_eq!((two_jobs.anew.is_some(), counts(&two_jobs)), (true, counts(&anew)), "{two_jobs}");
    let again = config.explore(seven_readers);
    assert_eq!((again.executions, again.anew, &again.levels), (anew.executions, anew.anew, &anew.levels));
}

/// No more than asked for, and what is known of a bound stays known.
#[test]
fn limits_hold_over_a_new_beginning() {
    let config = Config::new().preemptions(9);
    let whole = config.clone().explore(seven_readers);
    let at = whole.anew.unwrap();
    let mut before: Option<u32> = None;
    for most in [at - 1, at, at + 1, at + 40, whole.executions / 2, whole.executions + 1] {
        let report = config.clone().executions(most).explore(seven_readers);
        assert_eq!(report.executions, most.min(whole.executions), "{report}");
        let completed = match &report.verdict {
            Verdict::NoBugWithinBounds { bounds } | Verdict::Unknown { bounds, .. } => bounds.completed,
            _ => Some(9),
        };
        assert!(completed >= before, "{most} {report}");
        before = completed;
    }
    assert_eq!(before, Some(9));
}

/// Of least cost, and replayed.
#[test]
fn a_bug_behind_a_new_beginning_is_the_simplest() {
    let test = || assert_eq!(readers_and_adders(7), 2);
    let report = Config::new().preemptions(9).explore(test);
    assert!(report.anew.is_some(), "{report}");
    assert_eq!(report.trace().map(|trace| trace.cost), Some(1), "{report}");
    let replayed = std::panic::catch_unwind(|| fabius::replay(&report.replay.clone().unwrap(), test));
    assert!(replayed.is_err());
}

/// Where time may pass because nobody goes on, nothing would be left.
#[test]
fn where_time_passes_nothing_begins_anew() {
    let report = Config::new().preemptions(9).executions(2000).explore(|| {
        thread::sleep(Duration::from_millis(1));
        seven_readers();
    });
    assert_eq!(report.anew, None, "{report}");
}
