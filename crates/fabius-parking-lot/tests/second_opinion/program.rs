//! Small programs over a mutex with a condition variable, and over a lock for readers and writers.

/// How long an operation waits: not at all, or so many seconds of virtual time.
pub type Limit = Option<u64>;

/// What a thread does next. What it has no guard for it leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Lock(Limit),
    Unlock,
    /// With the mutex; never without a limit.
    Wait(u64),
    NotifyOne,
    NotifyAll,
    Read(Limit),
    ReadAgain(Limit),
    Upgradable(Limit),
    Write(Limit),
    /// Of the guard that it took last, if that is upgradable.
    Upgrade(Limit),
    /// The writer becomes a reader, an upgradable reader a plain one.
    Downgrade,
    DowngradeToUpgradable,
    /// Drops the guard that it took last.
    Release,
    IsLocked,
    IsLockedExclusive,
    Sleep(u64),
}

/// One list for each thread.
pub type Program = Vec<Vec<Op>>;

/// What a thread has seen, one entry for each operation that can tell something.
pub type Log = Vec<Seen>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Seen {
    Done,
    /// Time was up, or it was not to be had at once.
    Refused,
    /// How many were woken.
    Woken(usize),
    Is(bool),
}

/// A program of that seed.
pub fn generate(seed: u64) -> Program {
    let mut random = fastrand::Rng::with_seed(seed);
    let with_condition = random.u32(0..3) == 0;
    let threads = random.usize(2..=3);
    let most = if threads == 2 { 5 } else { 3 };
    let op = |random: &mut fastrand::Rng| {
        let limit = [None, Some(1), Some(2)][random.usize(0..3)];
        match (with_condition, random.u32(0..16)) {
            (_, 0) => Op::Sleep(random.u64(1..=2)),
            (true, 1..=5) => Op::Lock(limit),
            (true, 6..=9) => Op::Wait(random.u64(1..=2)),
            (true, 10..=11) => Op::NotifyOne,
            (true, 12) => Op::NotifyAll,
            (true, _) => Op::Unlock,
            (false, 1..=2) => Op::Read(limit),
            (false, 3) => Op::ReadAgain(limit),
            (false, 4..=5) => Op::Upgradable(limit),
            (false, 6..=7) => Op::Write(limit),
            (false, 8..=9) => Op::Upgrade(limit),
            (false, 10) => Op::Downgrade,
            (false, 11) => Op::DowngradeToUpgradable,
            (false, 12) => Op::IsLocked,
            (false, 13) => Op::IsLockedExclusive,
            (false, _) => Op::Release,
        }
    };
    (0..threads).map(|_| (0..random.usize(1..=most)).map(|_| op(&mut random)).collect()).collect()
}

/// Programs in which something happens that happens in few random ones.
pub fn chosen() -> Vec<Program> {
    use Op::*;
    vec![
        vec![vec![Read(Some(1)), Sleep(2)], vec![Write(Some(1))], vec![Sleep(1), Read(None), ReadAgain(None)]],
        vec![
            vec![Upgradable(Some(1)), Upgrade(Some(1)), Release],
            vec![Read(Some(1)), Sleep(1)],
            vec![ReadAgain(Some(2))],
        ],
        vec![vec![Write(Some(1)), DowngradeToUpgradable, Downgrade], vec![Upgradable(Some(1)), IsLocked]],
        vec![vec![Lock(Some(1)), Wait(1)], vec![Lock(Some(1)), Wait(2)], vec![Sleep(1), NotifyOne, NotifyAll]],
    ]
}
