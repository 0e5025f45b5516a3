//! Stateless search: enumerates executions by running them again and again from the beginning, in the order of cost.
//!
//! Paper: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007), Algorithm 1, as in CHESS.
//!
//! Deviations:
//! 1. A work item is a prefix of an execution with what it costs, so that one algorithm serves every bound.
//! 2. The outcomes of nondeterministic choices are part of a prefix.
//! 3. An execution is given up after [`Options::max_steps`], which is reported: the search ends on acyclic state spaces only.
//! 4. With [`Reduction::Classes`], the cache holds classes of executions instead of states, and is asked before a prefix is
//!    run, and behind steps that somebody makes who is alone: see `reached.rs`. With [`Reduction::Persistent`], who else is tried at a
//!    point is found out later: see `persistent.rs`.
//! 5. With [`Reduction::Adaptive`], the search begins anew with the latter if many executions have come to few classes.
//!
//! Length: a level, an execution, and what is left of it are one loop with one state, whatever is left out.

use crate::dispatcher::{Last, Move, depends_on_last};
use crate::execution::Execution;
use crate::growth::Growth;
use crate::node::{Context, Stop};
use crate::pace::Pace;
use crate::persistent::{Left, Persistent};
use crate::prefixes::{Findings, Item, Known, Priced, choices_at, each, named};
use crate::reached::{Class, Reached, Signatures};
use crate::repeat::{End, repeat_ahead, room};
use crate::scheduler::Pick;
use crate::search::{Bug, Cut, Found, Monitor, Options, Outcome, Progress, Reduction, Strategy};
use crate::system::{BufferId, Made, Plan, System, TaskId};
use crate::taken::Taken;
use fabius_trace::{Bound, LevelStats, SchedulerKind, Turn};
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A complete execution.
pub struct Complete<'a, S> {
    /// Its last state.
    pub state: &'a S,
    /// Its cost.
    pub cost: u32,
    /// Its class ([`Reduction::Classes`]) as a number, if it is counted ([`Options::classes`]).
    pub signature: Option<u128>,
    /// Whether everybody has finished.
    pub is_complete: bool,
    /// How many steps it has.
    pub steps: u32,
    /// What was done.
    pub taken: &'a Taken,
}

/// Called with every complete execution; in parallel if there are several jobs.
pub type Listener<'a, S> = &'a (dyn Fn(Complete<'_, S>) + Sync);

/// Searches. `states` of the levels are distinct classes of complete executions ([`Reduction::Classes`]), 0 where they were not counted in
/// all of them; `executions` counts all that were run, also those that came to what was explored before.
pub fn search<S>(system: &S, options: &Options, monitor: &Monitor<'_>, listener: Listener<'_, S::State>) -> Outcome
where
    S: System + Sync,
{
    let mut search = begin(system, options, monitor, listener);
    search.go_on_to(options.executions);
    search.outcome()
}

/// Begins a search, without an execution. However many [`Options::executions`] there may be: [`Search::go_on_to`] says that.
pub fn begin<'a, S>(
    system: &'a S,
    options: &'a Options,
    monitor: &'a Monitor<'a>,
    listener: Listener<'a, S::State>,
) -> Search<'a, S>
where
    S: System + Sync,
{
    let context = Context { system, options, compare: None, is_symmetric: false, joins: false };
    let reduces = options.reduction != Reduction::None
        && system.announces()
        && options.strategy == Strategy::Iterative
        && options.scheduler == SchedulerKind::Bag;
    let in_order = options.strategy == Strategy::Iterative;
    let may_wait = reduces && options.may_wait_for_conflicts();
    let mut search = Search {
        context,
        monitor,
        listener,
        shared: Mutex::default(),
        wake: Condvar::new(),
        reached: reduces.then(Reached::default),
        persistent: (may_wait && options.reduction == Reduction::Persistent).then(Persistent::default),
        may_begin_anew: may_wait && options.reduction == Reduction::Adaptive,
        anew: None,
        began: Instant::now(),
        most: None,
        bound: if in_order { options.first_level } else { options.max.unwrap_or(u32::MAX) },
        levels: Vec::new(),
        completed: None,
        exhausted: false,
        is_over: false,
    };
    search.begins();
    search
}

/// After how many executions it is looked at how few classes they came to.
const MANY: u64 = 128;

/// If there are more executions than so many for each class, it begins anew; each then takes three to four times as long.
const EACH: u64 = 8;

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
    signatures: Signatures,
    growth: Growth,
    bug: Option<Found>,
    cut: Option<Cut>,
    limit: Option<Cut>,
    /// Whether it must begin anew, because many executions have come to few classes.
    begins_anew: bool,
    /// Whether in some execution a step may have been possible because no other was.
    has_deadlines: bool,
    pace: Pace,
    reported: Option<Instant>,
    depth: u32,
}

