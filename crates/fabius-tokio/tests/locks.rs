//! What the documentation of tokio says of locks, permits and notifications, in every execution.

use crate::common::{fails, holds, outcomes};
use fabius::BugKind;
use fabius::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use fabius_tokio::sync::{Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, SetError, TryAcquireError};
use fabius_tokio::task;
use fabius_tokio::time::{Duration, sleep, timeout};
use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

const SECOND: Duration = Duration::from_secs(1);

/// Polls once, with nobody to wake.
fn poll_once<F: Future + ?Sized>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn permits_go_to_who_has_waited_longest() {
    holds(|| async {
        let semaphore = Semaphore::new(1);
        let held = semaphore.acquire().await.unwrap();
        fabius_tokio::pin! {
            let three = semaphore.acquire_many(3);
            let one = semaphore.acquire();
        }
        assert!(poll_once(three.as_mut()).is_pending() && poll_once(one.as_mut()).is_pending());
        semaphore.add_permits(1);
        assert!(poll_once(one.as_mut()).is_pending(), "who wants many is not overtaken");
        assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
        drop(held);
        semaphore.add_permits(2);
        let Poll::Ready(Ok(all)) = poll_once(three.as_mut()) else { panic!("there are three") };
        assert_eq!(all.num_permits(), 3);
        assert!(poll_once(one.as_mut()).is_ready());
        drop(all);
        assert_eq!(semaphore.available_permits(), 4, "the permit of `one` was dropped at once");
    });
}

