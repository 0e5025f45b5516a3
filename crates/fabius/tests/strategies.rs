//! Every strategy finds what it is meant to find.

use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::sync::{Condvar, Mutex};
use fabius::{Config, Report, Verdict, thread};
use std::sync::Arc;

fn lost_update() {
    let counter = Arc::new(AtomicUsize::new(0));
    let theirs = counter.clone();
    let other = thread::spawn(move || theirs.store(theirs.load(SeqCst) + 1, SeqCst));
    counter.store(counter.load(SeqCst) + 1, SeqCst);
    other.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2);
}

fn three_philosophers() {
    let forks = Arc::new([(); 3].map(Mutex::new));
    let all = [0, 1, 2].map(|i| {
        let forks = forks.clone();
        thread::spawn(move || {
            let _left = forks[i].lock().unwrap();
            let _right = forks[(i + 1) % 3].lock().unwrap();
        })
    });
    all.into_iter().for_each(|t| t.join().unwrap());
}

/// One condition variable for both ends of a buffer of one: `notify_one` can wake the wrong side.
fn wrong_side_is_woken() {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let wait_and_set = |full_when: usize| {
        let shared = shared.clone();
        thread::spawn(move || {
            let mut count = shared.0.lock().unwrap();
            while *count == full_when {
                count = shared.1.wait(count).unwrap();
            }
            *count = full_when;
            shared.1.notify_one();
        })
    };
    let all = [wait_and_set(1), wait_and_set(1), wait_and_set(0), wait_and_set(0)];
    all.into_iter().for_each(|t| t.join().unwrap());
}

fn strategies() -> Vec<(&'static str, Config)> {
    let new = Config::new;
    vec![
        ("default", new()),
        ("preemptions", new().iterative_preemptions()),
        ("delays", new().delays(4)),
        ("delays, depth-first", new().delays_depth_first(9)),
        ("depth", new().depth(40)),
        ("exhaustive", new().exhaustive()),
        ("exhaustive, plain", new().exhaustive().without_reduction()),
        ("random", new().random(10_000)),
        ("pct", new().pct(3, 10_000)),
        ("pos", new().pos(10_000)),
        ("urw", new().urw(10_000)),
        ("surw", new().surw(10_000)),
        ("two jobs", new().iterative_preemptions().jobs(2)),
    ]
}

#[test]
fn every_strategy_finds_the_bug_of_each_program() {
    let programs: [(&str, fn()); 3] =
        [("update", lost_update), ("philosophers", three_philosophers), ("buffer", wrong_side_is_woken)];
    for (name, program) in programs {
        for (strategy, config) in strategies() {
            let report = config.explore(program);
            assert!(report.is_bug(), "{name}, {strategy}: {report}");
            let schedule = report.replay.clone().unwrap();
            let again = std::panic::catch_unwind(|| fabius::replay(&schedule, program));
            assert!(again.is_err(), "{name}, {strategy}: the schedule {schedule} does not fail");
        }
    }
}

#[test]
fn a_strategy_with_a_seed_does_the_same_again() {
    let run = |config: Config| -> (Option<String>, u64) {
        let report: Report = config.explore(three_philosophers);
        (report.replay.clone(), report.executions + report.walks)
    };
    for (strategy, config) in strategies() {
        if strategy != "two jobs" {
            assert_eq!(run(config.clone().seed(7)), run(config.seed(7)), "{strategy}");
        }
    }
}

#[test]
fn the_least_number_of_preemptions_is_found_first() {
    let cost = |program: fn()| Config::new().explore(program).trace().unwrap().cost;
    assert_eq!(cost(lost_update), 1);
    // The second goes first; then the first one waits for it, and switches for nothing to the third.
    assert_eq!(cost(three_philosophers), 1);
}

