//! No safe program causes undefined behaviour: what is handed out stays alive, a lock that is held is granted to nobody, and
//! what two operating system threads use at the same time is refused.

use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::sync::{Arc, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard, mpsc};
use fabius::{BugKind, Config, Report, thread};
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize as Count, Ordering::Relaxed};

fn config() -> Config {
    Config::new().name("soundness")
}

/// Two threads make an operation each, so that there are several executions.
fn two_operations() {
    let number = std::sync::Arc::new(AtomicUsize::new(0));
    let theirs = number.clone();
    let other = thread::spawn(move || theirs.fetch_add(1, SeqCst));
    number.fetch_add(1, SeqCst);
    other.join().unwrap();
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default()
}

fn is_held_elsewhere(report: &Report) {
    let trace = report.trace().expect("the lock is not granted");
    assert_eq!(trace.kind, BugKind::Deadlock, "{report}");
    let text = report.failure().unwrap();
    assert!(text.contains("held by a guard from outside, or one that an earlier execution left"), "{text}");
}

/// Counts how often it is dropped.
struct Counted(&'static Count, usize);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn values_of_statics_live_as_long_as_references_to_them() {
    static DROPPED: Count = Count::new(0);
    static MADE: Count = Count::new(0);
    static ONCE: OnceLock<Counted> = OnceLock::new();
    static LAZY: LazyLock<Counted> = LazyLock::new(|| Counted(&DROPPED, 77));
    thread_local! {
        static KEPT: RefCell<Vec<(&'static Counted, usize)>> = const { RefCell::new(Vec::new()) };
    }
    let report = config().explore(|| {
        assert!(ONCE.get().is_none(), "fresh in every execution");
        let value = ONCE.get_or_init(|| Counted(&DROPPED, MADE.fetch_add(1, SeqCst)));
        KEPT.with_borrow_mut(|kept| kept.extend([(value, value.1), (&*LAZY, 77)]));
        two_operations();
    });
    assert!(!report.is_bug(), "{report}");
    assert!(MADE.load(SeqCst) > 1, "several executions");
    assert_eq!(DROPPED.load(SeqCst), 0);
    KEPT.with_borrow(|kept| assert!(kept.iter().all(|(value, number)| value.1 == *number)));
    assert!(ONCE.get().is_none(), "what an execution sets is not set outside");
}

#[test]
fn what_is_set_outside_is_set_in_every_execution() {
    static ONCE: OnceLock<String> = OnceLock::new();
    static CALLED: Once = Once::new();
    let text: &'static str = ONCE.get_or_init(|| "outside".into());
    CALLED.call_once(|| ());
    let report = config().explore(|| {
        assert_eq!(ONCE.get().map(String::as_str), Some("outside"));
        assert_eq!(ONCE.get_or_init(|| "inside".into()), "outside");
        assert_eq!(ONCE.set("inside".into()), Err("inside".into()));
        CALLED.call_once(|| panic!("once"));
        assert!(CALLED.is_completed());
        two_operations();
    });
    assert!(!report.is_bug(), "{report}");
    assert_eq!(text, "outside");
}

#[test]
fn values_of_cells_inside_are_dropped_with_them() {
    static DROPPED: Count = Count::new(0);
    static MADE: Count = Count::new(0);
    let report = config().explore(|| {
        let cell = std::sync::Arc::new(OnceLock::new());
        let theirs = cell.clone();
        let make = || Counted(&DROPPED, MADE.fetch_add(1, SeqCst));
        let other = thread::spawn(move || theirs.get_or_init(make).1);
        assert_eq!(cell.get_or_init(make).1, other.join().unwrap());
    });
    assert!(!report.is_bug(), "{report}");
    assert!(MADE.load(SeqCst) > 1, "several executions");
    assert_eq!(DROPPED.load(SeqCst), MADE.load(SeqCst));
}

#[test]
fn a_guard_that_is_held_outside_excludes() {
    static LOCK: Mutex<Vec<String>> = Mutex::new(Vec::new());
    static BOTH: RwLock<Vec<String>> = RwLock::new(Vec::new());
    let use_it = || LOCK.lock().unwrap().push("inside".into());
    // Executions have used it before.
    assert!(!config().explore(use_it).is_bug());
    let mut guard = LOCK.lock().unwrap();
    guard.clear();
    guard.push("outside".into());
    let first: &str = &guard[0];
    is_held_elsewhere(&config().explore(use_it));
    let tries = || assert!(LOCK.try_lock().is_err());
    assert!(!config().explore(tries).is_bug());
    assert_eq!(first, "outside");
    drop(guard);
    assert!(!config().explore(use_it).is_bug());

    let write = || BOTH.write().unwrap().push("inside".into());
    let read = || assert!(BOTH.read().unwrap().len() < usize::MAX);
    assert!(!config().explore(write).is_bug());
    let writer = BOTH.write().unwrap();
    is_held_elsewhere(&config().explore(write));
    is_held_elsewhere(&config().explore(read));
    let reader = RwLockWriteGuard::downgrade(writer);
    let first: &str = &reader[0];
    is_held_elsewhere(&config().explore(write));
    assert!(!config().explore(read).is_bug());
    assert!(!config().explore(|| assert!(BOTH.try_read().is_ok() && BOTH.try_write().is_err())).is_bug());
    assert_eq!(first, "inside");
    drop(reader);
    assert!(!config().explore(write).is_bug());
}

#[test]
fn a_guard_that_an_execution_leaves_behind_excludes() {
    static LOCK: Mutex<usize> = Mutex::new(0);
    static BOTH: RwLock<usize> = RwLock::new(0);
    let leave = || {
        std::mem::forget(BOTH.read());
        std::mem::forget(LOCK.lock());
    };
    let report = config().executions(1).explore(leave);
    assert!(report.executions <= 1, "{report}");
    assert!(LOCK.try_lock().is_err() && BOTH.try_write().is_err());
    assert!(BOTH.try_read().is_ok());
    let waits = catch_unwind(|| drop(LOCK.lock())).unwrap_err();
    assert!(message(&*waits).contains("guard that it left"));
    is_held_elsewhere(&config().explore(|| drop(LOCK.lock())));
    is_held_elsewhere(&config().explore(|| drop(BOTH.write())));
}

#[test]
fn a_writer_becomes_a_reader_and_nobody_writes_in_between() {
    let together = Count::new(0);
    let report = config().exhaustive().explore(|| {
        let lock = RwLock::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut writer = lock.write().unwrap();
                *writer += 1;
                let now = *writer;
                let reader = RwLockWriteGuard::downgrade(writer);
                assert_eq!(*reader, now);
            });
            scope.spawn(|| {
                if let Ok(reader) = lock.try_read() {
                    together.fetch_max(lock.try_read().map_or(0, |value| *value), SeqCst);
                    assert!(*reader <= 2);
                }
            });
            scope.spawn(|| *lock.write().unwrap() += 1);
        });
    });
    assert!(!report.is_bug(), "{report}");
    assert_eq!(together.into_inner(), 2);
}

