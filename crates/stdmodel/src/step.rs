//! What one step of a thread does: one operation, and the local code behind it up to the next one.

use crate::program::{GONE, NONE, Op, Program};
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
        matches!(self.op(t, thread), Some(Op::Give(_))) || matches!(t.phase, Phase::Loop(_, true))
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
            self.settle(next, thread);
            self.pass_time(next);
        }
        after
    }

    fn op(&self, t: &Thread, thread: usize) -> Option<Op> {
        self.program.threads[thread].get(usize::from(t.at)).copied()
    }

    /// Local code, up to the next operation or the end.
    fn settle(&self, state: &mut State, thread: usize) {
        let len = self.program.threads[thread].len() as u8;
        while let Some(op) = self.op(&state.threads[thread], thread) {
            let State { threads, mutexes, .. } = state;
            let t = &mut threads[thread];
            match op {
                _ if t.phase != Phase::Begin => return,
                op if !t.can(op) => {}
                Op::Put(m, v) => mutexes[usize::from(m)].value = v,
                Op::Get(m) => t.log.push(mutexes[usize::from(m)].value),
                Op::WaitUntil(_, m, v) if mutexes[usize::from(m)].value == v => {}
                Op::Panic => {
                    t.panicking = true;
                    t.at = len;
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
        if !scope && !drops && (self.ending == Ending::WithLastStep || t.phase == Phase::Taken) {
            t.phase = Phase::Begin;
            t.life = Life::Ended(t.panicking);
        }
    }

    /// A new thread runs up to its first operation at once.
    fn spawn(&self, state: &mut State, thread: usize, new: u8) {
        state.born.push(new);
        state.in_scope |= u8::from(self.program.scoped) << new;
        state.threads[thread].handles |= 1 << new;
        state.threads[thread].known |= 1 << new;
        let known = state.threads[thread].known;
        let child = &mut state.threads[usize::from(new)];
        child.life = Life::Running;
        child.known |= known;
        self.settle(state, new.into());
    }

    /// Time passes if nobody can go on, to the moment when the first one can.
    fn pass_time(&self, state: &mut State) {
        if !state.threads.iter().any(|t| t.life == Life::Running && t.left.is_some_and(|left| left > 0)) {
            return;
        }
        if (0..state.threads.len()).any(|t| !self.steps_without_time(state, t)) {
            return;
        }
        let running = |t: &&mut Thread| t.life == Life::Running;
        let first = state.threads.iter_mut().filter(running).filter_map(|t| t.left).min().unwrap_or(0);
        for left in state.threads.iter_mut().filter(running).filter_map(|t| t.left.as_mut()) {
            *left -= first;
        }
    }

    /// Whether a thread has to wait.
    fn steps_without_time(&self, state: &State, thread: usize) -> bool {
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
            && matches!(self.op(t, thread), Some(Op::Wait(c, _) | Op::WaitUntil(c, ..)) if c == condvar)
    }

    fn notify_one(&self, state: &State, thread: usize, condvar: u8) -> Vec<State> {
        let mut after: Vec<State> = (0..state.threads.len())
            .filter(|t| self.waits(state, *t, condvar))
            .map(|t| {
                let mut next = state.clone();
                next.threads[t].phase = Phase::Waiting(true);
                next
            })
            .collect();
        if after.is_empty() {
            after.push(state.clone());
        }
        after.iter_mut().for_each(|next| next.threads[thread].next());
        after
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
            return matches!(state.threads[usize::from(first)].life, Life::Ended(_));
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
            Op::Release(l) => {
                let at = state.threads[t].holds_either(l).expect("can");
                let guard = state.threads[t].held.remove(at);
                state.release(guard, false);
                state.done(t, None)
            }
            Op::Wait(_, m) | Op::WaitUntil(_, m, _) => match phase {
                Phase::Waiting(notified) => {
                    notified && !state.mutexes[usize::from(m)].locked && {
                        state.mutexes[usize::from(m)].locked = true;
                        let poisoned = state.mutexes[usize::from(m)].poisoned;
                        state.threads[t].log.push(poisoned.into());
                        match op {
                            Op::Wait(..) => state.done(t, None),
                            _ => state.stay(t, Phase::Begin),
                        }
                    }
                }
                _ => {
                    state.mutexes[usize::from(m)].locked = false;
                    state.stay(t, Phase::Waiting(false))
                }
            },
            Op::NotifyOne(_) => unreachable!("it has several outcomes"),
            Op::NotifyAll(condvar) => {
                for other in 0..state.threads.len() {
                    if self.waits(state, other, condvar) {
                        state.threads[other].phase = Phase::Waiting(true);
                    }
                }
                state.done(t, None)
            }
            Op::Send(c, v) => state.send(t, c, v, phase),
            Op::TrySend(c, v) => {
                let channel = &mut state.channels[usize::from(c)];
                let full = channel.capacity.is_some_and(|n| channel.queue.len() >= n.into());
                let result = match (channel.receiver, full) {
                    (false, _) => GONE,
                    (true, true) => NONE,
                    (true, false) => {
                        channel.queue.push(v);
                        1
                    }
                };
                state.done(t, Some(result))
            }
            Op::Recv(c) => state.receive(t, c, None, self),
            Op::TryRecv(c) => state.receive(t, c, Some(NONE), self),
            Op::RecvTimeout(c, _) => {
                let up = state.threads[t].left == Some(0);
                state.receive(t, c, up.then_some(NONE), self)
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
                Phase::Arrived(all) => all && state.done(t, Some(0)),
                _ => {
                    state.barriers[usize::from(b)] += 1;
                    if state.barriers[usize::from(b)] < self.program.barriers[usize::from(b)] {
                        return state.stay(t, Phase::Arrived(false));
                    }
                    state.barriers[usize::from(b)] = 0;
                    for other in 0..state.threads.len() {
                        if state.threads[other].phase == Phase::Arrived(false)
                            && self.op(&state.threads[other], other) == Some(op)
                        {
                            state.threads[other].phase = Phase::Arrived(true);
                        }
                    }
                    state.done(t, Some(1))
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
            Op::CallOnce(o, a, v) => match (phase, state.onces[usize::from(o)]) {
                (Phase::Inside(false), _) => {
                    let old = state.add(a, v);
                    state.threads[t].log.push(old);
                    state.stay(t, Phase::Inside(true))
                }
                (Phase::Inside(true), _) => {
                    state.onces[usize::from(o)] = Once::Done;
                    state.done(t, None)
                }
                (_, Once::New) => {
                    state.onces[usize::from(o)] = Once::Running;
                    state.stay(t, Phase::Inside(false))
                }
                (_, Once::Running) => false,
                (_, Once::Done) => state.done(t, None),
            },
            Op::IsCompleted(o) => state.done(t, Some((state.onces[usize::from(o)] == Once::Done).into())),
            Op::Set(o, v) => match (phase, state.cells[usize::from(o)].0) {
                (Phase::Inside(_), _) => {
                    state.cells[usize::from(o)] = (Once::Done, v);
                    state.done(t, Some(1))
                }
                (_, Once::New) => {
                    state.cells[usize::from(o)].0 = Once::Running;
                    state.stay(t, Phase::Inside(true))
                }
                (_, Once::Running) => false,
                (_, Once::Done) => state.done(t, Some(0)),
            },
            Op::GetSet(o) => match state.cells[usize::from(o)] {
                (Once::Done, v) => state.done(t, Some(v)),
                _ => state.done(t, Some(NONE)),
            },
            Op::Spawn(new) => {
                self.spawn(state, t, new);
                state.done(t, None)
            }
            Op::Join(other) => match state.threads[usize::from(other)].life {
                Life::Ended(panicked) => {
                    state.threads[t].handles &= !(1 << other);
                    state.in_scope &= !(1 << other);
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

impl Thread {
    fn next(&mut self) {
        self.at += 1;
        self.phase = Phase::Begin;
        self.left = None;
    }
}

impl State {
    /// The operation is over.
    fn done(&mut self, thread: usize, log: Option<u8>) -> bool {
        self.threads[thread].log.extend(log);
        self.threads[thread].next();
        true
    }

    /// The operation goes on.
    fn stay(&mut self, thread: usize, phase: Phase) -> bool {
        self.threads[thread].phase = phase;
        true
    }

    /// A loop of retries goes on after the hint, unless it was the last one.
    fn after_hint(&mut self, thread: usize, vain: u8, tries: u8) -> bool {
        match tries {
            0 => self.stay(thread, Phase::Loop(0, false)),
            _ if vain + 1 == tries => self.done(thread, Some(tries)),
            _ => self.stay(thread, Phase::Loop(vain + 1, false)),
        }
    }

    fn add(&mut self, atomic: u8, value: u8) -> u8 {
        let atomic = &mut self.atomics[usize::from(atomic)];
        std::mem::replace(atomic, atomic.wrapping_add(value))
    }

    fn lock(&mut self, thread: usize, mutex: u8) {
        self.mutexes[usize::from(mutex)].locked = true;
        self.threads[thread].held.push(Guard::Mutex(mutex));
    }

    fn release(&mut self, guard: Guard, panicking: bool) {
        match guard {
            Guard::Mutex(m) => {
                let mutex = &mut self.mutexes[usize::from(m)];
                mutex.locked = false;
                mutex.poisoned |= panicking;
            }
            Guard::Read(l) => self.rwlocks[usize::from(l)].readers -= 1,
            Guard::Write(l) => {
                let lock = &mut self.rwlocks[usize::from(l)];
                lock.written = false;
                lock.poisoned |= panicking;
            }
        }
    }

    fn send(&mut self, thread: usize, channel: u8, value: u8, phase: Phase) -> bool {
        let c = &mut self.channels[usize::from(channel)];
        match (phase, c.capacity) {
            (Phase::Offered, _) => false,
            (Phase::Taken, _) => self.done(thread, Some(1)),
            (Phase::Refused, _) => self.done(thread, Some(GONE)),
            _ if !c.receiver => self.done(thread, Some(GONE)),
            (_, Some(0)) => {
                c.queue.is_empty() && {
                    c.queue.push(thread as u8);
                    self.stay(thread, Phase::Offered)
                }
            }
            (_, Some(n)) if c.queue.len() >= n.into() => false,
            _ => {
                c.queue.push(value);
                self.done(thread, Some(1))
            }
        }
    }

    /// Takes the first message; if there is none, the result is `otherwise`, or it waits.
    fn receive(&mut self, thread: usize, channel: u8, otherwise: Option<u8>, rules: &Rules<'_>) -> bool {
        let c = &mut self.channels[usize::from(channel)];
        if c.queue.is_empty() {
            let result = if c.senders == 0 { Some(GONE) } else { otherwise };
            return result.is_some() && self.done(thread, result);
        }
        let mut value = c.queue.remove(0);
        if c.capacity == Some(0) {
            let sender = usize::from(value);
            let Some(Op::Send(_, sent)) = rules.op(&self.threads[sender], sender) else { unreachable!("it offers") };
            self.threads[sender].phase = Phase::Taken;
            value = sent;
        }
        self.done(thread, Some(value))
    }

    fn drop_sender(&mut self, thread: usize, channel: u8) {
        self.threads[thread].senders &= !(1 << channel);
        self.channels[usize::from(channel)].senders -= 1;
    }

    fn drop_receiver(&mut self, thread: usize, channel: u8) {
        self.threads[thread].receivers &= !(1 << channel);
        let c = &mut self.channels[usize::from(channel)];
        c.receiver = false;
        let left = std::mem::take(&mut c.queue);
        if c.capacity == Some(0) {
            for sender in left {
                self.threads[usize::from(sender)].phase = Phase::Refused;
            }
        }
    }
}
