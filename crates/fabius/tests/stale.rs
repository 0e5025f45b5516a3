//! Stale reads and late stores in tests: what is found, what it costs, how it is said, and what limits it.

use fabius::cell::UnsafeCell;
use fabius::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use fabius::sync::atomic::{AtomicUsize, fence};
use fabius::sync::{Arc, Mutex};
use fabius::{BugKind, Config, Report, Verdict, hint, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn two() -> [Arc<AtomicUsize>; 2] {
    [0, 0].map(|value| Arc::new(AtomicUsize::new(value)))
}

/// One thread stores a value and then a flag; who sees the flag expects the value.
fn passes_a_value(store: Ordering, load: Ordering) -> impl Fn() + Sync {
    move || {
        let [value, flag] = two();
        let (theirs, says) = (value.clone(), flag.clone());
        let writer = thread::spawn(move || {
            theirs.store(7, Relaxed);
            says.store(1, store);
        });
        if flag.load(load) == 1 {
            assert_eq!(value.load(Relaxed), 7, "the value is missing");
        }
        writer.join().unwrap();
    }
}

fn text(report: &Report) -> String {
    report.failure().unwrap_or_else(|| report.to_string())
}

#[test]
fn a_bound_on_preemptions_alone_has_stale_reads_for_nothing() {
    let report = |most, config: Config| config.preemptions(most).explore(passes_a_value(Relaxed, Relaxed));
    let together = report(1, Config::new());
    assert!(together.to_string().contains("within 1 preemption and stale reads together"), "{together}");
    let apart = report(0, Config::new().free_stale_reads());
    assert!(apart.to_string().contains("within 0 preemptions, with stale reads, which cost nothing"), "{apart}");
    let found = report(1, Config::new().free_stale_reads());
    let trace = found.trace().unwrap_or_else(|| panic!("{found}"));
    assert_eq!((trace.cost, trace.stale), (2, 1), "{}", text(&found));
    assert!(!report(9, Config::new().free_stale_reads().stale(0)).is_bug());
}

#[test]
fn what_one_preemption_brings_about_is_found_soon_where_stale_reads_cost_nothing() {
    // Without a preemption, who gives way has thousands of ways to read what was counted meanwhile.
    let test = |times: usize, is_seen: usize| {
        move || {
            let [count, _] = two();
            let raised = Arc::new(Mutex::new(0));
            let (theirs, says) = (count.clone(), raised.clone());
            let counts = thread::spawn(move || (0..times).for_each(|n| theirs.store(n + 1, Relaxed)));
            let raises = thread::spawn(move || {
                *says.lock().unwrap() = 1;
                *says.lock().unwrap() = 0;
            });
            thread::yield_now();
            (0..times).for_each(|_| _ = count.load(Relaxed));
            assert_ne!(*raised.lock().unwrap(), is_seen);
            counts.join().unwrap();
            raises.join().unwrap();
        }
    };
    let within = |most| Config::new().preemptions(most).free_stale_reads();
    let before = within(0).executions(2_000).explore(test(8, 1));
    assert!(!before.is_bug() && before.executions == 2_000, "{before}");
    let report = within(2).explore(test(8, 1));
    assert!(report.is_bug() && report.executions < 1_000, "{report}");
    let holds = within(2).explore(test(2, 2));
    assert!(!holds.is_bug(), "{holds}");
}

#[test]
fn what_goes_wrong_near_the_end_is_found_soon_whatever_may_be_stale_before() {
    // Without a preemption there are 2^20 ways to read; five deviations of thirty operations are as many.
    const WORDS: usize = 20;
    let report = Config::new().preemptions(1).free_stale_reads().executions(5_000).explore(|| {
        let words: Arc<Vec<AtomicUsize>> = Arc::new((0..WORDS).map(|_| AtomicUsize::new(0)).collect());
        let raised = Arc::new(Mutex::new(0));
        let (all, says) = (words.clone(), raised.clone());
        let writes = thread::spawn(move || all.iter().for_each(|word| word.store(1, Relaxed)));
        let reads = thread::spawn(move || {
            let seen: Vec<usize> = words.iter().map(|word| word.load(Relaxed)).collect();
            let before = *raised.lock().unwrap();
            let after = *raised.lock().unwrap();
            assert!(before == after || seen[..WORDS - 4].contains(&0) || seen[WORDS - 4..].contains(&1));
        });
        let raises = thread::spawn(move || *says.lock().unwrap() = 1);
        [writes, reads, raises].into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert!(report.is_bug() && report.executions < 1_000, "{report}");
}

#[test]
fn who_waits_in_a_loop_need_not_find_old_values_again_for_a_wake_up_to_be_found_lost() {
    const TOKENS: usize = 3;
    let report = Config::new().preemptions(2).free_stale_reads().max_steps(2_000).explore(|| {
        let all = Arc::new([0; 3].map(AtomicUsize::new));
        for _ in 0..TOKENS {
            let all = all.clone();
            thread::spawn(move || {
                let [tokens, waits, is_woken] = &*all;
                tokens.fetch_add(1, Relaxed);
                // Whoever waits must be seen by who has added a token, or see the token.
                if waits.load(Relaxed) == 1 && waits.swap(0, SeqCst) == 1 {
                    is_woken.store(1, Release);
                }
            });
        }
        let [tokens, waits, is_woken] = &*all;
        for token in 1..=TOKENS {
            while tokens.load(Relaxed) < token {
                waits.store(1, Release);
                if tokens.load(Relaxed) >= token {
                    break;
                }
                while is_woken.load(Acquire) == 0 {
                    thread::yield_now();
                }
                is_woken.store(0, Relaxed);
            }
        }
    });
    let trace = report.trace().unwrap_or_else(|| panic!("{report}"));
    assert_eq!(trace.kind, BugKind::Livelock, "{}", text(&report));
    assert!(report.executions < 1_000, "{report}");
}

#[test]
fn a_value_that_is_passed_needs_release_and_acquire() {
    for (store, load, fails) in [(Relaxed, Relaxed, true), (Release, Relaxed, true), (Relaxed, Acquire, true)]
        .into_iter()
        .chain([(Release, Acquire, false), (SeqCst, SeqCst, false), (Release, SeqCst, false)])
    {
        for config in [Config::new(), Config::new().exhaustive(), Config::new().without_reduction()] {
            let report = config.explore(passes_a_value(store, load));
            assert_eq!(report.is_bug(), fails, "{store:?} {load:?} {}", text(&report));
            assert!(fails || report.to_string().contains("all were explored, with stale reads;"), "{report}");
        }
        let report = Config::new().sequentially_consistent().explore(passes_a_value(store, load));
        assert_eq!(report.verdict, Verdict::Verified, "{}", text(&report));
        assert!(report.to_string().contains("under sequential consistency, with races judged by"), "{report}");
    }
}

#[test]
fn what_is_sequentially_consistent_has_no_deviations() {
    let report = Config::new().explore(|| {
        let [x, y] = two();
        let (a, b) = (x.clone(), y.clone());
        let other = thread::spawn(move || {
            a.store(1, SeqCst);
            b.load(SeqCst)
        });
        y.store(1, SeqCst);
        let mine = x.load(SeqCst);
        assert!(mine == 1 || other.join().unwrap() == 1);
    });
    assert_eq!(report.verdict, Verdict::Verified);
    assert!(report.to_string().contains("under sequential consistency"), "{report}");
}

#[test]
fn a_report_shows_what_is_stale_and_is_replayed() {
    let test = passes_a_value(Relaxed, Relaxed);
    let report = Config::new().name("stale").explore(&test);
    let said = text(&report);
    for part in ["the value is missing", "load (0, stale: 7 is newer)", "1 stale read"] {
        assert!(said.contains(part), "`{part}` is missing in\n{said}");
    }
    let trace = report.trace().unwrap();
    assert_eq!((trace.stale, trace.cost), (1, report.levels.last().unwrap().bound));
    let schedule = report.replay.as_deref().unwrap();
    assert!(schedule.starts_with("weak,"), "{schedule}");
    let again = catch_unwind(AssertUnwindSafe(|| fabius::replay(schedule, &test)));
    let again = *again.expect_err("it fails again").downcast::<String>().unwrap();
    assert!(again.contains("load (0, stale: 7 is newer)"), "{again}");
}

#[test]
fn the_store_that_was_found_is_linked() {
    let report = Config::new().explore(|| {
        let [x, flag] = two();
        let (theirs, says) = (x.clone(), flag.clone());
        let writer = thread::spawn(move || {
            theirs.store(1, Relaxed);
            theirs.store(2, Relaxed);
            says.store(1, Relaxed);
        });
        assert!(flag.load(Relaxed) != 1 || x.load(Relaxed) != 1);
        writer.join().unwrap();
    });
    let said = text(&report);
    assert!(said.contains("load (1, stale: 2 is newer)"), "{said}");
    let trace = report.trace().unwrap();
    let found: Vec<_> = trace.links.iter().filter(|l| format!("{:?}", l.kind) == "Finds").collect();
    assert_eq!(found.len(), 1, "{:?}", trace.links);
    let of = |step: u32| &trace.steps[step as usize].actions[0];
    assert_eq!((of(found[0].from).note.as_deref(), of(found[0].to).text.as_str()), (Some("0 -> 1"), "load"));
}

#[test]
fn stores_take_their_place_before_others() {
    // Each thread's second store comes before the other's first: nobody's second is the last.
    let test = || {
        let [x, y] = two();
        let (a, b) = (x.clone(), y.clone());
        let other = thread::spawn(move || {
            b.store(1, Relaxed);
            a.store(2, Relaxed);
        });
        x.store(1, Relaxed);
        y.store(2, Relaxed);
        other.join().unwrap();
        assert!((x.load(Relaxed), y.load(Relaxed)) != (1, 1));
    };
    let said = text(&Config::new().explore(test));
    assert!(said.contains("late: ") && said.contains("1 stale read"), "{said}");
    assert_eq!(Config::new().sequentially_consistent().explore(test).verdict, Verdict::Verified);
}

/// Two threads read twice what two others store, each with its own order.
fn needs_two() {
    let all: Vec<_> = (0..2)
        .map(|_| {
            let [x, y] = two();
            let (a, b) = (x.clone(), y.clone());
            let other = thread::spawn(move || {
                a.store(1, Relaxed);
                b.load(Relaxed)
            });
            y.store(1, Relaxed);
            (x.load(Relaxed), other.join().unwrap())
        })
        .collect();
    assert!(all.iter().any(|both| *both != (0, 0)), "both pairs are reordered");
}

#[test]
fn a_limit_on_stale_reads_is_kept_and_said() {
    let report = Config::new().stale(1).explore(needs_two);
    assert!(!report.is_bug(), "{}", text(&report));
    assert_ne!(report.verdict, Verdict::Verified);
    assert!(report.to_string().contains("with at most 1 stale read in each execution"), "{report}");
    assert!(Config::new().stale(2).explore(needs_two).is_bug());
    // Also where the bound leaves something, which the limit does as well.
    assert!(Config::new().preemptions(2).explore(needs_two).is_bug());
    let report = Config::new().preemptions(2).stale(1).explore(needs_two);
    assert!(
        !report.is_bug() && report.to_string().contains("but with at most 1 stale read in each execution"),
        "{report}"
    );
    let report = Config::new().preemptions(1).explore(needs_two);
    assert!(report.to_string().contains("within 1 preemption and stale reads together"), "{report}");
    let report = Config::new().preemptions(1).sequentially_consistent().explore(needs_two);
    assert!(report.to_string().contains("within 1 preemption, under sequential consistency;"), "{report}");
    let report = Config::new().stale(3).explore(passes_a_value(Release, Acquire));
    assert_eq!(report.verdict, Verdict::Verified, "a limit that is not met limits nothing");
    assert!(report.to_string().contains("with at most 3 stale reads"), "{report}");
}

#[test]
fn a_sequence_lock_needs_its_fences() {
    let seqlock = |order: Option<Ordering>| {
        move || {
            let sequence = Arc::new(AtomicUsize::new(0));
            let data = two();
            let (theirs, written) = (sequence.clone(), data.clone());
            let writer = thread::spawn(move || {
                theirs.store(1, Relaxed);
                fence(Release);
                written.iter().for_each(|word| word.store(1, Relaxed));
                theirs.store(2, Release);
            });
            let before = sequence.load(Acquire);
            let [first, second] = [0, 1].map(|word: usize| data[word].load(Relaxed));
            if let Some(order) = order {
                fence(order);
            }
            if before & 1 == 0 && sequence.load(Relaxed) == before {
                assert_eq!(first, second, "torn");
            }
            writer.join().unwrap();
        }
    };
    assert_eq!(Config::new().explore(seqlock(Some(Acquire))).verdict, Verdict::Verified);
    let report = Config::new().explore(seqlock(None));
    assert!(text(&report).contains("torn"), "{}", text(&report));
    assert_eq!(Config::new().sequentially_consistent().explore(seqlock(None)).verdict, Verdict::Verified);
}

#[test]
fn loops_that_wait_end() {
    let test = || {
        let [value, flag] = two();
        let (theirs, says) = (value.clone(), flag.clone());
        let writer = thread::spawn(move || {
            theirs.store(7, Relaxed);
            says.store(1, Release);
        });
        while flag.load(Acquire) == 0 {
            hint::spin_loop();
        }
        assert_eq!(value.load(Relaxed), 7);
        writer.join().unwrap();
    };
    for config in [Config::new(), Config::new().exhaustive(), Config::new().without_reduction(), Config::new().stale(2)]
    {
        let report = config.max_steps(500).explore(test);
        assert!(!report.is_bug(), "{}", text(&report));
        let capped = report.to_string().contains("with at most 2 stale reads");
        assert!(report.verdict == Verdict::Verified || capped, "{report}");
    }
}

#[test]
fn random_executions_deviate_too() {
    for config in [Config::new().random(500), Config::new().pct(3, 500), Config::new().pos(500)] {
        assert!(config.explore(passes_a_value(Relaxed, Relaxed)).is_bug(), "{config:?}");
        assert!(!config.explore(passes_a_value(Release, Acquire)).is_bug(), "{config:?}");
        assert!(!config.sequentially_consistent().explore(passes_a_value(Relaxed, Relaxed)).is_bug());
    }
}

#[test]
fn who_owns_an_atomic_changes_it_for_all() {
    let report = Config::new().explore(|| {
        let mut x = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| x.store(1, Relaxed));
        });
        assert_eq!(x.load(Relaxed), 1, "the scope has ended");
        *x.get_mut() = 5;
        let x = Arc::new(x);
        let theirs = x.clone();
        assert_eq!(thread::spawn(move || theirs.load(Relaxed)).join().unwrap(), 5);
        assert_eq!(x.load(Relaxed), 5);
    });
    assert_eq!(report.verdict, Verdict::Verified, "{}", text(&report));
}

