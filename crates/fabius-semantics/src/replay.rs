//! Replay: runs a schedule by the rules, says what each step does, and where a schedule departs from the rules.
//!
//! Length: one walk along a schedule; what it checks and what it tells are the two halves of each step.

use crate::config::{Config, Whereabouts};
use crate::rules::{Note, may_dispatch};
use crate::run::{is_ready, next_statement};
use crate::show::{Names, Variables, one_line, values_in};
use crate::system::Reference;
use crate::value::TaskId;
use fabius_explore::links::Links;
use fabius_explore::race::{Conflict, Detector, Race, Runner};
use fabius_explore::system::{BufferId, Choose, DECLARED_BUFFER, End, Fault, Snapshot, StepLog, System};
use fabius_lang::program::{Base, Place, Program, Stmt, StmtKind, Type};
use fabius_trace::{
    Action, After, Bound, BugKind, ErrorTrace, Lane, Mark, Points, ProgramId, Schedule, SchedulerKind, Span, Step,
    TRACE_VERSION, Turn, WIDE_PARTS, wide_of_parts,
};
use std::collections::BTreeSet;

/// What a schedule is replayed with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Scheduling points.
    pub points: Points,
    /// What the cost counts.
    pub bound: Bound,
    /// The scheduler that delays refer to.
    pub scheduler: SchedulerKind,
    /// The cost, as the engine says.
    pub cost: u32,
    /// Delays just before each turn; may be empty.
    pub delays: Vec<u32>,
    /// What is claimed to happen at the end.
    pub ending: Ending,
}

/// What is claimed to happen at the end of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The last turn goes wrong.
    Fault,
    /// Nobody can go on.
    Deadlock,
    /// The last turn makes an access that nothing orders with an earlier one.
    Race,
    /// From this turn on the schedule is a cycle without progress.
    Livelock(usize),
}

/// Where a schedule departs from the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The turn, from 0.
    pub turn: usize,
    /// Which rule it breaks, in a sentence.
    pub reason: String,
}

/// Replays a schedule.
///
/// # Errors
/// [`Departure`].
pub fn replay(
    program: &Program,
    id: &ProgramId,
    schedule: &Schedule,
    settings: &Settings,
) -> Result<ErrorTrace, Departure> {
    let reference = Reference::new(program, settings.points);
    // Once to learn how many lanes of each name there are, once to tell.
    let names = Names::default();
    let mut scout = Replay::new(&reference, settings, names);
    let _ = scout.run(schedule);
    let mut replay = Replay::new(&reference, settings, scout.names.counted());
    let (kind, message, span) = replay.run(schedule)?;
    let name = |variable| Some(Variables::of(program).name_of(&reference.layout, variable));
    let links = std::mem::take(&mut replay.links).finish(replay.race.as_ref(), name);
    Ok(ErrorTrace {
        version: TRACE_VERSION,
        data_points: Vec::new(),
        program: id.clone(),
        kind,
        message,
        span,
        bound: settings.bound,
        cost: settings.cost,
        scheduler: settings.scheduler,
        points: settings.points,
        cycle: match settings.ending {
            Ending::Livelock(turn) => Some(turn as u32),
            Ending::Fault | Ending::Deadlock | Ending::Race => None,
        },
        lanes: replay.names.lanes(),
        steps: replay.steps,
        links,
    })
}

/// What a schedule does, with no claim about what is then; the last step may go wrong.
///
/// # Errors
/// [`Departure`].
pub fn steps(program: &Program, schedule: &Schedule, settings: &Settings) -> Result<(Vec<Lane>, Vec<Step>), Departure> {
    let reference = Reference::new(program, settings.points);
    let mut replay = Replay::new(&reference, settings, Names::default());
    match replay.run(schedule) {
        Err(departure) if replay.steps.len() < schedule.len() => Err(departure),
        _ => Ok((replay.names.lanes(), replay.steps)),
    }
}

struct Replay<'a> {
    reference: &'a Reference,
    program: &'a Program,
    settings: &'a Settings,
    names: Names,
    steps: Vec<Step>,
    /// Tasks by the number of their creation; `None` once finished.
    tasks: Vec<Option<TaskId>>,
    detector: Option<Detector>,
    /// The race that it has found.
    race: Option<Race>,
    links: Links,
    /// The cycle of a livelock, once it has begun.
    cycle: Option<Cycle>,
    /// Who ran last, and how the step ended.
    last: Option<(BufferId, TaskId, End)>,
}