#[test]
fn a_real_thread_inside_of_a_check_is_refused() {
    let report = config().explore(|| {
        let number = std::sync::Arc::new(AtomicUsize::new(0));
        number.fetch_add(1, SeqCst);
        let theirs = number.clone();
        let joined = std::thread::spawn(move || theirs.fetch_add(1, SeqCst)).join();
        let text = message(&*joined.unwrap_err());
        assert!(text.contains("by an operating system thread outside of it"), "{text}");
        let lock = std::sync::Arc::new(Mutex::new(0));
        drop(lock.lock());
        let theirs = lock.clone();
        assert!(std::thread::spawn(move || drop(theirs.try_lock())).join().is_err());
        let (sender, _receiver) = mpsc::channel();
        assert!(std::thread::spawn(move || sender.send(1)).join().is_err());
        let other = thread::spawn(|| 5);
        assert!(std::thread::spawn(move || other.join().is_ok()).join().is_err());
        assert_eq!(number.load(SeqCst), 1);
    });
    assert!(!report.is_bug(), "{}", report.failure().unwrap());
}

#[test]
fn a_captured_lock_in_two_executions_at_once_is_safe() {
    for config in [config().random(2_000).jobs(2), config().exhaustive().jobs(2)] {
        let lock = Mutex::new(vec![0; 4]);
        let report = config.explore(|| {
            thread::scope(|scope| {
                for number in 0..2 {
                    let lock = &lock;
                    scope.spawn(move || {
                        let mut list = lock.lock().unwrap_or_else(|e| e.into_inner());
                        assert!(list.windows(2).all(|pair| pair[0] == pair[1]), "somebody else changes it");
                        list.iter_mut().for_each(|place| *place = number);
                    });
                }
            });
        });
        let refused = |text: &str| text.contains("at the same time") || text.contains("behaves differently");
        assert!(report.failure().is_none_or(|text| refused(&text)), "{report}");
    }
}

