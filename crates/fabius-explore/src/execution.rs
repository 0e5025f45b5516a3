//! One execution, run from its beginning: what stateless search and walks repeat.

use crate::dispatcher::{Last, Move};
use crate::node::{Context, Node, Script, Stop};
use crate::race::{Classes, Conflict, HappensBefore, Runner};
use crate::scheduler::Pick;
use crate::search::Found;
use crate::system::{ANONYMOUS, Access, End, Made, StepLog, System, TaskId};
use crate::taken::Taken;
use fabius_trace::{Bound, Turn};

/// An execution so far.
pub(crate) struct Execution<'a, 'b, S: System> {
    context: &'a Context<'b, S>,
    /// Where it has come to.
    pub node: Node<S::State>,
    /// What the moves so far cost.
    pub cost: u32,
    /// Choices of the last step, with their alternatives.
    pub script: Script,
    spare: Spare,
}

/// What can be used again for the next execution.
#[derive(Default)]
pub(crate) struct Spare {
    /// What happened before what: of threads, and of tasks in buffers.
    classes: Classes,
    tasks: Option<HappensBefore>,
    log: StepLog,
    trail: Vec<Made>,
    taken: Taken,
    pending_delays: u32,
    steps: u32,
    /// Numbers of creation of the unfinished tasks.
    numbers: Vec<u32>,
    born: u32,
}

impl<'a, 'b, S: System> Execution<'a, 'b, S> {
    /// At the first dispatch point; `choices` are those made before it.
    pub fn begin(context: &'a Context<'b, S>, choices: &[u32]) -> Result<Self, (Stop, Script)> {
        let mut script = Script::default();
        script.set(choices.iter().copied());
        Self::begin_with(context, script, Spare::default())
    }

    /// The same with any script, and memory of an earlier execution.
    pub fn begin_with(
        context: &'a Context<'b, S>,
        mut script: Script,
        mut spare: Spare,
    ) -> Result<Self, (Stop, Script)> {
        let announces = context.system.announces();
        let conflict = context.options.races.unwrap_or(Conflict::ReadWrite);
        spare.clear();
        spare.log.want_accesses = !announces || context.options.races.is_some();
        let node = match context.initial(&mut script, &mut spare.log) {
            Ok(node) => node,
            Err(stop) => return Err((stop, script)),
        };
        if context.system.has_buffers() {
            spare.tasks = Some(HappensBefore::new(conflict));
        }
        let choices = script.choices();
        spare.classes.begin(&choices);
        if !choices.is_empty() {
            spare.taken.step(Turn::START, choices.into_iter(), 0);
        }
        spare.born(None);
        Ok(Execution { context, node, cost: 0, script, spare })
    }

    /// The memory, for the next execution.
    pub fn into_spare(self) -> (Script, Spare) {
        (self.script, self.spare)
    }

    /// Steps so far.
    pub fn steps(&self) -> u32 {
        self.spare.steps
    }

    /// What was done so far.
    pub fn taken(&self) -> &Taken {
        &self.spare.taken
    }

    /// The number of creation of an unfinished task.
    pub fn number_of(&self, task: TaskId) -> Option<u32> {
        self.spare.numbers.get(index(task)).copied()
    }

    /// How many tasks there have been.
    pub fn born(&self) -> u32 {
        self.spare.born
    }

    /// Whether there has been such a task.
    pub fn exists(&self, task: TaskId) -> bool {
        index(task) < self.spare.numbers.len()
    }

    /// Who ran last, as far as the cost depends on it.
    pub fn last(&self) -> Last {
        self.context.last(&self.node)
    }

    /// What a move would cost.
    pub fn price(&self, mv: &Move) -> u32 {
        self.context.price(&self.node, self.last(), mv)
    }

    /// Whether it costs nothing that the task that ran last goes on.
    pub fn goes_on_freely(&self) -> bool {
        matches!(self.context.options.bound, Bound::None | Bound::Contexts | Bound::Preemptions)
    }

    /// Whether the next step may include others, whose threads the system draws.
    pub fn rolls_ahead(&self) -> bool {
        matches!(self.context.options.bound, Bound::None | Bound::Preemptions)
            && self.node.dispatcher.is_bag()
            && self.node.detector.is_none()
            && self.context.system.rolls_ahead(&self.node.state)
    }

    /// The happens-before relation so far as a number.
    pub fn signature(&self) -> u128 {
        match &self.spare.tasks {
            Some(order) => order.signature(),
            None => self.spare.classes.number(),
        }
    }

    /// The happens-before relation after a step of a task whose accesses are announced, and the number of that step.
    #[inline]
    pub fn signature_after(&self, task: TaskId) -> (u128, u128) {
        self.spare.classes.after(task, self.announced(task), self.also_announced(task))
    }

    /// The number of the last step of a task.
    pub fn last_step_of(&self, task: TaskId) -> u128 {
        self.spare.classes.last_step_of(task)
    }

    /// Whether the system says what a step accesses before it is made.
    pub fn announces(&self) -> bool {
        self.context.system.announces()
    }

    /// What the next step of a task accesses, where that is announced.
    #[inline]
    pub fn announced(&self, task: TaskId) -> Option<Access> {
        self.context.system.next_access(&self.node.state, task)
    }

    fn also_announced(&self, task: TaskId) -> Option<Access> {
        self.context.system.next_other_access(&self.node.state, task)
    }

