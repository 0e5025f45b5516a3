//! Exact sets of outcomes of small programs, the same with and without reduction, with and without a bound.

use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::sync::{Arc, Barrier, Condvar, Mutex, RwLock, mpsc};
use fabius::{Config, thread};
use std::collections::BTreeSet;
use std::time::Duration;

type Outcome = Vec<usize>;

#[track_caller]
fn outcomes(expected: &[&[usize]], test: impl Fn() -> Outcome + Sync) {
    let expected: BTreeSet<Outcome> = expected.iter().map(|o| o.to_vec()).collect();
    let searches = [
        Config::new().exhaustive().without_reduction(),
        Config::new().exhaustive(),
        Config::new().iterative_preemptions(),
    ];
    for (number, search) in searches.into_iter().enumerate() {
        let seen = std::sync::Mutex::new(BTreeSet::new());
        let report = search.explore(|| {
            let outcome = test();
            if !fabius::extend::is_cut() {
                seen.lock().unwrap().insert(outcome);
            }
        });
        assert_eq!(report.verdict, fabius::Verdict::Verified, "{}", report.failure().unwrap_or_default());
        assert_eq!(seen.into_inner().unwrap(), expected, "search {number}");
    }
}

#[test]
fn waiting_threads_that_are_all_notified_go_on_in_any_order() {
    outcomes(&[&[0, 1], &[2, 0]], || {
        let shared = Arc::new((Mutex::new(0), Condvar::new(), AtomicUsize::new(0)));
        let all = [0, 1].map(|number| {
            let shared = shared.clone();
            thread::spawn(move || {
                let mut value = shared.1.wait_while(shared.0.lock().unwrap(), |value| *value == 0).unwrap();
                *value += number;
                shared.2.fetch_add(*value, SeqCst)
            })
        });
        *shared.0.lock().unwrap() = 1;
        shared.1.notify_all();
        all.map(|t| t.join().unwrap()).into()
    });
}

#[test]
fn either_of_two_waiting_threads_is_notified_and_the_other_times_out() {
    outcomes(&[&[1, 11], &[11, 1], &[11, 11]], || {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let all = [0, 1].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || {
                let guard = shared.0.lock().unwrap();
                let (value, result) = shared.1.wait_timeout(guard, Duration::from_secs(1)).unwrap();
                *value + 10 * usize::from(result.timed_out())
            })
        });
        *shared.0.lock().unwrap() = 1;
        shared.1.notify_one();
        all.map(|t| t.join().unwrap()).into()
    });
}

#[test]
fn a_message_without_a_buffer_is_handed_over() {
    let expected: [&[usize]; 5] = [&[1, 2, 1, 1], &[1, 8, 1, 0], &[9, 1, 1, 0], &[9, 1, 2, 1, 1], &[9, 2, 1, 1, 1]];
    outcomes(&expected, || {
        let (sender, receiver) = mpsc::sync_channel(0);
        let other = sender.clone();
        let sends = thread::spawn(move || usize::from(sender.send(1).is_ok()));
        let tries = thread::spawn(move || usize::from(other.try_send(2).is_ok()));
        let mut seen = vec![receiver.try_recv().unwrap_or(9), receiver.recv().unwrap_or(8)];
        seen.extend(receiver.recv());
        seen.extend([sends.join().unwrap(), tries.join().unwrap()]);
        seen
    });
}

#[test]
fn one_thread_leads_each_round_of_a_barrier() {
    let both = |a: usize, x: usize, b: usize| [a, x, b, 1 - a, 1 - x, 1 - b];
    let expected: Vec<[usize; 6]> = (0..8).map(|n| both(n >> 2 & 1, n >> 1 & 1, n & 1)).collect();
    let expected: Vec<&[usize]> = expected.iter().map(|e| e.as_slice()).collect();
    outcomes(&expected, || {
        let shared = Arc::new((Barrier::new(2), AtomicUsize::new(0)));
        let rounds = |shared: &(Barrier, AtomicUsize)| {
            let first = shared.0.wait().is_leader();
            let order = shared.1.fetch_add(1, SeqCst);
            [usize::from(first), order, usize::from(shared.0.wait().is_leader())]
        };
        let theirs = shared.clone();
        let other = thread::spawn(move || rounds(&theirs));
        let mine = rounds(&shared);
        [other.join().unwrap(), mine].concat()
    });
}