/// What is known of a cycle.
struct Cycle {
    /// The encoded configuration that it begins with.
    begins: Vec<u8>,
    /// The buffer that has control there.
    in_control: Option<BufferId>,
    /// Whether it passes a progress mark.
    progress: bool,
    /// Buffers that make a step in it.
    steps: BTreeSet<BufferId>,
    /// Buffers that could go on in each of its configurations.
    always_ready: BTreeSet<BufferId>,
}

/// Decides as a turn says.
struct Given<'a> {
    choices: &'a [u32],
    next: usize,
    wrong: Option<String>,
}

impl Choose for Given<'_> {
    fn choose(&mut self, alternatives: u32) -> u32 {
        let chosen = self.choices.get(self.next).copied();
        self.next += 1;
        match chosen {
            Some(c) if c < alternatives => c,
            Some(c) => {
                self.wrong.get_or_insert(format!("choice {c} is not one of {alternatives} alternatives"));
                0
            }
            None => {
                self.wrong.get_or_insert(format!("a choice of {alternatives} alternatives is not in the schedule"));
                0
            }
        }
    }

    fn choose_wide(&mut self, most: u64) -> Option<u64> {
        let parts = self.choices.get(self.next..self.next + WIDE_PARTS);
        self.next += WIDE_PARTS;
        let chosen = parts.map(wide_of_parts).filter(|choice| *choice <= most);
        if chosen.is_none() {
            self.wrong.get_or_insert(format!("a choice of {most} and one alternatives is not in the schedule"));
        }
        Some(chosen.unwrap_or(0))
    }
}

impl<'a> Replay<'a> {
    fn new(reference: &'a Reference, settings: &'a Settings, names: Names) -> Self {
        Replay {
            reference,
            program: &reference.program,
            settings,
            names,
            steps: Vec::new(),
            tasks: Vec::new(),
            detector: (settings.ending == Ending::Race).then(|| Detector::new(Conflict::ReadWrite)),
            race: None,
            links: Links::default(),
            cycle: None,
            last: None,
        }
    }

