//! What those order who leave a channel of tokio, close it, or drop what is in it: no more than tokio documents, or does.

use crate::orders::{Kept, Shared, is_ready, kept, orders, take};
use fabius_tokio::sync::{broadcast, mpsc, oneshot, watch};
use fabius_tokio::task;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

#[test]
fn a_message_without_a_destructor_orders_nothing_where_it_is_dropped() {
    type One<T> = (Kept<oneshot::Sender<T>>, Kept<oneshot::Receiver<T>>);
    type Queue<T> = (mpsc::UnboundedSender<T>, Kept<mpsc::UnboundedReceiver<T>>);
    fn one<T>() -> One<T> {
        let (sender, receiver) = oneshot::channel();
        (kept(sender), kept(receiver))
    }
    fn queue<T>() -> Queue<T> {
        let (sender, receiver) = mpsc::unbounded_channel();
        (sender, kept(receiver))
    }
    assert!(!orders(one, |ends: &One<u32>| take(&ends.0).send(1).unwrap(), |ends| drop(take(&ends.1))));
    assert!(orders(one, |ends: &One<Box<u32>>| take(&ends.0).send(Box::new(1)).unwrap(), |ends| drop(take(&ends.1))));
    assert!(!orders(queue, |ends: &Queue<u32>| ends.0.send(1).unwrap(), |ends| drop(take(&ends.1))));
    assert!(orders(queue, |ends: &Queue<Box<u32>>| ends.0.send(Box::new(1)).unwrap(), |ends| drop(take(&ends.1))));
}

#[test]
fn that_a_oneshot_is_closed_orders_nothing() {
    // In tokio the receiver releases nothing then.
    type Ends = (Kept<oneshot::Sender<u32>>, Kept<oneshot::Receiver<u32>>);
    let one = || {
        let (sender, receiver) = oneshot::channel::<u32>();
        (kept(sender), kept(receiver))
    };
    let closes: [fn(&Ends); 2] = [|ends| take(&ends.1).close(), |ends| drop(take(&ends.1))];
    for close in closes {
        assert!(!orders(one, close, |ends| assert!(take(&ends.0).is_closed())));
        assert!(!orders(one, close, |ends| assert!(take(&ends.0).send(1).is_err())));
        assert!(!orders(one, close, |ends| assert!(is_ready(take(&ends.0).closed()))));
    }
    let closed = || {
        let (sender, mut receiver) = oneshot::channel::<u32>();
        receiver.close();
        (kept(sender), kept(receiver))
    };
    let sends: [fn(&Ends); 2] = [|ends| assert!(take(&ends.0).send(1).is_err()), |ends| drop(take(&ends.0))];
    for send in sends {
        assert!(!orders(closed, send, |ends| assert!(take(&ends.1).try_recv().is_err())));
    }
}

#[test]
fn the_ends_of_a_watch_are_not_its_value() {
    type Watch = (Kept<watch::Sender<u32>>, watch::Sender<u32>, Kept<watch::Receiver<u32>>, watch::Receiver<u32>);
    let watch = || {
        let (sender, receiver) = watch::channel(0);
        sender.send(1).unwrap();
        (kept(sender.clone()), sender, kept(receiver.clone()), receiver)
    };
    let leave: [fn(&Watch); 2] = [|watch| drop(take(&watch.0)), |watch| drop(take(&watch.2))];
    for leaves in leave {
        assert!(!orders(watch, leaves, |watch| drop(watch.3.borrow())));
        assert!(!orders(watch, leaves, |watch| drop(watch.1.borrow())));
        assert!(!orders(watch, leaves, |watch| watch.1.send(2).unwrap()));
        assert!(!orders(watch, leaves, |watch| assert!(watch.3.has_changed().unwrap())));
        assert!(!orders(watch, leaves, |watch| drop(watch.1.subscribe())));
    }
}

#[test]
fn who_asks_for_the_value_of_a_watch_comes_before_nobody() {
    type Watch = (watch::Sender<u32>, watch::Receiver<u32>);
    let watch = || {
        let (sender, receiver) = watch::channel(0);
        sender.send(1).unwrap();
        (sender, receiver)
    };
    let asks: [fn(&Watch); 3] = [
        |(_, receiver)| assert!(receiver.has_changed().unwrap()),
        |(_, receiver)| assert!(is_ready(receiver.clone().changed())),
        |(sender, _)| drop(sender.subscribe()),
    ];
    for ask in asks {
        assert!(!orders(watch, ask, |(sender, _)| sender.send(2).unwrap()));
        assert!(!orders(watch, ask, ask));
    }
    let sends = |(sender, _): &Watch| sender.send(2).unwrap();
    assert!(orders(watch, sends, asks[0]) && orders(watch, sends, asks[1]) && !orders(watch, sends, asks[2]));
    assert!(orders(watch, sends, sends));
}

