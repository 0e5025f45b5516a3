//! A precise race detector whose state is a finite value, as stateful search needs it.
//!
//! Paper: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007), section 3.1, which
//! uses Goldilocks (PLDI 2007): for every data variable the set of those who *know* its last access, that is of the
//! threads whose next step would be ordered after it, and of the synchronization variables whose next access would be.
//!
//! Deviations:
//! 1. The synchronization variables of an atomic block are accessed as one event, together with the data accesses
//!    before the last of them, because the block as a whole is ordered with every other that shares one of them.
//! 2. [`Conflict::ReadWrite`] lets reads of the same variable commute, data and synchronization alike. A
//!    synchronization variable is then two: what is known to its writers, and what is known to all who accessed it.
//! 3. The private synchronization variable of a thread ([`end_of`]) is accessed by the `spawn` that makes it, by its
//!    birth, by its end and by the `join`s that wait for it.
//! 4. Atomic operations whose program says what they order ([`Orders`]) order just that: a release is known to those who acquire
//!    what it wrote, or what read-modify-write operations have made of it, and a plain store ends that, also one of the same thread
//!    (C11 5.1.2.4 without the release sequences of a thread's own stores, as C++20 has it).
//! 5. A fence (C11 7.17.4) makes of what its thread has read before without acquiring it what is acquired ([`Knower::Seen`]), and of
//!    what its thread knows what its later writes release ([`Knower::Fenced`]).
//! 6. Of several reads since the last write only those with a least set of knowers are kept: whoever knows them knows
//!    the others.

use super::{Conflict, Party, Race, Runner, events};
use crate::codec::{get, put};
use crate::system::{ANONYMOUS, Access, Born, BufferId, Orders, StepLog, TaskId, end_of};
use fabius_trace::MemoryOrder;
use std::collections::{BTreeMap, BTreeSet};

/// Detects the first data race of an execution.
///
/// After each step of the execution call [`Detector::step`], then [`Detector::born`] for each task born in it, then, if
/// the task has finished, [`Detector::finished`].
#[derive(Clone, Debug)]
pub struct Detector {
    conflict: Conflict,
    orders: Orders,
    /// Whether there are fences.
    fences: bool,
    data: BTreeMap<u64, Last>,
    /// The ends that the last step wrote: of threads that it spawned.
    spawned: Vec<u64>,
}

/// Who may know an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Knower {
    Thread(BufferId),
    /// Those who will read the synchronization variable.
    Writers(u64),
    /// Those who will write it.
    All(u64),
    /// The thread from its next acquiring fence on.
    Seen(BufferId),
    /// Those who acquire what the thread writes next, as a fence of it has released that.
    Fenced(BufferId),
}

/// The last accesses to a data variable: the last write, and the reads since.
#[derive(Clone, Debug, Default)]
struct Last {
    write: Option<Accessed>,
    reads: Vec<Accessed>,
}

#[derive(Clone, Debug)]
struct Accessed {
    by: Option<Party>,
    known: BTreeSet<Knower>,
}

impl Detector {
    /// Nothing has been accessed yet.
    pub fn new(conflict: Conflict, orders: &Orders) -> Detector {
        let fences = orders.values().any(|order| order.is_fence);
        Detector { conflict, orders: orders.clone(), fences, data: BTreeMap::new(), spawned: Vec::new() }
    }

    /// What an access orders, if the program says so.
    fn order_of(&self, access: &Access) -> Option<MemoryOrder> {
        self.orders.get(&access.span).copied().filter(|_| access.sync)
    }

    /// What is known to those who read a variable of the event comes to be known.
    fn acquire(&mut self, thread: BufferId, event: &[Access], a: &Access, order: MemoryOrder) {
        let me = Knower::Thread(thread);
        if order.is_fence {
            if order.acquires {
                self.tell(Knower::Seen(thread), me);
            }
            return;
        }
        let writes = event.iter().any(|other| other.sync && other.write && other.variable == a.variable);
        let acquires = if writes { order.acquires } else { order.acquires_in_vain };
        match acquires {
            _ if a.write => {}
            true => self.tell(Knower::Writers(a.variable), me),
            false if self.fences => self.tell(Knower::Writers(a.variable), Knower::Seen(thread)),
            false => {}
        }
    }

