//! What operations on channels order, and what they do not: data races are not hidden behind what only happens to come first.

use fabius::{BugKind, Config, Report, thread};
use fabius_crossbeam_channel::{Receiver, Sender, bounded, select, unbounded};
use std::time::Duration;

fn explore(test: impl Fn() + Sync) -> Report {
    Config::new().name("crossbeam_channel_orders").explore(test)
}

struct Cell(fabius::cell::UnsafeCell<i32>);

// SAFETY: accesses that race are found before they are made.
unsafe impl Sync for Cell {}

/// One thread writes and does something to its ends; the other, if it finds by a flag that orders nothing that it has, does
/// something to the others and reads.
fn comes_before<A: Send + 'static, B, K: Send + 'static>(
    ends: impl Fn() -> (A, B) + Sync,
    first: impl Fn(A) -> K + Copy + Sync + Send + 'static,
    second: impl Fn(&B) + Sync,
) -> bool {
    use fabius::sync::atomic::{AtomicU32, Ordering::Relaxed};
    let report = explore(|| {
        let shared = std::sync::Arc::new((Cell(fabius::cell::UnsafeCell::new(0)), AtomicU32::new(0)));
        let ((theirs, mine), other) = (ends(), shared.clone());
        let other = thread::spawn(move || {
            // SAFETY: accesses that race are found before they are made.
            other.0.0.with_mut(|value| unsafe { *value = 1 });
            let kept = first(theirs);
            other.1.store(1, Relaxed);
            kept
        });
        if shared.1.load(Relaxed) == 1 {
            second(&mine);
            // SAFETY: as above.
            shared.0.0.with(|value| unsafe { *value });
        }
        other.join().unwrap();
    });
    let kind = report.trace().map(|t| t.kind);
    assert!(matches!(kind, None | Some(BugKind::DataRace)), "{report}");
    kind.is_none()
}

/// The same for two who have both ends.
fn orders(
    channel: fn() -> (Sender<u32>, Receiver<u32>),
    first: fn(&Sender<u32>, &Receiver<u32>),
    second: fn(&Sender<u32>, &Receiver<u32>),
) -> bool {
    let both = move || {
        let ends = channel();
        (ends.clone(), ends)
    };
    let first = move |ends: (Sender<u32>, Receiver<u32>)| {
        first(&ends.0, &ends.1);
        ends
    };
    comes_before(both, first, move |ends| second(&ends.0, &ends.1))
}

#[test]
fn who_leaves_comes_before_who_finds_nobody_at_that_end_and_at_no_other() {
    for channel in [unbounded::<u32>, || bounded(1), || bounded(0)] {
        let senders = || {
            let (sender, _) = channel();
            (sender.clone(), sender)
        };
        assert!(!comes_before(senders, drop, |sender| assert!(sender.send(1).is_err())));
        assert!(!comes_before(senders, drop, |sender| assert!(sender.try_send(1).is_err())));
        assert!(!comes_before(senders, drop, |sender| select! { send(sender, 1) -> sent => assert!(sent.is_err()) }));
        let receivers = || {
            let (_, receiver) = channel();
            (receiver.clone(), receiver)
        };
        assert!(!comes_before(receivers, drop, |receiver| assert!(receiver.recv().is_err())));
        assert!(!comes_before(receivers, drop, |receiver| assert!(receiver.try_recv().is_err())));
        assert!(!comes_before(receivers, drop, |r| select! { recv(r) -> got => assert!(got.is_err()) }));
        assert!(comes_before(channel, drop, |receiver| assert!(receiver.recv().is_err())));
        assert!(comes_before(channel, drop, |r| select! { recv(r) -> got => assert!(got.is_err()) }));
        let turned = || {
            let (sender, receiver) = channel();
            (receiver, sender)
        };
        assert!(comes_before(turned, drop, |sender| assert!(sender.send(1).is_err())));
        assert!(comes_before(turned, drop, |s| select! { send(s, 1) -> sent => assert!(sent.is_err()) }));
    }
}

#[test]
fn a_look_that_finds_nothing_orders_nothing() {
    for channel in [unbounded, || bounded(1), || bounded(0)] {
        assert!(!orders(channel, |_, r| assert!(r.try_recv().is_err()), |_, r| assert!(r.try_recv().is_err())));
    }
    let full = |s: &Sender<u32>, _: &Receiver<u32>| assert!(s.try_send(1).is_err());
    assert!(!orders(|| bounded(0), full, full));
}

