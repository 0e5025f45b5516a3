//! What the documentation of crossbeam-channel says, in every execution.

use fabius::{BugKind, Config, Report, thread, time::Instant};
use fabius_crossbeam_channel::{
    Receiver, RecvError, RecvTimeoutError, Select, SendError, SendTimeoutError, Sender, TryRecvError, TrySendError,
    after, at, bounded, never, select, select_biased, tick, unbounded,
};
use std::collections::BTreeSet;
use std::time::Duration;

#[path = "channels/orders.rs"]
mod orders;

const SECOND: Duration = Duration::from_secs(1);

fn explore(test: impl Fn() + Sync) -> Report {
    Config::new().name("crossbeam_channel").explore(test)
}

#[track_caller]
fn holds(test: impl Fn() + Sync) {
    let report = explore(test);
    assert!(report.failure().is_none(), "{}", report.failure().unwrap());
}

/// The outcomes of a test in all executions.
#[track_caller]
fn outcomes<T: Ord + Send>(test: impl Fn() -> T + Sync) -> BTreeSet<T> {
    let all = std::sync::Mutex::new(BTreeSet::new());
    let report = Config::new().iterative_preemptions().explore(|| {
        let outcome = test();
        all.lock().unwrap().insert(outcome);
    });
    assert!(report.failure().is_none(), "{}", report.failure().unwrap());
    all.into_inner().unwrap()
}

#[test]
fn messages_come_in_order() {
    holds(|| {
        let (sender, receiver) = unbounded();
        let other = thread::spawn(move || (0..3).for_each(|n| sender.send(n).unwrap()));
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((receiver.recv(), receiver.try_recv()), (Err(RecvError), Err(TryRecvError::Disconnected)));
        other.join().unwrap();
    });
}

#[test]
fn a_full_channel_makes_senders_wait() {
    let lengths = outcomes(|| {
        let (sender, receiver) = bounded(1);
        let theirs = receiver.clone();
        let other = thread::spawn(move || (theirs.recv().unwrap(), theirs.recv().unwrap()));
        sender.send(1).unwrap();
        let full = matches!(sender.try_send(2), Err(TrySendError::Full(2)));
        if full {
            sender.send(2).unwrap();
        }
        assert_eq!(other.join().unwrap(), (1, 2));
        assert!(receiver.is_empty() && !sender.is_full());
        assert_eq!((sender.capacity(), receiver.len()), (Some(1), 0));
        full
    });
    assert_eq!(lengths, BTreeSet::from([false, true]));
}

#[test]
fn nobody_is_left() {
    holds(|| {
        let (sender, receiver) = bounded(1);
        sender.send(1).unwrap();
        let other = thread::spawn(move || drop(receiver));
        assert_eq!(sender.send(2), Err(SendError(2)));
        assert_eq!(sender.try_send(3), Err(TrySendError::Disconnected(3)));
        other.join().unwrap();
        let (sender, receiver) = bounded::<i32>(0);
        let other = thread::spawn(move || drop(sender));
        assert_eq!(receiver.recv(), Err(RecvError));
        other.join().unwrap();
        let (sender, receiver) = bounded(0);
        let other = thread::spawn(move || drop(receiver));
        assert_eq!(sender.send(5), Err(SendError(5)));
        other.join().unwrap();
    });
}

#[test]
fn nobody_sends_and_all_wait() {
    let report = explore(|| {
        let (_sender, receiver) = bounded::<()>(1);
        let _ = receiver.recv();
    });
    assert_eq!(report.trace().map(|t| t.kind), Some(BugKind::Deadlock));
}

#[test]
fn without_a_queue_sending_waits_for_who_receives() {
    holds(|| {
        let (sender, receiver) = bounded(0);
        let done = std::sync::Arc::new(fabius::sync::atomic::AtomicBool::new(false));
        let theirs = done.clone();
        let other = thread::spawn(move || {
            sender.send(7).unwrap();
            assert!(theirs.load(fabius::sync::atomic::Ordering::SeqCst), "it was taken before anybody received");
        });
        done.store(true, fabius::sync::atomic::Ordering::SeqCst);
        assert_eq!(receiver.recv(), Ok(7));
        other.join().unwrap();
    });
    let tried = outcomes(|| {
        let (sender, receiver) = bounded(0);
        let other = thread::spawn(move || receiver.recv_timeout(SECOND).is_ok());
        let sent = sender.try_send(1).is_ok();
        assert_eq!(other.join().unwrap(), sent);
        sent
    });
    assert_eq!(tried, BTreeSet::from([false, true]));
}