    /// A store of another value ends what is known to those who read the variable; a release begins anew.
    fn release(&mut self, thread: BufferId, event: &[Access], a: &Access, order: MemoryOrder) {
        let me = Knower::Thread(thread);
        if order.is_fence {
            if order.releases {
                self.tell(me, Knower::Fenced(thread));
            }
            return;
        }
        if !a.write {
            return;
        }
        if !event.iter().any(|other| other.sync && !other.write && other.variable == a.variable) {
            self.remove(Knower::Writers(a.variable));
        }
        if order.releases {
            self.tell(me, Knower::Writers(a.variable));
        } else if self.fences {
            self.tell(Knower::Fenced(thread), Knower::Writers(a.variable));
        }
    }

    /// A step of the task. After a race the detector is of no further use.
    pub fn step(&mut self, runner: Runner, accesses: &[Access]) -> Result<(), Race> {
        let (event, after) = events(accesses);
        let me = Knower::Thread(runner.buffer);
        self.spawned.clear();
        for a in event.iter().filter(|a| a.sync) {
            if let Some(order) = self.order_of(a) {
                self.acquire(runner.buffer, event, a, order);
                continue;
            }
            if a.write && is_end(a.variable) {
                self.spawned.push(a.variable);
                self.forget(a.variable);
            }
            let source = if self.conflict.writes(a) { Knower::All } else { Knower::Writers };
            self.tell(source(a.variable), me);
        }
        for a in event.iter().filter(|a| !a.sync) {
            self.touch(runner.buffer, a)?;
        }
        for a in event.iter().filter(|a| a.sync) {
            if let Some(order) = self.order_of(a) {
                self.release(runner.buffer, event, a, order);
                continue;
            }
            self.tell(me, Knower::All(a.variable));
            if self.conflict.writes(a) {
                self.tell(me, Knower::Writers(a.variable));
            }
        }
        after.iter().try_for_each(|a| self.touch(runner.buffer, a))
    }

    /// A step that an assumption has dropped: what it read it has read, which the assumption may depend on; what it wrote
    /// nobody sees. Afterwards the detector is of no further use.
    pub fn dropped(&mut self, runner: Runner, log: &StepLog) -> Result<(), Race> {
        log.fresh.iter().for_each(|variables| self.forget_data(variables));
        let read: Vec<Access> = log.accesses.iter().filter(|a| a.sync || !a.write).copied().collect();
        self.step(runner, &read)
    }

    /// A task was born in the last step, by `parent`, or at the very beginning. It knows what its `spawn` knew, or,
    /// if it was not spawned but started when `parent` finished, all that `parent` knows.
    pub fn born(&mut self, parent: Option<Runner>, born: &Born) {
        let Some(parent) = parent else { return };
        let spawned = self.spawned.contains(&end_of(born.task));
        if parent.buffer != born.buffer {
            let source = if spawned { Knower::All(end_of(born.task)) } else { Knower::Thread(parent.buffer) };
            self.gone(born.buffer);
            self.tell(source, Knower::Thread(born.buffer));
        }
        if !spawned {
            self.forget(end_of(born.task));
        }
    }

    /// The task has finished: joining it makes known what its buffer knows.
    pub fn finished(&mut self, runner: Runner) {
        if runner.task & ANONYMOUS == 0 {
            self.tell(Knower::Thread(runner.buffer), Knower::All(end_of(runner.task)));
            self.tell(Knower::Thread(runner.buffer), Knower::Writers(end_of(runner.task)));
        }
    }

    /// The thread has finished and no task will run on its buffer again: what it knows no longer matters.
    pub fn gone(&mut self, thread: BufferId) {
        self.remove(Knower::Thread(thread));
        if self.fences {
            self.remove(Knower::Seen(thread));
            self.remove(Knower::Fenced(thread));
        }
    }

    /// These variables are new ones under old numbers; to be called before the step that made them is reported.
    pub fn forget_data(&mut self, variables: &std::ops::Range<u64>) {
        self.data.retain(|v, _| !variables.contains(v));
    }

    /// Renumbers anonymous threads as [`crate::system::Snapshot::reorder_anonymous`] does.
    pub fn reorder_anonymous(&mut self, order: &[TaskId]) {
        let new = |old: TaskId| order.iter().position(|t| *t == old).map(|i| ANONYMOUS | i as TaskId);
        self.each(|known| {
            let renamed = known.iter().filter_map(|k| match k {
                Knower::Thread(t) if t & ANONYMOUS != 0 => new(*t).map(Knower::Thread),
                Knower::Seen(t) if t & ANONYMOUS != 0 => new(*t).map(Knower::Seen),
                Knower::Fenced(t) if t & ANONYMOUS != 0 => new(*t).map(Knower::Fenced),
                k => Some(*k),
            });
            *known = renamed.collect();
        });
    }

