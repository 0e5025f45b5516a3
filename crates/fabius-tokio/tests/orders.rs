//! What operations of tokio order, and what they do not: data races are not hidden behind what only happens to come first.

use fabius::cell::UnsafeCell;
use fabius::sync::atomic::{AtomicU32, Ordering::Relaxed};
use fabius::{BugKind, Report};
use fabius_tokio::sync::{
    Barrier, Mutex, Notify, OnceCell, OwnedNotified, RwLock, Semaphore, broadcast, mpsc, oneshot, watch,
};
use fabius_tokio::task::{self, AbortHandle};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Whether a future is ready at once.
pub fn is_ready<F: Future>(future: F) -> bool {
    pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// One task writes, does this, and raises a flag that orders nothing; the other does that and reads if the flag is up.
pub fn orders<C: Send + Sync + 'static>(channel: fn() -> C, first: fn(&C), second: fn(&C)) -> bool {
    is_ordered(crate::common::explore(|| async move {
        let shared = Shared::new(channel());
        let theirs = shared.clone();
        let task = task::spawn(async move {
            theirs.write();
            first(&theirs.2);
            theirs.1.store(1, Relaxed);
        });
        if shared.1.load(Relaxed) == 1 {
            second(&shared.2);
            shared.read();
        }
        task.await.unwrap();
    }))
}

fn is_ordered(report: Report) -> bool {
    let kind = report.trace().map(|trace| trace.kind);
    assert!(matches!(kind, None | Some(BugKind::DataRace)), "{report}");
    kind.is_none()
}

/// A cell, a flag, and what else two tasks share.
pub struct Shared<C>(UnsafeCell<u32>, AtomicU32, C);

// SAFETY: accesses that race are found before they are made.
unsafe impl<C: Sync> Sync for Shared<C> {}

impl<C> Shared<C> {
    pub fn new(other: C) -> Arc<Shared<C>> {
        Arc::new(Shared(UnsafeCell::new(0), AtomicU32::new(0), other))
    }

    pub fn write(&self) {
        // SAFETY: one thread runs at a time.
        self.0.with_mut(|value| unsafe { *value = 1 });
    }

    pub fn read(&self) {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value });
    }
}

/// What somebody drops, or uses alone.
pub type Kept<T> = std::sync::Mutex<Option<T>>;

pub fn kept<T>(value: T) -> Kept<T> {
    std::sync::Mutex::new(Some(value))
}

pub fn take<T>(kept: &Kept<T>) -> T {
    let taken = kept.lock().unwrap().take();
    taken.expect("it is there")
}

#[test]
fn what_only_looks_orders_nothing() {
    let watch = || watch::channel(0).0;
    assert!(!orders(watch, |sender| assert!(sender.is_closed()), |sender| assert_eq!(sender.receiver_count(), 0)));
    let bounded = || mpsc::channel::<u32>(1);
    assert!(!orders(bounded, |(_, receiver)| assert_eq!(receiver.len(), 0), |(s, _)| assert!(!s.is_closed())));
    assert!(!orders(bounded, |(s, _)| assert_eq!(s.capacity(), 1), |(_, receiver)| assert!(!receiver.is_closed())));
    let full = || {
        let channel = mpsc::channel(1);
        channel.0.try_send(1).unwrap();
        channel
    };
    let fails = |(sender, _): &(mpsc::Sender<u32>, mpsc::Receiver<u32>)| assert!(sender.try_send(2).is_err());
    assert!(!orders(full, fails, fails));
    let one = || std::sync::Mutex::new(oneshot::channel::<u32>());
    let finds_nothing = |ends: &std::sync::Mutex<(oneshot::Sender<u32>, oneshot::Receiver<u32>)>| {
        assert!(ends.lock().unwrap().1.try_recv().is_err());
    };
    assert!(!orders(one, |ends| assert!(!ends.lock().unwrap().0.is_closed()), finds_nothing));
    let all = || broadcast::channel::<u32>(1).0;
    assert!(!orders(all, |sender| assert_eq!(sender.receiver_count(), 0), |sender| assert!(sender.is_empty())));
}

