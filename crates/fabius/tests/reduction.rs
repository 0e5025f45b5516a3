//! Leaving out executions loses no outcome: on random programs, all searches reach the same sets of outcomes, at each bound
//! and without one; and without a bound no happens-before relation is run twice.
//!
//! Length: all reductions are compared on the same programs, which three generators make.

use fabius::sync::atomic::{AtomicU32, Ordering::SeqCst};
use fabius::sync::{Barrier, Condvar, Mutex, Once, RwLock, mpsc};
use fabius::{Config, Report, thread};
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
enum Op {
    Load(usize),
    Store(usize, u32),
    Add(usize),
    Swap(usize, u32),
    Exchange(usize, u32, u32),
    Locked(usize, usize),
    TryLocked(usize, usize),
    ReadLocked(usize),
    WriteLocked(usize),
    Send(u32),
    TryReceive,
    Once,
    Choose,
    /// Another thread adds 2, and is joined at the end.
    Child(usize),
    /// The next is left out unless the thread has seen this value there.
    OnlyIf(usize, u32),
}

fn random(rng: &mut fastrand::Rng) -> Vec<Vec<Op>> {
    let threads = rng.usize(2..=3);
    let most = if threads == 2 { 4 } else { 2 };
    (0..threads)
        .map(|_| {
            (0..rng.usize(1..=most))
                .map(|_| {
                    let (x, v) = (rng.usize(..2), rng.u32(1..4));
                    match rng.u8(..16) {
                        0..=2 => Op::Load(x),
                        3 | 4 => Op::Store(x, v),
                        5 | 6 => Op::Add(x),
                        7 => Op::Exchange(x, rng.u32(..2), v),
                        8 | 9 => Op::Locked(rng.usize(..2), x),
                        10 if rng.bool() => Op::TryLocked(rng.usize(..2), x),
                        10 => Op::OnlyIf(rng.usize(..2), rng.u32(..3)),
                        11 => Op::ReadLocked(x),
                        12 => Op::WriteLocked(x),
                        13 => Op::Send(v),
                        14 => Op::TryReceive,
                        _ => [Op::Once, Op::Choose, Op::Child(x)][rng.usize(..3)],
                    }
                })
                .collect()
        })
        .collect()
}

#[derive(Default)]
struct Shared {
    atomics: [AtomicU32; 2],
    locks: [Mutex<u32>; 2],
    table: RwLock<u32>,
    once: Once,
}

fn run(
    ops: &[Op],
    shared: &Arc<Shared>,
    sender: &mpsc::Sender<u32>,
    receiver: &Mutex<mpsc::Receiver<u32>>,
) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut children = Vec::new();
    let mut left_out = false;
    for op in ops {
        if std::mem::take(&mut left_out) {
            continue;
        }
        seen.push(match *op {
            Op::Load(x) => shared.atomics[x].load(SeqCst),
            Op::Store(x, v) => {
                shared.atomics[x].store(v, SeqCst);
                0
            }
            Op::Add(x) => shared.atomics[x].fetch_add(1, SeqCst),
            Op::Swap(x, v) => shared.atomics[x].swap(v, SeqCst),
            Op::OnlyIf(n, v) => {
                left_out = seen.get(n) != Some(&v);
                u32::from(left_out)
            }
            Op::Exchange(x, a, b) => shared.atomics[x].compare_exchange(a, b, SeqCst, SeqCst).map_or(9, |v| v),
            Op::Locked(l, x) => {
                let mut guard = shared.locks[l].lock().unwrap();
                *guard = *guard * 2 + shared.atomics[x].load(SeqCst) + 1;
                *guard
            }
            Op::TryLocked(l, x) => match shared.locks[l].try_lock() {
                Ok(mut guard) => {
                    *guard += 1;
                    shared.atomics[x].store(*guard, SeqCst);
                    *guard
                }
                Err(_) => 99,
            },
            Op::ReadLocked(x) => *shared.table.read().unwrap() + shared.atomics[x].load(SeqCst),
            Op::WriteLocked(x) => {
                let mut table = shared.table.write().unwrap();
                *table += 1 + shared.atomics[x].load(SeqCst);
                *table
            }
            Op::Send(v) => {
                sender.send(v).unwrap();
                0
            }
            Op::TryReceive => receiver.lock().unwrap().try_recv().unwrap_or(77),
            Op::Once => {
                let mut mine = 0;
                shared.once.call_once(|| {
                    mine = 1;
                    shared.atomics[0].fetch_add(5, SeqCst);
                });
                mine
            }
            Op::Choose => fabius::any(2),
            Op::Child(x) => {
                let shared = shared.clone();
                children.push(thread::spawn(move || shared.atomics[x].fetch_add(2, SeqCst)));
                0
            }
        });
    }
    seen.extend(children.into_iter().map(|child| child.join().unwrap()));
    seen
}

