//! The interpreter: runs instructions from one scheduling point to the next.
//!
//! References are coded as the number of the object and handles as the id of the task, both plus 1, so that 0 is null.
//! What ends a step or jumps is here; `plain` has the instructions that go on with the next one, `operands` what they read
//! and write, `waiting` the guards of `await` and `join`, `through`
//! those of atomic blocks that wait elsewhere than at their beginning, `births` how tasks begin and end.

mod births;
mod operands;
mod plain;
mod through;
pub(crate) mod values;
pub(crate) mod waiting;

pub(crate) use operands::{operand, peek};

use crate::code::{Arg, Instr};
use crate::compile::Compiled;
use crate::limits::{OFTEN, StepLimits};
use crate::state::{State, Task};
use fabius_explore::system::{Choose, End, Fault, Limit, StepLog, TaskId};
use fabius_lang::program::Program;
use fabius_trace::{BugKind, Span};

const MAX_STATEMENTS: u32 = 1_000_000;

/// What a run needs besides the state.
pub(crate) struct Exec<'a> {
    pub(crate) limits: StepLimits<'a>,
    pub(crate) source: &'a Program,
    pub(crate) program: &'a Compiled,
    pub(crate) state: &'a mut State,
    pub(crate) choose: &'a mut dyn Choose,
    pub(crate) log: &'a mut StepLog,
    pub(crate) temps: Vec<i64>,
    /// Whether the step has come to a wait inside of an atomic block that is not open.
    pub(crate) blocked: bool,
}

/// How far a task runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Its next scheduling point.
    Point,
    /// Its first statement that others may observe.
    Visible,
    /// The end of the atomic block that it is in.
    Through,
}

fn bug<T>(kind: BugKind, span: Span) -> Result<T, Fault> {
    Err(Fault::Bug(kind, span))
}

fn limit<T>(limit: Limit, span: Span) -> Result<T, Fault> {
    Err(Fault::Limit(limit, span))
}