    fn run(&mut self, schedule: &Schedule) -> Result<(BugKind, String, Span), Departure> {
        let (start, turns) = match schedule.split_first() {
            Some((first, rest)) if first.task == Turn::START => (first.choices.as_slice(), rest),
            _ => (&[][..], schedule.as_slice()),
        };
        let offset = schedule.len() - turns.len();
        let departs = |turn: usize, reason: String| Err(Departure { turn, reason });
        let mut log = StepLog { want_accesses: true, ..StepLog::default() };
        let mut given = Given { choices: start, next: 0, wrong: None };
        let mut teller = Teller::new(self.program, self.names.clone());
        let initial = self.reference.observed_initial(&mut given, &mut log, &mut teller);
        if let Some(wrong) = given.wrong {
            return departs(0, wrong);
        }
        if given.next < start.len() {
            return departs(0, format!("{} choices are left over", start.len() - given.next));
        }
        let mut config = match initial {
            Ok(Some(config)) => config,
            Ok(None) => return departs(0, "an assumption fails before the first step".into()),
            Err(fault) => {
                let told = self.fault(fault, &teller, 0)?;
                self.names = teller.names;
                if self.names.lanes().is_empty() {
                    self.names.thread(0, "init");
                }
                self.steps.push(start_step(start, teller.actions));
                return match (turns.is_empty(), self.settings.ending) {
                    (true, Ending::Fault) => Ok(told),
                    (true, _) => departs(0, format!("{}, which is not what the trace claims", told.1)),
                    (false, _) => departs(0, format!("{}, but the schedule goes on", told.1)),
                };
            }
        };
        self.names = teller.names;
        self.names.refresh(self.program, &config);
        self.born(&config, &log, None);
        if offset > 0 {
            self.steps.push(start_step(start, teller.actions));
        }
        for (i, turn) in turns.iter().enumerate() {
            let number = i + offset;
            if self.settings.ending == Ending::Livelock(number) {
                self.cycle = Some(Cycle {
                    begins: self.encoded(&config),
                    in_control: self.in_control(&config),
                    progress: false,
                    steps: BTreeSet::new(),
                    always_ready: config.buffers.keys().copied().collect(),
                });
            }
            let task = match self.tasks.get(turn.task as usize) {
                Some(Some(task)) => *task,
                Some(None) => return departs(number, format!("task {} has finished", turn.task)),
                None => return departs(number, format!("there is no task {} yet", turn.task)),
            };
            if let Some(reason) = self.may_not_run(&config, task) {
                return departs(number, reason);
            }
            let (n, _) = config.task(task).expect("unfinished tasks are somewhere");
            let mark = self.mark(&config, n, number);
            let ready: BTreeSet<BufferId> = match self.cycle {
                Some(_) => {
                    config.tasks().filter(|(_, t)| self.may_not_run(&config, t.id).is_none()).map(|(n, _)| n).collect()
                }
                None => BTreeSet::new(),
            };
            let mut given = Given { choices: &turn.choices, next: 0, wrong: None };
            let lane = self.names.lane(n);
            let task_name = self.names.task_name(n, task);
            let level = config.task(task).filter(|_| self.program.levels.len() > 1).map(|(_, t)| t.level);
            let level = level.map(|level| self.program.levels[usize::from(level)].clone());
            log.clear();
            // Lent, not copied: a long execution has many names.
            let mut teller = Teller::new(self.program, std::mem::take(&mut self.names));
            let result = self.reference.observed_step(&mut config, task, &mut given, &mut log, &mut teller);
            self.names = std::mem::take(&mut teller.names);
            if let Some(wrong) = given.wrong {
                return departs(number, wrong);
            }
            if given.next < turn.choices.len() {
                return departs(number, format!("{} choices are left over", turn.choices.len() - given.next));
            }
            if let Some(cycle) = &mut self.cycle {
                cycle.progress |= log.progress;
                cycle.steps.insert(n);
                cycle.always_ready.retain(|n| ready.contains(n));
            }
            let told = match result {
                Ok(_) => None,
                Err(fault) => Some(self.fault(fault, &teller, number)?),
            };
            self.links.step(number as u32, Runner { task, buffer: n }, &log);
            let after = match &result {
                Ok(End::Finished) => Some(After::Finished),
                Ok(End::Dropped | End::Interrupted) | Err(_) => None,
                Ok(_) => (!self.reference.ready(&config, task)).then_some(After::Waits),
            };
            let turn = turn.clone();
            self.steps.push(Step { turn, lane, task_name, mark, level, actions: teller.actions, after });
            let last = i + 1 == turns.len();
            if let Some(told) = told {
                return match (last, self.settings.ending) {
                    (true, Ending::Fault) => Ok(told),
                    (true, _) => departs(number, format!("{}, which is not what the trace claims", told.1)),
                    (false, _) => departs(number, format!("{}, but the schedule goes on", told.1)),
                };
            }
            let end = result.expect("a fault has been dealt with");
            if end == End::Dropped {
                let runner = Runner { task, buffer: n };
                let race = self.detector.as_mut().and_then(|d| d.dropped(runner, &log).err());
                if let (true, Some(race)) = (last, race) {
                    self.race = Some(race);
                    return Ok(self.told_race(race));
                }
                return departs(number, "an assumption fails, which drops the execution".into());
            }
            if let Some(race) = self.races(n, task, end, &config, &log) {
                return match (last, self.settings.ending) {
                    (true, Ending::Race) => {
                        self.race = Some(race);
                        Ok(self.told_race(race))
                    }
                    _ => departs(number, "there is a data race, but the schedule goes on".into()),
                };
            }
            self.born(&config, &log, Some(task));
            if end == End::Finished {
                self.tasks.iter_mut().filter(|t| **t == Some(task)).for_each(|t| *t = None);
            }
            self.last = Some((n, task, end));
        }
        self.end(&config, schedule.len())
    }