#[test]
fn stores_that_are_forgotten_make_the_answer_unknown() {
    let counts = |times: usize| {
        move || {
            let x = Arc::new(AtomicUsize::new(0));
            let theirs = x.clone();
            let other = thread::spawn(move || theirs.load(Relaxed));
            (0..times).for_each(|_| _ = x.fetch_add(1, Relaxed));
            other.join().unwrap();
        }
    };
    let report = Config::new().preemptions(1).explore(counts(100));
    assert!(matches!(report.verdict, Verdict::Unknown { .. }), "{report}");
    assert!(
        report.to_string().contains("more than 64 stores") && !report.to_string().contains("none within"),
        "{report}"
    );
    let report = Config::new().preemptions(1).explore(counts(50));
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
    // Nobody else can find the older ones.
    let report = Config::new().explore(|| {
        let x = AtomicUsize::new(0);
        (0..100).for_each(|_| _ = x.fetch_add(1, Relaxed));
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report}");
}

#[test]
fn a_race_that_a_stale_read_leads_to_is_found() {
    // Both threads see that the other has not begun.
    struct Cell(UnsafeCell<u32>);
    // SAFETY: fibers never access it at the same time.
    unsafe impl Sync for Cell {}
    // SAFETY: as above.
    unsafe impl Send for Cell {}
    let test = |order: Ordering| {
        move || {
            let [x, y] = two();
            let mine = std::sync::Arc::new(Cell(UnsafeCell::new(0)));
            let (a, b, theirs) = (x.clone(), y.clone(), mine.clone());
            let enter = move |own: &AtomicUsize, other: &AtomicUsize, cell: &Cell| {
                own.store(1, Relaxed);
                fence(order);
                if other.load(Relaxed) == 0 {
                    // SAFETY: as above.
                    cell.0.with_mut(|place| unsafe { *place += 1 });
                }
            };
            let other = thread::spawn(move || enter(&a, &b, &theirs));
            enter(&y, &x, &mine);
            other.join().unwrap();
        }
    };
    let report = Config::new().explore(test(AcqRel));
    assert!(text(&report).contains("data race") && text(&report).contains("stale: 1 is newer"), "{}", text(&report));
    assert_eq!(Config::new().explore(test(SeqCst)).verdict, Verdict::Verified);
}

/// What a call panics with.
fn panic_of<R>(call: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(call)) else { panic!("it does not panic") };
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).expect("a text")
}

