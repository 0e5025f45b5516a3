//! What the documentation of tokio says of tasks and runtimes, in every execution.

use crate::common::{explore, fails, holds, outcomes};
use fabius::BugKind;
use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius_tokio::runtime::{Builder, Handle, Runtime};
use fabius_tokio::sync::{Mutex, RwLock, Semaphore, oneshot};
use fabius_tokio::task::{self, JoinSet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A counter that two tasks read and write without a lock.
async fn counts(give_way: bool) {
    let counter = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..2)
        .map(|_| {
            let counter = counter.clone();
            task::spawn(async move {
                let value = counter.load(SeqCst);
                if give_way {
                    task::yield_now().await;
                }
                counter.store(value + 1, SeqCst);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(counter.load(SeqCst), 2, "an increment is lost");
}

#[test]
fn tasks_interleave_where_they_wait_and_elsewhere() {
    fails(BugKind::Panic, || counts(true));
    fails(BugKind::Panic, || counts(false));
    assert_eq!(explore(|| counts(true)).trace().unwrap().cost, 0, "giving way costs nothing");
    holds(|| async {
        let counter = Arc::new(Mutex::new(0));
        let theirs = counter.clone();
        let task = task::spawn(async move { *theirs.lock().await += 1 });
        *counter.lock().await += 1;
        task.await.unwrap();
        assert_eq!(*counter.lock().await, 2);
    });
}

#[test]
fn a_result_is_awaited() {
    holds(|| async {
        let task = task::spawn(async { task::spawn(async { 1 }).await.unwrap() + 1 });
        assert_eq!(task.await.unwrap(), 2);
        assert_eq!(task::spawn_blocking(|| 3).await.unwrap(), 3);
    });
}

#[test]
fn a_panic_is_a_result() {
    holds(|| async {
        let error = task::spawn(async { panic!("oh no") }).await.unwrap_err();
        assert!(error.is_panic() && !error.is_cancelled());
        assert_eq!(error.to_string(), "task panicked with message \"oh no\"");
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"oh no"));
    });
}

#[test]
fn a_task_may_end_before_it_is_aborted() {
    let seen = outcomes(|| async {
        let task = task::spawn(async { 1 });
        task.abort();
        match task.await {
            Ok(value) => Some(value),
            Err(error) => {
                assert!(error.is_cancelled() && error.try_into_panic().is_err());
                None
            }
        }
    });
    assert_eq!(seen, BTreeSet::from([None, Some(1)]));
}

#[test]
fn an_aborted_task_is_dropped_before_its_result_is_there() {
    struct OnDrop(Arc<AtomicUsize>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let polled = outcomes(|| async {
        let (dropped, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (guard, theirs) = (OnDrop(dropped.clone()), begun.clone());
        let task = task::spawn(async move {
            theirs.fetch_add(1, SeqCst);
            std::future::pending::<()>().await;
            drop(guard);
        });
        let handle = task.abort_handle();
        handle.abort();
        assert!(task.await.unwrap_err().is_cancelled() && handle.is_finished());
        assert_eq!(dropped.load(SeqCst), 1);
        begun.load(SeqCst)
    });
    assert_eq!(polled, BTreeSet::from([0, 1]), "it may be aborted before it begins");
}

#[test]
fn a_task_that_waits_for_ever_ends_with_the_runtime() {
    let progress = outcomes(|| async {
        let count = Arc::new(AtomicUsize::new(0));
        let theirs = count.clone();
        drop(task::spawn(async move {
            loop {
                theirs.fetch_add(1, SeqCst);
                std::future::pending::<()>().await;
            }
        }));
        count.load(SeqCst)
    });
    assert_eq!(progress, BTreeSet::from([0, 1]));
}

#[test]
fn a_runtime_that_is_dropped_has_dropped_its_tasks() {
    let seen = std::sync::Mutex::new(BTreeSet::new());
    fabius::Config::new().check(|| {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let shared = Arc::new(AtomicUsize::new(0));
        let (one, two) = (shared.clone(), shared.clone());
        drop(runtime.spawn(async move {
            drop(task::spawn(async move { two.fetch_add(10, SeqCst) }));
            task::yield_now().await;
            one.fetch_add(1, SeqCst);
        }));
        drop(runtime);
        assert_eq!(Arc::strong_count(&shared), 1, "a task is left");
        seen.lock().unwrap().insert(shared.load(SeqCst));
    });
    assert_eq!(seen.into_inner().unwrap(), BTreeSet::from([0, 1, 10, 11]));
}

#[test]
fn a_runtime_that_was_dropped_starts_no_task() {
    fabius::Config::new().check(|| {
        let runtime = Runtime::new().unwrap();
        let handle = runtime.handle().clone();
        drop(runtime);
        let late = handle.spawn(async { 7 });
        assert!(Runtime::new().unwrap().block_on(late).unwrap_err().is_cancelled());
    });
}

#[test]
fn what_nobody_completes_is_a_deadlock() {
    fails(BugKind::Deadlock, || async {
        let (_sender, receiver) = oneshot::channel::<()>();
        let _ = receiver.await;
    });
}

#[test]
fn a_join_set_returns_results_in_any_order() {
    let orders = outcomes(|| async {
        let mut set = JoinSet::new();
        (0..2).for_each(|n| drop(set.spawn(async move { n })));
        let mut order = Vec::new();
        while let Some(result) = set.join_next().await {
            order.push(result.unwrap());
        }
        assert!(set.is_empty());
        order
    });
    assert_eq!(orders, BTreeSet::from([vec![0, 1], vec![1, 0]]));
}

#[test]
fn a_join_set_that_is_dropped_aborts_its_tasks() {
    holds(|| async {
        let (sender, receiver) = oneshot::channel::<()>();
        let mut set = JoinSet::new();
        set.spawn(async move {
            let _sender = sender;
            std::future::pending::<()>().await;
        });
        drop(set);
        assert!(receiver.await.is_err());
        let mut set = JoinSet::new();
        set.spawn(std::future::pending::<()>());
        set.shutdown().await;
        assert_eq!(set.len(), 0);
    });
}

#[test]
fn a_runtime_is_needed() {
    let report = fabius::Config::new().explore(|| drop(task::spawn(async {})));
    assert!(report.failure().unwrap().contains("there is no reactor running"));
    fabius::check(|| {
        assert!(Handle::try_current().is_err());
        let runtime = Runtime::new().unwrap();
        let handle = runtime.handle().clone();
        let _entered = runtime.enter();
        let task = task::spawn(async { 1 });
        assert_eq!(handle.block_on(task).unwrap(), 1);
    });
}

#[test]
#[should_panic(expected = "works only inside of a check")]
fn outside_of_a_check_there_is_nothing() {
    let _ = Runtime::new();
}

#[fabius_tokio::test]
async fn a_test_is_explored() {
    assert_eq!(fabius_tokio::spawn(async { 1 }).await.unwrap(), 1);
}

#[fabius_tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_test_may_return_an_error() -> Result<(), task::JoinError> {
    fabius_tokio::spawn(async {}).await
}

#[fabius_tokio::test]
#[should_panic(expected = "Error: \"a reason\"")]
async fn a_test_that_returns_an_error_fails() -> Result<(), String> {
    Err("a reason".into())
}

#[test]
fn what_is_not_polled_shuts_nothing_down() {
    holds(|| async {
        let mut tasks = JoinSet::new();
        tasks.spawn(async { 7 });
        drop(tasks.shutdown());
        assert_eq!(tasks.join_next().await.unwrap().unwrap(), 7);
    });
}

#[test]
fn who_drops_the_payload_of_a_panic_is_seen() {
    use fabius::sync::{Arc, Mutex};
    struct Locks(Arc<Mutex<u32>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    fails(BugKind::Deadlock, || async {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let task = task::spawn(async move {
            fabius::sync::atomic::AtomicU32::new(0).load(fabius::sync::atomic::Ordering::SeqCst);
            std::panic::resume_unwind(Box::new(Locks(theirs)));
        });
        let guard = lock.lock().unwrap();
        // If the task has ended, what it has panicked with is dropped here.
        drop::<task::JoinHandle<()>>(task);
        drop(guard);
    });
}

#[test]
fn a_deadlock_of_tasks_names_the_locks_and_their_holders() {
    let begins = line!();
    let report = explore(|| async {
        let both = Arc::new((Mutex::new(0), Mutex::new(0)));
        let theirs = both.clone();
        let other = fabius_tokio::spawn(async move {
            let _first = theirs.0.lock().await;
            let _second = theirs.1.lock().await;
        });
        {
            let _second = both.1.lock().await;
            let _first = both.0.lock().await;
        }
        other.await.unwrap();
    });
    let text = report.failure().unwrap();
    let waits = |who: &str, at: u32, holder: &str, taken: u32| {
        let [at, taken] = [at, taken].map(|line| format!("{}:{}", file!(), begins + line));
        format!("{who} waits in `wait for the lock` at {at}, held by {holder}, taken at {taken}\n")
    };
    assert!(text.contains(&waits("main", 10, "thread 1", 5)), "{text}");
    assert!(text.contains(&waits("thread 1", 6, "main", 9)), "{text}");
}

#[test]
fn a_deadlock_of_tasks_names_who_has_a_read_write_lock_or_permits() {
    let begins = line!();
    let report = explore(|| async {
        let shared = Arc::new((RwLock::new(0), Semaphore::new(3)));
        let theirs = shared.clone();
        let other = fabius_tokio::spawn(async move {
            let _reader = theirs.0.read().await;
            let _permits = theirs.1.acquire_many(2).await.unwrap();
        });
        {
            let mut one = shared.1.acquire().await.unwrap();
            one.merge(shared.1.try_acquire().unwrap());
            drop(one.split(1));
            let _permit = shared.1.acquire().await.unwrap();
            let _writer = shared.0.write().await;
        }
        other.await.unwrap();
    });
    let text = report.failure().unwrap();
    let at = |line: u32| format!("{}:{}", file!(), begins + line);
    let waits = |who: &str, why: &str, line: u32, holders: &[(&str, u32)]| {
        let held: Vec<String> =
            holders.iter().map(|(holder, line)| format!("held by {holder}, taken at {}", at(*line))).collect();
        format!("{who} waits in `{why}` at {}, {}\n", at(line), held.join("; "))
    };
    assert!(text.contains(&waits("main", "wait for the lock", 13, &[("thread 1", 5)])), "{text}");
    assert!(text.contains(&waits("thread 1", "wait for permits", 6, &[("main", 9), ("main", 12)])), "{text}");
}