#[test]
fn time_is_up_when_nothing_else_can_go_on() {
    holds(|| {
        let (sender, receiver) = bounded(0);
        let began = Instant::now();
        assert_eq!(receiver.recv_timeout(SECOND), Err(RecvTimeoutError::Timeout));
        assert_eq!(sender.send_timeout(3, SECOND), Err(SendTimeoutError::Timeout(3)));
        assert!(began.elapsed() >= 2 * SECOND);
        let (sender, receiver) = bounded(1);
        sender.send_timeout(1, SECOND).unwrap();
        assert_eq!(sender.send_deadline(2, Instant::now() + SECOND), Err(SendTimeoutError::Timeout(2)));
        assert_eq!(receiver.recv_deadline(Instant::now() + SECOND), Ok(1));
    });
}

#[test]
fn time_sends() {
    holds(|| {
        let began = Instant::now();
        let (once, twice, nothing) = (after(3 * SECOND), tick(2 * SECOND), never::<Instant>());
        let mut seen = Vec::new();
        for _ in 0..3 {
            select! {
                recv(once) -> _ => seen.push("after"),
                recv(twice) -> due => seen.push(if due.is_ok() { "tick" } else { "?" }),
                recv(nothing) -> _ => seen.push("never"),
            }
        }
        assert_eq!(seen, ["tick", "after", "tick"]);
        assert!(began.elapsed() >= 4 * SECOND && once.try_recv().is_err());
        assert_eq!(at(began).recv(), Ok(began));
    });
}

#[test]
fn a_short_time_is_waited_for_as_a_long_one() {
    holds(|| {
        let began = Instant::now();
        let limit = Duration::from_nanos(1);
        assert_eq!(after(limit).recv().map(|due| due - began), Ok(limit));
        let (once, nothing) = (after(limit), never::<()>());
        select! {
            recv(once) -> due => assert_eq!(due.map(|due| due - began), Ok(2 * limit)),
            recv(nothing) -> _ => unreachable!(),
        }
    });
}

#[test]
fn what_time_sends_is_for_one_of_those_that_wait() {
    holds(|| {
        let (ticks, began) = (tick(SECOND), Instant::now());
        let theirs = ticks.clone();
        let other = thread::spawn(move || theirs.recv().unwrap());
        let mut both = [ticks.recv().unwrap() - began, other.join().unwrap() - began];
        both.sort();
        assert_eq!(both, [SECOND, 2 * SECOND]);
    });
    let report = explore(|| {
        let once = after(SECOND);
        let theirs = once.clone();
        let other = thread::spawn(move || theirs.recv());
        let _ = (once.recv(), other.join());
    });
    assert_eq!(report.trace().map(|t| t.kind), Some(BugKind::Deadlock));
}

#[test]
fn who_waits_longer_is_served_first() {
    holds(|| {
        let (sender, receiver) = bounded(0);
        let (nothing, first) = (never::<()>(), receiver.clone());
        let selects = thread::spawn(move || {
            select! {
                recv(first) -> message => message,
                recv(nothing) -> _ => unreachable!(),
            }
        });
        thread::sleep(SECOND);
        let waits = thread::spawn(move || receiver.recv());
        thread::sleep(SECOND);
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        assert_eq!((selects.join().unwrap(), waits.join().unwrap()), (Ok(1), Ok(2)));
    });
}

#[test]
fn a_selection_takes_any_that_is_ready() {
    let first = outcomes(|| {
        let ((s1, r1), (s2, r2)) = (unbounded(), unbounded());
        s1.send(1).unwrap();
        s2.send(2).unwrap();
        select! {
            recv(r1) -> message => message.unwrap(),
            recv(&r2) -> message => { message.unwrap() }
        }
    });
    assert_eq!(first, BTreeSet::from([1, 2]));
    let biased = outcomes(|| {
        let ((s1, r1), (s2, r2)) = (unbounded(), unbounded());
        s1.send(1).unwrap();
        s2.send(2).unwrap();
        select_biased! {
            recv(r1) -> message => message.unwrap(),
            recv(r2) -> message => message.unwrap(),
        }
    });
    assert_eq!(biased, BTreeSet::from([1]));
}

#[test]
fn a_selection_waits_or_has_a_default() {
    let seen = outcomes(|| {
        let (sender, receiver) = unbounded();
        let (_keep, nothing) = unbounded::<i32>();
        let other = thread::spawn(move || sender.send(1).unwrap());
        let now = select! {
            recv(receiver) -> message => message.unwrap(),
            default => 0,
        };
        let later = select! {
            recv(nothing) -> _ => unreachable!(),
            recv(receiver) -> message => if now == 0 { message.unwrap() } else { assert!(message.is_err()); 2 },
        };
        let late = select! {
            recv(nothing) -> _ => unreachable!(),
            default(SECOND) => 9,
        };
        other.join().unwrap();
        (now, later, late)
    });
    assert_eq!(seen, BTreeSet::from([(0, 1, 9), (1, 2, 9)]));
}