#[test]
fn the_end_of_a_watch_comes_after_all_who_have_sent() {
    type Watch = (Kept<watch::Sender<u32>>, watch::Receiver<u32>);
    type Turned = (watch::Sender<u32>, Kept<watch::Receiver<u32>>);
    let watch = || {
        let (sender, receiver) = watch::channel(0);
        (kept(sender), receiver)
    };
    let leaves = |watch: &Watch| drop(take(&watch.0));
    assert!(orders(watch, leaves, |watch| assert!(watch.1.has_changed().is_err())));
    assert!(orders(watch, leaves, |watch| assert!(watch.1.is_closed())));
    assert!(orders(watch, leaves, |watch| assert!(is_ready(watch.1.clone().changed()))));
    assert!(!orders(watch, leaves, |watch| drop(watch.1.borrow())));
    // Receivers are only counted.
    let turned = || {
        let (sender, receiver) = watch::channel(0);
        (sender, kept(receiver))
    };
    let leaves = |watch: &Turned| drop(take(&watch.1));
    assert!(!orders(turned, leaves, |watch| assert!(watch.0.is_closed())));
    assert!(!orders(turned, leaves, |watch| assert!(watch.0.send(1).is_err())));
    assert!(!orders(turned, leaves, |watch| assert!(is_ready(watch.0.closed()))));
}

#[test]
fn who_is_woken_comes_after_who_left_last() {
    crate::common::holds(|| async {
        let (mut sender, receiver) = oneshot::channel::<u32>();
        let shared = Shared::new(());
        let theirs = shared.clone();
        let task = task::spawn(async move {
            theirs.write();
            drop(receiver);
        });
        let (mut polls, mut closed) = (0, pin!(sender.closed()));
        poll_fn(|cx| {
            polls += 1;
            closed.as_mut().poll(cx)
        })
        .await;
        // What is ready at once orders nothing.
        if polls > 1 {
            shared.read();
        }
        task.await.unwrap();
    });
}

#[test]
fn who_drops_a_sender_comes_before_who_finds_none_alone() {
    type Bounded = (Kept<mpsc::Sender<u32>>, mpsc::Sender<u32>, mpsc::Receiver<u32>);
    type Unbounded = (Kept<mpsc::UnboundedSender<u32>>, Kept<mpsc::UnboundedReceiver<u32>>);
    let closed = || {
        let (sender, mut receiver) = mpsc::channel::<u32>(1);
        receiver.close();
        (kept(sender.clone()), sender, receiver)
    };
    let leaves = |ends: &Bounded| drop(take(&ends.0));
    assert!(!orders(closed, leaves, |ends| assert!(ends.1.is_closed())));
    assert!(!orders(closed, leaves, |ends| assert!(ends.1.try_send(1).is_err())));
    assert!(!orders(closed, leaves, |ends| assert!(is_ready(ends.1.closed()))));
    assert!(!orders(closed, leaves, |ends| assert!(is_ready(ends.1.reserve()))));
    assert!(!orders(closed, leaves, |ends| assert!(ends.2.is_closed())));
    let ends = || {
        let (sender, receiver) = mpsc::unbounded_channel();
        (kept(sender), kept(receiver))
    };
    let finds_none: [fn(&Unbounded); 3] = [
        |ends| assert_eq!(take(&ends.1).try_recv(), Err(mpsc::error::TryRecvError::Disconnected)),
        |ends| assert!(is_ready(take(&ends.1).recv())),
        |ends| assert!(take(&ends.1).is_closed()),
    ];
    for finds in finds_none {
        assert!(orders(ends, |ends| drop(take(&ends.0)), finds));
    }
    let closes: [fn(&Unbounded); 2] = [|ends| take(&ends.1).close(), |ends| drop(take(&ends.1))];
    for close in closes {
        assert!(orders(ends, close, |ends| assert!(take(&ends.0).is_closed())));
        assert!(orders(ends, close, |ends| assert!(take(&ends.0).send(1).is_err())));
        assert!(orders(ends, close, |ends| assert!(is_ready(take(&ends.0).closed()))));
    }
    let closed = || {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        receiver.close();
        (kept(sender), kept(receiver))
    };
    for close in closes {
        assert!(!orders(closed, close, |ends| assert!(take(&ends.0).is_closed())), "it was closed before");
    }
}

