//! What loom leaves out under weak memory, and that no outcome is lost where threads give way.

use fabius::sync::Arc;
use fabius::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use fabius::sync::atomic::{AtomicUsize, fence};
use fabius::{Config, Verdict, thread};
use std::collections::BTreeSet;

#[test]
fn a_load_that_finds_the_same_before_and_after_a_store_is_one_class() {
    // Each reader finds either; whether it looked before the store or found what was there before is the same.
    for readers in 1..=5 {
        let report = Config::new().exhaustive().explore(|| {
            let word = Arc::new(AtomicUsize::new(0));
            let read = (0..readers).map(|_| {
                let word = word.clone();
                thread::spawn(move || word.load(Relaxed))
            });
            let read: Vec<_> = read.collect();
            word.store(1, Relaxed);
            read.into_iter().for_each(|reader| assert!(reader.join().unwrap() < 2));
        });
        assert_eq!((report.verdict.clone(), report.levels[0].states), (Verdict::Verified, 1 << readers), "{report}");
    }
}

/// An exchange that fails, here also one that may fail for no reason, stores nothing.
#[test]
fn an_exchange_that_fails_is_a_load_of_its_class() {
    for is_weak in [false, true] {
        let report = Config::new().exhaustive().explore(|| {
            let word = Arc::new(AtomicUsize::new(0));
            let tries = (0..2).map(|_| {
                let word = word.clone();
                thread::spawn(move || match is_weak {
                    true => word.compare_exchange_weak(7, 8, Relaxed, Relaxed),
                    false => word.compare_exchange(7, 8, Relaxed, Relaxed),
                })
            });
            let tries: Vec<_> = tries.collect();
            word.store(1, Relaxed);
            tries.into_iter().for_each(|tried| assert!(tried.join().unwrap().is_err()));
        });
        assert_eq!((report.verdict.clone(), report.levels[0].states), (Verdict::Verified, 4), "{report}");
    }
}

