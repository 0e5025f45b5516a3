//! Concurrent programs as sequential ones.
//!
//! Every translation is a pure function from a program and its bounds to a program, in a file of its own. A source
//! program first becomes [`explicit`]: scheduling points, waiting, handles and faults are written out as statements that
//! the translations know.

mod abort;
pub mod beginnings;
pub mod buffers;
mod build;
pub mod depth_first;
mod enough;
pub mod explicit;
mod faults;
mod fifo;
pub mod levels;
mod lift;
pub mod linear_interface;
mod over;
pub mod relay;
pub mod round_robin;
pub mod rounds;
pub mod slice;
mod stuck;
mod switches;
pub mod synce;
mod vectors;
mod waiting;
mod whole;
pub mod yields;

pub use enough::strict;
use fabius_lang::program::{Block, BufferKind, Entry, Expr, GlobalId, Proc, ProcId, Process, Program, StmtKind};
use fabius_trace::Span;
pub use lift::{Event, Happened, LiftError, Nesting, lift};
pub use slice::Sliced;
use std::collections::BTreeSet;

/// A program whose scheduling is explicit; what the translations start from.
///
/// Scheduling points are `yield` and `zield` alone; `await` is where a task may be stuck. An assertion that fails sets `failed` and `stop`; whoever sees `stop`
/// returns at once (A.9: ABORT).
#[derive(Clone, Debug)]
pub struct Explicit {
    /// The program.
    pub program: Program,
    /// Whether the source has an `init`; if not, that of the program does nothing.
    pub has_init: bool,
    /// What starts when `init` of the program has finished.
    pub starts: Vec<Start>,
    /// Global: execution stops.
    pub stop: GlobalId,
    /// Global: an assertion has failed. Never reset, so that it is no part of the shared state.
    pub failed: GlobalId,
    /// Globals that only one thread ever uses: no part of the shared state.
    pub private: BTreeSet<GlobalId>,
    /// Where a buffer with a queue is declared in the source: what runs next there is for no scheduler to say.
    pub queue: Option<Span>,
    /// How many tasks there are at most, the first one included, if that is seen from the text.
    pub tasks: Option<u32>,
    /// How many there are otherwise.
    pub caps: Caps,
    /// What was left out, in sentences.
    pub limits: Vec<String>,
    /// Whether a task waits whose buffer has others.
    pub company_waits: bool,
    /// What is not needed, and is not there.
    pub sliced: Sliced,
}

/// A declared buffer or process.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its procedure.
    pub proc: ProcId,
    /// What the procedure is called with.
    pub args: Vec<Expr>,
    /// Whether it is a process.
    pub is_thread: bool,
}

/// A program of one task buffer with levels: what [`buffers`] makes, [`yields`] keeps, and [`levels`] makes sequential.
#[derive(Clone, Debug)]
pub struct Prioritized {
    /// The program.
    pub program: Program,
    /// Global: an assertion has failed.
    pub failed: GlobalId,
    /// Global: execution stops.
    pub stop: GlobalId,
    /// Globals that are no part of the shared state.
    pub private: BTreeSet<GlobalId>,
    /// Runs before everything: guesses.
    pub before: Block,
    /// Runs when everything has finished: what the guesses must have been.
    pub after: Block,
    /// What was left out, in sentences.
    pub limits: Vec<String>,
    /// What is not needed, and is not there.
    pub sliced: Sliced,
}

impl Explicit {
    /// Leaves out what nobody asks about.
    pub fn slice(&mut self) {
        let points = self.sliced.points;
        self.sliced = Sliced { points, ..slice::slice(&mut self.program, &[self.stop, self.failed]) };
    }

    /// Leaves out where tasks may wait for ever.
    pub fn forget_deadlocks(&mut self) {
        stuck::forget(&mut self.program);
    }

    /// The whole as a program that asserts where its source does.
    pub fn into_program(self) -> Program {
        let mut program = self.program;
        stuck::forget(&mut program);
        explicit::fail_in_place(&mut program, self.failed);
        if !self.has_init {
            build::forget_init(&mut program);
        }
        for (n, start) in self.starts.into_iter().enumerate() {
            let name = program.procs[start.proc].name.clone();
            let body = vec![build::stmt(StmtKind::Call(Vec::new(), start.proc, start.args))];
            let span = program.procs[start.proc].span;
            program.procs.push(Proc {
                name: format!("start_{name}"),
                locals: Vec::new(),
                params: 0,
                results: Vec::new(),
                body,
                span,
            });
            let proc = program.procs.len() - 1;
            if start.is_thread {
                program.processes.push(Process { name: format!("process_{n}"), proc, count: Some(1), number: None });
            } else {
                program.buffers.push(Entry { kind: BufferKind::Bag, name: format!("buffer_{n}"), proc });
            }
        }
        program
    }
}

impl Prioritized {
    /// The whole as a program that asserts at the end that nothing has failed.
    pub fn into_program(self) -> Program {
        let mut program = self.program;
        let main = program.init.expect("an explicit program begins with `init`");
        let mut body = self.before;
        body.append(&mut program.procs[main].body);
        body.extend(self.after);
        body.push(explicit::verdict(&program, self.failed));
        program.procs[main].body = body;
        program
    }

    /// The globals that are part of the shared state.
    fn shared(&self) -> BTreeSet<GlobalId> {
        let mut all = build::changed_globals(&self.program);
        all.retain(|g| !self.private.contains(g));
        all
    }
}

/// How many of what cannot be counted in the text are translated at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Threads and tasks that come into being.
    pub tasks: u32,
    /// Objects of each record.
    pub objects: u32,
}

impl Default for Caps {
    fn default() -> Caps {
        Caps { tasks: 12, objects: 8 }
    }
}

impl Caps {
    /// The limit in a sentence.
    pub fn words_of_tasks(&self) -> String {
        format!("at most {} threads or tasks are created (`--tasks` raises this)", self.tasks)
    }

    /// The limit in a sentence.
    pub fn words_of_objects(&self) -> String {
        format!("at most {} objects of each record are made (`--objects` raises this)", self.objects)
    }
}

/// A sequential program and how to read its runs.
#[derive(Clone, Debug)]
pub struct Translated {
    /// The program. It asserts at its very end that nothing has failed.
    pub program: Program,
    /// In which order the events of tasks come.
    pub nesting: Nesting,
    /// What was left out, in sentences.
    pub limits: Vec<String>,
    /// What is not needed, and is not there.
    pub sliced: Sliced,
}

/// What is left out where nobody looks at waiting.
pub const NO_DEADLOCKS: &str = "deadlocks were not looked for";

/// What a translation cannot translate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// What.
    pub what: String,
    /// Where.
    pub span: Span,
    /// What to do instead.
    pub help: String,
}

impl Unsupported {
    fn new(what: &str, span: Span, help: &str) -> Unsupported {
        Unsupported { what: what.into(), span, help: help.into() }
    }
}
