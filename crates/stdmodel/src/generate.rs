//! Random programs.

use crate::program::{Closure, Hint, Op, Program, Start};
use fastrand::Rng;

/// What a random program is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Atomics and hints.
    Atomics,
    /// Loops of retries.
    Retries,
    /// Mutexes that are held over operations.
    Mutexes,
    /// Locks for readers and writers.
    RwLocks,
    /// Condition variables.
    Condvars,
    /// Channels without a limit.
    Channels,
    /// Channels of capacity 1 and 2.
    Bounded,
    /// Channels of capacity 0.
    Rendezvous,
    /// Barriers.
    Barriers,
    /// `park` and `unpark`.
    Parking,
    /// `Once` and `OnceLock`.
    Onces,
    /// Tasks that await atomics and each other.
    Futures,
    /// Sleep and limits of time.
    Time,
    /// Threads that panic.
    Panics,
    /// Threads that spawn, `is_finished`.
    Threads,
    /// Everything.
    Mixed,
}

impl Theme {
    /// All of them.
    pub const ALL: [Theme; 16] = [
        Theme::Atomics,
        Theme::Retries,
        Theme::Mutexes,
        Theme::RwLocks,
        Theme::Condvars,
        Theme::Channels,
        Theme::Bounded,
        Theme::Rendezvous,
        Theme::Barriers,
        Theme::Parking,
        Theme::Onces,
        Theme::Futures,
        Theme::Time,
        Theme::Panics,
        Theme::Threads,
        Theme::Mixed,
    ];
}

/// How large.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// At most so many threads beside main.
    pub threads: u8,
    /// At most so many operations for each.
    pub operations: u8,
}

/// A random program.
pub fn program(rng: &mut Rng, theme: Theme, size: Size) -> Program {
    let threads = rng.u8(1..=size.threads);
    let mut program = Program { atomics: rng.u8(1..=2), ..Program::default() };
    program.start = match theme {
        Theme::Futures => Start::Tasks,
        _ if rng.u8(0..6) == 0 => Start::Scoped,
        _ => Start::Free,
    };
    match theme {
        Theme::Mutexes | Theme::Condvars => program.mutexes = rng.u8(1..=2),
        Theme::Panics => {
            program.mutexes = rng.u8(1..=2);
            (program.onces, program.cells) = (rng.u8(0..=1), rng.u8(0..=1));
        }
        Theme::Futures => (program.wakers, program.mutexes) = (1, 1),
        Theme::RwLocks => program.rwlocks = 1,
        Theme::Channels => program.channels = vec![None],
        Theme::Bounded => program.channels = vec![Some(rng.u8(1..=2))],
        Theme::Rendezvous => program.channels = vec![Some(0)],
        Theme::Barriers => program.barriers = vec![2],
        Theme::Onces => (program.onces, program.cells) = (1, 1),
        Theme::Time => {
            program.channels = vec![[None, Some(0)][rng.usize(0..2)]];
            (program.mutexes, program.condvars) = (1, 1);
        }
        Theme::Mixed => {
            program.mutexes = rng.u8(0..=1);
            program.rwlocks = rng.u8(0..=1);
            program.barriers = vec![2; rng.usize(0..=1)];
            program.onces = rng.u8(0..=1);
            program.channels = if rng.bool() { vec![[None, Some(0), Some(1)][rng.usize(0..3)]] } else { Vec::new() };
        }
        _ => {}
    }
    if theme == Theme::Condvars {
        program.condvars = 1;
    }
    let receiver = rng.u8(0..=threads);
    for thread in 0..=threads {
        let count = rng.u8(if thread == 0 { 0 } else { 1 }..=size.operations);
        let mut ops: Vec<Op> = Vec::new();
        while ops.len() < count.into() {
            let next = operations(rng, theme, &program, thread, threads, thread == receiver);
            ops.extend(next);
        }
        ops.truncate(count.into());
        program.threads.push(ops);
    }
    place_spawns(rng, theme, &mut program);
    program.complete();
    program
}

