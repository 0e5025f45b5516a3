//! What a test that was written for shuttle relies on.

use fabius_shuttle as shuttle;
use shuttle::future;
use shuttle::rand::Rng;
use shuttle::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, Schedule, Scheduler, Task, TaskId, UrwRandomScheduler,
};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::{Config, FailurePersistence, MaxSteps, PortfolioRunner, Runner, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize as Plain;

/// Two threads that both read and then write.
fn lost_update() {
    let counter = Arc::new(AtomicUsize::new(0));
    let theirs = counter.clone();
    let other = thread::spawn(move || {
        let value = theirs.load(Ordering::SeqCst);
        theirs.store(value + 1, Ordering::SeqCst);
    });
    let value = counter.load(Ordering::SeqCst);
    counter.store(value + 1, Ordering::SeqCst);
    other.join().unwrap();
    assert_eq!(counter.load(Ordering::SeqCst), 2, "an increment is lost");
}

fn quiet() -> Config {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    config
}

fn fails<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).err().expect("it fails");
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).expect("a panic has a text")
}

#[test]
fn every_scheduler_finds_a_lost_update_and_the_panic_is_that_of_the_test() {
    let schedulers: [Box<dyn Scheduler + Send>; 4] = [
        Box::new(RandomScheduler::new_from_seed(1, 500)),
        Box::new(PctScheduler::new_from_seed(1, 2, 500)),
        Box::new(UrwRandomScheduler::new_from_seed(1, 500)),
        Box::new(DfsScheduler::new(None, false)),
    ];
    for scheduler in schedulers {
        let message = fails(|| Runner::new(scheduler, quiet()).run(lost_update));
        assert!(message.contains("an increment is lost"), "{message}");
    }
}

#[test]
fn portfolio_fails_if_one_scheduler_does() {
    let message = fails(|| {
        let mut runner = PortfolioRunner::new(true, quiet());
        runner.add(PctScheduler::new_from_seed(3, 1, 10));
        runner.add(RandomScheduler::new_from_seed(3, 1000));
        runner.run(lost_update);
    });
    assert!(message.contains("an increment is lost"), "{message}");
}

#[test]
fn a_test_inside_of_a_test_is_refused() {
    let refused = "a test must not be run inside of another";
    assert!(fails(|| shuttle::check_random(|| shuttle::check_dfs(|| (), None), 1)).contains(refused));
    let portfolio = || {
        let mut runner = PortfolioRunner::new(true, quiet());
        runner.add(RandomScheduler::new_from_seed(1, 1));
        runner.run(|| ());
    };
    assert!(fails(move || shuttle::check_random(portfolio, 1)).contains(refused));
    let report = fabius::Config::new().explore(portfolio);
    let text = report.failure().unwrap();
    assert!(text.contains(refused) && text.contains("shuttle.rs"), "{text}");
    portfolio();
}

#[test]
fn fabius_checks_the_same_test_and_shows_the_execution() {
    let report = fabius::Config::new().explore(lost_update);
    assert!(report.is_bug());
    assert_eq!(report.trace().unwrap().cost, 1, "one preemption is enough");
}

#[test]
fn fabius_checks_tests_with_futures_and_semaphores() {
    use shuttle::future::batch_semaphore::{BatchSemaphore, Fairness};
    let test = || {
        let semaphore = Arc::new(BatchSemaphore::new(0, Fairness::StrictlyFair));
        let theirs = semaphore.clone();
        let task = future::spawn(async move {
            theirs.acquire(1).await.unwrap();
            1
        });
        semaphore.release(1);
        assert_eq!(future::block_on(task).unwrap(), 1);
    };
    assert!(!fabius::Config::new().explore(test).is_bug());
    shuttle::check_dfs(test, None);
}

