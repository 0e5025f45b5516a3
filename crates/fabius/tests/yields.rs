//! Threads that give way: no execution is lost, and what only repeats itself is not followed for ever.
//!
//! What a test should not do is asserted inside of its closure: outcomes that a closure collects contain runs that no
//! search counts.
//!
//! Length: one test for each way in which loops give way.

use fabius::sync::Mutex;
use fabius::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use fabius::{Config, Report, Verdict, hint, thread};
use std::sync::Arc;

fn strategies() -> Vec<(&'static str, Config)> {
    let new = Config::new;
    vec![
        ("default", new()),
        ("exhaustive", new().exhaustive()),
        ("exhaustive, plain", new().exhaustive().without_reduction()),
        ("preemptions", new().iterative_preemptions()),
        ("preemptions, plain", new().iterative_preemptions().without_reduction()),
        ("two jobs", new().jobs(2)),
        ("delays", new().delays(9)),
        ("delays, depth first", new().delays_depth_first(9)),
        ("depth", new().depth(20)),
        ("random", new().random(500)),
        ("pct", new().pct(3, 500)),
        ("pos", new().pos(500)),
        ("urw", new().urw(500)),
        ("surw", new().surw(500)),
    ]
}

pub fn explore(config: Config, test: impl Fn() + Sync) -> Report {
    config.name("yields").every_panic_fails().explore(test)
}

/// Strategies that go by preemptions.
const IN_ORDER: [&str; 4] = ["default", "preemptions", "preemptions, plain", "two jobs"];

/// Every strategy fails the test, with so many preemptions; what it says replays.
fn is_found(what: &str, cost: u32, test: impl Fn() + Sync) {
    for (name, config) in strategies() {
        let report = explore(config, &test);
        let trace = report.trace().unwrap_or_else(|| panic!("{what}, {name}: {report}"));
        let in_order = IN_ORDER.contains(&name);
        assert!(trace.cost == cost || !in_order, "{what}, {name}: {}", report.failure().unwrap_or_default());
        let schedule = report.replay.expect("a failure has a schedule");
        let replayed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fabius::replay(&schedule, &test)));
        let text = *replayed.expect_err("it fails again").downcast::<String>().expect("a text");
        assert!(!text.contains("does not fit"), "{what}, {name}: {text}");
    }
}

/// Searches that explore everything say that they did.
pub fn is_verified(what: &str, test: impl Fn() + Sync) {
    let plain = Config::new().exhaustive().without_reduction().executions(1_000_000);
    for config in [Config::new(), Config::new().exhaustive(), Config::new().jobs(2), plain] {
        let report = explore(config, &test);
        assert!(
            report.to_string().contains("all were explored"),
            "{what}: {report} {}",
            report.failure().unwrap_or_default()
        );
    }
}

pub type Pair = Arc<(AtomicU32, AtomicU32)>;

/// One pair of numbers, twice.
pub fn pair() -> (Pair, Pair) {
    let pair = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
    (pair.clone(), pair)
}

#[test]
fn who_has_given_way_may_go_on_before_anybody_else() {
    for yields in 0..4 {
        for loads in 0..2 {
            is_found(&format!("{loads} loads and {yields} yields of the first thread"), 0, move || {
                let (mine, theirs) = pair();
                let other = thread::spawn(move || theirs.1.load(SeqCst));
                (0..loads).for_each(|_| assert_eq!(mine.0.load(SeqCst), 0));
                (0..yields).for_each(|_| thread::yield_now());
                mine.1.store(1, SeqCst);
                assert_eq!(other.join().unwrap(), 0);
            });
        }
        is_found(&format!("{yields} spin hints of another thread"), 1, move || {
            let (mine, theirs) = pair();
            let other = thread::spawn(move || {
                (0..yields).for_each(|_| hint::spin_loop());
                theirs.0.store(1, SeqCst);
            });
            let seen = mine.0.load(SeqCst);
            other.join().unwrap();
            assert_eq!(seen, 0);
        });
    }
}

#[test]
fn who_backs_off_and_gives_up_is_seen() {
    for step in 0..4 {
        is_found(&format!("{} hints", 1 << step), 0, move || {
            let (mine, theirs) = pair();
            let other = thread::spawn(move || {
                assert_eq!(theirs.1.load(SeqCst), 0, "used after it was freed");
                theirs.0.store(1, SeqCst);
            });
            if mine.0.load(SeqCst) == 0 {
                (0..1 << step).for_each(|_| hint::spin_loop());
                mine.1.store(1, SeqCst);
            }
            other.join().unwrap();
        });
    }
}