/// Every thread is spawned by one before it: by main, and now and then by another; what stands before is done before.
fn place_spawns(rng: &mut Rng, theme: Theme, program: &mut Program) {
    let nested = theme == Theme::Threads;
    for thread in 1..program.threads.len() {
        let parent = if nested && rng.u8(0..3) == 0 { rng.usize(0..thread) } else { 0 };
        let ops = &mut program.threads[parent];
        let spawns = ops.iter().rposition(|op| matches!(op, Op::Spawn(_))).map_or(0, |at| at + 1);
        let at = if rng.u8(0..3) == 0 { rng.usize(spawns..=ops.len()) } else { spawns };
        ops.insert(at, Op::Spawn(thread as u8));
        if theme == Theme::Threads && rng.bool() {
            let at = rng.usize(at + 1..=program.threads[parent].len());
            program.threads[parent].insert(at, Op::IsFinished(thread as u8));
        }
        if rng.u8(0..4) == 0 {
            let ops = &mut program.threads[parent];
            let after = ops.iter().position(|op| *op == Op::Spawn(thread as u8)).unwrap_or(0) + 1;
            ops.insert(rng.usize(after..=ops.len()), Op::Join(thread as u8));
        }
    }
}

fn hint(rng: &mut Rng) -> Hint {
    if rng.bool() { Hint::Yield } else { Hint::Spin }
}

fn atomic(rng: &mut Rng, program: &Program) -> Op {
    let a = rng.u8(0..program.atomics);
    match rng.u8(0..8) {
        0..3 => Op::Load(a),
        3..6 => Op::Store(a, rng.u8(1..=2)),
        6 => Op::Add(a, 1),
        _ if rng.bool() => Op::Swap(a, rng.u8(1..=2)),
        _ => Op::Cas(a, rng.u8(0..=1), 2),
    }
}

/// What runs a closure once.
fn runs_once(rng: &mut Rng, program: &Program, v: u8, closure: Closure) -> Op {
    match rng.u8(0..3) {
        0 if program.cells > 0 => Op::GetOrInit(0, 0, v, closure),
        1 if program.onces > 0 => Op::CallOnceForce(0, 0, closure),
        _ if program.onces > 0 => Op::CallOnce(0, 0, closure),
        _ => Op::GetOrInit(0, 0, v, closure),
    }
}

