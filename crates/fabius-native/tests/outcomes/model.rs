//! What such programs may do, by the documentation alone: all orders of their calls, each of which is one step, with the least
//! preemptions that lead to each outcome.

use crate::program::{Op, Program};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};

/// What a thread does at a scheduling point. Some calls have two.
#[derive(Clone, Copy, Debug)]
enum Act {
    Does(Op),
    /// Gives back what was had, if it was: a step only then.
    UnlockIf(usize),
    ReleaseIf(usize),
    /// The second of two bytes, if it was not there with the first.
    SecondByte(usize),
    /// The other signal is let in, and no more; until it has come.
    Unblock,
    Block,
    Suspend,
    /// Whether its handler has run.
    Told(usize),
    /// Was woken, and has the lock again.
    Relock,
    /// Goes on behind the barrier.
    Pass,
    Create(usize),
    Join(usize),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct State {
    at: Vec<usize>,
    born: Vec<bool>,
    registers: Vec<i32>,
    owner: Option<usize>,
    number: i32,
    semaphore: u32,
    pipe: Vec<i32>,
    closed: bool,
    socket: Vec<i32>,
    event: i32,
    count: i32,
    byte: i32,
    size: i32,
    signal: bool,
    signals: Vec<bool>,
    /// The other signal on its way to the process: the threads that had it blocked, were told of it, or look for it.
    second: Option<Vec<usize>>,
    seconds: Vec<bool>,
    open: Vec<bool>,
    handling: Vec<bool>,
    told: Vec<bool>,
    arrived: Vec<usize>,
    passing: Vec<usize>,
    readers: Vec<usize>,
    writer: Option<usize>,
    waiting: Vec<usize>,
    woken: Vec<usize>,
    once: Option<i32>,
}

/// What a program may come to.
pub struct Outcomes {
    /// What is in the registers in the end, with the least preemptions.
    pub ends: BTreeMap<Vec<i32>, u32>,
    /// The least preemptions of a deadlock.
    pub deadlock: Option<u32>,
}

/// States that are looked at, at most.
const STATES: usize = 60_000;

fn without(list: &[usize], thread: usize) -> Vec<usize> {
    list.iter().copied().filter(|other| *other != thread).collect()
}

/// The other signal is there for the thread: one that was sent to it comes first.
fn takes_second(s: &mut State, thread: usize) -> bool {
    let own = std::mem::take(&mut s.seconds[thread]);
    own || s.second.take_if(|seen_by| seen_by.contains(&thread)).is_some()
}

/// The thread looks for signals of the process.
fn looks(s: &mut State, thread: usize) {
    if let Some(seen_by) = s.second.as_mut().filter(|seen_by| !seen_by.contains(&thread)) {
        seen_by.push(thread);
        seen_by.sort_unstable();
    }
}

/// What becomes of a state by the next step of a thread: several states if there is a choice, none if it waits, `None` if that is
/// not said in the documentation.
fn next(acts: &[Vec<Act>], state: &State, thread: usize) -> Option<Vec<State>> {
    let Some(act) = acts[thread].get(state.at[thread]).filter(|_| state.born[thread]) else { return Some(Vec::new()) };
    let mut s = state.clone();
    let waits = Some(Vec::new());
    // The handler says that it runs, which is a step, and the thread is where it was.
    if s.handling[thread] {
        (s.handling[thread], s.told[thread]) = (false, true);
        return Some(vec![s]);
    }
    if s.open[thread] && takes_second(&mut s, thread) {
        s.handling[thread] = true;
        return Some(vec![s]);
    }
    s.at[thread] += 1;
    let mut set = |register: usize, value: i32| s.registers[register] = value;
    match *act {
        Act::Create(other) => s.born[other] = true,
        Act::Join(other) if state.at[other] < acts[other].len() => return waits,
        Act::Join(_) => {}
        Act::UnlockIf(_) | Act::Does(Op::Unlock) => s.owner = None,
        Act::Does(Op::Lock) if state.owner.is_some() => return waits,
        Act::Does(Op::Lock) => s.owner = Some(thread),
        Act::Does(Op::TryLock(r)) => {
            set(r, i32::from(state.owner.is_none()));
            s.owner = s.owner.or(Some(thread));
        }
        Act::Does(Op::Load(r)) => set(r, state.number),
        Act::Does(Op::Store(value)) => s.number = value,
        Act::Does(Op::Add(value, r)) => {
            set(r, state.number);
            s.number += value;
        }
        Act::Does(Op::Exchange(old, new, r)) => {
            set(r, i32::from(state.number == old));
            s.number = if state.number == old { new } else { state.number };
        }
        Act::Does(Op::Post) => s.semaphore += 1,
        Act::Does(Op::Wait) if state.semaphore == 0 => return waits,
        Act::Does(Op::Wait) => s.semaphore -= 1,
        Act::Does(Op::TryWait(r)) => {
            set(r, i32::from(state.semaphore > 0));
            s.semaphore = s.semaphore.saturating_sub(1);
        }
        Act::Does(Op::PipeWrite(value)) if !state.closed => s.pipe.push(value),
        Act::Does(Op::PipeWrite(_)) => {}
        Act::Does(Op::PipeRead(r)) => match state.pipe.first() {
            Some(value) => {
                set(r, *value);
                s.pipe.remove(0);
            }
            None if state.closed => set(r, -1),
            None => return waits,
        },
        Act::Does(Op::PipeClose) => s.closed = true,
        Act::Does(Op::Poll(r)) => set(r, i32::from(state.closed || !state.pipe.is_empty())),
        Act::Does(Op::Send(value)) => s.socket.push(value),
        Act::Does(op @ (Op::Receive(r) | Op::ReceiveNow(r))) => match state.socket.first() {
            Some(value) => {
                set(r, *value);
                s.socket.remove(0);
            }
            None if matches!(op, Op::ReceiveNow(_)) => set(r, -1),
            None => return waits,
        },
        Act::Does(Op::ReceiveTwo(_)) | Act::SecondByte(_) if state.socket.is_empty() => return waits,
        Act::Does(Op::ReceiveTwo(r)) | Act::SecondByte(r) => {
            let wanted = if matches!(act, Act::SecondByte(_)) { 1 } else { 2 };
            for byte in s.socket.drain(..wanted.min(state.socket.len())) {
                s.registers[r] = s.registers[r] * 10 + byte;
            }
        }
        Act::Does(Op::EventAdd(value)) => s.event += value,
        Act::Does(Op::EventTake(_)) if state.event == 0 => return waits,
        Act::Does(Op::EventTake(r)) => {
            set(r, state.event);
            s.event = 0;
        }
        Act::Does(Op::CountAdd(value)) => s.count += value,
        Act::Does(Op::CountTake(_)) if state.count == 0 => return waits,
        Act::Does(Op::CountTake(r)) => {
            set(r, 1);
            s.count -= 1;
        }
        Act::Does(Op::FileRead(r)) => set(r, state.byte),
        Act::Does(Op::FileWrite(value)) => s.byte = value,
        Act::Does(Op::FileNext(r)) => s.byte = state.registers[r] + 1,
        Act::Does(Op::Append(_) | Op::StreamPut(_)) => s.size += 1,
        Act::Does(Op::Size(r) | Op::SizeByName(r)) => set(r, state.size),
        Act::Does(Op::Kill) => s.signal = true,
        // What is sent to a thread that is not there is nobody's.
        Act::Does(Op::KillThread(other)) if !state.born[other] || state.at[other] >= acts[other].len() => return None,
        Act::Does(Op::KillThread(other)) => s.signals[other] = true,
        Act::Does(Op::WaitForSignal) if state.signals[thread] => s.signals[thread] = false,
        Act::Does(Op::WaitForSignal) if state.signal => s.signal = false,
        Act::Does(Op::WaitForSignal) => return waits,
        Act::Does(Op::PollForSignal(r)) if state.closed || !state.pipe.is_empty() => set(r, 1),
        Act::Does(Op::PollForSignal(_)) if !state.signal && !state.signals[thread] => return waits,
        Act::Does(Op::PollForSignal(r)) => {
            set(r, -1);
            s.signal &= state.signals[thread];
            s.signals[thread] = false;
        }
        Act::Does(Op::Pending(r)) => set(r, i32::from(state.signal || state.signals[thread])),
        Act::Does(Op::Tell) if state.second.is_some() => {}
        Act::Does(Op::Tell) => {
            let all = 0..acts.len();
            let open: Vec<usize> = all.clone().filter(|other| state.open[*other]).collect();
            let told = |one: Option<usize>| {
                let seen_by = all.clone().filter(|other| !state.open[*other] || one == Some(*other)).collect();
                State { second: Some(seen_by), ..s.clone() }
            };
            return Some(if open.is_empty() {
                vec![told(None)]
            } else {
                open.iter().map(|o| told(Some(*o))).collect()
            });
        }
        Act::Does(Op::TellThread(other)) if !state.born[other] || state.at[other] >= acts[other].len() => return None,
        Act::Does(Op::TellThread(other)) => s.seconds[other] = true,
        Act::Unblock => {
            looks(&mut s, thread);
            s.open[thread] = true;
            s.handling[thread] = takes_second(&mut s, thread);
        }
        Act::Block => {
            looks(&mut s, thread);
            s.open[thread] = false;
        }
        Act::Does(Op::LetIn(_) | Op::LetInUntil(_)) => looks(&mut s, thread),
        Act::Suspend => {
            s.handling[thread] = takes_second(&mut s, thread);
            if !s.handling[thread] {
                return waits;
            }
        }
        Act::Told(r) => set(r, i32::from(state.told[thread])),
        Act::Does(Op::Barrier) if state.arrived.is_empty() => s.arrived.push(thread),
        Act::Does(Op::Barrier) => {
            s.passing.append(&mut s.arrived);
            s.passing.sort_unstable();
            s.at[thread] += 1;
        }
        Act::Pass if !state.passing.contains(&thread) => return waits,
        Act::Pass => s.passing = without(&state.passing, thread),
        Act::Does(Op::ReadLock) if state.writer.is_some() => return waits,
        Act::Does(Op::ReadLock) => s.readers.push(thread),
        Act::Does(Op::WriteLock) if state.writer.is_some() || !state.readers.is_empty() => return waits,
        Act::Does(Op::WriteLock) => s.writer = Some(thread),
        Act::Does(Op::Release) if state.writer == Some(thread) => s.writer = None,
        Act::Does(Op::Release) | Act::ReleaseIf(_) => s.readers = without(&state.readers, thread),
        Act::Does(Op::TryReadLock(r)) => {
            set(r, i32::from(state.writer.is_none()));
            s.readers.extend(state.writer.is_none().then_some(thread));
        }
        Act::Does(Op::WaitForCondition) => {
            s.owner = None;
            s.waiting.push(thread);
        }
        Act::Relock if !state.woken.contains(&thread) || state.owner.is_some() => return waits,
        Act::Relock => (s.woken, s.owner) = (without(&state.woken, thread), Some(thread)),
        Act::Does(Op::Signal) if !state.waiting.is_empty() => {
            let wakes = |other: &usize| {
                let mut s = s.clone();
                s.waiting = without(&s.waiting, *other);
                s.woken.push(*other);
                s.woken.sort_unstable();
                s
            };
            return Some(state.waiting.iter().map(wakes).collect());
        }
        Act::Does(Op::Signal) => {}
        Act::Does(Op::Broadcast) => {
            s.woken.append(&mut s.waiting);
            s.woken.sort_unstable();
        }
        Act::Does(Op::Once(value, r)) => {
            set(r, *s.once.get_or_insert(value));
        }
    }
    s.readers.sort_unstable();
    s.waiting.sort_unstable();
    let not_had = |act: &Act| match act {
        Act::UnlockIf(r) | Act::ReleaseIf(r) => s.registers[*r] == 0,
        Act::SecondByte(r) => s.registers[*r] > 9,
        _ => false,
    };
    if acts[thread].get(s.at[thread]).is_some_and(not_had) {
        s.at[thread] += 1;
    }
    Some(vec![s])
}

/// All that the program may come to; `None` if the model does not say it, or it is too much.
pub fn outcomes(program: &Program) -> Option<Outcomes> {
    let parts = |op: &Op| match *op {
        Op::TryLock(r) => vec![Act::Does(*op), Act::UnlockIf(r)],
        Op::TryReadLock(r) => vec![Act::Does(*op), Act::ReleaseIf(r)],
        Op::WaitForCondition => vec![Act::Does(*op), Act::Relock],
        Op::ReceiveTwo(r) => vec![Act::Does(*op), Act::SecondByte(r)],
        Op::LetIn(r) => vec![Act::Unblock, Act::Block, Act::Told(r)],
        Op::LetInUntil(r) => vec![Act::Does(*op), Act::Suspend, Act::Told(r)],
        Op::Barrier => vec![Act::Does(*op), Act::Pass],
        _ => vec![Act::Does(*op)],
    };
    let mut acts: Vec<Vec<Act>> = program.threads.iter().map(|ops| ops.iter().flat_map(parts).collect()).collect();
    let main = acts.len();
    acts.push((0..main).map(Act::Create).chain((0..main).map(Act::Join)).collect());
    let born = (0..=main).map(|thread| thread == main).collect();
    let (at, registers, signals) = (vec![0; main + 1], vec![0; program.registers], vec![false; main]);
    let none = vec![false; main + 1];
    let (seconds, open, handling, told) = (none.clone(), none.clone(), none.clone(), none);
    let first = State { at, born, registers, signals, seconds, open, handling, told, ..State::default() };

    let mut found = Outcomes { ends: BTreeMap::new(), deadlock: None };
    let mut seen = HashSet::new();
    let mut queue = BinaryHeap::from([Reverse((0u32, main, first))]);
    while let Some(Reverse((cost, current, state))) = queue.pop() {
        if !seen.insert((current, state.clone())) {
            continue;
        }
        if seen.len() > STATES {
            return None;
        }
        if state.at[main] == acts[main].len() {
            found.ends.entry(state.registers).or_insert(cost);
            continue;
        }
        let mut nexts = Vec::new();
        for thread in 0..acts.len() {
            nexts.push(next(&acts, &state, thread)?);
        }
        if nexts.iter().all(Vec::is_empty) {
            found.deadlock.get_or_insert(cost);
        }
        let could_go_on = !nexts[current].is_empty();
        for (thread, states) in nexts.into_iter().enumerate() {
            let cost = cost + u32::from(thread != current && could_go_on);
            queue.extend(states.into_iter().map(|state| Reverse((cost, thread, state))));
        }
    }
    Some(found)
}