#[test]
fn a_handle_belongs_to_its_execution() {
    static KEPT: std::sync::Mutex<Option<thread::JoinHandle<usize>>> = std::sync::Mutex::new(None);
    let report = config().executions(1).explore(|| {
        let other = thread::spawn(|| 5);
        *KEPT.lock().unwrap() = Some(other);
    });
    assert!(!report.is_bug(), "{report}");
    let kept = KEPT.lock().unwrap().take().unwrap();
    let joined = catch_unwind(AssertUnwindSafe(|| kept.join())).unwrap_err();
    assert!(message(&*joined).contains("outside of the execution that it belongs to"));
}

#[test]
fn a_destructor_that_a_panic_runs_gets_no_lock_that_is_held() {
    /// Looks at what the lock protects.
    struct Looks(std::sync::Arc<Mutex<bool>>, &'static Count);
    impl Drop for Looks {
        fn drop(&mut self) {
            let changing = self.0.lock().unwrap_or_else(|e| e.into_inner());
            self.1.fetch_add(usize::from(*changing), SeqCst);
        }
    }
    static WRONG: Count = Count::new(0);
    let report = config().explore(|| {
        let lock = std::sync::Arc::new(Mutex::new(false));
        let number = std::sync::Arc::new(AtomicUsize::new(0));
        let _looks = Looks(lock.clone(), &WRONG);
        let (theirs, changes) = (lock.clone(), number.clone());
        thread::spawn(move || {
            let mut changing = theirs.lock().unwrap();
            *changing = true;
            changes.store(1, SeqCst);
            changes.store(2, SeqCst);
            *changing = false;
        });
        assert_ne!(number.load(SeqCst), 1, "in the middle");
    });
    assert!(report.is_bug(), "{report}");
    assert!(report.failure().unwrap().contains("in the middle"));
    assert_eq!(WRONG.load(SeqCst), 0);
}

#[test]
fn the_last_owner_may_drop_within_its_own_drop() {
    struct Touches(AtomicUsize);
    impl Drop for Touches {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let report = config().exhaustive().find_leaks().explore(|| {
        let mine = Arc::new(Touches(AtomicUsize::new(0)));
        let theirs = mine.clone();
        let other = thread::spawn(move || drop(theirs));
        drop(mine);
        other.join().unwrap();
    });
    assert!(!report.is_bug(), "{}", report.failure().unwrap());
}

#[test]
fn raw_pointers_keep_counts_and_leaks_are_found() {
    let balanced = |gives_back: bool| {
        move || {
            let mine = Arc::new(7);
            let raw = Arc::into_raw(mine.clone()).expose_provenance();
            let pointer = move || std::ptr::with_exposed_provenance::<i32>(raw);
            // SAFETY: each count is given back at most once.
            unsafe { Arc::increment_strong_count(pointer()) };
            let other = thread::spawn(move || {
                // SAFETY: as above.
                assert_eq!(*unsafe { Arc::from_raw(pointer()) }, 7);
            });
            if gives_back {
                // SAFETY: as above.
                unsafe { Arc::decrement_strong_count(pointer()) };
            }
            other.join().unwrap();
            assert_eq!(Arc::strong_count(&mine), if gives_back { 1 } else { 2 });
        }
    };
    let report = config().find_leaks().explore(balanced(true));
    assert!(!report.is_bug(), "{}", report.failure().unwrap());
    let report = config().find_leaks().explore(balanced(false));
    assert_eq!(report.trace().map(|t| t.kind), Some(BugKind::Leak), "{report}");
}

#[test]
fn a_raw_pointer_can_be_borrowed_from_many_times() {
    let report = config().find_leaks().explore(|| {
        let raw = Arc::into_raw(Arc::new(AtomicUsize::new(0))).expose_provenance();
        let pointer = move || std::ptr::with_exposed_provenance::<AtomicUsize>(raw);
        // SAFETY: the pointer stands for a count, which is given back at the end.
        let borrow = move || ManuallyDrop::new(unsafe { Arc::from_raw(pointer()) });
        let owner = (*borrow()).clone();
        let other = thread::spawn(move || owner.fetch_add(1, SeqCst));
        borrow().fetch_add(1, SeqCst);
        other.join().unwrap();
        assert_eq!(borrow().load(SeqCst), 2);
        assert_eq!(Arc::strong_count(&borrow()), 1);
        // SAFETY: as above.
        drop(unsafe { Arc::from_raw(pointer()) });
    });
    assert!(!report.is_bug(), "{}", report.failure().unwrap());
}

#[test]
fn a_thread_local_is_alive_while_it_is_used() {
    fabius::thread_local! {
        static VALUE: Cell<usize> = const { Cell::new(3) };
    }
    let report = config().explore(|| {
        let other = thread::spawn(|| VALUE.replace(4));
        assert_eq!(VALUE.replace(5), 3);
        assert_eq!(other.join().unwrap(), 3);
        assert_eq!(VALUE.get(), 5);
    });
    assert!(!report.is_bug(), "{report}");
    assert_eq!(VALUE.get(), 3);
}

/// Takes a lock when it is dropped.
struct Locks(std::sync::Arc<Mutex<usize>>);

impl Drop for Locks {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(|e| e.into_inner()) += 1;
    }
}

#[test]
fn a_destructor_that_waits_for_its_own_thread_is_a_deadlock() {
    let locks_twice = || {
        let lock = std::sync::Arc::new(Mutex::new(0));
        let _guard = lock.lock();
        let _locks = Locks(lock.clone());
        panic!("its destructor takes the lock once more");
    };
    // Also where the panic would fail the test: others do not go on before.
    for _ in 0..2 {
        let report = config().explore(locks_twice);
        let text = report.failure().unwrap();
        assert_eq!(report.trace().map(|t| t.kind), Some(BugKind::Deadlock), "{text}");
        assert!(text.contains("while a panic unwinds the stack: its destructor takes the lock once more"), "{text}");
    }
    for config in [config().every_panic_fails(), config()] {
        let report = config.explore(|| {
            let _ = thread::spawn(locks_twice).join();
        });
        assert_eq!(report.trace().map(|t| t.kind), Some(BugKind::Deadlock), "{report}");
    }
    assert!(!std::thread::panicking());
    assert!(catch_unwind(|| panic!("panics work as before")).is_err());
}

#[test]
fn threads_that_are_unwound_are_switched() {
    let report = config().exhaustive().explore(|| {
        let lock = std::sync::Arc::new((Mutex::new(0), AtomicUsize::new(0)));
        let theirs = lock.clone();
        let other = thread::spawn(move || {
            struct Stores<'a>(&'a AtomicUsize);
            impl Drop for Stores<'_> {
                fn drop(&mut self) {
                    assert!(std::thread::panicking());
                    self.0.store(1, SeqCst);
                    self.0.store(2, SeqCst);
                }
            }
            let _guard = theirs.0.lock();
            let _stores = Stores(&theirs.1);
            panic!("unwinds");
        });
        let seen = lock.1.load(SeqCst);
        assert!(!std::thread::panicking(), "only the other thread is");
        let _ = other.join();
        assert_ne!(seen, 1, "in the middle");
    });
    assert!(report.failure().is_some_and(|text| text.contains("in the middle")), "{report}");
}