type Outcome = Vec<Vec<u32>>;

/// How an execution begins. Variables have numbers from their first use on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// All variables are used before there are other threads.
    Touched,
    Untouched,
}

fn outcomes(program: &[Vec<Op>], config: Config) -> (BTreeSet<Outcome>, Report) {
    outcomes_from(Begin::Untouched, program, config)
}

fn outcomes_from(begin: Begin, program: &[Vec<Op>], config: Config) -> (BTreeSet<Outcome>, Report) {
    let found = std::sync::Mutex::new(BTreeSet::new());
    let report = config.explore(|| {
        let shared = Arc::new(Shared::default());
        if begin == Begin::Touched {
            shared.atomics.iter().for_each(|a| a.store(0, SeqCst));
        }
        let (sender, receiver) = mpsc::channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let mut results = Vec::new();
        let (last, others) = program.split_last().unwrap();
        let threads: Vec<_> = others
            .iter()
            .map(|ops| {
                let (ops, shared, sender, receiver) = (ops.clone(), shared.clone(), sender.clone(), receiver.clone());
                thread::spawn(move || run(&ops, &shared, &sender, &receiver))
            })
            .collect();
        results.push(run(last, &shared, &sender, &receiver));
        results.extend(threads.into_iter().map(|t| t.join().unwrap()));
        results.push(shared.atomics.iter().map(|a| a.load(SeqCst)).collect());
        if !fabius::extend::is_cut() {
            found.lock().unwrap().insert(results);
        }
    });
    assert!(!report.is_bug(), "{report} {program:?}");
    (found.into_inner().unwrap(), report)
}

fn on_random_programs(seeds: std::ops::Range<u64>) {
    let mut saved = 0.0;
    let mut programs = 0;
    for seed in seeds {
        let program = random(&mut fastrand::Rng::with_seed(seed));
        let long = Config::new().max_steps(1000);
        let (all, plain) = outcomes(
            &program,
            long.clone().exhaustive().without_reduction().executions(30_000).count_classes_in_first(30_000),
        );
        if plain.verdict != fabius::Verdict::Verified {
            continue;
        }
        programs += 1;
        let (by_sources, sources) = outcomes(&program, long.clone().exhaustive());
        assert_eq!(by_sources, all, "{seed} sources {program:?}");
        let (by_classes, classes) = outcomes(&program, long.clone().iterative_preemptions());
        assert_eq!(by_classes, all, "{seed} classes {program:?}");
        let relations = |r: &Report| r.levels.last().unwrap().states;
        assert_eq!(relations(&sources), relations(&plain), "{seed} {program:?}");
        assert_eq!(relations(&classes), relations(&plain), "{seed} {program:?}");
        assert!(classes.executions <= plain.executions, "{seed} {program:?}");
        saved += plain.executions as f64 / sources.executions as f64;
        for k in 0..3 {
            let config = long.clone().preemptions(k);
            let reduced = if seed % 2 == 0 { config.clone().persistent_sets() } else { config.clone() };
            let (with, _) = outcomes(&program, reduced);
            let (without, _) = outcomes(&program, config.without_reduction());
            assert_eq!(with, without, "{seed} {k} preemptions {program:?}");
        }
    }
    assert!(programs > 20 && saved / f64::from(programs) > 2.0, "{programs} programs, {saved}");
}

