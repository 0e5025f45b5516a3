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
//!
//! Length: one walk over all statements; each kind is a few lines.

use crate::build::*;
use crate::{Explicit, Start, Unsupported, abort, faults};
use fabius_lang::program::*;
use fabius_trace::Span;
use std::collections::{BTreeSet, HashMap};

/// What is written out besides scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// Nothing.
    Off,
    /// The events that a schedule is made of.
    On,
}

/// The record of the event counter. Symbolic engines treat its field as a point in an order.
pub const CLOCK: &str = "clock";

/// What the second value of an event's `print` means; the third is its operand.
pub mod code {
    /// A step of the task begins.
    pub const STEP: i64 = 0;
    /// A choice: the index of the alternative.
    pub const CHOICE: i64 = 1;
    /// A task is posted or spawned; its level.
    pub const POST: i64 = 2;
    /// A task is run: 1 if it is a thread, 2 more if it is there from the beginning.
    pub const BEGIN: i64 = 3;
    /// It is no longer run: 1 if it was stopped before its end.
    pub const END: i64 = 4;
    /// An assertion fails.
    pub const FAIL: i64 = 5;
    /// A declared buffer or process starts.
    pub const START: i64 = 6;
    /// A choice among more alternatives than 32 bits count.
    pub const WIDE: i64 = 7;
}

/// Objects of each record at most.
const OBJECTS: u32 = 8;

/// Tasks that have a handle at most, where their number is not seen from the text.
const TASKS: u32 = 12;

/// Whether control may be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mode {
    Free,
    /// Free, and a task begins here.
    Task,
    /// Free, and a thread begins here.
    Thread,
    Atomic,
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
    Process,
}

impl Origin {
    /// The operand of its beginning.
    fn operand(self) -> i64 {
        match self {
            Origin::Posted => 0,
            Origin::Spawned => 1,
            Origin::Buffer => 2,
            Origin::Process => 3,
        }
    }

    fn is_thread(self) -> bool {
        matches!(self, Origin::Spawned | Origin::Process)
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
    /// Whether there are tasks: who waits then lets others of its buffer go on.
    tasks: bool,
    clock: Option<Place>,
    stop: Place,
    heap: Heap,
    /// How many tasks there have been, and which have finished; if anybody asks.
    handles: Option<(Place, Place)>,
    wrong: Option<Unsupported>,
}

/// A procedure under construction.
struct Body {
    locals: Vec<Local>,
    mode: Mode,
    /// The level at which it runs.
    level: Level,
    me: Option<Place>,
    at: At,
    /// Says whether control stands at a scheduling point, where the paths to here differ.
    fresh: Option<Place>,
}

/// Writes everything out.
///
/// # Errors
/// What translations cannot do.
pub fn explicit(source: &Program, trace: Trace) -> Result<Explicit, Unsupported> {
    let tasks = count_tasks(source);
    let handle = Type::Range(0, i64::from(tasks.unwrap_or(TASKS)));
    let mut program =
        Program { procs: Vec::new(), init: None, buffers: Vec::new(), processes: Vec::new(), ..source.clone() };
    program.interleave = Interleave::Explicit;
    let retype = |ty: &mut Type| retype(ty, &handle);
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
        program.records.push(Record { name: CLOCK.into(), fields: vec![at] });
        let ty = Type::Record(program.records.len() - 1);
        let clock = new_global(&mut program, CLOCK, ty);
        field(&program, clock, 0)
    });
    let handles = uses_handles(source).then(|| {
        let Type::Range(_, most) = handle else { unreachable!("handles are numbers") };
        let born = new_global(&mut program, "born", handle.clone());
        (born, new_global(&mut program, "finished", array(Type::Bool, most as u32 + 1)))
    });
    let heap = Heap::new(&mut program, source);
    let stop = new_global(&mut program, "stop", Type::Bool);
    let failed = new_global(&mut program, "failed", Type::Bool);
    let mut maker = Maker {
        source,
        program,
        versions: HashMap::new(),
        wrappers: HashMap::new(),
        implicit: source.interleave == Interleave::Implicit && !source.has_single_buffer(),
        tasks: source.has_buffers(),
        clock,
        stop: stop.clone(),
        heap,
        handles,
        wrong: None,
    };
    let starts = maker.main(&handle);
    if let Some(wrong) = maker.wrong {
        return Err(wrong);
    }
    let mut fail = Vec::new();
    maker.tell(code::FAIL, number(0), &mut fail);
    let has_handles = maker.handles.is_some();
    let wrappers = maker.wrappers;
    let mut program = maker.program;
    let go_on = wrappers.into_values().chain(program.init).collect();
    abort::abort(&mut program, &stop, &failed, &fail, &go_on);
    let id = |p: &Place| match p.base {
        Base::Global(g) => g,
        _ => unreachable!("these are globals"),
    };
    let mut limits = Vec::new();
    if source.any_stmt(|s| matches!(s.kind, StmtKind::New(..))) {
        limits.push(format!("at most {OBJECTS} objects of each record are made"));
    }
    if has_handles && tasks.is_none() {
        limits.push(format!("at most {TASKS} threads or tasks are created"));
    }
    let waits = |s: &Stmt| matches!(s.kind, StmtKind::Await(_) | StmtKind::Join(_));
    if source.has_buffers() && !source.has_single_buffer() && source.any_stmt(waits) {
        limits.push("a task that waits hands over to other buffers only when it begins to wait".into());
    }
    let (stop, failed) = (id(&stop), id(&failed));
    let mut private = private_to_main(&program, &starts);
    private.remove(&stop);
    private.insert(failed);
    Ok(Explicit { program, has_init: source.init.is_some(), starts, stop, failed, private, tasks, limits })
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