    /// Makes a move; the choices in it begin as given and go on with the first alternatives.
    pub fn make(&mut self, mv: Move, choices: &[u32]) -> Result<(), Stop> {
        self.script.set(choices.iter().copied());
        self.go(mv)
    }

    /// The same with any script, which is in [`Execution::script`].
    pub fn go(&mut self, mv: Move) -> Result<(), Stop> {
        let result = self.go_at(mv, self.cost + self.price(&mv));
        if matches!(mv, Move::Run(_)) {
            self.cost += self.script.deviations() * self.context.price_of_deviation();
        }
        result
    }

    /// A step of a task, and up to so many more of the same while none of `until` can go on; how many there were. None but
    /// the last makes choices. Only for systems that announce their accesses.
    pub fn go_ahead(&mut self, mv: Move, cost: u32, more: u32, until: &[TaskId]) -> Result<u32, Stop> {
        let context = self.context;
        context.system.allow_ahead(&mut self.node.state, more, until);
        let before = self.spare.steps;
        let result = self.go_at(mv, cost);
        result.map(|()| self.spare.steps - before)
    }

    /// A step of a task, and up to so many more of those tasks that are drawn with the dice; who made the last. The cost of
    /// the steps that are drawn is added. Only where [`System::rolls_ahead`].
    pub fn go_at_random(&mut self, mv: Move, cost: u32, more: u32, dice: &mut fastrand::Rng) -> Result<(), Stop> {
        let context = self.context;
        context.system.roll_ahead(&mut self.node.state, more, dice.clone());
        let result = self.go_at(mv, cost);
        if let Some(rolled) = context.system.take_dice(&mut self.node.state) {
            *dice = rolled.dice;
            if context.options.bound == Bound::Preemptions {
                self.cost += rolled.switches;
            }
        }
        result
    }

    /// The same where the cost after the move is known.
    #[inline]
    pub fn go_at(&mut self, mv: Move, cost: u32) -> Result<(), Stop> {
        self.cost = cost;
        let context = self.context;
        let Move::Run(pick) = mv else {
            self.spare.pending_delays += 1;
            return context.apply(&mut self.node, mv, &mut self.script, &mut self.spare.log).map(|_| ());
        };
        let announces = context.system.announces();
        let announced = if announces { self.announced(pick.task) } else { None };
        let other = if announces { self.also_announced(pick.task) } else { None };
        let spare = &mut self.spare;
        let number = spare.numbers[index(pick.task)];
        let result = context.apply(&mut self.node, mv, &mut self.script, &mut spare.log);
        if announces {
            context.system.take_trail(&mut self.node.state, &mut spare.trail);
        }
        // Of several steps only the last has made choices.
        let (mut pick, mut number, mut announced, mut other) = (pick, number, announced, other);
        for made in &spare.trail {
            spare.steps += 1;
            spare.taken.step(number, std::iter::empty(), std::mem::take(&mut spare.pending_delays));
            spare.classes.announced(pick.task, announced, other);
            if made.task != pick.task {
                pick = Pick { buffer: made.task, task: made.task };
                number = spare.numbers[index(made.task)];
            }
            (announced, other) = (made.access(), made.other_access());
        }
        let choices = self.script.taken();
        let chosen = choices.iter().map(|c| c.chosen);
        spare.steps += 1;
        spare.taken.step(number, chosen.clone(), std::mem::take(&mut spare.pending_delays));
        let runner = Runner { task: pick.task, buffer: pick.buffer };
        if let Ok(end) = result {
            match &mut spare.tasks {
                Some(order) => order.step(runner, &spare.log.accesses, chosen),
                None if announces && choices.is_empty() => spare.classes.announced(pick.task, announced, other),
                None if announces => {
                    let accesses: Vec<Access> = announced.into_iter().chain(other).collect();
                    spare.classes.step(pick.task, &accesses, chosen);
                }
                None if spare.log.accesses.iter().any(|a| a.sync) || !choices.is_empty() => {
                    spare.classes.step(pick.task, &spare.log.accesses, chosen);
                }
                None => {}
            }
            if !spare.log.born.is_empty() {
                spare.born(Some(runner));
            }
            if end == Some(End::Finished) {
                match &mut spare.tasks {
                    Some(order) => order.finished(runner),
                    None => spare.classes.finished(pick.task),
                }
                for task in &spare.log.finished {
                    spare.classes.finished(*task);
                }
            }
        }
        result.map(|_| ())
    }

    /// The schedule so far as that of a bug.
    pub fn found(self, what: crate::search::Bug) -> Found {
        let taken = self.spare.taken;
        Found { what, cost: self.cost, schedule: taken.schedule(), delays: taken.delays(), cycle: None }
    }
}

impl Spare {
    fn clear(&mut self) {
        self.classes.clear();
        self.tasks = None;
        self.taken.clear();
        self.pending_delays = 0;
        self.steps = 0;
        self.numbers.clear();
        self.born = 0;
    }

    /// Tasks were born in the last step.
    fn born(&mut self, parent: Option<Runner>) {
        for (number, b) in self.log.born.iter().enumerate() {
            match &mut self.tasks {
                Some(order) => order.born(parent, b),
                None => self.classes.born(parent.map(|p| p.task), number, b.task),
            }
            let at = index(b.task);
            if at >= self.numbers.len() {
                self.numbers.resize(at + 1, 0);
            }
            self.numbers[at] = self.born;
            self.born += 1;
        }
    }
}

#[inline]
fn index(task: TaskId) -> usize {
    (task & !ANONYMOUS) as usize * 2 + usize::from(task & ANONYMOUS != 0)
}
