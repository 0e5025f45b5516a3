//! Stateful search of threads without a bound, in breadth: each state once, in few bytes.
//!
//! The answer is that of [`crate::stateful`], state by state and bug by bug; what is missing is all that only bounds,
//! schedulers, races and infinite executions need.
//!
//! With [`Options::ample`] not all steps of a state are made: see `reduction.rs`.

mod ahead;
mod reduction;
mod rows;
mod store;
mod zeros;

use crate::node::{Context, Script, Stop};
use crate::retrace::{self, Target};
use crate::search::{Bug, Cut, Monitor, Options, Outcome, Progress, Strategy};
use crate::system::{End, Packed, StepLog};
use fabius_trace::{Bound, LevelStats, SchedulerKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use store::{Store, Writer};

/// The parent of initial states.
const ROOT: u32 = u32::MAX;
/// States that a worker takes at once.
const BATCH: usize = 64;
/// Outcomes of one step's choices after which the limits are looked at.
const OUTCOMES: u32 = 16;

/// Whether this search answers what is asked.
pub fn answers<S: Packed>(system: &S, options: &Options) -> bool {
    options.bound == Bound::None
        && options.scheduler == SchedulerKind::Bag
        && options.strategy == Strategy::Iterative
        && options.races.is_none()
        && !options.wants_cycles()
        && !system.has_buffers()
}

/// Searches.
pub fn search<S>(system: &S, options: &Options, monitor: &Monitor<'_>) -> Outcome
where
    S: Packed + Sync,
    S::State: Send,
{
    let context = Context::storing(system, options);
    let store = Store::new(options.jobs.max(1));
    let mut search = Search {
        context,
        monitor,
        store,
        ends: Vec::new(),
        is_reduced: false,
        steps: 0,
        only_looks: AtomicBool::new(false),
        began: Instant::now(),
        sum: Sum::default(),
        states: 0,
    };
    search.begin();
    search.run()
}

struct Search<'a, S: Packed> {
    context: Context<'a, S>,
    monitor: &'a Monitor<'a>,
    store: Store,
    /// Where the rows of each worker end that are of this level or earlier ones.
    ends: Vec<usize>,
    /// Whether steps of states of this level may be left out.
    is_reduced: bool,
    /// The number of this level.
    steps: u32,
    /// Whether no steps are made any more, and it is only looked who could: there is a bug that takes fewer.
    only_looks: AtomicBool,
    began: Instant,
    sum: Sum,
    /// States that count.
    states: usize,
}

/// What workers have found out.
#[derive(Default)]
struct Sum {
    transitions: u64,
    finals: u64,
    /// A limit inside the program that was hit somewhere.
    limit: Option<Cut>,
    /// What ended the search early.
    cut: Option<Cut>,
    bug: Option<Candidate>,
    /// States of which not all steps were made.
    reduced: u64,
}

/// A bug as a worker sees it.
struct Candidate {
    what: Bug,
    /// The level from which a step leads to it.
    level: u32,
    /// The state that fails, or whose step does.
    state: u32,
    /// The step, by its place among those that are possible, and its choices.
    last: Option<(usize, Vec<u32>)>,
    order: (Vec<u8>, usize, Vec<u32>),
}

struct Worker<'b, S: Packed> {
    cursor: S::Cursor,
    script: Script,
    log: StepLog,
    rows: Writer<'b>,
    /// The state that is looked at.
    packed: Vec<u8>,
    /// Whether some step of it has led to a state that is looked at later than all of its level.
    goes_deeper: bool,
    ready: Vec<usize>,
    chosen: Vec<usize>,
    sum: Sum,
}

/// What of a level is still to be looked at: from where to where, by whose rows they are.
type Frontier = Vec<(usize, usize)>;