#[test]
fn who_drops_an_end_of_a_broadcast_comes_before_who_finds_none_of_that() {
    type Ends = (Kept<broadcast::Sender<u32>>, Kept<broadcast::Receiver<u32>>);
    let senders = || {
        let (sender, _) = broadcast::channel::<u32>(1);
        (kept(sender.clone()), sender)
    };
    assert!(!orders(senders, |ends| drop(take(&ends.0)), |ends| assert!(ends.1.send(1).is_err())));
    let receivers = || {
        let (_, receiver) = broadcast::channel::<u32>(1);
        (kept(receiver.resubscribe()), kept(receiver))
    };
    assert!(!orders(receivers, |ends| drop(take(&ends.0)), |ends| assert!(take(&ends.1).try_recv().is_err())));
    let ends = || {
        let (sender, receiver) = broadcast::channel::<u32>(1);
        (kept(sender), kept(receiver))
    };
    let closed = |ends: &Ends| assert_eq!(take(&ends.1).try_recv(), Err(broadcast::error::TryRecvError::Closed));
    assert!(orders(ends, |ends| drop(take(&ends.0)), closed));
    assert!(orders(ends, |ends| drop(take(&ends.0)), |ends| assert!(is_ready(take(&ends.1).recv()))));
    assert!(orders(ends, |ends| drop(take(&ends.1)), |ends| assert!(take(&ends.0).send(1).is_err())));
    assert!(orders(ends, |ends| drop(take(&ends.1)), |ends| assert!(is_ready(take(&ends.0).closed()))));
}

#[test]
fn a_message_to_all_comes_before_who_gets_it_and_before_nobody_else() {
    type Ends = (broadcast::Sender<u32>, Kept<broadcast::Receiver<u32>>, Kept<broadcast::Receiver<u32>>);
    fn ends() -> Ends {
        let (sender, receiver) = broadcast::channel::<u32>(1);
        (sender, kept(receiver.resubscribe()), kept(receiver))
    }
    let sends = |ends: &Ends| assert!(ends.0.send(1).is_ok());
    assert!(orders(ends, sends, |ends| assert!(take(&ends.1).try_recv().is_ok())));
    assert!(!orders(ends, sends, |ends| drop(take(&ends.1))), "the message is for others, too");
    assert!(!orders(ends, sends, sends), "what is dropped has no destructor");
    let has_one = || {
        let ends = ends();
        ends.0.send(0).unwrap();
        ends
    };
    let receives = |ends: &Ends| assert!(take(&ends.2).try_recv().is_ok());
    assert!(!orders(has_one, receives, |ends| assert!(take(&ends.1).try_recv().is_ok())));
    let lags = |ends: &Ends| {
        assert_eq!(take(&ends.1).try_recv(), Err(broadcast::error::TryRecvError::Lagged(1)));
    };
    assert!(orders(has_one, sends, lags));
    assert!(!orders(has_one, |ends| drop(take(&ends.2)), |ends| assert!(take(&ends.1).try_recv().is_ok())));
}

/// A message that looks when it is copied, and writes when it goes; its copies do not.
struct Looks(Option<Arc<Shared<()>>>);

impl Clone for Looks {
    fn clone(&self) -> Looks {
        self.0.iter().for_each(|shared| shared.read());
        Looks(None)
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        self.0.iter().for_each(|shared| shared.write());
    }
}

#[test]
fn a_message_to_all_goes_after_who_has_sent_and_who_has_copied_it() {
    // Who drops it: the last who receives it, who sends too much, or a receiver that goes.
    for last in 0..3 {
        crate::common::holds(|| async move {
            let (sender, mut one) = broadcast::channel(1);
            let mut other = sender.subscribe();
            let sends = sender.clone();
            let first = task::spawn(async move {
                let shared = Shared::new(());
                shared.write();
                assert!(sends.send(Looks(Some(shared))).is_ok());
            });
            let second = task::spawn(async move { drop(one.recv().await) });
            let has_got_it = other.try_recv().map(drop).is_ok();
            match last {
                _ if has_got_it => {}
                0 => drop(other.recv().await),
                1 => drop(sender.send(Looks(None))),
                _ => drop(other),
            }
            first.await.unwrap();
            second.await.unwrap();
        });
    }
}

/// A message that looks when it is copied, and no more.
struct Copied(Arc<Shared<()>>);

impl Clone for Copied {
    fn clone(&self) -> Copied {
        self.0.read();
        Copied(self.0.clone())
    }
}

#[test]
fn the_only_receiver_copies_a_message_as_well() {
    let report = crate::common::explore(|| async move {
        let (sender, mut only) = broadcast::channel(1);
        let task = task::spawn(async move {
            let shared = Shared::new(());
            assert!(sender.send(Copied(shared.clone())).is_ok());
            shared.write();
        });
        drop(only.recv().await);
        task.await.unwrap();
    });
    assert_eq!(report.trace().map(|trace| trace.kind), Some(fabius::BugKind::DataRace), "{report}");
}

