//! What one step of a thread does: one operation, and what follows up to the next one.

use super::code::{self, Instr};
use super::program::{Cond, NONE, Op, Program};
use super::state::{Life, Phase, State, Thread};
use std::cell::Cell;

/// The rules of a program.
pub struct Rules<'a> {
    program: &'a Program,
    code: Vec<Vec<Instr>>,
    /// Whether some loop goes around for ever without an operation.
    pub hangs: Cell<bool>,
}

/// No loop goes around so often without an operation but one without an end.
const LOCAL: usize = 1000;

impl Rules<'_> {
    pub fn new(program: &Program) -> Rules<'_> {
        // It belongs to the last step of the thread, unless somebody asks.
        let end = program.has(|op| matches!(op, Op::IsFinished(_))).then_some(Op::End);
        Rules { program, hangs: Cell::new(false), code: program.threads.iter().map(|t| code::of(t, end)).collect() }
    }

    pub fn initial(&self) -> State {
        let mut state = State::initial(self.program);
        self.settle(&mut state, 0);
        self.pass_time(&mut state);
        state
    }

    /// The operation at which a thread stands.
    pub fn op(&self, state: &State, thread: usize) -> Option<Op> {
        let t = &state.threads[thread];
        match self.code[thread].get(usize::from(t.at)) {
            Some(Instr::Do(op)) if t.life == Life::Running => Some(*op),
            _ => None,
        }
    }

    /// Whether the next step of a thread says that it waits for others.
    pub fn gives_way(&self, state: &State, thread: usize) -> bool {
        self.op(state, thread).is_some_and(is_yield)
    }

    /// The states after a step of a thread; none if it has to wait.
    pub fn steps(&self, state: &State, thread: usize) -> Vec<State> {
        let Some(op) = self.op(state, thread) else { return Vec::new() };
        let mut after = if op == Op::NotifyOne { notify_one(state) } else { vec![state.clone()] };
        after.retain_mut(|next| self.act(next, thread, op));
        for next in &mut after {
            next.threads[thread].gave_way = is_yield(op);
            self.settle(next, thread);
            self.pass_time(next);
        }
        after
    }

    /// What comes after all time has passed that some thread needs.
    pub fn later(&self, state: &State) -> Option<State> {
        let mut later = state.clone();
        pass(&mut later).then_some(later)
    }

    /// Local code, up to the next operation or the end.
    fn settle(&self, state: &mut State, thread: usize) {
        for _ in 0..LOCAL {
            let at = state.threads[thread].at;
            let Some(instr) = self.code[thread].get(usize::from(at)).copied() else {
                state.threads[thread].life = Life::Ended;
                return;
            };
            // To give way again is no step.
            let leaves_out = |op| !can(state, thread, op) || is_yield(op) && state.threads[thread].gave_way;
            let is_left_out = matches!(instr, Instr::Do(op) if leaves_out(op));
            let t = &mut state.threads[thread];
            t.at += 1;
            match instr {
                Instr::Do(_) if is_left_out => {}
                Instr::Do(op) => {
                    t.at -= 1;
                    if let Op::Sleep(ms @ 1..) | Op::ParkTimeout(ms) = op {
                        t.left = t.left.or(Some(ms));
                    }
                    return;
                }
                Instr::Bump(c) => self.set(state, c, |counter, value| counter.next(value)),
                Instr::Clear(c) => state.counters[usize::from(c)] = 0,
                Instr::Take(c) => {
                    let found = t.found;
                    self.set(state, c, |counter, _| found.min(counter.last));
                }
                Instr::Next(n) => t.found = (t.found % n + 1) % n,
                Instr::LogFound => t.log.push(t.found),
                Instr::Log(c) => t.log.push(state.counters[usize::from(c)]),
                Instr::Unless(cond, to) => {
                    let counter = |c: u8| state.counters[usize::from(c)];
                    let holds = match cond {
                        Cond::Found(v) => t.found == v,
                        Cond::FoundIn(c) => t.found == counter(c),
                        Cond::Is(c, v) => counter(c) == v,
                        Cond::Odd(c) => counter(c) % 2 == 1,
                    };
                    if !holds {
                        t.at = to;
                    }
                }
                Instr::Jump(to) => t.at = to,
            }
        }
        // It gives way for ever to who changes what it waits for without being seen: to give way again is a step then.
        if std::mem::take(&mut state.threads[thread].gave_way) {
            self.settle(state, thread);
        } else {
            self.hangs.set(true);
        }
    }

    fn set(&self, state: &mut State, counter: u8, value: impl Fn(&super::program::Counter, u8) -> u8) {
        let c = usize::from(counter);
        state.counters[c] = value(&self.program.counters[c], state.counters[c]);
    }

    /// Time passes as long as nobody can go on.
    fn pass_time(&self, state: &mut State) {
        while (0..state.threads.len()).all(|t| self.has_to_wait(state, t)) && pass(state) {}
    }

    fn has_to_wait(&self, state: &State, thread: usize) -> bool {
        self.op(state, thread).is_none_or(|op| op != Op::NotifyOne && !self.act(&mut state.clone(), thread, op))
    }

    /// Does what an operation does, if that can be; who is woken by `NotifyOne` is.
    fn act(&self, state: &mut State, thread: usize, op: Op) -> bool {
        let t = thread;
        let found = match op {
            Op::Load(a) | Op::Keep(a) => Some(state.change(a, |v| v)),
            Op::Store(a, v) => {
                state.change(a, |_| v);
                None
            }
            Op::StoreFound(a) => {
                let v = state.threads[t].found;
                state.change(a, |_| v);
                None
            }
            Op::Swap(a, v) => Some(state.change(a, |_| v)),
            Op::Add(a, v) => Some(state.change(a, |old| old.wrapping_add(v))),
            Op::Sub(a, v) => Some(state.change(a, |old| old.wrapping_sub(v))),
            Op::Toggle(a) => Some(state.change(a, |old| old ^ 1)),
            Op::Cas(a, e, n) | Op::CasWeak(a, e, n) => {
                Some((state.change(a, |old| if old == e { n } else { old }) == e).into())
            }
            Op::Lock(m) => {
                if !state.lock(t, m) {
                    return false;
                }
                None
            }
            Op::TryLock(m) => Some(state.lock(t, m).into()),
            Op::Unlock(m) => {
                state.unlock(t, m);
                None
            }
            Op::Wait(m) => match state.threads[t].phase {
                Phase::Begin => {
                    state.unlock(t, m);
                    state.threads[t].phase = Phase::Waiting;
                    return true;
                }
                Phase::Waiting => return false,
                Phase::Notified => {
                    if !state.lock(t, m) {
                        return false;
                    }
                    state.threads[t].phase = Phase::Begin;
                    None
                }
            },
            Op::IsFinished(t) => Some((state.threads[usize::from(t)].life == Life::Ended).into()),
            Op::End | Op::NotifyOne | Op::Yield | Op::Spin | Op::Sleep(0) => None,
            Op::NotifyAll => {
                for t in state.threads.iter_mut().filter(|t| t.phase == Phase::Waiting) {
                    t.phase = Phase::Notified;
                }
                None
            }
            Op::Send(v) => {
                state.queue.push(v);
                None
            }
            Op::TryRecv => Some(if state.queue.is_empty() { NONE } else { state.queue.remove(0) }),
            Op::Sleep(_) => {
                if state.threads[t].left != Some(0) {
                    return false;
                }
                None
            }
            Op::ParkTimeout(_) => {
                let parked = &mut state.threads[t];
                if !parked.token && parked.left != Some(0) {
                    return false;
                }
                parked.token = false;
                None
            }
            Op::Unpark(other) => {
                state.threads[usize::from(other)].token = true;
                None
            }
            Op::Spawn(new) => {
                for (value, counter) in state.counters.iter_mut().zip(&self.program.counters) {
                    if counter.owner == Some(new) {
                        *value = 0;
                    }
                }
                let old = &mut state.threads[usize::from(new)];
                *old = Thread { life: Life::Running, log: std::mem::take(&mut old.log), ..Thread::default() };
                state.born.retain(|t| *t != new);
                state.born.push(new);
                self.settle(state, new.into());
                None
            }
            Op::Join(other) => {
                let other = &mut state.threads[usize::from(other)];
                if other.life != Life::Ended {
                    return false;
                }
                other.life = Life::None;
                None
            }
        };
        let t = &mut state.threads[t];
        t.found = found.unwrap_or(t.found);
        t.left = None;
        t.at += 1;
        true
    }
}

