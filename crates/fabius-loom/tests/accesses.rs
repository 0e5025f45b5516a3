//! Accesses to cells last, and waiting may end for no reason, as in loom.

use fabius_loom as loom;
use loom::cell::{Cell, UnsafeCell};
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use loom::sync::{Arc, Notify};
use loom::{future, thread};

struct Shared<T>(T);

// SAFETY: the checks are for what is not so.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: the same.
unsafe impl<T> Send for Shared<T> {}

/// Two threads, of which the second goes on when the first lets it.
fn two(first: fn(&UnsafeCell<usize>, &dyn Fn()), second: fn(&UnsafeCell<usize>)) {
    loom::model(move || {
        let shared = Arc::new(Shared((UnsafeCell::new(0), AtomicUsize::new(0))));
        let theirs = shared.clone();
        let t = thread::spawn(move || {
            if theirs.0.1.load(SeqCst) == 1 {
                second(&theirs.0.0);
                theirs.0.1.store(2, SeqCst);
            }
        });
        first(&shared.0.0, &|| shared.0.1.store(1, SeqCst));
        t.join().unwrap();
    });
}

fn reads(cell: &UnsafeCell<usize>) {
    // SAFETY: the check is for what is not so.
    cell.with(|value| unsafe { *value });
}

#[test]
#[should_panic(expected = "data race")]
fn an_access_lasts_until_its_closure_ends() {
    // SAFETY: the check is for what is not so.
    two(|cell, goes_on| cell.with_mut(|value| (goes_on(), unsafe { *value += 1 }).1), reads);
}

#[test]
#[should_panic(expected = "two accesses to a cell that nothing orders")]
fn an_access_lasts_as_long_as_its_pointer() {
    two(
        |cell, goes_on| {
            let pointer = cell.get_mut();
            goes_on();
            // No other thread goes on in between.
            UnsafeCell::new(0).with(|_| ());
            drop(pointer);
        },
        |cell| drop(cell.get()),
    );
}

#[test]
#[should_panic(expected = "two accesses to a cell that nothing orders")]
fn an_access_lasts_until_behind_a_join() {
    loom::model(|| {
        let shared = Arc::new(Shared((UnsafeCell::new(0), [0, 0].map(AtomicUsize::new))));
        let theirs = shared.clone();
        let reader = thread::spawn(move || {
            let [goes_on, dropped] = &theirs.0.1;
            // Not before the pointer is dropped, so that the accesses are not at the same time.
            if dropped.load(Relaxed) == 1 && goes_on.load(SeqCst) == 1 {
                reads(&theirs.0.0);
            }
        });
        let other = thread::spawn(|| ());
        let pointer = shared.0.0.get_mut();
        shared.0.1[0].store(1, SeqCst);
        other.join().unwrap();
        drop(pointer);
        shared.0.1[1].store(1, Relaxed);
        reader.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "two accesses to a cell that nothing orders")]
fn a_pointer_that_another_thread_drops_was_used_before() {
    loom::model(|| {
        let shared = Arc::new(Shared((UnsafeCell::new(0), AtomicUsize::new(0))));
        let (theirs, dropped) = (shared.clone(), shared.clone());
        let reader = thread::spawn(move || {
            if theirs.0.1.load(Relaxed) == 1 {
                reads(&theirs.0.0);
            }
        });
        let pointer = Shared(shared.0.0.get_mut());
        let drops = thread::spawn(move || {
            drop(pointer);
            dropped.0.1.store(1, Relaxed);
        });
        [reader, drops].into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
#[should_panic(expected = "data race")]
fn a_pointer_that_is_used_is_an_access_then() {
    two(
        |cell, goes_on| {
            let pointer = cell.get_mut();
            goes_on();
            // SAFETY: the check is for what is not so.
            pointer.with(|value| unsafe { *value += 1 });
        },
        |cell| drop(cell.get()),
    );
}

/// As of a guard, which gives back its lock before the pointer in it is dropped.
#[test]
fn a_pointer_that_is_dropped_is_no_access_then() {
    struct Guard<F: Fn()>(F);
    impl<F: Fn()> Drop for Guard<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    two(
        |cell, goes_on| {
            let pointer = cell.get_mut();
            // SAFETY: nobody else has one.
            unsafe { *pointer.deref() += 1 };
            let _both = (Guard(goes_on), pointer);
        },
        |cell| drop(cell.get()),
    );
}

#[test]
fn accesses_that_have_ended_are_no_race() {
    two(
        |cell, goes_on| {
            drop(cell.get_mut());
            goes_on();
        },
        |cell| {
            let (first, second) = (cell.get(), cell.get());
            first.with(|value| assert!(second.with(|other| std::ptr::eq(value, other))));
        },
    );
}

#[test]
#[should_panic(expected = "read while it is being written")]
fn an_access_within_another_fails_though_they_are_ordered() {
    loom::model(|| {
        let shared = Arc::new(Shared((UnsafeCell::new(0), AtomicUsize::new(0))));
        let theirs = shared.clone();
        let t = thread::spawn(move || {
            while theirs.0.1.load(SeqCst) != 1 {
                thread::yield_now();
            }
            reads(&theirs.0.0);
            theirs.0.1.store(2, SeqCst);
        });
        shared.0.0.with_mut(|_| {
            shared.0.1.store(1, SeqCst);
            while shared.0.1.load(SeqCst) != 2 {
                thread::yield_now();
            }
        });
        t.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "written while it is being read")]
fn an_access_within_another_of_the_same_thread_fails() {
    loom::model(|| {
        let cell = UnsafeCell::new(0);
        let reading = cell.get();
        cell.with_mut(|_| ());
        drop(reading);
    });
}

#[test]
#[should_panic(expected = "data race")]
fn a_plain_cell_is_checked_for_races() {
    loom::model(|| {
        let shared = Arc::new(Shared(Cell::new(0)));
        let theirs = shared.clone();
        let t = thread::spawn(move || { theirs }.0.set(1));
        shared.0.get();
        t.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "nobody has set it")]
fn a_wait_may_end_for_no_reason() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let t = thread::spawn(move || {
            theirs.1.store(1, SeqCst);
            theirs.0.notify();
        });
        shared.0.wait();
        assert_eq!(shared.1.load(SeqCst), 1, "nobody has set it");
        t.join().unwrap();
    });
}

#[test]
fn a_loop_of_waits_does_not_mind() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let t = thread::spawn(move || {
            theirs.1.store(1, SeqCst);
            theirs.0.notify();
        });
        while shared.1.load(SeqCst) == 0 {
            shared.0.wait();
        }
        t.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "only a single thread may wait")]
fn one_thread_waits_at_a_time() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        for _ in 0..2 {
            let theirs = notify.clone();
            thread::spawn(move || {
                theirs.wait();
                theirs.notify();
            });
        }
        notify.notify();
    });
}

#[test]
#[should_panic(expected = "polled for no reason")]
fn a_future_may_be_polled_for_no_reason() {
    loom::model(|| {
        let shared = Arc::new((future::AtomicWaker::new(), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let t = thread::spawn(move || {
            theirs.1.store(1, SeqCst);
            theirs.0.wake();
        });
        let mut polls = 0;
        future::block_on(std::future::poll_fn(|cx| {
            shared.0.register_by_ref(cx.waker());
            polls += 1;
            let is_set = shared.1.load(SeqCst) == 1;
            assert!(is_set || polls == 1, "polled for no reason");
            if is_set { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        }));
        t.join().unwrap();
    });
}
