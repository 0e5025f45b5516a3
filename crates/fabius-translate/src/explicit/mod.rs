//! A program with everything written out that translations must know: where it may be interrupted, what it waits for, which
//! task is which, what can go wrong, and, for traces, what happens in which order.
//!
//! Paper: Delay-Bounded Scheduling (POPL 2011), section 2 (blocking as `yield; assume`); Asynchronous Programs with
//! Prioritized Task-Buffers (MSR-TR-2012-1), appendix B (the counter of events).
//!
//! Deviations:
//! 1. The counter is incremented by every event (a step begins, a choice is made, a task is posted), not only by the
//!    beginnings of segments, so that choices find their step.
//! 2. A wait is a scheduling point and then an assumption: delays and rounds let others make it true.
//! 3. Inside of `atomic` there are no points, so procedures that are called there have a second version without. There is
//!    also one for each level, so that a post is known to go up or not.

mod calls;
mod census;
mod checks;
mod choices;
mod company;
mod control;
mod data;
mod points;
mod prefix;
mod statements;

use crate::Caps;
use crate::build::*;
use crate::switches::{Needless, needless};
use crate::{Explicit, Sliced, Start, Unsupported, abort, fifo, whole};
use census::{count_tasks, private_to_main, uses_handles};
use company::{Company, HandsOver};
use data::{Heap, resized, retype};
use fabius_lang::program::*;
use fabius_lang::waits::Waits;
use fabius_trace::Span;
use prefix::Prefixes;
use std::collections::{BTreeSet, HashMap};

/// What is written out besides scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// Nothing.
    Off,
    /// The events that a schedule is made of.
    On,
}

/// Where threads may be interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switches<'a> {
    /// At every scheduling point.
    Everywhere,
    /// Where it makes a difference, in rounds over threads; of those that begin with these procedures there may be any number.
    WhereTheyMatter(&'a [ProcId]),
    /// At every scheduling point, and wherever one waits, also where another task of its buffer could go on and does so before
    /// other buffers: these are more executions than there are.
    WhereverOneWaits,
}

/// What the second value of an event's `print` means; the third is its operand.
pub mod code {
    /// A step of the task begins.
    pub const STEP: i64 = 0;
    /// A choice: the index of the alternative.
    pub const CHOICE: i64 = 1;
    /// A task is posted; its level.
    pub const POST: i64 = 2;
    /// A task is run: 1 if it is a thread, 2 more if it is there from the beginning, and 2 times the process that it is of.
    pub const BEGIN: i64 = 3;
    /// It is no longer run.
    pub const END: i64 = 4;
    /// An assertion fails.
    pub const FAIL: i64 = 5;
    /// A declared buffer or process starts.
    pub const START: i64 = 6;
    /// A choice among more alternatives than 32 bits count.
    pub const WIDE: i64 = 7;
    /// A thread comes to a scheduling point: it did not finish before it had a turn.
    pub const SEEN: i64 = 8;
    /// A thread is spawned.
    pub const SPAWN: i64 = 9;
}

/// Whether control may be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mode {
    Free,
    /// Free, and a task begins here.
    Task,
    /// Free, and a thread begins here.
    Thread,
    Atomic,
    /// As atomic, and the path ends in front of what others may observe.
    AtOnce,
}

/// Whether control stands at a scheduling point, so that the next statement begins a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Point,
    Within,
    /// A variable says it.
    Either,
}

/// How a task comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Origin {
    Posted,
    Spawned,
    Buffer,
    /// Its number among the processes.
    Process(u32),
}

impl Origin {
    /// The operand of its beginning.
    fn operand(self) -> i64 {
        match self {
            Origin::Posted => 0,
            Origin::Spawned => 1,
            Origin::Buffer => 2,
            Origin::Process(n) => 3 + 2 * i64::from(n),
        }
    }

    fn is_thread(self) -> bool {
        matches!(self, Origin::Spawned | Origin::Process(_))
    }
}

struct Maker<'a> {
    source: &'a Program,
    program: Program,
    /// The versions of each procedure made so far.
    versions: HashMap<(ProcId, Mode, Level), ProcId>,
    wrappers: HashMap<(ProcId, Origin, Level), ProcId>,
    /// Whether accesses to shared state are scheduling points.
    implicit: bool,
    /// Statements in front of which nobody is interrupted.
    needless: Needless,
    /// Whether there are tasks: who waits then lets others of its buffer go on.
    tasks: bool,
    company: Company,
    clock: Option<Place>,
    stop: Place,
    heap: Heap,
    /// How many tasks there have been, and which have finished; if anybody asks.
    handles: Option<(Place, Place)>,
    prefixes: Prefixes,
    waits: Waits,
    /// Every thread's own variable: it is past its prefix. Where that must be known.
    begun: Option<Place>,
    wrong: Option<Unsupported>,
}

