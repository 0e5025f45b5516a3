//! A program that a test runs step by step, with the choices and the tasks that it names.

use fabius_explore::system::{Choose, End, Fault, Limit, Snapshot, StepLog, System, TaskId};
use fabius_lang::program::Program;
use fabius_lang::{Options, compile};
use fabius_semantics::Reference;
use fabius_semantics::config::Config;
use fabius_semantics::value::Value;
use fabius_trace::{BugKind, Points};

pub fn compiled(source: &str) -> Program {
    compile(source, &Options::default()).unwrap_or_else(|d| panic!("{source}\n{d:?}"))
}

/// Makes the given choices and remembers what it was asked.
pub struct Choices {
    given: Vec<u32>,
    pub asked: Vec<u32>,
}

impl Choices {
    pub fn new(given: &[u32]) -> Choices {
        Choices { given: given.to_vec(), asked: Vec::new() }
    }
}

impl Choose for Choices {
    fn choose(&mut self, alternatives: u32) -> u32 {
        self.asked.push(alternatives);
        let at = self.asked.len() - 1;
        *self.given.get(at).unwrap_or_else(|| panic!("choice {at} of {alternatives} alternatives is not given"))
    }
}

/// An execution.
pub struct World {
    pub program: Program,
    pub reference: Reference,
    pub state: Config,
    pub log: StepLog,
    /// Tasks by number of creation.
    pub tasks: Vec<TaskId>,
    /// Numbers of alternatives asked for in the last step.
    pub asked: Vec<u32>,
}

impl World {
    pub fn new(source: &str) -> World {
        World::with(source, Points::All, &[]).unwrap_or_else(|f| panic!("{f:?}"))
    }

    pub fn with(source: &str, points: Points, choices: &[u32]) -> Result<World, Fault> {
        let program = compiled(source);
        let reference = Reference::new(&program, points);
        let mut log = StepLog { want_accesses: true, ..StepLog::default() };
        let mut choices = Choices::new(choices);
        let state = reference.initial(&mut choices, &mut log)?;
        let tasks = log.born.iter().map(|b| b.task).collect();
        Ok(World { program, reference, state, log, tasks, asked: choices.asked })
    }

    /// One step of a task, with these choices, all of which must be asked for.
    pub fn step(&mut self, task: usize, choices: &[u32]) -> Result<End, Fault> {
        let id = self.tasks[task];
        assert!(self.reference.ready(&self.state, id), "task {task} is not ready");
        self.log.clear();
        let mut choices = Choices::new(choices);
        let end = self.reference.step(&mut self.state, id, &mut choices, &mut self.log);
        assert_eq!(choices.asked.len(), choices.given.len(), "choices are left over");
        self.asked = choices.asked;
        if end.is_ok() {
            self.tasks.extend(self.log.born.iter().map(|b| b.task));
        }
        end
    }

    /// One step without choices that goes well.
    pub fn go(&mut self, task: usize) -> End {
        self.step(task, &[]).unwrap_or_else(|f| panic!("{f:?}"))
    }

    /// Steps of one task until it finishes; how they end.
    pub fn finish(&mut self, task: usize) -> Vec<End> {
        let mut ends = Vec::new();
        while ends.last() != Some(&End::Finished) {
            ends.push(self.go(task));
        }
        ends
    }

    pub fn ready(&self, task: usize) -> bool {
        self.reference.ready(&self.state, self.tasks[task])
    }

    /// Whether the task is unfinished.
    pub fn exists(&self, task: usize) -> bool {
        self.tasks.get(task).is_some_and(|t| self.state.find(*t).is_some())
    }

    pub fn global(&self, name: &str) -> Value {
        let at = self.program.globals.iter().position(|g| g.name == name).expect("there is such a global");
        self.state.globals[at].clone()
    }

    pub fn number(&self, name: &str) -> i64 {
        self.global(name).number()
    }

    /// What the last step touched: variable, `w` or `r`, `s` or `d`.
    pub fn touched(&self) -> Vec<(u64, char, char)> {
        let kind = |a: &fabius_explore::system::Access| {
            (a.variable, if a.write { 'w' } else { 'r' }, if a.sync { 's' } else { 'd' })
        };
        self.log.accesses.iter().map(kind).collect()
    }

    pub fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.reference.encode(&self.state, &mut out);
        out
    }
}

/// The global `x` after the only task, `init`, has run these statements to the end.
pub fn result_of(declarations: &str, body: &str) -> Result<i64, Fault> {
    let mut world = World::with(&format!("{declarations}\ninit {{ {body} }}"), Points::All, &[])?;
    while world.exists(0) {
        world.step(0, &[])?;
    }
    Ok(world.number("x"))
}

/// The kind of bug; limits and no fault at all are failures of the test.
pub fn bug<T: std::fmt::Debug>(result: Result<T, Fault>) -> BugKind {
    match result {
        Err(Fault::Bug(kind, _)) => kind,
        other => panic!("a bug is expected: {other:?}"),
    }
}

/// The limit that is hit.
pub fn limit<T: std::fmt::Debug>(result: Result<T, Fault>) -> Limit {
    match result {
        Err(Fault::Limit(limit, _)) => limit,
        other => panic!("a limit is expected: {other:?}"),
    }
}
