//! Runs a program of the model on `fabius`: called inside of a check.

use fabius::future::AtomicWaker;
use fabius::sync::atomic::{AtomicU8, Ordering::SeqCst};
use fabius::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError};
use fabius::sync::{Barrier, Condvar, Mutex, MutexGuard, Once, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};
use fabius::sync::{LockResult, TryLockError, TryLockResult};
use fabius::thread::{self, JoinHandle, Scope, ScopedJoinHandle, Thread};
use fabius::{future, hint, time::Duration};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use stdmodel::program::{Closure, GONE, Hint, NONE, Op, Program, Start};

/// What each thread has read.
pub type Logs = Vec<Vec<u8>>;

/// One execution. When main has ended, which is last, `at_end` is given all logs.
pub fn run(program: &Arc<Program>, at_end: impl Fn(&Logs)) {
    let world = Arc::new(World::new(program));
    match program.start {
        Start::Free => body(&world, 0, None),
        Start::Scoped => {
            let scope = catch_unwind(AssertUnwindSafe(|| thread::scope(|scope| body(&world, 0, Some(scope)))));
            world.log(0, scope.is_err().into());
        }
        Start::Tasks => future::block_on(task(world.clone(), 0)),
    }
    let logs = world.logs.lock().unwrap().clone();
    at_end(&logs);
}

enum AnySender {
    Unbounded(Sender<u8>),
    Bounded(SyncSender<u8>),
}

/// What a thread is born with.
#[derive(Default)]
struct Birth {
    senders: Vec<Option<AnySender>>,
    receivers: Vec<Option<Receiver<u8>>>,
    known: Vec<Option<Thread>>,
}

struct World {
    program: Arc<Program>,
    atomics: Vec<AtomicU8>,
    mutexes: Vec<Mutex<u8>>,
    rwlocks: Vec<RwLock<()>>,
    condvars: Vec<Condvar>,
    barriers: Vec<Barrier>,
    onces: Vec<Once>,
    cells: Vec<OnceLock<u8>>,
    wakers: Vec<AtomicWaker>,
    // Of std: these are not what is tested, and no thread stops while it holds them.
    births: std::sync::Mutex<Vec<Birth>>,
    logs: std::sync::Mutex<Logs>,
}

impl World {
    fn new(program: &Arc<Program>) -> World {
        let threads = program.threads.len();
        let mut births: Vec<Birth> = (0..threads).map(|_| Birth::default()).collect();
        for (c, capacity) in program.channels.iter().enumerate() {
            let (sender, receiver) = match capacity {
                None => {
                    let (tx, rx) = mpsc::channel();
                    (AnySender::Unbounded(tx), rx)
                }
                Some(n) => {
                    let (tx, rx) = mpsc::sync_channel(usize::from(*n));
                    (AnySender::Bounded(tx), rx)
                }
            };
            let (mut sender, mut receiver) = (Some(sender), Some(receiver));
            let last = (0..threads).rev().find(|t| program.sends(*t, c));
            for (t, birth) in births.iter_mut().enumerate() {
                birth.senders.push(match &sender {
                    _ if Some(t) == last => sender.take(),
                    Some(AnySender::Unbounded(tx)) if program.sends(t, c) => Some(AnySender::Unbounded(tx.clone())),
                    Some(AnySender::Bounded(tx)) if program.sends(t, c) => Some(AnySender::Bounded(tx.clone())),
                    _ => None,
                });
                birth.receivers.push(if program.receives(t, c) { receiver.take() } else { None });
            }
            std::mem::forget((sender, receiver)); // what no thread has is never dropped
        }
        World {
            program: program.clone(),
            atomics: (0..program.atomics).map(|_| AtomicU8::new(0)).collect(),
            mutexes: (0..program.mutexes).map(|_| Mutex::new(0)).collect(),
            rwlocks: (0..program.rwlocks).map(|_| RwLock::new(())).collect(),
            condvars: (0..program.condvars).map(|_| Condvar::new()).collect(),
            barriers: program.barriers.iter().map(|n| Barrier::new(usize::from(*n))).collect(),
            onces: (0..program.onces).map(|_| Once::new()).collect(),
            cells: (0..program.cells).map(|_| OnceLock::new()).collect(),
            wakers: (0..program.wakers).map(|_| AtomicWaker::new()).collect(),
            births: std::sync::Mutex::new(births),
            logs: std::sync::Mutex::new(vec![Vec::new(); threads]),
        }
    }

    fn log(&self, thread: usize, value: u8) {
        self.logs.lock().unwrap()[thread].push(value);
    }