/// A procedure under construction.
struct Body {
    locals: Vec<Local>,
    /// Parameters of the source.
    params: usize,
    mode: Mode,
    /// The level at which it runs.
    level: Level,
    me: Option<Place>,
    hands_over: HandsOver,
    at: At,
    /// Says whether control stands at a scheduling point, where the paths to here differ.
    fresh: Option<Place>,
}

impl Body {
    /// The number that a local of the source has here: the task's handle stands behind the parameters.
    fn local(&self, l: LocalId) -> LocalId {
        if self.me.is_some() && l >= self.params { l + 1 } else { l }
    }
}

/// Writes everything out.
///
/// # Errors
/// What translations cannot do.
pub fn explicit(source: &Program, trace: Trace, switches: Switches<'_>, caps: Caps) -> Result<Explicit, Unsupported> {
    let queue = fifo::first_queue(source)?;
    let source = &whole::in_front(source);
    if let Some(rest) = source.rests.first() {
        let help = "`fabius check` explores such programs";
        return Err(Unsupported::new("a wait that may last for ever without a deadlock", *rest, help));
    }
    if let Some(idle) = source.idle {
        let help = "`fabius check` explores such programs";
        return Err(Unsupported::new("a wait until nobody else can go on", source.globals[idle].span, help));
    }
    let implicit = source.interleave == Interleave::Implicit && !source.has_single_buffer();
    let needless = match switches {
        Switches::WhereTheyMatter(any) if implicit && !source.has_buffers() => {
            needless(source, any, &idle(source, caps)?)
        }
        _ => Needless::default(),
    };
    let tasks = count_tasks(source);
    let declared: u32 = source.processes.iter().filter_map(|p| p.count).sum::<u32>() + source.buffers.len() as u32;
    let handle = Type::Range(0, i64::from(tasks.unwrap_or(caps.tasks.saturating_add(declared))));
    let mut program =
        Program { procs: Vec::new(), init: None, buffers: Vec::new(), processes: Vec::new(), ..source.clone() };
    program.interleave = Interleave::Explicit;
    let retype = |ty: &mut Type| retype(ty, &handle, caps.objects);
    program.records.iter_mut().flat_map(|r| &mut r.fields).for_each(|f| retype(&mut f.ty));
    let records = program.records.clone();
    for f in program.records.iter_mut().flat_map(|r| &mut r.fields) {
        f.init = resized(&records, &f.init, &f.ty);
    }
    for g in &mut program.globals {
        retype(&mut g.ty);
        g.init = resized(&records, &g.init, &g.ty);
    }
    let clock = (trace == Trace::On).then(|| {
        let at = Field { name: "at".into(), ty: Type::Int, init: Value::Int(0), class: Class::Data };
        program.records.push(Record { name: CLOCK.into(), fields: vec![at], kind: RecordKind::Plain });
        let ty = Type::Record(program.records.len() - 1);
        let clock = new_global(&mut program, "clock", ty);
        field(&program, clock, 0)
    });
    let handles = uses_handles(source).then(|| {
        let Type::Range(_, most) = handle else { unreachable!("handles are numbers") };
        let born = new_global(&mut program, "born", handle.clone());
        (born, new_global(&mut program, "finished", array(Type::Bool, most as u32 + 1)))
    });
    let heap = Heap::new(&mut program, source, caps.objects);
    let stop = new_global(&mut program, "stop", Type::Bool);
    let failed = new_global(&mut program, "failed", Type::Bool);
    let prefixes = Prefixes::of(source);
    let begun = prefixes.depend_on_values(source, implicit).then(|| {
        let begun = new_global(&mut program, "begun", Type::Bool);
        program.globals[id_of(&begun)].per_thread = true;
        begun
    });
    let mut maker = Maker {
        source,
        program,
        versions: HashMap::new(),
        wrappers: HashMap::new(),
        implicit,
        needless,
        tasks: source.has_buffers(),
        company: Company::of(source, switches),
        clock,
        stop: stop.clone(),
        heap,
        handles,
        prefixes,
        waits: Waits::of(source),
        begun,
        wrong: None,
    };
    let starts = maker.main(&handle);
    if let Some(wrong) = maker.wrong {
        return Err(wrong);
    }
    let mut fail = Vec::new();
    maker.tell(code::FAIL, number(0), &mut fail);
    let has_handles = maker.handles.is_some();
    let points = maker.needless.len() as u32;
    let tasks_begin =
        maker.versions.iter().filter(|((_, mode, _), _)| *mode == Mode::Task).map(|(_, id)| *id).collect();
    let (wrappers, company) = (maker.wrappers, maker.company);
    let mut program = maker.program;
    let go_on = wrappers.into_values().chain(program.init).collect();
    abort::abort(&mut program, &stop, &failed, &fail, &abort::Stops { never: go_on, at_start: tasks_begin });
    if queue.is_some() {
        let is_queue = |n: &usize| source.buffers[*n].kind == BufferKind::Fifo;
        let queues: Vec<usize> = (0..source.buffers.len()).filter(is_queue).collect();
        program = fifo::in_bags(program, &starts, &queues, &stop);
    }
    let mut limits = Vec::new();
    if source.any_stmt(|s| matches!(s.kind, StmtKind::New(..))) {
        limits.push(caps.words_of_objects());
    }
    limits.extend(bounds_of(source));
    if has_handles && tasks.is_none() {
        limits.push(caps.words_of_tasks());
    }
    let company_waits = company.left_out(source);
    limits.extend(company_waits.map(String::from));
    let (stop, failed) = (id_of(&stop), id_of(&failed));
    let mut private = private_to_main(&program, &starts);
    private.remove(&stop);
    private.insert(failed);
    let sliced = Sliced { points, ..Sliced::default() };
    Ok(Explicit {
        program,
        has_init: source.init.is_some(),
        starts,
        stop,
        failed,
        private,
        queue,
        tasks,
        caps,
        limits,
        company_waits: company_waits.is_some(),
        sliced,
    })
}