/// Two threads that select, one of which can send to the other.
fn two_selections(capacity: usize) -> BTreeSet<(bool, bool)> {
    outcomes(|| {
        let (sender, receiver): (Sender<i32>, Receiver<i32>) = bounded(capacity);
        let (_keep, nothing) = bounded::<i32>(0);
        let quiet = nothing.clone();
        let other = thread::spawn(move || {
            select! {
                send(sender, 5) -> result => { result.unwrap(); true }
                recv(quiet) -> _ => false,
            }
        });
        let got = select! {
            recv(nothing) -> _ => false,
            recv(receiver) -> message => message == Ok(5),
        };
        (other.join().unwrap(), got)
    })
}

#[test]
fn selections_meet() {
    assert_eq!(two_selections(0), BTreeSet::from([(true, true)]));
    assert_eq!(two_selections(1), BTreeSet::from([(true, true)]));
}

#[test]
fn a_selection_meets_who_waits() {
    holds(|| {
        let ((to, from), (back, home)) = (bounded(0), bounded(0));
        let other = thread::spawn(move || {
            let got = from.recv().unwrap();
            back.send(got + 1).unwrap();
        });
        let mut answer = None;
        for _ in 0..2 {
            select! {
                send(to, 1) -> result => result.unwrap(),
                recv(home) -> message => { answer = message.ok(); break }
            }
        }
        assert_eq!(answer, Some(2));
        other.join().unwrap();
    });
}

#[test]
fn who_offers_a_message_to_a_selection_waits_until_it_completes_the_operation() {
    for time_is_up_before in [false, true] {
        holds(|| {
            let (sender, receiver) = bounded(0);
            let completes = std::sync::Arc::new(fabius::sync::atomic::AtomicBool::new(false));
            let theirs = completes.clone();
            let other = thread::spawn(move || {
                sender.send_timeout(1, SECOND).unwrap();
                theirs.load(fabius::sync::atomic::Ordering::SeqCst)
            });
            let mut selection = Select::new();
            selection.recv(&receiver);
            let Ok(operation) = selection.try_select() else {
                assert_eq!(receiver.recv(), Ok(1));
                other.join().unwrap();
                return;
            };
            if time_is_up_before {
                thread::sleep(SECOND * 2);
            }
            completes.store(true, fabius::sync::atomic::Ordering::SeqCst);
            assert_eq!(operation.recv(&receiver), Ok(1));
            assert!(other.join().unwrap(), "it was sent before the operation was completed");
        });
    }
}

#[test]
fn a_selection_that_was_chosen_is_not_chosen_again() {
    holds(|| {
        let ((s1, r1), (s2, r2)) = (bounded(0), bounded(0));
        let one = thread::spawn(move || s1.send_timeout(1, SECOND).is_ok());
        let two = thread::spawn(move || s2.send_timeout(2, SECOND).is_ok());
        let got = select! {
            recv(r1) -> message => message.unwrap(),
            recv(r2) -> message => message.unwrap(),
        };
        let sent = (one.join().unwrap(), two.join().unwrap());
        assert_eq!(sent, (got == 1, got == 2));
    });
}

#[test]
fn operations_are_selected_one_by_one() {
    holds(|| {
        let ((s1, r1), (s2, r2)) = (bounded(1), unbounded::<i32>());
        let mut select = Select::new();
        let (send, receive) = (select.send(&s1), select.recv(&r2));
        assert_eq!((select.ready(), select.try_ready()), (send, Ok(send)));
        let operation = select.select();
        assert_eq!(operation.index(), send);
        // The place is reserved.
        assert!(s1.try_send(0).is_err());
        operation.send(&s1, 4).unwrap();
        assert!(select.try_select().is_err() && select.select_timeout(SECOND).is_err());
        select.remove(send);
        s2.send(6).unwrap();
        let operation = select.select();
        assert_eq!((operation.index(), operation.recv(&r2)), (receive, Ok(6)));
        assert_eq!(r1.recv(), Ok(4));
    });
}

struct Cell(fabius::cell::UnsafeCell<i32>);

// SAFETY: accesses are checked for races.
unsafe impl Sync for Cell {}

#[test]
fn a_message_orders_and_another_channel_does_not() {
    fn test(through: bool) -> impl Fn() + Sync {
        move || {
            let cell = std::sync::Arc::new(Cell(fabius::cell::UnsafeCell::new(0)));
            let theirs = cell.clone();
            let ((sender, receiver), (other_sender, other_receiver)) = (unbounded(), unbounded());
            let other = thread::spawn(move || {
                // SAFETY: one thread of an execution runs at a time.
                theirs.0.with_mut(|value| unsafe { *value = 1 });
                sender.send(()).unwrap();
            });
            other_sender.send(()).unwrap();
            if through {
                receiver.recv().unwrap()
            } else {
                other_receiver.recv().unwrap()
            }
            cell.0.with(|_| ());
            other.join().unwrap();
        }
    }
    holds(test(true));
    assert_eq!(explore(test(false)).trace().map(|t| t.kind), Some(BugKind::DataRace));
}

