//! Stateless search that runs one execution for each happens-before relation, without a bound: dynamic partial order
//! reduction with source sets and sleep sets.
//!
//! Paper: Optimal Dynamic Partial Order Reduction (POPL 2014), section 5 (Source-DPOR).
//!
//! Deviations:
//! 1. Two steps depend on each other if their announced accesses conflict. That a step makes another possible (`unlock` and
//!    `lock`, `notify` and the end of a wait) is not a dependency. If none of the threads that could begin a reversed race
//!    can go on, all that can are added. The first step of the race may be what made the second possible; unless the
//!    second could have been taken at once in its place, the steps before that access the variable are looked at in turn.
//! 2. The outcomes of nondeterministic choices in a step are enumerated for each thread that is tried.
//! 3. A race whose reversal begins with a thread in the sleep set is left out: it was explored before (as in Optimal-DPOR).

use crate::dispatcher::Move;
use crate::execution::{Execution, Spare};
use crate::growth::Growth;
use crate::node::{Context, Script, Stop};
use crate::scheduler::Pick;
use crate::search::{Bug, Cut, Found, Monitor, Options, Outcome, Progress};
use crate::stateless::{Complete, Listener};
use crate::system::{Access, System, TaskId, end_of};
use fabius_trace::{LevelStats, Turn};
use hashbrown::HashMap;
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

/// Searches. Only for systems of threads that announce their accesses.
pub fn search<S: System>(
    system: &S,
    options: &Options,
    monitor: &Monitor<'_>,
    listener: Listener<'_, S::State>,
) -> Outcome {
    let context = Context { system, options, compare: None };
    let mut search = Search {
        frames: Vec::new(),
        spare: Vec::new(),
        start: Script::default(),
        listener,
        level: LevelStats::default(),
        signatures: HashSet::new(),
        growth: Growth::default(),
        limit: None,
    };
    let began = Instant::now();
    let mut reported = began;
    let mut memory = Memory::default();
    let mut bug = None;
    let mut cut = None;
    loop {
        if let Some(found) = search.execute(&context, &mut memory) {
            bug = Some(found);
            break;
        }
        search.growth.see(search.level.executions, search.signatures.len());
        let level = &search.level;
        if level.executions.is_multiple_of(64) && reported.elapsed() > Duration::from_millis(200) {
            reported = Instant::now();
            (monitor.progress)(&Progress {
                executions: level.executions,
                transitions: level.transitions,
                depth: search.frames.len() as u32,
                elapsed: began.elapsed(),
                ..Progress::default()
            });
        }
        if !search.backtrack() {
            break;
        }
        cut = if monitor.stop.load(Ordering::Relaxed) {
            Some(Cut::Interrupted)
        } else if options.deadline.is_some_and(|d| Instant::now() >= d) {
            Some(Cut::Time)
        } else if options.executions.is_some_and(|most| search.level.executions >= most) {
            Some(Cut::Executions)
        } else {
            None
        };
        if cut.is_some() {
            break;
        }
    }
    let cut = cut.or(search.limit);
    search.level.states = search.signatures.len() as u64;
    Outcome {
        exhausted: bug.is_none() && cut.is_none(),
        completed: (bug.is_none() && cut.is_none()).then_some(0),
        cut: if bug.is_some() { None } else { cut },
        bug,
        finals: search.level.executions,
        growth: search.growth.end(search.level.executions, search.signatures.len()),
        levels: vec![search.level],
        memory: 0,
    }
}

/// Memory for the next execution.
#[derive(Default)]
struct Memory {
    moves: Vec<Move>,
    script: Script,
    spare: Spare,
    order: Order,
}

/// A dispatch point of the current execution, and the step that was taken there.
#[derive(Default)]
struct Frame {
    /// Who can go on, and what they access.
    ready: Vec<(TaskId, Option<Access>)>,
    /// Whose steps were explored before, and commute with all since.
    sleep: Vec<TaskId>,
    /// Who has to be tried.
    backtrack: Vec<TaskId>,
    /// Who has been.
    done: Vec<TaskId>,
    chosen: TaskId,
    /// The outcomes of choices in the step.
    script: Script,
    /// What the step accessed.
    access: Option<Access>,
    /// How many steps of each thread come before it, itself included.
    clock: Vec<u32>,
}

impl Frame {
    /// Back to nothing, with its memory.
    fn clear(&mut self) {
        self.ready.clear();
        [&mut self.sleep, &mut self.backtrack, &mut self.done].into_iter().for_each(Vec::clear);
        self.script.restart();
        self.access = None;
        self.clock.clear();
    }

    fn access_of(&self, task: TaskId) -> Option<Access> {
        self.ready.iter().find(|(t, _)| *t == task).and_then(|(_, access)| *access)
    }

    fn is_ready(&self, task: TaskId) -> bool {
        self.ready.iter().any(|(t, _)| *t == task)
    }

    /// Whether the step of an earlier frame comes before this one's.
    fn is_after(&self, earlier: &Frame) -> bool {
        at(&self.clock, earlier.chosen) >= at(&earlier.clock, earlier.chosen)
    }
}

