//! Locks that outlive executions: an execution that goes on no more gives them back.

use fabius::sync::{Mutex, RwLock};
use fabius::{BugKind, Config, thread};
use std::sync::Arc;

fn config() -> Config {
    Config::new().name("statics")
}

/// Two locks in both orders: a deadlock with one preemption.
fn both_orders(first: &'static Mutex<usize>, second: &'static Mutex<usize>) {
    let other = thread::spawn(|| {
        let _second = second.lock().unwrap();
        let _first = first.lock().unwrap();
    });
    {
        let _first = first.lock().unwrap();
        let _second = second.lock().unwrap();
    }
    other.join().unwrap();
}

#[test]
fn a_deadlock_of_static_locks_is_found_again() {
    static FIRST: Mutex<usize> = Mutex::new(0);
    static SECOND: Mutex<usize> = Mutex::new(0);
    for config in [config(), config().exhaustive(), config().preemptions(1), config().random(1000), config()] {
        let report = config.explore(|| both_orders(&FIRST, &SECOND));
        let trace = report.trace().unwrap_or_else(|| panic!("{report}"));
        assert_eq!(trace.kind, BugKind::Deadlock);
        let text = report.failure().unwrap();
        assert!(text.contains("held by thread 1") && !text.contains("an earlier execution"), "{text}");
    }
    let report = config().explore(|| both_orders(&FIRST, &SECOND));
    assert_eq!(report.trace().unwrap().cost, 1);
    // Outside they are free as well.
    assert_eq!(*FIRST.lock().unwrap() + *SECOND.lock().unwrap(), 0);
}

#[test]
fn who_reads_and_writes_for_ever_gives_back_what_it_has() {
    static BOTH: RwLock<usize> = RwLock::new(0);
    for writes in [false, true, false] {
        let report = config().explore(|| {
            let other = thread::spawn(move || {
                let _guards = if writes { (None, Some(BOTH.write())) } else { (Some(BOTH.read()), None) };
                thread::park();
            });
            other.join().unwrap();
        });
        let text = report.failure().unwrap();
        assert!(text.contains("waits in `park`") && !text.contains("waits in `read`"), "{text}");
        assert_eq!(*BOTH.try_write().unwrap(), 0);
    }
}

#[test]
fn a_lock_that_the_closure_captures_is_given_back() {
    let lock = Arc::new(Mutex::new(0));
    let fails = |lock: &Arc<Mutex<usize>>| {
        let theirs = lock.clone();
        let holds = thread::spawn(move || {
            let _guard = theirs.lock();
            thread::park();
        });
        assert!(lock.try_lock().is_ok(), "it is held");
        holds.thread().unpark();
        holds.join().unwrap();
    };
    // The first execution does not fail: it shows that the lock is used by others.
    for _ in 0..2 {
        let report = config().explore(|| fails(&lock));
        assert!(report.failure().is_some_and(|text| text.contains("it is held")), "{report}");
        assert_eq!(report.trace().unwrap().cost, 1);
    }
}

#[test]
fn a_guard_that_is_leaked_is_not_given_back() {
    static LOCK: Mutex<usize> = Mutex::new(0);
    for _ in 0..2 {
        let report = config().explore(|| {
            std::mem::forget(LOCK.try_lock());
            thread::park();
        });
        assert!(report.failure().is_some_and(|text| text.contains("waits in `park`")), "{report}");
        assert!(LOCK.try_lock().is_err());
    }
}
