//! What the types hold besides what they are used for is seen in both orders: who drops a value, counts, poison.
//!
//! Length: one test for each thing that a type holds.

use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::sync::{Arc, Mutex, RwLock};
use fabius::{BugKind, Config, Report, thread};

/// An operation of the running thread alone: behind it, others may have gone on.
fn own_operation() {
    AtomicUsize::new(0).load(SeqCst);
}

fn in_each_way(test: impl Fn() + Sync) -> [Report; 4] {
    let configs = [
        Config::new(),
        Config::new().exhaustive(),
        Config::new().preemptions(2),
        Config::new().exhaustive().without_reduction(),
    ];
    configs.map(|config| config.name("unseen").explore(&test))
}

/// Each way of searching finds that this may fail with each of the messages, if the others are let pass.
fn fails_with(messages: &[&'static str], test: impl Fn(&str) + Sync) {
    for message in messages {
        for report in in_each_way(|| test(message)) {
            let text = report.failure().unwrap_or_else(|| panic!("{message}: {report}"));
            assert!(text.contains(message), "{message}: {text}");
        }
    }
}

fn fails(is_so: bool, message: &str, wanted: &str) {
    assert!(!is_so || message != wanted, "{message}");
}

struct Locks(Arc<Mutex<u32>>);

impl Drop for Locks {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[test]
fn a_result_is_dropped_by_whoever_drops_the_handle_of_a_thread_that_has_ended() {
    let test = || {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let other = thread::spawn(move || {
            own_operation();
            Locks(theirs)
        });
        let guard = lock.lock().unwrap();
        drop(other);
        drop(guard);
    };
    for report in in_each_way(test) {
        assert!(report.to_string().contains("deadlock"), "{report}");
    }
}

#[test]
fn a_value_knows_who_drops_it() {
    struct Noted(thread::ThreadId, String);
    impl Drop for Noted {
        fn drop(&mut self) {
            let is_same = thread::current().id() == self.0;
            fails(is_same, "dropped by its maker", &self.1);
            fails(!is_same, "dropped by another", &self.1);
        }
    }
    fails_with(&["dropped by its maker", "dropped by another"], |wanted| {
        let value = Arc::new(Noted(thread::current().id(), wanted.to_string()));
        let theirs = value.clone();
        let other = thread::spawn(move || {
            own_operation();
            drop(theirs);
        });
        own_operation();
        drop(value);
        other.join().unwrap();
    });
}

#[test]
fn a_lock_is_poisoned_before_or_behind_the_question() {
    fails_with(&["mutex poisoned", "mutex not poisoned", "lock poisoned", "lock not poisoned"], |wanted| {
        let (mutex, lock) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
        let theirs = (mutex.clone(), lock.clone());
        let other = thread::spawn(move || {
            let _guards = (theirs.0.lock(), theirs.1.write());
            std::panic::resume_unwind(Box::new(1));
        });
        fails(mutex.is_poisoned(), "mutex poisoned", wanted);
        fails(!mutex.is_poisoned(), "mutex not poisoned", wanted);
        fails(lock.is_poisoned(), "lock poisoned", wanted);
        fails(!lock.is_poisoned(), "lock not poisoned", wanted);
        let _ = other.join();
    });
}

/// Who only finds out whether a lock is poisoned changes nothing, until it is.
#[test]
fn who_counts_how_often_a_lock_was_found_poisoned_is_followed() {
    for hits in [2, 6, 12] {
        for report in in_each_way(|| {
            let shared = Arc::new((AtomicUsize::new(0), Mutex::new(()), std::sync::atomic::AtomicUsize::new(0)));
            let (mine, theirs) = (shared.clone(), shared.clone());
            let counts = thread::spawn(move || {
                loop {
                    thread::yield_now();
                    if mine.0.load(SeqCst) == 1 {
                        break;
                    }
                    if mine.1.lock().is_err() {
                        mine.2.fetch_add(1, SeqCst);
                    }
                }
            });
            let poisons = thread::spawn(move || {
                let _held = theirs.1.lock();
                std::panic::resume_unwind(Box::new(()));
            });
            poisons.join().unwrap_err();
            drop(shared.1.lock());
            assert!(shared.2.load(SeqCst) < hits, "it was found so often");
            shared.0.store(1, SeqCst);
            counts.join().unwrap();
        }) {
            assert!(report.is_bug(), "{hits}: {report}");
        }
    }
}

#[test]
fn poison_is_cleared_before_or_behind_a_panic() {
    fails_with(&["still poisoned", "poisoned no more"], |wanted| {
        let mutex = Arc::new(Mutex::new(0));
        let theirs = mutex.clone();
        let other = thread::spawn(move || {
            let _guard = theirs.lock();
            std::panic::resume_unwind(Box::new(1));
        });
        mutex.clear_poison();
        let _ = other.join();
        fails(mutex.lock().is_err(), "still poisoned", wanted);
        fails(mutex.lock().is_ok(), "poisoned no more", wanted);
    });
}

#[test]
fn weak_references_are_counted_before_and_behind_their_drop() {
    fails_with(&["one is there", "none is there", "not alone", "alone"], |wanted| {
        let mut value = Arc::new(());
        let weak = Arc::downgrade(&value);
        let other = thread::spawn(move || {
            own_operation();
            drop(weak);
        });
        let count = Arc::weak_count(&value);
        fails(count == 1, "one is there", wanted);
        fails(count == 0, "none is there", wanted);
        let alone = Arc::get_mut(&mut value).is_some();
        fails(!alone, "not alone", wanted);
        fails(alone, "alone", wanted);
        other.join().unwrap();
    });
}

#[test]
fn the_payload_of_a_panic_is_dropped_by_whoever_drops_the_handle() {
    let test = || {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let other = thread::spawn(move || {
            own_operation();
            std::panic::resume_unwind(Box::new(Locks(theirs)));
        });
        let guard = lock.lock().unwrap();
        drop::<thread::JoinHandle<()>>(other);
        drop(guard);
    };
    for report in in_each_way(test) {
        assert!(report.to_string().contains("deadlock"), "{report}");
    }
}

struct Cell(fabius::cell::UnsafeCell<u32>);

// SAFETY: accesses that race are found before they are made.
unsafe impl Sync for Cell {}

impl Cell {
    fn new() -> Arc<Cell> {
        Arc::new(Cell(fabius::cell::UnsafeCell::new(0)))
    }

    fn read(&self) {
        // SAFETY: one thread runs at a time.
        self.0.with(|value| unsafe { *value });
    }

    fn write(&self) {
        // SAFETY: one thread runs at a time.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }
}

fn races(test: impl Fn() + Sync) {
    for report in in_each_way(test) {
        assert!(report.to_string().contains("data race"), "{report}");
    }
}

#[test]
fn a_destructor_reads_what_whoever_has_dropped_before_writes() {
    struct Reads(Arc<Cell>);
    impl Drop for Reads {
        fn drop(&mut self) {
            self.0.read();
        }
    }
    races(|| {
        let cell = Cell::new();
        let value = Arc::new(Reads(cell.clone()));
        let theirs = value.clone();
        let other = thread::spawn(move || {
            own_operation();
            drop(theirs);
            cell.write();
        });
        own_operation();
        drop(value);
        other.join().unwrap();
    });
}

#[test]
fn a_value_with_weak_references_moves_to_be_changed() {
    fails_with(&["moved", "stayed"], |wanted| {
        let mut value = Arc::new(5);
        let before = Arc::as_ptr(&value);
        let weak = Arc::downgrade(&value);
        let other = thread::spawn(move || {
            own_operation();
            drop(weak);
        });
        own_operation();
        Arc::make_mut(&mut value);
        let has_moved = Arc::as_ptr(&value) != before;
        fails(has_moved, "moved", wanted);
        fails(!has_moved, "stayed", wanted);
        other.join().unwrap();
    });
}

#[test]
fn a_thread_has_finished_before_its_locals_are_dropped() {
    struct Stores(Arc<AtomicUsize>);
    impl Drop for Stores {
        fn drop(&mut self) {
            self.0.store(1, SeqCst);
        }
    }
    fabius::thread_local! {
        static LOCAL: std::cell::RefCell<Option<Stores>> = const { std::cell::RefCell::new(None) };
    }
    fails_with(&["finished and not dropped", "finished and dropped"], |wanted| {
        let stored = Arc::new(AtomicUsize::new(0));
        let theirs = stored.clone();
        let other = thread::spawn(move || {
            own_operation();
            LOCAL.with(|local| *local.borrow_mut() = Some(Stores(theirs)));
        });
        let was_dropped = stored.load(SeqCst) == 1;
        let has_finished = other.is_finished();
        let is_dropped = stored.load(SeqCst) == 1;
        fails(has_finished && !is_dropped, "finished and not dropped", wanted);
        fails(has_finished && was_dropped, "finished and dropped", wanted);
        assert!(!was_dropped || has_finished, "dropped before the thread has finished");
        other.join().unwrap();
    });
}

#[test]
fn a_lazy_value_is_poisoned_by_a_panic() {
    fabius::check(|| {
        let calls = AtomicUsize::new(0);
        let lazy = fabius::sync::LazyLock::new(|| {
            assert!(calls.fetch_add(1, SeqCst) > 0, "the first call");
            5
        });
        let look = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| *lazy)).is_err();
        assert!(look() && look(), "it is not made again");
        assert_eq!(calls.load(SeqCst), 1);
    });
}

#[test]
fn what_makes_a_thread_go_on_comes_after_nothing() {
    use fabius::sync::atomic::Ordering::Relaxed;
    // One `unpark` and the next.
    races(|| {
        let (cell, flag) = (Cell::new(), Arc::new(AtomicUsize::new(0)));
        let theirs = (cell.clone(), flag.clone());
        let main = thread::current();
        let other = thread::spawn(move || {
            if theirs.1.load(Relaxed) == 1 {
                main.unpark();
                theirs.0.read();
            }
        });
        cell.write();
        thread::current().unpark();
        flag.store(1, Relaxed);
        other.join().unwrap();
    });
    // `park` and the next `unpark`.
    races(|| {
        let (cell, flag) = (Cell::new(), Arc::new(AtomicUsize::new(0)));
        let theirs = (cell.clone(), flag.clone());
        let parks = thread::spawn(move || {
            theirs.0.write();
            thread::park();
            theirs.1.store(1, Relaxed);
        });
        parks.thread().unpark();
        if flag.load(Relaxed) == 1 {
            parks.thread().unpark();
            cell.read();
        }
        parks.join().unwrap();
    });
    // One message and the next.
    races(|| {
        let (cell, flag) = (Cell::new(), Arc::new(AtomicUsize::new(0)));
        let (sender, _receiver) = fabius::sync::mpsc::channel();
        let theirs = (cell.clone(), flag.clone(), sender.clone());
        let other = thread::spawn(move || {
            theirs.0.write();
            theirs.2.send(1).unwrap();
            theirs.1.store(1, Relaxed);
        });
        if flag.load(Relaxed) == 1 {
            sender.send(2).unwrap();
            cell.read();
        }
        other.join().unwrap();
    });
    // A thread that has not finished has ordered nothing.
    races(|| {
        let (cell, flag) = (Cell::new(), Arc::new(AtomicUsize::new(0)));
        let theirs = (cell.clone(), flag.clone());
        let main = thread::current();
        let other = thread::spawn(move || {
            theirs.0.write();
            main.unpark();
            theirs.1.store(1, Relaxed);
            own_operation();
        });
        if flag.load(Relaxed) == 1 && !other.is_finished() {
            cell.read();
        }
        other.join().unwrap();
    });
}

#[test]
fn who_parks_comes_after_all_that_have_let_it_go_on() {
    fabius::check(|| {
        let cells = [Cell::new(), Cell::new()];
        let main = thread::current();
        let others = cells.clone().map(|cell| {
            let main = main.clone();
            thread::spawn(move || {
                cell.write();
                main.unpark();
            })
        });
        thread::park();
        // One of them at least has come so far; who has come before the other is known only by what it has written.
        others.into_iter().for_each(|other| other.join().unwrap());
        cells.iter().for_each(|cell| cell.read());
    });
    fabius::check(|| {
        let cell = Cell::new();
        let theirs = cell.clone();
        let main = thread::current();
        let other = thread::spawn(move || {
            theirs.write();
            main.unpark();
        });
        thread::park();
        cell.read();
        other.join().unwrap();
    });
}

/// `unpark` releases, and `park` acquires: nothing is said of who unparks and has a fence behind it.
#[test]
fn who_lets_others_go_on_learns_nothing_of_who_has_before() {
    use fabius::sync::atomic::{Ordering, fence};
    let test = |second: fn(&thread::Thread)| {
        move || {
            let (cell, flag) = (Cell::new(), Arc::new(AtomicUsize::new(0)));
            let theirs = (cell.clone(), flag.clone());
            let main = thread::current();
            let first = main.clone();
            let other = thread::spawn(move || {
                theirs.0.write();
                first.unpark();
                theirs.1.store(1, Ordering::Relaxed);
            });
            if flag.load(Ordering::Relaxed) == 1 {
                second(&main);
                cell.read();
            }
            other.join().unwrap();
        }
    };
    races(test(|main| {
        main.unpark();
        fence(Ordering::Acquire);
    }));
    races(test(|main| {
        fence(Ordering::SeqCst);
        main.unpark();
    }));
    // Who parks comes after all of them, whoever's token it is, also where a value may be stale.
    fabius::check(test(|main| {
        main.unpark();
        thread::park();
    }));
    fabius::check(test(|_| thread::park()));
    fabius::check(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let theirs = number.clone();
        let main = thread::current();
        let other = thread::spawn(move || {
            theirs.store(1, Ordering::Relaxed);
            main.unpark();
        });
        thread::park();
        assert_eq!(number.load(Ordering::Relaxed), 1);
        other.join().unwrap();
    });
}