impl Shared {
    /// Takes what is next of this level.
    fn next_item(&mut self) -> Option<Item> {
        let top = self.work.last_mut()?;
        let Some(others) = &mut top.others else { return self.work.pop() };
        let (path, goes_on) = others.next();
        let item = Item::new(path, top.cost, None);
        if !goes_on {
            self.work.pop();
        }
        Some(item)
    }
}

/// A search under way.
pub struct Search<'a, S: System> {
    context: Context<'a, S>,
    monitor: &'a Monitor<'a>,
    listener: Listener<'a, S::State>,
    shared: Mutex<Shared>,
    wake: Condvar,
    reached: Option<Reached>,
    persistent: Option<Persistent>,
    /// Whether it begins anew where many executions come to few classes, and after how many it has.
    may_begin_anew: bool,
    anew: Option<u64>,
    began: Instant,
    /// After how many executions it pauses.
    most: Option<u64>,
    /// What the executions of this level cost at most.
    bound: u32,
    /// Those that are done.
    levels: Vec<LevelStats>,
    completed: Option<u32>,
    exhausted: bool,
    /// Whether nothing is left within the bounds.
    is_over: bool,
}

impl<S: System + Sync> Search<'_, S> {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("no worker has panicked")
    }

    fn begins(&mut self) {
        let shared = self.shared.get_mut().expect("no worker has panicked");
        shared.next.clear();
        shared.work.clear();
        shared.work.push(Item::new(Box::default(), 0, None));
    }

    /// Explores from the beginning once more; others are tried only where conflicts were seen. What was found stays: up to the level
    /// that it comes back to, no class costs more than that.
    fn begins_anew(&mut self) {
        self.begins();
        (self.reached, self.persistent) = (Some(Reached::default()), Some(Persistent::default()));
        self.may_begin_anew = false;
        self.anew = Some(self.executions());
        self.bound = self.context.options.first_level;
    }

    /// Goes on until so many executions have been run in all, or until the search ends. Says whether it has only paused.
    pub fn go_on_to(&mut self, executions: Option<u64>) -> bool {
        self.most = executions;
        if executions == Some(0) {
            self.lock().cut = Some(Cut::Executions);
            return true;
        }
        let options = self.context.options;
        while !self.is_over {
            {
                let mut shared = self.lock();
                if shared.cut == Some(Cut::Executions) {
                    shared.cut = None;
                    self.must_stop(&mut shared);
                }
            }
            self.level(self.bound);
            let mut shared = self.lock();
            if shared.bug.is_some() || shared.cut.is_some() {
                return shared.bug.is_none() && shared.cut == Some(Cut::Executions);
            }
            if std::mem::take(&mut shared.begins_anew) {
                drop(shared);
                self.begins_anew();
                continue;
            }
            if let Some(reached) = &self.reached {
                // What came to the same in the meantime need not be counted as left.
                shared.next.retain(|item| item.comes_to.is_none_or(|class| !reached.is_beaten(class, item.cost)));
            }
            let (this, is_whole, nothing_is_left) =
                (self.stats(&mut shared), shared.limit.is_none(), shared.next.is_empty());
            shared.work = std::mem::take(&mut shared.next);
            drop(shared);
            self.completed = self.completed.max(is_whole.then_some(this.bound));
            self.note_level(this);
            self.exhausted = nothing_is_left;
            self.is_over =
                nothing_is_left || options.strategy != Strategy::Iterative || options.max == Some(self.bound);
            self.bound = if self.is_over { self.bound } else { self.bound + 1 };
        }
        false
    }

    /// Adds a level, or what was done in addition if a higher one was explored before the search began anew.
    fn note_level(&mut self, this: LevelStats) {
        match self.levels.last_mut().filter(|last| last.bound >= this.bound) {
            Some(last) => (last.executions, last.transitions) = (this.executions, this.transitions),
            None => self.levels.push(this),
        }
    }

    /// What was explored up to the level that is being explored.
    fn stats(&self, shared: &mut Shared) -> LevelStats {
        let Options { strategy, max, .. } = self.context.options;
        LevelStats {
            bound: if *strategy == Strategy::Iterative { self.bound } else { max.unwrap_or(0) },
            executions: shared.executions,
            states: if self.counts(shared.executions) { shared.signatures.len() as u64 } else { 0 },
            transitions: shared.transitions,
        }
    }

    /// Whether the classes of so many executions are counted: they are if they tell what need not be explored.
    fn counts(&self, executions: u64) -> bool {
        self.reached.is_some() || self.persistent.is_some() || executions <= self.context.options.classes
    }

    /// After how many it has begun anew, if it has.
    pub fn anew(&self) -> Option<u64> {
        self.anew
    }

    /// How many there have been.
    pub fn executions(&self) -> u64 {
        self.lock().executions
    }

    /// Whether it does not go on, whatever the reason.
    pub fn has_ended(&self) -> bool {
        let shared = self.lock();
        self.is_over || shared.bug.is_some() || shared.cut.is_some_and(|cut| cut != Cut::Executions)
    }

    /// Whether nothing is left within the bounds, and no limit has cut any execution short.
    pub fn has_seen_everything(&self) -> bool {
        let shared = self.lock();
        self.is_over && shared.bug.is_none() && shared.cut.is_none() && shared.limit.is_none()
    }

    /// Whether it has found a bug, or that the system behaves differently.
    pub fn has_an_answer(&self) -> bool {
        let shared = self.lock();
        shared.bug.is_some() || shared.limit == Some(Cut::Nondeterminism)
    }

    /// What was found.
    pub fn outcome(mut self) -> Outcome {
        if !self.is_over {
            let this = self.stats(&mut self.lock());
            self.note_level(this);
        }
        let executions = self.executions();
        let counted = if self.counts(executions) { executions } else { self.context.options.classes };
        let mut shared = self.shared.into_inner().expect("no worker has panicked");
        // Of a system that behaves differently, nothing else is known.
        let differs = shared.limit.filter(|limit| *limit == Cut::Nondeterminism);
        let cut = differs.or(shared.cut).or(shared.limit);
        Outcome {
            exhausted: self.exhausted && cut.is_none(),
            cut: if shared.bug.is_some() { None } else { cut },
            bug: shared.bug,
            levels: self.levels,
            completed: self.completed,
            memory: 0,
            finals: shared.executions,
            reduced: 0,
            growth: shared.growth.end(counted, shared.signatures.len()),
            anew: self.anew,
        }
    }

    /// Runs all items of a level and what they lead to at the same cost.
    fn level(&self, bound: u32) {
        // Depth-first search stops at the first bug, which must not depend on who is faster.
        let in_order = self.context.options.strategy == Strategy::Iterative;
        let jobs = if in_order { self.context.options.jobs.max(1) } else { 1 };
        (self.context.options.workers.0)(jobs, &|| self.work(bound));
    }

    fn work(&self, bound: u32) {
        let is_last_level = self.context.options.max == Some(bound);
        let mut found = Findings { is_last_level, ..Findings::default() };
        while let Some((item, before)) = self.take() {
            let spare = std::mem::take(&mut found.spare);
            found.spare = if self.counts(before + 1) { spare.with_class() } else { spare.without_class() };
            self.execute(&item, bound, &mut found);
            self.give(&mut found);
        }
    }

    /// What is next, and how many executions have begun at most.
    fn take(&self) -> Option<(Item, u64)> {
        let mut shared = self.lock();
        loop {
            let options = self.context.options;
            let enough = options.at_first_bug || options.strategy != Strategy::Iterative;
            if shared.cut.is_some() || shared.begins_anew || enough && shared.bug.is_some() {
                return None;
            }
            if let Some(item) = shared.next_item() {
                let before = shared.executions + shared.busy as u64;
                shared.busy += 1;
                return Some((item, before));
            }
            if shared.busy == 0 {
                self.wake.notify_all();
                return None;
            }
            shared = self.wake.wait(shared).expect("no worker has panicked");
        }
    }

    fn give(&self, found: &mut Findings) {
        let mut shared = self.lock();
        shared.busy -= 1;
        shared.work.append(&mut found.work);
        shared.next.append(&mut found.next);
        shared.executions += std::mem::take(&mut found.executions);
        shared.transitions += std::mem::take(&mut found.transitions);
        found.complete.take().into_iter().for_each(|signature| shared.signatures.add(signature));
        let executions = shared.executions;
        let may_begin_anew = self.may_begin_anew && executions >= MANY;
        let is_asked = may_begin_anew || self.counts(executions) && shared.growth.has_point(executions);
        let distinct = if is_asked { shared.signatures.len() } else { 0 };
        if is_asked {
            shared.growth.see(executions, distinct);
        }
        let limit = found.limit.take();
        shared.limit = limit.filter(|limit| *limit == Cut::Nondeterminism).or(shared.limit).or(limit);
        shared.depth = found.depth;
        shared.has_deadlines |= std::mem::take(&mut found.has_deadlines);
        let comes_to_few = may_begin_anew && executions > EACH * distinct as u64;
        let is_over = shared.work.is_empty() && shared.next.is_empty();
        shared.begins_anew |= comes_to_few && !shared.has_deadlines && !is_over;
        if let Some(new) = found.bug.take() {
            // The whole level is run, so that the answer does not depend on the number of jobs.
            let key = |f: &Found| (f.schedule.len(), f.what.rank(), format!("{:?}", f.schedule));
            if shared.bug.as_ref().is_none_or(|old| key(&new) < key(old)) {
                shared.bug = Some(new);
            }
        }
        self.must_stop(&mut shared);
        if self.context.options.jobs > 1 {
            self.wake.notify_all();
        }
    }

    fn must_stop(&self, shared: &mut Shared) {
        if self.monitor.stop.load(Ordering::Relaxed) {
            shared.cut.get_or_insert(Cut::Interrupted);
        }
        let left = !(shared.work.is_empty() && shared.next.is_empty() && shared.busy == 0);
        if left && self.most.is_some_and(|most| shared.executions >= most) {
            shared.cut.get_or_insert(Cut::Executions);
        }
        let Some(now) = shared.pace.look() else { return };
        if self.context.options.deadline.is_some_and(|d| now >= d) {
            shared.cut.get_or_insert(Cut::Time);
        }
        if shared.reported.is_none_or(|r| now.saturating_duration_since(r) > Duration::from_millis(200)) {
            shared.reported = Some(now);
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

    /// Whether what comes to this class at this cost has to be explored; notes that it is.
    fn is_new(&self, class: Option<Class>, cost: u32) -> bool {
        match (&self.reached, class) {
            (Some(reached), Some(class)) => reached.insert(class, cost),
            _ => true,
        }
    }

    /// The class that a move leads to; of a step that may have other outcomes, that it is tried here, which stands for all of them.
    fn comes_to(&self, run: &Execution<'_, '_, S>, mv: &Move) -> Option<Class> {
        let Move::Run(pick) = mv else { return None };
        self.reached.as_ref()?;
        let (number, last) = run.signature_after(pick.task);
        Some(self.class(number, last))
    }

    /// The class that the last step leads to at this cost, where it finds a store so much older, if that is known.
    fn finds(&self, run: &Execution<'_, '_, S>, newer: u32, cost: u32) -> Result<Option<Class>, Known> {
        let Some(reached) = &self.reached else { return Ok(None) };
        let Some((number, last)) = run.signature_where_it_finds(newer) else { return Ok(None) };
        let class = self.class(number, last);
        if reached.is_beaten(class, cost) { Err(Known) } else { Ok(Some(class)) }
    }

    fn class(&self, number: u128, last: u128) -> Class {
        let matters = depends_on_last(self.context.options.bound);
        Class { number, last: if matters { last as u64 | 1 } else { Class::ANYBODY } }
    }

    /// Runs one execution: the prefix, and then on with the first move that the bound allows and that comes to something
    /// new; the other moves become prefixes of their own.
    fn execute(&self, item: &Item, bound: u32, out: &mut Findings) {
        let is_known = match (&self.reached, item.comes_to) {
            // Of a way to deviate it is noted when it has been taken.
            (Some(reached), Some(class)) if item.ends_in_choice() => reached.is_beaten(class, item.cost),
            (_, class) => !self.is_new(class, item.cost),
        };
        if is_known {
            return;
        }
        out.executions += 1;
        let start = choices_at(&item.path, 0);
        let price = self.context.price_of_deviation();
        let spare = std::mem::take(&mut out.spare);
        let spare = if self.leaving().is_some() { spare.with_history() } else { spare.without_history() };
        let spare = match self.marks() && start.is_empty() {
            true => spare.with_marks(&item.path, &out.here),
            false => spare.without_marks(),
        };
        let mut script = std::mem::take(&mut out.script);
        script.set(start.iter().map(|(c, _)| *c));
        script.allow(self.context.options.memory);
        script.follow_rounds();
        out.here.clear();
        let mut run = match Execution::begin_with(&self.context, script, spare) {
            Ok(run) => run,
            Err((stop, script)) => {
                // Nobody would look at the others of a search that has ended, and there may be a million.
                if !matches!(stop, Stop::Cut(Cut::Time | Cut::Memory | Cut::Interrupted)) {
                    out.others(&script, start.len(), Priced { cost: 0, deviation: price, bound }, |_, _| Ok(None));
                }
                return out.stopped(stop, || {
                    let turn = Turn { task: Turn::START, choices: script.choices() };
                    Found { what: Bug::Deadlock, cost: 0, schedule: vec![turn], delays: vec![0], cycle: None }
                });
            }
        };
        if start.len() == item.path.len() {
            out.others(&run.script, start.len(), Priced { cost: 0, deviation: price, bound }, |_, _| Ok(None));
        }
        out.taken(&run.script);
        match self.repeat(item, start.len(), bound, &mut run, out) {
            Repeated::Stopped(stop) => return out.stopped(stop, || run.found(Bug::Deadlock)),
            Repeated::Known => {
                self.learn(&mut run, bound, out);
                (out.script, out.spare) = run.into_spare();
                return;
            }
            Repeated::Differs => {
                out.limit = out.limit.or(Some(Cut::Nondeterminism));
                return;
            }
            Repeated::Untold => {
                (out.script, out.spare) = run.into_spare();
                out.spare.must_be_told();
                out.here.clear();
                out.executions -= 1;
                return self.execute(item, bound, out);
            }
            Repeated::There => {}
        }
        let mut moves = std::mem::take(&mut out.moves);
        let result = self.go_on(bound, &mut moves, &mut run, out);
        out.moves = moves;
        self.learn(&mut run, bound, out);
        match result {
            Some(Stop::Bug(what)) => out.bug = Some(run.found(what)),
            stop => {
                if let Some(Stop::Cut(cut)) = stop {
                    out.limit = out.limit.or(Some(cut));
                }
                (out.script, out.spare) = run.into_spare();
            }
        }
    }

    /// Tells what conflicts, and what has to be tried because of that.
    fn learn(&self, run: &mut Execution<'_, '_, S>, bound: u32, out: &mut Findings) {
        if let (Some(persistent), Some(history)) = (&self.persistent, run.history()) {
            let mut items = Vec::new();
            persistent.learn(history, &mut items);
            out.sort(items, bound);
        }
    }

    /// Where others are left, if they are.
    fn leaving(&self) -> Option<&Persistent> {
        self.persistent.as_ref().filter(|persistent| !persistent.has_given_up())
    }

    /// Who goes on at a point; others are tried if they have to be. `None` if what follows is explored elsewhere, or if all have to
    /// be tried.
    fn one_of(
        &self,
        persistent: &Persistent,
        (bound, last, moves): (u32, Last, &[Move]),
        run: &mut Execution<'_, '_, S>,
        out: &mut Findings,
    ) -> Option<(Move, u32, Option<Class>)> {
        let goes_on = |mv: &Move| matches!((mv, last), (Move::Run(pick), Last::Ran(last)) if pick.task == last);
        let number = moves.iter().position(goes_on).unwrap_or(0);
        let Move::Run(tried) = moves[number] else { unreachable!("threads are in a bag") };
        let others = moves.iter().enumerate().filter(|(other, _)| *other != number);
        let others: Vec<(TaskId, u32, Option<Class>)> = others
            .filter_map(|(_, mv)| {
                let Move::Run(pick) = mv else { return None };
                Some((pick.task, run.cost + self.context.price(&run.node, last, mv), self.comes_to(run, mv)))
            })
            .collect();
        let cost = run.cost + self.context.price(&run.node, last, &moves[number]);
        let class = self.comes_to(run, &moves[number]);
        if let (false, Some(history)) = (others.is_empty(), run.history()) {
            let left = |(task, cost, comes_to)| Left { task, past: history.past_of(task), cost, comes_to };
            let left = others.into_iter().map(left).collect();
            let mut items = Vec::new();
            let who = (tried.task, goes_on(&moves[number]));
            persistent.at(&out.here, history, who, left, &mut items);
            out.sort(items, bound);
        }
        self.is_new(class, cost).then_some((moves[number], cost, class))
    }

    /// Runs a prefix.
    fn repeat(
        &self,
        item: &Item,
        start: usize,
        bound: u32,
        run: &mut Execution<'_, '_, S>,
        out: &mut Findings,
    ) -> Repeated {
        let mut moves = std::mem::take(&mut out.moves);
        let (mut at, mut time) = (start, 0);
        let mut last = None;
        while at < item.path.len() {
            let end = match self.goes_on_freely() {
                // What else the last operation could have found is still to be told.
                _ if out.may_deviate || run.history().is_some() => End::Left,
                true => End::GoesOn(self.context.options.max_steps),
                false => End::Made,
            };
            if let Some(repeats) = repeat_ahead(item, (at, time), run, out, end) {
                if run.was_untold() {
                    return Repeated::Untold;
                }
                (at, time) = (repeats.at, repeats.time);
                let is_new = at == item.path.len();
                // What is usual is not said in the path.
                if !is_new && (repeats.result.is_err() || !run.script.telling().is_empty()) {
                    return Repeated::Differs;
                }
                if is_new {
                    last = item.path.last().map(|(task, _)| Move::Run(Pick { buffer: *task, task: *task }));
                    out.transitions += 1 + u64::from(repeats.beyond.end - repeats.beyond.start);
                    out.depth = run.steps();
                    went_ahead(run, repeats.beyond.start - 1, bound, out);
                    let deviation = self.context.price_of_deviation();
                    out.others(&run.script, 0, Priced { cost: item.cost, deviation, bound }, |newer, cost| {
                        self.finds(run, newer, cost)
                    });
                    out.taken(&run.script);
                    if let Err(stop) = repeats.result {
                        return Repeated::Stopped(stop);
                    }
                    break;
                }
            }
            let (decision, times) = each(item.path[at]);
            let choices = choices_at(&item.path, at + 1);
            let mv = if run.node.dispatcher.is_bag() {
                let task = decision.0;
                if !run.is_possible(task) {
                    return Repeated::Differs;
                }
                Move::Run(Pick { buffer: task, task })
            } else {
                self.context.moves(&run.node, &mut moves);
                let Some(mv) = moves.iter().find(|mv| named(mv) == decision) else { return Repeated::Differs };
                *mv
            };
            last = Some(mv);
            time += 1;
            let is_last = time == times;
            let choices = if is_last { choices } else { &[] };
            let ends = is_last && at + 1 + choices.len() == item.path.len();
            let given = choices.iter().map(|(c, _)| *c);
            if ends {
                run.script.set(given)
            } else {
                run.script.set_again(given)
            }
            if let Some(history) = run.history() {
                history.is_new = ends;
            }
            let result = run.go_at(mv, item.cost);
            out.went(decision);
            if is_last {
                (at, time) = (at + 1 + choices.len(), 0);
            }
            let is_new = at == item.path.len();
            if is_new {
                out.transitions += u64::from(matches!(mv, Move::Run(_)));
                let deviation = self.context.price_of_deviation();
                out.others(&run.script, choices.len(), Priced { cost: item.cost, deviation, bound }, |newer, cost| {
                    self.finds(run, newer, cost)
                });
            }
            out.taken(&run.script);
            if let Err(stop) = result {
                // A limit of time or memory may strike anywhere.
                let is_over = matches!(stop, Stop::Cut(cut) if cut.is_final());
                return if is_new || is_over { Repeated::Stopped(stop) } else { Repeated::Differs };
            }
        }
        out.moves = moves;
        let noted = item.comes_to.filter(|_| !item.ends_in_choice());
        if let (Some(class), Some(mv), true) = (noted, last, run.script.telling().is_empty())
            && ![run.signature(), run.signature_of_trying(named(&mv).0)].contains(&Some(class.number))
        {
            return Repeated::Differs;
        }
        let is_new = last.is_none_or(|mv| self.has_come_to_something_new(run, &mv, item.cost, noted));
        if is_new { Repeated::There } else { Repeated::Known }
    }

    /// After a step before which another class was noted, or none: whether what follows has to be explored. Notes that it is.
    fn has_come_to_something_new(
        &self,
        run: &Execution<'_, '_, S>,
        mv: &Move,
        cost: u32,
        noted: Option<Class>,
    ) -> bool {
        let Move::Run(pick) = mv else { return true };
        if self.reached.is_none() {
            return true;
        }
        let class = run.signature().map(|number| self.class(number, run.last_step_of(pick.task)));
        class == noted || self.is_new(class, cost)
    }

    /// After several steps at once: notes what each came to, in their order, as is noted ahead of a step that is made by itself. What
    /// was noted of the last one, or behind how many steps the next one came to what is known.
    fn notes_what_it_passed(&self, run: &Execution<'_, '_, S>, noted: Option<Class>) -> Result<Option<Class>, u32> {
        let (Some(reached), [first, others @ ..]) = (&self.reached, run.passed()) else { return Ok(noted) };
        let (mut before, mut noted, mut reached) = (first, noted, reached.inner());
        for (next, steps) in others.iter().zip(1..) {
            // Who was alone and does not go on cannot.
            if next.task != before.task && self.context.options.bound == Bound::Preemptions {
                reached.free(before.number, run.cost);
            }
            let class = self.class(next.number, next.step);
            if !reached.insert(class, run.cost) {
                return Err(steps);
            }
            (before, noted) = (next, Some(class));
        }
        Ok(noted)
    }

    /// Runs on to the end, or to where all that can follow is being explored elsewhere.
    fn go_on(
        &self,
        bound: u32,
        moves: &mut Vec<Move>,
        run: &mut Execution<'_, '_, S>,
        out: &mut Findings,
    ) -> Option<Stop> {
        let options = self.context.options;
        loop {
            if run.steps() >= options.max_steps {
                return Some(Stop::Cut(Cut::Steps));
            }
            if let Some(persistent) = self.leaving()
                && (self.context.system.has_deadlines(&run.node.state)
                    || run.script.taken().iter().any(|taken| taken.other_ways().next().is_some()))
            {
                let mut items = Vec::new();
                persistent.give_up(&mut items);
                out.sort(items, bound);
            }
            self.context.moves(&run.node, moves);
            if options.bound == Bound::Delays && self.context.system.announces() {
                self.delay_in_no_circle(run, moves);
            }
            // To look at the clock costs less than to leave so many moves for later.
            let takes_long = moves.len() > 64 || self.context.system.was_slow(&run.node.state);
            if (takes_long || run.steps() % 256 == 255)
                && let Some(cut) = self.monitor.cut(options, || Some(Instant::now()))
            {
                return Some(Stop::Cut(cut));
            }
            // With a scheduler that picks one that waits there are delays even if nobody can go on.
            if moves.is_empty() && self.persistent.is_some() {
                run.look_at_the_rest();
            }
            if moves.is_empty() || options.scheduler != SchedulerKind::Bag && self.context.is_final(&run.node) {
                return self.end(run, out);
            }
            let last = self.context.last_among(&run.node, moves);
            if let (Last::Free, Some(reached), Bound::Preemptions) = (last, &self.reached, options.bound)
                && let Some(number) = run.signature()
            {
                reached.inner().free(number, run.cost);
            }
            if let (true, Last::Ran(last)) = (run.node.dispatcher.is_bag() && run.cost < bound, last) {
                goes_on_first(last, moves);
            }
            let leaving = self.leaving();
            let mut chosen: Option<(Move, u32, Option<Class>)> = None;
            if let Some(persistent) = leaving {
                chosen = self.one_of(persistent, (bound, last, moves), run, out);
                if let Some(history) = run.history() {
                    history.is_new = true;
                }
            }
            let before = out.left();
            for mv in moves.iter().filter(|_| leaving.is_none()) {
                let cost = run.cost + self.context.price(&run.node, last, mv);
                let class = self.comes_to(run, mv);
                if cost <= bound && chosen.is_none() {
                    if self.is_new(class, cost) {
                        chosen = Some((*mv, cost, class));
                    }
                } else if class.is_none_or(|c| self.reached.as_ref().is_none_or(|r| !r.is_beaten(c, cost))) {
                    out.leave(named(mv), cost, class, bound);
                }
            }
            let (mv, cost, noted) = chosen?;
            if out.left() > before {
                run.mark();
            }
            run.script.set(std::iter::empty());
            let before = run.steps();
            let result = match self.ahead(moves, run) {
                None => run.go_at(mv, cost),
                Some((plan, more)) => {
                    if self.reached.is_some() {
                        run.tells_what_it_passes();
                    }
                    run.go_ahead(mv, cost, more, plan).map(|_| ())
                }
            };
            let noted = self.notes_what_it_passed(run, noted);
            out.transitions += u64::from(noted.as_ref().err().copied().unwrap_or(run.steps() - before));
            let Ok(noted) = noted else {
                return result.err().filter(|stop| matches!(stop, Stop::Cut(cut) if cut.is_final()));
            };
            out.went(named(&mv));
            went_ahead(run, 0, bound, out);
            let deviation = self.context.price_of_deviation();
            out.others(&run.script, 0, Priced { cost: run.cost, deviation, bound }, |newer, cost| {
                self.finds(run, newer, cost)
            });
            out.taken(&run.script);
            out.depth = run.steps();
            if let Err(stop) = result {
                return Some(stop);
            }
            let last = run.passed().last().map_or(mv, |step| Move::Run(Pick { buffer: step.task, task: step.task }));
            if !self.has_come_to_something_new(run, &last, run.cost, noted) {
                return None;
            }
        }
    }

    /// To pass on to all in a circle costs more and leads to what was there before. Of models, whose executions are counted as in the
    /// paper, that is tried as well.
    fn delay_in_no_circle(&self, run: &Execution<'_, '_, S>, moves: &mut Vec<Move>) {
        if run.node.dispatcher.has_passed_all(run.delays(), &self.context.view(&run.node.state)) {
            moves.retain(|mv| matches!(mv, Move::Run(_)));
        }
    }

    /// Whether it is worth it to remember points from which others go on: where several steps may be repeated at once.
    fn marks(&self) -> bool {
        self.is_of_threads() && self.reached.is_none() && self.persistent.is_none()
    }

    /// Whether all tasks are threads, any of which may be next.
    fn is_of_threads(&self) -> bool {
        self.context.options.scheduler == SchedulerKind::Bag && !self.context.system.has_buffers()
    }

    /// Whether the first task that can go on does, because all are free and every execution is looked at.
    fn goes_on_freely(&self) -> bool {
        self.marks() && self.context.options.bound == Bound::None
    }

    /// By whom more steps may be made without asking, and how many: one that can go on alone, or, where every execution is looked at
    /// and nothing is bounded, the first that can go on.
    fn ahead(&self, moves: &[Move], run: &Execution<'_, '_, S>) -> Option<(Plan<'static>, u32)> {
        let is_free = self.goes_on_freely();
        if !self.is_of_threads() || self.persistent.is_some() || !is_free && moves.len() > 1 || !run.plans_ahead() {
            return None;
        }
        let more = room(run.steps(), self.context.options.max_steps);
        Some((if is_free { Plan::First } else { Plan::Alone }, more)).filter(|_| more > 0)
    }

    /// Nobody can go on.
    fn end(&self, run: &Execution<'_, '_, S>, out: &mut Findings) -> Option<Stop> {
        if !self.context.is_final(&run.node) {
            // The scheduler picks one that waits, and the bound does not allow to delay it.
            return None;
        }
        let is_complete = self.context.is_complete(&run.node);
        let (cost, steps, signature) = (run.cost, run.steps(), run.signature());
        (self.listener)(Complete { state: &run.node.state, cost, signature, is_complete, steps, taken: run.taken() });
        out.complete = signature;
        out.has_deadlines = self.may_begin_anew && self.context.system.has_deadlines(&run.node.state);
        (!is_complete && self.context.options.deadlock).then_some(Stop::Bug(Bug::Deadlock))
    }
}

/// Who ran last is tried before the others, which may cost something.
fn goes_on_first(last: BufferId, moves: &mut [Move]) {
    let goes_on = |mv: &Move| matches!(mv, Move::Run(pick) if pick.buffer == last);
    if let Some(number) = moves.iter().position(goes_on) {
        moves[..=number].rotate_right(1);
    }
}

/// Adds the steps of the last move after so many behind the first to the path, and what others could have done.
fn went_ahead<S: System>(run: &Execution<'_, '_, S>, mut known: u32, bound: u32, out: &mut Findings) {
    for made in run.went_ahead() {
        match *made {
            Made::Step { .. } if known > 0 => known -= 1,
            Made::Step { task, .. } => out.went((task, 1)),
            // It costs nothing.
            Made::Others(others) => {
                let others = (0..u64::BITS).filter(|task| others >> task & 1 == 1);
                others.for_each(|task| out.leave((task, 1), run.cost, None, bound));
            }
            Made::Untold(steps) => known -= steps,
            Made::Born(_) | Made::Finished(_) => {}
        }
    }
}

/// How it went to run a prefix.
enum Repeated {
    There,
    /// At its new end.
    Stopped(Stop),
    /// It did not behave as before.
    Differs,
    /// It has come to what is explored elsewhere.
    Known,
    /// It has stopped in steps of which nothing was told, because more would be made: it must be begun anew, and told of all.
    Untold,
}
