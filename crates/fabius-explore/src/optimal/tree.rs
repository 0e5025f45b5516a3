//! The tree of executions that optimal dynamic partial order reduction has run, and what is left to be tried at each of its
//! points: wakeup trees and sleep sets.
//!
//! Paper: Optimal Dynamic Partial Order Reduction (POPL 2014), section 6 (Optimal-DPOR).
//!
//! Deviations:
//! 1. Two steps depend on each other if their announced accesses conflict. That a step makes another possible (`unlock` and
//!    `lock`, `notify` and the end of a wait) is not a dependency. If none of the threads that could begin a reversed race
//!    can go on, all that can are added, and so where a step of a wakeup tree cannot be made. The first step of the race may be
//!    what made the second possible; unless the second could have been taken at once in its place, the steps before that
//!    access the variable are looked at in turn.
//! 2. The outcomes of nondeterministic choices in a step are enumerated for each thread that is tried.
//! 3. Whether an access writes may depend on the state: an exchange that fails is a read. The last step of a reversed race comes
//!    to another state than it was seen in; there it counts as a write.
//! 4. Where threads sleep and no wakeup tree says what is to be tried, that is found out by source sets (section 5), from there
//!    to the end: what sleeps may be left out only for sequences that are seen whole. On straight-line programs that does not
//!    happen; where deviations 1 and 2 cut a sequence, it does.
//! 5. Where source sets decide, only races whose second step is new in an execution are reversed: the others were before, with the
//!    same steps. Elsewhere what follows the second step matters, too, and all races of each execution are reversed.

use crate::dispatcher::Move;
use crate::execution::Execution;
use crate::growth::Growth;
use crate::kept::Spare;
use crate::node::{Context, Script, Stop};
use crate::scheduler::Pick;
use crate::search::{Bug, Cut, Found};
use crate::stateless::{Complete, Listener};
use crate::system::{Access, System, TaskId, end_of};
use crate::wakeup::{self, Here, Step, Tree, at, conflict};
use fabius_trace::{LevelStats, Turn};
use hashbrown::HashMap;
use std::collections::HashSet;
use std::time::Instant;
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

/// Memory for the next execution.
#[derive(Default)]
pub(super) struct Memory {
    moves: Vec<Move>,
    script: Script,
    spare: Spare,
    order: Order,
}

/// A dispatch point of the current execution, and the step that was taken there.
#[derive(Default)]
pub(super) struct Frame {
    /// Who can go on, and what they access.
    ready: Vec<(TaskId, Option<Access>)>,
    /// Whose steps were explored before, and commute with all since.
    sleep: Vec<TaskId>,
    /// What else has to be tried.
    to_try: Tree,
    /// Whose steps have been tried here.
    done: Vec<TaskId>,
    chosen: TaskId,
    /// What has to be tried behind the chosen step; all, if that is nothing.
    rest: Tree,
    /// How many tasks there are.
    tasks: u32,
    /// The highest number of a variable that has been announced.
    variables: u64,
    /// Whether what is tried here is found out by source sets: see deviation 4.
    by_sources: bool,
    /// The outcomes of choices in the step.
    script: Script,
    /// What the step accessed.
    access: Option<Access>,
    /// Whether that it writes or does not depends on the state.
    may_fail: bool,
    /// How many steps of each thread come before it, itself included.
    clock: Vec<u32>,
    /// The earlier frames with whose steps this one's races.
    races_with: Vec<usize>,
}

impl Frame {
    /// Back to nothing, with its memory.
    fn clear(&mut self) {
        self.ready.clear();
        [&mut self.sleep, &mut self.done].into_iter().for_each(Vec::clear);
        [&mut self.to_try, &mut self.rest].into_iter().for_each(Tree::clear);
        self.script.restart();
        self.access = None;
        (self.variables, self.by_sources) = (0, false);
        self.clock.clear();
        self.races_with.clear();
    }

    fn access_of(&self, task: TaskId) -> Option<Access> {
        self.ready(task).flatten()
    }

    fn is_ready(&self, task: TaskId) -> bool {
        self.ready(task).is_some()
    }

    /// Whether it is one of the numbers of variables, and not of the ends of threads.
    fn is_variable(number: u64) -> bool {
        number & end_of(0) == 0
    }

    fn was_tried(&self, task: TaskId) -> bool {
        self.done.contains(&task) || self.sleep.contains(&task)
    }

    /// All that can go on has to be tried.
    fn try_all(&mut self) {
        for n in 0..self.ready.len() {
            let (task, access) = self.ready[n];
            if !self.was_tried(task) {
                self.to_try.add(task, access);
            }
        }
    }