/// One thread opens a window for one step, once; the other has to look in just then, twice.
fn narrow_window() {
    let (busy, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (b, o) = (busy.clone(), open.clone());
    let other = thread::spawn(move || {
        for i in 0..40 {
            if i == 20 {
                o.store(1, SeqCst);
                o.store(0, SeqCst);
            }
            b.fetch_add(1, SeqCst);
        }
    });
    let first = open.load(SeqCst);
    for _ in 0..40 {
        busy.fetch_add(1, SeqCst);
    }
    assert!(first + open.load(SeqCst) < 2, "the window was open twice");
    other.join().unwrap();
}

#[test]
fn a_portfolio_ends_with_the_first_bug() {
    let without_end = Config::new().random(u64::MAX);
    let reports = fabius::portfolio(&[without_end, Config::new().preemptions(2)], narrow_window);
    assert!(reports[1].is_bug(), "{}", reports[1]);
}

#[test]
fn the_end_of_a_scope_does_not_join_again() {
    let report = Config::new().name("scope").delays_depth_first(0).explore(|| {
        thread::scope(|scope| {
            scope.spawn(|| ()).join().unwrap();
            scope.spawn(thread::park);
        });
    });
    assert!(report.is_bug(), "{report}");
}

/// Random strategies make several steps of a thread at once, of which the last alone may make choices.
#[test]
fn choices_between_steps_are_part_of_the_schedule() {
    let test = || {
        let numbers = Arc::new([0, 0].map(AtomicUsize::new));
        let theirs = numbers.clone();
        let other = thread::spawn(move || {
            theirs[0].store(1, SeqCst);
            theirs[0].store(2, SeqCst);
            let first = fabius::any(4);
            theirs[0].store(3, SeqCst);
            let second = fabius::any(4);
            theirs[1].store((first * 4 + second) as usize, SeqCst);
            theirs[0].store(4, SeqCst);
        });
        other.join().unwrap();
        numbers[0].store(5, SeqCst);
        assert_ne!(numbers[1].load(SeqCst), 2 * 4 + 3);
    };
    for (name, config) in strategies() {
        let report = config.name(name).explore(test);
        let trace = report.trace().unwrap_or_else(|| panic!("{name}: {report}"));
        assert_eq!(trace.kind, fabius::BugKind::Panic, "{name}: {report}");
    }
}

/// PCT without a point of change: whoever goes first has the highest priority, and goes on as soon as it can.
#[test]
fn with_pct_a_thread_of_higher_priority_goes_on_when_it_is_woken() {
    let report = Config::new().pct(1, 200).name("priorities").explore(|| {
        let shared = Arc::new((Mutex::new(()), AtomicUsize::new(0), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let guard = shared.0.lock().unwrap();
        let other = thread::spawn(move || {
            theirs.1.store(1, SeqCst);
            let _guard = theirs.0.lock().unwrap();
            theirs.2.store(1, SeqCst);
        });
        let is_higher = shared.1.load(SeqCst) == 1;
        drop(guard);
        shared.1.load(SeqCst);
        shared.1.load(SeqCst);
        let has_gone_on = shared.2.load(SeqCst) == 1;
        other.join().unwrap();
        assert!(has_gone_on || !is_higher);
    });
    assert!(!report.is_bug(), "{report}");
}

/// What a walk chooses in one step says nothing of what it chooses in the next.
#[test]
fn choices_of_walks_are_independent() {
    for config in [Config::new().random(1000), Config::new().pct(2, 1000), Config::new().pos(1000)] {
        let all = std::sync::Mutex::new(std::collections::BTreeSet::new());
        let report = config.explore(|| {
            let point = AtomicUsize::new(0);
            let both = || (fabius::any(2), fabius::any(2));
            let first = both();
            point.load(SeqCst);
            let second = both();
            point.load(SeqCst);
            all.lock().unwrap().insert((first, second, fabius::any(2)));
        });
        assert!(!report.is_bug(), "{report}");
        assert_eq!(all.into_inner().unwrap().len(), 32);
    }
}

/// Of those that can go on each is as likely, wherever it is drawn: threads that compute on, and those that wait for a lock.
#[test]
fn walks_draw_each_thread_as_often() {
    let counts = std::sync::Mutex::new([[0; 3]; 4]);
    let report = Config::new().random(3000).explore(|| {
        let shared = Arc::new((AtomicUsize::new(0), Mutex::new(Vec::new())));
        let all = [0, 1, 2].map(|me| {
            let shared = shared.clone();
            thread::spawn(move || {
                let turns = [shared.0.fetch_add(1, SeqCst), shared.0.fetch_add(1, SeqCst)];
                shared.1.lock().unwrap().push(me);
                turns.contains(&3).then_some(me)
            })
        });
        let fourth = all.map(|thread| thread.join().unwrap()).into_iter().flatten().next().unwrap();
        let locked = std::mem::take(&mut *shared.1.lock().unwrap());
        let mut counts = counts.lock().unwrap();
        counts[3][fourth] += 1;
        locked.into_iter().enumerate().for_each(|(turn, thread)| counts[turn][thread] += 1);
    });
    assert!(!report.is_bug(), "{report}");
    let counts = counts.into_inner().unwrap();
    assert!(counts.as_flattened().iter().all(|count| (850..1150).contains(count)), "{counts:?}");
}

#[test]
fn with_more_delays_than_any_execution_has_all_were_explored() {
    let test = || {
        let x = Arc::new(AtomicUsize::new(0));
        let others: Vec<_> = (0..2).map(|_| x.clone()).map(|x| thread::spawn(move || x.fetch_add(1, SeqCst))).collect();
        x.fetch_add(1, SeqCst);
        let sum: usize = others.into_iter().map(|other| other.join().unwrap()).sum();
        assert!(sum <= 3);
    };
    for config in [Config::new().delays(40), Config::new().delays_depth_first(40)] {
        let report = config.explore(test);
        assert!(report.to_string().contains("all were explored"), "{report}");
    }
    let report = Config::new().delays(1).explore(test);
    assert!(!report.to_string().contains("all were explored"), "{report}");
}

#[test]
fn no_executions_are_made_where_none_are_asked_for() {
    for config in [
        Config::new().preemptions(2),
        Config::new().preemptions(2).without_reduction(),
        Config::new().preemptions(2).free_stale_reads(),
        Config::new().delays(1),
        Config::new().iterative_preemptions(),
        Config::new().exhaustive(),
        Config::new().exhaustive().without_reduction(),
        Config::new().random(1),
    ] {
        let runs = std::sync::atomic::AtomicUsize::new(0);
        let report = config.executions(0).explore(|| {
            runs.fetch_add(1, SeqCst);
        });
        assert!(matches!(report.verdict, Verdict::Unknown { .. }), "{report}");
        assert_eq!((report.executions + report.walks, runs.into_inner()), (0, 0), "{report}");
        assert!(report.to_string().contains("cut short by the number of executions; 0 executions"), "{report}");
    }
    let report = Config::new().executions(0).explore(|| ());
    assert_eq!((report.executions, report.walks), (0, 2_000), "{report}");
    assert!(matches!(report.verdict, Verdict::Unknown { .. }), "{report}");
}
