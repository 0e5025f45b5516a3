//! The interface, as a test that is written for loom uses it.

use fabius_loom as loom;
use loom::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{AtomicPtr, AtomicUsize};
use loom::sync::{Arc, Mutex, Notify};
use loom::{cell::UnsafeCell, thread};
use std::rc::Rc;

#[test]
fn a_model_is_explored() {
    loom::model(|| {
        let n = Arc::new(AtomicUsize::new(0));
        let theirs = n.clone();
        let t = thread::spawn(move || theirs.fetch_add(1, SeqCst));
        n.fetch_add(1, SeqCst);
        t.join().unwrap();
        assert_eq!(n.load(SeqCst), 2);
    });
}

#[test]
#[should_panic(expected = "stale: 1 is newer")]
fn values_may_be_stale() {
    loom::model(|| {
        let all = [0, 0].map(|value| Arc::new(AtomicUsize::new(value)));
        let theirs = all.clone();
        let t = thread::spawn(move || {
            theirs[0].store(1, Relaxed);
            theirs[1].load(Relaxed)
        });
        all[1].store(1, Relaxed);
        let mine = all[0].load(Relaxed);
        assert!(mine == 1 || t.join().unwrap() == 1);
    });
}

/// A thread hands out what it has made, and another uses it as soon as it finds it.
fn hands_out<T: 'static>(made: fn() -> T, used: fn(&T), orders: (Ordering, Ordering)) {
    loom::model(move || {
        let place = Arc::new(AtomicPtr::<T>::default());
        let theirs = place.clone();
        let t = thread::spawn(move || theirs.store(Box::into_raw(Box::new(made())), orders.0));
        let found = place.load(orders.1);
        if !found.is_null() {
            // SAFETY: it is given back at the end alone.
            used(unsafe { &*found });
        }
        t.join().unwrap();
        // SAFETY: the other thread has put it there.
        drop(unsafe { Box::from_raw(place.load(Relaxed)) });
    });
}

fn a_number() -> AtomicUsize {
    AtomicUsize::new(1)
}

fn is_read(number: &AtomicUsize) {
    assert_eq!(number.load(SeqCst), 1);
}

#[test]
fn what_was_made_before_may_be_used() {
    hands_out(a_number, is_read, (Release, Acquire));
    // SAFETY: nobody writes.
    hands_out(|| UnsafeCell::new(1), |cell| assert_eq!(cell.with(|value| unsafe { *value }), 1), (Release, Acquire));
}

#[test]
#[should_panic(expected = "nothing orders that after it was made")]
fn to_use_an_atomic_whose_making_nothing_orders_is_a_race() {
    hands_out(a_number, is_read, (Relaxed, Acquire));
}

#[test]
#[should_panic(expected = "data race")]
fn to_use_a_cell_whose_making_nothing_orders_is_a_race() {
    // SAFETY: nobody writes.
    hands_out(|| UnsafeCell::new(1), |cell| assert_eq!(cell.with(|value| unsafe { *value }), 1), (Release, Relaxed));
}

#[test]
#[should_panic(expected = "deadlock")]
fn locks_in_the_wrong_order_deadlock() {
    loom::model(|| {
        let (a, b) = (Rc::new(Mutex::new(1)), Rc::new(Mutex::new(2)));
        let (a2, b2) = (a.clone(), b.clone());
        let t = thread::spawn(move || *a2.lock().unwrap() + *b2.lock().unwrap());
        let _b = b.lock().unwrap();
        let _a = a.lock().unwrap();
        drop((_a, _b));
        t.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "data race")]
fn unordered_accesses_are_a_race() {
    loom::model(|| {
        struct Shared(UnsafeCell<usize>);
        let shared = Rc::new(Shared(UnsafeCell::new(0)));
        let theirs = shared.clone();
        let t = thread::spawn(move || theirs.0.with_mut(|p| unsafe { *p += 1 }));
        shared.0.with(|p| unsafe { *p });
        t.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "leak")]
fn what_is_forgotten_is_a_leak() {
    loom::model(|| std::mem::forget(Arc::new(1)));
}

#[test]
#[should_panic(expected = "on purpose")]
fn a_panic_of_a_thread_that_nobody_joins_fails() {
    loom::model(|| {
        thread::spawn(|| panic!("on purpose"));
    });
}

/// The flag is new and what it guards is stale, which takes one preemption in loom, and a stale value for nothing.
#[test]
#[should_panic(expected = "the value is missing")]
fn a_bound_on_preemptions_has_stale_values_for_nothing() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(1);
    builder.check(|| {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let writer = thread::spawn(move || {
            theirs.0.store(7, Relaxed);
            theirs.1.store(1, Relaxed);
        });
        if shared.1.load(Relaxed) == 1 {
            assert_eq!(shared.0.load(Relaxed), 7, "the value is missing");
        }
        writer.join().unwrap();
    });
}

#[test]
fn bounds_notify_and_lazy_statics() {
    loom::lazy_static! {
        static ref COUNT: AtomicUsize = AtomicUsize::new(0);
    }
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let notify = Arc::new(Notify::new());
        let theirs = notify.clone();
        let t = thread::spawn(move || {
            COUNT.fetch_add(1, SeqCst);
            theirs.notify();
        });
        while COUNT.load(SeqCst) == 0 {
            notify.wait();
        }
        assert_eq!(COUNT.load(SeqCst), 1, "fresh in every execution");
        t.join().unwrap();
    });
}

#[test]
fn names_that_other_crates_need() {
    static LAZY: loom::sync::LazyLock<AtomicUsize> = loom::sync::LazyLock::new(|| AtomicUsize::new(0));
    fn is_the_same(error: loom::lazy_static::AccessError) -> thread::AccessError {
        error
    }
    assert_eq!(is_the_same(loom::thread::AccessError), loom::thread::AccessError);
    loom::model(|| {
        let threads: Vec<_> = (1..loom::MAX_THREADS).map(|_| thread::spawn(|| LAZY.fetch_add(1, SeqCst))).collect();
        assert_eq!(threads.len(), 4);
        drop(threads);
        let list: Arc<[usize]> = (0..3).collect();
        let raw = Arc::into_raw(list);
        // SAFETY: the pointer came from `into_raw`, and each count is given back once.
        let list = unsafe {
            Arc::increment_strong_count(raw);
            Arc::decrement_strong_count(raw);
            Arc::from_raw(raw)
        };
        assert_eq!(*list, [0, 1, 2]);
        let lock = loom::sync::RwLock::new(1);
        let reader = loom::sync::RwLockWriteGuard::downgrade(lock.write().unwrap());
        assert!(lock.try_read().is_ok() && lock.try_write().is_err());
        assert_eq!(*reader, 1);
    });
}

#[test]
fn two_owners_whose_value_does_shared_operations_when_it_is_dropped() {
    struct Touches(AtomicUsize);
    impl Drop for Touches {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    loom::model(|| {
        let mine = Arc::new(Touches(AtomicUsize::new(0)));
        let theirs = mine.clone();
        let other = thread::spawn(move || drop(theirs));
        drop(mine);
        other.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "no end after 2 steps")]
fn a_short_limit_on_branches_is_kept() {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 2;
    builder.check(|| {
        let number = AtomicUsize::new(0);
        (0..3).for_each(|n| number.store(n, SeqCst));
    });
}
