//! Random programs of nodes that send messages, share memory, spawn and join each other; what they do, by the documents of
//! `fabius::mcapi` alone; and the same as a program of it.

use fabius::mcapi::{Domain, Endpoint, Request, Value};
use fabius::sync::atomic::{AtomicI64, Ordering};
use fabius::sync::{Mutex, MutexGuard};
use fabius::thread::{self, JoinHandle};
use fastrand::Rng;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// One thing that a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Do {
    /// Sends a number to a node.
    Send(usize, What),
    /// Asks for the next message.
    Post,
    /// Waits for the first request that it has not waited for.
    Wait,
    /// Goes on behind so many things unless the number is greater.
    Unless(What, i64, usize),
    /// Claims that the number is less.
    Claim(What, i64),
    /// Stores into shared memory.
    Store(What),
    /// Loads from there.
    Load,
    /// Takes the lock, unless it is held already.
    Lock,
    /// Gives it back, if it is held.
    Unlock,
    /// Begins a node.
    Spawn(usize),
    /// Waits for the end of a node.
    Join(usize),
}

/// A number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// That of the message that came last; 0 before.
    Last,
    /// What was loaded last; 0 before.
    Seen,
    Is(i64),
}

/// What each node does. The first one begins.
pub type Program = Vec<Vec<Do>>;

/// Whether nodes share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Shared,
    Apart,
}

/// A program of three nodes.
pub fn random(rng: &mut Rng, memory: Memory) -> Program {
    let mut nodes: Program = vec![Vec::new(); 3];
    let what = |rng: &mut Rng| match rng.u8(..4) {
        0 => What::Last,
        1 if memory == Memory::Shared => What::Seen,
        _ => What::Is(rng.i64(1..5)),
    };
    let mut sent = [0; 3];
    for _ in 0..rng.usize(2..=4) {
        let (from, to) = (rng.usize(..3), if rng.u8(..3) > 0 { 0 } else { rng.usize(..3) });
        sent[to] += 1;
        let at = rng.usize(..=nodes[from].len());
        let sends = Do::Send(to, what(rng));
        nodes[from].insert(at, sends);
    }
    for (node, sent) in sent.into_iter().enumerate() {
        for _ in 0..sent {
            if rng.u8(..5) == 0 {
                continue;
            }
            let post = rng.usize(..=nodes[node].len());
            nodes[node].insert(post, Do::Post);
            let wait = rng.usize(post + 1..=nodes[node].len());
            nodes[node].insert(wait, Do::Wait);
        }
    }
    let insert = |rng: &mut Rng, nodes: &mut Program, all: &[Do]| {
        let node = rng.usize(..3);
        let mut at = rng.usize(..=nodes[node].len());
        for one in all {
            nodes[node].insert(at, *one);
            at = rng.usize(at + 1..=nodes[node].len());
        }
    };
    for _ in 0..rng.usize(0..=2) {
        let claimed = if memory == Memory::Shared && rng.bool() { What::Seen } else { What::Last };
        let claim = Do::Claim(claimed, rng.i64(2..5));
        let node = rng.usize(..3);
        // Mostly of the message that has just come.
        let waits: Vec<usize> = (0..nodes[node].len()).filter(|i| nodes[node][*i] == Do::Wait).collect();
        let at = waits.get(rng.usize(..waits.len().max(1))).map_or(nodes[node].len(), |i| i + 1);
        nodes[node].insert(at, claim);
    }
    if rng.u8(..3) == 0 {
        let decides = Do::Unless(what(rng), rng.i64(1..4), rng.usize(1..=2));
        insert(rng, &mut nodes, &[decides]);
    }
    if memory == Memory::Shared {
        for _ in 0..rng.usize(2..=5) {
            let value = what(rng);
            match rng.u8(..3) {
                0 => insert(rng, &mut nodes, &[Do::Store(value)]),
                1 => insert(rng, &mut nodes, &[Do::Load]),
                _ => insert(rng, &mut nodes, &[Do::Lock, Do::Unlock]),
            }
        }
    }
    // The second node is a child of the first; the third one of either.
    for child in 1..3 {
        let parent = rng.usize(..child);
        let spawn = if rng.bool() { rng.usize(..=nodes[parent].len()) } else { 0 };
        nodes[parent].insert(spawn, Do::Spawn(child));
        if rng.u8(..3) > 0 {
            let join = rng.usize(spawn + 1..=nodes[parent].len());
            nodes[parent].insert(join, Do::Join(child));
        }
    }
    nodes
}

/// A state of a program.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// Where each node is; `None`: not spawned yet.
    at: Vec<Option<usize>>,
    last: Vec<i64>,
    seen: Vec<i64>,
    /// The messages on their way, for each pair of nodes.
    channels: Vec<Vec<VecDeque<i64>>>,
    /// Requests that were posted, and how many of them were waited for; the i-th gets the i-th message that arrives.
    posted: Vec<usize>,
    waited: Vec<usize>,
    shared: i64,
    holder: Option<usize>,
}

