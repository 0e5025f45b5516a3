//! Outside of a check the types work as std's do, also with real threads. No test here needs a fiber, so that they run under
//! miri: CONTRIBUTING.md says how.

use fabius::sync::atomic::{AtomicBool, AtomicPtr, AtomicU128, AtomicUsize, Ordering::SeqCst};
use fabius::sync::{
    Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard, TryLockError, Weak, mpsc,
};
use fabius::thread;
use std::cell::Cell;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError, TrySendError};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Real threads.
const THREADS: usize = 3;

/// What each of them does.
const TIMES: usize = if cfg!(miri) { 20 } else { 10_000 };

fn together(f: impl Fn(usize) + Sync) {
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let f = &f;
            scope.spawn(move || f(number));
        }
    });
}

#[test]
fn atomics_lose_no_update() {
    let (number, wide, flag) = (AtomicUsize::new(0), AtomicU128::new(0), AtomicBool::new(false));
    together(|_| {
        for _ in 0..TIMES {
            number.fetch_add(1, SeqCst);
            wide.fetch_add(1 << 100, SeqCst);
            flag.fetch_xor(true, SeqCst);
            let mut now = number.load(SeqCst);
            while let Err(other) = number.compare_exchange(now, now + 1, SeqCst, SeqCst) {
                now = other;
            }
        }
    });
    assert_eq!(number.into_inner(), 2 * THREADS * TIMES);
    assert_eq!(wide.load(SeqCst), ((THREADS * TIMES) as u128) << 100);
    assert_eq!(flag.load(SeqCst), THREADS * TIMES % 2 == 1);
    let (mut one, mut two) = (1, 2);
    let pointer = AtomicPtr::new(&mut one);
    assert_eq!(pointer.swap(&mut two, SeqCst), &raw mut one);
    assert_eq!(pointer.load(SeqCst), &raw mut two);
    assert_eq!(wide.compare_exchange(0, 1, SeqCst, SeqCst), Err(wide.load(SeqCst)));
}

#[test]
fn a_mutex_excludes_and_is_poisoned() {
    let lock = Mutex::new(Vec::new());
    together(|number| {
        for _ in 0..TIMES {
            let mut list = lock.lock().unwrap();
            list.push(number.to_string());
            if list.len() > 10 {
                list.clear();
            }
        }
    });
    let guard = lock.lock().unwrap();
    assert!(matches!(std::thread::scope(|s| s.spawn(|| lock.try_lock().is_err()).join()), Ok(true)));
    drop(guard);
    assert!(lock.try_lock().is_ok());
    let panicked = std::thread::scope(|s| {
        s.spawn(|| {
            let _guard = lock.lock();
            panic!("poisons it");
        })
        .join()
    });
    assert!(panicked.is_err() && lock.is_poisoned() && lock.lock().is_err());
    assert!(matches!(lock.try_lock(), Err(TryLockError::Poisoned(_))));
    lock.clear_poison();
    assert!(lock.lock().is_ok());
}

#[test]
fn a_lock_for_readers_and_writers_excludes() {
    let lock = RwLock::new((0, 0));
    together(|_| {
        for _ in 0..TIMES {
            let mut pair = lock.write().unwrap();
            pair.0 += 1;
            pair.1 += 1;
            let pair = RwLockWriteGuard::downgrade(pair);
            assert_eq!(pair.0, pair.1);
            drop(pair);
            let pair = lock.read().unwrap();
            assert_eq!(pair.0, pair.1);
        }
    });
    assert_eq!(lock.read().unwrap().0, THREADS * TIMES);
    let reader = lock.read().unwrap();
    assert!(lock.try_read().is_ok() && lock.try_write().is_err());
    drop(reader);
    let writer = lock.write().unwrap();
    assert!(lock.try_read().is_err());
    let reader = RwLockWriteGuard::downgrade(writer);
    assert!(lock.try_read().is_ok() && lock.try_write().is_err());
    drop(reader);
    assert!(lock.try_write().is_ok());
}

#[test]
fn a_condition_variable_wakes() {
    let (turn, changed) = (Mutex::new(0), Condvar::new());
    together(|number| {
        for round in 0..TIMES / 10 {
            let mut turn = changed.wait_while(turn.lock().unwrap(), |t| *t != round * THREADS + number).unwrap();
            *turn += 1;
            changed.notify_all();
        }
    });
    let guard = turn.lock().unwrap();
    let (guard, timeout) = changed.wait_timeout(guard, Duration::from_millis(1)).unwrap();
    // A wait may end for no reason.
    let _ = timeout.timed_out();
    let (guard, timeout) = changed.wait_timeout_while(guard, Duration::from_millis(1), |_| true).unwrap();
    assert!(timeout.timed_out());
    assert_eq!(*guard, TIMES / 10 * THREADS);
}

#[test]
fn all_arrive_at_a_barrier_and_one_leads() {
    let (barrier, arrived, leaders) = (Barrier::new(THREADS), AtomicUsize::new(0), AtomicUsize::new(0));
    together(|_| {
        arrived.fetch_add(1, SeqCst);
        if barrier.wait().is_leader() {
            leaders.fetch_add(1, SeqCst);
        }
        assert_eq!(arrived.load(SeqCst), THREADS);
    });
    assert_eq!(leaders.load(SeqCst), 1);
}

