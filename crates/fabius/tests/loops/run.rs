//! Runs a program with loops on `fabius`: called inside of a check.

use crate::compare::Logs;
use crate::places::{Common, MOST, Places};
use fabius::sync::atomic::{AtomicU8, Ordering};
use fabius::sync::mpsc::{self, Receiver, Sender};
use fabius::sync::{Condvar, Mutex, MutexGuard};
use fabius::thread::{self, JoinHandle, Thread};
use fabius::{hint, time::Duration};
use std::cell::Cell;
use std::sync::Arc;
use stdmodel::loops::program::{Cond, NONE, Op, Orderings, Program, Stmt, ops};

/// One execution. When main has ended, which is last, `at_end` is given all logs.
pub fn run(program: &Arc<Program>, at_end: &dyn Fn(&Logs)) {
    let (sender, receiver) = mpsc::channel();
    let world = Arc::new(World {
        program: program.clone(),
        atomics: (0..program.atomics).map(|_| AtomicU8::new(0)).collect(),
        mutexes: (0..program.mutexes).map(|_| Mutex::new(())).collect(),
        condvar: Condvar::new(),
        common: Common::new(program),
        receiver: std::sync::Mutex::new(Some(receiver)),
        threads: std::sync::Mutex::new(vec![None; program.threads.len()]),
        logs: std::sync::Mutex::new(vec![Vec::new(); program.threads.len()]),
    });
    // On the stack of main.
    let foreign = [const { Cell::new(0) }; MOST];
    world.common.foreign.store(std::hint::black_box(&foreign).as_ptr().cast_mut(), std::sync::atomic::Ordering::SeqCst);
    body(&world, 0, sender);
    let logs = world.logs.lock().unwrap().clone();
    // That a channel is dropped would be steps.
    std::mem::forget(world.receiver.lock().unwrap().take());
    at_end(&logs);
}

struct World {
    program: Arc<Program>,
    atomics: Vec<AtomicU8>,
    mutexes: Vec<Mutex<()>>,
    condvar: Condvar,
    common: Arc<Common>,
    // Of std: no thread stops while it holds them.
    receiver: std::sync::Mutex<Option<Receiver<u8>>>,
    threads: std::sync::Mutex<Vec<Option<Thread>>>,
    logs: std::sync::Mutex<Logs>,
}

/// How a block ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Goes,
    Breaks,
}

struct Running<'a> {
    world: &'a Arc<World>,
    me: u8,
    found: u8,
    guards: Vec<Option<MutexGuard<'a, ()>>>,
    handles: Vec<Option<JoinHandle<()>>>,
    sender: Sender<u8>,
    receiver: Option<Receiver<u8>>,
}

fn body(world: &Arc<World>, me: u8, sender: Sender<u8>) {
    let program = &*world.program;
    world.threads.lock().unwrap()[usize::from(me)] = Some(thread::current());
    let receives = ops(&program.threads[usize::from(me)]).contains(&Op::TryRecv);
    let mut running = Running {
        world,
        me,
        found: 0,
        guards: (0..program.mutexes).map(|_| None).collect(),
        handles: program.threads.iter().map(|_| None).collect(),
        sender,
        receiver: if receives { world.receiver.lock().unwrap().take() } else { None },
    };
    let mut places = Places::new(&world.common, program, me);
    running.block(&program.threads[usize::from(me)], &mut places);
    let Running { guards, sender, receiver, .. } = running;
    std::mem::forget((guards, sender));
    *world.receiver.lock().unwrap() = receiver.or_else(|| world.receiver.lock().unwrap().take());
}

fn millis(ms: u8) -> Duration {
    Duration::from_millis(ms.into())
}

