//! Programs of threads in Promela, so that SPIN can be asked about them: an answer that shares nothing with ours.
//!
//! A violated assertion of the text is a bug of the program, an invalid end state a deadlock. What becomes of what:
//!
//! * A thread is a process, its procedures are written out where they are called, and a local variable of each is a local
//!   of the process. Records and arrays are single variables, or one array for each of their scalars.
//! * Between two scheduling points a thread makes one step, in which it may be dropped (`assume`). So where a program can drop
//!   an execution, `_running` counts the threads that are within a step, and nobody begins one while it is not 0. A dropped
//!   execution stops everybody (`provided`), and goes round for ever in a process of its own, which is no deadlock.
//! * Handles are numbers in order of creation, references numbers of objects; neither is used again. Of both there are as many
//!   as the text says ([`Sizes`]); a program that needs more violates `_enough_threads`, `_enough_objects`.
//! * Each name has an underscore behind it: what `spin -a` makes has names of its own, and variables of the text are among them.
//! * Properties are formulas, each with a comment that says how to ask SPIN about it.
//! * `int` has 32 bits.

mod calls;
mod expr;
mod layout;
mod property;
mod stmt;

use super::names::Names;
use fabius_lang::program::*;
use fabius_lang::walk;
use fabius_trace::Span;
use layout::Leaf;
use std::fmt::Write;

/// The word of the language that ends with an underscore.
const RESERVED: &str = "np_";

/// How many there are of what Promela wants counted.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Threads, `init` included.
    pub threads: u32,
    /// Heap objects of each record.
    pub objects: u32,
}

/// What cannot be written in Promela.
#[derive(Clone, Debug)]
pub struct Refused {
    /// What it is.
    pub what: String,
    /// Where.
    pub span: Span,
    /// What to write instead.
    pub help: String,
}

fn refused<T>(what: &str, span: Span, help: &str) -> Result<T, Refused> {
    Err(Refused { what: what.into(), span, help: help.into() })
}

/// Whether a statement stands within a step that has begun.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// There is a scheduling point before each access.
    Thread,
    /// There is none.
    Atomic,
}

/// Text and what it is written of.
struct Writer<'a> {
    program: &'a Program,
    sizes: Sizes,
    names: Names,
    /// The scalars of each global; of one for each thread they are locals of each process.
    globals: Vec<Vec<Leaf>>,
    /// The scalars of the objects of each record.
    heap: Vec<Vec<Leaf>>,
    /// Which procedures run.
    reached: Vec<bool>,
    /// Whether an execution can be dropped. An invariant needs no whole steps: that others come between a store and its look at
    /// it loses nothing, because they need not, and shows nothing, because each of them looks behind a store of its own.
    drops: bool,
    out: String,
    depth: usize,
    /// What the process that is being written declares.
    declared: String,
    labels: usize,
    /// Procedures that are being written out, the innermost last.
    calls: Vec<calls::Call>,
    /// Statements so far.
    statements: usize,
    /// The steps that have begun and not ended, the innermost last.
    steps: Vec<Within>,
}

/// The program as one Promela file.
///
/// # Errors
/// What cannot be written in it.
pub fn promela(program: &Program, sizes: Sizes) -> Result<String, Refused> {
    if let Some(rest) = program.rests.first() {
        return refused("a wait that may last for ever in Promela", *rest, "`fabius check` explores such programs");
    }
    if let Some(idle) = program.idle {
        let span = program.globals[idle].span;
        return refused("a wait until nobody else can go on in Promela", span, "`fabius check` explores such programs");
    }
    let reached = reached(program);
    refuse_what_is_not_there(program, &reached)?;
    let mut names = Names::without(RESERVED);
    let mut leaves = |name: &str, ty: &Type, outer: Option<u32>| layout::leaves(program, &mut names, name, ty, outer);
    let globals = program.globals.iter().map(|g| leaves(&g.name, &g.ty, None)).collect();
    let objects = program.records.iter().enumerate();
    let heap = objects.map(|(id, r)| leaves(&r.name, &Type::Record(id), Some(sizes.objects))).collect();
    let drops = program.any_stmt(|s| match &s.kind {
        StmtKind::Assume(_) => true,
        StmtKind::Any(_, lo, hi) => !matches!((constant(lo), constant(hi)), (Some(lo), Some(hi)) if lo <= hi),
        _ => false,
    });
    property::refuse_what_is_not_there(program, drops)?;
    let mut writer = Writer {
        program,
        sizes,
        names,
        globals,
        heap,
        reached,
        drops,
        out: String::new(),
        depth: 0,
        declared: String::new(),
        labels: 0,
        calls: Vec::new(),
        statements: 0,
        steps: Vec::new(),
    };
    writer.file()?;
    Ok(writer.out)
}

