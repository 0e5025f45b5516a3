//! What `fabius compare` draws of Rust tests.

use fabius::sync::atomic::{AtomicUsize, Ordering};
use fabius::{Bound, Config, thread};
use fabius_trace::{Comparison, Counted};
use std::sync::Arc;

/// Two threads that read and then write: 6 orders, 4 of which differ in what happened before what.
fn increments(atomically: bool) -> impl Fn() + Sync {
    move || {
        let counter = Arc::new(AtomicUsize::new(0));
        let add = move |counter: &AtomicUsize| match atomically {
            true => drop(counter.fetch_add(1, Ordering::SeqCst)),
            false => counter.store(counter.load(Ordering::SeqCst) + 1, Ordering::SeqCst),
        };
        let theirs = counter.clone();
        let other = thread::spawn(move || add(&theirs));
        add(&counter);
        other.join().unwrap();
        assert_eq!(counter.load(Ordering::SeqCst), 2);
    }
}

fn measured(name: &str, ways: &[Config], test: impl Fn() + Sync) -> fabius_trace::Compared {
    let path = fabius::compare(name, ways, test).unwrap();
    let comparison: Comparison = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let [compared] = <[_; 1]>::try_from(comparison.programs).unwrap();
    assert_eq!((compared.name.as_str(), compared.counted), (name, Counted::Classes));
    compared
}

#[test]
fn the_bug_is_the_end_of_every_curve() {
    let new = Config::new;
    let seeds = (0..5).map(|seed| new().random(50).seed(seed));
    let ways: Vec<Config> =
        [new(), new().delays(3), new().delays_depth_first(3), new().exhaustive()].into_iter().chain(seeds).collect();
    let compared = measured("compare: a lost update", &ways, increments(false));
    let names: Vec<&str> = compared.strategies.iter().map(|s| s.strategy.as_str()).collect();
    assert_eq!(names, ["icb", "delay:round-robin", "delay:depth-first", "exhaustive", "random"]);
    assert_eq!(
        compared.strategies[4].runs.iter().map(|r| r.seed).collect::<Vec<_>>(),
        (0..5).map(Some).collect::<Vec<_>>()
    );
    for strategy in &compared.strategies {
        for run in &strategy.runs {
            assert!(run.bug.is_some() && !run.exhausted, "{strategy:?}");
            assert_eq!(run.growth.last().map(|g| g.executions), Some(run.executions), "{strategy:?}");
        }
    }
    let least = |at: usize| compared.strategies[at].coverage.as_ref().and_then(|c| c.bug_cost);
    assert_eq!((least(0), least(1), least(3)), (Some(1), Some(1), None));
}

#[test]
fn all_classes_are_counted() {
    let ways = [Config::new(), Config::new().exhaustive(), Config::new().without_reduction(), Config::new().pos(200)];
    let compared = measured("compare: no lost update", &ways, increments(true));
    assert_eq!(compared.total(), Some(2));
    for strategy in &compared.strategies {
        assert_eq!(strategy.distinct_after(1000).map(|s| s.median), Some(2), "{strategy:?}");
    }
    let icb = &compared.strategies[0];
    let coverage = icb.coverage.as_ref().unwrap();
    assert_eq!((icb.bound, coverage.exhausted, coverage.bug_cost), (Bound::Preemptions, true, None));
    assert_eq!(coverage.completed, coverage.levels.last().map(|l| l.bound));
    assert_eq!(compared.strategies[2].strategy, "icb without reduction");
}

#[test]
fn configurations_that_differ_in_more_than_their_seed_are_told_apart() {
    let new = Config::new;
    let ways = [new().preemptions(1), new().random(20).seed(7), new().random(30).seed(8), new().random(20), new()];
    let compared = measured("compare: told apart", &ways, increments(true));
    let names: Vec<(&str, usize)> = compared.strategies.iter().map(|s| (s.strategy.as_str(), s.runs.len())).collect();
    assert_eq!(names, [("icb", 1), ("random", 2), ("random (2)", 1), ("icb (2)", 1)]);
}

#[test]
fn classes_are_counted_as_long_as_was_asked() {
    let curve = |config: Config| {
        let report = config.explore(increments(true));
        assert!(!report.is_bug(), "{report}");
        (report.executions + report.walks, report.growth.last().copied(), report.levels.last().map(|l| l.states))
    };
    for config in [Config::new().random(100), Config::new().pct(3, 100), Config::new().urw(100)] {
        let (executions, end, _) = curve(config.clone());
        assert_eq!((executions, end.map(|g| (g.executions, g.distinct))), (100, Some((100, 2))));
        let (executions, end, _) = curve(config.clone().count_classes_in_first(1));
        assert_eq!((executions, end.map(|g| (g.executions, g.distinct))), (100, Some((1, 1))));
        let (executions, end, _) = curve(config.count_classes_in_first(0));
        assert_eq!((executions, end), (100, None));
    }
    for config in [Config::new().exhaustive(), Config::new().preemptions(5), Config::new().delays(5)] {
        let config = config.without_reduction();
        let (all, end, states) = curve(config.clone());
        assert_eq!((end.map(|g| (g.executions, g.distinct)), states), (Some((all, 2)), Some(2)));
        let (executions, end, states) = curve(config.clone().count_classes_in_first(all));
        assert_eq!((executions, end.map(|g| g.executions), states), (all, Some(all), Some(2)));
        let (executions, end, states) = curve(config.count_classes_in_first(all - 1));
        assert_eq!((executions, end.map(|g| g.executions), states), (all, Some(all - 1), Some(0)));
    }
    // Where the search needs them, all are counted.
    let (executions, end, states) = curve(Config::new().preemptions(5).count_classes_in_first(0));
    assert_eq!((end.map(|g| (g.executions, g.distinct)), states), (Some((executions, 2)), Some(2)));
}

/// Four threads that read and then write: the first begins the second and the fourth, and the second begins the third.
fn nested_increments() {
    fn add(counter: &AtomicUsize) {
        counter.store(counter.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
    }
    let counter = Arc::new(AtomicUsize::new(0));
    let (second, fourth) = (counter.clone(), counter.clone());
    let second = thread::spawn(move || {
        let third = second.clone();
        let third = thread::spawn(move || add(&third));
        add(&second);
        third.join().unwrap();
    });
    let fourth = thread::spawn(move || add(&fourth));
    add(&counter);
    second.join().unwrap();
    fourth.join().unwrap();
    assert_eq!(counter.load(Ordering::SeqCst), 4);
}

#[test]
fn what_fails_is_the_same_whether_classes_are_counted_or_not() {
    fn compare(config: &Config, test: impl Fn() + Sync) -> (String, u64) {
        let counted = config.clone().explore(&test);
        let other = config.clone().count_classes_in_first(0).explore(&test);
        let replay = counted.replay.clone().expect("it fails");
        assert_eq!(
            (other.replay.as_ref(), other.executions, other.walks),
            (Some(&replay), counted.executions, counted.walks),
            "{config:?}\n{counted}\n{other}"
        );
        assert_eq!(other.trace().unwrap().cost, counted.trace().unwrap().cost, "{config:?}");
        (replay, counted.executions + counted.walks)
    }
    let all =
        [Config::new().random(500), Config::new().pct(3, 500), Config::new().urw(500), Config::new().exhaustive()];
    for config in all.into_iter().chain([Config::new().preemptions(3), Config::new().delays(3)]) {
        let config = config.without_reduction();
        compare(&config, increments(false));
        compare(&config, nested_increments);
    }
}
