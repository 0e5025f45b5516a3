//! Small programs over tokio's primitives.

/// What a task does next. A limit is in seconds of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Takes so many permits, and keeps them.
    Acquire(usize, Option<u64>),
    TryAcquire,
    AddPermit,
    Lock(Option<u64>),
    TryLock,
    Read(Option<u64>),
    Write(Option<u64>),
    /// Drops what it took first of all that it has.
    Release,
    Send(Option<u64>),
    TrySend,
    /// Only the first task receives.
    Receive(Option<u64>),
    TryReceive,
    Close,
    Notified(Option<u64>),
    NotifyOne,
    NotifyWaiters,
    Sleep(u64),
    Yield,
}

/// One list for each task.
#[derive(Clone, Debug)]
pub struct Program {
    pub permits: usize,
    pub capacity: usize,
    pub tasks: Vec<Vec<Op>>,
}

/// What a task has seen, one entry for each operation that can tell something.
pub type Log = Vec<Seen>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Seen {
    Done,
    TimeUp,
    Refused,
    Closed,
    /// Which message: the number of the task that sent it.
    Message(usize),
}

/// A program of that seed.
pub fn generate(seed: u64) -> Program {
    let mut random = fastrand::Rng::with_seed(seed);
    let tasks = random.usize(2..=3);
    let most = if tasks == 2 { 4 } else { 2 };
    // Few kinds in one program, so that they meet.
    let kinds: Vec<u32> = (0..2).map(|_| random.u32(0..4)).collect();
    let limit = |random: &mut fastrand::Rng| Some(random.u64(1..=2));
    let tasks = (0..tasks)
        .map(|task| {
            (0..random.usize(1..=most))
                .map(|_| match (kinds[random.usize(0..2)], random.u32(0..8)) {
                    (0, 0..=3) => Op::Acquire(random.usize(1..=2), limit(&mut random)),
                    (0, 4) => Op::TryAcquire,
                    (0, 5) => Op::AddPermit,
                    (1, 0) => Op::Lock(limit(&mut random)),
                    (1, 1) => Op::TryLock,
                    (1, 2..=3) => Op::Read(limit(&mut random)),
                    (1, 4..=5) => Op::Write(limit(&mut random)),
                    (0 | 1, 6) => Op::Release,
                    (2, 0..=3) if task == 0 => Op::Receive(limit(&mut random)),
                    (2, 4) if task == 0 => Op::TryReceive,
                    (2, 5) if task == 0 => Op::Close,
                    (2, 0..=4) if task > 0 => Op::Send(limit(&mut random)),
                    (2, 5..=6) if task > 0 => Op::TrySend,
                    (3, 0..=3) => Op::Notified(limit(&mut random)),
                    (3, 4..=5) => Op::NotifyOne,
                    (3, 6) => Op::NotifyWaiters,
                    (kind, _) if kind % 2 == 0 => Op::Sleep(random.u64(1..=2)),
                    _ => Op::Yield,
                })
                .collect()
        })
        .collect();
    Program { permits: random.usize(0..=2), capacity: random.usize(1..=2), tasks }
}

/// Programs in which something is handed on that few random ones hand on.
pub fn chosen() -> Vec<Program> {
    use Op::*;
    let tasks = [
        vec![vec![Notified(Some(1))], vec![Notified(Some(2))], vec![Sleep(1), NotifyOne]],
        vec![vec![Notified(Some(1))], vec![Notified(Some(1)), NotifyOne], vec![Sleep(1), NotifyWaiters]],
        vec![vec![Notified(Some(1)), Notified(Some(1))], vec![NotifyOne, NotifyWaiters], vec![NotifyOne]],
        vec![vec![Acquire(2, Some(1)), Release], vec![Acquire(1, Some(2))], vec![Sleep(1), AddPermit]],
        vec![vec![Read(Some(1)), Sleep(1)], vec![Write(Some(1))], vec![Read(Some(2))]],
        vec![vec![Lock(Some(1)), Sleep(1)], vec![Lock(Some(1))], vec![Lock(Some(2))]],
        vec![vec![Sleep(1), TryReceive, Close, Receive(Some(2))], vec![Send(Some(2)), Send(Some(1))]],
    ];
    tasks.into_iter().map(|tasks| Program { permits: 0, capacity: 1, tasks }).collect()
}

/// The last of those with another sender, which has 30 times as many executions.
pub fn with_two_senders() -> Program {
    let mut program = chosen().pop().expect("there are some");
    program.tasks.push(vec![Op::Send(Some(1))]);
    program
}
