//! What is said when a test fails, and when it cannot be checked.

use fabius::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use fabius::sync::atomic::{AtomicUsize, fence};
use fabius::sync::{Arc, Mutex};
use fabius::{BugKind, Config, Report, Verdict, thread};

fn text(report: &Report) -> String {
    report.failure().unwrap_or_else(|| panic!("it should fail: {report}"))
}

fn panics_with(f: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let payload = std::panic::catch_unwind(f).expect_err("it should panic");
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_string())).expect("a text")
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
}

#[test]
fn a_deadlock_names_the_locks_their_holders_and_where_they_were_taken() {
    let report = Config::new().explore(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let theirs = locks.clone();
        let other = thread::Builder::new().name("worker".into()).spawn(move || {
            let _b = theirs.1.lock();
            let _a = theirs.0.lock();
        });
        {
            let _a = locks.0.lock();
            let _b = locks.1.lock();
        }
        other.unwrap().join().unwrap();
    });
    let text = text(&report);
    says(&text, &["deadlock", "main waits in `lock`", "thread 1 (worker) waits in `lock`", "held by main, taken at"]);
    says(&text, &["failures.rs", "-- preemption 1 --", "FABIUS_REPLAY=", "fabius/failures__a_deadlock_names"]);
}

#[test]
fn a_lock_that_a_thread_takes_twice_is_held_by_itself() {
    let report = Config::new().explore(|| {
        let lock = Mutex::new(());
        let _first = lock.lock();
        let _second = lock.lock();
    });
    says(&text(&report), &["deadlock", "main waits in `lock`", "held by itself"]);
}

#[test]
fn the_panic_of_a_thread_that_main_unwraps_is_named() {
    let report = Config::new().explore(|| thread::spawn(|| panic!("the cause")).join().unwrap());
    assert_eq!(report.trace().unwrap().kind, BugKind::Panic);
    says(&text(&report), &["before that, thread 1 panicked at", "the cause"]);
}

#[test]
fn an_endless_loop_is_named() {
    let report = Config::new().max_steps(1000).explore(|| {
        let flag = AtomicUsize::new(0);
        while flag.load(SeqCst) == 0 {}
    });
    let text = text(&report);
    says(&text, &["no end after 1000 steps", "thread 0 at", "failures.rs", "spin_loop", ".. 999 times more"]);
    assert!(text.lines().count() < 20, "{text}");
}

#[test]
fn a_loop_of_several_operations_is_folded() {
    let report = Config::new().max_steps(1000).explore(|| {
        let flag = AtomicUsize::new(0);
        loop {
            flag.load(SeqCst);
            flag.swap(0, SeqCst);
        }
    });
    let text = text(&report);
    says(&text, &[".. these 2 lines 499 times more"]);
    assert!(text.lines().count() < 20, "{text}");
}

#[test]
fn a_test_that_behaves_differently_is_told_where() {
    static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let report = Config::new().explore(|| {
        let run = RUNS.fetch_add(1, SeqCst);
        let x = Arc::new(AtomicUsize::new(0));
        let theirs = x.clone();
        let other = thread::spawn(move || theirs.store(run, SeqCst));
        if run.is_multiple_of(2) {
            x.load(SeqCst);
        }
        x.store(1, SeqCst);
        other.join().unwrap();
    });
    assert!(matches!(report.verdict, Verdict::Unknown { .. }), "{report}");
    says(&text(&report), &["behaves differently", "at operation", "the first time", "the second time"]);
}

/// What is there when memory is allocated says whether a round of the loop changes it, and so who waits.
#[test]
fn a_loop_that_fills_new_memory_is_not_said_to_fail_within_delays() {
    let test = || {
        let turn = Arc::new(AtomicUsize::new(0));
        let theirs = turn.clone();
        let waiting = thread::spawn(move || {
            let mut values: Vec<u16> = Vec::new();
            while theirs.compare_exchange(2, 0, SeqCst, SeqCst).is_err() {
                values.resize((values.len() + 1) % 3, 1);
                thread::yield_now();
            }
        });
        let other = thread::spawn(move || turn.store(2, SeqCst));
        other.join().unwrap();
        waiting.join().unwrap();
    };
    let report = Config::new().delays(5).explore(test);
    assert!(report.failure().is_none() && !report.is_bug(), "{report}");
    assert_eq!(Config::new().preemptions(5).explore(test).verdict, Verdict::Verified);
}

