//! Task buffers and priority levels in shared memory: what is left is one buffer of one level whose tasks yield.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), appendix C (the encoding SYNCE, against which
//! the paper measures its translations).
//!
//! Deviations:
//! 1. A task checks that it may run when it begins; the printed encoding does so only after yields. There is a variable for
//!    the buffer that is active; it is printed without. And each buffer has one unfinished task at first, not none.
//! 2. Flags say that a task of a buffer is interrupted or suspended, where the paper has its number: there is at most one.
//! 3. Every procedure is made once for each buffer, so the buffer of the running task is known from the text, as its level is.
//! 4. What every buffer has of its own is an array of the buffers; the paper has no such variables.
//! 5. Who has been told to stop runs to its end, whatever its turn.

use crate::build::*;
use crate::vectors::Moved;
use crate::{Explicit, Unsupported};
use fabius_lang::program::*;
use std::collections::BTreeSet;

struct Vars {
    /// By buffer and level: unfinished tasks.
    unfinished: Place,
    /// By buffer and level: a task waits for those above.
    interrupted: Place,
    /// By buffer: a task waits behind a `zield`.
    suspended: Place,
    active: Place,
    stop: Place,
    buffers: i64,
    levels: i64,
}

/// Unfinished tasks of a buffer and level at most.
const TASKS: i64 = 255;

/// The program with one buffer of one level; it asserts where its source does.
///
/// # Errors
/// `init`, threads, no buffer, a procedure that runs at more than one level.
pub fn synce(source: &Explicit) -> Result<Program, Unsupported> {
    let mut program = source.program.clone();
    crate::stuck::forget(&mut program);
    crate::explicit::fail_in_place(&mut program, source.failed);
    if let Some(start) = source.starts.iter().find(|s| s.is_thread) {
        let span = program.procs[start.proc].span;
        return Err(Unsupported::new("threads together with buffers in shared memory", span, "declare a `buffer`"));
    }
    if source.has_init {
        let span = program.init.map(|init| program.procs[init].span).unwrap_or_default();
        return Err(Unsupported::new("`init` together with buffers in shared memory", span, "begin in a `buffer`"));
    }
    if source.starts.is_empty() {
        let span = program.procs.first().map(|p| p.span).unwrap_or_default();
        return Err(Unsupported::new("a program of which nothing starts", span, "declare a `buffer`"));
    }
    let levels = levels_of(&program)?;
    let (buffers, height) = (source.starts.len() as i64, program.levels.len() as i64);
    let per_level = |ty: Type| array(array(ty, height as u32), buffers as u32);
    let mut one = vec![Value::Int(0); height as usize];
    one[0] = Value::Int(1);
    let begin = Value::Tuple(vec![Value::Tuple(one); buffers as usize]);
    let vars = Vars {
        unfinished: new_global_with(&mut program, "unfinished", per_level(Type::Range(0, TASKS)), begin),
        interrupted: new_global(&mut program, "interrupted", per_level(Type::Bool)),
        suspended: new_global(&mut program, "suspended", array(Type::Bool, buffers as u32)),
        active: new_global(&mut program, "active", Type::Range(0, buffers - 1)),
        stop: global(&program, source.stop),
        buffers,
        levels: height,
    };
    let own: BTreeSet<GlobalId> = (0..program.globals.len()).filter(|g| program.globals[*g].per_thread).collect();
    for g in &own {
        let variable = &mut program.globals[*g];
        variable.per_thread = false;
        variable.init = Value::Tuple(vec![variable.init.clone(); buffers as usize]);
        variable.ty = array(variable.ty.clone(), buffers as u32);
    }
    let tasks: Vec<ProcId> =
        crate::explicit::spawned(&program).into_iter().chain(source.starts.iter().map(|s| s.proc)).collect();
    // The procedures of buffer n are those of the source with numbers greater by n times their count.
    let originals = program.procs.clone();
    program.procs.clear();
    for n in 0..buffers {
        let of = |p: ProcId| p + n as usize * originals.len();
        for (id, proc) in originals.iter().enumerate() {
            let mut copy = proc.clone();
            let moved = Moved { variables: &own, index: &number(n), or_if: None };
            let body = moved.block(std::mem::take(&mut copy.body), &program);
            copy.body = replace(body, &mut |s| vars.stmt(s, n, levels[id], &of));
            if tasks.contains(&id) {
                let finish = vars.finish(n, levels[id]);
                copy.body.splice(0..0, vars.may_run(n, levels[id]));
                copy.body.extend(finish);
            }
            program.procs.push(copy);
        }
    }
    let span = originals[source.starts.first().map_or(0, |s| s.proc)].span;
    let body = source.starts.iter().enumerate().map(|(n, start)| {
        let p = start.proc + n * originals.len();
        Stmt { span, ..stmt(StmtKind::Post(None, None, p, start.args.clone())) }
    });
    let body = body.collect();
    program.procs.push(Proc { name: "all".into(), locals: Vec::new(), params: 0, results: Vec::new(), body, span });
    program.init = None;
    program.buffers = vec![Entry { kind: BufferKind::Bag, name: "all_tasks".into(), proc: program.procs.len() - 1 }];
    program.levels.truncate(1);
    Ok(program)
}

