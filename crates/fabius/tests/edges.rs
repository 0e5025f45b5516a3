//! What is taken to be the same schedule is so in every respect: random programs over most types race, and have outcomes, with a
//! reduction where they do without.
//!
//! An edge that an operation makes which the search does not know of, or that is missing in one of two orders which are taken for
//! one, shows here: a race, or an outcome of a weak access, that only the plain search finds. So does one that is forgotten with
//! the stores that made it.

use fabius::cell::UnsafeCell;
use fabius::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use fabius::sync::atomic::{AtomicU32, Ordering, fence};
use fabius::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use fabius::{BugKind, Config, Report, Verdict, thread};
use std::collections::BTreeSet;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
enum Op {
    Own,
    Access(usize, Mode),
    Load(usize, Ordering),
    /// Accesses the cell if the atomic has another value than at first.
    LoadAnd(usize, Ordering, usize, Mode),
    Store(usize, Ordering),
    Add(usize, Ordering),
    Fence(Ordering),
    Send,
    TrySend,
    /// Accesses the cell if nobody receives.
    SendInVain(usize, Mode),
    /// Of the first thread, which has the receiver; another one goes on.
    Receive(usize, Mode),
    TryReceive(usize, Mode),
    DropSender,
    DropReceiver,
    Locked(usize, Mode),
    Shared(usize),
    Exclusive(usize, Mode),
    Wait,
    Notify,
    Unpark(usize),
    Park,
    Initialize(usize),
    Get(usize, Mode),
    DropArc,
    GetMut(usize, Mode),
    Arrive,
}

const KINDS: u32 = 27;

#[derive(Clone, Copy, Debug)]
enum Mode {
    Read,
    Write,
}

#[derive(Clone, Copy, Debug)]
enum Spawns {
    Threads,
    Scope,
}

#[derive(Clone, Debug)]
struct Program {
    /// Of the channel; `None`: without limit.
    capacity: Option<usize>,
    spawns: Spawns,
    threads: Vec<Vec<Op>>,
}

struct Cell(UnsafeCell<u32>);

// SAFETY: accesses that race are found before they are made.
unsafe impl Sync for Cell {}

impl Cell {
    fn access(&self, mode: Mode) -> u32 {
        match mode {
            // SAFETY: one thread runs at a time.
            Mode::Read => self.0.with(|value| unsafe { *value }),
            // SAFETY: as above.
            Mode::Write => self.0.with_mut(|value| unsafe {
                *value += 1;
                0
            }),
        }
    }
}

struct World {
    cells: [Cell; 2],
    atomics: [AtomicU32; 2],
    lock: Mutex<()>,
    many: RwLock<()>,
    condition: Condvar,
    once: OnceLock<u32>,
    barrier: Barrier,
    threads: Mutex<Vec<thread::Thread>>,
}

enum Sender {
    Unbounded(mpsc::Sender<u32>),
    Bounded(mpsc::SyncSender<u32>),
}

/// What a thread has of its own.
struct Mine {
    sender: Option<Sender>,
    receiver: Option<mpsc::Receiver<u32>>,
    arc: Option<Arc<u32>>,
    log: Vec<u32>,
}

const SHORT: Duration = Duration::from_millis(1);