impl<'a, S> Search<'a, S>
where
    S: Packed + Sync,
    S::State: Send,
{
    fn worker(&self, me: usize) -> Worker<'_, S> {
        Worker {
            cursor: self.context.system.cursor(),
            script: Script::merging(self.context.options),
            log: self.context.log(),
            rows: self.store.writer(me),
            packed: Vec::new(),
            goes_deeper: false,
            ready: Vec::new(),
            chosen: Vec::new(),
            sum: Sum::default(),
        }
    }

    /// The initial states: one for each outcome of the choices before the first step.
    fn begin(&mut self) {
        let mut script = Script::merging(self.context.options);
        let mut worker = self.worker(0);
        let mut log = self.context.log();
        let mut outcomes = 0u32;
        loop {
            match self.context.initial(&mut script, &mut log) {
                Ok(_) if script.has_met() => {}
                Ok(node) => {
                    self.context.system.pack(&node.state, &mut worker.cursor);
                    self.arrive(&mut worker, ROOT);
                }
                Err(Stop::Bug(what)) => {
                    let choices = script.choices();
                    let order = (Vec::new(), 0, choices.clone());
                    worker.sum.offer(Candidate { what, level: 0, state: ROOT, last: Some((0, choices)), order });
                }
                Err(Stop::Cut(cut)) => {
                    worker.sum.limit = worker.sum.limit.or(Some(cut));
                    if cut.is_final() {
                        worker.sum.cut = Some(cut);
                        break;
                    }
                }
                Err(Stop::Dropped) => {}
            }
            if !script.advance() {
                break;
            }
            outcomes += 1;
            if outcomes.is_multiple_of(OUTCOMES)
                && let Some(cut) = self.must_stop_within(&mut worker.rows, &script)
            {
                worker.sum.cut = Some(cut);
                break;
            }
        }
        self.settle(&mut worker);
        let sum = std::mem::take(&mut worker.sum);
        drop(worker);
        self.sum.add(sum);
        self.states = self.store.len();
    }

    fn run(mut self) -> Outcome {
        let mut from = self.store.begins();
        let mut before = 0;
        let mut exhausted = false;
        while self.sum.cut.is_none() {
            let to = self.store.ends();
            exhausted = from == to;
            if exhausted {
                break;
            }
            self.ends.clone_from(&to);
            self.is_reduced = self.context.options.ample && self.steps % reduction::PERIOD != reduction::PERIOD - 1;
            let (states, finals) = (self.states, self.sum.finals);
            let (transitions, reduced) = (self.sum.transitions, self.sum.reduced);
            self.level(&from, &to, states - before);
            if *self.only_looks.get_mut() {
                // A deadlock that the step before this level leads to.
                (self.sum.transitions, self.sum.reduced) = (transitions, reduced);
                break;
            }
            self.states = self.store.len();
            self.steps += 1;
            // A level is always finished, so that the answer does not depend on the number of workers.
            if self.sum.bug.is_some() {
                self.look(&to);
                break;
            }
            if self.sum.cut == Some(Cut::Memory) {
                self.sum.finals = finals;
                self.look(&from);
            }
            (from, before) = (to, states);
        }
        self.finish(exhausted)
    }

    /// Looks at all states from here on, and makes no steps.
    fn look(&mut self, from: &[usize]) {
        *self.only_looks.get_mut() = true;
        let to = self.store.ends();
        self.level(from, &to, 0);
    }

    /// Makes all steps of the states of a level, of which there are about so many.
    fn level(&mut self, from: &[usize], to: &[usize], states: usize) {
        let jobs = self.context.options.jobs.clamp(1, states.div_ceil(256).max(1));
        let frontier = Mutex::new(from.iter().copied().zip(to.iter().copied()).collect());
        let stop: Mutex<Option<Cut>> = Mutex::new(None);
        let this: &Self = self;
        let sums: Vec<Sum> = if jobs == 1 {
            vec![this.work(0, &frontier, &stop)]
        } else {
            std::thread::scope(|scope| {
                let (frontier, stop) = (&frontier, &stop);
                let spawn = |me| scope.spawn(move || this.work(me, frontier, stop));
                let handles: Vec<_> = (0..jobs).map(spawn).collect();
                handles.into_iter().map(|h| h.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
            })
        };
        sums.into_iter().for_each(|sum| self.sum.add(sum));
        self.sum.cut = self.sum.cut.or(stop.into_inner().expect("no worker has panicked"));
    }

    fn work(&self, me: usize, frontier: &Mutex<Frontier>, stop: &Mutex<Option<Cut>>) -> Sum {
        let mut worker = self.worker(me);
        let mut batch = Vec::with_capacity(BATCH);
        let mut reported = Instant::now();
        loop {
            self.take(me, &mut lock(frontier), &mut batch);
            if batch.is_empty() || lock(stop).is_some() {
                return std::mem::take(&mut worker.sum);
            }
            worker.script.allow(self.room());
            for state in &batch {
                // A single step of a large system takes long.
                if worker.sum.cut.is_some() || self.is_over().is_some() {
                    break;
                }
                self.expand(&mut worker, *state);
            }
            self.settle(&mut worker);
            worker.rows.pause();
            if let Some(cut) = worker.sum.cut.or_else(|| self.must_stop()) {
                *lock(stop) = Some(cut);
            }
            if reported.elapsed() > Duration::from_millis(200) {
                reported = Instant::now();
                self.report(&worker.sum);
            }
        }
    }

    /// Takes some of the states that are left: those that the worker has stored itself first, since they are near.
    fn take(&self, me: usize, frontier: &mut Frontier, batch: &mut Vec<u32>) {
        batch.clear();
        for owner in (me..frontier.len()).chain(0..me) {
            let (from, to) = &mut frontier[owner];
            while batch.len() < BATCH
                && let Some(number) = self.store.advance(owner, from, *to)
            {
                batch.push(number);
            }
        }
    }

    /// Makes all steps of a state, or as many as will do.
    fn expand(&self, worker: &mut Worker<'_, S>, state: u32) {
        let system = self.context.system;
        worker.packed.clear();
        self.store.read(state, &mut worker.packed);
        system.load(&worker.packed, &mut worker.cursor);
        let mut ready = std::mem::take(&mut worker.ready);
        ready.clear();
        system.ready_tasks(&mut worker.cursor, &mut ready);
        let makes_steps = !self.only_looks.load(Ordering::Relaxed);
        if ready.is_empty() {
            self.end(worker, state);
        } else if makes_steps && self.is_reduced {
            self.make_some(worker, state, &ready);
        } else if makes_steps {
            for (number, index) in ready.iter().enumerate() {
                self.step_unless_repeated(worker, state, *index, number);
            }
        }
        worker.ready = ready;
    }

    /// In the state that is looked at nobody can go on.
    fn end(&self, worker: &mut Worker<'_, S>, state: u32) {
        worker.sum.finals += 1;
        if self.context.options.deadlock && !self.context.system.rests(&worker.cursor) {
            let order = (self.encoded(&worker.packed, &mut worker.cursor), 0, Vec::new());
            let level = self.steps.saturating_sub(1);
            worker.sum.offer(Candidate { what: Bug::Deadlock, level, state, last: None, order });
            if self.steps > 0 {
                self.only_looks.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Makes the step of a task that is ready, by its number among those. Of threads that are alike the first one stands for all.
    fn step_unless_repeated(&self, worker: &mut Worker<'_, S>, state: u32, index: usize, number: usize) {
        if !(self.context.is_symmetric && self.context.system.repeats_at(&mut worker.cursor, index)) {
            self.step(worker, state, index, number);
        }
    }

    /// Makes the step of a task in all of its outcomes.
    fn step(&self, worker: &mut Worker<'_, S>, state: u32, index: usize, number: usize) {
        let system = self.context.system;
        worker.script.restart();
        let mut outcomes = 0u32;
        loop {
            let Worker { cursor, script, log, .. } = worker;
            let end = match system.quick_step_at(cursor, index, script) {
                Some(end) => Ok(end),
                None => {
                    script.rewind();
                    log.clear();
                    system.step_at(cursor, index, script, log)
                }
            };
            worker.sum.transitions = worker.sum.transitions.saturating_add(worker.script.weight());
            match end.map_err(Stop::from) {
                Ok(End::Dropped) | Err(Stop::Dropped) => {}
                Ok(_) => self.arrive(worker, state),
                Err(Stop::Bug(what)) => {
                    let choices = worker.script.choices();
                    let order = (self.encoded(&worker.packed, &mut worker.cursor), number, choices.clone());
                    let level = self.steps;
                    worker.sum.offer(Candidate { what, level, state, last: Some((number, choices)), order });
                    // Elsewhere now.
                    system.load(&worker.packed, &mut worker.cursor);
                }
                Err(Stop::Cut(cut)) => {
                    worker.sum.limit = worker.sum.limit.or(Some(cut));
                    if cut.is_final() {
                        worker.sum.cut = Some(cut);
                        return;
                    }
                }
            }
            if worker.script.has_no_choices() || !worker.script.advance() {
                return;
            }
            outcomes += 1;
            if outcomes.is_multiple_of(OUTCOMES)
                && let Some(cut) = self.must_stop_within(&mut worker.rows, &worker.script)
            {
                worker.sum.cut = Some(cut);
                return;
            }
        }
    }

    /// What the last step has made is to be stored.
    fn arrive(&self, worker: &mut Worker<'_, S>, parent: u32) {
        let system = self.context.system;
        if self.context.is_symmetric {
            system.name_threads(&mut worker.cursor);
        }
        if worker.rows.announce(system.packed(&worker.cursor), parent) {
            self.settle(worker);
        }
    }

    /// Stores what is to be stored.
    fn settle(&self, worker: &mut Worker<'_, S>) {
        let (rows, deeper) = (&mut worker.rows, &mut worker.goes_deeper);
        if !rows.settle(|state| *deeper |= self.store.is_behind(state, &self.ends)) {
            worker.sum.limit = worker.sum.limit.or(Some(Cut::Memory));
            worker.sum.cut = Some(Cut::Memory);
        }
    }

    /// The state as other searches store it.
    fn encoded(&self, packed: &[u8], cursor: &mut S::Cursor) -> Vec<u8> {
        let system = self.context.system;
        let state = system.unpack(packed, cursor);
        system.load(packed, cursor);
        let tasks: Vec<_> = (0..system.tasks(cursor)).map(|index| system.task(cursor, index)).collect();
        let mut out = Vec::new();
        crate::codec::put_set(&tasks, &mut out);
        system.encode(&state, &mut out);
        out
    }

    fn must_stop(&self) -> Option<Cut> {
        self.is_over().or_else(|| {
            let limit = self.context.options.memory.filter(|_| !self.only_looks.load(Ordering::Relaxed))?;
            (self.store.memory() as u64 > limit).then_some(Cut::Memory)
        })
    }

    /// The same between outcomes of a step, which may be very many.
    fn must_stop_within(&self, rows: &mut Writer<'_>, script: &Script) -> Option<Cut> {
        rows.pause();
        self.is_over().or_else(|| {
            let limit = self.context.options.memory?;
            (self.store.memory() as u64 + script.memory() > limit).then_some(Cut::Memory)
        })
    }

    /// What each worker may take for points inside of a step.
    fn room(&self) -> Option<u64> {
        let options = self.context.options;
        let left = options.memory?.saturating_sub(self.store.memory() as u64);
        Some(left / options.jobs.max(1) as u64)
    }

    /// Whether somebody or the clock says so.
    fn is_over(&self) -> Option<Cut> {
        if self.monitor.stop.load(Ordering::Relaxed) {
            return Some(Cut::Interrupted);
        }
        self.context.options.deadline.is_some_and(|d| Instant::now() >= d).then_some(Cut::Time)
    }

    fn report(&self, sum: &Sum) {
        (self.monitor.progress)(&Progress {
            bound: 0,
            executions: 0,
            states: self.store.len() as u64,
            transitions: self.sum.transitions.saturating_add(sum.transitions),
            frontier: 0,
            depth: self.steps,
            memory: self.store.memory() as u64,
            elapsed: self.began.elapsed(),
        });
    }

    fn finish(mut self, exhausted: bool) -> Outcome {
        let bug = self.sum.bug.take().and_then(|candidate| {
            let way = self.way_to(candidate.state);
            let found = retrace::retrace(&self.context, &way, candidate.last, candidate.what);
            found.map_err(|cut| self.sum.limit = Some(cut)).ok()
        });
        let cut = self.sum.cut.or(self.sum.limit);
        let states = self.states as u64;
        Outcome {
            memory: self.store.memory() as u64,
            exhausted: exhausted && cut.is_none() && bug.is_none(),
            completed: (exhausted && self.sum.limit.is_none() && bug.is_none()).then_some(0),
            levels: vec![LevelStats { bound: 0, executions: 0, states, transitions: self.sum.transitions }],
            finals: self.sum.finals,
            reduced: self.sum.reduced,
            growth: Vec::new(),
            anew: None,
            cut: if bug.is_some() { None } else { cut },
            bug,
        }
    }

    /// The states on the way to one.
    fn way_to(&self, mut state: u32) -> Vec<Target> {
        let mut cursor = self.context.system.cursor();
        let mut way = Vec::new();
        while state != ROOT {
            let mut packed = Vec::new();
            let parent = self.store.read(state, &mut packed);
            way.push(Target { state: self.encoded(&packed, &mut cursor), last: None, step: None });
            state = parent;
        }
        way.reverse();
        way
    }
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.transitions = self.transitions.saturating_add(other.transitions);
        self.finals += other.finals;
        self.reduced += other.reduced;
        self.limit = self.limit.or(other.limit);
        self.cut = self.cut.or(other.cut);
        if let Some(bug) = other.bug {
            self.offer(bug);
        }
    }

    /// Of several bugs that take as many steps, the same one is kept whatever the order.
    fn offer(&mut self, new: Candidate) {
        let key = |c: &Candidate| (c.level, c.what.rank());
        let better = |old: &Candidate| (key(&new), &new.order) < (key(old), &old.order);
        if self.bug.as_ref().is_none_or(better) {
            self.bug = Some(new);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no worker has panicked")
}
