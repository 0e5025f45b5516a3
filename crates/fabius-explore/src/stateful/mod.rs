//! Stateful search in the order of cost: every state once, the first bug has the least cost and the fewest steps.
//!
//! Paper: Iterative Context Bounding (PLDI 2007), Algorithm 1; Delay-Bounded Scheduling (POPL 2011), section 4.
//!
//! Every move costs 0 or 1, so whatever leaves a state that is first reached at cost `c` is explored at cost `c` or
//! `c + 1`: the moves that are free for whoever ran last at once, the *rest* one level later. Of later visits only those
//! at the same cost matter, if somebody else ran last: they bring one part of the rest forward. Every move of every
//! state is thus made once, whatever is bounded. Within a cost, states are explored in the order of steps.
//!
//! Deviations:
//! 1. The paper's cache holds pairs of a state and the thread to run; here it is a state and the set of moves made.
//! 2. Work items are ordered by steps too, so that the trace is short.

mod findings;
mod moves;

use crate::dispatcher::{Move, depends_on_last};
use crate::joined;
use crate::node::{Context, Node, Script, Stop};
use crate::search::{Bug, Cut, Monitor, Options, Outcome, Progress};
use crate::system::{BufferId, Snapshot, StepLog};
use crate::visited::{Arrival, Claimed, Moves, Shard};
use fabius_trace::{Bound, LevelStats, SchedulerKind};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What is known of a state when it is first reached.
pub struct Visit<'a, S> {
    /// The state.
    pub state: &'a S,
    /// Whether nobody can go on.
    pub is_final: bool,
    /// Whether everybody has finished.
    pub is_complete: bool,
    /// The least cost of reaching it.
    pub cost: u32,
}

/// Called with every distinct state; in parallel if there are several jobs.
pub type Visitor<'a, S> = &'a (dyn Fn(Visit<'_, S>) + Sync);

/// Searches. Each state (with the scheduler's and the race detector's) is visited once.
pub fn search<S>(system: &S, options: &Options, monitor: &Monitor<'_>, visit: Visitor<'_, S::State>) -> Outcome
where
    S: Snapshot + Sync,
    S::State: Send,
{
    let context = Context { joins: joined::applies(system, options), ..Context::storing(system, options) };
    let mut search = Search::new(context, monitor, visit);
    search.begin();
    search.run();
    search.finish()
}

const SHARD_BITS: u32 = 4;
const SHARDS: usize = 1 << SHARD_BITS;
const ROOT: u32 = u32::MAX;
/// Outcomes of one step's choices after which the clock is looked at.
const OUTCOMES: u32 = 16;

/// Moves to be made.
#[derive(Clone, Copy, Debug)]
struct Item {
    arrival: u32,
    moves: Moves,
}

/// A bug as a worker sees it.
struct Candidate {
    what: Bug,
    arrival: u32,
    /// The move that fails; `None` for a deadlock in the state of the arrival itself.
    last: Option<(usize, Vec<u32>)>,
    order: (Vec<u8>, usize, Vec<u32>),
}

struct EdgeRecord {
    from: u32,
    to: u32,
    thread: BufferId,
    progress: bool,
}

struct Search<'a, S: Snapshot> {
    context: Context<'a, S>,
    monitor: &'a Monitor<'a>,
    visit: Visitor<'a, S::State>,
    shards: Vec<Mutex<Shard>>,
    /// What is to be done, by cost and steps.
    work: BTreeMap<(u32, u32), Vec<Item>>,
    began: Instant,
    transitions: u64,
    /// Steps that were joined to others.
    joined: u64,
    finals: u64,
    levels: Vec<LevelStats>,
    completed: Option<u32>,
    exhausted: bool,
    /// A limit inside the program that was hit somewhere.
    limit: Option<Cut>,
    /// What ended the search early.
    cut: Option<Cut>,
    bug: Option<((u32, u32), Candidate)>,
    edges: Vec<EdgeRecord>,
    /// How many of the edges there were after each value of the bound.
    edges_of_levels: Vec<usize>,
    ready: HashMap<u32, Vec<BufferId>>,
    roots: Vec<u32>,
}

/// What one worker finds out in one bucket.
struct Worker<'a, S: Snapshot> {
    base: Node<S::State>,
    next: Node<S::State>,
    bytes: Vec<u8>,
    moves: Vec<Move>,
    script: Script,
    log: StepLog,
    work: BTreeMap<(u32, u32), Vec<Item>>,
    transitions: u64,
    joined: u64,
    finals: u64,
    limit: Option<Cut>,
    /// What ended a step, and with it the search.
    cut: Option<Cut>,
    bug: Option<Candidate>,
    edges: Vec<EdgeRecord>,
    ready: Vec<(u32, Vec<BufferId>)>,
    _search: std::marker::PhantomData<&'a S>,
}

