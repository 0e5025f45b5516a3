//! One execution, run from its beginning: what stateless search and walks repeat.

use crate::conflicts::{Does, History};
use crate::dispatcher::{Last, Move};
use crate::kept::{Kept, Passed, Spare, Step, index};
use crate::node::{Context, Node, Script, Stop};
use crate::priorities::Falling;
use crate::race::{Conflict, HappensBefore, Runner, has_history, trying};
use crate::scheduler::Pick;
use crate::search::Found;
use crate::system::{Access, Dice, End, Made, Plan, System, TaskId};
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
    spare: Box<Kept>,
}

impl<'a, 'b, S: System> Execution<'a, 'b, S> {
    /// At the first dispatch point; `choices` are those made before it.
    pub fn begin(context: &'a Context<'b, S>, choices: &[u32]) -> Result<Self, (Stop, Script)> {
        let mut script = Script::default();
        script.set(choices.iter().copied());
        Self::begin_with(context, script, Spare::default())
    }

    /// The same with any script, and memory of an earlier execution.
    pub fn begin_with(context: &'a Context<'b, S>, mut script: Script, spare: Spare) -> Result<Self, (Stop, Script)> {
        let announces = context.system.announces();
        let conflict = context.options.races.unwrap_or(Conflict::ReadWrite);
        let mut spare = spare.0.unwrap_or_default();
        spare.clear();
        spare.log.wants_races = context.options.races.is_some();
        spare.log.want_accesses = !announces || spare.log.wants_races;
        let node = match context.initial_in(spare.dispatcher.take(), &mut script, &mut spare.log) {
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
    pub fn into_spare(mut self) -> (Script, Spare) {
        self.spare.dispatcher = self.node.dispatcher.cleared();
        (self.script, Spare(Some(self.spare)))
    }

    /// Delays since the last step.
    pub fn delays(&self) -> u32 {
        self.spare.pending_delays
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

    /// Whether there is such a task, and its next step could be made.
    pub fn is_possible(&self, task: TaskId) -> bool {
        self.exists(task) && self.context.system.possible(&self.node.state, task)
    }

    /// Who ran last, as far as the cost depends on it.
    pub fn last(&self) -> Last {
        self.context.last(&self.node)
    }

    /// What a move would cost.
    pub fn price(&self, mv: &Move) -> u32 {
        self.context.price(&self.node, self.last(), mv)
    }

    /// Whether the next step may include others, made by whom a plan says.
    pub fn plans_ahead(&self) -> bool {
        matches!(self.context.options.bound, Bound::None | Bound::Preemptions)
            && self.node.dispatcher.is_bag()
            && self.node.detector.is_none()
            && self.context.system.plans_ahead(&self.node.state)
    }

    /// What was done in the steps of the last move after the first, where a plan said by whom.
    pub fn went_ahead(&self) -> &[Made] {
        &self.spare.log.ahead
    }

    /// From here on it is told what the steps of a move come to ([`Execution::passed`]).
    pub fn tells_what_it_passes(&mut self) {
        self.spare.tells_what_is_passed = true;
    }

    /// What the steps of the last move came to, if there were several; of the last one, what [`Execution::signature_after`] has said ahead
    /// of it.
    pub fn passed(&self) -> &[Passed] {
        &self.spare.passed
    }

    /// Whether such points are remembered.
    pub fn has_marks(&self) -> bool {
        self.spare.marks.is_on
    }

    /// Whether the last move has stopped in steps of which nothing was told: nothing is known of the execution.
    pub fn was_untold(&self) -> bool {
        matches!(self.spare.log.ahead.last(), Some(Made::Untold(_)))
    }

    /// Remembers what is known of this point, from which others will go on.
    pub fn mark(&mut self) {
        self.spare.mark();
    }

    /// The class so far as a number, unless it is not found out.
    pub fn signature(&self) -> Option<u128> {
        match &self.spare.tasks {
            _ if self.spare.is_unclassed => None,
            Some(order) => Some(order.signature()),
            None => Some(self.spare.classes.number()),
        }
    }

    /// The happens-before relation after a step of a task whose accesses are announced, and the number of that step. Of one that may
    /// deviate: a number that says that it is tried from here, whatever it comes to.
    #[inline]
    pub fn signature_after(&self, task: TaskId) -> (u128, u128) {
        let (after, step) = self.spare.classes.after(task, self.announced(task), self.also_announced(task));
        if self.context.system.may_deviate(&self.node.state, task) {
            (trying(after, step), step)
        } else {
            (after, step)
        }
    }

    /// What was said before the last step, of that task and with the usual outcome, if it could have deviated.
    pub fn signature_of_trying(&self, task: TaskId) -> Option<u128> {
        self.signature().map(|after| trying(after, self.last_step_of(task)))
    }

    /// The class, and the number of the last step, if that step had found so much older a store, where it is a load that made no other choices.
    pub fn signature_where_it_finds(&self, newer: u32) -> Option<(u128, u128)> {
        let (task, variable) = self.spare.load.filter(|_| self.script.taken().len() == 1)?;
        self.spare.classes.where_it_finds(task, variable, newer)
    }

    /// The number of the last step of a task.
    pub fn last_step_of(&self, task: TaskId) -> u128 {
        self.spare.classes.last_step_of(task)
    }

    /// What conflicts, where that is asked.
    pub fn history(&mut self) -> Option<&mut History> {
        self.spare.history.as_deref_mut()
    }

    /// What the next step of a task does.
    fn does(&self, task: TaskId) -> Does {
        let (system, state) = (self.context.system, &self.node.state);
        let (access, other) = (system.next_access(state, task), system.next_other_access(state, task));
        let may_write = system.next_may_fail(state, task);
        Does { access, other, may_write, waits_for_more: system.waits_for_more(state, task) }
    }

    /// Nobody goes on: what would conflict.
    pub fn look_at_the_rest(&mut self) {
        let Some(mut history) = self.spare.history.take() else { return };
        for task in 0..history.threads.len() {
            let thread = &history.threads[task];
            if thread.is_born && !thread.has_finished {
                history.look(task as TaskId, self.does(task as TaskId));
            }
        }
        self.spare.history = Some(history);
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

    /// A step of a task, and up to so many more of those whom the plan says; how many there were. None but the last makes
    /// choices. What it costs to switch to who is drawn, or has the highest number, is added. Only where [`Execution::plans_ahead`].
    pub fn go_ahead(&mut self, mv: Move, cost: u32, more: u32, plan: Plan<'_>) -> Result<u32, Stop> {
        let context = self.context;
        let untold = if self.spare.steps == 0 { self.spare.untold() } else { 0 };
        context.system.plan_ahead(&mut self.node.state, more, plan);
        if untold > 0 {
            context.system.need_not_tell(&mut self.node.state, untold);
        }
        let before = self.spare.steps;
        let result = self.go_at(mv, cost);
        if context.options.bound == Bound::Preemptions {
            self.cost += self.spare.log.switches;
        }
        result.map(|()| self.spare.steps - before)
    }

    /// What the steps of the last move were decided by, afterwards.
    pub fn take_decided_by(&mut self) -> (Option<Dice>, Option<Falling>) {
        (self.spare.log.dice.take(), self.spare.log.falling.take())
    }

    /// The same where the cost after the move is known.
    #[inline]
    pub fn go_at(&mut self, mv: Move, cost: u32) -> Result<(), Stop> {
        self.cost = cost;
        self.spare.passed.clear();
        let context = self.context;
        let Move::Run(pick) = mv else {
            self.spare.pending_delays += 1;
            return context.apply(&mut self.node, mv, &mut self.script, &mut self.spare.log).map(|_| ());
        };
        let announces = context.system.announces();
        let announced = if announces { self.announced(pick.task) } else { None };
        let other = if announces { self.also_announced(pick.task) } else { None };
        let load = announced.filter(|access| !access.write && has_history(access.variable));
        let may_fail = load.is_some() && context.system.next_may_fail(&self.node.state, pick.task);
        let load = load.filter(|_| !may_fail);
        let does = if self.spare.history.is_some() { self.does(pick.task) } else { Does::default() };
        let spare = &mut *self.spare;
        let number = spare.numbers[index(pick.task)];
        let result = context.apply(&mut self.node, mv, &mut self.script, &mut spare.log);
        if let Some(Made::Untold(_)) = spare.log.ahead.last() {
            return Err(Stop::Dropped);
        }
        // Of several steps only the last has made choices.
        let (pick, number, announced, other, does) = if spare.log.ahead.is_empty() {
            spare.load = load.map(|access| (pick.task, access.variable));
            (pick, number, announced, other, does)
        } else {
            let variable = |access: Option<Access>| access.map_or(Made::NOTHING, |access| access.variable);
            let write = announced.is_some_and(|access| access.write);
            let may_write = does.may_write || may_fail || write;
            let first = Step {
                task: pick.task,
                number,
                write,
                may_write,
                variable: variable(announced),
                other: variable(other),
            };
            let last = spare.went_ahead(first);
            let loads = !last.write && !last.may_write && has_history(last.variable);
            spare.load = loads.then_some((last.task, last.variable));
            if spare.tells_what_is_passed {
                let (after, step) = spare.classes.after(last.task, last.access(), last.other_access());
                let may_deviate = self.script.taken().iter().any(|choice| choice.is_deviation());
                let number = if may_deviate { trying(after, step) } else { after };
                spare.passed.push(Passed { task: last.task, number, step });
            }
            let pick = Pick { buffer: last.task, task: last.task };
            (pick, last.number, last.access(), last.other_access(), last.does())
        };
        // What is usual tells nothing: who makes the step again may not be asked.
        let choices = self.script.telling();
        let chosen = choices.iter().map(|c| c.chosen);
        spare.steps += 1;
        spare.taken.step(number, chosen.clone(), std::mem::take(&mut spare.pending_delays));
        let runner = Runner { task: pick.task, buffer: pick.buffer };
        if let Ok(end) = result {
            match &mut spare.tasks {
                Some(order) => order.step(runner, &spare.log.accesses, chosen),
                None if spare.is_unclassed => {}
                None if announces && choices.is_empty() => spare.classes.announced(pick.task, announced, other),
                None if announced.is_some_and(|access| has_history(access.variable)) && other.is_none() => {
                    let outcomes = choices.iter().filter(|c| !c.is_deviation()).map(|c| c.chosen);
                    let variable = announced.map_or(Made::NOTHING, |access| access.variable);
                    spare.classes.found(pick.task, variable, context.system.found(&self.node.state), outcomes);
                }
                None if announces => {
                    let accesses: Vec<Access> = announced.into_iter().chain(other).collect();
                    spare.classes.step(pick.task, &accesses, chosen);
                }
                None if spare.log.accesses.iter().any(|a| a.sync) || !choices.is_empty() => {
                    spare.classes.step(pick.task, &spare.log.accesses, chosen);
                }
                None => {}
            }
            if let Some(history) = &mut spare.history {
                history.step(pick.task, does, spare.classes.last_step_of(pick.task));
            }
            if !spare.log.born.is_empty() {
                spare.born(Some(runner));
            }
            if end == Some(End::Finished) {
                match &mut spare.tasks {
                    Some(order) => order.finished(runner),
                    None => spare.finished(pick.task),
                }
            }
            if spare.tasks.is_none() {
                for at in 0..spare.log.finished.len() {
                    spare.finished(spare.log.finished[at]);
                }
            }
        }
        result.map(|_| ())
    }

    /// The schedule so far as that of a bug.
    pub fn found(self, what: crate::search::Bug) -> Found {
        let taken = &self.spare.taken;
        Found { what, cost: self.cost, schedule: taken.schedule(), delays: taken.delays(), cycle: None }
    }
}