#[test]
fn any_thread_may_lead_a_round_of_a_barrier() {
    outcomes(&[&[0, 1], &[1, 0]], || {
        let barrier = Arc::new(Barrier::new(2));
        let theirs = barrier.clone();
        let first = thread::spawn(move || usize::from(theirs.wait().is_leader()));
        // Until the other one has arrived.
        thread::sleep(Duration::from_millis(1));
        let last = usize::from(barrier.wait().is_leader());
        vec![first.join().unwrap(), last]
    });
}

#[test]
fn any_thread_may_be_shown_as_the_leader() {
    outcomes(&[&[0, 1], &[1, 0]], || {
        let shown = |barrier: &Barrier| usize::from(format!("{:?}", barrier.wait()).contains("true"));
        let barrier = Arc::new(Barrier::new(2));
        let theirs = barrier.clone();
        let first = thread::spawn(move || shown(&theirs));
        thread::sleep(Duration::from_millis(1));
        let last = shown(&barrier);
        vec![first.join().unwrap(), last]
    });
}

#[test]
fn virtual_time_passes_in_order() {
    outcomes(&[&[11, 10, 0]], || {
        let value = Arc::new(AtomicUsize::new(0));
        let (later, sooner, me) = (value.clone(), value.clone(), thread::current());
        let later = thread::spawn(move || {
            thread::sleep(Duration::from_millis(10));
            let before = later.fetch_add(1, SeqCst);
            me.unpark();
            before
        });
        let sooner = thread::spawn(move || {
            thread::park_timeout(Duration::from_millis(5));
            sooner.fetch_add(10, SeqCst)
        });
        thread::park();
        vec![value.load(SeqCst), later.join().unwrap(), sooner.join().unwrap()]
    });
}

#[test]
fn the_destructor_of_a_shared_value_runs_in_whichever_thread_is_last() {
    struct Adds(Arc<AtomicUsize>);
    impl Drop for Adds {
        fn drop(&mut self) {
            self.0.fetch_add(5, SeqCst);
        }
    }
    outcomes(&[&[3, 8], &[8, 8]], || {
        let value = Arc::new(AtomicUsize::new(1));
        let shared = Arc::new(Adds(value.clone()));
        let theirs = shared.clone();
        let other = thread::spawn(move || drop(theirs));
        value.store(value.load(SeqCst) * 3, SeqCst);
        drop(shared);
        let seen = value.load(SeqCst);
        other.join().unwrap();
        vec![seen, value.load(SeqCst)]
    });
}

#[test]
fn the_end_of_a_thread_is_seen_after_what_it_did() {
    outcomes(&[&[0, 0, 0], &[0, 0, 1], &[0, 1, 0], &[0, 1, 1], &[1, 1, 1]], || {
        let value = Arc::new(AtomicUsize::new(0));
        let theirs = value.clone();
        let other = thread::spawn(move || theirs.store(1, SeqCst));
        let seen = vec![usize::from(other.is_finished()), value.load(SeqCst), usize::from(other.is_finished())];
        other.join().unwrap();
        seen
    });
}

#[test]
fn a_lock_that_is_read_cannot_be_written() {
    outcomes(&[&[0, 1], &[1, 0], &[99, 0]], || {
        let shared = Arc::new((RwLock::new(0), AtomicUsize::new(0)));
        let (writes, reads) = (shared.clone(), shared);
        let writes = thread::spawn(move || match writes.0.try_write() {
            Ok(mut value) => {
                *value += 1;
                writes.1.load(SeqCst)
            }
            Err(_) => 99,
        });
        let reads = thread::spawn(move || {
            let value = reads.0.read().unwrap();
            reads.1.fetch_add(1, SeqCst);
            *value
        });
        vec![writes.join().unwrap(), reads.join().unwrap()]
    });
}