/// Threads, each with an exchange of the same variable.
fn exchanges(threads: u32, from_to: fn(u32) -> (u32, u32)) -> Report {
    Config::new().exhaustive().explore(|| {
        let x = Arc::new(AtomicU32::new(0));
        let exchange = |i: u32| {
            let (x, (from, to)) = (x.clone(), from_to(i));
            thread::spawn(move || x.compare_exchange(from, to, SeqCst, SeqCst).ok())
        };
        let threads: Vec<_> = (0..threads).map(exchange).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    })
}

/// As many executions as classes, and so many classes.
fn are_exactly(classes: u64, report: &Report) {
    assert!(report.verdict == fabius::Verdict::Verified, "{report}");
    assert_eq!((report.levels.last().unwrap().states, report.executions), (classes, classes), "{report}");
}

/// Threads that are joined.
fn together(threads: Vec<thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|t| t.join().unwrap());
}

/// The published families of Optimal Dynamic Partial Order Reduction (POPL 2014).
#[test]
fn no_execution_is_in_vain() {
    for (n, classes) in [(5, 64), (7, 320), (10, 3328)] {
        are_exactly(
            classes,
            &Config::new().exhaustive().explore(|| {
                last_zero(n);
            }),
        );
    }
    are_exactly(1024, &Config::new().exhaustive().explore(|| readers(10)));
}

/// A thread looks for the last zero of an array; the others each write one more than what is in front of their place. Where
/// it was found, and what was written last.
fn last_zero(n: usize) -> (usize, u32) {
    let array: Arc<Vec<AtomicU32>> = Arc::new((0..=n).map(|_| AtomicU32::new(0)).collect());
    let shared = array.clone();
    let looks = thread::spawn(move || {
        let mut i = n;
        while shared[i].load(SeqCst) != 0 {
            i -= 1;
        }
        i
    });
    let writes = (1..=n).map(|j| {
        let shared = array.clone();
        thread::spawn(move || shared[j].store(shared[j - 1].load(SeqCst) + 1, SeqCst))
    });
    let writes = writes.collect();
    let at = looks.join().unwrap();
    together(writes);
    (at, array[n].load(SeqCst))
}

fn last_zero_of_seven() {
    last_zero(7);
}

/// A thread writes what all others read.
fn readers(n: usize) {
    seen_by_readers(n);
}

/// The same, with a bit for each reader that comes after the writer.
fn seen_by_readers(n: usize) -> u32 {
    let x = Arc::new(AtomicU32::new(0));
    let shared = x.clone();
    let writer = thread::spawn(move || shared.store(42, SeqCst));
    let readers: Vec<_> = (0..n)
        .map(|_| {
            let shared = x.clone();
            thread::spawn(move || shared.load(SeqCst))
        })
        .collect();
    writer.join().unwrap();
    readers.into_iter().enumerate().map(|(n, r)| u32::from(r.join().unwrap() == 42) << n).sum()
}

/// Within the first bounds there are far more executions than classes without a bound: both are looked at in turns, so that
/// twice as many executions as there are classes are enough, and what one of the two makes alone.
#[test]
fn what_has_few_classes_is_verified_after_twice_as_many_executions() {
    let few: [(&(dyn Fn() + Sync), u64); 3] =
        [(&|| readers(10), 1024), (&last_zero_of_seven, 320), (&|| pairs_of_independent_writes(4), 16)];
    for config in [Config::new(), Config::new().iterative_preemptions()] {
        for (test, classes) in few {
            let report = config.explore(test);
            assert!(report.verdict == fabius::Verdict::Verified && report.walks == 0, "{report}");
            assert!(report.executions <= 2 * classes + classes / 8 + 192, "{classes} classes: {report}");
            assert_eq!(report.levels.last().unwrap().states, classes, "a search that pauses loses nothing: {report}");
        }
    }
}

#[test]
fn both_searches_together_make_no_more_executions_than_asked_for() {
    for most in [1, 2, 127, 128, 129, 300] {
        let report = Config::new().iterative_preemptions().executions(most).explore(|| readers(10));
        assert_eq!(report.executions, most, "{report}");
    }
}

/// Each two threads write one variable.
fn pairs_of_independent_writes(pairs: usize) {
    let array: Arc<Vec<AtomicU32>> = Arc::new((0..pairs).map(|_| AtomicU32::new(0)).collect());
    together(
        (0..2 * pairs)
            .map(|n| {
                let array = array.clone();
                thread::spawn(move || array[n / 2].store(1, SeqCst))
            })
            .collect(),
    );
}