#[test]
fn orderings_that_make_no_sense_panic_as_in_std() {
    let (ours, std) = (AtomicUsize::new(0), std::sync::atomic::AtomicUsize::new(0));
    for order in [Release, AcqRel] {
        assert_eq!(panic_of(|| ours.load(order)), panic_of(|| std.load(order)));
        let mine = panic_of(|| ours.compare_exchange(0, 1, SeqCst, order));
        assert_eq!(mine, panic_of(|| std.compare_exchange(0, 1, SeqCst, order)));
        let mine = panic_of(|| ours.compare_exchange_weak(0, 1, SeqCst, order));
        assert_eq!(mine, panic_of(|| std.compare_exchange_weak(0, 1, SeqCst, order)));
        let mine = panic_of(|| ours.fetch_update(SeqCst, order, Some));
        assert_eq!(mine, panic_of(|| std.fetch_update(SeqCst, order, Some)));
    }
    for order in [Acquire, AcqRel] {
        assert_eq!(panic_of(|| ours.store(1, order)), panic_of(|| std.store(1, order)));
    }
    let none = [Relaxed][usize::from(false)];
    assert_eq!(panic_of(|| fence(none)), panic_of(|| std::sync::atomic::fence(none)));
    let report = Config::new().explore(|| {
        let _ = AtomicUsize::new(0).load(Release);
    });
    assert!(text(&report).contains("there is no such thing as a release load"), "{}", text(&report));
}

