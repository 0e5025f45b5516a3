//! Public figures of CHESS for small programs: as many happens-before classes, and no more executions.

use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::sync::{Condvar, Mutex};
use fabius::{BugKind, Config, thread};
use std::sync::Arc;
use std::time::Duration;

/// Executions and classes with at most 1, 2, 3 preemptions.
fn counts(test: fn()) -> [(u64, u64); 3] {
    [1, 2, 3].map(|k| {
        let report = Config::new().preemptions(k).explore(test);
        let last = report.levels.last().copied().unwrap_or_default();
        (last.executions, last.states)
    })
}

fn at_most(test: fn(), executions: [u64; 3], classes: [u64; 3]) {
    let found = counts(test);
    println!("{found:?} against {executions:?} {classes:?}");
    assert_eq!(found.map(|(_, c)| c), classes, "classes");
    assert!(found.iter().zip(executions).all(|((e, _), chess)| *e <= chess), "{found:?} against {executions:?}");
}

#[test]
fn a_thread_that_ends_at_once() {
    at_most(|| thread::spawn(|| ()).join().unwrap(), [1, 1, 1], [1, 1, 1]);
}

#[test]
fn two_threads_and_a_lock() {
    let test = || {
        let shared = Arc::new((std::sync::atomic::AtomicUsize::new(0), Mutex::new(())));
        let body = |shared: &(std::sync::atomic::AtomicUsize, Mutex<()>), value| {
            shared.0.store(value, SeqCst);
            drop(shared.1.lock().unwrap());
            shared.0.store(value + 1, SeqCst);
        };
        let theirs = shared.clone();
        let other = thread::spawn(move || body(&theirs, 1));
        body(&shared, 3);
        other.join().unwrap();
    };
    at_most(test, [3, 4, 4], [2, 2, 2]);
}

fn increments(threads: usize) {
    let counter = Arc::new(AtomicUsize::new(0));
    let all: Vec<_> = (0..threads)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || counter.fetch_add(1, SeqCst))
        })
        .collect();
    counter.fetch_add(1, SeqCst);
    for t in all {
        t.join().unwrap();
    }
}

#[test]
fn one_atomic_increment_each() {
    at_most(|| increments(1), [2, 3, 3], [2, 2, 2]);
    at_most(|| increments(2), [10, 20, 26], [6, 6, 6]);
}

#[test]
fn increments_of_different_variables() {
    let test = || {
        let (x, y) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let other = thread::spawn(move || y.fetch_add(1, SeqCst));
        x.fetch_add(1, SeqCst);
        other.join().unwrap();
    };
    at_most(test, [2, 3, 3], [1, 1, 1]);
}

#[test]
fn a_lock_that_is_taken_before_the_thread_is_there() {
    let test = || {
        let lock = Arc::new(Mutex::new(()));
        drop(lock.lock().unwrap());
        let theirs = lock.clone();
        let other = thread::spawn(move || {
            drop(theirs.lock().unwrap());
            drop(theirs.lock().unwrap());
        });
        drop(lock.lock().unwrap());
        other.join().unwrap();
    };
    println!("{:?}", counts(test));
    let test = || {
        let lock = Arc::new(Mutex::new(()));
        drop(lock.lock().unwrap());
        let theirs = lock.clone();
        let other = thread::spawn(move || drop(theirs.lock().unwrap()));
        drop(lock.lock().unwrap());
        other.join().unwrap();
    };
    println!("{:?}", counts(test));
}

struct Semaphore(Mutex<usize>, Condvar);

impl Semaphore {
    fn release(&self) {
        *self.0.lock().unwrap() += 1;
        self.1.notify_one();
    }

    fn wait(&self) {
        let mut count = self.1.wait_while(self.0.lock().unwrap(), |count| *count == 0).unwrap();
        *count -= 1;
    }
}

#[test]
fn two_semaphores() {
    // A semaphore of std's parts has more operations than that of CHESS: the classes are those of the program.
    let report = Config::new().exhaustive().explore(|| {
        let s = Arc::new([(); 2].map(|()| Semaphore(Mutex::new(0), Condvar::new())));
        let theirs = s.clone();
        let other = thread::spawn(move || {
            theirs[0].release();
            theirs[1].wait();
        });
        s[0].wait();
        s[1].release();
        other.join().unwrap();
    });
    assert!(!report.is_bug(), "{report}");
}

#[test]
fn locks_in_the_wrong_order() {
    let report = Config::new().preemptions(1).explore(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let theirs = locks.clone();
        let other = thread::spawn(move || {
            let _a = theirs.0.lock().unwrap();
            let _b = theirs.1.lock().unwrap();
        });
        {
            let _b = locks.1.lock().unwrap();
            let _a = locks.0.lock().unwrap();
        }
        other.join().unwrap();
    });
    let trace = report.trace().expect("there is a deadlock");
    assert_eq!((trace.kind, trace.cost), (BugKind::Deadlock, 1));
    assert!(report.executions <= 4, "{report}");
}

fn philosopher(left: &Mutex<()>, right: &Mutex<()>) {
    loop {
        if let Ok(_l) = left.try_lock()
            && let Ok(_r) = right.try_lock()
        {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn two_philosophers_who_try() {
    let test = || {
        let forks = Arc::new((Mutex::new(()), Mutex::new(())));
        let theirs = forks.clone();
        let other = thread::spawn(move || philosopher(&theirs.0, &theirs.1));
        philosopher(&forks.1, &forks.0);
        other.join().unwrap();
    };
    println!("{:?}", counts(test));
}