#[test]
fn what_has_come_to_pass_comes_before_who_finds_it() {
    type One = (Kept<oneshot::Sender<u32>>, Kept<oneshot::Receiver<u32>>);
    let one = || {
        let (sender, receiver) = oneshot::channel();
        (kept(sender), kept(receiver))
    };
    let fails = |(_, receiver): &One| assert!(take(receiver).try_recv().is_err());
    assert!(orders(one, |(sender, _)| drop(take(sender)), fails));
    let receives = |(_, receiver): &One| assert!(take(receiver).try_recv().is_ok());
    assert!(orders(one, |(sender, _)| take(sender).send(1).unwrap(), receives));
    let queue = || std::sync::Mutex::new(mpsc::channel::<u32>(1));
    assert!(orders(
        queue,
        |ends| ends.lock().unwrap().0.try_send(1).unwrap(),
        |ends| assert_eq!(ends.lock().unwrap().1.try_recv(), Ok(1))
    ));
}

#[test]
fn who_closes_what_is_closed_comes_before_nobody() {
    let closed = || {
        let semaphore = Semaphore::new(1);
        semaphore.close();
        semaphore
    };
    let fails = |semaphore: &Semaphore| assert!(semaphore.try_acquire().is_err());
    assert!(orders(|| Semaphore::new(1), Semaphore::close, fails));
    assert!(orders(|| Semaphore::new(1), Semaphore::close, |semaphore| assert!(semaphore.is_closed())));
    assert!(!orders(closed, Semaphore::close, fails));
    assert!(!orders(closed, Semaphore::close, |semaphore| assert!(semaphore.is_closed())));
}

#[test]
fn who_has_waited_comes_after_the_call_that_notified_it_alone() {
    type Waits = (Arc<Notify>, Kept<Pin<Box<OwnedNotified>>>);
    fn waits() -> Waits {
        let notify = Arc::new(Notify::new());
        (notify.clone(), kept(Box::pin(notify.notified_owned())))
    }
    let calls = |(notify, _): &Waits| notify.notify_waiters();
    let goes_on = |(_, waits): &Waits| assert!(is_ready(take(waits)));
    assert!(orders(waits, calls, goes_on));
    let notified = || {
        let waits = waits();
        waits.0.notify_waiters();
        waits
    };
    assert!(!orders(notified, calls, goes_on), "it was notified before");
    assert!(!orders(Notify::new, Notify::notify_waiters, |notify| {
        let mut waits = pin!(notify.notified());
        notify.notify_waiters();
        assert!(is_ready(waits.as_mut()));
    }));
}

/// Whether who does this to a task that is over comes before who then learns that it is.
fn orders_the_end(does: fn(&AbortHandle, Waker)) -> bool {
    is_ordered(crate::common::explore(|| async move {
        let (waker, shared) = (Arc::new(std::sync::Mutex::new(None)), Shared::new(()));
        let (place, theirs) = (waker.clone(), shared.clone());
        let over = task::spawn(poll_fn(move |cx| {
            *place.lock().unwrap() = Some(cx.waker().clone());
            Poll::Ready(())
        }));
        let handle = over.abort_handle();
        let task = task::spawn(async move {
            if handle.is_finished() {
                let waker = waker.lock().unwrap().take();
                theirs.write();
                does(&handle, waker.expect("it has run"));
                theirs.1.store(1, Relaxed);
            }
        });
        if shared.1.load(Relaxed) == 1 {
            assert!(over.is_finished());
            over.await.unwrap();
            shared.read();
        }
        task.await.unwrap();
    }))
}

