//! A state of a program: where each thread is, what objects hold, what the counters hold.

use super::program::Program;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub atomics: Vec<u8>,
    /// Whether each is locked.
    pub mutexes: Vec<bool>,
    pub queue: Vec<u8>,
    pub counters: Vec<u8>,
    pub threads: Vec<Thread>,
    /// Threads in order of creation; who is spawned anew is last.
    pub born: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Thread {
    pub life: Life,
    pub at: u16,
    pub found: u8,
    /// The mutexes that it has locked, as a set.
    pub held: u8,
    pub phase: Phase,
    /// Milliseconds until its time is up.
    pub left: Option<u8>,
    /// The token of `park`.
    pub token: bool,
    /// Whether its last step has given way.
    pub gave_way: bool,
    pub log: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Life {
    /// Not spawned, or joined.
    #[default]
    None,
    Running,
    Ended,
}

/// Where a thread is in `Wait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Phase {
    #[default]
    Begin,
    Waiting,
    Notified,
}

impl State {
    pub fn initial(program: &Program) -> State {
        let mut threads = vec![Thread::default(); program.threads.len()];
        threads[0].life = Life::Running;
        State {
            atomics: vec![0; program.atomics.into()],
            mutexes: vec![false; program.mutexes.into()],
            queue: Vec::new(),
            counters: vec![0; program.counters.len()],
            threads,
            born: vec![0],
        }
    }
}
