//! What the documentation of tokio says of time, `select!` and `join!`, in every execution.

use crate::common::{explore, holds, outcomes};
use fabius_tokio::sync::{mpsc, oneshot};
use fabius_tokio::task;
use fabius_tokio::time::{self, Duration, Instant, MissedTickBehavior, interval, sleep, timeout};
use std::collections::BTreeSet;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn time_passes_for_all_together() {
    holds(|| async {
        let began = Instant::now();
        let other = task::spawn(async move {
            sleep(3 * SECOND).await;
            began.elapsed()
        });
        sleep(SECOND).await;
        assert_eq!(began.elapsed(), SECOND);
        assert_eq!(other.await.unwrap(), 3 * SECOND);
        sleep(Duration::ZERO).await;
        assert_eq!(began.elapsed(), 3 * SECOND);
    });
}

#[test]
fn a_timeout_races_with_what_is_due_at_the_same_time() {
    let seen = outcomes(|| async {
        let (sender, receiver) = oneshot::channel();
        let task = task::spawn(async move {
            sleep(SECOND).await;
            let _ = sender.send(());
        });
        let result = timeout(SECOND, receiver).await.is_ok();
        task.await.unwrap();
        result
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
    holds(|| async {
        assert!(timeout(SECOND, std::future::pending::<()>()).await.is_err());
        assert_eq!(timeout(Duration::ZERO, async { 1 }).await, Ok(1), "the future is polled first");
        assert_eq!(timeout(2 * SECOND, async { sleep(SECOND).await }).await, Ok(()));
    });
}

#[test]
fn ticks_are_regular() {
    holds(|| async {
        let began = Instant::now();
        let mut ticks = interval(SECOND);
        for n in 0..3 {
            assert_eq!(ticks.tick().await, began + n * SECOND);
        }
        sleep(5 * SECOND / 2).await;
        // It was due at 3, it is 4.5: two ticks at once.
        assert_eq!((ticks.tick().await, ticks.tick().await), (began + 3 * SECOND, began + 4 * SECOND));
        assert_eq!(began.elapsed(), 9 * SECOND / 2);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        sleep(3 * SECOND).await;
        assert_eq!(ticks.tick().await, began + 5 * SECOND);
        assert_eq!(ticks.tick().await, began + 8 * SECOND);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        sleep(3 * SECOND / 2).await;
        assert_eq!(ticks.tick().await, began + 9 * SECOND);
        assert_eq!(ticks.tick().await, began + 21 * SECOND / 2);
    });
}

#[test]
fn a_selection_begins_with_any_branch() {
    let seen = outcomes(|| async {
        fabius_tokio::select! {
            n = async { 1 } => n,
            n = async { 2 } => n,
            n = async { 3 }, if false => n,
        }
    });
    assert_eq!(seen, BTreeSet::from([1, 2]));
    let seen = outcomes(|| async {
        fabius_tokio::select! {
            biased;
            n = async { 1 } => n,
            n = async { 2 } => n,
        }
    });
    assert_eq!(seen, BTreeSet::from([1]));
}

#[test]
fn a_branch_that_does_not_match_is_disabled() {
    holds(|| async {
        let value = fabius_tokio::select! {
            Some(mut n) = async { Some(1) } => { n += 1; n }
            Some(_) = async { None::<i32> } => unreachable!(),
        };
        assert_eq!(value, 2);
        let (sender, mut receiver) = mpsc::channel::<(i32, String)>(1);
        sender.send((1, "a".into())).await.unwrap();
        drop(sender);
        let mut seen = Vec::new();
        loop {
            fabius_tokio::select! {
                Some((n, ref text)) = receiver.recv() => seen.push((n, text.clone())),
                else => break,
            }
        }
        assert_eq!(seen, [(1, "a".to_string())]);
        // What a branch borrows from lives as long as the selection, and what it returns may be borrowed mutably.
        fabius_tokio::select! {
            () = &mut std::future::ready(()) => {}
        }
        let changed = fabius_tokio::select! {
            ref mut n = async { 1 } => { *n += 1; *n }
        };
        assert_eq!(changed, 2);
    });
    let report = explore(|| async {
        fabius_tokio::select! {
            Some(()) = async { None } => {}
        }
    });
    assert!(report.failure().unwrap().contains("all branches are disabled and there is no else branch"));
}

#[test]
fn a_selection_drops_the_others_before_its_handler_runs() {
    holds(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        sender.try_send(1).unwrap();
        let sleep = sleep(SECOND);
        fabius_tokio::pin!(sleep);
        let got = loop {
            fabius_tokio::select! {
                got = receiver.recv() => {
                    assert_eq!(receiver.try_recv(), Err(mpsc::error::TryRecvError::Empty));
                    break got;
                }
                () = &mut sleep => continue,
            }
        };
        assert_eq!(got, Some(1));
        fabius_tokio::select! {
            () = sleep => {}
            _ = receiver.recv() => unreachable!("the sender is alive"),
        }
        drop(sender);
    });
}

#[test]
fn futures_are_joined() {
    holds(|| async {
        let (sender, receiver) = oneshot::channel();
        let (sent, received, _) = fabius_tokio::join!(
            async {
                sleep(SECOND).await;
                sender.send(7)
            },
            receiver,
            time::advance(SECOND),
        );
        assert_eq!((sent, received), (Ok(()), Ok(7)));
        let both = fabius_tokio::try_join!(async { Ok::<_, i32>(1) }, async { Ok("two") });
        assert_eq!(both, Ok((1, "two")));
        let began = Instant::now();
        let failed: Result<((), ()), i32> = fabius_tokio::try_join!(
            async {
                sleep(SECOND).await;
                Ok(())
            },
            async { Err(3) }
        );
        assert_eq!((failed, began.elapsed()), (Err(3), Duration::ZERO));
    });
}
