//! What tests do that is unusual: panics in odd places, threads that nobody joins, thread-locals of std, checks within and
//! beside checks, schedules that are none.

use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::sync::{Arc as TrackedArc, Condvar, Mutex, mpsc};
use fabius::{BugKind, Config, Report, Verdict, thread};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

fn explore(test: impl Fn() + Sync) -> Report {
    Config::new().name("scenarios").explore(test)
}

fn is_verified(report: &Report) -> bool {
    report.verdict == Verdict::Verified
}

fn kind(report: &Report) -> Option<BugKind> {
    report.trace().map(|trace| trace.kind)
}

/// The same in main and in another thread.
fn two<T>(test: impl Fn(&AtomicUsize) -> T + Clone + Send + 'static) {
    let number = Arc::new(AtomicUsize::new(0));
    let (theirs, same) = (number.clone(), test.clone());
    let other = thread::spawn(move || {
        same(&theirs);
    });
    test(&number);
    other.join().unwrap();
}

/// Takes a lock when it is dropped.
struct Locks(Arc<Mutex<usize>>);

impl Drop for Locks {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(|e| e.into_inner()) += 1;
    }
}

#[test]
fn a_destructor_that_panics_is_a_failure() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    let report = explore(|| two(|number| drop((number.load(SeqCst), Panics))));
    assert!(report.failure().is_some_and(|text| text.contains("in a destructor")), "{report}");
}

#[test]
fn a_panic_without_a_text_is_a_failure() {
    let report = explore(|| std::panic::panic_any(42_u8));
    assert_eq!(kind(&report), Some(BugKind::Panic), "{report}");
}

#[test]
fn threads_that_nobody_joins_are_explored_and_must_end() {
    let report = explore(|| {
        let number = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            let number = number.clone();
            thread::spawn(move || number.fetch_add(1, SeqCst));
        }
    });
    assert!(is_verified(&report), "{report}");
    let report = explore(|| drop(thread::spawn(thread::park)));
    assert_eq!(kind(&report), Some(BugKind::Deadlock), "{report}");
}

#[test]
fn the_panic_of_a_thread_that_nobody_joins_fails_if_that_is_asked_for() {
    let panics = || drop(thread::spawn(|| panic!("nobody asks")));
    assert!(is_verified(&explore(panics)));
    let report = Config::new().name("scenarios").every_panic_fails().explore(panics);
    assert!(report.failure().is_some_and(|text| text.contains("nobody asks")), "{report}");
}

#[test]
fn panics_that_are_caught_are_no_failures() {
    let report = explore(|| {
        let one = || {
            let number = Arc::new(AtomicUsize::new(0));
            let theirs = number.clone();
            thread::spawn(move || {
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    theirs.load(SeqCst);
                    panic!("is caught");
                }));
                assert!(caught.is_err());
                theirs.store(1, SeqCst);
            })
        };
        let threads = [one(), one()];
        for thread in threads {
            thread.join().unwrap();
        }
    });
    assert!(is_verified(&report), "{report}");
}

#[test]
fn who_catches_everything_in_a_loop_and_waits_is_a_deadlock() {
    let report = explore(|| {
        let (sender, receiver) = mpsc::channel::<i32>();
        std::mem::forget(sender);
        let other = thread::spawn(move || {
            loop {
                let _ = catch_unwind(AssertUnwindSafe(|| receiver.recv()));
            }
        });
        other.join().unwrap();
    });
    assert_eq!(kind(&report), Some(BugKind::Deadlock), "{report}");
}

#[test]
fn a_lock_of_std_that_no_point_interrupts_is_no_matter() {
    let report = explore(|| {
        let lock = Arc::new(std::sync::Mutex::new(0));
        two(move |number| {
            *lock.lock().unwrap() += 1;
            number.load(SeqCst);
        });
    });
    assert!(is_verified(&report), "{report}");
}

#[test]
fn thread_locals_of_std_are_shared_by_all_threads() {
    thread_local! {
        static BORROWED: RefCell<usize> = const { RefCell::new(0) };
        static KEPT: RefCell<Option<Locks>> = const { RefCell::new(None) };
    }
    let report = explore(|| {
        two(|number| {
            BORROWED.with(|value| {
                let mut value = value.borrow_mut();
                number.load(SeqCst);
                *value += 1;
            });
        });
    });
    assert!(report.failure().is_some_and(|text| text.contains("already borrowed")), "{report}");
    // What is left there is dropped after the check, where locks are std's.
    let lock = Arc::new(Mutex::new(0));
    let theirs = lock.clone();
    std::thread::spawn(move || {
        let report = explore(|| {
            let lock = theirs.clone();
            two(move |_| KEPT.with(|kept| drop(kept.replace(Some(Locks(lock.clone()))))));
        });
        assert!(!report.is_bug(), "{report}");
        *theirs.lock().unwrap() = 10;
    })
    .join()
    .unwrap();
    assert_eq!(*lock.lock().unwrap(), 11);
}