#[test]
fn who_tries_a_few_times_is_followed_to_the_end() {
    is_found("three tries", 0, || {
        let (mine, theirs) = pair();
        let other = thread::spawn(move || theirs.0.store(1, SeqCst));
        let mut tries = 0;
        while tries < 3 && mine.0.load(SeqCst) == 0 {
            tries += 1;
            thread::yield_now();
        }
        other.join().unwrap();
        assert!(tries < 3);
    });
}

#[test]
fn tries_that_are_counted_on_the_heap_are_followed_too() {
    is_found("three tries", 0, || {
        let (mine, theirs) = pair();
        let other = thread::spawn(move || theirs.0.store(1, SeqCst));
        let tries = Box::new(std::cell::Cell::new(0));
        while tries.get() < 3 && mine.0.load(SeqCst) == 0 {
            tries.set(tries.get() + 1);
            thread::yield_now();
        }
        other.join().unwrap();
        assert!(tries.get() < 3);
    });
}

#[test]
fn loops_that_only_wait_are_explored_completely() {
    is_verified("a flag", || {
        let (mine, theirs) = pair();
        let other = thread::spawn(move || {
            theirs.1.store(7, SeqCst);
            theirs.0.store(1, SeqCst);
        });
        while mine.0.load(SeqCst) == 0 {
            hint::spin_loop();
        }
        assert_eq!(mine.1.load(SeqCst), 7);
        other.join().unwrap();
    });
    is_verified("a test-and-set lock", || {
        let lock = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
        let add = |lock: &(AtomicBool, AtomicU32)| {
            while lock.0.swap(true, SeqCst) {
                thread::yield_now();
            }
            let old = lock.1.load(SeqCst);
            lock.1.store(old + 1, SeqCst);
            lock.0.store(false, SeqCst);
        };
        let theirs = lock.clone();
        let other = thread::spawn(move || add(&theirs));
        add(&lock);
        other.join().unwrap();
        assert_eq!(lock.1.load(SeqCst), 2);
    });
    is_verified("a flag in a mutex", || {
        let flag = Arc::new(Mutex::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || *theirs.lock().unwrap() = true);
        while !*flag.lock().unwrap() {
            thread::yield_now();
        }
        other.join().unwrap();
    });
    is_verified("two that wait for a third", || {
        let flag = Arc::new(AtomicBool::new(false));
        let wait = |flag: Arc<AtomicBool>| {
            move || {
                while !flag.load(SeqCst) {
                    hint::spin_loop();
                }
            }
        };
        let (a, b) = (thread::spawn(wait(flag.clone())), thread::spawn(wait(flag.clone())));
        flag.store(true, SeqCst);
        a.join().unwrap();
        b.join().unwrap();
    });
    is_verified("a lock that is tried", || {
        let lock = Arc::new(Mutex::new(0));
        let add = |lock: &Mutex<u32>| {
            loop {
                if let Ok(mut value) = lock.try_lock() {
                    break *value += 1;
                }
                hint::spin_loop();
            }
        };
        let theirs = lock.clone();
        let other = thread::spawn(move || add(&theirs));
        add(&lock);
        other.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 2);
    });
    is_verified("a flag on the stack", || {
        let flag = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !flag.load(SeqCst) {
                    thread::yield_now();
                }
            });
            flag.store(true, SeqCst);
        });
    });
    is_verified("a clock that must pass", || {
        let (mine, theirs) = pair();
        let other = thread::spawn(move || {
            thread::sleep(std::time::Duration::from_millis(1));
            theirs.0.store(1, SeqCst);
        });
        while mine.0.load(SeqCst) == 0 {
            thread::yield_now();
        }
        other.join().unwrap();
    });
}

#[test]
fn a_loop_that_counts_for_ever_is_no_proof() {
    let report = explore(Config::new().exhaustive().executions(20_000), || {
        let (mine, theirs) = pair();
        let other = thread::spawn(move || theirs.0.store(1, SeqCst));
        let mut rounds = 0u64;
        while mine.0.load(SeqCst) == 0 {
            rounds += 1;
            thread::yield_now();
        }
        std::hint::black_box(rounds);
        other.join().unwrap();
    });
    assert!(!report.is_bug(), "{}", report.failure().unwrap_or_default());
    let text = report.to_string();
    assert!(!text.contains("all were explored") && text.contains("tests/yields.rs"), "{text}");
}