/// Whether some run fails a claim, or gets stuck. By the documents: the network is a queue for each pair of endpoints, nothing
/// else is ordered; memory is sequentially consistent; a thread begins when it is spawned, and a join waits for its end.
pub fn has_bug(program: &Program) -> bool {
    let n = program.len();
    let initial = State {
        at: (0..n).map(|i| (i == 0).then_some(0)).collect(),
        last: vec![0; n],
        seen: vec![0; n],
        channels: vec![vec![VecDeque::new(); n]; n],
        posted: vec![0; n],
        waited: vec![0; n],
        shared: 0,
        holder: None,
    };
    let mut known = HashSet::from([initial.clone()]);
    let mut open = vec![initial];
    while let Some(state) = open.pop() {
        let Some(next) = steps(program, &state) else { return true };
        let ended = |i: usize| state.at[i].is_some_and(|at| at == program[i].len());
        // Nobody can go on, and not because all are done.
        if next.is_empty() && !(0..n).all(|i| state.at[i].is_none() || ended(i)) {
            return true;
        }
        for state in next {
            if known.insert(state.clone()) {
                open.push(state);
            }
        }
    }
    false
}

/// The states that may come next; `None` if a claim fails.
fn steps(program: &Program, state: &State) -> Option<Vec<State>> {
    let mut next = Vec::new();
    for (node, all) in program.iter().enumerate() {
        let Some(at) = state.at[node].filter(|at| *at < all.len()) else { continue };
        let number = |what: What| match what {
            What::Last => state.last[node],
            What::Seen => state.seen[node],
            What::Is(n) => n,
        };
        let mut after = state.clone();
        after.at[node] = Some(at + 1);
        match all[at] {
            Do::Send(to, what) => after.channels[node][to].push_back(number(what)),
            Do::Post => after.posted[node] += 1,
            Do::Wait => {
                if state.waited[node] < state.posted[node] {
                    after.waited[node] += 1;
                    for from in 0..program.len() {
                        let mut gets = after.clone();
                        if let Some(message) = gets.channels[from][node].pop_front() {
                            gets.last[node] = message;
                            next.push(gets);
                        }
                    }
                    continue;
                }
            }
            Do::Unless(what, than, skips) if number(what) <= than => {
                after.at[node] = Some((at + 1 + skips).min(all.len()));
            }
            Do::Unless(..) => {}
            Do::Claim(what, than) if number(what) >= than => return None,
            Do::Claim(..) => {}
            Do::Store(what) => after.shared = number(what),
            Do::Load => after.seen[node] = state.shared,
            Do::Lock if state.holder.is_some_and(|other| other != node) => continue,
            Do::Lock => after.holder = Some(node),
            Do::Unlock if state.holder == Some(node) => after.holder = None,
            Do::Unlock => {}
            Do::Spawn(child) => after.at[child] = Some(0),
            Do::Join(child) if state.at[child].is_some_and(|at| at < program[child].len()) => continue,
            Do::Join(_) => {}
        }
        next.push(after);
    }
    // What is held at the end is given back.
    for state in &mut next {
        let ended = |node: &usize| state.at[*node].is_some_and(|at| at == program[*node].len());
        state.holder = state.holder.filter(|node| !ended(node));
    }
    Some(next)
}

/// The program as one of `fabius::mcapi`.
pub fn run(program: &Program, domain: &Domain) {
    let shared = Arc::new(Shared { program: program.clone(), cell: AtomicI64::new(0), lock: Mutex::new(()) });
    let endpoints = (0..program.len()).map(|n| Some(domain.initialize(&format!("N{n}")).endpoint_create(n as u32)));
    execute(0, &shared, &Arc::new(std::sync::Mutex::new(endpoints.collect())));
}

struct Shared {
    program: Program,
    cell: AtomicI64,
    lock: Mutex<()>,
}

/// The endpoints of the nodes that have not begun: handed over, and used by nobody else.
type Endpoints = Arc<std::sync::Mutex<Vec<Option<Endpoint>>>>;

fn execute(node: usize, shared: &Arc<Shared>, endpoints: &Endpoints) {
    let own = endpoints.lock().unwrap()[node].take().expect("a node begins once");
    // A thread without any operation has no number in a schedule.
    AtomicI64::new(0).load(Ordering::SeqCst);
    let (mut last, mut seen) = (Value::from(0), 0);
    let mut requests: VecDeque<Request> = VecDeque::new();
    let mut children: Vec<Option<JoinHandle<()>>> = shared.program.iter().map(|_| None).collect();
    let mut held: Option<MutexGuard<'_, ()>> = None;
    let (all, mut at) = (&shared.program[node], 0);
    while let Some(next) = all.get(at) {
        at += 1;
        let number = |what: What, last: &Value| match what {
            What::Last => last.clone(),
            What::Seen => seen.into(),
            What::Is(n) => n.into(),
        };
        match *next {
            Do::Send(to, what) => own.msg_send(to as u32, number(what, &last)),
            Do::Post => requests.push_back(own.msg_recv_i()),
            Do::Wait => {
                if let Some(request) = requests.pop_front() {
                    request.wait();
                    last = request.message();
                }
            }
            Do::Unless(what, than, skips) => {
                if !number(what, &last).is_greater_than(than).branch() {
                    at += skips;
                }
            }
            Do::Claim(what, than) => number(what, &last).is_less_than(than).assert("it is less"),
            Do::Store(what) => shared.cell.store(number(what, &last).get(), Ordering::SeqCst),
            Do::Load => seen = shared.cell.load(Ordering::SeqCst),
            Do::Lock if held.is_some() => {}
            Do::Lock => held = Some(shared.lock.lock().unwrap()),
            Do::Unlock => held = None,
            Do::Spawn(child) => {
                let (shared, endpoints) = (shared.clone(), endpoints.clone());
                children[child] = Some(thread::spawn(move || execute(child, &shared, &endpoints)));
            }
            Do::Join(child) => {
                if let Some(child) = children[child].take() {
                    child.join().unwrap();
                }
            }
        }
    }
    drop(held);
}
