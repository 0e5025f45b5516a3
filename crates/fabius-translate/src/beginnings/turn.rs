//! What one thread, or the tasks of one buffer, may do from one place to the next.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), section 2.
//!
//! Deviations:
//! 1. Places are `zield`s, `yield`s that hand over, and heads of loops: so that paths between two of them end.

use super::code::{Code, Op, Passage};
use super::layout::Layout;
use super::values::{Scope, Unknown};
use fabius_lang::program::*;
use std::cell::Cell;

/// A task: procedures, innermost last.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Task {
    level: Level,
    frames: Vec<Frame>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Frame {
    proc: ProcId,
    at: usize,
    locals: Vec<i64>,
}

/// What nobody else sees of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Private {
    /// Globals of its own.
    own: Vec<i64>,
    /// Interrupted tasks, and last the one that runs.
    tasks: Vec<Task>,
    /// Tasks that may run later, sorted.
    pending: Vec<Task>,
    /// Whether others may go on here.
    pub is_parked: bool,
}

impl Private {
    /// Whether nothing is left to do.
    pub fn has_finished(&self) -> bool {
        self.tasks.is_empty()
    }
}

/// A place that a path comes to, with the shared variables there.
pub type Next = (Private, Vec<i64>);

/// A program ready to be followed.
pub struct Turns<'p> {
    pub program: &'p Program,
    pub codes: Vec<Code<'p>>,
    pub globals: Layout,
    /// What all variables are at the beginning.
    pub initial: Vec<i64>,
    /// Where it stands that an assertion has failed.
    pub failed: usize,
    /// Where the shared variables are among the globals (it is the last of them), and those of one thread.
    pub shared: Vec<usize>,
    pub own: Vec<usize>,
    /// Instructions that may still be followed.
    pub left: Cell<u64>,
    pub passages: Vec<Passage>,
    /// The passages on the paths that were followed last, with the values of their locals.
    pub passed: Vec<(usize, Vec<i64>)>,
}

/// A choice among more values is not followed.
const WIDEST: i128 = 64;

/// So many procedures of a task, and so many tasks, are under way at most.
const DEEPEST: usize = 64;

