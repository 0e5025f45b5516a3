//! Loops that wait though that is not plain: they have something for a while in each round, or go on while others sleep.

use crate::yields::{Hidden, explore, is_verified, pair};
use fabius::sync::atomic::{AtomicU64, Ordering::SeqCst};
use fabius::sync::{Arc as Counted, Condvar, Mutex, Weak};
use fabius::{Config, Verdict, hint, thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64 as Unseen, Ordering::Relaxed};
use std::time::Duration;

/// Who has something for a while in each round, and gives it back, only waits.
#[test]
fn who_counts_references_in_each_round_only_waits() {
    type Round = fn(&Counted<u32>, &Weak<u32>, &Arc<u32>);
    let rounds: [(&str, Round); 6] = [
        ("clone", |strong, _, _| assert_eq!(*strong.clone(), 1)),
        ("clone one of std", |_, _, std| assert_eq!(*std.clone(), 1)),
        ("ask how many there are", |strong, _, _| assert!(Counted::strong_count(strong) > 0)),
        ("ask for one", |_, weak, _| assert!(weak.upgrade().is_some())),
        ("ask for a weak one", |strong, _, _| drop(Counted::downgrade(strong))),
        ("clone a weak one", |_, weak, _| drop(weak.clone())),
    ];
    for (what, round) in rounds {
        let test = |wakes: bool| {
            move || {
                let (mine, theirs) = pair();
                let (strong, std) = (Counted::new(1), Arc::new(1));
                let weak = Counted::downgrade(&strong);
                let other = thread::spawn(move || {
                    thread::sleep(Duration::from_millis(9));
                    theirs.0.store(wakes.into(), SeqCst);
                });
                while mine.0.load(SeqCst) == 0 {
                    round(&strong, &weak, &std);
                    thread::yield_now();
                }
                other.join().unwrap();
            }
        };
        is_verified(what, test(true));
        let report = explore(Config::new(), test(false));
        let text = report.failure().unwrap_or_else(|| panic!("{what}: {report}"));
        assert!(text.contains("livelock: for ever the same"), "{what}: {text}");
    }
    is_verified("until there is one reference", || {
        let strong = Counted::new(1);
        let weak = Counted::downgrade(&strong);
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(9));
            drop(strong);
        });
        while weak.upgrade().is_some() {
            hint::spin_loop();
        }
        other.join().unwrap();
    });
}

/// What two threads do with a count at the same time is not taken for what each would do alone.
#[test]
fn a_count_that_another_has_raised_is_seen() {
    for preemptions in [1, 2] {
        let report = explore(Config::new().preemptions(preemptions), || {
            let (mine, theirs) = pair();
            let counted = Arc::new(());
            let counts = counted.clone();
            let other = thread::spawn(move || {
                while theirs.0.load(SeqCst) == 0 {
                    theirs.1.store(0, SeqCst);
                    let own = counts.clone();
                    theirs.1.store(0, SeqCst);
                    drop(own);
                    thread::yield_now();
                }
            });
            let mut most = 0;
            for _ in 0..3 {
                let own = counted.clone();
                mine.1.store(0, SeqCst);
                most = most.max(Arc::strong_count(&own));
                thread::yield_now();
            }
            mine.0.store(1, SeqCst);
            other.join().unwrap();
            assert!(most < 4, "both had one more");
        });
        assert!(report.is_bug(), "{report}");
    }
}

/// A lock that is free only for a moment in each round of a loop is had in the end.
#[test]
fn who_waits_without_waiting_lets_others_have_the_lock() {
    for sleeps in [false, true] {
        let report = explore(Config::new(), move || {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                if sleeps {
                    thread::sleep(Duration::from_millis(9));
                }
                *theirs.0.lock().unwrap() = true;
            });
            let mut is_over = shared.0.lock().unwrap();
            while !*is_over {
                is_over = shared.1.wait_timeout(is_over, Duration::ZERO).unwrap().0;
                thread::yield_now();
            }
            drop(is_over);
            other.join().unwrap();
        });
        assert!(!report.is_bug(), "{}", report.failure().unwrap_or_default());
    }
    let report = explore(Config::new(), || {
        let (lock, waiters) = (Mutex::new(false), Condvar::new());
        let mut is_over = lock.lock().unwrap();
        while !*is_over {
            is_over = waiters.wait_timeout(is_over, Duration::ZERO).unwrap().0;
            thread::yield_now();
        }
    });
    let text = report.failure().unwrap_or_else(|| panic!("{report}"));
    assert!(text.contains("livelock: for ever the same"), "{text}");
}

/// A loop that nobody sees through goes on while another thread sleeps, which is no livelock: time passes. It is one if that changes nothing.
#[test]
fn who_sleeps_wakes_in_the_end_whatever_others_do() {
    let test = |raises: bool| {
        move || {
            let (mine, theirs) = pair();
            let other = thread::spawn(move || {
                for _ in 0..3 {
                    thread::sleep(Duration::from_millis(9));
                }
                theirs.0.store(raises.into(), SeqCst);
            });
            let rounds = Hidden::new();
            while mine.0.load(SeqCst) == 0 {
                rounds.add();
                thread::yield_now();
            }
            other.join().unwrap();
        }
    };
    let few_steps = || Config::new().max_steps(600).preemptions(0);
    let report = explore(few_steps(), test(true));
    assert!(!report.is_bug() && report.verdict != Verdict::Verified, "{report}");
    assert!(report.to_string().contains("while another thread slept, and then time passed"), "{report}");
    let report = explore(few_steps(), test(false));
    assert!(report.failure().is_some_and(|text| text.contains("livelock: more than 1200 steps")), "{report}");
    // What comes to pass then is found, and can be run again.
    let test = || {
        let (mine, theirs) = pair();
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(9));
            theirs.0.store(1, SeqCst);
        });
        let rounds = Hidden::new();
        while mine.0.load(SeqCst) == 0 {
            rounds.add();
            thread::yield_now();
        }
        other.join().unwrap();
        panic!("it woke");
    };
    let report = explore(Config::new(), test);
    assert!(report.failure().is_some_and(|text| text.contains("it woke")), "{report}");
    let schedule = report.replay.expect("a failure has a schedule");
    let again = std::panic::catch_unwind(|| fabius::replay(&schedule, test)).expect_err("it fails again");
    let text = again.downcast::<String>().expect("a text");
    assert!(text.contains("it woke"), "{text}");
}

/// Rounds that have changed something once are told from those that change nothing, however often a thread has only waited since: two that
/// took the other's rounds for changes woke each other for ever.
#[test]
fn who_changes_something_once_and_then_waits_wakes_nobody() {
    let test = || {
        let all = Arc::new((AtomicU64::new(0), [Unseen::new(0), Unseen::new(0)]));
        let waits = |number: usize| {
            let all = all.clone();
            thread::spawn(move || {
                loop {
                    hint::spin_loop();
                    if all.0.load(SeqCst) == 1 {
                        break;
                    }
                    if all.1[number].load(Relaxed) == 0 {
                        all.1[number].store(1, Relaxed);
                    }
                }
            })
        };
        let both = [waits(0), waits(1)];
        all.0.store(1, SeqCst);
        both.into_iter().for_each(|thread| thread.join().unwrap());
    };
    let report = explore(Config::new().exhaustive().executions(1_000), test);
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}
