//! Questions about statements that compilation asks beforehand.

use fabius_lang::program::{
    Base, Block, Expr, ExprKind, Guard, Place, ProcId, Process, Program, Projection, Stmt, StmtKind, Type, Value,
};

/// Whether evaluating the expression takes no instruction.
pub(super) fn is_plain(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Const(_) => true,
        ExprKind::Read(p) => {
            !matches!(p.base, Base::Heap(..)) && p.path.iter().all(|s| matches!(s, Projection::Field(_)))
        }
        _ => false,
    }
}

/// An upper bound of the statements that one pass through the block executes, without the iterations of inner loops.
pub(super) fn weight(block: &Block) -> u32 {
    block
        .iter()
        .map(|s| match &s.kind {
            StmtKind::If(_, a, b) => weight(a).max(weight(b)).saturating_add(1),
            StmtKind::Atomic(b) => weight(b).saturating_add(1),
            _ => 1,
        })
        .fold(0, u32::saturating_add)
}

/// For each procedure whether it, or one that it calls, asks for the running task's handle.
pub(super) fn procs_that_use_self(program: &Program) -> Vec<bool> {
    let mut uses: Vec<bool> = program.procs.iter().map(|p| any(&p.body, &mentions_self)).collect();
    let mut order: Vec<usize> = (0..uses.len()).collect();
    // Callers mostly stand before or mostly behind those that they call: one of the two ways is short.
    loop {
        order.reverse();
        let mut changed = false;
        for p in &order {
            if !uses[*p] && any(&program.procs[*p].body, &|s| matches!(s.kind, StmtKind::Call(_, p, _) if uses[p])) {
                uses[*p] = true;
                changed = true;
            }
        }
        if !changed {
            return uses;
        }
    }
}

fn any(block: &Block, test: &dyn Fn(&Stmt) -> bool) -> bool {
    block.iter().any(|s| {
        test(s)
            || match &s.kind {
                StmtKind::If(_, a, b) => any(a, test) || any(b, test),
                StmtKind::While(_, b) | StmtKind::Atomic(b) => any(b, test),
                _ => false,
            }
    })
}

fn mentions_self(s: &Stmt) -> bool {
    let place = match &s.kind {
        StmtKind::Assign(p, _)
        | StmtKind::Any(p, ..)
        | StmtKind::New(p, ..)
        | StmtKind::SetInsert(p, _)
        | StmtKind::SetRemove(p, _)
        | StmtKind::SetRemoveAny(p)
        | StmtKind::SetClear(p) => Some(p),
        _ => None,
    };
    let in_exprs = match &s.kind {
        StmtKind::Assign(_, e)
        | StmtKind::SetInsert(_, e)
        | StmtKind::SetRemove(_, e)
        | StmtKind::If(Guard::Expr(e), ..)
        | StmtKind::While(Guard::Expr(e), _)
        | StmtKind::Join(e)
        | StmtKind::Assume(e)
        | StmtKind::Await(e)
        | StmtKind::Assert(e, ..) => in_expr(e),
        StmtKind::Any(_, lo, hi) => in_expr(lo) || in_expr(hi),
        StmtKind::New(_, _, es)
        | StmtKind::Call(_, _, es)
        | StmtKind::Return(es)
        | StmtKind::Spawn(_, _, es)
        | StmtKind::Post(_, _, _, es)
        | StmtKind::Print(es) => es.iter().any(in_expr),
        _ => false,
    };
    in_exprs || place.is_some_and(in_place)
}

fn in_place(p: &Place) -> bool {
    let base = matches!(&p.base, Base::Heap(e, _) if in_expr(e));
    base || p.path.iter().any(|s| matches!(s, Projection::Index { index, .. } if in_expr(index)))
}

fn in_expr(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::SelfHandle => true,
        ExprKind::Const(_) => false,
        ExprKind::Read(p) => in_place(p),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => in_expr(a),
        ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => in_expr(a) || in_expr(b),
        ExprKind::IfElse(c, a, b) => in_expr(c) || in_expr(a) || in_expr(b),
        ExprKind::Tuple(es) => es.iter().any(in_expr),
    }
}

/// Whether two threads may do the same: of one procedure, with no arguments that tell them apart.
pub(super) fn has_alike_threads(program: &Program) -> bool {
    let is_alone = |proc| {
        let several = |p: &Process| p.proc == proc && p.count.is_some_and(|count| count > 1);
        let starts = program.init == Some(proc) || program.processes.iter().any(|p| p.proc == proc);
        starts && !program.processes.iter().any(several)
    };
    let mut spawned = Vec::new();
    for (number, proc) in program.procs.iter().enumerate() {
        spawns(&proc.body, !is_alone(number), &mut spawned);
    }
    let again = |at: usize| spawned[..at].contains(&spawned[at]);
    (0..spawned.len()).any(again) || program.processes.iter().any(|p| p.count.is_some_and(|count| count > 1))
}

/// Collects what is spawned, twice if it may be `often`: procedures, and the constants among their arguments. Of numbers that are
/// computed it is guessed that they differ.
fn spawns(block: &Block, often: bool, spawned: &mut Vec<(ProcId, Vec<Value>)>) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Spawn(_, proc, args) => {
                let is_name = |arg: &&Expr| matches!(arg.ty, Type::Ref(_) | Type::Thread);
                let constant = |arg: &Expr| match &arg.kind {
                    ExprKind::Const(value) => Some(value.clone()),
                    _ => None,
                };
                if let Some(args) = args.iter().filter(|arg| !is_name(arg)).map(constant).collect::<Option<Vec<_>>>() {
                    spawned.extend(std::iter::repeat_n((*proc, args), if often { 2 } else { 1 }));
                }
            }
            StmtKind::If(_, a, b) => [a, b].into_iter().for_each(|block| spawns(block, often, spawned)),
            StmtKind::While(_, body) => spawns(body, true, spawned),
            StmtKind::Atomic(body) => spawns(body, often, spawned),
            _ => {}
        }
    }
}