#[test]
fn the_beginning_of_a_call_orders_nothing() {
    use fabius::sync::atomic::Ordering::Relaxed;
    races(|| {
        let (cell, flag) = (Cell::new(), Arc::new(AtomicUsize::new(0)));
        let once = Arc::new(fabius::sync::OnceLock::new());
        let theirs = (cell.clone(), flag.clone(), once.clone());
        let other = thread::spawn(move || {
            theirs.0.write();
            theirs.2.get_or_init(|| {
                theirs.1.store(1, Relaxed);
                5
            });
        });
        if flag.load(Relaxed) == 1 && once.get().is_none() {
            cell.read();
        }
        other.join().unwrap();
    });
    fabius::check(|| {
        let (cell, once) = (Cell::new(), Arc::new(fabius::sync::OnceLock::new()));
        let theirs = (cell.clone(), once.clone());
        let other = thread::spawn(move || {
            theirs.1.get_or_init(|| theirs.0.write());
        });
        if once.get().is_some() {
            cell.read();
        }
        other.join().unwrap();
    });
}

#[test]
fn who_drops_last_comes_after_the_others_only_in_its_destructor() {
    use fabius::sync::atomic::Ordering::Relaxed;
    races(|| {
        let (cell, value) = (Cell::new(), Arc::new(()));
        let theirs = (cell.clone(), value.clone());
        let other = thread::spawn(move || {
            own_operation();
            drop(theirs.1);
            theirs.0.read();
        });
        own_operation();
        cell.write();
        drop(value);
        other.join().unwrap();
    });
    fails_with(&["stale"], |wanted| {
        let (flag, data, value) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(()));
        let theirs = (flag.clone(), data.clone(), value.clone());
        let wanted = wanted.to_string();
        let other = thread::spawn(move || {
            own_operation();
            drop(theirs.2);
            let is_stale = theirs.0.load(Relaxed) == 1 && theirs.1.load(Relaxed) == 0;
            fails(is_stale, "stale", &wanted);
        });
        data.store(1, Relaxed);
        drop(value);
        flag.store(1, Relaxed);
        other.join().unwrap();
    });
}

