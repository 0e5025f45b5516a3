//! What operations of tokio order, and what they do not: data races are not hidden behind what only happens to come first.

use fabius::BugKind;
use fabius_tokio::sync::{Barrier, Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use fabius_tokio::task;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

/// Whether a future is ready at once.
fn is_ready<F: Future>(future: F) -> bool {
    pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// One task writes, does this, and raises a flag that orders nothing; the other does that and reads if the flag is up.
fn orders<C: Send + Sync + 'static>(channel: fn() -> C, first: fn(&C), second: fn(&C)) -> bool {
    use fabius::cell::UnsafeCell;
    use fabius::sync::atomic::{AtomicU32, Ordering::Relaxed};
    struct Shared<C>(UnsafeCell<u32>, AtomicU32, C);
    // SAFETY: accesses that race are found before they are made.
    unsafe impl<C: Sync> Sync for Shared<C> {}
    let report = crate::common::explore(|| async move {
        let shared = std::sync::Arc::new(Shared(UnsafeCell::new(0), AtomicU32::new(0), channel()));
        let theirs = shared.clone();
        let task = task::spawn(async move {
            // SAFETY: as above.
            theirs.0.with_mut(|value| unsafe { *value = 1 });
            first(&theirs.2);
            theirs.1.store(1, Relaxed);
        });
        if shared.1.load(Relaxed) == 1 {
            second(&shared.2);
            // SAFETY: as above.
            shared.0.with(|value| unsafe { *value });
        }
        task.await.unwrap();
    });
    let kind = report.trace().map(|trace| trace.kind);
    assert!(matches!(kind, None | Some(BugKind::DataRace)), "{report}");
    kind.is_none()
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
    let one = || std::sync::Mutex::new(oneshot::channel::<u32>());
    assert!(orders(one, |ends| ends.lock().unwrap().1.close(), |ends| assert!(ends.lock().unwrap().0.is_closed())));
    let queue = || std::sync::Mutex::new(mpsc::channel::<u32>(1));
    assert!(orders(
        queue,
        |ends| ends.lock().unwrap().0.try_send(1).unwrap(),
        |ends| assert_eq!(ends.lock().unwrap().1.try_recv(), Ok(1))
    ));
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
}
