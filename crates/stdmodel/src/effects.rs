//! What operations do to objects.

use crate::program::{Closure, GONE, NONE, Op, Program};
use crate::state::{Guard, Phase, State, Thread};

impl Thread {
    pub(crate) fn next(&mut self) {
        self.at += 1;
        self.phase = Phase::Begin;
        self.left = None;
    }

    /// Unwinds from here.
    pub(crate) fn panic(&mut self, program: &Program, thread: usize) {
        self.next();
        self.panicking = true;
        self.at = program.threads[thread].len() as u8;
    }

    /// Is woken from a condition variable; its time does not matter any more.
    pub(crate) fn notify(&mut self) {
        self.phase = Phase::Waiting(true);
        self.left = None;
    }
}

impl State {
    /// The operation is over.
    pub(crate) fn done(&mut self, thread: usize, log: Option<u8>) -> bool {
        self.threads[thread].log.extend(log);
        self.threads[thread].next();
        true
    }

    /// The operation panics.
    pub(crate) fn panic(&mut self, thread: usize, program: &Program) -> bool {
        self.threads[thread].panic(program, thread);
        true
    }

    /// The operation is over, as its closure is.
    pub(crate) fn closure_ends(&mut self, thread: usize, closure: Closure, program: &Program) -> bool {
        match closure {
            Closure::Returns => self.done(thread, None),
            Closure::Panics => self.panic(thread, program),
        }
    }

    /// The operation goes on.
    pub(crate) fn stay(&mut self, thread: usize, phase: Phase) -> bool {
        self.threads[thread].phase = phase;
        true
    }

    /// A loop of retries goes on after the hint, unless it was the last one.
    pub(crate) fn after_hint(&mut self, thread: usize, vain: u8, tries: u8) -> bool {
        match tries {
            0 => self.stay(thread, Phase::Loop(0, false)),
            _ if vain + 1 == tries => self.done(thread, Some(tries)),
            _ => self.stay(thread, Phase::Loop(vain + 1, false)),
        }
    }

    pub(crate) fn add(&mut self, atomic: u8, value: u8) -> u8 {
        let atomic = &mut self.atomics[usize::from(atomic)];
        std::mem::replace(atomic, atomic.wrapping_add(value))
    }

    pub(crate) fn lock(&mut self, thread: usize, mutex: u8) {
        self.mutexes[usize::from(mutex)].locked = true;
        self.threads[thread].held.push(Guard::Mutex(mutex));
    }

    pub(crate) fn release(&mut self, guard: Guard, panicking: bool) {
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

    pub(crate) fn send(&mut self, thread: usize, channel: u8, value: u8, phase: Phase) -> bool {
        let handed = |t: usize| {
            let other = &self.threads[t];
            matches!(other.phase, Phase::Given(_)) && other.receivers & (1 << channel) != 0
        };
        let handed = (0..self.threads.len()).any(handed);
        let c = &mut self.channels[usize::from(channel)];
        match (phase, c.capacity) {
            (Phase::Offered, _) => false,
            (Phase::Taken, _) => self.done(thread, Some(1)),
            (Phase::Refused, _) => self.done(thread, Some(GONE)),
            _ if !c.receiver => self.done(thread, Some(GONE)),
            // One message at a time is handed over.
            (_, Some(0)) => {
                c.queue.is_empty() && !handed && {
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

    /// Sends if there is room, or if the receiver waits for what is handed over.
    pub(crate) fn try_send(&mut self, thread: usize, channel: u8, value: u8, program: &Program) -> bool {
        let c = &mut self.channels[usize::from(channel)];
        let waits = |t: &usize| {
            let other = &self.threads[*t];
            let receives =
                matches!(program.op(*t, other.at), Some(Op::Recv(of) | Op::RecvTimeout(of, _)) if of == channel);
            receives && other.phase == Phase::Receiving
        };
        let receiver = (0..self.threads.len()).find(waits);
        let result = match (c.receiver, c.capacity, receiver) {
            (false, ..) => GONE,
            (true, Some(0), Some(receiver)) if c.queue.is_empty() => {
                self.threads[receiver].phase = Phase::Given(value);
                1
            }
            (true, Some(n), _) if c.queue.len() >= n.into() => NONE,
            _ => {
                c.queue.push(value);
                1
            }
        };
        self.done(thread, Some(result))
    }

    /// Takes the first message; if there is none, the result is `otherwise`, or it waits.
    pub(crate) fn receive(&mut self, thread: usize, channel: u8, otherwise: Option<u8>, program: &Program) -> bool {
        if let Phase::Given(value) = self.threads[thread].phase {
            return self.done(thread, Some(value));
        }
        let c = &mut self.channels[usize::from(channel)];
        if c.queue.is_empty() {
            let result = if c.senders == 0 { Some(GONE) } else { otherwise };
            return result.is_some() && self.done(thread, result);
        }
        let mut value = c.queue.remove(0);
        if c.capacity == Some(0) {
            let sender = usize::from(value);
            let Some(Op::Send(_, sent)) = program.op(sender, self.threads[sender].at) else {
                unreachable!("it offers")
            };
            self.threads[sender].phase = Phase::Taken;
            value = sent;
        }
        self.done(thread, Some(value))
    }

    pub(crate) fn drop_sender(&mut self, thread: usize, channel: u8) {
        self.threads[thread].senders &= !(1 << channel);
        self.channels[usize::from(channel)].senders -= 1;
    }

    pub(crate) fn drop_receiver(&mut self, thread: usize, channel: u8) {
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
