//! What the documentation of parking_lot says of its locks, in every execution.
//!
//! Length: a few lines for each thing that it says.

use fabius::extend::is_inside;
use fabius::{BugKind, Config, Report, thread, time::Instant};
use fabius_parking_lot::{
    Condvar, FairMutex, FairMutexGuard, MappedMutexGuard, Mutex, MutexGuard, Once, OnceState, RawMutex, ReentrantMutex,
    RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard, const_mutex, const_reentrant_mutex, const_rwlock, lock_api,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

fn explore(test: impl Fn() + Sync) -> Report {
    Config::new().name("parking_lot").explore(test)
}

#[track_caller]
fn holds(test: impl Fn() + Sync) -> Report {
    let report = explore(test);
    assert!(report.failure().is_none(), "{}", report.failure().unwrap());
    report
}

/// The outcomes of a test in all executions of a search without a bound.
fn outcomes<T: Ord + Send>(test: impl Fn() -> T + Sync) -> BTreeSet<T> {
    let all = std::sync::Mutex::new(BTreeSet::new());
    let report = Config::new().iterative_preemptions().explore(|| {
        let outcome = test();
        all.lock().unwrap().insert(outcome);
    });
    assert!(report.failure().is_none(), "{}", report.failure().unwrap());
    all.into_inner().unwrap()
}

#[test]
fn a_mutex_excludes_and_fair_ones_do() {
    holds(|| {
        let (plain, fair) = (Arc::new(Mutex::new(0)), Arc::new(FairMutex::new(0)));
        let theirs = (plain.clone(), fair.clone());
        let other = thread::spawn(move || {
            let mut guard = theirs.0.lock();
            let seen = *guard;
            MutexGuard::bump(&mut guard);
            *guard += 1;
            drop(guard);
            *theirs.1.lock() += 1;
            seen
        });
        let before = *plain.lock();
        *plain.lock() += 1;
        FairMutexGuard::unlock_fair(fair.lock());
        *fair.lock() += 1;
        assert!(before <= 1 && other.join().unwrap() <= 1);
        assert_eq!((*plain.lock(), *fair.lock()), (2, 2));
        assert!(!plain.is_locked() && plain.try_lock().is_some());
    });
}

#[test]
fn try_lock_sees_who_has_it() {
    let seen = outcomes(|| {
        let lock = Arc::new(Mutex::new(()));
        let theirs = lock.clone();
        let other = thread::spawn(move || drop(theirs.lock()));
        let got = (lock.is_locked(), lock.try_lock().is_some());
        other.join().unwrap();
        got
    });
    assert_eq!(seen, BTreeSet::from([(false, false), (false, true), (true, false), (true, true)]));
}

#[test]
fn a_deadlock_names_who_holds_what() {
    let report = explore(|| {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (a2, b2) = (a.clone(), b.clone());
        let other = thread::spawn(move || {
            let _b = b2.lock();
            let _a = a2.lock();
        });
        {
            let _a = a.lock();
            let _b = b.lock();
        }
        other.join().unwrap();
    });
    assert_eq!(report.trace().unwrap().kind, BugKind::Deadlock);
    assert_eq!(report.trace().unwrap().cost, 1);
    assert!(report.failure().unwrap().contains("locks.rs"), "{}", report.failure().unwrap());
}

#[test]
fn what_a_lock_protects_is_ordered() {
    holds(|| {
        let shared = Arc::new((Mutex::new(()), Tracked(fabius::cell::UnsafeCell::new(0))));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            let _guard = theirs.0.lock();
            theirs.1.add();
        });
        {
            let _guard = shared.0.lock();
            shared.1.add();
        }
        other.join().unwrap();
    });
    let unordered = explore(|| {
        let shared = Arc::new((Mutex::new(()), Tracked(fabius::cell::UnsafeCell::new(0))));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            let _ = theirs.0.try_lock().is_none();
            theirs.1.add();
        });
        {
            let _guard = shared.0.lock();
            shared.1.add();
        }
        other.join().unwrap();
    });
    assert_eq!(unordered.trace().map(|t| t.kind), Some(BugKind::DataRace));
}

