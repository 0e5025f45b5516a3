//! What is kept of an execution while it goes on, and what of that can be used again for the next one.

use crate::conflicts::{Does, History};
use crate::dispatcher::Dispatcher;
use crate::marks::Marks;
use crate::others::Entry;
use crate::race::{Classes, HappensBefore, Runner};
use crate::system::{ANONYMOUS, Access, Made, StepLog, TaskId};
use crate::taken::Taken;
use fabius_trace::Span;

/// A step as it was announced.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub task: TaskId,
    /// The number of creation of the task.
    pub number: u32,
    pub write: bool,
    pub may_write: bool,
    /// What it accesses, or [`Made::NOTHING`].
    pub variable: u64,
    pub other: u64,
}

impl Step {
    pub fn access(self) -> Option<Access> {
        access(self.variable, self.write)
    }

    pub fn other_access(self) -> Option<Access> {
        access(self.other, true)
    }

    pub fn does(self) -> Does {
        let (access, other) = (self.access(), self.other_access());
        Does { access, other, may_write: self.may_write, waits_for_more: false }
    }
}

fn access(variable: u64, write: bool) -> Option<Access> {
    (variable != Made::NOTHING).then_some(Access { variable, write, sync: true, span: Span::default() })
}

/// A step, the class that it came to, and its own number.
#[derive(Clone, Copy)]
pub(crate) struct Passed {
    pub task: TaskId,
    pub number: u128,
    pub step: u128,
}

/// What can be used again for the next execution, if there was one.
#[derive(Default)]
pub(crate) struct Spare(pub Option<Box<Kept>>);

impl Spare {
    /// What conflicts will be known of the next execution.
    pub fn with_history(mut self) -> Spare {
        self.0.get_or_insert_default().history.get_or_insert_default();
        self
    }

    /// The next execution begins with this path, and the last one, if there was one, had that. What is known of the points that they
    /// have in common is not found out again.
    pub fn with_marks(mut self, path: &[Entry], last: &[Entry]) -> Spare {
        self.0.get_or_insert_default().marks.begin(path, last);
        self
    }

    /// From here on everything is told of all steps.
    pub fn must_be_told(&mut self) {
        self.0.get_or_insert_default().marks.are_told = true;
    }

    /// The class of the next execution is asked for.
    pub fn with_class(mut self) -> Spare {
        self.0.get_or_insert_default().is_unclassed = false;
        self
    }

    /// It is not, and so is not found out.
    pub fn without_class(mut self) -> Spare {
        self.0.get_or_insert_default().is_unclassed = true;
        self
    }

    /// It is found out again.
    pub fn without_marks(mut self) -> Spare {
        if let Some(kept) = &mut self.0 {
            kept.marks.off();
        }
        self
    }

    /// It will not.
    pub fn without_history(mut self) -> Spare {
        if let Some(kept) = &mut self.0 {
            kept.history = None;
        }
        self
    }
}

#[derive(Default)]
pub(crate) struct Kept {
    /// What happened before what: of threads, and of tasks in buffers.
    pub classes: Classes,
    /// Whether nobody asks for the class, so that it is not found out.
    pub is_unclassed: bool,
    /// Where bounded reduction needs it.
    pub history: Option<Box<History>>,
    pub tasks: Option<HappensBefore>,
    pub log: StepLog,
    pub taken: Taken,
    /// What was done in the last execution.
    pub taken_last: Taken,
    /// What is known of points of that, and of this one.
    pub marks: Marks,
    /// What the steps of the last move came to, and the last one as is said ahead of it.
    pub passed: Vec<Passed>,
    /// Whether that is asked.
    pub tells_what_is_passed: bool,
    pub pending_delays: u32,
    /// The last step, if it is a load of a variable with a history.
    pub load: Option<(TaskId, u64)>,
    pub steps: u32,
    /// Numbers of creation of the unfinished tasks.
    pub numbers: Vec<u32>,
    pub born: u32,
    pub dispatcher: Option<Dispatcher>,
}