impl Vars {
    fn of_level(&self, table: &Place, n: i64, level: i64) -> Place {
        element(element(table.clone(), number(n)), number(level))
    }

    /// Goes on only if this holds, or all stops.
    fn only_if(&self, e: Expr) -> Stmt {
        assume(or(read(&self.stop), e))
    }

    /// No task of a higher level of the buffer is unfinished.
    fn none_above(&self, n: i64, level: Level) -> Expr {
        let free = |l: i64| eq(read(&self.of_level(&self.unfinished, n, l)), number(0));
        (i64::from(level) + 1..self.levels).fold(boolean(true), |all, l| and(all, free(l)))
    }

    fn is_active(&self, n: i64) -> Expr {
        eq(read(&self.active), number(n))
    }

    fn may_run(&self, n: i64, level: Level) -> Block {
        let interrupted = read(&self.of_level(&self.interrupted, n, i64::from(level)));
        let suspended = read(&element(self.suspended.clone(), number(n)));
        let free = and(not(interrupted), not(suspended));
        vec![self.only_if(and(self.none_above(n, level), and(free, self.is_active(n))))]
    }

    fn any_buffer(&self) -> Stmt {
        any_between(&self.active, number(0), number(self.buffers - 1))
    }

    fn stmt(&self, s: Stmt, n: i64, level: Level, of: &dyn Fn(ProcId) -> ProcId) -> Block {
        let span = s.span;
        let at = |kind| Stmt { span, ..stmt(kind) };
        match s.kind {
            StmtKind::Call(r, p, es) => vec![at(StmtKind::Call(r, of(p), es))],
            StmtKind::Yield => [at(StmtKind::Yield)].into_iter().chain(self.may_run(n, level)).collect(),
            StmtKind::Zield => {
                let suspended = element(self.suspended.clone(), number(n));
                vec![
                    set(&suspended, boolean(true)),
                    self.any_buffer(),
                    at(StmtKind::Yield),
                    self.only_if(self.is_active(n)),
                    set(&suspended, boolean(false)),
                ]
            }
            StmtKind::Post(_, m, p, es) => {
                let m = m.unwrap_or(level);
                let count = self.of_level(&self.unfinished, n, i64::from(m));
                let mut out =
                    vec![set(&count, add(read(&count), number(1))), at(StmtKind::Post(None, None, of(p), es))];
                if m > level {
                    let interrupted = self.of_level(&self.interrupted, n, i64::from(level));
                    out.push(set(&interrupted, boolean(true)));
                    out.push(at(StmtKind::Yield));
                    out.push(self.only_if(and(self.none_above(n, level), self.is_active(n))));
                    out.push(set(&interrupted, boolean(false)));
                }
                out
            }
            kind => vec![Stmt { kind, ..s }],
        }
    }

    /// A task has finished; if it was the last of its buffer, another one is next.
    fn finish(&self, n: i64, level: Level) -> Block {
        let count = self.of_level(&self.unfinished, n, i64::from(level));
        let all_done = and(eq(read(&self.of_level(&self.unfinished, n, 0)), number(0)), self.none_above(n, 0));
        vec![set(&count, sub(read(&count), number(1))), when(all_done, vec![self.any_buffer()])]
    }
}