/// One thread writes, does this, and raises a flag that orders nothing; the other does that, and reads, if the flag is up.
fn orders<C: Send + Sync + 'static>(make: fn() -> C, first: fn(&C), second: fn(&C)) -> bool {
    use fabius::sync::atomic::{AtomicU32, Ordering::Relaxed};
    let report = explore(|| {
        let shared = Arc::new((Tracked(fabius::cell::UnsafeCell::new(0)), AtomicU32::new(0), make()));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.0.add();
            first(&theirs.2);
            theirs.1.store(1, Relaxed);
        });
        if shared.1.load(Relaxed) == 1 {
            second(&shared.2);
            shared.0.add();
        }
        other.join().unwrap();
    });
    let kind = report.trace().map(|trace| trace.kind);
    assert!(matches!(kind, None | Some(BugKind::DataRace)), "{report}");
    kind.is_none()
}

#[test]
fn readers_come_after_writers_and_writers_after_all() {
    let lock = || RwLock::new(());
    let reads = |lock: &RwLock<()>| drop(lock.read());
    let tries = |lock: &RwLock<()>| drop(lock.try_read().unwrap());
    let writes = |lock: &RwLock<()>| drop(lock.write());
    let may_write = |lock: &RwLock<()>| drop(lock.upgradable_read());
    let becomes_writer = |lock: &RwLock<()>| drop(RwLockUpgradableReadGuard::upgrade(lock.upgradable_read()));
    let was_writer = |lock: &RwLock<()>| drop(RwLockWriteGuard::downgrade(lock.write()));
    let goes_down = |lock: &RwLock<()>| drop(RwLockUpgradableReadGuard::downgrade(lock.upgradable_read()));
    for reader in [reads, tries] {
        assert!(!orders(lock, reader, reads) && !orders(lock, reads, reader));
        assert!(!orders(lock, reader, may_write) && !orders(lock, may_write, reader));
        assert!(!orders(lock, goes_down, reader));
        assert!(orders(lock, reader, writes) && orders(lock, writes, reader));
        assert!(orders(lock, reader, becomes_writer) && orders(lock, becomes_writer, reader));
        assert!(orders(lock, was_writer, reader) && orders(lock, reader, was_writer));
    }
    for upgradable in [may_write, goes_down, becomes_writer] {
        assert!(orders(lock, upgradable, may_write) && orders(lock, may_write, upgradable));
        assert!(orders(lock, upgradable, writes) && orders(lock, writes, upgradable));
    }
}

#[test]
fn a_writer_that_waits_for_readers_comes_after_them() {
    holds(|| {
        let shared = Arc::new((RwLock::new(()), Tracked(fabius::cell::UnsafeCell::new(0))));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            let guard = theirs.0.upgradable_read();
            theirs.1.add();
            drop(guard);
        });
        let guard = shared.0.write();
        shared.1.add();
        drop(guard);
        other.join().unwrap();
    });
}

#[test]
fn who_gives_up_waiting_for_a_lock_comes_after_nobody() {
    let held = || {
        let mutex = Mutex::new(());
        std::mem::forget(mutex.lock());
        mutex
    };
    let gives_up = |mutex: &Mutex<()>| assert!(mutex.try_lock_for(Duration::ZERO).is_none());
    assert!(!orders(held, gives_up, gives_up));
    let read = || {
        let lock = RwLock::new(());
        std::mem::forget(lock.read());
        lock
    };
    let gives_up = |lock: &RwLock<()>| assert!(lock.try_write_for(Duration::ZERO).is_none());
    assert!(!orders(read, gives_up, gives_up));
    assert!(!orders(read, gives_up, |lock| drop(lock.read())));
    assert!(!orders(read, |lock| drop(lock.read()), gives_up));
    let locks = |mutex: &Mutex<()>| drop(mutex.lock());
    assert!(orders(|| Mutex::new(()), locks, locks));
    let in_time = |mutex: &Mutex<()>| assert!(mutex.try_lock_for(Duration::ZERO).is_some());
    assert!(orders(|| Mutex::new(()), locks, in_time));
}