impl Kept {
    pub fn clear(&mut self) {
        self.classes.clear();
        if let Some(history) = &mut self.history {
            history.clear();
        }
        self.tasks = None;
        std::mem::swap(&mut self.taken, &mut self.taken_last);
        self.taken.clear();
        self.tells_what_is_passed = false;
        self.pending_delays = 0;
        self.load = None;
        self.steps = 0;
        self.numbers.clear();
        self.born = 0;
    }

    /// Several steps were made, the first of which was announced. What happened in the last one is told otherwise: what is
    /// known of it.
    pub fn went_ahead(&mut self, first: Step) -> Step {
        let ahead = std::mem::take(&mut self.log.ahead);
        let last = match ahead.split_last() {
            Some((&Made::Step { task, write, may_write, variable, other }, before)) => {
                match self.history.take() {
                    Some(mut history) => {
                        self.follow(Some(first), before, Some(&mut history));
                        self.history = Some(history);
                    }
                    None => self.follow_plainly(first, before),
                }
                Step { task, number: self.numbers[index(task)], write, may_write, variable, other }
            }
            _ => first,
        };
        self.log.ahead = ahead;
        last
    }

    /// How many steps the execution repeats, if all is known of what they come to, so that nothing need be told of them.
    pub fn untold(&self) -> u32 {
        let is_plain = self.history.is_none() && self.taken.steps() == 0;
        self.marks.wanted().filter(|steps| is_plain && self.marks.knows(*steps)).unwrap_or(0)
    }

    /// What the first step and those behind it come to, where it is not asked what conflicts. What is known of those that the execution
    /// repeats is not found out again.
    fn follow_plainly(&mut self, first: Step, before: &[Made]) {
        let Some((steps, at)) = self.repeats(before) else {
            return match self.is_unclassed && !self.marks.is_on {
                true => self.follow_unclassed(first, before),
                false => self.follow(Some(first), before, None),
            };
        };
        let Kept { classes, taken, numbers, marks, born, .. } = self;
        if marks.put_back(steps, (!self.is_unclassed).then_some(classes), numbers, born) {
            taken.begin_like(&self.taken_last, steps as usize);
            self.steps = steps;
        } else {
            self.follow(Some(first), &before[..at], None);
            self.mark();
        }
        self.follow(None, &before[at..], None);
    }

    /// The same where no class is found out and no point is remembered: only who made the steps is.
    fn follow_unclassed(&mut self, first: Step, before: &[Made]) {
        let Kept { taken, numbers, .. } = self;
        let steps = taken.steps();
        taken.step(first.number, std::iter::empty(), std::mem::take(&mut self.pending_delays));
        for made in before {
            match *made {
                Made::Step { task, .. } => taken.step(numbers[index(task)], std::iter::empty(), 0),
                Made::Born(task) => number_of(numbers, &mut self.born, task),
                Made::Others(_) | Made::Untold(_) | Made::Finished(_) => {}
            }
        }
        self.steps += taken.steps() - steps;
    }

    /// If the first step and some of these are those that the execution repeats: how many these are, and where the others begin.
    fn repeats(&self, before: &[Made]) -> Option<(u32, usize)> {
        let steps = self.marks.wanted().filter(|_| self.steps == 0 && self.taken.steps() == 0)?;
        if let Some(untold) = before.iter().position(|made| matches!(made, Made::Untold(_))) {
            return Some((steps, untold + 1));
        }
        let (mut at, mut left) = (0, steps);
        while let Some(made) = before.get(at) {
            left -= u32::from(matches!(made, Made::Step { .. }));
            if left == 0 {
                break;
            }
            at += 1;
        }
        (left <= 1).then_some((steps, at))
    }