/// The variables of the source that nobody asks about.
fn idle(source: &Program, caps: Caps) -> Result<BTreeSet<GlobalId>, Unsupported> {
    let mut whole = explicit(source, Trace::Off, Switches::Everywhere, caps)?;
    whole.slice();
    let changed = changed_globals(&whole.program);
    Ok((0..source.globals.len()).filter(|g| !changed.contains(g)).collect())
}

/// What the front end does not follow, in its words.
fn bounds_of(source: &Program) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for proc in &source.procs {
        each(&proc.body, &mut |s| {
            if let StmtKind::Assert(_, Check::Bound, Some(said)) = &s.kind {
                words.insert(format!("not followed: {said}"));
            }
        });
    }
    words
}

/// The globals that are part of the shared state: all that are changed, but for those of one thread.
pub(crate) fn shared(source: &Explicit) -> Vec<GlobalId> {
    let globals = &source.program.globals;
    changed_globals(&source.program)
        .into_iter()
        .filter(|g| !source.private.contains(g) && !globals[*g].per_thread)
        .collect()
}

/// The variables of which every thread has its own, with their initial values.
pub(crate) fn per_thread(program: &Program) -> Vec<(Place, Value)> {
    let own = program.globals.iter().enumerate().filter(|(_, g)| g.per_thread);
    own.map(|(id, g)| (global(program, id), g.init.clone())).collect()
}

/// The procedures that are spawned.
pub(crate) fn spawned(program: &Program) -> Vec<ProcId> {
    let mut all = BTreeSet::new();
    for proc in &program.procs {
        each(&proc.body, &mut |s| {
            if let StmtKind::Spawn(_, p, _) | StmtKind::Post(_, _, p, _) = s.kind {
                all.insert(p);
            }
        });
    }
    all.into_iter().collect()
}

/// Lets what is declared start where `init` ends.
pub(crate) fn start_all(program: &mut Program, source: &Explicit) {
    let main = program.init.expect("an explicit program begins with `init`");
    let start = source.starts.iter().map(|start| {
        let args = start.args.clone();
        let kind = if start.is_thread {
            StmtKind::Spawn(None, start.proc, args)
        } else {
            StmtKind::Post(None, None, start.proc, args)
        };
        Stmt { span: program.procs[start.proc].span, ..stmt(kind) }
    });
    let start = when(not(read(&global(program, source.stop))), start.collect());
    program.procs[main].body.push(start);
}

/// The last statement of a sequential program: nothing has failed.
pub(crate) fn verdict(program: &Program, failed: GlobalId) -> Stmt {
    stmt(StmtKind::Assert(not(read(&global(program, failed))), Check::Assertion, None))
}

