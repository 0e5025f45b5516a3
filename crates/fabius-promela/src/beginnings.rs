//! Processes that begin where they wait for a message: who starts them says so for them, in the same step.

use crate::lower::*;
use fabius_lang::build::*;
use fabius_lang::program::*;
use std::collections::HashMap;

/// What is to be said of a process that begins: where it stands, and which channels it waits for there.
pub struct Beginning {
    pub place: i64,
    /// By the number of the reception, as far as they are not the same for all processes. They depend on parameters alone.
    pub on: Vec<(usize, Expr)>,
}

/// A process type as far as its beginning goes.
pub struct Start<'a> {
    pub locals: &'a [Local],
    pub params: usize,
    /// Gives variables their first values.
    pub first: &'a Block,
}

impl Start<'_> {
    /// An expression of locals as it is at the beginning, in terms of parameters; if it can be known.
    pub fn at_first(&self, e: &Expr) -> Option<Expr> {
        let mut values = HashMap::new();
        for (id, one) in self.locals.iter().enumerate() {
            let place = local(id, one.ty.clone(), e.span);
            let value = match id < self.params {
                true => Some(read(place)),
                false => matches!(one.ty, Type::Bool | Type::Fixed { .. }).then(|| Expr {
                    kind: ExprKind::Const(Value::Int(0)),
                    ty: one.ty.clone(),
                    span: e.span,
                }),
            };
            values.extend(value.map(|value| (id, value)));
        }
        for s in self.first {
            let StmtKind::Assign(place, value) = &s.kind else { return None };
            let Base::Local(id) = place.base else { return None };
            let value = if place.path.is_empty() { with(value, &values) } else { None };
            values.remove(&id);
            values.extend(value.map(|value| (id, value)));
        }
        with(e, &values)
    }
}

/// An expression with values in place of locals; if it reads nothing else.
pub fn with(e: &Expr, values: &HashMap<LocalId, Expr>) -> Option<Expr> {
    let mut new = match &e.kind {
        ExprKind::Const(_) => e.clone(),
        ExprKind::Read(Place { base: Base::Local(id), path, .. }) if path.is_empty() => values.get(id)?.clone(),
        ExprKind::Unary(op, a) => unary(*op, with(a, values)?),
        ExprKind::Binary(op, a, b) => binary(*op, with(a, values)?, with(b, values)?),
        ExprKind::Cast(a) => cast(with(a, values)?, &e.ty),
        ExprKind::IfElse(c, a, b) => if_else(with(c, values)?, with(a, values)?, with(b, values)?),
        _ => return None,
    };
    new.span = e.span;
    Some(new)
}