impl<'a, S> Search<'a, S>
where
    S: Snapshot + Sync,
    S::State: Send,
{
    fn new(context: Context<'a, S>, monitor: &'a Monitor<'a>, visit: Visitor<'a, S::State>) -> Self {
        Search {
            context,
            monitor,
            visit,
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            work: BTreeMap::new(),
            began: Instant::now(),
            transitions: 0,
            joined: 0,
            finals: 0,
            levels: Vec::new(),
            completed: None,
            exhausted: false,
            limit: None,
            cut: None,
            bug: None,
            edges: Vec::new(),
            edges_of_levels: Vec::new(),
            ready: HashMap::new(),
            roots: Vec::new(),
        }
    }

    /// The initial states: one for each outcome of the choices before the first dispatch.
    fn begin(&mut self) {
        let mut script = Script::merging(self.context.options);
        let mut worker: Option<Worker<'a, S>> = None;
        let mut outcomes = 0u32;
        let mut log = self.context.log();
        loop {
            match self.context.initial(&mut script, &mut log) {
                Ok(_) if script.has_met() => {}
                Ok(node) => {
                    let worker = worker.get_or_insert_with(|| {
                        Worker::new(&node, self.context.log(), Script::merging(self.context.options))
                    });
                    worker.next = node;
                    if let (state, true) = self.arrive(worker, ROOT, 0, 0) {
                        self.roots.push(state);
                    }
                }
                Err(Stop::Bug(what)) => {
                    let choices = script.choices();
                    let order = (Vec::new(), 0, choices.clone());
                    let candidate = Candidate { what, arrival: ROOT, last: Some((0, choices)), order };
                    self.bug.get_or_insert(((0, 0), candidate));
                }
                Err(Stop::Cut(cut)) => {
                    self.limit = self.limit.or(Some(cut));
                    if cut.is_final() {
                        self.cut = Some(cut);
                        break;
                    }
                }
                Err(Stop::Dropped) => {}
            }
            if !script.advance() {
                break;
            }
            outcomes += 1;
            if let Some(cut) = self.must_stop_within(outcomes, &script) {
                self.cut = Some(cut);
                break;
            }
        }
        if let Some(worker) = worker {
            self.merge(worker, (0, 0));
        }
    }

    fn run(&mut self) {
        let mut cost = 0;
        while self.cut.is_none() {
            let mut next = self.work.first_key_value().map(|(key, _)| *key);
            if next.is_some_and(|key| key.0 > cost) {
                self.drop_what_is_made(cost + 1);
                next = self.work.first_key_value().map(|(key, _)| *key);
            }
            if let Some((found, _)) = self.bug
                && next != Some(found)
            {
                break;
            }
            if next.is_none_or(|key| key.0 > cost) {
                self.end_level(cost);
                // What was cut at a limit inside the program was not explored.
                if self.limit.is_none() {
                    self.completed = Some(cost);
                }
                match next {
                    None => {
                        self.exhausted = true;
                        return;
                    }
                    Some(_) if self.context.options.max == Some(cost) => return,
                    Some(_) => cost += 1,
                }
                continue;
            }
            let (key, items) = self.work.pop_first().expect("there is work");
            self.bucket(key, &items);
        }
        self.end_level(cost);
    }

    /// Forgets the rests of which nothing is left at this cost: who came to a state first, which depends on the order of workers, does
    /// not decide whether there is another level.
    fn drop_what_is_made(&mut self, cost: u32) {
        if !depends_on_last(self.context.options.bound) {
            return;
        }
        let mut work = std::mem::take(&mut self.work);
        let is_made = |item: &Item| {
            let shard = self.shard(item.arrival);
            let state = shard.arrivals[index(item.arrival)].state;
            item.moves == Moves::Rest && shard.claimed[shard.states.number(state)].moves == u64::MAX
        };
        work.range_mut((cost, 0)..=(cost, u32::MAX)).for_each(|(_, items)| items.retain(|item| !is_made(item)));
        work.retain(|_, items| !items.is_empty());
        self.work = work;
    }

    fn end_level(&mut self, bound: u32) {
        let states = self.distinct_states();
        self.levels.push(LevelStats { bound, executions: 0, states, transitions: self.transitions });
        self.edges_of_levels.push(self.edges.len());
    }

    /// Distinct states of the program.
    fn distinct_states(&self) -> u64 {
        let count = |s: &Mutex<Shard>| {
            let shard = lock(s);
            if self.counts_apart() { shard.plain.len() } else { shard.states.len() }
        };
        self.shards.iter().map(|s| count(s) as u64).sum()
    }

    /// Whether one state of the program may be stored several times.
    fn counts_apart(&self) -> bool {
        let options = self.context.options;
        options.races.is_some() || options.scheduler != SchedulerKind::Bag || options.bound == Bound::Rounds
    }

    /// Counts a state of the program.
    fn count_plain(&self, state: &[u8]) {
        let hash = xxhash_rust::xxh3::xxh3_64(state);
        lock(&self.shards[hash as usize & (SHARDS - 1)]).plain.intern(state, (hash >> 32) as u32);
    }

    /// Makes all moves of a bucket.
    fn bucket(&mut self, key: (u32, u32), items: &[Item]) {
        let jobs = self.context.options.jobs.clamp(1, items.len().div_ceil(256).max(1));
        let next = AtomicUsize::new(0);
        let stop: Mutex<Option<Cut>> = Mutex::new(None);
        let results: Vec<Worker<'a, S>> = if jobs == 1 {
            self.work_on(key, items, &next, &stop).into_iter().collect()
        } else {
            let this: &Self = self;
            std::thread::scope(|scope| {
                let spawn = |_| scope.spawn(|| this.work_on(key, items, &next, &stop));
                let handles: Vec<_> = (0..jobs).map(spawn).collect();
                handles.into_iter().filter_map(|h| h.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
            })
        };
        results.into_iter().for_each(|worker| self.merge(worker, key));
        self.cut = stop.into_inner().expect("no worker has panicked");
    }

    fn merge(&mut self, worker: Worker<'a, S>, key: (u32, u32)) {
        for (key, mut items) in worker.work {
            self.work.entry(key).or_default().append(&mut items);
        }
        self.transitions = self.transitions.saturating_add(worker.transitions);
        self.joined += worker.joined;
        self.finals += worker.finals;
        self.limit = self.limit.or(worker.limit);
        self.edges.extend(worker.edges);
        self.ready.extend(worker.ready);
        if let Some(new) = worker.bug
            && self.bug.as_ref().is_none_or(|(_, old)| (new.what.rank(), &new.order) < (old.what.rank(), &old.order))
        {
            self.bug = Some((key, new));
        }
    }

    fn work_on(
        &self,
        key: (u32, u32),
        items: &[Item],
        next: &AtomicUsize,
        stop: &Mutex<Option<Cut>>,
    ) -> Option<Worker<'a, S>> {
        let node = self.any_initial()?;
        let mut worker = Worker::new(&node, self.context.log(), Script::merging(self.context.options));
        let mut reported = Instant::now();
        loop {
            let begin = next.fetch_add(64, Ordering::Relaxed);
            if begin >= items.len() || lock(stop).is_some() {
                return Some(worker);
            }
            worker.script.allow(self.room());
            for item in &items[begin..items.len().min(begin + 64)] {
                // A single move of a large system takes long.
                if worker.cut.is_some() || self.is_over().is_some() {
                    break;
                }
                self.expand(&mut worker, *item, key);
            }
            if let Some(cut) = worker.cut.or_else(|| self.must_stop()) {
                *lock(stop) = Some(cut);
            }
            if reported.elapsed() > Duration::from_millis(200) {
                reported = Instant::now();
                self.report(key, &worker, items.len().saturating_sub(begin));
            }
        }
    }

    fn must_stop(&self) -> Option<Cut> {
        let memory = || self.context.options.memory.filter(|limit| self.memory() > *limit).map(|_| Cut::Memory);
        self.is_over().or_else(memory)
    }

    /// The same after so many outcomes of a step, which may be very many.
    fn must_stop_within(&self, outcomes: u32, script: &Script) -> Option<Cut> {
        let over = || if outcomes.is_multiple_of(OUTCOMES) { self.is_over() } else { None };
        let memory = || {
            let limit = self.context.options.memory.filter(|_| outcomes.is_multiple_of(64 * OUTCOMES))?;
            (self.memory() + script.memory() > limit).then_some(Cut::Memory)
        };
        over().or_else(memory)
    }

    /// What each worker may take for points inside of a step.
    fn room(&self) -> Option<u64> {
        let options = self.context.options;
        Some(options.memory?.saturating_sub(self.memory()) / options.jobs.max(1) as u64)
    }

    /// Whether somebody or the clock says so.
    fn is_over(&self) -> Option<Cut> {
        if self.monitor.stop.load(Ordering::Relaxed) {
            return Some(Cut::Interrupted);
        }
        self.context.options.deadline.is_some_and(|d| Instant::now() >= d).then_some(Cut::Time)
    }

    fn memory(&self) -> u64 {
        let shard = |s: &Mutex<Shard>| {
            let s = lock(s);
            s.states.memory()
                + s.arrivals.capacity() * size_of::<Arrival>()
                + s.claimed.capacity() * size_of::<Claimed>()
        };
        let work = self.work.values().map(|items| items.capacity() * size_of::<Item>()).sum::<usize>();
        let edges = self.edges.capacity() * size_of::<EdgeRecord>();
        let ready = self.ready.capacity() * (size_of::<(u32, Vec<BufferId>)>() + 4 * size_of::<BufferId>());
        (self.shards.iter().map(shard).sum::<usize>() + work + edges + ready) as u64
    }

    fn report(&self, key: (u32, u32), worker: &Worker<'a, S>, left: usize) {
        let pending: usize = self.work.values().chain(worker.work.values()).map(Vec::len).sum();
        (self.monitor.progress)(&Progress {
            bound: key.0,
            executions: 0,
            states: self.distinct_states(),
            transitions: self.transitions.saturating_add(worker.transitions),
            frontier: (pending + left) as u64,
            depth: key.1,
            memory: self.memory(),
            elapsed: self.began.elapsed(),
        });
    }

    /// A node to overwrite.
    fn any_initial(&self) -> Option<Node<S::State>> {
        let mut script = Script::merging(self.context.options);
        loop {
            match self.context.initial(&mut script, &mut StepLog::default()) {
                Ok(node) => return Some(node),
                Err(_) if script.advance() => {}
                Err(_) => return None,
            }
        }
    }

    fn shard(&self, number: u32) -> MutexGuard<'_, Shard> {
        lock(&self.shards[number as usize & (SHARDS - 1)])
    }

    fn finish(mut self) -> Outcome {
        let bug = match self.bug.take() {
            Some(((cost, _), candidate)) => self.found(candidate, cost).map(Some),
            // With a search that must end at once there is no time or memory for more.
            None if self.context.options.wants_cycles() && self.cut.is_none() => self.infinite(),
            None => Ok(None),
        };
        let bug = bug.unwrap_or_else(|cut| {
            self.limit = self.limit.or(Some(cut));
            None
        });
        let cut = self.cut.or(self.limit);
        Outcome {
            memory: self.memory(),
            exhausted: self.exhausted && cut.is_none() && bug.is_none(),
            completed: self.completed,
            levels: self.levels,
            finals: self.finals,
            reduced: self.joined,
            growth: Vec::new(),
            anew: None,
            cut: if bug.is_some() { None } else { cut },
            bug,
        }
    }
}

impl<S: Snapshot> Worker<'_, S> {
    fn new(node: &Node<S::State>, log: StepLog, script: Script) -> Self {
        Worker {
            base: node.clone(),
            next: node.clone(),
            bytes: Vec::new(),
            moves: Vec::new(),
            script,
            log,
            work: BTreeMap::new(),
            transitions: 0,
            joined: 0,
            finals: 0,
            limit: None,
            cut: None,
            bug: None,
            edges: Vec::new(),
            ready: Vec::new(),
            _search: std::marker::PhantomData,
        }
    }

    fn offer(&mut self, new: Candidate) {
        let better = |old: &Candidate| (new.what.rank(), &new.order) < (old.what.rank(), &old.order);
        if self.bug.as_ref().is_none_or(better) {
            self.bug = Some(new);
        }
    }
}

fn index(number: u32) -> usize {
    (number >> SHARD_BITS) as usize
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no worker has panicked")
}