/// How many tasks there can be, the one that begins included; `None` if a loop or recursion makes them.
fn count_tasks(program: &Program) -> Option<u32> {
    let mut makes = vec![Some(0u32); program.procs.len()];
    let processes: Option<u32> = program.processes.iter().map(|p| p.count).sum();
    let roots = program.init.into_iter().chain(program.buffers.iter().map(|b| b.proc));
    // More rounds than procedures: there is recursion.
    for round in 0..=program.procs.len() {
        let mut next = makes.clone();
        for (count, proc) in next.iter_mut().zip(&program.procs) {
            *count = tasks_of(&proc.body, &makes);
        }
        if next == makes {
            let of_roots: Option<u32> = roots.map(|p| makes[p]).sum();
            let of_processes: Option<u32> = program.processes.iter().map(|p| Some(p.count? * makes[p.proc]?)).sum();
            let all = of_roots? + of_processes? + processes? + 1 + program.buffers.len() as u32;
            return (all <= 64).then_some(all);
        }
        if round == program.procs.len() {
            return None;
        }
        makes = next;
    }
    None
}

fn tasks_of(block: &Block, makes: &[Option<u32>]) -> Option<u32> {
    block
        .iter()
        .map(|s| match &s.kind {
            StmtKind::Spawn(_, p, _) | StmtKind::Post(_, _, p, _) => Some(makes[*p]? + 1),
            StmtKind::Call(_, p, _) => makes[*p],
            StmtKind::If(_, a, b) => Some(tasks_of(a, makes)?.max(tasks_of(b, makes)?)),
            StmtKind::Atomic(b) => tasks_of(b, makes),
            StmtKind::While(_, b) => tasks_of(b, makes).filter(|n| *n == 0),
            _ => Some(0),
        })
        .sum()
}

fn retype(ty: &mut Type, handle: &Type) {
    match ty {
        Type::Thread => *ty = handle.clone(),
        Type::ThreadSet => {
            let Type::Range(_, most) = handle else { unreachable!("handles are numbers") };
            *ty = array(Type::Bool, *most as u32 + 1);
        }
        Type::Ref(_) => *ty = reference(),
        Type::Array { element, .. } => retype(element, handle),
        _ => {}
    }
}

fn refers(ty: &Type) -> bool {
    match ty {
        Type::Ref(_) => true,
        Type::Array { element, .. } => refers(element),
        _ => false,
    }
}

/// References are numbers; 0 is `null`.
fn reference() -> Type {
    Type::Range(0, i64::from(OBJECTS))
}

/// The objects: for each field of each record, the values by the number of the object. There is none with number 0, so that
/// to follow `null` is an index out of bounds.
struct Heap {
    /// How many objects of each record there are.
    made: Vec<Place>,
    fields: Vec<Vec<Place>>,
}

impl Heap {
    fn new(program: &mut Program, source: &Program) -> Heap {
        let mut heap = Heap { made: Vec::new(), fields: Vec::new() };
        let locals = source.procs.iter().flat_map(|p| p.locals.iter().map(|l| &l.ty));
        let fields = source.records.iter().flat_map(|r| r.fields.iter().map(|f| &f.ty));
        if !source.globals.iter().map(|g| &g.ty).chain(locals).chain(fields).any(refers) {
            return heap;
        }
        let records = program.records[..source.records.len()].to_vec();
        for record in &records {
            heap.made.push(new_global(program, &format!("{}_made", record.name.to_lowercase()), reference()));
            let column = |field: &Field| {
                let name = format!("{}_{}", record.name.to_lowercase(), field.name);
                let mut ty = array(field.ty.clone(), OBJECTS);
                if let Type::Array { lo, .. } = &mut ty {
                    *lo = 1;
                }
                new_global(program, &name, ty)
            };
            heap.fields.push(record.fields.iter().map(column).collect());
        }
        heap
    }
}

/// A value in a changed type: sets of threads are empty.
fn resized(records: &[Record], value: &Value, ty: &Type) -> Value {
    match (value, ty) {
        (Value::Int(0), Type::Array { len, .. }) => Value::Tuple(vec![Value::Int(0); *len as usize]),
        (Value::Tuple(parts), Type::Array { element, .. }) => {
            Value::Tuple(parts.iter().map(|v| resized(records, v, element)).collect())
        }
        (Value::Tuple(parts), Type::Record(r)) => {
            let fields = parts.iter().zip(&records[*r].fields);
            Value::Tuple(fields.map(|(v, f)| resized(records, v, &f.ty)).collect())
        }
        _ => value.clone(),
    }
}

