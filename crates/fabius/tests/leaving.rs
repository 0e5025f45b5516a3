//! What those order who leave a channel, come to a barrier or wake somebody: no more than std documents.

use crate::orderings::{Shared, judge};
use fabius::sync::atomic::Ordering::Relaxed;
use fabius::sync::{Barrier, mpsc};
use fabius::thread;

/// One thread writes, does something to what is its own, and raises a flag that orders nothing; the other does something else, and
/// reads, if the flag is up.
fn after_a_flag<A: Send + 'static, B>(
    both: impl Fn() -> (A, B) + Sync,
    first: fn(A),
    second: impl Fn(&B) + Sync,
) -> impl Fn() + Sync {
    move || {
        let shared = Shared::new();
        let (other, (theirs, mine)) = (shared.clone(), both());
        let writer = thread::spawn(move || {
            other.write();
            first(theirs);
            other.flag.store(1, Relaxed);
        });
        if shared.flag.load(Relaxed) == 1 {
            second(&mine);
            shared.read();
        }
        writer.join().unwrap();
    }
}

#[test]
fn who_leaves_a_channel_comes_before_who_finds_nobody_at_that_end_and_at_no_other() {
    let senders = || {
        let (sender, _) = mpsc::channel::<u32>();
        (sender.clone(), sender)
    };
    judge("a sender and another one", true, after_a_flag(senders, drop, |sender| assert!(sender.send(1).is_err())));
    let ends = mpsc::channel::<u32>;
    judge("the sender", false, after_a_flag(ends, drop, |receiver| assert!(receiver.recv().is_err())));
    judge("the sender", false, after_a_flag(ends, drop, |receiver| assert!(receiver.try_recv().is_err())));
    for places in [0, 1] {
        let ends = || mpsc::sync_channel::<u32>(places);
        let senders = || {
            let (sender, _) = ends();
            (sender.clone(), sender)
        };
        let turned = || {
            let (sender, receiver) = ends();
            (receiver, sender)
        };
        let tries = |sender: &mpsc::SyncSender<u32>| assert!(sender.try_send(1).is_err());
        let sends = |sender: &mpsc::SyncSender<u32>| assert!(sender.send(1).is_err());
        judge("a sender and another one", true, after_a_flag(senders, drop, sends));
        judge("a sender and another one", true, after_a_flag(senders, drop, tries));
        judge("the receiver", false, after_a_flag(turned, drop, sends));
        judge("the receiver", false, after_a_flag(turned, drop, tries));
        judge("the sender", false, after_a_flag(ends, drop, |receiver| assert!(receiver.recv().is_err())));
    }
    judge("a sender, where the receiver leaves meanwhile", true, || {
        let shared = Shared::new();
        let other = shared.clone();
        let (sender, receiver) = mpsc::sync_channel::<u32>(0);
        let another = sender.clone();
        let writer = thread::spawn(move || {
            other.write();
            drop(another);
        });
        let leaves = thread::spawn(move || drop(receiver));
        assert!(sender.send(1).is_err());
        shared.read();
        writer.join().unwrap();
        leaves.join().unwrap();
    });
}

#[test]
fn a_message_that_goes_with_its_receiver_orders_nothing_if_it_has_no_destructor() {
    fn sends<T: Send + 'static>(message: fn() -> T) -> impl Fn() + Sync {
        let both = move || {
            let (sender, receiver) = mpsc::channel();
            ((sender, message), std::sync::Mutex::new(Some(receiver)))
        };
        let drops = |receiver: &std::sync::Mutex<Option<mpsc::Receiver<T>>>| {
            let receiver = receiver.lock().unwrap().take();
            drop(receiver);
        };
        after_a_flag(both, |(sender, message)| sender.send(message()).unwrap(), drops)
    }
    judge("a number", true, sends(|| 1));
    judge("a box", false, sends(|| Box::new(1)));
}

#[test]
fn a_barrier_orders_those_of_a_round_and_not_rounds() {
    let one = || {
        let barrier = std::sync::Arc::new(Barrier::new(1));
        (barrier.clone(), barrier)
    };
    let waits = |barrier: &std::sync::Arc<Barrier>| assert!(barrier.wait().is_leader());
    judge("rounds of one", true, after_a_flag(one, |barrier| assert!(barrier.wait().is_leader()), waits));
    for all in [2, 3] {
        judge("all of a round", false, move || {
            let shared: Vec<_> = (0..all).map(|_| Shared::new()).collect();
            let barrier = std::sync::Arc::new(Barrier::new(all));
            let comes = |(me, barrier): (usize, std::sync::Arc<Barrier>), shared: &[std::sync::Arc<Shared>]| {
                shared[me].write();
                barrier.wait();
                shared.iter().for_each(|shared| shared.read());
            };
            let others = (1..all).map(|me| {
                let (shared, barrier) = (shared.clone(), barrier.clone());
                thread::spawn(move || comes((me, barrier), &shared))
            });
            let others: Vec<_> = others.collect();
            comes((0, barrier), &shared);
            others.into_iter().for_each(|other| other.join().unwrap());
        });
    }
}

#[test]
fn who_is_woken_comes_after_who_wakes_it_and_wakes_after_nobody() {
    use std::task::{Poll, Waker};
    let both = || {
        let waker = fabius::future::block_on(std::future::poll_fn(|cx| Poll::Ready(cx.waker().clone())));
        (waker.clone(), waker)
    };
    judge("two wakes", true, after_a_flag(both, Waker::wake, Waker::wake_by_ref));
    judge("who is woken", false, || {
        let (shared, mut writer) = (Shared::new(), None);
        fabius::future::block_on(std::future::poll_fn(|cx| {
            if writer.is_some() {
                return Poll::Ready(());
            }
            let (other, waker) = (shared.clone(), cx.waker().clone());
            writer = Some(thread::spawn(move || {
                other.write();
                waker.wake();
            }));
            Poll::Pending
        }));
        shared.read();
        writer.unwrap().join().unwrap();
    });
}
