//! Questions about statements that compilation asks beforehand.

use fabius_lang::program::{Base, Block, Expr, ExprKind, Guard, Place, Program, Projection, Stmt, StmtKind, Type};

/// Calls `on` for every place that the statement's own step mentions, with whether it is written. Nested statements
/// are left out.
pub(super) fn places<'p>(stmt: &'p Stmt, on: &mut dyn FnMut(&'p Place, bool)) {
    let mut read = |e: &'p Expr| in_expr(e, &mut |p| on(p, false));
    match &stmt.kind {
        StmtKind::Assign(_, e) | StmtKind::SetInsert(_, e) | StmtKind::SetRemove(_, e) => read(e),
        StmtKind::Any(_, lo, hi) => {
            read(lo);
            read(hi);
        }
        StmtKind::New(_, _, es)
        | StmtKind::Call(_, _, es)
        | StmtKind::Return(es)
        | StmtKind::Spawn(_, _, es)
        | StmtKind::Post(_, _, _, es)
        | StmtKind::Print(es) => es.iter().for_each(read),
        StmtKind::If(Guard::Expr(e), ..)
        | StmtKind::While(Guard::Expr(e), _)
        | StmtKind::Join(e)
        | StmtKind::Assume(e)
        | StmtKind::Await(e)
        | StmtKind::Assert(e, ..) => read(e),
        _ => {}
    }
    if let Some(place) = written(stmt) {
        inside(place, &mut |p| on(p, false));
        on(place, true);
    }
}

/// The place that the statement writes.
fn written(stmt: &Stmt) -> Option<&Place> {
    match &stmt.kind {
        StmtKind::Assign(p, _)
        | StmtKind::Any(p, ..)
        | StmtKind::New(p, ..)
        | StmtKind::SetInsert(p, _)
        | StmtKind::SetRemove(p, _)
        | StmtKind::SetRemoveAny(p)
        | StmtKind::SetClear(p) => Some(p),
        _ => None,
    }
}

fn in_expr<'p>(e: &'p Expr, on: &mut dyn FnMut(&'p Place)) {
    match &e.kind {
        ExprKind::Const(_) | ExprKind::SelfHandle => {}
        ExprKind::Read(p) => {
            inside(p, on);
            on(p);
        }
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => in_expr(a, on),
        ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => {
            in_expr(a, on);
            in_expr(b, on);
        }
        ExprKind::IfElse(c, a, b) => [c, a, b].into_iter().for_each(|e| in_expr(e, on)),
        ExprKind::Tuple(es) => es.iter().for_each(|e| in_expr(e, on)),
    }
}

/// The places that the place itself reads: in its reference and its indexes.
fn inside<'p>(place: &'p Place, on: &mut dyn FnMut(&'p Place)) {
    if let Base::Heap(e, _) = &place.base {
        in_expr(e, on);
    }
    for step in &place.path {
        if let Projection::Index { index, .. } = step {
            in_expr(index, on);
        }
    }
}

/// Whether the place is shared state.
pub(super) fn is_shared(program: &Program, place: &Place) -> bool {
    match &place.base {
        Base::Global(g) => !program.globals[*g].per_thread,
        Base::Local(_) => false,
        Base::Heap(..) => true,
    }
}

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

/// Whether `self` occurs.
pub(crate) fn uses_self(program: &Program) -> bool {
    fn in_place(p: &Place) -> bool {
        let base = matches!(&p.base, Base::Heap(e, _) if has_self(e));
        base || p.path.iter().any(|s| matches!(s, Projection::Index { index, .. } if has_self(index)))
    }
    fn has_self(e: &Expr) -> bool {
        match &e.kind {
            ExprKind::SelfHandle => true,
            ExprKind::Const(_) => false,
            ExprKind::Read(p) => in_place(p),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => has_self(a),
            ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => has_self(a) || has_self(b),
            ExprKind::IfElse(c, a, b) => has_self(c) || has_self(a) || has_self(b),
            ExprKind::Tuple(es) => es.iter().any(has_self),
        }
    }
    program.any_stmt(|s| {
        let in_exprs = match &s.kind {
            StmtKind::Assign(_, e)
            | StmtKind::SetInsert(_, e)
            | StmtKind::SetRemove(_, e)
            | StmtKind::If(Guard::Expr(e), ..)
            | StmtKind::While(Guard::Expr(e), _)
            | StmtKind::Join(e)
            | StmtKind::Assume(e)
            | StmtKind::Await(e)
            | StmtKind::Assert(e, ..) => has_self(e),
            StmtKind::Any(_, lo, hi) => has_self(lo) || has_self(hi),
            StmtKind::New(_, _, es)
            | StmtKind::Call(_, _, es)
            | StmtKind::Return(es)
            | StmtKind::Spawn(_, _, es)
            | StmtKind::Post(_, _, _, es)
            | StmtKind::Print(es) => es.iter().any(has_self),
            _ => false,
        };
        in_exprs || written(s).is_some_and(in_place)
    })
}

/// Whether variables of the type, or parts of them, hold thread handles.
pub(crate) fn holds_handles(program: &Program, ty: &Type) -> bool {
    match ty {
        Type::Thread | Type::ThreadSet => true,
        Type::Record(r) => program.records[*r].fields.iter().any(|f| holds_handles(program, &f.ty)),
        Type::Array { element, .. } => holds_handles(program, element),
        _ => false,
    }
}
