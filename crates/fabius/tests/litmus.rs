//! Litmus tests under sequential consistency: exactly which outcomes there are, and how many preemptions each one takes.
//!
//! The first thread only spawns and joins the others. So without a preemption the others run one after another, in any
//! order. With one, a single thread is interrupted once, and as long as it waits, others run as a whole; it may come back
//! after any of them. An outcome is written as what the threads read, in their order, and then what the variables are in the
//! end, where that matters. Accesses are relaxed, and sequential consistency is asked for.

use fabius::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use fabius::sync::{Arc, Mutex};
use fabius::{Config, Verdict, thread};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug)]
enum Op {
    R(usize),
    W(usize, usize),
}

use Op::{R, W};

const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;

/// The threads, and how many variables are looked at in the end.
type Program<'a> = (&'a [&'a [Op]], usize);

fn run((threads, finals): Program<'_>) -> String {
    let memory = Arc::new([0; 3].map(AtomicUsize::new));
    let all: Vec<_> = threads
        .iter()
        .map(|ops| {
            let (memory, ops) = (memory.clone(), ops.to_vec());
            thread::spawn(move || {
                let mut seen = String::new();
                for op in ops {
                    match op {
                        R(x) => seen += &memory[x].load(Relaxed).to_string(),
                        W(x, value) => memory[x].store(value, Relaxed),
                    }
                }
                seen
            })
        })
        .collect();
    let seen: String = all.into_iter().map(|t| t.join().unwrap()).collect();
    seen + &memory[..finals].iter().map(|x| x.load(Relaxed).to_string()).collect::<String>()
}

#[track_caller]
fn explored(config: Config, test: impl Fn() -> String + Sync) -> BTreeSet<String> {
    let seen = std::sync::Mutex::new(BTreeSet::new());
    let report = config.explore(|| {
        let outcome = test();
        if !fabius::extend::is_cut() {
            seen.lock().unwrap().insert(outcome);
        }
    });
    assert!(!report.is_bug(), "{}", report.failure().unwrap_or_default());
    seen.into_inner().unwrap()
}

/// A state of a program as it is interleaved by hand.
#[derive(Clone)]
struct Point {
    at: Vec<usize>,
    seen: Vec<String>,
    memory: [usize; 3],
    last: Option<usize>,
    preemptions: u32,
}

/// What sequential consistency says: all interleavings, one by one, each outcome with the least number of preemptions.
fn by_definition((threads, finals): Program<'_>) -> BTreeMap<String, u32> {
    let count = threads.len();
    let start =
        Point { at: vec![0; count], seen: vec![String::new(); count], memory: [0; 3], last: None, preemptions: 0 };
    let mut outcomes = BTreeMap::new();
    let mut todo = vec![start];
    while let Some(point) = todo.pop() {
        let goes_on = |t: usize| point.at[t] < threads[t].len();
        if !(0..count).any(goes_on) {
            let ends: String = point.memory[..finals].iter().map(usize::to_string).collect();
            let least = outcomes.entry(point.seen.concat() + &ends).or_insert(u32::MAX);
            *least = point.preemptions.min(*least);
        }
        for t in (0..count).filter(|t| goes_on(*t)) {
            let mut next = point.clone();
            match threads[t][point.at[t]] {
                R(x) => next.seen[t] += &point.memory[x].to_string(),
                W(x, value) => next.memory[x] = value,
            }
            next.at[t] += 1;
            next.preemptions += u32::from(point.last.is_some_and(|last| last != t && goes_on(last)));
            next.last = Some(t);
            todo.push(next);
        }
    }
    outcomes
}

fn at_random() -> [Config; 5] {
    let new = || Config::new().sequentially_consistent();
    [new().random(500), new().pct(3, 500), new().pos(500), new().urw(500), new().surw(500)]
}

/// The outcomes are those that take no preemption, those that take one, and those that take two.
#[track_caller]
fn litmus(program: Program<'_>, take: [&str; 3]) {
    let mut expected: BTreeSet<String> = BTreeSet::new();
    for (k, outcomes) in (0..).zip(take) {
        for outcome in outcomes.split_whitespace() {
            assert!(expected.insert(outcome.to_string()), "{outcome} is written twice");
        }
        let config = Config::new().sequentially_consistent().preemptions(k);
        assert_eq!(explored(config.clone(), || run(program)), expected, "{k} preemptions");
        assert_eq!(explored(config.without_reduction(), || run(program)), expected, "{k} preemptions, plain");
    }
    let new = || Config::new().sequentially_consistent();
    for config in [new().exhaustive(), new().exhaustive().without_reduction(), new().iterative_preemptions()] {
        assert_eq!(explored(config.clone(), || run(program)), expected, "{config:?}");
        assert_eq!(config.explore(|| drop(run(program))).verdict, Verdict::Verified);
    }
    for config in at_random() {
        let seen = explored(config.clone(), || run(program));
        assert!(seen.len() > 1 && seen.is_subset(&expected), "{config:?} {seen:?}");
    }
    assert_eq!(explored(new().random(2_000), || run(program)), expected, "at random, often enough");
    assert_eq!(explored(new().delays(0), || run(program)).len(), 1, "without a delay there is one schedule");
}

#[test]
fn store_buffering() {
    // Whoever runs last sees the other's store. One is interrupted after its store: both do. That neither does is a cycle.
    litmus((&[&[W(X, 1), R(Y)], &[W(Y, 1), R(X)]], 0), ["01 10", "11", ""]);
}

#[test]
fn store_buffering_in_a_ring() {
    // Each of the six orders lets at least one and at most two see their neighbour. All three do if the first is interrupted
    // after its store, and the last and the middle one run in between.
    let ring: Program<'_> = (&[&[W(X, 1), R(Y)], &[W(Y, 1), R(Z)], &[W(Z, 1), R(X)]], 0);
    litmus(ring, ["001 010 100 011 101 110", "111", ""]);
}

#[test]
fn message_passing() {
    // The message but not the flag, where either thread is interrupted once. The flag without the message never is.
    litmus((&[&[W(X, 1), W(Y, 1)], &[R(Y), R(X)]], 0), ["00 11", "01", ""]);
}

#[test]
fn load_buffering() {
    // The second one in order sees the first one's store; neither sees one if the first is interrupted after its load.
    litmus((&[&[R(X), W(Y, 1)], &[R(Y), W(X, 1)]], 0), ["01 10", "00", ""]);
}

#[test]
fn independent_reads_of_independent_writes() {
    // In a row, each reader sees the memory of one moment: with x first, the readers may see 00, 10, 11 of (x, y), each
    // where it wants; with y first, 00, 01, 11. The second one reads y first, so it is written the other way round: that
    // makes 9 and 9 outcomes, of which 4 are the same. What is left of 16 is 0101, where both see the other's variable
    // first as 0 and then 1, for which the first reader is interrupted, and 1010, where the readers disagree.
    let program: Program<'_> = (&[&[W(X, 1)], &[W(Y, 1)], &[R(X), R(Y)], &[R(Y), R(X)]], 0);
    litmus(program, ["0000 0001 0011 1000 1001 1011 1100 1101 1111 0010 0100 0110 0111 1110", "0101", ""]);
}

#[test]
fn two_threads_that_write_both_variables() {
    // Of x and y in the end: the second one in order wins both with its values, 2 where it writes second. Interrupted in
    // the middle, both second writes win. For both first writes to win, each would have to come after the other's second.
    litmus((&[&[W(X, 1), W(Y, 2)], &[W(Y, 1), W(X, 2)]], 2), ["21 12", "22", ""]);
}

#[test]
fn a_write_that_is_read_and_passed_on() {
    // Six orders, six outcomes. 001 needs the last thread to look before and after the first one's write, the second
    // thread before it: either is interrupted. 110 would be effect without cause.
    let program: Program<'_> = (&[&[W(X, 1)], &[R(X), W(Y, 1)], &[R(Y), R(X)]], 0);
    litmus(program, ["111 101 011 010 100 000", "001", ""]);
}

#[test]
fn reads_of_one_variable_follow_its_writes() {
    // A reader sees a change only if it is interrupted in between.
    litmus((&[&[W(X, 1)], &[R(X), R(X)]], 0), ["00 11", "01", ""]);
    // 02 is the reader interrupted, 11 the writer; for 01 and 12 both have to be, and 10, 20, 21 go back in time.
    litmus((&[&[W(X, 1), W(X, 2)], &[R(X), R(X)]], 0), ["00 22", "02 11", "01 12"]);
}

#[test]
fn two_readers_agree_on_the_order_of_two_writes() {
    // A reader that sees no change need not be interrupted, and the other way round: 3 times 3 pairs are of no change.
    // There are four changes, 01, 02, 12, 21, that one reader may see while the other sees none: 2 times 4 times 3. Both
    // see one in 4 times 4 ways, but for those where one sees 1 before 2, and the other 2 before 1.
    let program: Program<'_> = (&[&[W(X, 1)], &[W(X, 2)], &[R(X), R(X)], &[R(X), R(X)]], 0);
    let none = "0000 0011 0022 1100 1111 1122 2200 2211 2222";
    let one = "0100 0111 0122 0200 0211 0222 1200 1211 1222 2100 2111 2122 \
               0001 1101 2201 0002 1102 2202 0012 1112 2212 0021 1121 2221";
    let both = "0101 0102 0112 0121 0201 0202 0212 0221 1201 1202 1212 2101 2102 2121";
    litmus(program, [none, one, both]);
}

#[test]
fn the_last_write_of_a_variable_stays() {
    // The own writes of a thread are in order whatever others do to another variable.
    litmus((&[&[W(X, 1), W(X, 2)], &[R(X), W(Y, 1)]], 2), ["021 221", "121", ""]);
    // Read after write: its own value or a newer one, which is then also the last.
    litmus((&[&[W(X, 1), R(X)], &[W(X, 2)]], 1), ["12 11", "22", ""]);
    // Write after read: 0 is read, and the other one writes before or after; or the other's is read, and is gone.
    litmus((&[&[R(X), W(X, 1)], &[W(X, 2)]], 1), ["02 21", "01", ""]);
}

#[test]
fn any_program_has_the_outcomes_that_its_interleavings_have() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut taken = [0; 3];
    for number in 0..150 {
        let count = rng.usize(2..=3);
        let threads: Vec<Vec<Op>> = (0..count)
            .map(|_| {
                let length = rng.usize(1..=6 - count);
                (0..length)
                    .map(|_| if rng.bool() { R(rng.usize(..2)) } else { W(rng.usize(..2), rng.usize(1..4)) })
                    .collect()
            })
            .collect();
        let threads: Vec<&[Op]> = threads.iter().map(Vec::as_slice).collect();
        let program: Program<'_> = (&threads, 2);
        let expected = by_definition(program);
        let all: BTreeSet<String> = expected.keys().cloned().collect();
        assert_eq!(
            explored(Config::new().sequentially_consistent().exhaustive(), || run(program)),
            all,
            "{number}: {threads:?}"
        );
        for k in 0..3 {
            let within = || expected.iter().filter(|(_, least)| **least <= k).map(|(outcome, _)| outcome.clone());
            let seen = explored(Config::new().sequentially_consistent().preemptions(k), || run(program));
            assert_eq!(seen, within().collect(), "{number}, {k} preemptions: {threads:?}");
            taken[k as usize] += expected.values().filter(|least| **least == k).count();
        }
        for config in at_random() {
            assert!(explored(config.executions(100), || run(program)).is_subset(&all), "{number}: {threads:?}");
        }
    }
    assert!(taken.iter().all(|outcomes| *outcomes > 50), "programs of all kinds: {taken:?}");
}

#[test]
fn a_step_under_a_lock_is_not_divided() {
    // Store buffering with both operations under a lock, and with a lock for each of them.
    let test = |together: bool| {
        let shared = Arc::new(Mutex::new([0, 0]));
        let all = [0, 1].map(|own| {
            let shared = shared.clone();
            thread::spawn(move || {
                let mut both = shared.lock().unwrap();
                both[own] = 1;
                if !together {
                    drop(both);
                    both = shared.lock().unwrap();
                }
                both[1 - own].to_string()
            })
        });
        all.map(|t| t.join().unwrap()).concat()
    };
    for (together, expected) in [(true, &["01", "10"][..]), (false, &["01", "10", "11"])] {
        let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
        for config in [
            Config::new().sequentially_consistent().exhaustive(),
            Config::new().sequentially_consistent().iterative_preemptions(),
            Config::new().sequentially_consistent().random(200),
        ] {
            assert_eq!(explored(config, || test(together)), expected);
        }
        assert_eq!(explored(Config::new().sequentially_consistent().preemptions(0), || test(together)).len(), 2);
    }
}