#[test]
fn who_begins_to_wait_for_a_message_comes_after_nobody() {
    races(|| {
        let cell = Cell::new();
        let (sender, receiver) = fabius::sync::mpsc::sync_channel::<u32>(0);
        let (theirs, another) = (cell.clone(), sender.clone());
        let drops = thread::spawn(move || {
            drop(another);
            theirs.read();
        });
        let sends = thread::spawn(move || {
            own_operation();
            sender.send(1).unwrap();
        });
        own_operation();
        cell.write();
        receiver.recv().unwrap();
        sends.join().unwrap();
        drops.join().unwrap();
    });
}

#[test]
fn who_drops_the_result_of_a_future_is_seen() {
    let report = Config::new().explore(|| {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let task = fabius::future::spawn(async move {
            AtomicUsize::new(0).load(SeqCst);
            Locks(theirs)
        });
        let guard = lock.lock().unwrap();
        // If the task has ended, its result is dropped here.
        drop(task);
        drop(guard);
    });
    assert_eq!(report.trace().map(|trace| trace.kind), Some(BugKind::Deadlock), "{report}");
}

#[test]
fn who_drops_the_payload_of_a_future_is_seen_and_whoever_joins_gets_it() {
    let task = |lock: &Arc<Mutex<u32>>| {
        let theirs = lock.clone();
        fabius::future::spawn(async move {
            own_operation();
            std::panic::resume_unwind(Box::new(Locks(theirs)));
        })
    };
    for report in in_each_way(|| {
        let lock = Arc::new(Mutex::new(0));
        let task: fabius::future::JoinHandle<()> = task(&lock);
        let guard = lock.lock().unwrap();
        drop(task);
        drop(guard);
    }) {
        assert!(report.to_string().contains("deadlock"), "{report}");
    }
    Config::new().check(|| {
        let lock = Arc::new(Mutex::new(0));
        let task: fabius::future::JoinHandle<()> = task(&lock);
        let Err(fabius::future::JoinError::Panicked(payload)) = fabius::future::block_on(task) else {
            unreachable!("it panics");
        };
        assert_eq!(*lock.lock().unwrap(), 0);
        drop(payload.downcast::<Locks>().unwrap());
        assert_eq!(*lock.lock().unwrap(), 1);
    });
}