#[test]
fn a_check_inside_of_a_check_may_be_caught() {
    let report = explore(|| {
        let nested = catch_unwind(|| fabius::check(|| ()));
        assert!(nested.is_err());
        two(|number| number.load(SeqCst));
    });
    assert!(is_verified(&report), "{report}");
    assert!(is_verified(&explore(|| two(|number| number.load(SeqCst)))));
}

#[test]
fn checks_on_many_operating_system_threads_do_not_disturb_each_other() {
    let loses_an_update = || {
        explore(|| {
            two(|number| {
                let value = number.load(SeqCst);
                number.store(value + 1, SeqCst);
                assert!(value == 0 || number.load(SeqCst) == 2);
            });
        })
    };
    let costs: Vec<_> = std::thread::scope(|scope| {
        let checks: Vec<_> = (0..8).map(|_| scope.spawn(loses_an_update)).collect();
        checks.into_iter().map(|check| check.join().unwrap().trace().map(|trace| trace.cost)).collect()
    });
    assert_eq!(costs, vec![loses_an_update().trace().map(|trace| trace.cost); 8]);
}

#[test]
fn a_captured_lock_in_a_portfolio_is_safe() {
    let lock = Mutex::new(Vec::<String>::new());
    let configs = [1, 2].map(|seed| Config::new().name("scenarios").random(500).seed(seed));
    let reports = fabius::portfolio(&configs, || {
        for _ in 0..20 {
            let mut list = lock.lock().unwrap_or_else(|e| e.into_inner());
            list.push("x".repeat(40));
            if list.len() > 30 {
                list.clear();
            }
        }
    });
    let refused = |text: &str| text.contains("at the same time") || text.contains("behaves differently");
    for report in reports {
        assert!(report.failure().is_none_or(|text| refused(&text)), "{report}");
    }
}

#[test]
fn one_of_no_alternatives_is_an_error() {
    let report = explore(|| assert_eq!(fabius::any(0), 0));
    assert_eq!(kind(&report), Some(BugKind::Panic), "{report}");
}

#[test]
fn a_schedule_that_is_none_is_refused() {
    let wrong = ["x", "1,,2", "0*99999999999999", "0*4000000000", "9,9,9", "-1", "1:2:3", "\u{1b}[31m", "0*1000000"];
    for schedule in wrong {
        let replayed = catch_unwind(|| {
            fabius::replay(schedule, || {
                two(|number| {
                    number.fetch_add(1, SeqCst);
                });
            })
        });
        let message = replayed.unwrap_err();
        let text = message.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(text.contains("schedule") && !text.contains('\u{1b}'), "{schedule:?}: {text}");
    }
}

#[test]
fn the_name_of_a_test_names_no_other_folder() {
    let report = Config::new().name("../../../../above").explore(|| panic!("is saved"));
    let text = report.failure().unwrap();
    assert!(!text.contains("../"), "{text}");
}

#[test]
fn a_loop_without_a_hint_does_not_count_as_waiting() {
    let report = Config::new().name("scenarios").max_steps(500).time(Duration::from_secs(30)).explore(|| {
        two(|number| while number.load(SeqCst) != 77 {});
    });
    assert!(report.failure().is_some_and(|text| text.contains("no end after 500 steps")), "{report}");
}