    /// The claims about the configuration after the last turn.
    fn end(&mut self, config: &Config, turns: usize) -> Result<(BugKind, String, Span), Departure> {
        let departs = |reason: &str| Err(Departure { turn: turns, reason: reason.into() });
        match self.settings.ending {
            Ending::Fault => departs("the schedule ends without the bug"),
            Ending::Race => departs("the schedule ends without a data race"),
            Ending::Deadlock if config.buffers.is_empty() => departs("everything has finished: there is no deadlock"),
            Ending::Deadlock => {
                let ready = config.tasks().find(|(_, t)| self.may_not_run(config, t.id).is_none()).map(|(_, t)| t.id);
                match ready {
                    Some(task) => departs(&format!("{} can still go on", self.names.of_task(task))),
                    None => Ok(self.deadlock(config)),
                }
            }
            Ending::Livelock(_) => match &self.cycle {
                None => departs("the schedule ends before its cycle begins"),
                Some(cycle) if cycle.progress => departs("there is progress in the cycle"),
                Some(cycle) if cycle.begins != self.encoded(config) || cycle.in_control != self.in_control(config) => {
                    departs("the schedule does not end where its cycle begins")
                }
                Some(cycle) => match cycle.always_ready.difference(&cycle.steps).next() {
                    Some(n) => {
                        departs(&format!("the cycle is not fair: {} could always go on", self.names.of_buffer(*n)))
                    }
                    None => Ok(self.livelock(cycle)),
                },
            },
        }
    }

    fn livelock(&self, cycle: &Cycle) -> (BugKind, String, Span) {
        let span = self.steps.last().and_then(|s| s.actions.last()).map_or(Span::default(), |a| a.span);
        let names: Vec<String> = cycle.steps.iter().map(|n| self.names.of_buffer(*n)).collect();
        let goes = if names.len() == 1 { "goes" } else { "go" };
        (BugKind::Livelock, format!("livelock: {} {goes} on for ever without progress", names.join(", ")), span)
    }

    fn encoded(&self, config: &Config) -> Vec<u8> {
        let mut config = config.clone();
        let mut order = self.reference.anonymous_tasks(&config);
        order.sort_by(|a, b| self.reference.compare_anonymous(&config, *a, *b));
        self.reference.reorder_anonymous(&mut config, &order);
        let mut out = Vec::new();
        self.reference.encode(&config, &mut out);
        out
    }

    /// Why the rules do not let the task run now.
    fn may_not_run(&self, config: &Config, task: TaskId) -> Option<String> {
        let name = self.names.of_task(task);
        if !self.reference.ready(config, task) {
            return Some(format!("{name} waits and cannot go on"));
        }
        let (n, _) = config.task(task)?;
        if let Some(owner) = self.in_control(config)
            && owner != n
        {
            return Some(match self.last {
                Some(_) => {
                    format!("{name} is on another buffer, and {} has not given up control", self.names.of_buffer(owner))
                }
                None => format!("{name} is not on the buffer that begins"),
            });
        }
        (!self.can_go(config, task)).then(|| format!("a task of a higher level runs before {name}"))
    }

    /// The buffer that alone may go on: the one that begins, or one that has not come to a point where control is handed
    /// over; not if it cannot go on.
    fn in_control(&self, config: &Config) -> Option<BufferId> {
        let owner = match self.last {
            None => DECLARED_BUFFER,
            Some((n, _, End::Yield | End::Interrupted | End::Finished)) => n,
            Some((_, _, End::Point | End::Wait | End::Dropped)) => return None,
        };
        self.buffer_can_go(config, owner).then_some(owner)
    }

    fn buffer_can_go(&self, config: &Config, n: BufferId) -> bool {
        let tasks: Vec<TaskId> = config.tasks().filter(|(b, _)| *b == n).map(|(_, t)| t.id).collect();
        tasks.into_iter().any(|t| self.reference.ready(config, t) && self.can_go(config, t))
    }

    /// The premises about levels: of DISPATCH for a pending task, of all other rules for a running one.
    fn can_go(&self, config: &Config, task: TaskId) -> bool {
        match config.find(task) {
            Some(Whereabouts::Stack(n, at)) => {
                let buffer = &config.buffers[&n];
                at + 1 == buffer.stack.len() && buffer.may_go_on()
            }
            Some(Whereabouts::Pending(n, at)) => {
                let mut buffer = config.buffers[&n].clone();
                let level = buffer.pending[at].level;
                let waits = |t: &crate::config::Task| {
                    t.level >= level && !is_ready(self.program, &self.reference.layout, config, n, t)
                };
                if buffer.innermost().is_some_and(waits) {
                    let waiting = buffer.stack.pop().expect("it was just seen");
                    buffer.pending.push(waiting);
                }
                may_dispatch(&buffer, at)
            }
            None => false,
        }
    }

