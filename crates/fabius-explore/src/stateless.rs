//! Stateless search: enumerates executions by running them again and again from the beginning, in the order of cost.
//!
//! Paper: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007), Algorithm 1 without
//! the cache, as in CHESS.
//!
//! Deviations:
//! 1. A work item is a prefix of an execution with what it costs, so that one algorithm serves every bound.
//! 2. The outcomes of nondeterministic choices are part of a prefix.
//! 3. An execution is given up after [`MAX_STEPS`] moves, which is reported: stateless search ends on acyclic state
//!    spaces only.

use crate::dispatcher::Move;
use crate::execution::Execution;
use crate::node::{Context, Script, Stop};
use crate::search::{Bug, Cut, Found, MAX_STEPS, Monitor, Options, Outcome, Progress, Strategy};
use crate::system::System;
use fabius_trace::LevelStats;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A complete execution.
pub struct Complete<'a, S> {
    /// Its last state.
    pub state: &'a S,
    /// Its cost.
    pub cost: u32,
    /// Its happens-before relation as a number.
    pub signature: u128,
    /// Whether everybody has finished.
    pub is_complete: bool,
    /// How many steps it has.
    pub steps: u32,
}

/// Called with every complete execution; in parallel if there are several jobs.
pub type Listener<'a, S> = &'a (dyn Fn(Complete<'_, S>) + Sync);

/// Searches. `states` of the levels are distinct happens-before relations of complete executions.
pub fn search<S>(system: &S, options: &Options, monitor: &Monitor<'_>, listener: Listener<'_, S::State>) -> Outcome
where
    S: System + Sync,
{
    let context = Context { system, options, compare: None };
    let search =
        Search { context, monitor, listener, shared: Mutex::default(), wake: Condvar::new(), began: Instant::now() };
    search.run()
}

/// One move of a prefix, and those before it.
struct Link {
    before: Option<Arc<Link>>,
    mv: Move,
    choices: Vec<u32>,
}

/// A prefix to be continued.
#[derive(Clone)]
struct Item {
    /// Choices before the first dispatch.
    start: Vec<u32>,
    moves: Option<Arc<Link>>,
    cost: u32,
}

#[derive(Default)]
struct Shared {
    /// What is left of this level; the last is next.
    work: Vec<Item>,
    /// What costs more.
    next: Vec<Item>,
    /// Workers that may still add work.
    busy: usize,
    executions: u64,
    transitions: u64,
    signatures: HashSet<u128>,
    bug: Option<Found>,
    cut: Option<Cut>,
    limit: Option<Cut>,
    reported: Option<Instant>,
    depth: u32,
}

struct Search<'a, S: System> {
    context: Context<'a, S>,
    monitor: &'a Monitor<'a>,
    listener: Listener<'a, S::State>,
    shared: Mutex<Shared>,
    wake: Condvar,
    began: Instant,
}

impl<S: System + Sync> Search<'_, S> {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("no worker has panicked")
    }

    fn run(self) -> Outcome {
        let options = self.context.options;
        let in_order = options.strategy == Strategy::Iterative;
        let mut levels = Vec::new();
        let mut completed = None;
        let mut exhausted = false;
        self.lock().work.push(Item { start: Vec::new(), moves: None, cost: 0 });
        let mut bound = if in_order { 0 } else { options.max.unwrap_or(u32::MAX) };
        loop {
            self.level(bound);
            let mut shared = self.lock();
            let shown = if in_order { bound } else { options.max.unwrap_or(0) };
            levels.push(LevelStats {
                bound: shown,
                executions: shared.executions,
                states: shared.signatures.len() as u64,
                transitions: shared.transitions,
            });
            if shared.bug.is_some() || shared.cut.is_some() {
                break;
            }
            if shared.limit.is_none() {
                completed = Some(shown);
            }
            if shared.next.is_empty() {
                exhausted = true;
                break;
            }
            if !in_order || options.max == Some(bound) {
                break;
            }
            shared.work = std::mem::take(&mut shared.next);
            bound += 1;
        }
        let shared = self.shared.into_inner().expect("no worker has panicked");
        let cut = shared.cut.or(shared.limit);
        Outcome {
            exhausted: exhausted && cut.is_none(),
            cut: if shared.bug.is_some() { None } else { cut },
            bug: shared.bug,
            levels,
            completed,
            memory: 0,
            finals: shared.executions,
        }
    }

    /// Runs all items of a level and what they lead to at the same cost.
    fn level(&self, bound: u32) {
        // Depth-first search stops at the first bug, which must not depend on who is faster.
        let in_order = self.context.options.strategy == Strategy::Iterative;
        let jobs = if in_order { self.context.options.jobs.max(1) } else { 1 };
        std::thread::scope(|scope| {
            for _ in 1..jobs {
                scope.spawn(|| self.work(bound));
            }
            self.work(bound);
        });
    }

    fn work(&self, bound: u32) {
        while let Some(item) = self.take() {
            let mut found = Findings::default();
            self.execute(&item, bound, &mut found);
            self.give(found);
        }
    }

    fn take(&self) -> Option<Item> {
        let mut shared = self.lock();
        loop {
            if shared.cut.is_some() || self.context.options.strategy != Strategy::Iterative && shared.bug.is_some() {
                return None;
            }
            if let Some(item) = shared.work.pop() {
                shared.busy += 1;
                return Some(item);
            }
            if shared.busy == 0 {
                self.wake.notify_all();
                return None;
            }
            shared = self.wake.wait(shared).expect("no worker has panicked");
        }
    }

    fn give(&self, found: Findings) {
        let mut shared = self.lock();
        shared.busy -= 1;
        shared.work.extend(found.work);
        shared.next.extend(found.next);
        shared.executions += u64::from(found.complete.is_some());
        shared.transitions += found.transitions;
        shared.signatures.extend(found.complete);
        shared.limit = shared.limit.or(found.limit);
        shared.depth = found.depth;
        if let Some(new) = found.bug {
            // The whole level is run, so that the answer does not depend on the number of jobs.
            let key = |f: &Found| (f.schedule.len(), f.what.rank(), format!("{:?}", f.schedule));
            if shared.bug.as_ref().is_none_or(|old| key(&new) < key(old)) {
                shared.bug = Some(new);
            }
        }
        self.must_stop(&mut shared);
        self.wake.notify_all();
    }

    fn must_stop(&self, shared: &mut Shared) {
        if self.monitor.stop.load(std::sync::atomic::Ordering::Relaxed) {
            shared.cut.get_or_insert(Cut::Interrupted);
        }
        if self.context.options.deadline.is_some_and(|d| Instant::now() >= d) {
            shared.cut.get_or_insert(Cut::Time);
        }
        if shared.reported.is_none_or(|r| r.elapsed() > Duration::from_millis(200)) {
            shared.reported = Some(Instant::now());
            (self.monitor.progress)(&Progress {
                bound: shared.work.last().map_or(0, |i| i.cost),
                executions: shared.executions,
                transitions: shared.transitions,
                frontier: (shared.work.len() + shared.next.len()) as u64,
                depth: shared.depth,
                elapsed: self.began.elapsed(),
                ..Progress::default()
            });
        }
    }

    /// Runs one execution: the prefix, and then on with the first move that the bound allows; the other moves become
    /// prefixes of their own.
    fn execute(&self, item: &Item, bound: u32, out: &mut Findings) {
        let mut prefix = Vec::new();
        let mut link = item.moves.as_ref();
        while let Some(l) = link {
            prefix.push(l);
            link = l.before.as_ref();
        }
        let mut run = match Execution::begin(&self.context, &item.start) {
            Ok(run) => run,
            Err((stop, script)) => {
                self.starts(item, &script, out);
                out.stopped(stop, || {
                    let turn = fabius_trace::Turn { task: fabius_trace::Turn::START, choices: script.choices() };
                    Found { what: Bug::Deadlock, cost: 0, schedule: vec![turn], delays: vec![0], cycle: None }
                });
                return;
            }
        };
        if prefix.is_empty() {
            let script = run.script.clone();
            self.starts(item, &script, out);
        }
        let mut moves = Vec::new();
        let mut here = item.moves.clone();
        for (number, link) in prefix.iter().rev().enumerate() {
            if let Err(stop) = run.make(link.mv, &link.choices) {
                debug_assert_eq!(number + 1, prefix.len(), "only the new end of a prefix can stop");
                out.transitions += 1;
                self.choices(&run.script, link.choices.len(), &link.before, link.mv, item, out);
                return out.stopped(stop, || run.found(Bug::Deadlock));
            }
            if number + 1 == prefix.len() {
                out.transitions += u64::from(matches!(link.mv, Move::Run(_)));
                self.choices(&run.script, link.choices.len(), &link.before, link.mv, item, out);
            }
        }
        for step in prefix.len()..MAX_STEPS {
            if step % 256 == 255 && self.context.options.deadline.is_some_and(|d| Instant::now() >= d) {
                out.limit = Some(Cut::Time);
                return;
            }
            self.context.moves(&run.node, &mut moves);
            // With a scheduler that picks one that waits there are delays even if nobody can go on.
            if moves.is_empty() || self.context.is_final(&run.node) {
                return self.end(run, out);
            }
            let before = here.clone();
            let mut chosen: Option<Move> = None;
            for mv in &moves {
                let cost = run.cost + run.price(mv);
                if cost <= bound && chosen.is_none() {
                    chosen = Some(*mv);
                    continue;
                }
                let link = Arc::new(Link { before: before.clone(), mv: *mv, choices: Vec::new() });
                let item = Item { start: item.start.clone(), moves: Some(link), cost };
                if cost <= bound { out.work.push(item) } else { out.next.push(item) }
            }
            let Some(mv) = chosen else { return };
            out.transitions += u64::from(matches!(mv, Move::Run(_)));
            let result = run.make(mv, &[]);
            self.choices(&run.script, 0, &before, mv, &Item { cost: run.cost, ..item.clone() }, out);
            if let Err(stop) = result {
                return out.stopped(stop, || run.found(Bug::Deadlock));
            }
            here = Some(Arc::new(Link { before, mv, choices: run.script.choices() }));
            out.depth = run.steps;
        }
        out.limit = out.limit.or(Some(Cut::Steps));
    }

    /// Nobody can go on.
    fn end(&self, run: Execution<'_, '_, S>, out: &mut Findings) {
        let is_complete = run.node.dispatcher.is_empty();
        if !is_complete && !self.context.is_final(&run.node) {
            // The scheduler picks one that waits, and the bound does not allow to delay it.
            return;
        }
        let (cost, steps, signature) = (run.cost, run.steps, run.order.signature());
        (self.listener)(Complete { state: &run.node.state, cost, signature, is_complete, steps });
        out.complete = Some(signature);
        if !is_complete && self.context.options.deadlock {
            out.bug = Some(run.found(Bug::Deadlock));
        }
    }

    /// The other outcomes of the choices in a step of which the first `fixed` are given.
    fn choices(
        &self,
        script: &Script,
        fixed: usize,
        before: &Option<Arc<Link>>,
        mv: Move,
        item: &Item,
        out: &mut Findings,
    ) {
        each_other(script.taken(), fixed, |choices| {
            let link = Arc::new(Link { before: before.clone(), mv, choices });
            out.work.push(Item { start: item.start.clone(), moves: Some(link), cost: item.cost });
        });
    }

    fn starts(&self, item: &Item, script: &Script, out: &mut Findings) {
        each_other(script.taken(), item.start.len(), |start| out.work.push(Item { start, moves: None, cost: 0 }));
    }
}