#[test]
fn the_end_of_a_task_comes_after_what_it_did_and_not_after_who_wakes_or_aborts_it_then() {
    assert!(!orders_the_end(|handle, _| handle.abort()));
    assert!(!orders_the_end(|_, waker| waker.wake()));
    assert!(!orders_the_end(|handle, _| assert!(handle.is_finished())));
    crate::common::holds(|| async {
        let shared = Shared::new(());
        let (theirs, others) = (shared.clone(), shared.clone());
        let task = task::spawn(async move { theirs.write() });
        let aborts = task.abort_handle();
        let other = task::spawn(async move {
            if aborts.is_finished() {
                others.read();
            }
        });
        task.await.unwrap();
        shared.read();
        other.await.unwrap();
    });
    crate::common::holds(|| async {
        let shared = Shared::new(());
        let theirs = shared.clone();
        let waits = task::spawn(std::future::pending::<()>());
        let handle = waits.abort_handle();
        let task = task::spawn(async move {
            theirs.write();
            handle.abort();
        });
        assert!(waits.await.unwrap_err().is_cancelled());
        shared.read();
        task.await.unwrap();
    });
}

#[test]
fn who_gets_the_result_of_one_task_of_a_set_comes_after_that_alone() {
    for all in [false, true] {
        let report = crate::common::explore(|| async move {
            let (shared, mut set) = (Shared::new(()), task::JoinSet::new());
            let (theirs, others) = (shared.clone(), shared.clone());
            set.spawn(async {});
            let second = set.spawn(async move { theirs.write() });
            let task = task::spawn(async move {
                if second.is_finished() {
                    others.1.store(1, Relaxed);
                }
            });
            if shared.1.load(Relaxed) == 1 {
                set.join_next().await.unwrap().unwrap();
                if all {
                    set.join_next().await.unwrap().unwrap();
                }
                shared.read();
            }
            task.await.unwrap();
        });
        assert_eq!(is_ordered(report), all);
    }
}

#[test]
fn who_starts_a_task_comes_after_nobody_who_has() {
    let report = crate::common::explore(|| async move {
        let shared = Shared::new(());
        let (theirs, others) = (shared.clone(), shared.clone());
        let first = task::spawn(async move {
            theirs.write();
            drop(task::spawn(async {}));
            theirs.1.store(1, Relaxed);
        });
        let second = task::spawn(async move {
            if others.1.load(Relaxed) == 1 {
                drop(task::spawn(async {}));
                others.read();
            }
        });
        first.await.unwrap();
        second.await.unwrap();
    });
    assert!(!is_ordered(report));
}

#[test]
fn a_value_that_is_set_once_comes_before_who_finds_it() {
    let sets = |cell: &OnceCell<u32>| cell.set(1).unwrap();
    assert!(orders(OnceCell::new, sets, |cell| assert_eq!(cell.get(), Some(&1))));
    assert!(orders(OnceCell::new, sets, |cell| assert!(cell.set(2).is_err())));
    assert!(orders(OnceCell::new, sets, |cell| assert!(is_ready(cell.get_or_init(|| async { 2 })))));
    let has_one = || {
        let cell = OnceCell::new();
        cell.set(1).unwrap();
        cell
    };
    let finds = |cell: &OnceCell<u32>| assert_eq!(cell.get(), Some(&1));
    assert!(!orders(has_one, finds, finds));
    assert!(!orders(has_one, |cell| assert!(cell.set(2).is_err()), finds));
    let looks = |cell: &OnceCell<u32>| assert!(cell.get().is_none());
    assert!(!orders(OnceCell::new, looks, sets));
    assert!(!orders(OnceCell::new, looks, looks));
}

type Queue = (mpsc::UnboundedSender<u32>, std::sync::Mutex<mpsc::UnboundedReceiver<u32>>);

fn queue() -> Queue {
    let (sender, receiver) = mpsc::unbounded_channel();
    (sender, std::sync::Mutex::new(receiver))
}