#[test]
fn notifications_do_not_order_one_another_and_calls_only_when_they_are_over() {
    let notifies = |condvar: &Condvar| assert!(!condvar.notify_one());
    assert!(!orders(Condvar::new, notifies, notifies));
    assert!(!orders(Condvar::new, |condvar| assert_eq!(condvar.notify_all(), 0), notifies));
    let is_new = |once: &Once| assert_eq!(once.state(), OnceState::New);
    assert!(!orders(Once::new, is_new, is_new));
    let calls = |once: &Once| once.call_once(|| ());
    let is_done = |once: &Once| assert_eq!(once.state(), OnceState::Done);
    assert!(orders(Once::new, calls, is_done) && orders(Once::new, calls, calls));
    assert!(!orders(Once::new, is_new, calls));
    let done = || {
        let once = Once::new();
        once.call_once(|| ());
        once
    };
    assert!(!orders(done, calls, calls) && !orders(done, is_done, calls) && !orders(done, calls, is_done));
}

#[test]
fn who_is_woken_comes_after_who_has_done_that_and_who_gives_up_waiting_after_nobody() {
    let notifies: [fn(&Condvar); 2] = [|condvar| _ = condvar.notify_one(), |condvar| _ = condvar.notify_all()];
    for notify in notifies {
        for gives_up in [false, true] {
            let report = explore(|| {
                let shared = Arc::new((Mutex::new(()), Condvar::new(), Tracked(fabius::cell::UnsafeCell::new(0))));
                let theirs = shared.clone();
                let other = thread::spawn(move || {
                    theirs.2.add();
                    notify(&theirs.1);
                });
                let mut guard = shared.0.lock();
                if shared.1.wait_for(&mut guard, Duration::from_secs(1)).timed_out() == gives_up {
                    shared.2.add();
                }
                drop(guard);
                other.join().unwrap();
            });
            let kind = report.trace().map(|trace| trace.kind);
            assert_eq!(kind, gives_up.then_some(BugKind::DataRace), "{report}");
        }
    }
}

struct Tracked(fabius::cell::UnsafeCell<i32>);

// SAFETY: accesses are checked for races.
unsafe impl Sync for Tracked {}

