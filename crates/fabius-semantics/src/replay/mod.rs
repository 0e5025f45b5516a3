//! Replay: runs a schedule by the rules, says what each step does, and where a schedule departs from the rules.

mod allowed;
mod bugs;
mod given;
mod infinite;
mod teller;

use crate::config::{Config, Whereabouts};
use crate::properties::conditions;
use crate::run::may_rest;
use crate::show::{Names, Variables};
use crate::system::Reference;
use crate::value::TaskId;
use fabius_explore::links::Links;
use fabius_explore::race::{Conflict, Detector, Race, Runner};
use fabius_explore::system::{BufferId, End, FIFO_BUFFER, Fault, Snapshot, StepLog, System};
use fabius_lang::program::Program;
use fabius_trace::{
    Action, After, Bound, BugKind, ErrorTrace, Lane, Mark, Points, ProgramId, Schedule, SchedulerKind, Span, Step,
    TRACE_VERSION, Turn,
};
use given::Given;
use infinite::Cycle;
use teller::Teller;

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
    /// The execution violates the property of this number.
    Property {
        /// Which.
        number: usize,
        /// From this turn on the schedule is a cycle. `None`: nobody can go on at the end.
        cycle: Option<usize>,
    },
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
        stale: 0,
        data_points: Vec::new(),
        program: id.clone(),
        kind,
        message,
        span,
        bound: settings.bound,
        cost: settings.cost,
        scheduler: settings.scheduler,
        points: settings.points,
        property: match settings.ending {
            Ending::Property { number, .. } => program.properties.get(number).map(|p| p.name.clone()),
            _ => None,
        },
        cycle: settings.ending.cycle().map(|turn| turn as u32),
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
    /// The cycle, once it has begun.
    cycle: Option<Cycle>,
    /// Which conditions hold in each configuration so far, if a property is what it is about.
    states: Vec<Vec<bool>>,
    /// Who ran last, and how the step ended.
    last: Option<(BufferId, TaskId, End)>,
}

/// A bug: its kind, what is said of it, and where.
type Told = (BugKind, String, Span);

