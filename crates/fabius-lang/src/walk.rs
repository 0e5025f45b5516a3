//! Walking over the statements, places and expressions of a core program.

use crate::program::{
    Access, Base, BinaryOp, Block, Expr, ExprKind, Guard, Place, Projection, Stmt, StmtKind, UnaryOp, Value,
};

/// The expressions of a statement, without those of nested statements.
pub fn expressions(stmt: &Stmt) -> Vec<&Expr> {
    match &stmt.kind {
        StmtKind::Assign(p, e) | StmtKind::SetInsert(p, e) | StmtKind::SetRemove(p, e) => with(p, [e]),
        StmtKind::Any(p, lo, hi) => with(p, [lo, hi]),
        StmtKind::New(p, _, es) => with(p, es),
        StmtKind::SetRemoveAny(p) | StmtKind::SetClear(p) => of_place(p),
        StmtKind::If(Guard::Expr(e), ..) | StmtKind::While(Guard::Expr(e), _) => vec![e],
        StmtKind::Call(_, _, es) | StmtKind::Spawn(_, _, es) | StmtKind::Post(_, _, _, es) => es.iter().collect(),
        StmtKind::Return(es) | StmtKind::Print(es) => es.iter().collect(),
        StmtKind::Join(e) | StmtKind::Assume(e) | StmtKind::Await(e) | StmtKind::Assert(e, ..) => vec![e],
        _ => Vec::new(),
    }
}

fn with<'p>(place: &'p Place, es: impl IntoIterator<Item = &'p Expr>) -> Vec<&'p Expr> {
    es.into_iter().chain(of_place(place)).collect()
}

/// The expressions in a place.
pub fn of_place(place: &Place) -> Vec<&Expr> {
    let base = match &place.base {
        Base::Heap(e, _) => Some(&**e),
        _ => None,
    };
    let indexes = place.path.iter().filter_map(|p| match p {
        Projection::Index { index, .. } => Some(&**index),
        Projection::Field(_) => None,
    });
    base.into_iter().chain(indexes).collect()
}

/// Calls `f` for the expression and all inside it.
pub fn each<'p>(e: &'p Expr, f: &mut dyn FnMut(&'p Expr)) {
    f(e);
    match &e.kind {
        ExprKind::Const(_) | ExprKind::SelfHandle => {}
        ExprKind::Read(p) => of_place(p).into_iter().for_each(|x| each(x, f)),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => each(a, f),
        ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => [a, b].into_iter().for_each(|x| each(x, f)),
        ExprKind::IfElse(a, b, c) => [a, b, c].into_iter().for_each(|x| each(x, f)),
        ExprKind::Tuple(es) => es.iter().for_each(|x| each(x, f)),
    }
}

/// What a guard is, if that is decided without looking at any variable.
pub fn decided(e: &Expr) -> Option<bool> {
    match &e.kind {
        ExprKind::Const(Value::Int(v)) => Some(*v != 0),
        ExprKind::Unary(UnaryOp::Not, a) => decided(a).map(|v| !v),
        ExprKind::Binary(BinaryOp::And, a, b) => {
            if decided(a)? {
                decided(b)
            } else {
                Some(false)
            }
        }
        ExprKind::Binary(BinaryOp::Or, a, b) => {
            if decided(a)? {
                Some(true)
            } else {
                decided(b)
            }
        }
        _ => None,
    }
}

/// Whether a statement does nothing but say which statement is next. It is never a step of its own.
pub fn is_nothing(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Skip | StmtKind::Break | StmtKind::Continue => true,
        StmtKind::If(Guard::Expr(e), ..) | StmtKind::While(Guard::Expr(e), _) => {
            stmt.access == Access::Local && decided(e).is_some()
        }
        _ => false,
    }
}

/// The wait that a statement begins with.
pub fn first_wait(stmt: &Stmt) -> Option<&Stmt> {
    match &stmt.kind {
        StmtKind::Await(_) | StmtKind::Join(_) => Some(stmt),
        StmtKind::Atomic(block) => first_wait(block.first()?),
        _ => None,
    }
}

/// The place that a statement writes, if it is not a local that gets a result.
pub fn written(stmt: &Stmt) -> Option<&Place> {
    match &stmt.kind {
        StmtKind::Assign(p, _) | StmtKind::SetInsert(p, _) | StmtKind::SetRemove(p, _) => Some(p),
        StmtKind::Any(p, ..) | StmtKind::New(p, ..) => Some(p),
        StmtKind::SetRemoveAny(p) | StmtKind::SetClear(p) => Some(p),
        _ => None,
    }
}

/// Calls `f` for every statement, nested ones included.
pub fn statements<'p>(block: &'p Block, f: &mut dyn FnMut(&'p Stmt)) {
    for s in block {
        f(s);
        match &s.kind {
            StmtKind::If(_, a, b) => {
                statements(a, f);
                statements(b, f);
            }
            StmtKind::While(_, b) | StmtKind::Atomic(b) => statements(b, f),
            _ => {}
        }
    }
}