fabius::thread_local! {
    static LOCAL: std::cell::RefCell<Option<Locks>> = const { std::cell::RefCell::new(None) };
}

#[test]
fn a_scope_ends_before_or_behind_the_destructors_of_thread_local_values() {
    fails_with(&["not dropped", "is dropped"], |wanted| {
        let lock = Arc::new(Mutex::new(0));
        let (theirs, mut value) = (lock.clone(), 0);
        thread::scope(|scope| {
            scope.spawn(|| {
                own_operation();
                value = 1;
                LOCAL.with(|local| *local.borrow_mut() = Some(Locks(theirs)));
            });
        });
        assert_eq!(value, 1);
        let is_dropped = *lock.lock().unwrap() == 1;
        fails(!is_dropped, "not dropped", wanted);
        fails(is_dropped, "is dropped", wanted);
    });
    // Who joins waits for them.
    Config::new().check(|| {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        thread::scope(|scope| {
            let thread = scope.spawn(|| LOCAL.with(|local| *local.borrow_mut() = Some(Locks(theirs))));
            thread.join().unwrap();
        });
        assert_eq!(*lock.lock().unwrap(), 1);
    });
}

#[test]
fn the_end_of_a_scope_comes_after_what_its_threads_have_done() {
    for report in in_each_way(|| {
        let (cell, lock) = (Cell::new(), Arc::new(Mutex::new(0)));
        thread::scope(|scope| {
            scope.spawn(|| {
                cell.write();
                let theirs = lock.clone();
                LOCAL.with(|local| *local.borrow_mut() = Some(Locks(theirs)));
                own_operation();
            });
        });
        cell.read();
    }) {
        assert!(report.failure().is_none(), "{report}");
    }
}