#[test]
fn a_message_comes_after_no_other_one_and_before_who_receives_it() {
    let sends = |(sender, _): &Queue| sender.send(1).unwrap();
    let receives = |(_, receiver): &Queue| assert!(receiver.lock().unwrap().try_recv().is_ok());
    assert!(!orders(queue, sends, sends));
    assert!(orders(queue, sends, receives));
    assert!(orders(queue, sends, |(_, receiver)| assert!(is_ready(receiver.lock().unwrap().recv()))));
    let has_one = || {
        let queue = queue();
        queue.0.send(0).unwrap();
        queue
    };
    assert!(!orders(has_one, sends, receives), "the first message was there before");
    assert!(orders(has_one, sends, |(_, receiver)| {
        assert!(is_ready(receiver.lock().unwrap().recv_many(&mut Vec::new(), 2)));
    }));
    let bounded = |(sender, _): &(mpsc::Sender<u32>, mpsc::Receiver<u32>)| sender.try_send(1).unwrap();
    assert!(!orders(|| mpsc::channel(2), bounded, bounded));
    let waits = |(sender, _): &(mpsc::Sender<u32>, mpsc::Receiver<u32>)| assert!(is_ready(sender.send(1)));
    assert!(!orders(|| mpsc::channel(2), waits, bounded));
    let all = |sender: &(broadcast::Sender<u32>, broadcast::Receiver<u32>)| assert_eq!(sender.0.send(1).unwrap(), 1);
    assert!(!orders(|| broadcast::channel(2), all, all));
}

#[test]
fn who_needs_a_place_comes_after_who_has_made_it() {
    type Bounded = (mpsc::Sender<u32>, std::sync::Mutex<mpsc::Receiver<u32>>);
    let full = || {
        let (sender, receiver) = mpsc::channel(1);
        sender.try_send(1).unwrap();
        (sender, std::sync::Mutex::new(receiver))
    };
    let receives = |(_, receiver): &Bounded| assert!(receiver.lock().unwrap().try_recv().is_ok());
    assert!(orders(full, receives, |(sender, _)| sender.try_send(2).unwrap()));
    let half_full = || {
        let (sender, receiver) = mpsc::channel(2);
        sender.try_send(1).unwrap();
        (sender, std::sync::Mutex::new(receiver))
    };
    assert!(!orders(half_full, receives, |(sender, _)| sender.try_send(2).unwrap()));
    assert!(orders(half_full, receives, |(sender, _)| {
        sender.try_send(2).unwrap();
        sender.try_send(3).unwrap();
    }));
}

#[test]
fn a_notification_comes_after_no_other_one_and_before_who_notices_it() {
    let notices = |notify: &Notify| assert!(is_ready(notify.notified()));
    assert!(!orders(Notify::new, Notify::notify_one, Notify::notify_one));
    assert!(!orders(Notify::new, Notify::notify_waiters, Notify::notify_one));
    assert!(!orders(Notify::new, Notify::notify_one, |notify| drop(notify.notified())));
    assert!(orders(Notify::new, Notify::notify_one, notices));
    let has_one = || {
        let notify = Notify::new();
        notify.notify_one();
        notify
    };
    assert!(orders(has_one, Notify::notify_one, notices), "who notices one may look for what both have done");
}

