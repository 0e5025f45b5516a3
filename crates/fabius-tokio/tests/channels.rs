//! What the documentation of tokio says of channels, in every execution.

use crate::common::{fails, holds, outcomes};
use broadcast::error::{RecvError, TryRecvError as NoMessage};
use fabius::BugKind;
use fabius_tokio::sync::{broadcast, mpsc, oneshot, watch};
use fabius_tokio::task;
use fabius_tokio::time::{Duration, sleep, timeout};
use mpsc::error::{SendError, SendTimeoutError, TryRecvError, TrySendError};
use std::collections::BTreeSet;
use std::future::Future;
use std::task::Poll;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn messages_come_in_order() {
    holds(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        let task = task::spawn(async move {
            for n in 0..3 {
                sender.send(n).await.unwrap();
            }
        });
        for n in 0..3 {
            assert_eq!(receiver.recv().await, Some(n));
        }
        assert_eq!(receiver.recv().await, None);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        task.await.unwrap();
    });
    holds(|| async {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let other = sender.clone();
        let task = task::spawn(async move { other.send(1).unwrap() });
        sender.send(2).unwrap();
        drop(sender);
        let mut all = Vec::new();
        while receiver.recv_many(&mut all, 2).await > 0 {}
        all.sort();
        assert_eq!(all, [1, 2]);
        task.await.unwrap();
    });
}

#[test]
fn a_full_channel_makes_senders_wait() {
    let full = outcomes(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        let task = task::spawn(async move { (receiver.recv().await, receiver.recv().await) });
        sender.send(1).await.unwrap();
        let full = match sender.try_send(2) {
            Ok(()) => false,
            Err(TrySendError::Full(2)) => {
                sender.send(2).await.unwrap();
                true
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(task.await.unwrap(), (Some(1), Some(2)));
        full
    });
    assert_eq!(full, BTreeSet::from([false, true]));
    holds(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        sender.send(1).await.unwrap();
        assert_eq!(sender.send_timeout(2, SECOND).await, Err(SendTimeoutError::Timeout(2)));
        assert_eq!(receiver.recv().await, Some(1));
        assert_eq!(sender.send_timeout(3, SECOND).await, Ok(()));
        drop(receiver);
        assert_eq!(sender.send_timeout(4, SECOND).await, Err(SendTimeoutError::Closed(4)));
    });
}

#[test]
fn a_place_that_is_reserved_outlives_closing() {
    holds(|| async {
        let (sender, mut receiver) = mpsc::channel(2);
        let other = sender.clone();
        let task = task::spawn(async move {
            let Ok(permit) = other.reserve().await else { return false };
            task::yield_now().await;
            permit.send(1);
            true
        });
        receiver.close();
        assert_eq!(sender.send(2).await, Err(SendError(2)));
        let received = receiver.recv().await;
        assert_eq!(received.is_some(), task.await.unwrap(), "what was promised a place has come");
        assert_eq!(receiver.recv().await, None, "and then it is over though a sender is alive");
    });
    // A place that is given back is the end, too.
    holds(|| async {
        let (sender, mut receiver) = mpsc::channel::<i32>(1);
        let permit = sender.reserve().await.unwrap();
        receiver.close();
        let task = task::spawn(async move { receiver.recv().await });
        drop(permit);
        assert_eq!(task.await.unwrap(), None);
    });
    // And so is somebody who was given a place and goes away.
    holds(|| async {
        let (sender, mut receiver) = mpsc::channel::<i32>(1);
        let permit = sender.reserve().await.unwrap();
        let mut waits = Box::pin(sender.reserve());
        assert!(std::future::poll_fn(|cx| Poll::Ready(waits.as_mut().poll(cx).is_pending())).await);
        drop(permit);
        receiver.close();
        let task = task::spawn(async move { receiver.recv().await });
        drop(waits);
        assert_eq!(task.await.unwrap(), None);
    });
    // A receiver that takes an empty queue for the end forgets it.
    fails(BugKind::Panic, || async {
        let (sender, mut receiver) = mpsc::channel(1);
        let task = task::spawn(async move {
            if let Ok(permit) = sender.reserve().await {
                permit.send(1);
            }
        });
        receiver.close();
        let received = receiver.try_recv();
        task.await.unwrap();
        assert!(received != Err(TryRecvError::Empty), "a message is still to come");
    });
}