#[test]
fn the_result_of_a_scoped_thread_goes_with_its_handle_or_its_thread() {
    for report in in_each_way(|| {
        let lock = Arc::new(Mutex::new(0));
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                own_operation();
                Locks(lock.clone())
            });
            let guard = lock.lock().unwrap();
            // If the thread has ended, its result is dropped here.
            drop(thread);
            drop(guard);
        });
    }) {
        assert!(report.to_string().contains("deadlock"), "{report}");
    }
    Config::new().check(|| {
        let lock = Arc::new(Mutex::new(0));
        thread::scope(|scope| drop(scope.spawn(|| Locks(lock.clone()))));
        assert_eq!(*lock.lock().unwrap(), 1, "it is dropped before the scope ends");
    });
    let unhandled = Config::new().explore(|| {
        thread::scope(|scope| drop(scope.spawn(|| std::panic::resume_unwind(Box::new(1)))));
    });
    assert!(unhandled.to_string().contains("a scoped thread panicked"), "{unhandled}");
}

#[test]
fn who_finds_that_others_own_a_value_comes_after_none_of_them() {
    races(|| {
        let (cell, mut value) = (Cell::new(), Arc::new(0));
        let (theirs, another, third) = (cell.clone(), value.clone(), value.clone());
        let flag = Arc::new(AtomicUsize::new(0));
        let raised = flag.clone();
        let other = thread::spawn(move || {
            theirs.write();
            drop(another);
            raised.store(1, std::sync::atomic::Ordering::Relaxed);
        });
        if flag.load(std::sync::atomic::Ordering::Relaxed) == 1 && Arc::get_mut(&mut value).is_none() {
            cell.read();
        }
        other.join().unwrap();
        drop(third);
    });
}