impl Mine {
    fn does(&mut self, op: Op, me: usize, world: &World) {
        let says = |log: &mut Vec<u32>, value: u32| log.push(value);
        match op {
            Op::Own => says(&mut self.log, AtomicU32::new(0).load(SeqCst)),
            Op::Access(cell, mode) => says(&mut self.log, world.cells[cell].access(mode)),
            Op::Load(atomic, order) => says(&mut self.log, world.atomics[atomic].load(order)),
            Op::LoadAnd(atomic, order, cell, mode) => {
                let value = world.atomics[atomic].load(order);
                if value > 0 {
                    world.cells[cell].access(mode);
                }
                says(&mut self.log, value);
            }
            Op::Store(atomic, order) => world.atomics[atomic].store(me as u32 + 1, order),
            Op::Add(atomic, order) => says(&mut self.log, world.atomics[atomic].fetch_add(1, order)),
            Op::Fence(order) => fence(order),
            Op::Send => match &self.sender {
                // Who sends where nobody may receive would wait for ever.
                Some(Sender::Unbounded(sender)) => says(&mut self.log, u32::from(sender.send(me as u32).is_ok())),
                Some(Sender::Bounded(sender)) => says(&mut self.log, u32::from(sender.try_send(me as u32).is_ok())),
                None => {}
            },
            Op::TrySend => {
                if let Some(Sender::Bounded(sender)) = &self.sender {
                    says(&mut self.log, u32::from(sender.try_send(me as u32).is_ok()));
                }
            }
            Op::SendInVain(cell, mode) => {
                let fails = match &self.sender {
                    Some(Sender::Unbounded(sender)) => sender.send(me as u32).is_err(),
                    Some(Sender::Bounded(sender)) => {
                        matches!(sender.try_send(me as u32), Err(mpsc::TrySendError::Disconnected(_)))
                    }
                    None => false,
                };
                if fails {
                    world.cells[cell].access(mode);
                }
                says(&mut self.log, u32::from(fails));
            }
            Op::Receive(cell, mode) => {
                if let Some(message) = self.receiver.as_ref().map(|receiver| receiver.recv_timeout(SHORT)) {
                    self.log.push(message.map_or(9, |message| message));
                    if message.is_ok() {
                        world.cells[cell].access(mode);
                    }
                }
            }
            Op::TryReceive(cell, mode) => {
                if let Some(message) = self.receiver.as_ref().map(|receiver| receiver.try_recv()) {
                    self.log.push(message.unwrap_or(9));
                    if message != Err(mpsc::TryRecvError::Empty) {
                        world.cells[cell].access(mode);
                    }
                }
            }
            Op::DropSender => drop(self.sender.take()),
            Op::DropReceiver => drop(self.receiver.take()),
            Op::Locked(cell, mode) => {
                let guard = world.lock.lock().unwrap();
                world.cells[cell].access(mode);
                drop(guard);
            }
            Op::Shared(cell) => {
                let guard = world.many.read().unwrap();
                world.cells[cell].access(Mode::Read);
                drop(guard);
            }
            Op::Exclusive(cell, mode) => {
                let guard = world.many.write().unwrap();
                world.cells[cell].access(mode);
                drop(guard);
            }
            Op::Wait => {
                let guard = world.lock.lock().unwrap();
                let (_guard, ended) = world.condition.wait_timeout(guard, SHORT).unwrap();
                self.log.push(u32::from(ended.timed_out()));
            }
            Op::Notify => world.condition.notify_one(),
            Op::Unpark(other) => {
                let thread = world.threads.lock().unwrap().get(other).cloned();
                thread.into_iter().for_each(|thread| thread.unpark());
            }
            Op::Park => thread::park_timeout(SHORT),
            Op::Initialize(cell) => {
                let value = world.once.get_or_init(|| {
                    world.cells[cell].access(Mode::Write);
                    me as u32
                });
                says(&mut self.log, *value);
            }
            Op::Get(cell, mode) => {
                if let Some(value) = world.once.get() {
                    world.cells[cell].access(mode);
                    says(&mut self.log, *value);
                }
            }
            Op::DropArc => drop(self.arc.take()),
            Op::GetMut(cell, mode) => {
                if let Some(arc) = &mut self.arc
                    && Arc::get_mut(arc).is_some()
                {
                    world.cells[cell].access(mode);
                    self.log.push(8);
                }
            }
            Op::Arrive => says(&mut self.log, u32::from(world.barrier.wait().is_leader())),
        }
    }
}