#[test]
fn a_permit_that_is_dropped_frees_its_place() {
    holds(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        let permit = sender.clone().reserve_owned().await.unwrap();
        assert_eq!(sender.try_reserve().unwrap_err(), TrySendError::Full(()));
        let task = task::spawn(async move { sender.send(5).await });
        drop(permit);
        task.await.unwrap().unwrap();
        assert_eq!((receiver.recv().await, receiver.recv().await), (Some(5), None));
    });
}

#[test]
fn a_selection_that_gives_up_sending_leaves_its_place() {
    holds(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        sender.send(1).await.unwrap();
        let other = sender.clone();
        let gives_up = task::spawn(async move {
            fabius_tokio::select! {
                sent = other.send(2) => sent.is_ok(),
                () = task::yield_now() => false,
            }
        });
        let waits = task::spawn(async move { sender.send(3).await });
        let mut all = Vec::new();
        while let Some(message) = receiver.recv().await {
            all.push(message);
        }
        waits.await.unwrap().unwrap();
        let sent = gives_up.await.unwrap();
        assert_eq!((all.contains(&2), all.contains(&3)), (sent, true));
    });
}

#[test]
fn senders_see_that_nobody_receives() {
    holds(|| async {
        let (sender, receiver) = mpsc::channel::<i32>(1);
        let (quick, slow) = mpsc::unbounded_channel::<i32>();
        let weak = sender.downgrade();
        let task = task::spawn(async move {
            sender.closed().await;
            quick.closed().await;
            (sender.is_closed(), quick.send(1).is_err())
        });
        drop((receiver, slow));
        assert_eq!(task.await.unwrap(), (true, true));
        assert!(weak.upgrade().is_none());
    });
}

#[test]
fn one_message() {
    let seen = outcomes(|| async {
        let (sender, mut receiver) = oneshot::channel();
        let task = task::spawn(async move { sender.send(3) });
        let early = receiver.try_recv();
        let late = if early.is_err() { receiver.await.ok() } else { None };
        assert_eq!(task.await.unwrap(), Ok(()));
        (early.ok(), late)
    });
    assert_eq!(seen, BTreeSet::from([(Some(3), None), (None, Some(3))]));
}