    /// One of these has to be tried, unless one is. Says whether one can go on.
    fn try_one_of(&mut self, tasks: &[TaskId]) -> bool {
        if tasks.iter().any(|t| self.was_tried(*t) || self.to_try.begins_with(*t)) {
            return true;
        }
        let Some(task) = tasks.iter().rev().copied().find(|t| self.is_ready(*t)) else { return false };
        self.to_try.add(task, self.access_of(task));
        true
    }

    /// The sequence has to be tried, unless something is that comes to the same. Says whether it can begin.
    fn try_sequence(&mut self, steps: Vec<Step<'_>>) -> bool {
        let mut tried = self.sleep.iter().chain(&self.done).filter_map(|task| Some((*task, self.ready(*task)?)));
        if tried.any(|(task, access)| wakeup::first(&steps, task, access).is_some()) {
            return true;
        }
        let mut tree = std::mem::take(&mut self.to_try);
        let is_there = tree.insert(steps, self);
        self.to_try = tree;
        is_there
    }

    /// Takes what has to be tried next. Says whether there is anything.
    fn next(&mut self) -> bool {
        while let Some((task, rest)) = self.to_try.take_first() {
            if !self.is_ready(task) {
                self.try_all();
            } else if !self.was_tried(task) {
                (self.chosen, self.rest) = (task, rest);
                self.script = Script::default();
                return true;
            }
        }
        false
    }

    /// Whether the step of an earlier frame comes before this one's.
    fn is_after(&self, earlier: &Frame) -> bool {
        at(&self.clock, earlier.chosen) >= at(&earlier.clock, earlier.chosen)
    }
}

impl Here for Frame {
    fn ready(&self, task: TaskId) -> Option<Option<Access>> {
        self.ready.iter().find(|(t, _)| *t == task).map(|(_, access)| *access)
    }

    fn knows(&self, variable: u64) -> bool {
        if Frame::is_variable(variable) {
            variable <= self.variables
        } else {
            variable & !end_of(0) < u64::from(self.tasks)
        }
    }
}

fn join(clock: &mut Vec<u32>, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    clock.iter_mut().zip(other).for_each(|(mine, other)| *mine = (*mine).max(*other));
}

/// What orders the next steps of one execution.
#[derive(Default)]
struct Order {
    /// For each thread what comes before its next step.
    threads: Vec<Vec<u32>>,
    /// For each variable the frames that accessed it.
    variables: HashMap<u64, Vec<usize>, Xxh3DefaultBuilder>,
}

impl Order {
    /// Back to the beginning, with its memory.
    fn clear(&mut self) {
        self.threads.iter_mut().for_each(Vec::clear);
        self.variables.values_mut().for_each(Vec::clear);
    }
}

/// The path of the last execution, what is left to be tried along it, and what all executions have shown.
pub(super) struct Explored<'a, T> {
    pub frames: Vec<Frame>,
    /// Frames that are not in use.
    spare: Vec<Frame>,
    /// Choices before the first dispatch point.
    start: Script,
    listener: Listener<'a, T>,
    pub level: LevelStats,
    pub signatures: HashSet<u128>,
    pub growth: Growth,
    pub limit: Option<Cut>,
}

