//! The thinnest paths: each kind of failure is found, with the least cost, and each correct program is not blamed.

use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::sync::{Condvar, Mutex, RwLock, mpsc};
use fabius::{BugKind, Config, Report, Verdict, thread};
use std::sync::Arc;

fn bug(report: &Report) -> Option<(BugKind, u32)> {
    report.trace().map(|t| (t.kind, t.cost))
}

fn lost_update() {
    let counter = Arc::new(AtomicUsize::new(0));
    let theirs = counter.clone();
    let other = thread::spawn(move || {
        let value = theirs.load(SeqCst);
        theirs.store(value + 1, SeqCst);
    });
    let value = counter.load(SeqCst);
    counter.store(value + 1, SeqCst);
    other.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2, "an increment is lost");
}

#[test]
fn a_lost_update_needs_one_preemption() {
    let report = Config::new().explore(lost_update);
    assert_eq!(bug(&report), Some((BugKind::Panic, 1)));
    println!("{}", report.failure().unwrap());
    let again = std::panic::catch_unwind(|| fabius::replay(report.replay.as_deref().unwrap(), lost_update));
    let text = *again.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("an increment is lost"), "{text}");
}

#[test]
fn increments_under_a_mutex_are_not_lost() {
    let report = Config::new().iterative_preemptions().explore(|| {
        let counter = Arc::new(Mutex::new(0));
        let all: Vec<_> = (0..2)
            .map(|_| {
                let counter = counter.clone();
                thread::spawn(move || *counter.lock().unwrap() += 1)
            })
            .collect();
        for t in all {
            t.join().unwrap();
        }
        assert_eq!(*counter.lock().unwrap(), 2);
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}

#[test]
fn locks_in_the_wrong_order_deadlock() {
    let report = Config::new().explore(|| {
        let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
        let theirs = locks.clone();
        let other = thread::spawn(move || {
            let _b = theirs.1.lock().unwrap();
            let _a = theirs.0.lock().unwrap();
        });
        {
            let _a = locks.0.lock().unwrap();
            let _b = locks.1.lock().unwrap();
        }
        other.join().unwrap();
    });
    assert_eq!(bug(&report), Some((BugKind::Deadlock, 1)));
    let text = report.failure().unwrap();
    println!("{text}");
    assert!(text.contains("held by"), "{text}");
}

#[test]
fn a_condition_variable_that_is_notified_before_the_wait_is_a_lost_wake_up() {
    let report = Config::new().explore(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = shared.clone();
        thread::spawn(move || {
            *theirs.0.lock().unwrap() = true;
            theirs.1.notify_one();
        });
        let ready = *shared.0.lock().unwrap();
        if !ready {
            let guard = shared.0.lock().unwrap();
            drop(shared.1.wait(guard).unwrap());
        }
    });
    assert_eq!(bug(&report), Some((BugKind::Deadlock, 1)));
}

#[test]
fn readers_share_and_writers_do_not() {
    let report = Config::new().iterative_preemptions().explore(|| {
        let lock = Arc::new(RwLock::new((0, 0)));
        let theirs = lock.clone();
        let writer = thread::spawn(move || {
            let mut pair = theirs.write().unwrap();
            pair.0 += 1;
            pair.1 += 1;
        });
        let theirs = lock.clone();
        let reader = thread::spawn(move || {
            let pair = theirs.read().unwrap();
            assert_eq!(pair.0, pair.1);
        });
        let pair = lock.read().unwrap();
        assert_eq!(pair.0, pair.1);
        drop(pair);
        writer.join().unwrap();
        reader.join().unwrap();
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}

#[test]
fn messages_arrive_in_order_and_the_end_is_seen() {
    let report = Config::new().iterative_preemptions().explore(|| {
        let (sender, receiver) = mpsc::channel();
        let second = sender.clone();
        thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        thread::spawn(move || second.send(10).unwrap());
        let all: Vec<i32> = receiver.iter().collect();
        assert_eq!(all.len(), 3);
        assert!(all.iter().position(|v| *v == 1) < all.iter().position(|v| *v == 2));
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}

#[test]
fn a_panic_of_a_thread_is_a_value_and_poisons() {
    let report = Config::new().iterative_preemptions().explore(|| {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let other = thread::spawn(move || {
            let _guard = theirs.lock().unwrap();
            panic!("on purpose");
        });
        assert!(other.join().is_err());
        assert!(lock.lock().is_err(), "the lock is poisoned");
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}

#[test]
fn scoped_threads_borrow() {
    let report = Config::new().iterative_preemptions().explore(|| {
        let mut values = [0, 0];
        let total = AtomicUsize::new(0);
        thread::scope(|scope| {
            for value in &mut values {
                scope.spawn(|| {
                    *value += 1;
                    total.fetch_add(1, SeqCst);
                });
            }
        });
        assert_eq!(values, [1, 1]);
        assert_eq!(total.load(SeqCst), 2);
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}

#[test]
fn unordered_accesses_to_a_cell_are_a_race() {
    struct Shared(fabius::cell::UnsafeCell<usize>, AtomicUsize);
    unsafe impl Sync for Shared {}
    let run = |wait: bool| {
        Config::new().iterative_preemptions().explore(move || {
            let shared = Arc::new(Shared(fabius::cell::UnsafeCell::new(0), AtomicUsize::new(0)));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                theirs.0.with_mut(|p| unsafe { *p = 1 });
                theirs.1.store(1, SeqCst);
            });
            if !wait || shared.1.load(SeqCst) == 1 {
                shared.0.with(|p| unsafe { *p });
            }
            other.join().unwrap();
        })
    };
    assert_eq!(bug(&run(false)).unwrap().0, BugKind::DataRace);
    println!("{}", run(false).failure().unwrap());
    assert_eq!(run(true).verdict, Verdict::Verified);
}

#[test]
fn spinning_is_not_a_livelock() {
    let report = Config::new().iterative_preemptions().explore(|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let theirs = flag.clone();
        let other = thread::spawn(move || theirs.store(1, SeqCst));
        while flag.load(SeqCst) == 0 {
            fabius::hint::spin_loop();
        }
        other.join().unwrap();
    });
    println!("{report} {:?}", report.levels);
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}