#[test]
fn nobody_sends_or_receives() {
    holds(|| async {
        let (sender, receiver) = oneshot::channel::<i32>();
        let task = task::spawn(async move { drop(sender) });
        assert!(receiver.await.is_err());
        task.await.unwrap();
        let (mut sender, receiver) = oneshot::channel::<i32>();
        let task = task::spawn(async move { drop(receiver) });
        sender.closed().await;
        assert_eq!(sender.send(1), Err(1));
        task.await.unwrap();
    });
    // What was sent before the receiver closes is still there.
    let seen = outcomes(|| async {
        let (sender, mut receiver) = oneshot::channel();
        let task = task::spawn(async move { sender.send(1).is_ok() });
        receiver.close();
        let received = receiver.await.is_ok();
        assert_eq!(task.await.unwrap(), received);
        received
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
fn a_reply_that_comes_too_late() {
    holds(|| async {
        let (sender, receiver) = oneshot::channel::<i32>();
        let task = task::spawn(async move {
            fabius_tokio::time::sleep(2 * SECOND).await;
            sender.send(1)
        });
        assert!(timeout(SECOND, receiver).await.is_err());
        assert_eq!(task.await.unwrap(), Err(1), "the receiver is gone");
    });
}

#[test]
fn a_watch_shows_the_newest_value() {
    let seen = outcomes(|| async {
        let (sender, mut receiver) = watch::channel(0);
        let task = task::spawn(async move {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        let mut seen = Vec::new();
        while receiver.changed().await.is_ok() {
            seen.push(*receiver.borrow_and_update());
        }
        task.await.unwrap();
        seen
    });
    assert_eq!(seen, BTreeSet::from([vec![2], vec![1, 2]]), "the last value is never missed");
    // To borrow is not to take for seen: what comes between is seen twice.
    let seen = outcomes(|| async {
        let (sender, mut receiver) = watch::channel(0);
        let task = task::spawn(async move {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        let mut seen = Vec::new();
        while receiver.changed().await.is_ok() {
            seen.push(*receiver.borrow());
        }
        task.await.unwrap();
        seen
    });
    assert_eq!(seen, BTreeSet::from([vec![2], vec![1, 2], vec![2, 2]]));
}

#[test]
fn a_watch_is_waited_for_and_closed() {
    holds(|| async {
        let (sender, mut receiver) = watch::channel(0);
        assert!(!receiver.has_changed().unwrap());
        let task = task::spawn(async move {
            sender.send_modify(|value| *value += 1);
            assert!(!sender.send_if_modified(|_| false));
            assert_eq!(sender.send_replace(5), 1);
            sender.closed().await;
            assert!(sender.is_closed() && sender.send(6).is_err());
            *sender.borrow()
        });
        assert_eq!(*receiver.wait_for(|value| *value == 5).await.unwrap(), 5);
        assert!(timeout(SECOND, receiver.changed()).await.is_err());
        drop(receiver);
        assert_eq!(task.await.unwrap(), 5);
        let (sender, mut receiver) = watch::channel(1);
        drop(sender);
        assert!(receiver.wait_for(|value| *value == 1).await.is_ok(), "the value that is there is looked at");
        assert!(receiver.wait_for(|value| *value == 2).await.is_err());
        assert!(receiver.changed().await.is_err() && receiver.has_changed().is_err());
    });
    // Who sends waits for who borrows, with its thread.
    fails(BugKind::Deadlock, || async {
        let (sender, receiver) = watch::channel(0);
        let _borrowed = receiver.borrow();
        let _ = sender.send(1);
    });
}

#[test]
fn all_receivers_get_all_messages() {
    holds(|| async {
        let (sender, mut one) = broadcast::channel(2);
        let mut two = sender.subscribe();
        let task = task::spawn(async move { (two.recv().await, two.recv().await, two.recv().await) });
        assert_eq!((sender.send(1).unwrap(), sender.receiver_count()), (2, 2));
        let mut three = sender.subscribe();
        sender.send(2).unwrap();
        drop(sender);
        assert_eq!((one.recv().await, one.recv().await, one.recv().await), (Ok(1), Ok(2), Err(RecvError::Closed)));
        assert_eq!(task.await.unwrap(), (Ok(1), Ok(2), Err(RecvError::Closed)));
        assert_eq!((three.try_recv(), three.try_recv()), (Ok(2), Err(NoMessage::Closed)));
    });
}

#[test]
fn a_slow_receiver_misses_the_oldest() {
    let seen = outcomes(|| async {
        let (sender, mut receiver) = broadcast::channel(1);
        let task = task::spawn(async move {
            for n in 0..3 {
                sender.send(n).unwrap();
            }
            sender.len()
        });
        let (mut got, mut missed) = (Vec::new(), 0);
        loop {
            match receiver.recv().await {
                Ok(n) => got.push(n),
                Err(RecvError::Lagged(count)) => missed += count,
                Err(RecvError::Closed) => break,
            }
        }
        assert_eq!(got.len() as u64 + missed, 3);
        assert_eq!(got.last(), Some(&2), "the newest is never missed");
        assert!(task.await.unwrap() <= 1);
        got
    });
    assert_eq!(seen, BTreeSet::from([vec![2], vec![0, 2], vec![1, 2], vec![0, 1, 2]]));
    holds(|| async {
        let (sender, receiver) = broadcast::channel::<i32>(3);
        let mut other = receiver.resubscribe();
        drop(receiver);
        assert_eq!(other.try_recv(), Err(NoMessage::Empty));
        (0..5).for_each(|n| drop(sender.send(n)));
        assert_eq!(sender.len(), 4, "the capacity is a power of two");
        assert_eq!((other.try_recv(), other.try_recv()), (Err(NoMessage::Lagged(1)), Ok(1)));
        let task = task::spawn(async move { drop(other) });
        sender.closed().await;
        assert!(sender.send(9).is_err() && sender.is_empty());
        task.await.unwrap();
    });
}

#[test]
fn a_limit_begins_when_it_is_waited_for() {
    holds(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        sender.send(1).await.unwrap();
        let sends = sender.send_timeout(2, 2 * SECOND);
        sleep(2 * SECOND).await;
        let receives = task::spawn(async move {
            sleep(SECOND).await;
            (receiver.recv().await, receiver.recv().await)
        });
        assert_eq!(sends.await, Ok(()));
        assert_eq!(receives.await.unwrap(), (Some(1), Some(2)));
    });
}
