//! Loops whose rounds write to memory that nobody else uses and leave it as it was: a value that is borrowed, a count that goes up and
//! down. They only wait. Where memory is not left as it was, or another thread can see it meanwhile, nothing is lost.

use fabius::cell::UnsafeCell;
use fabius::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::SeqCst};
use fabius::{Config, Report, Verdict, thread};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

fabius::thread_local! {
    static OWN: RefCell<u32> = RefCell::new(7);
    static TURNS: Cell<u32> = Cell::new(0);
}

fn explore(test: impl Fn() + Sync) -> Report {
    Config::new().name("borrows").every_panic_fails().explore(test)
}

/// A thread waits for a flag that another one sets, and does this in every round.
fn waits<T>(begin: impl Fn() -> T + Sync, round: impl Fn(&T) + Sync) -> Report {
    explore(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || theirs.store(true, SeqCst));
        let all = begin();
        while !flag.load(SeqCst) {
            round(&all);
            thread::yield_now();
        }
        other.join().unwrap();
    })
}

#[test]
fn who_borrows_and_gives_back_only_waits() {
    let reports = [
        waits(|| (), |()| OWN.with(|own| assert_eq!(*own.borrow_mut(), 7))),
        waits(|| Rc::new(3), |count| assert_eq!(Rc::strong_count(&count.clone()), 2)),
        waits(|| UnsafeCell::new(5), |cell| cell.with(|value| assert_eq!(unsafe { *value }, 5))),
        waits(
            || AtomicPtr::new(Box::leak(Box::new(Cell::new(0)))),
            |shared| {
                // SAFETY: the memory is never given back.
                let count = unsafe { &*shared.load(SeqCst) };
                count.set(count.get() + 1);
                count.set(count.get() - 1);
            },
        ),
    ];
    for (number, report) in reports.iter().enumerate() {
        assert_eq!(report.verdict, Verdict::Verified, "{number}: {report}");
        assert!(report.to_string().contains("all were explored"), "{number}: {report}");
    }
}

#[test]
fn who_gives_back_too_little_is_followed() {
    let report = waits(
        || TURNS.with(|turns| turns.set(0)),
        |()| {
            TURNS.with(|turns| {
                turns.set(turns.get() + 2);
                turns.set(turns.get() - 1);
                assert!(turns.get() < 5, "five rounds");
            });
        },
    );
    assert!(report.failure().is_some_and(|text| text.contains("five rounds")), "{report}");
}

/// Plain memory of all threads; in an execution one runs at a time.
struct Plain(Cell<u32>);

// SAFETY: see there.
unsafe impl Sync for Plain {}
// SAFETY: see there.
unsafe impl Send for Plain {}

#[test]
fn what_is_borrowed_is_seen_by_another_thread() {
    let report = explore(|| {
        let all = Arc::new((Plain(Cell::new(0)), AtomicU32::new(0)));
        let theirs = all.clone();
        let other = thread::spawn(move || {
            while theirs.1.load(SeqCst) == 0 {
                assert_eq!(theirs.0.0.get(), 0, "it is borrowed");
                thread::yield_now();
            }
        });
        for _ in 0..3 {
            all.0.0.set(all.0.0.get() + 1);
            all.1.load(SeqCst);
            all.0.0.set(all.0.0.get() - 1);
            thread::yield_now();
        }
        all.1.store(1, SeqCst);
        other.join().unwrap();
    });
    assert!(report.failure().is_some_and(|text| text.contains("it is borrowed")), "{report}");
}