impl Tracked {
    fn add(&self) {
        // SAFETY: one thread of an execution runs at a time.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }
}

#[test]
fn guards_can_be_mapped() {
    holds(|| {
        let lock = const_mutex((1, 2));
        let mut second: MappedMutexGuard<'_, i32> = MutexGuard::map(lock.lock(), |pair| &mut pair.1);
        *second = 5;
        assert!(lock.is_locked());
        drop(second);
        assert_eq!(*lock.lock(), (1, 5));
        let lock = const_rwlock((1, 2));
        *RwLockWriteGuard::map(lock.write(), |pair| &mut pair.0) = 7;
        assert_eq!(*lock.read(), (7, 2));
    });
}

#[test]
fn a_reentrant_lock_is_taken_many_times_by_one_thread() {
    holds(|| {
        let lock = Arc::new(const_reentrant_mutex(std::cell::Cell::new(0)));
        let theirs: Arc<ReentrantMutex<_>> = lock.clone();
        let other = thread::spawn(move || {
            let first = theirs.lock();
            let before = first.get();
            let again = theirs.lock();
            again.set(before + 1);
        });
        {
            let outer = lock.lock();
            let before = outer.get();
            lock.lock().set(before + 1);
            assert_eq!(outer.get(), before + 1);
        }
        other.join().unwrap();
        assert_eq!(lock.lock().get(), 2);
    });
}

#[test]
fn a_lock_with_a_time_limit_gives_up_when_nothing_else_can_go_on() {
    holds(|| {
        let lock = Mutex::new(());
        let guard = lock.lock();
        let began = Instant::now();
        assert!(lock.try_lock_for(Duration::from_secs(3)).is_none());
        assert!(began.elapsed() >= Duration::from_secs(3));
        assert!(lock.try_lock_until(Instant::now() + Duration::from_secs(1)).is_none());
        drop(guard);
        assert!(lock.try_lock_for(Duration::from_secs(3)).is_some());
    });
}

#[test]
fn readers_share_and_writers_do_not() {
    holds(|| {
        let lock = Arc::new(RwLock::new((0, 0)));
        let theirs = lock.clone();
        let other = thread::spawn(move || {
            let mut pair = theirs.write();
            pair.0 += 1;
            assert!(theirs.is_locked_exclusive());
            pair.1 += 1;
            let pair = RwLockWriteGuard::downgrade(pair);
            assert_eq!(*pair, (1, 1));
        });
        let pair = lock.read();
        assert_eq!(pair.0, pair.1);
        drop(pair);
        other.join().unwrap();
        let one = lock.read();
        let two = lock.try_read().unwrap();
        assert!(lock.try_write().is_none() && lock.try_write_for(Duration::from_secs(1)).is_none());
        drop((one, two));
        assert!(lock.try_write().is_some());
    });
}

#[test]
fn to_read_twice_can_deadlock_with_a_writer_in_between() {
    fn test(again: fn(&RwLock<i32>) -> i32) -> impl Fn() + Sync {
        move || {
            let lock = Arc::new(RwLock::new(0));
            let theirs = lock.clone();
            let writer = thread::spawn(move || *theirs.write() += 1);
            let first = lock.read();
            again(&lock);
            drop(first);
            writer.join().unwrap();
        }
    }
    let plain = explore(test(|lock| *lock.read()));
    assert_eq!(plain.trace().map(|t| (t.kind, t.cost)), Some((BugKind::Deadlock, 1)));
    holds(test(|lock| *lock.read_recursive()));
}

#[test]
fn an_upgradable_reader_is_alone_of_its_kind_and_becomes_the_writer() {
    let seen = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let (a, b) = (lock.clone(), lock.clone());
        let reader = thread::spawn(move || *a.read());
        let other = thread::spawn(move || {
            let guard = b.upgradable_read();
            let before = *guard;
            *RwLockUpgradableReadGuard::upgrade(guard) = before + 1;
        });
        let guard = lock.upgradable_read();
        let before = *guard;
        let mut guard = RwLockUpgradableReadGuard::upgrade(guard);
        *guard = before + 1;
        let guard = RwLockWriteGuard::downgrade_to_upgradable(guard);
        assert_eq!(*guard, before + 1);
        drop(RwLockUpgradableReadGuard::downgrade(guard));
        other.join().unwrap();
        assert_eq!(*lock.read(), 2);
        reader.join().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([0, 1, 2]));
}

#[test]
fn an_upgrade_that_readers_keep_waiting_is_given_up() {
    holds(|| {
        let lock = RwLock::new(0);
        let reader = lock.read();
        let guard = lock.upgradable_read();
        let guard = RwLockUpgradableReadGuard::try_upgrade(guard).unwrap_err();
        let guard = RwLockUpgradableReadGuard::try_upgrade_for(guard, Duration::from_secs(1)).unwrap_err();
        assert!(lock.try_upgradable_read().is_none() && lock.try_read().is_some());
        drop(reader);
        assert!(RwLockUpgradableReadGuard::try_upgrade(guard).is_ok());
        assert!(lock.try_write().is_some());
    });
}

