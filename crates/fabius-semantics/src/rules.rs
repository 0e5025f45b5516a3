//! The small-step rules: what one statement does.
//!
//! Paper: Delay-Bounded Scheduling (POPL 2011), section 3 (tasks on one buffer); Asynchronous Programs with
//! Prioritized Task-Buffers (MSR-TR-2012-1), section 3 (levels, several buffers); Iterative Context Bounding for
//! Systematic Testing of Multithreaded Programs (PLDI 2007), section 2 (threads).
//!
//! A rule changes the configuration in place, on the buffer `n` that it is told: its innermost task is the running one,
//! and that one's innermost frame executes its next statement. Every rule but DISPATCH has the implicit premise
//! `level(a(n)) >= top(b(n))` ([`Buffer::may_go_on`](crate::config::Buffer::may_go_on)), which the caller has checked.
//!
//! Deviations:
//! 1. DISPATCH compares the task with the *remaining* pending ones and with the stack apart; the printed premise
//!    compares the stack with the remaining ones, and deadlocks when the task dispatched was the only one above level 0.
//! 2. SWITCH (an idle, empty buffer hands over) is missing in the paper. Here, as in ZIELD, it needs no rule of its own:
//!    buffers without tasks disappear, and the caller chooses the buffer of each step.
//! 3. `await` and `join` are the blocking that the papers have as a parameter: a task of a buffer that meets a false one
//!    becomes pending (WAIT), a thread stays where it is.
//! 4. SPAWN makes a buffer with a running task.
//! 5. Nondeterminism stands alone in a statement (`if *`, `x = any ..`), and a [`Choose`] decides it.
//! 6. YIELD and ZIELD also pass what does nothing behind them (`skip`), which is no step of its own.
//! 7. In a buffer that is declared `fifo` the pending tasks `b(n)` are a sequence: what is added goes to its end, and DISPATCH
//!    takes of a level the first task that could go on ([`crate::run::is_next_in_line`]). The papers have multisets alone.
//!
//! Length: every statement has its rule here, so that they can be read side by side with the papers.

use crate::config::{Buffer, Config, Frame, Object, Task};
use crate::control::Control;
use crate::eval::{Location, Scope, store};
use crate::layout::Layout;
use crate::value::{TaskId, Value};
use fabius_explore::system::{
    ANONYMOUS, Access, Born, BufferId, Choose, DECLARED_BUFFER, FIFO_BUFFER, Fault, Limit, StepLog, end_of,
};
use fabius_lang::program::{
    Base, BufferKind, Check, Entry, Expr, Guard, Level, LocalId, Place, Proc, ProcId, Program, RecordId, Stmt,
    StmtKind, Type,
};
use fabius_trace::{BugKind, Span};
use std::collections::BTreeSet;

/// Active procedures that one task may have.
pub const MAX_FRAMES: usize = 4096;
/// Heap objects at once.
pub const MAX_OBJECTS: usize = 65_535;
/// Unfinished tasks at once.
pub const MAX_TASKS: usize = 65_535;

/// What one statement did, as far as scheduling is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The task goes on.
    Went,
    /// The task has become pending at a `yield`.
    Yielded,
    /// The task is past a `zield`.
    Zielded,
    /// The task has finished.
    Finished,
    /// The `assume` is false, or there is no value to choose: no step.
    Dropped,
    /// The `await` or `join` is false: no step. Inside of an atomic block, this way through it.
    Blocked,
}

/// What is worth telling about a statement besides the change of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// `*` was this.
    Chose(bool),
    /// A value that is given to nothing that has a name was this.
    Picked(i64),
    /// These values were printed.
    Printed(Vec<Value>),
}

/// One small step: the configuration, the buffer, and where to ask and report.
pub struct Small<'a> {
    /// The program.
    pub program: &'a Program,
    /// Facts about it.
    pub layout: &'a Layout,
    /// The configuration.
    pub config: &'a mut Config,
    /// The buffer.
    pub n: BufferId,
    /// Decides nondeterminism.
    pub choose: &'a mut dyn Choose,
    /// Births, accesses, progress.
    pub log: &'a mut StepLog,
    /// What else to tell.
    pub note: Option<Note>,
}

type Outcome = Result<Effect, Fault>;