/// A bug that is more executions away in the order of preemptions than without a bound.
#[test]
fn a_bug_that_only_the_search_without_a_bound_meets_is_priced() {
    let test = || assert_ne!(seen_by_readers(12), 0b101_1100_1000);
    let in_order = Config::new().preemptions(9).executions(700).explore(test);
    assert!(!in_order.is_bug(), "{in_order}");
    let report = Config::new().iterative_preemptions().executions(1200).explore(test);
    assert!(report.is_bug() && report.walks == 0, "{report}");
    assert_eq!(report.trace().unwrap().cost, 0, "{report}");
}

/// Within a bound, too, families of few classes take few executions: what conflicts with nobody need not be tried later.
#[test]
fn what_has_few_classes_takes_few_executions_within_a_bound() {
    let few: [(&(dyn Fn() + Sync), u64, u64); 4] = [
        (&|| readers(10), 1024, 1024),
        (&|| pairs_of_independent_writes(4), 16, 16),
        (&|| pairs_of_independent_writes(8), 256, 256),
        (&last_zero_of_seven, 320, 320 * 82),
    ];
    for (test, classes, most) in few {
        let report = Config::new().preemptions(20).persistent_sets().explore(test);
        assert!(report.verdict == fabius::Verdict::Verified && report.executions <= most, "{report}");
        assert_eq!(report.levels.last().unwrap().states, classes, "{report}");
    }
}

/// What an exchange finds says all of an execution: as many classes as there are ways to find something.
#[test]
fn an_exchange_that_fails_is_a_read() {
    for (threads, ways) in [(3, 5), (4, 14), (5, 43), (6, 144), (7, 523)] {
        are_exactly(ways, &exchanges(threads, |i| (i, i + 1)));
    }
    for threads in 3..6 {
        are_exactly(threads.into(), &exchanges(threads, |i| (0, i + 1)));
    }
}

/// Programs of loads, stores, additions and exchanges alone.
fn straight_line(rng: &mut fastrand::Rng) -> Vec<Vec<Op>> {
    let op = |rng: &mut fastrand::Rng| match (rng.usize(..2), rng.u8(..8)) {
        (x, 0..=1) => Op::Load(x),
        (x, 2) => Op::Store(x, rng.u32(1..4)),
        (x, 3) => Op::Add(x),
        (x, 4) => Op::Swap(x, rng.u32(1..4)),
        (n, 5) => Op::OnlyIf(n, rng.u32(..3)),
        (x, _) => Op::Exchange(x, rng.u32(..3), rng.u32(..3)),
    };
    let threads = rng.usize(2..=4);
    (0..threads).map(|_| (0..rng.usize(1..=[0, 0, 4, 3, 2][threads])).map(|_| op(rng)).collect()).collect()
}

/// On straight-line programs there are as many executions as classes, which are as many as in a search without reduction. What
/// is done may depend on what was seen, and an exchange may fail in one order and not in another; there some are in vain.
fn is_optimal(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let program = straight_line(&mut fastrand::Rng::with_seed(seed));
        let long = Config::new().max_steps(1000);
        let (found, report) = outcomes_from(Begin::Touched, &program, long.clone().exhaustive());
        let classes = report.levels.last().unwrap().states;
        let depends = program.iter().flatten().any(|op| matches!(op, Op::Exchange(..) | Op::OnlyIf(..)));
        assert!(
            report.executions == classes || depends && report.executions <= classes * 2,
            "{seed} {report} {classes} {program:?}"
        );
        if report.executions > 200 {
            continue;
        }
        let (untouched, late) = outcomes(&program, long.clone().exhaustive());
        assert_eq!(untouched, found, "{seed} {program:?}");
        assert!(late.executions <= report.executions + report.executions / 10, "{seed} {late} {program:?}");
        let plain = long.exhaustive().without_reduction().executions(30_000).count_classes_in_first(30_000);
        let (all, plain) = outcomes_from(Begin::Touched, &program, plain);
        if plain.verdict == fabius::Verdict::Verified {
            assert_eq!(found, all, "{seed} {program:?}");
            assert_eq!(classes, plain.levels.last().unwrap().states, "{seed} {program:?}");
        }
    }
}