    /// What the closures do that run once.
    fn once(&self, thread: usize, atomic: u8, ends: Closure) {
        self.log(thread, self.atomics[usize::from(atomic)].fetch_add(1, SeqCst));
        assert!(ends == Closure::Returns, "a closure of the program panics");
    }
}

enum Guard<'a> {
    Mutex(u8, Option<MutexGuard<'a, u8>>),
    Read(u8, #[expect(dead_code, reason = "held")] RwLockReadGuard<'a, ()>),
    Write(u8, RwLockWriteGuard<'a, ()>),
}

enum Handle<'scope> {
    Free(JoinHandle<()>),
    Scoped(ScopedJoinHandle<'scope, ()>),
}

#[derive(Default)]
/// What a thread has: dropped at its end in the order that the model states, also when it unwinds.
struct Own<'a> {
    held: Vec<Guard<'a>>,
    senders: Vec<Option<AnySender>>,
    receivers: Vec<Option<Receiver<u8>>>,
}

impl Drop for Own<'_> {
    fn drop(&mut self) {
        while self.held.pop().is_some() {}
        self.senders.iter_mut().for_each(|sender| drop(sender.take()));
        self.receivers.iter_mut().for_each(|receiver| drop(receiver.take()));
    }
}

impl<'a> Own<'a> {
    fn mutex(&self, mutex: u8) -> Option<usize> {
        self.held.iter().position(|g| matches!(g, Guard::Mutex(m, _) if *m == mutex))
    }

    fn rwlock(&self, lock: u8) -> Option<usize> {
        self.held.iter().position(|g| matches!(g, Guard::Read(l, _) | Guard::Write(l, _) if *l == lock))
    }

    fn value(&mut self, mutex: u8) -> Option<&mut u8> {
        self.held.iter_mut().find_map(|g| match g {
            Guard::Mutex(m, Some(guard)) if *m == mutex => Some(&mut **guard),
            _ => None,
        })
    }

    /// Waits once, and says whether the mutex is poisoned.
    fn wait(&mut self, at: usize, condvar: &Condvar) -> u8 {
        let Guard::Mutex(_, guard) = &mut self.held[at] else { unreachable!("a mutex") };
        let (back, poisoned) = opened(condvar.wait(guard.take().expect("held")));
        let Guard::Mutex(_, place) = &mut self.held[at] else { unreachable!("a mutex") };
        *place = Some(back);
        poisoned
    }

    /// As `wait`, with a limit of time.
    fn wait_timeout(&mut self, at: usize, condvar: &Condvar, limit: Duration) -> u8 {
        let Guard::Mutex(_, guard) = &mut self.held[at] else { unreachable!("a mutex") };
        let ((back, result), poisoned) = opened(condvar.wait_timeout(guard.take().expect("held"), limit));
        let Guard::Mutex(_, place) = &mut self.held[at] else { unreachable!("a mutex") };
        *place = Some(back);
        poisoned + 2 * u8::from(result.timed_out())
    }
}

fn opened<G>(result: LockResult<G>) -> (G, u8) {
    result.map_or_else(|poisoned| (poisoned.into_inner(), 1), |guard| (guard, 0))
}

fn tried<G>(result: TryLockResult<G>) -> (Option<G>, u8) {
    match result {
        Ok(guard) => (Some(guard), 0),
        Err(TryLockError::Poisoned(poisoned)) => (Some(poisoned.into_inner()), 1),
        Err(TryLockError::WouldBlock) => (None, NONE),
    }
}

fn give_way(hint: Hint) {
    match hint {
        Hint::Yield => thread::yield_now(),
        Hint::Spin => hint::spin_loop(),
    }
}

fn body<'scope, 'env>(world: &'env Arc<World>, number: usize, scope: Option<&'scope Scope<'scope, 'env>>) {
    let birth = std::mem::take(&mut world.births.lock().unwrap()[number]);
    let mut known = birth.known;
    known.resize(world.program.threads.len(), None);
    known[number] = Some(thread::current());
    let mut own = Own { held: Vec::new(), senders: birth.senders, receivers: birth.receivers };
    let mut handles: Vec<Option<Handle<'scope>>> = (0..known.len()).map(|_| None).collect();
    let log = |value: u8| world.log(number, value);
    for op in &world.program.threads[number] {
        match *op {
            Op::Spawn(new) => {
                let new = usize::from(new);
                world.births.lock().unwrap()[new].known = known.clone();
                let handle = match scope {
                    Some(scope) => Handle::Scoped(scope.spawn(move || body(world, new, Some(scope)))),
                    None => {
                        let world = world.clone();
                        Handle::Free(thread::spawn(move || body(&world, new, None)))
                    }
                };
                known[new] = Some(match &handle {
                    Handle::Free(handle) => handle.thread().clone(),
                    Handle::Scoped(handle) => handle.thread().clone(),
                });
                handles[new] = Some(handle);
            }
            Op::Join(other) => match handles[usize::from(other)].take() {
                Some(Handle::Free(handle)) => log(handle.join().is_err().into()),
                Some(Handle::Scoped(handle)) => log(handle.join().is_err().into()),
                None => {}
            },
            Op::IsFinished(other) => match &handles[usize::from(other)] {
                Some(Handle::Free(handle)) => log(handle.is_finished().into()),
                Some(Handle::Scoped(handle)) => log(handle.is_finished().into()),
                None => {}
            },
            Op::Unpark(other) => {
                if let Some(thread) = &known[usize::from(other)] {
                    thread.unpark();
                }
            }
            op => step(world, number, &mut own, op),
        }
    }
}

