//! Any number of threads that run the same code.
//!
//! Paper: Sequentializing Parameterized Programs (2011/12), sections 2 and 3.
//!
//! A *linear interface* of length k of a block of threads is what it makes of the shared state in each of k rounds: a pair of
//! vectors. Blocks compose, so interfaces of any number of threads are found from those of one.
//!
//! Deviations:
//! 1. Processes whose number is declared come before those of any number, in the order in which they are written. (The paper
//!    leaves them to the first statement of the process.)
//! 2. `init` runs alone and to its end before the first round.

pub mod eager;
mod holders;
pub mod lazy;
mod taken_over;

use crate::Caps;
use crate::build::*;
use crate::explicit::{Switches, Trace, explicit};
use crate::{Explicit, Sliced, Start, Unsupported};
use fabius_lang::program::*;

/// A program with processes of any number, whose scheduling is explicit.
#[derive(Clone, Debug)]
pub struct Parameterized {
    /// The program; what starts is what is declared in a number.
    explicit: Explicit,
    /// What starts any number of times, in any order.
    any: Vec<Start>,
    /// Executions are left out whatever the bounds are.
    is_cut: bool,
}

/// Whether threads that wait for ever are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadlocks {
    /// They are bugs.
    AreBugs,
    /// They are passed over.
    Ignored,
}

/// Whether there are processes of any number.
pub fn is_parameterized(program: &Program) -> bool {
    program.processes.iter().any(|p| p.count.is_none())
}

/// Writes everything out in a program with processes of any number.
///
/// # Errors
/// Tasks, threads that are spawned, handles that are kept, and what no translation can do.
pub fn parameterized(
    source: &Program,
    trace: Trace,
    caps: Caps,
    deadlocks: Deadlocks,
) -> Result<Parameterized, Unsupported> {
    let alone = |what: &str, span| {
        Unsupported::new(what, span, "declare processes instead, or verify a fixed number: `--instances`")
    };
    for proc in &source.procs {
        let mut wrong = None;
        each(&proc.body, &mut |s| match s.kind {
            StmtKind::Spawn(..) => wrong = Some(("`spawn` where there are any number of threads", s.span)),
            StmtKind::Post(..) | StmtKind::Yield => {
                wrong = Some(("tasks where there are any number of threads", s.span))
            }
            StmtKind::Join(_) => wrong = Some(("`join` where there are any number of threads", s.span)),
            _ => {}
        });
        if let Some((what, span)) = wrong {
            return Err(alone(what, span));
        }
    }
    if let Some(process) = source.processes.iter().find(|p| p.count.is_none() && p.number.is_some()) {
        return Err(Unsupported::new(
            "threads that know their numbers where there are any number of them",
            source.procs[process.proc].span,
            "only threads that are all alike: leave the number out, or verify a fixed number: `--instances`",
        ));
    }
    if let Some(buffer) = source.buffers.first() {
        return Err(alone("a task buffer where there are any number of threads", source.procs[buffer.proc].span));
    }
    let mut once = holders::without_handles(source)?;
    let is_any = |n: usize| source.processes.get(n).is_some_and(|p| p.count.is_none());
    once.processes.iter_mut().for_each(|p| p.count = p.count.or(Some(1)));
    let of: Vec<usize> =
        once.processes.iter().enumerate().flat_map(|(n, p)| vec![n; p.count.unwrap_or(1) as usize]).collect();
    let several: Vec<ProcId> = source.processes.iter().filter(|p| p.count.is_none()).map(|p| p.proc).collect();
    let mut explicit = explicit(&once, trace, Switches::WhereTheyMatter(&several), caps)?;
    if deadlocks == Deadlocks::Ignored {
        explicit.forget_deadlocks();
    }
    explicit.slice();
    let (any, declared): (Vec<_>, Vec<_>) =
        explicit.starts.drain(..).zip(of).partition(|(_, process)| is_any(*process));
    explicit.starts = declared.into_iter().map(|(start, _)| start).collect();
    let is_cut = !explicit.limits.is_empty();
    Ok(Parameterized { explicit, any: any.into_iter().map(|(start, _)| start).collect(), is_cut })
}

