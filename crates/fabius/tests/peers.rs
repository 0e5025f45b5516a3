//! Where other checkers of Rust tests are known to go wrong.

use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::sync::{Condvar, Mutex};
use fabius::{BugKind, Config, Report, Verdict, thread};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Threads in a row that push their number; whether the second one was first.
fn second_goes_first() -> bool {
    let log = Arc::new(Mutex::new(Vec::new()));
    let all: Vec<_> = (0..2)
        .map(|number| {
            let log = log.clone();
            thread::spawn(move || log.lock().unwrap().push(number))
        })
        .collect();
    for t in all {
        t.join().unwrap();
    }
    log.lock().unwrap()[0] == 1
}

fn an_update_is_lost() -> bool {
    let counter = Arc::new(Mutex::new(0));
    let all: Vec<_> = (0..2)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || {
                let value = *counter.lock().unwrap();
                *counter.lock().unwrap() = value + 1;
            })
        })
        .collect();
    for t in all {
        t.join().unwrap();
    }
    *counter.lock().unwrap() == 1
}

fn cost(report: &Report) -> Option<u32> {
    report.trace().map(|t| t.cost)
}

#[test]
fn a_switch_at_a_thread_that_waits_is_free() {
    let report = Config::new().preemptions(0).explore(|| assert!(!second_goes_first()));
    assert_eq!(cost(&report), Some(0));
}

#[test]
fn a_preemption_and_then_a_free_switch_are_one_preemption() {
    let both = || {
        let lost = an_update_is_lost();
        assert!(!(second_goes_first() && lost));
    };
    assert!(!Config::new().preemptions(0).explore(both).is_bug());
    assert_eq!(cost(&Config::new().preemptions(1).explore(both)), Some(1));
}

#[test]
fn a_load_before_a_store_of_the_same_thread_hides_no_outcome() {
    for config in [Config::new().exhaustive(), Config::new().iterative_preemptions(), Config::new().random(100)] {
        let seen = std::sync::Mutex::new(BTreeSet::new());
        config.explore(|| {
            let x = Arc::new(AtomicUsize::new(0));
            let theirs = x.clone();
            thread::spawn(move || {
                theirs.load(SeqCst);
                theirs.store(1, SeqCst);
            });
            seen.lock().unwrap().insert(x.load(SeqCst));
        });
        assert_eq!(seen.into_inner().unwrap(), BTreeSet::from([0, 1]));
    }
}

#[test]
fn stores_and_then_loads_are_sequentially_consistent() {
    let report = Config::new().exhaustive().explore(|| {
        let both = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let theirs = both.clone();
        let other = thread::spawn(move || {
            theirs.0.store(1, SeqCst);
            theirs.1.load(SeqCst)
        });
        both.1.store(1, SeqCst);
        let mine = both.0.load(SeqCst);
        assert!(mine == 1 || other.join().unwrap() == 1);
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}

#[test]
fn there_may_be_many_threads() {
    let report = Config::new().exhaustive().explore(|| {
        let total = Arc::new(AtomicUsize::new(0));
        let all: Vec<_> = (0..60)
            .map(|number| {
                let own = AtomicUsize::new(number);
                thread::spawn(move || own.fetch_add(1, SeqCst))
            })
            .collect();
        for t in all {
            total.fetch_add(t.join().unwrap(), SeqCst);
        }
        assert_eq!(total.load(SeqCst), 60 * 59 / 2);
    });
    assert_eq!((report.verdict, report.executions), (Verdict::Verified, 1), "independent threads are one class");
}

#[test]
fn a_wait_with_a_limit_ends() {
    let report = Config::new().exhaustive().explore(|| {
        let (lock, condition) = (Mutex::new(()), Condvar::new());
        let (_guard, result) = condition.wait_timeout(lock.lock().unwrap(), Duration::from_secs(60)).unwrap();
        assert!(result.timed_out());
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}

#[test]
fn a_spin_on_a_flag_is_exhausted() {
    for config in [Config::new().exhaustive(), Config::new().iterative_preemptions()] {
        let report = config.explore(|| {
            let flag = Arc::new(AtomicUsize::new(0));
            let theirs = flag.clone();
            thread::spawn(move || theirs.store(1, SeqCst));
            while flag.load(SeqCst) == 0 {
                thread::yield_now();
            }
        });
        assert_eq!(report.verdict, Verdict::Verified, "{report}");
    }
}

#[test]
fn threads_that_wait_for_each_other_in_circles_livelock() {
    let report = Config::new().max_steps(500).explore(|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let theirs = flag.clone();
        thread::spawn(move || {
            while theirs.load(SeqCst) == 0 {
                thread::yield_now();
            }
        });
        while flag.load(SeqCst) == 0 {
            thread::yield_now();
        }
    });
    let trace = report.trace().expect("nobody ever stores");
    assert_eq!(trace.kind, BugKind::Livelock);
    assert!(trace.message.contains("peers.rs"), "{}", trace.message);
}

#[test]
fn a_bound_costs_no_more_executions_than_the_plain_enumeration() {
    for test in [an_update_is_lost as fn() -> bool, second_goes_first] {
        let run = |config: Config| {
            config.explore(move || {
                test();
            })
        };
        let all = run(Config::new().exhaustive().without_reduction());
        for k in 0..4 {
            let bounded = run(Config::new().preemptions(k));
            let plain = run(Config::new().preemptions(k).without_reduction());
            assert!(bounded.executions <= plain.executions && plain.executions <= all.executions, "{k}");
        }
    }
}