/// Calls `f` with every list of choices that first differs from these behind the first `fixed`.
fn each_other(taken: &[(u32, u32)], fixed: usize, mut f: impl FnMut(Vec<u32>)) {
    for at in fixed..taken.len() {
        for other in taken[at].0 + 1..taken[at].1 {
            let mut choices: Vec<u32> = taken[..at].iter().map(|(c, _)| *c).collect();
            choices.push(other);
            f(choices);
        }
    }
}

/// What one execution adds.
#[derive(Default)]
struct Findings {
    work: Vec<Item>,
    next: Vec<Item>,
    complete: Option<u128>,
    transitions: u64,
    bug: Option<Found>,
    limit: Option<Cut>,
    depth: u32,
}

impl Findings {
    fn stopped(&mut self, stop: Stop, found: impl FnOnce() -> Found) {
        match stop {
            Stop::Bug(what) => self.bug = Some(Found { what, ..found() }),
            Stop::Cut(cut) => self.limit = self.limit.or(Some(cut)),
            Stop::Dropped => {}
        }
    }
}

/// Runs `one` for every number below `count` until it answers, on several threads; the answer to the lowest number.
pub(crate) fn first_of<T: Send>(jobs: usize, count: u64, one: impl Fn(u64) -> Option<T> + Sync) -> Option<(u64, T)> {
    let next = AtomicUsize::new(0);
    let best: Mutex<Option<(u64, T)>> = Mutex::new(None);
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed) as u64;
        let beaten = best.lock().expect("no worker has panicked").as_ref().is_some_and(|(n, _)| *n < number);
        if number >= count || beaten {
            return;
        }
        if let Some(answer) = one(number) {
            let mut best = best.lock().expect("no worker has panicked");
            if best.as_ref().is_none_or(|(n, _)| number < *n) {
                *best = Some((number, answer));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.max(1) {
            scope.spawn(work);
        }
        work();
    });
    best.into_inner().expect("no worker has panicked")
}