fn constant(e: &Expr) -> Option<i64> {
    if let ExprKind::Const(Value::Int(n)) = &e.kind { Some(*n) } else { None }
}

fn refuse_what_is_not_there(program: &Program, reached: &[bool]) -> Result<(), Refused> {
    let threads = "programs of threads can be exported: `spawn` and `process`";
    if let Some(buffer) = program.buffers.first() {
        return refused("task buffers in Promela", program.procs[buffer.proc].span, threads);
    }
    let mut post = None;
    for (proc, _) in program.procs.iter().zip(reached).filter(|(_, reached)| **reached) {
        walk::statements(&proc.body, &mut |s| {
            if post.is_none() && matches!(s.kind, StmtKind::Post(..)) {
                post = Some(s.span);
            }
        });
    }
    if let Some(post) = post {
        return refused("tasks in Promela", post, threads);
    }
    if program.interleave == Interleave::Explicit {
        return refused("`interleave explicit` in Promela", Span::default(), "leave it out");
    }
    if let Some(process) = program.processes.iter().find(|process| process.count.is_none()) {
        let help = format!("say how many: `--instances {}=2`", process.name);
        return refused("a process of any number in Promela", program.procs[process.proc].span, &help);
    }
    Ok(())
}

/// Whether a type is a reference to this record, or has some in an array.
fn refers(ty: &Type, record: RecordId) -> bool {
    match ty {
        Type::Ref(to) => *to == record,
        Type::Array { element, .. } => refers(element, record),
        _ => false,
    }
}