/// In the second execution the first thread waits for the other one, which goes on in its place.
#[test]
fn a_schedule_that_went_to_another_thread_within_delays_is_not_taken_for_explored() {
    static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let report = Config::new().delays(1).explore(|| {
        let run = RUNS.fetch_add(1, SeqCst);
        let (sender, receiver) = fabius::sync::mpsc::channel();
        let waiting = thread::spawn(move || if run == 1 { receiver.recv() } else { receiver.try_recv().or(Ok(())) });
        let other = thread::spawn(move || sender.send(()));
        other.join().unwrap().ok();
        waiting.join().unwrap().unwrap();
    });
    assert!(matches!(report.verdict, Verdict::Unknown { .. }) && report.failure().is_none(), "{report}");
    says(&report.to_string(), &["a schedule that went elsewhere when it was run again"]);
}

#[test]
fn an_ordering_that_makes_no_sense_is_shown_where_the_test_gives_it() {
    let relaxed = Config::new().explore(|| fence(Relaxed));
    says(&text(&relaxed), &["there is no such thing as a relaxed fence", "failures.rs"]);
    let load = Config::new().explore(|| assert_eq!(AtomicUsize::new(0).load(Release), 0));
    says(&text(&load), &["there is no such thing as a release load", "failures.rs"]);
}

#[test]
fn leaks_and_double_frees_are_found() {
    let leak = Config::new().find_leaks().explore(|| std::mem::forget(Arc::new(1)));
    assert_eq!(leak.trace().unwrap().kind, BugKind::Leak);
    says(&text(&leak), &["leak: `Arc` made at", "failures.rs"]);
    let twice = Config::new().explore(|| unsafe {
        let layout = fabius::alloc::Layout::new::<u64>();
        let memory = fabius::alloc::alloc(layout);
        fabius::alloc::dealloc(memory, layout);
        fabius::alloc::dealloc(memory, layout);
    });
    says(&text(&twice), &["freed that is not owned"]);
}

#[test]
fn a_check_inside_of_a_check_is_refused_and_the_next_one_works() {
    let nested = Config::new().explore(|| {
        fabius::check(|| ());
    });
    says(&text(&nested), &["`fabius::check` must not be called inside", "failures.rs"]);
    let nested = Config::new().explore(|| {
        fabius::replay("0", || ());
    });
    says(&text(&nested), &["`fabius::replay` must not be called inside", "failures.rs"]);
    let panics = |nested: Report, what: &str, line: u32| {
        let place = format!("failures.rs:{line}");
        says(&text(&nested), &[&format!("`{what}` must not be called inside"), &place]);
    };
    let nested = Config::new().explore(|| {
        fabius::portfolio(&[], || ());
    });
    panics(nested, "fabius::portfolio", line!() - 2);
    let nested = Config::new().explore(|| {
        drop(fabius::compare("nested", &[], || ()));
    });
    panics(nested, "fabius::compare", line!() - 2);
    let nested = Config::new().explore(|| {
        drop(fabius::mcapi::record(|_| ()));
    });
    panics(nested, "fabius::mcapi::record", line!() - 2);
    let nested = Config::new().explore(|| {
        Config::new().random(1).explore(|| ());
    });
    panics(nested, "fabius::check", line!() - 2);
    assert_eq!(Config::new().explore(|| ()).verdict, Verdict::Verified);
}

#[test]
fn outside_of_a_check_locks_and_atomics_work_and_threads_do_not() {
    let lock = Mutex::new(1);
    *lock.lock().unwrap() += AtomicUsize::new(1).load(SeqCst);
    assert_eq!(*lock.lock().unwrap(), 2);
    let here = format!("{}:{}", file!(), line!() + 1);
    says(&panics_with(|| drop(thread::spawn(|| ()))), &["works only inside of a check (`fabius::check`", &here]);
}

