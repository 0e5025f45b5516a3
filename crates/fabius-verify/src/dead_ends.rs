//! Where executions end without being complete, as far as the text shows: assumptions that never hold, choices of nothing,
//! and loops that a step does not leave.

use fabius_lang::program::{
    Access, Base, Block, Check, ENDS, Expr, ExprKind, Guard, Interleave, ProcId, Program, Stmt, StmtKind, Type, Value,
};
use fabius_lang::walk::{decided, statements};
use fabius_trace::Span;

/// The program with `assume false` in front of each loop that a step does not leave: no execution completes that comes there.
pub fn with_assumptions(mut program: Program) -> Program {
    let points = has_points(&program);
    for proc in &mut program.procs {
        mark(&mut proc.body, points);
    }
    program
}

/// Whether an assumption stands for the end of the process ([`ENDS`]).
pub fn ends(program: &Program, assumed: &Expr) -> bool {
    match &assumed.kind {
        ExprKind::Read(place) => matches!(place.base, Base::Global(g) if program.globals[g].name == ENDS),
        _ => false,
    }
}

/// The program with an assertion that fails wherever its process ends, so that a search sees who comes there; none if it ends
/// nowhere but with its threads.
pub fn with_assertions_at_ends(program: &Program) -> Option<Program> {
    if !program.any_stmt(|s| matches!(&s.kind, StmtKind::Assume(e) if ends(program, e))) {
        return None;
    }
    let mut asserting = program.clone();
    for proc in &mut asserting.procs {
        assert_at_ends(program, &mut proc.body);
    }
    Some(asserting)
}

fn assert_at_ends(program: &Program, block: &mut Block) {
    for s in block {
        match &mut s.kind {
            StmtKind::If(_, a, b) => {
                assert_at_ends(program, a);
                assert_at_ends(program, b);
            }
            StmtKind::While(_, b) | StmtKind::Atomic(b) => assert_at_ends(program, b),
            StmtKind::Assume(e) if ends(program, e) => {
                s.kind = StmtKind::Assert(e.clone(), Check::Assertion, None);
            }
            _ => {}
        }
    }
}

/// Whether accesses to shared state are scheduling points.
fn has_points(program: &Program) -> bool {
    program.interleave == Interleave::Implicit && !program.has_single_buffer()
}

fn mark(block: &mut Block, points: bool) {
    for mut s in std::mem::take(block) {
        match &mut s.kind {
            StmtKind::If(_, a, b) => {
                mark(a, points);
                mark(b, points);
            }
            StmtKind::While(_, b) => mark(b, points),
            StmtKind::Atomic(b) => mark(b, false),
            _ => {}
        }
        if is_endless(&s, points) {
            let never = Expr { kind: ExprKind::Const(Value::Int(0)), ty: Type::Bool, span: s.span };
            block.push(Stmt { kind: StmtKind::Assume(never), access: Access::Local, span: s.span });
        }
        block.push(s);
    }
}

/// A loop that a step does not leave by its text.
pub fn endless_by_text(program: &Program) -> Option<Span> {
    let points = has_points(program);
    let mut found = None;
    for proc in &program.procs {
        statements(&proc.body, &mut |s| found = found.or(is_endless(s, points).then_some(s.span)));
    }
    found
}

/// Whether there is more than `init`.
pub fn has_others(program: &Program) -> bool {
    let makes_others = |s: &Stmt| matches!(s.kind, StmtKind::Spawn(..) | StmtKind::Post(..));
    !program.processes.is_empty() || !program.buffers.is_empty() || program.any_stmt(makes_others)
}

/// Whether the statement is a loop without an end and without a scheduling point.
fn is_endless(s: &Stmt, points: bool) -> bool {
    let StmtKind::While(Guard::Expr(guard), body) = &s.kind else { return false };
    let mut stays = !breaks(body);
    statements(body, &mut |s| {
        stays &= !points || s.access == Access::Local;
        stays &= !matches!(
            s.kind,
            StmtKind::Return(_)
                | StmtKind::Call(..)
                | StmtKind::Spawn(..)
                | StmtKind::Post(..)
                | StmtKind::Yield
                | StmtKind::Zield
                | StmtKind::Await(_)
                | StmtKind::Join(_)
        );
    });
    stays && decided(guard) == Some(true)
}

/// Whether a `break` here ends the loop around the block.
fn breaks(block: &Block) -> bool {
    block.iter().any(|s| match &s.kind {
        StmtKind::Break => true,
        StmtKind::If(_, a, b) => breaks(a) || breaks(b),
        StmtKind::Atomic(b) => breaks(b),
        _ => false,
    })
}

/// Whether no execution of a program with any number of threads completes in which there is a thread beside `init`,
/// whatever others do; or none at all.
pub fn stops_every_thread(marked: &Program) -> bool {
    let stops = |proc: ProcId| stops(marked, &marked.procs[proc].body);
    let makes = |s: &Stmt| matches!(s.kind, StmtKind::Spawn(..) | StmtKind::Post(..));
    marked.init.is_some_and(stops)
        || marked.buffers.is_empty() && !marked.any_stmt(makes) && marked.processes.iter().all(|p| stops(p.proc))
}

/// Whether whoever runs this comes to a dead end: without waiting, and without a loop or a call before it.
fn stops(program: &Program, block: &[Stmt]) -> bool {
    for s in block {
        match &s.kind {
            StmtKind::Assume(e) if ends(program, e) => return false,
            StmtKind::Assume(e) if decided(e) == Some(false) => return true,
            StmtKind::Any(_, lo, hi) => {
                if let (ExprKind::Const(Value::Int(lo)), ExprKind::Const(Value::Int(hi))) = (&lo.kind, &hi.kind)
                    && lo > hi
                {
                    return true;
                }
            }
            StmtKind::If(guard, a, b) => {
                let decided = if let Guard::Expr(e) = guard { decided(e) } else { None };
                let (a_stops, b_stops) =
                    (decided == Some(false) || stops(program, a), decided == Some(true) || stops(program, b));
                if a_stops && b_stops {
                    return true;
                }
                if !a.iter().chain(b).all(is_plain) {
                    return false;
                }
            }
            StmtKind::Atomic(b) => {
                if stops(program, b) {
                    return true;
                }
                if !b.iter().all(is_plain) {
                    return false;
                }
            }
            _ if is_plain(s) => {}
            _ => return false,
        }
    }
    false
}

/// Whether what is behind the statement comes next, for certain and at once.
fn is_plain(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::If(_, a, b) => a.iter().chain(b).all(is_plain),
        StmtKind::Atomic(b) => b.iter().all(is_plain),
        StmtKind::While(..)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Call(..)
        | StmtKind::Return(_)
        | StmtKind::Yield
        | StmtKind::Zield
        | StmtKind::Await(_)
        | StmtKind::Join(_) => false,
        _ => true,
    }
}