#[test]
fn a_message_comes_after_no_other_one() {
    let sends = |s: &Sender<u32>, _: &Receiver<u32>| s.send(1).unwrap();
    assert!(!orders(unbounded, sends, sends));
    assert!(!orders(|| bounded(2), sends, sends));
    assert!(orders(|| bounded(2), sends, |_, r| assert!(r.recv().is_ok())));
    assert!(orders(|| bounded(2), sends, |_, r| assert!(r.try_recv().is_ok())));
    assert!(orders(unbounded, sends, |_, r| assert!(r.recv_timeout(Duration::from_millis(1)).is_ok())));
    assert!(orders(unbounded, sends, |_, r| select! { recv(r) -> message => assert!(message.is_ok()) }));
}

#[test]
fn a_selection_orders_what_its_operation_does() {
    let sends = |s: &Sender<u32>, _: &Receiver<u32>| select! { send(s, 1) -> sent => sent.unwrap() };
    let fails = |_: &Sender<u32>, r: &Receiver<u32>| select! { recv(r) -> _ => unreachable!(), default => {} };
    assert!(!orders(unbounded, sends, sends));
    assert!(!orders(|| bounded(2), sends, sends));
    assert!(!orders(|| bounded(2), sends, |s, _| s.send(1).unwrap()));
    assert!(!orders(unbounded, fails, fails));
    let receives = |_: &Sender<u32>, r: &Receiver<u32>| select! { recv(r) -> message => assert!(message.is_ok()) };
    assert!(orders(|| bounded(2), sends, receives));
    let fills = || {
        let (sender, receiver) = bounded(1);
        sender.send(1).unwrap();
        (sender, receiver)
    };
    assert!(orders(fills, receives, sends));
    assert!(orders(fills, receives, |s, _| s.try_send(1).unwrap()));
    let has_two = || {
        let (sender, receiver) = unbounded();
        sender.send(1).unwrap();
        (sender, receiver)
    };
    assert!(!orders(has_two, sends, receives), "the first message was there before");
}

#[test]
fn who_needs_the_place_of_a_message_comes_after_who_has_received_it() {
    let fills = || {
        let (sender, receiver) = bounded(1);
        sender.send(1).unwrap();
        (sender, receiver)
    };
    let receives = |_: &Sender<u32>, r: &Receiver<u32>| assert!(r.recv().is_ok());
    assert!(orders(fills, receives, |s, _| s.send(1).unwrap()));
    assert!(orders(fills, receives, |s, _| s.try_send(1).unwrap()));
    assert!(!orders(|| bounded(1), |_, r| assert!(r.try_recv().is_err()), |s, _| s.send(1).unwrap()));
}

/// Writes when it is dropped.
struct Writes(std::sync::Arc<Cell>);

impl Drop for Writes {
    fn drop(&mut self) {
        // SAFETY: accesses that race are found before they are made.
        self.0.0.with_mut(|value| unsafe { *value = 2 });
    }
}

#[test]
fn a_message_that_goes_with_its_receiver_has_been_sent_before() {
    let report = explore(|| {
        let cell = std::sync::Arc::new(Cell(fabius::cell::UnsafeCell::new(0)));
        let (sender, receiver) = unbounded();
        let other = thread::spawn(move || {
            // SAFETY: accesses that race are found before they are made.
            cell.0.with_mut(|value| unsafe { *value = 1 });
            // Who cannot send keeps the message.
            let _sent = sender.send(Writes(cell)).map_err(|error| std::mem::forget(error.0));
        });
        drop(receiver);
        other.join().unwrap();
    });
    assert!(report.failure().is_none(), "{}", report.failure().unwrap());
}

/// Who sends, by a selection or not.
#[test]
fn a_message_that_is_handed_over_orders_both() {
    for (who_writes, selects) in [(0, false), (1, false), (0, true), (1, true)] {
        let report = explore(move || {
            let cell = std::sync::Arc::new(Cell(fabius::cell::UnsafeCell::new(0)));
            let ((sender, receiver), theirs) = (bounded(0), cell.clone());
            let access = move |cell: &Cell, writes: bool| match writes {
                // SAFETY: accesses that race are found before they are made.
                true => cell.0.with_mut(|value| unsafe { *value = 1 }),
                // SAFETY: as above.
                false => assert!(cell.0.with(|value| unsafe { *value }) >= 0),
            };
            let other = thread::spawn(move || {
                if who_writes == 0 {
                    access(&theirs, true);
                }
                match selects {
                    true => select! { send(sender, ()) -> sent => sent.unwrap() },
                    false => sender.send(()).unwrap(),
                }
                if who_writes == 1 {
                    access(&theirs, false);
                }
            });
            if who_writes == 1 {
                access(&cell, true);
            }
            receiver.recv().unwrap();
            if who_writes == 0 {
                access(&cell, false);
            }
            other.join().unwrap();
        });
        assert!(report.failure().is_none(), "{}", report.failure().unwrap());
    }
}