/// Runs the program inside of an execution; what its threads have seen.
fn run(program: &Program) -> Vec<Vec<u32>> {
    let world = Arc::new(World {
        cells: [const { Cell(UnsafeCell::new(0)) }; 2],
        atomics: [const { AtomicU32::new(0) }; 2],
        lock: Mutex::new(()),
        many: RwLock::new(()),
        condition: Condvar::new(),
        once: OnceLock::new(),
        barrier: Barrier::new(1),
        threads: Mutex::new(Vec::new()),
    });
    let (sender, receiver): (Box<dyn Fn() -> Sender>, _) = match program.capacity {
        None => {
            let (sender, receiver) = mpsc::channel();
            (Box::new(move || Sender::Unbounded(sender.clone())), receiver)
        }
        Some(capacity) => {
            let (sender, receiver) = mpsc::sync_channel(capacity);
            (Box::new(move || Sender::Bounded(sender.clone())), receiver)
        }
    };
    let arc = Arc::new(0);
    let mut receiver = Some(receiver);
    let mut all: Vec<Mine> = (0..program.threads.len())
        .map(|_| Mine { sender: Some(sender()), receiver: receiver.take(), arc: Some(arc.clone()), log: Vec::new() })
        .collect();
    drop((arc, sender));
    let goes = |me: usize, mut mine: Mine, world: &World| {
        program.threads[me].iter().for_each(|op| mine.does(*op, me, world));
        mine.log
    };
    world.threads.lock().unwrap().push(thread::current());
    let others = all.split_off(1);
    let first = all.pop().expect("there is a first thread");
    match program.spawns {
        Spawns::Scope => {
            let mut logs = thread::scope(|scope| {
                let spawns = |(me, mine)| {
                    let (world, goes) = (&world, &goes);
                    let thread = scope.spawn(move || goes(me + 1, mine, world));
                    world.threads.lock().unwrap().push(thread.thread().clone());
                    thread
                };
                let threads: Vec<_> = others.into_iter().enumerate().map(spawns).collect();
                let log = goes(0, first, &world);
                let mut logs: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
                logs.push(log);
                logs
            });
            logs.rotate_right(1);
            logs
        }
        Spawns::Threads => {
            let spawns = |(me, mine): (usize, Mine)| {
                let (theirs, program) = (world.clone(), program.clone());
                let thread = thread::spawn(move || {
                    let mut mine = mine;
                    program.threads[me + 1].iter().for_each(|op| mine.does(*op, me + 1, &theirs));
                    mine.log
                });
                world.threads.lock().unwrap().push(thread.thread().clone());
                thread
            };
            let threads: Vec<_> = others.into_iter().enumerate().map(spawns).collect();
            let log = goes(0, first, &world);
            let others = threads.into_iter().map(|thread| thread.join().unwrap());
            std::iter::once(log).chain(others).collect()
        }
    }
}

fn generate(seed: u64) -> Program {
    let mut random = fastrand::Rng::with_seed(seed);
    let capacity = random.choice([None, Some(0), Some(1), Some(2)]).unwrap();
    let spawns = random.choice([Spawns::Threads, Spawns::Threads, Spawns::Scope]).unwrap();
    let count = random.usize(2..=3);
    // A few kinds for each program, so that they meet.
    let kinds: Vec<u32> = (0..4).map(|_| random.u32(0..KINDS)).collect();
    let op = |random: &mut fastrand::Rng| {
        let (cell, atomic) = (random.usize(0..2), random.usize(0..2));
        let mode = random.choice([Mode::Read, Mode::Write]).unwrap();
        let load = random.choice([Relaxed, Acquire, SeqCst]).unwrap();
        let store = random.choice([Relaxed, Release, SeqCst]).unwrap();
        match if random.u32(0..3) == 0 { random.u32(0..KINDS) } else { random.choice(kinds.iter().copied()).unwrap() } {
            0 => Op::Own,
            1 | 2 => Op::Access(cell, mode),
            3 => Op::Load(atomic, load),
            4 => Op::LoadAnd(atomic, load, cell, mode),
            5 => Op::Store(atomic, store),
            6 => Op::Add(atomic, random.choice([Relaxed, Acquire, Release, AcqRel, SeqCst]).unwrap()),
            7 => Op::Fence(random.choice([Acquire, Release, AcqRel, SeqCst]).unwrap()),
            8 => Op::Send,
            9 => Op::TrySend,
            10 => Op::Receive(cell, mode),
            11 => Op::TryReceive(cell, mode),
            12 => Op::DropSender,
            13 => Op::Locked(cell, mode),
            14 => Op::Shared(cell),
            15 => Op::Exclusive(cell, mode),
            16 => Op::Wait,
            17 => Op::Notify,
            18 => Op::Unpark(random.usize(0..count)),
            19 => Op::Park,
            20 => Op::Initialize(cell),
            21 => Op::Get(cell, mode),
            22 => Op::DropArc,
            23 => Op::GetMut(cell, mode),
            24 => Op::SendInVain(cell, mode),
            25 => Op::DropReceiver,
            _ => Op::Arrive,
        }
    };
    let length = if count == 2 { 3 } else { 2 };
    let threads = (0..count).map(|_| (0..random.usize(1..=length)).map(|_| op(&mut random)).collect()).collect();
    Program { capacity, spawns, threads }
}