/// What comes behind the second step of a race decides whether another thread could have begun as well: both programs lost
/// classes when only the races were reversed that were new.
#[test]
fn races_are_reversed_again_when_what_follows_is_another() {
    use Op::*;
    let decides = vec![Swap(0, 3), OnlyIf(0, 7), Load(1)];
    let chooses = vec![Swap(0, 2), Choose, OnlyIf(0, 1), Load(1)];
    let programs = [
        vec![vec![Store(1, 1)], vec![Load(1)], decides, vec![Load(0), Store(0, 7)], vec![]],
        vec![vec![Load(1)], vec![Store(1, 1)], vec![Store(0, 1)], chooses, vec![]],
    ];
    for (program, ways) in programs.iter().zip([8, 12]) {
        let (found, report) = outcomes(program, Config::new().exhaustive());
        assert!(report.verdict == fabius::Verdict::Verified, "{report}");
        let (all, _) = outcomes(program, Config::new().iterative_preemptions());
        assert_eq!((found.len(), found), (ways, all), "{program:?}");
    }
}

/// Who comes to what has been done reads, also if that was not done yet when it was announced.
#[test]
fn what_is_done_once_is_read_from_then_on() {
    let program = [vec![Op::Load(1), Op::Once, Op::Add(1)], vec![Op::Once, Op::Once, Op::Load(0)]];
    let classes = |config: Config| outcomes(&program, config).1.levels.last().unwrap().states;
    let ways = [
        Config::new().exhaustive(),
        Config::new().exhaustive().without_reduction(),
        Config::new().iterative_preemptions(),
    ];
    assert_eq!(ways.map(classes), [2; 3]);
}

#[test]
fn straight_line_programs_run_once_for_each_class() {
    is_optimal(0..25);
}

#[test]
#[ignore = "takes minutes"]
fn many_straight_line_programs_run_once_for_each_class() {
    is_optimal(1000..2000);
}

/// So many seeds; where they begin can be said from outside.
fn many(first: u64, count: u64) -> std::ops::Range<u64> {
    let first = std::env::var("FIRST_SEED").map_or(first, |seed| seed.parse().expect("a number"));
    first..first + count
}

#[test]
fn no_outcome_is_lost() {
    on_random_programs(0..60);
}

#[test]
#[ignore = "takes minutes"]
fn no_outcome_is_lost_in_many_programs() {
    on_random_programs(many(1000, 3000));
}

/// What threads of the programs below do; what can make another one wait is among it.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Load(usize),
    Store(usize, u32),
    Add(usize),
    Exchange(usize, u32, u32),
    Locked(usize, usize),
    /// A lock is held while another one is taken.
    Both(usize),
    Shared(usize),
    Alone(usize),
    Send,
    Receive,
    Barrier,
    Notify,
    /// Until somebody has notified, and said so.
    Await,
    /// A thread that adds, and is joined at once, or behind the next step.
    Child(usize),
    Later(usize),
}

fn waiting(rng: &mut fastrand::Rng) -> Vec<Vec<Waiting>> {
    use Waiting::*;
    let threads = rng.usize(2..=4);
    let most = [0, 0, 4, 3, 2][threads];
    let op = |rng: &mut fastrand::Rng| {
        let (x, v) = (rng.usize(..2), rng.u32(1..4));
        match rng.u8(..18) {
            0 | 1 => Load(x),
            2 | 3 => Store(x, v),
            4 => Add(x),
            5 => Exchange(x, rng.u32(..3), v),
            6 | 7 => Locked(rng.usize(..2), x),
            8 => Both(x),
            9 => Shared(x),
            10 => Alone(x),
            11 => Send,
            12 => Receive,
            13 => Barrier,
            14 => Notify,
            15 => Await,
            16 => Child(x),
            _ => Later(x),
        }
    };
    (0..threads).map(|_| (0..rng.usize(1..=most)).map(|_| op(rng)).collect()).collect()
}

#[derive(Default)]
struct Meeting {
    atomics: [AtomicU32; 2],
    locks: [Mutex<u32>; 2],
    table: RwLock<u32>,
    said: Mutex<bool>,
    news: Condvar,
}

