//! Exact counts of executions: how many there are with so many preemptions, how many differ in what happens before what,
//! and the bounds that the papers give for them.

use fabius_explore::search::{Monitor, Options};
use fabius_explore::stateless;
use fabius_machine::Machine;
use fabius_trace::{Bound, Points, SchedulerKind};
use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// A complete execution: cost, happens-before relation, steps.
type Execution = (u32, Option<u128>, u32);

fn executions(source: &str, options: &Options) -> Vec<Execution> {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let found = Mutex::new(Vec::new());
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    stateless::search(&Machine::new(&program, Points::All), options, &monitor, &|complete| {
        let execution = (complete.cost, complete.signature, complete.steps);
        found.lock().expect("no worker has panicked").push(execution);
    });
    found.into_inner().expect("no worker has panicked")
}

fn readers_and_writers(threads: usize) -> String {
    let bodies = (0..threads).map(|t| format!("process p{t}[1] {{ let r = x; x = 1; }}\n"));
    "sync var x: int;\n".to_string() + &bodies.collect::<String>()
}

#[test]
fn happens_before_relations_of_threads_that_read_and_then_write() {
    let known: [(usize, &[usize]); 3] = [(2, &[2, 4]), (3, &[6, 24, 36]), (4, &[24, 168, 432, 576])];
    for (threads, expected) in known {
        for jobs in [1, 2] {
            let all = executions(&readers_and_writers(threads), &Options { jobs, ..Options::default() });
            let up_to = |k: u32| {
                let relations = all.iter().filter(|(cost, ..)| *cost <= k).map(|(_, signature, _)| *signature);
                relations.collect::<HashSet<Option<u128>>>().len()
            };
            let found: Vec<usize> = (0..expected.len() as u32).map(up_to).collect();
            assert_eq!(found, expected, "{threads} threads");
            assert_eq!(up_to(u32::MAX), expected[expected.len() - 1], "no relation needs more preemptions");
        }
    }
}

/// A search that pauses after each few executions is the search that does not.
#[test]
fn what_pauses_goes_on_as_if_it_had_not() {
    let bug = "sync var x: int;\nprocess p[1] { x = 1; x = 2; x = 3; }\nprocess q[1] { let a = x; let b = x; assert a == 0 || b == a; }\n";
    for (source, at_first_bug) in [(readers_and_writers(3), false), (straight(2, 4), false), (bug.into(), true)] {
        let program = fabius_lang::compile(&source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
        let machine = Machine::new(&program, Points::All);
        let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
        for max in [None, Some(0), Some(1), Some(2)] {
            let options = Options { max, at_first_bug, ..Options::default() };
            let whole = stateless::search(&machine, &options, &monitor, &|_| {});
            for few in [1, 2, 7, 64] {
                let mut search = stateless::begin(&machine, &options, &monitor, &|_| {});
                let mut until = few;
                while search.go_on_to(Some(until)) {
                    assert_eq!(search.executions(), until, "{source}");
                    until += few;
                }
                let paused = search.outcome();
                assert_eq!(
                    format!("{paused:?}"),
                    format!("{whole:?}"),
                    "at most {max:?}, pauses after {few}\n{source}"
                );
            }
        }
    }
}

fn factorial(n: u64) -> f64 {
    (1..=n).map(|i| i as f64).product()
}

fn binomial(n: u64, k: u64) -> f64 {
    if k > n { 0.0 } else { (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product() }
}

/// Threads of so many steps each, none of which blocks.
fn straight(threads: u64, steps: u64) -> String {
    let body = "x = 1; ".repeat(steps as usize);
    let all = (0..threads).map(|t| format!("process p{t}[1] {{ {body} }}\n"));
    "var x: int;\n".to_string() + &all.collect::<String>()
}

#[test]
fn executions_of_straight_threads_are_as_many_as_the_papers_say() {
    for (n, k) in [(2, 1), (2, 3), (2, 5), (3, 2), (3, 3), (4, 2)] {
        let all = executions(&straight(n, k), &Options::default());
        let exact = factorial(n * k) / factorial(k).powi(n as i32);
        assert_eq!(all.len() as f64, exact, "{n} threads of {k} steps");
        let mut by_cost: BTreeMap<u32, u64> = BTreeMap::new();
        all.iter().for_each(|(cost, ..)| *by_cost.entry(*cost).or_default() += 1);
        for (c, count) in by_cost {
            // Blocking at the end counts as one blocking step.
            let bound = binomial(n * k, c.into()) * factorial(n + u64::from(c));
            assert!(count as f64 <= bound, "{n} threads of {k} steps, {c} preemptions: {count} > {bound}");
        }
    }
}

#[test]
fn executions_with_delays_are_at_most_as_many_as_the_papers_say() {
    for scheduler in [SchedulerKind::RoundRobin, SchedulerKind::DepthFirst] {
        for (n, k) in [(2, 3), (3, 2), (3, 3)] {
            for delays in 0..=3 {
                let max = Some(delays);
                let options = Options { bound: Bound::Delays, max, scheduler, ..Options::default() };
                let all = executions(&straight(n, k), &options);
                let dispatches = all.iter().map(|(_, _, steps)| u64::from(*steps)).max().unwrap_or(0);
                let bound = binomial(dispatches + u64::from(delays), delays.into());
                assert!(all.len() as f64 <= bound, "{scheduler:?} {n} {k} {delays}: {} > {bound}", all.len());
                assert!(all.iter().all(|(cost, ..)| *cost <= delays));
            }
        }
    }
}