fn at(clock: &[u32], task: TaskId) -> u32 {
    clock.get(task as usize).copied().unwrap_or(0)
}

fn join(clock: &mut Vec<u32>, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    clock.iter_mut().zip(other).for_each(|(mine, other)| *mine = (*mine).max(*other));
}

fn conflict(a: Option<Access>, b: Option<Access>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a.variable == b.variable && (a.write || b.write))
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

struct Search<'a, T> {
    frames: Vec<Frame>,
    /// Frames that are not in use.
    spare: Vec<Frame>,
    /// Choices before the first dispatch point.
    start: Script,
    listener: Listener<'a, T>,
    level: LevelStats,
    signatures: HashSet<u128>,
    growth: Growth,
    limit: Option<Cut>,
}

impl<T> Search<'_, T> {
    /// Runs one execution: the steps of the frames, and then on.
    fn execute<S: System<State = T>>(&mut self, context: &Context<'_, S>, memory: &mut Memory) -> Option<Found> {
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
            let born = run.born();
            let result = run.go_at(Move::Run(Pick { buffer: task, task }), 0);
            frame.script = std::mem::take(&mut run.script);
            frame.access = before;
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
        let is_complete = run.node.dispatcher.is_empty();
        let (steps, signature) = (run.steps(), run.signature());
        (self.listener)(Complete {
            state: &run.node.state,
            cost: 0,
            signature,
            is_complete,
            steps,
            taken: run.taken(),
        });
        self.signatures.insert(signature);
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
        if let Some(parent) = self.frames.last() {
            let asleep = parent.sleep.iter().chain(&parent.done).copied();
            let stays = |t: &TaskId| *t != parent.chosen && !conflict(parent.access, parent.access_of(*t));
            frame.sleep.extend(asleep.filter(stays));
            last = Some(parent.chosen);
        }
        let awake = |t: &TaskId| !frame.sleep.contains(t);
        let go_on = last.filter(|t| frame.is_ready(*t) && awake(t));
        let Some(chosen) = go_on.or_else(|| frame.ready.iter().map(|(t, _)| *t).find(awake)) else {
            self.spare.push(frame);
            return false;
        };
        frame.backtrack.push(chosen);
        frame.chosen = chosen;
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
        if !is_new {
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
            if !immediate || self.race(*j, depth) {
                continue;
            }
            // The step may have made this one possible: what about those before it?
            for earlier in history.iter().rev().filter(|e| *e < j) {
                let frame = &self.frames[*earlier];
                if at(&mine, frame.chosen) >= at(&frame.clock, frame.chosen) {
                    break;
                }
                if conflict(frame.access, access) && self.race(*earlier, depth) {
                    break;
                }
            }
        }
        history.push(depth);
    }

    /// The steps of two frames race: some thread has to be tried at the first that leads to the other order. Says whether
    /// it is certain that there is another order.
    fn race(&mut self, first: usize, second: usize) -> bool {
        // The steps in between that do not come after the first, and then the second.
        let (head, tail) = self.frames.split_at(first + 1);
        let earlier = &head[first];
        let mut others: Vec<&Frame> = Vec::new();
        let mut initials: Vec<TaskId> = Vec::new();
        for (number, frame) in tail[..second - first].iter().enumerate() {
            let is_last = first + 1 + number == second;
            if !is_last && frame.is_after(earlier) {
                continue;
            }
            let is_first_of_thread = others.iter().all(|o| o.chosen != frame.chosen);
            // The second step comes after the first, but in the other order it does not.
            if is_first_of_thread && others.iter().all(|o| !frame.is_after(o)) {
                initials.push(frame.chosen);
            }
            others.push(frame);
        }
        let alone = others.len() == 1;
        let earlier = &mut self.frames[first];
        let known = |t: &TaskId| earlier.backtrack.contains(t) || earlier.sleep.contains(t);
        if alone && !earlier.is_ready(initials[0]) {
            return false;
        }
        if initials.iter().any(known) {
            return alone;
        }
        if let Some(task) = initials.iter().rev().copied().find(|t| earlier.is_ready(*t)) {
            earlier.backtrack.push(task);
        } else {
            let all: Vec<TaskId> = earlier.ready.iter().map(|(t, _)| *t).filter(|t| !known(t)).collect();
            earlier.backtrack.extend(all);
        }
        alone
    }

    /// Goes back to the last frame where something is left to be tried.
    fn backtrack(&mut self) -> bool {
        while let Some(frame) = self.frames.last_mut() {
            if frame.script.advance() {
                return true;
            }
            let chosen = frame.chosen;
            frame.done.push(chosen);
            let left = |t: &TaskId| !frame.done.contains(t) && !frame.sleep.contains(t);
            if let Some(next) = frame.backtrack.iter().copied().find(left) {
                frame.chosen = next;
                frame.script = Script::default();
                return true;
            }
            self.spare.extend(self.frames.pop());
        }
        self.start.advance()
    }
}