/// Who counts may do so any number of times before the other one looks.
#[test]
fn who_counts_in_a_loop_is_not_known_to_stay_below_a_number() {
    for hits in [20, 34, 60] {
        let report = explore(Config::new().exhaustive().executions(20_000), move || {
            let (mine, theirs) = pair();
            let other = thread::spawn(move || {
                let mut count = 0;
                loop {
                    hint::spin_loop();
                    if theirs.0.load(SeqCst) == 1 {
                        break;
                    }
                    count = (count + 1).min(200);
                    theirs.1.store(count, SeqCst);
                }
            });
            assert!(mine.1.load(SeqCst) < hits);
            mine.0.store(1, SeqCst);
            other.join().unwrap();
        });
        assert_ne!(report.verdict, Verdict::Verified, "{hits}: {report}");
        assert!(report.is_bug() || report.to_string().contains("tests/yields.rs"), "{hits}: {report}");
    }
}

#[test]
fn waiting_for_nobody_is_a_livelock() {
    for config in [Config::new(), Config::new().exhaustive(), Config::new().delays(1)] {
        let report = explore(config, || {
            let flag = Arc::new(AtomicBool::new(false));
            let theirs = flag.clone();
            let other = thread::spawn(move || {
                theirs.store(true, SeqCst);
                theirs.store(false, SeqCst);
            });
            while !flag.load(SeqCst) {
                thread::yield_now();
            }
            other.join().unwrap();
        });
        let text = report.failure().unwrap_or_else(|| panic!("{report}"));
        assert!(text.contains("livelock: for ever the same under a fair scheduler: thread 0 at "), "{text}");
        let steps = report.trace().expect("a failure has a trace").steps.len();
        assert!(steps < 30, "{steps} steps of {text}");
    }
}

#[test]
fn all_who_wait_for_each_other_are_named() {
    let test = || {
        let (mine, theirs) = pair();
        let other = thread::spawn(move || {
            while theirs.0.load(SeqCst) == 0 {
                thread::yield_now();
            }
            theirs.1.store(1, SeqCst);
        });
        while mine.1.load(SeqCst) == 0 {
            hint::spin_loop();
        }
        mine.0.store(1, SeqCst);
        other.join().unwrap();
    };
    let names_both = |text: &str| {
        let first = text.lines().find(|line| line.contains("livelock")).unwrap_or_else(|| panic!("{text}"));
        let all = ["for ever the same", "thread 0 at", "thread 1 at"];
        assert!(all.iter().all(|part| first.contains(part)), "{text}");
    };
    for config in [Config::new(), Config::new().exhaustive(), Config::new().delays(0), Config::new().random(50)] {
        let report = explore(config, test);
        names_both(&report.failure().unwrap_or_else(|| panic!("{report}")));
        let schedule = report.replay.expect("a failure has a schedule");
        let again = std::panic::catch_unwind(|| fabius::replay(&schedule, test));
        names_both(again.expect_err("it fails again").downcast_ref::<String>().expect("a text"));
    }
}

/// One thread looks again and again, and has the lock while it gives way; the other one needs the lock for what the first waits for.
#[test]
fn who_gives_way_with_a_lock_lets_others_have_it_in_between() {
    for config in [Config::new(), Config::new().exhaustive(), Config::new().preemptions(2), Config::new().delays(2)] {
        let report = explore(config, || {
            let is_over = Arc::new(Mutex::new(false));
            let theirs = is_over.clone();
            let other = thread::spawn(move || *theirs.lock().unwrap() = true);
            loop {
                let guard = is_over.lock().unwrap();
                thread::yield_now();
                if *guard {
                    break;
                }
            }
            other.join().unwrap();
        });
        assert!(!report.is_bug(), "{}", report.failure().unwrap_or_default());
    }
}

/// Something that is not seen to change.
pub struct Hidden(std::sync::atomic::AtomicU32);

impl Hidden {
    pub fn new() -> Hidden {
        Hidden(std::sync::atomic::AtomicU32::new(0))
    }

    pub fn add(&self) -> u32 {
        self.0.fetch_add(1, SeqCst) + 1
    }

    fn get(&self) -> u32 {
        self.0.load(SeqCst)
    }
}