/// The next one or few operations of a thread.
fn operations(rng: &mut Rng, theme: Theme, program: &Program, thread: u8, threads: u8, receiver: bool) -> Vec<Op> {
    // Main does not panic, nor come to what is poisoned: nobody else may go on while it is unwound.
    let is_caught = theme == Theme::Panics && thread > 0;
    let theme = if theme == Theme::Mixed { Theme::ALL[rng.usize(0..Theme::ALL.len() - 1)] } else { theme };
    let common = rng.u8(0..10);
    if common < 2 {
        return vec![Op::Give(hint(rng))];
    }
    if common < 4 || theme == Theme::Atomics || theme == Theme::Threads {
        return vec![atomic(rng, program)];
    }
    let m = rng.u8(0..program.mutexes.max(1));
    let ms = if rng.u8(0..8) == 0 { 0 } else { rng.u8(1..=2) };
    let v = rng.u8(1..=2);
    let one = |ops: &[Op], rng: &mut Rng| vec![ops[rng.usize(0..ops.len())]];
    match theme {
        Theme::Retries => {
            let a = rng.u8(0..program.atomics);
            let tries = if rng.u8(0..3) == 0 { 0 } else { rng.u8(1..=2) };
            let wait = Op::Retry(a, rng.u8(0..=1), tries, hint(rng));
            one(&[wait, Op::Store(a, 1), Op::Give(hint(rng))], rng)
        }
        Theme::Mutexes | Theme::Panics if program.mutexes > 0 => {
            if theme == Theme::Panics {
                match rng.u8(0..8) {
                    0 if thread > 0 => return vec![Op::Panic],
                    1..4 if is_caught && program.onces + program.cells > 0 => {
                        let closure = if rng.bool() { Closure::Panics } else { Closure::Returns };
                        return vec![runs_once(rng, program, v, closure)];
                    }
                    _ => {}
                }
            }
            let lock = match rng.u8(0..6) {
                0 => Op::TryLock(m),
                1 => Op::RetryLock(m, rng.u8(0..=2), hint(rng)),
                _ => Op::Lock(m),
            };
            match rng.u8(0..4) {
                0 => vec![Op::Unlock(m)],
                1 => vec![lock],
                2 => vec![lock, Op::Get(m), atomic(rng, program), Op::Put(m, v), Op::Unlock(m)],
                _ => vec![lock, atomic(rng, program), Op::Unlock(m)],
            }
        }
        Theme::RwLocks if program.rwlocks > 0 => {
            let lock = one(&[Op::Read(0), Op::Write(0), Op::TryRead(0), Op::TryWrite(0)], rng)[0];
            match rng.u8(0..4) {
                0 | 1 => vec![lock, atomic(rng, program), Op::Release(0)],
                2 => vec![Op::Write(0), atomic(rng, program), Op::Downgrade(0), atomic(rng, program), Op::Release(0)],
                _ => one(&[lock, Op::Release(0), Op::Downgrade(0)], rng),
            }
        }
        Theme::Condvars if program.condvars > 0 => match rng.u8(0..7) {
            6 => vec![Op::Lock(m), Op::WaitTimeout(0, m, ms), Op::Unlock(m)],
            0 => vec![Op::Lock(m), Op::Wait(0, m), Op::Unlock(m)],
            1 => vec![Op::Lock(m), Op::WaitUntil(0, m, v), Op::Unlock(m)],
            2 => vec![Op::Lock(m), Op::Put(m, v), Op::NotifyOne(0), Op::Unlock(m)],
            3 => vec![Op::Lock(m), Op::Put(m, v), Op::Unlock(m), Op::NotifyAll(0)],
            _ => one(&[Op::NotifyOne(0), Op::NotifyAll(0)], rng),
        },
        Theme::Channels | Theme::Bounded | Theme::Rendezvous if !program.channels.is_empty() => {
            if receiver {
                one(&[Op::Recv(0), Op::Recv(0), Op::Recv(0), Op::TryRecv(0), Op::DropReceiver(0)], rng)
            } else if program.channels[0].is_none() || rng.u8(0..3) > 0 {
                one(&[Op::Send(0, v), Op::Send(0, v), Op::Send(0, v), Op::DropSender(0)], rng)
            } else {
                vec![Op::TrySend(0, v)]
            }
        }
        Theme::Barriers if !program.barriers.is_empty() => vec![Op::Barrier(0)],
        Theme::Parking => one(&[Op::Park, Op::Unpark(0), Op::Unpark(rng.u8(0..=threads))], rng),
        Theme::Onces if program.onces > 0 && program.cells > 0 => {
            let once = runs_once(rng, program, v, Closure::Returns);
            one(&[once, once, once, Op::IsCompleted(0), Op::Set(0, v), Op::GetSet(0)], rng)
        }
        Theme::Onces if program.onces > 0 => one(&[Op::CallOnce(0, 0, Closure::Returns), Op::IsCompleted(0)], rng),
        Theme::Futures if program.wakers > 0 => match rng.u8(0..6) {
            0 | 1 => vec![Op::Await(0, 0, v)],
            2 => vec![Op::Store(0, v), Op::Wake(0)],
            3 => vec![Op::Lock(0), atomic(rng, program), Op::Unlock(0)],
            _ => one(&[Op::Store(0, v), Op::Wake(0), Op::Give(hint(rng))], rng),
        },
        Theme::Time => match (rng.bool(), receiver) {
            _ if program.channels.is_empty() => one(&[Op::Sleep(ms), Op::ParkTimeout(ms)], rng),
            (true, true) => one(&[Op::RecvTimeout(0, ms), Op::RecvTimeout(0, ms), Op::TryRecv(0)], rng),
            (true, false) if program.channels[0].is_none() => vec![Op::Send(0, v)],
            (true, false) => one(&[Op::Send(0, v), Op::TrySend(0, v)], rng),
            _ if program.condvars > 0 && rng.bool() => match rng.u8(0..4) {
                0 => vec![Op::Lock(m), Op::Sleep(ms), Op::Unlock(m)],
                1 => one(&[Op::NotifyOne(0), Op::NotifyAll(0)], rng),
                _ => vec![Op::Lock(m), Op::WaitTimeout(0, m, ms), Op::Unlock(m)],
            },
            _ => one(&[Op::Sleep(ms), Op::ParkTimeout(ms), Op::Unpark(rng.u8(0..=threads))], rng),
        },
        _ => vec![atomic(rng, program)],
    }
}