/// A thread is told that a value was stored, and waits; in each round it looks at the value, and where it finds this one it
/// counts, where nobody sees it.
fn counts_what_it_finds(what: usize, most: u32) -> impl Fn() + Sync {
    move || {
        let [value, says] = two();
        let is_over = Arc::new(AtomicUsize::new(0));
        let (theirs, told, over) = (value.clone(), says.clone(), is_over.clone());
        let writer = thread::spawn(move || {
            theirs.store(1, Relaxed);
            told.store(1, Relaxed);
            over.store(1, Relaxed);
        });
        while says.load(Relaxed) == 0 {
            hint::spin_loop();
        }
        let rounds = Box::new(std::sync::atomic::AtomicU32::new(0));
        while is_over.load(Relaxed) == 0 {
            if value.load(Relaxed) == what {
                assert!(rounds.fetch_add(1, Relaxed) < most, "too many rounds");
            }
            hint::spin_loop();
        }
        writer.join().unwrap();
    }
}

#[test]
fn who_counts_only_what_is_stale_is_never_taken_for_one_who_waits() {
    let cost = |report: &Report| report.trace().unwrap_or_else(|| panic!("{report}")).cost;
    // The other thread is interrupted once. Each of four rounds finds the older value.
    assert_eq!(cost(&Config::new().explore(counts_what_it_finds(0, 3))), 5);
    assert_eq!(cost(&Config::new().explore(counts_what_it_finds(1, 3))), 1);
    for what in [0, 1] {
        let report = Config::new().exhaustive().executions(200).explore(counts_what_it_finds(what, 1500));
        assert!(!report.is_bug() && !report.to_string().contains("all were explored"), "{report}");
    }
}