    fn mark(&self, config: &Config, n: BufferId, number: usize) -> Option<Mark> {
        let delays = self.settings.delays.get(number).copied().unwrap_or(0);
        if delays > 0 {
            return Some(Mark::Delay(delays));
        }
        let (last, task, end) = self.last?;
        if last == n {
            return (end == End::Interrupted).then_some(Mark::Interrupt);
        }
        let could = config.task(task).is_some_and(|(b, _)| b == last) && self.may_not_run(config, task).is_none();
        Some(if could { Mark::Preemption } else { Mark::Switch })
    }

    fn born(&mut self, config: &Config, log: &StepLog, parent: Option<TaskId>) {
        for born in &log.born {
            let alive = config.find(born.task).is_some();
            self.tasks.push(alive.then_some(born.task));
        }
        if let (Some(detector), None) = (&mut self.detector, parent) {
            log.born.iter().for_each(|born| detector.born(None, born));
        }
    }

    fn races(&mut self, n: BufferId, task: TaskId, end: End, config: &Config, log: &StepLog) -> Option<Race> {
        let detector = self.detector.as_mut()?;
        let runner = Runner { task, buffer: n };
        log.fresh.iter().for_each(|variables| detector.forget_data(variables));
        if let Err(race) = detector.step(runner, &log.accesses) {
            return Some(race);
        }
        log.born.iter().for_each(|born| detector.born(Some(runner), born));
        if end == End::Finished {
            detector.finished(runner);
            if !config.buffers.contains_key(&n) {
                detector.gone(n);
            }
        }
        None
    }

    fn told_race(&self, race: Race) -> (BugKind, String, Span) {
        let variable = Variables::of(self.program).name_of(&self.reference.layout, race.variable);
        let by = |p: fabius_explore::race::Party| {
            let at = p.span.line_col(&self.program.source);
            format!("{} at {}:{}", self.names.of_buffer(p.thread), at.line, at.column)
        };
        let first = race.first.map_or_else(|| "an earlier access".into(), by);
        let message = format!("data race on `{variable}`: nothing orders {first} and {}", by(race.second));
        (BugKind::DataRace, message, race.second.span)
    }

    fn deadlock(&self, config: &Config) -> (BugKind, String, Span) {
        let mut parts = Vec::new();
        let mut span = Span::default();
        for (_, task) in config.tasks() {
            if let Some(stmt) = next_statement(self.program, task) {
                let at = stmt.span.line_col(&self.program.source);
                parts.push(format!("{} waits at {}:{}", self.names.of_task(task.id), at.line, at.column));
                if span == Span::default() {
                    span = stmt.span;
                }
            }
        }
        (BugKind::Deadlock, format!("deadlock: {}", parts.join(", ")), span)
    }

    fn fault(&self, fault: Fault, teller: &Teller<'_>, turn: usize) -> Result<(BugKind, String, Span), Departure> {
        let (kind, span) = match fault {
            Fault::Bug(kind, span) => (kind, span),
            Fault::Limit(limit, _) => return Err(Departure { turn, reason: format!("a limit is hit: {limit:?}") }),
        };
        let text = one_line(span.text(&self.program.source).trim_end_matches(';'));
        let values = teller.values.as_ref().filter(|v| !v.is_empty()).map(|v| format!(" ({})", v.join(", ")));
        let values = values.unwrap_or_default();
        let said = teller.said.as_ref().map(|s| format!(": {s}")).unwrap_or_default();
        let message = match kind {
            BugKind::Assertion => {
                format!("assertion failed{said}: `{}`{values}", teller.condition.as_deref().unwrap_or(&text))
            }
            BugKind::SyncMisuse => format!("misuse of a synchronization object{said}: `{text}`"),
            BugKind::DivisionByZero => format!("division by zero: `{text}`{values}"),
            BugKind::IndexOutOfBounds => format!("index out of bounds: `{text}`{values}"),
            BugKind::NullDereference => format!("`null` has no fields and no end: `{text}`{values}"),
            BugKind::RangeOverflow => format!("a value outside the range of its variable: `{text}`{values}"),
            BugKind::Deadlock
            | BugKind::DataRace
            | BugKind::Livelock
            | BugKind::Panic
            | BugKind::Leak
            | BugKind::Unmatched
            | BugKind::Crash
            | BugKind::Memory => {
                format!("{kind:?}")
            }
        };
        Ok((kind, message, span))
    }
}

/// What happens before the first scheduling point, as a step.
fn start_step(choices: &[u32], actions: Vec<Action>) -> Step {
    let turn = Turn { task: Turn::START, choices: choices.to_vec() };
    Step { turn, lane: 0, task_name: None, mark: None, level: None, actions, after: None }
}