#[test]
fn what_waits_in_vain_orders_nothing() {
    let waits = |notify: &Notify| assert!(!is_ready(notify.notified()));
    assert!(!orders(Notify::new, waits, waits));
    assert!(!orders(Notify::new, waits, Notify::notify_one));
    let receives = |(_, receiver): &Queue| assert!(!is_ready(receiver.lock().unwrap().recv()));
    assert!(!orders(queue, receives, |(sender, _)| sender.send(1).unwrap()));
    let watch = || watch::channel(0);
    let waits = |ends: &(watch::Sender<u32>, watch::Receiver<u32>)| assert!(!is_ready(ends.0.closed()));
    assert!(!orders(watch, waits, waits));
    assert!(!orders(watch, |ends| drop(ends.1.borrow()), |ends| drop(ends.1.borrow())));
    assert!(orders(watch, |ends| drop(ends.1.borrow()), |ends| ends.0.send(1).unwrap()));
    assert!(orders(watch, |ends| ends.0.send(1).unwrap(), |ends| drop(ends.1.borrow())));
    let one = || std::sync::Mutex::new(oneshot::channel::<u32>());
    let waits = |ends: &std::sync::Mutex<(oneshot::Sender<u32>, oneshot::Receiver<u32>)>| {
        assert!(!is_ready(&mut ends.lock().unwrap().1));
    };
    assert!(!orders(one, waits, |ends| assert!(!ends.lock().unwrap().0.is_closed())));
}

#[test]
fn the_end_of_a_closed_channel_comes_after_who_gave_the_last_place_back() {
    let closed = || {
        let (sender, mut receiver) = mpsc::channel::<u32>(1);
        let sender: &'static mpsc::Sender<u32> = Box::leak(Box::new(sender));
        let permit = sender.try_reserve().unwrap();
        receiver.close();
        (std::sync::Mutex::new(Some(permit)), std::sync::Mutex::new(receiver))
    };
    assert!(orders(
        closed,
        |(permit, _)| drop(permit.lock().unwrap().take()),
        |(_, receiver)| assert_eq!(receiver.lock().unwrap().try_recv(), Err(mpsc::error::TryRecvError::Disconnected)),
    ));
}

#[test]
fn permits_come_after_who_has_given_them_back() {
    let has = |semaphore: &Semaphore| drop(semaphore.try_acquire().unwrap());
    assert!(orders(|| Semaphore::new(1), has, has));
    assert!(!orders(|| Semaphore::new(2), has, has), "the second one was never taken");
    assert!(orders(|| Semaphore::new(2), has, |semaphore| drop(semaphore.try_acquire_many(2).unwrap())));
    let locks = |mutex: &Mutex<u32>| drop(mutex.try_lock().unwrap());
    assert!(orders(|| Mutex::new(0), locks, |mutex| assert!(is_ready(mutex.lock()))));
    let (reads, writes) =
        (|lock: &RwLock<u32>| drop(lock.try_read().unwrap()), |lock: &RwLock<u32>| drop(lock.try_write().unwrap()));
    assert!(!orders(|| RwLock::new(0), reads, reads));
    assert!(orders(|| RwLock::new(0), reads, writes));
    assert!(orders(|| RwLock::new(0), writes, reads));
}

/// Which of two tasks leads.
#[test]
fn any_task_may_lead_at_a_barrier() {
    let all = crate::common::outcomes(|| async {
        let barrier = std::sync::Arc::new(Barrier::new(2));
        let order = std::sync::Arc::new(fabius::sync::atomic::AtomicU32::new(0));
        let (theirs, other) = (barrier.clone(), order.clone());
        let task = task::spawn(async move {
            let came = other.fetch_add(1, fabius::sync::atomic::Ordering::SeqCst);
            (came, theirs.wait().await.is_leader())
        });
        let mine = (order.fetch_add(1, fabius::sync::atomic::Ordering::SeqCst), barrier.wait().await.is_leader());
        let theirs = task.await.unwrap();
        assert!(mine.1 != theirs.1, "there is one leader");
        if mine.1 { mine.0 } else { theirs.0 }
    });
    assert_eq!(all, std::collections::BTreeSet::from([0, 1]));
}

#[test]
fn a_barrier_comes_after_who_has_come_and_not_after_who_comes_to_the_next_round() {
    let comes = |barrier: &Barrier| {
        let _is_last = is_ready(barrier.wait());
    };
    assert!(orders(|| Barrier::new(2), comes, comes));
    assert!(!orders(|| Barrier::new(3), comes, comes));
    assert!(!orders(|| Barrier::new(1), comes, comes), "each is a round");
}