#[test]
fn loops_that_look_at_several_values_end() {
    let report = Config::new().explore(|| {
        let [x, y] = two();
        let (a, b) = (x.clone(), y.clone());
        let writer = thread::spawn(move || {
            a.store(1, Relaxed);
            b.store(1, Release);
        });
        while y.load(Acquire) == 0 && x.load(Relaxed) < 2 {
            hint::spin_loop();
        }
        assert_eq!(x.load(Relaxed), 1);
        writer.join().unwrap();
    });
    assert_eq!(report.verdict, Verdict::Verified, "{}", text(&report));
}

#[test]
fn a_lock_that_spins_is_explored_completely() {
    let report = Config::new().explore(|| {
        let [lock, value] = two();
        let add = |lock: &AtomicUsize, value: &AtomicUsize| {
            while lock.swap(1, Acquire) == 1 {
                hint::spin_loop();
            }
            let old = value.load(Relaxed);
            value.store(old + 1, Relaxed);
            lock.store(0, Release);
        };
        let (theirs, other) = (lock.clone(), value.clone());
        let thread = thread::spawn(move || add(&theirs, &other));
        add(&lock, &value);
        thread.join().unwrap();
        assert_eq!(value.load(Relaxed), 2);
    });
    assert_eq!(report.verdict, Verdict::Verified, "{}", text(&report));
}

