//! Steps: from one scheduling point to the next.
//!
//! Paper: as in [`crate::rules`]. A step of Iterative Context Bounding (PLDI 2007) is one access to a shared variable
//! and what follows it locally; one of Delay-Bounded Scheduling (POPL 2011) is what a task does between dispatch and yield.
//!
//! Deviations:
//! 1. What a thread does before its first access to shared state belongs to the step that spawned it.

use crate::config::{Buffer, Config, Task, Whereabouts};
use crate::layout::Layout;
use crate::rules::{Effect, Note, Small, dispatch, scope_of};
use crate::value::{TaskId, Value};
use fabius_explore::system::{BufferId, Choose, End, FIFO_BUFFER, Fault, Limit, StepLog};
use fabius_explore::ways::Ways;
use fabius_lang::program::{Access, Expr, Guard, Program, Stmt, StmtKind};
use fabius_lang::walk::{first_wait, is_nothing};

/// Statements that one step may have.
pub const MAX_STATEMENTS: usize = 1_000_000;

/// Watches the statements of a step.
pub trait Observer {
    /// Before the next statement of the running task of buffer `n`; `None` at the end of a body.
    fn before(&mut self, config: &Config, n: BufferId, stmt: Option<&Stmt>);
    /// After it.
    fn after(&mut self, config: &Config, note: Option<Note>);
}

/// Watches nothing.
pub struct Blind;

impl Observer for Blind {
    fn before(&mut self, _: &Config, _: BufferId, _: Option<&Stmt>) {}
    fn after(&mut self, _: &Config, _: Option<Note>) {}
}

/// What steps are made with.
pub struct Run<'a> {
    /// The program.
    pub program: &'a Program,
    /// Facts about it.
    pub layout: &'a Layout,
    /// Decides nondeterminism.
    pub choose: &'a mut dyn Choose,
    /// Births, accesses, progress.
    pub log: &'a mut StepLog,
    /// Watches.
    pub observer: &'a mut dyn Observer,
}

impl Run<'_> {
    /// The initial configuration. `None` if an assumption fails before the first scheduling point.
    pub fn initial(&mut self) -> Result<Option<Config>, Fault> {
        let mut config = Config { globals: crate::rules::initial_values(self.program), ..Config::default() };
        let mut small = self.small(&mut config, 0);
        match small.program.init {
            Some(init) => {
                let frame = small.fresh_frame(init);
                small.birth_of_thread(frame);
            }
            None => small.start(),
        }
        Ok(self.prefixes(&mut config, 0)?.then_some(config))
    }

    /// Runs a task that is ready to its next scheduling point.
    pub fn step(&mut self, config: &mut Config, task: TaskId) -> Result<End, Fault> {
        let n = make_running(config, task);
        let thread = task == n;
        // What does nothing is no step of its own.
        let mut begun = false;
        for _ in 0..MAX_STATEMENTS {
            if begun && let Some(end) = self.point(config, n, thread) {
                return Ok(end);
            }
            let next = config.buffers[&n].innermost().and_then(|t| next_statement(self.program, t));
            begun |= !next.is_some_and(is_nothing);
            match self.one_with_births(config, n)? {
                Effect::Went => {}
                Effect::Yielded => return Ok(End::Yield),
                Effect::Zielded => return Ok(End::Point),
                Effect::Finished => return Ok(End::Finished),
                Effect::Dropped => return Ok(End::Dropped),
                // Another way through the block comes to no false `await`. This one is undone, with what it has read.
                Effect::Blocked => {
                    self.log.accesses.clear();
                    return Ok(End::Dropped);
                }
            }
        }
        Err(Fault::Limit(Limit::EndlessStep, self.program.procs[config.frame(n).map_or(0, |f| f.proc)].span))
    }

    /// Whether the running task of `n` has come to a scheduling point, and to which.
    fn point(&self, config: &mut Config, n: BufferId, thread: bool) -> Option<End> {
        let buffer = &config.buffers[&n];
        let task = buffer.innermost()?;
        if inside_atomic(self.program, task) {
            return None;
        }
        if !buffer.may_go_on() {
            return Some(End::Interrupted);
        }
        let stmt = next_statement(self.program, task)?;
        if !stops_at(self.program, self.layout, config, n, task, stmt) {
            return None;
        }
        if thread || self.layout.point.is_some_and(|least| stmt.access >= least) {
            return Some(End::Point);
        }
        // WAIT.
        let buffer = config.buffers.get_mut(&n).expect("a running task has a buffer");
        let task = buffer.stack.pop().expect("there is a running task");
        buffer.pending.push(task);
        Some(End::Wait)
    }

    /// The threads born since `first` do what comes before their first access. `false` if an assumption fails.
    fn prefixes(&mut self, config: &mut Config, first: usize) -> Result<bool, Fault> {
        let mut next = first;
        // A prefix may be all that `init` does, and then its end makes more threads.
        while let Some(thread) = self.log.born.get(next).copied() {
            next += 1;
            if thread.task != thread.buffer {
                continue;
            }
            for statement in 0.. {
                let Some((n, task)) = config.task(thread.task) else { break };
                let next = next_statement(self.program, task);
                if ends_prefix(self.program, task) {
                    break;
                }
                if statement == MAX_STATEMENTS {
                    let span = next.map_or_else(Default::default, |s| s.span);
                    return Err(Fault::Limit(Limit::EndlessStep, span));
                }
                match self.one(config, n)? {
                    Effect::Went => {}
                    Effect::Finished => break,
                    Effect::Dropped => return Ok(false),
                    Effect::Yielded | Effect::Zielded | Effect::Blocked => unreachable!("these are visible"),
                }
            }
        }
        Ok(true)
    }

    /// One statement, and what the threads that it makes do before their first access.
    fn one_with_births(&mut self, config: &mut Config, n: BufferId) -> Result<Effect, Fault> {
        let born = self.log.born.len();
        let effect = self.one(config, n)?;
        if self.prefixes(config, born)? { Ok(effect) } else { Ok(Effect::Dropped) }
    }

    fn one(&mut self, config: &mut Config, n: BufferId) -> Result<Effect, Fault> {
        let stmt = config.buffers[&n].innermost().and_then(|t| next_statement(self.program, t));
        self.observer.before(config, n, stmt);
        let mut small = self.small(config, n);
        let effect = small.statement()?;
        let note = small.note;
        self.observer.after(config, note);
        Ok(effect)
    }

    fn small<'b>(&'b mut self, config: &'b mut Config, n: BufferId) -> Small<'b> {
        Small { program: self.program, layout: self.layout, config, n, choose: self.choose, log: self.log, note: None }
    }
}