#[test]
fn a_condition_is_waited_for() {
    holds(|| {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let theirs = pair.clone();
        let other = thread::spawn(move || {
            *theirs.0.lock() = 1;
            theirs.1.notify_one();
        });
        let mut number = pair.0.lock();
        pair.1.wait_while(&mut number, |number| *number == 0);
        assert_eq!(*number, 1);
        drop(number);
        other.join().unwrap();
    });
}

#[test]
fn a_notification_before_the_wait_is_lost() {
    let report = explore(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = pair.clone();
        let other = thread::spawn(move || {
            *theirs.0.lock() = true;
            theirs.1.notify_one();
        });
        let mut set = pair.0.lock();
        if !*set {
            MutexGuard::unlocked(&mut set, || ());
            pair.1.wait(&mut set);
        }
        drop(set);
        other.join().unwrap();
    });
    assert_eq!(report.trace().map(|t| t.kind), Some(BugKind::Deadlock));
}

#[test]
fn notifications_say_whom_they_woke() {
    let seen = outcomes(|| {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let theirs = pair.clone();
                thread::spawn(move || {
                    let mut guard = theirs.0.lock();
                    theirs.1.wait_for(&mut guard, Duration::from_secs(5)).timed_out()
                })
            })
            .collect();
        let one = pair.1.notify_one();
        let all = pair.1.notify_all();
        let late = waiters.into_iter().map(|w| w.join().unwrap()).filter(|late| *late).count();
        assert_eq!(usize::from(one) + all + late, 2);
        (one, all)
    });
    assert_eq!(seen, BTreeSet::from([(false, 0), (false, 1), (false, 2), (true, 0), (true, 1)]));
}

#[test]
fn one_condition_variable_is_for_one_lock() {
    let report = Config::new().name("parking_lot").every_panic_fails().explore(|| {
        let shared = Arc::new((Mutex::new(()), Mutex::new(()), Condvar::new()));
        let theirs = shared.clone();
        let _other = thread::spawn(move || theirs.2.wait(&mut theirs.0.lock()));
        shared.2.wait(&mut shared.1.lock());
    });
    let (text, place) = (report.failure().unwrap(), format!("locks.rs:{}:", line!() - 3));
    assert!(text.contains("more than one mutex") && text.contains(&place), "{text}\n{place}");
}

#[test]
fn what_happens_once_has_happened_for_all() {
    holds(|| {
        let shared = Arc::new((Once::new(), Tracked(fabius::cell::UnsafeCell::new(0))));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.0.call_once(|| theirs.1.add());
            theirs.1.0.with(|_| ());
        });
        shared.0.call_once(|| shared.1.add());
        shared.1.0.with(|_| ());
        assert_eq!(shared.0.state(), OnceState::Done);
        other.join().unwrap();
    });
    let poisoned = explore(|| {
        let once = Arc::new(Once::new());
        let theirs = once.clone();
        assert!(thread::spawn(move || theirs.call_once(|| panic!("first"))).join().is_err());
        assert!(once.state().poisoned());
        let mut before = OnceState::New;
        once.call_once_force(|state| before = state);
        assert!(before.poisoned() && once.state().done());
    });
    assert!(!poisoned.is_bug(), "{}", poisoned.failure().unwrap());
}

#[test]
fn a_call_that_is_refused_is_none_under_way() {
    let report = explore(|| {
        let once = Arc::new(Once::new());
        let theirs = once.clone();
        assert!(thread::spawn(move || theirs.call_once(|| panic!("first"))).join().is_err());
        let theirs = once.clone();
        let refused = thread::spawn(move || theirs.call_once(|| unreachable!("it is poisoned")));
        assert_eq!(once.state(), OnceState::Poisoned);
        assert!(refused.join().is_err());
    });
    assert!(!report.is_bug(), "{}", report.failure().unwrap());
}

#[test]
fn a_limit_may_be_longer_than_time() {
    holds(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            *theirs.0.lock() = true;
            theirs.1.notify_one();
        });
        let limit = Duration::MAX;
        assert!(!shared.1.wait_while_for(&mut shared.0.lock(), |set| !*set, limit).timed_out());
        other.join().unwrap();
    });
}