#[test]
fn the_value_of_a_watch_goes_after_who_has_used_an_end() {
    crate::common::holds(|| async {
        let shared = Shared::new(());
        let (sender, receiver) = watch::channel(Looks(Some(shared)));
        let task = task::spawn(async move { drop(Looks::clone(&receiver.borrow())) });
        drop(Looks::clone(&sender.borrow()));
        drop(sender);
        task.await.unwrap();
    });
}

/// What writes when it goes.
struct Writes(Arc<Shared<()>>);

impl Drop for Writes {
    fn drop(&mut self) {
        self.0.write();
    }
}

#[test]
fn the_value_of_a_watch_goes_after_all_ends_also_where_the_first_to_go_still_wakes_others() {
    crate::common::holds(|| async {
        let (sender, mut one) = watch::channel(Writes(Shared::new(())));
        let mut other = one.clone();
        let (says, said) = oneshot::channel::<()>();
        let first = task::spawn(async move {
            one.changed().await.unwrap_err();
            one.borrow().0.read();
            drop(one);
            says.send(()).unwrap();
        });
        let second = task::spawn(async move {
            looks(other.changed()).await;
            said.await.unwrap();
            drop(other);
        });
        drop(sender);
        first.await.unwrap();
        second.await.unwrap();
    });
}

#[test]
fn who_has_waited_for_the_end_of_a_watch_comes_after_it() {
    crate::common::holds(|| async {
        let shared = Shared::new(());
        let theirs = shared.clone();
        let (sender, receiver) = watch::channel(0);
        let (goes, gone) = oneshot::channel::<()>();
        let task = task::spawn(async move {
            gone.await.unwrap();
            theirs.write();
            drop(receiver);
        });
        let mut closed = Box::pin(sender.closed());
        assert!(!is_ready(closed.as_mut()));
        goes.send(()).unwrap();
        closed.await;
        shared.read();
        task.await.unwrap();
    });
    // But not after who was there once more, and left again.
    type Watch = (Kept<watch::Receiver<u32>>, Kept<Pin<Box<dyn Future<Output = ()> + Send>>>);
    let watch = || {
        let (sender, receiver) = watch::channel(0);
        let sender: &'static watch::Sender<u32> = Box::leak(Box::new(sender));
        let mut closed: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(sender.closed());
        assert!(!is_ready(closed.as_mut()));
        drop(receiver);
        (kept(sender.subscribe()), kept(closed))
    };
    let waited = |watch: &Watch| assert!(is_ready(take(&watch.1)));
    assert!(!orders(watch, |watch| drop(take(&watch.0)), waited));
}

/// Polls once, as the task that it is part of.
async fn looks<F: Future>(future: F) {
    let mut future = pin!(future);
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await;
}

/// Sends by a place that it may have got before there was no receiver.
async fn sends_in_vain(sender: mpsc::Sender<Writes>) {
    if let Ok(permit) = sender.reserve().await {
        let shared = Shared::new(());
        shared.write();
        permit.send(Writes(shared));
    }
}

#[test]
fn a_message_that_nobody_can_receive_any_more_goes_after_who_has_sent_it() {
    crate::common::holds(|| async {
        let (sender, receiver) = mpsc::channel(1);
        let other = sender.clone();
        let task = task::spawn(sends_in_vain(sender));
        drop(receiver);
        drop(other);
        task.await.unwrap();
    });
    // Who knows the channel, and has no part in it, keeps what is in it.
    crate::common::holds(|| async {
        let (sender, receiver) = mpsc::channel(1);
        let weak = sender.downgrade();
        let task = task::spawn(sends_in_vain(sender));
        drop(receiver);
        drop(weak);
        task.await.unwrap();
    });
    // The receiver still wakes somebody.
    crate::common::holds(|| async {
        let (sender, receiver) = mpsc::channel(1);
        let other = sender.clone();
        let task = task::spawn(sends_in_vain(sender));
        let looking = task::spawn(async move { looks(other.closed()).await });
        drop(receiver);
        task.await.unwrap();
        looking.await.unwrap();
    });
    type Ends = (Kept<mpsc::Sender<Box<u32>>>, Kept<mpsc::Sender<Box<u32>>>);
    let no_message = || {
        let (sender, _) = mpsc::channel::<Box<u32>>(1);
        (kept(sender.clone()), kept(sender))
    };
    assert!(!orders(no_message, |ends: &Ends| drop(take(&ends.0)), |ends| drop(take(&ends.1))));
}
