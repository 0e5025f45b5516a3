//! Executions under weak memory that are known by their graphs, and what loom leaves out of them.

use fabius::sync::Arc;
use fabius::sync::atomic::AtomicUsize;
use fabius::sync::atomic::Ordering::Relaxed;
use fabius::{Config, Verdict, thread};

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
    assert!(whole.executions < 16_384 && !whole.to_string().contains("as loom"), "{whole}");
    let most = Config::new().preemptions(1).as_loom().explore(stores_late(5));
    let said = most.to_string();
    assert!(matches!(most.verdict, Verdict::NoBugWithinBounds { .. }), "{said}");
    assert!(said.contains("within 1 preemption,") && said.contains("but as loom without"), "{said}");
    assert!(said.contains("(all were explored within 0)"), "{said}");
    let unbounded = Config::new().exhaustive().as_loom().explore(stores_late(3));
    let said = unbounded.to_string();
    assert!(matches!(unbounded.verdict, Verdict::NoBugWithinBounds { .. }), "{said}");
    assert!(said.contains("but as loom without"), "{said}");
    let asked_for = Config::new().preemptions(1).free_stale_reads().explore(stores_late(5));
    assert!(asked_for.executions > most.executions && !asked_for.to_string().contains("as loom"), "{asked_for}");
}