impl Turns<'_> {
    /// A thread that has not begun.
    pub fn begin(&self, proc: ProcId, args: &[Expr]) -> Result<Private, Unknown> {
        let mut all = Vec::new();
        let nothing = Layout::of(self.program, [].into_iter());
        let scope = Scope { program: self.program, globals: (&self.globals, &self.initial), locals: (&nothing, &[]) };
        args.iter().try_for_each(|e| scope.value(e, &mut all))?;
        let own = self.own.iter().map(|i| self.initial[*i]).collect();
        let tasks = vec![Task { level: 0, frames: vec![self.frame(proc, all)] }];
        Ok(Private { own, tasks, pending: Vec::new(), is_parked: true })
    }

    fn frame(&self, proc: ProcId, mut args: Vec<i64>) -> Frame {
        let defaults = &self.codes[proc].locals.defaults;
        args.extend_from_slice(&defaults[args.len()..]);
        Frame { proc, at: 0, locals: args }
    }

    /// All that may be next.
    pub fn follow(&mut self, from: &Private, shared: &[i64], out: &mut Vec<Next>) -> Result<(), Unknown> {
        self.passed.clear();
        self.spend(self.globals.len)?;
        let mut globals = self.initial.clone();
        self.shared.iter().zip(shared).chain(self.own.iter().zip(&from.own)).for_each(|(i, v)| globals[*i] = *v);
        let mut open = vec![Run { globals, tasks: from.tasks.clone(), pending: from.pending.clone(), begins: true }];
        while let Some(mut run) = open.pop() {
            loop {
                self.spend(0)?;
                match self.step(&mut run, &mut open)? {
                    Step::On => {}
                    Step::Nowhere => break,
                    Step::Arrives(is_parked) => {
                        self.spend(self.globals.len)?;
                        out.push(self.arrived(run, is_parked));
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// As much as so many numbers cost.
    pub fn spend(&self, numbers: usize) -> Result<(), Unknown> {
        self.left.set(self.left.get().checked_sub(1 + numbers as u64 / 8).ok_or(Unknown)?);
        Ok(())
    }

    fn arrived(&self, mut run: Run, is_parked: bool) -> Next {
        for task in run.tasks.iter_mut().chain(&mut run.pending) {
            let last = task.frames.len() - 1;
            for (n, frame) in task.frames.iter_mut().enumerate() {
                let code = &self.codes[frame.proc];
                if n == last {
                    frame.at = code.settled(frame.at);
                }
                code.forget(frame.at, n < last, &mut frame.locals);
            }
        }
        run.pending.sort_unstable();
        let own = self.own.iter().map(|i| run.globals[*i]).collect();
        let shared = self.shared.iter().map(|i| run.globals[*i]).collect();
        (Private { own, tasks: run.tasks, pending: run.pending, is_parked }, shared)
    }

    fn step(&mut self, run: &mut Run, open: &mut Vec<Run>) -> Result<Step, Unknown> {
        let begins = std::mem::replace(&mut run.begins, false);
        let level = match run.tasks.last() {
            None => return Ok(Step::Arrives(true)),
            Some(task) => task.level,
        };
        let others_may_run = run.pending.iter().any(|t| t.level == level);
        let frame = run.top();
        let code = &self.codes[frame.proc];
        let op = &code.ops[frame.at];
        frame.at += 1;
        match op {
            Op::Assign(p, e) => {
                let mut value = Vec::new();
                let scope = run.scope(self);
                scope.value(e, &mut value)?;
                let at = scope.place(p)?;
                run.store(p, at, &value);
            }
            Op::Any(p, lo, hi) => {
                let scope = run.scope(self);
                let (lo, hi) = (scope.number(lo)?, scope.number(hi)?);
                let at = scope.place(p)?;
                if matches!(p.ty, Type::Fixed { bits: 64, signed: false }) || i128::from(hi) - i128::from(lo) >= WIDEST
                {
                    return Err(Unknown);
                }
                for v in lo..=hi {
                    self.spend(self.globals.len)?;
                    let mut one = run.clone();
                    one.store(p, at, &[v]);
                    open.push(one);
                }
                return Ok(Step::Nowhere);
            }
            Op::Branch(Guard::Star, otherwise) => {
                let mut other = run.clone();
                self.spend(self.globals.len)?;
                other.top().at = *otherwise;
                open.push(other);
            }
            Op::Branch(Guard::Expr(e), otherwise) => {
                if run.scope(self).number(e)? == 0 {
                    run.top().at = *otherwise;
                }
            }
            Op::Jump(to) => frame.at = *to,
            Op::Again if begins => {}
            Op::Again => {
                frame.at -= 1;
                return Ok(Step::Arrives(false));
            }
            Op::Call(_, proc, es) => {
                let frame = self.frame(*proc, run.values(self, es)?);
                run.task().frames.push(frame);
                if run.task().frames.len() > DEEPEST {
                    return Err(Unknown);
                }
            }
            Op::Return(es) => return self.leave(run, es, open),
            Op::Post(to, proc, es) => {
                let to = to.unwrap_or(level);
                let task = Task { level: to, frames: vec![self.frame(*proc, run.values(self, es)?)] };
                // What is above goes first.
                let list = if to > level { &mut run.tasks } else { &mut run.pending };
                list.push(task);
                if list.len() > DEEPEST {
                    return Err(Unknown);
                }
            }
            Op::Yield if others_may_run => {
                let task = run.tasks.pop().expect("it runs");
                run.pending.push(task);
                self.hand_over(run, open);
                return Ok(Step::Nowhere);
            }
            Op::Yield => {}
            Op::Zield => return Ok(Step::Arrives(true)),
            Op::Assume(e) => {
                if run.scope(self).number(e)? == 0 {
                    return Ok(Step::Nowhere);
                }
            }
            Op::Fail => {
                run.globals[self.failed] = 1;
                return Ok(run.stop());
            }
            // Who is stuck stops, perhaps before what it waits for becomes false for good.
            Op::Await(e) => {
                let goes_on = run.scope(self).number(e)? != 0;
                let mut stuck = run.clone();
                stuck.stop();
                open.push(stuck);
                if !goes_on {
                    return Ok(Step::Nowhere);
                }
            }
            Op::Passage(n) => {
                let value = |l: &LocalId| frame.locals[code.locals.offsets[*l]];
                let values = self.passages[*n].locals.iter().map(value).collect();
                self.passed.push((*n, values));
            }
            Op::Other => return Err(Unknown),
        }
        Ok(Step::On)
    }

    /// A procedure returns; behind the first one of a task, another task goes on.
    fn leave(&self, run: &mut Run, es: &[Expr], open: &mut Vec<Run>) -> Result<Step, Unknown> {
        let program = self.program;
        let proc = run.top().proc;
        let values: Vec<Vec<i64>> = if es.is_empty() {
            let default = |ty: &Type| {
                let mut v = Vec::new();
                super::layout::flatten(&ty.default_value(&program.records), &mut v);
                v
            };
            program.procs[proc].results.iter().map(default).collect()
        } else {
            es.iter().map(|e| run.values(self, std::slice::from_ref(e))).collect::<Result<_, _>>()?
        };
        run.task().frames.pop();
        if run.task().frames.is_empty() {
            run.tasks.pop();
            self.hand_over(run, open);
            return Ok(Step::Nowhere);
        }
        let frame = run.top();
        let code = &self.codes[frame.proc];
        let Op::Call(results, ..) = &code.ops[frame.at - 1] else { unreachable!("it was called") };
        for (to, value) in results.iter().zip(values) {
            if let Some(l) = to {
                let range = code.locals.of_one(*l);
                frame.locals[range].copy_from_slice(&value);
            }
        }
        Ok(Step::On)
    }

    /// Any of the highest pending tasks goes on, unless one that was interrupted is at their level.
    fn hand_over(&self, run: &Run, open: &mut Vec<Run>) {
        let highest = run.pending.iter().map(|t| t.level).max();
        match highest {
            Some(level) if run.tasks.last().is_none_or(|t| t.level < level) => {
                for i in (0..run.pending.len()).filter(|i| run.pending[*i].level == level) {
                    let mut one = run.clone();
                    let task = one.pending.remove(i);
                    one.tasks.push(task);
                    open.push(one);
                }
            }
            _ => open.push(run.clone()),
        }
    }
}

enum Step {
    On,
    Nowhere,
    /// At a place; whether others may go on there.
    Arrives(bool),
}

#[derive(Clone)]
struct Run {
    globals: Vec<i64>,
    tasks: Vec<Task>,
    pending: Vec<Task>,
    /// Nothing was done yet.
    begins: bool,
}

impl Run {
    /// Nothing is done any more.
    fn stop(&mut self) -> Step {
        self.tasks.clear();
        self.pending.clear();
        Step::Arrives(true)
    }

    fn task(&mut self) -> &mut Task {
        self.tasks.last_mut().expect("a task runs")
    }

    fn top(&mut self) -> &mut Frame {
        self.task().frames.last_mut().expect("a task runs a procedure")
    }

    fn scope<'a>(&'a self, turns: &'a Turns<'_>) -> Scope<'a> {
        let frame = self.tasks.last().and_then(|t| t.frames.last()).expect("a task runs a procedure");
        Scope {
            program: turns.program,
            globals: (&turns.globals, &self.globals),
            locals: (&turns.codes[frame.proc].locals, &frame.locals),
        }
    }

    fn values(&self, turns: &Turns<'_>, es: &[Expr]) -> Result<Vec<i64>, Unknown> {
        let mut all = Vec::new();
        let scope = self.scope(turns);
        es.iter().try_for_each(|e| scope.value(e, &mut all))?;
        Ok(all)
    }

    fn store(&mut self, p: &Place, at: usize, value: &[i64]) {
        let list = match p.base {
            Base::Global(_) => &mut self.globals,
            _ => &mut self.top().locals,
        };
        list[at..at + value.len()].copy_from_slice(value);
    }
}
