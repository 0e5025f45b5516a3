//! The reference semantics as a [`System`].

use crate::config::{Config, Whereabouts};
use crate::forget::Alive;
use crate::layout::Layout;
use crate::properties::conditions;
use crate::rules::Note;
use crate::run::{Blind, Observer, Run, is_ready, may_rest, next_statement};
use crate::value::{TaskId, Value};
use fabius_explore::system::{ANONYMOUS, Access, BufferId, Choose, End, Fault, Orders, Snapshot, StepLog, System};
use fabius_lang::program::{CIRCLE, Program, Stmt, StmtKind};
use fabius_trace::Points;
use std::cmp::Ordering;

/// The reference interpreter of one program.
pub struct Reference {
    /// The program.
    pub(crate) program: Program,
    /// Facts about it.
    pub(crate) layout: Layout,
    alive: Alive,
}

/// A choice that is always the first.
struct First;

impl Choose for First {
    fn choose(&mut self, _: u32) -> u32 {
        0
    }
}

/// Sees whether something is chosen.
#[derive(Default)]
struct Once {
    chose: bool,
}

impl Choose for Once {
    fn choose(&mut self, _: u32) -> u32 {
        self.chose = true;
        0
    }
}

impl Reference {
    /// The interpreter with these scheduling points.
    pub fn new(program: &Program, points: Points) -> Reference {
        Reference { layout: Layout::of(program, points), alive: Alive::of(program), program: program.clone() }
    }

    /// As [`System::step`]; calls `watch` with the configuration after every statement.
    ///
    /// # Errors
    /// As [`System::step`].
    pub fn watched_step(
        &self,
        config: &mut Config,
        task: TaskId,
        choose: &mut dyn Choose,
        watch: &mut dyn FnMut(&Config),
    ) -> Result<End, Fault> {
        struct Watch<'a>(&'a mut dyn FnMut(&Config));
        impl Observer for Watch<'_> {
            fn before(&mut self, _: &Config, _: BufferId, _: Option<&Stmt>) {}
            fn after(&mut self, config: &Config, _: Option<Note>) {
                (self.0)(config);
            }
        }
        self.observed_step(config, task, choose, &mut StepLog::default(), &mut Watch(watch))
    }

    /// As [`System::initial`], watched.
    pub(crate) fn observed_initial(
        &self,
        choose: &mut dyn Choose,
        log: &mut StepLog,
        observer: &mut dyn Observer,
    ) -> Result<Option<Config>, Fault> {
        let mut run = Run { program: &self.program, layout: &self.layout, choose, log, observer };
        let mut config = run.initial()?;
        if let Some(config) = &mut config {
            log.born.retain(|b| config.find(b.task).is_some());
            self.alive.forget(&self.program, config);
            config.collect(&self.program);
        }
        Ok(config)
    }

    /// As [`System::step`], watched.
    pub(crate) fn observed_step(
        &self,
        config: &mut Config,
        task: TaskId,
        choose: &mut dyn Choose,
        log: &mut StepLog,
        observer: &mut dyn Observer,
    ) -> Result<End, Fault> {
        let idle = self.program.idle.filter(|_| !self.goes_on(config, task));
        idle.into_iter().for_each(|id| config.globals[id] = Value::bool(true));
        let mut run = Run { program: &self.program, layout: &self.layout, choose, log, observer };
        let end = run.step(config, task);
        idle.into_iter().for_each(|id| config.globals[id] = Value::bool(false));
        let end = end?;
        log.born.retain(|b| config.find(b.task).is_some());
        self.alive.forget(&self.program, config);
        config.collect(&self.program);
        Ok(end)
    }

    /// Whether the task gives way where it is.
    fn is_at_yield(&self, config: &Config, task: TaskId) -> bool {
        let next = config.task(task).and_then(|(_, task)| next_statement(&self.program, task));
        !self.layout.single_buffer && next.is_some_and(|s| matches!(s.kind, StmtKind::Zield))
    }

    /// Whether the task comes back to where it is by its own steps, without a choice and without giving way.
    fn comes_back(&self, config: &Config, task: TaskId) -> bool {
        let mut now = config.clone();
        for _ in 0..CIRCLE {
            let mut once = Once::default();
            let is_ready = self.ready(&now, task);
            if !is_ready || self.step(&mut now, task, &mut once, &mut StepLog::default()) != Ok(End::Point) {
                return false;
            }
            if once.chose || self.is_at_yield(&now, task) {
                return false;
            }
            if now == *config {
                return true;
            }
        }
        false
    }

    /// Whether a task can go on, if none goes on only because nobody else can.
    fn goes_on(&self, config: &Config, task: TaskId) -> bool {
        match config.find(task) {
            Some(Whereabouts::Stack(n, at)) => {
                let stack = &config.buffers[&n].stack;
                at + 1 == stack.len() && is_ready(&self.program, &self.layout, config, n, &stack[at])
            }
            Some(Whereabouts::Pending(n, at)) => {
                is_ready(&self.program, &self.layout, config, n, &config.buffers[&n].pending[at])
            }
            None => false,
        }
    }
}