fn is_yield(op: Op) -> bool {
    matches!(op, Op::Yield | Op::Spin | Op::Sleep(0))
}

/// Whether a thread can do something in its place.
fn can(state: &State, thread: usize, op: Op) -> bool {
    let held = state.threads[thread].held;
    match op {
        _ if state.threads[thread].phase != Phase::Begin => true,
        Op::Lock(m) => held & (1 << m) == 0,
        Op::Unlock(m) | Op::Wait(m) => held & (1 << m) != 0,
        Op::Spawn(t) => state.threads[usize::from(t)].life == Life::None,
        Op::Join(t) | Op::Unpark(t) | Op::IsFinished(t) => state.threads[usize::from(t)].life != Life::None,
        _ => true,
    }
}

/// Time passes until that of one is up.
fn pass(state: &mut State) -> bool {
    let running = |t: &&mut Thread| t.life == Life::Running;
    let left = |t: &mut Thread| t.left.filter(|left| *left > 0);
    let Some(next) = state.threads.iter_mut().filter(running).filter_map(left).min() else { return false };
    for left in state.threads.iter_mut().filter_map(|t| t.left.as_mut()) {
        *left = left.saturating_sub(next);
    }
    true
}

fn notify_one(state: &State) -> Vec<State> {
    let waits = (0..state.threads.len()).filter(|t| state.threads[*t].phase == Phase::Waiting);
    let woken = waits.map(|t| {
        let mut next = state.clone();
        next.threads[t].phase = Phase::Notified;
        next
    });
    let woken: Vec<State> = woken.collect();
    if woken.is_empty() { vec![state.clone()] } else { woken }
}

impl State {
    fn change(&mut self, atomic: u8, by: impl Fn(u8) -> u8) -> u8 {
        let atomic = &mut self.atomics[usize::from(atomic)];
        let old = *atomic;
        *atomic = by(old);
        old
    }

    fn lock(&mut self, thread: usize, mutex: u8) -> bool {
        let locked = &mut self.mutexes[usize::from(mutex)];
        let free = !*locked;
        if free {
            *locked = true;
            self.threads[thread].held |= 1 << mutex;
        }
        free
    }

    fn unlock(&mut self, thread: usize, mutex: u8) {
        self.mutexes[usize::from(mutex)] = false;
        self.threads[thread].held &= !(1 << mutex);
    }
}