#[test]
fn who_goes_away_hands_on_what_it_got() {
    holds(|| async {
        let semaphore = Semaphore::new(1);
        {
            fabius_tokio::pin! {
                let two = semaphore.acquire_many(2);
            }
            assert!(poll_once(two.as_mut()).is_pending());
            assert_eq!(semaphore.available_permits(), 0, "the first of two is taken");
        }
        assert_eq!(semaphore.available_permits(), 1);
    });
    // A permit is given to a selection that has chosen its other branch.
    let seen = outcomes(|| async {
        let semaphore = Arc::new(Semaphore::new(0));
        let (one, two) = (semaphore.clone(), semaphore.clone());
        let selects = task::spawn(async move {
            fabius_tokio::select! {
                permit = one.acquire() => { permit.unwrap().forget(); true }
                () = task::yield_now() => false,
            }
        });
        let waits =
            task::spawn(
                async move { timeout(SECOND, two.acquire()).await.map(|permit| permit.unwrap().forget()).is_ok() },
            );
        semaphore.add_permits(1);
        let (selected, waited) = (selects.await.unwrap(), waits.await.unwrap());
        assert!(selected != waited, "the permit is lost, or there are two");
        selected
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
fn a_closed_semaphore_gives_nothing() {
    holds(|| async {
        let semaphore = Arc::new(Semaphore::new(0));
        let theirs = semaphore.clone();
        let task = task::spawn(async move { theirs.acquire_owned().await.is_err() });
        semaphore.close();
        assert!(task.await.unwrap() && semaphore.is_closed());
        assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
    });
}

#[test]
fn a_lock_is_for_one() {
    holds(|| async {
        let lock = Arc::new(Mutex::new((0, 0)));
        let theirs = lock.clone();
        let task = task::spawn(async move {
            let mut guard = theirs.lock_owned().await;
            guard.0 += 1;
            task::yield_now().await;
            guard.1 += 1;
        });
        {
            let guard = lock.lock().await;
            assert_eq!(guard.0, guard.1);
            assert!(lock.try_lock().is_err());
        }
        task.await.unwrap();
        assert_eq!(*lock.try_lock().unwrap(), (1, 1));
    });
    fails(BugKind::Deadlock, || async {
        let lock = Mutex::new(());
        let _guard = lock.lock().await;
        let _ = lock.lock().await;
    });
    // Two locks in two orders.
    fails(BugKind::Deadlock, || async {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let theirs = locks.clone();
        let task = task::spawn(async move {
            let _second = theirs.1.lock().await;
            let _first = theirs.0.lock().await;
        });
        {
            let _first = locks.0.lock().await;
            let _second = locks.1.lock().await;
        }
        task.await.unwrap();
    });
}

/// Who waits looks at the flag and then waits to be told; the other sets it and tells.
async fn waits_for_a_flag(waiter: fn(Arc<(AtomicBool, Notify)>) -> task::JoinHandle<()>, tells: fn(&Notify)) {
    let shared = Arc::new((AtomicBool::new(false), Notify::new()));
    let task = waiter(shared.clone());
    shared.0.store(true, SeqCst);
    tells(&shared.1);
    task.await.unwrap();
}

fn looks_then_waits(shared: Arc<(AtomicBool, Notify)>) -> task::JoinHandle<()> {
    task::spawn(async move {
        while !shared.0.load(SeqCst) {
            shared.1.notified().await;
        }
    })
}

fn begins_to_wait_then_looks(shared: Arc<(AtomicBool, Notify)>) -> task::JoinHandle<()> {
    task::spawn(async move {
        loop {
            let notified = shared.1.notified();
            if shared.0.load(SeqCst) {
                return;
            }
            notified.await;
        }
    })
}

#[test]
fn a_wake_up_is_lost_or_not() {
    fails(BugKind::Deadlock, || waits_for_a_flag(looks_then_waits, Notify::notify_waiters));
    holds(|| waits_for_a_flag(looks_then_waits, Notify::notify_one));
    holds(|| waits_for_a_flag(begins_to_wait_then_looks, Notify::notify_waiters));
}

#[test]
fn one_permit_is_stored() {
    holds(|| async {
        let notify = Notify::new();
        notify.notify_waiters();
        assert!(timeout(SECOND, notify.notified()).await.is_err(), "`notify_waiters` leaves nothing");
        notify.notify_one();
        notify.notify_one();
        notify.notified().await;
        assert!(timeout(SECOND, notify.notified()).await.is_err(), "one permit is left, not two");
    });
}

#[test]
fn a_notification_for_one_is_not_lost() {
    holds(|| async {
        let notify = Notify::new();
        let mut first = Box::pin(notify.notified());
        let mut second = Box::pin(notify.notified());
        assert!(!first.as_mut().enable() && !second.as_mut().enable());
        notify.notify_one();
        assert!(poll_once(second.as_mut()).is_pending());
        drop(first);
        assert!(poll_once(second.as_mut()).is_ready(), "it was passed on");
        let mut last = Box::pin(notify.notified());
        assert!(!last.as_mut().enable());
        notify.notify_waiters();
        drop(last);
        assert!(timeout(SECOND, notify.notified()).await.is_err(), "that for all is not passed on");
    });
}

#[test]
fn time_and_locks_go_together() {
    holds(|| async {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let task = task::spawn(async move {
            let mut guard = theirs.lock().await;
            sleep(2 * SECOND).await;
            *guard += 1;
        });
        sleep(SECOND).await;
        assert!(timeout(SECOND / 2, lock.lock()).await.is_err());
        assert_eq!(*lock.lock().await, 1);
        task.await.unwrap();
    });
}

#[test]
fn many_read_or_one_writes() {
    let seen = outcomes(|| async {
        let lock = Arc::new(RwLock::new((0, 0)));
        let readers = Arc::new(AtomicUsize::new(0));
        let (theirs, ours) = (lock.clone(), readers.clone());
        let task = task::spawn(async move {
            let guard = theirs.read().await;
            let others = ours.fetch_add(1, SeqCst);
            assert_eq!(guard.0, guard.1);
            task::yield_now().await;
            ours.fetch_sub(1, SeqCst);
            others
        });
        {
            let mut guard = lock.write().await;
            guard.0 += 1;
            task::yield_now().await;
            guard.1 += 1;
            let guard = guard.downgrade();
            assert_eq!((*guard, lock.try_write().is_err()), ((1, 1), true));
        }
        let guard = lock.clone().read_owned().await;
        let others = readers.fetch_add(1, SeqCst);
        task::yield_now().await;
        readers.fetch_sub(1, SeqCst);
        drop(guard);
        others.max(task.await.unwrap())
    });
    assert_eq!(seen, BTreeSet::from([0, 1]), "two may read at once");
}

#[test]
fn a_writer_in_an_arc_becomes_a_reader() {
    holds(|| async {
        let lock = Arc::new(RwLock::new(0));
        let theirs = lock.clone();
        let task = task::spawn(async move { *theirs.write_owned().await += 1 });
        let mut guard = lock.clone().write_owned().await;
        let before = std::mem::replace(&mut *guard, 10);
        let guard = guard.downgrade();
        assert!(lock.try_write().is_err(), "nobody writes in between");
        assert_eq!((*guard, before < 2), (10, true));
        drop(guard);
        task.await.unwrap();
        assert_eq!(*lock.read().await, 11 - before);
        assert_eq!(Arc::strong_count(&lock), 1);
    });
}

#[test]
fn a_reader_waits_behind_a_writer() {
    holds(|| async {
        let lock = RwLock::new(());
        let first = lock.read().await;
        let (mut writer, mut second) = (Box::pin(lock.write()), Box::pin(lock.read()));
        assert!(poll_once(writer.as_mut()).is_pending());
        assert!(lock.try_read().is_err() && poll_once(second.as_mut()).is_pending());
        drop(writer);
        assert!(poll_once(second.as_mut()).is_ready(), "nobody waits to write any more");
        drop(first);
        assert!(lock.try_write().is_ok());
    });
}

#[test]
fn all_come_to_a_barrier() {
    holds(|| async {
        let (barrier, arrived) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
        let come = |barrier: Arc<Barrier>, arrived: Arc<AtomicUsize>| async move {
            arrived.fetch_add(1, SeqCst);
            let result = barrier.wait().await;
            assert_eq!(arrived.load(SeqCst), 2, "somebody is missing");
            result.is_leader()
        };
        let task = task::spawn(come(barrier.clone(), arrived.clone()));
        let mine = come(barrier, arrived).await;
        assert!(mine != task.await.unwrap(), "there is one leader");
    });
}

#[test]
fn a_cell_is_initialized_once() {
    static CELL: OnceCell<usize> = OnceCell::const_new();
    let seen = outcomes(|| async {
        let calls = Arc::new(AtomicUsize::new(0));
        let init = |value: usize, calls: Arc<AtomicUsize>| async move {
            calls.fetch_add(1, SeqCst);
            task::yield_now().await;
            value
        };
        let theirs = calls.clone();
        let task = task::spawn(async move { *CELL.get_or_init(|| init(1, theirs)).await });
        let mine = *CELL.get_or_init(|| init(2, calls.clone())).await;
        assert_eq!((task.await.unwrap(), CELL.get(), calls.load(SeqCst)), (mine, Some(&mine), 1));
        assert!(matches!(CELL.set(3), Err(SetError::AlreadyInitializedError(3))));
        mine
    });
    assert_eq!(seen, BTreeSet::from([1, 2]));
    // Who fails or goes away leaves it to the next.
    holds(|| async {
        let cell = Arc::new(OnceCell::new());
        let theirs = cell.clone();
        let task = task::spawn(async move {
            let failed = theirs.get_or_try_init(|| async { Err::<i32, _>("no") }).await;
            assert!(matches!(failed, Err("no") | Ok(7)));
            let gone = timeout(SECOND, theirs.get_or_init(std::future::pending)).await;
            assert!(matches!(gone, Err(_) | Ok(7)));
        });
        assert_eq!(*cell.get_or_init(|| async { 7 }).await, 7);
        task.await.unwrap();
        assert_eq!(cell.get(), Some(&7));
    });
}