#[test]
fn what_happens_once_happens_once() {
    static LAZY: LazyLock<String> = LazyLock::new(|| "lazy".repeat(10));
    let (once, cell, count) = (Once::new(), OnceLock::new(), AtomicUsize::new(0));
    together(|number| {
        once.call_once(|| {
            count.fetch_add(1, SeqCst);
        });
        assert!(once.is_completed());
        once.wait();
        once.wait_force();
        assert_eq!(*cell.get_or_init(|| number), *cell.get().unwrap());
        assert_eq!(cell.set(7), Err(7));
        assert_eq!((cell.wait(), cell.clone().get()), (cell.get().unwrap(), cell.get()));
        assert_eq!(LAZY.len(), 40);
    });
    assert_eq!(count.load(SeqCst), 1);
    let mut other = OnceLock::from(String::from("made"));
    other.get_mut().unwrap().push('!');
    assert_eq!(other.get().map(String::as_str), Some("made!"));
    assert_eq!(other.take(), Some("made!".into()));
    assert_eq!(other.set("again".into()), Ok(()));
    assert_eq!(other.into_inner(), Some("again".into()));
}

#[test]
fn channels_block_and_end() {
    let (sender, receiver) = mpsc::channel();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(receiver.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let sender = sender.clone();
            scope.spawn(move || (0..TIMES).for_each(|n| sender.send(n * THREADS + number).unwrap()));
        }
        drop(sender);
        let sum: usize = receiver.iter().sum();
        assert_eq!(sum, (0..TIMES * THREADS).sum::<usize>());
    });
    assert!(receiver.recv().is_err());
    let (sender, receiver) = mpsc::sync_channel(0);
    assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
    std::thread::scope(|scope| {
        scope.spawn(move || (0..3).for_each(|n| sender.send(n).unwrap()));
        assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
    });
}

#[test]
fn threads_park_and_have_values_of_their_own() {
    fabius::thread_local! {
        static MINE: Cell<usize> = const { Cell::new(1) };
    }
    let main = thread::current();
    let woken = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            MINE.set(5);
            woken.store(true, SeqCst);
            main.unpark();
        });
        while !woken.load(SeqCst) {
            thread::park();
        }
        thread::park_timeout(Duration::from_millis(1));
        thread::yield_now();
    });
    assert_eq!(MINE.get(), 1);
    assert_eq!(thread::current().id(), main.id());
    let other = std::thread::scope(|scope| scope.spawn(|| thread::current().id()).join().unwrap());
    assert_ne!(other, main.id());
}

#[test]
fn a_future_is_woken_from_another_thread() {
    let done = AtomicBool::new(false);
    let waker: Mutex<Option<Waker>> = Mutex::new(None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while waker.lock().unwrap().is_none() {
                std::thread::yield_now();
            }
            done.store(true, SeqCst);
            waker.lock().unwrap().take().unwrap().wake();
        });
        fabius::future::block_on(std::future::poll_fn(|context| {
            if done.load(SeqCst) {
                return Poll::Ready(());
            }
            *waker.lock().unwrap() = Some(context.waker().clone());
            if done.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
        }));
    });
}

#[test]
fn counts_of_references_are_right() {
    let text = Arc::new(String::from("shared"));
    together(|_| {
        for _ in 0..TIMES {
            let mine = text.clone();
            assert_eq!(mine.len(), 6);
            let raw = Arc::into_raw(mine);
            // SAFETY: the pointer came from `into_raw`, and each count is given back once.
            unsafe {
                Arc::increment_strong_count(raw);
                Arc::decrement_strong_count(raw);
                assert_eq!(*raw, "shared");
                drop(Arc::from_raw(raw));
            }
        }
    });
    assert_eq!(Arc::strong_count(&text), 1);
    assert_eq!(Arc::try_unwrap(text).unwrap(), "shared");
    let list: Arc<[usize]> = (0..3).collect();
    let raw = Arc::into_raw(list);
    // SAFETY: as above.
    assert_eq!(*unsafe { Arc::from_raw(raw) }, [0, 1, 2]);
    let empty = Arc::new(());
    let raw = Arc::into_raw(empty.clone());
    assert_eq!(Arc::as_ptr(&empty), raw);
    // SAFETY: as above.
    drop(unsafe { Arc::from_raw(raw) });
    struct Own(Weak<Own>, usize);
    let own = Arc::new_cyclic(|weak: &Weak<Own>| Own(weak.clone(), 5));
    assert_eq!(own.0.upgrade().unwrap().1, 5);
    let got = AtomicUsize::new(0);
    let many = Arc::new(String::from("one of them gets it"));
    let owners: Vec<_> = (0..THREADS).map(|_| Mutex::new(Some(many.clone()))).collect();
    drop(many);
    together(|number| {
        let mine = owners[number].lock().unwrap().take().unwrap();
        got.fetch_add(usize::from(Arc::into_inner(mine).is_some()), SeqCst);
    });
    assert_eq!(got.load(SeqCst), 1);
}