/// It needs more steps than the bounds of other strategies.
fn a_loop_that_waits_at_first_may_count_later(strategies: &[(&str, Config)]) {
    #[inline(never)]
    fn wait(state: &AtomicU32, mode: &AtomicU32, rounds: &Hidden, until: u32) -> bool {
        while state.load(SeqCst) != until {
            if mode.load(SeqCst) == 1 && rounds.add() == 8 {
                return false;
            }
            hint::spin_loop();
        }
        true
    }
    let test = || {
        let mine = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = mine.clone();
        let child = thread::spawn(move || {
            other.0.store(1, SeqCst);
            assert!(wait(&other.0, &other.1, &Box::new(Hidden::new()), 2), "gave up");
        });
        wait(&mine.0, &mine.1, &Hidden::new(), 1);
        mine.1.store(1, SeqCst);
        mine.0.store(2, SeqCst);
        child.join().unwrap();
    };
    for (name, config) in strategies {
        let report = explore(config.clone(), test);
        let trace = report.trace().unwrap_or_else(|| panic!("{name}: {report}"));
        assert!(trace.cost == 1 || !IN_ORDER.contains(name), "{name}: {}", report.failure().unwrap_or_default());
    }
}

#[test]
fn the_default_finds_a_loop_that_waits_at_first_and_counts_later() {
    a_loop_that_waits_at_first_may_count_later(&strategies()[..1]);
}

#[test]
#[ignore = "takes a minute; run after a change of what is taken for repetition"]
fn others_find_a_loop_that_waits_at_first_and_counts_later() {
    a_loop_that_waits_at_first_may_count_later(&strategies()[1..6]);
}

#[test]
fn threads_that_all_repeat_themselves_go_on_in_turn() {
    // Two threads take turns, and the rounds are counted where nobody sees it.
    fn takes_turns(turn: &AtomicU32, rounds: &Hidden, mine: u32) {
        loop {
            loop {
                thread::yield_now();
                if turn.load(SeqCst) == mine {
                    break;
                }
            }
            let is_over = if mine == 0 { rounds.add() == 3 } else { rounds.get() == 3 };
            turn.store(1 - mine, SeqCst);
            if is_over {
                break;
            }
        }
    }
    for config in [Config::new(), Config::new().preemptions(1), Config::new().exhaustive(), Config::new().delays(2)] {
        let report = explore(config.executions(500), || {
            let shared = Arc::new((AtomicU32::new(0), Hidden::new()));
            let threads = [0, 1].map(|mine| {
                let shared = shared.clone();
                thread::spawn(move || takes_turns(&shared.0, &shared.1, mine))
            });
            threads.into_iter().for_each(|t| t.join().unwrap());
        });
        assert!(!report.is_bug(), "{}", report.failure().unwrap_or_default());
    }
}

#[test]
fn a_loop_may_begin_to_count_when_a_lock_says_so() {
    #[inline(never)]
    fn wait(state: &AtomicU32, mode: &Mutex<u32>, rounds: &Hidden, until: u32) -> bool {
        while state.load(SeqCst) != until {
            if *mode.lock().unwrap() == 1 && rounds.add() == 8 {
                return false;
            }
            hint::spin_loop();
        }
        true
    }
    let test = || {
        let mine = Arc::new((AtomicU32::new(0), Mutex::new(0)));
        let other = mine.clone();
        let child = thread::spawn(move || {
            other.0.store(1, SeqCst);
            assert!(wait(&other.0, &other.1, &Box::new(Hidden::new()), 2), "gave up");
        });
        wait(&mine.0, &mine.1, &Hidden::new(), 1);
        *mine.1.lock().unwrap() = 1;
        mine.0.store(2, SeqCst);
        child.join().unwrap();
    };
    let report = explore(Config::new().exhaustive(), test);
    assert!(report.is_bug(), "{report}");
}

#[test]
fn who_counts_unseen_is_never_taken_for_one_who_waits() {
    let test = |most: u32| {
        move || {
            let (mine, theirs) = pair();
            let other = thread::spawn(move || theirs.0.store(1, SeqCst));
            let rounds = Box::new(Hidden::new());
            while mine.0.load(SeqCst) == 0 {
                assert!(rounds.add() < most, "too many rounds");
                thread::yield_now();
            }
            other.join().unwrap();
        }
    };
    let report = explore(Config::new().executions(3000), test(12));
    assert!(report.is_bug(), "{report}");
    // There are too many rounds for that, but the answer must not be that all were explored.
    let report = explore(Config::new().executions(3000), test(1500));
    assert!(!report.to_string().contains("all were explored"), "{report}");
}