/// Two threads that store to one atomic, so often each, and two loads of it.
fn stores_late(times: usize) -> impl Fn() + Sync {
    move || {
        let word = Arc::new(AtomicUsize::new(0));
        let stores = |from: usize| {
            let word = word.clone();
            thread::spawn(move || (from..from + times).for_each(|value| word.store(value, Relaxed)))
        };
        let both = [stores(10), stores(20)];
        assert!([word.load(Relaxed), word.load(Relaxed)].iter().all(|value| *value < 30));
        both.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn what_loom_leaves_out_is_explored_where_that_is_little_and_said_where_it_is_not() {
    let whole = Config::new().preemptions(2).as_loom().explore(stores_late(2));
    assert!(whole.executions < 8_192 && !whole.to_string().contains("as loom"), "{whole}");
    let most = Config::new().preemptions(1).as_loom().explore(stores_late(5));
    let said = most.to_string();
    assert!(matches!(most.verdict, Verdict::NoBugWithinBounds { .. }), "{said}");
    assert!(said.contains("within 1 preemption,") && said.contains("but much as loom without"), "{said}");
    assert!(said.contains("(all were explored within 0)"), "{said}");
    let unbounded = Config::new().exhaustive().as_loom().explore(stores_late(3));
    let said = unbounded.to_string();
    assert!(matches!(unbounded.verdict, Verdict::NoBugWithinBounds { .. }), "{said}");
    assert!(said.contains("but much as loom without"), "{said}");
    let asked_for = Config::new().preemptions(1).free_stale_reads().explore(stores_late(5));
    assert!(asked_for.executions > most.executions && !asked_for.to_string().contains("as loom"), "{asked_for}");
}

/// What a thread does: loads, stores, adds, exchanges zero for a number, makes a fence, or waits for a number for some rounds.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load,
    Store(usize),
    Add,
    Exchange(usize),
    Fence,
    Wait(usize),
}

type Threads = Vec<Vec<(Step, usize, [Ordering; 2])>>;

fn program(rng: &mut fastrand::Rng) -> Threads {
    let step = |rng: &mut fastrand::Rng| {
        let step = match rng.u8(..10) {
            0..3 => Step::Load,
            3..5 => Step::Store(rng.usize(1..3)),
            5 => Step::Add,
            6 => Step::Exchange(rng.usize(1..3)),
            7..9 => Step::Fence,
            _ => Step::Wait(rng.usize(1..3)),
        };
        let loads = [Relaxed, Acquire, SeqCst][rng.usize(..3)];
        let stores = [Relaxed, Release, SeqCst][rng.usize(..3)];
        (step, rng.usize(..2), [loads, stores])
    };
    (0..rng.usize(2..4)).map(|_| (0..rng.usize(1..4)).map(|_| step(rng)).collect()).collect()
}

/// What all have found.
fn run(threads: &Threads) -> Vec<Vec<usize>> {
    let words = Arc::new([0, 0].map(AtomicUsize::new));
    let go = |steps: Vec<(Step, usize, [Ordering; 2])>| {
        let words = words.clone();
        thread::spawn(move || {
            let step = |(step, word, [loads, stores]): (Step, usize, [Ordering; 2])| {
                let word = &words[word];
                match step {
                    Step::Load => word.load(loads),
                    Step::Store(value) => (word.store(value, stores), 0).1,
                    Step::Add => word.fetch_add(1, stores),
                    Step::Exchange(new) => word.compare_exchange(0, new, stores, loads).unwrap_or_else(|old| old),
                    Step::Fence => (fence(SeqCst), 0).1,
                    Step::Wait(value) => {
                        let mut rounds = 0;
                        while word.load(loads) != value && rounds < 2 {
                            rounds += 1;
                            thread::yield_now();
                        }
                        rounds
                    }
                }
            };
            steps.into_iter().map(step).collect()
        })
    };
    let all: Vec<_> = threads.iter().cloned().map(go).collect();
    all.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// The outcomes of all executions, if there are not more than so many.
fn outcomes(config: Config, threads: &Threads, most: u64) -> Option<BTreeSet<Vec<Vec<usize>>>> {
    let seen = std::sync::Mutex::new(BTreeSet::new());
    let report = config.executions(most).explore(|| {
        let outcome = run(threads);
        if !fabius::extend::is_cut() {
            seen.lock().unwrap().insert(outcome);
        }
    });
    (report.executions < most).then(|| seen.into_inner().unwrap())
}

#[test]
fn what_threads_find_that_give_way_is_the_same_with_a_reduction_as_without() {
    let seed = std::env::var("FIRST_SEED").map_or(1, |seed| seed.parse().unwrap());
    let programs = std::env::var("PROGRAMS").map_or(15, |programs| programs.parse().unwrap());
    let mut compared = 0;
    for seed in seed..seed + programs {
        let threads = program(&mut fastrand::Rng::with_seed(seed));
        let bounded = |bound| Config::new().preemptions(bound);
        let configs = [Config::new().exhaustive(), bounded(1), bounded(2), bounded(1).free_stale_reads()];
        for (number, config) in configs.into_iter().enumerate() {
            let Some(all) = outcomes(config.clone().without_reduction(), &threads, 20_000) else { continue };
            let reduced = outcomes(config, &threads, 100_000);
            assert_eq!(reduced, Some(all), "seed {seed}, search {number}: {threads:?}");
            compared += 1;
        }
    }
    assert!(compared as u64 > programs, "{compared}");
}

#[test]
fn what_goes_wrong_is_found_and_replayed_whichever_search_comes_to_it() {
    let seed = std::env::var("FIRST_SEED").map_or(1, |seed| seed.parse().unwrap());
    let programs = std::env::var("PROGRAMS").map_or(40, |programs| programs.parse().unwrap());
    let mut found = 0;
    for seed in seed..seed + programs {
        let mut rng = fastrand::Rng::with_seed(seed);
        let threads = program(&mut rng);
        let config = Config::new().preemptions(1);
        let Some(all) = outcomes(config.clone().free_stale_reads(), &threads, 3_000) else { continue };
        let wrong = all.iter().nth(rng.usize(..all.len())).unwrap();
        let goes_wrong = || assert!(run(&threads) != *wrong, "it goes wrong");
        let report = config.as_loom().explore(goes_wrong);
        assert!(report.failure().is_some_and(|text| text.contains("it goes wrong")), "seed {seed}: {report}");
        let again = std::panic::catch_unwind(|| fabius::replay(report.replay.as_deref().unwrap(), goes_wrong));
        let message = *again.unwrap_err().downcast::<String>().unwrap();
        assert!(message.contains("it goes wrong"), "seed {seed}: {message}");
        found += 1;
    }
    assert!(found > programs / 2, "{found}");
}

#[test]
fn a_fence_that_is_in_order_with_nothing_costs_no_execution() {
    let executions = |makes_fence: fn()| {
        let report = Config::new().preemptions(2).without_reduction().free_stale_reads().explore(|| {
            let words = Arc::new([0, 0].map(AtomicUsize::new));
            let goes = |_| {
                let words = words.clone();
                thread::spawn(move || {
                    words[0].fetch_add(1, Relaxed);
                    makes_fence();
                    words[1].fetch_add(1, Relaxed);
                })
            };
            let both = [0, 1].map(goes);
            both.into_iter().for_each(|thread| thread.join().unwrap());
        });
        assert!(!report.is_bug() && report.executions < 100, "{report}");
        report.executions
    };
    assert_eq!(executions(|| fence(SeqCst)), executions(|| ()));
}