#[test]
fn what_a_caught_panic_of_the_test_leaves_out_is_said() {
    let catches = |others: bool| {
        move || {
            let lock = std::sync::Arc::new(Mutex::new(0));
            let theirs = lock.clone();
            let other = thread::spawn(move || drop(theirs.lock()));
            if !others {
                other.join().unwrap();
            }
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let _guard = lock.lock();
                panic!("is caught");
            }));
        }
    };
    let report = config().exhaustive().explore(catches(false));
    assert_eq!(report.verdict, fabius::Verdict::Verified, "{report}");
    let explored = |config: Config| {
        let report = config.explore(catches(true));
        assert!(matches!(report.verdict, fabius::Verdict::Unknown { .. }), "{report}");
        let text = report.to_string();
        assert!(text.starts_with("fabius: no failing execution so far; a panic unwound a stack over"), "{text}");
        assert_eq!(text.matches("not all ways to go on were explored").count(), 1, "{text}");
        text
    };
    assert!(!explored(config().exhaustive()).contains("within"));
    // What is left out is left out within the bound, too.
    let text = explored(config().preemptions(9));
    assert!(text.contains("not all ways to go on were explored; but for that, none within "), "{text}");
}

/// The step in which a destructor runs while the test's panic unwinds its stack is another operation's, and so are its choices.
#[test]
fn what_a_destructor_does_not_find_while_the_test_unwinds_is_said() {
    struct LooksAtItsEnd<'a>(&'a AtomicUsize, std::sync::atomic::Ordering);
    impl Drop for LooksAtItsEnd<'_> {
        fn drop(&mut self) {
            assert_eq!(self.0.load(self.1), 1);
        }
    }
    let looks = |order| {
        let report = config().exhaustive().explore(|| {
            let word = Arc::new(AtomicUsize::new(0));
            let theirs = word.clone();
            let other = thread::spawn(move || theirs.store(1, order));
            if other.is_finished() {
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    let _end = LooksAtItsEnd(&word, order);
                    panic!("is caught");
                }));
            }
        });
        report.to_string()
    };
    let said = looks(Relaxed);
    assert!(said.contains("without letting others go on before or finding an old value, and was caught"), "{said}");
    let said = looks(SeqCst);
    assert!(said.contains("all were explored"), "{said}");
}