impl System for Reference {
    type State = Config;

    fn orders(&self) -> Orders {
        self.program.orders.clone()
    }

    /// If an assumption fails at once, the state has no tasks at all.
    fn initial(&self, choose: &mut dyn Choose, log: &mut StepLog) -> Result<Config, Fault> {
        match self.observed_initial(choose, log, &mut Blind)? {
            Some(config) => Ok(config),
            None => {
                log.born.clear();
                Ok(Config::default())
            }
        }
    }

    fn has_init(&self) -> bool {
        self.program.init.is_some()
    }

    fn has_buffers(&self) -> bool {
        self.program.has_buffers()
    }

    fn ready(&self, config: &Config, task: TaskId) -> bool {
        if self.goes_on(config, task) {
            return true;
        }
        let Some(idle) = self.program.idle else { return false };
        if config.tasks().any(|(_, t)| self.goes_on(config, t.id)) {
            return false;
        }
        let mut config = config.clone();
        config.globals[idle] = Value::bool(true);
        self.goes_on(&config, task)
    }

    fn may_rest(&self, config: &Config, task: TaskId) -> bool {
        config.task(task).is_some_and(|(_, task)| may_rest(&self.program, task))
    }

    fn gave_way(&self, config: &Config, task: TaskId) -> bool {
        self.is_at_yield(config, task) || self.program.circles_give_way && self.comes_back(config, task)
    }

    fn next_access(&self, config: &Config, task: TaskId) -> Option<Access> {
        if !self.ready(config, task) {
            return None;
        }
        let mut log = StepLog { want_accesses: true, ..StepLog::default() };
        let mut after = config.clone();
        let _ = self.step(&mut after, task, &mut First, &mut log);
        log.accesses.first().copied()
    }

    fn step(
        &self,
        config: &mut Config,
        task: TaskId,
        choose: &mut dyn Choose,
        log: &mut StepLog,
    ) -> Result<End, Fault> {
        self.observed_step(config, task, choose, log, &mut Blind)
    }
}

impl Snapshot for Reference {
    fn encode(&self, config: &Config, out: &mut Vec<u8>) {
        crate::codec::encode(config, out);
    }

    fn decode(&self, bytes: &[u8], config: &mut Config) {
        *config = crate::codec::decode(bytes);
    }

    fn anonymous_tasks(&self, config: &Config) -> Vec<TaskId> {
        let mut tasks: Vec<TaskId> = config.tasks().map(|(_, t)| t.id).filter(|t| t & ANONYMOUS != 0).collect();
        tasks.sort_unstable();
        tasks
    }

    fn compare_anonymous(&self, config: &Config, a: TaskId, b: TaskId) -> Ordering {
        let key = |id| {
            let (buffer, task) = config.task(id).expect("the task is unfinished");
            (buffer, task.level, &task.frames)
        };
        key(a).cmp(&key(b))
    }

    fn conditions(&self, config: &Config) -> Result<Vec<bool>, Fault> {
        conditions(&self.program, &self.layout, config)
    }

    fn origin(&self, config: &Config, n: BufferId) -> Option<fabius_trace::Origin> {
        crate::properties::origin(config, n)
    }

    fn reorder_anonymous(&self, config: &mut Config, order: &[TaskId]) {
        let new = |id: TaskId| match id & ANONYMOUS {
            0 => Some(id),
            _ => order.iter().position(|t| *t == id).map(|i| ANONYMOUS | i as TaskId),
        };
        for buffer in config.buffers.values_mut() {
            for tasks in [&mut buffer.stack, &mut buffer.pending] {
                tasks.retain_mut(|t| {
                    let id = new(t.id);
                    t.id = id.unwrap_or(t.id);
                    id.is_some()
                });
            }
        }
        config.buffers.retain(|_, b| !b.is_empty());
        config.next_anonymous = order.len() as u32;
        config.collect(&self.program);
    }
}
