//! Deadlocks where the order of tasks is that of time: who is stuck says that execution is over, and then nobody goes on.
//!
//! Paper: Delay-Bounded Scheduling (POPL 2011), section 2 (blocking; the paper looks for failing assertions only).
//!
//! Deviations:
//! 1. That execution is over is one more shared variable. It is set by the first task that is found to wait in the final state;
//!    each task behind it must wait, too, and each one that is delayed comes again. So a deadlock costs what it costs to get there.
//! 2. A task that is stuck returns from all its calls, as one that has been told to stop.

use crate::Explicit;
use crate::build::*;
use crate::vectors::Moved;
use fabius_lang::program::*;
use std::collections::BTreeSet;

/// The variables that are added.
pub struct Over {
    /// Shared: execution is over.
    pub over: Place,
    /// Of the running task: it is stuck.
    pub gone: Place,
}

/// Lets tasks be stuck where they wait; `None` if none waits, or if it is not seen in the text where a task goes on that waits.
pub fn over(program: &mut Program, source: &Explicit) -> Option<Over> {
    let all = |program: &Program| {
        let mut count = 0;
        program.procs.iter().for_each(|p| {
            each(&p.body, &mut |s| count += usize::from(matches!(s.kind, StmtKind::Await(_))));
        });
        count
    };
    let waits = all(program);
    let stop = global(program, source.stop);
    let begin = tasks(program, source);
    let mut before = program.clone();
    let over = new_global(program, "is_over", Type::Bool);
    let gone = new_global(program, "is_stuck", Type::Bool);
    let mut maker = Maker { over: &over, gone: &gone, stop: &stop, seen: 0 };
    let is_gone = read(&gone);
    for (id, proc) in before.procs.iter_mut().enumerate() {
        let body = std::mem::take(&mut proc.body);
        let at = if begin.contains(&id) { At::Point } else { At::Within };
        let mut locals = std::mem::take(&mut program.procs[id].locals);
        let body = maker.block(program, body, at, &mut locals);
        let moved = Moved { variables: &BTreeSet::new(), index: &number(0), or_if: Some((source.stop, &is_gone)) };
        program.procs[id].body = moved.block(body, program);
        program.procs[id].locals = locals;
    }
    (waits > 0 && maker.seen == waits).then_some(Over { over, gone })
}

/// The procedures that tasks run: they begin where others may have been before.
fn tasks(program: &Program, source: &Explicit) -> BTreeSet<ProcId> {
    let mut wrappers: BTreeSet<ProcId> = source.starts.iter().filter(|s| !s.is_thread).map(|s| s.proc).collect();
    program.procs.iter().for_each(|p| {
        each(&p.body, &mut |s| {
            if let StmtKind::Post(_, _, p, _) = s.kind {
                wrappers.insert(p);
            }
        });
    });
    let mut run = BTreeSet::new();
    for p in wrappers {
        each(&program.procs[p].body, &mut |s| {
            if let StmtKind::Call(_, p, _) = s.kind {
                run.insert(p);
            }
        });
    }
    run
}

/// Whether others may just have been.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Point,
    Within,
}

struct Maker<'a> {
    over: &'a Place,
    gone: &'a Place,
    stop: &'a Place,
    /// Waits at points.
    seen: usize,
}

impl Maker<'_> {
    fn block(&mut self, program: &Program, block: Block, at: At, locals: &mut Vec<Local>) -> Block {
        let mut at = at;
        let mut out = Vec::new();
        let goes_on = assume(or(read(self.stop), not(read(self.over))));
        for s in block {
            if at == At::Point && !self.is_nothing(&s) && !matches!(s.kind, StmtKind::Await(_)) {
                out.push(goes_on.clone());
                at = At::Within;
            }
            let span = s.span;
            match s.kind {
                StmtKind::Await(e) => {
                    self.seen += usize::from(at == At::Point);
                    out.extend(self.wait(program, e, locals));
                    at = At::Within;
                }
                StmtKind::Yield | StmtKind::Zield => {
                    out.push(s);
                    at = At::Point;
                }
                StmtKind::If(g, a, b) => {
                    let (a, b) =
                        (self.block(program, a, At::Within, locals), self.block(program, b, At::Within, locals));
                    out.push(Stmt { span, ..stmt(StmtKind::If(g, a, b)) });
                }
                StmtKind::While(g, b) => {
                    let b = self.block(program, b, At::Within, locals);
                    out.push(Stmt { span, ..stmt(StmtKind::While(g, b)) });
                }
                _ => out.push(s),
            }
        }
        if at == At::Point {
            out.push(goes_on);
        }
        out
    }

    /// Nothing of the program: events, looks at `stop`, and what is remembered of points.
    fn is_nothing(&self, s: &Stmt) -> bool {
        match &s.kind {
            StmtKind::Print(_) => true,
            StmtKind::Assign(_, e) => matches!(e.kind, ExprKind::Const(_)),
            StmtKind::If(Guard::Expr(e), a, b) => {
                *e == read(self.stop)
                    && b.is_empty()
                    && matches!(a.as_slice(), [Stmt { kind: StmtKind::Return(_), .. }])
            }
            _ => false,
        }
    }

    /// Perhaps for ever.
    fn wait(&self, program: &Program, e: Expr, locals: &mut Vec<Local>) -> Block {
        let for_ever = new_local(locals, "for_ever", Type::Bool);
        let mut conditions = Vec::new();
        crate::faults::of_expr(program, &e, &mut conditions);
        let mut stays: Block = conditions.into_iter().map(assume).collect();
        stays.extend([assume(not(e)), set(self.over, boolean(true)), set(self.gone, boolean(true))]);
        let goes_on = vec![assume(or(read(self.stop), not(read(self.over))))];
        vec![any_between(&for_ever, boolean(false), boolean(true)), either(read(&for_ever), stays, goes_on)]
    }
}