/// Whether it races, and else its outcomes; `None` if that was too much.
type Found = Option<Result<BTreeSet<Vec<Vec<u32>>>, ()>>;

fn find(program: &Program, config: &Config) -> (Found, Report) {
    let all = std::sync::Mutex::new(BTreeSet::new());
    let report = config.clone().name("edges").save_no_trace().explore(|| {
        let outcome = run(program);
        if !fabius::extend::is_cut() {
            all.lock().unwrap().insert(outcome);
        }
    });
    let found = match &report.verdict {
        Verdict::Bug { trace } if trace.kind == BugKind::DataRace => Some(Err(())),
        Verdict::Bug { .. } => panic!("{program:?}\n{}", report.failure().unwrap_or_default()),
        Verdict::Verified => Some(Ok(all.into_inner().unwrap())),
        _ => None,
    };
    (found, report)
}

/// Says how many programs were compared.
fn agree(seeds: std::ops::Range<u64>, executions: u64) -> usize {
    let mut compared = 0;
    for seed in seeds {
        let program = generate(seed);
        for config in [Config::new(), Config::new().sequentially_consistent()] {
            let plain = config.clone().exhaustive().without_reduction().executions(executions);
            let Some(expected) = find(&program, &plain).0 else { continue };
            compared += 1;
            let ways =
                [config.clone(), config.clone().exhaustive(), config.clone().iterative_preemptions().persistent_sets()];
            for way in ways {
                let (found, report) = find(&program, &way);
                let Some(found) = found else { panic!("seed {seed}: {program:?}\n{report}") };
                assert!(found == expected, "seed {seed}: {program:#?}\n{report}\n{found:?}\n{expected:?}");
                if let Some(schedule) = &report.replay {
                    let again = std::panic::catch_unwind(|| fabius::replay(schedule, || drop(run(&program))));
                    assert!(again.is_err(), "seed {seed}: {program:#?}\n{schedule} does not race");
                }
            }
        }
    }
    compared
}

#[test]
fn random_programs_race_with_a_reduction_as_without() {
    assert!(agree(0..60, 3_000) > 60);
}

#[test]
#[ignore = "minutes; run after a change of what operations order"]
fn more_random_programs_race_with_a_reduction_as_without() {
    let from = std::env::var("SEED").map_or(1_000, |seed| seed.parse().unwrap());
    agree(from..from + 400, 20_000);
}

/// A store that is sequentially consistent, and that was dropped, comes before the fence of who knows of it, also where that has
/// since seen newer ones, of which it knows none.
#[test]
fn what_was_dropped_comes_before_a_fence() {
    let test = || {
        let [x, y] = [0, 0].map(|value| Arc::new(AtomicU32::new(value)));
        let (theirs, other) = (x.clone(), y.clone());
        let first = thread::spawn(move || {
            other.store(1, SeqCst);
            theirs.store(1, SeqCst);
        });
        let theirs = x.clone();
        let found = thread::spawn(move || theirs.swap(2, Relaxed)).join().unwrap();
        let theirs = x.clone();
        let last = thread::spawn(move || {
            theirs.store(3, Relaxed);
            theirs.store(4, Relaxed);
        });
        x.load(Relaxed);
        x.load(Relaxed);
        fence(SeqCst);
        assert!(found == 0 || y.load(Relaxed) == 1, "the store before the one that was found is missing");
        first.join().unwrap();
        last.join().unwrap();
    };
    for config in [Config::new(), Config::new().without_reduction()] {
        let report = config.preemptions(4).stale(1).explore(test);
        assert!(!report.is_bug(), "{report}");
        assert!(report.to_string().contains("no failing execution within 4 preemptions"), "{report}");
    }
}
