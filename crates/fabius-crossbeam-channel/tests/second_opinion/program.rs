//! Small programs over channels.

/// What is done to a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arm {
    /// To the channel of that number.
    Send(usize),
    Receive(usize),
    /// From what sends once, after a second.
    After,
    /// From what sends every second.
    Tick,
}

/// What a thread does next. A limit is in seconds of virtual time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Waits for one of them. One alone is done by `send_timeout` or `recv_timeout`, several by `select_timeout`.
    Wait(Vec<Arm>, u64),
    /// Does one of them if it can be done now.
    Try(Vec<Arm>),
    /// Waits until one of them can be done.
    Ready(Vec<Arm>, u64),
    DropSender(usize),
    DropReceiver(usize),
    Len(usize),
    Sleep(u64),
}

/// The first operations on channels, then what each thread does.
#[derive(Clone, Debug)]
pub struct Program {
    /// `None`: without a bound.
    pub capacities: [Option<usize>; 2],
    pub threads: Vec<Thread>,
}

/// Which sides of the channels a thread has, and what it does.
#[derive(Clone, Debug)]
pub struct Thread {
    pub senders: [bool; 2],
    pub receivers: [bool; 2],
    pub ops: Vec<Op>,
}

/// What a thread has seen, one entry for each operation that can tell something.
pub type Log = Vec<Seen>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Seen {
    /// By the arm of that number.
    Sent(usize),
    Received(usize, Message),
    Disconnected(usize),
    Ready(usize),
    /// Full, empty, or nothing can be done.
    Refused,
    TimeUp,
    Len(usize),
}

/// Which thread sent it with which operation; of time, the second at which it was due.
pub type Message = (usize, usize);

/// Who sends what time sends.
pub const TIME: usize = usize::MAX;

/// A program of that seed.
pub fn generate(seed: u64) -> Program {
    let mut random = fastrand::Rng::with_seed(seed);
    let channels = random.usize(1..=2);
    let with_time = random.u32(0..4) == 0;
    let mut capacity = || [Some(0), Some(0), Some(1), Some(1), Some(2), None][random.usize(0..6)];
    let capacities = [capacity(), capacity()];
    let count = random.usize(2..=3);
    let most = if count == 2 { 3 } else { 1 };
    let threads = (0..count).map(|_| thread(&mut random, channels, with_time, most)).collect();
    Program { capacities, threads }
}

fn thread(random: &mut fastrand::Rng, channels: usize, with_time: bool, most: usize) -> Thread {
    let mut side = || [0, 1].map(|channel| channel < channels && random.u32(0..3) > 0);
    let (senders, receivers) = (side(), side());
    let (mut has_sender, mut has_receiver) = (senders, receivers);
    let mut ops = Vec::new();
    for _ in 0..random.usize(1..=most) {
        let mut arms: Vec<Arm> = (0..2)
            .flat_map(|c| [has_sender[c].then_some(Arm::Send(c)), has_receiver[c].then_some(Arm::Receive(c))])
            .flatten()
            .collect();
        arms.extend([Arm::After, Arm::Tick].into_iter().filter(|_| with_time));
        random.shuffle(&mut arms);
        arms.truncate(if random.u32(0..3) == 0 { 2 } else { 1 });
        let (limit, channel) = (random.u64(1..=2), random.usize(0..channels));
        ops.push(match random.u32(0..12) {
            10 if has_sender[channel] => {
                has_sender[channel] = false;
                Op::DropSender(channel)
            }
            11 if has_receiver[channel] => {
                has_receiver[channel] = false;
                Op::DropReceiver(channel)
            }
            0 if has_sender[channel] || has_receiver[channel] => Op::Len(channel),
            _ if arms.is_empty() => Op::Sleep(limit),
            1 => Op::Sleep(limit),
            2..=4 => Op::Try(arms),
            5 => Op::Ready(arms, limit),
            _ => Op::Wait(arms, limit),
        });
    }
    Thread { senders, receivers, ops }
}

/// Programs in which something happens that happens in few random ones.
pub fn chosen() -> Vec<Program> {
    use Arm::*;
    use Op::*;
    let all = |ops: Vec<Vec<Op>>, capacities| Program {
        capacities,
        threads: ops.into_iter().map(|ops| Thread { senders: [true; 2], receivers: [true; 2], ops }).collect(),
    };
    let zero = [Some(0); 2];
    vec![
        // Who waits longer is served first, selection or not.
        all(
            vec![
                vec![Wait(vec![Receive(0), Receive(1)], 3)],
                vec![Wait(vec![Receive(0)], 3)],
                vec![Sleep(1), Try(vec![Send(0)])],
            ],
            zero,
        ),
        all(
            vec![
                vec![Wait(vec![Send(0), Send(1)], 3)],
                vec![Wait(vec![Send(0)], 3)],
                vec![Sleep(1), Try(vec![Receive(0)])],
            ],
            zero,
        ),
        // What time sends is for one of those that wait.
        all(vec![vec![Wait(vec![Tick], 3)], vec![Wait(vec![Tick], 3)], vec![Sleep(1), Try(vec![Tick])]], zero),
        all(vec![vec![Wait(vec![After], 2)], vec![Wait(vec![After], 2)]], zero),
        // A place that a selection has got is taken, and who finds it taken finds the message.
        all(vec![vec![Wait(vec![Send(0), Send(1)], 1)], vec![Try(vec![Send(0)]), Try(vec![Receive(0)])]], [Some(1); 2]),
        all(
            vec![vec![Wait(vec![Send(0), Receive(1)], 1)], vec![Ready(vec![Receive(0)], 2), Try(vec![Receive(0)])]],
            zero,
        ),
    ]
}