/// Writes down what a step does.
struct Teller<'a> {
    program: &'a Program,
    names: Names,
    actions: Vec<Action>,
    /// The configuration in front of the last statement.
    before: Option<Config>,
    buffer: BufferId,
    /// What the last statement reads, with values.
    values: Option<Vec<String>>,
    condition: Option<String>,
    said: Option<String>,
    /// Types of what the last statement prints.
    printed: Vec<Type>,
    /// Whether the last statement is told.
    told: bool,
}

impl<'a> Teller<'a> {
    fn new(program: &'a Program, names: Names) -> Self {
        Teller {
            program,
            names,
            actions: Vec::new(),
            before: None,
            buffer: 0,
            values: None,
            condition: None,
            said: None,
            printed: Vec::new(),
            told: false,
        }
    }
}

/// Statements that only the front end sees, or whose parts are told instead.
fn is_silent(program: &Program, proc: usize, stmt: &Stmt) -> bool {
    let is_temporary = |p: &Place| matches!(p.base, Base::Local(l) if p.path.is_empty() && program.procs[proc].locals[l].name.starts_with('$'));
    match &stmt.kind {
        StmtKind::Atomic(_) | StmtKind::Skip => true,
        StmtKind::Assign(p, e) => is_temporary(p) && matches!(e.kind, fabius_lang::program::ExprKind::Const(_)),
        StmtKind::While(fabius_lang::program::Guard::Expr(e), _) => {
            matches!(e.kind, fabius_lang::program::ExprKind::Const(_))
        }
        _ => false,
    }
}

impl crate::run::Observer for Teller<'_> {
    fn before(&mut self, config: &Config, n: BufferId, stmt: Option<&Stmt>) {
        self.buffer = n;
        self.names.refresh(self.program, config);
        self.told = false;
        let Some(stmt) = stmt else { return };
        let task = config.buffers[&n].innermost().expect("a task is running");
        let proc = task.frames.last().expect("a task has a frame").proc;
        self.before = Some(config.clone());
        self.values = Some(values_in(self.program, config, n, stmt, &self.names));
        let source = &self.program.source;
        (self.condition, self.said) = match &stmt.kind {
            StmtKind::Assert(e, _, said) => (Some(one_line(e.span.text(source))), said.clone()),
            _ => (None, None),
        };
        let text = stmt.span.text(source);
        let head = match &stmt.kind {
            StmtKind::If(..) | StmtKind::While(..) => text.split('{').next().unwrap_or(text),
            _ => text,
        };
        let stack = task.frames.iter().map(|f| self.program.procs[f.proc].name.clone()).collect();
        let action = Action {
            file: None,
            span: stmt.span,
            at: stmt.span.line_col(source),
            text: one_line(head).trim_end_matches(';').to_string(),
            stack,
            changes: Vec::new(),
            note: None,
        };
        self.printed = match &stmt.kind {
            StmtKind::Print(es) => es.iter().map(|e| e.ty.clone()).collect(),
            _ => Vec::new(),
        };
        self.told = !is_silent(self.program, proc, stmt);
        // The statements of an expansion of the library are those of one call.
        let again = self.actions.last().is_some_and(|a| a.span == action.span && a.text == action.text);
        if self.told && !again {
            self.actions.push(action);
        }
    }

    fn after(&mut self, config: &Config, note: Option<Note>) {
        self.names.refresh(self.program, config);
        if !self.told {
            return;
        }
        let before = self.before.take().unwrap_or_default();
        let changed = Variables::of(self.program).changes(&before, config, self.buffer, &self.names);
        let note = note.map(|n| match n {
            Note::Chose(b) => format!("chose {b}"),
            Note::Printed(values) => {
                let variables = Variables::of(self.program);
                let parts = self.printed.iter().zip(&values);
                let shown: Vec<String> = parts.map(|(ty, v)| variables.show(ty, v, &self.names)).collect();
                format!("printed ({})", shown.join(", "))
            }
        });
        if let Some(action) = self.actions.last_mut() {
            action.changes.extend(changed);
            action.note = note.or(action.note.take());
        }
    }
}

impl Names {
    /// The columns.
    pub(crate) fn lanes(&self) -> Vec<Lane> {
        self.list().iter().map(|(name, kind)| Lane { name: name.clone(), kind: *kind }).collect()
    }
}