/// What is pinned stays where it is until it is dropped, also if its task goes on no more: it is leaked.
#[test]
fn a_future_that_is_never_dropped_stays_in_memory() {
    static PINNED: std::sync::Mutex<Vec<usize>> = std::sync::Mutex::new(Vec::new());
    struct Dropped([u64; 64]);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let mut pinned = PINNED.lock().unwrap();
            pinned.retain(|at| *at != std::ptr::from_ref(&self.0) as usize);
        }
    }
    let check = || {
        config().executions(1).explore(|| {
            fabius::future::block_on(async {
                let words = std::pin::pin!(Dropped([7; 64]));
                PINNED.lock().unwrap().push(std::ptr::from_ref(&words.0) as usize);
                std::future::pending::<()>().await;
                assert_eq!(words.0[63], 7);
            });
        })
    };
    for _ in 0..10 {
        let report = check();
        assert_eq!(report.trace().map(|t| t.kind), Some(BugKind::Deadlock), "{report}");
    }
    let pinned = PINNED.lock().unwrap();
    let different: std::collections::BTreeSet<usize> = pinned.iter().copied().collect();
    assert_eq!(different.len(), pinned.len(), "memory of what is pinned is used again");
}

/// A deadlock, and then many others, which need stacks.
fn fails_and_others_too(deadlock: impl Fn() + Sync) {
    let report = config().executions(1).explore(&deadlock);
    assert_eq!(report.trace().map(|t| t.kind), Some(BugKind::Deadlock), "{report}");
    for _ in 0..200 {
        let report = config().executions(1).explore(|| {
            let words = std::hint::black_box([0_u64; 256]);
            thread::park();
            std::hint::black_box(&words);
        });
        assert_eq!(report.trace().map(|t| t.kind), Some(BugKind::Deadlock), "{report}");
    }
}

/// A thread of std borrows from the stack of a thread of the check that goes on no more.
#[test]
fn what_a_thread_of_std_borrows_stays_in_memory() {
    static STOP: AtomicBool = AtomicBool::new(false);
    static LOOKED: Count = Count::new(0);
    static OTHER: AtomicBool = AtomicBool::new(false);
    fails_and_others_too(|| {
        let words = std::hint::black_box([7_u64; 256]);
        let words = &words;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while !STOP.load(Relaxed) {
                    if words.iter().any(|word| *word != 7) {
                        OTHER.store(true, Relaxed);
                    }
                    LOOKED.fetch_add(1, Relaxed);
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            });
            thread::park();
        });
    });
    let looked = LOOKED.load(Relaxed);
    while LOOKED.load(Relaxed) < looked + 10 {
        std::thread::yield_now();
    }
    STOP.store(true, Relaxed);
    assert!(!OTHER.load(Relaxed), "somebody else uses the memory");
}

/// What is pinned to a stack is there until it is dropped, so a list may refer to it.
#[test]
fn what_is_pinned_to_a_stack_stays_in_memory() {
    static LIST: std::sync::Mutex<Vec<Entry>> = std::sync::Mutex::new(Vec::new());
    struct Entry(*const Listed);
    // SAFETY: what is pinned is there until it is dropped, which takes it out of the list.
    unsafe impl Send for Entry {}
    struct Listed([u64; 64], std::marker::PhantomPinned);
    impl Listed {
        fn enters(self: std::pin::Pin<&mut Listed>) {
            LIST.lock().unwrap().push(Entry(&*self));
        }
    }
    impl Drop for Listed {
        fn drop(&mut self) {
            LIST.lock().unwrap().retain(|entry| !std::ptr::eq(entry.0, self));
        }
    }
    fails_and_others_too(|| {
        let mut listed = std::pin::pin!(Listed([7; 64], std::marker::PhantomPinned));
        listed.as_mut().enters();
        thread::park();
    });
    let list = LIST.lock().unwrap();
    assert!(!list.is_empty(), "they are never dropped");
    for Entry(listed) in &*list {
        // SAFETY: it was not dropped.
        assert_eq!(unsafe { (**listed).0 }, [7; 64]);
    }
}