#[test]
fn a_schedule_that_does_not_fit_is_refused() {
    let test = || {
        let x = AtomicUsize::new(0);
        x.store(1, SeqCst);
    };
    says(&panics_with(move || drop(fabius::replay("0*2,7", test))), &["does not fit"]);
    says(&panics_with(move || drop(fabius::replay("0,zero", test))), &["cannot be read: `zero`"]);
    assert_eq!(fabius::replay("0", test).executions, 1);
}

#[test]
fn a_destructor_that_fails_in_an_execution_that_is_given_up_does_no_harm() {
    struct Fails(Arc<AtomicUsize>);
    impl Drop for Fails {
        fn drop(&mut self) {
            assert_eq!(self.0.load(SeqCst), 1, "a destructor fails");
        }
    }
    for config in [Config::new(), Config::new().exhaustive(), Config::new().random(50)] {
        let report = config.explore(|| {
            let x = Arc::new(AtomicUsize::new(0));
            let fails = Fails(x.clone());
            thread::spawn(move || drop(fails));
            let theirs = Fails(x.clone());
            thread::spawn(move || drop(theirs));
            assert_eq!(x.swap(1, SeqCst), 2);
        });
        assert!(report.is_bug());
    }
}

#[test]
fn a_static_that_two_checks_use_at_the_same_time_is_noticed() {
    static SHARED: Mutex<usize> = Mutex::new(0);
    let test = || {
        let other = thread::spawn(|| *SHARED.lock().unwrap() += 1);
        *SHARED.lock().unwrap() += 1;
        other.join().unwrap();
    };
    let reports = fabius::portfolio(&[Config::new().random(200_000), Config::new().random(200_000).seed(1)], test);
    let noticed = reports.iter().filter_map(Report::failure).any(|text| text.contains("at the same time"));
    assert!(noticed, "{} {}", reports[0], reports[1]);
    assert!(!Config::new().explore(test).is_bug(), "one check alone may use it");
}

#[test]
fn a_result_that_nobody_asks_for_and_that_panics_when_dropped_is_a_failure() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("not like this");
        }
    }
    let report = Config::new().explore(|| {
        drop(thread::spawn(|| {
            thread::yield_now();
            Panics
        }));
    });
    says(&text(&report), &["the result of a thread panicked when it was dropped", "not like this"]);
}

#[test]
fn control_characters_of_the_test_are_not_printed() {
    let report = Config::new().name("control_characters").explore(|| {
        thread::Builder::new()
            .name("red \x1b[31m".into())
            .spawn(|| panic!("clears \x1b[2J\u{9b}3J \u{202e}backwards"))
            .unwrap()
            .join()
            .unwrap();
    });
    let text = format!("{}{report}", report.failure().expect("it fails"));
    assert!(text.contains("clears") || text.contains("red"), "{text}");
    assert!(!text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text:?}");
}

/// How a line of this file is named.
fn here(line: u32) -> String {
    format!("failures.rs:{line}")
}

#[test]
fn a_name_with_a_null_byte_is_refused_as_in_std() {
    let name = || thread::Builder::new().name("a\0b".into());
    let line = line!() + 1;
    let report = Config::new().explore(|| drop(name().spawn(|| ())));
    assert_eq!(report.trace().unwrap().kind, BugKind::Panic);
    says(&text(&report), &["thread name may not contain interior null bytes: \"a\\0b\"", &here(line)]);

    let line = line!() + 1;
    let report = Config::new().explore(|| thread::scope(|scope| drop(name().spawn_scoped(scope, || ()))));
    says(&text(&report), &["thread name may not contain interior null bytes", &here(line)]);

    let report = Config::new().explore(|| drop(thread::Builder::new().name("ab".into()).spawn(|| ()).unwrap().join()));
    assert_eq!(report.verdict, Verdict::Verified);
}