#[test]
fn turns_over_what_is_not_seen_cost_nothing() {
    let test = || {
        let shared = Arc::new((AtomicU32::new(0), Hidden::new()));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            while theirs.1.get() < 3 {
                if theirs.0.load(SeqCst) == 1 {
                    theirs.1.add();
                    theirs.0.store(0, SeqCst);
                }
                thread::yield_now();
            }
        });
        while shared.1.get() < 3 {
            shared.0.store(1, SeqCst);
            thread::yield_now();
        }
        assert_eq!(shared.1.get(), 0, "they took turns");
        other.join().unwrap();
    };
    for config in [Config::new(), Config::new().preemptions(1)] {
        let report = explore(config, test);
        let trace = report.trace().unwrap_or_else(|| panic!("{report}"));
        assert_eq!(trace.cost, 0, "{}", report.failure().unwrap_or_default());
    }
}

unsafe extern "C" {
    fn memset(block: *mut u8, value: i32, size: usize) -> *mut u8;
}

/// The C library sets and copies small blocks under a mask, where the processor can: in code that is not optimized, that is in
/// nearly every loop.
#[test]
fn a_loop_that_sets_a_small_block_only_waits() {
    for size in [1, 5, 8, 45, 63, 64, 200] {
        let report = Config::new().name("a small block").executions(2_000).explore(|| {
            let number = Arc::new(AtomicU32::new(0));
            let theirs = number.clone();
            let other = thread::spawn(move || theirs.store(1, SeqCst));
            while number.load(SeqCst) == 0 {
                let mut block = [7u8; 256];
                // SAFETY: it is large enough.
                unsafe { memset(block.as_mut_ptr(), 0, std::hint::black_box(size)) };
                assert_eq!(std::hint::black_box(&block)[size - 1..=size], [0, 7]);
                hint::spin_loop();
            }
            other.join().unwrap();
        });
        assert_eq!(report.verdict, Verdict::Verified, "{size}: {report}");
    }
}

/// A loop that gives up after an hour of the machine's clock, which no test takes.
fn waits_for_an_hour(flag: &AtomicBool) {
    let began = std::time::Instant::now();
    while !flag.load(SeqCst) {
        assert!(began.elapsed() < std::time::Duration::from_secs(3600));
        thread::yield_now();
    }
}

#[test]
fn a_loop_that_reads_the_clock_of_the_machine_waits_for_others_and_the_answer_says_so() {
    let report = explore(Config::new(), || {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || theirs.store(true, SeqCst));
        waits_for_an_hour(&flag);
        other.join().unwrap();
    });
    assert!(matches!(report.verdict, Verdict::Unknown { .. }), "{report}");
    assert!(report.to_string().contains("reads the clock of the machine"), "{report}");
    assert!(report.executions < 20, "{report}");
}

#[test]
fn a_loop_that_reads_the_clock_of_the_machine_and_waits_for_nobody_is_a_livelock() {
    let report = explore(Config::new().max_steps(500), || waits_for_an_hour(&AtomicBool::new(false)));
    assert!(report.failure().is_some_and(|text| text.contains("livelock")), "{report}");
}

/// A thread sleeps, and another one waits for what it does, or until a time has come.
#[test]
fn time_passes_while_others_only_look() {
    use fabius::time::Instant;
    use std::time::Duration;
    const LONG: Duration = Duration::from_millis(9);
    let sleeps = |then: Box<dyn FnOnce() + Send>| {
        thread::spawn(move || {
            thread::sleep(LONG);
            then();
        })
    };
    is_verified("who looks at the clock alone", move || {
        let other = sleeps(Box::new(|| ()));
        let begin = Instant::now();
        while begin.elapsed() < LONG {
            thread::yield_now();
        }
        other.join().unwrap();
    });
    is_verified("a channel that is asked without waiting", move || {
        let (sender, receiver) = fabius::sync::mpsc::channel();
        let other = sleeps(Box::new(move || sender.send(1).unwrap()));
        while receiver.recv_timeout(Duration::ZERO).is_err() {
            thread::yield_now();
        }
        other.join().unwrap();
    });
    is_verified("a park that ends at once", move || {
        let is_over = Arc::new(AtomicBool::new(false));
        let theirs = is_over.clone();
        let other = sleeps(Box::new(move || theirs.store(true, SeqCst)));
        while !is_over.load(SeqCst) {
            thread::park_timeout(Duration::ZERO);
            thread::yield_now();
        }
        other.join().unwrap();
    });
}
