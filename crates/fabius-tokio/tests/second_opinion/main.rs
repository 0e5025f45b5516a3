//! Random programs have exactly the outcomes of a plain model of what tokio documents.

mod model;
mod program;

use fabius::Config;
use fabius_tokio::sync::{Mutex, Notify, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use fabius_tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use fabius_tokio::task;
use fabius_tokio::time::{Duration, sleep, timeout};
use mpsc::error::{TryRecvError, TrySendError};
use program::{Log, Op, Program, Seen, chosen, generate, with_two_senders};
use std::collections::{BTreeSet, VecDeque};
use std::future::Future;
use std::sync::Arc;

/// What tasks share.
struct Shared {
    semaphore: Arc<Semaphore>,
    lock: Arc<Mutex<()>>,
    rw: Arc<RwLock<()>>,
    notify: Notify,
}

/// What a task has until it drops it.
#[allow(dead_code, reason = "they are only dropped")]
enum Thing {
    Permit(OwnedSemaphorePermit),
    Lock(OwnedMutexGuard<()>),
    Read(OwnedRwLockReadGuard<()>),
    Write(OwnedRwLockWriteGuard<()>),
}

/// A side of the channel.
enum Side {
    Receiver(mpsc::Receiver<usize>),
    Sender(mpsc::Sender<usize>),
}

async fn limited<F: Future>(future: F, limit: Option<u64>) -> Result<F::Output, Seen> {
    timeout(Duration::from_secs(limit.expect("every wait has a limit")), future).await.map_err(|_| Seen::TimeUp)
}

async fn run(task: usize, ops: Vec<Op>, shared: Arc<Shared>, mut side: Side) -> Log {
    let (mut log, mut has) = (Log::new(), VecDeque::new());
    for op in ops {
        let taken = |result: Result<Thing, Seen>, has: &mut VecDeque<Thing>| match result {
            Ok(thing) => {
                has.push_back(thing);
                Some(Seen::Done)
            }
            Err(why) => Some(why),
        };
        let seen = match (op, &mut side) {
            (Op::Acquire(count, limit), _) => {
                let permit = limited(shared.semaphore.clone().acquire_many_owned(count as u32), limit).await;
                taken(permit.map(|permit| Thing::Permit(permit.unwrap())), &mut has)
            }
            (Op::TryAcquire, _) => {
                let permit = shared.semaphore.clone().try_acquire_owned();
                taken(permit.map(Thing::Permit).map_err(|_| Seen::Refused), &mut has)
            }
            (Op::Lock(limit), _) => {
                taken(limited(shared.lock.clone().lock_owned(), limit).await.map(Thing::Lock), &mut has)
            }
            (Op::TryLock, _) => {
                let guard = shared.lock.clone().try_lock_owned();
                taken(guard.map(Thing::Lock).map_err(|_| Seen::Refused), &mut has)
            }
            (Op::Read(limit), _) => {
                taken(limited(shared.rw.clone().read_owned(), limit).await.map(Thing::Read), &mut has)
            }
            (Op::Write(limit), _) => {
                taken(limited(shared.rw.clone().write_owned(), limit).await.map(Thing::Write), &mut has)
            }
            (Op::AddPermit, _) => {
                shared.semaphore.add_permits(1);
                None
            }
            (Op::Release, _) => {
                drop(has.pop_front());
                None
            }
            (Op::Send(limit), Side::Sender(sender)) => match limited(sender.send(task), limit).await {
                Ok(Ok(())) => Some(Seen::Done),
                Ok(Err(_)) => Some(Seen::Closed),
                Err(why) => Some(why),
            },
            (Op::TrySend, Side::Sender(sender)) => match sender.try_send(task) {
                Ok(()) => Some(Seen::Done),
                Err(TrySendError::Full(_)) => Some(Seen::Refused),
                Err(TrySendError::Closed(_)) => Some(Seen::Closed),
            },
            (Op::Receive(limit), Side::Receiver(receiver)) => match limited(receiver.recv(), limit).await {
                Ok(Some(from)) => Some(Seen::Message(from)),
                Ok(None) => Some(Seen::Closed),
                Err(why) => Some(why),
            },
            (Op::TryReceive, Side::Receiver(receiver)) => match receiver.try_recv() {
                Ok(from) => Some(Seen::Message(from)),
                Err(TryRecvError::Empty) => Some(Seen::Refused),
                Err(TryRecvError::Disconnected) => Some(Seen::Closed),
            },
            (Op::Close, Side::Receiver(receiver)) => {
                receiver.close();
                None
            }
            (Op::Notified(limit), _) => Some(match limited(shared.notify.notified(), limit).await {
                Ok(()) => Seen::Done,
                Err(why) => why,
            }),
            (Op::NotifyOne, _) => {
                shared.notify.notify_one();
                None
            }
            (Op::NotifyWaiters, _) => {
                shared.notify.notify_waiters();
                None
            }
            (Op::Sleep(seconds), _) => {
                sleep(Duration::from_secs(seconds)).await;
                None
            }
            (Op::Yield, _) => {
                task::yield_now().await;
                None
            }
            (op, _) => unreachable!("only the first task receives: {op:?}"),
        };
        log.extend(seen);
    }
    while let Some(thing) = has.pop_front() {
        drop(thing);
    }
    drop(side);
    log
}

fn outcomes(program: &Program, config: &Config) -> BTreeSet<Vec<Log>> {
    let all = std::sync::Mutex::new(BTreeSet::new());
    let report = config.explore(|| {
        let logs = fabius_tokio::block_on(async {
            let shared = Arc::new(Shared {
                semaphore: Arc::new(Semaphore::new(program.permits)),
                lock: Arc::default(),
                rw: Arc::default(),
                notify: Notify::new(),
            });
            let (sender, receiver) = mpsc::channel(program.capacity);
            let mut sides = vec![Side::Receiver(receiver)];
            sides.extend((2..program.tasks.len()).map(|_| Side::Sender(sender.clone())));
            sides.push(Side::Sender(sender));
            let spawned = program.tasks.iter().cloned().zip(sides).enumerate();
            let tasks: Vec<_> =
                spawned.map(|(task, (ops, side))| task::spawn(run(task, ops, shared.clone(), side))).collect();
            let mut logs = Vec::new();
            for task in tasks {
                logs.push(task.await.unwrap());
            }
            logs
        });
        if !fabius::extend::is_cut() {
            all.lock().unwrap().insert(logs);
        }
    });
    assert!(report.failure().is_none(), "{program:?}: {}", report.failure().unwrap());
    assert!(matches!(report.verdict, fabius::Verdict::Verified), "{program:?}: {report}");
    all.into_inner().unwrap()
}

#[track_caller]
fn agree(programs: impl IntoIterator<Item = Program>) {
    let mut several = 0;
    for program in programs {
        let (expected, found) = (model::outcomes(&program), outcomes(&program, &Config::new().exhaustive()));
        let (missing, more): (Vec<_>, Vec<_>) =
            (expected.difference(&found).take(3).collect(), found.difference(&expected).take(3).collect());
        assert_eq!((missing, more), (vec![], vec![]), "missing, too many: {program:?}");
        several += usize::from(found.len() > 1);
    }
    assert!(several > 0, "every program has one outcome");
}

#[test]
fn programs_that_hand_on_have_exactly_their_outcomes() {
    agree(chosen());
}

#[test]
fn random_programs_have_exactly_their_outcomes() {
    agree((0..20).map(generate));
}

#[test]
#[ignore = "minutes; run after a change of a primitive or of the executor"]
fn more_random_programs_have_exactly_their_outcomes() {
    agree([with_two_senders()].into_iter().chain((20..3_000).map(generate)));
}
