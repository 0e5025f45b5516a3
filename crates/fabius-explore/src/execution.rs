//! One execution, run from its beginning: what stateless search and walks repeat.

use crate::dispatcher::{Last, Move, cost};
use crate::node::{Context, Node, Script, Stop};
use crate::race::{Conflict, HappensBefore, Runner};
use crate::search::Found;
use crate::system::{End, StepLog, System, TaskId};
use fabius_trace::{Schedule, Turn};
use std::collections::HashMap;

/// An execution so far.
pub(crate) struct Execution<'a, 'b, S: System> {
    context: &'a Context<'b, S>,
    /// Where it has come to.
    pub node: Node<S::State>,
    /// What the moves so far cost.
    pub cost: u32,
    /// Steps so far.
    pub steps: u32,
    /// What happened before what.
    pub order: HappensBefore,
    /// Choices of the last step, with their alternatives.
    pub script: Script,
    log: StepLog,
    schedule: Schedule,
    delays: Vec<u32>,
    pending_delays: u32,
    /// Numbers of creation of the unfinished tasks.
    numbers: HashMap<TaskId, u32>,
    born: u32,
}

impl<'a, 'b, S: System> Execution<'a, 'b, S> {
    /// At the first dispatch point; `choices` are those made before it.
    pub fn begin(context: &'a Context<'b, S>, choices: &[u32]) -> Result<Self, (Stop, Script)> {
        let mut script = Script::default();
        script.set(choices);
        Self::begin_with(context, script)
    }

    /// The same with any script.
    pub fn begin_with(context: &'a Context<'b, S>, mut script: Script) -> Result<Self, (Stop, Script)> {
        let mut log = StepLog { want_accesses: true, ..StepLog::default() };
        let node = match context.initial(&mut script, &mut log) {
            Ok(node) => node,
            Err(stop) => return Err((stop, script)),
        };
        let mut order = HappensBefore::new(context.options.races.unwrap_or(Conflict::ReadWrite));
        log.born.iter().for_each(|b| order.born(None, b));
        let mut execution = Execution {
            context,
            node,
            cost: 0,
            steps: 0,
            order,
            log,
            schedule: Vec::new(),
            delays: Vec::new(),
            pending_delays: 0,
            numbers: HashMap::new(),
            born: 0,
            script,
        };
        execution.count_born();
        let choices = execution.script.choices();
        if !choices.is_empty() {
            execution.schedule.push(Turn { task: Turn::START, choices });
            execution.delays.push(0);
        }
        Ok(execution)
    }

    fn count_born(&mut self) {
        for b in &self.log.born {
            self.numbers.insert(b.task, self.born);
            self.born += 1;
        }
    }

    /// The number of creation of an unfinished task.
    pub fn number_of(&self, task: TaskId) -> Option<u32> {
        self.numbers.get(&task).copied()
    }

    /// Who ran last, as far as the cost depends on it.
    pub fn last(&self) -> Last {
        self.context.last(&self.node)
    }

    /// What a move would cost.
    pub fn price(&self, mv: &Move) -> u32 {
        cost(self.context.options.bound, self.last(), mv)
    }

    /// Makes a move; the choices in it begin as given and go on with the first alternatives.
    pub fn make(&mut self, mv: Move, choices: &[u32]) -> Result<(), Stop> {
        let mut script = std::mem::take(&mut self.script);
        script.set(choices);
        self.make_with(mv, script)
    }

    /// The same with any script.
    pub fn make_with(&mut self, mv: Move, script: Script) -> Result<(), Stop> {
        self.cost += self.price(&mv);
        self.script = script;
        let task = match mv {
            Move::Run(pick) => Some((pick, self.numbers[&pick.task])),
            Move::Delay(_) => None,
        };
        let result = self.context.apply(&mut self.node, mv, &mut self.script, &mut self.log);
        let Some((pick, number)) = task else {
            self.pending_delays += 1;
            return result.map(|_| ());
        };
        self.steps += 1;
        self.schedule.push(Turn { task: number, choices: self.script.choices() });
        self.delays.push(std::mem::take(&mut self.pending_delays));
        let end = result?;
        let runner = Runner { task: pick.task, buffer: pick.buffer };
        self.order.step(runner, &self.log.accesses, &self.script.choices());
        self.log.born.iter().for_each(|b| self.order.born(Some(runner), b));
        if end == Some(End::Finished) {
            self.order.finished(runner);
        }
        self.count_born();
        Ok(())
    }

    /// The schedule so far as that of a bug.
    pub fn found(self, what: crate::search::Bug) -> Found {
        Found { what, cost: self.cost, schedule: self.schedule, delays: self.delays, cycle: None }
    }
}