/// Whether some statement needs to know which task is which.
fn uses_handles(program: &Program) -> bool {
    fn in_expr(e: &Expr) -> bool {
        match &e.kind {
            ExprKind::SelfHandle | ExprKind::SetContains(..) => true,
            ExprKind::Const(_) => e.ty == Type::Thread,
            ExprKind::Read(p) => in_place(p),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => in_expr(a),
            ExprKind::Binary(_, a, b) => in_expr(a) || in_expr(b),
            ExprKind::IfElse(a, b, c) => in_expr(a) || in_expr(b) || in_expr(c),
            ExprKind::Tuple(parts) => parts.iter().any(in_expr),
        }
    }
    fn in_place(p: &Place) -> bool {
        p.path.iter().any(|s| matches!(s, Projection::Index { index, .. } if in_expr(index)))
    }
    program.any_stmt(|s| match &s.kind {
        StmtKind::Join(_) | StmtKind::SetInsert(..) | StmtKind::SetRemove(..) => true,
        StmtKind::Assign(p, e) => in_place(p) || in_expr(e),
        StmtKind::Any(p, a, b) => in_place(p) || in_expr(a) || in_expr(b),
        StmtKind::If(Guard::Expr(e), ..) | StmtKind::While(Guard::Expr(e), _) => in_expr(e),
        StmtKind::Assume(e) | StmtKind::Await(e) | StmtKind::Assert(e, ..) => in_expr(e),
        StmtKind::Call(_, _, es) | StmtKind::Return(es) | StmtKind::Spawn(_, _, es) | StmtKind::Post(_, _, _, es) => {
            es.iter().any(in_expr)
        }
        _ => false,
    })
}

/// The globals that nobody but the first thread uses.
fn private_to_main(program: &Program, starts: &[Start]) -> BTreeSet<GlobalId> {
    let calls = |from: Vec<ProcId>| {
        let mut seen: BTreeSet<ProcId> = BTreeSet::new();
        let mut todo = from;
        while let Some(p) = todo.pop() {
            if seen.insert(p) {
                each(&program.procs[p].body, &mut |s| {
                    if let StmtKind::Call(_, q, _) = s.kind {
                        todo.push(q);
                    }
                });
            }
        }
        seen
    };
    let mut others = spawned(program);
    others.extend(starts.iter().map(|s| s.proc));
    let mut used = BTreeSet::new();
    for p in calls(others) {
        globals_of(&program.procs[p].body, &mut used);
    }
    (0..program.globals.len()).filter(|g| !used.contains(g)).collect()
}

fn globals_of(block: &Block, out: &mut BTreeSet<GlobalId>) {
    fn in_place(p: &Place, out: &mut BTreeSet<GlobalId>) {
        if let Base::Global(g) = p.base {
            out.insert(g);
        }
        for step in &p.path {
            if let Projection::Index { index, .. } = step {
                in_expr(index, out);
            }
        }
    }
    fn in_expr(e: &Expr, out: &mut BTreeSet<GlobalId>) {
        match &e.kind {
            ExprKind::Const(_) | ExprKind::SelfHandle => {}
            ExprKind::Read(p) => in_place(p, out),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => in_expr(a, out),
            ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => {
                in_expr(a, out);
                in_expr(b, out);
            }
            ExprKind::IfElse(a, b, c) => [a, b, c].into_iter().for_each(|e| in_expr(e, out)),
            ExprKind::Tuple(parts) => parts.iter().for_each(|e| in_expr(e, out)),
        }
    }
    each(block, &mut |s| match &s.kind {
        StmtKind::Assign(p, e) => {
            in_place(p, out);
            in_expr(e, out);
        }
        StmtKind::Any(p, a, b) => {
            in_place(p, out);
            in_expr(a, out);
            in_expr(b, out);
        }
        StmtKind::If(Guard::Expr(e), ..) | StmtKind::While(Guard::Expr(e), _) => in_expr(e, out),
        StmtKind::Assume(e) | StmtKind::Await(e) | StmtKind::Assert(e, ..) => in_expr(e, out),
        StmtKind::Call(_, _, es)
        | StmtKind::Return(es)
        | StmtKind::Spawn(_, _, es)
        | StmtKind::Post(_, _, _, es)
        | StmtKind::Print(es) => es.iter().for_each(|e| in_expr(e, out)),
        _ => {}
    });
}