impl<'a> Small<'a> {
    /// Executes the next statement of the running task.
    pub fn statement(&mut self) -> Outcome {
        let program = self.program;
        let Some(stmt) = self.next() else { return self.return_default() };
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Skip => self.skip(),
            StmtKind::Assign(place, e) => self.assign(place, e, span),
            StmtKind::Any(place, lo, hi) => self.any(place, lo, hi, span),
            StmtKind::New(place, record, es) => self.new_object(place, *record, es, span),
            StmtKind::If(guard, ..) => self.if_(guard),
            StmtKind::While(guard, _) => self.loop_(guard),
            StmtKind::Break => self.break_(),
            StmtKind::Continue => self.continue_(),
            StmtKind::Call(_, p, es) => self.call(*p, es, span),
            StmtKind::Return(es) => {
                let values = self.eval_all(es)?;
                self.return_(values, span)
            }
            StmtKind::Spawn(result, p, es) => self.spawn(*result, *p, es, span),
            StmtKind::Post(result, level, p, es) => self.post(*result, *level, *p, es, span),
            StmtKind::Join(e) => self.join(e),
            StmtKind::Yield => self.yield_(),
            StmtKind::Zield => self.zield(),
            StmtKind::Atomic(_) => self.atomic(),
            StmtKind::Assume(e) => self.assume(e),
            StmtKind::Await(e) => self.await_(e),
            StmtKind::Assert(e, check, _) => self.assert(e, *check, span),
            StmtKind::Print(es) => self.print(es),
            StmtKind::Progress => self.progress(),
            StmtKind::SetInsert(place, e) => self.set_insert(place, e),
            StmtKind::SetRemove(place, e) => self.set_remove(place, e),
            StmtKind::SetRemoveAny(place) => self.set_remove_any(place),
            StmtKind::SetClear(place) => self.set_clear(place),
        }
        .inspect(|_| debug_assert!(self.config.globals.len() == program.globals.len()))
    }

    /// SKIP: continue.
    fn skip(&mut self) -> Outcome {
        self.advance()
    }

    /// ASSIGN `x := e`: `v in eval(e)`; the place has the value `v`.
    fn assign(&mut self, place: &Place, e: &Expr, span: Span) -> Outcome {
        let value = self.eval(e)?;
        self.store(place, value, span)?;
        self.advance()
    }

    /// ASSIGN `x := *`: any `v` from the domain; no step if that is empty.
    fn any(&mut self, place: &Place, lo: &Expr, hi: &Expr, span: Span) -> Outcome {
        let (lo, hi) = (self.eval(lo)?.number(), self.eval(hi)?.number());
        if lo > hi {
            return Ok(Effect::Dropped);
        }
        let most = hi.wrapping_sub(lo) as u64;
        let chosen = match u32::try_from(most).ok().and_then(|most| most.checked_add(1)) {
            Some(alternatives) => u64::from(self.choose(alternatives)),
            None => self.choose.choose_wide(most).ok_or(Fault::Limit(Limit::Choice, span))?,
        };
        let value = lo.wrapping_add(chosen as i64);
        self.store(place, Value::Number(value), span)?;
        if self.is_nameless(place) {
            self.note = Some(Note::Picked(value));
        }
        self.advance()
    }

    /// Whether a place is a local that the front end has made up.
    fn is_nameless(&self, place: &Place) -> bool {
        let frame = self.config.buffers[&self.n].innermost().and_then(|task| task.frames.last());
        match (place.base.clone(), frame) {
            (Base::Local(l), Some(frame)) => self.program.procs[frame.proc].locals[l].name.starts_with('$'),
            _ => false,
        }
    }

    /// ASSIGN `x := new R(e..)`: a fresh object with these fields.
    fn new_object(&mut self, place: &Place, record: RecordId, es: &[Expr], span: Span) -> Outcome {
        let values = Value::Tuple(self.eval_all(es)?);
        self.check(&values, &Type::Record(record), span)?;
        if self.config.heap.len() >= MAX_OBJECTS {
            self.config.collect(self.program);
        }
        if self.config.heap.len() >= MAX_OBJECTS {
            return Err(Fault::Limit(Limit::Heap, span));
        }
        // The least free number.
        let o =
            (0..).zip(self.config.heap.keys()).find(|(n, o)| n != *o).map_or(self.config.heap.len() as u32, |(n, _)| n);
        if self.log.want_accesses {
            self.log.fresh.push(Layout::of_object(o)..Layout::of_object(o + 1));
        }
        self.config.heap.insert(o, Object { record, value: values });
        self.store(place, Value::Reference(Some(o)), span)?;
        self.advance()
    }

    /// IF: into the branch of the guard's value.
    fn if_(&mut self, guard: &Guard) -> Outcome {
        let branch = if self.guard(guard)? { 0 } else { 1 };
        self.enter(branch)
    }

    /// LOOP `while e do s`: `true in eval(e)`: s, then again; `false in eval(e)`: past it.
    fn loop_(&mut self, guard: &Guard) -> Outcome {
        if self.guard(guard)? { self.enter(0) } else { self.advance() }
    }

    /// LOOP: past the innermost `while`.
    fn break_(&mut self) -> Outcome {
        let proc = self.proc();
        self.control().to_loop(proc);
        self.advance()
    }

    /// LOOP: to the innermost `while`.
    fn continue_(&mut self) -> Outcome {
        let proc = self.proc();
        self.control().to_loop(proc);
        Ok(Effect::Went)
    }

    /// CALL `call x := p(e)`: `v in eval(e)`; push `<v, body(p), level(c)>`; the caller waits at the call.
    fn call(&mut self, p: ProcId, es: &[Expr], span: Span) -> Outcome {
        let frame = self.enter_procedure(p, es, span)?;
        let task = self.config.running(self.n);
        if task.frames.len() >= MAX_FRAMES {
            return Err(Fault::Limit(Limit::Recursion, span));
        }
        task.frames.push(frame);
        Ok(Effect::Went)
    }

    /// At the end of a body: RETURN with the default of every result.
    fn return_default(&mut self) -> Outcome {
        let proc = self.proc();
        let values = proc.results.iter().map(|ty| Value::default_of(self.program, ty)).collect();
        self.return_(values, proc.span)
    }

    /// RETURN: pop; the caller, below, stores the results and advances past the call. If there is none: RESUME.
    fn return_(&mut self, values: Vec<Value>, span: Span) -> Outcome {
        for (value, ty) in values.iter().zip(&self.proc().results) {
            self.check(value, ty, span)?;
        }
        if self.config.running(self.n).frames.len() == 1 {
            return self.resume();
        }
        self.config.running(self.n).frames.pop();
        let Some(Stmt { kind: StmtKind::Call(results, ..), span, .. }) = self.next() else {
            panic!("a caller waits at its call")
        };
        for (result, value) in results.iter().zip(values) {
            self.store_local(*result, value, *span)?;
        }
        self.advance()
    }

    /// RESUME: the outermost frame returns; `a(n)` becomes the rest. When `init` does, everything else starts.
    fn resume(&mut self) -> Outcome {
        let buffer = self.config.buffers.get_mut(&self.n).expect("a step is made on a buffer that has tasks");
        let task = buffer.stack.pop().expect("a step is made by a running task");
        if buffer.is_empty() {
            self.config.buffers.remove(&self.n);
        }
        if task.id & ANONYMOUS == 0 {
            self.config.finished.insert(task.id);
        }
        if !self.config.started && task.id == 0 {
            self.start();
        }
        Ok(Effect::Finished)
    }

    /// SPAWN (threads): a new buffer, on whose stack is `<v, body(p), 0>`.
    fn spawn(&mut self, result: Option<LocalId>, p: ProcId, es: &[Expr], span: Span) -> Outcome {
        let frame = self.enter_procedure(p, es, span)?;
        self.check_tasks(span)?;
        let id = self.birth_of_thread(frame);
        self.log_access(end_of(id), true, span);
        self.store_local(result, Value::Handle(Some(id)), span)?;
        self.advance()
    }

    /// POST `post m p(e)`: `v in eval(e)`; add the task `<v, body(p), m>` to `b(n)`.
    fn post(&mut self, result: Option<LocalId>, level: Option<Level>, p: ProcId, es: &[Expr], span: Span) -> Outcome {
        let frame = self.enter_procedure(p, es, span)?;
        self.check_tasks(span)?;
        let level = level.unwrap_or(self.config.running(self.n).level);
        let anonymous = result.is_none() && !self.layout.uses_self[p];
        let id = self.birth_of_task(self.n, level, frame, anonymous);
        self.store_local(result, Value::Handle(Some(id)), span)?;
        self.advance()
    }

    /// JOIN `join h`: enabled when the task has finished; then continue.
    fn join(&mut self, e: &Expr) -> Outcome {
        let Value::Handle(Some(id)) = self.eval(e)? else {
            return Err(Fault::Bug(BugKind::NullDereference, e.span));
        };
        if self.config.find(id).is_some() {
            return Ok(Effect::Blocked);
        }
        self.log_access(end_of(id), false, e.span);
        self.advance()
    }

    /// YIELD: `a(n)` becomes the rest; the task, advanced past the yield, is added to `b(n)`.
    fn yield_(&mut self) -> Outcome {
        self.advance()?;
        self.pass_nothing();
        self.to_pending();
        Ok(Effect::Yielded)
    }

    /// WAIT: a task in front of a false `await` or `join` is added to `b(n)` as it stands.
    pub fn to_pending(&mut self) {
        let buffer = self.config.buffers.get_mut(&self.n).expect("a step is made on a buffer that has tasks");
        let task = buffer.stack.pop().expect("a step is made by a running task");
        buffer.pending.push(task);
    }

    /// ZIELD: advanced past the zield; the active buffer becomes any. (With a single buffer: SKIP.)
    fn zield(&mut self) -> Outcome {
        self.advance()?;
        if self.layout.single_buffer {
            return Ok(Effect::Went);
        }
        self.pass_nothing();
        Ok(Effect::Zielded)
    }

    /// A task that stops stands in front of what does something.
    fn pass_nothing(&mut self) {
        if let Some(frame) = self.config.running(self.n).frames.last_mut() {
            frame.control.pass_all(&self.program.procs[frame.proc]);
        }
    }

    /// ATOMIC: into the block; as long as control is inside there is no scheduling point. Enabled as [`crate::run`] says, if
    /// the block waits elsewhere than at its beginning; a way that is not open then is no step.
    fn atomic(&mut self) -> Outcome {
        self.enter(0)
    }

    /// ASSUME: `true in eval(e)`: continue; no step otherwise.
    fn assume(&mut self, e: &Expr) -> Outcome {
        if self.eval(e)?.is_true() { self.advance() } else { Ok(Effect::Dropped) }
    }

    /// AWAIT: enabled when `true in eval(e)`; then continue.
    fn await_(&mut self, e: &Expr) -> Outcome {
        if self.eval(e)?.is_true() { self.advance() } else { Ok(Effect::Blocked) }
    }

    /// ASSERT: `false in eval(e)`: to the absorbing configuration ERROR; otherwise continue. An invariant is one of these,
    /// in the step of the statement before it.
    fn assert(&mut self, e: &Expr, check: Check, span: Span) -> Outcome {
        let kind = match check {
            Check::Assertion | Check::Invariant => BugKind::Assertion,
            Check::SyncMisuse => BugKind::SyncMisuse,
            Check::Null => BugKind::NullDereference,
            Check::OutOfBounds => BugKind::IndexOutOfBounds,
            Check::Memory => BugKind::Memory,
            Check::Overflow => BugKind::RangeOverflow,
            Check::Leak => BugKind::Leak,
            Check::Bound if !self.eval(e)?.is_true() => return Err(Fault::Limit(Limit::Program, span)),
            Check::Bound => return self.advance(),
        };
        let told = self.log.accesses.len();
        let holds = self.eval(e).map(|v| v.is_true());
        if check == Check::Invariant {
            // Nobody in the program reads this.
            self.log.accesses.truncate(told);
        }
        if holds? { self.advance() } else { Err(Fault::Bug(kind, span)) }
    }

    /// PRINT: an observation, no effect on the configuration.
    fn print(&mut self, es: &[Expr]) -> Outcome {
        self.note = Some(Note::Printed(self.eval_all(es)?));
        self.advance()
    }

    /// PROGRESS: a mark for livelock checking, no effect on the configuration.
    fn progress(&mut self) -> Outcome {
        self.log.progress = true;
        self.advance()
    }

    fn set_insert(&mut self, place: &Place, e: &Expr) -> Outcome {
        let Value::Handle(Some(id)) = self.eval(e)? else {
            return Err(Fault::Bug(BugKind::NullDereference, e.span));
        };
        self.change_set(place, |set, _| {
            set.insert(id);
        })
    }

    fn set_remove(&mut self, place: &Place, e: &Expr) -> Outcome {
        let member = self.eval(e)?;
        self.change_set(place, |set, _| {
            if let Value::Handle(Some(id)) = member {
                set.remove(&id);
            }
        })
    }

    fn set_remove_any(&mut self, place: &Place) -> Outcome {
        self.change_set(place, |set, choose| {
            let chosen = match set.len() as u32 {
                0 | 1 => 0,
                members => choose.choose(members),
            };
            if let Some(id) = set.iter().nth(chosen as usize).copied() {
                set.remove(&id);
            }
        })
    }

    fn set_clear(&mut self, place: &Place) -> Outcome {
        self.change_set(place, |set, _| set.clear())
    }

    /// ASSIGN to a set of threads: what it is after `change`.
    fn change_set(&mut self, place: &Place, change: impl FnOnce(&mut BTreeSet<TaskId>, &mut dyn Choose)) -> Outcome {
        let (location, old) = self.scoped(|scope| {
            let location = scope.locate(place)?;
            let old = scope.read(&location);
            scope.access(&location, true);
            Ok((location, old))
        })?;
        let Value::Set(mut set) = old else { panic!("the place holds a set of threads") };
        change(&mut set, self.choose);
        store(self.config, self.n, &location, Value::Set(set));
        self.advance()
    }

    // Births.

    /// Everything that starts by itself when `init` has finished, or at the very beginning.
    pub fn start(&mut self) {
        self.config.started = true;
        for (i, entry) in self.program.buffers.iter().enumerate() {
            let n = buffer_of(i, entry);
            self.config.buffers.insert(n, Buffer { own: self.own_variables(), ..Buffer::default() });
            let frame = self.fresh_frame(entry.proc);
            self.birth_of_task(n, 0, frame, !self.layout.uses_self[entry.proc]);
        }
        for process in &self.program.processes {
            for _ in 0..process.count.unwrap_or(1) {
                self.birth_of_thread(self.fresh_frame(process.proc));
            }
        }
    }

    /// A thread with its buffer.
    pub fn birth_of_thread(&mut self, frame: Frame) -> TaskId {
        let id = self.config.free_id();
        let task = Task { id, level: 0, frames: vec![frame] };
        self.config.buffers.insert(id, Buffer { own: self.own_variables(), stack: vec![task], pending: vec![] });
        self.log.born.push(Born { task: id, buffer: id, level: 0 });
        id
    }

    /// A pending task.
    fn birth_of_task(&mut self, n: BufferId, level: Level, frame: Frame, anonymous: bool) -> TaskId {
        let id = if anonymous {
            self.config.next_anonymous += 1;
            ANONYMOUS | (self.config.next_anonymous - 1)
        } else {
            self.config.free_id()
        };
        let buffer = self.config.buffers.get_mut(&n).expect("tasks are posted to buffers that have tasks");
        buffer.pending.push(Task { id, level, frames: vec![frame] });
        self.log.born.push(Born { task: id, buffer: n, level });
        id
    }

    /// Initial values of the per-thread variables.
    fn own_variables(&self) -> Vec<Value> {
        initial_values(self.program)
    }

    /// `<defaults, body(p)>`.
    pub fn fresh_frame(&self, p: ProcId) -> Frame {
        let locals = self.program.procs[p].locals.iter().map(|l| Value::default_of(self.program, &l.ty));
        Frame { proc: p, control: Control::start(), locals: locals.collect() }
    }

    fn enter_procedure(&mut self, p: ProcId, es: &[Expr], span: Span) -> Result<Frame, Fault> {
        let values = self.eval_all(es)?;
        let mut frame = self.fresh_frame(p);
        for (i, value) in values.into_iter().enumerate() {
            self.check(&value, &self.program.procs[p].locals[i].ty, span)?;
            frame.locals[i] = value;
        }
        Ok(frame)
    }

    fn check_tasks(&self, span: Span) -> Result<(), Fault> {
        match self.config.tasks().count() {
            MAX_TASKS.. => Err(Fault::Limit(Limit::Tasks, span)),
            _ => Ok(()),
        }
    }

    // The running frame.

    fn proc(&self) -> &'a Proc {
        &self.program.procs[self.config.frame(self.n).expect("a step is made by a running task").proc]
    }

    fn next(&self) -> Option<&'a Stmt> {
        self.config.frame(self.n).and_then(|f| f.control.statement(self.proc()))
    }

    fn control(&mut self) -> &mut Control {
        &mut self.config.frame_mut(self.n).control
    }

    fn advance(&mut self) -> Outcome {
        let proc = self.proc();
        self.control().advance(proc);
        Ok(Effect::Went)
    }

    fn enter(&mut self, block: usize) -> Outcome {
        let proc = self.proc();
        self.control().enter(proc, block);
        Ok(Effect::Went)
    }

    // Values.

    /// Evaluates in the running frame.
    fn scoped<T>(&mut self, f: impl FnOnce(&mut Scope<'_>) -> Result<T, Fault>) -> Result<T, Fault> {
        let task = self.config.buffers[&self.n].innermost().expect("a step is made by a running task");
        let mut scope = scope_of(self.program, self.layout, self.config, self.n, task);
        let result = f(&mut scope);
        let accesses = scope.accesses;
        if self.log.want_accesses {
            self.log.accesses.extend(accesses);
        }
        result
    }

    fn eval(&mut self, e: &Expr) -> Result<Value, Fault> {
        self.scoped(|scope| scope.eval(e))
    }

    fn eval_all(&mut self, es: &[Expr]) -> Result<Vec<Value>, Fault> {
        self.scoped(|scope| scope.eval_all(es))
    }

    fn guard(&mut self, guard: &Guard) -> Result<bool, Fault> {
        match guard {
            Guard::Expr(e) => Ok(self.eval(e)?.is_true()),
            Guard::Star => {
                let chosen = self.choose(2) == 0;
                self.note = Some(Note::Chose(chosen));
                Ok(chosen)
            }
        }
    }

    fn choose(&mut self, alternatives: u32) -> u32 {
        if alternatives == 1 { 0 } else { self.choose.choose(alternatives) }
    }

    fn store(&mut self, place: &Place, value: Value, span: Span) -> Result<(), Fault> {
        let location: Location = self.scoped(|scope| {
            let location = scope.locate(place)?;
            scope.access(&location, true);
            Ok(location)
        })?;
        self.check(&value, &place.ty, span)?;
        store(self.config, self.n, &location, value);
        Ok(())
    }

    fn store_local(&mut self, local: Option<LocalId>, value: Value, span: Span) -> Result<(), Fault> {
        let Some(local) = local else { return Ok(()) };
        self.check(&value, &self.proc().locals[local].ty, span)?;
        self.config.frame_mut(self.n).locals[local] = value;
        Ok(())
    }

    fn check(&self, value: &Value, ty: &Type, span: Span) -> Result<(), Fault> {
        if value.fits(ty, &self.program.records) { Ok(()) } else { Err(Fault::Bug(BugKind::RangeOverflow, span)) }
    }

    fn log_access(&mut self, variable: u64, write: bool, span: Span) {
        if self.log.want_accesses {
            self.log.accesses.push(Access { variable, write, sync: true, span });
        }
    }
}