/// Whether a task that may go on, and is not inside of `atomic`, stops in front of its next statement.
fn stops_at(program: &Program, layout: &Layout, config: &Config, n: BufferId, task: &Task, stmt: &Stmt) -> bool {
    !is_nothing(stmt)
        && (layout.point.is_some_and(|least| stmt.access >= least) || !is_ready(program, layout, config, n, task))
}

/// Whether a thread that has made a statement of a step has come to a scheduling point.
pub fn thread_stops(program: &Program, layout: &Layout, config: &Config, task: &Task) -> bool {
    let next = next_statement(program, task);
    !inside_atomic(program, task) && next.is_some_and(|stmt| stops_at(program, layout, config, task.id, task, stmt))
}

/// Whether a new thread stands in front of its first access.
pub fn ends_prefix(program: &Program, task: &Task) -> bool {
    let is_visible = |s: &Stmt| s.access > Access::Local || matches!(s.kind, StmtKind::Yield | StmtKind::Zield);
    next_statement(program, task).is_some_and(is_visible) && !inside_atomic(program, task)
}

/// The next statement of a task; `None` at the end of a body.
pub fn next_statement<'p>(program: &'p Program, task: &Task) -> Option<&'p Stmt> {
    let frame = task.frames.last()?;
    frame.control.statement(&program.procs[frame.proc])
}

/// Whether the task is inside `atomic`, in any of its active procedures.
fn inside_atomic(program: &Program, task: &Task) -> bool {
    task.frames.iter().any(|f| f.control.inside_atomic(&program.procs[f.proc]))
}

/// Whether the next statement, after those that do nothing, is not a false `await` or `join`.
pub fn is_ready(program: &Program, layout: &Layout, config: &Config, n: BufferId, task: &Task) -> bool {
    let Some(frame) = task.frames.last() else { return true };
    let proc = &program.procs[frame.proc];
    let mut control = frame.control.clone();
    for _ in 0..MAX_STATEMENTS {
        let Some(stmt) = control.statement(proc) else { return true };
        if !is_nothing(stmt) {
            return condition(stmt, layout).is_none_or(|wait| holds(program, layout, config, n, task, wait));
        }
        control.pass(proc);
    }
    // A loop that does nothing.
    true
}

/// DISPATCH, premise in a `fifo` buffer: no pending task of the same level that stands before this one could go on.
pub fn is_next_in_line(
    program: &Program,
    layout: &Layout,
    config: &Config,
    (n, buffer): (BufferId, &Buffer),
    at: usize,
) -> bool {
    let level = buffer.pending[at].level;
    let mut before = buffer.pending[..at].iter().filter(|t| t.level == level);
    n & FIFO_BUFFER == 0 || !before.any(|t| is_ready(program, layout, config, n, t))
}

/// Whether the task stands in front of a wait that may last for ever.
pub fn may_rest(program: &Program, task: &Task) -> bool {
    let Some(frame) = task.frames.last().filter(|_| !program.rests.is_empty()) else { return false };
    let proc = &program.procs[frame.proc];
    let mut control = frame.control.clone();
    control.pass_all(proc);
    let wait = control.statement(proc).and_then(first_wait);
    wait.is_some_and(|wait| program.rests.contains(&wait.span))
}