#[test]
fn loops_that_store_are_not_proven_to_wait() {
    // In each round there is one store more that the other thread can find.
    let report = Config::new().exhaustive().executions(60).explore(|| {
        let [x, is_over] = two();
        let (theirs, over) = (x.clone(), is_over.clone());
        let reader = thread::spawn(move || {
            _ = theirs.load(Relaxed);
            over.store(1, Relaxed);
        });
        while is_over.load(Relaxed) == 0 {
            x.store(1, Relaxed);
            x.store(0, Relaxed);
            hint::spin_loop();
        }
        reader.join().unwrap();
    });
    assert!(!report.is_bug() && !report.to_string().contains("all were explored"), "{report}");
}

#[test]
fn who_waits_and_counts_does_not_find_an_old_value_for_ever() {
    // Each round is another one, because it counts, so nobody can see that it only waits.
    let report = Config::new().preemptions(0).free_stale_reads().max_steps(500).explore(|| {
        let [flag, _] = two();
        let theirs = flag.clone();
        let writer = thread::spawn(move || theirs.store(1, Relaxed));
        let mut rounds = 0;
        while flag.load(Relaxed) == 0 {
            rounds += 1;
            thread::yield_now();
        }
        std::hint::black_box(rounds);
        writer.join().unwrap();
    });
    let said = text(&report);
    assert!(!report.is_bug() && said.contains("not all old values were found"), "{said}");
}

#[test]
fn who_has_found_the_newest_of_what_a_loop_waits_for_finds_other_old_values_still() {
    // The loop counts, so that after many rounds it must find the newest value of the flag. Of what lies behind it, it need not.
    let report = Config::new().preemptions(0).free_stale_reads().max_steps(500).explore(|| {
        let [flag, data] = two();
        let is_stored = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (theirs, says, is_so) = (data.clone(), flag.clone(), is_stored.clone());
        let writer = thread::spawn(move || {
            theirs.store(1, Relaxed);
            says.store(1, Relaxed);
            is_so.store(true, Relaxed);
        });
        let mut old = 0;
        while flag.load(Relaxed) == 0 {
            old += usize::from(is_stored.load(Relaxed));
            thread::yield_now();
        }
        assert!(old < 64 || data.load(Relaxed) == 1, "old after many rounds");
        writer.join().unwrap();
    });
    assert!(text(&report).contains("old after many rounds"), "{}", text(&report));
}

#[test]
fn what_joined_threads_have_done_is_not_asked_about_a_loop() {
    // It is another thing in many executions. Who tried out each of these would soon give up, and not see that the loop only waits.
    let report = Config::new().preemptions(1).free_stale_reads().executions(20_000).explore(|| {
        let [flag, count] = two();
        let add = |n| {
            let (flag, count) = (flag.clone(), count.clone());
            thread::spawn(move || {
                count.fetch_add(n, Relaxed);
                flag.fetch_add(1, Relaxed);
            })
        };
        let threads = [add(1), add(2), add(3)];
        while flag.load(Relaxed) < 2 {
            thread::yield_now();
        }
        for thread in threads {
            thread.join().unwrap();
            (0..5_000).for_each(|n| {
                std::hint::black_box(n);
            });
        }
    });
    let said = text(&report);
    assert!(said.contains("within 1 preemption") && !said.contains("not all"), "{said}");
}
