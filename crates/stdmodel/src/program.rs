//! Programs: a list of operations for each thread. Thread 0 is main.

/// An operation of a thread. Objects and threads are numbers. What a thread cannot do in its place (unlock what it does
/// not hold, join what it did not spawn or has joined) it leaves out, without a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Logs the value of an atomic.
    Load(u8),
    /// Stores a value.
    Store(u8, u8),
    /// Stores a value and logs the old one.
    Swap(u8, u8),
    /// Adds and logs the old value.
    Add(u8, u8),
    /// Compares with the second and stores the third; logs the old value.
    Cas(u8, u8, u8),
    /// Loads until the atomic has the value, so many times, with a hint after each load in vain; logs how many were in
    /// vain. 0 times: for ever, and logs nothing.
    Retry(u8, u8, u8, Hint),
    /// Locks a mutex; logs whether it is poisoned.
    Lock(u8),
    /// Logs whether it got the lock.
    TryLock(u8),
    /// As `TryLock`, so many times, with a hint after each in vain.
    RetryLock(u8, u8, Hint),
    /// Drops the guard.
    Unlock(u8),
    /// Writes what the mutex protects. No step.
    Put(u8, u8),
    /// Logs what the mutex protects. No step.
    Get(u8),
    /// Locks for reading; logs whether it is poisoned.
    Read(u8),
    /// Locks for writing; logs whether it is poisoned.
    Write(u8),
    /// Logs whether it got the lock for reading.
    TryRead(u8),
    /// Logs whether it got the lock for writing.
    TryWrite(u8),
    /// The writer becomes a reader.
    Downgrade(u8),
    /// Drops the guard of a lock for readers and writers.
    Release(u8),
    /// Waits on a condition variable with the guard of a mutex; logs whether that is poisoned.
    Wait(u8, u8),
    /// Waits on a condition variable, again and again, while the mutex does not protect this value; logs each time whether
    /// it is poisoned.
    WaitUntil(u8, u8, u8),
    /// As `Wait`, with a limit of so many milliseconds; logs whether it is poisoned, and 2 more if time was up.
    WaitTimeout(u8, u8, u8),
    /// Wakes any one that waits.
    NotifyOne(u8),
    /// Wakes all that wait.
    NotifyAll(u8),
    /// Sends a value; logs whether the receiver is there.
    Send(u8, u8),
    /// Logs whether it was sent.
    TrySend(u8, u8),
    /// Logs the value, or that the senders are gone.
    Recv(u8),
    /// Logs the value, or why there is none.
    TryRecv(u8),
    /// As `Recv`, with a limit of so many milliseconds.
    RecvTimeout(u8, u8),
    /// Drops the thread's sender.
    DropSender(u8),
    /// Drops the receiver.
    DropReceiver(u8),
    /// Waits at a barrier; logs whether it is the leader, which may be any of them.
    Barrier(u8),
    /// Waits for a token.
    Park,
    /// As `Park`, with a limit of so many milliseconds.
    ParkTimeout(u8),
    /// Gives a thread the token.
    Unpark(u8),
    /// Runs a closure once, which adds to the atomic and logs its old value; panics if an earlier call did.
    CallOnce(u8, u8, Closure),
    /// As `CallOnce`, also if an earlier call panicked, which the closure logs first.
    CallOnceForce(u8, u8, Closure),
    /// Logs whether the call is completed.
    IsCompleted(u8),
    /// Sets a cell; logs whether it was empty.
    Set(u8, u8),
    /// Logs what is in the cell.
    GetSet(u8),
    /// Fills the cell with the value, if it is empty, by a closure, which adds to the atomic and logs its old value; logs
    /// what is in the cell.
    GetOrInit(u8, u8, u8, Closure),
    /// Awaits the value of an atomic: every poll leaves its waker in the place and loads.
    Await(u8, u8, u8),
    /// Wakes the task whose waker is in the place.
    Wake(u8),
    /// Starts a thread.
    Spawn(u8),
    /// Waits for the end of a thread; logs whether it panicked.
    Join(u8),
    /// Logs whether a thread has ended.
    IsFinished(u8),
    /// `yield_now` or `spin_loop`.
    Give(Hint),
    /// Sleeps for so many milliseconds.
    Sleep(u8),
    /// Panics.
    Panic,
}