    /// Appends an encoding. Detectors with equal encodings find the same races from here on.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put(self.data.len() as u64, out);
        for (variable, last) in &self.data {
            put(*variable, out);
            let reads = least(&last.reads);
            put((reads.len() as u64) << 1 | u64::from(last.write.is_some()), out);
            for known in last.write.iter().map(|w| &w.known).chain(reads) {
                put(known.len() as u64, out);
                for knower in known {
                    let (kind, id) = match *knower {
                        Knower::Thread(t) => (0, u64::from(t)),
                        Knower::Writers(x) => (1, x),
                        Knower::All(x) => (2, x),
                        Knower::Seen(t) => (3, u64::from(t)),
                        Knower::Fenced(t) => (4, u64::from(t)),
                    };
                    out.push(kind);
                    put(id, out);
                }
            }
        }
    }

    /// Overwrites this detector with an encoded one, which is at the front of `bytes`; returns the rest of them.
    pub fn decode<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        self.data.clear();
        for _ in 0..get(&mut bytes) {
            let variable = get(&mut bytes);
            let shape = get(&mut bytes);
            let write = (shape & 1 == 1).then(|| read_accessed(&mut bytes));
            let reads = (0..shape >> 1).map(|_| read_accessed(&mut bytes)).collect();
            self.data.insert(variable, Last { write, reads });
        }
        bytes
    }

    /// An access to a data variable.
    fn touch(&mut self, thread: BufferId, access: &Access) -> Result<(), Race> {
        let party = Party { thread, span: access.span };
        let me = Knower::Thread(thread);
        let writes = self.conflict.writes(access);
        let last = self.data.entry(access.variable).or_default();
        let against = last.write.iter().chain(last.reads.iter().filter(|_| writes));
        if let Some(earlier) = against.into_iter().find(|e| !e.known.contains(&me)) {
            return Err(Race { variable: access.variable, first: earlier.by, second: party });
        }
        let accessed = Accessed { by: Some(party), known: BTreeSet::from([me]) };
        if writes {
            *last = Last { write: Some(accessed), reads: Vec::new() };
        } else {
            last.reads.retain(|r| !r.known.contains(&me));
            last.reads.push(accessed);
        }
        Ok(())
    }

    /// `target` comes to know what `source` knows.
    fn tell(&mut self, source: Knower, target: Knower) {
        self.each(|known| {
            if known.contains(&source) {
                known.insert(target);
            }
        });
    }

    /// A new life of a synchronization variable.
    fn forget(&mut self, variable: u64) {
        self.remove(Knower::All(variable));
        self.remove(Knower::Writers(variable));
    }

    fn remove(&mut self, knower: Knower) {
        self.each(|known| {
            known.remove(&knower);
        });
    }

    fn each(&mut self, mut f: impl FnMut(&mut BTreeSet<Knower>)) {
        for last in self.data.values_mut() {
            last.write.iter_mut().chain(&mut last.reads).for_each(|a| f(&mut a.known));
        }
    }
}

/// Whether the variable is the end of some task.
fn is_end(variable: u64) -> bool {
    variable & end_of(0) != 0
}

/// The least sets of knowers, each once, in order.
fn least(reads: &[Accessed]) -> Vec<&BTreeSet<Knower>> {
    let mut sets: Vec<_> = reads.iter().map(|r| &r.known).collect();
    sets.sort();
    sets.dedup();
    let all = sets.clone();
    sets.retain(|s| !all.iter().any(|o| o.len() < s.len() && o.is_subset(s)));
    sets
}

/// Appends a number, seven bits to a byte, lowest first.
fn read_byte(bytes: &mut &[u8]) -> u8 {
    let (first, rest) = bytes.split_first().expect("an encoding that `encode` wrote is complete");
    *bytes = rest;
    *first
}

fn read_accessed(bytes: &mut &[u8]) -> Accessed {
    let count = get(bytes);
    let knower = |_| match read_byte(bytes) {
        0 => Knower::Thread(get(bytes) as BufferId),
        1 => Knower::Writers(get(bytes)),
        2 => Knower::All(get(bytes)),
        3 => Knower::Seen(get(bytes) as BufferId),
        _ => Knower::Fenced(get(bytes) as BufferId),
    };
    Accessed { by: None, known: (0..count).map(knower).collect() }
}