fn meet(ops: &[Waiting], all: &Arc<Meeting>, barrier: &Barrier, ends: &Ends) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut later: Option<thread::JoinHandle<u32>> = None;
    let child = |x: usize| {
        let all = all.clone();
        thread::spawn(move || all.atomics[x].fetch_add(2, SeqCst))
    };
    for op in ops {
        let before = later.take();
        seen.push(match *op {
            Waiting::Load(x) => all.atomics[x].load(SeqCst),
            Waiting::Store(x, v) => {
                all.atomics[x].store(v, SeqCst);
                0
            }
            Waiting::Add(x) => all.atomics[x].fetch_add(1, SeqCst),
            Waiting::Exchange(x, a, b) => all.atomics[x].compare_exchange(a, b, SeqCst, SeqCst).map_or(9, |v| v),
            Waiting::Locked(l, x) => {
                let mut guard = all.locks[l].lock().unwrap();
                *guard = *guard * 2 + all.atomics[x].load(SeqCst) + 1;
                *guard
            }
            Waiting::Both(first) => {
                let one = all.locks[first].lock().unwrap();
                let two = all.locks[1 - first].lock().unwrap();
                *one + *two
            }
            Waiting::Shared(x) => {
                let table = all.table.read().unwrap();
                *table + all.atomics[x].load(SeqCst)
            }
            Waiting::Alone(x) => {
                let mut table = all.table.write().unwrap();
                *table += all.atomics[x].load(SeqCst) + 1;
                *table
            }
            Waiting::Send => {
                ends.0.send(1).unwrap();
                0
            }
            Waiting::Receive => ends.1.lock().unwrap().recv().unwrap(),
            Waiting::Barrier => u32::from(barrier.wait().is_leader()),
            Waiting::Notify => {
                *all.said.lock().unwrap() = true;
                all.news.notify_one();
                0
            }
            Waiting::Await => {
                let mut said = all.said.lock().unwrap();
                while !*said {
                    said = all.news.wait(said).unwrap();
                }
                1
            }
            Waiting::Child(x) => child(x).join().unwrap(),
            Waiting::Later(x) => {
                later = Some(child(x));
                0
            }
        });
        seen.extend(before.map(|before| before.join().unwrap()));
    }
    seen.extend(later.map(|later| later.join().unwrap()));
    seen
}

type Ends = (mpsc::Sender<u32>, Mutex<mpsc::Receiver<u32>>);

/// What is seen within so many preemptions, and what is reported.
fn meetings(program: &[Vec<Waiting>], config: Config) -> (BTreeSet<Vec<Vec<u32>>>, Report) {
    let found = std::sync::Mutex::new(BTreeSet::new());
    let report = config.explore(|| {
        let all = Arc::new(Meeting::default());
        let (sender, receiver) = mpsc::channel();
        let ends = Arc::new((sender, Mutex::new(receiver)));
        let barrier = Arc::new(Barrier::new(2));
        let (last, others) = program.split_last().unwrap();
        let threads: Vec<_> = others
            .iter()
            .map(|ops| {
                let (ops, all, barrier, ends) = (ops.clone(), all.clone(), barrier.clone(), ends.clone());
                thread::spawn(move || meet(&ops, &all, &barrier, &ends))
            })
            .collect();
        let mut results = vec![meet(last, &all, &barrier, &ends)];
        results.extend(threads.into_iter().map(|t| t.join().unwrap()));
        results.push(all.atomics.iter().map(|a| a.load(SeqCst)).collect());
        if !fabius::extend::is_cut() {
            found.lock().unwrap().insert(results);
        }
    });
    (found.into_inner().unwrap(), report)
}