/// How threads are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Start {
    /// By `thread::spawn`.
    #[default]
    Free,
    /// By main, in a scope, which ends after main's operations. Main logs whether it panicked.
    Scoped,
    /// All are tasks; main blocks on its own.
    Tasks,
}

/// How a thread says that it waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// `thread::yield_now`.
    Yield,
    /// `hint::spin_loop`.
    Spin,
}

/// How a closure ends that a `Once` or a cell runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Closure {
    /// It returns.
    Returns,
    /// It panics.
    Panics,
}

/// Logged in place of a value if there is none.
pub const NONE: u8 = 200;
/// Logged if the other side of a channel is gone.
pub const GONE: u8 = 201;

/// A program: objects that all threads see, and what each thread does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Program {
    /// How many atomics; they begin with 0.
    pub atomics: u8,
    /// How many mutexes; they begin with 0 inside.
    pub mutexes: u8,
    /// How many locks for readers and writers.
    pub rwlocks: u8,
    /// How many condition variables.
    pub condvars: u8,
    /// The capacity of each channel; `None`: no limit.
    pub channels: Vec<Option<u8>>,
    /// How many threads each barrier waits for.
    pub barriers: Vec<u8>,
    /// How many `Once`.
    pub onces: u8,
    /// How many `OnceLock`.
    pub cells: u8,
    /// How many places for the waker of a task.
    pub wakers: u8,
    /// How threads are started.
    pub start: Start,
    /// What the threads do.
    pub threads: Vec<Vec<Op>>,
}

impl Program {
    /// An operation of a thread.
    pub fn op(&self, thread: usize, at: u8) -> Option<Op> {
        self.threads[thread].get(usize::from(at)).copied()
    }

    /// Whether a thread is given a sender of a channel: if it does something with it.
    pub fn sends(&self, thread: usize, channel: usize) -> bool {
        self.threads[thread].iter().any(
            |op| matches!(op, Op::Send(c, _) | Op::TrySend(c, _) | Op::DropSender(c) if usize::from(*c) == channel),
        )
    }

    /// Whether a thread is given the receiver of a channel: the first thread that does something with it.
    pub fn receives(&self, thread: usize, channel: usize) -> bool {
        let uses = |t: usize| {
            self.threads[t].iter().any(|op| {
                matches!(op, Op::Recv(c) | Op::TryRecv(c) | Op::RecvTimeout(c, _) | Op::DropReceiver(c)
                    if usize::from(*c) == channel)
            })
        };
        uses(thread) && !(0..thread).any(uses)
    }

    /// Whether there is a loop of retries without a limit.
    pub fn loops_for_ever(&self) -> bool {
        self.threads.iter().flatten().any(|op| matches!(op, Op::Retry(_, _, 0, _) | Op::RetryLock(_, 0, _)))
    }

    /// Makes it whole: every thread is spawned (by main, if nobody does) and joined at the end by the thread that spawned
    /// it, or by the end of the scope. So main ends last, and knows all logs.
    pub fn complete(&mut self) {
        let threads = self.threads.len();
        for thread in 1..threads {
            let id = thread as u8;
            if !self.threads.iter().flatten().any(|op| *op == Op::Spawn(id)) {
                self.threads[0].insert(thread - 1, Op::Spawn(id));
            }
        }
        for ops in self.threads.iter_mut().filter(|_| self.start != Start::Scoped) {
            let spawned: Vec<u8> =
                ops.iter().filter_map(|op| if let Op::Spawn(t) = op { Some(*t) } else { None }).collect();
            for id in spawned {
                if !ops.contains(&Op::Join(id)) {
                    ops.push(Op::Join(id));
                }
            }
        }
    }
}