static SHARED: Mutex<i32> = const_mutex(0);

#[test]
fn outside_of_a_check_they_are_parking_lots() {
    assert!(!is_inside());
    let condvar = Condvar::new();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| condvar.wait_while(&mut SHARED.lock(), |number| *number < 2));
        for _ in 0..2 {
            *SHARED.lock() += 1;
            condvar.notify_all();
        }
        waiting.join().unwrap();
    });
    let lock = RwLock::new(0);
    let guard = lock.upgradable_read();
    *RwLockUpgradableReadGuard::upgrade(guard) += 1;
    assert_eq!(*lock.read(), 1);
    let once = Once::new();
    once.call_once(|| ());
    assert!(once.state().done());
    let held = <RawMutex as lock_api::RawMutex>::INIT;
    assert!(lock_api::RawMutex::try_lock(&held) && lock_api::RawMutex::is_locked(&held));
}

#[test]
fn a_guard_from_outside_excludes_inside() {
    let lock = Mutex::new(0);
    let guard = lock.lock();
    let report = explore(|| assert!(lock.try_lock().is_none() && lock.is_locked()));
    assert!(!report.is_bug(), "{}", report.failure().unwrap());
    drop(guard);
    holds(|| drop(lock.lock()));
    assert!(lock.try_lock().is_some());
}

/// A trait that both kinds of locks have, which needs two types.
trait Protects {
    fn value(&self) -> usize;
}

impl Protects for Mutex<usize> {
    fn value(&self) -> usize {
        *self.lock()
    }
}

impl Protects for FairMutex<usize> {
    fn value(&self) -> usize {
        *self.try_lock_for(Duration::from_secs(1)).unwrap()
    }
}

#[test]
fn a_fair_lock_is_a_type_of_its_own() {
    fabius::check(|| {
        assert_eq!((Mutex::new(1).value(), fabius_parking_lot::const_fair_mutex(2).value()), (1, 2));
    });
}

#[test]
fn who_tries_with_a_limit_of_no_time_only_waits_while_another_sleeps() {
    let report = explore(|| {
        let lock = Mutex::new(());
        thread::scope(|scope| {
            let _held = lock.lock();
            let has_none = || lock.try_lock_for(Duration::ZERO).is_none();
            scope.spawn(move || {
                std::iter::repeat_with(has_none).take_while(|none| *none).for_each(|_| thread::yield_now())
            });
            thread::sleep(Duration::from_millis(9));
        });
    });
    assert_eq!(report.verdict, fabius::Verdict::Verified, "{report}");
}

#[test]
fn who_waits_with_a_limit_of_no_time_lets_others_have_the_lock() {
    let test = |is_held: bool, sleeps: bool, raises: bool| {
        move || {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                if sleeps {
                    thread::sleep(Duration::from_millis(9));
                }
                *theirs.0.lock() = raises;
            });
            let mut is_over = shared.0.lock();
            while !*is_over {
                shared.1.wait_for(&mut is_over, Duration::ZERO);
                if is_held {
                    thread::yield_now();
                } else {
                    MutexGuard::unlocked(&mut is_over, thread::yield_now);
                }
            }
            drop(is_over);
            other.join().unwrap();
        }
    };
    for (is_held, sleeps) in [(false, false), (false, true), (true, false), (true, true)] {
        let report = explore(test(is_held, sleeps, true));
        assert!(!report.is_bug(), "{is_held}, {sleeps}: {}", report.failure().unwrap_or_default());
        assert!(is_held || report.verdict == fabius::Verdict::Verified, "{sleeps}: {report}");
        let report = explore(test(is_held, sleeps, false));
        assert!(report.failure().is_some_and(|text| text.contains("livelock")), "{is_held}, {sleeps}: {report}");
    }
}