impl<'a> Running<'a> {
    fn block(&mut self, stmts: &[Stmt], places: &mut Places) -> End {
        let program = &*self.world.program;
        for stmt in stmts {
            match stmt {
                Stmt::Do(op) => self.operation(*op),
                Stmt::Bump(c) => {
                    let value = places.get(program, *c);
                    places.set(program, *c, program.counters[usize::from(*c)].next(value));
                }
                Stmt::Clear(c) => places.set(program, *c, 0),
                Stmt::Take(c) => {
                    let most = program.counters[usize::from(*c)].last;
                    places.set(program, *c, self.found.min(most));
                }
                Stmt::Next(n) => self.found = (self.found % n + 1) % n,
                Stmt::LogFound => self.log(self.found),
                Stmt::Log(c) => self.log(places.get(program, *c)),
                Stmt::If(cond, yes, no) => {
                    let counter = |c: u8| places.get(program, c);
                    let holds = match *cond {
                        Cond::Found(v) => self.found == v,
                        Cond::FoundIn(c) => self.found == counter(c),
                        Cond::Is(c, v) => counter(c) == v,
                        Cond::Odd(c) => counter(c) % 2 == 1,
                    };
                    if self.block(if holds { yes } else { no }, places) == End::Breaks {
                        return End::Breaks;
                    }
                }
                Stmt::Loop(body) => while self.block(body, places) == End::Goes {},
                Stmt::Break => return End::Breaks,
            }
        }
        End::Goes
    }

    fn log(&self, value: u8) {
        self.world.logs.lock().unwrap()[usize::from(self.me)].push(value);
    }

    fn operation(&mut self, op: Op) {
        let world = self.world;
        let weak = world.program.orderings == Orderings::Weak;
        let order = if weak { Ordering::Relaxed } else { Ordering::SeqCst };
        let atomic = |a: u8| &world.atomics[usize::from(a)];
        let mutex = |m: u8| &world.mutexes[usize::from(m)];
        match op {
            Op::Load(a) => self.found = atomic(a).load(order),
            Op::Store(a, v) => atomic(a).store(v, order),
            Op::StoreFound(a) => atomic(a).store(self.found, order),
            Op::Swap(a, v) => self.found = atomic(a).swap(v, order),
            Op::Add(a, v) => self.found = atomic(a).fetch_add(v, order),
            Op::Sub(a, v) => self.found = atomic(a).fetch_sub(v, order),
            Op::Toggle(a) => self.found = atomic(a).fetch_xor(1, order),
            Op::Keep(a) => self.found = atomic(a).fetch_add(0, order),
            Op::Cas(a, e, n) => self.found = atomic(a).compare_exchange(e, n, order, order).is_ok().into(),
            Op::CasWeak(a, e, n) => self.found = atomic(a).compare_exchange_weak(e, n, order, order).is_ok().into(),
            Op::Lock(m) => {
                if self.guards[usize::from(m)].is_none() {
                    self.guards[usize::from(m)] = Some(mutex(m).lock().unwrap());
                }
            }
            Op::TryLock(m) => {
                let guard = mutex(m).try_lock().ok();
                self.found = guard.is_some().into();
                if guard.is_some() {
                    self.guards[usize::from(m)] = guard;
                }
            }
            Op::Unlock(m) => self.guards[usize::from(m)] = None,
            Op::Wait(m) => {
                if let Some(guard) = self.guards[usize::from(m)].take() {
                    self.guards[usize::from(m)] = Some(world.condvar.wait(guard).unwrap());
                }
            }
            Op::NotifyOne => world.condvar.notify_one(),
            Op::NotifyAll => world.condvar.notify_all(),
            Op::Send(v) => self.sender.send(v).unwrap(),
            Op::TryRecv => self.found = self.receiver.as_ref().map_or(NONE, |r| r.try_recv().unwrap_or(NONE)),
            Op::ParkTimeout(ms) => thread::park_timeout(millis(ms)),
            Op::Unpark(t) => {
                let thread = world.threads.lock().unwrap()[usize::from(t)].clone();
                if let Some(thread) = thread {
                    thread.unpark();
                }
            }
            Op::Spawn(t) => {
                if world.threads.lock().unwrap()[usize::from(t)].is_none() {
                    let (theirs, sender) = (world.clone(), self.sender.clone());
                    let handle = thread::spawn(move || body(&theirs, t, sender));
                    self.handles[usize::from(t)] = Some(handle);
                }
            }
            Op::Join(t) => {
                if let Some(handle) = self.handles[usize::from(t)].take() {
                    handle.join().unwrap();
                    world.threads.lock().unwrap()[usize::from(t)] = None;
                }
            }
            Op::IsFinished(t) => {
                if let Some(handle) = &self.handles[usize::from(t)] {
                    self.found = handle.is_finished().into();
                }
            }
            Op::End => unreachable!("no statement"),
            Op::Yield => thread::yield_now(),
            Op::Spin => hint::spin_loop(),
            Op::Sleep(ms) => thread::sleep(millis(ms)),
        }
    }
}