impl Parameterized {
    /// Whether executions are left out whatever the bounds are, as [`limits`](Parameterized::limits) says.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether threads wait, and it is asked whether for ever.
    pub fn waits(&self) -> bool {
        self.explicit.program.any_stmt(|s| matches!(s.kind, StmtKind::Await(_)))
    }

    /// Whether `init` does.
    pub fn init_waits(&self) -> bool {
        let program = &self.explicit.program;
        let stays = without(program, |s| matches!(s, StmtKind::Await(_)));
        program.init.is_some_and(|init| !stays[init])
    }

    /// The same, where it is known that no thread waits for ever.
    pub fn without_deadlocks(&self) -> Parameterized {
        let mut all = self.clone();
        all.explicit.forget_deadlocks();
        all.explicit.slice();
        all
    }

    /// What is not needed, and is not there.
    pub fn sliced(&self) -> Sliced {
        self.explicit.sliced
    }

    /// What was left out, in sentences.
    pub fn limits(&self) -> &[String] {
        &self.explicit.limits
    }

    /// The program, as far as it is written out.
    pub fn program(&self) -> &Program {
        &self.explicit.program
    }

    /// The program with assertions in place, `zield` where a thread may be interrupted, and behind that `await` where it may
    /// wait for ever; what of it runs once, in this order, and what runs any number of times.
    pub fn template(&self) -> (Program, Vec<ProcId>, Vec<ProcId>) {
        let mut program = self.explicit.program.clone();
        crate::stuck::without_faults(&mut program);
        crate::explicit::fail_in_place(&mut program, self.explicit.failed);
        let procs = |starts: &[Start]| starts.iter().map(|s| s.proc).collect();
        (program, procs(&self.explicit.starts), procs(&self.any))
    }

    /// The same with so many threads of any kind behind those that are declared.
    pub fn with_threads(&self, threads: u32) -> Explicit {
        let mut all = self.explicit.clone();
        crate::explicit::start_all(&mut all.program, &self.explicit);
        all.tasks = Some(1 + all.starts.len() as u32 + threads);
        all.starts.clear();
        let main = all.program.init.expect("an explicit program begins with `init`");
        let mut locals = std::mem::take(&mut all.program.procs[main].locals);
        let mut start = Vec::new();
        for _ in 0..threads {
            let spawn = |s: &Start| stmt(StmtKind::Spawn(None, s.proc, s.args.clone()));
            start.extend(one_of(self.any.iter().map(spawn).collect(), &mut locals));
        }
        all.program.procs[main].locals = locals;
        let start = when(not(read(&global(&all.program, all.stop))), start);
        all.program.procs[main].body.push(start);
        all
    }

    /// Runs some process of any number.
    fn run_any(&self, locals: &mut Vec<Local>) -> Block {
        one_of(self.any.iter().map(run).collect(), locals)
    }

    /// The variables of which every thread has its own are as in the beginning.
    fn fresh(&self) -> Block {
        let own = crate::explicit::per_thread(&self.explicit.program);
        own.into_iter().map(|(place, init)| set(&place, expr(ExprKind::Const(init), place.ty.clone()))).collect()
    }
}

/// The call of a process.
fn run(start: &Start) -> Stmt {
    stmt(StmtKind::Call(Vec::new(), start.proc, start.args.clone()))
}

/// Any one of these statements.
fn one_of(choices: Block, locals: &mut Vec<Local>) -> Block {
    if choices.len() < 2 {
        return choices;
    }
    let last = choices.len() as i64 - 1;
    let kind = new_local(locals, "kind", Type::Range(0, last));
    let mut block = vec![any_between(&kind, number(0), number(last))];
    block.extend(numbered(&kind, 0, choices.into_iter().map(|s| vec![s]).collect()));
    block
}

/// That of these blocks whose number this place holds; the first has the number `first`. By halves: a text that is nested once
/// for each of many threads is not read again.
fn numbered(place: &Place, first: i64, mut choices: Vec<Block>) -> Block {
    let half = choices.len() / 2;
    let upper = choices.split_off(half);
    if choices.is_empty() {
        return upper.into_iter().next().unwrap_or_default();
    }
    let from = first + half as i64;
    let below = match half {
        1 => eq(read(place), number(first)),
        _ => lt(read(place), number(from)),
    };
    vec![either(below, numbered(place, first, choices), numbered(place, from, upper))]
}