/// What is tried at a point is enough: each class is seen at its least cost, and a program that may wait for ever is found out at its
/// least cost, as if all were tried.
fn keeps_least_costs(seeds: std::ops::Range<u64>) -> (u32, u32, [u64; 2]) {
    let (mut programs, mut bugs, mut executions) = (0, 0, [0; 2]);
    for seed in seeds {
        let program = waiting(&mut fastrand::Rng::with_seed(seed));
        // With a largest bound there are no turns.
        let config = Config::new().max_steps(1000).preemptions(50).persistent_sets();
        let (all, plain) = meetings(&program, config.clone().without_reduction().executions(3000));
        if !plain.is_bug() && plain.verdict != fabius::Verdict::Verified {
            continue;
        }
        let (some, reduced) = meetings(&program, config.clone());
        programs += 1;
        assert_eq!(plain.is_bug(), reduced.is_bug(), "{seed} {plain} {reduced} {program:?}");
        if plain.is_bug() {
            bugs += 1;
            let cost = |report: &Report| report.trace().unwrap().cost;
            assert_eq!(cost(&plain), cost(&reduced), "{seed} {program:?}");
            continue;
        }
        assert_eq!(some, all, "{seed} {program:?}");
        for (at, level) in plain.levels.iter().enumerate() {
            let same = reduced.levels.get(at).or(reduced.levels.last()).unwrap();
            assert_eq!(level.states, same.states, "{seed} {} preemptions {program:?}", level.bound);
        }
        executions[0] += plain.executions;
        executions[1] += reduced.executions;
        for k in 0..3 {
            let config = Config::new().max_steps(1000).preemptions(k);
            let (with, _) = meetings(&program, config.clone().persistent_sets());
            let (without, _) = meetings(&program, config.without_reduction());
            assert_eq!(with, without, "{seed} {k} preemptions {program:?}");
        }
    }
    (programs, bugs, executions)
}

/// An exchange that fails is a read: what comes behind it is not ordered by it, and conflicts.
#[test]
fn an_exchange_that_fails_orders_nothing_within_a_bound() {
    let report = Config::new().preemptions(9).persistent_sets().explore(|| {
        let (x, y) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let reads = thread::spawn({
            let (x, y) = (x.clone(), y.clone());
            move || (y.load(SeqCst), x.load(SeqCst)).0
        });
        let writes = thread::spawn(move || {
            let _ = x.compare_exchange(5, 6, SeqCst, SeqCst);
            y.store(1, SeqCst);
        });
        writes.join().unwrap();
        assert_eq!(reads.join().unwrap(), 0);
    });
    assert!(report.is_bug(), "{report}");
    assert_eq!(report.trace().unwrap().cost, 0, "{report}");
}

/// Where a thread comes to a `join` before what it joins has ended, it is left for nothing: who ends need not go first.
#[test]
fn who_is_joined_may_have_to_go_last() {
    let report = Config::new().preemptions(9).persistent_sets().explore(|| {
        let (x, y) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let ends = thread::spawn({
            let y = y.clone();
            move || y.store(1, SeqCst)
        });
        let joins = thread::spawn({
            let x = x.clone();
            move || {
                x.store(1, SeqCst);
                ends.join().unwrap();
                x.store(2, SeqCst);
            }
        });
        let reads = thread::spawn(move || x.load(SeqCst));
        joins.join().unwrap();
        assert_ne!(reads.join().unwrap(), 1);
    });
    assert!(report.is_bug(), "{report}");
    assert_eq!(report.trace().unwrap().cost, 0, "{report}");
}

/// Who conflicts waits, and another one makes it go on: that one may have to go first.
#[test]
fn who_makes_others_go_on_may_have_to_go_first() {
    let report = Config::new().preemptions(9).persistent_sets().explore(|| {
        let (x, (sender, receiver)) = (Arc::new(AtomicU32::new(0)), mpsc::channel());
        let reads = thread::spawn({
            let x = x.clone();
            move || x.load(SeqCst)
        });
        let sends = thread::spawn(move || sender.send(1).unwrap());
        x.store(receiver.recv().unwrap(), SeqCst);
        together(vec![sends]);
        assert_ne!(reads.join().unwrap(), 1);
    });
    assert!(report.is_bug(), "{report}");
    assert_eq!(report.trace().unwrap().cost, 0, "{report}");
}

#[test]
fn least_costs_are_kept_where_threads_wait() {
    let (programs, bugs, [all, some]) = keeps_least_costs(0..50);
    assert!(
        programs > 25 && bugs > 4 && some < all / 4,
        "{programs} programs, {bugs} bugs, {some} of {all} executions"
    );
}

#[test]
#[ignore = "takes minutes"]
fn least_costs_are_kept_in_many_programs() {
    keeps_least_costs(many(10_000, 4000));
}