    /// What the first step and those behind it come to, but for the last one.
    #[inline(always)]
    fn follow(&mut self, first: Option<Step>, before: &[Made], mut history: Option<&mut History>) {
        let Kept { classes, taken, numbers, marks, is_unclassed, passed, .. } = self;
        let tells_what_is_passed = self.tells_what_is_passed;
        let is_classed = !*is_unclassed;
        let mut pass = |classes: &Classes, task| {
            if tells_what_is_passed {
                passed.push(Passed { task, number: classes.number(), step: classes.last_step_of(task) });
            }
        };
        let (mut runs, mut children, steps) = (0, 0, taken.steps());
        let mut others_go_on = false;
        if let Some(first) = first {
            if is_classed {
                classes.made(first.task, first.variable, first.write, first.other);
            }
            if let Some(history) = &mut history {
                history.step(first.task, first.does(), classes.last_step_of(first.task));
            }
            taken.step(first.number, std::iter::empty(), std::mem::take(&mut self.pending_delays));
            pass(classes, first.task);
            runs = first.task;
        }
        for made in before {
            match *made {
                Made::Step { task, write, may_write, variable, other } => {
                    if others_go_on {
                        others_go_on = false;
                        marks.add(
                            self.steps + taken.steps() - steps,
                            is_classed.then_some(&*classes),
                            numbers,
                            self.born,
                        );
                    }
                    if is_classed {
                        classes.made(task, variable, write, other);
                    }
                    let number = numbers[index(task)];
                    if let Some(history) = &mut history {
                        let step = Step { task, number, write, may_write, variable, other };
                        history.step(task, step.does(), classes.last_step_of(task));
                    }
                    taken.step(number, std::iter::empty(), 0);
                    pass(classes, task);
                    (runs, children) = (task, 0);
                }
                Made::Others(_) => others_go_on = true,
                Made::Untold(_) => {}
                Made::Born(task) => {
                    if is_classed {
                        classes.born(Some(runs), children, task);
                    }
                    if let Some(history) = &mut history {
                        history.born(Some(runs), task, classes.last_step_of(task));
                    }
                    children += 1;
                    number_of(numbers, &mut self.born, task);
                }
                Made::Finished(task) => {
                    if is_classed {
                        classes.finished(task);
                    }
                    if let Some(history) = &mut history {
                        history.finished(task);
                    }
                }
            }
        }
        self.steps += taken.steps() - steps;
        if others_go_on {
            self.mark();
        }
    }

    /// Remembers what is known of this point, from which others will go on.
    pub fn mark(&mut self) {
        let classes = (!self.is_unclassed).then_some(&self.classes);
        self.marks.add(self.steps, classes, &self.numbers, self.born);
    }

    /// A thread has finished in its last step.
    pub fn finished(&mut self, task: TaskId) {
        if !self.is_unclassed {
            self.classes.finished(task);
        }
        if let Some(history) = &mut self.history {
            history.finished(task);
        }
    }

    /// Tasks were born in the last step.
    pub fn born(&mut self, parent: Option<Runner>) {
        for (number, b) in self.log.born.iter().enumerate() {
            match &mut self.tasks {
                Some(order) => order.born(parent, b),
                None => {
                    let parent = parent.map(|p| p.task);
                    if !self.is_unclassed {
                        self.classes.born(parent, number, b.task);
                    }
                    if let Some(history) = &mut self.history {
                        history.born(parent, b.task, self.classes.last_step_of(b.task));
                    }
                }
            }
            number_of(&mut self.numbers, &mut self.born, b.task);
        }
    }
}

/// A task was born: it gets the next number.
fn number_of(numbers: &mut Vec<u32>, born: &mut u32, task: TaskId) {
    let at = index(task);
    if at >= numbers.len() {
        numbers.resize(at + 1, 0);
    }
    numbers[at] = *born;
    *born += 1;
}

#[inline]
pub(crate) fn index(task: TaskId) -> usize {
    (task & !ANONYMOUS) as usize * 2 + usize::from(task & ANONYMOUS != 0)
}