impl Exec<'_> {
    /// The initial state, but for the prefixes that make a failed assumption `false`.
    pub(crate) fn initial(&mut self) -> Result<bool, Fault> {
        self.state.words.clone_from(&self.program.globals.initial);
        match self.source.init {
            Some(init) => {
                self.birth_of_thread(init);
            }
            None => self.start(),
        }
        self.prefixes(0)
    }

    /// Runs a ready task to its next scheduling point.
    pub(crate) fn step(&mut self, id: TaskId) -> Result<End, Fault> {
        let index = self.state.index(id).expect("only unfinished tasks are run");
        self.make_running(index);
        self.run(id, Until::Point)
    }

    /// DISPATCH, if the task is pending. One of its level that waits on the stack makes way.
    fn make_running(&mut self, index: usize) {
        let Task { on_stack, buffer, level, .. } = self.state.tasks[index];
        if on_stack {
            return;
        }
        if let Some(inner) = self.state.innermost(buffer)
            && self.state.tasks[inner].level >= level
        {
            self.state.tasks[inner].on_stack = false;
        }
        self.state.tasks[index].on_stack = true;
    }

    /// The threads born since do what comes before their first visible statement.
    fn prefixes(&mut self, first: usize) -> Result<bool, Fault> {
        let mut i = first;
        let last = self.log.born.len();
        while i < last {
            let born = self.log.born[i];
            i += 1;
            if born.task == born.buffer
                && self.state.index(born.task).is_some()
                && self.run(born.task, Until::Visible)? == End::Dropped
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn run(&mut self, id: TaskId, until: Until) -> Result<End, Fault> {
        let program = self.program;
        let code = &program.code;
        let mut fuel = MAX_STATEMENTS;
        let mut index = self.state.index(id).expect("the task is unfinished");
        let mut pc = self.state.tasks[index].pc as usize;
        // Whether there was a choice.
        let mut chose = false;
        macro_rules! rest {
            ($pc:expr, $end:expr) => {{
                self.state.tasks[index].pc = code.settled[$pc];
                return Ok($end);
            }};
        }
        loop {
            let instr = code.instrs[pc];
            let here = pc;
            pc += 1;
            match instr {
                Instr::Point => {
                    self.state.tasks[index].pc = code.behind[pc];
                    return Ok(End::Point);
                }
                Instr::Mark => {
                    if until == Until::Visible {
                        rest!(here, End::Point)
                    }
                }
                Instr::Jump { to } => pc = to as usize,
                Instr::Loop { to, fuel: burnt } => {
                    pc = to as usize;
                    let before = fuel;
                    fuel = fuel.saturating_sub(burnt);
                    self.burn(before, fuel, chose, here)?;
                }
                Instr::Meet => {
                    if chose {
                        if self.comes_back(index, here) {
                            // The other way makes the same accesses, and goes on; or nobody else is there, or nobody follows.
                            self.log.accesses.clear();
                            // Accesses are seen by those, too, that have finished.
                            let is_alone = self.state.tasks.len() == 1 && !self.log.wants_races;
                            if !is_alone && self.choose.follows_rounds() {
                                self.state.tasks[index].pc = pc as u32;
                                return self.follow_round(id, until, here);
                            }
                            let is_seen = self.choose.goes_round() && !is_alone;
                            if is_seen || self.choose.minds_rounds() {
                                return limit(Limit::EndlessStep, code.infos[here].at);
                            }
                            return Ok(End::Dropped);
                        }
                        if self.choose.is_full() {
                            return limit(Limit::Memory, code.infos[here].at);
                        }
                    }
                }
                Instr::Unless { cmp, a, b, to } => {
                    let holds = cmp.holds(self.read(index, a, here, 0), self.read(index, b, here, 1));
                    if !holds {
                        pc = to as usize;
                    }
                }
                Instr::Star { to } => {
                    chose = true;
                    if self.choose.choose(2) == 1 {
                        pc = to as usize;
                    }
                }
                Instr::Choose { dst, a, b } => {
                    chose = true;
                    match self.between(index, a, b, here)? {
                        Some(chosen) => self.write(index, dst, chosen, here),
                        None => return Ok(End::Dropped),
                    }
                }
                Instr::Assume { cmp, a, b } => {
                    if !cmp.holds(self.read(index, a, here, 0), self.read(index, b, here, 1)) {
                        return Ok(End::Dropped);
                    }
                }
                Instr::Await { guard } => {
                    if let Some(end) = self.waits(index, guard, here)? {
                        debug_assert!(until != Until::Visible, "a prefix ends in front of what may wait");
                        return Ok(end);
                    }
                }
                Instr::Yield => {
                    self.state.tasks[index].on_stack = false;
                    rest!(pc, End::Yield)
                }
                Instr::Zield => rest!(pc, End::Point),
                // Inside of an atomic block there is no other one.
                Instr::Interruptible if until == Until::Through => return Ok(End::Point),
                Instr::Interruptible => {
                    let task = &self.state.tasks[index];
                    if task.level < self.state.top(task.buffer) {
                        rest!(pc, End::Interrupted)
                    }
                }
                Instr::Call { site } => {
                    fuel = fuel.saturating_sub(1);
                    self.burn(fuel + 1, fuel, false, here)?;
                    pc = self.call(index, site, code.infos[here].at)?;
                }
                Instr::Return { values, words } => match self.give_back(index, values, words) {
                    Some(back) => pc = back,
                    None => {
                        let birth = self.log.born.len();
                        self.finish(index);
                        return Ok(if self.prefixes(birth)? { End::Finished } else { End::Dropped });
                    }
                },
                Instr::Fork { fork } => {
                    let birth = self.log.born.len();
                    if birth % 16 == 15 {
                        self.look(code.infos[here].at)?;
                    }
                    self.fork(index, fork, code.infos[here].at)?;
                    // What the threads that are born do before their first visible statement is followed by what is here.
                    index = self.state.index(id).expect("it is still running");
                    self.state.tasks[index].pc = pc as u32;
                    if !self.prefixes(birth)? {
                        return Ok(End::Dropped);
                    }
                    index = self.state.index(id).expect("it is still running");
                }
                other => self.plain(index, other, here)?,
            }
        }
    }

    /// A number between two operands; `None` if there is none.
    fn between(&mut self, index: usize, a: Arg, b: Arg, here: usize) -> Result<Option<i64>, Fault> {
        let (lo, hi) = (self.read(index, a, here, 0), self.read(index, b, here, 1));
        if lo > hi {
            return Ok(None);
        }
        if !self.source.tried.is_empty()
            && let Some(values) = self.source.tried.get(&(self.program.code.infos[here].at, lo, hi))
            && !values.is_empty()
        {
            return Ok(Some(self.choose.choose_among(values, lo, hi)));
        }
        let most = hi.wrapping_sub(lo) as u64;
        let chosen = match u32::try_from(most).ok().and_then(|most| most.checked_add(1)) {
            Some(1) => 0,
            Some(alternatives) => u64::from(self.choose.choose(alternatives)),
            None => match self.choose.choose_wide(most) {
                Some(chosen) => chosen,
                None => return limit(Limit::Choice, self.program.code.infos[here].at),
            },
        };
        Ok(Some(lo.wrapping_add(chosen as i64)))
    }

    /// A loop or a call uses up what a step may run; now and then, and after a choice, the limits are looked at.
    #[inline(always)]
    fn burn(&self, before: u32, fuel: u32, chose: bool, here: usize) -> Result<(), Fault> {
        if fuel == 0 {
            return limit(Limit::EndlessStep, self.program.code.infos[here].at);
        }
        if fuel / OFTEN != before / OFTEN || chose {
            self.look(self.program.code.infos[here].at)?;
        }
        Ok(())
    }

    /// Gives up if a limit of the search is hit.
    #[cold]
    fn look(&self, span: Span) -> Result<(), Fault> {
        match self.limits.hit(self.state) {
            Some(hit) => limit(hit, span),
            None if self.choose.is_full() => limit(Limit::Memory, span),
            None => Ok(()),
        }
    }
}