async fn task(world: Arc<World>, number: usize) {
    let mut own = Own::default();
    let mut tasks: Vec<Option<future::JoinHandle<()>>> = (0..world.program.threads.len()).map(|_| None).collect();
    for op in &world.program.threads[number] {
        match *op {
            Op::Spawn(new) => {
                tasks[usize::from(new)] = Some(future::spawn(task(world.clone(), new.into())));
            }
            Op::Join(other) => {
                if let Some(task) = tasks[usize::from(other)].take() {
                    world.log(number, task.await.is_err().into());
                }
            }
            Op::Give(Hint::Yield) => future::yield_now().await,
            Op::Await(w, a, v) => {
                poll_fn(|context| {
                    world.wakers[usize::from(w)].register(context.waker());
                    if world.atomics[usize::from(a)].load(SeqCst) == v { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
            }
            op => step(&world, number, &mut own, op),
        }
    }
}

fn step<'a>(world: &'a World, number: usize, own: &mut Own<'a>, op: Op) {
    let log = |value: u8| world.log(number, value);
    let atomic = |a: u8| &world.atomics[usize::from(a)];
    let mutex = |m: u8| &world.mutexes[usize::from(m)];
    let rwlock = |l: u8| &world.rwlocks[usize::from(l)];
    let duration = |ms: u8| Duration::from_millis(ms.into());
    match op {
        Op::Load(a) => log(atomic(a).load(SeqCst)),
        Op::Store(a, v) => atomic(a).store(v, SeqCst),
        Op::Swap(a, v) => log(atomic(a).swap(v, SeqCst)),
        Op::Add(a, v) => log(atomic(a).fetch_add(v, SeqCst)),
        Op::Cas(a, old, new) => log(atomic(a).compare_exchange(old, new, SeqCst, SeqCst).unwrap_or_else(|old| old)),
        Op::Retry(a, v, 0, hint) => {
            while atomic(a).load(SeqCst) != v {
                give_way(hint);
            }
        }
        Op::Retry(a, v, tries, hint) => {
            let mut vain = 0;
            while vain < tries && atomic(a).load(SeqCst) != v {
                give_way(hint);
                vain += 1;
            }
            log(vain);
        }
        Op::RetryLock(m, tries, hint) if own.mutex(m).is_none() => {
            let mut vain = 0;
            while vain < tries || tries == 0 {
                if let (Some(guard), _) = tried(mutex(m).try_lock()) {
                    own.held.push(Guard::Mutex(m, Some(guard)));
                    break;
                }
                give_way(hint);
                vain += u8::from(tries > 0);
            }
            if tries > 0 {
                log(vain);
            }
        }
        Op::Lock(m) if own.mutex(m).is_none() => {
            let (guard, poisoned) = opened(mutex(m).lock());
            own.held.push(Guard::Mutex(m, Some(guard)));
            log(poisoned);
        }
        Op::TryLock(m) if own.mutex(m).is_none() => {
            let (guard, result) = tried(mutex(m).try_lock());
            own.held.extend(guard.map(|guard| Guard::Mutex(m, Some(guard))));
            log(result);
        }
        Op::Unlock(m) => {
            if let Some(at) = own.mutex(m) {
                drop(own.held.remove(at));
            }
        }
        Op::Put(m, v) => {
            if let Some(value) = own.value(m) {
                *value = v;
            }
        }
        Op::Get(m) => {
            if let Some(value) = own.value(m) {
                log(*value);
            }
        }
        Op::Read(l) if own.rwlock(l).is_none() => {
            let (guard, poisoned) = opened(rwlock(l).read());
            own.held.push(Guard::Read(l, guard));
            log(poisoned);
        }
        Op::Write(l) if own.rwlock(l).is_none() => {
            let (guard, poisoned) = opened(rwlock(l).write());
            own.held.push(Guard::Write(l, guard));
            log(poisoned);
        }
        Op::TryRead(l) if own.rwlock(l).is_none() => {
            let (guard, result) = tried(rwlock(l).try_read());
            own.held.extend(guard.map(|guard| Guard::Read(l, guard)));
            log(result);
        }
        Op::TryWrite(l) if own.rwlock(l).is_none() => {
            let (guard, result) = tried(rwlock(l).try_write());
            own.held.extend(guard.map(|guard| Guard::Write(l, guard)));
            log(result);
        }
        Op::Downgrade(l) => {
            if let Some(at) = own.held.iter().position(|g| matches!(g, Guard::Write(of, _) if *of == l)) {
                let last = own.held.len() - 1;
                own.held.swap(at, last);
                let Some(Guard::Write(_, guard)) = own.held.pop() else { unreachable!("it is there") };
                own.held.push(Guard::Read(l, RwLockWriteGuard::downgrade(guard)));
                own.held.swap(at, last);
            }
        }
        Op::Release(l) => {
            if let Some(at) = own.rwlock(l) {
                drop(own.held.remove(at));
            }
        }
        Op::Wait(c, m) => {
            if let Some(at) = own.mutex(m) {
                log(own.wait(at, &world.condvars[usize::from(c)]));
            }
        }
        Op::WaitUntil(c, m, v) => {
            while let Some(at) = own.mutex(m) {
                if own.value(m) == Some(&mut { v }) {
                    break;
                }
                log(own.wait(at, &world.condvars[usize::from(c)]));
            }
        }
        Op::WaitTimeout(c, m, ms) => {
            if let Some(at) = own.mutex(m) {
                log(own.wait_timeout(at, &world.condvars[usize::from(c)], duration(ms)));
            }
        }
        Op::NotifyOne(c) => world.condvars[usize::from(c)].notify_one(),
        Op::NotifyAll(c) => world.condvars[usize::from(c)].notify_all(),
        Op::Send(c, v) => match &own.senders[usize::from(c)] {
            Some(AnySender::Unbounded(sender)) => log(if sender.send(v).is_ok() { 1 } else { GONE }),
            Some(AnySender::Bounded(sender)) => log(if sender.send(v).is_ok() { 1 } else { GONE }),
            None => {}
        },
        Op::TrySend(c, v) => {
            if let Some(AnySender::Bounded(sender)) = &own.senders[usize::from(c)] {
                log(match sender.try_send(v) {
                    Ok(()) => 1,
                    Err(TrySendError::Full(_)) => NONE,
                    Err(TrySendError::Disconnected(_)) => GONE,
                });
            }
        }
        Op::Recv(c) => {
            if let Some(receiver) = &own.receivers[usize::from(c)] {
                log(receiver.recv().unwrap_or(GONE));
            }
        }
        Op::TryRecv(c) => {
            if let Some(receiver) = &own.receivers[usize::from(c)] {
                log(receiver.try_recv().unwrap_or_else(|e| if e == TryRecvError::Empty { NONE } else { GONE }));
            }
        }
        Op::RecvTimeout(c, ms) => {
            if let Some(receiver) = &own.receivers[usize::from(c)] {
                let result = receiver.recv_timeout(duration(ms));
                log(result.unwrap_or_else(|e| if e == RecvTimeoutError::Timeout { NONE } else { GONE }));
            }
        }
        Op::DropSender(c) => drop(own.senders[usize::from(c)].take()),
        Op::DropReceiver(c) => drop(own.receivers[usize::from(c)].take()),
        Op::Barrier(b) => log(world.barriers[usize::from(b)].wait().is_leader().into()),
        Op::Park => thread::park(),
        Op::ParkTimeout(ms) => thread::park_timeout(duration(ms)),
        Op::CallOnce(o, a, ends) => world.onces[usize::from(o)].call_once(|| world.once(number, a, ends)),
        Op::CallOnceForce(o, a, ends) => world.onces[usize::from(o)].call_once_force(|once| {
            log(once.is_poisoned().into());
            world.once(number, a, ends);
        }),
        Op::IsCompleted(o) => log(world.onces[usize::from(o)].is_completed().into()),
        Op::Set(o, v) => log(world.cells[usize::from(o)].set(v).is_ok().into()),
        Op::GetSet(o) => log(world.cells[usize::from(o)].get().copied().unwrap_or(NONE)),
        Op::GetOrInit(o, a, v, ends) => log(*world.cells[usize::from(o)].get_or_init(|| {
            world.once(number, a, ends);
            v
        })),
        Op::Wake(w) => world.wakers[usize::from(w)].wake(),
        Op::Give(hint) => give_way(hint),
        Op::Sleep(ms) => thread::sleep(duration(ms)),
        Op::Panic => panic!("a thread of the program panics"),
        _ => {} // what it cannot do is left out
    }
}