/// Fails where the source fails, and not only in the end.
pub(crate) fn fail_in_place(program: &mut Program, failed: GlobalId) {
    for proc in &mut program.procs {
        let body = std::mem::take(&mut proc.body);
        proc.body = replace(body, &mut |s| match &s.kind {
            StmtKind::Assign(p, _) if p.base == Base::Global(failed) => {
                vec![stmt(StmtKind::Assert(boolean(false), Check::Assertion, None))]
            }
            _ => vec![s],
        });
    }
}

/// What is left when all tasks are procedures.
pub(crate) fn make_sequential(program: &mut Program) {
    program.levels.truncate(1);
    program.globals.iter_mut().for_each(|g| {
        g.per_thread = false;
        g.class = Class::Data;
    });
    for proc in &mut program.procs {
        let body = std::mem::take(&mut proc.body);
        proc.body = replace(body, &mut |s| vec![Stmt { access: Access::Local, ..s }]);
    }
}

impl Maker<'_> {
    /// The first procedure, which runs `init`; and what starts when that has finished.
    fn main(&mut self, handle: &Type) -> Vec<Start> {
        let mut out = Vec::new();
        let entries = self.starts();
        // As in the program: `init` is the first thread, if there is one. A map of threads has an entry for each, and no more.
        let first = if self.source.init.is_some() { 2 } else { 1 };
        if let Some((born, _)) = &self.handles {
            out.push(set(born, number(first - 1 + entries.len() as i64)));
        }
        if let Some(init) = self.source.init {
            self.note(code::BEGIN, number(Origin::Spawned.operand()), &mut out);
            let call = self.version(init, Mode::Thread, 0);
            let args = self.handles.iter().map(|_| constant(1, handle.clone())).collect();
            out.push(stmt(StmtKind::Call(Vec::new(), call, args)));
            self.finish_task(self.handles.as_ref().map(|_| number(1)), &mut out);
        }
        let mut start = Vec::new();
        entries.iter().for_each(|_| self.tell(code::START, number(0), &mut start));
        if !start.is_empty() {
            out.push(when(not(read(&self.stop)), start));
        }
        if self.source.init.is_some() {
            self.note(code::END, number(0), &mut out);
        }
        let span = self.source.init.map_or(Span::default(), |init| self.source.procs[init].span);
        let main = Proc { name: "main".into(), locals: Vec::new(), params: 0, results: Vec::new(), body: out, span };
        self.program.procs.push(main);
        self.program.init = Some(self.program.procs.len() - 1);
        let start = |(n, (proc, origin)): (usize, (ProcId, Origin))| {
            let args = self.handles.iter().map(|_| constant(n as i64 + first, handle.clone())).collect();
            Start { proc: self.wrapper(proc, origin, 0), args, is_thread: origin.is_thread() }
        };
        entries.into_iter().enumerate().map(start).collect()
    }

    /// The declared buffers and processes, in their order.
    fn starts(&mut self) -> Vec<(ProcId, Origin)> {
        let mut all: Vec<_> = self.source.buffers.iter().map(|b| (b.proc, Origin::Buffer)).collect();
        for (n, process) in self.source.processes.iter().enumerate() {
            match process.count {
                Some(count) => all.extend((0..count).map(|_| (process.proc, Origin::Process(n as u32)))),
                None => {
                    let help =
                        format!("verify them with `--threads any`, or some number: `--instances {}=2`", process.name);
                    let what = format!("any number of threads (`{}`)", self.source.head_of_any(process));
                    let span = self.source.procs[process.proc].span;
                    self.wrong.get_or_insert(Unsupported { what, span, help });
                }
            }
        }
        all
    }

    fn refuse(&mut self, what: &str, span: Span, help: &str) {
        self.wrong.get_or_insert(Unsupported::new(what, span, help));
    }

    /// An event, if events are wanted.
    fn tell(&self, code: i64, operand: Expr, out: &mut Block) {
        if let Some(clock) = &self.clock {
            out.push(stmt(StmtKind::Print(vec![read(clock), number(code), operand])));
            out.push(set(clock, add(read(clock), number(1))));
        }
    }

    /// An event whose time does not matter.
    fn note(&self, code: i64, operand: Expr, out: &mut Block) {
        if self.clock.is_some() {
            out.push(stmt(StmtKind::Print(vec![number(code), operand])));
        }
    }

    fn finish_task(&self, me: Option<Expr>, out: &mut Block) {
        if let (Some((_, finished)), Some(me)) = (&self.handles, me) {
            let done = set(&element(finished.clone(), me), boolean(true));
            out.push(when(not(read(&self.stop)), vec![done]));
        }
    }

    fn ty(&self, ty: &Type) -> Type {
        let mut ty = ty.clone();
        if let Some((born, _)) = &self.handles {
            retype(&mut ty, &born.ty, self.heap.objects);
        } else {
            retype(&mut ty, &Type::Range(0, 1), self.heap.objects);
        }
        ty
    }

    /// The procedure in a mode and at a level; it gets the handle of the running task behind its parameters.
    fn version(&mut self, p: ProcId, mode: Mode, level: Level) -> ProcId {
        if let Some(id) = self.versions.get(&(p, mode, level)) {
            return *id;
        }
        let source = &self.source.procs[p];
        let id = self.program.procs.len();
        self.versions.insert((p, mode, level), id);
        let name = match mode {
            Mode::Free => source.name.clone(),
            Mode::Task | Mode::Thread => format!("{}_begins", source.name),
            Mode::Atomic => format!("{}_atomic", source.name),
            Mode::AtOnce => format!("{}_at_once", source.name),
        };
        let mut locals: Vec<Local> =
            source.locals.iter().map(|l| Local { name: l.name.clone(), ty: self.ty(&l.ty) }).collect();
        let mut params = source.params;
        let me = self.handles.as_ref().map(|(born, _)| born.ty.clone());
        let results = source.results.iter().map(|t| self.ty(t)).collect();
        // The place is taken before the body is made, for recursion.
        self.program.procs.push(Proc {
            name,
            locals: Vec::new(),
            params,
            results,
            body: Vec::new(),
            span: source.span,
        });
        let me = me.map(|ty| {
            // Parameters come first: all other locals move by one.
            locals.insert(params, Local { name: "me".into(), ty: ty.clone() });
            params += 1;
            local(params - 1, ty)
        });
        let at = if mode == Mode::Task { At::Point } else { At::Within };
        let inside = match mode {
            Mode::Free | Mode::Task | Mode::Thread => Mode::Free,
            Mode::Atomic | Mode::AtOnce => mode,
        };
        let hands_over = self.company.hands_over(p);
        let mut body = Body { locals, params: source.params, mode: inside, level, me, hands_over, at, fresh: None };
        let mut out = Vec::new();
        let prefix = if mode == Mode::Thread { self.prefix(&source.body) } else { 0 };
        self.block(&source.body[..prefix], &mut body, &mut out);
        if mode == Mode::Thread && prefix < source.body.len() {
            // What comes before belongs to the step that makes the thread.
            self.prefix_has_ended(&mut out);
            body.at = At::Point;
        }
        self.block(&source.body[prefix..], &mut body, &mut out);
        self.begin(&mut body, &mut out);
        let proc = &mut self.program.procs[id];
        (proc.locals, proc.params, proc.body) = (body.locals, params, out);
        id
    }

    /// The task that runs a procedure.
    fn wrapper(&mut self, p: ProcId, origin: Origin, level: Level) -> ProcId {
        if let Some(id) = self.wrappers.get(&(p, origin, level)) {
            return *id;
        }
        let id = self.program.procs.len();
        self.wrappers.insert((p, origin, level), id);
        let source = &self.source.procs[p];
        self.program.procs.push(Proc {
            name: format!("run_{}", source.name),
            locals: Vec::new(),
            params: 0,
            results: Vec::new(),
            body: Vec::new(),
            span: source.span,
        });
        let call = self.version(p, if origin.is_thread() { Mode::Thread } else { Mode::Task }, level);
        let mut locals: Vec<Local> = source.locals[..source.params].to_vec();
        locals.iter_mut().for_each(|l| l.ty = self.ty(&l.ty));
        locals.extend(self.handles.iter().map(|(born, _)| Local { name: "me".into(), ty: born.ty.clone() }));
        let params = locals.len();
        let args: Vec<Expr> = locals.iter().enumerate().map(|(i, l)| read(&local(i, l.ty.clone()))).collect();
        let results = self.program.procs[call].results.len();
        let mut out = Vec::new();
        self.note(code::BEGIN, number(origin.operand()), &mut out);
        let me = self.handles.is_some().then(|| args[params - 1].clone());
        if !origin.is_thread() {
            out.extend(self.has_begun());
        }
        out.push(stmt(StmtKind::Call(vec![None; results], call, args)));
        self.prefix_must_have_ended(p, origin, &mut out);
        self.finish_task(me, &mut out);
        self.note(code::END, number(0), &mut out);
        let proc = &mut self.program.procs[id];
        (proc.locals, proc.params, proc.body) = (locals, params, out);
        id
    }

    fn block(&mut self, block: &[Stmt], body: &mut Body, out: &mut Block) {
        for s in block {
            self.stmt(s, body, out);
        }
    }
}
