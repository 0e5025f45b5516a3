//! Locks that outlive executions: an execution that goes on no more gives them back.

use fabius::cell::UnsafeCell;
use fabius::sync::{Mutex, Once, OnceLock, RwLock};
use fabius::{BugKind, Config, Verdict, thread};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
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

#[test]
fn thread_locals_have_the_names_of_std() {
    fabius::thread_local! {
        static CELL: Cell<u32> = const { Cell::new(1) };
        static LIST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        /// As in std, `set` does not ask for the initial value.
        static NEVER: Cell<u32> = panic!("the initializer runs");
        static NEITHER: RefCell<u32> = panic!("the initializer runs");
    }
    let report = config().exhaustive().explore(|| {
        let other = thread::spawn(|| {
            assert_eq!((CELL.get(), CELL.take(), CELL.get()), (1, 1, 0));
            LIST.set(vec![1]);
            assert_eq!((LIST.replace(vec![2]), LIST.take(), LIST.take()), (vec![1], vec![2], vec![]));
            NEVER.set(3);
            NEITHER.set(4);
            (NEVER.get(), NEITHER.take())
        });
        CELL.set(5);
        LIST.with_borrow_mut(|list| list.push(6));
        assert_eq!((CELL.replace(7), CELL.get(), LIST.with_borrow(Vec::len)), (5, 7, 1));
        assert_eq!(other.join().unwrap(), (3, 4));
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
    let line = line!() + 1;
    let report = config().explore(|| LIST.with_borrow_mut(|_| LIST.set(vec![1])));
    let text = report.failure().unwrap();
    assert!(text.contains(&format!("statics.rs:{line}")) && text.contains("already"), "{text}");
    // Outside of a check they are of the operating system thread.
    NEVER.set(1);
    NEITHER.set(2);
    assert_eq!((CELL.get(), LIST.take(), NEVER.take(), NEITHER.replace(3)), (1, vec![], 1, 2));
}

/// What main sees of what another thread does once: how it went on when it waited.
fn outcomes(test: impl Fn() -> &'static str + Sync) -> BTreeSet<&'static str> {
    let seen = std::sync::Mutex::new(BTreeSet::new());
    let report = config().exhaustive().explore(|| {
        let outcome = test();
        if !fabius::extend::is_cut() {
            seen.lock().unwrap().insert(outcome);
        }
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
    seen.into_inner().unwrap()
}

#[test]
fn who_waits_for_what_is_done_once_comes_after_it() {
    /// The first call panics, another may not.
    fn poisons(once: &Once) {
        assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(|| panic!("the first call")))).is_err());
        once.call_once_force(|_| ());
    }
    let waits = |wait: fn(&Once)| {
        outcomes(move || {
            let once = Arc::new(Once::new());
            let theirs = once.clone();
            let other = thread::spawn(move || poisons(&theirs));
            let waited = catch_unwind(AssertUnwindSafe(|| wait(&once)));
            let done = once.is_completed();
            other.join().unwrap();
            assert!(waited.is_err() || done);
            if waited.is_ok() { "done" } else { "poisoned" }
        })
    };
    assert_eq!(waits(Once::wait), BTreeSet::from(["done", "poisoned"]));
    assert_eq!(waits(Once::wait_force), BTreeSet::from(["done"]));

    // What was written before is seen without a race.
    let report = config().exhaustive().explore(|| {
        let shared = Arc::new((Once::new(), OnceLock::new(), Written(UnsafeCell::new(0))));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            // SAFETY: it writes before the others read.
            theirs.2.0.with_mut(|p| unsafe { *p = 1 });
            theirs.0.call_once(|| ());
            theirs.1.set("set").unwrap();
        });
        shared.0.wait();
        // SAFETY: as above.
        shared.2.0.with(|p| assert_eq!(unsafe { *p }, 1));
        assert_eq!((*shared.1.wait(), shared.1.get()), ("set", Some(&"set")));
        other.join().unwrap();
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");

    for (name, wait) in [("wait", Once::wait as fn(&Once)), ("wait_force", Once::wait_force)] {
        let report = config().explore(|| wait(&Once::new()));
        assert_eq!(report.trace().unwrap().kind, BugKind::Deadlock);
        assert!(report.failure().unwrap().contains(&format!("main waits in `{name}`")), "{report}");
    }
    let report = config().explore(|| assert_eq!(*OnceLock::<u8>::new().wait(), 0));
    assert_eq!(report.trace().unwrap().kind, BugKind::Deadlock);
}

#[test]
fn who_waits_for_a_call_that_waits_for_another_is_in_a_deadlock() {
    let report = config().explore(|| {
        let once = Arc::new((Once::new(), Once::new()));
        let theirs = once.clone();
        let other = thread::spawn(move || theirs.0.call_once(|| theirs.1.wait()));
        once.1.call_once(|| once.0.wait());
        other.join().unwrap();
    });
    assert_eq!(report.trace().unwrap().kind, BugKind::Deadlock, "{report}");
    let text = report.failure().unwrap();
    assert!(text.contains("`wait`") && text.contains("held by thread 1"), "{text}");
}

#[test]
fn a_clone_of_a_lock_has_its_value_and_is_another() {
    let seen = outcomes(|| {
        let lock = Arc::new(OnceLock::new());
        let theirs = lock.clone();
        let other = thread::spawn(move || theirs.set("value").unwrap());
        let mut copy = OnceLock::clone(&lock);
        other.join().unwrap();
        assert_eq!(lock.get(), Some(&"value"));
        let seen = copy.get().copied();
        assert_eq!(copy.take(), seen);
        assert_eq!((copy.set("another"), lock.get()), (Ok(()), Some(&"value")));
        seen.unwrap_or("nothing")
    });
    assert_eq!(seen, BTreeSet::from(["nothing", "value"]));
}

/// What one thread writes and another reads.
struct Written(UnsafeCell<u32>);

// SAFETY: the check looks for races.
unsafe impl Sync for Written {}
// SAFETY: as above.
unsafe impl Send for Written {}