impl Maker<'_> {
    /// The first procedure, which runs `init`; and what starts when that has finished.
    fn main(&mut self, handle: &Type) -> Vec<Start> {
        let mut out = Vec::new();
        let entries = self.starts();
        if let Some((born, _)) = &self.handles {
            out.push(set(born, number(1 + entries.len() as i64)));
        }
        if let Some(init) = self.source.init {
            self.note(code::BEGIN, number(Origin::Spawned.operand()), &mut out);
            let call = self.version(init, Mode::Thread, 0);
            let args = self.handles.iter().map(|_| constant(1, handle.clone())).collect();
            out.push(stmt(StmtKind::Call(Vec::new(), call, args)));
            self.finish_task(self.handles.as_ref().map(|_| number(1)), &mut out);
            let mut start = Vec::new();
            entries.iter().for_each(|_| self.tell(code::START, number(0), &mut start));
            out.push(when(not(read(&self.stop)), start));
            self.note(code::END, self.stopped(), &mut out);
        }
        let span = self.source.init.map_or(Span::default(), |init| self.source.procs[init].span);
        let main = Proc { name: "main".into(), locals: Vec::new(), params: 0, results: Vec::new(), body: out, span };
        self.program.procs.push(main);
        self.program.init = Some(self.program.procs.len() - 1);
        let start = |(n, (proc, origin)): (usize, (ProcId, Origin))| {
            let args = self.handles.iter().map(|_| constant(n as i64 + 2, handle.clone())).collect();
            Start { proc: self.wrapper(proc, origin, 0), args, is_thread: origin.is_thread() }
        };
        entries.into_iter().enumerate().map(start).collect()
    }

    /// The declared buffers and processes, in their order.
    fn starts(&mut self) -> Vec<(ProcId, Origin)> {
        let mut all: Vec<_> = self.source.buffers.iter().map(|b| (b.proc, Origin::Buffer)).collect();
        for process in &self.source.processes {
            match process.count {
                Some(count) => all.extend((0..count).map(|_| (process.proc, Origin::Process))),
                None => {
                    let help = format!("verify some number of them: `--instances {}=2`", process.name);
                    let what = format!("`process {}[*]` stands for any number of threads", process.name);
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

    fn stopped(&self) -> Expr {
        let choice = ExprKind::IfElse(Box::new(read(&self.stop)), Box::new(number(1)), Box::new(number(0)));
        expr(choice, Type::Int)
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
            retype(&mut ty, &born.ty);
        } else {
            retype(&mut ty, &Type::Range(0, 1));
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
        let inside = if mode == Mode::Atomic { Mode::Atomic } else { Mode::Free };
        let mut body = Body { locals, mode: inside, level, me, at, fresh: None };
        let mut out = Vec::new();
        let prefix = if mode == Mode::Thread { self.prefix(&source.body) } else { 0 };
        self.block(&source.body[..prefix], &mut body, source.params, &mut out);
        if mode == Mode::Thread && prefix < source.body.len() {
            // What comes before belongs to the step that makes the thread.
            out.push(stmt(StmtKind::Zield));
            body.at = At::Point;
        }
        self.block(&source.body[prefix..], &mut body, source.params, &mut out);
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
        out.push(stmt(StmtKind::Call(vec![None; results], call, args)));
        self.finish_task(me, &mut out);
        self.note(code::END, self.stopped(), &mut out);
        let proc = &mut self.program.procs[id];
        (proc.locals, proc.params, proc.body) = (locals, params, out);
        id
    }

    /// How many statements of a thread touch nothing shared, where what follows would not be preceded by a point anyway.
    fn prefix(&self, block: &Block) -> usize {
        let first = block.iter().position(|s| s.access > Access::Local || !is_simple(s));
        first
            .filter(|i| !self.implicit || matches!(block[*i].kind, StmtKind::Yield | StmtKind::Zield))
            .unwrap_or(block.len())
    }

    fn block(&mut self, block: &[Stmt], body: &mut Body, params: usize, out: &mut Block) {
        for s in block {
            self.stmt(s, body, params, out);
        }
    }

    /// A block inside of another one, and how it ends. The statement before it has begun the step.
    fn nested(&mut self, block: &Block, body: &mut Body, params: usize) -> (Block, At) {
        body.at = At::Within;
        let mut out = Vec::new();
        self.block(block, body, params, &mut out);
        (out, std::mem::replace(&mut body.at, At::Within))
    }

    /// Says by a variable whether control stands at a scheduling point.
    fn remember(&self, at: At, body: &mut Body, out: &mut Block) {
        let fresh = fresh(body);
        if at == At::Point {
            out.push(set(&fresh, boolean(true)));
        }
    }

    /// The next statement belongs to a step.
    fn begin(&mut self, body: &mut Body, out: &mut Block) {
        match std::mem::replace(&mut body.at, At::Within) {
            At::Within => {}
            At::Point => self.tell(code::STEP, number(0), out),
            At::Either => {
                let fresh = fresh(body);
                let mut begin = Vec::new();
                self.tell(code::STEP, number(0), &mut begin);
                begin.push(set(&fresh, boolean(false)));
                out.push(when(read(&fresh), begin));
            }
        }
    }

    /// A scheduling point, if the access asks for one, and the beginning of a step.
    fn point(&mut self, access: Access, body: &mut Body, out: &mut Block) {
        if !self.is_point(access, body) {
            return self.begin(body, out);
        }
        self.arrive(body, out);
        body.at = At::Point;
        self.begin(body, out);
    }

    fn is_point(&self, access: Access, body: &Body) -> bool {
        self.implicit && body.mode == Mode::Free && access > Access::Local
    }

    /// Control may be taken away here, unless it has just been.
    fn arrive(&mut self, body: &mut Body, out: &mut Block) {
        match body.at {
            At::Within => out.push(stmt(StmtKind::Zield)),
            At::Point => {}
            At::Either => {
                let fresh = fresh(body);
                out.push(when(not(read(&fresh)), vec![stmt(StmtKind::Zield)]));
                out.push(set(&fresh, boolean(false)));
            }
        }
    }

    /// Control is given away while the expression is false.
    fn pause(&mut self, e: &Expr, body: &mut Body, out: &mut Block) {
        if body.mode == Mode::Atomic {
            return;
        }
        out.push(stmt(StmtKind::Await(e.clone())));
        let no = not(e.clone());
        // Who waits hands over to other buffers first, and then to other tasks of its own.
        let to_own = when(no.clone(), vec![stmt(StmtKind::Yield)]);
        if self.implicit {
            self.arrive(body, out);
            body.at = At::Point;
            if self.tasks {
                out.push(to_own);
            }
        } else {
            let mut others = vec![stmt(StmtKind::Zield)];
            if self.tasks {
                others.push(to_own);
            }
            match body.at {
                At::Within => self.tell(code::STEP, number(0), &mut others),
                At::Point => {}
                At::Either => self.remember(At::Point, body, &mut others),
            }
            out.push(when(no, others));
        }
        self.begin(body, out);
    }

    fn hold(&mut self, conditions: Vec<Expr>, span: Span, out: &mut Block) {
        for e in conditions {
            out.push(Stmt { span, ..stmt(StmtKind::Assert(e, Check::Assertion, None)) });
        }
    }

    fn check_exprs(&mut self, es: &[Expr], span: Span, out: &mut Block) {
        let mut conditions = Vec::new();
        es.iter().for_each(|e| faults::of_expr(&self.program, e, &mut conditions));
        self.hold(conditions, span, out);
    }

    /// Stores a value, if the place and the value are what they must be.
    fn checked_store(&mut self, p: Place, e: Expr, span: Span, out: &mut Block) {
        let mut conditions = Vec::new();
        faults::of_expr(&self.program, &e, &mut conditions);
        faults::of_place(&self.program, &p, &mut conditions);
        faults::of_store(&e, &p.ty, &mut conditions);
        self.hold(conditions, span, out);
        out.push(Stmt { span, ..set(&p, e) });
    }

    fn choose_bool(&mut self, body: &mut Body, out: &mut Block) -> Expr {
        let b = new_local(&mut body.locals, "choice", Type::Bool);
        out.push(any_between(&b, boolean(false), boolean(true)));
        let index = ExprKind::IfElse(Box::new(read(&b)), Box::new(number(0)), Box::new(number(1)));
        self.tell(code::CHOICE, expr(index, Type::Int), out);
        read(&b)
    }

    /// A choice, which is another event if it is among many.
    fn tell_choice(&self, index: Expr, ty: &Type, least: Expr, most: Expr, out: &mut Block) {
        let is_wide = matches!(ty, Type::Int | Type::Fixed { bits: 32 | 64, .. });
        let mut narrow = Vec::new();
        self.tell(code::CHOICE, index.clone(), &mut narrow);
        if self.clock.is_none() || !is_wide {
            return out.extend(narrow);
        }
        let mut wide = Vec::new();
        self.tell(code::WIDE, index, &mut wide);
        if let Type::Fixed { bits: 64, .. } = ty {
            return out.extend(wide);
        }
        let as_int = |e: Expr| expr(ExprKind::Cast(Box::new(e)), Type::Int);
        out.push(either(lt(sub(as_int(most), as_int(least)), number(i64::from(u32::MAX))), narrow, wide));
    }

    fn stmt(&mut self, s: &Stmt, body: &mut Body, params: usize, out: &mut Block) {
        let at = s.span;
        let map = Mapping {
            ty: &|t| self.ty(t),
            records: &self.program.records,
            heap: &self.heap,
            params,
            me: body.me.clone(),
        };
        let expr_of = |e: &Expr| map.expr(e);
        match &s.kind {
            StmtKind::Skip | StmtKind::Progress => self.begin(body, out),
            // There is nobody to hand over to.
            StmtKind::Zield if self.source.has_single_buffer() => self.begin(body, out),
            StmtKind::Assign(p, e) => {
                let (p, e) = (map.place(p), expr_of(e));
                self.point(s.access, body, out);
                self.checked_store(p, e, at, out);
            }
            StmtKind::Any(p, lo, hi) => {
                let (p, lo, hi) = (map.place(p), expr_of(lo), expr_of(hi));
                self.point(s.access, body, out);
                self.check_exprs(&[lo.clone(), hi.clone()], at, out);
                let ty = if let Type::Range(..) = p.ty { Type::Int } else { p.ty.clone() };
                let value = new_local(&mut body.locals, "choice", ty.clone());
                let mut once = |name: &str, e: Expr| match e.kind {
                    ExprKind::Const(_) => e,
                    _ => {
                        let kept = new_local(&mut body.locals, name, ty.clone());
                        out.push(set(&kept, e));
                        read(&kept)
                    }
                };
                let (least, most) = (once("least", lo), once("most", hi));
                out.push(any_between(&value, least.clone(), most.clone()));
                let index = match &ty {
                    Type::Int => sub(read(&value), least.clone()),
                    Type::Bool => expr(
                        ExprKind::IfElse(
                            Box::new(eq(read(&value), least.clone())),
                            Box::new(number(0)),
                            Box::new(number(1)),
                        ),
                        Type::Int,
                    ),
                    // An enum cannot be computed with: compared with each of its values.
                    Type::Enum(e) => {
                        let names = self.program.enums[*e].names.len() as i64;
                        (0..names).rev().fold(number(0), |rest, i| {
                            let is = eq(read(&value), constant(i, ty.clone()));
                            expr(ExprKind::IfElse(Box::new(is), Box::new(number(i)), Box::new(rest)), Type::Int)
                        })
                    }
                    _ => {
                        let as_int = |e: Expr| expr(ExprKind::Cast(Box::new(e)), Type::Int);
                        sub(as_int(read(&value)), as_int(least.clone()))
                    }
                };
                self.tell_choice(index, &ty, least, most, out);
                self.checked_store(p, read(&value), at, out);
            }
            StmtKind::If(guard, a, b) => {
                let c = match guard {
                    Guard::Star => {
                        self.begin(body, out);
                        self.choose_bool(body, out)
                    }
                    Guard::Expr(e) => {
                        let e = expr_of(e);
                        self.point(s.access, body, out);
                        self.check_exprs(std::slice::from_ref(&e), at, out);
                        e
                    }
                };
                let (mut a, at_a) = self.nested(a, body, params);
                let (mut b, at_b) = self.nested(b, body, params);
                body.at = at_a;
                if at_a != at_b {
                    self.remember(at_a, body, &mut a);
                    self.remember(at_b, body, &mut b);
                    body.at = At::Either;
                }
                out.push(Stmt { span: at, ..either(c, a, b) });
            }
            StmtKind::While(guard, block) => {
                if body.at != At::Within || has_points(block) {
                    let now = body.at;
                    self.remember(now, body, out);
                    body.at = At::Either;
                }
                let before = body.at;
                let mut inner = Vec::new();
                let c = match guard {
                    Guard::Star => {
                        self.begin(body, &mut inner);
                        self.choose_bool(body, &mut inner)
                    }
                    Guard::Expr(e) => {
                        let e = expr_of(e);
                        self.point(s.access, body, &mut inner);
                        self.check_exprs(std::slice::from_ref(&e), at, &mut inner);
                        e
                    }
                };
                let (mut begin, at_end) = self.nested(block, body, params);
                if at_end != At::Within {
                    debug_assert_eq!(before, At::Either);
                    self.remember(at_end, body, &mut begin);
                }
                body.at = At::Within;
                let kind = if inner.is_empty() {
                    StmtKind::While(Guard::Expr(c), begin)
                } else {
                    inner.push(when(not(c), vec![stmt(StmtKind::Break)]));
                    inner.extend(begin);
                    StmtKind::While(Guard::Expr(boolean(true)), inner)
                };
                out.push(Stmt { span: at, ..stmt(kind) });
            }
            StmtKind::Break | StmtKind::Continue => {
                self.begin(body, out);
                out.push(s.clone());
            }
            StmtKind::Call(results, p, es) => {
                let mut es: Vec<Expr> = es.iter().map(expr_of).collect();
                let results: Vec<Option<LocalId>> = results.iter().map(|r| r.map(|l| map.local(l))).collect();
                self.point(s.access, body, out);
                self.check_exprs(&es, at, out);
                self.check_arguments(*p, &es, at, out);
                let callee = self.version(*p, body.mode, body.level);
                es.extend(body.me.as_ref().map(read));
                // A range result that does not fit the local is a fault of the store.
                let mut stores = Vec::new();
                let mut kept = Vec::new();
                for (r, ty) in results.iter().zip(&self.source.procs[*p].results) {
                    let to = r.map(|l| local(l, body.locals[l].ty.clone()));
                    match to {
                        Some(to) if matches!(to.ty, Type::Range(..)) && to.ty != self.ty(ty) => {
                            let temporary = new_local(&mut body.locals, "result", self.ty(ty));
                            kept.push(Some(local_id(&temporary)));
                            stores.push((to, read(&temporary)));
                        }
                        _ => kept.push(*r),
                    }
                }
                out.push(Stmt { span: at, ..stmt(StmtKind::Call(kept, callee, es)) });
                for (to, e) in stores {
                    self.checked_store(to, e, at, out);
                }
            }
            StmtKind::Return(es) => {
                let es: Vec<Expr> = es.iter().map(expr_of).collect();
                self.point(s.access, body, out);
                self.check_exprs(&es, at, out);
                out.push(Stmt { span: at, ..stmt(StmtKind::Return(es)) });
            }
            StmtKind::Spawn(r, p, es) => {
                let es: Vec<Expr> = es.iter().map(expr_of).collect();
                let r = r.map(|l| map.local(l));
                self.point(s.access, body, out);
                self.check_exprs(&es, at, out);
                self.check_arguments(*p, &es, at, out);
                self.spawn(r, *p, es, None, Origin::Spawned, at, body, out);
            }
            StmtKind::Post(r, level, p, es) => {
                let es: Vec<Expr> = es.iter().map(expr_of).collect();
                let r = r.map(|l| map.local(l));
                self.point(s.access, body, out);
                self.check_exprs(&es, at, out);
                self.check_arguments(*p, &es, at, out);
                self.spawn(r, *p, es, *level, Origin::Posted, at, body, out);
            }
            StmtKind::Yield | StmtKind::Zield => {
                self.begin(body, out);
                out.push(s.clone());
                body.at = At::Point;
            }
            StmtKind::Atomic(block) => {
                match awaited(block) {
                    Some(StmtKind::Await(e)) => {
                        let e = expr_of(e);
                        self.pause(&e, body, out);
                    }
                    Some(StmtKind::Join(e)) => {
                        let e = expr_of(e);
                        let (_, ended) = self.has_ended(e);
                        self.pause(&ended, body, out);
                    }
                    _ => self.point(s.access, body, out),
                }
                let mode = std::mem::replace(&mut body.mode, Mode::Atomic);
                self.block(block, body, params, out);
                body.mode = mode;
            }
            StmtKind::Assume(e) => {
                let e = expr_of(e);
                self.point(s.access, body, out);
                self.check_exprs(std::slice::from_ref(&e), at, out);
                out.push(Stmt { span: at, ..assume(e) });
            }
            StmtKind::Await(e) => {
                let e = expr_of(e);
                self.wait(e, at, body, out);
            }
            StmtKind::Join(e) => {
                let e = expr_of(e);
                let (null, ended) = self.has_ended(e);
                self.wait(ended, at, body, out);
                self.hold(vec![not(null)], at, out);
            }
            StmtKind::Assert(e, check, message) => {
                let e = expr_of(e);
                self.point(s.access, body, out);
                self.check_exprs(std::slice::from_ref(&e), at, out);
                out.push(Stmt { span: at, ..stmt(StmtKind::Assert(e, *check, message.clone())) });
            }
            StmtKind::Print(es) => {
                let es: Vec<Expr> = es.iter().map(expr_of).collect();
                self.point(s.access, body, out);
                self.check_exprs(&es, at, out);
            }
            StmtKind::SetInsert(p, e) => {
                let (p, e) = (map.place(p), expr_of(e));
                self.point(s.access, body, out);
                out.push(set(&element(p, e), boolean(true)));
            }
            StmtKind::SetRemove(p, e) => {
                let (p, e) = (map.place(p), expr_of(e));
                self.point(s.access, body, out);
                out.push(set(&element(p, e), boolean(false)));
            }
            StmtKind::SetClear(p) => {
                let p = map.place(p);
                self.point(s.access, body, out);
                let none = p.ty.default_value(&self.program.records);
                let none = expr(ExprKind::Const(none), p.ty.clone());
                out.push(set(&p, none));
            }
            StmtKind::SetRemoveAny(p) => {
                let p = map.place(p);
                self.point(s.access, body, out);
                self.remove_any(p, body, out);
            }
            StmtKind::New(p, r, es) => {
                let (p, es) = (map.place(p), es.iter().map(expr_of).collect::<Vec<_>>());
                self.point(s.access, body, out);
                self.new_object(p, *r, es, at, body, out);
            }
        }
    }

    /// Arguments must fit the parameters.
    fn check_arguments(&mut self, p: ProcId, es: &[Expr], span: Span, out: &mut Block) {
        let mut conditions = Vec::new();
        for (e, l) in es.iter().zip(&self.source.procs[p].locals) {
            faults::of_store(e, &l.ty, &mut conditions);
        }
        self.hold(conditions, span, out);
    }

    /// Whether a handle is null, and whether one may go on behind `join`.
    fn has_ended(&self, handle: Expr) -> (Expr, Expr) {
        let Some((_, finished)) = self.handles.clone() else { unreachable!("`join` has a handle") };
        let null = eq(handle.clone(), number(0));
        (null.clone(), or(null, read(&element(finished, handle))))
    }

    fn wait(&mut self, e: Expr, span: Span, body: &mut Body, out: &mut Block) {
        self.pause(&e, body, out);
        self.check_exprs(std::slice::from_ref(&e), span, out);
        out.push(Stmt { span, ..assume(e) });
    }

    fn new_object(&mut self, p: Place, r: RecordId, es: Vec<Expr>, span: Span, body: &mut Body, out: &mut Block) {
        self.check_exprs(&es, span, out);
        let mut conditions = Vec::new();
        es.iter().zip(&self.program.records[r].fields).for_each(|(e, f)| faults::of_store(e, &f.ty, &mut conditions));
        self.hold(conditions, span, out);
        let made = self.heap.made[r].clone();
        let object = new_local(&mut body.locals, "object", reference());
        out.push(assume(lt(read(&made), number(i64::from(OBJECTS)))));
        out.extend([set(&made, add(read(&made), number(1))), set(&object, read(&made))]);
        for (column, e) in self.heap.fields[r].clone().into_iter().zip(es) {
            out.push(set(&element(column, read(&object)), e));
        }
        self.checked_store(p, read(&object), span, out);
    }

    /// The member is any; which one, counted among the members, is the choice.
    fn remove_any(&mut self, p: Place, body: &mut Body, out: &mut Block) {
        let Type::Array { len, .. } = p.ty else { unreachable!("a set is an array") };
        let member = new_local(&mut body.locals, "member", Type::Range(0, i64::from(len) - 1));
        out.push(any_between(&member, number(0), number(i64::from(len) - 1)));
        let contains = |i: i64| read(&element(p.clone(), number(i)));
        let one =
            |i: i64| expr(ExprKind::IfElse(Box::new(contains(i)), Box::new(number(1)), Box::new(number(0))), Type::Int);
        let members = (1..i64::from(len)).fold(number(0), |sum, i| add(sum, one(i)));
        let chosen = element(p.clone(), read(&member));
        let none = eq(read(&member), number(0));
        let fits = or(and(none, eq(members.clone(), number(0))), read(&chosen));
        out.push(assume(fits));
        let before = (1..i64::from(len)).fold(number(0), |sum, i| {
            let counts = and(lt(number(i), read(&member)), contains(i));
            add(sum, expr(ExprKind::IfElse(Box::new(counts), Box::new(number(1)), Box::new(number(0))), Type::Int))
        });
        let mut told = Vec::new();
        self.tell(code::CHOICE, before, &mut told);
        out.push(when(lt(number(1), members), told));
        out.push(set(&chosen, boolean(false)));
    }

    #[allow(clippy::too_many_arguments)]
    fn spawn(
        &mut self,
        result: Option<LocalId>,
        p: ProcId,
        mut args: Vec<Expr>,
        level: Option<Level>,
        origin: Origin,
        span: Span,
        body: &mut Body,
        out: &mut Block,
    ) {
        let its_level = if origin == Origin::Spawned { 0 } else { level.unwrap_or(body.level) };
        let wrapper = self.wrapper(p, origin, its_level);
        if let Some((born, _)) = self.handles.clone() {
            let Type::Range(_, most) = born.ty else { unreachable!("handles are numbers") };
            out.push(assume(lt(read(&born), number(most))));
            out.push(set(&born, add(read(&born), number(1))));
            let id = new_local(&mut body.locals, "id", born.ty.clone());
            out.push(set(&id, read(&born)));
            args.push(read(&id));
            if let Some(l) = result {
                out.push(set(&local(l, body.locals[l].ty.clone()), read(&id)));
            }
        }
        self.tell(code::POST, number(level.map_or(-1, i64::from)), out);
        if origin == Origin::Spawned {
            out.push(Stmt { span, ..stmt(StmtKind::Spawn(None, wrapper, args)) });
        } else {
            out.push(Stmt { span, ..stmt(StmtKind::Post(None, level, wrapper, args)) });
            if its_level > body.level {
                if body.mode == Mode::Atomic {
                    let help = "post behind the `atomic` block";
                    self.refuse("a post to a higher level inside of `atomic`", span, help);
                }
                body.at = At::Point;
            }
        }
    }
}

/// The variable that says whether control stands at a scheduling point.
fn fresh(body: &mut Body) -> Place {
    let locals = &mut body.locals;
    body.fresh.get_or_insert_with(|| new_local(locals, "fresh", Type::Bool)).clone()
}

/// What a block waits for before it begins.
fn awaited(block: &Block) -> Option<&StmtKind> {
    match &block.first()?.kind {
        StmtKind::Atomic(inner) => awaited(inner),
        wait @ (StmtKind::Await(_) | StmtKind::Join(_)) => Some(wait),
        _ => None,
    }
}

fn has_points(block: &Block) -> bool {
    let mut found = false;
    each(block, &mut |s| found |= matches!(s.kind, StmtKind::Yield | StmtKind::Zield | StmtKind::Post(..)));
    found
}

/// Neither control nor something that may be a point.
fn is_simple(s: &Stmt) -> bool {
    matches!(
        s.kind,
        StmtKind::Skip
            | StmtKind::Assign(..)
            | StmtKind::Any(..)
            | StmtKind::Assume(_)
            | StmtKind::Print(_)
            | StmtKind::Progress
            | StmtKind::Assert(..)
    )
}

/// How the parts of a procedure change from the source to the version that is made.
struct Mapping<'a> {
    ty: &'a dyn Fn(&Type) -> Type,
    records: &'a [Record],
    heap: &'a Heap,
    /// Parameters of the source.
    params: usize,
    me: Option<Place>,
}

impl Mapping<'_> {
    fn local(&self, l: LocalId) -> LocalId {
        if self.me.is_some() && l >= self.params { l + 1 } else { l }
    }

    fn place(&self, p: &Place) -> Place {
        let base = match &p.base {
            Base::Local(l) => Base::Local(self.local(*l)),
            other => other.clone(),
        };
        let step = |s: &Projection| match s {
            Projection::Index { index, lo, len } => {
                Projection::Index { index: Box::new(self.expr(index)), lo: *lo, len: *len }
            }
            field => field.clone(),
        };
        let mut path: Vec<Projection> = p.path.iter().map(step).collect();
        let mut moved = base;
        if let (Base::Heap(object, r), Some(Projection::Field(f))) = (&p.base, p.path.first()) {
            moved = self.heap.fields[*r][*f].base.clone();
            path[0] = Projection::Index { index: Box::new(self.expr(object)), lo: 1, len: OBJECTS };
        }
        Place { base: moved, path, ty: (self.ty)(&p.ty), span: p.span }
    }

    fn expr(&self, e: &Expr) -> Expr {
        let boxed = |e: &Expr| Box::new(self.expr(e));
        let kind = match &e.kind {
            ExprKind::Const(v) => ExprKind::Const(resized(self.records, v, &(self.ty)(&e.ty))),
            ExprKind::Read(p) => ExprKind::Read(self.place(p)),
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, boxed(a)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, boxed(a), boxed(b)),
            ExprKind::IfElse(a, b, c) => ExprKind::IfElse(boxed(a), boxed(b), boxed(c)),
            ExprKind::Tuple(parts) => ExprKind::Tuple(parts.iter().map(|p| self.expr(p)).collect()),
            ExprKind::Cast(a) => ExprKind::Cast(boxed(a)),
            ExprKind::SelfHandle => match &self.me {
                Some(me) => return Expr { span: e.span, ..read(me) },
                None => unreachable!("`self` is a handle"),
            },
            ExprKind::SetContains(set, member) => {
                let ExprKind::Read(p) = &set.kind else { unreachable!("sets are variables") };
                let member = self.expr(member);
                return Expr { span: e.span, ..read(&element(self.place(p), member)) };
            }
            ExprKind::SetIsEmpty(set) => {
                let ExprKind::Read(p) = &set.kind else { unreachable!("sets are variables") };
                let p = self.place(p);
                let Type::Array { len, .. } = p.ty else { unreachable!("a set is an array") };
                let contains = |i: i64| read(&element(p.clone(), number(i)));
                return (1..i64::from(len)).fold(boolean(true), |none, i| and(none, not(contains(i))));
            }
        };
        let ty = match (self.ty)(&e.ty) {
            // Handles are compared as numbers.
            Type::Range(..) if matches!(e.ty, Type::Thread | Type::Ref(_)) => Type::Int,
            ty => ty,
        };
        Expr { kind, ty, span: e.span }
    }
}