/// What comes of the beginning.
enum Start {
    /// The first configuration, and what has been done.
    At(Config, Vec<Action>),
    /// It goes wrong, as claimed.
    Over(Told),
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
            detector: (settings.ending == Ending::Race)
                .then(|| Detector::new(Conflict::ReadWrite, &reference.program.orders)),
            race: None,
            links: Links::default(),
            cycle: None,
            states: Vec::new(),
            last: None,
        }
    }

    fn run(&mut self, schedule: &Schedule) -> Result<Told, Departure> {
        let (start, turns) = match schedule.split_first() {
            Some((first, rest)) if first.task == Turn::START => (first.choices.as_slice(), rest),
            _ => (&[][..], schedule.as_slice()),
        };
        let offset = schedule.len() - turns.len();
        let mut log = StepLog { want_accesses: true, ..StepLog::default() };
        let (mut config, actions) = match self.start(start, turns.is_empty(), &mut log)? {
            Start::At(config, actions) => (config, actions),
            Start::Over(told) => return Ok(told),
        };
        if offset > 0 {
            self.steps.push(start_step(start, actions));
        }
        for (i, turn) in turns.iter().enumerate() {
            let last = i + 1 == turns.len();
            if let Some(told) = self.turn(&mut config, i + offset, turn, last, &mut log)? {
                return Ok(told);
            }
        }
        self.end(&config, schedule.len())
    }

    /// What happens before the first scheduling point.
    fn start(&mut self, choices: &[u32], is_all: bool, log: &mut StepLog) -> Result<Start, Departure> {
        let mut given = Given::new(choices);
        let mut teller = Teller::new(self.program, self.names.clone());
        let initial = self.reference.observed_initial(&mut given, log, &mut teller);
        if let Some(reason) = given.departure() {
            return departs(0, reason);
        }
        let config = match initial {
            Ok(Some(config)) => config,
            Ok(None) => return departs(0, "an assumption fails before the first step".into()),
            Err(fault) => {
                let told = self.fault(fault, &teller, 0)?;
                self.names = teller.names;
                if self.names.lanes().is_empty() {
                    self.names.thread(0, "init");
                }
                self.steps.push(start_step(choices, teller.actions));
                return self.claimed(told, 0, is_all).map(Start::Over);
            }
        };
        self.names = teller.names;
        self.names.refresh(self.program, &config);
        self.born(&config, log, None);
        self.note_conditions(&config, 0)?;
        Ok(Start::At(config, teller.actions))
    }

    /// What has gone wrong, if the trace claims it at this turn.
    fn claimed(&self, told: Told, turn: usize, last: bool) -> Result<Told, Departure> {
        match (last, self.settings.ending) {
            (true, Ending::Fault) => Ok(told),
            (true, _) => departs(turn, format!("{}, which is not what the trace claims", told.1)),
            (false, _) => departs(turn, format!("{}, but the schedule goes on", told.1)),
        }
    }

    /// Makes one turn. What is claimed of the last one ends the replay.
    fn turn(
        &mut self,
        config: &mut Config,
        number: usize,
        turn: &Turn,
        last: bool,
        log: &mut StepLog,
    ) -> Result<Option<Told>, Departure> {
        if let Some(cycle) = self.cycle_at(config, number) {
            self.cycle = Some(cycle);
        }
        let task = self.task_of(config, turn, number)?;
        let (n, _) = config.task(task).expect("unfinished tasks are somewhere");
        let (mark, ready) = (self.mark(config, n, number), self.ready_in_cycle(config));
        let mut given = Given::new(&turn.choices);
        let lane = self.names.lane(n);
        let task_name = self.names.task_name(n, task);
        let level = config.task(task).filter(|_| self.program.levels.len() > 1).map(|(_, t)| t.level);
        let level = level.map(|level| self.program.levels[usize::from(level)].clone());
        log.clear();
        // Lent, not copied: a long execution has many names.
        let mut teller = Teller::new(self.program, std::mem::take(&mut self.names));
        let result = self.reference.observed_step(config, task, &mut given, log, &mut teller);
        self.names = std::mem::take(&mut teller.names);
        if let Some(reason) = given.departure() {
            return departs(number, reason);
        }
        if let Some(cycle) = &mut self.cycle {
            cycle.step(n, &ready, log.progress);
        }
        let runner = Runner { task, buffer: n };
        // What is not followed any further may begin with a race.
        let begins = match (&result, self.settings.ending) {
            (Err(Fault::Limit(..)), Ending::Race) if last => self.raced_in(runner, log),
            _ => None,
        };
        let told = match result {
            Err(fault) if begins.is_none() => Some(self.fault(fault, &teller, number)?),
            _ => None,
        };
        self.links.step(number as u32, runner, log);
        let after = match &result {
            Ok(End::Finished) => Some(After::Finished),
            Ok(End::Dropped | End::Interrupted) | Err(_) => None,
            Ok(_) => (!self.reference.ready(config, task)).then_some(After::Waits),
        };
        let turn = turn.clone();
        self.steps.push(Step { turn, lane, task_name, mark, level, actions: teller.actions, after });
        if let Some(race) = begins {
            return Ok(Some(self.raced(race)));
        }
        if let Some(told) = told {
            return self.claimed(told, number, last).map(Some);
        }
        let end = result.expect("a fault has been dealt with");
        if end == End::Dropped {
            let race = self.detector.as_mut().and_then(|d| d.dropped(runner, log).err());
            return match race.filter(|_| last) {
                Some(race) => Ok(Some(self.raced(race))),
                None => departs(number, "an assumption fails, which drops the execution".into()),
            };
        }
        if let Some(race) = self.races(runner, end, config, log) {
            return match (last, self.settings.ending) {
                (true, Ending::Race) => Ok(Some(self.raced(race))),
                _ => departs(number, "there is a data race, but the schedule goes on".into()),
            };
        }
        self.born(config, log, Some(task));
        if end == End::Finished {
            self.tasks.iter_mut().filter(|t| **t == Some(task)).for_each(|t| *t = None);
        }
        self.last = Some((n, task, end));
        self.note_conditions(config, number)?;
        Ok(None)
    }

    /// The task of a turn, if it may run now.
    fn task_of(&self, config: &Config, turn: &Turn, number: usize) -> Result<TaskId, Departure> {
        let task = match self.tasks.get(turn.task as usize) {
            Some(Some(task)) => *task,
            Some(None) => return departs(number, format!("task {} has finished", turn.task)),
            None => return departs(number, format!("there is no task {} yet", turn.task)),
        };
        self.may_not_run(config, task).map_or(Ok(task), |reason| departs(number, reason))
    }

    fn raced(&mut self, race: Race) -> Told {
        self.race = Some(race);
        self.told_race(race)
    }

    /// The claims about the configuration after the last turn.
    fn end(&mut self, config: &Config, turns: usize) -> Result<Told, Departure> {
        let departs = |reason: &str| departs(turns, reason.into());
        match self.settings.ending {
            Ending::Fault => match conditions(self.program, &self.reference.layout, config) {
                Ok(_) => departs("the schedule ends without the bug"),
                Err(fault) => self.fault(fault, &Teller::new(self.program, self.names.clone()), turns),
            },
            Ending::Race => departs("the schedule ends without a data race"),
            Ending::Deadlock if config.tasks().all(|(_, t)| may_rest(self.program, t)) => {
                departs("all have finished, or may stay where they are: there is no deadlock")
            }
            Ending::Deadlock => {
                let ready = config.tasks().find(|(_, t)| self.may_not_run(config, t.id).is_none()).map(|(_, t)| t.id);
                match ready {
                    Some(task) => departs(&format!("{} can still go on", self.names.of_task(task))),
                    None => Ok(self.deadlock(config)),
                }
            }
            Ending::Livelock(_) => {
                let cycle = self.closed(config, turns)?;
                if cycle.progress { departs("there is progress in the cycle") } else { Ok(self.livelock(cycle)) }
            }
            Ending::Property { number, .. } => self.property(config, turns, number),
        }
    }

    fn encoded(&self, config: &Config) -> Vec<u8> {
        let mut config = config.clone();
        let mut order = self.reference.anonymous_tasks(&config);
        // In queues tasks are told apart by where they stand.
        let place = |task| match config.find(task) {
            Some(Whereabouts::Pending(n, at)) if n & FIFO_BUFFER != 0 => Some((n, at)),
            _ => None,
        };
        order.sort_by(|a, b| match (place(*a), place(*b)) {
            (None, None) => self.reference.compare_anonymous(&config, *a, *b),
            (a, b) => b.is_some().cmp(&a.is_some()).then(a.cmp(&b)),
        });
        self.reference.reorder_anonymous(&mut config, &order);
        let mut out = Vec::new();
        self.reference.encode(&config, &mut out);
        for (_, buffer) in config.buffers.iter().filter(|(n, _)| **n & FIFO_BUFFER != 0) {
            buffer.pending.iter().for_each(|task| out.extend(task.id.to_le_bytes()));
        }
        out
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
        // Who gives way is not preempted.
        let preempted = could && !self.reference.gave_way(config, last);
        Some(if preempted { Mark::Preemption } else { Mark::Switch })
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

    fn raced_in(&mut self, runner: Runner, log: &StepLog) -> Option<Race> {
        let detector = self.detector.as_mut()?;
        log.fresh.iter().for_each(|variables| detector.forget_data(variables));
        detector.step(runner, &log.accesses).err()
    }

    fn races(&mut self, runner: Runner, end: End, config: &Config, log: &StepLog) -> Option<Race> {
        if let Some(race) = self.raced_in(runner, log) {
            return Some(race);
        }
        let detector = self.detector.as_mut()?;
        log.born.iter().for_each(|born| detector.born(Some(runner), born));
        if end == End::Finished {
            detector.finished(runner);
            if !config.buffers.contains_key(&runner.buffer) {
                detector.gone(runner.buffer);
            }
        }
        None
    }
}

fn departs<T>(turn: usize, reason: String) -> Result<T, Departure> {
    Err(Departure { turn, reason })
}

/// What happens before the first scheduling point, as a step.
fn start_step(choices: &[u32], actions: Vec<Action>) -> Step {
    let turn = Turn { task: Turn::START, choices: choices.to_vec() };
    Step { turn, lane: 0, task_name: None, mark: None, level: None, actions, after: None }
}

impl Names {
    /// The columns.
    pub(crate) fn lanes(&self) -> Vec<Lane> {
        self.list().iter().map(|(name, kind)| Lane { name: name.clone(), kind: *kind }).collect()
    }
}
