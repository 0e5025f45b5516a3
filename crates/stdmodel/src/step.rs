//! What one step of a thread does: one operation, and the local code behind it up to the next one.

use crate::program::{Closure, NONE, Op, Program, Start};
use crate::state::{Guard, Life, Once, Phase, State, Thread};

/// To which step the end of a thread belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// To its last operation.
    WithLastStep,
    /// To none: it is a step that touches nothing.
    OwnStep,
}

/// The rules of a program.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// The program.
    pub program: &'a Program,
    /// How threads end.
    pub ending: Ending,
}

impl Rules<'_> {
    /// Where everything begins.
    pub fn initial(&self) -> State {
        let mut state = State::initial(self.program);
        self.settle(&mut state, 0);
        self.pass_time(&mut state);
        state
    }

    /// Whether the next step of a thread says that it waits for others.
    pub fn gives_way(&self, state: &State, thread: usize) -> bool {
        let t = &state.threads[thread];
        matches!(self.op(t, thread), Some(Op::Give(_) | Op::Sleep(0))) || matches!(t.phase, Phase::Loop(_, true))
    }

    /// Whether a thread waits in a loop without a limit, and would do so for ever if nobody else did anything.
    pub fn spins(&self, state: &State, thread: usize) -> bool {
        match self.op(&state.threads[thread], thread) {
            Some(Op::Retry(a, v, 0, _)) => state.atomics[usize::from(a)] != v,
            Some(Op::RetryLock(m, 0, _)) => state.mutexes[usize::from(m)].locked,
            _ => false,
        }
    }

    /// The states after a step of a thread; none if it has to wait.
    pub fn steps(&self, state: &State, thread: usize) -> Vec<State> {
        if state.threads[thread].life != Life::Running {
            return Vec::new();
        }
        let mut after = match self.op(&state.threads[thread], thread) {
            Some(Op::NotifyOne(c)) => self.notify_one(state, thread, c),
            Some(op @ Op::Barrier(b)) if self.is_last(state, thread, b) => self.meet(state, thread, op),
            Some(op) => {
                let mut next = state.clone();
                if self.act(&mut next, thread, op) { vec![next] } else { Vec::new() }
            }
            None => {
                let mut next = state.clone();
                if self.clean_up(&mut next, thread) { vec![next] } else { Vec::new() }
            }
        };
        for next in &mut after {
            next.threads[thread].gave_way = self.gives_way(state, thread);
            self.settle(next, thread);
            self.pass_time(next);
        }
        after
    }

    fn op(&self, t: &Thread, thread: usize) -> Option<Op> {
        self.program.op(thread, t.at)
    }

    /// Local code, up to the next operation or the end.
    fn settle(&self, state: &mut State, thread: usize) {
        while let Some(op) = self.op(&state.threads[thread], thread) {
            let State { threads, mutexes, .. } = state;
            let t = &mut threads[thread];
            match op {
                _ if t.phase != Phase::Begin => return,
                op if !t.can(op) => {}
                // To give way again is no step.
                Op::Give(_) | Op::Sleep(0) if t.gave_way => {}
                Op::Put(m, v) => mutexes[usize::from(m)].value = v,
                Op::Get(m) => t.log.push(mutexes[usize::from(m)].value),
                Op::WaitUntil(_, m, v) if mutexes[usize::from(m)].value == v => {}
                Op::Panic => {
                    t.panic(self.program, thread);
                    continue;
                }
                Op::Sleep(ms) | Op::ParkTimeout(ms) | Op::RecvTimeout(_, ms) => {
                    t.left = t.left.or(Some(ms));
                    return;
                }
                _ => return,
            }
            state.threads[thread].at += 1;
        }
        let t = &mut state.threads[thread];
        let scope = thread == 0 && state.in_scope != 0;
        let drops = !t.held.is_empty() || t.senders != 0 || t.receivers != 0;
        if !scope && !drops && thread == 0 && self.program.start == Start::Scoped && !state.scope_ended {
            state.scope_ended = true;
            t.log.push((t.panicking || state.scope_panicked).into());
            t.panicking = false;
        }
        if !scope && !drops && (self.ending == Ending::WithLastStep || t.phase == Phase::Taken) {
            t.phase = Phase::Begin;
            t.life = Life::Ended(t.panicking);
        }
    }

    /// A new thread runs up to its first operation at once.
    fn spawn(&self, state: &mut State, thread: usize, new: u8) {
        state.born.push(new);
        state.in_scope |= u8::from(self.program.start == Start::Scoped) << new;
        state.threads[thread].handles |= 1 << new;
        state.threads[thread].known |= 1 << new;
        let known = state.threads[thread].known;
        let child = &mut state.threads[usize::from(new)];
        child.life = Life::Running;
        child.known |= known;
        self.settle(state, new.into());
    }

    /// Time passes as long as nobody can go on, to the next moment when the time of one is up.
    fn pass_time(&self, state: &mut State) {
        while (0..state.threads.len()).all(|t| self.has_to_wait(state, t))
            && let Some(later) = self.later(state)
        {
            *state = later;
        }
    }

    /// The next moment when the time of one is up, if somebody waits for that.
    pub fn later(&self, state: &State) -> Option<State> {
        let running = state.threads.iter().filter(|t| t.life == Life::Running);
        let next = running.filter_map(|t| t.left).filter(|left| *left > 0).min()?;
        let mut later = state.clone();
        for left in later.threads.iter_mut().filter_map(|t| t.left.as_mut()) {
            *left = left.saturating_sub(next);
        }
        Some(later)
    }

    /// Whether a thread has to wait.
    fn has_to_wait(&self, state: &State, thread: usize) -> bool {
        let t = &state.threads[thread];
        let mut next = state.clone();
        t.life != Life::Running
            || match self.op(t, thread) {
                Some(Op::NotifyOne(_)) => false,
                Some(op) => !self.act(&mut next, thread, op),
                None => !self.clean_up(&mut next, thread),
            }
    }

    /// Whether a thread waits on a condition variable and was not notified.
    fn waits(&self, state: &State, thread: usize, condvar: u8) -> bool {
        let t = &state.threads[thread];
        t.phase == Phase::Waiting(false)
            && matches!(self.op(t, thread),
                Some(Op::Wait(c, _) | Op::WaitUntil(c, ..) | Op::WaitTimeout(c, ..)) if c == condvar)
    }

    fn notify_one(&self, state: &State, thread: usize, condvar: u8) -> Vec<State> {
        let mut after: Vec<State> = (0..state.threads.len())
            .filter(|t| self.waits(state, *t, condvar))
            .map(|t| {
                let mut next = state.clone();
                next.threads[t].notify();
                next
            })
            .collect();
        if after.is_empty() {
            after.push(state.clone());
        }
        after.iter_mut().for_each(|next| next.threads[thread].next());
        after
    }

    /// Whether all others have arrived at a barrier.
    fn is_last(&self, state: &State, thread: usize, b: u8) -> bool {
        let arrives = !matches!(state.threads[thread].phase, Phase::Arrived(_));
        arrives && state.barriers[usize::from(b)] + 1 >= self.program.barriers[usize::from(b)]
    }

    /// The last one arrives at a barrier; std does not say who leads.
    fn meet(&self, state: &State, thread: usize, op: Op) -> Vec<State> {
        let waits =
            |t: usize| state.threads[t].phase == Phase::Arrived(None) && self.op(&state.threads[t], t) == Some(op);
        let all: Vec<usize> = (0..state.threads.len()).filter(|t| *t == thread || waits(*t)).collect();
        let led_by = |leader: usize| {
            let mut next = state.clone();
            if let Op::Barrier(b) = op {
                next.barriers[usize::from(b)] = 0;
            }
            for &other in all.iter().filter(|t| **t != thread) {
                next.threads[other].phase = Phase::Arrived(Some((other == leader).into()));
            }
            next.done(thread, Some((thread == leader).into()));
            next
        };
        all.iter().map(|leader| led_by(*leader)).collect()
    }

    /// Whether a receiver has to begin to wait, which is a step where somebody may look.
    fn begins_to_wait(&self, state: &State, channel: u8) -> bool {
        let c = &state.channels[usize::from(channel)];
        let looks =
            || self.program.threads.iter().flatten().any(|op| matches!(op, Op::TrySend(of, _) if *of == channel));
        c.capacity == Some(0) && c.queue.is_empty() && c.senders > 0 && looks()
    }

    /// Drops what a thread still has at its end: guards, the last one first, senders, receivers. Then main joins what is in
    /// its scope, one after the other. Then the thread ends.
    fn clean_up(&self, state: &mut State, thread: usize) -> bool {
        let t = &mut state.threads[thread];
        if let Some(guard) = t.held.pop() {
            let panicking = t.panicking;
            state.release(guard, panicking);
        } else if t.senders != 0 {
            state.drop_sender(thread, t_first(state.threads[thread].senders));
        } else if t.receivers != 0 {
            state.drop_receiver(thread, t_first(state.threads[thread].receivers));
        } else if thread == 0 && state.in_scope != 0 {
            let first = state.born.iter().copied().find(|t| state.in_scope & (1 << t) != 0).expect("not empty");
            state.in_scope &= !(1 << first);
            let Life::Ended(panicked) = state.threads[usize::from(first)].life else { return false };
            state.scope_panicked |= panicked && state.asked & (1 << first) == 0;
        } else {
            t.phase = Phase::Taken; // the step in which it ends
        }
        true
    }

    /// Does what an operation does, if that can be; `NotifyOne` is not done here.
    fn act(&self, state: &mut State, thread: usize, op: Op) -> bool {
        let phase = state.threads[thread].phase;
        let t = thread;
        match op {
            Op::Load(a) => state.done(t, Some(state.atomics[usize::from(a)])),
            Op::Store(a, v) => {
                state.atomics[usize::from(a)] = v;
                state.done(t, None)
            }
            Op::Swap(a, v) => {
                let old = std::mem::replace(&mut state.atomics[usize::from(a)], v);
                state.done(t, Some(old))
            }
            Op::Add(a, v) => {
                let old = state.add(a, v);
                state.done(t, Some(old))
            }
            Op::Cas(a, expected, new) => {
                let old = state.atomics[usize::from(a)];
                if old == expected {
                    state.atomics[usize::from(a)] = new;
                }
                state.done(t, Some(old))
            }
            Op::Retry(a, v, tries, _) => match phase {
                Phase::Loop(n, true) => state.after_hint(t, n, tries),
                _ => {
                    let n = if let Phase::Loop(n, _) = phase { n } else { 0 };
                    if state.atomics[usize::from(a)] == v {
                        state.done(t, (tries > 0).then_some(n))
                    } else {
                        state.stay(t, Phase::Loop(n, true))
                    }
                }
            },
            Op::RetryLock(m, tries, _) => match phase {
                Phase::Loop(n, true) => state.after_hint(t, n, tries),
                _ => {
                    let n = if let Phase::Loop(n, _) = phase { n } else { 0 };
                    if !state.mutexes[usize::from(m)].locked {
                        state.lock(t, m);
                        state.done(t, (tries > 0).then_some(n))
                    } else {
                        state.stay(t, Phase::Loop(n, true))
                    }
                }
            },
            Op::Lock(m) => {
                !state.mutexes[usize::from(m)].locked && {
                    state.lock(t, m);
                    let poisoned = state.mutexes[usize::from(m)].poisoned;
                    state.done(t, Some(poisoned.into()))
                }
            }
            Op::TryLock(m) => {
                let free = !state.mutexes[usize::from(m)].locked;
                if free {
                    state.lock(t, m);
                }
                let poisoned = state.mutexes[usize::from(m)].poisoned;
                state.done(t, Some(if free { poisoned.into() } else { NONE }))
            }
            Op::Unlock(m) => {
                let at = state.threads[t].holds(m).expect("can");
                let guard = state.threads[t].held.remove(at);
                state.release(guard, false);
                state.done(t, None)
            }
            Op::Read(l) | Op::TryRead(l) | Op::Write(l) | Op::TryWrite(l) => {
                let lock = &mut state.rwlocks[usize::from(l)];
                let write = matches!(op, Op::Write(_) | Op::TryWrite(_));
                let poisoned = lock.poisoned;
                if lock.written || write && lock.readers > 0 {
                    return matches!(op, Op::TryRead(_) | Op::TryWrite(_)) && state.done(t, Some(NONE));
                }
                lock.written = write;
                lock.readers += u8::from(!write);
                state.threads[t].held.push(if write { Guard::Write(l) } else { Guard::Read(l) });
                state.done(t, Some(poisoned.into()))
            }
            Op::Downgrade(l) => {
                let at = state.threads[t].holds_either(l).expect("can");
                state.threads[t].held[at] = Guard::Read(l);
                let lock = &mut state.rwlocks[usize::from(l)];
                (lock.written, lock.readers) = (false, 1);
                state.done(t, None)
            }
            Op::Release(l) => {
                let at = state.threads[t].holds_either(l).expect("can");
                let guard = state.threads[t].held.remove(at);
                state.release(guard, false);
                state.done(t, None)
            }
            Op::Wait(_, m) | Op::WaitUntil(_, m, _) | Op::WaitTimeout(_, m, _) => match phase {
                // With a limit of time it waits no longer, for one reason or the other, before it takes the lock.
                Phase::Waiting(notified) if matches!(op, Op::WaitTimeout(..)) => {
                    let up = state.threads[t].left == Some(0);
                    (notified || up) && state.stay(t, if notified { Phase::Woken } else { Phase::Left })
                }
                Phase::Waiting(false) => false,
                Phase::Waiting(true) | Phase::Woken | Phase::Left => {
                    !state.mutexes[usize::from(m)].locked && {
                        state.mutexes[usize::from(m)].locked = true;
                        let poisoned = u8::from(state.mutexes[usize::from(m)].poisoned);
                        state.threads[t].log.push(poisoned + 2 * u8::from(phase == Phase::Left));
                        match op {
                            Op::WaitUntil(..) => state.stay(t, Phase::Begin),
                            _ => state.done(t, None),
                        }
                    }
                }
                _ => {
                    state.mutexes[usize::from(m)].locked = false;
                    state.threads[t].left = if let Op::WaitTimeout(.., ms) = op { Some(ms) } else { None };
                    state.stay(t, Phase::Waiting(false))
                }
            },
            Op::NotifyOne(_) => unreachable!("it has several outcomes"),
            Op::NotifyAll(condvar) => {
                for other in 0..state.threads.len() {
                    if self.waits(state, other, condvar) {
                        state.threads[other].notify();
                    }
                }
                state.done(t, None)
            }
            Op::Send(c, v) => state.send(t, c, v, phase),
            Op::TrySend(c, v) => state.try_send(t, c, v, self.program),
            Op::Recv(c) | Op::RecvTimeout(c, _) if phase == Phase::Begin && self.begins_to_wait(state, c) => {
                state.stay(t, Phase::Receiving)
            }
            Op::Recv(c) => state.receive(t, c, None, self.program),
            Op::TryRecv(c) => state.receive(t, c, Some(NONE), self.program),
            Op::RecvTimeout(c, _) => {
                let up = state.threads[t].left == Some(0);
                state.receive(t, c, up.then_some(NONE), self.program)
            }
            Op::DropSender(c) => {
                state.drop_sender(t, c);
                state.done(t, None)
            }
            Op::DropReceiver(c) => {
                state.drop_receiver(t, c);
                state.done(t, None)
            }
            Op::Barrier(b) => match phase {
                Phase::Arrived(leads) => leads.is_some() && state.done(t, leads),
                // When all have, there are several ways to go on: see `meet`.
                _ => {
                    state.barriers[usize::from(b)] += 1;
                    state.stay(t, Phase::Arrived(None))
                }
            },
            Op::Park | Op::ParkTimeout(_) => {
                let up = state.threads[t].left == Some(0);
                (state.threads[t].token || up) && {
                    state.threads[t].token = false;
                    state.done(t, None)
                }
            }
            Op::Unpark(other) => {
                state.threads[usize::from(other)].token = true;
                state.done(t, None)
            }
            Op::CallOnce(o, a, closure) | Op::CallOnceForce(o, a, closure) => {
                match (phase, state.onces[usize::from(o)]) {
                    (Phase::Inside(false), _) => {
                        let old = state.add(a, 1);
                        state.threads[t].log.push(old);
                        state.stay(t, Phase::Inside(true))
                    }
                    (Phase::Inside(true), _) => {
                        let ended = if closure == Closure::Panics { Once::Poisoned } else { Once::Done };
                        state.onces[usize::from(o)] = ended;
                        state.closure_ends(t, closure, self.program)
                    }
                    (_, Once::Poisoned) if matches!(op, Op::CallOnce(..)) => state.panic(t, self.program),
                    (_, Once::New | Once::Poisoned) => {
                        if matches!(op, Op::CallOnceForce(..)) {
                            let poisoned = state.onces[usize::from(o)] == Once::Poisoned;
                            state.threads[t].log.push(poisoned.into());
                        }
                        state.onces[usize::from(o)] = Once::Running;
                        state.stay(t, Phase::Inside(false))
                    }
                    (_, Once::Running) => false,
                    (_, Once::Done) => state.done(t, None),
                }
            }
            Op::IsCompleted(o) => state.done(t, Some((state.onces[usize::from(o)] == Once::Done).into())),
            Op::Set(o, v) => match (phase, state.cells[usize::from(o)].0) {
                (Phase::Inside(_), _) => {
                    state.cells[usize::from(o)] = (Once::Done, v);
                    state.done(t, Some(1))
                }
                (_, Once::New | Once::Poisoned) => {
                    state.cells[usize::from(o)].0 = Once::Running;
                    state.stay(t, Phase::Inside(true))
                }
                (_, Once::Running) => false,
                (_, Once::Done) => state.done(t, Some(0)),
            },
            Op::GetOrInit(o, a, v, closure) => match (phase, state.cells[usize::from(o)]) {
                (Phase::Inside(false), _) => {
                    let old = state.add(a, 1);
                    state.threads[t].log.push(old);
                    state.stay(t, Phase::Inside(true))
                }
                // A cell whose closure panicked is as empty as before.
                (Phase::Inside(true), _) => {
                    let panics = closure == Closure::Panics;
                    state.cells[usize::from(o)] = if panics { (Once::New, 0) } else { (Once::Done, v) };
                    if !panics {
                        state.threads[t].log.push(v);
                    }
                    state.closure_ends(t, closure, self.program)
                }
                (_, (Once::New | Once::Poisoned, _)) => {
                    state.cells[usize::from(o)].0 = Once::Running;
                    state.stay(t, Phase::Inside(false))
                }
                (_, (Once::Running, _)) => false,
                (_, (Once::Done, v)) => state.done(t, Some(v)),
            },
            Op::GetSet(o) => match state.cells[usize::from(o)] {
                (Once::Done, v) => state.done(t, Some(v)),
                _ => state.done(t, Some(NONE)),
            },
            Op::Await(w, a, v) => match phase {
                // The waker is there before the value is looked at, so that no wake is lost.
                Phase::Polling(false) if state.atomics[usize::from(a)] == v => state.done(t, None),
                Phase::Polling(false) => state.stay(t, Phase::Polling(true)),
                Phase::Polling(true) => {
                    state.threads[t].token && {
                        state.threads[t].token = false;
                        state.stay(t, Phase::Begin)
                    }
                }
                _ => {
                    state.wakers[usize::from(w)] = Some(t as u8);
                    state.stay(t, Phase::Polling(false))
                }
            },
            Op::Wake(w) => {
                if let Some(task) = state.wakers[usize::from(w)].take() {
                    state.threads[usize::from(task)].token = true;
                }
                state.done(t, None)
            }
            Op::Spawn(new) => {
                self.spawn(state, t, new);
                state.done(t, None)
            }
            Op::Join(other) => match state.threads[usize::from(other)].life {
                Life::Ended(panicked) => {
                    state.threads[t].handles &= !(1 << other);
                    state.asked |= 1 << other;
                    // The end of the scope waits for all that its own thread has not joined.
                    if t == 0 {
                        state.in_scope &= !(1 << other);
                    }
                    state.done(t, Some(panicked.into()))
                }
                _ => false,
            },
            Op::IsFinished(other) => {
                let ended = matches!(state.threads[usize::from(other)].life, Life::Ended(_));
                state.done(t, Some(ended.into()))
            }
            Op::Give(_) => state.done(t, None),
            Op::Sleep(_) => state.threads[t].left == Some(0) && state.done(t, None),
            Op::Put(..) | Op::Get(_) | Op::Panic => unreachable!("local code"),
        }
    }
}

fn t_first(set: u8) -> u8 {
    set.trailing_zeros() as u8
}