/// What a statement waits for.
#[derive(Clone, Copy)]
enum Wait<'p> {
    Until(&'p Expr),
    EndOf(&'p Expr),
    /// A way through the block.
    AnyWay,
}

fn condition<'p>(stmt: &'p Stmt, layout: &Layout) -> Option<Wait<'p>> {
    match &stmt.kind {
        StmtKind::Await(e) => Some(Wait::Until(e)),
        StmtKind::Join(e) => Some(Wait::EndOf(e)),
        StmtKind::Atomic(block) if layout.waits.midway(block).is_some() => Some(Wait::AnyWay),
        StmtKind::Atomic(block) => condition(block.first()?, layout),
        _ => None,
    }
}

/// Whether it may go on. An expression that has no value lets it go on, into the fault.
fn holds(program: &Program, layout: &Layout, config: &Config, n: BufferId, task: &Task, wait: Wait<'_>) -> bool {
    let mut scope = scope_of(program, layout, config, n, task);
    match wait {
        Wait::AnyWay => can_go_through(program, layout, config, task.id),
        Wait::Until(e) => scope.eval(e).map_or(true, |v| v.is_true()),
        Wait::EndOf(e) => match scope.eval(e) {
            Ok(Value::Handle(Some(id))) => config.find(id).is_none(),
            _ => true,
        },
    }
}

/// DISPATCH if the task is pending. A task of its level that waits inside of its buffer, or that waited when the scheduler put what
/// would have been next behind it, makes way as if it had yielded.
fn make_running(config: &mut Config, task: TaskId) -> BufferId {
    match config.find(task).expect("only unfinished tasks are run") {
        Whereabouts::Stack(n, _) => n,
        Whereabouts::Pending(n, at) => {
            let buffer = config.buffers.get_mut(&n).expect("it was just found");
            let level = buffer.pending[at].level;
            buffer.pending.extend(buffer.stack.pop_if(|t| t.level >= level));
            dispatch(buffer, at);
            n
        }
    }
}

/// ATOMIC, for blocks that wait elsewhere than at their beginning: whether the task, which stands in front of one after what does
/// nothing, can go through it. It can if some way comes to no false `await` or `join`; what a way does before it comes to one is
/// undone, because it was done to a copy. A way that ends otherwise, in an error or a false `assume`, can be gone; one that only
/// comes back to where it was cannot.
fn can_go_through(program: &Program, layout: &Layout, config: &Config, task: TaskId) -> bool {
    let mut ways = Ways::default();
    loop {
        let way = go_through(program, layout, config.clone(), task, &mut ways);
        let ends = match way {
            Ok(Effect::Blocked) => false,
            Ok(Effect::Dropped) => !ways.came_back(),
            _ => true,
        };
        if ends {
            return true;
        }
        if !ways.advance() {
            return false;
        }
    }
}

/// One way through the block.
fn go_through(
    program: &Program,
    layout: &Layout,
    mut config: Config,
    task: TaskId,
    ways: &mut Ways,
) -> Result<Effect, Fault> {
    let n = match config.find(task).expect("only unfinished tasks are asked for") {
        Whereabouts::Stack(n, _) => n,
        Whereabouts::Pending(n, at) => {
            dispatch(config.buffers.get_mut(&n).expect("it was just found"), at);
            n
        }
    };
    let frame = config.frame_mut(n);
    frame.control.pass_all(&program.procs[frame.proc]);
    for statement in 0..MAX_STATEMENTS {
        let running = config.buffers[&n].innermost().expect("a task runs until it is past its block");
        if statement > 0 && !inside_atomic(program, running) {
            break;
        }
        if next_statement(program, running).is_some_and(|s| chooses(&s.kind)) && comes_back(&config, ways) {
            return Ok(Effect::Dropped);
        }
        let mut log = StepLog::default();
        let mut run = Run { program, layout, choose: ways, log: &mut log, observer: &mut Blind };
        match run.one_with_births(&mut config, n)? {
            Effect::Went => {}
            end => return Ok(end),
        }
    }
    Ok(Effect::Went)
}

/// Whether a statement has a choice.
pub fn chooses(kind: &StmtKind) -> bool {
    matches!(
        kind,
        StmtKind::If(Guard::Star, ..) | StmtKind::While(Guard::Star, _) | StmtKind::Any(..) | StmtKind::SetRemoveAny(_)
    )
}

fn comes_back(config: &Config, ways: &mut Ways) -> bool {
    ways.comes_back(&mut |out| {
        let mut bytes = Vec::new();
        crate::codec::encode(config, &mut bytes);
        out.extend(bytes.chunks(8).map(|word| i64::from_le_bytes(word.try_into().expect("a number has eight bytes"))));
    })
}