/// False alarms of loom, which its users have reported.
#[test]
fn the_last_value_is_never_lost() {
    let report = explore(|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let theirs = flag.clone();
        let swaps = thread::spawn(move || theirs.swap(0, SeqCst));
        flag.store(1, SeqCst);
        let before = swaps.join().unwrap();
        assert!(before == 1 || flag.load(SeqCst) == 1);
    });
    assert!(is_verified(&report), "{report}");
    let report = explore(|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let theirs = flag.clone();
        let stores = thread::spawn(move || theirs.store(1, SeqCst));
        let first = flag.swap(0, SeqCst);
        stores.join().unwrap();
        assert_ne!(first, flag.load(SeqCst));
    });
    assert!(is_verified(&report), "{report}");
    let report = explore(|| {
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
    assert!(is_verified(&report), "{report}");
}

#[test]
fn six_threads_are_explored() {
    let report = Config::new().name("scenarios").exhaustive().explore(|| {
        let number = TrackedArc::new(AtomicUsize::new(0));
        let one = || {
            let number = number.clone();
            thread::spawn(move || number.fetch_add(1, SeqCst))
        };
        let threads: Vec<_> = (0..6).map(|_| one()).collect();
        threads.into_iter().for_each(|thread| drop(thread.join()));
        assert_eq!(number.load(SeqCst), 6);
    });
    assert!(is_verified(&report), "{report}");
}

/// Each round of a loop that is tried out takes some thousand instructions, and a trap each, so there are few.
#[test]
fn two_that_spin_until_a_third_stores_are_explored() {
    let report = explore(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let (adds, waits) = (number.clone(), number.clone());
        let adds = thread::spawn(move || {
            adds.fetch_add(1, SeqCst);
        });
        let wait = |number: &AtomicUsize| {
            while number.load(SeqCst) < 1 {
                thread::yield_now();
            }
        };
        let waits = thread::spawn(move || wait(&waits));
        wait(&number);
        adds.join().unwrap();
        waits.join().unwrap();
    });
    assert!(is_verified(&report), "{report}");
}

/// A load more of a thread that needs none changes no outcome.
#[test]
fn a_load_more_changes_no_outcome() {
    let is_possible = |more: bool, outcome: (usize, usize)| {
        let report = Config::new().name("scenarios").exhaustive().explore(|| {
            let both = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
            let (theirs, mine) = (both.clone(), both);
            let stores = thread::spawn(move || {
                theirs.0.store(1, SeqCst);
                theirs.1.store(1, SeqCst);
                theirs.1.store(0, SeqCst);
                if more {
                    theirs.0.load(SeqCst);
                }
                theirs.0.store(0, SeqCst);
            });
            let loads = thread::spawn(move || (mine.1.load(SeqCst), mine.0.load(SeqCst)));
            stores.join().unwrap();
            assert_ne!(loads.join().unwrap(), outcome);
        });
        assert!(report.is_bug() || is_verified(&report), "{report}");
        report.is_bug()
    };
    for more in [false, true] {
        for outcome in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            assert!(is_possible(more, outcome), "{more} {outcome:?}");
        }
        assert!(!is_possible(more, (0, 2)), "{more}");
    }
}

#[test]
fn a_panic_of_millions_of_characters_is_a_failure() {
    let report = explore(|| two(|number| assert_eq!(number.load(SeqCst), 1, "{}", "long ".repeat(600_000))));
    assert_eq!(kind(&report), Some(BugKind::Panic), "{report}");
    assert!(report.failure().unwrap().len() > 3_000_000);
}

/// A handle of an execution that had more threads than this one, and whose result nobody can have any more.
#[test]
fn a_handle_with_the_number_of_no_thread_is_refused() {
    static KEPT: std::sync::Mutex<Option<thread::JoinHandle<()>>> = std::sync::Mutex::new(None);
    let report = Config::new().name("scenarios").executions(1).explore(|| {
        for _ in 0..5 {
            let waits = thread::spawn(thread::park);
            waits.thread().unpark();
            *KEPT.lock().unwrap() = Some(waits);
        }
    });
    assert!(!report.is_bug(), "{report}");
    let report = explore(|| {
        if let Some(kept) = KEPT.lock().unwrap().take() {
            assert!(catch_unwind(AssertUnwindSafe(|| kept.thread().unpark())).is_err());
            assert!(catch_unwind(AssertUnwindSafe(|| kept.is_finished())).is_err());
            assert!(catch_unwind(AssertUnwindSafe(|| kept.join())).is_err());
        }
        two(|number| number.fetch_add(1, SeqCst));
    });
    assert!(!report.is_bug(), "{}", report.failure().unwrap_or_default());
}

/// Waits for no time until another thread, which sleeps, has stored.
fn waits_for_no_time() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let theirs = shared.clone();
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(9));
        *theirs.0.lock().unwrap() = true;
    });
    loop {
        let is_over = shared.0.lock().unwrap();
        if *shared.1.wait_timeout(is_over, Duration::ZERO).unwrap().0 {
            break;
        }
        thread::yield_now();
    }
    other.join().unwrap();
}

#[test]
fn who_waits_for_no_time_only_waits_while_another_sleeps() {
    let plain = Config::new().exhaustive().without_reduction().executions(1_000_000);
    for config in [Config::new(), Config::new().exhaustive(), Config::new().jobs(2), plain] {
        let report = config.explore(waits_for_no_time);
        assert_eq!(report.verdict, Verdict::Verified, "{report}");
    }
}