#[test]
#[should_panic(expected = "only inside of `fabius::check`: used at ")]
fn outside_of_a_check_there_are_none() {
    let (sender, _receiver) = unbounded();
    let _ = sender.send(1);
}

#[test]
fn misuse_of_a_selection_is_shown_where_the_test_selects() {
    let begins = line!();
    let dropped = explore(|| {
        let (_sender, receiver) = bounded::<()>(0);
        let mut select = Select::new();
        select.recv(&receiver);
        drop(select.try_select());
        let (sender, receiver) = bounded(1);
        sender.send(()).unwrap();
        select = Select::new();
        select.recv(&receiver);
        drop(select.select());
    });
    let line = |after: u32| format!("channels.rs:{}:", begins + after);
    let text = dropped.failure().unwrap();
    assert!(
        text.contains("without completing the operation, which was selected at") && text.contains(&line(10)),
        "{text}"
    );
    let other = explore(|| {
        let (sender, receiver) = bounded(1);
        let (_other_sender, other) = bounded::<()>(1);
        sender.send(()).unwrap();
        let mut select = Select::new();
        select.recv(&receiver);
        let _ = select.select().recv(&other);
    });
    let text = other.failure().unwrap();
    assert!(text.contains("a side of a channel that was not selected") && text.contains(&line(24)), "{text}");
    assert!(!text.contains("select.rs"), "{text}");
}

#[test]
fn a_clone_orders_nothing() {
    use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    struct Cell(fabius::cell::UnsafeCell<u32>);
    // SAFETY: accesses that race are found before they are made.
    unsafe impl Sync for Cell {}
    let own_operation = || AtomicUsize::new(0).load(SeqCst);
    let report = explore(|| {
        let cell = fabius::sync::Arc::new(Cell(fabius::cell::UnsafeCell::new(0)));
        let (sender, _receiver) = unbounded::<u32>();
        let theirs = (cell.clone(), sender.clone());
        let other = thread::spawn(move || {
            own_operation();
            let another = theirs.1.clone();
            // SAFETY: one thread runs at a time.
            theirs.0.0.with_mut(|value| unsafe { *value = 1 });
            own_operation();
            drop(another);
        });
        own_operation();
        // SAFETY: one thread runs at a time.
        cell.0.with(|value| unsafe { *value });
        let another = sender.clone();
        own_operation();
        other.join().unwrap();
        drop(another);
    });
    assert!(report.to_string().contains("data race"), "{report}");
}

/// Who asks without waiting only waits, also while another thread sleeps.
#[test]
fn who_asks_again_and_again_only_waits() {
    type Asks = fn(&Receiver<u32>) -> bool;
    let ways: [(&str, Asks); 4] = [
        ("try_recv", |receiver| receiver.try_recv().is_ok()),
        ("recv_timeout", |receiver| receiver.recv_timeout(Duration::ZERO).is_ok()),
        ("recv_deadline", |receiver| receiver.recv_deadline(Instant::now()).is_ok()),
        ("is_empty", |receiver| !receiver.is_empty()),
    ];
    for (what, asks) in ways {
        for capacity in [None, Some(1)] {
            let channel = || capacity.map_or_else(unbounded, bounded);
            let report = explore(|| {
                let (sender, receiver) = channel();
                let other = thread::spawn(move || {
                    thread::sleep(SECOND);
                    sender.send(1).unwrap();
                });
                while !asks(&receiver) {
                    thread::yield_now();
                }
                other.join().unwrap();
            });
            assert_eq!(report.verdict, fabius::Verdict::Verified, "{what}, {capacity:?}: {report}");
            let report = explore(|| {
                let (_sender, receiver) = channel();
                while !asks(&receiver) {
                    thread::yield_now();
                }
            });
            let text = report.failure().unwrap_or_else(|| panic!("{what}, {capacity:?}: {report}"));
            assert!(text.contains("livelock: for ever the same"), "{what}: {text}");
        }
    }
    let report = explore(|| {
        let (sender, receiver) = bounded(1);
        sender.send(0).unwrap();
        let other = thread::spawn(move || {
            thread::sleep(SECOND);
            receiver.iter().take(3).sum::<u32>()
        });
        while sender.send_timeout(1, Duration::ZERO).is_err() {
            thread::yield_now();
        }
        while sender.try_send(2).is_err() {
            thread::yield_now();
        }
        assert_eq!(other.join().unwrap(), 3);
    });
    assert_eq!(report.verdict, fabius::Verdict::Verified, "{report}");
}