impl<'a, T> Explored<'a, T> {
    /// Nothing yet.
    pub fn new(listener: Listener<'a, T>) -> Explored<'a, T> {
        Explored {
            frames: Vec::new(),
            spare: Vec::new(),
            start: Script::default(),
            listener,
            level: LevelStats::default(),
            signatures: HashSet::new(),
            growth: Growth::default(),
            limit: None,
        }
    }

    /// Runs one execution: the steps of the frames, and then on.
    pub fn execute<S: System<State = T>>(&mut self, context: &Context<'_, S>, memory: &mut Memory) -> Option<Found> {
        self.level.executions += 1;
        let mut start = std::mem::take(&mut self.start);
        start.rewind();
        let mut run = match Execution::begin_with(context, start, std::mem::take(&mut memory.spare)) {
            Ok(run) => run,
            Err((stop, script)) => {
                let turn = Turn { task: Turn::START, choices: script.choices() };
                self.start = script;
                let found = Found { what: Bug::Deadlock, cost: 0, schedule: vec![turn], delays: vec![0], cycle: None };
                return self.stopped(stop, || found);
            }
        };
        self.start = std::mem::replace(&mut run.script, std::mem::take(&mut memory.script));
        let mut order = std::mem::take(&mut memory.order);
        order.clear();
        let mut depth = 0;
        loop {
            if depth == self.frames.len() {
                if depth as u32 >= context.options.max_steps {
                    self.limit = self.limit.or(Some(Cut::Steps));
                    break;
                }
                if depth % 256 == 255 && context.options.deadline.is_some_and(|d| Instant::now() >= d) {
                    self.limit = self.limit.or(Some(Cut::Time));
                    break;
                }
                context.moves(&run.node, &mut memory.moves);
                if memory.moves.is_empty() {
                    if let Some(stop) = self.end(context, &run) {
                        return self.stopped(stop, || run.found(Bug::Deadlock));
                    }
                    break;
                }
                if !self.extend(&memory.moves, &run) {
                    break;
                }
            } else if !self.frames[depth].is_ready(self.frames[depth].chosen)
                || !run.exists(self.frames[depth].chosen)
                || !context.system.ready(&run.node.state, self.frames[depth].chosen)
            {
                self.limit = self.limit.or(Some(Cut::Nondeterminism));
                self.frames.truncate(depth);
                break;
            }
            let is_new = depth + 1 == self.frames.len();
            let frame = &mut self.frames[depth];
            let task = frame.chosen;
            frame.script.rewind();
            run.script = std::mem::take(&mut frame.script);
            let before = context.system.next_access(&run.node.state, task);
            let may_fail = context.system.next_may_fail(&run.node.state, task);
            let born = run.born();
            let result = run.go_at(Move::Run(Pick { buffer: task, task }), 0);
            frame.script = std::mem::take(&mut run.script);
            (frame.access, frame.may_fail, frame.tasks) = (before, may_fail, born);
            self.level.transitions += u64::from(is_new);
            self.happened(depth, &mut order, born..run.born(), is_new);
            depth += 1;
            if let Err(stop) = result {
                return self.stopped(stop, || run.found(Bug::Deadlock));
            }
        }
        (memory.script, memory.spare) = run.into_spare();
        memory.order = order;
        None
    }

    fn stopped(&mut self, stop: Stop, found: impl FnOnce() -> Found) -> Option<Found> {
        match stop {
            Stop::Bug(what) => Some(Found { what, ..found() }),
            Stop::Cut(cut) => {
                self.limit = self.limit.or(Some(cut));
                None
            }
            Stop::Dropped => None,
        }
    }

    fn end<S: System<State = T>>(&mut self, context: &Context<'_, S>, run: &Execution<'_, '_, S>) -> Option<Stop> {
        let is_complete = context.is_complete(&run.node);
        let (steps, signature) = (run.steps(), run.signature());
        (self.listener)(Complete {
            state: &run.node.state,
            cost: 0,
            signature,
            is_complete,
            steps,
            taken: run.taken(),
        });
        self.signatures.extend(signature);
        (!is_complete && context.options.deadlock).then_some(Stop::Bug(Bug::Deadlock))
    }

    /// A new frame, unless all that can go on is asleep.
    fn extend<S: System<State = T>>(&mut self, moves: &[Move], run: &Execution<'_, '_, S>) -> bool {
        let tasks = moves.iter().filter_map(|m| match m {
            Move::Run(pick) => Some(pick.task),
            Move::Delay(_) => None,
        });
        let mut frame = self.spare.pop().unwrap_or_default();
        frame.clear();
        frame.ready.extend(tasks.map(|task| (task, run.announced(task))));
        let mut last = None;
        if let Some(parent) = self.frames.last_mut() {
            let rest = std::mem::take(&mut parent.rest);
            let asleep = parent.sleep.iter().chain(&parent.done).copied();
            let stays = |t: &TaskId| *t != parent.chosen && !conflict(parent.access, parent.access_of(*t));
            frame.sleep.extend(asleep.filter(stays));
            frame.by_sources = parent.by_sources;
            frame.to_try = rest;
            frame.variables = parent.variables;
            last = Some(parent.chosen);
        }
        let announced = frame.ready.iter().filter_map(|(_, access)| access.map(|a| a.variable));
        frame.variables = announced.filter(|v| Frame::is_variable(*v)).fold(frame.variables, u64::max);
        if !frame.next() {
            let awake = |t: &TaskId| !frame.sleep.contains(t);
            let go_on = last.filter(|t| frame.is_ready(*t) && awake(t));
            let Some(chosen) = go_on.or_else(|| frame.ready.iter().map(|(t, _)| *t).find(awake)) else {
                self.spare.push(frame);
                return false;
            };
            frame.chosen = chosen;
            frame.by_sources |= !frame.sleep.is_empty();
        }
        self.frames.push(frame);
        true
    }

    /// The step of a frame was taken: what comes before it, and, if it is new, which races it ends.
    fn happened(&mut self, depth: usize, order: &mut Order, born: std::ops::Range<u32>, is_new: bool) {
        let (task, access) = (self.frames[depth].chosen, self.frames[depth].access);
        let me = task as usize;
        if order.threads.len() <= me.max(born.end as usize) {
            order.threads.resize(me.max(born.end as usize) + 1, Vec::new());
        }
        if is_new {
            self.frames[depth].races_with.clear();
        } else {
            // As the last time.
            let clock = &self.frames[depth].clock;
            born.for_each(|child| order.threads[child as usize].clone_from(clock));
            order.threads[me].clone_from(clock);
            if let Some(access) = access {
                order.variables.entry(access.variable).or_default().push(depth);
            }
            return;
        }
        let mut clock = std::mem::take(&mut order.threads[me]);
        let mut before = Vec::new();
        let mut nothing = Vec::new();
        let mut history = &mut nothing;
        if let Some(access) = access {
            if access.variable & end_of(0) != 0 && !access.write {
                // A thread that has ended: its last step.
                let ended = (access.variable & !end_of(0)) as usize;
                if let Some(ended) = order.threads.get(ended) {
                    join(&mut clock, ended);
                }
            }
            history = order.variables.entry(access.variable).or_default();
            // Back to the last that wrote, which is after all before it.
            for j in history.iter().rev() {
                let writes = self.frames[*j].access.is_some_and(|a| a.write);
                if access.write || writes {
                    before.push(*j);
                }
                if writes {
                    break;
                }
            }
        }
        let frames = &self.frames;
        let unordered = |j: &usize| at(&clock, frames[*j].chosen) < at(&frames[*j].clock, frames[*j].chosen);
        let racing: Vec<usize> = before.iter().copied().filter(|j| unordered(j)).collect();
        // What came before without them is needed only where they race.
        let mine = if racing.is_empty() { Vec::new() } else { clock.clone() };
        for j in &before {
            join(&mut clock, &frames[*j].clock);
        }
        if clock.len() <= me {
            clock.resize(me + 1, 0);
        }
        clock[me] += 1;
        for child in born {
            order.threads[child as usize].clone_from(&clock);
        }
        self.frames[depth].clock.clone_from(&clock);
        order.threads[me] = clock;
        for j in &racing {
            let immediate = !racing.iter().any(|k| k > j && self.frames[*k].is_after(&self.frames[*j]));
            if !immediate || self.is_race(*j, depth) {
                continue;
            }
            // The step may have made this one possible: what about those before it?
            for earlier in history.iter().rev().filter(|e| *e < j) {
                let frame = &self.frames[*earlier];
                if at(&mine, frame.chosen) >= at(&frame.clock, frame.chosen) {
                    // Who writes comes after all before it; who reads may not.
                    if frame.access.is_some_and(|a| a.write) {
                        break;
                    }
                    continue;
                }
                if conflict(frame.access, access) && self.is_race(*earlier, depth) {
                    break;
                }
            }
        }
        history.push(depth);
    }

    /// Notes that the steps of two frames race. Says whether it is certain that there is another order.
    fn is_race(&mut self, first: usize, second: usize) -> bool {
        let earlier = &self.frames[first];
        let alone = self.frames[first + 1..second].iter().all(|frame| frame.is_after(earlier));
        if alone && !earlier.is_ready(self.frames[second].chosen) {
            return false;
        }
        self.frames[second].races_with.push(first);
        alone
    }

    /// Has the other order of each race tried, unless it was. So many steps are as in the execution before.
    pub fn reverse_races(&mut self, old: usize) {
        for second in 0..self.frames.len() {
            for n in 0..self.frames[second].races_with.len() {
                let first = self.frames[second].races_with[n];
                if second >= old || !self.frames[first].by_sources {
                    self.reverse(first, second);
                }
            }
        }
    }

    /// What does not come after the first step, and then the second, has to be tried in place of the first.
    fn reverse(&mut self, first: usize, second: usize) {
        let (head, tail) = self.frames.split_at_mut(first + 1);
        let earlier = &mut head[first];
        let second = second - (first + 1);
        let end = if earlier.by_sources { second } else { tail.len() };
        let others = (0..end).filter(|n| *n != second && !tail[*n].is_after(earlier));
        let mut is_certain = true;
        let mut steps = Vec::new();
        for n in others.chain([second]) {
            let frame = &tail[n];
            let fails = n == second && frame.may_fail;
            let access = frame.access.map(|access| Access { write: access.write || fails, ..access });
            is_certain &= frame.chosen < earlier.tasks;
            steps.push(Step { task: frame.chosen, access, clock: &frame.clock, is_certain });
            is_certain &= frame.script.taken().is_empty();
        }
        let is_there = if earlier.by_sources {
            earlier.try_one_of(&wakeup::initials(&steps))
        } else {
            earlier.try_sequence(steps)
        };
        if !is_there {
            earlier.try_all();
        }
    }

    /// Goes back to the last frame where something is left to be tried.
    pub fn backtrack(&mut self) -> bool {
        while let Some(frame) = self.frames.last_mut() {
            if frame.script.advance() {
                return true;
            }
            frame.done.push(frame.chosen);
            if frame.next() {
                return true;
            }
            self.spare.extend(self.frames.pop());
        }
        self.start.advance()
    }
}