/// The procedures that run: those that something starts, and what they call and spawn.
fn reached(program: &Program) -> Vec<bool> {
    let mut reached = vec![false; program.procs.len()];
    let mut next: Vec<ProcId> = program.init.into_iter().chain(program.processes.iter().map(|p| p.proc)).collect();
    while let Some(proc) = next.pop() {
        if !std::mem::replace(&mut reached[proc], true) {
            walk::statements(&program.procs[proc].body, &mut |s| {
                if let StmtKind::Call(_, callee, _) | StmtKind::Spawn(_, callee, _) = &s.kind {
                    next.push(*callee);
                }
            });
        }
    }
    reached
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "    ".repeat(self.depth));
    }

    fn file(&mut self) -> Result<(), Refused> {
        let program = self.program;
        let Sizes { threads, objects } = self.sizes;
        self.line("/* A violated assertion is a bug, an invalid end state a deadlock. */");
        self.line(&format!("#define _THREADS {threads}"));
        self.line(&format!("#define _OBJECTS {objects}"));
        self.line("bool _enough_threads, _enough_objects;");
        self.line("byte _threads = 1;");
        self.line("bool _finished[_THREADS + 1];");
        if self.drops {
            self.line("byte _running;");
            self.line("bool _dropped;");
            self.line("active proctype _drop() { end: do :: _dropped -> skip od }");
        }
        let shared = program.globals.iter().enumerate().filter(|(_, g)| !g.per_thread);
        for (id, global) in shared {
            let lines = self.declarations(&self.globals[id], &global.ty, &global.init, global.span)?;
            lines.iter().for_each(|line| self.line(line));
        }
        self.declare_conditions();
        for record in self.records_made() {
            let (ty, init) = (Type::Record(record), Type::Record(record).default_value(&program.records));
            self.line(&format!("byte {};", self.count_of(record)));
            let lines = self.declarations(&self.heap[record], &ty, &init, Span::default())?;
            lines.iter().for_each(|line| self.line(line));
        }
        let entries: Vec<ProcId> = self.entries();
        for proc in entries {
            self.process(proc)?;
        }
        self.init()?;
        self.formulas();
        Ok(())
    }

    /// The records that references lead to.
    fn records_made(&self) -> Vec<RecordId> {
        let p = self.program;
        let globals = p.globals.iter().map(|g| &g.ty);
        let fields = p.records.iter().flat_map(|r| r.fields.iter().map(|field| &field.ty));
        let locals = p.procs.iter().flat_map(|proc| proc.locals.iter().map(|local| &local.ty));
        let all: Vec<&Type> = globals.chain(fields).chain(locals).collect();
        (0..p.records.len()).filter(|record| all.iter().any(|ty| refers(ty, *record))).collect()
    }

    fn count_of(&self, record: RecordId) -> String {
        format!("_made_{record}")
    }

    /// The procedures that threads begin with, but for `init`.
    fn entries(&self) -> Vec<ProcId> {
        let program = self.program;
        let spawned = |id: ProcId| program.any_stmt(|s| matches!(&s.kind, StmtKind::Spawn(_, p, _) if *p == id));
        let declared = |id: ProcId| program.processes.iter().any(|process| process.proc == id);
        (0..program.procs.len()).filter(|id| self.reached[*id] && (spawned(*id) || declared(*id))).collect()
    }

    fn entry_name(&self, proc: ProcId) -> String {
        format!("_thread_{proc}")
    }

    /// A thread: its parameters are those of the procedure, scalar by scalar.
    fn process(&mut self, id: ProcId) -> Result<(), Refused> {
        let proc = &self.program.procs[id];
        let (body, locals) = self.body(id, proc.span)?;
        let mut params = vec!["byte _self".to_string()];
        let mut taken = Vec::new();
        for (local, leaves) in proc.locals[..proc.params].iter().zip(&locals) {
            for scalar in layout::scalars(self.program, leaves, None, &local.ty) {
                let param = format!("_p{}", taken.len());
                params.push(format!("{} {param}", layout::word(&scalar.ty, self.program, proc.span)?));
                taken.push(format!("{} = {param}", scalar.text));
            }
        }
        let provided = if self.drops { " provided (!_dropped)" } else { "" };
        let comment = proc.name.replace("*/", "");
        self.line(&format!("proctype {}({}){provided} {{ /* {comment} */", self.entry_name(id), params.join("; ")));
        let declared = std::mem::take(&mut self.declared);
        self.out += &declared;
        self.depth += 1;
        if !taken.is_empty() {
            self.line(&format!("d_step {{ {} }}", taken.join("; ")));
        }
        self.depth -= 1;
        self.out += &body;
        self.depth += 1;
        let leaves = if self.drops { "_running--; " } else { "" };
        self.line(&format!("d_step {{ {leaves}_finished[_self] = 1 }}"));
        self.depth -= 1;
        self.line("}");
        Ok(())
    }

    fn init(&mut self) -> Result<(), Refused> {
        let program = self.program;
        let written = match program.init {
            Some(id) => Some(self.body(id, program.procs[id].span)?.0),
            None => None,
        };
        let provided = if self.drops {
            "\n/* `init` of Promela cannot be stopped: */\nproctype _init() provided (!_dropped) {"
        } else {
            ""
        };
        if self.drops {
            self.line(provided.trim_start());
        } else {
            self.line("init {");
        }
        let declared = std::mem::take(&mut self.declared);
        self.out += &declared;
        self.depth += 1;
        self.line("byte _self = 1;");
        self.look()?;
        if self.drops {
            self.line("_running++;");
        }
        self.depth -= 1;
        self.out += &written.unwrap_or_default();
        self.depth += 1;
        self.line("atomic {");
        self.depth += 1;
        // Without `init` the first process is the first thread.
        if program.init.is_none() {
            self.line("_threads = 0;");
        }
        for process in &program.processes {
            for _ in 0..process.count.unwrap_or(0) {
                let hold = if self.drops { "_running++; " } else { "" };
                let entry = self.entry_name(process.proc);
                self.line(&format!(
                    "assert(_threads < _THREADS || _enough_threads); _threads++; {hold}run {entry}(_threads);"
                ));
            }
        }
        let leaves = if self.drops { "_running--; " } else { "" };
        let finished = if program.init.is_some() { "_finished[_self] = 1" } else { "skip" };
        self.line(&format!("{leaves}{finished}"));
        self.depth -= 1;
        self.line("}");
        self.depth -= 1;
        self.line("}");
        if self.drops {
            self.line("init { run _init() }");
        }
        Ok(())
    }
}
