//! A search within a bound on preemptions that begins anew, because many executions have come to few classes.

use fabius::sync::atomic::{AtomicU32, Ordering::SeqCst};
use fabius::{Config, Report, Verdict, thread};
use std::sync::Arc;
use std::time::Duration;

/// A thread writes what others read; each of two adds one with a load and a store, so many times. What they have come to.
fn readers_and_adders(readers: usize, times: usize) -> u32 {
    let (x, sum) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let written = x.clone();
    let mut threads = vec![thread::spawn(move || written.store(1, SeqCst))];
    threads.extend((0..readers).map(|_| {
        let x = x.clone();
        thread::spawn(move || assert!(x.load(SeqCst) < 2))
    }));
    threads.extend((0..2).map(|_| {
        let sum = sum.clone();
        thread::spawn(move || (0..times).for_each(|_| sum.store(sum.load(SeqCst) + 1, SeqCst)))
    }));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    sum.load(SeqCst)
}

/// Few classes within one preemption, and many without a bound.
fn few() {
    readers_and_adders(5, 4);
}

fn counts(report: &Report) -> Vec<(u32, u64)> {
    report.levels.iter().map(|level| (level.bound, level.states)).collect()
}

fn completed(report: &Report) -> Option<u32> {
    match &report.verdict {
        Verdict::NoBugWithinBounds { bounds } | Verdict::Unknown { bounds, .. } => bounds.completed,
        _ => Some(9),
    }
}

/// As many classes at each bound as when nothing is left from the beginning; the executions of all searches are told.
#[test]
fn what_begins_anew_sees_all() {
    let config = Config::new().preemptions(1);
    let anew = config.clone().explore(few);
    let at = anew.anew.expect("many executions come to few classes");
    assert!(completed(&anew) == Some(1) && anew.to_string().contains("persistent sets"), "{anew}");
    let at_once = config.clone().persistent_sets().explore(few);
    assert_eq!((at_once.anew, completed(&at_once)), (None, Some(1)), "{at_once}");
    assert_eq!(counts(&at_once), counts(&anew), "{anew} {at_once}");
    assert!((at + at_once.executions..=at + 2 * at_once.executions).contains(&anew.executions), "{anew} {at_once}");
    let two_jobs = config.clone().jobs(2).explore(few);
    assert_eq!((two_jobs.anew.is_some(), completed(&two_jobs)), (true, Some(1)), "{two_jobs}");
    let again = config.explore(few);
    assert_eq!((again.executions, again.anew, &again.levels), (anew.executions, anew.anew, &anew.levels));
}

/// No more than asked for, and what is known of a bound stays known.
#[test]
fn limits_hold_over_a_new_beginning() {
    let config = Config::new().preemptions(1);
    let whole = config.clone().explore(few);
    let at = whole.anew.unwrap();
    let mut before: Option<u32> = None;
    for most in [at - 1, at, at + 1, at + 40, whole.executions / 2, whole.executions + 1] {
        let report = config.clone().executions(most).explore(few);
        assert_eq!(report.executions, most.min(whole.executions), "{report}");
        assert!(completed(&report) >= before, "{most} {report}");
        before = completed(&report);
    }
    assert_eq!(before, Some(1));
}

/// Of least cost, and replayed.
#[test]
fn a_bug_behind_a_new_beginning_is_the_simplest() {
    let test = || assert_eq!(readers_and_adders(7, 1), 2);
    let report = Config::new().preemptions(9).explore(test);
    assert!(report.anew.is_some(), "{report}");
    assert_eq!(report.trace().map(|trace| trace.cost), Some(1), "{report}");
    let replayed = std::panic::catch_unwind(|| fabius::replay(&report.replay.clone().unwrap(), test));
    assert!(replayed.is_err());
}

/// All executions without a bound are few: that none of them fails is the answer. What fails outside of the bound is not.
#[test]
fn what_is_proved_without_a_bound_holds_within_one() {
    let report = Config::new().preemptions(1).explore(|| assert!(readers_and_adders(7, 1) > 0));
    assert!(report.verdict == Verdict::Verified && report.anew.is_some(), "{report}");
    let outside = Config::new().preemptions(0).explore(|| assert_eq!(readers_and_adders(7, 1), 2));
    assert!(!outside.is_bug() && completed(&outside) == Some(0) && outside.anew.is_some(), "{outside}");
    assert_ne!(outside.verdict, Verdict::Verified, "{outside}");
}

/// Where time may pass because nobody goes on, nothing would be left.
#[test]
fn where_time_passes_nothing_begins_anew() {
    let report = Config::new().preemptions(9).executions(2000).explore(|| {
        thread::sleep(Duration::from_millis(1));
        readers_and_adders(7, 1);
    });
    assert_eq!(report.anew, None, "{report}");
}