/// What the innermost frame of a task evaluates its expressions in.
pub fn scope_of<'a>(
    program: &'a Program,
    layout: &'a Layout,
    config: &'a Config,
    buffer: BufferId,
    task: &'a Task,
) -> Scope<'a> {
    let frame = task.frames.last().expect("a task has a frame");
    Scope { program, layout, config, buffer, task: task.id, frame, accesses: Vec::new() }
}

/// Initial values of all globals.
pub fn initial_values(program: &Program) -> Vec<Value> {
    program.globals.iter().map(|g| Value::of_constant(program, &g.ty, &g.init)).collect()
}

/// The declared buffer with this number.
pub fn buffer_of(number: usize, entry: &Entry) -> BufferId {
    let kind = match entry.kind {
        BufferKind::Bag => 0,
        BufferKind::Fifo => FIFO_BUFFER,
    };
    DECLARED_BUFFER | kind | number as BufferId
}

/// DISPATCH, premise: `t1 in b(n)`, `level(t1) >= top(b(n) without t1)` and `level(t1) > level(a(n))`.
pub fn may_dispatch(buffer: &Buffer, t1: usize) -> bool {
    let level = buffer.pending[t1].level;
    let others = buffer.pending.iter().enumerate().filter(|(i, _)| *i != t1).map(|(_, t)| t.level);
    level >= others.max().unwrap_or(0) && buffer.innermost().is_none_or(|t| level > t.level)
}

/// DISPATCH: `a(n) := t1 ++ a(n)`, and `t1` is no longer pending.
pub fn dispatch(buffer: &mut Buffer, t1: usize) {
    let task = buffer.pending.remove(t1);
    buffer.stack.push(task);
}