#[test]
fn threads_that_spin_for_each_other_in_a_row_end() {
    outcomes(&[&[2]], || {
        let turn = Arc::new(AtomicUsize::new(0));
        let all = [0, 1].map(|number| {
            let turn = turn.clone();
            thread::spawn(move || {
                while turn.load(SeqCst) != number {
                    thread::yield_now();
                }
                turn.store(number + 1, SeqCst);
            })
        });
        all.into_iter().for_each(|t| t.join().unwrap());
        vec![turn.load(SeqCst)]
    });
}

#[test]
fn tasks_interleave_where_they_access_shared_state() {
    outcomes(&[&[0, 1], &[0, 11], &[1, 11]], || {
        let value = Arc::new(AtomicUsize::new(0));
        let theirs = value.clone();
        let task = fabius::future::spawn(async move {
            let before = theirs.load(SeqCst);
            fabius::future::yield_now().await;
            theirs.store(before + 1, SeqCst);
        });
        let before = fabius::future::block_on(async {
            let before = value.fetch_add(10, SeqCst);
            task.await.unwrap();
            before
        });
        vec![before, value.load(SeqCst)]
    });
}

#[test]
fn a_weak_exchange_fails_for_no_reason_only_on_request() {
    let run = |config: Config| {
        let failed = std::sync::Mutex::new(BTreeSet::new());
        config.explore(|| {
            let value = AtomicUsize::new(0);
            failed.lock().unwrap().insert(value.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_err());
        });
        failed.into_inner().unwrap()
    };
    assert_eq!(run(Config::new()), BTreeSet::from([false]));
    assert_eq!(run(Config::new().spurious_failures()), BTreeSet::from([false, true]));
}

#[test]
fn a_weak_pointer_finds_the_value_as_long_as_somebody_owns_it() {
    outcomes(&[&[0, 1], &[7, 1]], || {
        let owner = Arc::new(7);
        let weak = Arc::downgrade(&owner);
        let reads = thread::spawn(move || weak.upgrade().map_or(0, |value| *value));
        let counted = Arc::strong_count(&owner);
        drop(owner);
        vec![reads.join().unwrap(), counted.min(1)]
    });
}

#[test]
fn a_wait_while_a_condition_holds_ends_with_the_condition_or_the_time() {
    outcomes(&[&[0, 1]], || {
        let shared = Arc::new((Mutex::new(true), Condvar::new()));
        let theirs = shared.clone();
        let helper = thread::scope(|scope| {
            let builder = thread::Builder::new().name("helper".into());
            let helper = builder.spawn_scoped(scope, || {
                *theirs.0.lock().unwrap() = false;
                theirs.1.notify_all();
                thread::current().name().map(String::from)
            });
            helper.unwrap().join().unwrap()
        });
        assert_eq!(helper.as_deref(), Some("helper"));
        let wait = |condition: bool| {
            let guard = shared.0.lock().unwrap();
            let limit = Duration::from_secs(1);
            let result = shared.1.wait_timeout_while(guard, limit, |waits| *waits || condition).unwrap();
            usize::from(result.1.timed_out())
        };
        vec![wait(false), wait(true)]
    });
}

#[test]
fn values_of_a_thread_are_its_own_and_dropped_before_it_is_joined() {
    fabius::thread_local! {
        static MINE: std::cell::RefCell<Vec<Arc<AtomicUsize>>> = std::cell::RefCell::new(Vec::new());
    }
    struct Tells(Arc<AtomicUsize>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.store(1, SeqCst);
        }
    }
    fabius::thread_local! {
        static TELLS: std::cell::RefCell<Option<Tells>> = const { std::cell::RefCell::new(None) };
    }
    outcomes(&[&[0, 1]], || {
        let told = Arc::new(AtomicUsize::new(0));
        let theirs = told.clone();
        let other = thread::spawn(move || {
            MINE.with(|mine| mine.borrow_mut().push(theirs.clone()));
            TELLS.with(|tells| *tells.borrow_mut() = Some(Tells(theirs)));
        });
        other.join().unwrap();
        vec![MINE.with(|mine| mine.borrow().len()), told.load(SeqCst)]
    });
}
