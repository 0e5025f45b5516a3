//! States: every object and every thread as plain data.

use crate::program::{Op, Program};

/// A set of small numbers.
pub type Set = u8;

/// A guard that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guard {
    /// Of a mutex.
    Mutex(u8),
    /// Of a lock for reading.
    Read(u8),
    /// Of a lock for writing.
    Write(u8),
}

/// Where in its operation a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The operation is to be begun.
    Begin,
    /// A loop of retries: how many were in vain; whether the hint comes next.
    Loop(u8, bool),
    /// Waits on a condition variable; whether it was notified.
    Waiting(bool),
    /// Waits no longer, because it was notified, and has seen that.
    Woken,
    /// Waits no longer, because its time was up.
    Left,
    /// Has offered a message to hand over.
    Offered,
    /// The message was taken.
    Taken,
    /// The receiver is gone.
    Refused,
    /// Waits for a message that is handed over.
    Receiving,
    /// Has been handed a message.
    Given(u8),
    /// Has arrived at a barrier; when all have, whether it leads.
    Arrived(Option<u8>),
    /// Within the closure of a `Once`; whether its operation is done.
    Inside(bool),
    /// Polls a future; whether that has returned without a result.
    Polling(bool),
}

/// Whether a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Life {
    /// Not yet spawned.
    New,
    /// Spawned.
    Running,
    /// Ended; whether by a panic.
    Ended(bool),
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    /// Whether it runs.
    pub life: Life,
    /// The next operation; behind the last one it drops what it has.
    pub at: u8,
    /// Where in it.
    pub phase: Phase,
    /// Whether it unwinds.
    pub panicking: bool,
    /// What it has read.
    pub log: Vec<u8>,
    /// What it holds, the last one last.
    pub held: Vec<Guard>,
    /// Channels of which it has a sender.
    pub senders: Set,
    /// Channels of which it has the receiver.
    pub receivers: Set,
    /// Threads whose handles to join it has.
    pub handles: Set,
    /// Threads that it can unpark.
    pub known: Set,
    /// The token of `unpark`, and of a task that was woken.
    pub token: bool,
    /// Whether it gave way with its last step.
    pub gave_way: bool,
    /// Milliseconds until its time is up, if it waits for that.
    pub left: Option<u8>,
}

/// A mutex.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Mutex {
    /// Whether it is locked.
    pub locked: bool,
    /// Whether a thread panicked with its guard.
    pub poisoned: bool,
    /// What it protects.
    pub value: u8,
}

/// A lock for readers and writers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct RwLock {
    /// How many read.
    pub readers: u8,
    /// Whether one writes.
    pub written: bool,
    /// Whether a writer panicked.
    pub poisoned: bool,
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Its capacity.
    pub capacity: Option<u8>,
    /// What is in it; of capacity 0: the threads that offer.
    pub queue: Vec<u8>,
    /// How many senders there are. What no thread has is never dropped.
    pub senders: u8,
    /// Whether there is a receiver.
    pub receiver: bool,
}

/// A `Once`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Once {
    /// Nobody has begun.
    New,
    /// Somebody is at it.
    Running,
    /// Done.
    Done,
    /// A closure panicked.
    Poisoned,
}

/// The state of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// Atomics.
    pub atomics: Vec<u8>,
    /// Mutexes.
    pub mutexes: Vec<Mutex>,
    /// Locks for readers and writers.
    pub rwlocks: Vec<RwLock>,
    /// Channels.
    pub channels: Vec<Channel>,
    /// How many have arrived at each barrier.
    pub barriers: Vec<u8>,
    /// Each `Once`.
    pub onces: Vec<Once>,
    /// Each `OnceLock`.
    pub cells: Vec<(Once, u8)>,
    /// The task whose waker is in each place.
    pub wakers: Vec<Option<u8>>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// The threads that were spawned, in order.
    pub born: Vec<u8>,
    /// The threads that the end of the scope has to join.
    pub in_scope: Set,
    /// The threads whose results were asked for.
    pub asked: Set,
    /// Whether a thread of the scope has panicked that was not joined before.
    pub scope_panicked: bool,
    /// Whether the scope is over.
    pub scope_ended: bool,
}

impl State {
    /// Main stands before its first operation.
    pub fn initial(program: &Program) -> State {
        let threads = 0..program.threads.len();
        let channels = 0..program.channels.len();
        let thread = |t: usize| Thread {
            life: if t == 0 { Life::Running } else { Life::New },
            at: 0,
            phase: Phase::Begin,
            panicking: false,
            log: Vec::new(),
            held: Vec::new(),
            senders: channels.clone().filter(|c| program.sends(t, *c)).map(|c| 1 << c).sum(),
            receivers: channels.clone().filter(|c| program.receives(t, *c)).map(|c| 1 << c).sum(),
            handles: 0,
            known: 1,
            token: false,
            gave_way: false,
            left: None,
        };
        let channel = |c: usize| Channel {
            capacity: program.channels[c],
            queue: Vec::new(),
            senders: threads.clone().filter(|t| program.sends(*t, c)).count().max(1) as u8,
            receiver: true,
        };
        State {
            atomics: vec![0; program.atomics.into()],
            mutexes: vec![Mutex::default(); program.mutexes.into()],
            rwlocks: vec![RwLock::default(); program.rwlocks.into()],
            channels: channels.clone().map(channel).collect(),
            barriers: vec![0; program.barriers.len()],
            onces: vec![Once::New; program.onces.into()],
            cells: vec![(Once::New, 0); program.cells.into()],
            wakers: vec![None; program.wakers.into()],
            threads: threads.clone().map(thread).collect(),
            born: vec![0],
            in_scope: 0,
            asked: 0,
            scope_panicked: false,
            scope_ended: false,
        }
    }
}

impl Thread {
    /// Where among its guards that of a mutex is.
    pub fn holds(&self, mutex: u8) -> Option<usize> {
        self.held.iter().position(|g| *g == Guard::Mutex(mutex))
    }

    /// Where among its guards that of a lock for readers and writers is.
    pub fn holds_either(&self, lock: u8) -> Option<usize> {
        self.held.iter().position(|g| *g == Guard::Read(lock) || *g == Guard::Write(lock))
    }

    /// Whether it can do an operation at all; otherwise it leaves it out.
    pub fn can(&self, op: Op) -> bool {
        let has = |set: Set, member: u8| set & (1 << member) != 0;
        match op {
            Op::Lock(m) | Op::TryLock(m) | Op::RetryLock(m, ..) => self.holds(m).is_none(),
            Op::Unlock(m)
            | Op::Put(m, _)
            | Op::Get(m)
            | Op::Wait(_, m)
            | Op::WaitUntil(_, m, _)
            | Op::WaitTimeout(_, m, _) => self.holds(m).is_some(),
            Op::Read(l) | Op::Write(l) | Op::TryRead(l) | Op::TryWrite(l) => self.holds_either(l).is_none(),
            Op::Release(l) => self.holds_either(l).is_some(),
            Op::Downgrade(l) => self.held.contains(&Guard::Write(l)),
            Op::Send(c, _) | Op::TrySend(c, _) | Op::DropSender(c) => has(self.senders, c),
            Op::Recv(c) | Op::TryRecv(c) | Op::RecvTimeout(c, _) | Op::DropReceiver(c) => has(self.receivers, c),
            Op::Join(t) | Op::IsFinished(t) => has(self.handles, t),
            Op::Unpark(t) => has(self.known, t),
            _ => true,
        }
    }
}