#[test]
fn saved_schedule_fails_again() {
    let folder = std::env::temp_dir().join(format!("fabius-shuttle-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::File(Some(folder.clone()));
    let first = fails(|| Runner::new(RandomScheduler::new_from_seed(7, 1000), config).run(lost_update));
    let file = folder.join("schedule000.txt");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("91"), "{text}");
    let scheduler = ReplayScheduler::new_from_file(&file).unwrap();
    assert_eq!(fails(|| Runner::new(scheduler, quiet()).run(lost_update)), first);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn seed_decides_schedules_and_random_numbers() {
    let outcomes = |seed: u64| {
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        let theirs = seen.clone();
        let test = move || {
            let order = Arc::new(std::sync::Mutex::new(Vec::new()));
            let threads: Vec<_> = (0..3)
                .map(|i| {
                    let order = order.clone();
                    thread::spawn(move || order.lock().unwrap().push((i, shuttle::rand::thread_rng().r#gen::<u8>())))
                })
                .collect();
            threads.into_iter().for_each(|t| t.join().unwrap());
            theirs.lock().unwrap().push(order.lock().unwrap().clone());
        };
        shuttle::check_random_with_seed(test, seed, 20);
        seen.lock().unwrap().clone()
    };
    assert_eq!(outcomes(5), outcomes(5));
    assert_ne!(outcomes(5), outcomes(6));
}

#[test]
fn depth_first_search_runs_every_order_of_two_threads_that_make_one_step_each() {
    let orders = Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let theirs = orders.clone();
    let test = move || {
        let log = Arc::new(Mutex::new(Vec::new()));
        let threads: Vec<_> = (0..2)
            .map(|i| {
                let log = log.clone();
                thread::spawn(move || log.lock().unwrap().push(i))
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        theirs.lock().unwrap().insert(log.lock().unwrap().clone());
    };
    shuttle::check_dfs(test, None);
    assert_eq!(*orders.lock().unwrap(), [vec![0, 1], vec![1, 0]].into());
}

#[test]
fn random_numbers_of_depth_first_search_must_be_allowed() {
    let test = || assert!(shuttle::rand::thread_rng().r#gen::<u64>() > 0);
    assert_eq!(Runner::new(DfsScheduler::new(None, true), quiet()).run(test), 1);
    let message = fails(|| Runner::new(DfsScheduler::new(None, false), quiet()).run(test));
    assert!(message.contains("allow_random_data"), "{message}");
}

#[test]
fn panic_of_a_thread_that_nobody_joins_fails_the_test() {
    let message = fails(|| {
        Runner::new(RandomScheduler::new(1), quiet()).run(|| {
            thread::spawn(|| panic!("on its own"));
        });
    });
    assert_eq!(message, "on its own");
}

#[test]
fn deadlock_names_the_tasks_that_wait() {
    let message = fails(|| {
        Runner::new(DfsScheduler::new(None, false), quiet()).run(|| {
            let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
            let (a2, b2) = (a.clone(), b.clone());
            let other = thread::Builder::new().name("other".into()).spawn(move || {
                let _b = b2.lock().unwrap();
                let _a = a2.lock().unwrap();
            });
            let _a = a.lock().unwrap();
            let _b = b.lock().unwrap();
            drop(other);
        });
    });
    assert!(message.contains("deadlock!") && message.contains("other(1)"), "{message}");
}

#[test]
fn detached_task_need_not_end_and_is_dropped() {
    struct CountsDrops(Arc<Plain>);
    impl Drop for CountsDrops {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let drops = Arc::new(Plain::new(0));
    let theirs = drops.clone();
    shuttle::check_random(
        move || {
            let counts = CountsDrops(theirs.clone());
            drop(future::spawn(async move {
                let _counts = counts;
                std::future::pending::<()>().await;
            }));
        },
        10,
    );
    assert_eq!(drops.load(Ordering::SeqCst), 10);
}

#[test]
fn steps_are_bounded_by_a_failure_or_by_the_next_execution() {
    let spin = || {
        loop {
            thread::yield_now();
        }
    };
    let mut config = quiet();
    config.max_steps = MaxSteps::ContinueAfter(20);
    assert_eq!(Runner::new(RandomScheduler::new(5), config.clone()).run(spin), 5);
    config.max_steps = MaxSteps::FailAfter(20);
    let message = fails(|| Runner::new(RandomScheduler::new(5), config).run(spin));
    assert!(message.contains("exceeded max_steps bound"), "{message}");
}

#[test]
fn schedulers_of_others_decide() {
    /// Runs the youngest task first, once.
    struct Youngest(bool);
    impl Scheduler for Youngest {
        fn new_execution(&mut self) -> Option<Schedule> {
            std::mem::replace(&mut self.0, false).then(|| Schedule::new(0))
        }
        fn next_task(&mut self, runnable: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
            runnable.last().map(|t| t.id())
        }
        fn next_u64(&mut self) -> u64 {
            4
        }
    }
    let executions = Runner::new(Youngest(true), Config::new()).run(|| {
        let log = Arc::new(Mutex::new(Vec::new()));
        let threads: Vec<_> = (1..4)
            .map(|i| {
                let log = log.clone();
                thread::spawn(move || log.lock().unwrap().push(i))
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(*log.lock().unwrap(), [1, 2, 3]);
        assert_eq!(shuttle::rand::thread_rng().r#gen::<u64>(), 4);
    });
    assert_eq!(executions, 1);
}

#[test]
fn static_is_made_anew_in_every_execution() {
    static MADE: Plain = Plain::new(0);
    shuttle::lazy_static! {
        static ref VALUE: usize = MADE.fetch_add(1, Ordering::SeqCst);
    }
    shuttle::check_random(
        || {
            let there = thread::spawn(|| *VALUE).join().unwrap();
            assert_eq!(there, *VALUE);
        },
        10,
    );
    assert_eq!(MADE.load(Ordering::SeqCst), 10);
}

#[test]
fn what_a_static_hands_out_stays_alive() {
    static DROPPED: Plain = Plain::new(0);
    struct Counted(usize);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::SeqCst);
        }
    }
    shuttle::lazy_static! {
        static ref VALUE: Counted = Counted(7);
    }
    std::thread_local! {
        static KEPT: std::cell::RefCell<Vec<&'static Counted>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    shuttle::check_random(|| KEPT.with_borrow_mut(|kept| kept.push(&VALUE)), 5);
    assert_eq!(DROPPED.load(Ordering::SeqCst), 0);
    KEPT.with_borrow(|kept| assert!(kept.len() == 5 && kept.iter().all(|value| value.0 == 7)));
}

/// Stops every execution after so many steps.
fn stopped(steps: usize, test: impl Fn() + Send + Sync + 'static) {
    let mut config = quiet();
    config.max_steps = MaxSteps::ContinueAfter(steps);
    assert_eq!(Runner::new(RandomScheduler::new_from_seed(3, 50), config).run(test), 50);
}

#[test]
fn an_execution_that_is_stopped_grants_no_lock_that_is_held() {
    /// Whoever holds the lock sees no change.
    struct Holds<'a>(&'a mut usize, usize);
    impl Drop for Holds<'_> {
        fn drop(&mut self) {
            WRONG.fetch_add(usize::from(*self.0 != self.1), Ordering::SeqCst);
            ENDED.fetch_add(1, Ordering::SeqCst);
        }
    }
    struct Changes(Arc<Mutex<usize>>);
    impl Drop for Changes {
        fn drop(&mut self) {
            *self.0.lock().unwrap_or_else(|e| e.into_inner()) += 1;
            CHANGED.fetch_add(1, Ordering::SeqCst);
        }
    }
    static WRONG: Plain = Plain::new(0);
    static ENDED: Plain = Plain::new(0);
    static CHANGED: Plain = Plain::new(0);
    stopped(30, || {
        let lock = Arc::new(Mutex::new(0));
        let changes = Changes(lock.clone());
        let waits = thread::spawn(move || {
            let _changes = changes;
            loop {
                thread::yield_now();
            }
        });
        let _holds = thread::spawn(move || {
            let mut guard = lock.lock().unwrap();
            let before = *guard;
            let _holds = Holds(&mut guard, before);
            loop {
                thread::yield_now();
            }
        });
        waits.join().unwrap();
    });
    assert_eq!(WRONG.load(Ordering::SeqCst), 0);
    assert_eq!(CHANGED.load(Ordering::SeqCst), 50, "one destructor for each value");
    assert!(ENDED.load(Ordering::SeqCst) > 0);
}

#[test]
fn an_execution_that_is_stopped_ends_whatever_is_caught() {
    stopped(20, || {
        let (_sender, receiver) = shuttle::sync::mpsc::channel::<i32>();
        let other = thread::spawn(move || {
            loop {
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    let _ = receiver.recv();
                    thread::yield_now();
                }));
            }
        });
        loop {
            let _ = catch_unwind(AssertUnwindSafe(thread::yield_now));
            if other.is_finished() {
                break;
            }
        }
    });
}

#[test]
fn an_execution_that_is_stopped_ends_scopes_and_conditions() {
    /// Waits for its thread, as a pool does.
    struct Pool(Option<thread::JoinHandle<()>>, Arc<(Mutex<bool>, shuttle::sync::Condvar)>);
    impl Drop for Pool {
        fn drop(&mut self) {
            *self.1.0.lock().unwrap_or_else(|e| e.into_inner()) = true;
            self.1.1.notify_all();
            let _ = self.0.take().unwrap().join();
            ENDED.fetch_add(1, Ordering::SeqCst);
        }
    }
    static ENDED: Plain = Plain::new(0);
    stopped(25, || {
        let shared = Arc::new((Mutex::new(false), shuttle::sync::Condvar::new()));
        let theirs = shared.clone();
        let worker = thread::spawn(move || {
            let mut ends = theirs.0.lock().unwrap();
            while !*ends {
                ends = theirs.1.wait(ends).unwrap();
            }
        });
        let _pool = Pool(Some(worker), shared);
        let lock = Mutex::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut guard = lock.lock().unwrap();
                    loop {
                        *guard += 1;
                        thread::yield_now();
                    }
                });
            }
        });
    });
    assert_eq!(ENDED.load(Ordering::SeqCst), 50);
}

/// In a process of its own, because it is said once.
#[test]
fn orderings_that_mean_more_than_they_say_are_warned_of_once() {
    const TEST: &str = "orderings_that_mean_more_than_they_say_are_warned_of_once";
    let check = || {
        for order in [Ordering::Relaxed, Ordering::Acquire] {
            shuttle::check_dfs(move || assert_eq!(shuttle::sync::atomic::AtomicU32::new(0).load(order), 0), None);
        }
    };
    if std::env::var_os("INSIDE").is_some() {
        return check();
    }
    let warnings = |silenced: bool| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args([TEST, "--exact", "--nocapture"]).env("INSIDE", "");
        command.env_remove(shuttle::SILENCE_WARNINGS);
        if silenced {
            command.env(shuttle::SILENCE_WARNINGS, "1");
        }
        let output = command.output().unwrap();
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).matches("warning: atomics").count()
    };
    assert_eq!((warnings(false), warnings(true)), (1, 0));
}
